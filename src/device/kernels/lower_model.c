/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The operations of the model as launches: elements, rows, sums, segments, attention, losses, the optimizer.
 */
#include "device/kernels/lower.h"

#include <math.h>

#define CHUNK_ROWS    64    /* rows per partial sum over rows, at least */
#define CHUNK_NUMBERS 16384 /* elements per partial sum over everything, at least */

/* ---- elements ---- */

int mx_lower_activation(struct mx_launcher *launcher, const void *args)
{
    const struct mx_activation_args *const a = args;
    return LAUNCH(activation, WIDE_GROUPS(a->count), ARG_SLICE(a->x), ARG_SLICE(a->y), ARG_LONG(a->count),
                  ARG_INT(a->act));
}

int mx_lower_activation_grad(struct mx_launcher *launcher, const void *args)
{
    const struct mx_activation_grad_args *const a = args;
    return LAUNCH(activation_grad, WIDE_GROUPS(a->count), ARG_SLICE(a->dy), ARG_SLICE(a->x), ARG_SLICE(a->dx),
                  ARG_LONG(a->count), ARG_INT(a->act));
}

int mx_lower_residual_add(struct mx_launcher *launcher, const void *args)
{
    const struct mx_residual_add_args *const a = args;
    return LAUNCH(residual_add, WIDE_GROUPS(a->count), ARG_SLICE(a->a), ARG_SLICE(a->b), ARG_SLICE(a->y),
                  ARG_LONG(a->count), ARG_FLOAT(a->factor));
}

int mx_lower_dropout(struct mx_launcher *launcher, const void *args)
{
    const struct mx_dropout_args *const a = args;
    const double rate = (double)a->rate;
    return LAUNCH(dropout, WIDE_GROUPS(mx_lower_over(a->count, 4)), ARG_SLICE(a->x), ARG_SLICE(a->y),
                  ARG_SLICE(a->residual), ARG_LONG(a->count), ARG_INT((uint32_t)ceil(rate * 0x1p32)),
                  ARG_FLOAT((float)(1 / (1 - rate))), ARG_LONG(a->seed), ARG_LONG(a->stream), ARG_LONG(a->index));
}

int mx_lower_scale(struct mx_launcher *launcher, const void *args)
{
    const struct mx_scale_args *const a = args;
    return LAUNCH(scale, WIDE_GROUPS(a->count), ARG_SLICE(a->x), ARG_LONG(a->count), ARG_FLOAT(a->factor));
}

int mx_lower_fill(struct mx_launcher *launcher, const void *args)
{
    const struct mx_fill_args *const a = args;
    return LAUNCH(fill, WIDE_GROUPS(a->count), ARG_SLICE(a->x), ARG_LONG(a->count), ARG_INT(a->bits));
}

int mx_lower_adamw(struct mx_launcher *launcher, const void *args)
{
    const struct mx_adamw_args *const a = args;
    const double beta1 = (double)a->beta1, beta2 = (double)a->beta2, lr = (double)a->lr, step = (double)a->step;
    return LAUNCH(adamw, WIDE_GROUPS(a->count), ARG_SLICE(a->parameter), ARG_SLICE(a->gradient), ARG_SLICE(a->moment1),
                  ARG_SLICE(a->moment2), ARG_SLICE(a->norm), ARG_SLICE(a->ema), ARG_LONG(a->count),
                  ARG_LONG(a->decayed), ARG_FLOAT((float)(1 - beta1)), ARG_FLOAT((float)(1 - beta2)),
                  ARG_FLOAT((float)(lr / (1 - pow(beta1, step)))), ARG_FLOAT((float)(1 / sqrt(1 - pow(beta2, step)))),
                  ARG_FLOAT(a->eps), ARG_FLOAT((float)(1 - (double)a->ema_decay)),
                  ARG_FLOAT((float)(1 - lr * (double)a->weight_decay)));
}

/* ---- sums over rows ---- */

/* Chunks of rows for sums of `floats` each, so that they fit the scratch. */
static int64_t chunk_rows(int64_t rows, int64_t floats)
{
    const int64_t fit = floats > 0 ? (int64_t)(MX_SCRATCH_BYTES / sizeof(float)) / floats : rows;
    if (mx_lower_over(rows, CHUNK_ROWS) <= fit) return CHUNK_ROWS;
    return fit > 0 ? mx_lower_over(rows, fit) : 0;
}

