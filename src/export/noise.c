/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Noise as nodes, see noise.h.
 */
#include "export/noise.h"

#include <math.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "myxtts/error.h"
#include "vocoder/sound_numbers.h"

#define DIGITS 8  /* hexadecimal, of a word */
#define ROUNDS 10 /* of Philox */
#define WORDS  4  /* of a block */

/* ---- the beginning ---- */

/* gain (1 + MX_SOUND_NOISE_TO_ONE · noise) for the upper 24 bits of a word, as the operation noise adds it to 1 */
static double level_of(const struct mx_recipe *recipe, double bits)
{
    const double noise = sqrt(3) * ((bits + 0.5) * 0x1p-23 - 1);
    return (double)mx_sound_noise_gain(recipe) * (1 + (double)MX_SOUND_NOISE_TO_ONE * noise);
}

/* [MX_EXPORT_NOISE_FRAMES, hop] */
static struct mx_onnx_value table_build(struct mx_onnx *o, const struct mx_recipe *recipe, uint64_t seed)
{
    const int64_t hop = recipe->hop, blocks = MX_EXPORT_NOISE_FRAMES;
    float *const values = mx_alloc((size_t)(blocks * hop), sizeof *values);
    if (values == NULL) {
        o->graph.failure = MX_ERR_NO_MEMORY;
        return (struct mx_onnx_value){.name = ""};
    }
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t i = 0; i < hop; i++)
            values[b * hop + i] =
                (float)level_of(recipe, mx_rng_u32(seed, (uint64_t)mx_sound_noise_stream(b), (uint64_t)i) >> 8);
    const struct mx_onnx_value table =
        mx_onnx_tensor(o, NULL, MX_ONNX_FLOAT, (const int64_t[]){blocks, hop}, 2, values);
    mx_free(values);
    return table;
}

/* ---- Philox; words are doubles ---- */

static struct mx_onnx_value add(struct mx_onnx *o, struct mx_onnx_value a, struct mx_onnx_value b)
{
    return MX_ONNX(o, "Add", a, b);
}

static struct mx_onnx_value times(struct mx_onnx *o, struct mx_onnx_value x, double factor)
{
    return MX_ONNX(o, "Mul", x, mx_onnx_double(o, factor));
}

/* x = 2^16 · above + below */
struct halves {
    struct mx_onnx_value above, below;
};

static struct halves halve(struct mx_onnx *o, struct mx_onnx_value x)
{
    const struct mx_onnx_value above = MX_ONNX(o, "Floor", times(o, x, 0x1p-16));
    return (struct halves){above, MX_ONNX(o, "Sub", x, times(o, above, 0x1p16))};
}

/* The upper and the lower word of a product of two words, which a double does not hold as a whole. */
struct product {
    struct mx_onnx_value high, low;
};

static struct product multiply(struct mx_onnx *o, struct mx_onnx_value x, struct mx_onnx_value factor)
{
    const struct halves parts = halve(o, x);
    const struct halves first = halve(o, MX_ONNX(o, "Mul", parts.below, factor));
    const struct halves second = halve(o, add(o, MX_ONNX(o, "Mul", parts.above, factor), first.above));
    return (struct product){second.above, add(o, times(o, second.below, 0x1p16), first.below)};
}

/* [any, any, any] → its hexadecimal digits [any, any, any, DIGITS], the lowest first */
static struct mx_onnx_value digits_of(struct mx_onnx *o, struct mx_onnx_value x)
{
    double powers[DIGITS + 1];
    for (int i = 0; i <= DIGITS; i++) powers[i] = ldexp(1, -4 * i);
    const struct mx_onnx_value scales =
        mx_onnx_tensor(o, NULL, MX_ONNX_DOUBLE, (const int64_t[]){DIGITS + 1}, 1, powers);
    const struct mx_onnx_value left = MX_ONNX(o, "Floor", MX_ONNX(o, "Mul", mx_export_unsqueeze(o, x, 3), scales));
    return MX_ONNX(o, "Sub", mx_export_slice(o, left, 0, DIGITS, 3),
                   times(o, mx_export_slice(o, left, 1, DIGITS + 1, 3), 16));
}

