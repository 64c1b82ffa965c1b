/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The CUDA libraries, loaded at run time: the driver, NVRTC (compiler), cuBLAS (products) and NVML (meters). The build
 * needs nothing from CUDA; the declarations below are this project's own and cover only the entry points it uses.
 *
 * Names and signatures: each table line is ENTRY(result, symbol, parameters). The symbol is the one that the library
 * exports, with the version in its name (cuMemAlloc_v2); all of them have existed since CUDA 11.8 and still exist in
 * 13. Lines marked OPTIONAL may be missing from the library; the member of the table is then NULL.
 *
 * Where the libraries are: the names that each generation installs, unless an environment variable gives the path of a
 * shared object, which is then the only one tried:
 *   MYXTTS_CUDA_DRIVER   libcuda.so.1
 *   MYXTTS_CUDA_NVRTC    libnvrtc.so.13, .12, .11.2       none newer than the driver's generation
 *   MYXTTS_CUDA_CUBLAS   libcublas.so.13, .12, .11        the same
 *   MYXTTS_CUDA_NVML     libnvidia-ml.so.1                may be missing: then no utilisation is shown
 * Several of them may name the same file, so that a test double can be one shared object.
 *
 * How the backend calls: the driver's calls act on the calling thread's current context, which is always the primary
 * context of one device, set by cuCtxSetCurrent before. Kernels get one-dimensional grids and blocks, no dynamic shared
 * memory, and their parameters through `parameters` (cuLaunchKernel), each pointing at a value of the parameter's own
 * type; `extra` is NULL. Streams are CU_STREAM_NON_BLOCKING.
 *
 * Memory: the table is the caller's. The libraries stay loaded until the process ends, because they keep threads of
 * their own.
 */
#ifndef MX_DEVICE_CUDA_CUDA_API_H
#define MX_DEVICE_CUDA_CUDA_API_H

#include <stdbool.h>
#include <stddef.h>

/* ---- types of the driver: names as in the vendor's documentation, so that calls can be looked up there ---- */
typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;

/* Results that are handled separately. */
enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_DEINITIALIZED = 4,
    CUDA_ERROR_STUB_LIBRARY = 34,
    CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_ECC_UNCORRECTABLE = 214,
    CUDA_ERROR_INVALID_PTX = 218,
    CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    CUDA_ERROR_CONTAINED = 226,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    CUDA_ERROR_LAUNCH_TIMEOUT = 702,
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
    CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    CUDA_ERROR_ASSERT = 710,
    CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
    CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
    CUDA_ERROR_MISALIGNED_ADDRESS = 716,
    CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
    CUDA_ERROR_INVALID_PC = 718,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_NOT_PERMITTED = 800,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_SYSTEM_NOT_READY = 802,
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910,
    CUDA_ERROR_EXTERNAL_DEVICE = 911,
    CUDA_ERROR_UNKNOWN = 999,
};

/* Attributes of cuDeviceGetAttribute that are asked for. */
enum {
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20, /* 2: prohibited */
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
};

/* Attributes of cuFuncGetAttribute that are asked for. */
enum { CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0 };

/* Flags. */
enum {
    CU_CTX_SCHED_BLOCKING_SYNC = 4,         /* cuDevicePrimaryCtxSetFlags_v2: waiting threads sleep */
    CU_STREAM_NON_BLOCKING = 1,             /* cuStreamCreate */
    CU_EVENT_BLOCKING_SYNC = 1,             /* cuEventCreate; timing is on unless CU_EVENT_DISABLE_TIMING (2) is set */
    CU_MEMHOSTALLOC_PORTABLE = 1,           /* cuMemHostAlloc: pinned for all contexts */
    CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1 /* cuStreamBeginCapture_v2 */
};

/* The driver. cuEventElapsedTime: milliseconds from `begin` to `end`. cuMemcpyPeerAsync works for every pair of devices
 * in the real driver; the backend calls it only where cuDeviceCanAccessPeer says 1 and cuCtxEnablePeerAccess worked.
 * cuModuleLoadDataEx gets a CUBIN or PTX text (with its final zero) and no options (count 0).
 * cuGraphInstantiateWithFlags gets flags 0. cuStreamEndCapture gives a graph that is destroyed right after it was
 * instantiated. */
