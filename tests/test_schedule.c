/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The learning rate: shape, limits, and that it never stops being a number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "myxtts/error.h"
#include "train/schedule.h"

static const struct mx_schedule plain = {
    .peak = 1e-3, .floor = 0.02, .warmup = 100, .steps = 1000, .cycles = 1, .cycle_decay = 1};

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 + 1e-9 * fabs(b);
}

static void test_warms_up_then_falls_to_the_floor(void **state)
{
    (void)state;
    assert_true(near(mx_schedule_rate(&plain, 0), 1e-5));
    assert_true(near(mx_schedule_rate(&plain, 49), 5e-4));
    assert_true(near(mx_schedule_rate(&plain, 99), 1e-3));
    assert_true(near(mx_schedule_rate(&plain, 100), 1e-3));
    assert_true(near(mx_schedule_rate(&plain, 550), 2e-5 + (1e-3 - 2e-5) / 2));
    for (int64_t i = 101; i < 1000; i++) assert_true(mx_schedule_rate(&plain, i) < mx_schedule_rate(&plain, i - 1));
    assert_true(mx_schedule_rate(&plain, 999) > 2e-5);
    assert_true(near(mx_schedule_rate(&plain, 1000), 2e-5));
    assert_true(near(mx_schedule_rate(&plain, 1001), 2e-5));
}

static void test_is_finite_and_positive_for_ever(void **state)
{
    (void)state;
    for (int level = 0; level < MX_LEVEL_COUNT; level++) {
        const struct mx_level_settings *const s = mx_level_settings((enum mx_level)level);
        const int64_t lengths[] = {1, 2, 7, 999, 20000000, INT64_MAX};
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
            const struct mx_schedule schedule = {.peak = s->peak,
                                                 .floor = s->floor,
                                                 .warmup = s->warmup,
                                                 .steps = lengths[k],
                                                 .cycles = s->cycles,
                                                 .cycle_decay = s->cycle_decay};
            assert_int_equal(mx_schedule_check(&schedule), 0);
            for (int64_t step = 0; step <= 12000000; step += step < 3000 ? 1 : 9973) {
                const double rate = mx_schedule_rate(&schedule, step);
                assert_true(isfinite(rate) && rate > 0 && rate <= s->peak * (1 + 1e-12));
                assert_true((float)rate > 0);
            }
            const int64_t far[] = {10000000, INT64_C(1) << 40, INT64_MAX - 1, INT64_MAX};
            for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
                const double rate = mx_schedule_rate(&schedule, far[i]);
                assert_true(isfinite(rate) && rate > 0 && rate <= s->peak * (1 + 1e-12));
            }
        }
    }
}

static void test_cycles_begin_anew_from_lower_tops(void **state)
{
    (void)state;
    const struct mx_schedule s = {
        .peak = 1e-3, .floor = 0.01, .warmup = 0, .steps = 400, .cycles = 4, .cycle_decay = 0.5};
    assert_true(near(mx_schedule_rate(&s, 0), 1e-3));
    assert_true(near(mx_schedule_rate(&s, 100), 5e-4));
    assert_true(near(mx_schedule_rate(&s, 200), 2.5e-4));
    assert_true(near(mx_schedule_rate(&s, 300), 1.25e-4));
    assert_true(mx_schedule_rate(&s, 99) < 2e-5);
    assert_true(near(mx_schedule_rate(&s, 400), 1e-5));
}

static void test_holds_the_peak_until_the_last_stretch(void **state)
{
    (void)state;
    const struct mx_schedule s = {
        .peak = 1e-3, .floor = 0.02, .warmup = 100, .steps = 1000, .hold = 800, .cycles = 4, .cycle_decay = 0.5};
    assert_true(near(mx_schedule_rate(&s, 49), 5e-4));
    for (int64_t i = 99; i <= 800; i++) assert_true(near(mx_schedule_rate(&s, i), 1e-3));
    for (int64_t i = 801; i <= 1000; i++) assert_true(mx_schedule_rate(&s, i) < mx_schedule_rate(&s, i - 1));
    assert_true(near(mx_schedule_rate(&s, 850), 2e-5 + (1e-3 - 2e-5) / 2));
    assert_true(near(mx_schedule_rate(&s, 1000), 2e-5));
    assert_true(near(mx_schedule_rate(&s, INT64_MAX), 2e-5));
}

