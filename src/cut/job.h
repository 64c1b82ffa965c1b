/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/cut: one text with its recordings, from the files to the rows of a folder. A job does one after the other:
 * the texts of cut.c, the long rows of a corpus of long.c.
 *
 * Memory: a job owns what it makes of a text until mx_cut_job_release; voice, folder and names are the caller's.
 */
#ifndef MX_CUT_JOB_H
#define MX_CUT_JOB_H

#include "corpus/manifest/manifest.h"
#include "cut/cut.h"
#include "cut/fit.h"
#include "cut/folder.h"
#include "cut/rows.h"
#include "cut/script.h"

struct mx_cut_job {
    /* of all texts */
    struct mx_voice *voice;
    struct mx_cut_folder folder;
    const char *name;        /* of the text or manifest, for messages */
    const char *speaker;     /* of the rows that are made; NULL: there is no column of speakers */
    const char *language;    /* the same: its code, or "" if the row names none */
    double row_most;         /* seconds of the longest row */
    const atomic_bool *stop; /* (optional) */
    struct mx_cut_report report;
    /* one text with its recordings */
    struct mx_cut_script script;
    struct mx_align_text text;
    struct mx_cut_sound sound;
    struct mx_cut_fit *fit;
    struct mx_align_path path;
    struct mx_cut_timing *heard;
    struct mx_cut_rows rows;
    double score_least; /* of a row that is written */
};

/* Cuts the recordings, unless `sound` is read already, by the text of `script`. MX_ERR_DATA if they have
 * nothing in common; then no row is written. */
int mx_cut_job_run(struct mx_cut_job *job, const char *const *sounds, size_t count, int language);
/* The same for a row of a manifest. */
int mx_cut_job_utterance(struct mx_cut_job *job, const struct mx_utterance *utterance, int language);
/* Begins with the rows of a manifest: if one names its language, those that are made have a column of languages. */
void mx_cut_job_columns(struct mx_cut_job *job, const struct mx_manifest *manifest);
/* The language that a row is read in: that of the command, of the row, or none (MX_ALIGN_DETECT). MX_ERR_DATA if the row
 * names an unknown one. */
int mx_cut_job_language(struct mx_cut_job *job, int of_all, const struct mx_utterance *utterance, int *language);
/* Releases what belongs to a text. */
void mx_cut_job_release(struct mx_cut_job *job);

#endif
