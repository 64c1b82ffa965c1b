/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operations on independent elements: activation, residual add, dropout, scale, fill.
 *
 * All of them are one pass over memory; each worker takes a contiguous share, so the result cannot depend on their
 * number. myxtts/ops.h defines every operation.
 */
#include "device/cpu/isa/bf16.h"
#include "device/cpu/isa/philox.h"
#include "device/cpu/kernels.h"

#define GRAIN 1024 /* elements: a page of float32, and whole vectors and random blocks */

/* ---- activation: y[count] = act(x[count]) ---- */
void mx_cpu_activation(const struct mx_gang *gang, const void *args)
{
    const struct mx_activation_args *a = args;
    const float *x = mx_cpu_ptr(a->x);
    float *y = mx_cpu_ptr(a->y);
    const bool around = x != y && mx_vec_around(y, a->count);
    int64_t begin, end;
    mx_gang_share(gang, a->count, GRAIN, &begin, &end);
    switch (a->act) {
    case MX_ACT_NONE:
        if (x != y && begin < end) memcpy(y + begin, x + begin, (size_t)(end - begin) * sizeof *y);
        break;
    case MX_ACT_RELU:
        MX_VEC_EACH(i, n, begin, end, mx_vf_put_n(y + i, mx_vf_max((mx_vf){0}, mx_vf_load_n(x + i, n)), n, around););
        break;
    case MX_ACT_GELU:
        MX_VEC_EACH(i, n, begin, end, {
            mx_vec_ahead(x + i);
            mx_vf_put_n(y + i, mx_vf_gelu(mx_vf_load_n(x + i, n)), n, around);
        });
        break;
    }
    mx_vec_fence(around);
}

/* dx[count] = dy[count] · act'(x[count]) */
void mx_cpu_activation_grad(const struct mx_gang *gang, const void *args)
{
    const struct mx_activation_grad_args *a = args;
    const float *x = mx_cpu_ptr(a->x), *dy = mx_cpu_ptr(a->dy);
    float *dx = mx_cpu_ptr(a->dx);
    const bool around = dx != dy && dx != x && mx_vec_around(dx, a->count);
    int64_t begin, end;
    mx_gang_share(gang, a->count, GRAIN, &begin, &end);
    switch (a->act) {
    case MX_ACT_NONE:
        if (dx != dy && begin < end) memcpy(dx + begin, dy + begin, (size_t)(end - begin) * sizeof *dx);
        break;
    case MX_ACT_RELU:
        MX_VEC_EACH(i, n, begin, end, {
            const mx_vi open = mx_vf_load_n(x + i, n) > (mx_vf){0};
            mx_vf_put_n(dx + i, mx_vf_select(open, mx_vf_load_n(dy + i, n), (mx_vf){0}), n, around);
        });
        break;
    case MX_ACT_GELU:
        MX_VEC_EACH(i, n, begin, end, {
            mx_vec_ahead(x + i);
            mx_vec_ahead(dy + i);
            mx_vf_put_n(dx + i, mx_vf_load_n(dy + i, n) * mx_vf_gelu_grad(mx_vf_load_n(x + i, n)), n, around);
        });
        break;
    }
    mx_vec_fence(around);
}

/* ---- residual_add: y[count] = a[count] + factor · b[count] ---- */
void mx_cpu_residual_add(const struct mx_gang *gang, const void *args)
{
    const struct mx_residual_add_args *a = args;
    const float *left = mx_cpu_ptr(a->a), *right = mx_cpu_ptr(a->b);
    float *y = mx_cpu_ptr(a->y);
    const mx_vf factor = mx_vf_set(a->factor);
    const bool around = y != left && y != right && mx_vec_around(y, a->count);
    int64_t begin, end;
    mx_gang_share(gang, a->count, GRAIN, &begin, &end);
    MX_VEC_EACH(
        i, n, begin, end,
        mx_vf_put_n(y + i, mx_vf_fma(factor, mx_vf_load_n(right + i, n), mx_vf_load_n(left + i, n)), n, around););
    mx_vec_fence(around);
}

