/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA devices on the double (tests/double): what is found and what is not, with its message; contexts, renumbering,
 * buffers and limits, pinned memory, copies with and without peer access, events, built kernels on the disk, lost
 * devices. Operations are in test_cuda_ops.c and test_cuda_products.c, recorded work and training in test_cuda_graph.c.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/alloc.h"
#include "base/clock.h"
#include "device/cuda/cuda_api.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "myxtts/ops.h"
#include "support/accelerator.h"
#include "support/cuda.h"
#include "support/graph.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void opened(struct cuda_pair *pair, int count)
{
    if (cuda_open(pair, count) < 0) fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
}

/* ---- what is found ---- */

static void test_info(void **state)
{
    (void)state;
    struct cuda_pair pair;
    const struct cuda_double *const cuda = cuda_double_use("");
    opened(&pair, 2);
    const struct mx_device_info *const info = mx_device_info(pair.devices[1]);
    assert_string_equal(info->backend, "cuda");
    assert_string_equal(info->name, "Double B");
    assert_string_equal(info->pci_bus, "0000:42:00.0");
    assert_int_equal(info->kind, MX_DEVICE_GPU);
    assert_true(info->memory_bytes == UINT64_C(1) << 30);
    assert_false(info->caps.host_visible);
    assert_true(info->caps.bf16_multiply && info->caps.peer_copy && info->caps.pinned_host && info->caps.event_times);
    assert_true(info->caps.graphs && info->caps.bf16_fast);
    assert_string_equal(info->bf16_by, "tensor cores");
    assert_string_equal(mx_device_logical(pair.devices[1]), "GPU:1");
    cuda_close(&pair);
    cuda->set("capability", 75);
    cuda->set("peer", 0);
    opened(&pair, 1);
    assert_false(mx_device_info(pair.devices[0])->caps.bf16_multiply ||
                 mx_device_info(pair.devices[0])->caps.bf16_fast);
    assert_string_equal(mx_device_info(pair.devices[0])->bf16_by, "");
    assert_false(mx_device_info(pair.devices[0])->caps.peer_copy);
    assert_non_null(strstr(mx_device_info(pair.devices[0])->bf16_missing, "7.5"));
    cuda_close(&pair);
    cuda_assert_clean(cuda);
}

/* What the status of the backend says; the hint must hold `hint`. */
static void refused(const char *reason, const char *hint)
{
    struct mx_registry *registry;
    struct mx_backend_status status = {0};
    assert_int_equal(mx_registry_open(NULL, NULL, &registry), 0);
    for (int i = 0; i < mx_registry_backend_count(registry); i++) {
        mx_registry_backend(registry, i, &status);
        if (strcmp(status.name, "cuda") == 0) break;
    }
    mx_registry_close(registry);
    assert_string_equal(status.name, "cuda");
    assert_true(status.compiled);
    assert_false(status.available);
    if (!strstr(status.reason, reason)) fail_msg("'%s' does not say '%s'", status.reason, reason);
    if (!strstr(status.hint, hint)) fail_msg("'%s' does not say '%s'", status.hint, hint);
}

