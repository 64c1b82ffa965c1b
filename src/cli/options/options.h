/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Command-line options by table: one table per subcommand parses the arguments and writes the help page.
 *
 * An element of a table is an option of the command itself, or it stands for flags of settings: all flags of one
 * section of mx_settings_schema, or that of one setting. Their name, help, default, range and choices come from the
 * schema. mx_option_next walks a table with every flag spelled out.
 *
 * Long options must be written in full (an abbreviation is refused, with the full name in the hint), as "--name value"
 * or "--name=value"; letters as "-n value" or "-nvalue"; "--" ends the options. An option whose value is optional takes
 * the next argument unless that begins with a dash; one with choices only if it is one of them. Options and
 * operands may be mixed. A repeated option overrides the earlier one, except lists, which collect. Any mistake is
 * MX_ERR_USAGE with a hint.
 *
 * Memory: string values point into argv. Lists, operands and flags of settings are arrays inside the caller's own
 * struct; nothing allocated by parsing outlives it.
 */
#ifndef MX_CLI_OPTIONS_H
#define MX_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/catalogue.h"
#include "base/string.h"
#include "cli/options/legacy_flags.h"
#include "run/settings.h"

enum mx_option_type {
    MX_OPTION_TYPE_FLAG,   /* bool: takes no value, becomes true */
    MX_OPTION_TYPE_INT,    /* int64_t within min … max */
    MX_OPTION_TYPE_STRING, /* const char * */
    MX_OPTION_TYPE_CHOICE, /* const char *, one of choices */
    MX_OPTION_TYPE_LIST,   /* struct mx_option_list: may be repeated */
    MX_OPTION_TYPE_SETTING /* struct mx_option_settings: one setting or, in a table, all flags of a section */
};

#define MX_OPTION_LIST_MAX 4096

struct mx_option_list {
    const char *items[MX_OPTION_LIST_MAX];
    size_t count;
};

/* Flags of settings that were given, in the order of the command line, each once with its last value. The values are in
 * the form that the schema takes, and checked. setting_flags.h applies them. */
#define MX_OPTION_SETTINGS_MAX 96

struct mx_option_settings {
    struct {
        const struct mx_config_section *section;
        const struct mx_config_field *field;
        const char *text;
    } items[MX_OPTION_SETTINGS_MAX];
    size_t count;
};

struct mx_option {
    const char *name;   /* without the dashes */
    const char *former; /* (optional) a name that it had before: it works, with a warning */
    char letter;        /* 0: none */
    enum mx_option_type type;
    size_t offset;        /* in the struct that the table fills */
    const char *value;    /* "N", "FILE"; NULL for flags */
    const char *fallback; /* the default in words, for the help page; NULL: none. The caller sets the actual value */
    int64_t min, max;     /* INT */
    const char *const *choices; /* CHOICE, NULL-terminated */
    const char *implied;        /* STRING, CHOICE: the value if none is given; NULL: a value is required */
    const char *help;
    /* SETTING: "training" or "training.batch_size" in a table; help and fallback, if given, replace those of the
     * schema. The walk fills in the next two. */
    const char *setting;
    const struct mx_config_section *section;
    const struct mx_config_field *field;
};

/* The members of an option, to be put in braces: {MX_OPTION_INT(...), .letter = 'n'}. A wrong type does not compile. */
#define MX_OPTION_BASE(object, member, label, kind, ctype, sentence)                                                   \
    .name = (label), .type = (kind), .help = (sentence),                                                               \
    .offset = _Generic(&((object *)0)->member, ctype                                                                   \
                       : offsetof(object, member))
#define MX_OPTION_FLAG(object, member, label, sentence)                                                                \
    MX_OPTION_BASE(object, member, label, MX_OPTION_TYPE_FLAG, bool *, sentence)
#define MX_OPTION_INT(object, member, label, what, least, most, text, sentence)                                        \
    MX_OPTION_BASE(object, member, label, MX_OPTION_TYPE_INT, int64_t *, sentence), .value = (what), .min = (least),   \
                                                                                    .max = (most), .fallback = (text)
#define MX_OPTION_STRING(object, member, label, what, text, sentence)                                                  \
    MX_OPTION_BASE(object, member, label, MX_OPTION_TYPE_STRING, const char **, sentence), .value = (what),            \
                                                                                           .fallback = (text)
#define MX_OPTION_CHOICE(object, member, label, what, table, text, sentence)                                           \
    MX_OPTION_BASE(object, member, label, MX_OPTION_TYPE_CHOICE, const char **, sentence),                             \
        .value = (what), .choices = (table), .fallback = (text)
