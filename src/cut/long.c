/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Long rows of a corpus, see long.h.
 */
#include "cut/long.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/string.h"
#include "base/thread/pool.h"
#include "checkpoint/installed.h"
#include "corpus/pieces.h"
#include "cut/job.h"
#include "myxtts/error.h"

#define GRAIN       8
#define WORKERS_MAX 256
#define PROGRESS_NS UINT64_C(2000000000)

struct work {
    const struct mx_cut_long_options *options;
    struct mx_cut_long_report *report;
    struct mx_manifest *manifest;
    bool *is_long;        /* [utterances] */
    char *part;           /* the folder while it is made */
    struct mx_string how; /* in the list */
};

/* ---- which rows ---- */

struct survey {
    const struct work *work;
    struct mx_audio_reader **readers; /* one for each worker */
    struct mx_progress *progress;
    struct mx_first_error failure;
};

/* By the rule that leaves them out (corpus/audio/audio.h). */
static void rows_survey(void *context, int64_t begin, int64_t end, int worker)
{
    struct survey *const s = context;
    const struct mx_audio_options *const audio = &s->work->options->audio;
    struct mx_audio_report report;
    uint32_t bound;
    for (int64_t row = begin; row < end && !mx_first_error_failed(&s->failure); row++) {
        if (s->work->options->stop != NULL && atomic_load(s->work->options->stop)) {
            MX_FAIL(MX_ERR_INTERRUPTED, NULL, "interrupted while recordings were measured");
            mx_first_error_keep(&s->failure);
            return;
        }
        if (mx_audio_probe(s->readers[worker], s->work->manifest->utterances[row].audio, audio, &bound, &report) < 0)
            mx_first_error_keep(&s->failure);
        s->work->is_long[row] = report.reject == MX_REJECT_TOO_LONG;
        mx_progress_add(s->progress, 1);
    }
}

