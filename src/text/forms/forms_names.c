/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names made of digits and letters, in every language: telephone numbers, serial numbers, versions, addresses of the net,
 * formulas; see forms.h. How signs are called is in the lists "net", "letter" and "netword" of the language.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/string.h"
#include "text/forms/forms.h"

#define ADDRESS_MOST 2048 /* points of an address of the net; the rest is read as it comes */
#define PHONE_MOST   40   /* points of a telephone number */
#define FORMULA_MOST 64
#define SERIAL_MOST  64

static bool is_ascii_alnum(uint32_t point)
{
    return point < 0x80 && (mx_text_is_letter(point) || mx_text_is_digit(point));
}

static bool is_vowel(uint32_t point)
{
    return point < 0x80 && point != 0 && strchr("aeiouyAEIOUY", (int)point) != NULL;
}

/* What a list says for a text of ASCII; NULL: nothing. */
static const char *called(const struct mx_form_match *match, const char *list, const char *text)
{
    const struct mx_form_item *const item = mx_form_item_find(match->forms, list, text);
    return item == NULL ? NULL : item->spoken;
}

static const char *sign_called(const struct mx_form_match *match, uint32_t point)
{
    return point < 0x80 && point > ' ' && !is_ascii_alnum(point) ? called(match, "net", (const char[]){(char)point, 0})
                                                                 : NULL;
}

/* Letters from `at` to `end` as a word, or one by one. */
static void letters_put(const struct mx_form_match *match, size_t at, size_t end, bool spelled,
                        struct mx_text_points *out)
{
    if (!spelled) mx_form_put(out, " ");
    for (; at < end; at++) {
        uint32_t point = match->points[at];
        if (spelled && point < 0x80) {
            if (mx_text_is_upper(point)) point += 32;
            const char letter[] = {(char)point, 0}, *const name = called(match, "letter", letter);
            mx_form_put(out, name != NULL ? name : letter);
        } else {
            if (spelled) mx_form_put(out, " ");
            mx_text_points_push(out, point);
        }
    }
}

static void run_put(const struct mx_form_match *match, size_t at, size_t end, const char *rules,
                    struct mx_text_points *out)
{
    char digits[24];
    size_t used = 0;
    for (; at < end && used + 1 < sizeof digits; at++) digits[used++] = (char)match->points[at];
    digits[used] = 0;
    if (!strcmp(rules, "digits"))
        mx_form_digits_put(match, digits, out);
    else
        mx_form_number(match, rules, digits, out);
    if (at < end) run_put(match, at, end, rules, out);
}

static size_t run_end(const struct mx_form_match *match, size_t at, bool digits)
{
    while (at < match->end && (digits ? mx_text_is_digit(match->points[at])
                                      : mx_text_is_letter(match->points[at]) || mx_text_is_mark(match->points[at])))
        at++;
    return at;
}

/* ---- telephone numbers ---- */

/* Digits in groups with signs between them. */
static size_t phone_end(const struct mx_form_match *match, size_t *digits, size_t *groups, size_t *shortest)
{
    size_t at = match->begin, end = at, run = 0;
    bool open = false;
    *digits = *groups = 0;
    *shortest = PHONE_MOST;
    for (; at < match->begin + PHONE_MOST; at++) {
        const uint32_t point = mx_form_point(match, at), next = mx_form_point(match, at + 1);
        if (mx_text_is_digit(point)) {
            ++*digits;
            run++;
            end = at + 1;
            continue;
        }
        if (run > 0) {
            ++*groups;
            if (run < *shortest) *shortest = run;
            run = 0;
        }
        if (point == '(' && !open && mx_text_is_digit(next) && *groups < 2)
            open = true;
        else if (point == ')' && open)
            open = false, end = at + 1;
        else if (!((point == '+' && at == match->begin) ||
                   (point != 0 && point < 0x80 && strchr(" -./", (int)point) != NULL &&
                    (mx_text_is_digit(next) || (next == '(' && !open)))))
            break;
    }
    return open ? match->begin : end;
}

