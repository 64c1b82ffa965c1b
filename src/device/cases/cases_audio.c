/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random cases of the operations on audio: spectra with random bands, voices with random pitch, noise, masks.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "device/op_case.h"

static int32_t draw_fft_size(struct mx_op_case *c)
{
    if (c->plan.size == MX_OP_LARGE) return 1024;
    return 32 << mx_op_draw(c, 0, c->plan.size == MX_OP_TINY ? 0 : 4);
}

/* A random window, so that nobody can rely on its shape, and the points of the circle. */
static void fill_circle(float *tables, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        tables[n + 2 * k] = (float)cos(2 * M_PI * (double)k / (double)n);
        tables[n + 2 * k + 1] = (float)sin(2 * M_PI * (double)k / (double)n);
    }
}

/* ---- mel ---- */

/* Bands anywhere, of any width, some empty; every third weight is unused by any band. Returns the weights. */
static int32_t draw_bands(struct mx_op_case *c, int64_t bands, int64_t bins, int32_t *first, int32_t *ends)
{
    ends[0] = (int32_t)mx_op_draw(c, 0, 3);
    for (int64_t band = 0; band < bands; band++) {
        first[band] = (int32_t)mx_op_draw(c, 0, bins - 1);
        const int64_t most = bins - first[band];
        const int64_t count = mx_op_draw(c, 0, 5) == 0 ? 0 : mx_op_draw(c, 1, most < 20 ? most : 20);
        ends[band + 1] = ends[band] + (int32_t)count;
    }
    return ends[bands] + (int32_t)mx_op_draw(c, 0, 2);
}

void mx_op_make_mel(struct mx_op_case *c)
{
    MX_OP_ARGS(mel);
    enum { BANDS_MAX = 96 };
    int32_t first[BANDS_MAX], ends[BANDS_MAX + 1];
    a->fft_size = draw_fft_size(c);
    a->hop = (int32_t)mx_op_draw(c, a->fft_size / 8, a->fft_size);
    a->bands = (int32_t)mx_op_draw(c, 1, c->plan.size == MX_OP_TINY ? 4 : BANDS_MAX);
    a->weights = draw_bands(c, a->bands, a->fft_size / 2 + 1, first, ends);
    while (a->weights > a->bands * (a->fft_size / 2 + 1)) /* three unused ones may be too many for very few bands */
        a->weights = draw_bands(c, a->bands, a->fft_size / 2 + 1, first, ends);
    a->floor = 1e-5f;
    a->mean = c->plan.plain ? 0 : (float)mx_op_draw(c, -5, 5);
    a->inverse_deviation = c->plan.plain ? 1 : 1 / (float)mx_op_draw(c, 1, 4);
    const int64_t n = a->fft_size, samples = mx_op_draw_audio(c, n, a->hop), rows = c->ends[c->sequences];
    mx_op_add(c, "audio", MX_OP_AT(mel, audio), MX_OP_IN,
              (struct mx_op_shape){.layout = MX_OP_SAMPLES, .rows = samples, .width = 1}, 0.1);
    mx_op_add(c, "tables", MX_OP_AT(mel, tables), MX_OP_IN,
              (struct mx_op_shape){.rows = 1, .width = 3 * n + 2 * a->bands + 1 + a->weights}, 1);
    mx_op_add(c, "mel", MX_OP_AT(mel, mel), MX_OP_OUT,
              (struct mx_op_shape){.layout = MX_OP_ROWS, .rows = rows, .width = a->bands}, 0);
    if (mx_op_flip(c) && !c->plan.plain) {
        mx_op_add(c, "energy", MX_OP_AT(mel, energy), MX_OP_OUT,
                  (struct mx_op_shape){.layout = MX_OP_ROWS, .rows = rows, .width = 1}, 0);
        mx_op_optional(c);
    }
    mx_op_add_audio(c, MX_OP_AT(mel, samples), MX_OP_AT(mel, frames));
    float *tables = mx_op_case_data(c, "tables");
    fill_circle(tables, n);
    memcpy(tables + 3 * n, first, (size_t)a->bands * sizeof *first);
    memcpy(tables + 3 * n + a->bands, ends, (size_t)(a->bands + 1) * sizeof *ends);
    float *weight = tables + 3 * n + 2 * a->bands + 1;
    for (int32_t i = 0; i < a->weights; i++) weight[i] = 0.1f + fabsf(weight[i]);
    MX_OP_DIM(mel, fft_size, MX_OP_DIM_FIXED);
    MX_OP_DIM(mel, hop, MX_OP_DIM_FIXED);
    MX_OP_DIM(mel, bands, MX_OP_DIM_FIXED);
    MX_OP_DIM(mel, weights, MX_OP_DIM_FIXED);
}

