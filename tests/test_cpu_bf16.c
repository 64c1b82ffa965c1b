/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What CPU devices say about bf16: which instructions multiply the numbers, whether that is faster than fp32, and if
 * not, what would be and why it is not used. By level of kernels, without asking the processor; then as the processor
 * at hand and MYXTTS_BF16 have it. A level that this machine has not is left out, and says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/cpu/cpu.h"
#include "myxtts/error.h"
#include "ops/case.h"

#define LACK "the reason of this test"

/* The texts about bf16 belong to the capabilities: none is missing, none contradicts them. */
static void assert_consistent(const struct mx_device_info *info)
{
    assert_true(info->caps.bf16_multiply || !info->caps.bf16_fast);
    assert_int_equal(info->bf16_by[0] != '\0', info->caps.bf16_multiply);
    assert_int_equal(info->bf16_missing[0] != '\0', !info->caps.bf16_multiply);
    assert_int_equal(info->bf16_slow[0] != '\0', info->caps.bf16_multiply && !info->caps.bf16_fast);
}

/* ---- by level ---- */

static void test_levels(void **state)
{
    (void)state;
    static const struct {
        enum mx_cpu_bf16 level;
        bool multiply, fast;
        const char *by, *missing, *slow;
    } levels[] = {{MX_CPU_BF16_NONE, false, false, "", LACK, ""},
                  {MX_CPU_BF16_AVX512, true, false, "AVX512-BF16", "", "AMX would be faster, but " LACK},
                  {MX_CPU_BF16_AMX, true, true, "AMX", "", ""}};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        struct mx_device_info info;
        memset(&info, 'x', sizeof info); /* nothing of it may stay */
        info.caps = (struct mx_device_caps){.bf16_multiply = !levels[i].multiply, .bf16_fast = !levels[i].fast};
        mx_cpu_bf16_describe(levels[i].level, levels[i].fast ? "" : LACK, &info);
        assert_int_equal(info.caps.bf16_multiply, levels[i].multiply);
        assert_int_equal(info.caps.bf16_fast, levels[i].fast);
        assert_string_equal(info.bf16_by, levels[i].by);
        assert_string_equal(info.bf16_missing, levels[i].missing);
        assert_string_equal(info.bf16_slow, levels[i].slow);
        assert_consistent(&info);
    }
}

/* Kernels without bf16 products have none, whatever the processor has; a better level cannot be asked for. */
static void test_kernels_without(void **state)
{
    (void)state;
    const struct mx_cpu_kernels plain = {.isa = "plain", .bf16 = false};
    enum mx_cpu_bf16 level = MX_CPU_BF16_AMX;
    char lack[96];
    assert_int_equal(mx_cpu_bf16_choose(&plain, NULL, &level, lack, sizeof lack), 0);
    assert_int_equal(level, MX_CPU_BF16_NONE);
    assert_string_equal(lack, "the kernels in use are not for AVX-512");
    assert_int_equal(mx_cpu_bf16_choose(&plain, "off", &level, lack, sizeof lack), 0);
    assert_string_equal(lack, "MYXTTS_BF16 has switched it off");
    assert_int_equal(mx_cpu_bf16_choose(&plain, "avx512", &level, lack, sizeof lack), MX_ERR_USAGE);
}

/* ---- on this machine ---- */

/* The description of cpu:0 under MYXTTS_BF16 (NULL: unset); false if this machine has no such level. */
static bool described(const char *forced, struct mx_device_info *out)
{
    struct op_cpu cpu;
    if (forced != NULL)
        setenv("MYXTTS_BF16", forced, 1);
    else
        unsetenv("MYXTTS_BF16");
    const int rc = op_cpu_open(&cpu, 1, 0);
    unsetenv("MYXTTS_BF16");
    if (rc < 0) return false;
    *out = *mx_device_info(cpu.device);
    op_cpu_close(&cpu);
    return true;
}

static void test_devices(void **state)
{
    (void)state;
    struct mx_device_info best, info;
    assert_true(described(NULL, &best));
    assert_consistent(&best);
    assert_true(described("off", &info));
    assert_consistent(&info);
    assert_false(info.caps.bf16_multiply);
    assert_string_equal(info.bf16_missing, "MYXTTS_BF16 has switched it off");
    if (!best.caps.bf16_multiply) {
        printf("bf16 is not tested here: %s\n", best.bf16_missing);
        return;
    }
    assert_true(described("avx512", &info));
    assert_consistent(&info);
    assert_string_equal(info.bf16_by, "AVX512-BF16");
    assert_false(info.caps.bf16_fast);
    if (!best.caps.bf16_fast) {
        assert_string_equal(info.bf16_slow, best.bf16_slow);
        printf("bf16 by AMX is not tested here: %s\n", best.bf16_slow);
        return;
    }
    assert_string_equal(info.bf16_slow, "AMX would be faster, but MYXTTS_BF16 is avx512");
    assert_string_equal(best.bf16_by, "AMX");
    assert_true(described("amx", &info));
    assert_true(info.caps.bf16_fast);
    assert_consistent(&info);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_kernels_without),
        cmocka_unit_test(test_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
