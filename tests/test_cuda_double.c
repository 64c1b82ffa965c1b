/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The double of CUDA itself (tests/double): what it must refuse and tell, without which tests on it would show nothing.
 * Entry points are called as the backend calls them, but wrongly.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "support/cuda_rig.h"

#include <stdlib.h>
#include <string.h>

#define WORDS CUDA_RIG_WORDS
#define OK    CUDA_OK
#define told  cuda_rig_told
#define fill  cuda_rig_fill

/* AddressSanitizer ends a test that writes outside of its memory by itself. */
#if defined(__has_feature)
static const bool watched = __has_feature(address_sanitizer);
#elif defined(__SANITIZE_ADDRESS__)
static const bool watched = true;
#else
static const bool watched = false;
#endif

static void test_works(void **state)
{
    struct cuda_rig *const rig = *state;
    const struct mx_cuda_api *const api = &rig->api;
    OK(fill(rig, rig->memory[0], WORDS, 7));
    OK(api->cuMemcpyDtoHAsync_v2(rig->pinned, rig->memory[0], WORDS * 4, rig->streams[0]));
    OK(api->cuStreamSynchronize(rig->streams[0]));
    for (int i = 0; i < WORDS; i++) assert_int_equal(rig->pinned[i], 7);
    assert_int_equal(rig->cuda->get("faults"), 0);
    assert_int_equal(rig->cuda->get("pageable"), 0);
}

static void test_addresses(void **state)
{
    struct cuda_rig *const rig = *state;
    const struct mx_cuda_api *const api = &rig->api;
    CUdeviceptr other;
    const CUdeviceptr own = rig->memory[0];
    told(rig, api->cuMemcpyHtoDAsync_v2(own + 4, rig->pinned, WORDS * 4, rig->streams[0]), CUDA_ERROR_INVALID_VALUE,
         "more bytes than the memory has");
    told(rig, api->cuMemcpyHtoDAsync_v2(own - 4, rig->pinned, 8, rig->streams[0]), CUDA_ERROR_INVALID_VALUE,
         "no device memory");
    told(rig, api->cuMemcpyHtoDAsync_v2((CUdeviceptr)(uintptr_t)rig->pinned, rig->pinned, 8, rig->streams[0]),
         CUDA_ERROR_INVALID_VALUE, "no device memory");
    told(rig, api->cuMemcpyDtoHAsync_v2(rig->pinned, rig->memory[1], 8, rig->streams[0]), CUDA_ERROR_INVALID_VALUE,
         "memory of another device");
    told(rig, api->cuMemcpyDtoDAsync_v2(own + 8, own, 16, rig->streams[0]), CUDA_ERROR_INVALID_VALUE, "onto itself");
    told(rig, api->cuMemsetD32Async(own, 0, WORDS + 1, rig->streams[0]), CUDA_ERROR_INVALID_VALUE, "more bytes");
    told(rig, api->cuMemFree_v2(own + 512), CUDA_ERROR_INVALID_VALUE, "no cuMemAlloc gave");
    told(rig, api->cuMemFree_v2(rig->memory[1]), CUDA_ERROR_INVALID_VALUE, "another context");
    OK(api->cuMemAlloc_v2(&other, 64));
    OK(api->cuMemFree_v2(other));
    told(rig, api->cuMemFree_v2(other), CUDA_ERROR_INVALID_VALUE, "a second time");
    told(rig, api->cuMemcpyHtoDAsync_v2(other, rig->pinned, 8, rig->streams[0]), CUDA_ERROR_INVALID_VALUE,
         "not any more");
    told(rig, api->cuMemFreeHost(&other), CUDA_ERROR_INVALID_VALUE, "no cuMemHostAlloc gave");
    /* While work waits its memory must stay. */
    rig->cuda->set("hold", 1);
    OK(api->cuMemsetD32Async(own, 0, WORDS, rig->streams[0]));
    told(rig, api->cuMemFree_v2(own), CUDA_ERROR_INVALID_VALUE, "queued work still uses");
    OK(api->cuStreamSynchronize(rig->streams[0]));
}

