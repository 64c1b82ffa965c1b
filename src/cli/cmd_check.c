/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts check DIR: reads every row of a corpus and reports its contents, the rows that cannot be used, and why.
 *
 * An interrupt loses nothing: rejects.tsv is written at the end, in one piece.
 */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <utf8proc.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/string.h"
#include "cli/command.h"
#include "cli/corpus_options.h"
#include "cli/json_tree.h"
#include "corpus/check.h"
#include "myxtts/error.h"

#define SHOWN                  10 /* rows that are named in messages; rejects.tsv has all */
#define SPEAKERS_SHOWN         20
#define BAR_COLUMNS            40
#define SYMBOL_COLUMNS         5
#define PLAIN_BYTES            4200 /* a path or a name on the terminal */
#define VOCABULARY_LIMIT_BYTES ((size_t)16 << 20)

struct values {
    struct mx_corpus_values corpus;
    const char *vocabulary, *rejects;
    bool allow_rejects, json;
};

static const struct mx_option options[] = {
    {MX_OPTION_FLAG(struct values, allow_rejects, "allow-rejects",
                    "Do not fail if more than 5 % of the rows are rejected.")},
    MX_CORPUS_OPTIONS(struct values),
    {MX_OPTION_STRING(struct values, vocabulary, "vocabulary", "FILE", NULL,
                      "Reject rows with symbols that are not in this vocabulary.")},
    {MX_OPTION_STRING(struct values, rejects, "rejects", "FILE", "rejects.tsv in the corpus folder",
                      "Write the list of rejected rows to this file.")},
    {MX_OPTION_FLAG(struct values, json, "json", "Print the report as one JSON object.")},
};

static const struct mx_example examples[] = {
    {"myxtts check my-corpus", "reads all recordings, prints the report and writes my-corpus/rejects.tsv"},
    {"myxtts check my-corpus --max-seconds 12 --allow-rejects",
     "also rejects longer recordings, and succeeds whatever the number of rejects"},
    {"myxtts check list.txt --tokens chars --json", "checks a file list and prints JSON"},
};

/* ---- the report in words ---- */

static void histogram_print(const char *title, const char *unit, const struct mx_histogram *histogram, int digits)
{
    uint64_t most = 1;
    uint32_t first = 0;
    while (first + 1 < histogram->bins && histogram->counts[first] == 0) first++;
    for (uint32_t i = 0; i < histogram->bins; i++)
        if (histogram->counts[i] > most) most = histogram->counts[i];
    printf("\n%s, %s: from %.*f to %.*f, mean %.1f\n", title, unit, digits, histogram->least, digits, histogram->most,
           histogram->mean);
    for (uint32_t i = first; i < histogram->bins; i++) {
        const uint64_t count = histogram->counts[i];
        const int columns = (int)((count * BAR_COLUMNS + most - 1) / most); /* a single row is seen too */
        printf("  %6.*f … %-6.*f %8" PRIu64 " %.*s\n", histogram->width < 1 ? 1 : 0, i * histogram->width,
               histogram->width < 1 ? 1 : 0, (i + 1) * histogram->width, count, columns,
               "########################################");
    }
}

static void reasons_print(const struct mx_check_report *report)
{
    printf("\nRejected rows by reason\n");
    for (int i = 1; i < MX_REJECT_COUNT; i++)
        if (report->reasons[i] > 0)
            printf("  %8" PRIu32 "  %-16s %s\n", report->reasons[i], mx_reject_name((enum mx_reject)i),
                   mx_reject_text((enum mx_reject)i));
    if (report->reasons[MX_REJECT_TOO_LONG] > 0)
        printf("  Those that are too long (%" PRIu32
               ") can be cut at pauses: 'prepare' and 'train' do so ('--cut-long')\n",
               report->reasons[MX_REJECT_TOO_LONG]);
}

