/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Failure sweeps (sweep/sweep.h) of training: from the packed file over the data device to one step on the model device.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "support/training_rig.h"
#include "sweep/sweep.h"
#include <cmocka.h>

/* Opens the corpus, plans and starts the trainer, makes a step and takes the weights. */
static int train(void *context, uint64_t *result)
{
    int rc = 0;
    const struct training *const t = context;
    struct mx_trainer *trainer = NULL;
    struct mx_dataset *dataset = NULL;
    struct mx_trainer_arrays arrays = {0};
    struct mx_trainer_report report;
    struct mx_dataset_options options = MX_DATASET_OPTIONS_DEFAULT;
    options.path = t->files[TRAINING_SOUND];
    options.row.tokens = MX_TOKENS_CHARS;
    options.manifest = training_manifest;
    options.workers = 1;
    MX_TRY(mx_dataset_open(&options, &dataset));
    struct mx_trainer_options how = training_flow(training_options_of(dataset), true, 1, 1);
    how.batch_size = 1;
    MX_TRY(mx_trainer_create(&how, &trainer));
    MX_TRY(mx_trainer_start(trainer, NULL));
    MX_TRY(mx_trainer_step(trainer, &report));
    const size_t floats = (size_t)mx_trainer_parameters(trainer, MX_PART_ACOUSTIC)->floats;
    arrays.weights = mx_alloc(floats, sizeof *arrays.weights);
    if (arrays.weights == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_trainer_read(trainer, MX_PART_ACOUSTIC, &arrays));
    *result = sweep_hash(0, arrays.weights, floats * sizeof *arrays.weights);
out:
    mx_free(arrays.weights);
    mx_trainer_destroy(trainer);
    mx_dataset_close(dataset);
    return rc;
}

static void test_step(void **state)
{
    (void)state;
    sweep_run(&(struct sweep){.name = "one step of training", .context = &training, .run = train});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_step)};
    return cmocka_run_group_tests(tests, training_open, training_close);
}
