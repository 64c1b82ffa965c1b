/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What every operation's arguments must look like: names, sizes, ranges, slices.
 *
 * Each operation is described once, by a function that walks over its arguments: parameters with their ranges first,
 * then every slice with its size (the vocabulary for that is in ops_walk.h). The same walk checks arguments before they
 * are queued (mx_op_check) and lists the memory that an operation touches (mx_op_slices). Nothing is allocated; the
 * walk lives on the caller's stack. The operations that only the vocoder needs are in ops_check_vocoder.c.
 */
#include <assert.h>

#include "device/ops_walk.h"

/* ---- the operations, in the order of myxtts/ops.h ---- */
void mx_op_walk_matmul(struct walk *walk, const void *args)
{
    const struct mx_matmul_args *const a = args;
    const int64_t a_rows = a->transpose_a ? a->k : a->m, a_width = a->transpose_a ? a->m : a->k;
    const int64_t b_rows = a->transpose_b ? a->n : a->k, b_width = a->transpose_b ? a->k : a->n;
    const int64_t lda = a->lda ? a->lda : a_width, ldb = a->ldb ? a->ldb : b_width, ldc = a->ldc ? a->ldc : a->n;
    dimension(walk, "m", a->m);
    dimension(walk, "n", a->n);
    dimension(walk, "k", a->k);
    row_stride(walk, "lda", lda, a_width);
    row_stride(walk, "ldb", ldb, b_width);
    row_stride(walk, "ldc", ldc, a->n);
    precision(walk, a->precision, a->a_bf16 || a->b_bf16 || a->epilogue.c_bf16 || a->epilogue.pre_bf16);
    tensor_of(walk, "a", a->a, strided(a_rows, a_width, lda), a->a_bf16, READ);
    tensor_of(walk, "b", a->b, strided(b_rows, b_width, ldb), a->b_bf16, READ);
    epilogue(walk, &a->epilogue, a->m, a->n, ldc);
    tensor_of(walk, "c", a->c, strided(a->m, a->n, ldc), a->epilogue.c_bf16, WRITTEN);
}

void mx_op_walk_bias_grad(struct walk *walk, const void *args)
{
    const struct mx_bias_grad_args *const a = args;
    dimension(walk, "rows", a->rows);
    dimension(walk, "n", a->n);
    bf16(walk, a->dy_bf16);
    tensor_of(walk, "dy", a->dy, times(a->rows, a->n), a->dy_bf16, READ);
    tensor(walk, "db", a->db, a->n, WRITTEN);
}

void mx_op_walk_layer_norm(struct walk *walk, const void *args)
{
    const struct mx_layer_norm_args *const a = args;
    const int64_t elements = times(a->rows, a->n);
    dimension(walk, "rows", a->rows);
    dimension(walk, "n", a->n);
    positive(walk, "eps", a->eps);
    bf16(walk, a->y_bf16);
    tensor(walk, "x", a->x, elements, READ);
    tensor(walk, "gamma", a->gamma, a->n, READ);
    tensor(walk, "beta", a->beta, a->n, READ);
    tensor_of(walk, "y", a->y, elements, a->y_bf16, WRITTEN);
    tensor(walk, "stats", a->stats, times(a->rows, 2), WRITTEN);
}

void mx_op_walk_layer_norm_grad(struct walk *walk, const void *args)
{
    const struct mx_layer_norm_grad_args *const a = args;
    const int64_t elements = times(a->rows, a->n);
    dimension(walk, "rows", a->rows);
    dimension(walk, "n", a->n);
    tensor(walk, "dy", a->dy, elements, READ);
    tensor(walk, "x", a->x, elements, READ);
    tensor(walk, "gamma", a->gamma, a->n, READ);
    tensor(walk, "stats", a->stats, times(a->rows, 2), READ);
    tensor(walk, "residual", a->residual, elements, READ_OPTIONAL);
    tensor(walk, "dx", a->dx, elements, WRITTEN);
    tensor(walk, "dgamma", a->dgamma, a->n, WRITTEN);
    tensor(walk, "dbeta", a->dbeta, a->n, WRITTEN);
}

