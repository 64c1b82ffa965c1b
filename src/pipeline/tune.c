/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The decisions of tuning, see tune.h. No state but the caller's, no memory.
 */
#include "pipeline/tune.h"

#include <math.h>
#include <stdio.h>

const uint64_t mx_tune_steps[MX_TUNE_ROUNDS] = {4, 8, 16, 32};

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Mean of what `to` counted and `from` had not; the mean of all if there is nothing new. */
static double mean_between(const struct mx_tally *from, const struct mx_tally *to)
{
    if (to->count <= from->count) return to->mean;
    return (to->mean * (double)to->count - from->mean * (double)from->count) / (double)(to->count - from->count);
}

void mx_tune_measure(const struct mx_pipeline_stats *from, const struct mx_pipeline_stats *to,
                     struct mx_tune_figures *out)
{
    const double wall = larger((double)to->wall_ns - (double)from->wall_ns, 1);
    const double batches = larger((double)to->batches - (double)from->batches, 1);
    const struct mx_stage_stats *const a = from->stages, *const b = to->stages;
    *out = (struct mx_tune_figures){
        .period_ns = wall / batches,
        .data_wait = (double)(to->data_wait_ns - from->data_wait_ns) / wall,
        .process_wait_input = (double)(b[MX_STAGE_PROCESS].wait_input_ns - a[MX_STAGE_PROCESS].wait_input_ns) / wall,
        .data_busy = (double)(to->data_busy_ns - from->data_busy_ns) / wall,
        .transfer_busy = (double)(to->transfer_ns - from->transfer_ns) / wall,
        .load_ns = mean_between(&a[MX_STAGE_LOAD].busy_ns, &b[MX_STAGE_LOAD].busy_ns),
        .process_ns = mean_between(&a[MX_STAGE_PROCESS].busy_ns, &b[MX_STAGE_PROCESS].busy_ns),
        .transfer_ns = mean_between(&a[MX_STAGE_TRANSFER].busy_ns, &b[MX_STAGE_TRANSFER].busy_ns),
        .train_ns = mean_between(&a[MX_STAGE_TRAIN].busy_ns, &b[MX_STAGE_TRAIN].busy_ns),
    };
}

/* Workers were added last time: was it worth it? */
static bool workers_undo(struct mx_tune *tune, const struct mx_tune_figures *f, char *why, size_t bytes)
{
    if (!tune->raised) return false;
    tune->raised = false;
    if (f->period_ns < tune->before_period_ns * (1 - MX_TUNE_GAIN)) return false;
    tune->workers_final = true;
    snprintf(why, bytes, "%d → %d load workers: more were no faster (%.1f ms a batch before, %.1f ms with them)",
             (int)tune->now.workers, (int)tune->before.workers, tune->before_period_ns / 1e6, f->period_ns / 1e6);
    tune->now = tune->before;
    return true;
}

static bool workers_add(struct mx_tune *tune, const struct mx_tune_figures *f, char *why, size_t bytes)
{
    const double slowest = larger(f->train_ns, larger(f->process_ns, f->transfer_ns));
    const int32_t now = tune->now.workers, most = tune->limits.workers;
    if (f->process_wait_input < MX_TUNE_LOAD_WAIT || tune->workers_final || now >= most) return false;
    int32_t wanted = slowest > 0 && f->load_ns / slowest < (double)most ? (int32_t)ceil(f->load_ns / slowest) : most;
    if (wanted <= now) wanted = now + 1;
    tune->before = tune->now;
    tune->before_period_ns = f->period_ns;
    tune->raised = true;
    tune->now.workers = smaller(wanted, most);
    const int32_t host = smaller(tune->now.workers + MX_PIPELINE_DEPTH, tune->limits.host_slots);
    if (host > tune->now.host_slots) tune->now.host_slots = host;
    snprintf(why, bytes, "%d → %d load worker%s: process waited %.0f %% of the time for loading", (int)now,
             (int)tune->now.workers, tune->now.workers == 1 ? "" : "s", 100 * f->process_wait_input);
    return true;
}

static bool depth_add(struct mx_tune *tune, const struct mx_tune_figures *f, char *why, size_t bytes)
{
    const int32_t host = tune->now.host_slots, data = tune->now.data_slots;
    if (f->data_busy >= MX_TUNE_BUSY || f->transfer_busy >= MX_TUNE_BUSY) return false;
    tune->now.host_slots = smaller(2 * host, tune->limits.host_slots);
    tune->now.data_slots = smaller(2 * data, tune->limits.data_slots);
    if (tune->now.host_slots == host && tune->now.data_slots == data) return false;
    snprintf(why, bytes,
             "%d → %d batches loaded ahead, %d → %d prepared: the model waited %.1f %% of the time, though the data "
             "device was only %.0f %% busy",
             (int)host, (int)tune->now.host_slots, (int)data, (int)tune->now.data_slots, 100 * f->data_wait,
             100 * f->data_busy);
    return true;
}

/* Why there is nothing more to do. */
static void limit_name(const struct mx_tune *tune, const struct mx_tune_figures *f, char *why, size_t bytes)
{
    const double waited = 100 * f->data_wait;
    if (f->data_busy >= MX_TUNE_BUSY)
        snprintf(why, bytes, "the data device is the limit: %.0f %% busy, the model waited %.1f %% of the time",
                 100 * f->data_busy, waited);
    else if (f->transfer_busy >= MX_TUNE_BUSY)
        snprintf(why, bytes, "the transfer is the limit: under way %.0f %% of the time, the model waited %.1f %%",
                 100 * f->transfer_busy, waited);
    else if (f->process_wait_input >= MX_TUNE_LOAD_WAIT)
        snprintf(why, bytes, "loading is the limit: process waited %.0f %% of the time for it, and %s",
                 100 * f->process_wait_input,
                 tune->workers_final ? "more workers are no faster" : "there are no more workers");
    else
        snprintf(why, bytes, "the model waited %.1f %% of the time for data, and no setting is left to change", waited);
}

bool mx_tune_decide(struct mx_tune *tune, const struct mx_tune_figures *f, char *why, size_t bytes)
{
    bool changed = false;
    tune->round++;
    if (bytes > 0) why[0] = '\0';
    if (f->data_wait < MX_TUNE_WAIT_LOW) {
        tune->raised = false;
        tune->settled = tune->round >= MX_TUNE_ROUNDS; /* not before: what was ready at the start hides what is slow */
        if (tune->settled)
            snprintf(why, bytes, "the model waited %.1f %% of the time for data: nothing to gain", 100 * f->data_wait);
    } else if (workers_undo(tune, f, why, bytes)) {
        changed = true;
        tune->settled = tune->round >= MX_TUNE_ROUNDS;
    } else if (tune->round < MX_TUNE_ROUNDS && (workers_add(tune, f, why, bytes) || depth_add(tune, f, why, bytes))) {
        changed = true;
    } else {
        limit_name(tune, f, why, bytes);
        tune->settled = true;
    }
    return changed;
}
