/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Configuration: YAML bound to typed C structs by const tables.
 *
 * A schema is an array of sections; a section is an array of fields and the place of its struct in a root struct; a
 * field has a key, a type, a range or choices, a default, a unit, a sentence of help and optionally a flag. Nothing
 * else describes the configuration: defaults, checks, `--set`, flags, the commented file that is written back and the
 * reference pages all come from the same tables.
 *
 *     struct train { int64_t batch_size; double learning_rate; };
 *     struct root { struct train train; };
 *     static const struct mx_config_field train_fields[] = {
 *         MX_CONFIG_INT(struct train, batch_size, 1, 4096, "32", "utterances", "Utterances in one step."),
 *         MX_CONFIG_DOUBLE(struct train, learning_rate, 0, 1, "1e-4", NULL, "Peak learning rate."),
 *     };
 *
 * The file is a subset of YAML 1.2: one document, a mapping of sections, each a mapping of keys to single values,
 * UTF-8, at most 1 MiB, no anchors, aliases or tags. An empty file or section means its defaults. Numbers are those of
 * the core schema (string.h); booleans are true and false. Any other text is MX_ERR_CONFIG with file, line and a hint.
 *
 * Memory: the caller owns the root struct. MX_CONFIG_TEXT fields own their string (never NULL after
 * mx_config_defaults); mx_config_release frees them. After a failed load or set the root still holds valid values, but
 * some may already have changed. One root must not be used by several threads at once; schemas are const and may be
 * shared.
 */
#ifndef MX_BASE_CONFIG_H
#define MX_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/catalogue.h"

#define MX_CONFIG_FILE_LIMIT_BYTES ((size_t)1 << 20)

enum mx_config_type {
    MX_CONFIG_TYPE_BOOL,   /* bool */
    MX_CONFIG_TYPE_INT,    /* int64_t */
    MX_CONFIG_TYPE_DOUBLE, /* double */
    MX_CONFIG_TYPE_STRING, /* char[size], zero-terminated */
    MX_CONFIG_TYPE_TEXT,   /* char *, owned */
    MX_CONFIG_TYPE_ENUM,   /* an enum or int: the value of one of the choices */
};

struct mx_config_choice {
    const char *name; /* NULL ends the table */
    int value;
    const char *help; /* may be NULL */
};

struct mx_config_field {
    const char *key;
    enum mx_config_type type;
    size_t offset;                          /* in the section's struct */
    size_t size;                            /* of the member */
    int64_t int_min, int_max;               /* TYPE_INT, both inclusive */
    double double_min, double_max;          /* TYPE_DOUBLE, both inclusive; a range refuses nan and inf */
    bool ranged;                            /* TYPE_DOUBLE: whether the range applies */
    const struct mx_config_choice *choices; /* TYPE_ENUM */
    const char *fallback;                   /* the default, as the user would write it */
    const char *meaning;                    /* what the default means, for help: "no limit"; NULL: obvious */
    const char *unit;                       /* "MB"; NULL: none */
    const char *help;                       /* a sentence or two */
    const char *const *aliases;             /* former names, NULL-terminated: "key" in this section, or "section.key" */
    /* The field on the command line. */
    const char *flag;    /* without the dashes, "batch-size"; NULL: it has none */
    const char *value;   /* the word for the flag's value in help, "N"; NULL: a bool that takes none and becomes true. A
                          * bool that has this word takes on or off */
    const char *implied; /* the value if the flag stands alone; NULL: it needs one */
};

struct mx_config_section {
    const char *name;
    const char *help;
    const struct mx_config_field *fields;
    size_t count;
    size_t offset; /* of the section's struct in the root struct */
};

/* A name that sets nothing but gets an answer, because this program always does what it asks for, or never does. The
 * value that asks for the fixed behaviour is accepted and logged as having no effect; any other value is refused with
 * the reason. A field of the same name takes precedence. */
struct mx_config_answer {
    const char *name;     /* "section.key", or "key" in any section */
    const char *accepted; /* the value that changes nothing, such as "true"; NULL: there is none */
    const char *reason;   /* a sentence without a full stop that fits both cases: "batches are always …" */
};

struct mx_config_schema {
    const char *title; /* first comment of written files */
    const struct mx_config_section *sections;
    size_t count;
    const struct mx_config_answer *answers; /* may be NULL */
    size_t answer_count;
};

/* The members of a field, to be put in braces: {MX_CONFIG_INT(...), .aliases = old_names}. A struct member whose type
 * does not match the macro does not compile. */
