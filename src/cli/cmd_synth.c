/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts synth: speaks a text with a trained voice, through the API that other programs use (myxtts/voice.h).
 *
 * The voice: a recording that the user names, or the one that is kept for each speaker, or no particular voice.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/string.h"
#include "cli/command.h"
#include "cli/shared_options.h"
#include "cli/sound_options.h"
#include "cli/synth_lines.h"
#include "cli/synth_output.h"
#include "myxtts/error.h"
#include "myxtts/voice.h"
#include "run/interrupt.h"
#include "run/job.h"

#define TEXT_MAX    ((size_t)16 << 20)
#define PROGRESS_NS UINT64_C(2000000000) /* no progress is shown for shorter work */

struct values {
    const char *checkpoint, *text, *text_file, *output, *output_dir, *speaker_wav, *speaker, *speed, *pitch, *volume;
    const char *pauses, *language, *device, *vocoder;
    int64_t cpu_devices, seed, rounds, projections;
    bool play, ssml;
};

static const struct values start = {MX_SOUND_VALUES};

static const struct mx_option options[] = {
    MX_VOICE_OPTION_CHECKPOINT(struct values),
    {MX_OPTION_STRING(struct values, text, "text", "TEXT", "standard input", "Text to speak."), .letter = 't'},
    {MX_OPTION_STRING(struct values, text_file, "text-file", "FILE", NULL, "Speak the text in this file.")},
    {MX_OPTION_STRING(
         struct values, output, "output", "FILE", NULL,
         "WAV file to write; '-' is standard output, which gets the sound as it is made. This, '--play' or "
         "'--output-dir' is required."),
     .letter = 'o'},
    {MX_OPTION_FLAG(struct values, play, "play", "Play the speech on the loudspeaker while it is made.")},
    {MX_OPTION_STRING(struct values, output_dir, "output-dir", "DIR", NULL,
                      "Write a WAV file for each line of the text, and a list of them, into this folder.")},
    {MX_OPTION_STRING(struct values, speaker_wav, "speaker-wav", "FILE", "a recording from the run folder",
                      "Speak with the voice of this recording.")},
    {MX_OPTION_STRING(struct values, speaker, "speaker", "NAME", "the first speaker",
                      "Use the voice of this speaker of the training data, from the recording in the run folder.")},
    {MX_OPTION_STRING(struct values, speed, "speed", "FACTOR", "1", "Speed factor, 0.25 to 4; 2 is twice as fast.")},
    {MX_OPTION_STRING(struct values, pitch, "pitch", "SEMITONES", "0", "Shift the pitch up or down; -24 to 24.")},
    {MX_OPTION_STRING(struct values, volume, "volume", "FACTOR", "1",
                      "Volume factor, 0 to 4; 0.5 is half as loud. Samples near full scale are limited, not clipped.")},
    {MX_OPTION_STRING(struct values, pauses, "pauses", "FACTOR", "1",
                      "Factor of the pauses between sentences and paragraphs, 0 to 10.")},
    {MX_OPTION_FLAG(struct values, ssml, "ssml",
                    "The text is SSML: break, prosody, say-as, sub, phoneme, voice, lang, p and s are understood.")},
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
    {"myxtts synth -c my-run --text-file story.txt --speed 1.2 --play", "reads a file aloud, a little faster"},
    {"myxtts synth -c my-run --text-file lines.txt --output-dir spoken", "writes spoken/001.wav, spoken/002.wav …"},
    {"myxtts synth -c my-run --text 'Hello' --speaker-wav friend.wav -o - | aplay",
     "speaks in another voice, through another program"},
    {"myxtts synth -c my-run --ssml --text 'One <break time=\"1s\"/> two.' -o two.wav", "pauses for a second"},
};

/* What speaks. */
struct work {
    struct mx_voice *voice;
    struct mx_speaker *speaker;
    struct mx_speaking how;
    struct mx_synth_output_options output;
};

static void work_close(struct work *w)
{
    mx_speaker_destroy(w->speaker);
    mx_voice_close(w->voice);
}

