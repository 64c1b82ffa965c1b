/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The operations of the model as launches: elements, rows, sums, segments, attention, losses, the optimizer.
 */
#include "device/kernels/plan.h"

#include <math.h>

#define CHUNK_ROWS    64    /* rows per partial sum over rows, at least */
#define CHUNK_NUMBERS 16384 /* elements per partial sum over everything, at least */
#define ROWS_EACH     32    /* rows of a group on devices of CPU type */
#define NUMBERS_EACH  8192  /* elements of one */

/* ---- elements ---- */

DEFINE(activation)
{
    return LAUNCH(activation, WIDE(a->count), S(a->x), S(a->y), L(a->count), I(a->act));
}

DEFINE(activation_grad)
{
    return LAUNCH(activation_grad, WIDE(a->count), S(a->dy), S(a->x), S(a->dx), L(a->count), I(a->act));
}

DEFINE(residual_add)
{
    return LAUNCH(residual_add, WIDE(a->count), S(a->a), S(a->b), S(a->y), L(a->count), F(a->factor));
}

DEFINE(dropout)
{
    const double rate = (double)a->rate;
    if (launcher->tuning->cpu) {
        return LAUNCH(dropout_rows, mx_plan_over(a->count, NUMBERS_EACH), S(a->x), S(a->y), S(a->residual), L(a->count),
                      L(NUMBERS_EACH), I((uint32_t)ceil(rate * 0x1p32)), F((float)(1 / (1 - rate))), L(a->seed),
                      L(a->stream), L(a->index));
    }
    return LAUNCH(dropout, WIDE(mx_plan_over(a->count, 4)), S(a->x), S(a->y), S(a->residual), L(a->count),
                  I((uint32_t)ceil(rate * 0x1p32)), F((float)(1 / (1 - rate))), L(a->seed), L(a->stream), L(a->index));
}

DEFINE(scale)
{
    return LAUNCH(scale, WIDE(a->count), S(a->x), L(a->count), F(a->factor));
}

DEFINE(fill)
{
    return LAUNCH(fill, WIDE(a->count), S(a->x), L(a->count), I(a->bits));
}

DEFINE(cast)
{
    switch (a->kind) {
    case MX_CAST_F32_BF16:
        return LAUNCH(cast_to_bf16, WIDE(a->count), S(a->x), S(a->y), L(a->count));
    case MX_CAST_BF16_F32:
        return LAUNCH(cast_from_bf16, WIDE(a->count), S(a->x), S(a->y), L(a->count));
    default:
        return LAUNCH(cast_from_int, WIDE(a->count), S(a->x), S(a->y), L(a->count));
    }
}

DEFINE(adamw)
{
    const double beta1 = (double)a->beta1, beta2 = (double)a->beta2, lr = (double)a->lr, step = (double)a->step;
    return LAUNCH(adamw, WIDE(a->count), S(a->parameter), S(a->gradient), S(a->moment1), S(a->moment2), S(a->norm),
                  S(a->ema), L(a->count), L(a->decayed), F((float)(1 - beta1)), F((float)(1 - beta2)),
                  F((float)(lr / (1 - pow(beta1, step)))), F((float)(1 / sqrt(1 - pow(beta2, step)))), F(a->eps),
                  F((float)(1 - (double)a->ema_decay)), F((float)(1 - lr * (double)a->weight_decay)));
}

/* ---- sums over rows ---- */

/* Chunks of rows for sums of `floats` each, so that they fit the scratch. */
static int64_t chunk_rows(int64_t rows, int64_t floats)
{
    const int64_t fit = floats > 0 ? (int64_t)(MX_SCRATCH_BYTES / sizeof(float)) / floats : rows;
    if (mx_plan_over(rows, CHUNK_ROWS) <= fit) return CHUNK_ROWS;
    return fit > 0 ? mx_plan_over(rows, fit) : 0;
}

