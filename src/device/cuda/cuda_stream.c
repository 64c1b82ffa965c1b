/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA streams and events.
 *
 * Failures of running work appear when a stream is waited for, or at the next call of any kind: as a driver error,
 * which stays with the context, or as the status words that a kernel wrote because its data were wrong
 * (kernels/launch.h). Either becomes the stream's error. On a lost device all events count as complete, so that nothing
 * hangs.
 *
 * Memory: see cuda.h.
 */
#include "base/alloc.h"
#include "device/cuda/cuda.h"

/* ---- streams ---- */

int mx_cuda_stream_told(struct mx_stream *stream, CUresult code, const char *what)
{
    if (code == CUDA_SUCCESS) return 0;
    const struct mx_cuda_api *const cu = mx_cuda_device_of(stream->device)->cu;
    const int rc = mx_cuda_fail(cu, code, "stream \"%s\" of %s: %s", stream->name, stream->device->name, what);
    if (mx_cuda_lost(code)) mx_stream_fail(stream);
    return rc;
}

int mx_cuda_stream_create(struct mx_stream *stream)
{
    int rc = 0;
    struct mx_cuda_device *const device = mx_cuda_device_of(stream->device);
    const struct mx_cuda_api *const cu = device->cu;
    struct mx_cuda_stream *const impl = mx_alloc(1, sizeof *impl);
    if (!impl) return MX_ERR_NO_MEMORY;
    stream->impl = impl;
    MX_CUDA_TRY(cu, mx_cuda_enter(device), "stream \"%s\" of %s", stream->name, stream->device->name);
    MX_CUDA_TRY(cu, cu->cuStreamCreate(&impl->stream, CU_STREAM_NON_BLOCKING), "stream \"%s\" of %s", stream->name,
                stream->device->name);
    MX_CUDA_TRY(cu, cu->cuMemAlloc_v2(&impl->status, MX_STATUS_WORDS * sizeof(int32_t)),
                "stream \"%s\" of %s: status words", stream->name, stream->device->name);
    MX_CUDA_TRY(cu, cu->cuMemsetD32Async(impl->status, 0, MX_STATUS_WORDS, impl->stream),
                "stream \"%s\" of %s: status words", stream->name, stream->device->name);
out:
    if (rc < 0) mx_cuda_stream_release(stream);
    return rc;
}

void mx_cuda_stream_release(struct mx_stream *stream)
{
    struct mx_cuda_stream *const impl = stream->impl;
    const struct mx_cuda_device *const device = mx_cuda_device_of(stream->device);
    if (mx_cuda_enter(device) == CUDA_SUCCESS) {
        if (impl->blas) device->cu->cublasDestroy_v2(impl->blas);
        if (impl->stream) device->cu->cuStreamDestroy_v2(impl->stream);
        if (impl->status) device->cu->cuMemFree_v2(impl->status);
    }
    mx_buffer_release(impl->workspace);
    mx_buffer_release(impl->work);
    mx_buffer_release(impl->scratch);
    mx_free(impl);
    stream->impl = NULL;
}

/* Turns what a kernel found into the stream's error. */
static CUresult status_look(struct mx_stream *stream)
{
    struct mx_cuda_stream *const impl = stream->impl;
    const struct mx_cuda_api *const cu = mx_cuda_device_of(stream->device)->cu;
    int32_t words[MX_STATUS_WORDS] = {0};
    CUresult code = cu->cuMemcpyDtoHAsync_v2(words, impl->status, sizeof words, impl->stream);
    if (code == CUDA_SUCCESS) code = cu->cuStreamSynchronize(impl->stream);
    impl->looks = false;
    if (code == CUDA_SUCCESS && words[0] != 0) {
        mx_kernel_status_raise(words);
        mx_stream_fail(stream);
    }
    return code;
}

int mx_cuda_stream_sync(struct mx_stream *stream)
{
    struct mx_cuda_stream *const impl = stream->impl;
    const struct mx_cuda_device *const device = mx_cuda_device_of(stream->device);
    CUresult code = mx_cuda_enter(device);
    if (code == CUDA_SUCCESS) code = device->cu->cuStreamSynchronize(impl->stream);
    if (code == CUDA_SUCCESS && impl->looks) code = status_look(stream);
    if (code != CUDA_SUCCESS) {
        mx_cuda_fail(device->cu, code, "stream \"%s\" of %s: work failed while it ran", stream->name,
                     stream->device->name);
        mx_stream_fail(stream);
    }
    return 0; /* the core reports it */
}

