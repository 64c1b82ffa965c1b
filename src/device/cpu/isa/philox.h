/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The random words of base/rng.h, a vector of blocks at a time: the same words as mx_philox gives.
 */
#ifndef MX_DEVICE_CPU_ISA_PHILOX_H
#define MX_DEVICE_CPU_ISA_PHILOX_H

#include "device/cpu/isa/vec.h"

#define MX_VEC_PHILOX_FLOATS (2 * MX_VEC_FLOATS) /* words made at once: one block of four per 64-bit lane */

#if MX_VEC_BYTES == 64
#define MX_VEC_PHILOX_LOW(a, b)  __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define MX_VEC_PHILOX_HIGH(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#elif MX_VEC_BYTES == 32
#define MX_VEC_PHILOX_LOW(a, b)  __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define MX_VEC_PHILOX_HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#else
#define MX_VEC_PHILOX_LOW(a, b)  __builtin_shufflevector(a, b, 0, 2)
#define MX_VEC_PHILOX_HIGH(a, b) __builtin_shufflevector(a, b, 1, 3)
#endif

/* The keys of the ten rounds, as 64-bit words. */
struct mx_vec_philox_keys {
    uint64_t first[10], second[10];
};

MX_VEC_INLINE struct mx_vec_philox_keys mx_vec_philox_keys(uint64_t seed)
{
    struct mx_vec_philox_keys keys;
    for (uint32_t i = 0; i < 10; i++) {
        keys.first[i] = (uint32_t)seed + i * 0x9E3779B9u;
        keys.second[i] = (uint32_t)(seed >> 32) + i * 0xBB67AE85u;
    }
    return keys;
}

/* first, first + 1, … */
MX_VEC_INLINE mx_vul mx_vec_philox_blocks(uint64_t first)
{
    mx_vul block;
    for (int i = 0; i < MX_VEC_DOUBLES; i++) block[i] = first + (uint64_t)i;
    return block;
}

/* mx_philox (base/rng.h) of one block per lane, computed in the lower halves of the lanes; what the products leave in
 * the upper halves never gets back down. front, back: the words in the order of their index. */
MX_VEC_INLINE void mx_vec_philox(const struct mx_vec_philox_keys *keys, uint64_t stream, mx_vul block, mx_vu *front,
                                 mx_vu *back)
{
    mx_vul c0 = block, c1 = block >> 32, c2 = stream - (mx_vul){0}, c3 = (stream >> 32) - (mx_vul){0};
#pragma GCC unroll 10
    for (int round = 0; round < 10; round++) {
        const mx_vul p0 = mx_vul_times_low(c0, 0xD2511F53u - (mx_vul){0});
        const mx_vul p1 = mx_vul_times_low(c2, 0xCD9E8D57u - (mx_vul){0});
        c0 = mx_vul_down(p1) ^ c1 ^ keys->first[round];
        c2 = mx_vul_down(p0) ^ c3 ^ keys->second[round];
        c1 = p1;
        c3 = p0;
    }
    const mx_vul a = (c0 & 0xffffffffu) | c1 << 32, b = (c2 & 0xffffffffu) | c3 << 32;
    *front = (mx_vu)MX_VEC_PHILOX_LOW(a, b);
    *back = (mx_vu)MX_VEC_PHILOX_HIGH(a, b);
}

#undef MX_VEC_PHILOX_LOW
#undef MX_VEC_PHILOX_HIGH

#endif
