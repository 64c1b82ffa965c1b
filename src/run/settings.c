/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The settings of the whole program, see settings.h. A new key, with its flag, needs nothing but a row in the tables
 * below.
 */
#include "run/settings.h"

#include "base/alloc.h"
#include "myxtts/error.h"
#include "myxtts/pipeline.h"
#include "observe/dashboard.h"
#include "train/feed/segment.h"

/* The names of these limits on the command line of the program that this one succeeds. */
static const char *const data_memory_names[] = {"data_gpu_memory",         "data_gpu_memory_limit",
                                                "data.data_gpu_memory",    "pipeline.data_gpu_memory",
                                                "pipeline.data_memory_mb", NULL};
static const char *const model_memory_names[] = {"model_gpu_memory",         "model_gpu_memory_limit",
                                                 "data.model_gpu_memory",    "pipeline.model_gpu_memory",
                                                 "pipeline.model_memory_mb", NULL};

#define MEMORY_MOST_MB (INT64_C(1) << 30) /* a pebibyte: more is a typing error */

static const struct mx_config_field device_fields[] = {
    {MX_CONFIG_INT(struct mx_settings_device, cpu_devices, 1, MX_SETTINGS_CPU_DEVICES_MAX, "1", NULL,
                   "Split the CPU cores into N logical devices. With two, the data device and the model device work in "
                   "parallel on a machine without a GPU."),
     .flag = "cpu-devices", .value = "N"},
    {MX_CONFIG_INT(
         struct mx_settings_device, data_memory_mb, 0, MEMORY_MOST_MB, "0", "MiB",
         "Memory limit of the data device. 0: with pipeline.memory_isolation 8192, or less if the device has less; "
         "without it the recommended share of the device's memory. One device that does everything gets the sum of "
         "both "
         "limits. Two CPU devices share the same memory, so both limits together must fit."),
     .flag = "data-gpu-memory", .value = "MiB", .meaning = "a third of the device's memory",
     .aliases = data_memory_names},
    {MX_CONFIG_INT(struct mx_settings_device, model_memory_mb, 0, MEMORY_MOST_MB, "0", "MiB",
                   "Memory limit of the model device. 0: with pipeline.memory_isolation 16384, or less if the device "
                   "has less; without it the recommended share of the device's memory."),
     .flag = "model-gpu-memory", .value = "MiB", .meaning = "two thirds of the device's memory",
     .aliases = model_memory_names},
};

/* ---- model ---- */

static const char *const checkpointing_names[] = {"enable_gradient_checkpointing",
                                                  "training.enable_gradient_checkpointing", NULL};
static const char *const size_names[] = {"model_size", "training.model_size", NULL};

