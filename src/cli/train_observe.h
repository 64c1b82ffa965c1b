/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What others see of a training run while it goes on and afterwards: run.json (observe/run.h), TensorBoard's event
 * files (observe/events.h), pictures of an utterance (observe/pictures.h) and report.html (observe/page.h).
 *
 * None of it is needed to train: what fails here is a warning, and training goes on.
 *
 * Memory: an observer owns what it opened and borrows the job. A step takes nothing.
 */
#ifndef MX_CLI_TRAIN_OBSERVE_H
#define MX_CLI_TRAIN_OBSERVE_H

#include "cli/train_job.h"
#include "observe/run.h"

#define MX_TRAIN_SPANS 256 /* newest spans of the pipeline that run.json shows */

struct mx_train_observer;

/* Begins: run.json is there afterwards. NULL if there is no memory for it, after a warning; all others take NULL. */
struct mx_train_observer *mx_train_observer_open(struct mx_train_job *job);
void mx_train_observer_step(struct mx_train_observer *observer, const struct mx_trainer_report *report);
/* After an evaluation, when its samples are written. */
void mx_train_observer_evaluation(struct mx_train_observer *observer);
/* Before a checkpoint: a run that goes on from it has told of all steps before. */
void mx_train_observer_flush(struct mx_train_observer *observer);
/* The run has ended so; a failure is the last error, which stays as it is. Writes the report and frees the observer. */
void mx_train_observer_close(struct mx_train_observer *observer, enum mx_run_state state);

#endif
