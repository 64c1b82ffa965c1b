/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Convolutions of three taps by Winograd's minimal filtering along time, F(4, 3): four rows of output from six products
 * where the plain form needs twelve, so half of the multiplications.
 *
 * A tile is four rows of one sequence, counted from its first row; the last tile of a sequence may have fewer. It reads
 * the rows from one before to one after; rows outside the sequence are 0. So a row's result follows from its own
 * sequence alone. Six combinations of the six rows (mx_winograd_input) are multiplied, each with its own combination of
 * the three taps (mx_winograd_taps); the results are combined to four rows (mx_winograd_output). The gradient of the
 * weights works the same way with the roles exchanged, F(3, 4): three taps from six rows of x and four of dy.
 *
 * The combinations are values of polynomials at 0, ±√½, ±√2 and ∞. With these points the error is 1.35 times that of
 * the plain form (root of the mean square over 192 inputs; with the usual 0, ±1, ±2, ∞ it is 1.97 times), and the
 * squares that the transforms need are exact.
 */
#ifndef MX_DEVICE_CPU_ISA_WINOGRAD_H
#define MX_DEVICE_CPU_ISA_WINOGRAD_H

#include "device/cpu/isa/product/epilogue.h"

#define MX_WINOGRAD_ROWS  4              /* of output in a tile */
#define MX_WINOGRAD_PARTS 6              /* products for it */
#define MX_WINOGRAD_NEAR  0x1.6a09e6p-1f /* √½ */
#define MX_WINOGRAD_FAR   0x1.6a09e6p+0f /* √2 */

/* Runs the job, a convolution or (with a.transpose) its weight gradient, if it is one that this way is faster for;
 * false: nothing was done. The choice follows from taps and widths alone. Called by the whole gang, as gemm. */
bool mx_cpu_winograd(const struct mx_gang *gang, const struct mx_gemm *job) MX_ISA_SYMBOL(mx_cpu_winograd);
/* The second of the two. */
void mx_cpu_winograd_weight(const struct mx_gang *gang, const struct mx_gemm *job)
    MX_ISA_SYMBOL(mx_cpu_winograd_weight);

/* ---- tiles of packed sequences ---- */

struct mx_winograd_tile {
    int64_t row;        /* its first */
    int64_t first, end; /* rows of its sequence */
};

/* Where the next tile begins. */
struct mx_winograd_cursor {
    const int32_t *offsets;
    int32_t sequences, sequence;
    int64_t row;
};

static inline int64_t mx_winograd_tiles(const int32_t *offsets, int32_t sequence)
{
    return (offsets[sequence + 1] - offsets[sequence] + MX_WINOGRAD_ROWS - 1) / MX_WINOGRAD_ROWS;
}

static inline int64_t mx_winograd_count(const struct mx_gemm_a *a)
{
    int64_t tiles = 0;
    for (int32_t s = 0; s < a->sequences; s++) tiles += mx_winograd_tiles(a->offsets, s);
    return tiles;
}

static inline struct mx_winograd_cursor mx_winograd_seek(const struct mx_gemm_a *a, int64_t tile)
{
    struct mx_winograd_cursor at = {.offsets = a->offsets, .sequences = a->sequences};
    while (at.sequence < at.sequences && tile >= mx_winograd_tiles(a->offsets, at.sequence))
        tile -= mx_winograd_tiles(a->offsets, at.sequence++);
    at.row = a->offsets[at.sequence] + tile * MX_WINOGRAD_ROWS;
    return at;
}

/* The tile at the cursor, which must be one; moves on to the next. */
static inline struct mx_winograd_tile mx_winograd_next(struct mx_winograd_cursor *at)
{
    const struct mx_winograd_tile tile = {
        .row = at->row, .first = at->offsets[at->sequence], .end = at->offsets[at->sequence + 1]};
    at->row += MX_WINOGRAD_ROWS;
    while (at->sequence < at->sequences && at->row >= at->offsets[at->sequence + 1])
        at->row = at->offsets[++at->sequence];
    return tile;
}

/* The six rows of x that a tile reads, from column `column` on; `zeros` for those outside its sequence. */
static inline void mx_winograd_rows(const struct mx_winograd_tile *tile, const float *x, int64_t ld, int64_t column,
                                    const float *zeros, const float *rows[MX_WINOGRAD_PARTS])
{
    for (int i = 0; i < MX_WINOGRAD_PARTS; i++) {
        const int64_t row = tile->row + i - 1;
        rows[i] = row >= tile->first && row < tile->end ? x + row * ld + column : zeros;
    }
}

/* ---- transforms ---- */

/* For the loops over transforms: inlined into their callers they would find no registers. */
#define MX_WINOGRAD_ALONE __attribute__((noinline))

/* Six vectors, `stride` floats apart. */
MX_VEC_INLINE void mx_winograd_store(float *to, int64_t stride, const mx_vf v[MX_WINOGRAD_PARTS])
{
#pragma GCC unroll 6
    for (int part = 0; part < MX_WINOGRAD_PARTS; part++) mx_vf_store(to + part * stride, v[part]);
}

