/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Written forms of Russian: the rows (forms.h) and what they have besides templates. Cases are in russian_number.c, the
 * lists in russian_lists.c.
 */
#include "text/languages/russian.h"

#include <stdio.h>
#include <string.h>

static void ordinal_put(const struct mx_form_match *match, const char *agreement, unsigned value,
                        struct mx_text_points *out)
{
    char rules[MX_ICU_WORDS];
    (void)snprintf(rules, sizeof rules, "ordinal-%.60s", agreement);
    mx_form_value_put(match, rules, value, out);
}

/* ---- dates and years ---- */

/* A day is in the genitive ("it was on the 5th"), unless a word before it asks for something else. */
static const char *day_agreement(const struct mx_form_match *match)
{
    static const char *const nominative[] = {"сегодня", "завтра", "вчера", "это", "наступило",
                                             "дата",    "по",     "на",    "за"};
    char before[MX_FORM_WORD];
    mx_form_word_before(match, 0, before);
    if (MX_FORM_LISTED(nominative, before)) return "neuter";
    return !strcmp(before, "к") ? "neuter-dative" : !strcmp(before, "перед") ? "neuter-ablative" : "neuter-genitive";
}

static void year_put(const struct mx_form_match *match, const char *agreement, struct mx_text_points *out)
{
    const struct mx_form_capture *const year = mx_form_capture(match, "year");
    const unsigned yy = mx_form_value_of(match, "yy");
    if (year == NULL && yy < 10) mx_form_put(out, "ноль");
    ordinal_put(match, agreement, year != NULL ? mx_form_value(match, year) : yy, out);
}

static void date_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    const char *const day = day_agreement(match);
    mx_form_spoken(match, "({weekday} )", out);
    ordinal_put(match, day, mx_form_value_of(match, "day"), out);
    if (mx_form_capture(match, "day2") != NULL) {
        mx_form_put(out, "-");
        ordinal_put(match, day, mx_form_value_of(match, "day2"), out);
    }
    mx_form_spoken(match, "({month})({mon:name})", out);
    if (mx_form_capture(match, "year") == NULL && mx_form_capture(match, "yy") == NULL) return;
    year_put(match, "masculine-genitive", out);
    if (mx_form_capture(match, "years") != NULL) mx_form_put(out, "года");
}

static bool is_day(const struct mx_form_match *match)
{
    const struct mx_form_capture *const month = mx_form_capture(match, "month");
    return month->length > 3 || match->points[month->at + month->length - 1] == '.' || month->value == 4;
}

/* The agreement that "г.", "гг.", "в." stand for here, and the word itself. */
static const char *short_agreement(const struct mx_form_match *match, bool plural)
{
    static const char *const in[] = {"в", "во", "о", "об", "на"}, *const to[] = {"к", "по"};
    char before[MX_FORM_WORD];
    mx_form_word_before(match, 0, before);
    if (MX_FORM_LISTED(in, before)) return plural ? "plural-locative" : "masculine-locative";
    if (!strcmp(before, to[0])) return plural ? "plural-dative" : "masculine-dative";
    if (!strcmp(before, to[1])) return plural ? "plural" : "masculine";
    return plural ? "plural-genitive" : "masculine-genitive";
}

struct word_form {
    const char *agreement, *word;
};

static void form_put(const struct word_form *forms, size_t count, const char *agreement, struct mx_text_points *out)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(forms[i].agreement, agreement)) {
            mx_form_put(out, forms[i].word);
            return;
        }
}

