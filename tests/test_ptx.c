/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The PTX machine itself (tests/double/ptx.h): what instructions compute where it is easy to be wrong, lanes that part
 * and meet, functions, and everything that it must find. Programs are written here; no NVRTC is needed.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cuda.h"

#define LANES 32
#define HEAD  ".version 8.0\n.target sm_80\n.address_size 64\n"
#define ENTRY(lanes, body)                                                                                             \
    HEAD ".visible .entry t(\n.param .u64 t_param_0\n)\n.maxntid " lanes ", 1, 1\n{\n"                                 \
         ".reg .pred %p<4>;\n.reg .b16 %h<4>;\n.reg .b32 %r<12>;\n.reg .f32 %f<6>;\n.reg .b64 %rd<8>;\n"               \
         ".reg .f64 %fd<4>;\n"                                                                                         \
         "ld.param.u64 %rd1, [t_param_0];\ncvta.to.global.u64 %rd1, %rd1;\nmov.u32 %r1, %tid.x;\n"                     \
         "mov.u32 %r2, %ctaid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n" body "ret;\n}\n"
/* The line of the first instruction of `body` in the text. */
#define BODY_LINE 21

static const struct cuda_double *control;

/* Runs a program on `words`, of which the first `written` bytes count as written; the message. */
static const char *run(const char *text, unsigned groups, void *words, size_t bytes, size_t written, unsigned long seed,
                       int bound)
{
    static char error[512];
    const struct double_program program = {.text = text,
                                           .entry = "t",
                                           .groups = groups,
                                           .memory = words,
                                           .bytes = bytes,
                                           .written = written,
                                           .seed = seed,
                                           .bound = bound};
    const int rc = control->ptx_run(&program, error, sizeof error);
    if ((rc == 0) != (error[0] == '\0')) fail_msg("%d with '%s'", rc, error);
    return error;
}

/* An entry with "@@" replaced by these instructions. */
static const char *entry_with(const char *whole, const char *body)
{
    static char text[4096];
    const char *const place = strstr(whole, "@@\n");
    snprintf(text, sizeof text, "%.*s%s%s", (int)(place - whole), whole, body, place + 3);
    return text;
}

/* ---- what instructions compute ---- */

#define ONE_NAN 0x7fffffffu

