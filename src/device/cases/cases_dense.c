/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random cases of the operations that know nothing of sequences. Where rows are independent of each other they are cut
 * into arbitrary sequences all the same, so that a row alone can be compared with the row in a batch.
 */
#include <math.h>
#include <string.h>

#include "device/op_case.h"

#define FLAT(n)    ((struct mx_op_shape){.rows = 1, .width = (n)})
#define SUM(n)     ((struct mx_op_shape){.layout = MX_OP_SUM, .rows = 1, .width = (n)})
#define ROWS(r, n) ((struct mx_op_shape){.layout = MX_OP_ROWS, .rows = (r), .width = (n)})

/* rows × n elements named by one count; rows are cut into sequences. */
static int64_t draw_elements(struct mx_op_case *c, int64_t *n, size_t count_at)
{
    const int64_t rows = mx_op_draw_sequences(c, -1);
    *n = mx_op_draw_width(c);
    const int64_t count = rows * *n;
    memcpy(c->args + count_at, &count, sizeof count);
    mx_op_dim_add(c, "count", count_at, sizeof count, MX_OP_DIM_ELEMENTS, *n);
    return rows;
}

static float draw_factor(struct mx_op_case *c)
{
    static const float factors[] = {1, 0.5f, -0.37f, 2};
    return factors[mx_op_draw(c, 0, 3)];
}

static float *data(const struct mx_op_case *c, int storage)
{
    return c->storages[storage].data;
}

/* ---- matrix multiply ---- */

void mx_op_add_epilogue(struct mx_op_case *c, const char *name, size_t slice_at, size_t epilogue_at, int64_t rows,
                        int64_t n, int64_t stride)
{
    struct mx_epilogue *e = (void *)(c->args + epilogue_at);
    struct mx_op_shape shape = ROWS(rows, n);
    shape.stride = stride;
    enum { RESIDUAL_NONE, RESIDUAL_OWN, RESIDUAL_OUTPUT } residual = RESIDUAL_NONE;
    bool bias = false, pre = false;
    if (!c->plan.plain) {
        e->act = (enum mx_activation)mx_op_draw(c, MX_ACT_NONE, MX_ACT_GELU);
        e->act_grad = e->act != MX_ACT_NONE && mx_op_flip(c);
        bias = !e->act_grad && mx_op_flip(c);
        pre = e->act_grad || mx_op_flip(c);
        residual = (unsigned)mx_op_draw(c, RESIDUAL_NONE, RESIDUAL_OUTPUT);
        e->accumulate = residual != RESIDUAL_OUTPUT && mx_op_flip(c);
    }
    struct mx_op_shape result = shape, before = shape;
    e->c_bf16 = mx_op_flip_bf16(c, &result);
    e->pre_bf16 = pre && mx_op_flip_bf16(c, &before);
    if (e->c_bf16) {
        e->accumulate = false;
        if (residual == RESIDUAL_OUTPUT) residual = RESIDUAL_OWN;
    }
    const bool read = e->accumulate || residual == RESIDUAL_OUTPUT;
    const int output = mx_op_add(c, name, slice_at, read ? MX_OP_INOUT : MX_OP_OUT, result, 1);
    if (bias) {
        mx_op_add(c, "bias", epilogue_at + offsetof(struct mx_epilogue, bias), MX_OP_IN, FLAT(n), 1);
        mx_op_optional(c);
    }
    if (pre) {
        mx_op_add(c, "pre", epilogue_at + offsetof(struct mx_epilogue, pre), e->act_grad ? MX_OP_IN : MX_OP_OUT, before,
                  1);
        if (!e->act_grad) mx_op_optional(c);
    }
    const size_t residual_at = epilogue_at + offsetof(struct mx_epilogue, residual);
    if (residual == RESIDUAL_OWN) mx_op_add(c, "residual", residual_at, MX_OP_IN, shape, 1);
    if (residual == RESIDUAL_OUTPUT) mx_op_share(c, "residual", residual_at, MX_OP_IN, output, 0, n);
    if (residual != RESIDUAL_NONE) mx_op_optional(c);
}

/* 0 (dense), the width itself, or more. */
static int64_t draw_stride(struct mx_op_case *c, int64_t width)
{
    static const int64_t extra[] = {1, 3, 16};
    switch (mx_op_draw(c, 0, 2)) {
    case 0:
        return 0;
    case 1:
        return width;
    default:
        return width + extra[mx_op_draw(c, 0, 2)];
    }
}