static int rows_find(struct work *w)
{
    const uint32_t count = w->manifest->utterance_count;
    int workers = w->options->workers > 0 ? w->options->workers : mx_thread_cores(NULL, 0), rc = 0;
    workers = workers < 1 ? 1 : workers > WORKERS_MAX ? WORKERS_MAX : workers;
    struct mx_pool *pool = NULL;
    struct survey s = {.work = w};
    w->is_long = mx_alloc((size_t)count + 1, sizeof *w->is_long);
    s.readers = mx_alloc((size_t)workers, sizeof(struct mx_audio_reader *));
    if (w->is_long == NULL || s.readers == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (int i = 0; i < workers; i++) MX_TRY(mx_audio_reader_create(&s.readers[i]));
    MX_TRY(mx_pool_create(&(struct mx_pool_options){.name = "lengths", .workers = workers}, &pool));
    MX_TRY(mx_progress_start(
        &(struct mx_progress_options){.title = "Measuring", .unit = "files", .total = count, .delay_ns = PROGRESS_NS},
        &s.progress));
    mx_pool_for(pool, count, GRAIN, rows_survey, &s);
    MX_TRY(mx_first_error_raise(&s.failure));
    for (uint32_t i = 0; i < count; i++) w->report->rows += w->is_long[i];
out:
    mx_progress_finish(s.progress);
    mx_pool_destroy(pool);
    for (int i = 0; s.readers != NULL && i < workers; i++) mx_audio_reader_destroy(s.readers[i]);
    mx_free(s.readers);
    return rc;
}

/* ---- a folder that is there ---- */

/* What the pieces depend on, in addition to the rows. */
static int how_write(struct work *w)
{
    const struct mx_cut_long_options *const o = w->options;
    char seconds[MX_STRING_DOUBLE_BYTES], voice[4200];
    mx_string_from_double(o->audio.seconds_max, seconds);
    mx_string_plain(voice, sizeof voice, o->voice != NULL ? o->voice : MX_INSTALLED_BASE); /* a path has any bytes */
    return mx_string_append(
        &w->how, "longest %s s, language %s, voice %s", seconds,
        o->language == MX_ALIGN_DETECT ? "auto" : mx_language_get((enum mx_language_id)o->language)->code, voice);
}

static bool files_there(const struct mx_pieces *pieces, const char *folder)
{
    bool all = true;
    for (size_t i = 0; i < pieces->count && all; i++) {
        if (pieces->list[i].file[0] == '\0') continue;
        char *const path = mx_format("%s/%s", folder, pieces->list[i].file);
        all = path != NULL && access(path, R_OK) == 0;
        mx_free(path);
    }
    return all;
}

/* Are these the rows that are too long, and no others? */
static bool rows_same(const struct work *w, const struct mx_pieces *pieces)
{
    size_t at = 0;
    for (uint32_t i = 0; i < w->manifest->utterance_count; i++) {
        if (!w->is_long[i]) continue;
        const uint64_t key = mx_pieces_key(&w->manifest->utterances[i]);
        if (at == pieces->count || pieces->list[at].row != key) return false;
        while (at < pieces->count && pieces->list[at].row == key) at++;
    }
    return at == pieces->count;
}

/* Takes the pieces that are there; *valid says whether they can be used. Without w->manifest any will do. */
static int folder_open(struct work *w, bool *there, bool *valid)
{
    struct mx_pieces pieces = {0};
    const int rc = mx_pieces_read(w->options->folder, &pieces);
    *there = rc != MX_ERR_NOT_FOUND;
    *valid = false;
    if (rc == MX_ERR_NO_MEMORY) return rc;
    mx_error_clear();
    if (rc < 0) return 0;
    *valid = files_there(&pieces, w->options->folder) &&
             (w->manifest == NULL || (strcmp(pieces.how, w->how.data) == 0 && rows_same(w, &pieces)));
    for (size_t i = 0; i < pieces.count && *valid; i++) {
        const bool first = i == 0 || pieces.list[i].row != pieces.list[i - 1].row;
        const bool piece = pieces.list[i].file[0] != '\0';
        w->report->cut += first && piece;
        w->report->pieces += piece;
        if (w->manifest == NULL) w->report->rows += first;
    }
    w->report->kept = *valid;
    mx_pieces_release(&pieces);
    return 0;
}

/* ---- making it ---- */

static void row_log(const struct mx_utterance *u, const char *why)
{
    char id[96];
    mx_warn("%s is too long and cannot be cut: %s", mx_string_quote(id, sizeof id, u->id), why);
}

static int row_cut(struct work *w, struct mx_cut_job *job, const struct mx_utterance *u)
{
    const size_t before = job->folder.rows;
    const double seconds = job->report.seconds_rows;
    int language, rc = 0;
    job->folder.origin = mx_pieces_key(u);
    job->folder.time_ns = u->audio_mtime_ns;
    job->speaker = w->manifest->speaker_count > 1 ? u->speaker_name : NULL;
    MX_TRY(mx_cut_job_language(job, w->options->language, u, &language));
    MX_TRY(mx_cut_job_utterance(job, u, language));
    if (job->folder.rows == before)
        MX_RAISE(MX_ERR_DATA, "check its text", "no part of it has a text that fits it, between two pauses");
    w->report->cut++;
    mx_info("%s is cut into %zu rows, %.1f of its %.1f s", u->id, job->folder.rows - before,
            job->report.seconds_rows - seconds, mx_cut_sound_seconds(&job->sound, job->sound.sample_count));
out:
    mx_cut_job_release(job);
    return rc;
}

static int rows_cut(struct work *w, struct mx_cut_job *job)
{
    const struct mx_progress_options line = {
        .title = "Cutting", .unit = "long rows", .total = w->report->rows, .delay_ns = PROGRESS_NS};
    struct mx_progress *progress = NULL;
    int rc = 0;
    MX_TRY(mx_progress_start(&line, &progress));
    mx_cut_job_columns(job, w->manifest);
    for (uint32_t i = 0; i < w->manifest->utterance_count; i++) {
        const struct mx_utterance *const u = &w->manifest->utterances[i];
        if (!w->is_long[i]) continue;
        const int failure = row_cut(w, job, u);
        if (failure == MX_ERR_DATA || failure == MX_ERR_FORMAT) {
            row_log(u, mx_error_last()->message);
            MX_TRY(mx_cut_folder_refuse(&job->folder, u->audio, mx_error_last()->message, u->text));
            mx_error_clear();
        } else {
            MX_TRY(failure);
        }
        mx_progress_add(progress, 1);
        if (w->options->tick != NULL) w->options->tick(w->options->context);
    }
out:
    mx_progress_finish(progress);
    return rc;
}

/* The voice that cuts. The default one may be missing: then *voice is NULL. */
static int voice_open(struct work *w, struct mx_voice **voice)
{
    const struct mx_cut_long_options *const o = w->options;
    const struct mx_voice_options how = {.size = sizeof how, .device = "cpu:0"};
    const int rc = mx_voice_open(o->voice != NULL ? o->voice : MX_INSTALLED_BASE, &how, voice);
    if (rc == 0 && o->audio.rate > mx_voice_rate(*voice))
        mx_warn("rows that are too long are cut by a voice with %d samples per second: they have no sound above %d Hz; "
                "'--cut-voice' with a voice of the same recipe keeps it",
                mx_voice_rate(*voice), mx_voice_rate(*voice) / 2);
    if (rc == 0 || o->voice != NULL || rc == MX_ERR_NO_MEMORY || rc == MX_ERR_INTERRUPTED) return rc;
    mx_warn("%" PRIu32 " rows are longer than %g s and are left out: there is no voice to cut them with (%s)",
            w->report->rows, o->audio.seconds_max, mx_error_last()->message);
    mx_error_clear();
    return 0;
}

/* A folder with something else is left alone. */
static int place_clear(struct work *w)
{
    int rc = 0;
    w->part = mx_format("%s.part", w->options->folder);
    if (w->part == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_file_remove_folder(w->part));
    if (rmdir(w->options->folder) == 0 || errno == ENOENT) goto out;
    if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR)
        MX_RAISE(MX_ERR_DATA, "move it away", "the folder %s, for the pieces of long recordings, holds something else",
                 w->options->folder);
    MX_RAISE(MX_ERR_IO, "check the permissions of the folder above it", "cannot replace the folder %s: %s",
             w->options->folder, strerror(errno));
out:
    return rc;
}

