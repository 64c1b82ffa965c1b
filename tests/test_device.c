/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The core of the devices, on the CPU and on the fake backend: buffers, limits, copies every way, sticky errors, leak
 * reports, and every allocation failing once.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/alloc.h"
#include "base/log.h"
#include "myxtts/budget.h"
#include "myxtts/device.h"
#include "myxtts/error.h"
#include "myxtts/ops.h"
#include "myxtts/registry.h"
#include "support/fake_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mx_backend *const fake_only[] = {&mx_fake_backend, NULL};

/* The same devices under another name: two backends for the core, whose memory neither can address. */
static struct mx_backend other_backend;
static const struct mx_backend *const other_only[] = {&other_backend, NULL};

static int other_info(void *state, int index, struct mx_device_info *out)
{
    const int rc = mx_fake_backend.device_info(state, index, out);
    snprintf(out->backend, sizeof out->backend, "other");
    return rc;
}

/* One open device and what belongs to it. */
struct rig {
    struct mx_registry *registry;
    struct mx_device *device;
    struct mx_stream *stream;
};

static int rig_open(struct rig *rig, const struct mx_backend *const *backends, uint64_t limit_bytes)
{
    int rc = 0;
    memset(rig, 0, sizeof *rig);
    MX_TRY(mx_registry_open(backends, NULL, &rig->registry));
    MX_TRY(mx_registry_device_open(rig->registry, 0, limit_bytes, &rig->device));
    MX_TRY(mx_stream_create(rig->device, "test", &rig->stream));
out:
    return rc;
}

static void rig_close(struct rig *rig)
{
    mx_stream_release(rig->stream);
    mx_device_close(rig->device);
    mx_registry_close(rig->registry);
}

static struct rig rig_make(const struct mx_backend *const *backends)
{
    struct rig rig;
    assert_int_equal(rig_open(&rig, backends, 0), 0);
    return rig;
}

static struct mx_buffer *buffer_make(struct mx_device *device, size_t bytes)
{
    struct mx_buffer *buffer;
    assert_int_equal(mx_buffer_create(device, "test", bytes, &buffer), 0);
    return buffer;
}

static unsigned char *noise(size_t bytes, uint32_t seed)
{
    unsigned char *const data = malloc(bytes);
    for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)(((uint32_t)i * 2654435761u + seed) >> 24);
    return data;
}

/* What a test of the log wrote. */
static char *log_text;
static size_t log_bytes;
static FILE *log_stream;

static void log_begin(void)
{
    log_stream = open_memstream(&log_text, &log_bytes);
    assert_int_equal(mx_log_configure(&(struct mx_log_options){.stream = log_stream, .no_color = true}), 0);
}

static const char *log_end(void)
{
    assert_int_equal(mx_log_configure(NULL), 0);
    fclose(log_stream);
    return log_text;
}

