/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The layers of the networks as nodes of an ONNX graph, with weights from a table of parameters. Their operations are
 * those of MODEL.md; values between layers are [rows, width], as on our devices.
 *
 * Memory: nothing is kept; table and weights are borrowed and copied into the graph. A failure stays in the graph.
 */
#ifndef MX_EXPORT_LAYERS_H
#define MX_EXPORT_LAYERS_H

#include <stdbool.h>

#include "export/onnx.h"
#include "model/parameters.h"

/* A network on its way into a graph. */
struct mx_export {
    struct mx_onnx *onnx;
    const struct mx_parameters *table;
    const float *weights; /* flat, on the host, laid out by the table */
};

/* The values of parameter PART.NAME.weight on the host; NULL, with the failure in the graph, if there is none. */
const float *mx_export_values(const struct mx_export *e, const char *part, const char *name,
                              const struct mx_parameter **parameter);
/* The parameter as a constant of the graph, in its own shape. */
struct mx_onnx_value mx_export_weight(const struct mx_export *e, const char *part, const char *name);

/* x [rows, in] · PART.NAME.weight [in, out] + PART.NAME.bias, where the table has one. */
struct mx_onnx_value mx_export_linear(const struct mx_export *e, const char *part, const char *name,
                                      struct mx_onnx_value x);
/* The convolution over neighbouring rows with PART.NAME.weight, [taps, in, out] or, if `depthwise`, [taps, width]; and
 * PART.NAME.bias, where the table has one. */
struct mx_onnx_value mx_export_conv(const struct mx_export *e, const char *part, const char *name,
                                    struct mx_onnx_value x, bool depthwise);
/* Layer norm with PART.NAME.weight and PART.NAME.bias. */
struct mx_onnx_value mx_export_norm(const struct mx_export *e, const char *part, const char *name,
                                    struct mx_onnx_value x);
struct mx_onnx_value mx_export_gelu(struct mx_onnx *onnx, struct mx_onnx_value x); /* the tanh form */

/* ---- shapes ---- */
struct mx_onnx_value mx_export_rows(struct mx_onnx *onnx, struct mx_onnx_value x); /* the first dimension, a scalar */
struct mx_onnx_value mx_export_range(struct mx_onnx *onnx, struct mx_onnx_value count); /* 0 … count - 1, int64 */
struct mx_onnx_value mx_export_cast(struct mx_onnx *onnx, struct mx_onnx_value x, enum mx_onnx_type type);
struct mx_onnx_value mx_export_squeeze(struct mx_onnx *onnx, struct mx_onnx_value x, int64_t axis);
struct mx_onnx_value mx_export_unsqueeze(struct mx_onnx *onnx, struct mx_onnx_value x, int64_t axis);
struct mx_onnx_value mx_export_turn(struct mx_onnx *onnx, struct mx_onnx_value x); /* [a, b] → [b, a] */
/* x[from … to) along `axis`. */
struct mx_onnx_value mx_export_slice(struct mx_onnx *onnx, struct mx_onnx_value x, int64_t from, int64_t to,
                                     int64_t axis);
#define MX_EXPORT_END INT64_MAX /* of mx_export_slice */

#endif
