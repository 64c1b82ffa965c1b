/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A comm (communicator): the processes that share each training step, as the trainer sees them.
 *
 * Every member (rank 0 … size - 1) has the same weights and trains on its part of the step's batch. The sum of their
 * gradients is the gradient of the whole batch, because every member divides its losses by the frames and tokens of all
 * members (struct mx_model_batch). After the sum all members make the same update. NULL stands for a comm of one: the
 * functions below then do what a single member would do, which is nothing.
 *
 * The gradient is summed in buckets: ranges of the flat gradient that become final in numerical order while the
 * backward pass is still running (replica.h records an event for each). All members make the same calls in the same
 * order with the same counts. An error is permanent: the comm must be destroyed. Failures of other members (gone,
 * silent for too long) are returned as errors of these calls; the message names the member.
 *
 * An implementation that moves the bytes (dist/) makes a struct whose first member is a struct mx_comm.
 *
 * Threads: one at a time. Work begun by sum_begin may continue in the comm's own threads until sum_finish.
 */
#ifndef MX_TRAIN_COMM_H
#define MX_TRAIN_COMM_H

#include "model/parameters.h"
#include "myxtts/device.h"

struct mx_comm;

/* All return 0 or a negative code with the error message set. */
struct mx_comm_calls {
    /* Begins to replace `count` floats on a device by their sums over all members, once `ready` is complete; does not
     * wait. Do not touch the floats until sum_finish. The order of summation is the same in each run, and all members
     * get the same bits. */
    int (*sum_begin)(struct mx_comm *comm, struct mx_slice floats, int64_t count, struct mx_event *ready);
    /* Makes all sums begun so far available to work submitted to `stream` from now on. May wait. */
    int (*sum_finish)(struct mx_comm *comm, struct mx_stream *stream);
    /* Sums a few numbers on the host, and waits: losses, counts. */
    int (*add)(struct mx_comm *comm, double *values, int32_t count);
    /* Sends the bytes of member `root` to all others. */
    int (*broadcast)(struct mx_comm *comm, void *bytes, size_t count, int32_t root);
    /* Returns when all members have called it. */
    int (*barrier)(struct mx_comm *comm);
    void (*destroy)(struct mx_comm *comm);
};

struct mx_comm {
    const struct mx_comm_calls *calls;
    int32_t rank, size;
};

static inline int32_t mx_comm_rank(const struct mx_comm *comm)
{
    return comm != NULL ? comm->rank : 0;
}

static inline int32_t mx_comm_size(const struct mx_comm *comm)
{
    return comm != NULL ? comm->size : 1;
}

static inline int mx_comm_add(struct mx_comm *comm, double *values, int32_t count)
{
    return comm != NULL ? comm->calls->add(comm, values, count) : 0;
}

static inline int mx_comm_broadcast(struct mx_comm *comm, void *bytes, size_t count, int32_t root)
{
    return comm != NULL ? comm->calls->broadcast(comm, bytes, count, root) : 0;
}

static inline int mx_comm_barrier(struct mx_comm *comm)
{
    return comm != NULL ? comm->calls->barrier(comm) : 0;
}

static inline void mx_comm_destroy(struct mx_comm *comm)
{
    if (comm != NULL) comm->calls->destroy(comm);
}

/* ---- buckets ---- */

#define MX_BUCKET_FLOATS (INT64_C(1) << 20)     /* size of a bucket: 4 MiB */
#define MX_BUCKET_SMALL  (MX_BUCKET_FLOATS / 4) /* size of a bucket in the tail */
#define MX_BUCKET_TAIL   (4 * MX_BUCKET_FLOATS) /* floats that are cut into small buckets */

/* Floats [first, first + count) of the flat gradient. */
struct mx_bucket {
    int64_t first, count;
};

/* The decayed parameters lie in the order of the forward pass, so their gradients become final from the end to the
 * beginning, and buckets are cut in that order. What becomes final last has the least time left to be summed during the
 * backward pass. The first layers, which see tokens and not frames, also finish many gradients in a short time, so
 * buckets are small there and none has to wait for large neighbours. The remaining parameters, few and small, form the
 * last bucket: some of them belong to the first layers. */
static inline int64_t mx_bucket_tail(const struct mx_parameters *table)
{
    return table->decayed < MX_BUCKET_TAIL ? table->decayed : MX_BUCKET_TAIL;
}

/* The number of pieces of `size` floats that cover `floats`. */
static inline int32_t mx_bucket_pieces(int64_t floats, int64_t size)
{
    return (int32_t)((floats + size - 1) / size);
}

static inline int32_t mx_bucket_count(const struct mx_parameters *table)
{
    const int64_t tail = mx_bucket_tail(table);
    return mx_bucket_pieces(table->decayed - tail, MX_BUCKET_FLOATS) + mx_bucket_pieces(tail, MX_BUCKET_SMALL) +
           (table->learned > table->decayed);
}

static inline struct mx_bucket mx_bucket_at(const struct mx_parameters *table, int32_t number)
{
    const int64_t tail = mx_bucket_tail(table);
    const int32_t large = mx_bucket_pieces(table->decayed - tail, MX_BUCKET_FLOATS);
    const bool small = number >= large;
    const int64_t size = small ? MX_BUCKET_SMALL : MX_BUCKET_FLOATS, least = small ? 0 : tail;
    const int64_t end = small ? tail - (number - large) * size : table->decayed - number * size;
    if (end <= 0) return (struct mx_bucket){table->decayed, table->learned - table->decayed};
    const int64_t first = end - size > least ? end - size : least;
    return (struct mx_bucket){first, end - first};
}

#endif
