/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Words that are read differently before other words, for programs with a lexicon: sherpa-onnx looks up one reading of
 * each word, but espeak-ng says "the" in two ways, links the words of "her uncle", and reads "in the" as one word.
 *
 * So an entry of the lexicon has the readings before all kinds of neighbours at once. A symbol may be silent before some
 * of them: it is sent as an id of its own, and the graph, which sees the next word, leaves the silent ones out. Symbol
 * `id` that is silent before the neighbours of a set (bit 1 << neighbour) is sent as id + ids * set. Programs with an
 * espeak-ng of their own never send such ids.
 *
 * Two ids are no symbols: one stands at the beginning of the article that others join, and one at the end of a word that
 * it joins: the space between them is left out.
 *
 * Memory: nothing is kept.
 */
#ifndef MX_EXPORT_NEIGHBOURS_H
#define MX_EXPORT_NEIGHBOURS_H

#include "export/symbols.h"

/* What follows a word. */
enum mx_export_neighbour {
    MX_EXPORT_CONSONANT,
    MX_EXPORT_VOWEL,
    MX_EXPORT_ARTICLE,
    MX_EXPORT_NOTHING, /* in its clause */
    MX_EXPORT_NEIGHBOURS,
};

#define MX_EXPORT_ALWAYS_SILENT ((1u << MX_EXPORT_NEIGHBOURS) - 1) /* the set that no symbol has */

/* The kind of a word that begins with this symbol: VOWEL or CONSONANT. */
enum mx_export_neighbour mx_export_neighbour_of(uint32_t symbol);

/* The sign of an id in tokens.txt and lexicon.txt: a code point for private use. */
uint32_t mx_export_neighbours_sign(const struct mx_export_symbols *symbols, int64_t id, unsigned silent);

/* Leaves out the silent ones of ids int64 [any], and of `places`, which belong to them; the others become plain ids. */
void mx_export_neighbours_settle(struct mx_onnx *onnx, const struct mx_export_symbols *symbols,
                                 struct mx_onnx_value *ids, struct mx_onnx_value *places);

#endif
