/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attention inside packed sequences, forward and backward, on the tile of gemm.h.
 *
 * Scores exist only for a block of query rows and a block of keys at a time, so memory does not grow with the square of
 * the length. Forward: online softmax over blocks of keys. Backward: the probabilities are computed again from the
 * scores and the stored log-sum. Each sequence and head is worked on by itself, so nothing depends on the rest of the
 * batch; the blocks depend on the positions inside the sequence alone, so nothing depends on the number of workers.
 */
#include "base/number.h"
#include "device/cpu/isa/product/gemm.h"

#define KEYS      512                      /* keys in a block */
#define QUERIES   (16 * MX_GEMM_MR)        /* query rows in a forward block */
#define QUERIES_B (11 * MX_GEMM_MR)        /* query rows in a backward block: long enough a sum for dk and dv */
#define SCORE_LD  (KEYS + MX_GEMM_NR + 16) /* floats from row to row of a score block */

static int64_t panels(int64_t columns)
{
    return (columns + MX_GEMM_NR - 1) / MX_GEMM_NR;
}

/* Hands out 64-byte aligned pieces of the worker's scratch. */
static float *take(float **scratch, int64_t floats)
{
    float *piece = *scratch;
    *scratch += (floats + 15) / 16 * 16;
    return piece;
}

static const struct mx_gemm_ahead nothing_ahead = {0};

/* A small product: C [m, n] = or += A · B, B in panels [k][NR], k NR floats apart. A must be readable up to a multiple
 * of MR rows. */
struct product {
    const float *a;
    int64_t a_row, a_step; /* one of them is 1 */
    const float *b;
    int64_t m, n, k;
    float *c;
    int64_t ldc;
    bool add;
};

static void multiply(const struct product *p, float *tile)
{
    struct mx_gemm_ahead ahead = nothing_ahead;
    ahead.at = (const char *)tile;
    ahead.lines = ahead.left = 1;
    ahead.wrap = -64;
    for (int64_t m = 0; m < p->m; m += MX_GEMM_MR) {
        const int64_t rows = mx_least(p->m - m, MX_GEMM_MR);
        struct mx_gemm_operands x = {.a = p->a + m * p->a_row,
                                     .b = p->b,
                                     .a_row = p->a_row,
                                     .a_step = p->a_step,
                                     .b_step = MX_GEMM_NR,
                                     .kc = p->k};
        for (int64_t n = 0; n < p->n; n += MX_GEMM_NR, x.b += p->k * MX_GEMM_NR) {
            const int64_t columns = mx_least(p->n - n, MX_GEMM_NR);
            float *c = p->c + m * p->ldc + n;
            const bool whole = rows == MX_GEMM_MR && columns == MX_GEMM_NR;
            float *to = whole ? c : tile;
            const int64_t ld = whole ? p->ldc : MX_GEMM_NR;
            const bool add = whole && p->add;
            if (p->a_step == 1)
                mx_cpu_gemm_tile_rows(&x, to, ld, add, &ahead);
            else
                mx_cpu_gemm_tile_columns(&x, to, ld, add, &ahead);
            if (whole) continue;
            for (int64_t i = 0; i < rows; i++)
                for (int64_t j = 0; j < columns; j++)
                    c[i * p->ldc + j] = tile[i * MX_GEMM_NR + j] + (p->add ? c[i * p->ldc + j] : 0.0f);
        }
    }
}

/* Rows [rows, width] of a tensor as B panels: of themselves, or of their transpose. */
static void pack_rows(const float *data, int64_t ld, int64_t rows, int64_t width, float *dst)
{
    const struct mx_gemm_b b = {.data = data, .ld = ld};
    mx_cpu_gemm_pack_b(&b, 0, rows, 0, width, dst, rows * MX_GEMM_NR);
}

static void pack_transposed(const float *data, int64_t ld, int64_t rows, int64_t width, float *dst)
{
    const struct mx_gemm_b b = {.data = data, .ld = ld, .transpose = true};
    mx_cpu_gemm_pack_b(&b, 0, width, 0, rows, dst, width * MX_GEMM_NR);
}

