/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the arguments of several operations have in common: ragged rows, activations, number formats, the epilogue of
 * a product.
 * See myxtts/ops.h for the conventions.
 */
#ifndef MYXTTS_OPS_COMMON_H
#define MYXTTS_OPS_COMMON_H

#include "myxtts/device.h"

/* The place of each sequence in ragged rows: sequence s has rows offsets[s] … offsets[s+1]-1.
 * offsets[0] = 0, offsets[count] = rows; not decreasing. */
struct mx_ragged {
    struct mx_slice offsets; /* int32 [count + 1] */
    int32_t count;           /* sequences */
    int32_t rows;            /* all rows together */
    int32_t max_rows;        /* of the longest sequence */
};

enum mx_activation {
    MX_ACT_NONE,
    MX_ACT_RELU, /* max(x, 0) */
    MX_ACT_GELU, /* x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))) */
};

/* The number format of the factors of a product. */
enum mx_precision {
    MX_PRECISION_F32,
    /* Every element of both operands is rounded to bf16 (to nearest even) before it is multiplied; sums are fp32, and
     * so is the epilogue. Numbers smaller than 2^-126 may count as 0. Only on devices with caps.bf16_multiply; only
     * then may slices that the arguments mark as "_bf16" be stored as bf16, two bytes per element (strides count
     * elements). */
    MX_PRECISION_BF16,
};

/* What happens to a product P before it is stored, in this order; every part is optional.
 *   z = P + bias;  pre = z;  y = act(z);  [grad: y = P · act'(pre), pre is read];  y += residual;  C = y, or C += y. */
struct mx_epilogue {
    struct mx_slice bias; /* [n] */
    enum mx_activation act;
    bool act_grad;            /* multiply by the derivative at `pre` instead of applying the activation; then no bias */
    struct mx_slice pre;      /* [m, n]: written (z, what a backward pass needs) or, with act_grad, read */
    struct mx_slice residual; /* [m, n]: added after the activation; may be C itself */
    bool accumulate;          /* C += */
    bool c_bf16, pre_bf16;    /* C, pre are stored as bf16; with c_bf16 no accumulate, and the residual is not C */
};

#endif
