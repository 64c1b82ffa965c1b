/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The decisions of tuning, see tune.h. All state belongs to the caller; nothing is allocated.
 */
#include "pipeline/tune.h"

#include <math.h>
#include <stdio.h>

#include "base/number.h"

const uint64_t mx_tune_steps[MX_TUNE_ROUNDS] = {4, 8, 16, 32};

void mx_tune_begin(struct mx_tune *tune, const struct mx_pipeline_tuning *limits)
{
    *tune = (struct mx_tune){.patience = MX_TUNE_CALM,
                             .limits = {.workers = mx_most(limits->workers, 1),
                                        .loaded = mx_most(limits->loaded, 1),
                                        .prepared = mx_most(limits->prepared, 1)}};
    tune->least = tune->now = tune->limits;
}

uint64_t mx_tune_due(int32_t round)
{
    if (round < MX_TUNE_ROUNDS) return mx_tune_steps[round];
    return mx_tune_steps[MX_TUNE_ROUNDS - 1] + MX_TUNE_WATCH * (uint64_t)(round - MX_TUNE_ROUNDS + 1);
}

void mx_tune_measure(const struct mx_pipeline_stats *from, const struct mx_pipeline_stats *to,
                     struct mx_tune_figures *out)
{
    const double wall = fmax((double)to->wall_ns - (double)from->wall_ns, 1);
    const double batches = fmax((double)to->batches - (double)from->batches, 1);
    const struct mx_stage_stats *const a = from->stages, *const b = to->stages;
    struct mx_tally busy[MX_STAGES];
    for (int k = 0; k < MX_STAGES; k++) busy[k] = mx_tally_since(&a[k].busy_ns, &b[k].busy_ns);
    *out = (struct mx_tune_figures){
        .period_ns = wall / batches,
        .batches = batches,
        .data_wait = (double)(to->data_wait_ns - from->data_wait_ns) / wall,
        .process_wait_input = (double)(b[MX_STAGE_PROCESS].wait_input_ns - a[MX_STAGE_PROCESS].wait_input_ns) / wall,
        .data_busy = (double)(to->data_busy_ns - from->data_busy_ns) / wall,
        .transfer_busy = (double)(to->transfer_ns - from->transfer_ns) / wall,
        .load_ns = busy[MX_STAGE_LOAD].mean,
        .process_ns = busy[MX_STAGE_PROCESS].mean,
        .transfer_ns = busy[MX_STAGE_TRANSFER].mean,
        .train_ns = busy[MX_STAGE_TRAIN].mean,
        .load_cpu_ns = mx_tally_since(&a[MX_STAGE_LOAD].cpu_ns, &b[MX_STAGE_LOAD].cpu_ns).mean,
        .load_blocked_ns = mx_tally_since(&a[MX_STAGE_LOAD].blocked_ns, &b[MX_STAGE_LOAD].blocked_ns).mean,
        .load_variation = mx_tally_variation(&busy[MX_STAGE_LOAD]),
    };
}

/* ---- workers ---- */

static double slowest_other(const struct mx_tune_figures *f)
{
    return fmax(f->train_ns, fmax(f->process_ns, f->transfer_ns));
}

/* Is it the disk that loads take their time for? */
static bool disk_waits(const struct mx_tune_figures *f)
{
    return f->load_blocked_ns > MX_TUNE_BLOCKED * f->load_ns;
}

/* The number of workers that keep all their cores busy: further ones would wait for a core. */
static int32_t workers_most(const struct mx_tune *tune, const struct mx_tune_figures *f)
{
    const double own_ns = f->load_cpu_ns + f->load_blocked_ns, most = tune->limits.workers;
    if (f->load_cpu_ns <= 0 || tune->cores < 1) return tune->limits.workers;
    const double busy = ceil(tune->cores * own_ns / f->load_cpu_ns - 0.1); /* a tenth of a worker is not worth one */
    return busy < 1 ? 1 : busy < most ? (int32_t)busy : tune->limits.workers;
}

/* As many workers as hide `factor` times a load behind the slowest other stage. */
static int32_t workers_hiding(const struct mx_tune *tune, const struct mx_tune_figures *f, double factor)
{
    const double slowest = slowest_other(f), wanted = slowest > 0 ? ceil(factor * f->load_ns / slowest) : HUGE_VAL;
    const int32_t most = workers_most(tune, f);
    return wanted < most ? mx_most((int32_t)wanted, 1) : most;
}

/* More are no faster, and nothing has changed since that was found. */
static bool workers_are_final(const struct mx_tune *tune, const struct mx_tune_figures *f)
{
    return tune->workers_final && f->load_ns < 2 * tune->final_load_ns;
}

/* Workers were added: was it worth it? What they load must have arrived before that can be judged. */
static bool workers_undo(struct mx_tune *tune, const struct mx_tune_figures *f, char *why, size_t bytes)
{
    if (!tune->raised) return false;
    tune->batches += f->batches;
    if (disk_waits(f) && tune->batches < tune->now.workers + tune->now.loaded + tune->now.prepared) return false;
    tune->raised = false;
    if (f->period_ns < tune->before_period_ns * (1 - MX_TUNE_GAIN)) return false;
    tune->workers_final = true;
    tune->final_load_ns = f->load_ns;
    snprintf(why, bytes, "%d → %d load workers: more were no faster (%.1f ms a batch before, %.1f ms with them)",
             (int)tune->now.workers, (int)tune->before_workers, tune->before_period_ns / 1e6, f->period_ns / 1e6);
    tune->now.workers = tune->before_workers;
    return true;
}

