/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The matrix product with bf16 factors and fp32 sums (MX_PRECISION_BF16), on AMX tiles or on AVX512-BF16 vectors.
 *
 * Both operands are copied into panels of bf16 numbers in the order in which the instructions want them, and rounded on
 * the way (to nearest even) if they are float32 in memory. A block of C is 32 × 32: four tiles of AMX, 16 × 16 each.
 * The step of k is 32; the last step is padded with 0.
 *
 *     A  [steps of k][32 rows][32 k]
 *     B  [panels of 32 columns][steps of k][2 halves][16 pairs of k][16 columns][2 k]
 *
 * An element of C is one chain over k in steps of fixed size, continued where it is interrupted, so it depends neither
 * on how k is cut into blocks nor on workers, neighbours or the shape of C. AMX adds in steps of 32 (the even and the
 * odd k of a step each in a chain of their own), AVX512-BF16 in steps of 2: the two do not give the same bits, but each
 * always gives its own. Products of bf16 numbers are exact in fp32; both instructions take numbers below 2^-126 as 0.
 *
 * Compiled if the variant has AVX-512; further instructions are enabled function by function and run only if the device
 * supports them (struct mx_gang).
 */
#ifndef MX_DEVICE_CPU_ISA_GEMM_BF16_H
#define MX_DEVICE_CPU_ISA_GEMM_BF16_H

#include "device/cpu/isa/product/gemm.h"

#if MX_VEC_AVX512 && defined(__x86_64__)
#define MX_BF16_KERNELS 1
#else
#define MX_BF16_KERNELS 0
#endif

#define MX_BF16_EDGE  32                            /* rows and columns of a block of C, and steps of k in a tile */
#define MX_BF16_HALF  (MX_BF16_EDGE / 2)            /* of a tile */
#define MX_BF16_BLOCK (MX_BF16_EDGE * MX_BF16_EDGE) /* elements of one step of k of a panel */

/* Does the job if it asks for bf16 factors; false (and nothing done) if not. Called by the whole gang; each worker does
 * its share of C. Uses the worker's scratch. */
bool mx_cpu_gemm_bf16(const struct mx_gang *gang, const struct mx_gemm *job) MX_ISA_SYMBOL(mx_cpu_gemm_bf16);

/* The panel of op(A) for rows m0 … m0+rows-1 (at most 32; no row of C sees another's, so the others may hold anything)
 * and columns k0 … k0+kc-1. `row` is scratch of kc elements. */
void mx_cpu_bf16_pack_a(const struct mx_gemm_a *a, int64_t m0, int64_t rows, int64_t k0, int64_t kc, uint16_t *row,
                        uint16_t *panel) MX_ISA_SYMBOL(mx_cpu_bf16_pack_a);
/* The panels of op(B) for columns n0 … n1-1 and rows k0 … k0+kc-1, panel_elements apart; columns beyond n1 may
 * hold anything. */
void mx_cpu_bf16_pack_b(const struct mx_gemm_b *b, int64_t k0, int64_t kc, int64_t n0, int64_t n1, uint16_t *dst,
                        int64_t panel_elements) MX_ISA_SYMBOL(mx_cpu_bf16_pack_b);

#endif
