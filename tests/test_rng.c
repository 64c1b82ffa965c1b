/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Philox4x32-10 against the published known answers, the layout of values, and the moments of the draws. All
 * numbers are pure functions of constants, so the statistical bounds cannot fail by chance.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/rng.h"

#include <math.h>
#include <string.h>

/* Known answers published with the generator (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"). */
static void test_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], answer[4];
    } rows[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const uint32_t *c = rows[i].counter, *k = rows[i].key;
        const uint64_t block = (uint64_t)c[1] << 32 | c[0], stream = (uint64_t)c[3] << 32 | c[2];
        const uint64_t seed = (uint64_t)k[1] << 32 | k[0];
        uint32_t out[4];
        mx_philox(seed, stream, block, out);
        for (int w = 0; w < 4; w++) assert_int_equal(out[w], rows[i].answer[w]);
    }
}

static void test_layout(void **state)
{
    (void)state;
    for (uint64_t index = 0; index < 64; index++) {
        uint32_t block[4];
        mx_philox(7, 9, index / 4, block);
        assert_int_equal(mx_rng_u32(7, 9, index), block[index % 4]);
        assert_true(mx_rng_uniform(7, 9, index) == (float)(block[index % 4] >> 8) / 16777216.0f);
    }
    assert_int_not_equal(mx_rng_u32(7, 9, 0), mx_rng_u32(8, 9, 0));
    assert_int_not_equal(mx_rng_u32(7, 9, 0), mx_rng_u32(7, 10, 0));
    assert_int_not_equal(mx_rng_u32(7, 9, 0), mx_rng_u32(7 + (UINT64_C(1) << 32), 9, 0));
    assert_int_not_equal(mx_rng_u32(7, 9, 0), mx_rng_u32(7, 9, UINT64_C(1) << 40));
}

static void test_uniform(void **state)
{
    (void)state;
    enum { COUNT = 200000 };
    double sum = 0.0, squares = 0.0;
    for (uint64_t i = 0; i < COUNT; i++) {
        const double x = (double)mx_rng_uniform(1, 2, i);
        assert_true(x >= 0.0 && x < 1.0);
        sum += x;
        squares += x * x;
    }
    assert_true(fabs(sum / COUNT - 0.5) < 0.003);
    assert_true(fabs(squares / COUNT - 1.0 / 3.0) < 0.003);
}

static void test_normal(void **state)
{
    (void)state;
    enum { COUNT = 200000 };
    double sum = 0.0, squares = 0.0, cubes = 0.0, fourths = 0.0, neighbours = 0.0, last = 0.0;
    int beyond_two = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        const double x = (double)mx_rng_normal(3, 4, i);
        assert_true(isfinite(x) && fabs(x) < 7.0);
        sum += x;
        squares += x * x;
        cubes += x * x * x;
        fourths += x * x * x * x;
        neighbours += x * last;
        beyond_two += fabs(x) > 2.0;
        last = x;
    }
    assert_true(fabs(sum / COUNT) < 0.01);
    assert_true(fabs(squares / COUNT - 1.0) < 0.01);
    assert_true(fabs(cubes / COUNT) < 0.03);
    assert_true(fabs(fourths / COUNT - 3.0) < 0.06);
    assert_true(fabs(neighbours / COUNT) < 0.01);
    assert_true(fabs((double)beyond_two / COUNT - 0.0455) < 0.002);
}

static void test_below(void **state)
{
    (void)state;
    int seen[7] = {0};
    for (uint64_t i = 0; i < 70000; i++) {
        const uint64_t x = mx_rng_below(5, 6, i, 7);
        assert_true(x < 7);
        seen[x]++;
    }
    for (int i = 0; i < 7; i++) assert_true(seen[i] > 9600 && seen[i] < 10400);
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(mx_rng_below(5, 6, i, 1), 0);
        assert_true(mx_rng_below(5, 6, i, UINT64_MAX) < UINT64_MAX);
    }
    /* A quarter of the draws must be refused here; otherwise multiples of three would come up twice as often. */
    const uint64_t bound = UINT64_C(3) << 62;
    int low = 0;
    for (uint64_t i = 0; i < 30000; i++) {
        const uint64_t x = mx_rng_below(5, 6, i, bound);
        assert_true(x < bound);
        assert_true(x == mx_rng_below(5, 6, i, bound));
        low += x % 3 == 0;
    }
    assert_true(low > 9600 && low < 10400);
}

static void test_shuffle(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    uint32_t a[COUNT], b[COUNT], c[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) a[i] = b[i] = c[i] = i;
    mx_rng_shuffle_u32(1, 2, a, COUNT);
    mx_rng_shuffle_u32(1, 2, b, COUNT);
    mx_rng_shuffle_u32(1, 3, c, COUNT);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_not_equal(a, c, sizeof a);
    unsigned char seen[COUNT] = {0};
    int fixed = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(a[i] < COUNT && !seen[a[i]]);
        seen[a[i]] = 1;
        fixed += a[i] == i;
    }
    assert_true(fixed < 10);
    mx_rng_shuffle_u32(1, 2, a, 0);
    uint32_t one = 5;
    mx_rng_shuffle_u32(1, 2, &one, 1);
    assert_int_equal(one, 5);

    /* Each of the six orders of three comes up equally often over streams. */
    int orders[3][3] = {{0}};
    for (uint64_t stream = 0; stream < 6000; stream++) {
        uint32_t v[3] = {0, 1, 2};
        mx_rng_shuffle_u32(9, stream, v, 3);
        orders[v[0]][v[1]]++;
    }
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            if (i == j) assert_int_equal(orders[i][j], 0);
            if (i != j) assert_true(orders[i][j] > 880 && orders[i][j] < 1120);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers), cmocka_unit_test(test_layout), cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_normal),        cmocka_unit_test(test_below),  cmocka_unit_test(test_shuffle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
