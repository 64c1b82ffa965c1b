/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Loading CLBlast, choosing where it is used, and multiplying with it; see clblast.h.
 */
#include "device/opencl/clblast.h"

#include "base/log.h"
#include "base/number.h"
#include "device/kernels/cache.h"
#include "device/opencl/opencl.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PACKAGE "libclblast1"

/* Values of the library's interface. */
enum { COLUMN_MAJOR = 102, TRANSPOSE_NO = 111, TRANSPOSE_YES = 112 };
enum { STATUS_TEMP_TOO_SMALL = -2050, STATUS_LOCAL_MEMORY = -2046, STATUS_NO_DATABASE = -2041 };

/* ---- loading and choosing ---- */

int mx_clblast_wish_read(const char *text, enum mx_clblast_wish *out)
{
    if (!text || !*text) {
        *out = MX_CLBLAST_GPUS;
    } else if (strcmp(text, "0") == 0) {
        *out = MX_CLBLAST_NEVER;
    } else if (strcmp(text, "1") == 0) {
        *out = MX_CLBLAST_ALWAYS;
    } else {
        return MX_FAIL(
            MX_ERR_USAGE,
            "set it to 1 to use CLBlast on all OpenCL devices or to 0 for none, or unset it to use CLBlast on GPUs",
            "MYXTTS_CLBLAST is \"%.32s\", which is neither 0 nor 1", text);
    }
    return 0;
}

int mx_clblast_load(struct mx_clblast *blast, const char *name)
{
    static const struct {
        const char *name;
        size_t at;
    } entries[] = {
        {"CLBlastSgemmWithTempBuffer", offsetof(struct mx_clblast, CLBlastSgemmWithTempBuffer)},
        {"CLBlastSGemmTempBufferSize", offsetof(struct mx_clblast, CLBlastSGemmTempBufferSize)},
        {"CLBlastClearCache", offsetof(struct mx_clblast, CLBlastClearCache)},
    };
    void *const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        return MX_FAIL(MX_ERR_NO_DEVICE, "apt-get install " PACKAGE ", or set MYXTTS_CLBLAST=0",
                       "CLBlast cannot be loaded: %s", dlerror());
    }
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *const entry = dlsym(library, entries[i].name);
        if (!entry) {
            return MX_FAIL(MX_ERR_NO_DEVICE, "install CLBlast 1.5.0 or later, or set MYXTTS_CLBLAST=0", "%s has no %s",
                           name, entries[i].name);
        }
        memcpy((char *)blast + entries[i].at, &entry, sizeof entry);
    }
    blast->loaded = true;
    return 0;
}

int mx_clblast_open(struct mx_clblast *blast, bool gpus)
{
    int rc = 0;
    *blast = (struct mx_clblast){.opened = true};
    pthread_mutex_init(&blast->building, NULL);
    MX_TRY(mx_clblast_wish_read(getenv("MYXTTS_CLBLAST"), &blast->wish));
    if (blast->wish == MX_CLBLAST_NEVER || (blast->wish == MX_CLBLAST_GPUS && !gpus)) goto out;
    rc = mx_clblast_load(blast, MX_CLBLAST_LIBRARY);
    if (rc < 0 && blast->wish == MX_CLBLAST_GPUS) {
        mx_debug("%s", mx_error_last()->message); /* the advice to the user is logged for each GPU */
        mx_error_clear();
        rc = 0;
    }
out:
    return rc;
}

void mx_clblast_close(struct mx_clblast *blast)
{
    if (blast->loaded) blast->CLBlastClearCache();
    if (blast->opened) pthread_mutex_destroy(&blast->building);
}

bool mx_clblast_serves(const struct mx_clblast *blast, enum mx_device_kind kind)
{
    return blast->loaded && (blast->wish == MX_CLBLAST_ALWAYS || kind == MX_DEVICE_GPU);
}

void mx_clblast_describe(const struct mx_clblast *blast, struct mx_device_info *info)
{
    if (mx_clblast_serves(blast, info->kind)) {
        snprintf(info->products, sizeof info->products, "CLBlast");
        info->work_bytes += 2 * mx_kernel_work_bytes(info->memory_bytes);
    } else if (info->kind == MX_DEVICE_GPU) {
        snprintf(info->products_missing, sizeof info->products_missing, "%s",
                 blast->wish == MX_CLBLAST_NEVER ? "CLBlast is switched off by MYXTTS_CLBLAST=0"
                                                 : "CLBlast is not installed: apt-get install " PACKAGE);
    }
}

