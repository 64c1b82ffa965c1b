/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lexicons in memory: looking words up, merging, and putting them into texts; see lexicon.h. lexicon_read.c reads files.
 *
 * Words are sorted by language, then those with capitals before those without, then by their code points, so that the
 * entries with a common beginning lie together: looking for the longest word at a place narrows a range of them point by
 * point.
 */
#include "text/lexicon.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>
#include <xxhash.h>

#include "base/string.h"
#include "myxtts/error.h"
#include "text/lexicon_internal.h"

void mx_lexicon_destroy(struct mx_lexicon *lexicon)
{
    if (lexicon == NULL) return;
    mx_free(lexicon->keys);
    mx_free(lexicon->entries);
    mx_string_release(&lexicon->text);
    mx_arena_release(&lexicon->arena);
    mx_free(lexicon);
}

size_t mx_lexicon_count(const struct mx_lexicon *lexicon)
{
    return lexicon == NULL ? 0 : lexicon->count;
}

const struct mx_lexicon_entry *mx_lexicon_entry(const struct mx_lexicon *lexicon, size_t number)
{
    return &lexicon->entries[number];
}

const char *mx_lexicon_text(const struct mx_lexicon *lexicon)
{
    return lexicon->text.length > 0 ? lexicon->text.data : "";
}

const char *mx_lexicon_name(const struct mx_lexicon *lexicon)
{
    return lexicon->name;
}

bool mx_lexicon_same(const struct mx_lexicon *one, const struct mx_lexicon *other)
{
    return strcmp(one == NULL ? "" : mx_lexicon_text(one), other == NULL ? "" : mx_lexicon_text(other)) == 0;
}

uint64_t mx_lexicon_hash(const struct mx_lexicon *lexicon)
{
    return XXH3_64bits(mx_lexicon_text(lexicon), lexicon->text.length);
}

const struct mx_lexicon_entry *mx_lexicon_find(const struct mx_lexicon *lexicon, uint32_t point)
{
    if (point < MX_LEXICON_FIRST || point - MX_LEXICON_FIRST >= mx_lexicon_count(lexicon)) return NULL;
    return &lexicon->entries[point - MX_LEXICON_FIRST];
}

uint32_t mx_lexicon_ipa(uint32_t point)
{
    switch (point) {
    case ':':
        return 0x2d0; /* ː */
    case '\'':
        return 0x2c8; /* ˈ */
    case 'g':
        return 0x261; /* ɡ */
    case '.':
        return 0;
    default:
        return point;
    }
}

/* ---- order ---- */

int mx_lexicon_key_order(const void *a, const void *b)
{
    const struct mx_lexicon_key *const one = a, *const other = b;
    if (one->language != other->language) return one->language < other->language ? -1 : 1;
    if (one->exact != other->exact) return one->exact ? -1 : 1;
    for (size_t i = 0; i < one->length && i < other->length; i++)
        if (one->points[i] != other->points[i]) return one->points[i] < other->points[i] ? -1 : 1;
    return (one->length > other->length) - (one->length < other->length);
}

/* The first key from `low` on, below `high`, that is not before the wanted point at place `depth`; keys in the range have
 * the same points before it. */
static size_t bound(const struct mx_lexicon_key *keys, size_t low, size_t high, size_t depth, uint32_t wanted)
{
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const bool before = keys[middle].length <= depth || keys[middle].points[depth] < wanted;
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- words in a text ---- */

static bool is_word_point(uint32_t point)
{
    return mx_text_is_digit(point) || mx_text_is_letter(point) || mx_text_is_mark(point);
}

/* Whether a word may end between two points. */
static bool is_edge(uint32_t before, uint32_t after)
{
    return !is_word_point(before) || !is_word_point(after);
}

/* The longest key of a range that the text at `at` begins with and that ends at the end of a word; NULL: none. */
static const struct mx_lexicon_key *longest(const struct mx_lexicon *lexicon, size_t low, size_t high, bool exact,
                                            const struct mx_text_points *in, size_t at)
{
    const struct mx_lexicon_key *found = NULL;
    for (size_t depth = 0; low < high && at + depth < in->count; depth++) {
        const uint32_t point = in->data[at + depth];
        const uint32_t wanted = exact ? point : (uint32_t)utf8proc_tolower((utf8proc_int32_t)point);
        low = bound(lexicon->keys, low, high, depth, wanted);
        high = bound(lexicon->keys, low, high, depth, wanted + 1);
        if (low == high || lexicon->keys[low].length != depth + 1) continue;
        const size_t end = at + depth + 1;
        if (end == in->count || is_edge(point, in->data[end])) found = &lexicon->keys[low];
    }
    return found;
}

static size_t range_begin(const struct mx_lexicon *lexicon, enum mx_language_id language, bool exact)
{
    const struct mx_lexicon_key wanted = {.language = language, .exact = exact};
    size_t low = 0, high = lexicon->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (mx_lexicon_key_order(&lexicon->keys[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void mx_lexicon_apply(const struct mx_lexicon *lexicon, enum mx_language_id language, const struct mx_text_points *in,
                      struct mx_text_points *out)
{
    const size_t begin = range_begin(lexicon, language, true), middle = range_begin(lexicon, language, false);
    const size_t end = range_begin(lexicon, (enum mx_language_id)((int)language + 1), true);
    for (size_t at = 0; at < in->count;) {
        const struct mx_lexicon_key *key = NULL, *other = NULL;
        if (at == 0 || is_edge(in->data[at - 1], in->data[at])) {
            key = longest(lexicon, begin, middle, true, in, at);
            other = longest(lexicon, middle, end, false, in, at);
        }
        if (key == NULL || (other != NULL && other->length > key->length)) key = other;
        if (key == NULL) {
            mx_text_points_push(out, in->data[at++]);
            continue;
        }
        if (key->word_count == 0) mx_text_points_push(out, MX_LEXICON_FIRST + key->number);
        for (size_t i = 0; i < key->word_count; i++) mx_text_points_push(out, key->words[i]);
        at += key->length;
    }
}

/* ---- merging ---- */

static bool has_key(const struct mx_lexicon *lexicon, const struct mx_lexicon_key *key)
{
    return bsearch(key, lexicon->keys, lexicon->count, sizeof *key, mx_lexicon_key_order) != NULL;
}

int mx_lexicon_merge(const struct mx_lexicon *under, const struct mx_lexicon *over, struct mx_lexicon **out)
{
    struct mx_string text = {0};
    int rc = 0;
    *out = NULL;
    for (size_t i = 0; i < mx_lexicon_count(under); i++)
        if (over == NULL || !has_key(over, &under->keys[i]))
            (void)mx_lexicon_entry_write(&under->entries[under->keys[i].number], &text);
    for (size_t i = 0; i < mx_lexicon_count(over); i++)
        (void)mx_lexicon_entry_write(&over->entries[over->keys[i].number], &text);
    MX_TRY(text.failure);
    MX_TRY(mx_lexicon_parse(over != NULL    ? over->name
                            : under != NULL ? under->name
                                            : "",
                            text.length > 0 ? text.data : "", text.length, out));
out:
    mx_string_release(&text);
    return rc;
}
