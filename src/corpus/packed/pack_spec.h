/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The specification of a packed corpus made from a manifest: the options that it depends on, a key for each row, the
 * texts as tokens and the vocabulary. `prepare` makes packed files from it and the dataset makes its cache; it also
 * decides whether an existing file is still valid and, if not, what changed.
 *
 * The key of a row is a hash of its id, its text, its speaker, its source, the path of its recording below the folder
 * of the manifest, and the size and time of that file. Options are those of rows (row.h) with the versions of all code
 * that the contents depend on. Together they decide whether a packed file is valid.
 *
 * Metadata of a packed file, JSON:
 *
 *     {"format": "myxtts-packed",
 *      "options": {"kind": "audio", "rate": "22050", …},       all values are strings, compared as such; "texts" is
 *                                                              "none" for sounds and missing otherwise
 *      "speakers": ["name", …],                                record.speaker is an index
 *      "manifest": [{"name": "metadata.csv", "format": "ljspeech", "columns": "id|raw|normalised"}, …],
 *      "validation": "seeded" or "listed",                     listed: see record.flags
 *      "speaking_rate": [4.2, 38.1],                           plausible sounds per second, see rate.h
 *      "vocabulary": {…}}                                      text/vocabulary.h
 *
 * Memory: a spec owns everything but the manifest and the stage, which must outlive it. After mx_pack_spec_texts it
 * does not change, and any thread may read it.
 */
#ifndef MX_CORPUS_PACK_SPEC_H
#define MX_CORPUS_PACK_SPEC_H

#include "base/string.h"
#include "corpus/manifest/manifest.h"
#include "corpus/packed/packed.h"
#include "corpus/row.h"

/* Turns the audio of an utterance into the data stored in its place. The caller provides it, because features come
 * after the corpus in the order of rooms. */
struct mx_prepare_stage {
    const struct mx_packed_tensor *tensors;
    uint32_t tensor_count;
    const char *recipe, *recipe_hash; /* names what the tensors are; both are part of the options */
    void *context;
    /* One state for each worker, used by that worker only; `end` is called for every state that was started. */
    int (*start)(void *context, int worker, void **state);
    /* The tensors belong to the state and are valid until its next run. */
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

/* stage NULL: the audio itself is stored. This is cheap: no text and no recording is read. */
int mx_pack_spec_create(const struct mx_manifest *manifest, const struct mx_row_options *options,
                        const struct mx_prepare_stage *stage, struct mx_pack_spec **out);
void mx_pack_spec_destroy(struct mx_pack_spec *spec); /* NULL is fine */

/* The number of options and rows that differ from the packed file; 0: it is valid. Each of the first ones is described
 * by a line in `changes`, which may be NULL. */
int mx_pack_spec_compare(const struct mx_pack_spec *spec, const struct mx_packed_file *packed,
                         struct mx_string *changes);

/* A hash of the options that change what a usable row becomes, not which rows are usable. */
uint64_t mx_pack_spec_recipe_hash(const struct mx_pack_spec *spec);

/* With row options for `sounds` no text is read: each becomes the tokens BOS EOS in a vocabulary without symbols, and any
 * speaking rate will do. Otherwise:
 * Reads the texts of all rows on `workers` threads and makes the vocabulary: that of the row options, or else one of
 * all usable texts. Learns the speaking rate from them and from the headers of the recordings. The result does not
 * depend on the number of threads. */
int mx_pack_spec_texts(struct mx_pack_spec *spec, int workers);
/* After mx_pack_spec_texts. */
const struct mx_pack_spec_text *mx_pack_spec_text(const struct mx_pack_spec *spec, uint32_t row);
const struct mx_vocabulary *mx_pack_spec_vocabulary(const struct mx_pack_spec *spec);
const struct mx_packed_plan *mx_pack_spec_packed(const struct mx_pack_spec *spec);

/* One worker of pass two: from a row to its record. */
struct mx_pack_spec_worker;
int mx_pack_spec_worker_create(const struct mx_pack_spec *spec, int number, struct mx_pack_spec_worker **out);
void mx_pack_spec_worker_destroy(struct mx_pack_spec_worker *worker); /* NULL is fine */
/* Writes the record of row `index`, rejected or not, to the caller's buffer. `bound`: the length given by the header of
 * the recording, if already known; NULL: it is read. */
int mx_pack_spec_record(struct mx_pack_spec_worker *worker, uint32_t index, const uint32_t *bound,
                        const struct mx_packed_header *header, struct mx_packed_buffer *buffer);

#endif
