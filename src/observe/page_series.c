/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * metrics.jsonl as the page wants it, see page.h: arrays of at most MX_PAGE_POINTS values, whatever the length of the
 * run. The lines are read by a scanner of their own, since a run may have a hundred thousand of them and the live page
 * reads them while training goes on: it takes no memory for a line, and the file never lies in memory as a whole.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "observe/json.h"
#include "observe/page.h"
#include "observe/page_internal.h"

#define LINE_MAX_BYTES  ((size_t)64 << 10) /* longer lines are damaged */
#define OWNER_BYTES     64                 /* of memory that grows: names of ours */
#define EVALUATIONS_MAX 400
#define LEAKS_MAX       20
#define TOKEN_BYTES     40 /* of a number, with its zero */

/* ---- lines ---- */

/* A member of an object; both parts point into the line. The quotes of strings are not part of them. */
struct pair {
    const char *key, *value;
    size_t key_bytes, value_bytes;
};

/* Where the string that begins after its quote ends: at its other quote; NULL: it does not. */
static const char *string_end(const char *at, const char *end)
{
    for (; at < end; at++) {
        if (*at == '\\')
            at++;
        else if (*at == '"')
            return at;
    }
    return NULL;
}

/* The members of the flat objects that train/metrics.c writes: numbers, words, strings, and objects of the same kind.
 * *at stands before a member. False: it is the end of the object, or, with *at == NULL, something else. */
static bool pair_next(const char **at, const char *end, struct pair *out)
{
    const char *from = *at;
    if (from < end && *from == ',') from++;
    if (from < end && *from == '}') return false;
    *at = NULL;
    if (from >= end || *from != '"') return false;
    const char *const key_end = string_end(from + 1, end);
    if (key_end == NULL || key_end + 2 >= end || key_end[1] != ':') return false;
    const char *value = key_end + 2, *value_end = value, *next;
    if (*value == '"') {
        value++;
        value_end = string_end(value, end);
        if (value_end == NULL) return false;
        next = value_end + 1;
    } else if (*value == '{') {
        value_end = memchr(value, '}', (size_t)(end - value));
        if (value_end == NULL) return false;
        next = ++value_end;
    } else {
        while (value_end < end && *value_end != ',' && *value_end != '}') value_end++;
        next = value_end;
    }
    *out = (struct pair){from + 1, value, (size_t)(key_end - from - 1), (size_t)(value_end - value)};
    *at = next;
    return true;
}

static bool key_is(const struct pair *pair, const char *key)
{
    return strlen(key) == pair->key_bytes && memcmp(key, pair->key, pair->key_bytes) == 0;
}

/* NaN for null; *good becomes false for what is no value of ours. */
static double value_of(const struct pair *pair, bool *good)
{
    char token[TOKEN_BYTES];
    double number = NAN;
    if (pair->value_bytes >= sizeof token) {
        *good = false;
        return NAN;
    }
    memcpy(token, pair->value, pair->value_bytes);
    token[pair->value_bytes] = '\0';
    if (strcmp(token, "null") == 0) return NAN;
    if (strcmp(token, "true") == 0) return 1;
    if (strcmp(token, "false") == 0) return 0;
    if (mx_string_parse_double(token, &number) != MX_STRING_NUMBER) *good = false;
    return number;
}

/* ---- series ---- */

enum rule { MEAN, LAST, HIGHEST, SUM };

