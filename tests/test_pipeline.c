/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The pipeline: order, contents and exactly once under delays and overtaking; the end of the data; failures of every
 * stage at every batch; going away in every state; one device, two devices, sequential; tuning; what it says when
 * it waits; its figures.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "pipeline/advice.h"
#include "support/fake_backend.h"
#include "support/pipeline_rig.h"

#define BATCHES 24

static const struct mx_backend *const fake_only[] = {&mx_fake_backend, NULL};

static void whole_check(const struct pipeline_rig_run *run)
{
    assert_string_equal(run->trouble, "");
    assert_int_equal(run->delivered, run->batches);
    assert_int_equal(run->rc, 1);
    assert_int_equal(run->again, 1);
    assert_int_equal(run->drawn, run->batches);
}

/* ---- order and contents ---- */

static void test_order(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    mx_fake_configure(NULL);
    pipeline_rig_open(&rig, fake_only);
    for (uint64_t seed = 0; seed < 24; seed++) {
        struct pipeline_rig_run run = pipeline_rig_plain(seed, BATCHES);
        run.one_device = seed % 3 == 1;
        run.options.sequential = seed % 3 == 2;
        run.options.auto_tune = seed % 2 == 0;
        run.options.spans = 16;
        mx_fake_configure(
            &(struct mx_fake_options){.seed = seed, .max_delay_us = (uint32_t)seed * 8, .reorder = seed % 4 < 2});
        pipeline_rig_go(&rig, &run);
        whole_check(&run);
        assert_int_equal(run.stats.batches, BATCHES);
        assert_int_equal(run.stats.stages[MX_STAGE_LOAD].busy_ns.count, BATCHES);
        assert_int_equal(run.stats.stages[MX_STAGE_PROCESS].busy_ns.count, BATCHES);
        assert_int_equal(run.stats.stages[MX_STAGE_TRANSFER].busy_ns.count, run.one_device ? 0 : BATCHES);
        assert_int_equal(run.stats.stages[MX_STAGE_TRAIN].busy_ns.count, BATCHES);
        assert_int_equal(run.allocations, 0);
    }
    pipeline_rig_close(&rig);
    mx_fake_configure(NULL);
}

/* The smallest rings there may be, and the CPU backend, with its pinned workers. */
static void test_small_rings(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    pipeline_rig_open(&rig, NULL);
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct pipeline_rig_run run = pipeline_rig_smallest(seed, BATCHES);
        pipeline_rig_go(&rig, &run);
        whole_check(&run);
        assert_int_equal(run.allocations, 0);
    }
    pipeline_rig_close(&rig);
}

static void test_no_data(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    pipeline_rig_open(&rig, NULL);
    struct pipeline_rig_run run = pipeline_rig_plain(1, 0);
    pipeline_rig_go(&rig, &run);
    whole_check(&run);
    pipeline_rig_close(&rig);
}

/* ---- failures ---- */

/* Every stage fails at every batch; all before it come, and the message is kept. */
static void test_failures(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    assert_non_null(strstr(text, "auto-tune: settled at "));
    assert_in_range(tuning.workers, 1, run.options.workers);
    if (tuning.workers > 1) assert_non_null(strstr(text, " load workers: process waited "));
}

static int late_load(void *context, int worker, uint64_t number, void *slot, const atomic_bool *cancel)
{
    if (number == 44) mx_clock_sleep_ns(300000000);
    return pipeline_rig_load(context, worker, number, slot, cancel);
}

/* A caller that is slow at first, so that nothing is waited for, and then quick. */
static void caller_hurry(struct mx_pipeline *pipeline, uint64_t number, void *context)
{
    if (number < 40) mx_clock_sleep_ns(1000000);
    mx_pipeline_tuning(pipeline, context, NULL);
}

/* A load that stalls long after the first steps: the buffer grows for the next one. */
static void test_late_stall(void **state)
{
    (void)state;
    struct mx_pipeline_tuning tuning = {0};
    struct pipeline_rig rig;
    char text[4096];
    FILE *const stream = tmpfile();
    assert_non_null(stream);
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_INFO, .stream = stream});
    pipeline_rig_open(&rig, NULL);
    struct pipeline_rig_run run = pipeline_rig_plain(3, PIPELINE_RIG_BATCHES);
    run.delay_us = 0;
    run.each = caller_hurry;
    run.context = &tuning;
    run.options.work.load = late_load;
    run.options.workers = run.options.held = 1;
    run.options.host_count = run.options.data_count = PIPELINE_RIG_SLOTS;
    run.options.auto_tune = true;
    pipeline_rig_go(&rig, &run);
    whole_check(&run);
    pipeline_rig_close(&rig);
    log_read(stream, text, sizeof text);
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    fclose(stream);
    const char *const settled = strstr(text, "auto-tune: settled at ");
    assert_non_null(settled);
    if (tuning.prepared < PIPELINE_RIG_SLOTS) /* it was not all in use before already */
        assert_non_null(strstr(settled + 1, "auto-tune: "));
}

