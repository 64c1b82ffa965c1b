/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The matrix product beneath matmul, the convolutions and attention.
 *
 * This is our own code instead of OpenBLAS, for measured reasons (SPEED.md): the packaged OpenBLAS does not know recent
 * processors and runs its oldest kernel on them, it cannot fetch A through a convolution's taps or apply an epilogue
 * while the tile is in registers, and its sums depend on how the rows are split. Here an element of C is the sum over
 * equal blocks of k, in order, of one chain of fused multiply-adds each; the blocks depend on k alone, not on the
 * worker count, the tile or the neighbours. So a row's result does not depend on the rest of the batch.
 *
 * The tile is MX_GEMM_MR rows by two vectors (NEON: four), which fills the register file. A tile reads A and B in place
 * if that is as fast as reading a copy; otherwise A is copied MR rows and at most KC columns at a time into a panel
 * that stays in the first-level cache, and B is packed KC by NC into panels of NR columns that stay in the second. The
 * next rows are fetched ahead.
 */
#ifndef MX_DEVICE_CPU_ISA_GEMM_H
#define MX_DEVICE_CPU_ISA_GEMM_H

#include "device/cpu/isa/vec.h"
#include "device/cpu/kernels.h"

/* MR and NR: rows and columns of a tile. KC: most steps of k in one block. NC: most columns of B packed at a time.
 * SHARED: panels of a transposed A that are multiplied with a panel of B while that stays in the first-level cache; 1:
 * the panel of A stays there and those of B pass by, as for an A by rows. KC_COLUMNS, NC_COLUMNS: for a transposed A.
 * ROW: floats from row to row of an A panel, so that no two rows start on the same cache set. */
#if MX_VEC_BYTES == 64
#define MX_GEMM_MR     12
#define MX_GEMM_KC     384
#define MX_GEMM_NC     768
#define MX_GEMM_SHARED 1
#elif MX_VEC_BYTES == 32
#define MX_GEMM_MR     6
#define MX_GEMM_KC     256
#define MX_GEMM_NC     256
#define MX_GEMM_SHARED 16
#else /* NEON has a tile of its own: gemm_neon.c */
#define MX_GEMM_MR     4
#define MX_GEMM_KC     384
#define MX_GEMM_NC     256
#define MX_GEMM_SHARED 16
#endif
#if MX_VEC_NEON
#define MX_GEMM_NR (4 * MX_VEC_FLOATS)
#else
#define MX_GEMM_NR (2 * MX_VEC_FLOATS)
#endif
#define MX_GEMM_KC_COLUMNS 256
#define MX_GEMM_NC_COLUMNS 768
#define MX_GEMM_ROW        (MX_GEMM_KC + 16)
#define MX_GEMM_B_FLOATS                                                                                               \
    (MX_GEMM_KC * MX_GEMM_NC > MX_GEMM_KC_COLUMNS * MX_GEMM_NC_COLUMNS ? MX_GEMM_KC * MX_GEMM_NC                       \
                                                                       : MX_GEMM_KC_COLUMNS * MX_GEMM_NC_COLUMNS)

/* A panel of A: [MR][ROW] (by rows), or [kc][a vector, of which MR lanes count] (by columns of A). No two panels start
 * on the same cache set. */
_Static_assert(MX_GEMM_MR <= MX_VEC_FLOATS, "a column of a tile fits a vector");
#define MX_GEMM_PANEL_FLOATS                                                                                           \
    (16 +                                                                                                              \
     (MX_GEMM_MR * MX_GEMM_ROW > MX_GEMM_KC * MX_VEC_FLOATS ? MX_GEMM_MR * MX_GEMM_ROW : MX_GEMM_KC * MX_VEC_FLOATS))

/* Where op(A) [m, k] comes from. taps 0: a stored matrix. taps > 0: the rows of packed sequences seen through a
 * convolution, k (or m, transposed) runs over [taps][width]: element (row, tap, c) is data[row + tap - taps/2][c], 0
 * outside the row's own sequence. */
struct mx_gemm_a {
    const float *data;
    int64_t ld;
    bool transpose; /* stored [k, m]; with taps: m runs over [taps][width] and k over the rows */
    int32_t taps;
    int64_t width;
    const int32_t *offsets; /* of the sequences */
    int32_t sequences;
    bool bf16; /* data is really uint16_t: for gemm_bf16.h alone */
};

/* Where op(B) [k, n] comes from: k in blocks of `block` (0: one block), each stored [block, n], or [n, block] with
 * transpose, block_stride floats apart. */
struct mx_gemm_b {
    const float *data;
    int64_t ld;
    bool transpose;
    int64_t block, block_stride;
    bool bf16; /* as in struct mx_gemm_a */
};

