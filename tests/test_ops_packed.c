/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sequences do not know of each other: what an operation computes for one is bit for bit the same alone, in a
 * batch, and beside garbage. Row-wise operations (matrix multiply too) are held to the same with an arbitrary cut of
 * their rows, so that a batch of any composition gives an utterance the same numbers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "myxtts/error.h"
#include "ops/case.h"

#define USUAL_CASES 15
#define LARGE_CASES 1

/* The state of a test is its operation; that of a group would replace it. */
static int group_open(void **state)
{
    (void)state;
    return op_cpu_open(&op_group, 1, 0);
}

/* The operations whose results belong to rows or sequences; the others sum over all rows or have none. */
static bool has_parts(enum mx_op op)
{
    switch (op) {
    case MX_OP_bias_grad:
    case MX_OP_embedding_grad:
    case MX_OP_rotary_table:
    case MX_OP_conv1d_grad_weight:
    case MX_OP_dropout:
    case MX_OP_durations_scan:
    case MX_OP_grad_norm:
    case MX_OP_adamw:
    case MX_OP_log_magnitude: /* several segments share the samples of an utterance */
        return false;
    default:
        return true;
    }
}

static struct mx_op_plan plan_of(uint64_t seed)
{
    return (struct mx_op_plan){.size = seed < USUAL_CASES ? MX_OP_USUAL : MX_OP_LARGE};
}

static void alone_as_in_batch(void **state)
{
    const enum mx_op op = *(const enum mx_op *)*state;
    int compared = 0;
    for (uint64_t seed = 0; seed < USUAL_CASES + LARGE_CASES; seed++)
        compared += op_parts_alone(op, seed, plan_of(seed), op_group.device);
    assert_true(compared > USUAL_CASES / 2);
}

static void nothing_leaks(void **state)
{
    const enum mx_op op = *(const enum mx_op *)*state;
    int compared = 0;
    for (uint64_t seed = 0; seed < USUAL_CASES + LARGE_CASES; seed++)
        compared += op_parts_leak(op, seed, plan_of(seed), op_group.device);
    assert_true(compared > USUAL_CASES / 2);
}

/* An element's fate depends on its index alone: two halves with their own indices are the whole. */
static void dropout_in_two_halves(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct mx_op_case c;
        struct mx_op_result whole, half;
        op_case_make(&c, MX_OP_dropout, seed, (struct mx_op_plan){.size = MX_OP_USUAL, .plain = true});
        struct mx_dropout_args *a = (void *)c.args;
        op_case_must_run(&c, op_group.device, &whole);
        const int64_t count = a->count, cut = count / 8 * 4;
        const float *x = mx_op_case_data(&c, "x"), *expected = mx_op_result_output(&whole, "y")->values;
        const uint64_t index = a->index;
        for (int second = 0; second < 2; second++) {
            /* Fewer elements of the same storages: what follows is not the operation's. */
            a->count = second ? count - cut : cut;
            a->index = index + (second ? (uint64_t)cut : 0);
            struct mx_op_case piece = c;
            for (int i = 0; i < piece.storage_count; i++) {
                piece.storages[i].count = a->count;
                if (piece.storages[i].written) continue;
                piece.storages[i].data = (void *)(uintptr_t)(x + (second ? cut : 0));
            }
            op_case_must_run(&piece, op_group.device, &half);
            assert_memory_equal(mx_op_result_output(&half, "y")->values, expected + (second ? cut : 0),
                                (size_t)a->count * sizeof(float));
            mx_op_result_release(&half);
        }
        mx_op_result_release(&whole);
        mx_op_case_release(&c);
    }
}

int main(void)
{
    static enum mx_op ops[MX_OP_COUNT];
    static char names[MX_OP_COUNT][2][48];
    struct CMUnitTest tests[2 * MX_OP_COUNT + 1] = {
        cmocka_unit_test(dropout_in_two_halves)}; /* empty ones are left out */
    for (int op = 0; op < MX_OP_COUNT; op++) {
        ops[op] = (enum mx_op)op;
        if (!has_parts(ops[op])) continue;
        snprintf(names[op][0], sizeof names[op][0], "alone_as_in_batch %s", mx_op_name(ops[op]));
        snprintf(names[op][1], sizeof names[op][1], "nothing_leaks %s", mx_op_name(ops[op]));
        tests[2 * op + 1] = (struct CMUnitTest){names[op][0], alone_as_in_batch, NULL, NULL, &ops[op]};
        tests[2 * op + 2] = (struct CMUnitTest){names[op][1], nothing_leaks, NULL, NULL, &ops[op]};
    }
    return cmocka_run_group_tests(tests, group_open, op_group_close);
}