#define MX_CUDA_DRIVER_LIST(ENTRY, OPTIONAL)                                                                           \
    ENTRY(CUresult, cuInit, (unsigned flags))                                                                          \
    ENTRY(CUresult, cuDriverGetVersion, (int *version)) /* 11080 is 11.8 */                                            \
    ENTRY(CUresult, cuGetErrorName, (CUresult code, const char **text))                                                \
    ENTRY(CUresult, cuGetErrorString, (CUresult code, const char **text))                                              \
    ENTRY(CUresult, cuDeviceGetCount, (int *count)) /* after CUDA_VISIBLE_DEVICES, which the driver reads */           \
    ENTRY(CUresult, cuDeviceGet, (CUdevice * device, int ordinal))                                                     \
    ENTRY(CUresult, cuDeviceGetName, (char *text, int bytes, CUdevice device))                                         \
    ENTRY(CUresult, cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))                                            \
    ENTRY(CUresult, cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))                                \
    ENTRY(CUresult, cuDeviceGetPCIBusId, (char *text, int bytes, CUdevice device)) /* "0000:41:00.0" */                \
    ENTRY(CUresult, cuDeviceCanAccessPeer, (int *can, CUdevice device, CUdevice peer))                                 \
    ENTRY(CUresult, cuDevicePrimaryCtxSetFlags_v2, (CUdevice device, unsigned flags))                                  \
    ENTRY(CUresult, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                                  \
    ENTRY(CUresult, cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                                   \
    ENTRY(CUresult, cuCtxSetCurrent, (CUcontext context))                                                              \
    ENTRY(CUresult, cuCtxEnablePeerAccess, (CUcontext peer, unsigned flags)) /* of the current context to `peer` */    \
    ENTRY(CUresult, cuMemGetInfo_v2, (size_t * free_bytes, size_t * total_bytes))                                      \
    ENTRY(CUresult, cuMemAlloc_v2, (CUdeviceptr * out, size_t bytes))                                                  \
    ENTRY(CUresult, cuMemFree_v2, (CUdeviceptr memory))                                                                \
    ENTRY(CUresult, cuMemHostAlloc, (void **out, size_t bytes, unsigned flags))                                        \
    ENTRY(CUresult, cuMemFreeHost, (void *memory))                                                                     \
    ENTRY(CUresult, cuMemsetD32Async, (CUdeviceptr memory, unsigned word, size_t words, CUstream stream))              \
    ENTRY(CUresult, cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))           \
    ENTRY(CUresult, cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))                 \
    ENTRY(CUresult, cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))           \
    ENTRY(CUresult, cuMemcpyPeerAsync,                                                                                 \
          (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,               \
           CUstream stream))                                                                                           \
    ENTRY(CUresult, cuStreamCreate, (CUstream * out, unsigned flags))                                                  \
    ENTRY(CUresult, cuStreamDestroy_v2, (CUstream stream))                                                             \
    ENTRY(CUresult, cuStreamSynchronize, (CUstream stream))                                                            \
    ENTRY(CUresult, cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags)) /* of any device */           \
    ENTRY(CUresult, cuEventCreate, (CUevent * out, unsigned flags))                                                    \
    ENTRY(CUresult, cuEventDestroy_v2, (CUevent event))                                                                \
    ENTRY(CUresult, cuEventRecord, (CUevent event, CUstream stream))                                                   \
    ENTRY(CUresult, cuEventQuery, (CUevent event)) /* CUDA_ERROR_NOT_READY while pending */                            \
    ENTRY(CUresult, cuEventSynchronize, (CUevent event))                                                               \
    ENTRY(CUresult, cuEventElapsedTime, (float *milliseconds, CUevent begin, CUevent end))                             \
    ENTRY(CUresult, cuModuleLoadDataEx,                                                                                \
          (CUmodule * out, const void *image, unsigned count, int *options, void **values))                            \
    ENTRY(CUresult, cuModuleUnload, (CUmodule module))                                                                 \
    ENTRY(CUresult, cuModuleGetFunction, (CUfunction * out, CUmodule module, const char *name))                        \
    ENTRY(CUresult, cuFuncGetAttribute, (int *value, int attribute, CUfunction function)) /* loads the kernel */       \
    ENTRY(CUresult, cuLaunchKernel,                                                                                    \
          (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
           unsigned block_z, unsigned shared_bytes, CUstream stream, void **parameters, void **extra))                 \
    OPTIONAL(CUresult, cuStreamBeginCapture_v2, (CUstream stream, int mode))                                           \
    OPTIONAL(CUresult, cuStreamEndCapture, (CUstream stream, CUgraph * out))                                           \
    OPTIONAL(CUresult, cuGraphGetNodes, (CUgraph graph, CUgraphNode * nodes, size_t * count)) /* nodes NULL: count */  \
    OPTIONAL(CUresult, cuGraphInstantiateWithFlags, (CUgraphExec * out, CUgraph graph, unsigned long long flags))      \
    OPTIONAL(CUresult, cuGraphExecUpdate, (CUgraphExec exec, CUgraph graph, CUgraphNode * failed, int *result))        \
    OPTIONAL(CUresult, cuGraphLaunch, (CUgraphExec exec, CUstream stream))                                             \
    OPTIONAL(CUresult, cuGraphExecDestroy, (CUgraphExec exec))                                                         \
    OPTIONAL(CUresult, cuGraphDestroy, (CUgraph graph))