/* ---- waiting ---- */

static void describe(void *context, int worker, char *out, size_t bytes)
{
    (void)context;
    snprintf(out, bytes, "wavs/%d.wav", worker);
}

/* A load that waits until it has been complained about: for the first batch and for a later one. */
static int stalled_load(void *context, int worker, uint64_t number, void *slot, const atomic_bool *cancel)
{
    FILE *const log = ((struct pipeline_rig_run *)context)->context;
    const char *const wanted = number == 0 ? "warning: still waiting for the first batch: load worker 0 has been at "
                                             "wavs/0.wav for "
                                           : "warning: waiting for data for ";
    char text[4096] = "";
    while ((number == 0 || number == 3) && !strstr(text, wanted) && !atomic_load(cancel)) {
        mx_clock_sleep_ns(2000000);
        log_read(log, text, sizeof text);
    }
    return pipeline_rig_load(context, worker, number, slot, cancel);
}

static void test_stall(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    struct mx_pipeline_batch batch;
    struct pipeline_rig_run run = pipeline_rig_plain(2, 5);
    FILE *const log = tmpfile();
    assert_non_null(log);
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_WARN, .stream = log});
    pipeline_rig_open(&rig, NULL);
    run.delay_us = 0;
    run.context = log;
    run.options.workers = 1;
    run.options.work.load = stalled_load;
    run.options.work.describe = describe;
    run.options.start_delay = 0.02;
    run.options.stall_seconds = 0.02;
    pipeline_rig_begin(&rig, &run);
    for (uint64_t n = 0; n < 5; n++) { /* comes to an end only if both complaints are made */
        assert_int_equal(mx_pipeline_take(rig.pipeline, rig.stream, &batch), 0);
        assert_int_equal(batch.number, n);
        assert_int_equal(mx_pipeline_give(rig.pipeline, rig.stream), 0);
    }
    pipeline_rig_close(&rig);
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    fclose(log);
}

static bool interrupted(void *context)
{
    (void)context;
    return true;
}

static void test_interrupted(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    struct mx_pipeline_batch batch;
    struct pipeline_rig_run run = pipeline_rig_plain(2, BATCHES);
    run.delay_us = 60000000;
    pipeline_rig_open(&rig, NULL);
    run.options.work.interrupted = interrupted;
    pipeline_rig_begin(&rig, &run);
    assert_int_equal(mx_pipeline_take(rig.pipeline, rig.stream, &batch), MX_ERR_INTERRUPTED);
    pipeline_rig_close(&rig);
}

/* ---- figures ---- */

static void test_figures(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    struct mx_pipeline_batch batch;
    struct mx_pipeline_stats stats;
    struct mx_advice advice[MX_ADVICE_KINDS];
    struct mx_span spans[3];
    struct pipeline_rig_run run = pipeline_rig_plain(4, BATCHES);
    pipeline_rig_open(&rig, NULL);
    run.options.spans = MX_STAGES * BATCHES;
    pipeline_rig_begin(&rig, &run);
    for (uint64_t n = 0; n < BATCHES; n++) {
        assert_int_equal(mx_pipeline_take(rig.pipeline, rig.stream, &batch), 0);
        assert_int_equal(mx_pipeline_give(rig.pipeline, rig.stream), 0);
        if (n == 9) mx_pipeline_rest(rig.pipeline);
        if (n % 2 == 1) mx_pipeline_step(rig.pipeline); /* two batches a step */
    }
    pipeline_rig_figures(&rig, BATCHES, "cpu");
    mx_pipeline_stats(rig.pipeline, &stats);
    /* The first step has nothing to count from, unless it began after a rest. */
    assert_int_equal(stats.step_ns.count, BATCHES / 2 - 1);
    assert_int_equal(mx_pipeline_spans(rig.pipeline, spans, 3), 3);
    assert_true(mx_pipeline_advise(rig.pipeline, &stats, advice) <= MX_ADVICE_KINDS);
    mx_pipeline_stats_reset(rig.pipeline);
    mx_pipeline_stats(rig.pipeline, &stats);
    assert_int_equal(stats.batches, 0);
    assert_int_equal(stats.stages[MX_STAGE_LOAD].busy_ns.count, 0);
    pipeline_rig_close(&rig);
}

static int held_load(void *context, int worker, uint64_t number, void *slot, const atomic_bool *cancel)
{
    atomic_bool *const go = ((struct pipeline_rig_run *)context)->context;
    while (!atomic_load(go) && !atomic_load(cancel)) mx_clock_sleep_ns(500000);
    return pipeline_rig_load(context, worker, number, slot, cancel);
}

