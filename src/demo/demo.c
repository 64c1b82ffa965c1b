/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Makes demo corpora, see demo.h.
 *
 * Every worker of a pool runs one program at a time, which reads a sentence into wavs/ID.wav.part; the worker checks
 * the file and renames it. So a file with its final name is complete whenever the run ends. metadata.csv is written
 * after all workers have stopped and names only files that exist.
 */
#include "demo/demo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/string.h"
#include "base/thread/pool.h"
#include "demo/folder.h"
#include "myxtts/error.h"

#define SPEAK_LIMIT_NS (UINT64_C(60) * 1000 * 1000 * 1000)
#define FULL_BYTES     (1u << 20) /* with less free space than this, a bad file is put down to a full disk */
#define SHARE_PERIOD   20u        /* of this many sentences, a speaker shares one with the others */
#define ID_BYTES       32
#define QUOTED_BYTES   300

/* What a row says and who says it. */
struct row {
    char id[ID_BYTES];
    unsigned speaker;
    struct mx_sentence sentence;
};

/* What became of a row. Written by the one worker that has it, read when all have stopped. */
struct outcome {
    bool there, made;
    double seconds;
    uint64_t bytes;
};

struct work {
    const struct mx_demo_options *options;
    struct outcome *outcomes; /* one for each row */
    struct mx_progress *progress;
    struct mx_first_error failure;
};

/* ---- the plan: which row says what ---- */

static void row_place(uint32_t speakers, uint32_t index, unsigned *speaker, uint32_t *sentence)
{
    if (speakers <= 1) {
        *speaker = 0;
        *sentence = index;
        return;
    }
    /* A block begins with one sentence for all; the rest of it is one sentence for each row. */
    const uint32_t rows = SHARE_PERIOD * speakers, different = rows - speakers + 1;
    const uint32_t block = index / rows, place = index % rows;
    *speaker = place % speakers;
    *sentence = block * different + (place < speakers ? 0 : place - speakers + 1);
}

uint32_t mx_demo_count_max(enum mx_language_id language, uint32_t speakers)
{
    const uint32_t sentences = mx_sentences_count(language);
    if (speakers <= 1) return sentences;
    const uint32_t rows = SHARE_PERIOD * speakers, different = rows - speakers + 1, rest = sentences % different;
    return sentences / different * rows + (rest == 0 ? 0 : speakers + rest - 1);
}

static int row_read(const struct mx_demo_options *options, uint32_t index, struct row *row)
{
    uint32_t sentence;
    const char *const code = mx_language_get(options->language)->code;
    row_place(options->speakers, index, &row->speaker, &sentence);
    if (options->speakers == 1)
        snprintf(row->id, sizeof row->id, "%s-%05" PRIu32, code, index + 1);
    else
        snprintf(row->id, sizeof row->id, "%s-%s-%05" PRIu32, code, mx_teacher_speaker(options->language, row->speaker),
                 index + 1);
    return mx_sentences_get(options->language, options->seed, sentence, &row->sentence);
}

static void row_append(const struct mx_demo_options *options, const struct row *row, struct mx_string *out)
{
    if (options->speakers == 1)
        mx_string_append(out, "%s|%s|%s\n", row->id, row->sentence.written, row->sentence.spoken);
    else
        mx_string_append(out, "%s|%s|%s\n", row->id, mx_teacher_speaker(options->language, row->speaker),
                         row->sentence.spoken);
}

/* FNV-1a over the whole manifest: a folder that was made from other sentences is recognised by it. */
static int texts_hash(const struct mx_demo_options *options, uint64_t *hash)
{
    int rc = 0;
    struct mx_string line = {0};
    *hash = UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; i < options->count; i++) {
        struct row row;
        MX_TRY(row_read(options, i, &row));
        line.length = 0;
        row_append(options, &row, &line);
        MX_TRY(line.failure);
        for (size_t j = 0; j < line.length; j++)
            *hash = (*hash ^ (unsigned char)line.data[j]) * UINT64_C(0x100000001b3);
    }
