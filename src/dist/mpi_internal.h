/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the files of the MPI comm. For src/dist only, and only in builds with MPI.
 *
 *     mpi_open.c     start and end: the ranks and their cores; the calls of the comm, as the trainer sees them
 *     mpi_thread.c   the thread that makes all MPI calls, and sleeps in between
 *     mpi_sum.c      sums of buckets
 *     mpi_nccl.c     sums through NCCL instead, if all devices are CUDA devices
 *     mpi_watch.c    checks which ranks are alive, and ends all when one is not
 *
 * The thread owns everything below "the thread's own"; everything above it is shared as its comments say.
 */
#ifndef MX_DIST_MPI_INTERNAL_H
#define MX_DIST_MPI_INTERNAL_H

#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "dist/dist.h"
#include "dist/nccl.h"

#define MX_MPI_SUMS  4096 /* most sums that may wait: buckets of a step */
#define MX_MPI_LANES 4    /* sums that run at the same time */

/* One rank, as all others know it. Sent as raw bytes: all ranks run the same program. */
struct mx_mpi_member {
    char host[MX_DIST_HOST_BYTES];
    char machine[40];   /* the kernel's boot id: two machines may have the same name */
    uint64_t processes; /* the namespace of pid */
    int64_t pid;
    uint64_t cores;   /* hash of the cores it may run on */
    uint64_t devices; /* hash of the environment variables that limit the devices it sees */
};

/* Why all ranks must end. Sent as raw bytes. */
struct mx_mpi_failure {
    int32_t rank, code;
    int32_t logged; /* it has been logged: the receiver only ends */
    char message[512], hint[MX_ERROR_HINT_BYTES];
};

/* A request of the trainer's thread, which waits for it; one at a time. */
enum mx_mpi_call { MX_MPI_NONE, MX_MPI_ADD, MX_MPI_BROADCAST, MX_MPI_BARRIER, MX_MPI_FAIL, MX_MPI_CLOSE };

struct mx_mpi_request {
    enum mx_mpi_call call;
    void *data; /* double [count] or bytes [count] */
    size_t count;
    int32_t root;
};

/* A sum that has begun. */
struct mx_mpi_sum {
    struct mx_slice floats;
    int64_t count;
    struct mx_event *ready;
};

/* One running sum: wait for the gradient, fetch it if device memory is not host memory, sum, put it back. */
struct mx_mpi_lane {
    enum { MX_LANE_FREE, MX_LANE_WAIT, MX_LANE_FETCH, MX_LANE_SUM, MX_LANE_PUT } stage;
    struct mx_mpi_sum sum;
    uint64_t number, begin_ns; /* begin of the wait, later the time when the gradient was final */
    int64_t first, count;      /* the piece of the sum being made: at most MX_BUCKET_FLOATS */
    float *values;             /* of the piece, on the host */
    float *received;           /* [chunk]: for the ring */
    int32_t step;              /* of the ring: 0 … 2(size - 1) - 1 */
    MPI_Request *requests;     /* [2] out of the array for all lanes: receive, send; or the library's sum */
    float *staging;            /* [MX_BUCKET_FLOATS] for copies from the device; NULL: not needed so far */
    struct mx_event *moved;    /* recorded after a copy */
};

struct mx_mpi_watch {
    MPI_Request beat_in, beat_out, failure_in;
    int32_t beat_received, beat_sent;
    struct mx_mpi_failure failure;
    uint64_t received_ns, sent_ns, checked_ns, progress_ns;
    uint64_t ticks;
    struct pollfd *fds; /* [0] wakes the thread; the others are processes of this machine */
    int32_t *ranks;     /* the ranks of fds */
    nfds_t count;
};

