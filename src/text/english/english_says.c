/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the rows of English ask and say beyond templates: dates, times, fractions, numbers; see english_forms.h. Streets
 * are in english_address.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/english/english_forms.h"

/* ---- numbers ---- */

/* American words, with "and" before the last two digits: one thousand two hundred and one, but one hundred thousand. */
static bool cardinal_words(const struct mx_form_match *match, const char *digits, char out[MX_ICU_WORDS])
{
    static const char *const beyond[] = {"quintillion", "sextillion", "septillion", "octillion", "nonillion"};
    char part[24], more[MX_ICU_WORDS];
    const size_t length = strlen(digits);
    size_t used = 0, at = 0;
    if (length > 18 + 3 * sizeof beyond / sizeof *beyond || strspn(digits, "0123456789") != length) return false;
    out[0] = 0;
    for (size_t left = length; left > 18; left = length - at) {
        const size_t group = (left - 1) % 3 + 1;
        (void)snprintf(part, sizeof part, "%.*s", (int)group, digits + at);
        at += group;
        if (atoi(part) == 0) continue;
        if (!mx_icu_number(match->id, "cardinal", part, more)) return false;
        used += (size_t)snprintf(out + used, MX_ICU_WORDS - used, "%s%s %s", used > 0 ? " " : "", more,
                                 beyond[(left - 1) / 3 - 6]);
        if (used + 300 > MX_ICU_WORDS) return false; /* the rest has at most 250 bytes */
    }
    const unsigned long long rest = strtoull(digits + at, NULL, 10), last = rest % 100;
    if (rest == 0 && used > 0) return true;
    if (rest > 100 && last > 0) {
        (void)snprintf(part, sizeof part, "%llu", rest - last);
        if (!mx_icu_number(match->id, "cardinal", part, more)) return false;
        used += (size_t)snprintf(out + used, MX_ICU_WORDS - used, "%s%s and", used > 0 ? " " : "", more);
    }
    (void)snprintf(part, sizeof part, "%llu", rest > 100 && last > 0 ? last : rest);
    if (!mx_icu_number(match->id, "cardinal", part, more)) return false;
    (void)snprintf(out + used, MX_ICU_WORDS - used, "%s%s", used > 0 ? " " : "", more);
    return true;
}

/* "pairs": 1428 is fourteen twenty-eight, 708 seven oh eight, 12345 digits. */
static bool pair_words(const struct mx_form_match *match, const char *digits, char out[MX_ICU_WORDS])
{
    char first[MX_ICU_WORDS], second[MX_ICU_WORDS], head[8];
    const size_t length = strlen(digits);
    if (length < 3 || length > 4 || digits[0] == '0' || !strcmp(digits + length - 2, "00"))
        return length <= 4 && mx_icu_number(match->id, "numbering-year", digits, out);
    (void)snprintf(head, sizeof head, "%.*s", (int)(length - 2), digits);
    if (!mx_icu_number(match->id, "cardinal", head, first) ||
        !mx_icu_number(match->id, "cardinal", digits + length - (digits[length - 2] == '0' ? 1 : 2), second))
        return false;
    (void)snprintf(out, MX_ICU_WORDS, "%.60s %s%.60s", first, digits[length - 2] == '0' ? "oh " : "", second);
    return true;
}

bool mx_english_number(const struct mx_form_match *match, const char *rules, const char *digits, char out[MX_ICU_WORDS])
{
    if (!strcmp(rules, "cardinal")) return cardinal_words(match, digits, out);
    if (!strcmp(rules, "pairs")) return pair_words(match, digits, out);
    return !strcmp(rules, "plain") && mx_icu_number(match->id, "cardinal", digits, out);
}

void mx_english_ordinal_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    static const char *const endings[] = {"th", "st", "nd", "rd"};
    const unsigned value = mx_form_value_of(match, "w") % 100, last = value >= 11 && value <= 13 ? 0 : value % 10;
    const char *const right = endings[last < 4 ? last : 0];
    mx_form_spoken(
        match, strcmp(mx_form_capture(match, "ending")->item->written, right) ? "{w} {ending}" : "{w:ordinal}", out);
}

