/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * mel for OpenCL devices of CPU type, and transforms. One lane in a group.
 *
 * MX_VECTOR neighbouring frames of the batch at a time, one in each element of a vector, so that a transform is plain
 * vector arithmetic and no frame knows of another. Each group has its own room in the scratch and takes a share of the
 * blocks of frames, one after the other; there are so few groups that their rooms stay in the cores' own caches.
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

/* ½√x for x ≥ 0 within 1e-6 of it, and about 0 below 2^-100: an estimate of 1/√x and a step of Newton from 14 bits where
 * the CPU has an instruction, or of third order from what the bits and a first step give. Either takes less time than the
 * CPU's root of a whole vector. */
MX_INLINE mx_v mx_half_root_v(mx_v x)
{
    const mx_v half_x = 0.5f * x;
#if MX_VECTOR == 16 && defined(__AVX512F__)
    const mx_v y = __builtin_ia32_rsqrt14ps512_mask(max(x, 0x1p-126f), (mx_v)0.0f, (short)-1);
    const mx_v near = half_x * y;
    return near + near * (0.5f - near * y);
#else
    const mx_v first = MX_AS_V(0x5f375a86 - (MX_AS_VI(x) >> 1)), y = first * (1.5f - half_x * first * first);
    const mx_v near = half_x * y, left = 0.5f - near * y;
    return near + near * (left * (1.5f * left + 1.0f));
#endif
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

/* A complex element of every lane. */
typedef struct {
    mx_v r, i;
} mx_vc;

MX_INLINE mx_vc mx_vc_load(MX_GLOBAL const float *z)
{
    mx_vc v;
    v.r = mx_load(z);
    v.i = mx_load(z + MX_VECTOR);
    return v;
}

MX_INLINE void mx_vc_store(mx_vc v, MX_GLOBAL float *z)
{
    mx_store(v.r, z);
    mx_store(v.i, z + MX_VECTOR);
}

/* v (cos - j sin) */
MX_INLINE mx_vc mx_vc_turn(mx_vc v, MX_GLOBAL const float *cos_sin)
{
    const float c = cos_sin[0], s = cos_sin[1];
    mx_vc t;
    t.r = v.r * c + v.i * s;
    t.i = v.i * c - v.r * s;
    return t;
}

/* a, b, c, d become Σ_m v[m] e^(-2πjmq/4) for q = 0, 1, 2, 3. */
#define MX_FOUR(a, b, c, d)                                                                                            \
    {                                                                                                                  \
        const mx_v sr = a.r + c.r, si = a.i + c.i, tr = b.r + d.r, ti = b.i + d.i;                                     \
        const mx_v dr = a.r - c.r, di = a.i - c.i, er = b.i - d.i, ei = d.r - b.r; /* e: -j times the difference */    \
        a.r = sr + tr;                                                                                                 \
        a.i = si + ti;                                                                                                 \
        b.r = dr + er;                                                                                                 \
        b.i = di + ei;                                                                                                 \
        c.r = sr - tr;                                                                                                 \
        c.i = si - ti;                                                                                                 \
        d.r = dr - er;                                                                                                 \
        d.i = di - ei;                                                                                                 \
    }

/* a + b and a - b in their places. */
#define MX_TWO(a, b)                                                                                                   \
    {                                                                                                                  \
        const mx_v dr = a.r - b.r, di = a.i - b.i;                                                                     \
        a.r += b.r;                                                                                                    \
        a.i += b.i;                                                                                                    \
        b.r = dr;                                                                                                      \
        b.i = di;                                                                                                      \
    }

/* Σ_m v[m] e^(-2πjmq/8) at z[0], z[step], … (in floats), each but the first turned by the q-th of the angles at `circle`
 * (each `turn` floats on), unless `turn` is 0. Never a call, which would pass v through memory. */
MX_INLINE __attribute__((always_inline)) void mx_fft_eight(const mx_vc v[8], MX_GLOBAL float *z, mx_long step, MX_GLOBAL const float *circle,
                            mx_long turn)
{
    const float root = 0x1.6a09e6p-1f; /* √½ */
    mx_vc a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];
    MX_TWO(a, e);
    MX_TWO(b, f);
    MX_TWO(c, g);
    MX_TWO(d, h);
    const mx_v fr = root * (f.r + f.i), gr = g.i, hr = root * (h.i - h.r);
    f.i = root * (f.i - f.r);
    g.i = -g.r;
    h.i = -root * (h.r + h.i);
    f.r = fr;
    g.r = gr;
    h.r = hr;
    MX_FOUR(a, b, c, d); /* the even outputs */
    MX_FOUR(e, f, g, h); /* the odd ones */
    mx_vc_store(a, z);
    if (turn != 0) {
        e = mx_vc_turn(e, circle + turn);
        b = mx_vc_turn(b, circle + 2 * turn);
        f = mx_vc_turn(f, circle + 3 * turn);
        c = mx_vc_turn(c, circle + 4 * turn);
        g = mx_vc_turn(g, circle + 5 * turn);
        d = mx_vc_turn(d, circle + 6 * turn);
        h = mx_vc_turn(h, circle + 7 * turn);
    }
    mx_vc_store(e, z + step);
    mx_vc_store(b, z + 2 * step);
    mx_vc_store(f, z + 3 * step);
    mx_vc_store(c, z + 4 * step);
    mx_vc_store(g, z + 5 * step);
    mx_vc_store(d, z + 6 * step);
    mx_vc_store(h, z + 7 * step);
}

