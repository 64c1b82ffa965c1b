/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The convolutions of three taps at the widths that take Winograd's way (the random cases of the other test_ops_* reach
 * it too): sequences of every short length, more workers than this machine has cores, and how much larger than
 * that of a plain sum the rounding error is.
 *
 * The kernels are called directly, worker after worker: these know no barriers, so nothing waits.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "device/cpu/cpu.h"
#include "myxtts/ops.h"

/* Every length up to two tiles and a row, empty ones at the ends and between, and some that fill panels. */
static const int32_t lengths[] = {0, 5, 0, 1, 2, 3, 4, 0, 6, 7, 8, 9, 1, 1, 250, 2, 131, 3, 0};
#define SEQUENCES ((int)(sizeof lengths / sizeof *lengths))

/* One convolution: its operands, and room for the results of its three kernels. */
struct conv {
    int64_t in, out, rows;
    int sequences;
    int32_t ends[SEQUENCES + 1];
    float *x, *w, *bias, *dy; /* in */
    float *y, *pre, *dx, *dw; /* out */
    int64_t x_count, y_count, w_count;
};

static const struct mx_cpu_kernels *kernels;
static void *scratch;

static int setup(void **state)
{
    (void)state;
    scratch = mx_alloc_aligned(MX_CPU_SCRATCH_BYTES, 64);
    return scratch && mx_cpu_kernels_choose(getenv("MYXTTS_ISA"), &kernels) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    mx_free(scratch);
    return 0;
}

static float *take(int64_t count, uint64_t stream, double scale)
{
    float *data = mx_alloc((size_t)count, sizeof *data);
    assert_non_null(data);
    for (int64_t i = 0; i < count; i++) data[i] = (float)scale * mx_rng_normal(7, stream, (uint64_t)i);
    return data;
}

static struct conv conv_make(int64_t in, int64_t out)
{
    struct conv v = {.in = in, .out = out, .sequences = SEQUENCES};
    for (int s = 0; s < SEQUENCES; s++) v.ends[s + 1] = v.ends[s] + lengths[s];
    v.rows = v.ends[SEQUENCES];
    v.x_count = v.rows * in;
    v.y_count = v.rows * out;
    v.w_count = 3 * in * out;
    v.x = take(v.x_count, 1, 1);
    v.w = take(v.w_count, 2, 1 / sqrt(3.0 * (double)in));
    v.bias = take(out, 3, 1);
    v.dy = take(v.y_count, 4, 1);
    v.y = take(v.y_count, 5, 1);
    v.pre = take(v.y_count, 6, 1);
    v.dx = take(v.x_count, 7, 1);
    v.dw = take(v.w_count, 8, 1);
    return v;
}

static void conv_release(struct conv *v)
{
    float *const all[] = {v->x, v->w, v->bias, v->dy, v->y, v->pre, v->dx, v->dw};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) mx_free(all[i]);
}

/* Runs the three kernels as a gang of `workers` would. */
static void conv_run(struct conv *v, int workers, enum mx_activation act)
{
    struct mx_buffer x = {.host = v->x}, w = {.host = v->w}, bias = {.host = v->bias}, dy = {.host = v->dy};
    struct mx_buffer y = {.host = v->y}, pre = {.host = v->pre}, dx = {.host = v->dx}, dw = {.host = v->dw};
    struct mx_buffer ends = {.host = v->ends};
    const struct mx_ragged rows = {.offsets = {.buffer = &ends}, .count = v->sequences, .rows = (int32_t)v->rows};
    const struct mx_conv1d_args forward = {
        .x = {.buffer = &x},
        .w = {.buffer = &w},
        .y = {.buffer = &y},
        .rows = rows,
        .in_width = v->in,
        .out_width = v->out,
        .taps = 3,
        .epilogue = {.bias = {.buffer = &bias}, .act = act, .pre = {.buffer = &pre}}};
    const struct mx_conv1d_grad_input_args to_input = {.dy = {.buffer = &dy},
                                                       .w = {.buffer = &w},
                                                       .dx = {.buffer = &dx},
                                                       .rows = rows,
                                                       .in_width = v->in,
                                                       .out_width = v->out,
                                                       .taps = 3};
    const struct mx_conv1d_grad_weight_args to_weight = {.x = {.buffer = &x},
                                                         .dy = {.buffer = &dy},
                                                         .dw = {.buffer = &dw},
                                                         .rows = rows,
                                                         .in_width = v->in,
                                                         .out_width = v->out,
                                                         .taps = 3};
    for (int worker = 0; worker < workers; worker++) {
        const struct mx_gang gang = {.worker = worker, .workers = workers, .scratch = scratch};
        memset(scratch, 0xff, MX_CPU_SCRATCH_BYTES); /* NaN: nothing may be used that was not written */
        kernels->run[MX_OP_conv1d](&gang, &forward);
        kernels->run[MX_OP_conv1d_grad_input](&gang, &to_input);
        kernels->run[MX_OP_conv1d_grad_weight](&gang, &to_weight);
    }
}

