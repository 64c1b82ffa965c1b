/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of the MPI comm share. For src/dist only, and only in builds with MPI.
 *
 *     mpi_open.c     start and end: who is there, who has which cores; the calls of the comm, as the trainer sees them
 *     mpi_thread.c   the thread that makes all calls of MPI, and sleeps in between
 *     mpi_sum.c      sums of buckets
 *     mpi_nccl.c     who sums them instead, where all devices are CUDA devices
 *     mpi_watch.c    who is still there, and the end of all when one is not
 *
 * The thread owns everything below "the thread's own"; what stands before is shared as its comment says.
 */
#ifndef MX_DIST_MPI_INTERNAL_H
#define MX_DIST_MPI_INTERNAL_H

#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "dist/dist.h"
#include "dist/nccl.h"

#define MX_MPI_SUMS  4096 /* that may wait: buckets of a step */
#define MX_MPI_LANES 4    /* that are under way at the same time */

/* One rank, as all others know it. Sent as bytes: all ranks run the same program. */
struct mx_mpi_member {
    char host[MX_DIST_HOST_BYTES];
    char machine[40];   /* the kernel's id of this boot: the same name alone may be another machine */
    uint64_t processes; /* the name space that pid counts in */
    int64_t pid;
    uint64_t cores;   /* hash of those that it may run on */
    uint64_t devices; /* hash of what the environment says about which ones it may see */
};

/* Why all must end. Sent as bytes. */
struct mx_mpi_failure {
    int32_t rank, code;
    int32_t told; /* the user knows: whoever gets it only ends */
    char message[512], hint[MX_ERROR_HINT_BYTES];
};

/* What the trainer's thread asks for and waits for; one at a time. */
enum mx_mpi_call { MX_MPI_NONE, MX_MPI_ADD, MX_MPI_BROADCAST, MX_MPI_BARRIER, MX_MPI_FAIL, MX_MPI_CLOSE };

struct mx_mpi_request {
    enum mx_mpi_call call;
    void *data; /* double [count] or bytes [count] */
    size_t count;
    int32_t root;
};

/* A sum that was begun. */
struct mx_mpi_sum {
    struct mx_slice floats;
    int64_t count;
    struct mx_event *ready;
};

/* One sum under way: wait for the gradient, fetch it where the device's memory is not the host's, sum, put it back. */
struct mx_mpi_lane {
    enum { MX_LANE_FREE, MX_LANE_WAIT, MX_LANE_FETCH, MX_LANE_SUM, MX_LANE_PUT } stage;
    struct mx_mpi_sum sum;
    uint64_t number, begin_ns; /* since when it waits, then since when the gradient is there */
    int64_t first, count;      /* the piece of the sum that is being made: at most MX_BUCKET_FLOATS */
    float *values;             /* of the piece, on the host */
    float *received;           /* [chunk]: of the ring */
    int32_t step;              /* of the ring: 0 … 2(size - 1) - 1 */
    MPI_Request *requests;     /* [2] of those of all lanes: receive, send; or the library's sum */
    float *staging;            /* [MX_BUCKET_FLOATS] of the device; NULL: not needed so far */
    struct mx_event *moved;    /* after a copy */
};

struct mx_mpi_watch {
    MPI_Request beat_in, beat_out, failure_in;
    int32_t beat_heard, beat_told;
    struct mx_mpi_failure failure;
    uint64_t heard_ns, told_ns, looked_ns, progress_ns;
    uint64_t ticks;
    struct pollfd *fds; /* [0] wakes the thread; the others are processes of this machine */
    int32_t *ranks;     /* of fds */
    nfds_t count;
};

struct mx_dist {
    struct mx_comm comm; /* first: a comm is its struct mx_dist */
    struct mx_dist_options options;
    struct mx_mpi_member *members; /* [size]; read-only after open */
    int32_t local_rank, local_size, device_rank, hosts;
    pthread_t thread;
    int wake; /* eventfd: something was asked for */
    uint64_t cores_hash;
    struct mx_nccl *nccl; /* of the trainer's thread, as the next one; NULL: MPI sums */
    uint64_t nccl_sums;   /* made so far */
    clockid_t clock;      /* of the thread: its time on a core … */
    uint64_t clock_ns;    /* … when the trainer's thread last began to do something else than to wait for it */
    uint64_t carried_ns;  /* of the thread while the trainer's did not wait, so far */

    /* Guards the next block. `asked` is set by the trainer's thread and cleared by the other when *request is done;
     * begun ≥ done; entries [done, begun) of `sums` (modulo its size) belong to the thread, all others to nobody. */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* asked, done, opened or rc changed */
    bool asked, opened;
    int rc;                /* of the request, or of opening … */
    struct mx_error error; /* … and its error */
    struct mx_mpi_request request;
    uint64_t begun, done;
    struct mx_mpi_sum sums[MX_MPI_SUMS];
    struct mx_dist_span *spans; /* [options.spans]: the newest, by number modulo their count */
    uint64_t span_count;

    atomic_uint_fast64_t ticks; /* counts progress of the trainer's thread */
    atomic_bool waiting;        /* … which waits for the others */

    /* ---- the thread's own ---- */
    MPI_Comm world, floats, control; /* world: calls of the comm; floats: buckets; control: the watch */
    MPI_Request call;                /* of the request under way */
    uint64_t call_ns;
    size_t call_at; /* bytes of a broadcast that are done */
    bool ring;      /* sums are made by our ring; otherwise by the library */
    int lane_count;
    bool closing;        /* nobody is watched any more */
    uint32_t idle_looks; /* pauses since something was done */
    uint64_t started;
    struct mx_mpi_lane lanes[MX_MPI_LANES];
    MPI_Request requests[2 * MX_MPI_LANES]; /* in one array: one call looks at all */
    struct mx_stream *stream;               /* of copies; NULL: not needed so far */
    struct mx_device *device;               /* of the stream */
    struct mx_mpi_watch watch;
};

/* ---- mpi_thread.c ---- */
void *mx_mpi_thread(void *dist);
/* Prints the error of this rank's thread if it is not 0 and ends all; for codes of MPI. */
void mx_mpi_check(struct mx_dist *dist, int code, const char *what);

/* ---- mpi_sum.c ---- */
int mx_mpi_sums_open(struct mx_dist *dist);
void mx_mpi_sums_close(struct mx_dist *dist);
bool mx_mpi_sums_run(struct mx_dist *dist); /* false: nothing happened */
/* Nanoseconds until it is worth to look again; UINT64_MAX: nothing is under way. */
uint64_t mx_mpi_sums_pause(const struct mx_dist *dist);

/* Gives back what was taken of the device of the sums; none is under way. For the trainer's thread. */
void mx_mpi_sums_leave(struct mx_dist *dist);

/* ---- mpi_nccl.c: calls of the comm when dist->nccl is there ---- */
int mx_mpi_nccl_begin(struct mx_dist *dist, struct mx_slice floats, int64_t count, struct mx_event *ready);
int mx_mpi_nccl_finish(struct mx_dist *dist);

/* ---- mpi_watch.c ---- */
int mx_mpi_watch_open(struct mx_dist *dist);
void mx_mpi_watch_run(struct mx_dist *dist); /* ends everything if someone is missing */
void mx_mpi_watch_sleep(struct mx_dist *dist, uint64_t ns);
void mx_mpi_watch_close(struct mx_dist *dist);
/* Tells why and ends all ranks. Does not return. */
void mx_mpi_end(struct mx_dist *dist, const struct mx_mpi_failure *failure) __attribute__((noreturn));

#endif
