/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Persian numbers in context: dates, times, money, units, percentages, ordinals, fractions, ranges; see persian.h. Only
 * the sink allocates memory.
 *
 * Where a date is written in digits only, the words for it carry the ezafe (kasra) that a reader would say.
 */
#include <string.h>

#include "text/persian/persian.h"

#define KASRA_UTF8 "ِ"

static const char *const solar_months[] = {"فروردین", "اردیبهشت", "خرداد", "تیر", "مرداد", "شهریور",
                                           "مهر",     "آبان",     "آذر",   "دی",  "بهمن",  "اسفند"};
static const char *const western_months[] = {"ژانویه", "فوریه", "مارس",    "آوریل", "مه",     "ژوئن",
                                             "ژوئیه",  "اوت",   "سپتامبر", "اکتبر", "نوامبر", "دسامبر"};

static const struct {
    uint32_t sign;
    const char *word;
} currencies[] = {{'$', "دلار"}, {0x20ac, "یورو"}, {0xa3, "پوند"}, {0xa5, "ین"}};

static const struct {
    const char *text, *words;
} units[] = {{"km/h", "کیلومتر بر ساعت"},
             {"km", "کیلومتر"},
             {"cm", "سانتی‌متر"},
             {"mm", "میلی‌متر"},
             {"m", "متر"},
             {"kg", "کیلوگرم"},
             {"g", "گرم"},
             {"mg", "میلی‌گرم"},
             {"ml", "میلی‌لیتر"},
             {"l", "لیتر"},
             {"mb", "مگابایت"},
             {"gb", "گیگابایت"},
             {"tb", "ترابایت"},
             {"hz", "هرتز"},
             {"khz", "کیلوهرتز"},
             {"mhz", "مگاهرتز"},
             {"ghz", "گیگاهرتز"}};

static void done(struct mx_text_scan *scan, size_t length)
{
    scan->at += length;
    scan->report->numbers_read++;
}

const char *mx_persian_currency(uint32_t point)
{
    for (size_t i = 0; i < sizeof currencies / sizeof *currencies; i++) {
        if (currencies[i].sign == point) return currencies[i].word;
    }
    return NULL;
}

bool mx_persian_try_prefixed(struct mx_text_scan *scan, const char *word)
{
    struct mx_text_numeral numeral;
    const size_t gap = 1 + (mx_text_peek(scan, 1) == ' ');
    mx_text_numeral_read(scan, gap, &numeral);
    if (numeral.length == 0) return false;
    mx_persian_numeral(scan->sink, &numeral);
    mx_text_sink_word(scan->sink, word);
    done(scan, gap + numeral.length);
    return true;
}

static bool goes_on(const struct mx_text_scan *scan, size_t ahead)
{
    const uint32_t next = mx_text_peek(scan, ahead);
    if (mx_text_is_digit(next)) return true;
    return (next == '/' || next == '-' || next == '.' || next == ':') &&
           mx_text_is_digit(mx_text_peek(scan, ahead + 1));
}

/* The month with the ezafe that joins it to its year. */
static void write_month_of(struct mx_text_sink *sink, const char *month)
{
    mx_text_sink_blank(sink);
    mx_text_sink_put(sink, month);
    const bool silent_he = !strcmp(month, "ژانویه") || !strcmp(month, "فوریه") || !strcmp(month, "ژوئیه");
    mx_text_sink_put(sink, silent_he ? "\u200cی" : KASRA_UTF8);
    mx_text_sink_blank(sink);
}

static bool is_solar_year(unsigned year)
{
    return year >= 1200 && year < 1500;
}

static bool is_western_year(unsigned year)
{
    return year >= 1500 && year < 2200;
}

