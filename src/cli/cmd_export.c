/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts export: a trained voice as files for other programs (export/voice.h).
 *
 * The voice of each speaker is that of the recording that the run folder keeps (run/job.h): our own network makes a
 * vector of it, once, and the vectors go into the file.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/shared_options.h"
#include "cli/sound_options.h"
#include "corpus/audio.h"
#include "export/symbols.h"
#include "export/voice.h"
#include "myxtts/error.h"
#include "run/job.h"
#include "speech/speak.h"
#include "speech/voice.h"
#include "vocoder/sound.h"

#define WORDS_MAX ((size_t)64 << 20)

/* Room of the network: one reference at a time, as long as 'synth' takes it. */
static const struct mx_model_capacity room = {
    .sequences = 1, .tokens = 16, .frames = 4096, .references = 1040, .longest_tokens = 16, .longest_frames = 4096};

struct values {
    const char *format, *output, *language, *words, *vocoder, *device;
    int64_t cpu_devices, rounds, projections, seed;
};

static const struct values start = {.rounds = MX_SOUND_VOCODER_ROUNDS, .projections = MX_SOUND_SPOKEN_PROJECTIONS};

static const struct mx_option options[] = {
    {MX_OPTION_CHOICE(struct values, format, "format", "FORMAT", mx_export_formats, NULL,
                      "The program that the voice is for. Required."),
     .letter = 'f'},
    {MX_OPTION_STRING(struct values, output, "output", "DIR", NULL,
                      "Folder to write the files into; it is made if it does not exist. Required."),
     .letter = 'o'},
    {MX_OPTION_STRING(struct values, language, "language", "LANGUAGE", "the first language of the voice",
                      "Language that the voice speaks there: en, fa, es, fr, de, it, ru or any other language of "
                      "espeak-ng.")},
    {MX_OPTION_STRING(
        struct values, words, "words", "FILE", NULL,
        "Text or list of words whose phonemes go into lexicon.txt. Required for sherpa-onnx if the voice reads "
        "phonemes.")},
    {MX_OPTION_STRING(struct values, vocoder, "vocoder", "RUN_OR_FILE", "the vocoder of the same checkpoint",
                      "Take the vocoder from this run folder or checkpoint.")},
    {MX_OPTION_INT(struct values, rounds, "rounds", "N", 0, 64, MX_SOUND_DIGITS(MX_SOUND_VOCODER_ROUNDS),
                   "Rounds of Griffin-Lim in the exported voice. The time grows with them.")},
    {MX_OPTION_INT(struct values, projections, "projections", "N", 0, 16, MX_SOUND_DIGITS(MX_SOUND_SPOKEN_PROJECTIONS),
                   "Corrections after the rounds that bring the mel of the sound closer to the one asked for.")},
    MX_VOICE_OPTIONS_DEVICE(struct values),
    {MX_OPTION_INT(struct values, seed, "seed", "N", 0, INT64_MAX, "0", "Seed of the noise in the exported voice.")},
};

static const struct mx_example examples[] = {
    {"myxtts export my-run --format piper --output my-voice", "writes my-voice/voice.onnx and its settings for Piper"},
    {"piper --model my-voice/voice.onnx --output-file hello.wav 'Hello there.'", "speaks with the voice in Piper"},
    {"myxtts export my-run --format sherpa --words words.txt --output my-voice",
     "writes the voice, its symbols and the phonemes of these words for sherpa-onnx"},
};

/* Everything that is opened; see job_close. */
struct job {
    struct mx_voice voice;
    struct mx_speak *speak;
    struct mx_checkpoint *other; /* that the vocoder comes from */
    struct mx_parameters *vocoder_table;
    float *weights, *vocoder_weights, *vectors;
    char *words;
    struct mx_vocoder_config vocoder;
    int32_t speakers;
};

static void job_close(struct job *j)
{
    mx_free(j->words);
    mx_free(j->weights);
    mx_free(j->vocoder_weights);
    mx_free(j->vectors);
    mx_parameters_destroy(j->vocoder_table);
    mx_checkpoint_close(j->other);
    if (j->voice.place.stream != NULL) (void)mx_stream_sync(j->voice.place.stream); /* something may be under way */
    mx_speak_destroy(j->speak);
    mx_voice_close(&j->voice);
}

/* ---- the networks ---- */

/* The weights of a network that it speaks with; the caller frees. */
static int weights_load(const struct mx_checkpoint *checkpoint, const struct mx_parameters *table, float **weights)
{
    *weights = mx_alloc((size_t)table->floats, sizeof **weights);
    if (*weights == NULL) return MX_ERR_NO_MEMORY;
    return mx_checkpoint_load_average(checkpoint, table, *weights);
}

