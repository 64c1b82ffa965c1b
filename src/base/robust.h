/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Statistics that a few wrong values do not move: the median, and the median deviation.
 *
 * Memory: nothing is allocated; values are sorted in place, and none of them may be NaN.
 */
#ifndef MX_BASE_ROBUST_H
#define MX_BASE_ROBUST_H

#include <stddef.h>

#define MX_ROBUST_SIGMA 1.4826 /* standard deviations in a median deviation, of a normal distribution */

void mx_robust_sort(double *values, size_t count); /* smallest first */
/* Of sorted values; 0 without any. */
double mx_robust_median(const double *values, size_t count);

struct mx_robust {
    double middle;    /* the median */
    double deviation; /* median distance from it, as a standard deviation */
};

/* Replaces the values, which may be in any order, by their distances from the median, sorted. {0, 0} without any. */
struct mx_robust mx_robust_of(double *values, size_t count);

#endif
