/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random cases of the operations on packed sequences and segments.
 */
#include <math.h>

#include "device/op_case.h"

#define ROWS(r, n)  ((struct mx_op_shape){.layout = MX_OP_ROWS, .rows = (r), .width = (n)})
#define SEGMENTS(n) ((struct mx_op_shape){.layout = MX_OP_SEGMENTS, .rows = c->sequences, .width = (n)})

/* ---- rotary positions ---- */

void mx_op_make_rotary_table(struct mx_op_case *c)
{
    MX_OP_ARGS(rotary_table);
    a->positions = c->plan.size == MX_OP_LARGE ? 3000 : mx_op_draw_rows(c);
    a->head_width = 2 * mx_op_draw_width(c);
    a->base = 10000;
    mx_op_add(c, "table", MX_OP_AT(rotary_table, table), MX_OP_OUT,
              (struct mx_op_shape){.rows = a->positions, .width = a->head_width}, 0);
    MX_OP_DIM(rotary_table, positions, MX_OP_DIM_FIXED);
    MX_OP_DIM(rotary_table, head_width, MX_OP_DIM_FIXED);
}

void mx_op_make_rotary(struct mx_op_case *c)
{
    MX_OP_ARGS(rotary);
    const int64_t rows = mx_op_draw_sequences(c, -1);
    a->heads = mx_op_draw(c, 1, 3);
    a->head_width = 2 * mx_op_draw_width(c);
    a->stride = a->heads * a->head_width + (mx_op_flip(c) ? mx_op_draw(c, 1, 2 * a->head_width) : 0);
    a->inverse = !c->plan.plain && mx_op_flip(c);
    struct mx_op_shape x = ROWS(rows, a->heads * a->head_width);
    x.stride = a->stride;
    mx_op_add(c, "x", MX_OP_AT(rotary, x), MX_OP_INOUT, x, 1);
    mx_op_add_packed(c, MX_OP_AT(rotary, rows));
    a->positions = a->rows.max_rows + mx_op_draw(c, 0, 3);
    mx_op_add(c, "table", MX_OP_AT(rotary, table), MX_OP_IN,
              (struct mx_op_shape){.rows = a->positions, .width = a->head_width}, 0.7);
    MX_OP_DIM(rotary, heads, MX_OP_DIM_FIXED);
    MX_OP_DIM(rotary, head_width, MX_OP_DIM_FIXED);
    MX_OP_DIM(rotary, stride, MX_OP_DIM_FIXED);
    MX_OP_DIM(rotary, positions, MX_OP_DIM_FIXED);
}

/* ---- attention ---- */

/* Three tensors of rows × width, either in one storage side by side or each in its own; returns the row stride. */
static int64_t add_three(struct mx_op_case *c, const char *const names[3], const size_t at[3], enum mx_op_role role,
                         int64_t rows, int64_t width)
{
    const bool together = mx_op_flip(c) && !c->plan.plain;
    const int64_t gap = mx_op_flip(c) ? mx_op_draw(c, 1, 9) : 0;
    struct mx_op_shape shape = ROWS(rows, together ? 3 * width : width);
    shape.stride = shape.width + gap;
    const int storage = mx_op_add(c, names[0], at[0], role, shape, 1);
    if (together && rows) c->tensors[c->tensor_count - 1].need -= 2 * width;
    for (int i = 1; i < 3; i++) {
        if (together)
            mx_op_share(c, names[i], at[i], role, storage, i * width, width);
        else
            mx_op_add(c, names[i], at[i], role, shape, 1);
    }
    return shape.stride;
}

static int64_t draw_head_width(struct mx_op_case *c)
{
    static const int64_t widths[] = {1, 3, 8, 16, 17, 24, 32, 48, 64, 96, 100};
    if (c->plan.size == MX_OP_TINY) return mx_op_draw(c, 1, 4);
    if (c->plan.size == MX_OP_LARGE) return mx_op_flip(c) ? 96 : 40;
    return widths[mx_op_draw(c, 0, 10)];
}

