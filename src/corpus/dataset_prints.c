/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The hashes that distinguish datasets: of the list, of the data it refers to, and of what was really read; see dataset.h.
 * The dataset owns the table of contents.
 */
#include <string.h>
#include <xxhash.h>

#include "base/string.h"
#include "corpus/dataset_internal.h"
#include "myxtts/error.h"

uint64_t mx_dataset_fingerprint(const struct mx_dataset *dataset)
{
    const uint32_t count = mx_dataset_count(dataset);
    uint64_t hash = count;
    for (uint32_t i = 0; i < count; i++) {
        const struct mx_dataset_utterance *const one = mx_dataset_utterance(dataset, i);
        const uint32_t numbers[] = {one->samples, one->frames,   one->tokens,
                                    one->speaker, one->language, one->validation ? 1 : 0};
        hash = XXH3_64bits_withSeed(one->id, strlen(one->id), hash);
        hash = XXH3_64bits_withSeed(numbers, sizeof numbers, hash);
    }
    return hash;
}

static uint64_t text_hash(const char *text, uint64_t hash)
{
    return XXH3_64bits_withSeed(text, strlen(text), hash);
}

struct mx_dataset_prints mx_dataset_prints(const struct mx_dataset *dataset)
{
    struct mx_dataset_prints prints = {1, 2, text_hash(dataset->recipe_hash, 3)};
    const struct mx_manifest *const manifest = dataset->manifest;
    for (uint32_t i = 0; i < dataset->count; i++) {
        const uint32_t row = dataset->list[i].row;
        if (manifest == NULL) {
            const uint64_t contents = mx_packed_record(dataset->packed, row)->payload_hash;
            prints.recordings = XXH3_64bits_withSeed(&contents, sizeof contents, prints.recordings);
            continue;
        }
        const struct mx_utterance *const utterance = &manifest->utterances[row];
        const uint64_t file[] = {utterance->audio_bytes, (uint64_t)utterance->audio_mtime_ns};
        prints.texts = text_hash(manifest->speakers[utterance->speaker], text_hash(utterance->text, prints.texts));
        if (utterance->language != NULL) prints.texts = text_hash(utterance->language, prints.texts);
        prints.recordings = XXH3_64bits_withSeed(file, sizeof file, prints.recordings);
    }
    if (manifest == NULL)
        prints.texts = prints.recordings;
    else
        prints.recipe = mx_pack_spec_recipe_hash(dataset->spec);
    if (dataset->held == NULL) return prints;
    const struct mx_dataset_prints held = mx_dataset_prints(dataset->held);
    prints.texts = XXH3_64bits_withSeed(&held.texts, sizeof held.texts, prints.texts);
    prints.recordings = XXH3_64bits_withSeed(&held.recordings, sizeof held.recordings, prints.recordings);
    prints.recipe = XXH3_64bits_withSeed(&held.recipe, sizeof held.recipe, prints.recipe);
    return prints;
}

/* ---- contents, as they are read ---- */

int mx_dataset_contents_note(struct mx_dataset *dataset, uint32_t row, uint64_t contents, const char *id)
{
    char quoted[96];
    if (contents == 0) contents = 1; /* 0: not read */
    pthread_mutex_lock(&dataset->reject_lock);
    const uint64_t before = dataset->contents[row];
    if (before == 0) dataset->contents[row] = contents;
    pthread_mutex_unlock(&dataset->reject_lock);
    if (before == 0 || before == contents) return 0;
    return MX_FAIL(MX_ERR_DATA,
                   "put the recording back as it was, or begin a new run with '--init-from' and these weights",
                   "the recording of %s holds something else than when it was first read, though its size and time are "
                   "the same",
                   mx_string_quote(quoted, sizeof quoted, id));
}

uint64_t mx_dataset_contents(struct mx_dataset *dataset)
{
    uint64_t hash = 1;
    /* Of the two one is a packed file, whose contents the prints have. */
    if (dataset->contents == NULL && dataset->held != NULL) return mx_dataset_contents(dataset->held);
    bool whole = dataset->contents != NULL;
    pthread_mutex_lock(&dataset->reject_lock);
    for (uint32_t i = 0; whole && i < dataset->count; i++) {
        const uint32_t row = dataset->list[i].row;
        const uint64_t contents = dataset->contents[row];
        /* A recording that could be read before keeps its hash. */
        if (contents == 0 && dataset->rejects[row] != MX_REJECT_NONE) continue;
        whole = contents != 0;
        hash = XXH3_64bits_withSeed(&contents, sizeof contents, hash ^ row);
    }
    pthread_mutex_unlock(&dataset->reject_lock);
    return whole ? hash : 0;
}
