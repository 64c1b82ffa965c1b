/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The real NVRTC for tests: where it is, and how a source becomes PTX. test_nvrtc asks it directly; the double of CUDA
 * (tests/double) is one of its users when kernels are executed as PTX.
 *
 * It is $MYXTTS_CUDA_NVRTC, or libnvrtc.so.13, .12, .11.2 where the loader looks, then in lib64 of $CUDA_HOME and
 * /usr/local/cuda, then libnvrtc.so.12 in the folder venv here, where scripts/build/nvrtc.sh puts it.
 *
 * Memory: a library stays loaded; texts are the caller's.
 */
#ifndef MX_TESTS_SUPPORT_NVRTC_H
#define MX_TESTS_SUPPORT_NVRTC_H

#include <stdbool.h>
#include <stddef.h>

#include "device/cuda/cuda_api.h"

struct nvrtc_place {
    char path[1024];
    char tools[1024]; /* the folder of the ptxas that belongs to it; "": not known */
    bool installed;   /* from the folder venv */
};
/* false: there is none that can be loaded. */
bool nvrtc_place_find(struct nvrtc_place *out);

struct nvrtc {
#define MX_NVRTC_MEMBER(result, symbol, parameters) result(*symbol) parameters;
    MX_CUDA_NVRTC_LIST(MX_NVRTC_MEMBER, MX_NVRTC_MEMBER)
#undef MX_NVRTC_MEMBER
    int major, minor;
};
/* false: the library cannot be loaded, or lacks an entry point. */
bool nvrtc_load(struct nvrtc *out, const char *path);
/* The generations of GPUs that it knows, ascending; returns how many. */
int nvrtc_archs(const struct nvrtc *nvrtc, int out[], int room);
/* PTX for a generation; other options for a generation among `options` are left out. NULL with what the compiler says. */
char *nvrtc_compile(const struct nvrtc *nvrtc, const char *source, int arch, int count, const char *const *options,
                    char *log, size_t bytes);

#endif
