/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A replica: one device that holds all weights of a network (network.h) and trains its part of each step.
 *
 * Only what learns has gradients, optimizer state and averaged weights; the averaged weights of what is frozen are the
 * weights.
 *
 * Usually there is one, the trainer's own. With work sharing (share_policy.h) the data device has another: both run
 * their parts of a step's batches, then each sums, measures and updates one range of the flat arrays and sends the new
 * weights to the other. Optimizer state and averaged weights of a range are kept only where they are updated. The first
 * replica has room for all of them: while nothing is shared it updates everything and the other one is idle. When
 * sharing begins or ends, the data of the other's range moves over or back (mx_replica_send_range).
 *
 * Everything is queued on the replica's stream and does not wait unless stated. The caller orders the work of two
 * replicas: whatever reads from another replica must come after a wait for that one's `end`, or for its whole stream.
 *
 *     clear · run · run … · [after the other's end] add · norm · [wait for all] · update · give · [wait for all]
 *
 * With buckets (comm.h) the last run of a step records an event for each of them along the way.
 *
 * Memory: a replica owns its stream (unless one was given to it), network, buffers and events, all allocated by
 * mx_replica_create. The device and the network's options are borrowed.
 */
#ifndef MX_TRAIN_REPLICA_H
#define MX_TRAIN_REPLICA_H

#include "train/comm.h"
#include "train/network.h"
#include "train/optimizer.h"

#define MX_REPLICA_NORM_BYTES  64                /* after the gradients: the result of grad_norm */
#define MX_REPLICA_STAGE_BYTES ((size_t)1 << 20) /* piece of another's gradient: fits into a core's own cache */

/* Owners of its memory, unless the network has one for all of it. */
#define MX_OWNER_PARAMETERS "parameters"
#define MX_OWNER_GRADIENTS  "gradients"
#define MX_OWNER_MOMENTS    "moments"
#define MX_OWNER_AVERAGE    "averaged weights"
#define MX_OWNER_STAGE      "exchange"

/* Floats [first, first + count) of the flat arrays; the ranges that are updated end where the frozen ones begin. */
struct mx_range {
    int64_t first, count;
};

struct mx_replica_options {
    struct mx_device *device;
    struct mx_stream *stream; /* to work on; NULL: its own */
    const struct mx_network_options *network;
    enum mx_optimizer_kind optimizer;
    int32_t passes;       /* micro-batches per step */
    struct mx_range room; /* learning floats whose state and averaged weights have memory here; count 0: none */
    bool shared;          /* there is another replica, whose gradients are added to this one's */
    bool buckets;         /* record an event for each */
    bool timed;           /* measure the time of each run and of the update */
    bool recorded;        /* record runs and start them as one where the device can (caps.graphs); not with buckets */
};

struct mx_replica {
    struct mx_replica_options options;
    struct mx_range range; /* the range it updates: within its room, at first all of it */
    struct mx_stream *stream;
    struct mx_network *network;
    int64_t floats;          /* of the weights */
    int64_t gradient_floats; /* of what learns, and what is discarded (model/parameters.h) */
    /* Flat. moments: the optimizer's state arrays of the room, one after the other (NULL: it has none); average: of the
     * room; stage: NULL if it never adds another's gradients. */
    struct mx_buffer *weights, *gradients, *moments, *average, *stage;
    float *losses;                /* host: [passes, losses, sequences] */
    int64_t pass_losses;          /* floats of each pass */
    float *norm;                  /* host: [4] of grad_norm, after the losses */
    struct mx_event *begin, *end; /* around the runs of a step */
    struct mx_event **ready;      /* [bucket_count]; NULL: none */
    int32_t bucket_count;
    struct mx_event **marks; /* [2 (passes + 1)]: around each run and the update of a step; NULL: not timed */
    int32_t marked;          /* those of this step */
    struct mx_graph *graph;  /* NULL: nothing recorded yet */
    bool ran;                /* a run was submitted, so whatever the device creates on first use exists */
};

/* Bytes of each kind of memory, by owner. */
struct mx_replica_memory_plan {
    uint64_t parameters, gradients, moments, average, activations, stage;
    uint64_t work;             /* the device's own memory for its stream */
    uint64_t results, network; /* on the host */
};

int mx_replica_memory_plan(const struct mx_replica_options *options, struct mx_replica_memory_plan *out);
/* Leaves the weights unset: see mx_replica_begin. */
int mx_replica_create(const struct mx_replica_options *options, struct mx_replica **out);
void mx_replica_destroy(struct mx_replica *replica); /* waits for its stream; NULL is fine */

/* Sets weights and averaged weights to `initial` (host, all floats) and the optimizer state to 0. Waits. */
int mx_replica_begin(struct mx_replica *replica, const float *initial);

/* ---- one step ---- */

/* Sets the gradients to 0. */
int mx_replica_clear(struct mx_replica *replica);
/* Runs micro-batch `number` of the step forward and backward; `last`: the gradients are complete afterwards. */
int mx_replica_run(struct mx_replica *replica, int32_t number, const struct mx_network_pass *pass, bool last);
/* The step has no (more) batch for this replica: marks the end as the last run would have done. */
int mx_replica_pause(struct mx_replica *replica);
/* The losses of a run, [losses, sequences of its batch]; valid after a wait for the stream. */
static inline float *mx_replica_losses(const struct mx_replica *replica, int32_t number)
{
    return replica->losses + number * replica->pass_losses;
}
/* When the runs of the last step began and ended, in nanoseconds, waiting included; valid after a wait for the stream.
 */
uint64_t mx_replica_begin_ns(const struct mx_replica *replica);
uint64_t mx_replica_end_ns(const struct mx_replica *replica);
/* The time of the last step's runs and update by themselves, if that is measured; valid as above. */
uint64_t mx_replica_busy_ns(const struct mx_replica *replica);

/* Adds another's gradients to this one's, within this one's range. */
int mx_replica_add(struct mx_replica *replica, const struct mx_replica *other);
/* Computes the norm of the gradient in the range; replica->norm holds it after a wait for the stream. */
int mx_replica_measure(struct mx_replica *replica, double limit);

struct mx_replica_update {
    const struct mx_optimizer_options *optimizer; /* of the kind that the replica was created for */
    double rate, ema_decay;
    int64_t step;    /* 1, 2 … */
    bool whole_norm; /* replica->norm was replaced by that of the whole gradient; otherwise the range is everything */
};
/* Updates weights, optimizer state and averaged weights of the range. */
int mx_replica_update(struct mx_replica *replica, const struct mx_replica_update *how);
/* Sends the weights of the range to another replica. */
int mx_replica_send(struct mx_replica *replica, struct mx_replica *other);
/* Fetches the averaged weights of another's range, after a wait for the other's stream. */
int mx_replica_take_average(struct mx_replica *replica, const struct mx_replica *other);

/* ---- who updates which range ---- */

/* Sends optimizer state and averaged weights of `range`, for which both have room, to another replica. */
int mx_replica_send_range(struct mx_replica *replica, struct mx_replica *other, struct mx_range range);
/* Sends all weights to another replica, which has updated none since the two had the same. */
int mx_replica_send_all(struct mx_replica *replica, struct mx_replica *other);

/* ---- flat arrays on the host: the range only ---- */

struct mx_replica_arrays {
    float *average, *states[MX_OPTIMIZER_STATES]; /* [all that learn]; NULL: not wanted */
};
int mx_replica_read(struct mx_replica *replica, const struct mx_replica_arrays *arrays);
int mx_replica_write(struct mx_replica *replica, const struct mx_replica_arrays *arrays);

#endif
