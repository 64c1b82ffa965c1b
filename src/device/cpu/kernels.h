/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The CPU kernels: one table of functions per instruction set.
 *
 * The files in isa/ are compiled once per variant with MX_ISA set (base, avx2, avx512 or neon; in a portable build base,
 * avx2 and avx512); each variant exports one const table, and the device picks one at start. A kernel is called by every
 * worker of the device's gang at once and does its own share; `gang` says which share. Shares are chosen so that the
 * result does not depend on the number of workers.
 */
#ifndef MX_DEVICE_CPU_KERNELS_H
#define MX_DEVICE_CPU_KERNELS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/thread/pool.h"
#include "device/backend.h"

#define MX_CPU_SCRATCH_BYTES                                                                                           \
    ((size_t)4 << 20) /* private scratch of each worker, 64-byte aligned; counted in the budget */
#define MX_CPU_SHARED_BYTES ((size_t)1 << 20) /* scratch shared by the gang (partial sums), 64-byte aligned */
#define MX_CPU_TICKETS      4

/* The bf16 instructions that the processor has and the operating system permits; better ones come last. */
enum mx_cpu_bf16 { MX_CPU_BF16_NONE, MX_CPU_BF16_AVX512, MX_CPU_BF16_AMX };

/* What one worker knows while it runs a kernel. */
struct mx_gang {
    int worker, workers;
    void *scratch;         /* MX_CPU_SCRATCH_BYTES, this worker's */
    void *shared;          /* MX_CPU_SHARED_BYTES, the gang's */
    atomic_llong *tickets; /* MX_CPU_TICKETS counters, 0 at the start of each operation: dynamic shares */
    struct mx_pool *pool;
    struct mx_stream *stream; /* where failures go: MX_FAIL, then mx_stream_fail */
    enum mx_cpu_bf16 bf16;    /* of the device; an operation that needs it is never called without it */
};

/* All workers wait for each other. */
static inline void mx_gang_barrier(const struct mx_gang *gang)
{
    if (gang->workers > 1) mx_pool_barrier(gang->pool);
}

/* This worker's contiguous share of [0, count), in multiples of `grain`. */
static inline void mx_gang_share(const struct mx_gang *gang, int64_t count, int64_t grain, int64_t *begin, int64_t *end)
{
    const int64_t blocks = (count + grain - 1) / grain;
    const int64_t first = blocks * gang->worker / gang->workers, last = blocks * (gang->worker + 1) / gang->workers;
    *begin = first * grain < count ? first * grain : count;
    *end = last * grain < count ? last * grain : count;
}

/* The next unclaimed number from ticket counter `which` (0, 1, 2, …); every worker gets different ones. */
static inline int64_t mx_gang_ticket(const struct mx_gang *gang, int which)
{
    return atomic_fetch_add_explicit(&gang->tickets[which], 1, memory_order_relaxed);
}

static inline void *mx_cpu_ptr(struct mx_slice slice)
{
    return slice.buffer ? (char *)slice.buffer->host + slice.offset_bytes : NULL;
}

struct mx_cpu_kernels {
    const char *isa;             /* "avx512" */
    int vector_bytes;            /* 64 */
    int tile_rows, tile_columns; /* of the matrix product: 12 by 32 */
    uint64_t needs;              /* the processor features that they need (base/processor.h) */
    bool bf16;                   /* its products support MX_PRECISION_BF16 if the processor does */
    void (*run[MX_OP_COUNT])(const struct mx_gang *gang, const void *args);
};

#define MX_CPU_JOIN_(a, b) a##b
#define MX_CPU_JOIN(a, b)  MX_CPU_JOIN_(a, b)
#define MX_CPU_TABLE(isa)  MX_CPU_JOIN(mx_cpu_kernels_, isa)

#ifdef MX_ISA
/* Inside isa/: a function has one name in the sources, mx_cpu_matmul, and a symbol for each variant, which ends with the
 * name of the variant. Its declaration gives it that symbol. */
#define MX_ISA_TEXT_(isa)   #isa
#define MX_ISA_TEXT(isa)    MX_ISA_TEXT_(isa)
#define MX_ISA_SYMBOL(name) __asm__(#name "_" MX_ISA_TEXT(MX_ISA))

/* mx_cpu_<operation>, one for each; table.c has the table. */
#define MX_ONE(name)  void mx_cpu_##name(const struct mx_gang *gang, const void *args) MX_ISA_SYMBOL(mx_cpu_##name);
#define MX_PAIR(name) MX_ONE(name) MX_ONE(name##_grad)
MX_OP_LIST(MX_PAIR, MX_ONE)
#undef MX_ONE
#undef MX_PAIR
#endif

#endif
