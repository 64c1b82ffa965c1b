/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The references of the operations on audio: sums over all samples for each bin and each lag, no fast transform.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "ops/reference.h"

/* Sample `i` of an utterance of n samples, reflected until it is inside. */
static double reflected(const double *x, int64_t n, int64_t i)
{
    if (n == 1) return x[0];
    while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
    return x[i];
}

static void frame_fill(const double *x, int64_t n, int64_t frame, int64_t hop, int64_t size, double *out)
{
    for (int64_t i = 0; i < size; i++) out[i] = reflected(x, n, frame * hop - size / 2 + i);
}

/* |X[k]| of a windowed frame, k = 0 … n/2; cosine [n]: of 2πk/n. */
static void frame_magnitudes(const double *window, const double *frame, const double *cosine, int64_t n,
                             double *magnitude)
{
    for (int64_t k = 0; k <= n / 2; k++) {
        double re = 0, im = 0;
        for (int64_t i = 0; i < n; i++) {
            re += window[i] * frame[i] * cosine[k * i % n];
            im += window[i] * frame[i] * cosine[(k * i + n / 4) % n];
        }
        magnitude[k] = sqrt(re * re + im * im);
    }
}

/* ---- mel ---- */

REFERENCE(mel)
{
    REFERENCE_ARGS(mel);
    REFERENCE_TENSOR(audio);
    REFERENCE_TENSOR(mel);
    REFERENCE_TENSOR(energy);
    REFERENCE_TENSOR(tables);
    const int64_t n = a->fft_size, bins = n / 2 + 1;
    const int32_t *first = (const int32_t *)(const void *)((const float *)mx_op_case_data(c, "tables") + 3 * n);
    const int32_t *ends = first + a->bands;
    const double *weight = tables + 3 * n + 2 * a->bands + 1;
    double *frame = reference_take(n), *magnitude = reference_take(bins), *cosine = reference_take(n);
    for (int64_t k = 0; k < n; k++) cosine[k] = cos(2 * M_PI * (double)k / (double)n);
    for (int s = 0; s < c->sequences; s++) {
        for (int64_t row = c->ends[s]; row < c->ends[s + 1]; row++) {
            frame_fill(audio + c->samples[s], c->samples[s + 1] - c->samples[s], row - c->ends[s], a->hop, n, frame);
            frame_magnitudes(tables, frame, cosine, n, magnitude);
            double power = 0;
            for (int64_t k = 0; k < bins; k++) power += magnitude[k] * magnitude[k];
            for (int64_t band = 0; band < a->bands; band++) {
                double sum = 0;
                for (int32_t i = ends[band]; i < ends[band + 1]; i++)
                    sum += weight[i] * magnitude[first[band] + i - ends[band]];
                mel[row * a->bands + band] =
                    (log(fmax(sum, (double)a->floor)) - (double)a->mean) * (double)a->inverse_deviation;
            }
            if (energy) energy[row] = log(fmax(sqrt(power), (double)a->floor));
        }
    }
    mx_free(cosine);
    mx_free(magnitude);
    mx_free(frame);
}

/* ---- log_magnitude ---- */

REFERENCE(log_magnitude)
{
    REFERENCE_ARGS(log_magnitude);
    REFERENCE_TENSOR(audio);
    REFERENCE_TENSOR(tables);
    REFERENCE_TENSOR(y);
    const int64_t n = a->fft_size, bins = n / 2 + 1;
    const int32_t *places = mx_op_case_data(c, "places"), *out = mx_op_case_data(c, "offsets");
    const int32_t *samples = mx_op_case_data(c, "sample_offsets");
    double *frame = reference_take(n), *magnitude = reference_take(bins), *cosine = reference_take(n);
    for (int64_t k = 0; k < n; k++) cosine[k] = cos(2 * M_PI * (double)k / (double)n);
    for (int s = 0; s < a->out.count; s++) {
        const int32_t utterance = places[2 * s], from = samples[utterance];
        for (int64_t row = out[s]; row < out[s + 1]; row++) {
            frame_fill(audio + from, samples[utterance + 1] - from, places[2 * s + 1] + row - out[s], a->hop, n, frame);
            frame_magnitudes(tables, frame, cosine, n, magnitude);
            for (int64_t k = 0; k < bins; k++) y[row * bins + k] = log(magnitude[k] + (double)a->least);
        }
    }
    mx_free(cosine);
    mx_free(magnitude);
    mx_free(frame);
}

