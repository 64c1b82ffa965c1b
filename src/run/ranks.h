/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A training run of several processes (dist/dist.h), for `myxtts train` and `myxtts profile`: rank 0 does everything
 * that a single process does, the others only train. Whatever is decided during the run (a signal, the time limit, the
 * end) is agreed on before a step begins, so that all ranks make the same steps.
 *
 * Each rank takes its own devices by its number on its machine: with one device for everything the next one, with two
 * the next two (unless each rank sees only its own devices); CPU devices are made of the rank's own cores and need no
 * such counting. Ranks on one machine share its memory equally.
 *
 * Memory: the job owns its ranks from mx_job_ranks_open to mx_job_ranks_close. In a process that was started alone
 * everything here does nothing.
 */
#ifndef MX_RUN_RANKS_H
#define MX_RUN_RANKS_H

#include "run/job.h"

/* Joins the other ranks; from now on ranks other than 0 show only errors. Call it before devices are opened. `spans`:
 * number of sums kept for a trace. */
int mx_job_ranks_open(struct mx_job *job, uint32_t spans);
/* Call it before anything is closed. After a failure of this rank (a negative code, with its error) all ranks end, and
 * it does not return. After a signal, which all ranks know about, it returns the code. */
int mx_job_ranks_fail(struct mx_job *job, int code);
/* When the job is closed: leaves together with the others. */
void mx_job_ranks_close(struct mx_job *job);

static inline bool mx_job_ranks_first(const struct mx_job *job)
{
    return mx_comm_rank(job->options.comm) == 0;
}

/* Opens the devices of this rank. */
int mx_job_ranks_devices(struct mx_job *job, const char *command);
/* Sets the limits of a batch for the trainer: those of all ranks together. */
void mx_job_ranks_batch(const struct mx_job *job, struct mx_trainer_options *options);
/* Refuses to train if program, settings, corpus or checkpoint of a rank differ from those of rank 0. */
int mx_job_ranks_compare(struct mx_job *job);
void mx_job_ranks_log(const struct mx_job *job);
/* Before the trainer is created: the ranks agree on what sums the gradients of the model's device. */
int mx_job_ranks_sums(struct mx_job *job);
/* Before the devices are closed. */
void mx_job_ranks_release(struct mx_job *job);
/* Sends the normaliser that rank 0 has measured to the others. */
int mx_job_ranks_normaliser(struct mx_job *job);

/* Before each step: a flag that is true in one rank becomes true in all. */
int mx_job_ranks_agree(struct mx_job *job, bool *stop, bool *end);
/* The loop of ranks other than 0. A signal to any of them ends it as well, and rank 0 reports that. */
int mx_job_ranks_follow(struct mx_job *job);

#endif