void mx_op_walk_activation(struct walk *walk, const void *args)
{
    const struct mx_activation_args *const a = args;
    length(walk, "count", a->count);
    activation(walk, "act", a->act);
    tensor(walk, "x", a->x, a->count, READ);
    tensor(walk, "y", a->y, a->count, WRITTEN);
}

void mx_op_walk_activation_grad(struct walk *walk, const void *args)
{
    const struct mx_activation_grad_args *const a = args;
    length(walk, "count", a->count);
    activation(walk, "act", a->act);
    tensor(walk, "dy", a->dy, a->count, READ);
    tensor(walk, "x", a->x, a->count, READ);
    tensor(walk, "dx", a->dx, a->count, WRITTEN);
}

void mx_op_walk_residual_add(struct walk *walk, const void *args)
{
    const struct mx_residual_add_args *const a = args;
    length(walk, "count", a->count);
    finite_number(walk, "factor", a->factor);
    tensor(walk, "a", a->a, a->count, READ);
    tensor(walk, "b", a->b, a->count, READ);
    tensor(walk, "y", a->y, a->count, WRITTEN);
}

void mx_op_walk_embedding(struct walk *walk, const void *args)
{
    const struct mx_embedding_args *const a = args;
    dimension(walk, "rows", a->rows);
    dimension(walk, "n", a->n);
    dimension(walk, "vocabulary", a->vocabulary);
    finite_number(walk, "factor", a->factor);
    tensor(walk, "ids", a->ids, a->rows, READ);
    tensor(walk, "table", a->table, times(a->vocabulary, a->n), READ);
    tensor(walk, "y", a->y, times(a->rows, a->n), WRITTEN);
}

void mx_op_walk_embedding_grad(struct walk *walk, const void *args)
{
    const struct mx_embedding_grad_args *const a = args;
    dimension(walk, "rows", a->rows);
    dimension(walk, "n", a->n);
    dimension(walk, "vocabulary", a->vocabulary);
    finite_number(walk, "factor", a->factor);
    tensor(walk, "ids", a->ids, a->rows, READ);
    tensor(walk, "dy", a->dy, times(a->rows, a->n), READ);
    tensor(walk, "dtable", a->dtable, times(a->vocabulary, a->n), WRITTEN);
}

void mx_op_walk_rotary_table(struct walk *walk, const void *args)
{
    const struct mx_rotary_table_args *const a = args;
    dimension(walk, "positions", a->positions);
    dimension(walk, "head_width", a->head_width);
    require(walk, a->head_width % 2 == 0, "head_width", "an even number");
    positive(walk, "base", a->base);
    tensor(walk, "table", a->table, times(a->positions, a->head_width), WRITTEN);
}

void mx_op_walk_rotary(struct walk *walk, const void *args)
{
    const struct mx_rotary_args *const a = args;
    const int64_t width = times(a->heads, a->head_width);
    ragged(walk, &a->rows);
    heads(walk, a->heads, a->head_width);
    require(walk, a->head_width % 2 == 0, "head_width", "an even number");
    row_stride(walk, "stride", a->stride, width);
    integer(walk, "positions", a->positions, a->rows.max_rows, INT32_MAX);
    tensor(walk, "table", a->table, times(a->positions, a->head_width), READ);
    tensor(walk, "x", a->x, strided(a->rows.rows, width, a->stride), WRITTEN);
}

void mx_op_walk_attention(struct walk *walk, const void *args)
{
    const struct mx_attention_args *const a = args;
    const int64_t width = times(a->heads, a->head_width), inputs = strided(a->rows.rows, width, a->stride);
    ragged(walk, &a->rows);
    heads(walk, a->heads, a->head_width);
    integer(walk, "head_width", a->head_width, 0, MX_ATTENTION_WIDTH_MAX);
    row_stride(walk, "stride", a->stride, width);
    row_stride(walk, "out_stride", a->out_stride, width);
    finite_number(walk, "factor", a->factor);
    tensor(walk, "q", a->q, inputs, READ);
    tensor(walk, "k", a->k, inputs, READ);
    tensor(walk, "v", a->v, inputs, READ);
    tensor(walk, "out", a->out, strided(a->rows.rows, width, a->out_stride), WRITTEN);
    tensor(walk, "lse", a->lse, times(a->heads, a->rows.rows), WRITTEN);
}