static void test_missing(void **state)
{
    (void)state;
    const struct cuda_double *cuda = cuda_double_use("");
    cuda->set("driver_version", 11040);
    refused("too old: it has CUDA 11.4, 11.8 is needed", "520");
    cuda->reset();
    cuda->set("devices", 0);
    refused("but no device for it", "nvidia-smi");
    cuda->reset();
    setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    refused("because CUDA_VISIBLE_DEVICES is \"-1\"", "unset CUDA_VISIBLE_DEVICES");
    unsetenv("CUDA_VISIBLE_DEVICES");
    cuda->set("capability", 61);
    refused("Double A (0000:41:00.0) is too old: it has compute capability 6.1, 7.0 is needed", "Volta");
    cuda->reset();
    cuda->set("memory_mib", 512);
    refused("too little memory: 512 MiB, 1.00 GiB is needed", "more memory");
    cuda->reset();
    cuda->set("compute_mode", 2);
    refused("closed to programs", "--compute-mode=DEFAULT");
    cuda->reset();
    cuda->set("init_code", CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
    refused("different versions", "start the machine again");
    cuda->set("init_code", CUDA_ERROR_STUB_LIBRARY);
    refused("stub library", "stubs");
    cuda->set("init_code", CUDA_ERROR_UNKNOWN);
    refused("does not start", "nvidia-smi");
    cuda->reset();
    setenv("MYXTTS_CUDA_CUBLAS", "/nonexistent/libcublas.so.12", 1);
    refused("/nonexistent/libcublas.so.12, which MYXTTS_CUDA_CUBLAS names, cannot be loaded", "unset the variable");
    setenv("MYXTTS_CUDA_NVRTC", "/nonexistent/libnvrtc.so.12", 1);
    refused("/nonexistent/libnvrtc.so.12, which MYXTTS_CUDA_NVRTC names, cannot be loaded", "unset the variable");
    setenv("MYXTTS_CUDA_DRIVER", "/nonexistent/libcuda.so.1", 1);
    refused("/nonexistent/libcuda.so.1, which MYXTTS_CUDA_DRIVER names, cannot be loaded", "unset the variable");
    cuda = cuda_double_use("_old");
    refused("has no nvrtcGet", "NVRTC");
}

/* Without variables the names of the installed libraries are tried: none has a library of this folder. */
static void test_names(void **state)
{
    (void)state;
    const struct cuda_double *const cuda = cuda_double_use("");
    if (access("/usr/local/cuda/lib64/libnvrtc.so.12", R_OK) == 0) skip();
    setenv("CUDA_HOME", "/nonexistent", 1);
    unsetenv("MYXTTS_CUDA_NVRTC");
    cuda->set("driver_version", 12000); /* a newer NVRTC than the driver's generation does not count */
    struct mx_cuda_api api;
    if (mx_cuda_api_load(&api) == 0) { /* this machine has one where the loader finds it */
        mx_cuda_api_close(&api);
        skip();
    }
    assert_non_null(strstr(mx_error_last()->message, "NVRTC, which builds the kernels, is not"));
    assert_non_null(strstr(mx_error_last()->hint, "MYXTTS_CUDA_NVRTC"));
    unsetenv("CUDA_HOME");
}

/* Entry points that may be missing: no graphs, no version of the driver in words. */
static void test_plain(void **state)
{
    (void)state;
    struct cuda_pair pair;
    const struct cuda_double *const cuda = cuda_double_use("_plain");
    opened(&pair, 1);
    assert_false(mx_device_info(pair.devices[0])->caps.graphs);
    struct mx_stream *const stream = stream_make(pair.devices[0]);
    assert_int_equal(mx_graph_begin(stream), MX_ERR_UNSUPPORTED);
    assert_int_equal(mx_stream_sync(stream), 0);
    mx_stream_release(stream);
    cuda_close(&pair);
    cuda_assert_clean(cuda);
}

/* cuda:0 is the first that CUDA_VISIBLE_DEVICES names, GPU:0 the first that the selection names. */
static void test_renumbering(void **state)
{
    (void)state;
    const struct cuda_double *const cuda = cuda_double_use("");
    struct mx_registry *registry;
    struct mx_device *device;
    cuda->set("devices", 4);
    setenv("CUDA_VISIBLE_DEVICES", "3,1", 1);
    const struct mx_registry_options options = {.devices = {"cuda:1", "cuda:0"}, .device_count = 2};
    assert_int_equal(mx_registry_open(NULL, &options, &registry), 0);
    assert_string_equal(mx_registry_device(registry, 0)->pci_bus, "0000:42:00.0");
    assert_string_equal(mx_registry_device(registry, 1)->pci_bus, "0000:44:00.0");
    assert_int_equal(mx_registry_device_open(registry, 0, 0, &device), 0);
    assert_string_equal(mx_device_name(device), "cuda:1");
    assert_string_equal(mx_device_logical(device), "GPU:0");
    assert_string_equal(mx_device_info(device)->name, "Double B");
    mx_device_close(device);
    mx_registry_close(registry);
    const struct mx_registry_options third = {.devices = {"cuda:2"}, .device_count = 1};
    assert_int_equal(mx_registry_open(NULL, &third, &registry), MX_ERR_NO_DEVICE);
    assert_non_null(strstr(mx_error_last()->message, "backend cuda has 2 devices"));
    unsetenv("CUDA_VISIBLE_DEVICES");
    cuda_assert_clean(cuda);
}

/* ---- memory ---- */

static void test_limits(void **state)
{
    (void)state;
    const struct cuda_double *const cuda = cuda_double_use("");
    const struct mx_registry_options options = {.devices = {"cuda:0"}, .device_count = 1};
    struct mx_registry *registry;
    struct mx_device *device;
    struct mx_buffer *buffer;
    void *host;
    assert_int_equal(mx_registry_open(NULL, &options, &registry), 0);
    limit_holds(registry);
    /* The limit would allow it, the device does not. */
    assert_int_equal(mx_registry_device_open(registry, 0, UINT64_C(4) << 30, &device), 0);
    assert_int_equal(mx_buffer_create(device, "huge", (size_t)2 << 30, &buffer), MX_ERR_NO_MEMORY);
    assert_non_null(strstr(mx_error_last()->message, "huge"));
    assert_true(mx_budget_available(mx_device_budget(device)) == UINT64_C(4) << 30); /* nothing stays charged */
    cuda->set("fail_pinned", 1);
    assert_int_equal(mx_host_alloc(device, "pages", 4096, &host), MX_ERR_NO_MEMORY);
    assert_non_null(strstr(mx_error_last()->hint, "ulimit -l"));
    assert_int_equal(mx_host_alloc(device, "pages", 4096, &host), 0);
    mx_host_release(device, host);
    mx_device_close(device);
    /* Others have taken most of it. */
    assert_int_equal(mx_registry_device_open(registry, 0, 0, &device), 0);
    assert_int_equal(mx_buffer_create(device, "other", (size_t)800 << 20, &buffer), 0);
    struct mx_device *second;
    assert_int_equal(mx_registry_device_open(registry, 0, 0, &second), MX_ERR_NO_MEMORY);
    assert_non_null(strstr(mx_error_last()->message, "too little free memory"));
    mx_buffer_release(buffer);
    mx_device_close(device);
    mx_registry_close(registry);
    cuda_assert_clean(cuda);
}

static void test_load(void **state)
{
    (void)state;
    const struct cuda_double *const cuda = cuda_double_use("");
    struct mx_device_load load;
    struct cuda_pair pair;
    cuda->set("utilisation", 64);
    opened(&pair, 1);
    struct mx_buffer *const buffer = buffer_make(pair.devices[0], 64 << 20);
    assert_int_equal(mx_device_load(pair.devices[0], &load), 0);
    assert_true(load.busy > 0.639 && load.busy < 0.641);
    assert_true(load.memory_bytes == UINT64_C(1) << 30 && load.memory_used_bytes >= 64 << 20);
    mx_buffer_release(buffer);
    cuda_close(&pair);
    cuda->set("nvml_code", 9); /* the driver is not loaded */
    opened(&pair, 1);
    assert_int_equal(mx_device_load(pair.devices[0], &load), MX_ERR_UNSUPPORTED);
    cuda_close(&pair);
    setenv("MYXTTS_CUDA_NVML", "/nonexistent/libnvidia-ml.so.1", 1);
    opened(&pair, 1);
    assert_int_equal(mx_device_load(pair.devices[0], &load), MX_ERR_UNSUPPORTED);
    cuda_close(&pair);
    cuda_assert_clean(cuda);
}

/* ---- copies ---- */

/* Both ways between two devices, on a stream of either, ordered by events alone; more than one piece of a stage. */
static void copies_run(const struct cuda_double *cuda)
{
    enum { FLOATS = 11 << 18 }; /* 11 MiB */
    struct cuda_pair pair;
    struct mx_event *event;
    void *words = NULL;
    opened(&pair, 2);
    struct mx_device *const a = pair.devices[0], *const b = pair.devices[1];
    struct mx_stream *const on_a = stream_make(a), *const on_b = stream_make(b);
    struct mx_buffer *const first = buffer_make(a, FLOATS * 4), *const second = buffer_make(b, FLOATS * 4 + 64);
    struct mx_buffer *const third = buffer_make(a, FLOATS * 4);
    assert_int_equal(mx_host_alloc(a, "words", (size_t)FLOATS * 8, &words), 0);
    uint32_t *const word = words, *const back = word + FLOATS;
    for (uint32_t i = 0; i < FLOATS; i++) word[i] = i * 2654435761u;
    assert_int_equal(mx_event_create(a, &event), 0);
    assert_int_equal(mx_copy_upload(on_a, mx_slice_at(first, 0), word, FLOATS * 4), 0);
    assert_int_equal(mx_event_record(event, on_a), 0);
    assert_int_equal(mx_stream_wait(on_b, event), 0);
    assert_int_equal(mx_copy_slices(on_b, mx_slice_at(second, 64), mx_slice_at(first, 0), FLOATS * 4), 0);
    struct mx_event *there;
    assert_int_equal(mx_event_create(b, &there), 0);
    assert_int_equal(mx_event_record(there, on_b), 0);
    /* Back on the other's stream; then what was copied from is overwritten at once: the copy must stand before. */
    assert_int_equal(mx_stream_wait(on_a, there), 0);
    assert_int_equal(mx_copy_slices(on_a, mx_slice_at(third, 0), mx_slice_at(second, 64), FLOATS * 4), 0);
    assert_int_equal(mx_event_record(event, on_a), 0);
    assert_int_equal(mx_stream_wait(on_b, event), 0);
    assert_int_equal(mx_fill(on_b, &(struct mx_fill_args){.x = mx_slice_at(second, 0), .count = FLOATS, .value = 7}),
                     0);
    assert_int_equal(mx_copy_download(on_a, back, mx_slice_at(third, 0), FLOATS * 4), 0);
    assert_int_equal(mx_stream_sync(on_a), 0);
    assert_int_equal(mx_stream_sync(on_b), 0);
    assert_memory_equal(back, word, FLOATS * 4);
    mx_host_release(a, words);
    mx_event_release(event);
    mx_event_release(there);
    mx_stream_release(on_a);
    mx_stream_release(on_b);
    mx_buffer_release(first);
    mx_buffer_release(second);
    mx_buffer_release(third);
    cuda_close(&pair);
    cuda_assert_clean(cuda);
}

static void test_copies(void **state)
{
    (void)state;
    const struct cuda_double *const cuda = cuda_double_use("");
    copies_run(cuda);
    assert_int_equal(cuda->get("peer_copies"), 2);
    cuda->reset();
    cuda->set("peer", 0);
    cuda->set("delay_us", 300);
    copies_run(cuda);
    assert_int_equal(cuda->get("peer_copies"), 0);
    assert_true(cuda->get("copies") >= 2 + 2 * 2 * 3); /* three pieces each way, each down and up */
    assert_int_equal(cuda->get("pageable"), 0);
}

/* The route of a copy outlives the other device, and a device that is opened twice copies within itself. */
static void test_routes(void **state)
{
    (void)state;
    const struct cuda_double *const cuda = cuda_double_use("");
    struct cuda_pair pair, again;
    cuda->set("peer", 0);
    opened(&pair, 2);
    assert_false(mx_device_can_peer(pair.devices[0], pair.devices[1]));
    struct mx_stream *const stream = stream_make(pair.devices[0]);
    struct mx_buffer *const here = buffer_make(pair.devices[0], 4096), *const there =
                                                                           buffer_make(pair.devices[1], 4096);
    assert_int_equal(mx_copy_slices(stream, mx_slice_at(there, 0), mx_slice_at(here, 0), 4096), 0);
    assert_int_equal(mx_stream_sync(stream), 0);
    mx_buffer_release(there);
    mx_device_close(pair.devices[1]);
    pair.devices[1] = NULL;
    opened(&again, 1);
    assert_true(mx_device_can_peer(pair.devices[0], again.devices[0]));
    struct mx_buffer *const same = buffer_make(again.devices[0], 4096);
    assert_int_equal(mx_copy_slices(stream, mx_slice_at(same, 0), mx_slice_at(here, 0), 4096), 0);
    assert_int_equal(mx_stream_sync(stream), 0);
    mx_buffer_release(same);
    cuda_close(&again);
    mx_stream_release(stream);
    mx_buffer_release(here);
    cuda_close(&pair);
    cuda_assert_clean(cuda);
}

/* Random work on both devices, ordered by events alone, gives what the same work gives in sequence. */
static void test_orders(void **state)
{
    (void)state;
    const struct cuda_double *const cuda = cuda_double_use("");
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct cuda_pair pair;
        cuda->set("peer", seed & 1);
        cuda->set("delay_us", seed < 2 ? 50 : 0);
        opened(&pair, 2);
        if (graph_run(pair.devices, 2, seed, 150) < 0) fail_msg("%s", mx_error_last()->message);
        cuda_close(&pair);
        cuda_assert_clean(cuda);
    }
}

