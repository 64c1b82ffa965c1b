/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/export/lexicon*.c: the words of a text and their readings on the way into a lexicon.
 *
 * Memory: words and phonemes are pieces of the arena of `struct mx_export_words`, which lexicon.c opens and releases.
 */
#ifndef MX_EXPORT_LEXICON_INTERNAL_H
#define MX_EXPORT_LEXICON_INTERNAL_H

#include "base/alloc.h"
#include "export/neighbours.h"
#include "text/reading.h"

#define MX_EXPORT_CLAUSE_MARKS ",.!?;:" /* what follows words in normalised text; a dash stands alone */

/* A word and how it is read. */
struct mx_export_entry {
    const char *word;
    const char *phonemes; /* NULL: they cannot be separated from those of its neighbours */
    size_t number;        /* in the order in which they came */
    enum mx_export_neighbour next;
    bool joined; /* with the article after it */
};

struct mx_export_entries {
    struct mx_export_entry *list;
    size_t count, capacity;
};

struct mx_export_words {
    struct mx_arena arena;
    struct mx_phonemizer *phonemizer;
    const struct mx_vocabulary *vocabulary;
    const struct mx_export_symbols *symbols;
    const struct mx_reading *reading;
    enum mx_language_id language;
    const char *article;           /* that espeak-ng joins with words before it; NULL: none */
    const char *article_alone;     /* its phonemes */
    struct mx_export_entries text; /* the words of the text, one by one; sorted by word */
    struct mx_export_entries entries;
};

int mx_export_entries_push(struct mx_export_entries *places, const struct mx_export_entry *place);

/* What espeak-ng makes of a text that is normalised; *out is in the arena. */
int mx_export_words_phonemes(struct mx_export_words *words, const char *text, char **out);
/* Reads the clauses of a text, each line by itself: in a list of words they are no neighbours. */
int mx_export_words_collect(struct mx_export_words *words, const char *text);
/* The reading of the word at places[0 … count): as it is read most often before each kind of neighbour; its phonemes
 * alone if none are known. *out is "" if the voice cannot say it. */
int mx_export_words_choose(struct mx_export_words *words, const struct mx_export_entry *places, size_t count,
                           const char **out);
/* Whether the voice has all symbols of the phonemes, and there are any. */
bool mx_export_words_sayable(const struct mx_export_words *words, const char *phonemes);

#endif
