/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Creating and destroying the pipeline, its levels, tuning, statistics and memory; see myxtts/pipeline.h and
 * pipeline_internal.h.
 *
 * Memory: everything is taken by mx_pipeline_create: one block per array below, events and two streams of the devices.
 */
#include "myxtts/pipeline.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/argument.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/thread/pool.h"
#include "myxtts/budget.h"
#include "pipeline/pipeline_internal.h"

/* ---- life ---- */

static int options_check(const struct mx_pipeline_options *o)
{
    const bool two = o->data != o->model;
    const int32_t last = two ? o->model_count : o->data_count;
    if (o->data == NULL || o->model == NULL || o->work.draw == NULL || o->work.load == NULL ||
        o->work.process == NULL || (two && o->work.transfer == NULL))
        return MX_FAIL(MX_ERR_ARGUMENT, "give both devices and a function for each stage",
                       "a pipeline needs both devices and all stages");
    if (o->host_count < 1 || o->data_count < 1 || (two ? o->model_count < 1 : o->model_count != 0))
        return MX_FAIL(MX_ERR_ARGUMENT, "each ring needs a slot; on one device there is no model ring",
                       "a pipeline of %d host, %d data and %d model slots on %s", (int)o->host_count,
                       (int)o->data_count, (int)o->model_count, two ? "two devices" : "one device");
    if (o->host_slots == NULL || o->data_slots == NULL || (two && o->model_slots == NULL))
        return MX_FAIL(MX_ERR_ARGUMENT, "pass as many slots as their counts say",
                       "a pipeline needs slots in each ring");
    if (o->workers < 1 || o->workers > MX_PIPELINE_WORKERS || o->workers_active < 0 || o->workers_active > o->workers)
        return MX_FAIL(MX_ERR_ARGUMENT, "use 1 to 64 load workers, and no more active ones than that",
                       "a pipeline of %d load workers, %d of them active", (int)o->workers, (int)o->workers_active);
    if (o->held < 1 || o->held >= last)
        return MX_FAIL(MX_ERR_ARGUMENT, "the last ring needs at least one more slot than the number of held batches",
                       "a pipeline cannot hold %d batches with %d slots to train on", (int)o->held, (int)last);
    return 0;
}

static int stage_create(struct mx_pipeline *p, struct mx_pipeline_stage *stage, int32_t count)
{
    int rc = 0;
    struct mx_device *const device = p->options.data;
    stage->count = count;
    stage->places = mx_alloc((size_t)count, sizeof *stage->places);
    if (stage->places == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_stream_create(device, mx_stage_name(stage->kind), &stage->stream));
    for (int32_t i = 0; i < count; i++) {
        MX_TRY(mx_event_create(device, &stage->places[i].begin));
        MX_TRY(mx_event_create(device, &stage->places[i].end));
    }
out:
    return rc;
}

static void stage_destroy(struct mx_pipeline_stage *stage)
{
    mx_stream_release(stage->stream); /* waits for what is in flight */
    for (int32_t i = 0; stage->places != NULL && i < stage->count; i++) {
        mx_event_release(stage->places[i].begin);
        mx_event_release(stage->places[i].end);
    }
    mx_free(stage->places);
    pthread_cond_destroy(&stage->changed);
}

static int train_create(struct mx_pipeline *p)
{
    int rc = 0;
    p->train = mx_alloc((size_t)p->last_count, sizeof *p->train);
    if (p->train == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_event_create(p->options.model, &p->dry));
    for (int32_t i = 0; i < p->last_count; i++) {
        MX_TRY(mx_event_create(p->options.model, &p->train[i].begin));
        MX_TRY(mx_event_create(p->options.model, &p->train[i].end));
    }
out:
    return rc;
}

/* All slots, or of what is left to tuning as many as stages of even length need: it adds the rest if they are not. */
static void tuning_begin(struct mx_pipeline *p)
{
    const struct mx_pipeline_options *const o = &p->options;
    const bool tuned = o->auto_tune && !o->sequential;
    struct mx_pipeline_tuning first;
    mx_tune_begin(&p->tune, &(struct mx_pipeline_tuning){.workers = o->workers,
                                                         .loaded = o->host_count - o->workers,
                                                         .prepared = o->data_count - (p->two_devices ? 0 : o->held)});
    p->tune.cores = p->pinned ? mx_device_info(o->data)->compute_units : mx_thread_cores(NULL, 0);
    first = p->tune.limits;
    if (o->workers_active > 0) first.workers = o->workers_active;
    if (tuned && !o->loaded_given) first.loaded = MX_PIPELINE_DEPTH;
    if (tuned && !o->prepared_given) first.prepared = MX_PIPELINE_BUFFERS;
    mx_pipeline_tune(p, &first);
    p->tune.least = p->tuning;
}