int mx_lower_bias_grad(struct mx_launcher *launcher, const void *args)
{
    const struct mx_bias_grad_args *const a = args;
    int rc = 0;
    struct mx_slice partial;
    const int64_t each = chunk_rows(a->rows, a->n), blocks = COLUMN_GROUPS(a->n);
    if (each == 0 && a->dy_bf16) {
        MX_RAISE(MX_ERR_UNSUPPORTED, "use a narrower model, or another device",
                 "bias_grad: rows of %lld are wider than this device's scratch", (long long)a->n);
    }
    if (each == 0) { /* rows longer than the scratch: one sum over all of them */
        return LAUNCH(column_sum, blocks, ARG_SLICE(a->dy), ARG_SLICE(a->db), ARG_INT(a->rows), ARG_LONG(a->n),
                      ARG_INT(a->n), ARG_INT(a->accumulate));
    }
    const int64_t chunks = mx_lower_over(a->rows, each);
    MX_TRY(launcher->scratch(launcher, &partial));
    MX_TRY(LAUNCH(column_chunks, chunks * blocks, ARG_SLICE(a->dy), ARG_SLICE(partial), ARG_LONG(a->rows),
                  ARG_INT(a->n), ARG_LONG(each), ARG_INT(a->dy_bf16)));
    MX_TRY(LAUNCH(column_sum, blocks, ARG_SLICE(partial), ARG_SLICE(a->db), ARG_INT(chunks), ARG_LONG(a->n),
                  ARG_INT(a->n), ARG_INT(a->accumulate)));
out:
    return rc;
}

int mx_lower_layer_norm(struct mx_launcher *launcher, const void *args)
{
    const struct mx_layer_norm_args *const a = args;
    return LAUNCH(layer_norm, a->rows, ARG_SLICE(a->x), ARG_SLICE(a->gamma), ARG_SLICE(a->beta), ARG_SLICE(a->y),
                  ARG_SLICE(a->stats), ARG_INT(a->n), ARG_FLOAT(a->eps), ARG_INT(a->y_bf16));
}

/* The sums before dx, which may lie in place of dy. */
int mx_lower_layer_norm_grad(struct mx_launcher *launcher, const void *args)
{
    const struct mx_layer_norm_grad_args *const a = args;
    int rc = 0;
    struct mx_slice partial;
    const int64_t blocks = COLUMN_GROUPS(a->n), each = chunk_rows(a->rows, 2 * a->n);
    if (each == 0 && a->rows > 0) {
        MX_RAISE(MX_ERR_UNSUPPORTED, "use a narrower model, or another device",
                 "layer_norm_grad: rows of %lld are wider than this device's scratch", (long long)a->n);
    }
    if (a->rows == 0) return 0;
    const int64_t chunks = mx_lower_over(a->rows, each);
    MX_TRY(launcher->scratch(launcher, &partial));
    MX_TRY(LAUNCH(layer_norm_chunks, chunks * blocks, ARG_SLICE(a->dy), ARG_SLICE(a->x), ARG_SLICE(a->stats),
                  ARG_SLICE(partial), ARG_LONG(a->rows), ARG_INT(a->n), ARG_LONG(each)));
    MX_TRY(LAUNCH(layer_norm_rows, a->rows, ARG_SLICE(a->dy), ARG_SLICE(a->x), ARG_SLICE(a->gamma), ARG_SLICE(a->stats),
                  ARG_SLICE(a->residual), ARG_SLICE(a->dx), ARG_INT(a->n)));
    const struct mx_slice beta = mx_slice_at(partial.buffer, partial.offset_bytes + (size_t)a->n * 4);
    MX_TRY(LAUNCH(column_sum, blocks, ARG_SLICE(partial), ARG_SLICE(a->dgamma), ARG_INT(chunks), ARG_LONG(2 * a->n),
                  ARG_INT(a->n), ARG_INT(1)));
    MX_TRY(LAUNCH(column_sum, blocks, ARG_SLICE(beta), ARG_SLICE(a->dbeta), ARG_INT(chunks), ARG_LONG(2 * a->n),
                  ARG_INT(a->n), ARG_INT(1)));
out:
    return rc;
}