static void years_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    static const struct word_form words[] = {{"masculine", "год"},         {"masculine-genitive", "года"},
                                             {"masculine-dative", "году"}, {"masculine-locative", "году"},
                                             {"plural", "годы"},           {"plural-genitive", "годов"},
                                             {"plural-locative", "годах"}, {"plural-dative", "годам"}};
    const struct mx_form_capture *const years = mx_form_capture(match, "years"), *const second =
                                                                                     mx_form_capture(match, "year2");
    char single[MX_FORM_WORD];
    const char *agreement = years->item->spoken;
    const bool is_short = agreement[0] == '?';
    if (is_short) agreement = short_agreement(match, agreement[1] == '?');
    if (!strcmp(agreement, "masculine-locative") && !strcmp(mx_russian_case(match), "dative")) /* к 2021 году */
        agreement = "masculine-dative";
    (void)snprintf(single, sizeof single, "%s", agreement);
    if (!strncmp(agreement, "plural", 6)) /* each of several years is one */
        (void)snprintf(single, sizeof single, "masculine%s", agreement + 6);
    year_put(match, single, out);
    if (second != NULL) {
        mx_form_put(out, "-");
        ordinal_put(match, single, mx_form_value(match, second), out);
    }
    if (is_short)
        form_put(words, sizeof words / sizeof *words, agreement, out);
    else
        for (size_t i = 0; i < years->length; i++) {
            if (i == 0) mx_form_put(out, "");
            if (i == 0 && out->count > 0 && out->data[out->count - 1] != ' ') mx_text_points_push(out, ' ');
            mx_text_points_push(out, match->points[years->at + i]);
        }
}

/* с 1941 по 1945 год */
static void span_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    const struct mx_form_capture *const second = mx_form_capture(match, "year2");
    const bool until = match->points[second->at - 2] == 0x43e && match->points[second->at - 3] == 0x434; /* до */
    mx_form_put(out, "с");
    year_put(match, "masculine-genitive", out);
    mx_form_put(out, until ? "до" : "по");
    ordinal_put(match, until ? "masculine-genitive" : "masculine", mx_form_value(match, second), out);
    if (mx_form_capture(match, "years") != NULL) mx_form_put(out, until ? "года" : "год");
}

/* 24.12, both with two digits, and no version. */
static bool is_short_date(const struct mx_form_match *match)
{
    static const char *const others[] = {"версия", "версии", "версию", "python", "глава", "пункт", "раздел"};
    char before[MX_FORM_WORD];
    mx_form_word_before(match, 0, before);
    return match->end - match->begin == 5 && !MX_FORM_LISTED(others, before);
}

/* A year alone is its heading: "1937". */
static bool is_heading(const struct mx_form_match *match)
{
    const unsigned year = mx_form_value_of(match, "year");
    return match->begin == 0 && match->end == match->count && year >= 1700 && year < 2100;
}

static void heading_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    year_put(match, "masculine", out);
}

static void century_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    static const struct word_form words[] = {{"masculine", "век"},         {"masculine-genitive", "века"},
                                             {"masculine-dative", "веку"}, {"masculine-locative", "веке"},
                                             {"plural", "века"},           {"plural-genitive", "веков"},
                                             {"plural-locative", "веках"}, {"plural-dative", "векам"}};
    const struct mx_form_capture *const century = mx_form_capture(match, "century"), *const second = mx_form_capture(
                                                                                         match, "roman2");
    char single[MX_FORM_WORD];
    const char *agreement = century->item->spoken;
    const bool is_short = agreement[0] == '?';
    if (is_short) agreement = short_agreement(match, agreement[1] == '?');
    (void)snprintf(single, sizeof single, "%s", agreement);
    if (!strncmp(agreement, "plural", 6)) (void)snprintf(single, sizeof single, "masculine%s", agreement + 6);
    ordinal_put(match, single, (unsigned)mx_form_capture(match, "roman")->value, out);
    if (second != NULL) {
        mx_form_put(out, "-");
        ordinal_put(match, single, (unsigned)second->value, out);
    }
    if (is_short) {
        form_put(words, sizeof words / sizeof *words, agreement, out);
        return;
    }
    mx_text_points_push(out, ' ');
    for (size_t i = 0; i < century->length; i++) mx_text_points_push(out, match->points[century->at + i]);
}

/* ---- times ---- */

