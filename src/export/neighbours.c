/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Readings before other words, see neighbours.h.
 */
#include "export/neighbours.h"

#include "base/alloc.h"
#include "export/layers.h"
#include "myxtts/error.h"

#define FIRST_SIGN 0xE000u

enum mx_export_neighbour mx_export_neighbour_of(uint32_t symbol)
{
    static const uint32_t vowels[] = {
        'a',   'e',   'i',   'o',   'u',   'y',   0xE6 /* æ */, 0xF8 /* ø */, 0x153 /* œ */,  0x250 /* ɐ */,  0x251,
        0x252, 0x254, 0x258, 0x259, 0x25A, 0x25B, 0x25C,        0x25D,        0x25E,          0x264,          0x268,
        0x26A, 0x26F, 0x275, 0x276, 0x289, 0x28A, 0x28C,        0x28F,        0x1D7B /* ᵻ */, 0x1D7F /* ᵿ */, 0x2C8,
        0x2CC, /* the marks of stress stand before vowels */
    };
    for (size_t i = 0; i < sizeof vowels / sizeof *vowels; i++)
        if (symbol == vowels[i]) return MX_EXPORT_VOWEL;
    return MX_EXPORT_CONSONANT;
}

uint32_t mx_export_neighbours_sign(const struct mx_export_symbols *s, int64_t id, unsigned silent)
{
    return FIRST_SIGN + (uint32_t)(id + s->ids * (int64_t)silent);
}

/* What follows a word, by the first id after the space or mark at its end. */
static struct mx_onnx_value kinds_of(struct mx_onnx *o, const struct mx_export_symbols *s)
{
    int64_t *const kinds = mx_alloc((size_t)s->ids, sizeof *kinds);
    if (kinds == NULL) {
        o->graph.failure = MX_ERR_NO_MEMORY;
        return (struct mx_onnx_value){.name = ""};
    }
    for (int64_t i = 0; i < s->ids; i++) kinds[i] = MX_EXPORT_CONSONANT;
    for (size_t i = 0; i < s->spelling_count; i++)
        kinds[s->spellings[i].id] = mx_export_neighbour_of(s->spellings[i].point);
    for (int64_t i = 0; i < s->ids; i++) {
        const int64_t token = s->tokens[i];
        if (token >= 0 && (token < MX_TOKEN_FIRST || token == s->space || s->marks[token]))
            kinds[i] = MX_EXPORT_NOTHING;
    }
    kinds[s->article] = MX_EXPORT_ARTICLE;
    const struct mx_onnx_value table = mx_onnx_list(o, kinds, (int)s->ids);
    mx_free(kinds);
    return table;
}

void mx_export_neighbours_settle(struct mx_onnx *o, const struct mx_export_symbols *s, struct mx_onnx_value *ids,
                                 struct mx_onnx_value *places)
{
    const struct mx_onnx_value count = mx_onnx_int(o, s->ids), two = mx_onnx_int(o, 2);
    const struct mx_onnx_value nothing = MX_ONNX_LIST(o, MX_EXPORT_NOTHING);
    const struct mx_onnx_value plain = MX_ONNX(o, "Mod", *ids, count), silent = MX_ONNX(o, "Div", *ids, count);
    const struct mx_onnx_value kinds = MX_ONNX(o, "Gather", kinds_of(o, s), plain);
    const struct mx_onnx_value end = MX_ONNX(o, "Equal", kinds, nothing); /* of a word */
    const struct mx_onnx_value next =
        MX_ONNX_WITH(o, "Concat", (MX_ONNX_A_INT("axis", 0)), mx_export_slice(o, kinds, 1, MX_EXPORT_END, 0), nothing);
    /* What follows each end, and how many of them each id follows. */
    const struct mx_onnx_value following =
        MX_ONNX_WITH(o, "Concat", (MX_ONNX_A_INT("axis", 0)),
                     MX_ONNX_WITH(o, "Compress", (MX_ONNX_A_INT("axis", 0)), next, end), nothing);
    const struct mx_onnx_value ends = MX_ONNX(o, "CumSum", mx_export_cast(o, end, MX_ONNX_INT64), mx_onnx_int(o, 0));
    const struct mx_onnx_value bit =
        MX_ONNX(o, "Gather", MX_ONNX_LIST(o, 1, 2, 4, 8), MX_ONNX(o, "Gather", following, ends));
    const struct mx_onnx_value keep =
        MX_ONNX(o, "Equal", MX_ONNX(o, "Mod", MX_ONNX(o, "Div", silent, bit), two), mx_onnx_int(o, 0));
    *ids = MX_ONNX_WITH(o, "Compress", (MX_ONNX_A_INT("axis", 0)), plain, keep);
    *places = MX_ONNX_WITH(o, "Compress", (MX_ONNX_A_INT("axis", 0)), *places, keep);
}
