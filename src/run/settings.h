/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The settings of the whole program: the struct shared by configuration files, --set and the commands.
 *
 * Memory: the caller owns the struct and releases it with mx_config_release(&mx_settings_schema, …).
 */
#ifndef MX_RUN_SETTINGS_H
#define MX_RUN_SETTINGS_H

#include <stdint.h>

#include "base/catalogue.h"
#include "base/config/config.h"
#include "corpus/balance.h"
#include "features/augment.h"
#include "features/recipe.h"
#include "model/losses.h"
#include "myxtts/registry.h"
#include "text/tokens.h"
#include "train/schedule.h"
#include "train/share_policy.h"

#define MX_SETTINGS_CPU_DEVICES_MAX 1024

/* Default limits of memory isolation: those of the program that this one succeeds. */
#define MX_SETTINGS_DATA_MEMORY_MB  8192
#define MX_SETTINGS_BUFFER          50
#define MX_SETTINGS_MODEL_MEMORY_MB 16384

/* Section device. */
struct mx_settings_device {
    int64_t cpu_devices;
    int64_t data_memory_mb;  /* 0: the recommended limit */
    int64_t model_memory_mb; /* 0: the recommended limit */
};

/* Section model. */
struct mx_settings_model {
    char size[16];
    int64_t width, heads, encoder_blocks, decoder_blocks, hidden; /* 0: from the size */
    double dropout;                                               /* negative: from the level */
    bool gradient_checkpointing;
#define X(NAME, key, over, weight, words) double key##_weight;
    MX_LOSS_LIST(X)
#undef X
};

/* MX_SETTINGS_RECIPE_AUTO, then one for each row of MX_RECIPE_LIST. */
enum mx_settings_recipe {
    MX_SETTINGS_RECIPE_AUTO,
#define X(identifier, name, words, ...) MX_SETTINGS_RECIPE_##identifier,
    MX_RECIPE_LIST(X)
#undef X
};

/* Section data. */
struct mx_settings_data {
    char *train_data, *val_data; /* "": none */
    double validation_fraction;
    char language[8]; /* "auto": by the script of each text */
    enum mx_tokens_mode tokens;
    enum mx_settings_recipe recipe;
    char *lexicon;   /* "": none */
    char *decisions; /* "": those beside the manifest */
    double min_seconds, max_seconds;
    bool cut_long;
    char *cut_voice; /* "": the base voice */
    bool allow_rejects;
    bool caching;
    int64_t num_workers; /* 0: depends on the machine */
    int64_t num_workers_max;
    double reference_seconds;
    enum mx_balance balance;
    bool augment; /* a negative value below then means that of the preset; without it, none */
    double augment_gain_db, augment_noise_share, augment_speed;
    int64_t augment_band_masks, augment_band_width, augment_time_masks;
    double augment_time_share;
    double augment_snr_min_db, augment_snr_max_db;
};

/* What is trained. */
enum mx_settings_part { MX_SETTINGS_PART_BOTH, MX_SETTINGS_PART_ACOUSTIC, MX_SETTINGS_PART_VOCODER };

enum mx_settings_report {
    MX_SETTINGS_REPORT_AUTO,
    MX_SETTINGS_REPORT_EN,
    MX_SETTINGS_REPORT_FA,
    MX_SETTINGS_REPORT_OFF
};

/* Section training. */
struct mx_settings_training {
    enum mx_settings_part part;
    int64_t batch_size, batch_frames, grad_accum;
    int64_t epochs, steps; /* steps 0: from the epochs */
    double max_minutes;    /* 0: no limit */
    int64_t seed;
    enum mx_level optimization_level;
    /* Negative: from the level. */
    double learning_rate, learning_rate_floor, cycle_decay;
    int64_t warmup_steps, cycles;
    double grad_clip, weight_decay, ema_decay;
    double beta1, beta2, epsilon;
    bool mixed_precision;
    int64_t adapter_rank; /* 0: no adapters */
    char *freeze;         /* patterns of parameters that do not learn; "": none */
    int64_t save_every, keep_last, keep_every, eval_every, eval_utterances, early_stopping, samples;
    bool auto_stop;
    int64_t skips_max;
    double spike;
    char dashboard[128]; /* address of the dashboard; "" or "off": none */
    double rank_timeout; /* seconds */
    bool batch_per_rank;
    bool tensorboard;
    int64_t tensorboard_mb, keep_samples; /* 0: no limit */
    enum mx_settings_report report;
};

