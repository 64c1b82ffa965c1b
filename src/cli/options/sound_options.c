/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See sound_options.h.
 */
#include "cli/options/sound_options.h"

#include <string.h>

#include "base/string.h"
#include "myxtts/error.h"

#define X(name, text, type) text,
const char *const mx_command_sound_formats[] = {MX_ENCODE_LIST(X) NULL};
#undef X

int mx_command_rounds_check(bool vocoder, int64_t rounds)
{
    if (vocoder || rounds != 0) return 0;
    MX_FAIL(MX_ERR_USAGE, NULL, "option '--rounds' is 0, but Griffin-Lim needs at least 1 round");
    return mx_error_hint("expected 1 to %d, or a vocoder that was trained ('--vocoder RUN')", MX_SOUND_ROUNDS_MAX);
}

int mx_command_sound_format(const char *path, const char *given, enum mx_encode_format *out)
{
    char quoted[96];
    const char *ending = NULL;
    enum mx_encode_format named = MX_ENCODE_WAV;
    const bool known = path == NULL || strcmp(path, "-") == 0 || mx_encode_named(path, &named, &ending);
    *out = named;
    if (given != NULL) (void)mx_encode_find(given, out); /* the parser knows it */
    if (known && (*out == named || ending == NULL)) return 0;
    if (!known && given != NULL) return 0;
    mx_string_quote(quoted, sizeof quoted, path);
    if (!known)
        return MX_FAIL(MX_ERR_USAGE, "end the name in " MX_ENCODE_ENDINGS,
                       "no sound can be written into %s: its ending names no known format", quoted);
    MX_FAIL(MX_ERR_USAGE, NULL, "%s ends in %s, and '--format' says %s", quoted, ending, given);
    return mx_error_hint("leave out '--format', or end the name in .%s", given);
}
