/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * AdamW over the flat parameter buffer, with the moving average of the weights, in one pass: 28 bytes of traffic per
 * parameter, 36 with the average.
 *
 * It uses ordinary stores: every line that is written has just been read, so stores that bypass the cache would save
 * nothing.
 */
#include "device/cpu/isa/vec.h"
#include "device/cpu/kernels.h"

#define GRAIN 1024 /* parameters */

struct adamw {
    float *p, *m, *v, *ema;
    const float *g;
    float grad_scale;      /* from grad_norm: clipping and averaging */
    float take1, take2;    /* 1 - beta1, 1 - beta2 */
    float rate;            /* lr/(1 - beta1^step) */
    float root_scale, eps; /* 1/√(1 - beta2^step) */
    float ema_take;        /* 1 - ema_decay */
};

/* Parameters [begin, end); `shrink` is 1 - lr · weight_decay, or 1. */
MX_VEC_INLINE void adamw_range(const struct adamw *o, int64_t begin, int64_t end, float shrink)
{
    MX_VEC_EACH(i, n, begin, end, {
        const mx_vf g = mx_vf_load_n(o->g + i, n) * o->grad_scale;
        const mx_vf old_m = mx_vf_load_n(o->m + i, n), old_v = mx_vf_load_n(o->v + i, n);
        const mx_vf m = mx_vf_fma(mx_vf_set(o->take1), g - old_m, old_m);
        const mx_vf v = mx_vf_fma(mx_vf_set(o->take2), mx_vf_fma(g, g, -old_v), old_v);
        const mx_vf size = mx_vf_fma(mx_vf_sqrt(v), mx_vf_set(o->root_scale), mx_vf_set(o->eps));
        const mx_vf p = mx_vf_fma(mx_vf_load_n(o->p + i, n), mx_vf_set(shrink), -(o->rate * m / size));
        mx_vf_store_n(o->m + i, m, n);
        mx_vf_store_n(o->v + i, v, n);
        mx_vf_store_n(o->p + i, p, n);
        if (o->ema) {
            const mx_vf ema = mx_vf_load_n(o->ema + i, n);
            mx_vf_store_n(o->ema + i, mx_vf_fma(mx_vf_set(o->ema_take), p - ema, ema), n);
        }
    });
}

/* gradient, parameter, moment1, moment2, ema: [count]; norm: [4] */
void mx_cpu_adamw(const struct mx_gang *gang, const void *args)
{
    const struct mx_adamw_args *a = args;
    const float *norm = mx_cpu_ptr(a->norm);
    if (!(norm[2] > 0)) return; /* something was not finite: nothing may reach the weights */
    const double beta1 = (double)a->beta1, beta2 = (double)a->beta2, lr = (double)a->lr, step = (double)a->step;
    const struct adamw o = {
        .p = mx_cpu_ptr(a->parameter),
        .m = mx_cpu_ptr(a->moment1),
        .v = mx_cpu_ptr(a->moment2),
        .ema = mx_cpu_ptr(a->ema),
        .g = mx_cpu_ptr(a->gradient),
        .grad_scale = norm[1],
        .take1 = (float)(1 - beta1),
        .take2 = (float)(1 - beta2),
        .rate = (float)(lr / (1 - pow(beta1, step))),
        .root_scale = (float)(1 / sqrt(1 - pow(beta2, step))),
        .eps = a->eps,
        .ema_take = (float)(1 - (double)a->ema_decay),
    };
    int64_t begin, end;
    mx_gang_share(gang, a->count, GRAIN, &begin, &end);
    const int64_t middle = a->decayed < begin ? begin : a->decayed > end ? end : a->decayed;
    adamw_range(&o, begin, middle, (float)(1 - lr * (double)a->weight_decay));
    adamw_range(&o, middle, end, 1.0f);
}
