/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The list of all texts shown in the user's language, see docgen.h: the contents of the tables of commands, flags,
 * settings, variables, advice, findings and pages, each text once, as a gettext template:
 *
 *     #. myxtts train --batch-size
 *     msgid "Utterances in a batch."
 *     msgstr ""
 *
 * A program whose texts are in tables can list them itself: no text needs a mark, and no text of a table can be
 * forgotten.
 *
 * Memory: the list borrows the texts; it lives while the template is written.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/config/config.h"
#include "cli/docgen/docgen.h"
#include "cli/headings.h"
#include "cli/validate/validate.h"
#include "doctor/page.h"
#include "myxtts/error.h"
#include "observe/page/page.h"
#include "pipeline/advice_words.h"
#include "run/settings.h"
#include "serve/page.h"

struct list {
    struct mx_string *out;
    const char **texts; /* those without a context, which may occur more than once */
    size_t count, room;
    int failure;
};

static void quoted_append(struct mx_string *out, const char *name, const char *text)
{
    mx_string_append(out, "%s \"", name);
    for (; *text != '\0'; text++) {
        if (*text == '\n')
            mx_string_append(out, "\\n");
        else
            mx_string_append(out, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    }
    mx_string_append(out, "\"\n");
}

/* Was the text listed before? Remembers it. */
static bool known(struct list *l, const char *text)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->texts[i], text) == 0) return true;
    if (MX_GROW(l->texts, l->room, l->count + 1) < 0) {
        l->failure = MX_ERR_NO_MEMORY;
        return true;
    }
    l->texts[l->count++] = text;
    return false;
}

/* `where` and `what` show the translator the context. */
static void add(struct list *l, const char *where, const char *what, const char *text)
{
    if (text == NULL || text[0] == '\0' || known(l, text)) return;
    mx_string_append(l->out, "\n#. %s%s\n", where, what);
    quoted_append(l->out, "msgid", text);
    mx_string_append(l->out, "msgstr \"\"\n");
}

static void add_all(struct list *l, const char *where, const char *const *texts)
{
    for (; *texts != NULL; texts++) add(l, where, "", *texts);
}

static void add_options(struct list *l, const char *command, const struct mx_option *options, size_t count)
{
    char where[96];
    struct mx_option option;
    struct mx_option_walk walk = {options, count, 0, 0};
    while (mx_option_next(&walk, &option)) {
        snprintf(where, sizeof where, "%s --%s", command, option.name);
        add(l, where, "", option.help);
        if (option.fallback != NULL && mx_option_fallback_is_words(option.fallback))
            add(l, where, ", its default", option.fallback);
    }
}

static void add_page(struct list *l, const struct mx_option_page *page)
{
    add(l, page->command, "", page->summary);
    add(l, page->command, "", page->description);
    for (size_t h = 0; h < mx_headings_count(page); h++)
        add(l, page->command, ", a heading", mx_headings_title(page, h));
    for (size_t i = 0; i < page->command_count; i++) add(l, page->command, ", a command", page->commands[i].effect);
    for (size_t i = 0; i < page->example_count; i++) add(l, page->examples[i].command, "", page->examples[i].effect);
}

static int add_setting(void *context, const struct mx_config_section *section, const struct mx_config_field *field)
{
    struct list *const l = context;
    char where[96];
    snprintf(where, sizeof where, "%s.%s", section->name, field->key);
    add(l, where, "", field->help);
    add(l, where, ", its unit", field->unit);
    for (const struct mx_config_choice *c = field->choices; c != NULL && c->name != NULL; c++)
        add(l, where, ", a choice", c->help);
    return 0;
}

int mx_docgen_po(struct mx_string *out)
{
    size_t count = 0, global_count = 0;
    struct list l = {.out = out};
    const struct mx_command *const *const commands = mx_command_all(&count);
    const struct mx_option *const globals = mx_command_globals(&global_count);
    const struct mx_option_page program = mx_command_program();
    mx_string_append(out, "msgid \"\"\nmsgstr \"\"\n\"Project-Id-Version: myxtts\\n\"\n"
                          "\"Content-Type: text/plain; charset=UTF-8\\n\"\n"
                          "\"Content-Transfer-Encoding: 8bit\\n\"\n");
    add_page(&l, &program);
    add_all(&l, "page of help", mx_option_phrases);
    add_options(&l, program.command, globals, global_count);
    for (size_t i = 0; i < count; i++) {
        add_page(&l, &commands[i]->page);
        add_options(&l, commands[i]->page.command, commands[i]->options, commands[i]->option_count);
    }
    add(&l, "settings", ", first line of a file", mx_settings_schema.title);
    add_all(&l, "settings", mx_config_phrases);
    for (size_t i = 0; i < mx_settings_schema.count; i++)
        add(&l, "section ", mx_settings_schema.sections[i].name, mx_settings_schema.sections[i].help);
    mx_config_each(&mx_settings_schema, add_setting, &l);
    for (size_t i = 0; i < mx_settings_schema.answer_count; i++)
        add(&l, "answer to ", mx_settings_schema.answers[i].name, mx_settings_schema.answers[i].reason);
    for (const struct mx_docgen_variable *v = mx_docgen_variables; v->name != NULL; v++)
        add(&l, "variable ", v->name, v->help);
    for (int code = 0; mx_docgen_exit_code(code) != NULL; code++) add(&l, "exit code", "", mx_docgen_exit_code(code));
    add_all(&l, "docs/en/options.md", mx_docgen_words);
    for (int i = 0; i < MX_SAY_COUNT; i++) add(&l, "advice", "", mx_advice_sentence((enum mx_advice_sentence)i, false));
    for (int i = 0; i < MX_DOCTOR_FINDING_COUNT; i++)
        add(&l, "finding ", mx_doctor_finding_name((enum mx_doctor_finding_kind)i),
            mx_doctor_finding_template((enum mx_doctor_finding_kind)i));
    for (int i = 0; i <= MX_DOCTOR_NOT_FINISHED; i++)
        add(&l, "doctor's page, no voice: ", mx_doctor_judge_name((enum mx_doctor_judge)i),
            mx_doctor_judge_text((enum mx_doctor_judge)i));
    for (const struct mx_page_word *word = mx_page_words; word->key != NULL; word++) {
        mx_string_append(out, "\nmsgctxt \"page %s\"\n", word->key);
        quoted_append(out, "msgid", word->english);
        mx_string_append(out, "msgstr \"\"\n");
    }
    for (const struct mx_serve_word *word = mx_serve_words; word->key != NULL; word++) {
        mx_string_append(out, "\nmsgctxt \"speak %s\"\n", word->key);
        quoted_append(out, "msgid", word->english);
        mx_string_append(out, "msgstr \"\"\n");
    }
    for (const struct mx_doctor_page_word *word = mx_doctor_page_words; word->key != NULL; word++) {
        mx_string_append(out, "\nmsgctxt \"doctor %s\"\n", word->key);
        quoted_append(out, "msgid", word->english);
        mx_string_append(out, "msgstr \"\"\n");
    }
    for (const struct mx_validate_page_word *word = mx_validate_page_words; word->key != NULL; word++) {
        mx_string_append(out, "\nmsgctxt \"validation %s\"\n", word->key);
        quoted_append(out, "msgid", word->english);
        mx_string_append(out, "msgstr \"\"\n");
    }
    mx_free(l.texts);
    return l.failure < 0 ? l.failure : out->failure;
}
