/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The weight gradient of a convolution of three taps, by Winograd F(3, 4). See winograd.h.
 *
 * Both operands are transformed, tile by tile of rows, and the six products are summed over the tiles of the whole
 * batch before they are combined to the three taps: dw[tap] of in × out is a combination of six sums of in × out. A
 * block of MB × NB of them stays in the caches while the tiles go by, KT at a time.
 *
 * Scratch of a worker, in this order: the sums [MB/MR][NB/NR][6][MR][NR], transformed dy [NB/NR][6][KT][NR], one panel
 * of transformed x [6][KT][a vector, of which MR lanes count], a row of zeros.
 */
#include "base/number.h"
#include "device/cpu/isa/product/winograd.h"

/* MB and NB: most inputs and outputs in a block; KT: most tiles of rows. */
#define MB 192
#define KT 128
#if MX_VEC_BYTES == 64
#define NB 192
#else
#define NB 96
#endif
#define PART_FLOATS (MX_GEMM_MR * MX_GEMM_NR)
#define SUM_FLOATS  (MX_WINOGRAD_PARTS * PART_FLOATS)
#define DY_FLOATS   (MX_WINOGRAD_PARTS * KT * MX_GEMM_NR) /* of one panel */
_Static_assert(MB % MX_GEMM_MR == 0 && NB % MX_GEMM_NR == 0, "blocks are whole panels");

struct scratch {
    float *sums, *dy, *x, *zeros;
};

/* A block of dw and the tiles that are being added to it. */
struct block {
    int64_t m0, m1, n0, n1;
    struct mx_winograd_tile tiles[KT];
    int64_t count;
};

static struct scratch carve(float *memory)
{
    struct scratch s = {.sums = memory};
    s.dy = s.sums + MX_WINOGRAD_PARTS * MB * NB;
    s.x = s.dy + MX_WINOGRAD_PARTS * KT * NB;
    s.zeros = s.x + MX_WINOGRAD_PARTS * KT * MX_VEC_FLOATS;
    memset(s.zeros, 0, NB * sizeof(float));
    return s;
}

static MX_WINOGRAD_ALONE void transform_dy(const struct mx_gemm *job, const struct scratch *s, const struct block *b)
{
    for (int64_t t = 0; t < b->count; t++) {
        const struct mx_winograd_tile *tile = &b->tiles[t];
        const float *from[MX_WINOGRAD_ROWS];
        for (int i = 0; i < MX_WINOGRAD_ROWS; i++)
            from[i] = tile->row + i < tile->end ? job->b.data + (tile->row + i) * job->b.ld + b->n0 : s->zeros;
        float *to = s->dy + t * MX_GEMM_NR;
        MX_VEC_EACH(n, lanes, 0, b->n1 - b->n0, {
            mx_vf e[MX_WINOGRAD_ROWS], out[MX_WINOGRAD_PARTS];
            e[0] = mx_vf_load_n(from[0] + n, lanes);
            e[1] = mx_vf_load_n(from[1] + n, lanes);
            e[2] = mx_vf_load_n(from[2] + n, lanes);
            e[3] = mx_vf_load_n(from[3] + n, lanes);
            mx_winograd_slopes(e, out);
            mx_winograd_store(to + n / MX_GEMM_NR * DY_FLOATS + n % MX_GEMM_NR, KT * MX_GEMM_NR, out);
        });
    }
}

/* The panel of inputs m … m+rows-1. */
static MX_WINOGRAD_ALONE void transform_x(const struct mx_gemm *job, const struct scratch *s, const struct block *b,
                                          int64_t m, int rows)
{
    for (int64_t t = 0; t < b->count; t++) {
        const float *from[MX_WINOGRAD_PARTS];
        mx_winograd_rows(&b->tiles[t], job->a.data, job->a.ld, m, s->zeros, from);
        mx_vf d[MX_WINOGRAD_PARTS];
        for (int part = 0; part < MX_WINOGRAD_PARTS; part++) d[part] = mx_vf_load_n(from[part], rows);
        mx_winograd_input(d);
        mx_winograd_store(s->x + t * MX_VEC_FLOATS, KT * MX_VEC_FLOATS, d);
    }
}

/* Adds the tiles of the block to its sums, or begins them. The rows of the tiles that come next begin at `next`: they
 * are fetched ahead, x a panel at a time (its first line has come with the panel before), dy while there is time. */
