/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A folder of sounds: all files in it and in its subfolders whose names end like those of recordings, in the byte order
 * of their paths. See manifest.h.
 *
 * Memory: paths lie in the manifest's arena; the list of them lives only while the folder is read.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/string.h"
#include "corpus/manifest/manifest_internal.h"
#include "myxtts/error.h"

#define PATH_BYTES   4096
#define QUOTED_BYTES 300
#define DEPTH_MAX    64

struct search {
    struct mx_arena *arena;
    const struct mx_manifest_state *state;
    const char *root;
    const char **paths; /* below the root */
    size_t count, capacity;
    /* The folders from the root down to the current one: a link back to one of them is not followed. */
    struct {
        dev_t device;
        ino_t number;
    } above[DEPTH_MAX];
    int depth;
};

static int path_keep(struct search *search, const char *path)
{
    char quoted[QUOTED_BYTES];
    if (search->count == MX_MANIFEST_ROWS_MAX)
        return MX_FAIL(MX_ERR_DATA, "check that it is the right folder", "the folder %s has more than %u sound files",
                       mx_string_quote(quoted, sizeof quoted, search->root), MX_MANIFEST_ROWS_MAX);
    if (MX_GROW(search->paths, search->capacity, search->count + 1) < 0) return MX_ERR_NO_MEMORY;
    search->paths[search->count] = mx_arena_strdup(search->arena, path);
    return search->paths[search->count++] == NULL ? MX_ERR_NO_MEMORY : 0;
}

static int folder_enter(struct search *search, const struct stat *status, bool *known)
{
    char quoted[QUOTED_BYTES];
    *known = false;
    for (int i = 0; i < search->depth; i++)
        *known = *known || (search->above[i].device == status->st_dev && search->above[i].number == status->st_ino);
    if (*known) return 0;
    if (search->depth == DEPTH_MAX)
        return MX_FAIL(MX_ERR_DATA, "name a folder further down", "the folder %s has more than %d levels of subfolders",
                       mx_string_quote(quoted, sizeof quoted, search->root), DEPTH_MAX);
    search->above[search->depth].device = status->st_dev;
    search->above[search->depth++].number = status->st_ino;
    return 0;
}

/* The folder `below` the root, "" for the root itself. Each call goes one level down, DEPTH_MAX at most. */
static int folder_read(struct search *search, const char *below)
{
    int rc = 0;
    char path[PATH_BYTES], quoted[QUOTED_BYTES];
    const size_t root = strlen(search->root) + 1;
    DIR *folder = NULL;
    const struct dirent *entry;
    snprintf(path, sizeof path, "%s/%s", search->root, below);
    MX_TRY(mx_file_list_open(path, &folder));
    for (;;) {
        struct stat status = {0};
        bool known;
        MX_TRY(mx_file_list_next(folder, search->root, &entry));
        if (entry == NULL) break;
        MX_TRY(mx_manifest_stopped(search->state, search->root));
        const size_t length = strlen(entry->d_name);
        const bool sound = mx_manifest_stem(entry->d_name, length) < length;
        if (entry->d_name[0] == '.') continue;
        const int size =
            snprintf(path, sizeof path, "%s/%s%s%s", search->root, below, below[0] != '\0' ? "/" : "", entry->d_name);
        if (size < 0 || (size_t)size >= sizeof path)
            MX_RAISE(MX_ERR_DATA, "name a folder further down", "a path below %s is longer than %d bytes",
                     mx_string_quote(quoted, sizeof quoted, search->root), PATH_BYTES);
        const bool there = stat(path, &status) == 0; /* a sound that is not there is rejected when it is read */
        if (there ? S_ISREG(status.st_mode) && sound : sound) MX_TRY(path_keep(search, path + root));
        if (!there || !S_ISDIR(status.st_mode)) continue;
        MX_TRY(folder_enter(search, &status, &known));
        if (known) continue;
        MX_TRY(folder_read(search, path + root));
        search->depth--;
    }
out:
    if (folder != NULL) closedir(folder);
    return rc;
}

static int path_compare(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* One file becomes a row, or a problem if its name cannot be written down. */
static int sound_add(struct mx_manifest *manifest, struct mx_manifest_state *state, struct mx_utterance *row,
                     const char *path)
{
    struct stat status;
    const struct mx_manifest_source *const from = &manifest->sources[row->source];
    const size_t length = strlen(path), root = strlen(from->root);
    const struct mx_manifest_problem nameless = {row->source, row->line, MX_REJECT_INVALID_UTF8, "",
                                                 "the name of the file is not UTF-8"};
    if (mx_utf8_check(path, length) != length) return mx_manifest_problem_add(manifest, state, &nameless);
    char *const whole = mx_arena_alloc(&manifest->arena, root + length + 2, 1);
    if (whole == NULL) return MX_ERR_NO_MEMORY;
    snprintf(whole, root + length + 2, "%s/%s", from->root, path);
    row->id = path;
    row->decision = mx_manifest_decide(manifest, state, row->source, path, &row->text);
    if (row->decision == MX_DECISION_DROP) return mx_manifest_drop(manifest, state, row);
    row->audio = whole;
    if (stat(whole, &status) == 0) { /* otherwise the reader reports it */
        row->audio_bytes = (uint64_t)status.st_size;
        row->audio_mtime_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    }
    return mx_manifest_utterance_add(manifest, state, row);
}

int mx_manifest_sounds(struct mx_manifest *manifest, struct mx_manifest_state *state, uint32_t source, bool validation)
{
    int rc = 0;
    char quoted[QUOTED_BYTES];
    struct stat status;
    bool known;
    struct mx_manifest_source *const from = &manifest->sources[source];
    struct search search = {.arena = &manifest->arena, .state = state, .root = from->root};
    if (stat(from->root, &status) == 0) MX_TRY(folder_enter(&search, &status, &known));
    MX_TRY(folder_read(&search, ""));
    if (search.count == 0)
        MX_RAISE(MX_ERR_NOT_FOUND, "put wav, flac, ogg, opus or mp3 files there or in its subfolders",
                 "there is no sound file in the folder %s", mx_string_quote(quoted, sizeof quoted, from->root));
    qsort(search.paths, search.count, sizeof search.paths[0], path_compare);
    for (size_t i = 0; i < search.count; i++) {
        struct mx_utterance row = {.text = "",
                                   .speaker_name = MX_MANIFEST_SPEAKER,
                                   .source = source,
                                   .line = (uint32_t)i + 1,
                                   .validation = validation};
        MX_TRY(mx_manifest_stopped(state, from->root));
        MX_TRY(sound_add(manifest, state, &row, search.paths[i]));
    }
    from->rows = (uint32_t)search.count;
    manifest->rows += from->rows;
out:
    mx_free((void *)search.paths);
    return rc;
}