static void test_buffers(void **state)
{
    const struct mx_backend *const *const backends = *state;
    struct rig rig = rig_make(backends);
    struct mx_buffer *buffers[8], *none;
    struct mx_budget_stats stats;
    const size_t sizes[8] = {1, 63, 64, 4096, 100000, (2 << 20) - 1, 2 << 20, (5 << 20) + 3};
    mx_budget_stats(mx_device_budget(rig.device), &stats);
    const uint64_t before = stats.current_bytes;
    for (int i = 0; i < 8; i++) {
        buffers[i] = buffer_make(rig.device, sizes[i]);
        assert_int_equal(mx_buffer_bytes(buffers[i]), sizes[i]);
        assert_ptr_equal(mx_buffer_device(buffers[i]), rig.device);
        unsigned char *const host = mx_buffer_host(buffers[i]);
        assert_int_equal(host != NULL, mx_device_info(rig.device)->caps.host_visible);
        if (host) {
            assert_int_equal((uintptr_t)host % 64, 0);
            memset(host, i, sizes[i]); /* all of it is there, and nobody else's */
        }
    }
    for (int i = 0; i < 8; i++) {
        const unsigned char *const host = mx_buffer_host(buffers[i]);
        if (host) assert_true(host[0] == i && host[sizes[i] - 1] == i);
    }
    mx_budget_stats(mx_device_budget(rig.device), &stats);
    uint64_t sum = 0;
    for (int i = 0; i < 8; i++) sum += sizes[i];
    assert_int_equal(stats.current_bytes, before + sum);
    assert_int_equal(mx_buffer_create(rig.device, "test", 0, &none), MX_ERR_ARGUMENT);
    assert_int_equal(mx_buffer_create(rig.device, "", 1, &none), MX_ERR_ARGUMENT);
    assert_int_equal(mx_buffer_create(rig.device, NULL, 1, &none), MX_ERR_ARGUMENT);
    assert_int_equal(mx_buffer_create(rig.device, "test", SIZE_MAX, &none), MX_ERR_BUDGET);
    assert_null(none);
    for (int i = 0; i < 8; i += 2) mx_buffer_release(buffers[i]);
    for (int i = 1; i < 8; i += 2) mx_buffer_release(buffers[i]);
    mx_buffer_release(NULL);
    mx_budget_stats(mx_device_budget(rig.device), &stats);
    assert_int_equal(stats.current_bytes, before);
    rig_close(&rig);
}

static void test_limits(void **state)
{
    const struct mx_backend *const *const backends = *state;
    struct rig rig;
    struct mx_buffer *first, *second;
    const uint64_t limit = UINT64_C(1) << 30; /* above the scratch of any machine's gang that runs this */
    assert_int_equal(rig_open(&rig, backends, limit), 0);
    struct mx_budget *const budget = mx_device_budget(rig.device);
    assert_int_equal(mx_budget_limit(budget), limit);
    first = buffer_make(rig.device, 1000);
    assert_int_equal(mx_budget_set_limit(budget, limit - mx_budget_available(budget) + 500), 0);
    assert_int_equal(mx_buffer_create(rig.device, "second", 501, &second), MX_ERR_BUDGET);
    assert_non_null(strstr(mx_error_last()->message, mx_device_name(rig.device)));
    assert_non_null(strstr(mx_error_last()->message, "\"second\""));
    assert_int_equal(mx_buffer_create(rig.device, "second", 500, &second), 0);
    mx_buffer_release(first);
    mx_buffer_release(second);
    assert_int_equal(mx_budget_available(budget), 1500);
    void *host;
    assert_int_equal(mx_host_alloc(rig.device, "pinned", 1 << 20, &host), 0); /* does not count */
    assert_int_equal(mx_budget_available(budget), 1500);
    struct mx_budget_stats stats;
    mx_budget_stats(budget, &stats);
    assert_int_equal(stats.host_bytes, 1 << 20);
    memset(host, 1, 1 << 20);
    mx_host_release(rig.device, host);
    mx_host_release(rig.device, NULL);
    mx_budget_stats(budget, &stats);
    assert_int_equal(stats.host_bytes, 0);
    assert_int_equal(mx_host_alloc(rig.device, "pinned", 0, &host), MX_ERR_ARGUMENT);
    assert_null(host);
    log_begin();
    int stranger;
    mx_host_release(rig.device, &stranger);
    assert_non_null(strstr(log_end(), "does not belong to this device"));
    free(log_text);
    rig_close(&rig);
}

/* A limit that cannot even hold what the device itself needs. */
static void test_tiny_limit(void **state)
{
    (void)state;
    struct rig rig;
    assert_int_equal(rig_open(&rig, mx_backends, 1000), MX_ERR_BUDGET);
    assert_non_null(strstr(mx_error_last()->message, "cpu-scratch"));
    rig_close(&rig);
}

