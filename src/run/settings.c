/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The settings of the whole program, see settings.h. The tables below are all there is to add for a new key.
 */
#include "run/settings.h"

#include "base/alloc.h"
#include "myxtts/error.h"
#include "myxtts/pipeline.h"

/* The names of these limits on the command line of the program that this one succeeds. */
static const char *const data_memory_names[] = {"data_gpu_memory",         "data_gpu_memory_limit",
                                                "data.data_gpu_memory",    "pipeline.data_gpu_memory",
                                                "pipeline.data_memory_mb", NULL};
static const char *const model_memory_names[] = {"model_gpu_memory",         "model_gpu_memory_limit",
                                                 "data.model_gpu_memory",    "pipeline.model_gpu_memory",
                                                 "pipeline.model_memory_mb", NULL};

#define MEMORY_MOST_MB (INT64_C(1) << 30) /* a pebibyte: more is a slip of the keyboard */

static const struct mx_config_field device_fields[] = {
    {MX_CONFIG_INT(
        struct mx_settings_device, cpu_devices, 1, MX_SETTINGS_CPU_DEVICES_MAX, "1", NULL,
        "Logical CPU devices that the cores are split into. Two let the data and the model device work side by "
        "side on a machine without a GPU.")},
    {MX_CONFIG_INT(struct mx_settings_device, opencl_split, 0, MX_SETTINGS_CPU_DEVICES_MAX, "0", NULL,
                   "Parts that each OpenCL device of CPU type is split into. 0: as many as devices are chosen, where "
                   "there is only one.")},
    {MX_CONFIG_INT(
         struct mx_settings_device, data_memory_mb, 0, MEMORY_MOST_MB, "0", "MiB",
         "Memory limit of the data device. 0: with pipeline.memory_isolation 8192 or what the device has, without it "
         "the recommended share of the device's memory. In Single-GPU Buffered Mode the sum of both holds for the one "
         "device. Two CPU devices share one memory: both limits must fit into it together."),
     .aliases = data_memory_names},
    {MX_CONFIG_INT(
         struct mx_settings_device, model_memory_mb, 0, MEMORY_MOST_MB, "0", "MiB",
         "Memory limit of the model device. 0: with pipeline.memory_isolation 16384 or what the device has, without "
         "it the recommended share of the device's memory."),
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
static const char *const worker_names[] = {"training.num_workers", "pipeline.num_workers", NULL};
static const char *const caching_names[] = {"enable_caching", NULL};
static const char *const train_names[] = {"dataset_path", NULL};

#define DATA       struct mx_settings_data
#define OF_AUGMENT " -1: as 'augment' says; 0: never."
static const struct mx_config_field data_fields[] = {
    {MX_CONFIG_TEXT(DATA, train_data, "", "Corpus folder, manifest file or packed corpus to train on."),
     .aliases = train_names},
    {MX_CONFIG_TEXT(DATA, val_data, "", "Folder or manifest file of the validation rows, if they stand elsewhere.")},
    {MX_CONFIG_DOUBLE(DATA, validation_fraction, 0, 0.5, "0.05", NULL,
                      "Share of the rows kept for validation where no file names them.")},
    {MX_CONFIG_STRING(DATA, language, "auto",
                      "Language of all texts: en, fa, es, fr, de, it, ru or any other language of espeak-ng; auto: by "
                      "the script of each "
                      "text.")},
    {MX_CONFIG_ENUM(DATA, tokens, enum mx_tokens_mode, token_choices, "phonemes",
                    "What the symbols are: phonemes by espeak-ng, or the characters themselves.")},
    {MX_CONFIG_DOUBLE(DATA, min_seconds, 0, 3600, "0.4", "seconds", "Shorter recordings are left out.")},
    {MX_CONFIG_DOUBLE(DATA, max_seconds, 0, 3600, "20", "seconds", "Longer recordings are left out, never cut.")},
    {MX_CONFIG_BOOL(DATA, allow_rejects, "false",
                    "Train on a folder even if more than 5 % of its rows cannot be used.")},
    {MX_CONFIG_BOOL(DATA, caching, "true",
                    "Keep decoded recordings of a folder in the run folder, so that each is decoded once."),
     .aliases = caching_names},
    {MX_CONFIG_INT(
         DATA, num_workers, 0, MX_PIPELINE_WORKERS, "0", NULL,
         "Threads that load batches. 0: one for each two cores at first, then as many as auto-tuning finds best."),
     .aliases = worker_names},
    {MX_CONFIG_DOUBLE(DATA, reference_seconds, 0.1, 60, "2", "seconds",
                      "Length of the crop of another recording that tells the network whose voice it is.")},
    {MX_CONFIG_BOOL(
        DATA, augment, "false",
        "Change each recording a little in each epoch, by values that suit most voices: level by up to 3 dB, "
        "speed and pitch by up to 5 %, noise in 3 of 10 recordings, no masks. Each can be set by itself, with "
        "this on or off.")},
    {MX_CONFIG_DOUBLE(DATA, augment_gain_db, -1, 24, "-1", "dB", "The level changes by at most this much." OF_AUGMENT)},
    {MX_CONFIG_DOUBLE(DATA, augment_noise_share, -1, 1, "-1", NULL,
                      "Share of the recordings that get white noise." OF_AUGMENT)},
    {MX_CONFIG_DOUBLE(DATA, augment_snr_min_db, -10, 100, "20", "dB", "The noise is at most this loud …")},
    {MX_CONFIG_DOUBLE(DATA, augment_snr_max_db, -10, 100, "40", "dB", "… and at least this loud, below the voice.")},
    {MX_CONFIG_DOUBLE(DATA, augment_speed, -1, 0.5, "-1", NULL,
                      "Speed and pitch change together, by at most this share." OF_AUGMENT)},
    {MX_CONFIG_INT(DATA, augment_band_masks, -1, MX_AUGMENT_MASKS, "-1", "masks",
                   "Stripes of mel bands that are blanked out." OF_AUGMENT)},
    {MX_CONFIG_INT(DATA, augment_band_width, -1, 64, "-1", "bands", "Width of the widest of them." OF_AUGMENT)},
    {MX_CONFIG_INT(DATA, augment_time_masks, -1, MX_AUGMENT_MASKS, "-1", "masks",
                   "Stretches of time that are blanked out." OF_AUGMENT)},
    {MX_CONFIG_DOUBLE(DATA, augment_time_share, -1, 0.5, "-1", NULL,
                      "Length of the longest of them, as a share of the recording." OF_AUGMENT)},
};
#undef DATA

/* ---- pipeline ---- */

static const struct mx_config_choice backend_choices[] = {
    {"auto", MX_SETTINGS_BACKEND_AUTO, "the first of the next three that has a device (of OpenCL: a GPU)"},
#define X(identifier, name) {name, MX_SETTINGS_BACKEND_##identifier, NULL},
    MX_BACKEND_LIST(X)
#undef X
        {NULL, 0, NULL}};
static const char *const data_gpu_names[] = {"data_gpu_id", "data.data_gpu", "training.data_gpu", NULL};
static const char *const model_gpu_names[] = {"model_gpu_id", "data.model_gpu", "training.model_gpu", NULL};
static const char *const buffer_names[] = {"pipeline_buffer_size", "data.pipeline_buffer_size", "data.buffer_size",
                                           NULL};
static const char *const prefetch_names[] = {"data.prefetch_buffer_size", "data.prefetch", "data.prefetch_size", NULL};
static const char *const delay_names[] = {"data.model_start_delay", "training.model_start_delay", NULL};
static const char *const isolation_names[] = {"enable_memory_isolation", "data.enable_memory_isolation",
                                              "training.enable_memory_isolation", NULL};
static const char *const shape_names[] = {"enable_static_shapes", "data.enable_static_shapes",
                                          "training.enable_static_shapes", "data.pad_to_fixed_length", NULL};
static const char *const tune_names[] = {"autotune", "data.auto_tune", "data.autotune", NULL};

static const struct mx_config_choice share_choices[] = {
    {"auto", MX_SHARE_AUTO, "where the data device is idle enough and it proves faster"},
    {"on", MX_SHARE_ON, NULL},
    {"off", MX_SHARE_OFF, NULL},
    {NULL, 0, NULL}};

#define PIPELINE struct mx_settings_pipeline
static const struct mx_config_field pipeline_fields[] = {
    {MX_CONFIG_ENUM(PIPELINE, backend, enum mx_settings_backend, backend_choices, "auto",
                    "Kind of devices that 'data_gpu' and 'model_gpu' count, or that the best one is taken from.")},
    {MX_CONFIG_STRING(PIPELINE, device, "",
                      "The device that does everything, by name: cuda:0, cpu:0. Empty: by the next four.")},
    {MX_CONFIG_INT(
         PIPELINE, data_gpu, -1, 9999, "-1", NULL,
         "Number, in the backend, of the device that prepares batches. With 'model_gpu' this is Multi-GPU Mode; "
         "without either, Single-GPU Buffered Mode. -1: none."),
     .aliases = data_gpu_names},
    {MX_CONFIG_INT(PIPELINE, model_gpu, -1, 9999, "-1", NULL, "Number of the device that trains. -1: none."),
     .aliases = model_gpu_names},
    {MX_CONFIG_STRING(PIPELINE, data_device, "", "The same by name, such as cuda:2 or cpu:0, for any two backends.")},
    {MX_CONFIG_STRING(PIPELINE, model_device, "", "The device that trains, by name.")},
    {MX_CONFIG_BOOL(
        PIPELINE, allow_single, "false",
        "Do everything on one device where the two that were asked for are not there, and say so. Otherwise "
        "that is an error.")},
    {MX_CONFIG_INT(PIPELINE, buffer_size, 0, MX_PIPELINE_PREPARED, "0", "batches",
                   "Prepared batches that wait on the data device, ready to be trained on. A number is what runs from "
                   "the first step on: 25 for little memory, 100 for much memory and a disk or a corpus of uneven "
                   "speed. 0: 50, or what the memory limit allows, of which auto_tune uses as many as the flow wants."),
     .aliases = buffer_names},
    {MX_CONFIG_INT(PIPELINE, prefetch_buffer_size, 0, MX_PIPELINE_LOADED, "0", "batches",
                   "Loaded batches that wait for the data device. A number is what runs from the first step on. 0: "
                   "max(2, min(8, 64/batch size)), of which auto_tune uses as many as the flow wants."),
     .aliases = prefetch_names},
    {MX_CONFIG_DOUBLE(
         PIPELINE, model_start_delay, 0, 86400, "2", "seconds",
         "The model starts as soon as its first batch is there. After this time without one it says what is "
         "missing, and goes on waiting."),
     .aliases = delay_names},
    {MX_CONFIG_BOOL(
         PIPELINE, memory_isolation, "false",
         "Each device gets a hard memory limit: device.data_memory_mb and device.model_memory_mb, or 8192 and "
         "16384 MiB (less where a device has less)."),
     .aliases = isolation_names},
    {MX_CONFIG_BOOL(
         PIPELINE, static_shapes, "false",
         "Round the room for a batch up to fixed sizes. Batches are never padded, so this only helps devices "
         "that record a step's work and start it as one (CUDA graphs)."),
     .aliases = shape_names},
    {MX_CONFIG_BOOL(
         PIPELINE, auto_tune, "true",
         "What is not given of num_workers, buffer_size and prefetch_buffer_size follows the stage times that are "
         "measured, from the first steps to the last one; the log says what was chosen, when and why."),
     .aliases = tune_names},
    {MX_CONFIG_BOOL(
        PIPELINE, overlap, "true",
        "Load, process, transfer and train at the same time. false: one after the other, to compare with.")},
    {MX_CONFIG_ENUM(
        PIPELINE, share_work, enum mx_share_mode, share_choices, "off",
        "In Multi-GPU Mode the data device trains on a part of each batch, too, in the time that preparing "
        "batches leaves it. The part follows the speeds measured in the first steps, and the log tells each "
        "change: so results are those of one device up to rounding only.")},
    {MX_CONFIG_TEXT(PIPELINE, shares, "",
                    "With share_work: parts that the data device takes, as STEP:SHARE pairs with commas between "
                    "(0:0.5,15:0.47), instead of measured ones. The log of a run ends with the list that repeats it "
                    "exactly.")},
};
#undef PIPELINE

/* Names of the program that this one succeeds for what is always so here. */
static const struct mx_config_answer answers[] = {
    {"prefetch_to_gpu", "true", "a batch always lies on the device before it is trained on"},
    {"enable_parallel_batch", "true",
     "batches are always put together by 'data.num_workers' threads; for one after the other set that to 1"},
    {"enable_map_fusion", "true", "the steps that make features always run as fused operations"},
    {"enable_map_parallelization", "true",
     "recordings are always decoded by 'data.num_workers' threads at the same time"},
    {"use_native_loading", "true", "recordings are always read by native code"},
    {"use_tf_native_loading", "true", "recordings are always read by native code; there is no TensorFlow here"},
    {"pin_memory", "true", "host memory for copies is always page-locked where the device gains from that"},
    {"deterministic", "true", "order and results are always a function of the seed, and that costs no speed"},
    {"enable_monitoring", "true", "step times, devices and memory are always watched"},
    {"n_mels", "80", "mels always have 80 bands"},
    {"min_audio_length", NULL, "'data.min_seconds' leaves shorter recordings out"},
    {"max_text_length", NULL, "texts are never cut"},
    {"max_mel_frames", NULL, "recordings are never cut; 'data.max_seconds' leaves longer ones out"},
    {"use_phonemes", NULL, "'data.tokens' is phonemes or chars"},
    {"tokenizer_type", NULL, "'data.tokens' is phonemes or chars"},
    {"use_huber_loss", "false", "the mel loss is the mean distance; MODEL.md has all losses"},
    {"huber_delta", NULL, "the mel loss is the mean distance; MODEL.md has all losses"},
    {"use_label_smoothing", "false", "there is no stop token whose labels could be smoothed: durations are predicted"},
    {"mel_label_smoothing", "0", "targets are the mels as they are"},
    {"stop_label_smoothing", NULL, "there is no stop token: durations are predicted"},
    {"stop_token_positive_weight", NULL, "there is no stop token: durations are predicted"},
    {"pipeline_depth", "2", "each stage on a device always works two batches ahead"},
};

/* ---- training ---- */

static const struct mx_config_choice level_choices[] = {
#define X(identifier, name, a, b, c, d, e, f, g, h, i, words) {name, MX_LEVEL_##identifier, words},
    MX_LEVEL_LIST(X)
#undef X
        {NULL, 0, NULL}};
static const struct mx_config_choice report_choices[] = {{"en", MX_SETTINGS_REPORT_EN, "English"},
                                                         {"fa", MX_SETTINGS_REPORT_FA, "Persian, right to left"},
                                                         {"off", MX_SETTINGS_REPORT_OFF, "none is written"},
                                                         {NULL, 0, NULL}};
static const char *const batch_names[] = {"data.batch_size", NULL};
static const char *const accum_names[] = {"gradient_accumulation_steps", "grad_accum_steps", NULL};
static const char *const clip_names[] = {"gradient_clip_norm", NULL};
static const char *const rate_names[] = {"lr", NULL};
static const char *const save_names[] = {"save_step", NULL};
static const char *const eval_names[] = {"val_step", NULL};
static const char *const mixed_names[] = {"mixed_precision", NULL};

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
    {MX_CONFIG_BOOL(
         TRAINING, mixed_precision, "false",
         "Multiply bf16 numbers with fp32 sums, and keep part of the activations as such; weights, optimizer "
         "and checkpoints stay fp32. Only on devices that 'myxtts devices' shows with bf16."),
     .aliases = mixed_names},
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
    {MX_CONFIG_DOUBLE(TRAINING, rank_timeout, 1, 86400, "300", "seconds",
                      "With several processes: end all of them when one makes no progress for so long.")},
    {MX_CONFIG_BOOL(TRAINING, batch_per_rank, "false",
                    "With several processes: batch_size and batch_frames are those of each one. false: of all of them "
                    "together, so that a run does not depend on how many there are.")},
    {MX_CONFIG_STRING(
        TRAINING, dashboard, "",
        "ADDRESS:PORT of the page that shows the run live; empty or off: none. Other than loopback addresses "
        "need '--dashboard-token', which is never written down.")},
    {MX_CONFIG_BOOL(TRAINING, tensorboard, "true",
                    "Write TensorBoard's event files into tensorboard/ of the run folder.")},
    {MX_CONFIG_INT(TRAINING, tensorboard_mb, 0, INT64_C(1) << 30, "1024", "MiB",
                   "What tensorboard/ may take: when there is more, the oldest event files are deleted. 0: no limit.")},
    {MX_CONFIG_INT(
        TRAINING, keep_samples, 0, 1000000000, "100", "evaluations",
        "Of how many evaluations samples/ keeps sounds and pictures: the newest, and the best one. 0: of all.")},
    {MX_CONFIG_ENUM(TRAINING, report, enum mx_settings_report, report_choices, "en",
                    "Language of report.html, the page that is written when training ends.")},
};
#undef TRAINING

static const struct mx_config_section sections[] = {
    {.name = "device",
     .help = "The devices that do the work, and how much of their memory each role may take.",
     .fields = device_fields,
     .count = sizeof device_fields / sizeof device_fields[0],
     .offset = offsetof(struct mx_settings, device)},
    {.name = "pipeline",
     .help = "How the batches get to the model: which devices, how many at a time.",
     .fields = pipeline_fields,
     .count = sizeof pipeline_fields / sizeof pipeline_fields[0],
     .offset = offsetof(struct mx_settings, pipeline)},
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
    .answers = answers,
    .answer_count = sizeof answers / sizeof answers[0],
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

const char *mx_settings_backend_name(enum mx_settings_backend backend)
{
    return backend_choices[backend].name;
}

int32_t mx_settings_buffer(const struct mx_settings *settings)
{
    const int64_t given = settings->pipeline.buffer_size;
    return given > 0 ? (int32_t)given : MX_SETTINGS_BUFFER;
}

int32_t mx_settings_prefetch(const struct mx_settings *settings)
{
    const int64_t given = settings->pipeline.prefetch_buffer_size, batch = settings->training.batch_size;
    if (given > 0) return (int32_t)given;
    const int64_t share = 64 / (batch > 0 ? batch : 64); /* batches that frames limit are large ones */
    return (int32_t)(share < 2 ? 2 : share > 8 ? 8 : share);
}

struct mx_augment_options mx_settings_augment(const struct mx_settings *settings)
{
    const struct mx_settings_data *const d = &settings->data;
    struct mx_augment_options o = {.snr_min_db = d->augment_snr_min_db, .snr_max_db = d->augment_snr_max_db};
    if (d->augment) {
        o.gain_db = 3;
        o.noise_share = 0.3;
        o.speed = 0.05;
    }
    if (d->augment_gain_db >= 0) o.gain_db = d->augment_gain_db;
    if (d->augment_noise_share >= 0) o.noise_share = d->augment_noise_share;
    if (d->augment_speed >= 0) o.speed = d->augment_speed;
    if (d->augment_band_masks >= 0) o.band_masks = (int)d->augment_band_masks;
    if (d->augment_band_width >= 0) o.band_width_max = (int)d->augment_band_width;
    if (d->augment_time_masks >= 0) o.time_masks = (int)d->augment_time_masks;
    if (d->augment_time_share >= 0) o.time_share_max = d->augment_time_share;
    return o;
}

int mx_settings_flag(struct mx_settings *settings, const char *flag, const char *key, const char *value)
{
    char *const assignment = mx_format("%s=%s", key, value);
    const int rc = assignment == NULL ? MX_ERR_NO_MEMORY : mx_config_set(&mx_settings_schema, settings, assignment);
    mx_free(assignment);
    return rc < 0 ? mx_error_wrap("option '--%s'", flag) : 0;
}

int mx_settings_read(const char *config, const char *const *set, size_t count, struct mx_settings *out)
{
    int rc = mx_config_defaults(&mx_settings_schema, out);
    if (rc < 0) return rc;
    if (config != NULL) MX_TRY(mx_config_load(&mx_settings_schema, out, config));
    for (size_t i = 0; i < count; i++) MX_TRY(mx_config_set(&mx_settings_schema, out, set[i]));
out:
    if (rc < 0) mx_config_release(&mx_settings_schema, out);
    return rc;
}
