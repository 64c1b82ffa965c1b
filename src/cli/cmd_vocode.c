/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts vocode: copy synthesis. A recording becomes mel, and the mel becomes sound again: whatever this loses is lost
 * in all speech of a voice, however well it has learned.
 *
 * The recording keeps its level and the silence at its ends, so that it can be compared with the result sample by
 * sample. Memory: everything is allocated after the recording has been read, for its length.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/corpus/corpus_options.h"
#include "cli/options/shared_options.h"
#include "cli/options/sound_options.h"
#include "corpus/audio/audio.h"
#include "features/extract.h"
#include "myxtts/error.h"
#include "speech/runtime.h"
#include "speech/wav.h"

#define SECONDS_MAX 600

struct values {
    const char *vocoder, *output, *device, *recipe;
    int64_t cpu_devices, seed, rounds, projections;
};

static const struct values start = {MX_SOUND_VALUES};

static const struct mx_option options[] = {
    {MX_OPTION_STRING(struct values, output, "output", "FILE", NULL,
                      "The file to write, as WAV, or as FLAC, MP3 or Opus if the name ends in .flac, .mp3 or .opus; "
                      "'-' is standard output, as WAV. Must be given."),
     .letter = 'o'},
    MX_SOUND_OPTIONS(struct values, MX_SOUND_GRIFFIN_LIM, MX_SOUND_VOCODER_PROJECTIONS),
    MX_VOICE_OPTIONS_DEVICE(struct values),
    MX_RECIPE_OPTION_OR(struct values, "that of the vocoder, or mx-mel-22k-80"),
    {MX_OPTION_INT(struct values, seed, "seed", "N", 0, INT64_MAX, "0",
                   "The same recording and seed give the same samples.")},
};

static const struct mx_example examples[] = {
    {"myxtts vocode speech.wav --output copy.wav", "lets you hear what mel and Griffin-Lim make of a recording"},
    {"myxtts vocode speech.wav --vocoder my-run -o copy.wav", "the same with the vocoder of a run"},
    {"myxtts vocode speech.wav --projections 0 -o plain.wav", "the same without the projections"},
};

/* Everything that is opened; see copy_close. */
struct copy {
    const struct mx_recipe *recipe;
    struct mx_runtime runtime;
    struct mx_runtime_vocoder vocoder;
    struct mx_audio_reader *reader;
    struct mx_extract *extract;
    struct mx_sound *sound;
};

static void copy_close(struct copy *c)
{
    if (c->runtime.stream != NULL) (void)mx_stream_sync(c->runtime.stream); /* something may be under way */
    mx_sound_destroy(c->sound);
    mx_extract_destroy(c->extract);
    mx_audio_reader_destroy(c->reader);
    mx_runtime_vocoder_close(&c->vocoder);
    mx_runtime_close(&c->runtime);
}

/* The samples are the reader's; *gain would bring them to the level of training. */
static int recording_read(struct copy *c, const char *path, const float **samples, size_t *count, double *gain)
{
    int rc = 0;
    struct mx_audio_report report;
    struct mx_audio_options reading = MX_AUDIO_OPTIONS_DEFAULT;
    reading.rate = c->recipe->rate;
    reading.seconds_min = 0.05;
    reading.seconds_max = SECONDS_MAX;
    reading.trim_db = 0;
    reading.level_db = 0;
    reading.clipped_share = 1;
    MX_TRY(mx_audio_reader_create(&c->reader));
    MX_TRY(mx_audio_load(c->reader, path, &reading, samples, count, &report));
    *gain = mx_audio_usual_gain(&report);
out:
    return rc;
}

