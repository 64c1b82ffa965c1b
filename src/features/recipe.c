/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The recipe's check, text and hash, and the tables that follow from it. Tables are computed in double and rounded
 * once.
 */
#include "features/recipe.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/string.h"
#include "myxtts/error.h"

#define LINEAR_HZ    (200.0 / 3) /* a step below the bend */
#define BEND_HZ      1000.0
#define BEND_MEL     (BEND_HZ / LINEAR_HZ)
#define BEND_PER_LOG (27 / log(6.4)) /* steps for each factor e above it */

const struct mx_recipe mx_recipes[MX_RECIPES] = {
#define X(identifier, text, words, ...) {.name = (text), __VA_ARGS__},
    MX_RECIPE_LIST(X)
#undef X
};

const char *const mx_recipe_names[MX_RECIPES + 1] = {
#define X(identifier, text, words, ...) text,
    MX_RECIPE_LIST(X)
#undef X
        NULL};

const struct mx_recipe *mx_recipe_find(const char *name)
{
    if (name == NULL) return MX_RECIPE_DEFAULT;
    for (int i = 0; i < MX_RECIPES; i++)
        if (strcmp(name, mx_recipes[i].name) == 0) return &mx_recipes[i];
    return NULL;
}

const struct mx_recipe *mx_recipe_find_hash(const char *hash_text)
{
    char own[MX_RECIPE_HASH_BYTES];
    for (int i = 0; i < MX_RECIPES; i++)
        if (strcmp(hash_text, mx_recipe_hash_text(&mx_recipes[i], own)) == 0) return &mx_recipes[i];
    return NULL;
}

int mx_recipe_check(const struct mx_recipe *r)
{
    const char *wrong = NULL;
    const int32_t n = r->fft_size;
    const float costs[] = {r->pitch_silence, r->pitch_threshold, r->pitch_octave, r->pitch_jump, r->pitch_change};
    for (size_t i = 0; i < sizeof costs / sizeof costs[0]; i++)
        if (!(costs[i] >= 0 && isfinite(costs[i]))) wrong = "the costs of the pitch must be 0 or more";
    if (!(r->pitch_low_hz > 0 && r->pitch_low_hz < r->pitch_high_hz && 2 * r->pitch_high_hz <= (float)r->rate &&
          (float)r->rate / r->pitch_low_hz <= (float)n - 16))
        wrong = "the range of the pitch must be in order, and its longest period shorter than a frame";
    if (!(r->floor >= 1e-37f && isfinite(r->floor))) wrong = "the floor must be at least 1e-37";
    if (!(r->low_hz >= 0 && r->low_hz < r->high_hz && 2 * r->high_hz <= (float)r->rate))
        wrong = "the bands must lie between 0 Hz and half the rate";
    if (r->bands < 1 || r->bands > 1024) wrong = "there must be 1 to 1024 bands";
    if (r->hop < 1 || r->hop > n) wrong = "the hop must be 1 to fft_size";
    if (n < 32 || n > 4096 || (n & (n - 1)) != 0) wrong = "fft_size must be a power of two from 32 to 4096";
    if (r->rate < 1000 || r->rate > 1000000) wrong = "the rate must be 1,000 to 1,000,000 Hz";
    if (wrong == NULL) return 0;
    return MX_FAIL(MX_ERR_ARGUMENT, wrong, "the recipe '%.31s' is not possible", r->name);
}

void mx_recipe_text(const struct mx_recipe *r, char out[MX_RECIPE_TEXT_BYTES])
{
    const float numbers[] = {r->low_hz,        r->high_hz,         r->floor,        r->pitch_low_hz, r->pitch_high_hz,
                             r->pitch_silence, r->pitch_threshold, r->pitch_octave, r->pitch_jump,   r->pitch_change};
    static const char *const names[] = {"low_hz",        "high_hz",       "floor",           "pitch_low_hz",
                                        "pitch_high_hz", "pitch_silence", "pitch_threshold", "pitch_octave",
                                        "pitch_jump",    "pitch_change"};
    int length = snprintf(out, MX_RECIPE_TEXT_BYTES,
                          "version=1 rate=%" PRId32 " fft_size=%" PRId32 " hop=%" PRId32 " bands=%" PRId32
                          " window=hann scale=slaney norm=area power=1 pad=reflect log=e",
                          r->rate, r->fft_size, r->hop, r->bands);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char text[MX_STRING_DOUBLE_BYTES];
        mx_string_from_double((double)numbers[i], text);
        length += snprintf(out + length, MX_RECIPE_TEXT_BYTES - (size_t)length, " %s=%s", names[i], text);
    }
}

uint64_t mx_recipe_hash(const struct mx_recipe *recipe)
{
    char text[MX_RECIPE_TEXT_BYTES];
    mx_recipe_text(recipe, text);
    return XXH64(text, strlen(text), 0);
}

const char *mx_recipe_hash_text(const struct mx_recipe *recipe, char out[MX_RECIPE_HASH_BYTES])
{
    snprintf(out, MX_RECIPE_HASH_BYTES, "%016" PRIx64, mx_recipe_hash(recipe));
    return out;
}

int64_t mx_recipe_frames(const struct mx_recipe *recipe, int64_t samples)
{
    return samples > 0 ? 1 + samples / recipe->hop : 0;
}

int64_t mx_recipe_frames_most(const struct mx_recipe *recipe, int64_t samples, int64_t utterances)
{
    return samples / recipe->hop + (utterances < samples ? utterances : samples);
}

