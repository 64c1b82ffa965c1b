/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From log-mel to sound, on a device.
 *
 * Log-mel (normalised as in the network) → magnitudes of all bins (operation mel_inverse) → Griffin and Lim's algorithm
 * with momentum ("fast Griffin–Lim", Perraudin, Balazs, Søndergaard 2013): repeatedly, the magnitudes get the phases of
 * the sound that they themselves produce, and each step overshoots by `momentum` in its previous direction. Then come
 * the projections (operation mel_project): the actual magnitudes of the sound are scaled, smoothly over the bins, until
 * its bands match those of the mel, and the sound is made again with its own phases. The guesses of mel_inverse then no
 * longer matter, only the mel. The transforms are those of the features (the same frames, window and kernels), so
 * speech is measured the way it was learned. The initial phases are those of white noise from the counter-based
 * generator: the same seed gives the same sound, bit for bit, and an utterance sounds the same whatever else is in the
 * batch.
 *
 * An utterance of f frames becomes (f - 1) · hop samples, since the first and the last frame are centred on its ends; a
 * single frame becomes hop/2. Their frames are again f. The level of the sound is that of the mel, and nothing is
 * clipped here: wav.h takes care of that when it stores integers.
 *
 * Memory: a waveform maker has a fixed capacity and owns all buffers, charged to the budget owner "waveform"; nothing
 * is allocated after mx_waveform_create. Results belong to it and are valid until the next call. Threads: one at a
 * time, the one that uses the stream.
 */
#ifndef MX_SPEECH_WAVEFORM_H
#define MX_SPEECH_WAVEFORM_H

#include "features/recipe.h"
#include "myxtts/device.h"

#define MX_WAVEFORM_ITERATIONS      48
#define MX_WAVEFORM_ITERATIONS_MAX  10000
#define MX_WAVEFORM_PROJECTIONS     4
#define MX_WAVEFORM_PROJECTIONS_MAX 100
#define MX_WAVEFORM_MOMENTUM        0.99

struct mx_waveform;

struct mx_waveform_options {
    const struct mx_recipe *recipe; /* NULL: mx_recipe_default; copied */
    double mean, deviation;         /* of the checkpoint; 0 and 1: mel is not normalised */
    int iterations;                 /* 1 … 10,000 */
    int projections;                /* 0 … 100, after the iterations */
    double momentum;                /* 0 … 1.5; 0: Griffin and Lim's original */
    uint64_t seed;                  /* of the initial phases */
    int64_t frames_max;             /* total frames of a batch */
    int32_t utterances_max;
};

/* Without capacity: the caller sets frames_max and utterances_max. */
#define MX_WAVEFORM_OPTIONS_DEFAULT                                                                                    \
    ((struct mx_waveform_options){.deviation = 1,                                                                      \
                                  .iterations = MX_WAVEFORM_ITERATIONS,                                                \
                                  .projections = MX_WAVEFORM_PROJECTIONS,                                              \
                                  .momentum = MX_WAVEFORM_MOMENTUM})

int mx_waveform_create(struct mx_device *device, const struct mx_waveform_options *options, struct mx_waveform **out);
void mx_waveform_destroy(struct mx_waveform *waveform); /* NULL is fine */
/* Bytes of device memory that a maker with these options needs; 0 if they are invalid (see mx_error_last). */
uint64_t mx_waveform_bytes(const struct mx_waveform_options *options);
/* The same for host memory. */
uint64_t mx_waveform_host_bytes(const struct mx_waveform_options *options);
/* The samples of an utterance of this many frames. */
int64_t mx_waveform_samples(const struct mx_recipe *recipe, int64_t frames);

struct mx_waveform_sound {
    const float *audio;     /* packed samples, on the host */
    const int32_t *offsets; /* [count + 1] into audio */
    int32_t count;          /* utterances */
};

/* mel [frame_offsets[count], bands] is on the device, frame_offsets [count + 1] on the host. Waits for the result.
 * MX_ERR_ARGUMENT if the batch exceeds the capacity, MX_ERR_DATA if the sound is not finite (the mel contains NaN). */
int mx_waveform_make(struct mx_waveform *waveform, struct mx_stream *stream, struct mx_slice mel,
                     const int32_t *frame_offsets, int32_t count, struct mx_waveform_sound *sound);

#endif
