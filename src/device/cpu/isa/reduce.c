/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operations whose result is a sum over everything: gradient of a bias, losses, the norm of the gradient.
 *
 * Every sum is computed per chunk, with chunks that depend on the shape alone (chunks.h), and then over the chunks in
 * order.
 */
#include "device/cpu/isa/bf16.h"
#include "device/cpu/isa/chunks.h"

#define BIAS_ROWS     64    /* rows per partial sum of a bias gradient */
#define BIAS_TOGETHER 4     /* rows added before the partial sum is touched */
#define NORM_ELEMENTS 16384 /* per partial sum of a norm */

/* ---- bias_grad: dy [rows, n] → db [n] ---- */
/* Elements at … of dy, which is float32 or, if `narrow`, bf16. */
MX_VEC_INLINE mx_vf load_dy(const void *dy, const bool narrow, int64_t at, int lanes)
{
    return narrow ? mx_bf16_load_n((const uint16_t *)dy + at, lanes) : mx_vf_load_n((const float *)dy + at, lanes);
}

/* sums[n] = Σ of rows begin … end-1 of dy. */
MX_VEC_INLINE void add_rows(const void *dy, const bool narrow, int64_t begin, int64_t end, int64_t n, float *sums)
{
    memset(sums, 0, (size_t)n * sizeof *sums);
    int64_t r = begin;
    for (; r + BIAS_TOGETHER <= end; r += BIAS_TOGETHER)
        MX_VEC_EACH(i, lanes, 0, n, {
            const mx_vf front = load_dy(dy, narrow, r * n + i, lanes) + load_dy(dy, narrow, (r + 1) * n + i, lanes);
            const mx_vf back =
                load_dy(dy, narrow, (r + 2) * n + i, lanes) + load_dy(dy, narrow, (r + 3) * n + i, lanes);
            mx_vf_store_n(sums + i, mx_vf_load_n(sums + i, lanes) + (front + back), lanes);
        });
    for (; r < end; r++)
        MX_VEC_EACH(
            i, lanes, 0, n,
            mx_vf_store_n(sums + i, mx_vf_load_n(sums + i, lanes) + load_dy(dy, narrow, r * n + i, lanes), lanes););
}

void mx_cpu_bias_grad(const struct mx_gang *gang, const void *args)
{
    const struct mx_bias_grad_args *a = args;
    const void *dy = mx_cpu_ptr(a->dy);
    float *db = mx_cpu_ptr(a->db);
    const int64_t n = a->n;
    const struct mx_chunks chunks = mx_chunks_plan(a->rows, BIAS_ROWS, n * (int64_t)sizeof(float));
    int64_t begin, end;
    if (chunks.count == 0 && a->rows > 0) { /* rows longer than the scratch: by columns, rows in order */
        mx_gang_share(gang, n, MX_VEC_FLOATS, &begin, &end);
        MX_VEC_EACH(i, lanes, begin, end, {
            mx_vf sum = {0};
            for (int64_t r = 0; r < a->rows; r++) sum += load_dy(dy, a->dy_bf16, r * n + i, lanes);
            if (a->accumulate) sum += mx_vf_load_n(db + i, lanes);
            mx_vf_store_n(db + i, sum, lanes);
        });
        return;
    }
    float *partial = gang->shared; /* [chunk][n] */
    for (int64_t c; (c = mx_gang_ticket(gang, 0)) < chunks.count;) {
        mx_chunks_rows(&chunks, c, a->rows, &begin, &end);
        if (a->dy_bf16)
            add_rows(dy, true, begin, end, n, partial + c * n);
        else
            add_rows(dy, false, begin, end, n, partial + c * n);
    }
    mx_gang_barrier(gang);
    mx_gang_share(gang, n, MX_VEC_FLOATS, &begin, &end);
    mx_chunks_add(&chunks, partial, n, db, a->accumulate, begin, end);
}

/* ---- sequence_loss: prediction, target [rows, n] → values [sequences], dprediction [rows, n] ---- */
struct loss_span {
    const float *prediction, *target;
    float *gradient;
    enum mx_loss_kind kind;
    float factor;
};

