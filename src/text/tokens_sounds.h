/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/text/tokens*.c: the phonemes of a clause, in which words of a lexicon may stand.
 */
#ifndef MX_TEXT_TOKENS_SOUNDS_H
#define MX_TEXT_TOKENS_SOUNDS_H

#include "myxtts/error.h"
#include "text/internal.h"
#include "text/lexicon.h"

/* How a language spells; borrowed. */
struct mx_tokens_speller {
    const struct mx_language_rules *rules;
    int cleaner;
    const struct mx_lexicon *lexicon; /* NULL: none */
    void (*ask)(const char *text, struct mx_text_sink *out);
};

/* Writes the phonemes of a clause (internal.h) to the sink. */
void mx_tokens_spell(const struct mx_tokens_speller *speller, const char *clause, struct mx_text_sink *out);

#endif
