/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Samples of a run: the texts of the first validation utterances, spoken with the averaged weights and the voice of
 * their own recordings, as WAV and as a picture of its mel. See samples.h.
 *
 * The trainer's network speaks, so whatever fits into a training batch can be spoken; a text that the network, early in
 * training, would make longer than that is skipped.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/format/canvas.h"
#include "base/log.h"
#include "base/progress.h"
#include "corpus/audio/audio.h"
#include "features/extract.h"
#include "myxtts/error.h"
#include "observe/keep.h"
#include "run/job.h"
#include "run/observer/samples.h"
#include "run/ranks.h"
#include "speech/wav.h"

#define PIXELS     4     /* of a mel band */
#define QUIETEST   -8.0f /* natural logarithms: black up to here */
#define LOUDEST    2.0f  /* pale yellow from here on; fixed, so that pictures can be compared */
#define BACKGROUND 0x14141C
#define PIECE      256 /* frames of a picture that are made at once: its memory does not grow with the sound */

struct sound {
    float *samples; /* [count] */
    size_t count;
};

static bool samples_wanted(const struct mx_job *job, uint32_t validation)
{
    return mx_dataset_kind(job->dataset) == MX_PACKED_AUDIO && job->settings.training.samples > 0 && validation > 0 &&
           mx_job_ranks_first(job) && !job->options.vocoder_alone; /* which speaks no texts */
}

/* Context frames on each side of a frame. */
static int32_t picture_margin(const struct mx_recipe *recipe)
{
    return (recipe->fft_size / 2 + recipe->hop - 1) / recipe->hop;
}

static struct mx_extract_options picture_options(const struct mx_recipe *recipe)
{
    return (struct mx_extract_options){.recipe = recipe,
                                       .samples_max = (int64_t)(PIECE + 2 * picture_margin(recipe)) * recipe->hop,
                                       .utterances_max = 1,
                                       .no_pitch = true,
                                       .owner = "pictures"};
}

/* Samples of the longest recording whose text will be spoken: each is the reference of its own. */
static uint32_t reference_samples(const struct mx_job *job)
{
    uint32_t longest = 0;
    int64_t left = job->settings.training.samples;
    for (uint32_t i = 0; i < mx_dataset_count(job->dataset) && left > 0; i++) {
        const struct mx_dataset_utterance *const u = mx_dataset_utterance(job->dataset, i);
        left -= u->validation;
        if (u->validation && u->samples > longest) longest = u->samples;
    }
    return longest;
}

/* With the run's vocoder, if it has one; the caller adds its weights. */
static struct mx_speak_sound sound_of(const struct mx_job *job, const struct mx_vocoder_config *vocoder)
{
    struct mx_speak_sound sound = MX_SPEAK_SOUND_DEFAULT;
    if (!job->options.with_vocoder) return sound;
    sound.vocoder = vocoder;
    sound.rounds = (int)job->settings.vocoder.rounds;
    sound.projections = (int)job->settings.vocoder.projections;
    return sound;
}

int mx_job_samples_memory_plan(const struct mx_job *job, const struct mx_trainer_memory_plan *plan,
                               struct mx_job_samples_memory *out)
{
    *out = (struct mx_job_samples_memory){0};
    if (!samples_wanted(job, plan->validation)) return 0;
    const struct mx_extract_options picture = picture_options(job->recipe);
    out->pictures = mx_extract_bytes(&picture);
    out->pictures_host = mx_extract_host_bytes(&picture);
    const struct mx_vocoder_config vocoder = mx_trainer_vocoder_config(&job->options);
    const struct mx_speak_sound sound = sound_of(job, &vocoder);
    return mx_speak_memory_plan(&job->options.model, &plan->capacity.model, job->recipe, &sound, reference_samples(job),
                                &out->speak);
}

