/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operations (myxtts/ops.h): losses, the norm of the gradient, the optimizer.
 */
#ifndef MYXTTS_OPS_LEARNING_H
#define MYXTTS_OPS_LEARNING_H

#include "myxtts/ops/common.h"

enum mx_loss_kind { MX_LOSS_L1, MX_LOSS_L2 }; /* |p - t| and (p - t)² */

/* values[s] = scale · Σ over the rows r of sequence s, Σ_i loss(p[r,i], t[r,i]);  dp = factor · loss'. Each sum is
 * computed in double, in a fixed order that depends only on the sequence, so that the loss of an utterance does not
 * depend on the rest of the batch. */
struct mx_sequence_loss_args {
    struct mx_slice prediction, target; /* [rows.rows, n] */
    struct mx_slice values;             /* [rows.count] */
    struct mx_slice dprediction;        /* (optional) [rows.rows, n] */
    struct mx_ragged rows;
    int64_t n;
    float scale, factor;
    enum mx_loss_kind kind;
};

#define MX_PITCH_CLASSES_MAX 4096

/* How well logits [rows.rows, classes + 1] tell the pitch of each row, of classes from low_hz to high_hz in equal steps
 * of its logarithm, and a last entry for "unvoiced":
 *   values[s] = scale · Σ over the rows r of sequence s, Σ_i label[r,i] · (ln Σ_j e^logits[r,j] - logits[r,i])
 *   dlogits = factor · (softmax(logits[r]) - label[r])
 * The label of a row with pitch ≤ 0 is 1 for "unvoiced"; of another one, with
 *   q = (classes - 1) · ln(pitch/low_hz)/ln(high_hz/low_hz), between 0 and classes - 1,
 * it is e^(-½ (i - q)²) for class i, divided by the sum of these, and 0 for "unvoiced". Each sum over rows is computed
 * in double, in a fixed order that depends only on the sequence. */
struct mx_pitch_loss_args {
    struct mx_slice logits;
    struct mx_slice pitch;   /* [rows.rows] in Hz */
    struct mx_slice values;  /* [rows.count] */
    struct mx_slice dlogits; /* (optional) [rows.rows, classes + 1] */
    struct mx_ragged rows;
    int32_t classes;       /* 1 … MX_PITCH_CLASSES_MAX */
    float low_hz, high_hz; /* high_hz is at least 1 % more */
    float scale, factor;
};

/* result float [4] = {‖g‖₂ · |factor|, the scale that AdamW must apply: factor · min(1, limit/(‖g‖₂ |factor|)), 1 if
 * finite else 0, Σ g² in float}. The sum is computed in double. limit 0: no clipping. If it is not finite, scale and
 * the flag are 0, so that nothing reaches the weights. */
struct mx_grad_norm_args {
    struct mx_slice gradient, result;
    int64_t count;
    float limit, factor; /* factor: 1/accumulated micro-batches */
};

/* Decoupled weight decay (AdamW) over flat buffers of `count` floats; the first `decayed` of them are decayed.
 * norm: result of grad_norm on the same stream; if its finite flag is 0, nothing changes. ema (optional): ema += (1 -
 * ema_decay)(p - ema). Bias corrections use `step` (1, 2, …). */
struct mx_adamw_args {
    struct mx_slice parameter, gradient, moment1, moment2, norm;
    struct mx_slice ema; /* (optional) */
    int64_t count, decayed;
    float lr, beta1, beta2, eps, weight_decay, ema_decay;
    int64_t step;
};

#endif