/* ---- log_magnitude ---- */

/* Offsets of `count` sequences as `name`, for the struct mx_ragged at `at`. */
static void add_offsets(struct mx_op_case *c, const char *name, size_t at, const int32_t *offsets, int count)
{
    struct mx_ragged *ragged = (void *)(c->args + at);
    ragged->count = count;
    ragged->rows = offsets[count];
    for (int i = 0; i < count; i++)
        if (offsets[i + 1] - offsets[i] > ragged->max_rows) ragged->max_rows = offsets[i + 1] - offsets[i];
    mx_op_add(c, name, at + offsetof(struct mx_ragged, offsets), MX_OP_IN,
              (struct mx_op_shape){.type = MX_OP_I32, .rows = count + 1, .width = 1}, 0);
    memcpy(mx_op_case_data(c, name), offsets, (size_t)(count + 1) * sizeof *offsets);
    mx_op_dim_add(c, "count", at + offsetof(struct mx_ragged, count), 4, MX_OP_DIM_FIXED, 1);
    mx_op_dim_add(c, "rows", at + offsetof(struct mx_ragged, rows), 4, MX_OP_DIM_FIXED, 1);
    mx_op_dim_add(c, "max_rows", at + offsetof(struct mx_ragged, max_rows), 4, MX_OP_DIM_FIXED, 1);
}

/* Segments of any utterances, overlapping or empty. They are no sequences of the case: several share their samples. */
void mx_op_make_log_magnitude(struct mx_op_case *c)
{
    MX_OP_ARGS(log_magnitude);
    enum { SEGMENTS_MAX = 9 };
    int32_t places[SEGMENTS_MAX][2], offsets[SEGMENTS_MAX + 1] = {0};
    a->fft_size = draw_fft_size(c);
    a->hop = (int32_t)mx_op_draw(c, a->fft_size / 8, a->fft_size);
    a->least = mx_op_flip(c) ? 0.02f : 0.5f;
    const int64_t n = a->fft_size, samples = mx_op_draw_audio(c, n, a->hop), bins = n / 2 + 1;
    const int utterances = c->sequences, count = (int)mx_op_draw(c, c->plan.plain, SEGMENTS_MAX);
    for (int s = 0; s < count; s++) {
        const int32_t utterance = (int32_t)mx_op_draw(c, 0, utterances - 1);
        const int32_t frames = c->ends[utterance + 1] - c->ends[utterance], first = (int32_t)mx_op_draw(c, 0, frames);
        places[s][0] = utterance;
        places[s][1] = first;
        offsets[s + 1] = offsets[s] + (int32_t)mx_op_draw(c, 0, frames - first);
    }
    mx_op_add(c, "audio", MX_OP_AT(log_magnitude, audio), MX_OP_IN,
              (struct mx_op_shape){.layout = MX_OP_SAMPLES, .rows = samples, .width = 1}, 0.1);
    mx_op_add(c, "tables", MX_OP_AT(log_magnitude, tables), MX_OP_IN, (struct mx_op_shape){.rows = 1, .width = 3 * n},
              1);
    mx_op_add(c, "places", MX_OP_AT(log_magnitude, places), MX_OP_IN,
              (struct mx_op_shape){.type = MX_OP_I32, .rows = count, .width = 2}, 0);
    mx_op_add(c, "y", MX_OP_AT(log_magnitude, y), MX_OP_OUT,
              (struct mx_op_shape){.rows = offsets[count], .width = bins}, 0);
    add_offsets(c, "sample_offsets", MX_OP_AT(log_magnitude, samples), c->samples, utterances);
    add_offsets(c, "offsets", MX_OP_AT(log_magnitude, out), offsets, count);
    fill_circle(mx_op_case_data(c, "tables"), n);
    if (count > 0) memcpy(mx_op_case_data(c, "places"), places, (size_t)count * sizeof *places);
    c->sequences = 0;
    MX_OP_DIM(log_magnitude, fft_size, MX_OP_DIM_FIXED);
    MX_OP_DIM(log_magnitude, hop, MX_OP_DIM_FIXED);
}

