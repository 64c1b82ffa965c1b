/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The OpenCL backend: its vtable and device detection.
 *
 * All devices of all platforms are listed in the drivers' order.
 *
 * Memory: see opencl.h. Nothing is taken from a device before it is opened.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "base/thread/signals.h"
#include "device/opencl/opencl.h"

#include <stdio.h>
#include <string.h>

#define REQUIRES "an OpenCL driver: pocl-opencl-icd for CPUs, the vendor's package for GPUs"

void mx_opencl_device_text(const struct mx_cl_api *cl, cl_device_id id, cl_device_info what, char *out, size_t size)
{
    char text[256] = "";
    if (cl->clGetDeviceInfo(id, what, sizeof text - 1, text, NULL) != CL_SUCCESS) text[0] = '\0';
    const char *from = text + strspn(text, " ");
    size_t length = strlen(from);
    while (length > 0 && from[length - 1] == ' ') length--;
    snprintf(out, size, "%.*s", (int)length, from);
}

static cl_device_type type_of(const struct mx_cl_api *cl, cl_device_id id)
{
    cl_device_type type = 0;
    cl->clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    return type;
}

static int units_of(const struct mx_cl_api *cl, cl_device_id id)
{
    cl_uint units = 0;
    cl->clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    return units > 0 ? (int)units : 1;
}

/* ---- finding ---- */

static void state_close(void *context)
{
    struct mx_opencl_state *const state = context;
    mx_clblast_close(&state->blast); /* first: it may hold the last of what was made for these devices */
    for (int i = 0; i < state->platform_count; i++) pthread_mutex_destroy(&state->platforms[i].lock);
    mx_free(state);
}

static int devices_find(struct mx_opencl_state *state)
{
    const struct mx_cl_api *const cl = &state->api;
    cl_platform_id ids[MX_OPENCL_PLATFORMS_MAX];
    cl_uint count = 0;
    const cl_int code = cl->clGetPlatformIDs(MX_OPENCL_PLATFORMS_MAX, ids, &count);
    if (code != CL_SUCCESS || count == 0) {
        return MX_FAIL(MX_ERR_NO_DEVICE, "install " REQUIRES, "OpenCL is installed, but it has no driver");
    }
    if (count > MX_OPENCL_PLATFORMS_MAX) count = MX_OPENCL_PLATFORMS_MAX;
    for (cl_uint p = 0; p < count; p++) {
        struct mx_opencl_platform *const platform = &state->platforms[state->platform_count++];
        cl_device_id devices[MX_OPENCL_DEVICES_MAX];
        cl_uint found = 0;
        platform->id = ids[p];
        pthread_mutex_init(&platform->lock, NULL);
        cl->clGetPlatformInfo(ids[p], CL_PLATFORM_NAME, sizeof platform->name - 1, platform->name, NULL);
        const cl_uint room = (cl_uint)(MX_OPENCL_DEVICES_MAX - state->count);
        if (room == 0 || cl->clGetDeviceIDs(ids[p], CL_DEVICE_TYPE_ALL, room, devices, &found) != CL_SUCCESS) continue;
        for (cl_uint d = 0; d < found && d < room; d++) {
            state->entries[state->count++] = (struct mx_opencl_entry){.id = devices[d], .platform = (int)p};
        }
    }
    if (state->count == 0) {
        return MX_FAIL(MX_ERR_NO_DEVICE, "install " REQUIRES,
                       "OpenCL has a driver (%s), but the driver finds no device", state->platforms[0].name);
    }
    return 0;
}

/* The highest index of an OpenCL device in the selection; -1 if there is none. */
static int selection_last(const struct mx_registry_options *options)
{
    int last = -1;
    for (int i = 0; i < options->device_count; i++) {
        char backend[16];
        int index;
        if (mx_device_name_parse(options->devices[i], backend, &index) < 0) continue;
        if (strcmp(backend, "opencl") == 0 && index > last) last = index;
    }
    return last;
}

static bool has_gpu(const struct mx_opencl_state *state)
{
    for (int i = 0; i < state->count; i++)
        if (type_of(&state->api, state->entries[i].id) & CL_DEVICE_TYPE_GPU) return true;
    return false;
}