void mx_op_make_attention(struct mx_op_case *c)
{
    MX_OP_ARGS(attention);
    static const char *const names[] = {"q", "k", "v"};
    const size_t at[] = {MX_OP_AT(attention, q), MX_OP_AT(attention, k), MX_OP_AT(attention, v)};
    const int64_t rows = mx_op_draw_sequences(c, -1);
    a->heads = mx_op_draw(c, 1, 3);
    a->head_width = draw_head_width(c);
    const int64_t width = a->heads * a->head_width;
    a->out_stride = width + (mx_op_flip(c) ? mx_op_draw(c, 1, 9) : 0);
    a->factor = 1 / sqrtf((float)a->head_width);
    a->stride = add_three(c, names, at, MX_OP_IN, rows, width);
    struct mx_op_shape out = ROWS(rows, width);
    out.stride = a->out_stride;
    mx_op_add(c, "out", MX_OP_AT(attention, out), MX_OP_OUT, out, 0);
    mx_op_add(c, "lse", MX_OP_AT(attention, lse), MX_OP_OUT,
              (struct mx_op_shape){.layout = MX_OP_HEAD_ROWS, .rows = rows, .width = a->heads}, 0);
    mx_op_add_packed(c, MX_OP_AT(attention, rows));
    MX_OP_DIM(attention, heads, MX_OP_DIM_FIXED);
    MX_OP_DIM(attention, head_width, MX_OP_DIM_FIXED);
    MX_OP_DIM(attention, stride, MX_OP_DIM_FIXED);
    MX_OP_DIM(attention, out_stride, MX_OP_DIM_FIXED);
}

void mx_op_make_attention_grad(struct mx_op_case *c)
{
    MX_OP_ARGS(attention_grad);
    static const char *const names[] = {"q", "k", "v"}, *const slopes[] = {"dq", "dk", "dv"};
    const size_t at[] = {MX_OP_AT(attention_grad, q), MX_OP_AT(attention_grad, k), MX_OP_AT(attention_grad, v)};
    const size_t slopes_at[] = {MX_OP_AT(attention_grad, dq), MX_OP_AT(attention_grad, dk),
                                MX_OP_AT(attention_grad, dv)};
    const int64_t rows = mx_op_draw_sequences(c, -1);
    a->heads = mx_op_draw(c, 1, 3);
    a->head_width = draw_head_width(c);
    const int64_t width = a->heads * a->head_width;
    a->out_stride = width + (mx_op_flip(c) ? mx_op_draw(c, 1, 9) : 0);
    a->factor = 1 / sqrtf((float)a->head_width);
    a->stride = add_three(c, names, at, MX_OP_IN, rows, width);
    a->grad_stride = add_three(c, slopes, slopes_at, MX_OP_OUT, rows, width);
    struct mx_op_shape out = ROWS(rows, width);
    out.stride = a->out_stride;
    const struct mx_op_shape per_head = {.layout = MX_OP_HEAD_ROWS, .rows = rows, .width = a->heads};
    mx_op_add(c, "out", MX_OP_AT(attention_grad, out), MX_OP_IN, out, 1);
    mx_op_add(c, "dout", MX_OP_AT(attention_grad, dout), MX_OP_IN, out, 1);
    mx_op_add(c, "lse", MX_OP_AT(attention_grad, lse), MX_OP_IN, per_head, 1);
    mx_op_add(c, "delta", MX_OP_AT(attention_grad, delta), MX_OP_SCRATCH, per_head, 0);
    mx_op_add_packed(c, MX_OP_AT(attention_grad, rows));
    MX_OP_DIM(attention_grad, heads, MX_OP_DIM_FIXED);
    MX_OP_DIM(attention_grad, head_width, MX_OP_DIM_FIXED);
    MX_OP_DIM(attention_grad, stride, MX_OP_DIM_FIXED);
    MX_OP_DIM(attention_grad, out_stride, MX_OP_DIM_FIXED);
    MX_OP_DIM(attention_grad, grad_stride, MX_OP_DIM_FIXED);
}

/* ---- convolution ---- */

struct conv {
    int64_t rows, in, out;
    int32_t taps;
    double scale; /* of the weights, so that sums are about 1 */
};

static struct conv draw_conv(struct mx_op_case *c)
{
    struct conv v = {.rows = mx_op_draw_sequences(c, -1)};
    v.in = mx_op_draw_width(c);
    v.out = mx_op_draw_width(c);
    v.taps = (int32_t)(1 + 2 * mx_op_draw(c, 0, 3));
    if (c->plan.size == MX_OP_USUAL &&
        mx_op_flip(c)) { /* what Winograd's way is taken for, and the least that it is not */
        static const int64_t widths[] = {47, 48, 64, 80, 97, 193};
        v.taps = 3;
        v.in = widths[mx_op_draw(c, 0, 5)];
        v.out = widths[mx_op_draw(c, 0, 5)];
    }
    v.scale = 1 / sqrt((double)(v.taps * v.in));
    return v;
}

