/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checks which ranks are alive, see dist.h.
 *
 * Three kinds of checks:
 *
 *     processes   the first rank of a machine watches all others there, the second one the first: the kernel wakes the
 *                 thread when a process ends, however it ended
 *     beats       each rank sends a number to the next one every BEAT_NS; silence of MX_DIST_SILENCE_NS (or of the
 *                 rank's timeout, if that is less) means that the process or its machine is gone or stopped
 *     progress    each rank watches its own trainer: no tick for the timeout, while it does not wait for the others,
 *                 means that it hangs
 *
 * Rank 0 logs it, so that there is one message and the log of the run has it. A rank that finds a failure sends
 * it to rank 0 and waits until rank 0 has received it; if that does not happen, or rank 0 itself is missing, the finder
 * logs it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "dist/mpi_internal.h"

#define TAG_BEAT    1
#define TAG_FAILURE 2
#define BEAT_NS     UINT64_C(500000000)
#define GAP_NS      UINT64_C(2000000000) /* between two checks: after a longer gap, this process itself was stopped */
#define RECEIVE_NS  UINT64_C(3000000000) /* for rank 0 to receive a failure */
#define RELAY_NS    UINT64_C(300000000)  /* for all other ranks to receive it from rank 0 */
#define END_NS      UINT64_C(6000000000) /* for rank 0 to end this process after that */
#define MOMENT_NS   UINT64_C(1000000)

static int32_t before(const struct mx_dist *d)
{
    return (d->comm.rank + d->comm.size - 1) % d->comm.size;
}

static uint64_t timeout_ns(const struct mx_dist *d)
{
    return (uint64_t)(d->options.timeout_s * 1e9);
}

/* ---- the end ---- */

/* Logs the failure of a rank, with its name. */
static void failure_log(const struct mx_dist *d, const struct mx_mpi_failure *f)
{
    mx_error_set(f->code, __FILE__, __LINE__, f->hint[0] != '\0' ? f->hint : NULL, "rank %d on %s: %s", (int)f->rank,
                 d->members[f->rank].host, f->message);
    mx_log_error();
}

/* Sends a failure to ranks [from, to) and waits until all have received it, or for that long. Nothing here may fail in turn.
 */
static bool delivered(struct mx_dist *d, const struct mx_mpi_failure *f, int32_t from, int32_t to, uint64_t most_ns)
{
    int complete = 0, count = 0;
    const uint64_t begin_ns = mx_clock_ns();
    MPI_Request *const requests = mx_alloc((size_t)(to - from), sizeof(MPI_Request));
    if (requests == NULL) return false;
    for (int32_t r = from; r < to; r++)
        if (r != d->comm.rank &&
            MPI_Issend(f, (int)sizeof *f, MPI_BYTE, r, TAG_FAILURE, d->control, &requests[count]) == MPI_SUCCESS)
            count++;
    while (!complete && mx_clock_ns() - begin_ns < most_ns) {
        if (MPI_Testall(count, requests, &complete, MPI_STATUSES_IGNORE) != MPI_SUCCESS) break;
        if (!complete) mx_clock_sleep_ns(MOMENT_NS);
    }
    return complete != 0; /* what is under way still uses the requests: they stay until the process ends */
}

void mx_mpi_end(struct mx_dist *d, const struct mx_mpi_failure *f)
{
    static struct mx_mpi_failure sent; /* outlives whatever still sends it */
    if (f->logged || (d->comm.rank != 0 && f->rank != 0 && delivered(d, f, 0, 1, RECEIVE_NS))) {
        mx_clock_sleep_ns(END_NS); /* the rank that logs it ends this process, too */
    } else {
        failure_log(d, f);
        sent = *f;
        sent.logged = 1;
        (void)delivered(d, &sent, 0, d->comm.size, RELAY_NS);
    }
    (void)MPI_Abort(MPI_COMM_WORLD, mx_error_exit_code(f->code));
    for (;;) mx_clock_sleep_ns(END_NS);
}

__attribute__((format(printf, 4, 5), noreturn)) static void lost(struct mx_dist *d, int32_t rank, int code,
                                                                 const char *fmt, ...)
{
    va_list arguments;
    struct mx_mpi_failure f = {.rank = rank, .code = code};
    va_start(arguments, fmt);
    vsnprintf(f.message, sizeof f.message, fmt, arguments);
    va_end(arguments);
    snprintf(f.hint, sizeof f.hint,
             "all ranks have ended; if the run has a checkpoint, it is intact, and the same command with '--resume "
             "RUN' continues from it%s",
             code == MX_ERR_CLOSED ? "; the system log on that machine says whether it ran out of memory" : "");
    mx_mpi_end(d, &f);
}

/* ---- life ---- */

static bool same_machine(const struct mx_mpi_member *a, const struct mx_mpi_member *b)
{
    return strcmp(a->machine, b->machine) == 0 && a->processes == b->processes && a->machine[0] != '\0';
}

/* Which ranks of this machine this one watches. */
static bool watches(const struct mx_dist *d, int32_t other)
{
    int32_t local = 0; /* place of `other` on this machine */
    const int32_t own = d->comm.rank;
    if (other == own || !same_machine(&d->members[own], &d->members[other])) return false;
    for (int32_t i = 0; i < other; i++) local += same_machine(&d->members[own], &d->members[i]);
    return d->local_rank == 0 || (d->local_rank == 1 && local == 0);
}

int mx_mpi_watch_open(struct mx_dist *d)
{
    struct mx_mpi_watch *const w = &d->watch;
    w->fds = mx_alloc((size_t)d->comm.size + 1, sizeof *w->fds);
    w->ranks = mx_alloc((size_t)d->comm.size + 1, sizeof *w->ranks);
    if (w->fds == NULL || w->ranks == NULL) return MX_ERR_NO_MEMORY;
    w->fds[w->count++] = (struct pollfd){.fd = d->wake, .events = POLLIN};
    for (int32_t i = 0; i < d->comm.size; i++) {
        if (!watches(d, i)) continue;
        /* Where the kernel cannot, there are still beats. */
        const int fd = (int)syscall(SYS_pidfd_open, (pid_t)d->members[i].pid, 0u);
        if (fd < 0 && errno != ESRCH) continue;
        if (fd < 0) lost(d, i, MX_ERR_CLOSED, "its process has ended without a word: killed, or out of memory");
        w->ranks[w->count] = i;
        w->fds[w->count++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    w->beat_out = MPI_REQUEST_NULL;
    w->received_ns = w->checked_ns = w->progress_ns = mx_clock_ns();
    mx_mpi_check(d, MPI_Irecv(&w->beat_received, 1, MPI_INT32_T, before(d), TAG_BEAT, d->control, &w->beat_in),
                 "watching the ranks");
    mx_mpi_check(d,
                 MPI_Irecv(&w->failure, (int)sizeof w->failure, MPI_BYTE, MPI_ANY_SOURCE, TAG_FAILURE, d->control,
                           &w->failure_in),
                 "watching the ranks");
    return 0;
}

void mx_mpi_watch_close(struct mx_dist *d)
{
    struct mx_mpi_watch *const w = &d->watch;
    MPI_Request *const open[] = {&w->beat_in, &w->failure_in};
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
        (void)MPI_Cancel(open[i]);
        (void)MPI_Wait(open[i], MPI_STATUS_IGNORE);
    }
    (void)MPI_Wait(&w->beat_out, MPI_STATUS_IGNORE);
    for (nfds_t i = 1; i < w->count; i++) close(w->fds[i].fd);
    mx_free(w->fds);
    mx_free(w->ranks);
}

/* ---- looking ---- */

static void beats_run(struct mx_dist *d, uint64_t now_ns)
{
    int complete = 0;
    struct mx_mpi_watch *const w = &d->watch;
    const uint64_t limit_ns = timeout_ns(d) < MX_DIST_SILENCE_NS ? timeout_ns(d) : MX_DIST_SILENCE_NS;
    if (now_ns - w->checked_ns > GAP_NS) w->received_ns = w->progress_ns = now_ns;
    w->checked_ns = now_ns;
    mx_mpi_check(d, MPI_Test(&w->beat_in, &complete, MPI_STATUS_IGNORE), "watching the ranks");
    if (complete) {
        w->received_ns = now_ns;
        mx_mpi_check(d, MPI_Irecv(&w->beat_received, 1, MPI_INT32_T, before(d), TAG_BEAT, d->control, &w->beat_in),
                     "watching the ranks");
    }
    if (now_ns - w->received_ns > limit_ns)
        lost(d, before(d), MX_ERR_TIMEOUT,
             "nothing has been heard of it for %.0f s: it or its machine is gone or stopped", (double)limit_ns * 1e-9);
    if (now_ns - w->sent_ns < BEAT_NS) return;
    mx_mpi_check(d, MPI_Test(&w->beat_out, &complete, MPI_STATUS_IGNORE), "watching the ranks");
    if (!complete) return; /* the last one has not gone yet */
    w->sent_ns = now_ns;
    w->beat_sent++;
    mx_mpi_check(
        d,
        MPI_Isend(&w->beat_sent, 1, MPI_INT32_T, (d->comm.rank + 1) % d->comm.size, TAG_BEAT, d->control, &w->beat_out),
        "watching the ranks");
}

static void progress_check(struct mx_dist *d, uint64_t now_ns)
{
    struct mx_mpi_watch *const w = &d->watch;
    const uint64_t ticks = atomic_load(&d->ticks);
    if (ticks != w->ticks || atomic_load(&d->waiting)) {
        w->ticks = ticks;
        w->progress_ns = now_ns;
    }
    if (now_ns - w->progress_ns > timeout_ns(d))
        lost(d, d->comm.rank, MX_ERR_TIMEOUT, "no progress for %g s ('--rank-timeout')", d->options.timeout_s);
}

void mx_mpi_watch_run(struct mx_dist *d)
{
    int complete = 0;
    struct mx_mpi_watch *const w = &d->watch;
    if (d->closing) return;
    mx_mpi_check(d, MPI_Test(&w->failure_in, &complete, MPI_STATUS_IGNORE), "watching the ranks");
    if (complete) mx_mpi_end(d, &w->failure);
    const uint64_t now_ns = mx_clock_ns();
    beats_run(d, now_ns);
    progress_check(d, now_ns);
}

/* A rank that ends the run exits only after the others know why: its message, if any, has already arrived. */
static void ended(struct mx_dist *d, int32_t rank)
{
    int complete = 0;
    (void)MPI_Test(&d->watch.failure_in, &complete, MPI_STATUS_IGNORE);
    if (complete) mx_mpi_end(d, &d->watch.failure);
    lost(d, rank, MX_ERR_CLOSED, "its process has ended without a word: killed, or out of memory");
}

void mx_mpi_watch_sleep(struct mx_dist *d, uint64_t ns)
{
    struct mx_mpi_watch *const w = &d->watch;
    const struct timespec time = mx_clock_timespec(ns);
    if (ppoll(w->fds, d->closing ? 1 : w->count, &time, NULL) <= 0) return;
    if (w->fds[0].revents != 0) {
        uint64_t times;
        (void)!read(d->wake, &times, sizeof times);
    }
    for (nfds_t i = 1; i < w->count && !d->closing; i++)
        if (w->fds[i].revents != 0) ended(d, w->ranks[i]);
}
