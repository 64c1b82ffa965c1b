/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cuBLAS and NVML. Products are sums of floats in the order of k, a block of rows at a time.
 *
 * Memory: handles are the double's.
 */
#include "inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cuBLAS ---- */

#define BLOCK_ROWS      256
#define WORKSPACE_ALIGN 256
#define INVALID_VALUE   7  /* CUBLAS_STATUS_… */
#define NOT_SUPPORTED   15 /* the same */

struct blas {
    struct object object;
    struct stream *stream;
    CUdeviceptr workspace;
    size_t workspace_bytes;
};

cublasStatus_t cublasCreate_v2(cublasHandle_t *out)
{
    struct context *context;
    if (context_outside_capture(&context, "cublasCreate") != CUDA_SUCCESS) return CUBLAS_STATUS_NOT_INITIALIZED;
    struct blas *const blas = calloc(1, sizeof *blas);
    object_add(&blas->object, BLAS, context);
    *out = (cublasHandle_t)blas;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    struct context *context;
    if (!object_is(handle, BLAS, "cublasDestroy")) return CUBLAS_STATUS_NOT_INITIALIZED;
    context_outside_capture(&context, "cublasDestroy"); /* it waits for the device; a lost one may be left */
    object_remove((struct object *)handle);
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
    (void)handle;
    *version = (int)settings()->nvrtc_version * 10;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, CUstream stream)
{
    if (!object_is(handle, BLAS, "cublasSetStream") || !object_is(stream, STREAM, "cublasSetStream")) {
        return CUBLAS_STATUS_NOT_INITIALIZED;
    }
    struct blas *const blas = (struct blas *)handle;
    if (((struct stream *)stream)->object.context != blas->object.context)
        return fault(INVALID_VALUE, "cublasSetStream: a stream of another device");
    blas->stream = (struct stream *)stream;
    blas->workspace = 0; /* back to cuBLAS's own */
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *memory, size_t bytes)
{
    char *host;
    if (!object_is(handle, BLAS, "cublasSetWorkspace")) return CUBLAS_STATUS_NOT_INITIALIZED;
    struct blas *const blas = (struct blas *)handle;
    struct block *const block =
        block_hold(blas->object.context, (CUdeviceptr)(uintptr_t)memory, bytes, &host, "cublasSetWorkspace");
    if (!block) return INVALID_VALUE;
    block_drop(block);
    if ((uintptr_t)memory % WORKSPACE_ALIGN != 0)
        return fault(INVALID_VALUE, "cublasSetWorkspace: not aligned to %d bytes", WORKSPACE_ALIGN);
    blas->workspace = (CUdeviceptr)(uintptr_t)memory;
    blas->workspace_bytes = bytes;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, int mode)
{
    if (!object_is(handle, BLAS, "cublasSetMathMode")) return CUBLAS_STATUS_NOT_INITIALIZED;
    return mode == CUBLAS_DEFAULT_MATH || mode == CUBLAS_PEDANTIC_MATH
               ? CUBLAS_STATUS_SUCCESS
               : fault(INVALID_VALUE, "cublasSetMathMode: mode %d", mode);
}

/* Without a workspace of the caller's cuBLAS has one for all its streams, and sums may change their order. */
static bool workspace_alive(const struct blas *blas)
{
    char *host;
    if (!blas->workspace) {
        fault(0, "cublasGemmEx without a workspace of the stream's own");
        return false;
    }
    struct block *const block =
        block_hold(blas->object.context, blas->workspace, blas->workspace_bytes, &host, "workspace of cuBLAS");
    if (block) block_drop(block);
    return block != NULL;
}

/* What cublasGemmEx computes, by its documentation: how it sums, and of which matrices. The types of a and b are the
 * same; `here` are those that the double computes. */
