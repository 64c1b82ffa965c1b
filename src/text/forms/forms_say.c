/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Saying what the rows of written forms captured; see forms.h. Only the output takes memory.
 */
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "base/string.h"
#include "text/forms/forms.h"

/* ---- text ---- */

static void push_text(struct mx_text_points *out, const char *text)
{
    while (*text != 0) {
        uint32_t point;
        text += mx_utf8_decode(text, &point);
        if (point != ' ' || (out->count > 0 && out->data[out->count - 1] != ' ')) mx_text_points_push(out, point);
    }
}

static void push_gap(struct mx_text_points *out)
{
    const uint32_t last = out->count > 0 ? out->data[out->count - 1] : ' ';
    if (last != ' ' && last != '(' && last != '"' && last != '\'') mx_text_points_push(out, ' ');
}

void mx_form_put(struct mx_text_points *out, const char *words)
{
    push_gap(out);
    push_text(out, words);
}

void mx_form_mark(struct mx_text_points *out, char mark)
{
    while (out->count > 0 && out->data[out->count - 1] == ' ') out->count--;
    mx_text_points_push(out, (unsigned char)mark);
    mx_text_points_push(out, ' ');
}

/* ---- numbers ---- */

/* By the rule set, or by one that says less: "cardinal-feminine-genitive", "cardinal-feminine", "cardinal". */
static bool rules_try(const struct mx_form_match *match, const char *rules, const char *digits, char out[MX_ICU_WORDS])
{
    char name[MX_ICU_WORDS];
    (void)snprintf(name, sizeof name, "%s", rules);
    for (;;) {
        if (match->forms->number != NULL && match->forms->number(match, name, digits, out)) return true;
        if (mx_icu_number(match->id, name, digits, out)) return true;
        char *const part = strrchr(name, '-');
        if (part == NULL) break;
        *part = 0;
    }
    return mx_icu_number(match->id, match->forms->cardinal, digits, out);
}

static void digits_push(const struct mx_form_match *match, const char *digits, struct mx_text_points *out)
{
    for (; *digits != 0; digits++) {
        char words[MX_ICU_WORDS];
        if (*digits < '0' || *digits > '9') continue;
        push_gap(out);
        if (mx_icu_number(match->id, match->forms->cardinal, (const char[]){*digits, 0}, words)) push_text(out, words);
    }
}

void mx_form_digits_put(const struct mx_form_match *match, const char *digits, struct mx_text_points *out)
{
    digits_push(match, digits, out);
}

void mx_form_number(const struct mx_form_match *match, const char *rules, const char *digits,
                    struct mx_text_points *out)
{
    char words[MX_ICU_WORDS], whole[MX_FORM_DIGITS + 2];
    size_t length = strcspn(digits, ".");
    if (match->forms->number != NULL && match->forms->number(match, rules, digits, words)) {
        mx_form_put(out, words);
        return;
    }
    const char *const fraction = digits[length] == '.' ? digits + length + 1 : NULL;
    while (length > 1 && *digits == '0') digits++, length--;
    (void)snprintf(whole, sizeof whole, "%.*s", (int)length, digits);
    if (whole[0] != 0 && rules_try(match, rules, whole, words))
        mx_form_put(out, words);
    else
        digits_push(match, whole, out);
    if (fraction == NULL) return;
    mx_form_put(out, match->forms->point);
    digits_push(match, fraction, out);
}

/* The digits of a run that no buffer holds, one after the other. */
static void run_push(const struct mx_form_match *match, const struct mx_form_capture *capture,
                     struct mx_text_points *out)
{
    for (size_t i = 0; i < capture->length; i++) {
        const uint32_t point = match->points[capture->at + i];
        if (point == (unsigned char)match->forms->decimal &&
            mx_text_is_digit(mx_form_point(match, capture->at + i + 1)))
            mx_form_put(out, match->forms->point);
        else if (mx_text_is_digit(point))
            digits_push(match, (const char[]){(char)point, 0}, out);
    }
}

static bool is_number(const struct mx_form_match *match, const struct mx_form_capture *capture)
{
    const uint32_t first = mx_form_point(match, capture->at);
    return mx_text_is_digit(first) ||
           (first == (unsigned char)match->forms->decimal && mx_text_is_digit(mx_form_point(match, capture->at + 1)));
}

void mx_form_item_gender(const struct mx_form_match *match, const struct mx_form_item *item, char out[MX_ICU_WORDS])
{
    out[0] = 0;
    if (item->gender != NULL)
        (void)snprintf(out, MX_ICU_WORDS, "%s", item->gender);
    else if (item->spoken[0] == '@' && !mx_icu_unit_gender(match->id, item->spoken + 1, out))
        out[0] = 0;
}

