/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every operation against its double-precision reference, over random shapes and options; and the corners that random
 * numbers do not reach.
 *
 * The bound is mx_op_bound(case) · max(1, largest |exact| of the output); the cases are scaled so that outputs are
 * about 1. mx_op_case_run itself refuses any write outside the outputs.
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
#include "ops/reference.h"

#define USUAL_CASES  60
#define LARGE_CASES  2
#define LARGE_FACTOR 256 /* of scores that are far apart; their rounding errors grow as much */

/* Runs a case that must succeed and releases the result after comparing it. */
static void check_case(struct op_cpu *cpu, const struct mx_op_case *c, double slack)
{
    struct mx_op_result result;
    if (mx_op_case_run(c, cpu->device, &result) < 0)
        fail_msg("%s seed %llu: %s", mx_op_name(c->op), (unsigned long long)c->seed, mx_error_last()->message);
    const char *far = reference_far(c, &result, slack);
    mx_op_result_release(&result);
    if (far) fail_msg("%s", far);
}

static void forward(struct op_cpu *cpu, enum mx_op op)
{
    struct mx_op_case c;
    for (uint64_t seed = 0; seed < USUAL_CASES + LARGE_CASES + (mx_op_can_be_wide(op) ? 1 : 0); seed++) {
        const enum mx_op_size size = seed < USUAL_CASES                 ? MX_OP_USUAL
                                     : seed < USUAL_CASES + LARGE_CASES ? MX_OP_LARGE
                                                                        : MX_OP_WIDE;
        op_case_make(&c, op, seed, (struct mx_op_plan){.size = size});
        check_case(cpu, &c, 1);
        mx_op_case_release(&c);
    }
}

#define OP_TEST forward
OP_TESTS_DEFINE

/* Where tanh is ±1 to the last bit the answers are exact, and nothing overflows on the way. */
static void activation_far_from_zero(void **state)
{
    struct op_cpu *cpu = *state;
    static const float xs[] = {-3e38f, -1e20f, -1e10f, -100, -20, -0.0f, 0.0f, 1e-30f, 20, 100, 1e10f, 3e38f};
    struct mx_op_case c;
    struct mx_op_result result;
    uint64_t seed = 0;
    const struct mx_op_plan plan = {.size = MX_OP_USUAL, .plain = true};
    for (op_case_make(&c, MX_OP_activation, seed, plan);; op_case_make(&c, MX_OP_activation, ++seed, plan)) {
        const struct mx_activation_args *a = (const void *)c.args;
        if (a->act == MX_ACT_GELU && a->count >= 64) break;
        mx_op_case_release(&c);
    }
    const int64_t count = ((const struct mx_activation_args *)(const void *)c.args)->count;
    float *x = mx_op_case_data(&c, "x");
    for (int64_t i = 0; i < count; i++) x[i] = xs[i % 12];
    assert_int_equal(mx_op_case_run(&c, cpu->device, &result), 0);
    const float *y = mx_op_result_output(&result, "y")->values;
    for (int64_t i = 0; i < count; i++) {
        if (x[i] <= -20 && y[i] != 0) fail_msg("gelu(%g) is %g", (double)x[i], (double)y[i]);
        if (x[i] >= 20) assert_true(y[i] == x[i]);
        if (fabsf(x[i]) < 1) assert_true(fabsf(y[i] - x[i] / 2) <= 1e-36f);
    }
    mx_op_result_release(&result);
    mx_op_case_release(&c);
}

/* Scores of several hundred: the softmax must subtract its largest before it takes exponentials. */
static void attention_of_large_scores(void **state)
{
    struct mx_op_case c;
    for (uint64_t seed = 100; seed < 110; seed++) {
        op_case_make(&c, MX_OP_attention, seed, (struct mx_op_plan){.size = MX_OP_USUAL, .plain = true});
        for (int i = 0; i < c.tensor_count; i++) {
            if (strcmp(c.tensors[i].name, "q") != 0) continue;
            const struct mx_op_storage *storage = &c.storages[c.tensors[i].storage];
            for (int64_t k = 0; k < storage->count; k++) ((float *)storage->data)[k] *= LARGE_FACTOR;
        }
        check_case(*state, &c, LARGE_FACTOR);
        mx_op_case_release(&c);
    }
}

static void attentive_pool_of_large_scores(void **state)
{
    struct mx_op_case c;
    for (uint64_t seed = 100; seed < 110; seed++) {
        op_case_make(&c, MX_OP_attentive_pool, seed, (struct mx_op_plan){.size = MX_OP_USUAL, .plain = true});
        float *score = mx_op_case_data(&c, "score");
        for (int32_t r = 0; r < c.ends[c.sequences]; r++) score[r] = LARGE_FACTOR * score[r] + 1000;
        check_case(*state, &c, LARGE_FACTOR);
        mx_op_case_release(&c);
    }
}

