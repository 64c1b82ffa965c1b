/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The asynchronous runtime of the CPU devices: submits return before the work is done, streams and devices are ordered
 * by events and by nothing else, full rings, pending events, many threads, one core.
 *
 * Nothing here depends on time. A gate is an event whose record was begun by the test itself: what waits
 * for it cannot run until the test opens it.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/alloc.h"
#include "base/thread/pool.h"
#include "device/cpu/cpu.h"
#include "myxtts/error.h"
#include "myxtts/registry.h"
#include "support/graph.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define RING 1024 /* commands a stream holds */

struct rig {
    struct mx_registry *registry;
    int count;
    struct mx_device *devices[GRAPH_DEVICES_MAX];
};

static struct rig rig_open(int devices)
{
    struct rig rig = {.count = devices};
    assert_int_equal(
        mx_registry_open(mx_backends_cpu, &(struct mx_registry_options){.cpu_devices = devices}, &rig.registry), 0);
    for (int d = 0; d < devices; d++) {
        assert_int_equal(mx_registry_device_open(rig.registry, d, 0, &rig.devices[d]), 0);
    }
    return rig;
}

static void rig_close(struct rig *rig)
{
    for (int d = 0; d < rig->count; d++) mx_device_close(rig->devices[d]);
    mx_registry_close(rig->registry);
}

/* As many devices as the machine has cores, up to `most`. */
static int devices_up_to(int most)
{
    const int cores = mx_thread_cores(NULL, 0);
    return cores < most ? cores : most;
}

static struct mx_stream *stream_make(struct mx_device *device)
{
    struct mx_stream *stream;
    assert_int_equal(mx_stream_create(device, "test", &stream), 0);
    return stream;
}

static struct mx_event *event_make(struct mx_device *device)
{
    struct mx_event *event;
    assert_int_equal(mx_event_create(device, &event), 0);
    return event;
}

static struct mx_buffer *buffer_make(struct mx_device *device, size_t bytes)
{
    struct mx_buffer *buffer;
    assert_int_equal(mx_buffer_create(device, "test", bytes, &buffer), 0);
    memset(mx_buffer_host(buffer), 0, bytes);
    return buffer;
}

static uint64_t gate_begin(struct mx_event *event)
{
    return mx_cpu_event_begin_record(event->impl);
}

static void gate_end(struct mx_event *event, uint64_t generation)
{
    assert_true(mx_cpu_event_try_record(event->impl, generation, NULL));
}

static int fill(struct mx_stream *stream, struct mx_buffer *buffer, int count, uint32_t bits)
{
    const struct mx_fill_args args = {.x = mx_slice_at(buffer, 0), .count = count, .bits = bits};
    return mx_fill(stream, &args);
}

static void test_asynchronous(void **state)
{
    (void)state;
    struct rig rig = rig_open(1);
    struct mx_stream *const stream = stream_make(rig.devices[0]), *const free_stream = stream_make(rig.devices[0]);
    struct mx_event *const gate = event_make(rig.devices[0]), *const done = event_make(rig.devices[0]);
    struct mx_buffer *const buffer = buffer_make(rig.devices[0], 400), *const other = buffer_make(rig.devices[0], 400);
    volatile uint32_t *const words = mx_buffer_host(buffer), *const others = mx_buffer_host(other);
    uint32_t out[100] = {0};
    assert_true(mx_event_done(done)); /* never recorded: complete, without a time */
    assert_int_equal(mx_event_time_ns(done), 0);
    assert_int_equal(mx_event_sync(done), 0);
    assert_int_equal(mx_stream_wait(stream, done), 0);
    const uint64_t generation = gate_begin(gate);
    const uint64_t allocations = mx_alloc_count();
    assert_int_equal(mx_stream_wait(stream, gate), 0);
    assert_int_equal(fill(stream, buffer, 100, 7), 0);
    assert_int_equal(mx_copy_download(stream, out, mx_slice_at(buffer, 0), 400), 0);
    assert_int_equal(mx_event_record(done, stream), 0);
    /* Another stream of the same device runs meanwhile: the leader is not blocked, only the stream. */
    assert_int_equal(fill(free_stream, other, 100, 9), 0);
    assert_int_equal(mx_stream_sync(free_stream), 0);
    assert_int_equal(mx_alloc_count(), allocations); /* submitting takes no memory */
    assert_int_equal(others[99], 9);
    assert_int_equal(words[0], 0);
    assert_int_equal(out[0], 0);
    assert_false(mx_event_done(done));
    assert_int_equal(mx_event_time_ns(done), 0);
    gate_end(gate, generation);
    assert_int_equal(mx_event_sync(done), 0);
    assert_true(mx_event_time_ns(done) >= mx_event_time_ns(gate));
    for (int i = 0; i < 100; i++) assert_true(words[i] == 7 && out[i] == 7);
    mx_event_release(gate);
    mx_event_release(done);
    mx_stream_release(stream);
    mx_stream_release(free_stream);
    mx_buffer_release(buffer);
    mx_buffer_release(other);
    rig_close(&rig);
}

