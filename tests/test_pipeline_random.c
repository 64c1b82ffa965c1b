/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ten thousand short pipelines with random rings, workers, delays, failures and ends, on devices that dawdle and
 * overtake: none may hang, lose, repeat or reorder a batch. A run that hangs is ended by the time limit of the test.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/log.h"
#include "base/rng.h"
#include "support/fake_backend.h"
#include "support/pipeline_rig.h"

#define RUNS 10000

static const struct mx_backend *const fake_only[] = {&mx_fake_backend, NULL};

struct dice {
    uint64_t seed, run, count;
};

static int32_t roll(struct dice *dice, int32_t least, int32_t most)
{
    return least + (int32_t)mx_rng_below(dice->seed, dice->run, dice->count++, (uint64_t)(most - least + 1));
}

static struct mx_fake_options fake_make(struct dice *dice)
{
    return (struct mx_fake_options){
        .seed = dice->run,
        .max_delay_us = roll(dice, 0, 3) == 0 ? (uint32_t)roll(dice, 1, 50) : 0,
        .reorder = roll(dice, 0, 1) == 1,
        .fail_copy_at = roll(dice, 0, 9) == 0 ? roll(dice, 1, 16) : 0,
    };
}

static struct pipeline_rig_run run_make(struct dice *dice)
{
    struct pipeline_rig_run run = {.seed = dice->run, .fail_stage = MX_STAGES, .full_stage = MX_STAGES};
    struct mx_pipeline_options *const o = &run.options;
    run.one_device = roll(dice, 0, 2) == 0;
    o->held = roll(dice, 1, 2);
    o->host_count = roll(dice, 1, 4);
    o->data_count = roll(dice, run.one_device ? o->held + 1 : 1, 4);
    o->model_count = roll(dice, o->held + 1, 4);
    o->workers = roll(dice, 1, 3);
    o->workers_active = roll(dice, 0, o->workers);
    o->sequential = roll(dice, 0, 15) == 0;
    o->auto_tune = roll(dice, 0, 1) == 1;
    o->spans = (uint32_t)roll(dice, 0, 8);
    run.batches = (uint64_t)roll(dice, 0, 6);
    if (roll(dice, 0, 3) == 0) run.stop_after = (uint64_t)roll(dice, 1, 4);
    if (roll(dice, 0, 3) == 0) run.delay_us = (uint32_t)roll(dice, 1, 50);
    if (roll(dice, 0, 4) == 0) {
        const int stage = roll(dice, -1, MX_STAGE_TRANSFER);
        *(roll(dice, 0, 1) == 1 ? &run.fail_stage : &run.full_stage) = stage;
        run.fail_at = (uint64_t)roll(dice, 0, 5);
    }
    return run;
}

/* How many batches must have come, at least and at most, when no copy fails. */
static void run_check(const struct pipeline_rig_run *run, bool copies_fail)
{
    const int stage = run->fail_stage != MX_STAGES ? run->fail_stage : run->full_stage;
    const bool fails =
        stage != MX_STAGES && run->fail_at < run->batches && !(run->one_device && stage == MX_STAGE_TRANSFER);
    const uint64_t flow = fails ? run->fail_at : run->batches;
    const bool stops = run->stop_after > 0 && run->stop_after <= flow;
    const uint64_t wanted = stops ? run->stop_after : flow;
    if (run->trouble[0] != '\0') fail_msg("run %d: %s", (int)run->seed, run->trouble);
    if (copies_fail) {
        assert_true(run->delivered <= wanted);
        return;
    }
    if (run->delivered != wanted)
        fail_msg("run %d: %d batches came, not %d", (int)run->seed, (int)run->delivered, (int)wanted);
    if (stops) return;
    assert_int_equal(run->rc, !fails ? 1 : run->fail_stage != MX_STAGES ? MX_ERR_DATA : MX_ERR_BUDGET);
}

static void test_random(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    mx_fake_configure(NULL);
    pipeline_rig_open(&rig, fake_only);
    for (uint64_t i = 0; i < RUNS; i++) {
        struct dice dice = {.seed = 20, .run = i};
        const struct mx_fake_options fake = fake_make(&dice);
        struct pipeline_rig_run run = run_make(&dice);
        mx_fake_configure(&fake);
        pipeline_rig_go(&rig, &run);
        run_check(&run, fake.fail_copy_at > 0);
    }
    mx_fake_configure(NULL);
    pipeline_rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_WARN});
    return cmocka_run_group_tests(tests, NULL, NULL);
}