/* ---- NVRTC ---- */
typedef int nvrtcResult; /* 0: fine; 6: the source does not compile, the log says why */
typedef struct mx_nvrtc_program *nvrtcProgram;

#define NVRTC_SUCCESS           0
#define NVRTC_ERROR_COMPILATION 6

/* The options are "--gpu-architecture=sm_86" (or compute_86 where the compiler is older than the device: then PTX is
 * taken instead of CUBIN), "--std=c++17", "-DMX_GROUP=64" and their like. No headers are given. */
#define MX_CUDA_NVRTC_LIST(ENTRY, OPTIONAL)                                                                            \
    ENTRY(nvrtcResult, nvrtcVersion, (int *major, int *minor))                                                         \
    ENTRY(const char *, nvrtcGetErrorString, (nvrtcResult code))                                                       \
    ENTRY(nvrtcResult, nvrtcGetNumSupportedArchs, (int *count))                                                        \
    ENTRY(nvrtcResult, nvrtcGetSupportedArchs, (int *archs)) /* ascending: 70, 75, 80 … */                           \
    ENTRY(nvrtcResult, nvrtcCreateProgram,                                                                             \
          (nvrtcProgram * out, const char *source, const char *name, int headers, const char *const *texts,            \
           const char *const *names))                                                                                  \
    ENTRY(nvrtcResult, nvrtcDestroyProgram, (nvrtcProgram * program))                                                  \
    ENTRY(nvrtcResult, nvrtcCompileProgram, (nvrtcProgram program, int count, const char *const *options))             \
    ENTRY(nvrtcResult, nvrtcGetCUBINSize, (nvrtcProgram program, size_t * bytes))                                      \
    ENTRY(nvrtcResult, nvrtcGetCUBIN, (nvrtcProgram program, char *out))                                               \
    ENTRY(nvrtcResult, nvrtcGetPTXSize, (nvrtcProgram program, size_t * bytes)) /* with the final zero */              \
    ENTRY(nvrtcResult, nvrtcGetPTX, (nvrtcProgram program, char *out))                                                 \
    ENTRY(nvrtcResult, nvrtcGetProgramLogSize, (nvrtcProgram program, size_t * bytes)) /* the same */                  \
    ENTRY(nvrtcResult, nvrtcGetProgramLog, (nvrtcProgram program, char *out))

/* ---- cuBLAS ---- */
typedef int cublasStatus_t; /* 0: fine */
typedef struct mx_cublas_handle *cublasHandle_t;

enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
};
enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum { CUBLAS_DEFAULT_MATH = 0, CUBLAS_PEDANTIC_MATH = 2 };
enum { CUDA_R_32F = 0, CUDA_R_16BF = 14 };
enum { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_PEDANTIC = 69 };
enum { CUBLAS_GEMM_DEFAULT = -1 };

/* Matrices of cublasGemmEx are column-major, leading dimensions in elements, alpha and beta floats on the host. fp32
 * products: a, b, c CUDA_R_32F with CUBLAS_COMPUTE_32F_PEDANTIC (TF32 is never used in their place). bf16: a, b
 * CUDA_R_16BF, c CUDA_R_32F, CUBLAS_COMPUTE_32F. One handle per stream, with a workspace of its own, so that sums
 * always run in the same order. */
