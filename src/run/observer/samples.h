/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The texts that a run speaks at its evaluations (run/job.h).
 *
 * Memory: the job owns what mx_job_samples_open opens; mx_job_close releases it.
 */
#ifndef MX_RUN_SAMPLES_H
#define MX_RUN_SAMPLES_H

#include "speech/speaker.h"
#include "train/trainer.h"

struct mx_job;

/* What speaks them. */
struct mx_job_speech {
    struct mx_speak *speak;           /* NULL: none are spoken */
    struct mx_speaker *speaker;       /* on it */
    struct mx_extract *pictures;      /* for the mels of the samples; NULL likewise */
    struct mx_dataset_reader *reader; /* of their recordings */
};

/* The memory for speaking samples in addition to the trainer's plan; all 0: none will be spoken. */
struct mx_job_samples_memory {
    struct mx_speak_memory_plan speak;
    uint64_t pictures, pictures_host;
};
int mx_job_samples_memory_plan(const struct mx_job *job, const struct mx_trainer_memory_plan *plan,
                               struct mx_job_samples_memory *out);
/* Prepares for speaking samples, if there will be any. Call it after the trainer is created. */
int mx_job_samples_open(struct mx_job *job);
/* Speaks them into samples/step-N. A failure to write is a warning. MX_ERR_INTERRUPTED if a signal comes. */
int mx_job_samples(struct mx_job *job);
/* Deletes the samples of the oldest evaluations, if there are more than the settings allow. */
void mx_job_samples_tidy(const struct mx_job *job);

#endif
