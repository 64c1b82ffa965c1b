/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Transcribing a folder; see transcribe.h. Workers take files in turn, each with recognisers of its own; then the rows are
 * judged together.
 */
#include "transcribe/transcribe.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/string.h"
#include "base/thread/pool.h"
#include "myxtts/error.h"
#include "transcribe/corpus.h"
#include "transcribe/recogniser.h"

#define PROGRESS_NS  UINT64_C(2000000000)
#define FAILURES_MAX 3 /* if the first files fail, so will the others */

struct work {
    const struct mx_transcribe_options *options;
    struct mx_transcripts *table;
    struct mx_recogniser *first[MX_TRANSCRIBE_WORKERS_MAX], *second[MX_TRANSCRIBE_WORKERS_MAX];
    struct mx_progress *progress;
    struct mx_first_error failure;
    atomic_uint_least32_t succeeded, failed;
};

/* ---- recognising ---- */

/* What makes all further work useless; anything else concerns one file. */
static bool is_fatal(struct work *w, int rc)
{
    if (rc == MX_ERR_INTERRUPTED || rc == MX_ERR_NO_MEMORY) return true;
    return atomic_fetch_add(&w->failed, 1) + 1 >= FAILURES_MAX && atomic_load(&w->succeeded) == 0;
}

static int file_recognise(struct work *w, uint32_t index, int worker)
{
    const struct mx_utterance *const file = mx_transcripts_at(w->table, index)->file;
    const char *text = "", *second = NULL;
    char quoted[200];
    int rc = mx_recogniser_run(w->first[worker], file->audio, &text);
    if (rc >= 0 && w->second[worker] != NULL) rc = mx_recogniser_run(w->second[worker], file->audio, &second);
    if (rc < 0 && is_fatal(w, rc)) return rc == MX_ERR_INTERRUPTED ? rc : mx_error_wrap("%s", file->id);
    if (rc < 0) {
        const struct mx_error *const error = mx_error_last();
        mx_warn("%s: %s", mx_string_quote(quoted, sizeof quoted, file->id), error->message);
        return mx_transcripts_append(w->table, index, MX_TRANSCRIPT_FAILED, error->message, NULL);
    }
    atomic_fetch_add(&w->succeeded, 1);
    return mx_transcripts_append(w->table, index, *text != '\0' ? MX_TRANSCRIPT_GOOD : MX_TRANSCRIPT_EMPTY, text,
                                 second);
}

static bool is_known(const struct mx_transcript *item)
{
    return item->state == MX_TRANSCRIPT_GOOD || item->state == MX_TRANSCRIPT_EMPTY;
}

static void files_recognise(void *context, int64_t begin, int64_t end, int worker)
{
    struct work *const w = context;
    for (int64_t i = begin; i < end && !mx_first_error_failed(&w->failure); i++) {
        if (is_known(mx_transcripts_at(w->table, (uint32_t)i))) continue;
        if (file_recognise(w, (uint32_t)i, worker) < 0) mx_first_error_keep(&w->failure);
        mx_progress_add(w->progress, 1);
    }
}

static int recognisers_create(struct work *w, int workers)
{
    struct mx_recogniser_options options = {.limit_ns = (uint64_t)(w->options->limit_seconds * 1e9),
                                            .stop = w->options->stop};
    int rc = 0;
    for (int i = 0; i < workers; i++) {
        options.command = w->options->first;
        MX_TRY(mx_recogniser_create(&options, &w->first[i]));
        options.command = w->options->second;
        if (options.command != NULL) MX_TRY(mx_recogniser_create(&options, &w->second[i]));
    }
out:
    return rc;
}

static int workers_choose(const struct mx_transcribe_options *options, uint32_t left)
{
    int cores[MX_TRANSCRIBE_WORKERS_MAX];
    int workers = options->workers > 0 ? options->workers : mx_thread_cores(cores, MX_TRANSCRIBE_WORKERS_MAX);
    if (workers > MX_TRANSCRIBE_WORKERS_MAX) workers = MX_TRANSCRIBE_WORKERS_MAX;
    return (uint32_t)workers > left ? (int)left : workers;
}

