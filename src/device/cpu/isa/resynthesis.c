/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * spectrum, griffin_step, overlap_add, mel_project: packed audio to complex spectra and back.
 *
 * As in spectrum.c a worker takes blocks of neighbouring frames, one per lane (frames.h, fft.h), and a transform of n
 * real numbers is one of n/2 complex ones. Spectra and frames are rows in memory and lanes in the arithmetic: squares
 * of vectors are transposed on the way in and out.
 *
 * overlap_add has two halves with a barrier between them: every frame is transformed into its row of `work`, then every
 * stretch of hop samples is added up from the frames that cover it, in their order. So no two workers write to the same
 * sample, and no sum depends on the number of workers.
 */
#include "device/cpu/isa/bands.h"
#include "device/cpu/isa/fft.h"
#include "device/cpu/isa/frames.h"
#include "device/cpu/isa/numbers.h"

#define LANES MX_VEC_FLOATS

/* What a block of frames needs. */
struct transform {
    const float *window, *circle;
    int64_t size;
    /* scratch */
    mx_vf *samples; /* [size]: a transform of size/2 complex elements */
    mx_vf *bins;    /* [size + 2], rounded up to whole squares: real and imaginary parts in turns */
    float *stage;   /* [LANES, size] */
    int32_t *place; /* [size/2] */
};

static void transform_open(struct transform *t, struct mx_slice tables, int32_t size, void *scratch)
{
    t->window = mx_cpu_ptr(tables);
    t->circle = t->window + size;
    t->size = size;
    t->samples = scratch;
    t->bins = t->samples + size;
    t->stage = (float *)(void *)(t->bins + size + LANES);
    t->place = (int32_t *)(void *)(t->stage + (int64_t)LANES * size);
    for (int64_t k = 0; k < size / 2; k++) t->place[k] = (int32_t)mx_fft_place(size / 2, k);
}

/* ---- spectrum ---- */

/* With Z the transform, a = Z[k], b = conj Z[n/2 - k] and w = e^(-2πjk/n):
 * 2 X[k] = (a + b) - j w (a - b) and 2 conj X[n/2 - k] = (a + b) + j w (a - b). */
static void bins_from_transform(const struct transform *t)
{
    const int64_t half = t->size / 2;
    const struct mx_vc zero = mx_vc_load(t->samples, 0);
    mx_vc_store(t->bins, 0, (struct mx_vc){zero.re + zero.im, (mx_vf){0}});
    mx_vc_store(t->bins, half, (struct mx_vc){zero.re - zero.im, (mx_vf){0}});
    for (int64_t k = 1; k <= half / 2; k++) {
        const struct mx_vc a = mx_vc_load(t->samples, t->place[k]);
        const struct mx_vc other = mx_vc_load(t->samples, t->place[half - k]), b = {other.re, -other.im};
        const struct mx_vc even = mx_vc_add(a, b);
        const struct mx_vc odd = mx_vc_turn(mx_vc_down(mx_vc_sub(a, b)), t->circle + 2 * k);
        const struct mx_vc x = mx_vc_add(even, odd), y = mx_vc_sub(even, odd);
        mx_vc_store(t->bins, half - k, (struct mx_vc){0.5f * y.re, -0.5f * y.im});
        mx_vc_store(t->bins, k, (struct mx_vc){0.5f * x.re, 0.5f * x.im});
    }
}

static void bins_store(const struct transform *t, float *spectrum, int lanes)
{
    const int64_t width = t->size + 2;
    for (int64_t i = 0; i < width; i += LANES) {
        const int count = width - i < LANES ? (int)(width - i) : LANES;
        mx_vf square[LANES];
        memcpy(square, t->bins + i, sizeof square);
        mx_vf_transpose(square);
        for (int lane = 0; lane < lanes; lane++) mx_vf_store_n(spectrum + lane * width + i, square[lane], count);
    }
}

