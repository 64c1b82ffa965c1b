/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What recognisers heard in the files of a folder: a table that grows while they work and is read again when the work goes
 * on.
 *
 * transcripts.tsv: UTF-8. Two lines with the commands, a header line, one line for each file, fields separated by a tab; in
 * fields tabs and line ends are blanks, other control bytes and invalid UTF-8 \xNN:
 *
 *     # first: COMMAND
 *     # second: COMMAND
 *     file  bytes  mtime_ns  state  text  second  difference  score  suspect
 *
 *     file        the path below the folder
 *     bytes, mtime_ns  of the file when it was recognised: another file under the same name is recognised again
 *     state       good; empty (nothing was recognised); failed, which is tried again by the next call
 *     text        of the first recogniser, of a failed one its error; second: of the second recogniser
 *     difference  words that differ per word of the longer text, 0 to 1; - without a second recogniser
 *     score       nats a frame by which the text explains the sound better than speech in any order, by a trained voice
 *                 (doctor/score/score.h); - if no voice judged
 *     suspect     why the row is not used; empty: it is
 *
 * While files are recognised, lines are appended (a line that an interrupt cut short is ignored); at the end all are
 * written at once, in the order of the files.
 *
 * Memory: the table owns all its strings; mx_transcripts_close frees it. Only mx_transcripts_append may be called from
 * several threads at once.
 */
#ifndef MX_TRANSCRIBE_TRANSCRIPTS_H
#define MX_TRANSCRIBE_TRANSCRIPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corpus/manifest/manifest.h"
#include "text/language.h"

#define MX_TRANSCRIPTS_NAME        "transcripts.tsv"
#define MX_TRANSCRIPTS_LIMIT_BYTES ((size_t)256 << 20)

/* X(identifier, name in the file): MX_TRANSCRIPT_<identifier>. */
#define MX_TRANSCRIPT_LIST(X)                                                                                          \
    X(MISSING, "")                                                                                                     \
    X(GOOD, "good")                                                                                                    \
    X(EMPTY, "empty")                                                                                                  \
    X(FAILED, "failed")

enum mx_transcript_state {
#define X(identifier, name) MX_TRANSCRIPT_##identifier,
    MX_TRANSCRIPT_LIST(X)
#undef X
        MX_TRANSCRIPT_COUNT
};

/* One file. Strings belong to the table; NULL stands for "". */
struct mx_transcript {
    const struct mx_utterance *file;
    enum mx_transcript_state state;
    char *text, *second, *suspect;
    double difference, score; /* NaN: unknown */
};

struct mx_transcripts;

struct mx_transcripts_options {
    const char *folder;
    const char *first, *second;      /* the commands; second NULL: none */
    const struct mx_manifest *files; /* opened with `sounds`; must outlive the table */
};

/* Reads the table of the folder, if there is one, for the files that have not changed. MX_ERR_DATA if it is of other
 * commands or damaged. */
int mx_transcripts_open(const struct mx_transcripts_options *options, struct mx_transcripts **out);
void mx_transcripts_close(struct mx_transcripts *transcripts); /* NULL is fine */

uint32_t mx_transcripts_count(const struct mx_transcripts *transcripts); /* one for each file */
struct mx_transcript *mx_transcripts_at(struct mx_transcripts *transcripts, uint32_t index);

/* Sets a result and appends its line to the file. The strings are copied; `second` may be NULL. */
int mx_transcripts_append(struct mx_transcripts *transcripts, uint32_t index, enum mx_transcript_state state,
                          const char *text, const char *second);
/* Why a row is suspect; the string is copied. */
int mx_transcript_suspect(struct mx_transcript *transcript, const char *why);
/* Writes the whole table in place of the lines that were appended. */
int mx_transcripts_save(struct mx_transcripts *transcripts);

/* Words that differ (Levenshtein) per word of the longer text, after both are normalised as the language reads them;
 * punctuation and capitals do not count. */
int mx_transcript_difference(enum mx_language_id language, const char *first, const char *second, double *out);

#endif
