/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The checks of reference_check.h. Sums run in the order of the frames, so they are the same everywhere.
 */
#include "speech/reference_check.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/robust.h"
#include "myxtts/error.h"

#define TRAITS     MX_REFERENCE_TRAITS
#define SIDE_LEAST 130 /* minimum of voiced frames on each side of a place */
#define SIDE_MOST  400 /* maximum: a longer recording is no more suspicious than a short one */
#define STEP       20  /* frames from place to place */

/* What 98 of 100 references of one person stay below: a constant, and an increment for each frame of both sides. */
#define USUAL       500.0
#define USUAL_FRAME 0.3

/* ---- noise ---- */

double mx_reference_powers_above_noise(double *powers, size_t count)
{
    const size_t half = count / 2;
    double speech = 0;
    mx_robust_sort(powers, count);
    if (count == 0 || powers[count / 20] <= 0) return INFINITY;
    for (size_t w = half; w < count; w++) speech += powers[w];
    return 10 * log10(speech / (double)(count - half) / powers[count / 20]);
}

int mx_reference_above_noise(const float *samples, size_t count, int32_t rate, double *db)
{
    const size_t size = (size_t)rate / 50, windows = count / size;
    double *const powers = mx_alloc(windows, sizeof *powers);
    if (powers == NULL) return MX_ERR_NO_MEMORY;
    for (size_t w = 0; w < windows; w++) {
        double sum = 0;
        for (size_t i = w * size; i < (w + 1) * size; i++) sum += (double)samples[i] * (double)samples[i];
        powers[w] = sum / (double)size;
    }
    *db = mx_reference_powers_above_noise(powers, windows);
    mx_free(powers);
    return 0;
}

/* ---- frames ---- */

static int frames_room(struct mx_reference_frames *f, size_t more)
{
    if (f->count + more <= f->room) return 0;
    const size_t room = f->count + more;
    float *const grown = mx_realloc(f->traits, room * TRAITS, sizeof *grown);
    if (grown == NULL) return MX_ERR_NO_MEMORY;
    f->traits = grown;
    f->room = room;
    return 0;
}

int mx_reference_frames_add(struct mx_reference_frames *f, const float *mel, double scale, const float *pitch,
                            int32_t frames, int32_t bands)
{
    int rc = 0;
    double *const waves = mx_alloc((size_t)(TRAITS - 1) * (size_t)bands, sizeof *waves);
    if (waves == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(frames_room(f, (size_t)frames));
    for (int k = 0; k < TRAITS - 1; k++)
        for (int32_t b = 0; b < bands; b++)
            waves[(size_t)k * (size_t)bands + (size_t)b] =
                scale * sqrt(2.0 / bands) * cos(M_PI * (k + 1) * (b + 0.5) / bands);
    for (int32_t t = 0; t < frames; t++) {
        if (pitch[t] <= 0) continue;
        float *const to = f->traits + f->count++ * TRAITS;
        const float *const from = mel + (size_t)t * (size_t)bands;
        for (int k = 0; k < TRAITS - 1; k++) {
            double sum = 0;
            for (int32_t b = 0; b < bands; b++) sum += waves[(size_t)k * (size_t)bands + (size_t)b] * (double)from[b];
            to[k] = (float)sum;
        }
        to[TRAITS - 1] = (float)(12 * log2((double)pitch[t]));
    }
out:
    mx_free(waves);
    return rc;
}

void mx_reference_frames_release(struct mx_reference_frames *f)
{
    mx_free(f->traits);
    *f = (struct mx_reference_frames){0};
}

/* ---- people ---- */

/* Moments of some frames: sums, and sums of products. */
struct moments {
    double count, sum[TRAITS], product[TRAITS][TRAITS];
};

static void moments_compute(struct moments *m, const float *traits, size_t count)
{
    *m = (struct moments){.count = (double)count};
    for (size_t t = 0; t < count; t++) {
        const float *const x = traits + t * TRAITS;
        for (int i = 0; i < TRAITS; i++) {
            m->sum[i] += (double)x[i];
            for (int j = 0; j <= i; j++) m->product[i][j] += (double)x[i] * (double)x[j];
        }
    }
}

static void moments_add(struct moments *to, const struct moments *m)
{
    to->count += m->count;
    for (int i = 0; i < TRAITS; i++) {
        to->sum[i] += m->sum[i];
        for (int j = 0; j <= i; j++) to->product[i][j] += m->product[i][j];
    }
}

/* count/2 times the logarithm of the determinant of their covariance, by Cholesky. The least variance that is added keeps
 * frames that are all alike, as of a pure tone, finite. */
static double spread(const struct moments *m)
{
    double l[TRAITS][TRAITS], sum = 0;
    for (int i = 0; i < TRAITS; i++)
        for (int j = 0; j <= i; j++) {
            double v = m->product[i][j] / m->count - m->sum[i] / m->count * (m->sum[j] / m->count);
            if (i == j) v += 1e-3;
            for (int k = 0; k < j; k++) v -= l[i][k] * l[j][k];
            l[i][j] = i == j ? sqrt(v > 1e-9 ? v : 1e-9) : v / l[j][j];
        }
    for (int i = 0; i < TRAITS; i++) sum += 2 * log(l[i][i]);
    return m->count / 2 * sum;
}

double mx_reference_difference(const struct mx_reference_frames *f, size_t *place)
{
    double most = 0;
    *place = 0;
    for (size_t at = SIDE_LEAST; at + SIDE_LEAST <= f->count; at += STEP) {
        const size_t begin = at > SIDE_MOST ? at - SIDE_MOST : 0;
        const size_t end = f->count - at > SIDE_MOST ? at + SIDE_MOST : f->count;
        struct moments before, after;
        moments_compute(&before, f->traits + begin * TRAITS, at - begin);
        moments_compute(&after, f->traits + at * TRAITS, end - at);
        const double apart = spread(&before) + spread(&after);
        moments_add(&before, &after);
        /* What one person's words reach grows a little with their number. */
        const double difference = (spread(&before) - apart) / (USUAL + USUAL_FRAME * before.count);
        if (difference > most) {
            most = difference;
            *place = at;
        }
    }
    return most;
}

double mx_reference_pitch(const struct mx_reference_frames *f, size_t begin, size_t end)
{
    double sum = 0;
    for (size_t t = begin; t < end; t++) sum += (double)f->traits[t * TRAITS + TRAITS - 1];
    return begin < end ? exp2(sum / (double)(end - begin) / 12) : 0;
}