/* "Tel. 12 34 56", "mi número es 612 345 678" */
static bool after_phone_word(const struct mx_form_match *match)
{
    char word[MX_FORM_WORD];
    for (size_t nth = 0; nth < 2; nth++) {
        mx_form_word_before(match, nth, word);
        if (word[0] != 0 && mx_form_item_find(match->forms, "phoneword", word) != NULL) return true;
    }
    return false;
}

size_t mx_form_phone_take(const struct mx_form_match *match)
{
    const uint32_t first = mx_form_point(match, match->begin), second = mx_form_point(match, match->begin + 1);
    const uint32_t before = match->begin > 0 ? match->points[match->begin - 1] : 0;
    size_t digits, groups, shortest;
    if (first != '+' && first != '(' && !mx_text_is_digit(first)) return 0;
    if (mx_text_is_letter(before) || mx_text_is_digit(before) || before == '.' || before == ',' || before == '-')
        return 0;
    const size_t end = phone_end(match, &digits, &groups, &shortest);
    if (digits < 7 || digits > 15 || end == match->begin) return 0;
    const uint32_t after = mx_form_point(match, end);
    if (mx_text_is_letter(after) || mx_text_is_digit(after) || after == '%') return 0;
    if (first == '+' || (first == '(' && groups > 1)) return end;
    bool commas = false, hyphens = false, others = false;
    for (size_t i = match->begin; i < end; i++) {
        const uint32_t point = match->points[i];
        hyphens |= point == '-';
        others |= point == ' ' || point == '.' || point == '/';
        commas |= point == ',';
    }
    if (commas || groups < 2) return 0;
    if (after_phone_word(match)) return end;
    const bool years = groups == 2 && digits == 8 && shortest == 4 && (first == '1' || first == '2') &&
                       (match->points[end - 4] == '1' || match->points[end - 4] == '2'); /* 1990-1995 */
    if (hyphens && !others && shortest >= 3 && groups <= 4 && !years) return end;        /* 123-456-789 */
    const bool national = first == '0' && second != '0' && digits >= 9;
    const bool russian = match->forms->phone_group == 3 && (first == '8' || first == '7') && digits == 11 && hyphens;
    const bool city = match->forms->phone_group == 3 && hyphens && !others && groups == 3 && digits == 7;
    return (national && digits <= 13) || russian || city ? end : 0;
}

/* Digits one by one, or short groups as numbers, with a pause between groups; eight hundred for 800. */
void mx_form_phone_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    const struct mx_forms *const forms = match->forms;
    for (size_t at = match->begin; at < match->end;) {
        const uint32_t point = match->points[at], before = at > match->begin ? match->points[at - 1] : 0;
        if (mx_text_is_digit(point) || mx_text_is_letter(point)) {
            const bool number = mx_text_is_digit(point);
            const size_t end = run_end(match, at, number), length = end - at;
            const bool hundreds =
                number && length == 3 && match->points[at + 1] == '0' && match->points[at + 2] == '0' && point != '0';
            const bool country = before == '+' && length <= 2 && forms->dialed;
            const bool whole = hundreds || country || (length <= forms->phone_group && point != '0');
            if (!number)
                letters_put(match, at, end, length == 1, out);
            else
                run_put(match, at, end, whole ? "plain" : "digits", out);
            at = end;
            bool more = false;
            for (size_t i = at; i < match->end; i++) more |= is_ascii_alnum(match->points[i]);
            const bool letters = more && !number && mx_text_is_letter(mx_form_point(match, at + 1));
            if (more && !letters) mx_form_mark(out, ',');
        } else {
            if (point == '+') mx_form_put(out, sign_called(match, '+'));
            at++;
        }
    }
}

/* 1-800-GO-U-HAUL: seven or more letters and digits after the first three. */
bool mx_form_is_dial(const struct mx_form_match *match)
{
    const struct mx_form_capture *const serial = mx_form_capture(match, "serial");
    size_t letters = 0, signs = 0;
    for (size_t i = 0; i < serial->length; i++) {
        letters += mx_text_is_letter(match->points[serial->at + i]);
        signs += is_ascii_alnum(match->points[serial->at + i]);
    }
    return letters > 0 && signs >= 7;
}