static const struct {
    const char *body; /* from %r4, %r5, %r6 (and as floats %f0, %f1, %f2) to %r7 */
    uint32_t a, b, c, result;
} sums[] = {
    {"add.s32 %r7, %r4, %r5;", 0x7fffffff, 1, 0, 0x80000000},
    {"mul.lo.s32 %r7, %r4, %r5;", 0x10001, 0x10001, 0, 0x20001},
    {"mul.hi.u32 %r7, %r4, %r5;", 0xffffffff, 0xffffffff, 0, 0xfffffffe},
    {"div.s32 %r7, %r4, %r5;", 0x80000000, 0xffffffff, 0, 0x80000000},
    {"div.s32 %r7, %r4, %r5;", (uint32_t)-7, 2, 0, (uint32_t)-3},
    {"rem.s32 %r7, %r4, %r5;", (uint32_t)-7, 2, 0, (uint32_t)-1},
    {"div.u32 %r7, %r4, %r5;", 0xffffffff, 0xffffffff, 0, 1},
    {"shl.b32 %r7, %r4, %r5;", 1, 32, 0, 0},
    {"shr.u32 %r7, %r4, %r5;", 0x80000000, 32, 0, 0},
    {"shr.s32 %r7, %r4, %r5;", 0x80000000, 99, 0, 0xffffffff},
    {"shf.l.wrap.b32 %r7, %r4, %r5, %r6;", 0x80000000, 1, 33, 3},
    {"clz.b32 %r7, %r4;", 0, 0, 0, 32},
    {"min.s32 %r7, %r4, %r5;", 0xffffffff, 1, 0, 0xffffffff},
    {"min.u32 %r7, %r4, %r5;", 0xffffffff, 1, 0, 1},
    {"add.cc.u32 %r8, %r4, %r5;\naddc.u32 %r7, %r6, 0;", 0xffffffff, 1, 5, 6},
    {"sub.cc.u32 %r8, %r4, %r5;\nsubc.u32 %r7, %r6, 0;", 0, 1, 5, 4},
    {"mad.lo.cc.u32 %r8, %r4, %r5, %r6;\nmadc.hi.u32 %r7, %r4, %r5, 0;", 0xffffffff, 2, 2, 2},
    {"cvt.s64.s32 %rd4, %r4;\nshr.u64 %rd4, %rd4, 32;\ncvt.u32.u64 %r7, %rd4;", 0x80000000, 0, 0, 0xffffffff},
    {"mov.b64 %rd4, {%r4, %r5};\nshl.b64 %rd4, %rd4, 4;\nmov.b64 {_, %r7}, %rd4;", 0xf0000000, 1, 0, 0x1f},
    {"bfe.u32 %r7, %r4, %r5, %r6;", 0xabcd1234, 8, 8, 0x12},
    {"setp.lt.s32 %p1, %r4, %r5;\nselp.b32 %r7, 1, 2, %p1;", 0xffffffff, 0, 0, 1},
    {"setp.lt.u32 %p1, %r4, %r5;\nselp.b32 %r7, 1, 2, %p1;", 0xffffffff, 0, 0, 2},
    /* Fused: the product is not rounded. */
    {"fma.rn.f32 %f3, %f0, %f1, %f2;\nmov.b32 %r7, %f3;", 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000},
    {"mul.f32 %f3, %f0, %f1;\nadd.f32 %f3, %f3, %f2;\nmov.b32 %r7, %f3;", 0x3f800001, 0x3f800001, 0xbf800002, 0},
    {"fma.rm.f32 %f3, %f0, %f1, %f2;\nmov.b32 %r7, %f3;", 0x3f800000, 0x33000000, 0x3f800000, 0x3f800000},
    {"fma.rm.f32 %f3, %f0, %f1, %f2;\nmov.b32 %r7, %f3;", 0xbf800000, 0x32000000, 0x3f800000, 0x3f7fffff},
    {"add.rz.f32 %f3, %f0, %f1;\nmov.b32 %r7, %f3;", 0x3f800000, 0x33ffffff, 0, 0x3f800000},
    {"add.f32 %f3, %f0, %f1;\nmov.b32 %r7, %f3;", 0x3f800000, 0x33ffffff, 0, 0x3f800001},
    {"add.f32 %f3, %f0, %f1;\nmov.b32 %r7, %f3;", 1, 1, 0, 2}, /* subnormal */
    {"add.f32 %f3, %f0, %f1;\nmov.b32 %r7, %f3;", 0x7f800000, 0xff800000, 0, ONE_NAN},
    {"max.f32 %f3, %f0, %f1;\nmov.b32 %r7, %f3;", 0x80000000, 0, 0, 0},
    {"max.f32 %f3, %f0, %f1;\nmov.b32 %r7, %f3;", 0x7fc00000, 0x40000000, 0, 0x40000000},
    {"min.f32 %f3, %f0, %f1;\nmov.b32 %r7, %f3;", 0, 0x80000000, 0, 0x80000000},
    {"setp.ltu.f32 %p1, %f0, %f1;\nselp.b32 %r7, 1, 2, %p1;", 0x7fc00000, 0, 0, 1},
    {"setp.lt.f32 %p1, %f0, %f1;\nselp.b32 %r7, 1, 2, %p1;", 0x7fc00000, 0, 0, 2},
    {"setp.ne.f32 %p1, %f0, %f1;\nselp.b32 %r7, 1, 2, %p1;", 0x7fc00000, 0, 0, 2},
    {"setp.nan.f32 %p1, %f0, %f1;\nselp.b32 %r7, 1, 2, %p1;", 0x7fc00000, 0, 0, 1},
    {"cvt.sat.f32.f32 %f3, %f0;\nmov.b32 %r7, %f3;", 0x7fc00000, 0, 0, 0},
    {"cvt.sat.f32.f32 %f3, %f0;\nmov.b32 %r7, %f3;", 0x40000000, 0, 0, 0x3f800000},
    {"cvt.rzi.s32.f32 %r7, %f0;", 0x4f800000, 0, 0, 0x7fffffff},                 /* 2^32 */
    {"cvt.rzi.s32.f32 %r7, %f0;", 0xbfc00000, 0, 0, 0xffffffff},                 /* -1.5 */
    {"cvt.f64.f32 %fd1, %f0;\ncvt.rni.s32.f64 %r7, %fd1;", 0x40200000, 0, 0, 2}, /* 2.5 */
    {"cvt.f64.f32 %fd1, %f0;\ncvt.rn.f32.f64 %f3, %fd1;\nmov.b32 %r7, %f3;", 0x00000001, 0, 0, 1},
    {"ex2.approx.ftz.f32 %f3, %f0;\nmov.b32 %r7, %f3;", 0x40400000, 0, 0, 0x41000000},
    {"ex2.approx.ftz.f32 %f3, %f0;\nmov.b32 %r7, %f3;", 0xc3020000, 0, 0, 0}, /* 2^-130 */
    {"sqrt.rn.f32 %f3, %f0;\nmov.b32 %r7, %f3;", 0xbf800000, 0, 0, ONE_NAN},
    {"@!%p0 mov.u32 %r7, %r4;\n@%p0 mov.u32 %r7, %r5;", 1, 2, 0, 1},
};