/* The first batch is waited for from the start on, also before anyone takes. Time of rests counts for nothing. Whatever
 * the moment, no figure is longer than the wall. */
static void test_waits_and_rests(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    struct mx_pipeline_batch batch;
    struct mx_pipeline_stats stats, before;
    atomic_bool go = false;
    struct pipeline_rig_run run = pipeline_rig_plain(4, BATCHES);
    pipeline_rig_open(&rig, NULL);
    run.context = &go;
    run.options.work.load = held_load;
    pipeline_rig_begin(&rig, &run);
    mx_pipeline_rest(rig.pipeline); /* nothing was begun: this is no rest */
    mx_clock_sleep_ns(2000000);
    mx_pipeline_stats(rig.pipeline, &before);
    assert_true(before.wall_ns > 0);
    assert_int_equal(before.data_wait_ns, before.wall_ns);
    atomic_store(&go, true);
    for (uint64_t n = 0; n < BATCHES; n++) {
        assert_int_equal(mx_pipeline_take(rig.pipeline, rig.stream, &batch), 0);
        if (n == 0) assert_true(batch.waited_ns >= before.wall_ns);
        assert_int_equal(mx_pipeline_give(rig.pipeline, rig.stream), 0);
        assert_int_equal(mx_stream_sync(rig.stream), 0);
        mx_pipeline_step(rig.pipeline);
        mx_pipeline_stats(rig.pipeline, &stats);
        assert_int_equal(stats.batches, n + 1); /* the newest step counts */
        assert_true(stats.model_busy_ns > 0 && stats.model_busy_ns + stats.data_wait_ns <= stats.wall_ns);
        assert_true(stats.data_busy_ns <= stats.wall_ns && stats.transfer_ns <= stats.wall_ns);
        if (n % 8 != 3) continue;
        mx_pipeline_rest(rig.pipeline);
        mx_pipeline_stats(rig.pipeline, &before);
        mx_clock_sleep_ns(1000000);
        mx_pipeline_stats(rig.pipeline, &stats);
        assert_int_equal(stats.wall_ns, before.wall_ns);
        assert_true(stats.data_busy_ns <= stats.wall_ns);
        assert_int_equal(stats.stages[MX_STAGE_PROCESS].wait_input_ns, before.stages[MX_STAGE_PROCESS].wait_input_ns);
    }
    pipeline_rig_close(&rig);
}

/* One after the other: nothing overlaps training, also not the time in which one batch is held and the next one comes,
 * in which the device has nothing to do. */
static void test_sequential_figures(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    struct mx_pipeline_batch batch;
    struct mx_pipeline_stats stats;
    struct mx_span spans[64];
    uint64_t waited_ns = 0;
    uint32_t pieces = 0;
    struct pipeline_rig_run run = pipeline_rig_plain(4, BATCHES);
    pipeline_rig_open(&rig, NULL);
    run.options.spans = 64;
    run.options.sequential = true;
    pipeline_rig_begin(&rig, &run);
    for (int n = 0; n < 8; n++) {
        assert_int_equal(mx_pipeline_take(rig.pipeline, rig.stream, &batch), 0);
        waited_ns += batch.waited_ns;
        assert_int_equal(mx_stream_sync(rig.stream), 0);
        if (n % 2 == 0) continue; /* two are held while the second comes */
        assert_int_equal(mx_pipeline_give(rig.pipeline, rig.stream), 0);
        assert_int_equal(mx_pipeline_give(rig.pipeline, rig.stream), 0);
        assert_int_equal(mx_stream_sync(rig.stream), 0);
    }
    mx_pipeline_stats(rig.pipeline, &stats);
    assert_int_equal(stats.stage_overlap_ns, 0);
    assert_int_equal(stats.transfer_hidden_ns, 0);
    assert_true(stats.transfer_ns > 0);
    assert_int_equal(stats.data_wait_ns, waited_ns);
    assert_true(stats.model_busy_ns + stats.data_wait_ns <= stats.wall_ns);
    const uint32_t count = mx_pipeline_spans(rig.pipeline, spans, 64);
    for (uint32_t i = 0; i < count; i++) pieces += spans[i].stage == MX_STAGE_TRAIN;
    assert_int_equal(pieces, 12); /* half of the batches in two pieces */
    assert_int_equal(stats.stages[MX_STAGE_TRAIN].busy_ns.count, 8);
    pipeline_rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_small_rings),
        cmocka_unit_test(test_no_data),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_copy_failures),
        cmocka_unit_test(test_going_away),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_tuning),
        cmocka_unit_test(test_auto_tune),
        cmocka_unit_test(test_given),
        cmocka_unit_test(test_late_stall),
        cmocka_unit_test(test_waits_and_rests),
        cmocka_unit_test(test_stall),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_sequential_figures),
    };
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    return cmocka_run_group_tests(tests, NULL, NULL);
}
