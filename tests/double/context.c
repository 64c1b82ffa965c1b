/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The driver: start, devices, primary contexts, names of errors. "Machine" numbers are those of all devices; programs
 * see the ones that CUDA_VISIBLE_DEVICES lets through, renumbered.
 *
 * Memory: a primary context lives from its first retain to its last release; all that is left in it then is released,
 * and counted as leaks unless the context was lost.
 */
#include "inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int started; /* by this process; 0: not yet */
/* Protects `primary` and the users of each; streams are closed and memory released under it. */
static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;
static struct context *primary[DEVICES_MAX];
static _Thread_local struct context *current;

/* ---- devices ---- */

/* The device that the first `length` bytes of `text` name: by its number, or by a beginning of its name that no other
 * has; -1: none. */
static int device_named(const char *text, size_t length, int there)
{
    int found = -1;
    char *end;
    const long number = strtol(text, &end, 10);
    if (end == text + length && length > 0) return number >= 0 && number < there ? (int)number : -1;
    for (int i = 0; i < there && length > 4; i++) {
        char name[64];
        snprintf(name, sizeof name, DOUBLE_UUID, settings()->mig ? "MIG" : "GPU", 'a' + i);
        if (strncmp(name, text, length) != 0) continue;
        if (found >= 0) return -1;
        found = i;
    }
    return found;
}

/* Machine numbers of the visible devices; returns how many. A program sees a single part of a divided device. */
static int devices_visible(int out[DEVICES_MAX])
{
    const int there = settings()->devices < DEVICES_MAX ? (int)settings()->devices : DEVICES_MAX;
    const int most = settings()->mig ? 1 : DEVICES_MAX;
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    int count = 0;
    if (!list) {
        for (; count < there && count < most; count++) out[count] = count;
        return count;
    }
    /* As CUDA reads it: up to the first that is no device, or stands there twice. */
    while (*list && count < most) {
        const size_t length = strcspn(list, ",");
        const int number = device_named(list, length, there);
        bool again = false;
        for (int i = 0; i < count; i++) again = again || out[i] == number;
        if (number < 0 || again) break;
        out[count++] = number;
        list += length + (list[length] == ',');
    }
    return count;
}

/* A process that was forked from one that has started CUDA cannot use it. */
static CUresult started_check(const char *call)
{
    if (started == 0) return fault(CUDA_ERROR_NOT_INITIALIZED, "%s before cuInit", call);
    if (started != getpid()) return fault(CUDA_ERROR_NOT_INITIALIZED, "%s in a forked process", call);
    return CUDA_SUCCESS;
}

static CUresult device_number(CUdevice device, int *out, const char *call)
{
    int visible[DEVICES_MAX];
    *out = 0; /* the compiler cannot see that nobody looks at it after a fault */
    const CUresult code = started_check(call);
    if (code != CUDA_SUCCESS) return code;
    if (device < 0 || device >= devices_visible(visible)) {
        return fault(CUDA_ERROR_INVALID_DEVICE, "%s: device %d", call, device);
    }
    *out = visible[device];
    return CUDA_SUCCESS;
}

CUresult cuInit(unsigned flags)
{
    int visible[DEVICES_MAX];
    if (flags != 0) return fault(CUDA_ERROR_INVALID_VALUE, "cuInit: flags %u", flags);
    if (settings()->init_code != 0) return (CUresult)settings()->init_code;
    if (devices_visible(visible) == 0) return CUDA_ERROR_NO_DEVICE;
    started = getpid();
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
    *version = (int)settings()->driver_version;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    int visible[DEVICES_MAX];
    const CUresult code = started_check("cuDeviceGetCount");
    if (code == CUDA_SUCCESS) *count = devices_visible(visible);
    return code;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    int number;
    *device = ordinal;
    return device_number(ordinal, &number, "cuDeviceGet");
}

CUresult cuDeviceGetName(char *text, int bytes, CUdevice device)
{
    int number;
    const CUresult code = device_number(device, &number, "cuDeviceGetName");
    if (code == CUDA_SUCCESS) snprintf(text, (size_t)bytes, "Double %c", 'A' + number);
    return code;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    int number;
    const CUresult code = device_number(device, &number, "cuDeviceTotalMem");
    if (code == CUDA_SUCCESS) *bytes = (size_t)settings()->memory_mib << 20;
    return code;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    int number;
    const CUresult code = device_number(device, &number, "cuDeviceGetAttribute");
    if (code != CUDA_SUCCESS) return code;
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = 4;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
        *value = (int)settings()->compute_mode;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = (int)settings()->capability / 10;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = (int)settings()->capability % 10;
        return CUDA_SUCCESS;
    default:
        return fault(CUDA_ERROR_INVALID_VALUE, "cuDeviceGetAttribute: attribute %d is not known here", attribute);
    }
}

CUresult cuDeviceGetPCIBusId(char *text, int bytes, CUdevice device)
{
    int number;
    const CUresult code = device_number(device, &number, "cuDeviceGetPCIBusId");
    if (code == CUDA_SUCCESS) snprintf(text, (size_t)bytes, "0000:%02X:00.0", 0x41 + number);
    return code;
}

static bool peer_reaches(int from, int to)
{
    return from != to && (settings()->peer == 1 || (settings()->peer == 2 && from < to));
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    int from, to;
    CUresult code = device_number(device, &from, "cuDeviceCanAccessPeer");
    if (code == CUDA_SUCCESS) code = device_number(peer, &to, "cuDeviceCanAccessPeer");
    if (code == CUDA_SUCCESS) *can = peer_reaches(from, to);
    return code;
}

