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

/* ---- pitch_loss ---- */

/* Unvoiced rows, and pitches within the range and beyond both of its ends. */
void op_make_pitch_loss(struct op_case *c)
{
    OP_ARGS(pitch_loss);
    const int64_t rows = op_draw_sequences(c, -1);
    a->classes = (int32_t)op_draw_width(c);
    a->low_hz = 65;
    a->high_hz = op_flip(c) ? 500 : 80;
    a->scale = 1 / (float)(1 + rows);
    a->factor = (float)op_draw(c, 1, 9) / 7;
    op_add(c, "logits", OP_AT(pitch_loss, logits), OP_IN, ROWS(rows, a->classes + 1), 2);
    op_add(c, "pitch", OP_AT(pitch_loss, pitch), OP_IN, ROWS(rows, 1), 1);
    op_add(c, "values", OP_AT(pitch_loss, values), OP_OUT,
           (struct op_shape){.layout = OP_SEGMENTS, .rows = c->sequences, .width = 1}, 0);
    if (c->plan.plain || op_flip(c)) {
        op_add(c, "dlogits", OP_AT(pitch_loss, dlogits), OP_OUT, ROWS(rows, a->classes + 1), 0);
        op_optional(c);
    }
    op_add_packed(c, OP_AT(pitch_loss, rows));
    float *const pitch = op_case_data(c, "pitch");
    for (int64_t r = 0; r < rows; r++)
        pitch[r] = op_draw(c, 0, 3) == 0 ? (float)op_draw(c, -1, 0) : 160 + 80 * pitch[r];
    OP_DIM(pitch_loss, classes, OP_DIM_FIXED);
}
