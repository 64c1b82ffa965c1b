/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Submitting work to the backend: copies and operations. Invalid work is refused here before anything is queued; copies
 * between two backends are composed here of downloads and uploads.
 *
 * Memory: the staging block and stream of a device are made at its first staged copy and live as long as the device.
 * Lock: device->staging_lock is held from the first to the last byte of a staged copy, while work is submitted and
 * waited for. No thread takes a second one while holding it, and no backend ever takes it, so it comes before all other
 * locks.
 */
#include "base/argument.h"
#include "device/backend.h"

#define STAGING_HALF_BYTES ((size_t)4 << 20)

/* `what` is how the slice is called in messages: "the destination". */
static int slice_check(const struct mx_stream *stream, const char *what, struct mx_slice slice, size_t bytes)
{
    if (!slice.buffer) {
        return MX_FAIL(MX_ERR_ARGUMENT, "a slice names a buffer and an offset",
                       "stream \"%s\" of %s: %s of a copy has no buffer", stream->name, stream->device->name, what);
    }
    const struct mx_buffer *const buffer = slice.buffer;
    if (slice.offset_bytes > buffer->bytes || bytes > buffer->bytes - slice.offset_bytes) {
        return MX_FAIL(MX_ERR_ARGUMENT, "offset and bytes must lie inside the buffer",
                       "stream \"%s\" of %s: %s of a copy, %zu bytes from %zu on, leaves buffer \"%s\" of %zu bytes",
                       stream->name, stream->device->name, what, bytes, slice.offset_bytes, buffer->owner,
                       buffer->bytes);
    }
    return 0;
}

/* The slice must also be the stream's device's. */
static int own_slice_check(const struct mx_stream *stream, const char *what, struct mx_slice slice, size_t bytes)
{
    const int rc = slice_check(stream, what, slice, bytes);
    if (rc < 0 || slice.buffer->device == stream->device) return rc;
    return MX_FAIL(MX_ERR_ARGUMENT, "use a stream of the buffer's own device",
                   "stream \"%s\" of %s: %s of a copy is a buffer of %s", stream->name, stream->device->name, what,
                   slice.buffer->device->name);
}

static int host_check(const struct mx_stream *stream, const void *ptr, size_t bytes)
{
    if (ptr || bytes == 0) return 0;
    return MX_FAIL(MX_ERR_ARGUMENT, "give the address of the host memory",
                   "stream \"%s\" of %s: the host side of a copy is NULL", stream->name, stream->device->name);
}

int mx_copy_upload(struct mx_stream *stream, struct mx_slice to, const void *from, size_t bytes)
{
    int rc = 0;
    MX_TRY(mx_stream_status(stream));
    MX_TRY(own_slice_check(stream, "the destination", to, bytes));
    MX_TRY(host_check(stream, from, bytes));
    if (bytes > 0) rc = stream->device->backend->copy_upload(stream, to, from, bytes);
out:
    return rc;
}

int mx_copy_download(struct mx_stream *stream, void *to, struct mx_slice from, size_t bytes)
{
    int rc = 0;
    MX_TRY(mx_stream_status(stream));
    MX_TRY(own_slice_check(stream, "the source", from, bytes));
    MX_TRY(host_check(stream, to, bytes));
    if (bytes > 0) rc = stream->device->backend->copy_download(stream, to, from, bytes);
out:
    return rc;
}

/* The other device's side of staged copies. Its staging lock is held. */
static int staging_prepare(struct mx_device *device)
{
    int rc = 0;
    if (!device->staging_stream) MX_TRY(mx_stream_create(device, "staging", &device->staging_stream));
    if (!device->staging) MX_TRY(mx_host_alloc(device, "staging", 2 * STAGING_HALF_BYTES, &device->staging));
out:
    return rc;
}

/* After a failed staged copy: the halves must not be in use when the next copy begins. A failure on the core's own
 * stream would stick to it forever, so that stream is given up and the caller's fails in its place. Keeps the error.
 */
static void staging_recover(struct mx_stream *stream, struct mx_device *other)
{
    const struct mx_error error = *mx_error_last();
    stream->device->backend->stream_sync(stream);
    if (other->staging_stream) {
        other->backend->stream_sync(other->staging_stream);
        if (mx_stream_status(other->staging_stream) < 0) {
            mx_stream_fail(stream);
            mx_stream_release(other->staging_stream);
            other->staging_stream = NULL;
        }
    }
    mx_error_restore(&error);
}

