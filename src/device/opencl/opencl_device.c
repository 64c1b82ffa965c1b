/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * OpenCL devices: contexts, buffers, pinned host memory.
 *
 * A buffer is touched when it is made, because drivers take memory at the first use: a buffer that does not fit then
 * fails here and not in the middle of training. Pinned host memory is a buffer that stays mapped.
 *
 * Memory: see opencl.h.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "device/opencl/opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- contexts ---- */

static int context_acquire(struct mx_opencl_state *state, struct mx_opencl_device *impl, int platform)
{
    int rc = 0;
    struct mx_opencl_platform *const p = impl->platform;
    pthread_mutex_lock(&p->lock);
    if (p->users == 0) {
        cl_device_id ids[MX_OPENCL_DEVICES_MAX];
        cl_uint count = 0;
        cl_int code = CL_SUCCESS;
        const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)p->id, 0};
        for (int i = 0; i < state->count; i++) {
            const struct mx_opencl_entry *const entry = &state->entries[i];
            if (entry->platform == platform && (entry->chosen || entry->id == impl->id)) ids[count++] = entry->id;
        }
        p->context = impl->cl->clCreateContext(properties, count, ids, NULL, NULL, &code);
        if (!p->context) rc = mx_cl_fail(code, "opening the OpenCL platform \"%s\"", p->name);
    }
    if (rc == 0) {
        p->users++;
        impl->context = p->context;
    }
    pthread_mutex_unlock(&p->lock);
    return rc;
}

static void context_release(struct mx_opencl_device *impl)
{
    if (!impl->context) return;
    pthread_mutex_lock(&impl->platform->lock);
    if (--impl->platform->users == 0) {
        impl->cl->clReleaseContext(impl->platform->context);
        impl->platform->context = NULL;
    }
    pthread_mutex_unlock(&impl->platform->lock);
}

/* ---- open and close ---- */

/* Whether the device lacks double precision, or is said to: MYXTTS_OPENCL_DOUBLE=off (to test the kernels without). */
static bool double_missing(const struct mx_opencl_device *impl)
{
    char extensions[8192] = "";
    const char *const forced = getenv("MYXTTS_OPENCL_DOUBLE");
    impl->cl->clGetDeviceInfo(impl->id, CL_DEVICE_EXTENSIONS, sizeof extensions - 1, extensions, NULL);
    return !strstr(extensions, "cl_khr_fp64") || (forced && strcmp(forced, "off") == 0);
}

/* What kernels are built for. */
static int tuning_read(const struct mx_device *device, struct mx_opencl_device *impl)
{
    cl_ulong most = 0, local = 0;
    size_t group = 0;
    impl->cl->clGetDeviceInfo(impl->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, NULL);
    impl->cl->clGetDeviceInfo(impl->id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof group, &group, NULL);
    impl->cl->clGetDeviceInfo(impl->id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local, NULL);
    if (group < MX_KERNEL_LANES_MOST || local < MX_KERNEL_LOCAL_BYTES) {
        return MX_FAIL(MX_ERR_UNSUPPORTED, "choose another device",
                       "%s is too small: it has work-groups of %zu and %llu bytes of local memory, the kernels need %d "
                       "and %d",
                       device->name, group, (unsigned long long)local, MX_KERNEL_LANES_MOST, MX_KERNEL_LOCAL_BYTES);
    }
    impl->most_bytes = most;
    mx_kernel_tuning_choose(&impl->tuning, double_missing(impl), group);
    return 0;
}

/* The device's clock against ours, by an empty command: of several tries the one that took the shortest time. */
static void clock_compare(struct mx_opencl_device *impl)
{
    const struct mx_cl_api *const cl = impl->cl;
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < 8; i++) {
        cl_event event;
        cl_ulong end = 0;
        const uint64_t before = mx_clock_ns();
        if (cl->clEnqueueMarkerWithWaitList(impl->errands, 0, NULL, &event) != CL_SUCCESS) return;
        cl->clWaitForEvents(1, &event);
        const uint64_t after = mx_clock_ns();
        const cl_int code = cl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
        cl->clReleaseEvent(event);
        if (code != CL_SUCCESS || after - before >= shortest) continue;
        shortest = after - before;
        impl->clock_shift_ns = (int64_t)(before + shortest / 2) - (int64_t)end;
    }
}