/* ---- streams and events ---- */

static void test_events(void **state)
{
    (void)state;
    struct cuda_pair pair;
    struct mx_event *event;
    const struct cuda_double *const cuda = cuda_double_use("");
    opened(&pair, 1);
    struct mx_stream *const stream = stream_make(pair.devices[0]), *const other = stream_make(pair.devices[0]);
    struct mx_buffer *const buffer = buffer_make(pair.devices[0], 4 << 20);
    assert_int_equal(mx_event_create(pair.devices[0], &event), 0);
    assert_true(mx_event_done(event));
    assert_true(mx_event_time_ns(event) == 0);
    assert_int_equal(mx_event_check(event), 0);
    assert_int_equal(mx_event_sync(event), 0);
    assert_int_equal(mx_stream_wait(stream, event), 0);
    const uint64_t before = mx_clock_ns();
    const struct mx_fill_args fill = {.x = mx_slice_at(buffer, 0), .count = 1 << 20, .value = 2};
    cuda->set("delay_us", 20000);
    assert_int_equal(mx_fill(stream, &fill), 0);
    assert_int_equal(mx_event_record(event, stream), 0);
    assert_false(mx_event_done(event));
    assert_int_equal(mx_event_check(event), 0);
    assert_true(mx_event_time_ns(event) == 0);
    /* A record on an idle stream follows the one before it. */
    assert_int_equal(mx_event_record(event, other), 0);
    assert_false(mx_event_done(event));
    assert_int_equal(mx_event_sync(event), 0);
    const uint64_t after = mx_clock_ns(), at = mx_event_time_ns(event), slack = 1000000;
    assert_true(mx_event_done(event));
    assert_true(at + slack >= before && at <= after + slack); /* the two clocks were compared, not made one */
    mx_event_release(event);
    mx_stream_release(other);
    mx_stream_release(stream);
    mx_buffer_release(buffer);
    cuda_close(&pair);
    cuda_assert_clean(cuda);
}

