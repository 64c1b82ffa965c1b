/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The same operation on the same numbers gives the same bits: twice on one device, on a device with one worker and on
 * one with all of them, and with other work running beside it. And numbers that are not finite never reach the weights.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "myxtts/error.h"
#include "ops/case.h"
#include "ops/each.h"

#define USUAL_CASES 15
#define LARGE_CASES 2

/* All cores in one device, and as many devices as cores (of which one is used). */
struct layouts {
    struct op_cpu all, one;
};

static int setup(void **state)
{
    static struct layouts layouts;
    *state = &layouts;
    if (op_cpu_open(&layouts.all, 1, 0) < 0) return -1;
    return op_cpu_open(&layouts.one, op_cpu_cores(), 0);
}

static int teardown(void **state)
{
    struct layouts *layouts = *state;
    op_cpu_close(&layouts->one);
    op_cpu_close(&layouts->all);
    return 0;
}

static void run(struct op_cpu *cpu, const struct mx_op_case *c, struct mx_op_result *result)
{
    if (mx_op_case_run(c, cpu->device, result) < 0)
        fail_msg("%s seed %llu: %s", mx_op_name(c->op), (unsigned long long)c->seed, mx_error_last()->message);
}

static void same(struct layouts *layouts, enum mx_op op)
{
    for (uint64_t seed = 0; seed < USUAL_CASES + LARGE_CASES + (mx_op_can_be_wide(op) ? 1 : 0); seed++) {
        struct mx_op_case c;
        struct mx_op_result first, again, alone;
        const enum mx_op_size size = seed < USUAL_CASES                 ? MX_OP_USUAL
                                     : seed < USUAL_CASES + LARGE_CASES ? MX_OP_LARGE
                                                                        : MX_OP_WIDE;
        op_case_make(&c, op, 1000 + seed, (struct mx_op_plan){.size = size});
        run(&layouts->all, &c, &first);
        run(&layouts->all, &c, &again);
        run(&layouts->one, &c, &alone);
        const char *text = mx_op_result_differs(&c, &first, &again);
        if (text) fail_msg("a second run: %s", text);
        text = mx_op_result_differs(&c, &first, &alone);
        if (text) fail_msg("one worker: %s", text);
        text = mx_op_result_far(&c, &first, &alone); /* what the cross-backend test will call: must agree */
        if (text) fail_msg("bounds are stricter than bits: %s", text);
        mx_op_result_release(&alone);
        mx_op_result_release(&again);
        mx_op_result_release(&first);
        mx_op_case_release(&c);
    }
}

#define OP_TEST same
OP_TESTS_DEFINE

/* ---- gradients that are not finite ---- */

/* grad_norm and adamw in a row on one stream over `count` weights, with one gradient spoiled. */
static void spoiled_step(struct mx_device *device, float spoil, int64_t at, bool expect_finite)
{
    enum { COUNT = 5000 };
    static float before[5][COUNT], after[5][COUNT];
    struct mx_stream *stream = NULL;
    struct mx_buffer *buffers[5] = {0}, *norm = NULL; /* parameter, moment1, moment2, ema, gradient */
    float result[4];
    for (int k = 0; k < 5; k++)
        for (int64_t i = 0; i < COUNT; i++) before[k][i] = 0.01f * (float)(1 + (i * 7 + k) % 13);
    before[4][at] = spoil;
    assert_int_equal(mx_stream_create(device, "step", &stream), 0);
    for (int k = 0; k < 5; k++) {
        assert_int_equal(mx_buffer_create(device, "step", sizeof before[k], &buffers[k]), 0);
        assert_int_equal(mx_copy_upload(stream, mx_slice_at(buffers[k], 0), before[k], sizeof before[k]), 0);
    }
    assert_int_equal(mx_buffer_create(device, "step", sizeof result, &norm), 0);
    const struct mx_grad_norm_args measure = {
        .gradient = {buffers[4], 0}, .result = {norm, 0}, .count = COUNT, .limit = 1, .factor = 0.5f};
    const struct mx_adamw_args update = {.parameter = {buffers[0], 0},
                                         .moment1 = {buffers[1], 0},
                                         .moment2 = {buffers[2], 0},
                                         .ema = {buffers[3], 0},
                                         .gradient = {buffers[4], 0},
                                         .norm = {norm, 0},
                                         .count = COUNT,
                                         .decayed = COUNT / 2,
                                         .lr = 0.1f,
                                         .beta1 = 0.9f,
                                         .beta2 = 0.99f,
                                         .eps = 1e-8f,
                                         .weight_decay = 0.1f,
                                         .ema_decay = 0.9f,
                                         .step = 3};
    assert_int_equal(mx_grad_norm(stream, &measure), 0);
    assert_int_equal(mx_adamw(stream, &update), 0);
    for (int k = 0; k < 5; k++)
        assert_int_equal(mx_copy_download(stream, after[k], mx_slice_at(buffers[k], 0), sizeof after[k]), 0);
    assert_int_equal(mx_copy_download(stream, result, mx_slice_at(norm, 0), sizeof result), 0);
    if (mx_stream_sync(stream) < 0) fail_msg("%s", mx_error_last()->message);
    assert_true(result[2] == (expect_finite ? 1 : 0));
    if (!expect_finite) assert_true(result[1] == 0);
    for (int k = 0; k < 4; k++) {
        const bool same = memcmp(before[k], after[k], sizeof before[k]) == 0;
        if (same == expect_finite) fail_msg("gradient %g: buffer %d %s", (double)spoil, k, same ? "stayed" : "changed");
        for (int64_t i = 0; i < COUNT; i++) assert_true(isfinite(after[k][i]));
    }
    for (int k = 0; k < 5; k++) mx_buffer_release(buffers[k]);
    mx_buffer_release(norm);
    mx_stream_release(stream);
}

