/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rules of Persian. The cleaner is one pass over folded letters (persian_letters.c) that passes numbers to
 * persian_amount.c and handles signs and punctuation itself. Persian punctuation has already been folded to , ; ? by
 * then. Letters of other scripts are copied unchanged. The speller is in persian_phonemes.c. Only the sink allocates
 * memory.
 */
#include "text/persian/persian.h"

#include <string.h>

static const char *sign_words(uint32_t point)
{
    switch (point) {
    case '&':
        return "و";
    case '@':
        return "اَت";
    case '+':
        return "به‌علاوه‌ی";
    case '=':
        return "مساوی";
    case '<':
        return "کوچک‌تر از";
    case '>':
        return "بزرگ‌تر از";
    case '%':
        return "درصد";
    case 0xb0:
        return "درجه";
    case 0xb1:
        return "مثبت یا منفی";
    case 0xd7:
        return "ضربدر";
    case 0xf7:
        return "تقسیم بر";
    default:
        return mx_persian_currency(point);
    }
}

static const struct {
    const char *text; /* letters with a full stop between them */
    const char *words;
} abbreviations[] = {{"هش", "هجری شمسی"},    {"هق", "هجری قمری"},  {"قم", "قبل از میلاد"},
                     {"بم", "بعد از میلاد"}, {"قظ", "قبل از ظهر"}, {"بظ", "بعد از ظهر"}};

/* Two single letters with full stops: ه.ش. */
static bool try_abbreviation(struct mx_text_scan *scan)
{
    if (!mx_text_is_arabic(mx_text_peek(scan, 0)) || mx_text_peek(scan, 1) != '.' ||
        !mx_text_is_arabic(mx_text_peek(scan, 2)) || mx_text_is_letter(mx_text_peek(scan, 3))) {
        return false;
    }
    const uint32_t before = mx_text_before(scan), pair[] = {mx_text_peek(scan, 0), mx_text_peek(scan, 2)};
    if (mx_text_is_letter(before) || mx_text_is_mark(before) || before == '.') return false;
    for (size_t i = 0; i < sizeof abbreviations / sizeof *abbreviations; i++) {
        if (!mx_persian_word_is(pair, 2, abbreviations[i].text)) continue;
        const bool stop = mx_text_peek(scan, 3) == '.';
        mx_text_sink_word(scan->sink, abbreviations[i].words);
        scan->at += 3 + stop;
        if (stop && scan->at == scan->count) mx_text_sink_mark(scan->sink, '.');
        return true;
    }
    return false;
}

static bool is_alphanumeric(uint32_t point)
{
    return mx_text_is_letter(point) || mx_text_is_digit(point) || mx_text_is_vowel_sign(point);
}

static void read_dash(struct mx_text_scan *scan)
{
    const uint32_t dash = mx_text_peek(scan, 0), before = mx_text_before(scan), next = mx_text_peek(scan, 1);
    const bool amount_follows = mx_text_is_digit(next) || mx_persian_currency(next);
    scan->at++;
    if (dash == MX_EM_DASH) {
        mx_text_sink_mark(scan->sink, '-');
    } else if (amount_follows && (mx_text_is_digit(before) || before == '%')) {
        mx_text_sink_word(scan->sink, "تا");
    } else if (dash == '-' && amount_follows && (before == 0 || before == ' ' || before == '(' || before == '=')) {
        mx_text_sink_word(scan->sink, "منفی");
    } else if (mx_text_is_digit(before) && mx_text_is_letter(next)) {
        mx_text_sink_blank(scan->sink);
    } else if (is_alphanumeric(before) && mx_text_is_letter(next)) {
        mx_text_sink_put(scan->sink, "-");
    } else if (is_alphanumeric(before) && mx_text_is_digit(next)) {
        mx_text_sink_blank(scan->sink);
    } else {
        mx_text_sink_mark(scan->sink, '-');
    }
}

