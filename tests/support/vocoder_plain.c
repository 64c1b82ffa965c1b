/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See vocoder_plain.h.
 */
#include "support/vocoder_plain.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { TAPS = 7, WIDTH_MAX = 64 };

struct weights {
    const struct mx_parameters *table;
    const float *flat;
};

static const float *weight(const struct weights *w, const char *part, const char *name)
{
    char whole[64];
    snprintf(whole, sizeof whole, "vocoder.%s%s", part, name);
    const struct mx_parameter *const p = mx_parameters_find(w->table, whole);
    if (p == NULL) fail_msg("there is no parameter %s", whole);
    return w->flat + p->at;
}

/* ---- the base ---- */

/* Weight of a bin in a band: triangles between points that are even on Slaney's scale, of equal areas. */
static double band_weight(const struct mx_recipe *r, int band, int bin)
{
    const double low = mx_recipe_mel_from_hz((double)r->low_hz), high = mx_recipe_mel_from_hz((double)r->high_hz);
    double corner[3];
    for (int i = 0; i < 3; i++)
        corner[i] = mx_recipe_hz_from_mel(low + (high - low) * (band + i) / (double)(r->bands + 1));
    const double hz = (double)bin * r->rate / r->fft_size;
    const double up = (hz - corner[0]) / (corner[1] - corner[0]), down = (corner[2] - hz) / (corner[2] - corner[1]);
    const double height = fmin(up, down);
    return height > 0 ? height * 2 / (corner[2] - corner[0]) : 0;
}

/* base[k] between the centres of gravity of the two bands beside it; v[b] = ln mel - ln Σ weights. */
static void base_of(const struct mx_recipe *r, const double *m, double *base)
{
    double centre[SEGMENT_BANDS], value[SEGMENT_BANDS];
    for (int b = 0; b < SEGMENT_BANDS; b++) {
        double sum = 0, moment = 0;
        for (int k = 0; k < SEGMENT_BINS; k++) {
            sum += band_weight(r, b, k);
            moment += band_weight(r, b, k) * k;
        }
        assert_true(sum > 0); /* or the recipe of the rig is too fine */
        centre[b] = moment / sum;
        value[b] = m[b] - log(sum);
    }
    for (int k = 0; k < SEGMENT_BINS; k++) {
        int high = 0;
        while (high < SEGMENT_BANDS && centre[high] < k) high++;
        if (high == 0)
            base[k] = value[0];
        else if (high == SEGMENT_BANDS)
            base[k] = value[SEGMENT_BANDS - 1];
        else
            base[k] = value[high - 1] +
                      (value[high] - value[high - 1]) * (k - centre[high - 1]) / (centre[high] - centre[high - 1]);
    }
}

/* ---- layers: x [frames, in], y [frames, out] ---- */

static void norm(const struct weights *w, const char *part, double *x, int frames, int width)
{
    const float *const gain = weight(w, part, "norm.weight"), *const bias = weight(w, part, "norm.bias");
    for (int f = 0; f < frames; f++) {
        double *const row = x + f * width, mean = 0, variance = 0;
        for (int i = 0; i < width; i++) mean += row[i] / width;
        for (int i = 0; i < width; i++) variance += (row[i] - mean) * (row[i] - mean) / width;
        for (int i = 0; i < width; i++)
            row[i] = (row[i] - mean) / sqrt(variance + 1e-5) * (double)gain[i] + (double)bias[i];
    }
}

static void linear(const float *matrix, const float *bias, const double *x, int in, double *y, int out, int frames)
{
    for (int f = 0; f < frames; f++)
        for (int o = 0; o < out; o++) {
            double sum = (double)bias[o];
            for (int i = 0; i < in; i++) sum += x[f * in + i] * (double)matrix[i * out + o];
            y[f * out + o] = sum;
        }
}

/* Seven taps, with zeros outside the segment. */
static void conv(const struct weights *w, const double *x, int in, double *y, int out, int frames)
{
    const float *const matrix = weight(w, "input.", "weight"), *const bias = weight(w, "input.", "bias");
    for (int f = 0; f < frames; f++)
        for (int o = 0; o < out; o++) {
            double sum = (double)bias[o];
            for (int t = 0; t < TAPS; t++) {
                const int from = f + t - TAPS / 2;
                for (int i = 0; i < in && from >= 0 && from < frames; i++)
                    sum += x[from * in + i] * (double)matrix[(t * in + i) * out + o];
            }
            y[f * out + o] = sum;
        }
}