/* ۱۴۰۳/۰۵/۱۲, ۱۲/۵/۱۴۰۳, 1999-01-03. */
static bool try_date(struct mx_text_scan *scan)
{
    unsigned year, month, day;
    const size_t first = mx_text_numeral_small(scan, 0, 1, 4, &year);
    const uint32_t sign = mx_text_peek(scan, first);
    if (first == 0 || (sign != '/' && sign != '-')) return false;
    const size_t second = mx_text_numeral_small(scan, first + 1, 1, 2, &month);
    if (second == 0 || mx_text_peek(scan, first + 1 + second) != sign) return false;
    const size_t third = mx_text_numeral_small(scan, first + second + 2, 1, 4, &day);
    const size_t length = first + second + third + 2;
    if (third == 0 || goes_on(scan, length)) return false;
    if (third == 4 && first <= 2) {
        const unsigned swap = year;
        year = day;
        day = swap;
    } else if (first != 4 || third > 2) {
        return false;
    }
    if (month < 1 || month > 12 || day < 1 || day > 31 || !(is_solar_year(year) || is_western_year(year))) return false;
    mx_persian_ordinal(scan->sink, day, KASRA_UTF8);
    write_month_of(scan->sink, (is_solar_year(year) ? solar_months : western_months)[month - 1]);
    mx_persian_cardinal(scan->sink, year);
    done(scan, length);
    return true;
}

/* ۱۲ مرداد, ۱۲ مرداد ۱۴۰۳. */
static bool try_day_month(struct mx_text_scan *scan)
{
    unsigned day, year;
    size_t length = mx_text_numeral_small(scan, 0, 1, 2, &day);
    if (length == 0 || day < 1 || day > 31 || mx_text_peek(scan, length) != ' ') return false;
    const uint32_t *word = scan->points + scan->at + length + 1;
    const size_t word_length = mx_persian_word_length(word, scan->count - scan->at - length - 1);
    const char *month = NULL;
    for (size_t i = 0; i < 12 && !month; i++) {
        if (mx_persian_word_is(word, word_length, solar_months[i])) month = solar_months[i];
        if (mx_persian_word_is(word, word_length, western_months[i])) month = western_months[i];
    }
    if (!month) return false;
    length += 1 + word_length;
    mx_persian_ordinal(scan->sink, day, KASRA_UTF8);
    const bool has_year = mx_text_peek(scan, length) == ' ' && mx_text_numeral_small(scan, length + 1, 4, 4, &year) &&
                          (is_solar_year(year) || is_western_year(year)) && !goes_on(scan, length + 5);
    if (has_year) {
        write_month_of(scan->sink, month);
        mx_persian_cardinal(scan->sink, year);
        length += 5;
    } else {
        mx_text_sink_word(scan->sink, month);
    }
    done(scan, length);
    return true;
}

static bool try_time(struct mx_text_scan *scan)
{
    unsigned hour, minute, second;
    size_t length = mx_text_numeral_small(scan, 0, 1, 2, &hour);
    if (length == 0 || hour > 24 || mx_text_peek(scan, length) != ':') return false;
    if (mx_text_numeral_small(scan, length + 1, 2, 2, &minute) == 0 || minute > 59) return false;
    length += 3;
    const bool seconds =
        mx_text_peek(scan, length) == ':' && mx_text_numeral_small(scan, length + 1, 2, 2, &second) && second < 60;
    if (seconds) length += 3;
    if (goes_on(scan, length)) return false;
    mx_persian_cardinal(scan->sink, hour);
    if (minute > 0) {
        mx_text_sink_word(scan->sink, "و");
        mx_persian_cardinal(scan->sink, minute);
        mx_text_sink_word(scan->sink, "دقیقه");
    }
    if (seconds && second > 0) {
        mx_text_sink_word(scan->sink, "و");
        mx_persian_cardinal(scan->sink, second);
        mx_text_sink_word(scan->sink, "ثانیه");
    }
    done(scan, length);
    return true;
}

