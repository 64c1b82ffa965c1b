/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products by the backend's library. Operands that the library cannot read in place (rows through taps, numbers that
 * are not yet bf16) are first made dense in the launcher's work memory; the epilogue is applied afterwards by kernels
 * of gemm.cl. If the work memory is too small for the whole product, it is computed in blocks that depend on the shape
 * alone, so that results are repeatable.
 *
 * The work memory has three equal parts: dense A, dense B, and the sums if C cannot hold them.
 */
#include "base/number.h"
#include "device/kernels/lower.h"
#include "device/kernels/product.h"

/* How one product is made. */
struct gemm {
    const struct mx_product *p;
    int64_t bytes;            /* of an element of the operands as they are multiplied */
    bool columns;             /* A is stored [k, m]: k counts rows */
    bool dense_a, dense_b;    /* made in work memory */
    bool sums;                /* in work memory */
    bool adds;                /* C += by the library */
    bool finishes;            /* an epilogue of ours follows */
    struct mx_slice residual; /* of that epilogue */
    int64_t mc, nc, kc;       /* most of a block */
    struct mx_slice a, b, z;  /* the parts of the work memory */
    int64_t part_bytes;       /* size of each part */
};

static struct mx_slice along(struct mx_slice slice, int64_t elements, int64_t bytes)
{
    return slice.buffer ? mx_slice_at(slice.buffer, slice.offset_bytes + (size_t)(elements * bytes)) : slice;
}

static int64_t half(int64_t count)
{
    return (count + 1) / 2;
}

/* Blocks so small that each part of the work memory holds its share. */
static int blocks_choose(struct gemm *g)
{
    const struct mx_product *const p = g->p;
    for (g->mc = p->m, g->nc = p->n, g->kc = p->k;;) {
        int64_t *shrinks = NULL;
        if (g->dense_a && g->mc * g->kc * g->bytes > g->part_bytes) {
            shrinks = g->columns ? &g->kc : &g->mc;
        } else if (g->dense_b && g->kc * g->nc * g->bytes > g->part_bytes) {
            shrinks = g->columns ? &g->kc : &g->nc;
        } else if (g->sums && g->mc * g->nc * 4 > g->part_bytes) {
            shrinks = g->mc > 1 ? &g->mc : &g->nc;
        } else {
            return 0;
        }
        if (*shrinks <= 1) {
            return MX_FAIL(MX_ERR_UNSUPPORTED, "use a narrower model, or another device",
                           "a product of %lld · %lld · %lld is wider than this device's work memory", (long long)p->m,
                           (long long)p->n, (long long)p->k);
        }
        *shrinks = half(*shrinks);
    }
}

static int gemm_prepare(struct mx_launcher *launcher, struct gemm *g)
{
    int rc = 0;
    const struct mx_product *const p = g->p;
    const struct mx_epilogue *const e = &p->epilogue;
    const bool taps = p->a_shape == MX_A_TAPS || p->a_shape == MX_A_TAPS_COLUMNS;
    const bool itself = e->residual.buffer == p->c.buffer && e->residual.offset_bytes == p->c.offset_bytes;
    const bool simple = e->act == MX_ACT_NONE && !e->act_grad && !e->pre.buffer && !e->c_bf16;
    g->part_bytes = (int64_t)(launcher->work_bytes / 3 / 64 * 64);
    g->bytes = p->bf16 ? 2 : 4;
    g->columns = p->a_shape == MX_A_COLUMNS || p->a_shape == MX_A_TAPS_COLUMNS;
    g->dense_a = taps || (p->bf16 && !p->a_bf16);
    g->dense_b = p->bf16 && !p->b_bf16;
    g->adds = simple && e->accumulate != itself; /* C itself as the residual is the same as C += */
    g->sums = e->c_bf16 || (!g->adds && (e->accumulate || itself));
    g->residual = g->adds && itself ? (struct mx_slice){0} : e->residual;
    g->finishes = !simple || e->bias.buffer || g->residual.buffer || g->sums || (p->k == 0 && !g->adds);
    MX_TRY(blocks_choose(g));
    if (!g->dense_a && !g->dense_b && !g->sums) goto out;
    MX_TRY(launcher->work(launcher, &g->a));
    g->b = along(g->a, g->part_bytes, 1);
    g->z = along(g->b, g->part_bytes, 1);
out:
    return rc;
}

/* ---- operands of the block (m0 …, n0 …, k0 …) of m, n, k elements ---- */

static int a_prepare(struct mx_launcher *launcher, const struct gemm *g, const int64_t from[3], const int64_t size[3],
                     struct mx_library_gemm *out)
{
    const struct mx_product *const p = g->p;
    const int64_t m0 = from[0], k0 = from[2], m = size[0], k = size[2];
    const int64_t rows = g->columns ? k : m, width = g->columns ? m : k, first = g->columns ? k0 : m0;
    out->transpose_a = g->columns;
    if (!g->dense_a) {
        out->a = along(p->a, first * p->lda + (g->columns ? m0 : k0), g->bytes);
        out->lda = p->lda;
        return 0;
    }
    out->a = g->a;
    out->lda = width;
    if (p->a_shape == MX_A_TAPS || p->a_shape == MX_A_TAPS_COLUMNS) {
        return LAUNCH(product_taps, rows, ARG_SLICE(p->a), ARG_SLICE(g->a), ARG_SLICE(p->bounds), ARG_LONG(first),
                      ARG_INT(p->taps), ARG_INT(p->width), ARG_INT(p->a_bf16), ARG_INT(p->bf16));
    }
    return LAUNCH(product_cast, rows, ARG_SLICE(along(p->a, first * p->lda + (g->columns ? m0 : k0), 4)),
                  ARG_SLICE(g->a), ARG_LONG(p->lda), ARG_INT(width));
}

