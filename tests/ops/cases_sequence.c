/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random cases of the operations on packed sequences and segments.
 */
#include <math.h>

#include "ops/case.h"

#define ROWS(r, n)  ((struct op_shape){.layout = OP_ROWS, .rows = (r), .width = (n)})
#define SEGMENTS(n) ((struct op_shape){.layout = OP_SEGMENTS, .rows = c->sequences, .width = (n)})

/* ---- rotary positions ---- */

void op_make_rotary_table(struct op_case *c)
{
    OP_ARGS(rotary_table);
    a->positions = c->plan.size == OP_LARGE ? 3000 : op_draw_rows(c);
    a->head_width = 2 * op_draw_width(c);
    a->base = 10000;
    op_add(c, "table", OP_AT(rotary_table, table), OP_OUT,
           (struct op_shape){.rows = a->positions, .width = a->head_width}, 0);
    OP_DIM(rotary_table, positions, OP_DIM_FIXED);
    OP_DIM(rotary_table, head_width, OP_DIM_FIXED);
}

void op_make_rotary(struct op_case *c)
{
    OP_ARGS(rotary);
    const int64_t rows = op_draw_sequences(c, -1);
    a->heads = op_draw(c, 1, 3);
    a->head_width = 2 * op_draw_width(c);
    a->stride = a->heads * a->head_width + (op_flip(c) ? op_draw(c, 1, 2 * a->head_width) : 0);
    a->inverse = !c->plan.plain && op_flip(c);
    struct op_shape x = ROWS(rows, a->heads * a->head_width);
    x.stride = a->stride;
    op_add(c, "x", OP_AT(rotary, x), OP_INOUT, x, 1);
    op_add_packed(c, OP_AT(rotary, rows));
    a->positions = a->rows.max_rows + op_draw(c, 0, 3);
    op_add(c, "table", OP_AT(rotary, table), OP_IN, (struct op_shape){.rows = a->positions, .width = a->head_width},
           0.7);
    OP_DIM(rotary, heads, OP_DIM_FIXED);
    OP_DIM(rotary, head_width, OP_DIM_FIXED);
    OP_DIM(rotary, stride, OP_DIM_FIXED);
    OP_DIM(rotary, positions, OP_DIM_FIXED);
}

/* ---- attention ---- */

/* Three tensors of rows × width, either in one storage side by side or each in its own; returns the row stride. */
static int64_t add_three(struct op_case *c, const char *const names[3], const size_t at[3], enum op_role role,
                         int64_t rows, int64_t width)
{
    const bool together = op_flip(c) && !c->plan.plain;
    const int64_t gap = op_flip(c) ? op_draw(c, 1, 9) : 0;
    struct op_shape shape = ROWS(rows, together ? 3 * width : width);
    shape.stride = shape.width + gap;
    const int storage = op_add(c, names[0], at[0], role, shape, 1);
    if (together && rows) c->tensors[c->tensor_count - 1].need -= 2 * width;
    for (int i = 1; i < 3; i++) {
        if (together)
            op_share(c, names[i], at[i], role, storage, i * width, width);
        else
            op_add(c, names[i], at[i], role, shape, 1);
    }
    return shape.stride;
}

static int64_t draw_head_width(struct op_case *c)
{
    static const int64_t widths[] = {1, 3, 8, 16, 17, 24, 32, 48, 64, 96, 100};
    if (c->plan.size == OP_TINY) return op_draw(c, 1, 4);
    if (c->plan.size == OP_LARGE) return op_flip(c) ? 96 : 40;
    return widths[op_draw(c, 0, 10)];
}

