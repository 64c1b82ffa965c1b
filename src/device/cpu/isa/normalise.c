/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Layer norm, forward and backward, each in one pass over memory: a row is read once and stays in the first-level cache
 * while its sums are made.
 *
 * The gradients of gamma and beta are sums over all rows: one partial sum per chunk of rows (chunks.h).
 */
#include "device/cpu/isa/bf16.h"
#include "device/cpu/isa/chunks.h"

#define GRAIN      8                   /* rows */
#define CHUNK_ROWS 64                  /* per partial sum of dgamma and dbeta */
#define TOGETHER   4                   /* rows that share one load of gamma and one update of the partial sums */
#define LINE       (64 / MX_VEC_BYTES) /* vectors in a line of the cache */

/* Σ x over a row, in four chains so that the additions overlap. */
static inline float row_sum(const float *x, int64_t n)
{
    mx_vf sum[4] = {{0}};
    int64_t i = 0;
    for (; i + 4 * MX_VEC_FLOATS <= n; i += 4 * MX_VEC_FLOATS)
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) sum[j] += mx_vf_load(x + i + j * MX_VEC_FLOATS);
    MX_VEC_EACH(k, lanes, i, n, sum[0] += mx_vf_load_n(x + k, lanes););
    return mx_vf_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* Σ (x - mean)² over a row. */
static inline float row_spread(const float *x, int64_t n, float mean)
{
    mx_vf sum[4] = {{0}};
    int64_t i = 0;
    for (; i + 4 * MX_VEC_FLOATS <= n; i += 4 * MX_VEC_FLOATS)
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) {
            const mx_vf d = mx_vf_load(x + i + j * MX_VEC_FLOATS) - mean;
            sum[j] = mx_vf_fma(d, d, sum[j]);
        }
    for (; i + MX_VEC_FLOATS <= n; i += MX_VEC_FLOATS) {
        const mx_vf d = mx_vf_load(x + i) - mean;
        sum[0] = mx_vf_fma(d, d, sum[0]);
    }
    float rest = 0; /* lanes beyond the row would count as 0 - mean */
    for (; i < n; i++) rest += (x[i] - mean) * (x[i] - mean);
    return mx_vf_sum((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest;
}

/* x [rows, n], gamma [n], beta [n] → y [rows, n], stats [rows, 2] */
void mx_cpu_layer_norm(const struct mx_gang *gang, const void *args)
{
    const struct mx_layer_norm_args *a = args;
    const float *gamma = mx_cpu_ptr(a->gamma), *beta = mx_cpu_ptr(a->beta);
    const int64_t n = a->n;
    const bool around = !a->y_bf16 && n % MX_VEC_FLOATS == 0 && mx_vec_around(mx_cpu_ptr(a->y), a->rows * n);
    int64_t begin, end;
    mx_gang_share(gang, a->rows, GRAIN, &begin, &end);
    const float *x = (const float *)mx_cpu_ptr(a->x) + begin * n;
    float *y = (float *)mx_cpu_ptr(a->y) + begin * n, *stats = (float *)mx_cpu_ptr(a->stats) + begin * 2;
    uint16_t *narrow = (uint16_t *)mx_cpu_ptr(a->y) + begin * n;
    for (int64_t r = begin; r < end; r++, x += n, y += n, narrow += n, stats += 2) {
        const float mean = row_sum(x, n) / (float)n;
        const float scale = 1.0f / sqrtf(row_spread(x, n, mean) / (float)n + a->eps);
        stats[0] = mean;
        stats[1] = scale;
        MX_VEC_EACH(i, lanes, 0, n, {
            const mx_vf unit = (mx_vf_load_n(x + i, lanes) - mean) * scale;
            mx_vec_ahead(x + i);
            const mx_vf value = mx_vf_fma(unit, mx_vf_load_n(gamma + i, lanes), mx_vf_load_n(beta + i, lanes));
            if (a->y_bf16)
                mx_bf16_store_n(narrow + i, value, lanes);
            else
                mx_vf_put_n(y + i, value, lanes, around);
        });
    }
    mx_vec_fence(around);
}

/* What the gradient of some rows needs; all pointers at the first of them. */
struct norm_rows {
    const float *dy, *x, *gamma, *stats, *residual;
    float *dx;
    float *dgamma, *dbeta; /* partial sums, or NULL */
    int64_t n;
    bool around; /* dx around the caches */
};

/* What is the same for all elements of a row. */
struct norm_terms {
    float mean[TOGETHER], scale[TOGETHER], shift[TOGETHER], slope[TOGETHER];
};

/* Elements i … of `rows` rows: `vectors` vectors of each, `lanes` lanes of a vector. A row at a time, so that a line
 * that is written around the caches is complete before the next one begins. */
MX_VEC_INLINE void grad_elements(const struct norm_rows *job, const struct norm_terms *t, const int rows, int64_t i,
                                 const int vectors, const int lanes)
{
    const int64_t n = job->n;
    mx_vf dgamma[LINE], dbeta[LINE];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) dgamma[v] = dbeta[v] = (mx_vf){0};
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        const int64_t first = r * n + i;
        /* Of the next rows: these are too many streams for the hardware. */
        __builtin_prefetch(job->dy + first + rows * n);
        __builtin_prefetch(job->x + first + rows * n);
        if (job->residual) __builtin_prefetch(job->residual + first + rows * n);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            const int64_t at = first + v * MX_VEC_FLOATS;
            const mx_vf gamma = mx_vf_load_n(job->gamma + i + v * MX_VEC_FLOATS, lanes);
            const mx_vf dy = mx_vf_load_n(job->dy + at, lanes), centred = mx_vf_load_n(job->x + at, lanes) - t->mean[r];
            mx_vf dx = mx_vf_fma(dy * gamma, mx_vf_set(t->scale[r]), mx_vf_set(-t->shift[r]));
            dx = mx_vf_fnma(centred, mx_vf_set(t->slope[r]), dx);
            if (job->residual) dx += mx_vf_load_n(job->residual + at, lanes);
            mx_vf_put_n(job->dx + at, dx, lanes, job->around);
            dgamma[v] = mx_vf_fma(dy * centred, mx_vf_set(t->scale[r]), dgamma[v]);
            dbeta[v] += dy;
        }
    }
    if (!job->dgamma) return;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        float *to_gamma = job->dgamma + i + v * MX_VEC_FLOATS, *to_beta = job->dbeta + i + v * MX_VEC_FLOATS;
        mx_vf_store_n(to_gamma, mx_vf_load_n(to_gamma, lanes) + dgamma[v], lanes);
        mx_vf_store_n(to_beta, mx_vf_load_n(to_beta, lanes) + dbeta[v], lanes);
    }
}

