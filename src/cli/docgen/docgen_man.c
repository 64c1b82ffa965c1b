/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The manual page, see docgen.h: the tables of commands and settings in the language of man(7), between sections
 * written here by hand.
 *
 * Memory: everything is appended to the caller's string.
 */
#include <stdio.h>
#include <string.h>

#include "base/config/config.h"
#include "cli/docgen/docgen.h"
#include "cli/headings.h"
#include "myxtts/error.h"
#include "run/settings.h"

/* Literal text: backslashes and dashes escaped, and no line begins with a request. '\n' begins a paragraph. */
static void words_append(struct mx_string *out, const char *text)
{
    bool begins = true;
    for (; *text != '\0'; text++) {
        if (begins && (*text == '.' || *text == '\'')) mx_string_append(out, "\\&");
        begins = *text == '\n';
        if (*text == '\n')
            mx_string_append(out, "\n.PP\n");
        else if (*text == '\\')
            mx_string_append(out, "\\e");
        else if (*text == '-')
            mx_string_append(out, "\\-");
        else
            mx_string_append(out, "%c", *text);
    }
}

/* A paragraph with a hanging tag in bold letters. */
static void tag_append(struct mx_string *out, const char *tag)
{
    mx_string_append(out, ".TP\n\\fB");
    words_append(out, tag);
    mx_string_append(out, "\\fR\n");
}

/* The options of a page that stand under one of its headings. */
static int flags_append(struct mx_string *out, const struct mx_option_page *page, size_t heading,
                        const struct mx_option *options, size_t count)
{
    int rc = 0;
    struct mx_string help = {0};
    struct mx_option option;
    const struct mx_option *const o = &option;
    struct mx_option_walk walk = {options, count, 0, 0};
    while (mx_headings_next(page, heading, &walk, &option)) {
        mx_string_release(&help);
        MX_TRY(mx_option_words(o, MX_WORDS_ENGLISH, &help));
        mx_string_append(out, ".TP\n");
        if (o->letter != '\0') mx_string_append(out, "\\fB\\-%c\\fR, ", o->letter);
        mx_string_append(out, "\\fB\\-\\-");
        words_append(out, o->name);
        mx_string_append(out, "\\fR");
        if (o->value != NULL) {
            mx_string_append(out, " \\fI");
            words_append(out, o->value);
            mx_string_append(out, "\\fR");
        }
        mx_string_append(out, "\n");
        words_append(out, help.data);
        if (o->fallback != NULL) {
            mx_string_append(out, " Default: ");
            words_append(out, o->fallback);
            mx_string_append(out, ".");
        }
        mx_string_append(out, "\n");
    }
    rc = out->failure;
out:
    mx_string_release(&help);
    return rc;
}

static int command_append(struct mx_string *out, const struct mx_command *command)
{
    int rc = 0;
    const struct mx_option_page *const page = &command->page;
    mx_string_append(out, ".SS ");
    words_append(out, page->command);
    if (page->operands != NULL) {
        mx_string_append(out, " ");
        words_append(out, page->operands);
    }
    mx_string_append(out, "\n.PP\n");
    words_append(out, page->description);
    mx_string_append(out, "\n");
    for (size_t h = 0; h < mx_headings_count(page); h++) {
        if (page->headings != NULL) mx_string_append(out, ".PP\n%s:\n", mx_headings_title(page, h));
        MX_TRY(flags_append(out, page, h, command->options, command->option_count));
    }
    for (size_t i = 0; i < page->example_count; i++) {
        mx_string_append(out, i == 0 ? ".PP\nExamples:\n" : "");
        mx_string_append(out, ".PP\n.EX\n    ");
        words_append(out, page->examples[i].command);
        mx_string_append(out, "\n.EE\n.RS 8\n");
        words_append(out, page->examples[i].effect);
        mx_string_append(out, "\n.RE\n");
    }
    rc = out->failure;
out:
    return rc;
}

static int setting_append(void *context, const struct mx_config_section *section, const struct mx_config_field *field)
{
    struct mx_string *const out = context;
    int rc = 0;
    char name[128];
    struct mx_string expects = {0};
    MX_TRY(mx_config_expects(field, MX_WORDS_ENGLISH, &expects));
    snprintf(name, sizeof name, "%s.%s", section->name, field->key);
    tag_append(out, name);
    words_append(out, field->help);
    mx_string_append(out, " (");
    words_append(out, expects.data);
    mx_string_append(out, "; default ");
    words_append(out, field->fallback[0] == '\0' ? "empty" : field->fallback);
    rc = mx_string_append(out, ")\n");
out:
    mx_string_release(&expects);
    return rc;
}

