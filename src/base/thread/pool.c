/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Named, pinnable threads, and the fork–join worker pool; see pool.h.
 *
 * The pool is built from one primitive, the gate: a number that someone advances while others wait for it to change.
 * A waiter spins (back-to-back calls then cost no system call), yields a few times (the thread it waits for may need
 * this core) and then sleeps on a futex. When there are fewer cores than workers, spinning only delays the others, so
 * the pool yields at once.
 *
 * Memory: mx_pool_create takes one block; nothing is allocated after it.
 */
#include "base/thread/pool.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "myxtts/error.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORKERS_MAX     4096
#define SPIN_NS_DEFAULT UINT64_C(20000)
#define SPINS_PER_CLOCK 64 /* polls of the gate between two readings of the clock */
#define YIELDS          4
#define LINE_BYTES      64

/* ---- threads ---- */

/* 8,192 cores, the limit of the kernel. */
struct core_set {
    cpu_set_t words[8];
};

static int core_set_one(int core, struct core_set *set)
{
    CPU_ZERO_S(sizeof *set, set->words);
    if (core < 0 || (size_t)core >= 8 * sizeof *set) {
        return MX_FAIL(MX_ERR_ARGUMENT, "`nproc` prints how many cores there are", "core %d is out of range", core);
    }
    CPU_SET_S((size_t)core, sizeof *set, set->words);
    return 0;
}

static int pin_failed(int core, int error)
{
    return MX_FAIL(MX_ERR_ARGUMENT, "choose cores this process may use; `taskset -cp $$` prints them",
                   "cannot run a thread on core %d: %s", core, strerror(error));
}

int mx_thread_pin(int core)
{
    int rc = 0;
    struct core_set set;
    if (core == -1) return 0;
    MX_TRY(core_set_one(core, &set));
    const int error = pthread_setaffinity_np(pthread_self(), sizeof set, set.words);
    if (error) rc = pin_failed(core, error);
out:
    return rc;
}

int mx_thread_cores(int *cores, int capacity)
{
    struct core_set set;
    CPU_ZERO_S(sizeof set, set.words);
    if (sched_getaffinity(0, sizeof set, set.words) != 0) {
        return MX_FAIL(MX_ERR_UNSUPPORTED, NULL, "cannot read the cores of this process: %s", strerror(errno));
    }
    int count = 0;
    for (int core = 0; core < (int)(8 * sizeof set); core++) {
        if (!CPU_ISSET_S((size_t)core, sizeof set, set.words)) continue;
        if (count < capacity) cores[count] = core;
        count++;
    }
    return count;
}

/* Blocks, in the calling thread, the signals that a new thread is to inherit as blocked: all but those that a fault of
 * the thread itself raises and the profiler's. So a handler of Ctrl-C runs on the main thread and nowhere else. */
static void block_signals(sigset_t *old)
{
    sigset_t blocked;
    sigfillset(&blocked);
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, old);
}

int mx_thread_start(pthread_t *thread, const char *name, int core, void *(*run)(void *), void *context)
{
    int rc = 0;
    struct core_set set;
    sigset_t old_signals;
    pthread_attr_t attributes;
    if (core != -1 && (rc = core_set_one(core, &set)) < 0) return rc;
    int error = pthread_attr_init(&attributes);
    if (error == 0) {
        if (core != -1) error = pthread_attr_setaffinity_np(&attributes, sizeof set, set.words);
        if (error == 0) {
            block_signals(&old_signals);
            error = pthread_create(thread, &attributes, run, context);
            pthread_sigmask(SIG_SETMASK, &old_signals, NULL);
        }
        pthread_attr_destroy(&attributes);
    }
    if (error == EINVAL && core != -1) return pin_failed(core, error);
    if (error) {
        return MX_FAIL(MX_ERR_NO_MEMORY, "use fewer workers, or raise the limit of `ulimit -u`",
                       "cannot start thread \"%s\": %s", name, strerror(error));
    }
    char short_name[16]; /* the kernel's limit */
    snprintf(short_name, sizeof short_name, "%s", name);
    pthread_setname_np(*thread, short_name); /* a name helps in `top -H`; without it nothing is lost */
    return 0;
}

/* ---- gate ---- */

/* Invariant: `word` only changes by gate_advance. `sleepers` counts the threads between announcing that they will
 * sleep and having woken. No wake-up is lost: a waiter registers itself and then reads `word`; gate_advance changes
 * `word` and then reads `sleepers`. These four accesses are sequentially consistent, so either the waiter sees
 * the new number (and so does the kernel, which compares again before it sleeps) or the other sees the sleeper and
 * wakes it. */
