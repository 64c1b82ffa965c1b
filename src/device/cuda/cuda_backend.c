/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The CUDA backend: its vtable and device detection.
 *
 * Devices are listed in the driver's order, which CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER change; the log gives the
 * bus id of each, so that the physical device is known. Devices that cannot be used (too old, too small, closed to
 * programs) are left out with a warning, and if none remains their reasons are the backend's.
 *
 * Memory: see cuda.h. Nothing is taken from a device before it is opened.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "device/cuda/cuda.h"
#include "myxtts/budget.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRES         "an NVIDIA GPU of compute capability 7.0 or later and its driver, version 520 or later"
#define CAPABILITY_LEAST 70
#define CAPABILITY_BF16  80
#define MEMORY_LEAST     ((size_t)1 << 30)
#define MODE_PROHIBITED  2

static int attribute(const struct mx_cuda_api *cu, CUdevice device, int which)
{
    int value = 0;
    return cu->cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

static size_t memory_of(const struct mx_cuda_api *cu, CUdevice device)
{
    size_t bytes = 0;
    return cu->cuDeviceTotalMem_v2(&bytes, device) == CUDA_SUCCESS ? bytes : 0;
}

static void name_of(const struct mx_cuda_api *cu, CUdevice device, char *out, int size)
{
    if (cu->cuDeviceGetName(out, size, device) != CUDA_SUCCESS) snprintf(out, (size_t)size, "an NVIDIA device");
    out[size - 1] = '\0';
}

/* ---- finding ---- */

/* 0, or the error that says why this device cannot be used. */
static int entry_check(const struct mx_cuda_api *cu, const struct mx_cuda_entry *entry)
{
    char name[96], has[MX_BYTES_TEXT_BYTES], needs[MX_BYTES_TEXT_BYTES];
    const size_t bytes = memory_of(cu, entry->device);
    name_of(cu, entry->device, name, sizeof name);
    if (entry->capability < CAPABILITY_LEAST) {
        return MX_FAIL(MX_ERR_NO_DEVICE, "use a GPU of the generation Volta (2017) or later, or --backend opencl",
                       "%s (%s) is too old: it has compute capability %d.%d, 7.0 is needed", name, entry->bus,
                       entry->capability / 10, entry->capability % 10);
    }
    if (bytes < MEMORY_LEAST) {
        return MX_FAIL(MX_ERR_NO_DEVICE, "use a GPU with more memory, or a larger part of this one",
                       "%s (%s) has too little memory: %s, %s is needed", name, entry->bus, mx_bytes_text(bytes, has),
                       mx_bytes_text(MEMORY_LEAST, needs));
    }
    if (attribute(cu, entry->device, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) == MODE_PROHIBITED) {
        return MX_FAIL(MX_ERR_NO_DEVICE, "open it with: nvidia-smi --compute-mode=DEFAULT",
                       "%s (%s) is closed to programs (its compute mode is \"prohibited\")", name, entry->bus);
    }
    return 0;
}

/* The driver's device number `ordinal`. */
static int entry_read(const struct mx_cuda_api *cu, int ordinal, struct mx_cuda_entry *out)
{
    int rc = 0;
    MX_CUDA_TRY(cu, cu->cuDeviceGet(&out->device, ordinal), "NVIDIA device %d", ordinal);
    out->capability = 10 * attribute(cu, out->device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                      attribute(cu, out->device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    if (cu->cuDeviceGetPCIBusId(out->bus, sizeof out->bus, out->device) != CUDA_SUCCESS) out->bus[0] = '\0';
    for (char *c = out->bus; *c; c++) *c = (char)tolower((unsigned char)*c);
out:
    return rc;
}

static int devices_find(struct mx_cuda_state *state)
{
    int rc = 0, count = 0;
    const struct mx_cuda_api *const cu = &state->api;
    char hint[MX_ERROR_HINT_BYTES] = ""; /* of the first that cannot be used */
    size_t length = 0;
    MX_CUDA_TRY(cu, cu->cuDeviceGetCount(&count), "counting the NVIDIA devices");
    for (int i = 0; i < count && state->count < MX_CUDA_DEVICES_MAX; i++) {
        struct mx_cuda_entry *const entry = &state->entries[state->count];
        MX_TRY(entry_read(cu, i, entry));
        if (entry_check(cu, entry) == 0) {
            state->count++;
        } else if (length < sizeof state->left_out) {
            if (length == 0) memcpy(hint, mx_error_last()->hint, sizeof hint);
            length += (size_t)snprintf(state->left_out + length, sizeof state->left_out - length, "%s%s",
                                       length > 0 ? "; " : "", mx_error_last()->message);
        }
    }
    if (state->count == 0) {
        if (length > 0) MX_RAISE(MX_ERR_DEVICE, hint, "%s", state->left_out);
        state->api.present = false;
        MX_RAISE(MX_ERR_NO_DEVICE, "check that nvidia-smi lists a device",
                 "the NVIDIA driver was found, but no device for it");
    }
    if (length > 0) {
        mx_warn("CUDA: %d of %d devices %s left out: %s", count - state->count, count,
                count - state->count == 1 ? "is" : "are", state->left_out);
    }
    mx_error_clear();
out:
    return rc;
}

static bool chosen(const struct mx_registry_options *options, int index)
{
    char name[24];
    snprintf(name, sizeof name, "cuda:%d", index);
    for (int i = 0; i < options->device_count; i++)
        if (strcmp(options->devices[i], name) == 0) return true;
    return false;
}

/* Which physical device is which; the user is informed for the devices in use if the environment has changed the order.
 */
static void devices_log(const struct mx_cuda_state *state, const struct mx_registry_options *options)
{
    const char *const visible = getenv("CUDA_VISIBLE_DEVICES");
    const struct mx_cuda_api *const cu = &state->api;
    char name[96];
    mx_debug("CUDA: driver %s with CUDA %d.%d, NVRTC %d.%d", cu->driver_text, cu->driver_version / 1000,
             cu->driver_version % 1000 / 10, cu->nvrtc_version / 1000, cu->nvrtc_version % 1000 / 10);
    for (int i = 0; i < state->count; i++) {
        const struct mx_cuda_entry *const entry = &state->entries[i];
        name_of(cu, entry->device, name, sizeof name);
        if (visible && chosen(options, i)) {
            mx_info("CUDA_VISIBLE_DEVICES=%s: cuda:%d is %s at %s", visible, i, name, entry->bus);
        } else {
            mx_debug("CUDA: cuda:%d is %s at %s", i, name, entry->bus);
        }
    }
}

static void state_close(void *context)
{
    struct mx_cuda_state *const state = context;
    mx_cuda_api_close(&state->api);
    mx_free(state);
}

static int state_open(const struct mx_registry_options *options, void **out)
{
    int rc = 0;
    struct mx_cuda_state *const state = mx_alloc(1, sizeof *state);
    if (!state) return MX_ERR_NO_MEMORY;
    MX_TRY(mx_cuda_api_load(&state->api));
    MX_TRY(devices_find(state));
    devices_log(state, options);
    *out = state;
out:
    if (rc == MX_ERR_NO_DEVICE && state->api.present) {
        struct mx_error failure = *mx_error_last();
        failure.code = MX_ERR_DEVICE;
        rc = mx_error_restore(&failure);
    }
    if (rc < 0) state_close(state);
    return rc;
}

static const char *state_left_out(void *state)
{
    return ((const struct mx_cuda_state *)state)->left_out;
}

static int state_device_count(void *state)
{
    return ((const struct mx_cuda_state *)state)->count;
}

/* The NUMA node of the device; -1 if the system does not give it. */
static int node_of(const char *bus)
{
    char path[96];
    int node = -1;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", bus);
    FILE *const file = bus[0] ? fopen(path, "re") : NULL;
    if (file && fscanf(file, "%d", &node) != 1) node = -1;
    if (file) fclose(file);
    return node;
}

static int state_device_info(void *context, int index, struct mx_device_info *out)
{
    const struct mx_cuda_state *const state = context;
    const struct mx_cuda_api *const cu = &state->api;
    const struct mx_cuda_entry *const entry = &state->entries[index];
    const bool bf16 = entry->capability >= CAPABILITY_BF16;
    bool peers = false;
    memset(out, 0, sizeof *out);
    snprintf(out->backend, sizeof out->backend, "cuda");
    out->index = index;
    name_of(cu, entry->device, out->name, sizeof out->name);
    out->kind = MX_DEVICE_GPU;
    out->memory_bytes = memory_of(cu, entry->device);
    out->compute_units = attribute(cu, entry->device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    snprintf(out->pci_bus, sizeof out->pci_bus, "%s", entry->bus);
    out->numa_node = node_of(entry->bus);
    for (size_t i = 0; i < sizeof out->cores / sizeof *out->cores; i++) out->cores[i] = -1;
    for (int i = 0; i < state->count; i++) {
        int can = 0;
        if (i != index && cu->cuDeviceCanAccessPeer(&can, entry->device, state->entries[i].device) == CUDA_SUCCESS)
            peers = peers || can;
    }
    out->caps = (struct mx_device_caps){.async_copy = true,
                                        .peer_copy = peers,
                                        .pinned_host = true,
                                        .bf16_multiply = bf16,
                                        .bf16_fast = bf16,
                                        .event_times = true,
                                        .graphs = cu->graphs};
    out->work_bytes = mx_cuda_stream_bytes(out->memory_bytes, entry->capability);
    snprintf(out->products, sizeof out->products, "cuBLAS");
    snprintf(out->driver, sizeof out->driver, "NVIDIA %s, CUDA %d.%d, NVRTC %d.%d, compute capability %d.%d",
             cu->driver_text[0] != '\0' ? cu->driver_text : "(version unknown)", cu->driver_version / 1000,
             cu->driver_version % 1000 / 10, cu->nvrtc_version / 1000, cu->nvrtc_version % 1000 / 10,
             entry->capability / 10, entry->capability % 10);
    if (bf16) {
        snprintf(out->bf16_by, sizeof out->bf16_by, "tensor cores");
    } else {
        snprintf(out->bf16_missing, sizeof out->bf16_missing,
                 "bf16 needs compute capability 8.0, this device has %d.%d", entry->capability / 10,
                 entry->capability % 10);
    }
    return 0;
}

const struct mx_backend mx_cuda_backend = {
    .name = "cuda",
    .order = MX_BACKEND_CUDA,
    .requires = REQUIRES,
    .open = state_open,
    .close = state_close,
    .left_out = state_left_out,
    .device_count = state_device_count,
    .device_info = state_device_info,
    .device_open = mx_cuda_device_open,
    .device_close = mx_cuda_device_close,
    .buffer_create = mx_cuda_buffer_create,
    .buffer_release = mx_cuda_buffer_release,
    .host_alloc = mx_cuda_host_alloc,
    .host_release = mx_cuda_host_release,
    .stream_create = mx_cuda_stream_create,
    .stream_release = mx_cuda_stream_release,
    .stream_sync = mx_cuda_stream_sync,
    .stream_wait = mx_cuda_stream_wait,
    .event_create = mx_cuda_event_create,
    .event_release = mx_cuda_event_release,
    .event_record = mx_cuda_event_record,
    .event_sync = mx_cuda_event_sync,
    .event_done = mx_cuda_event_done,
    .event_check = mx_cuda_event_check,
    .event_time_ns = mx_cuda_event_time_ns,
    .copy_upload = mx_cuda_copy_upload,
    .copy_download = mx_cuda_copy_download,
    .copy_slices = mx_cuda_copy_slices,
    .can_peer = mx_cuda_can_peer,
    .submit = mx_cuda_submit,
    .device_load = mx_cuda_device_load,
    .graph_begin = mx_cuda_graph_begin,
    .graph_end = mx_cuda_graph_end,
    .graph_launch = mx_cuda_graph_launch,
    .graph_release = mx_cuda_graph_release,
    .native_kind = MX_NATIVE_CUDA,
    .native_get = mx_cuda_native_get,
};
