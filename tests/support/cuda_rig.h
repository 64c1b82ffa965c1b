/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The double of CUDA (tests/double), called entry point by entry point as the backend calls them, or wrongly: two
 * contexts, the first of which is current, with a stream and some memory each, and the kernels for the first.
 *
 * Memory: everything goes with cuda_rig_close, which works on contexts that were lost, too.
 */
#ifndef MX_TESTS_SUPPORT_CUDA_RIG_H
#define MX_TESTS_SUPPORT_CUDA_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/cuda/cuda_api.h"
#include "support/cuda.h"

#define CUDA_RIG_WORDS 1024

struct cuda_rig {
    const struct cuda_double *cuda;
    struct mx_cuda_api api;
    CUcontext contexts[2];
    CUstream streams[2];
    CUdeviceptr memory[2];
    CUmodule module;
    CUfunction fill, scale; /* only the first is loaded */
    unsigned *pinned;
};

#define CUDA_OK(call) assert_int_equal((call), CUDA_SUCCESS)

/* Of a cmocka test, whose state it is. */
int cuda_rig_open(void **state);
int cuda_rig_close(void **state);

/* The last call was answered with `code`, and told as a fault with these words. */
void cuda_rig_told(struct cuda_rig *rig, int got, int code, const char *words);
/* Fills `count` words with `bits` by a kernel. */
CUresult cuda_rig_fill(struct cuda_rig *rig, CUdeviceptr memory, long long count, unsigned bits);
/* What NVRTC builds of the kernels for compute capability 8.0; the caller frees it. */
char *cuda_rig_image(const struct mx_cuda_api *api);

#endif