/* A number that is dialled: it begins with 0 or + and has at least five digits, perhaps with hyphens between groups. */
static bool try_phone(struct mx_text_scan *scan)
{
    const size_t plus = mx_text_peek(scan, 0) == '+';
    size_t length = plus, digits = 0;
    if (!plus && mx_text_peek(scan, 0) != '0') return false;
    for (;; length++) {
        const uint32_t point = mx_text_peek(scan, length);
        if (mx_text_is_digit(point)) {
            digits++;
        } else if (point != '-' || digits == 0 || !mx_text_is_digit(mx_text_peek(scan, length + 1))) {
            break;
        }
    }
    if (digits < 5) return false;
    if (plus) mx_text_sink_word(scan->sink, "مثبت");
    for (size_t i = plus; i < length; i++) {
        const uint32_t point = mx_text_peek(scan, i);
        if (point == '-') {
            mx_text_sink_mark(scan->sink, ',');
        } else {
            mx_persian_digits(scan->sink, (char[]){(char)point, 0});
        }
    }
    done(scan, length);
    return true;
}

/* Whether «درصد», a per cent sign or a scale follows: then a slash was a decimal sign. */
static bool amount_follows(const struct mx_text_scan *scan, size_t ahead)
{
    static const char *const words[] = {"درصد",    "هزار", "میلیون",  "میلیارد", "متر",
                                        "کیلومتر", "کیلو", "کیلوگرم", "درجه"};
    if (mx_text_peek(scan, ahead) == ' ') ahead++;
    if (mx_text_peek(scan, ahead) == '%') return true;
    if (ahead >= scan->count - scan->at) return false;
    const uint32_t *word = scan->points + scan->at + ahead;
    const size_t length = mx_persian_word_length(word, scan->count - scan->at - ahead);
    for (size_t i = 0; length > 0 && i < sizeof words / sizeof *words; i++) {
        if (mx_persian_word_is(word, length, words[i])) return true;
    }
    return false;
}

/* "a/b" `ahead` places further on: its number of points, or 0 if it is not a fraction. */
static size_t slash_at(const struct mx_text_scan *scan, size_t ahead, unsigned *above, unsigned *below)
{
    const size_t first = mx_text_numeral_small(scan, ahead, 1, 6, above);
    if (first == 0 || mx_text_peek(scan, ahead + first) != '/') return 0;
    const size_t second = mx_text_numeral_small(scan, ahead + first + 1, 1, 4, below);
    return second == 0 || goes_on(scan, ahead + first + 1 + second) ? 0 : first + 1 + second;
}

/* ۱/۲ is a fraction; ۲/۵ and ۱/۵ درصد are decimals, for which many write a slash. After a whole number and a space
 * (۳ ۱/۲) it is always a fraction. */
static bool try_slash(struct mx_text_scan *scan)
{
    unsigned whole, above, below;
    struct mx_text_sink *sink = scan->sink;
    size_t length = slash_at(scan, 0, &above, &below);
    if (length > 0) {
        if (above >= 1 && above < below && below <= 100 && !amount_follows(scan, length)) {
            mx_persian_cardinal(sink, above);
            mx_persian_ordinal(sink, below, "");
            done(scan, length);
            return true;
        }
        struct mx_text_numeral decimal = {.length = length};
        size_t slash = 0;
        while (slash < 6 && mx_text_peek(scan, slash) != '/') {
            decimal.whole[slash] = (char)mx_text_peek(scan, slash);
            slash++;
        }
        for (size_t i = 0; i < 4 && slash + 1 + i < length; i++) {
            decimal.fraction[i] = (char)mx_text_peek(scan, slash + 1 + i);
        }
        mx_persian_numeral(sink, &decimal);
        scan->at += length;
        return true;
    }
    const size_t first = mx_text_numeral_small(scan, 0, 1, 6, &whole);
    if (first == 0 || mx_text_peek(scan, first) != ' ') return false;
    length = slash_at(scan, first + 1, &above, &below);
    if (length == 0 || above < 1 || above >= below) return false;
    mx_persian_cardinal(sink, whole);
    mx_text_sink_word(sink, "و");
    if (above == 1 && below == 2) {
        mx_text_sink_word(sink, "نیم");
    } else {
        mx_persian_cardinal(sink, above);
        mx_persian_ordinal(sink, below, "");
    }
    done(scan, first + 1 + length);
    return true;
}

