/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The asynchronous runtime of a CPU device: streams, and the leader thread that executes them.
 *
 * A stream is a ring of command records. The thread that uses the stream fills in a record and returns; the device's
 * leader thread takes runnable streams in turn, one command at a time, and runs it over the device's gang: the leader,
 * pinned to the first core, is worker 0 of a pool whose threads are pinned to the other cores. So a device uses its own
 * cores only, and two devices never share a thread. A command that waits for an event blocks its stream, never the
 * leader (cpu_event.c).
 *
 * Memory: a device takes the scratch of its gang when it opens (charged to "cpu-scratch"), a stream its ring when it is
 * created; submitting takes nothing. A submit to a full ring waits until there is room.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "device/cpu/cpu.h"
#include "myxtts/budget.h"

#include <stdalign.h>
#include <string.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#define RING            1024                /* commands a stream holds */
#define GANG_COPY_BYTES ((size_t)256 << 10) /* copies from here on are split over the gang */
#define COPY_GRAIN      4096
#define SPIN_NS         UINT64_C(5000) /* less than falling asleep and waking up costs */
#define SPINS_PER_CLOCK 32
#define SCRATCH_OWNER   "cpu-scratch"

enum command_kind { COMMAND_OP, COMMAND_COPY, COMMAND_RECORD, COMMAND_WAIT };

struct command {
    enum command_kind kind;
    enum mx_op op;
    union {
        struct {
            void *to;
            const void *from;
            size_t bytes;
        } copy;
        struct {
            struct mx_cpu_event *event; /* counted */
            uint64_t generation;
        } event;
        alignas(16) unsigned char args[MX_OP_ARGS_MAX];
    };
};

/* Records tail … head-1 (modulo RING) are queued. head, tail, blocked and wake_at belong to device->lock; the
 * submitter, who alone writes head, also reads it without. known_tail is the submitter's: tail as it saw it last. The
 * records themselves need no lock: the submitter alone writes the record at head, before it advances head; the leader
 * alone reads the one at tail, before it advances tail; both advance under the lock, and head - tail ≤ RING. */
struct mx_cpu_stream {
    struct mx_stream *stream;
    struct mx_cpu_device *device;
    struct command *ring;
    uint64_t head, tail;
    bool blocked; /* the first command waits for an event; its waiter hangs in the event's list */
    uint64_t wake_at, known_tail;
    pthread_cond_t moved; /* for host threads: tail reached wake_at */
    struct mx_cpu_waiter waiter;
    struct mx_cpu_stream *prev, *next; /* circular list of the device's streams */
};

/* Lock order: an event's lock may be held when device->lock is taken (to block or unblock a stream), never the
 * other way round; no two devices' locks are held together. The lock protects: the list of streams and `turn`, the four
 * members of each stream named there, `asleep` and `stop`.
 *
 * No wake-up is lost: the leader looks for a runnable stream and goes to sleep without releasing the lock in between;
 * everything that can make a stream runnable (a new command, an unblocking) happens under the lock and signals
 * `work` if the leader is asleep. While it only spins it has released the lock; then it watches `changes`, which the
 * same places count up, and looks again under the lock before it sleeps.
 *
 * The leader touches a stream outside the lock only while that stream has a queued command, and a stream is released
 * only when it has none. */
struct mx_cpu_device {
    const struct mx_cpu_state *state;
    struct mx_pool *pool;
    int workers;
    void *scratch; /* MX_CPU_SCRATCH_BYTES for each worker, then MX_CPU_SHARED_BYTES */
    size_t scratch_bytes;
    atomic_llong tickets[MX_CPU_TICKETS];
    bool spins; /* spinning is useful: the thread we wait for has another core */
    pthread_t leader;
    pthread_mutex_t lock;
    pthread_cond_t work;        /* for the leader */
    struct mx_cpu_stream *turn; /* the stream to look at first; NULL: there is none */
    atomic_uint changes;
    bool asleep, stop;
};

/* ---- the leader ---- */

/* One command on its way through the gang. */
struct job {
    struct mx_cpu_device *device;
    struct mx_stream *stream;
    const struct command *command;
};

/* From here on the calling thread, which belongs to a device, reads and writes subnormal numbers (below 2^-126) as zero:
 * part of what the operations compute, on x86-64 and aarch64 alike. Trained networks are full of them (the tails of GELU
 * and of softmax, and all gradients that pass through those), and each one costs an Intel processor over a hundred cycles. */
