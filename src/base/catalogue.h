/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The words of the program in other languages: help, settings and the pages of runs. English stands in the sources;
 * po/fa.po holds the Persian of each text, in the form of gettext. msgfmt compiles it when the program is built, and
 * the program carries the result with it. Messages and logs are not translated.
 *
 * Why not gettext() of the C library: it needs the user's locale to be generated on the machine, which a fresh Debian
 * has not, and an installed .mo file. What is here answers on any machine, from any folder.
 *
 * `myxtts reference po` lists all texts; `make po` brings po/fa.po up to date with them; tests/catalogue.sh fails when
 * one has no translation. In Persian, what is meant for a terminal stands between `…`.
 *
 * Memory: all texts are const and live as long as the program. Safe from any thread.
 */
#ifndef MX_BASE_CATALOGUE_H
#define MX_BASE_CATALOGUE_H

#include "base/string.h"

enum mx_words { MX_WORDS_ENGLISH, MX_WORDS_PERSIAN };
extern const char *const mx_words_codes[]; /* "en", "fa", NULL, by enum mx_words */
/* The language with this code; English for NULL and for a code that is not here. */
enum mx_words mx_words_named(const char *code);

/* The language that the environment asks for, by the rules of gettext: LC_ALL, or LC_MESSAGES, or LANG; where that is
 * a language at all, the list LANGUAGE goes first. English if it asks for none that is here, or for another encoding
 * than UTF-8. */
enum mx_words mx_catalogue_language(void);

/* The text in this language; the text itself if it is English or not in the catalogue. */
const char *mx_catalogue_find(enum mx_words language, const char *text);
/* The same for a text that means different things at different places: `context` (msgctxt) tells them apart. */
const char *mx_catalogue_find_in(enum mx_words language, const char *context, const char *text);

/* Appends the text in this language, each {0}, {1} … replaced by that value. In Persian a value that begins with a dash
 * gets U+200E before it, without which the dash would be shown behind it. */
int mx_catalogue_say(struct mx_string *out, enum mx_words language, const char *text, const char *const *values);

#endif
