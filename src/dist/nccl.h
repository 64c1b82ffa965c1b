/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sums over processes that stay on CUDA devices: NCCL, loaded at run time. The build needs none of it: the declarations
 * below are this project's own, only for the entry points it uses, as they have been since NCCL 2.4.
 *
 * MYXTTS_CUDA_NCCL gives the path of a shared object, which is then the only one tried; otherwise libnccl.so.2 is
 * searched for where all CUDA libraries are.
 *
 * A communicator has its own stream on one device. A sum waits there for its gradient and is then made by NCCL, in
 * place, from device to device. All members request the same sums in the same order. NCCL guarantees that the same
 * members get the same bits in each run: it chooses ring or tree by size and topology only.
 *
 * Nothing here ends by itself when another process is gone: calls may then wait for ever. The caller must have the
 * other processes watched (mpi_watch.c).
 *
 * Memory: the opener of a communicator closes it. NCCL allocates its own device memory, which no budget sees. The
 * library stays loaded, because it keeps threads. Threads: one at a time.
 */
#ifndef MX_DIST_NCCL_H
#define MX_DIST_NCCL_H

#include "train/comm.h"

/* ---- the library: names as in its documentation ---- */
#define NCCL_UNIQUE_ID_BYTES 128
typedef int ncclResult_t;
typedef struct ncclComm *ncclComm_t;
typedef struct {
    char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

enum {
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInternalError = 3,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7
};
enum { ncclSum = 0 };     /* of ncclRedOp_t */
enum { ncclFloat32 = 7 }; /* of ncclDataType_t */

/* `stream` is a cudaStream_t. ncclCommInitRank takes the calling thread's device, and waits for all members. */
#define MX_NCCL_LIST(ENTRY)                                                                                            \
    ENTRY(ncclResult_t, ncclGetVersion, (int *version)) /* 22809 is 2.28.9 */                                          \
    ENTRY(ncclResult_t, ncclGetUniqueId, (ncclUniqueId * out))                                                         \
    ENTRY(ncclResult_t, ncclCommInitRank, (ncclComm_t * out, int size, ncclUniqueId id, int rank))                     \
    ENTRY(ncclResult_t, ncclAllReduce,                                                                                 \
          (const void *from, void *to, size_t count, int type, int operation, ncclComm_t comm, void *stream))          \
    ENTRY(ncclResult_t, ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t * out))                                  \
    ENTRY(ncclResult_t, ncclCommDestroy, (ncclComm_t comm))                                                            \
    ENTRY(ncclResult_t, ncclCommAbort, (ncclComm_t comm))                                                              \
    ENTRY(const char *, ncclGetErrorString, (ncclResult_t code))

struct mx_nccl_library {
#define ENTRY(result, symbol, parameters) result(*symbol) parameters;
    MX_NCCL_LIST(ENTRY)
#undef ENTRY
    int version;
};

/* MX_ERR_UNSUPPORTED, with the reason, if it is not installed or lacks a function. */
int mx_nccl_load(struct mx_nccl_library *out);
#define MX_NCCL_VERSION_BYTES 48
/* "2.28.9" */
const char *mx_nccl_version(int version, char text[MX_NCCL_VERSION_BYTES]);

/* ---- communicators ---- */
struct mx_nccl;

/* Called by one member, for all. */
int mx_nccl_id(const struct mx_nccl_library *library, ncclUniqueId *out);
/* Waits for all members. The library is copied, the device must outlive the communicator. */
int mx_nccl_open(const struct mx_nccl_library *library, struct mx_device *device, const ncclUniqueId *id, int32_t rank,
                 int32_t size, struct mx_nccl **out);
void mx_nccl_close(struct mx_nccl *nccl); /* waits for all members, unless a call has failed; NULL is fine */

/* Begins to replace floats of the device by their sums over all members, after `ready` (NULL: at once). */
int mx_nccl_sum(struct mx_nccl *nccl, struct mx_slice floats, int64_t count, struct mx_event *ready);
/* Waits until the gradients of all sums begun so far are final: this process's own work, which no other member delays.
 */
int mx_nccl_ready(struct mx_nccl *nccl);
/* Waits until all sums are complete. The next sum begins a new list. */
int mx_nccl_finish(struct mx_nccl *nccl);

/* Sum `number` of those that finish waited for, from when its gradient was final and the sum before it complete. */
struct mx_nccl_span {
    uint64_t begin_ns, end_ns;
    int64_t bytes;
};
int32_t mx_nccl_count(const struct mx_nccl *nccl);
struct mx_nccl_span mx_nccl_span(const struct mx_nccl *nccl, int32_t number);

#endif
