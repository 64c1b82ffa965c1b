/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The stages before training: the steps of a batch through load, process and transfer, and the threads that execute
 * them.
 *
 * See pipeline_internal.h for when a stage may proceed, and why none waits forever. Threads "load/0" …, "process" and
 * "transfer" end when their flow has ended or the pipeline is destroyed. If the data device consists of some of the
 * cores, all these threads run on those cores: the others belong to the model or were not given to this pipeline. In
 * that case the load workers have lower priority: loaded data moves on to the model, which may be waiting for it,
 * before more is loaded. (Otherwise a transfer of a tenth of a millisecond could wait for whole loads, once for each
 * thread on its way.)
 *
 * Failures of work on devices belong to a stream, not to a batch: they are noticed when the oldest batch in flight is
 * complete, and end the flow there. So up to MX_PIPELINE_DEPTH - 1 batches before the one that really failed may be
 * lost with it; no later batch and no doubtful one is delivered.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/thread/pool.h"
#include "pipeline/pipeline_internal.h"

#define LOAD_NICENESS 5 /* a third of the weight of a thread that has none */

/* ---- flow ---- */

uint64_t mx_pipeline_limit(const struct mx_pipeline *p)
{
    return p->end < p->failed_at ? p->end : p->failed_at;
}

uint64_t mx_pipeline_ready(const struct mx_pipeline *p)
{
    /* A transfer may be complete before it is known that what it copied was processed without failure. */
    return p->two_devices && p->transfer.done < p->process.done ? p->transfer.done : p->process.done;
}

bool mx_pipeline_host_room(const struct mx_pipeline *p)
{
    const int32_t wanted = p->tuning.loaded + p->tuning.workers, most = p->options.host_count;
    return p->drawn < p->process.done + (uint64_t)(wanted < most ? wanted : most);
}

bool mx_pipeline_data_room(const struct mx_pipeline *p)
{
    if (p->two_devices) return p->process.submitted < p->transfer.done + (uint64_t)p->tuning.prepared;
    return p->process.submitted < p->given + (uint64_t)(p->tuning.prepared + p->options.held);
}

void mx_pipeline_wake(struct mx_pipeline *p)
{
    pthread_cond_broadcast(&p->room);
    pthread_cond_broadcast(&p->active);
    pthread_cond_broadcast(&p->process.changed);
    pthread_cond_broadcast(&p->transfer.changed);
    pthread_cond_broadcast(&p->arrived);
}

void mx_pipeline_fail(struct mx_pipeline *p, uint64_t number)
{
    if (number < p->failed_at) {
        p->failed_at = number;
        if (mx_error_last()->code == 0)
            MX_FAIL(MX_ERR_INTERNAL, NULL, "batch %" PRIu64 " failed without a reason", number);
        p->error = *mx_error_last();
    }
    mx_pipeline_wake(p);
}

void mx_pipeline_wait_begin(struct mx_pipeline_wait *wait, bool output)
{
    wait->since_ns = mx_clock_ns();
    wait->output = output;
}

void mx_pipeline_wait_end(struct mx_pipeline *p, enum mx_stage stage, struct mx_pipeline_wait *wait)
{
    struct mx_stage_stats *const stats = &p->meter.stats.stages[stage];
    if (wait->since_ns == 0) return;
    if (p->rest_ns == 0) /* otherwise nothing is measured, and what was before the rest has been added */
        *(wait->output ? &stats->wait_output_ns : &stats->wait_input_ns) += mx_clock_ns() - wait->since_ns;
    wait->since_ns = 0;
}

static void horizon_lower(uint64_t *horizon_ns, uint64_t open_ns)
{
    if (open_ns < *horizon_ns) *horizon_ns = open_ns;
}

uint64_t mx_pipeline_horizon(const struct mx_pipeline *p)
{
    uint64_t horizon_ns = mx_clock_ns();
    for (int32_t i = 0; i < p->options.workers; i++)
        if (p->workers[i].loading) horizon_lower(&horizon_ns, p->workers[i].begin_ns);
    const struct mx_pipeline_stage *const stages[] = {&p->process, &p->transfer};
    for (int i = 0; i < 2; i++)
        if (stages[i]->opened > stages[i]->done)
            horizon_lower(&horizon_ns, stages[i]->open_ns[stages[i]->done % MX_PIPELINE_DEPTH]);
    if (p->train_opened > p->harvested)
        horizon_lower(&horizon_ns, p->train[p->harvested % (uint64_t)p->last_count].open_ns);
    if (p->rest_ns > 0) horizon_lower(&horizon_ns, p->rest_ns);
    return horizon_ns;
}