/* Years after "est." and "c.", and only those. */
bool mx_english_is_numbered(const struct mx_form_match *match)
{
    const char *const words = mx_form_capture(match, "numbered")->item->spoken;
    const bool dated = !strcmp(words, "circa") || !strcmp(words, "established");
    return dated == (mx_form_capture(match, "year") != NULL);
}

/* ---- fractions ---- */

bool mx_english_is_fraction(const struct mx_form_match *match)
{
    const uint32_t before = match->begin > 0 ? match->points[match->begin - 1] : 0;
    return before != '/' && mx_form_value_of(match, "i") > 0 && mx_form_value_of(match, "i2") > 1;
}

void mx_english_fraction_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    const unsigned above = mx_form_value_of(match, "i"), below = mx_form_value_of(match, "i2");
    const bool mixed = mx_form_capture(match, "w") != NULL, unit = mx_form_capture(match, "unit") != NULL;
    if ((above == 24 && below == 7) || (above == 9 && below == 11)) { /* sayings */
        mx_form_spoken(match, "{i} {i2}", out);
        return;
    }
    if (mixed) mx_form_spoken(match, "{w} and", out);
    if (mixed && above == 1 && (below == 2 || below == 4))
        mx_form_put(out, "a");
    else
        mx_form_value_put(match, "plain", above, out);
    if (below == 2) {
        mx_form_put(out, above == 1 ? "half" : "halves");
    } else if (below == 4) {
        mx_form_put(out, above == 1 ? "quarter" : "quarters");
    } else {
        mx_form_value_put(match, "ordinal", below, out);
        if (above != 1) mx_text_points_push(out, 's');
    }
    if (unit) mx_form_spoken(match, mixed ? "{unit:many}" : "of a {unit:one}", out);
}

/* ---- dates ---- */

bool mx_english_is_month(const struct mx_form_match *match)
{
    const struct mx_form_capture *const month = mx_form_capture(match, "month");
    const uint32_t after = mx_form_point(match, match->end);
    if (after == '%' || after == ':') return false;
    const bool verb = month->value == 2 || month->value == 4 || month->length == 3; /* march, may, sun, mar */
    return !verb || mx_text_is_upper(match->points[month->at]) || mx_form_capture(match, "year") != NULL;
}

bool mx_english_after_the(const struct mx_form_match *match)
{
    char before[MX_FORM_WORD];
    mx_form_word_before(match, 0, before);
    return !strcmp(before, "the");
}

bool mx_english_month_first(const struct mx_form_match *match)
{
    return match->id == MX_LANGUAGE_EN || match->id == MX_LANGUAGE_EN_NYC || mx_form_value_of(match, "day") > 12;
}

void mx_english_date_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    const bool day_first = match->captures[0].name[0] == 'd' && mx_form_value_of(match, "day") > 0;
    mx_form_spoken(match, day_first ? "the {day:ordinal} of {mon:name}" : "{mon:name} {day:ordinal}", out);
    if (!day_first) mx_form_mark(out, ',');
    mx_form_value_put(match, "numbering-year", mx_form_year_value(match), out);
}

/* Only tens, and not "the 5th's". */
bool mx_english_is_decade(const struct mx_form_match *match)
{
    for (size_t i = 0; i < match->captured; i++) {
        const unsigned value = mx_form_value(match, &match->captures[i]);
        if (value % 10 != 0 || value < 10 || (value > 100 && (value < 1100 || value >= 2200))) return false;
    }
    return true;
}

void mx_english_decade_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    const uint32_t first = match->points[match->begin];
    if (first == 'm' || first == 'M') mx_form_put(out, "mid");
    for (size_t i = 0; i < match->captured; i++) {
        if (i > 0) mx_form_put(out, "to");
        mx_form_value_put(match, "numbering-year", mx_form_value(match, &match->captures[i]), out);
        const uint32_t last = out->count > 0 ? out->data[out->count - 1] : 0;
        if (last == 'y') out->count--;
        mx_form_put(out, "");
        while (out->count > 0 && out->data[out->count - 1] == ' ') out->count--;
        for (const char *c = last == 'y' ? "ies" : "s"; *c != 0; c++) mx_text_points_push(out, (uint32_t)*c);
    }
}