/* ---- contexts ---- */

CUresult context_state(struct context *context)
{
    if (context->lost == 0 && settings()->lost_device == context->device) {
        int fine = 0;
        atomic_compare_exchange_strong(&context->lost, &fine, (int)settings()->lost_code);
    }
    return context->lost;
}

CUresult context_now(struct context **out, const char *call)
{
    const CUresult code = started_check(call);
    if (code != CUDA_SUCCESS) return code;
    if (!current) return fault(CUDA_ERROR_INVALID_CONTEXT, "%s without a context", call);
    if (!object_is(current, CONTEXT, call)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *out = current;
    return context_state(current);
}

CUresult context_outside_capture(struct context **out, const char *call)
{
    *out = NULL; /* the compiler cannot see that nobody looks at it after a fault */
    const CUresult code = context_now(out, call);
    if (code != CUDA_SUCCESS || !capturing) return code;
    capturing->spoiled = true;
    return fault(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "%s while this thread captures a stream", call);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
    int number;
    const CUresult code = device_number(device, &number, "cuDevicePrimaryCtxSetFlags");
    if (code == CUDA_SUCCESS && flags > 0x7f) {
        return fault(CUDA_ERROR_INVALID_VALUE, "cuDevicePrimaryCtxSetFlags: flags %u", flags);
    }
    return code;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
    int number;
    const CUresult code = device_number(device, &number, "cuDevicePrimaryCtxRetain");
    if (code != CUDA_SUCCESS) return code;
    if (settings()->compute_mode == 2) return CUDA_ERROR_DEVICE_UNAVAILABLE;
    if (settings()->lost_device == number) return (CUresult)settings()->lost_code;
    pthread_mutex_lock(&primary_lock);
    if (!primary[number]) {
        struct context *const context = calloc(1, sizeof *context);
        context->device = number;
        object_add(&context->object, CONTEXT, NULL);
        primary[number] = context;
    }
    primary[number]->users++;
    *out = (CUcontext)primary[number];
    pthread_mutex_unlock(&primary_lock);
    return CUDA_SUCCESS;
}

static void left_release(struct context *context)
{
    const long before = totals.leaks;
    for (struct object *o; (o = object_left(context, STREAM));) {
        stream_close((struct stream *)o);
        totals.leaks++;
    }
    for (struct object *o; (o = object_left(context, EVENT));) {
        event_close(o);
        totals.leaks++;
    }
    for (struct object *o; (o = object_left(context, MODULE));) {
        module_close(o);
        totals.leaks++;
    }
    for (struct object *o; (o = object_left(context, GRAPH)) || (o = object_left(context, EXEC));) {
        graph_release((struct graph *)o);
        totals.leaks++;
    }
    for (struct object *o; (o = object_left(context, BLAS));) {
        object_remove(o);
        free(o);
        totals.leaks++;
    }
    memory_release_all(context);
    if (context->lost == 0 && totals.leaks != before) {
        fault(0, "a context of device %d went with %ld objects alive", context->device, totals.leaks - before);
    }
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    int number;
    const CUresult code = device_number(device, &number, "cuDevicePrimaryCtxRelease");
    if (code != CUDA_SUCCESS) return code;
    pthread_mutex_lock(&primary_lock);
    struct context *const context = primary[number];
    if (!context) {
        pthread_mutex_unlock(&primary_lock);
        return fault(CUDA_ERROR_INVALID_CONTEXT, "cuDevicePrimaryCtxRelease of a context that is not held");
    }
    if (--context->users == 0) {
        left_release(context);
        primary[number] = NULL;
        object_remove(&context->object);
        if (current == context) current = NULL;
        free(context);
    }
    pthread_mutex_unlock(&primary_lock);
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    const CUresult code = started_check("cuCtxSetCurrent");
    if (code != CUDA_SUCCESS) return code;
    if (context && !object_is(context, CONTEXT, "cuCtxSetCurrent")) return CUDA_ERROR_INVALID_CONTEXT;
    current = (struct context *)context;
    return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    struct context *context;
    const struct context *const other = (const struct context *)peer;
    const CUresult code = context_outside_capture(&context, "cuCtxEnablePeerAccess");
    if (code != CUDA_SUCCESS) return code;
    if (flags != 0 || !object_is(peer, CONTEXT, "cuCtxEnablePeerAccess") || other == context) {
        return fault(CUDA_ERROR_INVALID_VALUE, "cuCtxEnablePeerAccess: a wrong peer, or flags");
    }
    if (!peer_reaches(context->device, other->device))
        return fault(217, "cuCtxEnablePeerAccess between devices that cannot"); /* unsupported */
    if (atomic_exchange(&context->peers[other->device], true)) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    return CUDA_SUCCESS;
}

/* ---- errors ---- */

static const struct {
    CUresult code;
    const char *name, *text;
} errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_STUB_LIBRARY, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE", "device(s) is/are busy or unavailable"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for the device"},
    {CUDA_ERROR_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "unsupported toolchain"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "not permitted in a capture"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "the capture was invalidated"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static CUresult error_text(CUresult code, const char **out, bool name)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].code != code) continue;
        *out = name ? errors[i].name : errors[i].text;
        return CUDA_SUCCESS;
    }
    *out = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult code, const char **text)
{
    return error_text(code, text, true);
}

CUresult cuGetErrorString(CUresult code, const char **text)
{
    return error_text(code, text, false);
}
