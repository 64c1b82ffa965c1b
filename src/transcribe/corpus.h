/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The corpus that transcripts make of their folder: its manifest and its decisions (transcribe.h). A trial manifest,
 * .transcribe.csv, is there while a voice judges the rows; the others are written at the end.
 *
 * Memory: a corpus owns its paths; mx_transcribe_corpus_close frees them and removes the trial manifest.
 */
#ifndef MX_TRANSCRIBE_CORPUS_H
#define MX_TRANSCRIBE_CORPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"
#include "transcribe/transcripts.h"

struct mx_transcribe_corpus {
    char *manifest, *decisions, *trial; /* paths */
    bool speaker_folders;
    struct mx_transcripts *table;
    uint32_t *rows; /* [row_count] which transcripts are the lines of the manifest */
    uint32_t row_count;
    struct mx_string metadata; /* the bytes of the manifest */
    uint32_t people, pipes;    /* as in struct mx_transcribe_report */
};

/* MX_ERR_DATA if the folder has a metadata.csv that was not made here. */
int mx_transcribe_corpus_open(const char *folder, bool speaker_folders, struct mx_transcribe_corpus *out);
void mx_transcribe_corpus_close(struct mx_transcribe_corpus *corpus);

/* Writes the trial manifest with the files that have a text. */
int mx_transcribe_corpus_try(struct mx_transcribe_corpus *corpus, struct mx_transcripts *table);
/* The transcript of a row of the trial manifest. */
struct mx_transcript *mx_transcribe_corpus_row(const struct mx_transcribe_corpus *corpus,
                                               const struct mx_utterance *row);
/* Writes the decisions about suspect rows, then the manifest. */
int mx_transcribe_corpus_finish(struct mx_transcribe_corpus *corpus);

#endif
