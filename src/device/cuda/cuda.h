/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Internals of the CUDA backend.
 *
 * state → device (the primary context, kernels, a stream for the backend's own work) → stream (scratch, a cuBLAS handle
 * with its workspace, status words). Every entry of the vtable makes the context of its device current for the calling
 * thread (mx_cuda_enter) before it calls the driver. All vtable entries live in the files named below.
 *
 * Memory: the state owns the table of entry points and the list of devices. Each object of the core has one block
 * behind `impl`; for a buffer `impl` is the device address itself.
 *
 * Locks: mx_cuda_device.lock protects the clock's events and the routes; copies between devices are queued while it is
 * held, so that two threads do not mix their pieces. It is a leaf.
 */
#ifndef MX_DEVICE_CUDA_CUDA_H
#define MX_DEVICE_CUDA_CUDA_H

#include "device/backend.h"
#include "device/cuda/cuda_api.h"
#include "device/kernels/launch.h"

#define MX_CUDA_DEVICES_MAX 64

/* One device of the listing. */
struct mx_cuda_entry {
    CUdevice device;
    int capability; /* 86 is 8.6 */
    char bus[24];   /* "0000:41:00.0" */
};

struct mx_cuda_state {
    struct mx_cuda_api api;
    struct mx_cuda_entry entries[MX_CUDA_DEVICES_MAX];
    int count;
    char left_out[512]; /* why each of the other devices cannot be used */
};

/* How copies go from one device to another; made at the first such copy, for the device of the stream. */
struct mx_cuda_route;

struct mx_cuda_device {
    const struct mx_cuda_api *cu;
    const struct mx_cuda_entry *entry;
    CUcontext context;
    CUstream errands;
    CUmodule module;
    CUfunction kernels[MX_K_COUNT];
    struct mx_kernel_tuning tuning;
    nvmlDevice_t nvml; /* NULL: unknown */
    pthread_mutex_t lock;
    CUevent clock[2]; /* [0]: was complete at clock_ns of mx_clock_ns; [1]: for the next comparison */
    uint64_t clock_ns;
    struct mx_cuda_route *routes;
};

struct mx_cuda_stream {
    CUstream stream;
    CUdeviceptr status;  /* MX_STATUS_WORDS int32: what a kernel found wrong with its data */
    bool looks;          /* an operation that may write to status was queued since the last look */
    cublasHandle_t blas; /* this, and the next three: made at first use */
    struct mx_buffer *scratch, *work, *workspace; /* of kernels, of products, of cuBLAS */
};

struct mx_cuda_event {
    CUevent event;
    atomic_bool recorded;
};

static inline struct mx_cuda_device *mx_cuda_device_of(const struct mx_device *device)
{
    return device->impl;
}

static inline CUdeviceptr mx_cuda_memory(struct mx_slice slice)
{
    return (CUdeviceptr)(uintptr_t)slice.buffer->impl + slice.offset_bytes;
}

/* Makes the device's context current for the calling thread. */
static inline CUresult mx_cuda_enter(const struct mx_cuda_device *device)
{
    return device->cu->cuCtxSetCurrent(device->context);
}

/* cuda_device.c */
int mx_cuda_device_open(void *state, struct mx_device *device);
void mx_cuda_device_close(struct mx_device *device);
int mx_cuda_device_load(struct mx_device *device, struct mx_device_load *out);
int mx_cuda_buffer_create(struct mx_buffer *buffer);
void mx_cuda_buffer_release(struct mx_buffer *buffer);
int mx_cuda_host_alloc(struct mx_device *device, size_t bytes, void **out);
void mx_cuda_host_release(struct mx_device *device, void *ptr);
/* mx_clock_ns time of a complete event of this device; 0 if the driver does not give it. */
uint64_t mx_cuda_clock_of(struct mx_cuda_device *device, CUevent event);

/* cuda_stream.c */
int mx_cuda_stream_create(struct mx_stream *stream);
void mx_cuda_stream_release(struct mx_stream *stream);
int mx_cuda_stream_sync(struct mx_stream *stream);
int mx_cuda_stream_wait(struct mx_stream *stream, struct mx_event *event);
/* Turns the result of a driver call for this stream into 0 or an error; if the device is lost, it becomes the stream's
 * error. */
int mx_cuda_stream_told(struct mx_stream *stream, CUresult code, const char *what);
int mx_cuda_native_get(struct mx_stream *stream, struct mx_slice memory, struct mx_native *out);
int mx_cuda_event_create(struct mx_event *event);
void mx_cuda_event_release(struct mx_event *event);
int mx_cuda_event_record(struct mx_event *event, struct mx_stream *stream);
int mx_cuda_event_sync(struct mx_event *event);
bool mx_cuda_event_done(struct mx_event *event);
int mx_cuda_event_check(struct mx_event *event);
uint64_t mx_cuda_event_time_ns(struct mx_event *event);

/* cuda_copy.c */
int mx_cuda_copy_upload(struct mx_stream *stream, struct mx_slice to, const void *from, size_t bytes);
int mx_cuda_copy_download(struct mx_stream *stream, void *to, struct mx_slice from, size_t bytes);
int mx_cuda_copy_slices(struct mx_stream *stream, struct mx_slice to, struct mx_slice from, size_t bytes);
bool mx_cuda_can_peer(const struct mx_device *from, const struct mx_device *to);
void mx_cuda_routes_release(struct mx_cuda_device *device);

/* cuda_submit.c */
int mx_cuda_submit(struct mx_stream *stream, enum mx_op op, const void *args);
int mx_cuda_stream_prepare(struct mx_stream *stream); /* takes everything that operations take at first use */
/* Bytes of that, on a device of this memory and compute capability. */
uint64_t mx_cuda_stream_bytes(uint64_t memory_bytes, int capability);

/* cuda_graph.c */
int mx_cuda_graph_begin(struct mx_stream *stream);
int mx_cuda_graph_end(struct mx_stream *stream, struct mx_graph *graph);
int mx_cuda_graph_launch(struct mx_graph *graph);
void mx_cuda_graph_release(struct mx_graph *graph);

/* cuda_program.c: builds the kernels for a device, or loads them from the disk cache. */
int mx_cuda_program_open(const struct mx_device *device, struct mx_cuda_device *impl);

#endif
