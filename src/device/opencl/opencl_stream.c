/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * OpenCL streams, events and copies.
 *
 * A stream is an in-order queue with profiling on. An event is a marker in it; waiting for one is a barrier with a wait
 * list, on any queue of the same context. Another context cannot wait for it, so in that case the calling thread waits.
 * Failures of running work appear when a stream is waited for: as a failed queue, or as the status words that a kernel
 * wrote because its data were wrong (launch.h).
 *
 * Memory: an event holds one reference to its latest marker. The staging block for copies between contexts belongs to
 * the device of the stream and is made at the first such copy.
 */
#include "base/alloc.h"
#include "device/opencl/opencl.h"

#include <string.h>

#define STAGE_BYTES ((size_t)4 << 20)

/* ---- streams ---- */

int mx_opencl_stream_create(struct mx_stream *stream)
{
    int rc = 0;
    cl_int code = CL_SUCCESS;
    const cl_int zero = 0;
    struct mx_opencl_device *const device = mx_opencl_device_of(stream->device);
    const struct mx_cl_api *const cl = device->cl;
    struct mx_opencl_stream *const impl = mx_alloc(1, sizeof *impl);
    if (!impl) return MX_ERR_NO_MEMORY;
    stream->impl = impl;
    impl->queue = cl->clCreateCommandQueue(device->context, device->id, CL_QUEUE_PROFILING_ENABLE, &code);
    MX_CL_TRY(code, "stream \"%s\" of %s: making a queue", stream->name, stream->device->name);
    impl->status = cl->clCreateBuffer(device->context, CL_MEM_READ_WRITE, MX_STATUS_WORDS * sizeof zero, NULL, &code);
    MX_CL_TRY(code, "stream \"%s\" of %s: status words", stream->name, stream->device->name);
    MX_CL_TRY(cl->clEnqueueFillBuffer(impl->queue, impl->status, &zero, sizeof zero, 0, MX_STATUS_WORDS * sizeof zero,
                                      0, NULL, NULL),
              "stream \"%s\" of %s: status words", stream->name, stream->device->name);
out:
    if (rc < 0) mx_opencl_stream_release(stream);
    return rc;
}

void mx_opencl_stream_release(struct mx_stream *stream)
{
    struct mx_opencl_stream *const impl = stream->impl;
    const struct mx_cl_api *const cl = mx_opencl_device_of(stream->device)->cl;
    for (int i = 0; i < MX_K_COUNT; i++) {
        if (impl->kernels[i]) cl->clReleaseKernel(impl->kernels[i]);
    }
    if (impl->queue) {
        cl->clFinish(impl->queue);
        cl->clReleaseCommandQueue(impl->queue);
    }
    if (impl->status) cl->clReleaseMemObject(impl->status);
    mx_buffer_release(impl->scratch);
    mx_buffer_release(impl->work);
    mx_buffer_release(impl->temp);
    mx_free(impl);
    stream->impl = NULL;
}

/* Waits once: the status words that kernels wrote are read after all other work, and the wait is for that read. */
int mx_opencl_stream_sync(struct mx_stream *stream)
{
    struct mx_opencl_stream *const impl = stream->impl;
    const struct mx_cl_api *const cl = mx_opencl_device_of(stream->device)->cl;
    const bool looks = impl->looks;
    cl_event last = NULL;
    cl_int ran = CL_COMPLETE;
    cl_int code = looks ? cl->clEnqueueReadBuffer(impl->queue, impl->status, CL_FALSE, 0, sizeof impl->found,
                                                  impl->found, 0, NULL, &last)
                        : cl->clEnqueueMarkerWithWaitList(impl->queue, 0, NULL, &last);
    if (code == CL_SUCCESS) code = cl->clFinish(impl->queue);
    if (last) {
        cl->clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof ran, &ran, NULL);
        cl->clReleaseEvent(last);
    }
    if (code == CL_SUCCESS && ran < 0) code = ran;
    if (code != CL_SUCCESS) {
        mx_cl_fail(code, "stream \"%s\" of %s: work failed while it ran", stream->name, stream->device->name);
        mx_stream_fail(stream);
        return 0; /* the core reports it */
    }
    impl->looks = false;
    if (looks && impl->found[0] != 0) {
        mx_kernel_status_raise(impl->found);
        mx_stream_fail(stream);
    }
    return 0;
}

/* ---- events ---- */

int mx_opencl_event_create(struct mx_event *event)
{
    struct mx_opencl_event *const impl = mx_alloc(1, sizeof *impl);
    if (!impl) return MX_ERR_NO_MEMORY;
    pthread_mutex_init(&impl->lock, NULL);
    event->impl = impl;
    return 0;
}

