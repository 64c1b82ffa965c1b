/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Augmentation: gain, speed and noise, and masks over bands and frames of the mel (SpecAugment), different in every epoch.
 * Off by default.
 *
 * The change of an utterance is a pure function of (seed, epoch, sample), where sample is its number in the corpus, not
 * its place in a batch. So it does not depend on the order of batches, the number of workers or whether the run was
 * resumed. Gain and noise are applied to the packed audio and masks to the mel, on the device (operations noise and
 * mask); a change of speed resamples on the host before the audio is packed: pitch and tempo change together, as on a
 * tape.
 *
 * Memory: everything here is a plain value, except the buffer of mx_augment_resample, which the caller frees.
 */
#ifndef MX_FEATURES_AUGMENT_H
#define MX_FEATURES_AUGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MX_AUGMENT_MASKS 4 /* at most this many of either kind */

/* All zero: nothing is changed. */
struct mx_augment_options {
    double gain_db;                /* the level changes by at most this much, up or down; 0 … 24 */
    double noise_share;            /* of utterances that get noise; 0 … 1 */
    double snr_min_db, snr_max_db; /* of those; -10 … 100 */
    double speed; /* the speed changes by at most this factor minus 1: 0.1 is 0.909 … 1.1; 0 … 0.5 */
    int band_masks, band_width_max; /* how many, and width of the widest in bands; at least one band remains */
    int time_masks;
    double time_share_max; /* largest share of an utterance that one mask may cover; 0 … 0.5 */
};

/* MX_ERR_ARGUMENT, with a message for the user, if anything is out of range. */
int mx_augment_check(const struct mx_augment_options *options);
/* Whether the options change anything at all. */
bool mx_augment_active(const struct mx_augment_options *options);

/* What happens to one utterance. */
struct mx_augment_draw {
    float gain;        /* factor */
    float noise_ratio; /* RMS of the noise relative to that of the signal; 0: none */
    uint64_t stream;   /* of the noise */
    double speed;      /* > 1: faster, shorter, higher */
    int mask_count;
    struct {
        bool time;
        float place, size; /* of masks in time: 0 … 1 of the frames; of bands: [bands] */
    } masks[2 * MX_AUGMENT_MASKS];
};

void mx_augment_draw(const struct mx_augment_options *options, uint64_t seed, uint64_t epoch, uint64_t sample,
                     int bands, struct mx_augment_draw *out);

/* The masks as the operation `mask` takes them: spans[count][4], unused ones empty. count ≥ draw->mask_count. */
void mx_augment_spans(const struct mx_augment_draw *draw, int64_t frames, int bands, int count, int32_t (*spans)[4]);
/* How many spans every utterance needs. */
int mx_augment_span_count(const struct mx_augment_options *options);

/* The number of samples that `count` samples become at that speed. */
size_t mx_augment_resampled(size_t count, double speed);
/* Resamples (soxr HQ) to exactly that number; `out` has room for it. */
int mx_augment_resample_to(const float *samples, size_t count, double speed, float *out);
/* The same; *out belongs to the caller, who frees it with mx_free. */
int mx_augment_resample(const float *samples, size_t count, double speed, float **out, size_t *out_count);

#endif
