/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the files of this folder: an open checkpoint, the state as metadata, the hash, and the names in a folder of checkpoints.
 *
 * Memory: objects made in an arena live as long as the arena.
 */
#ifndef MX_CHECKPOINT_INTERNAL_H
#define MX_CHECKPOINT_INTERNAL_H

#include "base/alloc.h"
#include "checkpoint/checkpoint.h"

#define MX_CHECKPOINT_HASH_BYTES 17 /* 16 digits and a zero */

/* An open checkpoint (load.c). */
struct mx_checkpoint {
    struct mx_arena arena;
    struct mx_safetensors *file;
    char *path;
    bool in_memory; /* the bytes are the caller's, and `path` is no path */
    bool has_state;
    struct mx_checkpoint_state state;
    const struct mx_recipe *recipe; /* of the state; NULL: the program does not know it */
    struct mx_checkpoint *base;     /* of an adapter; NULL: it is none */
};

/* MX_ERR_DATA if a tensor has infinities or nan. Other types than F32 and BF16 are never loaded, so they pass. */
int mx_checkpoint_tensor_check(const struct mx_checkpoint *checkpoint, const struct mx_tensor *tensor);

#define MX_CHECKPOINT_VECTOR_PREFIX "vector." /* of the tensors of a voice file that are the voices of its speakers */

/* ---- the state as metadata (state.c) ---- */

/* Writes all metadata except the hash into an array with room for one more. MX_ERR_ARGUMENT for a state that could not
 * be read back. */
int mx_checkpoint_state_write(const struct mx_checkpoint_state *state, struct mx_arena *arena,
                              struct mx_metadata **items, size_t *count);
/* Reads the state from a file whose format (of a voice or a checkpoint) and version are known to be ours; messages call
 * it `source`. Strings point into the file or the arena. MX_ERR_FORMAT naming the fault. */
int mx_checkpoint_state_read(const struct mx_safetensors *file, const char *source, bool voice, struct mx_arena *arena,
                             struct mx_checkpoint_state *state);

/* ---- the hash (state.c) ---- */

/* Each tensor and each text has its own hash, which includes its name; the hash of the file is their sum, so it does
 * not depend on their order, which other programs change. */
uint64_t mx_checkpoint_hash(const struct mx_tensor *tensor);
uint64_t mx_checkpoint_hash_text(const struct mx_metadata *metadata);
void mx_checkpoint_hash_format(uint64_t hash, char out[MX_CHECKPOINT_HASH_BYTES]);
/* Appends the hash of a file with these tensors and metadata to the metadata, which have room for it. */
int mx_checkpoint_hash_add(struct mx_arena *arena, const struct mx_tensor *tensors, size_t tensor_count,
                           struct mx_metadata *metadata, size_t *metadata_count);

/* ---- the voices of the speakers (speakers.c) ---- */

/* Does the network need the parameter only to make vectors of recordings? */
bool mx_checkpoint_listening(const char *parameter);
/* MX_ERR_FORMAT unless the vectors of a voice file, whose state is read, are those of its speakers. */
int mx_checkpoint_vectors_check(const struct mx_checkpoint *checkpoint, const char *source);

/* ---- adapters (base.c) ---- */

/* Is this the name of a half of an adapter? */
bool mx_checkpoint_adapter_named(const char *name);
/* Opens the base of an adapter that has been read. */
int mx_checkpoint_base_open(struct mx_checkpoint *adapter, const struct mx_checkpoint_options *options);

/* ---- names (folder.c) ---- */

#define MX_CHECKPOINT_NAME_BYTES 48
/* "step-00001234.safetensors" */
void mx_checkpoint_name(uint64_t step, char out[MX_CHECKPOINT_NAME_BYTES]);

/* The steps that have checkpoints in a folder, oldest first. {0} is empty. */
struct mx_checkpoint_steps {
    uint64_t *items;
    size_t count;
};

/* MX_ERR_NOT_FOUND if there is no such folder. */
int mx_checkpoint_steps_list(const char *folder, struct mx_checkpoint_steps *steps);
void mx_checkpoint_steps_release(struct mx_checkpoint_steps *steps);
/* After step `saved` is on the disk: renames later ones, deletes what `keep` does not keep and, with `leftovers`,
 * temporary files. Failures are logged. */
void mx_checkpoint_folder_tidy(const char *folder, uint64_t saved, const struct mx_checkpoint_keep *keep,
                               bool leftovers);
/* Before `path` is saved: renames anything there that is not a file (the run was then resumed from an earlier one). */
void mx_checkpoint_place_clear(const char *path);
/* The path of a checkpoint in a folder; the caller frees it. */
char *mx_checkpoint_file(const char *folder, uint64_t step);

#endif
