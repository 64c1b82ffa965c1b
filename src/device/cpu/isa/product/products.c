/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The operations that are matrix products: matmul, and the convolution over packed rows with its two gradients. A
 * convolution is the product of the rows seen through its taps with the weights of all taps; gemm.c fetches the rows.
 * Convolutions with three taps and enough width go to winograd.c, which needs half of the multiplications.
 */
#include "device/cpu/isa/product/gemm_bf16.h"
#include "device/cpu/isa/product/winograd.h"

static struct mx_gemm_epilogue epilogue_of(const struct mx_epilogue *e)
{
    return (struct mx_gemm_epilogue){.bias = mx_cpu_ptr(e->bias),
                                     .residual = mx_cpu_ptr(e->residual),
                                     .pre = mx_cpu_ptr(e->pre),
                                     .act = e->act,
                                     .act_grad = e->act_grad,
                                     .accumulate = e->accumulate,
                                     .c_bf16 = e->c_bf16,
                                     .pre_bf16 = e->pre_bf16};
}

/* C [m, n] = epilogue(op(A) [m, k] · op(B) [k, n]) */
void mx_cpu_matmul(const struct mx_gang *gang, const void *args)
{
    const struct mx_matmul_args *x = args;
    const struct mx_gemm job = {.a = {.data = mx_cpu_ptr(x->a),
                                      .ld = x->lda           ? x->lda
                                            : x->transpose_a ? x->m
                                                             : x->k,
                                      .transpose = x->transpose_a,
                                      .bf16 = x->a_bf16},
                                .b = {.data = mx_cpu_ptr(x->b),
                                      .ld = x->ldb           ? x->ldb
                                            : x->transpose_b ? x->k
                                                             : x->n,
                                      .transpose = x->transpose_b,
                                      .bf16 = x->b_bf16},
                                .c = mx_cpu_ptr(x->c),
                                .ldc = x->ldc ? x->ldc : x->n,
                                .m = x->m,
                                .n = x->n,
                                .k = x->k,
                                .epilogue = epilogue_of(&x->epilogue),
                                .precision = x->precision};
    if (!mx_cpu_gemm_bf16(gang, &job)) mx_cpu_gemm(gang, &job);
}

/* y [rows, out] = epilogue(im2col(x) [rows, taps·in] · w [taps·in, out]) */
void mx_cpu_conv1d(const struct mx_gang *gang, const void *args)
{
    const struct mx_conv1d_args *x = args;
    const struct mx_gemm job = {.a = {.data = mx_cpu_ptr(x->x),
                                      .ld = x->in_width,
                                      .taps = x->taps,
                                      .width = x->in_width,
                                      .offsets = mx_cpu_ptr(x->rows.offsets),
                                      .sequences = x->rows.count,
                                      .bf16 = x->x_bf16},
                                .b = {.data = mx_cpu_ptr(x->w), .ld = x->out_width},
                                .c = mx_cpu_ptr(x->y),
                                .ldc = x->out_width,
                                .m = x->rows.rows,
                                .n = x->out_width,
                                .k = x->taps * x->in_width,
                                .epilogue = epilogue_of(&x->epilogue),
                                .precision = x->precision};
    if (!mx_cpu_gemm_bf16(gang, &job) && !mx_cpu_winograd(gang, &job)) mx_cpu_gemm(gang, &job);
}

/* dx [rows, in] = epilogue(im2col(dy) [rows, taps·out] · wᵀ [taps·out, in]), the taps turned round */
void mx_cpu_conv1d_grad_input(const struct mx_gang *gang, const void *args)
{
    const struct mx_conv1d_grad_input_args *x = args;
    const struct mx_gemm job = {
        .a = {.data = mx_cpu_ptr(x->dy),
              .ld = x->out_width,
              .taps = x->taps,
              .width = x->out_width,
              .offsets = mx_cpu_ptr(x->rows.offsets),
              .sequences = x->rows.count,
              .bf16 = x->dy_bf16},
        .b = {.data = (const float *)mx_cpu_ptr(x->w) + (x->taps - 1) * x->in_width * x->out_width,
              .ld = x->out_width,
              .transpose = true,
              .block = x->out_width,
              .block_stride = -x->in_width * x->out_width},
        .c = mx_cpu_ptr(x->dx),
        .ldc = x->in_width,
        .m = x->rows.rows,
        .n = x->in_width,
        .k = x->taps * x->out_width,
        .epilogue = epilogue_of(&x->epilogue),
        .precision = x->precision};
    if (!mx_cpu_gemm_bf16(gang, &job) && !mx_cpu_winograd(gang, &job)) mx_cpu_gemm(gang, &job);
}

/* dw [taps·in, out] = (+=) im2col(x)ᵀ [taps·in, rows] · dy [rows, out] */
void mx_cpu_conv1d_grad_weight(const struct mx_gang *gang, const void *args)
{
    const struct mx_conv1d_grad_weight_args *x = args;
    const struct mx_gemm job = {.a = {.data = mx_cpu_ptr(x->x),
                                      .ld = x->in_width,
                                      .transpose = true,
                                      .taps = x->taps,
                                      .width = x->in_width,
                                      .offsets = mx_cpu_ptr(x->rows.offsets),
                                      .sequences = x->rows.count,
                                      .bf16 = x->x_bf16},
                                .b = {.data = mx_cpu_ptr(x->dy), .ld = x->out_width, .bf16 = x->dy_bf16},
                                .c = mx_cpu_ptr(x->dw),
                                .ldc = x->out_width,
                                .m = x->taps * x->in_width,
                                .n = x->out_width,
                                .k = x->rows.rows,
                                .epilogue = {.accumulate = x->accumulate},
                                .precision = x->precision};
    if (!mx_cpu_gemm_bf16(gang, &job) && !mx_cpu_winograd(gang, &job)) mx_cpu_gemm(gang, &job);
}