static void add_tiles(const struct mx_gemm *job, const struct scratch *s, const struct block *b, bool first,
                      int64_t next)
{
    const int64_t row = b->tiles[0].row, rows = next - row, columns = b->n1 - b->n0;
    struct mx_gemm_ahead far = mx_gemm_fetch(job->b.data + next * job->b.ld + b->n0, rows, columns, job->b.ld);
    float *sums = s->sums;
    transform_dy(job, s, b);
    for (int64_t m = b->m0; m < b->m1; m += MX_GEMM_MR) {
        transform_x(job, s, b, m, (int)mx_least(b->m1 - m, MX_GEMM_MR));
        const bool more = m + MX_GEMM_MR < b->m1;
        const float *x_next = job->a.data + (more ? row * job->a.ld + m + MX_GEMM_MR : next * job->a.ld + b->m0);
        struct mx_gemm_ahead near = mx_gemm_fetch(x_next + MX_GEMM_MR - 1, rows, 1, job->a.ld);
        for (int64_t n = b->n0; n < b->n1; n += MX_GEMM_NR)
            for (int part = 0; part < MX_WINOGRAD_PARTS; part++, sums += PART_FLOATS) {
                for (int64_t i = 0; !first && i < PART_FLOATS; i += 16) __builtin_prefetch(sums + i, 1);
                const struct mx_gemm_operands x = {.a = s->x + part * KT * MX_VEC_FLOATS,
                                                   .b = s->dy + (n - b->n0) / MX_GEMM_NR * DY_FLOATS +
                                                        part * KT * MX_GEMM_NR,
                                                   .a_row = 1,
                                                   .a_step = MX_VEC_FLOATS,
                                                   .b_step = MX_GEMM_NR,
                                                   .kc = b->count};
                if (far.remaining <= 0) far = mx_gemm_fetch_nothing(s->zeros);
                mx_cpu_gemm_tile_columns(&x, sums, MX_GEMM_NR, !first, near.remaining > 0 ? &near : &far);
            }
    }
}

/* dw [3][in][out] = (+=) what the sums of the block make. */
static MX_WINOGRAD_ALONE void finish(const struct mx_gemm *job, const struct scratch *s, const struct block *b)
{
    const float *sums = s->sums;
    const int64_t tap_stride = job->a.width * job->ldc;
    for (int64_t m = b->m0; m < b->m1; m += MX_GEMM_MR)
        for (int64_t n = b->n0; n < b->n1; n += MX_GEMM_NR, sums += SUM_FLOATS)
            for (int64_t i = 0; i < mx_least(b->m1 - m, MX_GEMM_MR); i++)
                MX_VEC_EACH(j, lanes, 0, mx_least(b->n1 - n, MX_GEMM_NR), {
                    mx_vf parts[MX_WINOGRAD_PARTS], g[3];
                    mx_winograd_load(sums + i * MX_GEMM_NR + j, PART_FLOATS, parts);
                    mx_winograd_weights(parts, g);
                    for (int tap = 0; tap < 3; tap++) {
                        float *to = job->c + tap * tap_stride + (m + i) * job->ldc + n + j;
                        if (job->epilogue.accumulate) g[tap] += mx_vf_load_n(to, lanes);
                        mx_vf_store_n(to, g[tap], lanes);
                    }
                });
}

void mx_cpu_winograd_weight(const struct mx_gang *gang, const struct mx_gemm *job)
{
    const int64_t in = job->a.width, out = job->n, tiles = mx_winograd_count(&job->a);
    const int rows = mx_gemm_grid_rows(in, out, gang->workers), columns = gang->workers / rows;
    const struct mx_gang by_row = {.worker = gang->worker % rows, .workers = rows};
    const struct mx_gang by_column = {.worker = gang->worker / rows, .workers = columns};
    int64_t m0, m1, n0, n1;
    mx_gang_share(&by_row, in, MX_GEMM_MR, &m0, &m1);
    mx_gang_share(&by_column, out, MX_GEMM_NR, &n0, &n1);

    const struct scratch scratch = carve(gang->scratch);
    const int64_t blocks = (tiles + KT - 1) / KT, depth = (tiles + blocks - 1) / blocks;
    for (int64_t n = n0; n < n1; n += NB)
        for (int64_t m = m0; m < m1; m += MB) {
            struct block b = {.m0 = m, .m1 = mx_least(m + MB, m1), .n0 = n, .n1 = mx_least(n + NB, n1)};
            struct mx_winograd_cursor cursor = mx_winograd_seek(&job->a, 0);
            for (int64_t t = 0; t < tiles; t += b.count) {
                b.count = mx_least(tiles - t, depth);
                for (int64_t i = 0; i < b.count; i++) b.tiles[i] = mx_winograd_next(&cursor);
                add_tiles(job, &scratch, &b, t == 0, cursor.row);
            }
            finish(job, &scratch, &b);
        }
}
