/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Between the trainer of a run (run/job.h) and its checkpoints: what is saved, and how a run is restored.
 *
 * Plain values; the job owns the arrays.
 */
#ifndef MX_RUN_STATE_H
#define MX_RUN_STATE_H

#include "run/length.h"
#include "train/trainer.h"

struct mx_job;

/* Did the run of a checkpoint have pieces of rows that were too long? Earlier versions did not keep that. */
bool mx_job_state_pieces(const struct mx_checkpoint *checkpoint);
/* Steps of equal work of a resumed run: with the batch size it had, batches stay as long as they were. */
void mx_job_state_batch(struct mx_job *job);
/* Is the evaluation of the last step of a checkpoint's run still to be made? */
bool mx_job_state_due(const struct mx_checkpoint *checkpoint);
/* How a time limit lets the run to be resumed end; false: none does. */
bool mx_job_state_limit(const struct mx_job *job, struct mx_job_limit *out);
/* Reads where auto-stop was. */
void mx_job_state_auto(struct mx_job *job);
/* Is the corpus still the one that the resumed run was trained on? If not: MX_ERR_DATA naming what has changed. */
int mx_job_state_compare(const struct mx_job *job);
int mx_job_save(struct mx_job *job, bool best);
/* Once all recordings have been read: warns if their contents differ from those before the run was resumed. */
void mx_job_state_contents(struct mx_job *job);
/* Loads the weights, and for a resumed run everything else, from the origin; *state gets the position of the run. */
int mx_job_restore(struct mx_job *job, struct mx_trainer_state *state);

#endif
