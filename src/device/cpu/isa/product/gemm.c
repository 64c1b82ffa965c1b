/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The matrix product: the tile, the epilogue, the loop over blocks. See gemm.h.
 *
 * Scratch of a worker, in this order: packed B (MX_GEMM_B_FLOATS), MX_GEMM_SHARED panels of A, one tile, partial sums
 * (the rest).
 */
#include "base/number.h"
#include "device/cpu/isa/product/epilogue.h"

#define TILE_FLOATS (MX_GEMM_MR * MX_GEMM_NR)
/* When copies pay (measured, SPEED.md). With fewer rows of C, copying B costs more than reading it with a stride; with
 * more columns of C, copying a transposed A costs less than reading it with one. Strides (in floats) that are a
 * multiple of CONFLICT_STRIDE or of a page make rows fight for the same lines of the cache. */
#define PACK_B_ROWS 1024
#if MX_VEC_BYTES == 64
#define PACK_A_COLUMNS 512
#else
#define PACK_A_COLUMNS 0
#endif
#define CONFLICT_STRIDE 256
#define PAGE_STRIDE     1024

struct scratch {
    float *b;       /* [panels][KC][NR] */
    float *a;       /* panels of A */
    float *tile;    /* [MR][NR], for what does not fit C's edge */
    float *partial; /* [partial_floats], sums of several blocks of k where C itself cannot hold them */
    int64_t partial_floats;
};

/* ---- the tile ---- */

#if !MX_VEC_NEON /* that one is in gemm_neon.c */

#define BASES                                                                                                          \
    ((MX_GEMM_MR + 2) / 3) /* one address for three rows: base, base + row, base + 2 row; so they fit the registers */

/* The compiler may not move work on the next step of k before this point: mixing steps costs it more registers than
 * there are, and the spills cost several per cent. */
#define KEEP_ORDER(pointer) __asm__ volatile("" : "+r"(pointer)::"memory")

/* The vector has to be in a register here: gcc otherwise reads a row of B again from memory for each of its products,
 * and the loads, not the products, set the pace (SPEED.md). */
#if defined(__SSE2__)
#define IN_REGISTER(vector) __asm__("" : "+v"(vector))
#elif defined(__aarch64__)
#define IN_REGISTER(vector) __asm__("" : "+w"(vector))
#else
#define IN_REGISTER(vector) (void)(vector)
#endif

/* sum += the step of k that base + offset and b point at. */
MX_VEC_INLINE void tile_step(mx_vf sum[MX_GEMM_MR][2], const float *const base[BASES], int64_t row, const int offset,
                             const float *b)
{
    mx_vf b0 = *(const mx_vf *)b, b1 = *(const mx_vf *)(b + MX_VEC_FLOATS);
    IN_REGISTER(b0);
    IN_REGISTER(b1);
#pragma GCC unroll 12
    for (int i = 0; i < MX_GEMM_MR; i++) {
        const mx_vf a = mx_vf_set(base[i / 3][i % 3 * row + offset]);
        sum[i][0] = mx_vf_fma(a, b0, sum[i][0]);
        sum[i][1] = mx_vf_fma(a, b1, sum[i][1]);
    }
}

