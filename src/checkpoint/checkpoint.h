/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checkpoints: everything a run needs to continue as if nothing had happened, or a voice needs to speak, in one file,
 * so that no two parts can belong to different steps.
 *
 * RUN/checkpoints/step-00001234.safetensors (base/format/safetensors.h). Tensors, all F32, NAME as in the parameter table:
 *
 *     NAME            weights as they are trained; names of the vocoder's parameters begin with "vocoder."
 *     ema.NAME        their running average, for speaking    these only of parameters that learn:
 *     moment1.NAME    the optimizer's state, by the names    a frozen one is its own average
 *     moment2.NAME    in train/optimizer.h
 *
 * Metadata, all text. Fractions are the shortest decimal numbers that read back to the same bits:
 *
 *     format          "myxtts-checkpoint"
 *     version         "1"
 *     program         version of the program that wrote it
 *     step …          the members of struct mx_checkpoint_state under their names; see the list in state.c
 *     model.*         struct mx_model_config        these three are missing where a vocoder was trained alone
 *     vocabulary      JSON (text/vocabulary.h), with the languages
 *     speakers        JSON list of names
 *     speaker_languages  JSON list of codes (text/language.h), one for each speaker, empty if it is not known; missing in
 *                     files of versions that did not store it
 *     vocoder.*       size and weights of struct mx_vocoder_config; only where there is a vocoder
 *     metric.NAME     numbers of the last evaluation
 *     state.NAME      other values of the trainer
 *     hash            XXH3 (64 bits, seed 0) of all other metadata and all tensors, 16 digits: detects any damage
 *
 * One process at a time writes to a folder of checkpoints (it locks the folder while it saves); any number of others
 * may read. A checkpoint is written under a temporary name, flushed and renamed, and the folder is flushed; only then
 * are older ones deleted. So the last saved checkpoint survives whenever the process is killed.
 *
 *     step-*.safetensors             the newest ones and those of every n-th step
 *     best.safetensors               another name (or a copy) of the best one
 *     step-*.safetensors.abandoned   newer than the checkpoint that the run was resumed from; never read again
 *
 * Memory: an open checkpoint owns its state and its mapping of the file. Arrays belong to the caller, are on the host
 * and are laid out by the parameter table. Threads: one at a time for each open checkpoint.
 */
#ifndef MX_CHECKPOINT_CHECKPOINT_H
#define MX_CHECKPOINT_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/format/safetensors.h"
#include "features/normaliser.h"
#include "model/parameters.h"
#include "model/sizes.h"
#include "train/optimizer.h"
#include "vocoder/config.h"

#define MX_CHECKPOINT_FORMAT          "myxtts-checkpoint"
#define MX_CHECKPOINT_VERSION         1
#define MX_CHECKPOINT_VOICE_FORMAT    "myxtts-voice" /* voice_file.h */
#define MX_CHECKPOINT_VOICE_VERSION   1
#define MX_CHECKPOINT_ADAPTER_VERSION 2 /* of a voice file that is an adapter: programs that know none refuse it */
/* The texts of the trainer that name the base of adapters: the hash in its file, and the name that the file had. */
#define MX_CHECKPOINT_BASE_HASH "adapter.base"
#define MX_CHECKPOINT_BASE_NAME "adapter.base_name"
#define MX_CHECKPOINT_FOLDER    "checkpoints" /* of a run folder */
#define MX_CHECKPOINT_BEST      "best.safetensors"
/* An extra of a run that is over: which of its checkpoints speaks. */
#define MX_CHECKPOINT_SPEAKS      "speaks"
#define MX_CHECKPOINT_SPEAKS_BEST "best"
#define MX_CHECKPOINT_RECORDING   "voices/%03zu.wav" /* of a run folder: the recording of a speaker, by number */
#define MX_CHECKPOINT_LIST        1024               /* most metrics, and most texts of the trainer */

struct mx_checkpoint_metric {
    const char *name;
    double value;
};

/* All strings are zero-terminated UTF-8. For saving, they are borrowed from the caller during the call and none is
 * NULL (without an acoustic network: none but those of the model); in an open checkpoint, they live as long as it
 * does. */
