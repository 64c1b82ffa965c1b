/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Fourier transforms of one signal per lane: element i of MX_VEC_FLOATS signals is one vector, so that a transform of
 * any structure is plain vector arithmetic without a shuffle, and lanes do not depend on each other.
 *
 * A complex array z of n elements is 2n vectors, real and imaginary parts alternating; n is a power of two, at least 2.
 * The transform works in place, by decimation in frequency with radix 8 (and one pass of 4 or 2 at the end where 8 does
 * not divide), and leaves element k at place mx_fft_place(k): the result is read from there, which costs nothing
 * because elements are whole vectors.
 *
 * `circle` holds cos and sin of 2πk/points, k < points, for a multiple of n points. All memory is the caller's.
 */
#ifndef MX_DEVICE_CPU_ISA_FFT_H
#define MX_DEVICE_CPU_ISA_FFT_H

#include "device/cpu/isa/vec.h"

struct mx_vc {
    mx_vf re, im;
};

MX_VEC_INLINE struct mx_vc mx_vc_load(const mx_vf *z, int64_t i)
{
    return (struct mx_vc){z[2 * i], z[2 * i + 1]};
}

MX_VEC_INLINE void mx_vc_store(mx_vf *z, int64_t i, struct mx_vc v)
{
    z[2 * i] = v.re;
    z[2 * i + 1] = v.im;
}

MX_VEC_INLINE struct mx_vc mx_vc_add(struct mx_vc a, struct mx_vc b)
{
    return (struct mx_vc){a.re + b.re, a.im + b.im};
}

MX_VEC_INLINE struct mx_vc mx_vc_sub(struct mx_vc a, struct mx_vc b)
{
    return (struct mx_vc){a.re - b.re, a.im - b.im};
}

/* -j a */
MX_VEC_INLINE struct mx_vc mx_vc_down(struct mx_vc a)
{
    return (struct mx_vc){a.im, -a.re};
}

/* a (cos - j sin) */
MX_VEC_INLINE struct mx_vc mx_vc_turn(struct mx_vc a, const float *cos_sin)
{
    const mx_vf c = mx_vf_set(cos_sin[0]), s = mx_vf_set(cos_sin[1]);
    return (struct mx_vc){mx_vf_fma(a.re, c, a.im * s), mx_vf_fnma(a.re, s, a.im * c)};
}

/* In place: v[q] = Σ_m v[m] e^(-2πjmq/radix), outputs 0, 1, 2, … in order. */
MX_VEC_INLINE void mx_fft_two(struct mx_vc v[2])
{
    const struct mx_vc sum = mx_vc_add(v[0], v[1]);
    v[1] = mx_vc_sub(v[0], v[1]);
    v[0] = sum;
}

MX_VEC_INLINE void mx_fft_four(struct mx_vc v[4])
{
    const struct mx_vc a = mx_vc_add(v[0], v[2]), b = mx_vc_add(v[1], v[3]);
    const struct mx_vc c = mx_vc_sub(v[0], v[2]), d = mx_vc_down(mx_vc_sub(v[1], v[3]));
    v[0] = mx_vc_add(a, b);
    v[1] = mx_vc_add(c, d);
    v[2] = mx_vc_sub(a, b);
    v[3] = mx_vc_sub(c, d);
}

/* Nothing after this point may be computed before it: sixteen registers hold half of a radix-8 step, and a compiler
 * that mixes both halves spills a hundred times in each. */
#if MX_VEC_BYTES == 64 || defined(__aarch64__)
#define MX_FFT_HALF()
#else
#define MX_FFT_HALF() __asm__ volatile("" ::: "memory")
#endif

/* One step of radix 8: to[q] = Σ_m from[m] e^(-2πjmq/8), turned by jq steps of the circle. Elements lie from_step and
 * to_step apart; `to` may be `from`. The even outputs are the transform of the sums of opposite elements, the odd ones
 * that of their differences, turned. */