#define MX_OPTION_LIST(object, member, label, what, sentence)                                                          \
    MX_OPTION_BASE(object, member, label, MX_OPTION_TYPE_LIST, struct mx_option_list *, sentence), .value = (what)

/* `key` is a section or a setting, written as a member of struct mx_settings: MX_OPTION_SETTING(struct values, flags,
 * training.batch_size). */
#define MX_OPTION_SETTING(object, member, key)                                                                         \
    .type = MX_OPTION_TYPE_SETTING, .setting = sizeof(((struct mx_settings *)0)->key) > 0 ? #key : NULL,               \
    .offset = _Generic(&((object *)0)->member, struct mx_option_settings *                                             \
                       : offsetof(object, member))

/* A table and the struct that it fills. */
struct mx_option_group {
    const char *title; /* MX_OPTIONS_OWN */
    const struct mx_option *options;
    size_t count;
    void *target;
};

#define MX_OPTIONS_OWN    "Options"
#define MX_OPTIONS_COMMON "Options of all commands"
#define MX_OPTION_GROUPS  2 /* a command's own options, then those of the whole program */

struct mx_example {
    const char *command;
    const char *effect;
};

struct mx_option_heading; /* headings.h */

/* The contents of a command's help page apart from its options. */
struct mx_option_page {
    const char *command;               /* "myxtts devices" */
    const char *operands;              /* "[DEVICE...]"; NULL: takes none */
    size_t operand_max;                /* at most MX_OPTION_LIST_MAX */
    const char *summary;               /* one line */
    const char *description;           /* paragraphs separated by '\n' */
    const struct mx_example *commands; /* the program's own page: its subcommands, each with its summary */
    size_t command_count;
    const struct mx_example *examples;
    size_t example_count;
    const struct mx_option_heading *headings; /* (optional) of its options, see headings.h */
    bool all;                                 /* help shows every option, not only those of the first heading */
    const struct mx_legacy *former;           /* (optional) flags of earlier programs, with what to write instead */
    const char *(*sister)(const char *name);  /* (optional) another command that has an option of this name, or NULL */
};

/* The members of a page that are its table of examples. */
#define MX_PAGE_EXAMPLES(table) .examples = (table), .example_count = sizeof(table) / sizeof((table)[0])

/* A walk over a table; begins as {options, count}. */
struct mx_option_walk {
    const struct mx_option *options;
    size_t count;
    size_t at, field; /* the next element, and the next field of its section */
};

/* The next option of a table, flags of settings spelled out; false at the end. */
bool mx_option_next(struct mx_option_walk *walk, struct mx_option *out);
/* Finds an option by its name, not by a former one, in a table that need not be that of the running command. */
bool mx_option_find(const struct mx_option *options, size_t count, const char *name, struct mx_option *out);
/* Does it require or accept a value? */
bool mx_option_takes_value(const struct mx_option *option);
/* The name of choice number 0, 1, …; NULL: there are no more. */
const char *mx_option_choice(const struct mx_option *option, size_t number);

/* Arguments of the command line: argv[0 … count). */
struct mx_arguments {
    int count;
    char *const *argv;
};

/* Parses the arguments. With `stop_at_operand` the first operand ends the parse. *used gets the number of arguments
 * consumed (also on failure: up to the bad one). `operands` may be NULL if the page takes none. */
int mx_options_parse(const struct mx_option_page *page, const struct mx_option_group groups[MX_OPTION_GROUPS],
                     struct mx_arguments arguments, bool stop_at_operand, struct mx_option_list *operands, int *used);

/* Appends what an option does, with its range or choices and whether it may be repeated, but without its default. The
 * help of a setting names other settings ("training.batch_size"); those that have a flag are named by the flag here. */
int mx_option_words(const struct mx_option *option, enum mx_words language, struct mx_string *out);
/* Is this default a description ("the best available device") rather than a value the user could type ("0.4")? */
bool mx_option_fallback_is_words(const char *fallback);
/* The texts of help pages that are in no table, for the catalogue; NULL-terminated. */
extern const char *const mx_option_phrases[];
/* Appends the arguments as given, each after a space and quoted for a shell, without the options in `without`
 * (NULL-terminated names) and their values. The arguments must have been parsed without error. */
int mx_options_line(const struct mx_option_group groups[MX_OPTION_GROUPS], struct mx_arguments arguments,
                    const char *const *without, struct mx_string *out);
/* Appends the help page: summary, usage, description, options with ranges, choices and defaults, examples. */
int mx_options_help(const struct mx_option_page *page, const struct mx_option_group groups[MX_OPTION_GROUPS],
                    enum mx_words language, struct mx_string *out);

#endif