/* Host → a → b → host, in odd pieces, within one device or between two. */
static void copy_around(struct mx_stream *up, struct mx_stream *across, struct mx_stream *down, size_t bytes)
{
    struct mx_buffer *const a = buffer_make(mx_stream_device(up), bytes + 64);
    struct mx_buffer *const b = buffer_make(mx_stream_device(down), bytes + 64);
    unsigned char *const in = noise(bytes, (uint32_t)bytes), *const out = calloc(bytes, 1);
    const size_t half = bytes / 3;
    assert_int_equal(mx_copy_upload(up, mx_slice_at(a, 4), in, half), 0);
    assert_int_equal(mx_copy_upload(up, mx_slice_at(a, 4 + half), in + half, bytes - half), 0);
    assert_int_equal(mx_copy_upload(up, mx_slice_at(a, 0), in, 0), 0); /* nothing */
    assert_int_equal(mx_stream_sync(up), 0);
    assert_int_equal(mx_copy_slices(across, mx_slice_at(b, 64), mx_slice_at(a, 4), bytes), 0);
    assert_int_equal(mx_stream_sync(across), 0);
    assert_int_equal(mx_copy_download(down, out, mx_slice_at(b, 64), bytes), 0);
    assert_int_equal(mx_stream_sync(down), 0);
    assert_memory_equal(in, out, bytes);
    free(in);
    free(out);
    mx_buffer_release(a);
    mx_buffer_release(b);
}

static void test_copies(void **state)
{
    const struct mx_backend *const *const backends = *state;
    struct rig rig = rig_make(backends);
    copy_around(rig.stream, rig.stream, rig.stream, 5);
    copy_around(rig.stream, rig.stream, rig.stream, 70001);
    copy_around(rig.stream, rig.stream, rig.stream, (3 << 20) + 17);
    rig_close(&rig);
}

/* Between all pairs of three backends, with the stream on either side; more than one round of the staging halves. */
static void test_copies_across(void **state)
{
    (void)state;
    mx_fake_configure(&(struct mx_fake_options){.memory_bytes = 256 << 20});
    struct rig rigs[3] = {rig_make(mx_backends), rig_make(fake_only), rig_make(other_only)};
    const size_t bytes = (17 << 20) + 5;
    for (int from = 0; from < 3; from++) {
        for (int to = 0; to < 3; to++) {
            for (int side = 0; side < 2 && from != to; side++) {
                copy_around(rigs[from].stream, rigs[side ? to : from].stream, rigs[to].stream, side ? bytes : 1000);
                copy_around(rigs[from].stream, rigs[side ? to : from].stream, rigs[to].stream, side ? 1 : bytes);
            }
        }
    }
    assert_false(mx_device_can_peer(rigs[0].device, rigs[1].device));
    assert_true(mx_device_can_peer(rigs[1].device, rigs[1].device));
    log_begin();
    for (int i = 0; i < 3; i++) rig_close(&rigs[i]);
    assert_string_equal(log_end(), ""); /* the core's own staging memory is no leak */
    free(log_text);
    mx_fake_configure(NULL);
}

/* A staged copy whose other side fails: the caller's stream fails, the next copy on another stream works. */
static void test_copy_across_fails(void **state)
{
    (void)state;
    for (int round = 0; round < 12;
         round++) { /* each of the six copies of three pieces, with the stream on each side */
        const int side = round % 2;
        mx_fake_configure(NULL);
        struct rig a = rig_make(fake_only), b = rig_make(other_only);
        struct mx_buffer *const from = buffer_make(a.device, 9 << 20), *const to = buffer_make(b.device, 9 << 20);
        struct mx_stream *const stream = side ? a.stream : b.stream;
        struct mx_stream *fresh;
        mx_fake_configure(&(struct mx_fake_options){.fail_copy_at = 1 + round / 2});
        assert_int_equal(mx_copy_slices(stream, mx_slice_at(to, 0), mx_slice_at(from, 0), 9 << 20), MX_ERR_DEVICE);
        assert_int_equal(mx_stream_sync(stream), MX_ERR_DEVICE);
        mx_fake_configure(NULL);
        assert_int_equal(mx_copy_slices(stream, mx_slice_at(to, 0), mx_slice_at(from, 0), 4), MX_ERR_DEVICE);
        assert_int_equal(mx_stream_create(side ? a.device : b.device, "fresh", &fresh), 0);
        assert_int_equal(mx_copy_slices(fresh, mx_slice_at(to, 0), mx_slice_at(from, 0), 9 << 20), 0);
        mx_stream_release(fresh);
        mx_buffer_release(from);
        mx_buffer_release(to);
        rig_close(&a);
        rig_close(&b);
    }
}

