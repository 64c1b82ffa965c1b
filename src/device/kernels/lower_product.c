/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Matrix products as launches: matmul, and the convolution over packed rows with its two gradients, which are products
 * of the rows seen through the taps.
 */
#include "base/number.h"
#include "device/kernels/lower.h"
#include "device/kernels/product.h"

#define TILE 64 /* MX_TILE of product.cl */

/* ---- devices of CPU type: packed operands ---- */

#define PACKED_FLOATS ((int64_t)(MX_PACKED_BYTES / 2 / sizeof(float))) /* of each operand */
#define DEPTH_MOST    2048 /* of k at a time, where C can hold the sums in between */
#define PANELS        8    /* MX_PANELS of opencl/product_cpu.cl */
#define SHARES        4 /* groups for each core: some more than one, lest all wait for a core that is busy elsewhere */

/* Columns n0 … n1 - 1 of C for k0 … k1 - 1; B is packed already. */
static int columns_launch(struct mx_launcher *launcher, const struct mx_product *p, struct mx_slice room,
                          struct mx_slice b, const int64_t n[2], const int64_t k[2])
{
    const struct mx_kernel_tuning *const tuning = launcher->tuning;
    const int64_t rows = tuning->vector == 16 ? 12 : 6, panels = mx_lower_over(p->m, rows);
    const int64_t fit = PACKED_FLOATS / (rows * mx_lower_over(mx_most(k[1] - k[0], 1), 4) * 4);
    const int64_t shares = mx_least(SHARES * mx_most(tuning->units, 1), fit);
    const int64_t tiles = mx_least(mx_most(mx_lower_over(panels, shares), 1), mx_least(PANELS, fit / shares));
    const int64_t groups = mx_least(mx_lower_over(panels, tiles), shares);
    struct mx_epilogue e = p->epilogue;
    e.accumulate = e.accumulate || k[0] > 0;
    if (k[1] != p->k) e = (struct mx_epilogue){.accumulate = e.accumulate};
    const struct mx_kernel_arg args[] = {
        ARG_SLICE(p->a),     ARG_SLICE(p->bounds), ARG_SLICE(room),       ARG_SLICE(b),     ARG_SLICE(p->c),
        ARG_SLICE(e.bias),   ARG_SLICE(e.pre),     ARG_SLICE(e.residual), ARG_LONG(p->m),   ARG_LONG(n[1]),
        ARG_LONG(n[0]),      ARG_LONG(k[0]),       ARG_LONG(k[1] - k[0]), ARG_LONG(p->lda), ARG_LONG(p->ldc),
        ARG_INT(p->a_shape), ARG_INT(p->taps),     ARG_INT(p->width),     ARG_INT(tiles),   ARG_INT(groups),
        ARG_INT(e.act),      ARG_INT(e.act_grad),  ARG_INT(e.accumulate)};
    const bool turned = p->a_shape == MX_A_COLUMNS || p->a_shape == MX_A_TAPS_COLUMNS;
    return mx_lower_launch(launcher, turned ? MX_K_product_columns : MX_K_product_rows, groups, args,
                           sizeof args / sizeof *args);
}

/* Blocks of columns so wide that packed B fits. k is in one piece, unless it counts rows (which may be many) and the
 * product is stored as it is. */
static int packed_launch(struct mx_launcher *launcher, const struct mx_product *p)
{
    int rc = 0;
    struct mx_slice scratch;
    const struct mx_epilogue *const e = &p->epilogue;
    const bool plain =
        e->act == MX_ACT_NONE && !e->act_grad && !e->bias.buffer && !e->pre.buffer && !e->residual.buffer;
    const int columns = 2 * launcher->tuning->vector;
    const bool columns_a = p->a_shape == MX_A_COLUMNS || p->a_shape == MX_A_TAPS_COLUMNS;
    const int64_t pieces = plain && columns_a ? mx_lower_over(p->k, DEPTH_MOST) : 1;
    const int64_t depth = pieces > 1 ? mx_lower_over(mx_lower_over(p->k, pieces), 4) * 4 : p->k;
    const int64_t wide = PACKED_FLOATS / (mx_lower_over(mx_most(depth, 1), 4) * 4) / columns * columns;
    MX_TRY(launcher->scratch(launcher, &scratch));
    const struct mx_slice room = mx_slice_at(scratch.buffer, scratch.offset_bytes + MX_SCRATCH_BYTES);
    const struct mx_slice b = mx_slice_at(scratch.buffer, room.offset_bytes + MX_PACKED_BYTES / 2);
    int64_t k0 = 0;
    do {
        const int64_t k[2] = {k0, mx_least(p->k, k0 + depth)};
        for (int64_t n0 = 0; n0 < p->n; n0 += wide) {
            const int64_t n[2] = {n0, mx_least(p->n, n0 + wide)};
            MX_TRY(LAUNCH(product_pack_b, mx_lower_over(n[1] - n[0], columns), ARG_SLICE(p->b), ARG_SLICE(b),
                          ARG_LONG(n[1]), ARG_LONG(n0), ARG_LONG(k[0]), ARG_LONG(k[1] - k[0]), ARG_LONG(p->ldb),
                          ARG_INT(p->b_shape), ARG_INT(p->b_width), ARG_LONG(p->b_jump)));
            MX_TRY(columns_launch(launcher, p, room, b, n, k));
        }
        k0 += depth;
    } while (k0 < p->k);
out:
    return rc;
}

/* ---- any device ---- */

static int product_launch(struct mx_launcher *launcher, const struct mx_product *p)
{
    const struct mx_epilogue *const e = &p->epilogue;
    if (p->m == 0 || p->n == 0) return 0;
    if (launcher->gemm) return mx_lower_gemm(launcher, p);
    if (launcher->tuning->cpu && p->k <= PACKED_FLOATS / 64) return packed_launch(launcher, p);
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