static int networks_load(struct job *j, const struct values *values)
{
    int rc = 0;
    struct mx_voice *const v = &j->voice;
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(v->checkpoint);
    if (values->vocoder != NULL) MX_TRY(mx_checkpoint_open(values->vocoder, NULL, &j->other));
    const struct mx_checkpoint *const source = j->other != NULL ? j->other : v->checkpoint;
    MX_TRY(mx_checkpoint_vocoder_check(source));
    j->vocoder = mx_checkpoint_state(source)->vocoder;
    /* It gets the mel of the acoustic network, which this normaliser made. */
    j->vocoder.mel_mean = (float)state->normaliser.mel_mean;
    j->vocoder.mel_deviation = (float)state->normaliser.mel_deviation;
    MX_TRY(mx_vocoder_parameters_create(&j->vocoder, &j->vocoder_table));
    MX_TRY(weights_load(source, j->vocoder_table, &j->vocoder_weights));
    MX_TRY(mx_voice_load(v, &room));
    MX_TRY(weights_load(v->checkpoint, mx_model_parameters(v->model), &j->weights));
out:
    return rc;
}

/* ---- the speakers ---- */

/* The vector of a speaker; that of no particular voice, with a warning, if the run keeps no recording. */
static int speaker_measure(struct job *j, struct mx_audio_reader *reader, int32_t speaker, float *vector)
{
    int rc = 0;
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(j->voice.checkpoint);
    const struct mx_audio_options reading = MX_AUDIO_OPTIONS_DEFAULT;
    struct mx_audio_report report;
    const float *samples;
    float *reference = NULL;
    size_t count;
    int32_t frames = 0;
    char *path;
    MX_TRY(mx_job_voice_find(mx_checkpoint_path(j->voice.checkpoint), (size_t)speaker, &path));
    if (path == NULL) {
        mx_warn("there is no recording of the speaker '%s' in the run folder: it gets no particular voice",
                (size_t)speaker < state->speaker_count ? state->speakers[speaker] : "");
    } else {
        MX_TRY(mx_audio_load(reader, path, &reading, &samples, &count, &report));
        MX_TRY(mx_speak_reference(j->speak, samples, count, &reference, &frames));
    }
    MX_TRY(mx_speak_vector(j->speak, reference, frames, vector));
out:
    mx_free(path);
    mx_free(reference);
    return rc;
}

static int speakers_measure(struct job *j)
{
    int rc = 0;
    struct mx_voice *const v = &j->voice;
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(v->checkpoint);
    const int64_t width = state->model.size.width;
    struct mx_audio_reader *reader = NULL;
    const struct mx_speak_voice parts = {.device = v->place.device,
                                         .stream = v->place.stream,
                                         .model = v->model,
                                         .parameters = mx_slice_at(v->weights, 0),
                                         .vocabulary = v->vocabulary,
                                         .normaliser = state->normaliser};
    const struct mx_speak_sound sound = MX_SPEAK_SOUND_DEFAULT; /* none is made */
    j->speakers = state->speaker_count > 1 ? (int32_t)state->speaker_count : 1;
    j->vectors = mx_alloc((size_t)(j->speakers * width), sizeof *j->vectors);
    if (j->vectors == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_speak_create(&parts, &sound, &j->speak));
    MX_TRY(mx_audio_reader_create(&reader));
    for (int32_t i = 0; i < j->speakers; i++) MX_TRY(speaker_measure(j, reader, i, j->vectors + i * width));
out:
    mx_audio_reader_destroy(reader);
    return rc;
}

/* ---- running ---- */

/* The language that is asked for, or the first of the voice. */
static int language_choose(const struct job *j, const char *wanted, enum mx_language_id *language, int *number)
{
    const struct mx_vocabulary *const vocabulary = j->voice.vocabulary;
    int rc = 0;
    if (wanted != NULL) MX_TRY(mx_language_parse(wanted, language));
    for (int id = 0; wanted == NULL && id < MX_LANGUAGE_COUNT; id++) {
        *language = (enum mx_language_id)id;
        if (mx_vocabulary_language(vocabulary, *language) == 0) break;
    }
    *number = mx_vocabulary_language(vocabulary, *language);
    if (*number < 0)
        MX_RAISE(MX_ERR_USAGE, "'myxtts inspect' lists the languages of a voice", "the voice never learned %s",
                 mx_language_get(*language)->name);
out:
    return rc;
}

