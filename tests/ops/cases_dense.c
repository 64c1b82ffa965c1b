/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random cases of the operations that know nothing of sequences. Where rows are independent of each other they are cut
 * into arbitrary sequences all the same, so that a row alone can be compared with the row in a batch.
 */
#include <math.h>
#include <string.h>

#include "ops/case.h"

#define FLAT(n)    ((struct op_shape){.rows = 1, .width = (n)})
#define SUM(n)     ((struct op_shape){.layout = OP_SUM, .rows = 1, .width = (n)})
#define ROWS(r, n) ((struct op_shape){.layout = OP_ROWS, .rows = (r), .width = (n)})

/* rows × n elements named by one count; rows are cut into sequences. */
static int64_t draw_elements(struct op_case *c, int64_t *n, size_t count_at)
{
    const int64_t rows = op_draw_sequences(c, -1);
    *n = op_draw_width(c);
    const int64_t count = rows * *n;
    memcpy(c->args + count_at, &count, sizeof count);
    op_dim_add(c, "count", count_at, sizeof count, OP_DIM_ELEMENTS, *n);
    return rows;
}

static float draw_factor(struct op_case *c)
{
    static const float factors[] = {1, 0.5f, -0.37f, 2};
    return factors[op_draw(c, 0, 3)];
}

static float *data(const struct op_case *c, int storage)
{
    return c->storages[storage].data;
}

/* ---- matrix multiply ---- */

void op_add_epilogue(struct op_case *c, const char *name, size_t slice_at, size_t epilogue_at, int64_t rows, int64_t n,
                     int64_t stride)
{
    struct mx_epilogue *e = (void *)(c->args + epilogue_at);
    struct op_shape shape = ROWS(rows, n);
    shape.stride = stride;
    enum { RESIDUAL_NONE, RESIDUAL_OWN, RESIDUAL_OUTPUT } residual = RESIDUAL_NONE;
    bool bias = false, pre = false;
    if (!c->plan.plain) {
        e->act = (enum mx_activation)op_draw(c, MX_ACT_NONE, MX_ACT_GELU);
        e->act_grad = e->act != MX_ACT_NONE && op_flip(c);
        bias = !e->act_grad && op_flip(c);
        pre = e->act_grad || op_flip(c);
        residual = (unsigned)op_draw(c, RESIDUAL_NONE, RESIDUAL_OUTPUT);
        e->accumulate = residual != RESIDUAL_OUTPUT && op_flip(c);
    }
    struct op_shape result = shape, before = shape;
    e->c_bf16 = op_flip_bf16(c, &result);
    e->pre_bf16 = pre && op_flip_bf16(c, &before);
    if (e->c_bf16) {
        e->accumulate = false;
        if (residual == RESIDUAL_OUTPUT) residual = RESIDUAL_OWN;
    }
    const bool read = e->accumulate || residual == RESIDUAL_OUTPUT;
    const int output = op_add(c, name, slice_at, read ? OP_INOUT : OP_OUT, result, 1);
    if (bias) {
        op_add(c, "bias", epilogue_at + offsetof(struct mx_epilogue, bias), OP_IN, FLAT(n), 1);
        op_optional(c);
    }
    if (pre) {
        op_add(c, "pre", epilogue_at + offsetof(struct mx_epilogue, pre), e->act_grad ? OP_IN : OP_OUT, before, 1);
        if (!e->act_grad) op_optional(c);
    }
    const size_t residual_at = epilogue_at + offsetof(struct mx_epilogue, residual);
    if (residual == RESIDUAL_OWN) op_add(c, "residual", residual_at, OP_IN, shape, 1);
    if (residual == RESIDUAL_OUTPUT) op_share(c, "residual", residual_at, OP_IN, output, 0, n);
    if (residual != RESIDUAL_NONE) op_optional(c);
}