MX_VEC_INLINE void mx_winograd_load(const float *from, int64_t stride, mx_vf v[MX_WINOGRAD_PARTS])
{
#pragma GCC unroll 6
    for (int part = 0; part < MX_WINOGRAD_PARTS; part++) v[part] = mx_vf_load(from + part * stride);
}

/* Six rows in place. */
MX_VEC_INLINE void mx_winograd_input(mx_vf d[MX_WINOGRAD_PARTS])
{
    const mx_vf two = mx_vf_set(2.0f), half = mx_vf_set(0.5f), middle = mx_vf_set(2.5f);
    const mx_vf near = mx_vf_set(MX_WINOGRAD_NEAR), far = mx_vf_set(MX_WINOGRAD_FAR);
    const mx_vf near_even = mx_vf_fnma(two, d[2], d[4]), near_odd = mx_vf_fnma(two, d[1], d[3]);
    const mx_vf far_even = mx_vf_fnma(half, d[2], d[4]), far_odd = mx_vf_fnma(half, d[1], d[3]);
    d[0] = mx_vf_fnma(middle, d[2], d[0]) + d[4];
    d[5] = mx_vf_fnma(middle, d[3], d[1]) + d[5];
    d[1] = mx_vf_fma(near, near_odd, near_even);
    d[2] = mx_vf_fnma(near, near_odd, near_even);
    d[3] = mx_vf_fma(far, far_odd, far_even);
    d[4] = mx_vf_fnma(far, far_odd, far_even);
}

/* Three taps to six. */
MX_VEC_INLINE void mx_winograd_taps(mx_vf g0, mx_vf g1, mx_vf g2, mx_vf out[MX_WINOGRAD_PARTS])
{
    const mx_vf near = mx_vf_set(-2.0f / 3 * MX_WINOGRAD_NEAR), far = mx_vf_set(1.0f / 6 * MX_WINOGRAD_FAR);
    const mx_vf near_even = mx_vf_fma(mx_vf_set(0.5f), g2, g0) * (-2.0f / 3);
    const mx_vf far_even = mx_vf_fma(mx_vf_set(2.0f), g2, g0) * (1.0f / 6);
    out[0] = g0;
    out[1] = mx_vf_fma(near, g1, near_even);
    out[2] = mx_vf_fnma(near, g1, near_even);
    out[3] = mx_vf_fma(far, g1, far_even);
    out[4] = mx_vf_fnma(far, g1, far_even);
    out[5] = g2;
}

/* Six products to four rows. */
MX_VEC_INLINE void mx_winograd_output(const mx_vf m[MX_WINOGRAD_PARTS], mx_vf y[MX_WINOGRAD_ROWS])
{
    const mx_vf two = mx_vf_set(2.0f), half = mx_vf_set(0.5f);
    const mx_vf near_even = m[1] + m[2], near_odd = MX_WINOGRAD_NEAR * (m[1] - m[2]);
    const mx_vf far_even = m[3] + m[4], far_odd = MX_WINOGRAD_FAR * (m[3] - m[4]);
    y[0] = m[0] + near_even + far_even;
    y[1] = near_odd + far_odd;
    y[2] = mx_vf_fma(two, far_even, half * near_even);
    y[3] = mx_vf_fma(two, far_odd, mx_vf_fma(half, near_odd, m[5]));
}

/* For the gradient of the weights: four rows of dy to six, */
MX_VEC_INLINE void mx_winograd_slopes(const mx_vf e[MX_WINOGRAD_ROWS], mx_vf out[MX_WINOGRAD_PARTS])
{
    const mx_vf two = mx_vf_set(2.0f), half = mx_vf_set(0.5f);
    const mx_vf near = mx_vf_set(MX_WINOGRAD_NEAR), far = mx_vf_set(MX_WINOGRAD_FAR);
    const mx_vf near_even = mx_vf_fma(half, e[2], e[0]), near_odd = mx_vf_fma(half, e[3], e[1]);
    const mx_vf far_even = mx_vf_fma(two, e[2], e[0]), far_odd = mx_vf_fma(two, e[3], e[1]);
    out[0] = e[0];
    out[1] = mx_vf_fma(near, near_odd, near_even);
    out[2] = mx_vf_fnma(near, near_odd, near_even);
    out[3] = mx_vf_fma(far, far_odd, far_even);
    out[4] = mx_vf_fnma(far, far_odd, far_even);
    out[5] = e[3];
}

/* and six sums of products to three taps. */
MX_VEC_INLINE void mx_winograd_weights(const mx_vf m[MX_WINOGRAD_PARTS], mx_vf g[3])
{
    const mx_vf near_even = (m[1] + m[2]) * (-2.0f / 3), near_odd = (m[1] - m[2]) * (-2.0f / 3 * MX_WINOGRAD_NEAR);
    const mx_vf far_even = (m[3] + m[4]) * (1.0f / 6), far_odd = (m[3] - m[4]) * (1.0f / 6 * MX_WINOGRAD_FAR);
    g[0] = m[0] + near_even + far_even;
    g[1] = near_odd + far_odd;
    g[2] = mx_vf_fma(mx_vf_set(2.0f), far_even, mx_vf_fma(mx_vf_set(0.5f), near_even, m[5]));
}

#endif
