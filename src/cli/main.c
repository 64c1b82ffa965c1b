/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The program: finds the subcommand, reads the options of the whole program, prints the one error and sets the exit
 * code.
 *
 * Exit codes: 0 done, 1 wrong usage or configuration, 2 bad data or files, 3 device or memory, 4 interrupted but saved.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/command.h"
#include "myxtts/error.h"

static const struct mx_command *const commands[] = {
    &mx_command_check, &mx_command_completion, &mx_command_config,   &mx_command_corpus,    &mx_command_devices,
    &mx_command_eval,  &mx_command_export,     &mx_command_features, &mx_command_inspect,   &mx_command_monitor,
    &mx_command_plan,  &mx_command_prepare,    &mx_command_profile,  &mx_command_reference, &mx_command_report,
    &mx_command_serve, &mx_command_synth,      &mx_command_train,    &mx_command_validate,  &mx_command_vocode,
    &mx_command_voices};
#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

/* Options that may stand before or after the subcommand. */
struct globals {
    bool version, quiet;
    const char *help, *log_level, *log_file, *log_format;
};

#define HELP_USUAL "usual"
#define HELP_ALL   "all"
static const char *const help_names[] = {HELP_USUAL, HELP_ALL, NULL};
static const char *const level_names[] = {"debug", "info", "warn", "error", "silent", NULL};
static const char *const format_names[] = {"text", "json", NULL};

static const struct mx_option global_options[] = {
    {MX_OPTION_CHOICE(struct globals, help, "help", "[all]", help_names, NULL,
                      "Show this page, with the options that people need first, or with all."),
     .letter = 'h', .implied = HELP_USUAL},
    {MX_OPTION_FLAG(struct globals, version, "version", "Show the version.")},
    {MX_OPTION_CHOICE(struct globals, log_level, "log-level", "LEVEL", level_names, "info",
                      "Show messages of this level and above on standard error.")},
    {MX_OPTION_FLAG(struct globals, quiet, "quiet", "Show only errors; the same as --log-level error."), .letter = 'q'},
    {MX_OPTION_STRING(struct globals, log_file, "log-file", "FILE", NULL,
                      "Also append messages of level info and above, with timestamps, to this file.")},
    {MX_OPTION_CHOICE(struct globals, log_format, "log-format", "FORMAT", format_names, "text",
                      "Write each message as a line of text or as a JSON object.")},
};

static const struct mx_example main_examples[] = {
    {"myxtts devices", "shows the devices of this machine and how they are connected"},
    {"myxtts config --output my.yaml", "writes a commented settings file to start from"},
    {"myxtts help devices", "shows the help page of one command"},
    {"myxtts train --help all", "shows every option of a large command"},
};

const struct mx_command *const *mx_command_all(size_t *count)
{
    *count = COMMAND_COUNT;
    return commands;
}

const struct mx_option *mx_command_globals(size_t *count)
{
    *count = sizeof global_options / sizeof global_options[0];
    return global_options;
}

struct mx_option_page mx_command_program(void)
{
    static struct mx_example list[COMMAND_COUNT + 1]; /* the same at every call */
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        list[i] = (struct mx_example){commands[i]->name, commands[i]->page.summary};
    list[COMMAND_COUNT] = (struct mx_example){"help", "show this page, or the page of a command"};
    return (struct mx_option_page){
        .command = "myxtts",
        .operands = "COMMAND [ARGUMENTS]",
        .operand_max = MX_OPTION_LIST_MAX,
        .summary = "train a text-to-speech voice from recordings, and speak with it",
        .description = "'myxtts COMMAND --help' explains a command. Results go to standard output, messages to "
                       "standard error.\nExit codes: 0 success, 1 wrong usage or settings, 2 bad data or files, 3 "
                       "device or memory, 4 interrupted, but saved.",
        .commands = list,
        .command_count = sizeof list / sizeof list[0],
        MX_PAGE_EXAMPLES(main_examples),
    };
}

/* The first command with an option of this name: "myxtts train". */
static const char *command_with(const char *name)
{
    struct mx_option option;
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (mx_option_find(commands[i]->options, commands[i]->option_count, name, &option))
            return commands[i]->page.command;
    return NULL;
}