/* struct mx_epilogue with pointers; bias by column, the others laid out as C. */
struct mx_gemm_epilogue {
    const float *bias, *residual;
    float *pre;
    enum mx_activation act;
    bool act_grad, accumulate;
    bool c_bf16, pre_bf16; /* C, pre are really uint16_t: for gemm_bf16.h alone */
};

struct mx_gemm {
    struct mx_gemm_a a;
    struct mx_gemm_b b;
    float *c;
    int64_t ldc;
    int64_t m, n, k;
    struct mx_gemm_epilogue epilogue;
    enum mx_precision precision;
};

/* Called by the whole gang; each worker does its share of C. Uses the worker's scratch. */
void mx_cpu_gemm(const struct mx_gang *gang, const struct mx_gemm *job) MX_ISA_SYMBOL(mx_cpu_gemm);

/* The grid of workers over C that packs least: every worker packs its rows of A and its columns of B. */
static inline int mx_gemm_grid_rows(int64_t m, int64_t n, int workers)
{
    int best = workers;
    for (int rows = 1; rows <= workers; rows++)
        if (workers % rows == 0 && m / rows + n / (workers / rows) < m / best + n / (workers / best)) best = rows;
    return best;
}

/* Lines of memory that will be needed soon, fetched a few at a time while tiles are computed: rows of `lines` cache
 * lines, `wrap` bytes from the end of one row to the start of the next. */
struct mx_gemm_ahead {
    const char *at;
    int64_t wrap;
    int32_t lines, left; /* in a row; in this row */
    int64_t remaining;   /* lines altogether */
};

/* rows × floats at `from`, rows ld floats apart. */
static inline struct mx_gemm_ahead mx_gemm_fetch(const float *from, int64_t rows, int64_t floats, int64_t ld)
{
    const int32_t lines = (int32_t)((floats + 15) / 16);
    return (struct mx_gemm_ahead){.at = (const char *)from,
                                  .wrap = (ld - 16 * lines) * 4,
                                  .lines = lines,
                                  .left = lines,
                                  .remaining = rows * lines};
}

/* Nothing to fetch: one line of our own again and again. */
static inline struct mx_gemm_ahead mx_gemm_fetch_nothing(const float *own)
{
    return (struct mx_gemm_ahead){.at = (const char *)own, .wrap = -64, .lines = 1, .left = 1, .remaining = INT64_MAX};
}

#define MX_GEMM_STEP 4 /* k steps for each line fetched ahead */

/* Operands of one tile. Rows of A lie a_row floats apart and steps of k a_step: one of the two is 1. Steps of B lie
 * b_step apart and are aligned for vectors. */
struct mx_gemm_operands {
    const float *a, *b;
    int64_t a_row, a_step, b_step;
    int64_t kc;
};

/* tile[MR][NR] (rows `ld` apart) = or += A · B over kc steps; A by rows (a_step 1) or by columns (a_row 1). */
void mx_cpu_gemm_tile_rows(const struct mx_gemm_operands *x, float *tile, int64_t ld, bool add,
                           struct mx_gemm_ahead *ahead) MX_ISA_SYMBOL(mx_cpu_gemm_tile_rows);
void mx_cpu_gemm_tile_columns(const struct mx_gemm_operands *x, float *tile, int64_t ld, bool add,
                              struct mx_gemm_ahead *ahead) MX_ISA_SYMBOL(mx_cpu_gemm_tile_columns);

/* Columns k0 … k0+kc-1 of op(A) for rows m0 … m0+rows-1: one panel (what is missing of MR is 0), or, of a transposed A,
 * as many as there are rows for. */
void mx_cpu_gemm_pack_a(const struct mx_gemm_a *a, int64_t m0, int64_t rows, int64_t k0, int64_t kc, float *panel)
    MX_ISA_SYMBOL(mx_cpu_gemm_pack_a);
/* The sequence that holds `row`. */
int32_t mx_cpu_gemm_sequence(const int32_t *offsets, int32_t count, int64_t row) MX_ISA_SYMBOL(mx_cpu_gemm_sequence);
/* The panels of op(B) for columns n0 … n1-1 and rows k0 … k0+kc-1: dst [panels][kc][NR], panels panel_floats apart;
 * columns beyond n1 are 0. */
void mx_cpu_gemm_pack_b(const struct mx_gemm_b *b, int64_t k0, int64_t kc, int64_t n0, int64_t n1, float *dst,
                        int64_t panel_floats) MX_ISA_SYMBOL(mx_cpu_gemm_pack_b);

#endif