MX_VEC_INLINE void mx_fft_eight(const mx_vf *from, int64_t from_step, mx_vf *to, int64_t to_step, int64_t j,
                                const float *circle, int64_t step)
{
    const float half = 0x1.6a09e6p-1f; /* √½ */
    struct mx_vc even[4], odd[4];
#pragma GCC unroll 4
    for (int m = 0; m < 4; m++) {
        const struct mx_vc a = mx_vc_load(from, m * from_step), b = mx_vc_load(from, (m + 4) * from_step);
        even[m] = mx_vc_add(a, b);
        odd[m] = mx_vc_sub(a, b);
    }
    MX_FFT_HALF();
    mx_fft_four(even);
    if (j > 0) {
#pragma GCC unroll 4
        for (int m = 1; m < 4; m++) even[m] = mx_vc_turn(even[m], circle + 2 * (j * 2 * m * step));
    }
#pragma GCC unroll 4
    for (int m = 0; m < 4; m++) mx_vc_store(to, 2 * m * to_step, even[m]);
    MX_FFT_HALF();
    odd[1] = (struct mx_vc){half * (odd[1].re + odd[1].im), half * (odd[1].im - odd[1].re)};
    odd[2] = mx_vc_down(odd[2]);
    odd[3] = (struct mx_vc){half * (odd[3].im - odd[3].re), -half * (odd[3].re + odd[3].im)};
    mx_fft_four(odd);
    if (j > 0) {
#pragma GCC unroll 4
        for (int m = 0; m < 4; m++) odd[m] = mx_vc_turn(odd[m], circle + 2 * (j * (2 * m + 1) * step));
    }
#pragma GCC unroll 4
    for (int m = 0; m < 4; m++) mx_vc_store(to, (2 * m + 1) * to_step, odd[m]);
}

/* One pass over blocks of `span` elements, each of which becomes `radix` blocks of span/radix. */
static inline void mx_fft_pass_eight(mx_vf *z, int64_t n, int64_t span, const float *circle, int64_t points)
{
    const int64_t part = span / 8;
    for (int64_t base = 0; base < n; base += span)
        for (int64_t j = 0; j < part; j++) {
            mx_vf *at = z + 2 * (base + j);
            mx_fft_eight(at, part, at, part, j, circle, points / span);
        }
}

/* mx_fft_last_<name>: the same for what is left at the end, where span is the radix and nothing is turned. */
#define MX_FFT_LAST(name, radix)                                                                                       \
    static inline void mx_fft_last_##name(mx_vf *z, int64_t n)                                                         \
    {                                                                                                                  \
        for (int64_t base = 0; base < n; base += (radix)) {                                                            \
            struct mx_vc v[radix];                                                                                     \
            _Pragma("GCC unroll 4") for (int m = 0; m < (radix); m++) v[m] = mx_vc_load(z, base + m);                  \
            mx_fft_##name(v);                                                                                          \
            _Pragma("GCC unroll 4") for (int m = 0; m < (radix); m++) mx_vc_store(z, base + m, v[m]);                  \
        }                                                                                                              \
    }
MX_FFT_LAST(two, 2)
MX_FFT_LAST(four, 4)
#undef MX_FFT_LAST

/* What is left to do when blocks of `span` elements are transforms of their own. Block by block, so that the passes
 * over one block find it in the first cache. */
static inline void mx_fft_finish(mx_vf *z, int64_t n, int64_t span, const float *circle, int64_t points)
{
    for (int64_t block = 0; block < n; block += span) {
        mx_vf *const at = z + 2 * block;
        int64_t left = span;
        for (; left >= 8; left /= 8) mx_fft_pass_eight(at, span, left, circle, points);
        if (left == 4) mx_fft_last_four(at, span);
        if (left == 2) mx_fft_last_two(at, span);
    }
}

