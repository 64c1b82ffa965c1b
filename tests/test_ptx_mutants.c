/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Faults planted in the kernels, one at a time, in the PTX that the real NVRTC makes of them: the PTX machine, or the
 * comparison with the CPU, must find each. Without this a comparison that finds nothing would show nothing. Skipped
 * where there is no NVRTC.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "myxtts/error.h"
#include "ops/case.h"
#include "ops/reference.h"
#include "support/cuda.h"

#define CASES 4

struct mutant {
    const char *what;
    enum mx_op op;
    struct double_mutation change;
};

#define BARRIER(op, entry, nth)                                                                                        \
    {                                                                                                                  \
        "a barrier is missing", MX_OP_##op,                                                                            \
        {                                                                                                              \
            entry, "bar.sync", nth, "bar.sync", ".pragma"                                                              \
        }                                                                                                              \
    }
#define UNWRITTEN(op, entry, nth)                                                                                      \
    {                                                                                                                  \
        "shared memory is not written", MX_OP_##op,                                                                    \
        {                                                                                                              \
            entry, "st.shared.f32", nth, "st.shared.f32", ".pragma"                                                    \
        }                                                                                                              \
    }
#define EDGE(op, entry, with, nth, from, to)                                                                           \
    {                                                                                                                  \
        "off by one", MX_OP_##op,                                                                                      \
        {                                                                                                              \
            entry, with, nth, from, to                                                                                 \
        }                                                                                                              \
    }

static const struct mutant mutants[] = {
    BARRIER(layer_norm_grad, "mx_layer_norm_rows", 1),
    BARRIER(layer_norm_grad, "mx_layer_norm_rows", 2),
    BARRIER(layer_norm_grad, "mx_layer_norm_rows", 7),
    BARRIER(layer_norm_grad, "mx_layer_norm_rows", 8),
    BARRIER(grad_norm, "mx_norm_chunks", 1),
    BARRIER(grad_norm, "mx_norm_chunks", 4),
    BARRIER(attention, "mx_attend", 1),
    BARRIER(attention, "mx_attend", 2),
    BARRIER(attention, "mx_attend", 3),
    BARRIER(attention_grad, "mx_attention_delta", 3),
    BARRIER(attention_grad, "mx_attention_queries", 2),
    BARRIER(mel, "mx_mel_bands", 1),
    BARRIER(align, "mx_align", 1),
    BARRIER(spectrum, "mx_spectrum", 1),
    BARRIER(pitch, "mx_pitch_candidates", 10),
    BARRIER(mel_inverse, "mx_mel_inverse", 1),
    UNWRITTEN(layer_norm_grad, "mx_layer_norm_rows", 1),
    UNWRITTEN(attention, "mx_attend", 16),
    UNWRITTEN(mel_inverse, "mx_mel_inverse", 5),
    UNWRITTEN(spectrum, "mx_spectrum", 1),
    EDGE(scale, "mx_scale", "setp.ge.s64", 1, "setp.ge", "setp.gt"),
    EDGE(residual_add, "mx_residual_add", "setp.ge.s64", 1, "setp.ge", "setp.gt"),
    EDGE(adamw, "mx_adamw", "setp.ge.s64", 1, "setp.ge", "setp.gt"),
    EDGE(fill, "mx_fill", "setp.ge.s64", 1, "setp.ge", "setp.gt"),
    {"another stride", MX_OP_activation, {"mx_activation", "shl.b64", 1, ", 2;", ", 3;"}},
    {"another stride", MX_OP_residual_add, {"mx_residual_add", "shl.b64", 1, ", 2;", ", 1;"}},
    {"a load that is not aligned", MX_OP_activation, {"mx_activation", "ld.global.f32", 1, "]", "+2]"}},
    {"a wide load that is not aligned", MX_OP_rotary_table, {"mx_rotary_table", "ld.global.nc.v2.f64", 1, "]", "+8]"}},
    {"too little shared memory", MX_OP_layer_norm_grad, {"mx_layer_norm_rows", ".shared", 1, "[256]", "[128]"}},
    {"too little shared memory", MX_OP_grad_norm, {"mx_norm_chunks", ".shared", 1, "[512]", "[504]"}},
    {"other lanes than are launched", MX_OP_activation, {"mx_activation", ".maxntid", 1, "256", "128"}},
    {"all groups do the same", MX_OP_layer_norm_grad, {"mx_layer_norm_rows", "%ctaid.x", 1, "%ctaid.x", "0"}},
    {"all lanes do the same", MX_OP_activation, {"mx_activation", "%tid.x", 1, "%tid.x", "0"}},
    {"a barrier that some lanes do not reach",
     MX_OP_layer_norm_grad,
     {"mx_layer_norm_rows", "bar.sync", 3, "bar.sync", "@%p3 bar.sync"}},
    {"another sign", MX_OP_activation, {"mx_activation", "sub.f32", 1, "sub.f32", "add.f32"}},
    {"another rounding", MX_OP_dropout, {"mx_dropout", "setp.lt.u32", 1, "setp.lt", "setp.ge"}},
    {"a wrong constant", MX_OP_adamw, {"mx_adamw", "sqrt.rn.f32", 1, "sqrt.rn.f32", "neg.f32"}},
};
#define MUTANTS (sizeof mutants / sizeof *mutants)