/* Rows as an A operand that may be read up to a multiple of MR: in place, or copied and padded with zeros. */
static const float *whole_panels(const float *data, int64_t ld, int64_t rows, int64_t width, float *copy,
                                 int64_t *copy_ld)
{
    const int64_t padded = (rows + MX_GEMM_MR - 1) / MX_GEMM_MR * MX_GEMM_MR;
    if (padded == rows) {
        *copy_ld = ld;
        return data;
    }
    for (int64_t i = 0; i < padded; i++)
        for (int64_t j = 0; j < width; j++) copy[i * width + j] = i < rows ? data[i * ld + j] : 0.0f;
    *copy_ld = width;
    return copy;
}

/* ---- forward ---- */

/* Of one query row, over the keys so far. */
struct running {
    float maximum, total;
};

/* One row of scores [keys] becomes probabilities relative to the running maximum; the row's sum and output [width] are
 * rescaled. */
static void softmax_row(float *score, int64_t keys, float factor, struct running *row, float *out, int64_t width)
{
    mx_vf most = mx_vf_set(-INFINITY);
    int64_t j = 0;
    for (; j + MX_VEC_FLOATS <= keys; j += MX_VEC_FLOATS) {
        const mx_vf s = mx_vf_load(score + j) * factor;
        mx_vf_store(score + j, s);
        most = mx_vf_max(s, most);
    }
    float highest = mx_vf_largest(most);
    for (int64_t i = j; i < keys; i++) {
        score[i] *= factor;
        if (score[i] > highest) highest = score[i];
    }
    if (row->maximum > highest) highest = row->maximum;
    /* The scores after the last key become exp(-inf) = 0 without special treatment. */
    for (int64_t i = keys; i % MX_VEC_FLOATS != 0; i++) score[i] = -INFINITY;
    mx_vf sum = {0};
    for (j = 0; j < keys; j += MX_VEC_FLOATS) {
        const mx_vf p = mx_vf_exp(mx_vf_load(score + j) - highest);
        mx_vf_store(score + j, p);
        sum += p;
    }
    const float before = row->total > 0.0f ? expf(row->maximum - highest) : 0.0f;
    row->total = row->total * before + mx_vf_sum(sum);
    row->maximum = highest;
    if (before != 1.0f)
        for (int64_t i = 0; i < width; i++) out[i] *= before;
}

/* A share of the forward pass: query rows first … first+rows-1 of one sequence, which begins at row `start`, and head. */
struct task {
    int64_t start, length, head, first, rows;
};

/* Divides by the sums, and keeps their logarithms. */
static void attend_finish(const struct mx_attention_args *x, const struct task *t, const struct running *running,
                          const float *out, int64_t out_ld)
{
    float *to = (float *)mx_cpu_ptr(x->out) + (t->start + t->first) * x->out_stride + t->head * x->head_width;
    float *lse = (float *)mx_cpu_ptr(x->lse) + t->head * x->rows.rows + t->start + t->first;
    for (int64_t i = 0; i < t->rows; i++) {
        const float inverse = 1.0f / running[i].total;
        for (int64_t j = 0; j < x->head_width; j++) to[i * x->out_stride + j] = out[i * out_ld + j] * inverse;
        lse[i] = running[i].maximum + logf(running[i].total);
    }
}

