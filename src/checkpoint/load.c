/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Opens a checkpoint, which checks all of it. Taking its tensors out: tensors.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/string.h"
#include "checkpoint/installed.h"
#include "checkpoint/internal.h"
#include "features/recipe.h"
#include "myxtts/error.h"

#define QUOTED_BYTES 192
#define LIST_AGAIN   8 /* how often a folder is listed again because the newest is gone: its run deletes old ones */

/* ---- one file ---- */

static int damaged(const char *source, const char *what, const char *hint)
{
    return MX_FAIL(MX_ERR_FORMAT, hint, "%s: %s", source, what);
}

static int hash_check(const struct mx_safetensors *file, const char *source)
{
    uint64_t sum = 0;
    char text[MX_CHECKPOINT_HASH_BYTES];
    const char *const expected = mx_safetensors_metadata(file, "hash");
    if (expected == NULL) return damaged(source, "it has no hash", "the file was changed: take another checkpoint");
    for (size_t i = 0; i < mx_safetensors_count(file); i++) sum += mx_checkpoint_hash(mx_safetensors_at(file, i));
    for (size_t i = 0; i < mx_safetensors_metadata_count(file); i++) {
        const struct mx_metadata *const item = mx_safetensors_metadata_at(file, i);
        if (strcmp(item->key, "hash") != 0) sum += mx_checkpoint_hash_text(item);
    }
    mx_checkpoint_hash_format(sum, text);
    if (strcmp(text, expected) == 0) return 0;
    return damaged(source, "its contents do not match its hash",
                   "the file is damaged, or another program changed it: take another checkpoint");
}

/* Reads the content of an opened file. */
static int contents_read(struct mx_checkpoint *checkpoint, bool foreign)
{
    int rc = 0;
    char source[QUOTED_BYTES], expected[16];
    const char *const format = mx_safetensors_metadata(checkpoint->file, "format");
    const char *const version = mx_safetensors_metadata(checkpoint->file, "version");
    const bool voice = format != NULL && strcmp(format, MX_CHECKPOINT_VOICE_FORMAT) == 0;
    mx_string_quote(source, sizeof source, checkpoint->path);
    const bool adapter = voice && mx_safetensors_metadata(checkpoint->file, "state." MX_CHECKPOINT_BASE_HASH) != NULL;
    snprintf(expected, sizeof expected, "%d",
             adapter ? MX_CHECKPOINT_ADAPTER_VERSION
             : voice ? MX_CHECKPOINT_VOICE_VERSION
                     : MX_CHECKPOINT_VERSION);
    if (format == NULL || (strcmp(format, MX_CHECKPOINT_FORMAT) != 0 && !voice)) {
        if (foreign) return 0;
        return damaged(source, "it is a safetensors file, but no checkpoint and no voice",
                       "name a checkpoint of 'myxtts train' or a voice of 'myxtts export'");
    }
    /* First, so that a damaged text is called damaged and not a new version or a missing one. */
    rc = hash_check(checkpoint->file, source);
    if (rc == 0 && (version == NULL || strcmp(version, expected) != 0))
        return damaged(source, voice ? "it is a voice of another version" : "it is a checkpoint of another version",
                       "use the version of this program that wrote it, or a newer one");
    if (rc == 0) rc = mx_checkpoint_state_read(checkpoint->file, source, voice, &checkpoint->arena, &checkpoint->state);
    checkpoint->has_state = rc == 0;
    if (rc == 0) checkpoint->recipe = mx_recipe_find_hash(checkpoint->state.recipe_hash);
    if (rc == 0 && voice) rc = mx_checkpoint_vectors_check(checkpoint, source);
    if (rc == MX_ERR_FORMAT && voice)
        mx_error_hint("the file is damaged, or another program changed it: get it again, or export the voice again");
    return rc;
}

int mx_checkpoint_tensor_check(const struct mx_checkpoint *checkpoint, const struct mx_tensor *tensor)
{
    char source[QUOTED_BYTES], name[QUOTED_BYTES];
    size_t at;
    if (tensor->dtype != MX_DTYPE_F32 && tensor->dtype != MX_DTYPE_BF16) return 0;
    if (mx_tensor_finite(tensor, &at)) return 0;
    return MX_FAIL(MX_ERR_DATA, "its training has failed: take an older checkpoint",
                   "%s: tensor %s has a number that is not finite, at index %zu",
                   mx_string_quote(source, sizeof source, checkpoint->path),
                   mx_string_quote(name, sizeof name, tensor->name), at);
}

static int tensors_check(const struct mx_checkpoint *checkpoint)
{
    int rc = 0;
    for (size_t i = 0; i < mx_safetensors_count(checkpoint->file) && rc == 0; i++)
        rc = mx_checkpoint_tensor_check(checkpoint, mx_safetensors_at(checkpoint->file, i));
    return rc;
}

