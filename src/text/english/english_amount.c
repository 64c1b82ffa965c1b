/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * English numbers in context: money, units, percentages, ordinals, decades, telephone numbers, ranges; see english.h.
 * Only the sink allocates memory.
 */
#include <string.h>

#include "text/english/english.h"

static const struct {
    uint32_t sign;
    const char *one, *many, *cent, *cents;
} currencies[] = {{'$', "dollar", "dollars", "cent", "cents"},
                  {0xa3, "pound", "pounds", "penny", "pence"},
                  {0x20ac, "euro", "euros", "cent", "cents"},
                  {0xa5, "yen", "yen", "sen", "sen"},
                  {0x20b9, "rupee", "rupees", "paisa", "paise"}};

static const struct {
    const char *text, *word;
} money_scales[] = {{"thousand", "thousand"}, {"million", "million"}, {"billion", "billion"}, {"trillion", "trillion"},
                    {"k", "thousand"},        {"m", "million"},       {"mn", "million"},      {"b", "billion"},
                    {"bn", "billion"},        {"tn", "trillion"}};

/* Units after a number. Those with one letter, and pairs that differ in case only, are taken as written; the others in
 * any case. Longer ones stand before those they begin with. */
static const struct {
    const char *text;
    bool exact;
    const char *one, *many;
} units[] = {{"km/h", false, "kilometer per hour", "kilometers per hour"},
             {"kph", false, "kilometer per hour", "kilometers per hour"},
             {"m/s", false, "meter per second", "meters per second"},
             {"mph", false, "mile per hour", "miles per hour"},
             {"km", false, "kilometer", "kilometers"},
             {"cm", false, "centimeter", "centimeters"},
             {"mm", false, "millimeter", "millimeters"},
             {"m", true, "meter", "meters"},
             {"kg", false, "kilogram", "kilograms"},
             {"mg", false, "milligram", "milligrams"},
             {"g", true, "gram", "grams"},
             {"lbs", false, "pound", "pounds"},
             {"lb", false, "pound", "pounds"},
             {"oz", false, "ounce", "ounces"},
             {"ft", false, "foot", "feet"},
             {"yd", false, "yard", "yards"},
             {"mi", true, "mile", "miles"},
             {"ml", false, "milliliter", "milliliters"},
             {"cl", false, "centiliter", "centiliters"},
             {"l", true, "liter", "liters"},
             {"L", true, "liter", "liters"},
             {"kHz", false, "kilohertz", "kilohertz"},
             {"MHz", false, "megahertz", "megahertz"},
             {"GHz", false, "gigahertz", "gigahertz"},
             {"Hz", false, "hertz", "hertz"},
             {"kB", false, "kilobyte", "kilobytes"},
             {"MB", false, "megabyte", "megabytes"},
             {"GB", false, "gigabyte", "gigabytes"},
             {"TB", false, "terabyte", "terabytes"},
             {"kWh", false, "kilowatt hour", "kilowatt hours"},
             {"kW", false, "kilowatt", "kilowatts"},
             {"MW", true, "megawatt", "megawatts"},
             {"mW", true, "milliwatt", "milliwatts"},
             {"W", true, "watt", "watts"},
             {"V", true, "volt", "volts"},
             {"dB", false, "decibel", "decibels"},
             {"hrs", false, "hour", "hours"},
             {"hr", false, "hour", "hours"},
             {"h", true, "hour", "hours"},
             {"mins", false, "minute", "minutes"},
             {"min", true, "minute", "minutes"},
             {"secs", false, "second", "seconds"},
             {"sec", true, "second", "seconds"},
             {"ms", true, "millisecond", "milliseconds"},
             {"USD", true, "u s dollar", "u s dollars"},
             {"EUR", true, "euro", "euros"},
             {"GBP", true, "british pound", "british pounds"}};

static bool is_one(const struct mx_text_numeral *numeral)
{
    return !strcmp(numeral->whole, "1") && !numeral->fraction[0];
}

/* ---- money ---- */

static size_t currency_index(uint32_t point)
{
    size_t i = 0;
    while (i < sizeof currencies / sizeof *currencies && currencies[i].sign != point) i++;
    return i;
}