/* An id outside the table fails the stream, with the CPU backend's code, and nothing outside the table is read. */
static void test_wrong_data(void **state)
{
    (void)state;
    struct cuda_pair pair;
    const struct cuda_double *const cuda = cuda_double_use("");
    opened(&pair, 1);
    wrong_data_fail(pair.devices[0]);
    cuda_close(&pair);
    cuda_assert_clean(cuda);
}

/* What a lost device does to a stream with work: an error with a hint, events complete, everything can be released. */
static void lost_run(const struct cuda_double *cuda, const char *what, long value)
{
    struct cuda_pair pair;
    struct mx_event *event;
    opened(&pair, 2);
    struct mx_stream *const stream = stream_make(pair.devices[0]), *const other = stream_make(pair.devices[1]);
    struct mx_buffer *const buffer = buffer_make(pair.devices[0], 4096), *const fine =
                                                                             buffer_make(pair.devices[1], 4096);
    const struct mx_fill_args fill = {.x = mx_slice_at(buffer, 0), .count = 1024, .value = 1};
    assert_int_equal(mx_event_create(pair.devices[0], &event), 0);
    assert_int_equal(mx_stream_sync(stream), 0);
    assert_int_equal(mx_stream_sync(other), 0); /* so that what fails is the fill */
    assert_int_equal(cuda->set(what, value), 0);
    (void)mx_fill(stream, &fill); /* it may be reported at once, or when it is waited for */
    (void)mx_event_record(event, stream);
    assert_int_equal(mx_event_sync(event), 0);
    assert_true(mx_event_done(event));
    assert_int_equal(mx_event_check(event), MX_ERR_DEVICE); /* before anybody uses the stream again */
    if (!strstr(mx_error_last()->message, "the device is lost")) fail_msg("%s", mx_error_last()->message);
    assert_int_equal(mx_stream_sync(stream), MX_ERR_DEVICE);
    if (!strstr(mx_error_last()->message, "the device is lost")) fail_msg("%s", mx_error_last()->message);
    assert_non_null(strstr(mx_error_last()->hint, "dmesg"));
    assert_null(strstr(mx_error_last()->hint, "checkpoint")); /* whether there is one, a device cannot know */
    assert_int_equal(mx_fill(stream, &fill), MX_ERR_DEVICE);  /* it stays */
    /* The other device goes on. */
    assert_int_equal(mx_fill(other, &(struct mx_fill_args){.x = mx_slice_at(fine, 0), .count = 1024, .value = 1}), 0);
    assert_int_equal(mx_stream_sync(other), 0);
    mx_event_release(event);
    mx_stream_release(stream);
    mx_stream_release(other);
    mx_buffer_release(buffer);
    mx_buffer_release(fine);
    cuda_close(&pair);
    cuda->reset();
}

