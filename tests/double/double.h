/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A test double of CUDA: one shared object with the entry points of the driver, NVRTC, cuBLAS and NVML that the CUDA
 * backend uses (src/device/cuda/cuda_api.h), and of NCCL (src/dist/nccl.h), and with what tests say to it, below.
 * Devices are host memory; streams are threads; kernels are the sources of src/device/kernels, compiled as C. What a
 * program does wrong is answered with the error that CUDA would give, and counted as a fault with a line of text, also
 * where CUDA would let it pass.
 *
 * Settings are numbers with names. Each begins with the value of the environment variable CUDA_DOUBLE_<NAME>, or the
 * default below, and may be changed at any time by double_set. "nth" counts from the moment of setting, and the setting
 * is 0 again after it struck. CUDA_VISIBLE_DEVICES is obeyed as CUDA does, with numbers and with the beginnings of names;
 * the device n of the machine is DOUBLE_UUID with 'a' + n in it. CUDA_DOUBLE_REPORT names a file that gets
 * all totals and faults when the process ends.
 *
 * With the setting `ptx`, NVRTC is the real one, $CUDA_DOUBLE_NVRTC. Kernels are then executed from what it makes, and every access to device memory
 * is watched; what the machine finds is a fault. Set it before the first device is opened.
 *
 * Memory: nothing of the double's is the caller's. Threads: all functions may be called from any thread.
 */
#ifndef MX_TESTS_DOUBLE_DOUBLE_H
#define MX_TESTS_DOUBLE_DOUBLE_H

#include <stddef.h>

#define DOUBLE_UUID "%s-%cd0b1e00-5eed-4c0d-8a7e-000000000000" /* "GPU", or "MIG" with the setting `mig` */

/* X(name, default) */
#define DOUBLE_SETTINGS(X)                                                                                             \
    X(devices, 2)            /* of the machine */                                                                      \
    X(memory_mib, 1024)      /* of each device */                                                                      \
    X(driver_version, 12080) /* 12.8 */                                                                                \
    X(nvrtc_version, 12080)                                                                                            \
    X(capability, 80)      /* of all devices: 8.0 */                                                                   \
    X(compute_mode, 0)     /* of all devices; 2: prohibited */                                                         \
    X(peer, 1)             /* whether devices reach each other's memory; 2: only that of those with higher numbers */  \
    X(mig, 0)              /* 1: devices are parts of such, of which a program sees one */                             \
    X(threads_most, 1024)  /* of a block, for the registers of any kernel */                                           \
    X(init_code, 0)        /* what cuInit returns, unless there is no device */                                        \
    X(hold, 0)             /* 1: streams do nothing until it is 0 again */                                             \
    X(delay_us, 0)         /* before each thing that a stream does */                                                  \
    X(compile_ms, 0)       /* that NVRTC takes */                                                                      \
    X(fail_alloc, 0)       /* the nth cuMemAlloc finds no memory */                                                    \
    X(fail_pinned, 0)      /* the nth cuMemHostAlloc finds no memory */                                                \
    X(fail_launch, 0)      /* the nth cuLaunchKernel is refused */                                                     \
    X(launch_code, 701)    /* what it returns */                                                                       \
    X(fail_run, 0)         /* the nth thing that a stream does fails, and the context with it */                       \
    X(fail_device, -1)     /* count only streams of this device; -1: of all */                                         \
    X(run_code, 700)       /* what it fails with */                                                                    \
    X(fail_gemm, 0)        /* the nth cublasGemmEx is refused */                                                       \
    X(fail_load, 0)        /* the nth cuModuleLoadDataEx is refused */                                                 \
    X(load_code, 222)      /* what it returns */                                                                       \
    X(fail_compile, 0)     /* the nth nvrtcCompileProgram finds an error in the source */                              \
    X(fail_capture, 0)     /* the nth cuStreamEndCapture finds the capture invalid */                                  \
    X(nccl_version, 22809) /* 2.28.9 */                                                                                \
    X(fail_sum, 0)         /* the nth ncclAllReduce is refused */                                                      \
    X(broken_sum, 0)       /* the nth sum never ends, and ncclCommGetAsyncError tells of a network that is gone */     \
    X(lost_device, -1)     /* this device of the machine is lost from now on */                                        \
    X(lost_code, 214)      /* what its calls return */                                                                 \
    X(nvml_code, 0)        /* what nvmlInit returns */                                                                 \
    X(utilisation, 37)     /* per cent that NVML tells */                                                              \
    X(backwards, 0)        /* lanes of a group run from the last to the first: what kernels compute must not change */ \
    X(ptx, 0)              /* 1: the real NVRTC compiles kernels, and a machine executes its PTX (ptx.h) */            \
    X(ptx_seed, 1)         /* of the order of groups and lanes */                                                      \
    X(ptx_bound, 0)        /* error of approximations: the largest downwards (-1) or upwards (1), or none */