bool mx_english_is_currency(uint32_t point)
{
    return currency_index(point) < sizeof currencies / sizeof *currencies;
}

bool mx_english_try_money(struct mx_english *english)
{
    const struct mx_text_scan *scan = english->scan;
    struct mx_text_sink *sink = scan->sink;
    const size_t index = currency_index(mx_text_peek(scan, 0));
    const size_t gap = 1 + (mx_text_peek(scan, 1) == ' ');
    struct mx_text_numeral amount;
    mx_text_numeral_read(scan, gap, &amount);
    if (amount.length == 0) return false;
    size_t length = gap + amount.length;
    const size_t space = mx_text_peek(scan, length) == ' ';
    for (size_t i = 0; i < sizeof money_scales / sizeof *money_scales; i++) {
        /* The short ones stand at the number: "$5 m" is not clear, "$5m" is. */
        if ((space && strlen(money_scales[i].text) <= 2) ||
            !mx_text_word_is(scan, length + space, money_scales[i].text))
            continue;
        mx_english_numeral(sink, &amount);
        mx_text_sink_word(sink, money_scales[i].word);
        mx_text_sink_word(sink, currencies[index].many);
        mx_english_number_done(english, length + space + strlen(money_scales[i].text));
        return true;
    }
    if (strlen(amount.fraction) == 2) {
        const uint64_t whole = mx_text_numeral_value(amount.whole), cents = mx_text_numeral_value(amount.fraction);
        if (whole > 0 || cents == 0) {
            mx_english_cardinal(sink, whole);
            mx_text_sink_word(sink, whole == 1 ? currencies[index].one : currencies[index].many);
            if (cents > 0) mx_text_sink_word(sink, "and");
        }
        if (cents > 0) {
            mx_english_cardinal(sink, cents);
            mx_text_sink_word(sink, cents == 1 ? currencies[index].cent : currencies[index].cents);
        }
    } else {
        mx_english_numeral(sink, &amount);
        mx_text_sink_word(sink, is_one(&amount) ? currencies[index].one : currencies[index].many);
    }
    mx_english_number_done(english, length);
    return true;
}

/* ---- telephone numbers ---- */

/* Groups of digits that make a number one would dial; 'd' is a digit, ' ' a space, full stop or hyphen. Longest first.
 */
static const char *const phone_shapes[] = {"+d (ddd) ddd dddd", "+d ddd ddd dddd", "d ddd ddd dddd", "(ddd) ddd dddd",
                                           "(ddd)ddd dddd",     "ddd ddd dddd",    "ddd-dddd"};

static size_t phone_shape_at(const struct mx_text_scan *scan, const char *shape)
{
    size_t i = 0;
    for (; shape[i]; i++) {
        const uint32_t point = mx_text_peek(scan, i);
        const bool fits = shape[i] == 'd'   ? mx_text_is_digit(point)
                          : shape[i] == ' ' ? point == '-' || point == '.' || point == ' '
                                            : point == (uint32_t)(unsigned char)shape[i];
        if (!fits) return 0;
    }
    const uint32_t next = mx_text_peek(scan, i);
    if (mx_text_is_digit(next) || mx_text_is_letter(next)) return 0;
    return (next == '-' || next == '.' || next == ',') && mx_text_is_digit(mx_text_peek(scan, i + 1)) ? 0 : i;
}

/* "+" with 7 to 15 digits in groups: an international number. */
static size_t international_at(const struct mx_text_scan *scan)
{
    size_t digits = 0, at = 1;
    if (mx_text_peek(scan, 0) != '+') return 0;
    for (; digits <= 15; at++) {
        const uint32_t point = mx_text_peek(scan, at);
        if (mx_text_is_digit(point)) {
            digits++;
        } else if ((point != ' ' && point != '-') || !mx_text_is_digit(mx_text_peek(scan, at + 1)) || digits == 0) {
            break;
        }
    }
    return digits >= 7 && digits <= 15 ? at : 0;
}