static void test_lost(void **state)
{
    (void)state;
    const struct cuda_double *const cuda = cuda_double_use("");
    lost_run(cuda, "fail_run", 1);    /* a kernel does something that it must not */
    lost_run(cuda, "lost_device", 0); /* the card fell off the bus */
}

/* A refused launch is an error of its call alone; so is a refused product. */
static void test_refused_work(void **state)
{
    (void)state;
    struct cuda_pair pair;
    const struct cuda_double *const cuda = cuda_double_use("");
    opened(&pair, 1);
    struct mx_stream *const stream = stream_make(pair.devices[0]);
    struct mx_buffer *const buffer = buffer_make(pair.devices[0], 4096);
    const struct mx_fill_args fill = {.x = mx_slice_at(buffer, 0), .count = 1024, .value = 1};
    const struct mx_matmul_args product = {.a = mx_slice_at(buffer, 0),
                                           .b = mx_slice_at(buffer, 1024),
                                           .c = mx_slice_at(buffer, 2048),
                                           .m = 8,
                                           .n = 8,
                                           .k = 8};
    cuda->set("fail_launch", 1);
    assert_int_equal(mx_fill(stream, &fill), MX_ERR_DEVICE);
    assert_non_null(strstr(mx_error_last()->message, "kernel mx_fill"));
    assert_int_equal(mx_fill(stream, &fill), 0);
    cuda->set("fail_gemm", 1);
    assert_true(mx_matmul(stream, &product) < 0);
    assert_non_null(strstr(mx_error_last()->message, "cuBLAS"));
    assert_int_equal(mx_matmul(stream, &product), 0);
    assert_int_equal(mx_stream_sync(stream), 0);
    mx_stream_release(stream);
    mx_buffer_release(buffer);
    cuda_close(&pair);
    cuda_assert_clean(cuda);
}

