/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts completion: writes the script with which a shell completes command lines of this program.
 */
#include <string.h>

#include "cli/docgen/docgen.h"
#include "myxtts/error.h"

struct values {
    const char *output;
};

static const struct mx_option options[] = {
    {MX_OPTION_STRING(struct values, output, "output", "FILE", "standard output", "Write the script to this file."),
     .letter = 'o'},
};

static const struct mx_example examples[] = {
    {"source <(myxtts completion bash)", "enables completion in the current bash"},
    {"myxtts completion bash --output ~/.local/share/bash-completion/completions/myxtts",
     "enables it in every new bash"},
    {"myxtts completion zsh --output ~/.zfunc/_myxtts", "enables it in zsh, if ~/.zfunc is in its fpath"},
};

static int run(const void *given, const struct mx_option_list *operands)
{
    int rc = 0;
    const struct values *const values = given;
    const char *const shell = operands->count > 0 ? operands->items[0] : "";
    char quoted[96];
    struct mx_string text = {0};
    if (strcmp(shell, "bash") == 0)
        MX_TRY(mx_docgen_bash(&text));
    else if (strcmp(shell, "zsh") == 0)
        MX_TRY(mx_docgen_zsh(&text));
    else if (operands->count == 0)
        MX_RAISE(MX_ERR_USAGE, "'myxtts completion bash' or 'myxtts completion zsh'", "name the shell");
    else
        MX_RAISE(MX_ERR_USAGE, "there are 'bash' and 'zsh'", "no completion for the shell %s",
                 mx_string_quote(quoted, sizeof quoted, shell));
    MX_TRY(mx_docgen_put(&text, values->output));
out:
    mx_string_release(&text);
    return rc;
}

const struct mx_command mx_command_completion = {
    .name = "completion",
    .page =
        {
            .command = "myxtts completion",
            .operands = "bash|zsh",
            .operand_max = 1,
            .summary = "write a completion script for a shell",
            .description =
                "The script completes commands, flags, choices, files and folders. It is generated from the option "
                "tables of this program, so it always matches it. 'make install' installs both scripts.",
            MX_PAGE_EXAMPLES(examples),
        },
    MX_COMMAND_WORK(options, struct values, run),
};