void mx_op_walk_attention_grad(struct walk *walk, const void *args)
{
    const struct mx_attention_grad_args *const a = args;
    const int64_t width = times(a->heads, a->head_width), inputs = strided(a->rows.rows, width, a->stride);
    const int64_t outputs = strided(a->rows.rows, width, a->out_stride);
    const int64_t gradients = strided(a->rows.rows, width, a->grad_stride);
    ragged(walk, &a->rows);
    heads(walk, a->heads, a->head_width);
    integer(walk, "head_width", a->head_width, 0, MX_ATTENTION_WIDTH_MAX);
    row_stride(walk, "stride", a->stride, width);
    row_stride(walk, "out_stride", a->out_stride, width);
    row_stride(walk, "grad_stride", a->grad_stride, width);
    finite_number(walk, "factor", a->factor);
    tensor(walk, "q", a->q, inputs, READ);
    tensor(walk, "k", a->k, inputs, READ);
    tensor(walk, "v", a->v, inputs, READ);
    tensor(walk, "out", a->out, outputs, READ);
    tensor(walk, "lse", a->lse, times(a->heads, a->rows.rows), READ);
    tensor(walk, "dout", a->dout, outputs, READ);
    tensor(walk, "dq", a->dq, gradients, WRITTEN);
    tensor(walk, "dk", a->dk, gradients, WRITTEN);
    tensor(walk, "dv", a->dv, gradients, WRITTEN);
    tensor(walk, "delta", a->delta, times(a->heads, a->rows.rows), WRITTEN);
}

void mx_op_walk_conv1d(struct walk *walk, const void *args)
{
    const struct mx_conv1d_args *const a = args;
    ragged(walk, &a->rows);
    dimension(walk, "in_width", a->in_width);
    dimension(walk, "out_width", a->out_width);
    taps(walk, a->taps);
    precision(walk, a->precision, a->x_bf16 || a->epilogue.c_bf16 || a->epilogue.pre_bf16);
    tensor_of(walk, "x", a->x, times(a->rows.rows, a->in_width), a->x_bf16, READ);
    tensor(walk, "w", a->w, times(a->taps, times(a->in_width, a->out_width)), READ);
    epilogue(walk, &a->epilogue, a->rows.rows, a->out_width, a->out_width);
    tensor_of(walk, "y", a->y, times(a->rows.rows, a->out_width), a->epilogue.c_bf16, WRITTEN);
}

void mx_op_walk_conv1d_grad_input(struct walk *walk, const void *args)
{
    const struct mx_conv1d_grad_input_args *const a = args;
    ragged(walk, &a->rows);
    dimension(walk, "in_width", a->in_width);
    dimension(walk, "out_width", a->out_width);
    taps(walk, a->taps);
    precision(walk, a->precision, a->dy_bf16 || a->epilogue.c_bf16 || a->epilogue.pre_bf16);
    tensor_of(walk, "dy", a->dy, times(a->rows.rows, a->out_width), a->dy_bf16, READ);
    tensor(walk, "w", a->w, times(a->taps, times(a->in_width, a->out_width)), READ);
    epilogue(walk, &a->epilogue, a->rows.rows, a->in_width, a->in_width);
    tensor_of(walk, "dx", a->dx, times(a->rows.rows, a->in_width), a->epilogue.c_bf16, WRITTEN);
}

