/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The vector helpers of the CPU kernels (src/device/cpu/isa/vec.h) against the C library in double precision, in the
 * instruction set that this build has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "device/cpu/isa/fft.h"
#include "device/cpu/isa/vec.h"

/* Every lane gets x; all lanes must agree, so one is handed back. */
static float apply(mx_vf (*function)(mx_vf), float x)
{
    const mx_vf y = function(mx_vf_set(x));
    for (int i = 1; i < MX_VEC_FLOATS; i++)
        if (!isnan(y[i]) || !isnan(y[0])) assert_int_equal(((mx_vi)y)[i], ((mx_vi)y)[0]);
    return y[0];
}

static double exact_gelu(double x)
{
    const double u = sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
    return x / (1 + exp(-2 * u));
}

static double exact_gelu_grad(double x)
{
    const double u = sqrt(2 / M_PI) * (x + 0.044715 * x * x * x), du = sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
    const double s = 1 / (1 + exp(-2 * u));
    return s + 2 * x * du * s * (1 / (1 + exp(2 * u)));
}

/* Largest error over [low, high] in `steps` steps, in units of relative · |exact| + absolute. */
static double worst(mx_vf (*function)(mx_vf), double (*exact)(double), double low, double high, int steps,
                    double relative, double absolute)
{
    double largest = 0;
    for (int i = 0; i <= steps; i++) {
        const float x = (float)(low + (high - low) * i / steps);
        const double want = exact((double)x), got = (double)apply(function, x);
        const double error = fabs(got - want) / (relative * fabs(want) + absolute);
        if (!(error <= largest)) largest = error; /* NaN shows */
    }
    return largest;
}

/* Bounds count roundings, 2^-24 = 6e-8 each, in the order of the source, which no compiler changes. exp: of the reduced
 * argument and of e^r - 1 (each below 1/2) and of the sum, with what the polynomial lacks; near 0 the last one alone,
 * and one to spare. tanh: exp, two sums and a quotient. log, sqrt: four. GELU: those of exp and of a quotient; left of
 * -1 the exponent, which is up to 17, counts with its own roundings, four of them. */
#define assert_within(error) assert_true((error) <= 1.0)

static void test_exp(void **state)
{
    (void)state;
    assert_within(worst(mx_vf_exp, exp, -87.3, 88.72, 400000, 2e-7, 0));
    assert_within(worst(mx_vf_exp, exp, -0.01, 0.01, 20000, 1.2e-7, 0));
    /* Denormal results: half a unit of the last place that is left, and a little. */
    assert_within(worst(mx_vf_exp, exp, -104, -87, 40000, 2e-7, 0.51 * 0x1p-149));
    assert_true(apply(mx_vf_exp, 0.0f) == 1.0f);
    assert_true(apply(mx_vf_exp, -0.0f) == 1.0f);
    assert_true(apply(mx_vf_exp, 0x1p-149f) == 1.0f);
    assert_true(apply(mx_vf_exp, 88.73f) == INFINITY);
    assert_true(apply(mx_vf_exp, 1e30f) == INFINITY);
    assert_true(apply(mx_vf_exp, INFINITY) == INFINITY);
    assert_true(apply(mx_vf_exp, -104.5f) == 0.0f);
    assert_true(apply(mx_vf_exp, -1e30f) == 0.0f);
    assert_true(apply(mx_vf_exp, -INFINITY) == 0.0f);
    assert_true(isnan(apply(mx_vf_exp, NAN)));
}

static void test_tanh(void **state)
{
    (void)state;
    assert_within(worst(mx_vf_tanh, tanh, -12, 12, 200000, 4e-7, 0));
    assert_within(worst(mx_vf_tanh, tanh, -1e-3, 1e-3, 20000, 4e-7, 0));
    assert_within(worst(mx_vf_tanh, tanh, 1e-30, 2e-30, 1000, 4e-7, 0));
    assert_true(apply(mx_vf_tanh, 0.0f) == 0.0f);
    assert_true(apply(mx_vf_tanh, 0x1p-140f) == 0x1p-140f);
    assert_true(apply(mx_vf_tanh, INFINITY) == 1.0f);
    assert_true(apply(mx_vf_tanh, -INFINITY) == -1.0f);
    assert_true(apply(mx_vf_tanh, 3e38f) == 1.0f);
    assert_true(isnan(apply(mx_vf_tanh, NAN)));
}

