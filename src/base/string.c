/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Text helpers, see string.h. Only struct mx_string owns memory.
 */
#include "base/string.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/number.h"
#include "base/utf8.h"
#include "myxtts/error.h"

/* ---- numbers ---- */

bool mx_string_parse_bool(const char *text, bool *out)
{
    static const char *const words[2][3] = {{"false", "False", "FALSE"}, {"true", "True", "TRUE"}};
    for (int value = 0; value < 2; value++)
        for (int form = 0; form < 3; form++)
            if (strcmp(text, words[value][form]) == 0) {
                *out = value == 1;
                return true;
            }
    return false;
}

/* Digits of one base up to the end of the text, into a magnitude that may reach 2^63 (for INT64_MIN). */
static enum mx_string_number digits_parse(const char *digits, unsigned base, uint64_t limit, uint64_t *out)
{
    uint64_t value = 0;
    bool too_big = false;
    if (digits[0] == '\0') return MX_STRING_SYNTAX;
    for (const char *at = digits; *at != '\0'; at++) {
        unsigned digit;
        if (*at >= '0' && *at <= '9')
            digit = (unsigned)(*at - '0');
        else if (*at >= 'a' && *at <= 'f')
            digit = (unsigned)(*at - 'a') + 10;
        else if (*at >= 'A' && *at <= 'F')
            digit = (unsigned)(*at - 'A') + 10;
        else
            return MX_STRING_SYNTAX;
        if (digit >= base) return MX_STRING_SYNTAX;
        if (value > (limit - digit) / base)
            too_big = true; /* keep reading: bad syntax further on is the better report */
        else
            value = value * base + digit;
    }
    *out = value;
    return too_big ? MX_STRING_TOO_BIG : MX_STRING_NUMBER;
}

enum mx_string_number mx_string_parse_int64(const char *text, int64_t *out)
{
    const uint64_t most = (uint64_t)INT64_MAX;
    uint64_t magnitude = 0;
    enum mx_string_number result;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'o')) {
        result = digits_parse(text + 2, text[1] == 'x' ? 16 : 8, most, &magnitude);
        if (result == MX_STRING_NUMBER) *out = (int64_t)magnitude;
        return result;
    }
    const bool negative = text[0] == '-';
    if (negative || text[0] == '+') text++;
    result = digits_parse(text, 10, negative ? most + 1 : most, &magnitude);
    if (result != MX_STRING_NUMBER) return result;
    if (!negative)
        *out = (int64_t)magnitude;
    else
        *out = magnitude == most + 1 ? INT64_MIN : -(int64_t)magnitude;
    return result;
}

/* [sign] digits [. digits] [e [sign] digits], at least one digit in the mantissa. */
static bool decimal_check(const char *at, bool *nonzero)
{
    size_t digits = 0;
    *nonzero = false;
    if (*at == '-' || *at == '+') at++;
    for (int part = 0; part < 2; part++) {
        for (; *at >= '0' && *at <= '9'; at++, digits++)
            if (*at != '0') *nonzero = true;
        if (part == 0 && *at == '.') at++;
    }
    if (digits == 0) return false;
    if (*at == 'e' || *at == 'E') {
        at++;
        if (*at == '-' || *at == '+') at++;
        if (!(*at >= '0' && *at <= '9')) return false;
        while (*at >= '0' && *at <= '9') at++;
    }
    return *at == '\0';
}

static bool special_parse(const char *text, double *out)
{
    const bool negative = text[0] == '-', has_sign = negative || text[0] == '+';
    const char *word = has_sign ? text + 1 : text;
    if (word[0] == '.') word++;
    if (strcasecmp(word, "inf") == 0) {
        *out = negative ? -(double)INFINITY : (double)INFINITY;
        return true;
    }
    if (!has_sign && strcasecmp(word, "nan") == 0) {
        *out = (double)NAN;
        return true;
    }
    return false;
}

