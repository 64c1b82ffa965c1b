/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training on OpenCL beside the CPU backend, from the same weights on the same utterances, with dropout. Skipped where
 * OpenCL has no device.
 *
 * On its own way, OpenCL follows the losses of a small model for fifty steps. A large model does not stay that near to
 * anything: where a unit is at the edge of being off, or a prediction at its target, the last bit decides how the
 * weights move, and the difference grows from step to step, as it does between two runs of the CPU that differ by a
 * rounding. So `tiny` is compared from the same state: at some states along the CPU's run OpenCL gets its weights, and
 * must find the same losses and the same gradient of every parameter.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "support/model_rig.h"
#include "support/opencl.h"

#define STEPS       50
#define STATES      6 /* of the run of `tiny` in which both backends are compared … */
#define STATE_STEPS 4 /* … so many steps of the CPU apart */
#define RATE_SMALL  2e-3f
#define RATE_TINY   2e-4f
#define DROPOUT     0.1f

#define LOSS_BOUND     1e-3 /* of the sum of the losses on its own way, relative */
#define STATE_BOUND    1e-5 /* of each loss from the same state, relative */
#define GRADIENT_BOUND 1e-4 /* of a parameter's gradient from the same state: |difference| against |gradient| … */
#define KINKS_MOST     2    /* … but for so many states, in which a unit is at the edge of being off: there … */
#define KINK_BOUND     0.2  /* … this */

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

/* ---- on its own way ---- */

static void losses_of(bool opencl, double losses[STEPS])
{
    static struct runner runner;
    runner_open(&runner, opencl, false);
    for (int step = 0; step < STEPS; step++) {
        losses[step] = rig_teach(&runner.rig, (uint64_t)step).total;
        rig_update(&runner.rig, RATE_SMALL);
    }
    runner_close(&runner);
}

static void test_small_model_follows(void **state)
{
    (void)state;
    double here[STEPS], there[STEPS], most = 0;
    if (!available) skip();
    losses_of(false, here);
    losses_of(true, there);
    assert_true(here[STEPS - 1] < 0.5 * here[0]); /* it learns */
    for (int i = 0; i < STEPS; i++) {
        if (!(fabs(there[i] - here[i]) <= LOSS_BOUND * fabs(here[i])))
            fail_msg("step %d: the loss is %.7g on the CPU and %.7g on OpenCL", i, here[i], there[i]);
        most = fmax(most, fabs(there[i] - here[i]) / fabs(here[i]));
    }
    print_message("%d steps, loss %.4g to %.4g: OpenCL parts by %.1e\n", STEPS, here[0], here[STEPS - 1], most);
}

/* ---- from the same state ---- */

static double length_of(const float *x, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

static double losses_far(const struct mx_model_losses *here, const struct mx_model_losses *there, int step)
{
    double most = 0;
    for (int k = 0; k < MX_MODEL_LOSSES; k++) {
        const double far = fabs(here->values[k] - there->values[k]) / fabs(here->values[k]);
        if (!(far <= STATE_BOUND))
            fail_msg("step %d: loss %d is %.9g on the CPU and %.9g on OpenCL", step, k, here->values[k],
                     there->values[k]);
        most = fmax(most, far);
    }
    return most;
}

/* How far the gradient of any parameter is, against its own length; *name is that parameter's. */
static double gradients_far(const struct rig *here, const struct rig *there, const char **name)
{
    double most = 0;
    float *const a = rig_download(here, rig_gradients(here), here->table->floats);
    float *const b = rig_download(there, rig_gradients(there), here->table->floats);
    for (int i = 0; i < here->table->count; i++) {
        const struct mx_parameter *const p = &here->table->entries[i];
        const double length = length_of(a + p->at, p->count);
        for (int64_t k = 0; k < p->count; k++) b[p->at + k] -= a[p->at + k];
        const double far = length_of(b + p->at, p->count);
        const double share = far == 0 ? 0 : length > 0 ? far / length : INFINITY;
        if (share <= most) continue;
        most = share;
        *name = p->name;
        if (isnan(share)) break;
    }
    mx_free(a);
    mx_free(b);
    return most;
}

static void test_tiny_from_the_same_state(void **state)
{
    (void)state;
    static struct runner here, there;
    double loss_far = 0, gradient_far = 0;
    int kinks = 0;
    if (!available) skip();
    runner_open(&here, false, true);
    runner_open(&there, true, true);
    const int64_t count = here.rig.table->floats;
    for (int step = 0; step < STATES * STATE_STEPS; step++) {
        const struct mx_model_losses a = rig_teach(&here.rig, (uint64_t)step);
        if (step % STATE_STEPS == 0) {
            float *const weights = rig_download(&here.rig, rig_parameters(&here.rig), count);
            rig_upload(&there.rig, rig_parameters(&there.rig), weights, count);
            mx_free(weights);
            const struct mx_model_losses b = rig_teach(&there.rig, (uint64_t)step);
            loss_far = fmax(loss_far, losses_far(&a, &b, step));
            const char *name = "";
            const double far = gradients_far(&here.rig, &there.rig, &name);
            kinks += !(far <= GRADIENT_BOUND);
            if (!(far <= KINK_BOUND) || kinks > KINKS_MOST)
                fail_msg("step %d: the gradient of %s differs by %.3g of its length; in %d states it was far", step,
                         name, far, kinks);
            if (far <= GRADIENT_BOUND) gradient_far = fmax(gradient_far, far);
        }
        rig_update(&here.rig, RATE_TINY);
    }
    print_message("from the same state losses differ by %.1e, gradients by %.1e but for %d states\n", loss_far,
                  gradient_far, kinks);
    runner_close(&here);
    runner_close(&there);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_model_follows),
        cmocka_unit_test(test_tiny_from_the_same_state),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
