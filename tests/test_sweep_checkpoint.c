/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Failure sweeps (sweep/sweep.h) of checkpoints: saving one over others, opening and loading the newest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "support/checkpoint_rig.h"
#include "support/recording.h"
#include "sweep/sweep.h"

#define STEP       3
#define FILE_LIMIT ((size_t)1 << 24)

/* The weights alone: the other groups would be more of the same. */
static int step_save(struct checkpoint_rig *rig, uint64_t step, const struct mx_checkpoint_keep *keep)
{
    const struct mx_checkpoint_source source = {.table = rig->table, .groups = {rig->groups[MX_CHECKPOINT_WEIGHTS]}};
    checkpoint_rig_fill(rig, step);
    return mx_checkpoint_save(rig->folder, &rig->state, &source, 1, keep);
}

/* Replaces one of the same step and the best one, and deletes the oldest. */
static int save(void *context, uint64_t *result)
{
    *result = 1;
    return step_save(context, STEP, &(struct mx_checkpoint_keep){.last = 2, .best = true});
}

static int load(void *context, uint64_t *result)
{
    int rc = 0;
    struct checkpoint_rig *const rig = context;
    const size_t bytes = (size_t)rig->table->floats * sizeof(float);
    struct mx_checkpoint *checkpoint = NULL;
    struct mx_checkpoint_target target = {{NULL}};
    target.groups[MX_CHECKPOINT_WEIGHTS] = rig->groups[MX_CHECKPOINT_WEIGHTS];
    memset(target.groups[MX_CHECKPOINT_WEIGHTS], 0xA5, bytes);
    MX_TRY(mx_checkpoint_open(rig->folder, &(struct mx_checkpoint_options){.finite = true}, &checkpoint));
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(checkpoint);
    *result = sweep_hash(0, state->config, strlen(state->config));
    *result = sweep_hash(*result, &state->step, sizeof state->step);
    *result = sweep_hash(*result, &state->normaliser, sizeof state->normaliser);
    MX_TRY(mx_checkpoint_load(checkpoint, rig->table, &target, false, NULL));
    *result = sweep_hash(*result, target.groups[MX_CHECKPOINT_WEIGHTS], bytes);
out:
    mx_checkpoint_close(checkpoint);
    return rc;
}

/* ---- the folder ---- */

static const char *const names[] = {"step-00000001.safetensors", "step-00000002.safetensors",
                                    "step-00000003.safetensors", "best.safetensors"};
#define FILES (sizeof names / sizeof names[0])

static struct {
    char *data;
    size_t bytes;
} old[FILES];

/* Two steps before, and another step 3, which is the best. */
static void old_make(struct checkpoint_rig *rig)
{
    const uint64_t steps[] = {1, 2, STEP};
    rig->state.config = "old: 1\n";
    for (int i = 0; i < 3; i++)
        assert_int_equal(step_save(rig, steps[i], &(struct mx_checkpoint_keep){.best = i == 2}), 0);
    rig->state.config = "new: 1\n";
}

static void reset(void *context)
{
    const struct checkpoint_rig *const rig = context;
    for (size_t i = 0; i < FILES; i++) file_put(rig->folder, names[i], old[i].data, old[i].bytes);
}

static void test_save(void **state)
{
    struct checkpoint_rig *const rig = *state;
    old_make(rig);
    for (size_t i = 0; i < FILES; i++) {
        char *const path = mx_format("%s/%s", rig->folder, names[i]);
        assert_int_equal(mx_file_read(path, FILE_LIMIT, &old[i].data, &old[i].bytes), 0);
        mx_free(path);
    }
    sweep_run(&(struct sweep){
        .name = "save a checkpoint", .context = rig, .run = save, .folder = rig->folder, .reset = reset});
    for (size_t i = 0; i < FILES; i++) mx_free(old[i].data);
}

static void test_load(void **state)
{
    old_make(*state);
    sweep_run(&(struct sweep){.name = "load a checkpoint", .context = *state, .run = load});
}

int main(void)
{
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_save, checkpoint_rig_setup, checkpoint_rig_teardown),
        cmocka_unit_test_setup_teardown(test_load, checkpoint_rig_setup, checkpoint_rig_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
