/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Russian numbers and units in their cases; see russian.h. ICU has the cardinal numbers in all cases; ordinal numbers are
 * declined here from its nominative, since several of its forms are wrong or missing. Nothing here takes memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "text/languages/russian.h"

#define SENTENCE_MOST 200 /* points that are looked at for the first word of a sentence */

enum gender { MASCULINE, FEMININE, NEUTER, PLURAL };
enum grammatical_case { NOMINATIVE, GENITIVE, DATIVE, ACCUSATIVE, ABLATIVE, LOCATIVE, CASES };

static const char *const case_names[CASES] = {"", "genitive", "dative", "accusative", "ablative", "locative"};

/* "Возьмите … 1 луковицу": the sentence begins with an imperative. */
static bool after_imperative(const struct mx_form_match *match)
{
    size_t at = match->begin, begin = at, letters = 0;
    while (at > 0 && match->begin - at < SENTENCE_MOST && match->points[at - 1] != '!' &&
           match->points[at - 1] != '?' && match->points[at - 1] != ':')
        at--;
    while (at < match->begin && !mx_text_is_letter(match->points[at])) at++;
    for (begin = at; at < match->begin && mx_text_is_letter(match->points[at]); at++) letters++;
    if (letters < 4 || match->points[at - 1] != 0x435 || match->points[at - 2] != 0x442) return false; /* те */
    const uint32_t before = match->points[at - 3];
    return mx_text_is_upper(match->points[begin]) &&
           (before == 0x438 || before == 0x439 || before == 0x44c); /* и, й, ь */
}

const char *mx_russian_case(const struct mx_form_match *match)
{
    static const char *const genitive[] = {
        "до",     "от",    "из",     "у",      "без",    "для",    "около",   "более",   "менее",     "больше",
        "меньше", "свыше", "после",  "против", "среди",  "с",      "со",      "порядка", "в течение", "течение",
        "выше",   "ниже",  "старше", "младше", "дольше", "длиной", "высотой", "из-за",   "кроме"};
    static const char *const dative[] = {"к", "ко", "благодаря", "равен", "равна", "равно", "равняется"};
    static const char *const ablative[] = {"между",     "над",        "перед",      "под",
                                           "ограничен", "ограничена", "ограничено", "ограничены"};
    static const char *const locative[] = {"о", "об", "при"};
    static const char *const accusative[] = {"через", "за", "на", "в", "во", "про", "по", "спустя", "ждать", "минус"};
    char before[MX_FORM_WORD], after[MX_FORM_WORD];
    mx_form_word_before(match, 0, before);
    mx_form_word_after(match, 0, after);
    if (mx_form_ends_in(after, "ах") || mx_form_ends_in(after, "ях")) return case_names[LOCATIVE];
    if (mx_form_ends_in(after, "ами") || mx_form_ends_in(after, "ями")) return case_names[ABLATIVE];
    if (MX_FORM_LISTED(genitive, before)) return case_names[GENITIVE];
    if (MX_FORM_LISTED(dative, before)) return case_names[DATIVE];
    if (MX_FORM_LISTED(ablative, before)) return case_names[ABLATIVE];
    if (MX_FORM_LISTED(locative, before)) return case_names[LOCATIVE];
    return MX_FORM_LISTED(accusative, before) || after_imperative(match) ? case_names[ACCUSATIVE] : "";
}

static bool ends_in_any(const char *word, const char *const *endings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (mx_form_ends_in(word, endings[i])) return true;
    return false;
}

/* The gender that the form of the next word tells: "1 книга", "2 книги", "1 окно". */
static const char *gender_after(const struct mx_form_match *match, unsigned value)
{
    static const char *const one_feminine[] = {"а", "я", "у", "ю"}, *const one_neuter[] = {"о", "е"};
    static const char *const two_feminine[] = {"ы", "и"};
    char after[MX_FORM_WORD];
    const unsigned last = value % 100 >= 11 && value % 100 <= 14 ? 0 : value % 10;
    mx_form_word_after(match, 0, after);
    if (strlen(after) < 6) return "masculine"; /* two letters */
    if (last == 1 && ends_in_any(after, one_feminine, 4)) return "feminine";
    if (last == 1 && ends_in_any(after, one_neuter, 2)) return "neuter";
    return last == 2 && ends_in_any(after, two_feminine, 2) ? "feminine" : "masculine";
}

