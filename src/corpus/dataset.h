/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A corpus as training sees it: a list of utterances, each of which any thread can load. The interface is the same for
 * a packed file and for the folder itself.
 *
 * From a packed file (packed.h) the list holds the good rows within the length limits, with exact lengths; opening
 * reads only the index, and loading is one checked read.
 *
 * A folder needs no preparation. Opening reads the manifest, all texts and the headers of all recordings. A recording
 * is decoded when it is first loaded and then kept in a packed cache (`cache`, the journal of packed.h while it is
 * growing), from which later epochs and later runs read it; when the last row is there, closing turns the cache into a
 * finished packed file, the same that `prepare` makes except for the order of the records. The next opening needs
 * neither texts nor headers. Samples are always those of the cache, even the first time, so results do not depend on
 * whether a row was in it. Lengths are upper bounds (audio.h); recordings that are too long are never in the list, so
 * no batch is planned with them. A row whose recording turns out to be unusable stays in the list: loading it fails
 * each time with its reason, and the caller leaves it out. Thus the list, and with it the order of training, does not
 * depend on the state of the cache, and a resumed run sees the same data that an uninterrupted run would have seen. A
 * cache that cannot be written (full disk, another program has it open) causes a warning and does not end training.
 *
 * Validation rows may come from elsewhere (`manifest.validation`). Two folders are one manifest; if one of the two is a
 * packed file, the rows of validation follow those of training, and a folder of them has no cache: they are decoded
 * at each evaluation (dataset_held.c).
 *
 * Memory: a dataset owns its list and its names. A reader belongs to one thread at a time and owns what it returned
 * last; a dataset must outlive its readers. Buffers only grow, so a loop soon allocates nothing.
 */
#ifndef MX_CORPUS_DATASET_H
#define MX_CORPUS_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corpus/manifest/manifest.h"
#include "corpus/packed/packed.h"
#include "corpus/row.h"

struct mx_dataset_options {
    const char *path;                    /* packed file, corpus folder or manifest file */
    const char *cache;                   /* of a folder; NULL: none, every load decodes */
    bool cache_others;                   /* another process makes the cache: it is used if finished and never written */
    struct mx_manifest_options manifest; /* seed and fraction of the split hold for packed files too */
    /* For a folder; only the vocabulary applies to a packed file too. If one is given, tokens and languages are
     * numbered by it, and a packed corpus with a symbol or a language that it lacks is refused (in a folder such rows
     * are left out). */
    struct mx_row_options row;
    /* Only the recordings are wanted, as for a vocoder: `path` is a folder of sound files (manifest.h), a manifest file
     * whose texts are ignored, or a packed file of audio. Texts and symbols of items then mean nothing. Without it, a
     * packed file that was made of sounds is refused. */
    bool sounds;
    int workers; /* threads that read texts and headers of a folder; 0: one for each core */
};

#define MX_DATASET_OPTIONS_DEFAULT                                                                                     \
    ((struct mx_dataset_options){.manifest = MX_MANIFEST_OPTIONS_DEFAULT, .row = MX_ROW_OPTIONS_DEFAULT})

struct mx_dataset_utterance {
    const char *id;
    uint32_t row;      /* of the manifest */
    uint32_t samples;  /* exact from a packed file, an upper bound from a folder */
    uint32_t frames;   /* of features; 0 for audio */
    uint32_t tokens;   /* BOS and EOS included */
    uint32_t speaker;  /* index of mx_dataset_speaker */
    uint32_t language; /* number in the vocabulary */
    bool validation;
};

/* One loaded utterance. The pointers belong to the reader and are valid until its next load. */
struct mx_dataset_item {
    const float *samples; /* kind audio */
    uint32_t sample_count;
    const float *tensors[MX_PACKED_TENSORS]; /* kind features; tensor i is that of mx_dataset_tensor */
    uint32_t frames;
    const int32_t *tokens;
    uint32_t token_count;
    uint32_t speaker, language;
    const char *id, *text, *spoken; /* name, as written, as spoken */
    enum mx_reject reject;          /* other than NONE: loading failed for this reason */
};

struct mx_dataset;
struct mx_dataset_reader;

