/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sentences for demo corpora: permutation, templates and the two forms of a sentence, see sentences.h.
 *
 * Nothing here keeps state or memory: an index goes through a keyed permutation of [0, n), so that no table of used
 * sentences is needed and no two indices collide.
 */
#include "demo/sentences.h"

#include <stdbool.h>
#include <string.h>

#include "base/rng.h"
#include "demo/sentences_data.h"
#include "myxtts/error.h"

#define SLOTS_MAX 8

/* Streams of the random generator; the low half numbers what is permuted. */
#define STREAM_BASE     (UINT64_C(0x53454E54) << 32)
#define STREAM_ORDER    (UINT64_C(0x53454E55) << 32)
#define STREAM_TEMPLATE (UINT64_C(0x53454E56) << 32)

struct language_data {
    const char *name;
    const char *const *base;
    const unsigned *base_count;
    const struct mx_sentence_list *lists;
    const unsigned *list_count;
    const char *const *templates;
    const unsigned *template_count;
};

static const unsigned nothing = 0;

/* Languages without sentences have counts of 0. */
static struct language_data data_of(enum mx_language_id language)
{
    const char *const name = mx_language_get(language)->name;
    switch (language) {
#define X(identifier, code, data, teacher)                                                                             \
    case MX_LANGUAGE_##identifier:                                                                                     \
        return (struct language_data){name,                                                                            \
                                      mx_sentences_##data,                                                             \
                                      &mx_sentences_##data##_count,                                                    \
                                      mx_sentences_##data##_lists,                                                     \
                                      &mx_sentences_##data##_list_count,                                               \
                                      mx_sentences_##data##_templates,                                                 \
                                      &mx_sentences_##data##_template_count};
        MX_DEMO_LANGUAGE_LIST(X)
#undef X
    default:
        return (struct language_data){name, NULL, &nothing, NULL, &nothing, NULL, &nothing};
    }
}

/* ---- counts ---- */

uint32_t mx_sentences_handwritten(enum mx_language_id language)
{
    return *data_of(language).base_count;
}

uint32_t mx_sentences_count(enum mx_language_id language)
{
    const struct language_data data = data_of(language);
    return *data.base_count + *data.template_count * MX_SENTENCES_PER_TEMPLATE;
}

/* ---- permutation ---- */

/* A permutation of [0, n) chosen by (seed, stream): a Feistel network over the next even number of bits, walked until
 * it lands inside. Less than four times n values exist, so four steps are enough on average. */
static uint64_t permute(uint64_t n, uint64_t seed, uint64_t stream, uint64_t index)
{
    unsigned half = 1;
    while ((UINT64_C(1) << (2 * half)) < n) half++;
    const uint64_t mask = (UINT64_C(1) << half) - 1;
    do {
        uint64_t left = index >> half, right = index & mask;
        for (uint64_t round = 0; round < 6; round++) {
            uint32_t random[4];
            mx_philox(seed, stream, round << 32 | right, random);
            const uint64_t next = left ^ (random[0] & mask);
            left = right;
            right = next;
        }
        index = left << half | right;
    } while (index >= n);
    return index;
}

/* ---- growing text in a fixed buffer ---- */

struct line {
    char text[2 * MX_SENTENCE_BYTES]; /* with its pairs, a sentence holds both forms */
    size_t length;
    bool overflow;
};

static void line_add(struct line *line, const char *text, size_t length)
{
    if (line->length + length >= sizeof line->text) {
        line->overflow = true;
        return;
    }
    memcpy(line->text + line->length, text, length);
    line->length += length;
    line->text[line->length] = '\0';
}

static bool line_ends(const struct line *line, const char *suffix)
{
    const size_t length = strlen(suffix);
    return line->length >= length && memcmp(line->text + line->length - length, suffix, length) == 0;
}

/* The ezafe as it is written after the last word. An unstressed he at the end is silent, except after alef. */
static void line_add_ezafe(struct line *line)
{
    const char *mark = "\u0650"; /* kasra */
    if (line_ends(line, "ا") || (line_ends(line, "و") && !line_ends(line, "او")))
        mark = "ی";
    else if (line_ends(line, "ه") && !line_ends(line, "اه"))
        mark = "\u0654"; /* hamza above */
    line_add(line, mark, strlen(mark));
}

/* ---- templates ---- */

struct slot {
    const struct mx_sentence_list *list;
    char mark;       /* 'a', '+' or 0 */
    unsigned words;  /* in the list */
    unsigned chosen; /* number of the word in the list */
};

static unsigned words_count(const char *words)
{
    unsigned count = 1;
    for (; *words != '\0'; words++) count += *words == '/';
    return count;
}

/* Word number `number` of "a/b/c"; its length goes to *length. */
static const char *word_find(const char *words, unsigned number, size_t *length)
{
    for (; number > 0; number--) words = strchr(words, '/') + 1;
    *length = strcspn(words, "/");
    return words;
}

static const struct mx_sentence_list *list_find(const struct language_data *data, const char *name, size_t length)
{
    for (unsigned i = 0; i < *data->list_count; i++)
        if (strlen(data->lists[i].name) == length && memcmp(data->lists[i].name, name, length) == 0)
            return &data->lists[i];
    return NULL;
}

/* Reads the slot at `at` (just after the brace); *end is set to the position after the closing one. */
static int slot_parse(const struct language_data *data, const char *at, struct slot *slot, const char **end)
{
    *slot = (struct slot){0};
    if (at[0] == '+' || (at[0] == 'a' && at[1] == ' ')) {
        slot->mark = at[0];
        at += at[0] == '+' ? 1 : 2;
    }
    const size_t length = strcspn(at, "}");
    slot->list = list_find(data, at, length);
    if (slot->list == NULL)
        return MX_FAIL(MX_ERR_INTERNAL, NULL, "a %s template names the list '%.*s', which does not exist", data->name,
                       (int)length, at);
    slot->words = words_count(slot->list->words);
    *end = at + length + 1;
    return 0;
}

/* Fills in the words of combination number `combination`: a number in mixed radix, one digit for each slot. A list that
 * was used before offers only its remaining words, so no word occurs twice. */
static void slots_choose(struct slot *slots, unsigned count, uint64_t combination)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned used[SLOTS_MAX], used_count = 0;
        for (unsigned j = 0; j < i; j++) {
            if (slots[j].list != slots[i].list) continue;
            unsigned at = used_count++;
            for (; at > 0 && used[at - 1] > slots[j].chosen; at--) used[at] = used[at - 1];
            used[at] = slots[j].chosen; /* in rising order */
        }
        const unsigned radix = slots[i].words - used_count;
        slots[i].chosen = (unsigned)(combination % radix);
        combination /= radix;
        for (unsigned j = 0; j < used_count; j++) slots[i].chosen += slots[i].chosen >= used[j];
    }
}