void mx_op_walk_conv1d_grad_weight(struct walk *walk, const void *args)
{
    const struct mx_conv1d_grad_weight_args *const a = args;
    ragged(walk, &a->rows);
    dimension(walk, "in_width", a->in_width);
    dimension(walk, "out_width", a->out_width);
    taps(walk, a->taps);
    precision(walk, a->precision, a->x_bf16 || a->dy_bf16);
    tensor_of(walk, "x", a->x, times(a->rows.rows, a->in_width), a->x_bf16, READ);
    tensor_of(walk, "dy", a->dy, times(a->rows.rows, a->out_width), a->dy_bf16, READ);
    tensor(walk, "dw", a->dw, times(a->taps, times(a->in_width, a->out_width)), WRITTEN);
}

static void depthwise_taps(struct walk *walk, int32_t taps)
{
    integer(walk, "taps", taps, 1, MX_DEPTHWISE_TAPS_MAX);
    require(walk, taps % 2 == 1, "taps", "an odd number");
}

void mx_op_walk_depthwise(struct walk *walk, const void *args)
{
    const struct mx_depthwise_args *const a = args;
    ragged(walk, &a->rows);
    dimension(walk, "n", a->n);
    depthwise_taps(walk, a->taps);
    tensor(walk, "x", a->x, times(a->rows.rows, a->n), READ);
    tensor(walk, "w", a->w, times(a->taps, a->n), READ);
    tensor(walk, "bias", a->bias, a->n, READ);
    tensor(walk, "y", a->y, times(a->rows.rows, a->n), WRITTEN);
}

void mx_op_walk_depthwise_grad(struct walk *walk, const void *args)
{
    const struct mx_depthwise_grad_args *const a = args;
    ragged(walk, &a->rows);
    dimension(walk, "n", a->n);
    depthwise_taps(walk, a->taps);
    tensor(walk, "dy", a->dy, times(a->rows.rows, a->n), READ);
    tensor(walk, "x", a->x, times(a->rows.rows, a->n), READ);
    tensor(walk, "w", a->w, times(a->taps, a->n), READ);
    tensor(walk, "residual", a->residual, times(a->rows.rows, a->n), READ_OPTIONAL);
    tensor(walk, "dx", a->dx, times(a->rows.rows, a->n), WRITTEN);
    tensor(walk, "dw", a->dw, times(a->taps, a->n), WRITTEN);
    tensor(walk, "dbias", a->dbias, a->n, WRITTEN);
}

void mx_op_walk_dropout(struct walk *walk, const void *args)
{
    const struct mx_dropout_args *const a = args;
    length(walk, "count", a->count);
    real(walk, "rate", a->rate, 0, 1, true);
    require(walk, a->index % 4 == 0, "index", "a multiple of 4");
    tensor(walk, "x", a->x, a->count, READ);
    tensor(walk, "residual", a->residual, a->count, READ_OPTIONAL);
    tensor(walk, "y", a->y, a->count, WRITTEN);
}

void mx_op_walk_durations_scan(struct walk *walk, const void *args)
{
    const struct mx_durations_scan_args *const a = args;
    integer(walk, "count", a->count, 0, INT32_MAX - 1);
    tensor(walk, "durations", a->durations, a->count, READ);
    tensor(walk, "ends", a->ends, plus(a->count, 1), WRITTEN);
}

void mx_op_walk_expand(struct walk *walk, const void *args)
{
    const struct mx_expand_args *const a = args;
    segments(walk, a->segments, a->rows, a->n);
    tensor(walk, "x", a->x, times(a->segments, a->n), READ);
    tensor(walk, "ends", a->ends, plus(a->segments, 1), READ);
    tensor(walk, "y", a->y, times(a->rows, a->n), WRITTEN);
}

void mx_op_walk_expand_grad(struct walk *walk, const void *args)
{
    const struct mx_expand_grad_args *const a = args;
    segments(walk, a->segments, a->rows, a->n);
    tensor(walk, "dy", a->dy, times(a->rows, a->n), READ);
    tensor(walk, "ends", a->ends, plus(a->segments, 1), READ);
    tensor(walk, "dx", a->dx, times(a->segments, a->n), WRITTEN);
}