/* `rows` rows at once. With u = (x - mean) · scale and g = dy · gamma:
 * dx = scale · (g - mean of g - u · mean of g u), dgamma += dy u, dbeta += dy. */
MX_VEC_INLINE void grad_rows(const struct norm_rows *job, const int rows)
{
    const int64_t n = job->n;
    const float share = 1.0f / (float)n;
    struct norm_terms t;
    mx_vf sum[TOGETHER], product[TOGETHER];
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        t.mean[r] = job->stats[2 * r];
        t.scale[r] = job->stats[2 * r + 1];
        sum[r] = product[r] = (mx_vf){0};
    }
    MX_VEC_EACH(i, lanes, 0, n, {
        const mx_vf gamma = mx_vf_load_n(job->gamma + i, lanes);
        _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++)
        {
            const mx_vf g = mx_vf_load_n(job->dy + r * n + i, lanes) * gamma;
            sum[r] += g;
            product[r] = mx_vf_fma(g, mx_vf_load_n(job->x + r * n + i, lanes) - t.mean[r], product[r]);
        }
    });
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        t.shift[r] = t.scale[r] * mx_vf_sum(sum[r]) * share;
        t.slope[r] = t.scale[r] * t.scale[r] * t.scale[r] * mx_vf_sum(product[r]) * share;
    }
    int64_t i = 0;
    for (; i + LINE * MX_VEC_FLOATS <= n; i += LINE * MX_VEC_FLOATS)
        grad_elements(job, &t, rows, i, LINE, MX_VEC_FLOATS);
    MX_VEC_EACH(k, lanes, i, n, grad_elements(job, &t, rows, k, 1, lanes););
}

