/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The pipeline: load → process → transfer → train, on one device or two, with all stages at work at the same time.
 *
 *     draw ─► load (N host threads) ─► process (data device) ─► transfer ─► train (the caller, model device)
 *               host slots                data slots             model slots
 *
 * It knows nothing of speech. What is loaded, how it is processed and how it is copied is the caller's: four functions
 * and three rings of slots that the caller made before (so that all memory is planned and taken before step 1; the
 * pipeline itself allocates nothing after mx_pipeline_create). A slot is whatever the functions make of it. On one
 * device there is no transfer: the train stage gets data slots, and `model_slots` is empty.
 *
 * Order: batch n is the n-th draw; batches are trained on in this order, each exactly once, whatever the number of
 * threads and their luck. Batch n lies in slot n modulo the ring's size of each ring.
 *
 * A slot's life, and who may touch it:
 *
 *     host   FREE → LOADING (its worker) → LOADED → PROCESSING (data stream reads it) → FREE
 *     data   FREE → PROCESSING (data stream writes it) → PROCESSED → MOVING (copy stream reads it) → FREE
 *     model  FREE → MOVING (copy stream writes it) → READY → TRAINING (the caller) → FREE, when the work that was
 *            submitted to the caller's stream until it was given back is done
 *
 * Work on devices is only submitted by the stage threads, at most MX_PIPELINE_DEPTH batches ahead in each stage, and
 * ordered by events; a stage hands its batch on when it is submitted (process → transfer) or complete (→ train), and
 * frees what it read when it is complete.
 *
 * Failures: the first failure of a stage at batch n ends the flow there. Batches before n are still delivered;
 * mx_pipeline_take returns the failure, with its message, when n is due, and again on each later call. Nothing is lost,
 * repeated or reordered silently. What fails while it runs on a device is noticed with the oldest batch that the stage
 * has in flight: then n may be up to MX_PIPELINE_DEPTH - 1 before the batch that really failed.
 *
 * Spans: the work of a stage on a device lasts from when its stream reached it until it was done. Training of a batch
 * lasts from the take (or the end of the batch before, if that is later) until the work is done that was submitted up
 * to its give. So if the caller dawdles between take and submit, that counts as busy. Waiting in take counts as waiting
 * for data only from when the caller's stream has nothing left to do, and that time is not busy.
 *
 * Memory: slots, devices, work and the caller's stream are borrowed and must outlive the pipeline. One thread takes and
 * gives.
 */
#ifndef MYXTTS_PIPELINE_H
#define MYXTTS_PIPELINE_H

#include <stdatomic.h>

#include "myxtts/device.h"

#define MX_PIPELINE_DEPTH   2 /* batches that a device stage works ahead */
#define MX_PIPELINE_BUFFERS 3 /* slots between two devices: filled, in transfer, trained on */
#define MX_PIPELINE_WORKERS 64
/* The most that anyone may ask for; what advice names is never more. */
#define MX_PIPELINE_LOADED   64
#define MX_PIPELINE_PREPARED 1000

struct mx_pipeline;

/* What the stages do. All return 0 or a negative code with its message set (myxtts/error.h). */
struct mx_pipeline_work {
    void *context;
    /* What batch `number` is, into its host slot. Called in order, one at a time. 1: there are no more batches. */
    int (*draw)(void *context, uint64_t number, void *host_slot);
    /* Fills the host slot; the slow part. Called by `worker` (0 …), several at a time with different slots. Looks at
     * *cancel at least once per file and ends early when it is set: then its result does not matter. */
    int (*load)(void *context, int worker, uint64_t number, void *host_slot, const atomic_bool *cancel);
    /* Submits the work that turns a host slot into a data slot; does not wait. Whatever the train stage has to know on
     * the host is copied to the data slot here. */
    int (*process)(void *context, struct mx_stream *stream, uint64_t number, const void *host_slot, void *data_slot);
    /* Submits the copies from a data slot to a model slot; does not wait. NULL on one device. */
    int (*transfer)(void *context, struct mx_stream *stream, uint64_t number, const void *data_slot, void *model_slot);
    /* (optional) What a worker is at, for messages about a stall: "wavs/LJ001-0002.wav". Called from another thread. */
    void (*describe)(void *context, int worker, char *out, size_t bytes);
    /* (optional) Asked a few times a second while mx_pipeline_take waits: true ends it with MX_ERR_INTERRUPTED. */
    bool (*interrupted)(void *context);
};

