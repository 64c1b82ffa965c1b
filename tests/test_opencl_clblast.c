/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products by CLBlast (src/device/opencl/clblast.h), forced by MYXTTS_CLBLAST=1 on whatever OpenCL device there is:
 * every operation that multiplies matrices, forward and gradient, against the CPU backend and the double-precision
 * reference; products that are cut into blocks; the order of work in a stream; two devices that begin at once; what the
 * budget counts; a library that does not build or multiplies wrongly. Skipped, with the reason on stderr, where OpenCL
 * has no device or CLBlast is not installed; what is said about it and its errors are tested everywhere.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "ops/case.h"
#include "ops/reference.h"
#include "support/opencl.h"

#define USUAL_CASES 8
#define LARGE_CASES 1

static const enum mx_op product_ops[] = {MX_OP_matmul, MX_OP_conv1d, MX_OP_conv1d_grad_input, MX_OP_conv1d_grad_weight};
#define PRODUCT_OPS (sizeof product_ops / sizeof *product_ops)

struct pair {
    struct op_cpu cpu;
    struct opencl_pair opencl; /* no device: skip */
};

static int setup(void **state)
{
    static struct pair pair;
    *state = &pair;
    if (!opencl_available()) return 0; /* says why */
    setenv("MYXTTS_CLBLAST", "1", 1);
    if (!opencl_available()) return 0; /* without the library, the whole backend is refused */
    return op_cpu_open(&pair.cpu, 1, 0) < 0 || opencl_open(&pair.opencl, 1) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    struct pair *pair = *state;
    op_cpu_close(&pair->cpu);
    opencl_close(&pair->opencl);
    return 0;
}

/* ---- operations ---- */

static void operations(void **state)
{
    struct pair *pair = *state;
    if (!pair->opencl.devices[0]) skip();
    for (size_t i = 0; i < PRODUCT_OPS; i++) {
        for (uint64_t seed = 0; seed < USUAL_CASES + LARGE_CASES; seed++) {
            struct mx_op_case c;
            struct mx_op_result cpu, first, second;
            op_case_make(&c, product_ops[i], seed,
                         (struct mx_op_plan){.size = seed < USUAL_CASES ? MX_OP_USUAL : MX_OP_LARGE});
            op_case_must_run(&c, pair->cpu.device, &cpu);
            op_case_must_run(&c, pair->opencl.devices[0], &first);
            op_case_must_run(&c, pair->opencl.devices[0], &second);
            const char *wrong = reference_far(&c, &first, 1);
            if (!wrong) wrong = mx_op_result_far(&c, &cpu, &first);
            if (!wrong) wrong = mx_op_result_differs(&c, &first, &second);
            if (wrong) fail_msg("seed %llu: %s", (unsigned long long)seed, wrong);
            mx_op_result_release(&cpu);
            mx_op_result_release(&first);
            mx_op_result_release(&second);
            mx_op_case_release(&c);
        }
    }
}

/* ---- larger products ---- */

struct shape {
    int64_t m, n, k;
    bool transpose_a, transpose_b, accumulate;
};