/* The file `path`, or these bytes. */
static int contents_open(const char *path, const void *bytes, size_t count, const struct mx_checkpoint_options *options,
                         struct mx_checkpoint **out)
{
    int rc = 0;
    struct mx_checkpoint *checkpoint = mx_alloc(1, sizeof *checkpoint);
    if (checkpoint == NULL) return MX_ERR_NO_MEMORY;
    mx_arena_init(&checkpoint->arena, 0);
    checkpoint->path = mx_strdup(path);
    checkpoint->in_memory = bytes != NULL;
    if (checkpoint->path == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(bytes != NULL ? mx_safetensors_parse(path, bytes, count, &checkpoint->file)
                         : mx_safetensors_open(path, &checkpoint->file));
    MX_TRY(contents_read(checkpoint, options->foreign));
    if (options->finite) MX_TRY(tensors_check(checkpoint));
    if (checkpoint->has_state && checkpoint->state.voice &&
        mx_checkpoint_extra(&checkpoint->state, MX_CHECKPOINT_BASE_HASH) != NULL)
        MX_TRY(mx_checkpoint_base_open(checkpoint, options));
    *out = checkpoint;
    checkpoint = NULL;
out:
    mx_checkpoint_close(checkpoint);
    return rc;
}

static int file_open(const char *path, const struct mx_checkpoint_options *options, struct mx_checkpoint **out)
{
    return contents_open(path, NULL, 0, options, out);
}

int mx_checkpoint_open_memory(const char *source, const void *bytes, size_t count,
                              const struct mx_checkpoint_options *options, struct mx_checkpoint **out)
{
    *out = NULL;
    if (bytes == NULL)
        return MX_FAIL(MX_ERR_ARGUMENT, "pass the bytes of a checkpoint", "%s: there are no bytes", source);
    return contents_open(source, bytes, count, options != NULL ? options : &(struct mx_checkpoint_options){0}, out);
}

void mx_checkpoint_close(struct mx_checkpoint *checkpoint)
{
    if (checkpoint == NULL) return;
    mx_checkpoint_close(checkpoint->base);
    mx_safetensors_close(checkpoint->file);
    mx_arena_release(&checkpoint->arena);
    mx_free(checkpoint->path);
    mx_free(checkpoint);
}

/* ---- the newest of a folder ---- */

/* Of the options only `finite` counts. */
static int step_open(const char *folder, uint64_t step, const struct mx_checkpoint_options *options,
                     struct mx_checkpoint **out)
{
    const struct mx_checkpoint_options own = {.finite = options->finite};
    char *const path = mx_checkpoint_file(folder, step);
    const int rc = path == NULL ? MX_ERR_NO_MEMORY : file_open(path, &own, out);
    mx_free(path);
    return rc;
}

/* The newest cannot be opened and that is the current error. Finds the newest before it that can; with `previous` that
 * is the result, otherwise the error's hint names it. */
static int before_open(const char *folder, const struct mx_checkpoint_steps *steps,
                       const struct mx_checkpoint_options *options, struct mx_checkpoint **out)
{
    char quoted[QUOTED_BYTES];
    const struct mx_error first = *mx_error_last();
    struct mx_checkpoint *before = NULL;
    for (size_t i = steps->count - 1; i > 0 && before == NULL; i--)
        if (step_open(folder, steps->items[i - 1], options, &before) == MX_ERR_NO_MEMORY) return MX_ERR_NO_MEMORY;
    if (before != NULL && options->previous) {
        mx_warn("%s", first.message);
        mx_warn("using the checkpoint before it: %s", mx_string_quote(quoted, sizeof quoted, before->path));
        mx_error_clear();
        *out = before;
        return 0;
    }
    const int rc = mx_error_restore(&first);
    if (before == NULL)
        mx_error_hint("no older checkpoint in the folder is intact either");
    else
        mx_error_hint("the checkpoint before it is intact: %s", mx_string_quote(quoted, sizeof quoted, before->path));
    mx_checkpoint_close(before);
    return rc;
}

static int newest_open(const char *folder, const struct mx_checkpoint_options *options, struct mx_checkpoint **out)
{
    int rc = MX_ERR_NOT_FOUND;
    char quoted[QUOTED_BYTES];
    struct mx_checkpoint_steps steps = {0};
    /* Between listing and opening a running training may have saved one more and deleted this one. */
    for (int attempt = 0; rc == MX_ERR_NOT_FOUND && attempt < LIST_AGAIN; attempt++) {
        mx_checkpoint_steps_release(&steps);
        MX_TRY(mx_checkpoint_steps_list(folder, &steps));
        if (steps.count == 0)
            MX_RAISE(MX_ERR_NOT_FOUND, "name a checkpoint, or a run folder that has checkpoints/step-*.safetensors",
                     "there is no checkpoint in %s", mx_string_quote(quoted, sizeof quoted, folder));
        rc = step_open(folder, steps.items[steps.count - 1], options, out);
    }
    if (rc < 0 && rc != MX_ERR_NO_MEMORY) rc = before_open(folder, &steps, options, out);
out:
    mx_checkpoint_steps_release(&steps);
    return rc;
}

/* A file, or an installed voice if there is no such path. */
static int named_open(const char *name, const struct mx_checkpoint_options *options, struct mx_checkpoint **out)
{
    int rc = 0;
    char *path = NULL;
    if (!options->named || access(name, F_OK) == 0 || !mx_installed_possible(name))
        return file_open(name, options, out);
    MX_TRY(mx_installed_path(name, &path));
    MX_TRY(file_open(path, options, out));
out:
    mx_free(path);
    return rc;
}

/* Of a finished run, the best checkpoint speaks instead of the newest. A best one that is gone or damaged is a warning: the
 * newest can speak, too. */
static int best_open(const char *folder, const struct mx_checkpoint_options *options, struct mx_checkpoint **out)
{
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(*out);
    const char *const speaks = state != NULL ? mx_checkpoint_extra(state, MX_CHECKPOINT_SPEAKS) : NULL;
    struct mx_checkpoint *best = NULL;
    if (speaks == NULL || strcmp(speaks, MX_CHECKPOINT_SPEAKS_BEST) != 0) return 0;
    char *const path = mx_format("%s/" MX_CHECKPOINT_BEST, folder);
    if (path == NULL) return MX_ERR_NO_MEMORY;
    const int rc = file_open(path, options, &best);
    if (rc == 0) {
        mx_checkpoint_close(*out);
        *out = best;
    } else if (rc != MX_ERR_NO_MEMORY) {
        mx_warn("%s; the newest checkpoint speaks instead", mx_error_last()->message);
        mx_error_clear();
    }
    mx_free(path);
    return rc == MX_ERR_NO_MEMORY ? rc : 0;
}

int mx_checkpoint_open(const char *path, const struct mx_checkpoint_options *options, struct mx_checkpoint **out)
{
    int rc = 0;
    struct stat status;
    char *inner = NULL;
    const struct mx_checkpoint_options chosen = options != NULL ? *options : (struct mx_checkpoint_options){0};
    *out = NULL;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) return named_open(path, &chosen, out);
    inner = mx_format("%s/" MX_CHECKPOINT_FOLDER, path);
    if (inner == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    const bool is_run = stat(inner, &status) == 0 && S_ISDIR(status.st_mode);
    MX_TRY(newest_open(is_run ? inner : path, &chosen, out));
    if (chosen.speaks) MX_TRY(best_open(is_run ? inner : path, &chosen, out));
out:
    if (rc < 0) {
        mx_checkpoint_close(*out);
        *out = NULL;
    }
    mx_free(inner);
    return rc;
}

/* ---- handing out ---- */

const char *mx_checkpoint_path(const struct mx_checkpoint *checkpoint)
{
    return checkpoint->path;
}

const char *mx_checkpoint_file_hash(const struct mx_checkpoint *checkpoint)
{
    return mx_safetensors_metadata(checkpoint->file, "hash");
}

const struct mx_checkpoint *mx_checkpoint_base(const struct mx_checkpoint *checkpoint)
{
    return checkpoint->base;
}

const struct mx_checkpoint_state *mx_checkpoint_state(const struct mx_checkpoint *checkpoint)
{
    return checkpoint->has_state ? &checkpoint->state : NULL;
}

const struct mx_safetensors *mx_checkpoint_tensors(const struct mx_checkpoint *checkpoint)
{
    return checkpoint->file;
}

const struct mx_recipe *mx_checkpoint_recipe(const struct mx_checkpoint *checkpoint)
{
    return checkpoint->recipe;
}

int mx_checkpoint_recipe_check(const struct mx_checkpoint *checkpoint)
{
    if (mx_checkpoint_recipe(checkpoint) != NULL) return 0;
    return MX_FAIL(MX_ERR_DATA, "use the version of the program that made it",
                   "%s was trained on features of a recipe that this version does not know (%s)", checkpoint->path,
                   checkpoint->state.recipe);
}

int mx_checkpoint_vocoder_check(const struct mx_checkpoint *checkpoint)
{
    if (!checkpoint->has_state || !checkpoint->state.has_vocoder)
        return MX_FAIL(MX_ERR_DATA,
                       "name a checkpoint or a run folder of 'myxtts train' with '--part both' or "
                       "'--part vocoder'",
                       "%s has no vocoder", checkpoint->path);
    return mx_checkpoint_recipe_check(checkpoint);
}

bool mx_checkpoint_has(const struct mx_checkpoint *checkpoint, enum mx_checkpoint_part part,
                       enum mx_checkpoint_group group)
{
    const char *name;
    for (size_t i = 0; i < mx_safetensors_count(checkpoint->file); i++)
        if (mx_checkpoint_group_of(mx_safetensors_at(checkpoint->file, i)->name, &name) == group &&
            mx_checkpoint_part_of(name) == part)
            return true;
    return checkpoint->base != NULL && mx_checkpoint_has(checkpoint->base, part, group);
}