static void locks_create(struct mx_pipeline *p)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->room, NULL);
    pthread_cond_init(&p->active, NULL);
    pthread_cond_init(&p->arrived, &monotonic);
    pthread_cond_init(&p->process.changed, NULL);
    pthread_cond_init(&p->transfer.changed, NULL);
    pthread_condattr_destroy(&monotonic);
}

int mx_pipeline_create(const struct mx_pipeline_options *options, struct mx_pipeline **out)
{
    int rc = 0;
    struct mx_pipeline *p = NULL;
    MX_NEED(out, "a place for the pipeline");
    *out = NULL;
    MX_NEED(options, "the options");
    MX_TRY(options_check(options));
    p = mx_alloc(1, sizeof *p);
    if (p == NULL) return MX_ERR_NO_MEMORY;
    locks_create(p);
    p->options = *options;
    p->two_devices = options->data != options->model;
    p->last_slots = p->two_devices ? options->model_slots : options->data_slots;
    p->last_count = p->two_devices ? options->model_count : options->data_count;
    const struct mx_device_info *const info = mx_device_info(options->data);
    p->pinned = info->kind == MX_DEVICE_CPU && !options->sequential &&
                (p->two_devices || info->compute_units < mx_thread_cores(NULL, 0));
    p->end = p->failed_at = UINT64_MAX;
    p->process.pipeline = p->transfer.pipeline = p;
    p->process.kind = MX_STAGE_PROCESS;
    p->transfer.kind = MX_STAGE_TRANSFER;
    /* A batch is one span per stage, and training has one more for each later batch that its stream ran dry for, and
     * one on the data device. */
    const uint32_t slots = (uint32_t)(options->host_count + options->data_count + options->model_count);
    const uint32_t pieces = MX_STAGES + 1 + (uint32_t)options->held;
    const uint32_t open = (uint32_t)(options->workers + 2 * MX_PIPELINE_DEPTH + p->last_count);
    MX_TRY(mx_meter_create(&p->meter, pieces * slots + 2 * MX_PIPELINE_WORKERS, open, options->spans));
    p->start_ns = p->meter.since_ns;
    p->meter.load_on_data = p->pinned;
    p->meter.copy_on_data = !info->caps.async_copy;
    p->meter.one_device = !p->two_devices;
    p->loaded = mx_alloc((size_t)options->host_count, sizeof *p->loaded);
    p->workers = mx_alloc((size_t)options->workers, sizeof *p->workers);
    p->open = mx_alloc(open, sizeof *p->open);
    if (p->loaded == NULL || p->workers == NULL || p->open == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (int32_t i = 0; i < options->workers; i++) {
        p->workers[i].pipeline = p;
        p->workers[i].index = i;
    }
    MX_TRY(stage_create(p, &p->process, options->data_count));
    if (p->two_devices) MX_TRY(stage_create(p, &p->transfer, options->model_count));
    MX_TRY(train_create(p));
    tuning_begin(p);
    if (!options->sequential) MX_TRY(mx_pipeline_threads_start(p));
    *out = p;
    p = NULL;
out:
    mx_pipeline_destroy(p);
    return rc;
}

void mx_pipeline_destroy(struct mx_pipeline *p)
{
    if (p == NULL) return;
    const struct mx_error error = *mx_error_last(); /* destroying is often what follows a failure */
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->cancel, true);
    mx_pipeline_wake(p);
    pthread_mutex_unlock(&p->lock);
    mx_pipeline_threads_join(p);
    if (p->taken > p->given) mx_stream_sync(p->stream);
    for (int32_t i = 0; p->train != NULL && i < p->last_count; i++)
        if (p->train[i].end != NULL) mx_event_sync(p->train[i].end);
    stage_destroy(&p->transfer); /* before process, whose events it waits for */
    stage_destroy(&p->process);
    for (int32_t i = 0; p->train != NULL && i < p->last_count; i++) {
        mx_event_release(p->train[i].begin);
        mx_event_release(p->train[i].end);
    }
    mx_event_release(p->dry);
    mx_free(p->train);
    mx_free(p->workers);
    mx_free(p->loaded);
    mx_free(p->open);
    mx_meter_release(&p->meter);
    mx_thread_clock_close(&p->clock);
    pthread_cond_destroy(&p->arrived);
    pthread_cond_destroy(&p->active);
    pthread_cond_destroy(&p->room);
    pthread_mutex_destroy(&p->lock);
    mx_free(p);
    mx_error_restore(&error);
}

/* ---- levels and tuning ---- */