void mx_opencl_event_release(struct mx_event *event)
{
    struct mx_opencl_event *const impl = event->impl;
    if (impl->event) mx_opencl_device_of(event->device)->cl->clReleaseEvent(impl->event);
    pthread_mutex_destroy(&impl->lock);
    mx_free(impl);
}

/* The latest marker with a reference of its own; NULL if there is none. */
static cl_event event_hold(struct mx_event *event)
{
    struct mx_opencl_event *const impl = event->impl;
    pthread_mutex_lock(&impl->lock);
    cl_event marker = impl->event;
    if (marker) mx_opencl_device_of(event->device)->cl->clRetainEvent(marker);
    pthread_mutex_unlock(&impl->lock);
    return marker;
}

/* Records of one event complete in order: one on another stream waits for the record before it, so that whoever
 * waits for the latest has waited for all. */
int mx_opencl_event_record(struct mx_event *event, struct mx_stream *stream)
{
    int rc = 0;
    struct mx_opencl_event *const impl = event->impl;
    struct mx_opencl_stream *const queue = stream->impl;
    const struct mx_cl_api *const cl = mx_opencl_device_of(stream->device)->cl;
    cl_event fresh = NULL, old = event_hold(event);
    cl_int status = CL_COMPLETE;
    if (old) cl->clGetEventInfo(old, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    if (status > CL_COMPLETE) {
        MX_CL_TRY(cl->clEnqueueBarrierWithWaitList(queue->queue, 1, &old, NULL),
                  "stream \"%s\" of %s: recording an event", stream->name, stream->device->name);
    }
    MX_CL_TRY(cl->clEnqueueMarkerWithWaitList(queue->queue, 0, NULL, &fresh), "stream \"%s\" of %s: recording an event",
              stream->name, stream->device->name);
    MX_CL_TRY(cl->clFlush(queue->queue), "stream \"%s\" of %s: recording an event", stream->name, stream->device->name);
    pthread_mutex_lock(&impl->lock);
    cl_event before = impl->event;
    impl->event = fresh;
    pthread_mutex_unlock(&impl->lock);
    fresh = before;
out:
    if (fresh) cl->clReleaseEvent(fresh);
    if (old) cl->clReleaseEvent(old);
    return rc;
}

int mx_opencl_stream_wait(struct mx_stream *stream, struct mx_event *event)
{
    int rc = 0;
    struct mx_opencl_stream *const impl = stream->impl;
    struct mx_opencl_device *const device = mx_opencl_device_of(stream->device);
    cl_event marker = NULL;
    if (device->context != mx_opencl_device_of(event->device)->context) return mx_opencl_event_sync(event);
    marker = event_hold(event);
    if (!marker) return 0;
    MX_CL_TRY(device->cl->clEnqueueBarrierWithWaitList(impl->queue, 1, &marker, NULL),
              "stream \"%s\" of %s: waiting for an event", stream->name, stream->device->name);
out:
    device->cl->clReleaseEvent(marker);
    return rc;
}

int mx_opencl_event_sync(struct mx_event *event)
{
    const struct mx_cl_api *const cl = mx_opencl_device_of(event->device)->cl;
    cl_event marker = event_hold(event);
    if (!marker) return 0;
    cl->clWaitForEvents(1, &marker); /* a failure is the stream's, and shows there */
    cl->clReleaseEvent(marker);
    return 0;
}

bool mx_opencl_event_done(struct mx_event *event)
{
    const struct mx_cl_api *const cl = mx_opencl_device_of(event->device)->cl;
    cl_int status = CL_COMPLETE;
    cl_event marker = event_hold(event);
    if (!marker) return true;
    cl->clGetEventInfo(marker, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    cl->clReleaseEvent(marker);
    return status <= CL_COMPLETE; /* negative: failed, and complete */
}

int mx_opencl_event_check(struct mx_event *event)
{
    const struct mx_cl_api *const cl = mx_opencl_device_of(event->device)->cl;
    cl_int status = CL_COMPLETE;
    cl_event marker = event_hold(event);
    if (!marker) return 0;
    cl->clGetEventInfo(marker, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    cl->clReleaseEvent(marker);
    return status < 0 ? mx_cl_fail(status, "%s: work failed while it ran", event->device->name) : 0;
}

uint64_t mx_opencl_event_time_ns(struct mx_event *event)
{
    const struct mx_opencl_device *const device = mx_opencl_device_of(event->device);
    cl_ulong end = 0;
    cl_int status = CL_QUEUED, code = CL_SUCCESS;
    cl_event marker = event_hold(event);
    if (!marker) return 0;
    device->cl->clGetEventInfo(marker, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    code = device->cl->clGetEventProfilingInfo(marker, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    device->cl->clReleaseEvent(marker);
    return status != CL_COMPLETE || code != CL_SUCCESS ? 0 : (uint64_t)((int64_t)end + device->clock_shift_ns);
}

/* ---- copies ---- */

/* What was queued starts without waiting for the next call that has to. */
static int started(const struct mx_cl_api *cl, struct mx_stream *stream, cl_int code)
{
    const struct mx_opencl_stream *const impl = stream->impl;
    if (code == CL_SUCCESS) code = cl->clFlush(impl->queue);
    if (code == CL_SUCCESS) return 0;
    return mx_cl_fail(code, "stream \"%s\" of %s: copy", stream->name, stream->device->name);
}

int mx_opencl_copy_upload(struct mx_stream *stream, struct mx_slice to, const void *from, size_t bytes)
{
    const struct mx_opencl_stream *const impl = stream->impl;
    const struct mx_cl_api *const cl = mx_opencl_device_of(stream->device)->cl;
    return started(cl, stream,
                   cl->clEnqueueWriteBuffer(impl->queue, mx_opencl_memory(to.buffer), CL_FALSE, to.offset_bytes, bytes,
                                            from, 0, NULL, NULL));
}

int mx_opencl_copy_download(struct mx_stream *stream, void *to, struct mx_slice from, size_t bytes)
{
    const struct mx_opencl_stream *const impl = stream->impl;
    const struct mx_cl_api *const cl = mx_opencl_device_of(stream->device)->cl;
    return started(cl, stream,
                   cl->clEnqueueReadBuffer(impl->queue, mx_opencl_memory(from.buffer), CL_FALSE, from.offset_bytes,
                                           bytes, to, 0, NULL, NULL));
}

/* Between two contexts: piece by piece through host memory, after all work of the stream; the caller waits. */
static int copy_staged(struct mx_stream *stream, struct mx_slice to, struct mx_slice from, size_t bytes)
{
    int rc = 0;
    struct mx_opencl_stream *const impl = stream->impl;
    struct mx_opencl_device *const own = mx_opencl_device_of(stream->device);
    const struct mx_cl_api *const cl = own->cl;
    struct mx_opencl_device *const to_device = mx_opencl_device_of(to.buffer->device);
    struct mx_opencl_device *const from_device = mx_opencl_device_of(from.buffer->device);
    pthread_mutex_lock(&own->lock);
    if (!own->stage) own->stage = mx_alloc_aligned(STAGE_BYTES, 64);
    if (!own->stage) MX_TRY(MX_ERR_NO_MEMORY);
    const cl_command_queue reader = from_device == own ? impl->queue : from_device->errands;
    const cl_command_queue writer = to_device == own ? impl->queue : to_device->errands;
    MX_CL_TRY(cl->clFinish(impl->queue), "copy from %s to %s", from.buffer->device->name, to.buffer->device->name);
    for (size_t done = 0; done < bytes;) {
        const size_t part = bytes - done < STAGE_BYTES ? bytes - done : STAGE_BYTES;
        MX_CL_TRY(cl->clEnqueueReadBuffer(reader, mx_opencl_memory(from.buffer), CL_TRUE, from.offset_bytes + done,
                                          part, own->stage, 0, NULL, NULL),
                  "copy from %s to %s", from.buffer->device->name, to.buffer->device->name);
        MX_CL_TRY(cl->clEnqueueWriteBuffer(writer, mx_opencl_memory(to.buffer), CL_TRUE, to.offset_bytes + done, part,
                                           own->stage, 0, NULL, NULL),
                  "copy from %s to %s", from.buffer->device->name, to.buffer->device->name);
        done += part;
    }
out:
    pthread_mutex_unlock(&own->lock);
    return rc;
}

int mx_opencl_copy_slices(struct mx_stream *stream, struct mx_slice to, struct mx_slice from, size_t bytes)
{
    const struct mx_opencl_stream *const impl = stream->impl;
    const struct mx_cl_api *const cl = mx_opencl_device_of(stream->device)->cl;
    if (mx_opencl_device_of(to.buffer->device)->context != mx_opencl_device_of(from.buffer->device)->context) {
        return copy_staged(stream, to, from, bytes);
    }
    return started(cl, stream,
                   cl->clEnqueueCopyBuffer(impl->queue, mx_opencl_memory(from.buffer), mx_opencl_memory(to.buffer),
                                           from.offset_bytes, to.offset_bytes, bytes, 0, NULL, NULL));
}