/* Z[k] = Σ_i z[i] e^(-2πjki/n), left at mx_fft_place(n, k). */
static inline void mx_fft_run(mx_vf *z, int64_t n, const float *circle, int64_t points)
{
    if (n >= 64) mx_fft_pass_eight(z, n, n, circle, points);
    mx_fft_finish(z, n, n >= 64 ? n / 8 : n, circle, points);
}

static inline int64_t mx_fft_place(int64_t n, int64_t k)
{
    int64_t place = 0;
    for (int64_t span = n; span > 1;) {
        const int64_t radix = span >= 8 ? 8 : span;
        span /= radix;
        place += k % radix * span;
        k /= radix;
    }
    return place;
}

/* ---- a square of vectors: v[i][j] becomes v[j][i] ---- */
#define MX_FFT_MIX __builtin_shufflevector

/* Of four vectors each, the squares of 4 within each 16 bytes. */
MX_VEC_INLINE void mx_vf_transpose_fours(mx_vf v[MX_VEC_FLOATS])
{
#if MX_VEC_BYTES == 64
#define MX_LOW(a, b)   MX_FFT_MIX(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define MX_HIGH(a, b)  MX_FFT_MIX(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define MX_FIRST(a, b) MX_FFT_MIX(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define MX_LAST(a, b)  MX_FFT_MIX(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
#elif MX_VEC_BYTES == 32
#define MX_LOW(a, b)   MX_FFT_MIX(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define MX_HIGH(a, b)  MX_FFT_MIX(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define MX_FIRST(a, b) MX_FFT_MIX(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define MX_LAST(a, b)  MX_FFT_MIX(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#else
#define MX_LOW(a, b)   MX_FFT_MIX(a, b, 0, 4, 1, 5)
#define MX_HIGH(a, b)  MX_FFT_MIX(a, b, 2, 6, 3, 7)
#define MX_FIRST(a, b) MX_FFT_MIX(a, b, 0, 1, 4, 5)
#define MX_LAST(a, b)  MX_FFT_MIX(a, b, 2, 3, 6, 7)
#endif
#pragma GCC unroll 4
    for (int i = 0; i < MX_VEC_FLOATS; i += 4) {
        const mx_vf a = MX_LOW(v[i], v[i + 1]), b = MX_HIGH(v[i], v[i + 1]);
        const mx_vf c = MX_LOW(v[i + 2], v[i + 3]), d = MX_HIGH(v[i + 2], v[i + 3]);
        v[i] = MX_FIRST(a, c);
        v[i + 1] = MX_LAST(a, c);
        v[i + 2] = MX_FIRST(b, d);
        v[i + 3] = MX_LAST(b, d);
    }
#undef MX_LOW
#undef MX_HIGH
#undef MX_FIRST
#undef MX_LAST
}

/* Squares of 4 within each 16 bytes, then those squares as wholes. */
MX_VEC_INLINE void mx_vf_transpose(mx_vf v[MX_VEC_FLOATS])
{
    mx_vf_transpose_fours(v);
#if MX_VEC_BYTES == 32
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const mx_vf a = v[i], b = v[i + 4];
        v[i] = MX_FFT_MIX(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
        v[i + 4] = MX_FFT_MIX(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
    }
#elif MX_VEC_BYTES == 64
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const mx_vf a = MX_FFT_MIX(v[i], v[i + 4], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
        const mx_vf b = MX_FFT_MIX(v[i], v[i + 4], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
        const mx_vf c = MX_FFT_MIX(v[i + 8], v[i + 12], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
        const mx_vf d = MX_FFT_MIX(v[i + 8], v[i + 12], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
        v[i] = MX_FFT_MIX(a, c, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
        v[i + 4] = MX_FFT_MIX(a, c, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
        v[i + 8] = MX_FFT_MIX(b, d, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
        v[i + 12] = MX_FFT_MIX(b, d, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    }
#endif
}
#undef MX_FFT_MIX

#endif
