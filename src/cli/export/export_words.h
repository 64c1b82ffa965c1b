/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Words for the lexicon of an exported voice, where the user gives no list.
 */
#ifndef MX_CLI_EXPORT_WORDS_H
#define MX_CLI_EXPORT_WORDS_H

#include "text/language.h"

/* Frequent words of a language: those of the program's own sentences, and those in the dictionary of espeak-ng, which its
 * rules alone would get wrong. *words is text, which the caller frees; MX_ERR_USAGE if there are none. Logs what the list
 * has and what it lacks. */
int mx_command_words_find(enum mx_language_id language, char **words);

#endif