#define MODEL struct mx_settings_model
static const struct mx_config_field model_fields[] = {
    {MX_CONFIG_STRING(MODEL, size, "tiny",
                      "Size of the network: tiny, small, normal, base or big. 'myxtts train --dry-run' shows the "
                      "dimensions and the number of parameters of each."),
     .flag = "model-size", .value = "NAME", .aliases = size_names},
    {MX_CONFIG_INT(MODEL, width, 0, 65536, "0", NULL, "Width of all layers. 0: from model.size.")},
    {MX_CONFIG_INT(MODEL, heads, 0, 1024, "0", NULL, "Number of attention heads. 0: from model.size.")},
    {MX_CONFIG_INT(MODEL, encoder_blocks, 0, 64, "0", NULL, "Number of text encoder blocks. 0: from model.size.")},
    {MX_CONFIG_INT(MODEL, decoder_blocks, 0, 64, "0", NULL, "Number of decoder blocks. 0: from model.size.")},
    {MX_CONFIG_INT(MODEL, hidden, 0, 1048576, "0", NULL, "Width inside the feed-forward layers. 0: from model.size.")},
    {MX_CONFIG_DOUBLE(
        MODEL, dropout, -1, 0.9, "-1", NULL,
        "Dropout: fraction of values zeroed at random during training. Negative: from the optimization level.")},
    {MX_CONFIG_BOOL(MODEL, gradient_checkpointing, "false",
                    "Recompute the blocks in the backward pass instead of storing them: less memory, about a third "
                    "more time, the same gradients."),
     .aliases = checkpointing_names},
#define X(NAME, key, over, weight, words)                                                                              \
    {MX_CONFIG_DOUBLE(MODEL, key##_weight, 0, 1000, #weight, NULL, "Weight of the " words " loss in the total loss.")},
    MX_LOSS_LIST(X)
#undef X
};
#undef MODEL

/* ---- vocoder ---- */

#define VOCODER struct mx_settings_vocoder
static const struct mx_config_field vocoder_fields[] = {
    {MX_CONFIG_STRING(VOCODER, size, "small", "Size of the vocoder: small or large.")},
    {MX_CONFIG_TEXT(VOCODER, from, "",
                    "Use the vocoder of this checkpoint, run folder or installed voice. It is trained further only if "
                    "vocoder.learning_rate is set. Empty: train a new one."),
     .flag = "vocoder", .value = "FILE|RUN", .meaning = "a new one is trained"},
    {MX_CONFIG_INT(VOCODER, segments, 1, MX_SEGMENTS_MAX, "8", "segments",
                   "Number of short segments of each batch that the vocoder learns from. With training.part=vocoder, "
                   "batches consist of these segments, and training.batch_size has no effect.")},
    {MX_CONFIG_INT(VOCODER, segment_frames, MX_SEGMENT_FRAMES_MIN, MX_SEGMENT_FRAMES_MAX, "64", "frames",
                   "Length of a segment in mel frames. A shorter recording gives a shorter segment.")},
    {MX_CONFIG_DOUBLE(VOCODER, augment, 0, 1, "0.67", NULL,
                      "Fraction of the segments whose mel is smoothed and gets a little noise, so that it resembles a "
                      "predicted mel.")},
    {MX_CONFIG_INT(VOCODER, predicted_from, 0, INT64_C(1) << 40, "1000", "steps",
                   "With training.part=both: step from which on some segments use the mel that the acoustic network "
                   "predicts.")},
    {MX_CONFIG_DOUBLE(VOCODER, predicted_share, 0, 1, "0.5", NULL,
                      "Fraction of the segments that use the predicted mel from then on. 0: none.")},
    {MX_CONFIG_DOUBLE(VOCODER, learning_rate, -1, 1, "-1", NULL,
                      "Peak learning rate of the vocoder. 0: the vocoder is not trained. Negative: 0.001 for a new "
                      "vocoder, 0 for one that vocoder.from names."),
     .flag = "vocoder-lr", .value = "RATE", .meaning = "0.001; with --vocoder 0, which leaves it unchanged"},
    {MX_CONFIG_INT(VOCODER, warmup_steps, 0, INT64_C(1) << 40, "100", "steps",
                   "Steps of learning rate warm-up of the vocoder; at most a tenth of all steps.")},
    {MX_CONFIG_DOUBLE(VOCODER, learning_rate_floor, 0, 1, "0.05", NULL,
                      "Lowest learning rate of the vocoder after warm-up, as a fraction of the peak.")},
    {MX_CONFIG_DOUBLE(VOCODER, beta1, 0, 0.9999, "0.9", NULL,
                      "AdamW's beta1 for the vocoder: decay of the first moment.")},
    {MX_CONFIG_DOUBLE(VOCODER, beta2, 0, 0.99999, "0.99", NULL,
                      "AdamW's beta2 for the vocoder: decay of the second moment.")},
    {MX_CONFIG_DOUBLE(VOCODER, weight_decay, 0, 1, "0.01", NULL, "Weight decay of AdamW for the vocoder.")},
    {MX_CONFIG_DOUBLE(VOCODER, grad_clip, 0, 1e9, "2", NULL,
                      "Clip the gradients of the vocoder to this norm. 0: never.")},
    {MX_CONFIG_DOUBLE(VOCODER, ema_decay, 0, 0.999999, "0.998", NULL,
                      "Decay of the vocoder's averaged weights, which are the ones that make the sound.")},
    {MX_CONFIG_INT(VOCODER, rounds, 0, 1000, "8", "rounds",
                   "Rounds of Griffin-Lim after the vocoder when samples are spoken: more rounds fit the phases better "
                   "and take longer.")},
    {MX_CONFIG_INT(VOCODER, projections, 0, 100, "0", "corrections",
                   "Number of corrections of a sample that bring the mel of its sound closer to the mel that it was "
                   "made from.")},
};
#undef VOCODER

/* ---- data ---- */

static const struct mx_config_choice token_choices[] = {
#define X(identifier, name) {name, MX_TOKENS_##identifier, NULL},
    MX_TOKENS_LIST(X)
#undef X
        {NULL, 0, NULL}};
static const struct mx_config_choice recipe_choices[] = {
    {"auto", MX_SETTINGS_RECIPE_AUTO, "that of the weights that a run begins with, or else the first of the others"},
#define X(identifier, name, words, ...) {name, MX_SETTINGS_RECIPE_##identifier, words},
    MX_RECIPE_LIST(X)
#undef X
        {NULL, 0, NULL}};
static const struct mx_config_choice balance_choices[] = {
#define X(identifier, name) {name, MX_BALANCE_##identifier, NULL},
    MX_BALANCE_LIST(X)
#undef X
        {NULL, 0, NULL}};
static const char *const worker_names[] = {"training.num_workers", "pipeline.num_workers", NULL};
static const char *const caching_names[] = {"enable_caching", NULL};
static const char *const train_names[] = {"dataset_path", NULL};

#define DATA       struct mx_settings_data
#define OF_AUGMENT " -1: as data.augment decides; 0: never."
static const struct mx_config_field data_fields[] = {
    {MX_CONFIG_TEXT(DATA, train_data, "",
                    "Corpus folder, manifest file or packed corpus to train on. With training.part=vocoder, a folder "
                    "of sound files without texts is enough: all of them are used, and subfolders are searched, too."),
     .flag = "train-data", .value = "DIR", .aliases = train_names},
    {MX_CONFIG_TEXT(DATA, val_data, "",
                    "Folder, manifest file or packed corpus of the validation rows, if they are separate."),
     .flag = "val-data", .value = "DIR", .meaning = "5 % of the rows"},
    {MX_CONFIG_DOUBLE(DATA, validation_fraction, 0, 0.5, "0.05", NULL,
                      "Fraction of the rows kept for validation if no file names them.")},
    {MX_CONFIG_STRING(
         DATA, language, "auto",
         "Language of all texts: en, fa, es, fr, de, it, ru or any other language of espeak-ng; auto detects it from "
         "the script of each text."),
     .flag = "language", .value = "LANGUAGE"},
    {MX_CONFIG_ENUM(DATA, tokens, enum mx_tokens_mode, token_choices, "phonemes",
                    "Symbols that the network reads: phonemes from espeak-ng, or the characters themselves.")},
    {MX_CONFIG_ENUM(DATA, recipe, enum mx_settings_recipe, recipe_choices, "auto",
                    "Recipe of the features, which decides the samples per second of the voice and the bands of its "
                    "mel. A voice, its vocoder and a packed corpus fit together if they have the same recipe."),
     .flag = "recipe", .value = "NAME"},
    {MX_CONFIG_TEXT(DATA, lexicon, "",
                    "File that says how words are pronounced. The voice keeps these words and always pronounces them "
                    "that way."),
     .flag = "lexicon", .value = "FILE"},
    {MX_CONFIG_TEXT(DATA, decisions, "",
                    "File that says which rows are dropped, which have another text, and which are good."),
     .flag = "decisions", .value = "FILE", .meaning = "decisions.tsv beside the manifest"},
    {MX_CONFIG_DOUBLE(DATA, min_seconds, 0, 3600, "0.4", "seconds", "Leave out shorter recordings.")},
    {MX_CONFIG_DOUBLE(DATA, max_seconds, 0, 3600, "20", "seconds",
                      "Cut longer recordings into rows of at most 15 seconds, or leave them out: data.cut_long.")},
    {MX_CONFIG_BOOL(
         DATA, cut_long, "true",
         "Cut recordings of a corpus folder that are longer than data.max_seconds at pauses, each piece with "
         "its part of the text; what cannot be cut is left out. The pieces are kept in cut/ in the run "
         "folder. Without a voice that finds the words (data.cut_voice), all of them are left out."),
     .flag = "cut-long", .value = "on|off"},
    {MX_CONFIG_TEXT(DATA, cut_voice, "",
                    "Voice that finds the words of long recordings: an installed voice, or a run folder, checkpoint or "
                    "voice file."),
     .flag = "cut-voice", .value = "VOICE", .meaning = "the installed base voice"},
    {MX_CONFIG_BOOL(DATA, allow_rejects, "false",
                    "Train on a folder even if more than 5 % of its rows cannot be used."),
     .flag = "allow-rejects"},
    {MX_CONFIG_BOOL(
         DATA, caching, "true",
         "Cache the decoded recordings of a corpus folder in the run folder, so that each is decoded only once."),
     .aliases = caching_names},
    {MX_CONFIG_INT(DATA, num_workers, 0, MX_PIPELINE_WORKERS, "0", NULL,
                   "Number of threads that load batches. 0: start with one per two cores, then auto-tune."),
     .flag = "num-workers", .value = "N", .meaning = "one per two cores, then auto-tuned", .aliases = worker_names},
    {MX_CONFIG_INT(DATA, num_workers_max, 1, MX_PIPELINE_WORKERS, "32", NULL,
                   "Largest number of threads that auto-tuning lets load batches. It uses more of them than there are "
                   "cores only while they wait for a slow disk. Each needs host memory for a batch, so there are fewer "
                   "where they would take more than an eighth of the machine's memory.")},
    {MX_CONFIG_DOUBLE(DATA, reference_seconds, 0.1, 60, "2", "seconds",
                      "Length of the excerpt from another recording that shows the network whose voice to use.")},
    {MX_CONFIG_ENUM(DATA, balance, enum mx_balance, balance_choices, "utterance",
                    "How often each speaker of a corpus with several is heard. utterance: every recording once an "
                    "epoch; speaker: all speakers equally often; root: between the two, by the square root of their "
                    "numbers of recordings. 'myxtts check' shows what follows for each speaker.")},
    {MX_CONFIG_BOOL(DATA, augment, "false",
                    "Vary each recording slightly in every epoch with values that suit most voices: level by up to 3 "
                    "dB, speed and pitch by up to 5 %, noise in 3 of 10 recordings, no masks. Each value has its own "
                    "setting, which works with this on or off."),
     .flag = "augment"},
    {MX_CONFIG_DOUBLE(DATA, augment_gain_db, -1, 24, "-1", "dB", "Maximum change of the level." OF_AUGMENT)},
    {MX_CONFIG_DOUBLE(DATA, augment_noise_share, -1, 1, "-1", NULL,
                      "Fraction of the recordings that get white noise." OF_AUGMENT)},
    {MX_CONFIG_DOUBLE(DATA, augment_snr_min_db, -10, 100, "20", "dB", "Lowest signal-to-noise ratio of added noise.")},
    {MX_CONFIG_DOUBLE(DATA, augment_snr_max_db, -10, 100, "40", "dB", "Highest signal-to-noise ratio of added noise.")},
    {MX_CONFIG_DOUBLE(DATA, augment_speed, -1, 0.5, "-1", NULL,
                      "Maximum relative change of speed and pitch, which change together." OF_AUGMENT)},
    {MX_CONFIG_INT(DATA, augment_band_masks, -1, MX_AUGMENT_MASKS, "-1", "masks",
                   "Number of masked ranges of mel bands (SpecAugment)." OF_AUGMENT)},
    {MX_CONFIG_INT(DATA, augment_band_width, -1, 64, "-1", "bands",
                   "Maximum width of a masked range of mel bands." OF_AUGMENT)},
    {MX_CONFIG_INT(DATA, augment_time_masks, -1, MX_AUGMENT_MASKS, "-1", "masks",
                   "Number of masked time ranges (SpecAugment)." OF_AUGMENT)},
    {MX_CONFIG_DOUBLE(DATA, augment_time_share, -1, 0.5, "-1", NULL,
                      "Maximum length of a masked time range, as a fraction of the recording." OF_AUGMENT)},
};
#undef DATA

/* ---- pipeline ---- */

static const struct mx_config_choice backend_choices[] = {
    {"auto", MX_SETTINGS_BACKEND_AUTO, "the first of the others that has a device (for OpenCL: a GPU)"},
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
    {"auto", MX_SHARE_AUTO, "only if the data device is idle enough and sharing measures faster"},
    {"on", MX_SHARE_ON, NULL},
    {"off", MX_SHARE_OFF, NULL},
    {NULL, 0, NULL}};

#define PIPELINE struct mx_settings_pipeline
static const struct mx_config_field pipeline_fields[] = {
    {MX_CONFIG_ENUM(PIPELINE, backend, enum mx_settings_backend, backend_choices, "auto",
                    "Backend whose devices pipeline.data_gpu and pipeline.model_gpu number; without those two, the "
                    "backend that the device is chosen from."),
     .flag = "backend", .value = "NAME"},
    {MX_CONFIG_STRING(PIPELINE, device, "",
                      "Use this one device for everything, by name such as cuda:0 or cpu:0. Empty: chosen by the other "
                      "options, or the best available device."),
     .flag = "device", .value = "NAME", .meaning = "the best available device"},
    {MX_CONFIG_INT(PIPELINE, data_gpu, -1, 9999, "-1", NULL,
                   "Number, within the backend, of the device that prepares batches. With pipeline.model_gpu: "
                   "Multi-GPU Mode. Without both, one device does everything. -1: not set."),
     .flag = "data-gpu", .value = "N", .meaning = "none", .aliases = data_gpu_names},
    {MX_CONFIG_INT(PIPELINE, model_gpu, -1, 9999, "-1", NULL,
                   "Number, within the backend, of the device that trains. -1: not set."),
     .flag = "model-gpu", .value = "N", .meaning = "none", .aliases = model_gpu_names},
    {MX_CONFIG_STRING(PIPELINE, data_device, "",
                      "Device that prepares batches, by name such as cuda:2 or cpu:0. The two devices may belong to "
                      "different backends."),
     .flag = "data-device", .value = "NAME", .meaning = "none"},
    {MX_CONFIG_STRING(PIPELINE, model_device, "", "Device that trains, by name."), .flag = "model-device",
     .value = "NAME", .meaning = "none"},
    {MX_CONFIG_BOOL(PIPELINE, allow_single, "false",
                    "Fall back to one device, with a warning, if the two requested devices are not available. "
                    "Otherwise that is an error."),
     .flag = "allow-single"},
    {MX_CONFIG_INT(
         PIPELINE, buffer_size, 0, MX_PIPELINE_PREPARED, "0", "batches",
         "Number of prepared batches that may wait on the data device for training. A given number is used from the "
         "first step on: 25 for little memory, 100 for plenty of memory and a disk or corpus of uneven speed. 0: up to "
         "50, or what the memory limit allows; auto-tuning uses as many of them as needed."),
     .flag = "buffer-size", .value = "N", .meaning = "up to 50, auto-tuned", .aliases = buffer_names},
    {MX_CONFIG_INT(PIPELINE, prefetch_buffer_size, 0, MX_PIPELINE_LOADED, "0", "batches",
                   "Number of loaded batches that may wait for the data device. A given number is used from the first "
                   "step on. 0: up to max(2, min(8, 64/batch size)); auto-tuning uses as many of them as needed."),
     .flag = "prefetch-buffer-size", .value = "N", .meaning = "up to max(2, min(8, 64/batch size)), auto-tuned",
     .aliases = prefetch_names},
    {MX_CONFIG_DOUBLE(PIPELINE, model_start_delay, 0, 86400, "2", "seconds",
                      "The model starts as soon as its first batch arrives. If none has arrived after this time, a "
                      "message says what is missing, and the model keeps waiting."),
     .flag = "model-start-delay", .value = "SECONDS", .aliases = delay_names},
    {MX_CONFIG_BOOL(PIPELINE, memory_isolation, "false",
                    "Enforce a memory limit on each device: device.data_memory_mb and device.model_memory_mb, or 8192 "
                    "and 16384 MiB (less if a device has less memory)."),
     .flag = "enable-memory-isolation", .aliases = isolation_names},
    {MX_CONFIG_BOOL(PIPELINE, static_shapes, "false",
                    "Round the memory for a batch up to fixed sizes. Batches are never padded, so this only helps "
                    "devices that record the work of a step and replay it (CUDA graphs)."),
     .flag = "enable-static-shapes", .aliases = shape_names},
    {MX_CONFIG_BOOL(PIPELINE, auto_tune, "true",
                    "Tune data.num_workers, pipeline.buffer_size and pipeline.prefetch_buffer_size, where they are not "
                    "set, from measured stage times during the whole run. The log reports each change and its reason."),
     .flag = "auto-tune", .value = "on|off", .aliases = tune_names},
    {MX_CONFIG_BOOL(PIPELINE, overlap, "true",
                    "Load, process, transfer and train in parallel. false: one after the other, for comparison.")},
    {MX_CONFIG_ENUM(PIPELINE, share_work, enum mx_share_mode, share_choices, "off",
                    "In Multi-GPU Mode, let the data device also train on a share of each batch in the time that "
                    "preparing batches leaves it. The share follows the speeds measured in the first steps, and the "
                    "log reports each change. Results match those of one device only up to rounding."),
     .flag = "share-work", .value = "auto|on|off"},
    {MX_CONFIG_TEXT(
         PIPELINE, shares, "",
         "With pipeline.share_work: use these shares for the data device instead of measured ones, as STEP:SHARE pairs "
         "separated by commas (0:0.5,15:0.47). The log of a run ends with the list that reproduces it exactly."),
     .flag = "shares", .value = "LIST", .meaning = "measured"},
};
#undef PIPELINE

/* Names in the program that this one succeeds for what is always the case here. */
static const struct mx_config_answer answers[] = {
    {"prefetch_to_gpu", "true", "a batch is always on the device before it is trained on"},
    {"enable_parallel_batch", "true",
     "batches are always assembled by 'data.num_workers' threads; set that to 1 to assemble them one after the other"},
    {"enable_map_fusion", "true", "feature extraction always runs as fused operations"},
    {"enable_map_parallelization", "true", "recordings are always decoded by 'data.num_workers' threads in parallel"},
    {"use_native_loading", "true", "recordings are always read by native code"},
    {"use_tf_native_loading", "true", "recordings are always read by native code; there is no TensorFlow here"},
    {"pin_memory", "true", "host memory for copies is always page-locked if the device benefits"},
    {"deterministic", "true", "order and results always depend on the seed alone, at no cost in speed"},
    {"enable_monitoring", "true", "step times, devices and memory are always monitored"},
    {"n_mels", "80", "mels always have 80 bands"},
    {"min_audio_length", NULL, "'data.min_seconds' leaves shorter recordings out"},
    {"max_text_length", NULL, "texts are never cut"},
    {"max_mel_frames", NULL,
     "'data.max_seconds' is the longest recording; longer ones are cut at pauses ('data.cut_long')"},
    {"use_phonemes", NULL, "'data.tokens' is phonemes or chars"},
    {"tokenizer_type", NULL, "'data.tokens' is phonemes or chars"},
    {"use_huber_loss", "false", "the mel loss is the mean distance; MODEL.md describes all losses"},
    {"huber_delta", NULL, "the mel loss is the mean distance; MODEL.md describes all losses"},
    {"use_label_smoothing", "false", "there is no stop token whose labels could be smoothed; durations are predicted"},
    {"mel_label_smoothing", "0", "targets are the unmodified mels"},
    {"stop_label_smoothing", NULL, "there is no stop token; durations are predicted"},
    {"stop_token_positive_weight", NULL, "there is no stop token; durations are predicted"},
    {"device.opencl_split", "0", "OpenCL devices are always used whole"},
    {"pipeline_depth", "2", "each stage on a device always works two batches ahead"},
};

/* ---- training ---- */

static const struct mx_config_choice level_choices[] = {
    {"basic", MX_LEVEL_BASIC, "half the usual rate and a high floor: slow and safe"},
    {"enhanced", MX_LEVEL_ENHANCED, "one long cosine from the full rate: start with this"},
    {"plateau_breaker", MX_LEVEL_PLATEAU_BREAKER,
     "four cosines, each peaking at 70 % of the one before, with tighter clipping and stronger regularisation"},
    {NULL, 0, NULL}};
static const struct mx_config_choice part_choices[] = {
    {"both", MX_SETTINGS_PART_BOTH, "the acoustic network and the vocoder, in the same steps"},
    {"acoustic", MX_SETTINGS_PART_ACOUSTIC, "only the network that turns text into mel"},
    {"vocoder", MX_SETTINGS_PART_VOCODER, "only the network that turns mel into sound; needs no texts"},
    {NULL, 0, NULL}};
static const struct mx_config_choice report_choices[] = {
    {"auto", MX_SETTINGS_REPORT_AUTO, "the language of the environment (LANGUAGE, LC_ALL, …)"},
    {"en", MX_SETTINGS_REPORT_EN, "English"},
    {"fa", MX_SETTINGS_REPORT_FA, "Persian, right to left"},
    {"off", MX_SETTINGS_REPORT_OFF, "no report is written"},
    {NULL, 0, NULL}};
static const char *const batch_names[] = {"data.batch_size", NULL};
static const char *const accum_names[] = {"gradient_accumulation_steps", "grad_accum_steps", NULL};
static const char *const clip_names[] = {"gradient_clip_norm", NULL};
static const char *const rate_names[] = {"lr", NULL};
static const char *const save_names[] = {"save_step", NULL};
static const char *const eval_names[] = {"val_step", NULL};
static const char *const mixed_names[] = {"mixed_precision", NULL};

#define TRAINING struct mx_settings_training
#define OF_LEVEL " Negative: from the optimization level."
static const struct mx_config_field training_fields[] = {
    {MX_CONFIG_ENUM(TRAINING, part, enum mx_settings_part, part_choices, "both", "What to train."), .flag = "part",
     .value = "NAME"},
    {MX_CONFIG_INT(
         TRAINING, batch_size, 0, 65536, "16", "utterances",
         "Number of utterances per batch: the mean, if training.batch_frames is -1; otherwise the maximum, and 0 "
         "is no limit."),
     .flag = "batch-size", .value = "N", .aliases = batch_names},
    {MX_CONFIG_INT(
        TRAINING, batch_frames, -1, 100000000, "-1", "frames",
        "Maximum number of mel frames per batch. -1: chosen from the corpus, so that all steps are about the "
        "same work and training.batch_size is the mean; an utterance that is longer is a batch of its own. "
        "0: no limit, so that all batches have the same number of utterances.")},
    {MX_CONFIG_INT(TRAINING, grad_accum, 1, 4096, "1", "batches",
                   "Number of batches whose gradients are summed for one step. This acts like a larger batch but needs "
                   "the memory of one."),
     .flag = "grad-accum", .value = "N", .aliases = accum_names},
    {MX_CONFIG_INT(TRAINING, epochs, 1, 1000000, "100", NULL, "Number of passes over all recordings."),
     .flag = "epochs", .value = "N"},
    {MX_CONFIG_INT(TRAINING, steps, 0, INT64_C(1) << 40, "0", NULL,
                   "Stop after N steps, unless the epochs end first. 0: the epochs alone decide."),
     .flag = "steps", .value = "N", .meaning = "decided by the epochs"},
    {MX_CONFIG_DOUBLE(
         TRAINING, max_minutes, 0, 1e7, "0", "minutes",
         "Stop after M minutes and save a checkpoint. 0: no limit. If there is not time for all steps, the "
         "learning rate falls to its floor in the last fifth of the time."),
     .flag = "max-minutes", .value = "M", .meaning = "no limit"},
    {MX_CONFIG_INT(TRAINING, seed, 0, INT64_MAX, "1", NULL, "Seed of everything random."), .flag = "seed",
     .value = "N"},
    {MX_CONFIG_ENUM(
         TRAINING, optimization_level, enum mx_level, level_choices, "enhanced",
         "Preset of learning rate, warm-up, cycles, clipping, decay and dropout. Each can still be set separately."),
     .flag = "optimization-level", .value = "NAME"},
    {MX_CONFIG_DOUBLE(TRAINING, learning_rate, -1, 1, "-1", NULL, "Peak learning rate." OF_LEVEL), .flag = "lr",
     .value = "RATE", .meaning = "from the optimization level", .aliases = rate_names},
    {MX_CONFIG_DOUBLE(TRAINING, learning_rate_floor, -1, 1, "-1", NULL,
                      "Lowest learning rate after warm-up, as a fraction of the peak." OF_LEVEL)},
    {MX_CONFIG_DOUBLE(TRAINING, cycle_decay, -1, 1, "-1", NULL,
                      "Peak of each learning rate cycle as a fraction of the previous one." OF_LEVEL)},
    {MX_CONFIG_INT(TRAINING, warmup_steps, -1, INT64_C(1) << 40, "-1", "steps",
                   "Steps of learning rate warm-up; at most a tenth of all steps." OF_LEVEL)},
    {MX_CONFIG_INT(TRAINING, cycles, -1, 1000, "-1", NULL, "Number of cosine cycles of the learning rate." OF_LEVEL)},
    {MX_CONFIG_DOUBLE(TRAINING, grad_clip, -1, 1e9, "-1", NULL, "Clip gradients to this norm. 0: never." OF_LEVEL),
     .flag = "grad-clip", .value = "NORM", .meaning = "from the optimization level", .aliases = clip_names},
    {MX_CONFIG_DOUBLE(TRAINING, weight_decay, -1, 1, "-1", NULL, "Weight decay of AdamW." OF_LEVEL)},
    {MX_CONFIG_DOUBLE(TRAINING, ema_decay, -1, 0.999999, "-1", NULL,
                      "Decay of the averaged weights, which are the ones that speak; closer to 1 is slower." OF_LEVEL)},
    {MX_CONFIG_DOUBLE(TRAINING, beta1, 0, 0.9999, "0.9", NULL, "AdamW's beta1: decay of the first moment.")},
    {MX_CONFIG_DOUBLE(TRAINING, beta2, 0, 0.99999, "0.98", NULL, "AdamW's beta2: decay of the second moment.")},
    {MX_CONFIG_DOUBLE(TRAINING, epsilon, 1e-20, 1, "1e-9", NULL, "AdamW's epsilon.")},
    {MX_CONFIG_BOOL(TRAINING, mixed_precision, "false",
                    "Multiply in bf16 with fp32 sums and keep some activations in bf16; weights, optimizer and "
                    "checkpoints stay in fp32. Needs less memory, and less time on devices with fast bf16. Refused on "
                    "devices that 'myxtts devices' does not list with bf16."),
     .flag = "mixed-precision", .aliases = mixed_names},
    {MX_CONFIG_INT(
         TRAINING, adapter_rank, 0, 256, "0", NULL,
         "Train only LoRA adapters of this rank: two narrow matrices beside each large one of the network that "
         "'--init-from' names, which itself stays bit for bit what it was. At rank 8 a voice of size tiny is "
         "then a file of about half a megabyte ('myxtts export --adapter'). 0: no adapters, the network "
         "itself is trained."),
     .flag = "adapter-rank", .value = "N", .meaning = "no adapters"},
    {MX_CONFIG_TEXT(TRAINING, freeze, "",
                    "Parameters that do not learn: patterns of their names, separated by commas, such as 'encoder.*, "
                    "speaker.*' or 'vocoder.*'. They cost no gradients, no moments and no communication, and stay bit "
                    "for bit what they were. 'myxtts inspect' lists the names in a checkpoint. Empty: everything "
                    "learns."),
     .flag = "freeze", .value = "PATTERNS", .meaning = "everything learns"},
    {MX_CONFIG_INT(TRAINING, save_every, 1, INT64_C(1) << 40, "500", "steps", "Steps between checkpoints."),
     .flag = "save-every", .value = "N", .aliases = save_names},
    {MX_CONFIG_INT(TRAINING, keep_last, 1, 100000, "3", "checkpoints", "Number of newest checkpoints to keep.")},
    {MX_CONFIG_INT(TRAINING, keep_every, 0, INT64_C(1) << 40, "0", "steps",
                   "Keep checkpoints at multiples of this step forever. 0: none.")},
    {MX_CONFIG_INT(TRAINING, eval_every, 0, INT64_C(1) << 40, "500", "steps",
                   "Steps between evaluations. 0: evaluate only at the end."),
     .flag = "eval-every", .value = "N", .aliases = eval_names},
    {MX_CONFIG_INT(TRAINING, eval_utterances, 1, 1000000, "16", "utterances",
                   "Maximum number of validation utterances per evaluation.")},
    {MX_CONFIG_INT(TRAINING, early_stopping, 0, 1000000, "0", "evaluations",
                   "Stop after this many evaluations in a row without a better free-running mel distance. 0: never.")},
    {MX_CONFIG_BOOL(
         TRAINING, auto_stop, "false",
         "Train until the voice has learned what it can: hold the learning rate at its peak until evaluations "
         "gain less than half a percent of the free-running mel distance for a third of the steps so far "
         "(at least four evaluations), then lower it to its floor in a last stretch of a quarter, and stop. "
         "training.epochs then sets no limit; training.steps does, and 0 means 20000 steps or all epochs, "
         "whichever is more. The voice that speaks is that of the best evaluation."),
     .flag = "auto-stop"},
    {MX_CONFIG_INT(TRAINING, samples, 0, 1000, "2", "utterances",
                   "Number of validation texts that each evaluation speaks into samples/. None for a corpus of "
                   "features, which has no audio to take the voice from.")},
    {MX_CONFIG_INT(TRAINING, skips_max, 1, 1000, "5", "steps",
                   "Stop with an error after this many steps in a row with a loss or gradient that is not finite.")},
    {MX_CONFIG_DOUBLE(
        TRAINING, spike, 1, 1000, "6", NULL,
        "Report a loss, or a gradient that has to be clipped, if it is this many standard deviations too high.")},
    {MX_CONFIG_DOUBLE(TRAINING, rank_timeout, 1, 86400, "300", "seconds",
                      "With several processes, stop all of them if one makes no progress for this long. Evaluations "
                      "and checkpoints must finish sooner."),
     .flag = "rank-timeout", .value = "SECONDS"},
    {MX_CONFIG_BOOL(TRAINING, batch_per_rank, "false",
                    "With several processes, apply training.batch_size, training.batch_frames and vocoder.segments to "
                    "each process. Otherwise they apply to all processes together, so that a run does not depend on "
                    "their number."),
     .flag = "batch-per-rank"},
    {MX_CONFIG_STRING(TRAINING, dashboard, "",
                      "Serve a live page about the run at this ADDRESS:PORT. Empty or off: no page. An address other "
                      "than loopback needs '--dashboard-token-file'; the token is never written to disk."),
     .flag = "dashboard", .value = "[ADDR:PORT]", .implied = MX_DASHBOARD_ADDRESS,
     .meaning = "none; alone: " MX_DASHBOARD_ADDRESS},
    {MX_CONFIG_BOOL(TRAINING, tensorboard, "true", "Write TensorBoard event files to tensorboard/ in the run folder."),
     .flag = "tensorboard", .value = "on|off"},
    {MX_CONFIG_INT(TRAINING, tensorboard_mb, 0, INT64_C(1) << 30, "1024", "MiB",
                   "Maximum size of tensorboard/; beyond it the oldest event files are deleted. 0: no limit.")},
    {MX_CONFIG_INT(TRAINING, keep_samples, 0, 1000000000, "100", "evaluations",
                   "Number of newest evaluations whose audio and pictures samples/ keeps; those of the best one are "
                   "always kept. 0: keep all.")},
    {MX_CONFIG_ENUM(TRAINING, report, enum mx_settings_report, report_choices, "auto",
                    "Language of report.html, which is written when training ends.")},
};
#undef TRAINING

static const struct mx_config_section sections[] = {
    {.name = "device",
     .help = "Devices, and how much memory each role may use.",
     .fields = device_fields,
     .count = sizeof device_fields / sizeof device_fields[0],
     .offset = offsetof(struct mx_settings, device)},
    {.name = "pipeline",
     .help = "Devices of a training run and the flow of batches to the model.",
     .fields = pipeline_fields,
     .count = sizeof pipeline_fields / sizeof pipeline_fields[0],
     .offset = offsetof(struct mx_settings, pipeline)},
    {.name = "model",
     .help = "The network.",
     .fields = model_fields,
     .count = sizeof model_fields / sizeof model_fields[0],
     .offset = offsetof(struct mx_settings, model)},
    {.name = "vocoder",
     .help = "The vocoder, which turns mel into sound.",
     .fields = vocoder_fields,
     .count = sizeof vocoder_fields / sizeof vocoder_fields[0],
     .offset = offsetof(struct mx_settings, vocoder)},
    {.name = "data",
     .help = "Training data.",
     .fields = data_fields,
     .count = sizeof data_fields / sizeof data_fields[0],
     .offset = offsetof(struct mx_settings, data)},
    {.name = "training",
     .help = "Training.",
     .fields = training_fields,
     .count = sizeof training_fields / sizeof training_fields[0],
     .offset = offsetof(struct mx_settings, training)},
};

const struct mx_config_schema mx_settings_schema = {
    .title = "MyXTTS settings. Every key is listed; remove a line to use its default.",
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
    if (t->part != MX_SETTINGS_PART_ACOUSTIC)
        decide(&settings->vocoder.learning_rate, settings->vocoder.from[0] != '\0' ? 0 : 1e-3);
}

const char *mx_settings_backend_name(enum mx_settings_backend backend)
{
    return backend_choices[backend].name;
}

const char *mx_settings_level_name(enum mx_level level)
{
    return level_choices[level].name;
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

enum mx_words mx_settings_report_language(const struct mx_settings *settings)
{
    const enum mx_settings_report report = settings->training.report;
    if (report == MX_SETTINGS_REPORT_EN) return MX_WORDS_ENGLISH;
    return report == MX_SETTINGS_REPORT_FA ? MX_WORDS_PERSIAN : mx_catalogue_language();
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

int mx_settings_put(struct mx_settings *settings, const char *setting, const char *value)
{
    char *const assignment = mx_format("%s=%s", setting, value);
    const int rc = assignment == NULL ? MX_ERR_NO_MEMORY : mx_config_set(&mx_settings_schema, settings, assignment);
    mx_free(assignment);
    return rc;
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
