/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * mel and pitch for OpenCL devices of CPU type. One lane in a group.
 *
 * mel: MX_VECTOR neighbouring frames of the batch at a time, one in each element of a vector, so that a transform is
 * plain vector arithmetic and no frame knows of another. Rows become vectors and back by turning squares. Each group
 * has its own room in the scratch and takes every so many-th block of frames.
 *
 * pitch: the difference function straight from its definition, with neighbouring lags in a vector.
 */
#if defined(MX_CPU)

/* ln x for x from 2^-126 on: x = 2^e m with √½ ≤ m < √2, ln m by a polynomial in m - 1. */
MX_INLINE mx_v mx_log_v(mx_v x)
{
    const mx_vi e = (MX_AS_VI(x) - 0x3f3504f3) >> 23;
    const mx_v n = MX_TO_V(e), f = MX_AS_V(MX_AS_VI(x) - (e << 23)) - 1.0f;
    mx_v p = f * -0x1.38b58p-4f + 0x1.055b6ap-3f;
    p = p * f - 0x1.0d8542p-3f;
    p = p * f + 0x1.22da1cp-3f;
    p = p * f - 0x1.547244p-3f;
    p = p * f + 0x1.99a008p-3f;
    p = p * f - 0x1.000226p-2f;
    p = p * f + 0x1.555554p-2f;
    p = (p * f - 0.5f) * (f * f) + n * 0x1.0bfbe8p-15f;
    return select(x, (f + p) + n * 0x1.62ep-1f, x < INFINITY);
}

/* √x for x ≥ 0 within 1e-6, 0 below 2^-100: three steps of Newton from an estimate of the bits, which a CPU does faster
 * than its own root of a whole vector. */
MX_INLINE mx_v mx_root_v(mx_v x)
{
    const mx_v half_x = 0.5f * x;
    mx_v y = MX_AS_V(0x5f375a86 - (MX_AS_VI(x) >> 1));
    y = y * (1.5f - half_x * y * y);
    y = y * (1.5f - half_x * y * y);
    y = y * (1.5f - half_x * y * y);
    return select(x * y, (mx_v)0.0f, x < 0x1p-100f);
}

/* ---- transforms: element i of z is the vectors 2i (real) and 2i + 1. In place, by decimation in frequency with radix 8
 * and one pass of 4 or 2 at the end where 8 does not divide; element k is left at mx_fft_place(n, k). ---- */

MX_INLINE int mx_fft_place(int n, int k)
{
    int place = 0, span = n;
    for (; span >= 8; k >>= 3) {
        span >>= 3;
        place += (k & 7) * span;
    }
    return place + k;
}

/* r, i: v[q] = Σ_m v[m] e^(-2πjmq/4), of elements at, at + step, … */
MX_INLINE void mx_fft_fours(mx_v *r, mx_v *i, int at, int step)
{
    const mx_v ar = r[at] + r[at + 2 * step], ai = i[at] + i[at + 2 * step];
    const mx_v br = r[at + step] + r[at + 3 * step], bi = i[at + step] + i[at + 3 * step];
    const mx_v cr = r[at] - r[at + 2 * step], ci = i[at] - i[at + 2 * step];
    const mx_v dr = i[at + step] - i[at + 3 * step], di = r[at + 3 * step] - r[at + step]; /* -j times the difference */
    r[at] = ar + br;
    i[at] = ai + bi;
    r[at + step] = cr + dr;
    i[at + step] = ci + di;
    r[at + 2 * step] = ar - br;
    i[at + 2 * step] = ai - bi;
    r[at + 3 * step] = cr - dr;
    i[at + 3 * step] = ci - di;
}

