/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random cases of the way back from features to audio.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "ops/case.h"

static int32_t draw_fft_size(struct op_case *c)
{
    if (c->plan.size == OP_LARGE) return 512;
    return 32 << op_draw(c, 0, c->plan.size == OP_TINY ? 0 : 3);
}

/* The points of the circle, and a window of no shape, but nowhere so small that dividing by it would cost digits. */
static void fill_tables(float *tables, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        tables[k] = copysignf(0.5f + 0.2f * fabsf(tables[k]), tables[k]);
        tables[n + 2 * k] = (float)cos(2 * M_PI * (double)k / (double)n);
        tables[n + 2 * k + 1] = (float)sin(2 * M_PI * (double)k / (double)n);
    }
}

enum { BANDS_MAX = 40 };

/* Overlapping bands, some empty, that leave bins out at both ends. */
struct bands {
    int32_t first[BANDS_MAX], ends[BANDS_MAX + 1];
};

/* Returns the weights of all of them. */
static int32_t draw_bands(struct op_case *c, int32_t count, int64_t bins, struct bands *b)
{
    b->ends[0] = (int32_t)op_draw(c, 0, 3);
    for (int64_t band = 0; band < count; band++) {
        const int64_t most = bins - 1;
        b->first[band] = (int32_t)op_draw(c, 1, most - 1);
        const int64_t room = most - b->first[band];
        b->ends[band + 1] = b->ends[band];
        if (op_draw(c, 0, 7) > 0) b->ends[band + 1] += (int32_t)op_draw(c, 1, room < 12 ? room : 12);
    }
    return b->ends[count] + (int32_t)op_draw(c, 0, 2);
}

static void fill_bands(float *tables, int64_t n, int32_t count, int32_t weights, const struct bands *b)
{
    fill_tables(tables, n);
    memcpy(tables + 3 * n, b->first, (size_t)count * sizeof *b->first);
    memcpy(tables + 3 * n + count, b->ends, ((size_t)count + 1) * sizeof *b->ends);
    float *weight = tables + 3 * n + 2 * count + 1;
    for (int32_t i = 0; i < weights; i++) weight[i] = 0.5f + 0.2f * fabsf(weight[i]);
}

void op_make_mel_inverse(struct op_case *c)
{
    OP_ARGS(mel_inverse);
    struct bands bands;
    a->fft_size = c->plan.size == OP_TINY ? 32 : 32 << op_draw(c, 0, 2);
    a->bands = (int32_t)op_draw(c, 1, c->plan.size == OP_TINY ? 4 : BANDS_MAX);
    a->iterations = (int32_t)op_draw(c, 0, 6);
    a->mean = c->plan.plain ? 0 : (float)op_draw(c, -3, 1);
    a->deviation = c->plan.plain ? 1 : (float)op_draw(c, 1, 4) / 4;
    const int64_t n = a->fft_size, bins = n / 2 + 1;
    a->weights = draw_bands(c, a->bands, bins, &bands);
    const int64_t rows = op_draw_sequences(c, c->plan.size == OP_LARGE ? 150 : -1);
    op_add(c, "mel", OP_AT(mel_inverse, mel), OP_IN,
           (struct op_shape){.layout = OP_ROWS, .rows = rows, .width = a->bands}, 0.5);
    op_add(c, "tables", OP_AT(mel_inverse, tables), OP_IN,
           (struct op_shape){.rows = 1, .width = 3 * n + 2 * a->bands + 1 + a->weights}, 1);
    op_add(c, "magnitude", OP_AT(mel_inverse, magnitude), OP_OUT,
           (struct op_shape){.layout = OP_ROWS, .rows = rows, .width = bins}, 0);
    fill_bands(op_case_data(c, "tables"), n, a->bands, a->weights, &bands);
    a->rows = rows;
    OP_DIM(mel_inverse, rows, OP_DIM_ROWS);
    OP_DIM(mel_inverse, fft_size, OP_DIM_FIXED);
    OP_DIM(mel_inverse, bands, OP_DIM_FIXED);
    OP_DIM(mel_inverse, weights, OP_DIM_FIXED);
    OP_DIM(mel_inverse, iterations, OP_DIM_FIXED);
}

void op_make_spectrum(struct op_case *c)
{
    OP_ARGS(spectrum);
    a->fft_size = draw_fft_size(c);
    a->hop = (int32_t)op_draw(c, a->fft_size / 8, a->fft_size);
    const int64_t n = a->fft_size, samples = op_draw_audio(c, n, a->hop), rows = c->ends[c->sequences];
    op_add(c, "audio", OP_AT(spectrum, audio), OP_IN,
           (struct op_shape){.layout = OP_SAMPLES, .rows = samples, .width = 1}, 0.1);
    op_add(c, "tables", OP_AT(spectrum, tables), OP_IN, (struct op_shape){.rows = 1, .width = 3 * n}, 1);
    op_add(c, "spectrum", OP_AT(spectrum, spectrum), OP_OUT,
           (struct op_shape){.layout = OP_ROWS, .rows = rows, .width = n + 2}, 0);
    op_add_audio(c, OP_AT(spectrum, samples), OP_AT(spectrum, frames));
    fill_tables(op_case_data(c, "tables"), n);
    OP_DIM(spectrum, fft_size, OP_DIM_FIXED);
    OP_DIM(spectrum, hop, OP_DIM_FIXED);
}

