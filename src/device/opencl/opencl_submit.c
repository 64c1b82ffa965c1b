/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Submitting operations to an OpenCL queue: the launches of kernels/launch.h become kernel calls.
 *
 * A kernel object carries its arguments, so each stream has its own; a stream is used by one thread at a time.
 *
 * Memory: kernel objects are made at first use and live as long as the stream, like its scratch.
 */
#include "device/opencl/opencl.h"

struct launcher {
    struct mx_launcher base;
    struct mx_stream *stream;
};

static struct launcher *launcher_of(struct mx_launcher *base)
{
    return (struct launcher *)base;
}

static int kernel_get(struct mx_stream *stream, enum mx_kernel_id id, cl_kernel *out)
{
    int rc = 0;
    cl_int code = CL_SUCCESS;
    struct mx_opencl_stream *const impl = stream->impl;
    const struct mx_opencl_device *const device = mx_opencl_device_of(stream->device);
    if (!impl->kernels[id]) {
        impl->kernels[id] = device->cl->clCreateKernel(device->program, mx_kernel_name(id), &code);
        MX_CL_TRY(code, "%s: kernel %s", stream->device->name, mx_kernel_name(id));
    }
    *out = impl->kernels[id];
out:
    return rc;
}

/* Base and distance of an operand. */
static cl_int slice_set(const struct mx_cl_api *cl, cl_kernel kernel, cl_uint *at, cl_mem memory, int64_t distance)
{
    const cl_long bytes = distance;
    const cl_int code = cl->clSetKernelArg(kernel, (*at)++, sizeof memory, memory ? &memory : NULL);
    return code != CL_SUCCESS ? code : cl->clSetKernelArg(kernel, (*at)++, sizeof bytes, &bytes);
}

static cl_int arg_set(const struct mx_cl_api *cl, const struct mx_opencl_stream *impl, cl_kernel kernel, cl_uint *at,
                      const struct mx_kernel_arg *arg)
{
    switch (arg->kind) {
    case MX_ARG_SLICE:
        if (!arg->slice.buffer) return slice_set(cl, kernel, at, NULL, -1);
        return slice_set(cl, kernel, at, mx_opencl_memory(arg->slice.buffer), (int64_t)arg->slice.offset_bytes);
    case MX_ARG_STATUS:
        return slice_set(cl, kernel, at, impl->status, 0);
    case MX_ARG_LONG:
        return cl->clSetKernelArg(kernel, (*at)++, sizeof arg->l, &arg->l);
    case MX_ARG_INT:
        return cl->clSetKernelArg(kernel, (*at)++, sizeof arg->i, &arg->i);
    default:
        return cl->clSetKernelArg(kernel, (*at)++, sizeof arg->f, &arg->f);
    }
}

static int launch(struct mx_launcher *base, const struct mx_kernel_launch *what)
{
    int rc = 0;
    struct mx_stream *const stream = launcher_of(base)->stream;
    struct mx_opencl_stream *const impl = stream->impl;
    const struct mx_cl_api *const cl = mx_opencl_device_of(stream->device)->cl;
    const size_t lanes = (size_t)mx_kernel_lanes(base->tuning, what->kernel), all = (size_t)what->groups * lanes;
    cl_kernel kernel = NULL;
    cl_uint at = 0;
    MX_TRY(kernel_get(stream, what->kernel, &kernel));
    for (int i = 0; i < what->count; i++) {
        if (what->args[i].kind == MX_ARG_STATUS) impl->looks = true;
        MX_CL_TRY(arg_set(cl, impl, kernel, &at, &what->args[i]), "%s: argument %d of kernel %s", stream->device->name,
                  i, mx_kernel_name(what->kernel));
    }
    MX_CL_TRY(cl->clEnqueueNDRangeKernel(impl->queue, kernel, 1, NULL, &all, &lanes, 0, NULL, NULL), "%s: kernel %s",
              stream->device->name, mx_kernel_name(what->kernel));
out:
    return rc;
}

static int scratch(struct mx_launcher *base, struct mx_slice *out)
{
    int rc = 0;
    struct mx_stream *const stream = launcher_of(base)->stream;
    struct mx_opencl_stream *const impl = stream->impl;
    if (!impl->scratch) MX_TRY(mx_buffer_create(stream->device, "scratch", MX_SCRATCH_BYTES, &impl->scratch));
    *out = mx_slice_at(impl->scratch, 0);
out:
    return rc;
}

static int gemm(struct mx_launcher *base, const struct mx_library_gemm *what)
{
    return mx_clblast_gemm(launcher_of(base)->stream, what);
}

static int work(struct mx_launcher *base, struct mx_slice *out)
{
    return mx_clblast_work(launcher_of(base)->stream, out);
}

int mx_opencl_submit(struct mx_stream *stream, enum mx_op op, const void *args)
{
    int rc = 0;
    struct mx_opencl_stream *const impl = stream->impl;
    const struct mx_opencl_device *const device = mx_opencl_device_of(stream->device);
    struct launcher launcher = {.base = {.tuning = &device->tuning, .launch = launch, .scratch = scratch},
                                .stream = stream};
    if (device->blast) {
        launcher.base.gemm = gemm;
        launcher.base.work = work;
        launcher.base.work_bytes = mx_kernel_work_bytes(stream->device->info.memory_bytes);
    }
    MX_TRY(mx_kernel_plan(&launcher.base, op, args));
    MX_CL_TRY(device->cl->clFlush(impl->queue), "stream \"%s\" of %s", stream->name, stream->device->name);
out:
    return rc;
}

bool mx_opencl_supports(const struct mx_device *device, enum mx_op op, const void *args)
{
    (void)device;
    (void)op;
    (void)args;
    return true;
}
