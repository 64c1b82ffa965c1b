/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Preparing a corpus on all cores; see prepare.h.
 */
#include "corpus/prepare.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/string.h"
#include "base/thread/pool.h"
#include "corpus/check.h"
#include "myxtts/error.h"

#define WORKERS_MAX 256
#define WINDOW      4 /* records in memory for each worker: how far a fast one may run ahead of a slow one */

/* A record that waits to be written. */
struct slot {
    struct mx_packed_buffer buffer;
    bool ready;
};

struct work {
    const struct mx_prepare_options *options;
    const struct mx_pack_spec *spec;
    struct mx_packed_writer *writer;
    struct mx_progress *progress;
    struct mx_pack_spec_worker **workers;
    uint32_t rows;
    /* Rows are taken in order (`taken`) and written in order (`written`); row r uses slots[r % slot_count], which is
     * free once row r - slot_count is written. `lock` protects all that is below, and `ready` of the slots; a buffer
     * belongs to the worker that took its row until `ready` is set, then to the worker that is `writing`. Only one
     * worker writes at a time, without the lock. `moved` signals any change. */
    pthread_mutex_t lock;
    pthread_cond_t moved;
    struct slot *slots;
    uint32_t slot_count;
    uint32_t taken, written;
    bool writing;
    struct mx_first_error failure;
};

/* ---- the workers ---- */

/* With the lock held. */
static void work_fail(struct work *work)
{
    mx_first_error_keep(&work->failure);
    pthread_cond_broadcast(&work->moved);
}

/* The next row, or false when there are none or the work is to end. */
static bool row_next(struct work *work, uint32_t *row)
{
    bool taken = false;
    pthread_mutex_lock(&work->lock);
    while (!mx_first_error_failed(&work->failure) && work->taken < work->rows &&
           work->taken - work->written >= work->slot_count)
        pthread_cond_wait(&work->moved, &work->lock);
    if (!mx_first_error_failed(&work->failure) && work->options->stop != NULL && atomic_load(work->options->stop)) {
        MX_FAIL(MX_ERR_INTERRUPTED, "run the same command again to continue",
                "interrupted after %u of %u rows; they are kept", work->written, work->rows);
        work_fail(work);
    }
    if (!mx_first_error_failed(&work->failure) && work->taken < work->rows) {
        *row = work->taken++;
        taken = true;
    }
    pthread_mutex_unlock(&work->lock);
    return taken;
}

/* Hands over a finished row; the worker that finds the next row ready while no other worker is writing writes it. */
static void row_finish(struct work *work, uint32_t row)
{
    pthread_mutex_lock(&work->lock);
    work->slots[row % work->slot_count].ready = true;
    while (!mx_first_error_failed(&work->failure) && !work->writing) {
        struct slot *const slot = &work->slots[work->written % work->slot_count];
        if (!slot->ready) break;
        work->writing = true;
        pthread_mutex_unlock(&work->lock);
        const int rc = mx_packed_writer_append(work->writer, &slot->buffer);
        mx_progress_add(work->progress, 1);
        pthread_mutex_lock(&work->lock);
        work->writing = false;
        if (rc < 0) {
            work_fail(work);
            break;
        }
        slot->ready = false;
        work->written++;
        pthread_cond_broadcast(&work->moved);
    }
    pthread_mutex_unlock(&work->lock);
}

static void worker_run(void *context, int worker)
{
    struct work *const work = context;
    uint32_t row = 0;
    while (row_next(work, &row)) {
        const int rc = mx_pack_spec_record(work->workers[worker], row, NULL, mx_packed_writer_header(work->writer),
                                           &work->slots[row % work->slot_count].buffer);
        if (rc >= 0) {
            row_finish(work, row);
            continue;
        }
        pthread_mutex_lock(&work->lock);
        work_fail(work);
        pthread_mutex_unlock(&work->lock);
    }
}