/* One pass over a block of `span` elements, which becomes eight of span/8. */
MX_INLINE void mx_fft_eight(MX_GLOBAL float *z, int span, MX_GLOBAL const float *circle, int points)
{
    const int part = span / 8, step = points / span;
    const float root = 0x1.6a09e6p-1f; /* √½ */
    for (int j = 0; j < part; j++) {
        mx_v r[8], i[8];
#pragma unroll
        for (int m = 0; m < 8; m++) {
            r[m] = MX_LOAD(z + 2 * (j + m * part) * MX_VECTOR);
            i[m] = MX_LOAD(z + (2 * (j + m * part) + 1) * MX_VECTOR);
        }
#pragma unroll
        for (int m = 0; m < 4; m++) {
            const mx_v dr = r[m] - r[m + 4], di = i[m] - i[m + 4];
            r[m] += r[m + 4];
            i[m] += i[m + 4];
            r[m + 4] = dr;
            i[m + 4] = di;
        }
        const mx_v r5 = root * (r[5] + i[5]), i5 = root * (i[5] - r[5]);
        const mx_v r6 = i[6], i6 = -r[6], r7 = root * (i[7] - r[7]), i7 = -root * (r[7] + i[7]);
        r[5] = r5;
        i[5] = i5;
        r[6] = r6;
        i[6] = i6;
        r[7] = r7;
        i[7] = i7;
        mx_fft_fours(r, i, 0, 1); /* the even outputs */
        mx_fft_fours(r, i, 4, 1); /* the odd ones */
#pragma unroll
        for (int m = 0; m < 8; m++) {
            const int from = m / 2 + m % 2 * 4;
            const float c = circle[2 * j * m * step], s = circle[2 * j * m * step + 1];
            MX_STORE(r[from] * c + i[from] * s, z + 2 * (j + m * part) * MX_VECTOR);
            MX_STORE(i[from] * c - r[from] * s, z + (2 * (j + m * part) + 1) * MX_VECTOR);
        }
    }
}

MX_INLINE void mx_fft_v(MX_GLOBAL float *z, int n, MX_GLOBAL const float *circle, int points)
{
    int span = n;
    for (; span >= 8; span /= 8)
        for (int base = 0; base < n; base += span) mx_fft_eight(z + 2 * base * MX_VECTOR, span, circle, points);
    for (int base = 0; span > 1 && base < n; base += span) {
        MX_GLOBAL float *const at = z + 2 * base * MX_VECTOR;
        mx_v r[4], i[4];
        for (int m = 0; m < span; m++) {
            r[m] = MX_LOAD(at + 2 * m * MX_VECTOR);
            i[m] = MX_LOAD(at + (2 * m + 1) * MX_VECTOR);
        }
        if (span == 4) {
            mx_fft_fours(r, i, 0, 1);
        } else {
            const mx_v dr = r[0] - r[1], di = i[0] - i[1];
            r[0] += r[1];
            i[0] += i[1];
            r[1] = dr;
            i[1] = di;
        }
        for (int m = 0; m < span; m++) {
            MX_STORE(r[m], at + 2 * m * MX_VECTOR);
            MX_STORE(i[m], at + (2 * m + 1) * MX_VECTOR);
        }
    }
}

/* ---- mel ---- */

/* Where the samples of frame `row` are: in the audio, or reflected, at `stage`. *s: the utterance of a frame before it.
 */
MX_INLINE MX_GLOBAL const float *mx_frame_samples(MX_GLOBAL const float *audio, MX_GLOBAL const int *sample_ends,
                                                  MX_GLOBAL const int *frame_ends, int size, int hop, mx_long row,
                                                  int *s, MX_GLOBAL float *stage)
{
    while (frame_ends[*s + 1] <= row) (*s)++;
    MX_GLOBAL const float *const x = audio + sample_ends[*s];
    const int n = sample_ends[*s + 1] - sample_ends[*s];
    const mx_long begin = (row - frame_ends[*s]) * hop - size / 2;
    if (begin >= 0 && begin + size <= n) return x + begin;
    for (int i = 0; i < size; i++) stage[i] = x[mx_reflect(begin + i, n)];
    return stage;
}

