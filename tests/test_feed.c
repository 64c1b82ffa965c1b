/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training through the pipeline: whatever the devices, threads, slots and overlap, the weights are those of the plain
 * loop bit for bit; the plan is what is taken, 2,000 steps take nothing more, and the watch says what is wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "support/training_rig.h"

/* ---- the same bits, however the batches flow ---- */

static void test_one_device_equals_the_plain_loop(void **state)
{
    (void)state;
    const struct mx_trainer_options plain = training_options(TRAINING_SOUND);
    const struct training_outcome expected = training_run(&plain);
    assert_true(expected.state.epoch > 0); /* more than one epoch */
    for (int32_t i = 1; i <= 3; i++) {
        const struct mx_trainer_options o = training_flow(plain, false, i, i == 3 ? 5 : i);
        training_same(&expected, &o);
    }
    struct mx_trainer_options tuned = training_flow(plain, false, 1, 4);
    tuned.flow.auto_tune = true;
    tuned.flow.workers_max = 3;
    training_same(&expected, &tuned);
    mx_free(expected.arrays.weights);
}

static void test_two_devices_equal_the_plain_loop(void **state)
{
    (void)state;
    const struct mx_trainer_options plain = training_options(TRAINING_SOUND);
    const struct training_outcome expected = training_run(&plain);
    struct mx_trainer_options o = plain;
    o.flow.data_device = training.data; /* two devices, one after the other */
    training_same(&expected, &o);
    for (int32_t i = 1; i <= 3; i++) {
        o = training_flow(plain, true, i, i == 2 ? 6 : i);
        training_same(&expected, &o);
    }
    o.flow.static_shapes = true;
    training_same(&expected, &o);
    o.flow.auto_tune = true;
    training_same(&expected, &o);
    mx_free(expected.arrays.weights);
}

static void test_accumulated_batches(void **state)
{
    (void)state;
    struct mx_trainer_options plain = training_options(TRAINING_SOUND);
    plain.grad_accum = 3;
    plain.batch_size = 2;
    const struct training_outcome expected = training_run(&plain);
    assert_int_equal(expected.state.passes, 3 * TRAINING_STEPS);
    for (int two = 0; two < 2; two++) {
        const struct mx_trainer_options o = training_flow(plain, two == 1, 2, 2);
        training_same(&expected, &o);
    }
    mx_free(expected.arrays.weights);
}

static void test_features_that_come_ready(void **state)
{
    (void)state;
    const struct mx_trainer_options plain = training_options(TRAINING_FEATURES);
    const struct training_outcome expected = training_run(&plain);
    for (int two = 0; two < 2; two++) {
        const struct mx_trainer_options o = training_flow(plain, two == 1, 2, 3);
        training_same(&expected, &o);
    }
    mx_free(expected.arrays.weights);
}

static void test_augmentation(void **state)
{
    (void)state;
    static const struct mx_augment_options all = {.gain_db = 6,
                                                  .noise_share = 0.7,
                                                  .snr_min_db = 10,
                                                  .snr_max_db = 30,
                                                  .speed = 0.2,
                                                  .band_masks = 2,
                                                  .band_width_max = 12,
                                                  .time_masks = 1,
                                                  .time_share_max = 0.2};
    static const struct mx_augment_options masks = {
        .band_masks = 2, .band_width_max = 12, .time_masks = 1, .time_share_max = 0.2};
    for (int i = 0; i < TRAINING_CORPORA; i++) {
        struct mx_trainer_options plain = training_options((enum training_corpus)i);
        const struct training_outcome clean = training_run(&plain);
        plain.flow.augment = i == TRAINING_SOUND ? all : masks;
        const struct training_outcome expected = training_run(&plain);
        assert_false(training_equal(&clean, &expected));
        for (int two = 0; two < 2; two++) {
            const struct mx_trainer_options o = training_flow(plain, two == 1, 3, 2);
            training_same(&expected, &o);
        }
        /* The speed changes the number of frames, masks do not. */
        assert_int_equal(clean.reports[0].frames != expected.reports[0].frames, i == TRAINING_SOUND);
        mx_free(clean.arrays.weights);
        mx_free(expected.arrays.weights);
    }
    struct mx_trainer_options wrong = training_options(TRAINING_FEATURES);
    struct mx_trainer_memory_plan plan;
    wrong.flow.augment = all;
    assert_int_equal(mx_trainer_memory_plan(&wrong, &plan), MX_ERR_CONFIG);
}

