/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every gradient, computed by the device in float, against central differences of the double-precision reference of
 * its forward operation. With L = Σ g · y for random g, each element of each input is moved by ±h; h² and rounding
 * in double are both far below the bound, so what is measured is the device. The bound is that of device/cases/op_bound.c for
 * the operation, and for the forward pass where its results are operands: what is of the size of 1, which cases are
 * scaled to, errs by as much as it was rounded on the way.
 *
 * X_grad is tied to X by names: an input called as an operand of X gets X's value (from the device's own
 * forward pass), dY of an output Y gets g, and an output dX must be ∂L/∂X. Operations without a gradient of their own
 * (matrix multiply, convolution, bias, rotary, dropout, residual add, loss) follow one by one.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "myxtts/error.h"
#include "ops/case.h"
#include "ops/reference.h"

#define CASES 12
#define STEP  1e-5

static const struct mx_op_plan tiny = {.size = MX_OP_TINY, .plain = true};

static void run(struct op_cpu *cpu, const struct mx_op_case *c, struct mx_op_result *result)
{
    if (mx_op_case_run(c, cpu->device, result) < 0)
        fail_msg("%s seed %llu: %s", mx_op_name(c->op), (unsigned long long)c->seed, mx_error_last()->message);
}

/* `count` analytic values against exact ones, within `bound` of the largest, or of 1; NaN of the exact (gaps) is
 * skipped. */
static void compare(const char *what, uint64_t seed, const float *analytic, const double *exact, int64_t count,
                    double bound)
{
    double scale = 1;
    for (int64_t i = 0; i < count; i++)
        if (fabs(exact[i]) > scale) scale = fabs(exact[i]);
    for (int64_t i = 0; i < count; i++)
        if (!isnan(exact[i]) && !(fabs((double)analytic[i] - exact[i]) <= bound * scale))
            fail_msg("%s seed %llu: element %lld is %.9g, differences say %.9g (bound %.3g)", what,
                     (unsigned long long)seed, (long long)i, (double)analytic[i], exact[i], bound * scale);
}

/* ---- differences of one operation ---- */

/* g of one output: L = Σ g · output. */
struct weight {
    int storage;
    const float *g;
};

static double weighted(const struct mx_op_case *c, const struct weight *weights, int count, int storage, int64_t at,
                       double move)
{
    double *values[MX_OP_TENSORS_MAX], sum = 0;
    reference_load(c, values);
    values[storage][at] += move;
    reference_run(c, values);
    for (int w = 0; w < count; w++) {
        const struct mx_op_storage *output = &c->storages[weights[w].storage];
        for (int64_t i = 0; i < output->count; i++)
            if (i % output->stride < output->width) sum += (double)weights[w].g[i] * values[weights[w].storage][i];
    }
    reference_unload(c, values);
    return sum;
}

/* ∂L/∂storage into a new array; gaps are NaN. */
static double *differences(const struct mx_op_case *c, const struct weight *weights, int count, int storage)
{
    const struct mx_op_storage *input = &c->storages[storage];
    double *slope = reference_take(input->count);
    for (int64_t i = 0; i < input->count; i++)
        slope[i] =
            i % input->stride >= input->width
                ? (double)NAN
                : (weighted(c, weights, count, storage, i, STEP) - weighted(c, weights, count, storage, i, -STEP)) /
                      (2 * STEP);
    return slope;
}

/* ---- operations with a gradient of their own ---- */

/* Gives the inputs of `grad` the values that the forward pass had and made. */
static void hand_over(const struct mx_op_case *forward, const struct mx_op_result *made, struct mx_op_case *grad)
{
    for (int i = 0; i < grad->tensor_count; i++) {
        const struct mx_op_tensor *to = &grad->tensors[i], *from = mx_op_case_tensor(forward, to->name);
        if (!from || to->role != MX_OP_IN) continue;
        const struct mx_op_storage *source = &forward->storages[from->storage], *target = &grad->storages[to->storage];
        assert_int_equal(source->count, target->count);
        const struct mx_op_output *output = mx_op_result_output(made, from->name);
        memcpy(target->data, from->role == MX_OP_IN ? source->data : output->bits, (size_t)source->count * 4);
    }
}

