/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The pipeline: load → process → transfer → train, on one device or two, with all stages running at the same time.
 *
 *     draw ─► load (N host threads) ─► process (data device) ─► transfer ─► train (the caller, model device)
 *               host slots                data slots             model slots
 *
 * It knows nothing about speech. The caller decides what is loaded, how it is processed and how it is copied: it
 * provides four functions and three rings of slots. The caller creates the slots first, so that all memory is planned
 * and allocated before step 1; the pipeline itself allocates nothing after mx_pipeline_create. The content of a slot is
 * known only to these functions. On one device there is no transfer: the train stage receives data slots, and
 * `model_slots` is empty.
 *
 * Order: batch n is the n-th draw; batches are trained on in this order, each exactly once, whatever the number and
 * timing of threads. In each ring, batch n is in slot n modulo the size of the ring.
 *
 * A slot's life, and who may touch it:
 *
 *     host   FREE → LOADING (its worker) → LOADED → PROCESSING (data stream reads it) → FREE
 *     data   FREE → PROCESSING (data stream writes it) → PROCESSED → MOVING (copy stream reads it) → FREE
 *     model  FREE → MOVING (copy stream writes it) → READY → TRAINING (the caller) → FREE, when all work that was
 *            submitted to the caller's stream before the slot was given back is done
 *
 * The stage threads only submit work to devices, at most MX_PIPELINE_DEPTH batches ahead in each stage, ordered by
 * events. A stage passes its batch on when the work is submitted (process → transfer) or complete (→ train), and frees
 * the slot that it read when the work is complete.
 *
 * Failures: the first failure of a stage at batch n ends the flow there. Batches before n are still delivered;
 * mx_pipeline_take returns the failure, with its message, when n is due, and again on each later call. Nothing is lost,
 * repeated or reordered silently. A failure of work that runs on a device is attributed to the oldest batch that the
 * stage has in flight, so n may be up to MX_PIPELINE_DEPTH - 1 before the batch that really failed.
 *
 * Spans: the work of a stage on a device lasts from when its stream reached it until it was done. The training of a
 * batch lasts from the take (or the end of the previous batch, if that is later) until the work submitted before its
 * give is done. So a delay of the caller between take and submit counts as busy. Waiting in take counts as waiting for
 * data only from when the caller's stream has nothing left to do, and that time is not busy.
 *
 * NULL for a pipeline, its options, a stream or the place of a result is MX_ERR_ARGUMENT. Functions that cannot fail do
 * nothing then, return 0, or fill their result with zeros.
 *
 * Memory: slots, devices, work and the caller's stream are borrowed and must outlive the pipeline. One thread takes and
 * gives.
 */
#ifndef MYXTTS_PIPELINE_H
#define MYXTTS_PIPELINE_H

#include <stdatomic.h>

#include "myxtts/device.h"

#define MX_PIPELINE_DEPTH   2 /* batches that a device stage submits ahead */
#define MX_PIPELINE_BUFFERS 3 /* slots between two devices: filled, in transfer, trained on */
#define MX_PIPELINE_WORKERS 64
/* The largest values that a caller may request; advice never suggests more. */
#define MX_PIPELINE_LOADED   64
#define MX_PIPELINE_PREPARED 1000

struct mx_pipeline;

/* What the stages do. All return 0 or a negative code with its message set (myxtts/error.h). */
struct mx_pipeline_work {
    void *context;
    /* Decides what batch `number` is and stores it in its host slot. Called in order, one at a time. Returns 1 if there
     * are no more batches. */
    int (*draw)(void *context, uint64_t number, void *host_slot);
    /* Fills the host slot; the slow part. Called by `worker` (0 …), several at a time with different slots. Checks
     * *cancel at least once per file and returns early if it is set; its result is then ignored. */
    int (*load)(void *context, int worker, uint64_t number, void *host_slot, const atomic_bool *cancel);
    /* Submits the work that turns a host slot into a data slot; does not wait. It also copies everything that the train
     * stage must know on the host to the data slot. */
    int (*process)(void *context, struct mx_stream *stream, uint64_t number, const void *host_slot, void *data_slot);
    /* Submits the copies from a data slot to a model slot; does not wait. NULL on one device. */
    int (*transfer)(void *context, struct mx_stream *stream, uint64_t number, const void *data_slot, void *model_slot);
    /* (optional) Describes what a worker is doing, for messages about a stall: "wavs/LJ001-0002.wav". Called from
     * another thread. */
    void (*describe)(void *context, int worker, char *out, size_t bytes);
    /* (optional) Called a few times a second while mx_pipeline_take waits: true ends it with MX_ERR_INTERRUPTED. */
    bool (*interrupted)(void *context);
};