void op_make_attention(struct op_case *c)
{
    OP_ARGS(attention);
    static const char *const names[] = {"q", "k", "v"};
    const size_t at[] = {OP_AT(attention, q), OP_AT(attention, k), OP_AT(attention, v)};
    const int64_t rows = op_draw_sequences(c, -1);
    a->heads = op_draw(c, 1, 3);
    a->head_width = draw_head_width(c);
    const int64_t width = a->heads * a->head_width;
    a->out_stride = width + (op_flip(c) ? op_draw(c, 1, 9) : 0);
    a->factor = 1 / sqrtf((float)a->head_width);
    a->stride = add_three(c, names, at, OP_IN, rows, width);
    struct op_shape out = ROWS(rows, width);
    out.stride = a->out_stride;
    op_add(c, "out", OP_AT(attention, out), OP_OUT, out, 0);
    op_add(c, "lse", OP_AT(attention, lse), OP_OUT,
           (struct op_shape){.layout = OP_HEAD_ROWS, .rows = rows, .width = a->heads}, 0);
    op_add_packed(c, OP_AT(attention, rows));
    OP_DIM(attention, heads, OP_DIM_FIXED);
    OP_DIM(attention, head_width, OP_DIM_FIXED);
    OP_DIM(attention, stride, OP_DIM_FIXED);
    OP_DIM(attention, out_stride, OP_DIM_FIXED);
}

void op_make_attention_grad(struct op_case *c)
{
    OP_ARGS(attention_grad);
    static const char *const names[] = {"q", "k", "v"}, *const slopes[] = {"dq", "dk", "dv"};
    const size_t at[] = {OP_AT(attention_grad, q), OP_AT(attention_grad, k), OP_AT(attention_grad, v)};
    const size_t slopes_at[] = {OP_AT(attention_grad, dq), OP_AT(attention_grad, dk), OP_AT(attention_grad, dv)};
    const int64_t rows = op_draw_sequences(c, -1);
    a->heads = op_draw(c, 1, 3);
    a->head_width = draw_head_width(c);
    const int64_t width = a->heads * a->head_width;
    a->out_stride = width + (op_flip(c) ? op_draw(c, 1, 9) : 0);
    a->factor = 1 / sqrtf((float)a->head_width);
    a->stride = add_three(c, names, at, OP_IN, rows, width);
    a->grad_stride = add_three(c, slopes, slopes_at, OP_OUT, rows, width);
    struct op_shape out = ROWS(rows, width);
    out.stride = a->out_stride;
    const struct op_shape per_head = {.layout = OP_HEAD_ROWS, .rows = rows, .width = a->heads};
    op_add(c, "out", OP_AT(attention_grad, out), OP_IN, out, 1);
    op_add(c, "dout", OP_AT(attention_grad, dout), OP_IN, out, 1);
    op_add(c, "lse", OP_AT(attention_grad, lse), OP_IN, per_head, 1);
    op_add(c, "delta", OP_AT(attention_grad, delta), OP_SCRATCH, per_head, 0);
    op_add_packed(c, OP_AT(attention_grad, rows));
    OP_DIM(attention_grad, heads, OP_DIM_FIXED);
    OP_DIM(attention_grad, head_width, OP_DIM_FIXED);
    OP_DIM(attention_grad, stride, OP_DIM_FIXED);
    OP_DIM(attention_grad, out_stride, OP_DIM_FIXED);
    OP_DIM(attention_grad, grad_stride, OP_DIM_FIXED);
}

/* ---- convolution ---- */

struct conv {
    int64_t rows, in, out;
    int32_t taps;
    double scale; /* of the weights, so that sums are about 1 */
};

static struct conv draw_conv(struct op_case *c)
{
    struct conv v = {.rows = op_draw_sequences(c, -1)};
    v.in = op_draw_width(c);
    v.out = op_draw_width(c);
    v.taps = (int32_t)(1 + 2 * op_draw(c, 0, 3));
    if (c->plan.size == OP_USUAL && op_flip(c)) { /* what Winograd's way is taken for, and the least that it is not */
        static const int64_t widths[] = {47, 48, 64, 80, 97, 193};
        v.taps = 3;
        v.in = widths[op_draw(c, 0, 5)];
        v.out = widths[op_draw(c, 0, 5)];
    }
    v.scale = 1 / sqrt((double)(v.taps * v.in));
    return v;
}

