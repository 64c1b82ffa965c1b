/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Dynamic time warping: the cheapest way to walk through two sequences of frames together, forwards only, where each
 * step advances in one of them or in both. It compares speech with its recording, although no two people (and no two
 * runs) speak with the same timing.
 *
 * Memory: the caller's. Walking through sequences of a and b frames needs mx_dtw_bytes.
 */
#ifndef MX_TRAIN_DTW_H
#define MX_TRAIN_DTW_H

#include <stddef.h>
#include <stdint.h>

/* One step of the walk: frame `a` of the first sequence is paired with frame `b` of the second. */
struct mx_dtw_pair {
    int32_t a, b;
};

/* Bytes of scratch. */
size_t mx_dtw_bytes(int32_t a_frames, int32_t b_frames);

/* The two sequences: a [a_frames, n], b [b_frames, n], both at least one frame. */
struct mx_dtw_frames {
    const float *a, *b;
    int32_t a_frames, b_frames, n;
};

/* The cost of a pair is the mean of |a - b|. `pairs` has room for a_frames + b_frames. Returns the number of pairs; *cost
 * gets the mean cost of a pair. Among equally cheap paths the one that advances in both is taken, then the one that
 * advances in `a`. */
int32_t mx_dtw_walk(const struct mx_dtw_frames *of, void *scratch, struct mx_dtw_pair *pairs, double *cost);

#endif
