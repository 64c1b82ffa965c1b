/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training from a folder, with a cache that fills during training; see dataset.h.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/string.h"
#include "base/thread/pool.h"
#include "corpus/audio/audio.h"
#include "corpus/dataset_internal.h"
#include "myxtts/error.h"

#define GRAIN       8
#define WORKERS_MAX 256

/* ---- lengths ---- */

/* Reading the headers of all recordings. */
struct survey {
    struct mx_dataset *dataset;
    const struct mx_audio_options *audio;
    struct mx_audio_reader **readers; /* one for each worker */
    uint32_t *bounds;                 /* of each row; 0: not in the list */
    struct mx_progress *progress;
    struct mx_first_error failure;
};

static int row_survey(struct survey *survey, uint32_t row, int worker)
{
    struct mx_dataset *const dataset = survey->dataset;
    struct mx_packed_record head;
    struct mx_audio_report report;
    const struct mx_pack_spec_text *const text = mx_pack_spec_text(dataset->spec, row);
    dataset->rejects[row] = (uint8_t)text->reject;
    if (text->reject != MX_REJECT_NONE) {
        dataset->details[row] = mx_strdup(text->detail);
        return dataset->details[row] == NULL ? MX_ERR_NO_MEMORY : 0;
    }
    if (dataset->writer != NULL && mx_packed_writer_head(dataset->writer, row, &head)) {
        survey->bounds[row] = head.samples_bound;
        dataset->rejects[row] = (uint8_t)head.reject;
        return 0;
    }
    const int rc = mx_audio_probe(survey->readers[worker], dataset->manifest->utterances[row].audio, survey->audio,
                                  &survey->bounds[row], &report);
    dataset->rejects[row] = (uint8_t)report.reject;
    if (rc < 0 || report.reject == MX_REJECT_NONE) return rc;
    dataset->details[row] = mx_strdup(report.detail);
    return dataset->details[row] == NULL ? MX_ERR_NO_MEMORY : 0;
}

static void rows_survey(void *context, int64_t begin, int64_t end, int worker)
{
    struct survey *const survey = context;
    for (int64_t row = begin; row < end && !mx_first_error_failed(&survey->failure); row++) {
        mx_progress_add(survey->progress, 1);
        if (row_survey(survey, (uint32_t)row, worker) < 0) mx_first_error_keep(&survey->failure);
    }
}

