/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See nvrtc.h.
 */
#include "support/nvrtc.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

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