bool mx_english_try_phone(struct mx_english *english)
{
    const struct mx_text_scan *scan = english->scan;
    struct mx_text_sink *sink = scan->sink;
    size_t length = 0;
    for (size_t i = 0; length == 0 && i < sizeof phone_shapes / sizeof *phone_shapes; i++) {
        length = phone_shape_at(scan, phone_shapes[i]);
    }
    if (length == 0) length = international_at(scan);
    if (length == 0) return false;
    bool group_ended = false;
    for (size_t i = 0; i < length; i++) {
        const uint32_t point = mx_text_peek(scan, i);
        if (point == '+') {
            mx_text_sink_word(sink, "plus");
        } else if (mx_text_is_digit(point)) {
            if (group_ended) mx_text_sink_mark(sink, ',');
            group_ended = false;
            mx_english_digits(sink, (char[]){(char)point, 0});
        } else if (i > 0) {
            group_ended = true;
        }
    }
    mx_english_number_done(english, length);
    return true;
}

/* ---- what may follow a number ---- */

/* The unit `ahead` places on (a space allowed before it): its words, with how many points it takes; NULL: none. */
static const char *unit_at(const struct mx_text_scan *scan, size_t ahead, bool one, size_t *length)
{
    const size_t space = mx_text_peek(scan, ahead) == ' ';
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const char *text = units[i].text;
        size_t n = 0;
        for (; text[n]; n++) {
            uint32_t point = mx_text_peek(scan, ahead + space + n), wanted = (uint32_t)(unsigned char)text[n];
            if (!units[i].exact && mx_text_is_letter(point) && point < 0x80) {
                point |= 0x20;
                wanted |= 0x20;
            }
            if (point != wanted) break;
        }
        const uint32_t next = mx_text_peek(scan, ahead + space + n);
        if (text[n] || mx_text_is_letter(next) || mx_text_is_digit(next)) continue;
        if (next == '\'' || (next == '-' && mx_text_is_letter(mx_text_peek(scan, ahead + space + n + 1)))) continue;
        *length = space + n;
        return one ? units[i].one : units[i].many;
    }
    return NULL;
}

static bool try_unit(struct mx_english *english, const struct mx_text_numeral *numeral)
{
    const struct mx_text_scan *scan = english->scan;
    struct mx_text_sink *sink = scan->sink;
    size_t length = numeral->length, more;
    const size_t space = mx_text_peek(scan, length) == ' ';
    const uint32_t sign = mx_text_peek(scan, length + space);
    if (sign == '%') {
        mx_english_numeral(sink, numeral);
        mx_text_sink_word(sink, "percent");
        mx_english_number_done(english, length + space + 1);
        return true;
    }
    if (sign == 0xa2 && !space) { /* ¢ */
        mx_english_numeral(sink, numeral);
        mx_text_sink_word(sink, is_one(numeral) ? "cent" : "cents");
        mx_english_number_done(english, length + 1);
        return true;
    }
    if (sign == 0xb0) { /* ° */
        length += space + 1;
        mx_english_numeral(sink, numeral);
        mx_text_sink_word(sink, is_one(numeral) ? "degree" : "degrees");
        const size_t gap = mx_text_peek(scan, length) == ' ';
        const uint32_t scale = mx_text_peek(scan, length + gap);
        if ((scale == 'C' || scale == 'F') && !mx_text_is_letter(mx_text_peek(scan, length + gap + 1))) {
            mx_text_sink_word(sink, scale == 'C' ? "celsius" : "fahrenheit");
            length += gap + 1;
        }
        mx_english_number_done(english, length);
        return true;
    }
    const char *words = unit_at(scan, length, is_one(numeral), &more);
    if (!words) return false;
    length += more;
    const uint32_t power = mx_text_peek(scan, length);
    mx_english_numeral(sink, numeral);
    if (power == 0xb2 || power == 0xb3) { /* ² ³ */
        mx_text_sink_word(sink, power == 0xb2 ? "square" : "cubic");
        length++;
    }
    mx_text_sink_word(sink, words);
    mx_english_number_done(english, length);
    return true;
}

