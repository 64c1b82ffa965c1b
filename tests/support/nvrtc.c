/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See nvrtc.h.
 */
#include "support/nvrtc.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_MAX 16
#define ARCHS_MAX   256

/* ---- where it is ---- */

static bool loads(const char *path)
{
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library != NULL; /* it stays: the caller is going to load it */
}

/* The one of PyPI. */
static bool installed_find(struct nvrtc_place *out)
{
    glob_t found;
    if (glob("venv/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12", GLOB_NOSORT, NULL, &found) != 0)
        return false;
    snprintf(out->path, sizeof out->path, "%s", found.gl_pathv[0]);
    globfree(&found);
    out->installed = true;
    return loads(out->path);
}

bool nvrtc_place_find(struct nvrtc_place *out)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};
    const char *const given = getenv("MYXTTS_CUDA_NVRTC");
    const char *const roots[] = {"", getenv("CUDA_HOME"), "/usr/local/cuda"};
    *out = (struct nvrtc_place){0};
    if (given && *given) {
        snprintf(out->path, sizeof out->path, "%s", given);
        return loads(given);
    }
    for (size_t r = 0; r < sizeof roots / sizeof *roots; r++)
        for (size_t n = 0; roots[r] && n < sizeof names / sizeof *names; n++) {
            snprintf(out->path, sizeof out->path, "%s%s%s", roots[r], roots[r][0] ? "/lib64/" : "", names[n]);
            if (!loads(out->path)) continue;
            if (roots[r][0]) snprintf(out->tools, sizeof out->tools, "%s/bin", roots[r]);
            return true;
        }
    return installed_find(out);
}

/* ---- what it does ---- */

bool nvrtc_load(struct nvrtc *out, const char *path)
{
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    bool whole = library != NULL;
#define TAKE(result, symbol, parameters)                                                                               \
    if (whole) *(void **)&out->symbol = dlsym(library, #symbol);                                                       \
    whole = whole && out->symbol;
    MX_CUDA_NVRTC_LIST(TAKE, TAKE)
#undef TAKE
    return whole && out->nvrtcVersion(&out->major, &out->minor) == NVRTC_SUCCESS;
}

int nvrtc_archs(const struct nvrtc *nvrtc, int out[], int room)
{
    int count = 0, all[ARCHS_MAX];
    if (nvrtc->nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS || count > ARCHS_MAX ||
        nvrtc->nvrtcGetSupportedArchs(all) != NVRTC_SUCCESS)
        return 0;
    if (count > room) count = room;
    memcpy(out, all, (size_t)count * sizeof *out);
    return count;
}

char *nvrtc_compile(const struct nvrtc *nvrtc, const char *source, int arch, int count, const char *const *options,
                    char *log, size_t bytes)
{
    char target[64], *ptx = NULL;
    const char *given[OPTIONS_MAX] = {target};
    int used = 1;
    size_t size = 0;
    nvrtcProgram program;
    snprintf(target, sizeof target, "--gpu-architecture=compute_%d", arch);
    for (int i = 0; i < count && used < OPTIONS_MAX; i++)
        if (strncmp(options[i], "--gpu-architecture", 18) != 0) given[used++] = options[i];
    if (nvrtc->nvrtcCreateProgram(&program, source, "kernels.cu", 0, NULL, NULL) != NVRTC_SUCCESS) {
        snprintf(log, bytes, "NVRTC makes no program");
        return NULL;
    }
    if (nvrtc->nvrtcCompileProgram(program, used, given) == NVRTC_SUCCESS &&
        nvrtc->nvrtcGetPTXSize(program, &size) == NVRTC_SUCCESS) {
        ptx = calloc(size + 1, 1);
        nvrtc->nvrtcGetPTX(program, ptx);
    } else if (nvrtc->nvrtcGetProgramLogSize(program, &size) == NVRTC_SUCCESS) {
        char *const whole = calloc(size + 1, 1);
        nvrtc->nvrtcGetProgramLog(program, whole);
        snprintf(log, bytes, "%s", whole);
        free(whole);
    }
    nvrtc->nvrtcDestroyProgram(&program);
    return ptx;
}
