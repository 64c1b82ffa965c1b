/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A training run of several processes (dist/dist.h), as `myxtts train` and `myxtts profile` have it: rank 0 does all
 * that a run alone does, the others only train. Whatever is decided while it runs (a signal, the time limit, the end)
 * is agreed on before a step begins, so that all ranks make the same steps.
 *
 * Each rank takes devices of its own by its number on its machine: with one device for everything the next one, with
 * two the next two (unless each was given devices of its own to see); CPU devices are made of the rank's own cores and
 * need no counting on. Ranks on one machine share its memory equally.
 *
 * Memory: the job owns its ranks from mx_job_ranks_open to mx_job_ranks_close. Without any of it (a process that
 * was started alone) everything here does nothing.
 */
#ifndef MX_RUN_RANKS_H
#define MX_RUN_RANKS_H

#include "run/job.h"

/* Joins the other ranks; from now on ranks other than 0 say nothing but errors. Before devices are opened. `spans`:
 * sums to be remembered for a trace. */
int mx_job_ranks_open(struct mx_job *job, uint32_t spans);
/* Before anything is closed: after a failure of this rank (a negative code, with its error) all ranks end, and it does
 * not return. Otherwise, after a signal, which all ranks know of, too, returns the code. */
int mx_job_ranks_fail(struct mx_job *job, int code);
/* When the job is closed: leaves together with the others. */
void mx_job_ranks_close(struct mx_job *job);

static inline bool mx_job_ranks_first(const struct mx_job *job)
{
    return mx_comm_rank(job->options.comm) == 0;
}

/* Opens the devices of this rank. */
int mx_job_ranks_devices(struct mx_job *job, const char *command);
/* The limits of a batch as the trainer has them: of all ranks together. */
void mx_job_ranks_batch(const struct mx_job *job, struct mx_trainer_options *options);
/* Refuses to train when program, settings, corpus or checkpoint of a rank are not those of rank 0. */
int mx_job_ranks_compare(struct mx_job *job);
void mx_job_ranks_announce(const struct mx_job *job);
/* Before the trainer is made: the ranks agree on who sums the gradients of the model's device. */
int mx_job_ranks_sums(struct mx_job *job);
/* Before the devices are closed. */
void mx_job_ranks_leave(struct mx_job *job);
/* Rank 0 has measured it, the others get it. */
int mx_job_ranks_normaliser(struct mx_job *job);

/* Before each step: each becomes true in all ranks if it is in one. */
int mx_job_ranks_agree(struct mx_job *job, bool *stop, bool *end);
/* The loop of ranks other than 0. After a signal to any of them it ends as well, and rank 0 says so. */
int mx_job_ranks_follow(struct mx_job *job);

#endif