static void hour_put(const struct mx_form_match *match, const char *hour, const char *min, struct mx_text_points *out)
{
    static const struct mx_form_item hours = {"ч", "час|часа|часов", "masculine"},
                                     minutes = {"мин", "минута|минуты|минут", "feminine"};
    char digits[16];
    (void)snprintf(digits, sizeof digits, "%u", mx_form_value_of(match, hour));
    mx_form_counted(match, digits, &hours, out);
    if (mx_form_value_of(match, min) == 0) return;
    (void)snprintf(digits, sizeof digits, "%u", mx_form_value_of(match, min));
    mx_form_counted(match, digits, &minutes, out);
}

static void time_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    static const struct mx_form_item seconds = {"с", "секунда|секунды|секунд", "feminine"};
    hour_put(match, "hour", "min", out);
    if (mx_form_capture(match, "hour2") != NULL) {
        mx_form_put(out, "-");
        hour_put(match, "hour2", "min2", out);
    } else if (mx_form_capture(match, "min2") != NULL) {
        char digits[16];
        (void)snprintf(digits, sizeof digits, "%u", mx_form_value_of(match, "min2"));
        mx_form_counted(match, digits, &seconds, out);
    }
    mx_form_spoken(match, "( {zone})", out);
}

/* ---- fractions ---- */

static void fraction_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    char digits[16];
    const struct mx_form_capture *const whole = mx_form_capture(match, "w");
    const unsigned above = mx_form_value_of(match, "i"), below = mx_form_value_of(match, "i2");
    if (whole != NULL) {
        mx_form_spoken(match, "{w:cardinal-feminine}", out);
        mx_form_put(out, mx_form_value(match, whole) % 10 == 1 && mx_form_value(match, whole) % 100 != 11 ? "целая"
                                                                                                          : "целых");
    }
    char after[MX_FORM_WORD], rules[MX_FORM_WORD];
    const bool unit = mx_form_capture(match, "unit") != NULL;
    mx_form_word_after(match, 0, after);
    if (whole == NULL && above == 1 && below == 2 && (unit || after[0] != 0)) {
        mx_form_put(out, "пол");
        if (unit) mx_form_spoken(match, "{unit:few}", out);
        return;
    }
    const char *const wanted = mx_russian_case(match);
    (void)snprintf(digits, sizeof digits, "%u", above);
    (void)snprintf(rules, sizeof rules, "cardinal-feminine%s%s", wanted[0] != 0 ? "-" : "", wanted);
    mx_form_value_put(match, rules, above, out);
    (void)snprintf(rules, sizeof rules, "feminine%s%s", wanted[0] != 0 ? "-" : "", wanted);
    ordinal_put(match, mx_icu_plural(match->id, digits) == MX_ICU_ONE ? rules : "plural-genitive", below, out);
    if (mx_form_capture(match, "unit") != NULL) mx_form_spoken(match, "{unit:few}", out); /* две трети литра */
}

/* ---- others ---- */

/* "5-е издание" is neuter, "5-е" alone plural. */
static void ordinal_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    char after[MX_FORM_WORD];
    const char *agreement = mx_form_capture(match, "ending")->item->spoken;
    mx_form_word_after(match, 0, after);
    const bool neuter = mx_form_ends_in(after, "е") || mx_form_ends_in(after, "о") || mx_form_ends_in(after, "ря") ||
                        mx_form_ends_in(after, "ля") || mx_form_ends_in(after, "та") || mx_form_ends_in(after, "ая");
    if (!strcmp(agreement, "plural") && neuter) agreement = "neuter";
    if (!strcmp(agreement, "masculine-locative") && (mx_form_ends_in(after, "ом") || mx_form_ends_in(after, "ем")))
        agreement = "masculine-ablative";
    ordinal_put(match, agreement, mx_form_value_of(match, "w"), out);
}

static void power_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    bool minus;
    const unsigned exponent = mx_form_power(match, &minus);
    mx_form_spoken(match, "{n}( на {n2}) в", out);
    if (!minus && (exponent == 2 || exponent == 3)) {
        mx_form_put(out, exponent == 2 ? "квадрате" : "кубе");
        return;
    }
    if (minus) mx_form_put(out, "минус");
    ordinal_put(match, "feminine-locative", exponent, out);
    mx_form_put(out, "степени");
}