/* Numbers with signs between them that are said: 10.0.0.1:80, 1.2.3. Digits of addresses one by one. */
void mx_form_dotted_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    const bool version = match->row->rule[0] == 'v';
    for (size_t at = match->begin; at < match->end;) {
        const uint32_t point = match->points[at];
        if (mx_text_is_digit(point)) {
            const size_t end = run_end(match, at, true);
            run_put(match, at, end, version ? "plain" : "digits", out);
            at = end;
            continue;
        }
        const char *const name = version && point == '.' ? called(match, "net", "..") : sign_called(match, point);
        if (name != NULL) mx_form_put(out, name);
        if (mx_text_is_letter(point)) {
            const size_t end = run_end(match, at, false);
            if (end - at == 1 && (point | 0x20) == 'v')
                mx_form_put(out, called(match, "net", "v"));
            else
                letters_put(match, at, end, end - at < 3 && version, out);
            at = end;
            continue;
        }
        at++;
    }
}

/* ---- serial numbers ---- */

bool mx_form_is_serial(const struct mx_form_match *match)
{
    size_t digits = 0, letters = 0, signs = 0;
    for (size_t i = match->begin; i < match->end; i++) {
        digits += mx_text_is_digit(match->points[i]);
        letters += mx_text_is_letter(match->points[i]);
        signs += match->points[i] == '-' || match->points[i] == '/';
    }
    return digits > 0 && (letters > 0 || signs > 1);
}

/* Digits as a number if they are few or round; "te-b-1" keeps its hyphens between letters, as words do. */
void mx_form_serial_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    for (size_t at = match->begin; at < match->end;) {
        const uint32_t point = match->points[at], before = at > match->begin ? match->points[at - 1] : 0;
        if (mx_text_is_digit(point)) {
            const size_t end = run_end(match, at, true), length = end - at;
            const bool round = length == 4 && (match->points[end - 1] == '0' || match->points[at + 1] == '0');
            const bool digits = length > 4 || (length == 4 && !round) || (length > 1 && point == '0');
            run_put(match, at, end, digits ? "digits" : "plain", out);
            at = end;
        } else if (mx_text_is_letter(point)) {
            const size_t end = run_end(match, at, false);
            bool capitals = true, vowel = false;
            for (size_t i = at; i < end; i++) {
                capitals &= mx_text_is_upper(match->points[i]) || (end - at == 1 && before != 0);
                vowel |= is_vowel(match->points[i]);
            }
            const bool near_digit = mx_text_is_digit(mx_form_point(match, end)) || mx_text_is_digit(before);
            const bool spelled = end - at == 1 || (capitals && near_digit && (end - at == 2 || !vowel));
            if (before == '-' && !spelled && !mx_text_is_digit(at > 1 ? match->points[at - 2] : 0) && out->count > 0 &&
                out->data[out->count - 1] == '-') {
                for (; at < end; at++) mx_text_points_push(out, match->points[at]);
            } else {
                letters_put(match, at, end, spelled, out);
            }
            at = end;
        } else {
            if (point == '/') mx_form_put(out, sign_called(match, '/'));
            at++;
        }
    }
}

/* ---- addresses of the net, file names ---- */

static bool word_is(const struct mx_form_match *match, size_t at, size_t end, const char *word)
{
    const size_t length = strlen(word);
    if (end - at != length) return false;
    for (size_t i = 0; i < length; i++) {
        const uint32_t point = match->points[at + i];
        if ((point >= 'A' && point <= 'Z' ? point + 32 : point) != (unsigned char)word[i]) return false;
    }
    return true;
}

static const char *const extensions[] = {
    "pdf",  "txt", "doc",  "docx", "xls", "xlsx", "csv", "tsv", "ppt",  "pptx", "zip",  "gz",   "tar", "jpg",
    "jpeg", "png", "gif",  "svg",  "mp3", "mp4",  "wav", "ogg", "avi",  "mov",  "html", "htm",  "css", "js",
    "json", "xml", "yaml", "yml",  "md",  "py",   "c",   "h",   "cc",   "cpp",  "hpp",  "java", "rs",  "go",
    "sh",   "exe", "dll",  "so",   "iso", "log",  "ini", "cfg", "conf", "toml", "sql",  "php",  "rb",  "ts"};