static void subnormals_flush(void)
{
#if defined(__x86_64__)
    const unsigned flush_results = 0x8000, flush_operands = 0x0040;
    _mm_setcsr(_mm_getcsr() | flush_results | flush_operands);
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    fpcr |= UINT64_C(1) << 24;
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
#endif
}

static void gang_run(void *context, int worker)
{
    const struct job *const job = context;
    struct mx_cpu_device *const device = job->device;
    subnormals_flush();
    const struct mx_gang gang = {
        .worker = worker,
        .workers = device->workers,
        .scratch = (char *)device->scratch + (size_t)worker * MX_CPU_SCRATCH_BYTES,
        .shared = (char *)device->scratch + (size_t)device->workers * MX_CPU_SCRATCH_BYTES,
        .tickets = device->tickets,
        .pool = device->pool,
        .stream = job->stream,
        .bf16 = device->state->bf16,
    };
    device->state->kernels->run[job->command->op](&gang, job->command->args);
}

static void gang_copy(void *context, int worker)
{
    const struct job *const job = context;
    const struct mx_gang gang = {.worker = worker, .workers = job->device->workers};
    const struct command *const command = job->command;
    int64_t begin, end;
    mx_gang_share(&gang, (int64_t)command->copy.bytes, COPY_GRAIN, &begin, &end);
    memcpy((char *)command->copy.to + begin, (const char *)command->copy.from + begin, (size_t)(end - begin));
}

/* Runs the stream's first command; false if it has to wait. The device's lock is not held. */
static bool command_run(struct mx_cpu_device *device, struct mx_cpu_stream *stream, struct command *command)
{
    struct job job = {device, stream->stream, command};
    const bool failed = atomic_load_explicit(&stream->stream->failed, memory_order_acquire) != 0;
    switch (command->kind) {
    case COMMAND_OP:
        if (failed) break;
        for (int i = 0; i < MX_CPU_TICKETS; i++) atomic_store_explicit(&device->tickets[i], 0, memory_order_relaxed);
        mx_pool_run(device->pool, gang_run, &job);
        break;
    case COMMAND_COPY:
        if (failed) break;
        if (command->copy.bytes < GANG_COPY_BYTES || device->workers == 1) {
            memcpy(command->copy.to, command->copy.from, command->copy.bytes);
        } else {
            mx_pool_run(device->pool, gang_copy, &job);
        }
        break;
    case COMMAND_RECORD:
        return mx_cpu_event_try_record(command->event.event, command->event.generation, &stream->waiter);
    case COMMAND_WAIT:
        return mx_cpu_event_try_wait(command->event.event, command->event.generation, &stream->waiter);
    }
    return true;
}

/* The next stream that can run, after the one that ran last; NULL if there is none. Lock held. */
static struct mx_cpu_stream *stream_pick(struct mx_cpu_device *device)
{
    struct mx_cpu_stream *stream = device->turn;
    if (!stream) return NULL;
    do {
        if (stream->head != stream->tail && !stream->blocked) {
            device->turn = stream->next;
            return stream;
        }
        stream = stream->next;
    } while (stream != device->turn);
    return NULL;
}

/* Looks for a change for a few microseconds. Lock held at entry and exit, open in between. */
static void leader_spin(struct mx_cpu_device *device)
{
    const unsigned seen = atomic_load_explicit(&device->changes, memory_order_relaxed);
    pthread_mutex_unlock(&device->lock);
    const uint64_t start_ns = mx_clock_ns();
    bool changed = false;
    do {
        for (int i = 0; i < SPINS_PER_CLOCK && !changed; i++) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
            changed = atomic_load_explicit(&device->changes, memory_order_relaxed) != seen;
        }
    } while (!changed && mx_clock_ns() - start_ns < SPIN_NS);
    pthread_mutex_lock(&device->lock);
}

static void *leader_main(void *context)
{
    struct mx_cpu_device *const device = context;
    bool spun = !device->spins;
    pthread_mutex_lock(&device->lock);
    for (;;) {
        struct mx_cpu_stream *const stream = stream_pick(device);
        if (stream) {
            struct command *const command = &stream->ring[stream->tail % RING];
            pthread_mutex_unlock(&device->lock);
            const bool done = command_run(device, stream, command);
            pthread_mutex_lock(&device->lock);
            if (done) {
                stream->tail++;
                if (stream->tail >= stream->wake_at) {
                    stream->wake_at = UINT64_MAX; /* who waits for more sets it again */
                    pthread_cond_broadcast(&stream->moved);
                }
            }
            spun = !device->spins;
        } else if (device->stop) {
            break;
        } else if (!spun) {
            leader_spin(device);
            spun = true;
        } else {
            device->asleep = true;
            pthread_cond_wait(&device->work, &device->lock);
            device->asleep = false;
            spun = !device->spins;
        }
    }
    pthread_mutex_unlock(&device->lock);
    return NULL;
}

