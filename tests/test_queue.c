/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The queue: order, limits, closing, time limits, and a stress of several producers and consumers.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/alloc.h"
#include "base/thread/queue.h"
#include "myxtts/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define MS UINT64_C(1000000)

static void test_create(void **state)
{
    (void)state;
    struct mx_queue *queue = (void *)1;
    assert_int_equal(mx_queue_create(0, &queue), MX_ERR_ARGUMENT);
    assert_null(queue);
    assert_int_equal(mx_queue_create((1u << 20) + 1, &queue), MX_ERR_ARGUMENT);
    assert_true(mx_error_last()->hint[0] != '\0');
    mx_alloc_fail_at(1);
    assert_int_equal(mx_queue_create(4, &queue), MX_ERR_NO_MEMORY);
    assert_null(queue);
    assert_int_equal(mx_queue_create(1u << 20, &queue), 0);
    mx_queue_destroy(queue);
    mx_queue_destroy(NULL);
}

static void test_order_and_limits(void **state)
{
    (void)state;
    int items[5];
    void *item;
    uint64_t waited_ns = 99;
    struct mx_queue *queue;
    assert_int_equal(mx_queue_create(3, &queue), 0);
    const uint64_t allocations = mx_alloc_count();
    for (int round = 0; round < 5; round++) { /* goes round the ring at every offset */
        for (int i = 0; i < 3; i++) {
            assert_int_equal(mx_queue_push(queue, &items[i], 0, &waited_ns), 0);
            assert_int_equal(waited_ns, 0);
            assert_int_equal(mx_queue_count(queue), i + 1);
        }
        assert_int_equal(mx_queue_push(queue, &items[3], 0, &waited_ns), MX_ERR_TIMEOUT);
        assert_int_equal(waited_ns, 0);
        assert_int_equal(mx_queue_pop(queue, &item, 0, &waited_ns), 0);
        assert_ptr_equal(item, &items[0]);
        assert_int_equal(mx_queue_push(queue, &items[3], MX_QUEUE_FOREVER, NULL), 0);
        for (int i = 1; i < 4; i++) {
            assert_int_equal(mx_queue_pop(queue, &item, MX_QUEUE_FOREVER, NULL), 0);
            assert_ptr_equal(item, &items[i]);
        }
        assert_int_equal(mx_queue_pop(queue, &item, 0, &waited_ns), MX_ERR_TIMEOUT);
        assert_null(item);
        assert_int_equal(waited_ns, 0);
    }
    assert_int_equal(mx_alloc_count(), allocations);
    mx_queue_destroy(queue);
}

static void test_time_limits(void **state)
{
    (void)state;
    int thing;
    void *item;
    uint64_t waited_ns = 0;
    struct mx_queue *queue;
    assert_int_equal(mx_queue_create(1, &queue), 0);
    mx_error_clear();
    assert_int_equal(mx_queue_pop(queue, &item, 3 * MS, &waited_ns), MX_ERR_TIMEOUT);
    assert_true(waited_ns >= 3 * MS);
    assert_int_equal(mx_queue_push(queue, &thing, 0, NULL), 0);
    assert_int_equal(mx_queue_push(queue, &thing, 3 * MS, &waited_ns), MX_ERR_TIMEOUT);
    assert_true(waited_ns >= 3 * MS);
    assert_int_equal(mx_error_last()->code, 0); /* ordinary outcomes leave no error behind */
    assert_int_equal(mx_queue_count(queue), 1);
    /* a limit beyond the end of time is none */
    assert_int_equal(mx_queue_pop(queue, &item, UINT64_MAX - 1, &waited_ns), 0);
    assert_ptr_equal(item, &thing);
    mx_queue_destroy(queue);
}

