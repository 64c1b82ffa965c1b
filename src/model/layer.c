/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The smallest layers, forward and backward side by side: matrix products and convolutions with a bias, layer norm,
 * dropout. They only queue operations; all memory is the caller's.
 */
#include "model/internal.h"
#include "myxtts/error.h"

#define NORM_EPS 1e-5f

/* ---- y [rows, out] = epilogue(x [rows, in] · W + b) ---- */

static enum mx_precision precision_of(const struct mx_pass *pass, const struct mx_linear *p)
{
    return pass->model->mixed && !p->fp32 ? MX_PRECISION_BF16 : MX_PRECISION_F32;
}

int mx_linear_forward(const struct mx_pass *pass, const struct mx_linear *p, const struct mx_ragged *rows,
                      struct mx_slice x, struct mx_slice y, const struct mx_epilogue *epilogue)
{
    struct mx_epilogue e = epilogue ? *epilogue : (struct mx_epilogue){.act = MX_ACT_NONE};
    if (p->bias >= 0) e.bias = mx_pass_weight(pass, p->bias);
    if (p->taps == 0)
        return mx_matmul(pass->stream, &(struct mx_matmul_args){.a = x,
                                                                .b = mx_pass_weight(pass, p->weight),
                                                                .c = y,
                                                                .m = rows->rows,
                                                                .n = p->out,
                                                                .k = p->in,
                                                                .epilogue = e,
                                                                .precision = precision_of(pass, p),
                                                                .a_bf16 = p->x_bf16});
    return mx_conv1d(pass->stream, &(struct mx_conv1d_args){.x = x,
                                                            .w = mx_pass_weight(pass, p->weight),
                                                            .y = y,
                                                            .rows = *rows,
                                                            .in_width = p->in,
                                                            .out_width = p->out,
                                                            .taps = p->taps,
                                                            .epilogue = e,
                                                            .precision = precision_of(pass, p),
                                                            .x_bf16 = p->x_bf16});
}

/* dW += xᵀ·dy */
static int weight_backward(const struct mx_pass *pass, const struct mx_linear *p, const struct mx_ragged *rows,
                           struct mx_slice x, struct mx_slice dy)
{
    const struct mx_slice dw = mx_pass_gradient(pass, p->weight);
    if (p->taps == 0)
        return mx_matmul(pass->stream, &(struct mx_matmul_args){.a = x,
                                                                .b = dy,
                                                                .c = dw,
                                                                .m = p->in,
                                                                .n = p->out,
                                                                .k = rows->rows,
                                                                .transpose_a = true,
                                                                .epilogue = {.accumulate = true},
                                                                .precision = precision_of(pass, p),
                                                                .a_bf16 = p->x_bf16,
                                                                .b_bf16 = p->dy_bf16});
    return mx_conv1d_grad_weight(pass->stream, &(struct mx_conv1d_grad_weight_args){.x = x,
                                                                                    .dy = dy,
                                                                                    .dw = dw,
                                                                                    .rows = *rows,
                                                                                    .in_width = p->in,
                                                                                    .out_width = p->out,
                                                                                    .taps = p->taps,
                                                                                    .accumulate = true,
                                                                                    .precision = precision_of(pass, p),
                                                                                    .x_bf16 = p->x_bf16,
                                                                                    .dy_bf16 = p->dy_bf16});
}

/* dx = epilogue(dy·Wᵀ) */
static int input_backward(const struct mx_pass *pass, const struct mx_linear *p, const struct mx_ragged *rows,
                          struct mx_slice dy, struct mx_slice dx, const struct mx_epilogue *epilogue)
{
    const struct mx_epilogue e = epilogue ? *epilogue : (struct mx_epilogue){.act = MX_ACT_NONE};
    if (p->taps == 0)
        return mx_matmul(pass->stream, &(struct mx_matmul_args){.a = dy,
                                                                .b = mx_pass_weight(pass, p->weight),
                                                                .c = dx,
                                                                .m = rows->rows,
                                                                .n = p->in,
                                                                .k = p->out,
                                                                .transpose_b = true,
                                                                .epilogue = e,
                                                                .precision = precision_of(pass, p),
                                                                .a_bf16 = p->dy_bf16});
    return mx_conv1d_grad_input(pass->stream, &(struct mx_conv1d_grad_input_args){.dy = dy,
                                                                                  .w = mx_pass_weight(pass, p->weight),
                                                                                  .dx = dx,
                                                                                  .rows = *rows,
                                                                                  .in_width = p->in,
                                                                                  .out_width = p->out,
                                                                                  .taps = p->taps,
                                                                                  .epilogue = e,
                                                                                  .precision = precision_of(pass, p),
                                                                                  .dy_bf16 = p->dy_bf16});
}

