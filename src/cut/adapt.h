/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Means of tokens that move towards a speaker: by the mean difference between the frames of a sound and the means that
 * they were found for, of each token, and of all tokens where a token has few frames.
 *
 * Memory: owns the sums; everything else is borrowed.
 */
#ifndef MX_CUT_ADAPT_H
#define MX_CUT_ADAPT_H

#include <stddef.h>
#include <stdint.h>

struct mx_cut_adapt {
    size_t tokens, bands; /* tokens of the vocabulary */
    double *sums;         /* [1 + tokens, bands + 1]: differences and their number; of all, then of each token */
};

int mx_cut_adapt_open(struct mx_cut_adapt *adapt, size_t tokens, size_t bands);
void mx_cut_adapt_release(struct mx_cut_adapt *adapt);
/* Forgets all frames. */
void mx_cut_adapt_clear(struct mx_cut_adapt *adapt);
/* A frame that was found for a token, whose mean is `mean`. */
void mx_cut_adapt_add(struct mx_cut_adapt *adapt, int32_t token, const float *frame, const float *mean);
/* Moves the means [count, bands] of `tokens`. */
void mx_cut_adapt_move(const struct mx_cut_adapt *adapt, const int32_t *tokens, int32_t count, float *means);

#endif