/* *bounds, one for each row, is the caller's to free. */
static int lengths_survey(struct mx_dataset *dataset, const struct mx_dataset_options *options, int workers,
                          uint32_t **bounds)
{
    int rc = 0;
    struct mx_pool *pool = NULL;
    const uint32_t count = dataset->manifest->utterance_count;
    struct survey survey = {.dataset = dataset, .audio = &options->row.audio};
    *bounds = survey.bounds = mx_alloc(count, sizeof *survey.bounds);
    survey.readers = mx_alloc((size_t)workers, sizeof(struct mx_audio_reader *));
    if (survey.readers == NULL || survey.bounds == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (int i = 0; i < workers; i++) MX_TRY(mx_audio_reader_create(&survey.readers[i]));
    MX_TRY(mx_pool_create(&(struct mx_pool_options){.name = "survey", .workers = workers}, &pool));
    MX_TRY(mx_progress_start(&(struct mx_progress_options){.title = "Measuring", .unit = "files", .total = count},
                             &survey.progress));
    mx_pool_for(pool, count, GRAIN, rows_survey, &survey);
    MX_TRY(mx_first_error_raise(&survey.failure));
out:
    mx_progress_finish(survey.progress);
    mx_pool_destroy(pool);
    for (int i = 0; survey.readers != NULL && i < workers; i++) mx_audio_reader_destroy(survey.readers[i]);
    mx_free(survey.readers);
    return rc;
}

static int list_build(struct mx_dataset *dataset, const struct mx_dataset_options *options, int workers)
{
    int rc = 0;
    const struct mx_manifest *const manifest = dataset->manifest;
    uint32_t *bounds = NULL;
    dataset->list = mx_alloc(manifest->utterance_count, sizeof *dataset->list);
    if (dataset->list == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_dataset_rejects_open(dataset));
    MX_TRY(lengths_survey(dataset, options, workers, &bounds));
    for (uint32_t row = 0; row < manifest->utterance_count; row++) {
        const struct mx_utterance *const utterance = &manifest->utterances[row];
        const struct mx_pack_spec_text *const text = mx_pack_spec_text(dataset->spec, row);
        if (bounds[row] == 0) continue;
        dataset->list[dataset->count++] = (struct mx_dataset_utterance){.id = utterance->id,
                                                                        .row = row,
                                                                        .samples = bounds[row],
                                                                        .tokens = text->token_count,
                                                                        .speaker = utterance->speaker,
                                                                        .language = text->language,
                                                                        .validation = utterance->validation};
    }
out:
    mx_free(bounds);
    return rc;
}

/* ---- the cache ---- */

/* A finished cache that still belongs to the folder; otherwise NULL, with the reason in the log. */
static int cache_find(struct mx_dataset *dataset, const struct mx_dataset_options *options)
{
    int rc = 0;
    struct mx_string changes = {0};
    struct mx_packed_file *packed = NULL;
    rc = mx_packed_open(options->cache, &packed);
    if (rc == MX_ERR_NOT_FOUND || rc == MX_ERR_FORMAT) {
        if (rc == MX_ERR_FORMAT) mx_warn("the cache is rebuilt: %s", mx_error_last()->message);
        mx_error_clear();
        return 0;
    }
    MX_TRY(rc);
    const int changed = mx_pack_spec_compare(dataset->spec, packed, &changes);
    if (changed > 0) {
        const char *const text = changes.data == NULL ? "" : changes.data;
        mx_info("the cache %s is rebuilt; the first of %d changes: %.*s", options->cache, changed,
                (int)strcspn(text, "\n"), text);
        goto out;
    }
    dataset->packed = packed;
    packed = NULL;
out:
    mx_string_release(&changes);
    mx_packed_close(packed);
    return rc;
}

/* Whatever is wrong with the cache, training continues; but it is logged. */
static void cache_warn(struct mx_dataset *dataset)
{
    if (!atomic_exchange(&dataset->writer_failed, true))
        mx_warn("the corpus is not cached, so later epochs decode it again: %s", mx_error_last()->message);
    mx_error_clear();
}

/* Continues a cache that was begun, or begins one. */
void mx_dataset_cache_begin(struct mx_dataset *dataset, const char *path)
{
    if (dataset->spec == NULL || dataset->packed != NULL) return;
    const struct mx_packed_plan *const plan = mx_pack_spec_packed(dataset->spec);
    if (mx_packed_writer_open(path, plan, MX_PACKED_ANY_ORDER, &dataset->writer) < 0) {
        cache_warn(dataset);
        return;
    }
    const uint32_t kept = mx_packed_writer_count(dataset->writer);
    if (kept > 0)
        mx_info("the cache %s is continued: %u of %u recordings are already in it", path, kept, plan->record_count);
}

int mx_dataset_folder_open(struct mx_dataset *dataset, const struct mx_dataset_options *options)
{
    int rc = 0;
    int workers = options->workers > 0 ? options->workers : mx_thread_cores(NULL, 0);
    if (workers > WORKERS_MAX) workers = WORKERS_MAX;
    if (workers < 1) workers = 1;
    MX_TRY(mx_manifest_open(options->path, &options->manifest, &dataset->manifest));
    dataset->listed = dataset->manifest->source_count > 1;
    MX_TRY(mx_pack_spec_create(dataset->manifest, &options->row, NULL, &dataset->spec));
    if (options->cache != NULL) MX_TRY(cache_find(dataset, options));
    if (dataset->packed != NULL) goto out;
    MX_TRY(mx_pack_spec_texts(dataset->spec, workers));
    dataset->header = (struct mx_packed_header){.kind = MX_PACKED_AUDIO};
    if (options->cache != NULL && !options->cache_others) mx_dataset_cache_begin(dataset, options->cache);
    MX_TRY(list_build(dataset, options, workers));
out:
    return rc;
}

/* The rows that are not in the list have records too: why they are not. */
static int cache_complete(struct mx_dataset *dataset)
{
    int rc = 0;
    struct mx_packed_record head;
    struct mx_packed_buffer buffer = {0};
    struct mx_pack_spec_worker *worker = NULL;
    for (uint32_t i = 0; i < dataset->count; i++)
        if (!mx_packed_writer_head(dataset->writer, dataset->list[i].row, &head)) goto out;
    MX_TRY(mx_pack_spec_worker_create(dataset->spec, 0, &worker));
    do { /* once more for each row that turns out to be damaged */
        for (uint32_t row = 0; row < dataset->manifest->utterance_count; row++) {
            if (mx_packed_writer_head(dataset->writer, row, &head)) continue;
            MX_TRY(mx_pack_spec_record(worker, row, NULL, &dataset->header, &buffer));
            MX_TRY(mx_packed_writer_append(dataset->writer, &buffer));
        }
        rc = mx_packed_writer_finish(dataset->writer);
        if (rc == MX_ERR_FORMAT) {
            mx_warn("%s; it is decoded again", mx_error_last()->message);
            mx_error_clear();
        }
    } while (rc == MX_ERR_FORMAT);
    MX_TRY(rc);
out:
    mx_pack_spec_worker_destroy(worker);
    mx_packed_buffer_release(&buffer);
    return rc;
}

void mx_dataset_folder_close(struct mx_dataset *dataset)
{
    if (dataset->writer != NULL && dataset->count > 0 && !atomic_load(&dataset->writer_failed) &&
        cache_complete(dataset) < 0)
        cache_warn(dataset);
    mx_packed_writer_close(dataset->writer);
    mx_pack_spec_destroy(dataset->spec);
    mx_manifest_close(dataset->manifest);
}

int mx_dataset_folder_load(struct mx_dataset_reader *reader, uint32_t index, struct mx_packed_record *record,
                           struct mx_packed_view *view)
{
    int rc = 0;
    struct mx_dataset *const dataset = reader->dataset;
    const uint32_t row = dataset->list[index].row, bound = dataset->list[index].samples;
    if (dataset->writer != NULL) {
        rc = mx_packed_writer_read(dataset->writer, row, &reader->buffer, record, view);
        if (rc == 0) goto out;
        if (rc == MX_ERR_FORMAT || rc == MX_ERR_IO)
            mx_warn("%s; it is decoded again", mx_error_last()->message);
        else if (rc != MX_ERR_NOT_FOUND)
            goto out;
        mx_error_clear();
    }
    MX_TRY(mx_pack_spec_record(reader->worker, row, &bound, &dataset->header, &reader->buffer));
    if (dataset->writer != NULL && !atomic_load(&dataset->writer_failed) &&
        mx_packed_writer_append(dataset->writer, &reader->buffer) < 0)
        cache_warn(dataset);
    memcpy(record, reader->buffer.data, sizeof *record);
    const char *const fault =
        mx_packed_payload_fault(&dataset->header, record, reader->buffer.data + sizeof *record, 0, false, view);
    if (fault != NULL) MX_RAISE(MX_ERR_INTERNAL, NULL, "row %u: %s", row, fault);
out:
    return rc;
}

uint32_t mx_dataset_cached(struct mx_dataset *dataset)
{
    struct mx_packed_record head;
    uint32_t count = dataset->held != NULL ? mx_dataset_cached(dataset->held) : 0;
    if (dataset->packed != NULL) return dataset->count + count;
    for (uint32_t i = 0; dataset->writer != NULL && i < dataset->count; i++)
        count += mx_packed_writer_head(dataset->writer, dataset->list[i].row, &head);
    return count;
}
