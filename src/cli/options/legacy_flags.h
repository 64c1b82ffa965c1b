/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names that users of this program's predecessor may type, and what to write instead. They do nothing: the parser
 * refuses them like all unknown words, but with this as the hint.
 *
 * All tables end with a NULL name. The pages about migration list the same words; tests/docs.sh and tests/migration.sh
 * compare them.
 */
#ifndef MX_CLI_LEGACY_FLAGS_H
#define MX_CLI_LEGACY_FLAGS_H

#include <stddef.h>
#include <string.h>

struct mx_legacy {
    const char *name;    /* without dashes */
    const char *instead; /* what to do, for a hint: "write '--output DIR'" */
};

extern const struct mx_legacy mx_legacy_train[];    /* flags of train_main.py */
extern const struct mx_legacy mx_legacy_synth[];    /* flags of inference_main.py and fixed_inference.py */
extern const struct mx_legacy mx_legacy_serve[];    /* what servers of other programs call it */
extern const struct mx_legacy mx_legacy_commands[]; /* commands of the former myxtts */
extern const struct mx_legacy mx_legacy_scripts[];  /* train_main and similar scripts */

/* What to write instead of `name` (without dashes), or NULL. `list` may be NULL. */
static inline const char *mx_legacy_find(const struct mx_legacy *list, const char *name)
{
    for (; list != NULL && list->name != NULL; list++)
        if (strcmp(list->name, name) == 0) return list->instead;
    return NULL;
}

/* What to write instead of a word in the place of a command: a command of the former myxtts, or a script, even with its
 * folder and extension ("utilities/dual_gpu_bottleneck_profiler.py"). NULL if it is neither. */
const char *mx_legacy_command(const char *word);

#endif
