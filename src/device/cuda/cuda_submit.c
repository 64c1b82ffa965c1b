/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Submitting operations to a CUDA stream: the launches of kernels/launch.h become kernel calls, and products become
 * cuBLAS calls. Its matrices are column-major, so C = A·B is asked for as Cᵀ = Bᵀ·Aᵀ, which is the same memory.
 *
 * Memory: scratch, work memory, and the handle of cuBLAS with its workspace are made at the first operation that needs
 * them and live as long as the stream. cuBLAS works in our memory, so that it is counted and so that its sums have the
 * same order every time.
 */
#include "device/cuda/cuda.h"

#include <limits.h>
#include <stdio.h>

#define ARGS_MAX           48                /* parameters of the kernel with the most */
#define WORKSPACE_BYTES    ((size_t)8 << 20) /* of cuBLAS; the vendor's advice is 4 MiB, and 32 MiB from 9.0 on */
#define WORKSPACE_BYTES_90 ((size_t)32 << 20)

struct launcher {
    struct mx_launcher base;
    struct mx_stream *stream;
};

static struct mx_stream *stream_of(struct mx_launcher *base)
{
    return ((struct launcher *)base)->stream;
}

/* ---- sizes ---- */

static size_t workspace_bytes(int capability)
{
    return capability >= 90 ? WORKSPACE_BYTES_90 : WORKSPACE_BYTES;
}

uint64_t mx_cuda_stream_bytes(uint64_t memory_bytes, int capability)
{
    return MX_SCRATCH_BYTES + mx_kernel_work_bytes(memory_bytes) + workspace_bytes(capability);
}

/* ---- kernels ---- */

/* A parameter as the kernel takes it. */
union value {
    CUdeviceptr base;
    int64_t l;
    int32_t i;
    float f;
};

static int launch(struct mx_launcher *base, const struct mx_kernel_launch *what)
{
    struct mx_stream *const stream = stream_of(base);
    struct mx_cuda_stream *const impl = stream->impl;
    const struct mx_cuda_device *const device = mx_cuda_device_of(stream->device);
    union value values[ARGS_MAX];
    void *parameters[ARGS_MAX];
    int count = 0;
    if (2 * what->count > ARGS_MAX) {
        return MX_FAIL(MX_ERR_INTERNAL, NULL, "kernel %s has more than %d parameters", mx_kernel_name(what->kernel),
                       ARGS_MAX);
    }
    if (what->groups > INT_MAX) {
        return MX_FAIL(MX_ERR_UNSUPPORTED, "lower the batch", "%s: %lld groups of kernel %s are too many",
                       stream->device->name, (long long)what->groups, mx_kernel_name(what->kernel));
    }
    for (int i = 0; i < what->count; i++) {
        const struct mx_kernel_arg *const arg = &what->args[i];
        switch (arg->kind) {
        case MX_ARG_SLICE:
            values[count++].base = arg->slice.buffer ? mx_cuda_memory(mx_slice_at(arg->slice.buffer, 0)) : 0;
            values[count++].l = arg->slice.buffer ? (int64_t)arg->slice.offset_bytes : -1;
            break;
        case MX_ARG_STATUS:
            values[count++].base = impl->status;
            values[count++].l = 0;
            impl->looks = true;
            break;
        case MX_ARG_LONG:
            values[count++].l = arg->l;
            break;
        case MX_ARG_INT:
            values[count++].i = arg->i;
            break;
        default:
            values[count++].f = arg->f;
            break;
        }
    }
    for (int i = 0; i < count; i++) parameters[i] = &values[i];
    const unsigned lanes = (unsigned)mx_kernel_lanes(base->tuning, what->kernel);
    const CUresult code = device->cu->cuLaunchKernel(device->kernels[what->kernel], (unsigned)what->groups, 1, 1, lanes,
                                                     1, 1, 0, impl->stream, parameters, NULL);
    if (code == CUDA_SUCCESS) return 0;
    char told[64];
    snprintf(told, sizeof told, "kernel %s", mx_kernel_name(what->kernel));
    return mx_cuda_stream_told(stream, code, told);
}

/* ---- memory at first use ---- */

static int scratch(struct mx_launcher *base, struct mx_slice *out)
{
    int rc = 0;
    struct mx_stream *const stream = stream_of(base);
    struct mx_cuda_stream *const impl = stream->impl;
    if (!impl->scratch) MX_TRY(mx_buffer_create(stream->device, "scratch", MX_SCRATCH_BYTES, &impl->scratch));
    *out = mx_slice_at(impl->scratch, 0);
out:
    return rc;
}

static int work(struct mx_launcher *base, struct mx_slice *out)
{
    int rc = 0;
    struct mx_stream *const stream = stream_of(base);
    struct mx_cuda_stream *const impl = stream->impl;
    if (!impl->work) MX_TRY(mx_buffer_create(stream->device, "products", base->work_bytes, &impl->work));
    *out = mx_slice_at(impl->work, 0);
out:
    return rc;
}

/* ---- products ---- */