static void instructions_compute(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        uint32_t words[3 + LANES] = {sums[i].a, sums[i].b, sums[i].c};
        const char *const text = entry_with(
            ENTRY("32", "ld.global.u32 %r4, [%rd1];\nld.global.u32 %r5, [%rd1+4];\nld.global.u32 %r6, [%rd1+8];\n"
                        "mov.b32 %f0, %r4;\nmov.b32 %f1, %r5;\nmov.b32 %f2, %r6;\nsetp.ne.s32 %p0, %r4, %r4;\n"
                        "@@\nst.global.u32 [%rd3+12], %r7;\n"),
            sums[i].body);
        const char *const error = run(text, 1, words, sizeof words, 12, 1, 0);
        if (error[0] != '\0') fail_msg("%s: %s", sums[i].body, error);
        for (int lane = 0; lane < LANES; lane++)
            if (words[3 + lane] != sums[i].result)
                fail_msg("%s: %#x in lane %d, should be %#x", sums[i].body, words[3 + lane], lane, sums[i].result);
    }
}

/* Approximations err as much as they may, in the direction that is asked for. */
static void approximations_err(void **state)
{
    (void)state;
    const char *const text = ENTRY("32", "ld.global.f32 %f0, [%rd3];\nex2.approx.ftz.f32 %f1, %f0;\n"
                                         "st.global.f32 [%rd3], %f1;\n");
    float results[3];
    for (int bound = -1; bound <= 1; bound++) {
        float words[LANES];
        for (int i = 0; i < LANES; i++) words[i] = 0.3f;
        assert_string_equal(run(text, 1, words, sizeof words, sizeof words, 1, bound), "");
        results[bound + 1] = words[7];
    }
    assert_true(results[0] < results[1] && results[1] < results[2]);
    assert_true(results[2] / results[0] - 1 < 0x1p-20f);
}

/* ---- lanes ---- */

/* Lane i adds 0 + 1 + … + i in a loop of its own, half of them by another way; group by group, in any order. */
static void lanes_part_and_meet(void **state)
{
    (void)state;
    const char *const text =
        ENTRY("32", "mov.u32 %r3, 0;\nmov.u32 %r4, 0;\nand.b32 %r5, %r1, 1;\nsetp.eq.s32 %p1, %r5, 0;\n"
                    "$L_loop:\nadd.s32 %r3, %r3, %r4;\n@%p1 bra $L_even;\nadd.s32 %r4, %r4, 1;\n"
                    "bra.uni $L_next;\n$L_even:\nadd.s32 %r4, %r4, 1;\n$L_next:\n"
                    "setp.le.s32 %p2, %r4, %r1;\n@%p2 bra $L_loop;\nbar.sync 0;\n"
                    "mul.wide.u32 %rd4, %r2, 128;\nadd.s64 %rd4, %rd4, %rd3;\n"
                    "st.global.u32 [%rd4], %r3;\n");
    for (unsigned long seed = 0; seed < 20; seed++) {
        uint32_t words[3 * LANES];
        assert_string_equal(run(text, 3, words, sizeof words, 0, seed, 0), "");
        for (int i = 0; i < 3 * LANES; i++) assert_int_equal(words[i], i % LANES * (i % LANES + 1) / 2);
    }
}

