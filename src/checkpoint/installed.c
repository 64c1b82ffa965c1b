/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The list of installed voices, see installed.h: the folders, and how their files describe themselves.
 */
#include "checkpoint/installed.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/string.h"
#include "checkpoint/internal.h"
#include "checkpoint/voice_file.h"
#include "myxtts/error.h"

#define WHERE      "myxtts/voices"
#define SYSTEM     "/usr/share/" WHERE
#define TREE_DEPTH 3 /* BUILD/package is two folders below the source tree */
#define PATH_BYTES 4096

/* ---- folders ---- */

/* Adds a folder once. `path` NULL: no memory. */
static int folder_add(struct mx_installed *list, char *path)
{
    struct stat status;
    if (path == NULL) return MX_ERR_NO_MEMORY;
    const size_t length = strlen(path);
    if (length > 1 && path[length - 1] == '/') path[length - 1] = '\0';
    for (size_t i = 0; i < list->folder_count; i++)
        if (strcmp(list->folders[i].path, path) == 0) {
            mx_free(path);
            return 0;
        }
    const char *const kept = mx_arena_strdup(list->arena, path);
    mx_free(path);
    if (kept == NULL) return MX_ERR_NO_MEMORY;
    if (list->folder_count == MX_INSTALLED_FOLDERS)
        return MX_FAIL(MX_ERR_USAGE, "name fewer folders in MYXTTS_VOICES",
                       "voices would be searched in more than %d folders", MX_INSTALLED_FOLDERS);
    list->folders[list->folder_count++] =
        (struct mx_installed_folder){kept, stat(kept, &status) == 0 && S_ISDIR(status.st_mode)};
    return 0;
}

/* Those of $MYXTTS_VOICES. */
static int folders_named(struct mx_installed *list, const char *names)
{
    int rc = 0;
    while (names != NULL && *names != '\0' && rc == 0) {
        const size_t length = strcspn(names, ":");
        if (length > 0) rc = folder_add(list, mx_strndup(names, length));
        names += length + (names[length] == ':');
    }
    return rc;
}

static bool exists(const char *folder, const char *name)
{
    char *const path = mx_format("%s/%s", folder, name);
    const bool there = path != NULL && access(path, F_OK) == 0;
    mx_free(path);
    return there;
}

/* Cuts the last part off; false if none is left. */
static bool path_up(char *path)
{
    char *const slash = strrchr(path, '/');
    if (slash == NULL || slash == path) return false;
    *slash = '\0';
    return true;
}

/* voices/ of the source tree, for a program that stands in a build folder of CMake inside it. */
static int folder_of_tree(struct mx_installed *list, const char *bin)
{
    char up[PATH_BYTES];
    if (!exists(bin, "CMakeCache.txt")) return 0;
    snprintf(up, sizeof up, "%s", bin);
    for (int i = 0; i < TREE_DEPTH && path_up(up); i++)
        if (exists(up, "CMakeLists.txt")) return folder_add(list, mx_format("%s/voices", up));
    return 0;
}

static int folder_of_user(struct mx_installed *list)
{
    const char *const data = getenv("XDG_DATA_HOME"), *const home = getenv("HOME");
    if (data != NULL && data[0] == '/') return folder_add(list, mx_format("%s/" WHERE, data));
    if (home != NULL && home[0] == '/') return folder_add(list, mx_format("%s/.local/share/" WHERE, home));
    return 0;
}

/* PREFIX of the file that this code is in, if that is PREFIX/lib/… or PREFIX/lib/TRIPLET/… (lib64, too): a library that
 * another program has opened. */
static int folder_of_library(struct mx_installed *list)
{
    Dl_info info;
    char path[PATH_BYTES];
    if (dladdr(__extension__(const void *) folder_of_library, &info) == 0 || info.dli_fname == NULL ||
        realpath(info.dli_fname, path) == NULL)
        return 0;
    for (int depth = 0; depth < 2 && path_up(path); depth++) {
        const char *const last = strrchr(path, '/');
        if (last != NULL && strncmp(last, "/lib", 4) == 0)
            return folder_add(list, mx_format("%.*s/share/" WHERE, (int)(last - path), path));
    }
    return 0;
}

static int folders_find(struct mx_installed *list)
{
    int rc = 0;
    char bin[PATH_BYTES] = "";
    const ssize_t length = readlink("/proc/self/exe", bin, sizeof bin - 1);
    bin[length > 0 ? length : 0] = '\0';
    const bool known = path_up(bin); /* the folder of the program */
    MX_TRY(folders_named(list, getenv("MYXTTS_VOICES")));
    if (known) MX_TRY(folder_of_tree(list, bin));
    MX_TRY(folder_of_user(list));
    const char *const last = strrchr(bin, '/');
    if (known && last != NULL && strcmp(last, "/bin") == 0)
        MX_TRY(folder_add(list, mx_format("%.*s/share/" WHERE, (int)(last - bin), bin)));
    MX_TRY(folder_of_library(list));
    MX_TRY(folder_add(list, mx_strdup(SYSTEM)));
out:
    return rc;
}

/* ---- files ---- */

/* The length of the name before the ending; 0: it is no such file. */
static size_t name_length(const char *file)
{
    static const char *const endings[] = {MX_CHECKPOINT_VOICE_SUFFIX, MX_CHECKPOINT_SUFFIX};
    const size_t length = strlen(file);
    if (file[0] == '.') return 0;
    for (size_t i = 0; i < 2; i++) {
        const size_t end = strlen(endings[i]);
        if (length > end && strcmp(file + length - end, endings[i]) == 0) return length - end;
    }
    return 0;
}

