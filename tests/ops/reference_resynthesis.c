/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The references of the way back from features to audio: plain sums over all bins, all bands and all frames.
 */
#include <math.h>

#include "base/alloc.h"
#include "ops/reference.h"

/* cos and sin of 2πk/n, k < n. */
static void circle_fill(int64_t n, double *cosine, double *sine)
{
    for (int64_t k = 0; k < n; k++) {
        cosine[k] = cos(2 * M_PI * (double)k / (double)n);
        sine[k] = sin(2 * M_PI * (double)k / (double)n);
    }
}

/* ---- mel_inverse ---- */

/* a[k] = (or *=) Σ_b w[b,k] (m[b]/Σ_i w[b,i] x[i])/Σ_b w[b,k] with x = a, or 1 at the start. */
static void move(const double *dense, int64_t bands, int64_t bins, const double *m, bool start, double *a)
{
    double *next = reference_take(bins);
    for (int64_t k = 0; k < bins; k++) {
        double top = 0, bottom = 0;
        for (int64_t b = 0; b < bands; b++) {
            double sum = 0;
            if (dense[b * bins + k] <= 0) continue;
            for (int64_t i = 0; i < bins; i++) sum += dense[b * bins + i] * (start ? 1 : a[i]);
            top += dense[b * bins + k] * m[b] / sum;
            bottom += dense[b * bins + k];
        }
        next[k] = bottom > 0 ? top / bottom * (start ? 1 : a[k]) : 0;
    }
    for (int64_t k = 0; k < bins; k++) a[k] = next[k];
    mx_free(next);
}

/* dense [bands, bins] = the weights of a case's tables */
static double *dense_make(const struct mx_op_case *c, const double *tables, int64_t n, int64_t bands)
{
    const int64_t bins = n / 2 + 1;
    const int32_t *first = (const int32_t *)(const void *)((const float *)mx_op_case_data(c, "tables") + 3 * n);
    const int32_t *ends = first + bands;
    const double *weight = tables + 3 * n + 2 * bands + 1;
    double *dense = reference_take(bands * bins);
    for (int64_t b = 0; b < bands; b++)
        for (int32_t i = ends[b]; i < ends[b + 1]; i++) dense[b * bins + first[b] + i - ends[b]] = weight[i];
    return dense;
}

REFERENCE(mel_inverse)
{
    REFERENCE_ARGS(mel_inverse);
    REFERENCE_TENSOR(mel);
    REFERENCE_TENSOR(magnitude);
    REFERENCE_TENSOR(tables);
    const int64_t n = a->fft_size, bins = n / 2 + 1, bands = a->bands;
    double *dense = dense_make(c, tables, n, bands), *m = reference_take(bands);
    for (int64_t row = 0; row < a->rows; row++) {
        for (int64_t b = 0; b < bands; b++)
            m[b] = exp(fmax(-80, fmin(80, mel[row * bands + b] * (double)a->deviation + (double)a->mean)));
        for (int32_t i = 0; i <= a->iterations; i++) move(dense, bands, bins, m, i == 0, magnitude + row * bins);
    }
    mx_free(m);
    mx_free(dense);
}

/* ---- spectrum and overlap_add ---- */

REFERENCE(spectrum)
{
    REFERENCE_ARGS(spectrum);
    REFERENCE_TENSOR(audio);
    REFERENCE_TENSOR(spectrum);
    REFERENCE_TENSOR(tables);
    const int64_t n = a->fft_size, bins = n / 2 + 1;
    double *frame = reference_take(n), *cosine = reference_take(n), *sine = reference_take(n);
    circle_fill(n, cosine, sine);
    for (int s = 0; s < c->sequences; s++) {
        const double *x = audio + c->samples[s];
        const int64_t length = c->samples[s + 1] - c->samples[s];
        for (int64_t row = c->ends[s]; row < c->ends[s + 1]; row++) {
            for (int64_t i = 0; i < n; i++) {
                int64_t at = (row - c->ends[s]) * a->hop - n / 2 + i;
                while (length > 1 && (at < 0 || at >= length)) at = at < 0 ? -at : 2 * (length - 1) - at;
                frame[i] = tables[i] * x[length > 1 ? at : 0];
            }
            for (int64_t k = 0; k < bins; k++) {
                double re = 0, im = 0;
                for (int64_t i = 0; i < n; i++) {
                    re += frame[i] * cosine[k * i % n];
                    im -= frame[i] * sine[k * i % n];
                }
                spectrum[2 * (row * bins + k)] = re;
                spectrum[2 * (row * bins + k) + 1] = im;
            }
        }
    }
    mx_free(sine);
    mx_free(cosine);
    mx_free(frame);
}