static void functions_are_called(void **state)
{
    (void)state;
    const char *const text =
        HEAD ".func (.param .b32 func_retval0) twice\n(\n.param .b32 twice_param_0\n)\n;\n"
             ".visible .entry t(.param .u64 t_param_0)\n.maxntid 32\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n"
             "ld.param.u64 %rd1, [t_param_0];\nmov.u32 %r1, %tid.x;\n"
             "{\n.param .b32 param0;\nst.param.b32 [param0+0], %r1;\n.param .b32 retval0;\n"
             "call.uni (retval0),\ntwice,\n(\nparam0\n);\nld.param.b32 %r2, [retval0+0];\n}\n"
             "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r2;\nret;\n}\n"
             ".func (.param .b32 func_retval0) twice(\n.param .b32 twice_param_0\n)\n{\n.reg .pred %p<2>;\n.reg .b32 "
             "%r<4>;\n"
             "ld.param.u32 %r1, [twice_param_0];\nsetp.lt.s32 %p1, %r1, 10;\n@%p1 bra $L_small;\n"
             "st.param.b32 [func_retval0+0], %r1;\nret;\n$L_small:\nadd.s32 %r2, %r1, %r1;\n"
             "st.param.b32 [func_retval0+0], %r2;\nret;\n}\n";
    uint32_t words[LANES];
    assert_string_equal(run(text, 1, words, sizeof words, 0, 1, 0), "");
    for (uint32_t i = 0; i < LANES; i++) assert_int_equal(words[i], i < 10 ? 2 * i : i);
}

/* ---- what it finds ---- */

#define SHARED ".shared .align 4 .b8 s[128];\nmov.u64 %rd4, s;\nadd.s64 %rd5, %rd4, %rd2;\n"

static const struct {
    const char *body, *found;
    int line; /* of the body, from 1; 0: not told */
} faults[] = {
    {"st.global.u32 [%rd3+4], %r1;\n", "is not in the memory of the launch", 1},
    {"ld.global.u32 %r3, [%rd1+-4];\n", "is not in the memory of the launch", 1},
    {"ld.global.u32 %r3, [%rd1+2];\n", "is not aligned to 4 bytes", 1},
    {"ld.global.v2.u32 {%r3, %r4}, [%rd1+4];\n", "is not aligned to 8 bytes", 1},
    {"mov.u32 %r3, 1;\nld.global.u32 %r3, [%rd1+64];\n", "reads what was never written", 2},
    {"st.global.u32 [%rd1], %r1;\n", "a race: writes what another lane writes", 1},
    {"st.global.u32 [%rd3], %r1;\nld.global.u32 %r3, [%rd1];\n", "a race: reads what another lane writes", 2},
    {"ld.global.u32 %r3, [%rd1];\nst.global.u32 [%rd3], %r1;\n", "a race: writes what another lane reads", 2},
    {SHARED "st.shared.u32 [%rd5], %r1;\nld.shared.u32 %r3, [%rd4];\n", "a race: reads what another lane writes", 5},
    {SHARED "ld.shared.u32 %r3, [%rd4];\n", "reads what was never written", 4},
    {SHARED "st.shared.u32 [%rd5+4], %r1;\n", "is outside of the 128 bytes of shared memory", 4},
    {"setp.lt.u32 %p1, %r1, 16;\n@%p1 bra $L_one;\nbar.sync 0;\n$L_one:\n",
     "a barrier that 16 of 32 lanes do not reach", 3},
    {"setp.lt.u32 %p1, %r1, 16;\n@%p1 bra $L_one;\nbar.sync 0;\nbra $L_two;\n$L_one:\nbar.sync 0;\n$L_two:\n",
     "a barrier, while lane", 0},
    {"div.s32 %r3, %r1, %r2;\n", "division by zero", 1},
    {"frobnicate.u32 %r3, %r1;\n", "unknown instruction 'frobnicate.u32'", 1},
    {"add.s32 %r3, %r1, %rd1;\n", "operands that 'add.s32' does not have", 1},
    {"add.s32 %r99, %r1, %r2;\n", "unknown register '%r99'", 1},
    {"bra $L_nowhere;\n", "label '$L_nowhere' is not there", 0},
    {".shared .align 4 .b8 s[49153];\n", "bytes of shared memory", 0},
    {"ld.global.u8 %r3, [%rd1];\n", "unknown access", 1},
    {"bar.sync 1;\n", "a barrier of another kind", 1},
    {".texref t;\n", "unknown directive", 1},
};

