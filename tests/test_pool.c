/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Threads and the worker pool: every worker runs once per call, barriers order plain memory, ranges are covered
 * exactly, sleeping workers wake, pinning and names arrive, and a pool that cannot be made leaves nothing behind.
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
#include "base/thread/pool.h"
#include "myxtts/error.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum { WORKERS_MAX = 4, CORES_MAX = 1024 };

static struct mx_pool *make_pool(int workers)
{
    struct mx_pool *pool = NULL;
    const struct mx_pool_options options = {.name = "test", .workers = workers};
    assert_int_equal(mx_pool_create(&options, &pool), 0);
    return pool;
}

struct counts {
    int64_t value[WORKERS_MAX]; /* plain: each worker its own, the owner reads all after the run */
    pthread_t thread[WORKERS_MAX];
};

static void count_run(void *context, int worker)
{
    struct counts *counts = context;
    counts->value[worker]++;
    counts->thread[worker] = pthread_self();
}

static void test_run(void **state)
{
    (void)state;
    for (int workers = 1; workers <= WORKERS_MAX; workers++) {
        struct mx_pool *pool = make_pool(workers);
        struct counts counts = {0};
        const uint64_t allocations = mx_alloc_count();
        for (int64_t run = 1; run <= 2000; run++) {
            mx_pool_run(pool, count_run, &counts);
            for (int w = 0; w < workers; w++) assert_int_equal(counts.value[w], run);
        }
        assert_int_equal(mx_alloc_count(), allocations);
        assert_true(pthread_equal(counts.thread[0], pthread_self()));
        for (int w = 1; w < workers; w++) assert_false(pthread_equal(counts.thread[w], counts.thread[0]));
        mx_pool_destroy(pool);
    }
}

/* Long enough between the runs for all workers to have gone to sleep. */
static void test_wake_from_sleep(void **state)
{
    (void)state;
    struct mx_pool *pool = make_pool(3);
    struct counts counts = {0};
    for (int64_t run = 1; run <= 50; run++) {
        mx_clock_sleep_ns(1000000);
        mx_pool_run(pool, count_run, &counts);
        for (int w = 0; w < 3; w++) assert_int_equal(counts.value[w], run);
    }
    mx_clock_sleep_ns(1000000);
    mx_pool_destroy(pool);
}

struct phases {
    struct mx_pool *pool;
    int workers, count;
    int64_t slot[WORKERS_MAX]; /* plain: only the barrier orders them */
    bool wrong[WORKERS_MAX];
    uint64_t pause_ns;
};

static void phases_run(void *context, int worker)
{
    struct phases *phases = context;
    for (int phase = 1; phase <= phases->count; phase++) {
        if (phases->pause_ns && phase % phases->workers == worker) mx_clock_sleep_ns(phases->pause_ns);
        phases->slot[worker] = phase;
        mx_pool_barrier(phases->pool);
        for (int w = 0; w < phases->workers; w++) {
            if (phases->slot[w] != phase) phases->wrong[worker] = true;
        }
        mx_pool_barrier(phases->pool);
    }
}

static void test_barrier(void **state)
{
    (void)state;
    for (int workers = 1; workers <= WORKERS_MAX; workers++) {
        struct mx_pool *pool = make_pool(workers);
        struct phases fast = {.pool = pool, .workers = workers, .count = 500};
        struct phases slow = {.pool = pool, .workers = workers, .count = 50, .pause_ns = 500000};
        for (int round = 0; round < 3; round++) mx_pool_run(pool, phases_run, &fast);
        mx_pool_run(pool, phases_run, &slow); /* the waiting workers go to sleep */
        for (int w = 0; w < workers; w++) {
            assert_false(fast.wrong[w]);
            assert_false(slow.wrong[w]);
            assert_int_equal(fast.slot[w], fast.count);
        }
        mx_pool_destroy(pool);
    }
}

struct cover {
    unsigned char *seen; /* plain: chunks do not overlap */
    int64_t count, grain;
    _Atomic int bad;
    _Atomic int64_t chunks;
};

static void cover_run(void *context, int64_t begin, int64_t end, int worker)
{
    struct cover *cover = context;
    if (begin < 0 || begin >= end || end > cover->count || end - begin > cover->grain || worker < 0 ||
        worker >= WORKERS_MAX) {
        atomic_fetch_add(&cover->bad, 1);
        return;
    }
    atomic_fetch_add(&cover->chunks, 1);
    if (!cover->seen) return;
    for (int64_t i = begin; i < end; i++) cover->seen[i]++;
}