struct mx_pipeline_options {
    struct mx_device *data, *model; /* the same one: single-device mode */
    struct mx_pipeline_work work;
    void *const *host_slots, *const *data_slots, *const *model_slots;
    int32_t host_count, data_count, model_count; /* model_count 0 exactly if on one device */
    int32_t workers; /* load threads to start; 1 … MX_PIPELINE_WORKERS. More than cores help where loads wait for a
                        disk; those that are not active sleep */
    int32_t workers_active; /* load threads active at first; 0: all. mx_pipeline_tune activates the others */
    int32_t held;    /* most batches that the caller holds at a time; ≥ 1, less than the size of the last ring */
    bool sequential; /* no overlap: mx_pipeline_take runs all stages one after another, in its own thread, after the
                        work that the caller submitted before is done */
    bool auto_tune;  /* pipeline/tune.h decides about workers and depths, from the first steps on */
    bool loaded_given,
        prepared_given;   /* auto-tuning leaves this depth alone: all of it is used from the first batch on */
    double start_delay;   /* seconds that the first take waits before it reports what is missing and keeps waiting;
                             0: stall_seconds */
    double stall_seconds; /* the same for later takes, and the interval between reports; 0: 10 s */
    uint32_t spans;       /* number of newest spans to keep for traces; 0: none */
};

/* Starts the threads: when it returns, the data device is working. With auto_tune, only a part of the slots is used at
 * first, unless their number was given. */
int mx_pipeline_create(const struct mx_pipeline_options *options, struct mx_pipeline **out);
/* Stops all stages in order, whatever they are doing, and waits for work on devices that uses the slots. NULL is
 * fine. */
void mx_pipeline_destroy(struct mx_pipeline *pipeline);

struct mx_pipeline_batch {
    uint64_t number;
    void *slot;         /* in the model ring, or in the data ring on one device */
    uint64_t waited_ns; /* time waited for it while the stream had nothing to do */
};

/* Waits for the next batch. Work that the caller submits to `stream` (of the model device) from now on runs after the
 * batch has arrived. Returns 1 if there are no more batches. The stream must be the same each time. */
int mx_pipeline_take(struct mx_pipeline *pipeline, struct mx_stream *stream, struct mx_pipeline_batch *batch);
/* Gives back the oldest batch that the caller holds: its slot is reused when all work submitted to the stream so far is
 * done. Does not wait. */
int mx_pipeline_give(struct mx_pipeline *pipeline, struct mx_stream *stream);
/* Ends a step (of one or more batches); call it after giving back the last batch. The time of the step is measured on
 * the device, from the end of the previous step's work to the end of this one's. */
void mx_pipeline_step(struct mx_pipeline *pipeline);
/* Reports that the data device also trained on a part of batch `number`, which is held: it was busy from begin to
 * end. */
void mx_pipeline_shared(struct mx_pipeline *pipeline, uint64_t number, uint64_t begin_ns, uint64_t end_ns);
/* Notes that the caller does something else (evaluates, saves) until its next take: the next step is measured from that
 * take, and the time before it is not counted at all, not even as wall time. */
void mx_pipeline_rest(struct mx_pipeline *pipeline);

/* The fill level of each stage, for status lines and messages. */
struct mx_pipeline_levels {
    int32_t loaded, loaded_limit;     /* batches waiting for the data device, and the limit; a batch that a worker has
                                         ready beyond the limit is not counted */
    int32_t prepared, prepared_limit; /* batches waiting on the data device */
    int32_t arrived, arrived_limit;   /* batches waiting on the model device; 0 of 0 on one device */
    int32_t workers_active, workers;
    bool full; /* every slot in use is filled: no stage can continue before a batch is taken or given back */
};
void mx_pipeline_levels(struct mx_pipeline *pipeline, struct mx_pipeline_levels *out);

/* The number of active workers, and how many batches may wait: loaded for the data device, and prepared on it. Each is
 * at least 1 and at most what the slots allow: each worker needs a host slot of its own, and on one device each batch
 * that the caller holds needs a data slot. May be called from any thread. */
struct mx_pipeline_tuning {
    int32_t workers, loaded, prepared;
};
void mx_pipeline_tune(struct mx_pipeline *pipeline, const struct mx_pipeline_tuning *tuning);
/* The current values, and the largest possible ones; either may be NULL. */
void mx_pipeline_tuning(struct mx_pipeline *pipeline, struct mx_pipeline_tuning *now, struct mx_pipeline_tuning *most);

