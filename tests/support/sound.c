/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sounds for tests, and their features; see sound.h.
 */
#include "support/sound.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "myxtts/error.h"

static float *take(int64_t count)
{
    float *ptr = mx_alloc((size_t)count + 1, sizeof *ptr);
    if (!ptr) abort();
    return ptr;
}

/* The next number of a linear congruence, from -0.5 to 0.5. */
static double hiss(uint32_t *state)
{
    *state = (1103515245u * *state + 12345u) & 0x7fffffffu;
    return (double)*state / 0x1p31 - 0.5;
}

float *sound_voice(int64_t count)
{
    float *x = take(count);
    uint32_t state = 1;
    for (int64_t i = 0; i < count; i++) {
        const double t = (double)i / SOUND_RATE, phase = 140 * t + 30 * t * t;
        double sum = 0;
        for (int h = 1; h <= 10; h++) sum += sin(2 * M_PI * h * phase) / h;
        x[i] = (float)(0.1 * sum + 0.01 * hiss(&state));
    }
    return x;
}

float *sound_chirp(int64_t count)
{
    float *x = take(count);
    uint32_t state = 1;
    for (int64_t i = 0; i < count; i++) {
        const double t = (double)i / SOUND_RATE;
        x[i] = (float)(0.5 * sin(2 * M_PI * (200 * t + 12000 * t * t)) + 0.001 * hiss(&state));
    }
    return x;
}

float *sound_noise(int64_t count, float level, uint64_t seed)
{
    float *x = take(count);
    for (int64_t i = 0; i < count; i++) x[i] = level * mx_rng_normal(seed, 0, (uint64_t)i);
    return x;
}

double sound_glide_hz(int64_t count, double from_hz, double to_hz, int64_t at)
{
    return from_hz * exp2(log2(to_hz / from_hz) * (double)at / (double)count);
}

float *sound_glide(int64_t count, double from_hz, double to_hz, int first, int harmonics, float level)
{
    float *x = take(count);
    double phase = 0;
    for (int64_t i = 0; i < count; i++) {
        double sum = 0;
        for (int h = first; h < first + harmonics; h++) sum += sin(2 * M_PI * h * phase) / h;
        x[i] = level * (float)sum;
        phase += sound_glide_hz(count, from_hz, to_hz, i) / SOUND_RATE;
    }
    return x;
}

static void must(int rc, const char *what)
{
    if (rc >= 0) return;
    fprintf(stderr, "%s: %s\n", what, mx_error_last()->message);
    abort();
}

void sound_features(struct mx_device *device, const float *samples, int64_t count, struct sound_features *out)
{
    struct mx_stream *stream = NULL;
    struct mx_extract *extract = NULL;
    struct mx_extract_features features;
    const struct mx_extract_options options = {.samples_max = count > 0 ? count : 1, .utterances_max = 1};
    const int32_t offsets[] = {0, (int32_t)count};
    const struct mx_extract_batch batch = {.audio = samples, .offsets = offsets, .count = 1};
    must(mx_stream_create(device, "sound", &stream), "stream");
    must(mx_extract_create(device, &options, &extract), "extractor");
    must(mx_extract_submit(extract, stream, &batch, &features), "submit");
    out->frames = features.frames.rows;
    out->mel = take(out->frames * MX_RECIPE_DEFAULT->bands);
    out->energy = take(out->frames);
    out->pitch = take(out->frames);
    must(mx_extract_read(extract, stream, out->mel, out->energy, out->pitch), "features");
    mx_extract_destroy(extract);
    mx_stream_release(stream);
}

void sound_features_release(struct sound_features *features)
{
    mx_free(features->mel);
    mx_free(features->energy);
    mx_free(features->pitch);
}
