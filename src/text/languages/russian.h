/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/text/languages: the lists of the written forms of Russian (russian_lists.c), and how its numbers are
 * declined (russian_number.c).
 */
#ifndef MX_TEXT_RUSSIAN_H
#define MX_TEXT_RUSSIAN_H

#include "text/forms/forms.h"

extern const struct mx_form_list mx_russian_lists[];

/* The case that the word before a form asks for: "" (nominative), "genitive", "dative", "accusative", "ablative",
 * "locative", as ICU calls them. */
const char *mx_russian_case(const struct mx_form_match *match);
/* For mx_forms: agreement, declined units, numbers. */
void mx_russian_agree(const struct mx_form_match *match, const struct mx_form_capture *number, bool ordinal,
                      const char *gender, char out[MX_ICU_WORDS]);
bool mx_russian_decline(const struct mx_form_match *match, const char *digits, const char *const words[3],
                        char out[MX_ICU_WORDS]);
bool mx_russian_number(const struct mx_form_match *match, const char *rules, const char *digits,
                       char out[MX_ICU_WORDS]);

#endif
