/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every operation on OpenCL against the CPU backend and the double-precision reference, over random shapes and options,
 * empty and single-row sequences among them. All cases run with the kernels for the device's own kind, some with those
 * that GPUs get as well. A pattern as the only argument chooses tests; MYXTTS_TEST_TINY takes a few tiny cases instead,
 * for checkers that are slow (make oclgrind).
 *
 * The bound is that of the CPU backend's own test: op_bound(case) · max(1, largest |exact| of the output); the two
 * backends may differ by twice that. op_case_run itself refuses any write outside the outputs. Skipped where OpenCL has
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

#include "base/rng.h"
#include "myxtts/error.h"
#include "ops/case.h"
#include "ops/each.h"
#include "ops/reference.h"
#include "support/opencl.h"

#define USUAL_CASES 14
#define LARGE_CASES 1
#define TINY_CASES  6
#define OTHER_CASES 6 /* of the usual ones, with the kernels that are not the device's own */

struct pair {
    struct op_cpu cpu;
    struct opencl_pair own, gpu; /* device 0 of each */
};

static int setup(void **state)
{
    static struct pair pair;
    *state = &pair;
    if (!opencl_available()) return 0;
    if (op_cpu_open(&pair.cpu, 1, 0) < 0 || opencl_open(&pair.own, 1) < 0) return -1;
    setenv("MYXTTS_OPENCL_KERNELS", "gpu", 1);
    const int rc = opencl_open(&pair.gpu, 1);
    unsetenv("MYXTTS_OPENCL_KERNELS");
    return rc;
}

static int teardown(void **state)
{
    struct pair *pair = *state;
    op_cpu_close(&pair->cpu);
    opencl_close(&pair->own);
    opencl_close(&pair->gpu);
    return 0;
}

static void check_on(const struct op_case *c, struct mx_device *device, const struct op_result *cpu, const char *which)
{
    struct op_result result;
    if (op_case_run(c, device, &result) < 0)
        fail_msg("%s kernels, %s seed %llu: %s", which, mx_op_name(c->op), (unsigned long long)c->seed,
                 mx_error_last()->message);
    const char *far = reference_far(c, &result, 1);
    if (!far) far = op_result_far(c, cpu, &result);
    op_result_release(&result);
    if (far) fail_msg("%s kernels: %s", which, far);
}

static void compare(struct pair *pair, enum mx_op op)
{
    if (!pair->own.devices[0]) skip();
    const bool tiny = getenv("MYXTTS_TEST_TINY") != NULL;
    const uint64_t count = tiny ? TINY_CASES : USUAL_CASES + LARGE_CASES + (op_can_be_wide(op) ? 1 : 0);
    for (uint64_t seed = 0; seed < count; seed++) {
        const enum op_size size = tiny                               ? OP_TINY
                                  : seed < USUAL_CASES               ? OP_USUAL
                                  : seed < USUAL_CASES + LARGE_CASES ? OP_LARGE
                                                                     : OP_WIDE;
        struct op_case c;
        struct op_result cpu;
        op_case_make(&c, op, seed, (struct op_plan){.size = size});
        assert_int_equal(op_case_run(&c, pair->cpu.device, &cpu), 0);
        check_on(&c, pair->own.devices[0], &cpu, "own");
        if (!tiny && seed < OTHER_CASES) check_on(&c, pair->gpu.devices[0], &cpu, "gpu");
        op_result_release(&cpu);
        op_case_release(&c);
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
        struct op_case c;
        struct op_result first, second;
        op_case_make(&c, (enum mx_op)op, 77, (struct op_plan){.size = OP_USUAL});
        assert_int_equal(op_case_run(&c, pair->own.devices[0], &first), 0);
        assert_int_equal(op_case_run(&c, pair->own.devices[0], &second), 0);
        const char *differs = op_result_differs(&c, &first, &second);
        if (differs) fail_msg("%s", differs);
        op_result_release(&first);
        op_result_release(&second);
        op_case_release(&c);
    }
}

/* C [m, n] of random factors, with a bias or, transposed, added to what is there; on one device. */
static void product_run(struct mx_device *device, const int64_t size[3], bool transpose, float *c)
{
    const int64_t m = size[0], n = size[1], k = size[2], floats = m * k + k * n + n + m * n;
    struct mx_stream *stream = NULL;
    struct mx_buffer *buffer = NULL;
    float *const all = mx_alloc((size_t)floats, sizeof *all);
    for (int64_t i = 0; i < floats; i++) all[i] = mx_rng_uniform(5, 0, (uint64_t)i) - 0.5f;
    assert_int_equal(mx_stream_create(device, "product", &stream), 0);
    assert_int_equal(mx_buffer_create(device, "product", (size_t)floats * 4, &buffer), 0);
    assert_int_equal(mx_copy_upload(stream, mx_slice_at(buffer, 0), all, (size_t)floats * 4), 0);
    struct mx_matmul_args args = {.a = mx_slice_at(buffer, 0),
                                  .b = mx_slice_at(buffer, (size_t)(m * k) * 4),
                                  .c = mx_slice_at(buffer, (size_t)(m * k + k * n + n) * 4),
                                  .m = m,
                                  .n = n,
                                  .k = k,
                                  .transpose_a = transpose};
    if (transpose) {
        args.epilogue.accumulate = true;
    } else {
        args.epilogue.bias = mx_slice_at(buffer, (size_t)(m * k + k * n) * 4);
    }
    assert_int_equal(mx_matmul(stream, &args), 0);
    assert_int_equal(mx_copy_download(stream, c, args.c, (size_t)(m * n) * 4), 0);
    assert_int_equal(mx_stream_sync(stream), 0);
    mx_stream_release(stream);
    mx_buffer_release(buffer);
    mx_free(all);
}

/* Products whose packed operands do not fit the scratch in one piece: many rows, few but long rows, a long sum. */
static void products_in_pieces(void **state)
{
    struct pair *pair = *state;
    static const struct {
        int64_t size[3];
        bool transpose;
    } cases[] = {{{9000, 33, 300}, false}, {{14, 100, 30000}, false}, {{40, 70, 5000}, true}};
    if (!pair->own.devices[0] || getenv("MYXTTS_TEST_TINY")) skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t count = cases[i].size[0] * cases[i].size[1];
        float *const here = mx_alloc((size_t)count, 4), *const there = mx_alloc((size_t)count, 4);
        product_run(pair->cpu.device, cases[i].size, cases[i].transpose, here);
        product_run(pair->own.devices[0], cases[i].size, cases[i].transpose, there);
        /* Products of two numbers up to 1/2 deviate by 1/12, their sums by √k/12; each of k roundings errs by up to
         * 2^-24 of that, k of them by √k (6 deviations, see ops/bound.c), on either side; and what is added there is
         * below 1. */
        const double terms = (double)cases[i].size[2];
        const double bound = 2 * 0x1p-24 * (16 + 6 * sqrt(terms) * fmax(1, sqrt(terms) / 12));
        for (int64_t k = 0; k < count; k++) {
            if (!(fabs((double)here[k] - (double)there[k]) <= bound))
                fail_msg("product %zu: element %lld is %.7g and %.7g", i, (long long)k, (double)here[k],
                         (double)there[k]);
        }
        mx_free(here);
        mx_free(there);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        OP_TESTS_LIST cmocka_unit_test(runs_repeat),
        cmocka_unit_test(products_in_pieces),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, setup, teardown);
}