static void test_wrong_copies(void **state)
{
    const struct mx_backend *const *const backends = *state;
    struct rig rig = rig_make(backends), far = rig_make(backends == fake_only ? mx_backends : fake_only);
    struct mx_buffer *const near_buffer = buffer_make(rig.device, 100), *const far_buffer =
                                                                            buffer_make(far.device, 100);
    struct mx_event *event;
    unsigned char bytes[200] = {0};
    const struct mx_slice whole = mx_slice_at(near_buffer, 0), gone = {0}, there = mx_slice_at(far_buffer, 0);
    assert_int_equal(mx_copy_upload(rig.stream, gone, bytes, 1), MX_ERR_ARGUMENT);
    assert_int_equal(mx_copy_upload(rig.stream, whole, bytes, 101), MX_ERR_ARGUMENT);
    assert_int_equal(mx_copy_upload(rig.stream, mx_slice_at(near_buffer, 100), bytes, 1), MX_ERR_ARGUMENT);
    assert_int_equal(mx_copy_upload(rig.stream, mx_slice_at(near_buffer, SIZE_MAX), bytes, 2), MX_ERR_ARGUMENT);
    assert_int_equal(mx_copy_upload(rig.stream, whole, NULL, 1), MX_ERR_ARGUMENT);
    assert_int_equal(mx_copy_upload(rig.stream, there, bytes, 1), MX_ERR_ARGUMENT);
    assert_int_equal(mx_copy_download(rig.stream, bytes, whole, 101), MX_ERR_ARGUMENT);
    assert_int_equal(mx_copy_download(rig.stream, NULL, whole, 1), MX_ERR_ARGUMENT);
    assert_int_equal(mx_copy_download(rig.stream, bytes, there, 1), MX_ERR_ARGUMENT);
    assert_int_equal(mx_copy_slices(rig.stream, there, there, 1), MX_ERR_ARGUMENT);
    assert_int_equal(mx_copy_slices(rig.stream, whole, mx_slice_at(near_buffer, 9), 10), MX_ERR_ARGUMENT);
    assert_non_null(strstr(mx_error_last()->message, "overlaps"));
    assert_int_equal(mx_copy_slices(rig.stream, whole, mx_slice_at(near_buffer, 10), 10), 0);
    assert_int_equal(mx_event_create(far.device, &event), 0);
    assert_int_equal(mx_event_record(event, rig.stream), MX_ERR_ARGUMENT);
    assert_int_equal(mx_stream_wait(rig.stream, event), 0); /* never recorded: complete, also across backends */
    assert_int_equal(mx_event_record(event, far.stream), 0);
    assert_int_equal(mx_stream_wait(rig.stream, event), 0);
    assert_true(mx_event_done(event)); /* across backends the caller has waited */
    mx_event_release(event);
    assert_int_equal(mx_stream_sync(rig.stream), 0); /* what was refused does not fail the stream */
    mx_buffer_release(near_buffer);
    mx_buffer_release(far_buffer);
    rig_close(&rig);
    rig_close(&far);
}

static void test_operations(void **state)
{
    const struct mx_backend *const *const backends = *state;
    struct rig rig = rig_make(backends);
    struct mx_buffer *const buffer = buffer_make(rig.device, 4000);
    float out[1000];
    struct mx_fill_args fill = {.x = mx_slice_at(buffer, 0), .count = 1000, .value = 3};
    struct mx_scale_args scale = {.x = mx_slice_at(buffer, 2000), .count = 500, .factor = 0.5f};
    assert_int_equal(mx_fill(rig.stream, &fill), 0);
    fill.value = 99; /* arguments were copied */
    assert_int_equal(mx_scale(rig.stream, &scale), 0);
    fill.count = 1001;
    assert_int_equal(mx_fill(rig.stream, &fill), MX_ERR_ARGUMENT);
    assert_int_equal(mx_copy_download(rig.stream, out, mx_slice_at(buffer, 0), 4000), 0);
    assert_int_equal(mx_device_sync(rig.device), 0);
    for (int i = 0; i < 1000; i++) assert_true(out[i] == (i < 500 ? 3 : 1.5f));
    mx_buffer_release(buffer);
    rig_close(&rig);
}

