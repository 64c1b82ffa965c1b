/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading a file of decisions; see decisions.h for the format.
 */
#include "corpus/manifest/decisions.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/string.h"
#include "corpus/manifest/manifest_internal.h"
#include "myxtts/error.h"

#define COLUMNS      4
#define QUOTED_BYTES 120

static const char *const column_names[COLUMNS] = {"id", "decision", "text", "note"};
static const char *const kind_names[MX_DECISION_COUNT] = {
#define X(identifier, name) name,
    MX_DECISION_LIST(X)
#undef X
};

struct mx_decisions {
    const char *path;
    struct mx_decision *items; /* in the order of the lines */
    uint32_t count;
    size_t room;
    const struct mx_decision **by_id; /* the same, in byte order of the ids */
    struct mx_arena arena;
};

/* ---- one line ---- */

static int __attribute__((format(printf, 4, 5)))
refuse(const struct mx_decisions *decisions, uint32_t line, const char *hint, const char *fmt, ...)
{
    char text[400];
    va_list list;
    va_start(list, fmt);
    (void)vsnprintf(text, sizeof text, fmt, list);
    va_end(list);
    return MX_FAIL(MX_ERR_DATA, hint, "%s:%" PRIu32 ": %s", decisions->path, line, text);
}

/* The fields of a line as strings of the arena, without blanks at their ends; missing ones are "". */
static int fields_parse(struct mx_decisions *decisions, uint32_t number, struct mx_manifest_span line,
                        const char *fields[COLUMNS])
{
    const char *begin = line.at, *const end = line.at + line.length;
    const size_t fault = mx_utf8_check(line.at, line.length);
    if (fault < line.length)
        return refuse(decisions, number, "save the file as UTF-8", "byte %zu of the line, 0x%02X, is not UTF-8",
                      fault + 1, (unsigned char)line.at[fault]);
    if (memchr(line.at, '\0', line.length) != NULL)
        return refuse(decisions, number, "save the file as text", "the line holds a zero byte");
    for (size_t i = 0; i < COLUMNS; i++) {
        const char *const tab = memchr(begin, '\t', (size_t)(end - begin));
        const char *stop = tab == NULL ? end : tab;
        if (tab != NULL && i + 1 == COLUMNS)
            return refuse(decisions, number, "separate the four fields id, decision, text and note by one tab each",
                          "the line has more than %d fields", COLUMNS);
        while (begin < stop && (*begin == ' ' || *begin == '\r')) begin++;
        while (begin < stop && (stop[-1] == ' ' || stop[-1] == '\r')) stop--;
        fields[i] = mx_arena_strndup(&decisions->arena, begin, (size_t)(stop - begin));
        if (fields[i] == NULL) return MX_ERR_NO_MEMORY;
        begin = tab == NULL ? end : tab + 1;
    }
    return 0;
}

static int header_check(const struct mx_decisions *decisions, uint32_t line, const char *const fields[COLUMNS])
{
    for (size_t i = 0; i < COLUMNS; i++)
        if (strcasecmp(fields[i], column_names[i]) != 0 && (i < 2 || fields[i][0] != '\0'))
            return refuse(decisions, line, "the first line is: id, decision, text, note, with tabs between them",
                          "the header line is missing");
    return 0;
}

static int decision_add(struct mx_decisions *decisions, uint32_t line, const char *const fields[COLUMNS])
{
    char quoted[QUOTED_BYTES];
    struct mx_decision made = {.id = fields[0], .text = fields[2], .note = fields[3], .line = line};
    if (made.id[0] == '\0') return refuse(decisions, line, "begin the line with the id of a row", "there is no id");
    for (int i = 1; i < MX_DECISION_COUNT; i++)
        if (strcasecmp(fields[1], kind_names[i]) == 0) made.kind = (enum mx_decision_kind)i;
    if (made.kind == MX_DECISION_NONE)
        return refuse(decisions, line, "write keep, drop or fix in the second field", "%s is no decision",
                      mx_string_quote(quoted, sizeof quoted, fields[1]));
    if (made.kind == MX_DECISION_FIX && made.text[0] == '\0')
        return refuse(decisions, line, "write what is said in the third field, or 'drop' in the second",
                      "fix needs a text");
    if (made.kind != MX_DECISION_FIX && made.text[0] != '\0')
        return refuse(decisions, line, "write 'fix' to use the text, or leave the third field empty",
                      "%s does not take a text", mx_decision_name(made.kind));
    if (MX_GROW(decisions->items, decisions->room, (size_t)decisions->count + 1) < 0) return MX_ERR_NO_MEMORY;
    decisions->items[decisions->count++] = made;
    return 0;
}

