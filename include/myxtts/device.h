/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Devices as callers see them: device → buffer → stream → event.
 *
 * A device is anything with its own memory budget and its own queues: "cuda:0", "opencl:1", "cpu:0". Submitting work to
 * a stream returns at once. A stream runs its work in order; streams run independently, and events order them, also
 * across devices. Only functions named *_sync, and a submit to a full stream queue, block the calling thread.
 *
 * Errors of asynchronous work are sticky: the stream stops executing (later work is skipped, and events still complete
 * so that no caller hangs), and every later call on that stream returns the first error with its message. Callers check
 * `caps`, never a backend's name.
 *
 * Memory: the creator of an object releases it. Buffers, streams and events must be released before their device; if a
 * device is closed while buffers exist, it reports them as leaks (see budget.h). Releasing a buffer that queued work
 * still uses is a programming error (the fake backend of the tests traps it): sync first.
 *
 * NULL for a device, buffer, stream, event, graph, name or the place of a result is MX_ERR_ARGUMENT, unless it is said to
 * be fine. Functions that cannot fail return NULL, "", 0 or false then; mx_device_info an empty one,
 * mx_device_logical_index -1, and mx_event_done true, as for an event that was never recorded.
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
    bool bf16_fast;     /* it is also faster with them than with fp32; otherwise they only save memory */
    bool event_times;   /* events carry device time stamps; otherwise host time at completion */
    bool graphs;        /* work can be recorded and launched as a whole, see mx_graph_begin */
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
    int cores[64];         /* CPU devices: the first cores, as the operating system numbers them */
    struct mx_device_caps caps;
    uint64_t work_bytes;   /* memory that a stream allocates for itself, charged to its budget, if it runs operations
                              of all kinds: scratch and the like */
    char bf16_missing[96]; /* without caps.bf16_multiply: what is missing ("the processor has no avx512_bf16"), or "" */
    char bf16_by[24];      /* with caps.bf16_multiply: what multiplies them ("AMX", "tensor cores") */
    char bf16_slow[96];    /* the same without caps.bf16_fast: what would be faster, and why it is not used */
    char products[16];     /* the library that multiplies its matrices: "CLBlast"; "": this program's own kernels */
    char products_missing[96]; /* a library that would be faster: "CLBlast is not installed: …"; "" if there is none */
    char kernels[32];          /* the set of kernels in use, if it has several: "AVX2, 6×16 tile"; "": it has one */
    char driver[128];          /* of accelerators: driver and versions; "": none */
    char kernels_why[96];      /* and why: "the processor has AVX2, and this build is for native" */
};

/* ---- devices: opened by registry.h ---- */
const struct mx_device_info *mx_device_info(const struct mx_device *device);
const char *mx_device_name(const struct mx_device *device); /* physical: "cuda:2" */
const char *mx_device_logical(
    const struct mx_device *device); /* after renumbering: "GPU:0" or "device 0"; the data device comes first */
int mx_device_logical_index(const struct mx_device *device);
struct mx_budget *mx_device_budget(const struct mx_device *device);
bool mx_device_can_peer(const struct mx_device *from, const struct mx_device *to);
/* The driver's measurements for all programs on the device together. MX_ERR_UNSUPPORTED, without a message, if the
 * driver has none. */
struct mx_device_load {
    double busy; /* share of the driver's last sample period in which kernels ran, 0 … 1 */
    uint64_t memory_used_bytes, memory_bytes;
};
int mx_device_load(struct mx_device *device, struct mx_device_load *out);
int mx_device_sync(struct mx_device *device);   /* waits for all streams of the device */
void mx_device_close(struct mx_device *device); /* NULL is fine; leaks are logged as warnings with owner and size */

/* ---- buffers ---- */
/* Allocates `bytes` (> 0) of device memory, charged to `owner` (a short tag such as "parameters"; copied). The contents
 * are undefined; the alignment is 64 bytes. Fails with MX_ERR_BUDGET over the limit and with MX_ERR_NO_MEMORY if the
 * device has none left. */
