/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts report: writes the page of a run, whether it has ended, is still running, or crashed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/catalogue.h"
#include "cli/command.h"
#include "myxtts/error.h"
#include "observe/page/page.h"

struct values {
    const char *language, *output;
};

static const struct mx_option options[] = {
    {MX_OPTION_CHOICE(struct values, language, "language", "LANGUAGE", mx_words_codes, NULL,
                      "Language of the report: English, or Persian (right to left). Without it, the language of the "
                      "environment (LANGUAGE, LC_ALL, LC_MESSAGES, LANG)."),
     .letter = 'l'},
    {MX_OPTION_STRING(struct values, output, "output", "FILE", "RUN/report.html",
                      "Write the report to this file; '-' is standard output."),
     .letter = 'o'},
};

static const struct mx_example examples[] = {
    {"myxtts report my-run", "writes my-run/report.html; open it in a browser"},
    {"myxtts report my-run --language fa --output my-run/report.fa.html", "writes the report in Persian"},
};

static int folder_check(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return MX_FAIL(MX_ERR_NOT_FOUND, "give the folder that 'myxtts train --output' made", "cannot find %s: %s",
                       path, strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return MX_FAIL(MX_ERR_USAGE, "give the folder that 'myxtts train --output' made", "%s is not a folder", path);
    return 0;
}

static int page_print(const struct mx_page_options *page)
{
    struct mx_string text = {0};
    int rc = mx_page_write(page, &text);
    if (rc == 0 && (fwrite(text.data, 1, text.length, stdout) != text.length || fflush(stdout) != 0))
        rc = MX_FAIL(MX_ERR_IO, "check where the output goes", "cannot write the page: %s", strerror(errno));
    mx_string_release(&text);
    return rc;
}

static int run(const void *given, const struct mx_option_list *operands)
{
    int rc = 0;
    const struct values *const values = given;
    char *path = NULL;
    if (operands->count == 0) return MX_FAIL(MX_ERR_USAGE, "see 'myxtts report --help'", "the run folder is missing");
    const struct mx_page_options page = {.run = operands->items[0],
                                         .language = values->language != NULL ? mx_words_named(values->language)
                                                                              : mx_catalogue_language()};
    MX_TRY(folder_check(page.run));
    if (values->output != NULL && strcmp(values->output, "-") == 0) {
        MX_TRY(page_print(&page));
        goto out;
    }
    path = values->output != NULL ? mx_strdup(values->output) : mx_format("%s/report.html", page.run);
    if (path == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_page_save(&page, path));
    printf("%s\n", path);
out:
    mx_free(path);
    return rc;
}

const struct mx_command mx_command_report = {
    .name = "report",
    .page =
        {
            .command = "myxtts report",
            .operands = "RUN",
            .operand_max = 1,
            .summary = "write an HTML report of a training run",
            .description = "Writes one self-contained HTML file for a browser or a phone: loss curves, learning rate, "
                           "speed, how both devices spent their time, memory and limits, advice, pictures, audio "
                           "samples, the facts of the run and the command that continues it. Training writes this "
                           "report when it ends; this command writes it at any time, also for a run that is still "
                           "going or has crashed.\nLong runs are averaged, so the page stays small.",
            MX_PAGE_EXAMPLES(examples),
        },
    MX_COMMAND_WORK(options, struct values, run),
};
