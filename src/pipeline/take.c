/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The caller's side of the pipeline: taking batches, giving them back, steps, and reporting what a wait is for. In
 * sequential mode it also runs all earlier stages, one after the other, in the calling thread.
 *
 * The events of a batch that was given back complete later, on the caller's stream. They are collected, in order, by
 * the next call: take, give, step or a reading of the statistics. The events of batch n are recorded again for batch n
 * + slots, which cannot have arrived before they were complete.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/log.h"
#include "pipeline/pipeline_internal.h"

#define STALL_SECONDS_DEFAULT 10.0
#define LOOK_NS               UINT64_C(100000000) /* between two polls of `interrupted` */
#define WHAT_BYTES            384

static struct mx_pipeline_train *train_of(const struct mx_pipeline *p, uint64_t number)
{
    return &p->train[number % (uint64_t)p->last_count];
}

/* ---- after training ---- */

static void step_count(struct mx_pipeline *p, uint64_t end_ns)
{
    if (p->step_end_ns != 0 && end_ns > p->step_end_ns)
        mx_tally_add(&p->meter.stats.step_ns, (double)(end_ns - p->step_end_ns));
    p->step_end_ns = end_ns;
}

/* The time of batch `number` from begin to end, without what its stream had nothing to do in: while the caller held the
 * batch and waited for a later one. Pieces of it into `out`; returns how many. */
static uint32_t train_pieces(const struct mx_pipeline *p, uint64_t number, uint64_t begin_ns, uint64_t end_ns,
                             struct mx_span *out)
{
    struct mx_span piece = {.stage = MX_STAGE_TRAIN, .number = number, .begin_ns = begin_ns};
    uint32_t count = 0;
    for (uint64_t n = number + 1; n < p->taken && n < number + (uint64_t)p->last_count; n++) {
        const struct mx_pipeline_train *const later = train_of(p, n);
        if (later->dry_begin_ns < piece.begin_ns || later->dry_end_ns > end_ns ||
            later->dry_begin_ns == later->dry_end_ns)
            continue;
        piece.end_ns = later->dry_begin_ns;
        if (piece.end_ns > piece.begin_ns) out[count++] = piece;
        piece.begin_ns = later->dry_end_ns;
    }
    piece.end_ns = end_ns;
    out[count++] = piece;
    return count;
}

static void train_span(struct mx_pipeline *p, uint64_t number, uint64_t begin_ns, uint64_t end_ns)
{
    uint64_t busy_ns = 0;
    const struct mx_thread_time time = train_of(p, number)->time;
    const uint32_t count = train_pieces(p, number, begin_ns, end_ns, p->open);
    p->open[count - 1].cpu_ns = time.cpu_ns; /* the last piece is the one that never lacks */
    p->open[count - 1].blocked_ns = time.blocked_ns;
    for (uint32_t i = 0; i < count; i++) {
        busy_ns += p->open[i].end_ns - p->open[i].begin_ns;
        mx_pipeline_span(p, &p->open[i]);
    }
    mx_pipeline_busy(p, MX_STAGE_TRAIN, busy_ns, time);
}

void mx_pipeline_harvest(struct mx_pipeline *p)
{
    while (p->harvested < p->given && mx_event_done(train_of(p, p->harvested)->end)) {
        struct mx_pipeline_train *const train = train_of(p, p->harvested);
        uint64_t begin_ns = mx_event_time_ns(train->begin);
        train->end_ns = mx_event_time_ns(train->end);
        if (begin_ns < p->train_end_ns) begin_ns = p->train_end_ns;
        if (begin_ns > train->end_ns) begin_ns = train->end_ns;
        train_span(p, p->harvested, begin_ns, train->end_ns);
        if (train->after_rest) p->step_end_ns = begin_ns;
        if (train->ends_step) step_count(p, train->end_ns);
        p->train_end_ns = train->end_ns;
        p->meter.stats.batches++;
        p->harvested++;
    }
}

/* ---- what is missing ---- */

/* The worker that is at batch `number`, or NULL. */
static const struct mx_pipeline_worker *worker_at(const struct mx_pipeline *p, uint64_t number)
{
    for (int32_t i = 0; i < p->options.workers; i++)
        if (p->workers[i].loading && p->workers[i].number == number) return &p->workers[i];
    return NULL;
}

