/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * English letters that stand for themselves and numerals without a context: "A B C" begins with a letter, "A dog" with
 * the article; "II" alone is two. From version 2 of the cleaner on; see english.h.
 */
#include <string.h>

#include "text/english/english.h"

/* Words before a letter. */
static const char *const named[] = {
    "letter", "letters",  "vowel",    "vitamin",  "plan",     "option",   "grade",  "section",   "part",    "type",
    "class",  "group",    "team",     "category", "appendix", "exhibit",  "figure", "table",     "point",   "hepatitis",
    "level",  "schedule", "series",   "version",  "unit",     "block",    "room",   "row",       "gate",    "terminal",
    "hall",   "platform", "building", "side",     "form",     "formula",  "model",  "influenza", "problem", "question",
    "answer", "exercise", "annex",    "wing",     "zone",     "division", "league", "step",      "case",    "key"};

static bool is_alone(const struct mx_text_scan *scan, size_t ahead)
{
    return mx_text_is_letter(mx_text_peek(scan, ahead)) && !mx_text_is_letter(mx_text_peek(scan, ahead + 1)) &&
           mx_text_peek(scan, ahead + 1) != '\'';
}

/* A capital that stands alone, but not the pronoun. */
static bool capital_alone(const struct mx_text_scan *scan, size_t ahead)
{
    const uint32_t point = mx_text_peek(scan, ahead);
    return is_alone(scan, ahead) && mx_text_is_upper(point) && point != 'I';
}

/* "or B", "and B", "/B" from `ahead` on. */
static bool another_follows(const struct mx_text_scan *scan, size_t ahead)
{
    static const char *const between[] = {"or", "and", "to", "through", "versus", "vs"};
    if (mx_text_peek(scan, ahead) == '/') return capital_alone(scan, ahead + 1);
    if (mx_text_peek(scan, ahead) != ' ') return false;
    if (capital_alone(scan, ahead + 1)) return true;
    for (size_t i = 0; i < sizeof between / sizeof *between; i++)
        if (mx_text_word_is(scan, ahead + 1, between[i]) && capital_alone(scan, ahead + strlen(between[i]) + 2))
            return true;
    return false;
}

/* Whether the sentence continues around it: no quotation mark, colon or end of a sentence before, and no title in which every
 * word has a capital. */
static bool inside_sentence(const struct mx_english *english)
{
    const struct mx_text_scan *const scan = english->scan;
    if (english->sentence_start || english->previous_capital || mx_text_before(scan) != ' ' || scan->at < 2)
        return false;
    const uint32_t end = scan->points[scan->at - 2];
    if (!mx_text_is_letter(end) && end != ',') return false;
    return mx_text_peek(scan, 1) != ' ' || !mx_text_is_upper(mx_text_peek(scan, 2));
}

/* The word right before, with nothing but a blank between; "" if there is none. */
static const char *word_before(const struct mx_english *english)
{
    const struct mx_text_scan *const scan = english->scan;
    const bool near = scan->at >= 2 && mx_text_before(scan) == ' ' && mx_text_is_letter(scan->points[scan->at - 2]);
    return near ? english->previous : "";
}

bool mx_english_is_letter_a(const struct mx_english *english)
{
    const struct mx_text_scan *const scan = english->scan;
    const bool capital = mx_text_peek(scan, 0) == 'A';
    const char *const previous = word_before(english);
    if (english->shouting || mx_text_before(scan) == '\'' || mx_text_peek(scan, 1) == '\'') return false;
    if (!strcmp(previous, "letter") || !strcmp(previous, "vowel")) return true;
    if (!capital)
        return mx_text_peek(scan, 1) == ' ' && is_alone(scan, 2) && mx_text_peek(scan, 2) != 'i' &&
               mx_text_peek(scan, 3) == ' ' && is_alone(scan, 4);
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (!strcmp(previous, named[i])) return true;
    if (!strcmp(previous, "an") || another_follows(scan, 1)) return true;
    if (previous[0] != 0 && previous[1] == 0 && previous[0] != 'i' && english->previous_capital) return true; /* B A */
    return inside_sentence(english);
}

bool mx_english_is_numeral(const struct mx_english *english, const char *lower, size_t length, size_t capitals)
{
    static const char *const small[] = {"ii", "iii", "vii", "viii", "xii", "xiii"};
    const struct mx_text_scan *const scan = english->scan;
    if (length < 2 || strspn(lower, "ivx") != length || !strcmp(lower, "xx") || !strcmp(lower, "xxx")) return false;
    if (capitals == length) return true;
    if (capitals > 0) return false;
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        if (!strcmp(lower, small[i])) return true;
    return mx_text_before(scan) == '(' && mx_text_peek(scan, length) == ')';
}
