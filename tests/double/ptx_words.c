/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Words of the text of a PTX module: tokens, types, names and the registers they stand for, operands; see ptx_words.h.
 */
#include "ptx_words.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void reader_wrong(struct reader *r, const char *fmt, ...)
{
    va_list arguments;
    const int used = snprintf(r->error, PTX_ERROR_BYTES, "line %d: ", r->line);
    va_start(arguments, fmt);
    vsnprintf(r->error + used, PTX_ERROR_BYTES - (size_t)used, fmt, arguments);
    va_end(arguments);
    longjmp(r->out, 1);
}

/* ---- tokens ---- */

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$' || c == '%';
}

void reader_skip(struct reader *r)
{
    for (;; r->at++) {
        if (*r->at == '\n') {
            r->line++;
        } else if (strncmp(r->at, "//", 2) == 0) {
            while (r->at[1] != '\0' && r->at[1] != '\n') r->at++;
        } else if (!isspace((unsigned char)*r->at)) {
            return;
        }
    }
}

void reader_next(struct reader *r)
{
    reader_skip(r);
    const char *const from = r->at;
    if (*r->at == '"') {
        do r->at++;
        while (*r->at != '\0' && *r->at != '"');
        r->at += *r->at == '"';
    } else if (in_word(*r->at) || (*r->at == '-' && isdigit((unsigned char)r->at[1]))) {
        do r->at++;
        while (in_word(*r->at));
    } else if (*r->at != '\0') {
        r->at++;
    }
    const size_t length = (size_t)(r->at - from);
    if (length >= WORD_BYTES) reader_wrong(r, "a word of %zu bytes", length);
    memcpy(r->word, from, length);
    r->word[length] = '\0';
}

bool reader_is(const struct reader *r, const char *word)
{
    return strcmp(r->word, word) == 0;
}

bool reader_took(struct reader *r, const char *word)
{
    const bool yes = reader_is(r, word);
    if (yes) reader_next(r);
    return yes;
}

void reader_want(struct reader *r, const char *word)
{
    if (!reader_took(r, word)) reader_wrong(r, "'%s' instead of '%s'", r->word, word);
}

long reader_number(struct reader *r)
{
    char *end;
    const long value = strtol(r->word, &end, 0);
    if (r->word[0] == '\0' || *end != '\0') reader_wrong(r, "'%s' is not a number", r->word);
    reader_next(r);
    return value;
}

/* ---- types and registers ---- */

int reader_width_of(struct reader *r, const char *type)
{
    static const char *const types[] = {"1pred", "2b16", "2u16", "2s16", "4b32", "4u32", "4s32",
                                        "4f32",  "8b64", "8u64", "8s64", "8f64", "0b8",  "0u8"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i] + 1, type) == 0) return types[i][0] - '0';
    reader_wrong(r, "unknown type '%s'", type);
}

char reader_letter_of(int width)
{
    return width == 1 ? 'p' : width == 2 ? 'h' : width == 4 ? 'w' : 'l';
}

int reader_width_of_letter(char letter)
{
    return letter == 'l' ? 8 : letter == 'h' ? 2 : 4; /* in memory a predicate takes 4 */
}

int reader_register_make(struct reader *r, char letter)
{
    const size_t bytes = (size_t)r->entry->lanes * (size_t)reader_width_of_letter(letter),
                 at = r->entry->register_bytes;
    r->entry->register_bytes = at + (bytes + 63) / 64 * 64;
    return (int)at;
}

int reader_given_make(struct reader *r, enum ptx_source source, char letter, uint64_t value)
{
    const int width = reader_width_of_letter(letter);
    for (int i = 0; i < r->given.count; i++) {
        const struct ptx_given *const g = &r->given.items[i];
        if (g->source == source && g->width == width && g->value == value) return g->at;
    }
    const int at = reader_register_make(r, letter);
    ADD(r->given, (struct ptx_given){.source = source, .at = at, .width = width, .value = value});
    return at;
}

static int constant(struct reader *r, char letter, uint64_t bits)
{
    return reader_given_make(r, PTX_CONSTANT, letter, bits);
}

struct name *reader_name_find(struct reader *r, const char *text, int *index)
{
    size_t stem = strlen(text);
    while (stem > 0 && isdigit((unsigned char)text[stem - 1])) stem--;
    *index = 0;
    for (int i = r->names.count - 1; i >= r->visible; i--) {
        struct name *const n = &r->names.items[i];
        if (n->count < 0 && strcmp(n->text, text) == 0) return n;
        if (n->count < 0 || strlen(n->text) != stem || strncmp(n->text, text, stem) != 0 || text[stem] == '\0')
            continue;
        *index = atoi(text + stem);
        if (*index < n->count) return n;
    }
    for (int i = 0; i < r->globals.count; i++)
        if (strcmp(r->globals.items[i].text, text) == 0) return &r->globals.items[i];
    return NULL;
}