static int collect_weights(const struct mx_op_case *forward, const struct mx_op_case *grad, struct weight *weights)
{
    int count = 0;
    for (int i = 0; i < forward->tensor_count; i++) {
        char name[32] = "d";
        strncat(name, forward->tensors[i].name, sizeof name - 2);
        const struct mx_op_tensor *g = mx_op_case_tensor(grad, name);
        if (forward->tensors[i].role != MX_OP_OUT || !g) continue;
        assert_int_equal(grad->storages[g->storage].count, forward->storages[forward->tensors[i].storage].count);
        weights[count++] = (struct weight){forward->tensors[i].storage, grad->storages[g->storage].data};
    }
    return count;
}

/* Compares every output dX of the gradient; returns how many there were. */
static int compare_outputs(const struct mx_op_case *forward, const struct mx_op_case *grad,
                           const struct mx_op_result *result)
{
    struct weight weights[MX_OP_TENSORS_MAX];
    const int weight_count = collect_weights(forward, grad, weights);
    int compared = 0;
    assert_true(weight_count > 0);
    for (int i = 0; i < grad->tensor_count; i++) {
        const struct mx_op_tensor *to = &grad->tensors[i];
        const struct mx_op_tensor *from = mx_op_case_tensor(forward, to->name + 1);
        if (to->role == MX_OP_IN || to->role == MX_OP_SCRATCH || !from) continue;
        double *slope = differences(forward, weights, weight_count, from->storage);
        const struct mx_op_storage *input = &forward->storages[from->storage], *output = &grad->storages[to->storage];
        const float *analytic = mx_op_result_output(result, to->name)->values, *initial = output->data;
        /* Rows of input and gradient may lie differently far apart. */
        const int64_t rows = input->count ? (input->count - input->width) / input->stride + 1 : 0;
        for (int64_t r = 0; r < rows; r++) {
            double *exact = slope + r * input->stride;
            if (to->role == MX_OP_INOUT)
                for (int64_t k = 0; k < input->width; k++) exact[k] += (double)initial[r * output->stride + k];
        }
        for (int64_t r = 0; r < rows; r++)
            compare(to->name, grad->seed, analytic + r * output->stride, slope + r * input->stride, input->width,
                    mx_op_bound(forward) + mx_op_bound(grad));
        mx_free(slope);
        compared++;
    }
    return compared;
}

static void pair(struct op_cpu *cpu, enum mx_op forward_op, enum mx_op grad_op)
{
    for (uint64_t seed = 0; seed < CASES; seed++) {
        struct mx_op_case forward, grad;
        struct mx_op_result made, result;
        op_case_make(&forward, forward_op, seed, tiny);
        op_case_make(&grad, grad_op, seed, tiny);
        run(cpu, &forward, &made);
        hand_over(&forward, &made, &grad);
        run(cpu, &grad, &result);
        assert_true(compare_outputs(&forward, &grad, &result) > 0);
        mx_op_result_release(&result);
        mx_op_result_release(&made);
        mx_op_case_release(&grad);
        mx_op_case_release(&forward);
    }
}

