/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the files of the CPU backend: the state of the backend, the choice of kernels, and the vtable entries that
 * cpu_stream.c and cpu_event.c implement. For src/device/cpu and the tests only.
 */
#ifndef MX_DEVICE_CPU_CPU_H
#define MX_DEVICE_CPU_CPU_H

#include "device/cpu/kernels.h"

struct mx_cpu_device; /* the runtime of one device: leader, gang, streams (cpu_stream.c) */
struct mx_cpu_stream;
struct mx_cpu_event;

/* The backend between open and close. Read-only after open, so devices use it without a lock. */
struct mx_cpu_state {
    const struct mx_cpu_kernels *kernels;
    enum mx_cpu_bf16 bf16;
    char bf16_lack[96]; /* with less than AMX: the reason */
    int *cores;         /* cores of this process, ascending */
    int core_count;
    int device_count; /* device d has the cores from core_count·d/device_count up to the next device's first */
    uint64_t memory_bytes;
    char model[64];
};

static inline int mx_cpu_first_core(const struct mx_cpu_state *state, int device)
{
    return (int)((int64_t)state->core_count * device / state->device_count);
}

/* ---- cpu_dispatch.c ---- */
/* The best kernels of this build that this processor runs; `forced` (NULL or "": none) names others. */
int mx_cpu_kernels_choose(const char *forced, const struct mx_cpu_kernels **out);
/* How a device describes these kernels: which they are, and why these were chosen. `forced` as above. */
void mx_cpu_kernels_describe(const struct mx_cpu_kernels *kernels, const char *forced, struct mx_device_info *out);
/* The instructions with which these kernels multiply bf16 numbers on this processor and operating system. It queries the
 * operating system for permission to use AMX, which then holds for the whole process. `forced` (NULL or "": none) names
 * another choice. If the result is less than AMX, `lack` [size] says why. */
int mx_cpu_bf16_choose(const struct mx_cpu_kernels *kernels, const char *forced, enum mx_cpu_bf16 *out, char *lack,
                       size_t size);
/* Fills in how a device with this choice describes itself: bf16_multiply, bf16_fast and the texts about bf16. */
void mx_cpu_bf16_describe(enum mx_cpu_bf16 level, const char *lack, struct mx_device_info *out);

/* ---- cpu_backend.c ---- */
/* Memory of a device: 64-byte aligned; large blocks use huge pages, placed near the core that touches them first. */
int mx_cpu_memory_acquire(size_t bytes, void **out);
void mx_cpu_memory_release(void *ptr, size_t bytes); /* the same bytes; NULL is fine */

/* ---- cpu_stream.c ---- */
int mx_cpu_device_open(void *state, struct mx_device *device);
void mx_cpu_device_close(struct mx_device *device);
int mx_cpu_stream_create(struct mx_stream *stream);
void mx_cpu_stream_release(struct mx_stream *stream);
int mx_cpu_stream_sync(struct mx_stream *stream);
int mx_cpu_stream_wait(struct mx_stream *stream, struct mx_event *event);
int mx_cpu_event_record(struct mx_event *event, struct mx_stream *stream);
int mx_cpu_copy_upload(struct mx_stream *stream, struct mx_slice to, const void *from, size_t bytes);
int mx_cpu_copy_download(struct mx_stream *stream, void *to, struct mx_slice from, size_t bytes);
int mx_cpu_copy_slices(struct mx_stream *stream, struct mx_slice to, struct mx_slice from, size_t bytes);
int mx_cpu_submit(struct mx_stream *stream, enum mx_op op, const void *args);

/* A stream whose first command waits for an event to reach a generation. One per stream: its first command is the
 * only one that can wait. */
struct mx_cpu_waiter {
    struct mx_cpu_stream *stream;
    uint64_t generation;
    struct mx_cpu_waiter *next;
};
/* For cpu_event.c, which holds the event's lock: block the stream, let it run again. */
void mx_cpu_stream_block(struct mx_cpu_stream *stream);
void mx_cpu_stream_unblock(struct mx_cpu_stream *stream);

/* ---- cpu_event.c ---- */
int mx_cpu_event_create(struct mx_event *event);
void mx_cpu_event_release(struct mx_event *event);
int mx_cpu_event_sync(struct mx_event *event);
bool mx_cpu_event_done(struct mx_event *event);
uint64_t mx_cpu_event_time_ns(struct mx_event *event);

/* For the submitting thread: a reference for the command to be queued, and the generation it is about. */
uint64_t mx_cpu_event_begin_record(struct mx_cpu_event *event);
uint64_t mx_cpu_event_begin_wait(struct mx_cpu_event *event); /* 0: nothing to wait for, no reference taken */
/* For the leader: true when `generation` is complete (wait), or was completed by this call (record), and the
 * command's reference is gone; false when the stream was blocked and will be unblocked when it is worth trying again.
 */
bool mx_cpu_event_try_record(struct mx_cpu_event *event, uint64_t generation, struct mx_cpu_waiter *waiter);
bool mx_cpu_event_try_wait(struct mx_cpu_event *event, uint64_t generation, struct mx_cpu_waiter *waiter);

#endif