static struct op_shape weights(const struct conv *v, enum op_layout layout)
{
    return (struct op_shape){.layout = layout, .rows = v->taps * v->in, .width = v->out};
}

/* The arguments that the three have in common, and the sizes of the case as `v`. */
#define CONV_ARGS(name)                                                                                                \
    OP_ARGS(name);                                                                                                     \
    const struct conv v = draw_conv(c);                                                                                \
    a->in_width = v.in;                                                                                                \
    a->out_width = v.out;                                                                                              \
    a->taps = v.taps;                                                                                                  \
    if (c->plan.bf16) a->precision = MX_PRECISION_BF16;                                                                \
    OP_DIM(name, in_width, OP_DIM_FIXED);                                                                              \
    OP_DIM(name, out_width, OP_DIM_FIXED);                                                                             \
    OP_DIM(name, taps, OP_DIM_FIXED)

void op_make_conv1d(struct op_case *c)
{
    CONV_ARGS(conv1d);
    struct op_shape x = ROWS(v.rows, v.in);
    a->x_bf16 = op_flip_bf16(c, &x);
    op_add(c, "x", OP_AT(conv1d, x), OP_IN, x, 1);
    op_add(c, "w", OP_AT(conv1d, w), OP_IN, weights(&v, OP_SHARED), v.scale);
    op_add_epilogue(c, "y", OP_AT(conv1d, y), OP_AT(conv1d, epilogue), v.rows, v.out, 0);
    op_add_packed(c, OP_AT(conv1d, rows));
}

void op_make_conv1d_grad_input(struct op_case *c)
{
    CONV_ARGS(conv1d_grad_input);
    struct op_shape dy = ROWS(v.rows, v.out);
    a->dy_bf16 = op_flip_bf16(c, &dy);
    op_add(c, "dy", OP_AT(conv1d_grad_input, dy), OP_IN, dy, 1);
    op_add(c, "w", OP_AT(conv1d_grad_input, w), OP_IN, weights(&v, OP_SHARED), v.scale);
    op_add_epilogue(c, "dx", OP_AT(conv1d_grad_input, dx), OP_AT(conv1d_grad_input, epilogue), v.rows, v.in, 0);
    op_add_packed(c, OP_AT(conv1d_grad_input, rows));
}

void op_make_conv1d_grad_weight(struct op_case *c)
{
    CONV_ARGS(conv1d_grad_weight);
    a->accumulate = !c->plan.plain && op_flip(c);
    struct op_shape x = ROWS(v.rows, v.in), dy = ROWS(v.rows, v.out);
    a->x_bf16 = op_flip_bf16(c, &x);
    a->dy_bf16 = op_flip_bf16(c, &dy);
    op_add(c, "x", OP_AT(conv1d_grad_weight, x), OP_IN, x, 1);
    op_add(c, "dy", OP_AT(conv1d_grad_weight, dy), OP_IN, dy, 1);
    op_add(c, "dw", OP_AT(conv1d_grad_weight, dw), a->accumulate ? OP_INOUT : OP_OUT, weights(&v, OP_SUM), 1);
    op_add_packed(c, OP_AT(conv1d_grad_weight, rows));
}

/* ---- segments ---- */

void op_make_durations_scan(struct op_case *c)
{
    OP_ARGS(durations_scan);
    a->count = c->plan.size == OP_LARGE ? op_draw(c, 3000, 9000) : op_draw_rows(c);
    struct op_shape shape = {.type = OP_I32, .rows = 1, .width = a->count};
    op_add(c, "durations", OP_AT(durations_scan, durations), OP_IN, shape, 12);
    shape.width++;
    op_add(c, "ends", OP_AT(durations_scan, ends), OP_OUT, shape, 0);
    OP_DIM(durations_scan, count, OP_DIM_FIXED);
}

