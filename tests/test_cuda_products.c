/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products on CUDA (the double) beyond what test_cuda_ops.c shows: with bf16 numbers, against the double-precision
 * reference, and of sizes that do not fit the work memory in one piece (device/kernels/lower_gemm.c), against the CPU
 * backend.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "ops/case.h"
#include "ops/reference.h"
#include "support/cuda_beside_cpu.h"

#define USUAL_CASES 20
#define LARGE_CASES 1
#define PART_BYTES  ((16 << 20) / 3) /* of each operand: a device of 1 GiB has 16 MiB for all */

/* The device multiplies bf16 numbers: it is of compute capability 8.0 or later. */
static bool knows_bf16(const struct cuda_beside_cpu *pair)
{
    return mx_device_info(pair->cuda.devices[0])->caps.bf16_multiply;
}

static void bf16(void **state)
{
    struct cuda_beside_cpu *pair = *state;
    int ops = 0;
    if (!knows_bf16(pair)) skip();
    for (int op = 0; op < MX_OP_COUNT; op++) {
        if (!mx_op_knows_bf16((enum mx_op)op)) continue;
        ops++;
        for (uint64_t seed = 0; seed < USUAL_CASES + LARGE_CASES; seed++) {
            struct mx_op_case c;
            struct mx_op_result first, second;
            op_case_make(&c, (enum mx_op)op, seed,
                         (struct mx_op_plan){.size = seed < USUAL_CASES ? MX_OP_USUAL : MX_OP_LARGE, .bf16 = true});
            op_case_must_run(&c, pair->cuda.devices[0], &first);
            op_case_must_run(&c, pair->cuda.devices[0], &second);
            const char *wrong = reference_far(&c, &first, 1);
            if (!wrong) wrong = mx_op_result_differs(&c, &first, &second);
            if (wrong) fail_msg("seed %llu: %s", (unsigned long long)seed, wrong);
            mx_op_result_release(&first);
            mx_op_result_release(&second);
            mx_op_case_release(&c);
        }
    }
    assert_true(ops > 0);
    assert_string_equal(pair->control->faults(), "");
}

/* ---- in blocks ---- */

/* Operands and the result of one operation, on one device. */
struct room {
    struct mx_stream *stream;
    struct mx_buffer *buffer;
    size_t used;
};

static void room_open(struct room *room, struct mx_device *device, int64_t floats)
{
    *room = (struct room){0};
    assert_int_equal(mx_stream_create(device, "test", &room->stream), 0);
    assert_int_equal(mx_buffer_create(device, "test", (size_t)floats * 4 + 1024, &room->buffer), 0);
}

static void room_close(struct room *room)
{
    mx_stream_release(room->stream);
    mx_buffer_release(room->buffer);
}

/* Small numbers that bf16 holds exactly, a function of their place. */
static struct mx_slice room_put(struct room *room, int64_t count, uint64_t seed)
{
    const struct mx_slice slice = mx_slice_at(room->buffer, room->used);
    float *const values = mx_alloc((size_t)count, 4);
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)((int)((uint64_t)(i + 1) * 2654435761u % 1000003 * (seed + 7) % 17) - 8) / 8;
    assert_int_equal(mx_copy_upload(room->stream, slice, values, (size_t)count * 4), 0);
    assert_int_equal(mx_stream_sync(room->stream), 0);
    mx_free(values);
    room->used += ((size_t)count * 4 + 63) / 64 * 64;
    return slice;
}

static float *room_get(struct room *room, struct mx_slice from, int64_t count)
{
    float *const values = mx_alloc((size_t)count, 4);
    assert_int_equal(mx_copy_download(room->stream, values, from, (size_t)count * 4), 0);
    assert_int_equal(mx_stream_sync(room->stream), 0);
    return values;
}

/* All factors are multiples of 1/8 up to 1, and sums have up to 12001 products of them: multiples of 1/64 below 2^14
 * and so exact in fp32, in whatever order they are made. `rounding`: what is left to the last step, as a share of it.
 */
static void results_compare(const char *what, float *here, float *there, int64_t count, double rounding)
{
    for (int64_t i = 0; i < count; i++)
        if (!(fabs((double)here[i] - (double)there[i]) <= rounding * fabs((double)here[i])))
            fail_msg("%s: element %lld is %.8g on the CPU and %.8g on CUDA", what, (long long)i, (double)here[i],
                     (double)there[i]);
    mx_free(here);
    mx_free(there);
}

/* ROWS rows through three taps take more than a third of the work memory. */
enum { ROWS = 6000, IN = 96, OUT = 8, TAPS = 3 };

