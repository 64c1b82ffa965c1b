/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One frame after the other through FFTW; see plain_mel.h.
 */
#include "plain_mel.h"

#ifdef MX_HAVE_FFTW

#include <fftw3.h>
#include <math.h>
#include <sndfile.h>
#include <string.h>

#include "base/alloc.h"
#include "bench.h"

struct plain_mel {
    struct mx_recipe recipe;
    struct mx_recipe_tables tables;
    fftwf_plan plan;
    float *frame, *magnitude;
    fftwf_complex *spectrum;
    float *samples, *padded, *mel;
    size_t samples_max;
};

struct plain_mel *plain_mel_open(const struct mx_recipe *recipe, size_t samples_max)
{
    struct plain_mel *const plain = bench_alloc(sizeof *plain);
    const size_t n = (size_t)recipe->fft_size;
    plain->recipe = *recipe;
    plain->samples_max = samples_max;
    if (mx_recipe_tables_build(recipe, &plain->tables) < 0) bench_die("cannot make the tables");
    plain->frame = bench_alloc(n * sizeof *plain->frame);
    plain->magnitude = bench_alloc((n / 2 + 1) * sizeof *plain->magnitude);
    plain->spectrum = bench_alloc((n / 2 + 1) * sizeof *plain->spectrum);
    plain->samples = bench_alloc(samples_max * sizeof *plain->samples);
    plain->padded = bench_alloc((samples_max + n) * sizeof *plain->padded);
    plain->mel = bench_alloc((samples_max / (size_t)recipe->hop + 1) * (size_t)recipe->bands * sizeof *plain->mel);
    plain->plan = fftwf_plan_dft_r2c_1d(recipe->fft_size, plain->frame, plain->spectrum, FFTW_MEASURE);
    if (plain->plan == NULL) bench_die("FFTW has no plan");
    return plain;
}

void plain_mel_close(struct plain_mel *plain)
{
    if (plain == NULL) return;
    fftwf_destroy_plan(plain->plan);
    mx_recipe_tables_release(&plain->tables);
    mx_free(plain->frame);
    mx_free(plain->magnitude);
    mx_free(plain->spectrum);
    mx_free(plain->samples);
    mx_free(plain->padded);
    mx_free(plain->mel);
    mx_free(plain);
}

const float *plain_mel_run(struct plain_mel *plain, const float *samples, size_t count)
{
    const int64_t n = plain->recipe.fft_size, half = n / 2, bands = plain->recipe.bands, length = (int64_t)count;
    const float *const window = plain->tables.data, *const weight = window + 3 * n + 2 * bands + 1;
    const int32_t *const first = (const int32_t *)(const void *)(window + 3 * n), *const ends = first + bands;
    const int64_t frames = mx_recipe_frames(&plain->recipe, length);
    memcpy(plain->padded + half, samples, count * sizeof *samples);
    for (int64_t i = 1; i <= half; i++) { /* utterances of the bench are longer than a frame */
        plain->padded[half - i] = samples[i];
        plain->padded[half + length - 1 + i] = samples[length - 1 - i];
    }
    for (int64_t f = 0; f < frames; f++) {
        const float *const x = plain->padded + f * plain->recipe.hop;
        for (int64_t i = 0; i < n; i++) plain->frame[i] = x[i] * window[i];
        fftwf_execute(plain->plan);
        for (int64_t k = 0; k <= half; k++) {
            const float re = plain->spectrum[k][0], im = plain->spectrum[k][1];
            plain->magnitude[k] = sqrtf(re * re + im * im);
        }
        float *const out = plain->mel + f * bands;
        for (int64_t band = 0; band < bands; band++) {
            float sum = 0;
            for (int32_t i = ends[band]; i < ends[band + 1]; i++)
                sum += weight[i] * plain->magnitude[first[band] + i - ends[band]];
            out[band] = sum > plain->recipe.floor ? sum : plain->recipe.floor;
        }
        for (int64_t band = 0; band < bands; band++) out[band] = logf(out[band]);
    }
    return plain->mel;
}

const float *plain_mel_file(struct plain_mel *plain, const char *path)
{
    SF_INFO info = {0};
    SNDFILE *const file = sf_open(path, SFM_READ, &info);
    if (file == NULL || info.channels != 1) bench_die("libsndfile cannot read a file of the bench");
    const sf_count_t count = sf_readf_float(file, plain->samples, (sf_count_t)plain->samples_max);
    sf_close(file);
    return plain_mel_run(plain, plain->samples, (size_t)count);
}

#else

struct plain_mel *plain_mel_open(const struct mx_recipe *recipe, size_t samples_max)
{
    (void)recipe;
    (void)samples_max;
    return NULL;
}

void plain_mel_close(struct plain_mel *plain)
{
    (void)plain;
}

const float *plain_mel_run(struct plain_mel *plain, const float *samples, size_t count)
{
    (void)plain;
    (void)count;
    return samples;
}

const float *plain_mel_file(struct plain_mel *plain, const char *path)
{
    (void)plain;
    (void)path;
    return NULL;
}

#endif