/* ---- sums over everything ---- */

static int64_t chunk_numbers(int64_t count)
{
    const int64_t fit = (int64_t)(MX_SCRATCH_BYTES / sizeof(double));
    return mx_lower_over(count, CHUNK_NUMBERS) <= fit ? CHUNK_NUMBERS : mx_lower_over(count, fit);
}

static int offsets_check(struct mx_launcher *launcher, enum mx_op op, const struct mx_ragged *rows, int32_t longest)
{
    return LAUNCH(offsets_check, 1, ARG_SLICE(rows->offsets), ARG_STATUS, ARG_INT(op), ARG_INT(rows->count),
                  ARG_INT(rows->rows), ARG_INT(longest));
}

int mx_lower_sequence_loss(struct mx_launcher *launcher, const void *args)
{
    const struct mx_sequence_loss_args *const a = args;
    int rc = 0;
    MX_TRY(offsets_check(launcher, MX_OP_sequence_loss, &a->rows, a->rows.rows));
    MX_TRY(LAUNCH(sequence_loss, a->rows.count, ARG_SLICE(a->prediction), ARG_SLICE(a->target),
                  ARG_SLICE(a->rows.offsets), ARG_SLICE(a->values), ARG_SLICE(a->dprediction), ARG_STATUS,
                  ARG_INT(a->n), ARG_FLOAT(a->scale), ARG_FLOAT(a->factor), ARG_INT(a->kind)));
out:
    return rc;
}

int mx_lower_pitch_loss(struct mx_launcher *launcher, const void *args)
{
    const struct mx_pitch_loss_args *const a = args;
    int rc = 0;
    struct mx_slice losses;
    if ((size_t)a->rows.rows > MX_SCRATCH_BYTES / sizeof(float)) {
        MX_RAISE(MX_ERR_UNSUPPORTED, "use smaller batches, or another device",
                 "pitch_loss: %d rows are more than this device's scratch holds", (int)a->rows.rows);
    }
    MX_TRY(launcher->scratch(launcher, &losses));
    MX_TRY(offsets_check(launcher, MX_OP_pitch_loss, &a->rows, a->rows.rows));
    MX_TRY(LAUNCH(pitch_rows, a->rows.rows, ARG_SLICE(a->logits), ARG_SLICE(a->pitch), ARG_SLICE(losses),
                  ARG_SLICE(a->dlogits), ARG_STATUS, ARG_INT(a->classes), ARG_FLOAT(a->low_hz),
                  ARG_FLOAT((float)(1 / log((double)a->high_hz / (double)a->low_hz))), ARG_FLOAT(a->factor)));
    MX_TRY(LAUNCH(pitch_values, a->rows.count, ARG_SLICE(losses), ARG_SLICE(a->rows.offsets), ARG_SLICE(a->values),
                  ARG_STATUS, ARG_FLOAT(a->scale)));
out:
    return rc;
}

/* ---- depthwise convolution ---- */

int mx_lower_depthwise(struct mx_launcher *launcher, const void *args)
{
    const struct mx_depthwise_args *const a = args;
    int rc = 0;
    MX_TRY(offsets_check(launcher, MX_OP_depthwise, &a->rows, a->rows.rows));
    MX_TRY(LAUNCH(depthwise, a->rows.rows, ARG_SLICE(a->x), ARG_SLICE(a->w), ARG_SLICE(a->bias),
                  ARG_SLICE((struct mx_slice){0}), ARG_SLICE(a->y), ARG_SLICE(a->rows.offsets), ARG_STATUS,
                  ARG_INT(a->rows.count), ARG_INT(a->n), ARG_INT(a->taps), ARG_INT(1)));
out:
    return rc;
}