/* 0 (dense), the width itself, or more. */
static int64_t draw_stride(struct op_case *c, int64_t width)
{
    static const int64_t extra[] = {1, 3, 16};
    switch (op_draw(c, 0, 2)) {
    case 0:
        return 0;
    case 1:
        return width;
    default:
        return width + extra[op_draw(c, 0, 2)];
    }
}

void op_make_matmul(struct op_case *c)
{
    OP_ARGS(matmul);
    a->m = op_draw_sequences(c, -1);
    a->n = op_draw_width(c);
    a->k = op_draw_width(c);
    a->transpose_a = op_flip(c);
    a->transpose_b = op_flip(c);
    if (a->transpose_a) {
        a->k = op_draw_rows(c); /* the gradient of the weights: sums over rows, of which there may be none */
        c->sequences = 0;
    }
    /* Sums longer than any kernel's block, with every epilogue. */
    if (c->plan.size != OP_TINY && op_draw(c, 0, 3) == 0) a->k = op_draw(c, 300, 1100);
    a->lda = draw_stride(c, a->transpose_a ? a->m : a->k);
    a->ldb = draw_stride(c, a->transpose_b ? a->k : a->n);
    a->ldc = draw_stride(c, a->n);
    struct op_shape left = ROWS(a->m, a->k), right = {.rows = a->k, .width = a->n, .stride = a->ldb};
    left.stride = a->lda;
    if (a->transpose_a) left = (struct op_shape){.rows = a->k, .width = a->m, .stride = a->lda};
    if (a->transpose_b) right = (struct op_shape){.rows = a->n, .width = a->k, .stride = a->ldb};
    if (c->plan.bf16) a->precision = MX_PRECISION_BF16;
    a->a_bf16 = op_flip_bf16(c, &left);
    a->b_bf16 = op_flip_bf16(c, &right);
    op_add(c, "a", OP_AT(matmul, a), OP_IN, left, 1);
    op_add(c, "b", OP_AT(matmul, b), OP_IN, right, 1 / sqrt((double)(a->k ? a->k : 1)));
    op_add_epilogue(c, "c", OP_AT(matmul, c), OP_AT(matmul, epilogue), a->m, a->n, a->ldc);
    OP_DIM(matmul, m, OP_DIM_ROWS);
    OP_DIM(matmul, n, OP_DIM_FIXED);
    OP_DIM(matmul, k, OP_DIM_FIXED);
    OP_DIM(matmul, lda, OP_DIM_FIXED);
    OP_DIM(matmul, ldb, OP_DIM_FIXED);
    OP_DIM(matmul, ldc, OP_DIM_FIXED);
}

void op_make_bias_grad(struct op_case *c)
{
    OP_ARGS(bias_grad);
    a->rows = op_draw_rows(c);
    a->n = op_draw_width(c);
    a->accumulate = !c->plan.plain && op_flip(c);
    struct op_shape rows = ROWS(a->rows, a->n);
    a->dy_bf16 = op_flip_bf16(c, &rows);
    op_add(c, "dy", OP_AT(bias_grad, dy), OP_IN, rows, 1);
    op_add(c, "db", OP_AT(bias_grad, db), a->accumulate ? OP_INOUT : OP_OUT, SUM(a->n), 1);
    OP_DIM(bias_grad, rows, OP_DIM_FIXED);
    OP_DIM(bias_grad, n, OP_DIM_FIXED);
}

/* ---- layer norm ---- */

/* Of one or two elements the true gradient is almost nothing, next to which rounding looks large: the differences want
 * more of them. */
static int64_t draw_norm_width(struct op_case *c)
{
    return op_draw_width(c) + (c->plan.size == OP_TINY ? 2 : 0);
}

