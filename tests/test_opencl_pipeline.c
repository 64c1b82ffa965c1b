/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The pipeline on two parts of one OpenCL device: order, contents, ends and failures of random short pipelines, as
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

#include <string.h>

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
        struct pipeline_rig_run run = {.seed = seed,
                                       .one_device = seed % 2 == 1,
                                       .options = {.host_count = 1, .model_count = 2, .workers = 3, .held = 1},
                                       .batches = PIPELINE_RIG_BATCHES,
                                       .delay_us = seed < 4 ? 0 : 100,
                                       .fail_stage = MX_STAGES,
                                       .full_stage = MX_STAGES};
        run.options.data_count = run.one_device ? 2 : 1;
        run.options.sequential = seed / 2 % 2 == 1;
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
    struct mx_pipeline_options options;
    struct mx_pipeline *pipeline;
    struct mx_stream *stream;
    struct mx_pipeline_batch batch;
    struct mx_pipeline_stats stats;
    struct mx_pipeline_memory memory;
    struct mx_span spans[4 * BATCHES];
    if (!available) skip();
    struct pipeline_rig_run run = {
        .seed = 4,
        .options = {.host_count = 4, .data_count = 3, .model_count = MX_PIPELINE_BUFFERS, .workers = 3, .held = 2},
        .batches = BATCHES,
        .fail_stage = MX_STAGES,
        .full_stage = MX_STAGES};
    pipeline_rig_open_on(&rig, NULL, &two);
    run.options.spans = 4 * BATCHES;
    pipeline_rig_options(&rig, &run, &options);
    assert_int_equal(mx_stream_create(options.model, "train", &stream), 0);
    assert_int_equal(mx_pipeline_create(&options, &pipeline), 0);
    for (uint64_t n = 0; n < BATCHES; n++) {
        assert_int_equal(mx_pipeline_take(pipeline, stream, &batch), 0);
        assert_int_equal(batch.number, n);
        assert_int_equal(mx_pipeline_give(pipeline, stream), 0);
        mx_pipeline_step(pipeline);
    }
    assert_int_equal(mx_stream_sync(stream), 0);
    mx_pipeline_stats(pipeline, &stats);
    assert_int_equal(stats.batches, BATCHES);
    for (int stage = 0; stage < MX_STAGES; stage++) assert_int_equal(stats.stages[stage].busy_ns.count, BATCHES);
    assert_true(stats.transfer_ns > 0);
    assert_true(stats.model_busy_ns <= stats.wall_ns && stats.data_busy_ns <= stats.wall_ns);
    assert_true(stats.transfer_hidden_ns <= stats.transfer_ns && stats.stage_overlap_ns <= stats.model_busy_ns);
    assert_int_equal(mx_pipeline_spans(pipeline, spans, 4 * BATCHES), 4 * BATCHES);
    for (uint32_t i = 0; i < 4 * BATCHES; i++) assert_true(spans[i].begin_ns <= spans[i].end_ns);
    mx_pipeline_memory_stats(pipeline, &memory);
    assert_int_equal(memory.device_count, 2);
    assert_string_equal(memory.devices[0].name, "opencl:0");
    assert_string_equal(memory.devices[1].name, "opencl:1");
    for (int d = 0; d < 2; d++)
        assert_true(memory.devices[d].used_bytes >= PIPELINE_RIG_SLOTS * PIPELINE_RIG_WORDS * sizeof(uint32_t));
    mx_pipeline_destroy(pipeline);
    mx_stream_release(stream);
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
