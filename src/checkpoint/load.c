/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Opens a checkpoint, which checks all of it, and loads its tensors.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/string.h"
#include "checkpoint/internal.h"
#include "features/recipe.h"
#include "myxtts/error.h"

#define QUOTED_BYTES 192
#define SHAPE_BYTES  96
#define LIST_AGAIN   8 /* how often a folder is listed anew because the newest is gone: its run deletes old ones */

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

/* Reads what is in an opened file. */
static int contents_read(struct mx_checkpoint *checkpoint, bool foreign)
{
    int rc = 0;
    char source[QUOTED_BYTES], expected[16];
    const char *const format = mx_safetensors_metadata(checkpoint->file, "format");
    const char *const version = mx_safetensors_metadata(checkpoint->file, "version");
    const bool voice = format != NULL && strcmp(format, MX_CHECKPOINT_VOICE_FORMAT) == 0;
    mx_string_quote(source, sizeof source, checkpoint->path);
    snprintf(expected, sizeof expected, "%d", voice ? MX_CHECKPOINT_VOICE_VERSION : MX_CHECKPOINT_VERSION);
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
    if (rc == 0 && voice) rc = mx_checkpoint_vectors_check(checkpoint, source);
    if (rc == MX_ERR_FORMAT && voice)
        mx_error_hint("the file is damaged, or another program changed it: get it again, or export the voice again");
    return rc;
}

/* No infinities, no nan. Other types than F32 and BF16 are never loaded. */
static int tensor_check(const struct mx_checkpoint *checkpoint, const struct mx_tensor *tensor)
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
        rc = tensor_check(checkpoint, mx_safetensors_at(checkpoint->file, i));
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

int mx_checkpoint_open(const char *path, const struct mx_checkpoint_options *options, struct mx_checkpoint **out)
{
    int rc = 0;
    struct stat status;
    char *inner = NULL;
    const struct mx_checkpoint_options chosen = options != NULL ? *options : (struct mx_checkpoint_options){0};
    *out = NULL;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) return file_open(path, &chosen, out);
    inner = mx_format("%s/" MX_CHECKPOINT_FOLDER, path);
    if (inner == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    const bool is_run = stat(inner, &status) == 0 && S_ISDIR(status.st_mode);
    MX_TRY(newest_open(is_run ? inner : path, &chosen, out));
out:
    mx_free(inner);
    return rc;
}

/* ---- handing out ---- */

const char *mx_checkpoint_path(const struct mx_checkpoint *checkpoint)
{
    return checkpoint->path;
}

const struct mx_checkpoint_state *mx_checkpoint_state(const struct mx_checkpoint *checkpoint)
{
    return checkpoint->has_state ? &checkpoint->state : NULL;
}

const struct mx_safetensors *mx_checkpoint_tensors(const struct mx_checkpoint *checkpoint)
{
    return checkpoint->file;
}

int mx_checkpoint_recipe_check(const struct mx_checkpoint *checkpoint)
{
    if (mx_recipe_is_default(checkpoint->state.recipe_hash)) return 0;
    return MX_FAIL(MX_ERR_DATA, "use the version of the program that made it",
                   "%s was trained on features of another recipe (%s)", checkpoint->path, checkpoint->state.recipe);
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
    return false;
}

/* ---- taking tensors out ---- */

static char *shape_format(char out[SHAPE_BYTES], int rank, const uint64_t *shape)
{
    size_t used = (size_t)snprintf(out, SHAPE_BYTES, "[");
    for (int i = 0; i < rank && used < SHAPE_BYTES; i++)
        used += (size_t)snprintf(out + used, SHAPE_BYTES - used, "%s%" PRIu64, i > 0 ? ", " : "", shape[i]);
    if (used < SHAPE_BYTES) snprintf(out + used, SHAPE_BYTES - used, "]");
    return out;
}

/* The tensor of the file for a parameter; NULL if there is none. Parameter names are short, so prefixes fit. */
static const struct mx_tensor *tensor_find(const struct mx_safetensors *file, int group,
                                           const struct mx_parameter *parameter)
{
    char name[MX_PARAMETER_NAME_BYTES + 16];
    snprintf(name, sizeof name, "%s%s", mx_checkpoint_group_prefix((enum mx_checkpoint_group)group), parameter->name);
    return mx_safetensors_find(file, name);
}

static bool tensor_fits(const struct mx_tensor *tensor, const struct mx_parameter *parameter)
{
    bool fits = (tensor->dtype == MX_DTYPE_F32 || tensor->dtype == MX_DTYPE_BF16) && tensor->rank == parameter->rank;
    for (int i = 0; fits && i < tensor->rank; i++) fits = tensor->shape[i] == (uint64_t)parameter->shape[i];
    return fits;
}

/* The network that a table belongs to. */
static enum mx_checkpoint_part table_part(const struct mx_parameters *table)
{
    return mx_checkpoint_part_of(table->entries[0].name);
}

