/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * English forms in which digits and letters are names: streets, telephone numbers, serial numbers, versions, addresses of
 * the net; see english_forms.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "text/english/english_forms.h"

#define ADDRESS_MOST 2048 /* points of an address of the net; the rest is read as it comes */

static bool is_ascii_alnum(uint32_t point)
{
    return point < 0x80 && (mx_text_is_letter(point) || mx_text_is_digit(point));
}

static bool is_vowel(uint32_t point)
{
    return point < 0x80 && point != 0 && strchr("aeiouyAEIOUY", (int)point) != NULL;
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
            mx_form_put(out, point == 'a' ? "ay" : (const char[]){(char)point, 0});
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

/* ---- streets ---- */

bool mx_english_is_street(const struct mx_form_match *match)
{
    for (size_t i = 0; i < match->captured; i++) {
        const struct mx_form_capture *const word = &match->captures[i];
        if (word->name[0] == 'w' && !mx_text_is_upper(match->points[word->at])) return false;
    }
    return mx_form_capture(match, "word") != NULL || mx_form_capture(match, "i2") != NULL;
}

void mx_english_street_say(const struct mx_form_match *match, struct mx_text_points *out)
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

/* ---- telephone numbers, addresses of machines, versions ---- */

/* Digits one by one with a pause between groups; eight hundred for 800. */
void mx_english_phone_say(const struct mx_form_match *match, struct mx_text_points *out)
{
    for (size_t at = match->begin; at < match->end;) {
        const uint32_t point = match->points[at];
        if (mx_text_is_digit(point) || mx_text_is_letter(point)) {
            const bool number = mx_text_is_digit(point);
            const size_t end = run_end(match, at, number);
            const bool hundreds =
                number && end - at == 3 && match->points[at + 1] == '0' && match->points[at + 2] == '0' && point != '0';
            if (number)
                run_put(match, at, end, hundreds ? "plain" : "digits", out);
            else
                letters_put(match, at, end, end - at == 1, out);
            at = end;
            bool more = false;
            for (size_t i = at; i < match->end; i++) more |= is_ascii_alnum(match->points[i]);
            const bool letters = more && !number && mx_text_is_letter(mx_form_point(match, at + 1));
            if (more && !letters) mx_form_mark(out, ',');
        } else {
            if (point == '+') mx_form_put(out, "plus");
            at++;
        }
    }
}

/* 1-800-GO-U-HAUL: seven or more letters and digits after the first three. */
bool mx_english_is_dial(const struct mx_form_match *match)
{
    const struct mx_form_capture *const serial = mx_form_capture(match, "serial");
    size_t letters = 0, signs = 0;
    for (size_t i = 0; i < serial->length; i++) {
        letters += mx_text_is_upper(match->points[serial->at + i]);
        signs += is_ascii_alnum(match->points[serial->at + i]);
    }
    return letters > 0 && signs >= 7;
}

/* Numbers with signs between them that are said: 10.0.0.1:80, 1.2.3. Digits of addresses one by one. */
void mx_english_dotted_say(const struct mx_form_match *match, struct mx_text_points *out)
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
        if (point == '.') mx_form_put(out, version ? "point" : "dot");
        if (point == ':') mx_form_put(out, "colon");
        if (point == '/') mx_form_put(out, "slash");
        if (point == '-') mx_form_put(out, "dash");
        if (mx_text_is_letter(point)) {
            const size_t end = run_end(match, at, false);
            if (end - at == 1 && (point | 0x20) == 'v')
                mx_form_put(out, "version");
            else
                letters_put(match, at, end, end - at < 3 && version, out);
            at = end;
            continue;
        }
        at++;
    }
}

/* ---- serial numbers ---- */

bool mx_english_is_serial(const struct mx_form_match *match)
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
void mx_english_serial_say(const struct mx_form_match *match, struct mx_text_points *out)
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
            if (point == '/') mx_form_put(out, "slash");
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
static const char *const domains[] = {"com", "org", "net", "edu", "gov", "mil", "info", "biz", "io", "ai",
                                      "dev", "app", "co",  "uk",  "de",  "fr",  "it",   "es",  "ru", "ir",
                                      "us",  "ca",  "au",  "jp",  "cn",  "in",  "eu",   "tv",  "me", "abc"};

static bool ends_known(const struct mx_form_match *match, size_t at, size_t end, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (word_is(match, at, end, list[i])) return true;
    return false;
}

