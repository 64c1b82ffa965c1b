/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Symbols and their numbers; see vocabulary.h for the rules and the stored form.
 *
 * Memory: `symbols` is in the order of the numbers, `sorted` holds the same symbols by code point with their numbers.
 * cJSON's own memory is released before return.
 */
#include "text/vocabulary.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format/cjson.h"
#include "base/string.h"
#include "base/utf8.h"
#include "myxtts/error.h"

#define FORMAT_NAME    "myxtts-vocabulary"
#define FORMAT_VERSION 1
#define DAMAGED_HINT   "the vocabulary is damaged; prepare the corpus again or use another checkpoint"

struct entry {
    uint32_t symbol;
    int32_t token;
};

struct mx_vocabulary {
    enum mx_tokens_mode mode;
    int cleaner; /* as it was written: a newer one than the program knows is kept */
    struct mx_lexicon *lexicon;
    struct mx_reading reading; /* both of them */
    uint32_t *symbols;
    struct entry *sorted;
    size_t count, symbol_room, sorted_room;
    enum mx_language_id languages[MX_LANGUAGE_COUNT];
    size_t language_count;
};

int mx_vocabulary_create(enum mx_tokens_mode mode, struct mx_vocabulary **out)
{
    *out = mx_alloc(1, sizeof **out);
    if (!*out) return MX_ERR_NO_MEMORY;
    (*out)->mode = mode;
    (*out)->cleaner = (*out)->reading.cleaner = MX_TEXT_CLEANER_VERSION;
    return 0;
}

void mx_vocabulary_destroy(struct mx_vocabulary *vocabulary)
{
    if (!vocabulary) return;
    mx_free(vocabulary->symbols);
    mx_free(vocabulary->sorted);
    mx_lexicon_destroy(vocabulary->lexicon);
    mx_free(vocabulary);
}

/* ---- looking up ---- */