uint32_t mx_pipeline_open(struct mx_pipeline *p, uint64_t now_ns)
{
    const struct mx_pipeline_stage *const stages[] = {&p->process, &p->transfer};
    uint32_t count = 0;
    for (int32_t i = 0; i < p->options.workers; i++) {
        const struct mx_pipeline_worker *const worker = &p->workers[i];
        if (!worker->loading) continue;
        const struct mx_thread_reading now = mx_thread_clock_read(&worker->clock);
        p->open[count++] = (struct mx_span){.stage = MX_STAGE_LOAD,
                                            .begin_ns = worker->begin_ns,
                                            .end_ns = now_ns,
                                            .cpu_ns = mx_thread_time_between(&worker->begin, &now).cpu_ns};
    }
    for (int i = 0; i < 2; i++)
        for (uint64_t n = stages[i]->done; n < stages[i]->submitted; n++) {
            const struct mx_pipeline_events *const place = &stages[i]->places[n % (uint64_t)stages[i]->count];
            if (!mx_event_done(place->begin)) break;
            p->open[count++] =
                (struct mx_span){.stage = stages[i]->kind,
                                 .begin_ns = mx_event_time_ns(place->begin),
                                 .end_ns = mx_event_done(place->end) ? mx_event_time_ns(place->end) : now_ns};
        }
    return count;
}

void mx_pipeline_span(struct mx_pipeline *p, const struct mx_span *span)
{
    if (p->meter.pending_count > p->meter.pending_limit / 2) mx_meter_sweep(&p->meter, mx_pipeline_horizon(p));
    mx_meter_add(&p->meter, span);
}

void mx_pipeline_busy(struct mx_pipeline *p, enum mx_stage stage, uint64_t busy_ns, struct mx_thread_time time)
{
    struct mx_stage_stats *const stats = &p->meter.stats.stages[stage];
    mx_tally_add(&stats->busy_ns, (double)busy_ns);
    mx_tally_add(&stats->cpu_ns, (double)time.cpu_ns);
    mx_tally_add(&stats->blocked_ns, (double)time.blocked_ns);
}

/* The work of a stage from begin to end on batch `number`, as a span and in the tallies. */
static void work_count(struct mx_pipeline *p, enum mx_stage stage, int32_t lane, uint64_t number, uint64_t begin_ns,
                       uint64_t end_ns, struct mx_thread_time time)
{
    const uint64_t busy_ns = end_ns > begin_ns ? end_ns - begin_ns : 0;
    time.blocked_ns = mx_least(time.blocked_ns, busy_ns); /* it also waited while its device did what came before */
    mx_pipeline_span(p, &(struct mx_span){.stage = stage,
                                          .lane = lane,
                                          .number = number,
                                          .begin_ns = begin_ns,
                                          .end_ns = end_ns,
                                          .cpu_ns = time.cpu_ns,
                                          .blocked_ns = time.blocked_ns});
    mx_pipeline_busy(p, stage, busy_ns, time);
}

/* ---- the steps of a batch ---- */

bool mx_pipeline_draw(struct mx_pipeline *p, struct mx_pipeline_worker *worker)
{
    const struct mx_pipeline_work *const work = &p->options.work;
    const uint64_t number = p->drawn;
    p->drawing = true;
    pthread_mutex_unlock(&p->lock);
    mx_error_clear();
    const int rc = work->draw(work->context, number, p->options.host_slots[number % (uint64_t)p->options.host_count]);
    pthread_mutex_lock(&p->lock);
    p->drawing = false;
    if (rc < 0) {
        mx_pipeline_fail(p, number);
    } else if (rc > 0) {
        p->end = number;
        mx_pipeline_wake(p);
    } else {
        p->drawn++;
        worker->number = number;
        worker->begin = mx_thread_clock_read(&worker->clock);
        worker->begin_ns = mx_clock_ns();
        worker->loading = true;
        if (mx_pipeline_host_room(p)) pthread_cond_signal(&p->room);
    }
    return rc == 0;
}

void mx_pipeline_load(struct mx_pipeline *p, struct mx_pipeline_worker *worker)
{
    const struct mx_pipeline_work *const work = &p->options.work;
    const uint64_t number = worker->number, slot = number % (uint64_t)p->options.host_count;
    pthread_mutex_unlock(&p->lock);
    mx_error_clear();
    const int rc = work->load(work->context, worker->index, number, p->options.host_slots[slot], &p->cancel);
    const uint64_t end_ns = mx_clock_ns();
    const struct mx_thread_reading end = mx_thread_clock_read(&worker->clock);
    pthread_mutex_lock(&p->lock);
    if (!atomic_load(&p->cancel)) {
        if (rc < 0) {
            mx_pipeline_fail(p, number);
        } else {
            p->loaded[slot] = true;
            pthread_cond_signal(&p->process.changed);
        }
        work_count(p, MX_STAGE_LOAD, worker->index, number, worker->begin_ns, end_ns,
                   mx_thread_time_between(&worker->begin, &end));
    }
    worker->loading = false;
}

