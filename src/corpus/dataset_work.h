/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/corpus/dataset*.c: what a dataset and a reader are made of. See dataset.h for who owns what.
 */
#ifndef MX_CORPUS_DATASET_WORK_H
#define MX_CORPUS_DATASET_WORK_H

#include <stdatomic.h>

#include "corpus/dataset.h"
#include "corpus/plan.h"

struct mx_dataset {
    struct mx_dataset_utterance *list;
    uint32_t count;
    bool listed; /* the corpus itself names the rows of validation */
    struct mx_vocabulary *vocabulary;
    char *recipe, *recipe_hash;
    struct mx_packed_header header; /* kind and tensors of the records */
    struct mx_packed_file *packed;  /* the corpus, or the finished cache of a folder; or NULL */
    /* With a vocabulary of the caller: numbers in the packed file → numbers in that. NULL: they are the same. */
    int32_t *token_map;
    uint32_t language_map[MX_LANGUAGE_COUNT];
    /* Folders only. */
    struct mx_manifest *manifest;
    struct mx_plan *plan;
    uint8_t *rejects; /* [rows of the manifest]: enum mx_reject of those not in the list; NULL with a finished cache */
    struct mx_packed_writer *writer; /* the growing cache, or NULL; has its own lock */
    atomic_bool writer_failed;       /* the warning was given; nothing is appended any more */
};

struct mx_dataset_reader {
    struct mx_dataset *dataset;
    struct mx_plan_worker *worker; /* of a folder without a finished cache */
    struct mx_packed_buffer buffer, floats, numbers;
};

/* ---- folders (dataset_folder.c) ---- */

/* Sets `packed` if there is a valid cache; otherwise plan, writer, list and header. */
int mx_dataset_folder_open(struct mx_dataset *dataset, const struct mx_dataset_options *options);
/* Completes the cache if all of the list is in it, and releases what belongs to folders. */
void mx_dataset_folder_close(struct mx_dataset *dataset);
/* The record of an utterance from the cache, or else decoded and put there. */
int mx_dataset_folder_load(struct mx_dataset_reader *reader, uint32_t index, struct mx_packed_record *record,
                           struct mx_packed_view *view);

#endif