/* Σ loss over elements [begin, end); writes their gradients. */
MX_VEC_INLINE double loss_sum(const struct loss_span *span, int64_t begin, int64_t end)
{
    mx_vd low = {0}, high = {0};
    const mx_vf one = mx_vf_set(span->factor), zero = {0};
    MX_VEC_EACH(i, lanes, begin, end, {
        const mx_vf d = mx_vf_load_n(span->prediction + i, lanes) - mx_vf_load_n(span->target + i, lanes);
        const mx_vf value = span->kind == MX_LOSS_L1 ? mx_vf_abs(d) : d * d;
        mx_vec_ahead(span->prediction + i);
        mx_vec_ahead(span->target + i);
        low += mx_vd_low(value);
        high += mx_vd_high(value);
        if (span->gradient) {
            mx_vf g = 2.0f * one * d;
            if (span->kind == MX_LOSS_L1) g = mx_vf_select(d > zero, one, mx_vf_select(d < zero, -one, zero));
            mx_vf_store_n(span->gradient + i, g, lanes);
        }
    });
    return mx_vd_sum(low + high);
}

void mx_cpu_sequence_loss(const struct mx_gang *gang, const void *args)
{
    const struct mx_sequence_loss_args *a = args;
    const struct loss_span span = {
        .prediction = mx_cpu_ptr(a->prediction),
        .target = mx_cpu_ptr(a->target),
        .gradient = mx_cpu_ptr(a->dprediction),
        .kind = a->kind,
        .factor = a->factor,
    };
    const int32_t *offsets = mx_cpu_ptr(a->rows.offsets);
    float *values = mx_cpu_ptr(a->values);
    bool covered = offsets[0] == 0 && offsets[a->rows.count] == a->rows.rows;
    for (int64_t s = 0; s < a->rows.count; s++) covered = covered && offsets[s + 1] >= offsets[s];
    if (!covered) { /* nothing is written: with overlapping sequences, two workers would write the same place */
        MX_FAIL(MX_ERR_DATA, "expected offsets that begin with 0, do not decrease and stop at the number of rows",
                "sequence_loss: the sequences do not cover the rows");
        mx_stream_fail(gang->stream);
        return;
    }
    for (int64_t s; (s = mx_gang_ticket(gang, 0)) < a->rows.count;)
        values[s] = (float)((double)a->scale * loss_sum(&span, offsets[s] * a->n, offsets[s + 1] * a->n));
}

/* ---- grad_norm: gradient [count] → result [4] ---- */
static double squares(const float *x, int64_t count)
{
    mx_vd low = {0}, high = {0};
    MX_VEC_EACH(i, lanes, 0, count, {
        const mx_vf v = mx_vf_load_n(x + i, lanes);
        mx_vec_ahead(x + i);
        const mx_vd l = mx_vd_low(v), h = mx_vd_high(v);
        low = mx_vd_fma(l, l, low);
        high = mx_vd_fma(h, h, high);
    });
    return mx_vd_sum(low + high);
}

void mx_cpu_grad_norm(const struct mx_gang *gang, const void *args)
{
    const struct mx_grad_norm_args *a = args;
    const float *gradient = mx_cpu_ptr(a->gradient);
    const struct mx_chunks chunks = mx_chunks_plan(a->count, NORM_ELEMENTS, (int64_t)sizeof(double));
    double *partial = gang->shared; /* [chunk] */
    for (int64_t c; (c = mx_gang_ticket(gang, 0)) < chunks.count;) {
        int64_t begin, end;
        mx_chunks_rows(&chunks, c, a->count, &begin, &end);
        partial[c] = squares(gradient + begin, end - begin);
    }
    mx_gang_barrier(gang);
    if (gang->worker != 0) return;
    double sum = 0;
    for (int64_t c = 0; c < chunks.count; c++) sum += partial[c];
    /* A square of a float32 cannot overflow a double: the sum is finite exactly when every gradient is. */
    const double factor = (double)a->factor, limit = (double)a->limit, norm = sqrt(sum) * fabs(factor);
    const bool finite = isfinite((float)norm);
    float *result = mx_cpu_ptr(a->result);
    result[0] = (float)norm;
    result[1] = !finite ? 0.0f : (float)(limit > 0 && norm > limit ? factor * (limit / norm) : factor);
    result[2] = finite ? 1.0f : 0.0f;
    result[3] = (float)sum;
}