void mx_op_make_matmul(struct mx_op_case *c)
{
    MX_OP_ARGS(matmul);
    a->m = mx_op_draw_sequences(c, -1);
    a->n = mx_op_draw_width(c);
    a->k = mx_op_draw_width(c);
    a->transpose_a = mx_op_flip(c);
    a->transpose_b = mx_op_flip(c);
    if (a->transpose_a) {
        a->k = mx_op_draw_rows(c); /* the gradient of the weights: sums over rows, of which there may be none */
        c->sequences = 0;
    }
    /* Sums longer than any kernel's block, with every epilogue. */
    if (c->plan.size != MX_OP_TINY && mx_op_draw(c, 0, 3) == 0) a->k = mx_op_draw(c, 300, 1100);
    a->lda = draw_stride(c, a->transpose_a ? a->m : a->k);
    a->ldb = draw_stride(c, a->transpose_b ? a->k : a->n);
    a->ldc = draw_stride(c, a->n);
    struct mx_op_shape left = ROWS(a->m, a->k), right = {.rows = a->k, .width = a->n, .stride = a->ldb};
    left.stride = a->lda;
    if (a->transpose_a) left = (struct mx_op_shape){.rows = a->k, .width = a->m, .stride = a->lda};
    if (a->transpose_b) right = (struct mx_op_shape){.rows = a->n, .width = a->k, .stride = a->ldb};
    if (c->plan.bf16) a->precision = MX_PRECISION_BF16;
    a->a_bf16 = mx_op_flip_bf16(c, &left);
    a->b_bf16 = mx_op_flip_bf16(c, &right);
    mx_op_add(c, "a", MX_OP_AT(matmul, a), MX_OP_IN, left, 1);
    mx_op_add(c, "b", MX_OP_AT(matmul, b), MX_OP_IN, right, 1 / sqrt((double)(a->k ? a->k : 1)));
    mx_op_add_epilogue(c, "c", MX_OP_AT(matmul, c), MX_OP_AT(matmul, epilogue), a->m, a->n, a->ldc);
    MX_OP_DIM(matmul, m, MX_OP_DIM_ROWS);
    MX_OP_DIM(matmul, n, MX_OP_DIM_FIXED);
    MX_OP_DIM(matmul, k, MX_OP_DIM_FIXED);
    MX_OP_DIM(matmul, lda, MX_OP_DIM_FIXED);
    MX_OP_DIM(matmul, ldb, MX_OP_DIM_FIXED);
    MX_OP_DIM(matmul, ldc, MX_OP_DIM_FIXED);
}

void mx_op_make_bias_grad(struct mx_op_case *c)
{
    MX_OP_ARGS(bias_grad);
    a->rows = mx_op_draw_rows(c);
    a->n = mx_op_draw_width(c);
    a->accumulate = !c->plan.plain && mx_op_flip(c);
    struct mx_op_shape rows = ROWS(a->rows, a->n);
    a->dy_bf16 = mx_op_flip_bf16(c, &rows);
    mx_op_add(c, "dy", MX_OP_AT(bias_grad, dy), MX_OP_IN, rows, 1);
    mx_op_add(c, "db", MX_OP_AT(bias_grad, db), a->accumulate ? MX_OP_INOUT : MX_OP_OUT, SUM(a->n), 1);
    MX_OP_DIM(bias_grad, rows, MX_OP_DIM_FIXED);
    MX_OP_DIM(bias_grad, n, MX_OP_DIM_FIXED);
}

/* ---- layer norm ---- */

/* Of one or two elements the true gradient is almost nothing, next to which rounding looks large: the differences want
 * more of them. */
static int64_t draw_norm_width(struct mx_op_case *c)
{
    return mx_op_draw_width(c) + (c->plan.size == MX_OP_TINY ? 2 : 0);
}

void mx_op_make_layer_norm(struct mx_op_case *c)
{
    MX_OP_ARGS(layer_norm);
    a->rows = mx_op_draw_sequences(c, -1);
    a->n = draw_norm_width(c);
    a->eps = 1e-5f;
    mx_op_add(c, "x", MX_OP_AT(layer_norm, x), MX_OP_IN, ROWS(a->rows, a->n), 2);
    mx_op_add(c, "gamma", MX_OP_AT(layer_norm, gamma), MX_OP_IN, FLAT(a->n), 1);
    mx_op_add(c, "beta", MX_OP_AT(layer_norm, beta), MX_OP_IN, FLAT(a->n), 1);
    struct mx_op_shape y = ROWS(a->rows, a->n);
    a->y_bf16 = mx_op_flip_bf16(c, &y);
    mx_op_add(c, "y", MX_OP_AT(layer_norm, y), MX_OP_OUT, y, 0);
    mx_op_add(c, "stats", MX_OP_AT(layer_norm, stats), MX_OP_OUT, ROWS(a->rows, 2), 0);
    MX_OP_DIM(layer_norm, rows, MX_OP_DIM_ROWS);
    MX_OP_DIM(layer_norm, n, MX_OP_DIM_FIXED);
}

