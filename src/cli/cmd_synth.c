/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts synth: speaks a text with a trained voice.
 *
 * The voice: a recording that the user names, or the one that the checkpoint's run folder keeps for each speaker
 * (run/job.h), or no particular voice.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/shared_options.h"
#include "cli/sound_options.h"
#include "cli/synth_lines.h"
#include "corpus/audio.h"
#include "myxtts/error.h"
#include "run/job.h"
#include "run/settings.h"
#include "speech/speak.h"
#include "speech/voice_internal.h"
#include "speech/wav.h"

#define TEXT_MAX    ((size_t)16 << 20)
#define PROGRESS_NS UINT64_C(2000000000) /* shorter work is not told about */

struct values {
    const char *checkpoint, *text, *text_file, *output, *output_dir, *speaker_wav, *speaker, *speed, *pitch;
    const char *language, *device, *vocoder;
    int64_t cpu_devices, seed, rounds, projections;
};

static const struct values start = {MX_SOUND_VALUES};

static const struct mx_option options[] = {
    MX_VOICE_OPTION_CHECKPOINT(struct values),
    {MX_OPTION_STRING(struct values, text, "text", "TEXT", "standard input", "Text to speak."), .letter = 't'},
    {MX_OPTION_STRING(struct values, text_file, "text-file", "FILE", NULL, "Speak the text in this file.")},
    {MX_OPTION_STRING(struct values, output, "output", "FILE", NULL,
                      "WAV file to write; '-' is standard output. Either this or '--output-dir' is required."),
     .letter = 'o'},
    {MX_OPTION_STRING(struct values, output_dir, "output-dir", "DIR", NULL,
                      "Write a WAV file for each line of the text, and a list of them, into this folder.")},
    {MX_OPTION_STRING(struct values, speaker_wav, "speaker-wav", "FILE", "a recording from the run folder",
                      "Speak with the voice of this recording.")},
    {MX_OPTION_STRING(struct values, speaker, "speaker", "NAME", "the first speaker",
                      "Use the voice of this speaker of the training data, from the recording in the run folder.")},
    {MX_OPTION_STRING(struct values, speed, "speed", "FACTOR", "1", "Speed factor, 0.25 to 4; 2 is twice as fast.")},
    {MX_OPTION_STRING(struct values, pitch, "pitch", "SEMITONES", "0", "Shift the pitch up or down; -24 to 24.")},
    {MX_OPTION_STRING(struct values, language, "language", "LANGUAGE", "detected from the script of each paragraph",
                      "Language of the text: en, fa, es, fr, de, it, ru or any other language of espeak-ng.")},
    MX_SOUND_OPTIONS(struct values, "the vocoder of the voice, if it has one; otherwise " MX_SOUND_GRIFFIN_LIM,
                     MX_SOUND_SPOKEN_PROJECTIONS),
    MX_VOICE_OPTIONS_DEVICE(struct values),
    {MX_OPTION_INT(struct values, seed, "seed", "N", 0, INT64_MAX, "0",
                   "The same text, voice and seed give the same samples.")},
};

static const struct mx_example examples[] = {
    {"myxtts synth --checkpoint my-run --text 'Good morning.' --output morning.wav", "speaks a sentence"},
    {"myxtts synth -c my-run --text-file story.txt --speed 1.2 -o story.wav", "reads a file aloud, a little faster"},
    {"myxtts synth -c my-run --text-file lines.txt --output-dir spoken", "writes spoken/001.wav, spoken/002.wav …"},
    {"myxtts synth -c my-run --text 'Hello' --speaker-wav friend.wav -o - | aplay",
     "speaks in another voice, straight to the loudspeaker"},
};

/* Everything that speaks. */
struct speaker {
    struct mx_voice *voice;
    struct mx_speak *speak;
    float *reference;
    int32_t reference_frames;
};

static void speaker_close(struct speaker *s)
{
    mx_free(s->reference);
    mx_speak_destroy(s->speak);
    mx_voice_close(s->voice);
}