enum mx_string_number mx_string_parse_double(const char *text, double *out)
{
    int64_t whole = 0;
    bool nonzero = false;
    if (special_parse(text, out)) return MX_STRING_NUMBER;
    if (!decimal_check(text, &nonzero)) {
        const enum mx_string_number result = mx_string_parse_int64(text, &whole); /* 0x1F, 0o17 */
        if (result == MX_STRING_NUMBER) *out = (double)whole;
        return result;
    }
    /* The "C" locale object of the C library is static: making and freeing it allocates nothing and cannot fail. */
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const double value = strtod_l(text, NULL, plain);
    freelocale(plain);
    if (isinf(value) || (value == 0.0 && nonzero)) return MX_STRING_TOO_BIG;
    *out = value;
    return MX_STRING_NUMBER;
}

void mx_string_from_double(double value, char out[MX_STRING_DOUBLE_BYTES])
{
    if (isnan(value) || isinf(value)) {
        snprintf(out, MX_STRING_DOUBLE_BYTES, "%s", isnan(value) ? ".nan" : value < 0 ? "-.inf" : ".inf");
        return;
    }
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const locale_t before = uselocale(plain);
    size_t length = 0;
    for (int digits = 1; digits <= 17; digits++) {
        length = (size_t)snprintf(out, MX_STRING_DOUBLE_BYTES, "%.*g", digits, value);
        if (strtod(out, NULL) == value) break;
    }
    uselocale(before);
    freelocale(plain);
    if (strpbrk(out, ".e") == NULL) snprintf(out + length, MX_STRING_DOUBLE_BYTES - length, ".0");
}

/* ---- the nearest known name ---- */

#define NAME_BYTES 64 /* longer words are not typing errors for our names */

static char fold(char letter)
{
    if (letter == '-') return '_';
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

/* Optimal string alignment distance of two folded words, row by row; row[k] belongs to i - k. */
static size_t distance_measure(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t storage[3][NAME_BYTES + 1];
    size_t *row[3] = {storage[0], storage[1], storage[2]};
    for (size_t j = 0; j <= b_length; j++) row[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *const oldest = row[2];
        row[2] = row[1];
        row[1] = row[0];
        row[0] = oldest;
        row[0][0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            const bool same = fold(a[i - 1]) == fold(b[j - 1]);
            size_t best = mx_least(row[1][j] + 1, row[0][j - 1] + 1);
            best = mx_least(best, row[1][j - 1] + (same ? 0 : 1));
            if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) && fold(a[i - 2]) == fold(b[j - 1]))
                best = mx_least(best, row[2][j - 2] + 1);
            row[0][j] = best;
        }
    }
    return row[0][b_length];
}

void mx_string_nearest_start(struct mx_string_nearest *nearest, const char *word)
{
    *nearest = (struct mx_string_nearest){.word = word, .best = NULL, .distance = SIZE_MAX};
}

void mx_string_nearest_offer(struct mx_string_nearest *nearest, const char *name)
{
    const size_t word_length = strlen(nearest->word), name_length = strlen(name);
    if (word_length == 0 || word_length > NAME_BYTES || name_length > NAME_BYTES) return;
    size_t distance = distance_measure(nearest->word, word_length, name, name_length);
    /* An abbreviation is as likely as a single slip, however long the rest is. */
    if (word_length >= 2 && word_length < name_length &&
        distance_measure(nearest->word, word_length, name, word_length) == 0)
        distance = mx_least(distance, 1);
    if (distance < nearest->distance) {
        nearest->distance = distance;
        nearest->best = name;
    }
}

const char *mx_string_nearest_best(const struct mx_string_nearest *nearest)
{
    if (nearest->best == NULL) return NULL;
    /* A third of the longer word may differ, but never all of a short one. */
    const size_t word_length = strlen(nearest->word), name_length = strlen(nearest->best);
    const size_t longer = word_length > name_length ? word_length : name_length;
    const size_t allowed = nearest->distance == 1 ? 1 : longer / 3 + (longer > 6 ? 1 : 0);
    return nearest->distance <= allowed && nearest->distance < longer ? nearest->best : NULL;
}

