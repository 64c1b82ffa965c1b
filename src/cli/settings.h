/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The settings of the whole program: the struct that configuration files, --set and the commands share.
 *
 * Memory: the caller owns the struct and releases it with mx_config_release(&mx_settings_schema, …).
 */
#ifndef MX_CLI_SETTINGS_H
#define MX_CLI_SETTINGS_H

#include <stdint.h>

#include "base/config.h"
#include "cli/options.h"
#include "corpus/tokens.h"
#include "train/schedule.h"

#define MX_SETTINGS_CPU_DEVICES_MAX 1024

/* Section device. */
struct mx_settings_device {
    int64_t cpu_devices;
    int64_t data_memory_mb;  /* 0: the recommended limit */
    int64_t model_memory_mb; /* 0: the recommended limit */
};

/* Section model. */
struct mx_settings_model {
    char size[16];
    int64_t width, heads, encoder_blocks, decoder_blocks, hidden; /* 0: of the size */
    double dropout;                                               /* negative: of the level */
    bool gradient_checkpointing;
    double mel_weight, prior_weight, duration_weight, pitch_weight, energy_weight;
};

/* Section data. */
struct mx_settings_data {
    char *train_data, *val_data; /* "": none */
    double validation_fraction;
    char language[8]; /* "auto": by the script of each text */
    enum mx_tokens_mode tokens;
    double min_seconds, max_seconds;
    bool caching;
    int64_t num_workers; /* 0: by the machine */
    int64_t prefetch;
    double reference_seconds;
};

/* Section training. */
struct mx_settings_training {
    int64_t batch_size, batch_frames, grad_accum;
    int64_t epochs, steps; /* steps 0: by the epochs */
    double max_minutes;    /* 0: no limit */
    int64_t seed;
    enum mx_level optimization_level;
    /* Negative: of the level. */
    double learning_rate, learning_rate_floor, cycle_decay;
    int64_t warmup_steps, cycles;
    double grad_clip, weight_decay, ema_decay;
    double beta1, beta2, epsilon;
    int64_t save_every, keep_last, keep_every, eval_every, eval_utterances, early_stopping, samples;
    int64_t skips_max;
    double spike;
};

struct mx_settings {
    struct mx_settings_device device;
    struct mx_settings_model model;
    struct mx_settings_data data;
    struct mx_settings_training training;
};

extern const struct mx_config_schema mx_settings_schema;

/* Options that commands with settings share: the members of two options, in braces, over a struct that has a
 * `const char *config` and a `struct mx_option_list set`. */
#define MX_SETTINGS_OPTION_CONFIG(object)                                                                              \
    MX_OPTION_STRING(object, config, "config", "FILE", NULL, "Read settings from this YAML file."), .letter = 'c'
#define MX_SETTINGS_OPTION_SET(object)                                                                                 \
    MX_OPTION_LIST(object, set, "set", "SECTION.KEY=VALUE", "Override one setting, after the file is read.")

/* Everything that the optimization level decides becomes its number, where the user gave none. */
void mx_settings_resolve(struct mx_settings *settings);

/* Defaults, then the file (NULL: none), then the overrides. On failure there is nothing to release. */
int mx_settings_read(const char *config, const struct mx_option_list *set, struct mx_settings *out);

#endif