static void test_resume_in_the_middle(void **state)
{
    (void)state;
    struct mx_trainer_options plain = training_options(TRAINING_SOUND);
    plain.flow.augment = (struct mx_augment_options){.gain_db = 3, .speed = 0.1};
    plain.grad_accum = 2;
    struct training_outcome expected = training_run(&plain), first = {0}, second = {0};
    /* The pipeline is far ahead when the first part ends: what counts is what was trained on. */
    const struct mx_trainer_options one = training_flow(plain, true, 2, 5), other = training_flow(plain, false, 1, 1);
    struct mx_trainer *trainer = training_start(&one, NULL, NULL);
    training_steps(trainer, 0, 3, &first);
    mx_trainer_destroy(trainer);
    trainer = training_start(&other, &first.state, &first.arrays);
    training_steps(trainer, 3, TRAINING_STEPS, &second);
    mx_trainer_destroy(trainer);
    for (int i = 0; i < 3; i++) second.reports[i] = first.reports[i];
    assert_true(training_equal(&expected, &second));
    mx_free(expected.arrays.weights);
    mx_free(first.arrays.weights);
    mx_free(second.arrays.weights);
}

/* ---- memory ---- */

/* Bytes that an owner has now. */
static uint64_t owned(const struct mx_budget_stats *stats, const char *name, bool host)
{
    for (int i = 0; i < stats->owner_count; i++)
        if (stats->owners[i].host == host && strcmp(stats->owners[i].name, name) == 0)
            return stats->owners[i].current_bytes;
    return 0;
}

static void test_plan_is_what_is_taken(void **state)
{
    (void)state;
    struct mx_budget_stats before[2], after[2];
    for (int i = 0; i < 8; i++) {
        struct mx_trainer_options o =
            training_flow(training_options(i & 1 ? TRAINING_FEATURES : TRAINING_SOUND), (i & 2) != 0, 2, 3);
        struct mx_trainer_memory_plan plan;
        uint64_t sums[3] = {0};
        if (i & 4) o.grad_accum = 2;
        o.flow.static_shapes = (i & 4) != 0;
        o.flow.workers_max = 3;
        o.flow.augment = (struct mx_augment_options){
            .speed = (i & 5) == 4 ? 0.3 : 0, .band_masks = 1, .band_width_max = i & 4 ? 9 : 0};
        mx_budget_stats(mx_device_budget(training.data), &before[0]);
        mx_budget_stats(mx_device_budget(training.model), &before[1]);
        assert_int_equal(mx_trainer_memory_plan(&o, &plan), 0);
        struct mx_trainer *const trainer = training_start(&o, NULL, NULL);
        mx_budget_stats(mx_device_budget(training.data), &after[0]);
        mx_budget_stats(mx_device_budget(training.model), &after[1]);
        for (int32_t k = 0; k < plan.memory_count; k++) {
            const struct mx_trainer_memory *const m = &plan.memory[k];
            const bool host = m->place == MX_PLACE_HOST;
            /* On one device everything is the model device's. */
            assert_int_equal(m->bytes, owned(&after[0], m->owner, host) + owned(&after[1], m->owner, host));
            sums[m->place] += m->bytes;
        }
        assert_true(sums[0] == plan.data_bytes && sums[1] == plan.model_bytes && sums[2] == plan.host_bytes);
        const uint64_t on_data = i & 2 ? plan.data_bytes : 0;
        assert_int_equal(after[0].current_bytes - before[0].current_bytes, on_data);
        assert_int_equal(after[1].current_bytes - before[1].current_bytes, plan.device_bytes);
        assert_int_equal(plan.device_bytes, plan.model_bytes + (i & 2 ? 0 : plan.data_bytes));
        assert_int_equal(after[0].host_bytes + after[1].host_bytes - before[0].host_bytes - before[1].host_bytes,
                         plan.host_bytes);
        assert_int_equal(plan.capacity.model.frames % 64 == 0 && plan.capacity.model.tokens % 16 == 0, (i & 4) != 0);
        mx_trainer_destroy(trainer);
        mx_budget_stats(mx_device_budget(training.data), &after[0]);
        mx_budget_stats(mx_device_budget(training.model), &after[1]);
        assert_int_equal(after[0].live_count + after[1].live_count, before[0].live_count + before[1].live_count);
    }
}

