/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The prediction of many ranks: formulas of ring and tree by hand, what overlap hides, what limits, and properties over
 * many inputs.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "dist/predict.h"
#include "myxtts/error.h"

/* 100 ms of computing, 60 of them the backward pass, 4 the update; 40 MB of gradients in 10 buckets. */
static const struct mx_predict_input plain = {.step_ms = 100,
                                              .train_ms = 100,
                                              .backward_ms = 60,
                                              .update_ms = 4,
                                              .utterances = 16,
                                              .gradient_bytes = 40000000,
                                              .bucket_bytes = 4000000,
                                              .bandwidth = 1e9,
                                              .latency_ms = 0.01};

static void near(double value, double wanted)
{
    if (fabs(value - wanted) > 1e-9 + 1e-6 * fabs(wanted)) fail_msg("%.9g instead of %.9g", value, wanted);
}

static void test_one_rank_is_the_profile(void **state)
{
    (void)state;
    const struct mx_predict_step s = mx_predict_step(&plain, 1);
    near(s.step_ms, 100);
    near(s.efficiency, 1);
    near(s.speed, 1);
    near(s.sum_ms, 0);
    assert_int_equal(s.bytes_sent, 0);
    assert_int_equal(s.limit, MX_PREDICT_COMPUTE);
}

static void test_two_ranks_by_hand(void **state)
{
    (void)state;
    /* A bucket of 4 MB: 2 messages of 2 MB each way, 2·(0.01 + 2) = 4.02 ms. They come every 6 ms, so that only the
     * last one is waited for. */
    const struct mx_predict_step s = mx_predict_step(&plain, 2);
    near(s.sum_ms, 10 * 4.02);
    near(s.exposed_ms, 4.02);
    near(s.agree_ms, 2 * 2 * 0.01);
    near(s.step_ms, 100 + 4.02 + 0.04);
    near(s.efficiency, 100 / 104.06);
    assert_int_equal(s.bytes_sent, 40000000);
    assert_int_equal(s.limit, MX_PREDICT_BANDWIDTH);
    /* At a tenth of the bandwidth the channel is never empty: bucket 0 is there 54 ms before the end, and all ten sums
     * take 400.2 ms. */
    struct mx_predict_input slow = plain;
    slow.bandwidth = 1e8;
    near(mx_predict_step(&slow, 2).exposed_ms, 400.2 - 54);
}

static void test_measured_buckets(void **state)
{
    (void)state;
    /* 30 MB long before the end, then 10 MB in the last moment: at 1 GB/s the first are gone (30.02 ms, 50 ms before),
     * and 10.02 ms are waited for; 2 ms earlier is 2 ms less; and where all come at the end, all is waited for. */
    struct mx_predict_bucket buckets[] = {{30000000, 50}, {10000000, 0}};
    struct mx_predict_input in = plain;
    in.buckets = buckets;
    in.bucket_count = 2;
    assert_int_equal(mx_predict_check(&in), 0);
    near(mx_predict_step(&in, 2).exposed_ms, 10.02);
    assert_int_equal(mx_predict_step(&in, 2).buckets, 2);
    buckets[1].lead_ms = 2;
    near(mx_predict_step(&in, 2).exposed_ms, 8.02);
    buckets[0].lead_ms = buckets[1].lead_ms = 0;
    near(mx_predict_step(&in, 2).exposed_ms, 40.04);
    /* With half of the batch there is half of the time. */
    buckets[0].lead_ms = 50;
    in.global_batch = 16;
    near(mx_predict_step(&in, 2).exposed_ms, 30.02 - 25 + 10.02);
    in.global_batch = 0;
    buckets[1].bytes++;
    assert_int_equal(mx_predict_check(&in), MX_ERR_ARGUMENT);
    assert_non_null(strstr(mx_error_last()->message, "do not make up"));
    buckets[1].bytes--;
    buckets[1].lead_ms = 101;
    assert_int_equal(mx_predict_check(&in), MX_ERR_ARGUMENT);
    buckets[1].lead_ms = (double)NAN;
    assert_int_equal(mx_predict_check(&in), MX_ERR_ARGUMENT);
}