/* The number of rounds or projections as the API has it. */
static int count_of(int64_t option)
{
    return option == MX_SOUND_USUAL ? 0 : option == 0 ? MX_VOICE_NONE : (int)option;
}

static int voice_open(struct work *w, const struct values *values)
{
    int rc = 0;
    const struct mx_voice_options wanted = {.size = sizeof wanted,
                                            .device = values->device,
                                            .vocoder = values->vocoder,
                                            .cpu_devices = (int)values->cpu_devices,
                                            .rounds = count_of(values->rounds),
                                            .projections = count_of(values->projections)};
    rc = mx_voice_open(values->checkpoint, &wanted, &w->voice);
    if (rc == MX_ERR_ARGUMENT && values->rounds == 0) rc = mx_command_rounds_check(false, 0); /* names the option */
    MX_TRY(rc);
    MX_TRY(mx_speaker_create(w->voice, &w->speaker));
    w->output.rate = mx_voice_rate(w->voice);
out:
    return rc;
}

/* ---- whose voice ---- */

static int speaker_check(const struct mx_voice *voice, const char *name)
{
    const size_t count = mx_voice_speakers(voice);
    for (size_t i = 0; i < count; i++)
        if (strcmp(mx_voice_speaker(voice, i), name) == 0) return 0;
    char quoted[96];
    MX_FAIL(MX_ERR_USAGE, NULL, "the voice has no speaker %s", mx_string_quote(quoted, sizeof quoted, name));
    return mx_error_hint("it learned from %zu speakers, the first is '%s'; 'myxtts inspect' lists them", count,
                         count > 0 ? mx_voice_speaker(voice, 0) : "");
}

/* ---- options ---- */

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
    if (v->output == NULL && v->output_dir == NULL && !v->play)
        return MX_FAIL(MX_ERR_USAGE, hint, "'--output FILE' is missing");
    if (v->output != NULL && v->output_dir != NULL)
        return MX_FAIL(MX_ERR_USAGE, hint, "'--output' and '--output-dir' contradict each other");
    if (v->play && v->output_dir != NULL)
        return MX_FAIL(MX_ERR_USAGE, hint, "'--play' and '--output-dir' contradict each other");
    if (v->text != NULL && v->text_file != NULL)
        return MX_FAIL(MX_ERR_USAGE, hint, "'--text' and '--text-file' contradict each other");
    if (v->speaker != NULL && v->speaker_wav != NULL)
        return MX_FAIL(MX_ERR_USAGE, hint, "'--speaker' and '--speaker-wav' contradict each other");
    return 0;
}

static int how_read(struct mx_speaking *how, const struct values *values)
{
    int rc = 0;
    *how = (struct mx_speaking)MX_SPEAKING_DEFAULT;
    MX_TRY(number_parse("speed", values->speed, &how->speed));
    MX_TRY(number_parse("pitch", values->pitch, &how->pitch_semitones));
    MX_TRY(number_parse("volume", values->volume, &how->volume));
    MX_TRY(number_parse("pauses", values->pauses, &how->pause_scale));
    how->language = values->language;
    how->speaker = values->speaker;
    how->reference_file = values->speaker_wav;
    how->seed = (uint64_t)values->seed;
    how->ssml = values->ssml;
out:
    return rc;
}

static int text_read(const struct values *v, char **text, size_t *length)
{
    if (v->text == NULL && v->text_file == NULL) return mx_file_read_input(TEXT_MAX, text, length);
    if (v->text == NULL) return mx_file_read(v->text_file, TEXT_MAX, text, length);
    *text = mx_strdup(v->text);
    *length = strlen(v->text);
    return *text == NULL ? MX_ERR_NO_MEMORY : 0;
}

/* ---- running ---- */

/* What a text became. */
struct spoken {
    double seconds;       /* of sound */
    double first_seconds; /* from the text to the first sound */
    double work_seconds, model_seconds, sound_seconds;
    uint64_t pieces, gaps;
};

