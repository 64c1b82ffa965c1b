/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The choice of kernels: one table per instruction set is compiled in (<build>/generated/mx_isa_list.h, best last), and
 * the best one that the processor supports is used. MYXTTS_ISA selects another, for comparison or to work around a
 * fault. The choice for bf16 products, which need further instructions, is made in the same way: AMX, AVX512-BF16 or
 * none; MYXTTS_BF16 selects another.
 */
#include "base/processor.h"
#include "device/cpu/cpu.h"
#include "mx_isa_list.h"
#include "myxtts/error.h"

#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#define X(isa) extern const struct mx_cpu_kernels MX_CPU_TABLE(isa);
MX_ISA_LIST(X)
#undef X

static const struct mx_cpu_kernels *const tables[] = {
#define X(isa) &MX_CPU_TABLE(isa),
    MX_ISA_LIST(X)
#undef X
};
#define TABLES (sizeof tables / sizeof *tables)

/* What people call the kernels, worst first; those of one architecture stand together. */
static const struct level {
    const char *isa, *name;
} levels[] = {{"base", "128-bit"}, {"neon", "NEON"}, {"avx2", "AVX2"}, {"avx512", "AVX-512"}};
#define LEVELS (sizeof levels / sizeof *levels)

static size_t level_of(const char *isa)
{
    size_t level = LEVELS - 1;
    while (level > 0 && strcmp(levels[level].isa, isa) != 0) level--;
    return level;
}

/* The best kernels that could be built for this processor. */
static size_t level_of_processor(void)
{
    const char *isa = "base";
#if defined(__x86_64__)
#define HAS(feature) (has >> MX_PROCESSOR_##feature & 1u)
    const uint64_t has = mx_processor_has();
    if (HAS(AVX2) && HAS(FMA)) isa = "avx2";
    if (HAS(AVX512F) && HAS(AVX512BW) && HAS(AVX512DQ) && HAS(AVX512VL)) isa = "avx512";
#elif defined(__aarch64__)
    isa = "neon";
#endif
    return level_of(isa);
}

static uint64_t lacks(const struct mx_cpu_kernels *kernels)
{
    return kernels->needs & ~mx_processor_has();
}

/* "base, avx2, avx512" */
static void tables_list(char *out, size_t size)
{
    size_t length = 0;
    out[0] = '\0';
    for (size_t i = 0; i < TABLES && length < size; i++) {
        length += (size_t)snprintf(out + length, size - length, "%s%s", i ? ", " : "", tables[i]->isa);
    }
}

int mx_cpu_kernels_choose(const char *forced, const struct mx_cpu_kernels **out)
{
    char list[512];
    for (size_t i = TABLES; i-- > 0;) {
        const char *const isa = tables[i]->isa;
        if (forced && *forced && strcmp(forced, isa) != 0) continue;
        if (lacks(tables[i]) == 0) {
            *out = tables[i];
            return 0;
        }
        if (forced && *forced) {
            mx_processor_names(lacks(tables[i]), list, sizeof list);
            return MX_FAIL(MX_ERR_USAGE, "unset MYXTTS_ISA to let the program choose",
                           "MYXTTS_ISA asks for %s kernels, which this processor cannot run: it lacks %s", isa, list);
        }
    }
    tables_list(list, sizeof list);
    if (forced && *forced && TABLES == 1) {
        MX_FAIL(MX_ERR_USAGE, NULL, "MYXTTS_ISA is \"%.32s\", but this build has only %s kernels", forced, list);
        return mx_error_hint(
            "unset MYXTTS_ISA; a program built with 'make build PORTABLE=1' has others to choose from");
    }
    if (forced && *forced) {
        MX_FAIL(MX_ERR_USAGE, NULL, "MYXTTS_ISA is \"%.32s\", but this build has no such kernels", forced);
        return mx_error_hint("unset MYXTTS_ISA, or choose from: %s", list);
    }
    MX_FAIL(MX_ERR_UNSUPPORTED, "build MyXTTS on this machine, or with PORTABLE=1",
            "this processor runs none of the kernels of this build (%s)", list);
    return MX_ERR_UNSUPPORTED;
}

