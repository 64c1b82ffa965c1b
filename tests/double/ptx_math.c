/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the instructions of PTX compute, for all lanes that do them; see ptx.h. The table at the end has a row for each
 * name. Built without contraction and without assumptions on aliasing: registers are seen as numbers of several types.
 *
 * Accuracy of approximations, from NVIDIA's "Parallel Thread Execution", the same for all generations from 7.0 on:
 * ex2.approx.ftz.f32 is at most 2 units in the last place from the correctly rounded result, and exact for zeros and
 * infinities; rcp.approx.ftz.f64 looks at the upper 32 bits of its operand only, and has the lower 32 of its result zero.
 */
#include "ptx_inside.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

#define IN const struct ptx_instruction *in, struct ptx_group *g
#define LANES(statement)                                                                                               \
    do {                                                                                                               \
        if (g->full) {                                                                                                 \
            for (int i = 0; i < g->lanes; i++) {                                                                       \
                statement;                                                                                             \
            }                                                                                                          \
        } else {                                                                                                       \
            for (int k = 0; k < g->count; k++) {                                                                       \
                const int i = g->list[k];                                                                              \
                statement;                                                                                             \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

#define ONE(name, D, A, expression)                                                                                    \
    static void name(IN)                                                                                               \
    {                                                                                                                  \
        D *const d = PTX_REGISTER(D, g, in->to[0]);                                                                    \
        const A *const as = PTX_REGISTER(A, g, in->from[0]);                                                           \
        LANES(const A a = as[i]; d[i] = (D)(expression));                                                              \
    }
#define TWO(name, D, A, B, expression)                                                                                 \
    static void name(IN)                                                                                               \
    {                                                                                                                  \
        D *const d = PTX_REGISTER(D, g, in->to[0]);                                                                    \
        const A *const as = PTX_REGISTER(A, g, in->from[0]);                                                           \
        const B *const bs = PTX_REGISTER(B, g, in->from[1]);                                                           \
        LANES(const A a = as[i]; const B b = bs[i]; d[i] = (D)(expression));                                           \
    }
#define THREE(name, D, A, B, C, expression)                                                                            \
    static void name(IN)                                                                                               \
    {                                                                                                                  \
        D *const d = PTX_REGISTER(D, g, in->to[0]);                                                                    \
        const A *const as = PTX_REGISTER(A, g, in->from[0]);                                                           \
        const B *const bs = PTX_REGISTER(B, g, in->from[1]);                                                           \
        const C *const cs = PTX_REGISTER(C, g, in->from[2]);                                                           \
        LANES(const A a = as[i]; const B b = bs[i]; const C c = cs[i]; d[i] = (D)(expression));                        \
    }

typedef uint32_t pred;
typedef int16_t s16;
typedef uint16_t u16;
typedef int32_t s32;
typedef uint32_t u32;
typedef int64_t s64;
typedef uint64_t u64;
typedef float f32;
typedef double f64;

/* ---- numbers ---- */

/* Instructions on floats give one NaN. */
static inline f32 one_nan(f32 x)
{
    const u32 bits = 0x7fffffffu;
    f32 nan;
    memcpy(&nan, &bits, sizeof nan);
    return isnan(x) ? nan : x;
}

static inline f32 most_f32(f32 a, f32 b)
{
    if (isnan(a)) return one_nan(b);
    if (isnan(b)) return a;
    return a == b ? (signbit(a) ? b : a) : a > b ? a : b;
}

static inline f32 least_f32(f32 a, f32 b)
{
    if (isnan(a)) return one_nan(b);
    if (isnan(b)) return a;
    return a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}

static inline f64 most_f64(f64 a, f64 b)
{
    return isnan(a) ? b : isnan(b) ? a : a == b ? (signbit(a) ? b : a) : a > b ? a : b;
}

static inline f64 least_f64(f64 a, f64 b)
{
    return isnan(a) ? b : isnan(b) ? a : a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}

static inline f32 flush(f32 x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

#define EX2_UNITS 2 /* in the last place */

/* 2^a, as far from it as it may be in the direction of the bound. */
static inline f32 ex2(const struct ptx_group *g, f32 a)
{
    const f32 near = (f32)exp2((f64)a), end = g->launch->bound < 0 ? 0.0f : INFINITY;
    f32 result = near;
    if (g->launch->bound == 0 || a == 0 || near == 0 || !isfinite(near)) return near;
    for (int i = 0; i < EX2_UNITS; i++) result = nextafterf(result, end);
    return result;
}

#define RCP_ERROR 0x1p-20 /* the bits of a mantissa in the upper 32 */

/* Towards the allowed error of an approximation. */
static inline f64 err(const struct ptx_group *g, f64 exact, f64 relative)
{
    return exact * (1 + g->launch->bound * relative);
}

ONE(neg_f32, f32, f32, -a)
ONE(abs_f32, f32, f32, fabsf(a))
ONE(neg_f64, f64, f64, -a)
ONE(abs_f64, f64, f64, fabs(a))
ONE(sqrt_f32, f32, f32, one_nan(sqrtf(a)))
ONE(sqrt_f64, f64, f64, sqrt(a))
ONE(rcp_f32, f32, f32, one_nan(1.0f / a))
ONE(rcp_f64, f64, f64, 1.0 / a)
ONE(ex2_ftz_f32, f32, f32, one_nan(flush(ex2(g, flush(a)))))
ONE(sat_f32, f32, f32, a > 0 ? (a < 1 ? a : 1) : 0)
TWO(add_f32, f32, f32, f32, one_nan(a + b))
TWO(sub_f32, f32, f32, f32, one_nan(a - b))
TWO(mul_f32, f32, f32, f32, one_nan(a *b))
TWO(div_f32, f32, f32, f32, one_nan(a / b))
TWO(max_f32, f32, f32, f32, most_f32(a, b))
TWO(min_f32, f32, f32, f32, least_f32(a, b))
THREE(fma_f32, f32, f32, f32, f32, one_nan(fmaf(a, b, c)))
TWO(add_f64, f64, f64, f64, a + b)
TWO(sub_f64, f64, f64, f64, a - b)
TWO(mul_f64, f64, f64, f64, a *b)
TWO(div_f64, f64, f64, f64, a / b)
TWO(max_f64, f64, f64, f64, most_f64(a, b))
TWO(min_f64, f64, f64, f64, least_f64(a, b))
THREE(fma_f64, f64, f64, f64, f64, fma(a, b, c))

/* The upper 32 bits of the reciprocal of the upper 32 bits. */
static inline f64 rcp_coarse(const struct ptx_group *g, f64 a)
{
    u64 bits;
    memcpy(&bits, &a, sizeof bits);
    bits &= 0xffffffff00000000ull;
    memcpy(&a, &bits, sizeof a);
    if (fabs(a) < 0x1p-1022) a = copysign(0, a);
    f64 result = err(g, 1.0 / a, RCP_ERROR);
    memcpy(&bits, &result, sizeof bits);
    bits &= 0xffffffff00000000ull;
    memcpy(&result, &bits, sizeof result);
    return result;
}
ONE(rcp_approx_f64, f64, f64, rcp_coarse(g, a))

/* Another direction of rounding for all lanes of one instruction. */
static void rounded(IN, int direction, ptx_work *work)
{
    const int before = fegetround();
    fesetround(direction);
    work(in, g);
    fesetround(before);
}

#define ROUNDED(name, direction, work)                                                                                 \
    static void name(IN)                                                                                               \
    {                                                                                                                  \
        rounded(in, g, direction, work);                                                                               \
    }
ROUNDED(fma_rm_f32, FE_DOWNWARD, fma_f32)
ROUNDED(add_rz_f32, FE_TOWARDZERO, add_f32)

/* ---- integers ---- */

#define WHOLE(T, U)                                                                                                    \
    TWO(add_##T, U, U, U, a + b)                                                                                       \
    TWO(sub_##T, U, U, U, a - b)                                                                                       \
    TWO(mul_lo_##T, U, U, U, a *b)                                                                                     \
    TWO(min_##T, T, T, T, a < b ? a : b)                                                                               \
    TWO(max_##T, T, T, T, a > b ? a : b)                                                                               \
    THREE(mad_lo_##T, U, U, U, U, a *b + c)
WHOLE(s32, u32)
WHOLE(u32, u32)
WHOLE(s64, u64)
WHOLE(u64, u64)

/* The least integer divided by -1 is itself. */
static inline s32 quotient_s32(s32 a, s32 b)
{
    return b == -1 ? (s32)(0 - (u32)a) : a / b;
}

static inline s64 quotient_s64(s64 a, s64 b)
{
    return b == -1 ? (s64)(0 - (u64)a) : a / b;
}

#define DIVIDE(name, T, expression)                                                                                    \
    static void name(IN)                                                                                               \
    {                                                                                                                  \
        T *const d = PTX_REGISTER(T, g, in->to[0]);                                                                    \
        const T *const as = PTX_REGISTER(T, g, in->from[0]), *const bs = PTX_REGISTER(T, g, in->from[1]);              \
        LANES(const T a = as[i]; const T b = bs[i]; if (b != 0) d[i] = (expression);                                   \
              else ptx_wrong(g, in, i, "division by zero"));                                                           \
    }
DIVIDE(div_s32, s32, quotient_s32(a, b))
DIVIDE(div_s64, s64, quotient_s64(a, b))
DIVIDE(div_u32, u32, a / b)
DIVIDE(div_u64, u64, a / b)
DIVIDE(rem_s32, s32, b == -1 ? 0 : a % b)
DIVIDE(rem_s64, s64, b == -1 ? 0 : a % b)
DIVIDE(rem_u32, u32, a % b)
DIVIDE(rem_u64, u64, a % b)

TWO(add_16, u16, u16, u16, a + b)
TWO(and_16, u16, u16, u16, a &b)
TWO(or_16, u16, u16, u16, a | b)
TWO(mul_hi_u32, u32, u32, u32, ((u64)a * b) >> 32)
TWO(mul_hi_s32, s32, s32, s32, ((s64)a * b) >> 32)
TWO(mul_wide_s32, s64, s32, s32, (s64)a *b)
TWO(mul_wide_u32, u64, u32, u32, (u64)a *b)
ONE(neg_s32, u32, u32, 0 - a)
ONE(neg_s64, u64, u64, 0 - a)
ONE(abs_s32, u32, s32, a < 0 ? 0 - (u32)a : (u32)a)
ONE(not_32, u32, u32, ~a)
ONE(not_64, u64, u64, ~a)
ONE(not_pred, pred, pred, !a)
TWO(and_32, u32, u32, u32, a &b)
TWO(or_32, u32, u32, u32, a | b)
TWO(xor_32, u32, u32, u32, a ^ b)
TWO(and_64, u64, u64, u64, a &b)
TWO(or_64, u64, u64, u64, a | b)
TWO(xor_64, u64, u64, u64, a ^ b)
/* A distance beyond the width shifts everything out. */
TWO(shl_32, u32, u32, u32, b > 31 ? 0 : a << b)
TWO(shl_64, u64, u64, u32, b > 63 ? 0 : a << b)
TWO(shr_u32, u32, u32, u32, b > 31 ? 0 : a >> b)
TWO(shr_u64, u64, u64, u32, b > 63 ? 0 : a >> b)
TWO(shr_s32, s32, s32, u32, a >> (b > 31 ? 31 : b))
TWO(shr_s64, s64, s64, u32, a >> (b > 63 ? 63 : b))
THREE(shf_l_wrap, u32, u32, u32, u32, (u32)(((u64)b << 32 | a) << (c & 31) >> 32))
ONE(clz_64, u32, u64, a == 0 ? 64 : __builtin_clzll(a))

/* `b` bits of `a` from bit c on; PTX takes the low byte of position and length. */
static void bfi_64(IN)
{
    u64 *const d = PTX_REGISTER(u64, g, in->to[0]);
    const u64 *const a = PTX_REGISTER(u64, g, in->from[0]), *const b = PTX_REGISTER(u64, g, in->from[1]);
    const u32 *const at = PTX_REGISTER(u32, g, in->from[2]), *const length = PTX_REGISTER(u32, g, in->from[3]);
    LANES(const u32 p = at[i] & 255; const u32 n = length[i] & 255; const u64 ones = n > 63 ? ~0ull : (1ull << n) - 1;
          const u64 mask = p > 63 ? 0 : ones << p; d[i] = (b[i] & ~mask) | (p > 63 ? 0 : a[i] << p & mask));
}

/* With carry: `in` is added, or borrowed, where the name says so; `out` is kept. */
static void wide_sum(IN, bool in_carry, bool out_carry, bool subtract, const u32 *a, const u32 *b)
{
    u32 *const d = PTX_REGISTER(u32, g, in->to[0]);
    LANES(const u64 carry = in_carry ? g->carry[i] : 0;
          const u64 sum = subtract ? (u64)a[i] - b[i] - carry : (u64)a[i] + b[i] + carry; d[i] = (u32)sum;
          if (out_carry) g->carry[i] = (u32)(sum >> 32) & 1);
}

#define SUM(name, take, keep, subtract)                                                                                \
    static void name(IN)                                                                                               \
    {                                                                                                                  \
        wide_sum(in, g, take, keep, subtract, PTX_REGISTER(u32, g, in->from[0]), PTX_REGISTER(u32, g, in->from[1]));   \
    }
SUM(add_cc, false, true, false)
SUM(addc, true, false, false)
SUM(addc_cc, true, true, false)
SUM(sub_cc, false, true, true)
SUM(subc, true, false, true)
SUM(subc_cc, true, true, true)

static void wide_mad(IN, bool high, bool take, bool keep)
{
    u32 product[PTX_LANES_MAX];
    const u32 *const a = PTX_REGISTER(u32, g, in->from[0]), *const b = PTX_REGISTER(u32, g, in->from[1]);
    LANES(const u64 whole = (u64)a[i] * b[i]; product[i] = (u32)(high ? whole >> 32 : whole));
    wide_sum(in, g, take, keep, false, product, PTX_REGISTER(u32, g, in->from[2]));
}

#define MAD(name, high, take, keep)                                                                                    \
    static void name(IN)                                                                                               \
    {                                                                                                                  \
        wide_mad(in, g, high, take, keep);                                                                             \
    }
MAD(mad_lo_cc, false, false, true)
MAD(madc_lo_cc, false, true, true)
MAD(madc_hi, true, true, false)
MAD(madc_hi_cc, true, true, true)

/* ---- moving and choosing ---- */

ONE(mov_16, u16, u16, a)
ONE(mov_32, u32, u32, a)
ONE(mov_64, u64, u64, a)
THREE(selp_16, u16, u16, u16, pred, c ? a : b)
THREE(selp_32, u32, u32, u32, pred, c ? a : b)
THREE(selp_64, u64, u64, u64, pred, c ? a : b)

static void unpack_64(IN)
{
    u32 *const low = PTX_REGISTER(u32, g, in->to[0]), *const high = PTX_REGISTER(u32, g, in->to[1]);
    const u64 *const a = PTX_REGISTER(u64, g, in->from[0]);
    LANES(low[i] = (u32)a[i]; high[i] = (u32)(a[i] >> 32));
}

static void pack_64(IN)
{
    u64 *const d = PTX_REGISTER(u64, g, in->to[0]);
    const u32 *const low = PTX_REGISTER(u32, g, in->from[0]), *const high = PTX_REGISTER(u32, g, in->from[1]);
    LANES(d[i] = (u64)high[i] << 32 | low[i]);
}

static void unpack_32(IN)
{
    u16 *const low = PTX_REGISTER(u16, g, in->to[0]), *const high = PTX_REGISTER(u16, g, in->to[1]);
    const u32 *const a = PTX_REGISTER(u32, g, in->from[0]);
    LANES(low[i] = (u16)a[i]; high[i] = (u16)(a[i] >> 16));
}

static void pack_32(IN)
{
    u32 *const d = PTX_REGISTER(u32, g, in->to[0]);
    const u16 *const low = PTX_REGISTER(u16, g, in->from[0]), *const high = PTX_REGISTER(u16, g, in->from[1]);
    LANES(d[i] = (u32)high[i] << 16 | low[i]);
}

/* ---- comparing ---- */

#define COMPARE(T)                                                                                                     \
    TWO(eq_##T, pred, T, T, a == b)                                                                                    \
    TWO(ne_##T, pred, T, T, a != b)                                                                                    \
    TWO(lt_##T, pred, T, T, a < b)                                                                                     \
    TWO(le_##T, pred, T, T, a <= b)                                                                                    \
    TWO(gt_##T, pred, T, T, a > b)                                                                                     \
    TWO(ge_##T, pred, T, T, a >= b)
TWO(eq_s16, pred, s16, s16, a == b)
TWO(ne_s16, pred, s16, s16, a != b)
COMPARE(s32)
COMPARE(u32)
COMPARE(s64)
COMPARE(u64)

#define COMPARE_REAL(T)                                                                                                \
    TWO(eq_##T, pred, T, T, a == b)                                                                                    \
    TWO(ne_##T, pred, T, T, a<b || a> b)                                                                               \
    TWO(lt_##T, pred, T, T, a < b)                                                                                     \
    TWO(le_##T, pred, T, T, a <= b)                                                                                    \
    TWO(gt_##T, pred, T, T, a > b)                                                                                     \
    TWO(ge_##T, pred, T, T, a >= b)                                                                                    \
    TWO(equ_##T, pred, T, T, !(a < b || a > b))                                                                        \
    TWO(neu_##T, pred, T, T, a != b)                                                                                   \
    TWO(ltu_##T, pred, T, T, !(a >= b))                                                                                \
    TWO(leu_##T, pred, T, T, !(a > b))                                                                                 \
    TWO(gtu_##T, pred, T, T, !(a <= b))                                                                                \
    TWO(geu_##T, pred, T, T, !(a < b))                                                                                 \
    TWO(num_##T, pred, T, T, !isnan(a) && !isnan(b))                                                                   \
    TWO(nan_##T, pred, T, T, isnan(a) || isnan(b))
COMPARE_REAL(f32)
COMPARE_REAL(f64)

/* ---- converting ---- */

static inline s32 whole_of(f64 x) /* an integer already, or none */
{
    return isnan(x) ? 0 : x >= 2147483647.0 ? INT32_MAX : x <= -2147483648.0 ? INT32_MIN : (s32)x;
}

ONE(s64_s32, s64, s32, a)
ONE(u64_u32, u64, u32, a)
ONE(low_64, u32, u64, a)
/* Of a wider register the lower part. */
ONE(s64_low, s64, s64, (s32)a)
ONE(u64_low, u64, u64, (u32)a)
ONE(f64_f32, f64, f32, a)
ONE(f32_f64, f32, f64, one_nan((f32)a))
ONE(f32_s32, f32, s32, a)
ONE(f32_u32, f32, u32, a)
ONE(f32_s64, f32, s64, a)
ONE(f64_s32, f64, s32, a)
ONE(f64_u32, f64, u32, a)
ONE(f64_s64, f64, s64, a)
ONE(f64_u64, f64, u64, a)
ONE(rzi_s32_f32, s32, f32, whole_of(trunc((f64)a)))
ONE(rni_s32_f64, s32, f64, whole_of(nearbyint(a)))
ONE(rzi_f64, f64, f64, trunc(a))

/* ---- names ---- */

/* clang-format off */
#define INTEGERS(T, W)                                                                                                 \
    {"min." #T, W "<" W W, min_##T}, {"max." #T, W "<" W W, max_##T}, {"div." #T, W "<" W W, div_##T},                 \
    {"rem." #T, W "<" W W, rem_##T}, {"add." #T, W "<" W W, add_##T}, {"sub." #T, W "<" W W, sub_##T},                 \
    {"mul.lo." #T, W "<" W W, mul_lo_##T}, {"mad.lo." #T, W "<" W W W, mad_lo_##T},                                    \
    COMPARES(T, W)
#define COMPARES(T, W)                                                                                                 \
    {"setp.eq." #T, "p<" W W, eq_##T}, {"setp.ne." #T, "p<" W W, ne_##T}, {"setp.lt." #T, "p<" W W, lt_##T},           \
    {"setp.le." #T, "p<" W W, le_##T}, {"setp.gt." #T, "p<" W W, gt_##T}, {"setp.ge." #T, "p<" W W, ge_##T}
#define REALS(T, W)                                                                                                    \
    COMPARES(T, W),                                                                                                    \
    {"setp.equ." #T, "p<" W W, equ_##T}, {"setp.neu." #T, "p<" W W, neu_##T}, {"setp.ltu." #T, "p<" W W, ltu_##T},     \
    {"setp.leu." #T, "p<" W W, leu_##T}, {"setp.gtu." #T, "p<" W W, gtu_##T}, {"setp.geu." #T, "p<" W W, geu_##T},     \
    {"setp.num." #T, "p<" W W, num_##T}, {"setp.nan." #T, "p<" W W, nan_##T},                                          \
    {"add." #T, W "<" W W, add_##T}, {"add.rn." #T, W "<" W W, add_##T}, {"sub." #T, W "<" W W, sub_##T},              \
    {"sub.rn." #T, W "<" W W, sub_##T}, {"mul." #T, W "<" W W, mul_##T}, {"mul.rn." #T, W "<" W W, mul_##T},           \
    {"div.rn." #T, W "<" W W, div_##T}, {"fma.rn." #T, W "<" W W W, fma_##T}, {"neg." #T, W "<" W, neg_##T},           \
    {"abs." #T, W "<" W, abs_##T}, {"min." #T, W "<" W W, min_##T}, {"max." #T, W "<" W W, max_##T},                   \
    {"sqrt.rn." #T, W "<" W, sqrt_##T}, {"rcp.rn." #T, W "<" W, rcp_##T}

const struct ptx_operation ptx_operations[] = {
    INTEGERS(s32, "w"), INTEGERS(u32, "w"), INTEGERS(s64, "l"), INTEGERS(u64, "l"), {"setp.eq.s16", "p<hh", eq_s16},
    {"setp.ne.s16", "p<hh", ne_s16},
    REALS(f32, "w"), REALS(f64, "l"),
    {"setp.eq.b32", "p<ww", eq_u32}, {"setp.eq.b64", "p<ll", eq_u64}, {"fma.rm.f32", "w<www", fma_rm_f32},
    {"add.rz.f32", "w<ww", add_rz_f32}, {"ex2.approx.ftz.f32", "w<w", ex2_ftz_f32},
    {"rcp.approx.ftz.f64", "l<l", rcp_approx_f64}, {"cvt.sat.f32.f32", "w<w", sat_f32}, {"add.s16", "h<hh", add_16},
    {"and.b16", "h<hh", and_16}, {"or.b16", "h<hh", or_16}, {"mul.hi.u32", "w<ww", mul_hi_u32},
    {"mul.hi.s32", "w<ww", mul_hi_s32}, {"mul.wide.s32", "l<ww", mul_wide_s32},
    {"mul.wide.u32", "l<ww", mul_wide_u32}, {"neg.s32", "w<w", neg_s32}, {"neg.s64", "l<l", neg_s64},
    {"abs.s32", "w<w", abs_s32}, {"not.b32", "w<w", not_32}, {"not.b64", "l<l", not_64},
    {"not.pred", "p<p", not_pred}, {"and.b32", "w<ww", and_32}, {"or.b32", "w<ww", or_32},
    {"xor.b32", "w<ww", xor_32}, {"and.b64", "l<ll", and_64}, {"or.b64", "l<ll", or_64}, {"xor.b64", "l<ll", xor_64},
    {"and.pred", "p<pp", and_32}, {"or.pred", "p<pp", or_32}, {"xor.pred", "p<pp", xor_32},
    {"shl.b32", "w<ww", shl_32}, {"shl.b64", "l<lw", shl_64}, {"shr.u32", "w<ww", shr_u32},
    {"shr.u64", "l<lw", shr_u64}, {"shr.s32", "w<ww", shr_s32}, {"shr.s64", "l<lw", shr_s64},
    {"shf.l.wrap.b32", "w<www", shf_l_wrap}, {"clz.b64", "w<l", clz_64}, {"bfi.b64", "l<llww", bfi_64},
    {"add.cc.u32", "w<ww", add_cc}, {"addc.u32", "w<ww", addc}, {"addc.cc.u32", "w<ww", addc_cc},
    {"sub.cc.u32", "w<ww", sub_cc}, {"subc.u32", "w<ww", subc}, {"subc.cc.u32", "w<ww", subc_cc},
    {"mad.lo.cc.u32", "w<www", mad_lo_cc}, {"madc.lo.cc.u32", "w<www", madc_lo_cc}, {"madc.hi.u32", "w<www", madc_hi},
    {"madc.hi.cc.u32", "w<www", madc_hi_cc}, {"mov.u16", "h<h", mov_16}, {"mov.b16", "h<h", mov_16},
    {"mov.u32", "w<w", mov_32}, {"mov.b32", "w<w", mov_32}, {"mov.f32", "w<w", mov_32}, {"mov.u64", "l<l", mov_64},
    {"mov.b64", "l<l", mov_64}, {"mov.f64", "l<l", mov_64}, {"mov.pred", "p<p", mov_32},
    {"mov.b64", "ww<l", unpack_64}, {"mov.b64", "l<ww", pack_64}, {"mov.b32", "hh<w", unpack_32},
    {"mov.b32", "w<hh", pack_32}, {"cvta.to.global.u64", "l<l", mov_64}, {"selp.u16", "h<hhp", selp_16},
    {"selp.b32", "w<wwp", selp_32}, {"selp.u32", "w<wwp", selp_32}, {"selp.f32", "w<wwp", selp_32},
    {"selp.b64", "l<llp", selp_64}, {"selp.u64", "l<llp", selp_64}, {"selp.s64", "l<llp", selp_64},
    {"selp.f64", "l<llp", selp_64}, {"cvt.s64.s32", "l<w", s64_s32}, {"cvt.s64.s32", "l<l", s64_low},
    {"cvt.u64.u32", "l<l", u64_low}, {"cvt.u64.u32", "l<w", u64_u32}, {"cvt.u32.u64", "w<l", low_64},
    {"cvt.f64.f32", "l<w", f64_f32}, {"cvt.rn.f32.f64", "w<l", f32_f64}, {"cvt.rn.f32.s32", "w<w", f32_s32},
    {"cvt.rn.f32.u32", "w<w", f32_u32}, {"cvt.rn.f32.s64", "w<l", f32_s64}, {"cvt.rn.f64.s32", "l<w", f64_s32},
    {"cvt.rn.f64.u32", "l<w", f64_u32}, {"cvt.rn.f64.s64", "l<l", f64_s64}, {"cvt.rn.f64.u64", "l<l", f64_u64},
    {"cvt.rzi.s32.f32", "w<w", rzi_s32_f32}, {"cvt.rni.s32.f64", "w<l", rni_s32_f64},
    {"cvt.rzi.f64.f64", "l<l", rzi_f64},
    {NULL, NULL, NULL},
};
