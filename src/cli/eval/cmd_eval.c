/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts eval: how close a trained voice comes to the recordings of a corpus when it actually speaks their texts.
 *
 * The comparison is that of training (train/listen.h); this file has the corpus, the sums and the loop. eval_report.c
 * prints them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/progress.h"
#include "base/string.h"
#include "cli/command.h"
#include "cli/eval/eval_report.h"
#include "cli/options/shared_options.h"
#include "cli/options/sound_options.h"
#include "corpus/packed/packed.h"
#include "features/extract.h"
#include "myxtts/error.h"
#include "run/folder.h"
#include "run/settings.h"
#include "speech/voice_internal.h"
#include "train/listen.h"

#define FRAMES_FACTOR 2 /* speech may be longer than the longest recording by this factor */

struct values {
    const char *checkpoint, *data, *json, *language, *device, *vocoder;
    int64_t limit, cpu_devices, seed, rounds, projections;
    bool held_out;
};

static const struct values start = {MX_SOUND_VALUES};

static const struct mx_option options[] = {
    MX_VOICE_OPTION_CHECKPOINT(struct values, NULL, " Required."),
    {MX_OPTION_STRING(struct values, data, "data", "CORPUS", NULL,
                      "Corpus folder, manifest file or packed corpus. Required."),
     .letter = 'd'},
    {MX_OPTION_INT(struct values, limit, "limit", "N", 1, UINT32_MAX, "all",
                   "Use only N utterances, evenly spread over the corpus.")},
    {MX_OPTION_FLAG(struct values, held_out, "held-out",
                    "Use only the rows that training kept for validation, if this is the corpus of the run.")},
    {MX_OPTION_STRING(
        struct values, json, "json", "FILE", NULL,
        "Write the report, including every utterance, as one JSON object; '-' prints it instead of the table.")},
    {MX_OPTION_STRING(
        struct values, language, "language", "LANGUAGE", "detected from the script of each text",
        "Language of all texts of a folder: en, fa, es, fr, de, it, ru or any other language of espeak-ng.")},
    MX_SOUND_OPTIONS(struct values, "no sound is made: the predicted mel is compared", MX_SOUND_SPOKEN_PROJECTIONS),
    MX_VOICE_OPTIONS_DEVICE(struct values),
    {MX_OPTION_INT(struct values, seed, "seed", "N", 1, INT64_MAX, "the seed of the training run",
                   "Determines which other recording of the speaker provides the voice, and which part of it.")},
};

static const struct mx_example examples[] = {
    {"myxtts eval --checkpoint my-run --data held-out", "speaks all texts of a corpus and compares them"},
    {"myxtts eval -c my-run -d my-corpus.pack --limit 50 --json -", "compares 50 of them and prints JSON"},
    {"myxtts eval -c my-run -d held-out --vocoder my-run", "compares the sound instead of the predicted mel"},
};

/* Everything that is opened; see eval_close. */
struct eval {
    struct mx_voice *voice;
    struct mx_model *model;
    struct mx_settings settings; /* of the training */
    struct mx_dataset *dataset;
    struct mx_batch_source *source;
    struct mx_dataset_reader *reader;
    struct mx_host_batch *host;
    struct mx_batch_builder *batch;
    struct mx_listener *listener;
    struct mx_buffer *vector;   /* [width] of a speaker, if the voice cannot listen; NULL: it can */
    struct mx_sound *sound;     /* NULL: the predicted mel itself is compared */
    struct mx_extract *extract; /* otherwise computes the mel of the vocoded sound */
    uint32_t *list;             /* utterances to evaluate */
    uint32_t count;
};

static void eval_close(struct eval *e)
{
    if (e->voice != NULL) (void)mx_stream_sync(e->voice->runtime.stream); /* something may be under way */
    mx_listener_destroy(e->listener);
    mx_buffer_release(e->vector);
    mx_extract_destroy(e->extract);
    mx_sound_destroy(e->sound);
    mx_batch_builder_destroy(e->batch);
    mx_host_batch_destroy(e->host);
    mx_dataset_reader_destroy(e->reader);
    mx_batch_source_destroy(e->source);
    mx_dataset_close(e->dataset);
    mx_free(e->list);
    mx_config_release(&mx_settings_schema, &e->settings);
    mx_model_destroy(e->model);
    mx_voice_close(e->voice);
}

