/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shares as plain values: lists of them as text and back, where a batch is divided, and what follows from times.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "myxtts/error.h"
#include "train/share_policy.h"

static void test_lists_hold_from_step_to_step(void **state)
{
    (void)state;
    struct mx_shares shares;
    char text[MX_SHARES_TEXT_BYTES];
    assert_int_equal(mx_shares_parse("2:0.5,15:0.47,100:0", &shares), 0);
    assert_int_equal(shares.count, 3);
    const double expected[] = {0, 0, 0.5, 0.5};
    for (int i = 0; i < 4; i++) assert_true(mx_shares_at(&shares, i) == expected[i]);
    assert_true(mx_shares_at(&shares, 14) == 0.5 && mx_shares_at(&shares, 15) == 0.47);
    assert_true(mx_shares_at(&shares, 99) == 0.47 && mx_shares_at(&shares, INT64_MAX) == 0);
    mx_shares_format(&shares, text);
    assert_string_equal(text, "2:0.5,15:0.47,100:0.0");
    assert_int_equal(mx_shares_parse("", &shares), 0);
    assert_int_equal(shares.count, 0);
    mx_shares_format(&shares, text);
    assert_string_equal(text, "");
    assert_true(mx_shares_at(&shares, 5) == 0);
}

static void test_any_share_reads_back_to_the_same_bits(void **state)
{
    (void)state;
    struct mx_shares shares = {0}, again;
    char text[MX_SHARES_TEXT_BYTES];
    for (int i = 0; i < MX_SHARE_POINTS; i++)
        assert_true(mx_shares_add(&shares, INT64_MAX - MX_SHARE_POINTS + i,
                                  (double)mx_rng_below(1, 2, (uint64_t)i, 1u << 30) / 0x1p30));
    assert_false(mx_shares_add(&shares, INT64_MAX, 0.5));
    mx_shares_format(&shares, text);
    assert_true(strlen(text) < sizeof text - 1);
    assert_int_equal(mx_shares_parse(text, &again), 0);
    assert_memory_equal(&shares, &again, sizeof shares);
    /* The last point may still be replaced. */
    assert_true(mx_shares_add(&shares, INT64_MAX - 1, 0.25));
    assert_int_equal(shares.count, MX_SHARE_POINTS);
}

static void test_wrong_lists_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"0.5",    "0:",           ":0.5",        "0:1.1",        "0:-0.1",
                                        "-1:0.5", "3:0.5,2:0.4",  "3:0.5,3:0.4", "0:nan",        "0:0.5;3:0.4",
                                        "a:b",    "0:0.5,,3:0.4", "0.5:3",       "0:0.5 ,3:0.5", "0:.inf"};
    struct mx_shares shares;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (mx_shares_parse(wrong[i], &shares) != MX_ERR_USAGE) fail_msg("'%s' was taken", wrong[i]);
        assert_true(mx_error_last()->hint[0] != '\0');
    }
    mx_error_clear();
}

/* ---- dividing ---- */

static int64_t frames_of(const int32_t *offsets, int32_t sequences, struct mx_share_part part)
{
    assert_true(part.first >= 0 && part.count >= 0 && part.first + part.count <= sequences);
    return offsets[part.first + part.count] - offsets[part.first];
}

