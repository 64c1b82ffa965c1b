/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names that users of the program which this one succeeds may type, and what to write instead. They do nothing: the
 * parser refuses them as it refuses all unknown words, but with this as the hint.
 *
 * All tables end with a NULL name. The pages about migration list the same words; tests/docs.sh and tests/migration.sh
 * compare.
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
extern const struct mx_legacy mx_legacy_commands[]; /* of the myxtts that was */
extern const struct mx_legacy mx_legacy_scripts[];  /* train_main and its like */

/* What to write instead of `name` (without dashes), or NULL. `list` may be NULL. */
static inline const char *mx_legacy_find(const struct mx_legacy *list, const char *name)
{
    for (; list != NULL && list->name != NULL; list++)
        if (strcmp(list->name, name) == 0) return list->instead;
    return NULL;
}

/* What to write instead of a word where a command should stand: a command of the myxtts that was, or a script, also
 * with its folder and ending ("utilities/dual_gpu_bottleneck_profiler.py"). NULL if it is neither. */
const char *mx_legacy_command(const char *word);

#endif
