/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Vectors of the width of this variant's instruction set, for all kernels in isa/.
 *
 * The types are the compiler's vector extensions, so + - * / & | ^ << >> and comparisons (-1 where true) work on them
 * directly, and a scalar operand is broadcast to all lanes. Only what the language cannot express uses intrinsics here,
 * each with a plain fallback, so that any machine builds the same kernels.
 *
 * The source decides what is fused: a product and a sum are one rounded operation where mx_vf_fma or mx_vf_fnma says
 * so, and two everywhere else, since the build forbids the compiler to contract (-ffp-contract=off). So a kernel gives
 * the same bits in each of its copies, from each compiler and for each -march of the same vector width; only a machine
 * without fused multiply-adds (MX_VEC_FUSED 0) rounds twice.
 *
 * Sums over lanes have one fixed order per vector width. Nothing here keeps state or touches memory that it was not
 * given.
 */
#ifndef MX_DEVICE_CPU_ISA_VEC_H
#define MX_DEVICE_CPU_ISA_VEC_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define MX_VEC_AVX512 1
#define MX_VEC_BYTES  64
#elif defined(__AVX2__) && defined(__FMA__)
#define MX_VEC_AVX2  1
#define MX_VEC_BYTES 32
#elif defined(__aarch64__) && defined(__ARM_NEON)
#define MX_VEC_NEON  1
#define MX_VEC_BYTES 16
#else
#define MX_VEC_BYTES 16
#endif

#if MX_VEC_AVX512 || MX_VEC_AVX2 || MX_VEC_NEON
#define MX_VEC_FUSED 1
#else
#define MX_VEC_FUSED 0
#endif

#define MX_VEC_FLOATS  (MX_VEC_BYTES / 4)
#define MX_VEC_DOUBLES (MX_VEC_BYTES / 8)
#define MX_VEC_INLINE  static inline __attribute__((always_inline, unused))

typedef float mx_vf __attribute__((vector_size(MX_VEC_BYTES)));
typedef int32_t mx_vi __attribute__((vector_size(MX_VEC_BYTES)));
typedef uint32_t mx_vu __attribute__((vector_size(MX_VEC_BYTES)));
typedef uint64_t mx_vul __attribute__((vector_size(MX_VEC_BYTES)));
typedef double mx_vd __attribute__((vector_size(MX_VEC_BYTES)));
typedef uint16_t mx_vh __attribute__((vector_size(MX_VEC_BYTES / 2))); /* as many as mx_vf has lanes */

/* The same for memory of any alignment and any declared type. */
typedef float mx_vf_any __attribute__((vector_size(MX_VEC_BYTES), aligned(4), may_alias));
typedef int32_t mx_vi_any __attribute__((vector_size(MX_VEC_BYTES), aligned(4), may_alias));
typedef uint16_t mx_vh_any __attribute__((vector_size(MX_VEC_BYTES / 2), aligned(2), may_alias));

/* ---- memory ---- */
MX_VEC_INLINE mx_vf mx_vf_load(const float *p)
{
    return *(const mx_vf_any *)p;
}

MX_VEC_INLINE void mx_vf_store(float *p, mx_vf v)
{
    *(mx_vf_any *)p = v;
}

MX_VEC_INLINE mx_vi mx_vi_load(const int32_t *p)
{
    return *(const mx_vi_any *)p;
}

