/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names that users of the program which this one succeeds may type, and what to write instead. They do nothing: the
 * parser refuses them as it refuses all unknown words, but with this as the hint.
 *
 * All tables end with a NULL name. The pages about migration list the same words; tests/docs.sh compares.
 */
#ifndef MX_CLI_FORMER_H
#define MX_CLI_FORMER_H

#include <stddef.h>
#include <string.h>

struct mx_former {
    const char *name;    /* without dashes */
    const char *instead; /* what to do, for a hint: "write '--output DIR'" */
};

extern const struct mx_former mx_former_train[];    /* flags of train_main.py */
extern const struct mx_former mx_former_synth[];    /* flags of inference_main.py */
extern const struct mx_former mx_former_commands[]; /* of the myxtts that was */

/* What to write instead of `name` (without dashes), or NULL. `list` may be NULL. */
static inline const char *mx_former_find(const struct mx_former *list, const char *name)
{
    for (; list != NULL && list->name != NULL; list++)
        if (strcmp(list->name, name) == 0) return list->instead;
    return NULL;
}

#endif
