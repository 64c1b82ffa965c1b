/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every operation once more, in double precision and in the plainest loops, written from the comments of
 * myxtts/ops.h alone: what the devices are compared with, and what the gradient test differentiates.
 *
 * Values are one array of doubles per storage of the case, in the storage's own layout (gaps included); integers and
 * bf16 are held exactly. The caller owns them between reference_load and reference_unload and may change them.
 */
#ifndef MX_TESTS_OPS_REFERENCE_H
#define MX_TESTS_OPS_REFERENCE_H

#include "ops/case.h"

/* Takes and fills values[0 … storage_count) from the case. */
void reference_load(const struct mx_op_case *c, double *values[MX_OP_TENSORS_MAX]);
void reference_unload(const struct mx_op_case *c, double *values[MX_OP_TENSORS_MAX]);

/* Computes the operation on the values. Inputs are trusted. */
void reference_run(const struct mx_op_case *c, double *const values[MX_OP_TENSORS_MAX]);

/* NULL if every output of the device is within slack · mx_op_bound of the reference, else where it is not (static text).
 * What is stored as bf16 may be the next bf16 number to any of those. What the reference leaves NaN must be NaN. */
const char *reference_far(const struct mx_op_case *c, const struct mx_op_result *result, double slack);

/* The values of one tensor; NULL when the case has none of that name. */
double *reference_tensor(const struct mx_op_case *c, double *const values[MX_OP_TENSORS_MAX], const char *name);

/* One per operation: an operation without a reference does not link. */
#define OP_SOLO(name) void reference_##name(const struct mx_op_case *c, double *const values[MX_OP_TENSORS_MAX]);
#define OP_PAIR(name) OP_SOLO(name) OP_SOLO(name##_grad)
MX_OP_LIST(OP_PAIR, OP_SOLO)
#undef OP_PAIR
#undef OP_SOLO

#define REFERENCE(name)       void reference_##name(const struct mx_op_case *c, double *const values[MX_OP_TENSORS_MAX])
#define REFERENCE_ARGS(name)  const struct mx_##name##_args *a = (const void *)c->args
#define REFERENCE_TENSOR(who) double *who = reference_tensor(c, values, #who)

double *reference_take(int64_t count); /* zeroed; free with mx_free */
/* Makes every value of a product's operand the nearest bf16 number if the product multiplies those. */
void reference_round(const struct mx_op_case *c, double *const values[MX_OP_TENSORS_MAX], enum mx_precision precision,
                     const char *name);
double reference_act(enum mx_activation act, double x);
double reference_act_slope(enum mx_activation act, double x);
/* Puts row `row` of a product (n values) through the epilogue into c_row; pre and residual (may be NULL) stand at the
 * same place of their tensors. */
void reference_epilogue(const struct mx_epilogue *e, const double *product, int64_t n, const double *bias, double *pre,
                        const double *residual, double *c_row);

#endif