static void speakers_print(const struct mx_check_report *report)
{
    const bool several = report->speaker_count > 1;
    char plain[PLAIN_BYTES];
    printf("\nSpeakers: %" PRIu32 "\n", report->speaker_count);
    if (several) printf("  %28s  an epoch has each row, with data.balance=speaker and =root:\n", "");
    for (uint32_t i = 0; i < report->speaker_count && i < SPEAKERS_SHOWN; i++) {
        const struct mx_check_speaker *const speaker = &report->speakers[i];
        printf("  %8" PRIu32 " rows %8.1f min  ", speaker->rows, speaker->seconds / 60);
        if (several)
            printf("%6.2f and %5.2f times  ", speaker->times[MX_BALANCE_SPEAKER], speaker->times[MX_BALANCE_ROOT]);
        printf("%s\n", mx_string_plain(plain, sizeof plain, speaker->name));
    }
    if (report->speaker_count > SPEAKERS_SHOWN)
        printf("  … and %" PRIu32 " more; --json lists all\n", report->speaker_count - SPEAKERS_SHOWN);
}

static void report_print(const char *path, const struct mx_check_report *report)
{
    char name[MX_SYMBOL_NAME_BYTES], plain[PLAIN_BYTES];
    printf("%s\n", mx_string_plain(plain, sizeof plain, path));
    for (uint32_t i = 0; i < report->manifest->source_count; i++) {
        const struct mx_manifest_source *const source = &report->manifest->sources[i];
        printf("  manifest   %s: %s (%s), %" PRIu32 " rows\n", mx_string_plain(plain, sizeof plain, source->path),
               mx_manifest_format_name(source->format), source->columns, source->rows);
    }
    printf("  rows       %" PRIu32 ": %" PRIu32 " good, %" PRIu32 " rejected (%.1f %%)\n", report->rows, report->good,
           report->rejected, 100.0 * report->rejected / (report->rows == 0 ? 1 : report->rows));
    const double unit = report->seconds < 3600 ? 60 : 3600; /* of time */
    printf("  audio      %.2f %s, %.2f without the silence at the ends\n", report->seconds / unit,
           unit > 60 ? "h" : "min", report->seconds_used / unit);
    printf("  rate       from %.1f to %.1f sounds a second are believable\n", report->rate.least, report->rate.most);
    printf("  split      %" PRIu32 " rows for training, %" PRIu32 " for validation\n", report->training,
           report->validation);
    printf("  languages ");
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++)
        if (report->languages[i] > 0)
            printf(" %s %" PRIu32, mx_language_get((enum mx_language_id)i)->name, report->languages[i]);
    printf("%s\n", report->good == 0 ? " none" : "");
    if (report->rejected > 0) reasons_print(report);
    if (report->good > 0) {
        histogram_print("Duration", "seconds", &report->durations, 1);
        histogram_print("Text", "characters", &report->lengths, 0);
        speakers_print(report);
        printf("\nSymbols: %" PRIu32 "\n", report->symbol_count);
        for (uint32_t i = 0; i < report->symbol_count; i++) {
            printf("  %s %-8" PRIu64, mx_symbol_name(report->symbols[i].code, name), report->symbols[i].count);
            if (i % SYMBOL_COLUMNS == SYMBOL_COLUMNS - 1 || i + 1 == report->symbol_count) printf("\n");
        }
    }
}

/* The first rejected rows and notes by name, on the log. */
static void rows_tell(const struct mx_check_report *report, const char *rejects)
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

/* ---- the report as JSON ---- */

static void histogram_json(cJSON *root, const char *name, const struct mx_histogram *histogram, int *failures)
{
    cJSON *const object = cJSON_AddObjectToObject(root, name);
    mx_command_json_check(cJSON_AddNumberToObject(object, "least", histogram->least), failures);
    mx_command_json_check(cJSON_AddNumberToObject(object, "most", histogram->most), failures);
    mx_command_json_check(cJSON_AddNumberToObject(object, "mean", histogram->mean), failures);
    mx_command_json_check(cJSON_AddNumberToObject(object, "width", histogram->width), failures);
    cJSON *const counts = cJSON_AddArrayToObject(object, "counts");
    mx_command_json_check(counts, failures);
    for (uint32_t i = 0; i < histogram->bins; i++) {
        cJSON *const number = cJSON_CreateNumber((double)histogram->counts[i]);
        if (number != NULL && cJSON_AddItemToArray(counts, number)) continue;
        cJSON_Delete(number);
        ++*failures;
    }
}

