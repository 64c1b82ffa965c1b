/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Persian number words: cardinals joined by «و», ordinals, decimals with «ممیز», digits.
 *
 * 10^12 is «هزار میلیارد», as it is said in Iran, where «بیلیون» and «تریلیون» mean different things to different
 * people.
 *
 * Memory: words are built in buffers on the stack; the longest (eighteen nines) needs 369 bytes.
 */
#include <string.h>

#include "text/persian/persian.h"

static const char *const below_twenty[] = {"صفر",    "یک",     "دو",     "سه",   "چهار",  "پنج",    "شش",
                                           "هفت",    "هشت",    "نه",     "ده",   "یازده", "دوازده", "سیزده",
                                           "چهارده", "پانزده", "شانزده", "هفده", "هجده",  "نوزده"};
static const char *const tens[] = {"", "", "بیست", "سی", "چهل", "پنجاه", "شصت", "هفتاد", "هشتاد", "نود"};
static const char *const hundreds[] = {"", "صد", "دویست", "سیصد", "چهارصد", "پانصد", "ششصد", "هفتصد", "هشتصد", "نهصد"};

static void add_below_thousand(struct mx_text_words *words, unsigned value)
{
    if (value >= 100) mx_text_words_add(words, " و ", hundreds[value / 100]);
    value %= 100;
    if (value >= 20) {
        mx_text_words_add(words, " و ", tens[value / 10]);
        value %= 10;
    }
    if (value > 0) mx_text_words_add(words, " و ", below_twenty[value]);
}

/* Below 10^9; 0 adds nothing. */
static void add_below_milliard(struct mx_text_words *words, uint64_t value)
{
    const unsigned millions = (unsigned)(value / 1000000), thousands = (unsigned)(value / 1000 % 1000);
    if (millions > 0) {
        add_below_thousand(words, millions);
        mx_text_words_add(words, " ", "میلیون");
    }
    if (thousands == 1) {
        mx_text_words_add(words, " و ", "هزار"); /* not "one thousand" */
    } else if (thousands > 1) {
        add_below_thousand(words, thousands);
        mx_text_words_add(words, " ", "هزار");
    }
    add_below_thousand(words, (unsigned)(value % 1000));
}

static void add_cardinal(struct mx_text_words *words, uint64_t value)
{
    if (value == 0) mx_text_words_add(words, "", below_twenty[0]);
    if (value >= 1000000000u) {
        add_below_milliard(words, value / 1000000000u);
        mx_text_words_add(words, " ", "میلیارد");
    }
    add_below_milliard(words, value % 1000000000u);
}

void mx_persian_cardinal(struct mx_text_sink *sink, uint64_t value)
{
    struct mx_text_words words = {.length = 0};
    add_cardinal(&words, value);
    mx_text_sink_word(sink, words.text);
}

void mx_persian_ordinal(struct mx_text_sink *sink, uint64_t value, const char *ending)
{
    struct mx_text_words words = {.length = 0};
    add_cardinal(&words, value);
    if (mx_text_words_end_in(&words, "سه")) {
        words.length -= strlen("ه");
        mx_text_words_add(&words, "", "وم");
    } else if (mx_text_words_end_in(&words, "سی")) {
        mx_text_words_add(&words, "", "\u200cاُم"); /* the vowel, because without it this would be "I am thirty" */
    } else {
        mx_text_words_add(&words, "", "م");
    }
    mx_text_words_add(&words, "", ending);
    mx_text_sink_word(sink, words.text);
}

void mx_persian_digits(struct mx_text_sink *sink, const char *digits)
{
    for (; *digits; digits++) mx_text_sink_word(sink, below_twenty[*digits - '0']);
}

void mx_persian_numeral(struct mx_text_sink *sink, const struct mx_text_numeral *numeral)
{
    if (numeral->whole[0] == '0' && numeral->whole[1]) {
        mx_persian_digits(sink, numeral->whole);
    } else {
        mx_persian_cardinal(sink, mx_text_numeral_value(numeral->whole));
    }
    if (!numeral->fraction[0]) return;
    mx_text_sink_word(sink, "ممیز");
    const char *fraction = numeral->fraction;
    for (; *fraction == '0'; fraction++) mx_text_sink_word(sink, below_twenty[0]);
    if (strlen(fraction) > 3) {
        mx_persian_digits(sink, fraction);
    } else if (*fraction) {
        mx_persian_cardinal(sink, mx_text_numeral_value(fraction));
    }
}