/* One pass over a block of `span` elements, which becomes eight of span/8. */
MX_INLINE void mx_fft_pass(MX_GLOBAL float *z, int span, MX_GLOBAL const float *circle, int points)
{
    const mx_long part = span / 8, step = 2 * part * MX_VECTOR, turn = 2 * (points / span);
    for (mx_long j = 0; j < part; j++) {
        MX_GLOBAL float *const at = z + 2 * j * MX_VECTOR;
        mx_vc v[8];
#pragma unroll
        for (int m = 0; m < 8; m++) v[m] = mx_vc_load(at + m * step);
        mx_fft_eight(v, at, step, circle, j * turn);
    }
}

/* The last pass of blocks of 2 or 4 elements, n of them in all. */
MX_INLINE void mx_fft_last(MX_GLOBAL float *z, int n, int span)
{
    for (int base = 0; base < n; base += span) {
        MX_GLOBAL float *const at = z + 2 * base * MX_VECTOR;
        mx_vc a = mx_vc_load(at), b = mx_vc_load(at + 2 * MX_VECTOR);
        if (span == 4) {
            mx_vc c = mx_vc_load(at + 4 * MX_VECTOR), d = mx_vc_load(at + 6 * MX_VECTOR);
            MX_FOUR(a, b, c, d);
            mx_vc_store(c, at + 4 * MX_VECTOR);
            mx_vc_store(d, at + 6 * MX_VECTOR);
        } else {
            MX_TWO(a, b);
        }
        mx_vc_store(a, at);
        mx_vc_store(b, at + 2 * MX_VECTOR);
    }
}

/* What is left of the transform of a block after the first pass, which made eight blocks of n: the elements q, q + 8, …
 * of the result are block q, element q + 8 k at mx_fft_place(n, k) in it. All passes find the block in the first cache. */
MX_INLINE void mx_fft_block(MX_GLOBAL float *z, int n, MX_GLOBAL const float *circle, int points)
{
    int span = n;
    for (; span >= 8; span /= 8)
        for (int part = 0; part < n; part += span) mx_fft_pass(z + 2 * part * MX_VECTOR, span, circle, points);
    if (span > 1) mx_fft_last(z, n, span);
}

/* Z[k] = Σ_i z[i] e^(-2πjki/n), left at mx_fft_place(n, k), after the first pass. */
MX_INLINE void mx_fft_finish(MX_GLOBAL float *z, int n, MX_GLOBAL const float *circle, int points)
{
    const int block = n / 8;
    for (int base = 0; base < n; base += block) mx_fft_block(z + 2 * base * MX_VECTOR, block, circle, points);
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
    const int head = (int)clamp(-begin, 0L, (mx_long)size), tail = (int)clamp(n - begin, 0L, (mx_long)size);
    for (int i = 0; i < head; i++) stage[i] = x[mx_reflect(begin + i, n)];
    for (int i = head; i < tail; i++) stage[i] = x[begin + i];
    for (int i = tail; i < size; i++) stage[i] = x[mx_reflect(begin + i, n)];
    return stage;
}

/* The same for frames row … row + lanes - 1; lanes beyond them repeat the last. Returns whether all lanes are neighbours
 * in the audio of one utterance. */