static const char *const domains[] = {"com", "org", "net", "edu", "gov", "mil", "info", "biz", "io", "ai", "dev", "app",
                                      "co",  "uk",  "de",  "fr",  "it",  "es",  "ru",   "ir",  "us", "ca", "au",  "jp",
                                      "cn",  "in",  "eu",  "tv",  "me",  "abc", "mx",   "br",  "ar", "cl", "ch",  "at",
                                      "be",  "nl",  "pl",  "se",  "no",  "dk",  "fi",   "cz",  "gr", "pt", "tr",  "ua",
                                      "by",  "kz",  "za",  "nz",  "kr",  "hk",  "sg",   "sm"};

static bool ends_known(const struct mx_form_match *match, size_t at, size_t end, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (word_is(match, at, end, list[i])) return true;
    return false;
}

static const char address_signs[] = "@._-/:?&=%#~+";

/* @name: a name with an at sign before it. */
static size_t handle_end(const struct mx_form_match *match)
{
    size_t end = match->begin + 1;
    if (!mx_text_is_letter(mx_form_point(match, end))) return 0;
    while (end < match->begin + SERIAL_MOST) {
        const uint32_t point = mx_form_point(match, end), next = mx_form_point(match, end + 1);
        if (!is_ascii_alnum(point) && point != '_' && !((point == '.' || point == '-') && is_ascii_alnum(next))) break;
        end++;
    }
    return end;
}

size_t mx_form_electronic_take(const struct mx_form_match *match)
{
    const uint32_t before = match->begin > 0 ? match->points[match->begin - 1] : 0;
    /* Inside of something longer, a short look is enough: "a/a/a/…" must not be walked from each of its letters. */
    const size_t look = before != 0 && before < 0x80 && strchr(address_signs, (int)before) != NULL ? 128 : ADDRESS_MOST;
    const size_t begin = match->begin, most = match->count - begin < look ? match->count : begin + look;
    size_t end = begin, last_dot = 0, slash = 0, at_sign = 0, underscore = 0;
    bool scheme = false, letters = false;
    if (is_ascii_alnum(before) || before == '.' || before == '@' || before == '-' || before == '_') return 0;
    if (mx_form_point(match, begin) == '@') return handle_end(match);
    for (; end < most; end++) {
        const uint32_t point = match->points[end];
        if (!is_ascii_alnum(point) && (point >= 0x80 || point == 0 || strchr(address_signs, (int)point) == NULL)) break;
        letters |= is_ascii_alnum(point) && !mx_text_is_digit(point);
        if (point == ':' && mx_form_point(match, end + 1) == '/' && mx_form_point(match, end + 2) == '/')
            scheme = end > begin;
        if (point == '/' && slash == 0) slash = end;
        if (point == '@' && at_sign == 0) at_sign = end;
        if (point == '_') underscore = end;
    }
    while (end > begin && !is_ascii_alnum(match->points[end - 1]) && match->points[end - 1] != '/') end--;
    while (end > begin && match->points[end - 1] == '/' && slash == end - 1 && !scheme) end--;
    if (end == begin || mx_text_is_letter(mx_form_point(match, end)) || !letters) return 0;
    if (scheme) return end;
    for (size_t at = begin; at < end && match->points[at] != '/'; at++)
        if (match->points[at] == '.') last_dot = at;
    const bool dotted = last_dot > begin && last_dot + 1 < end && is_ascii_alnum(match->points[last_dot - 1]);
    if (at_sign > begin && at_sign + 1 < end && dotted && last_dot > at_sign) return end;
    const size_t name_end = slash > last_dot && slash < end ? slash : end;
    if (dotted) {
        const bool www = end - begin > 4 && word_is(match, begin, begin + 4, "www.");
        if (www || ends_known(match, last_dot + 1, name_end, domains, sizeof domains / sizeof *domains)) return end;
        if (slash == 0 && (ends_known(match, last_dot + 1, end, extensions, sizeof extensions / sizeof *extensions)))
            return end;
    }
    return underscore > begin && underscore + 1 < end && at_sign == 0 && slash == 0 ? end : 0;
}