#define OP_SOLO(name)
#define OP_PAIR(name)                                                                                                  \
    static void grad_##name(void **state)                                                                              \
    {                                                                                                                  \
        pair(*state, MX_OP_##name, MX_OP_##name##_grad);                                                               \
    }
MX_OP_LIST(OP_PAIR, OP_SOLO)
#undef OP_PAIR
#undef OP_SOLO

static void grad_conv1d(void **state)
{
    pair(*state, MX_OP_conv1d, MX_OP_conv1d_grad_input);
    pair(*state, MX_OP_conv1d, MX_OP_conv1d_grad_weight);
}

/* ---- operations that are their own gradient ---- */

/* The same operation on g instead of `input`, compared with the differences of the forward pass. */
static void own_gradient(struct op_cpu *cpu, struct mx_op_case *c, const char *input, const char *output,
                         void (*turn)(struct mx_op_case *))
{
    struct mx_op_result result;
    const struct mx_op_tensor *from = mx_op_case_tensor(c, input);
    struct mx_op_storage *storage = &c->storages[from->storage];
    float *g = mx_alloc((size_t)storage->count, sizeof *g);
    assert_non_null(g);
    for (int64_t i = 0; i < storage->count; i++) g[i] = mx_rng_normal(c->seed, 3, (uint64_t)i);
    const struct weight weight = {mx_op_case_tensor(c, output)->storage, g};
    double *slope = differences(c, &weight, 1, from->storage);
    for (int64_t i = 0; i < storage->count; i++)
        if (i % storage->stride < storage->width) ((float *)storage->data)[i] = g[i];
    if (turn) turn(c);
    run(cpu, c, &result);
    compare(mx_op_name(c->op), c->seed, mx_op_result_output(&result, output)->values, slope, storage->count,
            mx_op_bound(c));
    mx_op_result_release(&result);
    mx_free(slope);
    mx_free(g);
}

static void turn_back(struct mx_op_case *c)
{
    struct mx_rotary_args *a = (void *)c->args;
    a->inverse = !a->inverse;
}

/* y = 0 + factor · b: what reaches b. */
static void drop_first(struct mx_op_case *c)
{
    const struct mx_residual_add_args *a = (const void *)c->args;
    memset(mx_op_case_data(c, "a"), 0, (size_t)a->count * sizeof(float));
}

static void grad_of_itself(void **state)
{
    for (uint64_t seed = 0; seed < CASES; seed++) {
        struct mx_op_case c;
        op_case_make(&c, MX_OP_rotary, seed, tiny);
        own_gradient(*state, &c, "x", "x", turn_back);
        mx_op_case_release(&c);
        op_case_make(&c, MX_OP_dropout, seed, tiny);
        own_gradient(*state, &c, "x", "y", NULL);
        mx_op_case_release(&c);
        op_case_make(&c, MX_OP_residual_add, seed, tiny);
        own_gradient(*state, &c, "b", "y", drop_first);
        mx_op_case_release(&c);
    }
}

static void grad_loss(void **state)
{
    for (uint64_t seed = 0; seed < CASES; seed++) {
        struct mx_op_case c;
        struct mx_op_result result;
        op_case_make(&c, MX_OP_sequence_loss, seed, tiny);
        const struct mx_sequence_loss_args *const a = (const void *)c.args;
        const int values = mx_op_case_tensor(&c, "values")->storage;
        const int prediction = mx_op_case_tensor(&c, "prediction")->storage;
        float *const shares = mx_alloc((size_t)c.storages[values].count + 1, sizeof *shares);
        for (int64_t i = 0; i < c.storages[values].count; i++) shares[i] = a->factor / a->scale;
        const struct weight weight = {values, shares};
        double *slope = differences(&c, &weight, 1, prediction);
        run(*state, &c, &result);
        compare("sequence_loss", seed, mx_op_result_output(&result, "dprediction")->values, slope,
                c.storages[prediction].count, mx_op_bound(&c));
        mx_op_result_release(&result);
        mx_free(slope);
        mx_free(shares);
        mx_op_case_release(&c);
    }
}

/* ---- composition: a feed-forward block with fused epilogues, as the model uses them ---- */

/* Y = act(X ∗ W1 + b1) ∗ W2 + b2 + X, where ∗ is a matrix product (taps 0) or a convolution. */
struct block {
    int64_t rows, n, hidden;
    int32_t taps;
    enum mx_activation act;
    int32_t ends[4];
};

enum { X, W1, B1, W2, B2, INPUTS };

static int64_t block_count(const struct block *b, int input)
{
    const int64_t taps = b->taps ? b->taps : 1;
    const int64_t counts[] = {b->rows * b->n, taps * b->n * b->hidden, b->hidden, taps * b->hidden * b->n, b->n};
    return counts[input];
}

static void block_product(const struct block *b, const double *x, const double *w, const double *bias, int64_t in,
                          int64_t out, double *y)
{
    const int64_t taps = b->taps ? b->taps : 1;
    for (int s = 0; s < 3; s++)
        for (int64_t r = b->ends[s]; r < b->ends[s + 1]; r++)
            for (int64_t o = 0; o < out; o++) {
                double sum = bias[o];
                for (int64_t tap = 0; tap < taps; tap++) {
                    const int64_t from = r + tap - taps / 2;
                    for (int64_t i = 0; i < in && from >= b->ends[s] && from < b->ends[s + 1]; i++)
                        sum += x[from * in + i] * w[(tap * in + i) * out + o];
                }
                y[r * out + o] = sum;
            }
}

static double block_loss(const struct block *b, double *const in[INPUTS], const float *g)
{
    double *h = reference_take(b->rows * b->hidden), *y = reference_take(b->rows * b->n), sum = 0;
    block_product(b, in[X], in[W1], in[B1], b->n, b->hidden, h);
    for (int64_t i = 0; i < b->rows * b->hidden; i++) h[i] = reference_act(b->act, h[i]);
    block_product(b, h, in[W2], in[B2], b->hidden, b->n, y);
    for (int64_t i = 0; i < b->rows * b->n; i++) sum += (double)g[i] * (y[i] + in[X][i]);
    mx_free(h);
    mx_free(y);
    return sum;
}

/* One float buffer; contents from `from` unless NULL. */
static struct mx_slice block_slice(struct mx_stream *stream, const void *from, int64_t count)
{
    struct mx_buffer *buffer = NULL;
    assert_int_equal(mx_buffer_create(mx_stream_device(stream), "block", (size_t)count * 4, &buffer), 0);
    if (from) assert_int_equal(mx_copy_upload(stream, mx_slice_at(buffer, 0), from, (size_t)count * 4), 0);
    return mx_slice_at(buffer, 0);
}

/* One product of the block or of its backward pass, as matrix multiply or as convolution. */
enum product { FORWARD, TO_INPUT, TO_WEIGHT };

static void block_submit(struct mx_stream *stream, const struct block *b, struct mx_slice offsets, enum product kind,
                         struct mx_slice left, struct mx_slice right, struct mx_slice to, int64_t in, int64_t out,
                         struct mx_epilogue e)
{
    const struct mx_ragged rows = {
        .offsets = offsets, .count = 3, .rows = (int32_t)b->rows, .max_rows = (int32_t)b->rows};
    int rc;
    if (b->taps == 0) {
        struct mx_matmul_args a = {.a = left, .b = right, .c = to, .m = b->rows, .n = out, .k = in, .epilogue = e};
        if (kind == TO_INPUT) {
            a.n = in;
            a.k = out;
            a.transpose_b = true;
        } else if (kind == TO_WEIGHT) {
            a.m = in;
            a.k = b->rows;
            a.transpose_a = true;
        }
        rc = mx_matmul(stream, &a);
    } else if (kind == FORWARD) {
        rc = mx_conv1d(stream, &(struct mx_conv1d_args){.x = left,
                                                        .w = right,
                                                        .y = to,
                                                        .rows = rows,
                                                        .in_width = in,
                                                        .out_width = out,
                                                        .taps = b->taps,
                                                        .epilogue = e});
    } else if (kind == TO_INPUT) {
        rc = mx_conv1d_grad_input(stream, &(struct mx_conv1d_grad_input_args){.dy = left,
                                                                              .w = right,
                                                                              .dx = to,
                                                                              .rows = rows,
                                                                              .in_width = in,
                                                                              .out_width = out,
                                                                              .taps = b->taps,
                                                                              .epilogue = e});
    } else {
        rc = mx_conv1d_grad_weight(
            stream,
            &(struct mx_conv1d_grad_weight_args){
                .x = left, .dy = right, .dw = to, .rows = rows, .in_width = in, .out_width = out, .taps = b->taps});
    }
    if (rc < 0) fail_msg("%s", mx_error_last()->message);
}

/* Forward and backward on the device; grads[] get the five gradients. */
static void block_backward(struct mx_device *device, const struct block *b, float *const in[INPUTS], const float *g,
                           float *const grads[INPUTS])
{
    struct mx_stream *stream = NULL;
    struct mx_slice v[INPUTS], d[INPUTS];
    const int64_t inner = b->rows * b->hidden, outer = b->rows * b->n;
    assert_int_equal(mx_stream_create(device, "block", &stream), 0);
    for (int i = 0; i < INPUTS; i++) v[i] = block_slice(stream, in[i], block_count(b, i));
    for (int i = 0; i < INPUTS; i++) d[i] = block_slice(stream, NULL, block_count(b, i));
    struct mx_slice more[] = {block_slice(stream, b->ends, 4),  block_slice(stream, NULL, inner),
                              block_slice(stream, NULL, inner), block_slice(stream, NULL, inner),
                              block_slice(stream, NULL, outer), block_slice(stream, g, outer)};
    const struct mx_slice ends = more[0], pre = more[1], h = more[2], dz = more[3], y = more[4], dy = more[5];
    const struct mx_epilogue first = {.bias = v[B1], .act = b->act, .pre = pre};
    const struct mx_epilogue second = {.bias = v[B2], .residual = v[X]};
    const struct mx_epilogue slope = {.act = b->act, .act_grad = true, .pre = pre}, skip_over = {.residual = dy};
    const struct mx_epilogue plain = {.act = MX_ACT_NONE};
    block_submit(stream, b, ends, FORWARD, v[X], v[W1], h, b->n, b->hidden, first);
    block_submit(stream, b, ends, FORWARD, h, v[W2], y, b->hidden, b->n, second);
    block_submit(stream, b, ends, TO_WEIGHT, h, dy, d[W2], b->hidden, b->n, plain);
    block_submit(stream, b, ends, TO_INPUT, dy, v[W2], dz, b->hidden, b->n, slope);
    block_submit(stream, b, ends, TO_WEIGHT, v[X], dz, d[W1], b->n, b->hidden, plain);
    block_submit(stream, b, ends, TO_INPUT, dz, v[W1], d[X], b->n, b->hidden, skip_over);
    struct mx_bias_grad_args bias = {.dy = dy, .db = d[B2], .rows = b->rows, .n = b->n};
    assert_int_equal(mx_bias_grad(stream, &bias), 0);
    bias = (struct mx_bias_grad_args){.dy = dz, .db = d[B1], .rows = b->rows, .n = b->hidden};
    assert_int_equal(mx_bias_grad(stream, &bias), 0);
    for (int i = 0; i < INPUTS; i++)
        assert_int_equal(mx_copy_download(stream, grads[i], d[i], (size_t)block_count(b, i) * 4), 0);
    if (mx_stream_sync(stream) < 0) fail_msg("%s", mx_error_last()->message);
    for (int i = 0; i < INPUTS; i++) {
        mx_buffer_release(v[i].buffer);
        mx_buffer_release(d[i].buffer);
    }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) mx_buffer_release(more[i].buffer);
    mx_stream_release(stream);
}