DEFINE(bias_grad)
{
    int rc = 0;
    struct mx_slice partial;
    const int64_t each = chunk_rows(a->rows, a->n), blocks = COLUMNS(a->n);
    if (each == 0 && a->dy_bf16) {
        MX_RAISE(MX_ERR_UNSUPPORTED, "use a narrower model, or another device",
                 "bias_grad: rows of %lld are wider than this device's scratch", (long long)a->n);
    }
    if (each == 0) { /* rows longer than the scratch: one sum over all of them */
        return LAUNCH(column_sum, blocks, S(a->dy), S(a->db), I(a->rows), L(a->n), I(a->n), I(a->accumulate));
    }
    const int64_t chunks = mx_plan_over(a->rows, each);
    MX_TRY(launcher->scratch(launcher, &partial));
    if (launcher->tuning->cpu) {
        MX_TRY(LAUNCH(column_rows, chunks, S(a->dy), S(partial), L(a->rows), L(each), I(a->n)));
    } else {
        MX_TRY(
            LAUNCH(column_chunks, chunks * blocks, S(a->dy), S(partial), L(a->rows), I(a->n), L(each), I(a->dy_bf16)));
    }
    MX_TRY(LAUNCH(column_sum, blocks, S(partial), S(a->db), I(chunks), L(a->n), I(a->n), I(a->accumulate)));
out:
    return rc;
}

DEFINE(layer_norm)
{
    if (launcher->tuning->cpu) {
        return LAUNCH(norm_forward, mx_plan_over(a->rows, ROWS_EACH), S(a->x), S(a->gamma), S(a->beta), S(a->y),
                      S(a->stats), L(a->rows), L(ROWS_EACH), I(a->n), F(a->eps));
    }
    return LAUNCH(layer_norm, a->rows, S(a->x), S(a->gamma), S(a->beta), S(a->y), S(a->stats), I(a->n), F(a->eps),
                  I(a->y_bf16));
}

/* The sums before dx, which may lie in place of dy; on devices of CPU type with it, row by row. */
DEFINE(layer_norm_grad)
{
    int rc = 0;
    struct mx_slice partial;
    const int64_t blocks = COLUMNS(a->n), each = chunk_rows(a->rows, 2 * a->n);
    if (each == 0 && a->rows > 0) {
        MX_RAISE(MX_ERR_UNSUPPORTED, "use a narrower model, or another device",
                 "layer_norm_grad: rows of %lld are wider than this device's scratch", (long long)a->n);
    }
    if (a->rows == 0) return 0;
    const int64_t chunks = mx_plan_over(a->rows, each);
    MX_TRY(launcher->scratch(launcher, &partial));
    if (launcher->tuning->cpu) {
        MX_TRY(LAUNCH(norm_backward, chunks, S(a->dy), S(a->x), S(a->gamma), S(a->stats), S(a->residual), S(a->dx),
                      S(partial), L(a->rows), L(each), I(a->n), I(a->accumulate_dx)));
    } else {
        MX_TRY(LAUNCH(layer_norm_chunks, chunks * blocks, S(a->dy), S(a->x), S(a->stats), S(partial), L(a->rows),
                      I(a->n), L(each)));
        MX_TRY(LAUNCH(layer_norm_rows, a->rows, S(a->dy), S(a->x), S(a->gamma), S(a->stats), S(a->residual), S(a->dx),
                      I(a->n), I(a->accumulate_dx)));
    }
    const struct mx_slice beta = mx_slice_at(partial.buffer, partial.offset_bytes + (size_t)a->n * 4);
    MX_TRY(LAUNCH(column_sum, blocks, S(partial), S(a->dgamma), I(chunks), L(2 * a->n), I(a->n), I(1)));
    MX_TRY(LAUNCH(column_sum, blocks, S(beta), S(a->dbeta), I(chunks), L(2 * a->n), I(a->n), I(1)));
out:
    return rc;
}

/* ---- sums over everything ---- */

static int64_t chunk_numbers(int64_t count)
{
    const int64_t fit = (int64_t)(MX_SCRATCH_BYTES / sizeof(double));
    return mx_plan_over(count, CHUNK_NUMBERS) <= fit ? CHUNK_NUMBERS : mx_plan_over(count, fit);
}