#define MX_CONFIG_BASE(object, member, kind, ctype, text, measure, sentence)                                           \
    .key = #member, .type = (kind), .size = sizeof(((object *)0)->member), .fallback = (text), .unit = (measure),      \
    .help = (sentence),                                                                                                \
    .offset = _Generic(&((object *)0)->member, ctype                                                                   \
                       : offsetof(object, member))
#define MX_CONFIG_BOOL(object, member, text, sentence)                                                                 \
    MX_CONFIG_BASE(object, member, MX_CONFIG_TYPE_BOOL, bool *, text, NULL, sentence)
#define MX_CONFIG_INT(object, member, least, most, text, measure, sentence)                                            \
    MX_CONFIG_BASE(object, member, MX_CONFIG_TYPE_INT, int64_t *, text, measure, sentence), .int_min = (least),        \
                                                                                            .int_max = (most)
#define MX_CONFIG_DOUBLE(object, member, least, most, text, measure, sentence)                                         \
    MX_CONFIG_BASE(object, member, MX_CONFIG_TYPE_DOUBLE, double *, text, measure, sentence),                          \
        .ranged = true, .double_min = (least), .double_max = (most)
#define MX_CONFIG_DOUBLE_ANY(object, member, text, measure, sentence)                                                  \
    MX_CONFIG_BASE(object, member, MX_CONFIG_TYPE_DOUBLE, double *, text, measure, sentence)
#define MX_CONFIG_STRING(object, member, text, sentence)                                                               \
    MX_CONFIG_BASE(object, member, MX_CONFIG_TYPE_STRING, char(*)[sizeof(((object *)0)->member)], text, NULL, sentence)
#define MX_CONFIG_TEXT(object, member, text, sentence)                                                                 \
    MX_CONFIG_BASE(object, member, MX_CONFIG_TYPE_TEXT, char **, text, NULL, sentence)
/* `etype` is the member's own type, such as enum mx_log_level. */
#define MX_CONFIG_ENUM(object, member, etype, table, text, sentence)                                                   \
    MX_CONFIG_BASE(object, member, MX_CONFIG_TYPE_ENUM, etype *, text, NULL, sentence), .choices = (table)

/* Sets every field to its default. `root` may be uninitialised memory: its old contents are ignored. A default that its
 * own field refuses is MX_ERR_INTERNAL; then nothing needs releasing. */
int mx_config_defaults(const struct mx_config_schema *schema, void *root);

/* Reads a file and overrides the current values with it. MX_ERR_NOT_FOUND or MX_ERR_IO if it cannot be read. */
int mx_config_load(const struct mx_config_schema *schema, void *root, const char *path);
/* The same from memory; `source` stands for the file name in messages. */
int mx_config_load_text(const struct mx_config_schema *schema, void *root, const char *source, const char *text,
                        size_t length);
/* One override "section.key=value", as given to --set. Text values are taken literally, quotes included. */
int mx_config_set(const struct mx_config_schema *schema, void *root, const char *assignment);
/* The value of the field's flag. Errors are MX_ERR_USAGE and name the flag. `root` NULL: only checks the value. */
int mx_config_set_flag(const struct mx_config_section *section, const struct mx_config_field *field, void *root,
                       const char *text);

/* The resolved configuration as commented YAML; reading it back gives the same values bit for bit. The caller frees
 * with mx_free; NULL on failure, for example when a string is not UTF-8. */
char *mx_config_format(const struct mx_config_schema *schema, const void *root);
/* The same with comments in this language. */
char *mx_config_format_in(const struct mx_config_schema *schema, const void *root, enum mx_words language);
/* Writes it in English to a file, atomically (see mx_file_write_atomic). */
int mx_config_write(const struct mx_config_schema *schema, const void *root, const char *path);

void mx_config_release(const struct mx_config_schema *schema, void *root); /* the root may then get defaults again */

/* ---- walking the schema, for reference pages and help ---- */
/* Calls visit for every field in order, until one returns non-zero; returns that, or 0. */
int mx_config_each(const struct mx_config_schema *schema,
                   int (*visit)(void *context, const struct mx_config_section *section,
                                const struct mx_config_field *field),
                   void *context);
/* The field that "section.key" names (former names too), or NULL. `section` may be NULL. */
const struct mx_config_field *mx_config_find(const struct mx_config_schema *schema, const char *name,
                                             const struct mx_config_section **section);
/* Appends a description of the values that the field takes: "a whole number from 1 to 64", "one of: fp32, bf16", "true
 * or false". */
int mx_config_expects(const struct mx_config_field *field, enum mx_words language, struct mx_string *out);
/* The phrases that descriptions of settings use in addition to the texts of the tables, for the catalogue; NULL-terminated. */
extern const char *const mx_config_phrases[];

#endif