/* ۳م, ۳ام, ۳ ام, ۳مین, ۳امین. */
static bool try_ordinal(struct mx_text_scan *scan, const struct mx_text_numeral *numeral)
{
    const size_t space = mx_text_peek(scan, numeral->length) == ' ', start = numeral->length + space;
    if (numeral->fraction[0] || !numeral->whole[0] || start >= scan->count - scan->at) return false;
    const uint32_t *word = scan->points + scan->at + start;
    const size_t length = mx_persian_word_length(word, scan->count - scan->at - start);
    const bool inner = mx_persian_word_is(word, length, "امین") || (!space && mx_persian_word_is(word, length, "مین"));
    const bool final = mx_persian_word_is(word, length, "ام") || (!space && mx_persian_word_is(word, length, "م"));
    if (!inner && !final) return false;
    const bool ezafe = length > 0 && word[length - 1] == MX_KASRA;
    mx_persian_ordinal(scan->sink, mx_text_numeral_value(numeral->whole), inner ? "ین" : ezafe ? KASRA_UTF8 : "");
    done(scan, start + length);
    return true;
}

/* What may follow a number: ٪ ° $ km. Writes it and returns its points. */
static size_t write_unit(struct mx_text_scan *scan, size_t ahead)
{
    struct mx_text_sink *sink = scan->sink;
    const size_t space = mx_text_peek(scan, ahead) == ' ';
    const uint32_t sign = mx_text_peek(scan, ahead + space);
    if (sign == '%') {
        mx_text_sink_word(sink, "درصد");
        return space + 1;
    }
    if (mx_persian_currency(sign) && !mx_text_is_digit(mx_text_peek(scan, ahead + space + 1))) {
        mx_text_sink_word(sink, mx_persian_currency(sign));
        return space + 1;
    }
    if (sign == 0xb0) { /* ° */
        const uint32_t scale = mx_text_peek(scan, ahead + space + 1) | 0x20;
        if ((scale == 'c' || scale == 'f') && !mx_text_is_letter(mx_text_peek(scan, ahead + space + 2))) {
            mx_text_sink_word(sink,
                              scale == 'c' ? "درجه‌ی سانتی‌گراد" : "درجه‌ی فارنهایت");
            return space + 2;
        }
        mx_text_sink_word(sink, "درجه");
        return space + 1;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!mx_text_word_is(scan, ahead + space, units[i].text)) continue;
        const size_t length = strlen(units[i].text);
        const uint32_t next = mx_text_peek(scan, ahead + space + length);
        if (mx_text_is_digit(next) || next == '-') continue;
        mx_text_sink_word(sink, units[i].words);
        return space + length;
    }
    return 0;
}

void mx_persian_read_number(struct mx_text_scan *scan)
{
    struct mx_text_sink *sink = scan->sink;
    if (try_date(scan) || try_time(scan) || try_phone(scan) || try_day_month(scan)) return;
    if (try_slash(scan)) {
        scan->at += write_unit(scan, 0);
        return;
    }
    if (mx_text_peek(scan, 0) == '+') {
        mx_text_sink_word(sink, "مثبت");
        scan->at++;
        return;
    }
    struct mx_text_numeral numeral;
    mx_text_numeral_read(scan, 0, &numeral);
    if (numeral.length == 0) { /* more digits than anyone would say as one number */
        done(scan, mx_text_numeral_spell(scan, "ممیز", mx_persian_digits));
        return;
    }
    if (try_ordinal(scan, &numeral)) return;
    mx_persian_numeral(sink, &numeral);
    done(scan, numeral.length + write_unit(scan, numeral.length));
}
