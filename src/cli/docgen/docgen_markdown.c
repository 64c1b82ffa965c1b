/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The page of all commands, flags and settings as Markdown, see docgen.h.
 *
 * In Persian everything except command lines is inside <div dir="rtl">.
 *
 * Memory: everything is appended to the caller's string.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/config/config.h"
#include "cli/docgen/docgen.h"
#include "cli/headings.h"
#include "myxtts/error.h"
#include "run/settings.h"

enum word {
    TITLE,
    INTRO,
    COMMANDS,
    COMMAND_COLUMN,
    EFFECT_COLUMN,
    USAGE,
    EXAMPLES,
    FLAG_COLUMN,
    DEFAULT_COLUMN,
    MEANING_COLUMN,
    KEY_COLUMN,
    TAKES_COLUMN,
    ACCEPTED_COLUMN,
    REASON_COLUMN,
    VARIABLE_COLUMN,
    CODE_COLUMN,
    GLOBALS,
    GLOBALS_INTRO,
    SETTINGS,
    SETTINGS_INTRO,
    FORMERLY,
    ANSWERS,
    ANSWERS_INTRO,
    VARIABLES,
    EXITS,
};

const char *const mx_docgen_words[] = {
    [TITLE] = "All commands, flags and settings",
    [INTRO] =
        "`make docs` writes this page from the tables of the program; `myxtts COMMAND --help` and `myxtts config` show "
        "the same texts, in Persian if `LANG` or `LC_MESSAGES` asks for it. Long flags are written in full, as `--name "
        "value` or `--name=value`; flags and other arguments may be mixed, and `--` ends the flags.",
    [COMMANDS] = "Commands",
    [COMMAND_COLUMN] = "command",
    [EFFECT_COLUMN] = "what it does",
    [USAGE] = "Usage:",
    [EXAMPLES] = "Examples:",
    [FLAG_COLUMN] = "flag",
    [DEFAULT_COLUMN] = "default",
    [MEANING_COLUMN] = "meaning",
    [KEY_COLUMN] = "key",
    [TAKES_COLUMN] = "takes",
    [ACCEPTED_COLUMN] = "accepted",
    [REASON_COLUMN] = "because",
    [VARIABLE_COLUMN] = "variable",
    [CODE_COLUMN] = "code",
    [GLOBALS] = "Flags of all commands",
    [GLOBALS_INTRO] = "They may come before or after the name of the command.",
    [SETTINGS] = "Settings",
    [SETTINGS_INTRO] = "Keys of a YAML file for `--config`, or of `--set SECTION.KEY=VALUE`. A file needs only the "
                       "keys that differ from the defaults; `myxtts config --output my.yaml` writes one with all keys. "
                       "Former names are accepted with a warning that gives the current name. An unknown key is an "
                       "error that names its line and the nearest known key.",
    [FORMERLY] = "Formerly {0}.",
    [ANSWERS] = "Keys that have no effect",
    [ANSWERS_INTRO] =
        "These keys of earlier settings files ask for something that is always the case. The value listed here is "
        "accepted, and the log says why it changes nothing; any other value is refused with the reason.",
    [VARIABLES] = "Environment variables",
    [EXITS] = "Exit codes",
    NULL,
};

struct page {
    enum mx_words language;
    struct mx_string *out;
};

/* ---- pieces ---- */

static const char *text_of(const struct page *p, const char *english)
{
    return mx_catalogue_find(p->language, english);
}

static const char *word_of(const struct page *p, enum word word)
{
    return text_of(p, mx_docgen_words[word]);
}

/* A paragraph: what Markdown would take as its own is escaped, but not between `…`, where it is code. */
static void paragraph_append(struct mx_string *out, const char *text)
{
    bool code = false;
    for (; *text != '\0'; text++) {
        code ^= *text == '`';
        if (!code && strchr("|*<\\", *text) != NULL) mx_string_append(out, "\\");
        if (*text == '\n')
            mx_string_append(out, "\n\n");
        else
            mx_string_append(out, "%c", *text);
    }
}

/* The same in a table, where bars are escaped in code, too. */
static void words_append(struct mx_string *out, const char *text)
{
    bool code = false;
    for (; *text != '\0'; text++) {
        code ^= *text == '`';
        mx_string_append(out, "%s%c", strchr(code ? "|" : "|*<\\", *text) != NULL ? "\\" : "", *text);
    }
}

/* A code span. Between Persian words one that begins with a dash needs U+200E before it. */
static void code_append(const struct page *p, const char *text)
{
    mx_string_append(p->out, "%s`", p->language == MX_WORDS_PERSIAN && text[0] == '-' ? "\u200e" : "");
    for (; *text != '\0'; text++) mx_string_append(p->out, "%s%c", *text == '|' ? "\\" : "", *text);
    mx_string_append(p->out, "`");
}

