/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pages about the program that are generated from its tables: the list of all flags and settings, the manual page, and
 * shell completion. Everything in a table of options or settings appears in all of them, and nothing else does.
 *
 * Memory: tables are borrowed and const; texts are appended to the caller's string.
 */
#ifndef MX_CLI_DOCGEN_H
#define MX_CLI_DOCGEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/catalogue.h"
#include "base/string.h"
#include "cli/command.h"

/* docs/en/options.md or docs/fa/options.md: GitHub-flavoured Markdown. The Persian page reads from right to left. */
int mx_docgen_markdown(enum mx_words language, struct mx_string *out);

/* All texts that the catalogue (base/catalogue.h) should have, as a gettext template (.pot) for msgmerge. */
int mx_docgen_po(struct mx_string *out);

/* docs/myxtts.1: for man(1). */
int mx_docgen_man(struct mx_string *out);

/* Command-line completion, to be sourced or installed. */
int mx_docgen_bash(struct mx_string *out);
int mx_docgen_zsh(struct mx_string *out);

/* Writes a finished page or script to a file; NULL: to standard output. */
int mx_docgen_put(const struct mx_string *text, const char *path);

/* ---- shared by the writers ---- */

/* Does the placeholder of a value ("FILE", "DIR", "RUN") stand for a path? */
bool mx_docgen_is_path(const char *word);
/* Operands that are fixed words, "bash" and "zsh" of "bash|zsh": the next one from *at on, with its length; NULL at the
 * end. */
const char *mx_docgen_operand(const char **at, size_t *length);

/* Environment variables that the program reads, and what they do. */
struct mx_docgen_variable {
    const char *name, *help;
};
extern const struct mx_docgen_variable mx_docgen_variables[]; /* ends with a NULL name */

/* Exit codes: "wrong usage or settings". NULL for a code that the program never returns. */
const char *mx_docgen_exit_code(int code);

/* Texts of the page of flags and settings that come from no table (docgen_markdown.c); ends with NULL. */
extern const char *const mx_docgen_words[];

#endif
