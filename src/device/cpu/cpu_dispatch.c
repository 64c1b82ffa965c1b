/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which kernels run: one table per instruction set is compiled in (mx_isa_list.h, written by the build, best last), and
 * the best one that the processor has is taken. MYXTTS_ISA names another, to compare them or to work around one.
 */
#include "base/error.h"
#include "device/cpu/cpu.h"
#include "mx_isa_list.h"

#include <stdio.h>
#include <string.h>

#define X(isa) extern const struct mx_cpu_kernels MX_CPU_TABLE(isa);
MX_ISA_LIST(X)
#undef X

static const struct mx_cpu_kernels *const tables[] = {
#define X(isa) &MX_CPU_TABLE(isa),
    MX_ISA_LIST(X)
#undef X
};
#define TABLES (sizeof tables / sizeof *tables)

/* Whether this processor runs code compiled for `isa`. "native" and "base" are what the whole program needs. */
static bool processor_has(const char *isa)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (strcmp(isa, "avx2") == 0) return avx2;
    if (strcmp(isa, "avx512") == 0) {
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
    }
#endif
    return strcmp(isa, "native") == 0 || strcmp(isa, "base") == 0;
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
    for (size_t i = TABLES; i-- > 0;) {
        const char *const isa = tables[i]->isa;
        if (forced && *forced && strcmp(forced, isa) != 0) continue;
        if (processor_has(isa)) {
            *out = tables[i];
            return 0;
        }
        if (forced && *forced) {
            return MX_FAIL(MX_ERR_USAGE, "unset MYXTTS_ISA to let the program choose",
                           "MYXTTS_ISA asks for %s kernels, which this processor cannot run", isa);
        }
    }
    char list[128];
    tables_list(list, sizeof list);
    if (forced && *forced) {
        MX_FAIL(MX_ERR_USAGE, NULL, "MYXTTS_ISA is \"%.32s\", and this build has no such kernels", forced);
        return mx_error_hint("unset MYXTTS_ISA, or choose from: %s", list);
    }
    MX_FAIL(MX_ERR_UNSUPPORTED, "build MyXTTS on this machine, or with PORTABLE=1",
            "this processor runs none of the kernels of this build (%s)", list);
    return MX_ERR_UNSUPPORTED;
}
