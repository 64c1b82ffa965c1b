/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/text/lexicon*.c: the inside of a lexicon.
 *
 * Memory: words and points lie in the arena of the lexicon.
 */
#ifndef MX_TEXT_LEXICON_INTERNAL_H
#define MX_TEXT_LEXICON_INTERNAL_H

#include "base/alloc.h"
#include "base/string.h"
#include "text/internal.h"
#include "text/lexicon.h"

/* A word as it is looked for. */
struct mx_lexicon_key {
    enum mx_language_id language;
    bool exact; /* it has capitals; otherwise the text is compared in small letters */
    const uint32_t *points;
    size_t length;
    uint32_t number;       /* of its entry */
    const uint32_t *words; /* what to write in its place; none: the code point of the entry */
    size_t word_count;
};

struct mx_lexicon {
    struct mx_arena arena;
    const char *name; /* of the file */
    struct mx_lexicon_entry *entries;
    struct mx_lexicon_key *keys; /* as many, in their order */
    size_t count, entry_room, key_room;
    struct mx_string text; /* all entries, in the order of the keys */
};

int mx_lexicon_key_order(const void *a, const void *b);
/* Appends the entry as a file has it, under a line with its language. */
int mx_lexicon_entry_write(const struct mx_lexicon_entry *entry, struct mx_string *text);

#endif
