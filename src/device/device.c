/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The core of the devices: what myxtts/device.h promises, on top of the vtables of backend.h. It checks arguments and
 * budgets, keeps the lists for leak reports, makes errors sticky, and does what a backend leaves out. Work on
 * streams (copies, operations) is in submit.c. It knows no backend by name.
 *
 * Memory: each object is one block made here, and the backend keeps its own data behind `impl`. A device owns its
 * budget and its staging stream and block. Objects that are still alive when it closes are reported and then released.
 *
 * Locks: device->lock and stream->lock are leaf locks; nothing is called while one is held.
 */
#include "base/alloc.h"
#include "base/argument.h"
#include "base/log.h"
#include "device/backend.h"
#include "myxtts/budget.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HOST_ALIGNMENT 64

_Static_assert(sizeof((struct mx_buffer *)0)->owner == MX_BUDGET_OWNER_BYTES, "owner tags have one length");
_Static_assert(sizeof((struct mx_host_block *)0)->owner == MX_BUDGET_OWNER_BYTES, "owner tags have one length");

/* ---- devices ---- */

int mx_device_create(const struct mx_backend *backend, void *state, const struct mx_device_info *info,
                     int logical_index, uint64_t limit_bytes, struct mx_device **out)
{
    int rc = 0;
    *out = NULL;
    struct mx_device *const device = mx_alloc(1, sizeof *device);
    if (!device) return MX_ERR_NO_MEMORY;
    device->backend = backend;
    device->info = *info;
    snprintf(device->name, sizeof device->name, "%s:%d", info->backend, info->index);
    snprintf(device->logical, sizeof device->logical, "GPU:%d", logical_index);
    device->logical_index = logical_index;
    pthread_mutex_init(&device->lock, NULL);
    pthread_mutex_init(&device->staging_lock, NULL);
    pthread_cond_init(&device->unpinned, NULL);
    MX_TRY(mx_budget_create(device->name, limit_bytes ? limit_bytes : info->memory_bytes, &device->budget));
    MX_TRY(backend->device_open(state, device));
    *out = device;
out:
    if (rc < 0) {
        mx_budget_destroy(device->budget);
        pthread_cond_destroy(&device->unpinned);
        pthread_mutex_destroy(&device->staging_lock);
        pthread_mutex_destroy(&device->lock);
        mx_free(device);
    }
    return rc;
}

const struct mx_device_info *mx_device_info(const struct mx_device *device)
{
    static const struct mx_device_info none;
    return device == NULL ? &none : &device->info;
}

const char *mx_device_name(const struct mx_device *device)
{
    return device == NULL ? "" : device->name;
}

const char *mx_device_logical(const struct mx_device *device)
{
    return device == NULL ? "" : device->logical;
}

int mx_device_logical_index(const struct mx_device *device)
{
    return device == NULL ? -1 : device->logical_index;
}

struct mx_budget *mx_device_budget(const struct mx_device *device)
{
    return device == NULL ? NULL : device->budget;
}

bool mx_device_can_peer(const struct mx_device *from, const struct mx_device *to)
{
    if (from == NULL || to == NULL) return false;
    if (from == to) return true;
    if (from->backend != to->backend || !from->backend->can_peer) return false;
    return from->backend->can_peer(from, to);
}

int mx_device_load(struct mx_device *device, struct mx_device_load *out)
{
    MX_NEED(out, "a place for the load");
    *out = (struct mx_device_load){0};
    MX_NEED(device, "a device");
    return device->backend->device_load ? device->backend->device_load(device, out) : MX_ERR_UNSUPPORTED;
}

int mx_device_sync(struct mx_device *device)
{
    int rc = 0;
    struct mx_error first = {0};
    MX_NEED(device, "a device");
    pthread_mutex_lock(&device->lock);
    for (struct mx_stream *stream = device->streams; stream;) {
        stream->pins++; /* keeps it in the list while the lock is open */
        pthread_mutex_unlock(&device->lock);
        const int result = mx_stream_sync(stream);
        if (result < 0 && rc == 0) {
            rc = result;
            first = *mx_error_last();
        }
        pthread_mutex_lock(&device->lock);
        struct mx_stream *const next = stream->next;
        if (--stream->pins == 0) pthread_cond_broadcast(&device->unpinned);
        stream = next;
    }
    pthread_mutex_unlock(&device->lock);
    return rc < 0 ? mx_error_restore(&first) : 0;
}

