/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The reasons why a row of a manifest is not used. One table serves the manifest reader, the audio reader, `check` and
 * `prepare`.
 *
 * The short names appear in rejects.tsv and in JSON reports, the codes in packed files: append only, change neither.
 */
#ifndef MX_CORPUS_REJECT_H
#define MX_CORPUS_REJECT_H

#include <stdint.h>

/* X(identifier, code, short name, explanation): MX_REJECT_<identifier>. */
#define MX_REJECT_LIST(X)                                                                                              \
    X(NONE, 0, "none", "the row is good")                                                                              \
    X(BAD_LINE, 1, "bad-line", "the line does not have the columns of its manifest")                                   \
    X(INVALID_UTF8, 2, "invalid-utf8", "the line is not UTF-8 text")                                                   \
    X(DUPLICATE_ID, 3, "duplicate-id", "an earlier line has the same id")                                              \
    X(EMPTY_TEXT, 4, "empty-text", "there is nothing to say")                                                          \
    X(UNKNOWN_LANGUAGE, 5, "unknown-language", "the language of the text is not known")                                \
    X(UNKNOWN_SYMBOL, 6, "unknown-symbol", "the text holds a symbol that is not in the vocabulary")                    \
    X(MISSING_FILE, 7, "missing-file", "there is no recording")                                                        \
    X(UNREADABLE, 8, "unreadable", "the recording cannot be opened or decoded")                                        \
    X(LYING_HEADER, 9, "lying-header", "the header of the recording and its size contradict each other")               \
    X(ABSURD_RATE, 10, "absurd-rate", "the sample rate is not one of speech")                                          \
    X(NOT_FINITE, 11, "not-finite", "samples are not a number or infinite")                                            \
    X(TOO_SHORT, 12, "too-short", "the recording is shorter than the minimum")                                         \
    X(TOO_LONG, 13, "too-long", "the recording is longer than the maximum")                                            \
    X(SILENT, 14, "silent", "nothing can be heard")                                                                    \
    X(CLIPPED, 15, "clipped", "too many samples are cut off at full scale")                                            \
    X(SPEAKING_RATE, 16, "speaking-rate", "sounds per second out of range: text and recording do not match")           \
    X(DROPPED, 17, "dropped", "somebody decided that the row is not used")

enum mx_reject {
#define X(identifier, code, name, text) MX_REJECT_##identifier = (code),
    MX_REJECT_LIST(X)
#undef X
        MX_REJECT_COUNT
};

/* If more than this share of the rows is rejected, `check`, `prepare` and `train` stop, unless rejects are allowed. */
#define MX_REJECTED_SHARE_MAX 0.05
/* That share: rows that were dropped are no fault and do not count as rejected. */
double mx_rejected_share(uint32_t rejected, uint32_t dropped, uint32_t rows);

const char *mx_reject_name(enum mx_reject reject); /* "too-short"; "unknown" for other numbers */
const char *mx_reject_text(enum mx_reject reject); /* the explanation */

#endif