/* Where `symbol` stands in `sorted`, or where it belongs. */
static size_t place_of(const struct mx_vocabulary *vocabulary, uint32_t symbol)
{
    size_t low = 0, high = vocabulary->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (vocabulary->sorted[middle].symbol < symbol) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int32_t mx_vocabulary_find(const struct mx_vocabulary *vocabulary, uint32_t symbol)
{
    const size_t place = place_of(vocabulary, symbol);
    const bool found = place < vocabulary->count && vocabulary->sorted[place].symbol == symbol;
    return found ? vocabulary->sorted[place].token : -1;
}

uint32_t mx_vocabulary_symbol(const struct mx_vocabulary *vocabulary, int32_t token)
{
    if (token < MX_TOKEN_FIRST || (size_t)token >= mx_vocabulary_size(vocabulary)) return 0;
    return vocabulary->symbols[token - MX_TOKEN_FIRST];
}

enum mx_tokens_mode mx_vocabulary_mode(const struct mx_vocabulary *vocabulary)
{
    return vocabulary->mode;
}

int mx_vocabulary_cleaner(const struct mx_vocabulary *vocabulary)
{
    return vocabulary->cleaner;
}

/* ---- reading texts ---- */

const struct mx_reading *mx_vocabulary_reading(const struct mx_vocabulary *vocabulary)
{
    return &vocabulary->reading;
}

void mx_vocabulary_renew(struct mx_vocabulary *vocabulary)
{
    vocabulary->cleaner = vocabulary->reading.cleaner = MX_TEXT_CLEANER_VERSION;
}

/* Characters have no sounds. */
static int check_mode(const struct mx_vocabulary *vocabulary, const struct mx_lexicon *lexicon)
{
    for (size_t i = 0; i < mx_lexicon_count(lexicon) && vocabulary->mode == MX_TOKENS_CHARS; i++) {
        const struct mx_lexicon_entry *const entry = mx_lexicon_entry(lexicon, i);
        if (entry->sounds != NULL)
            return MX_FAIL(MX_ERR_CONFIG, "write what it sounds like in letters: GIF = jif",
                           "%s:%zu:%zu: sounds are given for a voice that reads characters", mx_lexicon_name(lexicon),
                           entry->line, entry->column);
    }
    return 0;
}

int mx_vocabulary_add_lexicon(struct mx_vocabulary *vocabulary, const struct mx_lexicon *lexicon)
{
    struct mx_lexicon *merged = NULL;
    if (mx_lexicon_count(lexicon) == 0 || mx_lexicon_same(lexicon, vocabulary->lexicon)) return 0;
    int rc = check_mode(vocabulary, lexicon);
    if (rc < 0) return rc;
    rc = mx_lexicon_merge(vocabulary->lexicon, lexicon, &merged);
    if (rc < 0) return rc;
    mx_lexicon_destroy(vocabulary->lexicon);
    vocabulary->lexicon = merged;
    vocabulary->reading.lexicon = merged;
    return 0;
}

int mx_vocabulary_check_lexicon(const struct mx_vocabulary *vocabulary, const struct mx_lexicon *lexicon)
{
    char name[MX_SYMBOL_NAME_BYTES];
    const int rc = check_mode(vocabulary, lexicon);
    for (size_t i = 0; i < mx_lexicon_count(lexicon) && rc == 0; i++) {
        const struct mx_lexicon_entry *const entry = mx_lexicon_entry(lexicon, i);
        size_t column = entry->column + 1; /* after the slash */
        if (entry->sounds == NULL || mx_vocabulary_language(vocabulary, entry->language) < 0) continue;
        for (const char *at = entry->written; *at; column++) {
            uint32_t point;
            at += mx_utf8_decode(at, &point);
            const uint32_t symbol = mx_lexicon_ipa(point);
            if (symbol != 0 && mx_vocabulary_find(vocabulary, symbol) < 0)
                return MX_FAIL(
                    MX_ERR_DATA, "use sounds of the voice: 'myxtts synth --show-phonemes' shows those of a text",
                    "%s:%zu:%zu: %s in the sounds of '%.60s' is a phoneme that this voice never learned",
                    mx_lexicon_name(lexicon), entry->line, column, mx_symbol_name(symbol, name), entry->word);
        }
    }
    return rc;
}

size_t mx_vocabulary_size(const struct mx_vocabulary *vocabulary)
{
    return vocabulary->count + MX_TOKEN_FIRST;
}

size_t mx_vocabulary_languages(const struct mx_vocabulary *vocabulary)
{
    return vocabulary->language_count;
}

int mx_vocabulary_language(const struct mx_vocabulary *vocabulary, enum mx_language_id language)
{
    for (size_t i = 0; i < vocabulary->language_count; i++) {
        if (vocabulary->languages[i] == language) return (int)i;
    }
    return -1;
}

enum mx_language_id mx_vocabulary_language_at(const struct mx_vocabulary *vocabulary, size_t number)
{
    return vocabulary->languages[number];
}

/* ---- adding ---- */

static int append(struct mx_vocabulary *vocabulary, uint32_t symbol)
{
    if (mx_vocabulary_size(vocabulary) == MX_VOCABULARY_LIMIT) {
        return MX_FAIL(MX_ERR_DATA, "check that the text is in the language given", "more than %d different symbols",
                       MX_VOCABULARY_LIMIT - MX_TOKEN_FIRST);
    }
    if (MX_GROW(vocabulary->symbols, vocabulary->symbol_room, vocabulary->count + 1) < 0 ||
        MX_GROW(vocabulary->sorted, vocabulary->sorted_room, vocabulary->count + 1) < 0)
        return MX_ERR_NO_MEMORY;
    const size_t place = place_of(vocabulary, symbol);
    memmove(vocabulary->sorted + place + 1, vocabulary->sorted + place,
            (vocabulary->count - place) * sizeof *vocabulary->sorted);
    vocabulary->sorted[place] = (struct entry){symbol, (int32_t)mx_vocabulary_size(vocabulary)};
    vocabulary->symbols[vocabulary->count++] = symbol;
    return 0;
}

static int compare_symbols(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static bool is_symbol(uint32_t point)
{
    return point >= 0x20 && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff);
}

int mx_vocabulary_add(struct mx_vocabulary *vocabulary, const uint32_t *symbols, size_t count)
{
    int rc = 0;
    size_t fresh = 0;
    uint32_t *news = mx_alloc(count, sizeof *news);
    if (!news) return MX_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (!is_symbol(symbols[i])) MX_RAISE(MX_ERR_ARGUMENT, NULL, "U+%04X is not a symbol", (unsigned)symbols[i]);
        if (mx_vocabulary_find(vocabulary, symbols[i]) < 0) news[fresh++] = symbols[i];
    }
    qsort(news, fresh, sizeof *news, compare_symbols);
    for (size_t i = 0; i < fresh; i++) {
        if (i == 0 || news[i] != news[i - 1]) MX_TRY(append(vocabulary, news[i]));
    }
out:
    mx_free(news);
    return rc;
}

int mx_vocabulary_add_language(struct mx_vocabulary *vocabulary, enum mx_language_id language)
{
    if ((int)language < 0 || language >= MX_LANGUAGE_COUNT) {
        return MX_FAIL(MX_ERR_ARGUMENT, NULL, "language number %d does not exist", (int)language);
    }
    if (mx_vocabulary_language(vocabulary, language) < 0)
        vocabulary->languages[vocabulary->language_count++] = language;
    return 0;
}