enum { R_32F = CUDA_R_32F, R_64F = 1, R_16F = 2, R_8I = 3, R_32I = 10, R_16BF = CUDA_R_16BF };
static const struct {
    int compute, ab, c;
    bool here;
} combinations[] = {
    {64, R_16F, R_16F, false},
    {65, R_16F, R_16F, false},
    {72, R_8I, R_32I, false},
    {73, R_8I, R_32I, false},
    {CUBLAS_COMPUTE_32F, R_16BF, R_16BF, false},
    {CUBLAS_COMPUTE_32F, R_16F, R_16F, false},
    {CUBLAS_COMPUTE_32F, R_8I, R_32F, false},
    {CUBLAS_COMPUTE_32F, R_16BF, R_32F, true},
    {CUBLAS_COMPUTE_32F, R_16F, R_32F, false},
    {CUBLAS_COMPUTE_32F, R_32F, R_32F, false},
    {CUBLAS_COMPUTE_32F_PEDANTIC, R_16BF, R_16BF, false},
    {CUBLAS_COMPUTE_32F_PEDANTIC, R_16F, R_16F, false},
    {CUBLAS_COMPUTE_32F_PEDANTIC, R_8I, R_32F, false},
    {CUBLAS_COMPUTE_32F_PEDANTIC, R_16BF, R_32F, false},
    {CUBLAS_COMPUTE_32F_PEDANTIC, R_16F, R_32F, false},
    {CUBLAS_COMPUTE_32F_PEDANTIC, R_32F, R_32F, true},
    {74, R_32F, R_32F, false},
    {75, R_32F, R_32F, false},
    {77, R_32F, R_32F, false},
    {70, R_64F, R_64F, false},
    {71, R_64F, R_64F, false},
};

