/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Medians; see robust.h.
 */
#include "base/robust.h"

#include <math.h>
#include <stdlib.h>

static int smaller_first(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void mx_robust_sort(double *values, size_t count)
{
    if (count > 1) qsort(values, count, sizeof *values, smaller_first);
}

double mx_robust_median(const double *values, size_t count)
{
    return count == 0 ? 0 : (values[(count - 1) / 2] + values[count / 2]) / 2;
}

struct mx_robust mx_robust_of(double *values, size_t count)
{
    mx_robust_sort(values, count);
    const double middle = mx_robust_median(values, count);
    for (size_t i = 0; i < count; i++) values[i] = fabs(values[i] - middle);
    mx_robust_sort(values, count);
    return (struct mx_robust){middle, MX_ROBUST_SIGMA * mx_robust_median(values, count)};
}
