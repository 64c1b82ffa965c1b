/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sound to spectra and back, see spectrum.h.
 */
#include "export/spectrum.h"

#include <math.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "vocoder/sound_numbers.h"

#define EXPONENT_MAX 80.0 /* of magnitudes and gains */

static void fail(struct mx_onnx *onnx, int code)
{
    if (onnx->graph.failure == 0) onnx->graph.failure = code;
}

/* ---- constants ---- */

/* Kernels of the transforms: cosines, then negative sines, of k · j turns of a circle of n, under the window. */
static void kernels_build(struct mx_export_frames *f, const float *window)
{
    struct mx_onnx *const o = f->onnx;
    const int64_t n = f->recipe->fft_size, bins = n / 2 + 1;
    float *const circle = mx_alloc(2 * (size_t)n, sizeof *circle), *const scale =
                                                                       mx_alloc(2 * (size_t)bins, sizeof *scale);
    if (circle == NULL || scale == NULL) {
        fail(o, MX_ERR_NO_MEMORY);
        mx_free(circle);
        mx_free(scale);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        circle[i] = (float)cos(2 * acos(-1) * (double)i / (double)n);
        circle[n + i] = (float)-sin(2 * acos(-1) * (double)i / (double)n);
    }
    for (int64_t k = 0; k < bins; k++) scale[k] = scale[bins + k] = (k == 0 || k == bins - 1 ? 1.0f : 2.0f) / (float)n;
    const struct mx_onnx_value bin = mx_export_unsqueeze(o, mx_export_range(o, mx_onnx_int(o, bins)), 1);
    const struct mx_onnx_value sample = mx_export_unsqueeze(o, mx_export_range(o, mx_onnx_int(o, n)), 0);
    const struct mx_onnx_value turn = MX_ONNX(o, "Mod", MX_ONNX(o, "Mul", bin, sample), mx_onnx_int(o, n));
    const struct mx_onnx_value cosines = mx_onnx_tensor(o, NULL, MX_ONNX_FLOAT, &n, 1, circle);
    const struct mx_onnx_value sines = mx_onnx_tensor(o, NULL, MX_ONNX_FLOAT, &n, 1, circle + n);
    const struct mx_onnx_value waves =
        MX_ONNX_WITH(o, "Concat", (MX_ONNX_A_INT("axis", 0)), MX_ONNX(o, "Gather", cosines, turn),
                     MX_ONNX(o, "Gather", sines, turn));
    const struct mx_onnx_value rows = MX_ONNX(o, "Mul", waves, mx_onnx_tensor(o, NULL, MX_ONNX_FLOAT, &n, 1, window));
    f->analysis = mx_export_unsqueeze(o, rows, 1);
    f->synthesis = MX_ONNX(o, "Mul", f->analysis,
                           mx_onnx_tensor(o, NULL, MX_ONNX_FLOAT, (const int64_t[]){2 * bins, 1, 1}, 3, scale));
    mx_free(circle);
    mx_free(scale);
}

/* The weights of the bins in a band, from the tables of myxtts/ops.h: window, circle, first bins, ends of weights,
 * weights. Returns how many there are; the first is that of bin *bin. */
static int64_t band_of(const struct mx_recipe *recipe, const struct mx_recipe_tables *tables, int64_t band,
                       int64_t *bin, const float **weight)
{
    const int64_t n = recipe->fft_size, bands = recipe->bands;
    const int32_t *const first = (const int32_t *)(const void *)(tables->data + 3 * n), *const ends = first + bands;
    *bin = first[band];
    *weight = tables->data + 3 * n + 2 * bands + 1 + ends[band];
    return ends[band + 1] - ends[band];
}

