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
    const char *language;                   /* code of that of the speaker, or of the only one; NULL: not known */
    const struct mx_installed_voice *named; /* NULL: a path was given */
    struct mx_installed list;
};

/* `checkpoint` or `voice`, or neither: the base. MX_ERR_USAGE for both, or if nothing is given and no base is
 * installed. */
int mx_command_choice_resolve(struct mx_command_choice *choice, const char *checkpoint, const char *voice);
/* The speaker to take for a text where none was named: the first one whose language is that of the text (`language`, or
 * that of its script), unless the first speaker of all has it. NULL: no particular one. */
const char *mx_command_choice_speaker(const struct mx_command_choice *choice, const char *language, const char *text,
                                      size_t length);
void mx_command_choice_release(struct mx_command_choice *choice); /* {0} is fine */

#endif