static int usage_check(const struct values *v, const struct mx_option_list *operands)
{
    const char *const hint = "see 'myxtts export --help'";
    if (operands->count == 0) return MX_FAIL(MX_ERR_USAGE, hint, "the run folder is missing");
    if (v->format == NULL) return MX_FAIL(MX_ERR_USAGE, hint, "'--format FORMAT' is missing");
    if (v->output == NULL) return MX_FAIL(MX_ERR_USAGE, hint, "'--output DIR' is missing");
    return 0;
}

static int voice_write(struct job *j, const struct values *values, enum mx_export_format format)
{
    int rc = 0, number;
    enum mx_language_id language;
    struct mx_export_report report;
    const struct mx_voice *const v = &j->voice;
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(v->checkpoint);
    MX_TRY(language_choose(j, values->language, &language, &number));
    if (j->words != NULL && mx_vocabulary_mode(v->vocabulary) != MX_TOKENS_PHONEMES)
        MX_RAISE(MX_ERR_USAGE, "export it without '--words'",
                 "the voice reads characters, so it needs no phonemes of words");
    if (j->words == NULL && format == MX_EXPORT_SHERPA && mx_vocabulary_mode(v->vocabulary) == MX_TOKENS_PHONEMES)
        MX_RAISE(
            MX_ERR_USAGE,
            "add '--words FILE', where FILE is a long text or a list of words in the language of the voice",
            "the voice reads phonemes, and sherpa-onnx 2.0 and later says only words that are in " MX_EXPORT_LEXICON);
    const struct mx_export_voice voice = {
        .speech = {.config = &state->model, .language = number, .speakers = j->speakers, .vectors = j->vectors},
        .table = mx_model_parameters(v->model),
        .weights = j->weights,
        .sound = {.config = &j->vocoder,
                  .rounds = (int)values->rounds,
                  .projections = (int)values->projections,
                  .momentum = MX_SOUND_MOMENTUM,
                  .seed = (uint64_t)values->seed},
        .vocoder_table = j->vocoder_table,
        .vocoder_weights = j->vocoder_weights,
        .vocabulary = v->vocabulary,
        .language = language,
        .speakers = state->speakers,
        .words = j->words};
    MX_TRY(mx_export_symbols_check(v->vocabulary));
    MX_TRY(mx_job_folder_make(values->output));
    MX_TRY(mx_export_voice_write(&voice, format, values->output, &report));
    mx_info("%s/" MX_EXPORT_GRAPH ": %s, %d speaker%s, %zu symbols, %.1f MB", values->output,
            mx_language_get(language)->name, (int)j->speakers, j->speakers == 1 ? "" : "s", report.symbols,
            (double)report.bytes / 1e6);
    if (j->words != NULL)
        mx_info("%s/" MX_EXPORT_LEXICON ": %zu word%s", values->output, report.words, report.words == 1 ? "" : "s");
out:
    return rc;
}

static int run(const void *given, const struct mx_option_list *operands)
{
    const struct values *const values = given;
    struct job job = {0};
    enum mx_export_format format = MX_EXPORT_PIPER;
    size_t length;
    int rc = usage_check(values, operands);
    if (rc < 0) return rc;
    while (strcmp(mx_export_formats[format], values->format) != 0) format++; /* the parser knows it */
    if (values->words != NULL && format != MX_EXPORT_SHERPA)
        return MX_FAIL(MX_ERR_USAGE, "export it without '--words': Piper finds the phonemes of words itself",
                       "'--words' is for '--format sherpa'");
    if (values->words != NULL) MX_TRY(mx_file_read(values->words, WORDS_MAX, &job.words, &length));
    MX_TRY(mx_voice_open(&job.voice, operands->items[0], values->device, values->cpu_devices));
    MX_TRY(networks_load(&job, values));
    MX_TRY(speakers_measure(&job));
    MX_TRY(voice_write(&job, values, format));
out:
    job_close(&job);
    return rc;
}

const struct mx_command mx_command_export = {
    .name = "export",
    .page =
        {
            .command = "myxtts export",
            .operands = "RUN_OR_FILE",
            .operand_max = 1,
            .summary = "write a trained voice for Piper or sherpa-onnx",
            .description =
                "Writes the voice as one ONNX file, voice.onnx, that makes sound from symbols: the acoustic "
                "network, the vocoder and the rounds that make its sound. The checkpoint needs a vocoder. "
                "For the same symbols the sound is that of 'myxtts synth'.\nFor Piper (and its servers) "
                "there is also voice.onnx.json; for sherpa-onnx tokens.txt and, with '--words', lexicon.txt. "
                "Those programs read numbers and dates in their own way, not with the rules of this "
                "program. Several speakers are chosen by number there. Existing files are replaced.",
            MX_PAGE_EXAMPLES(examples),
        },
    MX_COMMAND_WORK(options, struct values, run),
    .values = &start,
};
