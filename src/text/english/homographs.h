/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/text/: which reading of an English homograph a sentence means ("I read it yesterday", "the lead pipe").
 *
 * Each word around the homograph, its endings, the nearest small words and pairs of them are features. The score of a
 * reading is the sum of the weights of its features: one weight for this reading of this word, and one for all readings of
 * its kind (noun, verb, adjective), so that what was learned of one word helps with others. The highest score wins.
 *
 * The weights (homographs.model) are learned by `make homographs` from the train split of the Wikipedia Homograph Data of
 * Google (Apache-2.0). The file:
 *
 *     text      lines that say what it is and where it is from; the last one is empty
 *     uint32    where the entries of each of MX_HOMOGRAPH_BUCKETS buckets begin, and where the last one ends; little-endian
 *     entries   of three bytes, in the order of their keys: key, uint16 little-endian; weight, int8
 *
 * A feature and the reading or kind that it speaks for are hashed; the highest bits of the hash are the bucket, the next 16
 * the key. What is not in the file weighs nothing.
 *
 * Memory: the tables are constant; a marked text is a piece of the caller's arena.
 */
#ifndef MX_TEXT_ENGLISH_HOMOGRAPHS_H
#define MX_TEXT_ENGLISH_HOMOGRAPHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

#define MX_HOMOGRAPH_BUCKET_BITS 13
#define MX_HOMOGRAPH_BUCKETS     (1u << MX_HOMOGRAPH_BUCKET_BITS)
#define MX_HOMOGRAPH_ENTRY_BYTES 3
#define MX_HOMOGRAPH_READINGS    3
#define MX_HOMOGRAPH_FEATURES    80

/* In a marked text, a code point of this range stands for a word: MX_HOMOGRAPH_FIRST + 8 · its number + 4 if a plural or
 * third-person s follows + its reading. */
#define MX_HOMOGRAPH_FIRST 0x100000u

enum mx_reading_kind { MX_READING_OTHER, MX_READING_NOUN, MX_READING_VERB, MX_READING_ADJECTIVE };

struct mx_homograph {
    const char *word;
    struct {
        const char *name;   /* NULL: no more readings */
        const char *sounds; /* as espeak-ng names them */
        enum mx_reading_kind kind;
    } readings[MX_HOMOGRAPH_READINGS];
};

const struct mx_homograph *mx_homograph_find(const char *word); /* small letters; NULL: none */
const struct mx_homograph *mx_homograph_at(size_t number);      /* NULL: no more */
size_t mx_homograph_number(const struct mx_homograph *word);

/* A word or a mark of a text. Contractions are two: "he'd" is he and 'd. */
struct mx_homograph_token {
    size_t at, length;   /* in the text */
    const char *instead; /* what the contraction means; NULL: as written */
};

struct mx_homograph_tokens {
    const char *text;
    struct mx_homograph_token *of;
    size_t count;
};

int mx_homograph_tokens_read(const char *text, struct mx_arena *arena, struct mx_homograph_tokens *out);
/* The homograph that token `at` is, NULL: none. *plural: it is one with an s at its end. */
const struct mx_homograph *mx_homograph_of(const struct mx_homograph_tokens *tokens, size_t at, bool *plural);

struct mx_homograph_features {
    uint64_t of[MX_HOMOGRAPH_FEATURES];
    size_t count;
};

void mx_homograph_features_collect(const struct mx_homograph_tokens *tokens, size_t at,
                                   struct mx_homograph_features *out);
/* The keys under which a feature weighs for reading `i` of a word: that reading (none for reading 0, and for plurals)
 * and its kind. 0: it has none. */
uint64_t mx_homograph_key(const struct mx_homograph *word, size_t i, bool plural, uint64_t feature);
uint64_t mx_homograph_kind_key(enum mx_reading_kind kind, uint64_t feature);

/* Weights, without the text before them. */
struct mx_homograph_model {
    const unsigned char *buckets, *entries;
};

void mx_homograph_model_open(const unsigned char *bytes, struct mx_homograph_model *out);
const struct mx_homograph_model *mx_homograph_model_get(void); /* that of the program */
size_t mx_homograph_choose(const struct mx_homograph_model *model, const struct mx_homograph *word, bool plural,
                           const struct mx_homograph_features *features);

/* The text with a code point in the place of each homograph. */
int mx_homographs_mark(const char *text, struct mx_arena *arena, char **out);
/* What espeak-ng is asked for a code point, with a possessive s if `possessive`; 0: the code point is none. */
#define MX_HOMOGRAPH_SOUNDS 40
size_t mx_homograph_sounds(uint32_t point, bool possessive, char out[MX_HOMOGRAPH_SOUNDS]);

#endif