/* A wait stands for the record before it, not for later ones. */
static void test_generations(void **state)
{
    (void)state;
    struct rig rig = rig_open(1);
    struct mx_stream *const first = stream_make(rig.devices[0]), *const second = stream_make(rig.devices[0]);
    struct mx_event *const gate = event_make(rig.devices[0]);
    struct mx_buffer *const buffer = buffer_make(rig.devices[0], 8);
    const volatile uint32_t *const words = mx_buffer_host(buffer);
    const uint32_t one = 1;
    const uint64_t early = gate_begin(gate);
    assert_int_equal(mx_stream_wait(first, gate), 0);
    assert_int_equal(mx_copy_upload(first, mx_slice_at(buffer, 0), &one, 4), 0);
    const uint64_t late = gate_begin(gate);
    assert_int_equal(mx_stream_wait(second, gate), 0);
    assert_int_equal(mx_copy_upload(second, mx_slice_at(buffer, 4), &one, 4), 0);
    gate_end(gate, early);
    assert_int_equal(mx_stream_sync(first), 0); /* would hang if it waited for the later record */
    assert_int_equal(words[0], 1);
    assert_int_equal(words[1], 0);
    assert_false(mx_event_done(gate));
    gate_end(gate, late);
    assert_int_equal(mx_stream_sync(second), 0);
    assert_int_equal(words[1], 1);
    assert_true(mx_event_done(gate));
    mx_event_release(gate);
    mx_stream_release(first);
    mx_stream_release(second);
    mx_buffer_release(buffer);
    rig_close(&rig);
}

/* The same event recorded on a blocked stream and then on a free one: the second record must not complete the first. */
static void test_record_overtakes(void **state)
{
    (void)state;
    struct rig rig = rig_open(1);
    struct mx_device *const device = rig.devices[0];
    struct mx_stream *streams[4];
    for (int i = 0; i < 4; i++) streams[i] = stream_make(device);
    struct mx_event *const gate = event_make(device), *const event = event_make(device);
    struct mx_buffer *const buffer = buffer_make(device, 64);
    const volatile uint32_t *const words = mx_buffer_host(buffer);
    const uint32_t one = 1;
    const uint64_t generation = gate_begin(gate);
    assert_int_equal(mx_stream_wait(streams[0], gate), 0);
    assert_int_equal(mx_event_record(event, streams[0]), 0);
    assert_int_equal(mx_stream_wait(streams[2], event), 0);
    assert_int_equal(mx_copy_upload(streams[2], mx_slice_at(buffer, 0), &one, 4), 0);
    assert_int_equal(mx_event_record(event, streams[1]), 0);
    for (uint32_t i = 0; i < 50; i++) { /* the leader takes streams in turn: all had theirs many times after this */
        assert_int_equal(mx_copy_upload(streams[3], mx_slice_at(buffer, 4), &one, 4), 0);
    }
    assert_int_equal(mx_stream_sync(streams[3]), 0);
    assert_int_equal(words[0], 0);
    assert_false(mx_event_done(event));
    gate_end(gate, generation);
    assert_int_equal(mx_device_sync(device), 0);
    assert_int_equal(words[0], 1);
    assert_true(mx_event_done(event));
    mx_event_release(gate);
    mx_event_release(event);
    for (int i = 0; i < 4; i++) mx_stream_release(streams[i]);
    mx_buffer_release(buffer);
    rig_close(&rig);
}

