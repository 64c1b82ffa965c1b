/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Text that is to be read in a certain way, whatever the cleaner would make of it: letter by letter, as a telephone
 * number, as a date in a given order. The result is text that the cleaner of the language reads in that way wherever it
 * stands.
 *
 *     characters, spell-out, verbatim   each letter, digit and sign by its name
 *     digits                            each digit by its name, the rest as usual
 *     cardinal, number                  1999 is an amount, not a year
 *     ordinal                           3 is third (English, Persian)
 *     date                              digits in the order of `format`: mdy, dmy, ymd or ydm (English, Persian);
 *                                       without a format as usual
 *     time                              17.45 and 17h45 are 17:45
 *     telephone                         each digit by its name, a comma between groups
 *     fraction, unit, currency          as usual: the cleaners know them
 *
 * Memory: the result is a piece of the caller's arena.
 */
#ifndef MX_TEXT_SAY_AS_H
#define MX_TEXT_SAY_AS_H

#include "text/text.h"

/* `kind` is one of the names above, `format` may be NULL, `text` is valid UTF-8. 1: *out is the text to read; 0: the
 * language cannot read this text so, or there is no such kind, and *out is NULL; negative: failed. */
int mx_text_say_as(enum mx_language_id language, const char *kind, const char *format, const char *text, size_t length,
                   struct mx_arena *arena, char **out);

#endif