void op_make_layer_norm(struct op_case *c)
{
    OP_ARGS(layer_norm);
    a->rows = op_draw_sequences(c, -1);
    a->n = draw_norm_width(c);
    a->eps = 1e-5f;
    op_add(c, "x", OP_AT(layer_norm, x), OP_IN, ROWS(a->rows, a->n), 2);
    op_add(c, "gamma", OP_AT(layer_norm, gamma), OP_IN, FLAT(a->n), 1);
    op_add(c, "beta", OP_AT(layer_norm, beta), OP_IN, FLAT(a->n), 1);
    struct op_shape y = ROWS(a->rows, a->n);
    a->y_bf16 = op_flip_bf16(c, &y);
    op_add(c, "y", OP_AT(layer_norm, y), OP_OUT, y, 0);
    op_add(c, "stats", OP_AT(layer_norm, stats), OP_OUT, ROWS(a->rows, 2), 0);
    OP_DIM(layer_norm, rows, OP_DIM_ROWS);
    OP_DIM(layer_norm, n, OP_DIM_FIXED);
}

void op_make_layer_norm_grad(struct op_case *c)
{
    OP_ARGS(layer_norm_grad);
    a->rows = op_draw_sequences(c, -1);
    a->n = draw_norm_width(c);
    const bool in_place = !c->plan.plain && op_flip(c);
    const int dy = op_add(c, "dy", OP_AT(layer_norm_grad, dy), OP_IN, ROWS(a->rows, a->n), 1);
    op_add(c, "x", OP_AT(layer_norm_grad, x), OP_IN, ROWS(a->rows, a->n), 2);
    op_add(c, "gamma", OP_AT(layer_norm_grad, gamma), OP_IN, FLAT(a->n), 1);
    op_add(c, "stats", OP_AT(layer_norm_grad, stats), OP_IN, ROWS(a->rows, 2), 1);
    if (in_place)
        op_share(c, "dx", OP_AT(layer_norm_grad, dx), OP_OUT, dy, 0, a->n);
    else
        op_add(c, "dx", OP_AT(layer_norm_grad, dx), OP_OUT, ROWS(a->rows, a->n), 1);
    op_add(c, "dgamma", OP_AT(layer_norm_grad, dgamma), OP_INOUT, SUM(a->n), 1);
    op_add(c, "dbeta", OP_AT(layer_norm_grad, dbeta), OP_INOUT, SUM(a->n), 1);
    if (!c->plan.plain && op_flip(c)) {
        op_add(c, "residual", OP_AT(layer_norm_grad, residual), OP_IN, ROWS(a->rows, a->n), 1);
        op_optional(c);
    }
    OP_DIM(layer_norm_grad, rows, OP_DIM_ROWS);
    OP_DIM(layer_norm_grad, n, OP_DIM_FIXED);
}

/* ---- element-wise ---- */

void op_make_activation(struct op_case *c)
{
    OP_ARGS(activation);
    int64_t n;
    const int64_t rows = draw_elements(c, &n, OP_AT(activation, count));
    a->act = (enum mx_activation)op_draw(c, MX_ACT_NONE, MX_ACT_GELU);
    const int x = op_add(c, "x", OP_AT(activation, x), OP_IN, ROWS(rows, n), 2);
    if (!c->plan.plain && op_flip(c))
        op_share(c, "y", OP_AT(activation, y), OP_OUT, x, 0, n);
    else
        op_add(c, "y", OP_AT(activation, y), OP_OUT, ROWS(rows, n), 0);
}

void op_make_activation_grad(struct op_case *c)
{
    OP_ARGS(activation_grad);
    int64_t n;
    const int64_t rows = draw_elements(c, &n, OP_AT(activation_grad, count));
    a->act = (enum mx_activation)op_draw(c, MX_ACT_NONE, MX_ACT_GELU);
    const int dy = op_add(c, "dy", OP_AT(activation_grad, dy), OP_IN, ROWS(rows, n), 1);
    op_add(c, "x", OP_AT(activation_grad, x), OP_IN, ROWS(rows, n), 2);
    if (!c->plan.plain && op_flip(c))
        op_share(c, "dx", OP_AT(activation_grad, dx), OP_OUT, dy, 0, n);
    else
        op_add(c, "dx", OP_AT(activation_grad, dx), OP_OUT, ROWS(rows, n), 0);
}

