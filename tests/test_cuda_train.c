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
#include "support/rounding.h"
#include "support/vocoder_rig.h"

#define STATES      5 /* of a run of the CPU, in which CUDA must find the same */
#define STATE_STEPS 4 /* steps from one state to the next */
#define FEW_STEPS   3
#define UTTERANCES  4
#define RATE        2e-3f
#define SHARPNESS   0.01 /* of a loss or a gradient: what most comparisons must be able to detect */
#define COARSE      0.25 /* the same where bf16 numbers are multiplied, which have 8 bits */

/* A small model on a device, which the rig closes. */
static void runner_open(struct rig *rig, struct op_cpu opened, bool mixed)
{
    struct utterance utterances[UTTERANCES];
    struct mx_model_config config = rig_config();
    config.mixed = mixed;
    rig_open_on(rig, opened, &config, MX_MODEL_TRAIN, true);
    for (int i = 0; i < UTTERANCES; i++) utterance_make(&utterances[i], &config, (uint64_t)i, i % 2, 0.1f);
    rig_load(rig, utterances, UTTERANCES);
    for (int i = 0; i < UTTERANCES; i++) utterance_release(&utterances[i]);
}

static void cpu_open(struct rig *rig, bool mixed)
{
    struct op_cpu cpu;
    assert_int_equal(op_cpu_open(&cpu, 1, 0), 0);
    runner_open(rig, cpu, mixed);
}

static void cuda_runner_open(struct rig *rig, bool mixed)
{
    struct cuda_pair pair;
    assert_int_equal(cuda_open(&pair, 1), 0);
    runner_open(rig, (struct op_cpu){.registry = pair.registry, .device = pair.devices[0]}, mixed);
}

/* Along a run of the one, the other finds the same losses and gradients in the same states, within what moving the
 * weights by `share` does there. */
static void follow(struct rig *here, struct rig *there, double share, double sharpness)
{
    struct rounding_seen seen = {.sharpness = sharpness};
    double first = 0, last = 0;
    for (int step = 0; step < STATES * STATE_STEPS; step++) {
        if (step % STATE_STEPS == 0) rounding_compare(here, there, (uint64_t)step, share, &seen);
        double values[RIG_KINDS_MAX];
        here->run(here, (uint64_t)step, values);
        last = 0;
        for (int k = 0; k < here->kinds; k++) last += values[k];
        if (step == 0) first = last;
        rig_update(here, RATE);
    }
    assert_true(last < first); /* it learns: the states differ */
    rounding_require(&seen);
}

static void test_follows_the_cpu(void **state)
{
    (void)state;
    struct rig here, there;
    const struct cuda_double *const cuda = cuda_double_use("");
    cpu_open(&here, false);
    cuda_runner_open(&there, false);
    follow(&here, &there, rounding_share(rounding_terms(&here), ROUNDING_F32), SHARPNESS);
    rig_close(&here);
    rig_close(&there);
    assert_true(cuda->get("gemms") > 0);
    cuda_assert_clean(cuda);
}

/* Products of bf16 numbers: as near to fp32 as such numbers are (each factor is rounded once, the sums are not), and on
 * both backends as near to each other as sums in fp32, where the CPU has them, too. */
static void test_mixed_precision(void **state)
{
    (void)state;
    struct rig here, there;
    const struct cuda_double *const cuda = cuda_double_use("");
    if (cuda->get("capability") < 80) skip(); /* no bf16 */
    cpu_open(&here, false);
    cuda_runner_open(&there, true);
    follow(&here, &there, ROUNDING_BF16, COARSE);
    rig_close(&here);
    rig_close(&there);
    cuda_assert_clean(cuda);
    cpu_open(&here, false);
    const bool too = mx_device_info(here.cpu.device)->caps.bf16_multiply;
    rig_close(&here);
    if (!too) return;
    cpu_open(&here, true);
    cuda_runner_open(&there, true);
    follow(&here, &there, rounding_share(rounding_terms(&here), ROUNDING_F32), COARSE);
    rig_close(&here);
    rig_close(&there);
    cuda_assert_clean(cuda);
}

/* The same of the vocoder's network. */
static void vocoder_follows(bool mixed, double share, double sharpness)
{
    static struct vocoder_rig here, there;
    static struct segment segments[SEGMENTS];
    struct mx_vocoder_config config = vocoder_rig_config();
    struct cuda_pair pair;
    const struct cuda_double *const cuda = cuda_double_use("");
    assert_int_equal(cuda_open(&pair, 1), 0);
    vocoder_rig_open(&here, &config, MX_MODEL_TRAIN, 1, true);
    config.mixed = mixed;
    vocoder_rig_open_on(&there, (struct op_cpu){.registry = pair.registry, .device = pair.devices[0]}, &config,
                        MX_MODEL_TRAIN, true);
    segments_make(segments);
    vocoder_rig_load(&here, segments, SEGMENTS);
    vocoder_rig_load(&there, segments, SEGMENTS);
    follow(&here.base, &there.base, share, sharpness);
    vocoder_rig_close(&here);
    vocoder_rig_close(&there);
    cuda_assert_clean(cuda);
}

static void test_vocoder_follows_the_cpu(void **state)
{
    (void)state;
    vocoder_follows(false, rounding_share(7 * SEGMENT_BANDS, ROUNDING_F32), SHARPNESS);
    if (cuda_double_use("")->get("capability") >= 80) vocoder_follows(true, ROUNDING_BF16, COARSE);
}

static void losses_of_cuda(int steps, double *losses)
{
    struct rig rig;
    cuda_runner_open(&rig, false);
    for (int step = 0; step < steps; step++) {
        losses[step] = rig_teach(&rig, (uint64_t)step).total;
        rig_update(&rig, RATE);
    }
    rig_close(&rig);
}

static void test_time_and_order_do_not_matter(void **state)
{
    (void)state;
    double plain[FEW_STEPS], other[FEW_STEPS];
    const struct cuda_double *const cuda = cuda_double_use("");
    losses_of_cuda(FEW_STEPS, plain);
    cuda->set("delay_us", 100);
    losses_of_cuda(FEW_STEPS, other);
    assert_memory_equal(plain, other, sizeof plain);
    cuda->reset();
    cuda->set("backwards", 1);
    losses_of_cuda(FEW_STEPS, other);
    assert_memory_equal(plain, other, sizeof plain);
    cuda_assert_clean(cuda);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_follows_the_cpu),
        cmocka_unit_test(test_mixed_precision),
        cmocka_unit_test(test_vocoder_follows_the_cpu),
        cmocka_unit_test(test_time_and_order_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
