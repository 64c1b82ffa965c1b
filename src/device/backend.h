/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The vtable: for authors of backends only. Callers use myxtts/device.h.
 *
 * A backend fills one const struct mx_backend. Entries marked (optional) may be NULL; the comment gives the default,
 * which the core implements (device.c). The core owns the structs below, checks arguments and budgets before calling,
 * and keeps the lists for leak reports; a backend keeps its own data behind `impl`. All entries that submit work are
 * asynchronous. They return a negative code only when the work could not be queued; a failure while it runs becomes the
 * stream's sticky error (mx_stream_fail).
 */
#ifndef MX_DEVICE_BACKEND_H
#define MX_DEVICE_BACKEND_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/native.h"
#include "myxtts/device.h"
#include "myxtts/error.h"
#include "myxtts/ops.h"
#include "myxtts/registry.h"

struct mx_device {
    const struct mx_backend *backend;
    struct mx_device_info info;
    char name[32];    /* "cpu:0" */
    char logical[24]; /* "GPU:0", "device 0" */
    int logical_index;
    struct mx_budget *budget;
    pthread_mutex_t lock;             /* protects the lists and the pins of streams; a leaf lock */
    pthread_cond_t unpinned;          /* with lock: a stream's pins fell to 0 */
    struct mx_buffer *buffers;        /* alive, for the leak report */
    struct mx_buffer *released;       /* released but kept, where the backend asks for it */
    struct mx_stream *streams;        /* alive, for mx_device_sync */
    struct mx_host_block *blocks;     /* alive, from mx_host_alloc */
    struct mx_event *events;          /* alive */
    struct mx_graph *graphs;          /* alive */
    pthread_mutex_t staging_lock;     /* held for the duration of a staged copy: protects the next two */
    struct mx_stream *staging_stream; /* the core's own, for copies from or to another backend; made at first use */
    void *staging;
    void *impl;
};

/* One mx_host_alloc. */
struct mx_host_block {
    void *ptr;
    size_t bytes;
    char owner[32];
    struct mx_host_block *next;
};

struct mx_buffer {
    struct mx_device *device;
    size_t bytes;
    char owner[32];
    void *host; /* where caps.host_visible; otherwise NULL */
    void *impl;
    struct mx_buffer *prev, *next;
};

struct mx_stream {
    struct mx_device *device;
    char name[32];
    atomic_int failed;     /* 0, or the code of `error`; set once */
    pthread_mutex_t lock;  /* protects `error`; a leaf lock */
    struct mx_error error; /* the first failure of work on this stream */
    int pins;              /* mx_device_sync calls that wait for this stream; device->lock; release waits for 0 */
    atomic_bool recording; /* between mx_graph_begin and mx_graph_end; of the thread that uses the stream */
    void *impl;
    struct mx_stream *prev, *next;
};

struct mx_event {
    struct mx_device *device;
    void *impl;
    struct mx_event *prev, *next;
};

struct mx_graph {
    struct mx_device *device;
    struct mx_stream *stream; /* which recorded it and runs it */
    void *impl;               /* NULL until something was recorded */
    struct mx_graph *prev, *next;
};

struct mx_backend {
    const char *name;            /* "cpu" */
    const char *requires;        /* what to install if it is missing: "an NVIDIA driver (libcuda.so.1)" */
    enum mx_backend_order order; /* (optional) its place among the backends to choose from; default: never chosen */
    bool gpus_only;              /* (optional) see struct mx_backend_status, as the next */
    bool is_cpu;
    bool keeps_released; /* (optional) for tests: struct mx_buffer outlives its release until the device closes, so
                             that a backend can detect use after release */

    /* Starts the backend: finds and splits devices. `*state` belongs to the backend and is passed to the next three. On
     * failure the error's message and hint give the reason (the registry keeps both for listings); MX_ERR_DEVICE: there
     * are devices, and none can be used. */
    int (*open)(const struct mx_registry_options *options, void **state);
    void (*close)(void *state);
    const char *(*left_out)(void *state); /* (optional: none) why some devices cannot be used; "" if none is left out */
    int (*device_count)(void *state);
    int (*device_info)(void *state, int index, struct mx_device_info *out);

    /* device->info, name, budget are set; the backend sets impl. */
    int (*device_open)(void *state, struct mx_device *device);
    void (*device_close)(struct mx_device *device);

    int (*buffer_create)(struct mx_buffer *buffer); /* bytes set; sets host (if visible) and impl */
    void (*buffer_release)(struct mx_buffer *buffer);
    /* (optional) default: 64-byte aligned malloc */
    int (*host_alloc)(struct mx_device *device, size_t bytes, void **out);
    void (*host_release)(struct mx_device *device, void *ptr); /* (optional) default: free */

    int (*stream_create)(struct mx_stream *stream);
    void (*stream_release)(struct mx_stream *stream); /* work is complete already */
    int (*stream_sync)(struct mx_stream *stream);
    int (*stream_wait)(struct mx_stream *stream, struct mx_event *event); /* event of any device of this backend */

    int (*event_create)(struct mx_event *event);
    void (*event_release)(struct mx_event *event);
    int (*event_record)(struct mx_event *event, struct mx_stream *stream);
    int (*event_sync)(struct mx_event *event);
    bool (*event_done)(struct mx_event *event);
    int (*event_check)(struct mx_event *event); /* (optional) default: 0 */
    uint64_t (*event_time_ns)(struct mx_event *event);

    int (*copy_upload)(struct mx_stream *stream, struct mx_slice to, const void *from, size_t bytes);
    int (*copy_download)(struct mx_stream *stream, void *to, struct mx_slice from, size_t bytes);
    /* Both of this backend. */
    int (*copy_slices)(struct mx_stream *stream, struct mx_slice to, struct mx_slice from, size_t bytes);
    bool (*can_peer)(const struct mx_device *from, const struct mx_device *to); /* (optional) default: false */

    /* Queues one operation; its arguments have been checked and must be copied (sizes: mx_op_args_bytes). */
    int (*submit)(struct mx_stream *stream, enum mx_op op, const void *args);
    /* (optional) default: everything */
    bool (*supports)(const struct mx_device *device, enum mx_op op, const void *args);

    /* (optional) default: MX_ERR_UNSUPPORTED */
    int (*device_load)(struct mx_device *device, struct mx_device_load *out);

    /* Recorded work (optional, all of them or none; caps.graphs says whether). default: MX_ERR_UNSUPPORTED. graph_end
     * with NULL discards the recording; it ends the recording even if it fails. graph_release is called only if impl is
     * set. */
    int (*graph_begin)(struct mx_stream *stream);
    int (*graph_end)(struct mx_stream *stream, struct mx_graph *graph);
    int (*graph_launch)(struct mx_graph *graph);
    void (*graph_release)(struct mx_graph *graph);

    /* Handles for the vendor's own libraries (optional, see native.h). default: MX_NATIVE_NONE, MX_ERR_UNSUPPORTED */
    enum mx_native_kind native_kind;
    int (*native_get)(struct mx_stream *stream, struct mx_slice memory, struct mx_native *out);
};

/* For backends: records the first failure of asynchronous work; the error is the calling thread's current one. */
void mx_stream_fail(struct mx_stream *stream);

/* For the core: refuses what a stream cannot do while its work is being recorded; `what`: "synced". */
int mx_graph_refuse(const struct mx_stream *stream, const char *what);

/* For the registry: makes the device that `info` describes and opens it. `state` belongs to the backend. */
int mx_device_create(const struct mx_backend *backend, void *state, const struct mx_device_info *info,
                     int logical_index, uint64_t limit_bytes, struct mx_device **out);

#endif
