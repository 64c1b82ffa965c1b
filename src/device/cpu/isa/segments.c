/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operations on rows that belong to segments (frames of a token, rows of a sequence): expanding a row per segment to
 * its rows, summing or averaging them back, pooling by learned weights.
 *
 * Kernels that write rows split the rows; kernels that write segments hand segments out one by one, and each sum runs
 * over the rows in order. Segment ends come from the device's memory and could not be checked earlier: wrong ones never
 * make a kernel access memory outside its tensors; they fail the stream instead.
 */
#include "device/cpu/isa/sequences.h"
#include "device/cpu/isa/vec.h"

#define GRAIN   8 /* rows */
#define COLUMNS 4 /* vectors of a row that are summed at once */

static void fail_segments(const struct mx_gang *gang, const char *op)
{
    MX_FAIL(MX_ERR_DATA, "expected ends that begin with 0, do not decrease and stop at the number of rows",
            "%s: the segments do not cover the rows", op);
    mx_stream_fail(gang->stream);
}

/* Segments a worker takes at a time. */
static int64_t batch_of(int64_t segments)
{
    return 1 + segments / 256;
}

/* ---- durations_scan: durations int32 [count] → ends int32 [count + 1] ---- */
void mx_cpu_durations_scan(const struct mx_gang *gang, const void *args)
{
    const struct mx_durations_scan_args *a = args;
    if (gang->worker != 0) return; /* a few thousand additions, each waiting for the one before */
    const int32_t *durations = mx_cpu_ptr(a->durations);
    int32_t *ends = mx_cpu_ptr(a->ends);
    int64_t sum = 0;
    ends[0] = 0;
    for (int64_t i = 0; i < a->count; i++) {
        sum += durations[i];
        if (durations[i] < 0 || sum > INT32_MAX) {
            MX_FAIL(MX_ERR_DATA, "expected durations of 0 or more that add up to less than 2^31",
                    "durations_scan: duration %d of token %lld leads to %lld rows", (int)durations[i], (long long)i,
                    (long long)sum);
            mx_stream_fail(gang->stream);
            return;
        }
        ends[i + 1] = (int32_t)sum;
    }
}

/* ---- a row per segment to all rows of the segment: expand ---- */
struct spread {
    const char *op;
    const float *x;      /* [segments, n] */
    const int32_t *ends; /* [segments + 1] */
    float *y;            /* [rows, n] */
    int64_t segments, rows, n;
    bool accumulate;
};

static void spread_rows(const struct mx_gang *gang, const struct spread *job)
{
    const int64_t n = job->n;
    int64_t begin, end;
    mx_gang_share(gang, job->rows, GRAIN, &begin, &end);
    int64_t s = mx_segment_of(job->ends, job->segments, begin);
    float *y = job->y + begin * n;
    for (int64_t r = begin; r < end; r++, y += n) {
        while (s < job->segments && job->ends[s + 1] <= r) s++;
        if (s == job->segments || job->ends[s] > r || job->ends[job->segments] != job->rows) {
            fail_segments(gang, job->op);
            return;
        }
        const float *x = job->x + s * n;
        if (job->accumulate)
            MX_VEC_EACH(i, lanes, 0, n,
                        mx_vf_store_n(y + i, mx_vf_load_n(y + i, lanes) + mx_vf_load_n(x + i, lanes), lanes););
        else
            MX_VEC_EACH(i, lanes, 0, n, mx_vf_store_n(y + i, mx_vf_load_n(x + i, lanes), lanes););
    }
}