/* Where batch `number` is. The lock is held, but open while the work describes what a worker is at. */
static void missing_format(struct mx_pipeline *p, uint64_t number, char out[WHAT_BYTES])
{
    const struct mx_pipeline_work *const work = &p->options.work;
    const struct mx_pipeline_worker *const worker = worker_at(p, number);
    const struct mx_pipeline_stage *stage = p->process.done > number ? &p->transfer : &p->process;
    if (worker != NULL) {
        const double seconds = (double)(mx_clock_ns() - worker->begin_ns) / 1e9;
        char what[256] = "";
        pthread_mutex_unlock(&p->lock);
        if (work->describe != NULL) work->describe(work->context, worker->index, what, sizeof what);
        if (what[0] == '\0') snprintf(what, sizeof what, "batch %" PRIu64, number);
        pthread_mutex_lock(&p->lock);
        snprintf(out, WHAT_BYTES, "load worker %d has been at %s for %.1f s", (int)worker->index, what, seconds);
    } else if (p->drawn <= number) {
        snprintf(out, WHAT_BYTES, "batch %" PRIu64 " has not been drawn yet", number);
    } else if (stage->opened > number) {
        const double seconds = (double)(mx_clock_ns() - stage->open_ns[number % MX_PIPELINE_DEPTH]) / 1e9;
        snprintf(out, WHAT_BYTES, "batch %" PRIu64 " has been in %s on %s for %.1f s", number,
                 mx_stage_name(stage->kind), mx_device_name(p->options.data), seconds);
    } else {
        snprintf(out, WHAT_BYTES, "batch %" PRIu64 " waits for %s on %s", number, mx_stage_name(stage->kind),
                 mx_device_name(p->options.data));
    }
}

/* ---- waiting ---- */

static void arrival_sleep(struct mx_pipeline *p, uint64_t until_ns)
{
    const struct timespec at = mx_clock_timespec(until_ns);
    pthread_cond_timedwait(&p->arrived, &p->lock, &at);
}

/* Waits for the next batch with the lock held: 0 when it is there, 1 at the end, or what ended the flow. */
static int arrival_wait(struct mx_pipeline *p)
{
    const struct mx_pipeline_work *const work = &p->options.work;
    const uint64_t number = p->taken, begin_ns = mx_clock_ns();
    const double stall = p->options.stall_seconds > 0 ? p->options.stall_seconds : STALL_SECONDS_DEFAULT;
    const double first = number == 0 && p->options.start_delay > 0 ? p->options.start_delay : stall;
    uint64_t tell_ns = begin_ns + (uint64_t)(first * 1e9);
    for (;;) {
        if (number < mx_pipeline_limit(p)) {
            if (number < mx_pipeline_ready(p)) return 0;
        } else {
            return p->failed_at <= p->end ? mx_error_restore(&p->error) : 1;
        }
        const uint64_t now_ns = mx_clock_ns();
        if (work->interrupted != NULL && work->interrupted(work->context))
            return MX_FAIL(MX_ERR_INTERRUPTED, NULL, "interrupted while waiting for batch %" PRIu64, number);
        if (now_ns >= tell_ns) {
            char what[WHAT_BYTES];
            missing_format(p, number, what);
            pthread_mutex_unlock(&p->lock);
            if (number == 0)
                mx_warn("still waiting for the first batch: %s", what);
            else
                mx_warn("waiting for data for %.1f s: %s", (double)(now_ns - begin_ns) / 1e9, what);
            pthread_mutex_lock(&p->lock);
            tell_ns += (uint64_t)(stall * 1e9);
            continue;
        }
        arrival_sleep(p, work->interrupted != NULL && now_ns + LOOK_NS < tell_ns ? now_ns + LOOK_NS : tell_ns);
    }
}

/* Sequential: the next batch from the draw to its arrival. The lock is held at entry and exit. */
static void sequential_run(struct mx_pipeline *p)
{
    const uint64_t number = p->taken;
    if (number >= mx_pipeline_limit(p) || number < mx_pipeline_ready(p)) return;
    if (!mx_pipeline_draw(p, &p->workers[0])) return;
    mx_pipeline_load(p, &p->workers[0]);
    if (number >= mx_pipeline_limit(p) || !mx_pipeline_stage_submit(&p->process)) return;
    mx_pipeline_stage_finish(&p->process);
    if (!p->two_devices || number >= mx_pipeline_limit(p) || !mx_pipeline_stage_submit(&p->transfer)) return;
    mx_pipeline_stage_finish(&p->transfer);
}

/* ---- the caller's time ---- */

/* What the caller has done since it last had a batch to work on counts for the batch that it gives back next. */
static void caller_count(struct mx_pipeline *p)
{
    const struct mx_thread_reading now = mx_thread_clock_read(&p->clock);
    const struct mx_thread_time time = mx_thread_time_between(&p->at, &now);
    p->worked.cpu_ns += time.cpu_ns;
    p->worked.blocked_ns += time.blocked_ns;
    p->at = now;
}

/* Opens the clock of the caller, which without overlap does everything. */
static void caller_clock(struct mx_pipeline *p)
{
    if (p->clock.open) return;
    mx_thread_clock_open(&p->clock);
    if (p->options.sequential) p->workers[0].clock = p->process.clock = p->transfer.clock = p->clock;
}