static void attend(const struct mx_attention_args *x, const struct task *t, float *scratch)
{
    const int64_t width = x->head_width, rows = t->rows;
    const float *q = (const float *)mx_cpu_ptr(x->q) + (t->start + t->first) * x->stride + t->head * width;
    const float *k = (const float *)mx_cpu_ptr(x->k) + t->start * x->stride + t->head * width;
    const float *v = (const float *)mx_cpu_ptr(x->v) + t->start * x->stride + t->head * width;
    const int64_t out_ld = panels(width) * MX_GEMM_NR;
    float *keys = take(&scratch, panels(KEYS) * MX_GEMM_NR * width),
          *values = take(&scratch, panels(width) * MX_GEMM_NR * KEYS);
    float *score = take(&scratch, MX_GEMM_MR * SCORE_LD), *tile = take(&scratch, MX_GEMM_MR * MX_GEMM_NR);
    float *out = take(&scratch, QUERIES * out_ld), *copy = take(&scratch, QUERIES * MX_ATTENTION_WIDTH_MAX);
    struct running running[QUERIES];
    for (int64_t i = 0; i < rows; i++) running[i] = (struct running){-INFINITY, 0.0f};
    memset(out, 0, (size_t)(QUERIES * out_ld) * sizeof(float));
    int64_t q_ld;
    q = whole_panels(q, x->stride, rows, width, copy, &q_ld);
    for (int64_t key = 0; key < t->length; key += KEYS) {
        const int64_t count = mx_least(t->length - key, KEYS);
        pack_transposed(k + key * x->stride, x->stride, count, width, keys);
        pack_rows(v + key * x->stride, x->stride, count, width, values);
        for (int64_t i = 0; i < rows; i += MX_GEMM_MR) {
            const int64_t panel = mx_least(rows - i, MX_GEMM_MR);
            multiply(&(struct product){.a = q + i * q_ld,
                                       .a_row = q_ld,
                                       .a_step = 1,
                                       .b = keys,
                                       .m = MX_GEMM_MR,
                                       .n = panels(count) * MX_GEMM_NR,
                                       .k = width,
                                       .c = score,
                                       .ldc = SCORE_LD},
                     tile);
            for (int64_t r = 0; r < panel; r++)
                softmax_row(score + r * SCORE_LD, count, x->factor, &running[i + r], out + (i + r) * out_ld, width);
            multiply(&(struct product){.a = score,
                                       .a_row = SCORE_LD,
                                       .a_step = 1,
                                       .b = values,
                                       .m = MX_GEMM_MR,
                                       .n = out_ld,
                                       .k = count,
                                       .c = out + i * out_ld,
                                       .ldc = out_ld,
                                       .add = true},
                     tile);
        }
    }
    attend_finish(x, t, running, out, out_ld);
}

/* out [rows, heads·width] = softmax(q kᵀ · factor) v per sequence and head; lse [heads, rows] */
void mx_cpu_attention(const struct mx_gang *gang, const void *args)
{
    const struct mx_attention_args *x = args;
    const int32_t *offsets = mx_cpu_ptr(x->rows.offsets);
    int64_t ticket = mx_gang_ticket(gang, 0), number = 0;
    for (int32_t s = 0; s < x->rows.count; s++)
        for (int64_t head = 0; head < x->heads; head++)
            for (int64_t first = 0; first < offsets[s + 1] - offsets[s]; first += QUERIES, number++) {
                if (number != ticket) continue;
                const int64_t length = offsets[s + 1] - offsets[s];
                const struct task t = {offsets[s], length, head, first, mx_least(length - first, QUERIES)};
                attend(x, &t, gang->scratch);
                ticket = mx_gang_ticket(gang, 0);
            }
}

/* ---- backward ---- */

/* scores → probabilities p, and dp = dout vᵀ → ds = p (dp - delta) · factor, for one row of keys. */
static void softmax_row_grad(float *score, float *dp, int64_t keys, float factor, float lse, float delta)
{
    for (int64_t j = 0; j < keys; j += MX_VEC_FLOATS) {
        const mx_vf p = mx_vf_exp(mx_vf_fma(mx_vf_load(score + j), mx_vf_set(factor), mx_vf_set(-lse)));
        mx_vf_store(score + j, p);
        mx_vf_store(dp + j, p * (mx_vf_load(dp + j) - delta) * factor);
    }
}

/* One sequence and head: pointers to its first row. */
struct grad_task {
    const float *q, *k, *v, *out, *dout, *lse;
    float *dq, *dk, *dv, *delta;
    int64_t length;
};

