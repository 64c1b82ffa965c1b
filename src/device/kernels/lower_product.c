/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Matrix products as launches: matmul, and the convolution over packed rows with its two gradients, which are products
 * of the rows seen through the taps.
 */
#include "device/kernels/lower.h"
#include "device/kernels/product.h"

#define TILE 64 /* MX_TILE of product.cl */

static int product_launch(struct mx_launcher *launcher, const struct mx_product *p)
{
    const struct mx_epilogue *const e = &p->epilogue;
    if (p->m == 0 || p->n == 0) return 0;
    if (launcher->gemm) return mx_lower_gemm(launcher, p);
    return LAUNCH(product, mx_lower_over(p->m, TILE) * mx_lower_over(p->n, TILE), ARG_SLICE(p->a), ARG_SLICE(p->b),
                  ARG_SLICE(p->c), ARG_SLICE(p->bounds), ARG_SLICE(e->bias), ARG_SLICE(e->pre), ARG_SLICE(e->residual),
                  ARG_LONG(p->m), ARG_LONG(p->n), ARG_LONG(p->k), ARG_LONG(p->lda), ARG_LONG(p->ldb), ARG_LONG(p->ldc),
                  ARG_INT(p->a_shape), ARG_INT(p->taps), ARG_INT(p->width), ARG_INT(p->b_shape), ARG_INT(p->b_width),
                  ARG_LONG(p->b_jump), ARG_INT(e->act), ARG_INT(e->act_grad), ARG_INT(e->accumulate));
}

int mx_lower_matmul(struct mx_launcher *launcher, const void *args)
{
    const struct mx_matmul_args *const a = args;
    const struct mx_product p = {.a = a->a,
                                 .b = a->b,
                                 .c = a->c,
                                 .m = a->m,
                                 .n = a->n,
                                 .k = a->k,
                                 .lda = a->lda           ? a->lda
                                        : a->transpose_a ? a->m
                                                         : a->k,
                                 .ldb = a->ldb           ? a->ldb
                                        : a->transpose_b ? a->k
                                                         : a->n,
                                 .ldc = a->ldc ? a->ldc : a->n,
                                 .a_shape = a->transpose_a ? MX_A_COLUMNS : MX_A_ROWS,
                                 .b_shape = a->transpose_b ? MX_B_COLUMNS : MX_B_ROWS,
                                 .bf16 = a->precision == MX_PRECISION_BF16,
                                 .a_bf16 = a->a_bf16,
                                 .b_bf16 = a->b_bf16,
                                 .epilogue = a->epilogue};
    return product_launch(launcher, &p);
}

/* A convolution: bounds of each row first, then the product. */
static int taps_launch(struct mx_launcher *launcher, struct mx_product *p, const struct mx_ragged *rows)
{
    int rc = 0;
    MX_TRY(launcher->scratch(launcher, &p->bounds));
    if ((size_t)rows->rows * 8 > MX_SCRATCH_BYTES) {
        MX_RAISE(MX_ERR_UNSUPPORTED, "lower the batch", "a convolution of %d rows is more than this device's scratch",
                 (int)rows->rows);
    }
    MX_TRY(LAUNCH(row_bounds, WIDE_GROUPS(rows->rows), ARG_SLICE(rows->offsets), ARG_SLICE(p->bounds),
                  ARG_INT(rows->count), ARG_INT(rows->rows)));
    MX_TRY(product_launch(launcher, p));
out:
    return rc;
}

/* y [rows, out] = epilogue(taps of x [rows, taps·in] · w [taps·in, out]) */
int mx_lower_conv1d(struct mx_launcher *launcher, const void *args)
{
    const struct mx_conv1d_args *const a = args;
    struct mx_product p = {.a = a->x,
                           .b = a->w,
                           .c = a->y,
                           .m = a->rows.rows,
                           .n = a->out_width,
                           .k = a->taps * a->in_width,
                           .lda = a->in_width,
                           .ldb = a->out_width,
                           .ldc = a->out_width,
                           .a_shape = MX_A_TAPS,
                           .taps = a->taps,
                           .width = a->in_width,
                           .bf16 = a->precision == MX_PRECISION_BF16,
                           .a_bf16 = a->x_bf16,
                           .epilogue = a->epilogue};
    return taps_launch(launcher, &p, &a->rows);
}

/* dx [rows, in] = epilogue(taps of dy [rows, taps·out] · wᵀ [taps·out, in]), the taps turned round */
int mx_lower_conv1d_grad_input(struct mx_launcher *launcher, const void *args)
{
    const struct mx_conv1d_grad_input_args *const a = args;
    const int64_t one = a->in_width * a->out_width;
    struct mx_product p = {.a = a->dy,
                           .b = mx_slice_at(a->w.buffer, a->w.offset_bytes + (size_t)((a->taps - 1) * one) * 4),
                           .c = a->dx,
                           .m = a->rows.rows,
                           .n = a->in_width,
                           .k = a->taps * a->out_width,
                           .lda = a->out_width,
                           .ldb = a->out_width,
                           .ldc = a->in_width,
                           .a_shape = MX_A_TAPS,
                           .taps = a->taps,
                           .width = a->out_width,
                           .b_shape = MX_B_BLOCKS,
                           .b_width = a->out_width,
                           .b_jump = -one,
                           .bf16 = a->precision == MX_PRECISION_BF16,
                           .a_bf16 = a->dy_bf16,
                           .epilogue = a->epilogue};
    return taps_launch(launcher, &p, &a->rows);
}

/* dw [taps·in, out] = (+=) (taps of x)ᵀ [taps·in, rows] · dy [rows, out] */
int mx_lower_conv1d_grad_weight(struct mx_launcher *launcher, const void *args)
{
    const struct mx_conv1d_grad_weight_args *const a = args;
    struct mx_product p = {.a = a->x,
                           .b = a->dy,
                           .c = a->dw,
                           .m = a->taps * a->in_width,
                           .n = a->out_width,
                           .k = a->rows.rows,
                           .lda = a->in_width,
                           .ldb = a->out_width,
                           .ldc = a->out_width,
                           .a_shape = MX_A_TAPS_COLUMNS,
                           .taps = a->taps,
                           .width = a->in_width,
                           .bf16 = a->precision == MX_PRECISION_BF16,
                           .a_bf16 = a->x_bf16,
                           .b_bf16 = a->dy_bf16,
                           .epilogue = {.accumulate = a->accumulate}};
    return taps_launch(launcher, &p, &a->rows);
}
