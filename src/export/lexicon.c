/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The phonemes of words, see lexicon.h.
 */
#include "export/lexicon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "base/file.h"
#include "base/log.h"
#include "base/string.h"
#include "myxtts/error.h"

#define MARKS ",.!?;:" /* what normalised text has behind words; a dash stands alone */

/* A word where it stands in the text. */
struct place {
    const char *word;
    const char *phonemes; /* NULL: they cannot be told from those of its neighbours */
};

/* Memory: places, words and phonemes are pieces of the arena, but for the list. */
struct words {
    struct mx_arena arena;
    struct mx_phonemizer *phonemizer;
    const struct mx_reading *reading;
    enum mx_language_id language;
    struct place *list;
    size_t count, capacity;
};

static int places_order(const void *a, const void *b)
{
    const struct place *const one = a, *const other = b;
    const int order = strcmp(one->word, other->word);
    if (order != 0) return order;
    if (one->phonemes == NULL || other->phonemes == NULL) return (one->phonemes != NULL) - (other->phonemes != NULL);
    return strcmp(one->phonemes, other->phonemes);
}

static int place_push(struct words *words, const char *word, const char *phonemes)
{
    if (words->count == words->capacity) {
        const size_t capacity = words->capacity == 0 ? 1024 : 2 * words->capacity;
        struct place *const grown = mx_realloc(words->list, capacity, sizeof *grown);
        if (grown == NULL) return MX_ERR_NO_MEMORY;
        words->list = grown;
        words->capacity = capacity;
    }
    words->list[words->count++] = (struct place){word, phonemes};
    return 0;
}

static size_t words_in(const char *text)
{
    size_t count = 0;
    for (const char *at = text; *at != 0; at++) count += *at != ' ' && (at == text || at[-1] == ' ');
    return count;
}

/* Whether a word has sounds of its own, which own_put writes. */
static bool is_own(const struct words *words, const char *word)
{
    uint32_t point;
    mx_utf8_decode(word, &point);
    return mx_lexicon_find(words->reading->lexicon, point) != NULL;
}

/* The words of a clause and what espeak-ng makes of it. It reads some neighbours as one word ("of the"): then nothing is
 * known about a single one. */
static int clause_add(struct words *words, char *clause)
{
    int rc = 0;
    char *phonemes, *word_state = NULL, *sound_state = NULL;
    MX_TRY(mx_reading_phonemes(words->reading, words->phonemizer, words->language, clause, &words->arena, &phonemes));
    const bool apart = words_in(clause) == words_in(phonemes);
    char *sound = apart ? strtok_r(phonemes, " ", &sound_state) : NULL;
    for (char *word = strtok_r(clause, " ", &word_state); word != NULL; word = strtok_r(NULL, " ", &word_state)) {
        if (strcmp(word, "-") != 0 && !is_own(words, word)) MX_TRY(place_push(words, word, sound));
        if (apart) sound = strtok_r(NULL, " ", &sound_state);
    }
out:
    return rc;
}

/* Each line by itself: in a list of words they are no neighbours. */
static int words_collect(const char *text, struct words *words)
{
    int rc = 0;
    while (*text != 0) {
        const size_t length = strcspn(text, "\n");
        char *normal, *state = NULL;
        MX_TRY(mx_reading_text(words->reading, words->language, text, length, &words->arena, &normal, NULL));
        for (char *clause = strtok_r(normal, MARKS, &state); clause != NULL; clause = strtok_r(NULL, MARKS, &state))
            MX_TRY(clause_add(words, clause));
        text += length + (text[length] != 0);
    }
    if (words->count > 0) qsort(words->list, words->count, sizeof *words->list, places_order);
out:
    return rc;
}

/* The most frequent phonemes of the word at places[0 … count); those of the word alone if none are known. */
static int reading_choose(struct words *words, const struct place *places, size_t count, const char **phonemes)
{
    size_t most = 0;
    *phonemes = NULL;
    for (size_t i = 0, same; i < count; i += same) {
        for (same = 1; i + same < count && places_order(&places[i], &places[i + same]) == 0;) same++;
        if (places[i].phonemes == NULL || same <= most) continue;
        most = same;
        *phonemes = places[i].phonemes;
    }
    if (*phonemes != NULL) return 0;
    char *alone;
    const int rc =
        mx_reading_phonemes(words->reading, words->phonemizer, words->language, places[0].word, &words->arena, &alone);
    if (rc >= 0) *phonemes = alone;
    return rc;
}

/* Appends the line of a word; false, and nothing is appended, if the voice lacks a symbol. A lexicon cannot hold the
 * space in "one hundred". */
static bool word_put(const struct mx_vocabulary *vocabulary, const char *word, const char *phonemes,
                     struct mx_string *out)
{
    uint32_t symbol;
    for (const char *at = phonemes; *at != 0;) {
        at += mx_utf8_decode(at, &symbol);
        if (symbol != ' ' && mx_vocabulary_find(vocabulary, symbol) < 0) return false;
    }
    if (*phonemes == 0) return false;
    (void)mx_string_append(out, "%s", word);
    for (const char *at = phonemes; *at != 0;) {
        const size_t bytes = mx_utf8_decode(at, &symbol);
        if (symbol != ' ') (void)mx_string_append(out, " %.*s", (int)bytes, at);
        at += bytes;
    }
    (void)mx_string_append(out, "\n");
    return true;
}

