/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ONNX files, see onnx.h. The graph is the last large field, prefixed with its length: the file is
 * written from pieces, so that a large graph is in memory once.
 */
#include "export/onnx.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "myxtts/error.h"

#define FILE_BYTES_MAX INT32_MAX /* of protocol buffers */

/* Fields, by their messages. */
enum model_field {
    MODEL_IR = 1,
    MODEL_PRODUCER = 2,
    MODEL_VERSION = 3,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    MODEL_METADATA = 14
};
enum graph_field { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALISER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum node_field { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_TYPE = 4, NODE_ATTRIBUTE = 5 };
enum attribute_field {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_F = 2,
    ATTRIBUTE_I = 3,
    ATTRIBUTE_S = 4,
    ATTRIBUTE_G = 6,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20
};
enum tensor_field { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9 };

void mx_onnx_release(struct mx_onnx *onnx)
{
    mx_protobuf_release(&onnx->graph);
    mx_protobuf_release(&onnx->metadata);
    *onnx = (struct mx_onnx){0};
}

static struct mx_onnx_value value_named(const char *name)
{
    struct mx_onnx_value value;
    (void)snprintf(value.name, sizeof value.name, "%s", name);
    return value;
}

static struct mx_onnx_value value_next(struct mx_onnx *onnx)
{
    struct mx_onnx_value value;
    (void)snprintf(value.name, sizeof value.name, "%s%" PRId64, onnx->prefix != NULL ? onnx->prefix : "v",
                   onnx->values++);
    return value;
}

/* ---- constants ---- */

static size_t type_bytes(enum mx_onnx_type type)
{
    switch (type) {
    case MX_ONNX_FLOAT:
        return 4;
    case MX_ONNX_BOOL:
        return 1;
    case MX_ONNX_INT64:
    case MX_ONNX_DOUBLE:
        break;
    }
    return 8;
}

struct mx_onnx_value mx_onnx_tensor(struct mx_onnx *onnx, const char *name, enum mx_onnx_type type,
                                    const int64_t *shape, int rank, const void *data)
{
    struct mx_protobuf *const out = &onnx->graph;
    const struct mx_onnx_value value = name != NULL ? value_named(name) : value_next(onnx);
    size_t bytes = type_bytes(type);
    for (int i = 0; i < rank; i++) bytes *= (size_t)shape[i];
    const size_t tensor = mx_protobuf_begin(out, GRAPH_INITIALISER);
    for (int i = 0; i < rank; i++) mx_protobuf_int(out, TENSOR_DIMS, shape[i]);
    mx_protobuf_int(out, TENSOR_TYPE, type);
    mx_protobuf_string(out, TENSOR_NAME, value.name);
    mx_protobuf_bytes(out, TENSOR_RAW, data, bytes);
    mx_protobuf_end(out, tensor);
    return value;
}

struct mx_onnx_value mx_onnx_int(struct mx_onnx *onnx, int64_t value)
{
    return mx_onnx_tensor(onnx, NULL, MX_ONNX_INT64, NULL, 0, &value);
}

struct mx_onnx_value mx_onnx_real(struct mx_onnx *onnx, double value)
{
    const float narrow = (float)value;
    return mx_onnx_tensor(onnx, NULL, MX_ONNX_FLOAT, NULL, 0, &narrow);
}

struct mx_onnx_value mx_onnx_double(struct mx_onnx *onnx, double value)
{
    return mx_onnx_tensor(onnx, NULL, MX_ONNX_DOUBLE, NULL, 0, &value);
}

struct mx_onnx_value mx_onnx_list(struct mx_onnx *onnx, const int64_t *values, int count)
{
    return mx_onnx_tensor(onnx, NULL, MX_ONNX_INT64, &(int64_t){count}, 1, values);
}

/* ---- nodes ---- */

/* The fields of a graph that is complete. */
static void graph_put(struct mx_protobuf *out, const struct mx_onnx *onnx)
{
    mx_protobuf_string(out, GRAPH_NAME, onnx->prefix != NULL ? onnx->prefix : "myxtts");
    mx_protobuf_raw(out, onnx->graph.data, onnx->graph.length);
    if (onnx->graph.failure != 0 && out->failure == 0) out->failure = onnx->graph.failure;
}

static void attribute_put(struct mx_protobuf *out, const struct mx_onnx_attribute *a)
{
    const size_t attribute = mx_protobuf_begin(out, NODE_ATTRIBUTE);
    mx_protobuf_string(out, ATTRIBUTE_NAME, a->name);
    switch (a->kind) {
    case MX_ONNX_KIND_FLOAT:
        mx_protobuf_float(out, ATTRIBUTE_F, (float)a->real);
        break;
    case MX_ONNX_KIND_INT:
        mx_protobuf_int(out, ATTRIBUTE_I, a->number);
        break;
    case MX_ONNX_KIND_TEXT:
        mx_protobuf_string(out, ATTRIBUTE_S, a->text);
        break;
    case MX_ONNX_KIND_INTS:
        for (int i = 0; i < a->count; i++) mx_protobuf_int(out, ATTRIBUTE_INTS, a->numbers[i]);
        break;
    case MX_ONNX_KIND_GRAPH: {
        const size_t graph = mx_protobuf_begin(out, ATTRIBUTE_G);
        graph_put(out, a->graph);
        mx_protobuf_end(out, graph);
        break;
    }
    }
    mx_protobuf_int(out, ATTRIBUTE_TYPE, a->kind);
    mx_protobuf_end(out, attribute);
}

void mx_onnx_add(struct mx_onnx *onnx, const struct mx_onnx_node *node, struct mx_onnx_value *out, int outputs)
{
    struct mx_protobuf *const bytes = &onnx->graph;
    const size_t begin = mx_protobuf_begin(bytes, GRAPH_NODE);
    int inputs = MX_ONNX_INPUTS_MAX;
    while (inputs > 0 && node->in[inputs - 1].name[0] == 0) inputs--;
    for (int i = 0; i < inputs; i++) mx_protobuf_string(bytes, NODE_INPUT, node->in[i].name);
    for (int i = 0; i < outputs; i++) {
        out[i] = value_next(onnx);
        mx_protobuf_string(bytes, NODE_OUTPUT, out[i].name);
    }
    mx_protobuf_string(bytes, NODE_TYPE, node->type);
    for (int i = 0; i < MX_ONNX_ATTRIBUTES_MAX && node->attributes[i].name != NULL; i++)
        attribute_put(bytes, &node->attributes[i]);
    mx_protobuf_end(bytes, begin);
}

struct mx_onnx_value mx_onnx_call(struct mx_onnx *onnx, const struct mx_onnx_node *node)
{
    struct mx_onnx_value out;
    mx_onnx_add(onnx, node, &out, 1);
    return out;
}

/* ---- the ends ---- */

static void end_put(struct mx_protobuf *out, enum graph_field field, const char *name, enum mx_onnx_type type,
                    const struct mx_onnx_dimension *shape, int rank)
{
    const size_t info = mx_protobuf_begin(out, field);
    mx_protobuf_string(out, 1, name);
    const size_t outer = mx_protobuf_begin(out, 2), tensor = mx_protobuf_begin(out, 1);
    mx_protobuf_int(out, 1, type);
    const size_t dimensions = mx_protobuf_begin(out, 2);
    for (int i = 0; i < rank; i++) {
        const size_t dimension = mx_protobuf_begin(out, 1);
        if (shape[i].name != NULL)
            mx_protobuf_string(out, 2, shape[i].name);
        else
            mx_protobuf_int(out, 1, shape[i].number);
        mx_protobuf_end(out, dimension);
    }
    mx_protobuf_end(out, dimensions);
    mx_protobuf_end(out, tensor);
    mx_protobuf_end(out, outer);
    mx_protobuf_end(out, info);
}

struct mx_onnx_value mx_onnx_input(struct mx_onnx *onnx, const char *name, enum mx_onnx_type type,
                                   const struct mx_onnx_dimension *shape, int rank)
{
    end_put(&onnx->graph, GRAPH_INPUT, name, type, shape, rank);
    return value_named(name);
}

void mx_onnx_output(struct mx_onnx *onnx, struct mx_onnx_value value, const char *name, enum mx_onnx_type type,
                    const struct mx_onnx_dimension *shape, int rank)
{
    struct mx_protobuf *const out = &onnx->graph;
    const size_t node = mx_protobuf_begin(out, GRAPH_NODE);
    mx_protobuf_string(out, NODE_INPUT, value.name);
    mx_protobuf_string(out, NODE_OUTPUT, name);
    mx_protobuf_string(out, NODE_TYPE, "Identity");
    mx_protobuf_end(out, node);
    end_put(out, GRAPH_OUTPUT, name, type, shape, rank);
}

void mx_onnx_metadata(struct mx_onnx *onnx, const char *key, const char *value)
{
    const size_t entry = mx_protobuf_begin(&onnx->metadata, MODEL_METADATA);
    mx_protobuf_string(&onnx->metadata, 1, key);
    mx_protobuf_string(&onnx->metadata, 2, value);
    mx_protobuf_end(&onnx->metadata, entry);
}

int mx_onnx_write(const struct mx_onnx *onnx, const char *path)
{
    struct mx_protobuf head = {0}, name = {0};
    int rc = 0;
    MX_TRY(onnx->graph.failure);
    MX_TRY(onnx->metadata.failure);
    mx_protobuf_string(&name, GRAPH_NAME, "myxtts");
    mx_protobuf_int(&head, MODEL_IR, MX_ONNX_IR_VERSION);
    mx_protobuf_string(&head, MODEL_PRODUCER, "myxtts");
    mx_protobuf_string(&head, MODEL_VERSION, MX_VERSION);
    const size_t opset = mx_protobuf_begin(&head, MODEL_OPSET);
    mx_protobuf_int(&head, 2, MX_ONNX_OPSET);
    mx_protobuf_end(&head, opset);
    mx_protobuf_length(&head, MODEL_GRAPH, name.length + onnx->graph.length);
    MX_TRY(name.failure);
    MX_TRY(head.failure);
    const struct mx_file_part parts[] = {{head.data, head.length},
                                         {name.data, name.length},
                                         {onnx->graph.data, onnx->graph.length},
                                         {onnx->metadata.data, onnx->metadata.length}};
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) bytes += parts[i].bytes;
    if (bytes > FILE_BYTES_MAX)
        MX_RAISE(MX_ERR_UNSUPPORTED, "an ONNX file holds at most 2 GiB: export a smaller network",
                 "%s would have %zu bytes", path, bytes);
    MX_TRY(mx_file_write_parts(path, parts, sizeof parts / sizeof *parts));
out:
    mx_protobuf_release(&head);
    mx_protobuf_release(&name);
    return rc;
}
