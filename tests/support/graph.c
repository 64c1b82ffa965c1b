/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random graphs of work; see graph.h.
 *
 * Events are few and recorded again and again, also on other streams while they are pending: a wait must stand for the
 * record before it. A stream runs in order, so per buffer it is enough to remember the last writer and, for each
 * stream, the last reader.
 */
#include "support/graph.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "myxtts/error.h"
#include "myxtts/ops.h"

#include <stdio.h>
#include <string.h>

#define STREAMS_EACH 3 /* per device */
#define BUFFERS_EACH 4
#define STREAMS_MAX  (GRAPH_DEVICES_MAX * STREAMS_EACH)
#define BUFFERS_MAX  (GRAPH_DEVICES_MAX * BUFFERS_EACH)
#define SMALL_WORDS  1024
#define LARGE_WORDS  100000 /* the first buffer of each device: copies of it are worth splitting */
#define DOWN_WORDS   256
#define EVENTS_EACH  5

struct node {
    int stream; /* -1: none */
    int event;
};

struct graph {
    struct mx_device *const *devices;
    uint64_t seed, draws;
    int stream_count, buffer_count;
    struct mx_stream *streams[STREAMS_MAX];
    struct mx_event *events[GRAPH_DEVICES_MAX][EVENTS_EACH];
    struct mx_buffer *buffers[BUFFERS_MAX];
    uint32_t *model[BUFFERS_MAX];
    int words[BUFFERS_MAX];
    struct node writer[BUFFERS_MAX], reader[BUFFERS_MAX][STREAMS_MAX];
    uint32_t *pattern;        /* LARGE_WORDS, what uploads take */
    uint32_t *got, *expected; /* DOWN_WORDS for each command */
    int *down_words;          /* how many of them the command downloaded */
};

static int draw(struct graph *graph, int bound)
{
    return (int)mx_rng_below(graph->seed, 7, graph->draws++, (uint64_t)bound);
}

/* The stream's next work comes after the node. */
static int after(struct graph *graph, int stream, struct node node)
{
    if (node.stream < 0 || node.stream == stream) return 0;
    return mx_stream_wait(graph->streams[stream], graph->events[node.stream / STREAMS_EACH][node.event]);
}

static int before_read(struct graph *graph, int stream, int buffer)
{
    return after(graph, stream, graph->writer[buffer]);
}

static int before_write(struct graph *graph, int stream, int buffer)
{
    int rc = after(graph, stream, graph->writer[buffer]);
    for (int s = 0; s < graph->stream_count && rc == 0; s++) rc = after(graph, stream, graph->reader[buffer][s]);
    return rc;
}

static void wrote(struct graph *graph, int buffer, struct node node)
{
    graph->writer[buffer] = node;
    for (int s = 0; s < graph->stream_count; s++) graph->reader[buffer][s].stream = -1;
}

/* A random piece of `words` words: mostly small, sometimes all. */
static int piece(struct graph *graph, int words, int *offset)
{
    const int count = draw(graph, 8) == 0 ? words : 1 + draw(graph, words < 500 ? words : 500);
    *offset = draw(graph, words - count + 1);
    return count;
}

static int copy_command(struct graph *graph, int stream, int to, struct node node)
{
    int rc = 0, to_offset, from_offset;
    int from = draw(graph, graph->buffer_count - 1);
    if (from >= to) from++;
    const int least = graph->words[to] < graph->words[from] ? graph->words[to] : graph->words[from];
    const int count = piece(graph, least, &to_offset);
    from_offset = draw(graph, graph->words[from] - count + 1);
    /* The stream is of the destination's device; sometimes take one of the source's. */
    if (draw(graph, 2)) {
        stream = from / BUFFERS_EACH * STREAMS_EACH + draw(graph, STREAMS_EACH);
        node.stream = stream;
    }
    MX_TRY(before_read(graph, stream, from));
    MX_TRY(before_write(graph, stream, to));
    MX_TRY(mx_copy_slices(graph->streams[stream], mx_slice_at(graph->buffers[to], (size_t)to_offset * 4),
                          mx_slice_at(graph->buffers[from], (size_t)from_offset * 4), (size_t)count * 4));
    MX_TRY(mx_event_record(graph->events[stream / STREAMS_EACH][node.event], graph->streams[stream]));
    memcpy(graph->model[to] + to_offset, graph->model[from] + from_offset, (size_t)count * 4);
    wrote(graph, to, node);
    graph->reader[from][stream] = node;
out:
    return rc;
}

static int command(struct graph *graph, int number)
{
    int rc = 0, offset;
    const int buffer = draw(graph, graph->buffer_count), device = buffer / BUFFERS_EACH;
    const int stream = device * STREAMS_EACH + draw(graph, STREAMS_EACH);
    struct mx_stream *const on = graph->streams[stream];
    const struct node node = {stream, draw(graph, EVENTS_EACH)};
    const int kind = draw(graph, 4);
    if (kind == 0) return copy_command(graph, stream, buffer, node);
    int count = piece(graph, graph->words[buffer], &offset);
    const struct mx_slice slice = mx_slice_at(graph->buffers[buffer], (size_t)offset * 4);
    if (kind == 1) { /* download */
        if (count > DOWN_WORDS) count = DOWN_WORDS;
        MX_TRY(before_read(graph, stream, buffer));
        MX_TRY(mx_copy_download(on, graph->got + (size_t)number * DOWN_WORDS, slice, (size_t)count * 4));
        memcpy(graph->expected + (size_t)number * DOWN_WORDS, graph->model[buffer] + offset, (size_t)count * 4);
        graph->down_words[number] = count;
        graph->reader[buffer][stream] = node;
    } else {
        MX_TRY(before_write(graph, stream, buffer));
        if (kind == 2) { /* upload */
            const int from = draw(graph, LARGE_WORDS - count + 1);
            MX_TRY(mx_copy_upload(on, slice, graph->pattern + from, (size_t)count * 4));
            memcpy(graph->model[buffer] + offset, graph->pattern + from, (size_t)count * 4);
        } else {
            const struct mx_fill_args fill = {.x = slice, .count = count, .bits = 0x10000u + (uint32_t)number};
            MX_TRY(mx_fill(on, &fill));
            for (int i = 0; i < count; i++) graph->model[buffer][offset + i] = fill.bits;
        }
        wrote(graph, buffer, node);
    }
    MX_TRY(mx_event_record(graph->events[device][node.event], on));
out:
    return rc;
}

