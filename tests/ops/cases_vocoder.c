/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random cases of the operations that only the vocoder needs.
 */
#include <math.h>

#include "ops/case.h"

#define ROWS(r, n) ((struct op_shape){.layout = OP_ROWS, .rows = (r), .width = (n)})

/* ---- depthwise convolution ---- */

/* The arguments that both have in common; `rows` is how many there are. */
#define DEPTHWISE_ARGS(name)                                                                                           \
    OP_ARGS(name);                                                                                                     \
    const int64_t rows = op_draw_sequences(c, -1);                                                                     \
    a->n = op_draw_width(c);                                                                                           \
    a->taps = op_flip(c) ? 7 : (int32_t)(1 + 2 * op_draw(c, 0, MX_DEPTHWISE_TAPS_MAX / 2));                            \
    const struct op_shape weights = {.rows = a->taps, .width = a->n};                                                  \
    OP_DIM(name, n, OP_DIM_FIXED);                                                                                     \
    OP_DIM(name, taps, OP_DIM_FIXED)

void op_make_depthwise(struct op_case *c)
{
    DEPTHWISE_ARGS(depthwise);
    op_add(c, "x", OP_AT(depthwise, x), OP_IN, ROWS(rows, a->n), 1);
    op_add(c, "w", OP_AT(depthwise, w), OP_IN, weights, 1 / sqrt(a->taps));
    op_add(c, "bias", OP_AT(depthwise, bias), OP_IN, (struct op_shape){.rows = 1, .width = a->n}, 1);
    op_add(c, "y", OP_AT(depthwise, y), OP_OUT, ROWS(rows, a->n), 0);
    op_add_packed(c, OP_AT(depthwise, rows));
}

void op_make_depthwise_grad(struct op_case *c)
{
    DEPTHWISE_ARGS(depthwise_grad);
    op_add(c, "dy", OP_AT(depthwise_grad, dy), OP_IN, ROWS(rows, a->n), 1);
    op_add(c, "x", OP_AT(depthwise_grad, x), OP_IN, ROWS(rows, a->n), 1);
    op_add(c, "w", OP_AT(depthwise_grad, w), OP_IN, weights, 1 / sqrt(a->taps));
    if (!c->plan.plain && op_flip(c)) {
        op_add(c, "residual", OP_AT(depthwise_grad, residual), OP_IN, ROWS(rows, a->n), 1);
        op_optional(c);
    }
    op_add(c, "dx", OP_AT(depthwise_grad, dx), OP_OUT, ROWS(rows, a->n), 0);
    op_add(c, "dw", OP_AT(depthwise_grad, dw), OP_INOUT,
           (struct op_shape){.layout = OP_SUM, .rows = a->taps, .width = a->n}, 1);
    op_add(c, "dbias", OP_AT(depthwise_grad, dbias), OP_INOUT,
           (struct op_shape){.layout = OP_SUM, .rows = 1, .width = a->n}, 1);
    op_add_packed(c, OP_AT(depthwise_grad, rows));
}