/* Both layouts from one text; `by_rows` is a constant in each caller. */
MX_VEC_INLINE void run_tile(const struct mx_gemm_operands *x, const bool by_rows, float *tile, int64_t ld, bool add,
                            struct mx_gemm_ahead *ahead)
{
    mx_vf sum[MX_GEMM_MR][2];
#pragma GCC unroll 12
    for (int i = 0; i < MX_GEMM_MR; i++) sum[i][0] = sum[i][1] = (mx_vf){0};
    const int64_t row = by_rows ? x->a_row : 1, a_step = by_rows ? 1 : x->a_step, b_step = x->b_step;
    const float *base[BASES], *b = x->b;
#pragma GCC unroll 4
    for (int i = 0; i < BASES; i++) base[i] = x->a + 3 * i * row;
    const char *at = ahead->at;
    int32_t left = ahead->left;
    int64_t k = 0;
    for (; k + MX_GEMM_STEP <= x->kc; k += MX_GEMM_STEP) {
        __builtin_prefetch(at, 0, 2);
        at += 64;
        if (--left == 0) {
            left = ahead->lines;
            at += ahead->wrap;
        }
#pragma GCC unroll 4
        for (int step = 0; step < MX_GEMM_STEP; step++) {
            tile_step(sum, base, row, by_rows ? step : 0, b);
            b += b_step;
#pragma GCC unroll 4
            for (int i = 0; i < BASES && !by_rows; i++) base[i] += a_step;
            KEEP_ORDER(b);
        }
#pragma GCC unroll 4
        for (int i = 0; i < BASES && by_rows; i++) base[i] += MX_GEMM_STEP;
    }
    ahead->at = at;
    ahead->left = left;
    ahead->remaining -= x->kc / MX_GEMM_STEP;
    for (; k < x->kc; k++) {
        tile_step(sum, base, row, 0, b);
        b += b_step;
#pragma GCC unroll 4
        for (int i = 0; i < BASES; i++) base[i] += a_step;
    }
    /* What was there is added last: the caller has asked for it, and it had the whole loop to arrive. */
    if (add) {
#pragma GCC unroll 12
        for (int i = 0; i < MX_GEMM_MR; i++) {
            sum[i][0] += mx_vf_load(tile + i * ld);
            sum[i][1] += mx_vf_load(tile + i * ld + MX_VEC_FLOATS);
        }
    }
#pragma GCC unroll 12
    for (int i = 0; i < MX_GEMM_MR; i++) {
        mx_vf_store(tile + i * ld, sum[i][0]);
        mx_vf_store(tile + i * ld + MX_VEC_FLOATS, sum[i][1]);
    }
}

void mx_cpu_gemm_tile_rows(const struct mx_gemm_operands *x, float *tile, int64_t ld, bool add,
                           struct mx_gemm_ahead *ahead)
{
    run_tile(x, true, tile, ld, add, ahead);
}

void mx_cpu_gemm_tile_columns(const struct mx_gemm_operands *x, float *tile, int64_t ld, bool add,
                              struct mx_gemm_ahead *ahead)
{
    run_tile(x, false, tile, ld, add, ahead);
}

#endif

/* ---- epilogue ---- */

/* Stores a tile of products [rows][columns] at C(m0, n0). `tile` may be C's own memory. Not inlined, and with a copy of
 * the epilogue that no store can change: so that it stays in registers. */
static __attribute__((noinline)) void finish_tile(const struct mx_gemm *job, int64_t m0, int64_t rows, int64_t n0,
                                                  int64_t columns, const float *tile, int64_t ld)
{
    const struct mx_gemm_epilogue e = job->epilogue;
    float *c = job->c;
    const int64_t ldc = job->ldc;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = (m0 + i) * ldc + n0;
        MX_VEC_EACH(j, lanes, 0, columns,
                    { mx_epilogue_finish(&e, c, mx_vf_load_n(tile + i * ld + j, lanes), at + j, n0 + j, lanes); });
    }
}

/* ---- the loop ---- */

/* How one worker's share of C is computed. */
struct plan {
    const struct mx_gemm *job;
    struct scratch *scratch;
    bool plain;      /* C = or += the product and nothing else */
    float *sums;     /* where sums over several blocks of k are kept: C itself or scratch, */
    int64_t sums_ld; /* so that sums + (m - sums_m) · sums_ld + (n - sums_n) is element (m, n) */
    int64_t sums_m, sums_n;
    bool pack_b;                      /* all of B; otherwise only its last, narrow panel */
    int64_t panel_floats;             /* from panel to panel of packed B */
    struct mx_gemm_ahead ahead, then; /* memory to fetch while computing: now, and when that is done */
};

/* Asks for a tile of C, or of something laid out as C. */
static void expect(const float *c, int64_t ldc, int64_t m0, int64_t rows, int64_t n, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++) {
        __builtin_prefetch(c + (m0 + i) * ldc + n, 1);
        __builtin_prefetch(c + (m0 + i) * ldc + n + columns - 1, 1);
    }
}