struct mx_pipeline_options {
    struct mx_device *data, *model; /* the same one: single-device mode */
    struct mx_pipeline_work work;
    void *const *host_slots, *const *data_slots, *const *model_slots;
    int32_t host_count, data_count, model_count; /* model_count 0 exactly if on one device */
    int32_t workers;                             /* threads that load: started; 1 … MX_PIPELINE_WORKERS */
    int32_t workers_active; /* of them at work at first; 0: all. The others wait until mx_pipeline_tune wants them */
    int32_t held;    /* batches that the caller holds at a time, at most; ≥ 1, less than the last ring's size */
    bool sequential; /* no overlap: everything happens in mx_pipeline_take, one after the other, in its thread, when
                        what the caller submitted before is done */
    bool auto_tune;  /* pipeline/tune.h decides about workers and depths, from the first steps on … */
    bool loaded_given, prepared_given; /* … but not about this one: all of it is in use from the first batch on */
    double start_delay;   /* seconds that the first take waits before it says what is missing, and goes on waiting; 0:
                             stall_seconds */
    double stall_seconds; /* the same for later ones, and for saying it again; 0: 10 s */
    uint32_t spans;       /* newest spans that are remembered for traces; 0: none */
};

/* Starts the threads: the data device is at work when this returns. With auto_tune it begins with part of the slots
 * that were not given. */
int mx_pipeline_create(const struct mx_pipeline_options *options, struct mx_pipeline **out);
/* Ends all stages in order, whatever they are at; waits for work on devices that uses the slots. NULL is fine. */
void mx_pipeline_destroy(struct mx_pipeline *pipeline);

struct mx_pipeline_batch {
    uint64_t number;
    void *slot;         /* of the model ring, or of the data ring on one device */
    uint64_t waited_ns; /* for it, while the stream had nothing to do */
};

/* The next batch; waits for it. Work that the caller submits to `stream` (of the model device) from now on runs after
 * the batch has arrived. 1: there are no more batches. The same stream each time. */
int mx_pipeline_take(struct mx_pipeline *pipeline, struct mx_stream *stream, struct mx_pipeline_batch *batch);
/* Gives the batch that was taken first back: its slot is used again when everything submitted to the stream so far is
 * done. Does not wait. */
int mx_pipeline_give(struct mx_pipeline *pipeline, struct mx_stream *stream);
/* The caller ends a step (of one or more batches), after it gave back the last of them: its time is that from the end
 * of the last step's work to the end of this one's, on the device. */
void mx_pipeline_step(struct mx_pipeline *pipeline);
/* The data device trained, too, on a part of the batch `number`, which is held: it was busy from begin to end. */
void mx_pipeline_shared(struct mx_pipeline *pipeline, uint64_t number, uint64_t begin_ns, uint64_t end_ns);
/* The caller does something else until it takes again (evaluates, saves): the next step counts from then on, and the
 * time until then counts for nothing, not even as wall time. */
void mx_pipeline_rest(struct mx_pipeline *pipeline);

/* How far each stage is; for status lines and messages. */
struct mx_pipeline_levels {
    int32_t loaded, loaded_limit;     /* batches that wait for the data device, of how many; what a worker has ready
                                         beyond that is in its hands */
    int32_t prepared, prepared_limit; /* that wait on the data device */
    int32_t arrived, arrived_limit;   /* that wait on the model device; 0 of 0 on one device */
    int32_t workers_active, workers;
    bool full; /* every slot in use is filled: nothing can be made before a batch is taken or given back */
};
void mx_pipeline_levels(struct mx_pipeline *pipeline, struct mx_pipeline_levels *out);

