/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which parameters learn: patterns of names, see parameters.h. Owns no memory.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/string.h"
#include "model/parameters.h"
#include "myxtts/error.h"

#define PATTERN_BYTES 256
#define QUOTED_BYTES  300
#define NAMES         3 /* how many names an error proposes */
#define SEPARATORS    ", \t\r\n"

/* The next pattern from *at on, which moves past it; false: there is none. One that is too long for any name is cut,
 * and matches none. */
static bool next(const char **at, char out[PATTERN_BYTES])
{
    *at += strspn(*at, SEPARATORS);
    const size_t length = strcspn(*at, SEPARATORS);
    snprintf(out, PATTERN_BYTES, "%.*s", (int)(length < PATTERN_BYTES ? length : PATTERN_BYTES - 1), *at);
    *at += length;
    return length > 0;
}

bool mx_learning_frozen(const struct mx_learning *learning, const char *name)
{
    char pattern[PATTERN_BYTES];
    const char *at = learning != NULL && learning->freeze != NULL ? learning->freeze : "";
    while (next(&at, pattern))
        if (fnmatch(pattern, name, 0) == 0) return true;
    return false;
}

/* How well a name fits a pattern that does not match: the characters that both begin with, and for a name that is
 * misspelt the likely one. */
static size_t likeness(const char *pattern, const char *name)
{
    size_t same = 0;
    while (pattern[same] != '\0' && pattern[same] == name[same]) same++;
    return same;
}

/* Proposes the names that have most of their beginning in common with the pattern. */
static int unmatched(const char *pattern, const struct mx_parameters *const *tables, int count)
{
    const char *best[NAMES] = {NULL};
    struct mx_string_nearest nearest;
    char quoted[QUOTED_BYTES];
    mx_string_nearest_start(&nearest, pattern);
    for (int t = 0; t < count; t++)
        for (int i = 0; i < tables[t]->count; i++) {
            const char *name = tables[t]->entries[i].name;
            mx_string_nearest_offer(&nearest, name);
            for (int k = 0; k < NAMES && name != NULL; k++) {
                if (best[k] != NULL && likeness(pattern, best[k]) >= likeness(pattern, name)) continue;
                const char *const weaker = best[k];
                best[k] = name;
                name = weaker;
            }
        }
    MX_FAIL(MX_ERR_CONFIG, NULL, "training.freeze: no parameter matches %s",
            mx_string_quote(quoted, sizeof quoted, pattern));
    if (mx_string_nearest_best(&nearest) != NULL) best[0] = mx_string_nearest_best(&nearest);
    return mx_error_hint("close to it: %s, %s, %s; 'encoder.*' would match everything of the encoder",
                         best[0] != NULL ? best[0] : "none", best[1] != NULL ? best[1] : "none",
                         best[2] != NULL ? best[2] : "none");
}

int mx_learning_check(const struct mx_learning *learning, const struct mx_parameters *const *tables, int count)
{
    char pattern[PATTERN_BYTES];
    const char *at = learning->freeze != NULL ? learning->freeze : "";
    while (next(&at, pattern)) {
        bool found = false;
        for (int t = 0; t < count && !found; t++)
            for (int i = 0; i < tables[t]->count && !found; i++)
                found = fnmatch(pattern, tables[t]->entries[i].name, 0) == 0;
        if (!found) return unmatched(pattern, tables, count);
    }
    return 0;
}
