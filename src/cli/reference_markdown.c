/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The page of all commands, flags and settings as Markdown, see reference.h.
 *
 * In Persian, explanations stand in <div dir="rtl"> and what comes from the tables stands between such blocks: it is
 * English, and mixed directions inside a table are hard to read.
 *
 * Memory: everything is appended to the caller's text.
 */
#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "cli/reference.h"
#include "cli/settings.h"
#include "myxtts/error.h"

static const struct mx_reference_words english = {
    .title = "All commands, flags and settings",
    .intro =
        "`make docs` writes this page from the tables of the program; `myxtts COMMAND --help` and `myxtts config` show "
        "the same words. Long flags are written whole, as `--name value` or `--name=value`; flags and other arguments "
        "may "
        "be mixed, and `--` ends the flags.",
    .commands = "Commands",
    .command_column = "command",
    .effect_column = "what it does",
    .usage = "Usage:",
    .examples = "Examples:",
    .globals = "Flags of all commands",
    .globals_intro = "They may stand before or after the name of the command.",
    .settings = "Settings",
    .settings_intro =
        "Keys of a YAML file for `--config`, each also as `--set SECTION.KEY=VALUE`. A file needs only the keys that "
        "differ "
        "from the defaults; `myxtts config --output my.yaml` writes one with all of them. Former names are understood, "
        "with a warning that tells the present one. A key that does not exist is an error with its line and the "
        "nearest one "
        "that does.",
    .answers = "Keys that only have an answer",
    .answers_intro =
        "What these keys of earlier settings files ask for is always so. The value named here is accepted, and the "
        "log says why it changes nothing; any other is refused with the reason.",
    .variables = "Environment variables",
    .exits = "Exit codes",
};

struct page {
    enum mx_reference_language language;
    const struct mx_reference_words *words;
    struct mx_text *out;
};

/* ---- pieces ---- */

/* Text of a table or paragraph: what Markdown would take as its own is escaped. */
static void words_append(struct mx_text *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("|*<\\", *text) != NULL) mx_text_append(out, "\\");
        if (*text == '\n')
            mx_text_append(out, "\n\n");
        else
            mx_text_append(out, "%c", *text);
    }
}

/* A code span that stands in a table. */
static void code_append(struct mx_text *out, const char *text)
{
    mx_text_append(out, "`");
    for (; *text != '\0'; text++) mx_text_append(out, "%s%c", *text == '|' ? "\\" : "", *text);
    mx_text_append(out, "`");
}

/* Explanations and headings, in the direction of the language. */
static void prose_begin(const struct page *p)
{
    if (p->language == MX_REFERENCE_PERSIAN) mx_text_append(p->out, "<div dir=\"rtl\">\n\n");
}

static void prose_end(const struct page *p)
{
    if (p->language == MX_REFERENCE_PERSIAN) mx_text_append(p->out, "</div>\n\n");
}

static void heading(const struct page *p, int level, const char *text, const char *below)
{
    prose_begin(p);
    mx_text_append(p->out, "%.*s %s\n\n", level, "####", text);
    if (below[0] != '\0') mx_text_append(p->out, "%s\n\n", below);
    prose_end(p);
}

static const char *summary_of(const struct page *p, const char *name, const char *own)
{
    const char *const persian_line = p->language == MX_REFERENCE_PERSIAN ? mx_reference_persian(name) : NULL;
    return persian_line != NULL ? persian_line : own;
}

/* ---- flags ---- */

static int flags_table(const struct page *p, const struct mx_option *options, size_t count)
{
    int rc = 0;
    struct mx_text help = {0};
    if (count > 0) mx_text_append(p->out, "| flag | default | meaning |\n|---|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        const struct mx_option *const o = &options[i];
        char name[96];
        mx_text_release(&help);
        MX_TRY(mx_option_words(o, &help));
        snprintf(name, sizeof name, "--%s%s%s", o->name, o->value == NULL ? "" : " ", o->value == NULL ? "" : o->value);
        mx_text_append(p->out, "| ");
        if (o->letter != '\0') mx_text_append(p->out, "`-%c`, ", o->letter);
        code_append(p->out, name);
        mx_text_append(p->out, " | ");
        words_append(p->out, o->fallback == NULL ? "" : o->fallback);
        mx_text_append(p->out, " | ");
        words_append(p->out, help.data);
        mx_text_append(p->out, " |\n");
    }
    rc = mx_text_append(p->out, "\n");
out:
    mx_text_release(&help);
    return rc;
}

static int command_append(const struct page *p, const struct mx_command *command)
{
    int rc = 0;
    const struct mx_option_page *const page = &command->page;
    char title[64];
    snprintf(title, sizeof title, "`%s`", page->command);
    heading(p, 3, title, p->language == MX_REFERENCE_PERSIAN ? summary_of(p, command->name, "") : "");
    words_append(p->out, page->description);
    mx_text_append(p->out, "\n\n");
    prose_begin(p);
    mx_text_append(p->out, "%s\n\n", p->words->usage);
    prose_end(p);
    mx_text_append(p->out, "    %s%s%s%s\n\n", page->command, command->option_count > 0 ? " [OPTIONS]" : "",
                   page->operands == NULL ? "" : " ", page->operands == NULL ? "" : page->operands);
    MX_TRY(flags_table(p, command->options, command->option_count));
    if (page->example_count == 0) goto out;
    prose_begin(p);
    mx_text_append(p->out, "%s\n\n", p->words->examples);
    prose_end(p);
    mx_text_append(p->out, "```\n");
    for (size_t i = 0; i < page->example_count; i++)
        mx_text_append(p->out, "# %s\n%s\n", page->examples[i].effect, page->examples[i].command);
    rc = mx_text_append(p->out, "```\n\n");
out:
    return rc;
}