/* ---- all rows of a segment to a row per segment: expand_grad, segment_mean, attentive_pool ---- */
/* out[n] = factor · Σ_r weight[r] x[r, :] over `rows` rows, in order; weight NULL: 1. */
MX_VEC_INLINE void sum_rows(const float *x, const float *weight, int64_t rows, int64_t n, float factor, float *out)
{
    int64_t i = 0;
    for (; i + COLUMNS * MX_VEC_FLOATS <= n; i += COLUMNS * MX_VEC_FLOATS) {
        mx_vf sum[COLUMNS] = {{0}};
        for (int64_t r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (int j = 0; j < COLUMNS; j++) {
                const mx_vf v = mx_vf_load(x + r * n + i + j * MX_VEC_FLOATS);
                sum[j] = weight ? mx_vf_fma(mx_vf_set(weight[r]), v, sum[j]) : sum[j] + v;
            }
#pragma GCC unroll 4
        for (int j = 0; j < COLUMNS; j++) {
            float *to = out + i + j * MX_VEC_FLOATS;
            mx_vf_store(to, factor * sum[j]);
        }
    }
    MX_VEC_EACH(k, lanes, i, n, {
        mx_vf sum = {0};
        for (int64_t r = 0; r < rows; r++) {
            const mx_vf v = mx_vf_load_n(x + r * n + k, lanes);
            sum = weight ? mx_vf_fma(mx_vf_set(weight[r]), v, sum) : sum + v;
        }
        const mx_vf all = factor * sum;
        mx_vf_store_n(out + k, all, lanes);
    });
}

struct collect {
    const char *op;
    const float *x;      /* [rows, n] */
    const int32_t *ends; /* [segments + 1] */
    float *y;            /* [segments, n] */
    int64_t segments, rows, n;
    bool mean;
};

static void collect_rows(const struct mx_gang *gang, const struct collect *job)
{
    const int64_t batch = batch_of(job->segments), n = job->n;
    for (int64_t first; (first = mx_gang_ticket(gang, 0) * batch) < job->segments;) {
        for (int64_t s = first; s < job->segments && s < first + batch; s++) {
            const int64_t begin = job->ends[s], rows = job->ends[s + 1] - begin;
            if (begin < 0 || rows < 0 || begin + rows > job->rows || job->ends[job->segments] != job->rows) {
                fail_segments(gang, job->op);
                return;
            }
            const float factor = job->mean && rows > 0 ? 1.0f / (float)rows : 1.0f;
            sum_rows(job->x + begin * n, NULL, rows, n, factor, job->y + s * n);
        }
    }
}

/* ---- expand: x [segments, n] → y [rows, n] ---- */
void mx_cpu_expand(const struct mx_gang *gang, const void *args)
{
    const struct mx_expand_args *a = args;
    const struct spread job = {.op = "expand",
                               .x = mx_cpu_ptr(a->x),
                               .ends = mx_cpu_ptr(a->ends),
                               .y = mx_cpu_ptr(a->y),
                               .segments = a->segments,
                               .rows = a->rows,
                               .n = a->n,
                               .accumulate = a->accumulate};
    spread_rows(gang, &job);
}

/* dy [rows, n] → dx [segments, n] */
void mx_cpu_expand_grad(const struct mx_gang *gang, const void *args)
{
    const struct mx_expand_grad_args *a = args;
    const struct collect job = {.op = "expand_grad",
                                .x = mx_cpu_ptr(a->dy),
                                .ends = mx_cpu_ptr(a->ends),
                                .y = mx_cpu_ptr(a->dx),
                                .segments = a->segments,
                                .rows = a->rows,
                                .n = a->n};
    collect_rows(gang, &job);
}

/* ---- segment_mean: x [rows, n] → y [segments, n] ---- */
void mx_cpu_segment_mean(const struct mx_gang *gang, const void *args)
{
    const struct mx_segment_mean_args *a = args;
    const struct collect job = {.op = "segment_mean",
                                .x = mx_cpu_ptr(a->x),
                                .ends = mx_cpu_ptr(a->ends),
                                .y = mx_cpu_ptr(a->y),
                                .segments = a->segments,
                                .rows = a->rows,
                                .n = a->n,
                                .mean = true};
    collect_rows(gang, &job);
}

/* ---- attentive_pool ---- */
/* w[count] = softmax(score[count]) */
static void softmax(const float *score, float *w, int64_t count)
{
    float largest = -INFINITY;
    for (int64_t i = 0; i < count; i++) largest = score[i] > largest ? score[i] : largest;
    mx_vf sums = {0};
    float rest = 0;
    int64_t i = 0;
    for (; i + MX_VEC_FLOATS <= count; i += MX_VEC_FLOATS) {
        const mx_vf e = mx_vf_exp(mx_vf_load(score + i) - largest);
        mx_vf_store(w + i, e);
        sums += e;
    }
    if (i < count) {
        const int lanes = (int)(count - i);
        mx_vf_store_n(w + i, mx_vf_exp(mx_vf_load_n(score + i, lanes) - largest), lanes);
        for (; i < count; i++) rest += w[i];
    }
    const float factor = 1.0f / (mx_vf_sum(sums) + rest);
    MX_VEC_EACH(k, lanes, 0, count, mx_vf_store_n(w + k, mx_vf_load_n(w + k, lanes) * factor, lanes););
}

/* x [rows, n], score [rows] → w [rows], y [sequences, n] */
void mx_cpu_attentive_pool(const struct mx_gang *gang, const void *args)
{
    const struct mx_attentive_pool_args *a = args;
    const float *x = mx_cpu_ptr(a->x), *score = mx_cpu_ptr(a->score);
    float *y = mx_cpu_ptr(a->y), *w = mx_cpu_ptr(a->w);
    const int32_t *offsets = mx_cpu_ptr(a->rows.offsets);
    const int64_t count = a->rows.count, n = a->n;
    for (int64_t s; (s = mx_gang_ticket(gang, 0)) < count;) {
        const int64_t begin = offsets[s], rows = offsets[s + 1] - begin;
        if (begin < 0 || rows < 0 || begin + rows > a->rows.rows || offsets[count] != a->rows.rows) {
            fail_segments(gang, "attentive_pool");
            return;
        }
        softmax(score + begin, w + begin, rows);
        sum_rows(x + begin * n, w + begin, rows, n, 1.0f, y + s * n);
    }
}

/* Σ a[i] b[i], in four chains so that the additions overlap. */
static inline float dot(const float *a, const float *b, int64_t n)
{
    mx_vf sum[4] = {{0}};
    int64_t i = 0;
    for (; i + 4 * MX_VEC_FLOATS <= n; i += 4 * MX_VEC_FLOATS)
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++)
            sum[j] = mx_vf_fma(mx_vf_load(a + i + j * MX_VEC_FLOATS), mx_vf_load(b + i + j * MX_VEC_FLOATS), sum[j]);
    MX_VEC_EACH(k, lanes, i, n, sum[0] = mx_vf_fma(mx_vf_load_n(a + k, lanes), mx_vf_load_n(b + k, lanes), sum[0]););
    return mx_vf_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* dy, y [sequences, n], x [rows, n], w [rows] → dx [rows, n], dscore [rows] */
void mx_cpu_attentive_pool_grad(const struct mx_gang *gang, const void *args)
{
    const struct mx_attentive_pool_grad_args *a = args;
    const float *dy = mx_cpu_ptr(a->dy), *x = mx_cpu_ptr(a->x), *y = mx_cpu_ptr(a->y), *w = mx_cpu_ptr(a->w);
    float *dx = mx_cpu_ptr(a->dx), *dscore = mx_cpu_ptr(a->dscore);
    const int32_t *offsets = mx_cpu_ptr(a->rows.offsets);
    const int64_t count = a->rows.count, n = a->n;
    int64_t begin, end;
    mx_gang_share(gang, a->rows.rows, GRAIN, &begin, &end);
    int64_t s = mx_segment_of(offsets, count, begin), known = -1;
    float mean = 0; /* dy·y of sequence `known` */
    for (int64_t r = begin; r < end; r++) {
        while (s < count && offsets[s + 1] <= r) s++;
        if (s == count || offsets[s] > r || offsets[count] != a->rows.rows) {
            fail_segments(gang, "attentive_pool_grad");
            return;
        }
        const float *g = dy + s * n;
        if (s != known) mean = dot(g, y + s * n, n);
        known = s;
        dscore[r] = w[r] * (dot(g, x + r * n, n) - mean);
        MX_VEC_EACH(i, lanes, 0, n, mx_vf_store_n(dx + r * n + i, w[r] * mx_vf_load_n(g + i, lanes), lanes););
    }
}
