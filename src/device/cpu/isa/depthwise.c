/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Convolution of each column by itself, and its gradient.
 *
 * Rows are taken in blocks that stay in the first cache while vector after vector of columns goes down them; the
 * weights of a vector stay in registers. Rows near the ends of a sequence leave out the taps that lie outside; the
 * order of the sum is that of the taps for all rows, so a row has the same bits wherever it stands. Sums over rows are
 * made per chunk (chunks.h).
 */
#include "device/cpu/isa/chunks.h"
#include "device/cpu/isa/sequences.h"

#define BLOCK_ROWS 32 /* rows of a block */
#define CHUNK_ROWS 64 /* rows of a partial sum of the gradient, at least */
#define USUAL_TAPS 7  /* for which the taps are unrolled */

struct filter {
    const float *x, *w, *bias, *residual; /* bias [n] and residual [rows, n] may be NULL */
    float *y;
    int64_t n;
    int taps;
    bool backwards; /* tap t looks at row r - t + taps/2 */
};

/* The first number of the sum: bias, residual, or 0. */
MX_VEC_INLINE mx_vf filter_start(const struct filter *f, int64_t row, int64_t i, int lanes)
{
    if (f->bias) return mx_vf_load_n(f->bias + i, lanes);
    return f->residual ? mx_vf_load_n(f->residual + row * f->n + i, lanes) : (mx_vf){0};
}

/* One row, without the taps outside [begin, end). */
static void filter_edge(const struct filter *f, int64_t row, int64_t begin, int64_t end)
{
    const int64_t n = f->n;
    const int half = f->taps / 2;
    MX_VEC_EACH(i, lanes, 0, n, {
        mx_vf sum = filter_start(f, row, i, lanes);
        for (int t = 0; t < f->taps; t++) {
            const int64_t from = f->backwards ? row - t + half : row + t - half;
            if (from >= begin && from < end)
                sum = mx_vf_fma(mx_vf_load_n(f->w + t * n + i, lanes), mx_vf_load_n(f->x + from * n + i, lanes), sum);
        }
        mx_vf_store_n(f->y + row * n + i, sum, lanes);
    });
}

/* Rows [first, last), all of whose taps lie inside the sequence. */
MX_VEC_INLINE void filter_inside(const struct filter *f, int64_t first, int64_t last, const int taps)
{
    const int64_t n = f->n, step = f->backwards ? -n : n;
    MX_VEC_EACH(i, lanes, 0, n, {
        mx_vf w[MX_DEPTHWISE_TAPS_MAX];
        _Pragma("GCC unroll 7") for (int t = 0; t < taps; t++) w[t] = mx_vf_load_n(f->w + t * n + i, lanes);
        for (int64_t row = first; row < last; row++) {
            const float *from = f->x + row * n + i - (taps / 2) * step;
            mx_vf sum = filter_start(f, row, i, lanes);
            _Pragma("GCC unroll 7") for (int t = 0; t < taps; t++) sum =
                mx_vf_fma(w[t], mx_vf_load_n(from + t * step, lanes), sum);
            mx_vf_store_n(f->y + row * n + i, sum, lanes);
        }
    });
}

/* Rows [first, last). */
static void filter_rows(const struct filter *f, const struct mx_ragged *rows, int64_t first, int64_t last)
{
    const int half = f->taps / 2;
    const int32_t *offsets = mx_cpu_ptr(rows->offsets);
    for (int64_t row = first, s = mx_segment_of(offsets, rows->count, first); row < last; s++) {
        const int64_t begin = offsets[s], end = offsets[s + 1], stop = end < last ? end : last;
        for (; row < stop && row < begin + half; row++) filter_edge(f, row, begin, end);
        for (int64_t inside = (stop < end - half ? stop : end - half); row < inside;) {
            const int64_t next = row + BLOCK_ROWS < inside ? row + BLOCK_ROWS : inside;
            if (f->taps == USUAL_TAPS)
                filter_inside(f, row, next, USUAL_TAPS);
            else
                filter_inside(f, row, next, f->taps);
            row = next;
        }
        for (; row < stop; row++) filter_edge(f, row, begin, end);
    }
}

