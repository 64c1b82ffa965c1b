/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Copies of parts of A and B as panels of bf16 numbers. See gemm_bf16.h for the layouts.
 *
 * A source with contiguous k is directly a row of A or a column of B; one with strided k is directly a line of pairs of
 * B. The other two cases go through a 16 × 16 transposition of pairs.
 */
#include "base/number.h"
#include "device/cpu/isa/product/gemm_bf16.h"

#if MX_BF16_KERNELS

#define BF16 __attribute__((target("avx512bf16")))
#define HALF MX_BF16_HALF
#define EDGE MX_BF16_EDGE

static const char *element(const void *data, bool bf16, int64_t at)
{
    return (const char *)data + at * (bf16 ? 2 : 4);
}

/* ---- vectors ---- */

/* The lanes of `mask` of 16 numbers at p. */
BF16 static inline __m512 load_16(const void *p, bool bf16, __mmask16 mask)
{
    if (!bf16) return _mm512_maskz_loadu_ps(mask, p);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, p)), 16));
}

/* `count` (≤ 32) numbers at p as bf16, followed by zeros. */
BF16 static inline __m512i load_32(const void *p, bool bf16, int64_t count)
{
    const __mmask32 mask = count >= EDGE ? 0xffffffffu : (1u << count) - 1u;
    if (bf16) return _mm512_maskz_loadu_epi16(mask, p);
    const __m512 low = _mm512_maskz_loadu_ps((__mmask16)mask, p);
    const __m512 high = _mm512_maskz_loadu_ps((__mmask16)(mask >> 16), (const float *)p + 16);
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/* Pairs (even[i], odd[i]). */
BF16 static inline __m512i pair(__m512 even, __m512 odd)
{
    const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                           21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
}

/* dst[i] line j = lines[j] pair i: lines of 16 pairs, dst `stride` elements apart. */
BF16 static inline void transpose(const __m512i lines[16], uint16_t *dst, int64_t stride)
{
    __m512i a[16], b[16];
    for (int i = 0; i < 16; i += 2) {
        a[i] = _mm512_unpacklo_epi32(lines[i], lines[i + 1]);
        a[i + 1] = _mm512_unpackhi_epi32(lines[i], lines[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        b[i] = _mm512_unpacklo_epi64(a[i], a[i + 2]);
        b[i + 1] = _mm512_unpackhi_epi64(a[i], a[i + 2]);
        b[i + 2] = _mm512_unpacklo_epi64(a[i + 1], a[i + 3]);
        b[i + 3] = _mm512_unpackhi_epi64(a[i + 1], a[i + 3]);
    }
    /* b[4g + c] has, in its quarter q, column 4q + c of lines 4g … 4g+3. */
    for (int c = 0; c < 4; c++) {
        const __m512i low02 = _mm512_shuffle_i32x4(b[c], b[4 + c], 0x88),
                      low13 = _mm512_shuffle_i32x4(b[c], b[4 + c], 0xdd);
        const __m512i high02 = _mm512_shuffle_i32x4(b[8 + c], b[12 + c], 0x88);
        const __m512i high13 = _mm512_shuffle_i32x4(b[8 + c], b[12 + c], 0xdd);
        _mm512_storeu_si512(dst + c * stride, _mm512_shuffle_i32x4(low02, high02, 0x88));
        _mm512_storeu_si512(dst + (8 + c) * stride, _mm512_shuffle_i32x4(low02, high02, 0xdd));
        _mm512_storeu_si512(dst + (4 + c) * stride, _mm512_shuffle_i32x4(low13, high13, 0x88));
        _mm512_storeu_si512(dst + (12 + c) * stride, _mm512_shuffle_i32x4(low13, high13, 0xdd));
    }
}

/* ---- packing A, k contiguous ---- */

/* One row of the panel: `count` elements of k from src on. */
BF16 static void pack_row(const void *src, bool bf16, int64_t count, uint16_t *row)
{
    for (int64_t k = 0; k < count; k += EDGE, row += MX_BF16_BLOCK)
        _mm512_storeu_si512(row, load_32(element(src, bf16, k), bf16, count - k));
}

/* What the taps see of `row`, columns k0 … k0+kc-1 of [taps][width], into `to` as bf16: for rows near the end of their
 * sequence, whose taps see 0 beyond it. */
BF16 static void gather_row(const struct mx_gemm_a *a, int64_t row, int64_t first, int64_t end, int64_t k0, int64_t kc,
                            uint16_t *to)
{
    for (int64_t done = 0; done < kc;) {
        const int64_t tap = (k0 + done) / a->width, column = (k0 + done) % a->width;
        const int64_t count = mx_least(kc - done, a->width - column), from = row + tap - a->taps / 2;
        const bool inside = from >= first && from < end;
        for (int64_t i = 0; i < count; i += EDGE) {
            const int64_t part = mx_least(count - i, EDGE);
            const __m512i v =
                inside ? load_32(element(a->data, a->bf16, from * a->ld + column + i), a->bf16, part) : (__m512i){0};
            _mm512_mask_storeu_epi16(to + done + i, part == EDGE ? 0xffffffffu : (1u << part) - 1u, v);
        }
        done += count;
    }
}

static void pack_a_rows(const struct mx_gemm_a *a, int64_t m0, int64_t rows, int64_t k0, int64_t kc, uint16_t *row,
                        uint16_t *panel)
{
    int32_t sequence = a->taps ? mx_cpu_gemm_sequence(a->offsets, a->sequences, m0) : 0;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t m = m0 + i;
        if (a->taps) {
            while (sequence + 1 < a->sequences && a->offsets[sequence + 1] <= m) sequence++;
            const int64_t first = a->offsets[sequence], end = a->offsets[sequence + 1], reach = a->taps / 2;
            /* Rows lie end to end, so what the taps see of one is contiguous unless the sequence ends there. */
            if (a->ld != a->width || m - reach < first || m + reach >= end) {
                gather_row(a, m, first, end, k0, kc, row);
                pack_row(row, true, kc, panel + i * EDGE);
                continue;
            }
        }
        pack_row(element(a->data, a->bf16, (m - a->taps / 2) * a->ld + k0), a->bf16, kc, panel + i * EDGE);
    }
}

/* ---- packing A, k apart ---- */

/* Where 16 columns of a transposed A come from: pieces, one for each tap that they touch. */
struct piece {
    int64_t shift, column; /* rows from k, column of lane 0 */
    __mmask16 mask;        /* its lanes */
};

static int pieces_of(const struct mx_gemm_a *a, int64_t m0, int64_t count, struct piece pieces[16])
{
    if (a->taps == 0) {
        pieces[0] = (struct piece){.column = m0, .mask = (__mmask16)((1u << count) - 1u)};
        return 1;
    }
    int used = 0;
    for (int64_t done = 0; done < count; used++) {
        const int64_t tap = (m0 + done) / a->width, column = (m0 + done) % a->width;
        const int64_t own = mx_least(count - done, a->width - column);
        pieces[used] = (struct piece){
            .shift = tap - a->taps / 2, .column = column - done, .mask = (__mmask16)(((1u << own) - 1u) << done)};
        done += own;
    }
    return used;
}

/* Row k of A through the pieces; k lies in a sequence of rows first … end-1. */
BF16 static inline __m512 fetch(const struct mx_gemm_a *a, const struct piece *pieces, int count, int64_t k,
                                int64_t first, int64_t end)
{
    __m512 v = _mm512_setzero_ps();
    for (int i = 0; i < count; i++) {
        const int64_t from = k + pieces[i].shift;
        if (from < first || from >= end) continue;
        v = _mm512_or_ps(v,
                         load_16(element(a->data, a->bf16, from * a->ld + pieces[i].column), a->bf16, pieces[i].mask));
    }
    return v;
}

/* 16 rows of the panel, from columns m0 … m0+count-1 of A as it is stored. */
BF16 static void pack_a_half(const struct mx_gemm_a *a, int64_t m0, int64_t count, int64_t k0, int64_t kc,
                             uint16_t *panel)
{
    struct piece pieces[16];
    const int used = pieces_of(a, m0, count, pieces);
    int32_t sequence = a->taps ? mx_cpu_gemm_sequence(a->offsets, a->sequences, k0) : 0;
    int64_t first = a->taps ? a->offsets[sequence] : k0, end = a->taps ? a->offsets[sequence + 1] : k0 + kc;
    for (int64_t step = 0; step < kc; step += EDGE, panel += MX_BF16_BLOCK) {
        __m512i lines[16];
        for (int p = 0; p < 16; p++) {
            __m512 v[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
            for (int odd = 0; odd < 2; odd++) {
                const int64_t k = k0 + step + 2 * p + odd;
                if (k >= k0 + kc) break;
                while (k >= end && sequence + 1 < a->sequences) {
                    sequence++;
                    first = a->offsets[sequence];
                    end = a->offsets[sequence + 1];
                }
                v[odd] = fetch(a, pieces, used, k, first, end);
            }
            lines[p] = pair(v[0], v[1]);
        }
        transpose(lines, panel, EDGE);
    }
}

void mx_cpu_bf16_pack_a(const struct mx_gemm_a *a, int64_t m0, int64_t rows, int64_t k0, int64_t kc, uint16_t *row,
                        uint16_t *panel)
{
    if (a->transpose) {
        pack_a_half(a, m0, mx_least(rows, HALF), k0, kc, panel);
        if (rows > HALF) pack_a_half(a, m0 + HALF, rows - HALF, k0, kc, panel + HALF * EDGE);
    } else {
        pack_a_rows(a, m0, rows, k0, kc, row, panel);
    }
}

/* ---- packing B ---- */

/* Row k of op(B), column 0. */
static const char *row_of(const struct mx_gemm_b *b, int64_t k)
{
    const int64_t block = b->block ? k / b->block : 0, inner = b->block ? k % b->block : k;
    return element(b->data, b->bf16, block * b->block_stride + inner * b->ld);
}

/* Stored [k, n]: a line of pairs is two rows. */
BF16 static void pack_b_rows(const struct mx_gemm_b *b, int64_t k0, int64_t kc, int64_t n0, int64_t n1, uint16_t *dst,
                             int64_t panel_elements)
{
    const int64_t bytes = b->bf16 ? 2 : 4, steps = (kc + EDGE - 1) / EDGE;
    for (int64_t p = 0; p < steps * HALF; p++) {
        const int64_t k = 2 * p;
        const char *even = k < kc ? row_of(b, k0 + k) : NULL, *odd = k + 1 < kc ? row_of(b, k0 + k + 1) : NULL;
        uint16_t *to = dst + p / HALF * MX_BF16_BLOCK + p % HALF * EDGE;
        for (int64_t n = n0; n < n1; n += HALF) {
            const int64_t count = mx_least(n1 - n, HALF), half = (n - n0) / HALF;
            const __mmask16 mask = (__mmask16)((1u << count) - 1u);
            const __m512 low = even ? load_16(even + n * bytes, b->bf16, mask) : _mm512_setzero_ps();
            const __m512 high = odd ? load_16(odd + n * bytes, b->bf16, mask) : _mm512_setzero_ps();
            _mm512_storeu_si512(to + half / 2 * panel_elements + half % 2 * HALF * EDGE, pair(low, high));
        }
    }
}

/* Column n of op(B), `count` (≤ 32) elements from k on, of B stored [n, k]. */
BF16 static inline __m512i column_32(const struct mx_gemm_b *b, int64_t n, int64_t k, int64_t count)
{
    const int64_t inner = b->block ? k % b->block : k, block = b->block ? k / b->block : 0;
    const char *src = element(b->data, b->bf16, block * b->block_stride + n * b->ld + inner);
    if (!b->block || inner + count <= b->block) return load_32(src, b->bf16, count);
    uint16_t parts[EDGE] = {0};
    for (int64_t done = 0; done < count;) {
        const int64_t at = k + done, own = mx_least(count - done, b->block - at % b->block);
        src = element(b->data, b->bf16, at / b->block * b->block_stride + n * b->ld + at % b->block);
        _mm512_mask_storeu_epi16(parts + done, (1u << own) - 1u, load_32(src, b->bf16, own));
        done += own;
    }
    return _mm512_loadu_si512(parts);
}

/* Stored [n, k]: 16 columns at once, transposed. */
BF16 static void pack_b_columns(const struct mx_gemm_b *b, int64_t k0, int64_t kc, int64_t n0, int64_t n1,
                                uint16_t *dst, int64_t panel_elements)
{
    for (int64_t n = n0; n < n1; n += HALF) {
        const int64_t half = (n - n0) / HALF;
        uint16_t *to = dst + half / 2 * panel_elements + half % 2 * HALF * EDGE;
        for (int64_t k = 0; k < kc; k += EDGE, to += MX_BF16_BLOCK) {
            __m512i lines[16];
            for (int j = 0; j < HALF; j++)
                lines[j] = n + j < n1 ? column_32(b, n + j, k0 + k, mx_least(kc - k, EDGE)) : _mm512_setzero_si512();
            transpose(lines, to, EDGE);
        }
    }
}

void mx_cpu_bf16_pack_b(const struct mx_gemm_b *b, int64_t k0, int64_t kc, int64_t n0, int64_t n1, uint16_t *dst,
                        int64_t panel_elements)
{
    if (b->transpose)
        pack_b_columns(b, k0, kc, n0, n1, dst, panel_elements);
    else
        pack_b_rows(b, k0, kc, n0, n1, dst, panel_elements);
}

#endif
