/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where a sentence of a growing text ends, see service_internal.h. The text is raw: what a full stop means is decided
 * here as speech/split.h decides it for normalised text, as far as that is possible.
 */
#include <string.h>
#include <utf8proc.h>

#include "base/utf8.h"
#include "serve/service_internal.h"
#include "speech/split.h"
#include "text/text.h"

#define LONGEST 600 /* bytes: a longer sentence is cut at its last clause or word */

/* The character at `at`; 0 if it is not all there, or none. */
static utf8proc_int32_t point_at(const char *text, size_t length, size_t at, size_t *bytes)
{
    utf8proc_int32_t point = 0;
    *bytes = at < length ? mx_utf8_sequence(text + at, length - at) : 0;
    if (*bytes > 0) (void)utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)*bytes, &point);
    return point;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

/* . ! ? and those of other scripts; *wide: no blank follows it. */
static bool is_mark(utf8proc_int32_t point, bool *wide)
{
    *wide = point == 0x3002 || point == 0xff01 || point == 0xff1f;
    return *wide || point == '.' || point == '!' || point == '?' || point == 0x61f || point == 0x6d4 || point == 0x964;
}

/* Closing quotation marks and brackets belong to the sentence. */
static bool is_closing(utf8proc_int32_t point)
{
    return point == '"' || point == '\'' || point == ')' || point == ']' || point == 0x201d || point == 0x2019 ||
           point == 0xbb || point == 0x300d || point == 0xff09;
}

/* Is the full stop at `at` a part of the word before it: an initial, e.g. or Dr.? `next` is what follows. */
static bool is_abbreviation(const char *text, size_t at, utf8proc_int32_t next)
{
    size_t begin = at;
    bool inner = false;
    while (begin > 0 && !is_blank(text[begin - 1]) && at - begin < 32) {
        begin--;
        inner |= text[begin] == '.';
    }
    while (begin < at && strchr("\"'([", text[begin]) != NULL) begin++;
    size_t bytes;
    const utf8proc_int32_t point = point_at(text, at, begin, &bytes);
    if (bytes > 0 && begin + bytes == at && utf8proc_category(point) == UTF8PROC_CATEGORY_LU) return true;
    return inner || mx_text_abbreviation(text + begin, at - begin, utf8proc_category(next) == UTF8PROC_CATEGORY_ND);
}

/* The blanks from `at` on; *empty_line: an empty line is among them. */
static size_t blanks(const char *text, size_t length, size_t at, bool *empty_line)
{
    size_t lines = 0, count = 0;
    for (; at + count < length && is_blank(text[at + count]); count++) lines += text[at + count] == '\n';
    *empty_line = lines > 1;
    return count;
}

/* The pause of the marks at text[0 … length). */
static double marks_pause_ms(const char *text, size_t length)
{
    const bool ellipsis = length >= 3 && !memcmp(text, "...", 3);
    for (size_t i = 0; i < length; i++)
        if (text[i] == '!' || text[i] == '?') return mx_split_pause_ms(text[i]);
    return ellipsis ? MX_SPLIT_ELLIPSIS_MS : mx_split_pause_ms('.');
}

/* Does a sentence end with the mark that ends at `at`? 1; 0: no; -1: the text behind decides. *end is where the next
 * one begins. */
static int ends_at(const char *text, size_t length, size_t at, bool wide, bool stop, size_t *end, double *pause_ms)
{
    size_t bytes, after = at;
    bool more_marks, paragraph, ignored;
    utf8proc_int32_t point;
    do {
        point = point_at(text, length, after, &bytes);
        more_marks = is_mark(point, &ignored);
        if (bytes > 0 && (is_closing(point) || more_marks)) after += bytes;
    } while (bytes > 0 && (is_closing(point) || more_marks));
    if (after == length || bytes == 0) return -1;
    const size_t count = blanks(text, length, after, &paragraph);
    if (count == 0 && !wide) return 0;
    *end = after + count;
    if (*end == length) return -1; /* the next character tells, and whether it is a paragraph */
    *pause_ms = paragraph ? MX_SPLIT_PARAGRAPH_MS : marks_pause_ms(text + at - 1, after - (at - 1));
    if (paragraph || !stop || wide) return 1;
    point = point_at(text, length, *end, &bytes);
    if (bytes == 0) return -1;
    return utf8proc_category(point) != UTF8PROC_CATEGORY_LL && !is_abbreviation(text, at - 1, point);
}

/* A text without the end of a sentence within LONGEST bytes: at its last clause, or word. */
static size_t cut_long(const char *text, double *pause_ms)
{
    size_t clause = 0, word = 0, anywhere = LONGEST;
    for (size_t i = 1; i < LONGEST; i++) {
        if (!is_blank(text[i])) continue;
        if (strchr(",;:", text[i - 1]) != NULL && i > LONGEST / 4) clause = i + 1;
        word = i + 1;
    }
    if (clause > 0) {
        *pause_ms = mx_split_pause_ms(text[clause - 2]);
        return clause;
    }
    while (anywhere > LONGEST - 4 && ((unsigned char)text[anywhere] & 0xc0) == 0x80) anywhere--;
    *pause_ms = mx_split_pause_ms(' ');
    return word > 0 ? word : anywhere;
}

size_t mx_service_sentence(const char *text, size_t length, double *pause_ms)
{
    size_t at = 0, end;
    bool paragraph, wide;
    /* Looks only at the bytes that decide whatever follows: a sentence, or LONGEST bytes without one. */
    while (at < length && at < LONGEST) {
        size_t bytes;
        const utf8proc_int32_t point = point_at(text, length, at, &bytes);
        const size_t empty = blanks(text, length, at, &paragraph);
        if (bytes == 0 && length - at < 4) return 0; /* a character that is cut, or will be refused */
        if (empty > 0) {
            at += empty;
            if (at == length) return 0;
            if (paragraph) {
                *pause_ms = MX_SPLIT_PARAGRAPH_MS;
                return at;
            }
            continue;
        }
        at += bytes > 0 ? bytes : 1;
        if (!is_mark(point, &wide)) continue;
        const int ends = ends_at(text, length, at, wide, point == '.', &end, pause_ms);
        if (ends < 0) return 0;
        if (ends > 0) return end;
    }
    return at < LONGEST || length <= LONGEST ? 0 : cut_long(text, pause_ms);
}