/* What is shown while a long text is spoken. */
struct telling {
    struct mx_progress *progress; /* NULL: not begun, or not worth it */
    uint64_t told;
};

static void pieces_tell(struct telling *t, const struct mx_speaking_report *report)
{
    const struct mx_progress_options line = {
        .title = "Speaking", .unit = "pieces", .total = report->pieces, .delay_ns = PROGRESS_NS};
    if (t->progress == NULL && t->told == 0 && report->pieces > 1 && mx_progress_start(&line, &t->progress) < 0)
        mx_error_clear(); /* speaks without */
    mx_progress_total(t->progress, report->pieces);
    mx_progress_add(t->progress, report->pieces_done - t->told);
    t->told = report->pieces_done;
}

static void warnings_tell(const struct mx_speaker *speaker, size_t line)
{
    for (size_t i = 0; i < mx_speaker_warnings(speaker); i++) {
        if (line > 0)
            mx_warn("line %zu: %s", line, mx_speaker_warning(speaker, i));
        else
            mx_warn("%s", mx_speaker_warning(speaker, i));
    }
}

/* All chunks of the text that was begun, as they are made. */
static int chunks_take(struct work *w, struct mx_synth_output *output, struct telling *telling, uint64_t begun_ns,
                       struct spoken *spoken)
{
    const struct mx_sound_chunk *chunk;
    int rc;
    while ((rc = mx_speaker_next(w->speaker, &chunk)) > 0) {
        if (chunk->begin == 0) spoken->first_seconds = (double)(mx_clock_ns() - begun_ns) * 1e-9;
        rc = mx_synth_output_add(output, chunk->samples, chunk->count);
        if (rc < 0) break;
        if (telling != NULL) pieces_tell(telling, mx_speaker_report(w->speaker));
    }
    return rc;
}

/* One text to one output. spoken->seconds is 0 if nothing in it can be spoken; then nothing is written. `line`: its
 * number for warnings, or 0. */
static int speech_make(struct work *w, const char *text, size_t length, struct telling *telling, size_t line,
                       struct spoken *spoken)
{
    int rc = 0;
    struct mx_synth_output *output = NULL;
    *spoken = (struct spoken){0};
    MX_TRY(mx_synth_output_open(&w->output, &output));
    const uint64_t begun_ns = mx_clock_ns();
    MX_TRY(mx_speaker_begin(w->speaker, text, length, &w->how));
    rc = chunks_take(w, output, telling, begun_ns, spoken);
    warnings_tell(w->speaker, line);
    MX_TRY(rc);
    const struct mx_speaking_report *const report = mx_speaker_report(w->speaker);
    if (mx_synth_output_samples(output) == 0) goto out;
    MX_TRY(mx_synth_output_finish(output));
    spoken->seconds = (double)mx_synth_output_samples(output) / w->output.rate;
    spoken->model_seconds = report->model_seconds;
    spoken->sound_seconds = report->sound_seconds;
    spoken->work_seconds = report->text_seconds + report->model_seconds + report->sound_seconds;
    spoken->pieces = report->pieces_done;
    spoken->gaps = mx_synth_output_gaps(output);
out:
    mx_synth_output_close(output);
    return rc;
}

static int silent_fail(void)
{
    return MX_FAIL(MX_ERR_DATA, "give a text with words or numbers", "nothing in the text can be spoken");
}

