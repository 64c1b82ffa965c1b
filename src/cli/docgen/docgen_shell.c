/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Completion of command lines for bash and zsh, see docgen.h.
 *
 * Both scripts are tables in the language of the shell: the flags of each command and, for flags with values, what to
 * offer: choices, files or folders. The program does not run while a line is completed.
 *
 * Memory: everything is appended to the caller's string.
 */
#include <string.h>

#include "cli/docgen/docgen.h"
#include "myxtts/error.h"

/* ---- bash ---- */

static void bash_names(struct mx_string *out, const struct mx_option *options, size_t count)
{
    struct mx_option option;
    struct mx_option_walk walk = {options, count, 0, 0};
    while (mx_option_next(&walk, &option)) {
        mx_string_append(out, " --%s", option.name);
        if (option.letter != '\0') mx_string_append(out, " -%c", option.letter);
    }
}

/* The pattern of an option in a case: --name or --name|-n. */
static void bash_pattern(struct mx_string *out, const struct mx_option *o)
{
    mx_string_append(out, "--%s", o->name);
    if (o->letter != '\0') mx_string_append(out, "|-%c", o->letter);
}

/* The choices of an option, with spaces between. */
static void choices_append(struct mx_string *out, const struct mx_option *o)
{
    const char *choice;
    for (size_t i = 0; (choice = mx_option_choice(o, i)) != NULL; i++)
        mx_string_append(out, "%s%s", i == 0 ? "" : " ", choice);
}

/* case "$previous" entries for options that take a value. */
static void bash_values(struct mx_string *out, const struct mx_option *options, size_t count)
{
    struct mx_option option;
    const struct mx_option *const o = &option;
    struct mx_option_walk walk = {options, count, 0, 0};
    while (mx_option_next(&walk, &option)) {
        if (o->value == NULL || o->implied != NULL) continue; /* after one that may stand alone flags are likelier */
        mx_string_append(out, "            ");
        bash_pattern(out, o);
        if (mx_option_choice(o, 0) != NULL) {
            mx_string_append(out, ") choices='");
            choices_append(out, o);
            mx_string_append(out, "' ;;\n");
        } else {
            mx_string_append(out, ") kind='%s' ;;\n", mx_docgen_is_path(o->value) ? "path" : "word");
        }
    }
}

/* Words of the program that may stand as operands. */
static void bash_operands(struct mx_string *out, const char *operands)
{
    size_t length = 0;
    for (const char *word; (word = mx_docgen_operand(&operands, &length)) != NULL;)
        mx_string_append(out, " %.*s", (int)length, word);
}

int mx_docgen_bash(struct mx_string *out)
{
    size_t count = 0, global_count = 0;
    const struct mx_command *const *const commands = mx_command_all(&count);
    const struct mx_option *const globals = mx_command_globals(&global_count);
    mx_string_append(out, "# bash completion for myxtts, written by 'myxtts completion bash'\n"
                          "_myxtts()\n{\n"
                          "    local word=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
                          "    local command='' at flags='' choices='' kind='' operands=''\n"
                          "    for ((at = 1; at < COMP_CWORD; at++)); do\n"
                          "        case \"${COMP_WORDS[at]}\" in\n        ");
    bool first = true;
    for (size_t i = 0; i < global_count; i++) {
        if (globals[i].value == NULL) continue;
        if (!first) mx_string_append(out, "|");
        bash_pattern(out, &globals[i]);
        first = false;
    }
    mx_string_append(out,
                     ") ((at++)) ;;\n        -*) ;;\n        *) command=\"${COMP_WORDS[at]}\"; break ;;\n        esac\n"
                     "    done\n    case \"$command\" in\n    '')\n        flags='");
    for (size_t i = 0; i < count; i++) mx_string_append(out, "%s%s", i == 0 ? "" : " ", commands[i]->name);
    mx_string_append(out, " help'\n        ;;\n    help)\n        choices='");
    for (size_t i = 0; i < count; i++) mx_string_append(out, "%s%s", i == 0 ? "" : " ", commands[i]->name);
    mx_string_append(out, "'\n        ;;\n");
    for (size_t i = 0; i < count; i++) {
        mx_string_append(out, "    %s)\n        flags='", commands[i]->name);
        bash_names(out, commands[i]->options, commands[i]->option_count);
        mx_string_append(out, "' operands='");
        bash_operands(out, commands[i]->page.operands);
        mx_string_append(out, "'\n        case \"$previous\" in\n");
        bash_values(out, commands[i]->options, commands[i]->option_count);
        mx_string_append(out, "        esac\n        ;;\n");
    }
    mx_string_append(out, "    esac\n    if [[ $command != help ]]; then\n        flags+='");
    bash_names(out, globals, global_count);
    mx_string_append(out, "'\n        case \"$previous\" in\n");
    bash_values(out, globals, global_count);
    mx_string_append(
        out, "        esac\n    fi\n"
             "    if [[ -n $choices ]]; then\n"
             "        mapfile -t COMPREPLY < <(compgen -W \"$choices\" -- \"$word\")\n"
             "    elif [[ $kind == word ]]; then\n"
             "        COMPREPLY=()\n"
             "    elif [[ $kind != path && ($word == -* || -z $command) ]]; then\n"
             "        mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$word\")\n"
             "    else\n"
             "        [[ -z $kind ]] || operands=''\n"
             "        mapfile -t COMPREPLY < <(compgen -W \"$operands\" -- \"$word\"; compgen -f -- \"$word\")\n"
             "    fi\n"
             "}\n"
             "complete -o filenames -F _myxtts myxtts\n");
    return out->failure;
}

