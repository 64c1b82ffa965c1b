/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts corpus demo DIR: makes a corpus to try the program with, read aloud by a synthetic teacher.
 * myxtts corpus cut SOUND…: makes a corpus of long recordings and their text (corpus_cut.h).
 * myxtts corpus transcribe DIR: makes a corpus of recordings that have no text (corpus_transcribe.h).
 *
 * An interrupt (Ctrl-C) or SIGTERM ends the work with a consistent folder and exit code 4; a second one ends the
 * program at once, which loses nothing but the sentences being read or recognised.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/corpus/corpus_cut.h"
#include "cli/corpus/corpus_transcribe.h"
#include "cli/options/shared_options.h"
#include "demo/demo.h"
#include "myxtts/error.h"
#include "run/interrupt.h"

#define HINT      "see 'myxtts corpus --help'"
#define COUNT_MAX 100000 /* more than there are sentences; the library knows the real bound */

struct values {
    const char *language;
    int64_t count, speakers, seed, cpu_devices; /* 0: not given */
    const char *text, *output, *voice, *device;
    const char *recogniser, *second;
    int64_t difference, limit, workers;
    bool speaker_folders;
};

static const char *const demo_languages[] = {
#define X(identifier, code, data, teacher) code,
    MX_DEMO_LANGUAGE_LIST(X)
#undef X
        NULL};

static const struct mx_option options[] = {
    {MX_OPTION_STRING(
        struct values, language, "language", "LANGUAGE", NULL,
        "demo, required: en, read by flite, or fa, read by espeak-ng. cut, transcribe: the language of the "
        "text, any of espeak-ng; without it, the script of the text decides.")},
    {MX_OPTION_INT(struct values, count, "count", "N", 1, COUNT_MAX, NULL,
                   "demo, required: total number of sentences; each becomes one file.")},
    {MX_OPTION_INT(
        struct values, speakers, "speakers", "K", 1, MX_TEACHER_SPEAKERS, "1",
        "demo: number of voices. One sentence in 20 is read by all of them, every other by one voice only.")},
    {MX_OPTION_INT(struct values, seed, "seed", "S", 0, INT64_MAX, "0",
                   "demo: determines which sentences are chosen, and their order.")},
    {MX_OPTION_STRING(struct values, text, "text", "FILE", NULL,
                      "cut, required: what is said in the recordings, as plain text, SRT or VTT subtitles, or a "
                      "TextGrid. Without SOUND: a corpus with recordings that are too long.")},
    {MX_OPTION_STRING(struct values, output, "output", "DIR", NULL,
                      "cut, required: folder to make; one that has files is refused."),
     .letter = 'o'},
    {MX_OPTION_STRING(
        struct values, voice, "voice", "VOICE", "the installed base voice",
        "cut, transcribe: voice that finds the words: an installed voice, or a run folder, checkpoint or voice file. "
        "transcribe also takes none: no voice judges.")},
    {MX_OPTION_STRING(
        struct values, recogniser, "recogniser", "COMMAND", NULL,
        "transcribe, required: program that prints the text of a sound file, run by sh. {} stands for the "
        "path, without quotes; without {} it is started once, reads a path per line and prints a line for "
        "each.")},
    {MX_OPTION_STRING(struct values, second, "second", "COMMAND", NULL,
                      "transcribe: another recogniser; rows in which the two differ are not used.")},
    {MX_OPTION_INT(struct values, difference, "difference", "PERCENT", 1, 100, "20",
                   "transcribe: words that may differ between the two recognisers.")},
    {MX_OPTION_INT(struct values, workers, "workers", "N", 1, MX_TRANSCRIBE_WORKERS_MAX, "the number of cores",
                   "transcribe: files that are recognised at the same time.")},
    {MX_OPTION_INT(struct values, limit, "limit", "SECONDS", 1, 86400, "600",
                   "transcribe: time that a recogniser may take for one file.")},
    {MX_OPTION_FLAG(struct values, speaker_folders, "speaker-folders",
                    "transcribe: the first folder below DIR names the speaker of the recordings in it.")},
    MX_VOICE_OPTIONS_DEVICE(struct values),
};