/* Compares one wanted group with the table; counts and logs. `deaf`: without what is for listening. */
static void group_compare(const struct mx_checkpoint *checkpoint, const struct mx_parameters *table, int group,
                          bool deaf, struct mx_checkpoint_report *report)
{
    const char *const prefix = mx_checkpoint_group_prefix((enum mx_checkpoint_group)group);
    char have[SHAPE_BYTES], want[SHAPE_BYTES];
    if (!mx_checkpoint_has(checkpoint, table_part(table), (enum mx_checkpoint_group)group)) {
        report->missing += (size_t)table->count;
        mx_warn("missing from the file: all tensors %s* (%d)", prefix, table->count);
        return;
    }
    for (int i = 0; i < table->count; i++) {
        const struct mx_parameter *const parameter = &table->entries[i];
        const struct mx_tensor *const tensor = tensor_find(checkpoint->file, group, parameter);
        uint64_t shape[3] = {0};
        for (int k = 0; k < parameter->rank; k++) shape[k] = (uint64_t)parameter->shape[k];
        shape_format(want, parameter->rank, shape);
        if (tensor == NULL && deaf && mx_checkpoint_listening(parameter->name)) continue;
        if (tensor == NULL) {
            report->missing++;
            mx_warn("missing from the file: %s%s %s", prefix, parameter->name, want);
        } else if (!tensor_fits(tensor, parameter)) {
            report->misfits++;
            mx_warn("of another shape: %s is %s %s in the file, F32 %s in the model", tensor->name,
                    mx_dtype_name(tensor->dtype), shape_format(have, tensor->rank, tensor->shape), want);
        }
    }
}

static void extras_compare(const struct mx_checkpoint *checkpoint, const struct mx_parameters *table,
                           struct mx_checkpoint_report *report)
{
    const char *name;
    char quoted[QUOTED_BYTES], have[SHAPE_BYTES];
    for (size_t i = 0; i < mx_safetensors_count(checkpoint->file); i++) {
        const struct mx_tensor *const tensor = mx_safetensors_at(checkpoint->file, i);
        mx_checkpoint_group_of(tensor->name, &name);
        if (mx_checkpoint_part_of(name) != table_part(table) || mx_parameters_find(table, name) != NULL) continue;
        report->extra++;
        mx_warn("not in the model: %s %s", mx_string_quote(quoted, sizeof quoted, tensor->name),
                shape_format(have, tensor->rank, tensor->shape));
    }
}

/* The error that both ways of loading end in when they do not. */
static int misfit(const struct mx_checkpoint *checkpoint, const struct mx_checkpoint_report *report, bool partial)
{
    char quoted[QUOTED_BYTES];
    return MX_FAIL(MX_ERR_DATA,
                   partial ? "it belongs to a different kind of model"
                           : "the differences are listed above; choose the size and vocabulary of the checkpoint, or "
                             "load what fits (--partial)",
                   "%s does not fit the model: %zu tensors missing, %zu of another shape, %zu not in the model",
                   mx_string_quote(quoted, sizeof quoted, checkpoint->path), report->missing, report->misfits,
                   report->extra);
}

/* Of the tensors that would be taken. */
static int wanted_check(const struct mx_checkpoint *checkpoint, const struct mx_parameters *table,
                        const struct mx_checkpoint_target *target)
{
    int rc = 0;
    for (int group = 0; group < MX_CHECKPOINT_GROUPS; group++)
        for (int i = 0; target->groups[group] != NULL && i < table->count && rc == 0; i++) {
            const struct mx_tensor *const tensor = tensor_find(checkpoint->file, group, &table->entries[i]);
            if (tensor != NULL && tensor_fits(tensor, &table->entries[i])) rc = tensor_check(checkpoint, tensor);
        }
    return rc;
}

static int tensors_load(const struct mx_checkpoint *checkpoint, const struct mx_parameters *table,
                        const struct mx_checkpoint_target *target, bool partial, bool deaf,
                        struct mx_checkpoint_report *report)
{
    struct mx_checkpoint_report own = {0};
    for (int group = 0; group < MX_CHECKPOINT_GROUPS; group++)
        if (target->groups[group] != NULL) group_compare(checkpoint, table, group, deaf, &own);
    extras_compare(checkpoint, table, &own);
    const bool whole = own.missing == 0 && own.misfits == 0 && own.extra == 0;
    const int rc = whole || partial ? wanted_check(checkpoint, table, target) : 0;
    if (rc < 0) return rc;
    for (int group = 0; group < MX_CHECKPOINT_GROUPS && (whole || partial); group++) {
        float *const to = target->groups[group];
        if (to == NULL) continue;
        if (whole) memset(to, 0, (size_t)table->floats * sizeof *to); /* also what lies between the parameters */
        for (int i = 0; i < table->count; i++) {
            const struct mx_tensor *const tensor = tensor_find(checkpoint->file, group, &table->entries[i]);
            if (tensor == NULL || !tensor_fits(tensor, &table->entries[i])) continue;
            mx_tensor_floats(tensor, to + table->entries[i].at);
            own.loaded++;
        }
    }
    if (report != NULL) *report = own;
    return own.loaded > 0 ? 0 : misfit(checkpoint, &own, partial);
}

int mx_checkpoint_load(const struct mx_checkpoint *checkpoint, const struct mx_parameters *table,
                       const struct mx_checkpoint_target *target, bool partial, struct mx_checkpoint_report *report)
{
    return tensors_load(checkpoint, table, target, partial, false, report);
}

int mx_checkpoint_load_average(const struct mx_checkpoint *checkpoint, const struct mx_parameters *table, float *flat)
{
    struct mx_checkpoint_target target = {{NULL}};
    const bool averaged = mx_checkpoint_has(checkpoint, table_part(table), MX_CHECKPOINT_AVERAGE);
    target.groups[averaged ? MX_CHECKPOINT_AVERAGE : MX_CHECKPOINT_WEIGHTS] = flat;
    return tensors_load(checkpoint, table, &target, false, !mx_checkpoint_listens(checkpoint), NULL);
}