static bool same(const float *a, const float *b, int64_t count)
{
    return memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

static void workers_change_no_bit(void **state)
{
    (void)state;
    static const int64_t widths[][2] = {{48, 100}, {200, 64}, {97, 420}};
    static const int workers[] = {2, 3, 5, 8, 16, 61};
    for (int i = 0; i < 3; i++) {
        struct conv one = conv_make(widths[i][0], widths[i][1]), many = conv_make(widths[i][0], widths[i][1]);
        conv_run(&one, 1, MX_ACT_GELU);
        for (int k = 0; k < 6; k++) {
            memset(many.y, 0xff, (size_t)many.y_count * sizeof(float));
            memset(many.pre, 0xff, (size_t)many.y_count * sizeof(float));
            memset(many.dx, 0xff, (size_t)many.x_count * sizeof(float));
            memset(many.dw, 0xff, (size_t)many.w_count * sizeof(float));
            conv_run(&many, workers[k], MX_ACT_GELU);
            assert_true(same(one.y, many.y, one.y_count));
            assert_true(same(one.pre, many.pre, one.y_count));
            assert_true(same(one.dx, many.dx, one.x_count));
            assert_true(same(one.dw, many.dw, one.w_count));
        }
        conv_release(&one);
        conv_release(&many);
    }
}

static void company_changes_no_bit(void **state)
{
    (void)state;
    struct conv all = conv_make(200, 97), one = conv_make(200, 97);
    conv_run(&all, 2, MX_ACT_RELU);
    for (int s = 0; s < SEQUENCES; s++) {
        const int64_t first = all.ends[s], rows = lengths[s];
        struct conv alone = one;
        alone.sequences = 1;
        alone.rows = alone.ends[1] = (int32_t)rows;
        alone.x += first * alone.in;
        alone.dy += first * alone.out;
        conv_run(&alone, 1, MX_ACT_RELU);
        assert_true(same(alone.y, all.y + first * all.out, rows * all.out));
        assert_true(same(alone.pre, all.pre + first * all.out, rows * all.out));
        assert_true(same(alone.dx, all.dx + first * all.in, rows * all.in));
    }
    conv_release(&all);
    conv_release(&one);
}

/* What was computed, what a plain sum in single precision makes, and the truth: sums of squared errors so far. */
struct errors {
    double ours, plain;
};

static void errors_add(struct errors *e, double ours, float plain, double truth)
{
    e->ours += (ours - truth) * (ours - truth);
    e->plain += ((double)plain - truth) * ((double)plain - truth);
}

/* Measured 1.19 to 1.44 for the three kernels (SSE, AVX2, AVX-512). The points 0, ±1, ±2, ∞ made it 1.97 in a model of
 * the forward pass, which the bound must refuse. It lies in the middle of the two: the ratio of two errors, each of
 * them a mean over thousands of outputs, belongs to the points, and hardly depends on the order of a sum. */
static void errs_little_more_than_plain_sums(void **state)
{
    (void)state;
    struct conv v = conv_make(192, 64);
    struct errors forward = {0}, to_input = {0}, to_weight = {0};
    conv_run(&v, 1, MX_ACT_NONE);
    const int s = 14; /* the longest sequence */
    for (int64_t r = v.ends[s]; r < v.ends[s + 1]; r++) {
        for (int64_t o = 0; o < v.out; o += 7) {
            double truth = 0;
            float plain = 0;
            for (int64_t tap = 0; tap < 3; tap++) {
                const int64_t from = r + tap - 1;
                for (int64_t i = 0; from >= v.ends[s] && from < v.ends[s + 1] && i < v.in; i++) {
                    const float a = v.x[from * v.in + i], b = v.w[(tap * v.in + i) * v.out + o];
                    truth += (double)a * (double)b;
                    plain = fmaf(a, b, plain);
                }
            }
            errors_add(&forward, (double)v.pre[r * v.out + o], plain + v.bias[o], truth + (double)v.bias[o]);
        }
        for (int64_t i = 0; i < v.in; i += 7) {
            double truth = 0;
            float plain = 0;
            for (int64_t tap = 0; tap < 3; tap++) {
                const int64_t from = r - tap + 1;
                for (int64_t o = 0; from >= v.ends[s] && from < v.ends[s + 1] && o < v.out; o++) {
                    const float a = v.dy[from * v.out + o], b = v.w[(tap * v.in + i) * v.out + o];
                    truth += (double)a * (double)b;
                    plain = fmaf(a, b, plain);
                }
            }
            errors_add(&to_input, (double)v.dx[r * v.in + i], plain, truth);
        }
    }
    for (int64_t k = 0; k < 3 * v.in; k += 5)
        for (int64_t o = 0; o < v.out; o += 3) {
            double truth = 0;
            float plain = 0;
            for (int q = 0; q < SEQUENCES; q++)
                for (int64_t r = v.ends[q]; r < v.ends[q + 1]; r++) {
                    const int64_t from = r + k / v.in - 1;
                    if (from < v.ends[q] || from >= v.ends[q + 1]) continue;
                    const float a = v.x[from * v.in + k % v.in], b = v.dy[r * v.out + o];
                    truth += (double)a * (double)b;
                    plain = fmaf(a, b, plain);
                }
            errors_add(&to_weight, (double)v.dw[k * v.out + o], plain, truth);
        }
    const struct errors *const all[] = {&forward, &to_input, &to_weight};
    for (int i = 0; i < 3; i++) {
        const double ratio = sqrt(all[i]->ours / all[i]->plain);
        if (!(ratio < 1.7)) fail_msg("kernel %d errs %.2f times as much as a plain sum", i, ratio);
    }
    conv_release(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_change_no_bit),
        cmocka_unit_test(company_changes_no_bit),
        cmocka_unit_test(errs_little_more_than_plain_sums),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
