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
    char wanted[64];
    mx_fake_configure(&(struct mx_fake_options){.seed = 5, .max_delay_us = 20, .reorder = true});
    pipeline_rig_open(&rig, fake_only);
    for (int stage = -1; stage <= MX_STAGE_TRANSFER; stage++) {
        for (uint64_t at = 0; at < 8; at++) {
            struct pipeline_rig_run run = pipeline_rig_plain(at, 10);
            const bool full = at % 2 == 1;
            run.options.held = 1;
            run.options.sequential = at == 6;
            run.one_device = at == 4 && stage != MX_STAGE_TRANSFER;
            run.delay_us = 50;
            *(full ? &run.full_stage : &run.fail_stage) = stage;
            run.fail_at = at;
            pipeline_rig_go(&rig, &run);
            assert_string_equal(run.trouble, "");
            assert_int_equal(run.delivered, at);
            assert_int_equal(run.rc, full ? MX_ERR_BUDGET : MX_ERR_DATA);
            assert_int_equal(run.again, run.rc);
            if (full)
                snprintf(wanted, sizeof wanted, "batch %d does not fit", (int)at);
            else
                snprintf(wanted, sizeof wanted, "stage %d of batch %d failed", stage, (int)at);
            assert_string_equal(run.error.message, wanted);
            assert_string_equal(run.error.hint, "this failure was asked for");
        }
    }
    pipeline_rig_close(&rig);
    mx_fake_configure(NULL);
}

/* A copy fails while it runs, on whichever stream it is. */
static void test_copy_failures(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    mx_fake_configure(NULL);
    pipeline_rig_open(&rig, fake_only);
    for (int at = 1; at <= 24; at++) {
        struct pipeline_rig_run run = pipeline_rig_plain((uint64_t)at, 12);
        run.options.held = 1;
        run.delay_us = 0;
        run.options.sequential = at % 4 == 0;
        mx_fake_configure(&(struct mx_fake_options){
            .seed = (uint64_t)at, .max_delay_us = 30, .reorder = at % 2 == 1, .fail_copy_at = at});
        pipeline_rig_go(&rig, &run);
        assert_string_equal(run.trouble, "");
        assert_int_equal(run.rc, MX_ERR_DEVICE);
        assert_non_null(strstr(run.error.message, "a copy failed"));
        /* Three copies a batch, one on each stream. A sequential run has no other batch in between. Otherwise, what was
         * delivered had been copied by the stream that failed, and by those before it. */
        const bool train = strstr(run.error.message, "\"train\"") != NULL;
        const bool transfer = strstr(run.error.message, "\"transfer\"") != NULL;
        if (run.options.sequential)
            assert_int_equal(run.delivered - train, (at - 1) / 3);
        else if (train) /* the caller's: noticed when it submits more */
            assert_true(run.delivered > 0);
        else
            assert_true(run.delivered * (transfer ? 2 : 1) < (uint64_t)at);
    }
    pipeline_rig_close(&rig);
    mx_fake_configure(NULL);
}

/* ---- going away ---- */

/* After each number of batches, with batches held and all stages at work; before the first one, too. */
static void test_going_away(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    mx_fake_configure(&(struct mx_fake_options){.seed = 9, .max_delay_us = 100, .reorder = true});
    pipeline_rig_open(&rig, fake_only);
    for (uint64_t after = 1; after <= 12; after++) {
        struct pipeline_rig_run run = pipeline_rig_plain(after, BATCHES);
        run.stop_after = after;
        run.one_device = after % 3 == 0;
        run.options.sequential = after == 7;
        pipeline_rig_go(&rig, &run);
        assert_string_equal(run.trouble, "");
        assert_int_equal(run.delivered, after);
    }
    struct pipeline_rig_run run = pipeline_rig_plain(1, BATCHES);
    struct mx_pipeline_options options;
    struct mx_pipeline *pipeline;
    run.delay_us = 60000000; /* a minute: a stalled disk. The loads look at `cancel` each millisecond */
    pipeline_rig_options(&rig, &run, &options);
    assert_int_equal(mx_pipeline_create(&options, &pipeline), 0);
    const uint64_t begin_ns = mx_clock_ns();
    mx_pipeline_destroy(pipeline);
    assert_true(mx_clock_ns() - begin_ns < UINT64_C(20000000000)); /* ended early; how early is not asked here */
    mx_pipeline_destroy(NULL);
    pipeline_rig_close(&rig);
    mx_fake_configure(NULL);
}