/* Something became runnable. Lock held. */
static void leader_wake(struct mx_cpu_device *device)
{
    atomic_fetch_add_explicit(&device->changes, 1, memory_order_relaxed);
    if (device->asleep) pthread_cond_signal(&device->work);
}

void mx_cpu_stream_block(struct mx_cpu_stream *stream)
{
    pthread_mutex_lock(&stream->device->lock);
    stream->blocked = true;
    pthread_mutex_unlock(&stream->device->lock);
}

void mx_cpu_stream_unblock(struct mx_cpu_stream *stream)
{
    struct mx_cpu_device *const device = stream->device;
    pthread_mutex_lock(&device->lock);
    stream->blocked = false;
    leader_wake(device);
    pthread_mutex_unlock(&device->lock); /* neither the stream nor the device may be touched after this */
}

/* ---- devices ---- */

int mx_cpu_device_open(void *state, struct mx_device *device)
{
    int rc = 0;
    bool charged = false;
    const struct mx_cpu_state *const cpu = state;
    const int first = mx_cpu_first_core(cpu, device->info.index);
    struct mx_cpu_device *const impl = mx_alloc(1, sizeof *impl);
    if (!impl) return MX_ERR_NO_MEMORY;
    impl->state = cpu;
    impl->workers = mx_cpu_first_core(cpu, device->info.index + 1) - first;
    impl->spins = cpu->core_count > 1;
    impl->scratch_bytes = (size_t)impl->workers * MX_CPU_SCRATCH_BYTES + MX_CPU_SHARED_BYTES;
    pthread_mutex_init(&impl->lock, NULL);
    pthread_cond_init(&impl->work, NULL);
    MX_TRY(mx_budget_charge(device->budget, SCRATCH_OWNER, impl->scratch_bytes, false));
    charged = true;
    MX_TRY(mx_cpu_memory_acquire(impl->scratch_bytes, &impl->scratch));
    const struct mx_pool_options pool = {.name = device->name, .workers = impl->workers, .cores = cpu->cores + first};
    MX_TRY(mx_pool_create(&pool, &impl->pool));
    MX_TRY(mx_thread_start(&impl->leader, device->name, cpu->cores[first], leader_main, impl));
    device->impl = impl;
out:
    if (rc < 0) {
        mx_pool_destroy(impl->pool);
        mx_cpu_memory_release(impl->scratch, impl->scratch_bytes);
        if (charged) mx_budget_credit(device->budget, SCRATCH_OWNER, impl->scratch_bytes, false);
        pthread_cond_destroy(&impl->work);
        pthread_mutex_destroy(&impl->lock);
        mx_free(impl);
    }
    return rc;
}

void mx_cpu_device_close(struct mx_device *device)
{
    struct mx_cpu_device *const impl = device->impl;
    pthread_mutex_lock(&impl->lock);
    impl->stop = true;
    leader_wake(impl);
    pthread_mutex_unlock(&impl->lock);
    pthread_join(impl->leader, NULL);
    mx_pool_destroy(impl->pool);
    mx_cpu_memory_release(impl->scratch, impl->scratch_bytes);
    mx_budget_credit(device->budget, SCRATCH_OWNER, impl->scratch_bytes, false);
    pthread_cond_destroy(&impl->work);
    pthread_mutex_destroy(&impl->lock);
    mx_free(impl);
}

/* ---- streams ---- */

int mx_cpu_stream_create(struct mx_stream *stream)
{
    struct mx_cpu_device *const device = stream->device->impl;
    struct mx_cpu_stream *const impl = mx_alloc(1, sizeof *impl);
    if (!impl) return MX_ERR_NO_MEMORY;
    impl->ring = mx_alloc(RING, sizeof *impl->ring);
    if (!impl->ring) {
        mx_free(impl);
        return MX_ERR_NO_MEMORY;
    }
    impl->stream = stream;
    impl->device = device;
    impl->wake_at = UINT64_MAX;
    impl->waiter.stream = impl;
    pthread_cond_init(&impl->moved, NULL);
    stream->impl = impl;
    pthread_mutex_lock(&device->lock);
    struct mx_cpu_stream *const after = device->turn;
    impl->prev = after ? after->prev : impl;
    impl->next = after ? after : impl;
    impl->prev->next = impl;
    impl->next->prev = impl;
    if (!after) device->turn = impl;
    pthread_mutex_unlock(&device->lock);
    return 0;
}