/* A default: in Persian, literal input is formatted as code. */
static void fallback_append(const struct page *p, const char *fallback, bool in_words)
{
    if (p->language == MX_WORDS_PERSIAN && !in_words && fallback[0] != '\0')
        code_append(p, fallback);
    else
        words_append(p->out, text_of(p, fallback));
}

/* The head of a table. */
static void table_begin(const struct page *p, const enum word *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) mx_string_append(p->out, "| %s ", word_of(p, columns[i]));
    mx_string_append(p->out, "|\n");
    for (size_t i = 0; i < count; i++) mx_string_append(p->out, "|---");
    mx_string_append(p->out, "|\n");
}
#define TABLE(p, ...)                                                                                                  \
    table_begin(p, (const enum word[]){__VA_ARGS__}, sizeof((const enum word[]){__VA_ARGS__}) / sizeof(enum word))

/* What is read from right to left in Persian: all but command lines. */
static void prose_begin(const struct page *p)
{
    if (p->language == MX_WORDS_PERSIAN) mx_string_append(p->out, "<div dir=\"rtl\">\n\n");
}

static void prose_end(const struct page *p)
{
    if (p->language == MX_WORDS_PERSIAN) mx_string_append(p->out, "</div>\n\n");
}

static void heading(const struct page *p, int level, const char *text, const char *below)
{
    mx_string_append(p->out, "%.*s %s\n\n", level, "####", text);
    if (below[0] != '\0') mx_string_append(p->out, "%s\n\n", below);
}

/* ---- flags ---- */

/* The options of a page that stand under one of its headings. */
static int flags_table(const struct page *p, const struct mx_option_page *page, size_t heading_number,
                       const struct mx_option *options, size_t count)
{
    int rc = 0;
    struct mx_string help = {0};
    struct mx_option option;
    const struct mx_option *const o = &option;
    struct mx_option_walk walk = {options, count, 0, 0};
    if (count == 0) goto out;
    TABLE(p, FLAG_COLUMN, DEFAULT_COLUMN, MEANING_COLUMN);
    while (mx_headings_next(page, heading_number, &walk, &option)) {
        char name[96], letter[3] = {'-', o->letter, '\0'};
        mx_string_release(&help);
        MX_TRY(mx_option_words(o, p->language, &help));
        snprintf(name, sizeof name, "--%s%s%s", o->name, o->value == NULL ? "" : " ", o->value == NULL ? "" : o->value);
        mx_string_append(p->out, "| ");
        if (o->letter != '\0') {
            code_append(p, letter);
            mx_string_append(p->out, p->language == MX_WORDS_PERSIAN ? "، " : ", ");
        }
        code_append(p, name);
        mx_string_append(p->out, " | ");
        if (o->fallback != NULL) fallback_append(p, o->fallback, mx_option_fallback_is_words(o->fallback));
        mx_string_append(p->out, " | ");
        words_append(p->out, help.data);
        mx_string_append(p->out, " |\n");
    }
    rc = mx_string_append(p->out, "\n");
out:
    mx_string_release(&help);
    return rc;
}

static int command_append(const struct page *p, const struct mx_command *command)
{
    int rc = 0;
    const struct mx_option_page *const page = &command->page;
    char title[64];
    snprintf(title, sizeof title, "`%s`", page->command);
    prose_begin(p);
    heading(p, 3, title, "");
    paragraph_append(p->out, text_of(p, page->description));
    mx_string_append(p->out, "\n\n%s\n\n", word_of(p, USAGE));
    prose_end(p);
    mx_string_append(p->out, "    %s%s%s%s\n\n", page->command, command->option_count > 0 ? " [OPTIONS]" : "",
                     page->operands == NULL ? "" : " ", page->operands == NULL ? "" : page->operands);
    prose_begin(p);
    for (size_t h = 0; h < mx_headings_count(page); h++) {
        if (page->headings != NULL) mx_string_append(p->out, "**%s**\n\n", text_of(p, mx_headings_title(page, h)));
        MX_TRY(flags_table(p, page, h, command->options, command->option_count));
    }
    if (page->example_count > 0) mx_string_append(p->out, "%s\n\n", word_of(p, EXAMPLES));
    prose_end(p);
    if (page->example_count == 0) goto out;
    mx_string_append(p->out, "```\n");
    for (size_t i = 0; i < page->example_count; i++)
        mx_string_append(p->out, "# %s\n%s\n", text_of(p, page->examples[i].effect), page->examples[i].command);
    rc = mx_string_append(p->out, "```\n\n");
out:
    return rc;
}

static int commands_append(const struct page *p)
{
    int rc = 0;
    size_t count = 0;
    const struct mx_command *const *const commands = mx_command_all(&count);
    prose_begin(p);
    mx_string_append(p->out, "## %s\n\n", word_of(p, COMMANDS));
    TABLE(p, COMMAND_COLUMN, EFFECT_COLUMN);
    for (size_t i = 0; i < count; i++)
        mx_string_append(p->out, "| [`%s`](#myxtts-%s) | %s |\n", commands[i]->name, commands[i]->name,
                         text_of(p, commands[i]->page.summary));
    mx_string_append(p->out, "\n");
    prose_end(p);
    for (size_t i = 0; i < count; i++) MX_TRY(command_append(p, commands[i]));
out:
    return rc;
}

