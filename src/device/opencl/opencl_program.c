/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The kernels of a device: built from their source at first, later from the disk.
 *
 * Cache: <folder>/kernels/<key>.clbin, the driver's own binary as clGetProgramInfo gives it. folder: $MYXTTS_CACHE, or
 * $XDG_CACHE_HOME/myxtts, or ~/.cache/myxtts. key: 32 hexadecimal digits, the XXH3 hash of source, options, and the
 * names and versions of platform, device and driver; so a change of any of them builds anew. A file that the driver
 * refuses is built over; a folder that cannot be written only costs the time of building. PoCL is left to its own
 * cache, which keeps each kernel as it is first used: asking it for a binary would compile all of them at once.
 *
 * Memory: everything but the program is released here. A thread tells the user when building takes long; it is
 * started and joined by the function that builds.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "device/opencl/opencl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <xxhash.h>

#define BINARY_MAX_BYTES ((size_t)256 << 20)
#define LONG_SECONDS     2 /* of building, before the user is told */
#define PATH_BYTES       1024

/* ---- the cache ---- */

/* The folder of the cache, made if need be; false if there is none. */
static bool cache_folder(char out[PATH_BYTES])
{
    const char *const own = getenv("MYXTTS_CACHE"), *const xdg = getenv("XDG_CACHE_HOME"), *const home = getenv("HOME");
    int length;
    if (own && *own) {
        length = snprintf(out, PATH_BYTES, "%s/kernels", own);
    } else if (xdg && *xdg) {
        length = snprintf(out, PATH_BYTES, "%s/myxtts/kernels", xdg);
    } else if (home && *home) {
        length = snprintf(out, PATH_BYTES, "%s/.cache/myxtts/kernels", home);
    } else {
        return false;
    }
    if (length < 0 || length >= PATH_BYTES) return false;
    for (char *slash = strchr(out + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(out, 0777); /* it may be there; what matters shows when the file is written */
        *slash = '/';
    }
    mkdir(out, 0777);
    return true;
}

static bool cache_path(const struct mx_opencl_device *impl, char out[PATH_BYTES])
{
    static const cl_device_info parts[] = {CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION, CL_DRIVER_VERSION};
    char folder[PATH_BYTES], text[256];
    XXH3_state_t *const state = XXH3_createState();
    if (!state) return false;
    XXH3_128bits_reset(state);
    XXH3_128bits_update(state, mx_kernel_source, mx_kernel_source_bytes);
    XXH3_128bits_update(state, impl->tuning.options, sizeof impl->tuning.options);
    XXH3_128bits_update(state, impl->platform->name, sizeof impl->platform->name);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        memset(text, 0, sizeof text);
        mx_opencl_device_text(impl->cl, impl->id, parts[i], text, sizeof text);
        XXH3_128bits_update(state, text, sizeof text);
    }
    const XXH128_hash_t hash = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    if (!cache_folder(folder)) return false;
    const int length = snprintf(out, PATH_BYTES, "%s/%016llx%016llx.clbin", folder, (unsigned long long)hash.high64,
                                (unsigned long long)hash.low64);
    return length > 0 && length < PATH_BYTES;
}

/* Whether the program came from the disk. */
static bool cache_load(struct mx_opencl_device *impl, const char *path)
{
    char *data = NULL;
    size_t bytes = 0;
    cl_int code = CL_SUCCESS, status = CL_SUCCESS;
    if (mx_file_read(path, BINARY_MAX_BYTES, &data, &bytes) < 0) {
        mx_error_clear();
        return false;
    }
    const unsigned char *binary = (const unsigned char *)data;
    cl_program program =
        impl->cl->clCreateProgramWithBinary(impl->context, 1, &impl->id, &bytes, &binary, &status, &code);
    mx_free(data);
    if (program && status == CL_SUCCESS && code == CL_SUCCESS &&
        impl->cl->clBuildProgram(program, 1, &impl->id, NULL, NULL, NULL) == CL_SUCCESS) {
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
    if (bytes == 0 || bytes > BINARY_MAX_BYTES) return;
    unsigned char *binary = mx_alloc(bytes, 1);
    if (binary &&
        cl->clGetProgramInfo(impl->program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS &&
        mx_file_write_atomic(path, binary, bytes) < 0) {
        mx_debug("OpenCL: the built kernels are not kept: %s", mx_error_last()->message);
    }
    mx_free(binary);
    mx_error_clear();
}

/* ---- telling the user ---- */

/* lock protects `done`; the builder sets it and signals, the teller waits for it or for the time. */
struct teller {
    pthread_mutex_t lock;
    pthread_cond_t finished;
    bool done;
    const char *device;
    struct timespec at;
};

static void *tell(void *context)
{
    struct teller *const t = context;
    bool late = false;
    pthread_mutex_lock(&t->lock);
    while (!t->done && !late) late = pthread_cond_timedwait(&t->finished, &t->lock, &t->at) == ETIMEDOUT;
    const bool tells = !t->done;
    pthread_mutex_unlock(&t->lock);
    if (tells) mx_info("OpenCL: building the kernels for %s; later starts find them on the disk", t->device);
    return NULL;
}

/* ---- building ---- */

static int source_build(const struct mx_device *device, struct mx_opencl_device *impl)
{
    int rc = 0;
    const struct mx_cl_api *const cl = impl->cl;
    const char *source = (const char *)mx_kernel_source;
    char log[400] = "";
    cl_int code = CL_SUCCESS;
    impl->program = cl->clCreateProgramWithSource(impl->context, 1, &source, &mx_kernel_source_bytes, &code);
    MX_CL_TRY(code, "%s: the kernels", device->name);
    code = cl->clBuildProgram(impl->program, 1, &impl->id, impl->tuning.options, NULL, NULL);
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
    char path[PATH_BYTES];
    pthread_t thread;
    struct teller teller = {.device = device->name};
    const bool cached = strcmp(impl->platform->name, "Portable Computing Language") != 0 && cache_path(impl, path);
    if (cached && cache_load(impl, path)) return 0;
    clock_gettime(CLOCK_REALTIME, &teller.at);
    teller.at.tv_sec += LONG_SECONDS;
    pthread_mutex_init(&teller.lock, NULL);
    pthread_cond_init(&teller.finished, NULL);
    const bool told = pthread_create(&thread, NULL, tell, &teller) == 0;
    const uint64_t begin = mx_clock_ns();
    rc = source_build(device, impl);
    if (rc == 0 && cached) cache_store(impl, path);
    pthread_mutex_lock(&teller.lock);
    teller.done = true;
    pthread_cond_signal(&teller.finished);
    pthread_mutex_unlock(&teller.lock);
    if (told) pthread_join(thread, NULL);
    pthread_cond_destroy(&teller.finished);
    pthread_mutex_destroy(&teller.lock);
    mx_debug("OpenCL: the kernels for %s were built in %.1f s", device->name, (double)(mx_clock_ns() - begin) / 1e9);
    return rc;
}
