/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Work sharing on devices that are no groups of cores: two parts of an OpenCL device, two CUDA devices (the double,
 * tests/double) that reach each other's memory or do not, and devices of two kinds, of which the model device updates
 * all weights. Losses follow those of the model device alone while shares come, change and go; the same run has the
 * same bits.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <math.h>

#include "base/alloc.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "support/cuda.h"
#include "support/opencl.h"
#include "support/rounding.h"
#include "support/training_rig.h"

#define STEPS     5
#define SHARES    "0:0.5,2:0,3:0.45"
#define FRAMES    1000 /* of a step, at most: terms of the sums that are divided */
#define SHARE     rounding_share(FRAMES, ROUNDING_F32)
#define MOVED     3    /* runs with moved weights */
#define SHARPNESS 1e-3 /* of a loss: what a comparison must be able to see */

/* Batches are made by `data`, `model` trains; shared or not. */
static struct mx_trainer_options options_of(struct mx_device *data, struct mx_device *model, bool shared)
{
    struct mx_trainer_options o = training_flow(training_options(TRAINING_FEATURES), true, 1, 2);
    o.device = model;
    o.flow.data_device = data;
    o.optimizer.schedule.peak = 1e-3;
    o.validation_limit = 0;
    o.batch_size = 2; /* the double is slow */
    if (!shared) return o;
    o.flow.share = MX_SHARE_ON;
    assert_int_equal(mx_shares_parse(SHARES, &o.flow.shares), 0);
    return o;
}

static uint64_t bytes_of(struct mx_device *device)
{
    struct mx_budget_stats stats;
    mx_budget_stats(mx_device_budget(device), &stats);
    return stats.current_bytes;
}

/* Losses of a run that is not shared; `draw` > 0: with weights that were moved as far as the sums over frames can err.
 */
static void losses_of(const struct mx_trainer_options *o, int draw, double losses[STEPS])
{
    struct mx_trainer_report report;
    struct mx_trainer *const trainer = training_start(o, NULL, NULL);
    if (draw > 0) {
        size_t floats;
        const struct mx_trainer_arrays arrays = training_arrays_read(trainer, &floats);
        rounding_move(arrays.weights, (int64_t)floats, (uint64_t)draw, SHARE);
        assert_int_equal(mx_trainer_write(trainer, MX_PART_ACOUSTIC, &arrays), 0);
        mx_free(arrays.weights);
    }
    for (int i = 0; i < STEPS; i++) {
        training_step(trainer, &report);
        assert_true(report.frames <= FRAMES);
        losses[i] = report.losses.total;
    }
    mx_trainer_destroy(trainer);
}

/* How far a loss may be from that of another right program: twice as far as moved weights carry it (see
 * support/rounding.h), which depends on what is computed, not on where. So it is measured on the CPU. */
static void allowed_measure(double allowed[STEPS])
{
    double plain[STEPS], moved[STEPS];
    const struct mx_trainer_options o = options_of(training.data, training.model, false);
    losses_of(&o, 0, plain);
    for (int i = 0; i < STEPS; i++) allowed[i] = SHARE * fabs(plain[i]);
    for (int draw = 1; draw <= MOVED; draw++) {
        losses_of(&o, draw, moved);
        for (int i = 0; i < STEPS; i++)
            allowed[i] = fmax(allowed[i], SHARE * fabs(plain[i]) + 2 * fabs(moved[i] - plain[i]));
    }
    for (int i = 0; i < STEPS; i++) assert_true(allowed[i] <= SHARPNESS * fabs(plain[i]));
}

/* Losses are those of the model device alone, and every byte that is taken was planned. */
static void follows(struct mx_device *data, struct mx_device *model)
{
    double losses[STEPS], allowed[STEPS];
    struct mx_trainer_memory_plan plan;
    struct mx_trainer_report report;
    struct mx_trainer_options o = options_of(data, model, false);
    allowed_measure(allowed);
    losses_of(&o, 0, losses);
    o = options_of(data, model, true);
    assert_int_equal(mx_trainer_memory_plan(&o, &plan), 0);
    const uint64_t data_bytes = bytes_of(data), model_bytes = bytes_of(model);
    struct mx_trainer *const trainer = training_start(&o, NULL, NULL);
    for (int i = 0; i < STEPS; i++) {
        training_step(trainer, &report);
        assert_true((report.shared_frames > 0) == (mx_shares_at(&o.flow.shares, i) > 0));
        if (!(fabs(losses[i] - report.losses.total) <= allowed[i]))
            fail_msg("step %d: the loss is %.7g and, shared, %.7g; %.2g is allowed", i, losses[i], report.losses.total,
                     allowed[i]);
    }
    assert_true(bytes_of(data) - data_bytes <= plan.data_bytes && bytes_of(model) - model_bytes <= plan.model_bytes);
    mx_trainer_destroy(trainer);
}

static void test_parts_of_an_opencl_device(void **state)
{
    (void)state;
    struct opencl_pair pair;
    if (!opencl_available() || opencl_open(&pair, 2) < 0) {
        mx_error_clear();
        skip();
    }
    follows(pair.devices[0], pair.devices[1]);
    const struct mx_trainer_options o = options_of(pair.devices[0], pair.devices[1], true);
    const struct training_outcome first = training_run(&o);
    training_same(&first, &o);
    mx_free(first.arrays.weights);
    opencl_close(&pair);
}

/* Without access to each other's memory: everything goes through the host. */
static void test_cuda_devices(void **state)
{
    (void)state;
    struct cuda_pair pair;
    const struct cuda_double *const cuda = cuda_double_use("");
    cuda->set("peer", 0);
    assert_int_equal(cuda_open(&pair, 2), 0);
    follows(pair.devices[0], pair.devices[1]);
    cuda_close(&pair);
    cuda_assert_clean(cuda);
}

/* With it, and with steps that are recorded and started as one: the same bits. */
static void test_cuda_peers_that_record(void **state)
{
    (void)state;
    struct cuda_pair pair;
    const struct cuda_double *const cuda = cuda_double_use("");
    assert_int_equal(cuda_open(&pair, 2), 0);
    struct mx_trainer_options o = options_of(pair.devices[0], pair.devices[1], true);
    const struct training_outcome piecemeal = training_run(&o);
    assert_int_equal(cuda->get("graph_launches"), 0);
    o.flow.static_shapes = true;
    training_same(&piecemeal, &o);
    assert_true(cuda->get("graph_launches") > 0);
    mx_free(piecemeal.arrays.weights);
    cuda_close(&pair);
    cuda_assert_clean(cuda);
}

/* Of two kinds, either way round. */
static void test_a_cuda_device_and_cores(void **state)
{
    (void)state;
    struct cuda_pair pair;
    const struct cuda_double *const cuda = cuda_double_use("");
    assert_int_equal(cuda_open(&pair, 1), 0);
    follows(training.data, pair.devices[0]);
    follows(pair.devices[0], training.model);
    cuda_close(&pair);
    cuda_assert_clean(cuda);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_of_an_opencl_device), cmocka_unit_test(test_cuda_devices),
        cmocka_unit_test(test_cuda_peers_that_record), cmocka_unit_test(test_a_cuda_device_and_cores)};
    return cmocka_run_group_tests(tests, training_open, training_close);
}
