/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The memory of a run (run/job.h), planned before it is taken: what fits (memory_plan.c), and what would (remedies.c).
 *
 * Plain values; the text belongs to the caller.
 */
#ifndef MX_RUN_MEMORY_PLAN_H
#define MX_RUN_MEMORY_PLAN_H

#include "base/string.h"
#include "train/trainer.h"

struct mx_job;

/* ---- memory_plan.c ---- */
/* Plans the memory of job->options. If it does not fit, auto-tuning takes a smaller buffer; otherwise, and unless
 * `dry`, it is refused. */
int mx_job_memory_plan(struct mx_job *job, bool dry);
/* The memory that must fit at once on the data device and on the model device, including their work before, between and
 * after steps; data is 0 on one device. */
struct mx_job_needs {
    uint64_t data, model;
};
int mx_job_memory_needs(const struct mx_job *job, const struct mx_trainer_memory_plan *plan, bool samples,
                        struct mx_job_needs *out);
/* The device that has too little memory for these needs; NULL: none. */
struct mx_device *mx_job_memory_short(const struct mx_job *job, const struct mx_job_needs *needs);
#define MX_JOB_BUFFER_LEAST 2 /* prepared batches: one to train on while the next one is made */
/* Writes the table: every owner on each device, and the device's limit. */
int mx_job_memory_text(const struct mx_job *job, struct mx_string *out);
int mx_job_memory_log(const struct mx_job *job); /* logs the same */

/* ---- remedies.c ---- */
/* 0 if the plan fits. Otherwise MX_ERR_BUDGET, and the hint says what would fit: each remedy has been planned, too. */
int mx_job_memory_check(const struct mx_job *job);

#endif
