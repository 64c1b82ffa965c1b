/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * metrics.jsonl in the form that the page needs, see page.h: arrays of at most MX_PAGE_POINTS values, however long the
 * run. The file is never in memory as a whole: a run may have a hundred thousand lines, and the live page reads them
 * during training.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "observe/json.h"
#include "observe/page/page.h"
#include "observe/page/page_internal.h"
#include "train/report/metrics.h"

#define LINE_MAX_BYTES  ((size_t)64 << 10) /* longer lines are damaged */
#define OWNER_BYTES     64                 /* of memory that grows: names of ours */
#define EVALUATIONS_MAX 400
#define LEAKS_MAX       20

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
    double *values;              /* [MX_STEP_METRICS, MX_PAGE_POINTS] */
    uint32_t *counts;            /* the same: values in a point */
    size_t damaged, evaluations; /* lines */
};

static void column_add(struct series *s, size_t column, double value)
{
    const size_t at = column * MX_PAGE_POINTS + s->points - 1;
    const enum mx_metric_rule rule = mx_step_metric_table[column].rule;
    double *const to = &s->values[at];
    if (isnan(value) || rule == MX_METRIC_UNSEEN) return;
    if (s->counts[at]++ == 0)
        *to = value;
    else if (rule == MX_METRIC_MEAN)
        *to += (value - *to) / s->counts[at];
    else if (rule == MX_METRIC_SUM)
        *to += value;
    else if (rule == MX_METRIC_LAST || value > *to)
        *to = value;
}

static void point_begin(struct series *s)
{
    s->points++;
    for (size_t c = 0; c < MX_STEP_METRICS; c++) s->counts[c * MX_PAGE_POINTS + s->points - 1] = 0;
}

struct leak {
    int64_t step;
    char owner[OWNER_BYTES];
    size_t owner_bytes;
    double bytes;
};

static void leak_keep(struct leak *leak, const struct mx_metrics_record *record)
{
    *leak = (struct leak){.step = (int64_t)record->step.step, .bytes = record->step.leak_bytes};
    if (record->leak == NULL || record->leak_length >= sizeof leak->owner) return;
    leak->owner_bytes = record->leak_length;
    memcpy(leak->owner, record->leak, leak->owner_bytes);
}

/* One line: a step goes into the series, evaluations are only counted here. False: it cannot be read. */
static bool line_read(struct series *s, const char *line, const char *end, struct leak *leak)
{
    struct mx_metrics_record record;
    if (!mx_metrics_read(line, (size_t)(end - line), &record)) return false;
    leak_keep(leak, &record);
    if (record.is_evaluation) {
        s->evaluations++;
        return true;
    }
    if (s->steps % s->per == 0) point_begin(s);
    s->steps++;
    for (size_t c = 0; c < MX_STEP_METRICS; c++) column_add(s, c, record.step.values[c]);
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
    for (size_t c = 0; c < MX_STEP_METRICS; c++) {
        const double *const values = s->values + c * MX_PAGE_POINTS;
        const uint32_t *const counts = s->counts + c * MX_PAGE_POINTS;
        bool any = false;
        for (size_t i = 0; i < s->points; i++) any = any || counts[i] > 0;
        if (!any) continue;
        mx_json_begin(out, mx_step_metric_table[c].key, '[');
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

/* ---- evaluations and leaks: a second pass over the lines ---- */

/* The evaluation of the line; nothing if the line has none that is readable. */
static void evaluation_put(const char *line, const char *end, struct mx_string *out)
{
    struct mx_metrics_record record;
    if (!mx_metrics_read(line, (size_t)(end - line), &record) || !record.is_evaluation) return;
    mx_json_begin(out, NULL, '{');
    mx_json_count(out, "step", (int64_t)record.step.step);
    for (int i = MX_EVALUATION_METRIC_AT(step) + 1; i < MX_EVALUATION_METRICS; i++)
        if (record.evaluation_has[i])
            mx_json_number(out, mx_evaluation_metric_table[i].key, record.evaluation.values[i]);
    mx_json_end(out, '}');
}

/* Is this one of the at most `most` that are taken of `all`, evenly, the last one always? */
static bool chosen(size_t index, size_t all, size_t most)
{
    return all <= most || (index + 1) * most / all > index * most / all;
}

/* Of the first `lines` lines. */
static void evaluations_put(struct lines *source, FILE *metrics, size_t lines, size_t all, struct mx_string *out)
{
    static const char word[] = MX_METRICS_EVALUATION "{";
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

static void metrics_put(const struct mx_metric *table, int count, struct mx_string *out)
{
    static const char *const rules[] = {
        [MX_METRIC_MEAN] = "mean", [MX_METRIC_LAST] = "last", [MX_METRIC_HIGHEST] = "highest", [MX_METRIC_SUM] = "sum"};
    for (int i = 0; i < count; i++) {
        if (table[i].rule == MX_METRIC_UNSEEN && table[i].chart == NULL) continue;
        mx_json_begin(out, NULL, '{');
        mx_json_string(out, "key", table[i].key);
        if (table[i].rule != MX_METRIC_UNSEEN) mx_json_string(out, "rule", rules[table[i].rule]);
        if (table[i].chart != NULL) mx_json_string(out, "chart", table[i].chart);
        if (table[i].loss) mx_json_string(out, "chart", "loss");
        if (table[i].percent) mx_json_truth(out, "percent", true);
        mx_json_end(out, '}');
    }
}

void mx_page_metrics(struct mx_string *out)
{
    mx_json_begin(out, "metrics", '[');
    metrics_put(mx_step_metric_table, MX_STEP_METRICS, out);
    metrics_put(mx_evaluation_metric_table, MX_EVALUATION_METRICS, out);
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
    s.values = mx_alloc(MX_STEP_METRICS * MX_PAGE_POINTS, sizeof *s.values);
    s.counts = mx_alloc(MX_STEP_METRICS * MX_PAGE_POINTS, sizeof *s.counts);
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
