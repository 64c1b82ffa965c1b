/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The parts of one turn of a training run (run/job.h): a step with its reports, and an evaluation. Both the loop of
 * `myxtts train` and the loops of other programs use them.
 *
 * Plain values in the job; owns no memory.
 */
#ifndef MX_RUN_TURN_H
#define MX_RUN_TURN_H

#include "train/trainer.h"

struct mx_job;

/* One step: takes its batches, runs them forward and backward, updates the weights, and writes the step into
 * metrics.jsonl. As mx_trainer_step. */
int mx_job_step(struct mx_job *job, struct mx_trainer_report *report);
/* Reports a step everywhere except in metrics.jsonl: newly rejected rows, TensorBoard, the status line. MX_ERR_DATA if
 * too many rows of a folder turn out to be unusable. */
int mx_job_step_report(struct mx_job *job, const struct mx_trainer_report *report);
/* The status line: loss, speed, how busy both devices are, how long the model waited for data, memory. */
void mx_job_status(const struct mx_job *job, const struct mx_trainer_report *report);
/* Evaluates, speaks samples, and reports both. The best evaluation is the one with the smallest free-running distance
 * among those in which every text could be spoken, or of a vocoder alone the one with the smallest loss; *best: this is
 * the best so far. */
int mx_job_evaluate(struct mx_job *job, bool *best);

#endif
