/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Features, scores and the choice of readings; see homographs.h.
 */
#include "text/english/homographs.h"

#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "base/string.h"
#include "myxtts/error.h"

#define WORD_MOST 32 /* bytes of a word that features see */
#define FAR       5  /* how many words away a small word may stand */
#define AROUND    10 /* how far away words are seen without their place */

extern const unsigned char mx_homograph_weights[];

/* ---- words and marks ---- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80;
}

static bool is_stop(const char *text, size_t at)
{
    return strchr(".!?", text[at]) != NULL && (text[at + 1] == 0 || text[at + 1] == ' ');
}

static char small(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* Bytes of the word at `text`, up to the apostrophe of a contraction. */
static size_t word_length(const char *text)
{
    size_t length = 0;
    while (is_word(text[length])) length++;
    if (length > 1 && small(text[length - 1]) == 'n' && text[length] == '\'' && small(text[length + 1]) == 't' &&
        !is_word(text[length + 2]))
        length--; /* did n't */
    return length;
}

/* What a contraction at `text` means; *length is that of its bytes, 0: there is none. 'd is left open. */
static const char *contraction(const char *text, size_t *length)
{
    static const char *const forms[][2] = {{"'ll", "will"}, {"'ve", "have"}, {"'re", "are"}, {"'m", "am"},
                                           {"n't", "not"},  {"'s", NULL},    {"'d", NULL}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *const form = forms[i][0];
        size_t same = 0;
        while (form[same] != 0 && small(text[same]) == form[same]) same++;
        if (form[same] != 0 || is_word(text[same])) continue;
        *length = same;
        return forms[i][1];
    }
    *length = 0;
    return NULL;
}

int mx_homograph_tokens_read(const char *text, struct mx_arena *arena, struct mx_homograph_tokens *out)
{
    *out = (struct mx_homograph_tokens){.text = text};
    out->of = mx_arena_alloc(arena, strlen(text) + 1, sizeof *out->of);
    if (out->of == NULL) return MX_ERR_NO_MEMORY;
    for (size_t at = 0; text[at] != 0;) {
        struct mx_homograph_token *const token = &out->of[out->count];
        size_t length;
        if (text[at] == ' ') {
            at++;
            continue;
        }
        const char *const meaning = contraction(text + at, &length);
        const bool contracted = length > 0 && at > 0 && is_word(text[at - 1]);
        if (!contracted) length = word_length(text + at);
        *token = (struct mx_homograph_token){at, length > 0 ? length : 1, contracted ? meaning : NULL};
        at += token->length;
        out->count++;
    }
    return 0;
}

/* A token in small letters, as far as features see it. "<" and ">" lie beyond the ends of its sentence. */
struct word {
    char text[WORD_MOST + 1];
    bool capital;
};

static void word_read(const struct mx_homograph_tokens *tokens, size_t at, struct word *out)
{
    const struct mx_homograph_token *const token = &tokens->of[at];
    const char *const from = token->instead != NULL ? token->instead : tokens->text + token->at;
    const size_t all = token->instead != NULL ? strlen(token->instead) : token->length;
    const size_t length = all < WORD_MOST ? all : WORD_MOST;
    for (size_t i = 0; i < length; i++) out->text[i] = small(from[i]);
    out->text[length] = 0;
    out->capital = from[0] >= 'A' && from[0] <= 'Z';
}

