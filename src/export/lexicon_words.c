/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The words of a text as espeak-ng reads them in their clauses, and what a lexicon says of each.
 *
 * Memory: see lexicon_internal.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "export/lexicon_internal.h"
#include "myxtts/error.h"

int mx_export_entries_push(struct mx_export_entries *places, const struct mx_export_entry *place)
{
    if (MX_GROW(places->list, places->capacity, places->count + 1) < 0) return MX_ERR_NO_MEMORY;
    places->list[places->count] = *place;
    places->list[places->count].number = places->count;
    places->count++;
    return 0;
}

bool mx_export_words_sayable(const struct mx_export_words *words, const char *phonemes)
{
    uint32_t symbol;
    if (*phonemes == 0) return false;
    while (*phonemes != 0) {
        phonemes += mx_utf8_decode(phonemes, &symbol);
        if (symbol != ' ' && mx_vocabulary_find(words->vocabulary, symbol) < 0) return false;
    }
    return true;
}

/* ---- clauses ---- */

int mx_export_words_phonemes(struct mx_export_words *words, const char *text, char **out)
{
    return mx_reading_phonemes(words->reading, words->phonemizer, words->language, text, &words->arena, out);
}

/* Whether a word has sounds of its own, which lexicon.c writes. */
static bool is_own(const struct mx_export_words *words, const char *word)
{
    uint32_t point;
    mx_utf8_decode(word, &point);
    return mx_lexicon_find(words->reading->lexicon, point) != NULL;
}

/* The words of a text, in the arena; the text is cut into them. NULL: no memory. */
static char **words_cut(struct mx_export_words *words, char *text, size_t *count)
{
    size_t most = 1;
    for (const char *at = text; *at != 0; at++) most += *at == ' ';
    char **const list = mx_arena_alloc(&words->arena, most, sizeof *list), *state = NULL;
    *count = 0;
    for (char *word = strtok_r(text, " ", &state); list != NULL && word != NULL; word = strtok_r(NULL, " ", &state))
        list[(*count)++] = word;
    return list;
}

/* *length is set to the bytes of the first word in the phonemes of both together; 0: they stay apart. */
static int join_find(struct mx_export_words *words, const char *word, size_t *length)
{
    int rc = 0;
    char *together;
    *length = 0;
    const size_t bytes = strlen(word) + strlen(words->article) + 2;
    char *const pair = mx_arena_alloc(&words->arena, bytes, 1);
    if (pair == NULL) return MX_ERR_NO_MEMORY;
    (void)snprintf(pair, bytes, "%s %s", word, words->article);
    MX_TRY(mx_export_words_phonemes(words, pair, &together));
    const size_t whole = strlen(together), end = strlen(words->article_alone);
    if (strchr(together, ' ') == NULL && whole > end && strcmp(together + whole - end, words->article_alone) == 0)
        *length = whole - end;
out:
    return rc;
}

/* Divides the sounds of words that are read together with a following article. `joined` is set to those words; *count, the
 * new number of sounds, is that of the words if nothing else was joined. */