static void manifest_json(cJSON *root, const struct mx_manifest *manifest, int *failures)
{
    cJSON *const sources = cJSON_AddArrayToObject(root, "manifests"), *const notes =
                                                                          cJSON_AddArrayToObject(root, "notes");
    for (uint32_t i = 0; i < manifest->source_count; i++) {
        cJSON *const object = mx_command_json_element(sources, failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "path", manifest->sources[i].path), failures);
        mx_command_json_check(
            cJSON_AddStringToObject(object, "format", mx_manifest_format_name(manifest->sources[i].format)), failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "columns", manifest->sources[i].columns), failures);
        mx_command_json_check(cJSON_AddNumberToObject(object, "rows", manifest->sources[i].rows), failures);
    }
    for (uint32_t i = 0; i < manifest->problem_count; i++) {
        const struct mx_manifest_problem *const note = &manifest->problems[i];
        if (note->reject != MX_REJECT_NONE) continue;
        cJSON *const object = mx_command_json_element(notes, failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "manifest", manifest->sources[note->source].path),
                              failures);
        mx_command_json_check(cJSON_AddNumberToObject(object, "line", note->line), failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "id", note->id), failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "message", note->message), failures);
    }
}

static void tables_json(cJSON *root, const struct mx_check_report *report, int *failures)
{
    char code[16];
    utf8proc_uint8_t symbol[5];
    cJSON *const reasons = cJSON_AddObjectToObject(root, "reasons");
    for (int i = 1; i < MX_REJECT_COUNT; i++)
        mx_command_json_check(cJSON_AddNumberToObject(reasons, mx_reject_name((enum mx_reject)i), report->reasons[i]),
                              failures);
    cJSON *const languages = cJSON_AddObjectToObject(root, "languages");
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++)
        if (report->languages[i] > 0 || mx_language_detected((enum mx_language_id)i))
            mx_command_json_check(
                cJSON_AddNumberToObject(languages, mx_language_get((enum mx_language_id)i)->code, report->languages[i]),
                failures);
    cJSON *const speakers = cJSON_AddArrayToObject(root, "speakers");
    for (uint32_t i = 0; i < report->speaker_count; i++) {
        cJSON *const object = mx_command_json_element(speakers, failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "name", report->speakers[i].name), failures);
        mx_command_json_check(cJSON_AddNumberToObject(object, "rows", report->speakers[i].rows), failures);
        mx_command_json_check(cJSON_AddNumberToObject(object, "seconds", report->speakers[i].seconds), failures);
        cJSON *const times = cJSON_AddObjectToObject(object, "times");
#define X(identifier, name)                                                                                            \
    mx_command_json_check(cJSON_AddNumberToObject(times, name, report->speakers[i].times[MX_BALANCE_##identifier]),    \
                          failures);
        MX_BALANCE_LIST(X)
#undef X
    }
    cJSON *const symbols = cJSON_AddArrayToObject(root, "symbols");
    for (uint32_t i = 0; i < report->symbol_count; i++) {
        cJSON *const object = mx_command_json_element(symbols, failures);
        symbol[utf8proc_encode_char((utf8proc_int32_t)report->symbols[i].code, symbol)] = 0;
        snprintf(code, sizeof code, "U+%04" PRIX32, report->symbols[i].code);
        mx_command_json_check(cJSON_AddStringToObject(object, "symbol", (const char *)symbol), failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "code", code), failures);
        mx_command_json_check(cJSON_AddNumberToObject(object, "count", (double)report->symbols[i].count), failures);
    }
}