/* The sentence about more workers than `before`. */
static void workers_format(const struct mx_tune *tune, const struct mx_tune_figures *f, int32_t before, char *why,
                           size_t bytes)
{
    const int32_t now = tune->now.workers;
    if (disk_waits(f))
        snprintf(why, bytes,
                 "%d → %d load worker%s: reading waits for the disk, %.1f of the %.1f ms of a load, and process waited "
                 "%.0f %% of the time for it",
                 (int)before, (int)now, now == 1 ? "" : "s", f->load_blocked_ns / 1e6, f->load_ns / 1e6,
                 100 * f->process_wait_input);
    else
        snprintf(why, bytes, "%d → %d load worker%s: process waited %.0f %% of the time for loading", (int)before,
                 (int)now, now == 1 ? "" : "s", 100 * f->process_wait_input);
}

/* As many workers as hide a load, or some more where there should be enough: `more`. */
static bool workers_add(struct mx_tune *tune, const struct mx_tune_figures *f, bool more, char *why, size_t bytes)
{
    const int32_t now = tune->now.workers, most = workers_most(tune, f);
    const bool disk = disk_waits(f);
    if (f->process_wait_input < MX_TUNE_LOAD_WAIT || workers_are_final(tune, f) || now >= most) return false;
    if (more && tune->raised) return false; /* the last ones have not shown yet what they change */
    int32_t wanted = workers_hiding(tune, f, disk ? MX_TUNE_MARGIN : 1);
    if (wanted <= now && !more) return false;
    if (wanted <= now) wanted = now + (disk ? mx_most(now / 4, 1) : 1);
    tune->before_workers = now;
    tune->before_period_ns = f->period_ns;
    tune->batches = 0;
    tune->raised = !disk || tune->behind; /* otherwise the disk may have become slow only while these were measured */
    tune->now.workers = mx_least(wanted, most);
    workers_format(tune, f, now, why, bytes);
    return true;
}

/* Fewer, where far fewer hide a load by now. */
static bool workers_lower(struct mx_tune *tune, const struct mx_tune_figures *f, char *why, size_t bytes)
{
    const int32_t before = tune->now.workers;
    const int32_t wanted = mx_most(workers_hiding(tune, f, MX_TUNE_MARGIN), tune->least.workers);
    if (before < MX_TUNE_SPARE * wanted) return false;
    tune->now.workers = wanted;
    snprintf(why, bytes,
             "%d → %d load worker%s: a load takes %.1f ms, and the model has hardly waited for data in %d "
             "steps",
             (int)before, (int)wanted, wanted == 1 ? "" : "s", f->load_ns / 1e6, MX_TUNE_WATCH * (int)tune->calm);
    return true;
}

bool mx_tune_check(struct mx_tune *tune, const struct mx_tune_figures *f, char *why, size_t bytes)
{
    const int32_t before = tune->now.workers;
    if (bytes > 0) why[0] = '\0';
    if (f->process_wait_input < MX_TUNE_ALARM || !disk_waits(f) || f->load_variation > MX_TUNE_UNEVEN ||
        workers_are_final(tune, f) || workers_hiding(tune, f, 1) <= before)
        return false;
    tune->now.workers = workers_hiding(tune, f, MX_TUNE_MARGIN);
    tune->raised = tune->gave = false;
    tune->calm = 0;
    workers_format(tune, f, before, why, bytes);
    return true;
}

/* ---- batches ahead ---- */

/* What has changed: "2 → 4 batches loaded and 3 → 6 prepared ahead". */
static int depth_name(const struct mx_tune *tune, int32_t loaded, int32_t prepared, char *out, size_t bytes)
{
    const struct mx_pipeline_tuning *const now = &tune->now;
    if (loaded == now->loaded)
        return snprintf(out, bytes, "%d → %d batches prepared ahead", (int)prepared, (int)now->prepared);
    if (prepared == now->prepared)
        return snprintf(out, bytes, "%d → %d batches loaded ahead", (int)loaded, (int)now->loaded);
    return snprintf(out, bytes, "%d → %d batches loaded and %d → %d prepared ahead", (int)loaded, (int)now->loaded,
                    (int)prepared, (int)now->prepared);
}

/* The workers that would have sufficed if they had hidden the waits: at least twice as many as now, at most all. */
static int32_t bridging(int32_t now, const struct mx_tune_figures *f, int32_t most)
{
    const double missing = f->data_wait * f->period_ns * f->batches / fmax(f->train_ns, 1);
    const double wanted = fmax(2.0 * now, now + ceil(missing));
    return wanted < most ? (int32_t)wanted : most;
}

