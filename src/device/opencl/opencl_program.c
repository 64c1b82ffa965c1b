/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The kernels of a device: built from source the first time, later loaded from disk (kernels/cache.h) as the driver's
 * own binary from clGetProgramInfo. PoCL uses its own cache, which stores each kernel at its first use: asking it for a
 * binary would compile all of them at once.
 *
 * Memory: everything but the program is released here.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "base/thread/signals.h"
#include "device/kernels/cache.h"
#include "device/opencl/opencl.h"

#include <stdio.h>
#include <string.h>

/* The options of the compiler, passed for a program from the cache, too: drivers for CPUs set the mode of their threads by it.
 * Subnormal numbers are zero, as on the CPU devices (device/cpu/cpu_stream.c). */
struct build_options {
    char text[sizeof((struct mx_kernel_tuning *)0)->options + 32];
};

static struct build_options options_of(const struct mx_opencl_device *impl)
{
    struct build_options options;
    snprintf(options.text, sizeof options.text, "%s -cl-denorms-are-zero", impl->tuning.options);
    return options;
}

/* ---- the cache ---- */

static bool cache_path(const struct mx_opencl_device *impl, char out[MX_KERNEL_PATH_BYTES])
{
    const struct build_options options = options_of(impl);
    static const cl_device_info asked[] = {CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION, CL_DRIVER_VERSION};
    char answers[sizeof asked / sizeof *asked][256];
    const char *texts[2 + sizeof asked / sizeof *asked] = {options.text, impl->platform->name};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        mx_opencl_device_text(impl->cl, impl->id, asked[i], answers[i], sizeof answers[i]);
        texts[2 + i] = answers[i];
    }
    return mx_kernel_cache_path(texts, (int)(sizeof texts / sizeof *texts), "clbin", out);
}

/* Whether the program came from the disk. */
static bool cache_load(struct mx_opencl_device *impl, const char *path)
{
    char *data = NULL;
    size_t bytes = 0;
    cl_int code = CL_SUCCESS, status = CL_SUCCESS;
    const struct build_options options = options_of(impl);
    if (!mx_kernel_cache_read(path, &data, &bytes)) return false;
    const unsigned char *binary = (const unsigned char *)data;
    cl_program program =
        impl->cl->clCreateProgramWithBinary(impl->context, 1, &impl->id, &bytes, &binary, &status, &code);
    mx_free(data);
    if (program && status == CL_SUCCESS && code == CL_SUCCESS &&
        impl->cl->clBuildProgram(program, 1, &impl->id, options.text, NULL, NULL) == CL_SUCCESS) {
        impl->program = program;
        return true;
    }
    if (program) impl->cl->clReleaseProgram(program);
    mx_debug("OpenCL: the driver refuses %s; the kernels are built again", path);
    return false;
}

static void cache_store(const struct mx_opencl_device *impl, const char *path)
{
    size_t bytes = 0;
    const struct mx_cl_api *const cl = impl->cl;
    if (cl->clGetProgramInfo(impl->program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_SUCCESS) return;
    if (bytes == 0 || bytes > MX_KERNEL_BINARY_BYTES) return;
    unsigned char *binary = mx_alloc(bytes, 1);
    if (binary && cl->clGetProgramInfo(impl->program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS)
        mx_kernel_cache_write(path, binary, bytes);
    mx_free(binary);
}

/* ---- building ---- */

static int source_build(const struct mx_device *device, struct mx_opencl_device *impl)
{
    int rc = 0;
    const struct mx_cl_api *const cl = impl->cl;
    const char *source = (const char *)mx_kernel_source;
    const struct build_options options = options_of(impl);
    char log[400] = "";
    cl_int code = CL_SUCCESS;
    impl->program = cl->clCreateProgramWithSource(impl->context, 1, &source, &mx_kernel_source_bytes, &code);
    MX_CL_TRY(code, "%s: the kernels", device->name);
    code = cl->clBuildProgram(impl->program, 1, &impl->id, options.text, NULL, NULL);
    if (code == CL_SUCCESS) return 0;
    size_t bytes = 0;
    cl->clGetProgramBuildInfo(impl->program, impl->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
    char *const whole = mx_alloc(bytes + 1, 1);
    if (whole) {
        cl->clGetProgramBuildInfo(impl->program, impl->id, CL_PROGRAM_BUILD_LOG, bytes, whole, NULL);
        mx_debug("OpenCL: %s", whole);
        const char *const first = strstr(whole, "error");
        snprintf(log, sizeof log, "%.*s", (int)strcspn(first ? first : whole, "\n"), first ? first : whole);
    }
    mx_free(whole);
    rc = MX_FAIL(MX_ERR_DEVICE, "update the OpenCL driver of this device, or choose another device",
                 "%s: its compiler refuses the kernels (%s): %s", device->name, mx_cl_error_name(code), log);
out:
    return rc;
}

int mx_opencl_program_open(const struct mx_device *device, struct mx_opencl_device *impl)
{
    int rc = 0;
    char path[MX_KERNEL_PATH_BYTES];
    struct mx_kernel_notice notice;
    struct mx_signals signals;
    const bool cached = strcmp(impl->platform->name, "Portable Computing Language") != 0 && cache_path(impl, path);
    mx_signals_save(&signals);
    if (!cached || !cache_load(impl, path)) {
        mx_kernel_notice_start(&notice, device->name, true);
        rc = source_build(device, impl);
        if (rc == 0 && cached) cache_store(impl, path);
        mx_kernel_notice_stop(&notice);
    }
    mx_signals_restore(&signals);
    return rc;
}
