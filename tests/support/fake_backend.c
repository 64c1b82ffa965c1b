/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The fake backend; see fake_backend.h.
 *
 * Lock: one, `fake.lock`, protects everything here but the bytes of buffers; one condition, `fake.changed`, is
 * broadcast whenever anything changes. It is a leaf except that mx_stream_fail (a leaf too) is called under it.
 * Commands run with the lock open: at most one per device at a time, which `busy` tells.
 *
 * Memory: the descriptions and the address space of released buffers are kept until their device closes.
 */
#include "support/fake_backend.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "device/cpu/cpu.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RING                 64
#define USES_MAX             24
#define DEVICE_COUNT_DEFAULT 2
#define MEMORY_DEFAULT       (UINT64_C(64) << 20)
#define RNG_ORDER            UINT64_C(1) /* random streams of the seed: which command goes first */
#define RNG_DELAY            UINT64_C(2) /* from here on, one per stream, how long each is delayed */

enum command_kind { COMMAND_OP, COMMAND_COPY, COMMAND_RECORD, COMMAND_WAIT };

struct fake_memory {
    char owner[32];
    char *map;
    size_t map_bytes; /* without the guard page */
    int running;      /* commands that use it right now */
    bool released;
    struct fake_memory *next; /* of the device's graveyard */
};

struct fake_event {
    uint64_t recorded, completed, time_ns;
    int references;
};

struct command {
    enum command_kind kind;
    enum mx_op op;
    uint64_t ticket; /* order of submission on the device */
    void *to;
    const void *from;
    size_t bytes;
    struct fake_event *event;
    uint64_t generation;
    struct fake_memory *uses[USES_MAX];
    int use_count;
    _Alignas(16) unsigned char args[MX_OP_ARGS_MAX];
};

struct fake_device {
    const struct mx_cpu_kernels *kernels;
    void *scratch;
    uint64_t tickets;
    bool busy;
    struct fake_memory *graveyard;
};