/* ---- pitch ---- */

/* A voice of a few harmonics whose pitch glides a little, with pauses of faint noise; or noise alone. */
static void fill_voice(struct mx_op_case *c, const struct mx_pitch_args *a, float *audio)
{
    for (int s = 0; s < c->sequences; s++) {
        const int64_t n = c->samples[s + 1] - c->samples[s];
        float *x = audio + c->samples[s];
        const bool voiced = mx_op_draw(c, 0, 3) > 0;
        const double octaves = log2((double)(a->high_hz / a->low_hz)) - 0.6;
        const double hz = (double)a->low_hz * exp2(0.3 + octaves * (double)mx_op_draw(c, 0, 1000) / 1000);
        const double glide = (double)mx_op_draw(c, -5, 5) / 100 / (double)a->fft_size;
        double phase = 0;
        for (int64_t i = 0; i < n; i++) {
            phase += hz * (1 + glide * (double)i) / (double)a->rate;
            double sum = 0;
            for (int h = 1; h <= 4; h++) sum += sin(2 * M_PI * h * phase) / h;
            const bool pause = i / (4 * a->fft_size) % 2 == 1;
            x[i] = voiced ? (pause ? 1e-4f * x[i] : (float)(0.3 * sum) + 0.01f * x[i]) : 0.2f * x[i];
        }
    }
}

void mx_op_make_pitch(struct mx_op_case *c)
{
    MX_OP_ARGS(pitch);
    a->fft_size = c->plan.size == MX_OP_LARGE ? 1024 : c->plan.size == MX_OP_TINY ? 128 : 128 << mx_op_draw(c, 0, 2);
    a->hop = (int32_t)mx_op_draw(c, a->fft_size / 8, a->fft_size / 3);
    a->rate = c->plan.size == MX_OP_LARGE ? 22050 : (float)(a->fft_size * 20);
    a->low_hz = a->rate / (float)a->fft_size * 3.02f;
    a->high_hz = a->low_hz * (float)mx_op_draw(c, 4, 6);
    a->silence = 1e-3f;
    a->threshold = 0.2f;
    a->octave = 0.03f;
    a->jump = 0.5f;
    a->change = 0.1f;
    const int64_t n = a->fft_size, samples = mx_op_draw_audio(c, n, a->hop), rows = c->ends[c->sequences];
    mx_op_add(c, "audio", MX_OP_AT(pitch, audio), MX_OP_IN,
              (struct mx_op_shape){.layout = MX_OP_SAMPLES, .rows = samples, .width = 1}, 1);
    mx_op_add(c, "tables", MX_OP_AT(pitch, tables), MX_OP_IN, (struct mx_op_shape){.rows = 1, .width = 3 * n}, 1);
    mx_op_add(c, "pitch", MX_OP_AT(pitch, pitch), MX_OP_OUT,
              (struct mx_op_shape){.layout = MX_OP_ROWS, .rows = rows, .width = 1}, 0);
    mx_op_add(c, "work", MX_OP_AT(pitch, work), MX_OP_SCRATCH,
              (struct mx_op_shape){.layout = MX_OP_ROWS, .rows = rows, .width = MX_PITCH_WORK}, 0);
    mx_op_add_audio(c, MX_OP_AT(pitch, samples), MX_OP_AT(pitch, frames));
    fill_circle(mx_op_case_data(c, "tables"), n);
    fill_voice(c, a, mx_op_case_data(c, "audio"));
    MX_OP_DIM(pitch, fft_size, MX_OP_DIM_FIXED);
    MX_OP_DIM(pitch, hop, MX_OP_DIM_FIXED);
}

/* ---- augmentation ---- */

