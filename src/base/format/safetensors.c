/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Safetensors: types, bf16 and writing; reading is in safetensors_read.c.
 *
 * The header is written without a library (it is a few lines of JSON, in an order of our choice); cJSON reads it.
 */
#include "base/format/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/string.h"
#include "myxtts/error.h"

#define ALIGNMENT    64
#define QUOTED_BYTES 96

static const struct {
    const char *name;
    size_t bytes;
} types[MX_DTYPE_COUNT] = {
#define X(name, bytes) [MX_DTYPE_##name] = {#name, (bytes)},
    MX_DTYPE_LIST(X)
#undef X
};

const char *mx_dtype_name(enum mx_dtype dtype)
{
    return (unsigned)dtype < MX_DTYPE_COUNT ? types[dtype].name : "unknown";
}

size_t mx_dtype_bytes(enum mx_dtype dtype)
{
    return (unsigned)dtype < MX_DTYPE_COUNT ? types[dtype].bytes : 0;
}

/* ---- bf16 ---- */

uint16_t mx_tensor_narrow(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (value != value) return (uint16_t)(bits >> 16 | 0x40); /* rounding could make infinity of a NaN */
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

float mx_tensor_widen(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

void mx_tensor_floats(const struct mx_tensor *tensor, float *out)
{
    const char *const data = tensor->data;
    uint16_t bits;
    if (tensor->dtype == MX_DTYPE_F32) {
        memcpy(out, data, (size_t)tensor->bytes);
        return;
    }
    for (size_t i = 0; i < tensor->bytes / sizeof bits; i++) {
        memcpy(&bits, data + i * sizeof bits, sizeof bits);
        out[i] = mx_tensor_widen(bits);
    }
}

/* The loops below have no branches, so that they are vectorised: a voice of 7 million numbers opens with them. */

#define BLOCK 4096

/* Is any of up to BLOCK numbers not finite, that is, does it have all bits of the exponent? */
static bool block_wrong(const char *data, size_t count, bool narrow)
{
    uint32_t bits, wrong = 0;
    uint16_t half, wrong_half = 0;
    for (size_t i = 0; !narrow && i < count; i++) {
        memcpy(&bits, data + i * sizeof bits, sizeof bits);
        wrong |= (uint32_t)((bits & 0x7F800000) == 0x7F800000);
    }
    for (size_t i = 0; narrow && i < count; i++) {
        memcpy(&half, data + i * sizeof half, sizeof half);
        wrong_half |= (uint16_t)((half & 0x7F80) == 0x7F80);
    }
    return (wrong | wrong_half) != 0;
}

bool mx_tensor_finite(const struct mx_tensor *tensor, size_t *index)
{
    const char *const data = tensor->data;
    const bool narrow = tensor->dtype == MX_DTYPE_BF16;
    const size_t width = mx_dtype_bytes(tensor->dtype), count = (size_t)tensor->bytes / width;
    for (size_t at = 0; at < count; at += BLOCK) {
        const size_t end = count - at < BLOCK ? count : at + BLOCK;
        if (!block_wrong(data + at * width, end - at, narrow)) continue;
        for (*index = at; !block_wrong(data + *index * width, 1, narrow);) ++*index;
        return false;
    }
    return true;
}

/* ---- writing ---- */

/* MX_ERR_ARGUMENT unless the name can stand in a header. */
static int name_check(const char *what, const char *name)
{
    char quoted[QUOTED_BYTES];
    const char *wrong = NULL;
    if (name == NULL || name[0] == '\0')
        return MX_FAIL(MX_ERR_ARGUMENT, "give it a name", "a %s of a safetensors file has no name", what);
    const size_t length = strlen(name);
    if (mx_utf8_check(name, length) != length) wrong = "is not UTF-8";
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7F) wrong = "has a control character";
    if (wrong == NULL) return 0;
    return MX_FAIL(MX_ERR_ARGUMENT, "choose another name", "%s %s of a safetensors file %s", what,
                   mx_string_quote(quoted, sizeof quoted, name), wrong);
}

/* JSON text; control characters only in values, never in names. */
static void text_append(struct mx_string *out, const char *text)
{
    mx_string_append(out, "\"");
    for (const char *at = text; *at != '\0'; at++) {
        const unsigned char byte = (unsigned char)*at;
        if (byte == '"' || byte == '\\')
            mx_string_append(out, "\\%c", byte);
        else if (byte < 0x20)
            mx_string_append(out, "\\u%04x", byte);
        else
            mx_string_append(out, "%c", byte);
    }
    mx_string_append(out, "\"");
}

/* Bytes that shape and type say; MX_ERR_ARGUMENT if the tensor cannot be written. */
static int tensor_bytes(const struct mx_tensor *tensor, uint64_t *bytes)
{
    char quoted[QUOTED_BYTES];
    int rc = name_check("tensor", tensor->name);
    if (rc < 0) return rc;
    mx_string_quote(quoted, sizeof quoted, tensor->name);
    if (strcmp(tensor->name, "__metadata__") == 0)
        return MX_FAIL(MX_ERR_ARGUMENT, "choose another name", "a tensor cannot be called __metadata__");
    if (tensor->rank < 0 || tensor->rank > MX_SAFETENSORS_RANK || mx_dtype_bytes(tensor->dtype) == 0)
        return MX_FAIL(MX_ERR_ARGUMENT, "at most 8 dimensions, and a type of enum mx_dtype",
                       "tensor %s has %d dimensions of type %d", quoted, tensor->rank, (int)tensor->dtype);
    *bytes = mx_dtype_bytes(tensor->dtype);
    bool fits = true;
    for (int i = 0; i < tensor->rank; i++) fits = !__builtin_mul_overflow(*bytes, tensor->shape[i], bytes) && fits;
    if (!fits || *bytes > INT64_MAX / 4 || (tensor->bytes != 0 && tensor->bytes != *bytes))
        return MX_FAIL(MX_ERR_ARGUMENT, "check the shape and the type",
                       "the shape of tensor %s does not match its number of bytes", quoted);
    if (*bytes > 0 && tensor->data == NULL)
        return MX_FAIL(MX_ERR_ARGUMENT, "set its data pointer", "tensor %s has no data", quoted);
    return 0;
}

static int names_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* `names` is sorted in place. */
static int names_differ(const char *what, const char **names, size_t count)
{
    char quoted[QUOTED_BYTES];
    if (count > 0) qsort(names, count, sizeof *names, names_compare);
    for (size_t i = 1; i < count; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            return MX_FAIL(MX_ERR_ARGUMENT, "give each its own name", "two %ss are called %s", what,
                           mx_string_quote(quoted, sizeof quoted, names[i]));
    return 0;
}

static int header_append(struct mx_string *out, const struct mx_tensor *tensors, size_t tensor_count,
                         const struct mx_metadata *metadata, size_t metadata_count, struct mx_file_part *parts)
{
    int rc = 0;
    uint64_t at = 0, bytes = 0;
    mx_string_append(out, "{");
    if (metadata_count > 0) {
        mx_string_append(out, "\"__metadata__\":{");
        for (size_t i = 0; i < metadata_count; i++) {
            MX_TRY(name_check("metadata key", metadata[i].key));
            const size_t length = metadata[i].text != NULL ? strlen(metadata[i].text) : 0;
            if (metadata[i].text == NULL || mx_utf8_check(metadata[i].text, length) != length)
                MX_RAISE(MX_ERR_ARGUMENT, "pass valid UTF-8 text", "the metadata of key '%s' is not valid UTF-8 text",
                         metadata[i].key);
            if (i > 0) mx_string_append(out, ",");
            text_append(out, metadata[i].key);
            mx_string_append(out, ":");
            text_append(out, metadata[i].text);
        }
        mx_string_append(out, "}");
    }
    for (size_t i = 0; i < tensor_count; i++) {
        MX_TRY(tensor_bytes(&tensors[i], &bytes));
        if (i > 0 || metadata_count > 0) mx_string_append(out, ",");
        text_append(out, tensors[i].name);
        mx_string_append(out, ":{\"dtype\":\"%s\",\"shape\":[", mx_dtype_name(tensors[i].dtype));
        for (int k = 0; k < tensors[i].rank; k++)
            mx_string_append(out, "%s%" PRIu64, k > 0 ? "," : "", tensors[i].shape[k]);
        mx_string_append(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", at, at + bytes);
        parts[2 + i] = (struct mx_file_part){tensors[i].data, (size_t)bytes};
        at += bytes;
    }
    mx_string_append(out, "}");
    while (out->failure == 0 && (8 + out->length) % ALIGNMENT != 0) mx_string_append(out, " ");
    rc = out->failure;
out:
    return rc;
}

int mx_safetensors_write(const char *path, const struct mx_tensor *tensors, size_t tensor_count,
                         const struct mx_metadata *metadata, size_t metadata_count)
{
    int rc = 0;
    struct mx_string header = {0};
    uint8_t length[8];
    const size_t most = tensor_count > metadata_count ? tensor_count : metadata_count;
    struct mx_file_part *const parts = mx_alloc(tensor_count + 2, sizeof *parts);
    const char **const names = mx_alloc(most, sizeof *names);
    if (parts == NULL || names == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    if (tensor_count > MX_SAFETENSORS_COUNT_MAX || metadata_count > MX_SAFETENSORS_METADATA_MAX)
        MX_RAISE(MX_ERR_ARGUMENT, "write several files", "%zu tensors and %zu texts are too many for one file",
                 tensor_count, metadata_count);
    MX_TRY(header_append(&header, tensors, tensor_count, metadata, metadata_count, parts));
    if (header.length > MX_SAFETENSORS_HEADER_MAX)
        MX_RAISE(MX_ERR_ARGUMENT, "write several files, or less metadata", "the header would have %zu bytes",
                 header.length);
    for (size_t i = 0; i < tensor_count; i++) names[i] = tensors[i].name;
    MX_TRY(names_differ("tensor", names, tensor_count));
    for (size_t i = 0; i < metadata_count; i++) names[i] = metadata[i].key;
    MX_TRY(names_differ("metadata key", names, metadata_count));
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)(header.length >> 8 * i);
    parts[0] = (struct mx_file_part){length, sizeof length};
    parts[1] = (struct mx_file_part){header.data, header.length};
    MX_TRY(mx_file_write_parts(path, parts, tensor_count + 2));
out:
    mx_free(names);
    mx_free(parts);
    mx_string_release(&header);
    return rc;
}
