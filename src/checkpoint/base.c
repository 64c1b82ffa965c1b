/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The base of an adapter (voice_file.h): the checkpoint or voice file that it was trained on, found by the hash in its
 * file.
 *
 * Memory: an open adapter owns its open base.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "base/string.h"
#include "checkpoint/installed.h"
#include "checkpoint/internal.h"
#include "myxtts/error.h"

#define QUOTED_BYTES 192
#define SUFFIX       ".safetensors"
#define EXPLICIT     "MYXTTS_BASE" /* environment: the base, or a folder that has it */

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

bool mx_checkpoint_adapter_named(const char *name)
{
    return ends_with(name, MX_PARAMETER_ADAPTER_A) || ends_with(name, MX_PARAMETER_ADAPTER_B);
}

/* Does the file have this hash? What cannot be read has not. MX_ERR_NO_MEMORY is the only error. */
static int hash_compare(const char *path, const char *hash, bool *same)
{
    struct mx_safetensors *file = NULL;
    const int rc = mx_safetensors_open(path, &file);
    const char *const own = rc < 0 ? NULL : mx_safetensors_metadata(file, "hash");
    *same = own != NULL && strcmp(own, hash) == 0;
    mx_safetensors_close(file);
    if (rc == MX_ERR_NO_MEMORY) return rc;
    mx_error_clear();
    return 0;
}

/* The file of a folder that has the hash, in *path, which the caller frees; NULL: none has. */
static int folder_search(const char *folder, const char *hash, char **path)
{
    int rc = 0;
    bool same;
    DIR *entries = NULL;
    const struct dirent *entry;
    *path = NULL;
    MX_TRY(mx_file_list_open(folder, &entries));
    for (;;) {
        MX_TRY(mx_file_list_next(entries, folder, &entry));
        if (entry == NULL) break;
        if (!ends_with(entry->d_name, SUFFIX)) continue;
        *path = mx_format("%s/%s", folder, entry->d_name);
        if (*path == NULL) MX_TRY(MX_ERR_NO_MEMORY);
        MX_TRY(hash_compare(*path, hash, &same));
        if (same) break;
        mx_free(*path);
        *path = NULL;
    }
out:
    if (entries != NULL) closedir(entries);
    if (rc < 0) mx_free(*path);
    if (rc < 0) *path = NULL;
    return rc;
}

/* What MYXTTS_BASE names: it must be the base, or have it. */
static int explicit_find(const char *named, const char *hash, char **path)
{
    bool same;
    struct stat status;
    if (stat(named, &status) == 0 && S_ISDIR(status.st_mode)) return folder_search(named, hash, path);
    if (hash_compare(named, hash, &same) < 0) return MX_ERR_NO_MEMORY;
    if (!same)
        return MX_FAIL(MX_ERR_NOT_FOUND, "give " EXPLICIT " the file with that hash: 'myxtts inspect' shows it",
                       EXPLICIT "=%s is not the base of the adapter, which has the hash %s", named, hash);
    *path = mx_strdup(named);
    return *path != NULL ? 0 : MX_ERR_NO_MEMORY;
}

/* The installed file that has the hash. */
static int installed_search(const char *hash, char **path)
{
    struct mx_installed list = {0};
    int rc = mx_installed_list(&list);
    for (size_t i = 0; rc == 0 && *path == NULL && i < list.folder_count; i++)
        if (list.folders[i].there) rc = folder_search(list.folders[i].path, hash, path);
    mx_installed_release(&list);
    return rc;
}

/* Where bases are searched for, in this order: what the user named, the folder of the adapter, the folders of
 * installed voices. *path, which the caller frees, stays NULL if none has it. */
static int base_find(const struct mx_checkpoint *adapter, const char *hash, char **path)
{
    int rc = 0;
    char *folder = NULL;
    const char *const named = getenv(EXPLICIT), *const slash = strrchr(adapter->path, '/');
    *path = NULL;
    if (named != NULL && named[0] != '\0') MX_TRY(explicit_find(named, hash, path));
    if (*path == NULL && !adapter->in_memory) {
        folder = slash == NULL ? mx_strdup(".") : mx_format("%.*s", (int)(slash - adapter->path + 1), adapter->path);
        if (folder == NULL) MX_TRY(MX_ERR_NO_MEMORY);
        MX_TRY(folder_search(folder, hash, path));
    }
    if (*path == NULL) MX_TRY(installed_search(hash, path));
out:
    mx_free(folder);
    return rc;
}

/* The network of a base is that of its adapter. */
static int base_check(const struct mx_checkpoint *adapter, const struct mx_checkpoint *base)
{
    const struct mx_checkpoint_state *const a = &adapter->state, *const b = &base->state;
    const struct mx_model_size *const own = &a->model.size, *const its = &b->model.size;
    char source[QUOTED_BYTES];
    mx_string_quote(source, sizeof source, adapter->path);
    if (!base->has_state || b->vocoder_alone || own->width != its->width || own->hidden != its->hidden ||
        own->encoder_blocks != its->encoder_blocks || own->decoder_blocks != its->decoder_blocks)
        return MX_FAIL(MX_ERR_FORMAT, "export the adapter again", "%s: its base, %s, has another network", source,
                       base->path);
    if (strcmp(a->recipe_hash, b->recipe_hash) != 0)
        return MX_FAIL(MX_ERR_FORMAT, "export the adapter again",
                       "%s was trained on features of the recipe %s, its base, %s, on those of %s", source, a->recipe,
                       base->path, b->recipe);
    if (a->has_vocoder && !b->has_vocoder)
        return MX_FAIL(MX_ERR_FORMAT, "export the adapter again", "%s: its base, %s, lacks the vocoder", source,
                       base->path);
    return 0;
}

int mx_checkpoint_base_open(struct mx_checkpoint *adapter, const struct mx_checkpoint_options *options)
{
    int rc = 0;
    char *path = NULL, source[QUOTED_BYTES], once[QUOTED_BYTES];
    const struct mx_checkpoint_options own = {.finite = options->finite};
    const char *const hash = mx_checkpoint_extra(&adapter->state, MX_CHECKPOINT_BASE_HASH);
    const char *const name = mx_checkpoint_extra(&adapter->state, MX_CHECKPOINT_BASE_NAME);
    mx_string_quote(source, sizeof source, adapter->path);
    if (strlen(hash) != MX_CHECKPOINT_HASH_BYTES - 1 || strspn(hash, "0123456789abcdef") != strlen(hash))
        MX_RAISE(MX_ERR_FORMAT, "export the adapter again", "%s: the hash of its base is none", source);
    MX_TRY(base_find(adapter, hash, &path));
    if (path == NULL) {
        MX_FAIL(MX_ERR_NOT_FOUND, NULL,
                "%s is an adapter, and its base is missing: the file with the hash %s, once named %s", source, hash,
                mx_string_plain(once, sizeof once, name != NULL ? name : "otherwise"));
        MX_TRY(mx_error_hint("put that file into the same folder, under any name that ends in " SUFFIX
                             ", or into one that 'myxtts voices' lists, or name it or its folder in " EXPLICIT));
    }
    MX_TRY(mx_checkpoint_open(path, &own, &adapter->base));
    MX_TRY(base_check(adapter, adapter->base));
out:
    mx_free(path);
    return rc;
}