void mx_op_make_layer_norm_grad(struct mx_op_case *c)
{
    MX_OP_ARGS(layer_norm_grad);
    a->rows = mx_op_draw_sequences(c, -1);
    a->n = draw_norm_width(c);
    const bool in_place = !c->plan.plain && mx_op_flip(c);
    const int dy = mx_op_add(c, "dy", MX_OP_AT(layer_norm_grad, dy), MX_OP_IN, ROWS(a->rows, a->n), 1);
    mx_op_add(c, "x", MX_OP_AT(layer_norm_grad, x), MX_OP_IN, ROWS(a->rows, a->n), 2);
    mx_op_add(c, "gamma", MX_OP_AT(layer_norm_grad, gamma), MX_OP_IN, FLAT(a->n), 1);
    mx_op_add(c, "stats", MX_OP_AT(layer_norm_grad, stats), MX_OP_IN, ROWS(a->rows, 2), 1);
    if (in_place)
        mx_op_share(c, "dx", MX_OP_AT(layer_norm_grad, dx), MX_OP_OUT, dy, 0, a->n);
    else
        mx_op_add(c, "dx", MX_OP_AT(layer_norm_grad, dx), MX_OP_OUT, ROWS(a->rows, a->n), 1);
    mx_op_add(c, "dgamma", MX_OP_AT(layer_norm_grad, dgamma), MX_OP_INOUT, SUM(a->n), 1);
    mx_op_add(c, "dbeta", MX_OP_AT(layer_norm_grad, dbeta), MX_OP_INOUT, SUM(a->n), 1);
    if (!c->plan.plain && mx_op_flip(c)) {
        mx_op_add(c, "residual", MX_OP_AT(layer_norm_grad, residual), MX_OP_IN, ROWS(a->rows, a->n), 1);
        mx_op_optional(c);
    }
    MX_OP_DIM(layer_norm_grad, rows, MX_OP_DIM_ROWS);
    MX_OP_DIM(layer_norm_grad, n, MX_OP_DIM_FIXED);
}

/* ---- element-wise ---- */

void mx_op_make_activation(struct mx_op_case *c)
{
    MX_OP_ARGS(activation);
    int64_t n;
    const int64_t rows = draw_elements(c, &n, MX_OP_AT(activation, count));
    a->act = (enum mx_activation)mx_op_draw(c, MX_ACT_NONE, MX_ACT_GELU);
    const int x = mx_op_add(c, "x", MX_OP_AT(activation, x), MX_OP_IN, ROWS(rows, n), 2);
    if (!c->plan.plain && mx_op_flip(c))
        mx_op_share(c, "y", MX_OP_AT(activation, y), MX_OP_OUT, x, 0, n);
    else
        mx_op_add(c, "y", MX_OP_AT(activation, y), MX_OP_OUT, ROWS(rows, n), 0);
}

void mx_op_make_activation_grad(struct mx_op_case *c)
{
    MX_OP_ARGS(activation_grad);
    int64_t n;
    const int64_t rows = draw_elements(c, &n, MX_OP_AT(activation_grad, count));
    a->act = (enum mx_activation)mx_op_draw(c, MX_ACT_NONE, MX_ACT_GELU);
    const int dy = mx_op_add(c, "dy", MX_OP_AT(activation_grad, dy), MX_OP_IN, ROWS(rows, n), 1);
    mx_op_add(c, "x", MX_OP_AT(activation_grad, x), MX_OP_IN, ROWS(rows, n), 2);
    if (!c->plan.plain && mx_op_flip(c))
        mx_op_share(c, "dx", MX_OP_AT(activation_grad, dx), MX_OP_OUT, dy, 0, n);
    else
        mx_op_add(c, "dx", MX_OP_AT(activation_grad, dx), MX_OP_OUT, ROWS(rows, n), 0);
}