static void test_falls_from_where_it_is(void **state)
{
    (void)state;
    struct mx_schedule s = plain;
    s.fall = 550, s.fall_end = 650;
    for (int64_t i = 0; i <= 550; i++) assert_true(mx_schedule_rate(&s, i) == mx_schedule_rate(&plain, i));
    for (int64_t i = 551; i <= 650; i++) assert_true(mx_schedule_rate(&s, i) < mx_schedule_rate(&s, i - 1));
    assert_true(near(mx_schedule_rate(&s, 575), 2e-5 + (1e-3 - 2e-5) / 4));
    assert_true(near(mx_schedule_rate(&s, 650), 2e-5));
    assert_true(near(mx_schedule_rate(&s, INT64_MAX), 2e-5));
    s.fall = 1, s.fall_end = 5; /* in the warm-up, below the floor: it stays there */
    assert_true(near(mx_schedule_rate(&s, 1), 2e-5) && near(mx_schedule_rate(&s, 4), 2e-5));
    s.floor = 0.5;
    assert_true(near(mx_schedule_rate(&s, 9), 2e-5));
    s = (struct mx_schedule){.peak = 1e-3, .floor = 0.02, .steps = 1000, .hold = 800, .cycles = 1, .cycle_decay = 1};
    s.fall = 850, s.fall_end = 900; /* in the last stretch of a run that ends by itself */
    assert_true(near(mx_schedule_rate(&s, 850), 2e-5 + (1e-3 - 2e-5) / 2));
    assert_true(near(mx_schedule_rate(&s, 900), 2e-5));
}

static void test_refuses_what_would_come_to_rest(void **state)
{
    (void)state;
    struct mx_schedule s = plain;
    assert_int_equal(mx_schedule_check(&s), 0);
    s.peak = 0;
    assert_int_equal(mx_schedule_check(&s), MX_ERR_CONFIG);
    s.peak = NAN;
    assert_int_equal(mx_schedule_check(&s), MX_ERR_CONFIG);
    s = plain;
    s.floor = 0;
    assert_int_equal(mx_schedule_check(&s), MX_ERR_CONFIG);
    s.floor = 1.5;
    assert_int_equal(mx_schedule_check(&s), MX_ERR_CONFIG);
    s = plain;
    s.steps = 0;
    assert_int_equal(mx_schedule_check(&s), MX_ERR_CONFIG);
    s = plain;
    s.cycles = 0;
    assert_int_equal(mx_schedule_check(&s), MX_ERR_CONFIG);
    s = plain;
    s.cycle_decay = 0;
    assert_int_equal(mx_schedule_check(&s), MX_ERR_CONFIG);
    s = plain;
    s.peak = 1e-20;
    s.floor = 1e-20;
    assert_int_equal(mx_schedule_check(&s), MX_ERR_CONFIG);
    mx_error_clear();
}

static void test_levels_differ(void **state)
{
    (void)state;
    assert_true(mx_level_settings(MX_LEVEL_BASIC)->peak < mx_level_settings(MX_LEVEL_ENHANCED)->peak);
    assert_true(mx_level_settings(MX_LEVEL_PLATEAU_BREAKER)->cycles > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_warms_up_then_falls_to_the_floor),
                                       cmocka_unit_test(test_is_finite_and_positive_for_ever),
                                       cmocka_unit_test(test_holds_the_peak_until_the_last_stretch),
                                       cmocka_unit_test(test_cycles_begin_anew_from_lower_tops),
                                       cmocka_unit_test(test_falls_from_where_it_is),
                                       cmocka_unit_test(test_refuses_what_would_come_to_rest),
                                       cmocka_unit_test(test_levels_differ)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