void mx_op_walk_segment_mean(struct walk *walk, const void *args)
{
    const struct mx_segment_mean_args *const a = args;
    segments(walk, a->segments, a->rows, a->n);
    tensor(walk, "x", a->x, times(a->rows, a->n), READ);
    tensor(walk, "ends", a->ends, plus(a->segments, 1), READ);
    tensor(walk, "y", a->y, times(a->segments, a->n), WRITTEN);
}

void mx_op_walk_attentive_pool(struct walk *walk, const void *args)
{
    const struct mx_attentive_pool_args *const a = args;
    ragged(walk, &a->rows);
    dimension(walk, "n", a->n);
    tensor(walk, "x", a->x, times(a->rows.rows, a->n), READ);
    tensor(walk, "score", a->score, a->rows.rows, READ);
    tensor(walk, "y", a->y, times(a->rows.count, a->n), WRITTEN);
    tensor(walk, "w", a->w, a->rows.rows, WRITTEN);
}

void mx_op_walk_attentive_pool_grad(struct walk *walk, const void *args)
{
    const struct mx_attentive_pool_grad_args *const a = args;
    ragged(walk, &a->rows);
    dimension(walk, "n", a->n);
    tensor(walk, "dy", a->dy, times(a->rows.count, a->n), READ);
    tensor(walk, "x", a->x, times(a->rows.rows, a->n), READ);
    tensor(walk, "y", a->y, times(a->rows.count, a->n), READ);
    tensor(walk, "w", a->w, a->rows.rows, READ);
    tensor(walk, "dx", a->dx, times(a->rows.rows, a->n), WRITTEN);
    tensor(walk, "dscore", a->dscore, a->rows.rows, WRITTEN);
}

void mx_op_walk_align(struct walk *walk, const void *args)
{
    const struct mx_align_args *const a = args;
    static const char *const of_tokens[] = {"tokens.count", "tokens.rows", "tokens.max_rows", "tokens.offsets"};
    static const char *const of_frames[] = {"frames.count", "frames.rows", "frames.max_rows", "frames.offsets"};
    const int64_t bits = times(a->frames.rows, ((int64_t)a->tokens.max_rows + 31) / 32);
    ragged_parts(walk, &a->tokens, of_tokens);
    ragged_parts(walk, &a->frames, of_frames);
    require(walk, a->frames.count == a->tokens.count, "frames.count", "as many sequences as tokens.count says");
    dimension(walk, "n", a->n);
    real(walk, "diagonal", a->diagonal, 0, INFINITY, true);
    tensor(walk, "mean", a->mean, times(a->tokens.rows, a->n), READ);
    tensor(walk, "mel", a->mel, times(a->frames.rows, a->n), READ);
    tensor(walk, "durations", a->durations, a->tokens.rows, WRITTEN);
    tensor(walk, "logs", a->logs, a->tokens.rows, WRITTEN_OPTIONAL);
    tensor(walk, "work", a->work, plus(times(a->tokens.rows, 2), bits), WRITTEN);
}

void mx_op_walk_sequence_loss(struct walk *walk, const void *args)
{
    const struct mx_sequence_loss_args *const a = args;
    const int64_t elements = times(a->rows.rows, a->n);
    ragged(walk, &a->rows);
    dimension(walk, "n", a->n);
    finite_number(walk, "scale", a->scale);
    finite_number(walk, "factor", a->factor);
    integer(walk, "kind", (int64_t)a->kind, MX_LOSS_L1, MX_LOSS_L2);
    tensor(walk, "prediction", a->prediction, elements, READ);
    tensor(walk, "target", a->target, elements, READ);
    tensor(walk, "values", a->values, a->rows.count, WRITTEN);
    tensor(walk, "dprediction", a->dprediction, elements, WRITTEN_OPTIONAL);
}