static void test_log(void **state)
{
    (void)state;
    assert_within(worst(mx_vf_log, log, 0.5, 2.5, 400000, 2.5e-7, 0));
    assert_within(worst(mx_vf_log, log, 1e-5, 1e-2, 100000, 2.5e-7, 0));
    for (int e = -126; e < 127; e++) assert_within(worst(mx_vf_log, log, ldexp(1, e), ldexp(1.999, e), 100, 2.5e-7, 0));
    assert_true(apply(mx_vf_log, 1.0f) == 0.0f);
    assert_true(apply(mx_vf_log, INFINITY) == INFINITY);
    assert_true(isnan(apply(mx_vf_log, NAN)));
}

static void test_sqrt_near(void **state)
{
    (void)state;
    assert_within(worst(mx_vf_sqrt_near, sqrt, 1e-6, 4, 400000, 2.5e-7, 0));
    for (int e = -99; e < 127; e++)
        assert_within(worst(mx_vf_sqrt_near, sqrt, ldexp(1, e), ldexp(1.999, e), 100, 2.5e-7, 0));
    assert_true(apply(mx_vf_sqrt_near, 0.0f) == 0.0f);
    const float tiny = apply(mx_vf_sqrt_near, 0x1p-140f); /* the root, or 0 */
    assert_true(tiny == 0.0f || tiny == 0x1p-70f);
    assert_true(isnan(apply(mx_vf_sqrt_near, NAN)));
}

/* Every element of the square at its own place. */
static void test_transpose(void **state)
{
    (void)state;
    mx_vf square[MX_VEC_FLOATS];
    for (int i = 0; i < MX_VEC_FLOATS; i++)
        for (int j = 0; j < MX_VEC_FLOATS; j++) square[i][j] = (float)(100 * i + j);
    mx_vf_transpose(square);
    for (int i = 0; i < MX_VEC_FLOATS; i++)
        for (int j = 0; j < MX_VEC_FLOATS; j++) assert_true(square[i][j] == (float)(100 * j + i));
}

static void test_gelu(void **state)
{
    (void)state;
    /* Where the exponent is large, its rounding counts as many times over: relative bounds near 0, absolute in the
     * left tail. */
    assert_within(worst(mx_vf_gelu, exact_gelu, -1, 40, 200000, 4e-7, 0));
    assert_within(worst(mx_vf_gelu, exact_gelu, -5, -1, 100000, 5e-6, 0));
    assert_within(worst(mx_vf_gelu, exact_gelu, -40, -5, 100000, 0, 1e-11));
    assert_within(worst(mx_vf_gelu, exact_gelu, -1e-30, 1e-30, 100, 4e-7, 0));
    assert_true(apply(mx_vf_gelu, 0.0f) == 0.0f);
    assert_true(apply(mx_vf_gelu, 0x1p-148f) == 0x1p-149f);
    assert_true(apply(mx_vf_gelu, 3e38f) == 3e38f);
    assert_true(apply(mx_vf_gelu, -3e38f) == 0.0f);
    assert_true(apply(mx_vf_gelu, -20.0f) == 0.0f);
    assert_true(apply(mx_vf_gelu, INFINITY) == INFINITY);
    assert_true(apply(mx_vf_gelu, -INFINITY) == 0.0f);
    assert_true(isnan(apply(mx_vf_gelu, NAN)));
}

static void test_gelu_grad(void **state)
{
    (void)state;
    assert_within(worst(mx_vf_gelu_grad, exact_gelu_grad, -40, 40, 400000, 4e-7, 4e-7));
    assert_within(worst(mx_vf_gelu_grad, exact_gelu_grad, -12, -5, 100000, 0, 1e-10));
    assert_true(apply(mx_vf_gelu_grad, 0.0f) == 0.5f);
    assert_true(apply(mx_vf_gelu_grad, 0x1p-149f) == 0.5f);
    assert_true(apply(mx_vf_gelu_grad, 3e38f) == 1.0f);
    assert_true(fabsf(apply(mx_vf_gelu_grad, -3e38f)) < 1e-30f);
    assert_true(apply(mx_vf_gelu_grad, INFINITY) == 1.0f);
    assert_true(isnan(apply(mx_vf_gelu_grad, NAN)));
    /* The derivative is that of the function: within 4e-7 + 4e-7 · 1.13, and what x loses as a float (3e-7 of 6, times
     * a second derivative below 1). */
    for (int i = -600; i <= 600; i++) {
        const double x = i * 0.01, h = 1e-5;
        const double slope = (exact_gelu(x + h) - exact_gelu(x - h)) / (2 * h);
        assert_true(fabs((double)apply(mx_vf_gelu_grad, (float)x) - slope) < 2e-6);
    }
}

