/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What others see of a training run while it goes on and afterwards: run.json (observe/run.h), TensorBoard's event
 * files (observe/tfevents.h), pictures of an utterance (observe/pictures.h) and report.html (observe/page.h).
 *
 * None of it is needed to train: what fails here is a warning, and training goes on.
 *
 * Memory: an observer owns what it opened and borrows the job. A step takes nothing.
 */
#ifndef MX_RUN_OBSERVER_H
#define MX_RUN_OBSERVER_H

#include "observe/run.h"
#include "run/job.h"

#define MX_JOB_SPANS 256 /* newest spans of the pipeline that run.json shows */

struct mx_job_observer;

/* Begins: run.json is there afterwards. NULL if there is no memory for it, after a warning; all others take NULL. */
struct mx_job_observer *mx_job_observer_open(struct mx_job *job);
void mx_job_observer_step(struct mx_job_observer *observer, const struct mx_trainer_report *report);
/* After an evaluation, when its samples are written. */
void mx_job_observer_evaluation(struct mx_job_observer *observer);
/* Before a checkpoint: a run that goes on from it has told of all steps before. */
void mx_job_observer_flush(struct mx_job_observer *observer);
/* The run has ended so; a failure is the last error, which stays as it is. Writes the report and frees the observer. */
void mx_job_observer_close(struct mx_job_observer *observer, enum mx_run_state state);

#endif
