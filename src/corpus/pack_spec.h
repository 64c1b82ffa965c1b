/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a packed corpus of a manifest must hold: the options that it depends on, a key for each row, the texts as tokens
 * and the vocabulary. `prepare` makes packed files by it, the dataset its cache, and it tells whether an existing file
 * is still valid and if not, what changed.
 *
 * The key of a row is a hash of its id, its text, its speaker, its source, the path of its recording below the folder
 * of the manifest, and the size and time of that file. Options are those of rows (row.h) with the versions of all code
 * that the contents depend on. Both together decide if a packed file is valid.
 *
 * Metadata of a packed file, JSON:
 *
 *     {"format": "myxtts-packed",
 *      "options": {"kind": "audio", "rate": "22050", …},       all values are strings, compared as such
 *      "speakers": ["name", …],                                record.speaker is an index
 *      "manifest": [{"name": "metadata.csv", "format": "ljspeech", "columns": "id|raw|normalised"}, …],
 *      "validation": "seeded" or "listed",                     listed: record.flags tell
 *      "speaking_rate": [4.2, 38.1],                           sounds a second that were believed, see rate.h
 *      "vocabulary": {…}}                                      text/vocabulary.h
 *
 * Memory: a plan owns everything but the manifest and the stage, which must outlive it. After mx_pack_spec_texts it is only
 * read, by any thread.
 */
#ifndef MX_CORPUS_PACK_SPEC_H
#define MX_CORPUS_PACK_SPEC_H

#include "base/string.h"
#include "corpus/manifest.h"
#include "corpus/packed.h"
#include "corpus/row.h"

/* Turns the audio of an utterance into what is stored instead of it. Given by the caller, since features stand after
 * the corpus in the flow of the program. */
struct mx_prepare_stage {
    const struct mx_packed_tensor *tensors;
    uint32_t tensor_count;
    const char *recipe, *recipe_hash; /* names what the tensors are; both are part of the options */
    void *context;
    /* One state for each worker, which only that one uses; `end` is called for all that were started. */
    int (*start)(void *context, int worker, void **state);
    /* The tensors are the state's, until its next run. */
    int (*run)(void *state, const float *samples, size_t count, uint32_t *frames,
               const float *tensors[MX_PACKED_TENSORS]);
    void (*end)(void *state);
};

/* The text of one row. */
struct mx_pack_spec_text {
    enum mx_reject reject;
    const char *detail; /* "" for a good one */
    const char *spoken;
    uint32_t sounds;   /* rate.h */
    uint32_t language; /* number in the vocabulary */
    uint32_t token_count;
    const int32_t *tokens; /* BOS … EOS */
};

struct mx_pack_spec;

/* stage NULL: the audio itself. Cheap: no text and no recording is looked at. */
int mx_pack_spec_create(const struct mx_manifest *manifest, const struct mx_row_options *options,
                        const struct mx_prepare_stage *stage, struct mx_pack_spec **out);
void mx_pack_spec_destroy(struct mx_pack_spec *plan); /* NULL is fine */

/* How many things (options, rows) are not as in the packed file; 0: it is valid. Each of the first ones is described by
 * a line in `changes`, which may be NULL. */
int mx_pack_spec_compare(const struct mx_pack_spec *plan, const struct mx_packed_file *packed,
                         struct mx_string *changes);

/* Of the options that change what a usable row becomes, not which rows are usable. */
uint64_t mx_pack_spec_recipe_hash(const struct mx_pack_spec *plan);

/* Reads the texts of all rows on `workers` threads and makes the vocabulary: that of the row options, or else of all
 * texts that can be used. Learns from them and the headers of the recordings how fast is spoken. The result does not
 * depend on the number of threads. */
int mx_pack_spec_texts(struct mx_pack_spec *plan, int workers);
/* After mx_pack_spec_texts. */
const struct mx_pack_spec_text *mx_pack_spec_text(const struct mx_pack_spec *plan, uint32_t row);
const struct mx_vocabulary *mx_pack_spec_vocabulary(const struct mx_pack_spec *plan);
const struct mx_packed_plan *mx_pack_spec_packed(const struct mx_pack_spec *plan);

/* One worker of pass two: from a row to its record. */
struct mx_pack_spec_worker;
int mx_pack_spec_worker_create(const struct mx_pack_spec *plan, int number, struct mx_pack_spec_worker **out);
void mx_pack_spec_worker_destroy(struct mx_pack_spec_worker *worker); /* NULL is fine */
/* The record of row `index`, rejected or not, into the caller's buffer. `bound`: the length that the header of the
 * recording names, if it is already known; NULL: it is asked for. */
int mx_pack_spec_record(struct mx_pack_spec_worker *worker, uint32_t index, const uint32_t *bound,
                        const struct mx_packed_header *header, struct mx_packed_buffer *buffer);

#endif