size_t mx_english_electronic_take(const struct mx_form_match *match)
{
    const uint32_t before = match->begin > 0 ? match->points[match->begin - 1] : 0;
    const size_t begin = match->begin, most = match->count - begin < ADDRESS_MOST ? match->count : begin + ADDRESS_MOST;
    size_t end = begin, last_dot = 0, slash = 0, at_sign = 0, underscore = 0, dots = 0;
    bool scheme = false, letters = false;
    if (is_ascii_alnum(before) || before == '.' || before == '@' || before == '-' || before == '_') return 0;
    for (; end < most; end++) {
        const uint32_t point = match->points[end];
        if (!is_ascii_alnum(point) && (point >= 0x80 || point == 0 || strchr("@._-/:?&=%#~+", (int)point) == NULL))
            break;
        letters |= is_ascii_alnum(point) && !mx_text_is_digit(point);
        if (point == ':' && mx_form_point(match, end + 1) == '/' && mx_form_point(match, end + 2) == '/')
            scheme = end > begin;
        if (point == '.' && slash == 0) last_dot = end, dots++;
        if (point == '/' && slash == 0) slash = end;
        if (point == '@' && at_sign == 0) at_sign = end;
        if (point == '_') underscore = end;
    }
    while (end > begin && !is_ascii_alnum(match->points[end - 1]) && match->points[end - 1] != '/') end--;
    while (end > begin && match->points[end - 1] == '/' && slash == end - 1 && !scheme) end--;
    if (end == begin || mx_text_is_letter(mx_form_point(match, end)) || !letters) return 0;
    if (scheme) return end;
    if (last_dot >= end) last_dot = 0;
    const bool dotted = last_dot > begin && last_dot + 1 < end && is_ascii_alnum(match->points[last_dot - 1]);
    if (at_sign > begin && at_sign + 1 < end && dotted && last_dot > at_sign) return end;
    const size_t name_end = slash > last_dot && slash < end ? slash : end;
    if (dotted && slash != begin) {
        const bool www = end - begin > 4 && word_is(match, begin, begin + 4, "www.");
        if (www || ends_known(match, last_dot + 1, name_end, domains, sizeof domains / sizeof *domains)) return end;
        if (slash == 0 && (ends_known(match, last_dot + 1, end, extensions, sizeof extensions / sizeof *extensions)))
            return end;
    }
    return underscore > begin && underscore + 1 < end && at_sign == 0 && slash == 0 ? end : 0;
}

static const char *sign_name(uint32_t point)
{
    static const char signs[] = "@._-/:?&=%#~+";
    static const char *const names[] = {"at",  "dot",    "underscore", "dash", "slash", "colon", "question mark",
                                        "and", "equals", "percent",    "hash", "tilde", "plus"};
    const char *const found = point < 0x80 && point != 0 ? strchr(signs, (int)point) : NULL;
    return found == NULL ? NULL : names[found - signs];
}

void mx_english_electronic_say(const struct mx_form_match *match, struct mx_text_points *out)
{
    for (size_t at = match->begin; at < match->end;) {
        const uint32_t point = match->points[at];
        if (mx_text_is_digit(point)) {
            const size_t end = run_end(match, at, true);
            run_put(match, at, end, "digits", out);
            at = end;
        } else if (mx_text_is_letter(point)) {
            size_t end = run_end(match, at, false);
            bool vowel = false;
            for (size_t i = at; i < end; i++) vowel |= is_vowel(match->points[i]);
            const bool last = end == match->end || match->points[end] == '/' || match->points[end] == ':';
            const bool country = end - at == 2 && last && at > match->begin && match->points[at - 1] == '.';
            if (word_is(match, at, end, "jpg"))
                mx_form_put(out, "jpeg");
            else
                letters_put(match, at, end, !vowel || country || end - at == 1, out);
            at = end;
        } else {
            const char *const name = sign_name(point);
            if (name != NULL) mx_form_put(out, name);
            at++;
        }
    }
}

/* Not a mark of layout: between blanks, or before what belongs to it. */
bool mx_english_between_words(const struct mx_form_match *match)
{
    const uint32_t before = match->begin > 0 ? match->points[match->begin - 1] : 0;
    const uint32_t after = mx_form_point(match, match->end);
    return (before == ' ' && after == ' ') || ((before == ' ' || before == 0) && after != 0);
}

bool mx_english_after_letter(const struct mx_form_match *match)
{
    return match->begin > 0 && is_ascii_alnum(match->points[match->begin - 1]);
}
