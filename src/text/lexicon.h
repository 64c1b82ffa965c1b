/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A lexicon: how the user wants words to be said. A text file in UTF-8:
 *
 *     # a comment, on a line of its own
 *     [en]                             the language of what follows, by its code or name
 *     nginx = engine x                 a word → other words, which are read as if they were written
 *     GIF = /dʒˈɪf/                    a word → its sounds in IPA, between slashes
 *     New York = /nuː jˈɔːɹk/          several words are one entry
 *     [fa]
 *     ام‌آرآی = اِم آر آی
 *
 * A word in small letters stands for all its forms with capitals; one with a capital only for itself, and it goes
 * first. Of several entries that fit, the longest is taken. An entry is a whole word: "read" says nothing about
 * "reads", but does about "read's". Letters, digits and signs are compared as the cleaner sees them (text.h), so forms
 * of letters and vowels of Unicode do not matter.
 *
 * In IPA : and ' are length and stress, g is ɡ, and full stops between syllables are left out.
 *
 * In normalised text a code point of a private range (MX_LEXICON_FIRST …) stands for a word with sounds: the number of
 * its entry. The cleaners take it for a letter; mx_reading_symbols replaces it by its sounds, mx_reading_plain by the
 * word. No other private code points come through the cleaners.
 *
 * Memory: a lexicon owns everything. It never changes, so threads may share it.
 */
#ifndef MX_TEXT_LEXICON_H
#define MX_TEXT_LEXICON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/language.h"

#define MX_LEXICON_LIMIT_BYTES ((size_t)4 << 20)
#define MX_LEXICON_FIRST       0xF0000u
#define MX_LEXICON_MOST        65534u /* entries: the private range has no more */

struct mx_lexicon;

struct mx_lexicon_entry {
    enum mx_language_id language;
    const char *word;    /* as it was written */
    const char *sounds;  /* IPA; NULL: the words below */
    const char *written; /* the sounds as they were written, between the slashes */
    const char *words;   /* NULL: the sounds above */
    size_t line;         /* where it was written */
    size_t column;       /* where its sounds or words begin, in characters; both from 1 */
};

/* `name` of the file is for messages. MX_ERR_DATA "name:line:column: …" for anything that is not as described above:
 * unknown symbols and languages, a word that stands there twice, invalid UTF-8. */
int mx_lexicon_parse(const char *name, const char *text, size_t length, struct mx_lexicon **out);
int mx_lexicon_open(const char *path, struct mx_lexicon **out);
/* The words of both; where they differ, those of `over`. Either may be NULL. */
int mx_lexicon_merge(const struct mx_lexicon *under, const struct mx_lexicon *over, struct mx_lexicon **out);
void mx_lexicon_destroy(struct mx_lexicon *lexicon); /* NULL is fine */

size_t mx_lexicon_count(const struct mx_lexicon *lexicon); /* NULL: 0 */
const struct mx_lexicon_entry *mx_lexicon_entry(const struct mx_lexicon *lexicon, size_t number);
/* The same words as a file without comments: equal texts are equal lexicons. */
const char *mx_lexicon_text(const struct mx_lexicon *lexicon);
bool mx_lexicon_same(const struct mx_lexicon *one, const struct mx_lexicon *other); /* NULL is an empty one */
uint64_t mx_lexicon_hash(const struct mx_lexicon *lexicon);
const char *mx_lexicon_name(const struct mx_lexicon *lexicon);

/* The entry that a code point of normalised text stands for; NULL: it stands for none. `lexicon` may be NULL. */
const struct mx_lexicon_entry *mx_lexicon_find(const struct mx_lexicon *lexicon, uint32_t point);

/* IPA as people write it: the symbol for this one; 0: it is left out. */
uint32_t mx_lexicon_ipa(uint32_t point);

#endif