/* Workers at work, and how many batches may wait: loaded for the data device, and prepared on it. At least 1 of each,
 * at most what there are slots for: each worker needs a host slot besides, and each batch that is held a data slot
 * where the train stage takes those. From any thread. */
struct mx_pipeline_tuning {
    int32_t workers, loaded, prepared;
};
void mx_pipeline_tune(struct mx_pipeline *pipeline, const struct mx_pipeline_tuning *tuning);
/* What is in use now, and the most that there is; either may be NULL. */
void mx_pipeline_tuning(struct mx_pipeline *pipeline, struct mx_pipeline_tuning *now, struct mx_pipeline_tuning *most);

/* ---- what is measured: by the clock of events on devices, by the host's for loading ---- */

enum mx_stage { MX_STAGE_LOAD, MX_STAGE_PROCESS, MX_STAGE_TRANSFER, MX_STAGE_TRAIN, MX_STAGES };

const char *mx_stage_name(enum mx_stage stage); /* "load" … */

struct mx_span {
    enum mx_stage stage;
    int32_t lane;              /* the worker of a load; 1: training on the data device; 0 elsewhere */
    uint64_t number;           /* of the batch */
    uint64_t begin_ns, end_ns; /* mx_clock_ns */
};

/* Count, mean and deviation of values, one after the other (Welford). */
struct mx_tally {
    uint64_t count;
    double mean, m2, least, most;
};
void mx_tally_add(struct mx_tally *tally, double value);
/* What `to` counted and `from`, an earlier state of it, had not. Least and most are those of all. */
struct mx_tally mx_tally_since(const struct mx_tally *from, const struct mx_tally *to);
double mx_tally_deviation(const struct mx_tally *tally);
double mx_tally_variation(const struct mx_tally *tally); /* deviation/mean; 0 if there is none */

struct mx_stage_stats {
    struct mx_tally busy_ns;                /* per batch */
    uint64_t wait_input_ns, wait_output_ns; /* altogether: nothing to do; nowhere to put it. Load: of all workers */
};

struct mx_pipeline_stats {
    struct mx_stage_stats stages[MX_STAGES];
    struct mx_tally step_ns;     /* from end to end of steps */
    uint64_t since_ns;           /* mx_clock_ns of the start or reset */
    uint64_t wall_ns;            /* since the start or reset, without rests; no other sum of times is longer */
    uint64_t batches;            /* given back, and the work on them done */
    uint64_t data_wait_ns;       /* of the train stage: for the first batch, from the start on; later in
                                    mx_pipeline_take, while its stream had nothing to do */
    uint64_t data_busy_ns;       /* of the data device: process, load where its workers live on its cores, transfer
                                    where copies need them, and training of its part of the batches. On one device: of
                                    that device */
    uint64_t model_busy_ns;      /* of the model device. On one device the same as data_busy_ns */
    uint64_t shared_ns;          /* of the data device: time in which it trained; part of data_busy_ns */
    uint64_t transfer_ns;        /* time in which a transfer was under way … */
    uint64_t transfer_hidden_ns; /* … and training, too */
    uint64_t stage_overlap_ns;   /* time in which training and any other stage were at work together */
};

#define MX_VARIATION_LIMIT 0.3 /* of step times; above it there is a bottleneck */

/* Everything measured since the start or the last reset, up to now: what is under way counts so far. From any
 * thread. */
void mx_pipeline_stats(struct mx_pipeline *pipeline, struct mx_pipeline_stats *out);
void mx_pipeline_stats_reset(struct mx_pipeline *pipeline);
/* The newest spans, oldest first; at most `count`. Returns how many. */
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
        uint64_t limit_bytes;            /* 0: none but the device's own */
        uint64_t used_bytes, peak_bytes; /* on the device */
        uint64_t host_bytes;             /* of the host, for copies to and from it */
        struct mx_pipeline_owner owners[MX_PIPELINE_OWNERS];
        int32_t owner_count;
    } devices[2];
    int32_t device_count; /* 1 or 2: data device, model device */
};

/* Who uses how much of both devices now. */
void mx_pipeline_memory_stats(struct mx_pipeline *pipeline, struct mx_pipeline_memory *out);

#endif
