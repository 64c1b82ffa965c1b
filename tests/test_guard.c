/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The guard: what is left out, what is a spike, and when a run must end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>

#include "train/guard.h"

static const struct mx_guard_options options = {.skips_max = 3, .spike = 6};

/* A healthy run: falling, with some noise. */
static double loss_at(int i)
{
    return 2.0 + 3.0 * exp(-i / 40.0) + 0.05 * sin(i * 12.9898);
}

static void steps_feed(struct mx_guard *guard, int count)
{
    for (int i = 0; i < count; i++) {
        const struct mx_guard_report r = mx_guard_observe(&options, guard, loss_at(i), 0.5 + 0.1 * cos(i * 7.7), true);
        assert_int_equal(r.verdict, MX_GUARD_FINE);
    }
}

static void test_ordinary_steps_are_fine(void **state)
{
    (void)state;
    struct mx_guard guard = {0};
    steps_feed(&guard, 500);
    assert_int_equal(guard.seen, 500);
    assert_int_equal(guard.skipped, 0);
    assert_int_equal(guard.spikes, 0);
}

static void test_counts_what_is_not_finite(void **state)
{
    (void)state;
    struct mx_guard guard = {0};
    steps_feed(&guard, 30);
    const struct mx_guard_average before = guard.loss;
    assert_int_equal(mx_guard_observe(&options, &guard, (double)NAN, 1, true).verdict, MX_GUARD_SKIPPED);
    assert_int_equal(mx_guard_observe(&options, &guard, 2, 1, false).verdict, MX_GUARD_SKIPPED);
    assert_true(before.mean == guard.loss.mean && before.variance == guard.loss.variance);
    assert_int_equal(mx_guard_observe(&options, &guard, 2.05, 0.5, true).verdict, MX_GUARD_FINE);
    assert_int_equal(guard.in_row, 0);
    assert_int_equal(guard.skipped, 2);
    assert_int_equal(mx_guard_observe(&options, &guard, (double)INFINITY, 1, true).verdict, MX_GUARD_SKIPPED);
    assert_int_equal(mx_guard_observe(&options, &guard, 1, (double)INFINITY, true).verdict, MX_GUARD_SKIPPED);
    assert_int_equal(mx_guard_observe(&options, &guard, 1, 1, false).verdict, MX_GUARD_STOP);
    assert_int_equal(guard.skipped, 5);
}

static void test_spikes_are_told_by_their_score(void **state)
{
    (void)state;
    struct mx_guard guard = {0};
    steps_feed(&guard, 300);
    struct mx_guard_report r = mx_guard_observe(&options, &guard, 20, 0.5, true);
    assert_int_equal(r.verdict, MX_GUARD_SPIKE);
    assert_true(r.loss_z > 20);
    assert_true(r.norm_z < 6);
    /* One does not hide the next, nor makes the ordinary look odd. */
    r = mx_guard_observe(&options, &guard, 20, 0.5, true);
    assert_int_equal(r.verdict, MX_GUARD_SPIKE);
    assert_int_equal(mx_guard_observe(&options, &guard, 2.0, 0.5, true).verdict, MX_GUARD_FINE);
    assert_int_equal(mx_guard_observe(&options, &guard, 2.0, 50, true).verdict, MX_GUARD_SPIKE);
    assert_int_equal(guard.spikes, 3);
    assert_int_equal(guard.skipped, 0);
}

static void test_a_gradient_within_the_clip_is_no_spike(void **state)
{
    (void)state;
    struct mx_guard guard = {0};
    struct mx_guard_options clipped = options;
    clipped.clip = 10;
    steps_feed(&guard, 300);
    struct mx_guard_report r = mx_guard_observe(&clipped, &guard, 2.0, 9, true);
    assert_int_equal(r.verdict, MX_GUARD_FINE);
    assert_true(r.norm_z > 6);
    r = mx_guard_observe(&clipped, &guard, 2.0, 11, true);
    assert_int_equal(r.verdict, MX_GUARD_SPIKE);
    assert_int_equal(mx_guard_observe(&clipped, &guard, 20, 1, true).verdict,
                     MX_GUARD_SPIKE); /* the loss counts as ever */
    assert_int_equal(guard.spikes, 2);
}

static void test_says_nothing_before_it_knows(void **state)
{
    (void)state;
    struct mx_guard guard = {0};
    for (int i = 0; i < MX_GUARD_WARMUP; i++) {
        const struct mx_guard_report r = mx_guard_observe(&options, &guard, i % 2 ? 1 : 1000, 1, true);
        assert_int_equal(r.verdict, MX_GUARD_FINE);
        assert_true(r.loss_z == 0 && r.norm_z == 0);
    }
}

static void test_constant_runs_do_not_spike_by_rounding(void **state)
{
    (void)state;
    struct mx_guard guard = {0};
    for (int i = 0; i < 100; i++)
        assert_int_equal(mx_guard_observe(&options, &guard, 1 + 1e-9 * (i % 3), 1, true).verdict, MX_GUARD_FINE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ordinary_steps_are_fine),
                                       cmocka_unit_test(test_counts_what_is_not_finite),
                                       cmocka_unit_test(test_spikes_are_told_by_their_score),
                                       cmocka_unit_test(test_a_gradient_within_the_clip_is_no_spike),
                                       cmocka_unit_test(test_says_nothing_before_it_knows),
                                       cmocka_unit_test(test_constant_runs_do_not_spike_by_rounding)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