int mx_buffer_create(struct mx_device *device, const char *owner, size_t bytes, struct mx_buffer **out);
void mx_buffer_release(struct mx_buffer *buffer); /* NULL is fine */
size_t mx_buffer_bytes(const struct mx_buffer *buffer);
struct mx_device *mx_buffer_device(const struct mx_buffer *buffer);
void *mx_buffer_host(const struct mx_buffer *buffer); /* the memory itself where caps.host_visible; NULL elsewhere */

/* Allocates host memory with the fastest copies to and from `device` (pinned memory where it exists). It is charged to
 * `owner` on the host side: it does not count against the device's limit but appears in its statistics. */
int mx_host_alloc(struct mx_device *device, const char *owner, size_t bytes, void **out);
void mx_host_release(struct mx_device *device, void *ptr); /* NULL is fine; without a device nothing is freed */

/* A part of a buffer: the operand of an operation. {0} means absent. */
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
int mx_stream_sync(struct mx_stream *stream); /* waits for all submitted work; returns the stream's error, if any */
int mx_stream_status(const struct mx_stream *stream); /* 0, or the stream's error so far; does not wait */
void mx_stream_release(struct mx_stream *stream);     /* waits first; NULL is fine */
struct mx_device *mx_stream_device(const struct mx_stream *stream);
/* Later work on `stream` starts after the event's latest record (before this call) is complete. The event may belong to
 * another device; across backends, the calling thread waits instead. An event that was never recorded is complete. */
int mx_stream_wait(struct mx_stream *stream, struct mx_event *event);

/* ---- events ---- */
int mx_event_create(struct mx_device *device, struct mx_event **out);
void mx_event_release(struct mx_event *event); /* NULL is fine; may still be pending */
/* On a stream of the event's device; replaces an earlier record. */
int mx_event_record(struct mx_event *event, struct mx_stream *stream);
int mx_event_sync(struct mx_event *event);  /* waits; returns 0 even if the stream failed: ask the stream */
bool mx_event_done(struct mx_event *event); /* does not block */
/* Asks the driver whether the event's device is lost: 0 or the error. Events on a lost device complete too, and a stream
 * may report the loss only at its next use. Does not block. */
int mx_event_check(struct mx_event *event);
/* mx_clock_ns time of completion; 0 while pending or never recorded. */
uint64_t mx_event_time_ns(struct mx_event *event);

/* ---- copies: asynchronous on the stream, which must belong to one of the devices involved ---- */
/* `from` must stay valid until the copy is done. */
int mx_copy_upload(struct mx_stream *stream, struct mx_slice to, const void *from, size_t bytes);
int mx_copy_download(struct mx_stream *stream, void *to, struct mx_slice from, size_t bytes);
/* Copies within a device, within a backend (peer to peer or staged by the backend), or between any two devices. Across
 * backends it is asynchronous if the device that does not own the stream is host_visible; otherwise the core stages
 * through host memory and the calling thread waits. The two slices must not overlap. */
int mx_copy_slices(struct mx_stream *stream, struct mx_slice to, struct mx_slice from, size_t bytes);

/* ---- recorded work: with caps.graphs; MX_ERR_UNSUPPORTED otherwise ---- */
/* Between begin and end, operations and copies on `stream` (within its device or to and from the host) are recorded and
 * do not run; waiting for events, recording events and syncing the stream are refused. mx_graph_end stores the recorded
 * work in *graph and creates the graph if it is NULL. A graph that already has the same sequence of operations only
 * takes over the new arguments, which costs less than creating a graph. mx_graph_cancel discards the recorded work
 * (after a failure). mx_graph_launch runs it, on the stream that recorded it, with the recorded arguments; host memory,
 * which must come from mx_host_alloc, is read and written when the graph runs. The graph's buffers and its stream must
 * live as long as the graph. Release it only after its last launch is complete. */
int mx_graph_begin(struct mx_stream *stream);
int mx_graph_end(struct mx_stream *stream, struct mx_graph **graph);
void mx_graph_cancel(struct mx_stream *stream); /* does nothing if nothing is being recorded; NULL is fine */
int mx_graph_launch(struct mx_graph *graph);
void mx_graph_release(struct mx_graph *graph); /* NULL is fine */

#endif
