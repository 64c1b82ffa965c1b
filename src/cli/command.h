/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A subcommand: its help page, its option table and the function that runs it. One file each, cmd_<name>.c; main.c
 * holds the table of all.
 *
 * Commands print results to stdout and report failures by their return value; main.c prints those and exits.
 */
#ifndef MX_CLI_COMMAND_H
#define MX_CLI_COMMAND_H

#include "base/log.h"
#include "cli/options.h"

struct cJSON;

struct mx_command {
    const char *name;
    struct mx_option_page page;
    const struct mx_option *options;
    size_t option_count;
    size_t values_bytes; /* size of the struct that the options fill */
    const void *values;  /* (optional) what it starts as; NULL: zeros */
    int (*run)(const void *values, const struct mx_option_list *operands);
};

/* The members of a command that say what it does: its table of options, the struct that they fill, its function. */
#define MX_COMMAND_WORK(table, object, function)                                                                       \
    .options = (table), .option_count = sizeof(table) / sizeof((table)[0]), .values_bytes = sizeof(object),            \
    .run = (function)

extern const struct mx_command mx_command_check;
extern const struct mx_command mx_command_completion;
extern const struct mx_command mx_command_config;
extern const struct mx_command mx_command_corpus;
extern const struct mx_command mx_command_devices;
extern const struct mx_command mx_command_eval;
extern const struct mx_command mx_command_features;
extern const struct mx_command mx_command_inspect;
extern const struct mx_command mx_command_monitor;
extern const struct mx_command mx_command_plan;
extern const struct mx_command mx_command_prepare;
extern const struct mx_command mx_command_profile;
extern const struct mx_command mx_command_reference;
extern const struct mx_command mx_command_report;
extern const struct mx_command mx_command_synth;
extern const struct mx_command mx_command_train;
extern const struct mx_command mx_command_validate;
extern const struct mx_command mx_command_vocode;

/* All commands in the order of their names, and the options of all of them, for pages about the program. */
const struct mx_command *const *mx_command_all(size_t *count);
const struct mx_option *mx_command_globals(size_t *count);
/* The page of the program itself. */
struct mx_option_page mx_command_program(void);

/* Writes a report to `path`; NULL or "-": standard output. `failures`: parts of it that could not be made for want of
 * memory. The object stays the caller's. */
int mx_command_json(const struct cJSON *root, int failures, const char *path);

/* The command that runs and its arguments as they were given, quoted for a shell, but for what must not be told (the
 * dashboard's token): how command lines in hints begin. `devices`: with the options that name devices, where the hint
 * does not add its own. Where it would be too long for a hint, the command alone. */
const char *mx_command_line(bool devices);

/* From now on only warnings and errors are shown, unless the user asked for debug messages. A log file gets all. */
int mx_command_log_calm(void);
/* From now on only messages of this level or worse are shown, whatever was asked for, and none are written to a file.
 */
int mx_command_log_only(enum mx_log_level level);

#endif
