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
#include "cli/headings.h"
#include "cli/options/shared_options.h"
#include "cli/options/sound_options.h"
#include "cli/options/voice_choice.h"
#include "cli/synth/synth_lines.h"
#include "cli/synth/synth_output.h"
#include "cli/synth/synth_phonemes.h"
#include "myxtts/error.h"
#include "myxtts/voice.h"
#include "run/interrupt.h"
#include "run/job.h"
#include "speech/voice_internal.h"

#define TEXT_MAX    ((size_t)16 << 20)
#define PROGRESS_NS UINT64_C(2000000000) /* no progress is shown for shorter work */

struct values {
    const char *checkpoint, *voice, *text, *text_file, *output, *output_dir, *speaker, *speed, *pitch, *volume,
        *likeness;
    const char *format, *pauses, *language, *device, *vocoder, *lexicon;
    struct mx_option_list speaker_wav;
    int64_t cpu_devices, seed, rounds, projections;
    bool play, ssml, show_phonemes;
};

static const struct values start = {MX_SOUND_VALUES};

static const struct mx_option options[] = {
    MX_VOICE_OPTION_CHECKPOINT(struct values, "the installed voice '" MX_INSTALLED_BASE "'", ""),
    {MX_OPTION_STRING(struct values, voice, "voice", "NAME", NULL,
                      "Speak with this installed voice: the name of a file, of one of its speakers, or FILE/SPEAKER; "
                      "'myxtts voices' lists them. A speaker brings the language along, unless '--language' is given."),
     .letter = 'v'},
    {MX_OPTION_STRING(struct values, text, "text", "TEXT", "standard input", "Text to speak."), .letter = 't'},
    {MX_OPTION_STRING(struct values, text_file, "text-file", "FILE", NULL, "Speak the text in this file.")},
    {MX_OPTION_STRING(
         struct values, output, "output", "FILE", NULL,
         "File to write, in the format that its ending names: " MX_ENCODE_ENDINGS "; without an ending WAV. '-' is "
         "standard output, which gets the sound as it is made. This, '--play' or '--output-dir' is required."),
     .letter = 'o'},
    {MX_OPTION_FLAG(struct values, play, "play", "Play the speech on the loudspeaker while it is made.")},
    {MX_OPTION_STRING(struct values, output_dir, "output-dir", "DIR", NULL,
                      "Write a file for each line of the text, and a list of them, into this folder.")},
    {MX_OPTION_CHOICE(struct values, format, "format", "FORMAT", mx_command_sound_formats,
                      "that of the file's ending, otherwise wav",
                      "Format of the sound on standard output or in the files of '--output-dir'; pcm is the raw "
                      "samples.")},
    {MX_OPTION_LIST(struct values, speaker_wav, "speaker-wav", "FILE",
                    "Speak with the voice of this recording: 5 seconds or more of one person. Several recordings of "
                    "that person count together."),
     .fallback = "a recording from the run folder"},
    {MX_OPTION_STRING(
        struct values, likeness, "likeness", "FACTOR", "1",
        "With '--speaker-wav': how far to move pitch and colour (mean spectrum) of the voice towards those of the "
        "recordings, 0 to 1. 0: use only what the network hears in them.")},
    {MX_OPTION_STRING(struct values, speaker, "speaker", "NAME", "one who speaks the language",
                      "Use the voice of this speaker of the training data, from the recording in the run folder or the "
                      "voice file.")},
    {MX_OPTION_STRING(struct values, speed, "speed", "FACTOR", "1", "Speed factor, 0.25 to 4; 2 is twice as fast.")},
    {MX_OPTION_STRING(struct values, pitch, "pitch", "SEMITONES", "0", "Shift the pitch up or down; -24 to 24.")},
    {MX_OPTION_STRING(struct values, volume, "volume", "FACTOR", "1",
                      "Volume factor, 0 to 4; 0.5 is half as loud. Samples near full scale are limited, not clipped.")},
    {MX_OPTION_STRING(
        struct values, pauses, "pauses", "FACTOR|KIND=MS,...", "1",
        "Factor of the pauses between sentences and paragraphs, 0 to 10, or the length of single kinds in "
        "milliseconds: sentence (350), paragraph (600), ellipsis (500), dash (divides sentences there), line "
        "(makes line ends pauses).")},
    {MX_OPTION_FLAG(struct values, ssml, "ssml",
                    "The text is SSML: break, prosody, say-as, sub, phoneme, voice, lang, p and s are understood.")},
    {MX_OPTION_STRING(struct values, language, "language", "LANGUAGE", "detected from the script of each paragraph",
                      "Language of the text: en, fa, es, fr, de, it, ru or any other language of espeak-ng.")},
    MX_VOICE_OPTION_LEXICON(struct values),
    {MX_OPTION_FLAG(
        struct values, show_phonemes, "show-phonemes",
        "Print how the text is read instead of speaking it: piece by piece the words, their phonemes and the "
        "pause. It needs no voice; with '--checkpoint', it is the reading of that voice.")},
    MX_SOUND_OPTIONS(struct values, "the vocoder of the voice, if it has one; otherwise " MX_SOUND_GRIFFIN_LIM,
                     MX_SOUND_SPOKEN_PROJECTIONS),
    MX_VOICE_OPTIONS_DEVICE(struct values),
    {MX_OPTION_INT(struct values, seed, "seed", "N", 0, INT64_MAX, "0",
                   "The same text, voice and seed give the same samples.")},
};

