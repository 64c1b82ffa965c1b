/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The walk over a text that finds written forms; see forms.h. Only the output takes memory. Each place tries each row
 * once, and a row looks at a bounded number of characters (runs of digits and letters aside, of which only the first
 * character is such a place), so time is linear in the length of the text.
 */
#include "text/forms/forms.h"

#include <string.h>

static bool is_wordlike(uint32_t point)
{
    return mx_text_is_letter(point) || mx_text_is_digit(point) || mx_text_is_mark(point);
}

/* Whether a form may begin at a point that follows `before`. */
static bool is_place(uint32_t before, uint32_t point)
{
    if (point == ' ' || mx_text_is_mark(point)) return false;
    return !is_wordlike(before) || !is_wordlike(point) || mx_text_is_digit(before) != mx_text_is_digit(point);
}

static bool form_find(struct mx_form_match *best, struct mx_form_match *match)
{
    best->end = 0;
    for (const struct mx_form_row *row = match->forms->rows; row->rule != NULL; row++)
        if (mx_form_match_row(match, row) && match->end > best->end) *best = *match;
    return best->end > 0;
}

/* Forms before which a hyphen is a minus. */
static bool takes_sign(const struct mx_form_match *match)
{
    static const char *const rules[] = {"number", "money", "measure", "percent", "fraction"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(match->row->rule, rules[i])) return true;
    return false;
}

static bool minus_at(const struct mx_form_match *match, size_t at)
{
    const uint32_t before = at > 0 ? match->points[at - 1] : ' ', next = mx_form_point(match, at + 1);
    return match->forms->minus != NULL && match->points[at] == '-' && next != ' ' && next != '-' &&
           !mx_text_is_letter(next) && (before == ' ' || before == '(' || before == '=' || before == '/');
}

/* The full stop of an abbreviation at the end of a form also ends the sentence where nothing follows, or a capital, unless
 * it belongs to what follows: "Dr. Müller", "der 1. Mai". */
static bool sentence_ends(const struct mx_form_match *match)
{
    static const char *const never[] = {"title", "ordinal", "roman", "weekday"};
    size_t at = match->end;
    if (match->points[at - 1] != '.') return false;
    while (mx_form_point(match, at) == '"' || mx_form_point(match, at) == '\'' || mx_form_point(match, at) == ')') at++;
    if (at >= match->count) return true;
    if (MX_FORM_LISTED(never, match->row->rule)) return false;
    if (match->forms->capitals && (!strcmp(match->row->rule, "measure") || !strcmp(match->row->rule, "money")))
        return false;
    if (match->points[at] != ' ') return false;
    at++;
    while (mx_form_point(match, at) == '"' || mx_form_point(match, at) == '\'' || mx_form_point(match, at) == '(') at++;
    return mx_text_is_upper(mx_form_point(match, at));
}

static void form_verbalise(const struct mx_form_match *match, bool minus, struct mx_text_points *out,
                           const struct mx_form_told *told)
{
    if (minus) mx_form_put(out, match->forms->minus);
    const size_t begin = out->count;
    if (match->row->say != NULL)
        match->row->say(match, out);
    else
        mx_form_spoken(match, match->row->spoken, out);
    if (told != NULL && !out->failure)
        told->tell(told->context, match->row->rule, match->points + match->begin, match->end - match->begin,
                   out->data + begin, out->count - begin);
    if (sentence_ends(match)) mx_form_mark(out, '.');
    const uint32_t next = mx_form_point(match, match->end), last = out->count > 0 ? out->data[out->count - 1] : ' ';
    if (is_wordlike(next) && last != ' ') mx_text_points_push(out, ' ');
}

/* ¼, ½ and ¾ as digits; cleaners that leave signs to espeak-ng keep them. False: there are none. */
static bool quarters_write(const struct mx_text_points *in, struct mx_text_points *out)
{
    static const char *const written[] = {"1/4", "1/2", "3/4"};
    size_t at = 0;
    while (at < in->count && !(in->data[at] >= 0xbc && in->data[at] <= 0xbe)) at++;
    if (at == in->count) return false;
    for (size_t i = 0; i < in->count; i++) {
        const uint32_t point = in->data[i];
        if (point < 0xbc || point > 0xbe) {
            mx_text_points_push(out, point);
            continue;
        }
        if (i > 0 && mx_text_is_digit(in->data[i - 1])) mx_text_points_push(out, ' ');
        for (const char *c = written[point - 0xbc]; *c != 0; c++) mx_text_points_push(out, (unsigned char)*c);
    }
    return true;
}

void mx_forms_apply(enum mx_language_id language, const struct mx_text_points *in, struct mx_text_points *out,
                    struct mx_text_report *report, const struct mx_form_told *told)
{
    struct mx_text_points plain = {0};
    if (quarters_write(in, &plain)) in = &plain;
    struct mx_form_match match = {.id = language,
                                  .forms = mx_language_get(language)->rules->forms,
                                  .points = in->data,
                                  .count = in->count},
                         best;
    for (size_t at = 0; at < in->count && !out->failure;) {
        const uint32_t point = in->data[at], before = at > 0 ? in->data[at - 1] : ' ';
        const bool minus = minus_at(&match, at);
        match.begin = at + minus;
        best = match;
        if (is_place(before, point) && form_find(&best, &match) && (!minus || takes_sign(&best))) {
            form_verbalise(&best, minus, out, told);
            report->numbers_read++;
            at = best.end;
            continue;
        }
        mx_text_points_push(out, point);
        at++;
    }
    if (plain.failure) out->failure = plain.failure;
    mx_text_points_release(&plain);
}