/* ---- UTF-8 and quoting ---- */

size_t mx_utf8_check(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length) {
        const size_t step = mx_utf8_sequence(text + at, length - at);
        if (step == 0) break;
        at += step;
    }
    return at;
}

size_t mx_utf8_decode(const char *text, uint32_t *code)
{
    const unsigned char *at = (const unsigned char *)text;
    const size_t length = at[0] < 0x80 ? 1 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : 4;
    static const unsigned char payload[5] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t value = at[0] & payload[length];
    for (size_t i = 1; i < length; i++) value = value << 6 | (at[i] & 0x3Fu);
    *code = value;
    return length;
}

/* Characters that turn the direction of what follows, U+202A … U+202E and U+2066 … U+2069, or begin a line, U+2028 and
 * U+2029: in a message they would make the rest of it read as something else. */
static bool is_turning(const char *at, size_t step)
{
    if (step != 3 || (unsigned char)at[0] != 0xE2) return false;
    const unsigned char second = (unsigned char)at[1], third = (unsigned char)at[2];
    return (second == 0x80 && third >= 0xA8 && third <= 0xAE) || (second == 0x81 && third >= 0xA6 && third <= 0xA9);
}

/* C1 controls (U+0080 to U+009F) steer terminals just as the C0 ones do. */
size_t mx_string_printable(const char *at, size_t left)
{
    const unsigned char byte = (unsigned char)at[0];
    const size_t step = mx_utf8_sequence(at, left);
    const bool control = byte < 0x20 || byte == 0x7F || (byte == 0xC2 && step == 2 && (unsigned char)at[1] < 0xA0);
    return control || is_turning(at, step) ? 0 : step;
}

int mx_string_append_shell(struct mx_string *text, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=,@%+";
    bool bare = word[0] != '\0';
    for (const char *c = word; *c != '\0'; c++)
        if ((unsigned char)*c < 0x80 && strchr(plain, *c) == NULL) bare = false;
    if (bare) return mx_string_append(text, "%s", word);
    if (strpbrk(word, "\"$`\\!") == NULL) return mx_string_append(text, "\"%s\"", word);
    mx_string_append(text, "'");
    for (const char *c = word; *c != '\0'; c++)
        if (*c == '\'')
            mx_string_append(text, "'\\''");
        else
            mx_string_append(text, "%c", *c);
    return mx_string_append(text, "'");
}

/* `quote` stands on both sides; "" for none. */
static char *text_show(char *out, size_t size, const char *text, const char *quote)
{
    const size_t total = strlen(text), marks = strlen(quote);
    size_t used = marks, full = 2 * marks + 1; /* the quotes and the zero */
    for (size_t at = 0; at < total && full <= size;) {
        const size_t step = mx_string_printable(text + at, total - at);
        full += step == 0 ? 4 : step;
        at += step == 0 ? 1 : step;
    }
    const bool cut = full > size;
    const size_t end = size - marks - (cut ? 4 : 1); /* what must follow: dots, quote, zero */
    memcpy(out, quote, marks);
    for (size_t at = 0; at < total;) {
        const size_t step = mx_string_printable(text + at, total - at);
        if (used + (step == 0 ? 4 : step) > end) break;
        if (step == 0)
            snprintf(out + used, 5, "\\x%02x", (unsigned)(unsigned char)text[at]);
        else
            memcpy(out + used, text + at, step);
        used += step == 0 ? 4 : step;
        at += step == 0 ? 1 : step;
    }
    snprintf(out + used, size - used, "%s%s", cut ? "..." : "", quote);
    return out;
}

char *mx_string_quote(char *out, size_t size, const char *text)
{
    return text_show(out, size, text, "'");
}

char *mx_string_plain(char *out, size_t size, const char *text)
{
    return text_show(out, size, text, "");
}

/* ---- a growing string ---- */

