/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/text/english: the state of reading one English text, and its parts.
 *
 * A function called mx_english_try_… looks at the next points; it either writes their words, advances and returns true,
 * or changes nothing and returns false. Only the sink allocates memory.
 */
#ifndef MX_TEXT_ENGLISH_H
#define MX_TEXT_ENGLISH_H

#include "text/internal.h"

#define MX_ENGLISH_WORD 24 /* longer words are in no table */

struct mx_english {
    struct mx_text_scan *scan;
    bool shouting;                  /* the whole text is in capitals: capitals mean nothing */
    char previous[MX_ENGLISH_WORD]; /* the last word as written, in lower case; "" after a number or a long word */
    bool previous_capital;          /* it began with a capital */
    bool previous_first;            /* it began a sentence */
    bool sentence_start;            /* no word since the last . ! or ? */
};

/* Number words (english_number.c), written to the sink as separate words. */
void mx_english_cardinal(struct mx_text_sink *sink, uint64_t value); /* below 10^18 */
void mx_english_ordinal(struct mx_text_sink *sink, uint64_t value, bool plural);
void mx_english_year(struct mx_text_sink *sink, unsigned year);                            /* 1 … 9999 */
void mx_english_decade(struct mx_text_sink *sink, unsigned year);                          /* a multiple of ten */
void mx_english_digits(struct mx_text_sink *sink, const char *digits);                     /* one by one */
void mx_english_numeral(struct mx_text_sink *sink, const struct mx_text_numeral *numeral); /* as an amount */
void mx_english_number_done(struct mx_english *english, size_t length); /* moves on by `length` points */

/* Numbers in context (english_amount.c); the next point is a digit, or "." before a digit. */
void mx_english_read_number(struct mx_english *english);
bool mx_english_try_money(struct mx_english *english); /* the next point is a currency sign */
bool mx_english_try_phone(struct mx_english *english); /* +, ( or a digit */
bool mx_english_is_currency(uint32_t point);

/* Dates, times, fractions (english_date.c). */
bool mx_english_try_date(struct mx_english *english);                            /* all in digits */
bool mx_english_try_day_month(struct mx_english *english);                       /* 3 March */
bool mx_english_try_month(struct mx_english *english);                           /* March 3, Jan. */
bool mx_english_try_time(struct mx_english *english);                            /* 5:30 pm, 5 pm */
bool mx_english_try_fraction(struct mx_english *english);                        /* 1/2, 3 1/2 */
bool mx_english_is_calendar_word(const struct mx_text_scan *scan, size_t ahead); /* a month or a day of the week */

/* Letters and numerals that stand alone (english_letter.c). */
bool mx_english_is_letter_a(const struct mx_english *english); /* the next word is "A" or "a", and not the article */
/* Whether the next word, in small letters and as many of them capitals, is a Roman numeral wherever it stands. */
bool mx_english_is_numeral(const struct mx_english *english, const char *lower, size_t length, size_t capitals);

/* Words (english_word.c); the next point is a letter. */
void mx_english_read_word(struct mx_english *english);
void mx_english_spell(const struct mx_text_scan *scan, const char *letters); /* ASCII letters, each by its name */
/* After an abbreviation with a full stop: whether that also ends the sentence. */
bool mx_english_sentence_ends(const struct mx_text_scan *scan);

#endif
