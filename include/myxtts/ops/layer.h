/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operations (myxtts/ops.h): the other layers of networks: normalisation, embedding, rotary positions, attention.
 */
#ifndef MYXTTS_OPS_LAYER_H
#define MYXTTS_OPS_LAYER_H

#include "myxtts/ops/common.h"

/* y = (x - mean)/√(var + eps) · gamma + beta, per row of [rows, n]. stats: [rows, 2] mean and 1/√(var + eps), for the
 * gradient. */
struct mx_layer_norm_args {
    struct mx_slice x, gamma, beta, y, stats;
    int64_t rows, n;
    float eps;
    bool y_bf16; /* y is stored as bf16 */
};

/* dx [rows, n] (in place of dy allowed), dgamma and dbeta [n] += always.
 * residual (optional) [rows, n]: added to dx, so that the gradient of the skip connection needs no extra pass. */
struct mx_layer_norm_grad_args {
    struct mx_slice dy, x, gamma, stats, dx, dgamma, dbeta;
    struct mx_slice residual;
    int64_t rows, n;
};

/* y[rows, n] = factor · table[ids[row], :] (+= with accumulate). An id outside [0, vocabulary) fails the stream. */
struct mx_embedding_args {
    struct mx_slice ids; /* int32 [rows] */
    struct mx_slice table, y;
    int64_t rows, n, vocabulary;
    float factor;
    bool accumulate;
};

/* dtable[ids[row], :] += factor · dy[row, :], rows in order. */
struct mx_embedding_grad_args {
    struct mx_slice ids, dy, dtable;
    int64_t rows, n, vocabulary;
    float factor;
};

/* table [positions, head_width/2, 2] = cos, sin of position · base^(-2i/head_width). */
struct mx_rotary_table_args {
    struct mx_slice table;
    int64_t positions, head_width;
    float base; /* 10000 */
};

/* In place: the halves (x[i], x[i + head_width/2]) of each of `heads` heads of each row are rotated by the angle of the
 * row's position in its sequence; inverse rotates back, which is also the gradient. Row r starts at x + r · stride
 * floats. */
struct mx_rotary_args {
    struct mx_slice x, table;
    struct mx_ragged rows;
    int64_t heads, head_width, stride;
    int64_t positions; /* of the table; ≥ rows.max_rows */
    bool inverse;
};

#define MX_ATTENTION_WIDTH_MAX 256 /* widest head */

/* For each sequence and head: out = softmax(q kᵀ · factor) v; every row attends to every row of its own sequence and no
 * other. q, k, v: row r of head h starts at r · stride + h · head_width (so they may be parts of one [rows, 3·width]
 * tensor); out: row stride out_stride. lse [heads, rows]: log Σ exp of each score row, for the gradient. Memory beyond
 * that does not grow with the square of the length. */
struct mx_attention_args {
    struct mx_slice q, k, v, out, lse;
    struct mx_ragged rows;
    int64_t heads, head_width, stride, out_stride;
    float factor; /* 1/√head_width */
};

/* dq, dk, dv (row stride grad_stride) are overwritten. delta [heads, rows] is scratch. */
struct mx_attention_grad_args {
    struct mx_slice q, k, v, out, lse, dout, dq, dk, dv, delta;
    struct mx_ragged rows;
    int64_t heads, head_width, stride, out_stride, grad_stride;
    float factor;
};

#endif
