/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pages about the program that are written from its tables: the list of all flags and settings, the manual page, and
 * the completion of shells. Whatever stands in a table of options or settings is in all of them; what is not is in
 * none.
 *
 * Memory: tables are borrowed and const; texts are appended to the caller's.
 */
#ifndef MX_CLI_DOCGEN_H
#define MX_CLI_DOCGEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/catalogue.h"
#include "base/string.h"
#include "cli/command.h"

/* docs/en/options.md or docs/fa/options.md: Markdown of GitHub's kind. In Persian it reads from right to left. */
int mx_docgen_markdown(enum mx_words language, struct mx_string *out);

/* All texts that the catalogue (base/catalogue.h) should have, as a template of gettext (.pot): for msgmerge. */
int mx_docgen_po(struct mx_string *out);

/* docs/myxtts.1: for man(1). */
int mx_docgen_man(struct mx_string *out);

/* Completion of command lines, to be sourced or installed. */
int mx_docgen_bash(struct mx_string *out);
int mx_docgen_zsh(struct mx_string *out);

/* A page or script that was written, to a file; NULL: to standard output. */
int mx_docgen_put(const struct mx_string *text, const char *path);

/* ---- what the writers share ---- */

/* Does the word that stands for a value ("FILE", "DIR", "RUN") mean something in the file system? */
bool mx_docgen_is_path(const char *word);
/* Operands that are words of the program itself, "bash" and "zsh" of "bash|zsh": the next one from *at on, with its
 * length; NULL at the end. */
const char *mx_docgen_operand(const char **at, size_t *length);

/* Variables of the environment that the program looks at, with what they do. */
struct mx_docgen_variable {
    const char *name, *help;
};
extern const struct mx_docgen_variable mx_docgen_variables[]; /* ends with a NULL name */

/* Exit codes: "wrong usage or settings". NULL for numbers that it never ends with. */
const char *mx_docgen_exit_code(int code);

/* Words of the page of flags and settings that come from no table (docgen_markdown.c); ends with NULL. */
extern const char *const mx_docgen_words[];

#endif
