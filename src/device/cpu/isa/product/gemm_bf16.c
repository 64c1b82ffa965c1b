/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The matrix product with bf16 factors: blocks of C by AMX or by AVX512-BF16, the epilogue, the loop. See gemm_bf16.h.
 *
 * Scratch of a worker, in this order: packed B, one panel of A (32 × KC), a row of A, one block of C, partial sums (the
 * rest).
 */
#include "device/cpu/isa/product/gemm_bf16.h"

#if MX_BF16_KERNELS

#include "base/number.h"
#include "device/cpu/isa/bf16.h"
#include "device/cpu/isa/product/epilogue.h"

#define EDGE MX_BF16_EDGE
#define HALF MX_BF16_HALF
/* KC: most of k in one block, so that a panel of A stays in the first-level cache while panels of B pass through it.
 * B_ELEMENTS: most of B packed at a time, so that it stays in the second-level cache; of at most NC columns. */
#define KC         320
#define NC         768
#define B_ELEMENTS (768 * NC)

/* ---- a block of C ---- */

/* The tiles' sizes: 16 rows of 64 bytes, all eight of them. Byte 0: the palette; from 16: bytes of a row, two bytes for
 * each tile; from 48: rows, one byte each. */
static const struct tile_config {
    uint8_t palette, start, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config __attribute__((aligned(64))) = {
    .palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
_Static_assert(sizeof(struct tile_config) == 64, "as the processor reads it");

#define AMX __attribute__((target("amx-tile,amx-bf16"), noinline))
/* The compiler does not know what tile loads read: everything must be in memory by now. */
#define IN_MEMORY() __asm__ volatile("" ::: "memory")

AMX static void tiles_begin(void)
{
    _tile_loadconfig(&tile_config);
}

AMX static void tiles_end(void)
{
    _tile_release();
}

/* C [32][32] = or += A · B over `steps` steps of k. */
AMX static void block_amx(const uint16_t *a, const uint16_t *b, int64_t steps, float *c, int64_t ldc, bool add)
{
    float *const below = c + HALF * ldc;
    const int64_t stride = ldc * (int64_t)sizeof *c;
    IN_MEMORY();
    if (add) {
        _tile_loadd(0, c, stride);
        _tile_loadd(1, c + HALF, stride);
        _tile_loadd(2, below, stride);
        _tile_loadd(3, below + HALF, stride);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (; steps > 0; steps--, a += MX_BF16_BLOCK, b += MX_BF16_BLOCK) {
        _tile_loadd(4, a, 64);
        _tile_loadd(6, b, 64);
        _tile_loadd(7, b + HALF * EDGE, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(5, a + HALF * EDGE, 64);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, c, stride);
    _tile_stored(1, c + HALF, stride);
    _tile_stored(2, below, stride);
    _tile_stored(3, below + HALF, stride);
    IN_MEMORY();
}

/* The same for one tile [16][16]. */
AMX static void tile_amx(const uint16_t *a, const uint16_t *b, int64_t steps, float *c, int64_t ldc, bool add)
{
    const int64_t stride = ldc * (int64_t)sizeof *c;
    IN_MEMORY();
    if (add)
        _tile_loadd(0, c, stride);
    else
        _tile_zero(0);
    for (; steps > 0; steps--, a += MX_BF16_BLOCK, b += MX_BF16_BLOCK) {
        _tile_loadd(4, a, 64);
        _tile_loadd(6, b, 64);
        _tile_dpbf16ps(0, 4, 6);
    }
    _tile_stored(0, c, stride);
    IN_MEMORY();
}

#define GROUP 8 /* rows whose sums are in registers together */

/* The same for GROUP rows and one or two halves of columns, by AVX512-BF16. */
__attribute__((target("avx512bf16"), always_inline)) static inline void
rows_avx512(const uint16_t *a, const uint16_t *b, int64_t steps, float *c, int64_t ldc, bool add, const int halves)
{
    __m512 sum[GROUP][2];
#pragma GCC unroll 8
    for (int i = 0; i < GROUP; i++)
        for (int j = 0; j < halves; j++)
            sum[i][j] = add ? _mm512_loadu_ps(c + i * ldc + j * HALF) : _mm512_setzero_ps();
    for (; steps > 0; steps--, a += MX_BF16_BLOCK, b += MX_BF16_BLOCK)
        for (int p = 0; p < HALF; p++) {
            __m512bh column[2];
            for (int j = 0; j < halves; j++) column[j] = (__m512bh)_mm512_loadu_si512(b + j * HALF * EDGE + p * EDGE);
#pragma GCC unroll 8
            for (int i = 0; i < GROUP; i++) {
                int32_t both;
                memcpy(&both, a + i * EDGE + 2 * p, sizeof both);
                const __m512bh row = (__m512bh)_mm512_set1_epi32(both);
                for (int j = 0; j < halves; j++) sum[i][j] = _mm512_dpbf16_ps(sum[i][j], row, column[j]);
            }
        }
#pragma GCC unroll 8
    for (int i = 0; i < GROUP; i++)
        for (int j = 0; j < halves; j++) _mm512_storeu_ps(c + i * ldc + j * HALF, sum[i][j]);
}

__attribute__((target("avx512bf16"))) static void block_avx512(const uint16_t *a, const uint16_t *b, int64_t steps,
                                                               float *c, int64_t ldc, bool add, int64_t rows,
                                                               int64_t columns)
{
    for (int64_t i = 0; i < rows; i += GROUP)
        if (columns > HALF)
            rows_avx512(a + i * EDGE, b, steps, c + i * ldc, ldc, add, 2);
        else
            rows_avx512(a + i * EDGE, b, steps, c + i * ldc, ldc, add, 1);
}

/* rows × columns of a block, rounded up to what the instructions do at once: c must have room for that. */
static void run_block(enum mx_cpu_bf16 level, const uint16_t *a, const uint16_t *b, int64_t steps, float *c,
                      int64_t ldc, bool add, int64_t rows, int64_t columns)
{
    if (level == MX_CPU_BF16_AVX512) {
        block_avx512(a, b, steps, c, ldc, add, rows, columns);
    } else if (rows > HALF && columns > HALF) {
        block_amx(a, b, steps, c, ldc, add);
    } else {
        for (int64_t i = 0; i < rows; i += HALF)
            for (int64_t j = 0; j < columns; j += HALF)
                tile_amx(a + i * EDGE, b + j * EDGE, steps, c + i * ldc + j, ldc, add);
    }
}

/* ---- epilogue ---- */

#define BF16 __attribute__((target("avx512bf16")))

/* A whole vector is rounded by the instruction. */
BF16 static inline __attribute__((always_inline)) void store_narrow(uint16_t *p, mx_vf v, const int lanes)
{
    if (__builtin_constant_p(lanes) && lanes == MX_VEC_FLOATS)
        _mm256_storeu_si256((__m256i *)(void *)p, (__m256i)_mm512_cvtneps_pbh((__m512)v));
    else
        mx_bf16_store_n(p, v, lanes);
}

/* One vector of products z at element `at` of C, column n: struct mx_epilogue, with C and pre in either type. */
BF16 MX_VEC_INLINE void finish_vector(const struct mx_gemm *job, mx_vf z, int64_t at, int64_t n, const int lanes)
{
    const struct mx_gemm_epilogue *e = &job->epilogue;
    uint16_t *const narrow_pre = (uint16_t *)(void *)e->pre, *const narrow_c = (uint16_t *)(void *)job->c;
    if (e->act_grad) {
        const mx_vf pre = e->pre_bf16 ? mx_bf16_load_n(narrow_pre + at, lanes) : mx_vf_load_n(e->pre + at, lanes);
        z *= mx_epilogue_slope(e->act, pre);
    } else {
        if (e->bias) z += mx_vf_load_n(e->bias + n, lanes);
        if (e->pre && e->pre_bf16)
            store_narrow(narrow_pre + at, z, lanes);
        else if (e->pre)
            mx_vf_store_n(e->pre + at, z, lanes);
        z = mx_epilogue_activate(e->act, z);
    }
    if (e->residual) z += mx_vf_load_n(e->residual + at, lanes);
    if (e->accumulate) z += mx_vf_load_n(job->c + at, lanes);
    if (e->c_bf16)
        store_narrow(narrow_c + at, z, lanes);
    else
        mx_vf_store_n(job->c + at, z, lanes);
}

/* Stores a block of products at C(m0, n0). `sums` may be C's own memory. */
BF16 static void finish_block(const struct mx_gemm *job, int64_t m0, int64_t rows, int64_t n0, int64_t columns,
                              const float *sums, int64_t ld)
{
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = (m0 + i) * job->ldc + n0;
        MX_VEC_EACH(j, lanes, 0, columns,
                    finish_vector(job, mx_vf_load_n(sums + i * ld + j, lanes), at + j, n0 + j, lanes););
    }
}

/* ---- the loop ---- */

/* How one worker's share of C is computed. */
struct plan {
    const struct mx_gemm *job;
    enum mx_cpu_bf16 level;
    uint16_t *a, *b, *row;
    float *block;      /* [32][32] */
    float *partial;    /* [partial_floats] */
    bool plain;        /* C = or += the product and nothing else: C itself holds the sums between blocks of k */
    int64_t depth;     /* of k, for which B is packed at a time; a multiple of 32 */
    int64_t width;     /* columns of B packed at a time */
    int64_t panel;     /* elements of a panel of B */
    int64_t partial_m; /* first row of what `partial` [.][width] holds */
    int64_t partial_floats;
};

/* One block of k: rows (≤ 32) of C from m on, columns n0 … n1-1, k … k+kc-1; A is packed for them, B from k0 on. */
struct step {
    int64_t m, rows, n0, n1, k0, k, kc;
};

static void run_panel(const struct plan *plan, const struct step *s)
{
    const struct mx_gemm *job = plan->job;
    const bool first = s->k == 0, last = s->k + s->kc == job->k;
    const bool add = !first || (plan->plain && job->epilogue.accumulate);
    const int64_t steps = (s->kc + EDGE - 1) / EDGE, rows = s->rows;
    for (int64_t n = s->n0; n < s->n1; n += EDGE) {
        const int64_t columns = mx_least(s->n1 - n, EDGE);
        const uint16_t *b = plan->b + (n - s->n0) / EDGE * plan->panel + (s->k - s->k0) / EDGE * MX_BF16_BLOCK;
        /* Sums between blocks of k: in C, or in scratch where C is another type or still needed as it was. */
        float *sums = plan->plain ? job->c + s->m * job->ldc + n
                                  : plan->partial + (s->m - plan->partial_m) * plan->width + n - s->n0;
        const int64_t sums_ld = plan->plain ? job->ldc : plan->width;
        const bool aside = plan->plain ? rows < EDGE || columns < EDGE : first && last;
        float *c = aside ? plan->block : sums;
        const int64_t ld = aside ? EDGE : sums_ld;
        if (aside && add)
            for (int64_t i = 0; i < rows; i++) memcpy(c + i * ld, sums + i * sums_ld, (size_t)columns * sizeof *c);
        run_block(plan->level, plan->a, b, steps, c, ld, add, rows, columns);
        if (!plan->plain && last)
            finish_block(job, s->m, rows, n, columns, c, ld);
        else if (plan->plain && aside)
            for (int64_t i = 0; i < rows; i++) memcpy(sums + i * sums_ld, c + i * ld, (size_t)columns * sizeof *c);
    }
}

/* Equal blocks of at most `most`, in multiples of 32. */
static int64_t equal_blocks(int64_t all, int64_t most)
{
    const int64_t blocks = (all + most - 1) / most;
    return ((all + blocks - 1) / blocks + EDGE - 1) / EDGE * EDGE;
}

/* C(m0 … m1, n0 … n1), at most plan->width columns: for as much of k as B has room for pack B once, then go down the
 * rows, for each of them over the blocks of k. */
static void run_part(struct plan *plan, int64_t m0, int64_t m1, int64_t n0, int64_t n1)
{
    const struct mx_gemm *job = plan->job;
    const bool at_once = plan->depth >= job->k;
    plan->partial_m = m0;
    for (int64_t k0 = 0; k0 < job->k; k0 += plan->depth) {
        const int64_t depth = mx_least(job->k - k0, plan->depth), block = equal_blocks(depth, KC);
        mx_cpu_bf16_pack_b(&job->b, k0, depth, n0, n1, plan->b, plan->panel);
        for (int64_t m = m0; m < m1; m += EDGE) {
            struct step s = {.m = m, .rows = mx_least(m1 - m, EDGE), .n0 = n0, .n1 = n1, .k0 = k0};
            if (at_once) plan->partial_m = m;
            for (s.k = k0; s.k < k0 + depth; s.k += block) {
                s.kc = mx_least(k0 + depth - s.k, block);
                mx_cpu_bf16_pack_a(&job->a, m, s.rows, s.k, s.kc, plan->row, plan->a);
                run_panel(plan, &s);
            }
        }
    }
}

/* The product of an empty sum. */
static void run_empty(const struct plan *plan, int64_t m0, int64_t m1, int64_t n0, int64_t n1)
{
    memset(plan->block, 0, MX_BF16_BLOCK * sizeof *plan->block);
    for (int64_t m = m0; m < m1; m += EDGE)
        for (int64_t n = n0; n < n1; n += EDGE)
            finish_block(plan->job, m, mx_least(m1 - m, EDGE), n, mx_least(n1 - n, EDGE), plan->block, EDGE);
}

/* The grid of workers over C that packs least: every worker packs its rows of A and its columns of B. */
static int grid_rows(int64_t m, int64_t n, int workers)
{
    int best = workers;
    for (int rows = 1; rows <= workers; rows++)
        if (workers % rows == 0 && m / rows + n / (workers / rows) < m / best + n / (workers / best)) best = rows;
    return best;
}

static struct plan plan_of(const struct mx_gang *gang, const struct mx_gemm *job, int64_t n)
{
    const struct mx_gemm_epilogue *e = &job->epilogue;
    struct plan plan = {.job = job, .level = gang->bf16, .b = gang->scratch};
    plan.a = plan.b + B_ELEMENTS;
    plan.row = plan.a + EDGE * KC;
    plan.block = (float *)(void *)(plan.row + KC);
    plan.partial = plan.block + MX_BF16_BLOCK;
    plan.partial_floats = (int64_t)(MX_CPU_SCRATCH_BYTES / sizeof(float)) - (plan.partial - (float *)gang->scratch);
    plan.plain = !e->bias && !e->residual && !e->pre && e->act == MX_ACT_NONE && !e->act_grad && !e->c_bf16;
    plan.width = equal_blocks(n, NC);
    plan.depth = job->k ? equal_blocks(job->k, B_ELEMENTS / plan.width / EDGE * EDGE) : EDGE;
    plan.panel = plan.depth * EDGE;
    return plan;
}

bool mx_cpu_gemm_bf16(const struct mx_gang *gang, const struct mx_gemm *job)
{
    if (job->precision != MX_PRECISION_BF16) return false;
    const int rows = grid_rows(job->m, job->n, gang->workers), columns = gang->workers / rows;
    int64_t m0, m1, n0, n1;
    const struct mx_gang by_row = {.worker = gang->worker % rows, .workers = rows};
    const struct mx_gang by_column = {.worker = gang->worker / rows, .workers = columns};
    mx_gang_share(&by_row, job->m, EDGE, &m0, &m1);
    mx_gang_share(&by_column, job->n, EDGE, &n0, &n1);
    if (m0 >= m1 || n0 >= n1) return true;
    struct plan plan = plan_of(gang, job, n1 - n0);
    if (job->k == 0) {
        run_empty(&plan, m0, m1, n0, n1);
        return true;
    }
    if (plan.level == MX_CPU_BF16_AMX) tiles_begin();
    /* Rows at a time: all of them, or as many as have room for their partial sums. */
    const bool kept = !plan.plain && plan.depth < job->k;
    const int64_t height = kept ? plan.partial_floats / plan.width / EDGE * EDGE : m1 - m0;
    for (int64_t n = n0; n < n1; n += plan.width)
        for (int64_t m = m0; m < m1; m += height)
            run_part(&plan, m, mx_least(m + height, m1), n, mx_least(n + plan.width, n1));
    if (plan.level == MX_CPU_BF16_AMX) tiles_end();
    return true;
}

#else

bool mx_cpu_gemm_bf16(const struct mx_gang *gang, const struct mx_gemm *job)
{
    (void)gang, (void)job; /* a device with these kernels does not take jobs in bf16 */
    return false;
}

#endif