static void test_the_nearest_part_is_found(void **state)
{
    (void)state;
    const int32_t offsets[] = {0, 10, 30, 60, 100}; /* 10, 20, 30, 40 */
    static const struct {
        double wanted;
        int64_t most;
        int32_t first, count;
    } cases[] = {{0, 100, 0, 0},  {4, 100, 0, 0},  {6, 100, 0, 1},  {30, 100, 2, 1},  {41, 100, 3, 1},  {50, 100, 1, 2},
                 {56, 100, 0, 3}, {68, 100, 2, 2}, {84, 100, 1, 3}, {100, 100, 0, 4}, {500, 100, 0, 4}, {68, 50, 1, 2},
                 {68, 45, 3, 1},  {100, 9, 0, 0},  {35, 100, 2, 1}, {19, 100, 1, 1},  {15, 100, 0, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct mx_share_part part = mx_share_split(offsets, 4, cases[i].wanted, cases[i].most);
        if (part.count != cases[i].count || part.first != cases[i].first)
            fail_msg("%g of 100 frames: %d sequences from %d on", cases[i].wanted, (int)part.count, (int)part.first);
    }
    const int32_t one[] = {0, 50};
    assert_int_equal(mx_share_split(one, 1, 24, 50).count, 0);
    assert_int_equal(mx_share_split(one, 1, 25, 50).count, 0);
    assert_int_equal(mx_share_split(one, 1, 26, 50).count, 1);
}

static void test_no_part_is_nearer_and_none_too_large(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 2000; round++) {
        int32_t offsets[17] = {0};
        const int32_t count = 1 + (int32_t)mx_rng_below(3, round, 0, 16);
        for (int32_t i = 0; i < count; i++)
            offsets[i + 1] = offsets[i] + 1 + (int32_t)mx_rng_below(3, round, (uint64_t)i + 1, 90);
        const double wanted = (double)mx_rng_below(3, round, 20, (uint64_t)offsets[count] + 1);
        const int64_t most = (int64_t)mx_rng_below(3, round, 21, (uint64_t)offsets[count] + 1);
        const struct mx_share_part part = mx_share_split(offsets, count, wanted, most);
        const int64_t frames = frames_of(offsets, count, part);
        assert_true(frames <= most);
        for (int32_t k = 0; k <= count; k++)
            for (int32_t first = 0; first + k <= count; first++) {
                const int64_t other = frames_of(offsets, count, (struct mx_share_part){first, k});
                assert_true(other > most || fabs((double)other - wanted) >= fabs((double)frames - wanted));
            }
    }
}

/* ---- times ---- */

static void test_balance_makes_both_end_together(void **state)
{
    (void)state;
    struct mx_share_meter meter = {0};
    assert_true(mx_share_balance(&meter, 0.3, 0.75) == 0.3); /* nothing is known */
    mx_share_meter_add(&meter, 1000, 100, 3000, 100, 4000);
    mx_share_meter_add(&meter, 1000, 100, 3000, 100, 4000);
    assert_true(mx_share_balance(&meter, 0.5, 0.75) == 0.25);  /* a third of the speed */
    assert_true(mx_share_balance(&meter, 0.29, 0.75) == 0.29); /* too little of a change, after two steps */
    for (int i = 0; i < 6; i++) mx_share_meter_add(&meter, 1000, 100, 3000, 100, 4000);
    assert_true(mx_share_balance(&meter, 0.29, 0.75) == 0.25);   /* and after eight */
    assert_true(mx_share_balance(&meter, 0.245, 0.75) == 0.245); /* always */
    meter = (struct mx_share_meter){0};
    for (int i = 0; i < 16; i++) mx_share_meter_add(&meter, i % 2 ? 1000 : 1400, 100, i % 4 < 2 ? 1000 : 1300, 100, 1);
    assert_true(mx_share_balance(&meter, 0.5, 0.75) == 0.5);   /* steps that vary this much cannot show 0.509 */
    assert_true(mx_share_balance(&meter, 0.4, 0.75) == 0.509); /* but they show that it is not 0.4 */
    meter = (struct mx_share_meter){0};
    mx_share_meter_add(&meter, 9000, 100, 1000, 100, 9000);
    assert_true(mx_share_balance(&meter, 0.5, 0.75) == 0.75);
    meter = (struct mx_share_meter){0};
    for (int i = 0; i < 41; i++) /* a neighbour takes one device away now and then, and early on for long */
        mx_share_meter_add(&meter, i % 5 == 0 || i < 9 ? 9000 : 1000, 100, 1000, 100, 9000);
    assert_true(mx_share_balance(&meter, 0.3, 0.75) == 0.5);
    meter = (struct mx_share_meter){0};
    mx_share_meter_add(&meter, 1000, 100, 0, 0, 1000); /* nothing was shared */
    assert_true(mx_share_balance(&meter, 0.4, 0.75) == 0.4);
}

/* ---- decisions ---- */

/* Ten steps of 1,000 frames, `shared` of them on the data device, with these nanoseconds each. */
static struct mx_share_meter meter_of(int64_t shared, uint64_t own_ns, uint64_t other_ns, uint64_t step_ns)
{
    struct mx_share_meter meter = {0};
    for (int i = 0; i < 10; i++) mx_share_meter_add(&meter, own_ns, 1000 - shared, other_ns, shared, step_ns);
    return meter;
}