/* "г. Москва", but not the initial of "Г. Иванов" */
static bool is_before_capital(const struct mx_form_match *match)
{
    return !mx_text_is_upper(match->points[match->begin]) && mx_form_point(match, match->end) == ' ' &&
           mx_text_is_upper(mx_form_point(match, match->end + 1));
}

/* "город Казань", but "в городе Казань", "население города Казань" */
static void city_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    char before[MX_FORM_WORD];
    mx_form_word_before(match, 0, before);
    mx_form_spoken(match, before[0] == 0 ? "{city:one}" : !strcmp(before, "в") ? "{city:many}" : "{city:few}", out);
}

/* After a name: Пётр I, Екатерины II. */
static bool is_reign(const struct mx_form_match *match)
{
    size_t at = match->begin;
    while (at > 1 && mx_text_is_letter(match->points[at - 2])) at--;
    return at + 2 < match->begin && mx_text_is_upper(match->points[at - 1]);
}

static void reign_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    static const char *const men[] = {"петра",   "николая", "александра", "ивана",   "павла",   "людовика",   "карла",
                                      "генриха", "георга",  "фридриха",   "алексея", "филиппа", "вильгельма", "иоанна"};
    char name[MX_FORM_WORD];
    mx_form_word_before(match, 0, name);
    const char *agreement = "masculine";
    if (MX_FORM_LISTED(men, name))
        agreement = "masculine-genitive";
    else if (mx_form_ends_in(name, "а") || mx_form_ends_in(name, "я"))
        agreement = "feminine";
    else if (mx_form_ends_in(name, "ы") || mx_form_ends_in(name, "и"))
        agreement = "feminine-genitive";
    else if (mx_form_ends_in(name, "ом") || mx_form_ends_in(name, "ем"))
        agreement = "masculine-ablative";
    else if (mx_form_ends_in(name, "у") || mx_form_ends_in(name, "ю"))
        agreement = "masculine-dative";
    else if (mx_form_ends_in(name, "е"))
        agreement = "masculine-locative";
    ordinal_put(match, agreement, (unsigned)mx_form_capture(match, "roman")->value, out);
}

