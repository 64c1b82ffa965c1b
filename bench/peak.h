/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What this machine can do at most on some of its cores: multiply-adds per second, and bytes copied per second.
 *
 * A peak runs on one pinned thread per core, the calling thread being the first (bench_measure pins it). Memory:
 * peak_close releases the threads and the copy's arrays.
 */
#ifndef MX_BENCH_PEAK_H
#define MX_BENCH_PEAK_H

#include "base/thread/pool.h"
#include "bench.h"

struct peak {
    struct mx_pool *pool;
    int workers;
    int64_t repeats;
    int64_t step_rounds;           /* of each core, in a piece of peak_step_job */
    float (*fma)(int64_t rounds);  /* the loop of peak_fma_job */
    float (*bf16)(int64_t rounds); /* the loop of peak_bf16_job */
    char *from, *to;               /* the copy's arrays, `bytes` each */
    size_t bytes;
};

void peak_open(struct peak *peak, const int *cores, int workers);
void peak_close(struct peak *peak);

/* Independent multiply-adds in registers, in vectors as wide as those of the kernels in use. Work: floating-point
 * operations. */
struct bench_job peak_fma_job(struct peak *peak);
/* The same in pieces of about `flops`, divided evenly over the cores, each begun and joined by the pool as an operation
 * is: what an operation of that length can reach when the cores wait for the slowest of them. */
struct bench_job peak_step_job(struct peak *peak, double flops);
/* memcpy between two arrays that together are as large as `footprint_bytes`, so that they lie in the same caches as
 * what is compared. Work: bytes read plus bytes written. */
struct bench_job peak_copy_job(struct peak *peak, size_t footprint_bytes);
/* The same of bf16 numbers with fp32 sums, in AMX tiles or AVX512-BF16 vectors; false where there are neither. */
bool peak_bf16_job(struct peak *peak, struct bench_job *job);
const char *peak_bf16_name(void); /* "AMX peak" */
const char *peak_vectors(void);   /* "AVX-512" */
int peak_vector_bytes(void);      /* 64 */

#endif
