/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random cases of the operations that only the vocoder needs.
 */
#include <math.h>

#include "device/op_case.h"

#define ROWS(r, n) ((struct mx_op_shape){.layout = MX_OP_ROWS, .rows = (r), .width = (n)})

/* ---- depthwise convolution ---- */

/* The arguments that both have in common; `rows` is how many there are. */
#define DEPTHWISE_ARGS(name)                                                                                           \
    MX_OP_ARGS(name);                                                                                                  \
    const int64_t rows = mx_op_draw_sequences(c, -1);                                                                  \
    a->n = mx_op_draw_width(c);                                                                                        \
    a->taps = mx_op_flip(c) ? 7 : (int32_t)(1 + 2 * mx_op_draw(c, 0, MX_DEPTHWISE_TAPS_MAX / 2));                      \
    const struct mx_op_shape weights = {.rows = a->taps, .width = a->n};                                               \
    MX_OP_DIM(name, n, MX_OP_DIM_FIXED);                                                                               \
    MX_OP_DIM(name, taps, MX_OP_DIM_FIXED)

void mx_op_make_depthwise(struct mx_op_case *c)
{
    DEPTHWISE_ARGS(depthwise);
    mx_op_add(c, "x", MX_OP_AT(depthwise, x), MX_OP_IN, ROWS(rows, a->n), 1);
    mx_op_add(c, "w", MX_OP_AT(depthwise, w), MX_OP_IN, weights, 1 / sqrt(a->taps));
    mx_op_add(c, "bias", MX_OP_AT(depthwise, bias), MX_OP_IN, (struct mx_op_shape){.rows = 1, .width = a->n}, 1);
    mx_op_add(c, "y", MX_OP_AT(depthwise, y), MX_OP_OUT, ROWS(rows, a->n), 0);
    mx_op_add_packed(c, MX_OP_AT(depthwise, rows));
}

void mx_op_make_depthwise_grad(struct mx_op_case *c)
{
    DEPTHWISE_ARGS(depthwise_grad);
    mx_op_add(c, "dy", MX_OP_AT(depthwise_grad, dy), MX_OP_IN, ROWS(rows, a->n), 1);
    mx_op_add(c, "x", MX_OP_AT(depthwise_grad, x), MX_OP_IN, ROWS(rows, a->n), 1);
    mx_op_add(c, "w", MX_OP_AT(depthwise_grad, w), MX_OP_IN, weights, 1 / sqrt(a->taps));
    if (!c->plan.plain && mx_op_flip(c)) {
        mx_op_add(c, "residual", MX_OP_AT(depthwise_grad, residual), MX_OP_IN, ROWS(rows, a->n), 1);
        mx_op_optional(c);
    }
    mx_op_add(c, "dx", MX_OP_AT(depthwise_grad, dx), MX_OP_OUT, ROWS(rows, a->n), 0);
    mx_op_add(c, "dw", MX_OP_AT(depthwise_grad, dw), MX_OP_INOUT,
              (struct mx_op_shape){.layout = MX_OP_SUM, .rows = a->taps, .width = a->n}, 1);
    mx_op_add(c, "dbias", MX_OP_AT(depthwise_grad, dbias), MX_OP_INOUT,
              (struct mx_op_shape){.layout = MX_OP_SUM, .rows = 1, .width = a->n}, 1);
    mx_op_add_packed(c, MX_OP_AT(depthwise_grad, rows));
}

/* ---- pitch_loss ---- */

/* Unvoiced rows, and pitches within the range and beyond both of its ends. */
void mx_op_make_pitch_loss(struct mx_op_case *c)
{
    MX_OP_ARGS(pitch_loss);
    const int64_t rows = mx_op_draw_sequences(c, -1);
    a->classes = (int32_t)mx_op_draw_width(c);
    a->low_hz = 65;
    a->high_hz = mx_op_flip(c) ? 500 : 80;
    a->scale = 1 / (float)(1 + rows);
    a->factor = (float)mx_op_draw(c, 1, 9) / 7;
    mx_op_add(c, "logits", MX_OP_AT(pitch_loss, logits), MX_OP_IN, ROWS(rows, a->classes + 1), 2);
    mx_op_add(c, "pitch", MX_OP_AT(pitch_loss, pitch), MX_OP_IN, ROWS(rows, 1), 1);
    mx_op_add(c, "values", MX_OP_AT(pitch_loss, values), MX_OP_OUT,
              (struct mx_op_shape){.layout = MX_OP_SEGMENTS, .rows = c->sequences, .width = 1}, 0);
    if (c->plan.plain || mx_op_flip(c)) {
        mx_op_add(c, "dlogits", MX_OP_AT(pitch_loss, dlogits), MX_OP_OUT, ROWS(rows, a->classes + 1), 0);
        mx_op_optional(c);
    }
    mx_op_add_packed(c, MX_OP_AT(pitch_loss, rows));
    float *const pitch = mx_op_case_data(c, "pitch");
    for (int64_t r = 0; r < rows; r++)
        pitch[r] = mx_op_draw(c, 0, 3) == 0 ? (float)mx_op_draw(c, -1, 0) : 160 + 80 * pitch[r];
    MX_OP_DIM(pitch_loss, classes, MX_OP_DIM_FIXED);
}
