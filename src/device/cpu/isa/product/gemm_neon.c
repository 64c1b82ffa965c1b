/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The tile of the matrix product with NEON: 4 rows by 4 vectors, 16 sums of the 32 registers. See gemm.h.
 *
 * A multiply-add takes one factor from a lane of a register, so four numbers of A come with one load: four steps of k
 * of a row, or the four rows of one step. An element of C is the same chain over k as everywhere else.
 */
#include "device/cpu/isa/product/gemm.h"

#if MX_VEC_NEON

#define ROWS    MX_GEMM_MR
#define VECTORS (MX_GEMM_NR / MX_VEC_FLOATS)
_Static_assert(ROWS == 4 && VECTORS == 4 && MX_GEMM_STEP == 4, "the lanes of a register are rows, or steps of k");

/* sum += one step of k: row i of A is lane `lane(i)` of `a(i)`. */
#define STEP(a, lane)                                                                                                  \
    do {                                                                                                               \
        const float32x4_t b0 = vld1q_f32(b), b1 = vld1q_f32(b + 4), b2 = vld1q_f32(b + 8), b3 = vld1q_f32(b + 12);     \
        ROW(0, a(0), lane(0));                                                                                         \
        ROW(1, a(1), lane(1));                                                                                         \
        ROW(2, a(2), lane(2));                                                                                         \
        ROW(3, a(3), lane(3));                                                                                         \
        b += b_step;                                                                                                   \
    } while (0)
#define ROW(i, a, lane)                                                                                                \
    sum[i][0] = vfmaq_laneq_f32(sum[i][0], b0, a, lane);                                                               \
    sum[i][1] = vfmaq_laneq_f32(sum[i][1], b1, a, lane);                                                               \
    sum[i][2] = vfmaq_laneq_f32(sum[i][2], b2, a, lane);                                                               \
    sum[i][3] = vfmaq_laneq_f32(sum[i][3], b3, a, lane)

#define OF_ROW(i) row_##i
#define COLUMN(i) column
#define LANE(i)   i
#define FIRST(i)  0
#define SECOND(i) 1
#define THIRD(i)  2
#define FOURTH(i) 3

/* Both layouts from one text; `by_rows` is a constant in each caller. */
MX_VEC_INLINE void run_tile(const struct mx_gemm_operands *x, const bool by_rows, float *tile, int64_t ld, bool add,
                            struct mx_gemm_ahead *ahead)
{
    float32x4_t sum[ROWS][VECTORS];
#pragma GCC unroll 4
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; j++) sum[i][j] = vdupq_n_f32(0);
    const float *a = x->a, *b = x->b;
    const int64_t row = x->a_row, a_step = x->a_step, b_step = x->b_step;
    const char *at = ahead->at;
    int32_t left = ahead->left;
    int64_t k = 0;
    for (; k + MX_GEMM_STEP <= x->kc; k += MX_GEMM_STEP) {
        __builtin_prefetch(at, 0, 2);
        at += 64;
        if (--left == 0) {
            left = ahead->lines;
            at += ahead->wrap;
        }
        if (by_rows) {
            const float32x4_t row_0 = vld1q_f32(a), row_1 = vld1q_f32(a + row);
            const float32x4_t row_2 = vld1q_f32(a + 2 * row), row_3 = vld1q_f32(a + 3 * row);
            STEP(OF_ROW, FIRST);
            STEP(OF_ROW, SECOND);
            STEP(OF_ROW, THIRD);
            STEP(OF_ROW, FOURTH);
            a += MX_GEMM_STEP;
        } else {
#pragma GCC unroll 4
            for (int step = 0; step < MX_GEMM_STEP; step++) {
                const float32x4_t column = vld1q_f32(a);
                STEP(COLUMN, LANE);
                a += a_step;
            }
        }
    }
    ahead->at = at;
    ahead->left = left;
    ahead->remaining -= x->kc / MX_GEMM_STEP;
    for (; k < x->kc; k++, a += by_rows ? 1 : a_step) {
        const int64_t next = by_rows ? row : 1;
        const float32x4_t column = {a[0], a[next], a[2 * next], a[3 * next]};
        STEP(COLUMN, LANE);
    }
#pragma GCC unroll 4
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; j++) {
            float *const to = tile + i * ld + j * MX_VEC_FLOATS;
            if (add) sum[i][j] = vaddq_f32(sum[i][j], vld1q_f32(to));
            vst1q_f32(to, sum[i][j]);
        }
}

void mx_cpu_gemm_tile_rows(const struct mx_gemm_operands *x, float *tile, int64_t ld, bool add,
                           struct mx_gemm_ahead *ahead)
{
    run_tile(x, true, tile, ld, add, ahead);
}

void mx_cpu_gemm_tile_columns(const struct mx_gemm_operands *x, float *tile, int64_t ld, bool add,
                              struct mx_gemm_ahead *ahead)
{
    run_tile(x, false, tile, ld, add, ahead);
}

#endif