int mx_cuda_stream_wait(struct mx_stream *stream, struct mx_event *event)
{
    const struct mx_cuda_stream *const impl = stream->impl;
    const struct mx_cuda_device *const device = mx_cuda_device_of(stream->device);
    const struct mx_cuda_event *const waits = event->impl;
    if (!atomic_load(&waits->recorded)) return 0;
    CUresult code = mx_cuda_enter(device);
    if (code == CUDA_SUCCESS) code = device->cu->cuStreamWaitEvent(impl->stream, waits->event, 0);
    return mx_cuda_stream_told(stream, code, "waiting for an event");
}

int mx_cuda_native_get(struct mx_stream *stream, struct mx_slice memory, struct mx_native *out)
{
    const struct mx_cuda_stream *const impl = stream->impl;
    *out = (struct mx_native){.stream = impl->stream,
                              .memory = memory.buffer ? (void *)(uintptr_t)mx_cuda_memory(memory) : NULL};
    return mx_cuda_stream_told(stream, mx_cuda_enter(mx_cuda_device_of(stream->device)), "handing it to a library");
}

/* ---- events ---- */

int mx_cuda_event_create(struct mx_event *event)
{
    int rc = 0;
    const struct mx_cuda_device *const device = mx_cuda_device_of(event->device);
    struct mx_cuda_event *const impl = mx_alloc(1, sizeof *impl);
    if (!impl) return MX_ERR_NO_MEMORY;
    MX_CUDA_TRY(device->cu, mx_cuda_enter(device), "%s: making an event", event->device->name);
    MX_CUDA_TRY(device->cu, device->cu->cuEventCreate(&impl->event, CU_EVENT_BLOCKING_SYNC), "%s: making an event",
                event->device->name);
    event->impl = impl;
out:
    if (rc < 0) mx_free(impl);
    return rc;
}

void mx_cuda_event_release(struct mx_event *event)
{
    struct mx_cuda_event *const impl = event->impl;
    const struct mx_cuda_device *const device = mx_cuda_device_of(event->device);
    if (mx_cuda_enter(device) == CUDA_SUCCESS) device->cu->cuEventDestroy_v2(impl->event);
    mx_free(impl);
}

/* Records of one event complete in order: one on another stream waits for the record before it, so that whoever
 * waits for the latest has waited for all. */
int mx_cuda_event_record(struct mx_event *event, struct mx_stream *stream)
{
    struct mx_cuda_event *const impl = event->impl;
    const struct mx_cuda_stream *const queue = stream->impl;
    const struct mx_cuda_device *const device = mx_cuda_device_of(stream->device);
    CUresult code = mx_cuda_enter(device);
    if (code == CUDA_SUCCESS && atomic_load(&impl->recorded) &&
        device->cu->cuEventQuery(impl->event) == CUDA_ERROR_NOT_READY)
        code = device->cu->cuStreamWaitEvent(queue->stream, impl->event, 0);
    if (code == CUDA_SUCCESS) code = device->cu->cuEventRecord(impl->event, queue->stream);
    if (code == CUDA_SUCCESS) atomic_store(&impl->recorded, true);
    return mx_cuda_stream_told(stream, code, "recording an event");
}

int mx_cuda_event_sync(struct mx_event *event)
{
    const struct mx_cuda_event *const impl = event->impl;
    const struct mx_cuda_device *const device = mx_cuda_device_of(event->device);
    if (!atomic_load(&impl->recorded)) return 0;
    /* A failure is the stream's, and shows there. */
    if (mx_cuda_enter(device) == CUDA_SUCCESS) device->cu->cuEventSynchronize(impl->event);
    return 0;
}

bool mx_cuda_event_done(struct mx_event *event)
{
    const struct mx_cuda_event *const impl = event->impl;
    const struct mx_cuda_device *const device = mx_cuda_device_of(event->device);
    if (!atomic_load(&impl->recorded)) return true;
    return mx_cuda_enter(device) != CUDA_SUCCESS || device->cu->cuEventQuery(impl->event) != CUDA_ERROR_NOT_READY;
}

int mx_cuda_event_check(struct mx_event *event)
{
    const struct mx_cuda_event *const impl = event->impl;
    const struct mx_cuda_device *const device = mx_cuda_device_of(event->device);
    CUresult code = mx_cuda_enter(device);
    if (code == CUDA_SUCCESS) code = device->cu->cuEventQuery(impl->event); /* never recorded: success */
    if (code == CUDA_SUCCESS || code == CUDA_ERROR_NOT_READY) return 0;
    return mx_cuda_fail(device->cu, code, "%s: work failed while it ran", event->device->name);
}

uint64_t mx_cuda_event_time_ns(struct mx_event *event)
{
    const struct mx_cuda_event *const impl = event->impl;
    struct mx_cuda_device *const device = mx_cuda_device_of(event->device);
    if (!atomic_load(&impl->recorded) || mx_cuda_enter(device) != CUDA_SUCCESS ||
        device->cu->cuEventQuery(impl->event) != CUDA_SUCCESS)
        return 0;
    return mx_cuda_clock_of(device, impl->event);
}
