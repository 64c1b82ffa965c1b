/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The features of the processor, and the check at the start of every program. See processor.h.
 *
 * This file is compiled for the oldest processor of the architecture, whatever the rest of the program is compiled for
 * (cmake/Isa.cmake), and calls nothing else in it: the check must not need the instructions it checks for. It is a
 * constructor, since main() itself may begin with an instruction that the processor lacks; a linker option pulls it
 * from the library into every program.
 */
#include "base/processor.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

enum { EXIT_DEVICE = 3 }; /* as mx_error_exit_code has it */

static const struct feature {
    const char *name;
    unsigned leaf, subleaf, where, bit;
} features[] = {
#define X(feature, macro, ...) {__VA_ARGS__},
    MX_PROCESSOR_FEATURES(X)
#undef X
        {0}};

#if defined(__x86_64__)
/* Which registers the operating system saves for a program: 256-bit ones, 512-bit ones. */
static void saved_registers(bool *wide, bool *widest)
{
    enum { OSXSAVE = 1u << 27, YMM = 0x6, ZMM = 0xe6 };
    unsigned a, b, c, d, low = 0, high;
    if (__get_cpuid(1, &a, &b, &c, &d) && (c & OSXSAVE)) __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    *wide = (low & YMM) == YMM;
    *widest = (low & ZMM) == ZMM;
}

static bool present(const struct feature *feature, bool wide, bool widest)
{
    unsigned r[4];
    if (!__get_cpuid_count(feature->leaf, feature->subleaf, &r[0], &r[1], &r[2], &r[3])) return false;
    if (!(r[feature->where] >> feature->bit & 1u)) return false;
    switch ((enum mx_processor_feature)(feature - features)) {
    case MX_PROCESSOR_SSE3:
    case MX_PROCESSOR_SSSE3:
    case MX_PROCESSOR_SSE4_1:
    case MX_PROCESSOR_SSE4_2:
    case MX_PROCESSOR_POPCNT:
    case MX_PROCESSOR_MOVBE:
    case MX_PROCESSOR_BMI:
    case MX_PROCESSOR_BMI2:
    case MX_PROCESSOR_LZCNT:
    case MX_PROCESSOR_TBM:
    case MX_PROCESSOR_GFNI:
        return true;
    case MX_PROCESSOR_AVX:
    case MX_PROCESSOR_F16C:
    case MX_PROCESSOR_FMA:
    case MX_PROCESSOR_AVX2:
    case MX_PROCESSOR_XOP:
    case MX_PROCESSOR_FMA4:
    case MX_PROCESSOR_AVXVNNI:
        return wide;
    default:
        return widest;
    }
}
#endif

uint64_t mx_processor_has(void)
{
    uint64_t has = 0;
#if defined(__x86_64__)
    bool wide, widest;
    saved_registers(&wide, &widest);
    for (unsigned i = 0; i < MX_PROCESSOR_FEATURE_COUNT; i++) has |= (uint64_t)present(&features[i], wide, widest) << i;
#elif defined(__aarch64__)
    for (unsigned i = 0; i < MX_PROCESSOR_FEATURE_COUNT; i++)
        has |= (uint64_t)(getauxval(features[i].leaf) >> features[i].bit & 1u) << i;
#endif
    return has;
}

void mx_processor_names(uint64_t set, char *out, size_t size)
{
    size_t length = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < MX_PROCESSOR_FEATURE_COUNT && length < size; i++)
        if (set >> i & 1u)
            length += (size_t)snprintf(out + length, size - length, "%s%s", length ? ", " : "", features[i].name);
}

void mx_processor_check(void); /* by name, so that a linker option can pull it in */

__attribute__((constructor)) void mx_processor_check(void)
{
    const uint64_t lacks = mx_processor_needs & ~mx_processor_has();
    if (lacks == 0) return;
    char names[512];
    mx_processor_names(lacks, names, sizeof names);
    dprintf(STDERR_FILENO,
            "error: %s was built for %s processors, and this one lacks %s\n"
            "  hint: build it on this machine with 'make build', or with 'make build PORTABLE=1' for any machine\n",
            program_invocation_short_name, mx_processor_build_target, names);
    _exit(EXIT_DEVICE);
}