/* ---- taking and giving ---- */

/* From when on the stream has had nothing to do while the caller waits; 0: it still has. The lock is held. */
static uint64_t dry_since(struct mx_pipeline *p)
{
    if (p->wait.since_ns == 0 || !mx_event_done(p->dry)) return 0;
    const uint64_t dry_ns = mx_event_time_ns(p->dry);
    return dry_ns > p->wait.since_ns ? dry_ns : p->wait.since_ns;
}

/* The wait for the first batch counts from the start of the pipeline, even before the caller requests it. */
static uint64_t first_since(const struct mx_pipeline *p)
{
    return p->start_ns > p->meter.since_ns ? p->start_ns : p->meter.since_ns;
}

uint64_t mx_pipeline_dry_ns(struct mx_pipeline *p, uint64_t now_ns)
{
    const bool first = p->taken == 0 && !p->options.sequential;
    const uint64_t since_ns = first ? first_since(p) : dry_since(p);
    const uint64_t until_ns = first && p->first_ns > 0 ? p->first_ns : now_ns;
    return since_ns > 0 && since_ns < until_ns ? until_ns - since_ns : 0;
}

uint32_t mx_pipeline_open_train(struct mx_pipeline *p, uint32_t count, uint64_t now_ns)
{
    if (p->harvested == p->taken) return count;
    struct mx_event *const begin = train_of(p, p->harvested)->begin; /* all later ones are within its time */
    const uint64_t dry_ns = dry_since(p), end_ns = dry_ns > 0 ? dry_ns : now_ns;
    if (!mx_event_done(begin)) return count;
    uint64_t begin_ns = mx_event_time_ns(begin);
    if (begin_ns < p->train_end_ns) begin_ns = p->train_end_ns;
    return begin_ns < end_ns ? count + train_pieces(p, p->harvested, begin_ns, end_ns, p->open + count) : count;
}

/* Waits until the next batch is there, and for how long the stream had nothing to do. The lock is held. */
static int arrival_measure(struct mx_pipeline *p, struct mx_stream *stream, struct mx_pipeline_train *train)
{
    int rc = 0;
    uint64_t dry_begin_ns = 0, dry_end_ns = 0;
    const bool first = p->taken == 0 && !p->options.sequential;
    if (p->taken >= mx_pipeline_ready(p)) {
        pthread_mutex_unlock(&p->lock);
        rc = mx_event_record(p->dry, stream);
        if (rc == 0 && p->options.sequential) rc = mx_event_sync(p->dry); /* what the caller submitted comes first */
        pthread_mutex_lock(&p->lock);
        if (rc < 0) return rc;
        mx_pipeline_wait_begin(&p->wait, false);
    }
    if (p->options.sequential) sequential_run(p);
    rc = arrival_wait(p);
    if (first && rc == 0) {
        dry_begin_ns = first_since(p);
        dry_end_ns = p->first_ns > dry_begin_ns ? p->first_ns : dry_begin_ns;
    } else if (p->wait.since_ns != 0 && !first) {
        dry_begin_ns = dry_since(p);
        dry_end_ns = dry_begin_ns > 0 ? mx_clock_ns() : 0;
    }
    p->meter.stats.stages[MX_STAGE_TRAIN].wait_input_ns += dry_end_ns - dry_begin_ns;
    p->wait.since_ns = 0;
    if (rc == 0) {
        mx_pipeline_harvest(p); /* the batch that had this slot before, at the latest */
        train->dry_begin_ns = dry_begin_ns;
        train->dry_end_ns = dry_end_ns;
    }
    return rc;
}

int mx_pipeline_take(struct mx_pipeline *p, struct mx_stream *stream, struct mx_pipeline_batch *batch)
{
    int rc = 0;
    MX_NEED(batch, "a place for the batch");
    *batch = (struct mx_pipeline_batch){0};
    MX_NEED(p, "a pipeline");
    MX_NEED(stream, "a stream");
    pthread_mutex_lock(&p->lock);
    const uint64_t number = p->taken;
    struct mx_pipeline_train *const train = train_of(p, number);
    caller_clock(p);
    if (p->taken > p->given) caller_count(p);
    mx_pipeline_rest_end(p);
    p->stream = stream;
    if (number - p->given >= (uint64_t)p->options.held)
        MX_RAISE(MX_ERR_ARGUMENT, "give a batch back first", "the caller already holds all %d batches that it may hold",
                 (int)p->options.held);
    rc = arrival_measure(p, stream, train);
    if (rc != 0) goto out;
    train->open_ns = mx_clock_ns();
    train->ends_step = false;
    train->after_rest = p->resting;
    p->train_opened = number + 1;
    batch->waited_ns = train->dry_end_ns - train->dry_begin_ns;
    pthread_mutex_unlock(&p->lock);
    rc = mx_event_record(train->begin, stream);
    pthread_mutex_lock(&p->lock);
    if (rc < 0) {
        p->train_opened = number;
        goto out;
    }
    p->resting = false;
    p->taken = number + 1;
    batch->number = number;
    batch->slot = p->last_slots[number % (uint64_t)p->last_count];
    p->at = mx_thread_clock_read(&p->clock);
out:
    pthread_mutex_unlock(&p->lock);
    return rc;
}