static int speaker_open(struct speaker *s, const struct values *values)
{
    int rc = 0;
    const struct mx_model_capacity room = mx_voice_room(4);
    const int rounds = (int)values->rounds, projections = (int)values->projections;
    const struct mx_voice_options how = {.size = sizeof how,
                                         .device = values->device,
                                         .cpu_devices = (int)values->cpu_devices,
                                         .vocoder = values->vocoder,
                                         .rounds = rounds == MX_SOUND_USUAL ? 0
                                                   : rounds == 0            ? MX_VOICE_NONE
                                                                            : rounds,
                                         .projections = projections == MX_SOUND_USUAL ? 0
                                                        : projections == 0            ? MX_VOICE_NONE
                                                                                      : projections};
    rc = mx_voice_open(values->checkpoint, &how, &s->voice);
    if (rc == MX_ERR_ARGUMENT && rounds == 0) rc = mx_command_rounds_check(false, 0);
    MX_TRY(rc);
    MX_TRY(mx_voice_speak_create(s->voice, &room, &s->speak));
out:
    return rc;
}

/* ---- whose voice ---- */

/* The recording that the run keeps of the wanted speaker; *path stays NULL if there is none. */
static int kept_find(const struct mx_voice *v, const char *speaker, char **path)
{
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(v->checkpoint);
    size_t number = 0;
    while (speaker != NULL && number < state->speaker_count && strcmp(state->speakers[number], speaker) != 0) number++;
    if (number >= state->speaker_count && speaker != NULL) {
        char quoted[96];
        MX_FAIL(MX_ERR_USAGE, NULL, "the voice has no speaker %s", mx_string_quote(quoted, sizeof quoted, speaker));
        return mx_error_hint("it learned from %zu speakers, the first is '%s'; 'myxtts inspect' lists them",
                             state->speaker_count, state->speaker_count > 0 ? state->speakers[0] : "");
    }
    const int rc = mx_checkpoint_recording(v->checkpoint, number, path);
    if (rc < 0 || *path != NULL || speaker == NULL) return rc;
    return MX_FAIL(MX_ERR_NOT_FOUND, "give a recording of the speaker with '--speaker-wav'",
                   "the run keeps no recording of '%s'", speaker);
}

static int reference_load(struct speaker *s, const struct values *values)
{
    int rc = 0;
    char *kept = NULL;
    const char *path = values->speaker_wav;
    const float *samples;
    size_t count;
    struct mx_audio_reader *reader = NULL;
    struct mx_audio_report report;
    const struct mx_audio_options reading = MX_AUDIO_OPTIONS_DEFAULT;
    if (path == NULL) {
        MX_TRY(kept_find(s->voice, values->speaker, &kept));
        path = kept;
    }
    if (path == NULL) {
        mx_warn("there is no recording of the voice: name one with '--speaker-wav'");
        goto out;
    }
    MX_TRY(mx_audio_reader_create(&reader));
    MX_TRY(mx_audio_load(reader, path, &reading, &samples, &count, &report));
    MX_TRY(mx_speak_reference(s->speak, samples, count, &s->reference, &s->reference_frames));
out:
    mx_audio_reader_destroy(reader);
    mx_free(kept);
    return rc;
}

/* ---- running ---- */

static int number_parse(const char *option, const char *text, double *out)
{
    char quoted[96];
    if (text == NULL || mx_string_parse_double(text, out) == MX_STRING_NUMBER) return 0;
    return MX_FAIL(MX_ERR_USAGE, "give a number, for example 1.2",
                   "option '--%s' has the value %s, which is not a number", option,
                   mx_string_quote(quoted, sizeof quoted, text));
}