static const struct mx_example examples[] = {
    {"myxtts corpus demo my-corpus --language en --count 1500", "makes about 70 minutes of English speech"},
    {"myxtts corpus demo my-voices --language en --count 900 --speakers 3",
     "makes 300 sentences for each of three voices"},
    {"myxtts corpus demo my-persian --language fa --count 600", "makes half an hour of Persian speech"},
    {"myxtts corpus cut chapter1.mp3 chapter2.mp3 --text book.txt --voice my-run --output my-corpus",
     "cuts two long recordings into sentences with their text"},
    {"myxtts corpus cut talk.flac --text talk.srt --voice base.voice.safetensors --output my-corpus",
     "the same with subtitles, whose times help"},
    {"myxtts corpus cut --text old-corpus --voice my-run --output my-corpus",
     "cuts the recordings of a corpus that are longer than 15 seconds"},
    {"myxtts corpus transcribe my-recordings --recogniser 'whisper-cli -m ggml-base.bin -l en -np -nt -f {}'",
     "makes a corpus of recordings that have no text"},
};

static void report_print(const struct mx_demo_options *wanted, const struct mx_demo_report *report)
{
    const char *const program = mx_teacher_program(wanted->language);
    printf("%s: %" PRIu32 " sentences, %.1f minutes, %.1f MB", wanted->folder, report->made + report->kept,
           report->seconds / 60, (double)report->bytes / 1e6);
    if (report->kept > 0) printf(" (%" PRIu32 " made now, %" PRIu32 " kept)", report->made, report->kept);
    printf("\nThe voice is a synthetic teacher, %s:", program);
    for (unsigned i = 0; i < wanted->speakers; i++) printf(" %s", mx_teacher_voice(wanted->language, i));
    printf(". README.txt in the folder says so too.\n");
}

static bool demo_speaks(const char *language)
{
    for (size_t i = 0; demo_languages[i] != NULL; i++)
        if (strcmp(demo_languages[i], language) == 0) return true;
    return false;
}

static int language_missing(const char *hint)
{
    char list[256] = "";
    size_t length = 0;
    for (size_t i = 0; demo_languages[i] != NULL && length < sizeof list; i++)
        length += (size_t)snprintf(list + length, sizeof list - length, "%s'--language %s'", i > 0 ? " or " : "",
                                   demo_languages[i]);
    return MX_FAIL(MX_ERR_USAGE, hint, "%s is missing", list);
}

enum kind { DEMO, CUT, TRANSCRIBE, KIND_COUNT };
static const char *const kind_names[KIND_COUNT] = {"demo", "cut", "transcribe"};

/* An option of another kind of corpus. */
static int foreign_check(const struct values *v, enum kind kind)
{
    enum { D = 1 << DEMO, C = 1 << CUT, T = 1 << TRANSCRIBE };
    const struct {
        const char *name;
        bool given;
        int kinds; /* that have it */
    } own[] = {{"count", v->count != 0, D},
               {"speakers", v->speakers != 0, D},
               {"seed", v->seed != 0, D},
               {"text", v->text != NULL, C},
               {"output", v->output != NULL, C},
               {"voice", v->voice != NULL, C | T},
               {"device", v->device != NULL, C},
               {"cpu-devices", v->cpu_devices != 0, C},
               {"recogniser", v->recogniser != NULL, T},
               {"second", v->second != NULL, T},
               {"difference", v->difference != 0, T},
               {"workers", v->workers != 0, T},
               {"limit", v->limit != 0, T},
               {"speaker-folders", v->speaker_folders, T}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i].given && (own[i].kinds & 1 << kind) == 0)
            return MX_FAIL(MX_ERR_USAGE, HINT, "'--%s' is not for 'corpus %s'", own[i].name, kind_names[kind]);
    return 0;
}

