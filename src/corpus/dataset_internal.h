/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/corpus/dataset*.c: the structs of a dataset and a reader. See dataset.h for who owns what.
 */
#ifndef MX_CORPUS_DATASET_INTERNAL_H
#define MX_CORPUS_DATASET_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "corpus/dataset.h"
#include "corpus/packed/pack_spec.h"

struct mx_dataset {
    struct mx_dataset_utterance *list;
    uint32_t count;
    bool listed; /* the corpus itself names the rows of validation */
    /* Of rows for validation that come from elsewhere (dataset_held.c); NULL: there are none. All other members are
     * those of training alone, but the vocabulary is of both. */
    struct mx_dataset *held;
    uint32_t *held_speakers; /* numbers of its speakers → numbers of both */
    const char **held_new;   /* names of the speakers that training does not have */
    uint32_t held_new_count;
    struct mx_vocabulary *vocabulary;
    int rate; /* Hz */
    char *recipe, *recipe_hash;
    struct mx_packed_header header; /* kind and tensors of the records */
    struct mx_packed_file *packed;  /* the corpus, or the finished cache of a folder; or NULL */
    /* With a vocabulary from the caller: numbers in the packed file → numbers in that vocabulary. NULL: they are the
     * same. */
    int32_t *token_map;
    uint32_t language_map[MX_LANGUAGE_COUNT];
    bool textless;                   /* a packed file that was made of sounds */
    double seconds_min, seconds_max; /* that the caller wants */
    /* Protects the four members below once opening is done. It is a leaf lock. */
    pthread_mutex_t reject_lock;
    uint64_t *contents; /* [rows]: hash of what was loaded, 0: nothing so far; folders only */
    uint8_t *rejects;   /* [rows]: enum mx_reject */
    char **details;     /* [rows]: why, for folders without a finished cache; NULL: not known */
    uint32_t rejected;  /* rows known to be unusable, and bad lines of the manifest */
    /* Folders only. */
    struct mx_manifest *manifest;
    struct mx_pack_spec *spec;
    struct mx_packed_writer *writer; /* the growing cache, or NULL; has its own lock */
    atomic_bool writer_failed;       /* the warning was given; nothing more is appended */
};

struct mx_dataset_reader {
    struct mx_dataset *dataset;
    struct mx_pack_spec_worker *worker; /* of a folder without a finished cache */
    struct mx_packed_buffer buffer, floats, numbers;
    struct mx_dataset_reader *held; /* of dataset->held */
};

/* ---- vocabularies ---- */

/* Can the corpus `name`, whose tokens are those of `own`, be used with the vocabulary `wanted`? */
int mx_dataset_tokens_check(const struct mx_vocabulary *own, const struct mx_vocabulary *wanted, const char *name);

/* ---- validation rows from elsewhere (dataset_held.c) ---- */

int mx_dataset_held_wanted(const struct mx_dataset_options *options, bool *wanted);
/* Joins them to an opened dataset. */
int mx_dataset_held_open(struct mx_dataset *dataset, const struct mx_dataset_options *options);
void mx_dataset_held_close(struct mx_dataset *dataset);
/* Utterance `index` of them. */
int mx_dataset_held_load(struct mx_dataset_reader *reader, uint32_t index, struct mx_dataset_item *item);

/* ---- rows that cannot be used (dataset_rejects.c) ---- */

uint32_t mx_dataset_rows_of(const struct mx_dataset *dataset); /* without bad lines of a manifest */
/* Allocates the tables once `packed` or `manifest` is there, fills them and starts the count. */
int mx_dataset_rejects_open(struct mx_dataset *dataset);
void mx_dataset_rejects_start(struct mx_dataset *dataset);
void mx_dataset_rejects_close(struct mx_dataset *dataset);
/* Records that a loaded row is rejected and logs it the first time. Any thread. */
void mx_dataset_reject_note(struct mx_dataset *dataset, uint32_t row, enum mx_reject reason, const char *id,
                            const char *detail);

/* ---- contents (dataset_prints.c) ---- */

/* Records that a row was loaded. MX_ERR_DATA if its contents differ from the last time. Any thread. */
int mx_dataset_contents_note(struct mx_dataset *dataset, uint32_t row, uint64_t contents, const char *id);

/* ---- folders (dataset_folder.c) ---- */

/* Sets `packed` if there is a valid cache; otherwise sets spec, writer, list and header. */
int mx_dataset_folder_open(struct mx_dataset *dataset, const struct mx_dataset_options *options);
/* Completes the cache if it holds the whole list, and releases the parts used only for folders. */
void mx_dataset_folder_close(struct mx_dataset *dataset);
/* Gets the record of an utterance from the cache, or decodes it and puts it there. */
int mx_dataset_folder_load(struct mx_dataset_reader *reader, uint32_t index, struct mx_packed_record *record,
                           struct mx_packed_view *view);

#endif
