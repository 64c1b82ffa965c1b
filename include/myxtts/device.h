/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Devices as callers see them: device → buffer → stream → event.
 *
 * A device is anything with its own memory budget and its own queues: "cuda:0", "opencl:1", "cpu:0". Work is submitted
 * to a stream and returns at once; a stream runs its work in order, streams run independently, an event orders them,
 * across devices too. Whatever is named *_sync blocks the calling thread; nothing else does, except a submit to a full
 * stream queue.
 *
 * Errors of asynchronous work are sticky: the stream stops executing (later work is skipped, events still complete so
 * that nobody hangs) and every later call on that stream returns the first error, with its message. Callers ask `caps`,
 * never a backend's name.
 *
 * Memory: whoever creates an object releases it. Buffers, streams and events must be released before their device; a
 * device that is closed with buffers alive reports them as leaks (see budget.h). Releasing a buffer that queued work
 * still uses is a programming error (the fake backend of the tests traps it): sync first.
 *
 * Threads: a device may be used from any thread. A stream may be used by one thread at a time. Events may be recorded
 * by one thread at a time and waited for by any number.
 */
#ifndef MYXTTS_DEVICE_H
#define MYXTTS_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mx_device;
struct mx_buffer;
struct mx_stream;
struct mx_event;
struct mx_graph;
struct mx_budget;

/* What a device can do. */
struct mx_device_caps {
    bool host_visible;  /* buffers are ordinary host memory: mx_buffer_host works */
    bool async_copy;    /* copies overlap with work on other streams of the device */
    bool peer_copy;     /* direct copies to other devices of the same backend may exist, see mx_device_can_peer */
    bool pinned_host;   /* page-locked host memory makes copies faster */
    bool bf16_multiply; /* matrix multiply takes bf16 operands */
    bool bf16_fast;     /* … and is faster with them than with fp32; where not, they save memory alone */
    bool event_times;   /* events carry device time stamps; otherwise host time at completion */
    bool graphs;        /* work can be recorded and started as one, see mx_graph_begin */
};

enum mx_device_kind { MX_DEVICE_CPU, MX_DEVICE_GPU, MX_DEVICE_OTHER };

/* What a device is; filled by its backend, constant while the device exists. */
struct mx_device_info {
    char backend[16]; /* "cpu" */
    int index;        /* physical index within the backend */
    char name[128];   /* "Xeon …, cores 0–1" */
    enum mx_device_kind kind;
    uint64_t memory_bytes; /* total memory of the device */
    int compute_units;     /* cores, compute units or multiprocessors */
    char pci_bus[24];      /* "0000:41:00.0"; "" if none */
    int numa_node;         /* -1: unknown */
    int cores[64];         /* CPU devices: the operating system's numbers of the first cores */
    struct mx_device_caps caps;
    uint64_t work_bytes;   /* that a stream takes for itself when it first runs operations of all kinds: scratch and the
                              like, charged to its budget */
    uint64_t sound_bytes;  /* the same of a stream that makes features of sound and nothing else */
    char bf16_missing[96]; /* without caps.bf16_multiply: what it would take ("the processor has no avx512_bf16"), or ""
                            */
    char bf16_by[24];      /* with caps.bf16_multiply: what multiplies them ("AMX", "tensor cores") */
    char bf16_slow[96];    /* the same without caps.bf16_fast: what would be faster, and why it is not used */
    char products[16];     /* the library that multiplies its matrices: "CLBlast"; "": this program's own kernels */
    char products_missing[96]; /* one that would do it faster: "CLBlast is not installed: …"; "" if there is none */
    char kernels[32];     /* of its several sets of kernels the one that runs: "AVX2, 6×16 tile"; "": it has one */
    char kernels_why[96]; /* and why: "the processor has AVX2, and this build is for native" */
};

/* ---- devices: opened by registry.h ---- */
const struct mx_device_info *mx_device_info(const struct mx_device *device);
const char *mx_device_name(const struct mx_device *device); /* physical: "cuda:2" */
const char *
mx_device_logical(const struct mx_device *device); /* after renumbering: "GPU:0"; the data device comes first */
int mx_device_logical_index(const struct mx_device *device);
struct mx_budget *mx_device_budget(const struct mx_device *device);
bool mx_device_can_peer(const struct mx_device *from, const struct mx_device *to);
/* What the driver measures, of all programs on the device together: MX_ERR_UNSUPPORTED, without a message, where it
 * does not tell. */
struct mx_device_load {
    double busy; /* share of the driver's last sample period in which kernels ran, 0 … 1 */
    uint64_t memory_used_bytes, memory_bytes;
};
int mx_device_load(struct mx_device *device, struct mx_device_load *out);
int mx_device_sync(struct mx_device *device);   /* waits for all streams of the device */
void mx_device_close(struct mx_device *device); /* NULL is fine; leaks are logged as warnings with owner and size */