static int b_prepare(struct mx_launcher *launcher, const struct gemm *g, const int64_t from[3], const int64_t size[3],
                     struct mx_library_gemm *out)
{
    const struct mx_product *const p = g->p;
    const int64_t n0 = from[1], k0 = from[2], n = size[1], k = size[2];
    const int64_t rows = p->b_shape == MX_B_ROWS ? k : n, width = p->b_shape == MX_B_ROWS ? n : k;
    const int64_t at = p->b_shape == MX_B_ROWS ? k0 * p->ldb + n0 : n0 * p->ldb + k0;
    out->transpose_b = p->b_shape != MX_B_ROWS;
    out->b = g->dense_b ? g->b : along(p->b, at, g->bytes);
    out->ldb = g->dense_b ? width : p->ldb;
    if (!g->dense_b || (from[0] > 0 && g->kc == p->k)) return 0; /* there already: it is the same for all m */
    return LAUNCH(product_cast, rows, ARG_SLICE(along(p->b, at, 4)), ARG_SLICE(g->b), ARG_LONG(p->ldb), ARG_INT(width));
}

/* The blocks of B one after the other, each with its own columns of A. */
static int blocks_multiply(struct mx_launcher *launcher, const struct gemm *g, const int64_t from[3],
                           const int64_t size[3], struct mx_library_gemm *call)
{
    int rc = 0;
    const struct mx_product *const p = g->p;
    const int64_t n0 = from[1], n = size[1];
    const struct mx_slice a = call->a;
    for (int64_t t = 0; t < p->k / p->b_width; t++) {
        const struct mx_slice stored = along(p->b, t * p->b_jump + n0 * p->ldb, g->dense_b ? 4 : g->bytes);
        call->a = along(a, t * p->b_width, g->bytes);
        call->b = g->dense_b ? along(g->b, t * n * p->b_width, g->bytes) : stored;
        call->ldb = g->dense_b ? p->b_width : p->ldb;
        call->transpose_b = true;
        call->k = p->b_width;
        if (g->dense_b && from[0] == 0)
            MX_TRY(
                LAUNCH(product_cast, n, ARG_SLICE(stored), ARG_SLICE(call->b), ARG_LONG(p->ldb), ARG_INT(p->b_width)));
        MX_TRY(launcher->gemm(launcher, call));
        call->accumulate = true;
    }
out:
    return rc;
}

static int block_submit(struct mx_launcher *launcher, const struct gemm *g, const int64_t from[3],
                        const int64_t size[3])
{
    int rc = 0;
    const struct mx_product *const p = g->p;
    const struct mx_epilogue *const e = &p->epilogue;
    const int64_t at = from[0] * p->ldc + from[1];
    struct mx_library_gemm call = {.c = g->sums ? g->z : along(p->c, at, 4),
                                   .m = size[0],
                                   .n = size[1],
                                   .k = size[2],
                                   .ldc = g->sums ? size[1] : p->ldc,
                                   .bf16 = p->bf16,
                                   .accumulate = g->adds || from[2] > 0};
    if (size[2] > 0) {
        MX_TRY(a_prepare(launcher, g, from, size, &call));
        if (p->b_shape == MX_B_BLOCKS) {
            MX_TRY(blocks_multiply(launcher, g, from, size, &call));
        } else {
            MX_TRY(b_prepare(launcher, g, from, size, &call));
            MX_TRY(launcher->gemm(launcher, &call));
        }
    }
    if (!g->finishes || from[2] + size[2] < p->k) goto out;
    const struct mx_slice z = p->k > 0 || g->adds ? call.c : (struct mx_slice){0};
    MX_TRY(LAUNCH(product_epilogue, size[0], ARG_SLICE(z), ARG_SLICE(along(p->c, at, e->c_bf16 ? 2 : 4)),
                  ARG_SLICE(along(e->bias, from[1], 4)), ARG_SLICE(along(e->pre, at, e->pre_bf16 ? 2 : 4)),
                  ARG_SLICE(along(g->residual, at, 4)), ARG_INT(size[1]), ARG_LONG(call.ldc), ARG_LONG(p->ldc),
                  ARG_INT(e->act), ARG_INT(e->act_grad), ARG_INT(e->accumulate && !g->adds), ARG_INT(e->c_bf16),
                  ARG_INT(e->pre_bf16)));
out:
    return rc;
}

int mx_lower_gemm(struct mx_launcher *launcher, const struct mx_product *p)
{
    int rc = 0;
    struct gemm g = {.p = p};
    MX_TRY(gemm_prepare(launcher, &g));
    for (int64_t n0 = 0; n0 < p->n; n0 += g.nc) {
        for (int64_t m0 = 0; m0 < p->m; m0 += g.mc) {
            int64_t k0 = 0;
            do {
                const int64_t from[3] = {m0, n0, k0};
                const int64_t size[3] = {mx_least(p->m - m0, g.mc), mx_least(p->n - n0, g.nc),
                                         mx_least(p->k - k0, g.kc)};
                MX_TRY(block_submit(launcher, &g, from, size));
                k0 += g.kc;
            } while (k0 < p->k);
        }
    }
out:
    return rc;
}