/* The tile of C at m0, n0 for the block k0 … k0+kc; x has the panel of A, rows m0 … m0+rows-1, and the panel of B. */
static void run_one(struct plan *plan, const struct mx_gemm_operands *x, int64_t m0, int64_t rows, int64_t n,
                    int64_t columns, int64_t k0)
{
    const struct mx_gemm *job = plan->job;
    const struct scratch *scratch = plan->scratch;
    const bool first = k0 == 0, last = k0 + x->kc == job->k;
    const bool add = !first || (plan->plain && job->epilogue.accumulate);
    float *sums = plan->sums + (m0 - plan->sums_m) * plan->sums_ld + (n - plan->sums_n);
    const bool whole = rows == MX_GEMM_MR && columns == MX_GEMM_NR;
    /* An edge tile, and one whose sums need no memory, is computed aside. */
    const bool aside = !whole || (!plan->plain && first && last);
    float *tile = aside ? scratch->tile : sums;
    const int64_t ld = aside ? MX_GEMM_NR : plan->sums_ld;
    if (aside && add)
        for (int64_t i = 0; i < rows; i++)
            memcpy(tile + i * ld, sums + i * plan->sums_ld, (size_t)columns * sizeof(float));
    expect(job->c, job->ldc, m0, rows, n, columns);
    if (last && job->epilogue.pre) expect(job->epilogue.pre, job->ldc, m0, rows, n, columns);
    if (last && job->epilogue.residual && job->epilogue.residual != job->c)
        expect(job->epilogue.residual, job->ldc, m0, rows, n, columns);
    if (job->a.transpose)
        mx_cpu_gemm_tile_columns(x, tile, ld, add, &plan->ahead);
    else
        mx_cpu_gemm_tile_rows(x, tile, ld, add, &plan->ahead);
    if (plan->ahead.remaining <= 0) {
        plan->ahead = plan->then;
        plan->then = mx_gemm_fetch_nothing(scratch->tile);
    }
    if (last && !plan->plain)
        finish_tile(job, m0, rows, n, columns, tile, ld);
    else if (aside)
        for (int64_t i = 0; i < rows; i++)
            memcpy(sums + i * plan->sums_ld, tile + i * ld, (size_t)columns * sizeof(float));
}

/* The panels x of A, rows m0 … m1, times the columns n0 … n1: each panel of B is read by all of them in turn. */
static void run_panels(struct plan *plan, struct mx_gemm_operands *x, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
                       int64_t k0)
{
    const struct mx_gemm_b *b = &plan->job->b;
    for (int64_t n = n0; n < n1; n += MX_GEMM_NR) {
        const int64_t columns = mx_least(n1 - n, MX_GEMM_NR);
        const bool packed = plan->pack_b || columns < MX_GEMM_NR;
        const float *panel =
            packed ? plan->scratch->b + (n - n0) / MX_GEMM_NR * plan->panel_floats : b->data + k0 * b->ld + n;
        for (int64_t m = m0, i = 0; m < m1; m += MX_GEMM_MR, i++) {
            x[i].b = panel;
            x[i].b_step = packed ? MX_GEMM_NR : b->ld;
            run_one(plan, &x[i], m, mx_least(m1 - m, MX_GEMM_MR), n, columns, k0);
        }
    }
}

static int64_t blocks_of_k(const struct mx_gemm *job)
{
    const int64_t most = job->a.transpose ? MX_GEMM_KC_COLUMNS : MX_GEMM_KC;
    return (job->k + most - 1) / most;
}

/* Whether the panel m0 … m0+rows-1 of A is read where it lies, for n columns of C. */
static bool panel_in_place(const struct mx_gemm_a *a, int64_t m0, int64_t rows, int64_t n)
{
    if (rows < MX_GEMM_MR) return false;
    if (a->transpose) return !a->taps && n < PACK_A_COLUMNS;
    if (a->ld % PAGE_STRIDE == 0) return false;
    if (!a->taps) return true;
    /* Rows end to end: what the taps see of one row is contiguous, unless the sequence ends there. */
    const int32_t sequence = mx_cpu_gemm_sequence(a->offsets, a->sequences, m0), reach = a->taps / 2;
    return a->ld == a->width && m0 - reach >= a->offsets[sequence] && m0 + rows + reach <= a->offsets[sequence + 1];
}

