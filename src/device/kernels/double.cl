/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Numbers with more digits than a float has, for long sums and for what is subtracted from its like: doubles, or, with
 * MX_PAIRS, on OpenCL devices without double precision, pairs of floats (Dekker, Knuth).
 *
 * A pair is the unevaluated sum of x, the nearest float, and y, the rest: 48 bits, with the range of a float. Sums and
 * products of two floats are exact, everything else errs by some 2^-44 of the result; what is not finite has no rest.
 * No expression multiplies and adds, so that no compiler can contract it.
 */
#if defined(MX_PAIRS)
#define double MX_DOUBLE_IS_MISSING /* a kernel that names the type does not compile */
typedef float2 mx_double;
#define MX_PAIR(x, y) ((float2)((x), (y)))

/* The same sum with the nearest float first, where |high| ≥ |low|. */
MX_INLINE mx_double mx_pair_order(float high, float low)
{
    const float sum = high + low, over = sum - high, rest = low - over;
    return (MX_INT_BITS(high) & 0x7f800000) == 0x7f800000 ? MX_PAIR(high, 0.0f) : MX_PAIR(sum, rest);
}

MX_INLINE mx_double mx_pair_sum(float a, float b)
{
    const float sum = a + b, part = sum - a, a_rest = a - (sum - part), b_rest = b - part;
    return (MX_INT_BITS(sum) & 0x7f800000) == 0x7f800000 ? MX_PAIR(sum, 0.0f) : MX_PAIR(sum, a_rest + b_rest);
}

MX_INLINE mx_double mx_double_of(float x)
{
    return MX_PAIR(x, 0.0f);
}

MX_INLINE mx_double mx_double_of_int(int x) /* |x| < 2^30 */
{
    const float high = (float)x;
    return MX_PAIR(high, (float)(x - (int)high));
}

MX_INLINE float mx_double_float(mx_double a)
{
    return a.x;
}

MX_INLINE mx_double mx_double_add(mx_double a, mx_double b)
{
    mx_double sum = mx_pair_sum(a.x, b.x);
    const mx_double rest = mx_pair_sum(a.y, b.y);
    sum = mx_pair_order(sum.x, sum.y + rest.x);
    return mx_pair_order(sum.x, sum.y + rest.y);
}

MX_INLINE mx_double mx_double_subtract(mx_double a, mx_double b)
{
    return mx_double_add(a, MX_PAIR(-b.x, -b.y));
}

/* Of two floats, exact. */
MX_INLINE mx_double mx_double_product(float a, float b)
{
    const float product = a * b;
    return mx_pair_order(product, fma(a, b, -product));
}

MX_INLINE mx_double mx_double_multiply(mx_double a, mx_double b)
{
    const float product = a.x * b.x;
    return mx_pair_order(product, fma(a.y, b.x, fma(a.x, b.y, fma(a.x, b.x, -product))));
}

MX_INLINE mx_double mx_double_divide(mx_double a, mx_double b)
{
    const float first = a.x / b.x;
    const mx_double left = mx_double_subtract(a, mx_double_multiply(b, mx_double_of(first)));
    const float second = left.x / b.x;
    const mx_double rest = mx_double_subtract(left, mx_double_multiply(b, mx_double_of(second)));
    return mx_double_add(mx_pair_order(first, second), mx_double_of(rest.x / b.x));
}

/* Of 0 or more. */
MX_INLINE mx_double mx_double_sqrt(mx_double a)
{
    const float root = sqrt(a.x);
    if (!(root > 0.0f) || root == MX_INFINITY) return mx_double_of(root);
    const mx_double rest = mx_double_subtract(a, mx_double_product(root, root));
    return mx_pair_order(root, rest.x / (2.0f * root));
}

MX_INLINE mx_double mx_double_abs(mx_double a)
{
    return a.x < 0.0f ? MX_PAIR(-a.x, -a.y) : a;
}

MX_INLINE bool mx_double_less(mx_double a, mx_double b)
{
    return a.x < b.x || (a.x == b.x && a.y < b.y);
}

/* log2 of a normal float > 0: 2/ln 2 · (s + s³/3 + s⁵/5 + …), s = (m - 1)/(m + 1), behind the exponent. */
MX_INLINE mx_double mx_double_log2(float x)
{
    const int bits = MX_INT_BITS(x), above = (bits & 0x7fffff) > 0x3504f3 ? 1 : 0; /* m between √½ and √2 */
    const float m = MX_FLOAT_BITS((bits & 0x7fffff) | (127 - above) << 23);
    const mx_double s = mx_double_divide(mx_double_of(m - 1.0f), mx_pair_sum(m, 1.0f));
    const mx_double square = mx_double_multiply(s, s);
    mx_double sum = MX_PAIR(0.0f, 0.0f);
    for (int k = 19; k > 0; k -= 2)
        sum = mx_double_add(mx_double_multiply(sum, square),
                            mx_double_divide(mx_double_of(1.0f), mx_double_of((float)k)));
    sum = mx_double_multiply(mx_double_multiply(s, sum), MX_PAIR(0x1.715476p+1f, 0x1.4ae0cp-25f));
    return mx_double_add(mx_double_of((float)((bits >> 23) - 127 + above)), sum);
}