DEFINE(loss)
{
    int rc = 0;
    struct mx_slice partial;
    const int64_t count = a->rows * a->n, span = chunk_numbers(count), chunks = mx_plan_over(count, span);
    MX_TRY(launcher->scratch(launcher, &partial));
    MX_TRY(LAUNCH(loss_chunks, chunks, S(a->prediction), S(a->target), S(a->mask), S(a->dprediction), S(partial),
                  L(count), I(a->n), L(span), F(a->factor), I(a->kind), I(a->accumulate_dp)));
    MX_TRY(LAUNCH(loss_finish, 1, S(partial), S(a->value), I(chunks), F(a->factor), I(a->accumulate)));
out:
    return rc;
}

static int offsets_check(struct mx_launcher *launcher, enum mx_op op, const struct mx_packed *rows, int32_t longest)
{
    return LAUNCH(offsets_check, 1, S(rows->offsets), STATUS, I(op), I(rows->count), I(rows->rows), I(longest));
}

DEFINE(sequence_loss)
{
    int rc = 0;
    MX_TRY(offsets_check(launcher, MX_OP_sequence_loss, &a->rows, a->rows.rows));
    MX_TRY(LAUNCH(sequence_loss, a->rows.count, S(a->prediction), S(a->target), S(a->rows.offsets), S(a->values),
                  S(a->dprediction), STATUS, I(a->n), F(a->scale), F(a->factor), I(a->kind), I(a->accumulate_dp)));
out:
    return rc;
}

DEFINE(grad_norm)
{
    int rc = 0;
    struct mx_slice partial;
    const int64_t span = chunk_numbers(a->count), chunks = mx_plan_over(a->count, span);
    MX_TRY(launcher->scratch(launcher, &partial));
    MX_TRY(LAUNCH(norm_chunks, chunks, S(a->gradient), S(partial), L(a->count), L(span)));
    MX_TRY(LAUNCH(norm_finish, 1, S(partial), S(a->result), I(chunks), F(a->limit), F(a->factor)));
out:
    return rc;
}

/* ---- tables, positions, segments ---- */

DEFINE(embedding)
{
    return LAUNCH(embedding, a->rows, S(a->ids), S(a->table), S(a->y), STATUS, I(MX_OP_embedding), I(a->n),
                  I(a->vocabulary), F(a->factor), I(a->accumulate));
}

DEFINE(embedding_grad)
{
    if (a->rows == 0) return 0;
    return LAUNCH(embedding_grad, COLUMNS(a->n), S(a->ids), S(a->dy), S(a->dtable), STATUS, I(MX_OP_embedding_grad),
                  L(a->rows), I(a->n), I(a->vocabulary), F(a->factor));
}

DEFINE(rotary_table)
{
    const int64_t half = a->head_width / 2;
    return LAUNCH(rotary_table, WIDE(a->positions * half), S(a->table), L(a->positions * half), I(half), F(a->base));
}

DEFINE(rotary)
{
    if (launcher->tuning->cpu) {
        return LAUNCH(rotary_rows, mx_plan_over(a->rows.rows, ROWS_EACH), S(a->x), S(a->table), S(a->rows.offsets),
                      STATUS, I(MX_OP_rotary), I(a->rows.count), I(a->rows.rows), L(ROWS_EACH), I(a->heads),
                      I(a->head_width / 2), L(a->stride), I(a->positions), F(a->inverse ? -1.0f : 1.0f));
    }
    return LAUNCH(rotary, a->rows.rows, S(a->x), S(a->table), S(a->rows.offsets), STATUS, I(MX_OP_rotary),
                  I(a->rows.count), I(a->heads), I(a->head_width / 2), L(a->stride), I(a->positions),
                  F(a->inverse ? -1.0f : 1.0f));
}

DEFINE(durations_scan)
{
    return LAUNCH(durations_scan, 1, S(a->durations), S(a->ends), STATUS, I(MX_OP_durations_scan), I(a->count));
}