static float *conv_run(struct mx_device *device, int which)
{
    struct room room;
    const int32_t offsets[] = {0, 1, 777, 777, 2500, ROWS};
    room_open(&room, device, (int64_t)ROWS * (IN + OUT) * 2);
    struct mx_ragged rows = {.offsets = mx_slice_at(room.buffer, 0), .count = 5, .rows = ROWS, .max_rows = 3500};
    assert_int_equal(mx_copy_upload(room.stream, rows.offsets, offsets, sizeof offsets), 0);
    room.used = 64;
    const struct mx_slice x = room_put(&room, (int64_t)ROWS * IN, 1), w = room_put(&room, TAPS * IN * OUT, 2);
    const struct mx_slice y = room_put(&room, (int64_t)ROWS * OUT, 3);
    int64_t count = (int64_t)ROWS * OUT;
    struct mx_slice result = y;
    if (which == 0) {
        const struct mx_conv1d_args args = {.x = x,
                                            .w = w,
                                            .y = y,
                                            .rows = rows,
                                            .in_width = IN,
                                            .out_width = OUT,
                                            .taps = TAPS,
                                            .epilogue = {.residual = y, .act = MX_ACT_RELU}};
        assert_int_equal(mx_conv1d(room.stream, &args), 0);
    } else if (which == 1) { /* dy is wide here, so that its taps need blocks */
        const struct mx_conv1d_grad_input_args args = {
            .dy = x, .w = w, .dx = y, .rows = rows, .in_width = OUT, .out_width = IN, .taps = TAPS};
        assert_int_equal(mx_conv1d_grad_input(room.stream, &args), 0);
    } else {
        const struct mx_conv1d_grad_weight_args args = {
            .x = x, .dy = y, .dw = w, .rows = rows, .in_width = IN, .out_width = OUT, .taps = TAPS, .accumulate = true};
        assert_int_equal(mx_conv1d_grad_weight(room.stream, &args), 0);
        count = TAPS * IN * OUT;
        result = w;
    }
    float *const values = room_get(&room, result, count);
    room_close(&room);
    return values;
}

static void convolutions(void **state)
{
    struct cuda_beside_cpu *pair = *state;
    static const char *const names[] = {"conv1d", "conv1d_grad_input", "conv1d_grad_weight"};
    assert_true(ROWS * IN * TAPS * 4 > PART_BYTES);
    for (int which = 0; which < 3; which++) {
        float *const here = conv_run(pair->cpu.device, which), *const there = conv_run(pair->cuda.devices[0], which);
        results_compare(names[which], here, there, which < 2 ? (int64_t)ROWS * OUT : TAPS * IN * OUT, 0);
    }
}

struct shape {
    const char *name;
    int64_t m, n, k;
    bool transpose_a, transpose_b, sums; /* sums: stored as bf16, so that they are made elsewhere */
};

static float *matmul_run(struct mx_device *device, const struct shape *s, bool reduced)
{
    struct room room;
    room_open(&room, device, s->m * s->k + s->k * s->n + s->m * s->n + 64);
    const struct mx_slice a = room_put(&room, s->m * s->k, 1), b = room_put(&room, s->k * s->n, 2);
    const struct mx_slice c = room_put(&room, s->m * s->n, 3);
    const struct mx_matmul_args args = {.a = a,
                                        .b = b,
                                        .c = c,
                                        .m = s->m,
                                        .n = s->n,
                                        .k = s->k,
                                        .transpose_a = s->transpose_a,
                                        .transpose_b = s->transpose_b,
                                        .precision = reduced ? MX_PRECISION_BF16 : MX_PRECISION_F32,
                                        .epilogue = {.c_bf16 = reduced && s->sums, .accumulate = !s->sums}};
    assert_int_equal(mx_matmul(room.stream, &args), 0);
    float *const values = room_get(&room, c, s->m * s->n);
    if (reduced && s->sums) /* two bytes each: spread them out, the last one first */
        for (int64_t i = s->m * s->n - 1; i >= 0; i--) {
            uint16_t half;
            memcpy(&half, (const char *)values + 2 * i, sizeof half);
            const uint32_t bits = (uint32_t)half << 16;
            memcpy(&values[i], &bits, sizeof bits);
        }
    room_close(&room);
    return values;
}

/* Each operand in turn is more than its part of the work memory. */
static void blocks(void **state)
{
    struct cuda_beside_cpu *pair = *state;
    const bool half = knows_bf16(pair);
    static const struct shape shapes[] = {
        {"A in blocks of rows", 12001, 4, 250, false, false, false},
        {"B in blocks of columns", 4, 12001, 250, false, false, false},
        {"B in blocks of rows", 4, 12001, 250, false, true, false},
        {"both in blocks of k", 250, 4, 12001, true, false, false},
        {"both in blocks of k, the other way round", 4, 250, 12001, true, true, false},
        {"sums in blocks", 1501, 1001, 1001, false, false, true},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct shape *const s = &shapes[i];
        float *const here = matmul_run(pair->cpu.device, s, false), *const there =
                                                                        matmul_run(pair->cuda.devices[0], s, half);
        results_compare(s->name, here, there, s->m * s->n, half && s->sums ? 0x1p-8 : 0); /* to the nearest bf16 */
        assert_true(s->m * s->n * 4 > PART_BYTES || s->m * s->k * 2 > PART_BYTES || s->k * s->n * 2 > PART_BYTES);
    }
    assert_string_equal(pair->control->faults(), "");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bf16),
        cmocka_unit_test(convolutions),
        cmocka_unit_test(blocks),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, cuda_beside_cpu_open, cuda_beside_cpu_close);
}