/* A word of the voice's lexicon as it stands in texts that sherpa-onnx reads: in small letters. NULL: no memory. */
static char *own_word(struct words *words, const char *word)
{
    char *const small = mx_arena_alloc(&words->arena, 4 * strlen(word) + 1, 1);
    char *to = small;
    while (small != NULL && *word != 0) {
        uint32_t point;
        word += mx_utf8_decode(word, &point);
        to += mx_symbol_utf8((uint32_t)utf8proc_tolower((utf8proc_int32_t)point), to);
    }
    return small;
}

/* The words of the voice's lexicon; *count gets how many of them the exported one can hold. */
static int own_put(struct words *words, const struct mx_vocabulary *vocabulary, struct mx_string *out, size_t *count)
{
    const struct mx_lexicon *const lexicon = words->reading->lexicon;
    size_t left = 0;
    int rc = 0;
    for (size_t i = 0; i < mx_lexicon_count(lexicon); i++) {
        const struct mx_lexicon_entry *const entry = mx_lexicon_entry(lexicon, i);
        char *normal, *phonemes;
        if (entry->language != words->language) continue;
        char *const word = own_word(words, entry->word);
        if (word == NULL) MX_TRY(MX_ERR_NO_MEMORY);
        MX_TRY(mx_reading_text(words->reading, words->language, entry->word, strlen(entry->word), &words->arena,
                               &normal, NULL));
        MX_TRY(
            mx_reading_phonemes(words->reading, words->phonemizer, words->language, normal, &words->arena, &phonemes));
        const bool put = strchr(word, ' ') == NULL && word_put(vocabulary, word, phonemes, out);
        *count += put;
        left += !put;
    }
    if (left > 0)
        mx_warn("%zu word%s of the voice's lexicon ha%s blanks or symbols that the voice never learned; %s not in the "
                "exported one",
                left, left == 1 ? "" : "s", left == 1 ? "s" : "ve", left == 1 ? "it is" : "they are");
out:
    return rc;
}

/* Whether the voice's lexicon has the word: then it does not stay what it is. */
static bool own_has(struct words *words, const char *word)
{
    char *normal = NULL;
    if (mx_lexicon_count(words->reading->lexicon) == 0) return false;
    if (mx_reading_text(words->reading, words->language, word, strlen(word), &words->arena, &normal, NULL) < 0)
        return false;
    return strcmp(normal, word) != 0;
}

static int numbers_put(struct words *words, const struct mx_vocabulary *vocabulary, struct mx_string *out)
{
    int rc = 0;
    for (int number = 0; number < MX_EXPORT_NUMBERS; number++) {
        char digits[16], *normal, *phonemes;
        const int length = snprintf(digits, sizeof digits, "%d", number);
        MX_TRY(mx_reading_text(words->reading, words->language, digits, (size_t)length, &words->arena, &normal, NULL));
        MX_TRY(
            mx_reading_phonemes(words->reading, words->phonemizer, words->language, normal, &words->arena, &phonemes));
        (void)word_put(vocabulary, digits, phonemes, out);
    }
out:
    return rc;
}

int mx_export_lexicon_write(const struct mx_vocabulary *vocabulary, enum mx_language_id language, const char *text,
                            const char *path, size_t *count)
{
    struct words words = {.language = language, .reading = mx_vocabulary_reading(vocabulary)};
    struct mx_string out = {0};
    size_t all = 0, known = 0;
    int rc = 0;
    mx_arena_init(&words.arena, 0);
    MX_TRY(mx_phonemizer_get(&words.phonemizer));
    MX_TRY(words_collect(text, &words));
    for (size_t i = 0, same; i < words.count; i += same) {
        const char *phonemes;
        for (same = 1; i + same < words.count && strcmp(words.list[i].word, words.list[i + same].word) == 0;) same++;
        MX_TRY(reading_choose(&words, words.list + i, same, &phonemes));
        if (own_has(&words, words.list[i].word)) continue;
        known += word_put(vocabulary, words.list[i].word, phonemes, &out);
        all++;
    }
    *count = known;
    if (known == 0)
        MX_RAISE(MX_ERR_DATA, "give a text or a list of words in the language of the voice",
                 "the text for the lexicon has no word that the voice can say");
    if (known < all)
        mx_warn("%zu of %zu words have symbols that the voice never learned; they are not in the lexicon", all - known,
                all);
    MX_TRY(own_put(&words, vocabulary, &out, count));
    MX_TRY(numbers_put(&words, vocabulary, &out));
    MX_TRY(out.failure);
    MX_TRY(mx_file_write_atomic(path, out.data, out.length));
out:
    mx_free(words.list);
    mx_string_release(&out);
    mx_arena_release(&words.arena);
    return rc;
}