/* Collects the slots of a template and the number of sentences it can make. */
static int template_read(const struct language_data *data, const char *text, struct slot slots[SLOTS_MAX],
                         unsigned *count, uint64_t *combinations)
{
    *count = 0;
    *combinations = 1;
    while ((text = strchr(text, '{')) != NULL) {
        if (*count == SLOTS_MAX) return MX_FAIL(MX_ERR_INTERNAL, NULL, "a %s template is too long", data->name);
        struct slot *const slot = &slots[*count];
        const int rc = slot_parse(data, text + 1, slot, &text);
        if (rc < 0) return rc;
        unsigned left = slot->words;
        for (unsigned i = 0; i < *count; i++) left -= slots[i].list == slot->list;
        *combinations *= left;
        ++*count;
    }
    return 0;
}

static void template_write(const char *text, const struct slot *slots, struct line *line)
{
    for (unsigned i = 0; *text != '\0'; i++) {
        const size_t plain = strcspn(text, "{");
        line_add(line, text, plain);
        text += plain;
        if (*text == '\0') break;
        size_t length;
        const char *const word = word_find(slots[i].list->words, slots[i].chosen, &length);
        if (slots[i].mark == 'a') {
            const bool vowel = strchr("aeiou", word[0]) != NULL;
            line_add(line, vowel ? "an " : "a ", vowel ? 3 : 2);
        }
        line_add(line, word, length);
        if (slots[i].mark == '+') line_add_ezafe(line);
        text = strchr(text, '}') + 1;
    }
}

static int template_expand(const struct language_data *data, uint64_t seed, uint32_t index, struct line *line)
{
    const uint32_t templates = *data->template_count, round = index / templates;
    const uint32_t which = (uint32_t)permute(templates, seed, STREAM_ORDER | round, index % templates);
    struct slot slots[SLOTS_MAX];
    unsigned count;
    uint64_t combinations;
    const int rc = template_read(data, data->templates[which], slots, &count, &combinations);
    if (rc < 0) return rc;
    if (combinations < MX_SENTENCES_PER_TEMPLATE)
        return MX_FAIL(MX_ERR_INTERNAL, NULL, "the %s template '%s' makes only %llu sentences", data->name,
                       data->templates[which], (unsigned long long)combinations);
    slots_choose(slots, count, permute(combinations, seed, STREAM_TEMPLATE | which, round));
    template_write(data->templates[which], slots, line);
    return 0;
}

/* ---- the two forms ---- */

/* One form of a text with pairs [written|spoken]; `form` 0 takes the first of each pair, 1 the second. */
static bool form_write(const char *text, int form, char out[MX_SENTENCE_BYTES])
{
    size_t used = 0;
    bool skip = false;
    for (; *text != '\0'; text++) {
        if (*text == '[')
            skip = form == 1;
        else if (*text == '|')
            skip = form == 0;
        else if (*text == ']')
            skip = false;
        else if (!skip) {
            if (used + 1 == MX_SENTENCE_BYTES) return false;
            out[used++] = *text;
        }
    }
    out[used] = '\0';
    if (out[0] >= 'a' && out[0] <= 'z') out[0] = (char)(out[0] - 'a' + 'A');
    return true;
}

int mx_sentences_get(enum mx_language_id language, uint64_t seed, uint32_t index, struct mx_sentence *out)
{
    const struct language_data own = data_of(language), *const data = &own;
    struct line line = {.length = 0};
    if (index >= mx_sentences_count(language))
        return MX_FAIL(MX_ERR_ARGUMENT, NULL, "there are %u %s sentences, number %u does not exist",
                       mx_sentences_count(language), data->name, index);
    if (index < *data->base_count) {
        const char *const base = data->base[permute(*data->base_count, seed, STREAM_BASE, index)];
        line_add(&line, base, strlen(base));
    } else {
        const int rc = template_expand(data, seed, index - *data->base_count, &line);
        if (rc < 0) return rc;
    }
    if (line.overflow || !form_write(line.text, 0, out->written) || !form_write(line.text, 1, out->spoken))
        return MX_FAIL(MX_ERR_INTERNAL, NULL, "%s sentence %u is longer than %d bytes", data->name, index,
                       MX_SENTENCE_BYTES - 1);
    return 0;
}
