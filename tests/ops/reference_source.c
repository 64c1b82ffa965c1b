/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The references of the source of a voice: one cosine after the other.
 */
#include <math.h>

#include "base/alloc.h"
#include "ops/reference.h"

REFERENCE(harmonics)
{
    REFERENCE_ARGS(harmonics);
    REFERENCE_TENSOR(f0);
    REFERENCE_TENSOR(phase);
    REFERENCE_TENSOR(gate);
    REFERENCE_TENSOR(y);
    const double rate = (double)a->rate, limit = (double)a->limit_hz, fade = (double)a->fade_hz;
    for (int s = 0; s < c->sequences; s++)
        for (int64_t i = 0; i < c->samples[s + 1] - c->samples[s]; i++) {
            const int64_t f = c->ends[s] + i / a->hop, next = f + 1 < c->ends[s + 1] ? f + 1 : f;
            const double j = (double)(i % a->hop), between = j / a->hop;
            const double from = fmin(limit, fmax((double)MX_HARMONICS_LEAST_HZ, f0[f]));
            const double to = fmin(limit, fmax((double)MX_HARMONICS_LEAST_HZ, f0[next]));
            const double h = from + between * (to - from), p = phase[f] + j / rate * (from + between / 2 * (to - from));
            double sum = 0;
            for (double k = 1; k * h < limit; k++) sum += fmin(1, (limit - k * h) / fade) * cos(2 * M_PI * k * p);
            y[c->samples[s] + i] = (double)a->level * (gate[f] + between * (gate[next] - gate[f])) * sum;
        }
}

/* The mean of values[j] with |j - k| ≤ reach, 0 ≤ j < n. */
static double mean_near(const double *values, int64_t k, int64_t n, int64_t reach)
{
    double sum = 0;
    int64_t among = 0;
    for (int64_t j = k - reach; j <= k + reach; j++)
        if (j >= 0 && j < n) {
            sum += values[j];
            among++;
        }
    return sum / (double)among;
}

REFERENCE(texture)
{
    REFERENCE_ARGS(texture);
    REFERENCE_TENSOR(source);
    REFERENCE_TENSOR(noise);
    REFERENCE_TENSOR(gain);
    REFERENCE_TENSOR(level);
    REFERENCE_TENSOR(y);
    double *const power = mx_alloc((size_t)a->n, sizeof *power);
    for (int64_t row = 0; row < a->rows; row++) {
        for (int64_t k = 0; k < a->n; k++) {
            const int64_t i = 2 * (row * a->n + k);
            const double re = source[i] + gain[k] * noise[i], im = source[i + 1] + gain[k] * noise[i + 1];
            power[k] = fmax(re * re + im * im, 0x1p-100);
        }
        for (int64_t k = 0; k < a->n; k++) {
            const double ratio = sqrt(power[k] / mean_near(power, k, a->n, a->reach));
            y[row * a->n + k] = level[row * a->n + k] + (double)a->colour * log(fmax(ratio, (double)a->least));
        }
    }
    mx_free(power);
}

REFERENCE(excite)
{
    REFERENCE_ARGS(excite);
    REFERENCE_TENSOR(source);
    REFERENCE_TENSOR(noise);
    REFERENCE_TENSOR(gain);
    REFERENCE_TENSOR(level);
    REFERENCE_TENSOR(magnitude);
    REFERENCE_TENSOR(y);
    for (int64_t i = 0; i < a->rows * a->n; i++) {
        const double m = exp(fmax(-80, fmin(80, level[i])));
        const double re = source[2 * i] + gain[i % a->n] * noise[2 * i];
        const double im = source[2 * i + 1] + gain[i % a->n] * noise[2 * i + 1], square = re * re + im * im;
        magnitude[i] = m;
        y[2 * i] = square < 0x1p-100 ? m : m * re / sqrt(square);
        y[2 * i + 1] = square < 0x1p-100 ? 0 : m * im / sqrt(square);
    }
}
