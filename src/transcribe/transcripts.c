/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of transcripts; see transcripts.h.
 */
#include "transcribe/transcripts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <utf8proc.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "text/text.h"

#define HEADER  "file\tbytes\tmtime_ns\tstate\ttext\tsecond\tdifference\tscore\tsuspect\n"
#define COLUMNS 9
#define UNKNOWN "-"

static const char *const state_names[] = {
#define X(identifier, name) [MX_TRANSCRIPT_##identifier] = (name),
    MX_TRANSCRIPT_LIST(X)
#undef X
};

struct mx_transcripts {
    char *path;
    struct mx_string head; /* the lines before the files */
    const struct mx_manifest *files;
    struct mx_transcript *items; /* [files->utterance_count] */
    char **names;                /* the same: file names as they stand in the table */
    uint32_t *by_name;           /* their indices in the order of the names */
    int fd;                      /* -1: nothing was appended yet */
    /* Whoever holds the lock may append to the file: `fd` is at the end of a line. Items need no lock, since each belongs
     * to the worker that recognises its file. */
    pthread_mutex_t lock;
};

/* ---- the names of the files ---- */

static int name_compare(const void *left, const void *right, void *names)
{
    return strcmp(((char **)names)[*(const uint32_t *)left], ((char **)names)[*(const uint32_t *)right]);
}

static int names_build(struct mx_transcripts *t)
{
    const uint32_t count = t->files->utterance_count;
    t->items = mx_alloc(count, sizeof *t->items);
    t->names = mx_alloc(count, sizeof *t->names);
    t->by_name = mx_alloc(count, sizeof *t->by_name);
    if (t->items == NULL || t->names == NULL || t->by_name == NULL) return MX_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        struct mx_string name = {0};
        if (mx_string_append_field(&name, t->files->utterances[i].id, '\t') < 0) return name.failure;
        name.data[name.length - 1] = '\0';
        t->names[i] = name.data;
        t->by_name[i] = i;
        t->items[i] = (struct mx_transcript){.file = &t->files->utterances[i], .difference = NAN, .score = NAN};
    }
    qsort_r(t->by_name, count, sizeof *t->by_name, name_compare, t->names);
    return 0;
}

