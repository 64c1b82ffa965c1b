/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A long text as words that can be found in a sound: each word is a part of the text as it was written, and has its
 * tokens.
 *
 * The text is divided into units (sentences, or parts of long ones), which the network reads one by one. A unit is
 * normalised and spoken as a whole, because "Dr." and "3" depend on their neighbours; what each written word contributed
 * is found by comparing the symbols of the unit with those of its words alone. A written word without symbols of its own (a dash)
 * belongs to the word before it.
 *
 * The tokens of all units follow each other: these are the columns of align.h. Gap g lies between the words g - 1 and g;
 * the tokens there belong to no word.
 *
 * Memory: a text owns everything but the source.
 */
#ifndef MX_ALIGN_TEXT_H
#define MX_ALIGN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/vocabulary.h"

/* A part of the source with words in it; between parts there is always an end of a sentence unless `joined`. */
struct mx_align_part {
    size_t begin, end;  /* bytes */
    double from, until; /* seconds between which it is spoken; until 0: unknown */
};

enum mx_align_break {
    MX_ALIGN_BREAK_WORD,
    MX_ALIGN_BREAK_COMMA, /* , ; : or a dash */
    MX_ALIGN_BREAK_SENTENCE,
    MX_ALIGN_BREAK_PARAGRAPH,
};

struct mx_align_word {
    size_t begin, end;   /* bytes of the source, without blanks at the ends */
    int32_t first, last; /* tokens [first, last) */
    int32_t unit, part;
    enum mx_align_break after; /* what stands after it */
};

/* A sequence for the network: tokens [first, last), BOS and EOS included. */
struct mx_align_unit {
    int32_t first, last;
};

struct mx_align_text {
    const char *source;
    struct mx_align_word *words;
    int32_t word_count;
    struct mx_align_unit *units;
    int32_t unit_count;
    int32_t *tokens;
    int32_t token_count;
    enum mx_language_id language;              /* of the text */
    int32_t language_number;                   /* the language of the vocabulary that it is read as */
    bool language_known;                       /* both are the same */
    struct mx_unknown_count replaced, unknown; /* symbols that the voice never learned: replaced by another; left out */
};

#define MX_ALIGN_DETECT (-1)

/* Reads the parts of `source`, which is valid UTF-8 and must outlive the text. `language`: an enum mx_language_id or
 * MX_ALIGN_DETECT. MX_ERR_DATA if it has nothing to speak, or too much. */
int mx_align_text_read(const char *source, const struct mx_align_part *parts, size_t part_count, int language,
                       const struct mx_vocabulary *vocabulary, struct mx_align_text *out);
void mx_align_text_release(struct mx_align_text *text);

/* Which of the symbols of `unit` each of the words is: owners[i] = number of a word, or -1 for what is between words.
 * `words` holds the symbols of the words alone. */
struct mx_align_match {
    struct mx_symbols unit;
    const struct mx_symbols *words;
    size_t word_count;
};
int mx_align_match_owners(const struct mx_align_match *match, int32_t *owners);

/* What ends with a written word, as far as its own marks say. `next`: the first byte of the word after it, or 0. */
enum mx_align_break mx_align_word_break(const char *word, size_t length, char next);

/* The symbol of the vocabulary whose sound is nearest; -1: there is none. */
int32_t mx_align_nearest_symbol(const struct mx_vocabulary *vocabulary, uint32_t symbol);

#endif
