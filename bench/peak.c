/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The multiply-add loops and the copy. The loops are written for each vector width with its own target attribute and
 * picked at run time, so that a portable build measures the same machine as a native one. Twelve sums hide the latency
 * of four cycles on two units with room to spare and fit into sixteen registers.
 */
#include "peak.h"

#include <string.h>

#include "base/alloc.h"

#if defined(__x86_64__)
#include <immintrin.h>
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

/* Four lanes, for everything else; the compiler contracts the two operations where the machine has one. */
typedef float quad __attribute__((vector_size(16)));

static float fma_quad(int64_t rounds)
{
#define QUAD_SET(x)       ((quad){(x), (x), (x), (x)})
#define QUAD_FMA(s, f, a) ((s) * (f) + (a))
#define QUAD_ADD(a, b)    ((a) + (b))
    FMA_LOOP(quad, QUAD_SET, QUAD_FMA, QUAD_ADD)
    return all[0];
}

struct variant {
    const char *name;
    float (*run)(int64_t rounds);
    int lanes;
};

static struct variant widest(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return (struct variant){"AVX-512", fma_avx512, 16};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return (struct variant){"AVX2", fma_avx2, 8};
#endif
    return (struct variant){"128-bit", fma_quad, 4};
}

const char *peak_vectors(void)
{
    return widest().name;
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
    sink = widest().run(peak->repeats * ROUNDS_PER_REPEAT);
}

static void fma_run(void *context, int64_t repeats)
{
    struct peak *peak = context;
    peak->repeats = repeats;
    mx_pool_run(peak->pool, fma_worker, peak);
}

struct bench_job peak_fma_job(struct peak *peak)
{
    return (struct bench_job){
        .run = fma_run, .context = peak, .work = 2.0 * SUMS * widest().lanes * ROUNDS_PER_REPEAT * peak->workers};
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
