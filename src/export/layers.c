/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Layers as nodes, see layers.h.
 */
#include "export/layers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "myxtts/error.h"

#define NORM_EPSILON 1e-5

/* ---- weights ---- */

/* PART.NAME.KIND */
static const struct mx_parameter *parameter_find(const struct mx_export *e, const char *part, const char *name,
                                                 const char *kind)
{
    char full[2 * MX_PARAMETER_NAME_BYTES]; /* a name that is too long is no parameter's */
    (void)snprintf(full, sizeof full, "%s.%s.%s", part, name, kind);
    return mx_parameters_find(e->table, full);
}

const float *mx_export_values(const struct mx_export *e, const char *part, const char *name,
                              const struct mx_parameter **parameter)
{
    *parameter = parameter_find(e, part, name, "weight");
    if (*parameter != NULL) return e->weights + (*parameter)->at;
    if (e->onnx->graph.failure == 0)
        e->onnx->graph.failure = MX_FAIL(MX_ERR_CONFIG, "use the table that the network was made with",
                                         "export: the network has no parameter '%s.%s.weight'", part, name);
    return NULL;
}

static struct mx_onnx_value constant_of(const struct mx_export *e, const struct mx_parameter *p)
{
    return mx_onnx_tensor(e->onnx, p->name, MX_ONNX_FLOAT, p->shape, p->rank, e->weights + p->at);
}

struct mx_onnx_value mx_export_weight(const struct mx_export *e, const char *part, const char *name)
{
    const struct mx_parameter *p;
    if (mx_export_values(e, part, name, &p) == NULL) return (struct mx_onnx_value){0};
    return constant_of(e, p);
}

/* PART.NAME.bias, or an absent value. */
static struct mx_onnx_value bias_of(const struct mx_export *e, const char *part, const char *name)
{
    const struct mx_parameter *const p = parameter_find(e, part, name, "bias");
    return p != NULL ? constant_of(e, p) : (struct mx_onnx_value){0};
}

/* ---- layers ---- */

struct mx_onnx_value mx_export_linear(const struct mx_export *e, const char *part, const char *name,
                                      struct mx_onnx_value x)
{
    const struct mx_onnx_value y = MX_ONNX(e->onnx, "MatMul", x, mx_export_weight(e, part, name));
    const struct mx_onnx_value bias = bias_of(e, part, name);
    return bias.name[0] != 0 ? MX_ONNX(e->onnx, "Add", y, bias) : y;
}

/* [taps, in, out] → [out, in, taps]; [taps, width] → [width, 1, taps] */
static struct mx_onnx_value kernel_of(const struct mx_export *e, const struct mx_parameter *p, const float *values,
                                      bool depthwise)
{
    const int64_t taps = p->shape[0], in = depthwise ? 1 : p->shape[1], out = p->shape[p->rank - 1];
    struct mx_onnx_value kernel = {0};
    float *const turned = mx_alloc((size_t)p->count, sizeof *turned);
    if (turned == NULL) {
        e->onnx->graph.failure = MX_ERR_NO_MEMORY;
        return kernel;
    }
    for (int64_t t = 0; t < taps; t++)
        for (int64_t i = 0; i < in; i++)
            for (int64_t o = 0; o < out; o++) turned[(o * in + i) * taps + t] = values[(t * in + i) * out + o];
    kernel = mx_onnx_tensor(e->onnx, p->name, MX_ONNX_FLOAT, (const int64_t[]){out, in, taps}, 3, turned);
    mx_free(turned);
    return kernel;
}