/* Commands tail … head-1 are queued. ready: the delay of the first is over. */
struct fake_stream {
    struct mx_stream *stream;
    struct fake_device *device;
    pthread_t thread;
    uint64_t head, tail, delays;
    bool ready, stop;
    struct command ring[RING];
    struct fake_stream *next; /* of all streams */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct mx_fake_options options;
    int buffers_created, copies_run;
    uint64_t streams_created;
    bool held;
    struct fake_stream *streams;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

void mx_fake_configure(const struct mx_fake_options *options)
{
    pthread_mutex_lock(&fake.lock);
    fake.options = options ? *options : (struct mx_fake_options){0};
    fake.buffers_created = fake.copies_run = 0;
    fake.streams_created = 0;
    pthread_mutex_unlock(&fake.lock);
}

void mx_fake_hold(void)
{
    pthread_mutex_lock(&fake.lock);
    fake.held = true;
    for (const struct fake_stream *s = fake.streams; s;) {
        if (!s->device->busy) {
            s = s->next;
            continue;
        }
        pthread_cond_wait(&fake.changed, &fake.lock);
        s = fake.streams;
    }
    pthread_mutex_unlock(&fake.lock);
}

void mx_fake_resume(void)
{
    pthread_mutex_lock(&fake.lock);
    for (const struct fake_stream *s = fake.streams; s;) {
        if (s->head == s->tail || s->ready) {
            s = s->next;
            continue;
        }
        pthread_cond_wait(&fake.changed, &fake.lock);
        s = fake.streams;
    }
    fake.held = false;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
}

/* ---- backend and devices ---- */

static int fake_open(const struct mx_registry_options *options, void **state)
{
    (void)options;
    int *const count = mx_alloc(1, sizeof *count);
    if (!count) return MX_ERR_NO_MEMORY;
    *count = fake.options.device_count ? fake.options.device_count : DEVICE_COUNT_DEFAULT;
    *state = count;
    return 0;
}

static void fake_close(void *state)
{
    mx_free(state);
}

static int fake_device_count(void *state)
{
    return *(const int *)state;
}

static int fake_device_info(void *state, int index, struct mx_device_info *out)
{
    (void)state;
    *out = (struct mx_device_info){
        .backend = "fake",
        .index = index,
        .kind = MX_DEVICE_OTHER,
        .memory_bytes = fake.options.memory_bytes ? fake.options.memory_bytes : MEMORY_DEFAULT,
        .compute_units = 1,
        .numa_node = -1,
        .caps = {.event_times = true},
    };
    snprintf(out->name, sizeof out->name, "Fake device %d", index);
    return 0;
}

static int fake_device_open(void *state, struct mx_device *device)
{
    (void)state;
    int rc = 0;
    struct fake_device *const impl = mx_alloc(1, sizeof *impl);
    if (!impl) return MX_ERR_NO_MEMORY;
    MX_TRY(mx_cpu_kernels_choose(NULL, &impl->kernels));
    MX_TRY(mx_cpu_memory_acquire(MX_CPU_SCRATCH_BYTES + MX_CPU_SHARED_BYTES, &impl->scratch));
    device->impl = impl;
out:
    if (rc < 0) mx_free(impl);
    return rc;
}

static void fake_device_close(struct mx_device *device)
{
    struct fake_device *const impl = device->impl;
    const size_t guard = (size_t)sysconf(_SC_PAGESIZE);
    while (impl->graveyard) {
        struct fake_memory *const memory = impl->graveyard;
        impl->graveyard = memory->next;
        munmap(memory->map, memory->map_bytes + guard);
        mx_free(memory);
    }
    mx_cpu_memory_release(impl->scratch, MX_CPU_SCRATCH_BYTES + MX_CPU_SHARED_BYTES);
    mx_free(impl);
}

/* ---- buffers ---- */

static int fake_buffer_create(struct mx_buffer *buffer)
{
    int rc = 0;
    struct fake_memory *memory = NULL;
    pthread_mutex_lock(&fake.lock);
    const bool inject = ++fake.buffers_created == fake.options.fail_buffer_at;
    pthread_mutex_unlock(&fake.lock);
    if (inject) MX_RAISE(MX_ERR_NO_MEMORY, "this failure was asked for", "the fake device has no memory left");
    memory = mx_alloc(1, sizeof *memory);
    if (!memory) {
        rc = MX_ERR_NO_MEMORY;
        goto out;
    }
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    memory->map_bytes = (buffer->bytes + page - 1) / page * page;
    memory->map = mmap(NULL, memory->map_bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory->map == MAP_FAILED) MX_RAISE(MX_ERR_NO_MEMORY, NULL, "the machine has no memory left");
    mprotect(memory->map + memory->map_bytes, page, PROT_NONE);
    memset(memory->map, 0xFF, memory->map_bytes);
    memcpy(memory->owner, buffer->owner, sizeof memory->owner);
    buffer->host = memory->map + ((memory->map_bytes - buffer->bytes) & ~(size_t)63); /* as near the guard as it may */
    buffer->impl = memory;
out:
    if (rc < 0) mx_free(memory);
    return rc;
}

static void fake_buffer_release(struct mx_buffer *buffer)
{
    struct fake_memory *const memory = buffer->impl;
    struct fake_device *const device = buffer->device->impl;
    pthread_mutex_lock(&fake.lock);
    memory->released = true;
    while (memory->running > 0) pthread_cond_wait(&fake.changed, &fake.lock);
    mprotect(memory->map, memory->map_bytes, PROT_NONE);
    memory->next = device->graveyard;
    device->graveyard = memory;
    pthread_mutex_unlock(&fake.lock);
}

/* ---- the threads of the streams ---- */

/* Whether the stream's first command could run now. Lock held. */
static bool stream_eligible(const struct fake_stream *stream)
{
    if (!stream->ready) return false;
    const struct command *const command = &stream->ring[stream->tail % RING];
    if (command->kind == COMMAND_WAIT) return command->event->completed >= command->generation;
    if (command->kind == COMMAND_RECORD) return command->event->completed + 1 >= command->generation;
    return true;
}

/* Whether it is this stream's turn among all that are eligible on its device. Lock held. */
static bool stream_may_run(const struct fake_stream *stream)
{
    if (fake.held || stream->device->busy || !stream_eligible(stream)) return false;
    const uint64_t mine = stream->ring[stream->tail % RING].ticket;
    for (const struct fake_stream *s = fake.streams; s; s = s->next) {
        if (s == stream || s->device != stream->device || !stream_eligible(s)) continue;
        const uint64_t other = s->ring[s->tail % RING].ticket;
        if (!fake.options.reorder && other < mine) return false;
        if (!fake.options.reorder) continue;
        const uint32_t my_draw = mx_rng_u32(fake.options.seed, RNG_ORDER, mine);
        const uint32_t other_draw = mx_rng_u32(fake.options.seed, RNG_ORDER, other);
        if (other_draw < my_draw || (other_draw == my_draw && other < mine)) return false;
    }
    return true;
}

/* The owner of a released buffer among those the command uses, or NULL. Lock held. */
static const char *command_released(const struct command *command)
{
    for (int i = 0; i < command->use_count; i++) {
        if (command->uses[i]->released) return command->uses[i]->owner;
    }
    return NULL;
}

static int fail_released(struct mx_stream *stream, const char *owner)
{
    const int rc = MX_FAIL(MX_ERR_DEVICE, "sync the streams that use a buffer before releasing it",
                           "stream \"%s\" of %s: buffer \"%s\" is used after its release", stream->name,
                           stream->device->name, owner);
    mx_stream_fail(stream);
    return rc;
}

static void event_drop(struct fake_event *event)
{
    if (--event->references == 0) mx_free(event);
}

static void op_run(struct fake_stream *stream, const struct command *command)
{
    atomic_llong tickets[MX_CPU_TICKETS];
    for (int i = 0; i < MX_CPU_TICKETS; i++) atomic_init(&tickets[i], 0);
    const struct mx_gang gang = {
        .worker = 0,
        .workers = 1,
        .scratch = stream->device->scratch,
        .shared = (char *)stream->device->scratch + MX_CPU_SCRATCH_BYTES,
        .tickets = tickets,
        .stream = stream->stream,
    };
    stream->device->kernels->run[command->op](&gang, command->args);
}

/* Work on buffers: runs with the lock open, unless it must not run at all. Lock held at entry and exit. */
static void work_run(struct fake_stream *stream, struct command *command)
{
    if (atomic_load(&stream->stream->failed) != 0) return;
    const char *released = command_released(command);
    if (released) {
        fail_released(stream->stream, released);
        return;
    }
    if (command->kind == COMMAND_COPY && ++fake.copies_run == fake.options.fail_copy_at) {
        MX_FAIL(MX_ERR_DEVICE, "this failure was asked for", "stream \"%s\" of %s: a copy failed", stream->stream->name,
                stream->stream->device->name);
        mx_stream_fail(stream->stream);
        return;
    }
    for (int i = 0; i < command->use_count; i++) command->uses[i]->running++;
    pthread_mutex_unlock(&fake.lock);
    if (command->kind == COMMAND_COPY) {
        memcpy(command->to, command->from, command->bytes);
    } else {
        op_run(stream, command);
    }
    pthread_mutex_lock(&fake.lock);
    for (int i = 0; i < command->use_count; i++) command->uses[i]->running--;
    released = command_released(command); /* while it ran */
    if (released) fail_released(stream->stream, released);
}

static void *stream_main(void *context)
{
    struct fake_stream *const stream = context;
    pthread_mutex_lock(&fake.lock);
    for (;;) {
        while (stream->head == stream->tail && !stream->stop) pthread_cond_wait(&fake.changed, &fake.lock);
        if (stream->head == stream->tail) break;
        const uint64_t delay_us =
            mx_rng_below(fake.options.seed, stream->delays, stream->tail, (uint64_t)fake.options.max_delay_us + 1);
        pthread_mutex_unlock(&fake.lock);
        if (delay_us > 0) mx_clock_sleep_ns(delay_us * 1000);
        pthread_mutex_lock(&fake.lock);
        stream->ready = true;
        pthread_cond_broadcast(&fake.changed);
        while (!stream_may_run(stream)) pthread_cond_wait(&fake.changed, &fake.lock);
        struct command *const command = &stream->ring[stream->tail % RING];
        stream->ready = false;
        stream->device->busy = true;
        if (command->kind == COMMAND_OP || command->kind == COMMAND_COPY) {
            work_run(stream, command);
        } else {
            if (command->kind == COMMAND_RECORD) {
                command->event->completed = command->generation;
                command->event->time_ns = mx_clock_ns();
            }
            event_drop(command->event);
        }
        stream->device->busy = false;
        stream->tail++;
        pthread_cond_broadcast(&fake.changed);
    }
    pthread_mutex_unlock(&fake.lock);
    return NULL;
}

/* ---- streams ---- */

static int fake_stream_create(struct mx_stream *stream)
{
    int rc = 0;
    struct fake_stream *const impl = mx_alloc(1, sizeof *impl);
    if (!impl) return MX_ERR_NO_MEMORY;
    impl->stream = stream;
    impl->device = stream->device->impl;
    pthread_mutex_lock(&fake.lock);
    impl->delays = RNG_DELAY + fake.streams_created++;
    pthread_mutex_unlock(&fake.lock);
    rc = mx_thread_start(&impl->thread, stream->name, -1, stream_main, impl);
    if (rc < 0) {
        mx_free(impl);
        return rc;
    }
    pthread_mutex_lock(&fake.lock);
    impl->next = fake.streams;
    fake.streams = impl;
    pthread_mutex_unlock(&fake.lock);
    stream->impl = impl;
    return 0;
}

static void fake_stream_release(struct mx_stream *stream)
{
    struct fake_stream *const impl = stream->impl;
    pthread_mutex_lock(&fake.lock);
    impl->stop = true;
    struct fake_stream **link = &fake.streams;
    while (*link != impl) link = &(*link)->next;
    *link = impl->next;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
    pthread_join(impl->thread, NULL);
    mx_free(impl);
}

static int fake_stream_sync(struct mx_stream *stream)
{
    struct fake_stream *const impl = stream->impl;
    pthread_mutex_lock(&fake.lock);
    const uint64_t head = impl->head;
    while (impl->tail < head) pthread_cond_wait(&fake.changed, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
    return 0;
}

/* Queues a copy of `command`, with the lock held; waits while the ring is full. */
static void command_push(struct fake_stream *stream, struct command *command)
{
    while (stream->head - stream->tail == RING) pthread_cond_wait(&fake.changed, &fake.lock);
    command->ticket = stream->device->tickets++;
    stream->ring[stream->head++ % RING] = *command;
    pthread_cond_broadcast(&fake.changed);
}

static void command_use(struct command *command, struct mx_slice slice)
{
    struct fake_memory *const memory = slice.buffer->impl;
    for (int i = 0; i < command->use_count; i++) {
        if (command->uses[i] == memory) return;
    }
    command->uses[command->use_count++] = memory;
}

/* Queues work on buffers, unless one of them is released already. */
static int work_push(struct mx_stream *stream, struct command *command)
{
    int rc = 0;
    pthread_mutex_lock(&fake.lock);
    const char *const released = command_released(command);
    if (released) {
        rc = fail_released(stream, released);
    } else {
        command_push(stream->impl, command);
    }
    pthread_mutex_unlock(&fake.lock);
    return rc;
}

static int fake_copy_upload(struct mx_stream *stream, struct mx_slice to, const void *from, size_t bytes)
{
    struct command command = {.kind = COMMAND_COPY, .to = mx_cpu_ptr(to), .from = from, .bytes = bytes};
    command_use(&command, to);
    return work_push(stream, &command);
}

static int fake_copy_download(struct mx_stream *stream, void *to, struct mx_slice from, size_t bytes)
{
    struct command command = {.kind = COMMAND_COPY, .to = to, .from = mx_cpu_ptr(from), .bytes = bytes};
    command_use(&command, from);
    return work_push(stream, &command);
}

static int fake_copy_slices(struct mx_stream *stream, struct mx_slice to, struct mx_slice from, size_t bytes)
{
    struct command command = {.kind = COMMAND_COPY, .to = mx_cpu_ptr(to), .from = mx_cpu_ptr(from), .bytes = bytes};
    command_use(&command, to);
    command_use(&command, from);
    return work_push(stream, &command);
}

static void op_use(void *context, const char *name, struct mx_slice slice, size_t bytes, bool written)
{
    (void)name;
    (void)bytes;
    (void)written;
    command_use(context, slice);
}

static int fake_submit(struct mx_stream *stream, enum mx_op op, const void *args)
{
    struct command command = {.kind = COMMAND_OP, .op = op};
    memcpy(command.args, args, mx_op_args_bytes(op));
    mx_op_slices(op, args, op_use, &command);
    return work_push(stream, &command);
}

/* ---- events ---- */

static int fake_event_create(struct mx_event *event)
{
    struct fake_event *const impl = mx_alloc(1, sizeof *impl);
    if (!impl) return MX_ERR_NO_MEMORY;
    impl->references = 1;
    event->impl = impl;
    return 0;
}

static void fake_event_release(struct mx_event *event)
{
    pthread_mutex_lock(&fake.lock);
    event_drop(event->impl);
    pthread_mutex_unlock(&fake.lock);
}

static int fake_event_record(struct mx_event *event, struct mx_stream *stream)
{
    struct fake_event *const impl = event->impl;
    pthread_mutex_lock(&fake.lock);
    impl->references++;
    struct command command = {.kind = COMMAND_RECORD, .event = impl, .generation = ++impl->recorded};
    command_push(stream->impl, &command);
    pthread_mutex_unlock(&fake.lock);
    return 0;
}

static int fake_stream_wait(struct mx_stream *stream, struct mx_event *event)
{
    struct fake_event *const impl = event->impl;
    pthread_mutex_lock(&fake.lock);
    impl->references++;
    struct command command = {.kind = COMMAND_WAIT, .event = impl, .generation = impl->recorded};
    command_push(stream->impl, &command);
    pthread_mutex_unlock(&fake.lock);
    return 0;
}

static int fake_event_sync(struct mx_event *event)
{
    struct fake_event *const impl = event->impl;
    pthread_mutex_lock(&fake.lock);
    const uint64_t generation = impl->recorded;
    while (impl->completed < generation) pthread_cond_wait(&fake.changed, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
    return 0;
}

static bool fake_event_done(struct mx_event *event)
{
    const struct fake_event *const impl = event->impl;
    pthread_mutex_lock(&fake.lock);
    const bool done = impl->completed == impl->recorded;
    pthread_mutex_unlock(&fake.lock);
    return done;
}

static uint64_t fake_event_time_ns(struct mx_event *event)
{
    const struct fake_event *const impl = event->impl;
    pthread_mutex_lock(&fake.lock);
    const uint64_t time_ns = impl->completed == impl->recorded ? impl->time_ns : 0;
    pthread_mutex_unlock(&fake.lock);
    return time_ns;
}

const struct mx_backend mx_fake_backend = {
    .name = "fake",
    .requires = "a test",
    .keeps_released = true,
    .open = fake_open,
    .close = fake_close,
    .device_count = fake_device_count,
    .device_info = fake_device_info,
    .device_open = fake_device_open,
    .device_close = fake_device_close,
    .buffer_create = fake_buffer_create,
    .buffer_release = fake_buffer_release,
    .stream_create = fake_stream_create,
    .stream_release = fake_stream_release,
    .stream_sync = fake_stream_sync,
    .stream_wait = fake_stream_wait,
    .event_create = fake_event_create,
    .event_release = fake_event_release,
    .event_record = fake_event_record,
    .event_sync = fake_event_sync,
    .event_done = fake_event_done,
    .event_time_ns = fake_event_time_ns,
    .copy_upload = fake_copy_upload,
    .copy_download = fake_copy_download,
    .copy_slices = fake_copy_slices,
    .submit = fake_submit,
};
