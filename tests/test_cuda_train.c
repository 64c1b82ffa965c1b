/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training on CUDA (the double, tests/double): twenty steps follow the CPU backend's losses, in fp32 and in mixed
 * precision, and neither the time that things take nor the order of lanes and groups changes a bit of them.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "support/cuda.h"
#include "support/model_rig.h"

#include <math.h>
#include <string.h>

#define STEPS       20
#define MIXED_STEPS 8 /* later ones differ because the alignment takes another way */
#define FEW_STEPS   3
#define UTTERANCES  4

/* Losses of a small model from the same parameters on the same utterances. The rig closes the device. */
static void losses_of(struct op_cpu opened, bool mixed, int steps, double *losses)
{
    struct rig rig;
    struct utterance utterances[UTTERANCES];
    struct mx_model_config config = rig_config();
    config.mixed = mixed;
    rig_open_on(&rig, opened, &config, MX_MODEL_TRAIN, true);
    for (int i = 0; i < UTTERANCES; i++) utterance_make(&utterances[i], &config, (uint64_t)i, i % 2, 0.1f);
    rig_load(&rig, utterances, UTTERANCES);
    for (int step = 0; step < steps; step++) {
        losses[step] = rig_teach(&rig, (uint64_t)step).total;
        rig_update(&rig, 2e-3f);
    }
    for (int i = 0; i < UTTERANCES; i++) utterance_release(&utterances[i]);
    rig_close(&rig);
}

static void losses_of_cuda(bool mixed, int steps, double *losses)
{
    struct cuda_pair pair;
    assert_int_equal(cuda_open(&pair, 1), 0);
    losses_of((struct op_cpu){.registry = pair.registry, .device = pair.devices[0]}, mixed, steps, losses);
}

static void losses_near(const double *a, const double *b, int steps, double bound, const char *what)
{
    for (int i = 0; i < steps; i++)
        if (!(fabs(a[i] - b[i]) <= bound * fabs(a[i])))
            fail_msg("step %d: the loss is %.7g and, %s, %.7g", i, a[i], what, b[i]);
}

static void test_follows_the_cpu(void **state)
{
    (void)state;
    struct op_cpu cpu;
    double here[STEPS], there[STEPS];
    const struct cuda_double *const cuda = cuda_double_use("");
    assert_int_equal(op_cpu_open(&cpu, 1, 0), 0);
    losses_of(cpu, false, STEPS, here);
    losses_of_cuda(false, STEPS, there);
    assert_true(here[STEPS - 1] < 0.9 * here[0]); /* it learns */
    losses_near(here, there, STEPS, 1e-3, "on CUDA");
    assert_true(cuda->get("gemms") > 0);
    cuda_assert_clean(cuda);
}

/* Products of bf16 numbers: near fp32, and on both backends nearer to each other where the CPU has them, too. */
static void test_mixed_precision(void **state)
{
    (void)state;
    struct op_cpu cpu;
    double fp32[MIXED_STEPS], there[MIXED_STEPS], here[MIXED_STEPS];
    const struct cuda_double *const cuda = cuda_double_use("");
    losses_of_cuda(false, MIXED_STEPS, fp32);
    losses_of_cuda(true, MIXED_STEPS, there);
    losses_near(fp32, there, MIXED_STEPS, 3e-2, "in mixed precision");
    assert_true(memcmp(fp32, there, sizeof fp32) != 0);
    cuda_assert_clean(cuda);
    assert_int_equal(op_cpu_open(&cpu, 1, 0), 0);
    if (!mx_device_info(cpu.device)->caps.bf16_multiply) {
        op_cpu_close(&cpu);
        return;
    }
    losses_of(cpu, true, MIXED_STEPS, here);
    losses_near(here, there, MIXED_STEPS, 3e-3, "on CUDA");
}

static void test_time_and_order_do_not_matter(void **state)
{
    (void)state;
    double plain[FEW_STEPS], other[FEW_STEPS];
    const struct cuda_double *const cuda = cuda_double_use("");
    losses_of_cuda(false, FEW_STEPS, plain);
    cuda->set("delay_us", 100);
    losses_of_cuda(false, FEW_STEPS, other);
    assert_memory_equal(plain, other, sizeof plain);
    cuda->reset();
    cuda->set("backwards", 1);
    losses_of_cuda(false, FEW_STEPS, other);
    assert_memory_equal(plain, other, sizeof plain);
    cuda_assert_clean(cuda);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_follows_the_cpu),
        cmocka_unit_test(test_mixed_precision),
        cmocka_unit_test(test_time_and_order_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
