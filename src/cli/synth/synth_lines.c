/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lines that become files, see synth_lines.h.
 */
#include "cli/synth/synth_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/string.h"
#include "myxtts/error.h"

#define NAME_MAX_BYTES 200 /* of a file without its ending; file systems take 255, temporary names are longer */

/* Length of the name that the line begins with, before its '|'; 0: it has none. */
static size_t name_length(const char *line, size_t length)
{
    size_t n = 0;
    for (; n < length && line[n] != '|'; n++) {
        const char c = line[n];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (!letter && !((c == '-' || c == '.') && n > 0)) return 0;
    }
    return n < length && n <= NAME_MAX_BYTES ? n : 0;
}

static bool is_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (strchr(" \t\r", text[i]) == NULL) return false;
    return true;
}

/* The next line of the text from *at on, without its end. */
static bool line_next(const char *text, size_t length, size_t *at, const char **line, size_t *count)
{
    if (*at >= length) return false;
    const char *const end = memchr(text + *at, '\n', length - *at);
    *line = text + *at;
    *count = end != NULL ? (size_t)(end - *line) : length - *at;
    *at += *count + 1;
    if (*count > 0 && (*line)[*count - 1] == '\r') (*count)--;
    return true;
}

static int name_compare(const void *a, const void *b)
{
    const struct mx_synth_line *const x = *(const struct mx_synth_line *const *)a;
    const struct mx_synth_line *const y = *(const struct mx_synth_line *const *)b;
    const int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->number > y->number) - (x->number < y->number);
}

/* Two lines that would become the same file are a mistake that must not go unseen. */
static int names_check(const struct mx_synth_lines *lines)
{
    int rc = 0;
    const struct mx_synth_line **const order = mx_alloc(lines->count, sizeof(const struct mx_synth_line *));
    if (order == NULL) return MX_ERR_NO_MEMORY;
    for (size_t i = 0; i < lines->count; i++) order[i] = &lines->lines[i];
    qsort(order, lines->count, sizeof(const struct mx_synth_line *), name_compare);
    for (size_t i = 1; i < lines->count; i++)
        if (strcmp(order[i - 1]->name, order[i]->name) == 0)
            MX_RAISE(MX_ERR_DATA, "give each line a name of its own", "lines %zu and %zu of the text both become %s",
                     order[i - 1]->number, order[i]->number, order[i]->name);
out:
    mx_free(order);
    return rc;
}

static int line_name(struct mx_synth_lines *lines, struct mx_synth_line *line, size_t own, int digits,
                     const char *ending)
{
    char number[32];
    const int written = own > 0 ? 0 : snprintf(number, sizeof number, "%0*zu", digits, line->number);
    const size_t length = own > 0 ? own : (size_t)written;
    char *const name = mx_arena_alloc(&lines->arena, length + strlen(ending) + sizeof ".", 1);
    if (name == NULL) return MX_ERR_NO_MEMORY;
    memcpy(name, own > 0 ? line->text : number, length);
    name[length] = '.';
    memcpy(name + length + 1, ending, strlen(ending) + 1);
    line->name = name;
    if (own == 0) return 0;
    line->text += own + 1;
    line->length -= own + 1;
    return 0;
}

int mx_synth_lines_read(const char *text, size_t length, const char *ending, struct mx_synth_lines *out)
{
    int rc = 0, digits = 3;
    const char *line;
    size_t at = 0, count, all = 0, number = 0;
    *out = (struct mx_synth_lines){0};
    mx_arena_init(&out->arena, 0);
    while (line_next(text, length, &at, &line, &count)) all++;
    for (size_t least = 1000; all >= least; least *= 10) digits++;
    out->lines = mx_alloc(all, sizeof *out->lines);
    if (all > 0 && out->lines == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (at = 0; line_next(text, length, &at, &line, &count);) {
        struct mx_synth_line one = {.text = line, .length = count, .number = ++number};
        const size_t own = name_length(line, count);
        if (is_blank(line + (own > 0 ? own + 1 : 0), count - (own > 0 ? own + 1 : 0))) {
            out->blank++;
            continue;
        }
        MX_TRY(line_name(out, &one, own, digits, ending));
        out->lines[out->count++] = one;
    }
    if (out->count == 0)
        MX_RAISE(MX_ERR_DATA, "give a text with words or numbers", "the text has no line that could be spoken");
    MX_TRY(names_check(out));
out:
    if (rc < 0) mx_synth_lines_release(out);
    return rc;
}

void mx_synth_lines_release(struct mx_synth_lines *lines)
{
    mx_free(lines->lines);
    mx_arena_release(&lines->arena);
    *lines = (struct mx_synth_lines){0};
}

int mx_synth_lines_list(const struct mx_synth_lines *lines, const char *folder)
{
    int rc = 0;
    struct mx_string list = {0};
    char *const path = mx_format("%s/" MX_SYNTH_LIST, folder);
    if (path == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    mx_string_append(&list, "file\tseconds\ttext\n");
    for (size_t i = 0; i < lines->count; i++) {
        const struct mx_synth_line *const line = &lines->lines[i];
        if (line->seconds <= 0) continue;
        mx_string_append(&list, "%s\t%.3f\t", line->name, line->seconds);
        const size_t from = list.length;
        mx_string_append(&list, "%.*s\n", (int)line->length, line->text);
        for (size_t k = from; list.failure == 0 && k < list.length; k++)
            if (list.data[k] == '\t') list.data[k] = ' ';
    }
    MX_TRY(list.failure);
    MX_TRY(mx_file_write_atomic(path, list.data, list.length));
out:
    mx_string_release(&list);
    mx_free(path);
    return rc;
}
