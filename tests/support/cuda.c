/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See cuda.h. The cache of kernels lies in a folder below the working folder of the tests.
 */
#include "support/cuda.h"

#include "myxtts/error.h"
#include "support/nvrtc.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void *entry(void *library, const char *name)
{
    void *const found = dlsym(library, name);
    if (!found) fail_msg("%s", dlerror());
    return found;
}

static void cache_redirect(void)
{
    char folder[4096], path[4200];
    if (!getcwd(folder, sizeof folder)) return;
    snprintf(path, sizeof path, "%s/cuda-cache", folder);
    mkdir(path, 0777);
    setenv("MYXTTS_CACHE", path, 1);
}

const struct cuda_double *cuda_double_use(const char *kind)
{
    static struct cuda_double given;
    static const char *const variables[] = {"MYXTTS_CUDA_DRIVER", "MYXTTS_CUDA_NVRTC", "MYXTTS_CUDA_CUBLAS",
                                            "MYXTTS_CUDA_NVML", "MYXTTS_CUDA_NCCL"};
    char path[4096];
    snprintf(path, sizeof path, "%s/libcuda_double%s.so", MX_DOUBLE_FOLDER, kind);
    struct nvrtc_place nvrtc;
    const bool real = getenv("CUDA_DOUBLE_PTX") && nvrtc_place_find(&nvrtc); /* before it is hidden behind the double */
    if (real && !getenv("CUDA_DOUBLE_NVRTC")) setenv("CUDA_DOUBLE_NVRTC", nvrtc.path, 1);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) setenv(variables[i], path, 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    cache_redirect();
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL); /* stays: the backend keeps it, too */
    if (!library) fail_msg("%s", dlerror());
    given.set = (int (*)(const char *, long))entry(library, "double_set");
    given.get = (long (*)(const char *))entry(library, "double_get");
    given.reset = (void (*)(void))entry(library, "double_reset");
    given.faults = (const char *(*)(void))entry(library, "double_faults");
    given.nvrtc_version = (int (*)(void))entry(library, "double_nvrtc_version");
    given.mutate = (void (*)(const struct double_mutation *))entry(library, "double_mutate");
    given.ptx_run = (int (*)(const struct double_program *, char *, size_t))entry(library, "double_ptx_run");
    given.reset();
    if (given.get("ptx") != 0 && given.nvrtc_version() == 0) {
        fprintf(stderr, "skipped: NVRTC was not found (libnvrtc.so.13, .12 or .11.2)\n");
        exit(77);
    }
    return &given;
}

int cuda_open(struct cuda_pair *pair, int count)
{
    int rc = 0;
    const struct mx_registry_options options = {.devices = {"cuda:0", "cuda:1"}, .device_count = count};
    *pair = (struct cuda_pair){0};
    MX_TRY(mx_registry_open(NULL, &options, &pair->registry));
    for (int i = 0; i < count; i++) MX_TRY(mx_registry_device_open(pair->registry, i, 0, &pair->devices[i]));
out:
    if (rc < 0) cuda_close(pair);
    return rc;
}

void cuda_close(struct cuda_pair *pair)
{
    for (int i = 0; i < CUDA_DEVICES_MAX; i++) mx_device_close(pair->devices[i]);
    mx_registry_close(pair->registry);
    *pair = (struct cuda_pair){0};
}

void cuda_assert_clean(const struct cuda_double *cuda)
{
    static const char *const alive[] = {"contexts", "buffers", "bytes",  "pinned", "streams",
                                        "events",   "modules", "graphs", "handles"};
    if (cuda->get("faults") > 0) fail_msg("%s", cuda->faults());
    for (size_t i = 0; i < sizeof alive / sizeof *alive; i++)
        if (cuda->get(alive[i]) != 0) fail_msg("%ld %s of CUDA are alive", cuda->get(alive[i]), alive[i]);
}
