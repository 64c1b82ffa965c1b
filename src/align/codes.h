/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mean mel frames as models of frames: the score of a frame under a mean, and a k-means codebook of many means.
 *
 * Memory: everything is the caller's.
 */
#ifndef MX_ALIGN_CODES_H
#define MX_ALIGN_CODES_H

#include <stddef.h>
#include <stdint.h>

/* m·u. `bands` is a multiple of 8. */
float mx_align_code_product(const float *m, const float *u, int32_t bands);
/* m·u - ½|u|², the score of cut/fit.h, of a frame m for a mean u. */
float mx_align_code_score(const float *m, const float *u, int32_t bands);

/* k-means (Lloyd's algorithm) from evenly spread rows [row_count, bands], row_count ≥ 1, to codes [count, bands]. */
int mx_align_codes_learn(const float *rows, size_t row_count, int32_t bands, float *codes, int32_t count);

#endif
