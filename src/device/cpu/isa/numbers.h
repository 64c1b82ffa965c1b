/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Complex numbers in rows, real and imaginary parts in turns: MX_VEC_FLOATS of them are two vectors.
 */
#ifndef MX_DEVICE_CPU_ISA_NUMBERS_H
#define MX_DEVICE_CPU_ISA_NUMBERS_H

#include "device/cpu/isa/vec.h"

/* 1/√x within 2 units in the last place, for x from 2^-100 on. */
MX_VEC_INLINE mx_vf mx_numbers_root_inverse(mx_vf x)
{
#if MX_VEC_AVX512
    const mx_vf y = (mx_vf)_mm512_rsqrt14_ps((__m512)x);
    return mx_vf_fma(0.5f * y, mx_vf_fnma(x * y, y, mx_vf_set(1.0f)), y);
#else
    return 1.0f / mx_vf_sqrt(x);
#endif
}

/* Complex numbers with their parts interleaved, and with all real parts before all imaginary ones. */
#if MX_VEC_BYTES == 64
#define MX_MIX_REAL 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define MX_MIX_IMAG 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define MX_MIX_LOW  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define MX_MIX_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif MX_VEC_BYTES == 32
#define MX_MIX_REAL 0, 2, 4, 6, 8, 10, 12, 14
#define MX_MIX_IMAG 1, 3, 5, 7, 9, 11, 13, 15
#define MX_MIX_LOW  0, 8, 1, 9, 2, 10, 3, 11
#define MX_MIX_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#else
#define MX_MIX_REAL 0, 2, 4, 6
#define MX_MIX_IMAG 1, 3, 5, 7
#define MX_MIX_LOW  0, 4, 1, 5
#define MX_MIX_HIGH 2, 6, 3, 7
#endif

/* MX_VEC_FLOATS numbers u become magnitude · u/|u|, or magnitude itself where |u|² < 2^-100. */
MX_VEC_INLINE void mx_numbers_scale(mx_vf *first, mx_vf *second, mx_vf magnitude)
{
    const mx_vf re = __builtin_shufflevector(*first, *second, MX_MIX_REAL);
    const mx_vf im = __builtin_shufflevector(*first, *second, MX_MIX_IMAG);
    const mx_vf square = mx_vf_fma(re, re, im * im), least = mx_vf_set(0x1p-100f);
    const mx_vi small = square < least;
    const mx_vf factor = magnitude * mx_numbers_root_inverse(mx_vf_max(least, square));
    const mx_vf real = mx_vf_select(small, magnitude, re * factor);
    const mx_vf imag = mx_vf_select(small, (mx_vf){0}, im * factor);
    *first = __builtin_shufflevector(real, imag, MX_MIX_LOW);
    *second = __builtin_shufflevector(real, imag, MX_MIX_HIGH);
}

#endif
