/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The processes of one training run: ranks, each with its own device or pair of devices, that share every step. They
 * are started by mpirun, mpiexec or srun and talk through MPI, and through NCCL where gradients are on CUDA devices.
 *
 * One thread of each rank, "ranks", makes all calls of MPI from MPI_Init_thread to MPI_Finalize; it carries what the
 * comm (train/comm.h) is asked for and watches the others. It hardly takes time from the devices: while there is
 * nothing to do it sleeps until something comes or another process of this machine ends.
 *
 * A rank that fails tells rank 0, which tells the user, naming rank and host, and ends all (MPI_Abort) with the exit
 * code of that error. A rank that ends without a word is noticed by another rank of its machine at once, or by the rank
 * after it when nothing has come from it for MX_DIST_SILENCE_NS; a rank that makes no progress (no call of the comm,
 * no mx_dist_tick) for `timeout_s` while it does not wait for the others says so itself. So all ranks end within 15
 * seconds, whatever the launcher does. Checkpoints are written so that this may happen at any moment.
 *
 * Without MPI in the build (mx_dist_supported) a process that was started as one of several is refused.
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
    double timeout_s;    /* without progress; > 0 */
    const char *command; /* how command lines in hints begin: "myxtts train" */
    bool divide_cores;   /* among ranks of a machine that have the same ones */
    uint32_t spans;      /* sums that are remembered for traces */
};

const char *mx_dist_supported(void); /* "Open MPI v4.1.4"; NULL: not in this build */

/* Joins the others. *out is NULL if this process was started alone, or as the only one. Call it before anything else
 * has looked at the cores of this process. MX_ERR_UNSUPPORTED without MPI in the build. */
int mx_dist_open(const struct mx_dist_options *options, struct mx_dist **out);
/* Waits for all others to do the same. NULL is fine. */
void mx_dist_close(struct mx_dist *dist);
/* Ends all ranks because of this one's current error; does not return. NULL: returns the code. */
int mx_dist_fail(struct mx_dist *dist, int code);

struct mx_comm *mx_dist_comm(struct mx_dist *dist); /* NULL: a comm of one */
/* Of the ranks of this machine, from 0 on; how many there are. */
int32_t mx_dist_local_rank(const struct mx_dist *dist);
int32_t mx_dist_local_size(const struct mx_dist *dist);
/* The same among those that see the same devices: 0 where each was given its own (CUDA_VISIBLE_DEVICES). */
int32_t mx_dist_device_rank(const struct mx_dist *dist);
const char *mx_dist_host(const struct mx_dist *dist, int32_t rank);
int32_t mx_dist_hosts(const struct mx_dist *dist); /* how many machines */

/* From now on gradients are summed on this device, which must be the device of each sum until mx_dist_device_leave. All
 * ranks call it together. If all have CUDA devices and the same NCCL, that sums (nccl.h), otherwise MPI does; one line
 * says which, where there is a choice. MYXTTS_SUMS=nccl makes anything else an error, MYXTTS_SUMS=ring or =library
 * chooses MPI. NULL is fine. */
int mx_dist_device_use(struct mx_dist *dist, struct mx_device *device);
/* Before the device is closed: gives back everything that was taken of it for sums. NULL is fine. */
void mx_dist_device_leave(struct mx_dist *dist);

/* There is progress, though no call of the comm: evaluations, saving. NULL is fine. */
void mx_dist_tick(struct mx_dist *dist);

/* Compares what must be the same in all ranks with rank 0: MX_ERR_DATA naming what differs, in the ranks that do. */
struct mx_dist_item {
    const char *name; /* "the corpus is" */
    uint64_t hash;
    const char *hint; /* what to do if it differs */
};
int mx_dist_compare(struct mx_dist *dist, const struct mx_dist_item *items, int32_t count);
/* Of the file of this program; 0 if it cannot be read. */
uint64_t mx_dist_program_hash(void);

/* One sum of a bucket, from when its gradient was there to when the sum was. */
struct mx_dist_span {
    uint64_t number; /* of the sum, from the start on */
    int32_t lane;    /* several are under way at a time */
    uint64_t begin_ns, end_ns;
    int64_t bytes;
};
/* Time of a core that carrying took so far while the trainer's thread did not wait for it: taken from the training
 * where that runs on the same cores. */
uint64_t mx_dist_carried_ns(const struct mx_dist *dist);
/* The newest, oldest first; returns how many. Between steps. */
uint32_t mx_dist_spans(struct mx_dist *dist, struct mx_dist_span *out, uint32_t count);

#endif