struct mx_onnx_value mx_export_conv(const struct mx_export *e, const char *part, const char *name,
                                    struct mx_onnx_value x, bool depthwise)
{
    const struct mx_parameter *p;
    const float *const values = mx_export_values(e, part, name, &p);
    if (values == NULL) return x;
    const int64_t taps = p->shape[0], groups = depthwise ? p->shape[p->rank - 1] : 1;
    const struct mx_onnx_value kernel = kernel_of(e, p, values, depthwise);
    const struct mx_onnx_value bias = bias_of(e, part, name);
    const struct mx_onnx_value columns = mx_export_unsqueeze(e->onnx, mx_export_turn(e->onnx, x), 0);
    const struct mx_onnx_value y = MX_ONNX_WITH(e->onnx, "Conv",
                                                (MX_ONNX_A_INTS("pads", taps / 2, taps / 2),
                                                 MX_ONNX_A_INTS("kernel_shape", taps), MX_ONNX_A_INT("group", groups)),
                                                columns, kernel, bias);
    return mx_export_turn(e->onnx, mx_export_squeeze(e->onnx, y, 0));
}

struct mx_onnx_value mx_export_norm(const struct mx_export *e, const char *part, const char *name,
                                    struct mx_onnx_value x)
{
    const struct mx_onnx_value gain = mx_export_weight(e, part, name), bias = bias_of(e, part, name);
    return MX_ONNX_WITH(e->onnx, "LayerNormalization",
                        (MX_ONNX_A_INT("axis", -1), MX_ONNX_A_REAL("epsilon", NORM_EPSILON)), x, gain, bias);
}

struct mx_onnx_value mx_export_gelu(struct mx_onnx *o, struct mx_onnx_value x)
{
    const struct mx_onnx_value square = MX_ONNX(o, "Mul", x, x);
    const struct mx_onnx_value cube = MX_ONNX(o, "Mul", square, x);
    const struct mx_onnx_value bent = MX_ONNX(o, "Mul", cube, mx_onnx_real(o, 0.044715));
    const struct mx_onnx_value sum = MX_ONNX(o, "Add", x, bent);
    const struct mx_onnx_value inner = MX_ONNX(o, "Mul", sum, mx_onnx_real(o, sqrt(2 / acos(-1))));
    const struct mx_onnx_value share = MX_ONNX(o, "Add", MX_ONNX(o, "Tanh", inner), mx_onnx_real(o, 1));
    const struct mx_onnx_value half = MX_ONNX(o, "Mul", x, mx_onnx_real(o, 0.5));
    return MX_ONNX(o, "Mul", half, share);
}

/* ---- shapes ---- */

struct mx_onnx_value mx_export_rows(struct mx_onnx *o, struct mx_onnx_value x)
{
    return MX_ONNX(o, "Gather", MX_ONNX(o, "Shape", x), mx_onnx_int(o, 0));
}

struct mx_onnx_value mx_export_range(struct mx_onnx *o, struct mx_onnx_value count)
{
    return MX_ONNX(o, "Range", mx_onnx_int(o, 0), count, mx_onnx_int(o, 1));
}

struct mx_onnx_value mx_export_cast(struct mx_onnx *o, struct mx_onnx_value x, enum mx_onnx_type type)
{
    return MX_ONNX_WITH(o, "Cast", (MX_ONNX_A_INT("to", type)), x);
}

struct mx_onnx_value mx_export_squeeze(struct mx_onnx *o, struct mx_onnx_value x, int64_t axis)
{
    return MX_ONNX(o, "Squeeze", x, MX_ONNX_LIST(o, axis));
}

struct mx_onnx_value mx_export_unsqueeze(struct mx_onnx *o, struct mx_onnx_value x, int64_t axis)
{
    return MX_ONNX(o, "Unsqueeze", x, MX_ONNX_LIST(o, axis));
}

struct mx_onnx_value mx_export_turn(struct mx_onnx *o, struct mx_onnx_value x)
{
    return MX_ONNX_WITH(o, "Transpose", (MX_ONNX_A_INTS("perm", 1, 0)), x);
}

struct mx_onnx_value mx_export_slice(struct mx_onnx *o, struct mx_onnx_value x, int64_t from, int64_t to, int64_t axis)
{
    return MX_ONNX(o, "Slice", x, MX_ONNX_LIST(o, from), MX_ONNX_LIST(o, to), MX_ONNX_LIST(o, axis));
}