static int commands_append(const struct page *p)
{
    int rc = 0;
    size_t count = 0;
    const struct mx_command *const *const commands = mx_command_all(&count);
    prose_begin(p);
    mx_text_append(p->out, "## %s\n\n| %s | %s |\n|---|---|\n", p->words->commands, p->words->command_column,
                   p->words->effect_column);
    for (size_t i = 0; i < count; i++)
        mx_text_append(p->out, "| [`%s`](#myxtts-%s) | %s |\n", commands[i]->name, commands[i]->name,
                       summary_of(p, commands[i]->name, commands[i]->page.summary));
    mx_text_append(p->out, "\n");
    prose_end(p);
    for (size_t i = 0; i < count; i++) MX_TRY(command_append(p, commands[i]));
out:
    return rc;
}

/* ---- settings ---- */

static void field_append(struct mx_text *out, const struct mx_config_section *section, const struct mx_config_field *f)
{
    char expects[MX_CONFIG_EXPECTS_BYTES];
    mx_config_expects(f, expects);
    mx_text_append(out, "| `%s.%s` | ", section->name, f->key);
    if (f->fallback[0] == '\0')
        mx_text_append(out, "\"\"");
    else
        words_append(out, f->fallback);
    mx_text_append(out, " | ");
    words_append(out, expects);
    mx_text_append(out, " | ");
    words_append(out, f->help);
    for (const struct mx_config_choice *c = f->choices; c != NULL && c->name != NULL; c++) {
        if (c->help == NULL) continue;
        mx_text_append(out, " `%s`: ", c->name);
        words_append(out, c->help);
        mx_text_append(out, ".");
    }
    for (const char *const *alias = f->aliases; alias != NULL && *alias != NULL; alias++)
        mx_text_append(out, "%s`%s`%s", alias == f->aliases ? " Formerly " : ", ", *alias, alias[1] == NULL ? "." : "");
    mx_text_append(out, " |\n");
}

static void settings_append(const struct page *p)
{
    heading(p, 2, p->words->settings, p->words->settings_intro);
    for (size_t s = 0; s < mx_settings_schema.count; s++) {
        const struct mx_config_section *const section = &mx_settings_schema.sections[s];
        char title[64];
        snprintf(title, sizeof title, "`%s`", section->name);
        heading(p, 3, title, summary_of(p, section->name, section->help));
        mx_text_append(p->out, "| key | default | takes | meaning |\n|---|---|---|---|\n");
        for (size_t f = 0; f < section->count; f++) field_append(p->out, section, &section->fields[f]);
        mx_text_append(p->out, "\n");
    }
    heading(p, 3, p->words->answers, p->words->answers_intro);
    mx_text_append(p->out, "| key | accepted | because |\n|---|---|---|\n");
    for (size_t i = 0; i < mx_settings_schema.answer_count; i++) {
        const struct mx_config_answer *const answer = &mx_settings_schema.answers[i];
        mx_text_append(p->out, "| `%s` | %s | ", answer->name, answer->accepted == NULL ? "" : answer->accepted);
        words_append(p->out, answer->reason);
        mx_text_append(p->out, " |\n");
    }
    mx_text_append(p->out, "\n");
}

/* ---- the page ---- */

int mx_reference_markdown(enum mx_reference_language language, struct mx_text *out)
{
    int rc = 0;
    size_t count = 0;
    const struct page p = {language, language == MX_REFERENCE_PERSIAN ? &mx_reference_words_persian : &english, out};
    const struct mx_option *const globals = mx_command_globals(&count);
    heading(&p, 1, p.words->title, p.words->intro);
    MX_TRY(commands_append(&p));
    heading(&p, 2, p.words->globals, p.words->globals_intro);
    MX_TRY(flags_table(&p, globals, count));
    settings_append(&p);
    heading(&p, 2, p.words->variables, "");
    mx_text_append(out, "| variable | meaning |\n|---|---|\n");
    for (const struct mx_reference_variable *v = mx_reference_variables; v->name != NULL; v++) {
        mx_text_append(out, "| `%s` | ", v->name);
        words_append(out, v->help);
        mx_text_append(out, " |\n");
    }
    mx_text_append(out, "\n");
    heading(&p, 2, p.words->exits, "");
    mx_text_append(out, "| code | meaning |\n|---|---|\n");
    for (int code = 0; mx_reference_exit_code(code) != NULL; code++)
        mx_text_append(out, "| %d | %s |\n", code, mx_reference_exit_code(code));
    rc = out->failure;
out:
    return rc;
}