static int graph_create(struct graph *graph, int device_count, int commands)
{
    int rc = 0;
    char name[32];
    for (int d = 0; d < device_count; d++) {
        for (int i = 0; i < STREAMS_EACH; i++) {
            snprintf(name, sizeof name, "s%d.%d", d, i);
            MX_TRY(mx_stream_create(graph->devices[d], name, &graph->streams[graph->stream_count]));
            graph->stream_count++;
        }
        for (int i = 0; i < EVENTS_EACH; i++) MX_TRY(mx_event_create(graph->devices[d], &graph->events[d][i]));
        for (int i = 0; i < BUFFERS_EACH; i++) {
            const int b = graph->buffer_count, words = i == 0 ? LARGE_WORDS : SMALL_WORDS;
            MX_TRY(mx_buffer_create(graph->devices[d], "graph", (size_t)words * 4, &graph->buffers[b]));
            graph->buffer_count++;
            graph->words[b] = words;
            graph->model[b] = mx_alloc((size_t)words, 4);
            if (!graph->model[b]) MX_TRY(MX_ERR_NO_MEMORY);
        }
    }
    graph->pattern = mx_alloc(LARGE_WORDS, 4);
    graph->got = mx_alloc((size_t)commands * DOWN_WORDS, 4);
    graph->expected = mx_alloc((size_t)commands * DOWN_WORDS, 4);
    graph->down_words = mx_alloc((size_t)commands, sizeof(int));
    if (!graph->pattern || !graph->got || !graph->expected || !graph->down_words) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < LARGE_WORDS; i++) graph->pattern[i] = 0x20000000u + i;
    for (int b = 0; b < graph->buffer_count; b++) { /* all contents are known from the start */
        struct mx_stream *const stream = graph->streams[b / BUFFERS_EACH * STREAMS_EACH];
        for (int s = 0; s < graph->stream_count; s++) graph->reader[b][s].stream = -1;
        graph->writer[b].stream = -1;
        memcpy(graph->model[b], graph->pattern, (size_t)graph->words[b] * 4);
        MX_TRY(mx_copy_upload(stream, mx_slice_at(graph->buffers[b], 0), graph->pattern, (size_t)graph->words[b] * 4));
        MX_TRY(mx_stream_sync(stream));
    }
out:
    return rc;
}

/* All streams are done: downloads on the way, and what the buffers hold now. */
static int graph_compare(struct graph *graph, int commands)
{
    int rc = 0;
    uint32_t *const now = mx_alloc(LARGE_WORDS, 4);
    if (!now) return MX_ERR_NO_MEMORY;
    for (int n = 0; n < commands; n++) {
        const size_t at = (size_t)n * DOWN_WORDS;
        if (memcmp(graph->got + at, graph->expected + at, (size_t)graph->down_words[n] * 4) != 0) {
            MX_RAISE(MX_ERR_DATA, NULL, "graph %llu: download %d differs from the model",
                     (unsigned long long)graph->seed, n);
        }
    }
    for (int b = 0; b < graph->buffer_count; b++) {
        struct mx_stream *const stream = graph->streams[b / BUFFERS_EACH * STREAMS_EACH];
        const size_t bytes = (size_t)graph->words[b] * 4;
        MX_TRY(mx_copy_download(stream, now, mx_slice_at(graph->buffers[b], 0), bytes));
        MX_TRY(mx_stream_sync(stream));
        if (memcmp(now, graph->model[b], bytes) != 0) {
            MX_RAISE(MX_ERR_DATA, NULL, "graph %llu: buffer %d differs from the model", (unsigned long long)graph->seed,
                     b);
        }
    }
out:
    mx_free(now);
    return rc;
}

int graph_run(struct mx_device *const *devices, int device_count, uint64_t seed, int commands)
{
    int rc = 0;
    struct graph *const graph = mx_alloc(1, sizeof *graph);
    if (!graph) return MX_ERR_NO_MEMORY;
    graph->devices = devices;
    graph->seed = seed;
    MX_TRY(graph_create(graph, device_count, commands));
    for (int n = 0; n < commands; n++) MX_TRY(command(graph, n));
    for (int d = 0; d < device_count; d++) MX_TRY(mx_device_sync(devices[d]));
    MX_TRY(graph_compare(graph, commands));
out:
    for (int s = 0; s < graph->stream_count; s++) mx_stream_release(graph->streams[s]);
    for (int d = 0; d < device_count; d++) {
        for (int i = 0; i < EVENTS_EACH; i++) mx_event_release(graph->events[d][i]);
    }
    for (int b = 0; b < graph->buffer_count; b++) {
        mx_buffer_release(graph->buffers[b]);
        mx_free(graph->model[b]);
    }
    mx_free(graph->pattern);
    mx_free(graph->got);
    mx_free(graph->expected);
    mx_free(graph->down_words);
    mx_free(graph);
    return rc;
}
