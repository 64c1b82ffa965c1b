/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pages about the program that are written from its tables: the list of all flags and settings, the manual page, and
 * the completion of shells. Whatever stands in a table of options or settings is in all of them; what is not is in
 * none.
 *
 * Memory: tables are borrowed and const; texts are appended to the caller's.
 */
#ifndef MX_CLI_REFERENCE_H
#define MX_CLI_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/catalogue.h"
#include "base/text.h"
#include "cli/command.h"

/* docs/en/options.md or docs/fa/options.md: Markdown of GitHub's kind. In Persian it reads from right to left. */
int mx_reference_markdown(enum mx_words language, struct mx_text *out);

/* All texts that the catalogue (base/catalogue.h) should have, as a template of gettext (.pot): for msgmerge. */
int mx_reference_po(struct mx_text *out);

/* docs/myxtts.1: for man(1). */
int mx_reference_man(struct mx_text *out);

/* Completion of command lines, to be sourced or installed. */
int mx_reference_bash(struct mx_text *out);
int mx_reference_zsh(struct mx_text *out);

/* A page or script that was written, to a file; NULL: to standard output. */
int mx_reference_put(const struct mx_text *text, const char *path);

/* ---- what the writers share ---- */

/* Does the word that stands for a value ("FILE", "DIR", "RUN") mean something in the file system? */
bool mx_reference_is_path(const char *word);
/* Operands that are words of the program itself, "bash" and "zsh" of "bash|zsh": the next one from *at on, with its
 * length; NULL at the end. */
const char *mx_reference_operand(const char **at, size_t *length);

/* Variables of the environment that the program looks at, with what they do. */
struct mx_reference_variable {
    const char *name, *help;
};
extern const struct mx_reference_variable mx_reference_variables[]; /* ends with a NULL name */

/* Exit codes: "wrong usage or settings". NULL for numbers that it never ends with. */
const char *mx_reference_exit_code(int code);

/* Words of the page of flags and settings that come from no table (reference_markdown.c); ends with NULL. */
extern const char *const mx_reference_words[];

#endif