/* delta[row] = dout · out */
static void row_products(const struct mx_attention_grad_args *x, const struct grad_task *t)
{
    for (int64_t i = 0; i < t->length; i++) {
        mx_vf sum = {0};
        for (int64_t j = 0; j < x->head_width; j += MX_VEC_FLOATS) {
            const int lanes = (int)mx_least(x->head_width - j, MX_VEC_FLOATS);
            sum = mx_vf_fma(mx_vf_load_n(t->dout + i * x->out_stride + j, lanes),
                            mx_vf_load_n(t->out + i * x->out_stride + j, lanes), sum);
        }
        t->delta[i] = mx_vf_sum(sum);
    }
}

/* Room for the parts of a task that are at work: KEYS keys against QUERIES_B rows of queries. */
struct grad_room {
    float *keys_t, *values_t, *keys; /* B panels of the keys' part: of kᵀ, vᵀ and k */
    float *queries, *douts;          /* B panels of the rows' part: of q and dout */
    float *p, *ds;                   /* [QUERIES_B, SCORE_LD] */
    float *tile, *q_copy, *dout_copy;
};

static struct grad_room grad_room_reserve(float *scratch, int64_t width)
{
    const int64_t panel_floats = panels(width) * MX_GEMM_NR;
    struct grad_room room;
    room.keys_t = take(&scratch, panels(KEYS) * MX_GEMM_NR * width);
    room.values_t = take(&scratch, panels(KEYS) * MX_GEMM_NR * width);
    room.keys = take(&scratch, panel_floats * KEYS);
    room.queries = take(&scratch, panel_floats * QUERIES_B);
    room.douts = take(&scratch, panel_floats * QUERIES_B);
    room.p = take(&scratch, QUERIES_B * SCORE_LD);
    room.ds = take(&scratch, QUERIES_B * SCORE_LD);
    room.tile = take(&scratch, MX_GEMM_MR * MX_GEMM_NR);
    room.q_copy = take(&scratch, QUERIES_B * MX_ATTENTION_WIDTH_MAX);
    room.dout_copy = take(&scratch, QUERIES_B * MX_ATTENTION_WIDTH_MAX);
    return room;
}

/* Keys key … key+count-1 against query rows row … row+rows-1. */
struct grad_block {
    int64_t key, count, row, rows;
};

/* p and ds of a block. */
static void block_scores(const struct mx_attention_grad_args *x, const struct grad_task *t,
                         const struct grad_room *room, const struct grad_block *at)
{
    const int64_t width = x->head_width, columns = panels(at->count) * MX_GEMM_NR;
    const int64_t padded = (at->rows + MX_GEMM_MR - 1) / MX_GEMM_MR * MX_GEMM_MR;
    int64_t q_ld, dout_ld;
    const float *q = whole_panels(t->q + at->row * x->stride, x->stride, at->rows, width, room->q_copy, &q_ld);
    const float *dout =
        whole_panels(t->dout + at->row * x->out_stride, x->out_stride, at->rows, width, room->dout_copy, &dout_ld);
    multiply(&(struct product){.a = q,
                               .a_row = q_ld,
                               .a_step = 1,
                               .b = room->keys_t,
                               .m = padded,
                               .n = columns,
                               .k = width,
                               .c = room->p,
                               .ldc = SCORE_LD},
             room->tile);
    multiply(&(struct product){.a = dout,
                               .a_row = dout_ld,
                               .a_step = 1,
                               .b = room->values_t,
                               .m = padded,
                               .n = columns,
                               .k = width,
                               .c = room->ds,
                               .ldc = SCORE_LD},
             room->tile);
    for (int64_t i = 0; i < at->rows; i++)
        softmax_row_grad(room->p + i * SCORE_LD, room->ds + i * SCORE_LD, at->count, x->factor, t->lse[at->row + i],
                         t->delta[at->row + i]);
}

