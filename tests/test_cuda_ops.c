/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every operation on CUDA against the CPU backend and the double-precision reference, over random shapes and options,
 * empty and single-row sequences among them. CUDA is the double (tests/double): the host code of the backend, the
 * plans and the kernels are the real ones. The kernels are compiled as C; with CUDA_DOUBLE_PTX=1 by the real NVRTC, and its
 * PTX is executed (test_cuda_ops@ptx).
 *
 * Bounds are those of test_opencl_ops.c. The double refuses any address that is not the device's, and mx_op_case_run any
 * write outside the outputs. A pattern as the only argument chooses tests.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "myxtts/error.h"
#include "ops/case.h"
#include "ops/each.h"
#include "ops/reference.h"
#include "support/cuda_beside_cpu.h"

#define USUAL_CASES 14 /* $MYXTTS_TEST_CASES: others */
#define LARGE_CASES 1
#define SLOW_CASES  4 /* usual ones, and no others, on the PTX machine */

static void compare(struct cuda_beside_cpu *pair, enum mx_op op)
{
    const char *const given = getenv("MYXTTS_TEST_CASES");
    const bool slow = pair->control->get("ptx") != 0 && !given;
    const uint64_t usual = given ? strtoull(given, NULL, 10) : slow ? SLOW_CASES : USUAL_CASES;
    const uint64_t large = usual + (slow ? 0 : LARGE_CASES), count = large + (!slow && mx_op_can_be_wide(op) ? 1 : 0);
    for (uint64_t seed = 0; seed < count; seed++) {
        const enum mx_op_size size = seed < usual ? MX_OP_USUAL : seed < large ? MX_OP_LARGE : MX_OP_WIDE;
        struct mx_op_case c;
        struct mx_op_result cpu, cuda;
        op_case_make(&c, op, seed, (struct mx_op_plan){.size = size});
        op_case_must_run(&c, pair->cpu.device, &cpu);
        op_case_must_run(&c, pair->cuda.devices[0], &cuda);
        const char *far = reference_far(&c, &cuda, 1);
        if (!far) far = mx_op_result_far(&c, &cpu, &cuda);
        if (far) fail_msg("%s", far);
        mx_op_result_release(&cpu);
        mx_op_result_release(&cuda);
        mx_op_case_release(&c);
    }
    assert_string_equal(pair->control->faults(), "");
}

#define OP_TEST compare
OP_TESTS_DEFINE

/* The same case with groups and lanes in the opposite order, or in another random one on the PTX machine, gives the same bits: nothing depends on the order in which
 * lanes run between two barriers, and no sum on how groups are scheduled. */
static void order_does_not_matter(void **state)
{
    struct cuda_beside_cpu *pair = *state;
    const bool ptx = pair->control->get("ptx") != 0;
    const char *const order = ptx ? "ptx_seed" : "backwards";
    const long usual = pair->control->get(order);
    for (int op = 0; op < MX_OP_COUNT; op++) {
        for (uint64_t seed = 70; seed < (ptx ? 71 : 74); seed++) {
            struct mx_op_case c;
            struct mx_op_result forwards, backwards;
            op_case_make(&c, (enum mx_op)op, seed, (struct mx_op_plan){.size = MX_OP_USUAL});
            op_case_must_run(&c, pair->cuda.devices[0], &forwards);
            pair->control->set(order, usual + 1);
            op_case_must_run(&c, pair->cuda.devices[0], &backwards);
            pair->control->set(order, usual);
            const char *differs = mx_op_result_differs(&c, &forwards, &backwards);
            if (differs) fail_msg("%s", differs);
            mx_op_result_release(&forwards);
            mx_op_result_release(&backwards);
            mx_op_case_release(&c);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        OP_TESTS_LIST cmocka_unit_test(order_does_not_matter),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, cuda_beside_cpu_open, cuda_beside_cpu_close);
}
