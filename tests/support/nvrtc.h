/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where the real NVRTC is: $MYXTTS_CUDA_NVRTC, or libnvrtc.so.13, .12, .11.2 where the loader looks, then in lib64 of
 * $CUDA_HOME and /usr/local/cuda, then libnvrtc.so.12 in the folder venv here, where scripts/nvrtc.sh puts it.
 */
#ifndef MX_TESTS_SUPPORT_NVRTC_H
#define MX_TESTS_SUPPORT_NVRTC_H

#include <stdbool.h>

struct nvrtc_place {
    char path[1024];
    char tools[1024]; /* the folder of the ptxas that belongs to it; "": not known */
    bool installed;   /* from the folder venv */
};
/* false: there is none that can be loaded. */
bool nvrtc_place_find(struct nvrtc_place *out);

#endif
