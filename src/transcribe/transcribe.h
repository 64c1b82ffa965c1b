/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Texts for a folder of recordings that has none: one or two recognisers (recogniser.h) hear every file, a trained voice
 * judges how well the text explains the sound, and the folder becomes a corpus:
 *
 *     transcripts.tsv  what was heard in every file (transcripts.h); with it, interrupted work continues
 *     metadata.csv     the manifest, "audio_file|text" or "audio_file|text|speaker_name": all files with a text
 *     decisions.tsv    suspect rows are dropped, with the reason as the note, which begins with "transcribe: ". Decisions of
 *                      people stay, and take precedence (corpus/manifest/decisions.h)
 *
 * A row is suspect if the recognisers differ in too many words, or if the voice finds that words are missing or too many
 * (doctor/score/score.h).
 *
 * Memory: nothing is kept.
 */
#ifndef MX_TRANSCRIBE_TRANSCRIBE_H
#define MX_TRANSCRIBE_TRANSCRIBE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "doctor/doctor.h"

#define MX_TRANSCRIBE_WORKERS_MAX   64
#define MX_TRANSCRIBE_DIFFERENCE    0.2 /* of the words: two recognisers that differ more make a row suspect */
#define MX_TRANSCRIBE_LIMIT_SECONDS 600 /* for one file */

struct mx_transcribe_options {
    const char *folder;
    const char *first, *second; /* commands; second NULL: none */
    int language;               /* one of enum mx_language_id, or MX_ROW_LANGUAGE_DETECT */
    const char *voice;          /* as in struct mx_doctor_options */
    double difference;          /* 0 to 1 */
    double limit_seconds;       /* for one file */
    int workers;                /* files at a time; 0: one for each core */
    bool speaker_folders;       /* the first folder of a path names its speaker */
    const atomic_bool *stop;    /* (optional) polled */
};

struct mx_transcribe_report {
    uint32_t files, known;      /* all, and those that were recognised by an earlier call */
    uint32_t rows;              /* with a text */
    uint32_t empty, failed;     /* without */
    uint32_t rejected;          /* rows that `check` rejects, such as recordings that are too long */
    uint32_t differ, misfit;    /* suspect: the recognisers differ; the voice doubts it */
    uint32_t people;            /* rows about which people have decided */
    uint32_t pipes;             /* signs '|' that were replaced by blanks: they separate columns */
    double seconds;             /* of the rows that are used */
    enum mx_doctor_judge judge; /* whether a voice judged, and why not */
};

/* MX_ERR_DATA if the folder has a manifest of somebody else, if the recogniser failed on the first files, or if nothing
 * was recognised in any file. Interrupted (MX_ERR_INTERRUPTED), the next call continues. */
int mx_transcribe_run(const struct mx_transcribe_options *options, struct mx_transcribe_report *report);

#endif