/* ---- buffers ---- */
/* Takes `bytes` (> 0) of device memory, charged to `owner` (a short tag such as "parameters"; copied). The contents are
 * undefined. Fails with MX_ERR_BUDGET over the limit and MX_ERR_NO_MEMORY if the device has none left. 64-byte aligned.
 */
int mx_buffer_create(struct mx_device *device, const char *owner, size_t bytes, struct mx_buffer **out);
void mx_buffer_release(struct mx_buffer *buffer); /* NULL is fine */
size_t mx_buffer_bytes(const struct mx_buffer *buffer);
struct mx_device *mx_buffer_device(const struct mx_buffer *buffer);
void *mx_buffer_host(const struct mx_buffer *buffer); /* the memory itself where caps.host_visible; NULL elsewhere */

/* Host memory from which copies to and from `device` are fastest (pinned where that exists). Charged to the budget
 * owner `owner` of the host side: it does not count against the device's limit but appears in its statistics. */
int mx_host_alloc(struct mx_device *device, const char *owner, size_t bytes, void **out);
void mx_host_release(struct mx_device *device, void *ptr); /* NULL is fine */

/* A piece of a buffer; how operations name their operands. {0} means absent. */
struct mx_slice {
    struct mx_buffer *buffer;
    size_t offset_bytes;
};

static inline struct mx_slice mx_slice_at(struct mx_buffer *buffer, size_t offset_bytes)
{
    return (struct mx_slice){buffer, offset_bytes};
}

/* ---- streams ---- */
int mx_stream_create(struct mx_device *device, const char *name, struct mx_stream **out);
int mx_stream_sync(struct mx_stream *stream); /* waits for everything submitted; returns the stream's error, if any */
int mx_stream_status(const struct mx_stream *stream); /* 0, or the stream's error so far; does not wait */
void mx_stream_release(struct mx_stream *stream);     /* waits first; NULL is fine */
struct mx_device *mx_stream_device(const struct mx_stream *stream);
/* Later work on `stream` starts after the event's latest record (before this call) is complete. The event may
 * belong to another device; across backends the calling thread waits instead. An event never recorded is complete. */
int mx_stream_wait(struct mx_stream *stream, struct mx_event *event);

/* ---- events ---- */
int mx_event_create(struct mx_device *device, struct mx_event **out);
void mx_event_release(struct mx_event *event); /* NULL is fine; may still be pending */
int mx_event_record(struct mx_event *event,
                    struct mx_stream *stream); /* of the event's device; again: replaces the earlier one */
int mx_event_sync(struct mx_event *event);     /* waits; 0, also when the stream failed: the stream tells */
bool mx_event_done(struct mx_event *event);    /* does not block */
/* 0, or the error by which its device was lost, asked of the driver: of a device that is lost events complete, too, and
 * the stream may tell only when it is used again. Does not block. */
int mx_event_check(struct mx_event *event);
uint64_t
mx_event_time_ns(struct mx_event *event); /* mx_clock_ns time of completion; 0 while pending or never recorded */

/* ---- copies: asynchronous on the stream, which must belong to one of the devices involved ---- */
int mx_copy_upload(struct mx_stream *stream, struct mx_slice to, const void *from,
                   size_t bytes); /* `from` must stay valid */
int mx_copy_download(struct mx_stream *stream, void *to, struct mx_slice from, size_t bytes);
/* Same device, same backend (peer or staged by the backend), or any two devices. Across backends it is asynchronous
 * where the device that does not own the stream is host_visible; elsewhere the core stages through host memory and the
 * calling thread waits. The two slices must not overlap. */
int mx_copy_slices(struct mx_stream *stream, struct mx_slice to, struct mx_slice from, size_t bytes);

/* ---- recorded work: where caps.graphs, MX_ERR_UNSUPPORTED elsewhere ---- */
/* From begin to end, operations and copies on `stream` (within its device or to and from the host) are recorded and do
 * not run; waiting for events, recording events and syncing the stream are refused. mx_graph_end puts what was recorded
 * into *graph, which is made if it is NULL: a graph that holds the same sequence of operations already takes over their
 * new arguments, which costs less than a new one. mx_graph_cancel forgets what was recorded (after a failure).
 * mx_graph_launch runs it, on the stream that recorded it, with the arguments as recorded; host memory, which must be
 * mx_host_alloc's, is read and written when it runs. The graph's buffers and its stream must live as long as it does.
 * It is released when its last launch is complete. */
int mx_graph_begin(struct mx_stream *stream);
int mx_graph_end(struct mx_stream *stream, struct mx_graph **graph);
void mx_graph_cancel(struct mx_stream *stream); /* nothing is being recorded: fine */
int mx_graph_launch(struct mx_graph *graph);
void mx_graph_release(struct mx_graph *graph); /* NULL is fine */

#endif