void mx_op_walk_grad_norm(struct walk *walk, const void *args)
{
    const struct mx_grad_norm_args *const a = args;
    length(walk, "count", a->count);
    real(walk, "limit", a->limit, 0, INFINITY, true);
    finite_number(walk, "factor", a->factor);
    tensor(walk, "gradient", a->gradient, a->count, READ);
    tensor(walk, "result", a->result, 4, WRITTEN);
}

void mx_op_walk_adamw(struct walk *walk, const void *args)
{
    const struct mx_adamw_args *const a = args;
    length(walk, "count", a->count);
    integer(walk, "decayed", a->decayed, 0, a->count);
    real(walk, "lr", a->lr, 0, INFINITY, true);
    real(walk, "beta1", a->beta1, 0, 1, true);
    real(walk, "beta2", a->beta2, 0, 1, true);
    positive(walk, "eps", a->eps);
    real(walk, "weight_decay", a->weight_decay, 0, INFINITY, true);
    real(walk, "ema_decay", a->ema_decay, 0, 1, false);
    integer(walk, "step", a->step, 1, INT64_MAX);
    tensor(walk, "gradient", a->gradient, a->count, READ);
    tensor(walk, "norm", a->norm, 4, READ);
    tensor(walk, "parameter", a->parameter, a->count, WRITTEN);
    tensor(walk, "moment1", a->moment1, a->count, WRITTEN);
    tensor(walk, "moment2", a->moment2, a->count, WRITTEN);
    tensor(walk, "ema", a->ema, a->count, WRITTEN_OPTIONAL);
}

void mx_op_walk_scale(struct walk *walk, const void *args)
{
    const struct mx_scale_args *const a = args;
    length(walk, "count", a->count);
    finite_number(walk, "factor", a->factor);
    tensor(walk, "x", a->x, a->count, WRITTEN);
}

void mx_op_walk_fill(struct walk *walk, const void *args)
{
    const struct mx_fill_args *const a = args;
    length(walk, "count", a->count);
    tensor(walk, "x", a->x, a->count, WRITTEN);
}

/* ---- features of packed audio ---- */

static const char *const samples_names[] = {"samples.count", "samples.rows", "samples.max_rows", "samples.offsets"};
static const char *const frames_names[] = {"frames.count", "frames.rows", "frames.max_rows", "frames.offsets"};

/* Samples and their frames. */
static void frames(struct walk *walk, const struct mx_ragged *samples, const struct mx_ragged *rows, int32_t fft_size,
                   int32_t hop)
{
    packed_audio(walk, samples, fft_size, hop);
    ragged_parts(walk, rows, frames_names);
    require(walk, rows->count == samples->count, "frames.count", "as many utterances as samples.count says");
}

void mx_op_walk_mel(struct walk *walk, const void *args)
{
    const struct mx_mel_args *const a = args;
    frames(walk, &a->samples, &a->frames, a->fft_size, a->hop);
    integer(walk, "bands", a->bands, 1, 1024);
    integer(walk, "weights", a->weights, 0, times(a->bands, a->fft_size / 2 + 1));
    real(walk, "floor", a->floor, 1e-37, INFINITY, true);
    finite_number(walk, "mean", a->mean);
    finite_number(walk, "inverse_deviation", a->inverse_deviation);
    tensor(walk, "audio", a->audio, a->samples.rows, READ);
    tensor(walk, "tables", a->tables, 3 * (int64_t)a->fft_size + 2 * (int64_t)a->bands + 1 + a->weights, READ);
    tensor(walk, "mel", a->mel, times(a->frames.rows, a->bands), WRITTEN);
    tensor(walk, "energy", a->energy, a->frames.rows, WRITTEN_OPTIONAL);
}

