/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts check DIR: reads every row of a corpus and reports its contents, the rows that cannot be used and why, and what
 * may spoil a voice (doctor/doctor.h).
 *
 * An interrupt loses nothing: lists and page are written at the end, each in one piece; if only the scores are not
 * finished, the rest is reported.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/string.h"
#include "cli/check/check_report.h"
#include "cli/command.h"
#include "cli/corpus/corpus_options.h"
#include "doctor/page.h"
#include "myxtts/error.h"
#include "run/interrupt.h"

#define SHOWN                  10 /* rows that are named in messages; rejects.tsv has all */
#define RECORD                 10 /* sentences to record next */
#define VOCABULARY_LIMIT_BYTES ((size_t)16 << 20)

struct values {
    struct mx_corpus_values corpus;
    const char *vocabulary, *rejects, *suspects, *voice, *device, *html, *html_language, *text;
    int64_t record;
    bool allow_rejects, json;
};

static const struct values start = {.record = RECORD};

static const struct mx_option options[] = {
    {MX_OPTION_FLAG(struct values, allow_rejects, "allow-rejects",
                    "Do not fail if more than 5 % of the rows are rejected.")},
    {MX_OPTION_STRING(
        struct values, voice, "voice", "NAME|FILE", "base, if it knows the language",
        "Voice that judges whether texts and recordings belong together: the name of an installed voice, a "
        "file or a run folder; 'none' leaves that out.")},
    {MX_OPTION_STRING(struct values, html, "html", "FILE", NULL,
                      "Write a page on which to look at the suspect rows, listen and decide.")},
    {MX_OPTION_CHOICE(struct values, html_language, "html-language", "LANGUAGE", mx_words_codes, NULL,
                      "Language of that page: English, or Persian (right to left). Without it, the language of the "
                      "environment (LANGUAGE, LC_ALL, LC_MESSAGES, LANG).")},
    {MX_OPTION_INT(struct values, record, "record", "N", 0, 1000, "10",
                   "Number of sentences to record next that are suggested, for each language.")},
    {MX_OPTION_STRING(struct values, text, "text", "FILE", NULL,
                      "Text with more sentences to choose from, and to know the sounds of the language from.")},
    MX_CORPUS_OPTIONS(struct values),
    {MX_OPTION_STRING(struct values, vocabulary, "vocabulary", "FILE", NULL,
                      "Reject rows with symbols that are not in this vocabulary.")},
    {MX_OPTION_STRING(struct values, rejects, "rejects", "FILE", "rejects.tsv in the corpus folder",
                      "Write the list of rejected rows to this file.")},
    {MX_OPTION_STRING(struct values, suspects, "suspects", "FILE", "suspects.tsv beside the list of rejected rows",
                      "Write the list of suspect rows to this file.")},
    {MX_OPTION_STRING(struct values, device, "device", "NAME", "cpu:0", "Device on which the voice listens.")},
    {MX_OPTION_FLAG(struct values, json, "json", "Print the report as one JSON object.")},
};

static const struct mx_example examples[] = {
    {"myxtts check my-corpus",
     "reads all recordings, prints the report and writes my-corpus/rejects.tsv and suspects.tsv"},
    {"myxtts check my-corpus --html report.html", "also writes a page on which to listen to suspect rows and decide"},
    {"myxtts check my-corpus --text book.txt --record 50", "suggests 50 sentences to record, from the text, too"},
    {"myxtts check my-corpus --max-seconds 12 --allow-rejects",
     "also rejects longer recordings, and succeeds whatever the number of rejects"},
    {"myxtts check list.txt --tokens chars --voice none --json", "checks a file list without a voice and prints JSON"},
};

/* ---- messages ---- */

/* The first rejected rows and notes by name, on the log. */
static void rows_log(const struct mx_check_report *report, const char *rejects)
{
    uint32_t notes = 0;
    const struct mx_manifest *const manifest = report->manifest;
    for (uint32_t i = 0; i < report->rejected && i < SHOWN; i++) {
        const struct mx_check_reject *const reject = &report->rejects[i];
        mx_warn("%s:%" PRIu32 ": %s%s%s: %s", manifest->sources[reject->source].path, reject->line,
                mx_reject_name(reject->reason), reject->id[0] == '\0' ? "" : ", ", reject->id, reject->detail);
    }
    if (report->rejected > SHOWN)
        mx_warn("… and %" PRIu32 " more rejected rows, all in %s", report->rejected - SHOWN, rejects);
    for (uint32_t i = 0; i < manifest->problem_count; i++) {
        const struct mx_manifest_problem *const note = &manifest->problems[i];
        if (note->reject == MX_REJECT_NONE && notes++ < SHOWN)
            mx_warn("%s:%" PRIu32 ": %s: %s", manifest->sources[note->source].path, note->line, note->id,
                    note->message);
    }
    if (notes > SHOWN) mx_warn("… and %" PRIu32 " more notes; --json lists all", notes - SHOWN);
}

