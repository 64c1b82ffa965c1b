/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The settings of the whole program, see settings.h. The tables below are all there is to add for a new key.
 */
#include "cli/settings.h"

#include "base/error.h"

/* The names of these limits on the command line of the program that this one succeeds. */
static const char *const data_memory_names[] = {"data_gpu_memory", NULL};
static const char *const model_memory_names[] = {"model_gpu_memory", NULL};

#define MEMORY_MOST_MB (INT64_C(1) << 30) /* a pebibyte: more is a slip of the keyboard */

static const struct mx_config_field device_fields[] = {
    {MX_CONFIG_INT(
        struct mx_settings_device, cpu_devices, 1, MX_SETTINGS_CPU_DEVICES_MAX, "1", NULL,
        "Logical CPU devices that the cores are split into. Two let the data and the model device work side by "
        "side on a machine without a GPU.")},
    {MX_CONFIG_INT(struct mx_settings_device, data_memory_mb, 0, MEMORY_MOST_MB, "0", "MiB",
                   "Memory limit of the data device. 0 takes the recommended share of the device's memory."),
     .aliases = data_memory_names},
    {MX_CONFIG_INT(struct mx_settings_device, model_memory_mb, 0, MEMORY_MOST_MB, "0", "MiB",
                   "Memory limit of the model device. 0 takes the recommended share of the device's memory."),
     .aliases = model_memory_names},
};

/* ---- model ---- */

static const char *const checkpointing_names[] = {"enable_gradient_checkpointing",
                                                  "training.enable_gradient_checkpointing", NULL};
static const char *const size_names[] = {"model_size", "training.model_size", NULL};

#define MODEL struct mx_settings_model
static const struct mx_config_field model_fields[] = {
    {MX_CONFIG_STRING(MODEL, size, "tiny",
                      "Size of the network by name: tiny, small, normal, base or big. 'myxtts train --dry-run' shows "
                      "what each one takes."),
     .aliases = size_names},
    {MX_CONFIG_INT(MODEL, width, 0, 65536, "0", NULL, "Width of all layers instead of that of the size; 0: its own.")},
    {MX_CONFIG_INT(MODEL, heads, 0, 1024, "0", NULL, "Attention heads instead of those of the size; 0: its own.")},
    {MX_CONFIG_INT(MODEL, encoder_blocks, 0, 64, "0", NULL,
                   "Blocks of the text encoder instead of those of the size; 0: its own.")},
    {MX_CONFIG_INT(MODEL, decoder_blocks, 0, 64, "0", NULL,
                   "Blocks of the decoder instead of those of the size; 0: its own.")},
    {MX_CONFIG_INT(MODEL, hidden, 0, 1048576, "0", NULL,
                   "Width inside the feed-forward parts instead of that of the size; 0: its own.")},
    {MX_CONFIG_DOUBLE(MODEL, dropout, -1, 0.9, "-1", NULL,
                      "Share of values left out at random while training. Negative: that of the optimization level.")},
    {MX_CONFIG_BOOL(MODEL, gradient_checkpointing, "false",
                    "Compute the blocks again in the backward pass instead of remembering them: less memory, about a "
                    "third more time, the same gradients."),
     .aliases = checkpointing_names},
    {MX_CONFIG_DOUBLE(MODEL, mel_weight, 0, 1000, "1", NULL, "What the mel loss counts in the sum that is minimised.")},
    {MX_CONFIG_DOUBLE(MODEL, prior_weight, 0, 1000, "1", NULL, "The same for the alignment's loss.")},
    {MX_CONFIG_DOUBLE(MODEL, duration_weight, 0, 1000, "1", NULL, "The same for the duration loss.")},
    {MX_CONFIG_DOUBLE(MODEL, pitch_weight, 0, 1000, "1", NULL, "The same for the pitch loss.")},
    {MX_CONFIG_DOUBLE(MODEL, energy_weight, 0, 1000, "1", NULL, "The same for the energy loss.")},
};
#undef MODEL

/* ---- data ---- */

static const struct mx_config_choice token_choices[] = {
#define X(identifier, name) {name, MX_TOKENS_##identifier, NULL},
    MX_TOKENS_LIST(X)
#undef X
        {NULL, 0, NULL}};
static const char *const worker_names[] = {"training.num_workers", NULL};
static const char *const prefetch_names[] = {"prefetch_buffer_size", "prefetch_size", NULL};
static const char *const caching_names[] = {"enable_caching", NULL};
static const char *const train_names[] = {"dataset_path", NULL};

