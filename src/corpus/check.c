/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checking a corpus on all cores; see check.h.
 */
#include "corpus/check.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/progress.h"
#include "base/string.h"
#include "base/thread/pool.h"
#include "myxtts/error.h"

#define GRAIN      4 /* rows that a worker takes at a time */
#define PAGE_CODES 256u
#define PAGES      (0x110000u / PAGE_CODES)

/* ---- counting symbols ---- */

/* Counts by code point, in pages that are taken when they are first needed. */
struct symbol_counts {
    uint64_t *pages[PAGES];
};

static int symbols_add(struct symbol_counts *counts, uint32_t code)
{
    uint64_t **const page = &counts->pages[code / PAGE_CODES];
    if (*page == NULL) *page = mx_alloc(PAGE_CODES, sizeof **page);
    if (*page == NULL) return MX_ERR_NO_MEMORY;
    (*page)[code % PAGE_CODES]++;
    return 0;
}

static void symbols_release(struct symbol_counts *counts)
{
    if (counts == NULL) return;
    for (size_t i = 0; i < PAGES; i++) mx_free(counts->pages[i]);
    mx_free(counts);
}

static int symbol_compare(const void *left, const void *right)
{
    const struct mx_check_symbol *const a = left, *const b = right;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return (a->code > b->code) - (a->code < b->code);
}

/* ---- reading ---- */

/* What is known of a row in addition to the report's list, until the report is made. Both are written by the one worker that
 * reads the row. */
struct result {
    double rate;  /* of mx_row_rate */
    char *detail; /* NULL for a good row */
};

struct check {
    const struct mx_manifest *manifest;
    struct mx_check_row *list; /* the report's */
    struct result *results;
    struct mx_check_listener listener;
    struct mx_row_reader **readers; /* one for each worker */
    int worker_count;
    struct mx_row_options row; /* without a judgement of the rate, which comes when it is learned */
    struct symbol_counts *symbols;
    struct mx_progress *progress;
    const atomic_bool *stop; /* NULL: never */
    struct mx_first_error failure;
};