REFERENCE(overlap_add)
{
    REFERENCE_ARGS(overlap_add);
    REFERENCE_TENSOR(spectrum);
    REFERENCE_TENSOR(audio);
    REFERENCE_TENSOR(tables);
    const int64_t n = a->fft_size, bins = n / 2 + 1, rows = c->ends[c->sequences];
    double *frames = reference_take(rows * n), *cosine = reference_take(n), *sine = reference_take(n);
    circle_fill(n, cosine, sine);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < n; i++) {
            double sum = 0;
            for (int64_t k = 0; k < bins; k++) {
                const double *x = spectrum + 2 * (row * bins + k);
                const bool alone = k == 0 || k == n / 2; /* its own mirror image */
                sum += alone ? x[0] * cosine[k * i % n] : 2 * (x[0] * cosine[k * i % n] - x[1] * sine[k * i % n]);
            }
            frames[row * n + i] = sum / (double)n;
        }
    for (int s = 0; s < c->sequences; s++)
        for (int64_t i = 0; i < c->samples[s + 1] - c->samples[s]; i++) {
            double sum = 0, squares = 0;
            for (int64_t row = c->ends[s]; row < c->ends[s + 1]; row++) {
                const int64_t j = i - (row - c->ends[s]) * a->hop + n / 2;
                if (j < 0 || j >= n) continue;
                sum += tables[j] * frames[row * n + j];
                squares += tables[j] * tables[j];
            }
            audio[c->samples[s] + i] = sum / fmax(squares, (double)a->least);
        }
    mx_free(sine);
    mx_free(cosine);
    mx_free(frames);
}

/* ---- griffin_step ---- */

REFERENCE(griffin_step)
{
    REFERENCE_ARGS(griffin_step);
    REFERENCE_TENSOR(now);
    REFERENCE_TENSOR(before);
    REFERENCE_TENSOR(magnitude);
    REFERENCE_TENSOR(y);
    for (int64_t i = 0; i < a->count; i++) {
        double u[2];
        for (int part = 0; part < 2; part++) {
            u[part] = now[2 * i + part];
            if (before) u[part] += (double)a->momentum * (u[part] - before[2 * i + part]);
        }
        const double square = u[0] * u[0] + u[1] * u[1];
        y[2 * i] = square < 0x1p-100 ? magnitude[i] : magnitude[i] * u[0] / sqrt(square);
        y[2 * i + 1] = square < 0x1p-100 ? 0 : magnitude[i] * u[1] / sqrt(square);
    }
}

/* ---- mel_base ---- */

REFERENCE(mel_base)
{
    REFERENCE_ARGS(mel_base);
    REFERENCE_TENSOR(mel);
    REFERENCE_TENSOR(tables);
    REFERENCE_TENSOR(input);
    REFERENCE_TENSOR(base);
    const int64_t n = a->fft_size, bins = n / 2 + 1, bands = a->bands;
    const float *const places = mx_op_case_data(c, "places");
    const int32_t *const low = (const int32_t *)(const void *)places, *const high = low + bins;
    double *dense = dense_make(c, tables, n, bands), *level = reference_take(bands);
    for (int64_t row = 0; row < a->rows; row++) {
        for (int64_t b = 0; b < bands; b++) {
            const double m = mel[row * bands + b] * (double)a->deviation + (double)a->mean;
            double sum = 0;
            for (int64_t k = 0; k < bins; k++) sum += dense[b * bins + k];
            if (input) input[row * bands + b] = (m + 5) / 2.5;
            level[b] = m - log(fmax(sum, 1e-37));
        }
        for (int64_t k = 0; k < bins; k++) {
            const double share = (double)places[2 * bins + k];
            base[row * bins + k] = (1 - share) * level[low[k]] + share * level[high[k]];
        }
    }
    mx_free(level);
    mx_free(dense);
}

/* ---- mel_project ---- */

REFERENCE(mel_project)
{
    REFERENCE_ARGS(mel_project);
    REFERENCE_TENSOR(spectrum);
    REFERENCE_TENSOR(y);
    REFERENCE_TENSOR(mel);
    REFERENCE_TENSOR(tables);
    REFERENCE_TENSOR(magnitude);
    const int64_t n = a->fft_size, bins = n / 2 + 1, bands = a->bands;
    const float *const places = mx_op_case_data(c, "places");
    const int32_t *const low = (const int32_t *)(const void *)places, *const high = low + bins;
    double *dense = dense_make(c, tables, n, bands), *gain = reference_take(bins), *moved = reference_take(bands);
    for (int64_t row = 0; row < a->rows; row++) {
        const double *const x = spectrum + 2 * row * bins;
        for (int64_t b = 0; b < bands; b++) moved[b] = 0;
        for (int32_t round = 0; round <= a->rounds; round++) {
            for (int64_t k = 0; k < bins; k++) {
                const double share = (double)places[2 * bins + k];
                gain[k] = exp(fmax(-80, fmin(80, (1 - share) * moved[low[k]] + share * moved[high[k]])));
            }
            if (round == a->rounds) break;
            for (int64_t b = 0; b < bands; b++) {
                double sum = 0;
                for (int64_t k = 0; k < bins; k++) sum += dense[b * bins + k] * gain[k] * hypot(x[2 * k], x[2 * k + 1]);
                const double target = mel[row * bands + b] * (double)a->deviation + (double)a->mean;
                const double lack = target - log(fmax((double)a->floor, sum));
                moved[b] += fmax(-(double)a->lower, fmin((double)a->raise, lack));
            }
        }
        for (int64_t k = 0; k < bins && magnitude != NULL; k++)
            magnitude[row * bins + k] = gain[k] * hypot(x[2 * k], x[2 * k + 1]);
        for (int64_t i = 0; i < 2 * bins; i++) y[2 * row * bins + i] = gain[i / 2] * x[i];
    }
    mx_free(moved);
    mx_free(gain);
    mx_free(dense);
}