static void test_auto_begins_when_the_data_device_is_idle(void **state)
{
    (void)state;
    const struct mx_share_meter meter = meter_of(0, 90, 0, 100);
    struct mx_share_case c = {.mode = MX_SHARE_AUTO, .most = 0.75, .speed = 1, .idle = 0.98, .meter = &meter};
    struct mx_share_decision d = mx_share_decide(&c);
    assert_true(d.verdict == MX_SHARE_BEGIN && d.share == 0.495 && d.gain == 0);
    c.speed = 9; /* of a much faster device: no more than it has room for */
    assert_true(mx_share_decide(&c).share == 0.75);
    c.speed = 1;
    c.idle = 0.12; /* just enough for a tenth of a batch */
    d = mx_share_decide(&c);
    assert_true(d.verdict == MX_SHARE_BEGIN && d.share == 0.107);
    c.idle = 0.1; /* and not quite */
    d = mx_share_decide(&c);
    assert_true(d.verdict == MX_SHARE_KEEP && d.share == 0);
    c.idle = 1;
    c.speed = 0.1; /* idle, but slow */
    assert_int_equal(mx_share_decide(&c).verdict, MX_SHARE_KEEP);
    c.speed = 1;
    c.mode = MX_SHARE_ON; /* begins at once or was told not to */
    assert_int_equal(mx_share_decide(&c).verdict, MX_SHARE_KEEP);
    c.mode = MX_SHARE_AUTO;
    const struct mx_share_meter nothing = {0};
    c.meter = &nothing;
    assert_int_equal(mx_share_decide(&c).verdict, MX_SHARE_KEEP);
}

static void test_auto_ends_what_gains_nothing(void **state)
{
    (void)state;
    const struct mx_share_meter meter = meter_of(500, 55, 55, 100);
    struct mx_share_case c = {
        .mode = MX_SHARE_AUTO, .share = 0.5, .most = 0.75, .speed = 1, .alone_ns = 0.102, .meter = &meter};
    struct mx_share_decision d = mx_share_decide(&c);
    assert_true(d.verdict == MX_SHARE_END && d.share == 0 && fabs(d.gain - 1.02) < 1e-12);
    c.alone_ns = 0.19; /* gains enough */
    d = mx_share_decide(&c);
    assert_true(d.verdict == MX_SHARE_KEEP && d.share == 0.5 && fabs(d.gain - 1.9) < 1e-12);
    c.alone_ns = 0; /* not known */
    assert_int_equal(mx_share_decide(&c).verdict, MX_SHARE_KEEP);
    c.alone_ns = 0.102;
    c.mode = MX_SHARE_ON; /* as it was told */
    assert_int_equal(mx_share_decide(&c).verdict, MX_SHARE_KEEP);
}

static void test_a_decision_balances_what_is_shared(void **state)
{
    (void)state;
    const struct mx_share_meter meter = meter_of(500, 30, 90, 100);
    const struct mx_share_case c = {
        .mode = MX_SHARE_AUTO, .share = 0.5, .most = 0.75, .speed = 1, .alone_ns = 0.15, .meter = &meter};
    const struct mx_share_decision d = mx_share_decide(&c);
    assert_true(d.verdict == MX_SHARE_CHANGE && d.share == 0.25);
}

/* ---- whether work is shared at all ---- */

