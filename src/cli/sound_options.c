/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See sound_options.h.
 */
#include "cli/sound_options.h"

#include "myxtts/error.h"

int mx_command_rounds_check(bool vocoder, int64_t rounds)
{
    if (vocoder || rounds != 0) return 0;
    MX_FAIL(MX_ERR_USAGE, NULL, "option '--rounds' is 0, but Griffin-Lim needs at least 1 round");
    return mx_error_hint("expected 1 to %d, or a vocoder that was trained ('--vocoder RUN')", MX_SOUND_ROUNDS_MAX);
}