/* What a block adds to dq, dk and dv; the first one of each row or key sets it. */
static void block_sums(const struct mx_attention_grad_args *x, const struct grad_task *t, const struct grad_room *room,
                       const struct grad_block *at)
{
    const int64_t width = x->head_width;
    multiply(&(struct product){.a = room->ds,
                               .a_row = SCORE_LD,
                               .a_step = 1,
                               .b = room->keys,
                               .m = at->rows,
                               .n = width,
                               .k = at->count,
                               .c = t->dq + at->row * x->grad_stride,
                               .ldc = x->grad_stride,
                               .add = at->key > 0},
             room->tile);
    multiply(&(struct product){.a = room->ds,
                               .a_row = 1,
                               .a_step = SCORE_LD,
                               .b = room->queries,
                               .m = at->count,
                               .n = width,
                               .k = at->rows,
                               .c = t->dk + at->key * x->grad_stride,
                               .ldc = x->grad_stride,
                               .add = at->row > 0},
             room->tile);
    multiply(&(struct product){.a = room->p,
                               .a_row = 1,
                               .a_step = SCORE_LD,
                               .b = room->douts,
                               .m = at->count,
                               .n = width,
                               .k = at->rows,
                               .c = t->dv + at->key * x->grad_stride,
                               .ldc = x->grad_stride,
                               .add = at->row > 0},
             room->tile);
}

static void attend_grad(const struct mx_attention_grad_args *x, const struct grad_task *t, float *scratch)
{
    const int64_t width = x->head_width;
    const struct grad_room room = grad_room_reserve(scratch, width);
    row_products(x, t);
    for (int64_t key = 0; key < t->length; key += KEYS) {
        const int64_t count = mx_least(t->length - key, KEYS);
        pack_transposed(t->k + key * x->stride, x->stride, count, width, room.keys_t);
        pack_transposed(t->v + key * x->stride, x->stride, count, width, room.values_t);
        pack_rows(t->k + key * x->stride, x->stride, count, width, room.keys);
        for (int64_t row = 0; row < t->length; row += QUERIES_B) {
            const struct grad_block at = {key, count, row, mx_least(t->length - row, QUERIES_B)};
            pack_rows(t->q + row * x->stride, x->stride, at.rows, width, room.queries);
            pack_rows(t->dout + row * x->out_stride, x->out_stride, at.rows, width, room.douts);
            block_scores(x, t, &room, &at);
            block_sums(x, t, &room, &at);
        }
    }
}

/* dq, dk, dv [rows, heads·width] from dout; the probabilities are made again from q, k and lse */
void mx_cpu_attention_grad(const struct mx_gang *gang, const void *args)
{
    const struct mx_attention_grad_args *x = args;
    const int32_t *offsets = mx_cpu_ptr(x->rows.offsets);
    const int64_t tasks = x->rows.count * x->heads;
    for (int64_t task = mx_gang_ticket(gang, 0); task < tasks; task = mx_gang_ticket(gang, 0)) {
        const int64_t s = task / x->heads, head = task % x->heads, column = head * x->head_width, start = offsets[s];
        const struct grad_task t = {.q = (const float *)mx_cpu_ptr(x->q) + start * x->stride + column,
                                    .k = (const float *)mx_cpu_ptr(x->k) + start * x->stride + column,
                                    .v = (const float *)mx_cpu_ptr(x->v) + start * x->stride + column,
                                    .out = (const float *)mx_cpu_ptr(x->out) + start * x->out_stride + column,
                                    .dout = (const float *)mx_cpu_ptr(x->dout) + start * x->out_stride + column,
                                    .lse = (const float *)mx_cpu_ptr(x->lse) + head * x->rows.rows + start,
                                    .dq = (float *)mx_cpu_ptr(x->dq) + start * x->grad_stride + column,
                                    .dk = (float *)mx_cpu_ptr(x->dk) + start * x->grad_stride + column,
                                    .dv = (float *)mx_cpu_ptr(x->dv) + start * x->grad_stride + column,
                                    .delta = (float *)mx_cpu_ptr(x->delta) + head * x->rows.rows + start,
                                    .length = offsets[s + 1] - start};
        if (t.length > 0) attend_grad(x, &t, gang->scratch);
    }
}