/* ---- depthwise: x [rows, n], w [taps, n], bias [n] → y [rows, n] ---- */
void mx_cpu_depthwise(const struct mx_gang *gang, const void *args)
{
    const struct mx_depthwise_args *a = args;
    const struct filter f = {.x = mx_cpu_ptr(a->x),
                             .w = mx_cpu_ptr(a->w),
                             .bias = mx_cpu_ptr(a->bias),
                             .y = mx_cpu_ptr(a->y),
                             .n = a->n,
                             .taps = a->taps};
    int64_t begin, end;
    if (!mx_sequences_agree(gang, "depthwise", &a->rows)) return;
    mx_gang_share(gang, a->rows.rows, 1, &begin, &end);
    filter_rows(&f, &a->rows, begin, end);
}

/* ---- depthwise_grad: dy, x [rows, n], w [taps, n] → dx [rows, n], dw [taps, n], dbias [n] ---- */

/* Columns [first, last) of dw and dbias += the products of rows [begin, end), in order. */
static void weight_rows(const struct mx_depthwise_grad_args *a, int64_t begin, int64_t end, int64_t first, int64_t last,
                        float *dw, float *dbias)
{
    const float *dy = mx_cpu_ptr(a->dy), *x = mx_cpu_ptr(a->x);
    const int64_t n = a->n;
    const int half = a->taps / 2;
    const int32_t *offsets = mx_cpu_ptr(a->rows.offsets);
    for (int64_t row = begin, s = mx_segment_of(offsets, a->rows.count, begin); row < end; s++) {
        const int64_t start = offsets[s], stop = offsets[s + 1], until = stop < end ? stop : end;
        MX_VEC_EACH(i, lanes, first, last, {
            mx_vf sum[MX_DEPTHWISE_TAPS_MAX], all = mx_vf_load_n(dbias + i, lanes);
            for (int t = 0; t < a->taps; t++) sum[t] = mx_vf_load_n(dw + t * n + i, lanes);
            for (int64_t r = row; r < until; r++) {
                const mx_vf g = mx_vf_load_n(dy + r * n + i, lanes);
                const int64_t from = r - half;
                const int low = from < start ? (int)(start - from) : 0;
                const int high = from + a->taps > stop ? (int)(stop - from) : a->taps;
                for (int t = low; t < high; t++)
                    sum[t] = mx_vf_fma(mx_vf_load_n(x + (from + t) * n + i, lanes), g, sum[t]);
                all += g;
            }
            for (int t = 0; t < a->taps; t++) mx_vf_store_n(dw + t * n + i, sum[t], lanes);
            mx_vf_store_n(dbias + i, all, lanes);
        });
        row = until;
    }
}

void mx_cpu_depthwise_grad(const struct mx_gang *gang, const void *args)
{
    const struct mx_depthwise_grad_args *a = args;
    const struct filter f = {.x = mx_cpu_ptr(a->dy),
                             .w = mx_cpu_ptr(a->w),
                             .residual = mx_cpu_ptr(a->residual),
                             .y = mx_cpu_ptr(a->dx),
                             .n = a->n,
                             .taps = a->taps,
                             .backwards = true};
    const int64_t n = a->n, sums = (a->taps + 1) * n; /* dw, then dbias */
    const struct mx_chunks chunks = mx_chunks_plan(a->rows.rows, CHUNK_ROWS, sums * (int64_t)sizeof(float));
    float *dw = mx_cpu_ptr(a->dw), *dbias = mx_cpu_ptr(a->dbias), *partial = gang->shared;
    int64_t begin, end;
    if (!mx_sequences_agree(gang, "depthwise_grad", &a->rows)) return;
    for (int64_t c; (c = mx_gang_ticket(gang, 0)) < chunks.count;) {
        float *own = partial + c * sums;
        memset(own, 0, (size_t)sums * sizeof *own);
        mx_chunks_rows(&chunks, c, a->rows.rows, &begin, &end);
        weight_rows(a, begin, end, 0, n, own, own + a->taps * n);
        filter_rows(&f, &a->rows, begin, end);
    }
    if (chunks.count == 0) { /* rows longer than the scratch: by columns, rows in order */
        mx_gang_share(gang, n, MX_VEC_FLOATS, &begin, &end);
        weight_rows(a, 0, a->rows.rows, begin, end, dw, dbias);
        mx_gang_share(gang, a->rows.rows, 1, &begin, &end);
        filter_rows(&f, &a->rows, begin, end);
        return;
    }
    mx_gang_barrier(gang);
    mx_gang_share(gang, a->taps * n, MX_VEC_FLOATS, &begin, &end);
    mx_chunks_add(&chunks, partial, sums, dw, true, begin, end);
    mx_gang_share(gang, n, MX_VEC_FLOATS, &begin, &end);
    mx_chunks_add(&chunks, partial + a->taps * n, sums, dbias, true, begin, end);
}
