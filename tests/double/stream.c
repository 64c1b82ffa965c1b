/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Streams: a thread each, which does commands in order; and the calls that give it copies and fills. A stream of a lost
 * context does nothing more, but its events complete.
 *
 * Memory: a stream owns its thread, from cuStreamCreate to cuStreamDestroy (or the end of the context), which joins it.
 * A queued command is the stream's.
 */
#include "inside.h"

#include <stdlib.h>

_Thread_local struct stream *capturing;

/* Whether the thing that a stream of the context is about to do is the one that must fail. */
static bool run_strikes(const struct context *context)
{
    const long device = settings()->fail_device;
    return (device < 0 || device == context->device) && strikes(&settings()->fail_run);
}

static void command_do(struct stream *stream, struct command *command, const struct runner *runner)
{
    struct context *const context = stream->object.context;
    CUresult code = context_state(context);
    while (settings()->hold) pause_us(100);
    pause_us(settings()->delay_us);
    if (command->kind == COMMAND_RECORD) {
        record_finish(command->record, stream->slot);
    } else if (code == CUDA_SUCCESS) {
        code = run_strikes(context) ? (CUresult)settings()->run_code : command_run(command, runner);
        int fine = 0;
        if (code != CUDA_SUCCESS) atomic_compare_exchange_strong(&context->lost, &fine, code);
    }
    command_release(command);
}

static void *stream_work(void *argument)
{
    struct stream *const stream = argument;
    const struct runner runner = {.lanes = lanes_open(), .machine = ptx_open(), .slot = stream->slot};
    pthread_mutex_lock(&stream->lock);
    for (;;) {
        while (!stream->first && !stream->stop) pthread_cond_wait(&stream->changed, &stream->lock);
        struct command *const command = stream->first;
        if (!command) break;
        stream->first = command->next;
        stream->busy = true;
        pthread_mutex_unlock(&stream->lock);
        command_do(stream, command, &runner);
        pthread_mutex_lock(&stream->lock);
        stream->busy = false;
        pthread_cond_broadcast(&stream->changed);
    }
    pthread_mutex_unlock(&stream->lock);
    ptx_close(runner.machine);
    lanes_close(runner.lanes);
    return NULL;
}

static void stream_drain(struct stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    while (stream->first || stream->busy) pthread_cond_wait(&stream->changed, &stream->lock);
    pthread_mutex_unlock(&stream->lock);
    order_drained(stream->slot);
}