static const struct mx_example examples[] = {
    {"myxtts synth 'Good morning.'", "plays a sentence, spoken by the installed base voice"},
    {"myxtts synth --text 'Good morning.' --output morning.wav", "speaks a sentence with the installed base voice"},
    {"myxtts synth --text 'Good morning.' --output morning.mp3", "writes an MP3; .flac and .opus work, too"},
    {"myxtts synth --voice fr-june --text 'Bonjour.' --play", "speaks with a speaker of an installed voice, by name"},
    {"myxtts synth --checkpoint my-run --text 'Good morning.' --output morning.wav", "speaks with your own voice"},
    {"myxtts synth -c my-run --text-file story.txt --speed 1.2 --play", "reads a file aloud, a little faster"},
    {"myxtts synth -c my-run --text-file lines.txt --output-dir spoken", "writes spoken/001.wav, spoken/002.wav …"},
    {"myxtts synth -c my-run --text 'Hello' --speaker-wav friend.wav -o - | aplay",
     "speaks in another voice, through another program"},
    {"myxtts synth --show-phonemes --lexicon words.txt --text 'Dr. No sent a GIF.'",
     "shows how a text is read, with words of your own"},
    {"myxtts synth -c my-run --text 'Hello' --speaker-wav one.wav --speaker-wav two.wav -o hello.wav",
     "listens to two recordings of that person"},
    {"myxtts synth -c my-run --ssml --text 'One <break time=\"1s\"/> two.' -o two.wav", "pauses for a second"},
};

/* What speaks. */
struct work {
    struct mx_command_choice choice;
    struct mx_voice *voice;
    struct mx_speaker *speaker;
    struct mx_speaking how;
    struct mx_reference references[MX_OPTION_LIST_MAX]; /* that `how` points to */
    bool warned;                                        /* about the references */
    struct mx_synth_output_options output;
    double semitones, colour_db; /* by which the last text was moved towards the references */
};

static void work_close(struct work *w)
{
    mx_speaker_destroy(w->speaker);
    mx_voice_close(w->voice);
    mx_command_choice_release(&w->choice);
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
                                            .projections = count_of(values->projections),
                                            .lexicon = values->lexicon};
    rc = mx_voice_open(w->choice.path, &wanted, &w->voice);
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

