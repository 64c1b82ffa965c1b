/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running cases on a device and comparing results.
 *
 * Each storage becomes one buffer: guard words, 0 to 3 words of random misalignment, the contents, guard words. The
 * whole buffer comes back, so that a stray write anywhere near an operand is seen.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "device/op_case.h"
#include "myxtts/error.h"

#define GUARD_WORDS 16

static size_t storage_bytes(const struct mx_op_storage *storage)
{
    return (size_t)storage->count * (storage->type == MX_OP_BF16 ? 2 : 4);
}

static size_t placed_bytes(const struct mx_op_storage *storage, size_t at)
{
    return (at + storage_bytes(storage) + 3) / 4 * 4 + GUARD_WORDS * 4;
}

/* ---- placing and running ---- */

int mx_op_case_place(const struct mx_op_case *c, struct mx_stream *stream, struct mx_op_placed *placed)
{
    int rc = 0;
    uint32_t *words = NULL;
    memset(placed, 0, sizeof *placed);
    memcpy(placed->args, c->args, sizeof placed->args);
    for (int i = 0; i < c->storage_count; i++) {
        const struct mx_op_storage *storage = &c->storages[i];
        placed->at[i] = 4 * (GUARD_WORDS + (size_t)mx_rng_below(c->seed, 0, (uint64_t)i, 4));
        const size_t bytes = placed_bytes(storage, placed->at[i]);
        MX_TRY(mx_buffer_create(mx_stream_device(stream), "test", bytes, &placed->buffers[i]));
        words = mx_alloc(bytes, 1);
        if (!words) MX_TRY(MX_ERR_NO_MEMORY);
        for (size_t k = 0; k < bytes / 4; k++) {
            if (k == placed->at[i] / 4) k += storage_bytes(storage) / 4; /* the contents come next */
            words[k] = MX_OP_POISON;
        }
        memcpy((char *)words + placed->at[i], storage->data, storage_bytes(storage));
        MX_TRY(mx_copy_upload(stream, mx_slice_at(placed->buffers[i], 0), words, bytes));
        MX_TRY(mx_stream_sync(stream));
        mx_free(words);
        words = NULL;
    }
    for (int i = 0; i < c->tensor_count; i++) {
        const struct mx_op_tensor *tensor = &c->tensors[i];
        const size_t size = c->storages[tensor->storage].type == MX_OP_BF16 ? 2 : 4;
        const struct mx_slice slice = {placed->buffers[tensor->storage],
                                       placed->at[tensor->storage] + (size_t)tensor->offset * size};
        memcpy(placed->args + tensor->slice_at, &slice, sizeof slice);
    }
out:
    mx_free(words);
    if (rc < 0) mx_op_placed_release(placed);
    return rc;
}

void mx_op_placed_release(struct mx_op_placed *placed)
{
    for (int i = 0; i < MX_OP_TENSORS_MAX; i++) {
        mx_buffer_release(placed->buffers[i]);
        placed->buffers[i] = NULL;
    }
}

/* Everything around and between what the operation may write must be as before. */
static int stray_check(const struct mx_op_case *c, const struct mx_op_storage *storage, const char *whole, size_t at)
{
    const size_t bytes = storage_bytes(storage), end = placed_bytes(storage, at);
    const uint32_t poison = MX_OP_POISON;
    for (size_t k = 0; k < end; k++) {
        if (k == at) k += bytes;
        if (whole[k] != ((const char *)&poison)[k % 4])
            return MX_FAIL(MX_ERR_INTERNAL, NULL, "%s: byte %td outside '%s' was written", mx_op_name(c->op),
                           (ptrdiff_t)k - (ptrdiff_t)at, storage->name);
    }
    /* What must be as it was is compared at once; one element after the other only to say where, or between gaps. */
    if (storage->written ? storage->width >= storage->stride : memcmp(whole + at, storage->data, bytes) == 0) return 0;
    const size_t size = storage->type == MX_OP_BF16 ? 2 : 4;
    for (int64_t i = 0; i < storage->count; i++) {
        const bool gap = i % storage->stride >= storage->width;
        const size_t k = (size_t)i * size;
        if ((gap || !storage->written) && memcmp(whole + at + k, (const char *)storage->data + k, size) != 0)
            return MX_FAIL(MX_ERR_INTERNAL, NULL, "%s: %s '%s' changed at element %lld", mx_op_name(c->op),
                           gap ? "a gap of" : "input", storage->name, (long long)i);
    }
    return 0;
}