static int state_open(const struct mx_registry_options *options, void **out)
{
    int rc = 0;
    struct mx_signals signals;
    struct mx_opencl_state *const state = mx_alloc(1, sizeof *state);
    if (!state) return MX_ERR_NO_MEMORY;
    mx_signals_save(&signals);
    MX_TRY(mx_cl_api_load(&state->api));
    MX_TRY(devices_find(state));
    MX_TRY(mx_clblast_open(&state->blast, has_gpu(state)));
    for (int i = 0; i < state->count; i++) state->entries[i].chosen = selection_last(options) < 0;
    for (int i = 0; i < options->device_count; i++) {
        char backend[16];
        int index;
        MX_TRY(mx_device_name_parse(options->devices[i], backend, &index));
        if (strcmp(backend, "opencl") == 0 && index < state->count) state->entries[index].chosen = true;
    }
    *out = state;
out:
    mx_signals_restore(&signals);
    if (rc < 0) state_close(state);
    return rc;
}

static int state_device_count(void *state)
{
    return ((const struct mx_opencl_state *)state)->count;
}

static int state_device_info(void *context, int index, struct mx_device_info *out)
{
    const struct mx_opencl_state *const state = context;
    const struct mx_cl_api *const cl = &state->api;
    const struct mx_opencl_entry *const entry = &state->entries[index];
    const cl_device_type type = type_of(cl, entry->id);
    cl_ulong bytes = 0;
    char version[64], driver[96];
    memset(out, 0, sizeof *out);
    snprintf(out->backend, sizeof out->backend, "opencl");
    out->index = index;
    mx_opencl_device_text(cl, entry->id, CL_DEVICE_NAME, out->name, sizeof out->name);
    mx_opencl_device_text(cl, entry->id, CL_DEVICE_VERSION, version, sizeof version);
    mx_opencl_device_text(cl, entry->id, CL_DRIVER_VERSION, driver, sizeof driver);
    snprintf(out->driver, sizeof out->driver, "%.32s, driver %.64s", version, driver);
    out->kind = type & CL_DEVICE_TYPE_GPU ? MX_DEVICE_GPU : type & CL_DEVICE_TYPE_CPU ? MX_DEVICE_CPU : MX_DEVICE_OTHER;
    cl->clGetDeviceInfo(entry->id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    out->memory_bytes = bytes;
    out->compute_units = units_of(cl, entry->id);
    out->numa_node = -1;
    for (size_t i = 0; i < sizeof out->cores / sizeof *out->cores; i++) out->cores[i] = -1;
    out->caps = (struct mx_device_caps){
        .async_copy = true, .peer_copy = true, .pinned_host = out->kind == MX_DEVICE_GPU, .event_times = true};
    out->work_bytes = MX_SCRATCH_BYTES;
    snprintf(out->bf16_missing, sizeof out->bf16_missing, "OpenCL devices multiply in fp32");
    mx_clblast_describe(&state->blast, out);
    return 0;
}

/* Devices of one context copy to each other by themselves. */
static bool can_peer(const struct mx_device *from, const struct mx_device *to)
{
    return mx_opencl_device_of(from)->context == mx_opencl_device_of(to)->context;
}

const struct mx_backend mx_opencl_backend = {
    .name = "opencl",
    .order = MX_BACKEND_OPENCL,
    .gpus_only = true,
    .requires = REQUIRES,
    .open = state_open,
    .close = state_close,
    .device_count = state_device_count,
    .device_info = state_device_info,
    .device_open = mx_opencl_device_open,
    .device_close = mx_opencl_device_close,
    .buffer_create = mx_opencl_buffer_create,
    .buffer_release = mx_opencl_buffer_release,
    .host_alloc = mx_opencl_host_alloc,
    .host_release = mx_opencl_host_release,
    .stream_create = mx_opencl_stream_create,
    .stream_release = mx_opencl_stream_release,
    .stream_sync = mx_opencl_stream_sync,
    .stream_wait = mx_opencl_stream_wait,
    .event_create = mx_opencl_event_create,
    .event_release = mx_opencl_event_release,
    .event_record = mx_opencl_event_record,
    .event_sync = mx_opencl_event_sync,
    .event_done = mx_opencl_event_done,
    .event_check = mx_opencl_event_check,
    .event_time_ns = mx_opencl_event_time_ns,
    .copy_upload = mx_opencl_copy_upload,
    .copy_download = mx_opencl_copy_download,
    .copy_slices = mx_opencl_copy_slices,
    .can_peer = can_peer,
    .submit = mx_opencl_submit,
    .supports = mx_opencl_supports,
};