/* Everything of batch n on the stage's stream; the lock is open. */
static int stage_queue(struct mx_pipeline_stage *stage, uint64_t number)
{
    int rc = 0;
    struct mx_pipeline *const p = stage->pipeline;
    const struct mx_pipeline_options *const o = &p->options;
    struct mx_pipeline_events *const place = &stage->places[number % (uint64_t)stage->count];
    void *const data_slot = o->data_slots[number % (uint64_t)o->data_count];
    mx_error_clear();
    if (stage->kind == MX_STAGE_TRANSFER)
        MX_TRY(mx_stream_wait(stage->stream, p->process.places[number % (uint64_t)p->process.count].end));
    /* The slot may still be read by what the caller had submitted when it gave the batch before back. */
    if (stage->kind == MX_STAGE_TRANSFER || !p->two_devices)
        MX_TRY(mx_stream_wait(stage->stream, p->train[number % (uint64_t)p->last_count].end));
    MX_TRY(mx_event_record(place->begin, stage->stream));
    if (stage->kind == MX_STAGE_PROCESS)
        MX_TRY(o->work.process(o->work.context, stage->stream, number, o->host_slots[number % (uint64_t)o->host_count],
                               data_slot));
    else
        MX_TRY(o->work.transfer(o->work.context, stage->stream, number, data_slot,
                                o->model_slots[number % (uint64_t)o->model_count]));
    MX_TRY(mx_event_record(place->end, stage->stream));
out:
    return rc;
}

bool mx_pipeline_stage_submit(struct mx_pipeline_stage *stage)
{
    struct mx_pipeline *const p = stage->pipeline;
    const uint64_t number = stage->submitted;
    stage->open_ns[number % MX_PIPELINE_DEPTH] = mx_clock_ns();
    stage->opened = number + 1;
    pthread_mutex_unlock(&p->lock);
    const struct mx_thread_reading begin = mx_thread_clock_read(&stage->clock);
    const int rc = stage_queue(stage, number);
    const struct mx_thread_reading end = mx_thread_clock_read(&stage->clock);
    stage->times[number % MX_PIPELINE_DEPTH] = mx_thread_time_between(&begin, &end);
    pthread_mutex_lock(&p->lock);
    if (rc < 0) {
        stage->opened = number;
        mx_pipeline_fail(p, number);
        return false;
    }
    stage->submitted = number + 1;
    if (stage->kind == MX_STAGE_PROCESS) {
        p->loaded[number % (uint64_t)p->options.host_count] = false;
        pthread_cond_signal(&p->transfer.changed);
    }
    return true;
}

void mx_pipeline_stage_finish(struct mx_pipeline_stage *stage)
{
    struct mx_pipeline *const p = stage->pipeline;
    const uint64_t number = stage->done;
    const struct mx_pipeline_events *const place = &stage->places[number % (uint64_t)stage->count];
    struct mx_thread_time time = stage->times[number % MX_PIPELINE_DEPTH];
    pthread_mutex_unlock(&p->lock);
    mx_error_clear();
    const struct mx_thread_reading begin = mx_thread_clock_read(&stage->clock);
    int rc = mx_event_sync(place->end);
    if (rc == 0) rc = mx_event_check(place->end); /* a batch that a lost device did not finish must not arrive */
    if (rc == 0) rc = mx_stream_status(stage->stream);
    const uint64_t begin_ns = mx_event_time_ns(place->begin), end_ns = mx_event_time_ns(place->end);
    const struct mx_thread_reading end = mx_thread_clock_read(&stage->clock);
    const struct mx_thread_time waited = mx_thread_time_between(&begin, &end);
    time.cpu_ns += waited.cpu_ns;
    time.blocked_ns += waited.blocked_ns;
    pthread_mutex_lock(&p->lock);
    if (rc < 0) {
        mx_pipeline_fail(p, number);
    } else {
        work_count(p, stage->kind, 0, number, begin_ns, end_ns, time);
    }
    stage->done = number + 1;
    if (p->first_ns == 0 && mx_pipeline_ready(p) > 0) p->first_ns = mx_clock_ns();
    if (stage->kind == MX_STAGE_PROCESS) pthread_cond_signal(&p->room);
    if (stage->kind == MX_STAGE_TRANSFER) pthread_cond_signal(&p->process.changed);
    pthread_cond_signal(&p->arrived);
}

/* ---- threads ---- */

/* Lets the other threads of the data side go first: by one step of a real-time priority, otherwise by niceness. If the
 * system refuses, the order of threads is its own, and only that. */
