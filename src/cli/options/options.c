/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Command-line options by table, see options.h. Owns no memory.
 */
#include "cli/options/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cli/headings.h"
#include "myxtts/error.h"

#define HELP_COLUMNS 96
#define HELP_INDENT  "                           " /* where the text of an option begins */
#define QUOTED_BYTES 96

/* ---- tables ---- */

/* What the help says about the default of a setting's flag: nothing where there is none, or where the flag takes no
 * value and so changes it. */
static const char *default_of(const struct mx_config_field *field)
{
    if (field->meaning != NULL) return field->meaning;
    if (field->type != MX_CONFIG_TYPE_BOOL) return field->fallback[0] == '\0' ? NULL : field->fallback;
    if (field->value == NULL) return NULL;
    return strcmp(field->fallback, "true") == 0 ? "on" : "off";
}

static void flag_spell(const struct mx_option *element, const struct mx_config_section *section,
                       const struct mx_config_field *field, struct mx_option *out)
{
    *out = *element;
    out->name = field->flag;
    out->value = field->value;
    out->implied = field->implied;
    if (out->help == NULL) out->help = field->help;
    if (out->fallback == NULL) out->fallback = default_of(field);
    out->section = section;
    out->field = field;
}

/* The section or the section and key that an element names. */
static bool element_names(const struct mx_option *element, const struct mx_config_section *section,
                          const struct mx_config_field *field)
{
    const size_t length = strlen(section->name);
    if (strncmp(element->setting, section->name, length) != 0) return false;
    const char *const rest = element->setting + length;
    return rest[0] == '\0' || (rest[0] == '.' && strcmp(rest + 1, field->key) == 0);
}

/* The next flag that the element at walk->at stands for. */
static bool flag_next(struct mx_option_walk *walk, struct mx_option *out)
{
    size_t number = 0;
    for (size_t s = 0; s < mx_settings_schema.count; s++) {
        const struct mx_config_section *const section = &mx_settings_schema.sections[s];
        for (size_t f = 0; f < section->count; f++, number++) {
            const struct mx_config_field *const field = &section->fields[f];
            if (number < walk->field || field->flag == NULL) continue;
            if (!element_names(&walk->options[walk->at], section, field)) continue;
            flag_spell(&walk->options[walk->at], section, field, out);
            walk->field = number + 1;
            return true;
        }
    }
    return false;
}

bool mx_option_next(struct mx_option_walk *walk, struct mx_option *out)
{
    for (; walk->at < walk->count; walk->at++, walk->field = 0) {
        if (walk->options[walk->at].type != MX_OPTION_TYPE_SETTING) {
            *out = walk->options[walk->at++];
            return true;
        }
        if (flag_next(walk, out)) return true;
    }
    return false;
}

bool mx_option_takes_value(const struct mx_option *option)
{
    return option->type == MX_OPTION_TYPE_SETTING ? option->value != NULL : option->type != MX_OPTION_TYPE_FLAG;
}

const char *mx_option_choice(const struct mx_option *option, size_t number)
{
    static const char *const switches[] = {"on", "off", NULL};
    const struct mx_config_field *const field = option->field;
    if (field == NULL) return option->choices == NULL ? NULL : option->choices[number];
    if (field->type == MX_CONFIG_TYPE_BOOL) return option->value == NULL ? NULL : switches[number];
    return field->type == MX_CONFIG_TYPE_ENUM ? field->choices[number].name : NULL;
}

/* ---- parsing ---- */

struct parse {
    const struct mx_option_page *page;
    const struct mx_option_group *groups;
    struct mx_arguments arguments;
    int at; /* the next of them */
};

static bool is_named(const char *option, const char *name, size_t length)
{
    return option != NULL && strlen(option) == length && strncmp(option, name, length) == 0;
}

bool mx_option_find(const struct mx_option *options, size_t count, const char *name, struct mx_option *out)
{
    struct mx_option_walk walk = {options, count, 0, 0};
    while (mx_option_next(&walk, out))
        if (strcmp(out->name, name) == 0) return true;
    return false;
}