/* Released while recorded, waited for, or both; across devices where there are two. */
static void test_release_pending(void **state)
{
    (void)state;
    struct rig rig = rig_open(devices_up_to(2));
    struct mx_device *const here = rig.devices[0], *const there = rig.devices[rig.count - 1];
    struct mx_stream *const first = stream_make(here), *const second = stream_make(there);
    struct mx_buffer *const buffer = buffer_make(there, 4);
    const uint32_t one = 1;
    struct mx_event *const gate = event_make(here), *const event = event_make(here);
    const uint64_t generation = gate_begin(gate);
    assert_int_equal(mx_stream_wait(first, gate), 0);
    assert_int_equal(mx_event_record(event, first), 0);
    assert_int_equal(mx_stream_wait(second, event), 0);
    assert_int_equal(mx_copy_upload(second, mx_slice_at(buffer, 0), &one, 4), 0);
    mx_event_release(event);
    mx_event_release(NULL);
    gate_end(gate, generation);
    assert_int_equal(mx_stream_sync(second), 0);
    assert_int_equal(*(const uint32_t *)mx_buffer_host(buffer), 1);
    mx_event_release(gate);
    mx_buffer_release(buffer);
    mx_stream_release(second);
    mx_stream_release(first);
    mx_stream_release(NULL);
    rig_close(&rig);
}

/* A submitter that is ahead of a blocked stream by more than it holds. */
struct submitter {
    struct mx_stream *stream;
    struct mx_buffer *buffer;
    const uint32_t *values;
    int count;
    atomic_int submitted;
};

static void *submit_many(void *context)
{
    struct submitter *const submitter = context;
    for (int i = 0; i < submitter->count; i++) {
        if (mx_copy_upload(submitter->stream, mx_slice_at(submitter->buffer, 0), &submitter->values[i], 4) != 0) break;
        atomic_fetch_add(&submitter->submitted, 1);
    }
    return NULL;
}

static void test_full_ring(void **state)
{
    (void)state;
    static uint32_t values[5 * RING / 2];
    const int count = (int)(sizeof values / sizeof *values);
    for (int i = 0; i < count; i++) values[i] = 1 + (uint32_t)i;
    struct rig rig = rig_open(1);
    struct mx_event *const gate = event_make(rig.devices[0]);
    struct submitter submitter = {.stream = stream_make(rig.devices[0]),
                                  .buffer = buffer_make(rig.devices[0], 4),
                                  .values = values,
                                  .count = count};
    const uint64_t generation = gate_begin(gate);
    assert_int_equal(mx_stream_wait(submitter.stream, gate), 0); /* the first record in the ring */
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, submit_many, &submitter), 0);
    while (atomic_load(&submitter.submitted) < RING - 1) sched_yield();
    for (int i = 0; i < 1000; i++) sched_yield();
    assert_int_equal(atomic_load(&submitter.submitted), RING - 1); /* the next one waits for room */
    gate_end(gate, generation);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&submitter.submitted), count);
    assert_int_equal(mx_stream_sync(submitter.stream), 0);
    assert_int_equal(*(const uint32_t *)mx_buffer_host(submitter.buffer), count); /* in order: the last one stays */
    mx_event_release(gate);
    mx_stream_release(submitter.stream);
    mx_buffer_release(submitter.buffer);
    rig_close(&rig);
}

/* A token handed from stream to stream, on one device and between two: one lost wake-up and it never arrives. */
static void test_ping_pong(void **state)
{
    (void)state;
    for (int devices = 1; devices <= devices_up_to(2); devices++) {
        enum { ROUNDS = 2000 };
        struct rig rig = rig_open(devices);
        struct mx_device *const sides[2] = {rig.devices[0], rig.devices[devices - 1]};
        struct mx_stream *const streams[2] = {stream_make(sides[0]), stream_make(sides[1])};
        struct mx_event *const events[2] = {event_make(sides[0]), event_make(sides[1])};
        struct mx_buffer *buffers[2];
        for (int s = 0; s < 2; s++) buffers[s] = buffer_make(sides[s], (ROUNDS + 1) * 4);
        *(uint32_t *)mx_buffer_host(buffers[1]) = 4711;
        for (size_t i = 0; i < ROUNDS; i++) { /* each side takes the token from the other side's memory */
            const size_t side = i % 2;
            assert_int_equal(mx_stream_wait(streams[side], events[1 - side]), 0);
            assert_int_equal(mx_copy_slices(streams[side], mx_slice_at(buffers[side], 4 * i + 4),
                                            mx_slice_at(buffers[1 - side], 4 * i), 4),
                             0);
            assert_int_equal(mx_event_record(events[side], streams[side]), 0);
        }
        assert_int_equal(mx_event_sync(events[(ROUNDS - 1) % 2]), 0);
        assert_int_equal(((const uint32_t *)mx_buffer_host(buffers[(ROUNDS - 1) % 2]))[ROUNDS], 4711);
        for (int s = 0; s < 2; s++) {
            mx_stream_release(streams[s]);
            mx_event_release(events[s]);
            mx_buffer_release(buffers[s]);
        }
        rig_close(&rig);
    }
}

