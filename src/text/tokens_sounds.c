/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The phonemes of a clause that has words with sounds of their own (lexicon.h).
 *
 * Neighbours sound different beside a word than alone ("a" is a letter when it is alone, "the" depends on the next
 * sound), so the clause is spelled with a made-up word in the place of each such word, and the phonemes of that are
 * replaced. What follows them in the same word stays: the z of "nginx's". Where the made-up words are not found
 * again, as one whole beginning of a word each, the text between them is spelled piece by piece.
 *
 * Memory: sinks made here are released here.
 */
#include "text/tokens_sounds.h"

#include <string.h>

#include "base/string.h"

/* As long as the code point they stand for, so that the clause keeps its length. No language has such words. */
static const char *const stand_ins[] = {"zorv", "azmu"};
#define STAND_IN_BYTES 4
#define VOWELS         "aeiouyæøœɐɑɒɔəɘɚɛɜɝɞɨɪɯɵɤʉʊʌʏɶ"

/* Whether sounds begin with a vowel: then articles change before them, and liaisons are made. */
static int stand_in_of(const char *sounds)
{
    static const char stress[] = "ˈ";
    while (strncmp(sounds, stress, 1) == 0 && (sounds[1] == stress[1] || sounds[1] == '\x8c')) sounds += 2;
    char first[8] = {0};
    uint32_t point;
    memcpy(first, sounds, *sounds ? mx_utf8_decode(sounds, &point) : 0);
    return first[0] != 0 && strstr(VOWELS, first) != NULL;
}

static bool is_stress(const char *at)
{
    return (unsigned char)at[0] == 0xcb && ((unsigned char)at[1] == 0x88 || (unsigned char)at[1] == 0x8c);
}

/* Bytes of `word` that are the sounds `wanted`, whatever the stress; 0: it does not begin with them. */
static size_t begins_with(const char *word, const char *wanted)
{
    const char *at = word;
    for (;;) {
        while (is_stress(wanted)) wanted += 2;
        if (*wanted == 0) return (size_t)(at - word);
        while (is_stress(at)) at += 2;
        if (*at != *wanted) return 0;
        at++;
        wanted++;
    }
}

static void copy(const char *phonemes, size_t length, struct mx_text_sink *out)
{
    for (size_t at = 0; at < length;) {
        uint32_t point;
        at += mx_utf8_decode(phonemes + at, &point);
        if (point == ' ')
            mx_text_sink_blank(out);
        else
            mx_text_sink_point(out, point);
    }
}

struct clause {
    const struct mx_tokens_speller *speller;
    const struct mx_lexicon_entry *entries[MX_CLAUSE_BYTES / STAND_IN_BYTES];
    size_t count;
    char text[MX_CLAUSE_BYTES]; /* with made-up words */
};

static void spell(const struct clause *c, const char *text, struct mx_text_sink *out)
{
    c->speller->rules->spell(c->speller->cleaner, text, c->speller->ask, out);
}

/* Replaces the sounds of made-up words; false if they are not those that were given. */
static bool together(const struct clause *c, struct mx_text_sink *out)
{
    struct mx_text_sink answer = {0}, parts[2] = {{0}, {0}}, made = {0};
    spell(c, c->text, &answer);
    for (int i = 0; i < 2; i++) spell(c, stand_ins[i], &parts[i]);
    const char *const phonemes = mx_text_sink_text(&answer);
    const char *const known[] = {mx_text_sink_text(&parts[0]), mx_text_sink_text(&parts[1])};
    size_t found = 0;
    bool good = phonemes != NULL && known[0] != NULL && known[1] != NULL && *known[0] != 0 && *known[1] != 0;
    for (const char *at = phonemes; good && *at;) {
        const size_t length = strcspn(at, " ");
        const int kind = found < c->count ? stand_in_of(c->entries[found]->sounds) : 0;
        const size_t match = begins_with(at, known[kind]);
        good = begins_with(at, known[!kind]) == 0 && (match == 0 || (found < c->count && match <= length));
        if (good && match > 0) mx_text_sink_put(&made, c->entries[found++]->sounds);
        copy(at + match, length - match, &made);
        mx_text_sink_blank(&made);
        at += length + (at[length] == ' ');
    }
    good &= found == c->count;
    const char *const text = mx_text_sink_text(&made);
    if (good && text != NULL) copy(text, made.length, out);
    if (answer.failure || parts[0].failure || parts[1].failure || made.failure) out->failure = MX_ERR_NO_MEMORY;
    mx_text_sink_release(&answer);
    mx_text_sink_release(&made);
    for (int i = 0; i < 2; i++) mx_text_sink_release(&parts[i]);
    return good;
}

static void between(const struct clause *c, const char *text, size_t length, struct mx_text_sink *out)
{
    char part[MX_CLAUSE_BYTES];
    while (length > 0 && *text == ' ') text++, length--;
    while (length > 0 && text[length - 1] == ' ') length--;
    memcpy(part, text, length);
    part[length] = 0;
    if (length > 0) spell(c, part, out);
}

void mx_tokens_spell(const struct mx_tokens_speller *speller, const char *text, struct mx_text_sink *out)
{
    struct clause c = {.speller = speller};
    size_t from = 0, entry = 0;
    strcpy(c.text, text);
    for (size_t at = 0; text[at];) {
        uint32_t point;
        const size_t bytes = mx_utf8_decode(text + at, &point);
        const struct mx_lexicon_entry *const found = mx_lexicon_find(speller->lexicon, point);
        if (found != NULL && found->sounds != NULL) {
            memcpy(c.text + at, stand_ins[stand_in_of(found->sounds)], STAND_IN_BYTES);
            c.entries[c.count++] = found;
        }
        at += bytes;
    }
    if (c.count == 0) {
        spell(&c, text, out);
        return;
    }
    if (together(&c, out)) return;
    for (size_t at = 0; text[at];) {
        uint32_t point;
        const size_t bytes = mx_utf8_decode(text + at, &point);
        if (entry < c.count && mx_lexicon_find(speller->lexicon, point) == c.entries[entry]) {
            between(&c, text + from, at - from, out);
            if (at > 0 && text[at - 1] == ' ') mx_text_sink_blank(out);
            mx_text_sink_put(out, c.entries[entry++]->sounds);
            from = at + bytes;
            if (text[from] == ' ') mx_text_sink_blank(out);
        }
        at += bytes;
    }
    between(&c, text + from, strlen(text + from), out);
}
