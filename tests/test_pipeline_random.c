/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two thousand short pipelines, or MYXTTS_TEST_RUNS of them, with random rings, workers, delays, failures and ends, on
 * devices that dawdle and overtake: none may hang, lose, repeat or reorder a batch. A run that hangs is ended by the time
 * limit of the test.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <stdlib.h>

#include "base/log.h"
#include "support/fake_backend.h"
#include "support/pipeline_random.h"

#define RUNS 2000

static const struct mx_backend *const fake_only[] = {&mx_fake_backend, NULL};

static struct mx_fake_options fake_make(struct pipeline_dice *dice)
{
    return (struct mx_fake_options){
        .seed = dice->run,
        .max_delay_us = pipeline_dice_roll(dice, 0, 3) == 0 ? (uint32_t)pipeline_dice_roll(dice, 1, 50) : 0,
        .reorder = pipeline_dice_roll(dice, 0, 1) == 1,
        .fail_copy_at = pipeline_dice_roll(dice, 0, 9) == 0 ? pipeline_dice_roll(dice, 1, 16) : 0,
    };
}

static void test_random(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    const char *const given = getenv("MYXTTS_TEST_RUNS");
    const uint64_t runs = given ? strtoull(given, NULL, 10) : RUNS;
    assert_true(runs > 0);
    mx_fake_configure(NULL);
    pipeline_rig_open(&rig, fake_only);
    for (uint64_t i = 0; i < runs; i++) {
        struct pipeline_dice dice = {.seed = 20, .run = i};
        const struct mx_fake_options fake = fake_make(&dice);
        struct pipeline_rig_run run = pipeline_random_run(&dice);
        mx_fake_configure(&fake);
        pipeline_rig_go(&rig, &run);
        pipeline_random_check(&run, fake.fail_copy_at > 0);
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