static int help_print(const struct mx_option_page *page, const struct mx_option_group groups[MX_OPTION_GROUPS])
{
    struct mx_string text = {0};
    const int rc = mx_options_help(page, groups, mx_catalogue_language(), &text);
    if (rc == 0) fputs(text.data, stdout);
    mx_string_release(&text);
    return rc;
}

/* NULL, with MX_ERR_USAGE set, if there is none of this name. */
static const struct mx_command *command_find(const char *name)
{
    char quoted[96];
    struct mx_string_nearest nearest;
    mx_string_nearest_start(&nearest, name);
    mx_string_nearest_offer(&nearest, "help");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
        mx_string_nearest_offer(&nearest, commands[i]->name);
    }
    MX_FAIL(MX_ERR_USAGE, NULL, "unknown command %s", mx_string_quote(quoted, sizeof quoted, name));
    if (mx_legacy_command(name) != NULL)
        mx_error_hint("%s", mx_legacy_command(name));
    else if (mx_string_nearest_best(&nearest) != NULL)
        mx_error_hint("did you mean '%s'? 'myxtts --help' lists all commands", mx_string_nearest_best(&nearest));
    else
        mx_error_hint("'myxtts --help' lists all commands");
    return NULL;
}

int mx_command_json(const struct cJSON *root, int failures, const char *path)
{
    int rc = 0;
    char *const text = failures == 0 ? cJSON_Print(root) : NULL;
    if (text == NULL) MX_RAISE(MX_ERR_NO_MEMORY, "free some memory", "out of memory for the report");
    if (path == NULL || strcmp(path, "-") == 0)
        puts(text);
    else
        MX_TRY(mx_file_write_atomic(path, text, strlen(text)));
out:
    cJSON_free(text);
    return rc;
}

/* The configuration of the log, for commands that add a file. */
static struct mx_log_options log_now;

int mx_command_log_calm(void)
{
    if (log_now.level == MX_LOG_INFO) log_now.level = MX_LOG_WARN;
    return mx_log_configure(&log_now);
}

int mx_command_log_only(enum mx_log_level level)
{
    log_now.level = level;
    log_now.file = NULL;
    return mx_log_configure(&log_now);
}

static int log_apply(const struct globals *globals)
{
    struct mx_log_options options = {.level = globals->quiet ? MX_LOG_ERROR : MX_LOG_INFO, .file = globals->log_file};
    if (globals->log_format != NULL && strcmp(globals->log_format, "json") == 0) options.format = MX_LOG_JSON;
    if (globals->log_level != NULL) {
        if (globals->quiet)
            return MX_FAIL(MX_ERR_USAGE, "give one of the two", "'--quiet' and '--log-level' contradict each other");
        const int rc = mx_log_level_parse(globals->log_level, &options.level);
        if (rc < 0) return rc;
    }
    log_now = options;
    return mx_log_configure(&options);
}

/* ---- the line ---- */

#define LINE_MOST (MX_ERROR_HINT_BYTES * 2 / 3)

static struct mx_string lines[2]; /* without and with devices */

const char *mx_command_line(bool devices)
{
    return lines[devices].data;
}

static int lines_keep(const struct mx_command *command, const struct mx_option_group groups[MX_OPTION_GROUPS],
                      struct mx_arguments arguments)
{
    static const char *const without[] = {"dashboard-token", "token",  "data-gpu", "model-gpu",   "data-device",
                                          "model-device",    "device", "backend",  "cpu-devices", NULL};
    static const char *const secret[] = {"dashboard-token", "token", NULL};
    for (int i = 0; i < 2; i++) {
        mx_string_append(&lines[i], "%s", command->page.command);
        const size_t alone = lines[i].length;
        const int rc = mx_options_line(groups, arguments, i == 0 ? without : secret, &lines[i]);
        if (rc < 0) return rc;
        if (lines[i].length > LINE_MOST) lines[i].data[alone] = '\0';
    }
    return 0;
}

/* Parses the arguments of one command and runs it. What was read of the log's options holds for the report of a bad
 * argument too. */