static bool option_by_name(const struct parse *p, const char *name, size_t length, struct mx_option *out, void **target)
{
    for (int g = 0; g < MX_OPTION_GROUPS; g++) {
        struct mx_option_walk walk = {p->groups[g].options, p->groups[g].count, 0, 0};
        while (mx_option_next(&walk, out))
            if (is_named(out->name, name, length) || is_named(out->former, name, length)) {
                *target = (char *)p->groups[g].target + out->offset;
                return true;
            }
    }
    return false;
}

static bool option_by_letter(const struct parse *p, char letter, struct mx_option *out, void **target)
{
    for (int g = 0; g < MX_OPTION_GROUPS; g++) {
        struct mx_option_walk walk = {p->groups[g].options, p->groups[g].count, 0, 0};
        while (mx_option_next(&walk, out))
            if (letter != '\0' && out->letter == letter) {
                *target = (char *)p->groups[g].target + out->offset;
                return true;
            }
    }
    return false;
}

/* Is `name` this setting's key, alone or after its section, with dashes: "tokens", "vocoder-size"? */
static bool is_setting(const char *name, const struct mx_config_section *section, const struct mx_config_field *field)
{
    char spelled[128];
    snprintf(spelled, sizeof spelled, "%s-%s", section->name, field->key);
    for (char *at = spelled; *at != '\0'; at++)
        if (*at == '_') *at = '-';
    return strcmp(name, spelled) == 0 || strcmp(name, spelled + strlen(section->name) + 1) == 0;
}

/* The hint for a flag that is a setting without one, where the command takes settings; false: it is not. */
static bool setting_hint(const struct parse *p, const char *name)
{
    struct mx_option option;
    void *target;
    if (!option_by_name(p, "set", strlen("set"), &option, &target)) return false;
    for (size_t s = 0; s < mx_settings_schema.count; s++) {
        const struct mx_config_section *const section = &mx_settings_schema.sections[s];
        for (size_t f = 0; f < section->count; f++) {
            if (!is_setting(name, section, &section->fields[f])) continue;
            mx_error_hint("it is a setting: write '--set %s.%s=VALUE'", section->name, section->fields[f].key);
            return true;
        }
    }
    return false;
}

/* Flags that commands had in earlier versions. */
static const struct mx_legacy removed[] = {
    {"opencl-split", "leave it out: OpenCL devices are used whole; '--cpu-devices N' splits the CPU"},
    {NULL, NULL},
};

static int unknown_fail(const struct parse *p, const char *argument)
{
    char quoted[QUOTED_BYTES], word[64];
    struct mx_string_nearest nearest;
    /* Without the dashes and the value, which are not what was mistyped. */
    const char *const name = argument + strspn(argument, "-");
    const size_t length = strcspn(name, "=");
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), name);
    mx_string_nearest_start(&nearest, word);
    for (int g = 0; g < MX_OPTION_GROUPS; g++) {
        struct mx_option option;
        struct mx_option_walk walk = {p->groups[g].options, p->groups[g].count, 0, 0};
        while (mx_option_next(&walk, &option)) mx_string_nearest_offer(&nearest, option.name);
    }
    MX_FAIL(MX_ERR_USAGE, NULL, "unknown option %s", mx_string_quote(quoted, sizeof quoted, argument));
    const char *instead = mx_legacy_find(p->page->former, word);
    if (instead == NULL) instead = mx_legacy_find(removed, word);
    if (instead != NULL) return mx_error_hint("%s", instead);
    if (setting_hint(p, word)) return MX_ERR_USAGE;
    const char *const sister = p->page->sister != NULL ? p->page->sister(word) : NULL;
    if (sister != NULL)
        return mx_error_hint("'--%s' is an option of '%s'; '%s --help' lists those of this command", word, sister,
                             p->page->command);
    if (mx_string_nearest_best(&nearest) != NULL)
        return mx_error_hint("did you mean '--%s'? '%s --help' lists all options", mx_string_nearest_best(&nearest),
                             p->page->command);
    return mx_error_hint("'%s --help' lists all options", p->page->command);
}