/* Whether a number is a year: 1100 to 2099 unless something is counted, and 1000 to 1099 after words that say so. */
bool mx_english_is_year(const struct mx_form_match *match)
{
    static const char *const openers[] = {"in",   "since",  "year",  "until", "from",   "by",
                                          "till", "before", "after", "circa", "during", "of"};
    static const char *const counted[] = {"people", "men",   "women", "children", "feet",
                                          "sheep",  "times", "years", "percent"};
    static const char *const verbs[] = {"was", "is",   "has",    "as",    "its", "his",  "this", "plus",  "versus",
                                        "saw", "sees", "brings", "marks", "us",  "does", "thus", "across"};
    char before[MX_FORM_WORD], after[MX_FORM_WORD];
    const unsigned year = mx_form_value_of(match, "year");
    mx_form_word_before(match, 0, before);
    mx_form_word_after(match, 0, after);
    if (year < 1100) return year > 1000 && MX_FORM_LISTED(openers, before);
    if (year >= 2100) return false;
    const size_t length = strlen(after);
    const bool plural = length > 3 && after[length - 1] == 's' && after[length - 2] != 's' &&
                        !MX_FORM_LISTED(verbs, after) && !mx_text_is_upper(mx_form_point(match, match->end + 1));
    return MX_FORM_LISTED(openers, before) || !(plural || MX_FORM_LISTED(counted, after));
}

/* ---- times ---- */

bool mx_english_is_hour(const struct mx_form_match *match)
{
    const unsigned hour = mx_form_value_of(match, "hour"), other = mx_form_value_of(match, "hour2");
    return hour >= 1 && hour <= 12 && other <= 12;
}

/* One time of day; `half` and `zone` are those of the form, if they belong to it. */
static void clock_verbalise(const struct mx_form_match *match, const char *hour, const char *min, const char *half,
                            struct mx_text_points *out)
{
    const struct mx_form_capture *const minutes = mx_form_capture(match, min);
    const unsigned h = mx_form_value_of(match, hour), m = minutes == NULL ? 0 : mx_form_value(match, minutes);
    const bool halved = mx_form_capture(match, half) != NULL;
    mx_form_value_put(match, "plain", h, out);
    if (m > 0 && m < 10) mx_form_put(out, "oh");
    if (m > 0)
        mx_form_value_put(match, "plain", m, out);
    else if (minutes != NULL && !halved)
        mx_form_put(out, h >= 1 && h <= 12 ? "o'clock" : "hundred");
    if (halved) mx_form_spoken(match, half[4] == '2' ? "{half2}" : "{half}", out);
}

void mx_english_time_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    clock_verbalise(match, "hour", "min", "half", out);
    if (mx_form_capture(match, "hour2") != NULL) {
        mx_form_put(out, "to");
        clock_verbalise(match, "hour2", "min2", "half2", out);
    }
    mx_form_spoken(match, "({zone})", out);
}

void mx_english_duration_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    static const char *const units[] = {"hour", "minute", "second"};
    static const char *const names[] = {"hour", "min", "min2"};
    for (size_t i = 0; i < 3; i++) {
        const unsigned value = mx_form_value_of(match, names[i]);
        if (i > 0 && value == 0) continue;
        if (i == 2) mx_form_put(out, "and");
        mx_form_value_put(match, "plain", value, out);
        mx_form_put(out, units[i]);
        if (value != 1) mx_text_points_push(out, 's');
    }
}

/* ---- powers ---- */

/* 10⁻³ is ten to the minus third. */
void mx_english_power_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    bool minus;
    const unsigned exponent = mx_form_power(match, &minus);
    mx_form_spoken(match, "{n}( times {n2}) to the", out);
    if (minus) mx_form_put(out, "minus");
    mx_form_value_put(match, "ordinal", exponent, out);
}