/* X(key, how several become one); "step" comes first. */
#define COLUMNS(X)                                                                                                     \
    X(step, LAST)                                                                                                      \
    X(time, LAST)                                                                                                      \
    X(epoch, LAST)                                                                                                     \
    X(steps, LAST)                                                                                                     \
    X(loss, MEAN)                                                                                                      \
    X(mel, MEAN)                                                                                                       \
    X(prior, MEAN)                                                                                                     \
    X(duration, MEAN)                                                                                                  \
    X(pitch, MEAN)                                                                                                     \
    X(energy, MEAN)                                                                                                    \
    X(lr, MEAN)                                                                                                        \
    X(grad_norm, HIGHEST)                                                                                              \
    X(skipped, SUM)                                                                                                    \
    X(left_out, SUM)                                                                                                   \
    X(utterances, SUM)                                                                                                 \
    X(frames, SUM)                                                                                                     \
    X(step_ms, MEAN)                                                                                                   \
    X(data_wait_ms, MEAN)                                                                                              \
    X(frames_per_s, MEAN)                                                                                              \
    X(data_busy, MEAN)                                                                                                 \
    X(model_busy, MEAN)                                                                                                \
    X(data_wait, MEAN)                                                                                                 \
    X(transfer, MEAN)                                                                                                  \
    X(transfer_hidden, MEAN)                                                                                           \
    X(loaded, MEAN)                                                                                                    \
    X(prepared, MEAN)                                                                                                  \
    X(arrived, MEAN)                                                                                                   \
    X(loaded_limit, LAST)                                                                                              \
    X(prepared_limit, LAST)                                                                                            \
    X(arrived_limit, LAST)                                                                                             \
    X(data_bytes, HIGHEST)                                                                                             \
    X(model_bytes, HIGHEST)                                                                                            \
    X(data_limit_bytes, LAST)                                                                                          \
    X(model_limit_bytes, LAST)

static const struct {
    const char *key;
    enum rule rule;
} columns[] = {
#define X(key, rule) {#key, rule},
    COLUMNS(X)
#undef X
};
#define COLUMN_COUNT (sizeof columns / sizeof columns[0])

/* ---- lines, piece by piece ---- */

/* The file may be larger than the memory, and it may grow meanwhile. */
struct lines {
    FILE *file;
    size_t at, used; /* of the block: where the next line begins, and where what was read ends */
    bool skipping;   /* the beginning of a line that is too long was dropped */
    bool over;
    char block[LINE_MAX_BYTES];
};

struct line {
    const char *text, *end; /* of one that is too long: nothing is left */
    bool whole;             /* false: the last one, which has no end yet */
};

static void lines_begin(struct lines *l, FILE *file)
{
    rewind(file);
    l->file = file;
    l->at = l->used = 0;
    l->skipping = l->over = false;
}

static bool lines_next(struct lines *l, struct line *out)
{
    for (;;) {
        const char *const newline = memchr(l->block + l->at, '\n', l->used - l->at);
        if (newline != NULL) {
            *out = (struct line){l->block + l->at, l->skipping ? l->block + l->at : newline, true};
            l->at = (size_t)(newline - l->block) + 1;
            l->skipping = false;
            return true;
        }
        l->used -= l->at;
        memmove(l->block, l->block + l->at, l->used);
        l->at = 0;
        if (l->over) {
            *out = (struct line){l->block, l->block, false};
            const bool more = l->used > 0 || l->skipping;
            l->used = 0;
            l->skipping = false;
            return more;
        }
        if (l->used == sizeof l->block) {
            l->skipping = true;
            l->used = 0;
        }
        const size_t got = fread(l->block + l->used, 1, sizeof l->block - l->used, l->file);
        l->used += got;
        l->over = got == 0;
    }
}

/* What the lines become. */
struct series {
    size_t per, points;          /* steps of a point; points that are begun */
    size_t steps;                /* lines of steps so far */
    double *values;              /* [COLUMN_COUNT, MX_PAGE_POINTS] */
    uint32_t *counts;            /* the same: values in a point */
    size_t damaged, evaluations; /* lines */
};

static void column_add(struct series *s, size_t column, double value)
{
    const size_t at = column * MX_PAGE_POINTS + s->points - 1;
    double *const to = &s->values[at];
    if (isnan(value)) return;
    if (s->counts[at]++ == 0)
        *to = value;
    else if (columns[column].rule == MEAN)
        *to += (value - *to) / s->counts[at];
    else if (columns[column].rule == SUM)
        *to += value;
    else if (columns[column].rule == LAST || value > *to)
        *to = value;
}

