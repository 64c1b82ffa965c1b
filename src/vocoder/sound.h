/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From log-mel to sound, on a device. MODEL.md ("Sound") has every formula.
 *
 * There are two implementations of one interface. They differ in the magnitudes of all bins and in the phases they begin with:
 *
 *   griffin-lim   magnitudes by an approximate inverse of the mel (operation mel_inverse), phases of white noise; needs
 *                 no training
 *   vocoder       magnitudes and pitch by a network (vocoder.h), phases of the harmonics of this pitch (path.h,
 *                 operation harmonics) and of noise; the magnitudes get part of the texture of this source, too
 *                 (operation texture)
 *
 * A predicted mel first gets more contrast, and a colour if there is one (sound_contrast.c). Then both take rounds of Griffin and Lim's algorithm with
 * momentum ("fast Griffin–Lim", Perraudin, Balazs, Søndergaard 2013): repeatedly, the magnitudes get the phases of the
 * sound that they themselves produce, and each step overshoots by `momentum` in its previous direction. With a vocoder,
 * short frames of the sound are then attenuated to a coarse mel of short frames, also by the network, because the rounds
 * smear bursts over a whole frame. Then come the projections (operation mel_project): the actual magnitudes of the sound
 * are scaled, smoothly over the bins, until its bands match those of the mel, and the sound is made again with its own
 * phases. The transforms are those of the features (the same frames, window and kernels), so
 * speech is measured the way it was learned. Noise comes from the counter-based generator: the same seed gives the same
 * sound, bit for bit, and an utterance sounds the same whatever else is in the batch.
 *
 * With a vocoder, sound can also be made piece by piece, from overlapping windows (mx_sound_stream_…): the samples are
 * those of the whole utterance, bit for bit.
 *
 * An utterance of f frames becomes (f - 1) · hop samples, since the first and the last frame are centred on its ends; a
 * single frame becomes hop/2. Their frames are again f. The level of the sound is that of the mel, and nothing is
 * clipped here; speech/wav.h does that when it stores integers.
 *
 * Memory: a vocoder instance has a fixed capacity and owns all buffers, charged to the budget owner "waveform", those of the
 * vocoder's network included; it borrows the weights. Nothing is allocated after mx_sound_create. Results
 * belong to it and are valid until the next call. Threads: one at a time, the one that uses the stream.
 */
#ifndef MX_VOCODER_SOUND_H
#define MX_VOCODER_SOUND_H

#include "features/recipe.h"
#include "myxtts/device.h"
#include "vocoder/vocoder.h"

#define MX_SOUND_GRIFFIN_LIM     "griffin-lim"
#define MX_SOUND_ROUNDS_MAX      10000
#define MX_SOUND_PROJECTIONS_MAX 100
#define MX_SOUND_TEXTURE_MAX     10
#define MX_SOUND_CONTRAST_MAX    4
#define MX_SOUND_MOMENTUM        0.99
#define MX_SOUND_USUAL           (-1) /* as many rounds or projections as usual */

/* The usual rounds and projections of Griffin–Lim, and with a vocoder. */
#define MX_SOUND_GRIFFIN_ROUNDS      48
#define MX_SOUND_GRIFFIN_PROJECTIONS 4
#define MX_SOUND_VOCODER_ROUNDS      8
#define MX_SOUND_VOCODER_PROJECTIONS 2
/* The share of the source's texture (operation texture) in the magnitudes of a vocoder: no network knows exactly
 * where each harmonic lies, and the pulses of low voices would be smeared by magnitudes that do not have them. */
#define MX_SOUND_VOCODER_TEXTURE 0.3
/* With a vocoder and a mel that a network predicted: such a mel is smooth, and the vocoder restores what it lacks, which
 * a projection would take away again. */
#define MX_SOUND_SPOKEN_PROJECTIONS 0
/* With or without a vocoder, its bands move this much further from their means, because a network predicts averages,
 * which vary less than speech. */
#define MX_SOUND_SPOKEN_CONTRAST 1.25

struct mx_sound;