void stream_close(struct stream *stream)
{
    object_remove(&stream->object);
    pthread_mutex_lock(&stream->lock);
    stream->stop = true;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    pthread_join(stream->thread, NULL);
    order_close(stream->slot);
    if (capturing == stream) capturing = NULL;
    if (stream->capture) graph_release(stream->capture);
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

/* ---- giving work ---- */

CUresult stream_check(CUstream handle, struct stream **out, const char *call)
{
    struct context *context;
    const CUresult code = context_now(&context, call);
    if (code != CUDA_SUCCESS) return code;
    if (!object_is(handle, STREAM, call)) return CUDA_ERROR_INVALID_HANDLE;
    *out = (struct stream *)handle;
    return context_state((*out)->object.context);
}

CUresult stream_queue(struct stream *stream, struct command *command)
{
    order_host(&command->given);
    pthread_mutex_lock(&stream->lock);
    command->next = NULL;
    if (stream->first) {
        stream->last->next = command;
    } else {
        stream->first = command;
    }
    stream->last = command;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    return CUDA_SUCCESS;
}

CUresult stream_submit(struct stream *stream, struct command *command)
{
    const bool captured = stream->capture != NULL;
    const CUresult code = command_hold(command, stream->object.context, !captured);
    if (code != CUDA_SUCCESS) {
        command_release(command);
        return code;
    }
    const bool pageable = command->kind == COMMAND_COPY && command->copy.way != COPY_INSIDE && !command->copy.pinned;
    if (pageable) totals.pageable++;
    if (captured) {
        command_forget(command);
        graph_append(stream->capture, command);
        return CUDA_SUCCESS;
    }
    /* CUDA returns from a download to pageable memory when it is done. */
    const bool waits = pageable && command->copy.way == COPY_DOWNLOAD;
    stream_queue(stream, command);
    if (waits) stream_drain(stream);
    return waits ? context_state(stream->object.context) : CUDA_SUCCESS;
}

/* ---- streams ---- */

CUresult cuStreamCreate(CUstream *out, unsigned flags)
{
    struct context *context;
    const CUresult code = context_now(&context, "cuStreamCreate");
    if (code != CUDA_SUCCESS) return code;
    if (flags != CU_STREAM_NON_BLOCKING) {
        return fault(CUDA_ERROR_INVALID_VALUE, "cuStreamCreate: a stream that waits for the default one");
    }
    struct stream *const stream = calloc(1, sizeof *stream);
    stream->slot = order_open();
    if (stream->slot < 0) {
        free(stream);
        return fault(CUDA_ERROR_OUT_OF_MEMORY, "cuStreamCreate: more than %d streams", ORDER_SLOTS);
    }
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->changed, NULL);
    if (pthread_create(&stream->thread, NULL, stream_work, stream) != 0) {
        order_close(stream->slot);
        free(stream);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    object_add(&stream->object, STREAM, context);
    *out = (CUstream)stream;
    return CUDA_SUCCESS;
}

/* Works on a lost context, too: whoever is left with one must be able to end. */
CUresult cuStreamDestroy_v2(CUstream handle)
{
    struct context *context;
    const CUresult code = context_now(&context, "cuStreamDestroy");
    if (!object_is(handle, STREAM, "cuStreamDestroy")) return CUDA_ERROR_INVALID_HANDLE;
    stream_close((struct stream *)handle);
    return code;
}

CUresult cuStreamSynchronize(CUstream handle)
{
    struct stream *stream;
    struct context *context;
    CUresult code = context_outside_capture(&context, "cuStreamSynchronize");
    if (code == CUDA_SUCCESS) code = stream_check(handle, &stream, "cuStreamSynchronize");
    if (code != CUDA_SUCCESS) return code;
    if (stream->capture) {
        stream->spoiled = true;
        return fault(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "cuStreamSynchronize of a stream that is captured");
    }
    stream_drain(stream);
    return context_state(stream->object.context);
}

/* ---- copies and fills ---- */

static CUresult copy_give(CUstream handle, const struct copy *copy, const char *call)
{
    struct stream *stream;
    const CUresult code = stream_check(handle, &stream, call);
    if (code != CUDA_SUCCESS) return code;
    if (copy->bytes == 0) return CUDA_SUCCESS;
    struct command *const command = command_make(COMMAND_COPY);
    command->copy = *copy;
    if (!command->copy.to_context) command->copy.to_context = stream->object.context;
    if (!command->copy.from_context) command->copy.from_context = stream->object.context;
    totals.copies++;
    if (command->copy.to_context != command->copy.from_context) totals.peer_copies++;
    return stream_submit(stream, command);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    const struct copy copy = {.way = COPY_UPLOAD, .to = to, .host = (void *)(uintptr_t)from, .bytes = bytes};
    return copy_give(stream, &copy, "cuMemcpyHtoDAsync");
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    const struct copy copy = {.way = COPY_DOWNLOAD, .from = from, .host = to, .bytes = bytes};
    return copy_give(stream, &copy, "cuMemcpyDtoHAsync");
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    const struct copy copy = {.way = COPY_INSIDE, .to = to, .from = from, .bytes = bytes};
    return copy_give(stream, &copy, "cuMemcpyDtoDAsync");
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                           CUstream stream)
{
    const struct copy copy = {.way = COPY_INSIDE,
                              .to = to,
                              .from = from,
                              .bytes = bytes,
                              .to_context = (struct context *)to_context,
                              .from_context = (struct context *)from_context};
    if (!object_is(to_context, CONTEXT, "cuMemcpyPeerAsync") ||
        !object_is(from_context, CONTEXT, "cuMemcpyPeerAsync")) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (!((struct context *)to_context)->peers[((struct context *)from_context)->device] &&
        !((struct context *)from_context)->peers[((struct context *)to_context)->device])
        fault(0, "cuMemcpyPeerAsync between devices of which none was given access to the other");
    return copy_give(stream, &copy, "cuMemcpyPeerAsync");
}

CUresult cuMemsetD32Async(CUdeviceptr memory, unsigned word, size_t words, CUstream handle)
{
    struct stream *stream;
    const CUresult code = stream_check(handle, &stream, "cuMemsetD32Async");
    if (code != CUDA_SUCCESS || words == 0) return code;
    if (memory % 4 != 0) return fault(CUDA_ERROR_INVALID_VALUE, "cuMemsetD32Async: not at a whole word");
    struct command *const command = command_make(COMMAND_FILL);
    command->fill = (struct fill){.to = memory, .word = word, .words = words};
    return stream_submit(stream, command);
}
