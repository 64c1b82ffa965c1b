/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every operation on OpenCL against the CPU backend and the double-precision reference, over random shapes and options,
 * empty and single-row sequences among them. A pattern as the only argument chooses tests; MYXTTS_TEST_TINY takes a few
 * tiny cases instead, for checkers that are slow (make oclgrind).
 *
 * The bound is that of the CPU backend's own test: op_bound(case) · max(1, largest |exact| of the output); the two
 * backends may differ by twice that. op_case_run itself refuses any write outside the outputs. Skipped where OpenCL has
 * no device.
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
#include "ops/each.h"
#include "ops/reference.h"
#include "support/opencl.h"

#define USUAL_CASES 14
#define LARGE_CASES 1
#define TINY_CASES  6

struct pair {
    struct op_cpu cpu;
    struct opencl_pair own; /* device 0 */
};

static int setup(void **state)
{
    static struct pair pair;
    *state = &pair;
    if (!opencl_available()) return 0;
    return op_cpu_open(&pair.cpu, 1, 0) < 0 ? -1 : opencl_open(&pair.own, 1);
}

static int teardown(void **state)
{
    struct pair *pair = *state;
    op_cpu_close(&pair->cpu);
    opencl_close(&pair->own);
    return 0;
}

static void check_on(const struct op_case *c, struct mx_device *device, const struct op_result *cpu)
{
    struct op_result result;
    if (op_case_run(c, device, &result) < 0)
        fail_msg("%s seed %llu: %s", mx_op_name(c->op), (unsigned long long)c->seed, mx_error_last()->message);
    const char *far = reference_far(c, &result, 1);
    if (!far) far = op_result_far(c, cpu, &result);
    op_result_release(&result);
    if (far) fail_msg("%s", far);
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
        check_on(&c, pair->own.devices[0], &cpu);
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        OP_TESTS_LIST cmocka_unit_test(runs_repeat),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, setup, teardown);
}