MX_INLINE bool mx_frames_find(MX_GLOBAL const float *audio, MX_GLOBAL const int *sample_ends,
                              MX_GLOBAL const int *frame_ends, int count, int size, int hop, mx_long row, int lanes,
                              MX_GLOBAL float *stage, MX_GLOBAL const float *source[MX_VECTOR])
{
    const int first = mx_segment_of(frame_ends, count, row);
    int s = first;
    for (int lane = 0; lane < MX_VECTOR; lane++)
        source[lane] = lane < lanes ? mx_frame_samples(audio, sample_ends, frame_ends, size, hop, row + lane, &s,
                                                       stage + lane * size)
                                    : source[lanes - 1];
    return s == first && lanes == MX_VECTOR && source[0] != stage && source[MX_VECTOR - 1] != stage + (MX_VECTOR - 1) * size;
}

typedef float4 mx_four_anywhere __attribute__((aligned(4)));
#define MX_FOUR_OF(lane) (*(MX_GLOBAL const mx_four_anywhere *)(source[lane] + at))
#if MX_VECTOR == 16
#define MX_FOURS(i)          (mx_v)(MX_FOUR_OF(i), MX_FOUR_OF((i) + 4), MX_FOUR_OF((i) + 8), MX_FOUR_OF((i) + 12))
#define MX_LOW_TWO(a, b)     MX_MIX(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define MX_HIGH_TWO(a, b)    MX_MIX(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define MX_LOW_PAIRS(a, b)   MX_MIX(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define MX_HIGH_PAIRS(a, b)  MX_MIX(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
#else
#define MX_FOURS(i)          (mx_v)(MX_FOUR_OF(i), MX_FOUR_OF((i) + 4))
#define MX_LOW_TWO(a, b)     MX_MIX(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define MX_HIGH_TWO(a, b)    MX_MIX(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define MX_LOW_PAIRS(a, b)   MX_MIX(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define MX_HIGH_PAIRS(a, b)  MX_MIX(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#endif

/* Samples at … at + 3 of all lanes, as four vectors. Loads put quarters of vectors together, which costs no shuffle;
 * squares of 4 within the quarters do the rest. */
typedef struct {
    mx_v a, b, c, d;
} mx_columns;

MX_INLINE mx_columns mx_frame_columns(MX_GLOBAL const float *const source[MX_VECTOR], int at)
{
    const mx_v a = MX_FOURS(0), b = MX_FOURS(1), c = MX_FOURS(2), d = MX_FOURS(3);
    const mx_v ab = MX_LOW_TWO(a, b), cd = MX_LOW_TWO(c, d), ef = MX_HIGH_TWO(a, b), gh = MX_HIGH_TWO(c, d);
    mx_columns x;
    x.a = MX_LOW_PAIRS(ab, cd);
    x.b = MX_HIGH_PAIRS(ab, cd);
    x.c = MX_LOW_PAIRS(ef, gh);
    x.d = MX_HIGH_PAIRS(ef, gh);
    return x;
}

/* t [hop, MX_ROW] = the samples at `at` of neighbouring hops, where lanes are neighbouring frames of one utterance and a
 * frame is four hops or two: then a sample of all lanes is a vector somewhere in such a row, and each sample was
 * turned once, not for every frame that has it. */
#define MX_ROW (MX_VECTOR + 4)
MX_INLINE void mx_hops_turn(MX_GLOBAL const float *const source[MX_VECTOR], int hop, int shifts, MX_GLOBAL float *t)
{
    MX_GLOBAL const float *const more[3] = {source[MX_VECTOR - 1] + min(1, shifts - 1) * hop,
                                            source[MX_VECTOR - 1] + min(2, shifts - 1) * hop,
                                            source[MX_VECTOR - 1] + min(3, shifts - 1) * hop};
    for (int at = 0; at < hop; at += 4) {
        const mx_columns x = mx_frame_columns(source, at);
        const float4 e = *(MX_GLOBAL const mx_four_anywhere *)(more[0] + at);
        const float4 f = *(MX_GLOBAL const mx_four_anywhere *)(more[1] + at);
        const float4 g = *(MX_GLOBAL const mx_four_anywhere *)(more[2] + at);
        MX_GLOBAL float *const to = t + at * MX_ROW;
        mx_store(x.a, to);
        mx_store(x.b, to + MX_ROW);
        mx_store(x.c, to + 2 * MX_ROW);
        mx_store(x.d, to + 3 * MX_ROW);
        *(MX_GLOBAL mx_four_anywhere *)(to + MX_VECTOR) = (float4)(e.x, f.x, g.x, 0.0f);
        *(MX_GLOBAL mx_four_anywhere *)(to + MX_ROW + MX_VECTOR) = (float4)(e.y, f.y, g.y, 0.0f);
        *(MX_GLOBAL mx_four_anywhere *)(to + 2 * MX_ROW + MX_VECTOR) = (float4)(e.z, f.z, g.z, 0.0f);
        *(MX_GLOBAL mx_four_anywhere *)(to + 3 * MX_ROW + MX_VECTOR) = (float4)(e.w, f.w, g.w, 0.0f);
    }
}

