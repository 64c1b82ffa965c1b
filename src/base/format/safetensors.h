/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Safetensors files: named tensors and metadata, in a format that common tools read.
 *
 *     offset 0           uint64, little-endian: N, the bytes of the header
 *     offset 8           N bytes of JSON (UTF-8, no byte order mark), filled up with spaces:
 *                          {"__metadata__": {"key": "text", …},
 *                           "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, …}
 *     offset 8 + N       the data; offsets count from here; row-major, little-endian
 *
 * The tensors cover the data without gaps and without overlap. This writer pads the header so that the data begins at a
 * multiple of 64 and writes the tensors in the order given; with sizes that are multiples of 64 every tensor is
 * aligned. The metadata comes first, with its keys in the order given.
 *
 * The reader trusts nothing: lengths, counts, names, types, shapes, products of shapes and offsets are all checked
 * before anything is returned, and a breach of the format is an MX_ERR_FORMAT that names it.
 *
 * Memory: an open file owns its mapping and its tables; names, texts and data point into them and are valid until it is
 * closed. Any thread may read an open file.
 */
#ifndef MX_BASE_SAFETENSORS_H
#define MX_BASE_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits for writing and reading: parsing a hostile header takes at most about 40 times its size. */
#define MX_SAFETENSORS_RANK         8
#define MX_SAFETENSORS_HEADER_MAX   ((uint64_t)16 << 20)
#define MX_SAFETENSORS_COUNT_MAX    ((size_t)1 << 17)
#define MX_SAFETENSORS_METADATA_MAX ((size_t)1 << 12)

/* X(name, bytes of an element): MX_DTYPE_<name>. */
#define MX_DTYPE_LIST(X)                                                                                               \
    X(F64, 8)                                                                                                          \
    X(F32, 4)                                                                                                          \
    X(F16, 2)                                                                                                          \
    X(BF16, 2)                                                                                                         \
    X(I64, 8)                                                                                                          \
    X(I32, 4)                                                                                                          \
    X(I16, 2)                                                                                                          \
    X(I8, 1)                                                                                                           \
    X(U64, 8)                                                                                                          \
    X(U32, 4)                                                                                                          \
    X(U16, 2)                                                                                                          \
    X(U8, 1)                                                                                                           \
    X(BOOL, 1)

enum mx_dtype {
#define X(name, bytes) MX_DTYPE_##name,
    MX_DTYPE_LIST(X)
#undef X
        MX_DTYPE_COUNT
};

const char *mx_dtype_name(enum mx_dtype dtype); /* "F32" */
size_t mx_dtype_bytes(enum mx_dtype dtype);

struct mx_tensor {
    const char *name;
    enum mx_dtype dtype;
    int rank; /* 0: a single number */
    uint64_t shape[MX_SAFETENSORS_RANK];
    const void *data;
    uint64_t bytes; /* when writing: 0, or what shape and dtype say */
};

/* Numbers of bf16 are the upper halves of float32 numbers. Narrowing rounds to the nearest, ties to even; widening is
 * exact. A NaN stays one. */
uint16_t mx_tensor_narrow(float value);
float mx_tensor_widen(uint16_t bits);
/* The numbers of a tensor of type F32 or BF16, wherever its data lies. */
void mx_tensor_floats(const struct mx_tensor *tensor, float *out);
/* Whether all of them are finite; if not, *index is the first that is not. */
bool mx_tensor_finite(const struct mx_tensor *tensor, size_t *index);

struct mx_metadata {
    const char *key, *text;
};

/* Writes the file atomically (mx_file_write_atomic). Names and keys must be unique, not empty, valid UTF-8 and free of
 * control characters; no tensor may be called "__metadata__". Otherwise MX_ERR_ARGUMENT. */
int mx_safetensors_write(const char *path, const struct mx_tensor *tensors, size_t tensor_count,
                         const struct mx_metadata *metadata, size_t metadata_count);

struct mx_safetensors;

int mx_safetensors_open(const char *path, struct mx_safetensors **out);
/* The same from memory, which is borrowed and must outlive *out; `source` stands for the file in messages. */
int mx_safetensors_parse(const char *source, const void *data, size_t bytes, struct mx_safetensors **out);
void mx_safetensors_close(struct mx_safetensors *file); /* NULL is fine */

size_t mx_safetensors_count(const struct mx_safetensors *file);
const struct mx_tensor *mx_safetensors_at(const struct mx_safetensors *file, size_t index); /* in order of the data */
const struct mx_tensor *mx_safetensors_find(const struct mx_safetensors *file, const char *name); /* NULL: none */
size_t mx_safetensors_metadata_count(const struct mx_safetensors *file);
const struct mx_metadata *mx_safetensors_metadata_at(const struct mx_safetensors *file, size_t index);
const char *mx_safetensors_metadata(const struct mx_safetensors *file, const char *key); /* NULL: none */

#endif