/* One warning per owner of buffers that are still alive. The device is the caller's alone by now. */
static void leaks_log(const struct mx_device *device)
{
    char size[MX_BYTES_TEXT_BYTES];
    for (const struct mx_buffer *buffer = device->buffers; buffer; buffer = buffer->next) {
        bool told = false;
        for (const struct mx_buffer *b = device->buffers; b != buffer; b = b->next) {
            told = told || strcmp(b->owner, buffer->owner) == 0;
        }
        if (told) continue;
        uint64_t bytes = 0;
        int count = 0;
        for (const struct mx_buffer *b = buffer; b; b = b->next) {
            if (strcmp(b->owner, buffer->owner) != 0) continue;
            bytes += b->bytes;
            count++;
        }
        mx_warn("%s closed with a leak: \"%s\" still holds %s (%" PRIu64 " bytes) in %d buffer%s", device->name,
                buffer->owner, mx_bytes_text(bytes, size), bytes, count, count == 1 ? "" : "s");
    }
    for (const struct mx_host_block *block = device->blocks; block; block = block->next) {
        mx_warn("%s closed with a leak: \"%s\" still holds %s (%zu bytes) of host memory", device->name, block->owner,
                mx_bytes_text(block->bytes, size), block->bytes);
    }
    for (const struct mx_stream *stream = device->streams; stream; stream = stream->next) {
        mx_warn("%s closed with a leak: stream \"%s\" was not released", device->name, stream->name);
    }
    int events = 0, graphs = 0;
    for (const struct mx_graph *graph = device->graphs; graph; graph = graph->next) graphs++;
    if (graphs > 0) {
        mx_warn("%s closed with a leak: %d graph%s not released", device->name, graphs,
                graphs == 1 ? " was" : "s were");
    }
    for (const struct mx_event *event = device->events; event; event = event->next) events++;
    if (events > 0) {
        mx_warn("%s closed with a leak: %d event%s not released", device->name, events,
                events == 1 ? " was" : "s were");
    }
}

void mx_device_close(struct mx_device *device)
{
    if (!device) return;
    mx_stream_release(device->staging_stream);
    mx_host_release(device, device->staging);
    leaks_log(device);
    while (device->streams) mx_stream_release(device->streams); /* waits: queued work may use the buffers */
    while (device->graphs) mx_graph_release(device->graphs);
    while (device->events) mx_event_release(device->events);
    while (device->buffers) mx_buffer_release(device->buffers);
    while (device->blocks) mx_host_release(device, device->blocks->ptr);
    device->backend->device_close(device);
    while (device->released) {
        struct mx_buffer *const buffer = device->released;
        device->released = buffer->next;
        mx_free(buffer);
    }
    mx_budget_destroy(device->budget);
    pthread_cond_destroy(&device->unpinned);
    pthread_mutex_destroy(&device->staging_lock);
    pthread_mutex_destroy(&device->lock);
    mx_free(device);
}

/* ---- buffers and host memory ---- */

int mx_buffer_create(struct mx_device *device, const char *owner, size_t bytes, struct mx_buffer **out)
{
    int rc = 0;
    bool charged = false;
    struct mx_buffer *buffer = NULL;
    MX_NEED(out, "a place for the buffer");
    *out = NULL;
    MX_NEED(device, "a device");
    if (bytes == 0) {
        MX_RAISE(MX_ERR_ARGUMENT, "leave out what is empty", "%s: \"%s\" asked for a buffer of 0 bytes", device->name,
                 owner ? owner : "");
    }
    MX_TRY(mx_budget_charge(device->budget, owner, bytes, false));
    charged = true;
    buffer = mx_alloc(1, sizeof *buffer);
    if (!buffer) {
        rc = MX_ERR_NO_MEMORY;
        goto out;
    }
    buffer->device = device;
    buffer->bytes = bytes;
    snprintf(buffer->owner, sizeof buffer->owner, "%s", owner);
    rc = device->backend->buffer_create(buffer);
    if (rc < 0) {
        mx_error_wrap("%s: buffer of %zu bytes for \"%s\"", device->name, bytes, owner);
        goto out;
    }
    pthread_mutex_lock(&device->lock);
    buffer->next = device->buffers;
    if (buffer->next) buffer->next->prev = buffer;
    device->buffers = buffer;
    pthread_mutex_unlock(&device->lock);
    *out = buffer;
out:
    if (rc < 0) {
        mx_free(buffer);
        if (charged) mx_budget_credit(device->budget, owner, bytes, false);
    }
    return rc;
}

void mx_buffer_release(struct mx_buffer *buffer)
{
    if (!buffer) return;
    struct mx_device *const device = buffer->device;
    pthread_mutex_lock(&device->lock);
    if (buffer->prev) buffer->prev->next = buffer->next;
    if (buffer->next) buffer->next->prev = buffer->prev;
    if (device->buffers == buffer) device->buffers = buffer->next;
    pthread_mutex_unlock(&device->lock);
    device->backend->buffer_release(buffer);
    mx_budget_credit(device->budget, buffer->owner, buffer->bytes, false);
    if (!device->backend->keeps_released) {
        mx_free(buffer);
        return;
    }
    pthread_mutex_lock(&device->lock);
    buffer->prev = NULL;
    buffer->next = device->released;
    device->released = buffer;
    pthread_mutex_unlock(&device->lock);
}

