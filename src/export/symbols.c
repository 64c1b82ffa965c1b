/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Symbols of other programs, see symbols.h.
 */
#include "export/symbols.h"

#include <string.h>
#include <utf8proc.h>

#include "base/alloc.h"
#include "base/string.h"
#include "export/layers.h"
#include "export/neighbours.h"
#include "myxtts/error.h"

#define PARTS_MAX 8    /* of one code point, decomposed; Unicode needs 4 */
#define SIGNS_MAX 6400 /* code points for private use */

/* ---- the numbering ---- */

void mx_export_symbols_release(struct mx_export_symbols *s)
{
    mx_free(s->tokens);
    mx_free(s->spellings);
    mx_free(s->pairs);
    mx_free(s->marks);
    *s = (struct mx_export_symbols){0};
}

static int64_t spelling_find(const struct mx_export_symbols *s, uint32_t point)
{
    for (size_t i = 0; i < s->spelling_count; i++)
        if (s->spellings[i].point == point) return s->spellings[i].id;
    return -1;
}

/* The id of a part: that of a symbol, or one of its own. */
static int64_t part_id(struct mx_export_symbols *s, uint32_t point)
{
    const int64_t known = spelling_find(s, point);
    if (known >= 0) return known;
    s->tokens[s->ids] = -1;
    s->spellings[s->spelling_count++] = (struct mx_export_spelling){point, s->ids};
    return s->ids++;
}

static int64_t pair_find(const struct mx_export_symbols *s, int64_t first, int64_t second)
{
    for (size_t i = 0; i < s->pair_count; i++)
        if (s->pairs[i].first == first && s->pairs[i].second == second) return s->pairs[i].whole;
    return -1;
}

/* Symbol `id` arrives in these parts: they are put together from the left. */
static void parts_add(struct mx_export_symbols *s, const utf8proc_int32_t *parts, int count, int64_t id)
{
    int64_t left = part_id(s, (uint32_t)parts[0]);
    if (count - 1 > s->passes) s->passes = count - 1;
    for (int i = 1; i < count; i++) {
        const int64_t right = part_id(s, (uint32_t)parts[i]);
        int64_t whole = pair_find(s, left, right);
        if (whole < 0) {
            /* In between: the symbol of these parts if no more follow. */
            utf8proc_int32_t two[] = {parts[0], parts[1]};
            const int64_t symbol = i == 1 && utf8proc_normalize_utf32(two, 2, UTF8PROC_COMPOSE | UTF8PROC_STABLE) == 1
                                       ? spelling_find(s, (uint32_t)two[0])
                                       : -1;
            whole = i == count - 1 ? id : symbol;
            if (whole < 0) {
                whole = s->ids++;
                s->tokens[whole] = -1;
            }
            s->pairs[s->pair_count++] = (struct mx_export_pair){left, right, whole};
        }
        left = whole;
    }
}

bool mx_export_symbols_has_blank(const struct mx_vocabulary *vocabulary)
{
    uint32_t sign;
    mx_utf8_decode(MX_EXPORT_BLANK, &sign);
    return mx_vocabulary_find(vocabulary, ' ') >= 0 && mx_vocabulary_find(vocabulary, sign) < 0;
}

static int symbol_check(uint32_t symbol)
{
    char name[MX_SYMBOL_NAME_BYTES];
    if (symbol != '_' && symbol != '^' && symbol != '$') return 0;
    return MX_FAIL(MX_ERR_UNSUPPORTED,
                   "train the voice on text without it ('myxtts synth' can speak with this voice as it is)",
                   "the voice has the symbol %s, which Piper and sherpa-onnx use for something else",
                   mx_symbol_name(symbol, name));
}

int mx_export_symbols_check(const struct mx_vocabulary *vocabulary)
{
    int rc = 0;
    for (int64_t t = MX_TOKEN_FIRST; t < (int64_t)mx_vocabulary_size(vocabulary); t++)
        MX_TRY(symbol_check(mx_vocabulary_symbol(vocabulary, (int32_t)t)));
out:
    return rc;
}

