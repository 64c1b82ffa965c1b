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
    {"mov.b64 %rd4, {%r4, %r5};\nclz.b64 %r7, %rd4;", 0, 0, 0, 64},
    {"mov.b64 %rd4, {%r4, %r5};\nclz.b64 %r7, %rd4;", 0, 1, 0, 31},
    {"min.s32 %r7, %r4, %r5;", 0xffffffff, 1, 0, 0xffffffff},
    {"min.u32 %r7, %r4, %r5;", 0xffffffff, 1, 0, 1},
    {"add.cc.u32 %r8, %r4, %r5;\naddc.u32 %r7, %r6, 0;", 0xffffffff, 1, 5, 6},
    {"sub.cc.u32 %r8, %r4, %r5;\nsubc.u32 %r7, %r6, 0;", 0, 1, 5, 4},
    {"mad.lo.cc.u32 %r8, %r4, %r5, %r6;\nmadc.hi.u32 %r7, %r4, %r5, 0;", 0xffffffff, 2, 2, 2},
    {"cvt.s64.s32 %rd4, %r4;\nshr.u64 %rd4, %rd4, 32;\ncvt.u32.u64 %r7, %rd4;", 0x80000000, 0, 0, 0xffffffff},
    {"mov.b64 %rd4, {%r4, %r5};\nshl.b64 %rd4, %rd4, 4;\nmov.b64 {_, %r7}, %rd4;", 0xf0000000, 1, 0, 0x1f},
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

/* ---- what exists for every type ---- */

static const struct type {
    const char *name, *loaded;
    bool real, is_signed;
    int bits;
    const char *registers; /* its operands are the first three from `first` on, its result is the next */
    int first;
} types[] = {
    {"s32", "u32", false, true, 32, "%r", 4},  {"u32", "u32", false, false, 32, "%r", 4},
    {"s64", "u64", false, true, 64, "%rd", 4}, {"u64", "u64", false, false, 64, "%rd", 4},
    {"f32", "f32", true, true, 32, "%f", 0},   {"f64", "f64", true, true, 64, "%fd", 0},
};
struct sum {
    const char *name;
    int sources;
};
static const struct sum whole_sums[] = {{"add", 2}, {"sub", 2}, {"mul.lo", 2}, {"min", 2}, {"max", 2},
                                        {"div", 2}, {"rem", 2}, {"mad.lo", 3}, {NULL, 0}};
static const struct sum real_sums[] = {{"add", 2},    {"add.rn", 2}, {"sub", 2},     {"sub.rn", 2}, {"mul", 2},
                                       {"mul.rn", 2}, {"div.rn", 2}, {"fma.rn", 3},  {"neg", 1},    {"abs", 1},
                                       {"min", 2},    {"max", 2},    {"sqrt.rn", 1}, {"rcp.rn", 1}, {NULL, 0}};
static const char *const orders[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ", "neu",
                                     "ltu", "leu", "gtu", "geu", "num", "nan", NULL};
#define WHOLE_ORDERS 6 /* the first of them */

/* The result of one lane. */
static uint64_t computed(const struct type *type, const char *instruction, int sources, const uint64_t operands[3])
{
    char body[1024], list[64] = "";
    uint64_t words[4] = {operands[0], operands[1], operands[2], 0};
    int at = 0;
    for (int i = 0; i < sources; i++) {
        at += snprintf(body + at, sizeof body - (size_t)at, "ld.global.%s %s%d, [%%rd1+%d];\n", type->loaded,
                       type->registers, type->first + i, 8 * i);
        snprintf(list + strlen(list), sizeof list - strlen(list), ", %s%d", type->registers, type->first + i);
    }
    if (strncmp(instruction, "setp.", 5) == 0)
        snprintf(body + at, sizeof body - (size_t)at,
                 "%s.%s %%p1%s;\nselp.u32 %%r10, 1, 0, %%p1;\nst.global.u32 [%%rd1+24], %%r10;\n", instruction,
                 type->name, list);
    else
        snprintf(body + at, sizeof body - (size_t)at, "%s.%s %s%d%s;\nst.global.%s [%%rd1+24], %s%d;\n", instruction,
                 type->name, type->registers, type->first + 3, list, type->loaded, type->registers, type->first + 3);
    const char *const error = run(entry_with(ENTRY("1", "@@\n"), body), 1, words, sizeof words, 24, 1, 0);
    if (error[0] != '\0') fail_msg("%s.%s: %s", instruction, type->name, error);
    return words[3];
}