int mx_job_samples_open(struct mx_job *job)
{
    int rc = 0;
    const struct mx_trainer_voice voice = mx_trainer_voice(job->trainer);
    if (!samples_wanted(job, job->plan.validation)) return 0;
    const struct mx_speak_voice parts = {.device = job->device,
                                         .recipe = job->recipe,
                                         .stream = voice.stream,
                                         .model = voice.model,
                                         .parameters = voice.average,
                                         .vocabulary = job->vocabulary != NULL ? job->vocabulary
                                                                               : mx_dataset_vocabulary(job->dataset),
                                         .normaliser = job->options.normaliser,
                                         .reference_samples = reference_samples(job)};
    const struct mx_extract_options picture = picture_options(job->recipe);
    const struct mx_vocoder_config vocoder = mx_trainer_vocoder_config(&job->options);
    struct mx_speak_sound sound = sound_of(job, &vocoder);
    sound.vocoder_parameters = voice.vocoder;
    sound.vocoder_frozen = voice.vocoder_frozen;
    MX_TRY(mx_speak_create(&parts, &sound, &job->speech.speak));
    MX_TRY(mx_speaker_create_on(job->speech.speak, &job->speech.speaker));
    MX_TRY(mx_extract_create(job->device, &picture, &job->speech.pictures));
    MX_TRY(mx_dataset_reader_create(job->dataset, &job->speech.reader));
out:
    return rc;
}

