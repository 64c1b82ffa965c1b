/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A replica: one device that holds all weights and trains its part of each step.
 *
 * Usually there is one, the trainer's own. With work sharing (share_policy.h) the data device has another one: both run their
 * parts of a step's batches, then each adds up, measures and updates one range of the flat arrays and gives the new
 * weights to the other. Moments and averaged weights of a range are only kept where they are updated. The first replica
 * has room for all of them: while nothing is shared it updates everything and the other one does nothing at all. When
 * sharing begins or ends, what belongs to the other's range moves over or back (mx_replica_hand).
 *
 * Everything is queued on the replica's stream and waits for nothing unless it says so. Between two replicas the caller
 * orders: what reads from another one stands behind a wait for that one's `end`, or for its whole stream.
 *
 *     clear · run · run … · [behind the other's end] add · norm · [wait for all] · update · give · [wait for all]
 *
 * With buckets (comm.h) the last run of a step records an event for each of them on the way.
 *
 * Memory: a replica owns its stream, model, buffers and events, all taken by mx_replica_create. The device is borrowed.
 */
#ifndef MX_TRAIN_REPLICA_H
#define MX_TRAIN_REPLICA_H

#include "model/model.h"
#include "train/comm.h"

#define MX_REPLICA_NORM_BYTES  64                /* behind the gradients: the result of grad_norm */
#define MX_REPLICA_STAGE_BYTES ((size_t)1 << 20) /* of another's gradient at a time: stays in a core's own cache */

/* Floats [first, first + count) of the flat arrays. */
struct mx_range {
    int64_t first, count;
};

struct mx_replica_options {
    struct mx_device *device;
    struct mx_model_config model;
    struct mx_model_capacity capacity;
    int32_t passes;       /* of a step: micro-batches */
    struct mx_range room; /* for moments and averaged weights of these floats; count 0: none */
    bool shared;          /* there is another replica, whose gradients are added to its own */
    bool buckets;         /* events for them */
    bool recorded; /* runs are recorded and started as one where the device can (caps.graphs); not with buckets */
};

struct mx_replica {
    struct mx_replica_options options;
    struct mx_range range; /* that it updates: within its room, at first all of it */
    struct mx_stream *stream;
    struct mx_model *model;
    /* Flat; moments: first and second of the room, one after the other; average: of the room; stage: NULL if it never
     * adds another's. */
    struct mx_buffer *weights, *gradients, *moments, *average, *stage;
    float *losses;                /* host: [passes, MX_MODEL_LOSSES, sequences] */
    float *norm;                  /* host: [4] of grad_norm, behind the losses */
    struct mx_event *begin, *end; /* around the runs of a step */
    struct mx_event **ready;      /* [bucket_count]; NULL: none */
    int32_t bucket_count;
    struct mx_graph *graph; /* NULL: nothing was recorded yet */
    bool ran;               /* a run was submitted, so that what the device makes at first use is there */
};

/* Bytes of each kind of memory, by owner. */
struct mx_replica_memory_plan {
    uint64_t parameters, gradients, moments, average, activations, stage;
    uint64_t work;               /* the device's own, for its stream */
    uint64_t results, synthesis; /* of the host */
};

int mx_replica_memory_plan(const struct mx_replica_options *options, struct mx_replica_memory_plan *out);
/* The weights are not set: mx_replica_begin. */
int mx_replica_create(const struct mx_replica_options *options, struct mx_replica **out);
void mx_replica_destroy(struct mx_replica *replica); /* waits for its stream; NULL is fine */

/* Weights and averaged weights become `initial` (host, all floats), the moments 0. Waits. */
int mx_replica_begin(struct mx_replica *replica, const float *initial);

static inline int64_t mx_replica_floats(const struct mx_replica *replica)
{
    return mx_model_parameters(replica->model)->floats;
}

/* ---- one step ---- */

/* Gradients become 0. */
int mx_replica_clear(struct mx_replica *replica);
/* Forward and backward of micro-batch `number` of the step; `last`: the gradients are complete after it. */
int mx_replica_run(struct mx_replica *replica, int32_t number, const struct mx_model_batch *batch,
                   const struct mx_model_pass_info *step, bool last);
/* The step has no (more) batch for this replica: marks the end as the last run would have done. */
int mx_replica_pause(struct mx_replica *replica);
/* The losses of a run, [MX_MODEL_LOSSES, sequences of its batch], when the stream has been waited for. */
static inline float *mx_replica_losses(const struct mx_replica *replica, int32_t number)
{
    return replica->losses + (ptrdiff_t)number * MX_MODEL_LOSSES * replica->options.capacity.sequences;
}
/* Nanoseconds of the runs of the last step, waiting included, when the stream has been waited for. */
uint64_t mx_replica_begin_ns(const struct mx_replica *replica);
uint64_t mx_replica_end_ns(const struct mx_replica *replica);

/* Adds another's gradients to its own, in its own range. */
int mx_replica_add(struct mx_replica *replica, const struct mx_replica *other);
/* The norm of the gradient in its range; replica->norm has it when the stream has been waited for. */
int mx_replica_measure(struct mx_replica *replica, double limit);

struct mx_replica_update {
    double rate, beta1, beta2, epsilon, weight_decay, ema_decay;
    int64_t step;    /* 1, 2 … */
    bool whole_norm; /* replica->norm has been replaced by that of the whole gradient; otherwise its range is all */
};
/* Changes weights, moments and averaged weights of its range. */
int mx_replica_update(struct mx_replica *replica, const struct mx_replica_update *how);
/* The weights of its range to another one. */
int mx_replica_give(struct mx_replica *replica, struct mx_replica *other);
/* Gets the averaged weights of another's range, whose stream has been waited for. */
int mx_replica_take_average(struct mx_replica *replica, const struct mx_replica *other);

/* ---- which range is whose ---- */

/* Moments and averaged weights of `range`, for which both have room, to another one. */
int mx_replica_hand(struct mx_replica *replica, struct mx_replica *other, struct mx_range range);
/* All weights to another one, which updated none of them since it had the same. */
int mx_replica_give_all(struct mx_replica *replica, struct mx_replica *other);

/* ---- flat arrays on the host: of its own range ---- */

struct mx_replica_arrays {
    float *average, *moment1, *moment2; /* [all floats]; NULL: not wanted */
};
int mx_replica_read(struct mx_replica *replica, const struct mx_replica_arrays *arrays);
int mx_replica_write(struct mx_replica *replica, const struct mx_replica_arrays *arrays);

#endif