static void test_whether_work_is_shared(void **state)
{
    static const struct {
        struct mx_share_setup setup;
        struct mx_share_choice choice;
    } table[] = {
        {{MX_SHARE_OFF, .two_devices = true}, {MX_SHARE_OFF, MX_SHARE_NO_OBSTACLE, false}},
        {{MX_SHARE_ON, .two_devices = true}, {MX_SHARE_ON, MX_SHARE_NO_OBSTACLE, false}},
        {{MX_SHARE_AUTO, .two_devices = true}, {MX_SHARE_AUTO, MX_SHARE_NO_OBSTACLE, false}},
        /* what was not asked for meets no obstacle */
        {{MX_SHARE_OFF, .ranks = true, .unable = true}, {MX_SHARE_OFF, MX_SHARE_NO_OBSTACLE, false}},
        /* auto yields to each obstacle, on is refused */
        {{MX_SHARE_ON, .two_devices = false}, {MX_SHARE_ON, MX_SHARE_ONE_DEVICE, true}},
        {{MX_SHARE_AUTO, .two_devices = false}, {MX_SHARE_OFF, MX_SHARE_ONE_DEVICE, false}},
        {{MX_SHARE_ON, .two_devices = true, .ranks = true}, {MX_SHARE_ON, MX_SHARE_RANKS, true}},
        {{MX_SHARE_AUTO, .two_devices = true, .ranks = true}, {MX_SHARE_OFF, MX_SHARE_RANKS, false}},
        {{MX_SHARE_ON, .two_devices = true, .unable = true}, {MX_SHARE_ON, MX_SHARE_UNABLE, true}},
        {{MX_SHARE_AUTO, .two_devices = true, .unable = true}, {MX_SHARE_OFF, MX_SHARE_UNABLE, false}},
        {{MX_SHARE_AUTO, .two_devices = true, .no_room = true}, {MX_SHARE_OFF, MX_SHARE_NO_ROOM, false}},
        /* what does not fit is refused with all else that does not fit */
        {{MX_SHARE_ON, .two_devices = true, .no_room = true}, {MX_SHARE_ON, MX_SHARE_NO_ROOM, false}},
        /* the first obstacle counts */
        {{MX_SHARE_ON, .ranks = true, .unable = true}, {MX_SHARE_ON, MX_SHARE_ONE_DEVICE, true}},
        {{MX_SHARE_ON, .two_devices = true, .ranks = true, .unable = true}, {MX_SHARE_ON, MX_SHARE_RANKS, true}},
        {{MX_SHARE_AUTO, .two_devices = true, .unable = true, .no_room = true}, {MX_SHARE_OFF, MX_SHARE_UNABLE, false}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const struct mx_share_choice is = mx_share_choose(&table[i].setup), *const should = &table[i].choice;
        if (is.mode == should->mode && is.obstacle == should->obstacle && is.refused == should->refused) continue;
        fail_msg("row %zu: mode %d, obstacle %d, refused %d", i, (int)is.mode, (int)is.obstacle, (int)is.refused);
    }
}

static void test_refusals_say_what_to_do(void **state)
{
    (void)state;
    assert_int_equal(mx_share_refuse(MX_SHARE_ONE_DEVICE, "cpu:1"), MX_ERR_CONFIG);
    assert_non_null(strstr(mx_error_last()->message, "there is only one, cpu:1"));
    assert_non_null(strstr(mx_error_last()->hint, "--share-work off"));
    assert_int_equal(mx_share_refuse(MX_SHARE_RANKS, "cpu:1"), MX_ERR_CONFIG);
    assert_non_null(strstr(mx_error_last()->message, "among ranks"));
    mx_error_clear();
}

static void test_points_are_few_and_known(void **state)
{
    (void)state;
    int due = 0;
    for (int64_t step = 1; step <= 2048; step++) due += mx_share_due(step);
    assert_int_equal(due, 4 + 4);
    assert_true(mx_share_due(4) && mx_share_due(12) && mx_share_due(28) && mx_share_due(60) && mx_share_due(512));
    assert_false(mx_share_due(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lists_hold_from_step_to_step),
                                       cmocka_unit_test(test_any_share_reads_back_to_the_same_bits),
                                       cmocka_unit_test(test_wrong_lists_are_refused),
                                       cmocka_unit_test(test_the_nearest_part_is_found),
                                       cmocka_unit_test(test_no_part_is_nearer_and_none_too_large),
                                       cmocka_unit_test(test_balance_makes_both_end_together),
                                       cmocka_unit_test(test_auto_begins_when_the_data_device_is_idle),
                                       cmocka_unit_test(test_auto_ends_what_gains_nothing),
                                       cmocka_unit_test(test_a_decision_balances_what_is_shared),
                                       cmocka_unit_test(test_whether_work_is_shared),
                                       cmocka_unit_test(test_refusals_say_what_to_do),
                                       cmocka_unit_test(test_points_are_few_and_known)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