/* The arguments that the three have in common. */
#define SEGMENT_ARGS(name)                                                                                             \
    OP_ARGS(name);                                                                                                     \
    a->rows = op_draw_sequences(c, -1);                                                                                \
    a->segments = c->sequences;                                                                                        \
    a->n = op_draw_width(c);                                                                                           \
    OP_DIM(name, segments, OP_DIM_SEGMENTS);                                                                           \
    OP_DIM(name, rows, OP_DIM_ROWS);                                                                                   \
    OP_DIM(name, n, OP_DIM_FIXED)

void op_make_expand(struct op_case *c)
{
    SEGMENT_ARGS(expand);
    a->accumulate = !c->plan.plain && op_flip(c);
    op_add(c, "x", OP_AT(expand, x), OP_IN, SEGMENTS(a->n), 1);
    op_add_ends(c, OP_AT(expand, ends));
    op_add(c, "y", OP_AT(expand, y), a->accumulate ? OP_INOUT : OP_OUT, ROWS(a->rows, a->n), 1);
}

void op_make_expand_grad(struct op_case *c)
{
    SEGMENT_ARGS(expand_grad);
    op_add(c, "dy", OP_AT(expand_grad, dy), OP_IN, ROWS(a->rows, a->n), 1);
    op_add_ends(c, OP_AT(expand_grad, ends));
    op_add(c, "dx", OP_AT(expand_grad, dx), OP_OUT, SEGMENTS(a->n), 1);
}

void op_make_segment_mean(struct op_case *c)
{
    SEGMENT_ARGS(segment_mean);
    op_add(c, "x", OP_AT(segment_mean, x), OP_IN, ROWS(a->rows, a->n), 1);
    op_add_ends(c, OP_AT(segment_mean, ends));
    op_add(c, "y", OP_AT(segment_mean, y), OP_OUT, SEGMENTS(a->n), 0);
}

/* ---- attentive pooling ---- */

void op_make_attentive_pool(struct op_case *c)
{
    OP_ARGS(attentive_pool);
    const int64_t rows = op_draw_sequences(c, -1);
    a->n = op_draw_width(c);
    op_add(c, "x", OP_AT(attentive_pool, x), OP_IN, ROWS(rows, a->n), 1);
    op_add(c, "score", OP_AT(attentive_pool, score), OP_IN, ROWS(rows, 1), 2);
    op_add(c, "y", OP_AT(attentive_pool, y), OP_OUT, SEGMENTS(a->n), 0);
    op_add(c, "w", OP_AT(attentive_pool, w), OP_OUT, ROWS(rows, 1), 0);
    op_add_packed(c, OP_AT(attentive_pool, rows));
    OP_DIM(attentive_pool, n, OP_DIM_FIXED);
}

void op_make_attentive_pool_grad(struct op_case *c)
{
    OP_ARGS(attentive_pool_grad);
    const int64_t rows = op_draw_sequences(c, -1);
    a->n = op_draw_width(c);
    op_add(c, "dy", OP_AT(attentive_pool_grad, dy), OP_IN, SEGMENTS(a->n), 1);
    op_add(c, "x", OP_AT(attentive_pool_grad, x), OP_IN, ROWS(rows, a->n), 1);
    op_add(c, "y", OP_AT(attentive_pool_grad, y), OP_IN, SEGMENTS(a->n), 1);
    op_add(c, "w", OP_AT(attentive_pool_grad, w), OP_IN, ROWS(rows, 1), 1);
    op_add(c, "dx", OP_AT(attentive_pool_grad, dx), OP_OUT, ROWS(rows, a->n), 0);
    op_add(c, "dscore", OP_AT(attentive_pool_grad, dscore), OP_OUT, ROWS(rows, 1), 0);
    op_add_packed(c, OP_AT(attentive_pool_grad, rows));
    OP_DIM(attentive_pool_grad, n, OP_DIM_FIXED);
}