/* A kernel with a wrong address fails when it runs, and the context with it, for good. */
static void test_kernel_addresses(void **state)
{
    struct cuda_rig *const rig = *state;
    const struct mx_cuda_api *const api = &rig->api;
    OK(fill(rig, rig->memory[1], WORDS, 7));
    told(rig, api->cuStreamSynchronize(rig->streams[0]), CUDA_ERROR_ILLEGAL_ADDRESS,
         "mx_fill: memory of another device");
    CUdeviceptr more;
    assert_int_equal(api->cuMemAlloc_v2(&more, 64), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(fill(rig, rig->memory[0], WORDS, 7), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(api->cuCtxSetCurrent(rig->contexts[1])); /* the other one lives */
    OK(api->cuMemsetD32Async(rig->memory[1], 0, WORDS, rig->streams[1]));
    OK(api->cuStreamSynchronize(rig->streams[1]));
}

/* What a kernel writes after its memory is detected when the memory is released. */
static void test_kernel_bounds(void **state)
{
    struct cuda_rig *const rig = *state;
    if (watched) skip();
    CUdeviceptr small;
    OK(rig->api.cuMemAlloc_v2(&small, 64));
    OK(fill(rig, small, 17, 7));
    OK(rig->api.cuStreamSynchronize(rig->streams[0]));
    told(rig, rig->api.cuMemFree_v2(small), CUDA_SUCCESS, "was written outside");
}

static void test_handles(void **state)
{
    struct cuda_rig *const rig = *state;
    const struct mx_cuda_api *const api = &rig->api;
    CUstream stream;
    CUevent event;
    OK(api->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(api->cuStreamDestroy_v2(stream));
    told(rig, api->cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE, "not alive");
    told(rig, api->cuStreamSynchronize(NULL), CUDA_ERROR_INVALID_HANDLE, "not alive");
    OK(api->cuEventCreate(&event, 0));
    told(rig, api->cuStreamSynchronize((CUstream)event), CUDA_ERROR_INVALID_HANDLE, "of another kind");
    told(rig, api->cuEventRecord(event, rig->streams[1]), CUDA_ERROR_INVALID_HANDLE, "different contexts");
    OK(api->cuEventDestroy_v2(event));
    told(rig, api->cuEventRecord(event, rig->streams[0]), CUDA_ERROR_INVALID_HANDLE, "not alive");
    OK(api->cuCtxSetCurrent(rig->contexts[1]));
    told(rig, fill(rig, rig->memory[0], WORDS, 7), CUDA_ERROR_INVALID_HANDLE, "not of one context");
    OK(api->cuCtxSetCurrent(NULL));
    told(rig, api->cuMemAlloc_v2(&rig->memory[0], 64), CUDA_ERROR_INVALID_CONTEXT, "without a context");
    OK(api->cuCtxSetCurrent(rig->contexts[0]));
}

static void test_memory_ends(void **state)
{
    struct cuda_rig *const rig = *state;
    const struct mx_cuda_api *const api = &rig->api;
    size_t left = 0, all = 0;
    CUdeviceptr most, more;
    OK(api->cuMemGetInfo_v2(&left, &all));
    assert_true(all == (size_t)1 << 30 && left < all);
    OK(api->cuMemAlloc_v2(&most, left));
    assert_int_equal(api->cuMemAlloc_v2(&more, 1), CUDA_ERROR_OUT_OF_MEMORY);
    OK(api->cuMemFree_v2(most));
    rig->cuda->set("fail_alloc", 2);
    OK(api->cuMemAlloc_v2(&more, 64));
    assert_int_equal(api->cuMemAlloc_v2(&most, 64), CUDA_ERROR_OUT_OF_MEMORY);
    OK(api->cuMemFree_v2(more));
    assert_int_equal(rig->cuda->get("faults"), 0);
}

/* Work is really still to be done after its call, and events know. */
static void test_asynchronous(void **state)
{
    struct cuda_rig *const rig = *state;
    const struct mx_cuda_api *const api = &rig->api;
    CUevent event;
    OK(api->cuEventCreate(&event, 0));
    OK(api->cuEventQuery(event));
    rig->cuda->set("hold", 1);
    rig->pinned[0] = 5;
    OK(api->cuMemcpyHtoDAsync_v2(rig->memory[0], rig->pinned, 4, rig->streams[0]));
    OK(api->cuEventRecord(event, rig->streams[0]));
    assert_int_equal(api->cuEventQuery(event), CUDA_ERROR_NOT_READY);
    OK(api->cuStreamWaitEvent(rig->streams[1], event, 0));
    rig->cuda->set("hold", 0);
    OK(api->cuEventSynchronize(event));
    OK(api->cuEventQuery(event));
    OK(api->cuStreamSynchronize(rig->streams[1]));
    /* Pageable memory may be used again at once; it is counted. */
    unsigned word = 9, back = 0;
    OK(api->cuMemcpyHtoDAsync_v2(rig->memory[0], &word, 4, rig->streams[0]));
    word = 0;
    OK(api->cuMemcpyDtoHAsync_v2(&back, rig->memory[0], 4, rig->streams[0]));
    assert_int_equal(back, 9);
    assert_int_equal(rig->cuda->get("pageable"), 2);
    OK(api->cuEventDestroy_v2(event));
}

static void test_captures(void **state)
{
    struct cuda_rig *const rig = *state;
    const struct mx_cuda_api *const api = &rig->api;
    CUgraph graph = NULL;
    CUgraphExec exec;
    CUdeviceptr memory;
    OK(api->cuStreamBeginCapture_v2(rig->streams[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    told(rig, api->cuMemAlloc_v2(&memory, 64), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "captures a stream");
    assert_int_equal(api->cuStreamEndCapture(rig->streams[0], &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_null(graph);
    OK(api->cuMemAlloc_v2(&memory, WORDS * 4));
    OK(api->cuMemsetD32Async(memory, 1, WORDS, rig->streams[0]));
    OK(api->cuStreamBeginCapture_v2(rig->streams[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(fill(rig, memory, WORDS, 7));
    OK(api->cuStreamEndCapture(rig->streams[0], &graph));
    OK(api->cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(api->cuGraphDestroy(graph));
    OK(api->cuMemcpyDtoHAsync_v2(rig->pinned, memory, 4, rig->streams[0]));
    OK(api->cuStreamSynchronize(rig->streams[0]));
    assert_int_equal(rig->pinned[0], 1); /* captured, not done */
    OK(api->cuGraphLaunch(exec, rig->streams[0]));
    OK(api->cuMemcpyDtoHAsync_v2(rig->pinned, memory, 4, rig->streams[0]));
    OK(api->cuStreamSynchronize(rig->streams[0]));
    assert_int_equal(rig->pinned[0], 7);
    /* A graph that names memory which is gone. */
    OK(api->cuMemFree_v2(memory));
    OK(api->cuGraphLaunch(exec, rig->streams[0]));
    told(rig, api->cuStreamSynchronize(rig->streams[0]), CUDA_ERROR_ILLEGAL_ADDRESS, "not any more");
    OK(api->cuGraphExecDestroy(exec));
}

static void test_images(void **state)
{
    struct cuda_rig *const rig = *state;
    const struct mx_cuda_api *const api = &rig->api;
    CUmodule module;
    CUfunction function;
    char *const image = cuda_rig_image(api);
    rig->cuda->set("capability", 90);
    assert_int_equal(api->cuModuleLoadDataEx(&module, image, 0, NULL, NULL), CUDA_ERROR_NO_BINARY_FOR_GPU);
    rig->cuda->set("capability", 86);
    OK(api->cuModuleLoadDataEx(&module, image, 0, NULL, NULL));
    told(rig, api->cuModuleGetFunction(&function, module, "mx_none"), CUDA_ERROR_NOT_FOUND, "mx_none");
    OK(api->cuModuleUnload(module));
    image[0] = 'x';
    assert_int_equal(api->cuModuleLoadDataEx(&module, image, 0, NULL, NULL), CUDA_ERROR_INVALID_IMAGE);
    free(image);
}

static void test_lost(void **state)
{
    struct cuda_rig *const rig = *state;
    const struct mx_cuda_api *const api = &rig->api;
    rig->cuda->set("lost_device", 0);
    assert_int_equal(api->cuStreamSynchronize(rig->streams[0]), CUDA_ERROR_ECC_UNCORRECTABLE);
    rig->cuda->set("lost_device", -1);
    assert_int_equal(fill(rig, rig->memory[0], 1, 0), CUDA_ERROR_ECC_UNCORRECTABLE); /* stays */
    OK(api->cuCtxSetCurrent(rig->contexts[1]));
    OK(api->cuStreamSynchronize(rig->streams[1]));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, cuda_rig_open, cuda_rig_close)
    const struct CMUnitTest tests[] = {
        TEST(test_works),   TEST(test_addresses),   TEST(test_kernel_addresses), TEST(test_kernel_bounds),
        TEST(test_handles), TEST(test_memory_ends), TEST(test_asynchronous),     TEST(test_captures),
        TEST(test_images),  TEST(test_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