MX_FULL_WIDTH MX_KERNEL(1)
mx_mel_frames(MX_ARG(const float, audio), MX_ARG(const int, sample_ends), MX_ARG(const int, frame_ends),
              MX_ARG(const float, tables), MX_ARG(float, mel), MX_ARG(float, energy), MX_ARG(const int, status),
              MX_ARG(float, work), int count, int rows, int groups, int size, int hop, int bands, float least,
              float mean, float inverse_deviation)
{
    MX_USE(const float, audio);
    MX_USE(const int, sample_ends);
    MX_USE(const int, frame_ends);
    MX_USE(const float, tables);
    MX_USE(float, mel);
    MX_USE(float, energy);
    MX_USE(const int, status);
    MX_USE(float, work);
    if (status[0] != 0) return;
    const int points = size / 2, padded = (bands + MX_VECTOR - 1) / MX_VECTOR * MX_VECTOR;
    MX_GLOBAL float *const z = work + MX_INDEX * (3 * size + padded) * MX_VECTOR;
    MX_GLOBAL float *const magnitude = z + size * MX_VECTOR, *const out = magnitude + size * MX_VECTOR;
    MX_GLOBAL float *const stage = out + padded * MX_VECTOR; /* [MX_VECTOR, size] */
    int place[MX_POINTS];
    MX_GLOBAL const float *const circle = tables + size, *const weight = tables + 3 * size + 2 * bands + 1;
    MX_GLOBAL const int *const first = (MX_GLOBAL const int *)(tables + 3 * size), *const ends = first + bands;
    int used = 0;
    for (int k = 0; k < points; k++) place[k] = 2 * mx_fft_place(points, k) * MX_VECTOR;
    for (int b = 0; b < bands; b++) used = max(used, first[b] + ends[b + 1] - ends[b]);
    for (mx_long row = MX_INDEX * MX_VECTOR; row < rows; row += (mx_long)groups * MX_VECTOR) {
        MX_GLOBAL const float *source[MX_VECTOR];
        const int lanes = (int)(rows - row < MX_VECTOR ? rows - row : MX_VECTOR);
        int s = mx_segment_of(frame_ends, count, row);
        for (int lane = 0; lane < MX_VECTOR; lane++)
            source[lane] = lane < lanes ? mx_frame_samples(audio, sample_ends, frame_ends, size, hop, row + lane, &s,
                                                           stage + lane * size)
                                        : source[lanes - 1];
        for (int i = 0; i < size; i += MX_VECTOR) {
            mx_v square[MX_VECTOR];
#pragma unroll
            for (int lane = 0; lane < MX_VECTOR; lane++) square[lane] = MX_LOAD(source[lane] + i);
            mx_turn(square);
#pragma unroll
            for (int j = 0; j < MX_VECTOR; j++) MX_STORE(square[j] * tables[i + j], z + (i + j) * MX_VECTOR);
        }
        mx_fft_v(z, points, circle, size);
        const mx_v zero = MX_LOAD(z), other = MX_LOAD(z + MX_VECTOR);
        mx_v power = (zero + other) * (zero + other) + (zero - other) * (zero - other);
        MX_STORE(fabs(zero + other), magnitude);
        MX_STORE(fabs(zero - other), magnitude + points * MX_VECTOR);
        for (int k = 1; k <= points / 2; k++) { /* as mx_bin_pair of kernels/frames.cl */
            MX_GLOBAL const float *const one = z + place[k], *const two = z + place[points - k];
            const mx_v ar = MX_LOAD(one), ai = MX_LOAD(one + MX_VECTOR);
            const mx_v br = MX_LOAD(two), bi = -MX_LOAD(two + MX_VECTOR);
            const float c = circle[2 * k], d = circle[2 * k + 1];
            const mx_v er = ai - bi, ei = br - ar, odd_r = er * c + ei * d, odd_i = ei * c - er * d;
            const mx_v xr = (ar + br) + odd_r, xi = (ai + bi) + odd_i, yr = (ar + br) - odd_r, yi = (ai + bi) - odd_i;
            const mx_v low = 0.25f * (xr * xr + xi * xi), high = 0.25f * (yr * yr + yi * yi);
            power += low;
            if (k < used) MX_STORE(mx_root_v(low), magnitude + k * MX_VECTOR);
            if (k == points - k) break;
            power += high;
            if (points - k < used) MX_STORE(mx_root_v(high), magnitude + (points - k) * MX_VECTOR);
        }
        for (int b = 0; b < bands; b++) {
            MX_GLOBAL const float *const bin = magnitude + first[b] * MX_VECTOR, *const w = weight + ends[b];
            const int width = ends[b + 1] - ends[b];
            mx_v sum = 0.0f, second = 0.0f;
            int i = 0;
            for (; i + 2 <= width; i += 2) {
                sum += w[i] * MX_LOAD(bin + i * MX_VECTOR);
                second += w[i + 1] * MX_LOAD(bin + (i + 1) * MX_VECTOR);
            }
            if (i < width) sum += w[i] * MX_LOAD(bin + i * MX_VECTOR);
            sum += second;
            sum = select((mx_v)least, sum, sum > least || sum != sum);
            MX_STORE((mx_log_v(sum) - mean) * inverse_deviation, out + b * MX_VECTOR);
        }
        for (int b = 0; b < bands; b += MX_VECTOR) {
            mx_v square[MX_VECTOR];
#pragma unroll
            for (int i = 0; i < MX_VECTOR; i++) square[i] = MX_LOAD(out + (b + i) * MX_VECTOR);
            mx_turn(square);
#pragma unroll
            for (int lane = 0; lane < MX_VECTOR; lane++) {
                MX_GLOBAL float *const to = mel + (row + lane) * bands + b;
                if (lane < lanes && b + MX_VECTOR <= bands) {
                    MX_STORE(square[lane], to);
                } else if (lane < lanes) {
                    float one[MX_VECTOR];
                    MX_STORE(square[lane], one);
                    for (int i = 0; b + i < bands; i++) to[i] = one[i];
                }
            }
        }
        if (energy) {
            float one[MX_VECTOR];
            const mx_v root = sqrt(power);
            MX_STORE(mx_log_v(select((mx_v)least, root, root > least || root != root)), one);
            for (int lane = 0; lane < lanes; lane++) energy[row + lane] = one[lane];
        }
    }
}

