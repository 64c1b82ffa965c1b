/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA copies: to and from the host, within a device, and between two devices.
 *
 * Between two devices the driver copies by itself where both may access each other (cuDeviceCanAccessPeer); elsewhere
 * (most GeForce cards) the data go through two halves of a pinned block, piece by piece: the stream of the copy moves
 * the data of its own device, a helper stream of the other device moves the rest, and events make each wait for the
 * half that it needs. Nothing blocks the calling thread.
 *
 * Memory: a route belongs to the device whose stream copies and lives as long as that device. It holds the primary
 * contexts of both devices, so its helper outlives the other device.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "device/cuda/cuda.h"

#include <stdio.h>

#define HALF_BYTES ((size_t)4 << 20)

struct mx_cuda_route {
    CUdevice from, to;
    CUcontext from_context, to_context;
    bool peer;
    char *stage;        /* two halves, pinned; the rest is NULL with `peer`, too */
    CUstream helper;    /* of the device that is not the stream's */
    CUevent begin;      /* of the device of the stream: what was queued before the copy */
    CUevent read[2];    /* of `from`: the half is filled */
    CUevent written[2]; /* of `to`: the half is free again */
    struct mx_cuda_route *next;
};

/* ---- host ---- */

int mx_cuda_copy_upload(struct mx_stream *stream, struct mx_slice to, const void *from, size_t bytes)
{
    const struct mx_cuda_stream *const impl = stream->impl;
    const struct mx_cuda_device *const device = mx_cuda_device_of(stream->device);
    CUresult code = mx_cuda_enter(device);
    if (code == CUDA_SUCCESS) code = device->cu->cuMemcpyHtoDAsync_v2(mx_cuda_memory(to), from, bytes, impl->stream);
    return mx_cuda_stream_told(stream, code, "copy from the host");
}

int mx_cuda_copy_download(struct mx_stream *stream, void *to, struct mx_slice from, size_t bytes)
{
    const struct mx_cuda_stream *const impl = stream->impl;
    const struct mx_cuda_device *const device = mx_cuda_device_of(stream->device);
    CUresult code = mx_cuda_enter(device);
    if (code == CUDA_SUCCESS) code = device->cu->cuMemcpyDtoHAsync_v2(to, mx_cuda_memory(from), bytes, impl->stream);
    return mx_cuda_stream_told(stream, code, "copy to the host");
}

/* ---- routes ---- */

bool mx_cuda_can_peer(const struct mx_device *from, const struct mx_device *to)
{
    const struct mx_cuda_device *const a = mx_cuda_device_of(from), *const b = mx_cuda_device_of(to);
    int there = 0, back = 0;
    if (a->entry->device == b->entry->device) return true;
    return a->cu->cuDeviceCanAccessPeer(&there, a->entry->device, b->entry->device) == CUDA_SUCCESS && there &&
           a->cu->cuDeviceCanAccessPeer(&back, b->entry->device, a->entry->device) == CUDA_SUCCESS && back;
}