static __int128 extended(const struct type *type, uint64_t word)
{
    return type->bits == 64  ? type->is_signed ? (__int128)(int64_t)word : (__int128)word
           : type->is_signed ? (__int128)(int32_t)word
                             : (__int128)(uint32_t)word;
}

static uint64_t whole_sum(const struct type *type, const char *name, const uint64_t operands[3])
{
    const __int128 a = extended(type, operands[0]), b = extended(type, operands[1]), c = extended(type, operands[2]);
    /* Of two unsigned words the product has 128 bits; the low ones are the same without a sign. */
    const unsigned __int128 product = (unsigned __int128)a * (unsigned __int128)b;
    const __int128 result = strcmp(name, "add") == 0      ? a + b
                            : strcmp(name, "sub") == 0    ? a - b
                            : strcmp(name, "mul.lo") == 0 ? (__int128)product
                            : strcmp(name, "mad.lo") == 0 ? (__int128)(product + (unsigned __int128)c)
                            : strcmp(name, "min") == 0    ? (a < b ? a : b)
                            : strcmp(name, "max") == 0    ? (a > b ? a : b)
                            : strcmp(name, "div") == 0    ? a / b
                                                          : a % b;
    return type->bits == 64 ? (uint64_t)result : (uint32_t)result;
}

static double real_of(const struct type *type, uint64_t word)
{
    float single;
    double value;
    memcpy(&single, &word, sizeof single);
    memcpy(&value, &word, sizeof value);
    return type->bits == 64 ? value : (double)single;
}

/* Sums of float32 are right when those of doubles are rounded once more, except for the fused one. */
static uint64_t real_sum(const struct type *type, const char *name, const uint64_t operands[3])
{
    const double a = real_of(type, operands[0]), b = real_of(type, operands[1]), c = real_of(type, operands[2]);
    const double result = strncmp(name, "add", 3) == 0    ? a + b
                          : strncmp(name, "sub", 3) == 0  ? a - b
                          : strncmp(name, "mul", 3) == 0  ? a * b
                          : strncmp(name, "div", 3) == 0  ? a / b
                          : strcmp(name, "neg") == 0      ? -a
                          : strcmp(name, "abs") == 0      ? fabs(a)
                          : strcmp(name, "min") == 0      ? fmin(a, b)
                          : strcmp(name, "max") == 0      ? fmax(a, b)
                          : strncmp(name, "sqrt", 4) == 0 ? sqrt(a)
                          : strncmp(name, "rcp", 3) == 0  ? 1 / a
                          : type->bits == 64              ? fma(a, b, c)
                                                          : (double)fmaf((float)a, (float)b, (float)c);
    const float single = (float)result;
    uint64_t word = 0;
    memcpy(&word, type->bits == 64 ? (const void *)&result : (const void *)&single, (size_t)type->bits / 8);
    return word;
}

/* `sign` of the first minus the second; unordered: one of them is no number. */
static bool order_holds(const char *name, int sign, bool unordered)
{
    if (strcmp(name, "num") == 0 || strcmp(name, "nan") == 0) return unordered == (name[1] == 'a');
    if (unordered) return name[2] == 'u';
    const bool equal = name[1] == 'e' || name[1] == 'q';
    return name[0] == 'n' ? sign != 0 : sign == 0 ? name[0] == 'e' || equal : name[0] == (sign < 0 ? 'l' : 'g');
}