static void point_begin(struct series *s)
{
    s->points++;
    for (size_t c = 0; c < COLUMN_COUNT; c++) s->counts[c * MX_PAGE_POINTS + s->points - 1] = 0;
}

/* Is it a number of a step, and one that JavaScript can hold? */
static bool step_plain(double step)
{
    return step >= 0 && step < 9e15;
}

struct leak {
    int64_t step;
    char owner[OWNER_BYTES];
    size_t owner_bytes;
    double bytes;
};

static void owner_keep(struct leak *leak, const struct pair *pair)
{
    leak->owner_bytes = pair->value_bytes < sizeof leak->owner ? pair->value_bytes : 0;
    memcpy(leak->owner, pair->value, leak->owner_bytes);
}

/* One line: a step goes into the series, evaluations are only counted here. False: it cannot be read. */
static bool line_read(struct series *s, const char *line, const char *end, struct leak *leak)
{
    struct pair pair;
    double row[COLUMN_COUNT];
    bool good = true, evaluation = false;
    const char *at = line + 1;
    if (line >= end || *line != '{') return false;
    for (size_t c = 0; c < COLUMN_COUNT; c++) row[c] = NAN;
    *leak = (struct leak){0};
    size_t guess = 0; /* the keys stand in the order of the table, mostly */
    while (good && pair_next(&at, end, &pair)) {
        if (key_is(&pair, "evaluation")) evaluation = true;
        if (key_is(&pair, "leak")) owner_keep(leak, &pair);
        if (key_is(&pair, "leak_bytes")) leak->bytes = value_of(&pair, &good);
        for (size_t i = 0; i < COLUMN_COUNT; i++) {
            const size_t c = (guess + i) % COLUMN_COUNT;
            if (!key_is(&pair, columns[c].key)) continue;
            row[c] = value_of(&pair, &good);
            guess = c + 1;
            break;
        }
    }
    if (at == NULL || !good || !step_plain(row[0])) return false;
    leak->step = (int64_t)row[0];
    if (evaluation) {
        s->evaluations++;
        return true;
    }
    if (s->steps % s->per == 0) point_begin(s);
    s->steps++;
    for (size_t c = 0; c < COLUMN_COUNT; c++) column_add(s, c, row[c]);
    return true;
}

static void value_put(struct mx_string *out, double value)
{
    if (value == floor(value) && fabs(value) < 9e15)
        mx_json_count(out, NULL, (int64_t)value);
    else
        mx_json_number(out, NULL, value);
}

static void series_put(const struct series *s, struct mx_string *out)
{
    mx_json_begin(out, "series", '{');
    for (size_t c = 0; c < COLUMN_COUNT; c++) {
        const double *const values = s->values + c * MX_PAGE_POINTS;
        const uint32_t *const counts = s->counts + c * MX_PAGE_POINTS;
        bool any = false;
        for (size_t i = 0; i < s->points; i++) any = any || counts[i] > 0;
        if (!any) continue;
        mx_json_begin(out, columns[c].key, '[');
        for (size_t i = 0; i < s->points; i++) {
            if (counts[i] > 0)
                value_put(out, values[i]);
            else
                mx_json_null(out, NULL);
        }
        mx_json_end(out, ']');
    }
    mx_json_end(out, '}');
    mx_json_count(out, "per", (int64_t)s->per);
}

/* ---- evaluations and leaks: a second look at the lines ---- */

/* Keys are written as they are: only those that can be. */
static bool key_plain(const struct pair *pair)
{
    for (size_t i = 0; i < pair->key_bytes; i++)
        if (pair->key[i] != '_' && (pair->key[i] < 'a' || pair->key[i] > 'z')) return false;
    return true;
}