static void faults_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char line[32];
        uint32_t words[LANES] = {0};
        const char *const text = entry_with(ENTRY("32", "@@\n"), faults[i].body);
        const char *const error = run(text, 1, words, sizeof words, 64, i, 0);
        if (!strstr(error, faults[i].found))
            fail_msg("%sfound: '%s', not '%s'", faults[i].body, error, faults[i].found);
        snprintf(line, sizeof line, "line %d", BODY_LINE + faults[i].line - 1);
        if (faults[i].line > 0 && !strstr(error, line))
            fail_msg("%sfound: '%s', not in %s", faults[i].body, error, line);
    }
}

/* Groups are not ordered, and no barrier orders them. */
static void groups_race(void **state)
{
    (void)state;
    uint32_t words[LANES];
    const char *const text = ENTRY("32", "bar.sync 0;\nst.global.u32 [%rd3], %r1;\n");
    assert_string_equal(run(text, 1, words, sizeof words, 0, 1, 0), "");
    assert_non_null(strstr(run(text, 2, words, sizeof words, 0, 1, 0), "a race: writes what another group writes"));
}

/* A swap races with plain accesses and not with swaps. */
static void swaps_do_not_race(void **state)
{
    (void)state;
    uint32_t words[LANES] = {0};
    const char *const swap = ENTRY("32", "add.s32 %r3, %r1, 1;\natom.global.cas.b32 %r4, [%rd1], 0, %r3;\n");
    assert_string_equal(run(swap, 3, words, sizeof words, sizeof words, 1, 0), "");
    assert_true(words[0] >= 1 && words[0] <= LANES);
    const char *const plain = ENTRY("32", "add.s32 %r3, %r1, 1;\natom.global.cas.b32 %r4, [%rd1], 0, %r3;\n"
                                          "ld.global.u32 %r5, [%rd1];\n");
    assert_non_null(strstr(run(plain, 1, words, sizeof words, sizeof words, 1, 0), "a race"));
}

static void cards_have_limits(void **state)
{
    (void)state;
    uint32_t words[LANES];
    assert_non_null(strstr(run(ENTRY("1025", ""), 1, words, sizeof words, 0, 1, 0), "1025 lanes"));
    assert_non_null(strstr(run(HEAD ".visible .entry t()\n{\nret;\n}\n", 1, words, sizeof words, 0, 1, 0), "0 lanes"));
    assert_non_null(strstr(run("", 1, words, sizeof words, 0, 1, 0), "no entry"));
    assert_non_null(strstr(run(HEAD ".visible .entry t(", 1, words, sizeof words, 0, 1, 0), "line"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_compute), cmocka_unit_test(approximations_err),
        cmocka_unit_test(lanes_part_and_meet),  cmocka_unit_test(functions_are_called),
        cmocka_unit_test(faults_are_found),     cmocka_unit_test(groups_race),
        cmocka_unit_test(swaps_do_not_race),    cmocka_unit_test(cards_have_limits),
    };
    unsetenv("CUDA_DOUBLE_PTX");
    control = cuda_double_use("");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
