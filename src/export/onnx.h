/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Builds a network as an ONNX file (onnx.ai; opset 17, IR version 8): nodes that compute values from values, constants
 * ("initialisers") that lie in the file, named inputs and outputs, and metadata.
 *
 * Messages and fields that are written (base/format/protobuf.h):
 *
 *     ModelProto       1 ir_version, 2 producer_name, 3 producer_version, 7 graph, 8 opset_import, 14 metadata_props
 *     GraphProto       1 node, 2 name, 5 initializer, 11 input, 12 output
 *     NodeProto        1 input, 2 output, 4 op_type, 5 attribute
 *     AttributeProto   1 name, 2 f, 3 i, 4 s, 6 g, 8 ints, 20 type (1 float, 2 int, 3 string, 5 graph,
 *                      7 ints)
 *     TensorProto      1 dims, 2 data_type, 8 name, 9 raw_data (little-endian)
 *     ValueInfoProto   1 name, 2 type {1 tensor_type {1 elem_type, 2 shape {1 dim {1 dim_value | 2 dim_param}}}}
 *     OperatorSetIdProto   2 version;   StringStringEntryProto   1 key, 2 value
 *
 * A graph is built in the order of its calls: a value exists from the call that returns it. Values are copied freely;
 * they are only names.
 *
 * Memory: a graph owns its bytes; {0} is empty and valid. Constants are copied. A failure is kept in the graph and makes
 * all further calls do nothing, so a builder checks once, in mx_onnx_write. One owner, one thread at a time.
 */
#ifndef MX_EXPORT_ONNX_H
#define MX_EXPORT_ONNX_H

#include "base/format/protobuf.h"

#define MX_ONNX_OPSET          17
#define MX_ONNX_IR_VERSION     8
#define MX_ONNX_NAME_BYTES     64
#define MX_ONNX_INPUTS_MAX     6
#define MX_ONNX_OUTPUTS_MAX    3
#define MX_ONNX_ATTRIBUTES_MAX 6
#define MX_ONNX_RANK_MAX       4

/* The numbers are those of TensorProto.DataType. */
enum mx_onnx_type {
    MX_ONNX_FLOAT = 1,
    MX_ONNX_INT64 = 7,
    MX_ONNX_BOOL = 9,
    MX_ONNX_DOUBLE = 11,
};

struct mx_onnx {
    struct mx_protobuf graph;    /* fields of the GraphProto */
    struct mx_protobuf metadata; /* fields of the ModelProto */
    int64_t values;              /* named so far */
    const char *prefix;          /* of these names; NULL: "v". A graph inside a node needs its own */
};

void mx_onnx_release(struct mx_onnx *onnx);

struct mx_onnx_value {
    char name[MX_ONNX_NAME_BYTES]; /* "": absent */
};

/* ---- constants ---- */

/* A tensor of `rank` dimensions, 0 to MX_ONNX_RANK_MAX. `name` NULL: it gets the next number. */
struct mx_onnx_value mx_onnx_tensor(struct mx_onnx *onnx, const char *name, enum mx_onnx_type type,
                                    const int64_t *shape, int rank, const void *data);
struct mx_onnx_value mx_onnx_int(struct mx_onnx *onnx, int64_t value);
struct mx_onnx_value mx_onnx_real(struct mx_onnx *onnx, double value);   /* float */
struct mx_onnx_value mx_onnx_double(struct mx_onnx *onnx, double value); /* double */
/* A list of whole numbers: MX_ONNX_LIST(onnx, 0, -1). */
struct mx_onnx_value mx_onnx_list(struct mx_onnx *onnx, const int64_t *values, int count);
#define MX_ONNX_LIST(onnx, ...)                                                                                        \
    mx_onnx_list((onnx), (const int64_t[]){__VA_ARGS__}, (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)))

/* ---- nodes ---- */