static void spread_build(struct mx_export_frames *f)
{
    struct mx_onnx *const o = f->onnx;
    const int64_t bins = f->recipe->fft_size / 2 + 1, bands = f->recipe->bands;
    float *const spread = mx_alloc((size_t)(bands * bins + 3 * bins), sizeof *spread);
    if (spread == NULL) {
        fail(o, MX_ERR_NO_MEMORY);
        return;
    }
    float *const places = spread + bands * bins;
    const int rc = mx_recipe_places_build(f->recipe, &f->tables, places);
    if (rc < 0) fail(o, rc);
    const int32_t *const low = (const int32_t *)(const void *)places, *const high = low + bins;
    for (int64_t k = 0; rc == 0 && k < bins; k++) {
        spread[k * bands + low[k]] += 1 - places[2 * bins + k];
        spread[k * bands + high[k]] += places[2 * bins + k];
    }
    f->spread = mx_onnx_tensor(o, NULL, MX_ONNX_FLOAT, (const int64_t[]){bins, bands}, 2, spread);
    mx_free(spread);
}

static void bands_build(struct mx_export_frames *f)
{
    struct mx_onnx *const o = f->onnx;
    const int64_t bins = f->recipe->fft_size / 2 + 1, bands = f->recipe->bands;
    float *const dense = mx_alloc((size_t)(bands * bins), sizeof *dense);
    if (dense == NULL) {
        fail(o, MX_ERR_NO_MEMORY);
        return;
    }
    for (int64_t b = 0; b < bands; b++) {
        const float *weight;
        int64_t bin;
        const int64_t count = band_of(f->recipe, &f->tables, b, &bin, &weight);
        for (int64_t i = 0; i < count; i++) dense[b * bins + bin + i] = weight[i];
    }
    f->bands = mx_onnx_tensor(o, NULL, MX_ONNX_FLOAT, (const int64_t[]){bands, bins}, 2, dense);
    mx_free(dense);
}

/* Place i stands for sample i - fft_size/2; beyond the ends one walks to and fro. */
static struct mx_onnx_value reflect(struct mx_onnx *o, struct mx_onnx_value samples, int64_t fft_size)
{
    const struct mx_onnx_value one = mx_onnx_int(o, 1);
    const struct mx_onnx_value period = MX_ONNX(o, "Mul", MX_ONNX(o, "Sub", samples, one), mx_onnx_int(o, 2));
    const struct mx_onnx_value count = MX_ONNX(o, "Add", samples, mx_onnx_int(o, fft_size));
    const struct mx_onnx_value place = MX_ONNX(o, "Sub", mx_export_range(o, count), mx_onnx_int(o, fft_size / 2));
    const struct mx_onnx_value there = MX_ONNX(o, "Mod", place, period); /* never negative */
    return MX_ONNX(o, "Min", there, MX_ONNX(o, "Sub", period, there));
}

/* Σ window² over the frames that cover a sample. */
static struct mx_onnx_value cover(const struct mx_export_frames *f, const float *window, struct mx_onnx_value frames)
{
    struct mx_onnx *const o = f->onnx;
    const int64_t n = f->recipe->fft_size, hop = f->recipe->hop;
    const struct mx_onnx_value one = mx_onnx_tensor(o, NULL, MX_ONNX_FLOAT, (const int64_t[]){1, 1, 1}, 3, &(float){1});
    const struct mx_onnx_value shape =
        MX_ONNX_WITH(o, "Concat", (MX_ONNX_A_INT("axis", 0)), MX_ONNX_LIST(o, 1, 1), mx_export_unsqueeze(o, frames, 0));
    const struct mx_onnx_value ones = MX_ONNX(o, "Expand", one, shape);
    const struct mx_onnx_value kernel = mx_onnx_tensor(o, NULL, MX_ONNX_FLOAT, (const int64_t[]){1, 1, n}, 3, window);
    const struct mx_onnx_value sum = MX_ONNX_WITH(
        o, "ConvTranspose",
        (MX_ONNX_A_INTS("kernel_shape", n), MX_ONNX_A_INTS("strides", hop), MX_ONNX_A_INTS("pads", n / 2, n / 2)), ones,
        MX_ONNX(o, "Mul", kernel, kernel));
    return MX_ONNX(o, "Max", sum, mx_onnx_real(o, (double)MX_SOUND_LEAST_WEIGHT));
}

