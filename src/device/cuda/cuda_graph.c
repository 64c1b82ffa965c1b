/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recorded work as CUDA graphs. Work submitted between begin and end becomes nodes; the graph of nodes is made
 * executable once, and later recordings of the same sequence only update its arguments (cuGraphExecUpdate). If the
 * driver finds that the sequence differs (cuBLAS chose another method for other sizes), a new executable graph is made.
 *
 * Memory: the executable graph is behind `impl`; graphs of nodes do not outlive mx_cuda_graph_end.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "device/cuda/cuda.h"

struct graph {
    CUgraphExec exec;
    bool looks; /* some operation in it may write to the status words */
};

int mx_cuda_graph_begin(struct mx_stream *stream)
{
    int rc = 0;
    const struct mx_cuda_stream *const impl = stream->impl;
    const struct mx_cuda_device *const device = mx_cuda_device_of(stream->device);
    MX_TRY(mx_cuda_stream_told(stream, mx_cuda_enter(device), "recording its work"));
    /* Nothing may be allocated while work is recorded. */
    MX_TRY(mx_cuda_stream_prepare(stream));
    rc = mx_cuda_stream_told(stream,
                             device->cu->cuStreamBeginCapture_v2(impl->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                             "recording its work");
out:
    return rc;
}

/* Puts the nodes into an executable graph. */
static CUresult exec_renew(const struct mx_cuda_api *cu, struct graph *out, CUgraph nodes)
{
    CUgraphNode failed = NULL;
    int why = 0;
    size_t count = 0;
    if (out->exec) {
        const CUresult code = cu->cuGraphExecUpdate(out->exec, nodes, &failed, &why);
        if (code != CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) return code;
        cu->cuGraphExecDestroy(out->exec); /* if it still runs, the driver waits with that */
        out->exec = NULL;
    }
    const CUresult code = cu->cuGraphInstantiateWithFlags(&out->exec, nodes, 0);
    if (code == CUDA_SUCCESS && cu->cuGraphGetNodes(nodes, NULL, &count) == CUDA_SUCCESS)
        mx_debug("CUDA: a graph of %zu nodes", count);
    return code;
}

int mx_cuda_graph_end(struct mx_stream *stream, struct mx_graph *graph)
{
    int rc = 0;
    const struct mx_cuda_stream *const impl = stream->impl;
    const struct mx_cuda_device *const device = mx_cuda_device_of(stream->device);
    struct graph *fresh = NULL;
    CUgraph nodes = NULL;
    CUresult code = mx_cuda_enter(device);
    if (code == CUDA_SUCCESS) code = device->cu->cuStreamEndCapture(impl->stream, &nodes);
    if (!graph) goto out;
    MX_TRY(mx_cuda_stream_told(stream, code, "recording its work"));
    if (!graph->impl) {
        graph->impl = fresh = mx_alloc(1, sizeof *fresh);
        if (!fresh) MX_TRY(MX_ERR_NO_MEMORY);
    }
    struct graph *const to = graph->impl;
    to->looks = impl->looks;
    rc = mx_cuda_stream_told(stream, exec_renew(device->cu, to, nodes), "making a graph of its work");
out:
    if (nodes) device->cu->cuGraphDestroy(nodes);
    return rc;
}

int mx_cuda_graph_launch(struct mx_graph *graph)
{
    struct mx_stream *const stream = graph->stream;
    struct mx_cuda_stream *const impl = stream->impl;
    const struct mx_cuda_device *const device = mx_cuda_device_of(stream->device);
    const struct graph *const from = graph->impl;
    CUresult code = mx_cuda_enter(device);
    if (!from->exec) {
        return MX_FAIL(MX_ERR_ARGUMENT, "record the work again", "a graph of %s is empty because recording it failed",
                       graph->device->name);
    }
    if (code == CUDA_SUCCESS) code = device->cu->cuGraphLaunch(from->exec, impl->stream);
    impl->looks = impl->looks || from->looks;
    return mx_cuda_stream_told(stream, code, "starting a graph");
}

void mx_cuda_graph_release(struct mx_graph *graph)
{
    struct graph *const impl = graph->impl;
    const struct mx_cuda_device *const device = mx_cuda_device_of(graph->device);
    if (impl->exec && mx_cuda_enter(device) == CUDA_SUCCESS) device->cu->cuGraphExecDestroy(impl->exec);
    mx_free(impl);
}
