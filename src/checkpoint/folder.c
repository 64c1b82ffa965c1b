/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A folder of checkpoints: which steps it has, and which of them are deleted.
 *
 * Only files with names that this program writes are deleted; everything else in the folder stays.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/string.h"
#include "checkpoint/internal.h"
#include "myxtts/error.h"

#define QUOTED_BYTES 192
#define SUFFIX       ".safetensors"
#define TEMPORARY    ".tmp" /* what base/file.c ends its names with */

/* ---- names ---- */

void mx_checkpoint_name(uint64_t step, char out[MX_CHECKPOINT_NAME_BYTES])
{
    snprintf(out, MX_CHECKPOINT_NAME_BYTES, "step-%08" PRIu64 SUFFIX, step);
}

char *mx_checkpoint_file(const char *folder, uint64_t step)
{
    char name[MX_CHECKPOINT_NAME_BYTES];
    mx_checkpoint_name(step, name);
    return mx_format("%s/%s", folder, name);
}

/* Is it a name from mx_checkpoint_name, and of which step? */
static bool name_parse(const char *name, uint64_t *step)
{
    char again[MX_CHECKPOINT_NAME_BYTES];
    if (strncmp(name, "step-", 5) != 0) return false;
    errno = 0;
    *step = strtoull(name + 5, NULL, 10);
    if (errno != 0) return false;
    mx_checkpoint_name(*step, again);
    return strcmp(again, name) == 0;
}

/* Was it being written when a process was killed? NAME.PID-SERIAL.tmp, where NAME is one of ours. */
static bool is_leftover(const char *name)
{
    uint64_t step;
    char before[MX_CHECKPOINT_NAME_BYTES];
    const char *const end = strstr(name, SUFFIX ".");
    const size_t length = strlen(name);
    if (end == NULL || length < strlen(TEMPORARY) || strcmp(name + length - strlen(TEMPORARY), TEMPORARY) != 0)
        return false;
    const size_t whole = (size_t)(end - name) + strlen(SUFFIX);
    if (whole >= sizeof before) return false;
    memcpy(before, name, whole);
    before[whole] = '\0';
    return strcmp(before, MX_CHECKPOINT_BEST) == 0 || name_parse(before, &step);
}

/* ---- listing ---- */

static int step_compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

int mx_checkpoint_steps_list(const char *folder, struct mx_checkpoint_steps *steps)
{
    int rc = 0;
    size_t room = 0;
    uint64_t step;
    DIR *stream = NULL;
    const struct dirent *entry;
    *steps = (struct mx_checkpoint_steps){0};
    MX_TRY(mx_file_list_open(folder, &stream));
    for (;;) {
        MX_TRY(mx_file_list_next(stream, folder, &entry));
        if (entry == NULL) break;
        if (!name_parse(entry->d_name, &step)) continue;
        MX_TRY(MX_GROW(steps->items, room, steps->count + 1));
        steps->items[steps->count++] = step;
    }
    if (steps->count > 0) qsort(steps->items, steps->count, sizeof *steps->items, step_compare);
out:
    if (stream != NULL) closedir(stream);
    if (rc < 0) mx_checkpoint_steps_release(steps);
    return rc;
}

void mx_checkpoint_steps_release(struct mx_checkpoint_steps *steps)
{
    mx_free(steps->items);
    *steps = (struct mx_checkpoint_steps){0};
}

/* ---- tidying ---- */

static void file_delete(const char *path)
{
    char quoted[QUOTED_BYTES];
    if (unlink(path) != 0 && errno != ENOENT)
        mx_warn("cannot delete the old checkpoint %s: %s", mx_string_quote(quoted, sizeof quoted, path),
                strerror(errno));
}

/* The run continued from an earlier step: what it is now is the new file, not this one. */
static void file_abandon(const char *path, const char *why)
{
    char quoted[QUOTED_BYTES];
    char *const name = mx_format("%s.abandoned", path);
    mx_string_quote(quoted, sizeof quoted, path);
    if (name != NULL && rename(path, name) == 0)
        mx_warn("%s is %s: it is now called *.abandoned", quoted, why);
    else
        mx_warn("%s is %s, but cannot be renamed: %s", quoted, why, name != NULL ? strerror(errno) : "no memory");
    mx_free(name);
}

void mx_checkpoint_place_clear(const char *path)
{
    struct stat status;
    if (lstat(path, &status) == 0 && !S_ISREG(status.st_mode)) file_abandon(path, "not an ordinary file");
}

static void leftovers_delete(const char *folder)
{
    DIR *stream = NULL;
    const struct dirent *entry = NULL;
    int rc = mx_file_list_open(folder, &stream);
    while (rc == 0 && (rc = mx_file_list_next(stream, folder, &entry)) == 0 && entry != NULL) {
        if (!is_leftover(entry->d_name)) continue;
        char *const path = mx_format("%s/%s", folder, entry->d_name);
        if (path != NULL) file_delete(path);
        mx_free(path);
    }
    if (stream != NULL) closedir(stream);
    if (rc == 0) return;
    mx_warn("leftovers of processes that were killed may stay: %s", mx_error_last()->message);
    mx_error_clear();
}

void mx_checkpoint_folder_tidy(const char *folder, uint64_t saved, const struct mx_checkpoint_keep *keep,
                               bool leftovers)
{
    struct mx_checkpoint_steps steps;
    size_t upto = 0; /* how many there are up to the one that was saved */
    if (mx_checkpoint_steps_list(folder, &steps) < 0) {
        mx_warn("old checkpoints are not deleted: %s", mx_error_last()->message);
        mx_error_clear();
        return;
    }
    while (upto < steps.count && steps.items[upto] <= saved) upto++;
    for (size_t i = 0; i < steps.count; i++) {
        const uint64_t step = steps.items[i];
        const bool of_the_last = keep->last == 0 || upto - i <= (size_t)keep->last;
        const bool for_ever = keep->every != 0 && step % keep->every == 0;
        if (i < upto && (step == saved || of_the_last || for_ever)) continue;
        char *const path = mx_checkpoint_file(folder, step);
        if (path == NULL) break; /* the next save tries again */
        if (i < upto)
            file_delete(path);
        else
            file_abandon(path, "newer than what this run went on from");
        mx_free(path);
    }
    mx_checkpoint_steps_release(&steps);
    if (leftovers) leftovers_delete(folder);
}