static int file_chosen(const struct dirent *entry)
{
    return name_length(entry->d_name) > 0;
}

/* The description in a file. An error is the reason why it cannot be used. */
static int file_read(struct mx_installed *list, const char *path, struct mx_safetensors **file,
                     struct mx_checkpoint_state **out)
{
    int rc = 0;
    char quoted[192], version[16];
    struct mx_checkpoint_state *const state = mx_arena_alloc(list->arena, 1, sizeof *state);
    if (state == NULL) return MX_ERR_NO_MEMORY;
    mx_string_quote(quoted, sizeof quoted, path);
    MX_TRY(mx_safetensors_open(path, file));
    const char *const format = mx_safetensors_metadata(*file, "format");
    const char *const written = mx_safetensors_metadata(*file, "version");
    if (format == NULL || strcmp(format, MX_CHECKPOINT_VOICE_FORMAT) != 0)
        MX_RAISE(MX_ERR_FORMAT, "'myxtts export' writes voice files", "%s is no voice file", quoted);
    const bool adapter = mx_safetensors_metadata(*file, "state." MX_CHECKPOINT_BASE_HASH) != NULL;
    snprintf(version, sizeof version, "%d", adapter ? MX_CHECKPOINT_ADAPTER_VERSION : MX_CHECKPOINT_VOICE_VERSION);
    if (written == NULL || strcmp(written, version) != 0)
        MX_RAISE(MX_ERR_FORMAT, "use the version of this program that wrote it, or a newer one",
                 "%s is a voice of another version", quoted);
    MX_TRY(mx_checkpoint_state_read(*file, quoted, true, list->arena, state));
    *out = state;
out:
    return rc;
}

static bool name_taken(const struct mx_installed *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->voices[i].name, name) == 0) return true;
    return false;
}

static int file_add(struct mx_installed *list, const char *folder, const char *file)
{
    int rc = 0;
    struct stat status;
    struct mx_checkpoint_state *state = NULL;
    char *const path = mx_format("%s/%s", folder, file);
    if (path == NULL) return MX_ERR_NO_MEMORY;
    struct mx_installed_voice *const voices = mx_realloc(list->voices, list->count + 1, sizeof *voices);
    if (voices != NULL) list->voices = voices;
    struct mx_safetensors **const files = mx_realloc(list->files, list->count + 1, sizeof *files);
    if (files != NULL) list->files = files;
    if (voices == NULL || files == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    struct mx_installed_voice voice = {.name = mx_arena_strndup(list->arena, file, name_length(file)),
                                       .path = mx_arena_strdup(list->arena, path),
                                       .folder = folder,
                                       .bytes = stat(path, &status) == 0 ? (uint64_t)status.st_size : 0};
    if (voice.name == NULL || voice.path == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    voice.hidden = name_taken(list, voice.name);
    files[list->count] = NULL;
    rc = file_read(list, path, &files[list->count], &state);
    voice.state = state;
    if (rc < 0 && rc != MX_ERR_NO_MEMORY) {
        voice.fault = mx_arena_strdup(list->arena, mx_error_last()->message);
        mx_error_clear();
        rc = voice.fault == NULL ? MX_ERR_NO_MEMORY : 0;
    }
    voices[list->count++] = voice;
out:
    mx_free(path);
    return rc;
}

static bool is_voice(const char *file)
{
    return strlen(file) - name_length(file) > strlen(MX_CHECKPOINT_SUFFIX);
}

/* Voices first, so that a vocoder of the same name does not hide one; then by name. */
static int file_compare(const struct dirent **a, const struct dirent **b)
{
    const int kind = (int)is_voice((*b)->d_name) - (int)is_voice((*a)->d_name);
    return kind != 0 ? kind : strcmp((*a)->d_name, (*b)->d_name);
}

static int folder_read(struct mx_installed *list, const char *folder)
{
    int rc = 0;
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, file_chosen, file_compare);
    if (count < 0 && errno == ENOMEM) return mx_alloc_failed("the list of installed voices");
    if (count < 0) mx_warn("the voices in %s are not known: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (rc == 0) rc = file_add(list, folder, entries[i]->d_name);
        free(entries[i]); /* scandir's */
    }
    free(entries);
    return rc;
}

int mx_installed_list(struct mx_installed *list)
{
    int rc = 0;
    *list = (struct mx_installed){.arena = mx_alloc(1, sizeof *list->arena)};
    if (list->arena == NULL) return MX_ERR_NO_MEMORY;
    mx_arena_init(list->arena, 0);
    MX_TRY(folders_find(list));
    for (size_t i = 0; i < list->folder_count; i++)
        if (list->folders[i].there) MX_TRY(folder_read(list, list->folders[i].path));
out:
    if (rc < 0) mx_installed_release(list);
    return rc;
}

void mx_installed_release(struct mx_installed *list)
{
    for (size_t i = 0; i < list->count; i++) mx_safetensors_close(list->files[i]);
    mx_free(list->files);
    mx_free(list->voices);
    if (list->arena != NULL) mx_arena_release(list->arena);
    mx_free(list->arena);
    *list = (struct mx_installed){0};
}