/* ---- pitch ---- */

struct candidate {
    double hz, cost; /* 0 Hz: being unvoiced */
};

#define STATES (MX_PITCH_CANDIDATES + 1)

/* The candidates of one frame, cheapest first, then being unvoiced; returns how many. */
static int frame_candidates(const struct mx_pitch_args *a, const double *x, double *d, struct candidate out[STATES])
{
    const int64_t lowest = (int64_t)floor((double)a->rate / (double)a->high_hz);
    const int64_t highest = (int64_t)ceil((double)a->rate / (double)a->low_hz);
    const int64_t window = a->fft_size - highest - 1;
    const double limit = (double)a->threshold + 2 * (double)a->change;
    double power = 0, sum = 0;
    int count = 0;
    for (int64_t i = 0; i < window; i++) power += x[i] * x[i];
    d[0] = 1;
    for (int64_t t = 1; t <= highest + 1; t++) {
        double difference = 0;
        for (int64_t i = 0; i < window; i++) difference += (x[i] - x[i + t]) * (x[i] - x[i + t]);
        sum += difference;
        d[t] = sum > 0 ? difference * (double)t / sum : 1;
    }
    const bool loud = sqrt(power / (double)window) >= (double)a->silence;
    for (int64_t t = lowest; loud && t <= highest; t++) {
        if (!(d[t] < d[t - 1] && d[t] <= d[t + 1])) continue;
        const double move = 0.5 * (d[t - 1] - d[t + 1]) / (d[t - 1] - 2 * d[t] + d[t + 1]);
        const double value = fmax(0, d[t] - 0.25 * (d[t - 1] - d[t + 1]) * move);
        const double hz = fmin((double)a->high_hz, fmax((double)a->low_hz, (double)a->rate / ((double)t + move)));
        const struct candidate found = {hz, value + (double)a->octave * log2((double)a->high_hz / hz)};
        if (found.cost > limit) continue;
        int place = count;
        while (place > 0 && found.cost < out[place - 1].cost) place--;
        if (place == MX_PITCH_CANDIDATES) continue;
        if (count < MX_PITCH_CANDIDATES) count++;
        for (int i = count - 1; i > place; i--) out[i] = out[i - 1];
        out[place] = found;
    }
    out[count++] = (struct candidate){0, (double)a->threshold};
    return count;
}

static double step_cost(const struct mx_pitch_args *a, double from, double to)
{
    if (from == 0 && to == 0) return 0;
    if (from == 0 || to == 0) return (double)a->change;
    return (double)a->jump * fabs(log2(to / from));
}

/* The cheapest path through `rows` frames, with all costs of all states remembered. */
static void cheapest_path(const struct mx_pitch_args *a, const struct candidate (*frames)[STATES], const int *counts,
                          int64_t rows, double *pitch)
{
    double(*total)[STATES] = (void *)reference_take(rows * STATES);
    for (int64_t r = 0; r < rows; r++)
        for (int to = 0; to < counts[r]; to++) {
            double best = r == 0 ? 0 : INFINITY;
            for (int from = 0; r > 0 && from < counts[r - 1]; from++)
                best = fmin(best, total[r - 1][from] + step_cost(a, frames[r - 1][from].hz, frames[r][to].hz));
            total[r][to] = best + frames[r][to].cost;
        }
    int state = 0;
    for (int64_t r = rows; r-- > 0;) {
        if (r == rows - 1) {
            for (int i = 1; i < counts[r]; i++)
                if (total[r][i] < total[r][state]) state = i;
        } else {
            const double next = frames[r + 1][state].hz;
            state = 0;
            for (int i = 1; i < counts[r]; i++)
                if (total[r][i] + step_cost(a, frames[r][i].hz, next) <
                    total[r][state] + step_cost(a, frames[r][state].hz, next))
                    state = i;
        }
        pitch[r] = frames[r][state].hz;
    }
    mx_free(total);
}