int mx_opencl_device_open(void *context, struct mx_device *device)
{
    int rc = 0;
    cl_int code = CL_SUCCESS;
    struct mx_opencl_state *const state = context;
    const struct mx_opencl_entry *const entry = &state->entries[device->info.index];
    struct mx_opencl_device *const impl = mx_alloc(1, sizeof *impl);
    if (!impl) return MX_ERR_NO_MEMORY;
    impl->cl = &state->api;
    impl->id = entry->id;
    impl->platform = &state->platforms[entry->platform];
    pthread_mutex_init(&impl->lock, NULL);
    device->impl = impl;
    MX_TRY(tuning_read(device, impl));
    MX_TRY(context_acquire(state, impl, entry->platform));
    impl->errands = impl->cl->clCreateCommandQueue(impl->context, impl->id, CL_QUEUE_PROFILING_ENABLE, &code);
    MX_CL_TRY(code, "%s: making a queue", device->name);
    clock_compare(impl);
    MX_TRY(mx_opencl_program_open(device, impl));
    if (mx_clblast_serves(&state->blast, device->info.kind)) impl->blast = &state->blast;
    mx_clblast_log(device);
out:
    if (rc < 0) mx_opencl_device_close(device);
    return rc;
}

void mx_opencl_device_close(struct mx_device *device)
{
    struct mx_opencl_device *const impl = device->impl;
    if (impl->program) impl->cl->clReleaseProgram(impl->program);
    if (impl->errands) {
        impl->cl->clFinish(impl->errands);
        impl->cl->clReleaseCommandQueue(impl->errands);
    }
    context_release(impl);
    mx_free(impl->stage);
    pthread_mutex_destroy(&impl->lock);
    mx_free(impl);
    device->impl = NULL;
}

/* ---- memory ---- */

int mx_opencl_buffer_create(struct mx_buffer *buffer)
{
    int rc = 0;
    struct mx_opencl_device *const impl = mx_opencl_device_of(buffer->device);
    const struct mx_cl_api *const cl = impl->cl;
    const cl_uint zero = 0;
    /* Whole words, so that the last one may be written as one. */
    const size_t bytes = (buffer->bytes + 3) / 4 * 4;
    cl_int code = CL_SUCCESS;
    cl_mem memory = NULL;
    if (bytes > impl->most_bytes) {
        MX_FAIL(MX_ERR_NO_MEMORY, NULL, "this device takes at most %llu bytes in one buffer",
                (unsigned long long)impl->most_bytes);
        return mx_error_hint("lower the sizes or the batch, or choose another device");
    }
    memory = cl->clCreateBuffer(impl->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    MX_CL_TRY(code, "%zu bytes", bytes);
    pthread_mutex_lock(&impl->lock);
    code = cl->clEnqueueFillBuffer(impl->errands, memory, &zero, sizeof zero, 0, sizeof zero, 0, NULL, NULL);
    if (code == CL_SUCCESS) code = cl->clFinish(impl->errands);
    pthread_mutex_unlock(&impl->lock);
    MX_CL_TRY(code, "%zu bytes", bytes);
    buffer->impl = memory;
out:
    if (rc < 0 && memory) cl->clReleaseMemObject(memory);
    return rc;
}

void mx_opencl_buffer_release(struct mx_buffer *buffer)
{
    mx_opencl_device_of(buffer->device)->cl->clReleaseMemObject(mx_opencl_memory(buffer));
}

int mx_opencl_host_alloc(struct mx_device *device, size_t bytes, void **out)
{
    int rc = 0;
    struct mx_opencl_device *const impl = mx_opencl_device_of(device);
    const struct mx_cl_api *const cl = impl->cl;
    cl_int code = CL_SUCCESS;
    struct mx_opencl_pinned *const pinned = mx_alloc(1, sizeof *pinned);
    if (!pinned) return MX_ERR_NO_MEMORY;
    pinned->memory = cl->clCreateBuffer(impl->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &code);
    MX_CL_TRY(code, "%s: %zu bytes of pinned host memory", device->name, bytes);
    pthread_mutex_lock(&impl->lock);
    pinned->ptr = cl->clEnqueueMapBuffer(impl->errands, pinned->memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes,
                                         0, NULL, NULL, &code);
    if (code == CL_SUCCESS) {
        pinned->next = impl->pinned;
        impl->pinned = pinned;
    }
    pthread_mutex_unlock(&impl->lock);
    MX_CL_TRY(code, "%s: %zu bytes of pinned host memory", device->name, bytes);
    *out = pinned->ptr;
out:
    if (rc < 0) {
        if (pinned->memory) cl->clReleaseMemObject(pinned->memory);
        mx_free(pinned);
    }
    return rc;
}

void mx_opencl_host_release(struct mx_device *device, void *ptr)
{
    struct mx_opencl_device *const impl = mx_opencl_device_of(device);
    pthread_mutex_lock(&impl->lock);
    struct mx_opencl_pinned **link = &impl->pinned;
    while (*link && (*link)->ptr != ptr) link = &(*link)->next;
    struct mx_opencl_pinned *const pinned = *link;
    if (pinned) {
        *link = pinned->next;
        impl->cl->clEnqueueUnmapMemObject(impl->errands, pinned->memory, ptr, 0, NULL, NULL);
        impl->cl->clFinish(impl->errands);
        impl->cl->clReleaseMemObject(pinned->memory);
    }
    pthread_mutex_unlock(&impl->lock);
    mx_free(pinned);
}