/* ---- wrong use ---- */

static void test_arguments(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    struct mx_pipeline_options options;
    struct mx_pipeline *pipeline;
    struct mx_pipeline_batch batch;
    struct pipeline_rig_run run = pipeline_rig_plain(1, BATCHES);
    pipeline_rig_open(&rig, NULL);
    for (int wrong = 0; wrong < 9; wrong++) {
        pipeline_rig_options(&rig, &run, &options);
        if (wrong == 0) options.host_count = 0;
        if (wrong == 1) options.data_count = 0;
        if (wrong == 2) options.model_count = 0;
        if (wrong == 3) options.workers = 0;
        if (wrong == 4) options.workers = MX_PIPELINE_WORKERS + 1;
        if (wrong == 5) options.held = 0;
        if (wrong == 6) options.held = options.model_count;
        if (wrong == 7) options.work.transfer = NULL;
        if (wrong == 8) options.model = options.data; /* with a ring of the model */
        assert_int_equal(mx_pipeline_create(&options, &pipeline), MX_ERR_ARGUMENT);
        assert_null(pipeline);
        assert_string_not_equal(mx_error_last()->hint, "");
    }
    pipeline_rig_begin(&rig, &run);
    assert_int_equal(mx_pipeline_give(rig.pipeline, rig.stream), MX_ERR_ARGUMENT);
    assert_int_equal(mx_pipeline_take(rig.pipeline, rig.stream, &batch), 0);
    assert_int_equal(mx_pipeline_take(rig.pipeline, rig.stream, &batch), 0);
    assert_int_equal(mx_pipeline_take(rig.pipeline, rig.stream, &batch), MX_ERR_ARGUMENT); /* two may be held */
    assert_int_equal(mx_pipeline_give(rig.pipeline, NULL), MX_ERR_ARGUMENT); /* not the stream that took */
    assert_int_equal(mx_pipeline_give(rig.pipeline, rig.stream), 0);
    assert_int_equal(mx_pipeline_take(rig.pipeline, rig.stream, &batch), 0);
    assert_int_equal(batch.number, 2);
    pipeline_rig_close(&rig);
}

/* Each allocation of create fails once: an error, and nothing is left behind. */
static void test_no_memory(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    struct mx_pipeline_options options;
    struct mx_pipeline *pipeline = NULL;
    struct pipeline_rig_run run = pipeline_rig_plain(1, BATCHES);
    pipeline_rig_open(&rig, NULL);
    pipeline_rig_options(&rig, &run, &options);
    options.workers = 1;
    int rc = MX_ERR_NO_MEMORY;
    for (uint64_t nth = 1; rc < 0; nth++) {
        mx_alloc_fail_at(nth);
        rc = mx_pipeline_create(&options, &pipeline);
        mx_alloc_fail_at(0);
        if (rc < 0) {
            assert_int_equal(rc, MX_ERR_NO_MEMORY);
            assert_null(pipeline);
        }
        assert_true(nth < 200);
    }
    mx_pipeline_destroy(pipeline);
    pipeline_rig_close(&rig);
}

/* ---- tuning and levels ---- */

static void tune_wildly(struct mx_pipeline *pipeline, uint64_t number, void *context)
{
    const struct mx_pipeline_tuning *const limits = context;
    const int32_t wild = (int32_t)(number * 7 % 11) - 3;
    struct mx_pipeline_tuning now, most;
    struct mx_pipeline_levels levels;
    mx_pipeline_tune(pipeline, &(struct mx_pipeline_tuning){wild, wild, wild});
    mx_pipeline_tuning(pipeline, &now, &most);
    assert_memory_equal(&most, limits, sizeof most);
    assert_in_range(now.workers, 1, limits->workers);
    assert_in_range(now.loaded, 1, limits->loaded);
    assert_in_range(now.prepared, 1, limits->prepared);
    mx_pipeline_levels(pipeline, &levels);
    assert_int_equal(levels.workers_active, now.workers);
    assert_int_equal(levels.workers, limits->workers);
    assert_int_equal(levels.loaded_limit, now.loaded);
    assert_int_equal(levels.prepared_limit, now.prepared);
    assert_in_range(levels.loaded, 0, now.loaded);
    assert_in_range(levels.prepared, 0, now.prepared);
    assert_in_range(levels.arrived, 0, levels.arrived_limit);
}

