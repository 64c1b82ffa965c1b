/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * NCCL: members are processes of one machine, which meet in shared memory named by the unique id. A sum is made piece
 * by piece: each member puts its own into its place, all meet, each adds the places up in the order of the ranks, all
 * meet again. It is a command of a stream as any other, so the caller goes on.
 *
 * Memory: a communicator owns its mapping, from ncclCommInitRank to its end. The name is gone as soon as all have met.
 */
#include "inside.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MEMBERS_MAX  16
#define PIECE_FLOATS 65536
#define LOOK_US      20

/* All members see it. Zeros at first. */
struct meeting {
    atomic_uint arrived; /* members that have come to the current meeting */
    atomic_uint number;  /* of the current meeting */
    float places[MEMBERS_MAX][PIECE_FLOATS];
};

struct ncclComm {
    struct object object;
    int rank, size;
    struct meeting *meeting;
    atomic_bool aborted, broken;
    atomic_int pending; /* sums that are queued or run */
};

/* False: the communicator was aborted meanwhile. */
static bool meet(struct ncclComm *comm)
{
    struct meeting *const m = comm->meeting;
    const unsigned number = atomic_load(&m->number);
    if (atomic_fetch_add(&m->arrived, 1) + 1 == (unsigned)comm->size) {
        atomic_store(&m->arrived, 0);
        atomic_fetch_add(&m->number, 1);
    }
    while (atomic_load(&m->number) == number && !comm->aborted) pause_us(LOOK_US);
    return !comm->aborted;
}

void sum_run(const struct sum *sum, float *values)
{
    struct ncclComm *const comm = sum->comm;
    while (sum->broken && !comm->aborted) pause_us(LOOK_US);
    if (comm->aborted) return;
    for (size_t first = 0; first < sum->count; first += PIECE_FLOATS) {
        const size_t count = sum->count - first < PIECE_FLOATS ? sum->count - first : PIECE_FLOATS;
        memcpy(comm->meeting->places[comm->rank], values + first, count * sizeof *values);
        if (!meet(comm)) return;
        memcpy(values + first, comm->meeting->places[0], count * sizeof *values);
        for (int rank = 1; rank < comm->size; rank++)
            for (size_t i = 0; i < count; i++) values[first + i] += comm->meeting->places[rank][i];
        if (!meet(comm)) return;
    }
}

void sum_drop(const struct sum *sum)
{
    atomic_fetch_sub(&sum->comm->pending, 1);
}

/* ---- calls ---- */

ncclResult_t ncclGetVersion(int *version)
{
    *version = (int)settings()->nccl_version;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t code)
{
    static const char *const texts[] = {"no error",
                                        "unhandled cuda error",
                                        "unhandled system error",
                                        "internal error",
                                        "invalid argument",
                                        "invalid usage",
                                        "remote process exited or there was a network error"};
    return code >= 0 && code <= ncclRemoteError ? texts[code] : "unknown result code";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *out)
{
    memset(out, 0, sizeof *out);
    snprintf(out->internal, sizeof out->internal, "/cuda-double-%ld-%llu", (long)getpid(),
             (unsigned long long)now_ns());
    return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *out, int size, ncclUniqueId id, int rank)
{
    struct context *context;
    if (context_now(&context, "ncclCommInitRank") != CUDA_SUCCESS) return ncclUnhandledCudaError;
    if (size < 1 || size > MEMBERS_MAX || rank < 0 || rank >= size || id.internal[0] != '/') {
        return fault(ncclInvalidArgument, "ncclCommInitRank: rank %d of %d, or no id of ncclGetUniqueId", rank, size);
    }
    const int file = shm_open(id.internal, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) return ncclSystemError;
    void *const memory = ftruncate(file, sizeof(struct meeting)) == 0
                             ? mmap(NULL, sizeof(struct meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                             : MAP_FAILED;
    close(file);
    if (memory == MAP_FAILED) return ncclSystemError;
    struct ncclComm *const comm = calloc(1, sizeof *comm);
    comm->rank = rank;
    comm->size = size;
    comm->meeting = memory;
    meet(comm);
    if (rank == 0) shm_unlink(id.internal);
    object_add(&comm->object, COMM, context);
    *out = comm;
    return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, int type, int operation, ncclComm_t comm,
                           void *handle)
{
    struct stream *stream;
    if (!object_is(comm, COMM, "ncclAllReduce")) return ncclInvalidArgument;
    if (stream_check(handle, &stream, "ncclAllReduce") != CUDA_SUCCESS) return ncclUnhandledCudaError;
    if (stream->object.context != comm->object.context) {
        return fault(ncclInvalidUsage, "ncclAllReduce: a stream of another device");
    }
    if (from != to || type != ncclFloat32 || operation != ncclSum) {
        return fault(ncclInvalidArgument, "ncclAllReduce: not a sum of floats in place");
    }
    if (strikes(&settings()->fail_sum)) return ncclSystemError;
    struct command *const command = command_make(COMMAND_SUM);
    command->sum = (struct sum){.comm = comm, .at = (CUdeviceptr)(uintptr_t)to, .count = count};
    command->sum.broken = strikes(&settings()->broken_sum);
    if (command->sum.broken) comm->broken = true;
    atomic_fetch_add(&comm->pending, 1);
    totals.sums++;
    return stream_submit(stream, command) == CUDA_SUCCESS ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *out)
{
    if (!object_is(comm, COMM, "ncclCommGetAsyncError")) return ncclInvalidArgument;
    *out = comm->broken ? ncclRemoteError : ncclSuccess;
    return ncclSuccess;
}

static ncclResult_t comm_end(ncclComm_t comm)
{
    object_remove(&comm->object);
    munmap(comm->meeting, sizeof *comm->meeting);
    free(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    if (!object_is(comm, COMM, "ncclCommDestroy")) return ncclInvalidArgument;
    if (comm->pending > 0) fault(0, "ncclCommDestroy while sums are under way");
    meet(comm);
    return comm_end(comm);
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    if (!object_is(comm, COMM, "ncclCommAbort")) return ncclInvalidArgument;
    comm->aborted = true;
    while (comm->pending > 0) pause_us(LOOK_US);
    return comm_end(comm);
}