static void test_close_drains(void **state)
{
    (void)state;
    int items[2];
    void *item;
    struct mx_queue *queue;
    assert_int_equal(mx_queue_create(4, &queue), 0);
    assert_int_equal(mx_queue_push(queue, &items[0], 0, NULL), 0);
    assert_int_equal(mx_queue_push(queue, &items[1], 0, NULL), 0);
    mx_queue_close(queue);
    mx_queue_close(queue);
    assert_int_equal(mx_queue_push(queue, &items[0], MX_QUEUE_FOREVER, NULL), MX_ERR_CLOSED); /* though there is room */
    assert_int_equal(mx_queue_pop(queue, &item, MX_QUEUE_FOREVER, NULL), 0);
    assert_ptr_equal(item, &items[0]);
    assert_int_equal(mx_queue_pop(queue, &item, 0, NULL), 0);
    assert_ptr_equal(item, &items[1]);
    assert_int_equal(mx_queue_pop(queue, &item, MX_QUEUE_FOREVER, NULL), MX_ERR_CLOSED);
    assert_int_equal(mx_queue_pop(queue, &item, 0, NULL), MX_ERR_CLOSED);
    assert_null(item);
    mx_queue_destroy(queue);
}

/* ---- threads; they report by return value because assertions belong to the main thread ---- */

struct blocked {
    struct mx_queue *queue;
    bool push;
    uint64_t timeout_ns;
    _Atomic bool started;
    int rc;
    void *item;
};

static void *blocked_run(void *argument)
{
    struct blocked *self = argument;
    atomic_store(&self->started, true);
    self->rc = self->push ? mx_queue_push(self->queue, self, self->timeout_ns, NULL)
                          : mx_queue_pop(self->queue, &self->item, self->timeout_ns, NULL);
    return NULL;
}

static void test_close_wakes_everyone(void **state)
{
    (void)state;
    enum { COUNT = 6 };
    for (int side = 0; side < 2; side++) {
        struct blocked threads[COUNT];
        pthread_t ids[COUNT];
        struct mx_queue *queue;
        assert_int_equal(mx_queue_create(1, &queue), 0);
        if (side) assert_int_equal(mx_queue_push(queue, queue, 0, NULL), 0); /* full, so pushes block */
        for (int i = 0; i < COUNT; i++) {
            const uint64_t timeout_ns = i % 2 ? MX_QUEUE_FOREVER : 3600 * 1000 * MS;
            threads[i] = (struct blocked){.queue = queue, .push = side, .timeout_ns = timeout_ns};
            assert_int_equal(pthread_create(&ids[i], NULL, blocked_run, &threads[i]), 0);
        }
        for (int i = 0; i < COUNT; i++) {
            while (!atomic_load(&threads[i].started)) sched_yield();
        }
        mx_queue_close(queue);
        for (int i = 0; i < COUNT; i++) {
            assert_int_equal(pthread_join(ids[i], NULL), 0);
            assert_int_equal(threads[i].rc, MX_ERR_CLOSED);
        }
        assert_int_equal(mx_queue_count(queue), side);
        mx_queue_destroy(queue);
    }
}

static void test_blocked_proceed(void **state)
{
    (void)state;
    void *item;
    for (int side = 0; side < 2; side++) {
        pthread_t id;
        struct mx_queue *queue;
        assert_int_equal(mx_queue_create(1, &queue), 0);
        struct blocked other = {.queue = queue, .push = side, .timeout_ns = MX_QUEUE_FOREVER};
        if (side) assert_int_equal(mx_queue_push(queue, queue, 0, NULL), 0);
        assert_int_equal(pthread_create(&id, NULL, blocked_run, &other), 0);
        while (!atomic_load(&other.started)) sched_yield();
        if (side) {
            assert_int_equal(mx_queue_pop(queue, &item, MX_QUEUE_FOREVER, NULL), 0);
            assert_ptr_equal(item, queue);
            assert_int_equal(mx_queue_pop(queue, &item, MX_QUEUE_FOREVER, NULL), 0);
            assert_ptr_equal(item, &other);
        } else {
            assert_int_equal(mx_queue_push(queue, &id, MX_QUEUE_FOREVER, NULL), 0);
        }
        assert_int_equal(pthread_join(id, NULL), 0);
        assert_int_equal(other.rc, 0);
        if (!side) assert_ptr_equal(other.item, &id);
        mx_queue_destroy(queue);
    }
}

