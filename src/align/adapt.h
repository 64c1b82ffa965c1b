/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Adaptation of token means to a speaker (MAP, as in speech recognition): each mean moves by the average difference between
 * the frames aligned with it and the mean; a token with few frames moves by the average over all tokens.
 *
 * Memory: owns the sums; everything else is borrowed.
 */
#ifndef MX_ALIGN_ADAPT_H
#define MX_ALIGN_ADAPT_H

#include <stddef.h>
#include <stdint.h>

struct mx_align_adapt {
    size_t tokens, bands; /* tokens of the vocabulary */
    double *sums;         /* [1 + tokens, bands + 1]: differences and their number; of all, then of each token */
};

int mx_align_adapt_open(struct mx_align_adapt *adapt, size_t tokens, size_t bands);
void mx_align_adapt_release(struct mx_align_adapt *adapt);
/* Discards all frames. */
void mx_align_adapt_clear(struct mx_align_adapt *adapt);
/* Adds a frame that is aligned with a token, whose mean is `mean`. */
void mx_align_adapt_add(struct mx_align_adapt *adapt, int32_t token, const float *frame, const float *mean);
/* Moves the means [count, bands] of `tokens`. */
void mx_align_adapt_move(const struct mx_align_adapt *adapt, const int32_t *tokens, int32_t count, float *means);

#endif
