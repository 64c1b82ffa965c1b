/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Loading the CUDA libraries and naming their errors; see cuda_api.h.
 *
 * What each generation of the driver offers. "Devices" are the compute capabilities for which the NVRTC of that
 * generation builds; a newer device gets PTX of the last one it knows, which the driver then finishes.
 *
 *   CUDA   driver from  libraries                          devices         what is used of it
 *   11.8   520.61       libnvrtc.so.11.2, libcublas.so.11  7.0 … 9.0       everything below: streams, events, pinned
 *                                                                          memory, peer copies, graphs, bf16 from 8.0
 *   12.0   525.60       libnvrtc.so.12, libcublas.so.12    7.0 … 9.0       the same entry points
 *   12.2   535.54       the same                           7.0 … 9.0       kernels load at first use by default, so a
 *                                                                          start takes less memory
 *   12.8   570.26       the same                           7.0 … 12.0      10.0 and 12.0 as CUBIN
 *   13.0   580.65       libnvrtc.so.13, libcublas.so.13    7.5 … 12.1      Volta (7.0) only with the libraries of 12,
 *                                                                          which are taken by themselves if it is there
 *
 * An older driver (before 11.8) is refused: its cuBLAS and NVRTC lack entry points of the table. A library that is
 * newer than the driver's generation is not loaded, because its output would not start; within a generation any minor
 * version works with any other.
 */
#include "device/cuda/cuda_api.h"

#include "base/log.h"
#include "device/native.h"
#include "myxtts/error.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRIVER_LEAST 11080
#define DRIVER_HINT  "install an NVIDIA driver of version 520 or later"

/* ---- loading ---- */

/* One entry point of the table. */
struct symbol {
    const char *name;
    size_t at; /* in struct mx_cuda_api */
    bool optional;
};

#define MUST(result, symbol, parameters) {#symbol, offsetof(struct mx_cuda_api, symbol), false},
#define MAY(result, symbol, parameters)  {#symbol, offsetof(struct mx_cuda_api, symbol), true},
static const struct symbol driver_symbols[] = {MX_CUDA_DRIVER_LIST(MUST, MAY){NULL, 0, true}};
static const struct symbol nvrtc_symbols[] = {MX_CUDA_NVRTC_LIST(MUST, MAY){NULL, 0, true}};
static const struct symbol cublas_symbols[] = {MX_CUDA_CUBLAS_LIST(MUST, MAY){NULL, 0, true}};
static const struct symbol nvml_symbols[] = {MX_CUDA_NVML_LIST(MUST, MAY){NULL, 0, true}};
#undef MUST
#undef MAY

/* The name of the first symbol that must be there and is not; NULL if all are. */
static const char *symbols_load(struct mx_cuda_api *api, void *library, const struct symbol *symbols)
{
    for (const struct symbol *s = symbols; s->name; s++) {
        void *const entry = dlsym(library, s->name);
        if (!entry && !s->optional) return s->name;
        memcpy((char *)api + s->at, &entry, sizeof entry);
    }
    return NULL;
}

/* One library: who it is for people, and how it is found. */
struct library {
    const char *variable; /* the environment's, with a path */
    const char *prefix;   /* "libnvrtc.so." */
    const char *last;     /* suffix that is tried last, after the generations from the newest to 12 */
    const char *what, *hint;
    const struct symbol *symbols;
};

void *mx_native_cuda_library(const char *name)
{
    const char *const folders[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    void *found = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; !found && i < sizeof folders / sizeof *folders; i++) {
        char path[1024];
        if (!folders[i] || !*folders[i]) continue;
        const int length = snprintf(path, sizeof path, "%s/lib64/%s", folders[i], name);
        if (length > 0 && length < (int)sizeof path) found = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return found;
}

/* Libraries of one generation after the other, the newest that the driver takes first. */
static int library_load(struct mx_cuda_api *api, const struct library *library, int newest)
{
    const char *const path = getenv(library->variable);
    void *found = NULL;
    char name[64] = "";
    if (path && *path) {
        found = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!found) {
            return MX_FAIL(MX_ERR_NO_DEVICE, "give the path of a shared object, or unset the variable",
                           "%s, which %s names, cannot be loaded: %s", path, library->variable, dlerror());
        }
    }
    for (int generation = newest; !found && generation >= 12; generation--) {
        snprintf(name, sizeof name, "%s%d", library->prefix, generation);
        found = mx_native_cuda_library(name);
    }
    if (!found && library->last) {
        snprintf(name, sizeof name, "%s%s", library->prefix, library->last);
        found = mx_native_cuda_library(name);
    }
    if (!found) return MX_FAIL(MX_ERR_NO_DEVICE, library->hint, "%s", library->what);
    const char *const missing = symbols_load(api, found, library->symbols);
    if (missing) {
        return MX_FAIL(MX_ERR_NO_DEVICE, library->hint, "%s has no %s: it is older than CUDA 11.8",
                       path && *path ? path : name, missing);
    }
    return 0;
}