static int usage_check(const struct values *v, const struct mx_option_list *operands)
{
    const char *const hint = "see 'myxtts synth --help'";
    if (operands->count > 0 && (v->text != NULL || v->text_file != NULL))
        return MX_FAIL(MX_ERR_USAGE, "give the text once: 'myxtts synth TEXT', '--text TEXT' or '--text-file FILE'",
                       "there is a text on the command line, and '--%s' gives another one",
                       v->text != NULL ? "text" : "text-file");
    if (v->show_phonemes) {
        if (v->output != NULL || v->output_dir != NULL || v->play)
            return MX_FAIL(MX_ERR_USAGE, hint, "'--show-phonemes' makes no sound: it contradicts '%s'",
                           v->play             ? "--play"
                           : v->output != NULL ? "--output"
                                               : "--output-dir");
    } else if (v->output == NULL && v->output_dir == NULL && !v->play) {
        return MX_FAIL(MX_ERR_USAGE,
                       "give '--output speech.wav', or '--play' for the loudspeaker; see 'myxtts synth --help'",
                       "'--output FILE' is missing");
    }
    if (v->output != NULL && v->output_dir != NULL)
        return MX_FAIL(MX_ERR_USAGE, hint, "'--output' and '--output-dir' contradict each other");
    if (v->play && v->output_dir != NULL)
        return MX_FAIL(MX_ERR_USAGE, hint, "'--play' and '--output-dir' contradict each other");
    if (v->format != NULL && v->output == NULL && v->output_dir == NULL)
        return MX_FAIL(MX_ERR_USAGE, "add '--output FILE', or omit '--format'",
                       "'--format' is for sound that is written");
    if (v->text != NULL && v->text_file != NULL)
        return MX_FAIL(MX_ERR_USAGE, hint, "'--text' and '--text-file' contradict each other");
    if (v->speaker != NULL && v->speaker_wav.count > 0)
        return MX_FAIL(MX_ERR_USAGE, hint, "'--speaker' and '--speaker-wav' contradict each other");
    if (v->likeness != NULL && v->speaker_wav.count == 0)
        return MX_FAIL(MX_ERR_USAGE, "give the recordings of the person with '--speaker-wav FILE'",
                       "'--likeness' needs recordings to be like");
    return 0;
}

/* The voice that is named, with its speaker and language. */
static int voice_choose(struct work *w, const struct values *v)
{
    int rc = 0;
    MX_TRY(mx_command_choice_resolve(&w->choice, v->checkpoint, v->voice));
    if (w->choice.speaker != NULL && (v->speaker != NULL || v->speaker_wav.count > 0))
        MX_RAISE(MX_ERR_USAGE, "omit one of the two", "'--voice %s' names a speaker, and so does '--%s'", v->voice,
                 v->speaker != NULL ? "speaker" : "speaker-wav");
    if (w->choice.speaker != NULL) w->how.speaker = w->choice.speaker;
out:
    return rc;
}

/* Without a named speaker, one of the text's language; the same for all lines of a file. */
static int speaker_suit(struct work *w, const struct values *v, const char *text, size_t length)
{
    struct mx_speak_script_options how = MX_SPEAK_SCRIPT_OPTIONS_DEFAULT;
    enum mx_language_id language;
    if (v->speaker_wav.count > 0 || w->how.speaker != NULL) return 0;
    how.vocabulary = w->voice->vocabulary;
    if (v->language != NULL) {
        const int rc = mx_language_parse(v->language, &language);
        if (rc < 0) return rc;
        how.language = (int)language;
    }
    mx_voice_suit(mx_checkpoint_state(w->voice->checkpoint), v->ssml ? NULL : text, length, &w->how.speaker, &how);
    if (w->how.speaker != NULL)
        mx_info("speaker '%s', who speaks the language of the text; '--speaker' names another one", w->how.speaker);
    return 0;
}

static int how_read(struct work *w, const struct values *values)
{
    int rc = 0;
    struct mx_speaking *const how = &w->how;
    *how = (struct mx_speaking)MX_SPEAKING_DEFAULT;
    MX_TRY(number_parse("speed", values->speed, &how->speed));
    MX_TRY(number_parse("pitch", values->pitch, &how->pitch_semitones));
    MX_TRY(number_parse("volume", values->volume, &how->volume));
    MX_TRY(number_parse("likeness", values->likeness, &how->likeness));
    how->pauses = values->pauses;
    how->language = values->language;
    how->speaker = values->speaker;
    for (size_t i = 0; i < values->speaker_wav.count; i++)
        w->references[i] = (struct mx_reference){.file = values->speaker_wav.items[i]};
    how->references = values->speaker_wav.count > 0 ? w->references : NULL;
    how->references_count = values->speaker_wav.count;
    how->seed = (uint64_t)values->seed;
    how->ssml = values->ssml;
out:
    return rc;
}