static void test_partial(void **state)
{
    (void)state;
    float from[MX_VEC_FLOATS + 1], to[MX_VEC_FLOATS + 1];
    for (int i = 0; i <= MX_VEC_FLOATS; i++) from[i] = (float)(i + 1);
    for (int n = 0; n <= MX_VEC_FLOATS; n++) {
        const mx_vf v = mx_vf_load_n(from, n);
        for (int i = 0; i < MX_VEC_FLOATS; i++) assert_true(v[i] == (i < n ? from[i] : 0.0f));
        for (int i = 0; i <= MX_VEC_FLOATS; i++) to[i] = -1.0f;
        mx_vf_store_n(to, mx_vf_load(from), n);
        for (int i = 0; i <= MX_VEC_FLOATS; i++) assert_true(to[i] == (i < n ? from[i] : -1.0f));
    }
    /* Any alignment, and as much of the address range as lies in front of a page that may not be touched is proved by
     * the sanitizer build: the block ends where the lanes end. */
    float *exact = malloc(3 * sizeof *exact);
    assert_non_null(exact);
    for (int i = 0; i < 3; i++) exact[i] = (float)i;
    const mx_vf v = mx_vf_load_n(exact, 3);
    mx_vf_store_n(exact, v + 1.0f, 3);
    for (int i = 0; i < 3; i++) assert_true(exact[i] == (float)(i + 1));
    free(exact);
}

static void test_lanes(void **state)
{
    (void)state;
    float x[MX_VEC_FLOATS];
    for (int i = 0; i < MX_VEC_FLOATS; i++) x[i] = (float)((i * 7) % MX_VEC_FLOATS) - 2.5f;
    const mx_vf v = mx_vf_load(x);
    float sum = 0, largest = x[0];
    for (int i = 0; i < MX_VEC_FLOATS; i++) {
        sum += x[i];
        if (x[i] > largest) largest = x[i];
    }
    assert_true(mx_vf_sum(v) == sum);
    assert_true(mx_vf_largest(v) == largest);
    for (int at = 0; at < MX_VEC_FLOATS; at++) { /* no lane is forgotten */
        mx_vf one = mx_vf_set(-3.0f);
        one[at] = 5.0f;
        assert_true(mx_vf_largest(one) == 5.0f);
        assert_true(mx_vf_sum(one) == 5.0f - 3.0f * (MX_VEC_FLOATS - 1));
    }
    const mx_vd low = mx_vd_low(v), high = mx_vd_high(v);
    for (int i = 0; i < MX_VEC_DOUBLES; i++) {
        assert_true(low[i] == (double)x[i]);
        assert_true(high[i] == (double)x[i + MX_VEC_DOUBLES]);
    }
    assert_true(mx_vd_sum(low + high) == (double)sum);

    const mx_vf zero = {0}, chosen = mx_vf_select(v > zero, v, zero - 1.0f);
    const mx_vf bounded = mx_vf_clamp(v, -1.0f, 2.0f), root = mx_vf_sqrt(v * v), plain = mx_vf_abs(v);
    for (int i = 0; i < MX_VEC_FLOATS; i++) {
        assert_true(chosen[i] == (x[i] > 0 ? x[i] : -1.0f));
        assert_true(bounded[i] == fminf(2.0f, fmaxf(-1.0f, x[i])));
        assert_true(root[i] == fabsf(x[i]));
        assert_true(plain[i] == fabsf(x[i]));
    }
    assert_true(isnan(mx_vf_clamp(mx_vf_set(NAN), -1.0f, 1.0f)[0]));
    assert_true(signbit(mx_vf_set(-0.0f)[0]) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log),       cmocka_unit_test(test_sqrt_near), cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_exp),       cmocka_unit_test(test_tanh),      cmocka_unit_test(test_gelu),
        cmocka_unit_test(test_gelu_grad), cmocka_unit_test(test_partial),   cmocka_unit_test(test_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
