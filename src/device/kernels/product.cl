/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Matrix products with an epilogue, in tiles of local memory: matmul, and the convolution over packed rows with its two
 * gradients as products of the rows seen through the taps.
 *
 * A group makes a tile of MX_TILE × MX_TILE of C, each lane a square of MX_SIDE × MX_SIDE of it, in steps of MX_DEPTH
 * along k. `shape` is the layout of A:
 *   0  [m, k]   1  [k, m] (transposed)
 *   2  rows through taps: (m, k) is column k % width of row m + k/width - taps/2, 0 outside the sequence of row m
 *   3  the transpose of that: (m, k) is column m % width of row k + m/width - taps/2, 0 outside the sequence of row k
 * and b_shape how B lies: 0 [k, n], 1 [n, k], 2 [n, k] in blocks of b_width along k, b_jump floats apart.
 */
#define MX_TILE       64
#define MX_SIDE       4
#define MX_DEPTH      16
#define MX_TILE_LANES 256 /* (MX_TILE/MX_SIDE)² */

MX_INLINE float mx_a_element(MX_GLOBAL const float *a, MX_GLOBAL const int *bounds, int shape, mx_long m, mx_long k,
                             mx_long lda, int taps, int width)
{
    if (shape == 0) return a[m * lda + k];
    if (shape == 1) return a[k * lda + m];
    const mx_long row = shape == 2 ? m : k, column = shape == 2 ? k : m;
    const mx_long seen = row + column / width - taps / 2;
    if (seen < bounds[2 * row] || seen >= bounds[2 * row + 1]) return 0.0f;
    return a[seen * lda + column % width];
}

MX_INLINE float mx_b_element(MX_GLOBAL const float *b, int shape, mx_long k, mx_long n, mx_long ldb, int width,
                             mx_long jump)
{
    if (shape == 0) return b[k * ldb + n];
    if (shape == 1) return b[n * ldb + k];
    return b[k / width * jump + n * ldb + k % width];
}

MX_KERNEL(MX_TILE_LANES)
mx_product(MX_ARG(const float, a), MX_ARG(const float, b), MX_ARG(float, c), MX_ARG(const int, bounds),
           MX_ARG(const float, bias), MX_ARG(float, pre), MX_ARG(const float, residual), mx_long m, mx_long n,
           mx_long k, mx_long lda, mx_long ldb, mx_long ldc, int shape, int taps, int width, int b_shape, int b_width,
           mx_long b_jump, int act, int act_grad, int accumulate)
{
    MX_LOCAL float left[MX_DEPTH * (MX_TILE + 1)], right[MX_DEPTH * (MX_TILE + 1)];
    MX_USE(const float, a);
    MX_USE(const float, b);
    MX_USE(float, c);
    MX_USE(const int, bounds);
    MX_USE(const float, bias);
    MX_USE(float, pre);
    MX_USE(const float, residual);
    const mx_long across = (n + MX_TILE - 1) / MX_TILE;
    const mx_long m0 = MX_INDEX / across * MX_TILE, n0 = MX_INDEX % across * MX_TILE;
    const int row = MX_LANE / (MX_TILE / MX_SIDE) * MX_SIDE, column = MX_LANE % (MX_TILE / MX_SIDE) * MX_SIDE;
    float sum[MX_SIDE][MX_SIDE];
    for (int i = 0; i < MX_SIDE; i++)
        for (int j = 0; j < MX_SIDE; j++) sum[i][j] = 0.0f;
    for (mx_long k0 = 0; k0 < k; k0 += MX_DEPTH) {
        /* Neighbouring lanes read neighbouring addresses, whichever way the operand lies. */
        for (int e = MX_LANE; e < MX_TILE * MX_DEPTH; e += MX_TILE_LANES) {
            const bool by_k = shape == 0 || shape == 2;
            const int i = by_k ? e / MX_DEPTH : e % MX_TILE, d = by_k ? e % MX_DEPTH : e / MX_TILE;
            left[d * (MX_TILE + 1) + i] =
                m0 + i < m && k0 + d < k ? mx_a_element(a, bounds, shape, m0 + i, k0 + d, lda, taps, width) : 0.0f;
        }
        for (int e = MX_LANE; e < MX_TILE * MX_DEPTH; e += MX_TILE_LANES) {
            const int i = b_shape ? e / MX_DEPTH : e % MX_TILE, d = b_shape ? e % MX_DEPTH : e / MX_TILE;
            right[d * (MX_TILE + 1) + i] =
                n0 + i < n && k0 + d < k ? mx_b_element(b, b_shape, k0 + d, n0 + i, ldb, b_width, b_jump) : 0.0f;
        }
        MX_BARRIER();
        for (int d = 0; d < MX_DEPTH; d++) {
            float x[MX_SIDE], y[MX_SIDE];
            for (int i = 0; i < MX_SIDE; i++) {
                x[i] = left[d * (MX_TILE + 1) + row + i];
                y[i] = right[d * (MX_TILE + 1) + column + i];
            }
            for (int i = 0; i < MX_SIDE; i++)
                for (int j = 0; j < MX_SIDE; j++) sum[i][j] += x[i] * y[j];
        }
        MX_BARRIER();
    }
#pragma unroll
    for (int i = 0; i < MX_SIDE; i++)
#pragma unroll
        for (int j = 0; j < MX_SIDE; j++) {
            const mx_long at_m = m0 + row + i, at_n = n0 + column + j;
            if (at_m >= m || at_n >= n) continue;
            const mx_long at = at_m * ldc + at_n;
            float z = sum[i][j];
            if (act_grad) {
                z *= mx_slope(act, pre[at]);
            } else {
                if (bias) z += bias[at_n];
                if (pre) pre[at] = z;
                z = mx_activate(act, z);
            }
            if (residual) z += residual[at];
            c[at] = accumulate ? c[at] + z : z;
        }
}