/* The ids of neighbours.h, for voices whose words are looked up. */
static void neighbours_add(struct mx_export_symbols *s)
{
    const int64_t space = s->space + 1;
    s->neighbours = s->space >= 0 && (s->ids + 2) * MX_EXPORT_ALWAYS_SILENT <= SIGNS_MAX;
    if (!s->neighbours) return;
    s->article = s->ids++;
    s->join = s->ids++;
    s->tokens[s->article] = s->tokens[s->join] = -1;
    /* Both go. */
    s->pairs[s->pair_count++] = (struct mx_export_pair){s->join, space, s->join};
    if (s->passes < 1) s->passes = 1;
}

int mx_export_symbols_build(const struct mx_vocabulary *vocabulary, struct mx_export_symbols *s)
{
    int rc = 0;
    const int64_t tokens = (int64_t)mx_vocabulary_size(vocabulary);
    const size_t room = (size_t)tokens * PARTS_MAX + MX_EXPORT_FIRST + 2;
    *s = (struct mx_export_symbols){0};
    MX_TRY(mx_export_symbols_check(vocabulary));
    *s = (struct mx_export_symbols){
        .ids = tokens + 1, .token_count = tokens, .space = mx_vocabulary_find(vocabulary, ' ')};
    s->marks = mx_alloc((size_t)tokens, sizeof *s->marks);
    s->tokens = mx_alloc(room, sizeof *s->tokens);
    s->spellings = mx_alloc(room, sizeof *s->spellings);
    s->pairs = mx_alloc(room, sizeof *s->pairs);
    if (s->tokens == NULL || s->spellings == NULL || s->pairs == NULL || s->marks == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    s->tokens[MX_EXPORT_PAD] = -1;
    for (int64_t t = 0; t < tokens; t++) s->tokens[t + 1] = t;
    for (int64_t t = MX_TOKEN_FIRST; t < tokens; t++) {
        const uint32_t symbol = mx_vocabulary_symbol(vocabulary, (int32_t)t);
        s->spellings[s->spelling_count++] = (struct mx_export_spelling){symbol, t + 1};
        s->marks[t] = symbol < 128 && strchr(MX_EXPORT_MARKS, (int)symbol) != NULL;
    }
    for (int64_t t = MX_TOKEN_FIRST; t < tokens; t++) {
        const uint32_t symbol = mx_vocabulary_symbol(vocabulary, (int32_t)t);
        utf8proc_int32_t parts[PARTS_MAX];
        int last_class = 0;
        const utf8proc_ssize_t count = utf8proc_decompose_char((utf8proc_int32_t)symbol, parts, PARTS_MAX,
                                                               UTF8PROC_DECOMPOSE | UTF8PROC_STABLE, &last_class);
        if (count == 1 && (uint32_t)parts[0] != symbol && spelling_find(s, (uint32_t)parts[0]) < 0)
            s->spellings[s->spelling_count++] = (struct mx_export_spelling){(uint32_t)parts[0], t + 1};
        if (count > 1 && count <= PARTS_MAX) parts_add(s, parts, (int)count, t + 1);
    }
    if (mx_vocabulary_mode(vocabulary) == MX_TOKENS_PHONEMES) neighbours_add(s);
    if (mx_vocabulary_mode(vocabulary) == MX_TOKENS_CHARS)
        for (int64_t t = MX_TOKEN_FIRST; t < tokens; t++) {
            const uint32_t symbol = mx_vocabulary_symbol(vocabulary, (int32_t)t);
            const uint32_t capital = (uint32_t)utf8proc_toupper((utf8proc_int32_t)symbol);
            if (capital != symbol && spelling_find(s, capital) < 0)
                s->spellings[s->spelling_count++] = (struct mx_export_spelling){capital, t + 1};
        }
out:
    if (rc < 0) mx_export_symbols_release(s);
    return rc;
}

/* ---- reading ---- */

/* A list, less what is not kept. */
static struct mx_onnx_value kept(struct mx_onnx *o, struct mx_onnx_value x, struct mx_onnx_value keep)
{
    return MX_ONNX_WITH(o, "Compress", (MX_ONNX_A_INT("axis", 0)), x, keep);
}

/* Joins neighbours that are one symbol. */
static void pairs_join(struct mx_onnx *o, const struct mx_export_symbols *s, struct mx_onnx_value *ids,
                       struct mx_onnx_value *places)
{
    int64_t *const numbers = mx_alloc(2 * s->pair_count, sizeof *numbers);
    const int64_t count = (int64_t)s->pair_count;
    if (numbers == NULL) {
        o->graph.failure = MX_ERR_NO_MEMORY;
        return;
    }
    for (size_t i = 0; i < s->pair_count; i++) {
        numbers[i] = s->pairs[i].first * s->ids + s->pairs[i].second;
        numbers[s->pair_count + i] = s->pairs[i].whole;
    }
    const struct mx_onnx_value known = mx_onnx_list(o, numbers, (int)count);
    const struct mx_onnx_value wholes = mx_onnx_list(o, numbers + count, (int)count);
    mx_free(numbers);
    const struct mx_onnx_value next = MX_ONNX_WITH(o, "Concat", (MX_ONNX_A_INT("axis", 0)),
                                                   mx_export_slice(o, *ids, 1, MX_EXPORT_END, 0), MX_ONNX_LIST(o, 0));
    const struct mx_onnx_value code = MX_ONNX(o, "Add", MX_ONNX(o, "Mul", *ids, mx_onnx_int(o, s->ids)), next);
    const struct mx_onnx_value equal = mx_export_cast(o, MX_ONNX(o, "Equal", mx_export_unsqueeze(o, code, 1), known),
                                                      MX_ONNX_FLOAT); /* [ids, pairs] */
    const struct mx_onnx_value most =
        MX_ONNX_WITH(o, "ReduceMax", (MX_ONNX_A_INTS("axes", 1), MX_ONNX_A_INT("keepdims", 0)), equal);
    const struct mx_onnx_value which =
        MX_ONNX_WITH(o, "ArgMax", (MX_ONNX_A_INT("axis", 1), MX_ONNX_A_INT("keepdims", 0)), equal);
    const struct mx_onnx_value joined = MX_ONNX(o, "Greater", most, mx_onnx_real(o, 0.5));
    const struct mx_onnx_value result = MX_ONNX(o, "Where", joined, MX_ONNX(o, "Gather", wholes, which), *ids);
    /* The second part is dropped: it follows a joined one. */
    const struct mx_onnx_value before =
        MX_ONNX_WITH(o, "Concat", (MX_ONNX_A_INT("axis", 0)), MX_ONNX_LIST(o, 0),
                     mx_export_cast(o, mx_export_slice(o, joined, 0, -1, 0), MX_ONNX_INT64));
    const struct mx_onnx_value keep = MX_ONNX(o, "Equal", before, mx_onnx_int(o, 0));
    *ids = kept(o, result, keep);
    *places = kept(o, *places, keep);
}

/* x[i - 1] (`by` -1) or x[i + 1] (`by` 1) at place i, int64, and `edge` where there is none. */
static struct mx_onnx_value neighbour(struct mx_onnx *o, struct mx_onnx_value x, int by, int64_t edge)
{
    const struct mx_onnx_value outside = MX_ONNX_LIST(o, edge);
    const struct mx_onnx_value inside =
        by < 0 ? mx_export_slice(o, x, 0, -1, 0) : mx_export_slice(o, x, 1, MX_EXPORT_END, 0);
    return by < 0 ? MX_ONNX_WITH(o, "Concat", (MX_ONNX_A_INT("axis", 0)), outside, inside)
                  : MX_ONNX_WITH(o, "Concat", (MX_ONNX_A_INT("axis", 0)), inside, outside);
}

/* Spaces as we write them: after a mark and not before it, one at a time, and none at the ends. sherpa-onnx sends one
 * after each word of its lexicon, and then the mark. */
static void spaces_settle(struct mx_onnx *o, const struct mx_export_symbols *s, struct mx_onnx_value *tokens,
                          struct mx_onnx_value *places)
{
    const struct mx_onnx_value space = mx_onnx_int(o, s->space);
    const struct mx_onnx_value marks = mx_onnx_tensor(o, NULL, MX_ONNX_BOOL, &(int64_t){s->token_count}, 1, s->marks);
    const struct mx_onnx_value before = neighbour(o, *tokens, -1, s->space),
                               following = neighbour(o, *tokens, 1, s->space);
    const struct mx_onnx_value first = /* of a space and a mark */
        MX_ONNX(o, "And", MX_ONNX(o, "Equal", *tokens, space), MX_ONNX(o, "Gather", marks, following));
    const struct mx_onnx_value second =
        MX_ONNX(o, "And", MX_ONNX(o, "Gather", marks, *tokens), MX_ONNX(o, "Equal", before, space));
    const struct mx_onnx_value begun = /* a mark at the very beginning has no space before it */
        MX_ONNX(o, "Greater", mx_export_range(o, mx_export_rows(o, *tokens)), mx_onnx_int(o, 0));
    const struct mx_onnx_value swapped = MX_ONNX(o, "Where", first, following, *tokens);
    *tokens = MX_ONNX(o, "Where", MX_ONNX(o, "And", second, begun), space, swapped);
    const struct mx_onnx_value blank = MX_ONNX(o, "Equal", *tokens, space);
    const struct mx_onnx_value next = MX_ONNX(o, "Equal", neighbour(o, *tokens, 1, s->space), space);
    const struct mx_onnx_value opening = MX_ONNX(o, "Not", begun);
    const struct mx_onnx_value needless = MX_ONNX(o, "And", blank, MX_ONNX(o, "Or", next, opening));
    const struct mx_onnx_value keep = MX_ONNX(o, "Not", needless);
    *tokens = kept(o, *tokens, keep);
    *places = kept(o, *places, keep);
}

/* Between BOS and EOS, whether they were sent or not. */
static struct mx_onnx_value ends_add(struct mx_onnx *o, struct mx_onnx_value first, struct mx_onnx_value x,
                                     struct mx_onnx_value last)
{
    return MX_ONNX_WITH(o, "Concat", (MX_ONNX_A_INT("axis", 0)), first, x, last);
}

struct mx_export_reading mx_export_symbols_read(struct mx_onnx *o, const struct mx_export_symbols *s,
                                                struct mx_onnx_value ids)
{
    const struct mx_onnx_value one = mx_onnx_int(o, 1);
    const struct mx_onnx_value last = mx_export_unsqueeze(o, MX_ONNX(o, "Sub", mx_export_rows(o, ids), one), 0);
    struct mx_onnx_value keep = MX_ONNX(o, "Greater", ids, mx_onnx_int(o, MX_EXPORT_PAD));
    struct mx_onnx_value places = kept(o, mx_export_range(o, mx_export_rows(o, ids)), keep);
    ids = kept(o, ids, keep);
    if (s->neighbours) mx_export_neighbours_settle(o, s, &ids, &places);
    for (int i = 0; i < s->passes; i++) pairs_join(o, s, &ids, &places);
    const struct mx_onnx_value table = mx_onnx_tensor(o, NULL, MX_ONNX_INT64, &(int64_t){s->ids}, 1, s->tokens);
    struct mx_onnx_value tokens = MX_ONNX(o, "Gather", table, ids);
    keep = MX_ONNX(o, "GreaterOrEqual", tokens, mx_onnx_int(o, MX_TOKEN_FIRST));
    tokens = kept(o, tokens, keep);
    places = kept(o, places, keep);
    if (s->space >= 0) spaces_settle(o, s, &tokens, &places);
    return (struct mx_export_reading){
        .tokens = ends_add(o, MX_ONNX_LIST(o, MX_TOKEN_BOS), tokens, MX_ONNX_LIST(o, MX_TOKEN_EOS)),
        .places = ends_add(o, MX_ONNX_LIST(o, 0), places, last)};
}