/* audio [samples.rows] → spectrum [frames.rows, fft_size/2 + 1, 2] */
void mx_cpu_spectrum(const struct mx_gang *gang, const void *args)
{
    const struct mx_spectrum_args *a = args;
    float *spectrum = mx_cpu_ptr(a->spectrum);
    const float *source[LANES];
    struct mx_frames frames;
    struct transform t;
    int64_t begin, end;
    if (!mx_frames_open(&frames, gang, "spectrum", a->audio, &a->samples, &a->frames, a->fft_size, a->hop)) return;
    transform_open(&t, a->tables, a->fft_size, gang->scratch);
    for (int64_t i = t.size + 2; i < t.size + LANES; i++) t.bins[i] = (mx_vf){0};
    mx_gang_share(gang, frames.rows, LANES, &begin, &end);
    for (int64_t row = begin; row < end; row += LANES) {
        const int lanes = end - row < LANES ? (int)(end - row) : LANES;
        mx_frames_block(&frames, row, lanes, t.stage, source);
        mx_frames_transform(t.window, t.size, source, t.circle, t.samples);
        bins_from_transform(&t);
        bins_store(&t, spectrum + row * (t.size + 2), lanes);
    }
}

/* ---- overlap_add ---- */

/* Lanes beyond `lanes` repeat the last frame. */
static void bins_load(const struct transform *t, const float *spectrum, int lanes)
{
    const int64_t width = t->size + 2;
    const float *source[LANES];
    for (int lane = 0; lane < LANES; lane++) source[lane] = spectrum + (lane < lanes ? lane : lanes - 1) * width;
    for (int64_t i = 0; i < t->size; i += LANES) {
        mx_vf square[LANES];
#pragma GCC unroll 16
        for (int lane = 0; lane < LANES; lane++) square[lane] = mx_vf_load(source[lane] + i);
        mx_vf_transpose(square);
        memcpy(t->bins + i, square, sizeof square);
    }
    for (int lane = 0; lane < LANES; lane++) t->bins[t->size][lane] = source[lane][t->size];
}

/* The complex conjugate of twice the Z above, whose transform is the conjugate of n times the samples. With a = X[k], b
 * = conj X[n/2 - k], s = a + b and d = w conj(a - b): 2 conj Z[k] = conj s - j d, 2 conj Z[n/2 - k] = s - j conj d. */
static void transform_from_bins(const struct transform *t)
{
    const int64_t half = t->size / 2;
    const mx_vf lowest = t->bins[0], highest = t->bins[2 * half];
    mx_vc_store(t->samples, 0, (struct mx_vc){lowest + highest, highest - lowest});
    for (int64_t k = 1; k <= half / 2; k++) {
        const struct mx_vc a = mx_vc_load(t->bins, k), other = mx_vc_load(t->bins, half - k);
        const struct mx_vc b = {other.re, -other.im}, s = mx_vc_add(a, b), difference = mx_vc_sub(a, b);
        const struct mx_vc d = mx_vc_turn((struct mx_vc){difference.re, -difference.im}, t->circle + 2 * k);
        mx_vc_store(t->samples, half - k, mx_vc_add(s, mx_vc_down((struct mx_vc){d.re, -d.im})));
        mx_vc_store(t->samples, k, mx_vc_add((struct mx_vc){s.re, -s.im}, mx_vc_down(d)));
    }
}

/* work [lanes, size] = windowed samples */
static void frames_store(const struct transform *t, float *work, int lanes)
{
    const float factor = 1 / (float)t->size;
    for (int64_t i = 0; i < t->size; i += LANES) {
        mx_vf square[LANES];
#pragma GCC unroll 16
        for (int j = 0; j < LANES; j += 2) {
            const struct mx_vc z = mx_vc_load(t->samples, t->place[(i + j) / 2]);
            square[j] = z.re * (factor * t->window[i + j]);
            square[j + 1] = z.im * (-factor * t->window[i + j + 1]);
        }
        mx_vf_transpose(square);
        for (int lane = 0; lane < lanes; lane++) mx_vf_store(work + lane * t->size + i, square[lane]);
    }
}