void op_make_overlap_add(struct op_case *c)
{
    OP_ARGS(overlap_add);
    a->fft_size = draw_fft_size(c);
    a->hop = (int32_t)op_draw(c, a->fft_size / 8, a->fft_size);
    a->least = op_flip(c) && !c->plan.plain ? 1.0f : 1e-8f; /* the larger one is reached by some samples */
    const int64_t n = a->fft_size, samples = op_draw_audio(c, n, a->hop), rows = c->ends[c->sequences];
    op_add(c, "spectrum", OP_AT(overlap_add, spectrum), OP_IN,
           (struct op_shape){.layout = OP_ROWS, .rows = rows, .width = n + 2}, sqrt((double)n) / 2);
    op_add(c, "tables", OP_AT(overlap_add, tables), OP_IN, (struct op_shape){.rows = 1, .width = 3 * n}, 1);
    op_add(c, "audio", OP_AT(overlap_add, audio), OP_OUT,
           (struct op_shape){.layout = OP_SAMPLES, .rows = samples, .width = 1}, 0);
    op_add(c, "work", OP_AT(overlap_add, work), OP_SCRATCH,
           (struct op_shape){.layout = OP_ROWS, .rows = rows, .width = n}, 0);
    op_add_audio(c, OP_AT(overlap_add, samples), OP_AT(overlap_add, frames));
    fill_tables(op_case_data(c, "tables"), n);
    OP_DIM(overlap_add, fft_size, OP_DIM_FIXED);
    OP_DIM(overlap_add, hop, OP_DIM_FIXED);
}

/* Some numbers are 0; no other sum is near it, where the smallest error would turn it anywhere. */
static void fill_numbers(struct op_case *c, float *now, float *before, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const bool zero = op_draw(c, 0, 9) == 0;
        now[2 * i] = zero ? 0 : now[2 * i] + copysignf(12, now[2 * i]);
        if (zero) now[2 * i + 1] = 0;
        if (zero && before) before[2 * i] = before[2 * i + 1] = 0;
    }
}

void op_make_griffin_step(struct op_case *c)
{
    OP_ARGS(griffin_step);
    const int64_t width = op_draw_width(c), rows = op_draw_sequences(c, -1), count = rows * width;
    const struct op_shape numbers = {.layout = OP_ROWS, .rows = rows, .width = 2 * width};
    const bool begun = op_flip(c) && !c->plan.plain;
    const int64_t place = c->plan.plain ? 0 : op_draw(c, 0, 2); /* of y: its own, now, before */
    a->momentum = 0.99f;
    const int now = op_add(c, "now", OP_AT(griffin_step, now), OP_IN, numbers, 1);
    int before = -1;
    if (begun) {
        before = op_add(c, "before", OP_AT(griffin_step, before), OP_IN, numbers, 1);
        op_optional(c);
    }
    op_add(c, "magnitude", OP_AT(griffin_step, magnitude), OP_IN,
           (struct op_shape){.layout = OP_ROWS, .rows = rows, .width = width}, 1);
    if (place == 0 || (place == 2 && !begun))
        op_add(c, "y", OP_AT(griffin_step, y), OP_OUT, numbers, 0);
    else
        op_share(c, "y", OP_AT(griffin_step, y), OP_INOUT, place == 1 ? now : before, 0, 2 * width);
    fill_numbers(c, op_case_data(c, "now"), begun ? op_case_data(c, "before") : NULL, count);
    a->count = count;
    op_dim_add(c, "count", OP_AT(griffin_step, count), 8, OP_DIM_ELEMENTS, width);
}

/* Bins lie beside any bands, also beyond them. */
static void fill_places(struct op_case *c, float *places, int64_t bins, int32_t bands)
{
    int32_t *const beside = (int32_t *)(void *)places;
    for (int64_t k = 0; k < 2 * bins; k++) beside[k] = (int32_t)op_draw(c, 0, bands - 1);
    for (int64_t k = 0; k < bins; k++) places[2 * bins + k] = (float)op_draw(c, 0, 8) / 8;
}

