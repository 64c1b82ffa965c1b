/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts corpus demo DIR: makes a corpus to try the program with, read aloud by a synthetic teacher.
 *
 * An interrupt (Ctrl-C) or SIGTERM ends the work with a consistent folder and exit code 4; a second one ends the
 * program at once, which loses nothing but the sentences being read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "demo/demo.h"
#include "myxtts/error.h"
#include "run/interrupt.h"

#define COUNT_MAX 100000 /* more than there are sentences; the library knows the real bound */

struct values {
    const char *language;
    int64_t count, speakers, seed; /* 0: not given */
};

static const char *const languages[] = {
#define X(identifier, code, data, teacher) code,
    MX_DEMO_LANGUAGE_LIST(X)
#undef X
        NULL};

static const struct mx_option options[] = {
    {MX_OPTION_CHOICE(struct values, language, "language", "LANGUAGE", languages, NULL,
                      "English, read by flite, or Persian, read by espeak-ng. Must be given.")},
    {MX_OPTION_INT(struct values, count, "count", "N", 1, COUNT_MAX, NULL,
                   "Total number of sentences; each becomes one file. Required.")},
    {MX_OPTION_INT(struct values, speakers, "speakers", "K", 1, MX_TEACHER_SPEAKERS, "1",
                   "Number of voices. One sentence in 20 is read by all of them, every other by one voice only.")},
    {MX_OPTION_INT(struct values, seed, "seed", "S", 0, INT64_MAX, "0",
                   "Determines which sentences are chosen, and their order.")},
};

static const struct mx_example examples[] = {
    {"myxtts corpus demo my-corpus --language en --count 1500", "makes about 70 minutes of English speech"},
    {"myxtts corpus demo my-voices --language en --count 900 --speakers 3",
     "makes 300 sentences for each of three voices"},
    {"myxtts corpus demo my-persian --language fa --count 600", "makes half an hour of Persian speech"},
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

static int language_missing(const char *hint)
{
    char list[256] = "";
    size_t length = 0;
    for (size_t i = 0; languages[i] != NULL && length < sizeof list; i++)
        length += (size_t)snprintf(list + length, sizeof list - length, "%s'--language %s'", i > 0 ? " or " : "",
                                   languages[i]);
    return MX_FAIL(MX_ERR_USAGE, hint, "%s is missing", list);
}

static int run(const void *given, const struct mx_option_list *operands)
{
    const struct values *const values = given;
    const char *const hint = "see 'myxtts corpus --help'";
    char quoted[96];
    struct mx_interrupt interrupt;
    struct mx_demo_report report;
    if (operands->count == 0) return MX_FAIL(MX_ERR_USAGE, hint, "say which corpus to make: 'demo'");
    if (strcmp(operands->items[0], "demo") != 0)
        return MX_FAIL(MX_ERR_USAGE, hint, "unknown kind of corpus %s; there is 'demo'",
                       mx_string_quote(quoted, sizeof quoted, operands->items[0]));
    if (operands->count < 2) return MX_FAIL(MX_ERR_USAGE, hint, "name the folder to make");
    if (values->language == NULL) return language_missing(hint);
    if (values->count == 0) return MX_FAIL(MX_ERR_USAGE, hint, "'--count N' is missing");
    struct mx_demo_options wanted = {.folder = operands->items[1],
                                     .count = (uint32_t)values->count,
                                     .speakers = values->speakers == 0 ? 1 : (uint32_t)values->speakers,
                                     .seed = (uint64_t)values->seed};
    int rc = mx_language_parse(values->language, &wanted.language);
    if (rc < 0) return rc;
    wanted.stop = mx_interrupt_watch(&interrupt, false);
    rc = mx_demo_make(&wanted, &report);
    mx_interrupt_leave(&interrupt);
    if (rc >= 0) report_print(&wanted, &report);
    return rc;
}

const struct mx_command mx_command_corpus = {
    .name = "corpus",
    .page =
        {
            .command = "myxtts corpus",
            .operands = "demo DIR",
            .operand_max = 2,
            .summary = "make a demo corpus read by a synthetic voice",
            .description =
                "Makes the folder DIR in the layout of LJSpeech: sentences written for this project in metadata.csv, "
                "and wavs/ with recordings of them. Nobody was recorded: a speech program of the system is the "
                "teacher, flite (voices slt, rms, awb) for English and espeak-ng (fa) for Persian. It is for trying "
                "and testing; a real voice needs real recordings.\nDIR is made, or completed if it is an unfinished "
                "demo corpus with the same parameters; a folder with anything else in it is refused. The same "
                "parameters always give the same corpus.",
            MX_PAGE_EXAMPLES(examples),
        },
    MX_COMMAND_WORK(options, struct values, run),
};