struct gate {
    alignas(LINE_BYTES) _Atomic uint32_t word;
    _Atomic uint32_t sleepers;
};

static void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool gate_changed(struct gate *gate, uint32_t old)
{
    /* Acquire: what was written before the change is visible after it. */
    return atomic_load_explicit(&gate->word, memory_order_acquire) != old;
}

static void gate_advance(struct gate *gate)
{
    atomic_fetch_add_explicit(&gate->word, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&gate->sleepers, memory_order_seq_cst) > 0) {
        syscall(SYS_futex, &gate->word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    }
}

/* Returns when the number is no longer `old`. */
static void gate_wait(struct gate *gate, uint32_t old, uint64_t spin_ns)
{
    if (gate_changed(gate, old)) return;
    if (spin_ns > 0) {
        const uint64_t start_ns = mx_clock_ns();
        do {
            for (int i = 0; i < SPINS_PER_CLOCK; i++) {
                if (gate_changed(gate, old)) return;
                cpu_relax();
            }
        } while (mx_clock_ns() - start_ns < spin_ns);
    }
    for (int i = 0; i < YIELDS; i++) {
        sched_yield();
        if (gate_changed(gate, old)) return;
    }
    atomic_fetch_add_explicit(&gate->sleepers, 1, memory_order_seq_cst);
    while (atomic_load_explicit(&gate->word, memory_order_seq_cst) == old) {
        /* Returns at once if the number has changed; signals and stray wake-ups only go round the loop. */
        syscall(SYS_futex, &gate->word, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
    }
    atomic_fetch_sub_explicit(&gate->sleepers, 1, memory_order_relaxed);
}

/* ---- pool ---- */

struct pool_thread {
    struct mx_pool *pool;
    int worker;
    pthread_t thread;
};

/* Who may touch what: `fn`, `context` and `running` are written by the owner while no worker runs, that is before it
 * advances `start` and after it has seen `done` change; workers read them after they have seen `start` change.
 * fn NULL makes the workers end. `running` counts the pool's own threads that have not finished the current run; the
 * one that brings it to 0 advances `done`. `arrived` counts the workers at the current barrier; the last one sets it
 * back to 0 and then advances `barrier`, so no worker can arrive at the next barrier before it is 0. */
struct mx_pool {
    struct gate start, done, barrier;
    alignas(LINE_BYTES) _Atomic int running;
    alignas(LINE_BYTES) _Atomic int arrived;
    alignas(LINE_BYTES) void (*fn)(void *context, int worker);
    void *context;
    int workers, threads_started;
    uint64_t spin_ns; /* 0: yield at once */
    struct pool_thread threads[];
};

static void *pool_thread_run(void *argument)
{
    const struct pool_thread *self = argument;
    struct mx_pool *pool = self->pool;
    /* Every thread exists before the first run, and each run waits for all of them, so a thread sees every number
     * of the gate from 0 on and misses none. */
    for (uint32_t seen = 0;; seen++) {
        gate_wait(&pool->start, seen, pool->spin_ns);
        if (!pool->fn) return NULL;
        pool->fn(pool->context, self->worker);
        /* Release: what this worker wrote is visible to the owner. Acquire: the last one passes on what all wrote. */
        if (atomic_fetch_sub_explicit(&pool->running, 1, memory_order_acq_rel) == 1) gate_advance(&pool->done);
    }
}

/* Whether the workers have to share cores with each other. An unpinned worker may be anywhere the caller may be. */
static bool is_oversubscribed(const struct mx_pool_options *options)
{
    bool all_pinned = options->cores != NULL;
    for (int i = 1; all_pinned && i < options->workers; i++) {
        if (options->cores[i] == -1) all_pinned = false;
        for (int j = 1; j < i; j++) {
            if (options->cores[i] == options->cores[j] && options->cores[i] != -1) return true;
        }
    }
    return !all_pinned && mx_thread_cores(NULL, 0) < options->workers;
}

int mx_pool_create(const struct mx_pool_options *options, struct mx_pool **out)
{
    int rc = 0;
    const int workers = options->workers;
    const char *base_name = options->name ? options->name : "pool";
    *out = NULL;
    if (workers < 1 || workers > WORKERS_MAX) {
        return MX_FAIL(MX_ERR_ARGUMENT, "choose a number of workers from 1 to the number of cores",
                       "%d workers are out of range", workers);
    }
    struct mx_pool *pool =
        mx_alloc_aligned(sizeof *pool + (size_t)(workers - 1) * sizeof pool->threads[0], alignof(struct mx_pool));
    if (!pool) return MX_ERR_NO_MEMORY;
    pool->workers = workers;
    pool->spin_ns = options->spin_ns ? options->spin_ns : SPIN_NS_DEFAULT;
    if (is_oversubscribed(options)) pool->spin_ns = 0;
    for (int worker = 1; worker < workers; worker++) {
        struct pool_thread *thread = &pool->threads[worker - 1];
        *thread = (struct pool_thread){.pool = pool, .worker = worker};
        /* The number must survive the kernel's limit of 15 characters, so the name is cut first. */
        char number[12], name[16];
        const int digits = snprintf(number, sizeof number, "/%d", worker);
        snprintf(name, sizeof name, "%.*s%s", 15 - digits, base_name, number);
        MX_TRY(mx_thread_start(&thread->thread, name, options->cores ? options->cores[worker] : -1, pool_thread_run,
                               thread));
        pool->threads_started++;
    }
    *out = pool;
    pool = NULL;
out:
    mx_pool_destroy(pool);
    return rc;
}

void mx_pool_destroy(struct mx_pool *pool)
{
    if (!pool) return;
    pool->fn = NULL;
    gate_advance(&pool->start);
    for (int i = 0; i < pool->threads_started; i++) pthread_join(pool->threads[i].thread, NULL);
    mx_free(pool);
}

void mx_pool_run(struct mx_pool *pool, void (*fn)(void *context, int worker), void *context)
{
    if (pool->workers == 1) {
        fn(context, 0);
        return;
    }
    const uint32_t done =
        atomic_load_explicit(&pool->done.word, memory_order_relaxed); /* no worker runs: it is constant */
    pool->fn = fn;
    pool->context = context;
    atomic_store_explicit(&pool->running, pool->workers - 1, memory_order_relaxed);
    gate_advance(&pool->start);
    fn(context, 0);
    gate_wait(&pool->done, done, pool->spin_ns);
}

void mx_pool_barrier(struct mx_pool *pool)
{
    if (pool->workers == 1) return;
    /* The number cannot change before this worker has arrived, so it may be read first. */
    const uint32_t phase = atomic_load_explicit(&pool->barrier.word, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&pool->arrived, 1, memory_order_acq_rel) + 1 == pool->workers) {
        atomic_store_explicit(&pool->arrived, 0, memory_order_relaxed);
        gate_advance(&pool->barrier);
    } else {
        gate_wait(&pool->barrier, phase, pool->spin_ns);
    }
}

