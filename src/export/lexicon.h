/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The phonemes of words for programs that have no espeak-ng of their own: a line for each word, "WORD SYMBOL SYMBOL …", in
 * the order of their code points.
 *
 * Memory: nothing is kept.
 */
#ifndef MX_EXPORT_LEXICON_H
#define MX_EXPORT_LEXICON_H

#include "export/symbols.h"
#include "text/vocabulary.h"

#define MX_EXPORT_NUMBERS  10000
#define MX_EXPORT_ORDINALS 101

/* Writes the words of a text and their phonemes; `count` gets their number. A word is read as it is read most often
 * within the lines of the text, where "to" is short and "I" without stress. Beside the words stand what else a text may
 * have, since a program that needs a lexicon reads no numbers and signs: the pieces of the text that are no words
 * ("20th", "km"), abbreviations without their full stop, letters, signs such as "%", and in digits the whole numbers
 * below MX_EXPORT_NUMBERS and (in English) the ordinal numbers below MX_EXPORT_ORDINALS. Words with symbols that the
 * voice does not have are left out, with one warning that counts them. MX_ERR_DATA if no word is left. */
int mx_export_lexicon_write(const struct mx_vocabulary *vocabulary, const struct mx_export_symbols *symbols,
                            enum mx_language_id language, const char *text, const char *path, size_t *count);

#endif