/* ---- the whole ---- */

static int id_compare(const void *left, const void *right)
{
    const struct mx_decision *const a = *(const struct mx_decision *const *)left;
    const struct mx_decision *const b = *(const struct mx_decision *const *)right;
    const int order = strcmp(a->id, b->id);
    return order != 0 ? order : (a->line > b->line) - (a->line < b->line);
}

/* Sorts by id; two decisions about one id are an error. */
static int ids_sort(struct mx_decisions *decisions)
{
    char quoted[QUOTED_BYTES];
    decisions->by_id = mx_alloc(decisions->count, sizeof(const struct mx_decision *));
    if (decisions->by_id == NULL) return MX_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < decisions->count; i++) decisions->by_id[i] = &decisions->items[i];
    qsort((void *)decisions->by_id, decisions->count, sizeof decisions->by_id[0], id_compare);
    for (uint32_t i = 1; i < decisions->count; i++) {
        const struct mx_decision *const one = decisions->by_id[i - 1], *const two = decisions->by_id[i];
        if (strcmp(one->id, two->id) == 0)
            return refuse(decisions, two->line, "remove one of the two lines", "line %" PRIu32 " decides about %s, too",
                          one->line, mx_string_quote(quoted, sizeof quoted, two->id));
    }
    return 0;
}

int mx_decisions_parse(const char *name, const char *data, size_t bytes, struct mx_decisions **out)
{
    int rc = 0;
    uint32_t number = 0;
    bool header = false;
    struct mx_manifest_span line;
    size_t at = bytes >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    struct mx_decisions *decisions = mx_alloc(1, sizeof *decisions);
    *out = NULL;
    if (decisions == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    mx_arena_init(&decisions->arena, 0);
    decisions->path = mx_arena_strdup(&decisions->arena, name);
    if (decisions->path == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    while (mx_manifest_line_next(data, bytes, &at, &line)) {
        const char *fields[COLUMNS];
        number++;
        if (mx_manifest_line_blank(line)) continue;
        MX_TRY(fields_parse(decisions, number, line, fields));
        if (header)
            MX_TRY(decision_add(decisions, number, fields));
        else
            MX_TRY(header_check(decisions, number, fields));
        header = true;
    }
    MX_TRY(ids_sort(decisions));
    *out = decisions;
    decisions = NULL;
out:
    mx_decisions_close(decisions);
    return rc;
}

int mx_decisions_open(const char *path, struct mx_decisions **out)
{
    int rc = 0;
    char *data = NULL;
    size_t bytes = 0;
    *out = NULL;
    MX_TRY(mx_file_read(path, MX_DECISIONS_LIMIT_BYTES, &data, &bytes));
    MX_TRY(mx_decisions_parse(path, data, bytes, out));
out:
    mx_free(data);
    return rc;
}

void mx_decisions_close(struct mx_decisions *decisions)
{
    if (decisions == NULL) return;
    mx_free(decisions->items);
    mx_free((void *)decisions->by_id);
    mx_arena_release(&decisions->arena);
    mx_free(decisions);
}

/* ---- asking ---- */

const char *mx_decisions_path(const struct mx_decisions *decisions)
{
    return decisions->path;
}

uint32_t mx_decisions_count(const struct mx_decisions *decisions)
{
    return decisions == NULL ? 0 : decisions->count;
}

const struct mx_decision *mx_decisions_at(const struct mx_decisions *decisions, uint32_t index)
{
    return &decisions->items[index];
}

const struct mx_decision *mx_decisions_find(const struct mx_decisions *decisions, const char *id, size_t length)
{
    uint32_t low = 0, high = mx_decisions_count(decisions);
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const char *const other = decisions->by_id[middle]->id;
        int order = strncmp(id, other, length);
        if (order == 0 && other[length] != '\0') order = -1;
        if (order == 0) return decisions->by_id[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const char *mx_decision_name(enum mx_decision_kind kind)
{
    return (size_t)kind < MX_DECISION_COUNT ? kind_names[kind] : "unknown";
}