static void block(const struct weights *w, int index, double *x, int frames, int width, int hidden)
{
    char part[32];
    double y[SEGMENT_FRAMES_MAX * WIDTH_MAX] = {0}, inner[SEGMENT_FRAMES_MAX * WIDTH_MAX] = {0};
    snprintf(part, sizeof part, "block.%d.", index);
    const float *const taps = weight(w, part, "depthwise.weight"), *const bias = weight(w, part, "depthwise.bias");
    for (int f = 0; f < frames; f++)
        for (int i = 0; i < width; i++) {
            double sum = (double)bias[i];
            for (int t = 0; t < TAPS; t++) {
                const int from = f + t - TAPS / 2;
                if (from >= 0 && from < frames) sum += x[from * width + i] * (double)taps[t * width + i];
            }
            y[f * width + i] = sum;
        }
    norm(w, part, y, frames, width);
    linear(weight(w, part, "up.weight"), weight(w, part, "up.bias"), y, width, inner, hidden, frames);
    for (int i = 0; i < frames * hidden; i++) {
        const double z = inner[i];
        inner[i] = z / 2 * (1 + tanh(sqrt(2 / M_PI) * (z + 0.044715 * z * z * z)));
    }
    linear(weight(w, part, "down.weight"), weight(w, part, "down.bias"), inner, hidden, y, width, frames);
    for (int i = 0; i < frames * width; i++) x[i] += y[i];
}

/* ---- losses ---- */

static double entropy_of(const double *logits, double pitch)
{
    enum { ALL = MX_VOCODER_CLASSES + 1 };
    double label[ALL] = {0}, sum = 0, most = logits[0], total = 0, loss = 0;
    if (pitch > 0) {
        const double q = log(pitch / (double)MX_VOCODER_LOW_HZ) / log((double)(MX_VOCODER_HIGH_HZ / MX_VOCODER_LOW_HZ));
        const double place = fmin(fmax(q, 0), 1) * (MX_VOCODER_CLASSES - 1);
        for (int i = 0; i < MX_VOCODER_CLASSES; i++) sum += label[i] = exp(-0.5 * (i - place) * (i - place));
        for (int i = 0; i < MX_VOCODER_CLASSES; i++) label[i] /= sum;
    } else {
        label[MX_VOCODER_CLASSES] = 1;
    }
    for (int i = 0; i < ALL; i++) most = fmax(most, logits[i]);
    for (int i = 0; i < ALL; i++) total += exp(logits[i] - most);
    for (int i = 0; i < ALL; i++) loss += label[i] * (most + log(total) - logits[i]);
    return loss;
}

void vocoder_plain_run(const struct mx_vocoder_config *config, const struct mx_parameters *table, const float *flat,
                       const struct segment *segment, struct vocoder_plain *out)
{
    enum { ALL = MX_VOCODER_CLASSES + 1 };
    const struct weights w = {table, flat};
    const int frames = segment->frames, width = config->size.width;
    double input[SEGMENT_FRAMES_MAX * SEGMENT_BANDS] = {0}, base[SEGMENT_FRAMES_MAX * SEGMENT_BINS] = {0};
    double x[SEGMENT_FRAMES_MAX * WIDTH_MAX] = {0};
    assert_true(width <= WIDTH_MAX && config->size.hidden <= WIDTH_MAX);
    *out = (struct vocoder_plain){0};
    for (int f = 0; f < frames; f++) {
        double *const m = input + f * SEGMENT_BANDS;
        for (int b = 0; b < SEGMENT_BANDS; b++)
            m[b] =
                (double)segment->mel[f * SEGMENT_BANDS + b] * (double)config->mel_deviation + (double)config->mel_mean;
        base_of(&config->recipe, m, base + f * SEGMENT_BINS);
        for (int b = 0; b < SEGMENT_BANDS; b++) m[b] = (m[b] + 5) / 2.5;
    }
    conv(&w, input, SEGMENT_BANDS, x, width, frames);
    norm(&w, "input.", x, frames, width);
    for (int i = 0; i < config->size.blocks; i++) block(&w, i, x, frames, width, config->size.hidden);
    norm(&w, "", x, frames, width);
    linear(weight(&w, "", "magnitude.weight"), weight(&w, "", "magnitude.bias"), x, width, out->magnitude, SEGMENT_BINS,
           frames);
    linear(weight(&w, "", "pitch.weight"), weight(&w, "", "pitch.bias"), x, width, out->logits, ALL, frames);
    linear(weight(&w, "", "burst.weight"), weight(&w, "", "burst.bias"), x, width, out->burst, MX_VOCODER_BURST,
           frames);
    const float *const matrix = weight(&w, "", "burst.mel.weight");
    for (int i = 0; i < frames * MX_VOCODER_BURST; i++) {
        const int f = i / MX_VOCODER_BURST, column = i % MX_VOCODER_BURST;
        for (int b = 0; b < SEGMENT_BANDS; b++)
            out->burst[i] += input[f * SEGMENT_BANDS + b] * (double)matrix[b * MX_VOCODER_BURST + column];
        out->losses[MX_VOCODER_LOSS_BURST] += fabs(out->burst[i] - (double)segment->burst[i]) / MX_VOCODER_BURST;
    }
    for (int i = 0; i < frames * SEGMENT_BINS; i++) {
        out->magnitude[i] += base[i];
        out->losses[MX_VOCODER_LOSS_MAGNITUDE] += fabs(out->magnitude[i] - (double)segment->target[i]) / SEGMENT_BINS;
    }
    for (int f = 0; f < frames; f++)
        out->losses[MX_VOCODER_LOSS_PITCH] += entropy_of(out->logits + f * ALL, (double)segment->pitch[f]);
}
