/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training runs for tests: two CPU devices and a small corpus as packed sound and as packed features, or one device and
 * a folder of recordings; a very small model, and runs whose outcomes can be compared bit for bit.
 *
 * Memory: all of `training` belongs to training_close. Arrays of weights are the caller's to free.
 */
#ifndef MX_TESTS_TRAINING_RIG_H
#define MX_TESTS_TRAINING_RIG_H

#include "myxtts/registry.h"
#include "train/trainer.h"

#define TRAINING_ROWS  14
#define TRAINING_STEPS 7

enum training_corpus { TRAINING_SOUND, TRAINING_FEATURES, TRAINING_CORPORA };

extern struct training {
    char *folder, *files[TRAINING_CORPORA];
    struct mx_registry *registry;
    struct mx_device *data, *model; /* cpu:0 and cpu:1; of a folder: none, and all cores */
    struct mx_dataset *datasets[TRAINING_CORPORA];
    struct mx_dataset *recordings; /* of a folder */
    struct mx_normaliser normaliser;
} training;

/* Of a cmocka group. */
int training_open(void **state);
/* For a group that trains from recordings, which `fill` puts with their list into the folder. */
int training_open_folder(void (*fill)(const char *folder), const struct mx_manifest_options *manifest);
int training_close(void **state);

/* Of such a small corpus, some rows of which are for validation. */
extern const struct mx_manifest_options training_manifest;
struct mx_dataset *training_dataset(const char *path);
/* The plain loop on the model device: one thread that loads, nothing at the same time. */
struct mx_trainer_options training_options_of(struct mx_dataset *dataset);
struct mx_trainer_options training_options(enum training_corpus corpus);
/* The same with overlap. */
struct mx_trainer_options training_flow(struct mx_trainer_options o, bool two, int32_t workers, int32_t buffer);

struct training_outcome {
    struct mx_trainer_arrays arrays; /* in one block that weights owns */
    size_t floats;
    struct mx_trainer_report reports[TRAINING_STEPS];
    struct mx_trainer_state state;
};

/* Created and started; arrays and state may be NULL. */
struct mx_trainer *training_start(const struct mx_trainer_options *o, const struct mx_trainer_state *state,
                                  const struct mx_trainer_arrays *arrays);
void training_step(struct mx_trainer *trainer, struct mx_trainer_report *report);
/* Room for the four arrays, and with what is in the trainer now: in one block that weights owns. */
struct mx_trainer_arrays training_arrays_make(const struct mx_trainer *trainer, size_t *floats);
struct mx_trainer_arrays training_arrays_read(struct mx_trainer *trainer, size_t *floats);
/* Makes steps `from` … `to` - 1 and reads where the run is then. */
void training_steps(struct mx_trainer *trainer, int from, int to, struct training_outcome *out);
/* A whole run. */
struct training_outcome training_run(const struct mx_trainer_options *o);
/* Equal in all but the times. */
bool training_equal(const struct training_outcome *a, const struct training_outcome *b);
/* A whole run, whose outcome must be the expected one. */
void training_same(const struct training_outcome *expected, const struct mx_trainer_options *o);

#endif