/* One row per line. */
/* clang-format off */
static const struct mx_form_row rows[] = {
    MX_FORM("telephone", NULL, .take = mx_form_phone_take, .say = mx_form_phone_verbalise),
    /* ---- dates and times ---- */
    MX_FORM("date", "{day}(-|_){month}((-|_){year}(_{years})?)?", .fits = is_day, .say = date_verbalise),
    MX_FORM("date", "{day}(-|_){month}(-|_){year}(_{years})?", .say = date_verbalise),
    MX_FORM("date", "{weekday}(,)? {day} {month}( {year}(_{years})?)?", .say = date_verbalise),
    MX_FORM("date", "{day}_~_{day2} {month}( {year}(_{years})?)?", .fits = is_day, .say = date_verbalise),
    MX_FORM("date", "{day}(/|.|-){mon}(/|.|-)({year}|{yy})(_{years})?", .say = date_verbalise),
    MX_FORM("date", "{year}(/|.|-){mon:2}(/|.|-){day:2}", .say = date_verbalise),
    MX_FORM("year", "{year}(_{years})", .say = years_verbalise),
    MX_FORM("year", "{year}_~_{year2}(_{years})", .say = years_verbalise),
    MX_FORM("year", "с {year} (по|до) {year2}(_{years})?", .say = span_verbalise),
    MX_FORM("date", "{day} числа", .spoken = "{day:ordinal-neuter-genitive} числа"),
    MX_FORM("date", "{day}.{mon}", .fits = is_short_date, .say = date_verbalise),
    MX_FORM("year", "{year}", .fits = is_heading, .say = heading_verbalise),
    MX_FORM("year", "{w}_{era}", .spoken = "{w} {era}"),
    MX_FORM("time", "{hour}:{min}( {zone})?", .say = time_verbalise),
    MX_FORM("time", "{hour}_ч(.)?_{min}_мин(.)?", .say = time_verbalise),
    MX_FORM("time", "{hour}:{min}:{min2}", .say = time_verbalise),
    MX_FORM("range", "{hour}:{min}_~_{hour2}:{min2}", .say = time_verbalise),

    /* ---- money ---- */
    MX_FORM("money", "({currency}|{code})_{n}", .say = mx_form_money_verbalise),
    MX_FORM("money", "{n}_({currency}|{code})", .say = mx_form_money_verbalise),
    MX_FORM("money", "({currency}|{code})_{n}_{scale}", .spoken = "{n} {scale} ({currency:many})({code:many})"),
    MX_FORM("money", "{n}_{scale}_({currency}|{code})", .spoken = "{n} {scale} ({currency:many})({code:many})"),
    MX_FORM("money", "{n}_({currency}|{code})_/_{unit}", .say = mx_form_money_verbalise),
    MX_FORM("money", "{n}_({currency}|{code})_/_{word}", .spoken = "за {word}", .say = mx_form_money_verbalise),
    MX_FORM("range", "{n}_({currency})?_~_{n2}_({currency2}|{code})", .spoken = "{n} - {n2} ({currency2:n2})({code:n2})"),

    /* ---- measures ---- */
    MX_FORM("measure", "{n}_{unit}", .spoken = "{n} {unit}", .fits = mx_form_is_unit),
    MX_FORM("measure", "{n} {scale} {unit}", .spoken = "{n} {scale} {unit:many}"),
    MX_FORM("measure", "{n}_{unit}_/_{unit2}", .spoken = "{n} {unit} на {unit2:one}", .fits = mx_form_is_ratio),
    MX_FORM("measure", "{n}_/_{unit}", .spoken = "{n} на {unit:one}"),
    MX_FORM("measure", "{i:1-3}/{i2:1-3}_{unit}", .fits = mx_form_is_fraction, .say = fraction_verbalise),
    MX_FORM("measure", "{w} {i:1-3}/{i2:1-3}_{unit}", .fits = mx_form_is_fraction, .say = fraction_verbalise),
    MX_FORM("range", "{n}_(%)?_~_{n2}_{unit}", .spoken = "{n} - {n2} {unit:n2}", .fits = mx_form_is_unit),
    MX_FORM("range", "{n}_{unit}_~_{n2}_{unit2}", .spoken = "{n} {unit} - {n2} {unit2:n2}"),
    MX_FORM("measure", "{n}_(x|х|×)_{n2}_{unit}", .spoken = "{n} на {n2} {unit:n2}"),
    MX_FORM("measure", "{n}_(x|х|×)_{n2}_(x|х|×)_{n3}_{unit}", .spoken = "{n} на {n2} на {n3} {unit:n3}"),

    /* ---- numbers ---- */
    MX_FORM("number", "{n}", .say = mx_form_number_verbalise),
    MX_FORM("number", "{n} {scale}", .spoken = "{n} {scale}"),
    MX_FORM("number", "{numbered}_{n}", .spoken = "{numbered} {n:numbering}"),
    MX_FORM("range", "{numbered}_{n}_~_{n2}", .spoken = "{numbered} {n:numbering} - {n2:numbering}"),
    MX_FORM("ordinal", "{w}-{ending}", .say = ordinal_verbalise),
    MX_FORM("number", "{n}-{word}", .spoken = "{n} {word}"),
    MX_FORM("range", "{n}_~_{n2}", .spoken = "{n} - {n2}", .fits = mx_form_is_range),
    MX_FORM("number", "24/7", .spoken = "двадцать четыре на семь"),
    MX_FORM("fraction", "{i:1-4}/{i2:1-4}", .fits = mx_form_is_fraction, .say = fraction_verbalise),
    MX_FORM("fraction", "{w} {i:1-3}/{i2:1-3}", .fits = mx_form_is_fraction, .say = fraction_verbalise),
    MX_FORM("math", "{n}e~{i}", .spoken = "{n} на десять в минус {i:ordinal-feminine-locative} степени"),
    MX_FORM("math", "{n}e(+)?{i}", .spoken = "{n} на десять в {i:ordinal-feminine-locative} степени"),
    MX_FORM("math", "{n}_~_{n2}_=_{n3}", .spoken = "{n} минус {n2} равно {n3}"),
    MX_FORM("math", "{n}_(x|х|×|*|·)_{n2}", .spoken = "{n} на {n2}"),
    MX_FORM("math", "{n}_(/|:)_{n2}_=_{n3}", .spoken = "{n} разделить на {n2} равно {n3}"),
    MX_FORM("math", "{n}_^_{w}", .spoken = "{n} в {w:ordinal-feminine-locative} степени"),
    MX_FORM("math", "{n}(⁻)?{power}({power2})?({power3})?", .say = power_verbalise),
    MX_FORM("math", "{n}_(x|×|*|·)_{n2}(⁻)?{power}({power2})?({power3})?", .say = power_verbalise),
    MX_FORM("score", "{i:1-3}:{i2:1-3}", .spoken = "{i} - {i2}"),
    MX_FORM("roman", "{roman}(_~_{roman2})? {century}", .say = century_verbalise),
    MX_FORM("roman", "{chapter} {roman}", .spoken = "{chapter} {roman:numbering}"),
    MX_FORM("roman", "{roman}", .fits = is_reign, .say = reign_verbalise),
    MX_FORM("sign", "/", .spoken = " ", .fits = mx_form_between_letters),
    MX_FORM("sign", "C#", .spoken = "си шарп"),
    MX_FORM("sign", "C++", .spoken = "си плюс плюс"),
    MX_FORM("sign", "#", .spoken = "решетка"),
    MX_FORM("sign", "{sign}", .spoken = "{sign}"),
    MX_FORM("title", "{title}", .spoken = "{title}"),
    MX_FORM("title", "{city}", .fits = is_before_capital, .say = city_verbalise),
    MX_FORM("word", "{yo}", .spoken = "{yo}"),
    MX_FORM("abbreviation", "{abbreviation}", .spoken = "{abbreviation}"),

    /* ---- names made of digits ---- */
    MX_FORM("electronic", "{i:1-3}.{i2:1-3}.{i3:1-3}.{i4:1-3}(:{i5:1-5}|/{i5:1-2})?", .say = mx_form_dotted_verbalise),
    MX_FORM("version", "(v|версия )?{i:1-4}.{i2:1-4}.{i3:1-6}(.{i4:1-6})?(-{serial})?", .say = mx_form_dotted_verbalise),
    MX_FORM("version", "(v|версия )?{i:1-4}.{i2:1-4}", .say = mx_form_dotted_verbalise),
    MX_FORM("version", "v{i:1-4}", .say = mx_form_dotted_verbalise),
    MX_FORM("serial", "{serial}", .fits = mx_form_is_serial, .say = mx_form_serial_verbalise),
    MX_FORM("serial", "{serial}/{serial2}(/{serial3})?", .fits = mx_form_is_serial, .say = mx_form_serial_verbalise),
    MX_FORM("electronic", NULL, .take = mx_form_electronic_take, .say = mx_form_electronic_verbalise),
    MX_FORM("formula", NULL, .take = mx_form_formula_take, .say = mx_form_formula_verbalise),
    MX_FORM("emoji", NULL, .take = mx_form_emoji_take, .say = mx_form_emoji_verbalise),
    {.rule = NULL},
};
/* clang-format on */

static const char *const doubtful[] = {"-A", "-K", "-N", "-J", "-А", "-В", "-Н", "+ct", NULL};

const struct mx_forms mx_forms_russian = {.emoji = MX_EMOJI_RUSSIAN,
                                          .decimal = ',',
                                          .groups = " .",
                                          .point = "запятая",
                                          .minus = "минус",
                                          .cardinal = "numbering",
                                          .to = "-",
                                          .doubtful = doubtful,
                                          .dialed = true,
                                          .spells = true,
                                          .phone_group = 3,
                                          .lists = mx_russian_lists,
                                          .rows = rows,
                                          .agree = mx_russian_agree,
                                          .decline = mx_russian_decline,
                                          .number = mx_russian_number};
