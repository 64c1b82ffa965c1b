/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A small corpus of tones for tests, in the layout of LJSpeech: ids row-00, row-01 … with texts that fit the lengths,
 * so that every row is good unless it is asked to be bad. And a folder of a test's own for a corpus and what is made of
 * it.
 *
 * Memory: small_place_remove frees what small_place_make made.
 */
#ifndef MX_TESTS_SMALL_CORPUS_H
#define MX_TESTS_SMALL_CORPUS_H

#include <stdint.h>

#include "corpus/dataset.h"
#include "corpus/prepare.h"

#define SMALL_SILENT  1u /* the third recording is silent */
#define SMALL_MISSING 2u /* the recording of the fifth row is missing */

/* Makes wavs/ and metadata.csv below `folder`; rows at most 100. */
void small_corpus_make(const char *folder, uint32_t rows, unsigned faults);
/* What packs it into `file`: characters, two workers. */
struct mx_prepare_options small_corpus_packing(const char *folder, const char *file);
/* What opens it, or what was packed of it, in the same way; cache: NULL for none. */
struct mx_dataset_options small_corpus_opening(const char *path, const char *cache);
struct mx_dataset_reader *small_corpus_reader(struct mx_dataset *dataset);

struct small_place {
    char *folder, *corpus;       /* the corpus is an empty folder in the folder; all that follows is not there yet */
    char *file, *part, *rejects; /* a packed file, the same half done, and its list of rejected rows */
    char *cache, *cache_part;    /* another */
};

/* Of a cmocka test, whose state it is. */
int small_place_make(void **state);
int small_place_remove(void **state);

#endif