int mx_pipeline_give(struct mx_pipeline *p, struct mx_stream *stream)
{
    int rc = 0;
    MX_NEED(p, "a pipeline");
    MX_NEED(stream, "a stream");
    pthread_mutex_lock(&p->lock);
    const uint64_t number = p->given;
    if (number == p->taken)
        MX_RAISE(MX_ERR_ARGUMENT, "call mx_pipeline_take first", "the caller holds no batch that it could give back");
    if (stream != p->stream)
        MX_RAISE(MX_ERR_ARGUMENT, "use the stream that was given to mx_pipeline_take",
                 "a batch was given back on a different stream");
    pthread_mutex_unlock(&p->lock);
    rc = mx_event_record(train_of(p, number)->end, stream); /* a failed stream's events complete as well */
    pthread_mutex_lock(&p->lock);
    caller_count(p);
    train_of(p, number)->time = p->worked;
    p->worked = (struct mx_thread_time){0};
    p->given = number + 1;
    mx_pipeline_harvest(p);
    pthread_cond_signal(p->two_devices ? &p->transfer.changed : &p->process.changed);
out:
    pthread_mutex_unlock(&p->lock);
    return rc;
}

/* Whether tuning is due, and if so, its decision. The lock is held. */
static bool tune_due(struct mx_pipeline *p, bool *changed, char *why, size_t bytes)
{
    struct mx_tune *const tune = &p->tune;
    struct mx_pipeline_stats stats;
    struct mx_tune_figures figures;
    if (!p->options.auto_tune || p->options.sequential) return false;
    if (p->steps == MX_TUNE_WARM) { /* the first batch is always waited for */
        mx_pipeline_stats_now(p, &p->tune_stats);
        p->look_stats = p->tune_stats;
    }
    const bool decides = p->steps == mx_tune_due(tune->round);
    if (!decides && p->steps % MX_TUNE_LOOK != 0) return false;
    mx_pipeline_stats_now(p, &stats);
    mx_tune_measure(decides ? &p->tune_stats : &p->look_stats, &stats, &figures);
    tune->now = p->tuning;
    *changed = decides ? mx_tune_decide(tune, &figures, why, bytes) : mx_tune_check(tune, &figures, why, bytes);
    p->look_stats = stats;
    if (decides || *changed) p->tune_stats = stats;
    if (*changed) {
        p->tuning = tune->now;
        mx_pipeline_wake(p);
    }
    return true;
}

void mx_pipeline_step(struct mx_pipeline *p)
{
    char why[256] = "";
    bool changed = false;
    if (p == NULL) return;
    pthread_mutex_lock(&p->lock);
    mx_pipeline_harvest(p);
    p->steps++;
    if (p->given > p->stepped) {
        struct mx_pipeline_train *const train = train_of(p, p->given - 1);
        if (p->harvested >= p->given)
            step_count(p, train->end_ns);
        else
            train->ends_step = true;
        p->stepped = p->given;
    }
    const bool before = p->tune.settled, tuned = tune_due(p, &changed, why, sizeof why);
    const bool settled = p->tune.settled && !before;
    const struct mx_pipeline_tuning now = p->tuning;
    pthread_mutex_unlock(&p->lock);
    if (!tuned || why[0] == '\0') return;
    if (changed) mx_info("auto-tune: %s", why);
    if (settled)
        mx_info("auto-tune: settled at %d load worker%s, %d batch%s loaded and %d prepared ahead%s%s", (int)now.workers,
                now.workers == 1 ? "" : "s", (int)now.loaded, now.loaded == 1 ? "" : "es", (int)now.prepared,
                changed ? "" : ": ", changed ? "" : why);
}

void mx_pipeline_shared(struct mx_pipeline *p, uint64_t number, uint64_t begin_ns, uint64_t end_ns)
{
    if (p == NULL) return;
    pthread_mutex_lock(&p->lock);
    const struct mx_span span = {
        .stage = MX_STAGE_TRAIN, .lane = 1, .number = number, .begin_ns = begin_ns, .end_ns = end_ns};
    if (end_ns > begin_ns) mx_pipeline_span(p, &span);
    pthread_mutex_unlock(&p->lock);
}
