/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading the file of a lexicon; see lexicon.h.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/file.h"
#include "myxtts/error.h"
#include "text/lexicon_internal.h"
#include "text/vocabulary.h"

#define WORD_MOST 512 /* code points of a word */

struct reader {
    struct mx_lexicon *lexicon;
    size_t line;       /* number of the line */
    const char *begin; /* of the line */
    int language;      /* -1: not given yet */
};

/* A stretch of the line, without blanks at its ends. */
struct stretch {
    const char *text;
    size_t length;
};

/* ---- messages ---- */

static size_t column_of(const struct reader *r, const char *at)
{
    size_t column = 1;
    for (const char *c = r->begin; c < at; c++) column += ((unsigned char)*c & 0xc0) != 0x80;
    return column;
}

static int __attribute__((format(printf, 4, 5)))
refuse(const struct reader *r, const char *at, const char *hint, const char *fmt, ...)
{
    char text[400];
    va_list list;
    va_start(list, fmt);
    (void)vsnprintf(text, sizeof text, fmt, list);
    va_end(list);
    return MX_FAIL(MX_ERR_DATA, hint, "%s:%zu:%zu: %s", r->lexicon->name, r->line, column_of(r, at), text);
}

/* ---- stretches ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct stretch trim(const char *begin, const char *end)
{
    while (begin < end && is_blank(*begin)) begin++;
    while (end > begin && is_blank(end[-1])) end--;
    return (struct stretch){begin, (size_t)(end - begin)};
}

/* ---- entries ---- */

/* Sounds between slashes, in the symbols of espeak-ng. */
static int sounds_read(const struct reader *r, struct stretch value, const char **out)
{
    struct mx_string sounds = {0};
    char name[MX_SYMBOL_NAME_BYTES], utf8[MX_SYMBOL_UTF8_BYTES];
    const char *const end = value.text + value.length;
    int rc = 0;
    if (value.length < 2 || end[-1] != '/')
        return refuse(r, end, "write sounds as /nˈeɪm/", "the slash at the end of the sounds is missing");
    for (const char *at = value.text + 1; at < end - 1;) {
        uint32_t point;
        const char *const here = at;
        at += mx_utf8_decode(at, &point);
        const uint32_t symbol = mx_lexicon_ipa(point);
        if (symbol == 0) continue;
        const bool mark = symbol < 0x80 && !mx_text_is_letter(symbol) && !mx_text_is_digit(symbol);
        const bool known = symbol == ' ' || (!mark && mx_language_speaks((enum mx_language_id)r->language, symbol));
        if (!known)
            MX_TRY(refuse(
                r, here,
                "sounds are written in the letters of the IPA; 'myxtts synth --show-phonemes' shows those of a text",
                "%s is no phoneme", mx_symbol_name(point, name)));
        mx_symbol_utf8(symbol, utf8);
        if (symbol != ' ' || (sounds.length > 0 && sounds.data[sounds.length - 1] != ' '))
            MX_TRY(mx_string_append(&sounds, "%s", utf8));
    }
    while (sounds.length > 0 && sounds.data[sounds.length - 1] == ' ') sounds.data[--sounds.length] = 0;
    if (sounds.length == 0)
        MX_TRY(refuse(r, value.text, "write sounds as /nˈeɪm/", "there are no sounds between the slashes"));
    *out = mx_arena_strndup(&r->lexicon->arena, sounds.data, sounds.length);
    if (*out == NULL) rc = MX_ERR_NO_MEMORY;
out:
    mx_string_release(&sounds);
    return rc;
}

/* Every character of a word must be one that the cleaner of the language says or leaves out on purpose. */
static int symbols_check(const struct reader *r, struct stretch words)
{
    const enum mx_language_id language = (enum mx_language_id)r->language;
    char name[MX_SYMBOL_NAME_BYTES];
    struct mx_arena arena;
    int rc = 0;
    mx_arena_init(&arena, 0);
    for (size_t at = 0, bytes; at < words.length; at += bytes) {
        uint32_t point, letter;
        struct mx_text_report report = {0};
        char *said;
        bytes = mx_utf8_decode(words.text + at, &point);
        if (mx_text_is_mark(point)) continue; /* alone it would be dropped */
        mx_arena_reset(&arena);
        MX_TRY(mx_text_normalise(language, words.text + at, bytes, &arena, &said, &report));
        bool known = report.symbols_dropped == 0 && report.controls_dropped == 0;
        for (const char *c = said; *c;) {
            c += mx_utf8_decode(c, &letter);
            known &= mx_language_writes(language, letter);
        }
        if (!known)
            MX_TRY(refuse(r, words.text + at, "use letters, digits and signs of the language",
                          "%s cannot be read in %s", mx_symbol_name(point, name), mx_language_get(language)->name));
    }
out:
    mx_arena_release(&arena);
    return rc;
}

