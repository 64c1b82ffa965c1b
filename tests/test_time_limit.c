/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The time limit of a run, with made-up times: when the steps that fit are estimated, how many they are, and what follows
 * for the end of the run and the learning rates.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "run/job.h"
#include "run/length.h"

#define MINUTE (60 * MX_NS_PER_S)

/* A run of 10 minutes at most, 1,000 steps, which has made `made` of them in this start. */
static struct mx_job job_of(int64_t made)
{
    const struct mx_schedule schedule = {.peak = 1e-3, .floor = 0.02, .steps = 1000, .cycles = 1, .cycle_decay = 1};
    struct mx_job job = {.steps = 1000, .pace.steps = made};
    job.settings.training.max_minutes = 10;
    job.options.optimizer.schedule = job.options.vocoder.optimizer.schedule = schedule;
    return job;
}

/* It began at minute 100, and its first step was made a minute later. */
static struct mx_job_times at_minute(uint64_t minute)
{
    return (struct mx_job_times){100 * MINUTE, 101 * MINUTE, (100 + minute) * MINUTE};
}

static void test_estimates_once_and_late(void **state)
{
    (void)state;
    struct mx_job job = job_of(71);
    struct mx_job_times times = at_minute(7);
    mx_job_limit_estimate(&job, 271, &times);
    assert_int_equal(job.limit.from, 0);
    times = at_minute(8); /* 70 steps in 7 minutes: 19 more */
    mx_job_limit_estimate(&job, 271, &times);
    assert_int_equal(job.limit.from, 271);
    assert_int_equal(job.limit.end, 290);
    assert_int_equal(job.steps, 290);
    const struct mx_schedule *const acoustic = &job.options.optimizer.schedule;
    const struct mx_schedule *const vocoder = &job.options.vocoder.optimizer.schedule;
    assert_true(acoustic->fall == 271 && acoustic->fall_end == 290 && acoustic->steps == 1000);
    assert_true(vocoder->fall == 271 && vocoder->fall_end == 290);
    times = at_minute(9);
    mx_job_limit_estimate(&job, 275, &times);
    assert_int_equal(job.steps, 290);
    assert_true(mx_job_limit_clear(&job));
    assert_int_equal(job.limit.from, 0);
}

static void test_leaves_alone_what_fits(void **state)
{
    (void)state;
    struct mx_job job = job_of(71);
    const struct mx_job_times late = at_minute(8), over = at_minute(10);
    mx_job_limit_estimate(&job, 981, &late); /* 19 more are all there are */
    assert_true(job.limit.from == 0 && job.steps == 1000);
    job = job_of(1); /* nothing to estimate from */
    mx_job_limit_estimate(&job, 1, &late);
    assert_true(job.limit.from == 0 && job.steps == 1000);
    job = job_of(71);
    mx_job_limit_estimate(&job, 271, &over);
    assert_true(job.limit.from == 0 && job.steps == 1000);
    job = job_of(71);
    job.settings.training.max_minutes = 0;
    mx_job_limit_estimate(&job, 271, &late);
    assert_true(job.limit.from == 0 && job.steps == 1000);
    assert_false(mx_job_limit_clear(&job));
}

static void test_other_ranks_follow(void **state)
{
    (void)state;
    struct mx_job job = job_of(71);
    mx_job_limit_follow(&job, 0, 0);
    assert_int_equal(job.steps, 1000);
    mx_job_limit_follow(&job, 271, 290);
    mx_job_limit_follow(&job, 271, 290);
    assert_true(job.limit.from == 271 && job.steps == 290 && job.options.optimizer.schedule.fall_end == 290);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_estimates_once_and_late),
        cmocka_unit_test(test_leaves_alone_what_fits),
        cmocka_unit_test(test_other_ranks_follow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