/* Section vocoder. */
struct mx_settings_vocoder {
    char size[16];
    char *from; /* a checkpoint or the folder of a run; "": a new one */
    int64_t segments, segment_frames;
    double augment;
    int64_t predicted_from;
    double predicted_share;
    double learning_rate; /* negative: see mx_settings_resolve; 0: the vocoder is not trained */
    int64_t warmup_steps;
    double learning_rate_floor, beta1, beta2, weight_decay, grad_clip, ema_decay;
    int64_t rounds, projections; /* of its sound */
};

enum mx_settings_backend {
    MX_SETTINGS_BACKEND_AUTO,
#define X(identifier, name) MX_SETTINGS_BACKEND_##identifier,
    MX_BACKEND_LIST(X)
#undef X
};

/* Section pipeline. */
struct mx_settings_pipeline {
    enum mx_settings_backend backend;
    char device[32], data_device[32], model_device[32]; /* "": not given */
    int64_t data_gpu, model_gpu;                        /* negative: not given */
    bool allow_single;
    int64_t buffer_size;          /* prepared batches; 0: not given, see mx_settings_buffer */
    int64_t prefetch_buffer_size; /* loaded batches; 0: not given, see mx_settings_prefetch */
    double model_start_delay;
    bool memory_isolation, static_shapes, auto_tune, overlap;
    enum mx_share_mode share_work;
    char *shares; /* "STEP:SHARE,…"; "": measured */
};

struct mx_settings {
    struct mx_settings_device device;
    struct mx_settings_pipeline pipeline;
    struct mx_settings_model model;
    struct mx_settings_vocoder vocoder;
    struct mx_settings_data data;
    struct mx_settings_training training;
};

extern const struct mx_config_schema mx_settings_schema;

/* Fills in what the user did not give: everything that the optimization level decides, and the learning rate of the
 * vocoder, which is 0 for one that was taken from elsewhere (it stays open while no vocoder is trained). */
void mx_settings_resolve(struct mx_settings *settings);

/* A recipe, which is not AUTO, and back. */
static inline const struct mx_recipe *mx_settings_recipe(enum mx_settings_recipe recipe)
{
    return &mx_recipes[(int)recipe - 1];
}

static inline enum mx_settings_recipe mx_settings_recipe_of(const struct mx_recipe *recipe)
{
    return (enum mx_settings_recipe)(recipe - mx_recipes + 1);
}

const char *mx_settings_backend_name(enum mx_settings_backend backend); /* "auto" */
const char *mx_settings_level_name(enum mx_level level);                /* "basic" */
/* The most batches prepared ahead: the setting, or MX_SETTINGS_BUFFER. */
int32_t mx_settings_buffer(const struct mx_settings *settings);
/* The most batches loaded ahead: the setting, or max(2, min(8, 64/batch size)). */
int32_t mx_settings_prefetch(const struct mx_settings *settings);
/* The language of report.html and of the live page. */
enum mx_words mx_settings_report_language(const struct mx_settings *settings);
/* The augmentation of training recordings: the preset if `augment` is on, and whatever is set individually. */
struct mx_augment_options mx_settings_augment(const struct mx_settings *settings);

/* Sets one setting, "section.key", to a value chosen by the program itself. */
int mx_settings_put(struct mx_settings *settings, const char *setting, const char *value);

/* Defaults, then the file (NULL: none), then `count` overrides, "SECTION.KEY=VALUE". On failure there is nothing to
 * release. */
int mx_settings_read(const char *config, const char *const *set, size_t count, struct mx_settings *out);

/* ---- settings of a run (settings_run.c) ---- */
/* The settings of the run in a folder, then `count` overrides. If its file is lost or damaged, the newest checkpoint
 * has them, too. A run that began without a vocoder continues without one. On failure there is nothing to release. */
int mx_settings_resume(const char *run, const char *const *set, size_t count, struct mx_settings *out);
/* Before a run is opened: makes paths absolute, so that the run can be resumed from any folder, and fills in everything
 * that the optimization level decides. */
int mx_settings_complete(struct mx_settings *settings);
/* Does one of the overrides set the size of the network? */
bool mx_settings_size_said(const char *const *set, size_t count);

#endif
