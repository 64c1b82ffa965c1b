/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The fake backend itself: what other tests rely on it to do. Delays and overtaking that keep what events promise,
 * injected failures, poison, and the traps on use after release.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "myxtts/error.h"
#include "myxtts/registry.h"
#include "support/fake_backend.h"
#include "support/graph.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STREAMS 6

static const struct mx_backend *const fake_only[] = {&mx_fake_backend, NULL};

struct rig {
    struct mx_registry *registry;
    struct mx_device *devices[2];
};

static struct rig rig_open(const struct mx_fake_options *options)
{
    struct rig rig;
    mx_fake_configure(options);
    assert_int_equal(mx_registry_open(fake_only, NULL, &rig.registry), 0);
    for (int d = 0; d < 2; d++) assert_int_equal(mx_registry_device_open(rig.registry, d, 0, &rig.devices[d]), 0);
    return rig;
}

static void rig_close(struct rig *rig)
{
    for (int d = 0; d < 2; d++) mx_device_close(rig->devices[d]);
    mx_registry_close(rig->registry);
    mx_fake_configure(NULL);
}

static struct mx_stream *stream_make(struct mx_device *device)
{
    struct mx_stream *stream;
    assert_int_equal(mx_stream_create(device, "test", &stream), 0);
    return stream;
}

static struct mx_buffer *buffer_make(struct mx_device *device, const char *owner, size_t bytes)
{
    struct mx_buffer *buffer;
    assert_int_equal(mx_buffer_create(device, owner, bytes, &buffer), 0);
    assert_null(mx_buffer_host(buffer)); /* nobody gets at it but by copies */
    return buffer;
}

static void test_devices(void **state)
{
    (void)state;
    struct mx_registry *registry;
    mx_fake_configure(&(struct mx_fake_options){.device_count = 5, .memory_bytes = 12345});
    assert_int_equal(mx_registry_open(fake_only, NULL, &registry), 0);
    assert_int_equal(mx_registry_device_count(registry), 5);
    assert_int_equal(mx_registry_device(registry, 4)->memory_bytes, 12345);
    assert_false(mx_registry_device(registry, 4)->caps.host_visible);
    mx_registry_close(registry);
    mx_fake_configure(NULL);
}

/* One stream stays in order, however it dawdles. */
static void test_order_in_stream(void **state)
{
    (void)state;
    struct rig rig = rig_open(&(struct mx_fake_options){.seed = 3, .max_delay_us = 100, .reorder = true});
    struct mx_stream *const stream = stream_make(rig.devices[0]);
    struct mx_buffer *const buffer = buffer_make(rig.devices[0], "values", 4);
    uint32_t in[150], out[150]; /* more than a ring of it holds */
    for (uint32_t i = 0; i < 150; i++) {
        in[i] = i;
        assert_int_equal(mx_copy_upload(stream, mx_slice_at(buffer, 0), &in[i], 4), 0);
        assert_int_equal(mx_copy_download(stream, &out[i], mx_slice_at(buffer, 0), 4), 0);
    }
    assert_int_equal(mx_stream_sync(stream), 0);
    assert_memory_equal(in, out, sizeof in);
    mx_stream_release(stream);
    mx_buffer_release(buffer);
    rig_close(&rig);
}

/* Events keep random graphs right under delays and overtaking, on two devices. */
static void test_graphs(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct rig rig = rig_open(&(struct mx_fake_options){
            .seed = seed, .max_delay_us = (uint32_t)(seed % 3) * 40, .reorder = seed % 2 == 1});
        if (graph_run(rig.devices, 2, seed, 150) < 0) fail_msg("%s", mx_error_last()->message);
        rig_close(&rig);
    }
}