static int sounds_divide(struct mx_export_words *words, char **list, size_t word_count, char ***sounds, size_t *count,
                         bool *joined)
{
    int rc = 0;
    size_t from = 0, to = 0, length;
    char **const divided = mx_arena_alloc(&words->arena, 2 * *count + 1, sizeof *divided);
    if (divided == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (size_t i = 0; i < word_count && from < *count; i++, from++) {
        divided[to++] = (*sounds)[from];
        joined[i] = false;
        if (i + 1 == word_count || strcmp(list[i + 1], words->article) != 0) continue;
        MX_TRY(join_find(words, list[i], &length));
        if (length == 0 || strlen((*sounds)[from]) <= length) continue;
        char *const first = mx_arena_strndup(&words->arena, (*sounds)[from], length);
        if (first == NULL) MX_TRY(MX_ERR_NO_MEMORY);
        divided[to - 1] = first;
        divided[to++] = (*sounds)[from] + length;
        joined[i++] = true;
    }
    *count = from < *count ? 0 : to;
    *sounds = divided;
out:
    return rc;
}

/* The words of a clause and what espeak-ng makes of it. It reads some neighbours as one word ("had to"): then nothing is
 * known about a single one, except those before an article. */
static int clause_add(struct mx_export_words *words, char *clause)
{
    int rc = 0;
    char *phonemes;
    size_t count, sound_count;
    MX_TRY(mx_export_words_phonemes(words, clause, &phonemes));
    char **const list = words_cut(words, clause, &count), **sounds = words_cut(words, phonemes, &sound_count);
    bool *const joined = mx_arena_alloc(&words->arena, count + 1, sizeof *joined);
    if (list == NULL || sounds == NULL || joined == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    memset(joined, 0, (count + 1) * sizeof *joined);
    if (sound_count != count && words->article != NULL)
        MX_TRY(sounds_divide(words, list, count, &sounds, &sound_count, joined));
    for (size_t i = 0; i < count; i++) {
        struct mx_export_entry place = {.word = list[i], .next = MX_EXPORT_NOTHING};
        if (strcmp(list[i], "-") == 0 || is_own(words, list[i])) continue;
        if (sound_count == count) {
            place.phonemes = sounds[i];
            place.joined = joined[i];
        }
        if (i + 1 < count && words->article != NULL && strcmp(list[i + 1], words->article) == 0) {
            place.next = MX_EXPORT_ARTICLE;
        } else if (i + 1 < count && strcmp(list[i + 1], "-") != 0 && sound_count == count) {
            uint32_t symbol;
            mx_utf8_decode(sounds[i + 1], &symbol);
            place.next = mx_export_neighbour_of(symbol);
        }
        MX_TRY(mx_export_entries_push(&words->text, &place));
    }
out:
    return rc;
}

static int places_order(const void *a, const void *b)
{
    const struct mx_export_entry *const one = a, *const other = b;
    const int order = strcmp(one->word, other->word);
    if (order != 0) return order;
    if (one->next != other->next) return one->next < other->next ? -1 : 1;
    if (one->phonemes == NULL || other->phonemes == NULL) return (one->phonemes != NULL) - (other->phonemes != NULL);
    return strcmp(one->phonemes, other->phonemes);
}

/* sherpa-onnx makes ASCII letters small before it looks words up. */
static void lowercase(char *text)
{
    for (; *text != 0; text++)
        if (*text >= 'A' && *text <= 'Z') *text = (char)(*text + 'a' - 'A');
}

int mx_export_words_collect(struct mx_export_words *words, const char *text)
{
    int rc = 0;
    if (words->symbols->neighbours && words->language == MX_LANGUAGE_EN) {
        char *alone;
        words->article = "the";
        MX_TRY(mx_export_words_phonemes(words, words->article, &alone));
        words->article_alone = alone;
    }
    while (*text != 0) {
        const size_t length = strcspn(text, "\n");
        char *normal, *state = NULL;
        MX_TRY(mx_reading_text(words->reading, words->language, text, length, &words->arena, &normal, NULL));
        lowercase(normal);
        for (char *clause = strtok_r(normal, MX_EXPORT_CLAUSE_MARKS, &state); clause != NULL;
             clause = strtok_r(NULL, MX_EXPORT_CLAUSE_MARKS, &state))
            MX_TRY(clause_add(words, clause));
        text += length + (text[length] != 0);
    }
    if (words->text.count > 0) qsort(words->text.list, words->text.count, sizeof *words->text.list, places_order);
out:
    return rc;
}

/* ---- readings ---- */

/* The readings of a word: [neighbour], and with which of them it is joined. */
struct readings {
    const char *phonemes[MX_EXPORT_NEIGHBOURS];
    bool joined;
};

/* The most frequent phonemes before each kind of neighbour; before a kind that the text does not have, those before the
 * kind that it has most often. False: it has none. */
static bool readings_count(const struct mx_export_words *words, const struct mx_export_entry *places, size_t count,
                           struct readings *readings)
{
    size_t most[MX_EXPORT_NEIGHBOURS] = {0}, known[MX_EXPORT_NEIGHBOURS] = {0}, best = 0;
    *readings = (struct readings){0};
    for (size_t i = 0, same; i < count; i += same) {
        const struct mx_export_entry *const place = &places[i];
        for (same = 1; i + same < count && places_order(place, &places[i + same]) == 0;) same++;
        if (place->phonemes == NULL || !mx_export_words_sayable(words, place->phonemes)) continue;
        known[place->next] += same;
        if (same <= most[place->next]) continue;
        most[place->next] = same;
        readings->phonemes[place->next] = place->phonemes;
        if (place->next == MX_EXPORT_ARTICLE) readings->joined = place->joined;
    }
    for (size_t next = 1; next < MX_EXPORT_NEIGHBOURS; next++)
        if (known[next] > known[best]) best = next;
    for (size_t next = 0; next < MX_EXPORT_NEIGHBOURS; next++)
        if (readings->phonemes[next] == NULL || !words->symbols->neighbours)
            readings->phonemes[next] = readings->phonemes[best];
    return known[best] > 0;
}

/* Bytes at the beginning that all readings have, whole symbols. */
static size_t begin_common(const struct readings *r)
{
    size_t length = 0, whole = 0;
    while (r->phonemes[0][length] != 0) {
        if (((unsigned char)r->phonemes[0][length] & 0xC0) != 0x80) whole = length;
        for (size_t next = 1; next < MX_EXPORT_NEIGHBOURS; next++)
            if (r->phonemes[next][length] != r->phonemes[0][length]) return whole;
        length++;
    }
    return length;
}

/* The length of the suffix, in whole symbols, that all readings share after their first `begin` bytes. */
static size_t end_common(const struct readings *r, size_t begin)
{
    size_t length = 0, whole = 0;
    const size_t first = strlen(r->phonemes[0]);
    for (;; length++) {
        const char *const at = r->phonemes[0] + first - length;
        if (length > 0 && ((unsigned char)*at & 0xC0) != 0x80) whole = length;
        for (size_t next = 0; next < MX_EXPORT_NEIGHBOURS; next++) {
            const size_t bytes = strlen(r->phonemes[next]);
            if (bytes - begin <= length || r->phonemes[next][bytes - length - 1] != at[-1]) return whole;
        }
    }
}

static void sign_put(struct mx_string *out, uint32_t point)
{
    char sign[MX_SYMBOL_UTF8_BYTES];
    mx_symbol_utf8(point, sign);
    (void)mx_string_append(out, "%s", sign);
}

/* One reading for all neighbours: what they share, and between it the symbols of each. */
static void readings_put(const struct mx_export_words *words, const char *word, const struct readings *r,
                         struct mx_string *out)
{
    const struct mx_export_symbols *const s = words->symbols;
    const size_t begin = begin_common(r), end = end_common(r, begin);
    if (s->neighbours && words->article != NULL && strcmp(word, words->article) == 0)
        sign_put(out, mx_export_neighbours_sign(s, s->article, 0));
    (void)mx_string_append(out, "%.*s", (int)begin, r->phonemes[0]);
    unsigned done = 0;
    for (size_t next = 0; next < MX_EXPORT_NEIGHBOURS; next++) {
        unsigned same = 0;
        for (size_t other = 0; other < MX_EXPORT_NEIGHBOURS; other++)
            if (strcmp(r->phonemes[other], r->phonemes[next]) == 0) same |= 1u << other;
        if ((done & same) != 0 || same == MX_EXPORT_ALWAYS_SILENT) continue;
        done |= same;
        for (const char *at = r->phonemes[next] + begin; *at != 0 && strlen(at) > end;) {
            uint32_t symbol;
            at += mx_utf8_decode(at, &symbol);
            sign_put(out, mx_export_neighbours_sign(s, mx_vocabulary_find(words->vocabulary, symbol) + 1,
                                                    MX_EXPORT_ALWAYS_SILENT & ~same));
        }
    }
    (void)mx_string_append(out, "%s", r->phonemes[0] + strlen(r->phonemes[0]) - end);
    if (s->neighbours && r->joined)
        sign_put(out, mx_export_neighbours_sign(s, s->join, MX_EXPORT_ALWAYS_SILENT & ~(1u << MX_EXPORT_ARTICLE)));
}

int mx_export_words_choose(struct mx_export_words *words, const struct mx_export_entry *places, size_t count,
                           const char **out)
{
    int rc = 0;
    struct readings readings;
    struct mx_string text = {0};
    *out = "";
    if (!readings_count(words, places, count, &readings)) {
        char *alone;
        MX_TRY(mx_export_words_phonemes(words, places[0].word, &alone));
        if (mx_export_words_sayable(words, alone)) *out = alone;
        return 0;
    }
    readings_put(words, places[0].word, &readings, &text);
    MX_TRY(text.failure);
    *out = mx_arena_strdup(&words->arena, text.data);
    if (*out == NULL) rc = MX_ERR_NO_MEMORY;
out:
    mx_string_release(&text);
    return rc;
}
