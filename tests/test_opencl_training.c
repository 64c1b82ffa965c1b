/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training on OpenCL beside the CPU backend, from the same weights on the same utterances, with dropout. Skipped where
 * OpenCL has no device.
 *
 * Two trainings that round differently part, the faster the larger the model is: where a unit is at the edge of being
 * off, or a prediction at its target, the last bit decides how the weights move. So backends are compared from the same
 * state: at some states along the CPU's run OpenCL gets its weights, and must find the same losses and the same
 * gradient of every parameter, within what rounding does to them there (support/rounding.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/model_rig.h"
#include "support/opencl.h"
#include "support/rounding.h"

#define STATES      4 /* of a run in which both backends are compared */
#define STATE_STEPS 4 /* steps of the CPU from one state to the next */
#define RATE_SMALL  2e-3f
#define RATE_TINY   2e-4f
#define DROPOUT     0.1f
#define SHARPNESS   0.01 /* of a loss or a gradient: what most comparisons must be able to see */

static bool available;

static int setup(void **state)
{
    (void)state;
    available = opencl_available();
    return 0;
}

struct runner {
    struct rig rig;
    struct utterance utterances[RIG_BATCH_MAX];
    int count;
};

static struct mx_model_config config_of(bool tiny)
{
    struct mx_model_config config = rig_config();
    if (tiny) config = mx_model_config_default(mx_model_size_find("tiny"), RIG_SYMBOLS, RIG_LANGUAGES);
    config.dropout = DROPOUT;
    return config;
}

static void runner_open(struct runner *runner, bool opencl, bool tiny)
{
    struct op_cpu opened;
    struct opencl_pair pair;
    const struct mx_model_config config = config_of(tiny);
    if (opencl) {
        assert_int_equal(opencl_open(&pair, 1), 0);
        opened = (struct op_cpu){.registry = pair.registry, .device = pair.devices[0]};
    } else {
        assert_int_equal(op_cpu_open(&opened, 1, 0), 0);
    }
    rig_open_on(&runner->rig, opened, &config, MX_MODEL_TRAIN, !tiny);
    runner->count = tiny ? 1 : 4;
    for (int i = 0; i < runner->count; i++) utterance_make(&runner->utterances[i], &config, (uint64_t)i, i % 2, 0.1f);
    rig_load(&runner->rig, runner->utterances, runner->count);
}

static void runner_close(struct runner *runner)
{
    for (int i = 0; i < runner->count; i++) utterance_release(&runner->utterances[i]);
    rig_close(&runner->rig);
}

/* `single`: as on a device without double precision. */
static void follow(bool tiny, bool single)
{
    static struct runner here, there;
    struct rounding_seen seen = {.sharpness = SHARPNESS};
    double first = 0, last = 0;
    if (!available) skip();
    runner_open(&here, false, tiny);
    if (single) setenv("MYXTTS_OPENCL_DOUBLE", "off", 1);
    runner_open(&there, true, tiny);
    unsetenv("MYXTTS_OPENCL_DOUBLE");
    const double share = rounding_share(rounding_terms(&here.rig), ROUNDING_F32);
    for (int step = 0; step < STATES * STATE_STEPS; step++) {
        if (step % STATE_STEPS == 0) rounding_compare(&here.rig, &there.rig, (uint64_t)step, share, &seen);
        last = rig_teach(&here.rig, (uint64_t)step).total;
        if (step == 0) first = last;
        rig_update(&here.rig, tiny ? RATE_TINY : RATE_SMALL);
    }
    assert_true(last < first); /* it learns: the states differ */
    rounding_require(&seen);
    runner_close(&here);
    runner_close(&there);
}

static void test_small_model(void **state)
{
    (void)state;
    follow(false, false);
}

static void test_single_precision(void **state)
{
    (void)state;
    follow(false, true);
}

static void test_tiny(void **state)
{
    (void)state;
    follow(true, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_model),
        cmocka_unit_test(test_single_precision),
        cmocka_unit_test(test_tiny),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
