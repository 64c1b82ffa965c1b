/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A dataset whose validation rows come from elsewhere, where one of the two is a packed file; see dataset.h. (Two folders
 * are one manifest with two sources.)
 *
 * The dataset of the validation rows, `held`, is opened for itself and joined to that of training: its utterances stand
* after those of training, its symbols and languages are appended to the vocabulary, and its speakers are found
 * by name or appended. What is here adds the second one wherever the functions of dataset.h answer for
 * both.
 *
 * Memory: the dataset of training owns the other one and the map of speakers.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/string.h"
#include "corpus/dataset_internal.h"
#include "myxtts/error.h"

int mx_dataset_held_wanted(const struct mx_dataset_options *options, bool *wanted)
{
    const char *const validation = options->manifest.validation;
    *wanted = false;
    if (validation == NULL) return 0;
    const int rc = mx_packed_detect(options->path, wanted);
    return rc < 0 || *wanted ? rc : mx_packed_detect(validation, wanted);
}

/* All rows of `dataset` are for training: those that it names for validation itself are not used. */
static void own_rows_leave_out(struct mx_dataset *dataset, const struct mx_dataset_options *options)
{
    char own[300], other[300];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < dataset->count; i++)
        if (!dataset->list[i].validation) dataset->list[kept++] = dataset->list[i];
    if (kept < dataset->count)
        mx_info("%u rows that %s lists for validation are not used: those of %s take their place",
                (unsigned)(dataset->count - kept), mx_string_quote(own, sizeof own, options->path),
                mx_string_quote(other, sizeof other, options->manifest.validation));
    dataset->count = kept;
}

/* Both must be audio, or the same features. */
static int kinds_compare(const struct mx_dataset *dataset, const struct mx_dataset *held, const char *path)
{
    char quoted[300];
    const struct mx_packed_header *const a = &dataset->header, *const b = &held->header;
    const bool same = a->kind == b->kind && dataset->rate == held->rate &&
                      strcmp(dataset->recipe_hash, held->recipe_hash) == 0 && a->tensor_count == b->tensor_count &&
                      memcmp(a->tensors, b->tensors, sizeof a->tensors) == 0;
    if (same) return 0;
    if (dataset->rate != held->rate)
        return MX_FAIL(MX_ERR_DATA, "prepare both with the same '--recipe'",
                       "the validation rows %s have %d samples per second, but those of training have %d",
                       mx_string_quote(quoted, sizeof quoted, path), held->rate, dataset->rate);
    return MX_FAIL(MX_ERR_DATA, "prepare both alike: with '--features', or without",
                   "the validation rows %s hold %s, but those of training hold %s",
                   mx_string_quote(quoted, sizeof quoted, path),
                   b->kind == MX_PACKED_AUDIO ? "sound" : "precomputed features",
                   a->kind == MX_PACKED_AUDIO   ? "sound"
                   : b->kind == MX_PACKED_AUDIO ? "precomputed features"
                                                : "other ones");
}

/* Adds symbols and languages of the validation rows to the vocabulary. */
static int vocabulary_grow(struct mx_vocabulary *vocabulary, const struct mx_vocabulary *other)
{
    int rc = 0;
    size_t count = 0;
    const size_t size = mx_vocabulary_size(other);
    uint32_t *const symbols = mx_alloc(size, sizeof *symbols);
    if (symbols == NULL) return MX_ERR_NO_MEMORY;
    for (size_t token = MX_TOKEN_FIRST; token < size; token++) {
        const uint32_t symbol = mx_vocabulary_symbol(other, (int32_t)token);
        if (mx_vocabulary_find(vocabulary, symbol) < 0) symbols[count++] = symbol;
    }
    MX_TRY(mx_vocabulary_add(vocabulary, symbols, count));
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++) {
        const enum mx_language_id language = (enum mx_language_id)i;
        if (mx_vocabulary_language(other, language) >= 0 && mx_vocabulary_language(vocabulary, language) < 0)
            MX_TRY(mx_vocabulary_add_language(vocabulary, language));
    }
out:
    mx_free(symbols);
    return rc;
}

/* Opens the validation rows with their own vocabulary, and adds that to the vocabulary. */
static int words_join(struct mx_dataset *dataset, const struct mx_dataset_options *wanted)
{
    int rc = 0;
    struct mx_dataset *held = NULL;
    struct mx_dataset_options own = *wanted;
    own.manifest.quiet = true;
    MX_TRY(mx_dataset_open(&own, &held));
    MX_TRY(mx_dataset_tokens_check(held->vocabulary, dataset->vocabulary, wanted->path));
    MX_TRY(vocabulary_grow(dataset->vocabulary, held->vocabulary));
out:
    mx_dataset_close(held);
    return rc;
}

/* Numbers the speakers of the validation rows as training does; new ones come after those. */
static int speakers_map(struct mx_dataset *dataset)
{
    struct mx_dataset *const held = dataset->held;
    const uint32_t own = mx_dataset_speaker_count(dataset), others = mx_dataset_speaker_count(held);
    dataset->held_speakers = mx_alloc(others, sizeof *dataset->held_speakers);
    dataset->held_new = mx_alloc(others, sizeof *dataset->held_new);
    if (dataset->held_speakers == NULL || dataset->held_new == NULL) return MX_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < others; i++) {
        uint32_t at = 0;
        while (at < own && strcmp(mx_dataset_speaker(dataset, at), mx_dataset_speaker(held, i)) != 0) at++;
        dataset->held_speakers[i] = at < own ? at : own + dataset->held_new_count;
        if (at == own) dataset->held_new[dataset->held_new_count++] = mx_dataset_speaker(held, i);
    }
    for (uint32_t i = 0; i < held->count; i++) held->list[i].speaker = dataset->held_speakers[held->list[i].speaker];
    return 0;
}

int mx_dataset_held_open(struct mx_dataset *dataset, const struct mx_dataset_options *options)
{
    int rc = 0;
    struct mx_dataset *held = NULL;
    struct mx_dataset_options wanted = *options;
    own_rows_leave_out(dataset, options);
    wanted.path = options->manifest.validation;
    wanted.cache = NULL;
    wanted.manifest.validation = wanted.manifest.pieces = NULL;
    wanted.manifest.validation_fraction = 0;
    wanted.row.tokens = mx_vocabulary_mode(dataset->vocabulary);
    wanted.row.lexicon = mx_dataset_lexicon(dataset);
    if (wanted.row.vocabulary == NULL && !options->sounds) {
        MX_TRY(words_join(dataset, &wanted));
        wanted.row.vocabulary = dataset->vocabulary; /* as in a run that is resumed */
    }
    MX_TRY(mx_dataset_open(&wanted, &held));
    MX_TRY(kinds_compare(dataset, held, wanted.path));
    for (uint32_t i = 0; i < held->count; i++) held->list[i].validation = true;
    dataset->held = held;
    held = NULL;
    MX_TRY(speakers_map(dataset));
out:
    mx_dataset_close(held);
    return rc;
}

void mx_dataset_held_close(struct mx_dataset *dataset)
{
    mx_dataset_close(dataset->held);
    mx_free(dataset->held_speakers);
    mx_free(dataset->held_new);
}

int mx_dataset_held_load(struct mx_dataset_reader *reader, uint32_t index, struct mx_dataset_item *item)
{
    const struct mx_dataset *const dataset = reader->dataset;
    const int rc = mx_dataset_load(reader->held, index, item);
    if (rc == 0) item->speaker = dataset->held_speakers[item->speaker];
    return rc;
}