void reader_name_add(struct reader *r, enum name_kind kind, int count, int width, int at, uint64_t value)
{
    struct name name = {.kind = kind, .count = count, .width = width, .at = at, .value = value};
    snprintf(name.text, WORD_BYTES, "%s", r->word);
    ADD(r->names, name);
}

/* The register of a part of a parameter; the first use says how wide it is. */
int reader_part_of(struct reader *r, int storage, int offset, int width)
{
    for (int i = 0; i < r->parts.count; i++) {
        const struct part *const p = &r->parts.items[i];
        if (p->storage != storage || p->offset != offset) continue;
        if (p->width != width) reader_wrong(r, "a parameter of %d bytes used as %d", p->width, width);
        return p->at;
    }
    const int at = reader_register_make(r, reader_letter_of(width));
    ADD(r->parts, (struct part){.storage = storage, .offset = offset, .width = width, .at = at});
    return at;
}

/* ---- operands ---- */

static struct operand immediate(struct reader *r)
{
    struct operand o = {.immediate = true, .kind = 'i'};
    char *end;
    const bool single = strncmp(r->word, "0f", 2) == 0 || strncmp(r->word, "0F", 2) == 0;
    const bool twice = strncmp(r->word, "0d", 2) == 0 || strncmp(r->word, "0D", 2) == 0;
    if (single || twice) {
        o.kind = single ? 'f' : 'd';
        o.bits = strtoull(r->word + 2, &end, 16);
        if (end != r->word + (single ? 10 : 18)) reader_wrong(r, "'%s' is not a number", r->word);
    } else {
        o.bits = r->word[0] == '-' ? (uint64_t)strtoll(r->word, &end, 0) : strtoull(r->word, &end, 0);
        if (*end == 'U') end++;
    }
    if (*end != '\0') reader_wrong(r, "'%s' is not a number", r->word);
    reader_next(r);
    return o;
}

static struct operand special(struct reader *r)
{
    static const struct {
        const char *name;
        enum ptx_source source;
    } all[] = {{"%tid.x", PTX_LANE}, {"%ctaid.x", PTX_GROUP}, {"%ntid.x", PTX_LANES}, {"%nctaid.x", PTX_GROUPS}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (reader_took(r, all[i].name))
            return (struct operand){.kind = 'w', .at = reader_given_make(r, all[i].source, 'w', 0)};
    reader_wrong(r, "unknown register '%s'", r->word);
}

struct operand reader_operand_read(struct reader *r)
{
    if (isdigit((unsigned char)r->word[0]) || r->word[0] == '-') return immediate(r);
    if (reader_took(r, "_")) return (struct operand){.kind = '_'};
    int index;
    const struct name *const n = reader_name_find(r, r->word, &index);
    if (!n) return special(r);
    struct operand o = {.kind = reader_letter_of(n->width)};
    if (n->kind == PARAMETER) reader_wrong(r, "parameter '%s' as an operand", r->word);
    if (n->kind == ADDRESS) {
        o = (struct operand){.immediate = true, .kind = 'i', .bits = n->value};
    } else {
        const size_t step = ((size_t)r->entry->lanes * (size_t)reader_width_of_letter(o.kind) + 63) / 64 * 64;
        o.at = n->at + index * (int)step;
    }
    reader_next(r);
    return o;
}

/* Operands up to ';', those in braces like the others. */
int reader_operands_read(struct reader *r, struct operand out[OPERANDS_MAX])
{
    int count = 0;
    while (!reader_is(r, ";")) {
        if (reader_took(r, "{") || reader_took(r, "}") || reader_took(r, ",")) continue;
        if (count == OPERANDS_MAX) reader_wrong(r, "too many operands");
        out[count++] = reader_operand_read(r);
    }
    reader_next(r);
    return count;
}

/* The register of an operand that should be of this kind; -1: it is of another. */
int reader_operand_as(struct reader *r, const struct operand *o, char letter, bool result)
{
    if (o->kind == '_') return result ? reader_register_make(r, letter) : -1;
    if (!o->immediate) return o->kind == letter ? o->at : -1;
    if (result || (o->kind == 'f' && letter != 'w') || (o->kind == 'd' && letter != 'l')) return -1;
    const int bits = 8 * reader_width_of_letter(letter);
    return constant(r, letter, bits == 64 ? o->bits : o->bits & ((1ull << bits) - 1));
}