void mx_op_walk_pitch(struct walk *walk, const void *args)
{
    const struct mx_pitch_args *const a = args;
    frames(walk, &a->samples, &a->frames, a->fft_size, a->hop);
    positive(walk, "rate", a->rate);
    positive(walk, "low_hz", a->low_hz);
    positive(walk, "high_hz", a->high_hz);
    require(walk, a->low_hz < a->high_hz, "high_hz", "more than low_hz");
    require(walk, a->rate / a->high_hz >= 2, "high_hz", "at most half the rate");
    require(walk, a->rate / a->low_hz <= (float)a->fft_size - 16, "low_hz",
            "a period of less than fft_size - 16 samples");
    real(walk, "silence", a->silence, 0, INFINITY, true);
    real(walk, "threshold", a->threshold, 0, INFINITY, true);
    real(walk, "octave", a->octave, 0, INFINITY, true);
    real(walk, "jump", a->jump, 0, INFINITY, true);
    real(walk, "change", a->change, 0, INFINITY, true);
    tensor(walk, "audio", a->audio, a->samples.rows, READ);
    tensor(walk, "tables", a->tables, 3 * (int64_t)a->fft_size, READ);
    tensor(walk, "pitch", a->pitch, a->frames.rows, WRITTEN);
    tensor(walk, "work", a->work, times(a->frames.rows, MX_PITCH_WORK), WRITTEN);
}

void mx_op_walk_noise(struct walk *walk, const void *args)
{
    const struct mx_noise_args *const a = args;
    ragged_parts(walk, &a->samples, samples_names);
    tensor(walk, "x", a->x, a->samples.rows, READ);
    tensor(walk, "levels", a->levels, times(a->samples.count, 2), READ);
    tensor(walk, "streams", a->streams, times(a->samples.count, 2), READ);
    tensor(walk, "y", a->y, a->samples.rows, WRITTEN);
}

void mx_op_walk_mask(struct walk *walk, const void *args)
{
    const struct mx_mask_args *const a = args;
    ragged(walk, &a->rows);
    dimension(walk, "n", a->n);
    dimension(walk, "count", a->count);
    tensor(walk, "spans", a->spans, times(times(a->rows.count, a->count), 4), READ);
    tensor(walk, "x", a->x, times(a->rows.rows, a->n), WRITTEN);
}

void mx_op_walk_mel_inverse(struct walk *walk, const void *args)
{
    const struct mx_mel_inverse_args *const a = args;
    mel_tables(walk, a->fft_size, a->bands, a->weights);
    integer(walk, "iterations", a->iterations, 0, 1000);
    dimension(walk, "rows", a->rows);
    finite_number(walk, "mean", a->mean);
    finite_number(walk, "deviation", a->deviation);
    tensor(walk, "mel", a->mel, times(a->rows, a->bands), READ);
    tensor(walk, "tables", a->tables, 3 * (int64_t)a->fft_size + 2 * (int64_t)a->bands + 1 + a->weights, READ);
    tensor(walk, "magnitude", a->magnitude, times(a->rows, a->fft_size / 2 + 1), WRITTEN);
}

void mx_op_walk_spectrum(struct walk *walk, const void *args)
{
    const struct mx_spectrum_args *const a = args;
    frames(walk, &a->samples, &a->frames, a->fft_size, a->hop);
    tensor(walk, "audio", a->audio, a->samples.rows, READ);
    tensor(walk, "tables", a->tables, 3 * (int64_t)a->fft_size, READ);
    tensor(walk, "spectrum", a->spectrum, times(a->frames.rows, (int64_t)a->fft_size + 2), WRITTEN);
}

void mx_op_walk_griffin_step(struct walk *walk, const void *args)
{
    const struct mx_griffin_step_args *const a = args;
    length(walk, "count", a->count);
    finite_number(walk, "momentum", a->momentum);
    tensor(walk, "now", a->now, times(a->count, 2), READ);
    tensor(walk, "before", a->before, times(a->count, 2), READ_OPTIONAL);
    tensor(walk, "magnitude", a->magnitude, a->count, READ);
    tensor(walk, "y", a->y, times(a->count, 2), WRITTEN);
}