static int copy_write(struct copy *c, const struct values *values, enum mx_encode_format format, const float *samples,
                      size_t count, double gain)
{
    int rc = 0;
    const struct mx_extract_options room = {
        .recipe = c->recipe, .samples_max = (int64_t)count, .utterances_max = 1, .no_pitch = true};
    const int32_t offsets[] = {0, (int32_t)count};
    const struct mx_extract_batch batch = {.audio = samples, .offsets = offsets, .count = 1};
    struct mx_sound_options options_of = MX_SOUND_OPTIONS_DEFAULT;
    struct mx_extract_features features;
    struct mx_sound_audio sound;
    options_of.recipe = c->recipe;
    options_of.vocoder = c->vocoder.loaded ? &c->vocoder.config : NULL;
    options_of.parameters = mx_slice_at(c->vocoder.weights, 0);
    options_of.rounds = (int)values->rounds;
    options_of.projections = (int)values->projections;
    options_of.seed = (uint64_t)values->seed;
    options_of.frames_max = mx_recipe_frames(c->recipe, (int64_t)count);
    options_of.utterances_max = 1;
    MX_TRY(mx_extract_create(c->runtime.device, &room, &c->extract));
    MX_TRY(mx_sound_create(c->runtime.device, c->runtime.stream, &options_of, &c->sound));
    mx_sound_gain_set(c->sound, gain);
    MX_TRY(mx_extract_submit(c->extract, c->runtime.stream, &batch, &features));
    MX_TRY(mx_stream_sync(c->runtime.stream)); /* the time of the mel is not that of the sound */
    const int32_t frames[] = {0, features.frames.rows};
    const uint64_t begin = mx_clock_ns();
    MX_TRY(mx_sound_compute(c->sound, c->runtime.stream, features.mel, frames, 1, &sound));
    const double work = (double)(mx_clock_ns() - begin) / 1e9;
    const double seconds = (double)sound.offsets[1] / c->recipe->rate;
    if (format == MX_ENCODE_WAV)
        MX_TRY(mx_wav_write(values->output, sound.audio, (size_t)sound.offsets[1], c->recipe->rate, MX_WAV_PCM16));
    else
        MX_TRY(mx_encode_file(values->output, format, sound.audio, (size_t)sound.offsets[1], c->recipe->rate));
    mx_info("%s: %.2f s of sound in %d rounds and %d projections; real-time factor %.4f", values->output, seconds,
            mx_sound_rounds(c->sound), mx_sound_projections(c->sound), work / seconds);
out:
    return rc;
}

static int run(const void *given, const struct mx_option_list *operands)
{
    int rc = 0;
    const struct values *const values = given;
    const char *const hint = "see 'myxtts vocode --help'";
    struct copy copy = {0};
    const float *samples;
    size_t count;
    double gain;
    enum mx_encode_format format;
    if (operands->count == 0) return MX_FAIL(MX_ERR_USAGE, hint, "name the recording to copy");
    if (values->output == NULL) return MX_FAIL(MX_ERR_USAGE, hint, "'--output FILE' is missing");
    MX_TRY(mx_command_sound_format(values->output, NULL, &format));
    MX_TRY(mx_runtime_open(&copy.runtime, values->device, values->cpu_devices, "vocode"));
    MX_TRY(mx_runtime_vocoder_open(&copy.vocoder, &copy.runtime, values->vocoder, NULL));
    copy.recipe = values->recipe != NULL || !copy.vocoder.loaded ? mx_recipe_find(values->recipe) : copy.vocoder.recipe;
    MX_TRY(recording_read(&copy, operands->items[0], &samples, &count, &gain));
    MX_TRY(mx_command_rounds_check(copy.vocoder.loaded, values->rounds));
    MX_TRY(copy_write(&copy, values, format, samples, count, gain));
out:
    copy_close(&copy);
    return rc;
}

const struct mx_command mx_command_vocode = {
    .name = "vocode",
    .page =
        {
            .command = "myxtts vocode",
            .operands = "FILE",
            .operand_max = 1,
            .summary = "make sound from the mel of a recording",
            .description =
                "Copy synthesis, for listening and measuring: the recording becomes mel (mono), and the mel "
                "becomes sound again as in 'myxtts synth'. The difference from the recording is what every voice loses "
                "in this last step. Level and silence stay as they are; the end is cut to whole frames. "
                "A recording may be up to 600 seconds long. At the end the command prints the real-time factor: "
                "seconds of work "
                "for a second of sound.",
            MX_PAGE_EXAMPLES(examples),
        },
    MX_COMMAND_WORK(options, struct values, run),
    .values = &start,
};
