/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts export: a trained voice as one file (checkpoint/voice_file.h), or as files for other programs
 * (export/voice.h).
 *
 * The voice of each speaker is that of the recording that the run folder keeps (run/job.h): our own network makes a
 * vector of it, once, and the vectors go into the file.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/string.h"
#include "cli/command.h"
#include "cli/export/export_voice.h"
#include "cli/export/export_words.h"
#include "cli/options/shared_options.h"
#include "cli/options/sound_options.h"
#include "export/symbols.h"
#include "export/voice.h"
#include "myxtts/error.h"
#include "run/job.h"
#include "speech/voice_internal.h"
#include "vocoder/sound.h"

#define WORDS_MAX ((size_t)64 << 20)
#define NOT_GIVEN (-1)

struct values {
    const char *format, *output, *language, *words, *lexicon, *vocoder, *device;
    const char *precision, *name, *licence, *attribution;
    int64_t cpu_devices, rounds, projections, seed;
    bool fixed, any, adapter;
    struct mx_option_list languages;
};

static const struct values start = {.rounds = NOT_GIVEN, .projections = NOT_GIVEN, .seed = NOT_GIVEN};

#define VOICE   0 /* among the formats */
#define VOCODER 1
#define OTHERS  2 /* these follow in the order of enum mx_export_format */
static const char *const formats[] = {"voice", "vocoder",
#define X(identifier, name) name,
                                      MX_EXPORT_FORMAT_LIST(X)
#undef X
                                          NULL};
static const char *const precisions[] = {"fp32", "bf16", NULL};

static const struct mx_option options[] = {
    {MX_OPTION_CHOICE(struct values, format, "format", "FORMAT", formats,
                      "voice, if the output ends in " MX_CHECKPOINT_VOICE_SUFFIX,
                      "What to write: a voice file of this program, a file with its vocoder alone, or a folder for "
                      "Piper or sherpa-onnx."),
     .letter = 'f'},
    {MX_OPTION_STRING(struct values, output, "output", "FILE|DIR", NULL,
                      "Voice file to write, NAME" MX_CHECKPOINT_VOICE_SUFFIX
                      "; for a vocoder alone NAME" MX_CHECKPOINT_SUFFIX
                      "; for other programs a folder, which is made if it does not exist. Required."),
     .letter = 'o'},
    {MX_OPTION_FLAG(
        struct values, adapter, "adapter",
        "Write only what a run with '--adapter-rank' has learned. The small file speaks wherever the base of the "
        "run, which it knows by its hash, is installed, lies in the same folder, or is named by the environment "
        "variable MYXTTS_BASE.")},
    {MX_OPTION_CHOICE(struct values, precision, "precision", "PRECISION", precisions, "bf16",
                      "Numbers of a voice file: bf16 has half the size of fp32 and rounds each weight to 8 binary "
                      "digits; with fp32 it speaks exactly like the run.")},
    {MX_OPTION_FLAG(struct values, fixed, "fixed-speakers",
                    "Leave out the part of the network that listens to recordings: the voice file is smaller, and "
                    "nobody can make it imitate other people. This is the default for a bf16 file of one speaker.")},
    {MX_OPTION_FLAG(struct values, any, "any-speaker",
                    "Keep the part of the network that listens to recordings also in a bf16 file of one speaker: for "
                    "'--speaker-wav', and training that begins with the file.")},
    {MX_OPTION_STRING(struct values, name, "name", "NAME", "that of the file", "Name of the voice in a voice file.")},
    {MX_OPTION_STRING(struct values, licence, "licence", "TEXT", NULL,
                      "Licence of the voice, kept in a voice file: CC-BY-4.0, for example.")},
    {MX_OPTION_STRING(struct values, attribution, "attribution", "TEXT", NULL,
                      "Who must be named when the voice is used, kept in a voice file.")},
    {MX_OPTION_LIST(struct values, languages, "speaker-language", "SPEAKER=LANGUAGE",
                    "Language of a speaker, kept in a voice file; may be repeated. Training stores the languages of "
                    "the speakers; this is for runs of versions that did not, or to correct one.")},
    {MX_OPTION_STRING(struct values, language, "language", "LANGUAGE", "the first language of the voice",
                      "Language that the voice speaks there: en, fa, es, fr, de, it, ru or any other language of "
                      "espeak-ng.")},
    {MX_OPTION_STRING(struct values, words, "words", "FILE", "frequent words of the language",
                      "For sherpa-onnx, if the voice reads phonemes: text or list of words whose phonemes go into "
                      "lexicon.txt. Other words are skipped.")},
    MX_VOICE_OPTION_LEXICON(struct values),
    {MX_OPTION_STRING(struct values, vocoder, "vocoder", "RUN_OR_FILE", "the vocoder of the same checkpoint",
                      "Take the vocoder from this run folder, checkpoint, voice file or installed voice.")},
    {MX_OPTION_INT(struct values, rounds, "rounds", "N", 0, 64, MX_SOUND_DIGITS(MX_SOUND_VOCODER_ROUNDS),
                   "Rounds of Griffin-Lim in the exported voice. The time grows with them.")},
    {MX_OPTION_INT(struct values, projections, "projections", "N", 0, 16, MX_SOUND_DIGITS(MX_SOUND_SPOKEN_PROJECTIONS),
                   "Corrections after the rounds that bring the mel of the sound closer to the one asked for.")},
    MX_VOICE_OPTIONS_DEVICE(struct values),
    {MX_OPTION_INT(struct values, seed, "seed", "N", 0, INT64_MAX, "0", "Seed of the noise in the exported voice.")},
};

