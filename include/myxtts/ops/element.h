/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operations (myxtts/ops.h) on each element by itself: activation, sum, dropout, scaling, filling.
 */
#ifndef MYXTTS_OPS_ELEMENT_H
#define MYXTTS_OPS_ELEMENT_H

#include "myxtts/ops/common.h"

/* y = act(x) over count elements; in place allowed. */
struct mx_activation_args {
    struct mx_slice x, y;
    int64_t count;
    enum mx_activation act;
};

/* dx = dy · act'(x); in place of dy allowed. */
struct mx_activation_grad_args {
    struct mx_slice dy, x, dx;
    int64_t count;
    enum mx_activation act;
};

/* y = a + factor · b over count elements; y may be a or b. Gradient: da = dy, db = factor · dy. */
struct mx_residual_add_args {
    struct mx_slice a, b, y;
    int64_t count;
    float factor;
};

/* y[i] = x[i]/(1 - rate) where the random word of (seed, stream, index + i) ≥ rate · 2³², else 0; then + residual[i].
 * Its own gradient (on dy, without residual). In place allowed. rate 0: copies (or does nothing in place). */
struct mx_dropout_args {
    struct mx_slice x, y, residual; /* residual (optional) */
    int64_t count;
    float rate;                   /* [0, 1) */
    uint64_t seed, stream, index; /* index: multiple of 4 */
};

/* x *= factor, in place. */
struct mx_scale_args {
    struct mx_slice x;
    int64_t count;
    float factor;
};

/* x[i] = value (as a float, or as an int32 pattern in `bits`). */
struct mx_fill_args {
    struct mx_slice x;
    int64_t count;
    union {
        float value;
        uint32_t bits;
    };
};

#endif
