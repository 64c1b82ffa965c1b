/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operations (myxtts/ops.h): products of matrices, and convolutions along the rows of sequences.
 */
#ifndef MYXTTS_OPS_PRODUCT_H
#define MYXTTS_OPS_PRODUCT_H

#include "myxtts/ops/common.h"

/* C[m,n] = epilogue(op(A) · op(B)); op(A) is [m,k], op(B) is [k,n].
 * Gradients of Y = X·W: dX = dY·Wᵀ (transpose_b), dW = Xᵀ·dY (transpose_a). lda, ldb, ldc: floats from
 * row to row as stored; pre and residual have C's. */
struct mx_matmul_args {
    struct mx_slice a; /* [m, k], stored [k, m] with transpose_a */
    struct mx_slice b; /* [k, n], stored [n, k] with transpose_b */
    struct mx_slice c; /* [m, n] */
    int64_t m, n, k;
    int64_t lda, ldb, ldc; /* 0: dense */
    bool transpose_a, transpose_b;
    struct mx_epilogue epilogue;
    enum mx_precision precision;
    bool a_bf16, b_bf16;
};

/* db[n] = (+=) Σ over rows of dy[rows, n]. */
struct mx_bias_grad_args {
    struct mx_slice dy, db;
    int64_t rows, n;
    bool accumulate;
    bool dy_bf16; /* dy is stored as bf16 */
};

/* y[rows, out_width] = epilogue(Σ_tap x[row + tap - taps/2, :] · w[tap]); rows outside the sequence are 0.
 * w: [taps, in_width, out_width]; taps 1, 3, 5 or 7. */
struct mx_conv1d_args {
    struct mx_slice x, w, y;
    struct mx_ragged rows;
    int64_t in_width, out_width;
    int32_t taps;
    struct mx_epilogue epilogue;
    enum mx_precision precision;
    bool x_bf16;
};

/* dx[rows, in_width] = epilogue(Σ_tap dy[row - tap + taps/2, :] · w[tap]ᵀ). */
struct mx_conv1d_grad_input_args {
    struct mx_slice dy, w, dx;
    struct mx_ragged rows;
    int64_t in_width, out_width;
    int32_t taps;
    struct mx_epilogue epilogue;
    enum mx_precision precision;
    bool dy_bf16;
};

/* dw[tap] = (+=) Σ_row x[row + tap - taps/2, :]ᵀ · dy[row, :]. */
struct mx_conv1d_grad_weight_args {
    struct mx_slice x, dy, dw;
    struct mx_ragged rows;
    int64_t in_width, out_width;
    int32_t taps;
    bool accumulate;
    enum mx_precision precision;
    bool x_bf16, dy_bf16;
};

#define MX_DEPTHWISE_TAPS_MAX 15

/* A convolution along the rows, each column by itself:
 *   y[r, i] = bias[i] + Σ_tap w[tap, i] · x[r + tap - taps/2, i], rows outside the own sequence are 0.
 * Offsets that do not cover the rows fail the stream. */
struct mx_depthwise_args {
    struct mx_slice x, y; /* [rows, n] */
    struct mx_slice w;    /* [taps, n] */
    struct mx_slice bias; /* [n] */
    struct mx_ragged rows;
    int64_t n;
    int32_t taps; /* odd, 1 … MX_DEPTHWISE_TAPS_MAX */
};

/* dx[r, i] = Σ_tap w[tap, i] · dy[r - tap + taps/2, i];  dw[tap, i] += Σ_r x[r + tap - taps/2, i] · dy[r, i];
 * dbias[i] += Σ_r dy[r, i]. residual (optional) [rows, n], which may be dx, is added to dx: the gradient of a skip
 * connection. */
struct mx_depthwise_grad_args {
    struct mx_slice dy, x, w, dx, dw, dbias;
    struct mx_slice residual;
    struct mx_ragged rows;
    int64_t n;
    int32_t taps;
};

#endif