static void run_folder_append(struct mx_string *out)
{
    static const struct {
        const char *name, *words;
    } list[] = {
        {"RUN/config.yaml", "The resolved settings of the run; '--resume' reads them."},
        {"RUN/log.txt", "All messages of level info and above, with timestamps."},
        {"RUN/metrics.jsonl", "One JSON object per step and per evaluation."},
        {"RUN/checkpoints/", "step-N.safetensors, and best.safetensors for the best evaluation."},
        {"RUN/samples/", "Audio samples and pictures of each evaluation."},
        {"RUN/voices/", "One recording of each speaker, from which 'myxtts synth' takes the voice."},
        {"RUN/run.json", "State, devices, memory and pipeline figures; 'monitor' and 'report' read it."},
        {"RUN/report.html", "The report of the run, written when training ends."},
        {"RUN/tensorboard/", "Event files for TensorBoard."},
        {"RUN/corpus.pack", "Decoded recordings, if the corpus is a folder and data.caching is on."},
    };
    mx_string_append(out, ".SH FILES\n");
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        tag_append(out, list[i].name);
        words_append(out, list[i].words);
        mx_string_append(out, "\n");
    }
}

int mx_docgen_man(struct mx_string *out)
{
    int rc = 0;
    size_t count = 0, global_count = 0;
    const struct mx_command *const *const commands = mx_command_all(&count);
    const struct mx_option *const globals = mx_command_globals(&global_count);
    mx_string_append(
        out, ".\\\" Written by 'make docs' from the tables of the program.\n.TH MYXTTS 1 \"\" \"MyXTTS " MX_VERSION
             "\" \"User Commands\"\n.SH NAME\nmyxtts \\- train a text\\-to\\-speech voice from recordings, and speak "
             "with it\n.SH SYNOPSIS\n");
    for (size_t i = 0; i < count; i++) {
        const struct mx_option_page *const page = &commands[i]->page;
        mx_string_append(out, "%s\\fBmyxtts %s\\fR [\\fIOPTIONS\\fR]%s%s\n", i == 0 ? "" : ".br\n", commands[i]->name,
                         page->operands == NULL ? "" : " ", page->operands == NULL ? "" : page->operands);
    }
    mx_string_append(out, ".SH DESCRIPTION\n");
    words_append(
        out, "Trains a parallel acoustic model on a folder of recordings with their texts (English, Persian or any "
             "other language of espeak-ng) and "
             "speaks with it. Two devices can share the work: one prepares batches while the other trains, each within "
             "its own memory limit. A device is a part of the CPU cores, an OpenCL device or a CUDA GPU; 'myxtts "
             "devices' lists those that are available.\nResults go to standard output, messages to standard error. An "
             "error is one line, with a hint below it that says what to do. If a requested device is not available, "
             "that is an error; nothing falls back on its own.\nThe steps to a new voice are check, prepare, train and "
             "synth. With two devices, run validate before train, and profile if training is slower than expected.");
    mx_string_append(out, "\n.SH COMMANDS\n");
    for (size_t i = 0; i < count; i++) MX_TRY(command_append(out, commands[i]));
    mx_string_append(out, ".SH OPTIONS OF ALL COMMANDS\nThey may come before or after the name of the command.\n");
    const struct mx_option_page program = mx_command_program();
    MX_TRY(flags_append(out, &program, 0, globals, global_count));
    mx_string_append(out, ".SH SETTINGS\nKeys of a YAML file for \\fB\\-\\-config\\fR, or of \\fB\\-\\-set\\fR "
                          "\\fISECTION.KEY=VALUE\\fR. \\fBmyxtts config\\fR shows them as a file to start from.\n");
    MX_TRY(mx_config_each(&mx_settings_schema, setting_append, out));
    run_folder_append(out);
    mx_string_append(out, ".SH ENVIRONMENT\n");
    for (const struct mx_docgen_variable *v = mx_docgen_variables; v->name != NULL; v++) {
        tag_append(out, v->name);
        words_append(out, v->help);
        mx_string_append(out, "\n");
    }
    mx_string_append(out, ".SH EXIT STATUS\n");
    for (int code = 0; mx_docgen_exit_code(code) != NULL; code++)
        mx_string_append(out, ".TP\n\\fB%d\\fR\n%s\n", code, mx_docgen_exit_code(code));
    mx_string_append(out, ".SH SEE ALSO\n.BR flite (1),\n.BR espeak\\-ng (1),\n.BR sox (1)\n.PP\nThe pages in "
                          "\\fIdoc/myxtts\\fR below the share folder, in English and Persian.\n");
    rc = out->failure;
out:
    return rc;
}
