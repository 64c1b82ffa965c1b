/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The convolution of three taps and its gradient to the input, by Winograd F(4, 3). See winograd.h.
 *
 * The same tile of registers as in gemm.c multiplies MR tiles of rows at a time: their six combinations are made while
 * A is copied into panels, the products of all six stay in the caches, and are combined there on the way through the
 * epilogue to C. Weights are transformed by each worker for itself, a block of KC inputs by NC outputs at a time that
 * stays in the second-level cache while all rows go by: no worker waits for another, and no shared memory is needed. In
 * a profile of training it was about a twenty-fifth of the time of these convolutions.
 *
 * Scratch of a worker, in this order: transformed weights [NC/NR][6][KC][NR], the taps of one panel of them
 * [3][KC][NR], transformed rows [6][MR][ROW], a row of zeros [KC], products [panels][NC/NR][6][MR][NR] (the rest).
 */
#include "device/cpu/isa/product/winograd.h"

#include "base/number.h"

/* KC: most inputs in a block; NC: most outputs. ROW: as MX_GEMM_ROW. */
#define KC 192
#if MX_VEC_BYTES == 64
#define NC 192
#else
#define NC 96
#endif
#define ROW            (KC + 16)
#define PART_FLOATS    (MX_GEMM_MR * MX_GEMM_NR)
#define PRODUCT_FLOATS (MX_WINOGRAD_PARTS * PART_FLOATS)
#define WEIGHT_FLOATS  (MX_WINOGRAD_PARTS * KC * MX_GEMM_NR) /* of one panel */
/* The least width that was measured: 48 → 48 is 1.6 times as fast as the plain form (AVX-512). */
#define LEAST_WIDTH 48

struct scratch {
    float *weights, *taps, *rows, *zeros, *products;
    int64_t panels; /* of products, for NC columns */
};

static struct scratch carve(float *memory)
{
    struct scratch s = {.weights = memory};
    s.taps = s.weights + NC / MX_GEMM_NR * WEIGHT_FLOATS;
    s.rows = s.taps + 3 * KC * MX_GEMM_NR;
    s.zeros = s.rows + MX_WINOGRAD_PARTS * MX_GEMM_MR * ROW;
    s.products = s.zeros + KC;
    s.panels =
        ((int64_t)(MX_CPU_SCRATCH_BYTES / sizeof(float)) - (s.products - memory)) / (NC / MX_GEMM_NR * PRODUCT_FLOATS);
    memset(s.zeros, 0, KC * sizeof(float));
    return s;
}

/* Inputs k0 … k0+kc-1, outputs n0 … n1-1 of the weights of all taps, transformed. */
static MX_WINOGRAD_ALONE void transform_weights(const struct mx_gemm *job, const struct scratch *s, int64_t k0,
                                                int64_t kc, int64_t n0, int64_t n1)
{
    const struct mx_gemm_b *b = &job->b;
    const int64_t tap_stride = b->block ? b->block_stride : job->a.width * b->ld;
    float *to = s->weights;
    for (int64_t n = n0; n < n1; n += MX_GEMM_NR, to += WEIGHT_FLOATS) {
        for (int tap = 0; tap < 3; tap++) {
            const struct mx_gemm_b one = {.data = b->data + tap * tap_stride, .ld = b->ld, .transpose = b->transpose};
            mx_cpu_gemm_pack_b(&one, k0, kc, n, mx_least(n + MX_GEMM_NR, n1), s->taps + tap * KC * MX_GEMM_NR, 0);
        }
        for (int64_t i = 0; i < kc * MX_GEMM_NR; i += MX_VEC_FLOATS) {
            mx_vf out[MX_WINOGRAD_PARTS];
            mx_winograd_taps(mx_vf_load(s->taps + i), mx_vf_load(s->taps + KC * MX_GEMM_NR + i),
                             mx_vf_load(s->taps + 2 * KC * MX_GEMM_NR + i), out);
            mx_winograd_store(to + i, KC * MX_GEMM_NR, out);
        }
    }
}