/* C of random factors, as many times as asked for, each time after C was halved; on a stream of its own. */
static float *product_run(struct mx_device *device, const struct shape *s, int times)
{
    const int64_t a = s->m * s->k, b = s->k * s->n, c = s->m * s->n, floats = a + b + c;
    struct mx_stream *stream = NULL;
    struct mx_buffer *buffer = NULL;
    float *const all = mx_alloc((size_t)floats, sizeof *all), *const result = mx_alloc((size_t)c, sizeof *result);
    for (int64_t i = 0; i < floats; i++) all[i] = mx_rng_uniform(5, 0, (uint64_t)i) - 0.5f;
    assert_int_equal(mx_stream_create(device, "product", &stream), 0);
    assert_int_equal(mx_buffer_create(device, "operands", (size_t)floats * 4, &buffer), 0);
    assert_int_equal(mx_copy_upload(stream, mx_slice_at(buffer, 0), all, (size_t)floats * 4), 0);
    const struct mx_matmul_args product = {.a = mx_slice_at(buffer, 0),
                                           .b = mx_slice_at(buffer, (size_t)a * 4),
                                           .c = mx_slice_at(buffer, (size_t)(a + b) * 4),
                                           .m = s->m,
                                           .n = s->n,
                                           .k = s->k,
                                           .transpose_a = s->transpose_a,
                                           .transpose_b = s->transpose_b,
                                           .epilogue = {.accumulate = s->accumulate}};
    const struct mx_scale_args half = {.x = product.c, .count = c, .factor = 0.5f};
    for (int i = 0; i < times; i++) {
        assert_int_equal(mx_scale(stream, &half), 0);
        if (mx_matmul(stream, &product) < 0) fail_msg("%s", mx_error_last()->message);
    }
    assert_int_equal(mx_copy_download(stream, result, product.c, (size_t)c * 4), 0);
    assert_int_equal(mx_stream_sync(stream), 0);
    mx_stream_release(stream);
    mx_buffer_release(buffer);
    mx_free(all);
    return result;
}

static void product_compare(struct pair *pair, const struct shape *s, int times)
{
    float *const here = product_run(pair->cpu.device, s, times);
    float *const there = product_run(pair->opencl.devices[0], s, times);
    /* Products of two numbers up to 1/2 deviate by 1/12, their sums by √k/12; each of k roundings errs by up to 2^-24
     * of that, k of them by √k (6 deviations, see device/cases/op_bound.c),
     * on either side; and what is added there is below 1. */
    const double k = (double)s->k, bound = 2 * 0x1p-24 * (16 + 6 * sqrt(k) * fmax(1, sqrt(k) / 12));
    for (int64_t i = 0; i < s->m * s->n; i++) {
        if (!(fabs((double)here[i] - (double)there[i]) <= bound))
            fail_msg("%lld · %lld · %lld: element %lld is %.7g on the CPU and %.7g by CLBlast", (long long)s->m,
                     (long long)s->n, (long long)s->k, (long long)i, (double)here[i], (double)there[i]);
    }
    mx_free(here);
    mx_free(there);
}

/* Large enough for CLBlast's kernel that wants padded copies of A, B and C, with sides that do and do not fit it. */
static void large_products(void **state)
{
    struct pair *pair = *state;
    static const struct shape shapes[] = {
        {640, 640, 512, false, false, false}, {601, 587, 599, true, true, true}, {613, 640, 577, false, true, false}};
    if (!pair->opencl.devices[0]) skip();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) product_compare(pair, &shapes[i], 1);
}

/* Each product follows what was submitted before it, and precedes what is submitted later. */
static void order(void **state)
{
    struct pair *pair = *state;
    if (!pair->opencl.devices[0]) skip();
    product_compare(pair, &(struct shape){90, 70, 50, false, false, true}, 12);
    product_compare(pair, &(struct shape){600, 600, 590, false, false, true}, 3);
}

/* ---- two devices ---- */

enum { SIDE = 150 }; /* of three square matrices */

struct beginner {
    struct mx_stream *stream;
    struct mx_matmul_args args;
    int rc;
    struct mx_error error;
};

static void *begin(void *context)
{
    struct beginner *b = context;
    b->rc = mx_matmul(b->stream, &b->args);
    if (b->rc < 0) b->error = *mx_error_last();
    return NULL;
}

