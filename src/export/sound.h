/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mel to sound with a vocoder as a part of an ONNX graph: what vocoder/sound.h makes, for one utterance of at least two
 * frames. The pitch path (source.h) and the noise (noise.h) are ours, the rounds and projections are unrolled.
 *
 * Memory: nothing is kept.
 */
#ifndef MX_EXPORT_SOUND_H
#define MX_EXPORT_SOUND_H

#include "export/layers.h"
#include "vocoder/config.h"

struct mx_export_sound {
    const struct mx_vocoder_config *config;
    int rounds, projections; /* as in struct mx_sound_options */
    double texture, contrast, momentum;
    uint64_t seed;
};

/* mel [frames, bands], normalised → audio [(frames - 1) · hop]. `frames` is a scalar, int64. `e` has the vocoder's table
 * and weights. */
struct mx_onnx_value mx_export_sound(const struct mx_export *e, const struct mx_export_sound *sound,
                                     struct mx_onnx_value mel, struct mx_onnx_value frames);

#endif