/* Inputs k0 … k0+kc-1 of a panel of `count` tiles (what is missing of MR is 0), transformed. */
static MX_WINOGRAD_ALONE void transform_rows(const struct mx_gemm *job, const struct scratch *s,
                                             const struct mx_winograd_tile *tiles, int64_t count, int64_t k0,
                                             int64_t kc)
{
    for (int64_t i = 0; i < MX_GEMM_MR; i++) {
        float *to = s->rows + i * ROW;
        const float *from[MX_WINOGRAD_PARTS];
        mx_winograd_rows(i < count ? &tiles[i] : &(struct mx_winograd_tile){0}, job->a.data, job->a.ld, k0, s->zeros,
                         from);
        MX_VEC_EACH(k, n, 0, kc, {
            mx_vf d[MX_WINOGRAD_PARTS] = {mx_vf_load_n(from[0] + k, n), mx_vf_load_n(from[1] + k, n),
                                          mx_vf_load_n(from[2] + k, n), mx_vf_load_n(from[3] + k, n),
                                          mx_vf_load_n(from[4] + k, n), mx_vf_load_n(from[5] + k, n)};
            mx_winograd_input(d);
            mx_winograd_store(to + k, MX_GEMM_MR * ROW, d);
        });
    }
}

/* Products [6][MR][NR] of `count` tiles, columns n … n+columns-1, through the epilogue to C. */
static MX_WINOGRAD_ALONE void finish(const struct mx_gemm *job, const float *products,
                                     const struct mx_winograd_tile *tiles, int64_t count, int64_t n, int64_t columns)
{
    /* A copy of our own, which no store can change: it stays in registers. */
    const struct mx_gemm_epilogue e = job->epilogue;
    float *c = job->c;
    const int64_t ldc = job->ldc;
    for (int64_t i = 0; i < count; i++) {
        const int64_t rows = tiles[i].end - tiles[i].row, first = tiles[i].row * ldc + n;
        const float *from = products + i * MX_GEMM_NR;
        MX_VEC_EACH(j, lanes, 0, columns, {
            mx_vf m[MX_WINOGRAD_PARTS], y[MX_WINOGRAD_ROWS];
            mx_winograd_load(from + j, PART_FLOATS, m);
            mx_winograd_output(m, y);
            const int64_t at = first + j;
            mx_epilogue_finish(&e, c, y[0], at, n + j, lanes);
            if (rows > 1) mx_epilogue_finish(&e, c, y[1], at + ldc, n + j, lanes);
            if (rows > 2) mx_epilogue_finish(&e, c, y[2], at + 2 * ldc, n + j, lanes);
            if (rows > 3) mx_epilogue_finish(&e, c, y[3], at + 3 * ldc, n + j, lanes);
        });
    }
}

/* The rows of an output that will be written soon; none where there is no such output. */
static struct mx_gemm_ahead expect(const float *to, int64_t ld, int64_t row, int64_t rows, int64_t n, int64_t columns)
{
    return to ? mx_gemm_fetch(to + row * ld + n, rows, columns, ld) : (struct mx_gemm_ahead){0};
}

/* A group of panels whose products fit the scratch: for each block of inputs, all of them. */
struct group {
    struct mx_winograd_cursor start;
    int64_t tiles;
    int64_t n0, n1;
};

