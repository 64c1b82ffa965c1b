/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/text/english: what the rows of English (english_forms.c) have in addition to templates, english_says.c and
 * english_address.c, and the lists, english_lists.c.
 */
#ifndef MX_TEXT_ENGLISH_FORMS_H
#define MX_TEXT_ENGLISH_FORMS_H

#include "text/forms/forms.h"

extern const struct mx_form_list mx_english_lists[];
extern const char *const mx_english_doubtful[]; /* forms.h */

/* Words for a number, with "and" before its last two digits. */
bool mx_english_number(const struct mx_form_match *match, const char *rules, const char *digits,
                       char out[MX_ICU_WORDS]);

bool mx_english_is_month(const struct mx_form_match *match); /* "May 5", but not "you may 5" */
bool mx_english_after_the(const struct mx_form_match *match);
bool mx_english_month_first(const struct mx_form_match *match);
bool mx_english_is_numbered(const struct mx_form_match *match);
bool mx_english_is_decade(const struct mx_form_match *match);
bool mx_english_is_year(const struct mx_form_match *match);
bool mx_english_is_hour(const struct mx_form_match *match);
bool mx_english_is_fraction(const struct mx_form_match *match);
bool mx_english_is_street(const struct mx_form_match *match);
bool mx_english_is_state(const struct mx_form_match *match);

void mx_english_date_verbalise(const struct mx_form_match *match, struct mx_text_points *out);
void mx_english_decade_verbalise(const struct mx_form_match *match, struct mx_text_points *out);
void mx_english_time_verbalise(const struct mx_form_match *match, struct mx_text_points *out);
void mx_english_duration_verbalise(const struct mx_form_match *match, struct mx_text_points *out);
void mx_english_fraction_verbalise(const struct mx_form_match *match, struct mx_text_points *out);
void mx_english_ordinal_verbalise(const struct mx_form_match *match, struct mx_text_points *out);
void mx_english_power_verbalise(const struct mx_form_match *match, struct mx_text_points *out);
void mx_english_street_verbalise(const struct mx_form_match *match, struct mx_text_points *out);

#endif