/* Two devices of one context make their first product at the same time: the kernels are built for both. */
static void two_devices(void **state)
{
    const struct pair *pair = *state;
    const size_t bytes = SIDE * SIDE * sizeof(float);
    static float factors[2 * SIDE * SIDE], results[2][SIDE * SIDE];
    struct opencl_pair two;
    struct beginner beginners[2];
    struct mx_buffer *buffers[2];
    pthread_t threads[2];
    if (!pair->opencl.devices[0]) skip();
    if (opencl_open(&two, 2) < 0) skip(); /* says why */
    for (int i = 0; i < 2 * SIDE * SIDE; i++) factors[i] = mx_rng_uniform(6, 0, (uint64_t)i) - 0.5f;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mx_buffer_create(two.devices[i], "operands", 3 * bytes, &buffers[i]), 0);
        beginners[i].args = (struct mx_matmul_args){.a = mx_slice_at(buffers[i], 0),
                                                    .b = mx_slice_at(buffers[i], bytes),
                                                    .c = mx_slice_at(buffers[i], 2 * bytes),
                                                    .m = SIDE,
                                                    .n = SIDE,
                                                    .k = SIDE};
        assert_int_equal(mx_stream_create(two.devices[i], "begin", &beginners[i].stream), 0);
        assert_int_equal(mx_copy_upload(beginners[i].stream, beginners[i].args.a, factors, 2 * bytes), 0);
    }
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, begin, &beginners[i]), 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) {
        if (beginners[i].rc < 0) fail_msg("%s", beginners[i].error.message);
        assert_int_equal(mx_copy_download(beginners[i].stream, results[i], beginners[i].args.c, bytes), 0);
        assert_int_equal(mx_stream_sync(beginners[i].stream), 0);
        mx_stream_release(beginners[i].stream);
        mx_buffer_release(buffers[i]);
    }
    double exact = 0; /* one element of the product */
    for (int k = 0; k < SIDE; k++) exact += (double)factors[7 * SIDE + k] * (double)factors[(SIDE + k) * SIDE + 9];
    assert_true(fabs(exact - (double)results[0][7 * SIDE + 9]) <= 0x1p-24 * 6 * sqrt(SIDE) * fmax(1, sqrt(SIDE) / 12));
    assert_memory_equal(results[0], results[1], bytes);
    opencl_close(&two);
}

/* ---- memory ---- */

/* What a stream takes for products is its owners' and at most what the listing tells; over the limit is the budget's
 * error. */
static void budget(void **state)
{
    struct pair *pair = *state;
    struct mx_stream *stream = NULL;
    struct mx_buffer *buffer = NULL;
    struct mx_device *small = NULL;
    struct mx_budget_stats stats;
    if (!pair->opencl.devices[0]) skip();
    const struct mx_device_info *info = mx_device_info(pair->opencl.devices[0]);
    assert_string_equal(info->products, "CLBlast");
    assert_string_equal(info->products_missing, "");
    for (int round = 0; round < 2; round++) {
        struct mx_device *device = pair->opencl.devices[0];
        if (round == 1) {
            assert_int_equal(mx_registry_device_open(pair->opencl.registry, 0, (uint64_t)8 << 20, &small), 0);
            device = small;
        }
        assert_int_equal(mx_stream_create(device, "budget", &stream), 0);
        assert_int_equal(mx_buffer_create(device, "operands", 48, &buffer), 0);
        const struct mx_matmul_args args = {.a = mx_slice_at(buffer, 0),
                                            .b = mx_slice_at(buffer, 16),
                                            .c = mx_slice_at(buffer, 32),
                                            .m = 2,
                                            .n = 2,
                                            .k = 2};
        const int rc = mx_matmul(stream, &args);
        if (round == 0) {
            bool seen = false;
            assert_int_equal(rc, 0);
            mx_budget_stats(mx_device_budget(device), &stats);
            for (int i = 0; i < stats.owner_count; i++) seen = seen || strcmp(stats.owners[i].name, "clblast") == 0;
            assert_true(seen);
            assert_true(stats.current_bytes > 48 && stats.current_bytes <= info->work_bytes + 48);
        } else {
            assert_int_equal(rc, MX_ERR_BUDGET);
            assert_non_null(strstr(mx_error_last()->message, "clblast"));
        }
        assert_int_equal(mx_stream_sync(stream), 0);
        mx_stream_release(stream);
        mx_buffer_release(buffer);
    }
    mx_device_close(small);
}

