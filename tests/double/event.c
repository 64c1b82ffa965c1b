/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Events. Each cuEventRecord makes a record, which the stream completes; who waits for the event waits for its latest
 * record at that moment. Inside a capture a record is a mark of the capture alone, as in CUDA: nobody may wait for it.
 *
 * Memory: a record is shared by its event, its command and all who wait, and goes with the last of them.
 */
#include "inside.h"

#include <stdlib.h>

struct record {
    atomic_int users;
    pthread_mutex_t lock; /* protects the next two, and `clock` until it is done */
    pthread_cond_t finished;
    bool done;
    uint64_t time_ns;
    struct context *context;
    struct order_clock clock; /* what the stream knew when it was done */
};

/* lock protects `latest`. */
struct event {
    struct object object;
    unsigned flags;
    atomic_bool captured; /* its latest record was inside a capture */
    pthread_mutex_t lock;
    struct record *latest; /* NULL: never recorded */
};

/* ---- records ---- */

void record_finish(struct record *record, int slot)
{
    pthread_mutex_lock(&record->lock);
    record->time_ns = now_ns();
    order_stamp(slot, &record->clock);
    record->done = true;
    pthread_cond_broadcast(&record->finished);
    pthread_mutex_unlock(&record->lock);
}

void record_wait(struct record *record, int slot)
{
    pthread_mutex_lock(&record->lock);
    while (!record->done) pthread_cond_wait(&record->finished, &record->lock);
    pthread_mutex_unlock(&record->lock);
    if (slot < 0)
        order_seen(&record->clock);
    else
        order_join(slot, &record->clock);
}

void record_drop(struct record *record)
{
    if (!record || atomic_fetch_sub(&record->users, 1) > 1) return;
    pthread_cond_destroy(&record->finished);
    pthread_mutex_destroy(&record->lock);
    free(record);
}

/* The event's latest record, held; NULL if there is none. */
static struct record *latest_hold(struct event *event)
{
    pthread_mutex_lock(&event->lock);
    struct record *const record = event->latest;
    if (record) atomic_fetch_add(&record->users, 1);
    pthread_mutex_unlock(&event->lock);
    return record;
}

/* 0 while it is not done. */
static uint64_t record_time_ns(struct record *record)
{
    pthread_mutex_lock(&record->lock);
    const uint64_t time_ns = record->done ? record->time_ns : 0;
    pthread_mutex_unlock(&record->lock);
    return time_ns;
}

/* ---- events ---- */

CUresult cuEventCreate(CUevent *out, unsigned flags)
{
    struct context *context;
    const CUresult code = context_now(&context, "cuEventCreate");
    if (code != CUDA_SUCCESS) return code;
    if (flags > 7) return fault(CUDA_ERROR_INVALID_VALUE, "cuEventCreate: flags %u", flags);
    struct event *const event = calloc(1, sizeof *event);
    event->flags = flags;
    pthread_mutex_init(&event->lock, NULL);
    object_add(&event->object, EVENT, context);
    *out = (CUevent)event;
    return CUDA_SUCCESS;
}

void event_close(struct object *object)
{
    struct event *const event = (struct event *)object;
    object_remove(object);
    record_drop(event->latest);
    pthread_mutex_destroy(&event->lock);
    free(event);
}

/* Works on a lost context, too. */
CUresult cuEventDestroy_v2(CUevent handle)
{
    struct context *context;
    const CUresult code = context_now(&context, "cuEventDestroy");
    if (!object_is(handle, EVENT, "cuEventDestroy")) return CUDA_ERROR_INVALID_HANDLE;
    event_close((struct object *)handle);
    return code;
}