static int all_recognise(const struct mx_transcribe_options *options, struct mx_transcripts *table,
                         struct mx_transcribe_report *report)
{
    struct mx_progress_options line = {.title = "Recognising", .unit = "files", .delay_ns = PROGRESS_NS};
    struct work w = {.options = options, .table = table};
    struct mx_pool_options gang = {.name = "recognise"};
    struct mx_pool *pool = NULL;
    int rc = 0;
    report->files = mx_transcripts_count(table);
    for (uint32_t i = 0; i < report->files; i++) report->known += is_known(mx_transcripts_at(table, i));
    if (report->known > 0 && report->known < report->files)
        mx_info("continuing: %" PRIu32 " of %" PRIu32 " files are in %s/" MX_TRANSCRIPTS_NAME, report->known,
                report->files, options->folder);
    if (report->known == report->files) return 0;
    line.total = report->files - report->known;
    gang.workers = workers_choose(options, report->files - report->known);
    MX_TRY(recognisers_create(&w, gang.workers));
    MX_TRY(mx_pool_create(&gang, &pool));
    MX_TRY(mx_progress_start(&line, &w.progress));
    mx_pool_for(pool, report->files, 1, files_recognise, &w);
    MX_TRY(mx_first_error_raise(&w.failure));
out:
    mx_progress_finish(w.progress);
    mx_pool_destroy(pool);
    for (int i = 0; i < MX_TRANSCRIBE_WORKERS_MAX; i++) {
        mx_recogniser_destroy(w.first[i]);
        mx_recogniser_destroy(w.second[i]);
    }
    return rc;
}

/* ---- judging ---- */

static int language_of(const struct mx_transcribe_options *options, const char *text, enum mx_language_id *out)
{
    if (options->language != MX_ROW_LANGUAGE_DETECT) {
        *out = (enum mx_language_id)options->language;
        return 0;
    }
    return mx_text_detect(text, strlen(text), out);
}

static int texts_compare(const struct mx_transcribe_options *options, struct mx_transcripts *table,
                         struct mx_transcribe_report *report)
{
    int rc = 0;
    char why[80];
    for (uint32_t i = 0; i < mx_transcripts_count(table); i++) {
        struct mx_transcript *const item = mx_transcripts_at(table, i);
        const char *const second = item->second != NULL ? item->second : "";
        enum mx_language_id language;
        report->empty += item->state == MX_TRANSCRIPT_EMPTY;
        report->failed += item->state == MX_TRANSCRIPT_FAILED;
        if (item->state != MX_TRANSCRIPT_GOOD) continue;
        report->rows++;
        MX_TRY(mx_transcript_suspect(item, NULL));
        if (options->second == NULL) continue;
        if (language_of(options, item->text, &language) < 0) { /* no letters: `check` rejects the row */
            mx_error_clear();
            continue;
        }
        MX_TRY(mx_transcript_difference(language, item->text, second, &item->difference));
        if (item->difference <= options->difference) continue;
        snprintf(why, sizeof why, "the recognisers differ in %.0f %% of the words", 100 * item->difference);
        MX_TRY(mx_transcript_suspect(item, why));
        report->differ++;
    }
out:
    return rc;
}

/* Of what the doctor finds, what concerns the text. */
static bool is_about_text(enum mx_doctor_finding_kind kind)
{
    return kind == MX_DOCTOR_FINDING_TEXT_MISMATCH || kind == MX_DOCTOR_FINDING_MISSING_WORDS ||
           kind == MX_DOCTOR_FINDING_EXTRA_SOUND || kind == MX_DOCTOR_FINDING_OTHER_ROW;
}

