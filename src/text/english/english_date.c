/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * English dates, times of day and fractions; see english.h. Only the sink allocates memory.
 */
#include <string.h>

#include "text/english/english.h"

static const char *const months[] = {"january", "february", "march",     "april",   "may",      "june",
                                     "july",    "august",   "september", "october", "november", "december"};
/* With a full stop or before a day; "sept" beside "sep". */
static const struct {
    const char *text;
    unsigned month;
} short_months[] = {{"jan", 1}, {"feb", 2}, {"mar", 3},  {"apr", 4},  {"jun", 6},  {"jul", 7},
                    {"aug", 8}, {"sep", 9}, {"sept", 9}, {"oct", 10}, {"nov", 11}, {"dec", 12}};
static const char *const weekdays[] = {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"};

/* The month whose full name stands `ahead` places on, with a capital; 0 if there is none. */
static unsigned month_at(const struct mx_text_scan *scan, size_t ahead)
{
    if (!mx_text_is_upper(mx_text_peek(scan, ahead))) return 0;
    for (unsigned i = 0; i < 12; i++) {
        if (mx_text_word_is(scan, ahead, months[i])) return i + 1;
    }
    return 0;
}

static unsigned short_month_at(const struct mx_text_scan *scan, size_t ahead, size_t *length)
{
    if (!mx_text_is_upper(mx_text_peek(scan, ahead))) return 0;
    for (size_t i = 0; i < sizeof short_months / sizeof *short_months; i++) {
        if (mx_text_word_is(scan, ahead, short_months[i].text)) {
            *length = strlen(short_months[i].text);
            return short_months[i].month;
        }
    }
    return 0;
}

bool mx_english_is_calendar_word(const struct mx_text_scan *scan, size_t ahead)
{
    for (size_t i = 0; i < 7; i++) {
        if (mx_text_word_is(scan, ahead, weekdays[i])) return true;
    }
    return month_at(scan, ahead) != 0;
}

static void write_date(struct mx_english *english, unsigned year, unsigned month, unsigned day, size_t length)
{
    struct mx_text_sink *sink = english->scan->sink;
    mx_text_sink_word(sink, months[month - 1]);
    mx_english_ordinal(sink, day, false);
    mx_text_sink_mark(sink, ',');
    mx_english_year(sink, year);
    mx_english_number_done(english, length);
}

static bool is_date(unsigned month, unsigned day)
{
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/* A sign that would make what was read a part of something longer. */
static bool goes_on(const struct mx_text_scan *scan, size_t ahead)
{
    const uint32_t next = mx_text_peek(scan, ahead);
    if (mx_text_is_digit(next)) return true;
    return (next == '/' || next == '-' || next == '.' || next == ':') &&
           mx_text_is_digit(mx_text_peek(scan, ahead + 1));
}

bool mx_english_try_date(struct mx_english *english)
{
    const struct mx_text_scan *scan = english->scan;
    unsigned a, b, c;
    size_t first = mx_text_numeral_small(scan, 0, 1, 4, &a);
    const uint32_t sign = mx_text_peek(scan, first);
    if (first == 0 || (sign != '/' && sign != '-')) return false;
    const size_t second = mx_text_numeral_small(scan, first + 1, 1, 2, &b);
    if (second == 0 || mx_text_peek(scan, first + 1 + second) != sign) return false;
    const size_t third = mx_text_numeral_small(scan, first + second + 2, 1, 4, &c);
    const size_t length = first + second + third + 2;
    if (third == 0 || goes_on(scan, length)) return false;
    if (first == 4 && third <= 2 && a > 0 && is_date(b, c)) { /* 1999-01-03, 1999/1/3 */
        write_date(english, a, b, c, length);
        return true;
    }
    if (first > 2 || (third != 4 && third != 2) || (sign == '-' && third != 4)) return false;
    if (third == 2) c += c >= 50 ? 1900 : 2000;
    if (c == 0) return false;
    if (is_date(a, b)) { /* 12/25/1999 */
        write_date(english, c, a, b, length);
        return true;
    }
    if (is_date(b, a)) { /* 25/12/1999 */
        write_date(english, c, b, a, length);
        return true;
    }
    return false;
}

/* "st", "nd", "rd" or "th" `ahead` places on, ending a word. */
static bool ordinal_ending(const struct mx_text_scan *scan, size_t ahead)
{
    return mx_text_word_is(scan, ahead, "st") || mx_text_word_is(scan, ahead, "nd") ||
           mx_text_word_is(scan, ahead, "rd") || mx_text_word_is(scan, ahead, "th");
}

bool mx_english_try_day_month(struct mx_english *english)
{
    const struct mx_text_scan *scan = english->scan;
    unsigned day;
    size_t length = mx_text_numeral_small(scan, 0, 1, 2, &day), short_length;
    if (length == 0 || day < 1 || day > 31) return false;
    if (ordinal_ending(scan, length)) length += 2;
    if (mx_text_peek(scan, length) != ' ') return false;
    length++;
    unsigned month = month_at(scan, length);
    if (month) {
        length += strlen(months[month - 1]);
    } else {
        month = short_month_at(scan, length, &short_length);
        if (!month) return false;
        length += short_length;
        if (mx_text_peek(scan, length) == '.') length++;
    }
    struct mx_text_sink *sink = scan->sink;
    if (strcmp(english->previous, "the")) mx_text_sink_word(sink, "the");
    mx_english_ordinal(sink, day, false);
    mx_text_sink_word(sink, "of");
    mx_text_sink_word(sink, months[month - 1]);
    mx_english_number_done(english, length);
    return true;
}

bool mx_english_try_month(struct mx_english *english)
{
    const struct mx_text_scan *scan = english->scan;
    size_t length = 0, day_length;
    unsigned month = month_at(scan, 0), day;
    bool stop = false;
    if (month) {
        length = strlen(months[month - 1]);
    } else {
        month = short_month_at(scan, 0, &length);
        if (!month) return false;
        stop = mx_text_peek(scan, length) == '.';
        length += stop;
    }
    const size_t gap = mx_text_peek(scan, length) == ' ';
    day_length = mx_text_numeral_small(scan, length + gap, 1, 2, &day);
    /* "March 5" is a day; "March 5%" or "May 5:30" is not. */
    const bool has_day = day_length > 0 && day >= 1 && day <= 31 && gap && !goes_on(scan, length + 1 + day_length) &&
                         mx_text_peek(scan, length + 1 + day_length) != '%' &&
                         mx_text_peek(scan, length + 1 + day_length) != ':';
    const bool before_digit = gap && mx_text_is_digit(mx_text_peek(scan, length + 1));
    if (!has_day && !stop && !before_digit) return false;
    struct mx_text_sink *sink = scan->sink;
    mx_text_sink_word(sink, months[month - 1]);
    if (!has_day) {
        english->scan->at += length;
        if (stop && mx_english_sentence_ends(scan)) mx_text_sink_mark(sink, '.');
        strcpy(english->previous, months[month - 1]);
        return true;
    }
    length += 1 + day_length;
    if (ordinal_ending(scan, length)) length += 2;
    mx_english_ordinal(sink, day, false);
    mx_english_number_done(english, length);
    return true;
}

/* "am", "p.m." … `ahead` places on, with or without a space before it: how many points, 0 if there is none. */
static size_t half_day(const struct mx_text_scan *scan, size_t ahead, const char **letters)
{
    const size_t start = ahead;
    if (mx_text_peek(scan, ahead) == ' ') ahead++;
    const uint32_t half = mx_text_peek(scan, ahead) | 0x20;
    if (half != 'a' && half != 'p') return 0;
    *letters = half == 'a' ? "am" : "pm";
    if (mx_text_peek(scan, ahead + 1) == '.') {
        if ((mx_text_peek(scan, ahead + 2) | 0x20) != 'm' || mx_text_is_letter(mx_text_peek(scan, ahead + 3))) return 0;
        return ahead + 3 + (mx_text_peek(scan, ahead + 3) == '.') - start;
    }
    return mx_text_word_is(scan, ahead, *letters) ? ahead + 2 - start : 0;
}

/* Writes the half of the day that was found before `at`, and a full stop if its own ends the sentence. */
static void write_half_day(struct mx_english *english, const char *letters)
{
    mx_english_spell(english->scan, letters);
    if (mx_text_before(english->scan) == '.' && mx_english_sentence_ends(english->scan)) {
        mx_text_sink_mark(english->scan->sink, '.');
        english->sentence_start = true;
    }
}

bool mx_english_try_time(struct mx_english *english)
{
    const struct mx_text_scan *scan = english->scan;
    struct mx_text_sink *sink = scan->sink;
    const char *half;
    unsigned hour, minute, second;
    size_t length = mx_text_numeral_small(scan, 0, 1, 2, &hour), more;
    if (length == 0) return false;
    if (mx_text_peek(scan, length) != ':') { /* 5 pm */
        more = half_day(scan, length, &half);
        if (more == 0 || hour < 1 || hour > 12) return false;
        mx_english_cardinal(sink, hour);
        mx_english_number_done(english, length + more);
        write_half_day(english, half);
        return true;
    }
    if (hour > 24 || mx_text_numeral_small(scan, length + 1, 2, 2, &minute) == 0 || minute > 59) return false;
    length += 3;
    const bool seconds =
        mx_text_peek(scan, length) == ':' && mx_text_numeral_small(scan, length + 1, 2, 2, &second) && second < 60;
    if (seconds) length += 3;
    if (goes_on(scan, length)) return false;
    more = half_day(scan, length, &half);
    mx_english_cardinal(sink, hour);
    if (minute > 0 || seconds) {
        if (minute < 10) mx_text_sink_word(sink, minute ? "oh" : "zero");
        if (minute > 0) {
            mx_english_cardinal(sink, minute);
        } else {
            mx_text_sink_word(sink, "zero");
        }
    } else if (more == 0) {
        mx_text_sink_word(sink, hour >= 1 && hour <= 12 ? "o'clock" : "hundred");
    }
    if (seconds) {
        mx_text_sink_word(sink, "and");
        mx_english_cardinal(sink, second);
        mx_text_sink_word(sink, second == 1 ? "second" : "seconds");
    }
    mx_english_number_done(english, length + more);
    if (more) write_half_day(english, half);
    return true;
}

/* a/b: the words; `mixed` after a whole number ("and a half"). */
static void write_fraction(struct mx_text_sink *sink, unsigned above, unsigned below, bool mixed)
{
    if (mixed && above == 1 && (below == 2 || below == 4)) {
        mx_text_sink_word(sink, "a");
    } else {
        mx_english_cardinal(sink, above);
    }
    if (below == 2) {
        mx_text_sink_word(sink, above == 1 ? "half" : "halves");
    } else if (below == 4) {
        mx_text_sink_word(sink, above == 1 ? "quarter" : "quarters");
    } else {
        mx_english_ordinal(sink, below, above != 1);
    }
}

/* "a/b" `ahead` places further on: its number of points, or 0 if it is not a fraction. */
static size_t fraction_at(const struct mx_text_scan *scan, size_t ahead, unsigned *above, unsigned *below)
{
    const size_t first = mx_text_numeral_small(scan, ahead, 1, 3, above);
    if (first == 0 || mx_text_peek(scan, ahead + first) != '/') return 0;
    const size_t second = mx_text_numeral_small(scan, ahead + first + 1, 1, 4, below);
    if (second == 0 || goes_on(scan, ahead + first + 1 + second)) return 0;
    return *above >= 1 && *below >= 2 ? first + 1 + second : 0;
}

bool mx_english_try_fraction(struct mx_english *english)
{
    const struct mx_text_scan *scan = english->scan;
    struct mx_text_sink *sink = scan->sink;
    unsigned whole, above, below;
    if (mx_text_before(scan) == '/') return false;
    size_t length = fraction_at(scan, 0, &above, &below);
    if (length > 0) {
        if ((above == 24 && below == 7) || (above == 9 && below == 11)) { /* sayings, not fractions */
            mx_english_cardinal(sink, above);
            mx_english_cardinal(sink, below);
        } else {
            write_fraction(sink, above, below, false);
        }
        mx_english_number_done(english, length);
        return true;
    }
    const size_t first = mx_text_numeral_small(scan, 0, 1, 6, &whole);
    if (first == 0 || mx_text_peek(scan, first) != ' ') return false;
    length = fraction_at(scan, first + 1, &above, &below);
    if (length == 0 || above >= below) return false;
    mx_english_cardinal(sink, whole);
    mx_text_sink_word(sink, "and");
    write_fraction(sink, above, below, true);
    mx_english_number_done(english, first + 1 + length);
    return true;
}
