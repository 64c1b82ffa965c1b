/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random cases of the way back from features to audio.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "device/op_case.h"

static int32_t draw_fft_size(struct mx_op_case *c)
{
    if (c->plan.size == MX_OP_LARGE) return 512;
    return 32 << mx_op_draw(c, 0, c->plan.size == MX_OP_TINY ? 0 : 3);
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
static int32_t draw_bands(struct mx_op_case *c, int32_t count, int64_t bins, struct bands *b)
{
    b->ends[0] = (int32_t)mx_op_draw(c, 0, 3);
    for (int64_t band = 0; band < count; band++) {
        const int64_t most = bins - 1;
        b->first[band] = (int32_t)mx_op_draw(c, 1, most - 1);
        const int64_t room = most - b->first[band];
        b->ends[band + 1] = b->ends[band];
        if (mx_op_draw(c, 0, 7) > 0) b->ends[band + 1] += (int32_t)mx_op_draw(c, 1, room < 12 ? room : 12);
    }
    return b->ends[count] + (int32_t)mx_op_draw(c, 0, 2);
}

static void fill_bands(float *tables, int64_t n, int32_t count, int32_t weights, const struct bands *b)
{
    fill_tables(tables, n);
    memcpy(tables + 3 * n, b->first, (size_t)count * sizeof *b->first);
    memcpy(tables + 3 * n + count, b->ends, ((size_t)count + 1) * sizeof *b->ends);
    float *weight = tables + 3 * n + 2 * count + 1;
    for (int32_t i = 0; i < weights; i++) weight[i] = 0.5f + 0.2f * fabsf(weight[i]);
}

void mx_op_make_mel_inverse(struct mx_op_case *c)
{
    MX_OP_ARGS(mel_inverse);
    struct bands bands;
    a->fft_size = c->plan.size == MX_OP_TINY ? 32 : 32 << mx_op_draw(c, 0, 2);
    a->bands = (int32_t)mx_op_draw(c, 1, c->plan.size == MX_OP_TINY ? 4 : BANDS_MAX);
    a->iterations = (int32_t)mx_op_draw(c, 0, 6);
    a->mean = c->plan.plain ? 0 : (float)mx_op_draw(c, -3, 1);
    a->deviation = c->plan.plain ? 1 : (float)mx_op_draw(c, 1, 4) / 4;
    const int64_t n = a->fft_size, bins = n / 2 + 1;
    a->weights = draw_bands(c, a->bands, bins, &bands);
    const int64_t rows = mx_op_draw_sequences(c, c->plan.size == MX_OP_LARGE ? 150 : -1);
    mx_op_add(c, "mel", MX_OP_AT(mel_inverse, mel), MX_OP_IN,
              (struct mx_op_shape){.layout = MX_OP_ROWS, .rows = rows, .width = a->bands}, 0.5);
    mx_op_add(c, "tables", MX_OP_AT(mel_inverse, tables), MX_OP_IN,
              (struct mx_op_shape){.rows = 1, .width = 3 * n + 2 * a->bands + 1 + a->weights}, 1);
    mx_op_add(c, "magnitude", MX_OP_AT(mel_inverse, magnitude), MX_OP_OUT,
              (struct mx_op_shape){.layout = MX_OP_ROWS, .rows = rows, .width = bins}, 0);
    fill_bands(mx_op_case_data(c, "tables"), n, a->bands, a->weights, &bands);
    a->rows = rows;
    MX_OP_DIM(mel_inverse, rows, MX_OP_DIM_ROWS);
    MX_OP_DIM(mel_inverse, fft_size, MX_OP_DIM_FIXED);
    MX_OP_DIM(mel_inverse, bands, MX_OP_DIM_FIXED);
    MX_OP_DIM(mel_inverse, weights, MX_OP_DIM_FIXED);
    MX_OP_DIM(mel_inverse, iterations, MX_OP_DIM_FIXED);
}

void mx_op_make_spectrum(struct mx_op_case *c)
{
    MX_OP_ARGS(spectrum);
    a->fft_size = draw_fft_size(c);
    a->hop = (int32_t)mx_op_draw(c, a->fft_size / 8, a->fft_size);
    const int64_t n = a->fft_size, samples = mx_op_draw_audio(c, n, a->hop), rows = c->ends[c->sequences];
    mx_op_add(c, "audio", MX_OP_AT(spectrum, audio), MX_OP_IN,
              (struct mx_op_shape){.layout = MX_OP_SAMPLES, .rows = samples, .width = 1}, 0.1);
    mx_op_add(c, "tables", MX_OP_AT(spectrum, tables), MX_OP_IN, (struct mx_op_shape){.rows = 1, .width = 3 * n}, 1);
    mx_op_add(c, "spectrum", MX_OP_AT(spectrum, spectrum), MX_OP_OUT,
              (struct mx_op_shape){.layout = MX_OP_ROWS, .rows = rows, .width = n + 2}, 0);
    mx_op_add_audio(c, MX_OP_AT(spectrum, samples), MX_OP_AT(spectrum, frames));
    fill_tables(mx_op_case_data(c, "tables"), n);
    MX_OP_DIM(spectrum, fft_size, MX_OP_DIM_FIXED);
    MX_OP_DIM(spectrum, hop, MX_OP_DIM_FIXED);
}

void mx_op_make_overlap_add(struct mx_op_case *c)
{
    MX_OP_ARGS(overlap_add);
    a->fft_size = draw_fft_size(c);
    a->hop = (int32_t)mx_op_draw(c, a->fft_size / 8, a->fft_size);
    a->least = mx_op_flip(c) && !c->plan.plain ? 1.0f : 1e-8f; /* the larger one is reached by some samples */
    const int64_t n = a->fft_size, samples = mx_op_draw_audio(c, n, a->hop), rows = c->ends[c->sequences];
    mx_op_add(c, "spectrum", MX_OP_AT(overlap_add, spectrum), MX_OP_IN,
              (struct mx_op_shape){.layout = MX_OP_ROWS, .rows = rows, .width = n + 2}, sqrt((double)n) / 2);
    mx_op_add(c, "tables", MX_OP_AT(overlap_add, tables), MX_OP_IN, (struct mx_op_shape){.rows = 1, .width = 3 * n}, 1);
    mx_op_add(c, "audio", MX_OP_AT(overlap_add, audio), MX_OP_OUT,
              (struct mx_op_shape){.layout = MX_OP_SAMPLES, .rows = samples, .width = 1}, 0);
    mx_op_add(c, "work", MX_OP_AT(overlap_add, work), MX_OP_SCRATCH,
              (struct mx_op_shape){.layout = MX_OP_ROWS, .rows = rows, .width = n}, 0);
    mx_op_add_audio(c, MX_OP_AT(overlap_add, samples), MX_OP_AT(overlap_add, frames));
    fill_tables(mx_op_case_data(c, "tables"), n);
    MX_OP_DIM(overlap_add, fft_size, MX_OP_DIM_FIXED);
    MX_OP_DIM(overlap_add, hop, MX_OP_DIM_FIXED);
}

/* Some numbers are 0; no other sum is near it, where the smallest error would turn it anywhere. */
static void fill_numbers(struct mx_op_case *c, float *now, float *before, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const bool zero = mx_op_draw(c, 0, 9) == 0;
        now[2 * i] = zero ? 0 : now[2 * i] + copysignf(12, now[2 * i]);
        if (zero) now[2 * i + 1] = 0;
        if (zero && before) before[2 * i] = before[2 * i + 1] = 0;
    }
}