/* ---- dropout ---- */
/* n lanes of y = keep ? x · factor : 0, + residual where there is one. */
MX_VEC_INLINE void drop(float *y, const float *x, const float *residual, mx_vu word, uint32_t threshold, float factor,
                        int n, bool around)
{
    const mx_vi keep = word >= threshold;
    mx_vf v = (mx_vf)((mx_vi)(mx_vf_load_n(x, n) * factor) & keep);
    if (residual) v += mx_vf_load_n(residual, n);
    mx_vf_put_n(y, v, n, around);
}

/* Elements [begin, end) of the dropout; begin is a multiple of 4. */
MX_VEC_INLINE void drop_range(const struct mx_dropout_args *a, const float *residual, int64_t begin, int64_t end)
{
    const float *x = mx_cpu_ptr(a->x);
    float *y = mx_cpu_ptr(a->y);
    const uint32_t threshold = (uint32_t)ceil((double)a->rate * 0x1p32);
    const float factor = (float)(1 / (1 - (double)a->rate));
    const bool around = x != y && residual != y && mx_vec_around(y, a->count);
    const struct mx_vec_philox_keys keys = mx_vec_philox_keys(a->seed);
    mx_vul block = mx_vec_philox_blocks((a->index + (uint64_t)begin) / 4);
    for (int64_t i = begin; i < end; i += MX_VEC_PHILOX_FLOATS, block += MX_VEC_DOUBLES) {
        mx_vu first, second;
        mx_vec_philox(&keys, a->stream, block, &first, &second);
        mx_vec_ahead(x + i);
        mx_vec_ahead(x + i + MX_VEC_FLOATS);
        if (i + MX_VEC_PHILOX_FLOATS <= end) {
            drop(y + i, x + i, residual ? residual + i : NULL, first, threshold, factor, MX_VEC_FLOATS, around);
            const int64_t j = i + MX_VEC_FLOATS;
            drop(y + j, x + j, residual ? residual + j : NULL, second, threshold, factor, MX_VEC_FLOATS, around);
            continue;
        }
        const int left = (int)(end - i), n = left < MX_VEC_FLOATS ? left : MX_VEC_FLOATS;
        drop(y + i, x + i, residual ? residual + i : NULL, first, threshold, factor, n, false);
        const int64_t j = i + n;
        drop(y + j, x + j, residual ? residual + j : NULL, second, threshold, factor, left - n, false);
    }
    mx_vec_fence(around);
}

/* y[count] = x[count]/(1 - rate) or 0, + residual[count] */
void mx_cpu_dropout(const struct mx_gang *gang, const void *args)
{
    const struct mx_dropout_args *a = args;
    const float *x = mx_cpu_ptr(a->x), *residual = mx_cpu_ptr(a->residual);
    float *y = mx_cpu_ptr(a->y);
    int64_t begin, end;
    mx_gang_share(gang, a->count, GRAIN, &begin, &end);
    if (a->rate > 0 && residual)
        drop_range(a, residual, begin, end);
    else if (a->rate > 0)
        drop_range(a, NULL, begin, end);
    else if (residual)
        MX_VEC_EACH(i, n, begin, end, mx_vf_store_n(y + i, mx_vf_load_n(x + i, n) + mx_vf_load_n(residual + i, n), n););
    else if (x != y && begin < end)
        memcpy(y + begin, x + begin, (size_t)(end - begin) * sizeof *y);
}

/* ---- scale: x[count] *= factor ---- */
void mx_cpu_scale(const struct mx_gang *gang, const void *args)
{
    const struct mx_scale_args *a = args;
    float *x = mx_cpu_ptr(a->x);
    const mx_vf factor = mx_vf_set(a->factor);
    int64_t begin, end;
    mx_gang_share(gang, a->count, GRAIN, &begin, &end);
    MX_VEC_EACH(i, n, begin, end, mx_vf_store_n(x + i, mx_vf_load_n(x + i, n) * factor, n););
}

/* ---- fill: x[count] = value ---- */
void mx_cpu_fill(const struct mx_gang *gang, const void *args)
{
    const struct mx_fill_args *a = args;
    float *x = mx_cpu_ptr(a->x);
    int64_t begin, end;
    mx_gang_share(gang, a->count, GRAIN, &begin, &end);
    const mx_vf value = (mx_vf)(a->bits - (mx_vu){0}); /* as bits: a NaN pattern or an integer must survive */
    const bool around = mx_vec_around(x, a->count);
    MX_VEC_EACH(i, n, begin, end, mx_vf_put_n(x + i, value, n, around););
    mx_vec_fence(around);
}