/* One mx_pool_for; lives on the caller's stack. */
struct range {
    int64_t count, grain, chunks;
    void (*fn)(void *context, int64_t begin, int64_t end, int worker);
    void *context;
    _Atomic int64_t next; /* chunk to hand out; only a ticket, so relaxed order is enough */
};

static void range_run(void *argument, int worker)
{
    struct range *range = argument;
    for (;;) {
        const int64_t chunk = atomic_fetch_add_explicit(&range->next, 1, memory_order_relaxed);
        if (chunk >= range->chunks) return;
        const int64_t begin = chunk * range->grain;
        const int64_t end = range->count - begin > range->grain ? begin + range->grain : range->count;
        range->fn(range->context, begin, end, worker);
    }
}

void mx_pool_for(struct mx_pool *pool, int64_t count, int64_t grain,
                 void (*fn)(void *context, int64_t begin, int64_t end, int worker), void *context)
{
    if (count <= 0) return;
    if (grain < 1) grain = 1;
    struct range range = {
        .count = count, .grain = grain, .chunks = (count - 1) / grain + 1, .fn = fn, .context = context};
    if (range.chunks == 1) {
        fn(context, 0, count, 0); /* not worth waking anyone */
    } else {
        mx_pool_run(pool, range_run, &range);
    }
}

/* ---- errors ---- */

void mx_first_error_keep(struct mx_first_error *first)
{
    if (!atomic_exchange(&first->failed, true)) first->error = *mx_error_last();
}

bool mx_first_error_failed(const struct mx_first_error *first)
{
    return atomic_load_explicit(&first->failed, memory_order_relaxed);
}

int mx_first_error_raise(const struct mx_first_error *first)
{
    return atomic_load(&first->failed) ? mx_error_restore(&first->error) : 0;
}