/* ---- the driver ---- */

static int driver_refused(const struct mx_cuda_api *api, CUresult code)
{
    const char *const visible = getenv("CUDA_VISIBLE_DEVICES");
    switch (code) {
    case CUDA_ERROR_NO_DEVICE:
        if (visible) {
            return MX_FAIL(MX_ERR_NO_DEVICE, "unset CUDA_VISIBLE_DEVICES, or name devices that nvidia-smi -L lists",
                           "the NVIDIA driver shows no device, because CUDA_VISIBLE_DEVICES is \"%s\"", visible);
        }
        return MX_FAIL(MX_ERR_NO_DEVICE,
                       "check that nvidia-smi lists a device; a container must be started with the devices passed in",
                       "the NVIDIA driver was found, but no device for it");
    case CUDA_ERROR_STUB_LIBRARY:
        return MX_FAIL(MX_ERR_NO_DEVICE, "take the folder \"stubs\" out of LD_LIBRARY_PATH, or " DRIVER_HINT,
                       "libcuda.so.1 is the toolkit's stub library, which can only be linked against");
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
        return MX_FAIL(MX_ERR_NO_DEVICE, "start the machine again: the driver was updated since",
                       "the NVIDIA driver's library and kernel module are of different versions");
    default:
        mx_cuda_fail(api, code, "the NVIDIA driver does not start");
        return mx_error_hint("run nvidia-smi to see whether it works and what it reports");
    }
}

static int driver_load(struct mx_cuda_api *api)
{
    static const struct library driver = {
        .variable = "MYXTTS_CUDA_DRIVER",
        .prefix = "libcuda.so.",
        .last = "1",
        .what = "no NVIDIA driver (libcuda.so.1) is installed",
        .hint = DRIVER_HINT,
        .symbols = driver_symbols,
    };
    int rc = 0;
    MX_TRY(library_load(api, &driver, 0));
    const CUresult started = api->cuInit(0);
    api->present = started != CUDA_ERROR_NO_DEVICE && started != CUDA_ERROR_STUB_LIBRARY;
    CUresult code = api->cuDriverGetVersion(&api->driver_version);
    if (code == CUDA_SUCCESS && api->present && api->driver_version < DRIVER_LEAST) {
        MX_RAISE(MX_ERR_NO_DEVICE, DRIVER_HINT, "the NVIDIA driver is too old: it has CUDA %d.%d, 11.8 is needed",
                 api->driver_version / 1000, api->driver_version % 1000 / 10);
    }
    if (code == CUDA_SUCCESS) code = started;
    if (code != CUDA_SUCCESS) MX_TRY(driver_refused(api, code));
    api->graphs = api->cuStreamBeginCapture_v2 && api->cuStreamEndCapture && api->cuGraphGetNodes &&
                  api->cuGraphInstantiateWithFlags && api->cuGraphExecUpdate && api->cuGraphLaunch &&
                  api->cuGraphExecDestroy && api->cuGraphDestroy;
out:
    return rc;
}

/* Whether the driver has a device of compute capability 7.0 to 7.4, which CUDA 13 no longer supports. */
static bool volta_there(const struct mx_cuda_api *api)
{
    int count = 0;
    if (api->cuDeviceGetCount(&count) != CUDA_SUCCESS) return false;
    for (int i = 0; i < count; i++) {
        CUdevice device;
        int major = 0, minor = 0;
        if (api->cuDeviceGet(&device, i) != CUDA_SUCCESS) continue;
        api->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
        api->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
        if (major == 7 && minor < 5) return true;
    }
    return false;
}