/* Samples [begin, end) of an utterance of `count` frames, whose windowed samples are work [count, size]. `sum` and
 * `squares`: end - begin floats each. */
static void stretch_add(const struct mx_overlap_add_args *a, const float *window, const float *work, int64_t count,
                        int64_t begin, int64_t end, float *sum, float *squares, float *audio)
{
    const int64_t size = a->fft_size, hop = a->hop, n = end - begin;
    memset(sum, 0, (size_t)n * sizeof *sum);
    memset(squares, 0, (size_t)n * sizeof *squares);
    const int64_t early = begin - size / 2 + 1; /* the first frame that reaches `begin` starts here or later */
    int64_t frame = early > 0 ? (early + hop - 1) / hop : 0;
    for (; frame < count && frame * hop - size / 2 < end; frame++) {
        const int64_t start = frame * hop - size / 2;
        const int64_t low = start > begin ? start : begin, high = start + size < end ? start + size : end;
        const float *x = work + frame * size + low - start, *w = window + low - start;
        float *to = sum + low - begin, *square = squares + low - begin;
        MX_VEC_EACH(i, lanes, 0, high - low, {
            const mx_vf v = mx_vf_load_n(w + i, lanes);
            mx_vf_store_n(to + i, mx_vf_load_n(to + i, lanes) + mx_vf_load_n(x + i, lanes), lanes);
            mx_vf_store_n(square + i, mx_vf_load_n(square + i, lanes) + v * v, lanes);
        });
    }
    MX_VEC_EACH(i, lanes, 0, n, {
        const mx_vf weight = mx_vf_max(mx_vf_set(a->least), mx_vf_load_n(squares + i, lanes));
        mx_vf_store_n(audio + begin + i, mx_vf_load_n(sum + i, lanes) / weight, lanes);
    });
}

/* spectrum [frames.rows, fft_size/2 + 1, 2] → audio [samples.rows] */
void mx_cpu_overlap_add(const struct mx_gang *gang, const void *args)
{
    const struct mx_overlap_add_args *a = args;
    const float *spectrum = mx_cpu_ptr(a->spectrum);
    float *work = mx_cpu_ptr(a->work), *audio = mx_cpu_ptr(a->audio);
    struct mx_frames frames;
    struct transform t;
    int64_t begin, end;
    if (!mx_frames_open(&frames, gang, "overlap_add", a->audio, &a->samples, &a->frames, a->fft_size, a->hop)) return;
    transform_open(&t, a->tables, a->fft_size, gang->scratch);
    mx_gang_share(gang, frames.rows, LANES, &begin, &end);
    for (int64_t row = begin; row < end; row += LANES) {
        const int lanes = end - row < LANES ? (int)(end - row) : LANES;
        bins_load(&t, spectrum + row * (t.size + 2), lanes);
        transform_from_bins(&t);
        mx_fft_run(t.samples, t.size / 2, t.circle, t.size);
        frames_store(&t, work + row * t.size, lanes);
    }
    mx_gang_barrier(gang);
    /* An utterance of n samples has 1 + n/hop frames and at most as many stretches of hop samples. */
    mx_gang_share(gang, frames.rows, 1, &begin, &end);
    for (int64_t s = 0, row = begin; row < end; row++) {
        while (frames.frames[s + 1] <= row) s++;
        const int64_t first = frames.frames[s], count = frames.frames[s + 1] - first;
        const int64_t n = frames.samples[s + 1] - frames.samples[s];
        const int64_t low = (row - first) * frames.hop, high = low + frames.hop < n ? low + frames.hop : n;
        if (low < high)
            stretch_add(a, t.window, work + first * t.size, count, low, high, t.stage, t.stage + frames.hop,
                        audio + frames.samples[s]);
    }
}

/* ---- griffin_step ---- */