static int text_read(const struct values *v, const struct mx_option_list *operands, char **text, size_t *length)
{
    struct mx_string words = {0}; /* words without quotes are one text, too */
    for (size_t i = 0; i < operands->count; i++) mx_string_append(&words, "%s%s", i > 0 ? " " : "", operands->items[i]);
    if (operands->count > 0) {
        *text = words.data;
        *length = words.length;
        return words.failure;
    }
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

/* The status line of a long text. */
struct reporter {
    struct mx_progress *progress; /* NULL: not begun, or not worth it */
    uint64_t reported;            /* pieces */
};

static void pieces_report(struct reporter *t, const struct mx_speaking_report *report)
{
    const struct mx_progress_options line = {
        .title = "Speaking", .unit = "pieces", .total = report->pieces, .delay_ns = PROGRESS_NS};
    if (t->progress == NULL && t->reported == 0 && report->pieces > 1 && mx_progress_start(&line, &t->progress) < 0)
        mx_error_clear(); /* speaks without it */
    mx_progress_total(t->progress, report->pieces);
    mx_progress_add(t->progress, report->pieces_done - t->reported);
    t->reported = report->pieces_done;
}

/* Every line listens to the same recordings, so warnings about them are logged once. */
static void warnings_log(struct work *w, size_t line)
{
    const size_t common = (size_t)mx_speaker_report(w->speaker)->reference_warnings;
    for (size_t i = w->warned ? common : 0; i < mx_speaker_warnings(w->speaker); i++) {
        if (line > 0 && i >= common)
            mx_warn("line %zu: %s", line, mx_speaker_warning(w->speaker, i));
        else
            mx_warn("%s", mx_speaker_warning(w->speaker, i));
    }
    w->warned = true;
}

/* What listening to recordings changed. */
static void likeness_log(const struct work *w)
{
    if (w->how.references_count == 0 || w->how.likeness == 0) return;
    mx_info("moved towards the recordings: pitch by %+.1f semitones, colour by %.1f dB (root mean square of the bands)",
            w->semitones, w->colour_db);
}

/* Writes all chunks of the text that was begun, as they are synthesised. */
static int chunks_write(struct work *w, struct mx_synth_output *output, struct reporter *reporter, uint64_t begun_ns,
                        struct spoken *spoken)
{
    const struct mx_sound_chunk *chunk;
    int rc;
    while ((rc = mx_speaker_next(w->speaker, &chunk)) > 0) {
        if (chunk->begin == 0) spoken->first_seconds = (double)(mx_clock_ns() - begun_ns) * 1e-9;
        rc = mx_synth_output_add(output, chunk->samples, chunk->count);
        if (rc < 0) break;
        if (reporter != NULL) pieces_report(reporter, mx_speaker_report(w->speaker));
    }
    return rc;
}

/* One text to one output. spoken->seconds is 0 if nothing in it can be spoken; then nothing is written. `line`: its
 * number for warnings, or 0. */
static int text_synthesize(struct work *w, const char *text, size_t length, struct reporter *reporter, size_t line,
                           struct spoken *spoken)
{
    int rc = 0;
    struct mx_synth_output *output = NULL;
    *spoken = (struct spoken){0};
    MX_TRY(mx_synth_output_open(&w->output, &output));
    const uint64_t begun_ns = mx_clock_ns();
    MX_TRY(mx_speaker_begin(w->speaker, text, length, &w->how));
    rc = chunks_write(w, output, reporter, begun_ns, spoken);
    warnings_log(w, line);
    MX_TRY(rc);
    const struct mx_speaking_report *const report = mx_speaker_report(w->speaker);
    if (mx_synth_output_samples(output) == 0) goto out;
    MX_TRY(mx_synth_output_finish(output));
    spoken->seconds = (double)mx_synth_output_samples(output) / w->output.rate;
    spoken->model_seconds = report->model_seconds;
    spoken->sound_seconds = report->sound_seconds;
    spoken->work_seconds = report->text_seconds + report->model_seconds + report->sound_seconds;
    spoken->pieces = report->pieces_done;
    w->semitones = report->reference_semitones;
    w->colour_db = report->reference_colour_db;
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
    struct reporter reporter = {0};
    struct mx_interrupt interrupt;
    const bool play = w->output.play;
    if (play) w->output.stop = mx_interrupt_watch(&interrupt, false);
    int rc = text_synthesize(w, text, length, play ? NULL : &reporter, 0, &spoken);
    mx_progress_finish(reporter.progress);
    if (play) mx_interrupt_restore(&interrupt);
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
    likeness_log(w);
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
    rc = text_synthesize(w, line->text, line->length, NULL, line->number, &spoken);
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
    MX_TRY(mx_synth_lines_read(text, length, mx_encode_names[w->output.format], &lines));
    MX_TRY(mx_job_folder_create(folder));
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
    likeness_log(w);
out:
    mx_progress_finish(progress);
    mx_synth_lines_release(&lines);
    return rc;
}

static int run(const void *given, const struct mx_option_list *operands)
{
    struct values with = *(const struct values *)given;
    const struct values *const values = &with;
    /* 'myxtts synth "Hello"' is played. */
    if (operands->count > 0 && with.output == NULL && with.output_dir == NULL && !with.show_phonemes) with.play = true;
    struct work work = {.output = {.file = values->output, .play = values->play}};
    char *text = NULL;
    size_t length = 0;
    int rc = usage_check(values, operands);
    if (rc < 0) return rc;
    MX_TRY(mx_command_sound_format(values->output, values->format, &work.output.format));
    MX_TRY(how_read(&work, values));
    if (values->show_phonemes) {
        if (values->checkpoint != NULL || values->voice != NULL) MX_TRY(voice_choose(&work, values));
        MX_TRY(text_read(values, operands, &text, &length));
        MX_TRY(mx_synth_phonemes_show(
            &(struct mx_synth_phonemes){.checkpoint = work.choice.path, .lexicon = values->lexicon, .how = &work.how},
            text, length));
        goto out;
    }
    MX_TRY(voice_choose(&work, values));
    MX_TRY(voice_open(&work, values));
    if (values->speaker != NULL) MX_TRY(speaker_check(work.voice, values->speaker));
    MX_TRY(text_read(values, operands, &text, &length));
    MX_TRY(speaker_suit(&work, values, text, length));
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
            .operands = "[TEXT...]",
            .operand_max = MX_OPTION_LIST_MAX,
            .summary = "speak a text with a trained voice",
            .description =
                "Speaks TEXT, or what '--text', '--text-file' or standard input give. TEXT is played on the "
                "loudspeaker unless '--output' or '--output-dir' is given.\n"
                "Splits long text into sentences and speaks them one by one. The sound has the samples per second of "
                "the "
                "voice, usually 22,050 (as Opus 24,000), 16 bits and one channel. It goes into a file, to standard "
                "output or to the loudspeaker (through "
                "ALSA). Standard output gets it as it is made; in a pipe, the header of a WAV stream "
                "gives the length 0xFFFFFFFF, which means unknown. The voice is an installed one or your own "
                "('--checkpoint'); within it, it comes from the recordings given by '--speaker-wav', or from the "
                "recording of a speaker that the run folder or voice file keeps. Without a named speaker, the first "
                "who speaks the language of the text is taken. The real-time factor (processing time "
                "divided by duration of speech) and the time until the first sound are printed at the "
                "end.\nWith '--output-dir' each line "
                "becomes a file: a line 'NAME|TEXT' becomes NAME.wav (letters, digits, '_', '-' and '.'), "
                "any other line is named by its number, 001.wav and so on, with the ending of '--format'; blank lines "
                "are skipped. "
                "list.tsv in the folder lists file, seconds and text. Existing files are replaced.",
            MX_PAGE_EXAMPLES(examples),
            .headings = mx_headings_synth,
            .former = mx_legacy_synth,
        },
    MX_COMMAND_WORK(options, struct values, run),
    .values = &start,
};
