/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/text/persian: words of the Persian script, and Persian number words.
 *
 * Strings here are UTF-8. Only the sink allocates memory.
 */
#ifndef MX_TEXT_PERSIAN_H
#define MX_TEXT_PERSIAN_H

#include "text/internal.h"

#define MX_KASRA  0x0650u
#define MX_SHADDA 0x0651u

/* Points of the word at `points`: letters of the Arabic script, vowel signs and ZWNJ. */
size_t mx_persian_word_length(const uint32_t *points, size_t count);
/* Whether the `length` points of a word equal `utf8`, ignoring the vowel signs of the word. */
bool mx_persian_word_is(const uint32_t *points, size_t length, const char *utf8);
/* Whether a final he is silent because a consonant precedes it. `length` points of a word, without vowel signs at the
 * end, at least three letters. */
bool mx_persian_ends_in_silent_he(const uint32_t *points, size_t length);

/* Work done before the cleaner reads (persian_letters.c): letter forms, half-spaces, joined suffixes. */
void mx_persian_letters(const struct mx_text_points *in, struct mx_text_points *out, struct mx_text_report *report);
/* The phonemes of a clause (persian_phonemes.c); see internal.h. */
void mx_persian_spell(int cleaner, const char *clause, void (*ask)(const char *text, struct mx_text_sink *out),
                      struct mx_text_sink *out);

/* A word of a clause, on its way to be marked. */
struct mx_persian_mark {
    const char *written; /* in the clause */
    size_t written_length;
    char text[MX_WORD_BYTES + 8]; /* without vowel signs */
    size_t length;
    uint32_t kinds;     /* persian_words.h */
    bool marked;        /* it has vowel signs and stays as it is */
    bool ezafe;         /* it gets one */
    bool silent_he;     /* the ezafe follows a silent he */
    const char *vowels; /* the word with its vowels; NULL: it stays as it is */
};
/* Marks ezafe and homographs of a clause (internal.h) that have no vowel signs yet (persian_ezafe.c). */
void mx_persian_mark_clause(const char *clause, struct mx_text_sink *out);
/* How word i of a clause is read here, with vowel signs; NULL: as usual (persian_homographs.c). */
const char *mx_persian_homograph(const struct mx_persian_mark *words, size_t count, size_t i);

/* Number words (persian_number.c), written as separate words. `ending` is appended to the last one. */
void mx_persian_cardinal(struct mx_text_sink *sink, uint64_t value); /* below 10^18 */
void mx_persian_ordinal(struct mx_text_sink *sink, uint64_t value, const char *ending);
void mx_persian_digits(struct mx_text_sink *sink, const char *digits); /* one by one */
void mx_persian_numeral(struct mx_text_sink *sink, const struct mx_text_numeral *numeral);

/* Numbers in context (persian_amount.c); the next point is a digit, or "." before one. */
void mx_persian_read_number(struct mx_text_scan *scan);
const char *mx_persian_currency(uint32_t point); /* the word for a currency sign, NULL for other points */
bool mx_persian_try_prefixed(struct mx_text_scan *scan, const char *word); /* a sign, then a number: "$5", "%5" */

#endif