struct mx_checkpoint_state {
    /* A voice file (voice_file.h): what only a run needs is 0. */
    bool voice;
    const char *voice_name, *voice_licence, *voice_attribution; /* NULL in a checkpoint; may be empty */
    /* where the run is */
    uint64_t step;          /* steps made, skipped ones included; the number in the file's name */
    uint64_t epoch;         /* of the next batch */
    uint64_t step_in_epoch; /* position of the next batch in the epoch (corpus/sampler.h) */
    uint64_t pass;          /* micro-batches so far: the count in mx_model_pass_info */
    uint64_t seed;
    uint64_t data_fingerprint;                  /* mx_dataset_fingerprint of the training data */
    bool has_best;                              /* there was an evaluation */
    double best;                                /* the best value of all evaluations; 0 if there was none */
    uint64_t best_step;                         /* the step of that evaluation; 0 if there was none */
    const struct mx_checkpoint_metric *metrics; /* of the last evaluation */
    size_t metric_count;
    const struct mx_metadata *extras; /* the trainer's own values: guard, schedule … (keys without "state.") */
    size_t extra_count;
    /* what the run works with */
    const char *config;           /* resolved configuration, YAML */
    bool vocoder_alone;           /* there is no acoustic network: model, vocabulary and speakers are unset */
    struct mx_model_config model; /* with size.name */
    const char *vocabulary;       /* JSON by mx_vocabulary_write */
    const char *const *speakers;  /* in the order of their numbers */
    size_t speaker_count;
    const char *const *speaker_languages; /* code of the language that each mostly spoke, or ""; NULL: not stored */
    bool has_vocoder;                     /* always, if it is alone */
    struct mx_vocoder_config vocoder; /* size and weights; in an open checkpoint everything but `mixed`, provided that
                                         mx_checkpoint_recipe_check accepts it */
    struct mx_normaliser normaliser;
    const char *recipe, *recipe_hash;        /* mx_recipe: name, 16 digits */
    uint64_t cleaner_version, audio_version; /* MX_TEXT_CLEANER_VERSION, MX_AUDIO_VERSION */
};

enum mx_checkpoint_group {
    MX_CHECKPOINT_WEIGHTS,
    MX_CHECKPOINT_AVERAGE,
    MX_CHECKPOINT_STATES, /* + enum mx_optimizer_state: the state of the optimizer */
    MX_CHECKPOINT_GROUPS = MX_CHECKPOINT_STATES + MX_OPTIMIZER_STATES
};

/* The networks whose tensors a checkpoint can have, and the vectors of the speakers in a voice file. */
enum mx_checkpoint_part { MX_CHECKPOINT_ACOUSTIC, MX_CHECKPOINT_VOCODER, MX_CHECKPOINT_VECTORS, MX_CHECKPOINT_PARTS };
/* The network of a parameter, from its name without the prefix of its group. */
enum mx_checkpoint_part mx_checkpoint_part_of(const char *name);

const char *mx_checkpoint_group_prefix(enum mx_checkpoint_group group); /* "", "ema.", "moment1.", "moment2." */
/* The group of a tensor, from its name; *name gets the rest of the name. */
enum mx_checkpoint_group mx_checkpoint_group_of(const char *tensor, const char **name);

/* ---- saving (save.c) ---- */

/* The tensors of one network. */
struct mx_checkpoint_source {
    const struct mx_parameters *table;
    const float *groups[MX_CHECKPOINT_GROUPS]; /* flat, on the host; NULL: do not write that group. Weights are required
                                                */
};

/* What to keep in addition to the checkpoint being saved. */
struct mx_checkpoint_keep {
    int64_t last;   /* the number of newest ones to keep, the new one included; 0: all */
    uint64_t every; /* keep those whose step is a multiple of this for ever; 0: none */
    bool best;      /* this is the best so far: make it best.safetensors */
};

/* Writes FOLDER/step-<step>.safetensors (FOLDER must exist; it is RUN/checkpoints), replacing one of the same step, and
 * before it, if it is the best, best.safetensors; then deletes what need not be kept and the leftovers of killed
 * processes. If it returns 0, the checkpoint is on the disk. If it fails, everything that was there before still is,
 * but best may be the new one already. (If only deleting fails, that is logged and not an error.) Checkpoints of later
 * steps are renamed to *.abandoned, with a warning. MX_ERR_IO if another process is saving in the folder;
 * MX_ERR_ARGUMENT for a state that could not be read back. */
int mx_checkpoint_save(const char *folder, const struct mx_checkpoint_state *state,
                       const struct mx_checkpoint_source *sources, size_t source_count,
                       const struct mx_checkpoint_keep *keep);

/* ---- loading (load.c, tensors.c) ---- */

struct mx_checkpoint;

struct mx_checkpoint_options {
    bool previous; /* for a folder: if the newest cannot be opened, warn and take the newest one before it that can */
    bool finite;   /* refuse a checkpoint with a number that is not finite */
    bool speaks;   /* for a folder: the best one instead of the newest, if the run has ended with that */
    bool foreign;  /* accept any safetensors file: mx_checkpoint_state may then be NULL. Not for a folder */
    bool named;    /* if there is no such path, it is the name of an installed voice (installed.h) */
};

/* `path` is a checkpoint, a voice file, a run folder, or its folder of checkpoints; of a folder the newest is taken. The whole file
 * is checked. MX_ERR_NOT_FOUND if there is none; MX_ERR_FORMAT, naming the file and the fault, if it is damaged,
 * truncated, not a checkpoint or of a newer version; the hint names the intact one before it, if there is one.
 * An adapter is opened with its base, which is looked for by its hash (base.c). `options` may be NULL. */
int mx_checkpoint_open(const char *path, const struct mx_checkpoint_options *options, struct mx_checkpoint **out);
/* The same from memory, which is borrowed, need not be aligned, and must outlive *out. `source` stands for the file in
 * messages and is what mx_checkpoint_path returns. */
int mx_checkpoint_open_memory(const char *source, const void *bytes, size_t count,
                              const struct mx_checkpoint_options *options, struct mx_checkpoint **out);