static float bits_value(const struct mx_op_storage *storage, const void *bits, int64_t i)
{
    union {
        uint32_t u;
        float f;
    } wide;
    switch (storage->type) {
    case MX_OP_F32:
        return ((const float *)bits)[i];
    case MX_OP_I32:
        return (float)((const int32_t *)bits)[i];
    default:
        wide.u = (uint32_t)((const uint16_t *)bits)[i] << 16;
        return wide.f;
    }
}

static int result_add(struct mx_op_result *result, const struct mx_op_case *c, int number, const char *contents)
{
    const struct mx_op_storage *storage = &c->storages[number];
    struct mx_op_output *output = &result->outputs[result->count++];
    *output = (struct mx_op_output){
        .name = storage->name, .storage = number, .count = storage->count, .bytes = storage_bytes(storage)};
    output->bits = mx_alloc(output->bytes, 1);
    output->values = mx_alloc((size_t)storage->count, sizeof(float));
    if (!output->bits || !output->values) return MX_ERR_NO_MEMORY;
    memcpy(output->bits, contents, output->bytes);
    for (int64_t i = 0; i < storage->count; i++) output->values[i] = bits_value(storage, output->bits, i);
    return 0;
}

int mx_op_case_run(const struct mx_op_case *c, struct mx_device *device, struct mx_op_result *result)
{
    int rc = 0;
    struct mx_stream *stream = NULL;
    struct mx_op_placed placed = {0};
    char *contents = NULL;
    memset(result, 0, sizeof *result);
    MX_TRY(mx_stream_create(device, "case", &stream));
    MX_TRY(mx_op_case_place(c, stream, &placed));
    MX_TRY(mx_op_submit(stream, c->op, placed.args));
    MX_TRY(mx_stream_sync(stream));
    for (int i = 0; i < c->storage_count; i++) {
        const size_t bytes = placed_bytes(&c->storages[i], placed.at[i]);
        contents = mx_alloc(bytes, 1);
        if (!contents) MX_TRY(MX_ERR_NO_MEMORY);
        MX_TRY(mx_copy_download(stream, contents, mx_slice_at(placed.buffers[i], 0), bytes));
        MX_TRY(mx_stream_sync(stream));
        MX_TRY(stray_check(c, &c->storages[i], contents, placed.at[i]));
        if (c->storages[i].written) MX_TRY(result_add(result, c, i, contents + placed.at[i]));
        mx_free(contents);
        contents = NULL;
    }
out:
    mx_free(contents);
    mx_stream_release(stream);
    mx_op_placed_release(&placed);
    if (rc < 0) mx_op_result_release(result);
    return rc;
}

void mx_op_result_release(struct mx_op_result *result)
{
    for (int i = 0; i < result->count; i++) {
        mx_free(result->outputs[i].bits);
        mx_free(result->outputs[i].values);
    }
    result->count = 0;
}

const struct mx_op_output *mx_op_result_output(const struct mx_op_result *result, const char *name)
{
    for (int i = 0; i < result->count; i++)
        if (strcmp(result->outputs[i].name, name) == 0) return &result->outputs[i];
    return NULL;
}

/* ---- comparing ---- */

static char difference[256];

static const char *bits_differ(const struct mx_op_case *c, const struct mx_op_storage *storage, const void *a,
                               const void *b, int64_t count, int64_t first)
{
    const size_t size = storage->type == MX_OP_BF16 ? 2 : 4;
    if (memcmp(a, b, (size_t)count * size) == 0) return NULL;
    for (int64_t i = 0; i < count; i++) { /* where? */
        const size_t k = (size_t)i * size;
        if (memcmp((const char *)a + k, (const char *)b + k, size) == 0) continue;
        snprintf(difference, sizeof difference, "%s seed %llu: '%s' differs at element %lld: %.9g and %.9g",
                 mx_op_name(c->op), (unsigned long long)c->seed, storage->name, (long long)(first + i),
                 (double)bits_value(storage, a, i), (double)bits_value(storage, b, i));
        return difference;
    }
    return NULL;
}

const char *mx_op_result_differs(const struct mx_op_case *c, const struct mx_op_result *a, const struct mx_op_result *b)
{
    for (int i = 0; i < a->count; i++) {
        const struct mx_op_storage *storage = &c->storages[a->outputs[i].storage];
        if (storage->scratch) continue;
        const char *text = bits_differ(c, storage, a->outputs[i].bits, b->outputs[i].bits, a->outputs[i].count, 0);
        if (text) return text;
    }
    return NULL;
}

