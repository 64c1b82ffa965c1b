/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which reading of a homograph was said: the one whose phonemes are most like a stretch of those of the sentence, near the
 * place where the word stands. Readings are compared with their stress, because many differ in nothing else ("record").
 *
 * Memory: the table and the cases point into the texts they were read from, which the caller keeps.
 */
#ifndef MX_BENCH_HOMOGRAPH_H
#define MX_BENCH_HOMOGRAPH_H

#include <stddef.h>

struct homographs;

struct homograph_case {
    const char *word, *reading, *sentence;
    size_t start; /* byte of the sentence where the word begins */
};

/* The text of wordids.tsv; it is changed. */
struct homographs *homographs_read(char *text);
void homographs_release(struct homographs *table);

/* A line of train.tsv; it is changed. 0: it is none. */
int homograph_case_read(char *line, struct homograph_case *out);
/* The reading that the phonemes of the sentence have for its word; NULL: two are equally like, or the word is not in the
 * table. */
const char *homograph_said(const struct homographs *table, const struct homograph_case *one, const char *phonemes);

#endif