/* Sentences of '--text' that are of no use. */
static void text_log(const char *text, const struct mx_doctor_coverage *coverage)
{
    if (coverage->text_foreign > 0)
        mx_warn("%s: sentences in no language of the rows, or in one of several, are not used: %" PRIu32, text,
                coverage->text_foreign);
    if (coverage->text_beyond > 0)
        mx_warn("%s: the first %d sentences are used, %" PRIu32 " more are not", text, MX_DOCTOR_TEXT_SENTENCES,
                coverage->text_beyond);
}

/* ---- running ---- */

static int vocabulary_open(const char *path, struct mx_vocabulary **out)
{
    int rc = 0;
    char *data = NULL;
    size_t bytes = 0;
    MX_TRY(mx_file_read(path, VOCABULARY_LIMIT_BYTES, &data, &bytes));
    rc = mx_vocabulary_read(data, bytes, out);
    if (rc < 0) mx_error_wrap("%s", path);
out:
    mx_free(data);
    return rc;
}

static int wanted_read(const struct values *values, struct mx_check_options *wanted, struct mx_vocabulary **vocabulary,
                       struct mx_lexicon **lexicon)
{
    int rc = 0;
    MX_TRY(mx_corpus_values_read(&values->corpus, &wanted->manifest, &wanted->row, &wanted->workers, lexicon));
    if (values->vocabulary != NULL) {
        MX_TRY(vocabulary_open(values->vocabulary, vocabulary));
        if (mx_vocabulary_mode(*vocabulary) != wanted->row.tokens)
            MX_RAISE(MX_ERR_CONFIG, "give '--tokens' the kind of the vocabulary", "%s is a vocabulary of %s, not of %s",
                     values->vocabulary, mx_tokens_mode_name(mx_vocabulary_mode(*vocabulary)),
                     mx_tokens_mode_name(wanted->row.tokens));
        MX_TRY(mx_vocabulary_add_lexicon(*vocabulary, *lexicon));
        wanted->row.vocabulary = *vocabulary;
    }
out:
    return rc;
}

/* Whether what was found is good enough. */
static int verdict(const struct values *values, const struct mx_check_report *report, const char *rejects)
{
    if (report->good == 0) {
        MX_FAIL(MX_ERR_DATA, NULL, "none of the %" PRIu32 " rows can be used", report->rows);
        return mx_error_hint("%s gives the reason for each row", rejects);
    }
    const uint32_t dropped = report->reasons[MX_REJECT_DROPPED];
    if (values->allow_rejects || mx_rejected_share(report->rejected, dropped, report->rows) <= MX_REJECTED_SHARE_MAX)
        return 0;
    MX_FAIL(MX_ERR_DATA, NULL, "%" PRIu32 " of %" PRIu32 " rows are rejected, which is more than %.0f %%",
            report->rejected - dropped, report->rows, 100 * MX_REJECTED_SHARE_MAX);
    return mx_error_hint("check %s and repair or remove the rows; --allow-rejects continues without them", rejects);
}