void mx_cpu_kernels_describe(const struct mx_cpu_kernels *kernels, const char *forced, struct mx_device_info *out)
{
    const size_t level = level_of(kernels->isa), most = level_of_processor();
    char list[64];
    tables_list(list, sizeof list);
    snprintf(out->kernels, sizeof out->kernels, "%s, %d×%d tile", levels[level].name, kernels->tile_rows,
             kernels->tile_columns);
    if (forced && *forced)
        snprintf(out->kernels_why, sizeof out->kernels_why, "MYXTTS_ISA asks for %s; the processor has %s",
                 kernels->isa, levels[most].name);
    else if (TABLES > 1)
        snprintf(out->kernels_why, sizeof out->kernels_why, "the processor has %s, and this build has %s",
                 levels[most].name, list);
    else
        snprintf(out->kernels_why, sizeof out->kernels_why, "the processor has %s, %s this build is for %s",
                 levels[most].name, level < most ? "but" : "and", mx_processor_build_target);
}

/* ---- bf16 ---- */

static const char *const bf16_names[] = {
    [MX_CPU_BF16_NONE] = "off", [MX_CPU_BF16_AVX512] = "avx512", [MX_CPU_BF16_AMX] = "amx"};

#if defined(__x86_64__)
/* The kernel switches AMX on for a process that asks (Linux 5.16 and later); its threads have it too. */
static bool tiles_permitted(void)
{
    enum { REQUEST_COMPONENT = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST_COMPONENT, TILE_DATA) == 0;
}

/* The best that processor and operating system have, and what it lacks to be more than that. */
static enum mx_cpu_bf16 bf16_best(const char **lack)
{
    unsigned a, b, c, d;
    enum { AVX512_BF16 = 1u << 5, AMX_BF16 = 1u << 22, AMX_TILE = 1u << 24 };
    *lack = "the processor has no avx512_bf16";
    if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a & AVX512_BF16)) return MX_CPU_BF16_NONE;
    const bool tiles = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & AMX_BF16) && (d & AMX_TILE);
    *lack = tiles ? "the operating system does not permit it (Linux does from 5.16 on)" : "the processor has none";
    return tiles && tiles_permitted() ? MX_CPU_BF16_AMX : MX_CPU_BF16_AVX512;
}
#else
static enum mx_cpu_bf16 bf16_best(const char **lack)
{
    *lack = "the kernels for it are written for x86-64";
    return MX_CPU_BF16_NONE;
}
#endif

int mx_cpu_bf16_choose(const struct mx_cpu_kernels *kernels, const char *forced, enum mx_cpu_bf16 *out, char *lack,
                       size_t size)
{
    const char *reason = "the kernels in use are not for AVX-512";
    enum mx_cpu_bf16 best = kernels->bf16 ? bf16_best(&reason) : MX_CPU_BF16_NONE;
    if (forced && *forced) {
        int wanted = MX_CPU_BF16_NONE;
        while (wanted <= MX_CPU_BF16_AMX && strcmp(forced, bf16_names[wanted]) != 0) wanted++;
        if (wanted > MX_CPU_BF16_AMX)
            return MX_FAIL(MX_ERR_USAGE, "unset MYXTTS_BF16, or choose from: off, avx512, amx",
                           "MYXTTS_BF16 is \"%.32s\", which is not a known way to multiply", forced);
        if (wanted > (int)best)
            return MX_FAIL(MX_ERR_USAGE, "unset MYXTTS_BF16 to let the program choose",
                           "MYXTTS_BF16 asks for %s, which the processor or the operating system does not support",
                           bf16_names[wanted]);
        if (wanted == MX_CPU_BF16_NONE)
            reason = "MYXTTS_BF16 has switched it off";
        else if (wanted < (int)best)
            reason = "MYXTTS_BF16 is avx512";
        best = (enum mx_cpu_bf16)wanted;
    }
    snprintf(lack, size, "%s", best == MX_CPU_BF16_AMX ? "" : reason);
    *out = best;
    return 0;
}

/* AVX512-BF16 alone counts as slow: the fp32 kernels beat it where both were measured (SPEED.md). */
void mx_cpu_bf16_describe(enum mx_cpu_bf16 level, const char *lack, struct mx_device_info *out)
{
    static const char *const by[] = {
        [MX_CPU_BF16_NONE] = "", [MX_CPU_BF16_AVX512] = "AVX512-BF16", [MX_CPU_BF16_AMX] = "AMX"};
    out->caps.bf16_multiply = level != MX_CPU_BF16_NONE;
    out->caps.bf16_fast = level == MX_CPU_BF16_AMX;
    snprintf(out->bf16_by, sizeof out->bf16_by, "%s", by[level]);
    snprintf(out->bf16_missing, sizeof out->bf16_missing, "%s", level == MX_CPU_BF16_NONE ? lack : "");
    out->bf16_slow[0] = '\0';
    if (level == MX_CPU_BF16_AVX512)
        snprintf(out->bf16_slow, sizeof out->bf16_slow, "AMX would be faster, but %s", lack);
}
