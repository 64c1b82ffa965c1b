/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The pauses around words, and which other sound keeps words apart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cut/pauses.h"

#define WINDOWS 400 /* 4 seconds, all loud at first */
#define WINDOW  220 /* samples: 10 ms */
#define LOUD    1.0f
#define QUIET   1e-6f

static float levels[WINDOWS];
static struct mx_cut_recording recording = {.path = "r", .samples = WINDOWS * WINDOW};
static const struct mx_cut_sound sound = {.recipe = MX_RECIPE_DEFAULT,
                                          .window = WINDOW,
                                          .recordings = &recording,
                                          .count = 1,
                                          .sample_count = WINDOWS * WINDOW,
                                          .levels = levels,
                                          .level_count = WINDOWS,
                                          .noise = 1e-6,
                                          .speech = 1};
static struct mx_align_word words[2];
static const struct mx_align_text text = {.words = words, .word_count = 2};
static int64_t begins[2], ends[2];
static struct mx_align_span other;
static const struct mx_align_path path = {.begin = begins, .end = ends, .other = &other, .other_count = 1};
static struct mx_cut_timing heard[2];

/* Frames of a time in ms. */
static int64_t frames(double ms)
{
    return (int64_t)(ms * MX_RECIPE_DEFAULT->rate / 1000 / MX_RECIPE_DEFAULT->hop);
}

static void quiet(int from_ms, int until_ms)
{
    for (int i = from_ms / 10; i < until_ms / 10; i++) levels[i] = QUIET;
}

/* Two words, at 500 … 1000 ms and at 2500 … 3000, with other sound between them. */
static void find(double from_ms, double until_ms)
{
    begins[0] = frames(500);
    ends[0] = frames(1000);
    begins[1] = frames(2500);
    ends[1] = frames(3000);
    other = (struct mx_align_span){frames(from_ms), frames(until_ms), 1};
    mx_cut_pauses_find(&sound, &text, &path, heard);
}

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < WINDOWS; i++) levels[i] = LOUD;
    return 0;
}

static void test_long(void **state)
{
    (void)state;
    find(1100, 2400);
    assert_true(heard[1].apart && !heard[0].apart);
}

/* Half a second keeps words apart if there is a pause on both sides of it. */
static void test_short(void **state)
{
    (void)state;
    find(1500, 2000);
    assert_false(heard[1].apart);
    quiet(1200, 1500);
    find(1500, 2000);
    assert_false(heard[1].apart);
    quiet(2000, 2500);
    find(1500, 2000);
    assert_true(heard[1].apart);
    find(1500, 1600);
    assert_false(heard[1].apart);
}

/* Each word beside other sound has the pause on its own side, even if that ends where the search does. */
static void test_sides(void **state)
{
    (void)state;
    quiet(1050, 1300);
    quiet(2300, 2450);
    find(1300, 2300);
    assert_true(heard[1].apart);
    assert_in_range(heard[0].still_begin, 1040 * 22, 1060 * 22);
    assert_in_range(heard[0].still_end, 1290 * 22, 1310 * 22);
    assert_in_range(heard[1].quiet_begin, 2290 * 22, 2310 * 22);
    assert_in_range(heard[1].quiet_end, 2440 * 22, 2460 * 22);
    quiet(1050, 3000);
    find(1300, 2300);
    assert_true(heard[0].still_end > heard[0].still_begin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_long, setup),
                                       cmocka_unit_test_setup(test_short, setup),
                                       cmocka_unit_test_setup(test_sides, setup)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
