/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * bf16 numbers in memory: the upper half of a float32, rounded to nearest even; a NaN stays a NaN. In registers they
 * are always float32. Nothing here keeps state.
 */
#ifndef MX_DEVICE_CPU_ISA_BF16_H
#define MX_DEVICE_CPU_ISA_BF16_H

#include "device/cpu/isa/vec.h"

MX_VEC_INLINE mx_vh mx_bf16_round(mx_vf v)
{
    const mx_vu bits = (mx_vu)v, nan = (mx_vu)((bits & 0x7fffffffu) > 0x7f800000u);
    const mx_vu rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16, quiet = bits >> 16 | 0x40u;
    return __builtin_convertvector((nan & quiet) | (~nan & rounded), mx_vh);
}

MX_VEC_INLINE mx_vf mx_bf16_widen(mx_vh v)
{
    return (mx_vf)(__builtin_convertvector(v, mx_vu) << 16);
}

/* The first n lanes, as mx_vf_load_n and mx_vf_store_n. */
MX_VEC_INLINE mx_vf mx_bf16_load_n(const uint16_t *p, int n)
{
    if (__builtin_constant_p(n) && n == MX_VEC_FLOATS) return mx_bf16_widen(*(const mx_vh_any *)p);
    mx_vh v = {0};
    for (int i = 0; i < n; i++) v[i] = p[i];
    return mx_bf16_widen(v);
}

MX_VEC_INLINE void mx_bf16_store_n(uint16_t *p, mx_vf v, int n)
{
    const mx_vh rounded = mx_bf16_round(v);
    if (__builtin_constant_p(n) && n == MX_VEC_FLOATS) {
        *(mx_vh_any *)p = rounded;
        return;
    }
    for (int i = 0; i < n; i++) p[i] = rounded[i];
}

#endif
