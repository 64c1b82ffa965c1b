/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Captures and graphs: a capture is the list of commands that were given meanwhile, and a launch gives them again.
 * Memory is looked up at each launch, so that a graph that names released memory is reported.
 *
 * Memory: cuStreamEndCapture hands the graph to the caller; an executable graph has a copy of the list.
 */
#include "inside.h"

#include <stdlib.h>

struct graph *graph_make(struct context *context, enum object_kind kind)
{
    struct graph *const graph = calloc(1, sizeof *graph);
    object_add(&graph->object, kind, context);
    return graph;
}

void graph_append(struct graph *graph, struct command *command)
{
    if (graph->first) {
        graph->last->next = command;
    } else {
        graph->first = command;
    }
    graph->last = command;
    graph->count++;
}

static void graph_empty(struct graph *graph)
{
    while (graph->first) {
        struct command *const command = graph->first;
        graph->first = command->next;
        command_release(command);
    }
    graph->count = 0;
}

void graph_release(struct graph *graph)
{
    object_remove(&graph->object);
    graph_empty(graph);
    free(graph);
}

static void graph_fill(struct graph *to, const struct graph *from)
{
    for (const struct command *c = from->first; c; c = c->next) graph_append(to, command_copy(c));
}

/* ---- captures ---- */

CUresult cuStreamBeginCapture_v2(CUstream handle, int mode)
{
    struct stream *stream;
    const CUresult code = stream_check(handle, &stream, "cuStreamBeginCapture");
    if (code != CUDA_SUCCESS) return code;
    if (mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL || stream->capture || capturing) {
        return fault(CUDA_ERROR_INVALID_VALUE, "cuStreamBeginCapture: another mode, or a second capture");
    }
    stream->capture = graph_make(stream->object.context, GRAPH);
    stream->spoiled = false;
    capturing = stream;
    return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *out)
{
    struct stream *stream;
    const CUresult code = stream_check(handle, &stream, "cuStreamEndCapture");
    *out = NULL;
    if (code != CUDA_SUCCESS) return code;
    if (!stream->capture) return fault(CUDA_ERROR_INVALID_VALUE, "cuStreamEndCapture without a capture");
    if (capturing != stream)
        return fault(908, "cuStreamEndCapture in another thread"); /* CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD */
    struct graph *const graph = stream->capture;
    stream->capture = NULL;
    capturing = NULL;
    if (stream->spoiled || strikes(&settings()->fail_capture)) {
        graph_release(graph);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    *out = (CUgraph)graph;
    return CUDA_SUCCESS;
}

/* ---- graphs ---- */

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
    if (!object_is(handle, GRAPH, "cuGraphGetNodes")) return CUDA_ERROR_INVALID_VALUE;
    const struct graph *const graph = (const struct graph *)handle;
    const struct command *command = graph->first;
    for (size_t i = 0; nodes && i < *count && command; i++, command = command->next)
        nodes[i] = (CUgraphNode)(uintptr_t)command;
    if (!nodes || *count > graph->count) *count = graph->count;
    return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph handle, unsigned long long flags)
{
    struct context *context;
    const CUresult code = context_outside_capture(&context, "cuGraphInstantiate");
    if (code != CUDA_SUCCESS) return code;
    if (flags != 0 || !object_is(handle, GRAPH, "cuGraphInstantiate")) return CUDA_ERROR_INVALID_VALUE;
    struct graph *const exec = graph_make(context, EXEC);
    graph_fill(exec, (const struct graph *)handle);
    *out = (CUgraphExec)exec;
    return CUDA_SUCCESS;
}

/* CUDA changes parameters of nodes, not their kinds and order. */
CUresult cuGraphExecUpdate(CUgraphExec exec_handle, CUgraph handle, CUgraphNode *failed, int *result)
{
    if (!object_is(exec_handle, EXEC, "cuGraphExecUpdate") || !object_is(handle, GRAPH, "cuGraphExecUpdate")) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    struct graph *const exec = (struct graph *)exec_handle;
    const struct graph *const graph = (const struct graph *)handle;
    const struct command *is = exec->first, *wanted = graph->first;
    while (is && wanted && is->kind == wanted->kind &&
           (is->kind != COMMAND_KERNEL || is->call.kernel == wanted->call.kernel)) {
        is = is->next;
        wanted = wanted->next;
    }
    *failed = (CUgraphNode)(uintptr_t)wanted;
    *result = is || wanted ? 2 : 0; /* the topology changed */
    if (*result) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    graph_empty(exec);
    graph_fill(exec, graph);
    totals.updates++;
    return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle)
{
    struct stream *stream;
    const CUresult code = stream_check(stream_handle, &stream, "cuGraphLaunch");
    if (code != CUDA_SUCCESS) return code;
    if (!object_is(handle, EXEC, "cuGraphLaunch")) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture) {
        stream->spoiled = true;
        return fault(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "cuGraphLaunch in a capture");
    }
    const struct graph *const exec = (const struct graph *)handle;
    totals.graph_launches++;
    totals.graph_nodes += (long)exec->count;
    for (const struct command *c = exec->first; c; c = c->next) {
        struct command *const command = command_copy(c);
        if (command_hold(command, stream->object.context, false) != CUDA_SUCCESS) {
            command->broken = CUDA_ERROR_ILLEGAL_ADDRESS; /* known only when it runs */
        }
        stream_queue(stream, command);
    }
    return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    if (!object_is(exec, EXEC, "cuGraphExecDestroy")) return CUDA_ERROR_INVALID_VALUE;
    graph_release((struct graph *)exec);
    return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph)
{
    if (!object_is(graph, GRAPH, "cuGraphDestroy")) return CUDA_ERROR_INVALID_VALUE;
    graph_release((struct graph *)graph);
    return CUDA_SUCCESS;
}
