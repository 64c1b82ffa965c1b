/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What of the networks of a run (run/job.h) there is and learns: the vocoder (vocoder.c); training.freeze and
 * training.adapter_rank (learning.c).
 *
 * Memory: the patterns are those of the job's settings; the job owns what is opened.
 */
#ifndef MX_RUN_NETWORKS_H
#define MX_RUN_NETWORKS_H

#include "checkpoint/checkpoint.h"
#include "train/trainer.h"

struct mx_job;

/* ---- vocoder.c ---- */
/* Opens the checkpoint that vocoder.from names, and refuses parts that the origin does not have. */
int mx_job_vocoder_open(struct mx_job *job);
/* Sets the options of the vocoder; a warning if it cannot be trained. */
int mx_job_vocoder_choose(struct mx_job *job);
bool mx_job_vocoder_there(const struct mx_job *job); /* it comes from a checkpoint: it has learned */
void mx_job_vocoder_steps(struct mx_job *job);       /* its schedule, once the length of the run is known */
void mx_job_vocoder_log(const struct mx_job *job);
/* Logs which share of the steps' time it took, if any of it was measured. */
void mx_job_vocoder_share_log(const struct mx_job *job);
/* Loads its weights, if it is not a new one, by way of `arrays`; *whole: with its optimizer state, so its part of the
 * state counts, too. */
int mx_job_vocoder_restore(struct mx_job *job, const struct mx_trainer_arrays *arrays, bool *whole);

/* ---- state.c ---- */
/* The arrays of a part as the groups of a checkpoint. */
struct mx_checkpoint_target mx_job_arrays_target(const struct mx_trainer_arrays *arrays);

/* ---- learning.c ---- */
/* Of adapters: the file they belong to. */
struct mx_job_base {
    char hash[24], name[256];
};

/* Sets what of each network learns. `vocoder_there`: the run's vocoder has learned before. A vocoder of which nothing
 * learns becomes one that is ready. MX_ERR_CONFIG for patterns that match nothing or leave nothing to learn. */
int mx_job_learning_choose(struct mx_job *job, bool vocoder_there);
/* With adapters: sets the name and hash of their base, from the origin. */
int mx_job_base_choose(struct mx_job *job);
/* Writes both for a checkpoint; returns how many there are. */
size_t mx_job_base_write(const struct mx_job *job, struct mx_metadata *extras);
void mx_job_learning_log(const struct mx_job *job);

#endif
