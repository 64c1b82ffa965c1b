/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What ICU knows about languages: numbers as words, plurals, units, currencies, names of months and days.
 *
 * The only file that includes ICU's headers is icu.c. A build without ICU has these functions, too: mx_icu_ready is
 * false there with one message, and it is not tried again.
 *
 * Memory: what is opened for a language stays open until the process ends; results are written to the caller's buffers.
 * All functions may run in several threads.
 */
#ifndef MX_TEXT_ICU_H
#define MX_TEXT_ICU_H

#include <stdbool.h>
#include <stddef.h>

#include "text/language.h"

#define MX_ICU_WORDS 512 /* bytes that are enough for any result */

/* Plural categories of CLDR, in its order. */
enum mx_icu_plural { MX_ICU_ZERO, MX_ICU_ONE, MX_ICU_TWO, MX_ICU_FEW, MX_ICU_MANY, MX_ICU_OTHER };

enum mx_icu_name {
    MX_ICU_MONTH,       /* inside a date: Russian "января" */
    MX_ICU_MONTH_ALONE, /* "январь" */
    MX_ICU_MONTH_SHORT,
    MX_ICU_MONTH_SHORT_ALONE,
    MX_ICU_DAY,       /* of the week; 0 is Sunday */
    MX_ICU_DAY_SHORT, /* "Sun" */
    MX_ICU_NAMES
};

/* Whether this build has ICU. The first call in a build without it logs what that means. */
bool mx_icu_ready(void);

/* Words for a number, written with 0–9 and perhaps "-" and ".", by a rule set of the language's rules for words: "cardinal",
 * "ordinal-feminine", "numbering-year" (%spellout-…). False: the language has no such rule set, or none for such a number. */
bool mx_icu_number(enum mx_language_id language, const char *rules, const char *digits, char out[MX_ICU_WORDS]);
enum mx_icu_plural mx_icu_plural(enum mx_language_id language, const char *digits);
/* The name of a unit ("kilogram", "kilometer-per-hour") or of a currency ("USD") in the form for this number. */
bool mx_icu_unit(enum mx_language_id language, const char *unit, const char *digits, char out[MX_ICU_WORDS]);
bool mx_icu_currency(enum mx_language_id language, const char *code, const char *digits, char out[MX_ICU_WORDS]);
/* The grammatical gender of a unit, "feminine" for example; false: the language has none. */
bool mx_icu_unit_gender(enum mx_language_id language, const char *unit, char out[MX_ICU_WORDS]);
/* The name of a character in Unicode, in small letters. */
bool mx_icu_point_name(uint32_t point, char out[MX_ICU_WORDS]);
/* Name `index` (from 0) of a month or day as CLDR writes it; NULL: there is none. Valid until the process ends. `calendar`
 * is NULL for the Gregorian one, or "persian". */
const char *mx_icu_name(enum mx_language_id language, const char *calendar, enum mx_icu_name kind, size_t index);

#endif