int mx_dataset_open(const struct mx_dataset_options *options, struct mx_dataset **out);
/* Completes the cache of a folder if every utterance has been loaded. NULL is fine. */
void mx_dataset_close(struct mx_dataset *dataset);
/* For a dataset that was opened with `cache_others`: from now on it writes its cache itself, unless the cache is
 * finished. Call it before the first reader is made. */
void mx_dataset_cache_begin(struct mx_dataset *dataset, const char *path);

uint32_t mx_dataset_count(const struct mx_dataset *dataset);
const struct mx_dataset_utterance *mx_dataset_utterance(const struct mx_dataset *dataset, uint32_t index);
const struct mx_vocabulary *mx_dataset_vocabulary(const struct mx_dataset *dataset);
/* The lexicon that its texts were read with; NULL: none. */
const struct mx_lexicon *mx_dataset_lexicon(const struct mx_dataset *dataset);
uint32_t mx_dataset_speaker_count(const struct mx_dataset *dataset);
const char *mx_dataset_speaker(const struct mx_dataset *dataset, uint32_t speaker);
enum mx_packed_kind mx_dataset_kind(const struct mx_dataset *dataset);
/* Tensor i of the kind features; NULL if there are fewer. */
const struct mx_packed_tensor *mx_dataset_tensor(const struct mx_dataset *dataset, uint32_t i);
/* Hz, of its samples and of those that its features were made from: that of the packed file or of the row options. */
int mx_dataset_rate(const struct mx_dataset *dataset);
/* Name and hash of the recipe of the features ("none" for audio). */
const char *mx_dataset_recipe(const struct mx_dataset *dataset);
const char *mx_dataset_recipe_hash(const struct mx_dataset *dataset);
/* A hash of the list: ids, lengths, speakers, languages, split. Equal means the same order of training. */
uint64_t mx_dataset_fingerprint(const struct mx_dataset *dataset);
/* Hashes of the data that the list refers to. For a folder: its texts and speakers, size and time of each recording, and how
 * recordings and texts become numbers. For a packed file the first two are the same hash, over the contents of all
 * records. */
struct mx_dataset_prints {
    uint64_t texts, recordings, recipe;
};
struct mx_dataset_prints mx_dataset_prints(const struct mx_dataset *dataset);
/* For a folder, a hash of the contents of all its recordings as they were loaded; 0 until the last usable one has been
 * loaded. A recording whose contents change later cannot be loaded: MX_ERR_DATA. */
uint64_t mx_dataset_contents(struct mx_dataset *dataset);
/* Finds the first row from *row on that is not in the list because it is known to be unusable without decoding: its id,
 * and why. *row becomes the place after it; false if there is none. Begin with 0. */
bool mx_dataset_left_out(const struct mx_dataset *dataset, uint32_t *row, const char **id, enum mx_reject *reject);
/* Counts all rows now known to be unusable: the above, and rows of the list whose recording turned out to be unusable
 * when it was loaded, each of which is logged once. Gives how many there are, of how many rows, and by reason. */
uint32_t mx_dataset_rejected(struct mx_dataset *dataset);
uint32_t mx_dataset_rows(const struct mx_dataset *dataset);
/* Those of the unusable ones that people decided to drop (decisions.h); a packed file does not have them. */
uint32_t mx_dataset_dropped(const struct mx_dataset *dataset);
void mx_dataset_reject_counts(struct mx_dataset *dataset, uint32_t counts[MX_REJECT_COUNT]);
/* Lists them in the file, in the format of check.h. */
int mx_dataset_rejects_write(struct mx_dataset *dataset, const char *path);
/* Whether it is a folder or manifest, whose rows have not been checked before. */
bool mx_dataset_is_folder(const struct mx_dataset *dataset);
/* Utterances that no longer need decoding. */
uint32_t mx_dataset_cached(struct mx_dataset *dataset);

int mx_dataset_reader_create(struct mx_dataset *dataset, struct mx_dataset_reader **out);
void mx_dataset_reader_destroy(struct mx_dataset_reader *reader); /* NULL is fine */
/* Utterance `index` of the list. MX_ERR_DATA with item->reject set for a row that cannot be used (from a folder only);
 * MX_ERR_FORMAT for a damaged record of a packed file, naming it. */
int mx_dataset_load(struct mx_dataset_reader *reader, uint32_t index, struct mx_dataset_item *item);

#endif