out:
    mx_string_release(&line);
    return rc;
}

/* ---- one recording ---- */

/* Lets the teacher read the row into `part` and verifies the result. */
static int recording_write(const struct mx_demo_options *options, const struct row *row, const char *part,
                           struct outcome *outcome)
{
    const struct mx_teacher_job job = {.language = options->language,
                                       .speaker = row->speaker,
                                       .text = row->sentence.spoken,
                                       .path = part,
                                       .limit_ns = SPEAK_LIMIT_NS,
                                       .stop = options->stop};
    int rc = mx_teacher_speak(&job);
    if (rc == 0) rc = mx_demo_wav_check(part, &outcome->seconds, &outcome->bytes);
    if (rc == 0 || rc == MX_ERR_INTERRUPTED) return rc;
    const struct mx_error cause = *mx_error_last();
    if (mx_demo_space_check(options->folder, FULL_BYTES) < 0) return mx_error_last()->code;
    mx_error_restore(&cause);
    rc = mx_error_wrap("sentence %s", row->id);
    if (cause.hint[0] == '\0')
        mx_error_hint("try by hand: %s '%s'", mx_teacher_program(options->language), row->sentence.spoken);
    return rc;
}

static int row_write(const struct mx_demo_options *options, uint32_t index, struct outcome *outcome)
{
    int rc = 0;
    struct row row;
    char *path = NULL, *part = NULL, quoted[QUOTED_BYTES];
    MX_TRY(row_read(options, index, &row));
    path = mx_format("%s/wavs/%s.wav", options->folder, row.id);
    part = mx_format("%s/wavs/%s.wav.part", options->folder, row.id);
    if (path == NULL || part == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    if (access(path, F_OK) == 0) {
        if (mx_demo_wav_check(path, &outcome->seconds, &outcome->bytes) == 0) {
            outcome->there = true;
            goto out;
        }
        mx_warn("%s; it is made again", mx_error_last()->message);
        mx_error_clear();
    }
    MX_TRY(recording_write(options, &row, part, outcome));
    if (rename(part, path) != 0)
        MX_RAISE(MX_ERR_IO, "check the permissions of the folder", "cannot rename a file to %s: %s",
                 mx_string_quote(quoted, sizeof quoted, path), strerror(errno));
    outcome->there = outcome->made = true;
out:
    if (rc < 0 && part != NULL) unlink(part);
    mx_free(path);
    mx_free(part);
    return rc;
}

static void rows_write(void *context, int64_t begin, int64_t end, int worker)
{
    struct work *const work = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        if (mx_first_error_failed(&work->failure)) return;
        int rc = 0;
        if (work->options->stop != NULL && atomic_load(work->options->stop))
            rc = MX_FAIL(MX_ERR_INTERRUPTED, NULL, "interrupted");
        else
            rc = row_write(work->options, (uint32_t)i, &work->outcomes[i]);
        if (rc < 0) {
            mx_first_error_keep(&work->failure);
            return;
        }
        mx_progress_add(work->progress, 1);
    }
}

/* ---- the corpus ---- */

static int options_check(const struct mx_demo_options *options)
{
    if (options->speakers < 1 || options->speakers > MX_TEACHER_SPEAKERS) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "%" PRIu32 " speakers were asked for", options->speakers);
        return mx_error_hint("there are 1 to %d %s voices", MX_TEACHER_SPEAKERS,
                             mx_language_get(options->language)->name);
    }
    if (options->count < options->speakers) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "%" PRIu32 " sentences are too few for %" PRIu32 " speakers", options->count,
                options->speakers);
        return mx_error_hint("ask for at least one sentence for each speaker");
    }
    const uint32_t most = mx_demo_count_max(options->language, options->speakers);
    if (options->count > most) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "%" PRIu32 " sentences were asked for", options->count);
        return mx_error_hint("there are %" PRIu32 " different ones in %s", most,
                             mx_language_get(options->language)->name);
    }
    return 0;
}