/* y, now and before: LANES complex numbers each; before may be NULL. */
MX_VEC_INLINE void numbers_step(const float *now, const float *before, mx_vf magnitude, float momentum, float *y)
{
    mx_vf first = mx_vf_load(now), second = mx_vf_load(now + LANES);
    if (before) {
        const mx_vf further = mx_vf_set(momentum);
        first = mx_vf_fma(further, first - mx_vf_load(before), first);
        second = mx_vf_fma(further, second - mx_vf_load(before + LANES), second);
    }
    mx_numbers_scale(&first, &second, magnitude);
    mx_vf_store(y, first);
    mx_vf_store(y + LANES, second);
}

/* now, before [count, 2], magnitude [count] → y [count, 2] */
void mx_cpu_griffin_step(const struct mx_gang *gang, const void *args)
{
    const struct mx_griffin_step_args *a = args;
    const float *now = mx_cpu_ptr(a->now), *before = mx_cpu_ptr(a->before), *magnitude = mx_cpu_ptr(a->magnitude);
    float *y = mx_cpu_ptr(a->y);
    int64_t begin, end;
    mx_gang_share(gang, a->count, 256, &begin, &end);
    int64_t i = begin;
    for (; i + LANES <= end; i += LANES)
        numbers_step(now + 2 * i, before ? before + 2 * i : NULL, mx_vf_load(magnitude + i), a->momentum, y + 2 * i);
    if (i == end) return;
    /* The last few in a whole vector of their own. */
    const size_t bytes = (size_t)(end - i) * 2 * sizeof *now;
    float rest[3][2 * LANES] = {{0}};
    memcpy(rest[0], now + 2 * i, bytes);
    if (before) memcpy(rest[1], before + 2 * i, bytes);
    numbers_step(rest[0], before ? rest[1] : NULL, mx_vf_load_n(magnitude + i, (int)(end - i)), a->momentum, rest[2]);
    memcpy(y + 2 * i, rest[2], bytes);
}

/* ---- mel_project ---- */

/* What a block of frames needs, one per lane. */
struct project {
    struct mx_bands bands;
    struct mx_places places;
    int64_t bins;
    /* scratch */
    struct transform spectrum; /* its bins alone */
    mx_vf *target, *moved;     /* [bands, rounded up to whole squares]: t and D */
    mx_vf *magnitude;          /* [bins] of the spectrum */
    mx_vf *gain;               /* [bins] */
};

/* False when a bin lies beside a band that does not exist. */
static bool project_open(struct project *p, const struct mx_mel_project_args *a, void *scratch)
{
    const int64_t padded = (a->bands + LANES - 1) / LANES * LANES;
    if (!mx_bands_open(&p->bands, a->tables, a->fft_size, a->bands, a->weights)) return false;
    p->bins = a->fft_size / 2 + 1;
    if (!mx_places_open(&p->places, a->places, p->bins, a->bands)) return false;
    p->spectrum = (struct transform){.size = a->fft_size, .bins = scratch};
    p->target = p->spectrum.bins + a->fft_size + LANES;
    p->moved = p->target + padded;
    p->magnitude = p->moved + padded;
    p->gain = p->magnitude + p->bins;
    for (int64_t i = a->fft_size + 2; i < a->fft_size + LANES; i++) p->spectrum.bins[i] = (mx_vf){0};
    return true;
}

static void gains_update(const struct project *p)
{
    for (int64_t k = 0; k < p->bins; k++)
        p->gain[k] = mx_vf_exp(mx_vf_clamp(mx_places_mix(&p->places, p->moved, k), -80.0f, 80.0f));
}