static void spoiled_gradients(void **state)
{
    struct layouts *layouts = *state;
    static const float spoils[] = {NAN, -NAN, INFINITY, -INFINITY};
    static const int64_t places[] = {0, 1, 15, 2501, 4999};
    for (int s = 0; s < 4; s++)
        for (int p = 0; p < 5; p++) {
            spoiled_step(layouts->all.device, spoils[s], places[p], false);
            spoiled_step(layouts->one.device, spoils[s], places[p], false);
        }
    spoiled_step(layouts->all.device, 0.5f, 17, true);
}

/* Two streams of one device and a second device, all busy with different operations at the same time. */
static void beside_other_work(void **state)
{
    struct layouts *layouts = *state;
    enum { ROUNDS = 6 };
    static const enum mx_op ops[] = {MX_OP_matmul, MX_OP_attention, MX_OP_conv1d, MX_OP_layer_norm_grad};
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
        struct mx_op_case c, other;
        struct mx_op_placed placed[2], beside;
        struct mx_stream *streams[2] = {0}, *far = NULL;
        struct mx_op_result alone, during;
        op_case_make(&c, ops[o], 77, (struct mx_op_plan){.size = MX_OP_LARGE});
        op_case_make(&other, ops[(o + 1) % 4], 78, (struct mx_op_plan){.size = MX_OP_LARGE});
        run(&layouts->all, &c, &alone);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(mx_stream_create(layouts->all.device, "busy", &streams[i]), 0);
            assert_int_equal(mx_op_case_place(&other, streams[i], &placed[i]), 0);
        }
        assert_int_equal(mx_stream_create(layouts->one.device, "busy", &far), 0);
        assert_int_equal(mx_op_case_place(&other, far, &beside), 0);
        for (int round = 0; round < ROUNDS; round++) {
            for (int i = 0; i < 2; i++) assert_int_equal(mx_op_submit(streams[i], other.op, placed[i].args), 0);
            assert_int_equal(mx_op_submit(far, other.op, beside.args), 0);
        }
        run(&layouts->all, &c, &during);
        const char *text = mx_op_result_differs(&c, &alone, &during);
        for (int i = 0; i < 2; i++) {
            mx_stream_release(streams[i]);
            mx_op_placed_release(&placed[i]);
        }
        mx_stream_release(far);
        mx_op_placed_release(&beside);
        mx_op_result_release(&during);
        mx_op_result_release(&alone);
        mx_op_case_release(&other);
        mx_op_case_release(&c);
        if (text) fail_msg("beside other work: %s", text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OP_TESTS_LIST cmocka_unit_test(spoiled_gradients),
        cmocka_unit_test(beside_other_work),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