/* The settings of the training: how long references were, and which recordings could be used. */
static int settings_find(struct eval *e)
{
    const char *const text = mx_checkpoint_state(e->voice->checkpoint)->config;
    int rc = mx_config_defaults(&mx_settings_schema, &e->settings);
    if (rc >= 0) rc = mx_config_load_text(&mx_settings_schema, &e->settings, "config", text, strlen(text));
    if (rc < 0) mx_error_wrap("%s", mx_checkpoint_path(e->voice->checkpoint));
    return rc;
}

/* Lists the utterances of the corpus to evaluate. */
static int list_build(struct eval *e, const struct values *values)
{
    const uint32_t all = mx_dataset_count(e->dataset);
    uint32_t count = 0;
    e->list = mx_alloc(all, sizeof *e->list);
    if (e->list == NULL) return MX_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < all; i++)
        if (!values->held_out || mx_dataset_utterance(e->dataset, i)->validation) e->list[count++] = i;
    if (count == 0)
        return MX_FAIL(MX_ERR_DATA, "leave '--held-out' out, or give the corpus that the voice was trained on",
                       "no row of %s was kept for validation", values->data);
    e->count = values->limit > 0 && values->limit < count ? (uint32_t)values->limit : count;
    for (uint32_t i = 0; i < e->count; i++) e->list[i] = e->list[(uint64_t)i * count / e->count];
    return 0;
}

/* Long rows as the run cut them, if the voice is a checkpoint in its folder: the rows that are kept for validation were
 * chosen among all. NULL: it is not, or no memory. */
static char *pieces_of(const char *checkpoint)
{
    const char *const slash = strrchr(checkpoint, '/'), folder[] = "/" MX_CHECKPOINT_FOLDER;
    const size_t length = slash != NULL ? (size_t)(slash - checkpoint) : 0, own = strlen(folder);
    if (length < own || strncmp(slash - own, folder, own) != 0) return NULL;
    return mx_format("%.*s/" MX_JOB_CUT, (int)(length - own), checkpoint);
}

/* The corpus in the tokens of the voice. */
static int corpus_open(struct eval *e, const struct values *values)
{
    int rc = 0;
    enum mx_language_id language;
    char *const pieces = pieces_of(mx_checkpoint_path(e->voice->checkpoint));
    struct mx_dataset_options wanted = MX_DATASET_OPTIONS_DEFAULT;
    const struct mx_settings_data *const d = &e->settings.data;
    wanted.path = values->data;
    wanted.manifest.seed = (uint64_t)e->settings.training.seed;
    wanted.manifest.validation_fraction = d->validation_fraction;
    wanted.manifest.pieces = pieces;
    if (values->held_out && d->val_data[0] != '\0') wanted.manifest.validation = d->val_data;
    wanted.row.audio.rate = mx_voice_recipe(e->voice)->rate;
    wanted.row.audio.seconds_min = d->min_seconds;
    wanted.row.audio.seconds_max = d->max_seconds;
    wanted.row.tokens = mx_vocabulary_mode(e->voice->vocabulary);
    wanted.row.vocabulary = e->voice->vocabulary;
    if (values->language != NULL) {
        MX_TRY(mx_language_parse(values->language, &language));
        wanted.row.language = (int)language;
    }
    bool packed;
    MX_TRY(mx_packed_detect(values->data, &packed));
    if (packed && values->language != NULL)
        MX_RAISE(MX_ERR_USAGE, "leave '--language' out",
                 "the texts of the packed corpus %s have their language already", values->data);
    /* Which rows are held out depends on which there are. */
    if (values->held_out && !packed && d->decisions[0] != '\0') wanted.manifest.decisions = d->decisions;
    rc = mx_dataset_open(&wanted, &e->dataset);
    if (rc == MX_ERR_DATA && !packed)
        mx_error_hint(
            "the voice must know the languages and symbols of the corpus ('myxtts inspect %s'); 'myxtts check "
            "%s' reports what else may be wrong",
            values->checkpoint, values->data);
    MX_TRY(rc);
    MX_TRY(list_build(e, values));
out:
    mx_free(pieces);
    return rc;
}

/* ---- the sound ---- */

