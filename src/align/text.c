/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading a long text, see text.h: written words, units, and the tokens of both.
 *
 * Memory: growing arrays of the result; an arena for one unit at a time.
 */
#include "align/text.h"

#include <string.h>

#include "base/alloc.h"
#include "base/string.h"
#include "myxtts/error.h"

#define UNIT_SOFT   140 /* bytes after which a comma ends a unit */
#define UNIT_HARD   280 /* bytes after which any word ends a unit */
#define UNIT_WORDS  64
#define WORD_BYTES  400 /* a longer word is no word */
#define WORDS_LIMIT 4000000

/* A unit while it is read. */
struct unit {
    struct mx_align_word words[UNIT_WORDS];
    size_t count;
    int32_t part;
};

struct reader {
    struct mx_align_text *text;
    const struct mx_vocabulary *vocabulary;
    struct mx_phonemizer *phonemizer;
    struct mx_arena arena;
    size_t word_room, unit_room, token_room;
    struct unit unit;
};

/* ---- growing ---- */

static int token_push(struct reader *r, int32_t token)
{
    struct mx_align_text *const t = r->text;
    const int rc = MX_GROW(t->tokens, r->token_room, (size_t)t->token_count + 1);
    if (rc == 0) t->tokens[t->token_count++] = token;
    return rc;
}

static int word_push(struct reader *r, const struct mx_align_word *word)
{
    struct mx_align_text *const t = r->text;
    const int rc = MX_GROW(t->words, r->word_room, (size_t)t->word_count + 1);
    if (rc == 0) t->words[t->word_count++] = *word;
    return rc;
}

static int unit_push(struct reader *r, struct mx_align_unit unit)
{
    struct mx_align_text *const t = r->text;
    const int rc = MX_GROW(t->units, r->unit_room, (size_t)t->unit_count + 1);
    if (rc == 0) t->units[t->unit_count++] = unit;
    return rc;
}

/* ---- symbols ---- */

/* By the rules and with the lexicon that the voice was trained with. */
static int symbols_of(struct reader *r, const char *text, size_t length, struct mx_symbols *out)
{
    const struct mx_reading *const reading = mx_vocabulary_reading(r->vocabulary);
    char *spoken;
    int rc = 0;
    MX_TRY(mx_reading_text(reading, r->text->language, text, length, &r->arena, &spoken, NULL));
    MX_TRY(mx_reading_symbols(reading, mx_vocabulary_mode(r->vocabulary), r->phonemizer, r->text->language, spoken,
                              &r->arena, out));
out:
    return rc;
}

/* The token of a symbol, or of one that sounds like it; -1: none. */
static int32_t token_of(struct reader *r, uint32_t symbol)
{
    int32_t token = mx_vocabulary_find(r->vocabulary, symbol);
    if (token >= 0) return token;
    token = mx_align_nearest_symbol(r->vocabulary, symbol);
    struct mx_unknown_count *const counted = token >= 0 ? &r->text->replaced : &r->text->unknown;
    if (counted->count++ == 0) counted->first = symbol;
    return token;
}

/* ---- units ---- */

/* The tokens of a unit, and for each of its words the place among them. */
static int unit_tokens(struct reader *r, struct mx_symbols all, const int32_t *owners)
{
    struct unit *const u = &r->unit;
    int rc = 0;
    MX_TRY(token_push(r, MX_TOKEN_BOS));
    for (size_t w = 0; w < u->count; w++) u->words[w].first = u->words[w].last = -1;
    for (size_t i = 0; i < all.count; i++) {
        const int32_t token = token_of(r, all.codes[i]);
        if (token < 0) continue;
        MX_TRY(token_push(r, token));
        if (owners[i] < 0) continue;
        struct mx_align_word *const word = &u->words[owners[i]];
        if (word->first < 0) word->first = r->text->token_count - 1;
        word->last = r->text->token_count;
    }
    MX_TRY(token_push(r, MX_TOKEN_EOS));
out:
    return rc;
}

/* Words of a unit without symbols become part of the word before, or of the first with symbols. */
static int unit_words(struct reader *r)
{
    struct unit *const u = &r->unit;
    const int32_t before = r->text->word_count;
    size_t begin = SIZE_MAX;
    int rc = 0;
    for (size_t w = 0; w < u->count; w++) {
        struct mx_align_word *const word = &u->words[w];
        if (word->first < 0) {
            if (r->text->word_count > before) {
                struct mx_align_word *const last = &r->text->words[r->text->word_count - 1];
                last->end = word->end;
                if (word->after > last->after) last->after = word->after;
            } else if (begin == SIZE_MAX) {
                begin = word->begin;
            }
            continue;
        }
        if (begin != SIZE_MAX) word->begin = begin;
        begin = SIZE_MAX;
        word->unit = r->text->unit_count;
        word->part = u->part;
        MX_TRY(word_push(r, word));
    }
out:
    return rc;
}

