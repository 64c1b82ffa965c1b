/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The sink that cleaners write to, arrays of code points, classes of code points, reading numerals and assembling
 * number words, and the marks that most cleaners read alike; see internal.h, which also says who owns what.
 */
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "text/internal.h"
#include "text/lexicon.h"

/* ---- code points ---- */

void mx_text_points_push(struct mx_text_points *points, uint32_t point)
{
    if (points->failure) return;
    points->failure = MX_GROW(points->data, points->capacity, points->count + 1);
    if (!points->failure) points->data[points->count++] = point;
}

void mx_text_points_release(struct mx_text_points *points)
{
    mx_free(points->data);
    *points = (struct mx_text_points){0};
}

bool mx_text_is_letter(uint32_t point)
{
    if (point < 0x80) return (point >= 'a' && point <= 'z') || (point >= 'A' && point <= 'Z');
    if (point >= MX_LEXICON_FIRST && point < MX_LEXICON_FIRST + MX_LEXICON_MOST) return true;
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)point);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool mx_text_is_mark(uint32_t point)
{
    if (point < 0x300) return false;
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)point);
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC;
}

bool mx_text_is_upper(uint32_t point)
{
    if (point < 0x80) return point >= 'A' && point <= 'Z';
    return utf8proc_category((utf8proc_int32_t)point) == UTF8PROC_CATEGORY_LU;
}

bool mx_text_is_arabic(uint32_t point)
{
    const bool block =
        (point >= 0x620 && point <= 0x6ff) || (point >= 0x750 && point <= 0x77f) || (point >= 0x8a0 && point <= 0x8c9);
    return block && point != 0x640 && mx_text_is_letter(point);
}

bool mx_text_is_vowel_sign(uint32_t point)
{
    return (point >= 0x64b && point <= 0x652) || point == 0x670;
}

/* ---- the sink ---- */

static void append(struct mx_text_sink *sink, const void *bytes, size_t length)
{
    if (sink->failure) return;
    sink->failure = MX_GROW(sink->data, sink->capacity, sink->length + length);
    if (sink->failure) return;
    memcpy(sink->data + sink->length, bytes, length);
    sink->length += length;
}

/* A word begins or continues: a mark that was held back is written, unless this is the first word. */
static void settle(struct mx_text_sink *sink)
{
    if (sink->length > 0) {
        if (sink->mark == '-') {
            append(sink, " - ", 3);
        } else if (sink->mark) {
            append(sink, (char[]){sink->mark, ' '}, 2);
        } else if (sink->blank) {
            append(sink, " ", 1);
        }
    }
    sink->mark = 0;
    sink->blank = false;
}

void mx_text_sink_point(struct mx_text_sink *sink, uint32_t point)
{
    utf8proc_uint8_t bytes[4];
    settle(sink);
    append(sink, bytes, (size_t)utf8proc_encode_char((utf8proc_int32_t)point, bytes));
}

void mx_text_sink_put(struct mx_text_sink *sink, const char *utf8)
{
    for (;;) {
        const size_t length = strcspn(utf8, " ");
        if (length > 0) {
            settle(sink);
            append(sink, utf8, length);
        }
        if (!utf8[length]) return;
        mx_text_sink_blank(sink);
        utf8 += length + 1;
    }
}

void mx_text_sink_word(struct mx_text_sink *sink, const char *utf8)
{
    mx_text_sink_blank(sink);
    mx_text_sink_put(sink, utf8);
    mx_text_sink_blank(sink);
}

void mx_text_sink_blank(struct mx_text_sink *sink)
{
    sink->blank = true;
}

void mx_text_sink_mark(struct mx_text_sink *sink, char mark)
{
    static const char by_strength[] = "-,:;.!?";
    if (!sink->mark || strchr(by_strength, mark) > strchr(by_strength, sink->mark)) sink->mark = mark;
}

void mx_text_sink_finish(struct mx_text_sink *sink)
{
    if (sink->length > 0 && sink->mark && sink->mark != '-') append(sink, &sink->mark, 1);
    sink->mark = 0;
    sink->blank = false;
}

const char *mx_text_sink_text(struct mx_text_sink *sink)
{
    append(sink, "", 1);
    if (sink->failure) return NULL;
    sink->length--;
    return sink->data;
}

void mx_text_sink_release(struct mx_text_sink *sink)
{
    mx_free(sink->data);
    *sink = (struct mx_text_sink){0};
}

/* ---- the input ---- */

bool mx_text_shouts(const struct mx_text_scan *scan)
{
    size_t lower = 0, upper = 0;
    for (size_t i = 0; i < scan->count && lower == 0; i++) {
        const bool letter = mx_text_is_letter(scan->points[i]), capital = mx_text_is_upper(scan->points[i]);
        upper += capital;
        lower += letter && !capital;
    }
    return lower == 0 && upper >= 8;
}