static int32_t waiting(uint64_t there, uint64_t gone)
{
    return there > gone ? (int32_t)(there - gone) : 0;
}

/* Is all made that there is room for? The lock is held. */
static bool rings_full(const struct mx_pipeline *p)
{
    const struct mx_pipeline_stage *const moved = &p->transfer;
    for (int32_t i = 0; i < p->options.workers; i++)
        if (p->workers[i].loading) return false;
    return !p->drawing && !mx_pipeline_host_room(p) && p->process.submitted == p->process.done &&
           !mx_pipeline_data_room(p) && moved->submitted == moved->done &&
           (!p->two_devices || moved->done == p->given + (uint64_t)moved->count);
}

void mx_pipeline_levels(struct mx_pipeline *p, struct mx_pipeline_levels *out)
{
    if (out == NULL) return;
    *out = (struct mx_pipeline_levels){0};
    if (p == NULL) return;
    pthread_mutex_lock(&p->lock);
    *out = (struct mx_pipeline_levels){
        .loaded_limit = p->tuning.loaded,
        .prepared = waiting(p->process.done, p->two_devices ? p->transfer.done : p->taken),
        .prepared_limit = p->tuning.prepared,
        .arrived = p->two_devices ? waiting(mx_pipeline_ready(p), p->taken) : 0,
        .arrived_limit = p->options.model_count,
        .workers_active = p->tuning.workers,
        .workers = p->options.workers,
        .full = rings_full(p),
    };
    for (int32_t i = 0; i < p->options.host_count; i++) out->loaded += p->loaded[i];
    if (out->loaded > out->loaded_limit) out->loaded = out->loaded_limit;
    if (out->prepared > out->prepared_limit)
        out->prepared = out->prepared_limit; /* the next to be taken does not wait */
    pthread_mutex_unlock(&p->lock);
}

void mx_pipeline_tune(struct mx_pipeline *p, const struct mx_pipeline_tuning *tuning)
{
    if (p == NULL || tuning == NULL) return;
    const struct mx_pipeline_tuning *const limits = &p->tune.limits;
    pthread_mutex_lock(&p->lock);
    p->tuning.workers = mx_clamp(tuning->workers, 1, limits->workers);
    p->tuning.loaded = mx_clamp(tuning->loaded, 1, limits->loaded);
    p->tuning.prepared = mx_clamp(tuning->prepared, 1, limits->prepared);
    mx_pipeline_wake(p);
    pthread_mutex_unlock(&p->lock);
}

void mx_pipeline_tuning(struct mx_pipeline *p, struct mx_pipeline_tuning *now, struct mx_pipeline_tuning *most)
{
    if (p == NULL) {
        if (now != NULL) *now = (struct mx_pipeline_tuning){0};
        if (most != NULL) *most = (struct mx_pipeline_tuning){0};
        return;
    }
    pthread_mutex_lock(&p->lock);
    if (now != NULL) *now = p->tuning;
    if (most != NULL) *most = p->tune.limits;
    pthread_mutex_unlock(&p->lock);
}

/* ---- statistics ---- */

static void wait_peek(struct mx_stage_stats *stats, struct mx_pipeline_wait *wait, uint64_t now_ns)
{
    if (wait->since_ns == 0 || now_ns < wait->since_ns) return;
    *(wait->output ? &stats->wait_output_ns : &stats->wait_input_ns) += now_ns - wait->since_ns;
}

/* What was waited until now counts for nothing. */
static void wait_restart(struct mx_stage_stats *stats, struct mx_pipeline_wait *wait, uint64_t now_ns)
{
    (void)stats;
    if (wait->since_ns != 0) wait->since_ns = now_ns;
}

/* What was waited until now counts, and no more. */
static void wait_settle(struct mx_stage_stats *stats, struct mx_pipeline_wait *wait, uint64_t now_ns)
{
    wait_peek(stats, wait, now_ns);
    wait_restart(stats, wait, now_ns);
}

/* Applies `change` to each wait of the stages before training. */
static void waits_each(struct mx_pipeline *p, struct mx_pipeline_stats *stats, uint64_t now_ns,
                       void (*change)(struct mx_stage_stats *, struct mx_pipeline_wait *, uint64_t))
{
    for (int32_t i = 0; i < p->options.workers; i++) change(&stats->stages[MX_STAGE_LOAD], &p->workers[i].wait, now_ns);
    change(&stats->stages[MX_STAGE_PROCESS], &p->process.wait, now_ns);
    change(&stats->stages[MX_STAGE_TRANSFER], &p->transfer.wait, now_ns);
}