static int int_store(const struct mx_option *option, const char *text, int64_t *out)
{
    char quoted[QUOTED_BYTES];
    int64_t value = 0;
    const enum mx_string_number result = mx_string_parse_int64(text, &value);
    if (result == MX_STRING_SYNTAX)
        MX_FAIL(MX_ERR_USAGE, NULL, "option '--%s' is %s, which is not a whole number", option->name,
                mx_string_quote(quoted, sizeof quoted, text));
    else if (result == MX_STRING_TOO_BIG || value < option->min || value > option->max)
        MX_FAIL(MX_ERR_USAGE, NULL, "option '--%s' is %s, which is out of range", option->name,
                mx_string_quote(quoted, sizeof quoted, text));
    else {
        *out = value;
        return 0;
    }
    return mx_error_hint("give a whole number from %" PRId64 " to %" PRId64, option->min, option->max);
}

/* "red, green, blue", as far as there is room; empty if the option has no choices. */
static void choices_join(const struct mx_option *option, char *out, size_t size)
{
    const char *choice;
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; used < size && (choice = mx_option_choice(option, i)) != NULL; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "", choice);
}

static int choice_check(const struct mx_option *option, const char *text)
{
    char quoted[QUOTED_BYTES], names[200];
    const char *choice;
    struct mx_string_nearest nearest;
    mx_string_nearest_start(&nearest, text);
    for (size_t i = 0; (choice = mx_option_choice(option, i)) != NULL; i++) {
        if (strcmp(choice, text) == 0) return 0;
        mx_string_nearest_offer(&nearest, choice);
    }
    choices_join(option, names, sizeof names);
    MX_FAIL(MX_ERR_USAGE, NULL, "option '--%s' is %s, which is not one of its choices", option->name,
            mx_string_quote(quoted, sizeof quoted, text));
    if (mx_string_nearest_best(&nearest) != NULL)
        return mx_error_hint("did you mean '%s'? choices: %s", mx_string_nearest_best(&nearest), names);
    return mx_error_hint("choices: %s", names);
}

static int list_add(const char *what, const char *text, struct mx_option_list *list)
{
    if (list->count == MX_OPTION_LIST_MAX)
        return MX_FAIL(MX_ERR_USAGE, "give fewer of them", "%s is given more than %d times", what, MX_OPTION_LIST_MAX);
    list->items[list->count++] = text;
    return 0;
}

static int setting_store(const struct mx_option *option, const char *text, struct mx_option_settings *out)
{
    int rc = 0;
    size_t at = 0;
    if (!mx_option_takes_value(option)) text = "true";
    if (mx_option_choice(option, 0) != NULL) MX_TRY(choice_check(option, text));
    if (option->field->type == MX_CONFIG_TYPE_BOOL && option->value != NULL)
        text = strcmp(text, "on") == 0 ? "true" : "false";
    MX_TRY(mx_config_set_flag(option->section, option->field, NULL, text));
    while (at < out->count && out->items[at].field != option->field) at++;
    for (; at + 1 < out->count; at++) out->items[at] = out->items[at + 1]; /* the last one counts, at its place */
    if (at == MX_OPTION_SETTINGS_MAX)
        MX_RAISE(MX_ERR_INTERNAL, "this is a mistake in the program: please report it",
                 "there are more than %d flags of settings", MX_OPTION_SETTINGS_MAX);
    out->items[at].section = option->section;
    out->items[at].field = option->field;
    out->items[at].text = text;
    if (at == out->count) out->count++;
out:
    return rc;
}