void mx_op_make_residual_add(struct mx_op_case *c)
{
    MX_OP_ARGS(residual_add);
    int64_t n;
    const int64_t rows = draw_elements(c, &n, MX_OP_AT(residual_add, count));
    const int64_t place = c->plan.plain ? 0 : mx_op_draw(c, 0, 2);
    a->factor = draw_factor(c);
    const int first = mx_op_add(c, "a", MX_OP_AT(residual_add, a), MX_OP_IN, ROWS(rows, n), 1);
    const int second = mx_op_add(c, "b", MX_OP_AT(residual_add, b), MX_OP_IN, ROWS(rows, n), 1);
    if (place == 0)
        mx_op_add(c, "y", MX_OP_AT(residual_add, y), MX_OP_OUT, ROWS(rows, n), 0);
    else
        mx_op_share(c, "y", MX_OP_AT(residual_add, y), MX_OP_OUT, place == 1 ? first : second, 0, n);
}

void mx_op_make_dropout(struct mx_op_case *c)
{
    MX_OP_ARGS(dropout);
    static const float rates[] = {0, 0.1f, 0.5f, 0.9f};
    int64_t n;
    const int64_t rows = draw_elements(c, &n, MX_OP_AT(dropout, count));
    c->sequences = 0; /* what is dropped depends on where an element lies */
    a->rate = rates[mx_op_draw(c, 0, 3)];
    a->seed = c->seed * 77;
    a->stream = 5 + ((uint64_t)mx_op_draw(c, 0, 3) << 33);
    a->index = 4 * (uint64_t)mx_op_draw(c, 0, 1000) + (mx_op_flip(c) ? (uint64_t)1 << 34 : 0);
    const int x = mx_op_add(c, "x", MX_OP_AT(dropout, x), MX_OP_IN, ROWS(rows, n), 1);
    if (!c->plan.plain && mx_op_flip(c))
        mx_op_share(c, "y", MX_OP_AT(dropout, y), MX_OP_OUT, x, 0, n);
    else
        mx_op_add(c, "y", MX_OP_AT(dropout, y), MX_OP_OUT, ROWS(rows, n), 0);
    if (!c->plan.plain && mx_op_flip(c)) {
        mx_op_add(c, "residual", MX_OP_AT(dropout, residual), MX_OP_IN, ROWS(rows, n), 1);
        mx_op_optional(c);
    }
}

/* ---- embedding ---- */

void mx_op_make_embedding(struct mx_op_case *c)
{
    MX_OP_ARGS(embedding);
    a->rows = mx_op_draw_sequences(c, -1);
    a->n = mx_op_draw_width(c);
    a->vocabulary = mx_op_draw(c, 1, 40);
    a->factor = draw_factor(c);
    a->accumulate = !c->plan.plain && mx_op_flip(c);
    struct mx_op_shape ids = ROWS(a->rows, 1);
    ids.type = MX_OP_I32;
    mx_op_add(c, "ids", MX_OP_AT(embedding, ids), MX_OP_IN, ids, (double)a->vocabulary);
    mx_op_add(c, "table", MX_OP_AT(embedding, table), MX_OP_IN,
              (struct mx_op_shape){.rows = a->vocabulary, .width = a->n}, 1);
    mx_op_add(c, "y", MX_OP_AT(embedding, y), a->accumulate ? MX_OP_INOUT : MX_OP_OUT, ROWS(a->rows, a->n), 1);
    MX_OP_DIM(embedding, rows, MX_OP_DIM_ROWS);
    MX_OP_DIM(embedding, n, MX_OP_DIM_FIXED);
    MX_OP_DIM(embedding, vocabulary, MX_OP_DIM_FIXED);
}

void mx_op_make_embedding_grad(struct mx_op_case *c)
{
    MX_OP_ARGS(embedding_grad);
    a->rows = mx_op_draw_sequences(c, -1);
    a->n = mx_op_draw_width(c);
    a->vocabulary = mx_op_draw(c, 1, 40);
    a->factor = draw_factor(c);
    c->sequences = 0; /* rows meet in the table */
    struct mx_op_shape ids = ROWS(a->rows, 1);
    ids.type = MX_OP_I32;
    mx_op_add(c, "ids", MX_OP_AT(embedding_grad, ids), MX_OP_IN, ids, (double)a->vocabulary);
    mx_op_add(c, "dy", MX_OP_AT(embedding_grad, dy), MX_OP_IN, ROWS(a->rows, a->n), 1);
    mx_op_add(c, "dtable", MX_OP_AT(embedding_grad, dtable), MX_OP_INOUT,
              (struct mx_op_shape){.layout = MX_OP_SUM, .rows = a->vocabulary, .width = a->n}, 1);
    MX_OP_DIM(embedding_grad, rows, MX_OP_DIM_FIXED);
    MX_OP_DIM(embedding_grad, n, MX_OP_DIM_FIXED);
    MX_OP_DIM(embedding_grad, vocabulary, MX_OP_DIM_FIXED);
}