/* Which of six streams, held until all stand ready, ran first, second …; as one number in base ten. */
static int order_of(uint64_t seed, bool reorder)
{
    struct rig rig = rig_open(&(struct mx_fake_options){.seed = seed, .max_delay_us = 50, .reorder = reorder});
    struct mx_stream *streams[STREAMS];
    struct mx_event *events[STREAMS];
    int order = 0;
    uint64_t times[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        streams[i] = stream_make(rig.devices[0]);
        assert_int_equal(mx_event_create(rig.devices[0], &events[i]), 0);
    }
    mx_fake_hold();
    for (int i = 0; i < STREAMS; i++) {
        assert_int_equal(mx_event_record(events[i], streams[i]), 0);
        assert_false(mx_event_done(events[i]));
    }
    mx_fake_resume();
    for (int i = 0; i < STREAMS; i++) assert_int_equal(mx_event_sync(events[i]), 0);
    for (int i = 0; i < STREAMS; i++) times[i] = mx_event_time_ns(events[i]);
    for (int place = 0; place < STREAMS; place++) { /* times of one device are those of commands one after another */
        int first = 0;
        for (int i = 1; i < STREAMS; i++) {
            if (times[i] < times[first]) first = i;
        }
        order = order * 10 + first;
        times[first] = UINT64_MAX;
    }
    for (int i = 0; i < STREAMS; i++) {
        mx_stream_release(streams[i]);
        mx_event_release(events[i]);
    }
    rig_close(&rig);
    return order;
}

static void test_reordering(void **state)
{
    (void)state;
    assert_int_equal(order_of(1, false), 12345); /* 0 first, … */
    assert_int_equal(order_of(2, false), 12345);
    const int one = order_of(1, true), two = order_of(2, true);
    assert_int_equal(one, order_of(1, true)); /* a function of the seed alone */
    assert_int_not_equal(one, 12345);
    assert_int_not_equal(one, two);
}

static void test_poison(void **state)
{
    (void)state;
    struct rig rig = rig_open(NULL);
    struct mx_stream *const stream = stream_make(rig.devices[0]);
    for (size_t bytes = 4; bytes < 20000; bytes *= 5) {
        struct mx_buffer *const buffer = buffer_make(rig.devices[0], "fresh", bytes);
        unsigned char out[20000] = {0};
        assert_int_equal(mx_copy_download(stream, out, mx_slice_at(buffer, 0), bytes), 0);
        assert_int_equal(mx_stream_sync(stream), 0);
        for (size_t i = 0; i < bytes; i++) assert_int_equal(out[i], 0xFF);
        float value;
        memcpy(&value, out, 4);
        assert_true(isnan(value));
        mx_buffer_release(buffer);
    }
    mx_stream_release(stream);
    rig_close(&rig);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct rig rig = rig_open(&(struct mx_fake_options){.fail_buffer_at = 3});
    struct mx_buffer *buffers[4];
    for (int i = 0; i < 4; i++) {
        const int rc = mx_buffer_create(rig.devices[0], "slots", 10, &buffers[i]);
        assert_int_equal(rc, i == 2 ? MX_ERR_NO_MEMORY : 0);
        if (rc < 0) assert_non_null(strstr(mx_error_last()->message, "\"slots\""));
    }
    for (int i = 0; i < 4; i++) mx_buffer_release(buffers[i]);
    rig_close(&rig);
}

static void test_copy_failure(void **state)
{
    (void)state;
    struct rig rig = rig_open(&(struct mx_fake_options){.fail_copy_at = 2});
    struct mx_stream *const stream = stream_make(rig.devices[0]), *const other = stream_make(rig.devices[1]);
    struct mx_buffer *const buffer = buffer_make(rig.devices[0], "a", 4), *const far =
                                                                              buffer_make(rig.devices[1], "b", 4);
    struct mx_event *event;
    const uint32_t in[3] = {1, 2, 3};
    uint32_t out = 0;
    assert_int_equal(mx_event_create(rig.devices[0], &event), 0);
    mx_fake_hold();
    for (int i = 0; i < 3; i++) assert_int_equal(mx_copy_upload(stream, mx_slice_at(buffer, 0), &in[i], 4), 0);
    assert_int_equal(mx_event_record(event, stream), 0);
    assert_int_equal(mx_stream_wait(other, event), 0);
    assert_int_equal(mx_copy_slices(other, mx_slice_at(far, 0), mx_slice_at(buffer, 0), 4), 0);
    assert_int_equal(mx_copy_download(other, &out, mx_slice_at(far, 0), 4), 0);
    mx_fake_resume();
    assert_int_equal(mx_stream_sync(stream), MX_ERR_DEVICE);
    assert_int_equal(mx_stream_sync(other), 0); /* the event came, and the other device went on */
    assert_int_equal(out, 1);                   /* the second copy failed, the third was skipped */
    mx_event_release(event);
    mx_stream_release(stream);
    mx_stream_release(other);
    mx_buffer_release(buffer);
    mx_buffer_release(far);
    rig_close(&rig);
}

