/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The operations that multiply or store bf16 numbers: against the double-precision reference (operands rounded to the
 * nearest bf16 number, then everything exact), alone as in a batch, beside garbage, with one worker as with all, and
 * refused where the device cannot. Once for each way in which the CPU backend multiplies them (MYXTTS_BF16); a way that
 * this machine has not is skipped, and says so.
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
#include "ops/reference.h"

#define USUAL_CASES 40
#define PARTS_CASES 12
#define LARGE_CASES 3

static const char *const ways[] = {"amx", "avx512"};
#define WAYS ((int)(sizeof ways / sizeof ways[0]))

/* One test: an operation, and how it multiplies. */
struct subject {
    enum mx_op op;
    int way; /* ANY: what only stores bf16 numbers does so in one way */
};
#define ANY (-1)

/* All cores in one device, and as many devices as cores (of which one is used), for each way. */
static struct layouts {
    bool there;
    struct op_cpu all, one;
} layouts[WAYS];

static int setup(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        setenv("MYXTTS_BF16", ways[way], 1);
        const int rc = op_cpu_open(&layouts[way].all, 1, 0);
        if (rc < 0) {
            printf("bf16 by %s is not tested here: %s\n", ways[way], mx_error_last()->message);
            continue;
        }
        if (op_cpu_open(&layouts[way].one, op_cpu_cores(), 0) < 0) return -1;
        layouts[way].there = true;
    }
    unsetenv("MYXTTS_BF16");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        if (!layouts[way].there) continue;
        op_cpu_close(&layouts[way].one);
        op_cpu_close(&layouts[way].all);
    }
    return 0;
}

static struct layouts *layouts_of(const struct subject *subject)
{
    int way = subject->way == ANY ? 0 : subject->way;
    while (subject->way == ANY && way < WAYS - 1 && !layouts[way].there) way++;
    if (!layouts[way].there) skip();
    return &layouts[way];
}

static struct mx_op_plan plan_of(uint64_t seed, int usual)
{
    return (struct mx_op_plan){.size = seed < (uint64_t)usual ? MX_OP_USUAL : MX_OP_LARGE, .bf16 = true};
}

static void forward(void **state)
{
    const struct subject *subject = *state;
    struct layouts *l = layouts_of(subject);
    for (uint64_t seed = 0; seed < USUAL_CASES + LARGE_CASES; seed++) {
        struct mx_op_case c;
        struct mx_op_result result;
        op_case_make(&c, subject->op, seed, plan_of(seed, USUAL_CASES));
        op_case_must_run(&c, l->all.device, &result);
        const char *far = reference_far(&c, &result, 1);
        if (far) fail_msg("%s", far);
        mx_op_result_release(&result);
        mx_op_case_release(&c);
    }
}

static void same_bits(void **state)
{
    const struct subject *subject = *state;
    struct layouts *l = layouts_of(subject);
    for (uint64_t seed = 0; seed < PARTS_CASES + LARGE_CASES; seed++) {
        struct mx_op_case c;
        struct mx_op_result first, again, alone;
        op_case_make(&c, subject->op, seed, plan_of(seed, PARTS_CASES));
        op_case_must_run(&c, l->all.device, &first);
        op_case_must_run(&c, l->all.device, &again);
        op_case_must_run(&c, l->one.device, &alone);
        const char *text = mx_op_result_differs(&c, &first, &again);
        if (text) fail_msg("a second run: %s", text);
        text = mx_op_result_differs(&c, &first, &alone);
        if (text) fail_msg("one worker: %s", text);
        mx_op_result_release(&alone);
        mx_op_result_release(&again);
        mx_op_result_release(&first);
        mx_op_case_release(&c);
    }
}

/* ---- sequences ---- */

static bool has_parts(enum mx_op op)
{
    return op != MX_OP_bias_grad && op != MX_OP_conv1d_grad_weight;
}

static void alone_as_in_batch(void **state)
{
    const struct subject *subject = *state;
    struct layouts *l = layouts_of(subject);
    int compared = 0;
    for (uint64_t seed = 0; seed < PARTS_CASES + LARGE_CASES; seed++)
        compared += op_parts_alone(subject->op, seed, plan_of(seed, PARTS_CASES), l->all.device);
    assert_true(compared > PARTS_CASES / 2);
}

static void nothing_leaks(void **state)
{
    const struct subject *subject = *state;
    struct layouts *l = layouts_of(subject);
    int compared = 0;
    for (uint64_t seed = 0; seed < PARTS_CASES; seed++)
        compared += op_parts_leak(subject->op, seed, plan_of(seed, PARTS_CASES), l->all.device);
    assert_true(compared > PARTS_CASES / 2);
}

/* ---- refusals ---- */

