/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Copies of parts of A and B in the layouts that the tile of gemm.h reads fastest.
 */
#include "base/number.h"
#include "device/cpu/isa/product/gemm.h"

typedef float mx_vf4_any __attribute__((vector_size(16), aligned(4), may_alias));

/* ---- packing B ---- */

/* dst[k][j] = src[j][k] for a 4 × 4 block. */
static inline void transpose_4x4(const float *src, int64_t ld, float *dst)
{
    const mx_vf4 r0 = *(const mx_vf4_any *)src, r1 = *(const mx_vf4_any *)(src + ld);
    const mx_vf4 r2 = *(const mx_vf4_any *)(src + 2 * ld), r3 = *(const mx_vf4_any *)(src + 3 * ld);
    const mx_vf4 a = __builtin_shufflevector(r0, r1, 0, 4, 1, 5), b = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
    const mx_vf4 c = __builtin_shufflevector(r0, r1, 2, 6, 3, 7), d = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
    *(mx_vf4_any *)dst = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    *(mx_vf4_any *)(dst + MX_GEMM_NR) = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    *(mx_vf4_any *)(dst + 2 * MX_GEMM_NR) = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    *(mx_vf4_any *)(dst + 3 * MX_GEMM_NR) = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

/* Rows k0 … k0+kc-1 of one block, columns n0 … n1-1, into the panels dst, each [.][NR] and panel_floats apart. */
static void pack_b_rows(const float *src, int64_t ld, int64_t kc, int64_t width, float *dst, int64_t panel_floats)
{
    for (int64_t k = 0; k < kc; k++, src += ld, dst += MX_GEMM_NR) {
        float *to = dst;
        int64_t j = 0;
        for (; j + MX_GEMM_NR <= width; j += MX_GEMM_NR, to += panel_floats) {
            const mx_vf v0 = mx_vf_load(src + j), v1 = mx_vf_load(src + j + MX_VEC_FLOATS);
            mx_vf_store(to, v0);
            mx_vf_store(to + MX_VEC_FLOATS, v1);
            for (int64_t i = 2 * MX_VEC_FLOATS; i < MX_GEMM_NR; i += MX_VEC_FLOATS)
                mx_vf_store(to + i, mx_vf_load(src + j + i));
        }
        if (j < width)
            for (int64_t i = 0; i < MX_GEMM_NR; i++) to[i] = j + i < width ? src[j + i] : 0.0f;
    }
}

/* The same from a block stored [n, k]: one panel of `width` ≤ NR columns. */
static void pack_b_columns(const float *src, int64_t ld, int64_t kc, int64_t width, float *dst)
{
    int64_t k = 0;
    for (; k + 4 <= kc; k += 4) {
        int64_t j = 0;
        for (; j + 4 <= width; j += 4) transpose_4x4(src + j * ld + k, ld, dst + k * MX_GEMM_NR + j);
        for (; j < MX_GEMM_NR; j++)
            for (int64_t i = 0; i < 4; i++) dst[(k + i) * MX_GEMM_NR + j] = j < width ? src[j * ld + k + i] : 0.0f;
    }
    for (; k < kc; k++)
        for (int64_t j = 0; j < MX_GEMM_NR; j++) dst[k * MX_GEMM_NR + j] = j < width ? src[j * ld + k] : 0.0f;
}

void mx_cpu_gemm_pack_b(const struct mx_gemm_b *b, int64_t k0, int64_t kc, int64_t n0, int64_t n1, float *dst,
                        int64_t panel_floats)
{
    while (kc > 0) {
        const int64_t block = b->block ? k0 / b->block : 0;
        const int64_t inner = b->block ? k0 % b->block : k0;
        const int64_t count = b->block ? mx_least(kc, b->block - inner) : kc;
        const float *src = b->data + block * b->block_stride;
        if (!b->transpose)
            pack_b_rows(src + inner * b->ld + n0, b->ld, count, n1 - n0, dst, panel_floats);
        else
            for (int64_t n = n0; n < n1; n += MX_GEMM_NR)
                pack_b_columns(src + n * b->ld + inner, b->ld, count, mx_least(n1 - n, MX_GEMM_NR),
                               dst + (n - n0) / MX_GEMM_NR * panel_floats);
        dst += count * MX_GEMM_NR;
        k0 += count;
        kc -= count;
    }
}

/* ---- packing A ---- */

/* The sequence that holds `row`: the last one that begins at or before it. */
int32_t mx_cpu_gemm_sequence(const int32_t *offsets, int32_t count, int64_t row)
{
    int32_t low = 0, high = count;
    while (high - low > 1) {
        const int32_t middle = low + (high - low) / 2;
        if (offsets[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* panel [MR][MX_GEMM_ROW]: rows m0 … of A through the taps, columns k0 … k0+kc-1 of [taps][width]. */
static void pack_a_taps(const struct mx_gemm_a *a, int64_t m0, int64_t rows, int64_t k0, int64_t kc, float *panel)
{
    int32_t sequence = mx_cpu_gemm_sequence(a->offsets, a->sequences, m0);
    for (int64_t i = 0; i < rows; i++, panel += MX_GEMM_ROW) {
        const int64_t row = m0 + i;
        while (sequence + 1 < a->sequences && a->offsets[sequence + 1] <= row) sequence++;
        const int64_t first = a->offsets[sequence], end = a->offsets[sequence + 1];
        for (int64_t done = 0; done < kc;) {
            const int64_t tap = (k0 + done) / a->width, column = (k0 + done) % a->width;
            const int64_t count = mx_least(kc - done, a->width - column);
            const int64_t from = row + tap - a->taps / 2;
            if (from >= first && from < end)
                memcpy(panel + done, a->data + from * a->ld + column, (size_t)count * sizeof(float));
            else
                memset(panel + done, 0, (size_t)count * sizeof(float));
            done += count;
        }
    }
}

/* panel [kc][vector]: columns m0 … of [taps][width] at rows k0 … of the packed sequences (weight gradient of a
 * convolution). */
static void pack_a_taps_transposed(const struct mx_gemm_a *a, int64_t m0, int64_t rows, int64_t k0, int64_t kc,
                                   float *panel)
{
    for (int64_t done = 0; done < rows;) { /* once for each tap that the panel touches */
        const int64_t shift = (m0 + done) / a->width - a->taps / 2, column = (m0 + done) % a->width;
        const int count = (int)mx_least(rows - done, a->width - column);
        int32_t sequence = mx_cpu_gemm_sequence(a->offsets, a->sequences, k0);
        for (int64_t k = 0; k < kc; k++) {
            const int64_t row = k0 + k, from = row + shift;
            while (sequence + 1 < a->sequences && a->offsets[sequence + 1] <= row) sequence++;
            const bool inside = from >= a->offsets[sequence] && from < a->offsets[sequence + 1];
            const mx_vf v = inside ? mx_vf_load_n(a->data + from * a->ld + column, count) : (mx_vf){0};
            mx_vf_store_n(panel + k * MX_VEC_FLOATS + done, v, (int)mx_least(MX_GEMM_MR - done, MX_VEC_FLOATS));
        }
        done += count;
    }
}

/* panels [.][kc][vector]: columns m0 … m0+rows-1 of a stored matrix at its rows k0 …, each row read once. Lanes from MR
 * hold the next data; they are never read. */
static void pack_a_transposed(const struct mx_gemm_a *a, int64_t m0, int64_t rows, int64_t k0, int64_t kc,
                              float *panels)
{
    const float *src = a->data + k0 * a->ld + m0;
    for (int64_t k = 0; k < kc; k++, src += a->ld) {
        float *to = panels + k * MX_VEC_FLOATS;
        int64_t m = 0;
        for (; m + MX_VEC_FLOATS <= rows; m += MX_GEMM_MR, to += MX_GEMM_PANEL_FLOATS)
            mx_vf_store(to, mx_vf_load(src + m));
        for (; m < rows; m += MX_GEMM_MR, to += MX_GEMM_PANEL_FLOATS)
            mx_vf_store(to, mx_vf_load_n(src + m, (int)mx_least(rows - m, MX_VEC_FLOATS)));
    }
}

void mx_cpu_gemm_pack_a(const struct mx_gemm_a *a, int64_t m0, int64_t rows, int64_t k0, int64_t kc, float *panel)
{
    if (a->taps && a->transpose) {
        for (int64_t m = 0; m < rows; m += MX_GEMM_MR, panel += MX_GEMM_PANEL_FLOATS)
            pack_a_taps_transposed(a, m0 + m, mx_least(rows - m, MX_GEMM_MR), k0, kc, panel);
    } else if (a->transpose) {
        pack_a_transposed(a, m0, rows, k0, kc, panel);
    } else {
        if (a->taps)
            pack_a_taps(a, m0, rows, k0, kc, panel);
        else
            for (int64_t i = 0; i < rows; i++)
                memcpy(panel + i * MX_GEMM_ROW, a->data + (m0 + i) * a->ld + k0, (size_t)kc * sizeof(float));
        for (int64_t i = rows; i < MX_GEMM_MR; i++) memset(panel + i * MX_GEMM_ROW, 0, (size_t)kc * sizeof(float));
    }
}