/* The rule set for a number in this place; `capture` may be NULL. */
static void agreed_get(const struct mx_form_match *match, const struct mx_form_capture *capture, bool ordinal,
                       const char *gender, char rules[MX_ICU_WORDS])
{
    char more[MX_ICU_WORDS];
    (void)snprintf(more, sizeof more, "%s", gender);
    if (match->forms->agree != NULL) match->forms->agree(match, capture, ordinal, gender, more);
    if (more[0] != 0)
        (void)snprintf(rules, MX_ICU_WORDS, "%s-%.400s", ordinal ? "ordinal" : "cardinal", more);
    else
        (void)snprintf(rules, MX_ICU_WORDS, "%s", ordinal ? "ordinal" : match->forms->cardinal);
}

static void number_verbalise(const struct mx_form_match *match, const struct mx_form_capture *capture,
                             const char *rules, struct mx_text_points *out)
{
    char digits[MX_FORM_DIGITS + 2], full[MX_ICU_WORDS] = "";
    mx_form_digits(match, capture, digits);
    if (capture->value > 0 && !is_number(match, capture))
        (void)snprintf(digits, sizeof digits, "%zu", capture->value); /* Roman */
    if (digits[0] == 0 || !strcmp(rules, "digits")) {
        run_push(match, capture, out);
        return;
    }
    if (!strcmp(rules, "minutes") && strspn(digits, "0") == strlen(digits)) return;
    if (!strcmp(rules, "year")) rules = "numbering-year";
    if (!strcmp(rules, "cardinal") || !strcmp(rules, "ordinal")) {
        char gender[MX_ICU_WORDS] = "";
        for (const struct mx_form_capture *c = capture + 1; c < match->captures + match->captured && gender[0] == 0;
             c++)
            if (c->item != NULL) mx_form_item_gender(match, c->item, gender);
        agreed_get(match, capture, rules[0] == 'o', gender, full);
        rules = full;
    }
    mx_form_number(match, rules, digits, out);
}

/* ---- items of lists ---- */

/* The number that the words of an item agree with: the one that is named, or the first of the row. */
static void counted_get(const struct mx_form_match *match, const char *name, char digits[MX_FORM_DIGITS + 2])
{
    const struct mx_form_capture *capture = name == NULL ? NULL : mx_form_capture(match, name);
    for (size_t i = 0; capture == NULL && i < match->captured; i++)
        if (is_number(match, &match->captures[i])) capture = &match->captures[i];
    if (name != NULL && (!strcmp(name, "one") || !strcmp(name, "few") || !strcmp(name, "many")))
        strcpy(digits, name[0] == 'o' ? "1" : name[0] == 'f' ? "2" : "5");
    else if (capture == NULL)
        strcpy(digits, "1");
    else
        mx_form_digits(match, capture, digits);
}

/* The words of an item for a number, without agreement of cases. */
static void item_words(const struct mx_form_match *match, const struct mx_form_item *item, const char *digits,
                       char out[MX_ICU_WORDS])
{
    static const size_t choices[][MX_ICU_OTHER + 1] = {
        {1, 0, 1, 1, 1, 1}, {2, 0, 1, 1, 2, 1}, {2, 0, 1, 1, 2, 3}}; /* by two, three and four forms */
    const char *form = item->spoken;
    size_t forms = 1;
    if (form[0] == '@' || form[0] == '$') {
        const bool found = form[0] == '@' ? mx_icu_unit(match->id, form + 1, digits, out)
                                          : mx_icu_currency(match->id, form + 1, digits, out);
        if (!found) (void)snprintf(out, MX_ICU_WORDS, "%s", form + 1);
        return;
    }
    for (const char *c = form; *c != 0; c++) forms += *c == '|';
    size_t wanted = forms > 1 ? choices[forms > 4 ? 2 : forms - 2][mx_icu_plural(match->id, digits)] : 0;
    while (wanted-- > 0) form = strchr(form, '|') + 1;
    (void)snprintf(out, MX_ICU_WORDS, "%.*s", (int)strcspn(form, "|"), form);
}

static void item_put(const struct mx_form_match *match, const struct mx_form_item *item, const char *digits,
                     struct mx_text_points *out)
{
    char words[MX_ICU_WORDS], one[MX_ICU_WORDS], two[MX_ICU_WORDS], five[MX_ICU_WORDS];
    const bool counted = item->spoken[0] == '@' || item->spoken[0] == '$' || strchr(item->spoken, '|') != NULL;
    if (counted && match->forms->decline != NULL) {
        item_words(match, item, "1", one);
        item_words(match, item, "2", two);
        item_words(match, item, "5", five);
        if (match->forms->decline(match, digits, (const char *const[]){one, two, five}, words)) {
            mx_form_put(out, words);
            return;
        }
    }
    item_words(match, item, digits, words);
    mx_form_put(out, words);
}

static void item_verbalise(const struct mx_form_match *match, const struct mx_form_item *item, const char *counted,
                           struct mx_text_points *out)
{
    char digits[MX_FORM_DIGITS + 2];
    counted_get(match, counted, digits);
    item_put(match, item, digits, out);
}