int mx_lower_depthwise_grad(struct mx_launcher *launcher, const void *args)
{
    const struct mx_depthwise_grad_args *const a = args;
    int rc = 0;
    struct mx_slice partial;
    const int64_t rows = a->rows.rows, sums = (a->taps + 1) * a->n, each = chunk_rows(rows, sums);
    const int64_t blocks = COLUMN_GROUPS(a->n);
    if (each == 0 && rows > 0) {
        MX_RAISE(MX_ERR_UNSUPPORTED, "use a narrower model, or another device",
                 "depthwise_grad: rows of %lld are wider than this device's scratch", (long long)a->n);
    }
    if (rows == 0) return 0;
    const int64_t chunks = mx_lower_over(rows, each);
    MX_TRY(launcher->scratch(launcher, &partial));
    MX_TRY(offsets_check(launcher, MX_OP_depthwise_grad, &a->rows, a->rows.rows));
    MX_TRY(LAUNCH(depthwise, rows, ARG_SLICE(a->dy), ARG_SLICE(a->w), ARG_SLICE((struct mx_slice){0}),
                  ARG_SLICE(a->residual), ARG_SLICE(a->dx), ARG_SLICE(a->rows.offsets), ARG_STATUS,
                  ARG_INT(a->rows.count), ARG_INT(a->n), ARG_INT(a->taps), ARG_INT(-1)));
    MX_TRY(LAUNCH(depthwise_chunks, chunks * (a->taps + 1) * blocks, ARG_SLICE(a->dy), ARG_SLICE(a->x),
                  ARG_SLICE(partial), ARG_SLICE(a->rows.offsets), ARG_STATUS, ARG_INT(a->rows.count), ARG_LONG(rows),
                  ARG_INT(a->n), ARG_INT(a->taps), ARG_LONG(each)));
    const struct mx_slice bias =
        mx_slice_at(partial.buffer, partial.offset_bytes + (size_t)(a->taps * a->n) * sizeof(float));
    MX_TRY(LAUNCH(column_sum, COLUMN_GROUPS(a->taps * a->n), ARG_SLICE(partial), ARG_SLICE(a->dw), ARG_INT(chunks),
                  ARG_LONG(sums), ARG_INT(a->taps * a->n), ARG_INT(1)));
    MX_TRY(LAUNCH(column_sum, blocks, ARG_SLICE(bias), ARG_SLICE(a->dbias), ARG_INT(chunks), ARG_LONG(sums),
                  ARG_INT(a->n), ARG_INT(1)));
out:
    return rc;
}

int mx_lower_grad_norm(struct mx_launcher *launcher, const void *args)
{
    const struct mx_grad_norm_args *const a = args;
    int rc = 0;
    struct mx_slice partial;
    const int64_t span = chunk_numbers(a->count), chunks = mx_lower_over(a->count, span);
    MX_TRY(launcher->scratch(launcher, &partial));
    MX_TRY(LAUNCH(norm_chunks, chunks, ARG_SLICE(a->gradient), ARG_SLICE(partial), ARG_LONG(a->count), ARG_LONG(span)));
    MX_TRY(LAUNCH(norm_finish, 1, ARG_SLICE(partial), ARG_SLICE(a->result), ARG_INT(chunks), ARG_FLOAT(a->limit),
                  ARG_FLOAT(a->factor)));
out:
    return rc;
}

/* ---- tables, positions, segments ---- */

int mx_lower_embedding(struct mx_launcher *launcher, const void *args)
{
    const struct mx_embedding_args *const a = args;
    return LAUNCH(embedding, a->rows, ARG_SLICE(a->ids), ARG_SLICE(a->table), ARG_SLICE(a->y), ARG_STATUS,
                  ARG_INT(MX_OP_embedding), ARG_INT(a->n), ARG_INT(a->vocabulary), ARG_FLOAT(a->factor),
                  ARG_INT(a->accumulate));
}

int mx_lower_embedding_grad(struct mx_launcher *launcher, const void *args)
{
    const struct mx_embedding_grad_args *const a = args;
    if (a->rows == 0) return 0;
    return LAUNCH(embedding_grad, COLUMN_GROUPS(a->n), ARG_SLICE(a->ids), ARG_SLICE(a->dy), ARG_SLICE(a->dtable),
                  ARG_STATUS, ARG_INT(MX_OP_embedding_grad), ARG_LONG(a->rows), ARG_INT(a->n), ARG_INT(a->vocabulary),
                  ARG_FLOAT(a->factor));
}

