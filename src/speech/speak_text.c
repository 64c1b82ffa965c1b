/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From raw text to items of tokens: paragraph by paragraph, each in its language. A paragraph with a piece of more
 * tokens than the network has room for is split again into shorter pieces.
 */
#include <string.h>

#include "myxtts/error.h"
#include "speech/speak.h"
#include "speech/speak_internal.h"
#include "speech/split.h"
#include "text/text.h"
#include "text/tokens.h"

static int item_push(struct mx_speak_script *script, struct mx_speak_item item)
{
    if (script->count == script->capacity) {
        const size_t more = script->capacity ? 2 * script->capacity : 16;
        struct mx_speak_item *const grown = mx_realloc(script->items, more, sizeof *grown);
        if (grown == NULL) return MX_ERR_NO_MEMORY;
        script->items = grown;
        script->capacity = more;
    }
    script->items[script->count++] = item;
    script->tokens += (size_t)item.count;
    return 0;
}

/* The first language of the vocabulary: for text that has no letters of its own to tell by. */
static enum mx_language_id language_first(const struct mx_vocabulary *vocabulary)
{
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++)
        if (mx_vocabulary_language(vocabulary, (enum mx_language_id)i) >= 0) return (enum mx_language_id)i;
    return (enum mx_language_id)0;
}

/* The only language of the vocabulary with this script; otherwise `found`, to be refused: a Spanish voice reads Latin
 * letters as Spanish, a voice of Spanish and French must be told. */
static enum mx_language_id language_of_script(const struct mx_vocabulary *vocabulary, enum mx_language_id found)
{
    enum mx_language_id only = found;
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++) {
        const enum mx_language_id language = (enum mx_language_id)i;
        if (mx_vocabulary_language(vocabulary, language) < 0) continue;
        if (mx_language_get(language)->script != mx_language_get(found)->script) continue;
        if (only != found) return found;
        only = language;
    }
    return only;
}

struct paragraph {
    enum mx_language_id language;
    int32_t number;   /* of the language, in the vocabulary */
    char *normalised; /* its text */
};

/* The language of a paragraph: the one asked for, or that of its letters. */
static int language_find(const struct mx_speak_scribe *scribe, const char *text, size_t length,
                         enum mx_language_id *language, int32_t *number)
{
    if (scribe->language != MX_SPEAK_DETECT)
        *language = (enum mx_language_id)scribe->language;
    else if (mx_text_detect(text, length, language) < 0) {
        *language = language_first(scribe->vocabulary);
        mx_error_clear(); /* text that is no text is refused when it is normalised */
    } else if (mx_vocabulary_language(scribe->vocabulary, *language) < 0)
        *language = language_of_script(scribe->vocabulary, *language);
    *number = mx_vocabulary_language(scribe->vocabulary, *language);
    if (*number >= 0) return 0;
    MX_FAIL(MX_ERR_CONFIG, NULL, "this voice never learned to speak %s", mx_language_get(*language)->name);
    const struct mx_language *const known = mx_language_get(language_first(scribe->vocabulary));
    return mx_error_hint("it speaks %s: give it text in that language, or read this text as such with --language %s",
                         known->name, known->code);
}

/* The tokens of all pieces of normalised text, cut at `limit`, behind those of the script. *fits is false, and the
 * script as it was, when one of them has too many tokens. */
static int pieces_add(const struct mx_speak_scribe *scribe, const struct paragraph *paragraph, size_t limit,
                      struct mx_arena *scratch, struct mx_speak_script *script, bool *fits)
{
    const enum mx_tokens_mode mode = mx_vocabulary_mode(scribe->vocabulary);
    const struct mx_speak_script before = *script;
    struct mx_phonemizer *phonemizer = NULL;
    struct mx_split_piece *pieces;
    size_t count;
    int rc = 0;
    *fits = true;
    if (mode == MX_TOKENS_PHONEMES) MX_TRY(mx_phonemizer_get(&phonemizer));
    MX_TRY(mx_split_text(paragraph->normalised, limit, scratch, &pieces, &count));
    for (size_t i = 0; i < count; i++) {
        struct mx_symbols symbols;
        struct mx_tokens tokens;
        MX_TRY(mx_tokens_from_text(mode, phonemizer, paragraph->language, pieces[i].text, scratch, &symbols));
        MX_TRY(mx_vocabulary_encode(scribe->vocabulary, symbols, MX_UNKNOWN_SKIP, &script->arena, &tokens,
                                    &script->unknown));
        if (tokens.count > scribe->longest_tokens) {
            script->count = before.count;
            script->tokens = before.tokens;
            script->unknown = before.unknown;
            *fits = false;
            return 0;
        }
        if (tokens.count <= 2) continue; /* BOS and EOS: nothing of it is known */
        MX_TRY(item_push(script, (struct mx_speak_item){.tokens = tokens.numbers,
                                                        .count = (int32_t)tokens.count,
                                                        .language = paragraph->number,
                                                        .pause_ms = pieces[i].pause_ms}));
    }
out:
    return rc;
}

static int paragraph_add(const struct mx_speak_scribe *scribe, const char *text, size_t length,
                         struct mx_arena *scratch, struct mx_speak_script *script)
{
    const size_t items = script->count;
    size_t limit = scribe->limit_characters;
    struct paragraph paragraph = {.normalised = NULL};
    bool fits = false;
    int rc = 0;
    MX_TRY(language_find(scribe, text, length, &paragraph.language, &paragraph.number));
    MX_TRY(mx_text_normalise(paragraph.language, text, length, scratch, &paragraph.normalised, NULL));
    for (; !fits; limit /= 2) {
        if (limit < MX_SPLIT_LEAST) {
            MX_FAIL(MX_ERR_ARGUMENT, NULL, "the network has no room for a piece of %d characters", MX_SPLIT_LEAST);
            MX_TRY(mx_error_hint("it has room for %zu tokens in one sentence: create it with room for more",
                                 scribe->longest_tokens));
        }
        MX_TRY(pieces_add(scribe, &paragraph, limit, scratch, script, &fits));
    }
    if (script->count == items) goto out; /* nothing to be said */
    script->items[script->count - 1].pause_ms = MX_SPLIT_PARAGRAPH_MS;
    script->paragraphs++;
out:
    return rc;
}

int mx_speak_script_make(const struct mx_speak_scribe *scribe, const char *text, size_t length,
                         struct mx_speak_script *script)
{
    struct mx_arena scratch;
    size_t at = 0, begin, count;
    int rc = 0;
    *script = (struct mx_speak_script){0};
    mx_arena_init(&scratch, 0);
    mx_arena_init(&script->arena, 0);
    while (mx_split_paragraph(text, length, &at, &begin, &count)) {
        mx_arena_reset(&scratch);
        rc = paragraph_add(scribe, text + begin, count, &scratch, script);
        if (rc < 0) MX_TRY(mx_error_wrap("text from byte %zu on", begin));
    }
    if (script->count > 0) script->items[script->count - 1].pause_ms = 0;
out:
    mx_arena_release(&scratch);
    if (rc < 0) mx_speak_script_release(script);
    return rc;
}

void mx_speak_script_release(struct mx_speak_script *script)
{
    mx_free(script->items);
    mx_arena_release(&script->arena);
    *script = (struct mx_speak_script){0};
}
