/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of this variant's kernels, made from the one list of operations in myxtts/ops.h: an operation without a
 * kernel does not link.
 */
#include "base/processor.h"
#include "device/cpu/isa/product/gemm_bf16.h"

extern const struct mx_cpu_kernels MX_CPU_TABLE(MX_ISA);

const struct mx_cpu_kernels MX_CPU_TABLE(MX_ISA) = {
    .isa = MX_ISA_TEXT(MX_ISA),
    .vector_bytes = MX_VEC_BYTES,
    .tile_rows = MX_GEMM_MR,
    .tile_columns = MX_GEMM_NR,
    .needs = MX_PROCESSOR_NEEDS,
    .bf16 = MX_BF16_KERNELS,
    .run =
        {
#define MX_ONE(name)  [MX_OP_##name] = mx_cpu_##name,
#define MX_PAIR(name) MX_ONE(name) MX_ONE(name##_grad)
            MX_OP_LIST(MX_PAIR, MX_ONE)
#undef MX_ONE
#undef MX_PAIR
        },
};