int mx_lower_rotary_table(struct mx_launcher *launcher, const void *args)
{
    const struct mx_rotary_table_args *const a = args;
    const int64_t half = a->head_width / 2;
    return LAUNCH(rotary_table, WIDE_GROUPS(a->positions * half), ARG_SLICE(a->table), ARG_LONG(a->positions * half),
                  ARG_INT(half), ARG_FLOAT(a->base));
}

int mx_lower_rotary(struct mx_launcher *launcher, const void *args)
{
    const struct mx_rotary_args *const a = args;
    return LAUNCH(rotary, a->rows.rows, ARG_SLICE(a->x), ARG_SLICE(a->table), ARG_SLICE(a->rows.offsets), ARG_STATUS,
                  ARG_INT(MX_OP_rotary), ARG_INT(a->rows.count), ARG_INT(a->heads), ARG_INT(a->head_width / 2),
                  ARG_LONG(a->stride), ARG_INT(a->positions), ARG_FLOAT(a->inverse ? -1.0f : 1.0f));
}

int mx_lower_durations_scan(struct mx_launcher *launcher, const void *args)
{
    const struct mx_durations_scan_args *const a = args;
    return LAUNCH(durations_scan, 1, ARG_SLICE(a->durations), ARG_SLICE(a->ends), ARG_STATUS,
                  ARG_INT(MX_OP_durations_scan), ARG_INT(a->count));
}

int mx_lower_expand(struct mx_launcher *launcher, const void *args)
{
    const struct mx_expand_args *const a = args;
    return LAUNCH(spread, a->rows, ARG_SLICE(a->x), ARG_SLICE(a->ends), ARG_SLICE(a->y), ARG_STATUS,
                  ARG_INT(MX_OP_expand), ARG_INT(a->segments), ARG_INT(a->rows), ARG_INT(a->n), ARG_INT(a->accumulate));
}

int mx_lower_expand_grad(struct mx_launcher *launcher, const void *args)
{
    const struct mx_expand_grad_args *const a = args;
    return LAUNCH(collect, a->segments * COLUMN_GROUPS(a->n), ARG_SLICE(a->dy), ARG_SLICE(a->ends), ARG_SLICE(a->dx),
                  ARG_STATUS, ARG_INT(MX_OP_expand_grad), ARG_INT(a->segments), ARG_INT(a->rows), ARG_INT(a->n),
                  ARG_INT(0));
}

int mx_lower_segment_mean(struct mx_launcher *launcher, const void *args)
{
    const struct mx_segment_mean_args *const a = args;
    return LAUNCH(collect, a->segments * COLUMN_GROUPS(a->n), ARG_SLICE(a->x), ARG_SLICE(a->ends), ARG_SLICE(a->y),
                  ARG_STATUS, ARG_INT(MX_OP_segment_mean), ARG_INT(a->segments), ARG_INT(a->rows), ARG_INT(a->n),
                  ARG_INT(1));
}

int mx_lower_attentive_pool(struct mx_launcher *launcher, const void *args)
{
    const struct mx_attentive_pool_args *const a = args;
    int rc = 0;
    MX_TRY(offsets_check(launcher, MX_OP_attentive_pool, &a->rows, a->rows.rows));
    MX_TRY(LAUNCH(attentive_pool, a->rows.count, ARG_SLICE(a->x), ARG_SLICE(a->score), ARG_SLICE(a->y), ARG_SLICE(a->w),
                  ARG_SLICE(a->rows.offsets), ARG_STATUS, ARG_INT(a->n)));
out:
    return rc;
}

int mx_lower_attentive_pool_grad(struct mx_launcher *launcher, const void *args)
{
    const struct mx_attentive_pool_grad_args *const a = args;
    int rc = 0;
    MX_TRY(offsets_check(launcher, MX_OP_attentive_pool_grad, &a->rows, a->rows.rows));
    MX_TRY(LAUNCH(attentive_pool_grad, a->rows.rows, ARG_SLICE(a->dy), ARG_SLICE(a->x), ARG_SLICE(a->y),
                  ARG_SLICE(a->w), ARG_SLICE(a->dx), ARG_SLICE(a->dscore), ARG_SLICE(a->rows.offsets), ARG_STATUS,
                  ARG_INT(a->rows.count), ARG_INT(a->n)));
out:
    return rc;
}