void mx_checkpoint_close(struct mx_checkpoint *checkpoint);             /* NULL is fine */
const char *mx_checkpoint_path(const struct mx_checkpoint *checkpoint); /* of the file */
/* The hash in the file, 16 digits; NULL: it has none. */
const char *mx_checkpoint_file_hash(const struct mx_checkpoint *checkpoint);
/* The checkpoint or voice that an adapter (voice_file.h) belongs to; NULL: it is none. */
const struct mx_checkpoint *mx_checkpoint_base(const struct mx_checkpoint *checkpoint);
const struct mx_checkpoint_state *mx_checkpoint_state(const struct mx_checkpoint *checkpoint);
const struct mx_safetensors *mx_checkpoint_tensors(const struct mx_checkpoint *checkpoint);
/* The recipe of its features; NULL: the program does not know it, or the checkpoint has no state. */
const struct mx_recipe *mx_checkpoint_recipe(const struct mx_checkpoint *checkpoint);
/* MX_ERR_DATA unless the checkpoint, which has a state, was trained on features of a recipe that the program knows. */
int mx_checkpoint_recipe_check(const struct mx_checkpoint *checkpoint);
/* MX_ERR_DATA unless it also has a vocoder. */
int mx_checkpoint_vocoder_check(const struct mx_checkpoint *checkpoint);
/* Does it have any tensor of that group of a network? */
bool mx_checkpoint_has(const struct mx_checkpoint *checkpoint, enum mx_checkpoint_part part,
                       enum mx_checkpoint_group group);

/* Flat host arrays to fill; NULL: not wanted. Weights have all floats of the table, the other groups those that learn.
 * To resume: all groups that the optimizer has; to speak: the average (into any array); for --init-from: the weights. */
struct mx_checkpoint_target {
    float *groups[MX_CHECKPOINT_GROUPS];
};

struct mx_checkpoint_report {
    size_t loaded;
    size_t missing; /* in the table, not in the file */
    size_t extra;   /* in the file, not in the table */
    size_t misfits; /* of another shape or type */
};

/* Copies the tensors of the wanted groups of the network that the table belongs to. Every tensor of the table must be
 * in the file with its shape, and the file must have none of that network that the table does not know (groups that are not wanted are ignored, but unknown names in them are
 * not). Otherwise all differences are logged by name, as warnings, and
 *   - normally: MX_ERR_DATA, and the arrays are unchanged;
 *   - with `partial`: what fits is copied, the rest of the arrays is unchanged; MX_ERR_DATA if nothing fits.
 * A wanted tensor with a number that is not finite is MX_ERR_DATA, naming it; the arrays are unchanged.
 * `report` may be NULL. */
int mx_checkpoint_load(const struct mx_checkpoint *checkpoint, const struct mx_parameters *table,
                       const struct mx_checkpoint_target *target, bool partial, struct mx_checkpoint_report *report);

/* What a new run begins with: the weights, or with `spoken` (for a run that leaves some of them as they are) what the
 * network speaks with, as mx_checkpoint_load_average; flat[table->floats]. Adapters of the checkpoint are merged.
 * What does not come from the file stays as it is: adapters of the table, rows of the tables of tokens and languages
 * after those of the file, and the weights for listening if the file cannot listen. Otherwise as mx_checkpoint_load. */
int mx_checkpoint_load_begin(const struct mx_checkpoint *checkpoint, const struct mx_parameters *table, bool spoken,
                             bool partial, float *flat, struct mx_checkpoint_report *report);

/* What a network speaks with, adapters merged into the matrices that they adapt: averaged weights where the file has them, otherwise the weights; flat[table->floats]. Of
 * a voice file that cannot listen, the weights for listening become 0. */
int mx_checkpoint_load_average(const struct mx_checkpoint *checkpoint, const struct mx_parameters *table, float *flat);

/* ---- the voices of the speakers (speakers.c) ---- */

/* The vector [width] that a voice file keeps of a speaker, by number: what mx_speak_vector makes of a recording.
 * MX_ERR_NOT_FOUND if the file keeps none. */
int mx_checkpoint_vector(const struct mx_checkpoint *checkpoint, size_t speaker, float *vector);
/* Can its network make a vector of a recording? A voice file may have been written without that part. */
bool mx_checkpoint_listens(const struct mx_checkpoint *checkpoint);
/* MX_ERR_DATA unless it can; `what` needs it. */
int mx_checkpoint_listens_check(const struct mx_checkpoint *checkpoint, const char *what);
/* The code of the language of a speaker, by number: the stored one, or that of a network with a single language; NULL if
 * neither tells. */
const char *mx_checkpoint_speaker_language(const struct mx_checkpoint_state *state, size_t speaker);
/* The recording of a speaker in the run folder that a checkpoint belongs to. *path is the caller's, to be freed with
 * mx_free; NULL if there is none. */
int mx_checkpoint_recording(const struct mx_checkpoint *checkpoint, size_t speaker, char **path);

/* The trainer's text under `key`, or NULL. */
const char *mx_checkpoint_extra(const struct mx_checkpoint_state *state, const char *key);

#endif
