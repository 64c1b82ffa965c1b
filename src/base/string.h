/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Text helpers shared by configuration and command line: numbers as people write them, the nearest known name,
 * UTF-8, quoting for messages, and a growing string.
 *
 * Nothing here depends on the locale: a decimal point is always '.'. Nothing sets an error except the growing string
 * (MX_ERR_NO_MEMORY): the caller knows where the text came from and what was expected, so it writes the message.
 */
#ifndef MX_BASE_STRING_H
#define MX_BASE_STRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- numbers ---- */
enum mx_string_number {
    MX_STRING_NUMBER,  /* read */
    MX_STRING_SYNTAX,  /* not a number of this kind */
    MX_STRING_TOO_BIG, /* a number, but the type cannot hold it */
};

/* YAML 1.2 core: true, True, TRUE, false, False, FALSE and nothing else (not yes, on, 1). */
bool mx_string_parse_bool(const char *text, bool *out);
/* YAML 1.2 core: decimal with an optional sign, 0x1F, 0o17. The whole text must be the number. */
enum mx_string_number mx_string_parse_int64(const char *text, int64_t *out);
/* Decimal with optional fraction and exponent (1, .5, 2., 1e-4, -3.5E+2), the integers above, and [+-][.]inf, [.]nan in
 * any case. Never hexadecimal fractions. Numbers that round to 0 or infinity are MX_STRING_TOO_BIG. */
enum mx_string_number mx_string_parse_double(const char *text, double *out);

#define MX_STRING_DOUBLE_BYTES 32
/* The shortest decimal text that mx_string_parse_double reads back as the same bits (nan: some nan). It always looks
 * like a floating-point number: "1.0", "1e-05", ".inf". */
void mx_string_from_double(double value, char out[MX_STRING_DOUBLE_BYTES]);

/* ---- the nearest known name ---- */
/* Offer all known names, then ask which one was probably meant. Letter case and '-' versus '_' do not count as
 * differences; insertions, deletions, replacements and swaps of neighbours count one each. Names are borrowed. */
struct mx_string_nearest {
    const char *word;
    const char *best;
    size_t distance;
};
void mx_string_nearest_start(struct mx_string_nearest *nearest, const char *word);
void mx_string_nearest_offer(struct mx_string_nearest *nearest, const char *name);
/* The best name, or NULL if none is near enough to be a likely typing mistake. The first of equals wins. */
const char *mx_string_nearest_best(const struct mx_string_nearest *nearest);

/* ---- UTF-8 and quoting ---- */
/* Offset of the first byte that is not part of valid UTF-8 (no overlong forms, no surrogates); `length` if all is well.
 */
size_t mx_utf8_check(const char *text, size_t length);
/* Decodes one character of valid UTF-8 at `text` and returns its length in bytes. */
size_t mx_utf8_decode(const char *text, uint32_t *code);
/* Bytes of the character at `at`, or 0 if it must not be sent to a terminal: a control character (C0, DEL or C1), one
 * that turns the direction of the rest of the line (U+202E …), or a byte that is not valid UTF-8. `left` is the number of
 * bytes available, at least 1. */
size_t mx_string_printable(const char *at, size_t left);
/* `text` for a terminal: control and invalid bytes as \xNN, cut with "..." to fit `size` (≥ 16). */
char *mx_string_plain(char *out, size_t size, const char *text);
/* 'text' for a message: in single quotes, control and invalid bytes as \xNN, cut with "..." to fit `size` (≥ 16). */
char *mx_string_quote(char *out, size_t size, const char *text);

/* ---- a growing string ---- */
/* {0} is empty and valid. After a failed append all further ones fail too, so a writer checks once, at the end. */
struct mx_string {
    char *data; /* zero-terminated once anything was appended, even ""; free with mx_string_release */
    size_t length, capacity;
    int failure; /* 0 or the code of the first failure */
};
int mx_string_append(struct mx_string *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Control and invalid bytes of `plain` as \xNN. */
int mx_string_append_plain(struct mx_string *text, const char *plain);
/* A field of a table in text, and `end` after it: tabs and line ends inside become a blank, other control and invalid
 * bytes \xNN, so that printing the file outputs no control bytes. */
int mx_string_append_field(struct mx_string *text, const char *field, char end);
/* Words of `words` as lines of at most `width` columns: the first continues the current line at column `column`, the
 * others begin with `prefix`. No newline at the end. '\n' in `words` breaks the line. */
int mx_string_append_wrapped(struct mx_string *text, const char *words, size_t column, size_t width,
                             const char *prefix);
/* Appends one word of a command line, in quotes where a shell needs them. Double quotes are preferred because they are
 * easier to read inside the single quotes of a hint. */
int mx_string_append_shell(struct mx_string *text, const char *word);
/* Appends the bytes in base64. */
int mx_string_append_base64(struct mx_string *text, const void *data, size_t bytes);
void mx_string_release(struct mx_string *text);

#endif