/* The panels of A for rows m0 … m1 and the block k0 … k0+kc, in place or copied: one, or of a transposed A several. */
static void place_panels(const struct plan *plan, int64_t m0, int64_t m1, int64_t n, int64_t k0, int64_t kc,
                         struct mx_gemm_operands *x)
{
    const struct mx_gemm_a *a = &plan->job->a;
    const bool in_place = panel_in_place(a, m0, m1 - m0, n);
    float *copy = plan->scratch->a;
    if (!in_place) mx_cpu_gemm_pack_a(a, m0, m1 - m0, k0, kc, copy);
    if (!a->transpose) {
        *x = (struct mx_gemm_operands){.a = in_place ? a->data + (m0 - a->taps / 2) * a->ld + k0 : copy,
                                       .a_row = in_place ? a->ld : MX_GEMM_ROW,
                                       .a_step = 1,
                                       .kc = kc};
        return;
    }
    for (int64_t m = m0; m < m1; m += MX_GEMM_MR, copy += MX_GEMM_PANEL_FLOATS, x++)
        *x = (struct mx_gemm_operands){.a = in_place ? a->data + k0 * a->ld + m : copy,
                                       .a_row = 1,
                                       .a_step = in_place ? a->ld : MX_VEC_FLOATS,
                                       .kc = kc};
}

/* Rows, columns and steps of k. */
struct span {
    int64_t m0, m1, n0, n1, k0, kc;
};

/* Decides what to fetch while the panels m … end of a block of k are computed: the rows of A that come next; of a
 * transposed A, whose inner dimension is long, also both operands of the next block of k, which are read once and come
 * from far away. */
static void look_ahead(struct plan *plan, const struct span *all, int64_t m, int64_t end)
{
    const struct mx_gemm_a *a = &plan->job->a;
    const struct mx_gemm_b *b = &plan->job->b;
    const int64_t rows = end - m, left = mx_least(all->m1 - end, rows), next = all->k0 + all->kc;
    if (!a->transpose) {
        if (left > 0 && a->taps)
            plan->ahead = mx_gemm_fetch(a->data + end * a->ld, left, a->width, a->ld);
        else if (left > 0)
            plan->ahead = mx_gemm_fetch(a->data + end * a->ld + all->k0, left, all->kc, a->ld);
        return;
    }
    const int64_t steps = mx_least(plan->job->k - next, all->kc);
    const bool fits = MX_GEMM_SHARED > 1 && !a->taps; /* several panels: what is fetched is used before it is lost */
    if (fits && left > 0) {
        plan->ahead = mx_gemm_fetch(a->data + all->k0 * a->ld + end, all->kc, left, a->ld);
    } else if (steps > 0 && (fits || m == all->m0)) {
        const int64_t column = a->taps ? all->m0 % a->width : all->m0;
        const int64_t columns = mx_least(all->m1 - all->m0, a->taps ? a->width : fits ? rows : INT64_MAX);
        plan->ahead = mx_gemm_fetch(b->data + next * b->ld + all->n0, steps, all->n1 - all->n0, b->ld);
        plan->then = mx_gemm_fetch(a->data + next * a->ld + column, steps, columns, a->ld);
    }
}

/* C(m0 … m1, n0 … n1), at most NC columns: for each block of k pack B once, then go down the rows. */
static void run_block(struct plan *plan, int64_t m0, int64_t m1, int64_t n0, int64_t n1)
{
    const struct mx_gemm *job = plan->job;
    const struct mx_gemm_a *a = &job->a;
    const struct mx_gemm_b *b = &job->b;
    const int64_t blocks = blocks_of_k(job);
    const int64_t depth = ((job->k + blocks - 1) / blocks + MX_GEMM_STEP - 1) / MX_GEMM_STEP * MX_GEMM_STEP;
    /* Of a transposed A several panels share each panel of B, which then stays in the first-level cache. */
    const int64_t height = (a->transpose ? MX_GEMM_SHARED : 1) * MX_GEMM_MR;
    plan->panel_floats = (a->transpose ? MX_GEMM_KC_COLUMNS : MX_GEMM_KC) * MX_GEMM_NR;
    plan->pack_b = b->transpose || b->block || m1 - m0 >= PACK_B_ROWS || b->ld % CONFLICT_STRIDE == 0 ||
                   b->ld % MX_VEC_FLOATS != 0 || (uintptr_t)(b->data + n0) % MX_VEC_BYTES != 0 || height > MX_GEMM_MR;
    for (int64_t k0 = 0; k0 < job->k; k0 += depth) {
        const int64_t kc = mx_least(job->k - k0, depth);
        const int64_t packed = plan->pack_b ? n0 : n1 - (n1 - n0) % MX_GEMM_NR;
        if (packed < n1)
            mx_cpu_gemm_pack_b(b, k0, kc, packed, n1,
                               plan->scratch->b + (packed - n0) / MX_GEMM_NR * plan->panel_floats, plan->panel_floats);
        plan->ahead = plan->then = mx_gemm_fetch_nothing(plan->scratch->tile);
        for (int64_t m = m0; m < m1; m += height) {
            const int64_t end = mx_least(m + height, m1);
            struct mx_gemm_operands x[MX_GEMM_SHARED];
            place_panels(plan, m, end, n1 - n0, k0, kc, x);
            look_ahead(plan, &(struct span){m0, m1, n0, n1, k0, kc}, m, end);
            run_panels(plan, x, m, end, n0, n1, k0);
        }
    }
}

