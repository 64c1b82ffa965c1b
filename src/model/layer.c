/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The smallest layers, forward and backward side by side: matrix products and convolutions with a bias, layer norm.
 * They only queue operations; all memory is the caller's.
 */
#include "model/layer.h"
#include "myxtts/error.h"

#define NORM_EPS 1e-5f

/* ---- y [rows, out] = epilogue(x [rows, in] · W + b) ---- */

static enum mx_precision precision_of(const struct mx_pass *pass, const struct mx_linear *p)
{
    return pass->mixed && !p->fp32 ? MX_PRECISION_BF16 : MX_PRECISION_F32;
}

/* y [rows, out] = x [rows, in]·W or, `back`, y [rows, in] = x [rows, out]·Wᵀ, of a layer without taps */
static int rows_multiply(const struct mx_pass *pass, const struct mx_linear *p, const struct mx_ragged *rows, bool back,
                         struct mx_slice x, struct mx_slice y, const struct mx_epilogue *e)
{
    return mx_matmul(pass->stream, &(struct mx_matmul_args){.a = x,
                                                            .b = mx_pass_weight(pass, p->weight),
                                                            .c = y,
                                                            .m = rows->rows,
                                                            .n = back ? p->in : p->out,
                                                            .k = back ? p->out : p->in,
                                                            .transpose_b = back,
                                                            .epilogue = *e,
                                                            .precision = precision_of(pass, p),
                                                            .a_bf16 = back ? p->dy_bf16 : p->x_bf16});
}

int mx_linear_forward(const struct mx_pass *pass, const struct mx_linear *p, const struct mx_ragged *rows,
                      struct mx_slice x, struct mx_slice y, const struct mx_epilogue *epilogue)
{
    struct mx_epilogue e = epilogue ? *epilogue : (struct mx_epilogue){.act = MX_ACT_NONE};
    if (p->bias >= 0) e.bias = mx_pass_weight(pass, p->bias);
    if (p->taps == 0) return rows_multiply(pass, p, rows, false, x, y, &e);
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
    if (p->taps == 0) return rows_multiply(pass, p, rows, true, dy, dx, &e);
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

/* dB += (x·A)ᵀ·dy and dA += xᵀ·(dy·Bᵀ), see adapter.h */
static int adapter_backward(const struct mx_pass *pass, const struct mx_linear *p, const struct mx_ragged *rows,
                            struct mx_slice x, struct mx_slice dy)
{
    const struct mx_parameter *const weight = mx_parameters_at(pass->table, p->weight);
    const struct mx_parameter *const a = &pass->table->entries[weight->adapter], *const b = a + 1;
    struct mx_linear of_a = *p, of_b = *p;
    int rc = 0;
    of_a.weight = a->at;
    of_b.weight = b->at;
    of_a.bias = of_b.bias = -1;
    of_a.out = of_b.in = b->shape[0];
    of_b.taps = 0;
    of_a.dy_bf16 = of_b.x_bf16 = false; /* what lies between the two is fp32 */
    MX_TRY(mx_linear_forward(pass, &of_a, rows, x, pass->low, NULL));
    MX_TRY(weight_backward(pass, &of_b, rows, pass->low, dy));
    MX_TRY(input_backward(pass, &of_b, rows, dy, pass->dlow, NULL));
    MX_TRY(weight_backward(pass, &of_a, rows, x, pass->dlow));
out:
    return rc;
}

int mx_linear_backward(const struct mx_pass *pass, const struct mx_linear *p, const struct mx_ragged *rows,
                       struct mx_slice x, struct mx_slice dy, struct mx_slice dx, const struct mx_epilogue *epilogue)
{
    int rc = 0;
    if (p->bias >= 0 && mx_pass_learns(pass, p->bias))
        MX_TRY(mx_bias_grad(pass->stream, &(struct mx_bias_grad_args){.dy = dy,
                                                                      .db = mx_pass_gradient(pass, p->bias),
                                                                      .rows = rows->rows,
                                                                      .n = p->out,
                                                                      .accumulate = true,
                                                                      .dy_bf16 = p->dy_bf16}));
    if (mx_pass_learns(pass, p->weight)) MX_TRY(weight_backward(pass, p, rows, x, dy));
    if (mx_pass_adapted(pass, p->weight)) MX_TRY(adapter_backward(pass, p, rows, x, dy));
    if (dx.buffer) MX_TRY(input_backward(pass, p, rows, dy, dx, epilogue));
out:
    return rc;
}

/* ---- layer norm over [rows, width] ---- */

int mx_norm_forward(const struct mx_pass *pass, const struct mx_norm *n, struct mx_slice x, struct mx_slice y,
                    struct mx_slice stats)
{
    return mx_layer_norm(pass->stream, &(struct mx_layer_norm_args){.x = x,
                                                                    .gamma = mx_pass_weight(pass, n->gain),
                                                                    .beta = mx_pass_weight(pass, n->bias),
                                                                    .y = y,
                                                                    .stats = stats,
                                                                    .rows = n->rows,
                                                                    .n = n->width,
                                                                    .eps = NORM_EPS,
                                                                    .y_bf16 = n->y_bf16});
}

int mx_norm_backward(const struct mx_pass *pass, const struct mx_norm *n, struct mx_slice x, struct mx_slice stats,
                     struct mx_slice dy, struct mx_slice dx, struct mx_slice residual)
{
    return mx_layer_norm_grad(pass->stream,
                              &(struct mx_layer_norm_grad_args){.dy = dy,
                                                                .x = x,
                                                                .gamma = mx_pass_weight(pass, n->gain),
                                                                .stats = stats,
                                                                .dx = dx,
                                                                .dgamma = mx_pass_gradient_or_discard(pass, n->gain, 0),
                                                                .dbeta = mx_pass_gradient_or_discard(pass, n->bias, 1),
                                                                .residual = residual,
                                                                .rows = n->rows,
                                                                .n = n->width});
}

/* ---- slopes ---- */

int mx_slope_run(const struct mx_pass *pass, enum mx_activation act, struct mx_slice x, struct mx_slice at,
                 int64_t count)
{
    return mx_activation_grad(pass->stream,
                              &(struct mx_activation_grad_args){.dy = x, .x = at, .dx = x, .count = count, .act = act});
}

/* ---- mixed precision ---- */

int mx_mixed_check(const struct mx_device *device)
{
    const struct mx_device_info *const info = mx_device_info(device);
    if (info->caps.bf16_multiply) return 0;
    return MX_FAIL(MX_ERR_UNSUPPORTED,
                   "train without mixed precision (all numbers are then fp32), or on a device that 'myxtts devices' "
                   "shows with bf16",
                   "mixed precision needs a device that multiplies bf16 numbers, and %s does not: %s",
                   mx_device_name(device),
                   info->bf16_missing[0] ? info->bf16_missing : "its backend has no kernels for them");
}