int mx_string_append(struct mx_string *text, const char *fmt, ...)
{
    if (text->failure != 0) return text->failure;
    for (;;) {
        const size_t space = text->capacity - text->length;
        va_list args;
        va_start(args, fmt);
        const int written = vsnprintf(text->data == NULL ? NULL : text->data + text->length, space, fmt, args);
        va_end(args);
        if (written < 0) {
            text->failure = MX_FAIL(MX_ERR_INTERNAL, NULL, "cannot format text: %s", strerror(errno));
            return text->failure;
        }
        if ((size_t)written < space) {
            text->length += (size_t)written;
            return 0;
        }
        text->failure = MX_GROW(text->data, text->capacity, text->length + (size_t)written + 1);
        if (text->failure != 0) return text->failure;
    }
}

/* `blank`: tabs and line ends become a blank. */
static void plain_append(struct mx_string *text, const char *plain, bool blank)
{
    mx_string_append(text, "%s", ""); /* an empty text is one, too */
    for (size_t left = strlen(plain); left > 0;) {
        const size_t step = mx_string_printable(plain, left);
        if (blank && (*plain == '\t' || *plain == '\n' || *plain == '\r'))
            mx_string_append(text, " ");
        else if (step == 0)
            mx_string_append(text, "\\x%02x", (unsigned)(unsigned char)*plain);
        else
            mx_string_append(text, "%.*s", (int)step, plain);
        plain += step == 0 ? 1 : step;
        left -= step == 0 ? 1 : step;
    }
}

int mx_string_append_plain(struct mx_string *text, const char *plain)
{
    plain_append(text, plain, false);
    return text->failure;
}

int mx_string_append_field(struct mx_string *text, const char *field, char end)
{
    plain_append(text, field, true);
    return mx_string_append(text, "%c", end);
}

int mx_string_append_wrapped(struct mx_string *text, const char *words, size_t column, size_t width, const char *prefix)
{
    const size_t indent = strlen(prefix);
    bool line_empty = true;
    mx_string_append(text, "%s", "");
    while (*words != '\0') {
        if (*words == '\n') {
            mx_string_append(text, "\n%s", prefix);
            column = indent;
            line_empty = true;
            words++;
            continue;
        }
        if (*words == ' ') {
            words++;
            continue;
        }
        const size_t bytes = strcspn(words, " \n");
        size_t columns = 0; /* continuation bytes of UTF-8 take no column */
        for (size_t i = 0; i < bytes; i++) columns += ((unsigned char)words[i] & 0xC0) != 0x80;
        if (!line_empty && column + 1 + columns > width) {
            mx_string_append(text, "\n%s", prefix);
            column = indent;
            line_empty = true;
        }
        mx_string_append(text, "%s%.*s", line_empty ? "" : " ", (int)bytes, words);
        column += columns + (line_empty ? 0 : 1);
        line_empty = false;
        words += bytes;
    }
    return text->failure;
}

int mx_string_append_base64(struct mx_string *text, const void *data, size_t bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *const from = data;
    char line[1024];
    size_t n = 0;
    mx_string_append(text, "%s", "");
    for (size_t at = 0; at < bytes; at += 3) {
        const size_t left = bytes - at;
        const uint32_t group = (uint32_t)from[at] << 16 | (left > 1 ? (uint32_t)from[at + 1] << 8 : 0) |
                               (left > 2 ? (uint32_t)from[at + 2] : 0);
        line[n++] = digits[group >> 18];
        line[n++] = digits[group >> 12 & 63];
        line[n++] = left > 1 ? digits[group >> 6 & 63] : '=';
        line[n++] = left > 2 ? digits[group & 63] : '=';
        if (n + 4 > sizeof line || left <= 3) {
            mx_string_append(text, "%.*s", (int)n, line);
            n = 0;
        }
    }
    return text->failure;
}

void mx_string_release(struct mx_string *text)
{
    mx_free(text->data);
    *text = (struct mx_string){0};
}
