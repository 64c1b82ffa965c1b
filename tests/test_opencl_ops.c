/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every operation on OpenCL against the CPU backend and the double-precision reference, over random shapes and options,
 * empty and single-row sequences among them, those of operations that use double precision also as on devices without
 * it. A pattern as the only argument chooses tests; MYXTTS_TEST_TINY takes a few tiny cases instead, for checkers that
 * are slow (make oclgrind).
 *
 * The bound is that of the CPU backend's own test: mx_op_bound(case) · max(1, largest |exact| of the output); the two
 * backends may differ by twice that. mx_op_case_run itself refuses any write outside the outputs. Skipped where OpenCL has
 * no device.
 */
#include <math.h>
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
#include "ops/each.h"
#include "ops/reference.h"
#include "support/opencl.h"

#define USUAL_CASES 14
#define LARGE_CASES 1
#define TINY_CASES  6

struct pair {
    struct op_cpu cpu;
    struct opencl_pair own, single; /* device 0 of each; `single` has no double precision */
};

static bool uses_double(enum mx_op op)
{
    switch (op) {
    case MX_OP_align:
    case MX_OP_noise:
    case MX_OP_pitch:
    case MX_OP_rotary_table:
    case MX_OP_sequence_loss:
    case MX_OP_pitch_loss:
    case MX_OP_grad_norm:
    case MX_OP_harmonics:
        return true;
    default:
        return false;
    }
}

static int setup(void **state)
{
    static struct pair pair;
    *state = &pair;
    if (!opencl_available()) return 0;
    if (op_cpu_open(&pair.cpu, 1, 0) < 0 || opencl_open(&pair.own, 1) < 0) return -1;
    setenv("MYXTTS_OPENCL_DOUBLE", "off", 1);
    const int rc = opencl_open(&pair.single, 1);
    unsetenv("MYXTTS_OPENCL_DOUBLE");
    return rc;
}

static int teardown(void **state)
{
    struct pair *pair = *state;
    op_cpu_close(&pair->cpu);
    opencl_close(&pair->own);
    opencl_close(&pair->single);
    return 0;
}

static void check_on(const struct mx_op_case *c, struct mx_device *device, const struct mx_op_result *cpu)
{
    struct mx_op_result result;
    if (mx_op_case_run(c, device, &result) < 0)
        fail_msg("%s seed %llu: %s", mx_op_name(c->op), (unsigned long long)c->seed, mx_error_last()->message);
    const char *far = reference_far(c, &result, 1);
    if (!far) far = mx_op_result_far(c, cpu, &result);
    mx_op_result_release(&result);
    if (far) fail_msg("%s", far);
}

static void compare(struct pair *pair, enum mx_op op)
{
    if (!pair->own.devices[0]) skip();
    const bool tiny = getenv("MYXTTS_TEST_TINY") != NULL;
    const uint64_t count = tiny ? TINY_CASES : USUAL_CASES + LARGE_CASES + (mx_op_can_be_wide(op) ? 1 : 0);
    for (uint64_t seed = 0; seed < count; seed++) {
        const enum mx_op_size size = tiny                               ? MX_OP_TINY
                                     : seed < USUAL_CASES               ? MX_OP_USUAL
                                     : seed < USUAL_CASES + LARGE_CASES ? MX_OP_LARGE
                                                                        : MX_OP_WIDE;
        struct mx_op_case c;
        struct mx_op_result cpu;
        op_case_make(&c, op, seed, (struct mx_op_plan){.size = size});
        assert_int_equal(mx_op_case_run(&c, pair->cpu.device, &cpu), 0);
        check_on(&c, pair->own.devices[0], &cpu);
        if (uses_double(op)) check_on(&c, pair->single.devices[0], &cpu);
        mx_op_result_release(&cpu);
        mx_op_case_release(&c);
    }
}

#define OP_TEST compare
OP_TESTS_DEFINE

/* The same case twice gives the same bits: no sum depends on how groups are scheduled. */
static void runs_repeat(void **state)
{
    struct pair *pair = *state;
    if (!pair->own.devices[0] || getenv("MYXTTS_TEST_TINY")) skip();
    for (int op = 0; op < MX_OP_COUNT; op++) {
        struct mx_op_case c;
        struct mx_op_result first, second;
        op_case_make(&c, (enum mx_op)op, 77, (struct mx_op_plan){.size = MX_OP_USUAL});
        assert_int_equal(mx_op_case_run(&c, pair->own.devices[0], &first), 0);
        assert_int_equal(mx_op_case_run(&c, pair->own.devices[0], &second), 0);
        const char *differs = mx_op_result_differs(&c, &first, &second);
        if (differs) fail_msg("%s", differs);
        mx_op_result_release(&first);
        mx_op_result_release(&second);
        mx_op_case_release(&c);
    }
}

/* Norms whose squares no float holds, and gradients that are not finite. */
static void norms_of_any_size(void **state)
{
    struct pair *pair = *state;
    enum { COUNT = 40000 };
    static const struct {
        float value, other, factor, limit;
    } cases[] = {{3e38f, 1e30f, 1e-10f, 0},
                 {1e-19f, 1e-25f, 1, 1},
                 {2e20f, -2e20f, 1, 5},
                 {1e-30f, 1e10f, 1, 1},
                 {0, 0, 1, 1},
                 {3e38f, 3e38f, 1, 1},
                 {1, INFINITY, 1, 1},
                 {1, -INFINITY, 1e-20f, 1},
                 {1, NAN, 1, 1}};
    if (!pair->own.devices[0] || getenv("MYXTTS_TEST_TINY")) skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float result[2][4], *const gradient = mx_alloc(COUNT, sizeof *gradient);
        for (int k = 0; k < COUNT; k++) gradient[k] = k == COUNT / 3 ? cases[i].other : k % 7 ? 0 : cases[i].value;
        for (int d = 0; d < 2; d++) {
            struct mx_device *const device = d ? pair->single.devices[0] : pair->cpu.device;
            struct mx_stream *stream = NULL;
            struct mx_buffer *buffer = NULL;
            assert_int_equal(mx_stream_create(device, "norm", &stream), 0);
            assert_int_equal(mx_buffer_create(device, "norm", (COUNT + 4) * sizeof(float), &buffer), 0);
            const struct mx_grad_norm_args args = {.gradient = mx_slice_at(buffer, 0),
                                                   .result = mx_slice_at(buffer, COUNT * sizeof(float)),
                                                   .count = COUNT,
                                                   .limit = cases[i].limit,
                                                   .factor = cases[i].factor};
            assert_int_equal(mx_copy_upload(stream, args.gradient, gradient, COUNT * sizeof(float)), 0);
            assert_int_equal(mx_grad_norm(stream, &args), 0);
            assert_int_equal(mx_copy_download(stream, result[d], args.result, sizeof result[d]), 0);
            assert_int_equal(mx_stream_sync(stream), 0);
            mx_stream_release(stream);
            mx_buffer_release(buffer);
        }
        mx_free(gradient);
        for (int k = 0; k < 4; k++) {
            const double here = (double)result[0][k], there = (double)result[1][k];
            if (here == there || (isnan(here) && isnan(there)) || fabs(here - there) <= 0x1p-20 * fabs(here)) continue;
            if (k == 3 && fabs(here - there) < 0x1p-120) continue; /* squares that are no normal float */
            fail_msg("norm %zu: result %d is %.9g and %.9g", i, k, here, there);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        OP_TESTS_LIST cmocka_unit_test(runs_repeat),
        cmocka_unit_test(norms_of_any_size),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, setup, teardown);
}