/* After a failed call of cuBLAS: what the driver knows about it is the better message. */
static int blas_failed(struct mx_stream *stream, cublasStatus_t status, const char *what)
{
    const struct mx_cuda_device *const device = mx_cuda_device_of(stream->device);
    const struct mx_cuda_stream *const impl = stream->impl;
    const CUresult code = stream->recording ? CUDA_SUCCESS : device->cu->cuStreamSynchronize(impl->stream);
    if (code != CUDA_SUCCESS) return mx_cuda_stream_told(stream, code, what);
    switch (status) {
    case CUBLAS_STATUS_ALLOC_FAILED:
        return MX_FAIL(MX_ERR_NO_MEMORY, "lower the sizes or the batch, or close other programs that use the device",
                       "stream \"%s\" of %s: %s: cuBLAS found no memory left", stream->name, stream->device->name,
                       what);
    case CUBLAS_STATUS_NOT_INITIALIZED:
    case CUBLAS_STATUS_ARCH_MISMATCH:
        return MX_FAIL(MX_ERR_DEVICE,
                       "install cuBLAS of the driver's generation, or give its path in MYXTTS_CUDA_CUBLAS",
                       "stream \"%s\" of %s: %s: cuBLAS does not work with this device (status %d)", stream->name,
                       stream->device->name, what, status);
    default:
        return MX_FAIL(MX_ERR_DEVICE, "update the NVIDIA driver and cuBLAS, or choose another device",
                       "stream \"%s\" of %s: %s: status %d of cuBLAS", stream->name, stream->device->name, what,
                       status);
    }
}

static int blas_get(struct mx_stream *stream)
{
    int rc = 0;
    struct mx_cuda_stream *const impl = stream->impl;
    const struct mx_cuda_device *const device = mx_cuda_device_of(stream->device);
    const struct mx_cuda_api *const cu = device->cu;
    if (impl->blas) return 0;
    const size_t bytes = workspace_bytes(device->entry->capability);
    if (!impl->workspace) MX_TRY(mx_buffer_create(stream->device, "cublas", bytes, &impl->workspace));
    cublasStatus_t status = cu->cublasCreate_v2(&impl->blas);
    if (status == CUBLAS_STATUS_SUCCESS) status = cu->cublasSetStream_v2(impl->blas, impl->stream);
    if (status == CUBLAS_STATUS_SUCCESS) status = cu->cublasSetWorkspace_v2(impl->blas, impl->workspace->impl, bytes);
    if (status == CUBLAS_STATUS_SUCCESS) status = cu->cublasSetMathMode(impl->blas, CUBLAS_DEFAULT_MATH);
    if (status != CUBLAS_STATUS_SUCCESS) {
        rc = blas_failed(stream, status, "starting cuBLAS");
        if (impl->blas) cu->cublasDestroy_v2(impl->blas);
        impl->blas = NULL;
    }
out:
    return rc;
}

static int gemm(struct mx_launcher *base, const struct mx_library_gemm *g)
{
    int rc = 0;
    struct mx_stream *const stream = stream_of(base);
    const struct mx_cuda_stream *const impl = stream->impl;
    const struct mx_cuda_api *const cu = mx_cuda_device_of(stream->device)->cu;
    const float one = 1, beta = g->accumulate ? 1 : 0;
    const int type = g->bf16 ? CUDA_R_16BF : CUDA_R_32F;
    const int compute = g->bf16 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_PEDANTIC;
    const int64_t sizes[] = {g->m, g->n, g->k, g->lda, g->ldb, g->ldc};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i] > INT_MAX) {
            MX_RAISE(MX_ERR_UNSUPPORTED, "lower the batch", "%s: a product with a side of %lld is too large for cuBLAS",
                     stream->device->name, (long long)sizes[i]);
        }
    }
    MX_TRY(blas_get(stream));
    const cublasStatus_t status = cu->cublasGemmEx(
        impl->blas, g->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N, g->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, (int)g->n,
        (int)g->m, (int)g->k, &one, (const void *)(uintptr_t)mx_cuda_memory(g->b), type, (int)g->ldb,
        (const void *)(uintptr_t)mx_cuda_memory(g->a), type, (int)g->lda, &beta,
        (void *)(uintptr_t)mx_cuda_memory(g->c), CUDA_R_32F, (int)g->ldc, compute, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS) rc = blas_failed(stream, status, "a product");
out:
    return rc;
}

/* ---- entries ---- */

static struct launcher launcher_for(struct mx_stream *stream)
{
    return (struct launcher){.base = {.tuning = &mx_cuda_device_of(stream->device)->tuning,
                                      .launch = launch,
                                      .scratch = scratch,
                                      .gemm = gemm,
                                      .work = work,
                                      .work_bytes = mx_kernel_work_bytes(stream->device->info.memory_bytes)},
                             .stream = stream};
}

int mx_cuda_stream_prepare(struct mx_stream *stream)
{
    int rc = 0;
    struct mx_slice unused;
    struct launcher launcher = launcher_for(stream);
    MX_TRY(scratch(&launcher.base, &unused));
    MX_TRY(work(&launcher.base, &unused));
    MX_TRY(blas_get(stream));
out:
    return rc;
}

int mx_cuda_submit(struct mx_stream *stream, enum mx_op op, const void *args)
{
    int rc = 0;
    struct launcher launcher = launcher_for(stream);
    MX_TRY(mx_cuda_stream_told(stream, mx_cuda_enter(mx_cuda_device_of(stream->device)), "opening its device"));
    MX_TRY(mx_kernel_plan(&launcher.base, op, args));
out:
    return rc;
}