void mx_russian_agree(const struct mx_form_match *match, const struct mx_form_capture *number, bool ordinal,
                      const char *gender, char out[MX_ICU_WORDS])
{
    const char *const wanted = mx_russian_case(match);
    const char *const known = gender[0] != 0 ? gender
                              : number == NULL || ordinal || number->at + number->length != match->end
                                  ? "masculine"
                                  : gender_after(match, mx_form_value(match, number));
    (void)snprintf(out, MX_ICU_WORDS, "%s%s%s", known, wanted[0] != 0 ? "-" : "", wanted);
}

/* ---- units ---- */

/* Adds an ending of a hard or, after ь, й, я and и, a soft stem. */
static void with_ending(const char *word, const char *hard, const char *soft, char out[MX_ICU_WORDS])
{
    static const char *const drop[] = {"а", "о", "ь", "й", "я", "е"};
    char stem[MX_ICU_WORDS];
    (void)snprintf(stem, sizeof stem, "%s", word);
    const bool is_soft = mx_form_ends_in(word, "ь") || mx_form_ends_in(word, "й") || mx_form_ends_in(word, "я") ||
                         mx_form_ends_in(word, "ие");
    for (size_t i = 0; i < sizeof drop / sizeof *drop; i++)
        if (mx_form_ends_in(stem, drop[i])) {
            stem[strlen(stem) - strlen(drop[i])] = 0;
            break;
        }
    (void)snprintf(out, MX_ICU_WORDS, "%.400s%s", stem, is_soft ? soft : hard);
}

/* Of several words: "чайную ложку"; of "градус Цельсия" only the first one changes. */
static bool phrase_decline(const char *const words[3], enum grammatical_case wanted, bool one, char out[MX_ICU_WORDS])
{
    static const char *const many[CASES] = {"", "", "ам", "", "ами", "ах"};
    const size_t first = strcspn(words[0], " ");
    char noun[MX_ICU_WORDS];
    (void)snprintf(noun, sizeof noun, "%.*s", (int)first, words[0]);
    const bool adjective = mx_form_ends_in(noun, "ый") || mx_form_ends_in(noun, "ая") || mx_form_ends_in(noun, "ое");
    if (wanted == GENITIVE && (!one || !adjective)) {
        (void)snprintf(out, MX_ICU_WORDS, "%s", one ? words[1] : words[2]);
        return true;
    }
    if (wanted == ACCUSATIVE && one && mx_form_ends_in(noun, "ая") && mx_form_ends_in(words[0], "а")) {
        (void)snprintf(out, MX_ICU_WORDS, "%.*sую%.*sу", (int)(first - strlen("ая")), noun,
                       (int)(strlen(words[0]) - first - strlen("а")), words[0] + first);
        return true;
    }
    if (adjective || one || many[wanted][0] == 0) return false;
    (void)snprintf(out, MX_ICU_WORDS, "%.200s%s%.200s", noun, many[wanted], words[0] + first);
    return true;
}

bool mx_russian_decline(const struct mx_form_match *match, const char *digits, const char *const words[3],
                        char out[MX_ICU_WORDS])
{
    static const char *const hard[CASES] = {"", "", "ам", "", "ами", "ах"}, *const soft[CASES] = {"", "",    "ям",
                                                                                                  "", "ями", "ях"};
    static const char *const one_hard[CASES] = {"", "", "у", "", "ом", "е"}, *const one_soft[CASES] = {"", "",   "ю",
                                                                                                       "", "ем", "е"};
    const char *const name = mx_russian_case(match);
    int wanted = 0;
    while (strcmp(case_names[wanted], name) != 0) wanted++;
    const bool feminine = mx_form_ends_in(words[0], "а") || mx_form_ends_in(words[0], "я");
    const bool one = mx_icu_plural(match->id, digits) == MX_ICU_ONE && strchr(digits, '.') == NULL;
    if (wanted == NOMINATIVE || strchr(digits, '.') != NULL || mx_form_ends_in(words[0], "о")) return false;
    if (strchr(words[0], ' ') != NULL) return phrase_decline(words, (enum grammatical_case)wanted, one, out);
    if (wanted == GENITIVE)
        (void)snprintf(out, MX_ICU_WORDS, "%s", one ? words[1] : words[2]);
    else if (wanted == ACCUSATIVE && one && feminine)
        with_ending(words[0], "у", "ю", out);
    else if (wanted == ACCUSATIVE)
        return false;
    else if (!one)
        with_ending(words[0], hard[wanted], soft[wanted], out);
    else if (feminine)
        with_ending(words[0], wanted == ABLATIVE ? "ой" : "е", wanted == ABLATIVE ? "ей" : "е", out);
    else
        with_ending(words[0], one_hard[wanted], one_soft[wanted], out);
    return true;
}

/* ---- numbers ---- */

