/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What others see of a training run during and after it: run.json (observe/run.h), TensorBoard's event files
 * (observe/tfevents.h), pictures of an utterance (observe/pictures.h) and report.html (observe/page/page.h).
 *
 * Training needs none of it: a failure here is a warning, and training continues.
 *
 * Memory: an observer owns what it opened and borrows the job. A step allocates nothing.
 */
#ifndef MX_RUN_OBSERVER_H
#define MX_RUN_OBSERVER_H

#include "observe/run.h"
#include "run/job.h"

#define MX_JOB_SPANS 256 /* newest spans of the pipeline that run.json shows */

struct mx_job_observer;

/* Creates the observer and writes run.json. NULL after a warning if there is no memory; all others accept NULL. */
struct mx_job_observer *mx_job_observer_open(struct mx_job *job);
void mx_job_observer_step(struct mx_job_observer *observer, const struct mx_trainer_report *report);
/* After an evaluation, when its samples are written. */
void mx_job_observer_evaluation(struct mx_job_observer *observer);
/* The run is over and is not started again. Its process may have been killed after the last checkpoint: then run.json
 * still says that it trains, which is put right, and the report is written. Otherwise nothing is changed. */
void mx_job_observer_settle(const struct mx_job *job);
/* Before a checkpoint: everything about earlier steps is then on the disk when a run continues from it. */
void mx_job_observer_flush(struct mx_job_observer *observer);
/* Call it when the run has ended with `state`; for a failure it uses the last error and leaves it unchanged. Writes the
 * report and frees the observer. */
void mx_job_observer_close(struct mx_job_observer *observer, enum mx_run_state state);

#endif
