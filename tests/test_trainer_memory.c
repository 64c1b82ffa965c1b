/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training from a packed corpus of features takes all its memory before the second step: over a thousand steps nothing
 * is allocated, on the host or on the devices, and the marks of the budgets stay where they are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "myxtts/budget.h"
#include "support/training_rig.h"

#define STEPS 1000

static void budgets_compare(const struct mx_budget_stats *before, struct mx_device *device)
{
    struct mx_budget_stats after;
    mx_budget_stats(mx_device_budget(device), &after);
    assert_int_equal(after.total_count, before->total_count);
    assert_int_equal(after.live_count, before->live_count);
    assert_int_equal(after.current_bytes, before->current_bytes);
    assert_int_equal(after.peak_bytes, before->peak_bytes);
    assert_int_equal(after.host_bytes, before->host_bytes);
    assert_int_equal(after.host_peak_bytes, before->host_peak_bytes);
}

static void steps_watch(const struct mx_trainer_options *options, int steps)
{
    struct mx_trainer *const trainer = training_start(options, NULL, NULL);
    struct mx_trainer_report report;
    struct mx_budget_stats data, model;
    training_step(trainer, &report);
    mx_budget_stats(mx_device_budget(training.data), &data);
    mx_budget_stats(mx_device_budget(training.model), &model);
    const uint64_t count = mx_alloc_count();
    for (int i = 1; i < steps; i++) training_step(trainer, &report);
    assert_int_equal(mx_alloc_count(), count);
    budgets_compare(&data, training.data);
    budgets_compare(&model, training.model);
    assert_int_equal(report.step, steps);
    assert_true(report.epoch > 0);
    mx_trainer_destroy(trainer);
}

static void test_a_thousand_steps_take_nothing_after_the_first(void **state)
{
    (void)state;
    const struct mx_trainer_options options = training_options(TRAINING_FEATURES);
    steps_watch(&options, STEPS);
}

static void test_nor_with_overlap(void **state)
{
    (void)state;
    const struct mx_trainer_options options = training_flow(training_options(TRAINING_FEATURES), false, 2, 2);
    steps_watch(&options, STEPS / 5);
}

static void test_nor_on_two_devices(void **state)
{
    (void)state;
    const struct mx_trainer_options options = training_flow(training_options(TRAINING_FEATURES), true, 2, 2);
    steps_watch(&options, STEPS / 5);
}

static void test_nor_do_steps_of_several_batches(void **state)
{
    (void)state;
    struct mx_trainer_options options = training_options(TRAINING_FEATURES);
    options.batch_size = 2;
    options.grad_accum = 3;
    steps_watch(&options, STEPS / 5);
}

static void test_nor_do_steps_of_equal_work(void **state)
{
    (void)state;
    struct mx_trainer_options options = training_options(TRAINING_FEATURES);
    struct mx_trainer_memory_plan counted, even, given;
    options.batch_size = 3;
    assert_int_equal(mx_trainer_memory_plan(&options, &counted), 0);
    assert_int_equal(counted.batch_frames, 0);
    options.batch_even = true;
    steps_watch(&options, STEPS / 5);
    assert_int_equal(mx_trainer_memory_plan(&options, &even), 0);
    /* The same number of steps, with room for fewer frames; the bound that was chosen, given, is the same plan. */
    assert_int_equal(even.epoch_batches, counted.epoch_batches);
    assert_true(even.batch_frames > 0 && even.batch_frames < (uint64_t)counted.capacity.model.frames);
    assert_true(even.capacity.model.frames < counted.capacity.model.frames);
    options.batch_frames = even.batch_frames;
    assert_int_equal(mx_trainer_memory_plan(&options, &given), 0);
    assert_int_equal(given.device_bytes, even.device_bytes);
    options.batch_frames = 0;
    options.batch_size = 0; /* a mean of none */
    assert_int_equal(mx_trainer_memory_plan(&options, &given), MX_ERR_CONFIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thousand_steps_take_nothing_after_the_first), cmocka_unit_test(test_nor_with_overlap),
        cmocka_unit_test(test_nor_on_two_devices), cmocka_unit_test(test_nor_do_steps_of_several_batches),
        cmocka_unit_test(test_nor_do_steps_of_equal_work)};
    return cmocka_run_group_tests(tests, training_open, training_close);
}
