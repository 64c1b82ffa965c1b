/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The vocabulary: the symbols (tokens.h) that a corpus or a model knows, and the number of each.
 *
 * Numbers never change once given: 0 begins a sentence, 1 ends it, symbols follow from 2 on in the order in which they
 * were added. There is no padding. Languages are numbered likewise, from 0.
 *
 * It is stored as JSON, with the corpus and in every checkpoint:
 *
 *     {"format": "myxtts-vocabulary", "version": 1, "mode": "phonemes", "cleaner": 1,
 *      "languages": ["en", "fa"], "symbols": [" ", ",", "a", "ˈ"], "lexicon": "[en]\\nGIF = /dʒˈɪf/\\n"}
 *
 * where symbols[i] is one code point in UTF-8 with the number i + 2, and `cleaner` is the MX_TEXT_CLEANER_VERSION that
 * made the text. `lexicon` is missing where there is none: the words that are said as their lexicon (lexicon.h) says.
 *
 * Memory: a vocabulary owns its arrays. It is not changed by the functions that take it const, so threads may share it.
 */
#ifndef MX_TEXT_VOCABULARY_H
#define MX_TEXT_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "text/reading.h"
#include "text/text.h"
#include "text/tokens.h"

#define MX_TOKEN_BOS        0
#define MX_TOKEN_EOS        1
#define MX_TOKEN_FIRST      2     /* of the symbols */
#define MX_VOCABULARY_LIMIT 65536 /* tokens, BOS and EOS included */

struct mx_vocabulary;

int mx_vocabulary_create(enum mx_tokens_mode mode, struct mx_vocabulary **out); /* BOS and EOS only, no language */
void mx_vocabulary_destroy(struct mx_vocabulary *vocabulary);                   /* NULL is fine */

/* New symbols get numbers in the order of their code points, so the result does not depend on the order of a set that
 * is collected first and added in one call. */
int mx_vocabulary_add(struct mx_vocabulary *vocabulary, const uint32_t *symbols, size_t count);
int mx_vocabulary_add_language(struct mx_vocabulary *vocabulary, enum mx_language_id language);

enum mx_tokens_mode mx_vocabulary_mode(const struct mx_vocabulary *vocabulary);
int mx_vocabulary_cleaner(const struct mx_vocabulary *vocabulary);                    /* version that made the text */
size_t mx_vocabulary_size(const struct mx_vocabulary *vocabulary);                    /* tokens, BOS and EOS included */
int32_t mx_vocabulary_find(const struct mx_vocabulary *vocabulary, uint32_t symbol);  /* -1: unknown */
uint32_t mx_vocabulary_symbol(const struct mx_vocabulary *vocabulary, int32_t token); /* 0 for BOS, EOS and no token */
size_t mx_vocabulary_languages(const struct mx_vocabulary *vocabulary);               /* how many */
int mx_vocabulary_language(const struct mx_vocabulary *vocabulary,
                           enum mx_language_id language); /* its number, or -1 */
/* The language with this number, which is less than mx_vocabulary_languages. */
enum mx_language_id mx_vocabulary_language_at(const struct mx_vocabulary *vocabulary, size_t number);

/* How it reads texts: by the rules that its texts were made with, and with its lexicon. */
const struct mx_reading *mx_vocabulary_reading(const struct mx_vocabulary *vocabulary);
/* From now on it reads by the newest rules: for a voice that begins with another one's weights. */
void mx_vocabulary_renew(struct mx_vocabulary *vocabulary);
/* Adds words to its lexicon; those replace its own. NULL: nothing. MX_ERR_CONFIG if the lexicon gives sounds and the
 * vocabulary is one of characters; the next function does so, too. */
int mx_vocabulary_add_lexicon(struct mx_vocabulary *vocabulary, const struct mx_lexicon *lexicon);
/* MX_ERR_DATA "file:line:column: …" for sounds of the lexicon, in a language of the vocabulary, that it does not have. */
int mx_vocabulary_check_lexicon(const struct mx_vocabulary *vocabulary, const struct mx_lexicon *lexicon);

/* What to do with a symbol that the vocabulary does not have. */
enum mx_unknown {
    MX_UNKNOWN_REFUSE, /* MX_ERR_DATA, naming the symbol and its code point */
    MX_UNKNOWN_SKIP,   /* left out and counted */
};

struct mx_unknown_count {
    size_t count;   /* occurrences left out; added up over calls */
    uint32_t first; /* the first of them; 0: none yet */
};

struct mx_tokens {
    int32_t *numbers;
    size_t count;
};

/* BOS, the numbers of the symbols, EOS. `unknown` may be NULL. */
int mx_vocabulary_encode(const struct mx_vocabulary *vocabulary, struct mx_symbols symbols, enum mx_unknown policy,
                         struct mx_arena *arena, struct mx_tokens *out, struct mx_unknown_count *unknown);

/* A symbol in UTF-8, zero-terminated; returns its bytes. */
#define MX_SYMBOL_UTF8_BYTES 5
size_t mx_symbol_utf8(uint32_t symbol, char out[MX_SYMBOL_UTF8_BYTES]);
/* "'ʒ' (U+0292)" for messages. */
#define MX_SYMBOL_NAME_BYTES 32
char *mx_symbol_name(uint32_t symbol, char out[MX_SYMBOL_NAME_BYTES]);

int mx_vocabulary_write(const struct mx_vocabulary *vocabulary, char **json); /* free with mx_free */
/* MX_ERR_FORMAT names the fault. A different cleaner version is not an error here: the caller decides what it means. */
int mx_vocabulary_read(const char *json, size_t length, struct mx_vocabulary **out);

#endif