static int folder_write(struct work *w)
{
    const struct mx_cut_long_options *const o = w->options;
    struct mx_cut_job job = {.name = o->corpus, .row_most = MX_CUT_ROW_MOST, .stop = o->stop};
    int rc = 0;
    if (o->audio.seconds_max < job.row_most) job.row_most = o->audio.seconds_max;
    MX_TRY(voice_open(w, &job.voice));
    if (job.voice == NULL) goto out;
    MX_TRY(place_clear(w));
    MX_TRY(mx_cut_folder_open(&job.folder, w->part));
    job.folder.how = w->how.data;
    MX_TRY(rows_cut(w, &job));
    MX_TRY(mx_cut_folder_finish(&job.folder));
    if (rename(w->part, o->folder) != 0) {
        MX_FAIL(MX_ERR_IO, "check its permissions", "cannot rename %s to %s: %s", w->part, o->folder, strerror(errno));
        job.folder.finished = false; /* so that nothing is left of it */
        MX_TRY(MX_ERR_IO);
    }
    w->report->pieces = (uint32_t)job.folder.rows;
    w->report->seconds = job.report.seconds_rows;
    w->report->shortest = job.folder.shortest;
    w->report->longest = job.folder.longest;
out:
    mx_cut_job_release(&job);
    mx_cut_folder_close(&job.folder);
    mx_voice_close(job.voice);
    return rc;
}

/* ---- the whole ---- */

static void report_log(const struct work *w)
{
    const struct mx_cut_long_report *const r = w->report;
    const double most = w->options->audio.seconds_max;
    if (r->cut == 0) return;
    if (r->kept)
        mx_info("%" PRIu32 " of %" PRIu32 " rows longer than %g s were cut into %" PRIu32
                " rows before; they are in %s",
                r->cut, r->rows, most, r->pieces, w->options->folder);
    else
        mx_info("%" PRIu32 " of %" PRIu32 " rows longer than %g s were cut into %" PRIu32
                " rows of %.1f to %.1f s (%.1f min); they are in %s",
                r->cut, r->rows, most, r->pieces, r->shortest, r->longest, r->seconds / 60, w->options->folder);
}

static int manifest_survey(struct work *w)
{
    struct mx_manifest_options how = w->options->manifest;
    int rc = 0;
    how.pieces = NULL;
    how.quiet = true;
    how.stop = w->options->stop;
    MX_TRY(mx_manifest_open(w->options->corpus, &how, &w->manifest));
    MX_TRY(rows_find(w));
out:
    return rc;
}

static int work_run(struct work *w)
{
    bool there = false, valid = false;
    int rc = 0;
    if (w->options->resumed) {
        MX_TRY(folder_open(w, &there, &valid));
        if (valid || (!there && !w->options->had)) goto out;
        w->report->rows = 0;
    }
    MX_TRY(manifest_survey(w));
    MX_TRY(how_write(w));
    MX_TRY(folder_open(w, &there, &valid));
    if (valid) goto out;
    if (there) MX_TRY(mx_file_remove_folder(w->options->folder)); /* it is invalid */
    if (w->report->rows > 0) MX_TRY(folder_write(w));
out:
    if (rc == 0) report_log(w);
    return rc;
}

static void work_close(struct work *w)
{
    mx_manifest_close(w->manifest);
    mx_string_release(&w->how);
    mx_free(w->is_long);
    mx_free(w->part);
}

int mx_cut_long_run(const struct mx_cut_long_options *options, struct mx_cut_long_report *report)
{
    struct work w = {.options = options, .report = report};
    *report = (struct mx_cut_long_report){0};
    const int rc = work_run(&w);
    work_close(&w);
    return rc;
}

int mx_cut_long_count(const struct mx_cut_long_options *options, uint32_t *rows)
{
    struct mx_cut_long_report report = {0};
    struct work w = {.options = options, .report = &report};
    const int rc = manifest_survey(&w);
    *rows = report.rows;
    work_close(&w);
    return rc;
}
