/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Values drawn from Philox4x32-10 blocks; see rng.h for the layout. All functions are pure and take no memory.
 */
#include "base/rng.h"

#include <math.h>

#define TWO_PI 6.283185307179586476925286766559

uint32_t mx_rng_u32(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t block[4];
    mx_philox(seed, stream, index / 4, block);
    return block[index % 4];
}

uint64_t mx_rng_below(uint64_t seed, uint64_t stream, uint64_t index, uint64_t bound)
{
    /* The high half of (random * bound) is uniform once the low halves below 2^64 mod bound, which make some results
     * come up once too often, are refused. A refusal leads to the block of another stream, chosen by the
     * refused value: still a pure function, and independent of the draws of the neighbouring indices. */
    for (;;) {
        uint32_t block[4];
        mx_philox(seed, stream, index, block);
        const uint64_t random = (uint64_t)block[1] << 32 | block[0];
        const unsigned __int128 product = (unsigned __int128)random * bound;
        const uint64_t low = (uint64_t)product;
        if (low >= bound || low >= (0 - bound) % bound) return (uint64_t)(product >> 64);
        stream ^= (uint64_t)block[3] << 32 | block[2];
    }
}

float mx_rng_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    return (float)(mx_rng_u32(seed, stream, index) >> 8) * 0x1p-24f;
}

float mx_rng_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t block[4];
    mx_philox(seed, stream, index / 4, block);
    const uint32_t *pair = block + index % 4 / 2 * 2;
    const double radius = sqrt(-2.0 * log(((double)pair[0] + 1.0) * 0x1p-32)); /* (0, 1]: never log 0 */
    const double angle = TWO_PI * ((double)pair[1] * 0x1p-32);
    return (float)(radius * (index % 2 == 0 ? cos(angle) : sin(angle)));
}

void mx_rng_shuffle_u32(uint64_t seed, uint64_t stream, uint32_t *values, uint32_t count)
{
    for (uint32_t last = count; last-- > 1;) {
        const uint64_t other = mx_rng_below(seed, stream, last, (uint64_t)last + 1);
        const uint32_t kept = values[last];
        values[last] = values[other];
        values[other] = kept;
    }
}