#if MX_VEC_AVX512
#define MX_VEC_MASK(n) ((__mmask16)((1u << (n)) - 1u))
#elif MX_VEC_AVX2
MX_VEC_INLINE __m256i mx_vec_mask(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
#endif

#if MX_VEC_AVX2
/* Four floats from each. */
MX_VEC_INLINE mx_vf mx_vf_load_halves(const float *low, const float *high)
{
    return (mx_vf)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
}
#endif

/* The first n lanes (0 ≤ n ≤ MX_VEC_FLOATS), 0 in the others; memory after them is not touched. A whole vector where n
 * is a constant is an ordinary load or store. */
MX_VEC_INLINE mx_vf mx_vf_load_n(const float *p, int n)
{
    if (__builtin_constant_p(n) && n == MX_VEC_FLOATS) return mx_vf_load(p);
#if MX_VEC_AVX512
    return (mx_vf)_mm512_maskz_loadu_ps(MX_VEC_MASK(n), p);
#elif MX_VEC_AVX2
    return (mx_vf)_mm256_maskload_ps(p, mx_vec_mask(n));
#elif MX_VEC_NEON
    if (n >= MX_VEC_FLOATS) return mx_vf_load(p);
    float32x4_t v = vdupq_n_f32(0);
    if (n & 2) v = vcombine_f32(vld1_f32(p), vdup_n_f32(0));
    if (n == 1) v = vld1q_lane_f32(p, v, 0);
    if (n == 3) v = vld1q_lane_f32(p + 2, v, 2);
    return (mx_vf)v;
#else
    mx_vf v = {0};
    for (int i = 0; i < n; i++) v[i] = p[i];
    return v;
#endif
}

MX_VEC_INLINE void mx_vf_store_n(float *p, mx_vf v, int n)
{
    if (__builtin_constant_p(n) && n == MX_VEC_FLOATS) {
        mx_vf_store(p, v);
        return;
    }
#if MX_VEC_AVX512
    _mm512_mask_storeu_ps(p, MX_VEC_MASK(n), (__m512)v);
#elif MX_VEC_AVX2
    _mm256_maskstore_ps(p, mx_vec_mask(n), (__m256)v);
#elif MX_VEC_NEON
    if (n >= MX_VEC_FLOATS) {
        mx_vf_store(p, v);
        return;
    }
    if (n & 2) vst1_f32(p, vget_low_f32((float32x4_t)v));
    if (n == 1) vst1q_lane_f32(p, (float32x4_t)v, 0);
    if (n == 3) vst1q_lane_f32(p + 2, (float32x4_t)v, 2);
#else
    for (int i = 0; i < n; i++) p[i] = v[i];
#endif
}

/* Results so large that they will have left the caches before anybody reads them go around the caches: a written line
 * is then not fetched first, which is a third of the traffic of a copy (SPEED.md). */
#define MX_VEC_AROUND_BYTES ((int64_t)8 << 20)

/* Whether to write `count` floats at p that way; every vector written must then be aligned. Not for updates in place.
 */
MX_VEC_INLINE bool mx_vec_around(const float *p, int64_t count)
{
    return count * 4 >= MX_VEC_AROUND_BYTES && (uintptr_t)p % MX_VEC_BYTES == 0;
}

/* mx_vf_store_n, around the caches if asked for and n is a constant. Before anybody else may read: mx_vec_fence. */
MX_VEC_INLINE void mx_vf_put_n(float *p, mx_vf v, int n, bool around)
{
#if defined(__SSE2__)
    if (around && __builtin_constant_p(n) && n == MX_VEC_FLOATS) {
#if MX_VEC_AVX512
        _mm512_stream_ps(p, (__m512)v);
#elif MX_VEC_AVX2
        _mm256_stream_ps(p, (__m256)v);
#else
        _mm_stream_ps(p, (__m128)v);
#endif
        return;
    }
#endif
    (void)around;
    mx_vf_store_n(p, v, n);
}

MX_VEC_INLINE void mx_vec_fence(bool around)
{
#if defined(__SSE2__)
    if (around) _mm_sfence();
#endif
    (void)around;
}

/* Asks for the line 4 KiB ahead: loops with much arithmetic per line reach less far ahead by themselves. May lie
 * outside the array. */
MX_VEC_INLINE void mx_vec_ahead(const float *p)
{
    __builtin_prefetch((const void *)((uintptr_t)p + 4096));
}

/* Runs the statements for i = begin, begin + MX_VEC_FLOATS, … with n lanes each: n is the constant MX_VEC_FLOATS, but
 * what is left for the last. */
#define MX_VEC_EACH(i, n, begin, end, ...)                                                                             \
    do {                                                                                                               \
        int64_t i = (begin);                                                                                           \
        for (; i + MX_VEC_FLOATS <= (end); i += MX_VEC_FLOATS) {                                                       \
            enum { n = MX_VEC_FLOATS };                                                                                \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
        if (i < (end)) {                                                                                               \
            const int n = (int)((end)-i);                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    } while (0)

/* ---- lanes ---- */
/* s - 0 is s, -0 included; the compiler makes one broadcast of it. */
MX_VEC_INLINE mx_vf mx_vf_set(float s)
{
    return s - (mx_vf){0};
}

/* a · b + c */
MX_VEC_INLINE mx_vf mx_vf_fma(mx_vf a, mx_vf b, mx_vf c)
{
#if MX_VEC_AVX512
    return (mx_vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif MX_VEC_AVX2
    return (mx_vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif MX_VEC_NEON
    return (mx_vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}

/* c - a · b */
MX_VEC_INLINE mx_vf mx_vf_fnma(mx_vf a, mx_vf b, mx_vf c)
{
#if MX_VEC_AVX512
    return (mx_vf)_mm512_fnmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif MX_VEC_AVX2
    return (mx_vf)_mm256_fnmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif MX_VEC_NEON
    return (mx_vf)vfmsq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return c - a * b;
#endif
}

/* a · b + c in double */
MX_VEC_INLINE mx_vd mx_vd_fma(mx_vd a, mx_vd b, mx_vd c)
{
#if MX_VEC_AVX512
    return (mx_vd)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif MX_VEC_AVX2
    return (mx_vd)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif MX_VEC_NEON
    return (mx_vd)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
    return a * b + c;
#endif
}

/* One step of Horner's rule: q · x + coefficient. */
MX_VEC_INLINE mx_vf mx_vf_horner(mx_vf q, mx_vf x, float coefficient)
{
    return mx_vf_fma(q, x, mx_vf_set(coefficient));
}

/* yes where `where` is -1, no where it is 0. */
MX_VEC_INLINE mx_vf mx_vf_select(mx_vi where, mx_vf yes, mx_vf no)
{
#if MX_VEC_AVX512
    return (mx_vf)_mm512_mask_blend_ps(_mm512_movepi32_mask((__m512i)where), (__m512)no, (__m512)yes);
#elif MX_VEC_AVX2
    return (mx_vf)_mm256_blendv_ps((__m256)no, (__m256)yes, (__m256)where);
#elif MX_VEC_NEON
    return (mx_vf)vbslq_f32((uint32x4_t)where, (float32x4_t)yes, (float32x4_t)no);
#else
    return (mx_vf)((where & (mx_vi)yes) | (~where & (mx_vi)no));
#endif
}

/* at ≤ limit ? 0 : v. Where `at` is NaN: v. */
MX_VEC_INLINE mx_vf mx_vf_zero_to(float limit, mx_vf at, mx_vf v)
{
#if MX_VEC_AVX512
    return (mx_vf)_mm512_maskz_mov_ps(_mm512_cmp_ps_mask((__m512)at, _mm512_set1_ps(limit), _CMP_NLE_UQ), (__m512)v);
#else
    return (mx_vf)((mx_vi)v & ~(mx_vi)(at <= mx_vf_set(limit)));
#endif
}

/* a > b ? a : b, so b where either is NaN: put what must survive second. (NEON's own maximum is NaN there.) */
MX_VEC_INLINE mx_vf mx_vf_max(mx_vf a, mx_vf b)
{
#if MX_VEC_AVX512
    return (mx_vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif MX_VEC_AVX2
    return (mx_vf)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (mx_vf)_mm_max_ps((__m128)a, (__m128)b);
#else
    return mx_vf_select(a > b, a, b);
#endif
}

/* a < b ? a : b, so b where either is NaN. */
MX_VEC_INLINE mx_vf mx_vf_min(mx_vf a, mx_vf b)
{
#if MX_VEC_AVX512
    return (mx_vf)_mm512_min_ps((__m512)a, (__m512)b);
#elif MX_VEC_AVX2
    return (mx_vf)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (mx_vf)_mm_min_ps((__m128)a, (__m128)b);
#else
    return mx_vf_select(a < b, a, b);
#endif
}

/* low ≤ v ≤ high; NaN stays NaN. */
MX_VEC_INLINE mx_vf mx_vf_clamp(mx_vf v, float low, float high)
{
    return mx_vf_min(mx_vf_set(high), mx_vf_max(mx_vf_set(low), v));
}

MX_VEC_INLINE mx_vf mx_vf_abs(mx_vf v)
{
    return (mx_vf)((mx_vi)v & 0x7fffffff);
}

MX_VEC_INLINE mx_vf mx_vf_sqrt(mx_vf v)
{
#if MX_VEC_AVX512
    return (mx_vf)_mm512_sqrt_ps((__m512)v);
#elif MX_VEC_AVX2
    return (mx_vf)_mm256_sqrt_ps((__m256)v);
#elif defined(__SSE2__)
    return (mx_vf)_mm_sqrt_ps((__m128)v);
#elif MX_VEC_NEON
    return (mx_vf)vsqrtq_f32((float32x4_t)v);
#else
    for (int i = 0; i < MX_VEC_FLOATS; i++) v[i] = sqrtf(v[i]);
    return v;
#endif
}

/* a · b of the lower 32 bits of each 64-bit lane; the upper ones do not count. */
MX_VEC_INLINE mx_vul mx_vul_times_low(mx_vul a, mx_vul b)
{
#if MX_VEC_AVX512
    return (mx_vul)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif MX_VEC_AVX2
    return (mx_vul)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (mx_vul)_mm_mul_epu32((__m128i)a, (__m128i)b);
#elif MX_VEC_NEON
    return (mx_vul)vmull_u32(vmovn_u64((uint64x2_t)a), vmovn_u64((uint64x2_t)b));
#else
    return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}

/* The upper 32 bits of each 64-bit lane in its lower half; what the upper half gets is not said. By a shuffle, since
 * the unit that shifts wide vectors is also the one that multiplies them. */
MX_VEC_INLINE mx_vul mx_vul_down(mx_vul v)
{
#if MX_VEC_AVX512
    return (mx_vul)_mm512_shuffle_epi32((__m512i)v, _MM_PERM_DDBB);
#else
    return v >> 32;
#endif
}

/* The lower and the upper half of the lanes in double. */
MX_VEC_INLINE mx_vd mx_vd_low(mx_vf v)
{
#if MX_VEC_BYTES == 64
    return (mx_vd)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v));
#elif MX_VEC_BYTES == 32
    return (mx_vd)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v));
#elif MX_VEC_NEON
    return (mx_vd)vcvt_f64_f32(vget_low_f32((float32x4_t)v));
#else
    return (mx_vd){v[0], v[1]};
#endif
}

MX_VEC_INLINE mx_vd mx_vd_high(mx_vf v)
{
#if MX_VEC_BYTES == 64
    return (mx_vd)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)v, 1));
#elif MX_VEC_BYTES == 32
    return (mx_vd)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1));