static void test_graphs(void **state)
{
    (void)state;
    for (int devices = 1; devices <= devices_up_to(4); devices++) {
        struct rig rig = rig_open(devices);
        for (uint64_t seed = 0; seed < 12; seed++) {
            if (graph_run(rig.devices, devices, 100 * (uint64_t)devices + seed, 500) < 0) {
                fail_msg("%d devices: %s", devices, mx_error_last()->message);
            }
        }
        rig_close(&rig);
    }
}

/* The whole process on one core: leader and submitter share it. */
static void test_one_core(void **state)
{
    (void)state;
    int core;
    cpu_set_t old, one;
    assert_int_equal(sched_getaffinity(0, sizeof old, &old), 0);
    assert_true(mx_thread_cores(&core, 1) >= 1);
    CPU_ZERO(&one);
    CPU_SET((size_t)core, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    struct mx_registry *registry;
    assert_int_equal(mx_registry_open(mx_backends_cpu, &(struct mx_registry_options){.cpu_devices = 2}, &registry),
                     MX_ERR_USAGE);
    struct rig rig = rig_open(1);
    assert_int_equal(mx_device_info(rig.devices[0])->compute_units, 1);
    const int rc = graph_run(rig.devices, 1, 1, 300);
    rig_close(&rig);
    assert_int_equal(sched_setaffinity(0, sizeof old, &old), 0);
    assert_int_equal(rc, 0);
}

/* A gang operation that is wider than one worker's share, and copies that are split over the gang. */
static void test_gang(void **state)
{
    (void)state;
    enum { WORDS = 1000003 };
    struct rig rig = rig_open(1);
    struct mx_stream *const stream = stream_make(rig.devices[0]);
    struct mx_buffer *const a = buffer_make(rig.devices[0], WORDS * 4), *const b =
                                                                            buffer_make(rig.devices[0], WORDS * 4);
    for (uint32_t round = 1; round <= 20; round++) {
        assert_int_equal(fill(stream, a, WORDS, round), 0);
        assert_int_equal(mx_copy_slices(stream, mx_slice_at(b, 0), mx_slice_at(a, 0), WORDS * 4), 0);
        assert_int_equal(fill(stream, a, WORDS, 0), 0);
        assert_int_equal(mx_stream_sync(stream), 0);
        const uint32_t *const filled = mx_buffer_host(a), *const copied = mx_buffer_host(b);
        uint32_t wrong = 0;
        for (int i = 0; i < WORDS; i++) wrong += filled[i] != 0 || copied[i] != round;
        assert_int_equal(wrong, 0);
    }
    mx_stream_release(stream);
    mx_buffer_release(a);
    mx_buffer_release(b);
    rig_close(&rig);
}

/* Subnormal numbers are zero to every worker of a gang, as operands and as results, and stay what they are to the caller. */
static void test_subnormals(void **state)
{
    (void)state;
    enum { WORDS = 1000003 };
    const float least = 0x1p-126F;
    struct rig rig = rig_open(1);
    struct mx_stream *const stream = stream_make(rig.devices[0]);
    struct mx_buffer *const buffer = buffer_make(rig.devices[0], WORDS * 4);
    const struct {
        uint32_t from; /* as bits */
        float factor, to;
    } cases[] = {
        {0x00000001, 0x1p126F, 0.0F}, {0x007fffff, 2.0F, 0.0F}, {0x00800000, 0.5F, 0.0F}, {0x00800000, 1.0F, least}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const struct mx_scale_args scale = {.x = mx_slice_at(buffer, 0), .count = WORDS, .factor = cases[c].factor};
        assert_int_equal(fill(stream, buffer, WORDS, cases[c].from), 0);
        assert_int_equal(mx_scale(stream, &scale), 0);
        assert_int_equal(mx_stream_sync(stream), 0);
        const float *const scaled = mx_buffer_host(buffer);
        uint32_t wrong = 0;
        for (int i = 0; i < WORDS; i++) wrong += scaled[i] != cases[c].to;
        assert_int_equal(wrong, 0);
    }
    volatile float own = least;
    own *= 0.5F;
    assert_true(own > 0);
    mx_stream_release(stream);
    mx_buffer_release(buffer);
    rig_close(&rig);
}

/* Work that fails while more is queued after it: the rest is skipped, events complete, other streams go on. */
static void test_skipped(void **state)
{
    (void)state;
    struct rig rig = rig_open(devices_up_to(2));
    struct mx_device *const here = rig.devices[0], *const there = rig.devices[rig.count - 1];
    struct mx_stream *const stream = stream_make(here), *const follower = stream_make(there);
    struct mx_event *const gate = event_make(here), *const event = event_make(here);
    struct mx_buffer *const buffer = buffer_make(here, 64), *const target = buffer_make(there, 4);
    *(int32_t *)mx_buffer_host(buffer) = -1;
    const uint32_t one = 1;
    const uint64_t generation = gate_begin(gate);
    const struct mx_durations_scan_args scan = {
        .durations = mx_slice_at(buffer, 0), .ends = mx_slice_at(buffer, 16), .count = 1};
    assert_int_equal(mx_stream_wait(stream, gate), 0);
    assert_int_equal(mx_durations_scan(stream, &scan), 0); /* will fail */
    assert_int_equal(mx_copy_upload(stream, mx_slice_at(buffer, 32), &one, 4), 0);
    assert_int_equal(fill(stream, buffer, 1, 5), 0);
    assert_int_equal(mx_event_record(event, stream), 0);
    assert_int_equal(mx_stream_wait(follower, event), 0);
    assert_int_equal(mx_copy_upload(follower, mx_slice_at(target, 0), &one, 4), 0);
    gate_end(gate, generation);
    assert_int_equal(mx_stream_sync(follower), 0);
    assert_int_equal(*(const uint32_t *)mx_buffer_host(target), 1);
    assert_int_equal(mx_stream_sync(stream), MX_ERR_DATA);
    const int32_t *const words = mx_buffer_host(buffer);
    assert_int_equal(words[0], -1); /* not filled */
    assert_int_equal(words[8], 0);  /* not copied */
    mx_event_release(gate);
    mx_event_release(event);
    mx_stream_release(stream);
    mx_stream_release(follower);
    mx_buffer_release(buffer);
    mx_buffer_release(target);
    rig_close(&rig);
}

/* Threads that each create, use and release streams of one device while others wait for the whole device. */
struct crowd {
    struct mx_device *device;
    bool syncs, ok;
};

static void *crowd_main(void *context)
{
    struct crowd *const crowd = context;
    crowd->ok = true;
    for (int i = 0; i < 30; i++) {
        struct mx_stream *stream = NULL;
        struct mx_buffer *buffer = NULL;
        uint32_t in[16], out[16];
        if (crowd->syncs) {
            crowd->ok = crowd->ok && mx_device_sync(crowd->device) == 0;
            continue;
        }
        for (uint32_t w = 0; w < 16; w++) in[w] = w + (uint32_t)i;
        crowd->ok = crowd->ok && mx_stream_create(crowd->device, "crowd", &stream) == 0 &&
                    mx_buffer_create(crowd->device, "crowd", sizeof in, &buffer) == 0 &&
                    mx_copy_upload(stream, mx_slice_at(buffer, 0), in, sizeof in) == 0 &&
                    mx_copy_download(stream, out, mx_slice_at(buffer, 0), sizeof out) == 0 &&
                    mx_stream_sync(stream) == 0 && memcmp(in, out, sizeof in) == 0;
        mx_stream_release(stream);
        mx_buffer_release(buffer);
    }
    return NULL;
}

static void test_crowd(void **state)
{
    (void)state;
    struct rig rig = rig_open(1);
    struct crowd crowds[5];
    pthread_t threads[5];
    for (int i = 0; i < 5; i++) {
        crowds[i] = (struct crowd){rig.devices[0], i >= 3, false};
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_main, &crowds[i]), 0);
    }
    for (int i = 0; i < 5; i++) {
        pthread_join(threads[i], NULL);
        assert_true(crowds[i].ok);
    }
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asynchronous),
        cmocka_unit_test(test_generations),
        cmocka_unit_test(test_record_overtakes),
        cmocka_unit_test(test_release_pending),
        cmocka_unit_test(test_full_ring),
        cmocka_unit_test(test_ping_pong),
        cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_one_core),
        cmocka_unit_test(test_gang),
        cmocka_unit_test(test_subnormals),
        cmocka_unit_test(test_skipped),
        cmocka_unit_test(test_crowd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