static int usage_check(const struct values *v)
{
    const char *const hint = "see 'myxtts synth --help'";
    if (v->checkpoint == NULL) return MX_FAIL(MX_ERR_USAGE, hint, "'--checkpoint RUN_OR_FILE' is missing");
    if (v->output == NULL && v->output_dir == NULL) return MX_FAIL(MX_ERR_USAGE, hint, "'--output FILE' is missing");
    if (v->output != NULL && v->output_dir != NULL)
        return MX_FAIL(MX_ERR_USAGE, hint, "'--output' and '--output-dir' contradict each other");
    if (v->text != NULL && v->text_file != NULL)
        return MX_FAIL(MX_ERR_USAGE, hint, "'--text' and '--text-file' contradict each other");
    if (v->speaker != NULL && v->speaker_wav != NULL)
        return MX_FAIL(MX_ERR_USAGE, hint, "'--speaker' and '--speaker-wav' contradict each other");
    return 0;
}

static int text_read(const struct values *v, char **text, size_t *length)
{
    if (v->text == NULL && v->text_file == NULL) return mx_file_read_input(TEXT_MAX, text, length);
    if (v->text == NULL) return mx_file_read(v->text_file, TEXT_MAX, text, length);
    *text = mx_strdup(v->text);
    *length = strlen(v->text);
    return *text == NULL ? MX_ERR_NO_MEMORY : 0;
}

/* What is shown while a long text is spoken. */
struct telling {
    struct mx_progress *progress; /* NULL: not begun, or not worth it */
    size_t told;
};

static void pieces_tell(void *context, size_t done, size_t pieces)
{
    struct telling *const t = context;
    const struct mx_progress_options line = {
        .title = "Speaking", .unit = "pieces", .total = pieces, .delay_ns = PROGRESS_NS};
    if (done == 0 && pieces > 1 && mx_progress_start(&line, &t->progress) < 0) mx_error_clear(); /* speaks without */
    if (t->progress == NULL) return;
    mx_progress_add(t->progress, done - t->told);
    t->told = done;
}

/* The whole text into one file. */
static int text_speak(struct speaker *s, const struct mx_speak_options *how, const char *text, size_t length,
                      const char *output)
{
    int rc = 0;
    struct mx_speak_result result = {0};
    struct telling telling = {0};
    struct mx_speak_options told = *how;
    told.tell = pieces_tell;
    told.context = &telling;
    rc = mx_speak_text(s->speak, text, length, &told, &result);
    mx_progress_finish(telling.progress);
    MX_TRY(rc);
    if (result.count == 0)
        MX_RAISE(MX_ERR_DATA, "give a text with words or numbers", "nothing in the text can be spoken");
    MX_TRY(mx_wav_write(output, result.audio, result.count, mx_recipe_default.rate, MX_WAV_PCM16));
    mx_info("%s: %.2f s of speech in %zu piece%s; real-time factor %.3f (network %.2f s, waveform %.2f s)", output,
            result.seconds, result.pieces, result.pieces == 1 ? "" : "s", result.real_time_factor, result.model_seconds,
            result.waveform_seconds);
out:
    mx_speak_result_release(&result);
    return rc;
}

/* Sums over the lines. */
struct totals {
    size_t files, silent;
    double seconds, work_seconds;
};

