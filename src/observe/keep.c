/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See keep.h.
 */
#include "observe/keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "myxtts/error.h"

#define EVENTS     "events.out.tfevents."
#define EVENTS_END ".myxtts" /* and a number, if there are several of one second */

/* ---- names of a folder ---- */

struct names {
    char **items; /* owned, in order once all are there */
    size_t count, room;
};

static void names_release(struct names *names)
{
    for (size_t i = 0; i < names->count; i++) mx_free(names->items[i]);
    mx_free(names->items);
    *names = (struct names){0};
}

static bool names_add(struct names *names, const char *name)
{
    if (MX_GROW(names->items, names->room, names->count + 1) < 0) return false;
    names->items[names->count] = mx_strdup(name);
    return names->items[names->count] != NULL && ++names->count > 0;
}

/* By length first: the numbers of steps have at least eight digits, and longer ones are larger. */
static int by_age(const void *a, const void *b)
{
    const char *const x = *(char *const *)a, *const y = *(char *const *)b;
    const size_t m = strlen(x), n = strlen(y);
    return strncmp(x, "step-", 5) == 0 && m != n ? (m > n) - (m < n) : strcmp(x, y);
}

/* The names that `ours` accepts; none without the folder or without memory: the next call finds them. */
static struct names names_list(const char *folder, bool (*ours)(const char *name))
{
    struct names names = {0};
    DIR *const list = opendir(folder);
    bool good = list != NULL;
    for (const struct dirent *entry; good && (entry = readdir(list)) != NULL;)
        if (ours(entry->d_name)) good = names_add(&names, entry->d_name);
    if (list != NULL) closedir(list);
    if (!good) names_release(&names);
    if (!good) mx_error_clear();
    if (names.count > 0) qsort(names.items, names.count, sizeof *names.items, by_age);
    return names;
}

static bool file_delete(int folder, const char *where, const char *name)
{
    if (unlinkat(folder, name, 0) == 0 || errno == ENOENT) return true;
    mx_warn("%s/%s is no longer needed, but cannot be deleted: %s", where, name, strerror(errno));
    return false;
}

/* ---- event files ---- */

static bool is_events(const char *name)
{
    if (strncmp(name, EVENTS, strlen(EVENTS)) != 0) return false;
    const char *const end = strstr(name, EVENTS_END);
    if (end == NULL) return false;
    const char *const more = end + strlen(EVENTS_END);
    return *more == '\0' || (*more == '.' && more[1 + strspn(more + 1, "0123456789")] == '\0');
}

uint64_t mx_keep_events(const char *folder, const char *current, uint64_t most_bytes)
{
    uint64_t all = 0, others = 0;
    struct stat status;
    struct names names = names_list(folder, is_events);
    DIR *const place = opendir(folder);
    for (size_t i = 0; place != NULL && i < names.count; i++) {
        if (fstatat(dirfd(place), names.items[i], &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
        all += (uint64_t)status.st_size;
        if (strcmp(names.items[i], current) != 0) others += (uint64_t)status.st_size;
    }
    for (size_t i = 0; place != NULL && i < names.count && all > most_bytes; i++) {
        if (strcmp(names.items[i], current) == 0) continue;
        if (fstatat(dirfd(place), names.items[i], &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (!file_delete(dirfd(place), folder, names.items[i])) continue;
        mx_info("deleted %s/%s, because of training.tensorboard_mb", folder, names.items[i]);
        all -= (uint64_t)status.st_size;
        others -= (uint64_t)status.st_size;
    }
    if (place != NULL) closedir(place);
    names_release(&names);
    return others;
}

/* ---- samples ---- */

static bool is_step(const char *name)
{
    const size_t digits = strspn(name + (strncmp(name, "step-", 5) == 0 ? 5 : 0), "0123456789");
    return strncmp(name, "step-", 5) == 0 && digits >= 8 && name[5 + digits] == '\0';
}

static bool is_sample(const char *name)
{
    const size_t length = strlen(name);
    return length > 4 && (strcmp(name + length - 4, ".wav") == 0 || strcmp(name + length - 4, ".png") == 0);
}

/* Removes what the program writes there; a folder with other files stays, with them. */
static void step_delete(const char *folder)
{
    struct names names = names_list(folder, is_sample);
    DIR *const place = opendir(folder);
    for (size_t i = 0; place != NULL && i < names.count; i++) (void)file_delete(dirfd(place), folder, names.items[i]);
    if (place != NULL) closedir(place);
    names_release(&names);
    if (rmdir(folder) == 0) mx_info("deleted %s, because of training.keep_samples", folder);
}

void mx_keep_samples(const char *folder, int64_t most, int64_t best)
{
    char kept[32];
    struct names names = names_list(folder, is_step);
    snprintf(kept, sizeof kept, "step-%08" PRId64, best);
    for (size_t i = 0; names.count - i > (size_t)most; i++) {
        if (best >= 0 && strcmp(names.items[i], kept) == 0) continue;
        char *const path = mx_format("%s/%s", folder, names.items[i]);
        if (path != NULL) step_delete(path);
        mx_free(path);
    }
    names_release(&names);
}
