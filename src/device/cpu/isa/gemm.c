/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The matrix product: packing, the loop over blocks, the epilogue. See gemm.h.
 *
 * Scratch of a worker, in this order: packed B (MX_GEMM_KC × MX_GEMM_NC), one panel of A, one tile, partial sums (the
 * rest).
 */
#include "device/cpu/isa/gemm.h"

#define TILE_FLOATS (MX_GEMM_MR * MX_GEMM_NR)
/* With fewer rows of C, copying B costs more than reading it with a stride, unless the stride (in floats) makes its
 * rows fight for the same lines of the cache. */
#define PACK_B_ROWS   1024
#define PACK_B_STRIDE 256

typedef float mx_vf4_any __attribute__((vector_size(16), aligned(4), may_alias));

struct scratch {
    float *b;       /* [panels][KC][NR] */
    float *a;       /* one panel of A */
    float *tile;    /* [MR][NR], for what does not fit C's edge */
    float *partial; /* [partial_floats], sums of several blocks of k where C itself cannot hold them */
    int64_t partial_floats;
};

/* ---- the tile ---- */

#define BASES                                                                                                          \
    ((MX_GEMM_MR + 2) / 3) /* one address for three rows: base, base + row, base + 2 row; so they fit the registers */

/* The compiler may not move work on the next step of k before this point: mixing steps costs it more registers than
 * there are, and the spills cost several per cent. */
#define KEEP_ORDER(pointer) __asm__ volatile("" : "+r"(pointer)::"memory")

