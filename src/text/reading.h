/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How texts are read: the rules of which version of the cleaners, and the words of a lexicon. A voice keeps reading as
 * it was trained, so both are kept in its vocabulary (vocabulary.h), and everything that reads texts for it uses them.
 *
 * mx_text_normalise, mx_phonemizer_run and mx_tokens_from_text are these functions with the newest rules and no lexicon.
 *
 * Memory: results are pieces of the caller's arena.
 */
#ifndef MX_TEXT_READING_H
#define MX_TEXT_READING_H

#include "text/lexicon.h"
#include "text/text.h"
#include "text/tokens.h"

struct mx_reading {
    int cleaner;                      /* version of the rules; 0: the newest */
    const struct mx_lexicon *lexicon; /* NULL: none */
};

/* The version of the rules that a reading means. One that is newer than the program has the newest that it knows. */
int mx_reading_cleaner(const struct mx_reading *reading); /* NULL: the newest */

/* As mx_text_normalise; words of the lexicon that have sounds are single code points in it (lexicon.h). */
int mx_reading_text(const struct mx_reading *reading, enum mx_language_id language, const char *text, size_t length,
                    struct mx_arena *arena, char **out, struct mx_text_report *report);
/* Normalised text for people: with the words of the lexicon as they are written there. */
int mx_reading_plain(const struct mx_reading *reading, const char *text, struct mx_arena *arena, char **out);
/* As mx_phonemizer_run and mx_tokens_from_text, for text from mx_reading_text. */
int mx_reading_phonemes(const struct mx_reading *reading, struct mx_phonemizer *phonemizer,
                        enum mx_language_id language, const char *text, struct mx_arena *arena, char **out);
int mx_reading_symbols(const struct mx_reading *reading, enum mx_tokens_mode mode, struct mx_phonemizer *phonemizer,
                       enum mx_language_id language, const char *text, struct mx_arena *arena, struct mx_symbols *out);

#endif
