/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The guard, see guard.h.
 */
#include "train/guard.h"

#include <math.h>

#define FORGET 0.02 /* share of the newest step in the averages */

/* A run with hardly any spread must not report rounding as a spike: this share of the mean is always normal. */
#define SPREAD_LEAST 0.01

static double deviation_of(const struct mx_guard_average *average)
{
    return sqrt(average->variance) + SPREAD_LEAST * fabs(average->mean) + 1e-12;
}

static double average_score(const struct mx_guard_average *average, double value)
{
    return (value - average->mean) / deviation_of(average);
}

/* `seen` good steps came before. The first ones count equally, so that the averages do not remember their start. */
static void average_add(struct mx_guard_average *average, int64_t seen, double value, double score_max)
{
    const double share = fmax(FORGET, 1.0 / ((double)seen + 1));
    if (seen >= MX_GUARD_WARMUP) value = fmin(value, average->mean + score_max * deviation_of(average));
    const double off = value - average->mean;
    average->mean += share * off;
    average->variance = (1 - share) * (average->variance + share * off * off);
}

struct mx_guard_report mx_guard_observe(const struct mx_guard_options *options, struct mx_guard *guard, double loss,
                                        double norm, bool finite)
{
    struct mx_guard_report report = {0};
    if (!finite || !isfinite(loss) || !isfinite(norm)) {
        guard->skipped++;
        guard->in_row++;
        report.verdict = guard->in_row >= options->skips_max ? MX_GUARD_STOP : MX_GUARD_SKIPPED;
        return report;
    }
    guard->in_row = 0;
    if (guard->seen >= MX_GUARD_WARMUP) {
        report.loss_z = average_score(&guard->loss, loss);
        report.norm_z = average_score(&guard->norm, norm);
        if (report.loss_z > options->spike || (report.norm_z > options->spike && norm > options->clip)) {
            report.verdict = MX_GUARD_SPIKE;
            guard->spikes++;
        }
    }
    average_add(&guard->loss, guard->seen, loss, options->spike);
    average_add(&guard->norm, guard->seen, norm, options->spike);
    guard->seen++;
    return report;
}