static int demo_run(const struct values *values, const struct mx_option_list *operands)
{
    const char *const hint = HINT;
    char quoted[96];
    struct mx_interrupt interrupt;
    struct mx_demo_report report;
    if (operands->count < 2) return MX_FAIL(MX_ERR_USAGE, hint, "name the folder to make");
    if (operands->count > 2)
        return MX_FAIL(MX_ERR_USAGE, hint, "unexpected argument %s",
                       mx_string_quote(quoted, sizeof quoted, operands->items[2]));
    if (values->language == NULL) return language_missing(hint);
    if (!demo_speaks(values->language))
        return MX_FAIL(MX_ERR_USAGE, "demo corpora are in en or fa",
                       "option '--language' has the value %s, which 'corpus demo' does not speak",
                       mx_string_quote(quoted, sizeof quoted, values->language));
    if (values->count == 0) return MX_FAIL(MX_ERR_USAGE, hint, "'--count N' is missing");
    struct mx_demo_options wanted = {.folder = operands->items[1],
                                     .count = (uint32_t)values->count,
                                     .speakers = values->speakers == 0 ? 1 : (uint32_t)values->speakers,
                                     .seed = (uint64_t)values->seed};
    int rc = mx_language_parse(values->language, &wanted.language);
    if (rc < 0) return rc;
    wanted.stop = mx_interrupt_watch(&interrupt, false);
    rc = mx_demo_write(&wanted, &report);
    mx_interrupt_restore(&interrupt);
    if (rc >= 0) report_print(&wanted, &report);
    return rc;
}

static int run(const void *given, const struct mx_option_list *operands)
{
    const struct values *const v = given;
    char quoted[96];
    int kind = 0;
    if (operands->count == 0)
        return MX_FAIL(MX_ERR_USAGE, HINT,
                       "say which corpus to make: 'demo', 'cut' for long recordings, or 'transcribe' for recordings "
                       "without texts");
    while (kind < KIND_COUNT && strcmp(operands->items[0], kind_names[kind]) != 0) kind++;
    if (kind == KIND_COUNT)
        return MX_FAIL(MX_ERR_USAGE, HINT, "unknown kind of corpus %s; there are 'demo', 'cut' and 'transcribe'",
                       mx_string_quote(quoted, sizeof quoted, operands->items[0]));
    const int rc = foreign_check(v, (enum kind)kind);
    if (rc < 0) return rc;
    if (kind == DEMO) return demo_run(v, operands);
    if (kind == TRANSCRIBE) {
        const struct mx_corpus_transcribe_values transcribe = {.first = v->recogniser,
                                                               .second = v->second,
                                                               .language = v->language,
                                                               .voice = v->voice,
                                                               .difference = v->difference,
                                                               .limit = v->limit,
                                                               .workers = v->workers,
                                                               .speaker_folders = v->speaker_folders};
        return mx_corpus_transcribe(&transcribe, operands->items + 1, operands->count - 1);
    }
    const struct mx_corpus_cut_values cut = {.text = v->text,
                                             .output = v->output,
                                             .voice = v->voice,
                                             .language = v->language,
                                             .device = v->device,
                                             .cpu_devices = v->cpu_devices};
    return mx_corpus_cut(&cut, operands->items + 1, operands->count - 1);
}

const struct mx_command mx_command_corpus = {
    .name = "corpus",
    .page =
        {
            .command = "myxtts corpus",
            .operands = "demo DIR | cut [SOUND...] | transcribe DIR",
            .operand_max = MX_OPTION_LIST_MAX,
            .summary = "make a corpus from long recordings, or one to try the program with",
            .description =
                "demo makes the folder DIR in the layout of LJSpeech: sentences written for this project in "
                "metadata.csv, "
                "and wavs/ with recordings of them. Nobody was recorded: a speech program of the system is the "
                "teacher, flite (voices slt, rms, awb) for English and espeak-ng (fa) for Persian. It is for trying "
                "and testing; a real voice needs real recordings.\nDIR is made, or completed if it is an unfinished "
                "demo corpus with the same parameters; a folder with anything else in it is refused. The same "
                "parameters always give the same corpus.\ncut finds the words of a text in long recordings of it, with "
                "the "
                "help of a trained voice, and cuts them at pauses into rows of 1 to 15 seconds with their text. What "
                "is only in the text or only in the sound is left out and listed: DIR/left_out.tsv says what, where "
                "and why, DIR/cut.tsv where each row is from and how well its text fits.\ntranscribe has a speech "
                "recogniser listen to every recording in DIR and its subfolders, and writes what it heard into "
                "DIR/metadata.csv. DIR/transcripts.tsv has every text, that of a second recogniser, in how many words "
                "they "
                "differ, and how well a trained voice finds the text in the sound. Rows that are doubtful by one of "
                "the two "
                "are dropped in DIR/decisions.tsv, where you can keep or correct them. Interrupted, the same command "
                "continues.",
            MX_PAGE_EXAMPLES(examples),
        },
    MX_COMMAND_WORK(options, struct values, run),
};