/* A constant row has no variance, a far away mean must not eat the deviation. */
static void layer_norm_of_hard_rows(void **state)
{
    struct op_cpu *cpu = *state;
    struct mx_op_case c;
    struct mx_op_result result;
    op_case_make(&c, MX_OP_layer_norm, 1, (struct mx_op_plan){.size = MX_OP_LARGE, .plain = true});
    const struct mx_layer_norm_args *a = (const void *)c.args;
    float *x = mx_op_case_data(&c, "x");
    const float *beta = mx_op_case_data(&c, "beta");
    for (int64_t i = 0; i < a->n; i++) {
        x[i] = 3;
        x[a->n + i] = 1000 + (float)(i % 2);
    }
    assert_int_equal(mx_op_case_run(&c, cpu->device, &result), 0);
    const struct mx_op_output *y = mx_op_result_output(&result, "y"), *stats = mx_op_result_output(&result, "stats");
    for (int64_t i = 0; i < a->n; i++) assert_true(fabsf(y->values[i] - beta[i]) < 1e-3f);
    assert_true(fabsf(stats->values[2] - 1000.5f) < 1e-2f);
    assert_true(fabsf(stats->values[3] - 2) < 0.01f);
    mx_op_result_release(&result);
    mx_op_case_release(&c);
}

struct seen {
    const struct mx_op_case *c;
    const struct mx_op_placed *placed;
    int visits[MX_OP_TENSORS_MAX];
};

/* Each visited slice must be an operand of the case, with its role and within its extent. */
static void see(void *context, const char *name, struct mx_slice slice, size_t bytes, bool written)
{
    struct seen *seen = context;
    for (int i = 0; i < seen->c->tensor_count; i++) {
        const struct mx_op_tensor *tensor = &seen->c->tensors[i];
        const size_t size = seen->c->storages[tensor->storage].type == MX_OP_BF16 ? 2 : 4;
        struct mx_slice own;
        memcpy(&own, seen->placed->args + tensor->slice_at, sizeof own);
        if (own.buffer != slice.buffer || own.offset_bytes != slice.offset_bytes) continue;
        if (written != (tensor->role != MX_OP_IN)) continue; /* of two operands in one place, the other */
        if (seen->visits[i]) continue;
        seen->visits[i] = 1;
        if (bytes != (size_t)tensor->need * size)
            fail_msg("%s: slice '%s' has %zu bytes, should be %zu", mx_op_name(seen->c->op), name, bytes,
                     (size_t)tensor->need * size);
        return;
    }
    fail_msg("%s: slice '%s' is no operand, or seen twice, or its role is wrong", mx_op_name(seen->c->op), name);
}

static void slices_name_all_operands(void **state)
{
    struct op_cpu *cpu = *state;
    struct mx_stream *stream = NULL;
    assert_int_equal(mx_stream_create(cpu->device, "slices", &stream), 0);
    for (int op = 0; op < MX_OP_COUNT; op++) {
        for (uint64_t seed = 0; seed < 20; seed++) {
            struct mx_op_case c;
            struct mx_op_placed placed;
            op_case_make(&c, (enum mx_op)op, seed, (struct mx_op_plan){.size = MX_OP_USUAL});
            assert_int_equal(mx_op_case_place(&c, stream, &placed), 0);
            struct seen seen = {.c = &c, .placed = &placed};
            assert_int_equal(mx_op_check(cpu->device, c.op, placed.args), 0);
            mx_op_slices(c.op, placed.args, see, &seen);
            for (int i = 0; i < c.tensor_count; i++)
                if (!seen.visits[i]) fail_msg("%s: '%s' was not visited", mx_op_name(c.op), c.tensors[i].name);
            mx_op_placed_release(&placed);
            mx_op_case_release(&c);
        }
    }
    mx_stream_release(stream);
}

static void names_and_sizes(void **state)
{
    (void)state;
#define OP_SOLO(name)                                                                                                  \
    assert_string_equal(mx_op_name(MX_OP_##name), #name);                                                              \
    assert_int_equal(mx_op_args_bytes(MX_OP_##name), sizeof(struct mx_##name##_args));
#define OP_PAIR(name) OP_SOLO(name) OP_SOLO(name##_grad)
    MX_OP_LIST(OP_PAIR, OP_SOLO)
#undef OP_PAIR
#undef OP_SOLO
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OP_TESTS_LIST cmocka_unit_test(activation_far_from_zero),
        cmocka_unit_test(attention_of_large_scores),
        cmocka_unit_test(attentive_pool_of_large_scores),
        cmocka_unit_test(layer_norm_of_hard_rows),
        cmocka_unit_test(slices_name_all_operands),
        cmocka_unit_test(names_and_sizes),
    };
    return cmocka_run_group_tests(tests, op_group_open, op_group_close);
}
