/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See pipeline_random.h.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "support/pipeline_random.h"

#include "base/rng.h"

int32_t pipeline_dice_roll(struct pipeline_dice *dice, int32_t least, int32_t most)
{
    return least + (int32_t)mx_rng_below(dice->seed, dice->run, dice->count++, (uint64_t)(most - least + 1));
}

struct pipeline_rig_run pipeline_random_run(struct pipeline_dice *dice)
{
    struct pipeline_rig_run run = {.seed = dice->run, .fail_stage = MX_STAGES, .full_stage = MX_STAGES};
    struct mx_pipeline_options *const o = &run.options;
    run.one_device = pipeline_dice_roll(dice, 0, 2) == 0;
    o->held = pipeline_dice_roll(dice, 1, 2);
    o->host_count = pipeline_dice_roll(dice, 1, 4);
    o->data_count = pipeline_dice_roll(dice, run.one_device ? o->held + 1 : 1, 4);
    o->model_count = pipeline_dice_roll(dice, o->held + 1, 4);
    o->workers = pipeline_dice_roll(dice, 1, 3);
    o->workers_active = pipeline_dice_roll(dice, 0, o->workers);
    o->sequential = pipeline_dice_roll(dice, 0, 15) == 0;
    o->auto_tune = pipeline_dice_roll(dice, 0, 1) == 1;
    o->spans = (uint32_t)pipeline_dice_roll(dice, 0, 8);
    run.batches = (uint64_t)pipeline_dice_roll(dice, 0, 6);
    if (pipeline_dice_roll(dice, 0, 3) == 0) run.stop_after = (uint64_t)pipeline_dice_roll(dice, 1, 4);
    if (pipeline_dice_roll(dice, 0, 3) == 0) run.delay_us = (uint32_t)pipeline_dice_roll(dice, 1, 50);
    if (pipeline_dice_roll(dice, 0, 4) == 0) {
        const int stage = pipeline_dice_roll(dice, -1, MX_STAGE_TRANSFER);
        *(pipeline_dice_roll(dice, 0, 1) == 1 ? &run.fail_stage : &run.full_stage) = stage;
        run.fail_at = (uint64_t)pipeline_dice_roll(dice, 0, 5);
    }
    return run;
}

void pipeline_random_check(const struct pipeline_rig_run *run, bool copies_fail)
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
        fail_msg("run %d: %d batches came, not %d (%s)", (int)run->seed, (int)run->delivered, (int)wanted,
                 run->error.message);
    if (stops) return;
    assert_int_equal(run->rc, !fails ? 1 : run->fail_stage != MX_STAGES ? MX_ERR_DATA : MX_ERR_BUDGET);
}
