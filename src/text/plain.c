/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rules of languages without their own cleaner: letters are kept, and espeak-ng reads numbers and signs that no
 * written form (forms.h) has made words. Only what the rest of the program relies on is decided here: one form for punctuation and blanks, where a full
 * stop ends a sentence, and where a mark between digits belongs to the number (3,14, 12:30, 1.000.000).
 *
 * Only the sink allocates memory.
 */
#include <string.h>
#include <utf8proc.h>

#include "text/forms/forms.h"

/* Signs that espeak-ng says by name in many languages; where it has no name for one it leaves it out. */
static bool is_sign(uint32_t point)
{
    if (point < 0x80) return point != 0 && strchr("%&+=@#$/<>", (int)point) != NULL;
    return (point >= 0xa2 && point <= 0xa5) || point == 0xa7 || (point >= 0xb0 && point <= 0xb3) ||
           (point >= 0xbc && point <= 0xbe) || point == 0xd7 || point == 0xf7 || point == 0x2030 || point == 0x2116 ||
           (point >= 0x20a0 && point <= 0x20c0);
}

static bool writes(const struct mx_script *script, uint32_t point)
{
    const struct mx_script_range *range = script->ranges;
    if (mx_text_is_digit(point) || is_sign(point)) return true;
    while (range->last != 0 && !(point >= range->first && point <= range->last)) range++;
    return range->last != 0 && mx_text_is_mark(point); /* vowel signs of India, for example */
}

static bool is_alphanumeric(uint32_t point)
{
    return mx_text_is_letter(point) || mx_text_is_digit(point) || mx_text_is_mark(point);
}

static uint32_t lower(const struct mx_text_scan *scan, uint32_t point)
{
    if (!scan->small_only) return point;
    if (scan->language->rules->dotless && point == 'I') return 0x131; /* ı */
    return mx_text_is_upper(point) ? (uint32_t)utf8proc_tolower((utf8proc_int32_t)point) : point;
}

static size_t digits_at(const struct mx_text_scan *scan, size_t ahead)
{
    size_t count = 0;
    while (mx_text_is_digit(mx_text_peek(scan, ahead + count))) count++;
    return count;
}

/* Digits, and marks between them. Groups that blanks set off (1 000 000) become one run of digits. */
static void read_number(struct mx_text_scan *scan)
{
    size_t run = digits_at(scan, 0);
    bool grouped = run <= 3;
    for (;;) {
        for (size_t i = 0; i < run; i++) mx_text_sink_point(scan->sink, mx_text_peek(scan, i));
        scan->at += run;
        const uint32_t next = mx_text_peek(scan, 0);
        run = digits_at(scan, 1);
        if (run == 0) return;
        if (next == ' ') {
            if (!grouped || run != 3) return;
        } else if (next == '.' || next == ',' || next == ':') {
            grouped = false;
            mx_text_sink_point(scan->sink, next);
        } else if (next != '\'') { /* 1'000 */
            return;
        }
        scan->at++;
    }
}

/* Whether the next point follows a letter that stands alone. */
static bool after_initial(const struct mx_text_scan *scan)
{
    if (!mx_text_is_letter(mx_text_before(scan))) return false;
    const uint32_t before = scan->at > 1 ? scan->points[scan->at - 2] : 0;
    return !is_alphanumeric(before) && before != '\'';
}

/* A full stop after an initial (A. S. Pushkin, the B of z.B.) ends a sentence only at the end of the text. An initial
 * is a capital, or follows another full stop: "y." and "я." may end sentences. */
static void read_stop(struct mx_text_scan *scan)
{
    const uint32_t before = mx_text_before(scan), next = mx_text_peek(scan, 1);
    const bool alone = after_initial(scan);
    const bool initial = alone && (mx_text_is_upper(before) || (scan->at > 1 && scan->points[scan->at - 2] == '.'));
    scan->at++;
    if (is_alphanumeric(before) && is_alphanumeric(next) && (alone || !mx_text_is_upper(next))) {
        mx_text_sink_point(scan->sink, '.'); /* z.B, example.com */
    } else if (initial && scan->at < scan->count) {
        mx_text_sink_blank(scan->sink);
    } else {
        mx_text_sink_mark(scan->sink, '.');
    }
}