static int line_speak(struct speaker *s, const struct mx_speak_options *how, struct mx_synth_line *line,
                      const char *folder, struct totals *totals)
{
    int rc = 0;
    struct mx_speak_result result = {0};
    char *const path = mx_format("%s/%s", folder, line->name);
    if (path == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    rc = mx_speak_text(s->speak, line->text, line->length, how, &result);
    if (rc < 0) MX_TRY(mx_error_wrap("line %zu", line->number));
    if (result.count == 0) {
        mx_warn("line %zu: nothing in it can be spoken", line->number);
        totals->silent++;
        goto out;
    }
    MX_TRY(mx_wav_write(path, result.audio, result.count, mx_recipe_default.rate, MX_WAV_PCM16));
    line->seconds = result.seconds;
    totals->files++;
    totals->seconds += result.seconds;
    totals->work_seconds += result.real_time_factor * result.seconds;
out:
    mx_speak_result_release(&result);
    mx_free(path);
    return rc;
}

/* Each line of the text into a file of its own. */
static int lines_speak(struct speaker *s, const struct mx_speak_options *how, const char *text, size_t length,
                       const char *folder)
{
    int rc = 0;
    struct mx_synth_lines lines = {0};
    struct totals totals = {0};
    struct mx_progress *progress = NULL;
    MX_TRY(mx_synth_lines_read(text, length, &lines));
    MX_TRY(mx_job_folder_make(folder));
    MX_TRY(mx_progress_start(&(struct mx_progress_options){.title = "Speaking", .unit = "lines", .total = lines.count},
                             &progress));
    for (size_t i = 0; i < lines.count; i++) {
        MX_TRY(line_speak(s, how, &lines.lines[i], folder, &totals));
        mx_progress_add(progress, 1);
    }
    mx_progress_finish(progress);
    progress = NULL;
    if (totals.files == 0)
        MX_RAISE(MX_ERR_DATA, "give a text with words or numbers", "nothing in the text can be spoken");
    MX_TRY(mx_synth_lines_list(&lines, folder));
    mx_info("%s: %zu file%s, %.2f s of speech, listed in " MX_SYNTH_LIST "; real-time factor %.3f; %zu blank line%s "
            "skipped, %zu with nothing to say",
            folder, totals.files, totals.files == 1 ? "" : "s", totals.seconds, totals.work_seconds / totals.seconds,
            lines.blank, lines.blank == 1 ? "" : "s", totals.silent);
out:
    mx_progress_finish(progress);
    mx_synth_lines_release(&lines);
    return rc;
}

static int run(const void *given, const struct mx_option_list *operands)
{
    const struct values *const values = given;
    struct speaker speaker = {0};
    struct mx_speak_options how = MX_SPEAK_OPTIONS_DEFAULT;
    enum mx_language_id language;
    char *text = NULL;
    size_t length = 0;
    (void)operands; /* the page takes none, so the parser refused them */
    int rc = usage_check(values);
    if (rc < 0) return rc;
    MX_TRY(number_parse("speed", values->speed, &how.speed));
    MX_TRY(number_parse("pitch", values->pitch, &how.pitch_semitones));
    if (values->language != NULL) {
        MX_TRY(mx_language_parse(values->language, &language));
        how.language = (int)language;
    }
    MX_TRY(speaker_open(&speaker, values));
    MX_TRY(reference_load(&speaker, values));
    MX_TRY(text_read(values, &text, &length));
    how.seed = (uint64_t)values->seed;
    how.reference = speaker.reference;
    how.reference_frames = speaker.reference_frames;
    if (values->output_dir != NULL)
        MX_TRY(lines_speak(&speaker, &how, text, length, values->output_dir));
    else
        MX_TRY(text_speak(&speaker, &how, text, length, values->output));
out:
    mx_free(text);
    speaker_close(&speaker);
    return rc;
}

const struct mx_command mx_command_synth = {
    .name = "synth",
    .page =
        {
            .command = "myxtts synth",
            .summary = "speak a text with a trained voice",
            .description = "Splits long text into sentences, speaks them one by one and writes one file: 22,050 Hz, 16 "
                           "bits, mono. The voice comes from the recording given by '--speaker-wav', or from the "
                           "recording of a speaker that the run folder keeps. The real-time factor (processing time "
                           "divided by duration of speech) is printed at the end.\nWith '--output-dir' each line "
                           "becomes a file: a line 'NAME|TEXT' becomes NAME.wav (letters, digits, '_', '-' and '.'), "
                           "any other line is named by its number, 001.wav and so on; blank lines are skipped. "
                           "list.tsv in the folder lists file, seconds and text. Existing files are replaced.",
            MX_PAGE_EXAMPLES(examples),
            .former = mx_legacy_synth,
        },
    MX_COMMAND_WORK(options, struct values, run),
    .values = &start,
};