void op_make_residual_add(struct op_case *c)
{
    OP_ARGS(residual_add);
    int64_t n;
    const int64_t rows = draw_elements(c, &n, OP_AT(residual_add, count));
    const int64_t place = c->plan.plain ? 0 : op_draw(c, 0, 2);
    a->factor = draw_factor(c);
    const int first = op_add(c, "a", OP_AT(residual_add, a), OP_IN, ROWS(rows, n), 1);
    const int second = op_add(c, "b", OP_AT(residual_add, b), OP_IN, ROWS(rows, n), 1);
    if (place == 0)
        op_add(c, "y", OP_AT(residual_add, y), OP_OUT, ROWS(rows, n), 0);
    else
        op_share(c, "y", OP_AT(residual_add, y), OP_OUT, place == 1 ? first : second, 0, n);
}

void op_make_dropout(struct op_case *c)
{
    OP_ARGS(dropout);
    static const float rates[] = {0, 0.1f, 0.5f, 0.9f};
    int64_t n;
    const int64_t rows = draw_elements(c, &n, OP_AT(dropout, count));
    c->sequences = 0; /* what is dropped depends on where an element lies */
    a->rate = rates[op_draw(c, 0, 3)];
    a->seed = c->seed * 77;
    a->stream = 5 + ((uint64_t)op_draw(c, 0, 3) << 33);
    a->index = 4 * (uint64_t)op_draw(c, 0, 1000) + (op_flip(c) ? (uint64_t)1 << 34 : 0);
    const int x = op_add(c, "x", OP_AT(dropout, x), OP_IN, ROWS(rows, n), 1);
    if (!c->plan.plain && op_flip(c))
        op_share(c, "y", OP_AT(dropout, y), OP_OUT, x, 0, n);
    else
        op_add(c, "y", OP_AT(dropout, y), OP_OUT, ROWS(rows, n), 0);
    if (!c->plan.plain && op_flip(c)) {
        op_add(c, "residual", OP_AT(dropout, residual), OP_IN, ROWS(rows, n), 1);
        op_optional(c);
    }
}

/* ---- embedding ---- */

void op_make_embedding(struct op_case *c)
{
    OP_ARGS(embedding);
    a->rows = op_draw_sequences(c, -1);
    a->n = op_draw_width(c);
    a->vocabulary = op_draw(c, 1, 40);
    a->factor = draw_factor(c);
    a->accumulate = !c->plan.plain && op_flip(c);
    struct op_shape ids = ROWS(a->rows, 1);
    ids.type = OP_I32;
    op_add(c, "ids", OP_AT(embedding, ids), OP_IN, ids, (double)a->vocabulary);
    op_add(c, "table", OP_AT(embedding, table), OP_IN, (struct op_shape){.rows = a->vocabulary, .width = a->n}, 1);
    op_add(c, "y", OP_AT(embedding, y), a->accumulate ? OP_INOUT : OP_OUT, ROWS(a->rows, a->n), 1);
    OP_DIM(embedding, rows, OP_DIM_ROWS);
    OP_DIM(embedding, n, OP_DIM_FIXED);
    OP_DIM(embedding, vocabulary, OP_DIM_FIXED);
}

void op_make_embedding_grad(struct op_case *c)
{
    OP_ARGS(embedding_grad);
    a->rows = op_draw_sequences(c, -1);
    a->n = op_draw_width(c);
    a->vocabulary = op_draw(c, 1, 40);
    a->factor = draw_factor(c);
    c->sequences = 0; /* rows meet in the table */
    struct op_shape ids = ROWS(a->rows, 1);
    ids.type = OP_I32;
    op_add(c, "ids", OP_AT(embedding_grad, ids), OP_IN, ids, (double)a->vocabulary);
    op_add(c, "dy", OP_AT(embedding_grad, dy), OP_IN, ROWS(a->rows, a->n), 1);
    op_add(c, "dtable", OP_AT(embedding_grad, dtable), OP_INOUT,
           (struct op_shape){.layout = OP_SUM, .rows = a->vocabulary, .width = a->n}, 1);
    OP_DIM(embedding_grad, rows, OP_DIM_FIXED);
    OP_DIM(embedding_grad, n, OP_DIM_FIXED);
    OP_DIM(embedding_grad, vocabulary, OP_DIM_FIXED);
}