/* 1990s, 90s, 1990's. */
static bool try_decade(struct mx_english *english, const struct mx_text_numeral *numeral)
{
    const struct mx_text_scan *scan = english->scan;
    const size_t apostrophe = mx_text_peek(scan, numeral->length) == '\'';
    const size_t digits = strlen(numeral->whole);
    if (numeral->grouped || numeral->fraction[0] || (digits != 2 && digits != 4) || numeral->whole[0] == '0')
        return false;
    if (numeral->whole[digits - 1] != '0' || mx_text_peek(scan, numeral->length + apostrophe) != 's') return false;
    if (!mx_text_word_is(scan, numeral->length + apostrophe, "s")) return false;
    const unsigned year = (unsigned)mx_text_numeral_value(numeral->whole);
    if (year < 20) return false;
    mx_english_decade(scan->sink, year);
    mx_english_number_done(english, numeral->length + apostrophe + 1);
    return true;
}

static bool try_ordinal(struct mx_english *english, const struct mx_text_numeral *numeral)
{
    static const char *const endings[] = {"st", "nd", "rd", "th"};
    if (numeral->fraction[0] || !numeral->whole[0]) return false;
    for (size_t i = 0; i < 4; i++) {
        const bool one = mx_text_word_is(english->scan, numeral->length, endings[i]);
        const char plural[] = {endings[i][0], endings[i][1], 's', 0}; /* "nine 10ths" */
        if (!one && !mx_text_word_is(english->scan, numeral->length, plural)) continue;
        mx_english_ordinal(english->scan->sink, mx_text_numeral_value(numeral->whole), !one);
        mx_english_number_done(english, numeral->length + (one ? 2 : 3));
        return true;
    }
    return false;
}

/* 10.0.0.1, version 1.2.3: more than one point. */
static bool try_dotted(struct mx_english *english)
{
    const struct mx_text_scan *scan = english->scan;
    size_t length = 0, groups = 0, digits;
    unsigned value;
    while ((digits = mx_text_numeral_small(scan, length, 1, 6, &value)) > 0) {
        groups++;
        length += digits;
        if (mx_text_peek(scan, length) != '.' || !mx_text_is_digit(mx_text_peek(scan, length + 1))) break;
        length++;
        if (groups == 8) return false;
    }
    if (digits == 0 || groups < 3) return false;
    for (size_t at = 0; at < length; at += digits + 1) {
        digits = mx_text_numeral_small(scan, at, 1, 6, &value);
        if (at > 0) mx_text_sink_word(scan->sink, "point");
        mx_english_cardinal(scan->sink, value);
    }
    mx_english_number_done(english, length);
    return true;
}

static bool reads_as_year(const struct mx_english *english, const struct mx_text_numeral *numeral)
{
    static const char *const openers[] = {"in", "since", "year", "until", "from", "by", "before", "after"};
    if (strlen(numeral->whole) != 4 || numeral->grouped || numeral->fraction[0]) return false;
    const unsigned year = (unsigned)mx_text_numeral_value(numeral->whole);
    if (year >= 1100 && year <= 2099) return true;
    for (size_t i = 0; i < sizeof openers / sizeof *openers; i++) {
        if (year >= 1000 && year < 1100 && !strcmp(english->previous, openers[i])) return true;
    }
    return false;
}

void mx_english_read_number(struct mx_english *english)
{
    struct mx_text_scan *scan = english->scan;
    struct mx_text_sink *sink = scan->sink;
    if (mx_english_try_phone(english) || mx_english_try_date(english) || mx_english_try_time(english) ||
        mx_english_try_fraction(english) || mx_english_try_day_month(english) || try_dotted(english)) {
        return;
    }
    struct mx_text_numeral numeral;
    mx_text_numeral_read(scan, 0, &numeral);
    if (numeral.length == 0) { /* more digits than anyone would say as one number */
        mx_english_number_done(english, mx_text_numeral_spell(scan, "point", mx_english_digits));
        return;
    }
    if (try_ordinal(english, &numeral) || try_decade(english, &numeral) || try_unit(english, &numeral)) return;
    if (reads_as_year(english, &numeral)) {
        mx_english_year(sink, (unsigned)mx_text_numeral_value(numeral.whole));
    } else {
        mx_english_numeral(sink, &numeral);
    }
    mx_english_number_done(english, numeral.length);
}
