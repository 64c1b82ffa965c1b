/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Means that move towards a speaker, and the metric that is learned from what remains.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "align/adapt.h"
#include "align/codes.h"
#include "align/metric.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "myxtts/error.h"

#define BANDS 8

/* ---- means ---- */

/* 5,000 frames of token 1 and 20 of token 2, each a constant away from its mean; token 3 has none. */
static void test_moved(void **state)
{
    static const int32_t tokens[] = {1, 2, 3, 1};
    const float mean[BANDS] = {0};
    float means[4 * BANDS] = {0}, frame[BANDS];
    struct mx_align_adapt adapt;
    (void)state;
    assert_int_equal(mx_align_adapt_open(&adapt, 4, BANDS), 0);
    for (int i = 0; i < 5020; i++) {
        for (int k = 0; k < BANDS; k++) frame[k] = i < 5000 ? 1 : -1;
        mx_align_adapt_add(&adapt, i < 5000 ? 1 : 2, frame, mean);
    }
    mx_align_adapt_move(&adapt, tokens, 4, means);
    for (int k = 0; k < BANDS; k++) {
        assert_true(means[k] > 0.95f && means[k] <= 1);                                       /* what its frames say */
        assert_float_equal(means[3 * BANDS + k], means[k], 1e-6);                             /* wherever it stands */
        assert_true(means[2 * BANDS + k] > 0.9f);                                             /* what all frames say */
        assert_true(means[BANDS + k] < means[2 * BANDS + k] - 0.3f && means[BANDS + k] > -1); /* between both */
    }
    mx_align_adapt_clear(&adapt);
    for (int k = 0; k < 4 * BANDS; k++) means[k] = 0;
    mx_align_adapt_move(&adapt, tokens, 4, means);
    for (int k = 0; k < 4 * BANDS; k++) assert_float_equal(means[k], 0, 0);
    mx_align_adapt_release(&adapt);
}

/* ---- metrics ---- */

/* Differences that are loudness (all bands alike) and a little noise of each band. */
static void products_make(double *products, int64_t frames)
{
    for (int i = 0; i < BANDS * BANDS; i++) products[i] = 0;
    for (int64_t f = 0; f < frames; f++) {
        double x[BANDS];
        const double loud = 4 * (double)mx_rng_uniform(1, 0, (uint64_t)f) - 2;
        for (int k = 0; k < BANDS; k++) x[k] = loud + 0.2 * (double)mx_rng_uniform(2, (uint64_t)k, (uint64_t)f) - 0.1;
        for (int i = 0; i < BANDS; i++)
            for (int k = 0; k <= i; k++) products[i * BANDS + k] += x[i] * x[k];
    }
}

static double distance(const struct mx_align_metric *m, const float *a, const float *b)
{
    float x[2 * BANDS], white[2 * BANDS];
    double sum = 0;
    for (int k = 0; k < BANDS; k++) {
        x[k] = a[k];
        x[BANDS + k] = b[k];
    }
    mx_align_metric_whiten(m, x, 2, white);
    for (int k = 0; k < BANDS; k++) sum += pow((double)(white[k] - white[BANDS + k]), 2);
    return sum;
}

static void test_metric(void **state)
{
    static const float zero[BANDS], louder[BANDS] = {1, 1, 1, 1, 1, 1, 1, 1},
                                    other[BANDS] = {1, -1, 1, -1, 1, -1, 1, -1};
    float means[64 * BANDS], white[2 * BANDS], turned[BANDS];
    double products[BANDS * BANDS], plain = 0, now = 0;
    struct mx_align_metric m;
    (void)state;
    for (int i = 0; i < 64 * BANDS; i++) means[i] = mx_rng_uniform(3, 0, (uint64_t)i);
    assert_int_equal(mx_align_metric_open(&m, BANDS), 0);
    assert_float_equal(distance(&m, zero, louder), BANDS, 1e-6);
    products_make(products, 20000);
    assert_int_equal(mx_align_metric_learn(&m, products, 20000, means, 64), 0);
    /* what right frames vary in counts little, and all in all distances are what they were */
    assert_true(distance(&m, zero, louder) < 0.3 * distance(&m, zero, other));
    for (int i = 0; i < 64; i++)
        for (int k = 0; k < i; k++) {
            now += distance(&m, means + i * BANDS, means + k * BANDS);
            for (int b = 0; b < BANDS; b++) plain += pow((double)(means[i * BANDS + b] - means[k * BANDS + b]), 2);
        }
    assert_true(fabs(now / plain - 1) < 1e-4);
    /* the product of a frame with a turned row is that of both whitened */
    mx_align_metric_whiten(&m, means, 2, white);
    mx_align_metric_turn(&m, white + BANDS, 1, turned);
    assert_float_equal(mx_align_code_product(means, turned, BANDS), mx_align_code_product(white, white + BANDS, BANDS),
                       1e-3);
    mx_align_metric_release(&m);
}

/* Few frames change little, none change nothing, and what is no number is refused. */
static void test_few(void **state)
{
    static const float zero[BANDS], louder[BANDS] = {1, 1, 1, 1, 1, 1, 1, 1},
                                    other[BANDS] = {1, -1, 1, -1, 1, -1, 1, -1};
    float means[64 * BANDS];
    double products[BANDS * BANDS] = {0};
    struct mx_align_metric m;
    (void)state;
    for (int i = 0; i < 64 * BANDS; i++) means[i] = mx_rng_uniform(3, 0, (uint64_t)i);
    assert_int_equal(mx_align_metric_open(&m, BANDS), 0);
    assert_int_equal(mx_align_metric_learn(&m, products, 0, means, 64), 0);
    assert_float_equal(distance(&m, zero, louder), BANDS, 1e-6);
    products_make(products, 10);
    assert_int_equal(mx_align_metric_learn(&m, products, 10, means, 64), 0);
    assert_true(distance(&m, zero, louder) > 0.7 * distance(&m, zero, other));
    products[0] = NAN;
    assert_int_equal(mx_align_metric_learn(&m, products, 10, means, 64), MX_ERR_DATA);
    mx_align_metric_release(&m);
    mx_alloc_fail_at(1);
    assert_int_equal(mx_align_metric_open(&m, BANDS), MX_ERR_NO_MEMORY);
    mx_alloc_fail_at(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moved), cmocka_unit_test(test_metric),
                                       cmocka_unit_test(test_few)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