#elif MX_VEC_NEON
    return (mx_vd)vcvt_high_f64_f32((float32x4_t)v);
#else
    return (mx_vd){v[2], v[3]};
#endif
}

/* ---- over the lanes, by halving: always the same order ---- */
typedef float mx_vf4 __attribute__((vector_size(16)));
typedef float mx_vf8 __attribute__((vector_size(32)));

MX_VEC_INLINE mx_vf4 mx_vf4_max(mx_vf4 a, mx_vf4 b)
{
#if defined(__SSE2__)
    return (mx_vf4)_mm_max_ps((__m128)a, (__m128)b);
#elif MX_VEC_NEON
    return mx_vf_select(a > b, a, b);
#else
    mx_vf4 r;
    for (int i = 0; i < 4; i++) r[i] = a[i] > b[i] ? a[i] : b[i];
    return r;
#endif
}

MX_VEC_INLINE float mx_vf_sum(mx_vf v)
{
#if MX_VEC_BYTES == 64
    const mx_vf8 a = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                     __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
    const mx_vf4 b = __builtin_shufflevector(a, a, 0, 1, 2, 3) + __builtin_shufflevector(a, a, 4, 5, 6, 7);
#elif MX_VEC_BYTES == 32
    const mx_vf4 b = __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
#else
    const mx_vf4 b = v;
#endif
    return (b[0] + b[2]) + (b[1] + b[3]);
}