/* ---- kernels ---- */

static void cache_empty(void)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/kernels", getenv("MYXTTS_CACHE"));
    DIR *const folder = opendir(path);
    for (const struct dirent *file; folder && (file = readdir(folder));) {
        char whole[4600];
        snprintf(whole, sizeof whole, "%s/%s", path, file->d_name);
        if (file->d_name[0] != '.') unlink(whole);
    }
    if (folder) closedir(folder);
}

/* How often the compiler runs when a device is opened. */
static long compiles(const struct cuda_double *cuda)
{
    struct cuda_pair pair;
    const long before = cuda->get("compiles");
    opened(&pair, 1);
    cuda_close(&pair);
    return cuda->get("compiles") - before;
}

static void test_cache(void **state)
{
    (void)state;
    struct cuda_pair pair;
    char folder[64] = "cuda-cache-XXXXXX";
    const struct cuda_double *const cuda = cuda_double_use("");
    assert_non_null(mkdtemp(folder));
    setenv("MYXTTS_CACHE", folder, 1);
    assert_int_equal(compiles(cuda), 1);
    assert_int_equal(compiles(cuda), 0);
    cuda->set("capability", 86);
    assert_int_equal(compiles(cuda), 1);
    cuda->set("nvrtc_version", 12040);
    assert_int_equal(compiles(cuda), 1);
    cuda->set("driver_version", 12060);
    assert_int_equal(compiles(cuda), 1);
    assert_int_equal(compiles(cuda), 0);
    /* A file that the driver refuses is built over. */
    cuda->set("fail_load", 1);
    assert_int_equal(compiles(cuda), 1);
    assert_int_equal(compiles(cuda), 0);
    /* A device newer than the compiler: PTX. */
    cuda->set("capability", 121);
    assert_int_equal(compiles(cuda), 1);
    assert_int_equal(compiles(cuda), 0);
    /* One that the compiler no longer supports. */
    cuda->set("capability", 70);
    cuda->set("nvrtc_version", 13000);
    assert_true(cuda_open(&pair, 1) < 0);
    assert_non_null(strstr(mx_error_last()->message, "NVRTC 13.0 builds for 7.5 and later"));
    assert_non_null(strstr(mx_error_last()->hint, "CUDA 12"));
    cuda->reset();
    cache_empty();
    cuda->set("fail_compile", 1);
    assert_true(cuda_open(&pair, 1) < 0);
    assert_non_null(strstr(mx_error_last()->message, "refuses the kernels"));
    cuda->set("fail_load", 1);
    assert_true(cuda_open(&pair, 1) < 0);
    assert_non_null(strstr(mx_error_last()->message, "does not take what NVRTC"));
    cache_empty();
    /* A folder that cannot be written costs only time. */
    setenv("MYXTTS_CACHE", "/proc/nowhere", 1);
    assert_int_equal(compiles(cuda), 1);
    assert_int_equal(compiles(cuda), 1);
    char path[96];
    snprintf(path, sizeof path, "%s/kernels", folder);
    rmdir(path);
    assert_int_equal(rmdir(folder), 0);
    cuda_assert_clean(cuda);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info),   cmocka_unit_test(test_missing),      cmocka_unit_test(test_names),
        cmocka_unit_test(test_plain),  cmocka_unit_test(test_renumbering),  cmocka_unit_test(test_limits),
        cmocka_unit_test(test_load),   cmocka_unit_test(test_copies),       cmocka_unit_test(test_routes),
        cmocka_unit_test(test_orders), cmocka_unit_test(test_events),       cmocka_unit_test(test_wrong_data),
        cmocka_unit_test(test_lost),   cmocka_unit_test(test_refused_work), cmocka_unit_test(test_cache),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
