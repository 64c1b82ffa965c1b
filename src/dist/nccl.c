/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Loading NCCL, and sums in a stream of the device; see nccl.h.
 *
 * Each sum has an event that marks its completion; events are created when first needed and reused in every step. A
 * waiting thread checks the event and the communicator in turn: after a network failure the event would never come.
 */
#include "dist/nccl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "device/native.h"
#include "myxtts/error.h"

#define LIBRARY      "libnccl.so.2"
#define VARIABLE     "MYXTTS_CUDA_NCCL"
#define INSTALL_HINT "install NCCL (libnccl2), or give its path in " VARIABLE
#define SUMS_MOST    4096            /* buckets of a step */
#define LOOK_NS      UINT64_C(50000) /* between two polls of a sum */
#define LOOK_ERRORS  20              /* polls of a sum between two checks of the communicator */
#define OLD_VERSION  10000           /* below: 2804 is 2.8.4, the last that counted so */

/* One sum of the current list. */
struct sum {
    struct mx_event *ready; /* the caller's; NULL: none */
    struct mx_event *there; /* NULL: not needed so far */
    int64_t bytes;
};

struct mx_nccl {
    struct mx_nccl_library library;
    struct mx_stream *stream;
    ncclComm_t comm;
    bool broken;   /* a call failed: ranks may be lost, so there is no more waiting */
    bool finished; /* the list is that of the last step */
    int32_t count;
    struct sum sums[SUMS_MOST];
};

/* ---- the library ---- */

static const struct {
    const char *name;
    size_t at; /* in struct mx_nccl_library */
} symbols[] = {
#define ENTRY(result, symbol, parameters) {#symbol, offsetof(struct mx_nccl_library, symbol)},
    MX_NCCL_LIST(ENTRY)
#undef ENTRY
};

static int code_check(const struct mx_nccl_library *library, ncclResult_t code, const char *what)
{
    const char *hint = "set NCCL_DEBUG=WARN to hear more of NCCL; MYXTTS_SUMS=ring sums over MPI instead";
    if (code == ncclSuccess) return 0;
    if (code == ncclSystemError || code == ncclRemoteError)
        hint = "look at the network between the machines (NCCL_DEBUG=WARN logs more, NCCL_SOCKET_IFNAME names the "
               "right one); MYXTTS_SUMS=ring sums over MPI instead";
    if (code == ncclInvalidUsage)
        hint = "each rank needs a device of its own, and all the same NCCL; NCCL_DEBUG=WARN logs more, "
               "MYXTTS_SUMS=ring sums over MPI instead";
    if (code == ncclUnhandledCudaError)
        hint = "NCCL_DEBUG=WARN logs more, and dmesg has Xid errors of the NVIDIA driver";
    return MX_FAIL(MX_ERR_DEVICE, hint, "NCCL: %s failed: %s", what, library->ncclGetErrorString(code));
}

const char *mx_nccl_version(int version, char text[MX_NCCL_VERSION_BYTES])
{
    const int unit = version < OLD_VERSION ? 1000 : 10000;
    snprintf(text, MX_NCCL_VERSION_BYTES, "%d.%d.%d", version / unit, version % unit / 100, version % 100);
    return text;
}

int mx_nccl_load(struct mx_nccl_library *out)
{
    const char *const path = getenv(VARIABLE);
    const bool given = path != NULL && *path != '\0';
    void *const found = given ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : mx_native_cuda_library(LIBRARY);
    *out = (struct mx_nccl_library){0};
    if (found == NULL && given)
        return MX_FAIL(MX_ERR_UNSUPPORTED, "give the path of a shared object, or unset the variable",
                       "%s, which %s names, cannot be loaded: %s", path, VARIABLE, dlerror());
    if (found == NULL) return MX_FAIL(MX_ERR_UNSUPPORTED, INSTALL_HINT, "NCCL is not installed (no %s)", LIBRARY);
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *const entry = dlsym(found, symbols[i].name);
        if (entry == NULL)
            return MX_FAIL(MX_ERR_UNSUPPORTED, INSTALL_HINT, "%s has no %s: it is older than NCCL 2.4",
                           given ? path : LIBRARY, symbols[i].name);
        memcpy((char *)out + symbols[i].at, &entry, sizeof entry);
    }
    return code_check(out, out->ncclGetVersion(&out->version), "asking for its version");
}

/* ---- communicators ---- */

int mx_nccl_id(const struct mx_nccl_library *library, ncclUniqueId *out)
{
    return code_check(library, library->ncclGetUniqueId(out), "beginning a group of processes");
}

/* Checks the result of a call; after a failure there is no more waiting. */
static int heard(struct mx_nccl *n, ncclResult_t code, const char *what)
{
    const int rc = code_check(&n->library, code, what);
    if (rc < 0) n->broken = true;
    return rc;
}

