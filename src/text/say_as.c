/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading text in a given way; see say_as.h. Numbers are rewritten so that the cleaner has no choice (1,999 is never a
 * year); single characters are given to the cleaner one by one, so that no neighbour changes their meaning ("5 m" is
 * five metres), and those that it would not say have names in the rules of the language.
 */
#include "text/say_as.h"

#include <string.h>

#include "base/string.h"
#include "myxtts/error.h"
#include "text/internal.h"

struct reader {
    enum mx_language_id language;
    const struct mx_language_rules *rules;
    const char *format; /* NULL: none */
    const char *text;
    size_t length;
    struct mx_string out;
    struct mx_arena scratch;
};

/* The value of the digit that begins at text[at] (any digits that the cleaners know), or -1; *bytes is its length. */
static int digit_at(const struct reader *r, size_t at, size_t *bytes)
{
    uint32_t point;
    *bytes = mx_utf8_decode(r->text + at, &point);
    if (mx_text_is_digit(point)) return (int)(point - '0');
    if (point >= MX_ARABIC_ZERO && point <= MX_ARABIC_ZERO + 9) return (int)(point - MX_ARABIC_ZERO);
    if (point >= MX_PERSIAN_ZERO && point <= MX_PERSIAN_ZERO + 9) return (int)(point - MX_PERSIAN_ZERO);
    return mx_script_digit(mx_language_get(r->language)->script, point);
}

/* The words of one character: its name, or what the cleaner says. */
static int character_verbalise(struct reader *r, uint32_t point, const char *utf8, size_t bytes)
{
    char *words;
    const bool upper = point >= 'A' && point <= 'Z';
    for (const struct mx_text_name *name = r->rules->names; name != NULL && name->name != NULL; name++)
        if (name->point == (upper ? point + 32 : point)) return mx_string_append(&r->out, " %s", name->name);
    const int rc = mx_text_normalise(r->language, utf8, bytes, &r->scratch, &words, NULL);
    if (rc < 0 || words[0] == 0) return rc;
    return mx_string_append(&r->out, " %s", words);
}

/* Characters by their names; between words a comma. With `digits` only the digits, and the rest as it is. */
static int characters_verbalise(struct reader *r, bool digits)
{
    bool group = false;
    int rc = 0;
    for (size_t at = 0; at < r->length;) {
        uint32_t point;
        const size_t bytes = mx_utf8_decode(r->text + at, &point);
        size_t digit_bytes;
        if (digits && digit_at(r, at, &digit_bytes) < 0) {
            MX_TRY(mx_string_append(&r->out, "%.*s", (int)bytes, r->text + at));
        } else if (point == ' ' || point == '\n' || point == '\t' || point == '\r') {
            group = r->out.length > 0;
        } else {
            if (group) MX_TRY(mx_string_append(&r->out, ","));
            group = false;
            MX_TRY(character_verbalise(r, point, r->text + at, bytes));
            if (digits) MX_TRY(mx_string_append(&r->out, " "));
        }
        at += bytes;
    }
out:
    return rc < 0 ? rc : 1;
}

static int telephone_verbalise(struct reader *r)
{
    bool group = false;
    size_t digits = 0;
    int rc = 0;
    for (size_t at = 0; at < r->length;) {
        uint32_t point;
        size_t bytes;
        const int digit = digit_at(r, at, &bytes);
        mx_utf8_decode(r->text + at, &point);
        if (digit >= 0 || point == '+' || mx_text_is_letter(point)) {
            if (group) MX_TRY(mx_string_append(&r->out, ","));
            group = false;
            MX_TRY(character_verbalise(r, point, r->text + at, bytes));
            digits += digit >= 0;
        } else {
            group = r->out.length > 0;
        }
        at += bytes;
    }
    rc = digits > 0;
out:
    return rc;
}

/* A whole number, perhaps with a sign, groups and a fraction: digits without groups. Returns how many whole digits
 * there are; 0: this is no such number. */
static size_t number_read(const struct reader *r, char *sign, char whole[MX_NUMERAL_DIGITS + 1],
                          char fraction[MX_NUMERAL_DIGITS + 1])
{
    size_t at = 0, used = 0, decimals = 0;
    bool point_seen = false;
    *sign = 0;
    if (r->length > 0 && (r->text[0] == '-' || r->text[0] == '+')) *sign = r->text[at++];
    while (at < r->length) {
        uint32_t point;
        size_t bytes;
        const int digit = digit_at(r, at, &bytes);
        mx_utf8_decode(r->text + at, &point);
        at += bytes;
        if (digit >= 0) {
            size_t *const count = point_seen ? &decimals : &used;
            if (*count == MX_NUMERAL_DIGITS) return 0;
            (point_seen ? fraction : whole)[(*count)++] = (char)('0' + digit);
        } else if ((point == '.' || point == 0x66b) && !point_seen && used > 0) {
            point_seen = true;
        } else if ((point != ',' && point != ' ' && point != 0x66c && point != 0xa0 && point != 0x202f) || point_seen) {
            return 0;
        }
    }
    whole[used] = fraction[decimals] = 0;
    return used;
}

/* With commas between groups, which no year has. Other languages leave numbers to espeak-ng, for which a comma may be a
 * decimal sign. */
