/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The real NVRTC, for the setting `ptx` (double.h): what it makes of a source is executed by the PTX machine.
 *
 * Memory: the library stays loaded; texts are the caller's.
 */
#include "inside.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_MAX 16

struct nvrtc {
#define MEMBER(result, symbol, parameters) result(*symbol) parameters;
    MX_CUDA_NVRTC_LIST(MEMBER, MEMBER)
#undef MEMBER
};

static struct nvrtc real;
static bool found;

static bool take(const char *path)
{
    /* Its functions have the names of ours, which nobody else sees: whoever loads the double keeps them local. */
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    bool whole = library != NULL;
#define TAKE(result, symbol, parameters)                                                                               \
    if (whole) *(void **)&real.symbol = dlsym(library, #symbol);                                                       \
    whole = whole && real.symbol;
    MX_CUDA_NVRTC_LIST(TAKE, TAKE)
#undef TAKE
    return whole;
}

static void find(void)
{
    const char *const path = getenv("CUDA_DOUBLE_NVRTC");
    found = path && *path && take(path);
}

bool nvrtc_real(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    return found;
}

int nvrtc_real_version(void)
{
    int major = 0, minor = 0;
    if (nvrtc_real()) real.nvrtcVersion(&major, &minor);
    return 1000 * major + 10 * minor;
}

int nvrtc_real_archs(int out[], int room)
{
    int count = 0, all[256];
    if (!nvrtc_real() || real.nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS || count > 256) return 0;
    real.nvrtcGetSupportedArchs(all);
    if (count > room) count = room;
    memcpy(out, all, (size_t)count * sizeof *out);
    return count;
}

char *nvrtc_real_compile(const char *source, int arch, int count, const char *const *options, char *log, size_t bytes)
{
    char target[64], *ptx = NULL;
    const char *given[OPTIONS_MAX] = {target};
    int used = 1;
    size_t size = 0;
    nvrtcProgram program;
    snprintf(target, sizeof target, "--gpu-architecture=compute_%d", arch);
    for (int i = 0; i < count && used < OPTIONS_MAX; i++)
        if (strncmp(options[i], "--gpu-architecture", 18) != 0) given[used++] = options[i];
    if (real.nvrtcCreateProgram(&program, source, "kernels.cu", 0, NULL, NULL) != NVRTC_SUCCESS) return NULL;
    if (real.nvrtcCompileProgram(program, used, given) == NVRTC_SUCCESS &&
        real.nvrtcGetPTXSize(program, &size) == NVRTC_SUCCESS) {
        ptx = calloc(size + 1, 1);
        real.nvrtcGetPTX(program, ptx);
    } else if (real.nvrtcGetProgramLogSize(program, &size) == NVRTC_SUCCESS) {
        char *const whole = calloc(size + 1, 1);
        real.nvrtcGetProgramLog(program, whole);
        snprintf(log, bytes, "%s", whole);
        free(whole);
    }
    real.nvrtcDestroyProgram(&program);
    return ptx;
}