void op_make_mel_base(struct op_case *c)
{
    OP_ARGS(mel_base);
    struct bands bands;
    a->fft_size = c->plan.size == OP_TINY ? 32 : 32 << op_draw(c, 0, 2);
    a->bands = (int32_t)op_draw(c, 1, c->plan.size == OP_TINY ? 4 : BANDS_MAX);
    a->mean = c->plan.plain ? 0 : (float)op_draw(c, -3, 1);
    a->deviation = c->plan.plain ? 1 : (float)op_draw(c, 1, 4) / 4;
    const int64_t n = a->fft_size, bins = n / 2 + 1;
    a->weights = draw_bands(c, a->bands, bins, &bands);
    const int64_t rows = op_draw_sequences(c, -1);
    const struct op_shape levels = {.layout = OP_ROWS, .rows = rows, .width = a->bands};
    op_add(c, "mel", OP_AT(mel_base, mel), OP_IN, levels, 1);
    op_add(c, "tables", OP_AT(mel_base, tables), OP_IN,
           (struct op_shape){.rows = 1, .width = 3 * n + 2 * a->bands + 1 + a->weights}, 1);
    op_add(c, "places", OP_AT(mel_base, places), OP_IN, (struct op_shape){.rows = 1, .width = 3 * bins}, 1);
    if (!c->plan.plain && op_flip(c)) {
        op_add(c, "input", OP_AT(mel_base, input), OP_OUT, levels, 0);
        op_optional(c);
    }
    op_add(c, "base", OP_AT(mel_base, base), OP_OUT, (struct op_shape){.layout = OP_ROWS, .rows = rows, .width = bins},
           0);
    fill_bands(op_case_data(c, "tables"), n, a->bands, a->weights, &bands);
    fill_places(c, op_case_data(c, "places"), bins, a->bands);
    a->rows = rows;
    OP_DIM(mel_base, rows, OP_DIM_ROWS);
    OP_DIM(mel_base, fft_size, OP_DIM_FIXED);
    OP_DIM(mel_base, bands, OP_DIM_FIXED);
    OP_DIM(mel_base, weights, OP_DIM_FIXED);
}

/* Some bands are limited, some below the floor. */
void op_make_mel_project(struct op_case *c)
{
    OP_ARGS(mel_project);
    struct bands bands;
    a->fft_size = c->plan.size == OP_TINY ? 32 : 32 << op_draw(c, 0, 2);
    a->bands = (int32_t)op_draw(c, 1, c->plan.size == OP_TINY ? 4 : BANDS_MAX);
    a->rounds = (int32_t)op_draw(c, 0, 3);
    a->lower = (float)op_draw(c, 0, 4) / 4;
    a->raise = (float)op_draw(c, 0, 4) / 4;
    a->floor = op_flip(c) ? 1e-5f : 2.0f; /* the larger one is more than some bands have */
    a->mean = c->plan.plain ? 0 : (float)op_draw(c, -1, 1);
    a->deviation = c->plan.plain ? 1 : (float)op_draw(c, 1, 4) / 4;
    const int64_t n = a->fft_size, bins = n / 2 + 1;
    a->weights = draw_bands(c, a->bands, bins, &bands);
    const int64_t rows = op_draw_sequences(c, c->plan.size == OP_LARGE ? 150 : -1);
    const struct op_shape numbers = {.layout = OP_ROWS, .rows = rows, .width = n + 2};
    const int spectrum = op_add(c, "spectrum", OP_AT(mel_project, spectrum), OP_IN, numbers, 0.5);
    if (c->plan.plain || op_flip(c))
        op_add(c, "y", OP_AT(mel_project, y), OP_OUT, numbers, 0);
    else
        op_share(c, "y", OP_AT(mel_project, y), OP_INOUT, spectrum, 0, n + 2);
    if (!c->plan.plain && op_flip(c)) {
        op_add(c, "magnitude", OP_AT(mel_project, magnitude), OP_OUT,
               (struct op_shape){.layout = OP_ROWS, .rows = rows, .width = bins}, 0);
        op_optional(c);
    }
    op_add(c, "mel", OP_AT(mel_project, mel), OP_IN,
           (struct op_shape){.layout = OP_ROWS, .rows = rows, .width = a->bands}, 0.5);
    op_add(c, "tables", OP_AT(mel_project, tables), OP_IN,
           (struct op_shape){.rows = 1, .width = 3 * n + 2 * a->bands + 1 + a->weights}, 1);
    op_add(c, "places", OP_AT(mel_project, places), OP_IN, (struct op_shape){.rows = 1, .width = 3 * bins}, 1);
    fill_bands(op_case_data(c, "tables"), n, a->bands, a->weights, &bands);
    fill_places(c, op_case_data(c, "places"), bins, a->bands);
    a->rows = rows;
    OP_DIM(mel_project, rows, OP_DIM_ROWS);
    OP_DIM(mel_project, fft_size, OP_DIM_FIXED);
    OP_DIM(mel_project, bands, OP_DIM_FIXED);
    OP_DIM(mel_project, weights, OP_DIM_FIXED);
    OP_DIM(mel_project, rounds, OP_DIM_FIXED);
}