static void block_check(struct op_cpu *cpu, const struct block *b, uint64_t seed)
{
    static const char *const names[INPUTS] = {"block dX", "block dW1", "block db1", "block dW2", "block db2"};
    float *in[INPUTS], *grads[INPUTS], *g = mx_alloc((size_t)(b->rows * b->n), sizeof *g);
    double *exact[INPUTS];
    for (int64_t i = 0; i < b->rows * b->n; i++) g[i] = mx_rng_normal(seed, 9, (uint64_t)i);
    for (int k = 0; k < INPUTS; k++) {
        const int64_t count = block_count(b, k);
        in[k] = mx_alloc((size_t)count, sizeof **in);
        grads[k] = mx_alloc((size_t)count, sizeof **grads);
        exact[k] = reference_take(count);
        for (int64_t i = 0; i < count; i++) {
            in[k][i] = mx_rng_normal(seed, 10 + (uint64_t)k, (uint64_t)i) * 0.7f;
            exact[k][i] = (double)in[k][i];
        }
    }
    block_backward(cpu->device, b, in, g, grads);
    const int64_t across = (b->taps ? b->taps : 1) * b->hidden, terms = across > b->rows ? across : b->rows;
    for (int k = 0; k < INPUTS; k++) {
        const int64_t count = block_count(b, k);
        double *slope = reference_take(count);
        for (int64_t i = 0; i < count; i++) {
            exact[k][i] = (double)in[k][i] + STEP;
            const double up = block_loss(b, exact, g);
            exact[k][i] = (double)in[k][i] - STEP;
            slope[i] = (up - block_loss(b, exact, g)) / (2 * STEP);
            exact[k][i] = (double)in[k][i];
        }
        /* Two products there and two back, each with an epilogue; no sum is longer than a row of weights or the rows.
         */
        compare(names[k], seed, grads[k], slope, count, mx_op_rounding(4 * 16, 4, terms));
        mx_free(slope);
    }
    for (int k = 0; k < INPUTS; k++) {
        mx_free(in[k]);
        mx_free(grads[k]);
        mx_free(exact[k]);
    }
    mx_free(g);
}

static void grad_feed_forward(void **state)
{
    static const int32_t taps[] = {0, 1, 3, 5, 7};
    uint64_t seed = 0;
    for (int t = 0; t < 5; t++) {
        for (int act = MX_ACT_RELU; act <= MX_ACT_GELU; act++) {
            const struct block b = {
                .rows = 9, .n = 5, .hidden = 7, .taps = taps[t], .act = (enum mx_activation)act, .ends = {0, 4, 4, 9}};
            block_check(*state, &b, seed++);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define OP_SOLO(name)
#define OP_PAIR(name) cmocka_unit_test(grad_##name),
        MX_OP_LIST(OP_PAIR, OP_SOLO)
#undef OP_PAIR
#undef OP_SOLO
            cmocka_unit_test(grad_conv1d),
        cmocka_unit_test(grad_of_itself),
        cmocka_unit_test(grad_loss),
        cmocka_unit_test(grad_feed_forward),
    };
    return cmocka_run_group_tests(tests, op_group_open, op_group_close);
}
