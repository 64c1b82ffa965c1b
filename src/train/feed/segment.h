/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Segments: the short pieces of the recordings of a batch that the vocoder learns from.
 *
 * Each batch has `count` segments of up to `frames` frames. A segment is drawn from an utterance of the batch with a
 * probability in proportion to the utterance's frames; where it begins is uniform; a shorter utterance gives a shorter
 * segment. A part of the segments gets an augmented mel: blurred over time, half of those also over the bands, with a
 * little noise. That resembles the mel that a network predicts.
 *
 * All of this is a pure function of (seed, epoch, step, number of the segment), so neither the number of threads nor a
 * resume changes it. The members of a comm (comm.h) share the segments of a step: each draws its own share, by their
 * numbers in the whole step, from its own part of the batch.
 *
 * If nothing but the vocoder is trained, batches consist of crops instead (`crops`): each is cut out of a recording
 * with MX_SEGMENT_MARGIN more frames on both sides, because the features of a frame depend on its surroundings, and
 * holds one segment. Such a crop depends on (seed, epoch, number of the crop) only.
 *
 * Memory: nothing is owned.
 */
#ifndef MX_TRAIN_SEGMENT_H
#define MX_TRAIN_SEGMENT_H

#include "vocoder/config.h"

#define MX_SEGMENTS_MAX       1024 /* in a batch, over all members */
#define MX_SEGMENT_FRAMES_MIN 16
#define MX_SEGMENT_FRAMES_MAX 1024
#define MX_SEGMENT_MARGIN     8 /* frames on each side of a crop that are not used */

struct mx_segment_options {
    int32_t count;  /* in a batch of this member; 0: none */
    int32_t first;  /* the number of its first one among those of all members */
    int32_t frames; /* of each */
    double augment; /* fraction of the segments whose mel is augmented */
    bool crops;
};

/* One segment of a batch. */
struct mx_segment {
    int32_t sequence;   /* index in the batch; -1: in the batch's twin (device_batch.h) */
    int32_t first;      /* first frame within that sequence */
    int32_t row;        /* the same frame counted over all frames of the batch; -1: in the twin */
    int32_t rows;       /* frames */
    float draw;         /* uniform in [0, 1): for the caller's choice of a mel */
    uint64_t number;    /* of its random numbers in the epoch */
    uint32_t utterance; /* of the dataset; set in device batches */
};

/* The options of member `rank` of `size`, from those of all segments of a batch. With crops the sampler decides which
 * ones a member gets; `count` is the most that it can get. */
struct mx_segment_options mx_segments_share(const struct mx_segment_options *whole, int32_t rank, int32_t size);
/* The limits of a batch of segments. */
struct mx_vocoder_capacity mx_segments_capacity(const struct mx_segment_options *options);
/* MX_ERR_CONFIG naming the value that is out of range. */
int mx_segments_check(const struct mx_segment_options *options);

/* Draws the segments of a batch of `sequences` utterances from their frames, offsets[sequences + 1]. Writes
 * options->count of them, or none for an empty batch; returns how many. */
int32_t mx_segments_draw(const struct mx_segment_options *options, uint64_t seed, uint32_t epoch, uint32_t step,
                         const int32_t *offsets, int32_t sequences, struct mx_segment *out);
/* The first of `choices` frames to begin with, and `draw`, of the segment with this number. */
int64_t mx_segments_begin(uint64_t seed, uint32_t epoch, uint64_t number, int64_t choices);
float mx_segments_chance(uint64_t seed, uint32_t epoch, uint64_t number);

/* How the mel of a segment is augmented: the levels of the operation mel_blur, in units of the mel, of which `deviation`
 * are one natural logarithm. All zero: not at all. */
struct mx_segment_blur {
    float levels[3];
    uint64_t stream; /* of the noise */
};
struct mx_segment_blur mx_segments_blur(const struct mx_segment_options *options, uint64_t seed, uint32_t epoch,
                                        uint64_t number, double deviation);

#endif
