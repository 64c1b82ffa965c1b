/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of a dataset that cannot be used: counting, naming and listing them; see dataset.h.
 *
 * Some are known when the corpus is opened (from texts, headers or a cache), others only when their recording is
 * decoded for the first time. `rejects` has the reason for each row; `details` explains it in words if no record does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/string.h"
#include "corpus/audio/audio.h"
#include "corpus/check.h"
#include "corpus/dataset_internal.h"
#include "myxtts/error.h"

uint32_t mx_dataset_rows_of(const struct mx_dataset *dataset)
{
    return dataset->packed != NULL ? mx_packed_header(dataset->packed)->record_count
                                   : dataset->manifest->utterance_count;
}

uint32_t mx_dataset_rows(const struct mx_dataset *dataset)
{
    return mx_dataset_rows_of(dataset) + (dataset->manifest != NULL ? dataset->manifest->rejected : 0) +
           (dataset->held != NULL ? mx_dataset_rows(dataset->held) : 0);
}

uint32_t mx_dataset_dropped(const struct mx_dataset *dataset)
{
    return (dataset->manifest != NULL ? dataset->manifest->dropped : 0) +
           (dataset->held != NULL ? mx_dataset_dropped(dataset->held) : 0);
}

/* ---- noting ---- */

int mx_dataset_rejects_open(struct mx_dataset *dataset)
{
    const uint32_t rows = mx_dataset_rows_of(dataset);
    dataset->rejects = mx_alloc(rows, sizeof *dataset->rejects);
    dataset->details = mx_alloc(rows, sizeof *dataset->details);
    return dataset->rejects == NULL || dataset->details == NULL ? MX_ERR_NO_MEMORY : 0;
}

void mx_dataset_rejects_close(struct mx_dataset *dataset)
{
    for (uint32_t row = 0; dataset->details != NULL && row < mx_dataset_rows_of(dataset); row++)
        mx_free(dataset->details[row]);
    mx_free(dataset->details);
    mx_free(dataset->rejects);
}

void mx_dataset_rejects_start(struct mx_dataset *dataset)
{
    dataset->rejected = dataset->manifest != NULL ? dataset->manifest->rejected : 0;
    for (uint32_t row = 0; row < mx_dataset_rows_of(dataset); row++)
        dataset->rejected += dataset->rejects[row] != MX_REJECT_NONE;
}

void mx_dataset_reject_note(struct mx_dataset *dataset, uint32_t row, enum mx_reject reason, const char *id,
                            const char *detail)
{
    bool news = false;
    pthread_mutex_lock(&dataset->reject_lock);
    if (dataset->rejects[row] == MX_REJECT_NONE) {
        news = true;
        dataset->rejects[row] = (uint8_t)reason;
        dataset->rejected++;
        /* Once for each such row of a run. Without memory the reason alone is listed. */
        if (dataset->packed == NULL) dataset->details[row] = mx_strdup(detail);
        if (dataset->packed == NULL && dataset->details[row] == NULL) mx_error_clear();
    }
    pthread_mutex_unlock(&dataset->reject_lock);
    if (news) mx_warn("%s is left out: %s (%s)", id, mx_reject_text(reason), detail);
}

/* ---- counting ---- */

uint32_t mx_dataset_rejected(struct mx_dataset *dataset)
{
    pthread_mutex_lock(&dataset->reject_lock);
    const uint32_t count = dataset->rejected;
    pthread_mutex_unlock(&dataset->reject_lock);
    return count + (dataset->held != NULL ? mx_dataset_rejected(dataset->held) : 0);
}

void mx_dataset_reject_counts(struct mx_dataset *dataset, uint32_t counts[MX_REJECT_COUNT])
{
    memset(counts, 0, MX_REJECT_COUNT * sizeof *counts);
    if (dataset->held != NULL) mx_dataset_reject_counts(dataset->held, counts);
    pthread_mutex_lock(&dataset->reject_lock);
    for (uint32_t row = 0; row < mx_dataset_rows_of(dataset); row++)
        if (dataset->rejects[row] < MX_REJECT_COUNT) counts[dataset->rejects[row]]++;
    pthread_mutex_unlock(&dataset->reject_lock);
    for (uint32_t i = 0; dataset->manifest != NULL && i < dataset->manifest->problem_count; i++)
        counts[dataset->manifest->problems[i].reject]++;
    counts[MX_REJECT_NONE] = 0;
}

/* ---- listing ---- */

/* Why a row of a packed file is not used, in words that the caller frees. */
static char *packed_detail(const struct mx_dataset *dataset, uint32_t row, struct mx_packed_buffer *buffer)
{
    struct mx_packed_view view;
    const struct mx_packed_record *const record = mx_packed_record(dataset->packed, row);
    if (record->reject == MX_REJECT_NONE)
        return mx_format("%.2f s; from %g to %g s are used", (double)record->samples / dataset->rate,
                         dataset->seconds_min, dataset->seconds_max);
    if (mx_packed_get(dataset->packed, row, buffer, &view) == 0) return mx_strdup(view.detail);
    mx_error_clear(); /* the list is worth more than one of its details */
    return mx_strdup(mx_reject_text((enum mx_reject)record->reject));
}

