/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sentences for demo corpora: original English and Persian sentences, enough to train a small voice.
 *
 * Sentence number `index` of a language is a pure function of (seed, index); all numbers below mx_sentences_count give
 * different sentences. First come the hand-written ones in an order that the seed decides, then those of a grammar of
 * templates with typed slots; each pass over the templates uses every template once, so any section of the list is
 * varied.
 *
 * A sentence has two forms. `written` is what people write ("Dr. Lee arrives at 9:30."), digits and abbreviations
 * included. `spoken` is the same in words only: what a teacher voice must read, and what a text normaliser should make
 * from the written form. They are equal for most sentences. Persian is written with its ezafe, with half-spaces and
 * with Persian letters and digits.
 *
 * Memory: the caller's struct is filled; nothing is allocated. Any thread may call.
 */
#ifndef MX_DEMO_SENTENCES_H
#define MX_DEMO_SENTENCES_H

#include <stdint.h>

#include "text/text.h"

/* The languages in which demo corpora can be made. X(identifier, code, name of its data, teacher): the data is in
 * sentences_<name>*.c, the teacher in teacher.c. */
#define MX_DEMO_LANGUAGE_LIST(X)                                                                                       \
    X(EN, "en", english, flite_english)                                                                                \
    X(FA, "fa", persian, espeak_persian)

#define MX_SENTENCE_BYTES 320

struct mx_sentence {
    char written[MX_SENTENCE_BYTES]; /* UTF-8, one line, no '|' and no '"' */
    char spoken[MX_SENTENCE_BYTES];  /* the same without digits and abbreviations */
};

uint32_t mx_sentences_count(enum mx_language_id language);       /* number of different sentences; 0: none */
uint32_t mx_sentences_handwritten(enum mx_language_id language); /* number of sentences that come before the grammar */
/* MX_ERR_ARGUMENT if `index` is not below the count. */
int mx_sentences_get(enum mx_language_id language, uint64_t seed, uint32_t index, struct mx_sentence *out);

#endif