/* a ^ b ^ key; key [2, 1, 1, DIGITS]: its digits · 256 */
static struct mx_onnx_value exclusive_or(struct mx_onnx *o, struct mx_onnx_value a, struct mx_onnx_value b,
                                         struct mx_onnx_value key)
{
    double table[16 * 16 * 16], powers[DIGITS];
    for (int i = 0; i < 16 * 16 * 16; i++) table[i] = (i >> 8) ^ (i >> 4 & 15) ^ (i & 15);
    for (int i = 0; i < DIGITS; i++) powers[i] = ldexp(1, 4 * i);
    const struct mx_onnx_value all = mx_onnx_tensor(o, NULL, MX_ONNX_DOUBLE, (const int64_t[]){16 * 16 * 16}, 1, table);
    const struct mx_onnx_value scales = mx_onnx_tensor(o, NULL, MX_ONNX_DOUBLE, (const int64_t[]){DIGITS}, 1, powers);
    const struct mx_onnx_value place = add(o, add(o, times(o, digits_of(o, a), 16), digits_of(o, b)), key);
    return MX_ONNX(o, "MatMul", MX_ONNX(o, "Gather", all, mx_export_cast(o, place, MX_ONNX_INT64)), scales);
}

static struct mx_onnx_value swapped(struct mx_onnx *o, struct mx_onnx_value x)
{
    return MX_ONNX(o, "Gather", x, MX_ONNX_LIST(o, 1, 0));
}

/* The keys of all rounds, [ROUNDS, 2, DIGITS]: digits · 256 */
static struct mx_onnx_value keys_build(struct mx_onnx *o, uint64_t seed)
{
    double keys[ROUNDS * 2 * DIGITS];
    uint32_t key[] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2; i++)
            for (int d = 0; d < DIGITS; d++) keys[(round * 2 + i) * DIGITS + d] = 256.0 * (key[i] >> 4 * d & 15);
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    return mx_onnx_tensor(o, NULL, MX_ONNX_DOUBLE, (const int64_t[]){ROUNDS, 2, DIGITS}, 3, keys);
}

/* The rounds of mx_philox for words [WORDS, gaps, blocks] in the order c0, c2, c1, c3. */
static struct mx_onnx_value philox(struct mx_onnx *o, struct mx_onnx_value words, uint64_t seed)
{
    struct mx_onnx body = {.prefix = "philox"};
    struct mx_onnx_value results[1];
    const struct mx_onnx_dimension shape[] = {{NULL, WORDS}, {"later", 0}, {"blocks", 0}};
    const struct mx_onnx_dimension key_shape[] = {{NULL, 2}, {NULL, DIGITS}};
    const double factors[] = {0xD2511F53u, 0xCD9E8D57u};
    const struct mx_onnx_value before = mx_onnx_input(&body, "philox_words", MX_ONNX_DOUBLE, shape, 3);
    const struct mx_onnx_value key = mx_onnx_input(&body, "philox_key", MX_ONNX_DOUBLE, key_shape, 2);
    const struct product p =
        multiply(&body, mx_export_slice(&body, before, 0, 2, 0),
                 mx_onnx_tensor(&body, NULL, MX_ONNX_DOUBLE, (const int64_t[]){2, 1, 1}, 3, factors));
    const struct mx_onnx_value even =
        exclusive_or(&body, swapped(&body, p.high), mx_export_slice(&body, before, 2, 4, 0),
                     MX_ONNX(&body, "Reshape", key, MX_ONNX_LIST(&body, 2, 1, 1, DIGITS)));
    const struct mx_onnx_value after =
        MX_ONNX_WITH(&body, "Concat", (MX_ONNX_A_INT("axis", 0)), even, swapped(&body, p.low));
    mx_onnx_output(&body, after, "philox_next", MX_ONNX_DOUBLE, shape, 3);
    mx_onnx_add(
        o,
        &(struct mx_onnx_node){.type = "Scan",
                               .in = {words, keys_build(o, seed)},
                               .attributes = {MX_ONNX_A_GRAPH("body", &body), MX_ONNX_A_INT("num_scan_inputs", 1)}},
        results, 1);
    mx_onnx_release(&body);
    return results[0];
}