static void test_carrying(void **state)
{
    (void)state;
    /* Of 40.2 ms of sums 4.02 are waited for; the rest, 0.9 of 40 MB, takes a nanosecond a byte from the training. */
    struct mx_predict_input in = plain;
    in.carry_ns_per_byte = 1;
    near(mx_predict_step(&in, 1).carry_ms, 0);
    near(mx_predict_step(&in, 2).carry_ms, 36);
    near(mx_predict_step(&in, 2).step_ms, 100 + 36 + 4.02 + 0.04);
    assert_int_equal(mx_predict_step(&in, 2).limit, MX_PREDICT_CARRYING);
    in.carry_ns_per_byte = -1;
    assert_int_equal(mx_predict_check(&in), MX_ERR_ARGUMENT);
}

static void test_ring_or_tree(void **state)
{
    (void)state;
    /* 1024 ranks: a ring has 2046 messages a bucket, 20.46 ms; a tree 20, 0.2 ms; the bytes are the same. */
    const struct mx_predict_step many = mx_predict_step(&plain, 1024);
    assert_true(many.tree);
    near(many.sum_ms, 10 * (20 * 0.01 + 2 * 1023.0 / 1024 * 4));
    /* 3 ranks: a tree would have to fold one in, with 8 MB more. */
    const struct mx_predict_step three = mx_predict_step(&plain, 3);
    assert_false(three.tree);
    near(three.sum_ms, 10 * (4 * 0.01 + 2 * 2.0 / 3 * 4));
}

static void test_what_limits(void **state)
{
    (void)state;
    struct mx_predict_input in = plain;
    in.variation = 0.1;
    assert_int_equal(mx_predict_step(&in, 512).limit, MX_PREDICT_STRAGGLERS);
    near(mx_predict_step(&in, 1).straggle_ms, 0);
    near(mx_predict_step(&in, 2).straggle_ms, 96 * 0.1 / sqrt(acos(-1)));
    near(mx_predict_step(&in, 3).straggle_ms, 96 * 0.1 * 1.5 / sqrt(acos(-1)));
    assert_true(fabs(mx_predict_step(&in, 1000).straggle_ms - 96 * 0.1 * 3.24144) < 0.001); /* from tables */
    assert_true(mx_predict_step(&in, MX_PREDICT_RANKS_MAX).straggle_ms < 96 * 0.1 * 5);
    in = plain;
    in.latency_ms = 5;
    assert_int_equal(mx_predict_step(&in, 512).limit, MX_PREDICT_LATENCY);
    in = plain;
    in.bandwidth = 1e12;
    in.latency_ms = 0.001;
    assert_int_equal(mx_predict_step(&in, 512).limit, MX_PREDICT_COMPUTE);
    in.step_ms = in.data_ms = 150;
    assert_int_equal(mx_predict_step(&in, 2).limit, MX_PREDICT_DATA);
    near(mx_predict_step(&in, 2).step_ms, 150);
    near(mx_predict_step(&in, 2).efficiency, 1);
    in = plain;
    in.global_batch = 16;
    assert_int_equal(mx_predict_step(&in, 64).limit, MX_PREDICT_BATCH);
    for (int i = 0; i < MX_PREDICT_LIMITS; i++)
        assert_true(strlen(mx_predict_limit_name((enum mx_predict_limit)i)) > 3);
}

static void test_a_shared_batch(void **state)
{
    (void)state;
    struct mx_predict_input in = plain;
    in.gradient_bytes = 0;
    in.latency_ms = 0;
    in.global_batch = 32;
    near(mx_predict_step(&in, 1).step_ms, 2 * 96 + 4);
    near(mx_predict_step(&in, 2).step_ms, 100);
    near(mx_predict_step(&in, 3).step_ms, 96 * 11 / 16.0 + 4); /* the fullest of 11, 11 and 10 */
    near(mx_predict_step(&in, 2).speed, 2);
    in.global_batch = 16;
    near(mx_predict_step(&in, 4).step_ms, 24 + 4);
}

