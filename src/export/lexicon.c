/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The phonemes of words, see lexicon.h.
 */
#include "export/lexicon.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/file.h"
#include "base/log.h"
#include "base/string.h"
#include "myxtts/error.h"

#define MARKS " ,.!?;:" /* what normalised text has between words; a dash stands alone */

struct words {
    char **list;
    size_t count, capacity;
};

static int words_order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Cuts normalised text into its words, each of them once. */
static int words_collect(char *text, struct words *words)
{
    for (char *state = NULL, *word = strtok_r(text, MARKS, &state); word != NULL;
         word = strtok_r(NULL, MARKS, &state)) {
        if (strcmp(word, "-") == 0) continue;
        if (words->count == words->capacity) {
            const size_t capacity = words->capacity == 0 ? 1024 : 2 * words->capacity;
            char **const grown = mx_realloc(words->list, capacity, sizeof *grown);
            if (grown == NULL) return MX_ERR_NO_MEMORY;
            words->list = grown;
            words->capacity = capacity;
        }
        words->list[words->count++] = word;
    }
    if (words->count > 0) qsort(words->list, words->count, sizeof *words->list, words_order);
    size_t kept = 0;
    for (size_t i = 0; i < words->count; i++)
        if (kept == 0 || strcmp(words->list[kept - 1], words->list[i]) != 0) words->list[kept++] = words->list[i];
    words->count = kept;
    return 0;
}

/* Appends the line of a word; *known is false, and nothing is appended, if the voice lacks a symbol. */
static int word_put(const struct mx_vocabulary *vocabulary, struct mx_phonemizer *phonemizer,
                    enum mx_language_id language, const char *word, struct mx_string *out, bool *known)
{
    struct mx_arena arena;
    struct mx_symbols symbols;
    int rc = 0;
    mx_arena_init(&arena, 0);
    MX_TRY(mx_tokens_from_text(MX_TOKENS_PHONEMES, phonemizer, language, word, &arena, &symbols));
    *known = symbols.count > 0;
    for (size_t i = 0; i < symbols.count && *known; i++) *known = mx_vocabulary_find(vocabulary, symbols.codes[i]) >= 0;
    if (!*known) goto out;
    (void)mx_string_append(out, "%s", word);
    for (size_t i = 0; i < symbols.count; i++) {
        char symbol[5];
        symbol[utf8proc_encode_char((utf8proc_int32_t)symbols.codes[i], (utf8proc_uint8_t *)symbol)] = 0;
        (void)mx_string_append(out, " %s", symbol);
    }
    (void)mx_string_append(out, "\n");
out:
    mx_arena_release(&arena);
    return rc;
}

int mx_export_lexicon_write(const struct mx_vocabulary *vocabulary, enum mx_language_id language, const char *text,
                            const char *path, size_t *count)
{
    struct mx_phonemizer *phonemizer;
    struct mx_arena arena;
    struct mx_string out = {0};
    struct words words = {0};
    char *normal;
    size_t unknown = 0;
    int rc = 0;
    mx_arena_init(&arena, 0);
    MX_TRY(mx_phonemizer_get(&phonemizer));
    MX_TRY(mx_text_normalise(language, text, strlen(text), &arena, &normal, NULL));
    MX_TRY(words_collect(normal, &words));
    for (size_t i = 0; i < words.count; i++) {
        bool known;
        MX_TRY(word_put(vocabulary, phonemizer, language, words.list[i], &out, &known));
        unknown += !known;
    }
    MX_TRY(out.failure);
    *count = words.count - unknown;
    if (*count == 0)
        MX_RAISE(MX_ERR_DATA, "give a text or a list of words in the language of the voice",
                 "the text for the lexicon has no word that the voice can say");
    if (unknown > 0)
        mx_warn("%zu of %zu words have symbols that the voice never learned; they are not in the lexicon", unknown,
                words.count);
    MX_TRY(mx_file_write_atomic(path, out.data, out.length));
out:
    mx_free(words.list);
    mx_string_release(&out);
    mx_arena_release(&arena);
    return rc;
}