void mx_pipeline_stats_now(struct mx_pipeline *p, struct mx_pipeline_stats *out)
{
    mx_pipeline_harvest(p);
    const uint64_t now_ns = mx_clock_ns(), horizon_ns = mx_pipeline_horizon(p);
    mx_meter_sweep(&p->meter, horizon_ns < now_ns ? horizon_ns : now_ns);
    const uint32_t open = mx_pipeline_open_train(p, mx_pipeline_open(p, now_ns), now_ns);
    mx_meter_read(&p->meter, now_ns, p->open, open, p->rest_ns, out);
    if (p->rest_ns == 0) waits_each(p, out, now_ns, wait_peek);
    out->stages[MX_STAGE_TRAIN].wait_input_ns += mx_pipeline_dry_ns(p, now_ns);
    out->data_wait_ns = out->stages[MX_STAGE_TRAIN].wait_input_ns;
}

void mx_pipeline_stats(struct mx_pipeline *p, struct mx_pipeline_stats *out)
{
    if (out == NULL) return;
    *out = (struct mx_pipeline_stats){0};
    if (p == NULL) return;
    pthread_mutex_lock(&p->lock);
    mx_pipeline_stats_now(p, out);
    pthread_mutex_unlock(&p->lock);
}

void mx_pipeline_stats_reset(struct mx_pipeline *p)
{
    if (p == NULL) return;
    pthread_mutex_lock(&p->lock);
    const uint64_t now_ns = mx_clock_ns();
    mx_pipeline_harvest(p);
    mx_meter_reset(&p->meter, now_ns);
    memset(&p->tune_stats, 0, sizeof p->tune_stats);
    memset(&p->look_stats, 0, sizeof p->look_stats);
    waits_each(p, &p->meter.stats, now_ns, wait_restart);
    wait_restart(NULL, &p->wait, now_ns);
    pthread_mutex_unlock(&p->lock);
}

/* ---- rests ---- */

void mx_pipeline_rest(struct mx_pipeline *p)
{
    if (p == NULL) return;
    pthread_mutex_lock(&p->lock);
    p->resting = true;
    if (p->taken > 0 && p->rest_ns == 0) { /* before the first batch there is nothing to rest from: it is waited for */
        const uint64_t now_ns = mx_clock_ns();
        waits_each(p, &p->meter.stats, now_ns, wait_settle);
        p->rest_ns = now_ns;
    }
    pthread_mutex_unlock(&p->lock);
}

void mx_pipeline_rest_end(struct mx_pipeline *p)
{
    if (p->rest_ns == 0) return;
    const uint64_t now_ns = mx_clock_ns();
    waits_each(p, &p->meter.stats, now_ns, wait_restart);
    mx_meter_pause(&p->meter, p->rest_ns, now_ns);
    p->rest_ns = 0;
}

uint32_t mx_pipeline_spans(struct mx_pipeline *p, struct mx_span *out, uint32_t count)
{
    if (p == NULL || out == NULL) return 0;
    pthread_mutex_lock(&p->lock);
    mx_pipeline_harvest(p);
    const uint32_t there = mx_meter_spans(&p->meter, out, count);
    pthread_mutex_unlock(&p->lock);
    return there;
}

/* ---- memory: from the budgets of the devices ---- */

static void device_fill(const struct mx_device *device, struct mx_pipeline_memory_device *out)
{
    struct mx_budget_stats stats;
    mx_budget_stats(mx_device_budget(device), &stats);
    snprintf(out->name, sizeof out->name, "%s", mx_device_name(device));
    snprintf(out->logical, sizeof out->logical, "%s", mx_device_logical(device));
    out->limit_bytes = stats.limit_bytes < mx_device_info(device)->memory_bytes ? stats.limit_bytes : 0;
    out->used_bytes = stats.current_bytes;
    out->peak_bytes = stats.peak_bytes;
    out->host_bytes = stats.host_bytes;
    for (int i = 0; i < stats.owner_count && out->owner_count < MX_PIPELINE_OWNERS; i++) {
        struct mx_pipeline_owner *const owner = &out->owners[out->owner_count++];
        snprintf(owner->name, sizeof owner->name, "%s", stats.owners[i].name);
        owner->used_bytes = stats.owners[i].current_bytes;
        owner->peak_bytes = stats.owners[i].peak_bytes;
    }
}

void mx_pipeline_memory_stats(struct mx_pipeline *p, struct mx_pipeline_memory *out)
{
    if (out == NULL) return;
    *out = (struct mx_pipeline_memory){0};
    if (p == NULL) return;
    out->device_count = p->two_devices ? 2 : 1;
    device_fill(p->options.data, &out->devices[0]);
    if (p->two_devices) device_fill(p->options.model, &out->devices[1]);
}
