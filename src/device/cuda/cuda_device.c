/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA devices: primary contexts, buffers, pinned host memory, the device's clock, and what NVML measures.
 *
 * The driver gives the time between two events as a float in milliseconds, which is exact to a microsecond only for
 * some seconds. So a reference event is compared with the host's clock when the device is opened, and again whenever it
 * has become too old for that.
 *
 * Memory: see cuda.h. The primary context is shared with any other code in this process that uses CUDA; it is held, not
 * owned.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "device/cuda/cuda.h"
#include "myxtts/budget.h"

#define FREE_LEAST   ((size_t)256 << 20) /* without this much no model starts */
#define CLOCK_AGE_MS 8000                /* a float of milliseconds is exact to 1 µs below 2^13 */
#define CLOCK_ROUNDS 4
#define GROUP_MOST   1024 /* threads of a block: all devices of compute capability 7.0 and later */

/* ---- the clock ---- */

/* Compares the device's clock with ours: of several tries the one that took the shortest time. device->lock is held
 * (or nobody else has the device yet). */
static CUresult clock_compare(struct mx_cuda_device *impl)
{
    const struct mx_cuda_api *const cu = impl->cu;
    uint64_t shortest = UINT64_MAX;
    CUresult code = CUDA_SUCCESS;
    for (int i = 0; i < CLOCK_ROUNDS && code == CUDA_SUCCESS; i++) {
        const uint64_t before = mx_clock_ns();
        code = cu->cuEventRecord(impl->clock[1], impl->errands);
        if (code == CUDA_SUCCESS) code = cu->cuEventSynchronize(impl->clock[1]);
        const uint64_t after = mx_clock_ns();
        if (code != CUDA_SUCCESS || after - before >= shortest) continue;
        shortest = after - before;
        impl->clock_ns = before + shortest / 2;
        CUevent const best = impl->clock[1];
        impl->clock[1] = impl->clock[0];
        impl->clock[0] = best;
    }
    return code;
}

uint64_t mx_cuda_clock_of(struct mx_cuda_device *impl, CUevent event)
{
    float ms = 0;
    uint64_t at = 0;
    pthread_mutex_lock(&impl->lock);
    CUresult code = impl->cu->cuEventElapsedTime(&ms, impl->clock[0], event);
    if (code == CUDA_SUCCESS && ms > CLOCK_AGE_MS) {
        code = clock_compare(impl);
        if (code == CUDA_SUCCESS) code = impl->cu->cuEventElapsedTime(&ms, impl->clock[0], event);
    }
    if (code == CUDA_SUCCESS) at = (uint64_t)((int64_t)impl->clock_ns + (int64_t)((double)ms * 1e6));
    pthread_mutex_unlock(&impl->lock);
    return at;
}

/* ---- open and close ---- */

static int memory_check(const struct mx_device *device, const struct mx_cuda_device *impl)
{
    int rc = 0;
    size_t left = 0, all = 0;
    char has[MX_BYTES_TEXT_BYTES], whole[MX_BYTES_TEXT_BYTES], needs[MX_BYTES_TEXT_BYTES];
    MX_CUDA_TRY(impl->cu, impl->cu->cuMemGetInfo_v2(&left, &all), "%s: asking for its free memory", device->name);
    if (left < FREE_LEAST) {
        MX_RAISE(MX_ERR_NO_MEMORY, "close other programs that use the device (nvidia-smi lists them)",
                 "%s has too little free memory: %s of %s, %s is needed", device->name, mx_bytes_text(left, has),
                 mx_bytes_text(all, whole), mx_bytes_text(FREE_LEAST, needs));
    }
out:
    return rc;
}

int mx_cuda_device_open(void *context, struct mx_device *device)
{
    int rc = 0;
    struct mx_cuda_state *const state = context;
    struct mx_cuda_device *const impl = mx_alloc(1, sizeof *impl);
    if (!impl) return MX_ERR_NO_MEMORY;
    const struct mx_cuda_api *const cu = impl->cu = &state->api;
    impl->entry = &state->entries[device->info.index];
    pthread_mutex_init(&impl->lock, NULL);
    device->impl = impl;
    mx_kernel_tuning_choose(&impl->tuning, false, GROUP_MOST);
    /* Waiting threads block instead of spinning: the cores decode audio. A context that is already in use keeps its mode. */
    cu->cuDevicePrimaryCtxSetFlags_v2(impl->entry->device, CU_CTX_SCHED_BLOCKING_SYNC);
    MX_CUDA_TRY(cu, cu->cuDevicePrimaryCtxRetain(&impl->context, impl->entry->device), "%s: opening it", device->name);
    MX_CUDA_TRY(cu, mx_cuda_enter(impl), "%s: opening it", device->name);
    MX_TRY(memory_check(device, impl));
    MX_CUDA_TRY(cu, cu->cuStreamCreate(&impl->errands, CU_STREAM_NON_BLOCKING), "%s: making a stream", device->name);
    for (int i = 0; i < 2; i++)
        MX_CUDA_TRY(cu, cu->cuEventCreate(&impl->clock[i], CU_EVENT_BLOCKING_SYNC), "%s: its clock", device->name);
    MX_CUDA_TRY(cu, clock_compare(impl), "%s: its clock", device->name);
    MX_TRY(mx_cuda_program_open(device, impl));
    if (!cu->nvml || cu->nvmlDeviceGetHandleByPciBusId_v2(impl->entry->bus, &impl->nvml) != 0) impl->nvml = NULL;
out:
    if (rc < 0) mx_cuda_device_close(device);
    return rc;
}