static int unit_end(struct reader *r)
{
    struct unit *const u = &r->unit;
    const char *const source = r->text->source;
    struct mx_symbols all, *words;
    const int32_t token_before = r->text->token_count, word_before = r->text->word_count;
    int rc = 0;
    if (u->count == 0) return 0;
    mx_arena_reset(&r->arena);
    MX_TRY(symbols_of(r, source + u->words[0].begin, u->words[u->count - 1].end - u->words[0].begin, &all));
    words = mx_arena_alloc(&r->arena, u->count, sizeof *words);
    int32_t *const owners = mx_arena_alloc(&r->arena, all.count + 1, sizeof *owners);
    if (words == NULL || owners == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (size_t w = 0; w < u->count; w++)
        MX_TRY(symbols_of(r, source + u->words[w].begin, u->words[w].end - u->words[w].begin, &words[w]));
    const struct mx_align_match match = {.unit = all, .words = words, .word_count = u->count};
    MX_TRY(mx_align_match_owners(&match, owners));
    MX_TRY(unit_tokens(r, all, owners));
    MX_TRY(unit_words(r));
    if (r->text->word_count == word_before)
        r->text->token_count = token_before; /* it says nothing */
    else
        MX_TRY(unit_push(r, (struct mx_align_unit){token_before, r->text->token_count}));
out:
    u->count = 0;
    return rc;
}

/* ---- written words ---- */

static bool is_blank(const char *at, size_t left, size_t *bytes)
{
    static const char *const blanks[] = {" ", "\t", "\r", "\n", "\f", "\v", "\u00a0", "\u2028", "\u2029", "\u3000"};
    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++) {
        *bytes = strlen(blanks[i]);
        if (left >= *bytes && memcmp(at, blanks[i], *bytes) == 0) return true;
    }
    return false;
}

static bool ends_with(const char *word, size_t length, const char *const *marks, size_t *bytes)
{
    for (size_t i = 0; marks[i] != NULL; i++) {
        *bytes = strlen(marks[i]);
        if (length >= *bytes && memcmp(word + length - *bytes, marks[i], *bytes) == 0) return true;
    }
    return false;
}

enum mx_align_break mx_align_word_break(const char *word, size_t length, char next)
{
    static const char *const closing[] = {"\"", "'", ")", "]", "}", "”", "’", "»", "›", NULL};
    static const char *const ends[] = {"!", "?", "…", "؟", "۔", "。", "！", "？", "।", NULL};
    static const char *const commas[] = {",", ";", ":", "—", "–", "،", "؛", "、", "，", "-", NULL};
    size_t bytes;
    while (length > 0 && ends_with(word, length, closing, &bytes)) length -= bytes;
    if (length == 0) return MX_ALIGN_BREAK_WORD;
    if (ends_with(word, length, ends, &bytes)) return MX_ALIGN_BREAK_SENTENCE;
    if (ends_with(word, length, commas, &bytes)) return MX_ALIGN_BREAK_COMMA;
    if (word[length - 1] != '.') return MX_ALIGN_BREAK_WORD;
    if (mx_text_abbreviation(word, length - 1, next >= '0' && next <= '9')) return MX_ALIGN_BREAK_WORD;
    if (length == 2 && word[0] >= 'A' && word[0] <= 'Z') return MX_ALIGN_BREAK_WORD; /* an initial */
    return MX_ALIGN_BREAK_SENTENCE;
}

static bool unit_is_full(const struct unit *u)
{
    const size_t bytes = u->words[u->count - 1].end - u->words[0].begin;
    const enum mx_align_break after = u->words[u->count - 1].after;
    return after >= MX_ALIGN_BREAK_SENTENCE || bytes > UNIT_HARD || u->count == UNIT_WORDS ||
           (after == MX_ALIGN_BREAK_COMMA && bytes > UNIT_SOFT);
}

/* Reads blanks from `at` on; *paragraph: a blank line was among them. */
static size_t blanks_read(const char *source, size_t at, size_t end, bool *paragraph)
{
    size_t bytes, lines = 0;
    while (at < end && is_blank(source + at, end - at, &bytes)) {
        lines += source[at] == '\n';
        at += bytes;
    }
    *paragraph = lines > 1;
    return at;
}