static void test_tuning(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    pipeline_rig_open(&rig, NULL);
    for (int one = 0; one < 2; one++) {
        struct pipeline_rig_run run = pipeline_rig_plain(3, BATCHES);
        const int32_t loaded = run.options.host_count - run.options.workers;
        struct mx_pipeline_tuning limits = {run.options.workers, loaded > 1 ? loaded : 1,
                                            run.options.data_count - (one ? run.options.held : 0)};
        run.one_device = one == 1;
        run.each = tune_wildly;
        run.context = &limits;
        pipeline_rig_go(&rig, &run);
        whole_check(&run);
    }
    pipeline_rig_close(&rig);
}

/* With tuning: what was given is in use from the first batch on, and the rings can be filled as far as that; what was
 * not begins small. Waits for full rings, which only come if the numbers are true. */
static void test_given(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    struct mx_pipeline_levels levels;
    for (int kind = 0; kind < 4; kind++) {
        struct pipeline_rig_run run = pipeline_rig_plain(5, PIPELINE_RIG_BATCHES);
        const bool one = kind % 2 == 1, given = kind / 2 == 1;
        pipeline_rig_open(&rig, NULL);
        run.one_device = one;
        run.delay_us = 0;
        run.options.workers = run.options.held = 1;
        run.options.host_count = run.options.data_count = PIPELINE_RIG_SLOTS;
        run.options.auto_tune = true;
        run.options.loaded_given = run.options.prepared_given = given;
        pipeline_rig_begin(&rig, &run);
        do {
            mx_clock_sleep_ns(1000000);
            mx_pipeline_levels(rig.pipeline, &levels);
        } while (!levels.full);
        assert_int_equal(levels.loaded_limit, given ? PIPELINE_RIG_SLOTS - 1 : MX_PIPELINE_DEPTH);
        assert_int_equal(levels.prepared_limit, given ? PIPELINE_RIG_SLOTS - one : MX_PIPELINE_BUFFERS);
        assert_int_equal(levels.loaded, levels.loaded_limit);
        assert_int_equal(levels.prepared, levels.prepared_limit);
        pipeline_rig_close(&rig);
    }
}

/* What is logged goes to a file of this test's own, whose position belongs to the log. The newest of it. */
static char *log_read(FILE *stream, char *out, size_t bytes)
{
    struct stat about = {0};
    const int file = fileno(stream), known = fstat(file, &about);
    const off_t from = known == 0 && about.st_size >= (off_t)bytes ? about.st_size - (off_t)bytes + 1 : 0;
    const ssize_t length = pread(file, out, bytes - 1, from);
    out[length > 0 ? length : 0] = '\0';
    return out;
}

static void tuning_note(struct mx_pipeline *pipeline, uint64_t number, void *context)
{
    (void)number;
    mx_pipeline_tuning(pipeline, context, NULL);
}

/* What it decides is a matter of time (test_meter.c has that); but it must decide, do it and say so. */
static void test_auto_tune(void **state)
{
    (void)state;
    struct mx_pipeline_tuning tuning = {0};
    struct pipeline_rig rig;
    char text[4096];
    FILE *const stream = tmpfile();
    assert_non_null(stream);
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_INFO, .stream = stream});
    pipeline_rig_open(&rig, NULL);
    struct pipeline_rig_run run = pipeline_rig_plain(3, 48);
    run.delay_us = 3000;
    run.each = tuning_note;
    run.context = &tuning;
    run.options.held = 1;
    run.options.workers_active = 1;
    run.options.auto_tune = true;
    pipeline_rig_go(&rig, &run);
    whole_check(&run);
    pipeline_rig_close(&rig);
    log_read(stream, text, sizeof text);
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    fclose(stream);
    assert_non_null(strstr(text, "auto-tune: settled at ")); /* and may change again later */
    assert_in_range(tuning.workers, 1, run.options.workers);
    if (tuning.workers > 1) assert_non_null(strstr(text, " load workers: "));
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
    struct mx_advice_input input;
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
    mx_pipeline_advice_input(rig.pipeline, &input);
    assert_true(mx_advice_find(&input, advice) <= MX_ADVICE_KINDS);
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
