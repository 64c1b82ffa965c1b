/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Token modes and symbols; see tokens.h. The phonemes come from tokens_espeak.c.
 */
#include "text/tokens.h"

#include <string.h>

#include "base/string.h"
#include "myxtts/error.h"

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

int mx_tokens_from_text(enum mx_tokens_mode mode, struct mx_phonemizer *phonemizer, enum mx_language_id language,
                        const char *text, struct mx_arena *arena, struct mx_symbols *out)
{
    *out = (struct mx_symbols){NULL, 0};
    if (mode == MX_TOKENS_PHONEMES) {
        char *phonemes;
        const int rc = mx_phonemizer_run(phonemizer, language, text, arena, &phonemes);
        if (rc < 0) return rc;
        text = phonemes;
    }
    const size_t length = strlen(text), valid = mx_utf8_check(text, length);
    if (valid < length) {
        return MX_FAIL(MX_ERR_DATA, "normalise the text first", "invalid UTF-8 at byte %zu (0x%02X)", valid,
                       (unsigned)(unsigned char)text[valid]);
    }
    uint32_t *points = mx_arena_alloc(arena, length ? length : 1, sizeof *points);
    if (!points) return MX_ERR_NO_MEMORY;
    for (size_t at = 0; at < length;) at += mx_utf8_decode(text + at, &points[out->count++]);
    out->codes = points;
    return 0;
}