static void test_for(void **state)
{
    (void)state;
    enum { LARGEST = 1000 };
    static const int64_t sizes[] = {1, 2, 3, 64, 999, LARGEST}, grains[] = {1, 2, 7, 64, 1000, 5000};
    unsigned char seen[LARGEST];
    for (int workers = 1; workers <= WORKERS_MAX; workers++) {
        struct mx_pool *pool = make_pool(workers);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            for (size_t g = 0; g < sizeof grains / sizeof *grains; g++) {
                struct cover cover = {.seen = seen, .count = sizes[s], .grain = grains[g]};
                memset(seen, 0, sizeof seen);
                mx_pool_for(pool, sizes[s], grains[g], cover_run, &cover);
                assert_int_equal(atomic_load(&cover.bad), 0);
                assert_int_equal(atomic_load(&cover.chunks), (sizes[s] + grains[g] - 1) / grains[g]);
                for (int64_t i = 0; i < LARGEST; i++) assert_int_equal(seen[i], i < sizes[s]);
            }
        }
        struct cover none = {.count = 0, .grain = 1}, huge = {.count = INT64_MAX, .grain = INT64_MAX / 3};
        mx_pool_for(pool, 0, 1, cover_run, &none);
        mx_pool_for(pool, -5, 1, cover_run, &none);
        assert_int_equal(atomic_load(&none.chunks), 0);
        assert_int_equal(atomic_load(&none.bad), 0);
        mx_pool_for(pool, huge.count, huge.grain, cover_run, &huge); /* no overflow at the far end */
        assert_int_equal(atomic_load(&huge.bad), 0);
        assert_int_equal(atomic_load(&huge.chunks), 4);
        struct cover single = {.seen = seen, .count = 10, .grain = 1};
        mx_pool_for(pool, 10, 0, cover_run, &single); /* a grain of 0 means 1 */
        assert_int_equal(atomic_load(&single.bad), 0);
        assert_int_equal(atomic_load(&single.chunks), 10);
        mx_pool_destroy(pool);
    }
}

struct place {
    int core[WORKERS_MAX], allowed[WORKERS_MAX];
    char name[WORKERS_MAX][16];
    bool interrupt_blocked[WORKERS_MAX];
};

static void place_run(void *context, int worker)
{
    struct place *place = context;
    sigset_t blocked;
    place->core[worker] = sched_getcpu();
    place->allowed[worker] = mx_thread_cores(NULL, 0);
    pthread_getname_np(pthread_self(), place->name[worker], sizeof place->name[worker]);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    place->interrupt_blocked[worker] = sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGSEGV) == 0;
}

static void test_pinning_and_names(void **state)
{
    (void)state;
    int cores[CORES_MAX], wanted[WORKERS_MAX];
    const int count = mx_thread_cores(cores, CORES_MAX);
    assert_true(count >= 1);
    assert_int_equal(mx_thread_cores(NULL, 0), count);
    for (int i = 1; i < count && i < CORES_MAX; i++) assert_true(cores[i] > cores[i - 1]);
    for (int w = 0; w < WORKERS_MAX; w++) wanted[w] = cores[w % count];
    struct mx_pool *pool;
    const struct mx_pool_options options = {
        .name = "a rather long name", .workers = WORKERS_MAX, .cores = wanted, .spin_ns = 1000};
    assert_int_equal(mx_pool_create(&options, &pool), 0);
    struct place place = {0};
    mx_pool_run(pool, place_run, &place);
    for (int w = 1; w < WORKERS_MAX; w++) {
        assert_int_equal(place.core[w], wanted[w]);
        assert_int_equal(place.allowed[w], 1);
        assert_true(place.interrupt_blocked[w]);
    }
    assert_int_equal(place.allowed[0], count); /* the caller is left alone */
    assert_string_equal(place.name[3], "a rather long/3");
    assert_false(place.interrupt_blocked[0]);
    mx_pool_destroy(pool);
}

static void *pin_self(void *argument)
{
    const int *core = argument;
    if (mx_thread_pin(-1) != 0 || mx_thread_pin(*core) != 0) return NULL;
    return mx_thread_cores(NULL, 0) == 1 && sched_getcpu() == *core ? argument : NULL;
}