static void test_useful(void **state)
{
    (void)state;
    struct mx_predict_input in = plain;
    in.latency_ms = 1;
    const int64_t useful = mx_predict_useful(&in, 0.5);
    assert_true(useful > 1 && useful < MX_PREDICT_RANKS_MAX);
    assert_true(mx_predict_step(&in, useful).efficiency >= 0.5);
    assert_true(mx_predict_step(&in, useful + 1).efficiency < 0.5);
    in.bandwidth = 1e5;
    assert_int_equal(mx_predict_useful(&in, 0.9), 1);
    in.gradient_bytes = 0;
    in.latency_ms = 0;
    assert_true(mx_predict_useful(&in, 0.9) > MX_PREDICT_RANKS_MAX / 2);
}

/* Never better than perfect, never faster with a worse network, and the parts make the whole. */
static void test_properties(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < 2000; n++) {
        uint32_t r[4];
        mx_philox(11, 1, n, r);
        const double train = 1 + (double)(r[0] % 1000), backward = train * (double)(r[1] % 100) / 200;
        const struct mx_predict_input in = {.step_ms = train * (1 + (double)(r[0] % 7) / 10),
                                            .train_ms = train,
                                            .backward_ms = backward,
                                            .update_ms = train * 0.05,
                                            .variation = (double)(r[2] % 10) / 100,
                                            .data_ms = train * (double)(r[2] % 15) / 10,
                                            .utterances = 1 + r[3] % 64,
                                            .gradient_bytes = (int64_t)(r[3] % 500000000),
                                            .bucket_bytes = 4 << 20,
                                            .carry_ns_per_byte = (double)(r[1] % 3),
                                            .bandwidth = 1e7 * (double)(1 + r[1] % 1000),
                                            .latency_ms = 1e-3 * (double)(r[0] % 100),
                                            .global_batch = n % 3 == 0 ? 1 + r[0] % 4096 : 0};
        const int64_t ranks = 1 + (int64_t)(r[2] % 3000);
        assert_int_equal(mx_predict_check(&in), 0);
        const struct mx_predict_step s = mx_predict_step(&in, ranks);
        assert_true(isfinite(s.step_ms) && s.step_ms > 0 && s.efficiency > 0);
        if (in.global_batch == 0) assert_true(s.efficiency <= 1.0001);
        assert_true(s.exposed_ms <= s.sum_ms * 1.0001 + 1e-9);
        assert_true(s.step_ms >= s.compute_ms + s.carry_ms + s.straggle_ms + s.exposed_ms + s.agree_ms - 1e-9);
        struct mx_predict_input worse = in;
        worse.bandwidth /= 2;
        worse.latency_ms *= 2;
        assert_true(mx_predict_step(&worse, ranks).step_ms >= s.step_ms * 0.999999);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    struct mx_predict_input in = plain;
    in.step_ms = 0;
    assert_int_equal(mx_predict_check(&in), MX_ERR_ARGUMENT);
    in = plain;
    in.backward_ms = 120;
    assert_int_equal(mx_predict_check(&in), MX_ERR_ARGUMENT);
    in = plain;
    in.bandwidth = 0;
    assert_int_equal(mx_predict_check(&in), MX_ERR_ARGUMENT);
    assert_true(strlen(mx_error_last()->hint) > 0);
    in = plain;
    in.latency_ms = (double)NAN;
    assert_int_equal(mx_predict_check(&in), MX_ERR_ARGUMENT);
    in = plain;
    in.utterances = 0;
    assert_int_equal(mx_predict_check(&in), MX_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_rank_is_the_profile),
        cmocka_unit_test(test_two_ranks_by_hand),
        cmocka_unit_test(test_measured_buckets),
        cmocka_unit_test(test_carrying),
        cmocka_unit_test(test_ring_or_tree),
        cmocka_unit_test(test_what_limits),
        cmocka_unit_test(test_a_shared_batch),
        cmocka_unit_test(test_useful),
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