static int value_store(const struct mx_option *option, const char *text, void *target)
{
    int rc;
    char what[QUOTED_BYTES];
    switch (option->type) {
    case MX_OPTION_TYPE_FLAG:
        *(bool *)target = true;
        return 0;
    case MX_OPTION_TYPE_INT:
        return int_store(option, text, target);
    case MX_OPTION_TYPE_STRING:
        *(const char **)target = text;
        return 0;
    case MX_OPTION_TYPE_CHOICE:
        rc = choice_check(option, text);
        if (rc == 0) *(const char **)target = text;
        return rc;
    case MX_OPTION_TYPE_SETTING:
        return setting_store(option, text, target);
    case MX_OPTION_TYPE_LIST:
        snprintf(what, sizeof what, "option '--%s'", option->name);
        break;
    }
    return list_add(what, text, target);
}

/* Is the argument after p->at not the value of this option, whose value is optional? */
static bool value_left_out(const struct parse *p, const struct mx_option *option)
{
    const char *choice;
    if (option->implied == NULL) return false;
    if (p->at + 1 >= p->arguments.count || p->arguments.argv[p->at + 1][0] == '-') return true;
    if (option->type != MX_OPTION_TYPE_CHOICE) return false;
    for (size_t i = 0; (choice = mx_option_choice(option, i)) != NULL; i++)
        if (strcmp(choice, p->arguments.argv[p->at + 1]) == 0) return false;
    return true;
}

/* The option at p->at; p->at moves past it and its value on success. */
static int option_parse(struct parse *p)
{
    char quoted[QUOTED_BYTES];
    const char *const argument = p->arguments.argv[p->at], *value = NULL;
    void *target = NULL;
    bool known;
    struct mx_option option;
    const bool is_long = argument[1] == '-';
    if (is_long) {
        const size_t length = strcspn(argument + 2, "=");
        known = option_by_name(p, argument + 2, length, &option, &target);
        if (argument[2 + length] == '=') value = argument + 2 + length + 1;
    } else {
        known = option_by_letter(p, argument[1], &option, &target);
        if (argument[2] != '\0') value = argument + 2;
    }
    if (!known) return unknown_fail(p, argument);
    if (is_long && is_named(option.former, argument + 2, strcspn(argument + 2, "=")))
        mx_warn("'--%s' is a former name, write '--%s'", option.former, option.name);
    if (!mx_option_takes_value(&option)) {
        if (value != NULL)
            return MX_FAIL(MX_ERR_USAGE,
                           is_long ? "write the option alone" : "write each letter with a dash of its own",
                           "option '--%s' takes no value, but %s gives one", option.name,
                           mx_string_quote(quoted, sizeof quoted, argument));
    } else if (value == NULL && value_left_out(p, &option)) {
        value = option.implied;
    } else if (value == NULL) {
        /* "--config --json" is a forgotten value; a value that really begins with dashes is written after '='. */
        if (p->at + 1 >= p->arguments.count || strncmp(p->arguments.argv[p->at + 1], "--", 2) == 0) {
            MX_FAIL(MX_ERR_USAGE, NULL, "option '--%s' needs a value", option.name);
            return mx_error_hint("write '--%s %s'", option.name, option.value);
        }
        value = p->arguments.argv[++p->at];
    }
    p->at++;
    return value_store(&option, value, target);
}

static int operand_add(const struct parse *p, const char *text, struct mx_option_list *operands)
{
    char quoted[QUOTED_BYTES];
    mx_string_quote(quoted, sizeof quoted, text);
    if (operands != NULL && operands->count < p->page->operand_max) return list_add("an operand", text, operands);
    if (p->page->operand_max == 0)
        MX_FAIL(MX_ERR_USAGE, NULL, "'%s' takes no argument, but %s is given", p->page->command, quoted);
    else
        MX_FAIL(MX_ERR_USAGE, NULL, "'%s' takes at most %zu arguments, and %s is one more", p->page->command,
                p->page->operand_max, quoted);
    return mx_error_hint("see '%s --help'", p->page->command);
}