static bool ordinal_words(const struct mx_form_match *match, const char *rules, const char *digits,
                          char out[MX_ICU_WORDS])
{
    static const char *const hard[][CASES] = {{"", "ого", "ому", "", "ым", "ом"},
                                              {"ая", "ой", "ой", "ую", "ой", "ой"},
                                              {"ое", "ого", "ому", "ое", "ым", "ом"},
                                              {"ые", "ых", "ым", "ые", "ыми", "ых"}};
    static const char *const soft[][CASES] = {{"", "его", "ему", "", "им", "ем"},
                                              {"я", "ей", "ей", "ю", "ей", "ей"},
                                              {"е", "его", "ему", "е", "им", "ем"},
                                              {"и", "их", "им", "и", "ими", "их"}};
    static const char *const genders[] = {"masculine", "feminine", "neuter", "plural"};
    int gender = MASCULINE, wanted = NOMINATIVE;
    char words[MX_ICU_WORDS];
    const char *from = words;
    for (int i = FEMININE; i <= PLURAL; i++)
        if (strstr(rules, genders[i]) != NULL) gender = i;
    for (int i = GENITIVE; i < CASES; i++)
        if (strstr(rules, case_names[i]) != NULL) wanted = i;
    if (!mx_icu_number(match->id, "ordinal-masculine", digits, words)) return false;
    if (!strncmp(from, "одна тысяча ", strlen("одна тысяча "))) from += strlen("одна ");
    const bool third = mx_form_ends_in(words, "третий");
    const char *const ending = third ? soft[gender][wanted] : hard[gender][wanted];
    if (ending[0] == 0)
        (void)snprintf(out, MX_ICU_WORDS, "%s", from);
    else if (third) /* третий, третьего */
        (void)snprintf(out, MX_ICU_WORDS, "%.*sь%s", (int)(strlen(from) - strlen("ий")), from, ending);
    else
        (void)snprintf(out, MX_ICU_WORDS, "%.*s%s", (int)(strlen(from) - strlen("ый")), from, ending);
    return true;
}

/* "две целых пять десятых" */
static bool decimal_words(const struct mx_form_match *match, const char *digits, size_t whole, char out[MX_ICU_WORDS])
{
    static const char *const places[] = {"десят", "сот", "тысячн", "десятитысячн", "стотысячн", "миллионн"};
    const char *const fraction = digits + whole + 1;
    const size_t decimals = strlen(fraction);
    char part[MX_ICU_WORDS], first[MX_ICU_WORDS], second[MX_ICU_WORDS];
    if (decimals == 0 || decimals > 6 || whole > 18) return false;
    (void)snprintf(part, sizeof part, "%.*s", (int)whole, whole > 0 ? digits : "0");
    const bool one = mx_icu_plural(match->id, part) == MX_ICU_ONE;
    const size_t zeros = strspn(fraction, "0");
    const char *const rest = zeros < decimals ? fraction + zeros : "0";
    const bool rest_one = mx_icu_plural(match->id, rest) == MX_ICU_ONE;
    if (!mx_icu_number(match->id, "cardinal-feminine", part, first) ||
        !mx_icu_number(match->id, "cardinal-feminine", rest, second))
        return false;
    (void)snprintf(out, MX_ICU_WORDS, "%.200s %s %.200s %s%s", first, one ? "целая" : "целых", second,
                   places[decimals - 1], rest_one ? "ая" : "ых");
    return true;
}

/* The dots of ё, which ICU leaves out: "трех", "четвертый". */
static void dots_add(char words[MX_ICU_WORDS])
{
    static const char *const parts[][2] = {
        {"трех", "трёх"}, {"четырех", "четырёх"}, {"четверт", "четвёрт"}, {"трем", "трём"}, {"четырем", "четырём"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (char *at = strstr(words, parts[i][0]); at != NULL; at = strstr(at + 1, parts[i][0])) {
            const size_t length = strlen(parts[i][0]);
            const bool third = i >= 3 && at[length] != 0 && at[length] != ' '; /* тремя */
            if (!third) memcpy(at, parts[i][1], length);                       /* е and ё have two bytes each */
        }
}

bool mx_russian_number(const struct mx_form_match *match, const char *rules, const char *digits, char out[MX_ICU_WORDS])
{
    const size_t whole = strcspn(digits, ".");
    const bool found = !strncmp(rules, "ordinal", 7) ? ordinal_words(match, rules, digits, out)
                       : digits[whole] == '.'        ? decimal_words(match, digits, whole, out)
                                                     : mx_icu_number(match->id, rules, digits, out);
    if (found) dots_add(out);
    return found;
}