/* A kernel that fails: later work is skipped, events complete, every call tells the first error. */
static void test_sticky(void **state)
{
    const struct mx_backend *const *const backends = *state;
    struct rig rig = rig_make(backends);
    struct mx_stream *other;
    struct mx_event *event;
    int32_t values[4] = {1, -5, 2, 7}, marks[2] = {0, 0};
    struct mx_buffer *const buffer = buffer_make(rig.device, 64);
    assert_int_equal(mx_stream_create(rig.device, "other", &other), 0);
    assert_int_equal(mx_event_create(rig.device, &event), 0);
    assert_int_equal(mx_copy_upload(rig.stream, mx_slice_at(buffer, 0), values, sizeof values), 0);
    const struct mx_durations_scan_args scan = {
        .durations = mx_slice_at(buffer, 0), .ends = mx_slice_at(buffer, 32), .count = 4};
    assert_int_equal(mx_durations_scan(rig.stream, &scan), 0);
    assert_int_equal(mx_stream_sync(rig.stream), MX_ERR_DATA);
    char message[sizeof mx_error_last()->message];
    strcpy(message, mx_error_last()->message);
    mx_error_clear();
    assert_int_equal(mx_copy_download(rig.stream, marks, mx_slice_at(buffer, 0), sizeof marks), MX_ERR_DATA);
    assert_string_equal(mx_error_last()->message, message);
    assert_int_equal(mx_copy_upload(rig.stream, mx_slice_at(buffer, 0), marks, sizeof marks), MX_ERR_DATA);
    assert_int_equal(mx_copy_slices(rig.stream, mx_slice_at(buffer, 0), mx_slice_at(buffer, 16), 4), MX_ERR_DATA);
    const struct mx_fill_args fill = {.x = mx_slice_at(buffer, 0), .count = 1};
    assert_int_equal(mx_fill(rig.stream, &fill), MX_ERR_DATA);
    assert_int_equal(mx_event_record(event, rig.stream), MX_ERR_DATA);
    mx_error_clear();
    assert_int_equal(mx_event_sync(event), 0); /* it completes all the same */
    assert_true(mx_event_done(event));
    assert_true(mx_event_time_ns(event) > 0);
    assert_int_equal(mx_stream_wait(rig.stream, event), MX_ERR_DATA);
    assert_int_equal(mx_stream_wait(other, event), 0);
    assert_int_equal(mx_copy_download(other, marks, mx_slice_at(buffer, 0), sizeof marks), 0);
    assert_int_equal(mx_stream_sync(other), 0); /* only one stream failed */
    assert_int_equal(marks[0], 1);
    assert_int_equal(marks[1], -5);
    mx_error_clear();
    assert_int_equal(mx_device_sync(rig.device), MX_ERR_DATA);
    assert_string_equal(mx_error_last()->message, message);
    mx_event_release(event);
    mx_stream_release(other);
    mx_buffer_release(buffer);
    rig_close(&rig);
}