struct mx_sound_options {
    const struct mx_recipe *recipe; /* NULL: the default; copied */
    double mean, deviation;         /* of the checkpoint; 0 and 1: mel is not normalised */
    /* The vocoder; NULL: Griffin–Lim. Copied; its mel_mean and mel_deviation are replaced by those above. */
    const struct mx_vocoder_config *vocoder;
    struct mx_slice parameters; /* the vocoder's weights, on the device */
    struct mx_slice frozen;     /* the frozen ones, if they are elsewhere; no buffer: `parameters` has all */
    int rounds;                 /* MX_SOUND_USUAL, or up to MX_SOUND_ROUNDS_MAX, at least 1 without a vocoder */
    int projections;            /* MX_SOUND_USUAL, or 0 … MX_SOUND_PROJECTIONS_MAX, after the rounds */
    double texture;             /* MX_SOUND_USUAL, or 0 … MX_SOUND_TEXTURE_MAX; without a vocoder 0 */
    double contrast;            /* MX_SOUND_USUAL, or 1 … MX_SOUND_CONTRAST_MAX; 1: the mel as it is */
    bool predicted;             /* the mel is that of a network, not of a recording: decides what is usual */
    double momentum;            /* 0 … 1.5; 0: Griffin and Lim's original */
    uint64_t seed;              /* of the noise */
    int64_t frames_max;         /* total frames of a batch */
    int32_t utterances_max;
    bool stream; /* with room for mx_sound_stream_begin */
};

/* Without capacity: the caller sets frames_max and utterances_max. */
#define MX_SOUND_OPTIONS_DEFAULT                                                                                       \
    ((struct mx_sound_options){.deviation = 1,                                                                         \
                               .rounds = MX_SOUND_USUAL,                                                               \
                               .projections = MX_SOUND_USUAL,                                                          \
                               .texture = MX_SOUND_USUAL,                                                              \
                               .contrast = MX_SOUND_USUAL,                                                             \
                               .momentum = MX_SOUND_MOMENTUM})

/* Of an instance; mx_sound_create allocates exactly that. */
struct mx_sound_memory_plan {
    uint64_t device_bytes, host_bytes;
};

/* MX_ERR_ARGUMENT for impossible options; those of the vocoder as mx_vocoder_config_check. */
int mx_sound_memory_plan(const struct mx_sound_options *options, struct mx_sound_memory_plan *out);
/* MX_ERR_CONFIG if the vocoder was made for another recipe. Waits for the stream if there is a vocoder. */
int mx_sound_create(struct mx_device *device, struct mx_stream *stream, const struct mx_sound_options *options,
                    struct mx_sound **out);
void mx_sound_destroy(struct mx_sound *sound); /* NULL is fine */
int mx_sound_rounds(const struct mx_sound *sound);
int mx_sound_projections(const struct mx_sound *sound);
double mx_sound_texture(const struct mx_sound *sound);
double mx_sound_contrast(const struct mx_sound *sound);

/* A vocoder knows the level that recordings are brought to for training. For the mel of a recording with another level:
 * `gain` > 0 is the factor that would bring it there. From now on the mel is raised by it, and the sound lowered
 * again. */
void mx_sound_gain_set(struct mx_sound *sound, double gain);
/* The seed of the noise, from the next call on. */
void mx_sound_seed_set(struct mx_sound *sound, uint64_t seed);
/* What is added to each frame of a predicted mel, normalised like it, from now on: [bands], copied; NULL: nothing. Not while
 * a stream is under way. MX_ERR_ARGUMENT if the mel is not `predicted`. */
int mx_sound_colour_set(struct mx_sound *sound, const float *colour);
/* The samples of an utterance of this many frames. */
int64_t mx_sound_samples(const struct mx_recipe *recipe, int64_t frames);

struct mx_sound_audio {
    float *audio;           /* packed samples, on the host; the caller may change them */
    const int32_t *offsets; /* [count + 1] into audio */
    int32_t count;          /* utterances */
};

/* mel [frame_offsets[count], bands] is on the device, frame_offsets [count + 1] on the host. Waits for the result.
 * MX_ERR_ARGUMENT if the batch exceeds the capacity, MX_ERR_DATA if the sound is not finite (the mel contains NaN). */
int mx_sound_compute(struct mx_sound *sound, struct mx_stream *stream, struct mx_slice mel,
                     const int32_t *frame_offsets, int32_t count, struct mx_sound_audio *out);

/* Context frames that the sound of a piece of a stream needs on each side. */
int32_t mx_sound_margin(const struct mx_sound *sound);
/* Begins a stream of one utterance: mel [frames, bands] stays on the device until the last piece is made. It needs
 * a vocoder and `stream`; mx_sound_compute ends the stream. */
int mx_sound_stream_begin(struct mx_sound *sound, struct mx_slice mel, int64_t frames);
/* The next `frames` · hop samples, or all that are left, in *audio; *count is 0 after the last. Waits for the result. */
int mx_sound_stream_next(struct mx_sound *sound, struct mx_stream *stream, int64_t frames, float **audio,
                         int64_t *count);

#endif