int mx_options_parse(const struct mx_option_page *page, const struct mx_option_group groups[MX_OPTION_GROUPS],
                     struct mx_arguments arguments, bool stop_at_operand, struct mx_option_list *operands, int *used)
{
    int rc = 0;
    bool options_ended = false;
    struct parse p = {page, groups, arguments, 0};
    while (p.at < arguments.count) {
        const char *const argument = arguments.argv[p.at];
        if (!options_ended && strcmp(argument, "--") == 0) {
            options_ended = true;
            p.at++;
        } else if (!options_ended && argument[0] == '-' && argument[1] != '\0') {
            MX_TRY(option_parse(&p));
        } else {
            if (stop_at_operand) break;
            MX_TRY(operand_add(&p, argument, operands));
            p.at++;
        }
    }
out:
    *used = p.at;
    return rc;
}

/* ---- the line again ---- */

/* How many arguments the option at p->at has: itself, and its value where that stands alone. */
static int arguments_of(const struct parse *p, struct mx_option *option)
{
    void *target;
    const char *const argument = p->arguments.argv[p->at];
    const bool is_long = argument[1] == '-';
    const size_t length = is_long ? strcspn(argument + 2, "=") : 0;
    const bool known = is_long ? option_by_name(p, argument + 2, length, option, &target)
                               : option_by_letter(p, argument[1], option, &target);
    if (!known || !mx_option_takes_value(option)) return 1;
    if (is_long ? argument[2 + length] == '=' : argument[2] != '\0') return 1;
    const bool last = p->at + 1 >= p->arguments.count;
    return last || value_left_out(p, option) ? 1 : 2;
}

int mx_options_line(const struct mx_option_group groups[MX_OPTION_GROUPS], struct mx_arguments arguments,
                    const char *const *without, struct mx_string *out)
{
    bool ended = false;
    struct parse p = {NULL, groups, arguments, 0};
    while (p.at < arguments.count) {
        struct mx_option option = {.name = ""};
        int more = 1;
        bool left_out = false;
        if (!ended && strcmp(arguments.argv[p.at], "--") == 0)
            ended = true;
        else if (!ended && arguments.argv[p.at][0] == '-' && arguments.argv[p.at][1] != '\0')
            more = arguments_of(&p, &option);
        for (const char *const *name = without; *name != NULL; name++)
            left_out = left_out || strcmp(option.name, *name) == 0;
        for (; more > 0; more--, p.at++) {
            if (left_out) continue;
            mx_string_append(out, " ");
            mx_string_append_shell(out, arguments.argv[p.at]);
        }
    }
    return out->failure;
}

/* ---- help ---- */

enum phrase { AT_LEAST, FROM_TO, FROM_TO_OF, ONE_OF, REPEATED, DEFAULT, USAGE, COMMANDS, EXAMPLES, MORE };

const char *const mx_option_phrases[] = {
    [AT_LEAST] = "At least {0}.",
    [FROM_TO] = "From {0} to {1}.",
    [FROM_TO_OF] = "From {0} to {1} {2}.",
    [ONE_OF] = "One of: {0}.",
    [REPEATED] = "May be repeated.",
    [DEFAULT] = "Default: {0}.",
    [USAGE] = "Usage:",
    [COMMANDS] = "Commands:",
    [EXAMPLES] = "Examples:",
    [MORE] = "'{0} --help all' shows all {1} options.",
    MX_OPTIONS_OWN,
    MX_OPTIONS_COMMON,
    NULL,
};

static int phrase_append(struct mx_string *out, enum mx_words language, enum phrase phrase, const char *first,
                         const char *second)
{
    mx_string_append(out, " ");
    return mx_catalogue_format(out, language, mx_option_phrases[phrase], (const char *const[]){first, second});
}

/* "From 1 to 64 steps."; `unit` may be NULL. */
static void range_append(struct mx_string *out, enum mx_words language, const char *least, const char *most,
                         const char *unit)
{
    const char *const values[] = {least, most, unit == NULL ? NULL : mx_catalogue_find(language, unit)};
    mx_string_append(out, " ");
    mx_catalogue_format(out, language, mx_option_phrases[unit == NULL ? FROM_TO : FROM_TO_OF], values);
}