/* ---- settings ---- */

static int field_append(const struct page *p, const struct mx_config_section *section, const struct mx_config_field *f)
{
    int rc = 0;
    struct mx_string expects = {0}, former = {0};
    MX_TRY(mx_config_expects(f, p->language, &expects));
    mx_string_append(p->out, "| `%s.%s` | ", section->name, f->key);
    fallback_append(p, f->fallback[0] == '\0' ? "\"\"" : f->fallback, false);
    mx_string_append(p->out, " | ");
    words_append(p->out, expects.data);
    mx_string_append(p->out, " | ");
    words_append(p->out, text_of(p, f->help));
    for (const struct mx_config_choice *c = f->choices; c != NULL && c->name != NULL; c++) {
        if (c->help == NULL) continue;
        mx_string_append(p->out, " `%s`: ", c->name);
        words_append(p->out, text_of(p, c->help));
        mx_string_append(p->out, ".");
    }
    for (const char *const *alias = f->aliases; alias != NULL && *alias != NULL; alias++)
        MX_TRY(mx_string_append(&former, "%s`%s`",
                                alias == f->aliases               ? ""
                                : p->language == MX_WORDS_PERSIAN ? "، "
                                                                  : ", ",
                                *alias));
    if (former.data != NULL) {
        mx_string_append(p->out, " ");
        mx_catalogue_format(p->out, p->language, mx_docgen_words[FORMERLY], (const char *const[]){former.data});
    }
    rc = mx_string_append(p->out, " |\n");
out:
    mx_string_release(&expects);
    mx_string_release(&former);
    return rc;
}

static int settings_append(const struct page *p)
{
    int rc = 0;
    heading(p, 2, word_of(p, SETTINGS), word_of(p, SETTINGS_INTRO));
    for (size_t s = 0; s < mx_settings_schema.count; s++) {
        const struct mx_config_section *const section = &mx_settings_schema.sections[s];
        char title[64];
        snprintf(title, sizeof title, "`%s`", section->name);
        heading(p, 3, title, text_of(p, section->help));
        TABLE(p, KEY_COLUMN, DEFAULT_COLUMN, TAKES_COLUMN, MEANING_COLUMN);
        for (size_t f = 0; f < section->count; f++) MX_TRY(field_append(p, section, &section->fields[f]));
        mx_string_append(p->out, "\n");
    }
    heading(p, 3, word_of(p, ANSWERS), word_of(p, ANSWERS_INTRO));
    TABLE(p, KEY_COLUMN, ACCEPTED_COLUMN, REASON_COLUMN);
    for (size_t i = 0; i < mx_settings_schema.answer_count; i++) {
        const struct mx_config_answer *const answer = &mx_settings_schema.answers[i];
        mx_string_append(p->out, "| `%s` | %s | ", answer->name, answer->accepted == NULL ? "" : answer->accepted);
        words_append(p->out, text_of(p, answer->reason));
        mx_string_append(p->out, " |\n");
    }
    mx_string_append(p->out, "\n");
out:
    return rc;
}

/* ---- the page ---- */

int mx_docgen_markdown(enum mx_words language, struct mx_string *out)
{
    int rc = 0;
    size_t count = 0;
    const struct page p = {language, out};
    const struct mx_option *const globals = mx_command_globals(&count);
    prose_begin(&p);
    heading(&p, 1, word_of(&p, TITLE), word_of(&p, INTRO));
    prose_end(&p);
    MX_TRY(commands_append(&p));
    prose_begin(&p);
    heading(&p, 2, word_of(&p, GLOBALS), word_of(&p, GLOBALS_INTRO));
    const struct mx_option_page program = mx_command_program();
    MX_TRY(flags_table(&p, &program, 0, globals, count));
    MX_TRY(settings_append(&p));
    heading(&p, 2, word_of(&p, VARIABLES), "");
    TABLE(&p, VARIABLE_COLUMN, MEANING_COLUMN);
    for (const struct mx_docgen_variable *v = mx_docgen_variables; v->name != NULL; v++) {
        mx_string_append(out, "| `%s` | ", v->name);
        words_append(out, text_of(&p, v->help));
        mx_string_append(out, " |\n");
    }
    mx_string_append(out, "\n");
    heading(&p, 2, word_of(&p, EXITS), "");
    TABLE(&p, CODE_COLUMN, MEANING_COLUMN);
    for (int code = 0; mx_docgen_exit_code(code) != NULL; code++)
        mx_string_append(out, "| %d | %s |\n", code, text_of(&p, mx_docgen_exit_code(code)));
    if (language == MX_WORDS_PERSIAN) mx_string_append(out, "\n</div>\n");
    rc = out->failure;
out:
    return rc;
}