static int row_check(struct check *check, int worker, uint32_t index)
{
    int rc = 0;
    struct mx_row row;
    struct mx_check_row *const kept = &check->list[index];
    struct result *const result = &check->results[index];
    MX_TRY(mx_row_load(check->readers[worker], &check->manifest->utterances[index], &row));
    *kept = (struct mx_check_row){.reject = row.reject,
                                  .language = row.language,
                                  .characters = (uint32_t)row.characters,
                                  .seconds = row.audio.seconds,
                                  .seconds_used = row.audio.seconds_used,
                                  .trimmed_begin = row.audio.trimmed_begin,
                                  .trimmed_end = row.audio.trimmed_end,
                                  .sounds = row.sounds};
    result->rate = mx_row_rate(&check->row, row.sounds, row.audio.seconds_promised);
    if (row.reject != MX_REJECT_NONE) {
        result->detail = mx_strdup(row.detail);
        if (result->detail == NULL) MX_TRY(MX_ERR_NO_MEMORY);
        goto out;
    }
    kept->symbols = mx_alloc(row.symbol_count, sizeof *kept->symbols);
    if (kept->symbols == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    memcpy(kept->symbols, row.symbols, row.symbol_count * sizeof *kept->symbols);
    kept->symbol_count = row.symbol_count;
    if (check->listener.hear != NULL) MX_TRY(check->listener.hear(check->listener.context, worker, index, &row));
out:
    return rc;
}

static void rows_check(void *context, int64_t begin, int64_t end, int worker)
{
    struct check *const check = context;
    for (int64_t i = begin; i < end && !mx_first_error_failed(&check->failure); i++) {
        if (check->stop != NULL && atomic_load(check->stop)) {
            MX_FAIL(MX_ERR_INTERRUPTED, "start again to check all rows", "interrupted; nothing was written");
            mx_first_error_keep(&check->failure);
        } else if (row_check(check, worker, (uint32_t)i) < 0) {
            mx_first_error_keep(&check->failure);
        }
        mx_progress_add(check->progress, 1);
    }
}

/* Estimates the speaking rate and judges the good rows by it. */
static int rates_judge(struct check *check, struct mx_rate *out)
{
    int rc = 0;
    const uint32_t count = check->manifest->utterance_count;
    double *const rates = mx_alloc(count, sizeof *rates);
    if (rates == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < count; i++) rates[i] = check->results[i].rate;
    *out = mx_rate_learn(rates, count);
    for (uint32_t i = 0; i < count; i++) {
        struct mx_check_row *const kept = &check->list[i];
        struct mx_row row = {.sounds = kept->sounds, .audio = {.seconds_used = kept->seconds_used}};
        if (kept->reject != MX_REJECT_NONE) continue;
        mx_row_judge_rate(out, &row);
        if (row.reject == MX_REJECT_NONE) continue;
        kept->reject = row.reject;
        check->results[i].detail = mx_strdup(row.detail);
        if (check->results[i].detail == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    }
out:
    mx_free(rates);
    return rc;
}

/* Of the rows that turned out to be good. */
static int symbols_count(struct check *check)
{
    int rc = 0;
    check->symbols = mx_alloc(1, sizeof *check->symbols);
    if (check->symbols == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t row = 0; row < check->manifest->utterance_count; row++) {
        const struct mx_check_row *const kept = &check->list[row];
        for (size_t i = 0; kept->reject == MX_REJECT_NONE && i < kept->symbol_count; i++)
            MX_TRY(symbols_add(check->symbols, kept->symbols[i]));
    }
out:
    return rc;
}

/* ---- the report ---- */

void mx_histogram_fill(struct mx_histogram *histogram, const double *values, uint32_t count)
{
    static const double steps[] = {1, 2, 5};
    double sum = 0;
    *histogram = (struct mx_histogram){.width = 1, .bins = 0};
    if (count == 0) return;
    histogram->least = values[0];
    for (uint32_t i = 0; i < count; i++) {
        sum += values[i];
        if (values[i] < histogram->least) histogram->least = values[i];
        if (values[i] > histogram->most) histogram->most = values[i];
    }
    histogram->mean = sum / count;
    double scale = 0.1;
    for (size_t step = 0;; step++) {
        if (step == 3) {
            step = 0;
            scale *= 10;
        }
        histogram->width = steps[step] * scale;
        if (histogram->most < histogram->width * MX_HISTOGRAM_BINS) break;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bin = (uint32_t)(values[i] / histogram->width);
        if (bin >= MX_HISTOGRAM_BINS) bin = MX_HISTOGRAM_BINS - 1; /* rounding at the upper edge */
        histogram->counts[bin]++;
        if (bin + 1 > histogram->bins) histogram->bins = bin + 1;
    }
}

static int report_histograms(const struct check *check, struct mx_check_report *report)
{
    int rc = 0;
    uint32_t count = 0;
    double *const seconds = mx_alloc(report->good, sizeof seconds[0]);
    double *const characters = mx_alloc(report->good, sizeof characters[0]);
    if (seconds == NULL || characters == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < check->manifest->utterance_count; i++) {
        const struct mx_check_row *const kept = &check->list[i];
        if (kept->reject != MX_REJECT_NONE) continue;
        seconds[count] = kept->seconds_used;
        characters[count++] = kept->characters;
    }
    mx_histogram_fill(&report->durations, seconds, count);
    mx_histogram_fill(&report->lengths, characters, count);
out:
    mx_free(seconds);
    mx_free(characters);
    return rc;
}

static int report_symbols(const struct check *check, struct mx_check_report *report)
{
    int rc = 0;
    const struct symbol_counts *const all = check->symbols;
    for (int pass = 0; pass < 2; pass++) { /* counts, then fills */
        uint32_t used = 0;
        for (uint32_t code = 0; code < PAGES * PAGE_CODES; code++) {
            const uint64_t *const page = all->pages[code / PAGE_CODES];
            if (page == NULL || page[code % PAGE_CODES] == 0) continue;
            if (pass == 1) report->symbols[used] = (struct mx_check_symbol){code, page[code % PAGE_CODES]};
            used++;
        }
        report->symbol_count = used;
        if (pass == 1) break;
        report->symbols = mx_alloc(used, sizeof report->symbols[0]);
        if (report->symbols == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    }
    qsort(report->symbols, report->symbol_count, sizeof report->symbols[0], symbol_compare);
out:
    return rc;
}

/* Good rows that are left for training and for validation: a split by seed is made again without the rejected ones. */
static int report_split(const struct check *check, const struct mx_check_options *options,
                        struct mx_check_report *report)
{
    int rc = 0;
    uint32_t count = 0;
    const struct mx_manifest *const manifest = check->manifest;
    const char **const ids = mx_alloc(report->good, sizeof ids[0]);
    bool *const chosen = mx_alloc(report->good, sizeof chosen[0]);
    if (ids == NULL || chosen == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < manifest->utterance_count; i++) {
        if (check->list[i].reject != MX_REJECT_NONE) continue;
        chosen[count] = manifest->utterances[i].validation;
        ids[count++] = manifest->utterances[i].id;
    }
    if (manifest->source_count == 1)
        MX_TRY(mx_manifest_split(options->manifest.seed, options->manifest.validation_fraction, ids, count, chosen));
    for (uint32_t i = 0; i < count; i++) report->validation += chosen[i];
    report->training = count - report->validation;
out:
    mx_free(ids);
    mx_free(chosen);
    return rc;
}

static int reject_compare(const void *left, const void *right)
{
    const struct mx_check_reject *const a = left, *const b = right;
    if (a->source != b->source) return a->source < b->source ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

void mx_check_sort_rejects(struct mx_check_reject *rejects, uint32_t count)
{
    qsort(rejects, count, sizeof *rejects, reject_compare);
}

/* The rows that the manifest rejected and those that were read, by line. */
static int report_rejects(struct check *check, struct mx_check_report *report)
{
    int rc = 0;
    uint32_t used = 0;
    const struct mx_manifest *const manifest = check->manifest;
    report->rejects = mx_alloc(report->rejected, sizeof report->rejects[0]);
    if (report->rejects == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < manifest->problem_count; i++) {
        const struct mx_manifest_problem *const problem = &manifest->problems[i];
        if (problem->reject == MX_REJECT_NONE) continue;
        char *const detail = mx_strdup(problem->message);
        if (detail == NULL) MX_TRY(MX_ERR_NO_MEMORY);
        report->rejects[used++] =
            (struct mx_check_reject){problem->source, problem->line, problem->reject, problem->id, "", detail};
    }
    for (uint32_t i = 0; i < manifest->utterance_count; i++) {
        const struct mx_utterance *const utterance = &manifest->utterances[i];
        struct result *const result = &check->results[i];
        const enum mx_reject reason = check->list[i].reject;
        if (reason == MX_REJECT_NONE) continue;
        report->rejects[used++] = (struct mx_check_reject){utterance->source, utterance->line,  reason,
                                                           utterance->id,     utterance->audio, result->detail};
        result->detail = NULL; /* the report's now */
    }
    mx_check_sort_rejects(report->rejects, used);
    for (uint32_t i = 0; i < used; i++) report->reasons[report->rejects[i].reason]++;
out:
    return rc;
}

static int report_balance(struct mx_check_report *report)
{
    const uint32_t count = report->speaker_count;
    int rc = 0;
    uint32_t *const rows = mx_alloc(count, sizeof *rows);
    double *const times = mx_alloc(count, sizeof *times);
    if (rows == NULL || times == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < count; i++) rows[i] = report->speakers[i].rows;
    for (int b = 0; b < MX_BALANCE_COUNT; b++) {
        mx_balance_times((enum mx_balance)b, rows, count, times);
        for (uint32_t i = 0; i < count; i++) report->speakers[i].times[b] = times[i];
    }
out:
    mx_free(rows);
    mx_free(times);
    return rc;
}

static int report_build(struct check *check, const struct mx_check_options *options, struct mx_check_report *report)
{
    int rc = 0;
    const struct mx_manifest *const manifest = check->manifest;
    report->rows = manifest->rows;
    report->speaker_count = manifest->speaker_count;
    report->speakers = mx_alloc(manifest->speaker_count, sizeof report->speakers[0]);
    if (report->speakers == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < manifest->speaker_count; i++) report->speakers[i].name = manifest->speakers[i];
    for (uint32_t i = 0; i < manifest->utterance_count; i++) {
        const struct mx_check_row *const kept = &check->list[i];
        if (kept->reject != MX_REJECT_NONE) continue;
        struct mx_check_speaker *const speaker = &report->speakers[manifest->utterances[i].speaker];
        report->good++;
        report->seconds += kept->seconds;
        report->seconds_used += kept->seconds_used;
        report->languages[kept->language]++;
        speaker->rows++;
        speaker->seconds += kept->seconds_used;
    }
    report->rejected = report->rows - report->good;
    MX_TRY(report_balance(report));
    MX_TRY(report_rejects(check, report));
    MX_TRY(report_split(check, options, report));
    MX_TRY(report_histograms(check, report));
    MX_TRY(report_symbols(check, report));
out:
    return rc;
}

/* ---- the whole ---- */

static int workers_wanted(const struct mx_check_options *options, uint32_t rows)
{
    int wanted = options->workers > 0 ? options->workers : mx_thread_cores(NULL, 0);
    if (wanted > MX_CHECK_WORKERS_MAX) wanted = MX_CHECK_WORKERS_MAX;
    if (wanted > 1 && (uint32_t)wanted * GRAIN > rows) wanted = (int)(rows / GRAIN);
    return wanted < 1 ? 1 : wanted;
}

int mx_check_run(const char *path, const struct mx_check_options *options, struct mx_check_report *report)
{
    int rc = 0;
    struct mx_pool *pool = NULL;
    struct mx_manifest *manifest = NULL;
    struct check check = {0};
    memset(report, 0, sizeof *report);
    MX_TRY(mx_manifest_open(path, &options->manifest, &manifest));
    const uint32_t count = manifest->utterance_count;
    check.manifest = report->manifest = manifest; /* from here on, its release closes it */
    check.listener = options->listener;
    check.stop = options->manifest.stop;
    check.list = report->list = mx_alloc(count, sizeof report->list[0]);
    check.worker_count = workers_wanted(options, count);
    check.results = mx_alloc(count, sizeof check.results[0]);
    check.readers = mx_alloc((size_t)check.worker_count, sizeof(struct mx_row_reader *));
    if (check.list == NULL || check.results == NULL || check.readers == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    check.row = options->row;
    check.row.rate = (struct mx_rate){0, HUGE_VAL};
    for (int i = 0; i < check.worker_count; i++) MX_TRY(mx_row_reader_create(&check.row, &check.readers[i]));
    if (check.listener.begin != NULL) MX_TRY(check.listener.begin(check.listener.context, count));
    MX_TRY(mx_pool_create(&(struct mx_pool_options){.name = "check", .workers = check.worker_count}, &pool));
    MX_TRY(mx_progress_start(&(struct mx_progress_options){.title = "Checking", .unit = "rows", .total = count},
                             &check.progress));
    mx_pool_for(pool, count, GRAIN, rows_check, &check);
    mx_progress_finish(check.progress);
    MX_TRY(mx_first_error_raise(&check.failure));
    MX_TRY(rates_judge(&check, &report->rate));
    MX_TRY(symbols_count(&check));
    MX_TRY(report_build(&check, options, report));
out:
    mx_pool_destroy(pool);
    for (int i = 0; check.readers != NULL && i < check.worker_count; i++) mx_row_reader_destroy(check.readers[i]);
    symbols_release(check.symbols);
    for (uint32_t i = 0; check.results != NULL && i < check.manifest->utterance_count; i++)
        mx_free(check.results[i].detail);
    mx_free(check.readers);
    mx_free(check.results);
    if (rc < 0) mx_check_release(report);
    return rc;
}

void mx_check_release(struct mx_check_report *report)
{
    for (uint32_t i = 0; report->rejects != NULL && i < report->rejected; i++) mx_free(report->rejects[i].detail);
    for (uint32_t i = 0; report->list != NULL && i < report->manifest->utterance_count; i++)
        mx_free(report->list[i].symbols);
    mx_free(report->rejects);
    mx_free(report->list);
    mx_free(report->speakers);
    mx_free(report->symbols);
    mx_manifest_close(report->manifest);
    memset(report, 0, sizeof *report);
}

static void rejects_put(const struct mx_check_report *report, struct mx_string *text)
{
    for (uint32_t i = 0; i < report->rejected; i++) {
        const struct mx_check_reject *const reject = &report->rejects[i];
        mx_string_append_field(text, report->manifest->sources[reject->source].path, '\t');
        mx_string_append(text, "%u\t", reject->line);
        mx_string_append_field(text, reject->id, '\t');
        mx_string_append_field(text, mx_reject_name(reject->reason), '\t');
        mx_string_append_field(text, reject->audio, '\t');
        mx_string_append_field(text, reject->detail, '\n');
    }
}

int mx_check_write_rejects(const struct mx_check_report *reports, int count, const char *path)
{
    int rc = 0;
    struct mx_string text = {0};
    mx_string_append(&text, "manifest\tline\tid\treason\tfile\tdetail\n");
    for (int i = 0; i < count; i++) rejects_put(&reports[i], &text);
    if (text.failure != 0) MX_TRY(text.failure);
    MX_TRY(mx_file_write_atomic(path, text.data, text.length));
out:
    mx_string_release(&text);
    return rc;
}