/* After an early end: files of former runs that no worker has reached belong to the corpus, too. */
static int outcomes_complete(const struct mx_demo_options *options, struct outcome *outcomes)
{
    for (uint32_t i = 0; i < options->count; i++) {
        struct row row;
        if (outcomes[i].there) continue;
        const int rc = row_read(options, i, &row);
        if (rc < 0) return rc;
        char *const path = mx_format("%s/wavs/%s.wav", options->folder, row.id);
        if (path == NULL) return MX_ERR_NO_MEMORY;
        if (access(path, F_OK) == 0)
            outcomes[i].there = mx_demo_wav_check(path, &outcomes[i].seconds, &outcomes[i].bytes) == 0;
        mx_free(path);
    }
    return 0;
}

static int metadata_write(const struct mx_demo_options *options, const struct outcome *outcomes)
{
    int rc = 0;
    struct mx_string text = {0};
    char *const path = mx_format("%s/metadata.csv", options->folder);
    if (path == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < options->count; i++) {
        struct row row;
        if (!outcomes[i].there) continue;
        MX_TRY(row_read(options, i, &row));
        row_append(options, &row, &text);
        MX_TRY(text.failure);
    }
    if (text.length > 0) MX_TRY(mx_file_write_atomic(path, text.data, text.length));
out:
    mx_string_release(&text);
    mx_free(path);
    return rc;
}

static void report_fill(const struct mx_demo_options *options, const struct outcome *outcomes,
                        struct mx_demo_report *report)
{
    for (uint32_t i = 0; i < options->count; i++) {
        if (!outcomes[i].there) continue;
        if (outcomes[i].made)
            report->made++;
        else
            report->kept++;
        report->seconds += outcomes[i].seconds;
        report->bytes += outcomes[i].bytes;
    }
}

/* Runs the workers. A failure of one stops all. */
static int recordings_write(struct work *work)
{
    int rc = 0;
    const struct mx_demo_options *const options = work->options;
    struct mx_pool *pool = NULL;
    const int cores = mx_thread_cores(NULL, 0);
    const struct mx_pool_options pool_options = {.name = "teacher",
                                                 .workers = options->workers > 0 ? options->workers
                                                            : cores > 0          ? cores
                                                                                 : 1};
    const struct mx_progress_options progress_options = {
        .title = "Reading aloud", .unit = "sentences", .total = options->count};
    MX_TRY(mx_pool_create(&pool_options, &pool));
    MX_TRY(mx_progress_start(&progress_options, &work->progress));
    mx_pool_for(pool, options->count, 1, rows_write, work);
    rc = mx_first_error_raise(&work->failure);
    if (rc == MX_ERR_INTERRUPTED) mx_error_hint("run the same command again to continue where this one stopped");
out:
    mx_progress_finish(work->progress);
    mx_pool_destroy(pool);
    return rc;
}

int mx_demo_write(const struct mx_demo_options *options, struct mx_demo_report *report)
{
    int rc = 0, lock = -1;
    uint64_t hash = 0;
    struct work work = {.options = options};
    *report = (struct mx_demo_report){0};
    MX_TRY(options_check(options));
    MX_TRY(mx_teacher_check(options->language, options->speakers)); /* before anything is written */
    MX_TRY(texts_hash(options, &hash));
    work.outcomes = mx_alloc(options->count, sizeof *work.outcomes);
    if (work.outcomes == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_demo_folder_open(options, hash, &lock));
    rc = recordings_write(&work);
    if (rc < 0) {
        /* What is there becomes a smaller corpus. If not even that can be written, the first failure says why. */
        const struct mx_error first = *mx_error_last();
        if (outcomes_complete(options, work.outcomes) == 0) metadata_write(options, work.outcomes);
        report_fill(options, work.outcomes, report);
        rc = mx_error_restore(&first);
        goto out;
    }
    report_fill(options, work.outcomes, report);
    syncfs(lock); /* the recordings are on the disk before the manifest names them */
    MX_TRY(metadata_write(options, work.outcomes));
out:
    if (lock >= 0) close(lock);
    mx_free(work.outcomes);
    return rc;
}