const struct mx_homograph *mx_homograph_of(const struct mx_homograph_tokens *tokens, size_t at, bool *plural)
{
    static const char *const unlike[] = {"house", "mouth", "close"}; /* their forms with s are said otherwise */
    const struct mx_homograph_token *const token = &tokens->of[at];
    const char *const text = tokens->text;
    const size_t end = token->at + token->length;
    struct word word;
    *plural = false;
    if (token->length >= WORD_MOST || token->instead != NULL || (token->at > 0 && text[token->at - 1] != ' '))
        return NULL;
    if (strchr(" ,.!?;:'-", text[end]) == NULL) return NULL; /* a part of a word */
    if (text[end] == '\'' && (small(text[end + 1]) != 's' || is_word(text[end + 2]) || text[end + 2] == '-'))
        return NULL;
    word_read(tokens, at, &word);
    const struct mx_homograph *found = mx_homograph_find(word.text);
    if (found != NULL || token->length < 3 || word.text[token->length - 1] != 's') return found;
    word.text[token->length - 1] = 0;
    found = mx_homograph_find(word.text);
    if (found == NULL || found->readings[2].name != NULL) return NULL;
    for (size_t i = 0; i < sizeof unlike / sizeof *unlike; i++)
        if (!strcmp(unlike[i], word.text)) return NULL;
    *plural = found->readings[0].kind == MX_READING_NOUN && found->readings[1].kind == MX_READING_VERB;
    return *plural ? found : NULL;
}

/* ---- features ---- */

/* Small words, which say what part of speech stands beside them. */
static bool is_small(const char *word)
{
    static const char list[] = " the a an this that these those his her its their our my your some any no each every "
                               "to of in on at by for with "
                               "from into as and or but will would can could may might must shall should do does did "
                               "is are was were be been being "
                               "has have had not i you he she it we they who which what there if when while than more "
                               "most very so such all both "
                               "other one two ";
    char key[WORD_MOST + 3] = " ";
    const size_t length = strnlen(word, WORD_MOST);
    memcpy(key + 1, word, length);
    memcpy(key + 1 + length, " ", 2);
    return strstr(list, key) != NULL;
}

struct view {
    struct word words[2 * AROUND + 1]; /* the homograph is in the middle */
    struct mx_homograph_features *out;
};

static const char *beside(const struct view *view, int distance)
{
    return view->words[AROUND + distance].text;
}

static const char *ending(const char *word, size_t bytes)
{
    const size_t length = strlen(word);
    return length > bytes ? word + length - bytes : word;
}

/* Whether a word begins with a capital ("A"), is a mark (".") or neither ("a"). */
static const char *shape(const struct view *view, int distance)
{
    const struct word *const word = &view->words[AROUND + distance];
    return !is_word(word->text[0]) && word->text[0] != '\'' ? "." : word->capital ? "A" : "a";
}

static uint64_t hash(uint64_t start, const char *text)
{
    for (; *text; text++) start = (start ^ (unsigned char)*text) * 0x100000001b3u;
    return (start ^ 0x1f) * 0x100000001b3u;
}

static void add(const struct view *view, const char *name, int number, const char *one, const char *two)
{
    struct mx_homograph_features *const out = view->out;
    if (out->count == MX_HOMOGRAPH_FEATURES) return;
    const char digits[] = {(char)('m' + number), 0};
    out->of[out->count++] = hash(hash(hash(hash(0xcbf29ce484222325u, name), digits), one), two);
}

static void view_read(const struct mx_homograph_tokens *tokens, size_t at, struct view *view)
{
    word_read(tokens, at, &view->words[AROUND]);
    for (int side = -1; side <= 1; side += 2) {
        bool inside = true;
        for (int d = side; d >= -AROUND && d <= AROUND; d += side) {
            struct word *const word = &view->words[AROUND + d];
            const size_t from = at + (size_t)(side < 0 ? d : d - 1); /* the token before this one in the text … */
            if (side < 0)
                inside = inside && at >= (size_t)-d && !is_stop(tokens->text, tokens->of[from].at);
            else
                inside =
                    inside && at + (size_t)d < tokens->count && (d == 1 || !is_stop(tokens->text, tokens->of[from].at));
            if (inside)
                word_read(tokens, at + (size_t)d, word);
            else
                *word = (struct word){.text = {side < 0 ? '<' : '>'}};
        }
    }
}

/* The nearest small word on one side; its distance, FAR + 1: there is none near. */
static int small_word(const struct view *view, int side, const char **word)
{
    for (int d = 1; d <= FAR; d++) {
        *word = beside(view, side * d);
        if (is_small(*word)) return d;
    }
    *word = "?";
    return FAR + 1;
}