size_t mx_buffer_bytes(const struct mx_buffer *buffer)
{
    return buffer == NULL ? 0 : buffer->bytes;
}

struct mx_device *mx_buffer_device(const struct mx_buffer *buffer)
{
    return buffer == NULL ? NULL : buffer->device;
}

void *mx_buffer_host(const struct mx_buffer *buffer)
{
    return buffer != NULL && buffer->device->info.caps.host_visible ? buffer->host : NULL;
}

int mx_host_alloc(struct mx_device *device, const char *owner, size_t bytes, void **out)
{
    int rc = 0;
    bool charged = false;
    struct mx_host_block *block = NULL;
    MX_NEED(out, "a place for the address");
    *out = NULL;
    MX_NEED(device, "a device");
    if (bytes == 0) {
        MX_RAISE(MX_ERR_ARGUMENT, "leave out what is empty", "%s: \"%s\" asked for 0 bytes of host memory",
                 device->name, owner ? owner : "");
    }
    MX_TRY(mx_budget_charge(device->budget, owner, bytes, true));
    charged = true;
    block = mx_alloc(1, sizeof *block);
    if (!block) {
        rc = MX_ERR_NO_MEMORY;
        goto out;
    }
    block->bytes = bytes;
    snprintf(block->owner, sizeof block->owner, "%s", owner);
    if (device->backend->host_alloc) {
        MX_TRY(device->backend->host_alloc(device, bytes, &block->ptr));
    } else {
        block->ptr = mx_alloc_aligned(bytes, HOST_ALIGNMENT);
        if (!block->ptr) {
            rc = MX_ERR_NO_MEMORY;
            goto out;
        }
    }
    pthread_mutex_lock(&device->lock);
    block->next = device->blocks;
    device->blocks = block;
    pthread_mutex_unlock(&device->lock);
    *out = block->ptr;
out:
    if (rc < 0) {
        mx_free(block);
        if (charged) mx_budget_credit(device->budget, owner, bytes, true);
    }
    return rc;
}

void mx_host_release(struct mx_device *device, void *ptr)
{
    if (!ptr) return;
    if (!device) {
        mx_warn("host memory was released without a device; nothing is freed");
        return;
    }
    pthread_mutex_lock(&device->lock);
    struct mx_host_block **link = &device->blocks;
    while (*link && (*link)->ptr != ptr) link = &(*link)->next;
    struct mx_host_block *const block = *link;
    if (block) *link = block->next;
    pthread_mutex_unlock(&device->lock);
    if (!block) {
        mx_warn("%s: host memory that does not belong to this device was released; nothing is freed", device->name);
        return;
    }
    if (device->backend->host_release) {
        device->backend->host_release(device, ptr);
    } else {
        mx_free(ptr);
    }
    mx_budget_credit(device->budget, block->owner, block->bytes, true);
    mx_free(block);
}

/* ---- streams ---- */

void mx_stream_fail(struct mx_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    if (atomic_load_explicit(&stream->failed, memory_order_relaxed) == 0) {
        stream->error = *mx_error_last();
        if (stream->error.code == 0) stream->error.code = MX_ERR_INTERNAL;
        atomic_store_explicit(&stream->failed, stream->error.code, memory_order_release);
    }
    pthread_mutex_unlock(&stream->lock);
}

int mx_stream_status(const struct mx_stream *stream)
{
    MX_NEED(stream, "a stream");
    /* `error` does not change once `failed` is set. */
    if (atomic_load_explicit(&stream->failed, memory_order_acquire) == 0) return 0;
    return mx_error_restore(&stream->error);
}

int mx_stream_create(struct mx_device *device, const char *name, struct mx_stream **out)
{
    MX_NEED(out, "a place for the stream");
    *out = NULL;
    MX_NEED(device, "a device");
    MX_NEED(name, "a name");
    struct mx_stream *const stream = mx_alloc(1, sizeof *stream);
    if (!stream) return MX_ERR_NO_MEMORY;
    stream->device = device;
    snprintf(stream->name, sizeof stream->name, "%s", name);
    pthread_mutex_init(&stream->lock, NULL);
    const int rc = device->backend->stream_create(stream);
    if (rc < 0) {
        pthread_mutex_destroy(&stream->lock);
        mx_free(stream);
        return rc;
    }
    pthread_mutex_lock(&device->lock);
    stream->next = device->streams;
    if (stream->next) stream->next->prev = stream;
    device->streams = stream;
    pthread_mutex_unlock(&device->lock);
    *out = stream;
    return 0;
}

