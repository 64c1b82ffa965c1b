/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Exact sums of rounded numbers, see statistics.h. Nothing is allocated.
 */
#include "features/statistics.h"

#include <math.h>
#include <stdbool.h>

#include "myxtts/error.h"

#define UNIT 0x1p24

static int check(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(values[i]) < MX_STATISTICS_MOST))
            return MX_FAIL(MX_ERR_DATA, "check the recording that these features come from",
                           "feature %zu of %zu is %g, which is not finite or too large", i, count, (double)values[i]);
    return 0;
}

static int add(struct mx_statistics *statistics, const float *values, size_t count, bool positive)
{
    const int rc = check(values, count);
    if (rc < 0) return rc;
    for (size_t i = 0; i < count; i++) {
        const double value = (double)values[i];
        if (positive && !(value > 0)) continue;
        statistics->count++;
        statistics->sum += llrint(value * UNIT);
        /* A square below 2^40 in units of 2^-24 does not fit 64 bits; a double that large is a whole number. */
        statistics->squares += (__int128)rint(value * value * UNIT);
    }
    return 0;
}

int mx_statistics_add(struct mx_statistics *statistics, const float *values, size_t count)
{
    return add(statistics, values, count, false);
}

int mx_statistics_add_positive(struct mx_statistics *statistics, const float *values, size_t count)
{
    return add(statistics, values, count, true);
}

double mx_statistics_mean(const struct mx_statistics *statistics)
{
    return statistics->count > 0 ? (double)statistics->sum / UNIT / (double)statistics->count : 0;
}

double mx_statistics_deviation(const struct mx_statistics *statistics)
{
    if (statistics->count == 0) return 1;
    const double mean = mx_statistics_mean(statistics);
    const double variance = (double)statistics->squares / UNIT / (double)statistics->count - mean * mean;
    return variance > 1e-9 ? sqrt(variance) : 1;
}
