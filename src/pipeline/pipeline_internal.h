/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the files of the pipeline: its state, and the steps that the threads and the sequential mode execute.
 *
 * Batches are counted, not queued: each stage has counters that only grow, batch n of a ring lies in slot n modulo its
 * size, and whether a stage may proceed follows from the counters of its neighbours:
 *
 *     draw n      n < processed + host slots in use          (its host slot has been read)
 *     process n   n loaded, and n < moved + data slots in use  (its data slot has been read; on one device: given)
 *     transfer n  n submitted to process, and n < given + model slots
 *     take n      n processed and moved (complete, without failure), and n - given < held
 *     all         n < limit: the end of the data or the first failure
 *
 * Host slots in use: one for each loaded batch that may wait and one for each active worker, of however many there are. Data slots in use: one for
 * each prepared batch that may wait and, on one device, one for each batch that may be held. Never more than there are.
 *
 * Liveness: let n be the batch that the caller waits for. All batches before it were taken, so they
 * have been loaded, processed and moved: processed ≥ n and moved ≥ n, and with at least one slot in use in each ring
 * there is a free slot for n in the host ring and in the data ring. Fewer than `held` are held, so n < given + held < given + slots of
 * the last ring: there is room for n in that one too. Numbers are drawn in order by at least one active worker, so n
 * was drawn before anything that could occupy that worker. Each stage then has n next (batches before n have passed it,
 * and stages work in order), and a stage never waits on its condition while it has something in flight: it completes
 * the oldest first. On devices, n waits only for work that was submitted before it: for process of n, and for what the
 * caller had submitted when it gave back the batch that had the slot before. Any code that makes a condition true
 * signals it under the lock. Only active workers wait for `room`, and they are all alike: so one signal is enough for
 * each batch that there is room for, and a thread that has drawn one signals the next if there is room for more. A change of
 * the number of active workers wakes all, which then wait where they belong.
 */
#ifndef MX_PIPELINE_PIPELINE_INTERNAL_H
#define MX_PIPELINE_PIPELINE_INTERNAL_H

#include <pthread.h>

#include "base/thread/thread_time.h"
#include "myxtts/error.h"
#include "myxtts/pipeline.h"
#include "pipeline/meter.h"
#include "pipeline/tune.h"

/* A waiting thread: since when (0: it is not waiting), and for what. */
struct mx_pipeline_wait {
    uint64_t since_ns;
    bool output;
};

struct mx_pipeline_worker {
    struct mx_pipeline *pipeline;
    int32_t index;
    pthread_t thread;
    bool started, loading;
    uint64_t number, begin_ns; /* what it is doing while loading */
    /* Its own, opened and closed by its thread; others read it while it is loading. */
    struct mx_thread_clock clock;
    struct mx_thread_reading begin; /* when it began to load */
    struct mx_pipeline_wait wait;
};

/* Events around the work of one stage on one slot. */
struct mx_pipeline_events {
    struct mx_event *begin, *end;
};

/* Process or transfer. done ≤ submitted ≤ opened ≤ done + MX_PIPELINE_DEPTH; opened > submitted only while one is being
 * submitted. */
struct mx_pipeline_stage {
    struct mx_pipeline *pipeline;
    enum mx_stage kind;
    struct mx_stream *stream;
    struct mx_pipeline_events *places; /* [count]: of the ring that it writes */
    int32_t count;
    pthread_cond_t changed; /* something that its conditions name */
    pthread_t thread;
    bool started;
    uint64_t opened, submitted, done;
    uint64_t open_ns[MX_PIPELINE_DEPTH];            /* when batch n was about to be submitted: its span begins later */
    struct mx_thread_clock clock;                   /* of its thread, which alone uses it */
    struct mx_thread_time times[MX_PIPELINE_DEPTH]; /* of the work for batch n so far, by that clock */
    struct mx_pipeline_wait wait;
};

/* A slot of the last ring that the caller holds. */
struct mx_pipeline_train {
    struct mx_event *begin, *end;      /* on the caller's stream */
    uint64_t open_ns, end_ns;          /* taken; done */
    uint64_t dry_begin_ns, dry_end_ns; /* the stream was idle until this batch arrived; equal: it was not */
    struct mx_thread_time time;        /* of the caller, for this batch */
    bool ends_step, after_rest;
};

struct mx_pipeline {
    struct mx_pipeline_options options;
    bool two_devices;
    bool pinned; /* workers run on the cores of the data device */
    void *const *last_slots;
    int32_t last_count;
    struct mx_pipeline_worker *workers; /* [options.workers] */
    struct mx_pipeline_stage process, transfer;
    struct mx_pipeline_train *train; /* [last_count] */
    struct mx_stream *stream;        /* the caller's, once it took */
    struct mx_event *dry;            /* recorded on it when a take begins to wait: complete when it runs dry */
    atomic_bool cancel;              /* set once, by destroy, under the lock */

