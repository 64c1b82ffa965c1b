/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Numbers and amounts of money in every language, and small things that rows ask for; see forms.h. Only the output takes
 * memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/forms/forms.h"

const struct mx_form_item mx_form_powers[] = {{"⁰", "0", 0},
                                              {"¹", "1", 0},
                                              {"²", "2", 0},
                                              {"³", "3", 0},
                                              {"⁴", "4", 0},
                                              {"⁵", "5", 0},
                                              {"⁶", "6", 0},
                                              {"⁷", "7", 0},
                                              {"⁸", "8", 0},
                                              {"⁹", "9", 0},
                                              {0}};

bool mx_form_listed(const char *const *list, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i], word)) return true;
    return false;
}

bool mx_form_ends_in(const char *word, const char *ending)
{
    const size_t length = strlen(word), wanted = strlen(ending);
    return length >= wanted && !strcmp(word + length - wanted, ending);
}

unsigned mx_form_value_of(const struct mx_form_match *match, const char *name)
{
    const struct mx_form_capture *const capture = mx_form_capture(match, name);
    return capture == NULL ? 0 : mx_form_value(match, capture);
}

void mx_form_value_put(const struct mx_form_match *match, const char *rules, unsigned value, struct mx_text_points *out)
{
    char digits[16];
    (void)snprintf(digits, sizeof digits, "%u", value);
    mx_form_number(match, rules, digits, out);
}

unsigned mx_form_year_value(const struct mx_form_match *match)
{
    const unsigned year = mx_form_value_of(match, "year"), yy = mx_form_value_of(match, "yy");
    return year != 0 ? year : yy + (yy >= 50 ? 1900 : 2000);
}

void mx_form_number_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    const struct mx_form_capture *const number = mx_form_capture(match, "n");
    const bool spelled = number->length > 1 && match->points[number->at] == '0' &&
                         mx_text_is_digit(match->points[number->at + 1]); /* 007 */
    mx_form_spoken(match, spelled ? "{n:digits}" : "{n}", out);
}

bool mx_form_is_range(const struct mx_form_match *match)
{
    const uint32_t after = mx_form_point(match, match->end);
    const struct mx_form_capture *const n = mx_form_capture(match, "n"), *const n2 = mx_form_capture(match, "n2");
    if (n->length == 4 && n2->length == 4 && match->end - match->begin == 9 && mx_form_value(match, n2) >= 3000)
        return false; /* 1234-5678, a telephone number */
    return after != '=' && !(after == ' ' && mx_form_point(match, match->end + 1) == '=');
}

bool mx_form_is_fraction(const struct mx_form_match *match)
{
    const uint32_t before = match->begin > 0 ? match->points[match->begin - 1] : 0;
    return before != '/' && mx_form_value_of(match, "i") > 0 && mx_form_value_of(match, "i2") > 1;
}

bool mx_form_is_unit(const struct mx_form_match *match)
{
    const struct mx_form_capture *const unit = mx_form_capture(match, "unit");
    const bool apart = match->points[unit->at - 1] == ' ';
    if (mx_form_point(match, match->end) == '\'') return false;
    for (const char *const *doubtful = match->forms->doubtful; doubtful != NULL && *doubtful != NULL; doubtful++)
        if (!strcmp(*doubtful + 1, unit->item->written)) return apart == (**doubtful == '-');
    return true;
}

bool mx_form_is_ratio(const struct mx_form_match *match)
{
    char both[MX_FORM_WORD];
    const char *const unit = mx_form_capture(match, "unit")->item->written, *const unit2 =
                                                                                mx_form_capture(match, "unit2")
                                                                                    ->item->written;
    (void)snprintf(both, sizeof both, "%.24s/%.*s", unit, (int)strcspn(unit2, "."), unit2);
    return mx_form_item_find(match->forms, "unit", both) == NULL;
}

bool mx_form_is_dated(const struct mx_form_match *match)
{
    char before[MX_FORM_WORD];
    mx_form_word_before(match, 0, before);
    return before[0] != 0 && mx_form_item_find(match->forms, "dated", before) != NULL;
}

unsigned mx_form_power(const struct mx_form_match *match, bool *minus)
{
    unsigned exponent = 0;
    *minus = false;
    for (size_t i = match->begin; i < match->end; i++) *minus |= match->points[i] == 0x207b;
    for (size_t i = 0; i < match->captured; i++)
        if (match->captures[i].name[0] == 'p' && match->captures[i].item != NULL)
            exponent = exponent * 10 + (unsigned)atoi(match->captures[i].item->spoken);
    return exponent;
}

/* ---- money ---- */

/* An amount, with the smaller coin for hundredths: twenty dollars one cent. */
static void amount_verbalise(const struct mx_form_match *match, const struct mx_form_item *currency, const char *digits,
                             struct mx_text_points *out)
{
    char whole[MX_FORM_DIGITS + 4], small[16];
    const size_t length = strcspn(digits, ".");
    const char *const fraction = digits[length] == '.' ? digits + length + 1 : "";
    size_t decimals = strlen(fraction);
    while (decimals > 0 && fraction[decimals - 1] == '0') decimals--;
    const struct mx_form_item *const coin = mx_form_item_find(match->forms, "minor", currency->written);
    (void)snprintf(whole, sizeof whole, "%.*s", (int)length, digits);
    if (decimals > 2 || (decimals > 0 && coin == NULL)) {
        (void)snprintf(whole, sizeof whole, "%.*s", (int)(length + 1 + decimals), digits);
        mx_form_counted(match, whole, currency, out);
        return;
    }
    const unsigned cents =
        decimals == 0 ? 0 : (unsigned)(fraction[0] - '0') * 10 + (decimals > 1 ? (unsigned)(fraction[1] - '0') : 0);
    const bool any = strspn(whole, "0") < strlen(whole);
    if (any || cents == 0) mx_form_counted(match, whole[0] == 0 ? "0" : whole, currency, out);
    if (cents == 0) return;
    (void)snprintf(small, sizeof small, "%u", cents);
    mx_form_counted(match, small, coin, out);
}

void mx_form_money_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    static const char *const names[] = {"n", "n2", "i"};
    const struct mx_form_capture *currency = mx_form_capture(match, "currency");
    if (currency == NULL) currency = mx_form_capture(match, "code");
    for (size_t i = 0; i < 3; i++) {
        char digits[MX_FORM_DIGITS + 2], full[MX_FORM_DIGITS + 4];
        const struct mx_form_capture *const capture = mx_form_capture(match, names[i]);
        if (capture == NULL) continue;
        mx_form_digits(match, capture, digits);
        if (digits[0] == 0) { /* longer than any amount */
            (void)snprintf(full, sizeof full, "{%s:digits} {%.*s:many}", names[i], (int)currency->name_length,
                           currency->name);
            mx_form_spoken(match, full, out);
            continue;
        }
        (void)snprintf(full, sizeof full, "%s%s", i == 2 ? "." : "", digits);
        if (i == 1) mx_form_put(out, match->forms->to);
        amount_verbalise(match, currency->item, full, out);
    }
    if (match->row->spoken != NULL) mx_form_spoken(match, match->row->spoken, out);
    if (mx_form_capture(match, "unit") == NULL) return;
    const struct mx_form_item *const per = mx_form_item_find(match->forms, "net", "per");
    mx_form_put(out, per != NULL ? per->spoken : "/");
    mx_form_spoken(match, "{unit:one}", out);
}