static void read_dash(struct mx_text_scan *scan)
{
    const uint32_t dash = mx_text_peek(scan, 0), before = mx_text_before(scan), next = mx_text_peek(scan, 1);
    scan->at++;
    if (dash == MX_EM_DASH) {
        mx_text_sink_mark(scan->sink, '-');
    } else if (dash == '-' && mx_text_is_digit(next) && (before == 0 || before == ' ' || before == '(')) {
        mx_text_sink_point(scan->sink, '-'); /* a minus */
    } else if (is_alphanumeric(before) && mx_text_is_letter(next)) {
        mx_text_sink_point(scan->sink, '-');
    } else if ((is_alphanumeric(before) && mx_text_is_digit(next)) || (before == '.' && mx_text_is_letter(next))) {
        mx_text_sink_blank(scan->sink); /* 1939-1945, J.-P. */
    } else {
        mx_text_sink_mark(scan->sink, '-');
    }
}

static void read_other(struct mx_text_scan *scan, uint32_t point)
{
    if (is_sign(point)) {
        mx_text_sink_point(scan->sink, point);
    } else {
        mx_text_sink_blank(scan->sink);
        const bool layout =
            point < 0x80 || point == 0xa1 || point == 0xbf; /* quotation, layout, ¡ and ¿ are not said */
        scan->report->symbols_dropped += !layout;
    }
    scan->at++;
}

static void read_next(struct mx_text_scan *scan)
{
    const uint32_t point = mx_text_peek(scan, 0), before = mx_text_before(scan);
    const char mark = mx_script_mark(scan->language->script, point);
    if (mark != 0) {
        mx_text_sink_mark(scan->sink, mark);
        scan->at++;
        return;
    }
    if (mx_text_read_mark(scan)) return;
    switch (point) {
    case '-':
    case MX_EN_DASH:
    case MX_EM_DASH:
        read_dash(scan);
        return;
    case '.':
        read_stop(scan);
        return;
    case '\'':
        if (is_alphanumeric(before) && mx_text_is_letter(mx_text_peek(scan, 1))) {
            mx_text_sink_point(scan->sink, '\'');
        } else {
            mx_text_sink_blank(scan->sink);
        }
        scan->at++;
        return;
    default:
        break;
    }
    if (mx_text_is_digit(point)) {
        read_number(scan);
    } else if (mx_text_is_letter(point) || point == MX_ZWNJ || point == MX_ZWJ ||
               (mx_text_is_mark(point) && is_alphanumeric(before))) {
        mx_text_sink_point(scan->sink, lower(scan, point));
        scan->at++;
    } else {
        read_other(scan, point);
    }
}

static void clean(struct mx_text_scan *scan)
{
    while (scan->at < scan->count) read_next(scan);
}

static void spell(int cleaner, const char *clause, void (*ask)(const char *text, struct mx_text_sink *out),
                  struct mx_text_sink *out)
{
    (void)cleaner;
    ask(clause, out);
}

const struct mx_language_rules mx_rules_plain = {.clean = clean, .spell = spell, .writes = writes};
const struct mx_language_rules mx_rules_tonal = {.clean = clean, .spell = spell, .writes = writes, .tones = true};
const struct mx_language_rules mx_rules_dotless = {.clean = clean, .spell = spell, .writes = writes, .dotless = true};

/* Languages with written forms of their own. */
#define WITH_FORMS(name)                                                                                               \
    const struct mx_language_rules mx_rules_##name = {                                                                 \
        .clean = clean, .spell = spell, .writes = writes, .forms = &mx_forms_##name}
WITH_FORMS(german);
WITH_FORMS(spanish);
WITH_FORMS(french);
WITH_FORMS(italian);
WITH_FORMS(russian);