void mx_op_make_noise(struct mx_op_case *c)
{
    MX_OP_ARGS(noise);
    const int64_t rows = mx_op_draw_sequences(c, c->plan.size == MX_OP_LARGE ? 9000 : -1);
    const struct mx_op_shape samples = {.layout = MX_OP_ROWS, .rows = rows, .width = 1};
    const struct mx_op_shape pairs = {.layout = MX_OP_SEGMENTS, .rows = c->sequences, .width = 2};
    const bool in_place = !c->plan.plain && mx_op_flip(c);
    const int x = mx_op_add(c, "x", MX_OP_AT(noise, x), in_place ? MX_OP_INOUT : MX_OP_IN, samples, 1);
    if (in_place)
        mx_op_share(c, "y", MX_OP_AT(noise, y), MX_OP_OUT, x, 0, 1);
    else
        mx_op_add(c, "y", MX_OP_AT(noise, y), MX_OP_OUT, samples, 0);
    if (in_place) c->tensors[0].role = MX_OP_IN;
    mx_op_add(c, "levels", MX_OP_AT(noise, levels), MX_OP_IN, pairs, 0.3);
    mx_op_add(c, "streams", MX_OP_AT(noise, streams), MX_OP_IN,
              (struct mx_op_shape){.type = MX_OP_I32, .layout = MX_OP_SEGMENTS, .rows = c->sequences, .width = 2}, 1e9);
    mx_op_add_packed(c, MX_OP_AT(noise, samples));
    float *levels = mx_op_case_data(c, "levels");
    for (int s = 0; s < c->sequences; s++) {
        levels[2 * s] += 1;
        levels[2 * s + 1] = mx_op_flip(c) ? 0 : fabsf(levels[2 * s + 1]);
    }
    a->seed = c->seed * 0x9E3779B97F4A7C15u;
}

void mx_op_make_mask(struct mx_op_case *c)
{
    MX_OP_ARGS(mask);
    const int64_t rows = mx_op_draw_sequences(c, -1);
    a->n = mx_op_draw_width(c);
    a->count = mx_op_draw(c, c->plan.plain, 3);
    a->value = 0.25f;
    mx_op_add(c, "x", MX_OP_AT(mask, x), MX_OP_INOUT,
              (struct mx_op_shape){.layout = MX_OP_ROWS, .rows = rows, .width = a->n}, 1);
    mx_op_add(
        c, "spans", MX_OP_AT(mask, spans), MX_OP_IN,
        (struct mx_op_shape){.type = MX_OP_I32, .layout = MX_OP_SEGMENTS, .rows = c->sequences, .width = 4 * a->count},
        0);
    mx_op_add_packed(c, MX_OP_AT(mask, rows));
    int32_t *spans = mx_op_case_data(c, "spans");
    for (int64_t i = 0; i < 2 * c->sequences * a->count; i++) {
        const int64_t all = i % 2 == 0 ? rows : a->n;
        spans[2 * i] = (int32_t)mx_op_draw(c, -3, all);
        spans[2 * i + 1] = (int32_t)mx_op_draw(c, -2, all);
    }
    MX_OP_DIM(mask, n, MX_OP_DIM_FIXED);
    MX_OP_DIM(mask, count, MX_OP_DIM_FIXED);
}

/* Deviations of 0, of less than a row and of more than the reach; with and without noise. */
void mx_op_make_mel_blur(struct mx_op_case *c)
{
    MX_OP_ARGS(mel_blur);
    const int64_t rows = mx_op_draw_sequences(c, -1);
    a->n = mx_op_draw_width(c);
    const struct mx_op_shape shape = {.layout = MX_OP_ROWS, .rows = rows, .width = a->n};
    mx_op_add(c, "x", MX_OP_AT(mel_blur, x), MX_OP_IN, shape, 1);
    mx_op_add(c, "y", MX_OP_AT(mel_blur, y), MX_OP_OUT, shape, 0);
    mx_op_add(c, "levels", MX_OP_AT(mel_blur, levels), MX_OP_IN,
              (struct mx_op_shape){.layout = MX_OP_SEGMENTS, .rows = c->sequences, .width = 3}, 0.2);
    mx_op_add(c, "streams", MX_OP_AT(mel_blur, streams), MX_OP_IN,
              (struct mx_op_shape){.type = MX_OP_I32, .layout = MX_OP_SEGMENTS, .rows = c->sequences, .width = 2}, 1e9);
    mx_op_add_packed(c, MX_OP_AT(mel_blur, rows));
    float *levels = mx_op_case_data(c, "levels");
    for (int i = 0; i < 3 * c->sequences; i++) {
        if (i % 3 < 2) levels[i] = (float)mx_op_draw(c, 1, 25) / 10;
        if (mx_op_draw(c, 0, 3) == 0) levels[i] = 0;
    }
    a->seed = c->seed * 0x9E3779B97F4A7C15u;
    MX_OP_DIM(mel_blur, n, MX_OP_DIM_FIXED);
}