REFERENCE(pitch)
{
    REFERENCE_ARGS(pitch);
    REFERENCE_TENSOR(audio);
    REFERENCE_TENSOR(pitch);
    double *frame = reference_take(a->fft_size), *d = reference_take(a->fft_size);
    for (int s = 0; s < c->sequences; s++) {
        const int64_t rows = c->ends[s + 1] - c->ends[s], n = c->samples[s + 1] - c->samples[s];
        struct candidate(*frames)[STATES] = (void *)reference_take(rows * STATES * 2);
        int *counts = (void *)reference_take(rows);
        for (int64_t row = 0; row < rows; row++) {
            frame_fill(audio + c->samples[s], n, row, a->hop, a->fft_size, frame);
            counts[row] = frame_candidates(a, frame, d, frames[row]);
        }
        cheapest_path(a, (const struct candidate(*)[STATES])frames, counts, rows, pitch + c->ends[s]);
        mx_free(counts);
        mx_free(frames);
    }
    mx_free(d);
    mx_free(frame);
}

/* ---- augmentation ---- */

REFERENCE(noise)
{
    REFERENCE_ARGS(noise);
    REFERENCE_TENSOR(x);
    REFERENCE_TENSOR(y);
    REFERENCE_TENSOR(levels);
    REFERENCE_TENSOR(streams);
    REFERENCE_TENSOR(offsets);
    for (int s = 0; s < a->samples.count; s++) {
        const int64_t first = (int64_t)offsets[s], last = (int64_t)offsets[s + 1];
        const uint64_t stream =
            (uint64_t)(uint32_t)(int32_t)streams[2 * s + 1] << 32 | (uint32_t)(int32_t)streams[2 * s];
        double sum = 0;
        for (int64_t i = first; i < last; i++) sum += x[i] * x[i];
        const double level = last > first ? levels[2 * s + 1] * sqrt(sum / (double)(last - first)) : 0;
        for (int64_t i = first; i < last; i++) {
            const double u = ((double)(mx_rng_u32(a->seed, stream, (uint64_t)(i - first)) >> 8) + 0.5) / 0x1p24;
            y[i] = levels[2 * s] * (x[i] + level * sqrt(3) * (2 * u - 1));
        }
    }
}

/* Element i of n, `stride` apart, as the mean of those around it. */
static double blurred(const double *x, int64_t i, int64_t n, int64_t stride, double deviation)
{
    const int64_t reach = (int64_t)fmin(ceil(4 * deviation), MX_BLUR_REACH);
    double sum = 0, total = 0;
    if (!(deviation > 0)) return x[i * stride];
    for (int64_t k = i - reach; k <= i + reach; k++) {
        if (k < 0 || k >= n) continue;
        const double w = exp(-(double)((k - i) * (k - i)) / (2 * deviation * deviation));
        sum += w * x[k * stride];
        total += w;
    }
    return sum / total;
}

REFERENCE(mel_blur)
{
    REFERENCE_ARGS(mel_blur);
    REFERENCE_TENSOR(x);
    REFERENCE_TENSOR(y);
    REFERENCE_TENSOR(levels);
    REFERENCE_TENSOR(streams);
    const int64_t n = a->n;
    double *row = reference_take(n);
    for (int s = 0; s < c->sequences; s++) {
        const int64_t first = c->ends[s], rows = c->ends[s + 1] - first;
        const uint64_t stream =
            (uint64_t)(uint32_t)(int32_t)streams[2 * s + 1] << 32 | (uint32_t)(int32_t)streams[2 * s];
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t i = 0; i < n; i++) row[i] = blurred(x + first * n + i, r, rows, n, levels[3 * s]);
            for (int64_t i = 0; i < n; i++) {
                const uint32_t word = mx_rng_u32(a->seed, stream, (uint64_t)(r * n + i));
                const double u = ((double)(word >> 8) + 0.5) / 0x1p24, noise = sqrt(3) * (2 * u - 1);
                y[(first + r) * n + i] = blurred(row, i, n, 1, levels[3 * s + 1]) + levels[3 * s + 2] * noise;
            }
        }
    }
    mx_free(row);
}

REFERENCE(mask)
{
    REFERENCE_ARGS(mask);
    REFERENCE_TENSOR(x);
    REFERENCE_TENSOR(spans);
    for (int s = 0; s < c->sequences; s++)
        for (int64_t k = 0; k < a->count; k++) {
            const double *span = spans + 4 * (s * a->count + k);
            for (int64_t row = 0; row < c->ends[s + 1] - c->ends[s]; row++)
                for (int64_t i = 0; i < a->n; i++) {
                    const bool inside = (double)row >= span[0] && (double)row < span[0] + span[1] &&
                                        (double)i >= span[2] && (double)i < span[2] + span[3];
                    if (inside) x[(c->ends[s] + row) * a->n + i] = (double)a->value;
                }
        }
}
