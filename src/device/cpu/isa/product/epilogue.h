/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What happens to a vector of products between the registers and C: struct mx_epilogue, for every product of isa/.
 */
#ifndef MX_DEVICE_CPU_ISA_EPILOGUE_H
#define MX_DEVICE_CPU_ISA_EPILOGUE_H

#include "device/cpu/isa/product/gemm.h"

MX_VEC_INLINE mx_vf mx_epilogue_activate(enum mx_activation act, mx_vf z)
{
    if (act == MX_ACT_GELU) return mx_vf_gelu(z);
    if (act == MX_ACT_RELU) return mx_vf_max(z, (mx_vf){0});
    return z;
}

MX_VEC_INLINE mx_vf mx_epilogue_slope(enum mx_activation act, mx_vf z)
{
    if (act == MX_ACT_GELU) return mx_vf_gelu_grad(z);
    if (act == MX_ACT_RELU) return mx_vf_select(z > (mx_vf){0}, mx_vf_set(1.0f), (mx_vf){0});
    return mx_vf_set(1.0f);
}

/* One vector of products z, at C + at, column n; only `lanes` of its lanes count. */
MX_VEC_INLINE void mx_epilogue_finish(const struct mx_gemm_epilogue *e, float *c, mx_vf z, int64_t at, int64_t n,
                                      const int lanes)
{
    if (e->act_grad) {
        z *= mx_epilogue_slope(e->act, mx_vf_load_n(e->pre + at, lanes));
    } else {
        if (e->bias) z += mx_vf_load_n(e->bias + n, lanes);
        if (e->pre) mx_vf_store_n(e->pre + at, z, lanes);
        z = mx_epilogue_activate(e->act, z);
    }
    if (e->residual) z += mx_vf_load_n(e->residual + at, lanes);
    if (e->accumulate) z += mx_vf_load_n(c + at, lanes);
    mx_vf_store_n(c + at, z, lanes);
}

#endif