static void run_group(const struct mx_gemm *job, const struct scratch *s, const struct group *g, int64_t depth)
{
    const int64_t k = job->a.width, ld = job->a.ld, panels = (g->n1 - g->n0 + MX_GEMM_NR - 1) / MX_GEMM_NR;
    for (int64_t k0 = 0; k0 < k; k0 += depth) {
        const int64_t kc = mx_least(k - k0, depth);
        const bool last = k0 + kc == k;
        transform_weights(job, s, k0, kc, g->n0, g->n1);
        struct mx_winograd_cursor cursor = g->start;
        for (int64_t t = 0; t < g->tiles; t += MX_GEMM_MR) {
            const int64_t count = mx_least(g->tiles - t, MX_GEMM_MR);
            struct mx_winograd_tile tiles[MX_GEMM_MR];
            for (int64_t i = 0; i < count; i++) tiles[i] = mx_winograd_next(&cursor);
            transform_rows(job, s, tiles, count, k0, kc);
            const int64_t row = tiles[0].row, rows = cursor.row - row;
            struct mx_gemm_ahead next = mx_gemm_fetch(job->a.data + cursor.row * ld + k0, rows, kc, ld);
            for (int64_t panel = 0; panel < panels; panel++) {
                const int64_t n = g->n0 + panel * MX_GEMM_NR, columns = mx_least(g->n1 - n, MX_GEMM_NR);
                float *products = s->products + (depth < k ? t / MX_GEMM_MR * panels + panel : 0) * PRODUCT_FLOATS;
                /* What `finish` will write is fetched first, then the rows of the next panel. */
                struct mx_gemm_ahead c = expect(job->c, job->ldc, row, last ? rows : 0, n, columns);
                struct mx_gemm_ahead pre = expect(job->epilogue.pre, job->ldc, row, last ? rows : 0, n, columns);
                for (int part = 0; part < MX_WINOGRAD_PARTS; part++) {
                    float *tile = products + part * PART_FLOATS;
                    for (int64_t i = 0; k0 > 0 && i < PART_FLOATS; i += 16) __builtin_prefetch(tile + i, 1);
                    const struct mx_gemm_operands x = {.a = s->rows + part * MX_GEMM_MR * ROW,
                                                       .b = s->weights + panel * WEIGHT_FLOATS + part * KC * MX_GEMM_NR,
                                                       .a_row = ROW,
                                                       .a_step = 1,
                                                       .b_step = MX_GEMM_NR,
                                                       .kc = kc};
                    if (next.remaining <= 0) next = mx_gemm_fetch_nothing(s->zeros);
                    mx_cpu_gemm_tile_rows(&x, tile, MX_GEMM_NR, k0 > 0,
                                          c.remaining > 0     ? &c
                                          : pre.remaining > 0 ? &pre
                                                              : &next);
                }
                if (last) finish(job, products, tiles, count, n, columns);
            }
        }
    }
}

static void run(const struct mx_gang *gang, const struct mx_gemm *job, int64_t tiles)
{
    const int64_t k = job->a.width, n = job->n;
    const int rows = mx_gemm_grid_rows(tiles, n, gang->workers), columns = gang->workers / rows;
    const struct mx_gang by_row = {.worker = gang->worker % rows, .workers = rows};
    const struct mx_gang by_column = {.worker = gang->worker / rows, .workers = columns};
    int64_t t0, t1, n0, n1;
    mx_gang_share(&by_row, tiles, MX_GEMM_MR, &t0, &t1);
    mx_gang_share(&by_column, n, MX_GEMM_NR, &n0, &n1);
    if (t0 >= t1 || n0 >= n1) return;

    const struct scratch scratch = carve(gang->scratch);
    /* Blocks of inputs follow from k alone: they decide how a sum is rounded. */
    const int64_t blocks = (k + KC - 1) / KC;
    const int64_t depth = ((k + blocks - 1) / blocks + MX_GEMM_STEP - 1) / MX_GEMM_STEP * MX_GEMM_STEP;
    const int64_t group = blocks == 1 ? t1 - t0 : scratch.panels * MX_GEMM_MR;
    for (; n0 < n1; n0 += NC)
        for (int64_t t = t0; t < t1; t += group) {
            const struct group g = {.start = mx_winograd_seek(&job->a, t),
                                    .tiles = mx_least(t1 - t, group),
                                    .n0 = n0,
                                    .n1 = mx_least(n0 + NC, n1)};
            run_group(job, &scratch, &g, depth);
        }
}

bool mx_cpu_winograd(const struct mx_gang *gang, const struct mx_gemm *job)
{
    const struct mx_gemm_a *a = &job->a;
    if (a->taps != 3 || a->width < LEAST_WIDTH || job->n < LEAST_WIDTH) return false;
    const int64_t tiles = mx_winograd_count(a);
    if (tiles == 0) return false; /* nothing to multiply: gemm does what remains */
    if (a->transpose)
        mx_cpu_winograd_weight(gang, job);
    else
        run(gang, job, tiles);
    return true;
}