static int report_json(const char *path, const struct mx_check_report *report, const char *rejects)
{
    int failures = 0;
    cJSON *const root = cJSON_CreateObject();
    mx_command_json_check(cJSON_AddStringToObject(root, "corpus", path), &failures);
    manifest_json(root, report->manifest, &failures);
    mx_command_json_check(cJSON_AddNumberToObject(root, "rows", report->rows), &failures);
    mx_command_json_check(cJSON_AddNumberToObject(root, "good", report->good), &failures);
    mx_command_json_check(cJSON_AddNumberToObject(root, "rejected", report->rejected), &failures);
    mx_command_json_check(cJSON_AddStringToObject(root, "rejects_file", rejects), &failures);
    mx_command_json_check(cJSON_AddNumberToObject(root, "training", report->training), &failures);
    mx_command_json_check(cJSON_AddNumberToObject(root, "validation", report->validation), &failures);
    mx_command_json_check(cJSON_AddNumberToObject(root, "seconds", report->seconds), &failures);
    mx_command_json_check(cJSON_AddNumberToObject(root, "seconds_used", report->seconds_used), &failures);
    cJSON *const rate = cJSON_AddObjectToObject(root, "speaking_rate");
    mx_command_json_check(cJSON_AddNumberToObject(rate, "least", report->rate.least), &failures);
    mx_command_json_check(cJSON_AddNumberToObject(rate, "most", report->rate.most), &failures);
    histogram_json(root, "durations", &report->durations, &failures);
    histogram_json(root, "lengths", &report->lengths, &failures);
    tables_json(root, report, &failures);
    const int rc = mx_command_json(root, failures, NULL);
    cJSON_Delete(root);
    return rc;
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

static int run(const void *given, const struct mx_option_list *operands)
{
    int rc = 0;
    const struct values *const values = given;
    char *rejects = NULL;
    struct mx_vocabulary *vocabulary = NULL;
    struct mx_lexicon *lexicon = NULL;
    struct mx_check_report report = {0};
    struct mx_check_options wanted = MX_CHECK_OPTIONS_DEFAULT;
    if (operands->count == 0)
        return MX_FAIL(MX_ERR_USAGE, "see 'myxtts check --help'", "name the corpus folder, or its manifest file");
    const char *const path = operands->items[0];
    MX_TRY(wanted_read(values, &wanted, &vocabulary, &lexicon));
    MX_TRY(mx_check_run(path, &wanted, &report));
    rejects = values->rejects != NULL ? mx_strdup(values->rejects)
                                      : mx_format("%s/rejects.tsv", report.manifest->sources[0].root);
    if (rejects == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    rows_tell(&report, rejects);
    /* The report is worth having even if the list cannot be written. */
    if (values->json)
        MX_TRY(report_json(path, &report, rejects));
    else
        report_print(path, &report);
    rc = mx_check_write_rejects(&report, rejects);
    if (rc < 0 && values->rejects == NULL) mx_error_hint("name another place with '--rejects FILE'");
    if (rc < 0) goto out;
    if (report.rejected > 0 && !values->json) printf("\nThe rejected rows are listed in %s\n", rejects);
    rc = verdict(values, &report, rejects);
out:
    mx_check_release(&report);
    mx_vocabulary_destroy(vocabulary);
    mx_lexicon_destroy(lexicon);
    mx_free(rejects);
    return rc;
}

const struct mx_command mx_command_check = {
    .name = "check",
    .page =
        {
            .command = "myxtts check",
            .operands = "DIR",
            .operand_max = 1,
            .summary = "read every row of a corpus and report what cannot be used",
            .description =
                "DIR is a corpus folder or its manifest file: LJSpeech (metadata.csv, id|text or id|raw|normalised, "
                "recordings in wavs/), Piper (id|speaker|text), Coqui (header audio_file|text|speaker_name|language, "
                "the last two optional) or a file "
                "list (path|text|speaker). Recordings may be WAV, FLAC, Ogg, Opus or MP3 at any sample rate.\nEvery "
                "row is read exactly as training would read it. Rejected rows are counted by reason and listed in "
                "rejects.tsv. The report describes the others: durations, lengths, speakers, languages and symbols. "
                "The corpus itself is not changed.\nThe exit code is 2 if more than 5 % of the rows are rejected, "
                "unless '--allow-rejects' is given, or if no row is left.",
            MX_PAGE_EXAMPLES(examples),
        },
    MX_COMMAND_WORK(options, struct values, run),
};