struct mx_dist {
    struct mx_comm comm; /* first: a pointer to it is a pointer to its struct mx_dist */
    struct mx_dist_options options;
    struct mx_mpi_member *members; /* [size]; read-only after open */
    int32_t local_rank, local_size, device_rank, hosts;
    pthread_t thread;
    int wake; /* eventfd: there is a request */
    uint64_t cores_hash;
    struct mx_nccl *nccl; /* belongs to the trainer's thread, as does nccl_sums; NULL: MPI sums */
    uint64_t nccl_sums;   /* made so far */
    clockid_t clock;      /* of the thread's time on a core */
    uint64_t clock_ns;    /* that clock when the trainer's thread last stopped waiting */
    uint64_t carried_ns;  /* the thread's core time so far while the trainer's thread was not waiting */

    /* Guards the next block. `asked` is set by the trainer's thread and cleared by the other when *request is done;
     * begun ≥ done; entries [done, begun) of `sums` (modulo its size) belong to the thread, all others to nobody. */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* asked, done, opened or rc changed */
    bool asked, opened;
    int rc;                /* of the request, or of opening */
    struct mx_error error; /* of rc */
    struct mx_mpi_request request;
    uint64_t begun, done;
    struct mx_mpi_sum sums[MX_MPI_SUMS];
    struct mx_dist_span *spans; /* [options.spans]: the newest, by number modulo their count */
    uint64_t span_count;

    atomic_uint_fast64_t ticks; /* progress count of the trainer's thread */
    atomic_bool waiting;        /* the trainer's thread is waiting for the others */

    /* ---- the thread's own ---- */
    MPI_Comm world, floats, control; /* world: calls of the comm; floats: buckets; control: the watch */
    MPI_Request call;                /* of the current request */
    uint64_t call_ns;
    size_t call_at; /* bytes of a broadcast done so far */
    bool ring;      /* sums use our own ring; otherwise the library's */
    int lane_count;
    bool closing;        /* the other ranks are no longer watched */
    uint32_t idle_looks; /* pauses since the last work */
    uint64_t started;
    struct mx_mpi_lane lanes[MX_MPI_LANES];
    MPI_Request requests[2 * MX_MPI_LANES]; /* one array: one call tests all */
    struct mx_stream *stream;               /* for copies; NULL: not needed so far */
    struct mx_device *device;               /* of the stream */
    struct mx_mpi_watch watch;
};

/* ---- mpi_thread.c ---- */
void *mx_mpi_thread(void *dist);
/* For return codes of MPI: unless `code` is success, reports the error of this rank and ends all. */
void mx_mpi_check(struct mx_dist *dist, int code, const char *what);

/* ---- mpi_sum.c ---- */
int mx_mpi_sums_open(struct mx_dist *dist);
void mx_mpi_sums_close(struct mx_dist *dist);
bool mx_mpi_sums_run(struct mx_dist *dist); /* false: nothing happened */
/* Nanoseconds until it is worth looking again; UINT64_MAX: no sum is running. */
uint64_t mx_mpi_sums_pause(const struct mx_dist *dist);

/* Releases what was allocated on the device of the sums; no sum is running. Called by the trainer's thread. */
void mx_mpi_sums_release(struct mx_dist *dist);

/* ---- mpi_nccl.c: calls of the comm if dist->nccl is set ---- */
int mx_mpi_nccl_begin(struct mx_dist *dist, struct mx_slice floats, int64_t count, struct mx_event *ready);
int mx_mpi_nccl_finish(struct mx_dist *dist);

/* ---- mpi_watch.c ---- */
int mx_mpi_watch_open(struct mx_dist *dist);
void mx_mpi_watch_run(struct mx_dist *dist); /* ends everything if a rank is missing */
void mx_mpi_watch_sleep(struct mx_dist *dist, uint64_t ns);
void mx_mpi_watch_close(struct mx_dist *dist);
/* Reports the reason and ends all ranks. Does not return. */
void mx_mpi_end(struct mx_dist *dist, const struct mx_mpi_failure *failure) __attribute__((noreturn));

#endif
