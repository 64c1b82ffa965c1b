/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mel to sound with a vocoder as a part of an ONNX graph: what vocoder/sound.h makes, for one utterance of at least two
 * frames. The pitch path is ours (source.h), the rounds and projections are unrolled.
 *
 * The noise is ours, too, for the first MX_EXPORT_NOISE_FRAMES frames (11.9 seconds); it is a table in the file, 1 MB,
 * because ONNX has no generator that gives the same numbers everywhere. From there on it repeats.
 *
 * Memory: nothing is kept.
 */
#ifndef MX_EXPORT_SOUND_H
#define MX_EXPORT_SOUND_H

#include "export/layers.h"
#include "vocoder/config.h"

#define MX_EXPORT_NOISE_FRAMES 1024

struct mx_export_sound {
    const struct mx_vocoder_config *config;
    int rounds, projections; /* as in struct mx_sound_options */
    double momentum;
    uint64_t seed;
};

/* mel [frames, bands], normalised → audio [(frames - 1) · hop]. `frames` is a scalar, int64. `e` has the vocoder's table
 * and weights. */
struct mx_onnx_value mx_export_sound(const struct mx_export *e, const struct mx_export_sound *sound,
                                     struct mx_onnx_value mel, struct mx_onnx_value frames);

#endif
