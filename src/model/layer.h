/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The smallest layers of a network, and what every pass through a network has. The acoustic network (model/internal.h)
 * and the vocoder are built from them.
 *
 * Every layer is a pair of functions, forward and backward, that queue operations on the pass's stream; nothing waits.
 * "dX" is the gradient of the weighted loss with respect to X. Gradients of parameters are always accumulated.
 *
 * Memory: a pass owns nothing; all memory is the caller's.
 */
#ifndef MX_MODEL_LAYER_H
#define MX_MODEL_LAYER_H

#include "model/parameters.h"
#include "myxtts/device.h"
#include "myxtts/ops.h"

/* ---- one pass ---- */

struct mx_pass {
    struct mx_stream *stream;
    const struct mx_parameters *table;
    struct mx_slice parameters, gradients;     /* flat; gradients are absent without a backward pass */
    struct mx_slice frozen;                    /* where the frozen parameters are; no buffer: in `parameters` */
    struct mx_slice merged;                    /* adapted matrices with their adapters (adapter.h) */
    struct mx_slice low, dlow;                 /* [rows, rank of the adapters]: for their gradients */
    bool mixed;                                /* products in bf16 */
    int (*ready)(void *context, int64_t from); /* of struct mx_model_pass_info */
    void *context;
};

static inline struct mx_slice mx_pass_slice(struct mx_slice base, int64_t floats)
{
    return base.buffer ? mx_slice_at(base.buffer, base.offset_bytes + (size_t)floats * 4) : base;
}

/* Does the parameter at this place of the flat buffer learn? */
static inline bool mx_pass_learns(const struct mx_pass *pass, int64_t at)
{
    return at < pass->table->learned;
}

/* Does it learn by an adapter? */
static inline bool mx_pass_adapted(const struct mx_pass *pass, int64_t at)
{
    return !mx_pass_learns(pass, at) && at < pass->table->learned + pass->table->adapted;
}

/* A frozen parameter, without its adapter. */
static inline struct mx_slice mx_pass_frozen(const struct mx_pass *pass, int64_t at)
{
    return mx_pass_slice(pass->frozen.buffer ? pass->frozen : pass->parameters, at);
}

/* A parameter by its place in the flat buffer. */
static inline struct mx_slice mx_pass_weight(const struct mx_pass *pass, int64_t at)
{
    if (mx_pass_learns(pass, at)) return mx_pass_slice(pass->parameters, at);
    return mx_pass_adapted(pass, at) ? mx_pass_slice(pass->merged, at - pass->table->learned)
                                     : mx_pass_frozen(pass, at);
}

/* Its gradient, if it learns. */
static inline struct mx_slice mx_pass_gradient(const struct mx_pass *pass, int64_t at)
{
    return mx_pass_slice(pass->gradients, at);
}

/* Where an operation that always computes this gradient puts it: its place, or the first (0) or second (1) half of the
 * place for those that are not read. */
static inline struct mx_slice mx_pass_gradient_or_discard(const struct mx_pass *pass, int64_t at, int half)
{
    const struct mx_parameters *const t = pass->table;
    return mx_pass_gradient(pass, mx_pass_learns(pass, at) ? at : t->learned + half * t->discard / 2);
}

/* The backward pass has finished with all decayed parameters from the one at `at` on; more will follow. */
static inline int mx_pass_ready(const struct mx_pass *pass, int64_t at)
{
    const int64_t from = pass->ready ? mx_parameters_mark(pass->table, at) : 0;
    return from > 0 ? pass->ready(pass->context, from) : 0;
}

/* It has finished. */
static inline int mx_pass_complete(const struct mx_pass *pass)
{
    return pass->ready ? pass->ready(pass->context, 0) : 0;
}

/* ---- layers ---- */

/* Y = X·W + b if taps is 0, otherwise a convolution over packed rows. */
struct mx_linear {
    int64_t weight, bias; /* places of the parameters; bias -1: none */
    int64_t in, out;
    int32_t taps; /* 0: a matrix product */
    bool fp32;    /* even in mixed precision */
    bool x_bf16;  /* how x (in both passes) and dy are stored; only in mixed precision */
    bool dy_bf16;
};

int mx_linear_forward(const struct mx_pass *pass, const struct mx_linear *p, const struct mx_ragged *rows,
                      struct mx_slice x, struct mx_slice y, const struct mx_epilogue *epilogue);
/* Adds to the gradients of weight (or of its adapter) and bias; dx (optional) goes through `epilogue` (NULL: unchanged). */
int mx_linear_backward(const struct mx_pass *pass, const struct mx_linear *p, const struct mx_ragged *rows,
                       struct mx_slice x, struct mx_slice dy, struct mx_slice dx, const struct mx_epilogue *epilogue);

/* Layer norm over rows of `width`. */
struct mx_norm {
    int64_t gain, bias; /* places of the parameters */
    int64_t rows, width;
    bool y_bf16; /* how y is stored; only in mixed precision */
};

int mx_norm_forward(const struct mx_pass *pass, const struct mx_norm *n, struct mx_slice x, struct mx_slice y,
                    struct mx_slice stats);
/* dx may be the same slice as dy; residual (optional) is added to dx. */
int mx_norm_backward(const struct mx_pass *pass, const struct mx_norm *n, struct mx_slice x, struct mx_slice stats,
                     struct mx_slice dy, struct mx_slice dx, struct mx_slice residual);

/* x *= the derivative of `act` at `at`, over `count` floats. */
int mx_slope_run(const struct mx_pass *pass, enum mx_activation act, struct mx_slice x, struct mx_slice at,
                 int64_t count);

/* 0, or MX_ERR_UNSUPPORTED saying why the device cannot train in mixed precision. */
int mx_mixed_check(const struct mx_device *device);

#endif