static int cardinal_verbalise(struct reader *r)
{
    char sign, whole[MX_NUMERAL_DIGITS + 1], fraction[MX_NUMERAL_DIGITS + 1];
    const size_t count = number_read(r, &sign, whole, fraction);
    int rc = 0;
    if (!r->rules->own) return 0;
    if (count == 0) return 0;
    if (sign != 0) MX_TRY(mx_string_append(&r->out, "%c", sign));
    for (size_t i = 0; i < count; i++)
        MX_TRY(mx_string_append(&r->out, "%s%c", i > 0 && (count - i) % 3 == 0 ? "," : "", whole[i]));
    if (fraction[0]) MX_TRY(mx_string_append(&r->out, ".%s", fraction));
out:
    return rc < 0 ? rc : 1;
}

static int ordinal_verbalise(struct reader *r)
{
    char sign, whole[MX_NUMERAL_DIGITS + 1], fraction[MX_NUMERAL_DIGITS + 1];
    const size_t count = number_read(r, &sign, whole, fraction);
    const char *ending = r->rules->ordinal;
    if (count == 0 || sign != 0 || fraction[0] || ending == NULL) return 0;
    const bool teen = count > 1 && whole[count - 2] == '1';
    for (int skip = teen || whole[count - 1] > '3' ? 0 : whole[count - 1] - '0'; skip > 0 && strchr(ending, '|');
         skip--)
        ending = strchr(ending, '|') + 1;
    const int rc = mx_string_append(&r->out, "%s%.*s", whole, (int)strcspn(ending, "|"), ending);
    return rc < 0 ? rc : 1;
}

/* Three numbers in the order of the format become year-month-day, which the cleaners read as a date. */
static int date_verbalise(struct reader *r)
{
    static const char *const orders[] = {"mdy", "dmy", "ymd", "ydm"};
    unsigned numbers[3] = {0};
    size_t count = 0, order = 0;
    bool inside = false;
    if (r->format == NULL) {
        const int rc = mx_string_append(&r->out, "%.*s", (int)r->length, r->text);
        return rc < 0 ? rc : 1;
    }
    while (order < 4 && strcmp(orders[order], r->format) != 0) order++;
    if (order == 4 || !r->rules->own) return 0;
    for (size_t at = 0; at < r->length;) {
        size_t bytes;
        const int digit = digit_at(r, at, &bytes);
        if (digit >= 0) {
            if (!inside && count++ == 3) return 0;
            numbers[count - 1] = numbers[count - 1] * 10 + (unsigned)digit;
            if (numbers[count - 1] > 9999) return 0;
        } else if (bytes != 1 || strchr("/-. ", r->text[at]) == NULL) {
            return 0;
        }
        inside = digit >= 0;
        at += bytes;
    }
    if (count != 3) return 0;
    unsigned year = numbers[strchr(orders[order], 'y') - orders[order]];
    const unsigned month = numbers[strchr(orders[order], 'm') - orders[order]];
    const unsigned day = numbers[strchr(orders[order], 'd') - orders[order]];
    if (year < 100) year += year >= 50 ? r->rules->century : r->rules->century + 100;
    if (month < 1 || month > 12 || day < 1 || day > 31) return 0;
    const int rc = mx_string_append(&r->out, "%04u-%02u-%02u", year, month, day);
    return rc < 0 ? rc : 1;
}

/* A dot, an h or a colon between two digits separates hours and minutes. */
static int time_verbalise(struct reader *r)
{
    int rc = 0;
    for (size_t at = 0; at < r->length; at++) {
        const bool between = at > 0 && at + 1 < r->length && mx_text_is_digit((unsigned char)r->text[at - 1]) &&
                             mx_text_is_digit((unsigned char)r->text[at + 1]);
        const bool sign = r->text[at] == '.' || r->text[at] == 'h';
        MX_TRY(mx_string_append(&r->out, "%c", between && sign ? ':' : r->text[at]));
    }
out:
    return rc < 0 ? rc : 1;
}

static int text_verbalise(struct reader *r)
{
    const int rc = mx_string_append(&r->out, "%.*s", (int)r->length, r->text);
    return rc < 0 ? rc : 1;
}

static int kind_verbalise(struct reader *r, const char *kind)
{
    if (!strcmp(kind, "characters") || !strcmp(kind, "spell-out") || !strcmp(kind, "verbatim"))
        return characters_verbalise(r, false);
    if (!strcmp(kind, "digits")) return characters_verbalise(r, true);
    if (!strcmp(kind, "cardinal") || !strcmp(kind, "number")) return cardinal_verbalise(r);
    if (!strcmp(kind, "ordinal")) return ordinal_verbalise(r);
    if (!strcmp(kind, "date")) return date_verbalise(r);
    if (!strcmp(kind, "time")) return time_verbalise(r);
    if (!strcmp(kind, "telephone")) return telephone_verbalise(r);
    if (!strcmp(kind, "fraction") || !strcmp(kind, "unit") || !strcmp(kind, "currency")) return text_verbalise(r);
    return 0;
}

int mx_text_say_as(enum mx_language_id language, const char *kind, const char *format, const char *text, size_t length,
                   struct mx_arena *arena, char **out)
{
    struct reader r = {.language = language, .rules = mx_language_get(language)->rules, .format = format};
    *out = NULL;
    while (length > 0 && strchr(" \t\r\n", text[0]) != NULL) text++, length--;
    while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL) length--;
    r.text = text;
    r.length = length;
    mx_arena_init(&r.scratch, 0);
    int rc = kind_verbalise(&r, kind);
    if (rc > 0) {
        const char *const said = r.out.length > 0 ? r.out.data : "";
        *out = mx_arena_strdup(arena, said + (said[0] == ' '));
        if (*out == NULL) rc = MX_ERR_NO_MEMORY;
    }
    mx_string_release(&r.out);
    mx_arena_release(&r.scratch);
    return rc;
}