/* The index of the file, or -1. */
static int64_t name_find(const struct mx_transcripts *t, const char *name)
{
    uint32_t low = 0, high = t->files->utterance_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = strcmp(name, t->names[t->by_name[middle]]);
        if (order == 0) return t->by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

/* ---- reading ---- */

static int damaged(const struct mx_transcripts *t, const char *why)
{
    char quoted[300];
    return MX_FAIL(MX_ERR_DATA, "repair or remove the file; without it, all files are recognised again", "%s: %s",
                   mx_string_quote(quoted, sizeof quoted, t->path), why);
}

/* Whether the table has texts: without any, other commands may take over. */
static bool has_results(const char *data)
{
    return strstr(data, "\tgood\t") != NULL || strstr(data, "\tempty\t") != NULL;
}

static int head_check(const struct mx_transcripts *t, const char *data)
{
    char quoted[300];
    if (strncmp(data, t->head.data, t->head.length) == 0) return 0;
    if (strncmp(data, "# first: ", 9) != 0) return damaged(t, "it is not a table of transcripts");
    if (!has_results(data)) return 0;
    const char *const second = strstr(data, "\n# second: ");
    const size_t first_length = strcspn(data + 9, "\n"),
                 second_length = second != NULL ? strcspn(second + 11, "\n") : 0;
    MX_FAIL(MX_ERR_DATA, NULL, "%s was made with other recognisers", mx_string_quote(quoted, sizeof quoted, t->path));
    return mx_error_hint("give the commands '%.*s'%s%.*s%s to continue, or rename the file to begin again",
                         (int)first_length, data + 9, second_length > 0 ? " and '" : "", (int)second_length,
                         second_length > 0 ? second + 11 : "", second_length > 0 ? "'" : "");
}

static double number_read(const char *text)
{
    double value;
    return mx_string_parse_double(text, &value) == MX_STRING_NUMBER ? value : NAN;
}

static int copy_set(char **to, const char *text)
{
    char *const copy = text != NULL && *text != '\0' ? mx_strdup(text) : NULL;
    if (text != NULL && *text != '\0' && copy == NULL) return MX_ERR_NO_MEMORY;
    mx_free(*to);
    *to = copy;
    return 0;
}

static int line_read(struct mx_transcripts *t, char *line)
{
    char *fields[COLUMNS];
    int64_t bytes, mtime_ns;
    int state = 0, rc = 0;
    for (int i = 0; i < COLUMNS; i++) {
        fields[i] = line;
        if (line == NULL) return damaged(t, "a line lacks fields");
        line = strchr(line, '\t');
        if (line != NULL) *line++ = '\0';
    }
    if (line != NULL) return damaged(t, "a line has more fields than the header");
    while (state < MX_TRANSCRIPT_COUNT && strcmp(fields[3], state_names[state]) != 0) state++;
    if (state == MX_TRANSCRIPT_COUNT || mx_string_parse_int64(fields[1], &bytes) != MX_STRING_NUMBER ||
        mx_string_parse_int64(fields[2], &mtime_ns) != MX_STRING_NUMBER)
        return damaged(t, "a line has a field that is not of its column");
    const int64_t index = name_find(t, fields[0]);
    if (index < 0) return 0; /* the file is gone */
    struct mx_transcript *const item = &t->items[index];
    if ((uint64_t)bytes != item->file->audio_bytes || mtime_ns != item->file->audio_mtime_ns) return 0;
    item->state = (enum mx_transcript_state)state;
    item->difference = number_read(fields[6]);
    item->score = number_read(fields[7]);
    MX_TRY(copy_set(&item->text, fields[4]));
    MX_TRY(copy_set(&item->second, fields[5]));
    MX_TRY(copy_set(&item->suspect, fields[8]));
out:
    return rc;
}

static int table_read(struct mx_transcripts *t)
{
    char *data = NULL;
    size_t bytes;
    int rc = mx_file_read(t->path, MX_TRANSCRIPTS_LIMIT_BYTES, &data, &bytes);
    if (rc == MX_ERR_NOT_FOUND) {
        mx_error_clear();
        return 0;
    }
    MX_TRY(rc);
    if (strlen(data) != bytes) MX_TRY(damaged(t, "it has a zero byte"));
    MX_TRY(head_check(t, data));
    if (!has_results(data)) goto out;
    for (char *at = data + t->head.length, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        *end = '\0';
        MX_TRY(line_read(t, at));
    }
out:
    mx_free(data);
    return rc;
}

int mx_transcripts_open(const struct mx_transcripts_options *options, struct mx_transcripts **out)
{
    struct mx_transcripts *t = NULL;
    int rc = 0;
    *out = NULL;
    if ((t = mx_alloc(1, sizeof *t)) == NULL) return MX_ERR_NO_MEMORY;
    t->fd = -1;
    t->files = options->files;
    pthread_mutex_init(&t->lock, NULL);
    t->path = mx_format("%s/" MX_TRANSCRIPTS_NAME, options->folder);
    if (t->path == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    mx_string_append(&t->head, "# first: ");
    mx_string_append_field(&t->head, options->first, '\n');
    mx_string_append(&t->head, "# second: ");
    mx_string_append_field(&t->head, options->second != NULL ? options->second : "", '\n');
    MX_TRY(mx_string_append(&t->head, HEADER));
    MX_TRY(names_build(t));
    MX_TRY(table_read(t));
    *out = t;
    t = NULL;
out:
    mx_transcripts_close(t);
    return rc;
}

void mx_transcripts_close(struct mx_transcripts *transcripts)
{
    if (transcripts == NULL) return;
    const uint32_t count = transcripts->files->utterance_count;
    if (transcripts->fd >= 0) close(transcripts->fd);
    for (uint32_t i = 0; transcripts->items != NULL && i < count; i++) {
        mx_free(transcripts->items[i].text);
        mx_free(transcripts->items[i].second);
        mx_free(transcripts->items[i].suspect);
    }
    for (uint32_t i = 0; transcripts->names != NULL && i < count; i++) mx_free(transcripts->names[i]);
    mx_free(transcripts->items);
    mx_free(transcripts->names);
    mx_free(transcripts->by_name);
    mx_string_release(&transcripts->head);
    mx_free(transcripts->path);
    pthread_mutex_destroy(&transcripts->lock);
    mx_free(transcripts);
}

uint32_t mx_transcripts_count(const struct mx_transcripts *transcripts)
{
    return transcripts->files->utterance_count;
}

struct mx_transcript *mx_transcripts_at(struct mx_transcripts *transcripts, uint32_t index)
{
    return &transcripts->items[index];
}

/* ---- writing ---- */

static void number_append(struct mx_string *to, double value)
{
    if (isnan(value))
        mx_string_append(to, UNKNOWN "\t");
    else
        mx_string_append(to, "%.4f\t", value);
}

static void line_append(struct mx_string *to, const struct mx_transcript *item)
{
    mx_string_append_field(to, item->file->id, '\t');
    mx_string_append(to, "%" PRIu64 "\t%" PRId64 "\t%s\t", item->file->audio_bytes, item->file->audio_mtime_ns,
                     state_names[item->state]);
    mx_string_append_field(to, item->text != NULL ? item->text : "", '\t');
    mx_string_append_field(to, item->second != NULL ? item->second : "", '\t');
    number_append(to, item->difference);
    number_append(to, item->score);
    mx_string_append_field(to, item->suspect != NULL ? item->suspect : "", '\n');
}

static int write_failed(const struct mx_transcripts *t)
{
    char quoted[300];
    return MX_FAIL(MX_ERR_IO, "is the disk full, or the folder read-only?", "cannot write %s: %s",
                   mx_string_quote(quoted, sizeof quoted, t->path), strerror(errno));
}

/* Opens the file for appending, after its last whole line. */
static int end_open(struct mx_transcripts *t)
{
    int rc = mx_transcripts_save(t); /* lines that were cut short, and those of files that have changed, go */
    if (rc < 0) return rc;
    t->fd = open(t->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    return t->fd >= 0 ? 0 : write_failed(t);
}

int mx_transcripts_append(struct mx_transcripts *transcripts, uint32_t index, enum mx_transcript_state state,
                          const char *text, const char *second)
{
    struct mx_transcript *const item = &transcripts->items[index];
    struct mx_string line = {0};
    int rc = 0;
    pthread_mutex_lock(&transcripts->lock);
    if (transcripts->fd < 0) MX_TRY(end_open(transcripts));
    MX_TRY(copy_set(&item->text, text));
    MX_TRY(copy_set(&item->second, second));
    MX_TRY(copy_set(&item->suspect, NULL));
    item->state = state;
    item->difference = item->score = NAN;
    line_append(&line, item);
    MX_TRY(line.failure);
    if (write(transcripts->fd, line.data, line.length) != (ssize_t)line.length) {
        item->state = MX_TRANSCRIPT_MISSING;
        MX_TRY(write_failed(transcripts));
    }
out:
    pthread_mutex_unlock(&transcripts->lock);
    mx_string_release(&line);
    return rc;
}

int mx_transcript_suspect(struct mx_transcript *transcript, const char *why)
{
    return copy_set(&transcript->suspect, why);
}

int mx_transcripts_save(struct mx_transcripts *transcripts)
{
    struct mx_string text = {0};
    int rc = 0;
    mx_string_append(&text, "%s", transcripts->head.data);
    for (uint32_t i = 0; i < transcripts->files->utterance_count; i++)
        if (transcripts->items[i].state != MX_TRANSCRIPT_MISSING) line_append(&text, &transcripts->items[i]);
    MX_TRY(text.failure);
    MX_TRY(mx_file_write_atomic(transcripts->path, text.data, text.length));
out:
    mx_string_release(&text);
    return rc;
}

/* ---- comparing ---- */

struct words {
    const char **items;
    size_t count, room;
};

/* The words of a text as it is spoken, without capitals, marks and punctuation: recognisers differ in them. */
static int words_find(enum mx_language_id language, const char *text, struct mx_arena *arena, struct words *words)
{
    const utf8proc_option_t fold = UTF8PROC_NULLTERM | UTF8PROC_CASEFOLD | UTF8PROC_STRIPMARK | UTF8PROC_IGNORE |
                                   UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT;
    char *spoken, *kept, *state = NULL;
    utf8proc_uint8_t *folded = NULL;
    int rc = 0;
    MX_TRY(mx_text_normalise(language, text, strlen(text), arena, &spoken, NULL));
    if (utf8proc_map((const utf8proc_uint8_t *)spoken, 0, &folded, fold) < 0) MX_TRY(mx_alloc_failed("folding a text"));
    kept = mx_arena_strdup(arena, (const char *)folded);
    if (kept == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (char *word = strtok_r(kept, " ,.!?;:-'", &state); word != NULL; word = strtok_r(NULL, " ,.!?;:-'", &state)) {
        MX_TRY(MX_GROW(words->items, words->room, words->count + 1));
        words->items[words->count++] = word;
    }
out:
    free(folded);
    return rc;
}

/* Levenshtein distance with one row of memory. */
static int words_compare(const struct words *a, const struct words *b, size_t *distance)
{
    size_t *const row = mx_alloc(b->count + 1, sizeof *row);
    if (row == NULL) return MX_ERR_NO_MEMORY;
    for (size_t j = 0; j <= b->count; j++) row[j] = j;
    for (size_t i = 1; i <= a->count; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b->count; j++) {
            const size_t other = corner + (strcmp(a->items[i - 1], b->items[j - 1]) != 0);
            const size_t skip = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            corner = row[j];
            row[j] = other < skip ? other : skip;
        }
    }
    *distance = row[b->count];
    mx_free(row);
    return 0;
}

int mx_transcript_difference(enum mx_language_id language, const char *first, const char *second, double *out)
{
    struct words a = {0}, b = {0};
    struct mx_arena arena;
    size_t distance = 0;
    int rc = 0;
    mx_arena_init(&arena, 0);
    MX_TRY(words_find(language, first, &arena, &a));
    MX_TRY(words_find(language, second, &arena, &b));
    MX_TRY(words_compare(&a, &b, &distance));
    const size_t longest = a.count > b.count ? a.count : b.count;
    *out = longest > 0 ? (double)distance / (double)longest : 0;
out:
    mx_free((void *)a.items);
    mx_free((void *)b.items);
    mx_arena_release(&arena);
    return rc;
}
