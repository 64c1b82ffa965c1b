/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Start and end of the ranks, and the calls of the comm as the trainer makes them: each passes its request to the
 * thread (mpi_thread.c) and waits. See mpi_internal.h.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/thread/pool.h"
#include "dist/launch.h"
#include "dist/mpi_internal.h"

#define PROCESSES_LINE 8 /* processes that are logged in one line */

static void wake(struct mx_dist *d)
{
    const uint64_t one = 1;
    (void)!write(d->wake, &one, sizeof one);
}

/* ---- calls ---- */

static uint64_t thread_ns(const struct mx_dist *d)
{
    struct timespec time = {0};
    (void)clock_gettime(d->clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Around everything that waits: what the thread takes of a core in between, it takes from the training. */
static void rest_begin(struct mx_dist *d)
{
    atomic_fetch_add(&d->ticks, 1);
    d->carried_ns += thread_ns(d) - d->clock_ns;
}

static void rest_end(struct mx_dist *d)
{
    atomic_store(&d->waiting, false);
    atomic_fetch_add(&d->ticks, 1);
    d->clock_ns = thread_ns(d);
}

static int request_send(struct mx_dist *d, struct mx_mpi_request request)
{
    rest_begin(d);
    atomic_store(&d->waiting, true);
    pthread_mutex_lock(&d->lock);
    d->request = request;
    d->asked = true;
    wake(d);
    while (d->asked) pthread_cond_wait(&d->changed, &d->lock);
    const int rc = d->rc;
    pthread_mutex_unlock(&d->lock);
    rest_end(d);
    return rc;
}

static int call_sum_begin(struct mx_comm *comm, struct mx_slice floats, int64_t count, struct mx_event *ready)
{
    int rc = 0;
    struct mx_dist *const d = (struct mx_dist *)(void *)comm;
    atomic_fetch_add(&d->ticks, 1);
    if (d->nccl != NULL) return mx_mpi_nccl_begin(d, floats, count, ready);
    pthread_mutex_lock(&d->lock);
    const bool lane_free = d->begun - d->done < MX_MPI_LANES; /* otherwise the thread comes to it by itself */
    if (d->begun - d->done == MX_MPI_SUMS)
        rc = MX_FAIL(MX_ERR_INTERNAL, "report this", "more than %d sums are under way", MX_MPI_SUMS);
    else
        d->sums[d->begun++ % MX_MPI_SUMS] = (struct mx_mpi_sum){.floats = floats, .count = count, .ready = ready};
    pthread_mutex_unlock(&d->lock);
    if (lane_free) wake(d);
    return rc;
}

static int call_sum_finish(struct mx_comm *comm, struct mx_stream *stream)
{
    struct mx_dist *const d = (struct mx_dist *)(void *)comm;
    (void)stream; /* whatever had to be copied back has been waited for by the thread */
    if (d->nccl != NULL) {
        atomic_fetch_add(&d->ticks, 1);
        return mx_mpi_nccl_finish(d);
    }
    rest_begin(d);
    pthread_mutex_lock(&d->lock);
    /* Until the last gradient is there, the other ranks wait for this one. */
    while (d->done < d->begun) {
        const struct mx_mpi_sum *const last = &d->sums[(d->begun - 1) % MX_MPI_SUMS];
        atomic_store(&d->waiting, last->ready == NULL || mx_event_done(last->ready));
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&d->changed, &d->lock, &until);
    }
    pthread_mutex_unlock(&d->lock);
    rest_end(d);
    return 0;
}

static int call_add(struct mx_comm *comm, double *values, int32_t count)
{
    return request_send((struct mx_dist *)(void *)comm,
                        (struct mx_mpi_request){.call = MX_MPI_ADD, .data = values, .count = (size_t)count});
}

static int call_broadcast(struct mx_comm *comm, void *bytes, size_t count, int32_t root)
{
    return request_send((struct mx_dist *)(void *)comm,
                        (struct mx_mpi_request){.call = MX_MPI_BROADCAST, .data = bytes, .count = count, .root = root});
}

static int call_barrier(struct mx_comm *comm)
{
    return request_send((struct mx_dist *)(void *)comm, (struct mx_mpi_request){.call = MX_MPI_BARRIER});
}

static void call_destroy(struct mx_comm *comm)
{
    mx_dist_close((struct mx_dist *)(void *)comm);
}

static const struct mx_comm_calls calls = {.sum_begin = call_sum_begin,
                                           .sum_finish = call_sum_finish,
                                           .add = call_add,
                                           .broadcast = call_broadcast,
                                           .barrier = call_barrier,
                                           .destroy = call_destroy};

/* ---- cores ---- */

/* Ranks of this machine that were left with the same cores divide them. */
static void cores_divide(const struct mx_dist *d)
{
    cpu_set_t all, part;
    int sharers = 0, place = 0, count = 0;
    const struct mx_mpi_member *const own = &d->members[d->comm.rank];
    for (int32_t i = 0; i < d->comm.size; i++) {
        const struct mx_mpi_member *const other = &d->members[i];
        if (strcmp(other->machine, own->machine) != 0 || other->cores != own->cores) continue;
        if (i < d->comm.rank) place++;
        sharers++;
    }
    if (sharers < 2 || sched_getaffinity(0, sizeof all, &all) != 0) return;
    const struct mx_launch_part mine = mx_launch_cores(CPU_COUNT(&all), place, sharers);
    CPU_ZERO(&part);
    for (size_t core = 0; core < CPU_SETSIZE; core++) {
        if (!CPU_ISSET(core, &all)) continue;
        if (count >= mine.first && count < mine.first + mine.number) CPU_SET(core, &part);
        count++;
    }
    if (sched_setaffinity(0, sizeof part, &part) != 0 || pthread_setaffinity_np(d->thread, sizeof part, &part) != 0)
        mx_warn("the cores of this machine cannot be divided among its %d ranks: they will slow each other down",
                sharers);
}

static uint64_t cores_hash(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    (void)sched_getaffinity(0, sizeof set, &set);
    return XXH3_64bits(&set, sizeof set);
}

/* ---- life ---- */

const char *mx_dist_supported(void)
{
    static char version[64];
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length); /* may be called before MPI_Init */
    snprintf(version, sizeof version, "%.*s", (int)strcspn(text, ",\n"), text);
    for (char *at = version; *at != '\0'; at++)
        if (*at == '\t') *at = ' ';
    return version;
}