static void grad_range(const struct mx_layer_norm_grad_args *a, float *dgamma, float *dbeta, int64_t begin, int64_t end)
{
    const int64_t n = a->n;
    const float *residual = mx_cpu_ptr(a->residual);
    struct norm_rows job = {
        .dy = (const float *)mx_cpu_ptr(a->dy) + begin * n,
        .x = (const float *)mx_cpu_ptr(a->x) + begin * n,
        .gamma = mx_cpu_ptr(a->gamma),
        .stats = (const float *)mx_cpu_ptr(a->stats) + begin * 2,
        .residual = residual ? residual + begin * n : NULL,
        .dx = (float *)mx_cpu_ptr(a->dx) + begin * n,
        .dgamma = dgamma,
        .dbeta = dbeta,
        .n = n,
        .around = n % MX_VEC_FLOATS == 0 && mx_cpu_ptr(a->dx) != mx_cpu_ptr(a->dy) &&
                  mx_vec_around(mx_cpu_ptr(a->dx), a->rows * n),
    };
    for (int64_t r = begin; r < end;) {
        const int rows = end - r >= TOGETHER ? TOGETHER : 1;
        if (rows == TOGETHER)
            grad_rows(&job, TOGETHER);
        else
            grad_rows(&job, 1);
        r += rows;
        job.dy += rows * n;
        job.x += rows * n;
        job.dx += rows * n;
        job.stats += rows * 2;
        if (residual) job.residual += rows * n;
    }
    mx_vec_fence(job.around);
}

/* dgamma and dbeta by columns, rows in order: for rows so long that no partial sum of one fits the scratch. */
static void grad_columns(const struct mx_gang *gang, const struct mx_layer_norm_grad_args *a)
{
    const float *dy = mx_cpu_ptr(a->dy), *x = mx_cpu_ptr(a->x), *stats = mx_cpu_ptr(a->stats);
    float *dgamma = mx_cpu_ptr(a->dgamma), *dbeta = mx_cpu_ptr(a->dbeta);
    int64_t begin, end;
    mx_gang_share(gang, a->n, MX_VEC_FLOATS, &begin, &end);
    MX_VEC_EACH(i, lanes, begin, end, {
        mx_vf gamma_sum = mx_vf_load_n(dgamma + i, lanes);
        mx_vf beta_sum = mx_vf_load_n(dbeta + i, lanes);
        for (int64_t r = 0; r < a->rows; r++) {
            const mx_vf g = mx_vf_load_n(dy + r * a->n + i, lanes);
            const mx_vf centred = mx_vf_load_n(x + r * a->n + i, lanes) - stats[2 * r];
            gamma_sum = mx_vf_fma(g * centred, mx_vf_set(stats[2 * r + 1]), gamma_sum);
            beta_sum += g;
        }
        mx_vf_store_n(dgamma + i, gamma_sum, lanes);
        mx_vf_store_n(dbeta + i, beta_sum, lanes);
    });
}

/* dy [rows, n], x [rows, n], gamma [n], stats [rows, 2], residual [rows, n] → dx [rows, n], dgamma [n], dbeta [n] */
void mx_cpu_layer_norm_grad(const struct mx_gang *gang, const void *args)
{
    const struct mx_layer_norm_grad_args *a = args;
    const int64_t n = a->n;
    const struct mx_chunks chunks = mx_chunks_plan(a->rows, CHUNK_ROWS, 2 * n * (int64_t)sizeof(float));
    int64_t begin, end;
    if (chunks.count == 0) {
        grad_columns(gang, a);
        mx_gang_barrier(gang); /* dx may lie in place of dy */
        mx_gang_share(gang, a->rows, GRAIN, &begin, &end);
        grad_range(a, NULL, NULL, begin, end);
        return;
    }
    float *partial = gang->shared; /* [chunk][dgamma [n], dbeta [n]] */
    for (int64_t c; (c = mx_gang_ticket(gang, 0)) < chunks.count;) {
        float *sums = partial + c * 2 * n;
        memset(sums, 0, (size_t)(2 * n) * sizeof *sums);
        mx_chunks_rows(&chunks, c, a->rows, &begin, &end);
        grad_range(a, sums, sums + n, begin, end);
    }
    mx_gang_barrier(gang);
    mx_gang_share(gang, n, MX_VEC_FLOATS, &begin, &end);
    mx_chunks_add(&chunks, partial, 2 * n, mx_cpu_ptr(a->dgamma), true, begin, end);
    mx_chunks_add(&chunks, partial + n, 2 * n, mx_cpu_ptr(a->dbeta), true, begin, end);
}
