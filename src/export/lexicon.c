/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The phonemes of words, see lexicon.h.
 */
#include "export/lexicon.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "base/file.h"
#include "base/log.h"
#include "base/string.h"
#include "export/lexicon_internal.h"
#include "myxtts/error.h"

/* ---- entries ---- */

/* `added` is set to false, and nothing is added, if the voice lacks a symbol. */
static int entry_add(struct mx_export_words *words, const char *word, const char *phonemes, bool *added)
{
    *added = mx_export_words_sayable(words, phonemes);
    return *added
               ? mx_export_entries_push(&words->entries, &(struct mx_export_entry){.word = word, .phonemes = phonemes})
               : 0;
}

/* Adds what the cleaners make of a text by itself, if they make words of it, as the reading of `piece`. */
static int piece_add(struct mx_export_words *words, const char *piece, const char *text)
{
    int rc = 0;
    bool added;
    char *normal, *phonemes;
    MX_TRY(mx_reading_text(words->reading, words->language, text, strlen(text), &words->arena, &normal, NULL));
    normal[strcspn(normal, MX_EXPORT_CLAUSE_MARKS)] = 0;
    if (normal[0] == 0) return 0;
    MX_TRY(mx_export_words_phonemes(words, normal, &phonemes));
    char *const kept = mx_arena_strdup(&words->arena, piece);
    if (kept == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(entry_add(words, kept, phonemes, &added));
out:
    return rc;
}

static int entries_order(const void *a, const void *b)
{
    const struct mx_export_entry *const one = a, *const other = b;
    const int order = strcmp(one->word, other->word);
    return order != 0 ? order : (one->number > other->number) - (one->number < other->number);
}

/* The lines of all entries. A space between words is written as the sign that stands for it: blanks separate symbols. */
static void entries_put(struct mx_export_words *words, struct mx_string *out)
{
    struct mx_export_entries *const entries = &words->entries;
    const bool spaces = mx_export_symbols_has_blank(words->vocabulary);
    if (entries->count > 0) qsort(entries->list, entries->count, sizeof *entries->list, entries_order);
    for (size_t i = 0; i < entries->count; i++) {
        const struct mx_export_entry *const entry = &entries->list[i];
        if (i > 0 && strcmp(entry->word, entry[-1].word) == 0) continue;
        (void)mx_string_append(out, "%s", entry->word);
        for (const char *at = entry->phonemes; *at != 0;) {
            uint32_t symbol;
            const size_t bytes = mx_utf8_decode(at, &symbol);
            if (symbol != ' ')
                (void)mx_string_append(out, " %.*s", (int)bytes, at);
            else if (spaces)
                (void)mx_string_append(out, " " MX_EXPORT_BLANK);
            at += bytes;
        }
        (void)mx_string_append(out, "\n");
    }
}

/* ---- words of the text and of the voice ---- */

/* A word of the voice's lexicon as it stands in texts that sherpa-onnx reads: in small letters. NULL: no memory. */
static char *own_word(struct mx_export_words *words, const char *word)
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
static int own_add(struct mx_export_words *words, size_t *count)
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
        MX_TRY(mx_export_words_phonemes(words, normal, &phonemes));
        bool added = false;
        if (strchr(word, ' ') == NULL) MX_TRY(entry_add(words, word, phonemes, &added));
        *count += added;
        left += !added;
    }
    if (left > 0)
        mx_warn("%zu word%s of the voice's lexicon ha%s blanks or symbols that the voice never learned; %s not in the "
                "exported one",
                left, left == 1 ? "" : "s", left == 1 ? "s" : "ve", left == 1 ? "it is" : "they are");
out:
    return rc;
}

/* Whether the voice's lexicon has the word and so changes it. */
static bool own_has(struct mx_export_words *words, const char *word)
{
    char *normal = NULL;
    if (mx_lexicon_count(words->reading->lexicon) == 0) return false;
    if (mx_reading_text(words->reading, words->language, word, strlen(word), &words->arena, &normal, NULL) < 0)
        return false;
    return strcmp(normal, word) != 0;
}

/* Whether sherpa-onnx would not look the word up as a whole. */
static bool is_foreign(const char *word)
{
    uint32_t point;
    while (*word != 0) {
        word += mx_utf8_decode(word, &point);
        if (point > 0xFF) return true;
    }
    return false;
}

/* The words of the text, each with one reading; `count` gets how many the voice can say. */
static int text_add(struct mx_export_words *words, size_t *count)
{
    const struct mx_export_entries *const text = &words->text;
    size_t all = 0, known = 0, foreign = 0;
    int rc = 0;
    for (size_t i = 0, same; i < text->count; i += same) {
        const char *phonemes;
        for (same = 1; i + same < text->count && strcmp(text->list[i].word, text->list[i + same].word) == 0;) same++;
        if (own_has(words, text->list[i].word)) continue;
        MX_TRY(mx_export_words_choose(words, text->list + i, same, &phonemes));
        all++;
        if (phonemes[0] == 0) continue;
        known++;
        foreign += is_foreign(text->list[i].word);
        MX_TRY(mx_export_entries_push(&words->entries,
                                      &(struct mx_export_entry){.word = text->list[i].word, .phonemes = phonemes}));
    }
    *count = known;
    if (known == 0)
        MX_RAISE(MX_ERR_DATA, "give a text or a list of words in the language of the voice",
                 "the text for the lexicon has no word that the voice can say");
    if (known < all)
        mx_warn("%zu of %zu words have symbols that the voice never learned; they are not in the lexicon", all - known,
                all);
    if (foreign > 0)
        mx_warn(
            "%zu of %zu words have letters at which sherpa-onnx 2.0 cuts words, and will be silent there; its version "
            "1.13 reads them with the data of espeak-ng ('data_dir')",
            foreign, known);
out:
    return rc;
}

