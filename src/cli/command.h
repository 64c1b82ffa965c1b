/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A subcommand: its help page, its option table and the function that runs it. Each has its own file, cmd_<name>.c;
 * main.c holds the table of all.
 *
 * Commands print results to stdout and report failures by their return value; main.c prints those and exits.
 */
#ifndef MX_CLI_COMMAND_H
#define MX_CLI_COMMAND_H

#include "base/log.h"
#include "cli/options/options.h"

struct cJSON;

struct mx_command {
    const char *name;
    struct mx_option_page page;
    const struct mx_option *options;
    size_t option_count;
    size_t values_bytes; /* size of the struct that the options fill */
    const void *values;  /* (optional) its initial contents; NULL: zeros */
    int (*run)(const void *values, const struct mx_option_list *operands);
};

/* The members of a command that define its work: its table of options, the struct they fill, its function. */
#define MX_COMMAND_WORK(table, object, function)                                                                       \
    .options = (table), .option_count = sizeof(table) / sizeof((table)[0]), .values_bytes = sizeof(object),            \
    .run = (function)

extern const struct mx_command mx_command_check;
extern const struct mx_command mx_command_completion;
extern const struct mx_command mx_command_config;
extern const struct mx_command mx_command_corpus;
extern const struct mx_command mx_command_devices;
extern const struct mx_command mx_command_eval;
extern const struct mx_command mx_command_export;
extern const struct mx_command mx_command_features;
extern const struct mx_command mx_command_inspect;
extern const struct mx_command mx_command_monitor;
extern const struct mx_command mx_command_plan;
extern const struct mx_command mx_command_prepare;
extern const struct mx_command mx_command_profile;
extern const struct mx_command mx_command_reference;
extern const struct mx_command mx_command_report;
extern const struct mx_command mx_command_serve;
extern const struct mx_command mx_command_synth;
extern const struct mx_command mx_command_train;
extern const struct mx_command mx_command_validate;
extern const struct mx_command mx_command_vocode;
extern const struct mx_command mx_command_voices;

/* All commands in alphabetical order, and the options common to all of them, for pages about the program. */
const struct mx_command *const *mx_command_all(size_t *count);
const struct mx_option *mx_command_globals(size_t *count);
/* The page of the program itself. */
struct mx_option_page mx_command_program(void);

/* Writes a report to `path`; NULL or "-": standard output. `failures`: the number of parts that are missing for lack of
 * memory. The object stays the caller's. */
int mx_command_json(const struct cJSON *root, int failures, const char *path);

/* The running command with its arguments as given, quoted for a shell, except for what must stay secret (the
 * dashboard's token): the beginning of command lines in hints. `devices`: includes the options that name devices, for
 * hints that add none of their own. If it would be too long for a hint, the command alone. */
const char *mx_command_line(bool devices);

/* From now on shows only warnings and errors, unless the user asked for debug messages. A log file gets everything. */
int mx_command_log_calm(void);
/* From now on shows only messages of this level or worse, whatever was asked for, and writes none to a file. */
int mx_command_log_only(enum mx_log_level level);

#endif