static int suspects_note(const struct mx_doctor *doctor, const struct mx_transcribe_corpus *corpus,
                         struct mx_transcribe_report *report)
{
    const struct mx_utterance *const rows = doctor->report.manifest->utterances;
    struct mx_string words = {0};
    int rc = 0;
    for (size_t i = 0; i < doctor->findings.count; i++) {
        const struct mx_doctor_finding *const finding = &doctor->findings.items[i];
        struct mx_transcript *const item = mx_transcribe_corpus_row(corpus, &rows[finding->row]);
        if (!is_about_text(finding->kind) || item->suspect != NULL) continue;
        words.length = 0;
        MX_TRY(mx_doctor_finding_format(&words, MX_WORDS_ENGLISH, finding));
        MX_TRY(mx_transcript_suspect(item, words.data));
        report->misfit++;
    }
out:
    mx_string_release(&words);
    return rc;
}

static int voice_judge(const struct mx_transcribe_options *options, const struct mx_transcribe_corpus *corpus,
                       struct mx_transcribe_report *report)
{
    struct mx_doctor_options wanted = {
        .check = MX_CHECK_OPTIONS_DEFAULT, .voice = options->voice, .rows_only = true, .stop = options->stop};
    struct mx_doctor doctor = {0};
    int rc = 0;
    wanted.check.manifest.stop = options->stop;
    wanted.check.manifest.quiet = wanted.check.manifest.undecided = true;
    wanted.check.row.language = options->language;
    if (options->voice != NULL && strcmp(options->voice, MX_DOCTOR_NO_VOICE) == 0)
        wanted.check.row.tokens = MX_TOKENS_CHARS; /* the phonemes are not used */
    MX_TRY(mx_doctor_examine(corpus->trial, &wanted, &doctor));
    if (doctor.interrupted) MX_RAISE(MX_ERR_INTERRUPTED, NULL, "interrupted");
    report->judge = doctor.judge;
    report->rejected = doctor.report.rejected;
    MX_TRY(suspects_note(&doctor, corpus, report));
    for (uint32_t i = 0; i < doctor.report.manifest->utterance_count; i++) {
        const struct mx_doctor_score *const score = mx_doctor_score_of(&doctor, i);
        struct mx_transcript *const item = mx_transcribe_corpus_row(corpus, &doctor.report.manifest->utterances[i]);
        item->score = score != NULL ? score->score : NAN;
        if (item->suspect == NULL && doctor.report.list[i].reject == MX_REJECT_NONE)
            report->seconds += doctor.report.list[i].seconds_used;
    }
out:
    mx_doctor_release(&doctor);
    return rc;
}

/* ---- the whole ---- */

int mx_transcribe_run(const struct mx_transcribe_options *options, struct mx_transcribe_report *report)
{
    struct mx_manifest_options sounds = MX_MANIFEST_OPTIONS_DEFAULT;
    struct mx_transcripts_options wanted = {
        .folder = options->folder, .first = options->first, .second = options->second};
    struct mx_transcribe_corpus corpus = {0};
    struct mx_manifest *files = NULL;
    struct mx_transcripts *table = NULL;
    int rc = 0;
    *report = (struct mx_transcribe_report){0};
    sounds.sounds = sounds.quiet = sounds.undecided = true;
    sounds.stop = options->stop;
    MX_TRY(mx_transcribe_corpus_open(options->folder, options->speaker_folders, &corpus));
    MX_TRY(mx_manifest_open(options->folder, &sounds, &files));
    wanted.files = files;
    MX_TRY(mx_transcripts_open(&wanted, &table));
    MX_TRY(all_recognise(options, table, report));
    MX_TRY(texts_compare(options, table, report));
    if (report->rows == 0)
        MX_RAISE(MX_ERR_DATA, "try the recogniser by hand with one of the files",
                 "nothing was recognised in any of %" PRIu32 " files (%" PRIu32 " failed)", report->files,
                 report->failed);
    MX_TRY(mx_transcribe_corpus_try(&corpus, table));
    MX_TRY(voice_judge(options, &corpus, report));
    MX_TRY(mx_transcripts_save(table));
    MX_TRY(mx_transcribe_corpus_finish(&corpus));
    report->people = corpus.people;
    report->pipes = corpus.pipes;
out:
    mx_transcribe_corpus_close(&corpus);
    mx_transcripts_close(table);
    mx_manifest_close(files);
    return rc;
}