static void nvml_load(struct mx_cuda_api *api)
{
    static const struct library nvml = {
        .variable = "MYXTTS_CUDA_NVML",
        .prefix = "libnvidia-ml.so.",
        .last = "1",
        .what = "NVML is not installed (no libnvidia-ml.so.1)",
        .hint = DRIVER_HINT,
        .symbols = nvml_symbols,
    };
    if (library_load(api, &nvml, 0) < 0) {
        mx_error_clear(); /* the meters do without it */
        return;
    }
    const nvmlReturn_t code = api->nvmlInit_v2();
    api->nvml = code == 0;
    if (!api->nvml)
        mx_warn("CUDA: NVML does not start (error %d%s): utilisation of devices is not known", code,
                code == NVML_ERROR_LIB_RM_VERSION_MISMATCH
                    ? ": it and the driver are of different versions, start the machine again"
                    : "");
    if (!api->nvml || !api->nvmlSystemGetDriverVersion ||
        api->nvmlSystemGetDriverVersion(api->driver_text, sizeof api->driver_text) != 0) {
        api->driver_text[0] = '\0';
    }
}

int mx_cuda_api_load(struct mx_cuda_api *api)
{
    static const struct library nvrtc = {
        .variable = "MYXTTS_CUDA_NVRTC",
        .prefix = "libnvrtc.so.",
        .last = "11.2",
        .what = "the NVIDIA driver is there, but NVRTC, which builds the kernels, is not (libnvrtc)",
        .hint =
            "install NVRTC of the driver's generation (cuda-nvrtc-12-… or nvidia-cuda-toolkit), or give its path in "
            "MYXTTS_CUDA_NVRTC",
        .symbols = nvrtc_symbols,
    };
    static const struct library cublas = {
        .variable = "MYXTTS_CUDA_CUBLAS",
        .prefix = "libcublas.so.",
        .last = "11",
        .what = "the NVIDIA driver is there, but cuBLAS, which multiplies matrices, is not (libcublas)",
        .hint =
            "install cuBLAS of the driver's generation (libcublas-12-… or nvidia-cuda-toolkit), or give its path in "
            "MYXTTS_CUDA_CUBLAS",
        .symbols = cublas_symbols,
    };
    int rc = 0, major = 0, minor = 0;
    memset(api, 0, sizeof *api);
    MX_TRY(driver_load(api));
    int newest = api->driver_version / 1000;
    if (newest > 12 && volta_there(api)) newest = 12;
    MX_TRY(library_load(api, &nvrtc, newest));
    MX_TRY(library_load(api, &cublas, newest));
    if (api->nvrtcVersion(&major, &minor) != NVRTC_SUCCESS) {
        MX_RAISE(MX_ERR_NO_DEVICE, nvrtc.hint, "NVRTC does not start");
    }
    api->nvrtc_version = major * 1000 + minor * 10;
    nvml_load(api);
out:
    return rc;
}

void mx_cuda_api_close(struct mx_cuda_api *api)
{
    if (api->nvml) api->nvmlShutdown();
    api->nvml = false;
}

/* ---- errors ---- */

const char *mx_cuda_error_name(const struct mx_cuda_api *api, CUresult code)
{
    static _Thread_local char unknown[32];
    const char *name = NULL;
    if (api->cuGetErrorName && api->cuGetErrorName(code, &name) == CUDA_SUCCESS && name) return name;
    snprintf(unknown, sizeof unknown, "error %d", code);
    return unknown;
}

bool mx_cuda_lost(CUresult code)
{
    switch (code) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_UNKNOWN:
        return true;
    default:
        return false;
    }
}

int mx_cuda_fail(const struct mx_cuda_api *api, CUresult code, const char *fmt, ...)
{
    char what[256];
    va_list list;
    va_start(list, fmt);
    vsnprintf(what, sizeof what, fmt, list);
    va_end(list);
    if (code == CUDA_ERROR_OUT_OF_MEMORY) {
        return MX_FAIL(MX_ERR_NO_MEMORY, "lower the sizes or the batch, or close other programs that use the device",
                       "%s: the device has no memory left (%s)", what, mx_cuda_error_name(api, code));
    }
    if (mx_cuda_lost(code)) {
        return MX_FAIL(MX_ERR_DEVICE, "if it happens again, look in dmesg for Xid errors of the NVIDIA driver",
                       "%s: the device is lost (%s)", what, mx_cuda_error_name(api, code));
    }
    return MX_FAIL(MX_ERR_DEVICE, "update the NVIDIA driver, or choose another device", "%s: %s", what,
                   mx_cuda_error_name(api, code));
}