void mx_op_walk_overlap_add(struct walk *walk, const void *args)
{
    const struct mx_overlap_add_args *const a = args;
    frames(walk, &a->samples, &a->frames, a->fft_size, a->hop);
    real(walk, "least", a->least, 1e-30, INFINITY, true);
    tensor(walk, "spectrum", a->spectrum, times(a->frames.rows, (int64_t)a->fft_size + 2), READ);
    tensor(walk, "tables", a->tables, 3 * (int64_t)a->fft_size, READ);
    tensor(walk, "work", a->work, times(a->frames.rows, a->fft_size), WRITTEN);
    tensor(walk, "audio", a->audio, a->samples.rows, WRITTEN);
}

void mx_op_walk_mel_project(struct walk *walk, const void *args)
{
    const struct mx_mel_project_args *const a = args;
    mel_tables(walk, a->fft_size, a->bands, a->weights);
    integer(walk, "rounds", a->rounds, 0, 1000);
    dimension(walk, "rows", a->rows);
    real(walk, "lower", a->lower, 0, INFINITY, true);
    real(walk, "raise", a->raise, 0, INFINITY, true);
    real(walk, "floor", a->floor, 1e-37, INFINITY, true);
    finite_number(walk, "mean", a->mean);
    finite_number(walk, "deviation", a->deviation);
    tensor(walk, "spectrum", a->spectrum, times(a->rows, (int64_t)a->fft_size + 2), READ);
    tensor(walk, "mel", a->mel, times(a->rows, a->bands), READ);
    tensor(walk, "tables", a->tables, 3 * (int64_t)a->fft_size + 2 * (int64_t)a->bands + 1 + a->weights, READ);
    tensor(walk, "places", a->places, 3 * ((int64_t)a->fft_size / 2 + 1), READ);
    tensor(walk, "y", a->y, times(a->rows, (int64_t)a->fft_size + 2), WRITTEN);
    tensor(walk, "magnitude", a->magnitude, times(a->rows, (int64_t)a->fft_size / 2 + 1), WRITTEN_OPTIONAL);
}

/* ---- one table from the one list ---- */
#define MX_ONE(name)                                                                                                   \
    static_assert(sizeof(struct mx_##name##_args) <= MX_OP_ARGS_MAX, "MX_OP_ARGS_MAX is too small for " #name);
#define MX_PAIR(name) MX_ONE(name) MX_ONE(name##_grad)
MX_OP_LIST(MX_PAIR, MX_ONE)
#undef MX_PAIR
#undef MX_ONE

static const struct {
    const char *name;
    size_t args_bytes;
    void (*walk)(struct walk *walk, const void *args);
} table[MX_OP_COUNT] = {
#define MX_ONE(name)  [MX_OP_##name] = {#name, sizeof(struct mx_##name##_args), mx_op_walk_##name},
#define MX_PAIR(name) MX_ONE(name) MX_ONE(name##_grad)
    MX_OP_LIST(MX_PAIR, MX_ONE)
#undef MX_PAIR
#undef MX_ONE
};

static bool known(enum mx_op op)
{
    return (unsigned)op < MX_OP_COUNT;
}

const char *mx_op_name(enum mx_op op)
{
    return known(op) ? table[op].name : "unknown";
}

size_t mx_op_args_bytes(enum mx_op op)
{
    return known(op) ? table[op].args_bytes : 0;
}

int mx_op_check(const struct mx_device *device, enum mx_op op, const void *args)
{
    if (!known(op))
        return MX_FAIL(MX_ERR_ARGUMENT, "expected one of enum mx_op", "there is no operation number %d", (int)op);
    if (!device || !args)
        return MX_FAIL(MX_ERR_ARGUMENT, "expected a device and the operation's argument struct, got NULL",
                       "%s: no %s given", table[op].name, device ? "arguments" : "device");
    struct walk walk = {.op = table[op].name, .device = device};
    table[op].walk(&walk, args);
    return walk.rc;
}

void mx_op_slices(enum mx_op op, const void *args,
                  void (*visit)(void *context, const char *name, struct mx_slice slice, size_t bytes, bool written),
                  void *context)
{
    struct walk walk = {.op = mx_op_name(op), .visit = visit, .context = context};
    if (known(op)) table[op].walk(&walk, args);
}