/* Between two backends neither of whose memory the other can address: through the two halves of the other device's
 * staging block, so that the download of one piece overlaps the upload of the piece before it. Blocks until all is
 * there. */
static int copy_staged(struct mx_stream *stream, struct mx_device *other, struct mx_slice to, struct mx_slice from,
                       size_t bytes)
{
    int rc = 0;
    pthread_mutex_lock(&other->staging_lock);
    MX_TRY(staging_prepare(other));
    MX_TRY(mx_stream_sync(stream)); /* the copy must follow the work that `stream` has already */
    const bool up = to.buffer->device == stream->device;
    struct mx_stream *const source = up ? other->staging_stream : stream;
    struct mx_stream *const target = up ? stream : other->staging_stream;
    for (size_t done = 0, piece = 0; done < bytes; piece++) {
        char *const half = (char *)other->staging + (piece & 1) * STAGING_HALF_BYTES;
        const size_t part = bytes - done < STAGING_HALF_BYTES ? bytes - done : STAGING_HALF_BYTES;
        MX_TRY(mx_copy_download(source, half, mx_slice_at(from.buffer, from.offset_bytes + done), part));
        MX_TRY(mx_stream_sync(source));
        MX_TRY(mx_stream_sync(target)); /* the upload before this one: its half is free again */
        MX_TRY(mx_copy_upload(target, mx_slice_at(to.buffer, to.offset_bytes + done), half, part));
        done += part;
    }
    MX_TRY(mx_stream_sync(target));
out:
    if (rc < 0) staging_recover(stream, other);
    pthread_mutex_unlock(&other->staging_lock);
    return rc;
}

int mx_copy_slices(struct mx_stream *stream, struct mx_slice to, struct mx_slice from, size_t bytes)
{
    int rc = 0;
    MX_TRY(mx_stream_status(stream));
    MX_TRY(slice_check(stream, "the destination", to, bytes));
    MX_TRY(slice_check(stream, "the source", from, bytes));
    struct mx_device *const to_device = to.buffer->device, *const from_device = from.buffer->device;
    if (stream->device != to_device && stream->device != from_device) {
        MX_RAISE(MX_ERR_ARGUMENT, "use a stream of one of the two devices",
                 "stream \"%s\" of %s cannot copy from %s to %s", stream->name, stream->device->name, from_device->name,
                 to_device->name);
    }
    if (to.buffer == from.buffer && to.offset_bytes < from.offset_bytes + bytes &&
        from.offset_bytes < to.offset_bytes + bytes) {
        MX_RAISE(MX_ERR_ARGUMENT, "copy through another buffer",
                 "stream \"%s\" of %s: a copy of %zu bytes overlaps itself in buffer \"%s\"", stream->name,
                 stream->device->name, bytes, to.buffer->owner);
    }
    if (bytes == 0) goto out;
    if (stream->recording && to_device != from_device) MX_TRY(mx_graph_refuse(stream, "asked to copy between devices"));
    if (to_device->backend == from_device->backend) {
        rc = stream->device->backend->copy_slices(stream, to, from, bytes);
    } else if (stream->device == to_device && from_device->info.caps.host_visible) {
        rc = mx_copy_upload(stream, to, (const char *)mx_buffer_host(from.buffer) + from.offset_bytes, bytes);
    } else if (stream->device == from_device && to_device->info.caps.host_visible) {
        rc = mx_copy_download(stream, (char *)mx_buffer_host(to.buffer) + to.offset_bytes, from, bytes);
    } else {
        rc = copy_staged(stream, stream->device == to_device ? from_device : to_device, to, from, bytes);
    }
out:
    return rc;
}

int mx_op_submit(struct mx_stream *stream, enum mx_op op, const void *args)
{
    int rc = 0;
    MX_NEED(stream, "a stream");
    MX_NEED(args, "the arguments of the operation");
    const struct mx_device *const device = stream->device;
    MX_TRY(mx_stream_status(stream));
    MX_TRY(mx_op_check(device, op, args));
    if (device->backend->supports && !device->backend->supports(device, op, args)) {
        MX_RAISE(MX_ERR_UNSUPPORTED, "choose another device, or other sizes or types for this operation",
                 "%s cannot run %s with these arguments", device->name, mx_op_name(op));
    }
    rc = device->backend->submit(stream, op, args);
out:
    return rc;
}