    /* lock protects everything below, the counters and waits of workers and stages, and the ownership of slots: the
     * work functions and everything that blocks on a device are called without the lock, by the thread that owns the
     * slots according to the counters. It is held while events are queried for their times, which never blocks; no
     * backend calls back, so it comes before their locks. Each condition has one kind of waiter: `room` has the
     * active workers, `active` the others, `changed` of each stage its thread, `arrived` the caller. */
    pthread_mutex_t lock;
    pthread_cond_t room, active, arrived;
    bool *loaded; /* [host_count]: the batch of this slot is loaded but not yet processed */
    bool drawing; /* a worker is in draw */
    uint64_t drawn, train_opened, taken, given, harvested;
    uint64_t end;       /* total number of batches; UINT64_MAX: not known yet */
    uint64_t failed_at; /* the first batch that failed; UINT64_MAX: none */
    struct mx_error error;
    struct mx_pipeline_tuning tuning;
    struct mx_pipeline_wait wait; /* of the caller */
    uint64_t train_end_ns;        /* of the newest harvested batch */
    uint64_t step_end_ns;         /* of the newest step; 0: none to count from */
    struct mx_thread_clock clock; /* of the caller, opened by its first take */
    struct mx_thread_reading at;  /* of it, when it last had a batch to work on */
    struct mx_thread_time worked; /* by the caller since the last give, without waiting for batches */
    uint64_t steps, stepped;      /* steps ended; batches given then */
    uint64_t start_ns, first_ns;  /* when it was made; when the first batch had arrived, 0: not yet */
    bool resting;                 /* since the last take */
    uint64_t rest_ns;             /* when that began; 0: it is over. Nothing is measured while resting */
    struct mx_meter meter;
    struct mx_span *open; /* [meter.open_limit]: pieces of work on their way to the meter */
    struct mx_tune tune;
    struct mx_pipeline_stats tune_stats, look_stats; /* when it was last asked to decide, or to look */
};

/* ---- flow: the lock is held (stages.c) ---- */
uint64_t mx_pipeline_limit(const struct mx_pipeline *p);
bool mx_pipeline_host_room(const struct mx_pipeline *p);       /* for the next draw */
bool mx_pipeline_data_room(const struct mx_pipeline *p);       /* for what process submits next */
uint64_t mx_pipeline_ready(const struct mx_pipeline *p);       /* batches below this have arrived, if below the limit */
void mx_pipeline_wake(struct mx_pipeline *p);                  /* everyone */
void mx_pipeline_fail(struct mx_pipeline *p, uint64_t number); /* with the thread's current error */
void mx_pipeline_wait_begin(struct mx_pipeline_wait *wait, bool output);
void mx_pipeline_wait_end(struct mx_pipeline *p, enum mx_stage stage, struct mx_pipeline_wait *wait);
/* Records a piece of work for sums and traces; the caller keeps the tally of a batch's time. */
void mx_pipeline_span(struct mx_pipeline *p, const struct mx_span *span);
void mx_pipeline_busy(struct mx_pipeline *p, enum mx_stage stage, uint64_t busy_ns, struct mx_thread_time time);
uint64_t mx_pipeline_horizon(const struct mx_pipeline *p);
/* Writes the work of process, transfer and load in progress, until now, to p->open; returns the number of pieces. */
uint32_t mx_pipeline_open(struct mx_pipeline *p, uint64_t now_ns);

/* ---- the steps of a batch: the lock is held before and after, and released in between (stages.c) ---- */
bool mx_pipeline_draw(struct mx_pipeline *p, struct mx_pipeline_worker *worker); /* false: end or failure */
void mx_pipeline_load(struct mx_pipeline *p, struct mx_pipeline_worker *worker);
bool mx_pipeline_stage_submit(struct mx_pipeline_stage *stage); /* the next one; false: it failed */
void mx_pipeline_stage_finish(struct mx_pipeline_stage *stage); /* waits for the oldest in flight */

/* ---- threads (stages.c) ---- */
int mx_pipeline_threads_start(struct mx_pipeline *p);
void mx_pipeline_threads_join(struct mx_pipeline *p);

/* ---- the caller's side (take.c) ---- */
void mx_pipeline_harvest(struct mx_pipeline *p); /* lock held: accounts for batches whose training is complete */
uint64_t mx_pipeline_dry_ns(struct mx_pipeline *p, uint64_t now_ns); /* lock held: of a take that still waits */
/* Lock held: appends the training in progress after `count` other pieces in p->open; returns the new number of pieces.
 */
uint32_t mx_pipeline_open_train(struct mx_pipeline *p, uint32_t count, uint64_t now_ns);
/* ---- pipeline.c ---- */
void mx_pipeline_rest_end(struct mx_pipeline *p);                                 /* lock held */
void mx_pipeline_stats_now(struct mx_pipeline *p, struct mx_pipeline_stats *out); /* lock held */

#endif