static int rows_pack(const struct mx_prepare_options *options, const struct mx_pack_spec *spec,
                     struct mx_packed_writer *writer, int workers, uint32_t rows)
{
    int rc = 0;
    struct mx_pool *pool = NULL;
    const uint32_t begin = mx_packed_writer_count(writer);
    struct work work = {.options = options,
                        .spec = spec,
                        .writer = writer,
                        .rows = rows,
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .moved = PTHREAD_COND_INITIALIZER,
                        .slot_count = (uint32_t)workers * WINDOW,
                        .taken = begin,
                        .written = begin};
    if (begin == rows) goto out;
    work.slots = mx_alloc(work.slot_count, sizeof *work.slots);
    work.workers = mx_alloc((size_t)workers, sizeof(struct mx_pack_spec_worker *));
    if (work.slots == NULL || work.workers == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (int i = 0; i < workers; i++) MX_TRY(mx_pack_spec_worker_create(spec, i, &work.workers[i]));
    MX_TRY(mx_pool_create(&(struct mx_pool_options){.name = "prepare", .workers = workers}, &pool));
    MX_TRY(mx_progress_start(&(struct mx_progress_options){.title = "Preparing", .unit = "rows", .total = rows - begin},
                             &work.progress));
    mx_pool_run(pool, worker_run, &work);
    MX_TRY(mx_first_error_raise(&work.failure));
out:
    mx_progress_finish(work.progress);
    mx_pool_destroy(pool);
    for (int i = 0; work.workers != NULL && i < workers; i++) mx_pack_spec_worker_destroy(work.workers[i]);
    for (uint32_t i = 0; work.slots != NULL && i < work.slot_count; i++)
        mx_packed_buffer_release(&work.slots[i].buffer);
    mx_free(work.workers);
    mx_free(work.slots);
    return rc;
}

/* ---- results ---- */

static int reject_list(struct mx_check_report *list, const struct mx_check_reject *reject, const char *detail)
{
    struct mx_check_reject *const own = &list->rejects[list->rejected];
    *own = *reject;
    own->detail = mx_strdup(detail);
    if (own->detail == NULL) return MX_ERR_NO_MEMORY;
    list->rejected++;
    return 0;
}

/* The rejected rows of manifest and journal, by line, in the form that check.h writes. */
static int rejects_write(const struct mx_manifest *manifest, struct mx_packed_writer *writer, uint32_t rejected,
                         const char *file)
{
    int rc = 0;
    struct mx_packed_buffer buffer = {0};
    struct mx_packed_record head;
    struct mx_packed_view view;
    struct mx_check_report list = {.manifest = (struct mx_manifest *)manifest};
    char *const path = mx_format("%s" MX_PREPARE_REJECTS_SUFFIX, file);
    list.rejects = mx_alloc(rejected, sizeof *list.rejects);
    if (path == NULL || list.rejects == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < manifest->problem_count && list.rejected < rejected; i++) {
        const struct mx_manifest_problem *const problem = &manifest->problems[i];
        if (problem->reject == MX_REJECT_NONE) continue;
        const struct mx_check_reject reject = {problem->source, problem->line, problem->reject, problem->id, "", NULL};
        MX_TRY(reject_list(&list, &reject, problem->message));
    }
    for (uint32_t row = 0; row < manifest->utterance_count && list.rejected < rejected; row++) {
        const struct mx_utterance *const u = &manifest->utterances[row];
        if (!mx_packed_writer_head(writer, row, &head) || head.reject == 0) continue;
        MX_TRY(mx_packed_writer_read(writer, row, &buffer, &head, &view));
        const struct mx_check_reject reject = {u->source, u->line, (enum mx_reject)head.reject, u->id, u->audio, NULL};
        MX_TRY(reject_list(&list, &reject, view.detail));
    }
    mx_check_sort_rejects(list.rejects, list.rejected);
    MX_TRY(mx_check_write_rejects(&list, 1, path));
out:
    for (uint32_t i = 0; i < list.rejected; i++) mx_free(list.rejects[i].detail);
    mx_free(list.rejects);
    mx_packed_buffer_release(&buffer);
    mx_free(path);
    return rc;
}

/* Counts the rows that the manifest rejected; those that were read are added by record_count. */
static void report_start(const struct mx_manifest *manifest, struct mx_prepare_report *report)
{
    report->rows = manifest->rows;
    report->speakers = manifest->speaker_count;
    report->rejected = 0;
    for (uint32_t i = 0; i < manifest->problem_count; i++) {
        if (manifest->problems[i].reject == MX_REJECT_NONE) continue;
        report->reasons[manifest->problems[i].reject]++;
        report->rejected++;
    }
}

static void record_count(const struct mx_packed_record *record, int rate, struct mx_prepare_report *report)
{
    if (record->reject == 0) {
        report->good++;
        report->seconds += (double)record->samples / rate;
        return;
    }
    report->rejected++;
    if (record->reject < MX_REJECT_COUNT) report->reasons[record->reject]++;
}

/* Whether there are too many rejected rows to continue. */
static int rejects_judge(const struct mx_prepare_options *options, const struct mx_prepare_report *report)
{
    const uint32_t dropped = report->reasons[MX_REJECT_DROPPED];
    const double share = mx_rejected_share(report->rejected, dropped, report->rows);
    if (report->good == 0)
        MX_FAIL(MX_ERR_DATA, NULL, "no row of %u can be used", report->rows);
    else if (share > options->rejects_max)
        MX_FAIL(MX_ERR_DATA, NULL, "%u of %u rows (%.1f %%) are rejected; at most %.0f %% may be",
                report->rejected - dropped, report->rows, share * 100, options->rejects_max * 100);
    else
        return 0;
    return mx_error_hint("the reasons are in '%.200s" MX_PREPARE_REJECTS_SUFFIX "'%s", options->file,
                         report->good == 0 ? "" : "; --allow-rejects continues without these rows");
}

/* ---- the whole ---- */

/* Is the file there, and valid? A file that is not, whatever the reason, is made again. */
static int existing_compare(const struct mx_prepare_options *options, const struct mx_pack_spec *spec,
                            struct mx_prepare_report *report)
{
    int rc = 0;
    struct mx_packed_file *packed = NULL;
    rc = mx_packed_open(options->file, &packed);
    if (rc == MX_ERR_NOT_FOUND || rc == MX_ERR_FORMAT) {
        if (rc == MX_ERR_FORMAT) {
            report->changes = 1;
            mx_string_append(&report->changed, "%s\n", mx_error_last()->message);
        }
        mx_error_clear();
        rc = report->changed.failure;
        goto out;
    }
    MX_TRY(rc);
    report->changes = mx_pack_spec_compare(spec, packed, &report->changed);
    MX_TRY(report->changed.failure);
    if (report->changes > 0) goto out;
    report->up_to_date = true;
    report->tokens = mx_vocabulary_size(mx_packed_vocabulary(packed));
    report->bytes = mx_packed_header(packed)->file_bytes;
    for (uint32_t row = 0; row < mx_packed_header(packed)->record_count; row++)
        record_count(mx_packed_record(packed, row), options->row.audio.rate, report);
out:
    mx_packed_close(packed);
    return rc;
}

static int workers_wanted(const struct mx_prepare_options *options, uint32_t rows)
{
    int wanted = options->workers > 0 ? options->workers : mx_thread_cores(NULL, 0);
    if (wanted > WORKERS_MAX) wanted = WORKERS_MAX;
    if ((uint32_t)wanted > rows) wanted = (int)rows;
    return wanted < 1 ? 1 : wanted;
}

int mx_prepare_run(const struct mx_prepare_options *options, struct mx_prepare_report *report)
{
    int rc = 0;
    struct mx_manifest *manifest = NULL;
    struct mx_pack_spec *spec = NULL;
    struct mx_packed_writer *writer = NULL;
    const uint64_t start_ns = mx_clock_ns();
    struct mx_manifest_options how = options->manifest;
    how.stop = options->stop;
    *report = (struct mx_prepare_report){0};
    MX_TRY(mx_manifest_open(options->corpus, &how, &manifest));
    report_start(manifest, report);
    MX_TRY(mx_pack_spec_create(manifest, &options->row, options->stage, &spec));
    if (!options->force) MX_TRY(existing_compare(options, spec, report));
    if (report->up_to_date) goto out;
    const uint32_t rows = manifest->utterance_count;
    report->workers = workers_wanted(options, rows);
    MX_TRY(mx_pack_spec_texts(spec, report->workers));
    MX_TRY(mx_packed_writer_open(options->file, mx_pack_spec_packed(spec),
                                 options->force ? MX_PACKED_FRESH : MX_PACKED_IN_ORDER, &writer));
    report->tokens = mx_vocabulary_size(mx_pack_spec_vocabulary(spec));
    report->kept = mx_packed_writer_count(writer);
    if (report->kept > 0) mx_info("continuing after row %u of %u", report->kept, rows);
    MX_TRY(rows_pack(options, spec, writer, report->workers, rows));
    for (uint32_t row = 0; row < rows; row++) {
        struct mx_packed_record head;
        if (mx_packed_writer_head(writer, row, &head)) record_count(&head, options->row.audio.rate, report);
    }
    MX_TRY(rejects_write(manifest, writer, report->rejected, options->file));
    MX_TRY(rejects_judge(options, report));
    MX_TRY(mx_packed_writer_finish(writer));
    report->bytes = mx_packed_writer_header(writer)->file_bytes;
out:
    mx_packed_writer_close(writer);
    mx_pack_spec_destroy(spec);
    mx_manifest_close(manifest);
    report->elapsed_ns = mx_clock_ns() - start_ns;
    return rc;
}

void mx_prepare_release(struct mx_prepare_report *report)
{
    mx_string_release(&report->changed);
}