/* NaN lanes may or may not show. */
MX_VEC_INLINE float mx_vf_largest(mx_vf v)
{
#if MX_VEC_BYTES == 64
    const mx_vf4 b = mx_vf4_max(
        mx_vf4_max(__builtin_shufflevector(v, v, 0, 1, 2, 3), __builtin_shufflevector(v, v, 4, 5, 6, 7)),
        mx_vf4_max(__builtin_shufflevector(v, v, 8, 9, 10, 11), __builtin_shufflevector(v, v, 12, 13, 14, 15)));
#elif MX_VEC_BYTES == 32
    const mx_vf4 b = mx_vf4_max(__builtin_shufflevector(v, v, 0, 1, 2, 3), __builtin_shufflevector(v, v, 4, 5, 6, 7));
#else
    const mx_vf4 b = v;
#endif
    const float x = b[0] > b[2] ? b[0] : b[2], y = b[1] > b[3] ? b[1] : b[3];
    return x > y ? x : y;
}

MX_VEC_INLINE double mx_vd_sum(mx_vd v)
{
    double sum[MX_VEC_DOUBLES];
    memcpy(sum, &v, sizeof sum);
    for (int width = MX_VEC_DOUBLES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++) sum[i] += sum[i + width];
    return sum[0];
}

/* ---- functions ---- */
/* Adding this leaves no bits for a fraction: the sum is a whole number, its low bits are that number as an integer. */
#define MX_VEC_ROUND 0x1.8p23f