/* ---- numerals ---- */

bool mx_text_word_is(const struct mx_text_scan *scan, size_t ahead, const char *word)
{
    size_t i = 0;
    for (; word[i]; i++) {
        const uint32_t point = mx_text_peek(scan, ahead + i);
        const uint32_t lower = point >= 'A' && point <= 'Z' ? point + 32 : point;
        if (lower != (uint32_t)(unsigned char)word[i]) return false;
    }
    const uint32_t next = mx_text_peek(scan, ahead + i);
    return !mx_text_is_letter(next) && !mx_text_is_mark(next);
}

static size_t digits_at(const struct mx_text_scan *scan, size_t ahead, size_t most)
{
    size_t count = 0;
    while (count < most && mx_text_is_digit(mx_text_peek(scan, ahead + count))) count++;
    return count;
}

void mx_text_numeral_read(const struct mx_text_scan *scan, size_t ahead, struct mx_text_numeral *out)
{
    *out = (struct mx_text_numeral){0};
    size_t at = ahead, whole = 0;
    size_t run = digits_at(scan, at, MX_NUMERAL_DIGITS + 1);
    if (run > MX_NUMERAL_DIGITS) return;
    for (size_t i = 0; i < run; i++) out->whole[whole++] = (char)mx_text_peek(scan, at + i);
    at += run;
    /* Groups: one to three digits, then any number of ",ddd" that no further digit follows. */
    while (run > 0 && (out->grouped || run <= 3) && mx_text_peek(scan, at) == ',' && digits_at(scan, at + 1, 4) == 3) {
        if (whole + 3 > MX_NUMERAL_DIGITS) {
            out->length = 0;
            return;
        }
        for (size_t i = 1; i <= 3; i++) out->whole[whole++] = (char)mx_text_peek(scan, at + i);
        at += 4;
        out->grouped = true;
    }
    if (mx_text_peek(scan, at) == '.') {
        const size_t fraction = digits_at(scan, at + 1, MX_NUMERAL_DIGITS + 1);
        if (fraction > MX_NUMERAL_DIGITS) return;
        for (size_t i = 0; i < fraction; i++) out->fraction[i] = (char)mx_text_peek(scan, at + 1 + i);
        if (fraction > 0) at += 1 + fraction;
    }
    out->length = at - ahead;
}

size_t mx_text_numeral_small(const struct mx_text_scan *scan, size_t ahead, size_t least, size_t most, unsigned *value)
{
    const size_t count = digits_at(scan, ahead, most + 1);
    if (count < least || count > most) return 0;
    *value = 0;
    for (size_t i = 0; i < count; i++) *value = *value * 10 + (mx_text_peek(scan, ahead + i) - '0');
    return count;
}

uint64_t mx_text_numeral_value(const char *digits)
{
    uint64_t value = 0;
    for (; *digits; digits++) value = value * 10 + (uint64_t)(*digits - '0');
    return value;
}

size_t mx_text_numeral_spell(const struct mx_text_scan *scan, const char *point,
                             void (*digits_verbalise)(struct mx_text_sink *sink, const char *digits))
{
    size_t at = 0;
    while (mx_text_is_digit(mx_text_peek(scan, at)) || (at == 0 && mx_text_peek(scan, 0) == '.')) {
        const char digit[] = {(char)mx_text_peek(scan, at++), 0};
        if (digit[0] == '.') {
            mx_text_sink_word(scan->sink, point);
        } else {
            digits_verbalise(scan->sink, digit);
        }
    }
    return at;
}

/* ---- number words ---- */

void mx_text_words_add(struct mx_text_words *words, const char *separator, const char *word)
{
    const int written = snprintf(words->text + words->length, sizeof words->text - words->length, "%s%s",
                                 words->length ? separator : "", word);
    if (written > 0 && (size_t)written < sizeof words->text - words->length) words->length += (size_t)written;
}

bool mx_text_words_end_in(const struct mx_text_words *words, const char *ending)
{
    const size_t length = strlen(ending);
    return words->length >= length && !strcmp(words->text + words->length - length, ending);
}

bool mx_text_read_mark(struct mx_text_scan *scan)
{
    const uint32_t point = mx_text_peek(scan, 0);
    switch (point) {
    case ' ':
        mx_text_sink_blank(scan->sink);
        scan->at++;
        return true;
    case '!':
    case '?':
    case ',':
    case ';':
    case ':':
        mx_text_sink_mark(scan->sink, (char)point);
        scan->at++;
        return true;
    case '(':
    case ')': /* an aside */
        scan->at++;
        if (scan->at < scan->count) mx_text_sink_mark(scan->sink, ',');
        return true;
    default:
        return false;
    }
}