static void expect_trapped(struct mx_stream *stream, const char *owner)
{
    assert_int_equal(mx_stream_sync(stream), MX_ERR_DEVICE);
    assert_non_null(strstr(mx_error_last()->message, owner));
    assert_non_null(strstr(mx_error_last()->message, "after its release"));
}

static void test_release_while_queued(void **state)
{
    (void)state;
    struct rig rig = rig_open(NULL);
    for (int kind = 0; kind < 3; kind++) {
        struct mx_stream *const stream = stream_make(rig.devices[0]);
        struct mx_buffer *const buffer = buffer_make(rig.devices[0], "victim", 64);
        struct mx_buffer *const good = buffer_make(rig.devices[0], "good", 64);
        const struct mx_fill_args fill = {.x = mx_slice_at(buffer, 0), .count = 16, .value = 1};
        unsigned char bytes[64] = {0};
        mx_fake_hold();
        if (kind == 0) assert_int_equal(mx_copy_upload(stream, mx_slice_at(buffer, 0), bytes, 64), 0);
        if (kind == 1) assert_int_equal(mx_copy_slices(stream, mx_slice_at(good, 0), mx_slice_at(buffer, 0), 64), 0);
        if (kind == 2) assert_int_equal(mx_fill(stream, &fill), 0);
        mx_buffer_release(buffer);
        mx_fake_resume();
        expect_trapped(stream, "\"victim\"");
        mx_stream_release(stream);
        mx_buffer_release(good);
    }
    rig_close(&rig);
}

static void test_use_after_release(void **state)
{
    (void)state;
    struct rig rig = rig_open(NULL);
    for (int kind = 0; kind < 4; kind++) {
        struct mx_stream *const stream = stream_make(rig.devices[0]);
        struct mx_buffer *const buffer = buffer_make(rig.devices[0], "victim", 64);
        struct mx_buffer *const good = buffer_make(rig.devices[0], "good", 64);
        const struct mx_fill_args fill = {.x = mx_slice_at(buffer, 0), .count = 16, .value = 1};
        unsigned char bytes[64] = {0};
        int rc = 0;
        mx_buffer_release(buffer);
        if (kind == 0) rc = mx_copy_upload(stream, mx_slice_at(buffer, 0), bytes, 64);
        if (kind == 1) rc = mx_copy_download(stream, bytes, mx_slice_at(buffer, 0), 64);
        if (kind == 2) rc = mx_copy_slices(stream, mx_slice_at(good, 0), mx_slice_at(buffer, 0), 64);
        if (kind == 3) rc = mx_fill(stream, &fill);
        assert_int_equal(rc, MX_ERR_DEVICE);
        expect_trapped(stream, "\"victim\"");
        mx_stream_release(stream);
        mx_buffer_release(good);
    }
    rig_close(&rig);
}

/* Reads a byte in a child process; tells whether that ended it. */
static bool read_faults(const volatile unsigned char *address)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* not the handlers of the test library or a sanitizer */
        (void)*address;
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

/* Whoever has kept an address, or runs over the end, is stopped by the hardware. */
static void test_hardware_traps(void **state)
{
    (void)state;
    struct rig rig = rig_open(NULL);
    struct mx_buffer *const buffer = buffer_make(rig.devices[0], "victim", 8192);
    const unsigned char *const address = buffer->host;
    assert_false(read_faults(address));
    assert_false(read_faults(address + 8191));
    assert_true(read_faults(address + 8192));
    mx_buffer_release(buffer);
    assert_true(read_faults(address));
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_order_in_stream),
        cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_reordering),
        cmocka_unit_test(test_poison),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_copy_failure),
        cmocka_unit_test(test_release_while_queued),
        cmocka_unit_test(test_use_after_release),
        cmocka_unit_test(test_hardware_traps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