/* k = 0: the product is 0, the epilogue still counts. */
static void run_empty(const struct mx_gemm *job, struct scratch *scratch, int64_t m0, int64_t m1, int64_t n0,
                      int64_t n1)
{
    memset(scratch->tile, 0, TILE_FLOATS * sizeof(float));
    for (int64_t m = m0; m < m1; m += MX_GEMM_MR)
        for (int64_t n = n0; n < n1; n += MX_GEMM_NR)
            finish_tile(job, m, mx_least(m1 - m, MX_GEMM_MR), n, mx_least(n1 - n, MX_GEMM_NR), scratch->tile,
                        MX_GEMM_NR);
}

void mx_cpu_gemm(const struct mx_gang *gang, const struct mx_gemm *job)
{
    const int rows = mx_gemm_grid_rows(job->m, job->n, gang->workers), columns = gang->workers / rows;
    int64_t m0, m1, n0, n1;
    const struct mx_gang by_row = {.worker = gang->worker % rows, .workers = rows};
    const struct mx_gang by_column = {.worker = gang->worker / rows, .workers = columns};
    mx_gang_share(&by_row, job->m, MX_GEMM_MR, &m0, &m1);
    mx_gang_share(&by_column, job->n, MX_GEMM_NR, &n0, &n1);
    if (m0 >= m1 || n0 >= n1) return;

    float *memory = gang->scratch;
    struct scratch scratch = {.b = memory, .a = memory + MX_GEMM_B_FLOATS};
    scratch.tile = scratch.a + MX_GEMM_SHARED * MX_GEMM_PANEL_FLOATS;
    scratch.partial = scratch.tile + TILE_FLOATS;
    scratch.partial_floats = (int64_t)(MX_CPU_SCRATCH_BYTES / sizeof(float)) - (scratch.partial - memory);
    if (job->k == 0) {
        run_empty(job, &scratch, m0, m1, n0, n1);
        return;
    }

    const struct mx_gemm_epilogue *e = &job->epilogue;
    struct plan plan = {.job = job, .scratch = &scratch, .sums = job->c, .sums_ld = job->ldc};
    plan.plain = !e->bias && !e->residual && !e->pre && e->act == MX_ACT_NONE && !e->act_grad;
    /* Sums may stay in C unless the epilogue still needs what C held before. */
    const bool in_place = plan.plain || blocks_of_k(job) == 1 || !(e->accumulate || e->residual == job->c);
    const int64_t most = job->a.transpose ? MX_GEMM_NC_COLUMNS : MX_GEMM_NC, blocks = (n1 - n0 + most - 1) / most;
    const int64_t width = ((n1 - n0 + blocks - 1) / blocks + MX_GEMM_NR - 1) / MX_GEMM_NR * MX_GEMM_NR;
    const int64_t height = in_place ? m1 - m0 : scratch.partial_floats / width / MX_GEMM_MR * MX_GEMM_MR;
    for (int64_t n = n0; n < n1; n += width)
        for (int64_t m = m0; m < m1; m += height) {
            if (!in_place) {
                plan.sums = scratch.partial;
                plan.sums_ld = width;
                plan.sums_m = m;
                plan.sums_n = n;
            }
            run_block(&plan, m, mx_least(m + height, m1), n, mx_least(n + width, n1));
        }
}