/* ---- tables ---- */

double mx_recipe_mel_from_hz(double hz)
{
    return hz < BEND_HZ ? hz / LINEAR_HZ : BEND_MEL + BEND_PER_LOG * log(hz / BEND_HZ);
}

double mx_recipe_hz_from_mel(double mel)
{
    return mel < BEND_MEL ? mel * LINEAR_HZ : BEND_HZ * exp((mel - BEND_MEL) / BEND_PER_LOG);
}

/* Of band `band`: its three corners in Hz. */
static void band_corners(const struct mx_recipe *r, int band, double corners[3])
{
    const double low = mx_recipe_mel_from_hz((double)r->low_hz), high = mx_recipe_mel_from_hz((double)r->high_hz);
    for (int i = 0; i < 3; i++) corners[i] = mx_recipe_hz_from_mel(low + (high - low) * (band + i) / (r->bands + 1));
}

static double band_weight(const double corners[3], double hz)
{
    const double up = (hz - corners[0]) / (corners[1] - corners[0]);
    const double down = (corners[2] - hz) / (corners[2] - corners[1]);
    const double height = up < down ? up : down;
    return height > 0 ? height * 2 / (corners[2] - corners[0]) : 0;
}

/* The bins that a band uses; none when it is narrower than the distance of two bins and falls between them. */
static void band_bins(const struct mx_recipe *r, const double corners[3], int32_t *first, int32_t *count)
{
    *first = *count = 0;
    for (int32_t bin = (int32_t)(corners[0] * r->fft_size / r->rate); bin <= r->fft_size / 2; bin++) {
        const double hz = (double)bin * r->rate / r->fft_size;
        if (hz >= corners[2]) break;
        if (!(band_weight(corners, hz) > 0)) continue;
        if (*count == 0) *first = bin;
        *count = bin - *first + 1;
    }
}

int mx_recipe_tables_build(const struct mx_recipe *r, struct mx_recipe_tables *tables)
{
    double corners[3];
    int32_t first, count;
    *tables = (struct mx_recipe_tables){0};
    const int rc = mx_recipe_check(r);
    if (rc < 0) return rc;
    const int64_t n = r->fft_size, bands = r->bands;
    for (int band = 0; band < bands; band++) {
        band_corners(r, band, corners);
        band_bins(r, corners, &first, &count);
        tables->weights += count;
    }
    tables->count = (size_t)(3 * n + 2 * bands + 1 + tables->weights);
    tables->data = mx_alloc(tables->count, sizeof *tables->data);
    if (tables->data == NULL) return MX_ERR_NO_MEMORY;
    float *const window = tables->data, *const circle = window + n, *const weight = circle + 2 * n + 2 * bands + 1;
    int32_t *const firsts = (int32_t *)(void *)(circle + 2 * n), *const ends = firsts + bands;
    for (int64_t k = 0; k < n; k++) {
        const double angle = 2 * M_PI * (double)k / (double)n;
        window[k] = (float)(0.5 - 0.5 * cos(angle));
        circle[2 * k] = (float)cos(angle);
        circle[2 * k + 1] = (float)sin(angle);
    }
    for (int band = 0; band < bands; band++) {
        band_corners(r, band, corners);
        band_bins(r, corners, &firsts[band], &count);
        ends[band + 1] = ends[band] + count;
        for (int32_t i = 0; i < count; i++)
            weight[ends[band] + i] = (float)band_weight(corners, (double)(firsts[band] + i) * r->rate / r->fft_size);
    }
    return 0;
}

/* Where the weights of a band, which has some, are in balance. */
static double band_centre(const float *weight, int32_t first, int32_t count)
{
    double sum = 0, moment = 0;
    for (int32_t i = 0; i < count; i++) {
        sum += (double)weight[i];
        moment += (double)weight[i] * (first + i);
    }
    return moment / sum;
}

int mx_recipe_places_build(const struct mx_recipe *r, const struct mx_recipe_tables *tables, float *out)
{
    const int64_t n = r->fft_size, bins = n / 2 + 1, bands = r->bands;
    const int32_t *const firsts = (const int32_t *)(const void *)(tables->data + 3 * n), *const ends = firsts + bands;
    const float *const weight = tables->data + 3 * n + 2 * bands + 1;
    int32_t *const low = (int32_t *)(void *)out, *const high = low + bins;
    int32_t below = -1, above = -1; /* bands beside bin k */
    double below_at = 0, above_at = -1;
    for (int64_t k = 0, next = 0; k < bins; k++) {
        while (next < bands && above_at < (double)k) { /* corners rise with the bands, and so do the centres */
            const int32_t count = ends[next + 1] - ends[next];
            if (count > 0) {
                below = above;
                below_at = above_at;
                above = (int32_t)next;
                above_at = band_centre(weight + ends[next], firsts[next], count);
            }
            next++;
        }
        if (above < 0)
            return MX_FAIL(MX_ERR_ARGUMENT, "use fewer bands or a larger fft_size",
                           "no band of the recipe '%.31s' has a bin", r->name);
        const bool between = below >= 0 && above_at >= (double)k;
        low[k] = between ? below : above;
        high[k] = above;
        out[2 * bins + k] = between ? (float)(((double)k - below_at) / (above_at - below_at)) : 0.0f;
    }
    return 0;
}

void mx_recipe_tables_release(struct mx_recipe_tables *tables)
{
    mx_free(tables->data);
    *tables = (struct mx_recipe_tables){0};
}
