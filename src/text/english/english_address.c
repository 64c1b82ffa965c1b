/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * English streets and states; see english_forms.h.
 */
#include <string.h>

#include "text/english/english_forms.h"

bool mx_english_is_street(const struct mx_form_match *match)
{
    for (size_t i = 0; i < match->captured; i++) {
        const struct mx_form_capture *const word = &match->captures[i];
        if (word->name[0] == 'w' && !mx_text_is_upper(match->points[word->at])) return false;
    }
    return mx_form_capture(match, "word") != NULL || mx_form_capture(match, "i2") != NULL;
}

void mx_english_street_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    char digits[MX_FORM_DIGITS + 2];
    mx_form_digits(match, mx_form_capture(match, "i"), digits);
    const size_t length = strlen(digits);
    const bool zeros = length == 3 && digits[1] == '0' && digits[2] != '0';
    mx_form_spoken(match, length > 4 || zeros ? "{i:digits}" : length < 3 ? "{i:plain}" : "{i:pairs}", out);
    mx_form_spoken(match, "( {dir})( {i2:ordinal})( {word})( {word2})( {word3})( {word4}) {street}", out);
}

/* After the name of a place: "Santa Clara, CA". */
bool mx_english_is_state(const struct mx_form_match *match)
{
    size_t at = match->begin;
    while (at > 0 && mx_text_is_letter(match->points[at - 1])) at--;
    const uint32_t after = mx_form_point(match, match->end);
    return at < match->begin && mx_text_is_upper(match->points[at]) &&
           (after == 0 || after == '.' || after == ',' || after == ' ');
}
