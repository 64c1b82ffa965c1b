/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Internals of the OpenCL backend.
 *
 * state → platform (one context for all its chosen devices, so that events and copies work across them) → device
 * (program, a queue for the backend's own work) → stream (one in-order queue, its own kernel objects, scratch and
 * status word). All vtable entries live in the files named below.
 *
 * Memory: the state owns the platforms from open to close; a platform's context lives from its first
 * open device to its last. Each object of the core has one block behind `impl`.
 *
 * Locks: mx_opencl_platform.lock protects context, users and program; it is held while a program is built, so that two
 * devices of one kind build it once. mx_opencl_device.lock protects the order of that queue and `pinned`. Neither is
 * taken while the other is held.
 */
#ifndef MX_DEVICE_OPENCL_OPENCL_H
#define MX_DEVICE_OPENCL_OPENCL_H

#include "device/backend.h"
#include "device/kernels/launch.h"
#include "device/opencl/cl_api.h"
#include "device/opencl/clblast.h"

#define MX_OPENCL_DEVICES_MAX   64
#define MX_OPENCL_PLATFORMS_MAX 16

struct mx_opencl_platform {
    cl_platform_id id;
    char name[64];
    pthread_mutex_t lock;
    cl_context context; /* NULL while no device is open */
    int users;          /* open devices */
};

/* One device of the listing. */
struct mx_opencl_entry {
    cl_device_id id;
    int platform;
    bool chosen; /* named in the selection, or nothing was */
};

struct mx_opencl_state {
    struct mx_cl_api api;
    struct mx_clblast blast;
    struct mx_opencl_platform platforms[MX_OPENCL_PLATFORMS_MAX];
    int platform_count;
    struct mx_opencl_entry entries[MX_OPENCL_DEVICES_MAX];
    int count;
};

/* A block of mx_host_alloc: a mapped buffer. */
struct mx_opencl_pinned {
    cl_mem memory;
    void *ptr;
    struct mx_opencl_pinned *next;
};

struct mx_opencl_device {
    const struct mx_cl_api *cl;
    struct mx_opencl_platform *platform;
    cl_device_id id;
    cl_context context; /* the platform's */
    cl_command_queue errands;
    cl_program program;
    struct mx_kernel_tuning tuning;
    uint64_t most_bytes;    /* of one buffer */
    int64_t clock_shift_ns; /* mx_clock_ns - the device's clock */
    pthread_mutex_t lock;
    struct mx_opencl_pinned *pinned;
    void *stage;               /* for copies between contexts; device->lock */
    struct mx_clblast *blast;  /* the state's, if it serves this device; otherwise NULL */
    atomic_bool blast_checked; /* checked: it multiplies correctly here */
};

struct mx_opencl_stream {
    cl_command_queue queue;
    cl_kernel kernels[MX_K_COUNT];  /* made at first use */
    struct mx_buffer *scratch;      /* taken by the first operation that needs it */
    struct mx_buffer *work, *temp;  /* see clblast.h */
    cl_mem status;                  /* MX_STATUS_WORDS int32: what a kernel found wrong with its data */
    bool looks;                     /* an operation that may write to status was queued since the last look */
    int32_t found[MX_STATUS_WORDS]; /* the values read last */
};

/* lock protects `event`: one thread may record while others wait. A leaf lock. */
struct mx_opencl_event {
    pthread_mutex_t lock;
    cl_event event; /* NULL: never recorded */
};

static inline struct mx_opencl_device *mx_opencl_device_of(const struct mx_device *device)
{
    return device->impl;
}

static inline cl_mem mx_opencl_memory(const struct mx_buffer *buffer)
{
    return (cl_mem)buffer->impl;
}

/* Writes a text from the driver to `out` without leading and trailing spaces; "" if the driver does not give it. */
void mx_opencl_device_text(const struct mx_cl_api *cl, cl_device_id id, cl_device_info what, char *out, size_t size);

/* opencl_device.c */
int mx_opencl_device_open(void *state, struct mx_device *device);
void mx_opencl_device_close(struct mx_device *device);
int mx_opencl_buffer_create(struct mx_buffer *buffer);
void mx_opencl_buffer_release(struct mx_buffer *buffer);
int mx_opencl_host_alloc(struct mx_device *device, size_t bytes, void **out);
void mx_opencl_host_release(struct mx_device *device, void *ptr);

/* opencl_stream.c */
int mx_opencl_stream_create(struct mx_stream *stream);
void mx_opencl_stream_release(struct mx_stream *stream);
int mx_opencl_stream_sync(struct mx_stream *stream);
int mx_opencl_stream_wait(struct mx_stream *stream, struct mx_event *event);
int mx_opencl_event_create(struct mx_event *event);
void mx_opencl_event_release(struct mx_event *event);
int mx_opencl_event_record(struct mx_event *event, struct mx_stream *stream);
int mx_opencl_event_sync(struct mx_event *event);
bool mx_opencl_event_done(struct mx_event *event);
int mx_opencl_event_check(struct mx_event *event);
uint64_t mx_opencl_event_time_ns(struct mx_event *event);
int mx_opencl_copy_upload(struct mx_stream *stream, struct mx_slice to, const void *from, size_t bytes);
int mx_opencl_copy_download(struct mx_stream *stream, void *to, struct mx_slice from, size_t bytes);
int mx_opencl_copy_slices(struct mx_stream *stream, struct mx_slice to, struct mx_slice from, size_t bytes);

/* opencl_submit.c */
int mx_opencl_submit(struct mx_stream *stream, enum mx_op op, const void *args);
bool mx_opencl_supports(const struct mx_device *device, enum mx_op op, const void *args);

/* opencl_program.c: builds the kernels for a device, or loads them from the disk cache. */
int mx_opencl_program_open(const struct mx_device *device, struct mx_opencl_device *impl);

#endif
