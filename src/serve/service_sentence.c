/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where a sentence of a growing text ends, see service_sentence.h. The text is raw: what a full stop means is decided
 * here as speech/split.h decides it for normalised text, as far as that is possible.
 */
#include <string.h>
#include <utf8proc.h>

#include "base/utf8.h"
#include "serve/service_sentence.h"
#include "speech/split.h"
#include "text/text.h"

#define LONGEST MX_SERVICE_SENTENCE_LONGEST

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
static bool is_abbreviation(struct mx_service_sentence *s, const char *text, size_t at, utf8proc_int32_t next)
{
    size_t begin = at;
    bool inner = false;
    while (begin > 0 && !is_blank(text[begin - 1]) && at - begin < 32) {
        begin--;
        inner |= text[begin] == '.';
    }
    s->looked += at - begin;
    while (begin < at && strchr("\"'([", text[begin]) != NULL) begin++;
    size_t bytes;
    const utf8proc_int32_t point = point_at(text, at, begin, &bytes);
    if (bytes > 0 && begin + bytes == at && utf8proc_category(point) == UTF8PROC_CATEGORY_LU) return true;
    return inner || mx_text_abbreviation(text + begin, at - begin, utf8proc_category(next) == UTF8PROC_CATEGORY_ND);
}

/* The pause of the marks at text[0 … length). */
static double marks_pause_ms(const char *text, size_t length)
{
    const bool ellipsis = length >= 3 && !memcmp(text, "...", 3);
    for (size_t i = 0; i < length; i++)
        if (text[i] == '!' || text[i] == '?') return mx_split_pause_ms(text[i]);
    return ellipsis ? MX_SPLIT_ELLIPSIS_MS : mx_split_pause_ms('.');
}

/* Is the character at `at` complete, or invalid? Four bytes decide. */
static bool is_known(size_t bytes, size_t length, size_t at)
{
    return bytes > 0 || length - at >= 4;
}

enum ends {
    UNKNOWN, /* the text after it decides */
    NOT_HERE,
    HERE,
};

/* Continues over the marks, closing brackets and blanks from the mark before `at` on, as far as they are there, but not
 * further than LONGEST bytes of each. UNKNOWN: more may come. */
static enum ends run_follow(struct mx_service_sentence *s, const char *text, size_t length)
{
    if (s->run_end < s->at) { /* a new run */
        s->run = s->run_end = s->at;
        s->blanks_end = s->run_lines = 0;
    }
    while (s->blanks_end == 0) {
        size_t bytes;
        bool ignored;
        if (s->run_end - s->run >= LONGEST) return HERE;
        if (s->run_end == length) return UNKNOWN;
        const utf8proc_int32_t point = point_at(text, length, s->run_end, &bytes);
        if (!is_known(bytes, length, s->run_end)) return UNKNOWN;
        s->looked++;
        if (bytes > 0 && (is_closing(point) || is_mark(point, &ignored)))
            s->run_end += bytes;
        else
            s->blanks_end = s->run_end;
    }
    for (; s->blanks_end < length && is_blank(text[s->blanks_end]); s->blanks_end++) {
        if (s->blanks_end - s->run_end >= LONGEST) return HERE;
        s->run_lines += text[s->blanks_end] == '\n';
        s->looked++;
    }
    if (s->blanks_end == s->run_end && !s->wide) return NOT_HERE;
    return s->blanks_end == length ? UNKNOWN : HERE; /* the next character decides, also about a paragraph */
}

/* Does a sentence end with the mark before `at`? */
static enum ends ends_at(struct mx_service_sentence *s, const char *text, size_t length, double *pause_ms)
{
    size_t bytes = 0;
    const enum ends ends = run_follow(s, text, length);
    if (ends != HERE) return ends;
    if (s->blanks_end == 0) s->blanks_end = s->run_end;
    const bool too_long = s->run_end - s->run >= LONGEST || s->blanks_end - s->run_end >= LONGEST;
    const bool paragraph = s->run_lines > 1;
    *pause_ms = paragraph ? MX_SPLIT_PARAGRAPH_MS : marks_pause_ms(text + s->at - 1, s->run_end - (s->at - 1));
    if (paragraph || !s->stop || s->wide || too_long) return HERE;
    const utf8proc_int32_t point = point_at(text, length, s->blanks_end, &bytes);
    if (!is_known(bytes, length, s->blanks_end)) return UNKNOWN;
    return utf8proc_category(point) != UTF8PROC_CATEGORY_LL && !is_abbreviation(s, text, s->at - 1, point) ? HERE
                                                                                                           : NOT_HERE;
}

/* A text without the end of a sentence within LONGEST bytes: at its last clause, or word. */
static size_t cut_long(struct mx_service_sentence *s, const char *text, double *pause_ms)
{
    size_t clause = 0, word = 0, anywhere = LONGEST;
    s->looked += LONGEST;
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

/* Takes the next character; false if it is not all there. */
static bool character_read(struct mx_service_sentence *s, const char *text, size_t length)
{
    size_t bytes;
    const utf8proc_int32_t point = point_at(text, length, s->at, &bytes);
    if (!is_known(bytes, length, s->at)) return false;
    s->looked++;
    s->at += bytes > 0 ? bytes : 1;
    s->lines = 0;
    s->mark = is_mark(point, &s->wide);
    s->stop = point == '.';
    return true;
}

size_t mx_service_sentence(struct mx_service_sentence *s, const char *text, size_t length, double *pause_ms)
{
    for (;;) {
        if (s->mark) {
            const enum ends ends = ends_at(s, text, length, pause_ms);
            if (ends == UNKNOWN) return 0;
            if (ends == HERE) return s->blanks_end;
            s->mark = false;
        }
        for (; s->at < length && s->at < LONGEST && is_blank(text[s->at]); s->at++, s->looked++)
            s->lines += text[s->at] == '\n';
        if (s->at == length) return 0;
        if (s->lines > 1) {
            *pause_ms = MX_SPLIT_PARAGRAPH_MS;
            return s->at;
        }
        if (s->at >= LONGEST) return cut_long(s, text, pause_ms);
        if (!character_read(s, text, length)) return 0;
    }
}