static void operands_draw(const struct type *type, int round, uint64_t out[3])
{
    static const double reals[][3] = {{1.5, -2.25, 0.1}, {3, 3, -1e-30}, {0.3, NAN, 1}, {7e5, 0.1, -7e4}};
    static const uint64_t wholes[][3] = {{7, 3, 5},
                                         {0xffffffffffffffff, 5, 1},
                                         {0x8000000080000000, 0xffffffffffffffff, 9},
                                         {0x123456789abcdef0, 0x123456789abcdef0, 0xfedcba9876543210}};
    for (int i = 0; i < 3; i++) {
        const float single = (float)reals[round][i];
        out[i] = wholes[round][i];
        if (type->real)
            memcpy(&out[i], type->bits == 64 ? (const void *)&reals[round][i] : (const void *)&single,
                   (size_t)type->bits / 8);
        if (type->bits == 32) out[i] = (uint32_t)out[i];
    }
}
#define ROUNDS 4

static void sums_of_a_type(const struct type *type, int round)
{
    uint64_t operands[3];
    operands_draw(type, round, operands);
    const double a = type->real ? real_of(type, operands[0]) : 0, b = type->real ? real_of(type, operands[1]) : 0;
    const __int128 whole = extended(type, operands[0]) - extended(type, operands[1]);
    const int sign = type->real ? (a > b) - (a < b) : (whole > 0) - (whole < 0);
    const bool unordered = type->real && (isnan(a) || isnan(b));
    for (const struct sum *sum = type->real ? real_sums : whole_sums; sum->name && !unordered; sum++) {
        const uint64_t expected =
            type->real ? real_sum(type, sum->name, operands) : whole_sum(type, sum->name, operands);
        const uint64_t result = computed(type, sum->name, sum->sources, operands);
        if (result != expected)
            fail_msg("%s.%s in round %d: %#llx, should be %#llx", sum->name, type->name, round,
                     (unsigned long long)result, (unsigned long long)expected);
    }
    for (int i = 0; orders[i] && (type->real || i < WHOLE_ORDERS); i++) {
        char name[16];
        snprintf(name, sizeof name, "setp.%s", orders[i]);
        if (computed(type, name, 2, operands) != order_holds(orders[i], sign, unordered))
            fail_msg("%s.%s in round %d", name, type->name, round);
    }
}

static void every_type_computes(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int round = 0; round < ROUNDS; round++) sums_of_a_type(&types[t], round);
}

/* Approximations err as much as they may, in the direction that is asked for: two units in the last place, on either
 * side of a power of two, too, and not where the result is known exactly or is flushed. */
static void approximations_err(void **state)
{
    (void)state;
    static const struct {
        float of;
        uint32_t results[3]; /* with the bounds -1, 0, 1 */
    } cases[] = {
        {0.5f, {0x3fb504f1, 0x3fb504f3, 0x3fb504f5}},
        {3, {0x40fffffe, 0x41000000, 0x41000002}},
        {0, {0x3f800000, 0x3f800000, 0x3f800000}},
        {-0x1p-140f, {0x3f800000, 0x3f800000, 0x3f800000}},
        {-126, {0, 0x00800000, 0x00800002}},
        {200, {0x7f800000, 0x7f800000, 0x7f800000}},
        {-INFINITY, {0, 0, 0}},
    };
    const char *const text = ENTRY("32", "ld.global.f32 %f0, [%rd3];\nex2.approx.ftz.f32 %f1, %f0;\n"
                                         "st.global.f32 [%rd3], %f1;\n");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int bound = -1; bound <= 1; bound++) {
            uint32_t words[LANES];
            for (int i = 0; i < LANES; i++) memcpy(&words[i], &cases[c].of, sizeof words[i]);
            assert_string_equal(run(text, 1, words, sizeof words, sizeof words, 1, bound), "");
            if (words[7] != cases[c].results[bound + 1])
                fail_msg("2^%g with bound %d is %#x, should be %#x", (double)cases[c].of, bound, words[7],
                         cases[c].results[bound + 1]);
        }
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
        cmocka_unit_test(instructions_compute), cmocka_unit_test(every_type_computes),
        cmocka_unit_test(approximations_err),   cmocka_unit_test(lanes_part_and_meet),
        cmocka_unit_test(functions_are_called), cmocka_unit_test(faults_are_found),
        cmocka_unit_test(groups_race),          cmocka_unit_test(swaps_do_not_race),
        cmocka_unit_test(cards_have_limits),
    };
    unsetenv("CUDA_DOUBLE_PTX");
    control = cuda_double_use("");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
