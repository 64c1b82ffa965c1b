/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Token modes and symbols; see tokens.h. The phonemes come from tokens_espeak.c.
 */
#include "text/tokens.h"

#include <string.h>
#include <utf8proc.h>

#include "base/string.h"
#include "myxtts/error.h"
#include "text/reading.h"

static const char *const modes[] = {
#define X(identifier, name) name,
    MX_TOKENS_LIST(X)
#undef X
};

const char *mx_tokens_mode_name(enum mx_tokens_mode mode)
{
    return modes[mode];
}

int mx_tokens_mode_parse(const char *text, enum mx_tokens_mode *out)
{
    for (int i = 0; i < MX_TOKENS_COUNT; i++) {
        if (!strcmp(text, modes[i])) {
            *out = (enum mx_tokens_mode)i;
            return 0;
        }
    }
    char quoted[64];
    return MX_FAIL(MX_ERR_CONFIG, "tokens are phonemes or chars", "unknown kind of tokens %s",
                   mx_string_quote(quoted, sizeof quoted, text));
}

int mx_reading_cleaner(const struct mx_reading *reading)
{
    const int asked = reading == NULL ? 0 : reading->cleaner;
    return asked > 0 && asked < MX_TEXT_CLEANER_VERSION ? asked : MX_TEXT_CLEANER_VERSION;
}

int mx_reading_plain(const struct mx_reading *reading, const char *text, struct mx_arena *arena, char **out)
{
    const struct mx_lexicon *const lexicon = reading == NULL ? NULL : reading->lexicon;
    struct mx_string plain = {0};
    int rc = 0;
    *out = NULL;
    while (*text) {
        uint32_t point;
        const size_t bytes = mx_utf8_decode(text, &point);
        const struct mx_lexicon_entry *const entry = mx_lexicon_find(lexicon, point);
        if (entry != NULL)
            MX_TRY(mx_string_append(&plain, "%s", entry->word));
        else
            MX_TRY(mx_string_append(&plain, "%.*s", (int)bytes, text));
        text += bytes;
    }
    *out = mx_arena_strndup(arena, plain.length > 0 ? plain.data : "", plain.length);
    if (*out == NULL) rc = MX_ERR_NO_MEMORY;
out:
    mx_string_release(&plain);
    return rc;
}

int mx_reading_symbols(const struct mx_reading *reading, enum mx_tokens_mode mode, struct mx_phonemizer *phonemizer,
                       enum mx_language_id language, const char *text, struct mx_arena *arena, struct mx_symbols *out)
{
    char *phonemes;
    *out = (struct mx_symbols){NULL, 0};
    const size_t length = strlen(text), valid = mx_utf8_check(text, length);
    if (valid < length)
        return MX_FAIL(MX_ERR_DATA, "normalise the text first", "invalid UTF-8 at byte %zu (0x%02X)", valid,
                       (unsigned)(unsigned char)text[valid]);
    const int rc = mode == MX_TOKENS_PHONEMES
                       ? mx_reading_phonemes(reading, phonemizer, language, text, arena, &phonemes)
                       : mx_reading_plain(reading, text, arena, &phonemes);
    if (rc < 0) return rc;
    uint32_t *points = mx_arena_alloc(arena, strlen(phonemes) + 1, sizeof *points);
    if (!points) return MX_ERR_NO_MEMORY;
    for (const char *at = phonemes; *at; out->count++) {
        uint32_t *const point = &points[out->count];
        at += mx_utf8_decode(at, point);
        if (mode == MX_TOKENS_CHARS) *point = (uint32_t)utf8proc_tolower((utf8proc_int32_t)*point);
    }
    out->codes = points;
    return 0;
}

int mx_tokens_from_text(enum mx_tokens_mode mode, struct mx_phonemizer *phonemizer, enum mx_language_id language,
                        const char *text, struct mx_arena *arena, struct mx_symbols *out)
{
    return mx_reading_symbols(NULL, mode, phonemizer, language, text, arena, out);
}

int mx_phonemizer_run(struct mx_phonemizer *phonemizer, enum mx_language_id language, const char *text,
                      struct mx_arena *arena, char **out)
{
    return mx_reading_phonemes(NULL, phonemizer, language, text, arena, out);
}