/* A word of an address that the language reads otherwise; NULL: none. */
static const char *word_called(const struct mx_form_match *match, size_t at, size_t end)
{
    char word[24];
    size_t used = 0;
    if (end - at >= sizeof word) return NULL;
    for (; at < end; at++) {
        const uint32_t point = match->points[at];
        if (point >= 0x80) return NULL;
        word[used++] = (char)(point >= 'A' && point <= 'Z' ? point + 32 : point);
    }
    word[used] = 0;
    return called(match, "netword", word);
}

/* Whether letters are better spelled than said as a word. */
static bool is_unspeakable(const struct mx_form_match *match, size_t at, size_t end)
{
    bool vowel = false;
    for (size_t i = at; i < end; i++) vowel |= is_vowel(match->points[i]) || match->points[i] >= 0x80;
    if (!vowel || end - at == 1) return true;
    return match->forms->spells && end - at <= 3 && !is_vowel(match->points[end - 1]) &&
           !is_vowel(match->points[end - 2]);
}

void mx_form_electronic_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    for (size_t at = match->begin; at < match->end;) {
        const uint32_t point = match->points[at];
        if (mx_text_is_digit(point)) {
            const size_t end = run_end(match, at, true);
            run_put(match, at, end, "digits", out);
            at = end;
        } else if (mx_text_is_letter(point)) {
            size_t end = run_end(match, at, false);
            const bool last = end == match->end || match->points[end] == '/' || match->points[end] == ':';
            const bool country = end - at == 2 && last && at > match->begin && match->points[at - 1] == '.';
            const char *const word = word_called(match, at, end);
            if (word != NULL)
                mx_form_put(out, word);
            else
                letters_put(match, at, end, country || is_unspeakable(match, at, end), out);
            at = end;
        } else {
            const char *const name = sign_called(match, point);
            if (name != NULL) mx_form_put(out, name);
            at++;
        }
    }
}

/* Not a mark of layout: between blanks, or before what belongs to it. */
bool mx_form_between_words(const struct mx_form_match *match)
{
    const uint32_t before = match->begin > 0 ? match->points[match->begin - 1] : 0;
    const uint32_t after = mx_form_point(match, match->end);
    return (before == ' ' && after == ' ') || ((before == ' ' || before == 0) && after != 0);
}

bool mx_form_between_letters(const struct mx_form_match *match)
{
    return match->begin > 0 && mx_text_is_letter(match->points[match->begin - 1]) &&
           mx_text_is_letter(mx_form_point(match, match->end));
}

bool mx_form_after_letter(const struct mx_form_match *match)
{
    return match->begin > 0 && is_ascii_alnum(match->points[match->begin - 1]);
}

/* ---- formulas ---- */

static bool is_small_digit(uint32_t point)
{
    return point >= 0x2080 && point <= 0x2089;
}

/* Letters of ASCII with digits below the line: H₂O, C₆H₁₂O₆. */
size_t mx_form_formula_take(const struct mx_form_match *match)
{
    size_t end = match->begin;
    bool below = false, letters = false;
    if (match->begin > 0 && is_ascii_alnum(match->points[match->begin - 1])) return 0;
    for (; end < match->begin + FORMULA_MOST; end++) {
        const uint32_t point = mx_form_point(match, end);
        if (!is_ascii_alnum(point) && !is_small_digit(point)) break;
        below |= is_small_digit(point);
        letters |= mx_text_is_letter(point);
    }
    return below && letters ? end : 0;
}

void mx_form_formula_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    for (size_t at = match->begin; at < match->end;) {
        const uint32_t point = match->points[at];
        if (mx_text_is_letter(point)) {
            const char *const element = called(match, "element", (const char[]){(char)(point | 0x20), 0});
            if (element != NULL)
                mx_form_put(out, element);
            else
                letters_put(match, at, at + 1, true, out);
            at++;
            continue;
        }
        char digits[FORMULA_MOST + 1];
        size_t used = 0;
        const bool below = is_small_digit(point);
        for (; at < match->end && is_small_digit(match->points[at]) == below && !mx_text_is_letter(match->points[at]);
             at++)
            digits[used++] = (char)(below ? match->points[at] - 0x2080 + '0' : match->points[at]);
        digits[used] = 0;
        mx_form_number(match, "plain", digits, out);
    }
}