/* The page is made after minutes: what is wrong with its place is better said at once. */
static int page_check(const struct values *values)
{
    int rc = 0;
    struct stat info;
    char *folder = NULL;
    if (values->html == NULL) goto out;
    const char *const slash = strrchr(values->html, '/');
    folder = slash == NULL ? mx_strdup(".") : mx_strndup(values->html, (size_t)(slash - values->html) + 1);
    if (folder == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    if (access(folder, W_OK | X_OK) != 0)
        MX_RAISE(MX_ERR_IO, "name a file in a folder that exists and may be written", "cannot write %s: %s",
                 values->html, strerror(errno));
    if (values->html[0] == '\0' || (stat(values->html, &info) == 0 && !S_ISREG(info.st_mode)))
        MX_RAISE(MX_ERR_USAGE, "give the name of a file, for example '--html report.html'", "'%s' is not a file",
                 values->html);
out:
    mx_free(folder);
    return rc;
}

/* Where the lists go: a corpus folder that may not be written needs only '--rejects'. */
static int lists_place(const struct values *values, const struct mx_doctor *doctor, char **rejects, char **suspects)
{
    const char *const root = doctor->report.manifest->sources[0].root;
    *rejects = values->rejects != NULL ? mx_strdup(values->rejects) : mx_format("%s/rejects.tsv", root);
    if (*rejects == NULL) return MX_ERR_NO_MEMORY;
    const char *const slash = strrchr(*rejects, '/');
    const int folder = slash == NULL ? 0 : (int)(slash - *rejects) + 1;
    *suspects =
        values->suspects != NULL ? mx_strdup(values->suspects) : mx_format("%.*ssuspects.tsv", folder, *rejects);
    return *suspects == NULL ? MX_ERR_NO_MEMORY : 0;
}

/* Lists and page, after the rest of the report, which is worth having even if one of them cannot be written. */
static int files_write(const struct values *values, const struct mx_command_check_report *full, const atomic_bool *stop)
{
    int rc = mx_check_write_rejects(&full->doctor->report, 1, full->rejects);
    if (rc < 0 && values->rejects == NULL) mx_error_hint("name another place with '--rejects FILE'");
    if (rc < 0) return rc;
    rc = mx_doctor_write_suspects(full->doctor, full->suspects);
    if (rc < 0 && values->suspects == NULL) mx_error_hint("name another place with '--suspects FILE'");
    if (rc < 0 || values->html == NULL) return rc;
    const struct mx_doctor_page_options page = {
        .language = values->html_language != NULL ? mx_words_named(values->html_language) : mx_catalogue_language(),
        .suspects = full->suspects,
        .rejects = full->rejects,
        .stop = stop};
    rc = mx_doctor_page_save(full->doctor, &page, values->html);
    if (rc == 0 && !values->json) printf("To listen and decide, open %s in a browser\n", values->html);
    return rc;
}

static int outcome_report(const struct values *values, const char *path, const struct mx_doctor *doctor,
                          const atomic_bool *stop)
{
    int rc = 0;
    char *rejects = NULL, *suspects = NULL;
    MX_TRY(lists_place(values, doctor, &rejects, &suspects));
    const struct mx_command_check_report full = {path, doctor, rejects, suspects};
    rows_log(&doctor->report, rejects);
    if (values->text != NULL) text_log(values->text, &doctor->coverage);
    if (values->json)
        MX_TRY(mx_command_check_json(&full));
    else
        mx_command_check_print(&full);
    if (doctor->report.rejected > 0 && !values->json) printf("The rejected rows are listed in %s\n", rejects);
    MX_TRY(files_write(values, &full, stop));
    rc = verdict(values, &doctor->report, rejects);
    if (rc == 0 && (doctor->interrupted || atomic_load(stop)))
        MX_RAISE(MX_ERR_INTERRUPTED, "start again for the whole report",
                 "interrupted; what was known by then is reported");
out:
    mx_free(rejects);
    mx_free(suspects);
    return rc;
}

static int run(const void *given, const struct mx_option_list *operands)
{
    int rc = 0;
    const struct values *const values = given;
    struct mx_vocabulary *vocabulary = NULL;
    struct mx_lexicon *lexicon = NULL;
    struct mx_interrupt interrupt;
    struct mx_doctor doctor = {0};
    struct mx_doctor_options wanted = {.check = MX_CHECK_OPTIONS_DEFAULT,
                                       .voice = values->voice,
                                       .device = values->device,
                                       .text = values->text,
                                       .record = (uint32_t)values->record};
    if (operands->count == 0)
        return MX_FAIL(MX_ERR_USAGE, "see 'myxtts check --help'", "name the corpus folder, or its manifest file");
    MX_TRY(page_check(values));
    MX_TRY(wanted_read(values, &wanted.check, &vocabulary, &lexicon));
    const atomic_bool *const stop = mx_interrupt_watch(&interrupt, false);
    wanted.stop = stop;
    rc = mx_doctor_examine(operands->items[0], &wanted, &doctor);
    if (rc == 0) rc = outcome_report(values, operands->items[0], &doctor, stop);
    mx_interrupt_restore(&interrupt);
    mx_doctor_release(&doctor);
out:
    mx_vocabulary_destroy(vocabulary);
    mx_lexicon_destroy(lexicon);
    return rc;
}

const struct mx_command mx_command_check = {
    .name = "check",
    .page =
        {
            .command = "myxtts check",
            .operands = "DIR",
            .operand_max = 1,
            .summary = "read every row of a corpus and report what cannot be used, and what may spoil a voice",
            .description =
                "DIR is a corpus folder or its manifest file: LJSpeech (metadata.csv, id|text or id|raw|normalised, "
                "recordings in wavs/), Piper (id|speaker|text), Coqui (header audio_file|text|speaker_name|language, "
                "the last two optional) or a file list (path|text|speaker). Recordings may be WAV, FLAC, Ogg, Opus "
                "or MP3 at any sample rate.\nEvery row is read exactly as training would read it. Rejected rows are "
                "counted by reason and listed in rejects.tsv. The report describes the others: durations, lengths, "
                "speakers, languages and symbols. The corpus itself is not changed.\nRows that may spoil a voice are "
                "suspect: noise, hum, echo, clipping, telephone sound, other levels, rows that are there twice, and, "
                "judged by a voice, texts that do not fit their recording and recordings of somebody else. Each is "
                "named with the reason and listed in suspects.tsv; none is removed. On the page of '--html' people "
                "listen and decide, and save decisions.tsv, which this command, prepare and train follow. The report "
                "also says which sounds of the language are rare or missing, and which sentences to record "
                "next.\nThe exit code is 2 if more than 5 % of the rows are rejected, unless '--allow-rejects' is "
                "given, or if no row is left. Suspect rows are not a failure.",
            MX_PAGE_EXAMPLES(examples),
        },
    MX_COMMAND_WORK(options, struct values, run),
    .values = &start,
};