void mx_cpu_stream_release(struct mx_stream *stream)
{
    struct mx_cpu_stream *const impl = stream->impl;
    struct mx_cpu_device *const device = impl->device;
    pthread_mutex_lock(&device->lock);
    if (device->turn == impl) device->turn = impl->next == impl ? NULL : impl->next;
    impl->prev->next = impl->next;
    impl->next->prev = impl->prev;
    pthread_mutex_unlock(&device->lock);
    pthread_cond_destroy(&impl->moved);
    mx_free(impl->ring);
    mx_free(impl);
}

/* Waits until the first `count` commands ever submitted are done. Lock held. */
static void stream_await(struct mx_cpu_stream *stream, uint64_t count)
{
    while (stream->tail < count) {
        if (count < stream->wake_at) stream->wake_at = count;
        pthread_cond_wait(&stream->moved, &stream->device->lock);
    }
}

int mx_cpu_stream_sync(struct mx_stream *stream)
{
    struct mx_cpu_stream *const impl = stream->impl;
    pthread_mutex_lock(&impl->device->lock);
    stream_await(impl, impl->head);
    pthread_mutex_unlock(&impl->device->lock);
    return 0;
}

/* The record to fill in next. When the ring is full it waits until a quarter is free, so that a submitter that is
 * ahead of the device sleeps and wakes seldom. Only command_push makes the record part of the queue. */
static struct command *command_begin(struct mx_cpu_stream *stream, enum command_kind kind)
{
    if (stream->head - stream->known_tail == RING) {
        pthread_mutex_lock(&stream->device->lock);
        if (stream->head - stream->tail == RING) stream_await(stream, stream->tail + RING / 4);
        stream->known_tail = stream->tail;
        pthread_mutex_unlock(&stream->device->lock);
    }
    struct command *const command = &stream->ring[stream->head % RING];
    command->kind = kind;
    return command;
}

static int command_push(struct mx_cpu_stream *stream)
{
    struct mx_cpu_device *const device = stream->device;
    pthread_mutex_lock(&device->lock);
    stream->head++;
    leader_wake(device);
    pthread_mutex_unlock(&device->lock);
    return 0;
}

int mx_cpu_stream_wait(struct mx_stream *stream, struct mx_event *event)
{
    const uint64_t generation = mx_cpu_event_begin_wait(event->impl);
    if (generation == 0) return 0;
    struct command *const command = command_begin(stream->impl, COMMAND_WAIT);
    command->event.event = event->impl;
    command->event.generation = generation;
    return command_push(stream->impl);
}

int mx_cpu_event_record(struct mx_event *event, struct mx_stream *stream)
{
    const uint64_t generation = mx_cpu_event_begin_record(event->impl);
    struct command *const command = command_begin(stream->impl, COMMAND_RECORD);
    command->event.event = event->impl;
    command->event.generation = generation;
    return command_push(stream->impl);
}

static int copy_push(struct mx_cpu_stream *stream, void *to, const void *from, size_t bytes)
{
    struct command *const command = command_begin(stream, COMMAND_COPY);
    command->copy.to = to;
    command->copy.from = from;
    command->copy.bytes = bytes;
    return command_push(stream);
}

int mx_cpu_copy_upload(struct mx_stream *stream, struct mx_slice to, const void *from, size_t bytes)
{
    return copy_push(stream->impl, mx_cpu_ptr(to), from, bytes);
}

int mx_cpu_copy_download(struct mx_stream *stream, void *to, struct mx_slice from, size_t bytes)
{
    return copy_push(stream->impl, to, mx_cpu_ptr(from), bytes);
}

int mx_cpu_copy_slices(struct mx_stream *stream, struct mx_slice to, struct mx_slice from, size_t bytes)
{
    return copy_push(stream->impl, mx_cpu_ptr(to), mx_cpu_ptr(from), bytes);
}

int mx_cpu_submit(struct mx_stream *stream, enum mx_op op, const void *args)
{
    struct command *const command = command_begin(stream->impl, COMMAND_OP);
    command->op = op;
    memcpy(command->args, args, mx_op_args_bytes(op));
    return command_push(stream->impl);
}
