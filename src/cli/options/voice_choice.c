/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which voice speaks, see voice_choice.h.
 */
#include "cli/options/voice_choice.h"

#include <unistd.h>

#include "base/string.h"
#include "myxtts/error.h"

/* Nothing was given. */
static int base_choose(struct mx_command_choice *choice, struct mx_installed_choice *found)
{
    const char *const exact = MX_INSTALLED_BASE "/"; /* never a speaker of that name */
    const int rc = mx_installed_find(&choice->list, exact, found);
    if (rc != MX_ERR_NOT_FOUND) return rc;
    MX_FAIL(MX_ERR_USAGE, NULL,
            "no voice is named, and no voice '" MX_INSTALLED_BASE "' is installed: give '--checkpoint RUN_OR_FILE' or "
            "'--voice NAME'");
    return mx_error_hint("'myxtts voices' lists the installed voices, and says where they are looked for");
}

static int named_choose(struct mx_command_choice *choice, const char *voice, struct mx_installed_choice *found)
{
    char quoted[96];
    const int rc = mx_installed_find(&choice->list, voice, found);
    if (rc != MX_ERR_NOT_FOUND || access(voice, F_OK) < 0) return rc;
    mx_string_quote(quoted, sizeof quoted, voice);
    MX_FAIL(MX_ERR_USAGE, NULL, "option '--voice' is %s, which is a file or folder and no installed voice", quoted);
    return mx_error_hint("files and folders are given to '--checkpoint': '--checkpoint %s'", voice);
}

int mx_command_choice_resolve(struct mx_command_choice *choice, const char *checkpoint, const char *voice)
{
    int rc = 0;
    struct mx_installed_choice found = {0};
    if (checkpoint != NULL && voice != NULL)
        return MX_FAIL(MX_ERR_USAGE, "give one of the two", "'--checkpoint' and '--voice' contradict each other");
    choice->path = checkpoint;
    if (checkpoint != NULL) return 0;
    MX_TRY(mx_installed_list(&choice->list));
    MX_TRY(voice != NULL ? named_choose(choice, voice, &found) : base_choose(choice, &found));
    choice->named = found.voice;
    choice->path = found.voice->path;
    if (found.by_speaker) choice->speaker = found.voice->state->speakers[found.speaker];
out:
    return rc;
}

void mx_command_choice_release(struct mx_command_choice *choice)
{
    mx_installed_release(&choice->list);
}
