/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rules of the driver and of cuBLAS, from NVIDIA's documentation. First the double (tests/double) is called as they
 * forbid: it must tell, or tests on it would show nothing. Then the backend meets what they allow: access in one
 * direction only, devices chosen by name, parts of devices, kernels that need too many registers, meters that do not
 * start. That the backend itself keeps the rules is shown by all tests on the double, which must see no fault.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "myxtts/error.h"
#include "support/accelerator.h"
#include "support/cuda_rig.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS CUDA_RIG_WORDS
#define OK    CUDA_OK
#define told  cuda_rig_told

enum { WRONG_THREAD = 908, NOT_SUPPORTED = 15, BLAS_INVALID = 7 };

/* ---- captures ---- */

static void capture_begin(const struct cuda_rig *rig)
{
    OK(rig->api.cuStreamBeginCapture_v2(rig->streams[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}

/* The call before must have spoiled the capture. */
static void capture_is_spoiled(const struct cuda_rig *rig)
{
    CUgraph graph;
    assert_int_equal(rig->api.cuStreamEndCapture(rig->streams[0], &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_null(graph);
}

/* What waits, takes or gives back memory or loads code is forbidden to the thread that captures. */
static void test_calls_in_a_capture(void **state)
{
    struct cuda_rig *const rig = *state;
    const struct mx_cuda_api *const api = &rig->api;
    const CUresult no = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    CUdeviceptr memory;
    CUfunction function;
    CUmodule module;
    CUevent event;
    cublasHandle_t blas;
    void *host;
    int most;
    char *const image = cuda_rig_image(api);
    OK(api->cuEventCreate(&event, 0));
    OK(api->cuEventRecord(event, rig->streams[0]));
    OK(api->cuEventSynchronize(event));
    assert_int_equal(api->cublasCreate_v2(&blas), CUBLAS_STATUS_SUCCESS);
#define FORBIDDEN(call, code)                                                                                          \
    do {                                                                                                               \
        capture_begin(rig);                                                                                            \
        told(rig, (call), (code), "captures a stream");                                                                \
        capture_is_spoiled(rig);                                                                                       \
    } while (0)
    FORBIDDEN(api->cuMemAlloc_v2(&memory, 64), no);
    FORBIDDEN(api->cuMemFree_v2(rig->memory[0]), no);
    FORBIDDEN(api->cuMemHostAlloc(&host, 64, 0), no);
    FORBIDDEN(api->cuMemFreeHost(rig->pinned), no);
    FORBIDDEN(api->cuEventQuery(event), no);
    FORBIDDEN(api->cuEventSynchronize(event), no);
    FORBIDDEN(api->cuStreamSynchronize(rig->streams[1]), no);
    FORBIDDEN(api->cuModuleLoadDataEx(&module, image, 0, NULL, NULL), no);
    FORBIDDEN(api->cuModuleGetFunction(&function, rig->module, "mx_fill"), no);
    FORBIDDEN(api->cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, rig->scale), no);
    FORBIDDEN(api->cuModuleUnload(rig->module), no);
    FORBIDDEN(api->cuCtxEnablePeerAccess(rig->contexts[1], 0), no);
    FORBIDDEN(api->cublasCreate_v2(&blas), CUBLAS_STATUS_NOT_INITIALIZED);
    capture_begin(rig);
    assert_int_equal(api->cublasDestroy_v2(blas), CUBLAS_STATUS_SUCCESS);
    told(rig, 0, 0, "captures a stream");
    capture_is_spoiled(rig);
    /* Another thread may do all that meanwhile: the mode is that of one thread; here it is this one, afterwards. */
    OK(api->cuStreamSynchronize(rig->streams[1]));
    OK(api->cuEventDestroy_v2(event));
    free(image);
}

struct other_thread {
    const struct cuda_rig *rig;
    CUresult end, alloc, free;
};

static void *other_run(void *context)
{
    struct other_thread *const other = context;
    const struct mx_cuda_api *const api = &other->rig->api;
    CUgraph graph;
    CUdeviceptr memory = 0;
    api->cuCtxSetCurrent(other->rig->contexts[0]);
    other->alloc = api->cuMemAlloc_v2(&memory, 64);
    other->free = api->cuMemFree_v2(memory);
    other->end = api->cuStreamEndCapture(other->rig->streams[0], &graph);
    return NULL;
}

static void test_threads_and_captures(void **state)
{
    struct cuda_rig *const rig = *state;
    struct other_thread other = {.rig = rig};
    pthread_t thread;
    CUgraph graph;
    capture_begin(rig);
    assert_int_equal(pthread_create(&thread, NULL, other_run, &other), 0);
    pthread_join(thread, NULL);
    OK(other.alloc); /* captures of other threads are nobody's business */
    OK(other.free);
    told(rig, other.end, WRONG_THREAD, "in another thread");
    OK(rig->api.cuStreamEndCapture(rig->streams[0], &graph));
    OK(rig->api.cuGraphDestroy(graph));
    told(rig, rig->api.cuStreamEndCapture(rig->streams[0], &graph), CUDA_ERROR_INVALID_VALUE, "without a capture");
}

/* A kernel that was only looked up is loaded at its first launch. */
static void test_kernels_load_lazily(void **state)
{
    struct cuda_rig *const rig = *state;
    const struct mx_cuda_api *const api = &rig->api;
    CUdeviceptr memory = rig->memory[0];
    long long distance = 0, count = 1;
    float factor = 1;
    int most = 0;
    void *parameters[] = {&memory, &distance, &count, &factor};
    CUgraph graph;
#define SCALE api->cuLaunchKernel(rig->scale, 1, 1, 1, 256, 1, 1, 0, rig->streams[0], parameters, NULL)
    capture_begin(rig);
    told(rig, SCALE, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "mx_scale is loaded in a capture");
    capture_is_spoiled(rig);
    OK(api->cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, rig->scale));
    assert_int_equal(most, 1024);
    capture_begin(rig);
    OK(SCALE);
    OK(api->cuStreamEndCapture(rig->streams[0], &graph));
    OK(api->cuGraphDestroy(graph));
    rig->cuda->set("threads_most", 128);
    told(rig, SCALE, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "256 lanes, of which the device runs 128");
}

/* ---- memory, devices, events, processes ---- */

static void test_pinned_memory(void **state)
{
    struct cuda_rig *const rig = *state;
    const struct mx_cuda_api *const api = &rig->api;
    rig->cuda->set("hold", 1);
    OK(api->cuMemcpyHtoDAsync_v2(rig->memory[0], rig->pinned, 64, rig->streams[0]));
    told(rig, api->cuMemFreeHost(rig->pinned), CUDA_ERROR_INVALID_VALUE, "queued work still uses");
    OK(api->cuStreamSynchronize(rig->streams[0]));
}

/* Access is given in one direction, and only where the machine has it. */
static void test_peers(void **state)
{
    struct cuda_rig *const rig = *state;
    const struct mx_cuda_api *const api = &rig->api;
    int can = 1;
    rig->cuda->set("peer", 2);
    OK(api->cuDeviceCanAccessPeer(&can, 1, 0));
    assert_int_equal(can, 0);
    OK(api->cuDeviceCanAccessPeer(&can, 0, 1));
    assert_int_equal(can, 1);
    OK(api->cuMemcpyPeerAsync(rig->memory[1], rig->contexts[1], rig->memory[0], rig->contexts[0], 64, rig->streams[0]));
    OK(api->cuStreamSynchronize(rig->streams[0]));
    told(rig, 0, 0, "of which none was given access");
    rig->cuda->set("peer", 2);
    OK(api->cuCtxSetCurrent(rig->contexts[1]));
    told(rig, api->cuCtxEnablePeerAccess(rig->contexts[0], 0), 217, "between devices that cannot");
    rig->cuda->set("peer", 2);
    OK(api->cuCtxSetCurrent(rig->contexts[0]));
    OK(api->cuCtxEnablePeerAccess(rig->contexts[1], 0));
    assert_int_equal(api->cuCtxEnablePeerAccess(rig->contexts[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    OK(cuda_rig_fill(rig, rig->memory[1], WORDS, 7)); /* a kernel of the first on memory of the second */
    OK(api->cuMemcpyPeerAsync(rig->memory[1], rig->contexts[1], rig->memory[0], rig->contexts[0], 64, rig->streams[0]));
    OK(api->cuStreamSynchronize(rig->streams[0]));
    assert_string_equal(rig->cuda->faults(), "");
}

/* A stream may wait for an event of another device, and any thread for any event; times are those of one device. */
static void test_events_of_two_devices(void **state)
{
    struct cuda_rig *const rig = *state;
    const struct mx_cuda_api *const api = &rig->api;
    CUevent here, there;
    float ms = 0;
    OK(api->cuEventCreate(&here, 0));
    OK(api->cuEventRecord(here, rig->streams[0]));
    OK(api->cuCtxSetCurrent(rig->contexts[1]));
    OK(api->cuEventCreate(&there, 0));
    OK(api->cuEventRecord(there, rig->streams[1]));
    OK(api->cuStreamWaitEvent(rig->streams[1], here, 0));
    OK(api->cuEventSynchronize(here));
    OK(api->cuEventSynchronize(there));
    told(rig, api->cuEventElapsedTime(&ms, here, there), CUDA_ERROR_INVALID_HANDLE, "events of two devices");
    OK(api->cuEventDestroy_v2(here));
    OK(api->cuEventDestroy_v2(there));
}

/* Every call on a context answers with what broke it, cuBLAS's, too; a process that is forked has no CUDA. */
static void test_errors_stay(void **state)
{
    struct cuda_rig *const rig = *state;
    const struct mx_cuda_api *const api = &rig->api;
    const CUresult broken = CUDA_ERROR_MISALIGNED_ADDRESS;
    size_t left, all;
    CUevent event;
    cublasHandle_t blas;
    assert_int_equal(api->cublasCreate_v2(&blas), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(api->cublasSetStream_v2(blas, rig->streams[0]), CUBLAS_STATUS_SUCCESS);
    rig->cuda->set("run_code", broken);
    rig->cuda->set("fail_run", 1);
    OK(cuda_rig_fill(rig, rig->memory[0], 1, 7));
    assert_int_equal(api->cuStreamSynchronize(rig->streams[0]), broken);
    assert_int_equal(api->cuMemGetInfo_v2(&left, &all), broken);
    assert_int_equal(api->cuEventCreate(&event, 0), broken);
    assert_int_equal(api->cuMemFree_v2(rig->memory[0]), broken);
    assert_int_equal(api->cuStreamWaitEvent(rig->streams[0], NULL, 0), broken);
    const float one = 1;
    assert_int_equal(api->cublasGemmEx(blas, 0, 0, 1, 1, 1, &one, NULL, 0, 1, NULL, 0, 1, &one, NULL, 0, 1, 68, -1),
                     CUBLAS_STATUS_EXECUTION_FAILED);
    assert_int_equal(api->cublasDestroy_v2(blas), CUBLAS_STATUS_SUCCESS);
    assert_string_equal(rig->cuda->faults(), "");
    const pid_t child = fork();
    if (child == 0) {
        int count;
        _exit(api->cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED &&
                      strstr(rig->cuda->faults(), "in a forked process")
                  ? 0
                  : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- cuBLAS ---- */

/* A product of 2 × 3 × 4, by its arguments. */
enum { TA, TB, A_TYPE, LDA, B_TYPE, LDB, C_TYPE, LDC, COMPUTE, ALGORITHM, A_AT, C_AT, ARGUMENTS };
static const int plain[ARGUMENTS] = {
    [LDA] = 2, [LDB] = 4, [LDC] = 2, [COMPUTE] = CUBLAS_COMPUTE_32F_PEDANTIC, [ALGORITHM] = CUBLAS_GEMM_DEFAULT};

static int product_try(const struct cuda_rig *rig, cublasHandle_t blas, const int p[ARGUMENTS])
{
    const float one = 1, zero = 0;
    char *const memory = (char *)(uintptr_t)rig->memory[0];
    return rig->api.cublasGemmEx(blas, p[TA], p[TB], 2, 3, 4, &one, memory + p[A_AT], p[A_TYPE], p[LDA], memory + 512,
                                 p[B_TYPE], p[LDB], &zero, memory + 1024 + p[C_AT], p[C_TYPE], p[LDC], p[COMPUTE],
                                 p[ALGORITHM]);
}

static const struct {
    struct {
        int argument, value; /* value 0: no change */
    } changes[4];
    int code;
    const char *words;
} wrong_products[] = {
    {{{LDA, 1}}, BLAS_INVALID, "leading dimensions 1, 4, 2"},
    {{{TA, 1}}, BLAS_INVALID, "leading dimensions 2, 4, 2"},
    {{{LDB, 3}}, BLAS_INVALID, "leading dimensions 2, 3, 2"},
    {{{TB, 1}, {LDB, 2}}, BLAS_INVALID, "leading dimensions 2, 2, 2"},
    {{{LDC, 1}}, BLAS_INVALID, "leading dimensions 2, 4, 1"},
    {{{TA, 3}}, BLAS_INVALID, "transpositions 3 and 0"},
    {{{ALGORITHM, 99}}, BLAS_INVALID, "algorithm 99"},
    {{{A_AT, 2}}, BLAS_INVALID, "not aligned to its elements"},
    {{{C_AT, 1}}, BLAS_INVALID, "not aligned to its elements"},
    {{{B_TYPE, CUDA_R_16BF}}, NOT_SUPPORTED, "types 0, 14 and 0"},
    {{{A_TYPE, CUDA_R_16BF}, {B_TYPE, CUDA_R_16BF}, {C_TYPE, 2}, {COMPUTE, CUBLAS_COMPUTE_32F}},
     NOT_SUPPORTED,
     "types 14, 14 and 2 do not go with"},
    {{{C_TYPE, CUDA_R_16BF}}, NOT_SUPPORTED, "types 0, 0 and 14 do not go with"},
    {{{COMPUTE, 70}}, NOT_SUPPORTED, "types 0, 0 and 0 do not go with compute type 70"},
    {{{COMPUTE, 77}}, NOT_SUPPORTED, "types that were not announced"}, /* TF32 */
};

static void test_products(void **state)
{
    struct cuda_rig *const rig = *state;
    const struct mx_cuda_api *const api = &rig->api;
    cublasHandle_t blas;
    CUdeviceptr workspace;
    assert_int_equal(api->cublasCreate_v2(&blas), 0);
    told(rig, api->cublasSetStream_v2(blas, rig->streams[1]), BLAS_INVALID, "a stream of another device");
    assert_int_equal(api->cublasSetStream_v2(blas, rig->streams[0]), 0);
    told(rig, product_try(rig, blas, plain), CUBLAS_STATUS_EXECUTION_FAILED, "without a workspace of the stream");
    OK(api->cuMemAlloc_v2(&workspace, 4096));
    told(rig, api->cublasSetWorkspace_v2(blas, (void *)(uintptr_t)(workspace + 128), 1024), BLAS_INVALID,
         "not aligned to 256");
    assert_int_equal(api->cublasSetWorkspace_v2(blas, (void *)(uintptr_t)workspace, 4096), 0);
    assert_int_equal(product_try(rig, blas, plain), 0);
    for (size_t i = 0; i < sizeof wrong_products / sizeof *wrong_products; i++) {
        int changed[ARGUMENTS];
        memcpy(changed, plain, sizeof changed);
        for (int k = 0; k < 4; k++)
            if (wrong_products[i].changes[k].value != 0)
                changed[wrong_products[i].changes[k].argument] = wrong_products[i].changes[k].value;
        told(rig, product_try(rig, blas, changed), wrong_products[i].code, wrong_products[i].words);
    }
    OK(api->cuCtxSetCurrent(rig->contexts[1]));
    told(rig, product_try(rig, blas, plain), CUBLAS_STATUS_EXECUTION_FAILED, "not of one context");
    OK(api->cuCtxSetCurrent(rig->contexts[0]));
    /* In a capture, and without what the workspace was. */
    CUgraph graph;
    capture_begin(rig);
    assert_int_equal(product_try(rig, blas, plain), 0);
    OK(api->cuStreamEndCapture(rig->streams[0], &graph));
    OK(api->cuGraphDestroy(graph));
    OK(api->cuStreamSynchronize(rig->streams[0]));
    OK(api->cuMemFree_v2(workspace));
    told(rig, product_try(rig, blas, plain), CUBLAS_STATUS_EXECUTION_FAILED, "not any more");
    assert_int_equal(api->cublasDestroy_v2(blas), 0);
}

/* ---- modules ---- */

/* An unknown instruction is reported with its line, here as by the driver's compiler. */
static void test_unknown_instructions(void **state)
{
    struct cuda_rig *const rig = *state;
    CUmodule module;
    static const char *const image = "cuda double: cubin sm_80 of NVRTC 12080\nmx_fill\n\nPTX\n"
                                     ".version 8.0\n.target sm_80\n.address_size 64\n"
                                     ".visible .entry mx_fill()\n.maxntid 256\n{\nfrobnicate.u32 1;\nret;\n}\n";
    told(rig, rig->api.cuModuleLoadDataEx(&module, image, 0, NULL, NULL), CUDA_ERROR_INVALID_PTX,
         "line 7: unknown instruction 'frobnicate.u32'");
}

/* ---- the backend ---- */

/* Where the devices of a machine reach each other in one direction only, copies go through the host, both ways. */
static void test_backend_peers(void **state)
{
    (void)state;
    struct cuda_pair pair;
    const struct cuda_double *const cuda = cuda_double_use("");
    uint32_t words[256], back[256];
    cuda->set("peer", 2);
    assert_int_equal(cuda_open(&pair, 2), 0);
    struct mx_stream *const stream = stream_make(pair.devices[0]);
    struct mx_buffer *const here = buffer_make(pair.devices[0], 2 * sizeof words), *const there = buffer_make(
                                                                                       pair.devices[1], sizeof words);
    for (uint32_t i = 0; i < 256; i++) words[i] = i * 2654435761u;
    assert_int_equal(mx_copy_upload(stream, mx_slice_at(here, 0), words, sizeof words), 0);
    assert_int_equal(mx_copy_slices(stream, mx_slice_at(there, 0), mx_slice_at(here, 0), sizeof words), 0);
    assert_int_equal(mx_copy_slices(stream, mx_slice_at(here, sizeof words), mx_slice_at(there, 0), sizeof words), 0);
    assert_int_equal(mx_copy_download(stream, back, mx_slice_at(here, sizeof words), sizeof words), 0);
    assert_int_equal(mx_stream_sync(stream), 0);
    assert_memory_equal(words, back, sizeof words);
    assert_int_equal(cuda->get("peer_copies"), 0);
    mx_stream_release(stream);
    mx_buffer_release(here);
    mx_buffer_release(there);
    cuda_close(&pair);
    cuda_assert_clean(cuda);
}

/* The bus of the first visible device; "" if there is none. */
static const char *first_visible(const char *visible)
{
    static char bus[24];
    struct mx_registry *registry;
    const struct mx_registry_options options = {.devices = {"cuda:0"}, .device_count = 1};
    setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    bus[0] = '\0';
    if (mx_registry_open(NULL, &options, &registry) == 0) {
        snprintf(bus, sizeof bus, "%s", mx_registry_device(registry, 0)->pci_bus);
        mx_registry_close(registry);
    }
    unsetenv("CUDA_VISIBLE_DEVICES");
    return bus;
}

static void test_backend_names(void **state)
{
    (void)state;
    char whole[64], part[64];
    const struct cuda_double *const cuda = cuda_double_use("");
    struct mx_device_load load;
    struct cuda_pair pair;
    cuda->set("devices", 4);
    snprintf(whole, sizeof whole, DOUBLE_UUID, "GPU", 'c');
    assert_string_equal(first_visible(whole), "0000:43:00.0");
    assert_string_equal(first_visible("GPU-b,0"), "0000:42:00.0");
    assert_string_equal(first_visible("GPU-"), ""); /* of several */
    assert_string_equal(first_visible("GPU-f00"), "");
    assert_non_null(strstr(mx_error_last()->message, "CUDA_VISIBLE_DEVICES is \"GPU-f00\""));
    assert_non_null(strstr(mx_error_last()->hint, "nvidia-smi -L"));
    /* Parts of divided devices: one of them, and the driver does not measure it. */
    cuda->set("mig", 1);
    snprintf(part, sizeof part, DOUBLE_UUID, "MIG", 'b');
    assert_string_equal(first_visible(whole), "");
    assert_string_equal(first_visible(part), "0000:42:00.0");
    setenv("CUDA_VISIBLE_DEVICES", part, 1);
    assert_true(cuda_open(&pair, 2) < 0);
    assert_non_null(strstr(mx_error_last()->message, "1 device"));
    assert_int_equal(cuda_open(&pair, 1), 0);
    assert_int_equal(mx_device_load(pair.devices[0], &load), MX_ERR_UNSUPPORTED);
    cuda_close(&pair);
    unsetenv("CUDA_VISIBLE_DEVICES");
    cuda_assert_clean(cuda);
}

/* A kernel that needs more registers than the device has for its lanes, found when the device is opened. */
static void test_backend_registers(void **state)
{
    (void)state;
    struct cuda_pair pair;
    const struct cuda_double *const cuda = cuda_double_use("");
    cuda->set("threads_most", 128);
    assert_int_equal(cuda_open(&pair, 1), MX_ERR_UNSUPPORTED);
    assert_non_null(strstr(mx_error_last()->message, "needs 256 threads, and this device can run 128 of it"));
    assert_non_null(strstr(mx_error_last()->hint, "choose another device"));
    cuda_assert_clean(cuda);
}

/* NVRTC of a later generation than the driver, which a variable names, or a device of a later one than both: what is
 * built cannot be loaded. */
static void test_backend_versions(void **state)
{
    (void)state;
    struct cuda_pair pair;
    const struct cuda_double *const cuda = cuda_double_use("");
    cuda->set("nvrtc_version", 13000);
    assert_int_equal(cuda_open(&pair, 1), MX_ERR_DEVICE);
    assert_non_null(strstr(mx_error_last()->message, "the driver (CUDA 12.8) does not take what NVRTC 13.0 builds"));
    assert_non_null(strstr(mx_error_last()->hint, "NVRTC of the driver's generation"));
    cuda->reset();
    cuda->set("capability", 121); /* later than NVRTC: PTX, whose instructions the driver does not know */
    cuda->set("load_code", CUDA_ERROR_INVALID_PTX);
    cuda->set("fail_load", 1);
    assert_int_equal(cuda_open(&pair, 1), MX_ERR_DEVICE);
    assert_non_null(strstr(mx_error_last()->message, "does not take what NVRTC 12.8 builds (CUDA_ERROR_INVALID_PTX)"));
    cuda_assert_clean(cuda);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, cuda_rig_open, cuda_rig_close)
    const struct CMUnitTest tests[] = {
        TEST(test_calls_in_a_capture),
        TEST(test_threads_and_captures),
        TEST(test_kernels_load_lazily),
        TEST(test_pinned_memory),
        TEST(test_peers),
        TEST(test_events_of_two_devices),
        TEST(test_errors_stay),
        TEST(test_products),
        TEST(test_unknown_instructions),
        cmocka_unit_test(test_backend_peers),
        cmocka_unit_test(test_backend_names),
        cmocka_unit_test(test_backend_registers),
        cmocka_unit_test(test_backend_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