static struct mx_op_shape weights(const struct conv *v, enum mx_op_layout layout)
{
    return (struct mx_op_shape){.layout = layout, .rows = v->taps * v->in, .width = v->out};
}

/* The arguments that the three have in common, and the sizes of the case as `v`. */
#define CONV_ARGS(name)                                                                                                \
    MX_OP_ARGS(name);                                                                                                  \
    const struct conv v = draw_conv(c);                                                                                \
    a->in_width = v.in;                                                                                                \
    a->out_width = v.out;                                                                                              \
    a->taps = v.taps;                                                                                                  \
    if (c->plan.bf16) a->precision = MX_PRECISION_BF16;                                                                \
    MX_OP_DIM(name, in_width, MX_OP_DIM_FIXED);                                                                        \
    MX_OP_DIM(name, out_width, MX_OP_DIM_FIXED);                                                                       \
    MX_OP_DIM(name, taps, MX_OP_DIM_FIXED)

void mx_op_make_conv1d(struct mx_op_case *c)
{
    CONV_ARGS(conv1d);
    struct mx_op_shape x = ROWS(v.rows, v.in);
    a->x_bf16 = mx_op_flip_bf16(c, &x);
    mx_op_add(c, "x", MX_OP_AT(conv1d, x), MX_OP_IN, x, 1);
    mx_op_add(c, "w", MX_OP_AT(conv1d, w), MX_OP_IN, weights(&v, MX_OP_SHARED), v.scale);
    mx_op_add_epilogue(c, "y", MX_OP_AT(conv1d, y), MX_OP_AT(conv1d, epilogue), v.rows, v.out, 0);
    mx_op_add_packed(c, MX_OP_AT(conv1d, rows));
}

void mx_op_make_conv1d_grad_input(struct mx_op_case *c)
{
    CONV_ARGS(conv1d_grad_input);
    struct mx_op_shape dy = ROWS(v.rows, v.out);
    a->dy_bf16 = mx_op_flip_bf16(c, &dy);
    mx_op_add(c, "dy", MX_OP_AT(conv1d_grad_input, dy), MX_OP_IN, dy, 1);
    mx_op_add(c, "w", MX_OP_AT(conv1d_grad_input, w), MX_OP_IN, weights(&v, MX_OP_SHARED), v.scale);
    mx_op_add_epilogue(c, "dx", MX_OP_AT(conv1d_grad_input, dx), MX_OP_AT(conv1d_grad_input, epilogue), v.rows, v.in,
                       0);
    mx_op_add_packed(c, MX_OP_AT(conv1d_grad_input, rows));
}

void mx_op_make_conv1d_grad_weight(struct mx_op_case *c)
{
    CONV_ARGS(conv1d_grad_weight);
    a->accumulate = !c->plan.plain && mx_op_flip(c);
    struct mx_op_shape x = ROWS(v.rows, v.in), dy = ROWS(v.rows, v.out);
    a->x_bf16 = mx_op_flip_bf16(c, &x);
    a->dy_bf16 = mx_op_flip_bf16(c, &dy);
    mx_op_add(c, "x", MX_OP_AT(conv1d_grad_weight, x), MX_OP_IN, x, 1);
    mx_op_add(c, "dy", MX_OP_AT(conv1d_grad_weight, dy), MX_OP_IN, dy, 1);
    mx_op_add(c, "dw", MX_OP_AT(conv1d_grad_weight, dw), a->accumulate ? MX_OP_INOUT : MX_OP_OUT,
              weights(&v, MX_OP_SUM), 1);
    mx_op_add_packed(c, MX_OP_AT(conv1d_grad_weight, rows));
}

/* ---- segments ---- */

void mx_op_make_durations_scan(struct mx_op_case *c)
{
    MX_OP_ARGS(durations_scan);
    a->count = c->plan.size == MX_OP_LARGE ? mx_op_draw(c, 3000, 9000) : mx_op_draw_rows(c);
    struct mx_op_shape shape = {.type = MX_OP_I32, .rows = 1, .width = a->count};
    mx_op_add(c, "durations", MX_OP_AT(durations_scan, durations), MX_OP_IN, shape, 12);
    shape.width++;
    mx_op_add(c, "ends", MX_OP_AT(durations_scan, ends), MX_OP_OUT, shape, 0);
    MX_OP_DIM(durations_scan, count, MX_OP_DIM_FIXED);
}