void mx_op_make_griffin_step(struct mx_op_case *c)
{
    MX_OP_ARGS(griffin_step);
    const int64_t width = mx_op_draw_width(c), rows = mx_op_draw_sequences(c, -1), count = rows * width;
    const struct mx_op_shape numbers = {.layout = MX_OP_ROWS, .rows = rows, .width = 2 * width};
    const bool begun = mx_op_flip(c) && !c->plan.plain;
    const int64_t place = c->plan.plain ? 0 : mx_op_draw(c, 0, 2); /* of y: its own, now, before */
    a->momentum = 0.99f;
    const int now = mx_op_add(c, "now", MX_OP_AT(griffin_step, now), MX_OP_IN, numbers, 1);
    int before = -1;
    if (begun) {
        before = mx_op_add(c, "before", MX_OP_AT(griffin_step, before), MX_OP_IN, numbers, 1);
        mx_op_optional(c);
    }
    mx_op_add(c, "magnitude", MX_OP_AT(griffin_step, magnitude), MX_OP_IN,
              (struct mx_op_shape){.layout = MX_OP_ROWS, .rows = rows, .width = width}, 1);
    if (place == 0 || (place == 2 && !begun))
        mx_op_add(c, "y", MX_OP_AT(griffin_step, y), MX_OP_OUT, numbers, 0);
    else
        mx_op_share(c, "y", MX_OP_AT(griffin_step, y), MX_OP_INOUT, place == 1 ? now : before, 0, 2 * width);
    fill_numbers(c, mx_op_case_data(c, "now"), begun ? mx_op_case_data(c, "before") : NULL, count);
    a->count = count;
    mx_op_dim_add(c, "count", MX_OP_AT(griffin_step, count), 8, MX_OP_DIM_ELEMENTS, width);
}