/* Memory isolation: both devices may use what the plan says and not a byte more, for 2,000 steps. */
static void test_long_runs_take_nothing(void **state)
{
    (void)state;
    struct mx_trainer_options o = training_flow(training_options(TRAINING_FEATURES), true, 2, 3);
    struct mx_budget *const budgets[2] = {mx_device_budget(training.data), mx_device_budget(training.model)};
    const uint64_t limits[2] = {mx_budget_limit(budgets[0]), mx_budget_limit(budgets[1])};
    struct mx_budget_stats idle[2], begin[2], end[2];
    struct mx_trainer_memory_plan plan;
    struct mx_trainer_report report;
    o.model.size = (struct mx_model_size){"test", 4, 1, 1, 1, 4};
    o.batch_size = 1;
    o.reference_seconds = 0.1;
    o.optimizer.schedule.steps = 2000;
    for (int i = 0; i < 2; i++) mx_budget_stats(budgets[i], &idle[i]);
    assert_int_equal(mx_trainer_memory_plan(&o, &plan), 0);
    assert_int_equal(mx_budget_set_limit(budgets[0], idle[0].current_bytes + plan.data_bytes), 0);
    assert_int_equal(mx_budget_set_limit(budgets[1], idle[1].current_bytes + plan.device_bytes), 0);
    struct mx_trainer *const trainer = training_start(&o, NULL, NULL);
    uint64_t allocations = 0;
    for (int i = 0; i < 2000; i++) {
        if (i == 30) { /* readers have grown to the longest utterance */
            allocations = mx_alloc_count();
            for (int k = 0; k < 2; k++) mx_budget_stats(budgets[k], &begin[k]);
        }
        training_step(trainer, &report);
        assert_true(report.flow.leak[0] == '\0');
    }
    assert_int_equal(mx_alloc_count(), allocations);
    assert_true(report.flow.data_bytes == report.flow.data_limit_bytes); /* the plan is exact */
    assert_true(report.flow.model_bytes == report.flow.model_limit_bytes);
    for (int k = 0; k < 2; k++) {
        mx_budget_stats(budgets[k], &end[k]);
        assert_int_equal(end[k].total_count, begin[k].total_count);
        assert_int_equal(end[k].current_bytes, begin[k].current_bytes);
        assert_int_equal(end[k].host_bytes, begin[k].host_bytes);
        assert_int_equal(end[k].refused_count, idle[k].refused_count);
    }
    mx_trainer_destroy(trainer);
    for (int k = 0; k < 2; k++) {
        mx_budget_stats(budgets[k], &end[k]);
        assert_int_equal(end[k].live_count, idle[k].live_count);
        assert_int_equal(mx_budget_set_limit(budgets[k], limits[k]), 0);
    }
}

/* ---- the watch ---- */

/* What the log says while a watch gets steps of these times and frames. */
static void watch_tell(struct mx_flow_watch *watch, FILE *log, const uint64_t step_ns[2], const int64_t frames[2],
                       struct mx_flow_watch_report *report)
{
    rewind(log);
    assert_int_equal(ftruncate(fileno(log), 0), 0);
    for (int i = 0; i < MX_FLOW_WATCH_WINDOW; i++)
        mx_flow_watch_step(watch, i + 1, step_ns[i % 2], frames[i % 2], report);
    fflush(log);
    rewind(log);
}

static void begin_note(void *context)
{
    ++*(int *)context;
}

/* Each step counts in its own report, and a later query returns what the report says. Only the step that
 * is watched tells that it begins. */