/* ---- encoding ---- */

size_t mx_symbol_utf8(uint32_t symbol, char out[MX_SYMBOL_UTF8_BYTES])
{
    size_t length = 0;
    if (symbol < 0x80) {
        out[length++] = (char)symbol;
    } else {
        const int more = symbol < 0x800 ? 1 : symbol < 0x10000 ? 2 : 3;
        static const unsigned lead[] = {0, 0xc0, 0xe0, 0xf0};
        out[length++] = (char)(lead[more] | symbol >> (6 * more));
        for (int i = more - 1; i >= 0; i--) out[length++] = (char)(0x80 | (symbol >> (6 * i) & 0x3f));
    }
    out[length] = 0;
    return length;
}

char *mx_symbol_name(uint32_t symbol, char out[MX_SYMBOL_NAME_BYTES])
{
    char text[MX_SYMBOL_UTF8_BYTES];
    mx_symbol_utf8(symbol, text);
    snprintf(out, MX_SYMBOL_NAME_BYTES, "'%s' (U+%04X)", text, (unsigned)symbol);
    return out;
}

int mx_vocabulary_encode(const struct mx_vocabulary *vocabulary, struct mx_symbols symbols, enum mx_unknown policy,
                         struct mx_arena *arena, struct mx_tokens *out, struct mx_unknown_count *unknown)
{
    int32_t *const tokens = mx_arena_alloc(arena, symbols.count + 2, sizeof *tokens);
    *out = (struct mx_tokens){tokens, 0};
    if (!tokens) return MX_ERR_NO_MEMORY;
    size_t used = 0;
    tokens[used++] = MX_TOKEN_BOS;
    for (size_t i = 0; i < symbols.count; i++) {
        const int32_t token = mx_vocabulary_find(vocabulary, symbols.codes[i]);
        if (token >= 0) {
            tokens[used++] = token;
            continue;
        }
        if (policy == MX_UNKNOWN_REFUSE) {
            char name[MX_SYMBOL_NAME_BYTES];
            return MX_FAIL(MX_ERR_DATA, "correct the text, or prepare the corpus again so that the symbol is learned",
                           "symbol %s at place %zu is not in the vocabulary", mx_symbol_name(symbols.codes[i], name),
                           i + 1);
        }
        if (unknown) {
            if (unknown->count++ == 0) unknown->first = symbols.codes[i];
        }
    }
    tokens[used++] = MX_TOKEN_EOS;
    out->count = used;
    return 0;
}

/* ---- JSON ---- */

int mx_vocabulary_write(const struct mx_vocabulary *vocabulary, char **json)
{
    int rc = 0;
    char *text = NULL;
    *json = NULL;
    cJSON *root = cJSON_CreateObject();
    cJSON *languages = cJSON_CreateArray(), *symbols = cJSON_CreateArray();
    bool whole = root && languages && symbols;
    for (size_t i = 0; whole && i < vocabulary->language_count; i++) {
        cJSON *code = cJSON_CreateString(mx_language_get(vocabulary->languages[i])->code);
        whole = code && cJSON_AddItemToArray(languages, code);
    }
    for (size_t i = 0; whole && i < vocabulary->count; i++) {
        char utf8[5];
        mx_symbol_utf8(vocabulary->symbols[i], utf8);
        cJSON *symbol = cJSON_CreateString(utf8);
        whole = symbol && cJSON_AddItemToArray(symbols, symbol);
    }
    whole =
        whole && cJSON_AddStringToObject(root, "format", FORMAT_NAME) &&
        cJSON_AddNumberToObject(root, "version", FORMAT_VERSION) &&
        cJSON_AddStringToObject(root, "mode", mx_tokens_mode_name(vocabulary->mode)) &&
        cJSON_AddNumberToObject(root, "cleaner", vocabulary->cleaner) &&
        (vocabulary->lexicon == NULL || cJSON_AddStringToObject(root, "lexicon", mx_lexicon_text(vocabulary->lexicon)));
    if (whole && cJSON_AddItemToObject(root, "languages", languages)) {
        languages = NULL;
        if (cJSON_AddItemToObject(root, "symbols", symbols)) {
            symbols = NULL;
            text = cJSON_PrintUnformatted(root);
        }
    }
    if (!text) MX_TRY(mx_alloc_failed("a vocabulary"));
    *json = mx_strdup(text);
    if (!*json) rc = MX_ERR_NO_MEMORY;
out:
    cJSON_free(text);
    cJSON_Delete(languages);
    cJSON_Delete(symbols);
    cJSON_Delete(root);
    return rc;
}

