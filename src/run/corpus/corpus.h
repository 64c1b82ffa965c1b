/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a run (run/job.h) does with its corpus: opening it (words.c), cutting long rows (long.c), listing rows that cannot
 * be used (rejects.c), and keeping a recording of each speaker (voices.c).
 *
 * Memory: the job owns the dataset.
 */
#ifndef MX_RUN_CORPUS_H
#define MX_RUN_CORPUS_H

#include "corpus/dataset.h"

struct mx_job;

/* ---- words.c ---- */
/* Opens the corpus. In a new run with the vocabulary of an origin, symbols and languages of the corpus that it lacks are
 * added to it, named and counted. */
int mx_job_dataset_open(struct mx_job *job, const struct mx_dataset_options *options);

/* ---- long.c ---- */
/* Cuts the rows of the corpus that are too long, as data.cut_long says, and lets `options` know. *folder, which they then
 * point to, is the caller's to free; NULL: there is none. */
int mx_job_long(struct mx_job *job, struct mx_dataset_options *options, char **folder);

/* ---- rejects.c ---- */
/* Lists the unusable rows, if there are more than last time, and logs the reasons. MX_ERR_DATA if a folder has too
 * many. */
int mx_job_rejects(struct mx_job *job);

/* ---- voices.c ---- */
/* Writes voices/ of a new run. Corpora of features have no sound, so there is nothing to write for them. */
int mx_job_voices(struct mx_job *job);
/* Finds the language that each speaker speaks in most training utterances; `words` numbers the languages. */
int mx_job_speaker_languages(struct mx_job *job, const struct mx_vocabulary *words);

#endif