/* sum += the step of k that base + offset and b point at. */
MX_VEC_INLINE void tile_step(mx_vf sum[MX_GEMM_MR][2], const float *const base[BASES], int64_t row, const int offset,
                             const float *b)
{
    const mx_vf b0 = *(const mx_vf *)b, b1 = *(const mx_vf *)(b + MX_VEC_FLOATS);
#pragma GCC unroll 12
    for (int i = 0; i < MX_GEMM_MR; i++) {
        const float a = base[i / 3][i % 3 * row + offset];
        sum[i][0] += a * b0;
        sum[i][1] += a * b1;
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

void MX_CPU_FN(gemm_tile_rows)(const struct mx_gemm_operands *x, float *tile, int64_t ld, bool add,
                               struct mx_gemm_ahead *ahead)
{
    run_tile(x, true, tile, ld, add, ahead);
}

void MX_CPU_FN(gemm_tile_columns)(const struct mx_gemm_operands *x, float *tile, int64_t ld, bool add,
                                  struct mx_gemm_ahead *ahead)
{
    run_tile(x, false, tile, ld, add, ahead);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- packing B ---- */

/* dst[k][j] = src[j][k] for a 4 × 4 block. */
static inline void transpose_4x4(const float *src, int64_t ld, float *dst)
{
    const mx_vf4 r0 = *(const mx_vf4_any *)src, r1 = *(const mx_vf4_any *)(src + ld);
    const mx_vf4 r2 = *(const mx_vf4_any *)(src + 2 * ld), r3 = *(const mx_vf4_any *)(src + 3 * ld);
    const mx_vf4 a = __builtin_shufflevector(r0, r1, 0, 4, 1, 5), b = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
    const mx_vf4 c = __builtin_shufflevector(r0, r1, 2, 6, 3, 7), d = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
    *(mx_vf4_any *)dst = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    *(mx_vf4_any *)(dst + MX_GEMM_NR) = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    *(mx_vf4_any *)(dst + 2 * MX_GEMM_NR) = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    *(mx_vf4_any *)(dst + 3 * MX_GEMM_NR) = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

/* Rows k0 … k0+kc-1 of one block, columns n0 … n1-1, into the panels dst, each [.][NR] and panel_floats apart. */
static void pack_b_rows(const float *src, int64_t ld, int64_t kc, int64_t width, float *dst, int64_t panel_floats)
{
    for (int64_t k = 0; k < kc; k++, src += ld, dst += MX_GEMM_NR) {
        float *to = dst;
        int64_t j = 0;
        for (; j + MX_GEMM_NR <= width; j += MX_GEMM_NR, to += panel_floats) {
            const mx_vf v0 = mx_vf_load(src + j), v1 = mx_vf_load(src + j + MX_VEC_FLOATS);
            mx_vf_store(to, v0);
            mx_vf_store(to + MX_VEC_FLOATS, v1);
        }
        if (j < width)
            for (int64_t i = 0; i < MX_GEMM_NR; i++) to[i] = j + i < width ? src[j + i] : 0.0f;
    }
}

/* The same from a block stored [n, k]: one panel of `width` ≤ NR columns. */
static void pack_b_columns(const float *src, int64_t ld, int64_t kc, int64_t width, float *dst)
{
    int64_t k = 0;
    for (; k + 4 <= kc; k += 4) {
        int64_t j = 0;
        for (; j + 4 <= width; j += 4) transpose_4x4(src + j * ld + k, ld, dst + k * MX_GEMM_NR + j);
        for (; j < MX_GEMM_NR; j++)
            for (int64_t i = 0; i < 4; i++) dst[(k + i) * MX_GEMM_NR + j] = j < width ? src[j * ld + k + i] : 0.0f;
    }
    for (; k < kc; k++)
        for (int64_t j = 0; j < MX_GEMM_NR; j++) dst[k * MX_GEMM_NR + j] = j < width ? src[j * ld + k] : 0.0f;
}

void MX_CPU_FN(gemm_pack_b)(const struct mx_gemm_b *b, int64_t k0, int64_t kc, int64_t n0, int64_t n1, float *dst,
                            int64_t panel_floats)
{
    while (kc > 0) {
        const int64_t block = b->block ? k0 / b->block : 0;
        const int64_t inner = b->block ? k0 % b->block : k0;
        const int64_t count = b->block ? least(kc, b->block - inner) : kc;
        const float *src = b->data + block * b->block_stride;
        if (!b->transpose)
            pack_b_rows(src + inner * b->ld + n0, b->ld, count, n1 - n0, dst, panel_floats);
        else
            for (int64_t n = n0; n < n1; n += MX_GEMM_NR)
                pack_b_columns(src + n * b->ld + inner, b->ld, count, least(n1 - n, MX_GEMM_NR),
                               dst + (n - n0) / MX_GEMM_NR * panel_floats);
        dst += count * MX_GEMM_NR;
        k0 += count;
        kc -= count;
    }
}

/* ---- packing A ---- */

/* The sequence that holds `row`: the last one that begins at or before it. */
static int32_t find_sequence(const int32_t *offsets, int32_t count, int64_t row)
{
    int32_t low = 0, high = count;
    while (high - low > 1) {
        const int32_t middle = low + (high - low) / 2;
        if (offsets[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* panel [MR][MX_GEMM_ROW]: rows m0 … of A through the taps, columns k0 … k0+kc-1 of [taps][width]. */
static void pack_a_taps(const struct mx_gemm_a *a, int64_t m0, int64_t rows, int64_t k0, int64_t kc, float *panel)
{
    int32_t sequence = find_sequence(a->offsets, a->sequences, m0);
    for (int64_t i = 0; i < rows; i++, panel += MX_GEMM_ROW) {
        const int64_t row = m0 + i;
        while (sequence + 1 < a->sequences && a->offsets[sequence + 1] <= row) sequence++;
        const int64_t first = a->offsets[sequence], end = a->offsets[sequence + 1];
        for (int64_t done = 0; done < kc;) {
            const int64_t tap = (k0 + done) / a->width, column = (k0 + done) % a->width;
            const int64_t count = least(kc - done, a->width - column);
            const int64_t from = row + tap - a->taps / 2;
            if (from >= first && from < end)
                memcpy(panel + done, a->data + from * a->ld + column, (size_t)count * sizeof(float));
            else
                memset(panel + done, 0, (size_t)count * sizeof(float));
            done += count;
        }
    }
}

/* panel [kc][vector]: columns m0 … of [taps][width] at rows k0 … of the packed sequences (weight gradient of a
 * convolution). */
static void pack_a_taps_transposed(const struct mx_gemm_a *a, int64_t m0, int64_t rows, int64_t k0, int64_t kc,
                                   float *panel)
{
    for (int64_t done = 0; done < rows;) { /* once for each tap that the panel touches */
        const int64_t shift = (m0 + done) / a->width - a->taps / 2, column = (m0 + done) % a->width;
        const int count = (int)least(rows - done, a->width - column);
        int32_t sequence = find_sequence(a->offsets, a->sequences, k0);
        for (int64_t k = 0; k < kc; k++) {
            const int64_t row = k0 + k, from = row + shift;
            while (sequence + 1 < a->sequences && a->offsets[sequence + 1] <= row) sequence++;
            const bool inside = from >= a->offsets[sequence] && from < a->offsets[sequence + 1];
            const mx_vf v = inside ? mx_vf_load_n(a->data + from * a->ld + column, count) : (mx_vf){0};
            mx_vf_store_n(panel + k * MX_VEC_FLOATS + done, v, (int)least(MX_GEMM_MR - done, MX_VEC_FLOATS));
        }
        done += count;
    }
}

/* One panel of op(A) for rows m0 … m0+rows-1 (what is missing of MR is 0) and columns k0 … k0+kc-1. */
static void pack_a(const struct mx_gemm_a *a, int64_t m0, int64_t rows, int64_t k0, int64_t kc, float *panel)
{
    if (a->taps && a->transpose) {
        pack_a_taps_transposed(a, m0, rows, k0, kc, panel);
    } else if (a->transpose) {
        const float *src = a->data + k0 * a->ld + m0;
        for (int64_t k = 0; k < kc; k++, src += a->ld, panel += MX_VEC_FLOATS)
            mx_vf_store(panel, mx_vf_load_n(src, (int)rows));
    } else {
        if (a->taps)
            pack_a_taps(a, m0, rows, k0, kc, panel);
        else
            for (int64_t i = 0; i < rows; i++)
                memcpy(panel + i * MX_GEMM_ROW, a->data + (m0 + i) * a->ld + k0, (size_t)kc * sizeof(float));
        for (int64_t i = rows; i < MX_GEMM_MR; i++) memset(panel + i * MX_GEMM_ROW, 0, (size_t)kc * sizeof(float));
    }
}

/* ---- epilogue ---- */

static inline mx_vf activate(enum mx_activation act, mx_vf z)
{
    if (act == MX_ACT_GELU) return mx_vf_gelu(z);
    if (act == MX_ACT_RELU) return mx_vf_max(z, (mx_vf){0});
    return z;
}

static inline mx_vf activation_slope(enum mx_activation act, mx_vf z)
{
    if (act == MX_ACT_GELU) return mx_vf_gelu_grad(z);
    if (act == MX_ACT_RELU) return mx_vf_select(z > (mx_vf){0}, mx_vf_set(1.0f), (mx_vf){0});
    return mx_vf_set(1.0f);
}

/* One vector of products z, at C + at, column n; `lanes` of it count. */
MX_VEC_INLINE void finish_vector(const struct mx_gemm *job, mx_vf z, int64_t at, int64_t n, const int lanes)
{
    const struct mx_gemm_epilogue *e = &job->epilogue;
    if (e->act_grad) {
        z *= activation_slope(e->act, mx_vf_load_n(e->pre + at, lanes));
    } else {
        if (e->bias) z += mx_vf_load_n(e->bias + n, lanes);
        if (e->pre) mx_vf_store_n(e->pre + at, z, lanes);
        z = activate(e->act, z);
    }
    if (e->residual) z += mx_vf_load_n(e->residual + at, lanes);
    if (e->accumulate) z += mx_vf_load_n(job->c + at, lanes);
    mx_vf_store_n(job->c + at, z, lanes);
}

/* Stores a tile of products [rows][columns] at C(m0, n0). `tile` may be C's own memory. */
static void finish_tile(const struct mx_gemm *job, int64_t m0, int64_t rows, int64_t n0, int64_t columns,
                        const float *tile, int64_t ld)
{
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = (m0 + i) * job->ldc + n0;
        MX_VEC_EACH(j, lanes, 0, columns,
                    { finish_vector(job, mx_vf_load_n(tile + i * ld + j, lanes), at + j, n0 + j, lanes); });
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
    struct mx_gemm_ahead ahead, then; /* memory to fetch while computing: now, and when that is done */
};

/* rows × floats at `from`, rows ld floats apart. */
static struct mx_gemm_ahead fetch(const float *from, int64_t rows, int64_t floats, int64_t ld)
{
    const int32_t lines = (int32_t)((floats + 15) / 16);
    return (struct mx_gemm_ahead){.at = (const char *)from,
                                  .wrap = (ld - 16 * lines) * 4,
                                  .lines = lines,
                                  .left = lines,
                                  .remaining = rows * lines};
}

/* Nothing to fetch: one line of our own again and again. */
static struct mx_gemm_ahead fetch_nothing(const float *own)
{
    return (struct mx_gemm_ahead){.at = (const char *)own, .wrap = -64, .lines = 1, .left = 1, .remaining = INT64_MAX};
}

/* One panel of A, rows m0 … m0+rows-1, times the columns n0 … n1 for the block k0 … k0+kc; x has A's part filled in. */
static void run_panel(struct plan *plan, struct mx_gemm_operands *x, int64_t m0, int64_t rows, int64_t n0, int64_t n1,
                      int64_t k0, int64_t kc)
{
    const struct mx_gemm *job = plan->job;
    const struct scratch *scratch = plan->scratch;
    const bool first = k0 == 0, last = k0 + kc == job->k;
    const bool add = !first || (plan->plain && job->epilogue.accumulate);
    x->kc = kc;
    for (int64_t n = n0; n < n1; n += MX_GEMM_NR) {
        const int64_t columns = least(n1 - n, MX_GEMM_NR);
        const bool packed = plan->pack_b || columns < MX_GEMM_NR;
        x->b = packed ? scratch->b + (n - n0) / MX_GEMM_NR * MX_GEMM_KC * MX_GEMM_NR : job->b.data + k0 * job->b.ld + n;
        x->b_step = packed ? MX_GEMM_NR : job->b.ld;
        float *sums = plan->sums + (m0 - plan->sums_m) * plan->sums_ld + (n - plan->sums_n);
        const bool whole = rows == MX_GEMM_MR && columns == MX_GEMM_NR;
        /* An edge tile, and one whose sums need no memory, is computed aside. */
        const bool aside = !whole || (!plan->plain && first && last);
        float *tile = aside ? scratch->tile : sums;
        const int64_t ld = aside ? MX_GEMM_NR : plan->sums_ld;
        if (aside && add)
            for (int64_t i = 0; i < rows; i++)
                memcpy(tile + i * ld, sums + i * plan->sums_ld, (size_t)columns * sizeof(float));
        for (int64_t i = 0; i < rows; i++) {
            __builtin_prefetch(job->c + (m0 + i) * job->ldc + n, 1);
            __builtin_prefetch(job->c + (m0 + i) * job->ldc + n + columns - 1, 1);
        }
        if (job->a.transpose)
            MX_CPU_FN(gemm_tile_columns)(x, tile, ld, add, &plan->ahead);
        else
            MX_CPU_FN(gemm_tile_rows)(x, tile, ld, add, &plan->ahead);
        if (plan->ahead.remaining <= 0) {
            plan->ahead = plan->then;
            plan->then = fetch_nothing(scratch->tile);
        }
        if (last && !plan->plain)
            finish_tile(job, m0, rows, n, columns, tile, ld);
        else if (aside)
            for (int64_t i = 0; i < rows; i++)
                memcpy(sums + i * plan->sums_ld, tile + i * ld, (size_t)columns * sizeof(float));
    }
}

static int64_t blocks_of_k(const struct mx_gemm *job)
{
    const int64_t most = job->a.transpose ? MX_GEMM_KC_COLUMNS : MX_GEMM_KC;
    return (job->k + most - 1) / most;
}

/* Where panel m0 … m0+rows-1, k0 … of A lies: in place if it can be read there, otherwise copied. */
static void place_panel(const struct plan *plan, int64_t m0, int64_t rows, int64_t k0, int64_t kc,
                        struct mx_gemm_operands *x)
{
    const struct mx_gemm_a *a = &plan->job->a;
    bool in_place = rows == MX_GEMM_MR;
    const float *at = NULL;
    if (a->transpose) {
        in_place = in_place && !a->taps;
        at = a->data + k0 * a->ld + m0;
    } else if (a->taps) {
        /* Rows end to end: what the taps see of one row is contiguous, unless the sequence ends there. */
        const int32_t sequence = find_sequence(a->offsets, a->sequences, m0);
        const int32_t reach = a->taps / 2;
        in_place = in_place && a->ld == a->width && m0 - reach >= a->offsets[sequence] &&
                   m0 + rows + reach <= a->offsets[sequence + 1];
        at = a->data + (m0 - reach) * a->ld + k0;
    } else {
        at = a->data + m0 * a->ld + k0;
    }
    /* Rows a multiple of a page apart would fight for the same lines of the cache. */
    if (!a->transpose && a->ld % 1024 == 0) in_place = false;
    if (!in_place) pack_a(a, m0, rows, k0, kc, plan->scratch->a);
    x->a = in_place ? at : plan->scratch->a;
    x->a_row = a->transpose ? 1 : in_place ? a->ld : MX_GEMM_ROW;
    x->a_step = !a->transpose ? 1 : in_place ? a->ld : MX_VEC_FLOATS;
}

/* C(m0 … m1, n0 … n1), at most NC columns: for each block of k pack B once, then go down the rows. */
static void run_block(struct plan *plan, int64_t m0, int64_t m1, int64_t n0, int64_t n1)
{
    const struct mx_gemm *job = plan->job;
    const struct mx_gemm_a *a = &job->a;
    const struct mx_gemm_b *b = &job->b;
    const int64_t blocks = blocks_of_k(job);
    const int64_t depth = ((job->k + blocks - 1) / blocks + MX_GEMM_STEP - 1) / MX_GEMM_STEP * MX_GEMM_STEP;
    plan->pack_b = b->transpose || b->block || m1 - m0 >= PACK_B_ROWS || b->ld % PACK_B_STRIDE == 0 ||
                   b->ld % MX_VEC_FLOATS != 0 || (uintptr_t)(b->data + n0) % MX_VEC_BYTES != 0;
    for (int64_t k0 = 0; k0 < job->k; k0 += depth) {
        const int64_t kc = least(job->k - k0, depth);
        const int64_t packed = plan->pack_b ? n0 : n1 - (n1 - n0) % MX_GEMM_NR;
        if (packed < n1) MX_CPU_FN(gemm_pack_b)
        (b, k0, kc, packed, n1, plan->scratch->b + (packed - n0) / MX_GEMM_NR * MX_GEMM_KC * MX_GEMM_NR,
         MX_GEMM_KC * MX_GEMM_NR);
        plan->ahead = plan->then = fetch_nothing(plan->scratch->tile);
        if (a->transpose && k0 + kc < job->k) {
            /* A long inner dimension: both operands of the next block of k are read once, and come from far away. */
            const int64_t next = k0 + kc, rows = least(job->k - next, depth);
            const int64_t columns = a->taps ? least(m1 - m0, a->width) : m1 - m0, column = a->taps ? m0 % a->width : m0;
            plan->ahead = fetch(b->data + next * b->ld + n0, rows, n1 - n0, b->ld);
            plan->then = fetch(a->data + next * a->ld + column, rows, columns, a->ld);
        }
        for (int64_t m = m0; m < m1; m += MX_GEMM_MR) {
            const int64_t rows = least(m1 - m, MX_GEMM_MR), next = m + MX_GEMM_MR;
            struct mx_gemm_operands x;
            place_panel(plan, m, rows, k0, kc, &x);
            if (!a->transpose && next < m1)
                plan->ahead = a->taps ? fetch(a->data + next * a->ld, least(m1 - next, MX_GEMM_MR), a->width, a->ld)
                                      : fetch(a->data + next * a->ld + k0, least(m1 - next, MX_GEMM_MR), kc, a->ld);
            run_panel(plan, &x, m, rows, n0, n1, k0, kc);
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
            finish_tile(job, m, least(m1 - m, MX_GEMM_MR), n, least(n1 - n, MX_GEMM_NR), scratch->tile, MX_GEMM_NR);
}

/* The grid of workers over C that packs least: every worker packs its rows of A and its columns of B. */
static int grid_rows(int64_t m, int64_t n, int workers)
{
    int best = workers;
    for (int rows = 1; rows <= workers; rows++)
        if (workers % rows == 0 && m / rows + n / (workers / rows) < m / best + n / (workers / best)) best = rows;
    return best;
}

void MX_CPU_FN(gemm)(const struct mx_gang *gang, const struct mx_gemm *job)
{
    const int rows = grid_rows(job->m, job->n, gang->workers), columns = gang->workers / rows;
    int64_t m0, m1, n0, n1;
    const struct mx_gang by_row = {.worker = gang->worker % rows, .workers = rows};
    const struct mx_gang by_column = {.worker = gang->worker / rows, .workers = columns};
    mx_gang_share(&by_row, job->m, MX_GEMM_MR, &m0, &m1);
    mx_gang_share(&by_column, job->n, MX_GEMM_NR, &n0, &n1);
    if (m0 >= m1 || n0 >= n1) return;

    float *memory = gang->scratch;
    struct scratch scratch = {.b = memory, .a = memory + MX_GEMM_KC * MX_GEMM_NC};
    scratch.tile = scratch.a + MX_GEMM_PANEL_FLOATS;
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
    const int64_t blocks = (n1 - n0 + MX_GEMM_NC - 1) / MX_GEMM_NC;
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
            run_block(&plan, m, least(m + height, m1), n, least(n + width, n1));
        }
}

static struct mx_gemm_epilogue epilogue_of(const struct mx_epilogue *e)
{
    return (struct mx_gemm_epilogue){.bias = mx_cpu_ptr(e->bias),
                                     .residual = mx_cpu_ptr(e->residual),
                                     .pre = mx_cpu_ptr(e->pre),
                                     .act = e->act,
                                     .act_grad = e->act_grad,
                                     .accumulate = e->accumulate};
}

/* C [m, n] = epilogue(op(A) [m, k] · op(B) [k, n]) */
MX_KERNEL(matmul)
{
    const struct mx_matmul_args *x = args;
    const struct mx_gemm job = {.a = {.data = mx_cpu_ptr(x->a),
                                      .ld = x->lda           ? x->lda
                                            : x->transpose_a ? x->m
                                                             : x->k,
                                      .transpose = x->transpose_a},
                                .b = {.data = mx_cpu_ptr(x->b),
                                      .ld = x->ldb           ? x->ldb
                                            : x->transpose_b ? x->k
                                                             : x->n,
                                      .transpose = x->transpose_b},
                                .c = mx_cpu_ptr(x->c),
                                .ldc = x->ldc ? x->ldc : x->n,
                                .m = x->m,
                                .n = x->n,
                                .k = x->k,
                                .epilogue = epilogue_of(&x->epilogue)};
    MX_CPU_FN(gemm)(gang, &job);
}

/* y [rows, out] = epilogue(im2col(x) [rows, taps·in] · w [taps·in, out]) */
MX_KERNEL(conv1d)
{
    const struct mx_conv1d_args *x = args;
    const struct mx_gemm job = {.a = {.data = mx_cpu_ptr(x->x),
                                      .ld = x->in_width,
                                      .taps = x->taps,
                                      .width = x->in_width,
                                      .offsets = mx_cpu_ptr(x->rows.offsets),
                                      .sequences = x->rows.count},
                                .b = {.data = mx_cpu_ptr(x->w), .ld = x->out_width},
                                .c = mx_cpu_ptr(x->y),
                                .ldc = x->out_width,
                                .m = x->rows.rows,
                                .n = x->out_width,
                                .k = x->taps * x->in_width,
                                .epilogue = epilogue_of(&x->epilogue)};
    MX_CPU_FN(gemm)(gang, &job);
}

/* dx [rows, in] = epilogue(im2col(dy) [rows, taps·out] · wᵀ [taps·out, in]), the taps turned round */
MX_KERNEL(conv1d_grad_input)
{
    const struct mx_conv1d_grad_input_args *x = args;
    const struct mx_gemm job = {
        .a = {.data = mx_cpu_ptr(x->dy),
              .ld = x->out_width,
              .taps = x->taps,
              .width = x->out_width,
              .offsets = mx_cpu_ptr(x->rows.offsets),
              .sequences = x->rows.count},
        .b = {.data = (const float *)mx_cpu_ptr(x->w) + (x->taps - 1) * x->in_width * x->out_width,
              .ld = x->out_width,
              .transpose = true,
              .block = x->out_width,
              .block_stride = -x->in_width * x->out_width},
        .c = mx_cpu_ptr(x->dx),
        .ldc = x->in_width,
        .m = x->rows.rows,
        .n = x->in_width,
        .k = x->taps * x->out_width,
        .epilogue = epilogue_of(&x->epilogue)};
    MX_CPU_FN(gemm)(gang, &job);
}

/* dw [taps·in, out] = (+=) im2col(x)ᵀ [taps·in, rows] · dy [rows, out] */
MX_KERNEL(conv1d_grad_weight)
{
    const struct mx_conv1d_grad_weight_args *x = args;
    const struct mx_gemm job = {.a = {.data = mx_cpu_ptr(x->x),
                                      .ld = x->in_width,
                                      .transpose = true,
                                      .taps = x->taps,
                                      .width = x->in_width,
                                      .offsets = mx_cpu_ptr(x->rows.offsets),
                                      .sequences = x->rows.count},
                                .b = {.data = mx_cpu_ptr(x->dy), .ld = x->out_width},
                                .c = mx_cpu_ptr(x->dw),
                                .ldc = x->out_width,
                                .m = x->taps * x->in_width,
                                .n = x->out_width,
                                .k = x->rows.rows,
                                .epilogue = {.accumulate = x->accumulate}};
    MX_CPU_FN(gemm)(gang, &job);
}