#define DATA struct mx_settings_data
static const struct mx_config_field data_fields[] = {
    {MX_CONFIG_TEXT(DATA, train_data, "", "Corpus folder, manifest file or packed corpus to train on."),
     .aliases = train_names},
    {MX_CONFIG_TEXT(DATA, val_data, "", "Folder or manifest file of the validation rows, if they stand elsewhere.")},
    {MX_CONFIG_DOUBLE(DATA, validation_fraction, 0, 0.5, "0.05", NULL,
                      "Share of the rows kept for validation where no file names them.")},
    {MX_CONFIG_STRING(DATA, language, "auto", "Language of all texts: en, fa, or auto for the script of each text.")},
    {MX_CONFIG_ENUM(DATA, tokens, enum mx_tokens_mode, token_choices, "phonemes",
                    "What the symbols are: phonemes by espeak-ng, or the characters themselves.")},
    {MX_CONFIG_DOUBLE(DATA, min_seconds, 0, 3600, "0.4", "seconds", "Shorter recordings are left out.")},
    {MX_CONFIG_DOUBLE(DATA, max_seconds, 0, 3600, "20", "seconds", "Longer recordings are left out, never cut.")},
    {MX_CONFIG_BOOL(DATA, caching, "true",
                    "Keep decoded recordings of a folder in the run folder, so that each is decoded once."),
     .aliases = caching_names},
    {MX_CONFIG_INT(DATA, num_workers, 0, 256, "0", NULL, "Threads that load batches. 0: one for each two cores."),
     .aliases = worker_names},
    {MX_CONFIG_INT(DATA, prefetch, 1, 64, "2", "batches", "Batches that are kept ready."), .aliases = prefetch_names},
    {MX_CONFIG_DOUBLE(DATA, reference_seconds, 0.1, 60, "2", "seconds",
                      "Length of the crop of another recording that tells the network whose voice it is.")},
};
#undef DATA

/* ---- training ---- */

static const struct mx_config_choice level_choices[] = {
#define X(identifier, name, a, b, c, d, e, f, g, h, i, words) {name, MX_LEVEL_##identifier, words},
    MX_LEVEL_LIST(X)
#undef X
        {NULL, 0, NULL}};
static const char *const batch_names[] = {"data.batch_size", NULL};
static const char *const accum_names[] = {"gradient_accumulation_steps", "grad_accum_steps", NULL};
static const char *const clip_names[] = {"gradient_clip_norm", NULL};
static const char *const rate_names[] = {"lr", NULL};
static const char *const save_names[] = {"save_step", NULL};
static const char *const eval_names[] = {"val_step", NULL};

#define TRAINING struct mx_settings_training
#define OF_LEVEL " Negative: that of the optimization level."
static const struct mx_config_field training_fields[] = {
    {MX_CONFIG_INT(TRAINING, batch_size, 0, 65536, "16", "utterances", "Utterances of a batch, at most. 0: no limit."),
     .aliases = batch_names},
    {MX_CONFIG_INT(TRAINING, batch_frames, 0, 100000000, "0", "frames",
                   "Mel frames of a batch, at most. 0: no limit.")},
    {MX_CONFIG_INT(TRAINING, grad_accum, 1, 4096, "1", "batches",
                   "Batches whose gradients are added up for one step: as one large batch, with the memory of one."),
     .aliases = accum_names},
    {MX_CONFIG_INT(TRAINING, epochs, 1, 1000000, "100", NULL, "How often every recording is used.")},
    {MX_CONFIG_INT(TRAINING, steps, 0, INT64_C(1) << 40, "0", NULL,
                   "End after so many steps, if the epochs do not end before. 0: by the epochs alone.")},
    {MX_CONFIG_DOUBLE(TRAINING, max_minutes, 0, 1e7, "0", "minutes",
                      "End after so much time, saved. 0: no limit. The learning rate does not follow it: plan the "
                      "steps, too.")},
    {MX_CONFIG_INT(TRAINING, seed, 0, INT64_MAX, "1", NULL, "Everything random follows from it.")},
    {MX_CONFIG_ENUM(TRAINING, optimization_level, enum mx_level, level_choices, "enhanced",
                    "A name for learning rate, warm-up, cycles, clipping, decay and dropout together. Each can still "
                    "be set by itself.")},
    {MX_CONFIG_DOUBLE(TRAINING, learning_rate, -1, 1, "-1", NULL, "Highest learning rate." OF_LEVEL),
     .aliases = rate_names},
    {MX_CONFIG_DOUBLE(TRAINING, learning_rate_floor, -1, 1, "-1", NULL,
                      "Lowest learning rate after the warm-up, as a share of the highest." OF_LEVEL)},
    {MX_CONFIG_DOUBLE(TRAINING, cycle_decay, -1, 1, "-1", NULL,
                      "Top of each cycle of the learning rate as a share of the one before." OF_LEVEL)},
    {MX_CONFIG_INT(TRAINING, warmup_steps, -1, INT64_C(1) << 40, "-1", "steps",
                   "Steps in which the learning rate rises; at most a tenth of all." OF_LEVEL)},
    {MX_CONFIG_INT(TRAINING, cycles, -1, 1000, "-1", NULL, "How often the cosine begins anew." OF_LEVEL)},
    {MX_CONFIG_DOUBLE(TRAINING, grad_clip, -1, 1e9, "-1", NULL,
                      "Longer gradients are shortened to this norm; 0: never." OF_LEVEL),
     .aliases = clip_names},
    {MX_CONFIG_DOUBLE(TRAINING, weight_decay, -1, 1, "-1", NULL, "Weight decay of AdamW." OF_LEVEL)},
    {MX_CONFIG_DOUBLE(TRAINING, ema_decay, -1, 0.999999, "-1", NULL,
                      "How slowly the averaged weights, which speak, follow the trained ones." OF_LEVEL)},
    {MX_CONFIG_DOUBLE(TRAINING, beta1, 0, 0.9999, "0.9", NULL, "Memory of AdamW's first moment.")},
    {MX_CONFIG_DOUBLE(TRAINING, beta2, 0, 0.99999, "0.98", NULL, "Memory of AdamW's second moment.")},
    {MX_CONFIG_DOUBLE(TRAINING, epsilon, 1e-20, 1, "1e-9", NULL, "AdamW's epsilon.")},
    {MX_CONFIG_INT(TRAINING, save_every, 1, INT64_C(1) << 40, "500", "steps", "How often a checkpoint is saved."),
     .aliases = save_names},
    {MX_CONFIG_INT(TRAINING, keep_last, 1, 100000, "3", "checkpoints", "How many of the newest stay.")},
    {MX_CONFIG_INT(TRAINING, keep_every, 0, INT64_C(1) << 40, "0", "steps",
                   "Checkpoints of multiples of this step stay for ever. 0: none.")},
    {MX_CONFIG_INT(TRAINING, eval_every, 0, INT64_C(1) << 40, "500", "steps", "How often to evaluate. 0: at the end."),
     .aliases = eval_names},
    {MX_CONFIG_INT(TRAINING, eval_utterances, 1, 1000000, "16", "utterances",
                   "Validation utterances that an evaluation looks at, at most.")},
    {MX_CONFIG_INT(TRAINING, early_stopping, 0, 1000000, "0", "evaluations",
                   "End when so many evaluations in a row brought no better free-running mel distance. 0: never.")},
    {MX_CONFIG_INT(TRAINING, samples, 0, 1000, "2", "utterances",
                   "Texts of validation utterances that each evaluation speaks into samples/. Corpora of features have "
                   "no sound that tells the voice: then none.")},
    {MX_CONFIG_INT(TRAINING, skips_max, 1, 1000, "5", "steps",
                   "End with an error when so many steps in a row had a loss or gradient that is not finite.")},
    {MX_CONFIG_DOUBLE(TRAINING, spike, 1, 1000, "6", NULL, "Report a loss or gradient so many deviations too high.")},
};
#undef TRAINING