/* MPICH's mpiexec kills all ranks as soon as one is killed, so no rank can report which one it was. mpiexec names
 * the process; this log line maps processes to ranks. */
static void processes_log(const struct mx_dist *d)
{
    char line[PROCESSES_LINE * (MX_DIST_HOST_BYTES + 40)];
    if (d->comm.rank != 0 || strstr(mx_dist_supported(), "MPICH") == NULL) return;
    for (int32_t first = 0; first < d->comm.size; first += PROCESSES_LINE) {
        size_t used = 0;
        for (int32_t i = first; i < d->comm.size && i < first + PROCESSES_LINE; i++)
            used += (size_t)snprintf(line + used, sizeof line - used, "%srank %d is %lld on %s", i > first ? ", " : "",
                                     (int)i, (long long)d->members[i].pid, d->members[i].host);
        mx_info("processes: %s", line);
    }
}

/* Nothing that MPI knows of may be freed while it is running: it ends first. */
static void dist_release(struct mx_dist *d)
{
    if (d->wake >= 0) close(d->wake);
    pthread_mutex_destroy(&d->lock);
    pthread_cond_destroy(&d->changed);
    mx_free(d->members);
    mx_free(d->spans);
    mx_free(d);
}

int mx_mpi_open(const struct mx_dist_options *options, struct mx_dist **out)
{
    int rc = 0;
    bool started = false;
    struct mx_dist *d = mx_alloc(1, sizeof *d);
    *out = NULL;
    if (d == NULL) return MX_ERR_NO_MEMORY;
    d->comm = (struct mx_comm){.calls = &calls, .size = 1};
    d->options = *options;
    d->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->changed, NULL);
    d->cores_hash = cores_hash();
    d->spans = mx_alloc(options->spans + 1, sizeof *d->spans);
    if (d->spans == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    if (d->wake < 0) MX_RAISE(MX_ERR_IO, "raise the limit of open files", "no file descriptor is left");
    atomic_store(&d->waiting, true); /* until it is open */
    MX_TRY(mx_thread_start(&d->thread, "ranks", -1, mx_mpi_thread, d));
    started = true;
    pthread_mutex_lock(&d->lock);
    while (!d->opened) pthread_cond_wait(&d->changed, &d->lock);
    rc = d->rc < 0 ? mx_error_restore(&d->error) : 0;
    pthread_mutex_unlock(&d->lock);
    if (rc < 0) goto out;
    (void)pthread_getcpuclockid(d->thread, &d->clock); /* the thread lives: it cannot fail */
    rest_end(d);
    if (options->divide_cores) cores_divide(d);
    processes_log(d);
    *out = d;
    d = NULL;
out:
    if (d != NULL && started) pthread_join(d->thread, NULL);
    if (d != NULL) dist_release(d);
    return rc;
}

void mx_dist_close(struct mx_dist *d)
{
    if (d == NULL) return;
    mx_dist_device_release(d);
    (void)request_send(d, (struct mx_mpi_request){.call = MX_MPI_CLOSE});
    pthread_join(d->thread, NULL);
    dist_release(d);
}

int mx_dist_fail(struct mx_dist *d, int code)
{
    if (d == NULL || code >= 0) return code;
    const struct mx_error error = *mx_error_last();
    pthread_mutex_lock(&d->lock);
    d->error = error;
    pthread_mutex_unlock(&d->lock);
    return request_send(d, (struct mx_mpi_request){.call = MX_MPI_FAIL}); /* never comes back */
}

/* ---- questions ---- */

int32_t mx_dist_local_rank(const struct mx_dist *d)
{
    return d != NULL ? d->local_rank : 0;
}

int32_t mx_dist_device_rank(const struct mx_dist *d)
{
    return d != NULL ? d->device_rank : 0;
}

int32_t mx_dist_local_size(const struct mx_dist *d)
{
    return d != NULL ? d->local_size : 1;
}

int32_t mx_dist_hosts(const struct mx_dist *d)
{
    return d != NULL ? d->hosts : 1;
}

const char *mx_dist_host(const struct mx_dist *d, int32_t rank)
{
    return d != NULL ? d->members[rank].host : "localhost";
}

void mx_dist_tick(struct mx_dist *d)
{
    if (d != NULL) atomic_fetch_add(&d->ticks, 1);
}

uint64_t mx_dist_carried_ns(const struct mx_dist *d)
{
    return d != NULL ? d->carried_ns : 0;
}

uint32_t mx_dist_spans(struct mx_dist *d, struct mx_dist_span *out, uint32_t count)
{
    if (d == NULL) return 0;
    pthread_mutex_lock(&d->lock);
    const uint64_t kept = d->span_count < d->options.spans ? d->span_count : d->options.spans;
    const uint64_t some = kept < count ? kept : count;
    for (uint64_t i = 0; i < some; i++) out[i] = d->spans[(d->span_count - some + i) % d->options.spans];
    pthread_mutex_unlock(&d->lock);
    return (uint32_t)some;
}
