/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mean and deviation of many numbers, identical to the last bit whatever the order of adding.
 *
 * Sums in floating point depend on their order, and the order of work depends on threads. So each number is rounded to
 * a multiple of 2^-24 (and its square, in double, to one of 2^-24 too), and sums are kept as whole numbers of 128 bits,
 * which no corpus can overflow.
 *
 * Memory: a plain value, {0} is empty. One thread at a time.
 */
#ifndef MX_FEATURES_STATISTICS_H
#define MX_FEATURES_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

struct mx_statistics {
    uint64_t count;
    __int128 sum, squares; /* in units of 2^-24 */
};

#define MX_STATISTICS_MOST 0x1p20f /* numbers must be smaller than this */

/* MX_ERR_DATA if any number is not finite or is too large; then nothing is added. */
int mx_statistics_add(struct mx_statistics *statistics, const float *values, size_t count);
/* The same for only the numbers above 0: pitch, where 0 means unvoiced. */
int mx_statistics_add_positive(struct mx_statistics *statistics, const float *values, size_t count);

double mx_statistics_mean(const struct mx_statistics *statistics);      /* 0 when empty */
double mx_statistics_deviation(const struct mx_statistics *statistics); /* of the whole; 1 when all are alike */

#endif