static const struct cuda_double *control;

/* What is found with the first cases of an operation; NULL: nothing. The caller's text. */
static const char *found(enum mx_op op, struct mx_device *device, char *text, size_t bytes)
{
    const char *far = NULL;
    for (uint64_t seed = 0; seed < CASES && !far; seed++) {
        struct mx_op_case c;
        struct mx_op_result expected, result;
        op_case_make(&c, op, seed, (struct mx_op_plan){.size = MX_OP_USUAL});
        op_case_must_run(&c, op_group.device, &expected);
        if (mx_op_case_run(&c, device, &result) < 0) {
            far = mx_error_last()->message;
        } else {
            far = reference_far(&c, &result, 1);
            if (!far) far = mx_op_result_far(&c, &expected, &result);
            mx_op_result_release(&result);
        }
        if (far) snprintf(text, bytes, "%s", far);
        mx_op_result_release(&expected);
        mx_op_case_release(&c);
    }
    if (control->faults()[0] != '\0')
        snprintf(text, bytes, "%.*s", (int)strcspn(control->faults(), "\n"), control->faults());
    return far || control->faults()[0] != '\0' ? text : NULL;
}

static void each_is_found(void **state)
{
    (void)state;
    size_t missed = 0;
    for (size_t i = 0; i < MUTANTS; i++) {
        const struct mutant *const m = &mutants[i];
        struct cuda_pair pair;
        char text[512] = "";
        control->reset();
        control->mutate(&m->change);
        const int rc = cuda_open(&pair, 1);
        const char *what = rc < 0 ? mx_error_last()->message : found(m->op, pair.devices[0], text, sizeof text);
        if (what && control->faults()[0] != '\0') what = control->faults();
        /* A change that could not be made is no proof. */
        const bool made = !strstr(control->faults(), "nothing to change");
        print_message("%-38s %-20s %s\n", m->what, m->change.entry,
                      !made  ? "THE CHANGE COULD NOT BE MADE"
                      : what ? what
                             : "NOT FOUND");
        missed += !made || !what;
        cuda_close(&pair);
        mx_error_clear();
    }
    print_message("%zu faults planted, %zu missed\n", MUTANTS, missed);
    control->mutate(NULL);
    control->reset();
    assert_int_equal(missed, 0);
}

/* The same operations without a change: what is found above is found because of the change. */
static void nothing_else_is_found(void **state)
{
    (void)state;
    struct cuda_pair pair;
    char text[512];
    control->reset();
    assert_int_equal(cuda_open(&pair, 1), 0);
    for (size_t i = 0; i < MUTANTS; i++) {
        const char *const what = found(mutants[i].op, pair.devices[0], text, sizeof text);
        if (what) fail_msg("%s", what);
    }
    assert_true(control->get("executed") > 0);
    assert_int_equal(control->get("executed"), control->get("launches"));
    cuda_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_else_is_found), cmocka_unit_test(each_is_found)};
    setenv("CUDA_DOUBLE_PTX", "1", 1);
    control = cuda_double_use("");
    return cmocka_run_group_tests(tests, op_group_open, op_group_close);
}
