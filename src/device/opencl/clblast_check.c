/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checks that CLBlast multiplies correctly on a device: the kernels for small products, one for each layout of the
 * operands, and the kernel for large ones.
 *
 * All numbers are small integers, so every sum is exact in fp32 and every bit must match. C is compared through a
 * vector, C·x with A·(B·x), which costs no more than reading the matrices; a C with wrong elements passes only if they
 * cancel out in every row.
 *
 * Memory: A, B and C are in the stream's temp, after the room that the product itself needs there. The host holds one
 * matrix at a time and two vectors, released at the end.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "device/opencl/clblast.h"
#include "device/opencl/opencl.h"

#define SIDE_MOST 2048 /* products from 1984 to the third on are large to all tables of the library, up to 1.7.0 */

enum { FACTOR_A = 1, FACTOR_B = 2, VECTOR = 3 };

/* Element `at` of a factor or of the vector: -3 … 3, of no pattern that a kernel's tiles could have. */
static double value(int which, int64_t at)
{
    uint64_t bits = (uint64_t)at * 4 + (uint64_t)which;
    bits = (bits ^ (bits >> 16)) * UINT64_C(0x9e3779b97f4a7c15);
    return (double)(int)((bits >> 40) % 7) - 3;
}

/* Host memory of one check. */
struct room {
    float *matrix;
    double *x, *bx; /* x [n], B·x [k] */
};

static int64_t most_of(int64_t a, int64_t b, int64_t c)
{
    return a > b ? (a > c ? a : c) : b > c ? b : c;
}

static int factor_upload(struct mx_stream *stream, struct room *room, int which, struct mx_slice to, int64_t count)
{
    int rc = 0;
    const struct mx_opencl_stream *const impl = stream->impl;
    for (int64_t i = 0; i < count; i++) room->matrix[i] = (float)value(which, i);
    MX_CL_TRY(mx_opencl_device_of(stream->device)
                  ->cl->clEnqueueWriteBuffer(impl->queue, mx_opencl_memory(to.buffer), CL_TRUE, to.offset_bytes,
                                             (size_t)count * sizeof(float), room->matrix, 0, NULL, NULL),
              "%s: checking CLBlast", stream->device->name);
out:
    return rc;
}

/* The product `g`, whose factors are there. */
static int product_check(struct mx_stream *stream, const struct mx_library_gemm *g, struct room *room)
{
    int rc = 0;
    const struct mx_opencl_stream *const impl = stream->impl;
    const int64_t size[3] = {g->m, g->n, g->k};
    MX_TRY(mx_clblast_block(stream, g, (const int64_t[3]){0, 0, 0}, size));
    MX_CL_TRY(mx_opencl_device_of(stream->device)
                  ->cl->clEnqueueReadBuffer(impl->queue, mx_opencl_memory(g->c.buffer), CL_TRUE, g->c.offset_bytes,
                                            (size_t)(g->m * g->n) * sizeof(float), room->matrix, 0, NULL, NULL),
              "%s: checking CLBlast", stream->device->name);
    for (int64_t j = 0; j < g->n; j++) room->x[j] = value(VECTOR, j);
    for (int64_t l = 0; l < g->k; l++) {
        room->bx[l] = 0;
        for (int64_t j = 0; j < g->n; j++)
            room->bx[l] += value(FACTOR_B, g->transpose_b ? j * g->ldb + l : l * g->ldb + j) * room->x[j];
    }
    for (int64_t i = 0; i < g->m; i++) {
        double exact = 0, made = 0;
        for (int64_t l = 0; l < g->k; l++)
            exact += value(FACTOR_A, g->transpose_a ? l * g->lda + i : i * g->lda + l) * room->bx[l];
        for (int64_t j = 0; j < g->n; j++) made += (double)room->matrix[i * g->ldc + j] * room->x[j];
        if (made != exact) {
            MX_RAISE(MX_ERR_DEVICE,
                     "install CLBlast 1.6.3 or later, which fixes a known fault of earlier versions, or set "
                     "MYXTTS_CLBLAST=0 to multiply without it",
                     "%s: CLBlast multiplies wrongly here (row %lld of a product of %lld · %lld · %lld)",
                     stream->device->name, (long long)i, (long long)g->m, (long long)g->n, (long long)g->k);
        }
    }
out:
    return rc;
}

/* One product of that size; it has `room_bytes` in front of temp. */
static int size_check(struct mx_stream *stream, struct mx_library_gemm *g, size_t room_bytes)
{
    int rc = 0;
    struct room room = {0};
    const struct mx_opencl_stream *const impl = stream->impl;
    const size_t begin = (room_bytes + 63) / 64 * 64, a = (size_t)(g->m * g->k) * 4, b = (size_t)(g->k * g->n) * 4;
    g->a = mx_slice_at(impl->temp, begin);
    g->b = mx_slice_at(impl->temp, begin + a);
    g->c = mx_slice_at(impl->temp, begin + a + b);
    room.matrix = mx_alloc((size_t)most_of(g->m * g->k, g->k * g->n, g->m * g->n), sizeof *room.matrix);
    room.x = mx_alloc((size_t)(g->n + g->k), sizeof *room.x);
    if (!room.matrix || !room.x) MX_TRY(MX_ERR_NO_MEMORY);
    room.bx = room.x + g->n;
    MX_TRY(factor_upload(stream, &room, FACTOR_A, g->a, g->m * g->k));
    MX_TRY(factor_upload(stream, &room, FACTOR_B, g->b, g->k * g->n));
    MX_TRY(product_check(stream, g, &room));
out:
    mx_free(room.matrix);
    mx_free(room.x);
    return rc;
}

static struct mx_library_gemm gemm_of(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b)
{
    return (struct mx_library_gemm){.m = m,
                                    .n = n,
                                    .k = k,
                                    .lda = transpose_a ? m : k,
                                    .ldb = transpose_b ? k : n,
                                    .ldc = n,
                                    .transpose_a = transpose_a,
                                    .transpose_b = transpose_b};
}

int mx_clblast_check(struct mx_stream *stream)
{
    int rc = 0;
    const struct mx_opencl_stream *const impl = stream->impl;
    for (int i = 0; i < 4; i++) {
        struct mx_library_gemm small = gemm_of(47, 39, 35, (i & 1) != 0, (i & 2) != 0);
        size_t bytes = 0;
        MX_TRY(mx_clblast_room(stream, &small, (const int64_t[3]){small.m, small.n, small.k}, &bytes));
        MX_TRY(size_check(stream, &small, bytes));
    }
    for (int64_t side = 128; side <= SIDE_MOST; side += 32) {
        struct mx_library_gemm large = gemm_of(side, side - 1, side - 3, false, false); /* sides that need padding */
        const int64_t floats = large.m * large.k + large.k * large.n + large.m * large.n;
        size_t bytes = 0;
        MX_TRY(mx_clblast_room(stream, &large, (const int64_t[3]){large.m, large.n, large.k}, &bytes));
        if (bytes == 0) continue;
        if (bytes + 64 + (size_t)floats * sizeof(float) <= impl->temp->bytes) {
            MX_TRY(size_check(stream, &large, bytes));
        } else {
            mx_debug("%s: its memory is too small to check CLBlast's kernel for large products", stream->device->name);
        }
        break;
    }
out:
    return rc;
}
