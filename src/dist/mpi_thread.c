/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The thread that makes all MPI calls, see mpi_internal.h.
 *
 * MPI's own waiting spins and takes a whole core, which here belongs to a device. So the thread never waits inside MPI:
 * it polls everything that is running and then sleeps, briefly while the trainer waits for it, longer while a device
 * still computes, and until it is woken when there is nothing to do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "dist/launch.h"
#include "dist/mpi_internal.h"

#define PAUSE_IDLE_NS   UINT64_C(50000000)
#define PAUSE_CALL_NS   UINT64_C(20000) /* while the trainer waits, for the first CALL_SHORT_NS */
#define CALL_SHORT_NS   UINT64_C(5000000)
#define PAUSE_LONG_NS   UINT64_C(500000)
#define BUSY_NS         UINT64_C(15000)
#define WATCH_NS        UINT64_C(50000000) /* between two checks of the other ranks: each call of MPI costs microseconds */
#define BROADCAST_BYTES ((size_t)64 << 20) /* of one message */

void mx_mpi_check(struct mx_dist *d, int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    struct mx_mpi_failure f = {.rank = d->comm.rank, .code = MX_ERR_IO};
    if (code == MPI_SUCCESS) return;
    MPI_Error_string(code, text, &length);
    snprintf(f.message, sizeof f.message, "%s failed: %.300s", what, text);
    snprintf(f.hint, sizeof f.hint,
             "check the network between the machines; if the run has a checkpoint, it is intact, and '--resume RUN' "
             "continues from it");
    mx_mpi_end(d, &f);
}

/* ---- start ---- */

/* A launcher may show each rank only its own device, which is then always number 0. */
static uint64_t devices_hash(void)
{
    static const char *const variables[] = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
                                            "ZE_AFFINITY_MASK"};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *const text = getenv(variables[i]);
        if (text != NULL) hash = XXH3_64bits_withSeed(text, strlen(text), hash + i + 1);
    }
    return hash;
}

/* What the others must know of this process. */
static void member_fill(struct mx_mpi_member *own, uint64_t cores)
{
    char *text = NULL;
    size_t bytes = 0;
    struct stat space;
    *own = (struct mx_mpi_member){.pid = getpid(), .cores = cores, .devices = devices_hash()};
    if (gethostname(own->host, sizeof own->host - 1) != 0) snprintf(own->host, sizeof own->host, "unknown");
    if (mx_file_read("/proc/sys/kernel/random/boot_id", 4096, &text, &bytes) == 0)
        snprintf(own->machine, sizeof own->machine, "%.*s", (int)strcspn(text, "\n"), text);
    mx_free(text);
    if (stat("/proc/self/ns/pid", &space) == 0) own->processes = (uint64_t)space.st_ino;
    mx_error_clear();
}

/* The launcher and the library must agree on how many there are; with another library's launcher each is alone. */
static int size_check(int size)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    struct mx_launch launch;
    if (!mx_launch_find(&launch) || launch.size == size) return 0;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0';
    return MX_FAIL(
        MX_ERR_UNSUPPORTED,
        "use the mpirun of that library (mpirun.openmpi, mpiexec.mpich), or 'srun --mpi=pmix' or '--mpi=pmi2'",
        "%s started %d processes, but %.64s, which this program was built with, sees %d", launch.launcher,
        (int)launch.size, version, size);
}