void mx_clblast_log(const struct mx_device *device)
{
    const struct mx_device_info *const info = &device->info;
    if (info->products[0]) {
        mx_debug("%s: matrices are multiplied by %s", device->name, info->products);
    } else if (info->products_missing[0]) {
        mx_warn("%s: matrices are multiplied by kernels that were not tuned for it; %s", device->name,
                info->products_missing);
    }
}

/* ---- products ---- */

/* Rows · columns as stored, at ld elements from row to row. */
static bool matrix_fits(struct mx_slice slice, int64_t rows, int64_t columns, int64_t ld)
{
    const int64_t first = (int64_t)(slice.offset_bytes / sizeof(float));
    return rows <= INT_MAX && ld <= INT_MAX && first + (rows - 1) * ld + columns <= INT_MAX;
}

/* The library's kernels count elements with 32 bits. */
static int sizes_check(const struct mx_device *device, const struct mx_library_gemm *g)
{
    if (matrix_fits(g->a, g->transpose_a ? g->k : g->m, g->transpose_a ? g->m : g->k, g->lda) &&
        matrix_fits(g->b, g->transpose_b ? g->n : g->k, g->transpose_b ? g->k : g->n, g->ldb) &&
        matrix_fits(g->c, g->m, g->n, g->ldc)) {
        return 0;
    }
    return MX_FAIL(
        MX_ERR_UNSUPPORTED, "lower the batch, or set MYXTTS_CLBLAST=0",
        "%s: the buffers of a product of %lld · %lld · %lld are too large for CLBlast (limit: 2147483647 elements)",
        device->name, (long long)g->m, (long long)g->n, (long long)g->k);
}

static int transposed(bool yes)
{
    return yes ? TRANSPOSE_YES : TRANSPOSE_NO;
}

int mx_clblast_room(struct mx_stream *stream, const struct mx_library_gemm *g, const int64_t size[3], size_t *bytes)
{
    const struct mx_opencl_device *const device = mx_opencl_device_of(stream->device);
    struct mx_opencl_stream *const impl = stream->impl;
    /* As if all of them began at element 1: then none can do without a copy. */
    const int status = device->blast->CLBlastSGemmTempBufferSize(
        COLUMN_MAJOR, transposed(g->transpose_b), transposed(g->transpose_a), (size_t)size[1], (size_t)size[0],
        (size_t)size[2], 1, (size_t)g->ldb, 1, (size_t)g->lda, 1, (size_t)g->ldc, &impl->queue, bytes);
    return status == 0 ? 0 : mx_clblast_fail(stream->device->name, status);
}

/* Sizes of blocks of m, n and k for which `most` bytes are enough. */
static int blocks_choose(struct mx_stream *stream, const struct mx_library_gemm *g, size_t most, int64_t size[3])
{
    int rc = 0;
    size[0] = g->m;
    size[1] = g->n;
    size[2] = g->k;
    for (;;) {
        size_t bytes = 0;
        int longest = 0;
        MX_TRY(mx_clblast_room(stream, g, size, &bytes));
        if (bytes <= most) break;
        for (int i = 1; i < 3; i++)
            if (size[i] > size[longest]) longest = i;
        if (size[longest] <= 1) MX_TRY(mx_clblast_fail(stream->device->name, STATUS_TEMP_TOO_SMALL));
        size[longest] = (size[longest] + 1) / 2;
    }
out:
    return rc;
}

static size_t elements(struct mx_slice slice, int64_t further)
{
    return slice.offset_bytes / sizeof(float) + (size_t)further;
}

int mx_clblast_block(struct mx_stream *stream, const struct mx_library_gemm *g, const int64_t from[3],
                     const int64_t size[3])
{
    const struct mx_opencl_device *const device = mx_opencl_device_of(stream->device);
    struct mx_opencl_stream *const impl = stream->impl;
    const int64_t m = from[0], n = from[1], k = from[2];
    const int status = device->blast->CLBlastSgemmWithTempBuffer(
        COLUMN_MAJOR, transposed(g->transpose_b), transposed(g->transpose_a), (size_t)size[1], (size_t)size[0],
        (size_t)size[2], 1.0f, mx_opencl_memory(g->b.buffer),
        elements(g->b, g->transpose_b ? n * g->ldb + k : k * g->ldb + n), (size_t)g->ldb, mx_opencl_memory(g->a.buffer),
        elements(g->a, g->transpose_a ? k * g->lda + m : m * g->lda + k), (size_t)g->lda,
        g->accumulate || k > 0 ? 1.0f : 0.0f, mx_opencl_memory(g->c.buffer), elements(g->c, m * g->ldc + n),
        (size_t)g->ldc, &impl->queue, NULL, mx_opencl_memory(impl->temp));
    return status == 0 ? 0 : mx_clblast_fail(stream->device->name, status);
}