static int part_read(struct reader *r, const struct mx_align_part *part, int32_t number)
{
    const char *const source = r->text->source;
    struct unit *const u = &r->unit;
    bool paragraph;
    size_t bytes;
    int rc = 0;
    u->part = number;
    for (size_t at = blanks_read(source, part->begin, part->end, &paragraph); at < part->end;) {
        const size_t begin = at;
        while (at < part->end && !is_blank(source + at, part->end - at, &bytes)) at++;
        struct mx_align_word word = {.begin = begin, .end = at};
        if (at - begin > WORD_BYTES)
            MX_RAISE(MX_ERR_DATA, "put blanks between its words, and give a text, not data",
                     "a word of the text, at byte %zu, has %zu bytes", begin, at - begin);
        at = blanks_read(source, at, part->end, &paragraph);
        word.after = paragraph || at >= part->end
                         ? MX_ALIGN_BREAK_PARAGRAPH
                         : mx_align_word_break(source + begin, word.end - begin, at < part->end ? source[at] : 0);
        u->words[u->count++] = word;
        if (unit_is_full(u)) MX_TRY(unit_end(r));
        if (r->text->word_count > WORDS_LIMIT)
            MX_RAISE(MX_ERR_DATA, "cut the recordings chapter by chapter", "the text has more than %d words",
                     WORDS_LIMIT);
    }
    MX_TRY(unit_end(r));
out:
    return rc;
}

/* ---- the whole ---- */

/* A number of the vocabulary for a language of this script; -1: it has none. */
static int32_t script_find(const struct mx_vocabulary *vocabulary, enum mx_language_id language,
                           enum mx_language_id *found)
{
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++) {
        if (mx_language_get((enum mx_language_id)i)->script != mx_language_get(language)->script) continue;
        const int number = mx_vocabulary_language(vocabulary, (enum mx_language_id)i);
        if (number < 0) continue;
        *found = (enum mx_language_id)i;
        return number;
    }
    return -1;
}

/* The language of the text, and the one that it is read as: itself, one of the same script, or the first. A detected
 * language is a guess from the script, so the language of the voice is preferred. */
static int language_choose(struct mx_align_text *t, int language, const struct mx_vocabulary *vocabulary,
                           const struct mx_align_part *parts, size_t part_count)
{
    const size_t begin = parts[0].begin;
    enum mx_language_id alike = MX_LANGUAGE_COUNT;
    int rc = 0;
    t->language = (enum mx_language_id)language;
    if (language == MX_ALIGN_DETECT)
        MX_TRY(mx_text_detect(t->source + begin, parts[part_count - 1].end - begin, &t->language));
    t->language_number = mx_vocabulary_language(vocabulary, t->language);
    if (t->language_number < 0) t->language_number = script_find(vocabulary, t->language, &alike);
    if (alike != MX_LANGUAGE_COUNT && language == MX_ALIGN_DETECT) t->language = alike;
    t->language_known = mx_vocabulary_language(vocabulary, t->language) >= 0;
    if (t->language_number < 0) t->language_number = 0;
out:
    return rc;
}

int mx_align_text_read(const char *source, const struct mx_align_part *parts, size_t part_count, int language,
                       const struct mx_vocabulary *vocabulary, struct mx_align_text *out)
{
    struct reader *r = NULL;
    int rc = 0;
    *out = (struct mx_align_text){.source = source};
    if (part_count == 0)
        return MX_FAIL(MX_ERR_DATA, "give the text that is spoken in the recordings", "the text is empty");
    r = mx_alloc(1, sizeof *r);
    if (r == NULL) return MX_ERR_NO_MEMORY;
    r->text = out;
    r->vocabulary = vocabulary;
    mx_arena_init(&r->arena, 0);
    MX_TRY(language_choose(out, language, vocabulary, parts, part_count));
    if (mx_vocabulary_mode(vocabulary) == MX_TOKENS_PHONEMES) MX_TRY(mx_phonemizer_get(&r->phonemizer));
    for (size_t i = 0; i < part_count; i++) MX_TRY(part_read(r, &parts[i], (int32_t)i));
    if (out->word_count == 0)
        MX_RAISE(MX_ERR_DATA, "give the text that is spoken in the recordings", "nothing in the text can be spoken");
out:
    mx_arena_release(&r->arena);
    mx_free(r);
    if (rc < 0) mx_align_text_release(out);
    return rc;
}

void mx_align_text_release(struct mx_align_text *text)
{
    mx_free(text->words);
    mx_free(text->units);
    mx_free(text->tokens);
    *text = (struct mx_align_text){0};
}
