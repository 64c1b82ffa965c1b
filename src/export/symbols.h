/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The symbols of a voice as Piper and sherpa-onnx number and send them: 0 pads, 1 begins, 2 ends ("_", "^", "$"), and
 * symbol t of our vocabulary is t + 1. Both programs put a pad after every symbol, which we do not need.
 *
 * They send text in the decomposed form of Unicode (NFD), one code point at a time: our 'ç' arrives as 'c' and a cedilla.
 * So the parts of such symbols get ids of their own, and the graph puts the parts together again. A part that stays
 * alone and is not a symbol of the voice is left out. sherpa-onnx also puts spaces where we have none, and adds no begin
 * and end symbols to a text from its lexicon: the graph handles that, too.
 *
 * In a voice that reads characters, capital letters stand for the small ones, since those programs do not change them.
 *
 * Memory: symbols own their arrays; {0} is empty.
 */
#ifndef MX_EXPORT_SYMBOLS_H
#define MX_EXPORT_SYMBOLS_H

#include "export/onnx.h"
#include "text/vocabulary.h"

enum { MX_EXPORT_PAD, MX_EXPORT_BEGIN, MX_EXPORT_END_OF_TEXT, MX_EXPORT_FIRST };

struct mx_export_spelling {
    uint32_t point; /* a code point */
    int64_t id;     /* the id that it is sent as */
};

/* Two ids in a row that are one symbol. */
struct mx_export_pair {
    int64_t first, second, whole;
};

struct mx_export_symbols {
    int64_t ids;     /* how many; pad, begin and end included, and the two of neighbours.h */
    int64_t *tokens; /* [ids]: the number in our vocabulary; -1: none */
    struct mx_export_spelling *spellings;
    size_t spelling_count; /* without pad, begin and end */
    struct mx_export_pair *pairs;
    size_t pair_count;
    int passes; /* over the pairs, until everything is put together */
    int64_t token_count;
    int64_t space;         /* token of the space between words; -1: none */
    uint8_t *marks;        /* [token_count]: 1 for MX_EXPORT_MARKS */
    bool neighbours;       /* the reading of words depends on their neighbours (neighbours.h) */
    int64_t article, join; /* the ids for that */
};

#define MX_EXPORT_MARKS ",.!?;:" /* that follow a word without a space */

/* Stands for the space in a lexicon, whose columns are separated by blanks: "one hundred" is one entry, "100". */
#define MX_EXPORT_BLANK "␣"

/* Whether the vocabulary has a space, and the sign for it is free. */
bool mx_export_symbols_has_blank(const struct mx_vocabulary *vocabulary);
/* MX_ERR_UNSUPPORTED, naming the symbol, if the vocabulary has a symbol that those programs use themselves. */
int mx_export_symbols_check(const struct mx_vocabulary *vocabulary);
/* Fails like the check. */
int mx_export_symbols_build(const struct mx_vocabulary *vocabulary, struct mx_export_symbols *symbols);
void mx_export_symbols_release(struct mx_export_symbols *symbols);

struct mx_export_reading {
    struct mx_onnx_value tokens; /* int64 [tokens]: numbers of our vocabulary, from BOS to EOS */
    struct mx_onnx_value places; /* int64 [tokens]: where each (its first part) stands in the input; BOS stands at the
                                    beginning, EOS at the end, both perhaps together with a symbol */
};

/* ids int64 [any] → what they say */
struct mx_export_reading mx_export_symbols_read(struct mx_onnx *onnx, const struct mx_export_symbols *symbols,
                                                struct mx_onnx_value ids);

#endif