int mx_lower_align(struct mx_launcher *launcher, const void *args)
{
    const struct mx_align_args *const a = args;
    int rc = 0;
    MX_TRY(offsets_check(launcher, MX_OP_align, &a->tokens, a->tokens.max_rows));
    MX_TRY(offsets_check(launcher, MX_OP_align, &a->frames, a->frames.max_rows));
    MX_TRY(LAUNCH(align_check, 1, ARG_SLICE(a->tokens.offsets), ARG_SLICE(a->frames.offsets), ARG_STATUS,
                  ARG_INT(MX_OP_align), ARG_INT(a->tokens.count)));
    MX_TRY(LAUNCH(align, a->tokens.count, ARG_SLICE(a->mean), ARG_SLICE(a->mel), ARG_SLICE(a->tokens.offsets),
                  ARG_SLICE(a->frames.offsets), ARG_SLICE(a->durations), ARG_SLICE(a->logs), ARG_SLICE(a->work),
                  ARG_STATUS, ARG_LONG(a->tokens.rows), ARG_INT((a->tokens.max_rows + 31) / 32), ARG_INT(a->n),
                  ARG_FLOAT(a->diagonal)));
out:
    return rc;
}

/* ---- attention ---- */

#define SLOTS 8 /* MX_SLOTS of attention.cl */

int mx_lower_attention(struct mx_launcher *launcher, const void *args)
{
    const struct mx_attention_args *const a = args;
    const int64_t blocks = mx_lower_over(a->rows.max_rows, launcher->tuning->group / SLOTS);
    return LAUNCH(attend, a->rows.count * a->heads * blocks, ARG_SLICE(a->q), ARG_SLICE(a->k), ARG_SLICE(a->v),
                  ARG_SLICE(a->out), ARG_SLICE(a->lse), ARG_SLICE(a->rows.offsets), ARG_INT(blocks), ARG_INT(a->heads),
                  ARG_INT(a->head_width), ARG_LONG(a->stride), ARG_LONG(a->out_stride), ARG_LONG(a->rows.rows),
                  ARG_FLOAT(a->factor));
}

int mx_lower_attention_grad(struct mx_launcher *launcher, const void *args)
{
    const struct mx_attention_grad_args *const a = args;
    int rc = 0;
    const int64_t blocks = mx_lower_over(a->rows.max_rows, launcher->tuning->group / SLOTS);
    const int64_t groups = a->rows.count * a->heads * blocks;
    MX_TRY(LAUNCH(attention_delta, a->rows.rows, ARG_SLICE(a->dout), ARG_SLICE(a->out), ARG_SLICE(a->delta),
                  ARG_INT(a->heads), ARG_INT(a->head_width), ARG_LONG(a->out_stride), ARG_LONG(a->rows.rows)));
    MX_TRY(LAUNCH(attention_queries, groups, ARG_SLICE(a->q), ARG_SLICE(a->k), ARG_SLICE(a->v), ARG_SLICE(a->dout),
                  ARG_SLICE(a->lse), ARG_SLICE(a->delta), ARG_SLICE(a->dq), ARG_SLICE(a->rows.offsets), ARG_INT(blocks),
                  ARG_INT(a->heads), ARG_INT(a->head_width), ARG_LONG(a->stride), ARG_LONG(a->out_stride),
                  ARG_LONG(a->grad_stride), ARG_LONG(a->rows.rows), ARG_FLOAT(a->factor)));
    MX_TRY(LAUNCH(attention_keys, groups, ARG_SLICE(a->q), ARG_SLICE(a->k), ARG_SLICE(a->v), ARG_SLICE(a->dout),
                  ARG_SLICE(a->lse), ARG_SLICE(a->delta), ARG_SLICE(a->dk), ARG_SLICE(a->dv),
                  ARG_SLICE(a->rows.offsets), ARG_INT(blocks), ARG_INT(a->heads), ARG_INT(a->head_width),
                  ARG_LONG(a->stride), ARG_LONG(a->out_stride), ARG_LONG(a->grad_stride), ARG_LONG(a->rows.rows),
                  ARG_FLOAT(a->factor)));
out:
    return rc;
}