static const char *class_of(const char *word)
{
    return is_small(word) ? word : ending(word, 3);
}

void mx_homograph_features_collect(const struct mx_homograph_tokens *tokens, size_t at,
                                   struct mx_homograph_features *out)
{
    struct view view = {.out = out};
    const char *left, *right;
    char pair[2 * WORD_MOST + 2];
    out->count = 0;
    view_read(tokens, at, &view);
    add(&view, "always", 0, "", "");
    for (int d = -3; d <= 3; d++) {
        if (d == 0) continue;
        add(&view, "word", d, beside(&view, d), "");
        add(&view, "end3", d, ending(beside(&view, d), 3), "");
        if (d < -2 || d > 2) continue;
        add(&view, "end2", d, ending(beside(&view, d), 2), "");
        add(&view, "shape", d, shape(&view, d), "");
    }
    add(&view, "self", 0, shape(&view, 0), beside(&view, -1)[0] == '<' ? "first" : "");
    add(&view, "own end", 0, ending(beside(&view, 0), 2), "");
    add(&view, "around", 0, beside(&view, -1), beside(&view, 1));
    add(&view, "before", 0, beside(&view, -2), beside(&view, -1));
    add(&view, "after", 0, beside(&view, 1), beside(&view, 2));
    const size_t length = strnlen(beside(&view, -3), WORD_MOST);
    memcpy(pair, beside(&view, -3), length);
    pair[length] = ' ';
    memcpy(pair + length + 1, beside(&view, -2), strnlen(beside(&view, -2), WORD_MOST) + 1);
    add(&view, "before", 1, pair, beside(&view, -1));
    add(&view, "around", 1, ending(beside(&view, -1), 3), ending(beside(&view, 1), 3));
    add(&view, "before", 2, class_of(beside(&view, -2)), class_of(beside(&view, -1)));
    add(&view, "after", 2, class_of(beside(&view, 1)), class_of(beside(&view, 2)));
    const int to_left = small_word(&view, -1, &left), to_right = small_word(&view, 1, &right);
    add(&view, "left", 0, left, "");
    add(&view, "left", to_left, left, "");
    add(&view, "right", 0, right, "");
    add(&view, "right", to_right, right, "");
    add(&view, "both", 0, left, right);
    for (int d = -AROUND; d <= AROUND; d++) {
        const char *const word = beside(&view, d);
        if (d != 0 && is_word(word[0]) && !is_small(word)) add(&view, "near", 0, word, "");
    }
}

/* ---- weights ---- */

static uint64_t mix(uint64_t feature, uint64_t salt)
{
    uint64_t h = (feature ^ salt) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    return h ^ h >> 32;
}

uint64_t mx_homograph_key(const struct mx_homograph *word, size_t i, bool plural, uint64_t feature)
{
    if (i == 0 || plural) return 0;
    return mix(feature, hash(hash(0xcbf29ce484222325u, word->word), word->readings[i].name)) >>
           (64 - MX_HOMOGRAPH_BUCKET_BITS - 16);
}

uint64_t mx_homograph_kind_key(enum mx_reading_kind kind, uint64_t feature)
{
    if (kind == MX_READING_OTHER) return 0;
    return mix(feature, 0x100 + (uint64_t)kind) >> (64 - MX_HOMOGRAPH_BUCKET_BITS - 16);
}

void mx_homograph_model_open(const unsigned char *bytes, struct mx_homograph_model *out)
{
    out->buckets = bytes;
    out->entries = bytes + 4 * (MX_HOMOGRAPH_BUCKETS + 1);
}

const struct mx_homograph_model *mx_homograph_model_get(void)
{
    static _Thread_local struct mx_homograph_model model;
    if (model.buckets == NULL) {
        const char *const text = (const char *)mx_homograph_weights;
        mx_homograph_model_open((const unsigned char *)strstr(text, "\n\n") + 2, &model);
    }
    return &model;
}

