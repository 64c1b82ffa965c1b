/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The multiply-add loops and the copy. The fp32 loops are written for each vector width with its own target attribute;
 * the width of the kernels that are measured picks one at run time, so AVX2 kernels on a larger machine are compared
 * with its AVX2 peak. Twelve sums hide the latency of four cycles on two units with room to spare and fit into sixteen
 * registers.
 */
#include "peak.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#define ROUNDS_PER_REPEAT 2000
#define SUMS              12

static _Atomic float sink; /* keeps the loops alive */

/* One loop over SUMS independent sums s0 … s11 of vectors V. */
#define FMA_LOOP(V, SET, FMA, ADD)                                                                                     \
    const V factor = SET(0.999f), addend = SET(0.001f);                                                                \
    V s0 = SET(0), s1 = SET(1), s2 = SET(2), s3 = SET(3), s4 = SET(4), s5 = SET(5), s6 = SET(6), s7 = SET(7),          \
      s8 = SET(8), s9 = SET(9), s10 = SET(10), s11 = SET(11);                                                          \
    for (int64_t i = 0; i < rounds; i++) {                                                                             \
        s0 = FMA(s0, factor, addend);                                                                                  \
        s1 = FMA(s1, factor, addend);                                                                                  \
        s2 = FMA(s2, factor, addend);                                                                                  \
        s3 = FMA(s3, factor, addend);                                                                                  \
        s4 = FMA(s4, factor, addend);                                                                                  \
        s5 = FMA(s5, factor, addend);                                                                                  \
        s6 = FMA(s6, factor, addend);                                                                                  \
        s7 = FMA(s7, factor, addend);                                                                                  \
        s8 = FMA(s8, factor, addend);                                                                                  \
        s9 = FMA(s9, factor, addend);                                                                                  \
        s10 = FMA(s10, factor, addend);                                                                                \
        s11 = FMA(s11, factor, addend);                                                                                \
    }                                                                                                                  \
    const V all =                                                                                                      \
        ADD(ADD(ADD(s0, s1), ADD(s2, s3)), ADD(ADD(ADD(s4, s5), ADD(s6, s7)), ADD(ADD(s8, s9), ADD(s10, s11))));

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static float fma_avx512(int64_t rounds)
{
    FMA_LOOP(__m512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_add_ps)
    return _mm512_cvtss_f32(all);
}

__attribute__((target("avx2,fma"))) static float fma_avx2(int64_t rounds)
{
    FMA_LOOP(__m256, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_add_ps)
    return _mm256_cvtss_f32(all);
}
#endif

#if defined(__aarch64__) && defined(__ARM_NEON)
static float fma_neon(int64_t rounds)
{
#define NEON_FMA(s, f, a) vfmaq_f32(a, s, f)
    FMA_LOOP(float32x4_t, vdupq_n_f32, NEON_FMA, vaddq_f32)
    return vgetq_lane_f32(all, 0);
}
#else
/* Four lanes without a fused operation, for everything else. */
typedef float quad __attribute__((vector_size(16)));

static float fma_quad(int64_t rounds)
{
#define QUAD_SET(x)       ((quad){(x), (x), (x), (x)})
#define QUAD_FMA(s, f, a) ((s) * (f) + (a))
#define QUAD_ADD(a, b)    ((a) + (b))
    FMA_LOOP(quad, QUAD_SET, QUAD_FMA, QUAD_ADD)
    return all[0];
}
#endif

struct variant {
    const char *name;
    float (*run)(int64_t rounds);
    int step; /* multiply-adds of a round */
};

int peak_vector_bytes(void)
{
    const struct mx_cpu_kernels *kernels;
    if (mx_cpu_kernels_choose(getenv("MYXTTS_ISA"), &kernels) < 0) bench_die("cannot choose kernels");
    return kernels->vector_bytes;
}

/* The loop with vectors as wide as those of the kernels. */
static struct variant of_kernels(void)
{
#if defined(__x86_64__)
    const int bytes = peak_vector_bytes();
    if (bytes == 64) return (struct variant){"AVX-512", fma_avx512, 16 * SUMS};
    if (bytes == 32) return (struct variant){"AVX2", fma_avx2, 8 * SUMS};
#endif
#if defined(__aarch64__) && defined(__ARM_NEON)
    return (struct variant){"NEON", fma_neon, 4 * SUMS};
#else
    return (struct variant){"128-bit", fma_quad, 4 * SUMS};
#endif
}

const char *peak_vectors(void)
{
    return of_kernels().name;
}

void peak_open(struct peak *peak, const int *cores, int workers)
{
    *peak = (struct peak){.workers = workers};
    const struct mx_pool_options options = {.name = "peak", .workers = workers, .cores = cores};
    if (mx_pool_create(&options, &peak->pool) < 0) bench_die("cannot start the threads of the peak");
}

void peak_close(struct peak *peak)
{
    mx_pool_destroy(peak->pool);
    mx_free(peak->from);
    mx_free(peak->to);
    *peak = (struct peak){0};
}

static void fma_worker(void *context, int worker)
{
    const struct peak *peak = context;
    (void)worker;
    sink = peak->fma(peak->repeats * ROUNDS_PER_REPEAT);
}

