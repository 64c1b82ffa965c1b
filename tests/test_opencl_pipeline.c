/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The pipeline on two OpenCL devices: order, contents, ends and failures of random short pipelines, as
 * tests/test_pipeline_random.c has them on devices that dawdle; the smallest rings; the figures of its meters, which
 * come from the driver's own times. Skipped where OpenCL has no device that gives two.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/log.h"
#include "support/opencl.h"
#include "support/pipeline_random.h"

#define RUNS    300
#define BATCHES 24

static bool available; /* two devices */

static int setup(void **state)
{
    struct opencl_pair pair;
    (void)state;
    available = opencl_available() && opencl_open(&pair, 2) == 0;
    if (available) opencl_close(&pair);
    return 0;
}

static const struct mx_registry_options two = {.devices = {"opencl:0", "opencl:1"}, .device_count = 2};

static void test_random(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    if (!available) skip();
    pipeline_rig_open_on(&rig, NULL, &two);
    for (uint64_t i = 0; i < RUNS; i++) {
        struct pipeline_dice dice = {.seed = 21, .run = i};
        struct pipeline_rig_run run = pipeline_random_run(&dice);
        pipeline_rig_go(&rig, &run);
        pipeline_random_check(&run, false);
        assert_int_equal(run.allocations, 0);
    }
    pipeline_rig_close(&rig);
}

/* Each slot is used again as soon as it can be: one that is filled while it is still read shows as wrong contents. */
static void test_small_rings(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    if (!available) skip();
    pipeline_rig_open_on(&rig, NULL, &two);
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct pipeline_rig_run run = pipeline_rig_smallest(seed, PIPELINE_RIG_BATCHES);
        run.delay_us = seed < 4 ? 0 : 100;
        pipeline_rig_go(&rig, &run);
        pipeline_random_check(&run, false);
        assert_int_equal(run.again, 1);
    }
    pipeline_rig_close(&rig);
}

/* What the meters tell fits together, though the two devices measure by clocks of the driver. */
static void test_figures(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    struct mx_pipeline_batch batch;
    struct pipeline_rig_run run = pipeline_rig_plain(4, BATCHES);
    if (!available) skip();
    run.delay_us = 0;
    run.options.spans = MX_STAGES * BATCHES;
    pipeline_rig_open_on(&rig, NULL, &two);
    pipeline_rig_begin(&rig, &run);
    for (uint64_t n = 0; n < BATCHES; n++) {
        assert_int_equal(mx_pipeline_take(rig.pipeline, rig.stream, &batch), 0);
        assert_int_equal(batch.number, n);
        assert_int_equal(mx_pipeline_give(rig.pipeline, rig.stream), 0);
        mx_pipeline_step(rig.pipeline);
    }
    pipeline_rig_figures(&rig, BATCHES, "opencl");
    pipeline_rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_small_rings),
        cmocka_unit_test(test_figures),
    };
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    return cmocka_run_group_tests(tests, setup, NULL);
}
