/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Saves a checkpoint.
 *
 * The tensors are written directly from the caller's arrays; only the header is built here.
 *
 * Lock: flock on the folder, from before the file is written until after the old ones are deleted. Only its holder
 * writes our names there, so temporary files that it finds are leftovers. A killed process loses the lock. If the
 * file system has no such lock, saving continues without it, and leftovers stay.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/string.h"
#include "checkpoint/internal.h"
#include "myxtts/error.h"

#define QUOTED_BYTES   192
#define VOCODER_PREFIX "vocoder." /* of the names of its parameters */

const char *mx_checkpoint_group_prefix(enum mx_checkpoint_group group)
{
    if (group >= MX_CHECKPOINT_STATES) return mx_optimizer_state_prefixes[group - MX_CHECKPOINT_STATES];
    return group == MX_CHECKPOINT_AVERAGE ? "ema." : "";
}

enum mx_checkpoint_group mx_checkpoint_group_of(const char *tensor, const char **name)
{
    for (enum mx_checkpoint_group group = MX_CHECKPOINT_AVERAGE; group < MX_CHECKPOINT_GROUPS; group++) {
        const char *const prefix = mx_checkpoint_group_prefix(group);
        if (strncmp(tensor, prefix, strlen(prefix)) == 0) {
            *name = tensor + strlen(prefix);
            return group;
        }
    }
    *name = tensor;
    return MX_CHECKPOINT_WEIGHTS;
}

enum mx_checkpoint_part mx_checkpoint_part_of(const char *name)
{
    if (strncmp(name, VOCODER_PREFIX, strlen(VOCODER_PREFIX)) == 0) return MX_CHECKPOINT_VOCODER;
    const char *const vectors = MX_CHECKPOINT_VECTOR_PREFIX;
    return strncmp(name, vectors, strlen(vectors)) == 0 ? MX_CHECKPOINT_VECTORS : MX_CHECKPOINT_ACOUSTIC;
}

/* ---- what is written ---- */

struct writing {
    struct mx_arena arena;
    struct mx_tensor *tensors;
    size_t tensor_count;
    struct mx_metadata *metadata;
    size_t metadata_count;
};

static int tensors_add(struct writing *w, const struct mx_checkpoint_source *source, int group)
{
    const char *const prefix = mx_checkpoint_group_prefix((enum mx_checkpoint_group)group);
    for (int i = 0; i < source->table->count; i++) {
        const struct mx_parameter *const parameter = &source->table->entries[i];
        if (parameter->frozen && group != MX_CHECKPOINT_WEIGHTS) continue; /* its average is the weight itself */
        const size_t room = strlen(prefix) + strlen(parameter->name) + 1;
        char *const name = mx_arena_alloc(&w->arena, room, 1);
        if (name == NULL) return MX_ERR_NO_MEMORY;
        snprintf(name, room, "%s%s", prefix, parameter->name);
        struct mx_tensor *const tensor = &w->tensors[w->tensor_count++];
        *tensor = (struct mx_tensor){.name = name, .dtype = MX_DTYPE_F32, .rank = parameter->rank};
        for (int k = 0; k < parameter->rank; k++) tensor->shape[k] = (uint64_t)parameter->shape[k];
        tensor->data = source->groups[group] + parameter->at;
    }
    return 0;
}

static int tensors_collect(struct writing *w, const struct mx_checkpoint_source *sources, size_t count)
{
    int rc = 0;
    size_t most = 0;
    for (size_t i = 0; i < count; i++) most += (size_t)sources[i].table->count * MX_CHECKPOINT_GROUPS;
    w->tensors = mx_arena_alloc(&w->arena, most, sizeof *w->tensors);
    if (w->tensors == NULL) return MX_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        for (int group = 0; group < MX_CHECKPOINT_GROUPS && rc == 0; group++)
            if (sources[i].groups[group] != NULL) rc = tensors_add(w, &sources[i], group);
    return rc;
}

static int file_write(const struct writing *w, const char *path)
{
    return mx_safetensors_write(path, w->tensors, w->tensor_count, w->metadata, w->metadata_count);
}