int mx_linear_backward(const struct mx_pass *pass, const struct mx_linear *p, const struct mx_ragged *rows,
                       struct mx_slice x, struct mx_slice dy, struct mx_slice dx, const struct mx_epilogue *epilogue)
{
    int rc = 0;
    if (p->bias >= 0)
        MX_TRY(mx_bias_grad(pass->stream, &(struct mx_bias_grad_args){.dy = dy,
                                                                      .db = mx_pass_gradient(pass, p->bias),
                                                                      .rows = rows->rows,
                                                                      .n = p->out,
                                                                      .accumulate = true,
                                                                      .dy_bf16 = p->dy_bf16}));
    MX_TRY(weight_backward(pass, p, rows, x, dy));
    if (dx.buffer) MX_TRY(input_backward(pass, p, rows, dy, dx, epilogue));
out:
    return rc;
}

/* ---- layer norm over [rows, W] ---- */

int mx_norm_forward(const struct mx_pass *pass, const struct mx_norm *n, struct mx_slice x, struct mx_slice y,
                    struct mx_slice stats)
{
    return mx_layer_norm(pass->stream, &(struct mx_layer_norm_args){.x = x,
                                                                    .gamma = mx_pass_weight(pass, n->gain),
                                                                    .beta = mx_pass_weight(pass, n->bias),
                                                                    .y = y,
                                                                    .stats = stats,
                                                                    .rows = n->rows,
                                                                    .n = pass->model->config.size.width,
                                                                    .eps = NORM_EPS,
                                                                    .y_bf16 = n->y_bf16});
}

int mx_norm_backward(const struct mx_pass *pass, const struct mx_norm *n, struct mx_slice x, struct mx_slice stats,
                     struct mx_slice dy, struct mx_slice dx, struct mx_slice residual)
{
    return mx_layer_norm_grad(pass->stream, &(struct mx_layer_norm_grad_args){.dy = dy,
                                                                              .x = x,
                                                                              .gamma = mx_pass_weight(pass, n->gain),
                                                                              .stats = stats,
                                                                              .dx = dx,
                                                                              .dgamma = mx_pass_gradient(pass, n->gain),
                                                                              .dbeta = mx_pass_gradient(pass, n->bias),
                                                                              .residual = residual,
                                                                              .rows = n->rows,
                                                                              .n = pass->model->config.size.width});
}

/* ---- dropout, slopes ---- */

/* The run's seed also orders batches and initialises parameters: dropout has numbers of its own. */
#define DROPOUT_SEED UINT64_C(0x64726f706f757421)

/* Rows [from, to) of the arrays, of which row `from` is row `place` of the whole batch. */
static int dropout_rows(const struct mx_pass *pass, uint64_t site, const struct mx_slice arrays[3], int64_t from,
                        int64_t to, int64_t place)
{
    const int64_t width = pass->model->config.size.width;
    const uint64_t index = (uint64_t)(place * width);
    struct mx_slice own[3] = {arrays[0], arrays[1], arrays[2]};
    for (int i = 0; i < 3; i++) own[i].offset_bytes += (size_t)(from * width) * sizeof(float);
    if (arrays[2].buffer == NULL) own[2] = arrays[2];
    return mx_dropout(pass->stream, &(struct mx_dropout_args){.x = own[0],
                                                              .y = own[1],
                                                              .residual = own[2],
                                                              .count = (to - from) * width,
                                                              .rate = pass->dropout,
                                                              .seed = pass->seed ^ DROPOUT_SEED,
                                                              .stream = pass->step << 16 | site,
                                                              .index = (index + 3) & ~UINT64_C(3)});
}

int mx_dropout_run(const struct mx_pass *pass, uint64_t site, struct mx_slice x, struct mx_slice y,
                   struct mx_slice residual, int64_t rows)
{
    int rc = 0;
    const struct mx_model_batch *const b = pass->batch;
    const bool frames = site >= MX_SITE_DECODER && site < MX_SITE_PREDICTORS; /* rows of all others are tokens */
    const int64_t first = frames ? b->first_frame : b->first_token;
    const int64_t gap = frames ? b->gap_frames : b->gap_tokens, at = frames ? b->gap_frame : b->gap_token;
    const int64_t cut = gap > 0 && at < rows ? at : rows;
    const struct mx_slice arrays[3] = {x, y, residual};
    MX_TRY(dropout_rows(pass, site, arrays, 0, cut, first));
    if (cut < rows) MX_TRY(dropout_rows(pass, site, arrays, cut, rows, first + cut + gap));
out:
    return rc;
}

int mx_slope_run(const struct mx_pass *pass, enum mx_activation act, struct mx_slice x, struct mx_slice at,
                 int64_t rows)
{
    return mx_activation_grad(
        pass->stream, &(struct mx_activation_grad_args){
                          .dy = x, .x = at, .dx = x, .count = rows * pass->model->config.size.width, .act = act});
}
