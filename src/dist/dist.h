/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The processes of one training run: ranks, each with its own device or pair of devices, that share every step. They
 * are started by mpirun, mpiexec or srun and communicate through MPI, and through NCCL if gradients are on CUDA
 * devices.
 *
 * One thread of each rank, "ranks", makes all MPI calls from MPI_Init_thread to MPI_Finalize; it carries out the calls
 * of the comm (train/comm.h) and watches the other ranks. It takes hardly any time from the devices: when idle, it
 * sleeps until a message arrives or another process of this machine ends.
 *
 * A rank that fails informs rank 0, which reports the failure to the user with rank and host and ends all ranks
 * (MPI_Abort) with the exit code of that error. A rank that ends silently is noticed at once by another rank of its
 * machine, or by the next rank after MX_DIST_SILENCE_NS without a message. A rank that makes no progress (no call of
 * the comm, no mx_dist_tick) for `timeout_s` while it is not waiting for the others reports that itself. So all ranks
 * end within 15 seconds, whatever the launcher does. Checkpoints are written so that this may happen at any moment.
 *
 * If the build has no MPI (mx_dist_supported), a process that was started as one of several is refused.
 *
 * Memory: a struct mx_dist owns its thread and buffers; the comm is a part of it. Threads: one at a time.
 */
#ifndef MX_DIST_DIST_H
#define MX_DIST_DIST_H

#include "myxtts/error.h"
#include "train/comm.h"

#define MX_DIST_SILENCE_NS (UINT64_C(10) * 1000000000)
#define MX_DIST_HOST_BYTES 64

struct mx_dist;

struct mx_dist_options {
    double timeout_s;    /* longest time without progress; > 0 */
    const char *command; /* the beginning of command lines in hints: "myxtts train" */
    bool divide_cores;   /* among ranks of a machine that have the same ones */
    uint32_t spans;      /* number of sums kept for traces */
};

const char *mx_dist_supported(void); /* "Open MPI v4.1.4"; NULL: not in this build */

/* Joins the other ranks. *out is NULL if this process was started alone, or as the only one. Call it before anything
 * else has looked at the cores of this process. MX_ERR_UNSUPPORTED if the build has no MPI. */
int mx_dist_open(const struct mx_dist_options *options, struct mx_dist **out);
/* Waits until all others call it, too. NULL is fine. */
void mx_dist_close(struct mx_dist *dist);
/* Ends all ranks because of this one's current error; does not return. NULL: returns the code. */
int mx_dist_fail(struct mx_dist *dist, int code);

struct mx_comm *mx_dist_comm(struct mx_dist *dist); /* NULL: a comm of one */
/* This rank's number among the ranks of this machine, from 0 on, and their count. */
int32_t mx_dist_local_rank(const struct mx_dist *dist);
int32_t mx_dist_local_size(const struct mx_dist *dist);
/* The same among the ranks that see the same devices: 0 if each was given its own (CUDA_VISIBLE_DEVICES). */
int32_t mx_dist_device_rank(const struct mx_dist *dist);
const char *mx_dist_host(const struct mx_dist *dist, int32_t rank);
int32_t mx_dist_hosts(const struct mx_dist *dist); /* number of machines */

/* From now on gradients are summed on this device; every sum must be on it until mx_dist_device_release. All ranks call
 * it together. If all have CUDA devices and the same NCCL, NCCL sums (nccl.h), otherwise MPI; if there is a choice, one
 * line of the log says which. MYXTTS_SUMS=nccl makes anything else an error, MYXTTS_SUMS=ring or =library chooses MPI.
 * NULL is fine. */
int mx_dist_device_use(struct mx_dist *dist, struct mx_device *device);
/* Before the device is closed: releases everything that was allocated on it for sums. NULL is fine. */
void mx_dist_device_release(struct mx_dist *dist);

/* Reports progress that makes no call of the comm: evaluations, saving. NULL is fine. */
void mx_dist_tick(struct mx_dist *dist);

/* Compares what must be the same in all ranks with rank 0: MX_ERR_DATA naming the difference, in the ranks that differ.
 */
struct mx_dist_item {
    const char *name; /* "the corpus is" */
    uint64_t hash;
    const char *hint; /* what to do if it differs */
};
int mx_dist_compare(struct mx_dist *dist, const struct mx_dist_item *items, int32_t count);
/* The hash of this program's file; 0 if it cannot be read. */
uint64_t mx_dist_program_hash(void);

/* The sum of one bucket, from when its gradient was final to when the sum was complete. */
struct mx_dist_span {
    uint64_t number; /* of the sum, since the start */
    int32_t lane;    /* several sums run at a time */
    uint64_t begin_ns, end_ns;
    int64_t bytes;
};
/* Core time spent so far on carrying bytes while the trainer's thread was not waiting for it: time taken from training
 * if that runs on the same cores. */
uint64_t mx_dist_carried_ns(const struct mx_dist *dist);
/* The newest spans, oldest first; returns their number. Between steps only. */
uint32_t mx_dist_spans(struct mx_dist *dist, struct mx_dist_span *out, uint32_t count);

#endif
