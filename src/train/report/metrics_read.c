/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The one reader of metrics.jsonl, see metrics.h.
 *
 * It has its own scanner instead of cJSON: a run of a million steps has a gigabyte of lines, and the live page reads
 * them during training, so it allocates nothing. It accepts JSON objects of numbers, words, texts and objects of the
 * same, which is all that a line contains; anything else makes the line a damaged one.
 */
#include <math.h>
#include <string.h>

#include "base/string.h"
#include "train/report/metrics.h"

#define STEP_MAX 9e15 /* what JavaScript holds exactly */

struct scan {
    const char *at, *end;
    bool bad;
};

enum kind { KIND_END, KIND_NUMBER, KIND_TEXT, KIND_OBJECT };

struct member {
    const char *key, *text; /* text: of KIND_TEXT, between its quotes */
    size_t key_length, text_length;
    double number; /* of KIND_NUMBER: NAN for null, 1 and 0 for true and false */
};

/* The byte at which the scanner is; 0 at the end. */
static char here(const struct scan *scan)
{
    return scan->at < scan->end ? *scan->at : '\0';
}

static void expect(struct scan *scan, char wanted)
{
    if (here(scan) == wanted)
        scan->at++;
    else
        scan->bad = true;
}

/* Between the quotes, as it is written. */
static size_t string_parse(struct scan *scan, const char **text)
{
    expect(scan, '"');
    *text = scan->at;
    while (!scan->bad && here(scan) != '"') {
        if (here(scan) == '\\') scan->at++;
        if (here(scan) == '\0') scan->bad = true;
        if (!scan->bad) scan->at++;
    }
    const size_t length = (size_t)(scan->at - *text);
    expect(scan, '"');
    return scan->bad ? 0 : length;
}

/* A number or a word, up to what follows it. */
static double number_parse(struct scan *scan)
{
    char word[MX_STRING_DOUBLE_BYTES];
    size_t length = 0;
    double number = NAN;
    for (char c; (c = here(scan)) != '\0' && c != ',' && c != '}' && length < sizeof word; scan->at++)
        word[length++] = c;
    if (length == 0 || length == sizeof word) {
        scan->bad = true;
        return NAN;
    }
    word[length] = '\0';
    if (mx_string_parse_double(word, &number) == MX_STRING_NUMBER) return number;
    if (strcmp(word, "true") == 0) return 1;
    if (strcmp(word, "false") == 0) return 0;
    if (strcmp(word, "null") != 0) scan->bad = true;
    return NAN;
}

/* The next member of the object that the scanner is in; KIND_END after the last one. A KIND_OBJECT has to be read up to
 * its own end before the next call. */
static enum kind member_next(struct scan *scan, struct member *out)
{
    *out = (struct member){.number = NAN};
    if (here(scan) == ',') scan->at++;
    if (here(scan) == '}' || scan->bad) {
        expect(scan, '}');
        return KIND_END;
    }
    out->key_length = string_parse(scan, &out->key);
    expect(scan, ':');
    if (scan->bad) return KIND_END;
    if (here(scan) == '"') {
        out->text_length = string_parse(scan, &out->text);
        return KIND_TEXT;
    }
    if (here(scan) == '{') {
        scan->at++;
        return KIND_OBJECT;
    }
    out->number = number_parse(scan);
    return KIND_NUMBER;
}

static bool key_is(const struct member *m, const char *key)
{
    return strncmp(key, m->key, m->key_length) == 0 && key[m->key_length] == '\0';
}

/* The place of the key in the table, or `count`. Keys stand in the order of the table, mostly: *guess is tried first.
 */
static int key_find(const struct mx_metric *table, int count, const struct member *m, int *guess)
{
    for (int i = 0; i < count; i++) {
        const int at = (*guess + i) % count;
        if (!key_is(m, table[at].key)) continue;
        *guess = at + 1;
        return at;
    }
    return count;
}

/* An object inside of a line, up to its end. */
static void evaluation_read(struct scan *scan, struct mx_metrics_record *out)
{
    struct member m;
    int guess = MX_EVALUATION_METRIC_AT(step) + 1;
    for (enum kind kind; (kind = member_next(scan, &m)) != KIND_END && !scan->bad;) {
        if (kind == KIND_OBJECT) scan->bad = true;
        if (kind != KIND_NUMBER || out == NULL) continue;
        const int at = key_find(mx_evaluation_metric_table, MX_EVALUATION_METRICS, &m, &guess);
        if (at == MX_EVALUATION_METRICS || at == MX_EVALUATION_METRIC_AT(step)) continue;
        out->evaluation.values[at] = m.number;
        out->evaluation_has[at] = true;
    }
    if (out == NULL || out->evaluation.spoken != 0) return;
    for (int i = 0; i < MX_EVALUATION_METRICS; i++) /* older runs wrote 0 where nothing was spoken */
        if (mx_evaluation_metric_table[i].presence == MX_METRIC_MEASURED) out->evaluation.values[i] = NAN;
}

bool mx_metrics_read(const char *line, size_t length, struct mx_metrics_record *out)
{
    struct scan scan = {.at = line, .end = line + length};
    struct member m;
    int guess = 0;
    *out = (struct mx_metrics_record){0};
    for (int i = 0; i < MX_STEP_METRICS; i++) out->step.values[i] = NAN;
    for (int i = 0; i < MX_EVALUATION_METRICS; i++) out->evaluation.values[i] = NAN;
    expect(&scan, '{');
    for (enum kind kind; !scan.bad && (kind = member_next(&scan, &m)) != KIND_END;) {
        if (kind == KIND_NUMBER) {
            const int at = key_find(mx_step_metric_table, MX_STEP_METRICS, &m, &guess);
            if (at < MX_STEP_METRICS) out->step.values[at] = m.number;
        } else if (kind == KIND_OBJECT) {
            const bool known = key_is(&m, "evaluation");
            out->is_evaluation = out->is_evaluation || known;
            evaluation_read(&scan, known ? out : NULL);
        } else if (key_is(&m, "leak")) {
            out->leak = m.text;
            out->leak_length = m.text_length;
        }
    }
    if (scan.bad || scan.at != scan.end || !(out->step.step >= 0 && out->step.step < STEP_MAX)) return false;
    out->evaluation.step = out->step.step;
    out->evaluation_has[MX_EVALUATION_METRIC_AT(step)] = true;
    return true;
}