/* n of n + MX_VEC_ROUND. (A conversion would be undefined where n is NaN.) */
MX_VEC_INLINE mx_vi mx_vi_of_shifted(mx_vf shifted)
{
    return (mx_vi)shifted - 0x4b400000;
}

/* p · 2^n for whole n in [-152, 130], given as n + MX_VEC_ROUND: rounds to denormals and overflows as it should. */
MX_VEC_INLINE mx_vf mx_vf_scale2(mx_vf p, mx_vf shifted)
{
#if MX_VEC_AVX512
    return (mx_vf)_mm512_scalef_ps((__m512)p, (__m512)(shifted - MX_VEC_ROUND));
#else
    /* Two factors, each a normal number, since 2^n itself may be neither. */
    const mx_vi whole = mx_vi_of_shifted(shifted), half = whole >> 1;
    return p * (mx_vf)((half + 127) << 23) * (mx_vf)((whole - half + 127) << 23);
#endif
}

/* x = n ln 2 + r with |r| ≤ ln 2/2; yields e^r - 1, and n + MX_VEC_ROUND. Relative error of 1 + (e^r - 1) before
 * rounding: 1e-8. */
MX_VEC_INLINE mx_vf mx_vf_exp_reduced(mx_vf x, mx_vf *shifted)
{
    *shifted = mx_vf_fma(x, mx_vf_set(0x1.715476p+0f), mx_vf_set(MX_VEC_ROUND));
    const mx_vf n = *shifted - MX_VEC_ROUND;
    const mx_vf near = mx_vf_fnma(n, mx_vf_set(0x1.62ep-1f), x); /* exact */
    const mx_vf r = mx_vf_fnma(n, mx_vf_set(0x1.0bfbe8p-15f), near);
    mx_vf q = mx_vf_horner(mx_vf_set(0x1.6d113cp-10f), r, 0x1.120ba2p-7f);
    q = mx_vf_horner(q, r, 0x1.55551ap-5f);
    q = mx_vf_horner(q, r, 0x1.5554dcp-3f);
    q = mx_vf_horner(q, r, 0.5f);
    return mx_vf_fma(r * r, q, r);
}

/* e^x within 2 units in the last place; 0 and infinity beyond the range, NaN stays NaN. */
MX_VEC_INLINE mx_vf mx_vf_exp(mx_vf x)
{
    mx_vf shifted;
    const mx_vf p = mx_vf_exp_reduced(mx_vf_clamp(x, -105.0f, 90.0f), &shifted);
    return mx_vf_scale2(p + 1.0f, shifted);
}

/* ln x within 2 units in the last place for x from 2^-126 on; infinity and NaN stay. Nothing else is looked after.
 * x = 2^e m with √½ ≤ m < √2, ln m by a polynomial in m - 1. */
MX_VEC_INLINE mx_vf mx_vf_log(mx_vf x)
{
    const mx_vi e = ((mx_vi)x - 0x3f3504f3) >> 23;
    const mx_vf n = __builtin_convertvector(e, mx_vf), f = (mx_vf)((mx_vi)x - (e << 23)) - 1.0f;
    mx_vf p = mx_vf_horner(mx_vf_set(-0x1.38b58p-4f), f, 0x1.055b6ap-3f);
    p = mx_vf_horner(p, f, -0x1.0d8542p-3f);
    p = mx_vf_horner(p, f, 0x1.22da1cp-3f);
    p = mx_vf_horner(p, f, -0x1.547244p-3f);
    p = mx_vf_horner(p, f, 0x1.99a008p-3f);
    p = mx_vf_horner(p, f, -0x1.000226p-2f);
    p = mx_vf_horner(p, f, 0x1.555554p-2f);
    p = mx_vf_fma(n, mx_vf_set(0x1.0bfbe8p-15f), mx_vf_horner(p, f, -0.5f) * (f * f));
    return mx_vf_select(x < INFINITY, mx_vf_fma(n, mx_vf_set(0x1.62ep-1f), f + p), x);
}

/* √x for x ≥ 0 within 2 units in the last place; below 2^-100 it may be 0 instead. */
MX_VEC_INLINE mx_vf mx_vf_sqrt_near(mx_vf x)
{
#if MX_VEC_AVX512
    /* The root takes 19 cycles for a vector of this width; an estimate of 14 bits and one Newton step take 4. */
    const __mmask16 large = _mm512_cmp_ps_mask((__m512)x, _mm512_set1_ps(0x1p-100f), _CMP_NLT_UQ);
    const mx_vf y = (mx_vf)_mm512_maskz_rsqrt14_ps(large, (__m512)x), root = x * y;
    return mx_vf_fma(mx_vf_fnma(root, root, x), 0.5f * y, root);
#else
    return mx_vf_sqrt(x);
#endif
}