static void worker_step_back(void)
{
    struct sched_param param;
    int policy;
    if (pthread_getschedparam(pthread_self(), &policy, &param) != 0) return;
    if (policy == SCHED_FIFO || policy == SCHED_RR) {
        if (param.sched_priority <= sched_get_priority_min(policy)) return;
        param.sched_priority--;
        pthread_setschedparam(pthread_self(), policy, &param);
    } else {
        const id_t self = (id_t)gettid();
        setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + LOAD_NICENESS);
    }
}

static void *worker_run(void *context)
{
    struct mx_pipeline_worker *const worker = context;
    struct mx_pipeline *const p = worker->pipeline;
    if (p->pinned && p->two_devices) worker_step_back();
    mx_thread_clock_open(&worker->clock);
    pthread_mutex_lock(&p->lock);
    while (!atomic_load(&p->cancel) && p->drawn < mx_pipeline_limit(p)) {
        const bool active = worker->index < p->tuning.workers;
        if (active && !p->drawing && mx_pipeline_host_room(p)) {
            if (mx_pipeline_draw(p, worker)) mx_pipeline_load(p, worker);
            continue;
        }
        if (active && !mx_pipeline_host_room(p)) mx_pipeline_wait_begin(&worker->wait, true);
        pthread_cond_wait(active ? &p->room : &p->active, &p->lock);
        mx_pipeline_wait_end(p, MX_STAGE_LOAD, &worker->wait);
    }
    pthread_mutex_unlock(&p->lock);
    mx_thread_clock_close(&worker->clock); /* it loads nothing any more, so no thread reads it */
    return NULL;
}

static bool stage_has_input(const struct mx_pipeline_stage *stage)
{
    const struct mx_pipeline *const p = stage->pipeline;
    if (stage->kind == MX_STAGE_TRANSFER) return p->process.submitted > stage->submitted;
    return p->drawn > stage->submitted && p->loaded[stage->submitted % (uint64_t)p->options.host_count];
}

static bool stage_has_output(const struct mx_pipeline_stage *stage)
{
    const struct mx_pipeline *const p = stage->pipeline;
    if (stage->kind == MX_STAGE_TRANSFER) return stage->submitted < p->given + (uint64_t)stage->count;
    return mx_pipeline_data_room(p);
}

static void *stage_run(void *context)
{
    struct mx_pipeline_stage *const stage = context;
    struct mx_pipeline *const p = stage->pipeline;
    mx_thread_clock_open(&stage->clock);
    pthread_mutex_lock(&p->lock);
    while (!atomic_load(&p->cancel)) {
        const uint64_t in_flight = stage->submitted - stage->done;
        const bool more = stage->submitted < mx_pipeline_limit(p);
        const bool input = stage_has_input(stage);
        if (more && input && in_flight < MX_PIPELINE_DEPTH && stage_has_output(stage)) {
            mx_pipeline_stage_submit(stage);
        } else if (in_flight > 0) {
            mx_pipeline_stage_finish(stage);
        } else if (more) {
            mx_pipeline_wait_begin(&stage->wait, input);
            pthread_cond_wait(&stage->changed, &p->lock);
            mx_pipeline_wait_end(p, stage->kind, &stage->wait);
        } else {
            break;
        }
    }
    pthread_mutex_unlock(&p->lock);
    mx_thread_clock_close(&stage->clock);
    return NULL;
}

/* The core for thread `index` of the data side, or -1. */
static int core_of(const struct mx_pipeline *p, int32_t index)
{
    const struct mx_device_info *const info = mx_device_info(p->options.data);
    const int known = (int)(sizeof info->cores / sizeof *info->cores);
    const int count = info->compute_units < known ? info->compute_units : known;
    return p->pinned && count > 0 ? info->cores[index % count] : -1;
}

static int stage_start(struct mx_pipeline_stage *stage)
{
    const int rc =
        mx_thread_start(&stage->thread, mx_stage_name(stage->kind), core_of(stage->pipeline, 0), stage_run, stage);
    stage->started = rc == 0;
    return rc;
}

int mx_pipeline_threads_start(struct mx_pipeline *p)
{
    int rc = 0;
    for (int32_t i = 0; i < p->options.workers; i++) {
        struct mx_pipeline_worker *const worker = &p->workers[i];
        char name[24];
        snprintf(name, sizeof name, "load/%d", (int)i);
        MX_TRY(mx_thread_start(&worker->thread, name, core_of(p, i), worker_run, worker));
        worker->started = true;
    }
    MX_TRY(stage_start(&p->process));
    if (p->two_devices) MX_TRY(stage_start(&p->transfer));
out:
    return rc;
}

void mx_pipeline_threads_join(struct mx_pipeline *p)
{
    for (int32_t i = 0; p->workers != NULL && i < p->options.workers; i++)
        if (p->workers[i].started) pthread_join(p->workers[i].thread, NULL);
    if (p->process.started) pthread_join(p->process.thread, NULL);
    if (p->transfer.started) pthread_join(p->transfer.thread, NULL);
}