/* ---- measurements: by the clock of events on devices, by the host's clock for loading ---- */

enum mx_stage { MX_STAGE_LOAD, MX_STAGE_PROCESS, MX_STAGE_TRANSFER, MX_STAGE_TRAIN, MX_STAGES };

const char *mx_stage_name(enum mx_stage stage); /* "load" … */

struct mx_span {
    enum mx_stage stage;
    int32_t lane;              /* the worker of a load; 1: training on the data device; 0 otherwise */
    uint64_t number;           /* of the batch */
    uint64_t begin_ns, end_ns; /* mx_clock_ns */
    /* Of the thread that loaded, or that submitted the work and waited for its end; training: the caller, until it gave
     * the batch back. Both 0 for training on the data device. */
    uint64_t cpu_ns, blocked_ns;
};

/* Count, mean and deviation of a series of values (Welford). */
struct mx_tally {
    uint64_t count;
    double mean, m2, least, most;
};
void mx_tally_add(struct mx_tally *tally, double value);
/* The values that `to` has and `from`, an earlier state of the same tally, has not. Least and most are those of all. */
struct mx_tally mx_tally_since(const struct mx_tally *from, const struct mx_tally *to);
double mx_tally_deviation(const struct mx_tally *tally);
double mx_tally_variation(const struct mx_tally *tally); /* deviation/mean; 0 without values */

struct mx_stage_stats {
    struct mx_tally busy_ns; /* per batch */
    /* Per batch, of the thread that loads, or submits and waits for the end: on a core; and blocked during the stage's
     * time, a load by its disk, the others by their device. The rest of its time it waited for a core. */
    struct mx_tally cpu_ns, blocked_ns;
    uint64_t wait_input_ns, wait_output_ns; /* totals: nothing to do; nowhere to put it. Load: of all workers */
};

struct mx_pipeline_stats {
    struct mx_stage_stats stages[MX_STAGES];
    struct mx_tally step_ns;     /* from the end of a step to the end of the next */
    uint64_t since_ns;           /* mx_clock_ns of the start or reset */
    uint64_t wall_ns;            /* since the start or reset, without rests; no other total is longer */
    uint64_t batches;            /* batches given back whose work is done */
    uint64_t data_wait_ns;       /* of the train stage: for the first batch, from the start on; later in
                                    mx_pipeline_take, while its stream had nothing to do */
    uint64_t data_busy_ns;       /* of the data device: process; the CPU time of loads, if the workers run on its
                                    cores; transfer, if copies use them; and training on its part of the batches. On one
                                    device: of that device */
    uint64_t model_busy_ns;      /* of the model device. On one device the same as data_busy_ns */
    uint64_t shared_ns;          /* time in which the data device trained; part of data_busy_ns */
    uint64_t transfer_ns;        /* time in which a transfer was running */
    uint64_t transfer_hidden_ns; /* the part of it in which training was running, too */
    uint64_t stage_overlap_ns;   /* time in which training and any other stage were running together */
};

#define MX_VARIATION_LIMIT 0.3 /* of step times; a larger variation indicates a bottleneck */

/* Everything measured since the start or the last reset, up to now; work in progress counts up to now. May be called
 * from any thread. */
void mx_pipeline_stats(struct mx_pipeline *pipeline, struct mx_pipeline_stats *out);
void mx_pipeline_stats_reset(struct mx_pipeline *pipeline);
/* The newest spans, oldest first; at most `count`. Returns their number. */
uint32_t mx_pipeline_spans(struct mx_pipeline *pipeline, struct mx_span *out, uint32_t count);

/* ---- memory ---- */

#define MX_PIPELINE_OWNERS 24

struct mx_pipeline_owner {
    char name[32];
    uint64_t used_bytes, peak_bytes;
};

struct mx_pipeline_memory {
    struct mx_pipeline_memory_device {
        char name[32], logical[16];      /* "cpu:1", "GPU:1" */
        uint64_t limit_bytes;            /* 0: only the device's own memory */
        uint64_t used_bytes, peak_bytes; /* on the device */
        uint64_t host_bytes;             /* on the host, for copies to and from it */
        struct mx_pipeline_owner owners[MX_PIPELINE_OWNERS];
        int32_t owner_count;
    } devices[2];
    int32_t device_count; /* 1 or 2: data device, model device */
};

/* The memory in use on both devices now, by owner. */
void mx_pipeline_memory_stats(struct mx_pipeline *pipeline, struct mx_pipeline_memory *out);

#endif