/* The noise after the frames `numbers`, int64 [later, 1]: float [later, hop] */
static struct mx_onnx_value noise_compute(struct mx_onnx *o, const struct mx_recipe *recipe, uint64_t seed,
                                          struct mx_onnx_value numbers)
{
    const struct mx_onnx_value blocks = mx_export_range(o, mx_onnx_int(o, recipe->hop / WORDS));
    const struct mx_onnx_value high = mx_onnx_int(o, mx_sound_noise_stream(0) >> 32);
    const struct mx_onnx_value none =
        MX_ONNX(o, "Mul", MX_ONNX(o, "Add", numbers, blocks), mx_onnx_int(o, 0)); /* [later, blocks] */
    const struct mx_onnx_value starts[WORDS] = {blocks, numbers, mx_onnx_int(o, 0), high};
    struct mx_onnx_value words[WORDS];
    for (int i = 0; i < WORDS; i++)
        words[i] = mx_export_unsqueeze(o, mx_export_cast(o, MX_ONNX(o, "Add", none, starts[i]), MX_ONNX_DOUBLE), 0);
    const struct mx_onnx_value start =
        MX_ONNX_WITH(o, "Concat", (MX_ONNX_A_INT("axis", 0)), words[0], words[1], words[2], words[3]);
    const struct mx_onnx_value end = MX_ONNX(o, "Gather", philox(o, start, seed), MX_ONNX_LIST(o, 0, 2, 1, 3));
    const struct mx_onnx_value rows =
        MX_ONNX(o, "Reshape", MX_ONNX_WITH(o, "Transpose", (MX_ONNX_A_INTS("perm", 1, 2, 0)), end),
                MX_ONNX_LIST(o, -1, recipe->hop));
    /* level_of, in the same order */
    const struct mx_onnx_value bits = MX_ONNX(o, "Floor", times(o, rows, 0x1p-8));
    const struct mx_onnx_value uniform =
        add(o, times(o, add(o, bits, mx_onnx_double(o, 0.5)), 0x1p-23), mx_onnx_double(o, -1));
    const struct mx_onnx_value noise = times(o, uniform, sqrt(3));
    const struct mx_onnx_value one = add(o, times(o, noise, (double)MX_SOUND_NOISE_TO_ONE), mx_onnx_double(o, 1));
    return mx_export_cast(o, times(o, one, (double)mx_sound_noise_gain(recipe)), MX_ONNX_FLOAT);
}

struct mx_onnx_value mx_export_noise(struct mx_onnx *o, const struct mx_recipe *recipe, uint64_t seed,
                                     struct mx_onnx_value frames)
{
    const struct mx_onnx_value gaps = MX_ONNX(o, "Sub", frames, mx_onnx_int(o, 1));
    const struct mx_onnx_value size = mx_onnx_int(o, MX_EXPORT_NOISE_FRAMES);
    const struct mx_onnx_value early = mx_export_range(o, MX_ONNX(o, "Min", gaps, size));
    /* At least one, even if that is too many: some nodes of runtimes refuse empty tensors. */
    const struct mx_onnx_value later =
        mx_export_range(o, MX_ONNX(o, "Max", MX_ONNX(o, "Sub", gaps, size), mx_onnx_int(o, 1)));
    const struct mx_onnx_value known = MX_ONNX(o, "Gather", table_build(o, recipe, seed), early);
    const struct mx_onnx_value rest = noise_compute(o, recipe, seed, mx_export_unsqueeze(o, add(o, later, size), 1));
    const struct mx_onnx_value all = MX_ONNX_WITH(o, "Concat", (MX_ONNX_A_INT("axis", 0)), known, rest);
    const struct mx_onnx_value wanted =
        MX_ONNX(o, "Slice", all, MX_ONNX_LIST(o, 0), mx_export_unsqueeze(o, gaps, 0), MX_ONNX_LIST(o, 0));
    return MX_ONNX(o, "Reshape", wanted, MX_ONNX_LIST(o, -1));
}