/* Totals; double_get knows them by the same names. */
#define DOUBLE_TOTALS(X)                                                                                               \
    X(contexts) /* alive now, as the next eight */                                                                     \
    X(buffers)                                                                                                         \
    X(bytes)                                                                                                           \
    X(pinned)                                                                                                          \
    X(streams)                                                                                                         \
    X(events)                                                                                                          \
    X(modules)                                                                                                         \
    X(graphs)   /* and executable ones */                                                                              \
    X(handles)  /* of cuBLAS, programs of NVRTC, communicators of NCCL */                                              \
    X(launches) /* so far, as all below */                                                                             \
    X(executed) /* launches that the PTX machine did */                                                                \
    X(gemms)                                                                                                           \
    X(sums) /* of NCCL */                                                                                              \
    X(copies)                                                                                                          \
    X(peer_copies)                                                                                                     \
    X(pageable) /* copies from or to host memory that is not pinned */                                                 \
    X(compiles)                                                                                                        \
    X(graph_launches)                                                                                                  \
    X(graph_nodes) /* of all graph launches */                                                                         \
    X(updates)     /* graphs updated instead of rebuilt */                                                             \
    X(leaks)       /* objects alive when their context went */                                                         \
    X(faults)

#define DOUBLE_EXPORT __attribute__((visibility("default")))

/* 0, or -1 if there is no such setting. */
DOUBLE_EXPORT int double_set(const char *name, long value);
/* Of a setting or a total; -1 if there is no such name. */
DOUBLE_EXPORT long double_get(const char *name);
/* All settings as they were at first, and all totals "so far" 0. */
DOUBLE_EXPORT void double_reset(void);
/* What was done wrong since the last reset, a line each; "" if nothing. Valid until the next call. */
DOUBLE_EXPORT const char *double_faults(void);

/* ---- the PTX machine ---- */

/* Of the real NVRTC, 13000 for 13.0; 0: it was not found. */
DOUBLE_EXPORT int double_nvrtc_version(void);

/* A fault planted in what NVRTC made: in the nth line of an entry that contains `with`, the first `from` after it
 * becomes `to`. */
struct double_mutation {
    const char *entry, *with;
    int nth;
    const char *from, *to;
};
/* For modules that are loaded from now on; NULL: none. The texts must stay. */
DOUBLE_EXPORT void double_mutate(const struct double_mutation *mutation);

#define DOUBLE_PROGRAM_ADDRESS 0x00d1000000000000ull

/* An entry with one parameter, the address of `memory`. */
struct double_program {
    const char *text, *entry;
    unsigned groups;
    void *memory;
    size_t bytes, written; /* of it, and those at its begin that count as written */
    unsigned long seed;
    int bound;
};
/* 0, or -1 with a message. */
DOUBLE_EXPORT int double_ptx_run(const struct double_program *program, char *error, size_t bytes);

#endif
