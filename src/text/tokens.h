/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Symbols from normalised text: IPA phonemes by libespeak-ng, or the characters themselves.
 *
 * One symbol is one Unicode code point: letters of the IPA, stress and length marks, combining marks, the space between
 * words and the punctuation , . ! ? ; : - that text.h leaves. vocabulary.h gives them numbers.
 *
 * Memory: results are pieces of the caller's arena.
 */
#ifndef MX_TEXT_TOKENS_H
#define MX_TEXT_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "text/text.h"

/* X(identifier, name): MX_TOKENS_<identifier>. */
#define MX_TOKENS_LIST(X)                                                                                              \
    X(PHONEMES, "phonemes")                                                                                            \
    X(CHARS, "chars")

enum mx_tokens_mode {
#define X(identifier, name) MX_TOKENS_##identifier,
    MX_TOKENS_LIST(X)
#undef X
        MX_TOKENS_COUNT
};

const char *mx_tokens_mode_name(enum mx_tokens_mode mode);
int mx_tokens_mode_parse(const char *text, enum mx_tokens_mode *out); /* otherwise MX_ERR_CONFIG */

/* libespeak-ng keeps all of its state in globals, so a process has one instance. It is started at its first use and
 * lives until the process ends, because shutting it down may hang (version 1.51 can wait forever for its own idle
 * thread). Any thread may use it; calls wait for each other. Starting it sets LC_CTYPE of the process to a UTF-8
 * locale. Each change of language costs 1.5 KB that 1.51 never frees: speak a mixed corpus language by language. */
struct mx_phonemizer;

bool mx_phonemizer_available(void); /* built with libespeak-ng */
struct mx_string;
/* The words of a language that espeak-ng's dictionary has, one a line (tokens_dictionary.c); *words is their number: 0 for
 * languages that are not written in Latin letters, or whose dictionary is not named after their voice. */
int mx_phonemizer_words(enum mx_language_id language, struct mx_string *out, size_t *words);
/* The folder of espeak-ng's data; it stays valid. */
int mx_phonemizer_folder(const char **out);
/* Returns the instance; there is nothing to release. MX_ERR_UNSUPPORTED if built without it, MX_ERR_NOT_FOUND if its
 * data is missing. */
int mx_phonemizer_get(struct mx_phonemizer **out);

/* Phonemes of normalised text, with its spaces and punctuation: "hello, world." → "həlˈoʊ, wˈɜːld.". */
int mx_phonemizer_run(struct mx_phonemizer *phonemizer, enum mx_language_id language, const char *text,
                      struct mx_arena *arena, char **out);

/* Symbols by their code points. */
struct mx_symbols {
    const uint32_t *codes;
    size_t count;
};

/* The symbols of normalised text. `phonemizer` may be NULL in mode chars. There may be none. */
int mx_tokens_from_text(enum mx_tokens_mode mode, struct mx_phonemizer *phonemizer, enum mx_language_id language,
                        const char *text, struct mx_arena *arena, struct mx_symbols *out);

#endif
