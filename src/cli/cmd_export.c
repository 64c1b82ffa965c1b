/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts export: a trained voice as files for other programs (export/voice.h).
 *
 * The voice of each speaker is that of the recording that the voice keeps (speech/voice_internal.h): our own network
 * makes a vector of it, once, and the vectors go into the file.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/shared_options.h"
#include "cli/sound_options.h"
#include "export/voice.h"
#include "myxtts/error.h"
#include "run/job.h"
#include "speech/voice_internal.h"
#include "vocoder/sound.h"

#define WORDS_MAX ((size_t)64 << 20)

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
    {MX_OPTION_STRING(struct values, words, "words", "FILE", NULL,
                      "Text or list of words whose phonemes go into lexicon.txt, for sherpa-onnx 2.0 and later.")},
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
    struct mx_voice *voice;
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
    mx_voice_close(j->voice);
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
    struct mx_voice *const v = j->voice;
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
    MX_TRY(weights_load(v->checkpoint, v->table, &j->weights));
out:
    return rc;
}

/* ---- the speakers ---- */

/* The vector of each speaker; that of no particular voice, with a warning, if there is no recording. */
static int speakers_measure(struct job *j)
{
    int rc = 0;
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(j->voice->checkpoint);
    const size_t width = (size_t)state->model.size.width;
    j->speakers = state->speaker_count > 1 ? (int32_t)state->speaker_count : 1;
    j->vectors = mx_alloc((size_t)j->speakers * width, sizeof *j->vectors);
    if (j->vectors == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (size_t i = 0; i < (size_t)j->speakers; i++) {
        const float *vector;
        MX_TRY(mx_voice_vector_of(j->voice, i, &vector));
        if (vector != NULL)
            memcpy(j->vectors + i * width, vector, width * sizeof *vector);
        else
            mx_warn("there is no recording of the speaker '%s' in the run folder: it gets no particular voice",
                    i < state->speaker_count ? state->speakers[i] : "");
    }
out:
    return rc;
}

/* ---- running ---- */

/* The language that is asked for, or the first of the voice. */
static int language_choose(const struct job *j, const char *wanted, enum mx_language_id *language, int *number)
{
    const struct mx_vocabulary *const vocabulary = j->voice->vocabulary;
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
    const struct mx_voice *const v = j->voice;
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(v->checkpoint);
    MX_TRY(language_choose(j, values->language, &language, &number));
    if (j->words != NULL && mx_vocabulary_mode(v->vocabulary) != MX_TOKENS_PHONEMES)
        MX_RAISE(MX_ERR_USAGE, "export it without '--words'",
                 "the voice reads characters, so it needs no phonemes of words");
    const struct mx_export_voice voice = {
        .speech = {.config = &state->model, .language = number, .speakers = j->speakers, .vectors = j->vectors},
        .table = v->table,
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
    MX_TRY(mx_job_folder_make(values->output));
    MX_TRY(mx_export_voice_write(&voice, format, values->output, &report));
    mx_info("%s/" MX_EXPORT_GRAPH ": %s, %d speaker%s, %zu symbols, %.1f MB", values->output,
            mx_language_get(language)->name, (int)j->speakers, j->speakers == 1 ? "" : "s", report.symbols,
            (double)report.bytes / 1e6);
    if (j->words != NULL)
        mx_info("%s/" MX_EXPORT_LEXICON ": %zu words", values->output, report.words);
    else if (format == MX_EXPORT_SHERPA && mx_vocabulary_mode(v->vocabulary) == MX_TOKENS_PHONEMES)
        mx_warn("sherpa-onnx 2.0 and later speaks only the words in " MX_EXPORT_LEXICON
                ": name a text or a list of words with '--words FILE'");
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
    const struct mx_voice_options place = {.size = sizeof place,
                                           .device = values->device,
                                           .cpu_devices = (int)values->cpu_devices,
                                           .vocoder = MX_SOUND_GRIFFIN_LIM}; /* no sound is made */
    MX_TRY(mx_voice_open(operands->items[0], &place, &job.voice));
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