/* One round: D moves by what the bands of the spectrum with the gains still lack. */
static void bands_move(const struct project *p, const struct mx_mel_project_args *a)
{
    const mx_vf least = mx_vf_set(a->floor);
    for (int64_t k = 0; k < p->bands.used; k++) p->gain[k] *= p->magnitude[k];
    for (int64_t band = 0; band < p->bands.count; band++) {
        const float *weight = p->bands.weight + p->bands.ends[band];
        const mx_vf *bin = p->gain + p->bands.first[band];
        const int64_t count = p->bands.ends[band + 1] - p->bands.ends[band];
        mx_vf sum = {0};
        for (int64_t i = 0; i < count; i++) sum = mx_vf_fma(mx_vf_set(weight[i]), bin[i], sum);
        p->moved[band] += mx_vf_clamp(p->target[band] - mx_vf_log(mx_vf_max(least, sum)), -a->lower, a->raise);
    }
}

/* The frames of a block, already in the spectrum's bins. */
static void block_project(const struct project *p, const struct mx_mel_project_args *a)
{
    mx_vf *const bins = p->spectrum.bins;
    for (int64_t band = 0; band < p->bands.count; band++) {
        p->target[band] = mx_vf_horner(p->target[band], mx_vf_set(a->deviation), a->mean);
        p->moved[band] = (mx_vf){0};
    }
    for (int64_t k = 0; k < p->bins; k++) {
        p->magnitude[k] = mx_vf_sqrt(mx_vf_fma(bins[2 * k], bins[2 * k], bins[2 * k + 1] * bins[2 * k + 1]));
        p->gain[k] = mx_vf_set(1.0f);
    }
    for (int32_t round = 0; round < a->rounds; round++) {
        bands_move(p, a);
        gains_update(p);
    }
    for (int64_t k = 0; k < p->bins; k++) {
        bins[2 * k] *= p->gain[k];
        bins[2 * k + 1] *= p->gain[k];
        p->magnitude[k] *= p->gain[k];
    }
}

/* A square that is not full at the end also holds gains, which are not stored. */
static void magnitudes_store(const struct project *p, float *magnitude, int lanes)
{
    for (int64_t k = 0; k < p->bins; k += LANES) {
        const int count = p->bins - k < LANES ? (int)(p->bins - k) : LANES;
        mx_vf square[LANES];
        memcpy(square, p->magnitude + k, sizeof square);
        mx_vf_transpose(square);
        for (int lane = 0; lane < lanes; lane++) mx_vf_store_n(magnitude + lane * p->bins + k, square[lane], count);
    }
}

/* spectrum [rows, fft_size/2 + 1, 2], mel [rows, bands] → y [rows, fft_size/2 + 1, 2], magnitude [rows, fft_size/2 + 1] */
void mx_cpu_mel_project(const struct mx_gang *gang, const void *args)
{
    const struct mx_mel_project_args *a = args;
    const float *spectrum = mx_cpu_ptr(a->spectrum), *mel = mx_cpu_ptr(a->mel);
    float *const y = mx_cpu_ptr(a->y), *const magnitude = mx_cpu_ptr(a->magnitude);
    const int64_t width = (int64_t)a->fft_size + 2;
    struct project p;
    int64_t begin, end;
    if (!project_open(&p, a, gang->scratch)) {
        mx_bands_fail(gang, "mel_project");
        return;
    }
    mx_gang_share(gang, a->rows, LANES, &begin, &end);
    for (int64_t row = begin; row < end; row += LANES) {
        const int lanes = end - row < LANES ? (int)(end - row) : LANES;
        bins_load(&p.spectrum, spectrum + row * width, lanes);
        /* bins_load leaves out what a real signal has not: the imaginary part of the last bin. */
        for (int lane = 0; lane < LANES; lane++)
            p.spectrum.bins[width - 1][lane] = spectrum[(row + (lane < lanes ? lane : lanes - 1) + 1) * width - 1];
        mx_bands_rows(&p.bands, mel + row * p.bands.count, lanes, p.target);
        block_project(&p, a);
        bins_store(&p.spectrum, y + row * width, lanes);
        if (magnitude) magnitudes_store(&p, magnitude + row * p.bins, lanes);
    }
}