static void ints_append(struct mx_string *out, enum mx_words language, int64_t min, int64_t max, const char *unit)
{
    char least[24], most[24];
    snprintf(least, sizeof least, "%" PRId64, min);
    snprintf(most, sizeof most, "%" PRId64, max);
    if (max == INT64_MAX)
        phrase_append(out, language, AT_LEAST, least, NULL);
    else
        range_append(out, language, least, most, unit);
}

/* What the schema has in addition to the help: what the choices mean, and the range. */
static void setting_append(struct mx_string *out, enum mx_words language, const struct mx_config_field *field)
{
    char least[24], most[24];
    for (const struct mx_config_choice *c = field->choices; c != NULL && c->name != NULL; c++)
        if (c->help != NULL)
            mx_string_append(out, language == MX_WORDS_PERSIAN ? " `%s`: %s." : " %s: %s.", c->name,
                             mx_catalogue_find(language, c->help));
    if (field->type == MX_CONFIG_TYPE_INT) ints_append(out, language, field->int_min, field->int_max, field->unit);
    if (field->type != MX_CONFIG_TYPE_DOUBLE || !field->ranged) return;
    snprintf(least, sizeof least, "%.12g", field->double_min);
    snprintf(most, sizeof most, "%.12g", field->double_max);
    range_append(out, language, least, most, field->unit);
}

/* The field with a flag whose name, "section.key", a text begins with; *length gets that of the name. */
static const struct mx_config_field *field_at(const char *text, size_t *length)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    const size_t section = strspn(text, letters);
    char name[64];
    if (section == 0 || text[section] != '.') return NULL;
    *length = section + 1 + strspn(text + section + 1, letters);
    if (*length >= sizeof name) return NULL;
    memcpy(name, text, *length);
    name[*length] = '\0';
    const struct mx_config_field *const field = mx_config_find(&mx_settings_schema, name, NULL);
    return field == NULL || field->flag == NULL ? NULL : field;
}

/* The help of a setting as shown for a flag: settings that have a flag are named by it. In Persian, where names
 * stand between `…`, one that begins with a dash needs U+200E before it (base/catalogue.h). */
static void help_append(struct mx_string *out, enum mx_words language, const char *text)
{
    size_t length = 0;
    bool begins = true;
    for (; *text != '\0'; text++) {
        if (language == MX_WORDS_PERSIAN && *text == '`' && field_at(text + 1, &length) != NULL)
            mx_string_append(out, "\u200e");
        const struct mx_config_field *const field = begins ? field_at(text, &length) : NULL;
        if (field != NULL) {
            mx_string_append(out, "--%s", field->flag);
            text += length - 1;
        } else {
            mx_string_append(out, "%c", *text);
        }
        begins = strchr(" (`'", *text) != NULL;
    }
}

int mx_option_words(const struct mx_option *option, enum mx_words language, struct mx_string *out)
{
    char names[200];
    choices_join(option, names, sizeof names);
    if (option->type == MX_OPTION_TYPE_SETTING)
        help_append(out, language, mx_catalogue_find(language, option->help));
    else
        mx_string_append(out, "%s", mx_catalogue_find(language, option->help));
    if (option->type == MX_OPTION_TYPE_INT) ints_append(out, language, option->min, option->max, NULL);
    if (option->type == MX_OPTION_TYPE_SETTING) setting_append(out, language, option->field);
    if (names[0] != '\0') phrase_append(out, language, ONE_OF, names, NULL);
    if (option->type == MX_OPTION_TYPE_LIST) phrase_append(out, language, REPEATED, NULL, NULL);
    return out->failure;
}

bool mx_option_fallback_is_words(const char *fallback)
{
    return strchr(fallback, ' ') != NULL || strcmp(fallback, "none") == 0 || strcmp(fallback, "all") == 0 ||
           strcmp(fallback, "measured") == 0;
}