/* z = the first pass of the transform of all lanes' samples, windowed; even samples are real, odd ones imaginary parts.
 * t: room for hop rows. */
MX_INLINE void mx_frames_begin(MX_GLOBAL const float *const source[MX_VECTOR], bool neighbours,
                               MX_GLOBAL const float *window, MX_GLOBAL const float *circle, int size, int hop,
                               MX_GLOBAL float *t, MX_GLOBAL float *z)
{
    const int part = size / 16, shifts = size / hop; /* part: of size/2 points */
    const mx_long step = 2 * part * MX_VECTOR;
    if (!neighbours || hop * shifts != size || (shifts != 4 && shifts != 2)) {
        for (int i = 0; i < size; i += 4) {
            const mx_columns x = mx_frame_columns(source, i);
            mx_store(x.a * window[i], z + i * MX_VECTOR);
            mx_store(x.b * window[i + 1], z + (i + 1) * MX_VECTOR);
            mx_store(x.c * window[i + 2], z + (i + 2) * MX_VECTOR);
            mx_store(x.d * window[i + 3], z + (i + 3) * MX_VECTOR);
        }
        mx_fft_pass(z, size / 2, circle, size);
        return;
    }
    MX_GLOBAL const float *rows[8];
    mx_hops_turn(source, hop, shifts, t);
    for (int m = 0; m < 8; m++) rows[m] = t + m * size / 8 % hop * MX_ROW + m * shifts / 8;
    for (mx_long j = 0; j < part; j++) {
        mx_vc v[8];
#pragma unroll
        for (int m = 0; m < 8; m++) {
            MX_GLOBAL const float *const w = window + 2 * (j + m * part);
            v[m].r = mx_load(rows[m] + 2 * j * MX_ROW) * w[0];
            v[m].i = mx_load(rows[m] + (2 * j + 1) * MX_ROW) * w[1];
        }
        mx_fft_eight(v, z + 2 * j * MX_VECTOR, step, circle, 4 * j);
    }
}

/* Magnitudes of bins k and points - k, as mx_bin_pair of kernels/frames.cl, from Z of them at `one` and `two`; `used` is
 * after the last one needed. Returns four times the power of both. */
MX_INLINE mx_v mx_bins_store(MX_GLOBAL const float *one, MX_GLOBAL const float *two, MX_GLOBAL const float *circle, int k,
                             int points, int used, MX_GLOBAL float *magnitude)
{
    const mx_vc a = mx_vc_load(one), b = mx_vc_load(two);
    const float c = circle[2 * k], d = circle[2 * k + 1];
    const mx_v er = a.i + b.i, ei = b.r - a.r, odd_r = er * c + ei * d, odd_i = ei * c - er * d;
    const mx_v even_r = a.r + b.r, even_i = a.i - b.i;
    const mx_v xr = even_r + odd_r, xi = even_i + odd_i, yr = even_r - odd_r, yi = even_i - odd_i;
    const mx_v low = xr * xr + xi * xi, high = yr * yr + yi * yi;
    if (k < used) mx_store(mx_half_root_v(low), magnitude + k * MX_VECTOR);
    if (points - k < used) mx_store(mx_half_root_v(high), magnitude + (points - k) * MX_VECTOR);
    return low + high;
}

/* Finishes the transform z of `points` elements after its first pass. magnitude [points + 1]: of the bins before `used`.
 * Returns four times the power of all bins. Bins k and points - k, which are made of the same elements, lie in blocks q
 * and 8 - q of the eight: these are finished together and read while they are in the first cache. Meanwhile what lies at
 * `soon` is fetched, a line for each pair. */