/* From e^2x - 1, so that small x keep all their digits. */
MX_VEC_INLINE mx_vf mx_vf_tanh(mx_vf x)
{
    mx_vf shifted;
    const mx_vf p = mx_vf_exp_reduced(2.0f * mx_vf_clamp(x, -10.0f, 10.0f), &shifted);
    const mx_vf power = (mx_vf)((mx_vi_of_shifted(shifted) + 127) << 23);
    const mx_vf e = mx_vf_fma(p, power, power - 1.0f);
    return e / (e + 2.0f);
}

/* 2^t for |t| ≤ 126, relative error 1e-8 before rounding; nothing else is looked after. */
MX_VEC_INLINE mx_vf mx_vf_exp2_bounded(mx_vf t)
{
    const mx_vf shifted = t + MX_VEC_ROUND, n = shifted - MX_VEC_ROUND, f = t - n;
    mx_vf p = mx_vf_horner(mx_vf_set(0x1.4413cp-13f), f, 0x1.5f08ep-10f);
    p = mx_vf_horner(p, f, 0x1.3b2a52p-7f);
    p = mx_vf_horner(p, f, 0x1.c6af6cp-5f);
    p = mx_vf_horner(p, f, 0x1.ebfbep-3f);
    p = mx_vf_horner(p, f, 0x1.62e43p-1f);
    p = mx_vf_horner(p, f, 1.0f);
#if MX_VEC_AVX512
    return (mx_vf)_mm512_scalef_ps((__m512)p, (__m512)n);
#else
    return (mx_vf)((mx_vi)p + ((mx_vi)shifted << 23)); /* its low bits are n's */
#endif
}

/* 1/d within 2 units in the last place, for d from 1 to 2^126. */
MX_VEC_INLINE mx_vf mx_vf_inverse(mx_vf d)
{
#if MX_VEC_AVX512
    /* The divider takes 16 cycles for a vector of this width; an estimate of 14 bits and one Newton step take 3. */
    const mx_vf y = (mx_vf)_mm512_rcp14_ps((__m512)d);
    return mx_vf_fma(y, mx_vf_fnma(d, y, mx_vf_set(1.0f)), y);
#else
    return 1.0f / d;
#endif
}

/* The GELU of myxtts/ops.h: x/2 (1 + tanh u) = x/(1 + e^-2u) = x/(1 + 2^t), t = x (MX_GELU_1 + MX_GELU_3 x²). */
#define MX_GELU_1 (-2.302208198144325f)  /* -2 √(2/π)/ln 2 */
#define MX_GELU_3 (-0.1029432395800235f) /* 0.044715 times that */

/* From -10 downwards, where it is less than 1e-36, it is 0, for -inf too. */
MX_VEC_INLINE mx_vf mx_vf_gelu(mx_vf at)
{
    const mx_vf x = mx_vf_max(mx_vf_set(-10.0f), at);
    const mx_vf t = mx_vf_max(mx_vf_set(-126.0f), x * mx_vf_horner(x * x, mx_vf_set(MX_GELU_3), MX_GELU_1));
    return mx_vf_zero_to(-10.0f, at, x * mx_vf_inverse(mx_vf_exp2_bounded(t) + 1.0f));
}

/* Its derivative s + x s(1 - s) · 2u' with s = 1/(1 + 2^t); beyond ±10 it is 1 or 0 to the last place. */
MX_VEC_INLINE mx_vf mx_vf_gelu_grad(mx_vf at)
{
    const float ln2 = 0x1.62e43p-1f;
    const mx_vf x = mx_vf_clamp(at, -10.0f, 10.0f), square = x * x;
    const mx_vf e = mx_vf_exp2_bounded(x * mx_vf_horner(square, mx_vf_set(MX_GELU_3), MX_GELU_1));
    const mx_vf s = mx_vf_inverse(e + 1.0f);
    const mx_vf slope = x * mx_vf_horner(square, mx_vf_set(-3.0f * ln2 * MX_GELU_3), -ln2 * MX_GELU_1);
    return mx_vf_fma(slope * (e * s), s, s);
}

#endif