static void test_leaks(void **state)
{
    const struct mx_backend *const *const backends = *state;
    struct rig rig = rig_make(backends);
    struct mx_buffer *buffers[3];
    struct mx_event *event;
    void *host;
    assert_int_equal(mx_buffer_create(rig.device, "activations", 1000, &buffers[0]), 0);
    assert_int_equal(mx_buffer_create(rig.device, "gradients", 5, &buffers[1]), 0);
    assert_int_equal(mx_buffer_create(rig.device, "activations", 500, &buffers[2]), 0);
    assert_int_equal(mx_host_alloc(rig.device, "pinned", 77, &host), 0);
    assert_int_equal(mx_event_create(rig.device, &event), 0);
    assert_int_equal(mx_copy_upload(rig.stream, mx_slice_at(buffers[0], 0), host, 77), 0);
    log_begin();
    mx_device_close(rig.device); /* with the stream, too */
    const char *const text = log_end();
    assert_non_null(strstr(text, "\"activations\" still holds 1.46 KiB (1500 bytes) in 2 buffers"));
    assert_non_null(strstr(text, "\"gradients\" still holds 5 B (5 bytes) in 1 buffer\n"));
    assert_non_null(strstr(text, "\"pinned\" still holds 77 B (77 bytes) of host memory"));
    assert_non_null(strstr(text, "stream \"test\""));
    assert_non_null(strstr(text, "1 event was not released"));
    int lines = 0;
    for (const char *c = text; *c; c++) lines += *c == '\n';
    assert_int_equal(lines, 5);
    free(log_text);
    mx_registry_close(rig.registry);
}

/* Everything that opens and creates, once. */
static int create_all(const struct mx_backend *const *backends)
{
    struct rig rig;
    struct mx_buffer *small = NULL, *large = NULL;
    struct mx_event *event = NULL;
    void *host = NULL;
    int rc = 0;
    MX_TRY(rig_open(&rig, backends, 0));
    MX_TRY(mx_buffer_create(rig.device, "small", 1000, &small));
    MX_TRY(mx_buffer_create(rig.device, "large", 4 << 20, &large));
    MX_TRY(mx_host_alloc(rig.device, "host", 1000, &host));
    MX_TRY(mx_event_create(rig.device, &event));
out:
    if (rc < 0) assert_int_equal(mx_error_last()->code, rc);
    mx_event_release(event);
    if (rig.device) mx_host_release(rig.device, host);
    mx_buffer_release(small);
    mx_buffer_release(large);
    if (rig.device) { /* whatever failed, nothing of it is charged */
        struct mx_budget_stats stats;
        mx_budget_stats(mx_device_budget(rig.device), &stats);
        for (int i = 0; i < stats.owner_count; i++) {
            if (strcmp(stats.owners[i].name, "cpu-scratch") != 0) assert_int_equal(stats.owners[i].live_count, 0);
        }
    }
    rig_close(&rig);
    return rc;
}

static void test_allocation_failures(void **state)
{
    const struct mx_backend *const *const backends = *state;
    assert_int_equal(create_all(backends), 0);
    const uint64_t before = mx_alloc_count();
    assert_int_equal(create_all(backends), 0);
    const uint64_t calls = mx_alloc_count() - before;
    int failed = 0;
    for (uint64_t n = 1; n <= calls; n++) {
        mx_alloc_fail_at(n);
        const int rc = create_all(backends);
        assert_true(rc == 0 || rc == MX_ERR_NO_MEMORY);
        failed += rc < 0;
    }
    mx_alloc_fail_at(0);
    assert_true(failed >= 8); /* registry, its list, device, budget, stream, buffers, host block, event … */
}

/* Once on the CPU, once on the fake backend. */
#define BOTH(test) cmocka_unit_test_prestate(test, cpu), cmocka_unit_test_prestate(test, fake)

int main(void)
{
    other_backend = mx_fake_backend;
    other_backend.name = "other";
    other_backend.device_info = other_info;
    void *const cpu = (void *)(uintptr_t)mx_backends, *const fake = (void *)(uintptr_t)fake_only;
    const struct CMUnitTest tests[] = {
        BOTH(test_buffers),
        BOTH(test_limits),
        cmocka_unit_test(test_tiny_limit),
        BOTH(test_copies),
        cmocka_unit_test(test_copies_across),
        cmocka_unit_test(test_copy_across_fails),
        BOTH(test_wrong_copies),
        BOTH(test_operations),
        BOTH(test_sticky),
        BOTH(test_leaks),
        BOTH(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
