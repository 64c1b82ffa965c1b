/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The kernels of a CUDA device: compiled by NVRTC the first time, later loaded from disk (kernels/cache.h), as a CUBIN
 * for exactly this compute capability. A device that is newer than the compiler gets PTX of the newest capability that
 * the compiler knows, which the driver compiles to machine code each time it is loaded (and keeps in its own cache).
 *
 * Memory: everything but the module is released here. All kernels are loaded at once: the driver would otherwise load
 * each at its first launch, which takes unplanned memory, may wait for the device, and would disturb work that
 * is recorded meanwhile (cuda_graph.c).
 */
#include "base/alloc.h"
#include "base/log.h"
#include "device/cuda/cuda.h"
#include "device/kernels/cache.h"

#include <stdio.h>
#include <string.h>

#define OPTIONS_MAX 12
#define ARCHS_MAX   64

/* What is built for a device. */
struct target {
    char arch[48];    /* "--gpu-architecture=sm_86" */
    char defines[96]; /* the tuning's options, cut into words */
    const char *options[OPTIONS_MAX];
    int count;
    bool ptx;
};

static void option_add(struct target *target, const char *option)
{
    if (target->count < OPTIONS_MAX) target->options[target->count++] = option;
}

static int target_choose(const struct mx_device *device, const struct mx_cuda_device *impl, struct target *target)
{
    const struct mx_cuda_api *const cu = impl->cu;
    const int capability = impl->entry->capability;
    int archs[ARCHS_MAX], count = 0, best = 0, least = 0;
    *target = (struct target){0};
    if (cu->nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS || count > ARCHS_MAX ||
        cu->nvrtcGetSupportedArchs(archs) != NVRTC_SUCCESS)
        count = 0;
    for (int i = 0; i < count; i++) {
        if (archs[i] <= capability && archs[i] > best) best = archs[i];
        if (least == 0 || archs[i] < least) least = archs[i];
    }
    if (best == 0) {
        return MX_FAIL(MX_ERR_UNSUPPORTED,
                       "install NVRTC and cuBLAS of CUDA 12, or give their paths in MYXTTS_CUDA_NVRTC and "
                       "MYXTTS_CUDA_CUBLAS",
                       "%s has compute capability %d.%d, and NVRTC %d.%d builds for %d.%d and later", device->name,
                       capability / 10, capability % 10, cu->nvrtc_version / 1000, cu->nvrtc_version % 1000 / 10,
                       least / 10, least % 10);
    }
    target->ptx = best != capability;
    snprintf(target->arch, sizeof target->arch, "--gpu-architecture=%s_%d", target->ptx ? "compute" : "sm", best);
    snprintf(target->defines, sizeof target->defines, "%s", impl->tuning.options);
    option_add(target, target->arch);
    option_add(target, "--std=c++17");
    for (char *word = target->defines, *end; word && *word; word = end) {
        end = strchr(word, ' ');
        if (end) *end++ = '\0';
        option_add(target, word);
    }
    return 0;
}

/* ---- building ---- */

/* The first error of the compiler's log, for the message; the whole log goes to the debug log. */
static int compile_failed(const struct mx_device *device, const struct mx_cuda_device *impl, nvrtcProgram program,
                          nvrtcResult code)
{
    const struct mx_cuda_api *const cu = impl->cu;
    char first[400] = "";
    size_t bytes = 0;
    if (program && cu->nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS && bytes > 0) {
        char *const whole = mx_alloc(bytes + 1, 1);
        if (whole && cu->nvrtcGetProgramLog(program, whole) == NVRTC_SUCCESS) {
            mx_debug("NVRTC: %s", whole);
            const char *const found = strstr(whole, "error");
            snprintf(first, sizeof first, "%.*s", (int)strcspn(found ? found : whole, "\n"), found ? found : whole);
        }
        mx_free(whole);
    }
    return MX_FAIL(MX_ERR_DEVICE, "install another version of NVRTC, or choose another device",
                   "%s: NVRTC %d.%d refuses the kernels (%s): %s", device->name, cu->nvrtc_version / 1000,
                   cu->nvrtc_version % 1000 / 10, cu->nvrtcGetErrorString(code), first);
}

/* *out is the caller's; PTX has its final zero. */
static int compile(const struct mx_device *device, const struct mx_cuda_device *impl, const struct target *target,
                   char **out, size_t *bytes)
{
    int rc = 0;
    const struct mx_cuda_api *const cu = impl->cu;
    nvrtcProgram program = NULL;
    /* The source ends with a zero (cmake/Embed.cmake). */
    nvrtcResult code =
        cu->nvrtcCreateProgram(&program, (const char *)mx_kernel_source, "myxtts_kernels.cu", 0, NULL, NULL);
    if (code == NVRTC_SUCCESS) code = cu->nvrtcCompileProgram(program, target->count, target->options);
    if (code == NVRTC_SUCCESS)
        code = target->ptx ? cu->nvrtcGetPTXSize(program, bytes) : cu->nvrtcGetCUBINSize(program, bytes);
    if (code == NVRTC_SUCCESS) {
        *out = mx_alloc(*bytes, 1);
        if (!*out) MX_TRY(MX_ERR_NO_MEMORY);
        code = target->ptx ? cu->nvrtcGetPTX(program, *out) : cu->nvrtcGetCUBIN(program, *out);
    }
    if (code != NVRTC_SUCCESS) rc = compile_failed(device, impl, program, code);
out:
    if (program) cu->nvrtcDestroyProgram(&program);
    return rc;
}