static const struct mx_config_section sections[] = {
    {.name = "device",
     .help = "The devices that do the work, and how much of their memory each role may take.",
     .fields = device_fields,
     .count = sizeof device_fields / sizeof device_fields[0],
     .offset = offsetof(struct mx_settings, device)},
    {.name = "model",
     .help = "The network.",
     .fields = model_fields,
     .count = sizeof model_fields / sizeof model_fields[0],
     .offset = offsetof(struct mx_settings, model)},
    {.name = "data",
     .help = "What it learns from.",
     .fields = data_fields,
     .count = sizeof data_fields / sizeof data_fields[0],
     .offset = offsetof(struct mx_settings, data)},
    {.name = "training",
     .help = "How it learns.",
     .fields = training_fields,
     .count = sizeof training_fields / sizeof training_fields[0],
     .offset = offsetof(struct mx_settings, training)},
};

const struct mx_config_schema mx_settings_schema = {
    .title = "MyXTTS settings. Every key is written out here; a line that is removed takes its default.",
    .sections = sections,
    .count = sizeof sections / sizeof sections[0],
};

static void decide(double *value, double of_level)
{
    if (*value < 0) *value = of_level;
}

static void decide_count(int64_t *value, int64_t of_level)
{
    if (*value < 0) *value = of_level;
}

void mx_settings_resolve(struct mx_settings *settings)
{
    struct mx_settings_training *const t = &settings->training;
    const struct mx_level_settings *const level = mx_level_settings(t->optimization_level);
    decide(&t->learning_rate, level->peak);
    decide(&t->learning_rate_floor, level->floor);
    decide(&t->cycle_decay, level->cycle_decay);
    decide_count(&t->warmup_steps, level->warmup);
    decide_count(&t->cycles, level->cycles);
    decide(&t->grad_clip, level->grad_clip);
    decide(&t->weight_decay, level->weight_decay);
    decide(&t->ema_decay, level->ema_decay);
    decide(&settings->model.dropout, level->dropout);
}

int mx_settings_read(const char *config, const struct mx_option_list *set, struct mx_settings *out)
{
    int rc = mx_config_defaults(&mx_settings_schema, out);
    if (rc < 0) return rc;
    if (config != NULL) MX_TRY(mx_config_load(&mx_settings_schema, out, config));
    for (size_t i = 0; i < set->count; i++) MX_TRY(mx_config_set(&mx_settings_schema, out, set->items[i]));
out:
    if (rc < 0) mx_config_release(&mx_settings_schema, out);
    return rc;
}
