/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Short pipelines with random rings, workers, delays, failures and ends, for tests on devices of any backend. What run
 * number `run` is follows from (seed, run) alone. Nothing is allocated.
 */
#ifndef MX_TESTS_SUPPORT_PIPELINE_RANDOM_H
#define MX_TESTS_SUPPORT_PIPELINE_RANDOM_H

#include "support/pipeline_rig.h"

struct pipeline_dice {
    uint64_t seed, run;
    uint64_t count; /* of rolls so far */
};

int32_t pipeline_dice_roll(struct pipeline_dice *dice, int32_t least, int32_t most);
/* One run, for pipeline_rig_go. */
struct pipeline_rig_run pipeline_random_run(struct pipeline_dice *dice);
/* Ends the test if a batch was lost, repeated or overtaken, if too few or too many came, or if the wrong error did.
 * copies_fail: the devices were told to fail, too, so fewer may have come. */
void pipeline_random_check(const struct pipeline_rig_run *run, bool copies_fail);

#endif