MX_INLINE mx_v mx_spectrum_finish(MX_GLOBAL float *z, int points, MX_GLOBAL const float *circle, const int *place,
                                  int used, MX_GLOBAL float *magnitude, MX_GLOBAL const float *soon)
{
    const int block = points / 8;
    const mx_long step = 2 * block * MX_VECTOR;
    mx_fft_block(z, block, circle, 2 * points);
    const mx_v zero = mx_load(z), other = mx_load(z + MX_VECTOR);
    const mx_v first = zero + other, last = zero - other;
    mx_v power = 4.0f * (first * first + last * last);
    mx_store(fabs(first), magnitude);
    mx_store(fabs(last), magnitude + points * MX_VECTOR);
    for (int i = 1; i < block / 2; i++, soon += 16) {
        mx_soon(soon);
        power += mx_bins_store(z + place[i], z + place[block - i], circle, 8 * i, points, used, magnitude);
    }
    /* The bin in the middle is its own partner. */
    power += 0.5f * mx_bins_store(z + place[block / 2], z + place[block / 2], circle, points / 2, points, used, magnitude);
    for (int q = 1; q <= 4; q++) {
        MX_GLOBAL float *const one = z + q * step, *const two = z + (8 - q) * step;
        mx_fft_block(one, block, circle, 2 * points);
        if (q < 4) mx_fft_block(two, block, circle, 2 * points);
        for (int i = 0; i < (q < 4 ? block : block / 2); i++, soon += 16) {
            mx_soon(soon);
            power += mx_bins_store(one + place[i], two + place[block - 1 - i], circle, 8 * i + q, points, used, magnitude);
        }
    }
    return power;
}

MX_FULL_WIDTH MX_KERNEL(1)
mx_mel_frames(MX_ARG(const float, audio), MX_ARG(const int, sample_ends), MX_ARG(const int, frame_ends),
              MX_ARG(const float, tables), MX_ARG(float, mel), MX_ARG(float, energy), MX_ARG(const int, status),
              MX_ARG(float, work), int count, int rows, mx_long each, int size, int hop, int bands, float least,
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
    int place[MX_POINTS / 8];
    MX_GLOBAL const float *const circle = tables + size, *const weight = tables + 3 * size + 2 * bands + 1;
    MX_GLOBAL const int *const first = (MX_GLOBAL const int *)(tables + 3 * size), *const ends = first + bands;
    int used = 0;
    for (int k = 0; k < points / 8; k++) place[k] = 2 * mx_fft_place(points / 8, k) * MX_VECTOR;
    for (int b = 0; b < bands; b++) used = max(used, first[b] + ends[b + 1] - ends[b]);
    const mx_long begin = MX_INDEX * each, end = begin + each < rows ? begin + each : rows;
    for (mx_long row = begin; row < end; row += MX_VECTOR) {
        MX_GLOBAL const float *source[MX_VECTOR];
        const int lanes = (int)(end - row < MX_VECTOR ? end - row : MX_VECTOR);
        const bool neighbours =
            mx_frames_find(audio, sample_ends, frame_ends, count, size, hop, row, lanes, stage, source);
        mx_frames_begin(source, neighbours, tables, circle, size, hop, stage, z);
        const mx_v power =
            mx_spectrum_finish(z, points, circle, place, used, magnitude, source[MX_VECTOR - 1] + size);
        for (int b = 0; b < bands; b++) {
            MX_GLOBAL const float *const bin = magnitude + first[b] * MX_VECTOR, *const w = weight + ends[b];
            const int width = ends[b + 1] - ends[b];
            mx_v sum = 0.0f, second = 0.0f;
            int i = 0;
            for (; i + 2 <= width; i += 2) {
                sum += w[i] * mx_load(bin + i * MX_VECTOR);
                second += w[i + 1] * mx_load(bin + (i + 1) * MX_VECTOR);
            }
            if (i < width) sum += w[i] * mx_load(bin + i * MX_VECTOR);
            mx_store(sum + second, out + b * MX_VECTOR);
        }
        for (int b = 0; b < bands; b += MX_VECTOR) {
            mx_v square[MX_VECTOR];
#pragma unroll
            for (int i = 0; i < MX_VECTOR; i++) {
                const mx_v sum = mx_load(out + (b + i) * MX_VECTOR);
                square[i] = (mx_log_v(select((mx_v)least, sum, sum > least || sum != sum)) - mean) * inverse_deviation;
            }
            mx_turn(square);
#pragma unroll
            for (int lane = 0; lane < MX_VECTOR; lane++) {
                MX_GLOBAL float *const to = mel + (row + lane) * bands + b;
                if (lane < lanes && b + MX_VECTOR <= bands) {
                    mx_store(square[lane], to);
                } else if (lane < lanes) {
                    float one[MX_VECTOR];
                    mx_store(square[lane], one);
                    for (int i = 0; b + i < bands; i++) to[i] = one[i];
                }
            }
        }
        if (energy) {
            float one[MX_VECTOR];
            const mx_v root = 0.5f * sqrt(power);
            mx_store(mx_log_v(select((mx_v)least, root, root > least || root != root)), one);
            for (int lane = 0; lane < lanes; lane++) energy[row + lane] = one[lane];
        }
    }
}
#endif
