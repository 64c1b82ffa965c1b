/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/corpus/tokens*.c: what a language does between its text and libespeak-ng.
 *
 * A clause is normalised text without punctuation: words with single spaces, fewer than MX_CLAUSE_BYTES bytes. A
 * speller writes the phonemes of a clause to a sink and asks `ask` for those of pieces of text as often as it needs.
 * `ask` writes IPA letters and marks, words set off by blanks.
 */
#ifndef MX_CORPUS_TOKENS_WORK_H
#define MX_CORPUS_TOKENS_WORK_H

#include "corpus/text_work.h"

#define MX_CLAUSE_BYTES 512 /* longer stretches without punctuation are cut between words */
#define MX_WORD_BYTES   120 /* longer words are cut */

void mx_tokens_english(const char *clause, void (*ask)(const char *text, struct mx_text_sink *out),
                       struct mx_text_sink *out);
void mx_tokens_persian(const char *clause, void (*ask)(const char *text, struct mx_text_sink *out),
                       struct mx_text_sink *out);

#endif