/* ---- what a text has apart from words ----
 *
 * sherpa-onnx has no cleaners. It makes ASCII letters small and looks up the pieces between blanks and signs, and each
 * sign by itself: "prof", "20th", "%". To it, letters beyond Latin-1 are signs. */

static bool is_piece(uint32_t point)
{
    return point < 0x80 ? point == '\'' || isalnum((int)point) : point >= 0xC0 && point <= 0xFF;
}

/* The length of the piece at `text`; 0 at the end. */
static size_t piece_length(const char *text)
{
    size_t length = 0;
    while (text[length] != 0) {
        uint32_t point;
        const size_t bytes = mx_utf8_decode(text + length, &point);
        if (!is_piece(point)) return length > 0 ? length : bytes;
        length += bytes;
    }
    return length;
}

static int words_compare(const void *word, const void *place)
{
    return strcmp(word, ((const struct mx_export_entry *)place)->word);
}

/* The pieces of the text that are no words of it for our cleaners. */
static int pieces_add(struct mx_export_words *words, const char *text)
{
    struct mx_export_entries pieces = {0};
    int rc = 0;
    for (size_t length; (length = piece_length(text)) > 0; text += length) {
        if (length == 1 && strchr(MX_EXPORT_CLAUSE_MARKS " \t\r\n-", *text) != NULL) continue;
        uint32_t point;
        mx_utf8_decode(text, &point);
        if (point > 0xFF) continue;
        char *const piece = mx_arena_strndup(&words->arena, text, length);
        if (piece == NULL) MX_TRY(MX_ERR_NO_MEMORY);
        for (char *at = piece; *at != 0; at++)
            if (*at >= 'A' && *at <= 'Z') *at = (char)(*at + 'a' - 'A');
        MX_TRY(mx_export_entries_push(&pieces, &(struct mx_export_entry){.word = piece}));
    }
    if (pieces.count > 0) qsort(pieces.list, pieces.count, sizeof *pieces.list, entries_order);
    for (size_t i = 0; i < pieces.count; i++) {
        const char *const piece = pieces.list[i].word;
        if (i > 0 && strcmp(piece, pieces.list[i - 1].word) == 0) continue;
        if (bsearch(piece, words->text.list, words->text.count, sizeof *words->text.list, words_compare) != NULL)
            continue;
        MX_TRY(piece_add(words, piece, piece));
    }
out:
    mx_free(pieces.list);
    return rc;
}

static int abbreviations_add(struct mx_export_words *words)
{
    const char *abbreviation, *meaning;
    int rc = 0;
    for (size_t i = 0; mx_text_abbreviation_at(words->language, i, &abbreviation, &meaning); i++)
        MX_TRY(piece_add(words, abbreviation, meaning));
out:
    return rc;
}

/* Letters by their names, signs that are read as words, and marks beyond ASCII, as those that mean the same. */
static int signs_add(struct mx_export_words *words)
{
    static const char *const signs[] = {"%", "$", "&", "+", "=", "@", "#", "°", "€", "£", "¥"};
    static const char *const marks[][2] = {{"—", ","}, {"–", ","}, {"…", "."}};
    char letter[] = "a";
    bool added;
    int rc = 0;
    for (; letter[0] <= 'z'; letter[0]++) MX_TRY(piece_add(words, letter, letter));
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) MX_TRY(piece_add(words, signs[i], signs[i]));
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        MX_TRY(entry_add(words, marks[i][0], marks[i][1], &added));
out:
    return rc;
}

static int numbers_add(struct mx_export_words *words)
{
    static const char *const endings[] = {"th", "st", "nd", "rd"};
    char digits[16];
    int rc = 0;
    for (int number = 0; number < MX_EXPORT_NUMBERS; number++) {
        (void)snprintf(digits, sizeof digits, "%d", number);
        MX_TRY(piece_add(words, digits, digits));
        if (number < 10) { /* of a time: 8:05 */
            (void)snprintf(digits, sizeof digits, "%02d", number);
            MX_TRY(piece_add(words, digits, digits));
        }
        if (words->language != MX_LANGUAGE_EN || number == 0 || number >= MX_EXPORT_ORDINALS) continue;
        const bool teen = number % 100 > 10 && number % 100 < 14;
        (void)snprintf(digits, sizeof digits, "%d%s", number, endings[teen || number % 10 > 3 ? 0 : number % 10]);
        MX_TRY(piece_add(words, digits, digits));
    }
out:
    return rc;
}

int mx_export_lexicon_write(const struct mx_vocabulary *vocabulary, const struct mx_export_symbols *symbols,
                            enum mx_language_id language, const char *text, const char *path, size_t *count)
{
    struct mx_export_words words = {.language = language,
                                    .vocabulary = vocabulary,
                                    .symbols = symbols,
                                    .reading = mx_vocabulary_reading(vocabulary)};
    struct mx_string out = {0};
    int rc = 0;
    mx_arena_init(&words.arena, 0);
    MX_TRY(mx_phonemizer_get(&words.phonemizer));
    MX_TRY(mx_export_words_collect(&words, text));
    MX_TRY(text_add(&words, count));
    MX_TRY(own_add(&words, count));
    MX_TRY(abbreviations_add(&words));
    MX_TRY(pieces_add(&words, text));
    MX_TRY(signs_add(&words));
    MX_TRY(numbers_add(&words));
    entries_put(&words, &out);
    MX_TRY(out.failure);
    MX_TRY(mx_file_write_atomic(path, out.data, out.length));
out:
    mx_free(words.text.list);
    mx_free(words.entries.list);
    mx_string_release(&out);
    mx_arena_release(&words.arena);
    return rc;
}