static int read_head(const cJSON *root, struct mx_vocabulary *vocabulary)
{
    const char *format = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "format"));
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(root, "version");
    const cJSON *cleaner = cJSON_GetObjectItemCaseSensitive(root, "cleaner");
    const char *mode = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "mode"));
    if (!format || strcmp(format, FORMAT_NAME)) {
        return MX_FAIL(MX_ERR_FORMAT, DAMAGED_HINT, "not a vocabulary: its \"format\" is not \"" FORMAT_NAME "\"");
    }
    if (!cJSON_IsNumber(version) || version->valueint != FORMAT_VERSION) {
        return MX_FAIL(MX_ERR_FORMAT, "it was written by another version of the program",
                       "the vocabulary has version %d; this program reads version %d",
                       cJSON_IsNumber(version) ? version->valueint : 0, FORMAT_VERSION);
    }
    if (!cJSON_IsNumber(cleaner) || cleaner->valueint < 1) {
        return MX_FAIL(MX_ERR_FORMAT, DAMAGED_HINT, "the vocabulary does not give the version of the cleaner");
    }
    vocabulary->cleaner = vocabulary->reading.cleaner = cleaner->valueint;
    if (!mode || mx_tokens_mode_parse(mode, &vocabulary->mode) < 0) {
        return MX_FAIL(MX_ERR_FORMAT, DAMAGED_HINT, "the vocabulary has an unknown kind of tokens");
    }
    return 0;
}

static int read_lexicon(const cJSON *root, struct mx_vocabulary *vocabulary)
{
    const char *const text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "lexicon"));
    if (text == NULL) return 0;
    const int rc = mx_lexicon_parse("the lexicon of the vocabulary", text, strlen(text), &vocabulary->lexicon);
    vocabulary->reading.lexicon = vocabulary->lexicon;
    return rc;
}

static int read_symbol(const cJSON *item, struct mx_vocabulary *vocabulary)
{
    const char *text = cJSON_GetStringValue(item);
    const size_t length = text ? strlen(text) : 0;
    uint32_t symbol = 0;
    if (length > 0 && mx_utf8_sequence(text, length) == length) mx_utf8_decode(text, &symbol);
    if (!is_symbol(symbol)) {
        return MX_FAIL(MX_ERR_FORMAT, DAMAGED_HINT, "symbol %zu of the vocabulary is not one character",
                       vocabulary->count + 1);
    }
    if (mx_vocabulary_find(vocabulary, symbol) >= 0) {
        char name[MX_SYMBOL_NAME_BYTES];
        return MX_FAIL(MX_ERR_FORMAT, DAMAGED_HINT, "symbol %s stands in the vocabulary twice",
                       mx_symbol_name(symbol, name));
    }
    return append(vocabulary, symbol);
}

int mx_vocabulary_read(const char *json, size_t length, struct mx_vocabulary **out)
{
    int rc = 0;
    struct mx_vocabulary *vocabulary = NULL;
    const cJSON *item;
    *out = NULL;
    cJSON *root = NULL;
    MX_TRY(mx_cjson_parse(json, length, NULL, &root));
    if (!root) MX_RAISE(MX_ERR_FORMAT, DAMAGED_HINT, "the vocabulary is not JSON");
    MX_TRY(mx_vocabulary_create(MX_TOKENS_CHARS, &vocabulary));
    MX_TRY(read_head(root, vocabulary));
    const cJSON *languages = cJSON_GetObjectItemCaseSensitive(root, "languages");
    const cJSON *symbols = cJSON_GetObjectItemCaseSensitive(root, "symbols");
    if (!cJSON_IsArray(languages) || !cJSON_IsArray(symbols)) {
        MX_RAISE(MX_ERR_FORMAT, DAMAGED_HINT, "the vocabulary has no list of languages or symbols");
    }
    cJSON_ArrayForEach(item, languages)
    {
        enum mx_language_id language;
        const char *code = cJSON_GetStringValue(item);
        if (!code) MX_RAISE(MX_ERR_FORMAT, DAMAGED_HINT, "a language of the vocabulary is not text");
        MX_TRY(mx_language_parse(code, &language));
        if (mx_vocabulary_language(vocabulary, language) >= 0) {
            MX_RAISE(MX_ERR_FORMAT, DAMAGED_HINT, "language \"%s\" stands in the vocabulary twice", code);
        }
        MX_TRY(mx_vocabulary_add_language(vocabulary, language));
    }
    cJSON_ArrayForEach(item, symbols)
    {
        MX_TRY(read_symbol(item, vocabulary));
    }
    MX_TRY(read_lexicon(root, vocabulary));
    *out = vocabulary;
    vocabulary = NULL;
out:
    mx_vocabulary_destroy(vocabulary);
    cJSON_Delete(root);
    return rc;
}