/* Loads that the disk keeps this long are too few at any depth. */
static bool disk_limits(const struct mx_tune *tune, const struct mx_tune_figures *f)
{
    return disk_waits(f) && f->process_wait_input >= MX_TUNE_LOAD_WAIT &&
           f->load_ns > tune->now.workers * slowest_other(f);
}

static bool depth_add(struct mx_tune *tune, const struct mx_tune_figures *f, char *why, size_t bytes)
{
    const int32_t loaded = tune->now.loaded, prepared = tune->now.prepared;
    const bool uneven = f->load_variation > MX_TUNE_UNEVEN;
    if (!uneven && disk_limits(tune, f)) return false;
    if (!uneven && (f->data_busy >= MX_TUNE_BUSY || f->transfer_busy >= MX_TUNE_BUSY)) return false;
    tune->now.loaded = mx_least(2 * loaded, tune->limits.loaded);
    tune->now.prepared =
        uneven ? bridging(prepared, f, tune->limits.prepared) : mx_least(2 * prepared, tune->limits.prepared);
    if (tune->now.loaded == loaded && tune->now.prepared == prepared) return false;
    char what[96];
    depth_name(tune, loaded, prepared, what, sizeof what);
    if (uneven)
        snprintf(why, bytes, "%s: the model waited %.1f %% of the time, and loads are uneven, %.1f ± %.1f ms", what,
                 100 * f->data_wait, f->load_ns / 1e6, f->load_variation * f->load_ns / 1e6);
    else
        snprintf(why, bytes, "%s: the model waited %.1f %% of the time, though the data device was only %.0f %% busy",
                 what, 100 * f->data_wait, 100 * f->data_busy);
    return true;
}

static bool depth_lower(struct mx_tune *tune, char *why, size_t bytes)
{
    const int32_t loaded = tune->now.loaded, prepared = tune->now.prepared;
    tune->now.loaded = mx_most(loaded / 2, tune->least.loaded);
    tune->now.prepared = mx_most(prepared / 2, tune->least.prepared);
    if (tune->now.loaded == loaded && tune->now.prepared == prepared) return false;
    char what[96];
    depth_name(tune, loaded, prepared, what, sizeof what);
    snprintf(why, bytes, "%s: the model has hardly waited for data in %d steps", what, MX_TUNE_WATCH * (int)tune->calm);
    return true;
}

/* ---- all ---- */

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
    else if (f->process_wait_input >= MX_TUNE_LOAD_WAIT && disk_waits(f))
        snprintf(why, bytes, "the disk is the limit: a load waits for it %.1f of %.1f ms, and %s",
                 f->load_blocked_ns / 1e6, f->load_ns / 1e6,
                 tune->workers_final ? "more workers are no faster" : "there are no more workers");
    else if (f->process_wait_input >= MX_TUNE_LOAD_WAIT)
        snprintf(why, bytes, "loading is the limit: process waited %.0f %% of the time for it, and %s",
                 100 * f->process_wait_input,
                 tune->workers_final ? "more workers are no faster" : "there are no more workers or cores");
    else
        snprintf(why, bytes, "the model waited %.1f %% of the time for data, and no setting is left to change", waited);
}

/* The model hardly waits. */
static bool calm_decide(struct mx_tune *tune, const struct mx_tune_figures *f, char *why, size_t bytes)
{
    tune->raised = tune->behind = false;
    if (tune->round < MX_TUNE_ROUNDS) return false; /* what was ready at the start hides what is slow */
    if (!tune->settled) {
        tune->settled = true;
        snprintf(why, bytes, "the model waited %.1f %% of the time for data: nothing to gain", 100 * f->data_wait);
        return false;
    }
    if (++tune->calm < tune->patience) return false;
    tune->workers_final = false; /* it was long ago */
    tune->gave = workers_lower(tune, f, why, bytes) || depth_lower(tune, why, bytes);
    tune->calm = 0;
    return tune->gave;
}

static bool wait_decide(struct mx_tune *tune, const struct mx_tune_figures *f, char *why, size_t bytes)
{
    if (tune->gave) tune->patience = mx_least(2 * tune->patience, MX_TUNE_CALM_MOST);
    tune->gave = false;
    tune->calm = 0;
    const bool uneven = f->load_variation > MX_TUNE_UNEVEN; /* single loads are slow, not all of them */
    const bool changed = workers_undo(tune, f, why, bytes) || (uneven && depth_add(tune, f, why, bytes)) ||
                         workers_add(tune, f, false, why, bytes) || depth_add(tune, f, why, bytes) ||
                         workers_add(tune, f, true, why, bytes);
    if (!changed && !tune->settled) limit_name(tune, f, why, bytes);
    tune->settled = tune->settled || !changed || tune->round >= MX_TUNE_ROUNDS;
    tune->behind = f->process_wait_input >= MX_TUNE_LOAD_WAIT;
    return changed;
}

bool mx_tune_decide(struct mx_tune *tune, const struct mx_tune_figures *f, char *why, size_t bytes)
{
    tune->round++;
    if (bytes > 0) why[0] = '\0';
    return f->data_wait < MX_TUNE_WAIT_LOW ? calm_decide(tune, f, why, bytes) : wait_decide(tune, f, why, bytes);
}
