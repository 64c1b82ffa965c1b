/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Chooses what sums the gradients: NCCL (nccl.h) if the model of every rank is on a CUDA device and all have the same
 * NCCL, otherwise MPI. The ranks agree on it over MPI, which also carries NCCL's id from rank 0 to the others. The
 * choice is never silent: if CUDA devices are summed over MPI, one line names the rank that is the reason.
 *
 * The trainer's thread makes all NCCL calls, because some wait for the other ranks, and the MPI thread must keep
 * watching those: it ends this process when another rank is gone. While the trainer's thread waits for others it says
 * so (`waiting`), so that it is not mistaken for one that hangs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "device/native.h"
#include "dist/mpi_internal.h"

#define REASON_BYTES 512 /* as of an error */

/* What a rank sends to the others: one of these, or the version of its NCCL, which is greater. */
enum { NOT_CUDA, NOT_WANTED, MISSING, VERSION_LEAST = 1000 };

static bool way_is(const char *name)
{
    const char *const way = getenv("MYXTTS_SUMS");
    return way != NULL && strcmp(way, name) == 0;
}

/* What this rank has, and the reason if that is not NCCL. */
static int state_own(const struct mx_device *device, struct mx_nccl_library *library, char reason[REASON_BYTES])
{
    reason[0] = '\0';
    if (mx_native_kind(device) != MX_NATIVE_CUDA) {
        snprintf(reason, REASON_BYTES, "%s is not a CUDA device", mx_device_name(device));
        return NOT_CUDA;
    }
    if (way_is("ring") || way_is("library")) {
        snprintf(reason, REASON_BYTES, "MYXTTS_SUMS is %s", getenv("MYXTTS_SUMS"));
        return NOT_WANTED;
    }
    if (mx_nccl_load(library) < 0) {
        snprintf(reason, REASON_BYTES, "%s", mx_error_last()->message);
        mx_error_clear();
        return MISSING;
    }
    return library->version;
}

/* The first rank that rules NCCL out, with its reason; -1: there is none. All ranks agree. */
static int reason_find(struct mx_dist *d, const double *states, char reason[REASON_BYTES], int32_t *rank)
{
    char there[MX_NCCL_VERSION_BYTES], here[MX_NCCL_VERSION_BYTES];
    *rank = -1;
    for (int32_t i = 0; i < d->comm.size && *rank < 0; i++)
        if (states[i] < VERSION_LEAST) *rank = i;
    for (int32_t i = 1; i < d->comm.size && *rank < 0; i++) {
        if (states[i] == states[0]) continue;
        *rank = i;
        snprintf(reason, REASON_BYTES, "its NCCL is %s, that of rank 0 is %s", mx_nccl_version((int)states[i], there),
                 mx_nccl_version((int)states[0], here));
    }
    return *rank < 0 ? 0 : mx_comm_broadcast(&d->comm, reason, REASON_BYTES, *rank);
}

/* Without NCCL: an error where it was requested, a log message where it could be expected. */
static int instead(const struct mx_dist *d, const double *states, int32_t rank, const char *reason)
{
    bool cuda = false;
    for (int32_t i = 0; i < d->comm.size; i++) cuda = cuda || states[i] != NOT_CUDA;
    if (way_is("nccl"))
        return MX_FAIL(MX_ERR_UNSUPPORTED,
                       "give all ranks CUDA devices and the same NCCL (libnccl2), or unset MYXTTS_SUMS",
                       "NCCL cannot sum the gradients, as MYXTTS_SUMS=nccl asks for, because of rank %d on %s: %s",
                       (int)rank, d->members[rank].host, reason);
    if (!cuda) return 0;
    mx_log_write(states[rank] == NOT_WANTED ? MX_LOG_INFO : MX_LOG_WARN,
                 "gradients are summed by MPI, through the host, because of rank %d on %s: %s", (int)rank,
                 d->members[rank].host, reason);
    return 0;
}

int mx_dist_device_use(struct mx_dist *d, struct mx_device *device)
{
    int rc = 0;
    int32_t rank = -1;
    ncclUniqueId id = {{0}};
    struct mx_nccl_library library = {0};
    char reason[REASON_BYTES], version[MX_NCCL_VERSION_BYTES];
    if (d == NULL) return 0;
    double *const states = mx_alloc((size_t)d->comm.size, sizeof *states);
    if (states == NULL) return MX_ERR_NO_MEMORY;
    states[d->comm.rank] = state_own(device, &library, reason);
    MX_TRY(mx_comm_add(&d->comm, states, d->comm.size)); /* all others are 0 here: now each has those of all */
    MX_TRY(reason_find(d, states, reason, &rank));
    if (rank >= 0) {
        MX_TRY(instead(d, states, rank, reason));
        goto out;
    }
    if (d->comm.rank == 0) MX_TRY(mx_nccl_id(&library, &id));
    MX_TRY(mx_comm_broadcast(&d->comm, &id, sizeof id, 0));
    atomic_store(&d->waiting, true);
    rc = mx_nccl_open(&library, device, &id, d->comm.rank, d->comm.size, &d->nccl);
    atomic_store(&d->waiting, false);
    if (rc == 0) mx_info("gradients are summed by NCCL %s", mx_nccl_version(library.version, version));
out:
    mx_free(states);
    return rc;
}

void mx_dist_device_release(struct mx_dist *d)
{
    if (d == NULL) return;
    atomic_fetch_add(&d->ticks, 1);
    atomic_store(&d->waiting, true);
    mx_nccl_close(d->nccl);
    atomic_store(&d->waiting, false);
    d->nccl = NULL;
    mx_mpi_sums_release(d);
}

/* ---- sums ---- */

int mx_mpi_nccl_begin(struct mx_dist *d, struct mx_slice floats, int64_t count, struct mx_event *ready)
{
    atomic_store(&d->waiting, true); /* the first sums connect the ranks */
    const int rc = mx_nccl_sum(d->nccl, floats, count, ready);
    atomic_store(&d->waiting, false);
    return rc;
}

int mx_mpi_nccl_finish(struct mx_dist *d)
{
    int rc = 0;
    MX_TRY(mx_nccl_ready(d->nccl)); /* until here the other ranks wait for this one */
    atomic_fetch_add(&d->ticks, 1);
    atomic_store(&d->waiting, true);
    rc = mx_nccl_finish(d->nccl);
    atomic_store(&d->waiting, false);
    if (rc < 0 || d->options.spans == 0) goto out;
    pthread_mutex_lock(&d->lock);
    for (int32_t i = 0; i < mx_nccl_count(d->nccl); i++) {
        const struct mx_nccl_span span = mx_nccl_span(d->nccl, i);
        d->spans[d->span_count++ % d->options.spans] = (struct mx_dist_span){
            .number = d->nccl_sums++, .begin_ns = span.begin_ns, .end_ns = span.end_ns, .bytes = span.bytes};
    }
    pthread_mutex_unlock(&d->lock);
out:
    atomic_fetch_add(&d->ticks, 1);
    return rc;
}