enum { PRODUCERS = 3, CONSUMERS = 3, PER_PRODUCER = 2000 };

/* What the queue carries: written by its producer without a lock and read by its consumer, so that ThreadSanitizer
 * sees whether the queue orders the two. */
struct parcel {
    int producer, number;
    _Atomic int taken;
};

struct stress {
    struct mx_queue *queue;
    struct parcel *parcels;
    int producer;
    bool ok;
    int64_t got;
};

static void *produce(void *argument)
{
    struct stress *self = argument;
    self->ok = true;
    for (int i = 0; i < PER_PRODUCER; i++) {
        struct parcel *parcel = &self->parcels[self->producer * PER_PRODUCER + i];
        parcel->producer = self->producer;
        parcel->number = i;
        int rc;
        do {
            rc = mx_queue_push(self->queue, parcel, i % 3 == 0 ? 0 : i % 3 == 1 ? MS : MX_QUEUE_FOREVER, NULL);
        } while (rc == MX_ERR_TIMEOUT);
        if (rc != 0) self->ok = false;
    }
    return NULL;
}

static void *consume(void *argument)
{
    struct stress *self = argument;
    int last[PRODUCERS];
    for (int i = 0; i < PRODUCERS; i++) last[i] = -1;
    self->ok = true;
    for (;;) {
        void *item;
        const int rc = mx_queue_pop(self->queue, &item, self->got % 2 ? MS / 10 : MX_QUEUE_FOREVER, NULL);
        if (rc == MX_ERR_TIMEOUT) continue;
        if (rc == MX_ERR_CLOSED) return NULL;
        struct parcel *parcel = item;
        if (parcel->number <= last[parcel->producer]) self->ok = false; /* first in, first out */
        last[parcel->producer] = parcel->number;
        atomic_fetch_add(&parcel->taken, 1);
        self->got++;
    }
}

static void test_stress(void **state)
{
    (void)state;
    static const uint32_t capacities[] = {1, 2, 7, 64};
    for (size_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
        struct parcel *parcels = mx_alloc(PRODUCERS * PER_PRODUCER, sizeof *parcels);
        struct mx_queue *queue;
        pthread_t ids[PRODUCERS + CONSUMERS];
        struct stress threads[PRODUCERS + CONSUMERS];
        assert_non_null(parcels);
        assert_int_equal(mx_queue_create(capacities[c], &queue), 0);
        for (int i = 0; i < PRODUCERS + CONSUMERS; i++) {
            threads[i] = (struct stress){.queue = queue, .parcels = parcels, .producer = i};
            assert_int_equal(pthread_create(&ids[i], NULL, i < PRODUCERS ? produce : consume, &threads[i]), 0);
        }
        for (int i = 0; i < PRODUCERS; i++) pthread_join(ids[i], NULL);
        mx_queue_close(queue);
        int64_t got = 0;
        for (int i = 0; i < PRODUCERS + CONSUMERS; i++) {
            if (i >= PRODUCERS) pthread_join(ids[i], NULL);
            assert_true(threads[i].ok);
            got += threads[i].got;
        }
        assert_int_equal(got, PRODUCERS * PER_PRODUCER);
        for (int i = 0; i < PRODUCERS * PER_PRODUCER; i++) assert_int_equal(atomic_load(&parcels[i].taken), 1);
        mx_queue_destroy(queue);
        mx_free(parcels);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create),          cmocka_unit_test(test_order_and_limits),
        cmocka_unit_test(test_time_limits),     cmocka_unit_test(test_close_drains),
        cmocka_unit_test(test_blocked_proceed), cmocka_unit_test(test_close_wakes_everyone),
        cmocka_unit_test(test_stress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