struct mx_onnx_attribute {
    const char *name; /* NULL: none */
    enum mx_onnx_kind {
        MX_ONNX_KIND_FLOAT = 1,
        MX_ONNX_KIND_INT = 2,
        MX_ONNX_KIND_TEXT = 3,
        MX_ONNX_KIND_GRAPH = 5,
        MX_ONNX_KIND_INTS = 7
    } kind;
    double real;
    int64_t number;
    const int64_t *numbers;
    int count; /* of numbers */
    const char *text;
    const struct mx_onnx *graph; /* borrowed until the node is added */
};

#define MX_ONNX_A_REAL(key, value)                                                                                     \
    {                                                                                                                  \
        .name = (key), .kind = MX_ONNX_KIND_FLOAT, .real = (value)                                                     \
    }
#define MX_ONNX_A_INT(key, value)                                                                                      \
    {                                                                                                                  \
        .name = (key), .kind = MX_ONNX_KIND_INT, .number = (value)                                                     \
    }
#define MX_ONNX_A_TEXT(key, value)                                                                                     \
    {                                                                                                                  \
        .name = (key), .kind = MX_ONNX_KIND_TEXT, .text = (value)                                                      \
    }
#define MX_ONNX_A_GRAPH(key, body)                                                                                     \
    {                                                                                                                  \
        .name = (key), .kind = MX_ONNX_KIND_GRAPH, .graph = (body)                                                     \
    }
#define MX_ONNX_A_INTS(key, ...)                                                                                       \
    {                                                                                                                  \
        .name = (key), .kind = MX_ONNX_KIND_INTS, .numbers = (const int64_t[]){__VA_ARGS__},                           \
        .count = (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t))                                               \
    }

struct mx_onnx_node {
    const char *type;                            /* "MatMul" */
    struct mx_onnx_value in[MX_ONNX_INPUTS_MAX]; /* absent ones at the end are left out */
    struct mx_onnx_attribute attributes[MX_ONNX_ATTRIBUTES_MAX];
};

/* Adds the node and returns its results in out[outputs]. */
void mx_onnx_add(struct mx_onnx *onnx, const struct mx_onnx_node *node, struct mx_onnx_value *out, int outputs);
/* The same for a node with one result. */
struct mx_onnx_value mx_onnx_call(struct mx_onnx *onnx, const struct mx_onnx_node *node);
/* A node of one result without attributes: MX_ONNX(onnx, "Add", a, b). */
#define MX_ONNX(onnx, kind, ...) mx_onnx_call((onnx), &(struct mx_onnx_node){.type = (kind), .in = {__VA_ARGS__}})
/* With attributes: MX_ONNX_WITH(onnx, "Transpose", (MX_ONNX_A_INTS("perm", 1, 0)), x). */
#define MX_ONNX_WITH(onnx, kind, list, ...)                                                                            \
    mx_onnx_call((onnx), &(struct mx_onnx_node){.type = (kind), .in = {__VA_ARGS__}, .attributes = {MX_ONNX_OPEN list}})
#define MX_ONNX_OPEN(...) __VA_ARGS__

/* ---- the ends ---- */

/* A dimension of an input or an output: a number, or a name if it is only known at run time. */
struct mx_onnx_dimension {
    const char *name; /* NULL: the number */
    int64_t number;
};

struct mx_onnx_value mx_onnx_input(struct mx_onnx *onnx, const char *name, enum mx_onnx_type type,
                                   const struct mx_onnx_dimension *shape, int rank);
/* The value becomes the output `name`. */
void mx_onnx_output(struct mx_onnx *onnx, struct mx_onnx_value value, const char *name, enum mx_onnx_type type,
                    const struct mx_onnx_dimension *shape, int rank);
void mx_onnx_metadata(struct mx_onnx *onnx, const char *key, const char *value);

/* Writes the model to `path` (base/file.h: a reader sees the old file or the new one). Returns the first failure of the
 * building, MX_ERR_UNSUPPORTED for a model that is too large for the format (2 GiB), or an error of the file. */
int mx_onnx_write(const struct mx_onnx *onnx, const char *path);

#endif
