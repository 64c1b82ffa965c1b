/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The catalogue, see catalogue.h. po/fa.po is embedded in the form that msgfmt compiles (.mo, in the byte order of the
 * machine):
 *
 *     u32 magic 0x950412de, revision, count, offset of the originals, offset of the translations, …
 *     each table: count times u32 length, u32 offset of a zero-terminated text; originals in the order of strcmp
 *
 * A text with a context is stored as context, byte 4, text. Owns no memory.
 */
#include "base/catalogue.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MO_MAGIC UINT32_C(0x950412de)

/* Made from po/fa.po when the program is built (cmake/Embed.cmake). */
extern const unsigned char mx_catalogue_persian[];

/* ---- which language ---- */

/* Is `name` ("fa_IR.UTF-8", of `length` bytes) the language `code`? */
static bool language_is(const char *name, size_t length, const char *code)
{
    const size_t bytes = strlen(code);
    return length >= bytes && strncmp(name, code, bytes) == 0 &&
           (length == bytes || strchr("_.@", name[bytes]) != NULL);
}

static bool encoding_is_utf8(const char *locale)
{
    const char *const dot = strchr(locale, '.');
    return dot == NULL || strncasecmp(dot + 1, "utf-8", 5) == 0 || strncasecmp(dot + 1, "utf8", 4) == 0;
}

static const char *variable(const char *name)
{
    const char *const value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

const char *const mx_words_codes[] = {[MX_WORDS_ENGLISH] = "en", [MX_WORDS_PERSIAN] = "fa", NULL};

enum mx_words mx_words_named(const char *code)
{
    for (int i = 0; code != NULL && mx_words_codes[i] != NULL; i++)
        if (strcmp(mx_words_codes[i], code) == 0) return (enum mx_words)i;
    return MX_WORDS_ENGLISH;
}

enum mx_words mx_catalogue_language(void)
{
    const char *locale = variable("LC_ALL");
    if (locale == NULL) locale = variable("LC_MESSAGES");
    if (locale == NULL) locale = variable("LANG");
    if (locale == NULL || strcmp(locale, "C") == 0 || strcmp(locale, "POSIX") == 0 || !encoding_is_utf8(locale))
        return MX_WORDS_ENGLISH;
    const char *list = variable("LANGUAGE");
    if (list == NULL) list = locale;
    while (*list != '\0') {
        const size_t length = strcspn(list, ":");
        for (int i = 0; mx_words_codes[i] != NULL; i++)
            if (language_is(list, length, mx_words_codes[i])) return (enum mx_words)i;
        if (language_is(list, length, "C")) return MX_WORDS_ENGLISH;
        list += length + (list[length] == ':' ? 1 : 0);
    }
    return MX_WORDS_ENGLISH;
}

/* ---- finding ---- */

static uint32_t word_at(size_t offset)
{
    uint32_t value;
    memcpy(&value, mx_catalogue_persian + offset, sizeof value);
    return value;
}

/* The text that entry `i` of the table at `table` points at. */
static const char *text_at(uint32_t table, uint32_t i)
{
    return (const char *)mx_catalogue_persian + word_at(table + (size_t)8 * i + 4);
}

static int key_compare(const char *context, const char *text, const char *entry)
{
    if (context == NULL) return strcmp(text, entry);
    const size_t length = strlen(context);
    const int order = strncmp(context, entry, length);
    if (order != 0) return order;
    return entry[length] != '\004' ? 4 - (unsigned char)entry[length] : strcmp(text, entry + length + 1);
}

const char *mx_catalogue_find_in(enum mx_words language, const char *context, const char *text)
{
    /* The empty text is the head of the catalogue. */
    if (language == MX_WORDS_ENGLISH || text[0] == '\0' || word_at(0) != MO_MAGIC) return text;
    const uint32_t originals = word_at(12), translations = word_at(16);
    uint32_t low = 0, high = word_at(8);
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = key_compare(context, text, text_at(originals, middle));
        if (order == 0) return text_at(translations, middle);
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return text;
}

const char *mx_catalogue_find(enum mx_words language, const char *text)
{
    return mx_catalogue_find_in(language, NULL, text);
}

int mx_catalogue_format(struct mx_string *out, enum mx_words language, const char *text, const char *const *values)
{
    for (const char *at = mx_catalogue_find(language, text); *at != '\0';) {
        const size_t plain = strcspn(at, "{");
        mx_string_append(out, "%.*s", (int)plain, at);
        at += plain;
        if (*at == '\0') break;
        const char *const value = values[at[1] - '0'];
        mx_string_append(out, "%s%s", language == MX_WORDS_PERSIAN && value[0] == '-' ? "\u200e" : "", value);
        at += strlen("{0}");
    }
    return out->failure;
}