/* ---- words ---- */

#if __has_include(<CL/cl.h>)
#include "device/opencl/opencl.h"

/* ---- a library that is not as it should be ---- */

static mx_clblast_product *right; /* what the next three stand in front of */

static int build_refused(int layout, int transpose_a, int transpose_b, size_t m, size_t n, size_t k, float alpha,
                         cl_mem a, size_t a_offset, size_t lda, cl_mem b, size_t b_offset, size_t ldb, float beta,
                         cl_mem c, size_t c_offset, size_t ldc, cl_command_queue *queue, cl_event *event, cl_mem temp)
{
    (void)layout, (void)transpose_a, (void)transpose_b, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)a_offset;
    (void)lda, (void)b, (void)b_offset, (void)ldb, (void)beta, (void)c, (void)c_offset, (void)ldc, (void)queue;
    (void)event, (void)temp;
    return CL_BUILD_PROGRAM_FAILURE;
}

/* Forgets the last of the terms of each sum, of small products. */
static int small_wrong(int layout, int transpose_a, int transpose_b, size_t m, size_t n, size_t k, float alpha,
                       cl_mem a, size_t a_offset, size_t lda, cl_mem b, size_t b_offset, size_t ldb, float beta,
                       cl_mem c, size_t c_offset, size_t ldc, cl_command_queue *queue, cl_event *event, cl_mem temp)
{
    return right(layout, transpose_a, transpose_b, m, n, k < 100 ? k - 1 : k, alpha, a, a_offset, lda, b, b_offset, ldb,
                 beta, c, c_offset, ldc, queue, event, temp);
}

/* Leaves out the last row of C, of large products. */
static int large_wrong(int layout, int transpose_a, int transpose_b, size_t m, size_t n, size_t k, float alpha,
                       cl_mem a, size_t a_offset, size_t lda, cl_mem b, size_t b_offset, size_t ldb, float beta,
                       cl_mem c, size_t c_offset, size_t ldc, cl_command_queue *queue, cl_event *event, cl_mem temp)
{
    return right(layout, transpose_a, transpose_b, m, k < 100 ? n : n - 1, k, alpha, a, a_offset, lda, b, b_offset, ldb,
                 beta, c, c_offset, ldc, queue, event, temp);
}

/* The first product of a device finds out; once the library is as it should be, the device works. */
static void faults(void **state)
{
    const struct pair *pair = *state;
    static const struct {
        mx_clblast_product *product;
        const char *message;
    } cases[] = {{build_refused, "its compiler refuses the kernels of CLBlast"},
                 {small_wrong, "CLBlast multiplies wrongly here (row 0 of a product of 47 · 39 · 35)"},
                 {large_wrong, "CLBlast multiplies wrongly here (row "}};
    struct opencl_pair other;
    struct mx_stream *stream = NULL;
    struct mx_buffer *buffer = NULL;
    if (!pair->opencl.devices[0]) skip();
    assert_int_equal(opencl_open(&other, 1), 0);
    struct mx_clblast *const blast = mx_opencl_device_of(other.devices[0])->blast;
    assert_non_null(blast);
    right = blast->CLBlastSgemmWithTempBuffer;
    assert_int_equal(mx_stream_create(other.devices[0], "faults", &stream), 0);
    assert_int_equal(mx_buffer_create(other.devices[0], "operands", 12, &buffer), 0);
    const struct mx_matmul_args args = {
        .a = mx_slice_at(buffer, 0), .b = mx_slice_at(buffer, 4), .c = mx_slice_at(buffer, 8), .m = 1, .n = 1, .k = 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        blast->CLBlastSgemmWithTempBuffer = cases[i].product;
        assert_int_equal(mx_matmul(stream, &args), MX_ERR_DEVICE);
        if (!strstr(mx_error_last()->message, cases[i].message)) fail_msg("%s", mx_error_last()->message);
        assert_non_null(strstr(mx_error_last()->hint, "MYXTTS_CLBLAST=0"));
    }
    blast->CLBlastSgemmWithTempBuffer = right;
    assert_int_equal(mx_matmul(stream, &args), 0);
    assert_int_equal(mx_stream_sync(stream), 0);
    mx_stream_release(stream);
    mx_buffer_release(buffer);
    opencl_close(&other);
}