CUresult cuEventRecord(CUevent handle, CUstream stream_handle)
{
    struct stream *stream;
    const CUresult code = stream_check(stream_handle, &stream, "cuEventRecord");
    if (code != CUDA_SUCCESS) return code;
    if (!object_is(handle, EVENT, "cuEventRecord")) return CUDA_ERROR_INVALID_HANDLE;
    struct event *const event = (struct event *)handle;
    if (event->object.context != stream->object.context) {
        return fault(CUDA_ERROR_INVALID_HANDLE, "cuEventRecord: event and stream are of different contexts");
    }
    event->captured = stream->capture != NULL;
    if (event->captured) return CUDA_SUCCESS;
    struct record *const record = calloc(1, sizeof *record);
    record->users = 2; /* the event and the command */
    record->context = stream->object.context;
    pthread_mutex_init(&record->lock, NULL);
    pthread_cond_init(&record->finished, NULL);
    struct command *const command = command_make(COMMAND_RECORD);
    command->record = record;
    pthread_mutex_lock(&event->lock);
    struct record *const before = event->latest;
    event->latest = record;
    pthread_mutex_unlock(&event->lock);
    record_drop(before);
    return stream_queue(stream, command);
}

CUresult cuStreamWaitEvent(CUstream stream_handle, CUevent handle, unsigned flags)
{
    struct stream *stream;
    const CUresult code = stream_check(stream_handle, &stream, "cuStreamWaitEvent");
    if (code != CUDA_SUCCESS) return code;
    if (flags != 0 || !object_is(handle, EVENT, "cuStreamWaitEvent")) return CUDA_ERROR_INVALID_HANDLE;
    struct event *const event = (struct event *)handle;
    if (stream->capture && !event->captured) {
        stream->spoiled = true;
        return fault(
            905, "cuStreamWaitEvent in a capture for an event outside of it"); /* CUDA_ERROR_STREAM_CAPTURE_ISOLATION */
    }
    if (event->captured && !stream->capture) {
        return fault(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "cuStreamWaitEvent: a second stream joins a capture");
    }
    struct record *const record = event->captured ? NULL : latest_hold(event);
    if (!record) return CUDA_SUCCESS;
    struct command *const command = command_make(COMMAND_WAIT);
    command->record = record;
    return stream_queue(stream, command);
}

static CUresult event_check(CUevent handle, struct record **out, const char *call)
{
    struct context *context;
    const CUresult code = context_outside_capture(&context, call);
    if (code != CUDA_SUCCESS) return code;
    if (!object_is(handle, EVENT, call)) return CUDA_ERROR_INVALID_HANDLE;
    struct event *const event = (struct event *)handle;
    if (event->captured)
        return fault(907, "%s of an event that a capture recorded", call); /* CUDA_ERROR_CAPTURED_EVENT */
    *out = latest_hold(event);
    return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent handle)
{
    struct record *record = NULL;
    CUresult code = event_check(handle, &record, "cuEventQuery");
    if (code != CUDA_SUCCESS || !record) return code;
    const bool done = record_time_ns(record) != 0;
    if (done) order_seen(&record->clock);
    code = done ? context_state(record->context) : CUDA_ERROR_NOT_READY;
    record_drop(record);
    return code;
}

CUresult cuEventSynchronize(CUevent handle)
{
    struct record *record = NULL;
    CUresult code = event_check(handle, &record, "cuEventSynchronize");
    if (code != CUDA_SUCCESS || !record) return code;
    record_wait(record, -1);
    code = context_state(record->context);
    record_drop(record);
    return code;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end)
{
    struct record *first = NULL, *last = NULL;
    CUresult code = event_check(begin, &first, "cuEventElapsedTime");
    if (code == CUDA_SUCCESS) code = event_check(end, &last, "cuEventElapsedTime");
    if (code == CUDA_SUCCESS &&
        (!first || !last || (((struct event *)begin)->flags | ((struct event *)end)->flags) & 2)) {
        code = fault(CUDA_ERROR_INVALID_HANDLE, "cuEventElapsedTime of an event without a time");
    }
    if (code == CUDA_SUCCESS && first->context != last->context) {
        code = fault(CUDA_ERROR_INVALID_HANDLE, "cuEventElapsedTime between events of two devices");
    }
    if (code == CUDA_SUCCESS) {
        const uint64_t from = record_time_ns(first), to = record_time_ns(last);
        if (from && to) {
            *milliseconds = (float)((double)((int64_t)to - (int64_t)from) * 1e-6);
        } else {
            code = CUDA_ERROR_NOT_READY;
        }
    }
    record_drop(first);
    record_drop(last);
    return code;
}