/* Of speech of up to `frames` frames. */
static int sound_open(struct eval *e, const struct values *values, int32_t frames)
{
    int rc = 0;
    struct mx_voice *const v = e->voice;
    const struct mx_normaliser *const n = &mx_checkpoint_state(v->checkpoint)->normaliser;
    const struct mx_recipe *const recipe = mx_voice_recipe(v);
    struct mx_sound_options how = MX_SOUND_OPTIONS_DEFAULT;
    MX_TRY(mx_command_rounds_check(v->vocoder.loaded, values->rounds));
    how.recipe = recipe;
    how.vocoder = v->vocoder.loaded ? &v->vocoder.config : NULL;
    how.parameters = mx_slice_at(v->vocoder.weights, 0);
    how.mean = n->mel_mean;
    how.deviation = n->mel_deviation;
    how.rounds = (int)values->rounds;
    how.projections = (int)values->projections;
    how.predicted = true;
    how.frames_max = frames;
    how.utterances_max = 1;
    MX_TRY(mx_sound_create(v->runtime.device, v->runtime.stream, &how, &e->sound));
    const struct mx_extract_options heard = {
        .recipe = recipe, .samples_max = (int64_t)frames * recipe->hop, .utterances_max = 1, .no_pitch = true};
    MX_TRY(mx_extract_create(v->runtime.device, &heard, &e->extract));
    MX_TRY(mx_extract_normalise(e->extract, n->mel_mean, n->mel_deviation));
out:
    return rc;
}

/* The mel of the sound of a mel. */
static int mel_resynthesize(void *context, struct mx_slice mel, int32_t frames, float *heard)
{
    int rc = 0;
    struct eval *const e = context;
    const int32_t offsets[] = {0, frames};
    struct mx_sound_audio sound;
    struct mx_extract_features features;
    MX_TRY(mx_sound_compute(e->sound, e->voice->runtime.stream, mel, offsets, 1, &sound));
    const struct mx_extract_batch batch = {.audio = sound.audio, .offsets = sound.offsets, .count = 1};
    MX_TRY(mx_extract_submit(e->extract, e->voice->runtime.stream, &batch, &features));
    MX_TRY(mx_extract_read(e->extract, e->voice->runtime.stream, heard, NULL, NULL));
out:
    return rc;
}

/* Everything between corpus and numbers. */
static int listener_open(struct eval *e, const struct values *values)
{
    int rc = 0;
    struct mx_host_batch_capacity one;
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(e->voice->checkpoint);
    const struct mx_batch_source_options how = {.dataset = e->dataset,
                                                .recipe = mx_voice_recipe(e->voice),
                                                .normaliser = state->normaliser,
                                                .seed = values->seed > 0 ? (uint64_t)values->seed : state->seed,
                                                .reference_seconds = e->settings.data.reference_seconds};
    MX_TRY(mx_batch_source_create(&how, &e->source));
    MX_TRY(mx_batch_source_capacity(e->source, e->list, e->count, 1, 0, &one));
    const struct mx_batch_builder_options batch = {.capacity = one,
                                                   .normaliser = state->normaliser,
                                                   .features = mx_dataset_kind(e->dataset) == MX_PACKED_FEATURES,
                                                   .own = true};
    struct mx_model_capacity room = one.model;
    room.frames = room.longest_frames = FRAMES_FACTOR * one.model.longest_frames;
    MX_TRY(mx_voice_model_create(e->voice, e->voice->runtime.stream, &room, &e->model));
    MX_TRY(mx_dataset_reader_create(e->dataset, &e->reader));
    MX_TRY(mx_host_batch_create(e->source, e->voice->runtime.device, &one, &e->host));
    MX_TRY(mx_batch_builder_create(e->voice->runtime.device, e->voice->runtime.stream, &batch, &e->batch));
    if (!mx_checkpoint_listens(e->voice->checkpoint))
        MX_TRY(mx_buffer_create(e->voice->runtime.device, "eval", (size_t)state->model.size.width * sizeof(float),
                                &e->vector));
    const struct mx_listener_options parts = {.source = e->source,
                                              .reader = e->reader,
                                              .host = e->host,
                                              .batch = e->batch,
                                              .stream = e->voice->runtime.stream,
                                              .model = e->model,
                                              .weights = mx_slice_at(e->voice->weights, 0),
                                              .voice = mx_slice_at(e->vector, 0),
                                              .hear = values->vocoder != NULL ? mel_resynthesize : NULL,
                                              .context = e};
    if (values->vocoder != NULL) MX_TRY(sound_open(e, values, room.longest_frames));
    MX_TRY(mx_listener_create(&parts, &e->listener));
out:
    return rc;
}

/* A voice that cannot listen speaks with the vector that it keeps of the row's speaker; if it has only one, that one. */
static int vector_set(struct eval *e, uint32_t utterance)
{
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(e->voice->checkpoint);
    const uint32_t speaker = mx_dataset_utterance(e->dataset, utterance)->speaker;
    const char *const name = state->speaker_count > 1 ? mx_dataset_speaker(e->dataset, speaker) : NULL;
    const float *vector;
    int rc = 0;
    MX_TRY(mx_voice_vector(e->voice, name, &vector));
    if (vector == NULL) MX_TRY(mx_checkpoint_listens_check(e->voice->checkpoint, "an evaluation"));
    MX_TRY(mx_copy_upload(e->voice->runtime.stream, mx_slice_at(e->vector, 0), vector,
                          (size_t)state->model.size.width * sizeof *vector));
out:
    return rc;
}