int mx_nccl_open(const struct mx_nccl_library *library, struct mx_device *device, const ncclUniqueId *id, int32_t rank,
                 int32_t size, struct mx_nccl **out)
{
    int rc = 0;
    struct mx_native native;
    struct mx_nccl *n = mx_alloc(1, sizeof *n);
    *out = NULL;
    if (n == NULL) return MX_ERR_NO_MEMORY;
    n->library = *library;
    MX_TRY(mx_stream_create(device, "sums", &n->stream));
    MX_TRY(mx_native_get(n->stream, (struct mx_slice){0}, &native)); /* makes the device this thread's */
    MX_TRY(heard(n, library->ncclCommInitRank(&n->comm, size, *id, rank), "joining the other ranks"));
    *out = n;
    n = NULL;
out:
    mx_nccl_close(n);
    return rc;
}

void mx_nccl_close(struct mx_nccl *n)
{
    struct mx_native native;
    if (n == NULL) return;
    const struct mx_error error = *mx_error_last();
    if (n->comm != NULL && mx_native_get(n->stream, (struct mx_slice){0}, &native) < 0) n->broken = true;
    if (n->comm != NULL) (void)(n->broken ? n->library.ncclCommAbort(n->comm) : n->library.ncclCommDestroy(n->comm));
    for (int32_t i = 0; i < SUMS_MOST; i++) mx_event_release(n->sums[i].there);
    mx_stream_release(n->stream);
    mx_free(n);
    if (error.code < 0) (void)mx_error_restore(&error);
}

/* ---- sums ---- */

int mx_nccl_sum(struct mx_nccl *n, struct mx_slice floats, int64_t count, struct mx_event *ready)
{
    int rc = 0;
    struct mx_native native;
    if (n->finished) n->count = 0;
    n->finished = false;
    if (n->count == SUMS_MOST) MX_RAISE(MX_ERR_INTERNAL, "report this", "more than %d sums are under way", SUMS_MOST);
    struct sum *const sum = &n->sums[n->count];
    if (sum->there == NULL) MX_TRY(mx_event_create(mx_stream_device(n->stream), &sum->there));
    sum->ready = ready;
    sum->bytes = count * (int64_t)sizeof(float);
    if (ready != NULL) MX_TRY(mx_stream_wait(n->stream, ready));
    MX_TRY(mx_native_get(n->stream, floats, &native));
    MX_TRY(heard(n,
                 n->library.ncclAllReduce(native.memory, native.memory, (size_t)count, ncclFloat32, ncclSum, n->comm,
                                          native.stream),
                 "summing gradients"));
    MX_TRY(mx_event_record(sum->there, n->stream));
    n->count++;
out:
    if (rc < 0) n->broken = true;
    return rc;
}

int mx_nccl_ready(struct mx_nccl *n)
{
    int rc = 0;
    for (int32_t i = 0; i < n->count && !n->finished; i++)
        if (n->sums[i].ready != NULL) MX_TRY(mx_event_sync(n->sums[i].ready));
out:
    return rc;
}

int mx_nccl_finish(struct mx_nccl *n)
{
    int rc = 0;
    if (n->finished || n->count == 0) return 0;
    for (int looks = 1; !mx_event_done(n->sums[n->count - 1].there); looks++) {
        ncclResult_t code = ncclSuccess;
        if (looks % LOOK_ERRORS == 0) {
            MX_TRY(heard(n, n->library.ncclCommGetAsyncError(n->comm, &code), "asking for its state"));
            if (code != ncclInProgress) MX_TRY(heard(n, code, "summing gradients"));
        }
        mx_clock_sleep_ns(LOOK_NS);
    }
    n->finished = true;
    MX_TRY(mx_stream_sync(n->stream)); /* done already; but events of a lost device are complete, too */
out:
    if (rc < 0) n->broken = true;
    return rc;
}

int32_t mx_nccl_count(const struct mx_nccl *n)
{
    return n->finished ? n->count : 0;
}

struct mx_nccl_span mx_nccl_span(const struct mx_nccl *n, int32_t number)
{
    const struct sum *const sum = &n->sums[number];
    const uint64_t ready_ns = sum->ready != NULL ? mx_event_time_ns(sum->ready) : 0;
    const uint64_t before_ns = number > 0 ? mx_event_time_ns(n->sums[number - 1].there) : 0;
    struct mx_nccl_span span = {.begin_ns = ready_ns > before_ns ? ready_ns : before_ns,
                                .end_ns = mx_event_time_ns(sum->there),
                                .bytes = sum->bytes};
    if (span.begin_ns == 0 || span.begin_ns > span.end_ns) span.begin_ns = span.end_ns;
    return span;
}