/* Once for each device: builds the library's kernels and sees whether they are right. */
static int first_prepare(struct mx_stream *stream)
{
    int rc = 0;
    struct mx_kernel_notice notice;
    char who[sizeof stream->device->name + 16];
    struct mx_opencl_device *const device = mx_opencl_device_of(stream->device);
    pthread_mutex_lock(&device->blast->building);
    if (!atomic_load(&device->blast_checked)) {
        snprintf(who, sizeof who, "CLBlast on %s", stream->device->name);
        mx_kernel_notice_start(&notice, who, false);
        rc = mx_clblast_check(stream);
        mx_kernel_notice_stop(&notice);
        if (rc == 0) atomic_store(&device->blast_checked, true);
    }
    pthread_mutex_unlock(&device->blast->building);
    return rc;
}

int mx_clblast_gemm(struct mx_stream *stream, const struct mx_library_gemm *g)
{
    int rc = 0;
    int64_t most[3], from[3];
    struct mx_opencl_stream *const impl = stream->impl;
    const size_t bytes = mx_kernel_work_bytes(stream->device->info.memory_bytes);
    MX_TRY(sizes_check(stream->device, g));
    if (!impl->temp) MX_TRY(mx_buffer_create(stream->device, "clblast", bytes, &impl->temp));
    if (!atomic_load(&mx_opencl_device_of(stream->device)->blast_checked)) MX_TRY(first_prepare(stream));
    MX_TRY(blocks_choose(stream, g, bytes, most));
    for (from[0] = 0; from[0] < g->m; from[0] += most[0]) {
        for (from[1] = 0; from[1] < g->n; from[1] += most[1]) {
            for (from[2] = 0; from[2] < g->k; from[2] += most[2]) {
                const int64_t size[3] = {mx_least(g->m - from[0], most[0]), mx_least(g->n - from[1], most[1]),
                                         mx_least(g->k - from[2], most[2])};
                MX_TRY(mx_clblast_block(stream, g, from, size));
            }
        }
    }
out:
    return rc;
}

int mx_clblast_work(struct mx_stream *stream, struct mx_slice *out)
{
    int rc = 0;
    struct mx_opencl_stream *const impl = stream->impl;
    const size_t bytes = mx_kernel_work_bytes(stream->device->info.memory_bytes);
    if (!impl->work) MX_TRY(mx_buffer_create(stream->device, "products", bytes, &impl->work));
    *out = mx_slice_at(impl->work, 0);
out:
    return rc;
}

/* ---- errors ---- */

int mx_clblast_fail(const char *device, int status)
{
    switch (status) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
        return mx_cl_fail(status, "%s: a product by CLBlast", device);
    case CL_COMPILER_NOT_AVAILABLE:
    case CL_BUILD_PROGRAM_FAILURE:
    case CL_INVALID_BINARY:
    case CL_INVALID_BUILD_OPTIONS:
    case CL_INVALID_PROGRAM:
    case CL_INVALID_PROGRAM_EXECUTABLE:
        return MX_FAIL(MX_ERR_DEVICE, "set MYXTTS_CLBLAST=0 to multiply without it, or update the OpenCL driver",
                       "%s: its compiler refuses the kernels of CLBlast (%s)", device, mx_cl_error_name(status));
    case CL_INVALID_WORK_GROUP_SIZE:
    case CL_INVALID_WORK_ITEM_SIZE:
    case STATUS_LOCAL_MEMORY:
    case STATUS_NO_DATABASE:
        return MX_FAIL(MX_ERR_DEVICE, "set MYXTTS_CLBLAST=0 to multiply without it, or install another version of it",
                       "%s: CLBlast has no kernels that fit this device (status %d)", device, status);
    default:
        return MX_FAIL(MX_ERR_DEVICE, "set MYXTTS_CLBLAST=0 to multiply without it, or install another version of it",
                       "%s: a product by CLBlast failed (status %d%s%s)", device, status, status > -1000 ? ", " : "",
                       status > -1000 ? mx_cl_error_name(status) : "");
    }
}
