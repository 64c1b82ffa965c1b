/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operations (myxtts/ops.h) between tokens and frames: durations, expansion to frames and means over them, pooling,
 * alignment.
 */
#ifndef MYXTTS_OPS_SEQUENCE_H
#define MYXTTS_OPS_SEQUENCE_H

#include "myxtts/ops/common.h"

/* ends int32 [count + 1]: ends[0] = 0, ends[i + 1] = ends[i] + durations[i]. A negative duration fails the stream. */
struct mx_durations_scan_args {
    struct mx_slice durations; /* int32 [count] */
    struct mx_slice ends;
    int64_t count;
};

/* y[r, :] = (+=) x[s, :] for ends[s] ≤ r < ends[s + 1]: tokens to frames with ends from durations_scan, a vector per
 * sequence to its rows with ends = the offsets of the sequences. */
struct mx_expand_args {
    struct mx_slice x;    /* [segments, n] */
    struct mx_slice ends; /* int32 [segments + 1], not decreasing, ends[segments] = rows */
    struct mx_slice y;    /* [rows, n] */
    int64_t segments, rows, n;
    bool accumulate;
};

/* dx[s, :] = Σ dy[r, :] over the segment's rows. */
struct mx_expand_grad_args {
    struct mx_slice dy, ends, dx;
    int64_t segments, rows, n;
};

/* y[s, :] = mean of x[r, :] over the segment's rows; 0 for an empty one. With offsets of sequences: mean pooling per
 * sequence. */
struct mx_segment_mean_args {
    struct mx_slice x, ends, y;
    int64_t segments, rows, n;
};

/* y[s, :] = Σ_r w[r] x[r, :] with w = softmax of score[r] over the sequence's rows; w [rows] is kept for the gradient.
 */
struct mx_attentive_pool_args {
    struct mx_slice x, score, y, w;
    struct mx_ragged rows;
    int64_t n;
};

/* dx[r, :] = w[r] dy[s, :];  dscore[r] = w[r] (dy[s, :]·x[r, :] - dy[s, :]·y[s, :]). */
struct mx_attentive_pool_grad_args {
    struct mx_slice dy, x, y, w, dx, dscore;
    struct mx_ragged rows;
    int64_t n;
};

/* The monotonic alignment of each sequence's tokens with its frames. Every frame belongs to one token, in order, and
 * every token has at least one frame. Of all such alignments, the result is the one that maximises
 *   Σ_f -½ |mel[f] - mean[t]|² - diagonal · ((f + ½) tokens/frames - (t + ½))²,   t: the token of frame f
 * with f and t counted within the sequence and all totals in double. Of two equal paths to a frame, the one that stays
 * with the token is taken. If a sequence has fewer frames than tokens, the frames are spread evenly instead: the first
 * t of T tokens share the first ⌊t · frames/T⌋ frames. Frames without any token fail the stream. It is never
 * differentiated, because durations are whole numbers.
 *
 * Each sequence takes O(tokens · frames · n) time and one bit of memory per token and frame: */
#define MX_ALIGN_WORK(token_rows, token_max_rows, frame_rows)                                                          \
    (2 * (int64_t)(token_rows) + (int64_t)(frame_rows) * (((int64_t)(token_max_rows) + 31) / 32))

struct mx_align_args {
    struct mx_slice mean, mel; /* [tokens.rows, n], [frames.rows, n] */
    struct mx_ragged tokens, frames;
    struct mx_slice durations; /* int32 [tokens.rows]: frames of each token */
    struct mx_slice logs;      /* (optional) [tokens.rows]: ln(1 + duration) */
    struct mx_slice work;      /* [MX_ALIGN_WORK(tokens.rows, tokens.max_rows, frames.rows)]: scratch */
    int64_t n;
    float diagonal; /* ≥ 0 */
};

#endif
