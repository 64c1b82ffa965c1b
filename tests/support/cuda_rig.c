/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See cuda_rig.h.
 */
#include "support/cuda_rig.h"

#include "device/kernels/launch.h"

#include <stdlib.h>
#include <string.h>

char *cuda_rig_image(const struct mx_cuda_api *api)
{
    static const char *const options[] = {"--gpu-architecture=sm_80", "-DMX_GROUP=64", "-DMX_WIDE=256"};
    nvrtcProgram program;
    size_t bytes = 0;
    CUDA_OK(api->nvrtcCreateProgram(&program, (const char *)mx_kernel_source, "kernels.cu", 0, NULL, NULL));
    CUDA_OK(api->nvrtcCompileProgram(program, 3, options));
    CUDA_OK(api->nvrtcGetCUBINSize(program, &bytes));
    char *const image = malloc(bytes);
    CUDA_OK(api->nvrtcGetCUBIN(program, image));
    CUDA_OK(api->nvrtcDestroyProgram(&program));
    return image;
}

int cuda_rig_open(void **state)
{
    static struct cuda_rig rig;
    const struct mx_cuda_api *const api = &rig.api;
    void *pinned;
    int most;
    *state = &rig;
    rig.cuda = cuda_double_use("");
    CUDA_OK(mx_cuda_api_load(&rig.api));
    for (int i = 1; i >= 0; i--) {
        CUDA_OK(api->cuDevicePrimaryCtxRetain(&rig.contexts[i], i));
        CUDA_OK(api->cuCtxSetCurrent(rig.contexts[i]));
        CUDA_OK(api->cuStreamCreate(&rig.streams[i], CU_STREAM_NON_BLOCKING));
        CUDA_OK(api->cuMemAlloc_v2(&rig.memory[i], CUDA_RIG_WORDS * 4));
    }
    char *const image = cuda_rig_image(api);
    CUDA_OK(api->cuModuleLoadDataEx(&rig.module, image, 0, NULL, NULL));
    free(image);
    CUDA_OK(api->cuModuleGetFunction(&rig.fill, rig.module, "mx_fill"));
    CUDA_OK(api->cuModuleGetFunction(&rig.scale, rig.module, "mx_scale"));
    CUDA_OK(api->cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, rig.fill));
    CUDA_OK(api->cuMemHostAlloc(&pinned, CUDA_RIG_WORDS * 4, CU_MEMHOSTALLOC_PORTABLE));
    rig.pinned = pinned;
    memset(rig.pinned, 0, CUDA_RIG_WORDS * 4);
    return 0;
}

int cuda_rig_close(void **state)
{
    struct cuda_rig *const rig = *state;
    const struct mx_cuda_api *const api = &rig->api;
    for (int i = 1; i >= 0; i--) {
        CUDA_OK(api->cuCtxSetCurrent(rig->contexts[i]));
        api->cuStreamDestroy_v2(rig->streams[i]);
        api->cuMemFree_v2(rig->memory[i]);
    }
    api->cuMemFreeHost(rig->pinned);
    api->cuModuleUnload(rig->module);
    for (int i = 0; i < 2; i++) CUDA_OK(api->cuDevicePrimaryCtxRelease_v2(i));
    mx_cuda_api_close(&rig->api);
    rig->cuda->reset();
    cuda_assert_clean(rig->cuda);
    return 0;
}

void cuda_rig_told(struct cuda_rig *rig, int got, int code, const char *words)
{
    if (got != code) fail_msg("%d instead of %d", got, code);
    if (!strstr(rig->cuda->faults(), words)) fail_msg("'%s' does not say '%s'", rig->cuda->faults(), words);
    rig->cuda->reset();
}

CUresult cuda_rig_fill(struct cuda_rig *rig, CUdeviceptr memory, long long count, unsigned bits)
{
    long long distance = 0;
    void *parameters[] = {&memory, &distance, &count, &bits};
    return rig->api.cuLaunchKernel(rig->fill, (unsigned)(count + 255) / 256, 1, 1, 256, 1, 1, 0, rig->streams[0],
                                   parameters, NULL);
}
