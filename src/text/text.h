/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Turns written text into text as it is spoken.
 *
 * mx_text_normalise returns Unicode NFC in which the only punctuation is , . ! ? ; : - whatever marks a language
 * writes. Each is followed by one space (" - " is a pause between words; inside a word - and ' are part of the word).
 * So . ! or ? before a space ends a sentence in every language.
 *
 * In English and Persian, numbers, dates, money, abbreviations and symbols become words. In English, spelled letters stand
 * alone in lower case, and a spelled "a" becomes "ay" because "a" is the article. Persian has Persian letter forms, short
 * vowels as given, and ZWNJ between the parts of a word; Latin words in it are not changed. Every other language keeps its
 * own letters; numbers and signs such as % are kept as written, because espeak-ng reads them (plain.c). Capitals stay,
 * except in a text that has no small letters; the article "A" and languages with ı are in lower case. The symbols of
 * characters (tokens.h) are always in lower case.
 *
 * Memory: results are pieces of the caller's arena. Nothing here keeps state; all functions may run in several threads.
 */
#ifndef MX_TEXT_TEXT_H
#define MX_TEXT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"
#include "text/language.h"

/* Part of the hash of every corpus: raise it whenever the same input gives another output. A voice keeps reading by the
 * rules that it was trained with (reading.h), so what a version said must stay possible.
 *     1
 *     2  English: letters and Roman numerals that stand alone. Persian: ezafe and homographs
 *     3  capitals stay, so that espeak-ng tells names and acronyms from words, and "I" from "i"
 *     4  written forms (dates, money, measures, addresses …) by the grammar of forms.h, with ICU's words for numbers;
 *        English homographs by their sentences (homographs.h) */
#define MX_TEXT_CLEANER_VERSION 4

/* The longest text that is accepted in one piece; a sentence has some hundred bytes. */
#define MX_TEXT_LIMIT_BYTES ((size_t)64 << 20)

/* Counts of what was found; they accumulate, so one report can serve a whole corpus. */
struct mx_text_report {
    size_t controls_dropped; /* control and invisible format characters */
    size_t symbols_dropped;  /* pictures, unknown signs, combining marks without a base */
    size_t foreign_letters;  /* letters of a script that is not the language's own; kept */
    size_t numbers_read;     /* numbers, dates, times, amounts turned into words */
};

/* MX_ERR_DATA for invalid UTF-8 (naming the byte offset), for a zero byte and for a text beyond the limit: what the
 * functions below refuse, too. */
int mx_text_check(const char *text, size_t length);

/* The language whose script most letters of the text belong to (most digits, if there are no letters); for equal counts
 * the first in the list. Of several languages with one script it is the first in the list, and only scripts with
 * `detected` are considered: English, Persian and Russian can be found. MX_ERR_DATA if the text has no such letter or
 * digit, or the text is not UTF-8 (naming the byte offset). */
int mx_text_detect(const char *text, size_t length, enum mx_language_id *out);

/* *out is zero-terminated; it is "" if nothing in the text can be spoken. MX_ERR_DATA for invalid UTF-8 (naming the
 * byte offset) and for a zero byte. `report` may be NULL. Time is linear in `length`. */
int mx_text_normalise(enum mx_language_id language, const char *text, size_t length, struct mx_arena *arena, char **out,
                      struct mx_text_report *report);

/* Whether the full stop after this word does not end a sentence: "Dr", "Mr" and other English abbreviations that stand
 * before a name; before a digit also "No", "Fig" and the like. */
bool mx_text_abbreviation(const char *word, size_t length, bool digit_follows);
/* Abbreviation i of the language, in small letters and without its full stop, and what it means wherever it stands;
 * false: there are no more. Those that mean something only before a number are not among them. */
bool mx_text_abbreviation_at(enum mx_language_id language, size_t i, const char **abbreviation, const char **meaning);

#endif