static const struct mx_example examples[] = {
    {"myxtts export my-run --output ann.voice.safetensors --licence CC-BY-4.0",
     "writes everything that speaking needs into one small file"},
    {"myxtts synth --checkpoint ann.voice.safetensors --text 'Hello there.' --output hello.wav",
     "speaks with that file"},
    {"myxtts export my-run --format vocoder --output my-vocoder.safetensors", "writes the vocoder alone"},
    {"myxtts export my-run --adapter --output ann.voice.safetensors",
     "writes what a run with adapters has learned, for everybody who has its base"},
    {"myxtts export my-run --format piper --output my-voice", "writes my-voice/voice.onnx and its settings for Piper"},
    {"piper --model my-voice/voice.onnx --output-file hello.wav 'Hello there.'", "speaks with the voice in Piper"},
    {"myxtts export my-run --format sherpa --output my-voice",
     "writes the voice, its symbols and the phonemes of frequent words for sherpa-onnx"},
    {"myxtts export my-run --format sherpa --words words.txt --output my-voice",
     "the same with the words of your own text"},
};

/* Everything that is opened; see job_close. */
struct job {
    struct mx_voice *voice;
    struct mx_checkpoint *other; /* that the vocoder comes from */
    struct mx_parameters *vocoder_table;
    float *weights, *vocoder_weights;
    const float **vectors; /* of each speaker; they belong to the voice. NULL: it keeps none */
    char *words;
    struct mx_vocoder_config vocoder;
    size_t speakers;
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

/* A voice file can do without a vocoder. */
static int networks_load(struct job *j, const struct values *values, bool optional)
{
    int rc = 0;
    struct mx_voice *const v = j->voice;
    const struct mx_checkpoint_options named = {.named = true, .speaks = true};
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(v->checkpoint);
    if (values->vocoder != NULL) MX_TRY(mx_checkpoint_open(values->vocoder, &named, &j->other));
    const struct mx_checkpoint *const source = j->other != NULL ? j->other : v->checkpoint;
    if (!optional || j->other != NULL || state->has_vocoder) {
        MX_TRY(mx_checkpoint_vocoder_check(source));
        j->vocoder = mx_checkpoint_state(source)->vocoder;
        /* It gets the mel of the acoustic network, which this normaliser made. */
        j->vocoder.mel_mean = (float)state->normaliser.mel_mean;
        j->vocoder.mel_deviation = (float)state->normaliser.mel_deviation;
        MX_TRY(mx_vocoder_parameters_create(&j->vocoder, &j->vocoder_table));
        MX_TRY(weights_load(source, j->vocoder_table, &j->vocoder_weights));
    }
    MX_TRY(weights_load(v->checkpoint, v->table, &j->weights));
out:
    return rc;
}

/* ---- the speakers ---- */

static void missing_warn(const struct job *j, size_t missing, size_t first)
{
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(j->voice->checkpoint);
    char quoted[96];
    mx_string_quote(quoted, sizeof quoted, first < state->speaker_count ? state->speakers[first] : "");
    if (missing == 1)
        mx_warn("there is no recording of the speaker %s: it gets no particular voice", quoted);
    else
        mx_warn("there is no recording of %zu speakers, the first of them is %s: they get no particular voice", missing,
                quoted);
}

/* The vector of each speaker, with a warning about those without one. */
static int speakers_find(struct job *j)
{
    int rc = 0;
    size_t missing = 0, first = 0;
    const size_t count = mx_checkpoint_state(j->voice->checkpoint)->speaker_count;
    j->speakers = count > 1 ? count : 1;
    j->vectors = mx_alloc(j->speakers, sizeof *j->vectors);
    if (j->vectors == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (size_t i = 0; i < j->speakers; i++) {
        MX_TRY(mx_voice_vector_of(j->voice, i, &j->vectors[i]));
        if (j->vectors[i] == NULL && missing++ == 0) first = i;
    }
    if (missing > 0) missing_warn(j, missing, first);
out:
    return rc;
}

/* ---- running ---- */

/* The requested language, or the first of the voice. */
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

/* Options of one kind of output, given together with another kind. */
static int options_check(const struct values *v, size_t format)
{
    const struct {
        const char *name;
        bool given, file, speakers; /* of the files of this program; only of those with speakers */
    } own[] = {{"precision", v->precision != NULL, true, false},
               {"name", v->name != NULL, true, false},
               {"fixed-speakers", v->fixed, true, true},
               {"any-speaker", v->any, true, true},
               {"adapter", v->adapter, true, true},
               {"licence", v->licence != NULL, true, false},
               {"attribution", v->attribution != NULL, true, false},
               {"speaker-language", v->languages.count > 0, true, true},
               {"language", v->language != NULL, false, false},
               {"words", v->words != NULL, false, false},
               {"rounds", v->rounds != NOT_GIVEN, false, false},
               {"projections", v->projections != NOT_GIVEN, false, false},
               {"seed", v->seed != NOT_GIVEN, false, false}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (!own[i].given || (own[i].file == (format < OTHERS) && !(own[i].speakers && format == VOCODER))) continue;
        MX_FAIL(MX_ERR_USAGE, NULL, "'--%s' is not for '--format %s'", own[i].name, formats[format]);
        return own[i].file ? mx_error_hint("export it without '--%s': only voice files keep that", own[i].name)
                           : mx_error_hint("export it without '--%s': 'myxtts synth' takes it when the voice speaks",
                                           own[i].name);
    }
    if (v->fixed && v->any)
        return MX_FAIL(MX_ERR_USAGE, "omit one of them",
                       "'--fixed-speakers' and '--any-speaker' contradict each other");
    if (v->adapter && (v->fixed || v->any || v->vocoder != NULL)) {
        const char *const other = v->fixed ? "fixed-speakers" : v->any ? "any-speaker" : "vocoder";
        MX_FAIL(MX_ERR_USAGE, NULL, "'--adapter' and '--%s' contradict each other", other);
        return mx_error_hint("omit '--%s': an adapter has these parts from its base; or omit '--adapter'", other);
    }
    if (v->lexicon != NULL && format == VOCODER)
        return MX_FAIL(MX_ERR_USAGE, "export it without '--lexicon': a vocoder reads no words",
                       "'--lexicon' is not for '--format vocoder'");
    if (v->words != NULL && format != OTHERS + MX_EXPORT_SHERPA)
        return MX_FAIL(MX_ERR_USAGE, "export it without '--words': Piper finds the phonemes of words itself",
                       "'--words' is for '--format sherpa'");
    return 0;
}

/* *format: among `formats`. */
static int usage_check(const struct values *v, const struct mx_option_list *operands, size_t *format)
{
    const char *const hint = "see 'myxtts export --help'";
    if (operands->count == 0) return MX_FAIL(MX_ERR_USAGE, hint, "the run folder is missing");
    if (v->output == NULL) return MX_FAIL(MX_ERR_USAGE, hint, "'--output' is missing");
    const bool named = mx_command_voice_named(v->output);
    if (v->format == NULL && !named)
        return MX_FAIL(MX_ERR_USAGE,
                       "name a voice file, '--output NAME" MX_CHECKPOINT_VOICE_SUFFIX
                       "', or say which program the voice is for; see 'myxtts export --help'",
                       "'--format FORMAT' is missing");
    *format = VOICE;
    while (v->format != NULL && strcmp(formats[*format], v->format) != 0) ++*format; /* the parser knows it */
    if (*format == VOICE && !named)
        return MX_FAIL(MX_ERR_USAGE, "name it '--output NAME" MX_CHECKPOINT_VOICE_SUFFIX "'",
                       "the name of a voice file ends in " MX_CHECKPOINT_VOICE_SUFFIX);
    if (*format == VOCODER && (named || !mx_command_vocoder_named(v->output)))
        return MX_FAIL(MX_ERR_USAGE, "name it '--output NAME" MX_CHECKPOINT_SUFFIX "'",
                       "the name of a vocoder's file ends in " MX_CHECKPOINT_SUFFIX
                       ", but not in " MX_CHECKPOINT_VOICE_SUFFIX);
    if (*format >= OTHERS && named)
        return MX_FAIL(MX_ERR_USAGE, "omit '--format' for a voice file, or name a folder with another ending",
                       "'--format %s' writes a folder, and the output ends in " MX_CHECKPOINT_VOICE_SUFFIX, v->format);
    return options_check(v, *format);
}

static enum mx_dtype precision_of(const struct values *v)
{
    return v->precision == NULL || strcmp(v->precision, "bf16") == 0 ? MX_DTYPE_BF16 : MX_DTYPE_F32;
}

/* A small file of one speaker omits the speaker encoder: it would imitate others badly, and speaks as its speaker by the
 * vector that it keeps. */
static bool deaf_by_itself(const struct job *j, const struct values *v)
{
    return !v->fixed && !v->any && !v->adapter && precision_of(v) == MX_DTYPE_BF16 && j->speakers == 1 &&
           j->vectors[0] != NULL && mx_checkpoint_listens(j->voice->checkpoint);
}

static int file_write(const struct job *j, const struct values *values)
{
    const bool deaf = deaf_by_itself(j, values);
    const struct mx_command_voice voice = {.checkpoint = j->voice->checkpoint,
                                           .vocabulary = j->voice->vocabulary,
                                           .name = values->name,
                                           .licence = values->licence,
                                           .attribution = values->attribution,
                                           .precision = precision_of(values),
                                           .adapter = values->adapter,
                                           .acoustic = {.table = j->voice->table, .weights = j->weights},
                                           .vocoder = {.table = j->vocoder_table, .weights = j->vocoder_weights},
                                           .vocoder_config = &j->vocoder,
                                           .vectors = j->vectors,
                                           .vector_count = j->speakers,
                                           .languages = &values->languages,
                                           .fixed = values->fixed || deaf};
    const int rc = mx_command_voice_write(&voice, values->output);
    if (rc == 0 && deaf)
        mx_info("  without the part of the network that listens to recordings, which its speaker does not need; "
                "'--any-speaker' keeps it");
    return rc;
}

/* Piper has no place for words. */
static void lexicon_warn(const struct mx_vocabulary *vocabulary, enum mx_language_id language)
{
    const struct mx_lexicon *const lexicon = mx_vocabulary_reading(vocabulary)->lexicon;
    size_t words = 0;
    for (size_t i = 0; i < mx_lexicon_count(lexicon); i++) words += mx_lexicon_entry(lexicon, i)->language == language;
    if (words > 0)
        mx_warn(
            "Piper finds the phonemes of words itself: the %zu word%s of the lexicon will be said as espeak-ng says "
            "%s",
            words, words == 1 ? "" : "s", words == 1 ? "it" : "them");
}

/* The vocoder of a run or file alone; there need be no voice. */
static int vocoder_write(struct job *j, const char *path, const struct values *values)
{
    int rc = 0;
    const struct mx_checkpoint_options named = {.named = true, .speaks = true};
    MX_TRY(mx_checkpoint_open(values->vocoder != NULL ? values->vocoder : path, &named, &j->other));
    MX_TRY(mx_checkpoint_vocoder_check(j->other));
    j->vocoder = mx_checkpoint_state(j->other)->vocoder;
    MX_TRY(mx_vocoder_parameters_create(&j->vocoder, &j->vocoder_table));
    MX_TRY(weights_load(j->other, j->vocoder_table, &j->vocoder_weights));
    const struct mx_command_voice voice = {.checkpoint = j->other,
                                           .name = values->name,
                                           .licence = values->licence,
                                           .attribution = values->attribution,
                                           .precision = precision_of(values),
                                           .vocoder = {.table = j->vocoder_table, .weights = j->vocoder_weights},
                                           .vocoder_config = &j->vocoder};
    MX_TRY(mx_command_vocoder_write(&voice, values->output));
out:
    return rc;
}

/* For other programs. The vector of no particular voice is 0. */
static int voice_write(struct job *j, const struct values *values, enum mx_export_format format)
{
    int rc = 0, number;
    enum mx_language_id language;
    struct mx_export_report report;
    const struct mx_voice *const v = j->voice;
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(v->checkpoint);
    const size_t width = (size_t)state->model.size.width;
    float *const vectors = mx_alloc(j->speakers * width, sizeof *vectors);
    if (vectors == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (size_t i = 0; i < j->speakers; i++)
        if (j->vectors[i] != NULL) memcpy(vectors + i * width, j->vectors[i], width * sizeof *vectors);
    MX_TRY(language_choose(j, values->language, &language, &number));
    if (j->words != NULL && mx_vocabulary_mode(v->vocabulary) != MX_TOKENS_PHONEMES)
        MX_RAISE(MX_ERR_USAGE, "export it without '--words'",
                 "the voice reads characters, so it needs no phonemes of words");
    if (j->words == NULL && format == MX_EXPORT_SHERPA && mx_vocabulary_mode(v->vocabulary) == MX_TOKENS_PHONEMES)
        MX_TRY(mx_command_words_find(language, &j->words));
    const struct mx_export_voice voice = {
        .speech = {.config = &state->model, .language = number, .speakers = (int32_t)j->speakers, .vectors = vectors},
        .table = v->table,
        .weights = j->weights,
        .sound = {.config = &j->vocoder,
                  .rounds = values->rounds != NOT_GIVEN ? (int)values->rounds : MX_SOUND_VOCODER_ROUNDS,
                  .projections =
                      values->projections != NOT_GIVEN ? (int)values->projections : MX_SOUND_SPOKEN_PROJECTIONS,
                  .texture = MX_SOUND_VOCODER_TEXTURE,
                  .contrast = MX_SOUND_SPOKEN_CONTRAST,
                  .momentum = MX_SOUND_MOMENTUM,
                  .seed = values->seed != NOT_GIVEN ? (uint64_t)values->seed : 0},
        .vocoder_table = j->vocoder_table,
        .vocoder_weights = j->vocoder_weights,
        .vocabulary = v->vocabulary,
        .language = language,
        .speakers = state->speakers,
        .words = j->words};
    MX_TRY(mx_export_symbols_check(v->vocabulary));
    MX_TRY(mx_job_folder_create(values->output));
    if (format == MX_EXPORT_PIPER) lexicon_warn(v->vocabulary, language);
    MX_TRY(mx_export_voice_write(&voice, format, values->output, &report));
    mx_info("%s/" MX_EXPORT_GRAPH ": %s, %zu speaker%s, %zu symbols, %.1f MB", values->output,
            mx_language_get(language)->name, j->speakers, j->speakers == 1 ? "" : "s", report.symbols,
            (double)report.bytes / 1e6);
    if (j->words != NULL)
        mx_info("%s/" MX_EXPORT_LEXICON ": %zu word%s", values->output, report.words, report.words == 1 ? "" : "s");
out:
    mx_free(vectors);
    return rc;
}

static int run(const void *given, const struct mx_option_list *operands)
{
    const struct values *const values = given;
    struct job job = {0};
    size_t format = VOICE, length;
    int rc = usage_check(values, operands, &format);
    if (rc < 0) return rc;
    if (format == VOCODER) MX_TRY(vocoder_write(&job, operands->items[0], values));
    if (format == VOCODER) goto out;
    if (values->words != NULL) MX_TRY(mx_file_read(values->words, WORDS_MAX, &job.words, &length));
    const struct mx_voice_options place = {.size = sizeof place,
                                           .device = values->device,
                                           .cpu_devices = (int)values->cpu_devices,
                                           .vocoder = MX_SOUND_GRIFFIN_LIM, /* no sound is made */
                                           .lexicon = values->lexicon};
    MX_TRY(mx_voice_open(operands->items[0], &place, &job.voice));
    MX_TRY(networks_load(&job, values, format == VOICE));
    MX_TRY(speakers_find(&job));
    if (format == VOICE)
        MX_TRY(file_write(&job, values));
    else
        MX_TRY(voice_write(&job, values, (enum mx_export_format)(format - OTHERS)));
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
            .summary = "write a trained voice as one file, or for Piper or sherpa-onnx",
            .description =
                "Writes a voice file, NAME" MX_CHECKPOINT_VOICE_SUFFIX
                ", which has everything that speaking needs and nothing else: the averaged weights, the vocoder if "
                "there is one, the symbols, and the voice of each speaker. Whatever takes a checkpoint takes a voice "
                "file, too. With '--precision fp32' it speaks exactly like the run. With '--format vocoder', "
                "NAME" MX_CHECKPOINT_SUFFIX " has the vocoder alone, for '--vocoder' of other commands.\n"
                "For other programs, writes the voice as one ONNX file, voice.onnx, that makes sound from symbols: the "
                "acoustic network, the vocoder and the rounds that make its sound. The checkpoint needs a vocoder. "
                "For the same symbols the sound is that of 'myxtts synth'. For Piper (and its servers) "
                "there is also voice.onnx.json; for sherpa-onnx tokens.txt and, if the voice reads phonemes, "
                "lexicon.txt. "
                "Those programs read numbers and dates in their own way, not with the rules of this "
                "program. Several speakers are chosen by number there.\nExisting files are replaced.",
            MX_PAGE_EXAMPLES(examples),
        },
    MX_COMMAND_WORK(options, struct values, run),
    .values = &start,
};