/* The arguments that the three have in common. */
#define SEGMENT_ARGS(name)                                                                                             \
    MX_OP_ARGS(name);                                                                                                  \
    a->rows = mx_op_draw_sequences(c, -1);                                                                             \
    a->segments = c->sequences;                                                                                        \
    a->n = mx_op_draw_width(c);                                                                                        \
    MX_OP_DIM(name, segments, MX_OP_DIM_SEGMENTS);                                                                     \
    MX_OP_DIM(name, rows, MX_OP_DIM_ROWS);                                                                             \
    MX_OP_DIM(name, n, MX_OP_DIM_FIXED)

void mx_op_make_expand(struct mx_op_case *c)
{
    SEGMENT_ARGS(expand);
    a->accumulate = !c->plan.plain && mx_op_flip(c);
    mx_op_add(c, "x", MX_OP_AT(expand, x), MX_OP_IN, SEGMENTS(a->n), 1);
    mx_op_add_ends(c, MX_OP_AT(expand, ends));
    mx_op_add(c, "y", MX_OP_AT(expand, y), a->accumulate ? MX_OP_INOUT : MX_OP_OUT, ROWS(a->rows, a->n), 1);
}

void mx_op_make_expand_grad(struct mx_op_case *c)
{
    SEGMENT_ARGS(expand_grad);
    mx_op_add(c, "dy", MX_OP_AT(expand_grad, dy), MX_OP_IN, ROWS(a->rows, a->n), 1);
    mx_op_add_ends(c, MX_OP_AT(expand_grad, ends));
    mx_op_add(c, "dx", MX_OP_AT(expand_grad, dx), MX_OP_OUT, SEGMENTS(a->n), 1);
}

void mx_op_make_segment_mean(struct mx_op_case *c)
{
    SEGMENT_ARGS(segment_mean);
    mx_op_add(c, "x", MX_OP_AT(segment_mean, x), MX_OP_IN, ROWS(a->rows, a->n), 1);
    mx_op_add_ends(c, MX_OP_AT(segment_mean, ends));
    mx_op_add(c, "y", MX_OP_AT(segment_mean, y), MX_OP_OUT, SEGMENTS(a->n), 0);
}

/* ---- attentive pooling ---- */

void mx_op_make_attentive_pool(struct mx_op_case *c)
{
    MX_OP_ARGS(attentive_pool);
    const int64_t rows = mx_op_draw_sequences(c, -1);
    a->n = mx_op_draw_width(c);
    mx_op_add(c, "x", MX_OP_AT(attentive_pool, x), MX_OP_IN, ROWS(rows, a->n), 1);
    mx_op_add(c, "score", MX_OP_AT(attentive_pool, score), MX_OP_IN, ROWS(rows, 1), 2);
    mx_op_add(c, "y", MX_OP_AT(attentive_pool, y), MX_OP_OUT, SEGMENTS(a->n), 0);
    mx_op_add(c, "w", MX_OP_AT(attentive_pool, w), MX_OP_OUT, ROWS(rows, 1), 0);
    mx_op_add_packed(c, MX_OP_AT(attentive_pool, rows));
    MX_OP_DIM(attentive_pool, n, MX_OP_DIM_FIXED);
}

void mx_op_make_attentive_pool_grad(struct mx_op_case *c)
{
    MX_OP_ARGS(attentive_pool_grad);
    const int64_t rows = mx_op_draw_sequences(c, -1);
    a->n = mx_op_draw_width(c);
    mx_op_add(c, "dy", MX_OP_AT(attentive_pool_grad, dy), MX_OP_IN, SEGMENTS(a->n), 1);
    mx_op_add(c, "x", MX_OP_AT(attentive_pool_grad, x), MX_OP_IN, ROWS(rows, a->n), 1);
    mx_op_add(c, "y", MX_OP_AT(attentive_pool_grad, y), MX_OP_IN, SEGMENTS(a->n), 1);
    mx_op_add(c, "w", MX_OP_AT(attentive_pool_grad, w), MX_OP_IN, ROWS(rows, 1), 1);
    mx_op_add(c, "dx", MX_OP_AT(attentive_pool_grad, dx), MX_OP_OUT, ROWS(rows, a->n), 0);
    mx_op_add(c, "dscore", MX_OP_AT(attentive_pool_grad, dscore), MX_OP_OUT, ROWS(rows, 1), 0);
    mx_op_add_packed(c, MX_OP_AT(attentive_pool_grad, rows));
    MX_OP_DIM(attentive_pool_grad, n, MX_OP_DIM_FIXED);
}
