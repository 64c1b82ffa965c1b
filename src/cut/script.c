/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Texts from files, see script.h: recognising the kind, plain text, and the cues of subtitles.
 */
#include "cut/script.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/string.h"
#include "cut/cut.h"
#include "myxtts/error.h"

/* ---- parts ---- */

int mx_cut_script_add(struct mx_cut_script *s, const char *text, size_t length, double from, double until)
{
    size_t words = 0;
    for (size_t i = 0; i < length; i++) words += text[i] != ' ' && (text[i] < '\t' || text[i] > '\r');
    if (words == 0) return 0;
    if (MX_GROW(s->parts, s->part_room, s->part_count + 1) < 0) return MX_ERR_NO_MEMORY;
    char *const grown = mx_realloc(s->source, s->length + length + 2, 1);
    if (grown == NULL) return MX_ERR_NO_MEMORY;
    s->source = grown;
    memcpy(s->source + s->length, text, length);
    s->parts[s->part_count++] =
        (struct mx_align_part){.begin = s->length, .end = s->length + length, .from = from, .until = until};
    s->length += length;
    s->source[s->length++] = '\n';
    s->source[s->length] = '\0';
    return 0;
}

/* ---- cues ---- */

struct line {
    const char *text;
    size_t length;
    size_t number; /* from 1 */
};

struct lines {
    const char *data;
    size_t bytes, at, number;
};

static bool line_next(struct lines *l, struct line *out)
{
    if (l->at >= l->bytes) return false;
    const char *const begin = l->data + l->at;
    const char *const end = memchr(begin, '\n', l->bytes - l->at);
    const size_t length = end != NULL ? (size_t)(end - begin) : l->bytes - l->at;
    l->at += length + (end != NULL);
    *out = (struct line){begin, length, ++l->number};
    while (out->length > 0 && (begin[out->length - 1] == '\r' || begin[out->length - 1] == ' ')) out->length--;
    return true;
}

/* Digits at *at; false: none, or too many. */
static bool digits_read(const struct line *line, size_t *at, size_t most, double *out)
{
    const size_t begin = *at;
    *out = 0;
    while (*at < line->length && line->text[*at] >= '0' && line->text[*at] <= '9')
        *out = 10 * *out + (line->text[(*at)++] - '0');
    return *at > begin && *at - begin <= most;
}

/* [hours:]minutes:seconds[,.]milliseconds */
static bool time_read(const struct line *line, size_t *at, double *seconds)
{
    double parts[3], fraction;
    size_t count = 0;
    for (;;) {
        if (count == 3 || !digits_read(line, at, 4, &parts[count])) return false;
        count++;
        if (*at >= line->length || line->text[*at] != ':') break;
        ++*at;
    }
    if (count < 2 || *at >= line->length || (line->text[*at] != ',' && line->text[*at] != '.')) return false;
    const size_t dot = ++*at;
    if (!digits_read(line, at, 6, &fraction)) return false;
    for (size_t i = dot; i < *at; i++) fraction /= 10;
    *seconds = (count == 3 ? 3600 * parts[0] : 0) + 60 * parts[count - 2] + parts[count - 1] + fraction;
    return parts[count - 1] < 60 && (count < 3 || parts[1] < 60);
}

static void blanks_skip(const struct line *line, size_t *at)
{
    while (*at < line->length && (line->text[*at] == ' ' || line->text[*at] == '\t')) ++*at;
}

static bool has_arrow(const struct line *line)
{
    for (size_t i = 0; i + 3 <= line->length; i++)
        if (memcmp(line->text + i, "-->", 3) == 0) return true;
    return false;
}

static bool times_read(const struct line *line, double *from, double *until)
{
    size_t at = 0;
    blanks_skip(line, &at);
    if (!time_read(line, &at, from)) return false;
    blanks_skip(line, &at);
    if (line->length - at < 3 || memcmp(line->text + at, "-->", 3) != 0) return false;
    at += 3;
    blanks_skip(line, &at);
    return time_read(line, &at, until);
}

/* Appends a line of a cue without tags and with its entities resolved. */
static void cue_append(struct mx_string *text, const struct line *line)
{
    static const char *const entities[][2] = {{"&amp;", "&"},  {"&lt;", "<"}, {"&gt;", ">"},
                                              {"&nbsp;", " "}, {"&lrm;", ""}, {"&rlm;", ""}};
    const char *const at = line->text;
    if (text->length > 0) mx_string_append(text, " ");
    for (size_t i = 0; i < line->length; i++) {
        const char closing = at[i] == '<' ? '>' : at[i] == '{' && i + 1 < line->length && at[i + 1] == '\\' ? '}' : 0;
        const char *const end = closing != 0 ? memchr(at + i, closing, line->length - i) : NULL;
        size_t entity = 0;
        const size_t kinds = sizeof entities / sizeof *entities;
        if (end != NULL) {
            i = (size_t)(end - at);
            continue;
        }
        while (entity < kinds && (line->length - i < strlen(entities[entity][0]) ||
                                  memcmp(at + i, entities[entity][0], strlen(entities[entity][0])) != 0))
            entity++;
        if (entity < kinds) {
            mx_string_append(text, "%s", entities[entity][1]);
            i += strlen(entities[entity][0]) - 1;
        } else {
            mx_string_append(text, "%c", at[i]);
        }
    }
}

/* Reads the text of a cue up to an empty line. */
static int cue_read(struct mx_cut_script *s, struct lines *lines, double from, double until)
{
    struct mx_string text = {0};
    struct line line;
    int rc = 0;
    while (line_next(lines, &line) && line.length > 0) cue_append(&text, &line);
    MX_TRY(text.failure);
    if (text.length > 0) MX_TRY(mx_cut_script_add(s, text.data, text.length, from, until));
out:
    mx_string_release(&text);
    return rc;
}