static void test_threads(void **state)
{
    (void)state;
    int cores[CORES_MAX];
    const int count = mx_thread_cores(cores, CORES_MAX);
    pthread_t thread;
    void *result;
    for (int i = 0; i < count && i < 4; i++) {
        assert_int_equal(mx_thread_start(&thread, "pin", -1, pin_self, &cores[i]), 0);
        pthread_join(thread, &result);
        assert_ptr_equal(result, &cores[i]);
    }
    assert_int_equal(mx_thread_pin(-2), MX_ERR_ARGUMENT);
    assert_int_equal(mx_thread_pin(1 << 20), MX_ERR_ARGUMENT);
    assert_int_equal(mx_thread_pin(8191), MX_ERR_ARGUMENT);
    assert_true(mx_error_last()->hint[0] != '\0');
    assert_int_equal(mx_thread_start(&thread, "no", 8191, pin_self, cores), MX_ERR_ARGUMENT);
    assert_int_equal(mx_thread_start(&thread, "no", -7, pin_self, cores), MX_ERR_ARGUMENT);
    assert_int_equal(mx_thread_cores(NULL, 0), count); /* failures pinned nobody */
}

static void test_create_failures(void **state)
{
    (void)state;
    int cores[CORES_MAX];
    assert_true(mx_thread_cores(cores, CORES_MAX) >= 1);
    struct mx_pool *pool = (void *)1;
    struct mx_pool_options options = {.name = "x", .workers = 0};
    assert_int_equal(mx_pool_create(&options, &pool), MX_ERR_ARGUMENT);
    assert_null(pool);
    options.workers = 1 << 30;
    assert_int_equal(mx_pool_create(&options, &pool), MX_ERR_ARGUMENT);
    options.workers = 3;
    mx_alloc_fail_at(1);
    assert_int_equal(mx_pool_create(&options, &pool), MX_ERR_NO_MEMORY);
    /* the second thread cannot start: the first one is joined and all memory released (the sanitizers look) */
    const int bad[] = {-1, cores[0], 8191};
    options.cores = bad;
    assert_int_equal(mx_pool_create(&options, &pool), MX_ERR_ARGUMENT);
    assert_null(pool);
    mx_pool_destroy(NULL);
}

static void *own_pool(void *argument)
{
    struct mx_pool *pool = argument;
    struct counts counts = {0};
    for (int i = 0; i < 500; i++) mx_pool_run(pool, count_run, &counts);
    return counts.value[0] == 500 && counts.value[1] == 500 ? argument : NULL;
}

/* Two pools share no state, and a pool may be handed from the thread that made it to the one that owns it. */
static void test_two_pools(void **state)
{
    (void)state;
    struct mx_pool *pools[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        pools[i] = make_pool(2);
        assert_int_equal(mx_thread_start(&threads[i], "owner", -1, own_pool, pools[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, pools[i]);
        mx_pool_destroy(pools[i]);
    }
}

struct failing {
    struct mx_first_error failure;
    atomic_int kept; /* workers that have failed */
};

static void fail_run(void *context, int worker)
{
    struct failing *const f = context;
    if (worker > 0) /* worker 0 is the first, whatever the machine does */
        while (!mx_first_error_failed(&f->failure)) sched_yield();
    MX_FAIL(MX_ERR_DATA - worker, NULL, "worker %d", worker);
    mx_first_error_keep(&f->failure);
    atomic_fetch_add(&f->kept, 1);
}

static void test_first_error(void **state)
{
    (void)state;
    struct mx_pool *const pool = make_pool(WORKERS_MAX);
    struct failing f = {.kept = 0};
    assert_false(mx_first_error_failed(&f.failure));
    assert_int_equal(mx_first_error_raise(&f.failure), 0);
    mx_pool_run(pool, fail_run, &f);
    assert_int_equal(atomic_load(&f.kept), WORKERS_MAX);
    mx_error_clear();
    assert_int_equal(mx_first_error_raise(&f.failure), MX_ERR_DATA);
    assert_int_equal(mx_error_last()->code, MX_ERR_DATA);
    assert_string_equal(mx_error_last()->message, "worker 0");
    mx_error_clear();
    mx_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run),
        cmocka_unit_test(test_wake_from_sleep),
        cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_for),
        cmocka_unit_test(test_pinning_and_names),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_create_failures),
        cmocka_unit_test(test_two_pools),
        cmocka_unit_test(test_first_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