static int library_open(struct mx_dist *d)
{
    int rc = 0, provided = 0, rank = 0, size = 0;
    struct mx_mpi_member own;
    /* All calls come from this thread: it is MPI's main thread. */
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS || provided < MPI_THREAD_FUNNELED)
        MX_RAISE(MX_ERR_UNSUPPORTED, "use a build of MPI with threads", "MPI cannot be started together with threads");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    d->comm.rank = rank;
    d->comm.size = size;
    MX_TRY(size_check(size));
    MPI_Comm_dup(MPI_COMM_WORLD, &d->world);
    MPI_Comm_dup(MPI_COMM_WORLD, &d->floats);
    MPI_Comm_dup(MPI_COMM_WORLD, &d->control);
    MPI_Comm_set_errhandler(d->world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(d->floats, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(d->control, MPI_ERRORS_RETURN);
    d->members = mx_alloc((size_t)size, sizeof *d->members);
    if (d->members == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    member_fill(&own, d->cores_hash);
    MPI_Allgather(&own, (int)sizeof own, MPI_BYTE, d->members, (int)sizeof own, MPI_BYTE, d->world);
    for (int32_t i = 0; i < size; i++) {
        const bool here = strcmp(d->members[i].machine, own.machine) == 0;
        int32_t earlier = 0; /* ranks of the same machine before */
        for (int32_t k = 0; k < i; k++) earlier += strcmp(d->members[k].machine, d->members[i].machine) == 0;
        d->hosts += earlier == 0;
        if (here && i < rank) d->local_rank++;
        if (here && i < rank && d->members[i].devices == own.devices) d->device_rank++;
        d->local_size += here;
    }
    MX_TRY(mx_mpi_sums_open(d));
    MX_TRY(mx_mpi_watch_open(d));
out:
    return rc;
}

/* ---- calls ---- */

/* Posts the library's part of the request, or of what is left of it. */
static void call_post(struct mx_dist *d)
{
    const struct mx_mpi_request *const r = &d->request;
    const size_t rest = r->count - d->call_at, bytes = rest < BROADCAST_BYTES ? rest : BROADCAST_BYTES;
    switch (r->call) {
    case MX_MPI_ADD:
        mx_mpi_check(d, MPI_Iallreduce(MPI_IN_PLACE, r->data, (int)r->count, MPI_DOUBLE, MPI_SUM, d->world, &d->call),
                     "adding up");
        break;
    case MX_MPI_BROADCAST:
        mx_mpi_check(d, MPI_Ibcast((char *)r->data + d->call_at, (int)bytes, MPI_BYTE, r->root, d->world, &d->call),
                     "a broadcast");
        d->call_at += bytes;
        break;
    case MX_MPI_BARRIER:
    case MX_MPI_CLOSE:
        mx_mpi_check(d, MPI_Ibarrier(d->world, &d->call), "waiting for all ranks");
        break;
    case MX_MPI_NONE:
    case MX_MPI_FAIL:
        break;
    }
}

/* What the trainer's thread said about its own failure. */
static void call_fail(struct mx_dist *d)
{
    struct mx_mpi_failure f = {.rank = d->comm.rank, .code = d->error.code};
    memcpy(f.message, d->error.message, sizeof f.message);
    memcpy(f.hint, d->error.hint, sizeof f.hint);
    mx_mpi_end(d, &f);
}

/* Polls the request once; true: something happened. */
static bool call_run(struct mx_dist *d)
{
    int complete = 0;
    pthread_mutex_lock(&d->lock);
    const bool asked = d->asked;
    pthread_mutex_unlock(&d->lock);
    if (!asked) return false;
    if (d->call_ns == 0) {
        d->call_ns = mx_clock_ns();
        d->call_at = 0;
        if (d->request.call == MX_MPI_FAIL) call_fail(d);
        call_post(d);
        return true;
    }
    mx_mpi_check(d, MPI_Test(&d->call, &complete, MPI_STATUS_IGNORE), "waiting for the other ranks");
    if (!complete) return false;
    if (d->request.call == MX_MPI_BROADCAST && d->call_at < d->request.count) {
        call_post(d);
        return true;
    }
    d->call_ns = 0;
    if (d->request.call == MX_MPI_CLOSE) d->closing = true;
    pthread_mutex_lock(&d->lock);
    d->asked = false;
    d->rc = 0;
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
    return true;
}

static uint64_t pause_of(const struct mx_dist *d)
{
    uint64_t pause_ns = mx_mpi_sums_pause(d);
    if (d->call_ns > 0) {
        const uint64_t own_ns = mx_clock_ns() - d->call_ns < CALL_SHORT_NS ? PAUSE_CALL_NS : PAUSE_LONG_NS;
        if (own_ns < pause_ns) pause_ns = own_ns;
    }
    return pause_ns < PAUSE_IDLE_NS ? pause_ns : PAUSE_IDLE_NS;
}

void *mx_mpi_thread(void *context)
{
    struct mx_dist *const d = context;
    (void)prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul); /* short sleeps are short */
    const int rc = library_open(d);
    pthread_mutex_lock(&d->lock);
    d->opened = true;
    d->rc = rc;
    if (rc < 0) d->error = *mx_error_last();
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
    while (rc == 0 && !d->closing) {
        const uint64_t begin_ns = mx_clock_ns();
        const bool called = call_run(d), summed = mx_mpi_sums_run(d);
        /* A poll that took this long has moved bytes, though no message is complete: there may be more. */
        const bool busy = mx_clock_ns() - begin_ns > BUSY_NS;
        if (begin_ns - d->watch.checked_ns >= WATCH_NS) mx_mpi_watch_run(d);
        if (called || summed) d->idle_looks = 0;
        if (called || summed || busy) continue;
        d->idle_looks++;
        mx_mpi_watch_sleep(d, pause_of(d));
    }
    if (rc == 0) {
        mx_mpi_watch_close(d);
        mx_mpi_sums_close(d);
        MPI_Comm_free(&d->floats);
        MPI_Comm_free(&d->control);
        MPI_Comm_free(&d->world);
    }
    int running = 0;
    MPI_Initialized(&running);
    if (running) MPI_Finalize();
    return NULL;
}
