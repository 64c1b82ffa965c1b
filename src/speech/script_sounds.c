/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pieces with sounds that SSML gives: the words that stand for them (script_internal.h) are replaced by the sounds, the
 * text between them by its phonemes. Marks and blanks around a sound are copied, because a phonemizer that is given
 * ", and" alone leaves the comma out.
 */
#include <string.h>

#include "base/string.h"
#include "speech/script_internal.h"
#include "text/tokens.h"

#define WORD_BYTES (MX_SPEAK_SOUND_PREFIX + MX_SPEAK_SOUND_DIGITS)

/* The first word that stands for a sound; NULL: none. */
static const char *sound_find(const struct mx_speak_span *span, const char *text)
{
    for (; (text = memmem(text, strlen(text), span->sound_prefix, MX_SPEAK_SOUND_PREFIX)) != NULL; text++)
        if (strlen(text) >= WORD_BYTES) return text;
    return NULL;
}

static size_t sound_number(const char *word)
{
    size_t number = 0;
    for (size_t i = MX_SPEAK_SOUND_PREFIX; i < WORD_BYTES; i++) number = number * 26 + (size_t)(word[i] - 'a');
    return number;
}

/* Whether the character at `at` is a blank, a mark or a dash between words. */
static bool is_between(const char *text, size_t length, size_t at)
{
    if (text[at] != '-') return strchr(" ,.!?;:", text[at]) != NULL;
    return (at == 0 || text[at - 1] == ' ') && (at + 1 == length || text[at + 1] == ' ');
}

/* Phonemes of the text between two sounds. */
static int between_append(const struct mx_speak_span *span, const struct mx_reading *reading,
                          struct mx_phonemizer *phonemizer, const char *text, size_t length, struct mx_arena *arena,
                          struct mx_string *out)
{
    size_t begin = 0, end = length;
    char *phonemes;
    int rc = 0;
    while (begin < length && is_between(text, length, begin)) begin++;
    while (end > begin && is_between(text, length, end - 1)) end--;
    MX_TRY(mx_string_append(out, "%.*s", (int)begin, text));
    if (end > begin) {
        const char *const words = mx_arena_strndup(arena, text + begin, end - begin);
        if (words == NULL) return MX_ERR_NO_MEMORY;
        MX_TRY(mx_reading_phonemes(reading, phonemizer, span->language, words, arena, &phonemes));
        MX_TRY(mx_string_append(out, "%s", phonemes));
    }
    MX_TRY(mx_string_append(out, "%.*s", (int)(length - end), text + end));
out:
    return rc;
}

int mx_speak_sounds_symbols(const struct mx_speak_span *span, const struct mx_reading *reading,
                            struct mx_phonemizer *phonemizer, const char *piece, struct mx_arena *arena,
                            struct mx_symbols *symbols, char **text)
{
    struct mx_string sounds = {0}, shown = {0};
    int rc = 0;
    for (;;) {
        const char *const word = sound_find(span, piece);
        const size_t length = word != NULL ? (size_t)(word - piece) : strlen(piece);
        MX_TRY(between_append(span, reading, phonemizer, piece, length, arena, &sounds));
        MX_TRY(mx_string_append(&shown, "%.*s", (int)length, piece));
        if (word == NULL) break;
        const size_t number = sound_number(word);
        if (number < span->sound_count) {
            MX_TRY(mx_string_append(&sounds, "%s", span->sounds[number].ipa));
            MX_TRY(mx_string_append(&shown, "%s", span->sounds[number].text));
        }
        piece = word + WORD_BYTES;
    }
    MX_TRY(mx_tokens_from_text(MX_TOKENS_CHARS, NULL, span->language, sounds.data, arena, symbols));
    MX_TRY(mx_reading_plain(reading, shown.length > 0 ? shown.data : "", arena, text));
out:
    mx_string_release(&sounds);
    mx_string_release(&shown);
    return rc;
}