static void test_steps_count_in_their_reports(void **state)
{
    (void)state;
    for (int two = 0; two < 2; two++) {
        const struct mx_trainer_options o = training_flow(training_options(TRAINING_FEATURES), two == 1, 1, 1);
        struct mx_trainer *const trainer = training_start(&o, NULL, NULL);
        const struct mx_pipeline_stats *const stats = mx_trainer_stats(trainer);
        struct mx_trainer_report report;
        int begun = 0;
        mx_trainer_begin_watch(trainer, begin_note, &begun);
        for (uint64_t step = 1; step <= 5; step++) {
            training_step(trainer, &report);
            assert_int_equal(stats->batches, step);
            assert_true(report.flow.model_busy > 0 && report.flow.model_busy <= 1);
            assert_true(report.flow.model_busy == (double)stats->model_busy_ns / (double)stats->wall_ns);
            assert_true(report.flow.data_wait == (double)stats->data_wait_ns / (double)stats->wall_ns);
            assert_true(report.wait_ns <= report.step_ns);
            assert_int_equal(begun, 1);
        }
        mx_trainer_destroy(trainer);
    }
}

static void test_the_watch_warns_of_what_is_wrong(void **state)
{
    (void)state;
    const struct mx_trainer_options o = training_flow(training_options(TRAINING_FEATURES), true, 1, 1);
    struct mx_trainer *const trainer = training_start(&o, NULL, NULL);
    struct mx_flow_watch watch;
    struct mx_flow_watch_report report;
    struct mx_buffer *leaks[MX_BUDGET_WINDOW + 2];
    char line[1024];
    bool leaked = false;
    FILE *const log = tmpfile();
    assert_non_null(log);
    mx_flow_watch_start(&watch, mx_trainer_pipeline(trainer), training.data, training.model);
    for (int i = 0; i < 2 * MX_BUDGET_WINDOW; i++) /* the budgets forget the runs of other tests */
        mx_flow_watch_step(&watch, i, 1000000, 100, &report);
    assert_int_equal(mx_log_configure(&(struct mx_log_options){.level = MX_LOG_WARN, .stream = log}), 0);
    mx_flow_watch_start(&watch, mx_trainer_pipeline(trainer), training.data, training.model);
    for (int i = 0; i < 2; i++) mx_flow_watch_step(&watch, 1, 1000000, 100, &report); /* the first do not count */
    assert_true(isnan(report.variation));
    /* Twice the frames in twice the time are the same work: nothing to say. */
    watch_tell(&watch, log, (const uint64_t[]){1000000, 2000000}, (const int64_t[]){100, 200}, &report);
    assert_true(report.variation < 1e-9);
    assert_null(fgets(line, sizeof line, log));
    /* The same frames in half the time or thrice that: mean 2, deviation about 1. */
    watch_tell(&watch, log, (const uint64_t[]){1000000, 3000000}, (const int64_t[]){100, 100}, &report);
    assert_true(report.variation > 0.45 && report.variation < 0.55);
    assert_non_null(fgets(line, sizeof line, log));
    assert_non_null(strstr(line, "vary by 5"));
    assert_non_null(strstr(line, "cause: "));
    assert_null(fgets(line, sizeof line, log));
    for (int i = 0; i < MX_BUDGET_WINDOW + 2; i++) {
        assert_int_equal(mx_buffer_create(training.data, "leaky", 8192, &leaks[i]), 0);
        mx_flow_watch_step(&watch, i, 1000000, 100, &report);
        if (report.leak[0] != '\0') assert_string_equal(report.leak, "leaky");
        leaked = leaked || report.leak[0] != '\0';
    }
    assert_true(leaked);
    assert_int_equal(mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT}), 0);
    for (int i = 0; i < MX_BUDGET_WINDOW + 2; i++) mx_buffer_release(leaks[i]);
    fclose(log);
    mx_trainer_destroy(trainer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_device_equals_the_plain_loop),
        cmocka_unit_test(test_two_devices_equal_the_plain_loop),
        cmocka_unit_test(test_accumulated_batches),
        cmocka_unit_test(test_features_that_come_ready),
        cmocka_unit_test(test_augmentation),
        cmocka_unit_test(test_resume_in_the_middle),
        cmocka_unit_test(test_plan_is_what_is_taken),
        cmocka_unit_test(test_long_runs_take_nothing),
        cmocka_unit_test(test_steps_count_in_their_reports),
        cmocka_unit_test(test_the_watch_warns_of_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, training_open, training_close);
}