void mx_cuda_device_close(struct mx_device *device)
{
    struct mx_cuda_device *const impl = device->impl;
    const struct mx_cuda_api *const cu = impl->cu;
    if (impl->context && mx_cuda_enter(impl) == CUDA_SUCCESS) {
        mx_cuda_routes_release(impl);
        mx_cuda_enter(impl);
        if (impl->module) cu->cuModuleUnload(impl->module);
        for (int i = 0; i < 2; i++)
            if (impl->clock[i]) cu->cuEventDestroy_v2(impl->clock[i]);
        if (impl->errands) cu->cuStreamDestroy_v2(impl->errands);
        cu->cuCtxSetCurrent(NULL);
    }
    if (impl->context) cu->cuDevicePrimaryCtxRelease_v2(impl->entry->device);
    pthread_mutex_destroy(&impl->lock);
    mx_free(impl);
    device->impl = NULL;
}

int mx_cuda_device_load(struct mx_device *device, struct mx_device_load *out)
{
    const struct mx_cuda_device *const impl = mx_cuda_device_of(device);
    struct mx_nvml_utilization rates = {0};
    struct mx_nvml_memory memory = {0};
    if (!impl->nvml || impl->cu->nvmlDeviceGetUtilizationRates(impl->nvml, &rates) != 0 ||
        impl->cu->nvmlDeviceGetMemoryInfo(impl->nvml, &memory) != 0) {
        return MX_ERR_UNSUPPORTED;
    }
    *out = (struct mx_device_load){
        .busy = rates.gpu / 100.0, .memory_used_bytes = memory.used_bytes, .memory_bytes = memory.total_bytes};
    return 0;
}

/* ---- memory ---- */

int mx_cuda_buffer_create(struct mx_buffer *buffer)
{
    int rc = 0;
    const struct mx_cuda_device *const impl = mx_cuda_device_of(buffer->device);
    CUdeviceptr memory = 0;
    MX_CUDA_TRY(impl->cu, mx_cuda_enter(impl), "%zu bytes", buffer->bytes);
    MX_CUDA_TRY(impl->cu, impl->cu->cuMemAlloc_v2(&memory, buffer->bytes), "%zu bytes", buffer->bytes);
    buffer->impl = (void *)(uintptr_t)memory;
out:
    return rc;
}

void mx_cuda_buffer_release(struct mx_buffer *buffer)
{
    const struct mx_cuda_device *const impl = mx_cuda_device_of(buffer->device);
    if (mx_cuda_enter(impl) == CUDA_SUCCESS) impl->cu->cuMemFree_v2((CUdeviceptr)(uintptr_t)buffer->impl);
}

int mx_cuda_host_alloc(struct mx_device *device, size_t bytes, void **out)
{
    int rc = 0;
    const struct mx_cuda_device *const impl = mx_cuda_device_of(device);
    MX_CUDA_TRY(impl->cu, mx_cuda_enter(impl), "%s: pinned host memory", device->name);
    const CUresult code = impl->cu->cuMemHostAlloc(out, bytes, CU_MEMHOSTALLOC_PORTABLE);
    if (code == CUDA_ERROR_OUT_OF_MEMORY) {
        MX_RAISE(MX_ERR_NO_MEMORY, "close other programs, or raise the limit of locked memory (ulimit -l)",
                 "%s: the machine has no %zu bytes left that can be pinned for copies", device->name, bytes);
    }
    MX_CUDA_TRY(impl->cu, code, "%s: %zu bytes of pinned host memory", device->name, bytes);
out:
    return rc;
}

void mx_cuda_host_release(struct mx_device *device, void *ptr)
{
    const struct mx_cuda_device *const impl = mx_cuda_device_of(device);
    if (mx_cuda_enter(impl) == CUDA_SUCCESS) impl->cu->cuMemFreeHost(ptr);
}
