/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recorded work, the core's part; see myxtts/device.h. The backend records; this file guarantees what the backend
 * relies on: begin and end come in pairs, nothing that cannot be recorded reaches a stream between them, and a graph
 * only runs on the stream that recorded it, whose scratch its operations use.
 *
 * Memory: a graph is one block made here, with the backend's data behind `impl`; device->lock protects the list of
 * graphs.
 */
#include "base/alloc.h"
#include "base/argument.h"
#include "device/backend.h"

static int unsupported(const struct mx_device *device)
{
    return MX_FAIL(MX_ERR_UNSUPPORTED, "submit the work itself: its results are the same",
                   "%s cannot record work (caps.graphs)", device->name);
}

int mx_graph_refuse(const struct mx_stream *stream, const char *what)
{
    return MX_FAIL(MX_ERR_ARGUMENT, "end the recording first (mx_graph_end)",
                   "stream \"%s\" of %s cannot be %s while its work is recorded", stream->name, stream->device->name,
                   what);
}

int mx_graph_begin(struct mx_stream *stream)
{
    int rc = 0;
    MX_TRY(mx_stream_status(stream));
    if (!stream->device->backend->graph_begin || !stream->device->info.caps.graphs) return unsupported(stream->device);
    if (stream->recording) return mx_graph_refuse(stream, "recorded twice");
    MX_TRY(stream->device->backend->graph_begin(stream));
    stream->recording = true;
out:
    return rc;
}

int mx_graph_end(struct mx_stream *stream, struct mx_graph **graph)
{
    int rc = 0;
    MX_NEED(stream, "a stream");
    MX_NEED(graph, "a place for the graph");
    struct mx_device *const device = stream->device;
    struct mx_graph *fresh = NULL;
    if (!stream->recording) {
        MX_RAISE(MX_ERR_ARGUMENT, "call mx_graph_begin first", "stream \"%s\" of %s is not recording", stream->name,
                 device->name);
    }
    if (!*graph) {
        fresh = mx_alloc(1, sizeof *fresh);
        if (!fresh) MX_TRY(MX_ERR_NO_MEMORY);
        fresh->device = device;
    } else if ((*graph)->device != device) {
        MX_RAISE(MX_ERR_ARGUMENT, "keep one graph for each device", "a graph of %s cannot hold work of %s",
                 (*graph)->device->name, device->name);
    }
    stream->recording = false;
    struct mx_graph *const into = fresh ? fresh : *graph;
    MX_TRY(device->backend->graph_end(stream, into));
    into->stream = stream;
    if (fresh) {
        pthread_mutex_lock(&device->lock);
        fresh->next = device->graphs;
        if (fresh->next) fresh->next->prev = fresh;
        device->graphs = fresh;
        pthread_mutex_unlock(&device->lock);
        *graph = fresh;
    }
out:
    if (rc < 0) {
        mx_graph_cancel(stream);
        if (fresh && fresh->impl) device->backend->graph_release(fresh);
        mx_free(fresh);
    }
    return rc;
}

void mx_graph_cancel(struct mx_stream *stream)
{
    if (!stream || !stream->recording) return;
    const struct mx_error error = *mx_error_last(); /* of what went wrong while recording */
    stream->recording = false;
    stream->device->backend->graph_end(stream, NULL);
    mx_error_restore(&error);
}

int mx_graph_launch(struct mx_graph *graph)
{
    int rc = 0;
    MX_NEED(graph, "a graph");
    MX_TRY(mx_stream_status(graph->stream));
    if (graph->stream->recording) return mx_graph_refuse(graph->stream, "given a graph");
    rc = graph->device->backend->graph_launch(graph);
out:
    return rc;
}

void mx_graph_release(struct mx_graph *graph)
{
    if (!graph) return;
    struct mx_device *const device = graph->device;
    pthread_mutex_lock(&device->lock);
    if (graph->prev) graph->prev->next = graph->next;
    if (graph->next) graph->next->prev = graph->prev;
    if (device->graphs == graph) device->graphs = graph->next;
    pthread_mutex_unlock(&device->lock);
    if (graph->impl) device->backend->graph_release(graph);
    mx_free(graph);
}
