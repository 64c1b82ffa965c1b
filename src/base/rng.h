/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Philox4x32-10, a counter-based random generator (Salmon et al., 2011).
 *
 * A value is a pure function of (seed, stream, index): no state, so any worker on any device may compute any element,
 * in any order, and a resumed run sees the numbers it would have seen. `stream` separates uses (each dropout site and
 * step, shuffling, initialisation); `index` is the element. Four 32-bit values come from one block; value number
 * `index` is word index % 4 of block index / 4.
 *
 * Block layout: counter words = {block low, block high, stream low, stream high}, key words = {seed low, seed high}.
 * src/device/kernels must compute exactly the same. mx_philox is inline because the vectorised kernels need it.
 */
#ifndef MX_BASE_RNG_H
#define MX_BASE_RNG_H

#include <stdint.h>

static inline void mx_philox(uint64_t seed, uint64_t stream, uint64_t block, uint32_t out[4])
{
    uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32);
    uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        const uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

uint32_t mx_rng_u32(uint64_t seed, uint64_t stream, uint64_t index);
/* [0, bound), unbiased; bound ≥ 1. Draws from block number `index`, so it needs a stream of its own. */
uint64_t mx_rng_below(uint64_t seed, uint64_t stream, uint64_t index, uint64_t bound);
/* [0, 1): the upper 24 bits of value number `index`. */
float mx_rng_uniform(uint64_t seed, uint64_t stream, uint64_t index);
/* Mean 0, deviation 1: Box–Muller on the pair of values that `index` belongs to, cosine for even, sine for odd. */
float mx_rng_normal(uint64_t seed, uint64_t stream, uint64_t index);
/* Fisher–Yates: values[0..count) becomes a permutation of itself, a pure function of seed and stream. */
void mx_rng_shuffle_u32(uint64_t seed, uint64_t stream, uint32_t *values, uint32_t count);

#endif