/* ---- loading ---- */

static bool cache_path(const struct mx_cuda_device *impl, const struct target *target, char out[MX_KERNEL_PATH_BYTES])
{
    const struct mx_cuda_api *const cu = impl->cu;
    char versions[64];
    const char *texts[OPTIONS_MAX + 2];
    int count = 0;
    snprintf(versions, sizeof versions, "CUDA %d NVRTC %d", cu->driver_version, cu->nvrtc_version);
    texts[count++] = versions;
    texts[count++] = cu->driver_text;
    for (int i = 0; i < target->count; i++) texts[count++] = target->options[i];
    return mx_kernel_cache_path(texts, count, target->ptx ? "ptx" : "cubin", out);
}

static CUresult image_load(struct mx_cuda_device *impl, const char *image)
{
    const struct mx_cuda_api *const cu = impl->cu;
    CUresult code = cu->cuModuleLoadDataEx(&impl->module, image, 0, NULL, NULL);
    for (int k = 0; k < MX_K_COUNT && code == CUDA_SUCCESS; k++)
        code = cu->cuModuleGetFunction(&impl->kernels[k], impl->module, mx_kernel_name((enum mx_kernel_id)k));
    if (code != CUDA_SUCCESS && impl->module) {
        cu->cuModuleUnload(impl->module);
        impl->module = NULL;
    }
    return code;
}

/* Loads every kernel, and sees that the device has the registers for its lanes. */
static int kernels_load(const struct mx_device *device, const struct mx_cuda_device *impl)
{
    int rc = 0, most = 0;
    const struct mx_cuda_api *const cu = impl->cu;
    for (int k = 0; k < MX_K_COUNT; k++) {
        const char *const name = mx_kernel_name((enum mx_kernel_id)k);
        const int lanes = mx_kernel_lanes(&impl->tuning, (enum mx_kernel_id)k);
        MX_CUDA_TRY(cu, cu->cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, impl->kernels[k]),
                    "%s: loading kernel %s", device->name, name);
        if (lanes > most) {
            MX_RAISE(MX_ERR_UNSUPPORTED, "install another version of NVRTC or of the driver, or choose another device",
                     "%s: kernel %s needs %d threads, and this device can run %d of it", device->name, name, lanes,
                     most);
        }
    }
out:
    return rc;
}

static bool cache_load(struct mx_cuda_device *impl, const char *path)
{
    char *image = NULL;
    size_t bytes = 0;
    if (!mx_kernel_cache_read(path, &image, &bytes)) return false;
    const bool loaded = bytes > 0 && image_load(impl, image) == CUDA_SUCCESS;
    mx_free(image);
    if (!loaded) mx_debug("CUDA: the driver refuses %s; the kernels are built again", path);
    return loaded;
}

int mx_cuda_program_open(const struct mx_device *device, struct mx_cuda_device *impl)
{
    int rc = 0;
    char path[MX_KERNEL_PATH_BYTES], *image = NULL;
    size_t bytes = 0;
    struct target target;
    struct mx_kernel_notice notice;
    MX_TRY(target_choose(device, impl, &target));
    const bool cached = cache_path(impl, &target, path);
    if (cached && cache_load(impl, path)) return kernels_load(device, impl);
    mx_kernel_notice_start(&notice, device->name, true);
    rc = compile(device, impl, &target, &image, &bytes);
    mx_kernel_notice_stop(&notice);
    if (rc < 0) goto out;
    const CUresult code = image_load(impl, image);
    if (code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || code == CUDA_ERROR_NO_BINARY_FOR_GPU ||
        code == CUDA_ERROR_INVALID_IMAGE || code == CUDA_ERROR_INVALID_PTX) {
        MX_RAISE(MX_ERR_DEVICE, "install NVRTC of the driver's generation, or update the driver",
                 "%s: the driver (CUDA %d.%d) does not take what NVRTC %d.%d builds (%s)", device->name,
                 impl->cu->driver_version / 1000, impl->cu->driver_version % 1000 / 10, impl->cu->nvrtc_version / 1000,
                 impl->cu->nvrtc_version % 1000 / 10, mx_cuda_error_name(impl->cu, code));
    }
    MX_CUDA_TRY(impl->cu, code, "%s: loading the kernels", device->name);
    MX_TRY(kernels_load(device, impl));
    if (cached) mx_kernel_cache_write(path, image, bytes);
out:
    mx_free(image);
    return rc;
}