static cublasStatus_t combination_check(int compute, int a, int b, int c)
{
    for (size_t i = 0; i < sizeof combinations / sizeof *combinations; i++) {
        if (combinations[i].compute != compute || combinations[i].ab != a || a != b || combinations[i].c != c) continue;
        return combinations[i].here ? CUBLAS_STATUS_SUCCESS
                                    : fault(NOT_SUPPORTED, "cublasGemmEx: types that were not announced");
    }
    return fault(NOT_SUPPORTED, "cublasGemmEx: types %d, %d and %d do not go with compute type %d", a, b, c, compute);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, int transpose_a, int transpose_b, int m, int n, int k,
                            const void *alpha, const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                            const void *beta, void *c, int c_type, int ldc, int compute, int algorithm)
{
    struct stream *stream;
    if (!object_is(handle, BLAS, "cublasGemmEx")) return CUBLAS_STATUS_NOT_INITIALIZED;
    struct blas *const blas = (struct blas *)handle;
    if (stream_check((CUstream)blas->stream, &stream, "cublasGemmEx") != CUDA_SUCCESS) {
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    const bool half = a_type == CUDA_R_16BF;
    struct context *context;
    if (context_now(&context, "cublasGemmEx") != CUDA_SUCCESS) return CUBLAS_STATUS_EXECUTION_FAILED;
    if (context != blas->object.context)
        return fault(CUBLAS_STATUS_EXECUTION_FAILED, "cublasGemmEx: handle and thread are not of one context");
    if (stream->object.context != blas->object.context || !workspace_alive(blas)) return CUBLAS_STATUS_EXECUTION_FAILED;
    const cublasStatus_t fits = combination_check(compute, a_type, b_type, c_type);
    if (fits != CUBLAS_STATUS_SUCCESS) return fits;
    if (algorithm != CUBLAS_GEMM_DEFAULT) return fault(INVALID_VALUE, "cublasGemmEx: algorithm %d", algorithm);
    if (half && settings()->capability < 80) return CUBLAS_STATUS_ARCH_MISMATCH;
    if (transpose_a < CUBLAS_OP_N || transpose_a > CUBLAS_OP_T || transpose_b < CUBLAS_OP_N ||
        transpose_b > CUBLAS_OP_T)
        return fault(INVALID_VALUE, "cublasGemmEx: transpositions %d and %d", transpose_a, transpose_b);
    if (!alpha || !beta || !c) return fault(INVALID_VALUE, "cublasGemmEx: alpha, beta or c is missing");
    if ((uintptr_t)a % (half ? 2 : 4) != 0 || (uintptr_t)b % (half ? 2 : 4) != 0 || (uintptr_t)c % 4 != 0)
        return fault(INVALID_VALUE, "cublasGemmEx: a matrix is not aligned to its elements");
    const bool ta = transpose_a == CUBLAS_OP_T, tb = transpose_b == CUBLAS_OP_T;
    if (m < 0 || n < 0 || k < 0 || lda < (ta ? k : m) || lda < 1 || ldb < (tb ? n : k) || ldb < 1 || ldc < m ||
        ldc < 1) {
        return fault(INVALID_VALUE, "cublasGemmEx: %d × %d × %d with leading dimensions %d, %d, %d", m, n, k, lda, ldb,
                     ldc);
    }
    if (strikes(&settings()->fail_gemm)) return CUBLAS_STATUS_EXECUTION_FAILED;
    struct command *const command = command_make(COMMAND_GEMM);
    command->gemm = (struct gemm){.ta = ta,
                                  .tb = tb,
                                  .half = half,
                                  .m = m,
                                  .n = n,
                                  .k = k,
                                  .lda = lda,
                                  .ldb = ldb,
                                  .ldc = ldc,
                                  .a = (CUdeviceptr)(uintptr_t)a,
                                  .b = (CUdeviceptr)(uintptr_t)b,
                                  .c = (CUdeviceptr)(uintptr_t)c};
    memcpy(&command->gemm.alpha, alpha, sizeof(float));
    memcpy(&command->gemm.beta, beta, sizeof(float));
    totals.gemms++;
    return stream_submit(stream, command) == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

/* Element (row, column) of a column-major matrix, or of its transpose. */
static float element(const char *matrix, bool half, bool transpose, int64_t leading, int64_t row, int64_t column)
{
    const int64_t at = transpose ? row * leading + column : column * leading + row;
    float value;
    if (half) {
        uint16_t bits;
        memcpy(&bits, matrix + 2 * at, sizeof bits);
        const uint32_t wide = (uint32_t)bits << 16;
        memcpy(&value, &wide, sizeof value);
    } else {
        memcpy(&value, matrix + 4 * at, sizeof value);
    }
    return value;
}

void gemm_run(const struct gemm *g, char *const hosts[3])
{
    float *const c = (float *)(void *)hosts[2];
    float *const a = malloc((size_t)(g->k > 0 ? g->k : 1) * BLOCK_ROWS * sizeof *a);
    for (int64_t first = 0; first < g->m; first += BLOCK_ROWS) {
        const int64_t rows = g->m - first < BLOCK_ROWS ? g->m - first : BLOCK_ROWS;
        for (int64_t p = 0; p < g->k; p++)
            for (int64_t i = 0; i < rows; i++)
                a[p * BLOCK_ROWS + i] = element(hosts[0], g->half, g->ta, g->lda, first + i, p);
        for (int64_t j = 0; j < g->n; j++) {
            float sum[BLOCK_ROWS] = {0};
            float *const out = c + j * g->ldc + first;
            for (int64_t p = 0; p < g->k; p++) {
                const float factor = element(hosts[1], g->half, g->tb, g->ldb, p, j);
                for (int64_t i = 0; i < rows; i++) sum[i] += a[p * BLOCK_ROWS + i] * factor;
            }
            /* With beta 0 what was there does not count, even if it is no number. */
            for (int64_t i = 0; i < rows; i++) out[i] = g->alpha * sum[i] + (g->beta != 0.0f ? g->beta * out[i] : 0.0f);
        }
    }
    free(a);
}

/* ---- NVML ---- */

static atomic_int nvml_users;

nvmlReturn_t nvmlInit_v2(void)
{
    if (settings()->nvml_code != 0) return (nvmlReturn_t)settings()->nvml_code;
    nvml_users++;
    return 0;
}

nvmlReturn_t nvmlShutdown(void)
{
    if (nvml_users == 0) return fault(1, "nvmlShutdown without nvmlInit");
    nvml_users--;
    return 0;
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvmlDevice_t *out)
{
    unsigned domain, number;
    if (nvml_users == 0) return fault(1, "nvmlDeviceGetHandleByPciBusId before nvmlInit");
    if (sscanf(bus, "%x:%x:", &domain, &number) != 2 || number < 0x41 || number >= 0x41 + settings()->devices) {
        return fault(6, "nvmlDeviceGetHandleByPciBusId: %s", bus); /* not found */
    }
    *out = (nvmlDevice_t)(uintptr_t)number;
    return 0;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, struct mx_nvml_utilization *out)
{
    if (nvml_users == 0 || !device) return fault(1, "nvmlDeviceGetUtilizationRates before nvmlInit");
    if (settings()->mig) return 3;                                            /* not supported */
    if (settings()->lost_device == (long)(uintptr_t)device - 0x41) return 15; /* the GPU is lost */
    *out = (struct mx_nvml_utilization){.gpu = (unsigned)settings()->utilisation, .memory = 1};
    return 0;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, struct mx_nvml_memory *out)
{
    if (nvml_users == 0 || !device) return fault(1, "nvmlDeviceGetMemoryInfo before nvmlInit");
    const unsigned long long total = (unsigned long long)settings()->memory_mib << 20;
    const unsigned long long taken = memory_used((int)((uintptr_t)device - 0x41));
    *out = (struct mx_nvml_memory){.total_bytes = total, .free_bytes = total - taken, .used_bytes = taken};
    return 0;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *text, unsigned bytes)
{
    snprintf(text, bytes, "570.%ld", (long)settings()->driver_version % 1000);
    return 0;
}