/* ---- blocks ---- */

static int greedy_calls;

/* A library that needs much room: 64 KiB for each element of the three matrices. */
static int greedy(int layout, int transpose_a, int transpose_b, size_t m, size_t n, size_t k, size_t a_offset,
                  size_t lda, size_t b_offset, size_t ldb, size_t c_offset, size_t ldc, cl_command_queue *queue,
                  size_t *bytes)
{
    (void)layout, (void)transpose_a, (void)transpose_b, (void)a_offset, (void)lda, (void)b_offset, (void)ldb;
    (void)c_offset, (void)ldc, (void)queue;
    greedy_calls++;
    *bytes = (m * k + k * n + m * n) << 16;
    return 0;
}

/* m, n and k are cut, and the sums go on where they were. */
static void blocks(void **state)
{
    struct pair *pair = *state;
    if (!pair->opencl.devices[0]) skip();
    product_compare(pair, &(struct shape){1, 1, 1, false, false, false}, 1); /* the device is checked */
    struct mx_clblast *const blast = mx_opencl_device_of(pair->opencl.devices[0])->blast;
    mx_clblast_temp_size *const real = blast->CLBlastSGemmTempBufferSize;
    blast->CLBlastSGemmTempBufferSize = greedy;
    for (int i = 0; i < 8; i++)
        product_compare(pair, &(struct shape){67, 90, 41, (i & 1) != 0, (i & 2) != 0, (i & 4) != 0}, 1);
    product_compare(pair, &(struct shape){1, 3, 2000, true, false, true}, 1);
    blast->CLBlastSGemmTempBufferSize = real;
    assert_true(greedy_calls > 9 * 2);
}

static void wishes(void **state)
{
    (void)state;
    enum mx_clblast_wish wish;
    assert_int_equal(mx_clblast_wish_read(NULL, &wish), 0);
    assert_int_equal(wish, MX_CLBLAST_GPUS);
    assert_int_equal(mx_clblast_wish_read("", &wish), 0);
    assert_int_equal(wish, MX_CLBLAST_GPUS);
    assert_int_equal(mx_clblast_wish_read("0", &wish), 0);
    assert_int_equal(wish, MX_CLBLAST_NEVER);
    assert_int_equal(mx_clblast_wish_read("1", &wish), 0);
    assert_int_equal(wish, MX_CLBLAST_ALWAYS);
    assert_int_equal(mx_clblast_wish_read("yes", &wish), MX_ERR_USAGE);
    assert_non_null(strstr(mx_error_last()->message, "MYXTTS_CLBLAST is \"yes\""));
    assert_non_null(strstr(mx_error_last()->hint, "set it to 1"));
}

static void libraries(void **state)
{
    (void)state;
    struct mx_clblast blast = {0};
    assert_int_equal(mx_clblast_load(&blast, "libclblast-which-nobody-has.so"), MX_ERR_NO_DEVICE);
    assert_non_null(strstr(mx_error_last()->message, "libclblast-which-nobody-has.so"));
    assert_non_null(strstr(mx_error_last()->hint, "apt-get install libclblast1"));
    assert_int_equal(mx_clblast_load(&blast, "libm.so.6"), MX_ERR_NO_DEVICE);
    assert_non_null(strstr(mx_error_last()->message, "libm.so.6 has no CLBlastSgemmWithTempBuffer"));
    assert_non_null(strstr(mx_error_last()->hint, "1.5.0"));
    assert_false(blast.loaded);
    mx_clblast_close(&blast);
}