/* expand, and the gradient of the mean. */
static int spread_launch(struct mx_launcher *launcher, enum mx_op op, struct mx_slice x, struct mx_slice ends,
                         struct mx_slice y, const int64_t size[3], bool mean, bool accumulate)
{
    const int64_t segments = size[0], rows = size[1], n = size[2];
    if (launcher->tuning->cpu) {
        return LAUNCH(spread_rows, mx_plan_over(rows, ROWS_EACH), S(x), S(ends), S(y), STATUS, I(op), I(segments),
                      I(rows), L(ROWS_EACH), I(n), I(mean), I(accumulate));
    }
    return LAUNCH(spread, rows, S(x), S(ends), S(y), STATUS, I(op), I(segments), I(rows), I(n), I(mean), I(accumulate));
}

DEFINE(expand)
{
    return spread_launch(launcher, MX_OP_expand, a->x, a->ends, a->y, (const int64_t[]){a->segments, a->rows, a->n},
                         false, a->accumulate);
}

DEFINE(expand_grad)
{
    return LAUNCH(collect, a->segments * COLUMNS(a->n), S(a->dy), S(a->ends), S(a->dx), STATUS, I(MX_OP_expand_grad),
                  I(a->segments), I(a->rows), I(a->n), I(0), I(a->accumulate));
}

DEFINE(segment_mean)
{
    return LAUNCH(collect, a->segments * COLUMNS(a->n), S(a->x), S(a->ends), S(a->y), STATUS, I(MX_OP_segment_mean),
                  I(a->segments), I(a->rows), I(a->n), I(1), I(0));
}

DEFINE(segment_mean_grad)
{
    return spread_launch(launcher, MX_OP_segment_mean_grad, a->dy, a->ends, a->dx,
                         (const int64_t[]){a->segments, a->rows, a->n}, true, a->accumulate);
}

DEFINE(attentive_pool)
{
    int rc = 0;
    MX_TRY(offsets_check(launcher, MX_OP_attentive_pool, &a->rows, a->rows.rows));
    MX_TRY(LAUNCH(attentive_pool, a->rows.count, S(a->x), S(a->score), S(a->y), S(a->w), S(a->rows.offsets), STATUS,
                  I(a->n)));
out:
    return rc;
}

DEFINE(attentive_pool_grad)
{
    int rc = 0;
    MX_TRY(offsets_check(launcher, MX_OP_attentive_pool_grad, &a->rows, a->rows.rows));
    MX_TRY(LAUNCH(attentive_pool_grad, a->rows.rows, S(a->dy), S(a->x), S(a->y), S(a->w), S(a->dx), S(a->dscore),
                  S(a->rows.offsets), STATUS, I(a->rows.count), I(a->n)));
out:
    return rc;
}

DEFINE(align)
{
    int rc = 0;
    MX_TRY(offsets_check(launcher, MX_OP_align, &a->tokens, a->tokens.max_rows));
    MX_TRY(offsets_check(launcher, MX_OP_align, &a->frames, a->frames.max_rows));
    MX_TRY(
        LAUNCH(align_check, 1, S(a->tokens.offsets), S(a->frames.offsets), STATUS, I(MX_OP_align), I(a->tokens.count)));
    MX_TRY(LAUNCH(align, a->tokens.count, S(a->mean), S(a->mel), S(a->tokens.offsets), S(a->frames.offsets),
                  S(a->durations), S(a->logs), S(a->work), STATUS, L(a->tokens.rows), I((a->tokens.max_rows + 31) / 32),
                  I(a->n), F(a->diagonal)));
out:
    return rc;
}

/* ---- attention ---- */

#define SLOTS         8  /* MX_SLOTS of attention.cl */
#define SQUARE        96 /* MX_SQUARE of opencl/attention_cpu.cl */
#define SQUARE_FLOATS (SQUARE * SQUARE)

/* On devices of CPU type: how many groups there are for `tasks`, each with `squares` of the scratch of packed operands.
 */
static int64_t square_groups(int64_t tasks, int64_t squares)
{
    const int64_t most = (int64_t)(MX_PACKED_BYTES / sizeof(float)) / (squares * SQUARE_FLOATS);
    return tasks < most ? tasks : most;
}