/* Bins lie beside any bands, also beyond them. */
static void fill_places(struct mx_op_case *c, float *places, int64_t bins, int32_t bands)
{
    int32_t *const beside = (int32_t *)(void *)places;
    for (int64_t k = 0; k < 2 * bins; k++) beside[k] = (int32_t)mx_op_draw(c, 0, bands - 1);
    for (int64_t k = 0; k < bins; k++) places[2 * bins + k] = (float)mx_op_draw(c, 0, 8) / 8;
}

void mx_op_make_mel_base(struct mx_op_case *c)
{
    MX_OP_ARGS(mel_base);
    struct bands bands;
    a->fft_size = c->plan.size == MX_OP_TINY ? 32 : 32 << mx_op_draw(c, 0, 2);
    a->bands = (int32_t)mx_op_draw(c, 1, c->plan.size == MX_OP_TINY ? 4 : BANDS_MAX);
    a->mean = c->plan.plain ? 0 : (float)mx_op_draw(c, -3, 1);
    a->deviation = c->plan.plain ? 1 : (float)mx_op_draw(c, 1, 4) / 4;
    const int64_t n = a->fft_size, bins = n / 2 + 1;
    a->weights = draw_bands(c, a->bands, bins, &bands);
    const int64_t rows = mx_op_draw_sequences(c, -1);
    const struct mx_op_shape levels = {.layout = MX_OP_ROWS, .rows = rows, .width = a->bands};
    mx_op_add(c, "mel", MX_OP_AT(mel_base, mel), MX_OP_IN, levels, 1);
    mx_op_add(c, "tables", MX_OP_AT(mel_base, tables), MX_OP_IN,
              (struct mx_op_shape){.rows = 1, .width = 3 * n + 2 * a->bands + 1 + a->weights}, 1);
    mx_op_add(c, "places", MX_OP_AT(mel_base, places), MX_OP_IN, (struct mx_op_shape){.rows = 1, .width = 3 * bins}, 1);
    if (!c->plan.plain && mx_op_flip(c)) {
        mx_op_add(c, "input", MX_OP_AT(mel_base, input), MX_OP_OUT, levels, 0);
        mx_op_optional(c);
    }
    mx_op_add(c, "base", MX_OP_AT(mel_base, base), MX_OP_OUT,
              (struct mx_op_shape){.layout = MX_OP_ROWS, .rows = rows, .width = bins}, 0);
    fill_bands(mx_op_case_data(c, "tables"), n, a->bands, a->weights, &bands);
    fill_places(c, mx_op_case_data(c, "places"), bins, a->bands);
    a->rows = rows;
    MX_OP_DIM(mel_base, rows, MX_OP_DIM_ROWS);
    MX_OP_DIM(mel_base, fft_size, MX_OP_DIM_FIXED);
    MX_OP_DIM(mel_base, bands, MX_OP_DIM_FIXED);
    MX_OP_DIM(mel_base, weights, MX_OP_DIM_FIXED);
}