/* 2^a for |a| < 100, by its Taylor series around the nearest whole number. */
MX_INLINE mx_double mx_pair_exp2(mx_double a)
{
    const float whole = rint(a.x);
    const mx_double part = mx_double_multiply(mx_double_add(a, mx_double_of(-whole)),
                                              MX_PAIR(0x1.62e43p-1f, -0x1.05c61p-29f));
    mx_double power = mx_double_of(1.0f);
    for (int k = 14; k > 0; k--)
        power = mx_double_add(mx_double_of(1.0f),
                              mx_double_divide(mx_double_multiply(part, power), mx_double_of((float)k)));
    return MX_PAIR(ldexp(power.x, (int)whole), ldexp(power.y, (int)whole));
}

/* a - the nearest whole number; *odd: whether that is odd. */
MX_INLINE float mx_double_rest(mx_double a, int *odd)
{
    const float whole = rint(a.x), rest = (a.x - whole) + a.y, step = rest > 0.5f ? 1.0f : rest < -0.5f ? -1.0f : 0.0f;
    *odd = (int)(whole + step) & 1;
    return step == 0.0f ? rest : ((a.x - whole) - step) + a.y;
}

/* (cos, sin) of position · base^(-k / count). */
MX_INLINE void mx_double_turn(float base, int k, int count, int position, float turned[2])
{
    int odd;
    const mx_double share = mx_double_divide(mx_double_of_int(-k), mx_double_of_int(count));
    const mx_double power = mx_double_multiply(mx_double_log2(base), share);
    const mx_double angle = mx_double_multiply(mx_double_of_int(position), mx_pair_exp2(power));
    const float turn = mx_double_rest(mx_double_multiply(angle, MX_PAIR(0x1.45f306p-3f, 0x1.b9391p-28f)), &odd);
    turned[0] = cospi(2.0f * turn);
    turned[1] = sinpi(2.0f * turn);
}

/* Two words of memory, of which only words are aligned. */
MX_INLINE mx_double mx_double_load(MX_GLOBAL const mx_uint *at)
{
    return MX_PAIR(MX_FLOAT_BITS((int)at[0]), MX_FLOAT_BITS((int)at[1]));
}

MX_INLINE void mx_double_store(MX_GLOBAL mx_uint *at, mx_double value)
{
    at[0] = (mx_uint)MX_INT_BITS(value.x);
    at[1] = (mx_uint)MX_INT_BITS(value.y);
}
#else
typedef double mx_double;
#define MX_ROUND_DOUBLE 6755399441055744.0 /* 1.5 · 2^52: adding it leaves no bits for a fraction */

MX_INLINE mx_double mx_double_of(float x)
{
    return (double)x;
}

MX_INLINE mx_double mx_double_of_int(int x)
{
    return (double)x;
}

MX_INLINE float mx_double_float(mx_double a)
{
    return (float)a;
}

MX_INLINE mx_double mx_double_add(mx_double a, mx_double b)
{
    return a + b;
}

MX_INLINE mx_double mx_double_subtract(mx_double a, mx_double b)
{
    return a - b;
}

MX_INLINE mx_double mx_double_product(float a, float b)
{
    return (double)a * (double)b;
}

MX_INLINE mx_double mx_double_multiply(mx_double a, mx_double b)
{
    return a * b;
}

MX_INLINE mx_double mx_double_divide(mx_double a, mx_double b)
{
    return a / b;
}

MX_INLINE mx_double mx_double_sqrt(mx_double a)
{
    return sqrt(a);
}

MX_INLINE mx_double mx_double_abs(mx_double a)
{
    return MX_ABS_DOUBLE(a);
}

MX_INLINE bool mx_double_less(mx_double a, mx_double b)
{
    return a < b;
}

MX_INLINE mx_double mx_double_log2(float x)
{
    return log2((double)x);
}

MX_INLINE float mx_double_rest(mx_double a, int *odd)
{
    const double shifted = a + MX_ROUND_DOUBLE;
    *odd = (int)(MX_LONG_BITS(shifted) & 1);
    return (float)(a - (shifted - MX_ROUND_DOUBLE));
}

MX_INLINE void mx_double_turn(float base, int k, int count, int position, float turned[2])
{
    const double angle = (double)position * pow((double)base, -(double)k / (double)count);
    turned[0] = (float)cos(angle);
    turned[1] = (float)sin(angle);
}

MX_INLINE mx_double mx_double_load(MX_GLOBAL const mx_uint *at)
{
    return MX_DOUBLE_BITS((mx_long)((mx_ulong)at[1] << 32 | at[0]));
}

MX_INLINE void mx_double_store(MX_GLOBAL mx_uint *at, mx_double value)
{
    const mx_ulong bits = (mx_ulong)MX_LONG_BITS(value);
    at[0] = (mx_uint)bits;
    at[1] = (mx_uint)(bits >> 32);
}
#endif

/* The sum over the lanes of a group, always in the same order. */
MX_INLINE mx_double mx_group_sum_double(MX_LOCAL_POINTER mx_double *all, mx_double value)
{
    all[MX_LANE] = value;
    MX_BARRIER();
    for (int s = MX_GROUP / 2; s > 0; s /= 2) {
        if (MX_LANE < s) all[MX_LANE] = mx_double_add(all[MX_LANE], all[MX_LANE + s]);
        MX_BARRIER();
    }
    const mx_double sum = all[0];
    MX_BARRIER();
    return sum;
}