int mx_stream_sync(struct mx_stream *stream)
{
    MX_NEED(stream, "a stream");
    if (stream->recording) return mx_graph_refuse(stream, "synced");
    const int rc = stream->device->backend->stream_sync(stream);
    return rc < 0 ? rc : mx_stream_status(stream);
}

void mx_stream_release(struct mx_stream *stream)
{
    if (!stream) return;
    struct mx_device *const device = stream->device;
    mx_graph_cancel(stream);
    device->backend->stream_sync(stream);
    pthread_mutex_lock(&device->lock);
    while (stream->pins > 0) pthread_cond_wait(&device->unpinned, &device->lock);
    if (stream->prev) stream->prev->next = stream->next;
    if (stream->next) stream->next->prev = stream->prev;
    if (device->streams == stream) device->streams = stream->next;
    pthread_mutex_unlock(&device->lock);
    device->backend->stream_release(stream);
    pthread_mutex_destroy(&stream->lock);
    mx_free(stream);
}

struct mx_device *mx_stream_device(const struct mx_stream *stream)
{
    return stream == NULL ? NULL : stream->device;
}

/* A failed stream still takes waits and records: its events complete, but not before the work they wait for. */
int mx_stream_wait(struct mx_stream *stream, struct mx_event *event)
{
    MX_NEED(stream, "a stream");
    MX_NEED(event, "an event");
    const struct mx_backend *const backend = stream->device->backend;
    if (stream->recording) return mx_graph_refuse(stream, "made to wait for an event");
    const int rc = event->device->backend == backend ? backend->stream_wait(stream, event) : mx_event_sync(event);
    return rc < 0 ? rc : mx_stream_status(stream);
}

/* ---- handles for libraries of the maker, see native.h ---- */

enum mx_native_kind mx_native_kind(const struct mx_device *device)
{
    return device->backend->native_kind;
}

int mx_native_get(struct mx_stream *stream, struct mx_slice memory, struct mx_native *out)
{
    const struct mx_backend *const backend = stream->device->backend;
    *out = (struct mx_native){0};
    if (backend->native_kind == MX_NATIVE_NONE)
        return MX_FAIL(MX_ERR_UNSUPPORTED, "choose a device of the library's vendor",
                       "%s has no handles for a vendor library", stream->device->name);
    const int rc = mx_stream_status(stream);
    return rc < 0 ? rc : backend->native_get(stream, memory, out);
}

/* ---- events ---- */

int mx_event_create(struct mx_device *device, struct mx_event **out)
{
    MX_NEED(out, "a place for the event");
    *out = NULL;
    MX_NEED(device, "a device");
    struct mx_event *const event = mx_alloc(1, sizeof *event);
    if (!event) return MX_ERR_NO_MEMORY;
    event->device = device;
    const int rc = device->backend->event_create(event);
    if (rc < 0) {
        mx_free(event);
        return rc;
    }
    pthread_mutex_lock(&device->lock);
    event->next = device->events;
    if (event->next) event->next->prev = event;
    device->events = event;
    pthread_mutex_unlock(&device->lock);
    *out = event;
    return 0;
}

void mx_event_release(struct mx_event *event)
{
    if (!event) return;
    struct mx_device *const device = event->device;
    pthread_mutex_lock(&device->lock);
    if (event->prev) event->prev->next = event->next;
    if (event->next) event->next->prev = event->prev;
    if (device->events == event) device->events = event->next;
    pthread_mutex_unlock(&device->lock);
    device->backend->event_release(event);
    mx_free(event);
}

int mx_event_record(struct mx_event *event, struct mx_stream *stream)
{
    MX_NEED(event, "an event");
    MX_NEED(stream, "a stream");
    if (event->device != stream->device) {
        return MX_FAIL(MX_ERR_ARGUMENT, "create the event on the device of the stream that records it",
                       "an event of %s cannot be recorded on stream \"%s\" of %s", event->device->name, stream->name,
                       stream->device->name);
    }
    if (stream->recording) return mx_graph_refuse(stream, "asked to record an event");
    const int rc = stream->device->backend->event_record(event, stream);
    return rc < 0 ? rc : mx_stream_status(stream);
}

int mx_event_sync(struct mx_event *event)
{
    MX_NEED(event, "an event");
    return event->device->backend->event_sync(event);
}

bool mx_event_done(struct mx_event *event)
{
    return event == NULL || event->device->backend->event_done(event);
}

int mx_event_check(struct mx_event *event)
{
    MX_NEED(event, "an event");
    return event->device->backend->event_check ? event->device->backend->event_check(event) : 0;
}

uint64_t mx_event_time_ns(struct mx_event *event)
{
    return event == NULL ? 0 : event->device->backend->event_time_ns(event);
}