/* ---- the folder ---- */

/* *fd: the folder, whose lock goes with it. *locked: whether there is one. */
static int folder_lock(const char *folder, int *fd, bool *locked)
{
    char quoted[QUOTED_BYTES];
    mx_string_quote(quoted, sizeof quoted, folder);
    *fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0)
        return MX_FAIL(errno == ENOENT ? MX_ERR_NOT_FOUND : MX_ERR_IO, "make the folder first, and check the path",
                       "cannot open the folder of checkpoints %s: %s", quoted, strerror(errno));
    *locked = flock(*fd, LOCK_EX | LOCK_NB) == 0;
    if (!*locked && errno == EWOULDBLOCK)
        return MX_FAIL(MX_ERR_IO, "end that process, or give this run another folder",
                       "another process is saving checkpoints in %s", quoted);
    return 0;
}

/* Gives the file `from` the name `path` too, replacing what has it; where a file cannot have two names, writes it once
 * more. */
static int file_share(const struct writing *w, int folder_fd, const char *from, const char *path)
{
    int rc = 0;
    char quoted[QUOTED_BYTES];
    char *const temporary = mx_format("%s.link.tmp", path);
    if (temporary == NULL) return MX_ERR_NO_MEMORY;
    (void)unlink(temporary); /* of a process that was killed right here */
    if (link(from, temporary) != 0) {
        rc = file_write(w, path);
    } else if (rename(temporary, path) != 0 || (fsync(folder_fd) != 0 && errno != EINVAL)) {
        rc = MX_FAIL(MX_ERR_IO, "check that the folder may be written to", "cannot replace %s: %s",
                     mx_string_quote(quoted, sizeof quoted, path), strerror(errno));
        (void)unlink(temporary);
    }
    mx_free(temporary);
    return rc;
}

/* The best one gets that name first. Killed in between, the run continues from the checkpoint before and comes here
 * again; in the other order it would continue from this one and assume that the best is kept. */
static int files_write(const struct writing *w, const char *folder, int folder_fd, const char *path, bool is_best)
{
    int rc = 0;
    char *best = NULL;
    if (!is_best) return file_write(w, path);
    best = mx_format("%s/" MX_CHECKPOINT_BEST, folder);
    if (best == NULL) return MX_ERR_NO_MEMORY;
    MX_TRY(file_write(w, best));
    MX_TRY(file_share(w, folder_fd, best, path));
out:
    mx_free(best);
    return rc;
}

int mx_checkpoint_save(const char *folder, const struct mx_checkpoint_state *state,
                       const struct mx_checkpoint_source *sources, size_t source_count,
                       const struct mx_checkpoint_keep *keep)
{
    int rc = 0, fd = -1;
    bool locked = false, weights = source_count > 0;
    char *path = NULL;
    struct writing w = {0};
    mx_arena_init(&w.arena, 0);
    for (size_t i = 0; i < source_count; i++) weights = weights && sources[i].groups[MX_CHECKPOINT_WEIGHTS] != NULL;
    if (!weights || keep->last < 0)
        MX_RAISE(MX_ERR_ARGUMENT, "pass the weights, and keep 0 or more",
                 "a checkpoint needs weights, and cannot keep %lld others", (long long)keep->last);
    MX_TRY(mx_checkpoint_state_write(state, &w.arena, &w.metadata, &w.metadata_count));
    MX_TRY(tensors_collect(&w, sources, source_count));
    MX_TRY(mx_checkpoint_hash_add(&w.arena, w.tensors, w.tensor_count, w.metadata, &w.metadata_count));
    path = mx_checkpoint_file(folder, state->step);
    if (path == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(folder_lock(folder, &fd, &locked));
    mx_checkpoint_place_clear(path);
    MX_TRY(files_write(&w, folder, fd, path, keep->best));
    mx_checkpoint_folder_tidy(folder, state->step, keep, locked);
out:
    if (fd >= 0) close(fd);
    mx_free(path);
    mx_arena_release(&w.arena);
    if (rc < 0) mx_error_wrap("checkpoint of step %llu", (unsigned long long)state->step);
    return rc;
}