static int option_help(const struct mx_option *option, enum mx_words language, struct mx_string *out)
{
    char left[64], letter[8] = "    ";
    struct mx_string words = {0};
    if (option->letter != '\0') snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(left, sizeof left, "  %s--%s%s%s", letter, option->name, option->value == NULL ? "" : " ",
             option->value == NULL ? "" : option->value);
    mx_option_words(option, language, &words);
    if (option->fallback != NULL)
        phrase_append(&words, language, DEFAULT,
                      mx_option_fallback_is_words(option->fallback) ? mx_catalogue_find(language, option->fallback)
                                                                    : option->fallback,
                      NULL);
    const int rc = words.failure;
    if (rc == 0) {
        const size_t indent = strlen(HELP_INDENT);
        if (strlen(left) + 2 > indent)
            mx_string_append(out, "%s\n%s", left, HELP_INDENT);
        else
            mx_string_append(out, "%-*s", (int)indent, left);
        mx_string_append_wrapped(out, words.data, indent, HELP_COLUMNS, HELP_INDENT);
        mx_string_append(out, "\n");
    }
    mx_string_release(&words);
    return rc;
}

/* The options of a group under their headings, or those of the first and where the others are. */
static int group_help(const struct mx_option_page *page, const struct mx_option_group *group, enum mx_words language,
                      struct mx_string *out)
{
    int rc = 0;
    size_t options = 0;
    const struct mx_option_page plain = {0};
    const bool own = strcmp(group->title, MX_OPTIONS_OWN) == 0;
    const struct mx_option_page *const of = own ? page : &plain;
    const size_t headings = mx_headings_count(of);
    struct mx_option option;
    for (size_t h = 0; h < (page->all ? headings : 1); h++) {
        struct mx_option_walk walk = {group->options, group->count, 0, 0};
        mx_string_append(out, "\n%s:\n", mx_catalogue_find(language, own ? mx_headings_title(of, h) : group->title));
        while (mx_headings_next(of, h, &walk, &option)) MX_TRY(option_help(&option, language, out));
    }
    if (page->all || headings == 1) goto out;
    char number[24];
    struct mx_option_walk walk = {group->options, group->count, 0, 0};
    while (mx_option_next(&walk, &option)) options++;
    snprintf(number, sizeof number, "%zu", options);
    mx_string_append(out, "\n");
    rc = mx_catalogue_format(out, language, mx_option_phrases[MORE], (const char *const[]){page->command, number});
    mx_string_append(out, "\n");
out:
    return rc;
}

int mx_options_help(const struct mx_option_page *page, const struct mx_option_group groups[MX_OPTION_GROUPS],
                    enum mx_words language, struct mx_string *out)
{
    int rc = 0;
    mx_string_append(out, "%s: %s\n\n%s %s [OPTIONS]%s%s\n\n", page->command,
                     mx_catalogue_find(language, page->summary), mx_catalogue_find(language, mx_option_phrases[USAGE]),
                     page->command, page->operands == NULL ? "" : " ", page->operands == NULL ? "" : page->operands);
    mx_string_append_wrapped(out, mx_catalogue_find(language, page->description), 0, HELP_COLUMNS, "");
    mx_string_append(out, "\n");
    if (page->command_count > 0)
        mx_string_append(out, "\n%s\n", mx_catalogue_find(language, mx_option_phrases[COMMANDS]));
    for (size_t i = 0; i < page->command_count; i++)
        mx_string_append(out, "  %-12s %s\n", page->commands[i].command,
                         mx_catalogue_find(language, page->commands[i].effect));
    for (int g = 0; g < MX_OPTION_GROUPS; g++)
        if (groups[g].count > 0) MX_TRY(group_help(page, &groups[g], language, out));
    if (page->example_count > 0)
        mx_string_append(out, "\n%s\n", mx_catalogue_find(language, mx_option_phrases[EXAMPLES]));
    for (size_t i = 0; i < page->example_count; i++)
        mx_string_append(out, "  %s\n      %s\n", page->examples[i].command,
                         mx_catalogue_find(language, page->examples[i].effect));
    rc = out->failure;
out:
    return rc;
}