/* Some bands are limited, some below the floor. */
void mx_op_make_mel_project(struct mx_op_case *c)
{
    MX_OP_ARGS(mel_project);
    struct bands bands;
    a->fft_size = c->plan.size == MX_OP_TINY ? 32 : 32 << mx_op_draw(c, 0, 2);
    a->bands = (int32_t)mx_op_draw(c, 1, c->plan.size == MX_OP_TINY ? 4 : BANDS_MAX);
    a->rounds = (int32_t)mx_op_draw(c, 0, 3);
    a->lower = (float)mx_op_draw(c, 0, 4) / 4;
    a->raise = (float)mx_op_draw(c, 0, 4) / 4;
    a->floor = mx_op_flip(c) ? 1e-5f : 2.0f; /* the larger one is more than some bands have */
    a->mean = c->plan.plain ? 0 : (float)mx_op_draw(c, -1, 1);
    a->deviation = c->plan.plain ? 1 : (float)mx_op_draw(c, 1, 4) / 4;
    const int64_t n = a->fft_size, bins = n / 2 + 1;
    a->weights = draw_bands(c, a->bands, bins, &bands);
    const int64_t rows = mx_op_draw_sequences(c, c->plan.size == MX_OP_LARGE ? 150 : -1);
    const struct mx_op_shape numbers = {.layout = MX_OP_ROWS, .rows = rows, .width = n + 2};
    const int spectrum = mx_op_add(c, "spectrum", MX_OP_AT(mel_project, spectrum), MX_OP_IN, numbers, 0.5);
    if (c->plan.plain || mx_op_flip(c))
        mx_op_add(c, "y", MX_OP_AT(mel_project, y), MX_OP_OUT, numbers, 0);
    else
        mx_op_share(c, "y", MX_OP_AT(mel_project, y), MX_OP_INOUT, spectrum, 0, n + 2);
    if (!c->plan.plain && mx_op_flip(c)) {
        mx_op_add(c, "magnitude", MX_OP_AT(mel_project, magnitude), MX_OP_OUT,
                  (struct mx_op_shape){.layout = MX_OP_ROWS, .rows = rows, .width = bins}, 0);
        mx_op_optional(c);
    }
    mx_op_add(c, "mel", MX_OP_AT(mel_project, mel), MX_OP_IN,
              (struct mx_op_shape){.layout = MX_OP_ROWS, .rows = rows, .width = a->bands}, 0.5);
    mx_op_add(c, "tables", MX_OP_AT(mel_project, tables), MX_OP_IN,
              (struct mx_op_shape){.rows = 1, .width = 3 * n + 2 * a->bands + 1 + a->weights}, 1);
    mx_op_add(c, "places", MX_OP_AT(mel_project, places), MX_OP_IN, (struct mx_op_shape){.rows = 1, .width = 3 * bins},
              1);
    fill_bands(mx_op_case_data(c, "tables"), n, a->bands, a->weights, &bands);
    fill_places(c, mx_op_case_data(c, "places"), bins, a->bands);
    a->rows = rows;
    MX_OP_DIM(mel_project, rows, MX_OP_DIM_ROWS);
    MX_OP_DIM(mel_project, fft_size, MX_OP_DIM_FIXED);
    MX_OP_DIM(mel_project, bands, MX_OP_DIM_FIXED);
    MX_OP_DIM(mel_project, weights, MX_OP_DIM_FIXED);
    MX_OP_DIM(mel_project, rounds, MX_OP_DIM_FIXED);
}