/* ---- pitch: the difference function of one frame; difference[t] for t = 0 … lag_max + 1 ---- */
#define MX_LAGS (4 * MX_VECTOR) /* at once */

MX_FULL_WIDTH MX_KERNEL(1)
mx_pitch_frames(MX_ARG(const float, audio), MX_ARG(const int, sample_ends), MX_ARG(const int, frame_ends),
                MX_ARG(float, work), MX_ARG(const int, status), int count, int size, int hop, int lag_min, int lag_max,
                float rate, float low_hz, float high_hz, float quiet, float limit, float octave, int rows, mx_long each)
{
    MX_USE(const float, audio);
    MX_USE(const int, sample_ends);
    MX_USE(const int, frame_ends);
    MX_USE(float, work);
    MX_USE(const int, status);
    if (status[0] != 0) return;
    float x[MX_FRAME + MX_LAGS], difference[MX_FRAME + MX_LAGS];
    const int window = size - lag_max - 1;
    const mx_long begin = MX_INDEX * each, end = begin + each < rows ? begin + each : rows;
    int s = mx_segment_of(frame_ends, count, begin);
    for (int i = size; i < size + MX_LAGS; i++) x[i] = 0.0f;
    for (mx_long row = begin; row < end; row++) {
        while (frame_ends[s + 1] <= row) s++;
        const int n = sample_ends[s + 1] - sample_ends[s];
        const mx_long at = (row - frame_ends[s]) * hop - size / 2;
        MX_GLOBAL const float *const from = audio + sample_ends[s];
        if (at >= 0 && at + size <= n)
            for (int i = 0; i < size; i++) x[i] = from[at + i];
        else
            for (int i = 0; i < size; i++) x[i] = from[mx_reflect(at + i, n)];
        float power = 0.0f;
        for (int i = 0; i < window; i++) power += x[i] * x[i];
        for (int t = 0; t < lag_max + 2; t += MX_LAGS) {
            mx_v a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
            for (int i = 0; i < window; i++) {
                const float *const lag = x + i + t;
                const mx_v one = (mx_v)x[i], e = one - MX_LOAD(lag), f = one - MX_LOAD(lag + MX_VECTOR);
                const mx_v g = one - MX_LOAD(lag + 2 * MX_VECTOR), h = one - MX_LOAD(lag + 3 * MX_VECTOR);
                a += e * e;
                b += f * f;
                c += g * g;
                d += h * h;
            }
            MX_STORE(a, difference + t);
            MX_STORE(b, difference + t + MX_VECTOR);
            MX_STORE(c, difference + t + 2 * MX_VECTOR);
            MX_STORE(d, difference + t + 3 * MX_VECTOR);
        }
        mx_pitch_choose(difference, power >= quiet, work + row * MX_PITCH_WORK, lag_min, lag_max, rate, low_hz, high_hz,
                        limit, octave);
    }
}
#endif