#define MX_CUDA_CUBLAS_LIST(ENTRY, OPTIONAL)                                                                           \
    ENTRY(cublasStatus_t, cublasCreate_v2, (cublasHandle_t * out)) /* of the current context */                        \
    ENTRY(cublasStatus_t, cublasDestroy_v2, (cublasHandle_t handle))                                                   \
    ENTRY(cublasStatus_t, cublasGetVersion_v2, (cublasHandle_t handle, int *version))                                  \
    ENTRY(cublasStatus_t, cublasSetStream_v2, (cublasHandle_t handle, CUstream stream)) /* before the workspace */     \
    ENTRY(cublasStatus_t, cublasSetWorkspace_v2, (cublasHandle_t handle, void *memory, size_t bytes))                  \
    ENTRY(cublasStatus_t, cublasSetMathMode, (cublasHandle_t handle, int mode))                                        \
    ENTRY(cublasStatus_t, cublasGemmEx,                                                                                \
          (cublasHandle_t handle, int transpose_a, int transpose_b, int m, int n, int k, const void *alpha,            \
           const void *a, int a_type, int lda, const void *b, int b_type, int ldb, const void *beta, void *c,          \
           int c_type, int ldc, int compute, int algorithm))

/* ---- NVML ---- */
typedef int nvmlReturn_t; /* 0: fine */
typedef struct mx_nvml_device *nvmlDevice_t;

#define NVML_ERROR_LIB_RM_VERSION_MISMATCH 18

struct mx_nvml_utilization { /* nvmlUtilization_t */
    unsigned gpu, memory;    /* per cent of the last sample period */
};
struct mx_nvml_memory { /* nvmlMemory_t, the first version */
    unsigned long long total_bytes, free_bytes, used_bytes;
};

#define MX_CUDA_NVML_LIST(ENTRY, OPTIONAL)                                                                             \
    ENTRY(nvmlReturn_t, nvmlInit_v2, (void))                                                                           \
    ENTRY(nvmlReturn_t, nvmlShutdown, (void))                                                                          \
    ENTRY(nvmlReturn_t, nvmlDeviceGetHandleByPciBusId_v2, (const char *bus, nvmlDevice_t *out))                        \
    ENTRY(nvmlReturn_t, nvmlDeviceGetUtilizationRates, (nvmlDevice_t device, struct mx_nvml_utilization * out))        \
    ENTRY(nvmlReturn_t, nvmlDeviceGetMemoryInfo, (nvmlDevice_t device, struct mx_nvml_memory * out))                   \
    OPTIONAL(nvmlReturn_t, nvmlSystemGetDriverVersion, (char *text, unsigned bytes)) /* "535.104.05" */

/* ---- the table ---- */
struct mx_cuda_api {
#define MX_CUDA_MEMBER(result, symbol, parameters) result(*symbol) parameters;
    MX_CUDA_DRIVER_LIST(MX_CUDA_MEMBER, MX_CUDA_MEMBER)
    MX_CUDA_NVRTC_LIST(MX_CUDA_MEMBER, MX_CUDA_MEMBER)
    MX_CUDA_CUBLAS_LIST(MX_CUDA_MEMBER, MX_CUDA_MEMBER)
    MX_CUDA_NVML_LIST(MX_CUDA_MEMBER, MX_CUDA_MEMBER)
#undef MX_CUDA_MEMBER
    int driver_version;   /* 12040 is 12.4 */
    int nvrtc_version;    /* the same way */
    char driver_text[32]; /* the kernel driver's version from NVML, "" without it */
    bool present;         /* a driver is there, and does not say that it has no device */
    bool graphs;          /* all entry points for graphs are there */
    bool nvml;            /* NVML is there and started */
};

/* Loads everything and starts the driver and NVML. MX_ERR_NO_DEVICE if the driver is missing, too old, or has no
 * device, or if NVRTC or cuBLAS is missing; each case has its own message and hint. */
int mx_cuda_api_load(struct mx_cuda_api *api);
void mx_cuda_api_close(struct mx_cuda_api *api); /* stops NVML */

/* "CUDA_ERROR_LAUNCH_FAILED"; thread-local text for a code that the driver does not know. */
const char *mx_cuda_error_name(const struct mx_cuda_api *api, CUresult code);
/* Whether the device or its context is unusable after this result. */
bool mx_cuda_lost(CUresult code);
/* The MX_ERR_ code for a failed call, with a message "what: CUDA_ERROR_…" and a hint. */
int mx_cuda_fail(const struct mx_cuda_api *api, CUresult code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* In functions with `int rc` and the label `out`: calls an entry point of the driver. */
#define MX_CUDA_TRY(api, call, ...)                                                                                    \
    do {                                                                                                               \
        const CUresult cuda_code = (call);                                                                             \
        if (cuda_code != CUDA_SUCCESS) {                                                                               \
            rc = mx_cuda_fail((api), cuda_code, __VA_ARGS__);                                                          \
            goto out;                                                                                                  \
        }                                                                                                              \
    } while (0)

#endif
