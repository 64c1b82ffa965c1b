/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * OpenCL devices: buffers, limits, streams, events across two devices, copies in one context and across two, and what
 * wrong data do to a stream. Skipped where OpenCL has no device, and the tests of two devices where it has only one.
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
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "myxtts/ops.h"
#include "support/accelerator.h"
#include "support/graph.h"
#include "support/opencl.h"

#include <string.h>

static bool available, two; /* OpenCL has a device; it can give two */

static int setup(void **state)
{
    struct opencl_pair pair;
    (void)state;
    available = opencl_available();
    two = available && opencl_open(&pair, 2) == 0;
    if (two) opencl_close(&pair);
    return 0;
}

static void test_info(void **state)
{
    (void)state;
    struct opencl_pair pair;
    if (!available) skip();
    assert_int_equal(opencl_open(&pair, 1), 0);
    const struct mx_device_info *info = mx_device_info(pair.devices[0]);
    assert_string_equal(info->backend, "opencl");
    assert_true(info->name[0] != '\0');
    assert_true(info->memory_bytes > 0 && info->compute_units > 0);
    assert_false(info->caps.host_visible);
    assert_true(info->caps.event_times);
    opencl_close(&pair);
}

/* Two devices of one driver are in one context: they copy to each other by themselves. */
static void test_peers(void **state)
{
    (void)state;
    struct opencl_pair pair;
    if (!two) skip();
    assert_int_equal(opencl_open(&pair, 2), 0);
    assert_true(mx_device_can_peer(pair.devices[0], pair.devices[1]));
    opencl_close(&pair);
}

/* Random work on both devices, ordered by events alone, gives what the same work gives in sequence. */
static void test_graphs(void **state)
{
    (void)state;
    struct opencl_pair pair;
    if (!two) skip();
    for (uint64_t seed = 0; seed < 3; seed++) {
        assert_int_equal(opencl_open(&pair, 2), 0);
        if (graph_run(pair.devices, 2, seed, 150) < 0) fail_msg("%s", mx_error_last()->message);
        opencl_close(&pair);
    }
}

static void test_events(void **state)
{
    (void)state;
    struct opencl_pair pair;
    struct mx_event *event;
    if (!available) skip();
    assert_int_equal(opencl_open(&pair, 1), 0);
    struct mx_stream *const stream = stream_make(pair.devices[0]);
    struct mx_buffer *const buffer = buffer_make(pair.devices[0], 4 << 20);
    assert_int_equal(mx_event_create(pair.devices[0], &event), 0);
    assert_true(mx_event_done(event));
    assert_true(mx_event_time_ns(event) == 0);
    assert_int_equal(mx_event_sync(event), 0);
    const uint64_t before = mx_clock_ns();
    const struct mx_fill_args fill = {.x = mx_slice_at(buffer, 0), .count = 1 << 20, .value = 2};
    assert_int_equal(mx_fill(stream, &fill), 0);
    assert_int_equal(mx_event_record(event, stream), 0);
    assert_int_equal(mx_event_sync(event), 0);
    const uint64_t after = mx_clock_ns(), at = mx_event_time_ns(event), slack = 1000000;
    assert_true(mx_event_done(event));
    assert_true(at + slack >= before && at <= after + slack); /* the two clocks were compared, not made one */
    mx_event_release(event);
    mx_buffer_release(buffer);
    mx_stream_release(stream);
    opencl_close(&pair);
}

/* Two registries have two contexts: a copy between them goes through the host. */
static void test_copy_between_contexts(void **state)
{
    (void)state;
    enum { FLOATS = 3 << 19 }; /* 6 MiB: more than one piece */
    struct opencl_pair a, b;
    if (!available) skip();
    assert_int_equal(opencl_open(&a, 1), 0);
    assert_int_equal(opencl_open(&b, 1), 0);
    assert_false(mx_device_can_peer(a.devices[0], b.devices[0]));
    struct mx_stream *const from = stream_make(a.devices[0]), *const to = stream_make(b.devices[0]);
    struct mx_buffer *const here = buffer_make(a.devices[0], FLOATS * 4);
    struct mx_buffer *const there = buffer_make(b.devices[0], FLOATS * 4 + 64);
    struct mx_event *event;
    void *words = NULL;
    assert_int_equal(mx_host_alloc(a.devices[0], "words", FLOATS * 4, &words), 0);
    uint32_t *const word = words;
    for (uint32_t i = 0; i < FLOATS; i++) word[i] = i * 2654435761u;
    assert_int_equal(mx_event_create(a.devices[0], &event), 0);
    assert_int_equal(mx_copy_upload(from, mx_slice_at(here, 0), word, FLOATS * 4), 0);
    assert_int_equal(mx_event_record(event, from), 0);
    assert_int_equal(mx_stream_wait(to, event), 0);
    assert_int_equal(mx_copy_slices(to, mx_slice_at(there, 64), mx_slice_at(here, 0), FLOATS * 4), 0);
    assert_int_equal(mx_copy_slices(from, mx_slice_at(there, 0), mx_slice_at(here, 128), 64), 0); /* the other end's */
    uint32_t *const back = mx_alloc(FLOATS + 16, 4);
    assert_int_equal(mx_copy_download(to, back, mx_slice_at(there, 0), FLOATS * 4 + 64), 0);
    assert_int_equal(mx_stream_sync(to), 0);
    assert_memory_equal(back + 16, word, FLOATS * 4);
    assert_memory_equal(back, word + 32, 64);
    mx_free(back);
    mx_host_release(a.devices[0], words);
    mx_event_release(event);
    mx_stream_release(from);
    mx_stream_release(to);
    mx_buffer_release(here);
    mx_buffer_release(there);
    opencl_close(&a);
    opencl_close(&b);
}

static void test_limits(void **state)
{
    (void)state;
    const struct mx_registry_options options = {.devices = {"opencl:0"}, .device_count = 1};
    struct mx_registry *registry;
    struct mx_device *device;
    struct mx_buffer *buffer;
    if (!available) skip();
    assert_int_equal(mx_registry_open(NULL, &options, &registry), 0);
    limit_holds(registry);
    /* More than the driver gives in one piece, though the limit would allow it. */
    const uint64_t more = mx_registry_device(registry, 0)->memory_bytes * 2;
    assert_int_equal(mx_registry_device_open(registry, 0, more, &device), 0);
    assert_int_equal(mx_buffer_create(device, "huge", more, &buffer), MX_ERR_NO_MEMORY);
    assert_non_null(strstr(mx_error_last()->message, "huge"));
    mx_device_close(device);
    mx_registry_close(registry);
}

/* An id outside the table fails the stream, with the CPU backend's code, and nothing outside the table is read. */
static void test_wrong_data(void **state)
{
    (void)state;
    struct opencl_pair pair;
    if (!available) skip();
    assert_int_equal(opencl_open(&pair, 1), 0);
    wrong_data_fail(pair.devices[0]);
    opencl_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_peers),
        cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_copy_between_contexts),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_wrong_data),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