static bool access_enable(const struct mx_cuda_api *cu, CUcontext own, CUcontext peer)
{
    if (cu->cuCtxSetCurrent(own) != CUDA_SUCCESS) return false;
    const CUresult code = cu->cuCtxEnablePeerAccess(peer, 0);
    return code == CUDA_SUCCESS || code == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

static void route_release(const struct mx_cuda_api *cu, struct mx_cuda_route *route)
{
    for (int i = 0; i < 2; i++) {
        if (route->read[i]) cu->cuEventDestroy_v2(route->read[i]);
        if (route->written[i]) cu->cuEventDestroy_v2(route->written[i]);
    }
    if (route->begin) cu->cuEventDestroy_v2(route->begin);
    if (route->helper) {
        cu->cuStreamSynchronize(route->helper);
        cu->cuStreamDestroy_v2(route->helper);
    }
    if (route->stage) cu->cuMemFreeHost(route->stage);
    if (route->from_context) cu->cuDevicePrimaryCtxRelease_v2(route->from);
    if (route->to_context) cu->cuDevicePrimaryCtxRelease_v2(route->to);
    mx_free(route);
}

void mx_cuda_routes_release(struct mx_cuda_device *device)
{
    while (device->routes) {
        struct mx_cuda_route *const route = device->routes;
        device->routes = route->next;
        route_release(device->cu, route);
    }
}

/* The pinned block, the helper and the events; `own` is the context of the stream. */
static CUresult route_stage(const struct mx_cuda_api *cu, struct mx_cuda_route *route, CUcontext own)
{
    CUcontext const other = own == route->from_context ? route->to_context : route->from_context;
    void *stage = NULL;
    CUresult code = cu->cuCtxSetCurrent(other);
    if (code == CUDA_SUCCESS) code = cu->cuStreamCreate(&route->helper, CU_STREAM_NON_BLOCKING);
    if (code == CUDA_SUCCESS) code = cu->cuCtxSetCurrent(route->from_context);
    for (int i = 0; i < 2 && code == CUDA_SUCCESS; i++)
        code = cu->cuEventCreate(&route->read[i], CU_EVENT_BLOCKING_SYNC);
    if (code == CUDA_SUCCESS) code = cu->cuCtxSetCurrent(route->to_context);
    for (int i = 0; i < 2 && code == CUDA_SUCCESS; i++)
        code = cu->cuEventCreate(&route->written[i], CU_EVENT_BLOCKING_SYNC);
    if (code == CUDA_SUCCESS) code = cu->cuCtxSetCurrent(own);
    if (code == CUDA_SUCCESS) code = cu->cuEventCreate(&route->begin, CU_EVENT_BLOCKING_SYNC);
    if (code == CUDA_SUCCESS) code = cu->cuMemHostAlloc(&stage, 2 * HALF_BYTES, CU_MEMHOSTALLOC_PORTABLE);
    route->stage = stage;
    return code;
}

/* The route of the stream's device for this pair. own->lock is held. */
static CUresult route_get(struct mx_cuda_device *own, const struct mx_device *from, const struct mx_device *to,
                          struct mx_cuda_route **out)
{
    const struct mx_cuda_api *const cu = own->cu;
    const CUdevice a = mx_cuda_device_of(from)->entry->device, b = mx_cuda_device_of(to)->entry->device;
    for (*out = own->routes; *out; *out = (*out)->next)
        if ((*out)->from == a && (*out)->to == b) return CUDA_SUCCESS;
    struct mx_cuda_route *const route = mx_alloc(1, sizeof *route);
    if (!route) return CUDA_ERROR_OUT_OF_MEMORY;
    route->from = a;
    route->to = b;
    CUresult code = cu->cuDevicePrimaryCtxRetain(&route->from_context, a);
    if (code == CUDA_SUCCESS) code = cu->cuDevicePrimaryCtxRetain(&route->to_context, b);
    route->peer = code == CUDA_SUCCESS && mx_cuda_can_peer(from, to) &&
                  access_enable(cu, route->from_context, route->to_context) &&
                  access_enable(cu, route->to_context, route->from_context);
    if (code == CUDA_SUCCESS && !route->peer) code = route_stage(cu, route, own->context);
    if (code != CUDA_SUCCESS) {
        route_release(cu, route);
        return code;
    }
    mx_debug("CUDA: copies from %s to %s go %s", from->name, to->name, route->peer ? "directly" : "through the host");
    route->next = own->routes;
    *out = own->routes = route;
    return CUDA_SUCCESS;
}

/* ---- between devices ---- */

/* Records `event` on a stream of `context`. */
static CUresult record_in(const struct mx_cuda_api *cu, CUcontext context, CUevent event, CUstream stream)
{
    const CUresult code = cu->cuCtxSetCurrent(context);
    return code == CUDA_SUCCESS ? cu->cuEventRecord(event, stream) : code;
}

/* own->lock is held: the halves are one copy's at a time, and the events order it after the previous copy. */
static CUresult copy_staged(const struct mx_cuda_device *own, CUstream stream, const struct mx_cuda_route *route,
                            CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    const struct mx_cuda_api *const cu = own->cu;
    const bool reads = own->context == route->from_context;
    CUstream const reader = reads ? stream : route->helper, writer = reads ? route->helper : stream;
    CUresult code = record_in(cu, own->context, route->begin, stream);
    if (code == CUDA_SUCCESS) code = cu->cuStreamWaitEvent(route->helper, route->begin, 0);
    size_t part = 0, pieces = 0;
    for (size_t done = 0; done < bytes && code == CUDA_SUCCESS; done += part, pieces++) {
        const size_t h = pieces & 1;
        char *const half = route->stage + h * HALF_BYTES;
        part = bytes - done < HALF_BYTES ? bytes - done : HALF_BYTES;
        code = cu->cuCtxSetCurrent(route->from_context);
        if (code == CUDA_SUCCESS) code = cu->cuStreamWaitEvent(reader, route->written[h], 0);
        if (code == CUDA_SUCCESS) code = cu->cuMemcpyDtoHAsync_v2(half, from + done, part, reader);
        if (code == CUDA_SUCCESS) code = cu->cuEventRecord(route->read[h], reader);
        if (code == CUDA_SUCCESS) code = cu->cuCtxSetCurrent(route->to_context);
        if (code == CUDA_SUCCESS) code = cu->cuStreamWaitEvent(writer, route->read[h], 0);
        if (code == CUDA_SUCCESS) code = cu->cuMemcpyHtoDAsync_v2(to + done, half, part, writer);
        if (code == CUDA_SUCCESS) code = cu->cuEventRecord(route->written[h], writer);
    }
    /* Later work of the stream waits for the last piece; where the stream itself writes, it does so anyway. */
    if (code == CUDA_SUCCESS && reads) code = cu->cuStreamWaitEvent(stream, route->written[(pieces - 1) & 1], 0);
    return code;
}

int mx_cuda_copy_slices(struct mx_stream *stream, struct mx_slice to, struct mx_slice from, size_t bytes)
{
    const struct mx_cuda_stream *const impl = stream->impl;
    struct mx_cuda_device *const own = mx_cuda_device_of(stream->device);
    const struct mx_device *const to_device = to.buffer->device, *const from_device = from.buffer->device;
    const struct mx_cuda_api *const cu = own->cu;
    struct mx_cuda_route *route = NULL;
    CUresult code = mx_cuda_enter(own);
    /* Two of ours may be one of the driver's (opened twice). */
    if (code == CUDA_SUCCESS && mx_cuda_device_of(to_device)->context == mx_cuda_device_of(from_device)->context) {
        code = cu->cuMemcpyDtoDAsync_v2(mx_cuda_memory(to), mx_cuda_memory(from), bytes, impl->stream);
        return mx_cuda_stream_told(stream, code, "copy");
    }
    pthread_mutex_lock(&own->lock);
    if (code == CUDA_SUCCESS) code = route_get(own, from_device, to_device, &route);
    if (code == CUDA_SUCCESS && route->peer) {
        code = cu->cuCtxSetCurrent(own->context);
        if (code == CUDA_SUCCESS)
            code = cu->cuMemcpyPeerAsync(mx_cuda_memory(to), route->to_context, mx_cuda_memory(from),
                                         route->from_context, bytes, impl->stream);
    } else if (code == CUDA_SUCCESS) {
        code = copy_staged(own, impl->stream, route, mx_cuda_memory(to), mx_cuda_memory(from), bytes);
    }
    pthread_mutex_unlock(&own->lock);
    char what[96];
    snprintf(what, sizeof what, "copy from %s to %s", from_device->name, to_device->name);
    return mx_cuda_stream_told(stream, code, what);
}