/* A row for the list; false without memory. */
static bool row_list(const struct mx_dataset *dataset, uint32_t row, struct mx_packed_buffer *buffer,
                     struct mx_check_reject *out)
{
    const struct mx_manifest *const manifest = dataset->manifest;
    const struct mx_utterance *const utterance = manifest != NULL ? &manifest->utterances[row] : NULL;
    const enum mx_reject reason = (enum mx_reject)dataset->rejects[row];
    *out = (struct mx_check_reject){.reason = reason, .audio = utterance != NULL ? utterance->audio : ""};
    if (utterance != NULL) {
        out->source = utterance->source;
        out->line = utterance->line;
        out->id = utterance->id;
    } else {
        const struct mx_packed_record *const record = mx_packed_record(dataset->packed, row);
        out->source = record->source < MX_MANIFEST_SOURCES ? record->source : 0;
        out->line = record->line;
        out->id = mx_packed_id(dataset->packed, row);
    }
    if (dataset->packed != NULL)
        out->detail = packed_detail(dataset, row, buffer);
    else
        out->detail = mx_strdup(dataset->details[row] != NULL ? dataset->details[row] : mx_reject_text(reason));
    return out->detail != NULL;
}

/* The manifests that a packed file names, as far as the list needs them. Names are those of *root. */
static void sources_name(const struct mx_dataset *dataset, struct mx_manifest *out, cJSON **root)
{
    size_t bytes = 0;
    const char *const text = mx_packed_metadata(dataset->packed, &bytes);
    *root = cJSON_ParseWithLength(text, bytes);
    const cJSON *const list = cJSON_GetObjectItemCaseSensitive(*root, "manifest");
    for (int i = 0; i < MX_MANIFEST_SOURCES; i++) {
        const cJSON *const name = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(list, i), "name");
        out->sources[i].path = cJSON_IsString(name) ? name->valuestring : "";
    }
}

/* What a list is made of. */
struct reject_list {
    struct mx_check_report report; /* its manifest and rejected rows */
    struct mx_manifest named;      /* of a packed file, in place of a manifest */
    cJSON *root;                   /* owns the names in `named` */
};

/* Rows that were loaded, then lines of the manifest that did not become one; without those of rows from elsewhere. */
static int list_fill(struct mx_dataset *dataset, struct reject_list *out)
{
    int rc = 0;
    struct mx_packed_buffer buffer = {0};
    struct mx_check_report *const list = &out->report;
    const struct mx_manifest *const manifest = list->manifest = dataset->manifest;
    if (manifest == NULL) {
        sources_name(dataset, &out->named, &out->root);
        list->manifest = &out->named;
    }
    pthread_mutex_lock(&dataset->reject_lock);
    const uint32_t most = dataset->rejected;
    list->rejects = mx_alloc(most, sizeof *list->rejects);
    if (list->rejects == NULL) rc = MX_ERR_NO_MEMORY;
    for (uint32_t row = 0; rc == 0 && row < mx_dataset_rows_of(dataset) && list->rejected < most; row++) {
        if (dataset->rejects[row] == MX_REJECT_NONE) continue;
        if (row_list(dataset, row, &buffer, &list->rejects[list->rejected]))
            list->rejected++;
        else
            rc = MX_ERR_NO_MEMORY;
    }
    pthread_mutex_unlock(&dataset->reject_lock);
    MX_TRY(rc);
    for (uint32_t i = 0; manifest != NULL && i < manifest->problem_count && list->rejected < most; i++) {
        const struct mx_manifest_problem *const problem = &manifest->problems[i];
        if (problem->reject == MX_REJECT_NONE) continue;
        char *const detail = mx_strdup(problem->message);
        if (detail == NULL) MX_TRY(MX_ERR_NO_MEMORY);
        list->rejects[list->rejected++] =
            (struct mx_check_reject){problem->source, problem->line, problem->reject, problem->id, "", detail};
    }
    mx_check_sort_rejects(list->rejects, list->rejected);
out:
    mx_packed_buffer_release(&buffer);
    return rc;
}

int mx_dataset_rejects_write(struct mx_dataset *dataset, const char *path)
{
    int rc = 0;
    struct reject_list lists[2] = {{.root = NULL}};
    const int count = dataset->held != NULL ? 2 : 1;
    MX_TRY(list_fill(dataset, &lists[0]));
    if (count > 1) MX_TRY(list_fill(dataset->held, &lists[1]));
    const struct mx_check_report reports[] = {lists[0].report, lists[1].report};
    MX_TRY(mx_check_write_rejects(reports, count, path));
out:
    for (int l = 0; l < count; l++) {
        struct mx_check_report *const list = &lists[l].report;
        for (uint32_t i = 0; list->rejects != NULL && i < list->rejected; i++) mx_free(list->rejects[i].detail);
        mx_free(list->rejects);
        cJSON_Delete(lists[l].root);
    }
    return rc;
}