/* On a device that does not multiply bf16 numbers, every case that has any is refused, and the message says why. */
static void refused_without(void **state)
{
    (void)state;
    struct op_cpu cpu;
    int refused = 0;
    setenv("MYXTTS_BF16", "off", 1);
    assert_int_equal(op_cpu_open(&cpu, 1, 0), 0);
    unsetenv("MYXTTS_BF16");
    assert_false(mx_device_info(cpu.device)->caps.bf16_multiply);
    for (int op = 0; op < MX_OP_COUNT; op++) {
        for (uint64_t seed = 0; seed < 20 && mx_op_knows_bf16((enum mx_op)op); seed++) {
            struct mx_op_case c;
            struct mx_op_result result;
            bool any = op != MX_OP_bias_grad && op != MX_OP_layer_norm;
            op_case_make(&c, (enum mx_op)op, seed, plan_of(seed, PARTS_CASES));
            for (int i = 0; i < c.storage_count; i++) any = any || c.storages[i].type == MX_OP_BF16;
            const int rc = mx_op_case_run(&c, cpu.device, &result);
            assert_int_equal(rc, any ? MX_ERR_UNSUPPORTED : 0);
            if (any) {
                refused++;
                assert_non_null(strstr(mx_error_last()->message, "cpu:0 does not multiply bf16 numbers"));
                assert_non_null(strstr(mx_error_last()->message, mx_device_info(cpu.device)->bf16_missing));
                assert_non_null(strstr(mx_error_last()->hint, "fp32"));
            } else {
                mx_op_result_release(&result);
            }
            mx_op_case_release(&c);
        }
    }
    assert_true(refused > 80);
    op_cpu_close(&cpu);
}

static void unknown_way(void **state)
{
    (void)state;
    struct op_cpu cpu;
    setenv("MYXTTS_BF16", "abacus", 1);
    assert_int_equal(op_cpu_open(&cpu, 1, 0), MX_ERR_USAGE);
    unsetenv("MYXTTS_BF16");
    assert_non_null(strstr(mx_error_last()->message, "abacus"));
    assert_non_null(strstr(mx_error_last()->hint, "off, avx512, amx"));
}

/* Slices stored as bf16 belong to products of bf16 numbers; sums are not kept in bf16. */
static void wrong_arguments(void **state)
{
    (void)state;
    const struct subject any = {.way = ANY};
    struct op_cpu *cpu = &layouts_of(&any)->all;
    struct mx_buffer *buffer = NULL;
    assert_int_equal(mx_buffer_create(cpu->device, "test", 4096, &buffer), 0);
    struct mx_matmul_args args = {.a = mx_slice_at(buffer, 0),
                                  .b = mx_slice_at(buffer, 1024),
                                  .c = mx_slice_at(buffer, 2048),
                                  .m = 8,
                                  .n = 8,
                                  .k = 8,
                                  .a_bf16 = true};
    assert_int_equal(mx_op_check(cpu->device, MX_OP_matmul, &args), MX_ERR_ARGUMENT);
    assert_non_null(strstr(mx_error_last()->message, "precision"));
    args.precision = MX_PRECISION_BF16;
    assert_int_equal(mx_op_check(cpu->device, MX_OP_matmul, &args), 0);
    args.epilogue.c_bf16 = args.epilogue.accumulate = true;
    assert_int_equal(mx_op_check(cpu->device, MX_OP_matmul, &args), MX_ERR_ARGUMENT);
    assert_non_null(strstr(mx_error_last()->message, "accumulate"));
    mx_buffer_release(buffer);
}

#define OPS_MAX 8

int main(void)
{
    static struct subject subjects[OPS_MAX * WAYS];
    static char names[4 * OPS_MAX * WAYS][64];
    static const struct {
        const char *name;
        void (*run)(void **state);
        bool parts;
    } kinds[] = {{"forward", forward, false},
                 {"same_bits", same_bits, false},
                 {"alone_as_in_batch", alone_as_in_batch, true},
                 {"nothing_leaks", nothing_leaks, true}};
    struct CMUnitTest tests[4 * OPS_MAX * WAYS + 3] = {cmocka_unit_test(refused_without), cmocka_unit_test(unknown_way),
                                                       cmocka_unit_test(wrong_arguments)};
    int count = 0, all = 3;
    for (int op = 0; op < MX_OP_COUNT; op++) {
        const bool stores = op == MX_OP_layer_norm || op == MX_OP_bias_grad;
        for (int way = stores ? ANY : 0; way < (stores ? 0 : WAYS) && mx_op_knows_bf16((enum mx_op)op); way++) {
            struct subject *subject = &subjects[count++];
            *subject = (struct subject){(enum mx_op)op, way};
            for (int k = 0; k < 4; k++) {
                if (kinds[k].parts && !has_parts(subject->op)) continue;
                char *name = names[all - 3];
                snprintf(name, sizeof names[0], "%s %s by %s", kinds[k].name, mx_op_name(subject->op),
                         way == ANY ? "whatever there is" : ways[way]);
                tests[all++] = (struct CMUnitTest){name, kinds[k].run, NULL, NULL, subject};
            }
        }
    }
    return cmocka_run_group_tests(tests, setup, teardown); /* empty ones are left out */
}