static void fma_run(void *context, int64_t repeats)
{
    struct peak *peak = context;
    peak->repeats = repeats;
    mx_pool_run(peak->pool, fma_worker, peak);
}

struct bench_job peak_fma_job(struct peak *peak)
{
    const struct variant variant = of_kernels();
    peak->fma = variant.run;
    return (struct bench_job){
        .run = fma_run, .context = peak, .work = 2.0 * variant.step * ROUNDS_PER_REPEAT * peak->workers};
}

static void step_worker(void *context, int worker)
{
    const struct peak *peak = context;
    (void)worker;
    sink = peak->fma(peak->step_rounds);
}

static void step_run(void *context, int64_t repeats)
{
    struct peak *peak = context;
    for (int64_t i = 0; i < repeats; i++) mx_pool_run(peak->pool, step_worker, peak);
}

struct bench_job peak_step_job(struct peak *peak, double flops)
{
    const struct variant variant = of_kernels();
    const double round = 2.0 * variant.step * peak->workers;
    peak->fma = variant.run;
    peak->step_rounds = flops > round ? (int64_t)(flops / round) : 1;
    return (struct bench_job){.run = step_run, .context = peak, .work = round * (double)peak->step_rounds};
}

/* ---- bf16 ---- */

#if defined(__x86_64__)
/* Four tiles of sums, as many as have room beside their operands. */
__attribute__((target("amx-tile,amx-bf16"))) static float bf16_amx(int64_t rounds)
{
    static const struct {
        uint8_t palette, reserved[15];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } config
        __attribute__((aligned(64))) = {1, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};
    _tile_loadconfig(&config);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    uint16_t numbers[16 * 32]; /* not all 0: power is a limit, too */
    for (int i = 0; i < 16 * 32; i++) numbers[i] = (uint16_t)(0x3f00 + i % 255 + (i % 2 << 15));
    __asm__ volatile("" ::: "memory"); /* the compiler does not know that the tiles read them */
    _tile_loadd(4, numbers, 64);
    _tile_loadd(5, numbers, 64);
    _tile_loadd(6, numbers, 64);
    _tile_loadd(7, numbers, 64);
    for (int64_t i = 0; i < rounds; i++) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_release();
    return 0;
}

__attribute__((target("avx512bf16"))) static float bf16_avx512(int64_t rounds)
{
#define BF16_SET(x)       _mm512_set1_ps(x)
#define BF16_FMA(s, f, a) _mm512_dpbf16_ps(s, (__m512bh)(f), (__m512bh)(a))
    FMA_LOOP(__m512, BF16_SET, BF16_FMA, _mm512_add_ps)
    return _mm512_cvtss_f32(all);
}
#endif

static struct variant widest_bf16(void)
{
#if defined(__x86_64__)
    enum { AVX512_BF16 = 1u << 5, AMX_BF16 = 1u << 22, REQUEST_COMPONENT = 0x1023, TILE_DATA = 18 };
    unsigned a, b, c, d;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & AMX_BF16) &&
        syscall(SYS_arch_prctl, REQUEST_COMPONENT, TILE_DATA) == 0)
        return (struct variant){"AMX peak", bf16_amx, 4 * 16 * 16 * 32};
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & AVX512_BF16))
        return (struct variant){"AVX512-BF16 peak", bf16_avx512, 32 * SUMS};
#endif
    return (struct variant){0};
}

const char *peak_bf16_name(void)
{
    return widest_bf16().name;
}

static void bf16_worker(void *context, int worker)
{
    const struct peak *peak = context;
    (void)worker;
    sink = peak->bf16(peak->repeats * ROUNDS_PER_REPEAT);
}

static void bf16_run(void *context, int64_t repeats)
{
    struct peak *peak = context;
    peak->repeats = repeats;
    mx_pool_run(peak->pool, bf16_worker, peak);
}

bool peak_bf16_job(struct peak *peak, struct bench_job *job)
{
    const struct variant variant = widest_bf16();
    if (!variant.run) return false;
    peak->bf16 = variant.run;
    *job = (struct bench_job){
        .run = bf16_run, .context = peak, .work = 2.0 * variant.step * ROUNDS_PER_REPEAT * peak->workers};
    return true;
}

static void copy_worker(void *context, int worker)
{
    const struct peak *peak = context;
    const size_t begin = peak->bytes / 64 * (size_t)worker / (size_t)peak->workers * 64;
    const size_t end = peak->bytes / 64 * (size_t)(worker + 1) / (size_t)peak->workers * 64;
    for (int64_t i = 0; i < peak->repeats; i++) memcpy(peak->to + begin, peak->from + begin, end - begin);
}

static void copy_run(void *context, int64_t repeats)
{
    struct peak *peak = context;
    peak->repeats = repeats;
    mx_pool_run(peak->pool, copy_worker, peak);
}

struct bench_job peak_copy_job(struct peak *peak, size_t footprint_bytes)
{
    mx_free(peak->from);
    mx_free(peak->to);
    peak->bytes = footprint_bytes / 128 * 64;
    peak->from = bench_alloc(peak->bytes);
    peak->to = bench_alloc(peak->bytes);
    memset(peak->from, 1, peak->bytes);
    return (struct bench_job){.run = copy_run, .context = peak, .work = 2.0 * (double)peak->bytes};
}