static int squares_take(struct mx_launcher *launcher, struct mx_slice *out)
{
    struct mx_slice scratch;
    const int rc = launcher->scratch(launcher, &scratch);
    if (rc == 0) *out = mx_slice_at(scratch.buffer, scratch.offset_bytes + MX_SCRATCH_BYTES);
    return rc;
}

static int attention_squares(struct mx_launcher *launcher, const struct mx_attention_args *a)
{
    int rc = 0;
    struct mx_slice work;
    const int64_t blocks = mx_plan_over(a->rows.max_rows, SQUARE), chunks = mx_plan_over(a->head_width, SQUARE);
    const int64_t groups = square_groups(a->rows.count * a->heads * blocks, 4 * chunks + 1);
    MX_TRY(squares_take(launcher, &work));
    MX_TRY(LAUNCH(attention_forward, groups, S(a->q), S(a->k), S(a->v), S(a->out), S(a->lse), S(a->rows.offsets),
                  S(work), I(a->rows.count), I(groups), I(blocks), I(a->heads), I(a->head_width), L(a->stride),
                  L(a->out_stride), L(a->rows.rows), F(a->factor)));
out:
    return rc;
}

static int attention_grad_squares(struct mx_launcher *launcher, const struct mx_attention_grad_args *a)
{
    int rc = 0;
    struct mx_slice work;
    const int64_t groups = square_groups(a->rows.count * a->heads, 8 * mx_plan_over(a->head_width, SQUARE) + 2);
    MX_TRY(squares_take(launcher, &work));
    MX_TRY(LAUNCH(attention_backward, groups, S(a->q), S(a->k), S(a->v), S(a->out), S(a->lse), S(a->dout), S(a->delta),
                  S(a->dq), S(a->dk), S(a->dv), S(a->rows.offsets), S(work), I(a->rows.count), I(groups), I(a->heads),
                  I(a->head_width), L(a->stride), L(a->out_stride), L(a->grad_stride), L(a->rows.rows), F(a->factor)));
out:
    return rc;
}

DEFINE(attention)
{
    if (launcher->tuning->cpu) return attention_squares(launcher, a);
    const int64_t blocks = mx_plan_over(a->rows.max_rows, launcher->tuning->group / SLOTS);
    return LAUNCH(attend, a->rows.count * a->heads * blocks, S(a->q), S(a->k), S(a->v), S(a->out), S(a->lse),
                  S(a->rows.offsets), I(blocks), I(a->heads), I(a->head_width), L(a->stride), L(a->out_stride),
                  L(a->rows.rows), F(a->factor));
}

DEFINE(attention_grad)
{
    int rc = 0;
    if (launcher->tuning->cpu) return attention_grad_squares(launcher, a);
    const int64_t blocks = mx_plan_over(a->rows.max_rows, launcher->tuning->group / SLOTS);
    const int64_t groups = a->rows.count * a->heads * blocks;
    MX_TRY(LAUNCH(attention_delta, a->rows.rows, S(a->dout), S(a->out), S(a->delta), I(a->heads), I(a->head_width),
                  L(a->out_stride), L(a->rows.rows)));
    MX_TRY(LAUNCH(attention_queries, groups, S(a->q), S(a->k), S(a->v), S(a->dout), S(a->lse), S(a->delta), S(a->dq),
                  S(a->rows.offsets), I(blocks), I(a->heads), I(a->head_width), L(a->stride), L(a->out_stride),
                  L(a->grad_stride), L(a->rows.rows), F(a->factor)));
    MX_TRY(LAUNCH(attention_keys, groups, S(a->q), S(a->k), S(a->v), S(a->dout), S(a->lse), S(a->delta), S(a->dk),
                  S(a->dv), S(a->rows.offsets), I(blocks), I(a->heads), I(a->head_width), L(a->stride),
                  L(a->out_stride), L(a->grad_stride), L(a->rows.rows), F(a->factor)));
out:
    return rc;
}
