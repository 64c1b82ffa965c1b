/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A small run for the tests of checkpoints: a parameter table, a state and arrays that are functions of the step, so
 * that parts of two steps in one file would show.
 */
#ifndef MX_TESTS_CHECKPOINT_RIG_H
#define MX_TESTS_CHECKPOINT_RIG_H

#include "checkpoint/checkpoint.h"

struct checkpoint_rig {
    char *folder; /* of its own, removed at the end */
    struct mx_parameters *table;
    float *groups[MX_CHECKPOINT_GROUPS]; /* [table->floats] each */
    struct mx_checkpoint_state state;
    struct mx_checkpoint_metric metrics[3];
    struct mx_metadata extras[2];
};

/* cmocka's setup and teardown; *state is the rig. */
int checkpoint_rig_setup(void **state);
int checkpoint_rig_teardown(void **state);

/* Arrays and counters of a step. */
void checkpoint_rig_fill(struct checkpoint_rig *rig, uint64_t step);
int checkpoint_rig_save(struct checkpoint_rig *rig, uint64_t step, const struct mx_checkpoint_keep *keep);
/* Is it, in every bit of every parameter and in its state, the checkpoint of the step that it says? */
bool checkpoint_rig_is_whole(struct checkpoint_rig *rig, const struct mx_checkpoint *checkpoint);
/* Path of a checkpoint of the folder; the caller frees with mx_free. */
char *checkpoint_rig_path(const struct checkpoint_rig *rig, uint64_t step);
bool checkpoint_rig_exists(const struct checkpoint_rig *rig, const char *name);

#endif