void mx_export_frames_open(struct mx_export_frames *f, struct mx_onnx *onnx, const struct mx_recipe *recipe,
                           struct mx_onnx_value frames)
{
    *f = (struct mx_export_frames){.onnx = onnx, .recipe = recipe};
    const int rc = mx_recipe_tables_build(recipe, &f->tables);
    if (rc < 0) {
        fail(onnx, rc);
        return;
    }
    const struct mx_onnx_value gaps = MX_ONNX(onnx, "Sub", frames, mx_onnx_int(onnx, 1));
    f->samples = MX_ONNX(onnx, "Mul", gaps, mx_onnx_int(onnx, recipe->hop));
    kernels_build(f, f->tables.data);
    spread_build(f);
    f->reflected = reflect(onnx, f->samples, recipe->fft_size);
    f->weights = cover(f, f->tables.data, frames);
}

void mx_export_frames_close(struct mx_export_frames *f)
{
    mx_recipe_tables_release(&f->tables);
}

/* ---- transforms ---- */

struct mx_export_complex mx_export_analyse(const struct mx_export_frames *f, struct mx_onnx_value audio)
{
    struct mx_onnx *const o = f->onnx;
    const int64_t n = f->recipe->fft_size, bins = n / 2 + 1;
    const struct mx_onnx_value longer = MX_ONNX(o, "Gather", audio, f->reflected);
    const struct mx_onnx_value line = MX_ONNX(o, "Reshape", longer, MX_ONNX_LIST(o, 1, 1, -1));
    const struct mx_onnx_value both = MX_ONNX_WITH(
        o, "Conv", (MX_ONNX_A_INTS("kernel_shape", n), MX_ONNX_A_INTS("strides", f->recipe->hop)), line, f->analysis);
    struct mx_onnx_value part[2];
    mx_onnx_add(o,
                &(struct mx_onnx_node){.type = "Split",
                                       .in = {both, MX_ONNX_LIST(o, bins, bins)},
                                       .attributes = {MX_ONNX_A_INT("axis", 1)}},
                part, 2);
    return (struct mx_export_complex){part[0], part[1]};
}

struct mx_onnx_value mx_export_resound(const struct mx_export_frames *f, const struct mx_export_complex *spectrum)
{
    struct mx_onnx *const o = f->onnx;
    const int64_t n = f->recipe->fft_size;
    const struct mx_onnx_value both =
        MX_ONNX_WITH(o, "Concat", (MX_ONNX_A_INT("axis", 1)), spectrum->real, spectrum->imaginary);
    const struct mx_onnx_value sum =
        MX_ONNX_WITH(o, "ConvTranspose",
                     (MX_ONNX_A_INTS("kernel_shape", n), MX_ONNX_A_INTS("strides", f->recipe->hop),
                      MX_ONNX_A_INTS("pads", n / 2, n / 2)),
                     both, f->synthesis);
    return MX_ONNX(o, "Reshape", MX_ONNX(o, "Div", sum, f->weights), MX_ONNX_LIST(o, -1));
}

/* ---- steps ---- */

struct mx_onnx_value mx_export_square(struct mx_onnx *o, const struct mx_export_complex *u)
{
    const struct mx_onnx_value real = MX_ONNX(o, "Mul", u->real, u->real);
    const struct mx_onnx_value imaginary = MX_ONNX(o, "Mul", u->imaginary, u->imaginary);
    return MX_ONNX(o, "Add", real, imaginary);
}

static struct mx_export_complex scaled(struct mx_onnx *o, const struct mx_export_complex *u,
                                       struct mx_onnx_value factor)
{
    const struct mx_onnx_value real = MX_ONNX(o, "Mul", u->real, factor);
    return (struct mx_export_complex){real, MX_ONNX(o, "Mul", u->imaginary, factor)};
}

struct mx_export_complex mx_export_direct(struct mx_onnx *o, const struct mx_export_complex *u,
                                          struct mx_onnx_value magnitude)
{
    const struct mx_onnx_value square = mx_export_square(o, u), least = mx_onnx_real(o, MX_EXPORT_LEAST_SQUARE);
    const struct mx_onnx_value small = MX_ONNX(o, "Less", square, least);
    const struct mx_onnx_value length = MX_ONNX(o, "Sqrt", MX_ONNX(o, "Max", square, least));
    const struct mx_export_complex y = scaled(o, u, MX_ONNX(o, "Div", magnitude, length));
    const struct mx_onnx_value real = MX_ONNX(o, "Where", small, magnitude, y.real);
    return (struct mx_export_complex){real, MX_ONNX(o, "Where", small, mx_onnx_real(o, 0), y.imaginary)};
}

