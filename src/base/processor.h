/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The processor features that code needs and that the processor has, as sets (bits of a uint64_t).
 *
 * Only instructions that a compiler uses on its own count: a program that never asks for others runs without them.
 * MX_PROCESSOR_NEEDS is a constant, the features for which the file that uses it was compiled. Every program linked
 * with the library compares its needs with the processor before any other code runs (processor.c), and exits with one
 * message instead of an illegal instruction. Nothing here owns memory.
 */
#ifndef MX_BASE_PROCESSOR_H
#define MX_BASE_PROCESSOR_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
/* X(feature, the compiler's macro for it, name for people, CPUID leaf, subleaf, register a b c d as 0 … 3, bit) */
#define MX_PROCESSOR_FEATURES(X)                                                                                       \
    X(SSE3, __SSE3__, "SSE3", 1, 0, 2, 0)                                                                              \
    X(SSSE3, __SSSE3__, "SSSE3", 1, 0, 2, 9)                                                                           \
    X(SSE4_1, __SSE4_1__, "SSE4.1", 1, 0, 2, 19)                                                                       \
    X(SSE4_2, __SSE4_2__, "SSE4.2", 1, 0, 2, 20)                                                                       \
    X(POPCNT, __POPCNT__, "POPCNT", 1, 0, 2, 23)                                                                       \
    X(MOVBE, __MOVBE__, "MOVBE", 1, 0, 2, 22)                                                                          \
    X(AVX, __AVX__, "AVX", 1, 0, 2, 28)                                                                                \
    X(F16C, __F16C__, "F16C", 1, 0, 2, 29)                                                                             \
    X(FMA, __FMA__, "FMA", 1, 0, 2, 12)                                                                                \
    X(BMI, __BMI__, "BMI1", 7, 0, 1, 3)                                                                                \
    X(BMI2, __BMI2__, "BMI2", 7, 0, 1, 8)                                                                              \
    X(AVX2, __AVX2__, "AVX2", 7, 0, 1, 5)                                                                              \
    X(LZCNT, __LZCNT__, "LZCNT", 0x80000001u, 0, 2, 5)                                                                 \
    X(XOP, __XOP__, "XOP", 0x80000001u, 0, 2, 11)                                                                      \
    X(FMA4, __FMA4__, "FMA4", 0x80000001u, 0, 2, 16)                                                                   \
    X(TBM, __TBM__, "TBM", 0x80000001u, 0, 2, 21)                                                                      \
    X(AVX512F, __AVX512F__, "AVX512F", 7, 0, 1, 16)                                                                    \
    X(AVX512CD, __AVX512CD__, "AVX512CD", 7, 0, 1, 28)                                                                 \
    X(AVX512BW, __AVX512BW__, "AVX512BW", 7, 0, 1, 30)                                                                 \
    X(AVX512DQ, __AVX512DQ__, "AVX512DQ", 7, 0, 1, 17)                                                                 \
    X(AVX512VL, __AVX512VL__, "AVX512VL", 7, 0, 1, 31)                                                                 \
    X(AVX512IFMA, __AVX512IFMA__, "AVX512-IFMA", 7, 0, 1, 21)                                                          \
    X(AVX512VBMI, __AVX512VBMI__, "AVX512-VBMI", 7, 0, 2, 1)                                                           \
    X(AVX512VBMI2, __AVX512VBMI2__, "AVX512-VBMI2", 7, 0, 2, 6)                                                        \
    X(GFNI, __GFNI__, "GFNI", 7, 0, 2, 8)                                                                              \
    X(AVX512VNNI, __AVX512VNNI__, "AVX512-VNNI", 7, 0, 2, 11)                                                          \
    X(AVX512BITALG, __AVX512BITALG__, "AVX512-BITALG", 7, 0, 2, 12)                                                    \
    X(AVX512VPOPCNTDQ, __AVX512VPOPCNTDQ__, "AVX512-VPOPCNTDQ", 7, 0, 2, 14)                                           \
    X(AVX512FP16, __AVX512FP16__, "AVX512-FP16", 7, 0, 3, 23)                                                          \
    X(AVXVNNI, __AVXVNNI__, "AVX-VNNI", 7, 1, 0, 4)                                                                    \
    X(AVX512BF16, __AVX512BF16__, "AVX512-BF16", 7, 1, 0, 5)
#elif defined(__aarch64__)
/* X(feature, the compiler's macro for it, name for people, entry of the auxiliary vector (16: AT_HWCAP, 26: AT_HWCAP2),
 * 0, 0, bit) */
#define MX_PROCESSOR_FEATURES(X)                                                                                       \
    X(NEON, __ARM_NEON, "NEON", 16, 0, 0, 1)                                                                           \
    X(CRC32, __ARM_FEATURE_CRC32, "CRC32", 16, 0, 0, 7)                                                                \
    X(ATOMICS, __ARM_FEATURE_ATOMICS, "LSE atomics", 16, 0, 0, 8)                                                      \
    X(FP16, __ARM_FEATURE_FP16_VECTOR_ARITHMETIC, "half-precision vectors", 16, 0, 0, 10)                              \
    X(DOTPROD, __ARM_FEATURE_DOTPROD, "dot products", 16, 0, 0, 20)                                                    \
    X(SVE, __ARM_FEATURE_SVE, "SVE", 16, 0, 0, 22)                                                                     \
    X(SVE2, __ARM_FEATURE_SVE2, "SVE2", 26, 0, 0, 1)
#else
#define MX_PROCESSOR_FEATURES(X)
#endif

enum mx_processor_feature {
#define X(feature, ...) MX_PROCESSOR_##feature,
    MX_PROCESSOR_FEATURES(X)
#undef X
        MX_PROCESSOR_FEATURE_COUNT
};

/* 1 if `macro` is defined as 1, as those above are, 0 if it is not defined. */
#define MX_PROCESSOR_ONE_1                     0,
#define MX_PROCESSOR_SECOND(a, b, ...)         b
#define MX_PROCESSOR_IS(macro)                 MX_PROCESSOR_IS_(macro)
#define MX_PROCESSOR_IS_(value)                MX_PROCESSOR_IS__(MX_PROCESSOR_ONE_##value)
#define MX_PROCESSOR_IS__(maybe)               MX_PROCESSOR_SECOND(maybe 1, 0, )
#define MX_PROCESSOR_NEED(feature, macro, ...) | (uint64_t)MX_PROCESSOR_IS(macro) << MX_PROCESSOR_##feature
/* The features for which the file that uses this macro is compiled. */
#define MX_PROCESSOR_NEEDS (UINT64_C(0) MX_PROCESSOR_FEATURES(MX_PROCESSOR_NEED))

/* The features that the processor has and the operating system lets programs use. */
uint64_t mx_processor_has(void);
/* "AVX2, FMA"; names that do not fit are left out. */
void mx_processor_names(uint64_t features, char *out, size_t size);

extern const uint64_t mx_processor_needs; /* of the whole program, apart from kernels that are picked at run time */
extern const char mx_processor_build_target[]; /* what it was built for: "native", "x86-64-v3", "portable" */

#endif