static void read_stop(struct mx_text_scan *scan)
{
    const uint32_t before = mx_text_before(scan), next = mx_text_peek(scan, 1);
    scan->at++;
    if (before < 0x250 && next < 0x250 && mx_text_is_letter(before) && mx_text_is_letter(next)) {
        mx_text_sink_word(scan->sink, "دات"); /* example.com */
    } else {
        mx_text_sink_mark(scan->sink, '.');
    }
}

static void read_sign(struct mx_text_scan *scan)
{
    const uint32_t point = mx_text_peek(scan, 0);
    const char *words = sign_words(point);
    if ((point == '%' || mx_persian_currency(point)) && mx_persian_try_prefixed(scan, words)) return;
    if (words) {
        mx_text_sink_word(scan->sink, words);
    } else if (point == '#') {
        if (mx_text_is_digit(mx_text_peek(scan, 1))) {
            mx_text_sink_word(scan->sink, "شماره‌ی");
        } else if (mx_text_is_letter(mx_text_peek(scan, 1))) {
            mx_text_sink_word(scan->sink, "هشتگ");
        } else {
            mx_text_sink_blank(scan->sink);
        }
    } else {
        mx_text_sink_blank(scan->sink);
        const bool layout = point < 0x80 && strchr("\"'*_^~|\\/[]{}", (int)point);
        scan->report->symbols_dropped += !layout;
    }
    scan->at++;
}

/* Blanks, marks of punctuation and dashes; false: the next point is none of these. */
static void read_next(struct mx_text_scan *scan)
{
    const uint32_t point = mx_text_peek(scan, 0), before = mx_text_before(scan), next = mx_text_peek(scan, 1);
    if (mx_text_read_mark(scan)) return;
    if (point == '-' || point == MX_EN_DASH || point == MX_EM_DASH) {
        read_dash(scan);
    } else if (point == '.') {
        if (mx_text_is_digit(next) && !mx_text_is_letter(before)) {
            mx_persian_read_number(scan);
        } else {
            read_stop(scan);
        }
    } else if (mx_text_is_digit(point) || (point == '+' && mx_text_is_digit(next) && (before == 0 || before == ' '))) {
        mx_persian_read_number(scan);
    } else if (point == '\'' && mx_text_is_letter(before) && mx_text_is_letter(next)) { /* inside a Latin word */
        mx_text_sink_put(scan->sink, "'");
        scan->at++;
    } else if (mx_text_is_letter(point) || mx_text_is_mark(point) || point == MX_ZWNJ) {
        if (try_abbreviation(scan)) return;
        mx_text_sink_point(scan->sink, point);
        scan->at++;
    } else {
        read_sign(scan);
    }
}

static void clean(struct mx_text_scan *scan)
{
    while (scan->at < scan->count) read_next(scan);
}

/* The soft hyphen and ¬ are what old Persian texts have for the half-space. */
static uint32_t joiner(uint32_t point)
{
    return point == MX_ZWNJ || point == 0xad || point == 0xac ? MX_ZWNJ : 0;
}

static const struct mx_text_name names[] = {{0x648, "واو"}, /* alone it is the word "and" */
                                            {'.', "نقطه"},
                                            {',', "ویرگول"},
                                            {0x60c, "ویرگول"},
                                            {':', "دو نقطه"},
                                            {';', "نقطه ویرگول"},
                                            {0x61b, "نقطه ویرگول"},
                                            {'!', "علامت تعجب"},
                                            {'?', "علامت سؤال"},
                                            {0x61f, "علامت سؤال"},
                                            {'-', "خط تیره"},
                                            {'_', "زیرخط"},
                                            {'/', "اسلش"},
                                            {'\\', "بک‌اسلش"},
                                            {'(', "پرانتز باز"},
                                            {')', "پرانتز بسته"},
                                            {'*', "ستاره"},
                                            {'#', "مربع"},
                                            {0, NULL}};

const struct mx_language_rules mx_rules_persian = {.own = true,
                                                   .letters = mx_persian_letters,
                                                   .clean = clean,
                                                   .spell = mx_persian_spell,
                                                   .joiner = joiner,
                                                   .names = names,
                                                   .ordinal = "ام",
                                                   .century = 1300};
