/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Translations of what the program shows: help, settings and the pages of runs. The English texts are in the sources;
 * po/fa.po holds the Persian translation of each in gettext format. msgfmt compiles it during the build, and the result
 * is embedded in the program. Messages and logs are not translated.
 *
 * Why not gettext() of the C library: it needs an installed .mo file and a generated locale, which a fresh Debian does
 * not have. This catalogue works on any machine and from any folder.
 *
 * `myxtts reference po` lists all texts; `make po` updates po/fa.po from that list; tests/catalogue.sh fails if a text
 * has no translation. In Persian, text to be typed into a terminal is enclosed in `…`.
 *
 * Memory: all texts are const and live as long as the program. Safe from any thread.
 */
#ifndef MX_BASE_CATALOGUE_H
#define MX_BASE_CATALOGUE_H

#include "base/string.h"

enum mx_words { MX_WORDS_ENGLISH, MX_WORDS_PERSIAN };
extern const char *const mx_words_codes[]; /* "en", "fa", NULL, by enum mx_words */
/* The language with this code; English for NULL and for an unknown code. */
enum mx_words mx_words_named(const char *code);

/* The language that the environment asks for, by the rules of gettext: LC_ALL, else LC_MESSAGES, else LANG. If that
 * names a language at all, the list in LANGUAGE takes precedence. English if no language asked for is available, or if
 * the encoding is not UTF-8. */
enum mx_words mx_catalogue_language(void);

/* The text in this language; the text itself if it is English or not in the catalogue. */
const char *mx_catalogue_find(enum mx_words language, const char *text);
/* The same for a text that means different things in different places: `context` (msgctxt) distinguishes them. */
const char *mx_catalogue_find_in(enum mx_words language, const char *context, const char *text);

/* Appends the text in this language with each {0}, {1} … replaced by that value. In Persian, U+200E is put before a
 * value that begins with a dash; otherwise the dash would be displayed at the other end. */
int mx_catalogue_format(struct mx_string *out, enum mx_words language, const char *text, const char *const *values);

#endif