/* ---- the optimizer ---- */

void mx_op_make_grad_norm(struct mx_op_case *c)
{
    MX_OP_ARGS(grad_norm);
    static const float limits[] = {0, 0.5f, 1e6f};
    a->count = mx_op_draw_rows(c) * mx_op_draw_width(c);
    a->limit = limits[mx_op_draw(c, 0, 2)];
    a->factor = draw_factor(c);
    mx_op_add(c, "gradient", MX_OP_AT(grad_norm, gradient), MX_OP_IN, FLAT(a->count), 1);
    mx_op_add(c, "result", MX_OP_AT(grad_norm, result), MX_OP_OUT, SUM(4), 0);
    MX_OP_DIM(grad_norm, count, MX_OP_DIM_FIXED);
}

void mx_op_make_adamw(struct mx_op_case *c)
{
    MX_OP_ARGS(adamw);
    static const int64_t steps[] = {1, 2, 7, 1000, 100000};
    a->count = mx_op_draw_rows(c) * mx_op_draw_width(c);
    a->decayed = mx_op_draw(c, 0, a->count);
    a->lr = 0.3f; /* so large that a wrong step shows */
    a->beta1 = 0.9f;
    a->beta2 = 0.98f;
    a->eps = 1e-8f;
    a->weight_decay = 0.1f;
    a->ema_decay = 0.7f;
    a->step = steps[mx_op_draw(c, 0, 4)];
    mx_op_add(c, "parameter", MX_OP_AT(adamw, parameter), MX_OP_INOUT, FLAT(a->count), 1);
    mx_op_add(c, "gradient", MX_OP_AT(adamw, gradient), MX_OP_IN, FLAT(a->count), 1);
    mx_op_add(c, "moment1", MX_OP_AT(adamw, moment1), MX_OP_INOUT, FLAT(a->count), 0.3);
    const int square = mx_op_add(c, "moment2", MX_OP_AT(adamw, moment2), MX_OP_INOUT, FLAT(a->count), 0.3);
    for (int64_t i = 0; i < a->count; i++) data(c, square)[i] *= data(c, square)[i];
    const int norm = mx_op_add(c, "norm", MX_OP_AT(adamw, norm), MX_OP_IN, FLAT(4), 1);
    data(c, norm)[1] = draw_factor(c);
    data(c, norm)[2] = 1;
    if (mx_op_draw(c, 0, 5) == 0) data(c, norm)[1] = data(c, norm)[2] = 0;
    if (!c->plan.plain && mx_op_flip(c)) {
        mx_op_add(c, "ema", MX_OP_AT(adamw, ema), MX_OP_INOUT, FLAT(a->count), 1);
        mx_op_optional(c);
    }
    MX_OP_DIM(adamw, count, MX_OP_DIM_FIXED);
    MX_OP_DIM(adamw, decayed, MX_OP_DIM_FIXED);
}

/* ---- flat ---- */

void mx_op_make_scale(struct mx_op_case *c)
{
    MX_OP_ARGS(scale);
    int64_t n;
    const int64_t rows = draw_elements(c, &n, MX_OP_AT(scale, count));
    a->factor = draw_factor(c);
    mx_op_add(c, "x", MX_OP_AT(scale, x), MX_OP_INOUT, ROWS(rows, n), 1);
}

void mx_op_make_fill(struct mx_op_case *c)
{
    MX_OP_ARGS(fill);
    int64_t n;
    const int64_t rows = draw_elements(c, &n, MX_OP_AT(fill, count));
    struct mx_op_shape shape = ROWS(rows, n);
    if (mx_op_flip(c)) {
        shape.type = MX_OP_I32;
        a->bits = (uint32_t)mx_op_draw(c, 0, UINT32_MAX);
    } else {
        a->value = draw_factor(c);
    }
    mx_op_add(c, "x", MX_OP_AT(fill, x), MX_OP_OUT, shape, 0);
}