void mx_form_counted(const struct mx_form_match *match, const char *digits, const struct mx_form_item *item,
                     struct mx_text_points *out)
{
    char gender[MX_ICU_WORDS], rules[MX_ICU_WORDS];
    mx_form_item_gender(match, item, gender);
    agreed_get(match, NULL, false, gender, rules);
    mx_form_number(match, rules, digits, out);
    item_put(match, item, digits, out);
}

/* ---- captures ---- */

static void letters_verbalise(const struct mx_form_match *match, const struct mx_form_capture *capture,
                              struct mx_text_points *out)
{
    for (size_t i = 0; i < capture->length; i++) {
        const uint32_t point = match->points[capture->at + i];
        push_gap(out);
        mx_text_points_push(out, (uint32_t)utf8proc_toupper((utf8proc_int32_t)point));
    }
}

static void written_verbalise(const struct mx_form_match *match, const struct mx_form_capture *capture,
                              struct mx_text_points *out)
{
    for (size_t i = 0; i < capture->length; i++) mx_text_points_push(out, match->points[capture->at + i]);
}

static void name_verbalise(const struct mx_form_match *match, const struct mx_form_capture *capture, bool month,
                           bool alone, struct mx_text_points *out)
{
    const bool other = month && capture->value >= 12; /* of the other calendar */
    const char *const name = mx_icu_name(match->id, other ? match->forms->calendar : NULL,
                                         !month  ? MX_ICU_DAY
                                         : alone ? MX_ICU_MONTH_ALONE
                                                 : MX_ICU_MONTH,
                                         capture->value - (other ? 12 : 0));
    if (name != NULL) mx_form_put(out, name);
}

/* {name}, {name:how}, {name>list}, {name>list:how}; `text` is what stands between the braces. */
static void capture_verbalise(const struct mx_form_match *match, const char *text, size_t length,
                              struct mx_text_points *out)
{
    char name[MX_FORM_WORD], *list, *how;
    (void)snprintf(name, sizeof name, "%.*s", (int)length, text);
    how = strchr(name, ':');
    if (how != NULL) *how++ = 0;
    list = strchr(name, '>');
    if (list != NULL) *list++ = 0;
    const struct mx_form_capture *const capture = mx_form_capture(match, name);
    if (capture == NULL) return;
    if (list != NULL && capture->item != NULL) {
        const struct mx_form_item *const item = mx_form_item_find(match->forms, list, capture->item->written);
        if (item != NULL) item_verbalise(match, item, how, out);
    } else if (capture->item != NULL) {
        item_verbalise(match, capture->item, how, out);
    } else if (how != NULL && !strcmp(how, "letters")) {
        letters_verbalise(match, capture, out);
    } else if (!strncmp(name, "month", 5) || !strncmp(name, "weekday", 7)) {
        name_verbalise(match, capture, name[0] == 'm', how != NULL && !strcmp(how, "alone"), out);
    } else if (!strncmp(name, "mon", 3) && how != NULL && !strcmp(how, "name")) {
        struct mx_form_capture named = *capture;
        named.value = mx_form_value(match, capture) - 1;
        name_verbalise(match, &named, true, false, out);
    } else if (is_number(match, capture) || !strncmp(name, "rom", 3)) {
        number_verbalise(match, capture, how == NULL ? "cardinal" : how, out);
    } else {
        push_gap(out);
        written_verbalise(match, capture, out);
    }
}

/* Whether everything that a part of `spoken` names was captured. */
static bool part_holds(const struct mx_form_match *match, const char *text, const char *end)
{
    for (; text < end; text++) {
        char name[MX_FORM_WORD];
        if (*text != '{') continue;
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(text + 1, ":>}"), text + 1);
        if (mx_form_capture(match, name) == NULL) return false;
    }
    return true;
}

static void spoken_part(const struct mx_form_match *match, const char *text, const char *end,
                        struct mx_text_points *out)
{
    while (text < end) {
        const char *close;
        if (*text == '{') {
            close = memchr(text, '}', (size_t)(end - text));
            capture_verbalise(match, text + 1, (size_t)(close - text - 1), out);
            text = close + 1;
        } else if (*text == '(') {
            close = memchr(text, ')', (size_t)(end - text));
            if (part_holds(match, text, close)) spoken_part(match, text + 1, close, out);
            text = close + 1;
        } else {
            char one[8] = "";
            uint32_t point;
            memcpy(one, text, mx_utf8_decode(text, &point));
            if (point == ',') {
                mx_form_mark(out, ',');
            } else {
                const bool begins =
                    mx_text_is_letter(point) && (out->count == 0 || mx_text_is_digit(out->data[out->count - 1]));
                if (begins) push_gap(out);
                push_text(out, one);
            }
            text += strlen(one);
        }
    }
}

void mx_form_spoken(const struct mx_form_match *match, const char *spoken, struct mx_text_points *out)
{
    push_gap(out);
    spoken_part(match, spoken, spoken + strlen(spoken), out);
}