/* ---- zsh ---- */

/* Text inside single quotes and square brackets of _arguments. */
static void zsh_words(struct mx_string *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            mx_string_append(out, "'\\''");
        else if (strchr("[]:\\", *text) != NULL)
            mx_string_append(out, "\\%c", *text);
        else
            mx_string_append(out, "%c", *text == '\n' ? ' ' : *text);
    }
}

/* The value of an option: ":FILE:_files". */
static void zsh_value(struct mx_string *out, const struct mx_option *o)
{
    if (o->value == NULL) return;
    mx_string_append(out, "%s", o->implied != NULL ? "::" : ":");
    zsh_words(out, o->value);
    mx_string_append(out, ":");
    if (mx_option_choice(o, 0) != NULL) {
        mx_string_append(out, "(");
        choices_append(out, o);
        mx_string_append(out, ")");
    } else {
        mx_string_append(out, "%s", mx_docgen_is_path(o->value) ? "_files" : " ");
    }
}

static void zsh_options(struct mx_string *out, const struct mx_option *options, size_t count, const char *indent)
{
    struct mx_option option;
    const struct mx_option *const o = &option;
    struct mx_option_walk walk = {options, count, 0, 0};
    while (mx_option_next(&walk, &option)) {
        const char *const repeat = o->type == MX_OPTION_TYPE_LIST ? "*" : "";
        for (int form = 0; form < (o->letter == '\0' ? 1 : 2); form++) {
            if (form == 0)
                mx_string_append(out, "%s'%s--%s[", indent, repeat, o->name);
            else
                mx_string_append(out, "%s'%s-%c[", indent, repeat, o->letter);
            zsh_words(out, o->help);
            mx_string_append(out, "]");
            zsh_value(out, o);
            mx_string_append(out, "' \\\n");
        }
    }
}

/* The first operand, where it is a word of the program. */
static void zsh_operands(struct mx_string *out, const char *operands)
{
    size_t length = 0;
    const char *word = mx_docgen_operand(&operands, &length);
    if (word == NULL) return;
    mx_string_append(out, "                '1:operand:(");
    for (; word != NULL; word = mx_docgen_operand(&operands, &length))
        mx_string_append(out, "%.*s ", (int)length, word);
    mx_string_append(out, ")' \\\n");
}

int mx_docgen_zsh(struct mx_string *out)
{
    size_t count = 0, global_count = 0;
    const struct mx_command *const *const commands = mx_command_all(&count);
    const struct mx_option *const globals = mx_command_globals(&global_count);
    mx_string_append(out, "#compdef myxtts\n# zsh completion for myxtts, written by 'myxtts completion zsh'\n"
                          "_myxtts() {\n"
                          "    local context state state_descr line\n    typeset -A opt_args\n    local -a commands\n"
                          "    commands=(\n");
    for (size_t i = 0; i < count; i++) {
        mx_string_append(out, "        '%s:", commands[i]->name);
        zsh_words(out, commands[i]->page.summary);
        mx_string_append(out, "'\n");
    }
    mx_string_append(
        out, "        'help:show the page of the program, or that of a command'\n    )\n    _arguments -C \\\n");
    zsh_options(out, globals, global_count, "        ");
    mx_string_append(out, "        '1:command:->command' \\\n        '*::argument:->argument'\n"
                          "    case $state in\n    command) _describe command commands ;;\n    argument)\n"
                          "        case $words[1] in\n        help) _describe command commands ;;\n");
    for (size_t i = 0; i < count; i++) {
        mx_string_append(out, "        %s)\n            _arguments \\\n", commands[i]->name);
        zsh_options(out, commands[i]->options, commands[i]->option_count, "                ");
        zsh_options(out, globals, global_count, "                ");
        zsh_operands(out, commands[i]->page.operands);
        mx_string_append(out, "                '*:argument:_files'\n            ;;\n");
    }
    mx_string_append(out,
                     "        esac\n        ;;\n    esac\n}\n"
                     "# Sourced or autoloaded.\n"
                     "if [[ ${funcstack[1]} == _myxtts ]]; then _myxtts \"$@\"; else compdef _myxtts myxtts; fi\n");
    return out->failure;
}