struct mx_export_complex mx_export_overshoot(struct mx_onnx *o, const struct mx_export_complex *now,
                                             const struct mx_export_complex *before, double momentum)
{
    struct mx_export_complex change;
    change.real = MX_ONNX(o, "Sub", now->real, before->real);
    change.imaginary = MX_ONNX(o, "Sub", now->imaginary, before->imaginary);
    const struct mx_export_complex more = scaled(o, &change, mx_onnx_real(o, momentum));
    const struct mx_onnx_value real = MX_ONNX(o, "Add", now->real, more.real);
    return (struct mx_export_complex){real, MX_ONNX(o, "Add", now->imaginary, more.imaginary)};
}

struct mx_onnx_value mx_export_base(const struct mx_export_frames *f, struct mx_onnx_value mel)
{
    struct mx_onnx *const o = f->onnx;
    const int64_t bands = f->recipe->bands;
    float *const totals = mx_alloc((size_t)bands, sizeof *totals);
    if (totals == NULL) fail(o, MX_ERR_NO_MEMORY);
    if (o->graph.failure < 0) {
        mx_free(totals);
        return mel;
    }
    for (int64_t b = 0; b < bands; b++) {
        const float *weight;
        int64_t bin;
        const int64_t count = band_of(f->recipe, &f->tables, b, &bin, &weight);
        double total = 0;
        for (int64_t i = 0; i < count; i++) total += (double)weight[i];
        totals[b] = (float)log(total > 1e-37 ? total : 1e-37);
    }
    const struct mx_onnx_value all = mx_onnx_tensor(o, NULL, MX_ONNX_FLOAT, (const int64_t[]){bands, 1}, 2, totals);
    mx_free(totals);
    return MX_ONNX(o, "MatMul", f->spread, MX_ONNX(o, "Sub", mel, all));
}

struct mx_export_complex mx_export_project(struct mx_export_frames *f, const struct mx_export_complex *spectrum,
                                           const struct mx_export_projection *how, struct mx_onnx_value *magnitude)
{
    struct mx_onnx *const o = f->onnx;
    if (o->graph.failure < 0) return *spectrum;
    if (f->bands.name[0] == '\0') bands_build(f);
    const struct mx_onnx_value length = MX_ONNX(o, "Sqrt", mx_export_square(o, spectrum));
    struct mx_onnx_value moved = {.name = ""}, gain = {.name = ""};
    for (int i = 0; i < how->rounds; i++) {
        const struct mx_onnx_value shaped = i == 0 ? length : MX_ONNX(o, "Mul", length, gain);
        const struct mx_onnx_value sum = MX_ONNX(o, "MatMul", f->bands, shaped);
        const struct mx_onnx_value log =
            MX_ONNX(o, "Log", MX_ONNX(o, "Max", sum, mx_onnx_real(o, (double)f->recipe->floor)));
        const struct mx_onnx_value lack = MX_ONNX(o, "Sub", how->mel, log);
        const struct mx_onnx_value step =
            MX_ONNX(o, "Clip", lack, mx_onnx_real(o, -how->lower), mx_onnx_real(o, how->raise));
        moved = i == 0 ? step : MX_ONNX(o, "Add", moved, step);
        const struct mx_onnx_value between = MX_ONNX(o, "MatMul", f->spread, moved);
        gain = MX_ONNX(o, "Exp",
                       MX_ONNX(o, "Clip", between, mx_onnx_real(o, -EXPONENT_MAX), mx_onnx_real(o, EXPONENT_MAX)));
    }
    if (magnitude != NULL) *magnitude = MX_ONNX(o, "Mul", length, gain);
    return scaled(o, spectrum, gain);
}