/* The mel [frames, bands] of a sound, a piece after the other. */
static int mel_compute(struct mx_job *job, const struct sound *sound, int32_t frames, float *mel)
{
    int rc = 0;
    struct mx_extract_features features;
    const struct mx_trainer_voice voice = mx_trainer_voice(job->trainer);
    const int64_t hop = job->recipe->hop, bands = job->recipe->bands, margin = picture_margin(job->recipe);
    float *const piece = mx_alloc((size_t)((PIECE + 2 * margin + 1) * bands), sizeof *piece);
    if (piece == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (int64_t at = 0; at < frames; at += PIECE) {
        const int64_t first = at > margin ? at - margin : 0, end = at + PIECE < frames ? at + PIECE : frames;
        const int64_t last = (end + margin) * hop, count = (int64_t)sound->count;
        const int32_t offsets[] = {0, (int32_t)((last < count ? last : count) - first * hop)};
        const struct mx_extract_batch batch = {.audio = sound->samples + first * hop, .offsets = offsets, .count = 1};
        MX_TRY(mx_extract_submit(job->speech.pictures, voice.stream, &batch, &features));
        MX_TRY(mx_extract_read(job->speech.pictures, voice.stream, piece, NULL, NULL));
        memcpy(mel + at * bands, piece + (at - first) * bands, (size_t)((end - at) * bands) * sizeof *mel);
    }
out:
    if (rc < 0) (void)mx_stream_sync(voice.stream); /* it may be in use */
    mx_free(piece);
    return rc;
}

/* The mel of a sound as a picture. */
static int picture_write(struct mx_job *job, const struct sound *sound, const char *path)
{
    int rc = 0;
    float *mel = NULL;
    struct mx_canvas canvas = {0};
    const int bands = job->recipe->bands;
    const int frames = (int)mx_recipe_frames(job->recipe, (int64_t)sound->count);
    const int width = frames < MX_CANVAS_SIDE_MAX ? frames : MX_CANVAS_SIDE_MAX;
    mel = mx_alloc((size_t)frames * (size_t)bands, sizeof *mel);
    if (mel == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mel_compute(job, sound, frames, mel));
    MX_TRY(mx_canvas_create(&canvas, width, PIXELS * bands, BACKGROUND));
    mx_canvas_matrix(&canvas, (struct mx_rectangle){0, 0, width, PIXELS * bands},
                     &(struct mx_canvas_matrix){mel, frames, bands, QUIETEST, LOUDEST});
    MX_TRY(mx_canvas_write_png(&canvas, path));
out:
    mx_canvas_release(&canvas);
    mx_free(mel);
    return rc;
}

static int sound_write(struct mx_job *job, const struct sound *sound, const char *folder, uint32_t number)
{
    int rc = 0;
    char *const wav = mx_format("%s/%03" PRIu32 ".wav", folder, number);
    char *const png = mx_format("%s/%03" PRIu32 ".png", folder, number);
    if (wav == NULL || png == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_wav_write(wav, sound->samples, sound->count, job->recipe->rate, MX_WAV_PCM16));
    MX_TRY(picture_write(job, sound, png));
out:
    mx_free(wav);
    mx_free(png);
    return rc;
}

/* The recording of a sample, once in a run: what it should sound like. */
static int recording_keep(const struct mx_job *job, const struct mx_dataset_item *item, uint32_t number)
{
    int rc = 0;
    char *const path = mx_format("%s/" MX_JOB_RECORDED, job->run, (int64_t)number);
    if (path == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    if (access(path, F_OK) == 0) goto out;
    MX_TRY(mx_file_make_folder(job->run, "samples/recorded"));
    MX_TRY(mx_wav_write(path, item->samples, item->sample_count, job->recipe->rate, MX_WAV_PCM16));
out:
    mx_free(path);
    return rc;
}

/* Speaks a text with the voice of a recording. */
static int text_speak(struct mx_job *job, const struct mx_dataset_item *item, struct sound *sound)
{
    int rc = 0;
    int32_t frames;
    float *reference = NULL, *vector = NULL;
    const struct mx_speak_script_options how = mx_speak_script_options_of(job->speech.speak);
    struct mx_speak_script *script;
    const char *warning;
    MX_TRY(mx_speak_reference(job->speech.speak, item->samples, item->sample_count, &reference, &frames));
    vector = mx_alloc((size_t)job->options.model.size.width, sizeof *vector);
    if (vector == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_speak_vector(job->speech.speak, reference, frames, vector));
    MX_TRY(mx_speak_script_open(&how, item->text, strlen(item->text), &script));
    mx_speaker_begin_script(job->speech.speaker, script, vector, job->options.seed);
    MX_TRY(mx_speaker_rest(job->speech.speaker, &sound->samples, &sound->count));
    for (size_t i = 0; (warning = mx_speaker_warning(job->speech.speaker, i)) != NULL; i++) mx_warn("%s", warning);
out:
    mx_free(vector);
    mx_free(reference);
    return rc;
}

static int sample_speak(struct mx_job *job, uint32_t utterance, const char *folder, uint32_t number)
{
    int rc = 0;
    struct mx_dataset_item item;
    struct sound sound = {0};
    rc = mx_dataset_load(job->speech.reader, utterance, &item);
    if (rc < 0 && item.reject != MX_REJECT_NONE) {
        mx_error_clear();
        mx_warn("step %" PRId64 ": sample %" PRIu32 " is missing, because the recording of %s cannot be used",
                mx_trainer_state(job->trainer)->step, number, mx_dataset_utterance(job->dataset, utterance)->id);
        return 0;
    }
    MX_TRY(rc);
    MX_TRY(recording_keep(job, &item, number));
    rc = text_speak(job, &item, &sound);
    if (rc == MX_ERR_ARGUMENT) {
        mx_info("sample %s could not be spoken: %s", item.id, mx_error_last()->message);
        mx_error_clear();
        rc = 0;
        goto out;
    }
    MX_TRY(rc);
    if (sound.count > 0) MX_TRY(sound_write(job, &sound, folder, number));
out:
    mx_free(sound.samples);
    return rc;
}

/* A sample that cannot be written is not the end of a run. */
static int writing_warn(const struct mx_job *job, int rc)
{
    if (rc != MX_ERR_IO) return rc;
    mx_warn("step %" PRId64 ": samples cannot be written: %s; training continues", mx_trainer_state(job->trainer)->step,
            mx_error_last()->message);
    mx_error_clear();
    return 1;
}

int mx_job_samples(struct mx_job *job)
{
    int rc = 0;
    const uint32_t all = mx_trainer_validation_count(job->trainer);
    const int64_t wanted = job->settings.training.samples;
    char *folder = NULL;
    if (job->speech.speak == NULL) return 0;
    folder = mx_format("%s/" MX_JOB_SAMPLES, job->run, mx_trainer_state(job->trainer)->step);
    if (folder == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(writing_warn(job, mx_file_make_folder(job->run, folder + strlen(job->run) + 1)));
    for (uint32_t i = 0; rc == 0 && i < all && i < wanted; i++) {
        if (job->stop != NULL && atomic_load(job->stop))
            MX_RAISE(MX_ERR_INTERRUPTED, NULL, "the evaluation was interrupted");
        mx_progress_note(job->progress, "speaking sample %" PRIu32 " of %" PRId64, i + 1, all < wanted ? all : wanted);
        mx_progress_add(job->progress, 0);
        MX_TRY(writing_warn(job, sample_speak(job, mx_trainer_validation(job->trainer)[i], folder, i)));
    }
out:
    if (rc > 0) rc = 0; /* there was a warning */
    mx_free(folder);
    return rc;
}

void mx_job_samples_tidy(const struct mx_job *job)
{
    const int64_t most = job->settings.training.keep_samples;
    char *const folder = most > 0 ? mx_format("%s/samples", job->run) : NULL;
    if (folder != NULL) mx_keep_samples(folder, most, job->best.known ? (int64_t)job->best.step : -1);
    mx_free(folder);
}
