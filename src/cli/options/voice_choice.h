/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which voice speaks: a path that the user gave, an installed voice by name, or the installed base voice.
 *
 * Memory: a choice owns what it points to, except for what was given.
 */
#ifndef MX_CLI_VOICE_CHOICE_H
#define MX_CLI_VOICE_CHOICE_H

#include "checkpoint/installed.h"

struct mx_command_choice {
    const char *path;                       /* for mx_voice_open */
    const char *speaker;                    /* that the name means; NULL: it means none */
    const struct mx_installed_voice *named; /* NULL: a path was given */
    struct mx_installed list;
};

/* `checkpoint` or `voice`, or neither: the base. MX_ERR_USAGE for both, or if nothing is given and no base is
 * installed. */
int mx_command_choice_resolve(struct mx_command_choice *choice, const char *checkpoint, const char *voice);
void mx_command_choice_release(struct mx_command_choice *choice); /* {0} is fine */

#endif
