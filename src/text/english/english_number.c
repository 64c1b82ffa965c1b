/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * English number words: cardinals, ordinals, years, decades, digits. American usage: no "and" inside a number.
 *
 * Memory: words are built in buffers on the stack; the longest (eighteen nines) needs 242 bytes.
 */
#include <string.h>

#include "text/english/english.h"

static const char *const below_twenty[] = {
    "zero", "one",    "two",    "three",    "four",     "five",    "six",     "seven",     "eight",    "nine",
    "ten",  "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
static const char *const tens[] = {"",      "",      "twenty",  "thirty", "forty",
                                   "fifty", "sixty", "seventy", "eighty", "ninety"};
static const char *const scales[] = {"", "thousand", "million", "billion", "trillion", "quadrillion"};

static void add_below_hundred(struct mx_text_words *words, unsigned value, const char *separator)
{
    if (value < 20) {
        mx_text_words_add(words, separator, below_twenty[value]);
    } else {
        mx_text_words_add(words, separator, tens[value / 10]);
        if (value % 10) mx_text_words_add(words, "-", below_twenty[value % 10]);
    }
}

static void add_cardinal(struct mx_text_words *words, uint64_t value)
{
    if (value == 0) mx_text_words_add(words, " ", below_twenty[0]);
    uint64_t unit = 1000000000000000u;
    for (int scale = 5; scale >= 0; scale--, unit /= 1000) {
        const unsigned group = (unsigned)(value / unit % 1000);
        if (group == 0) continue;
        if (group >= 100) {
            mx_text_words_add(words, " ", below_twenty[group / 100]);
            mx_text_words_add(words, " ", "hundred");
        }
        if (group % 100) add_below_hundred(words, group % 100, " ");
        if (scale > 0) mx_text_words_add(words, " ", scales[scale]);
    }
}

/* Replaces the last `cut` letters by `ending`. */
static void end_with(struct mx_text_words *words, size_t cut, const char *ending)
{
    words->length -= cut;
    words->text[words->length] = 0;
    mx_text_words_add(words, "", ending);
}

/* The last word of a cardinal becomes an ordinal. */
static void make_ordinal(struct mx_text_words *words)
{
    static const char *const irregular[][2] = {{"one", "first"},     {"two", "second"},   {"three", "third"},
                                               {"five", "fifth"},    {"eight", "eighth"}, {"nine", "ninth"},
                                               {"twelve", "twelfth"}};
    for (size_t i = 0; i < sizeof irregular / sizeof *irregular; i++) {
        if (mx_text_words_end_in(words, irregular[i][0])) {
            end_with(words, strlen(irregular[i][0]), irregular[i][1]);
            return;
        }
    }
    if (mx_text_words_end_in(words, "y")) {
        end_with(words, 1, "ieth");
    } else {
        end_with(words, 0, "th");
    }
}

static void make_plural(struct mx_text_words *words)
{
    if (mx_text_words_end_in(words, "y")) {
        end_with(words, 1, "ies");
    } else if (mx_text_words_end_in(words, "x")) {
        end_with(words, 0, "es");
    } else {
        end_with(words, 0, "s");
    }
}

static void add_year(struct mx_text_words *words, unsigned year)
{
    const unsigned century = year / 100, rest = year % 100;
    if (year < 1000 || (century % 10 == 0 && rest < 10)) { /* 476, 2000 … 2009; 2010 is twenty ten */
        add_cardinal(words, year);
        return;
    }
    add_below_hundred(words, century, " ");
    if (rest == 0) {
        mx_text_words_add(words, " ", "hundred");
    } else {
        if (rest < 10) mx_text_words_add(words, " ", "oh");
        add_below_hundred(words, rest, " ");
    }
}

void mx_english_cardinal(struct mx_text_sink *sink, uint64_t value)
{
    struct mx_text_words words = {.length = 0};
    add_cardinal(&words, value);
    mx_text_sink_word(sink, words.text);
}

void mx_english_ordinal(struct mx_text_sink *sink, uint64_t value, bool plural)
{
    struct mx_text_words words = {.length = 0};
    add_cardinal(&words, value);
    make_ordinal(&words);
    if (plural) make_plural(&words);
    mx_text_sink_word(sink, words.text);
}

void mx_english_year(struct mx_text_sink *sink, unsigned year)
{
    struct mx_text_words words = {.length = 0};
    add_year(&words, year);
    mx_text_sink_word(sink, words.text);
}

void mx_english_decade(struct mx_text_sink *sink, unsigned year)
{
    struct mx_text_words words = {.length = 0};
    if (year < 100) {
        add_below_hundred(&words, year, " ");
    } else {
        add_year(&words, year);
    }
    make_plural(&words);
    mx_text_sink_word(sink, words.text);
}

void mx_english_digits(struct mx_text_sink *sink, const char *digits)
{
    for (; *digits; digits++) mx_text_sink_word(sink, below_twenty[*digits - '0']);
}

void mx_english_numeral(struct mx_text_sink *sink, const struct mx_text_numeral *numeral)
{
    const bool counted = numeral->whole[0] != '0' || !numeral->whole[1];
    if (numeral->whole[0] && counted) {
        mx_english_cardinal(sink, mx_text_numeral_value(numeral->whole));
    } else {
        mx_english_digits(sink, numeral->whole); /* 007, or nothing before the point */
    }
    if (numeral->fraction[0]) {
        mx_text_sink_word(sink, "point");
        mx_english_digits(sink, numeral->fraction);
    }
}

void mx_english_number_done(struct mx_english *english, size_t length)
{
    english->scan->at += length;
    english->scan->report->numbers_read++;
    english->previous[0] = 0;
    english->previous_capital = false;
    english->sentence_start = false;
}