/* The members of "evaluation", with the step before them. */
static void evaluation_put(const char *line, const char *end, struct mx_string *out)
{
    struct pair pair, inner;
    const char *at = line + 1;
    double step = 0;
    bool good = true;
    while (pair_next(&at, end, &pair)) {
        if (key_is(&pair, "step")) step = value_of(&pair, &good);
        if (!key_is(&pair, "evaluation") || pair.value_bytes < 2 || !step_plain(step)) continue;
        const char *from = pair.value + 1, *const to = pair.value + pair.value_bytes;
        mx_json_begin(out, NULL, '{');
        mx_json_count(out, "step", (int64_t)step);
        while (pair_next(&from, to, &inner)) {
            char key[TOKEN_BYTES];
            if (inner.key_bytes >= sizeof key || !key_plain(&inner)) continue;
            memcpy(key, inner.key, inner.key_bytes);
            key[inner.key_bytes] = '\0';
            mx_json_number(out, key, value_of(&inner, &good));
        }
        mx_json_end(out, '}');
    }
}

/* Is this one of the at most `most` that are taken of `all`, evenly, the last one always? */
static bool chosen(size_t index, size_t all, size_t most)
{
    return all <= most || (index + 1) * most / all > index * most / all;
}

/* Of the first `lines` lines. */
static void evaluations_put(struct lines *source, FILE *metrics, size_t lines, size_t all, struct mx_string *out)
{
    static const char word[] = ",\"evaluation\":{";
    size_t index = 0;
    struct line line;
    mx_json_begin(out, "evaluations", '[');
    lines_begin(source, metrics);
    for (size_t i = 0; i < lines && lines_next(source, &line) && line.whole; i++) {
        if (memmem(line.text, (size_t)(line.end - line.text), word, sizeof word - 1) == NULL) continue;
        if (chosen(index++, all, EVALUATIONS_MAX)) evaluation_put(line.text, line.end, out);
    }
    mx_json_end(out, ']');
}

static void leaks_put(const struct leak *leaks, size_t count, struct mx_string *out)
{
    mx_json_begin(out, "leaks", '[');
    for (size_t i = 0; i < count; i++) {
        mx_json_begin(out, NULL, '{');
        mx_json_count(out, "step", leaks[i].step);
        mx_json_bytes(out, "owner", leaks[i].owner, leaks[i].owner_bytes);
        mx_json_number(out, "bytes", leaks[i].bytes);
        mx_json_end(out, '}');
    }
    mx_json_end(out, ']');
}

int mx_page_series(FILE *metrics, struct mx_string *out)
{
    int rc = 0;
    struct series s = {.per = 1};
    struct leak leaks[LEAKS_MAX], leak;
    struct line line;
    size_t lines = 0, leak_count = 0;
    struct lines *const source = mx_alloc(1, sizeof *source);
    s.values = mx_alloc(COLUMN_COUNT * MX_PAGE_POINTS, sizeof *s.values);
    s.counts = mx_alloc(COLUMN_COUNT * MX_PAGE_POINTS, sizeof *s.counts);
    if (source == NULL || s.values == NULL || s.counts == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    lines_begin(source, metrics);
    while (lines_next(source, &line)) lines += line.whole;
    s.per = lines <= MX_PAGE_POINTS ? 1 : (lines + MX_PAGE_POINTS - 1) / MX_PAGE_POINTS;
    lines_begin(source, metrics);
    for (size_t i = 0; i <= lines && lines_next(source, &line); i++) {
        if (i == lines && line.whole) break; /* it has grown meanwhile */
        if (!line.whole || !line_read(&s, line.text, line.end, &leak))
            s.damaged++;
        else if (leak.owner_bytes > 0 && leak_count < LEAKS_MAX)
            leaks[leak_count++] = leak;
    }
    series_put(&s, out);
    evaluations_put(source, metrics, lines, s.evaluations, out);
    leaks_put(leaks, leak_count, out);
    mx_json_count(out, "damaged", (int64_t)s.damaged);
    rc = out->failure;
out:
    mx_free(source);
    mx_free(s.values);
    mx_free(s.counts);
    return rc;
}