static size_t bucket_begin(const struct mx_homograph_model *model, size_t bucket)
{
    const unsigned char *const at = model->buckets + 4 * bucket;
    return (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
}

static int weight(const struct mx_homograph_model *model, uint64_t key)
{
    if (key == 0) return 0;
    size_t low = bucket_begin(model, key >> 16), high = bucket_begin(model, (key >> 16) + 1);
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const unsigned char *const entry = model->entries + MX_HOMOGRAPH_ENTRY_BYTES * middle;
        const unsigned found = entry[0] | (unsigned)entry[1] << 8;
        if (found == (key & 0xffff)) return (signed char)entry[2];
        if (found < (key & 0xffff))
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

size_t mx_homograph_choose(const struct mx_homograph_model *model, const struct mx_homograph *word, bool plural,
                           const struct mx_homograph_features *features)
{
    size_t best = 0;
    int most = 0;
    for (size_t i = 0; i < MX_HOMOGRAPH_READINGS && word->readings[i].name != NULL; i++) {
        int score = 0;
        for (size_t f = 0; f < features->count; f++) {
            score += weight(model, mx_homograph_key(word, i, plural, features->of[f]));
            score += weight(model, mx_homograph_kind_key(word->readings[i].kind, features->of[f]));
        }
        if (i > 0 && score <= most) continue;
        best = i;
        most = score;
    }
    return best;
}

/* ---- texts ---- */

int mx_homographs_mark(const char *text, struct mx_arena *arena, char **out)
{
    struct mx_homograph_tokens tokens;
    struct mx_homograph_features features;
    struct mx_string marked = {0};
    size_t from = 0;
    int rc = 0;
    *out = NULL;
    MX_TRY(mx_homograph_tokens_read(text, arena, &tokens));
    for (size_t i = 0; i < tokens.count; i++) {
        bool plural;
        const struct mx_homograph *const word = mx_homograph_of(&tokens, i, &plural);
        if (word == NULL) continue;
        mx_homograph_features_collect(&tokens, i, &features);
        const size_t chosen = mx_homograph_choose(mx_homograph_model_get(), word, plural, &features);
        utf8proc_uint8_t point[5] = {0};
        const size_t number = MX_HOMOGRAPH_FIRST + 8 * mx_homograph_number(word) + 4u * plural + chosen;
        utf8proc_encode_char((utf8proc_int32_t)number, point);
        MX_TRY(mx_string_append(&marked, "%.*s%s", (int)(tokens.of[i].at - from), text + from, (const char *)point));
        from = tokens.of[i].at + tokens.of[i].length;
    }
    MX_TRY(mx_string_append(&marked, "%s", text + from));
    *out = mx_arena_strndup(arena, marked.data, marked.length);
    if (*out == NULL) rc = MX_ERR_NO_MEMORY;
out:
    mx_string_release(&marked);
    return rc;
}

/* The s of a plural, a verb or a possessive after these sounds. */
static const char *sounds_of_s(const char *sounds)
{
    const char last = sounds[strlen(sounds) - 1];
    if (strchr("szSZ", last) != NULL) return "I#z";
    return strchr("ptkfT", last) != NULL ? "s" : "z";
}

size_t mx_homograph_sounds(uint32_t point, bool possessive, char out[MX_HOMOGRAPH_SOUNDS])
{
    if (point < MX_HOMOGRAPH_FIRST) return 0;
    const struct mx_homograph *const word = mx_homograph_at((point - MX_HOMOGRAPH_FIRST) / 8);
    const size_t reading = (point - MX_HOMOGRAPH_FIRST) & 3;
    if (word == NULL || reading >= MX_HOMOGRAPH_READINGS || word->readings[reading].name == NULL) return 0;
    const char *const sounds = word->readings[reading].sounds;
    const bool plural = ((point - MX_HOMOGRAPH_FIRST) & 4) != 0;
    const char *const s = plural || possessive ? sounds_of_s(sounds) : "";
    return (size_t)snprintf(out, MX_HOMOGRAPH_SOUNDS, "[[%s%s]]", sounds, s);
}