static int command_run(const struct mx_command *command, struct globals *globals, struct mx_arguments arguments)
{
    int rc = 0, used = 0;
    struct mx_option_list operands = {.count = 0};
    void *const values = mx_alloc(1, command->values_bytes);
    const struct mx_option_group groups[MX_OPTION_GROUPS] = {
        {MX_OPTIONS_OWN, command->options, command->option_count, values},
        {MX_OPTIONS_COMMON, global_options, sizeof global_options / sizeof global_options[0], globals}};
    if (values == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    if (command->values != NULL) memcpy(values, command->values, command->values_bytes);
    struct mx_option_page page = command->page;
    page.sister = command_with;
    const int parsed = mx_options_parse(&page, groups, arguments, false, &operands, &used);
    const struct mx_error bad_argument = *mx_error_last();
    MX_TRY(log_apply(globals));
    if (parsed < 0) MX_TRY(mx_error_restore(&bad_argument));
    page.all = globals->help != NULL && strcmp(globals->help, HELP_ALL) == 0;
    if (globals->help != NULL)
        rc = help_print(&page, groups);
    else if (globals->version)
        puts("myxtts " MX_VERSION);
    else {
        MX_TRY(lines_keep(command, groups, arguments));
        rc = command->run(values, &operands);
    }
out:
    for (int i = 0; i < 2; i++) mx_string_release(&lines[i]);
    mx_free(values);
    return rc;
}

/* The page of the command that argv[0] names, or of the program. */
static int help_run(int count, char **argv, const struct mx_option_page *page,
                    const struct mx_option_group groups[MX_OPTION_GROUPS])
{
    struct globals globals = {.help = HELP_USUAL};
    if (count == 0) return help_print(page, groups);
    const struct mx_command *const command = command_find(argv[0]);
    if (count == 2 && strcmp(argv[1], HELP_ALL) == 0) {
        globals.help = HELP_ALL;
        count = 1;
    }
    return command == NULL ? MX_ERR_USAGE : command_run(command, &globals, (struct mx_arguments){count - 1, argv + 1});
}

/* *quietly_wrong: nothing failed, but the exit code is 1: the page was shown because no command was given. */
static int program_run(int count, char **argv, bool *quietly_wrong)
{
    int rc = 0, used = 0;
    struct globals globals = {0};
    const struct mx_option_page page = mx_command_program();
    const struct mx_option_group groups[MX_OPTION_GROUPS] = {
        {MX_OPTIONS_OWN, global_options, sizeof global_options / sizeof global_options[0], &globals}};
    const int parsed = mx_options_parse(&page, groups, (struct mx_arguments){count, argv}, true, NULL, &used);
    const struct mx_error bad_argument = *mx_error_last();
    MX_TRY(log_apply(&globals));
    if (parsed < 0) MX_TRY(mx_error_restore(&bad_argument));
    if (globals.version) {
        puts("myxtts " MX_VERSION);
    } else if (globals.help != NULL || used == count) {
        *quietly_wrong = globals.help == NULL;
        rc = help_print(&page, groups);
    } else if (strcmp(argv[used], "help") == 0) {
        rc = help_run(count - used - 1, argv + used + 1, &page, groups);
    } else {
        const struct mx_command *const command = command_find(argv[used]);
        const struct mx_arguments rest = {count - used - 1, argv + used + 1};
        rc = command == NULL ? MX_ERR_USAGE : command_run(command, &globals, rest);
    }
out:
    return rc;
}

int main(int argc, char **argv)
{
    bool quietly_wrong = false;
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of writing it */
    int rc = argc > 0 ? program_run(argc - 1, argv + 1, &quietly_wrong) : 0;
    /* A full disk shows only when the last bytes are written. */
    if (rc >= 0 && (fflush(stdout) != 0 || ferror(stdout)))
        rc = MX_FAIL(MX_ERR_IO, "check the free space where the output goes", "cannot write the output: %s",
                     strerror(errno));
    if (rc < 0) mx_log_error();
    mx_log_configure(NULL); /* closes the log file */
    return rc >= 0 && quietly_wrong ? 1 : mx_error_exit_code(rc);
}