/* Where piece `piece` of what belongs to sequence `s` begins in a storage, and how many elements it has; false when
 * there is no such piece. [heads, rows] has one piece per head, other layouts one or none. */
static bool sequence_piece(const struct mx_op_case *c, const struct mx_op_storage *storage, int s, int64_t piece,
                           int64_t *first, int64_t *count)
{
    const int64_t row = c->ends[s], rows = c->ends[s + 1] - row, width = storage->width;
    if (storage->layout == MX_OP_HEAD_ROWS && piece < width) {
        *first = piece * (storage->count / width) + row;
        *count = rows;
        return true;
    }
    if (piece > 0) return false;
    if (storage->layout == MX_OP_ROWS) {
        *first = row * storage->stride;
        *count = rows ? (rows - 1) * storage->stride + width : 0;
        return true;
    }
    *first = s * width;
    *count = width;
    return storage->layout == MX_OP_SEGMENTS;
}

const char *mx_op_result_sequence_differs(const struct mx_op_case *ca, const struct mx_op_result *a, int sa,
                                          const struct mx_op_case *cb, const struct mx_op_result *b, int sb)
{
    for (int i = 0; i < a->count; i++) {
        const struct mx_op_storage *left = &ca->storages[a->outputs[i].storage],
                                   *right = &cb->storages[b->outputs[i].storage];
        const size_t size = left->type == MX_OP_BF16 ? 2 : 4;
        int64_t la, lb, count, other;
        if (left->scratch) continue;
        for (int64_t piece = 0; sequence_piece(ca, left, sa, piece, &la, &count); piece++) {
            sequence_piece(cb, right, sb, piece, &lb, &other);
            const char *text = bits_differ(ca, left, (const char *)a->outputs[i].bits + (size_t)la * size,
                                           (const char *)b->outputs[i].bits + (size_t)lb * size, count, la);
            if (text) return text;
        }
    }
    return NULL;
}

/* Element `k` of an output of both results: the difference as a share of what is allowed. */
static double element_distance(const struct mx_op_case *c, const struct mx_op_output *x, const struct mx_op_output *y,
                               int64_t k, double scale)
{
    const double u = (double)x->values[k], v = (double)y->values[k];
    if (u == v || (isnan(u) && isnan(v))) return 0;
    const double step = c->storages[x->storage].type == MX_OP_BF16 ? 0x1p-7 * fmax(fabs(u), fabs(v)) : 0;
    /* Both may err, in both directions; and of two bf16 numbers each may be the nearest. */
    const double share = fabs(u - v) / (2 * mx_op_bound(c) * scale + step);
    return share >= 0 ? share : INFINITY; /* one is not finite, or nothing is allowed */
}

static double output_scale(const struct mx_op_output *x)
{
    double scale = 1;
    for (int64_t k = 0; k < x->count; k++)
        if (fabs((double)x->values[k]) > scale) scale = fabs((double)x->values[k]);
    return scale;
}

double mx_op_result_distance(const struct mx_op_case *c, const struct mx_op_result *a, const struct mx_op_result *b,
                             const char **where)
{
    double most = 0;
    *where = "";
    for (int i = 0; i < a->count; i++) {
        const struct mx_op_output *x = &a->outputs[i], *y = &b->outputs[i];
        if (c->storages[x->storage].scratch) continue;
        const double scale = output_scale(x);
        for (int64_t k = 0; k < x->count; k++) {
            const double share = element_distance(c, x, y, k, scale);
            if (share <= most) continue;
            most = share;
            *where = x->name;
        }
    }
    return most;
}

const char *mx_op_result_far(const struct mx_op_case *c, const struct mx_op_result *a, const struct mx_op_result *b)
{
    for (int i = 0; i < a->count; i++) {
        const struct mx_op_output *x = &a->outputs[i], *y = &b->outputs[i];
        if (c->storages[x->storage].scratch) continue;
        const double scale = output_scale(x);
        for (int64_t k = 0; k < x->count; k++) {
            if (element_distance(c, x, y, k, scale) <= 1) continue;
            snprintf(difference, sizeof difference, "%s seed %llu: '%s' element %lld is %.9g and %.9g",
                     mx_op_name(c->op), (unsigned long long)c->seed, x->name, (long long)k, (double)x->values[k],
                     (double)y->values[k]);
            return difference;
        }
    }
    return NULL;
}