/* Speaks all utterances of the list. */
static int list_speak(struct eval *e, struct mx_eval_report *report)
{
    int rc = 0;
    struct mx_progress *progress = NULL;
    const uint64_t begin = mx_clock_ns();
    MX_TRY(mx_progress_start(
        &(struct mx_progress_options){.title = "Speaking", .unit = "utterances", .total = e->count}, &progress));
    for (uint32_t i = 0; i < e->count; i++) {
        struct mx_spoken one;
        if (e->vector != NULL) MX_TRY(vector_set(e, e->list[i]));
        MX_TRY(mx_listener_speak(e->listener, e->list[i], &one));
        MX_TRY(mx_eval_report_add(report, e->list[i], &one));
        if (report->all.spoken > 0) mx_progress_note(progress, "mel %.2f dB", mx_spoken_mel_db(&report->all));
        mx_progress_add(progress, 1);
    }
    report->elapsed_seconds = (double)(mx_clock_ns() - begin) * 1e-9;
out:
    mx_progress_finish(progress);
    return rc;
}

/* ---- running ---- */

static int usage_check(const struct values *v)
{
    const char *const hint = "see 'myxtts eval --help'";
    if (v->checkpoint == NULL) return MX_FAIL(MX_ERR_USAGE, hint, "'--checkpoint RUN_OR_FILE' is missing");
    if (v->data == NULL) return MX_FAIL(MX_ERR_USAGE, hint, "'--data CORPUS' is missing");
    if (v->vocoder == NULL && (v->rounds != MX_SOUND_USUAL || v->projections != MX_SOUND_USUAL))
        return MX_FAIL(MX_ERR_USAGE, "give '--vocoder', too: with it, the sound is compared",
                       "'--rounds' and '--projections' have no effect without sound");
    return 0;
}

static int run(const void *given, const struct mx_option_list *operands)
{
    const struct values *const values = given;
    struct eval e = {0};
    struct mx_eval_report report = {0};
    (void)operands; /* the page takes none, so the parser refused them */
    int rc = usage_check(values);
    if (rc < 0) return rc;
    const struct mx_voice_options place = {.size = sizeof place,
                                           .device = values->device,
                                           .cpu_devices = (int)values->cpu_devices,
                                           .vocoder = values->vocoder != NULL ? values->vocoder : MX_SOUND_GRIFFIN_LIM};
    MX_TRY(mx_voice_open(values->checkpoint, &place, &e.voice));
    MX_TRY(settings_find(&e));
    MX_TRY(corpus_open(&e, values));
    MX_TRY(listener_open(&e, values));
    MX_TRY(mx_eval_report_open(&report, e.voice, e.dataset, values->data, e.count));
    report.vocoder = values->vocoder;
    MX_TRY(list_speak(&e, &report));
    const bool machine = values->json != NULL && strcmp(values->json, "-") == 0;
    if (values->json != NULL) MX_TRY(mx_eval_report_json(&report, values->json));
    if (!machine) mx_eval_report_print(&report);
    if (report.all.spoken == 0)
        MX_RAISE(MX_ERR_DATA, report.all.too_long > 0 ? "train the voice for longer" : "'myxtts check' shows why",
                 "none of the %" PRIu32 " utterances could be spoken and compared", e.count);
out:
    mx_eval_report_release(&report);
    eval_close(&e);
    return rc;
}

const struct mx_command mx_command_eval = {
    .name = "eval",
    .page =
        {
            .command = "myxtts eval",
            .summary = "speak the texts of a corpus and compare the result with its recordings",
            .description =
                "Speaks each text as 'myxtts synth' would, with the voice taken from another recording of the same "
                "speaker (in a voice file that cannot listen to recordings, the voice that it keeps), and compares it "
                "with the recording of that text after the best time alignment: distance of "
                "the mel bands in decibels, error of the duration, error of the pitch in semitones. Training reports "
                "the same free-running numbers for its validation rows. With '--vocoder', the mel of the sound is "
                "compared "
                "instead of the mel that the network predicts.\nThe corpus must use the languages and symbols "
                "of the voice. Rows that cannot be used are counted and named. The exit code is 2 if no row is left.",
            MX_PAGE_EXAMPLES(examples),
        },
    MX_COMMAND_WORK(options, struct values, run),
    .values = &start,
};