/* Where it is used, and what a listing tells of each kind of device. */
static void descriptions(void **state)
{
    (void)state;
    static const struct {
        enum mx_clblast_wish wish;
        bool loaded;
        enum mx_device_kind kind;
        const char *products, *missing;
    } cases[] = {
        {MX_CLBLAST_GPUS, true, MX_DEVICE_GPU, "CLBlast", ""},
        {MX_CLBLAST_GPUS, true, MX_DEVICE_CPU, "", ""},
        {MX_CLBLAST_GPUS, true, MX_DEVICE_OTHER, "", ""},
        {MX_CLBLAST_GPUS, false, MX_DEVICE_GPU, "", "CLBlast is not installed: apt-get install libclblast1"},
        {MX_CLBLAST_GPUS, false, MX_DEVICE_CPU, "", ""},
        {MX_CLBLAST_NEVER, false, MX_DEVICE_GPU, "", "CLBlast is switched off by MYXTTS_CLBLAST=0"},
        {MX_CLBLAST_NEVER, false, MX_DEVICE_CPU, "", ""},
        {MX_CLBLAST_ALWAYS, true, MX_DEVICE_GPU, "CLBlast", ""},
        {MX_CLBLAST_ALWAYS, true, MX_DEVICE_CPU, "CLBlast", ""},
        {MX_CLBLAST_ALWAYS, true, MX_DEVICE_OTHER, "CLBlast", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct mx_clblast blast = {.wish = cases[i].wish, .loaded = cases[i].loaded};
        struct mx_device_info info = {.kind = cases[i].kind, .memory_bytes = (uint64_t)2 << 30, .work_bytes = 100};
        mx_clblast_describe(&blast, &info);
        assert_string_equal(info.products, cases[i].products);
        assert_string_equal(info.products_missing, cases[i].missing);
        /* a 64th of the memory, twice */
        assert_int_equal(info.work_bytes, info.products[0] ? 100 + ((uint64_t)64 << 20) : 100);
    }
}

static void failures(void **state)
{
    (void)state;
    static const struct {
        int status, code;
        const char *message, *hint;
    } cases[] = {
        {-4, MX_ERR_NO_MEMORY, "gpu:7: a product by CLBlast: the device has no memory left", "lower the sizes"},
        {-6, MX_ERR_NO_MEMORY, "the machine has no memory left", "close other programs"},
        {-11, MX_ERR_DEVICE, "gpu:7: its compiler refuses the kernels of CLBlast (CL_BUILD_PROGRAM_FAILURE)",
         "MYXTTS_CLBLAST=0"},
        {-54, MX_ERR_DEVICE, "no kernels that fit this device (status -54)", "MYXTTS_CLBLAST=0"},
        {-2046, MX_ERR_DEVICE, "no kernels that fit this device (status -2046)", "MYXTTS_CLBLAST=0"},
        {-36, MX_ERR_DEVICE, "failed (status -36, CL_INVALID_COMMAND_QUEUE)", "MYXTTS_CLBLAST=0"},
        {-2039, MX_ERR_DEVICE, "gpu:7: a product by CLBlast failed (status -2039)", "MYXTTS_CLBLAST=0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(mx_clblast_fail("gpu:7", cases[i].status), cases[i].code);
        if (!strstr(mx_error_last()->message, cases[i].message)) fail_msg("%s", mx_error_last()->message);
        if (!strstr(mx_error_last()->hint, cases[i].hint)) fail_msg("%s", mx_error_last()->hint);
    }
}

#define INSIDE                                                                                                         \
    cmocka_unit_test(wishes), cmocka_unit_test(libraries), cmocka_unit_test(descriptions), cmocka_unit_test(failures), \
        cmocka_unit_test(faults), cmocka_unit_test(blocks),
#else
#define INSIDE
#endif

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        INSIDE cmocka_unit_test(operations), cmocka_unit_test(large_products), cmocka_unit_test(order),
        cmocka_unit_test(two_devices),       cmocka_unit_test(budget),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, setup, teardown);
}