int mx_cut_script_cues(struct mx_cut_script *s, const char *name, const char *data, size_t bytes)
{
    struct lines lines = {.data = data, .bytes = bytes};
    struct line line;
    double from, until, last = 0;
    int rc = 0;
    while (line_next(&lines, &line)) {
        if (!has_arrow(&line)) continue; /* a number, a name, a note, a style */
        if (!times_read(&line, &from, &until))
            MX_RAISE(MX_ERR_FORMAT, "the times of a cue look like 00:01:02,500 --> 00:01:04,000",
                     "%s, line %zu: the times of the cue cannot be read", name, line.number);
        if (until <= from || from < last)
            MX_RAISE(MX_ERR_FORMAT, "put the cues in the order of their times",
                     "%s, line %zu: the times of the cue run backwards", name, line.number);
        last = from;
        MX_TRY(cue_read(s, &lines, from, until));
    }
    if (s->part_count == 0)
        MX_RAISE(MX_ERR_FORMAT, "give subtitles with text, or a plain text", "%s has no cue with text", name);
out:
    return rc;
}

/* ---- the whole ---- */

/* Does the first or second non-empty line have the times of a cue? */
static bool looks_like_srt(const char *data, size_t bytes)
{
    struct lines lines = {.data = data, .bytes = bytes};
    struct line line;
    double from, until;
    for (int seen = 0; seen < 2 && line_next(&lines, &line);) {
        if (line.length == 0) continue;
        if (times_read(&line, &from, &until)) return true;
        seen++;
    }
    return false;
}

static bool begins_with(const char *data, size_t bytes, const char *what)
{
    return bytes >= strlen(what) && memcmp(data, what, strlen(what)) == 0;
}

static int half_fail(const char *name)
{
    return MX_FAIL(MX_ERR_FORMAT, "save it as UTF-8", "%s: half a character of UTF-16", name);
}

/* UTF-16 after its byte order mark → UTF-8. *out is the caller's. */
static int utf16_convert(const char *name, const char *data, size_t bytes, char **out, size_t *length)
{
    const unsigned char *const in = (const unsigned char *)data;
    const size_t high = in[0] == 0xfe ? 0 : 1, low = 1 - high;
    char *const text = mx_alloc(bytes * 2 + 8, 1);
    *out = text;
    *length = 0;
    if (text == NULL) return MX_ERR_NO_MEMORY;
    for (size_t i = 2; i < bytes; i += 2) {
        if (i + 1 == bytes) return half_fail(name);
        uint32_t code = (uint32_t)in[i + high] << 8 | in[i + low];
        if (code >= 0xd800 && code < 0xe000) {
            const uint32_t second = i + 3 < bytes ? (uint32_t)in[i + 2 + high] << 8 | in[i + 2 + low] : 0;
            if (code >= 0xdc00 || second < 0xdc00 || second > 0xdfff) return half_fail(name);
            code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
            i += 2;
        }
        if (code == 0) return MX_FAIL(MX_ERR_FORMAT, "save it as UTF-8", "%s: a zero character of UTF-16", name);
        *length += mx_symbol_utf8(code, text + *length);
    }
    return 0;
}

/* Chooses by the content, which is UTF-8. */
static int parse(struct mx_cut_script *s, const char *name, const char *data, size_t bytes)
{
    int rc = 0;
    if (begins_with(data, bytes, "\xef\xbb\xbf")) {
        data += 3;
        bytes -= 3;
    }
    rc = mx_text_check(data, bytes);
    if (rc < 0) return mx_error_wrap("%s", name);
    if (begins_with(data, bytes, "File type = \"ooTextFile\"")) {
        s->kind = MX_CUT_SCRIPT_TEXTGRID;
        return mx_cut_script_textgrid(s, name, data, bytes);
    }
    if (begins_with(data, bytes, "WEBVTT")) {
        s->kind = MX_CUT_SCRIPT_VTT;
        return mx_cut_script_cues(s, name, data, bytes);
    }
    if (looks_like_srt(data, bytes)) {
        s->kind = MX_CUT_SCRIPT_SRT;
        return mx_cut_script_cues(s, name, data, bytes);
    }
    MX_TRY(mx_cut_script_add(s, data, bytes, 0, 0));
    if (s->part_count == 0)
        MX_RAISE(MX_ERR_DATA, "give the text that is spoken in the recordings", "%s is empty", name);
out:
    return rc;
}

int mx_cut_script_parse(struct mx_cut_script *s, const char *name, const char *data, size_t bytes)
{
    char *converted = NULL;
    size_t length = bytes;
    int rc = 0;
    *s = (struct mx_cut_script){0};
    if (begins_with(data, bytes, "\xff\xfe") || begins_with(data, bytes, "\xfe\xff"))
        MX_TRY(utf16_convert(name, data, bytes, &converted, &length));
    MX_TRY(parse(s, name, converted != NULL ? converted : data, length));
out:
    mx_free(converted);
    if (rc < 0) mx_cut_script_release(s);
    return rc;
}

int mx_cut_script_read(struct mx_cut_script *s, const char *path)
{
    char *data = NULL;
    size_t bytes;
    int rc = 0;
    *s = (struct mx_cut_script){0};
    MX_TRY(mx_file_read(path, MX_CUT_TEXT_LIMIT, &data, &bytes));
    MX_TRY(mx_cut_script_parse(s, path, data, bytes));
out:
    mx_free(data);
    return rc;
}

void mx_cut_script_release(struct mx_cut_script *s)
{
    mx_free(s->source);
    mx_free(s->parts);
    *s = (struct mx_cut_script){0};
}
