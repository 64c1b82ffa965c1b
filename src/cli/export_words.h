/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Words for the lexicon of an exported voice, where the user gives no list.
 */
#ifndef MX_CLI_EXPORT_WORDS_H
#define MX_CLI_EXPORT_WORDS_H

#include "text/language.h"

/* Frequent words of a language: those of the program's own sentences, and those in the dictionary of espeak-ng, which are
 * the ones that its rules do not say right. *words is text, the caller's to free; MX_ERR_USAGE if there are none. Logs what
 * the list has, and what it has not. */
int mx_command_words_find(enum mx_language_id language, char **words);

#endif
