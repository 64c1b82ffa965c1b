/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/doctor/coverage*.c and record.c: the sounds and pairs of one language while they are counted, and the
 * sentences that were read for it.
 *
 * Memory: a set owns everything in it; texts, names and uses lie in its arena.
 */
#ifndef MX_DOCTOR_COVERAGE_INTERNAL_H
#define MX_DOCTOR_COVERAGE_INTERNAL_H

#include "doctor/coverage.h"

/* Numbers for keys: 0, 1, 2 … in the order in which the keys came. Open addressing, never more than half full. */
struct mx_doctor_map {
    struct mx_doctor_map_entry {
        uint64_t key;
        uint32_t number; /* from 1; 0: a free slot */
    } * entries;
    size_t capacity;
    uint32_t count;
};

/* The number of a key, which is added if it is new: then it is the count from before. */
int mx_doctor_map_number(struct mx_doctor_map *map, uint64_t key, uint32_t *number);
bool mx_doctor_map_has(const struct mx_doctor_map *map, uint64_t key);

/* A sound or a pair. */
struct mx_doctor_tally {
    uint32_t left, right; /* numbers of sounds; of a sound both are its own */
    bool pair;
    uint64_t count;     /* in the corpus */
    uint64_t reference; /* occurrences in the reference */
    uint32_t sentences; /* sentences of the reference that have it */
    uint32_t place;     /* among the units of its kind */
};

/* How often a sentence has a unit. */
struct mx_doctor_use {
    uint32_t unit, times;
};

struct mx_doctor_sentence {
    const char *text;
    uint64_t print;  /* of its sounds: equal for the same words, however they are written */
    uint32_t sounds; /* as corpus/rate.h counts them */
    bool own;        /* of our grammar */
    bool candidate;  /* may be chosen to be recorded */
    const struct mx_doctor_use *uses;
    uint32_t use_count;
};

struct mx_doctor_sentences {
    enum mx_tokens_mode mode;
    struct mx_doctor_map sounds, units; /* sound 0 is the pause */
    struct mx_doctor_map prints;        /* of the good rows */
    const char **names;                 /* [sounds.count] */
    struct mx_doctor_tally *tallies;    /* [units.count] */
    size_t name_room, tally_room;
    uint64_t sound_total, pair_total, reference_sounds, reference_pairs;
    struct mx_doctor_sentence *items;
    uint32_t count;
    size_t room;
    struct mx_arena arena;
    /* Scratch. */
    uint32_t *stream; /* sounds of a row one after the other, and then its units */
    size_t stream_room;
};

int mx_doctor_sentences_create(enum mx_tokens_mode mode, struct mx_doctor_sentences **out);
void mx_doctor_sentences_destroy(struct mx_doctor_sentences *set); /* NULL is fine */
/* Counts the symbols of a good row. */
int mx_doctor_sentences_count(struct mx_doctor_sentences *set, const uint32_t *symbols, size_t count);
/* Adds a sentence of the reference: text, own and candidate of `sentence` are taken, the text is copied. */
int mx_doctor_sentences_add(struct mx_doctor_sentences *set, const struct mx_doctor_sentence *sentence,
                            const uint32_t *symbols, size_t count);

/* ---- sentences of a text (coverage_text.c) ---- */

/* Calls `take` with each sentence of a text, which is valid UTF-8. A line is one, and a line with several is divided; the
 * lines of a text that is wrapped are joined first, up to an empty one. */
int mx_doctor_text_sentences(const char *text, size_t length,
                             int (*take)(void *context, const char *sentence, size_t length), void *context);

#endif
