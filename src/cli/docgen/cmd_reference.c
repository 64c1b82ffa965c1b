/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts reference: writes the pages about the program that come from its tables.
 */
#include <string.h>

#include "base/catalogue.h"
#include "cli/docgen/docgen.h"
#include "myxtts/error.h"

struct values {
    const char *language, *output;
};

static const struct mx_option options[] = {
    {MX_OPTION_CHOICE(struct values, language, "language", "LANGUAGE", mx_words_codes, "en",
                      "Language of the Markdown page.")},
    {MX_OPTION_STRING(struct values, output, "output", "FILE", "standard output", "Write the page to this file."),
     .letter = 'o'},
};

static const struct mx_example examples[] = {
    {"myxtts reference markdown --language fa --output docs/fa/options.md", "writes the Persian page"},
    {"myxtts reference man | man -l -", "shows the manual page of this program"},
};

static int run(const void *given, const struct mx_option_list *operands)
{
    int rc = 0;
    const struct values *const values = given;
    const char *const format = operands->count > 0 ? operands->items[0] : "";
    char quoted[96];
    struct mx_string text = {0};
    if (strcmp(format, "man") == 0 && values->language != NULL)
        MX_RAISE(MX_ERR_USAGE, "leave '--language' out", "the manual page exists in English only");
    if (strcmp(format, "po") == 0 && values->language != NULL)
        MX_RAISE(MX_ERR_USAGE, "leave '--language' out", "the list of texts is in English");
    if (strcmp(format, "man") == 0)
        MX_TRY(mx_docgen_man(&text));
    else if (strcmp(format, "markdown") == 0)
        MX_TRY(mx_docgen_markdown(mx_words_named(values->language), &text));
    else if (strcmp(format, "po") == 0)
        MX_TRY(mx_docgen_po(&text));
    else if (operands->count == 0)
        MX_RAISE(MX_ERR_USAGE, "'myxtts reference markdown' or 'myxtts reference man'", "say which page to write");
    else
        MX_RAISE(MX_ERR_USAGE, "there are 'markdown', 'man' and 'po'", "no page of the kind %s",
                 mx_string_quote(quoted, sizeof quoted, format));
    MX_TRY(mx_docgen_put(&text, values->output));
out:
    mx_string_release(&text);
    return rc;
}

const struct mx_command mx_command_reference = {
    .name = "reference",
    .page =
        {
            .command = "myxtts reference",
            .operands = "markdown|man|po",
            .operand_max = 1,
            .summary = "write the reference of all flags and settings, the manual page, or the texts to translate",
            .description = "These pages are generated from the tables that also parse the command line and the "
                           "settings file. 'make docs' updates the pages of the project.\npo lists all translatable "
                           "texts of the program as a gettext template; 'make po' updates the translations from it.",
            MX_PAGE_EXAMPLES(examples),
        },
    MX_COMMAND_WORK(options, struct values, run),
};