/* ---- the optimizer ---- */

void op_make_grad_norm(struct op_case *c)
{
    OP_ARGS(grad_norm);
    static const float limits[] = {0, 0.5f, 1e6f};
    a->count = op_draw_rows(c) * op_draw_width(c);
    a->limit = limits[op_draw(c, 0, 2)];
    a->factor = draw_factor(c);
    op_add(c, "gradient", OP_AT(grad_norm, gradient), OP_IN, FLAT(a->count), 1);
    op_add(c, "result", OP_AT(grad_norm, result), OP_OUT, SUM(4), 0);
    OP_DIM(grad_norm, count, OP_DIM_FIXED);
}

void op_make_adamw(struct op_case *c)
{
    OP_ARGS(adamw);
    static const int64_t steps[] = {1, 2, 7, 1000, 100000};
    a->count = op_draw_rows(c) * op_draw_width(c);
    a->decayed = op_draw(c, 0, a->count);
    a->lr = 0.3f; /* so large that a wrong step shows */
    a->beta1 = 0.9f;
    a->beta2 = 0.98f;
    a->eps = 1e-8f;
    a->weight_decay = 0.1f;
    a->ema_decay = 0.7f;
    a->step = steps[op_draw(c, 0, 4)];
    op_add(c, "parameter", OP_AT(adamw, parameter), OP_INOUT, FLAT(a->count), 1);
    op_add(c, "gradient", OP_AT(adamw, gradient), OP_IN, FLAT(a->count), 1);
    op_add(c, "moment1", OP_AT(adamw, moment1), OP_INOUT, FLAT(a->count), 0.3);
    const int square = op_add(c, "moment2", OP_AT(adamw, moment2), OP_INOUT, FLAT(a->count), 0.3);
    for (int64_t i = 0; i < a->count; i++) data(c, square)[i] *= data(c, square)[i];
    const int norm = op_add(c, "norm", OP_AT(adamw, norm), OP_IN, FLAT(4), 1);
    data(c, norm)[1] = draw_factor(c);
    data(c, norm)[2] = 1;
    if (op_draw(c, 0, 5) == 0) data(c, norm)[1] = data(c, norm)[2] = 0;
    if (!c->plan.plain && op_flip(c)) {
        op_add(c, "ema", OP_AT(adamw, ema), OP_INOUT, FLAT(a->count), 1);
        op_optional(c);
    }
    OP_DIM(adamw, count, OP_DIM_FIXED);
    OP_DIM(adamw, decayed, OP_DIM_FIXED);
}

/* ---- flat ---- */

void op_make_scale(struct op_case *c)
{
    OP_ARGS(scale);
    int64_t n;
    const int64_t rows = draw_elements(c, &n, OP_AT(scale, count));
    a->factor = draw_factor(c);
    op_add(c, "x", OP_AT(scale, x), OP_INOUT, ROWS(rows, n), 1);
}

void op_make_fill(struct op_case *c)
{
    OP_ARGS(fill);
    int64_t n;
    const int64_t rows = draw_elements(c, &n, OP_AT(fill, count));
    struct op_shape shape = ROWS(rows, n);
    if (op_flip(c)) {
        shape.type = OP_I32;
        a->bits = (uint32_t)op_draw(c, 0, UINT32_MAX);
    } else {
        a->value = draw_factor(c);
    }
    op_add(c, "x", OP_AT(fill, x), OP_OUT, shape, 0);
}
