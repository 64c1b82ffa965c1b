/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Named, pinnable threads, a gang of workers that runs one function together, and the first error of several workers.
 *
 * mx_pool_run is fork–join: the calling thread is worker 0, the pool's own threads are workers
 * 1 … workers-1; it returns when all have returned from the function. Between calls the threads spin
 * briefly and then sleep, so back-to-back calls cost about a microsecond and an idle pool costs nothing.
 * Invariant: at most one thread at a time calls mx_pool_run on one pool (the pool's owner).
 */
#ifndef MX_BASE_POOL_H
#define MX_BASE_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "myxtts/error.h"

/* Starts a thread called `name` (cut to 15 characters), pinned to `core` (-1: not pinned). Join with pthread_join.
 * All signals except its own faults are blocked in it, so that handlers run on the main thread. */
int mx_thread_start(pthread_t *thread, const char *name, int core, void *(*run)(void *), void *context);
/* Pins the calling thread; -1 does nothing. */
int mx_thread_pin(int core);
/* Cores the calling thread may run on, ascending: those of the process, unless the thread has pinned itself. Writes up
 * to `capacity` of them and returns how many there are. */
int mx_thread_cores(int *cores, int capacity);

struct mx_pool;

struct mx_pool_options {
    const char *name; /* threads are called name/1, name/2 … */
    int workers;      /* worker 0, the caller, included; ≥ 1 */
    const int *cores; /* core of each worker, or NULL for unpinned; entry 0 is not used (the caller pins itself) */
    uint64_t spin_ns; /* how long an idle worker spins before it sleeps; 0: default 20 µs */
};

int mx_pool_create(const struct mx_pool_options *options, struct mx_pool **out);
void mx_pool_destroy(struct mx_pool *pool); /* joins the threads; NULL is fine */

/* Runs fn(context, worker) once on every worker and waits for all. Allocates nothing. */
void mx_pool_run(struct mx_pool *pool, void (*fn)(void *context, int worker), void *context);
/* Called by every worker inside a function run by mx_pool_run: returns when all workers have arrived. */
void mx_pool_barrier(struct mx_pool *pool);
/* Runs fn over [0, count) in chunks of at most `grain`, handed out dynamically over the workers. */
void mx_pool_for(struct mx_pool *pool, int64_t count, int64_t grain,
                 void (*fn)(void *context, int64_t begin, int64_t end, int worker), void *context);

/* The first error of several workers; all zero means that none has failed. It needs no lock: only the worker that sets
 * `failed` writes `error`, and it is read only when all workers have ended. */
struct mx_first_error {
    atomic_bool failed;
    struct mx_error error;
};

/* Called by a worker: keeps its current error, unless another worker failed first. */
void mx_first_error_keep(struct mx_first_error *first);
/* Called by a worker: whether any has failed, so that the others can stop. */
bool mx_first_error_failed(const struct mx_first_error *first);
/* When all workers have ended: makes the error current and returns its code; 0 if none has failed. */
int mx_first_error_raise(const struct mx_first_error *first);

#endif