/* The whole text. */
static int text_speak(struct work *w, const char *text, size_t length)
{
    struct spoken spoken;
    struct telling telling = {0};
    struct mx_interrupt interrupt;
    const bool play = w->output.play;
    if (play) w->output.stop = mx_interrupt_watch(&interrupt, false);
    int rc = speech_make(w, text, length, play ? NULL : &telling, 0, &spoken);
    mx_progress_finish(telling.progress);
    if (play) mx_interrupt_leave(&interrupt);
    if (rc == 0 && spoken.seconds <= 0) rc = silent_fail();
    if (rc < 0) return rc;
    if (spoken.gaps > 0)
        mx_warn("the sound paused %" PRIu64 " time%s, because the next part was not ready in time", spoken.gaps,
                spoken.gaps == 1 ? "" : "s");
    mx_info("%s: %.2f s of speech in %" PRIu64 " piece%s; real-time factor %.3f (network %.2f s, waveform %.2f s); "
            "first sound after %.3f s",
            w->output.file != NULL ? w->output.file : "played", spoken.seconds, spoken.pieces,
            spoken.pieces == 1 ? "" : "s", spoken.work_seconds / spoken.seconds, spoken.model_seconds,
            spoken.sound_seconds, spoken.first_seconds);
    return 0;
}

/* Sums over the lines. */
struct totals {
    size_t files, silent;
    double seconds, work_seconds;
};

static int line_speak(struct work *w, struct mx_synth_line *line, const char *folder, struct totals *totals)
{
    int rc = 0;
    struct spoken spoken;
    char *const path = mx_format("%s/%s", folder, line->name);
    if (path == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    w->output.file = path;
    rc = speech_make(w, line->text, line->length, NULL, line->number, &spoken);
    if (rc < 0) MX_TRY(mx_error_wrap("line %zu", line->number));
    if (spoken.seconds <= 0) {
        mx_warn("line %zu: nothing in it can be spoken", line->number);
        totals->silent++;
        goto out;
    }
    line->seconds = spoken.seconds;
    totals->files++;
    totals->seconds += spoken.seconds;
    totals->work_seconds += spoken.work_seconds;
out:
    w->output.file = NULL;
    mx_free(path);
    return rc;
}

/* Each line of the text into a file of its own. */
static int lines_speak(struct work *w, const char *text, size_t length, const char *folder)
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
        MX_TRY(line_speak(w, &lines.lines[i], folder, &totals));
        mx_progress_add(progress, 1);
    }
    mx_progress_finish(progress);
    progress = NULL;
    if (totals.files == 0) MX_TRY(silent_fail());
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
    struct work work = {.output = {.file = values->output, .play = values->play}};
    char *text = NULL;
    size_t length = 0;
    (void)operands; /* the page takes none, so the parser refused them */
    int rc = usage_check(values);
    if (rc < 0) return rc;
    MX_TRY(how_read(&work.how, values));
    MX_TRY(voice_open(&work, values));
    if (values->speaker != NULL) MX_TRY(speaker_check(work.voice, values->speaker));
    MX_TRY(text_read(values, &text, &length));
    if (values->output_dir != NULL)
        MX_TRY(lines_speak(&work, text, length, values->output_dir));
    else
        MX_TRY(text_speak(&work, text, length));
out:
    mx_free(text);
    work_close(&work);
    return rc;
}

const struct mx_command mx_command_synth = {
    .name = "synth",
    .page =
        {
            .command = "myxtts synth",
            .summary = "speak a text with a trained voice",
            .description =
                "Splits long text into sentences and speaks them one by one. The sound has 22,050 Hz, 16 bits "
                "and one channel. It goes into a WAV file, to standard output or to the loudspeaker (through "
                "ALSA). Standard output gets it as it is made; in a pipe, the header of the WAV stream "
                "gives the length 0xFFFFFFFF, which means unknown. The voice comes from the recording given by "
                "'--speaker-wav', or from the "
                "recording of a speaker that the run folder keeps. The real-time factor (processing time "
                "divided by duration of speech) and the time until the first sound are printed at the "
                "end.\nWith '--output-dir' each line "
                "becomes a file: a line 'NAME|TEXT' becomes NAME.wav (letters, digits, '_', '-' and '.'), "
                "any other line is named by its number, 001.wav and so on; blank lines are skipped. "
                "list.tsv in the folder lists file, seconds and text. Existing files are replaced.",
            MX_PAGE_EXAMPLES(examples),
            .former = mx_legacy_synth,
        },
    MX_COMMAND_WORK(options, struct values, run),
    .values = &start,
};