/* Code points as the cleaner sees them, in the arena. */
static int points_copy(const struct reader *r, struct stretch words, const uint32_t **out, size_t *count)
{
    struct mx_text_points points = {0};
    struct mx_text_report report = {0};
    int rc = 0;
    MX_TRY(symbols_check(r, words));
    MX_TRY(mx_text_prepare((enum mx_language_id)r->language, words.text, words.length, &points, &report));
    if (points.count == 0 || points.count > WORD_MOST)
        MX_TRY(refuse(r, words.text, "give letters or digits",
                      points.count == 0 ? "there is nothing to be said here" : "this is longer than a word can be"));
    uint32_t *const copy = mx_arena_alloc(&r->lexicon->arena, points.count, sizeof *copy);
    if (copy == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    memcpy(copy, points.data, points.count * sizeof *copy);
    *out = copy;
    *count = points.count;
out:
    mx_text_points_release(&points);
    return rc;
}

static int room_reserve(const struct reader *r)
{
    struct mx_lexicon *const l = r->lexicon;
    if (l->count >= MX_LEXICON_MOST)
        return refuse(r, r->begin, "divide it", "a lexicon has at most %u entries", MX_LEXICON_MOST);
    const int rc = MX_GROW(l->entries, l->entry_room, l->count + 1);
    return rc < 0 ? rc : MX_GROW(l->keys, l->key_room, l->count + 1);
}

static bool has_word(const uint32_t *points, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (mx_text_is_letter(points[i]) || mx_text_is_digit(points[i])) return true;
    return false;
}

static int entry_read(const struct reader *r, struct stretch word, struct stretch value)
{
    struct mx_lexicon *const l = r->lexicon;
    struct mx_lexicon_key key = {.language = (enum mx_language_id)r->language, .number = (uint32_t)l->count};
    struct mx_lexicon_entry entry = {.language = key.language, .line = r->line, .column = column_of(r, value.text)};
    const char *const end = word.text + word.length;
    int rc = 0;
    if (r->language < 0)
        return refuse(r, word.text, "write a line such as [en] above it", "the language of this word is not given");
    if (word.length == 0)
        return refuse(r, end, "write WORD = WORDS, or WORD = /SOUNDS/", "there is no word before '='");
    if (value.length == 0)
        return refuse(r, value.text, "write WORD = WORDS, or WORD = /SOUNDS/", "there is nothing after '='");
    MX_TRY(room_reserve(r));
    MX_TRY(points_copy(r, word, &key.points, &key.length));
    if (!has_word(key.points, key.length))
        MX_TRY(refuse(r, word.text, "a word has letters or digits", "this is no word"));
    for (size_t i = 0; i < key.length; i++) key.exact |= mx_text_is_upper(key.points[i]);
    if (value.text[0] == '/') {
        MX_TRY(sounds_read(r, value, &entry.sounds));
        entry.written = mx_arena_strndup(&l->arena, value.text + 1, value.length - 2);
        if (entry.written == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    } else {
        MX_TRY(points_copy(r, value, &key.words, &key.word_count));
        if (!has_word(key.words, key.word_count))
            MX_TRY(refuse(r, value.text, "give letters or digits", "there is nothing to be said here"));
        entry.words = mx_arena_strndup(&l->arena, value.text, value.length);
        if (entry.words == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    }
    entry.word = mx_arena_strndup(&l->arena, word.text, word.length);
    if (entry.word == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    l->keys[l->count] = key;
    l->entries[l->count++] = entry;
out:
    return rc;
}

/* ---- lines ---- */

static int language_read(struct reader *r, struct stretch line)
{
    char code[64];
    enum mx_language_id language;
    const struct stretch inside = trim(line.text + 1, line.text + line.length - 1);
    if (line.length < 2 || line.text[line.length - 1] != ']')
        return refuse(r, line.text + line.length, "write a language as [en]", "the bracket ']' is missing");
    (void)snprintf(code, sizeof code, "%.*s", (int)(inside.length < 63 ? inside.length : 63), inside.text);
    const int rc = mx_language_parse(code, &language);
    if (rc < 0) return mx_error_wrap("%s:%zu:%zu", r->lexicon->name, r->line, column_of(r, inside.text));
    r->language = (int)language;
    return 0;
}

static int line_read(struct reader *r, const char *end)
{
    const struct stretch line = trim(r->begin, end);
    if (line.length == 0 || line.text[0] == '#') return 0;
    if (line.text[0] == '[') return language_read(r, line);
    const char *const sign = memchr(line.text, '=', line.length);
    if (sign == NULL)
        return refuse(r, line.text + line.length, "write WORD = WORDS, or WORD = /SOUNDS/", "the sign '=' is missing");
    return entry_read(r, trim(line.text, sign), trim(sign + 1, line.text + line.length));
}

int mx_lexicon_entry_write(const struct mx_lexicon_entry *entry, struct mx_string *text)
{
    const char *const slash = entry->sounds != NULL ? "/" : "";
    return mx_string_append(text, "[%s]\n%s = %s%s%s\n", mx_language_get(entry->language)->code, entry->word, slash,
                            entry->sounds != NULL ? entry->sounds : entry->words, slash);
}

/* Sorts the keys, refuses a word that is there twice and writes the text. */
static int finish(struct reader *r)
{
    struct mx_lexicon *const l = r->lexicon;
    if (l->count > 0) qsort(l->keys, l->count, sizeof *l->keys, mx_lexicon_key_order);
    for (size_t i = 1; i < l->count; i++) {
        if (mx_lexicon_key_order(&l->keys[i - 1], &l->keys[i]) != 0) continue;
        const size_t a = l->keys[i - 1].number, b = l->keys[i].number;
        const struct mx_lexicon_entry *const first = &l->entries[a < b ? a : b], *const again =
                                                                                     &l->entries[a < b ? b : a];
        char quoted[96];
        return MX_FAIL(MX_ERR_DATA, "keep one of the two lines", "%s:%zu:1: %s is already in line %zu", l->name,
                       again->line, mx_string_quote(quoted, sizeof quoted, again->word), first->line);
    }
    for (size_t i = 0; i < l->count; i++) (void)mx_lexicon_entry_write(&l->entries[l->keys[i].number], &l->text);
    return l->text.failure;
}

int mx_lexicon_parse(const char *name, const char *text, size_t length, struct mx_lexicon **out)
{
    struct reader r = {.language = -1};
    int rc = 0;
    *out = NULL;
    struct mx_lexicon *l = mx_alloc(1, sizeof *l);
    if (l == NULL) return MX_ERR_NO_MEMORY;
    mx_arena_init(&l->arena, 0);
    r.lexicon = l;
    l->name = mx_arena_strdup(&l->arena, name);
    if (l->name == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    if (length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) text += 3, length -= 3;
    const size_t valid = mx_utf8_check(text, length);
    const char *const zero = memchr(text, 0, valid), *const bad = zero != NULL ? zero : text + valid;
    for (const char *at = text; at < text + length;) {
        const char *end = memchr(at, '\n', (size_t)(text + length - at));
        if (end == NULL) end = text + length;
        r.begin = at;
        r.line++;
        if (bad >= at && bad < end)
            MX_TRY(refuse(&r, bad, "save the file as UTF-8", "this byte (0x%02X) is no text in UTF-8",
                          (unsigned)(unsigned char)*bad));
        MX_TRY(line_read(&r, end));
        at = end + (end < text + length);
    }
    MX_TRY(finish(&r));
    *out = l;
    l = NULL;
out:
    mx_lexicon_destroy(l);
    return rc;
}

int mx_lexicon_open(const char *path, struct mx_lexicon **out)
{
    char *text = NULL;
    size_t length = 0;
    int rc = 0;
    *out = NULL;
    MX_TRY(mx_file_read(path, MX_LEXICON_LIMIT_BYTES, &text, &length));
    MX_TRY(mx_lexicon_parse(path, text, length, out));
out:
    mx_free(text);
    return rc;
}
