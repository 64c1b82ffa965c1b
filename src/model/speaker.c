/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The speaker encoder: turns a reference mel into one vector per sequence, and the vector into one row for the
 * encoder's input and one for the decoder's.
 *
 *     x1 = norm1(GELU(conv3(mel))), x2 = norm2(GELU(conv3(x1))), x3 = norm3(GELU(conv3(x2)))   [R, W]
 *     vector = Σ_r softmax_r(x3·ws) x3                                                          [S, W]
 *
 * The weights of the scores start at 0, so pooling starts as the mean over the reference and then learns where to
 * listen. A sequence without reference rows has the vector 0. For synthesis the vectors can be given instead.
 */
#include "model/adapter.h"
#include "model/internal.h"
#include "myxtts/error.h"

/* Layer i of the three, and the pooling's product. */
static struct mx_linear conv_of(const struct mx_model_pass *pass, int i)
{
    const struct mx_speaker_at *at = &pass->model->at.speaker;
    const int64_t weights[] = {at->conv1_weight, at->conv2_weight, at->conv3_weight};
    const int64_t biases[] = {at->conv1_bias, at->conv2_bias, at->conv3_bias};
    const int64_t w = pass->model->config.size.width;
    return (struct mx_linear){
        .weight = weights[i], .bias = biases[i], .in = i == 0 ? pass->model->config.bands : w, .out = w, .taps = 3};
}

static struct mx_norm norm_of(const struct mx_model_pass *pass, int i)
{
    const struct mx_speaker_at *at = &pass->model->at.speaker;
    const int64_t gains[] = {at->norm1_gain, at->norm2_gain, at->norm3_gain};
    const int64_t biases[] = {at->norm1_bias, at->norm2_bias, at->norm3_bias};
    return (struct mx_norm){.gain = gains[i],
                            .bias = biases[i],
                            .rows = pass->batch->references.rows,
                            .width = pass->model->config.size.width};
}

static struct mx_linear score_of(const struct mx_model_pass *pass)
{
    return (struct mx_linear){
        .weight = pass->model->at.speaker.score_weight, .bias = -1, .in = pass->model->config.size.width, .out = 1};
}

/* vector [S, W] → row [S, W] */
static struct mx_linear row_of(const struct mx_model_pass *pass, bool encoder)
{
    const struct mx_speaker_at *at = &pass->model->at.speaker;
    const int64_t w = pass->model->config.size.width;
    return (struct mx_linear){
        .weight = encoder ? at->to_encoder_weight : at->to_decoder_weight, .bias = -1, .in = w, .out = w};
}

/* One row for each sequence, for products without context. */
static struct mx_ragged one_each(const struct mx_model_pass *pass)
{
    return (struct mx_ragged){.rows = pass->batch->tokens.count};
}

/* The vectors of the references. */
static int vectors_compute(const struct mx_model_pass *pass)
{
    const struct mx_speaker_encoder_memory *m = &pass->model->memory.speaker;
    const struct mx_ragged *rows = &pass->batch->references;
    struct mx_slice x = pass->batch->reference_mel; /* [R, B] */
    const struct mx_linear score = score_of(pass);
    int rc = 0;
    for (int i = 0; i < 3; i++) {
        const struct mx_linear conv = conv_of(pass, i);
        const struct mx_norm norm = norm_of(pass, i);
        MX_TRY(mx_linear_forward(&pass->base, &conv, rows, x, m->act[i],
                                 &(struct mx_epilogue){.act = MX_ACT_GELU, .pre = m->pre[i]}));
        MX_TRY(mx_norm_forward(&pass->base, &norm, m->act[i], m->normed[i], m->stats[i]));
        x = m->normed[i];
    }
    MX_TRY(mx_linear_forward(&pass->base, &score, rows, x, m->score, NULL));
    MX_TRY(mx_attentive_pool(pass->base.stream, &(struct mx_attentive_pool_args){.x = x,
                                                                                 .score = m->score,
                                                                                 .y = m->vector,
                                                                                 .w = m->share,
                                                                                 .rows = *rows,
                                                                                 .n = pass->model->config.size.width}));
out:
    return rc;
}

int mx_model_speaker_forward(const struct mx_model_pass *pass)
{
    const struct mx_speaker_encoder_memory *m = &pass->model->memory.speaker;
    const struct mx_ragged sequences = one_each(pass);
    const struct mx_slice given = pass->batch->voices;
    const size_t bytes = (size_t)sequences.rows * (size_t)pass->model->config.size.width * 4;
    int rc = 0;
    if (given.buffer == NULL)
        MX_TRY(vectors_compute(pass));
    else
        MX_TRY(mx_copy_slices(pass->base.stream, m->vector, given, bytes));
    for (int encoder = 0; encoder < 2; encoder++) {
        const struct mx_linear row = row_of(pass, encoder);
        MX_TRY(mx_linear_forward(&pass->base, &row, &sequences, m->vector, encoder ? m->encoder_row : m->decoder_row,
                                 NULL));
    }
out:
    return rc;
}

int mx_model_listen(struct mx_model *model, struct mx_stream *stream, struct mx_slice parameters,
                    const struct mx_model_batch *batch)
{
    const struct mx_model_pass pass = {
        .base = mx_model_pass_base(model, stream, parameters), .model = model, .batch = batch};
    int rc = 0;
    MX_TRY(mx_model_references_check(model, batch, batch->references.count));
    MX_TRY(mx_adapters_merge(&pass.base));
    MX_TRY(vectors_compute(&pass));
out:
    return rc;
}

int mx_model_speaker_row_backward(const struct mx_model_pass *pass, bool encoder)
{
    const struct mx_speaker_encoder_memory *m = &pass->model->memory.speaker;
    const struct mx_ragged sequences = one_each(pass);
    const struct mx_linear row = row_of(pass, encoder);
    const struct mx_slice none = {0};
    return mx_linear_backward(&pass->base, &row, &sequences, m->vector, m->drow,
                              pass->model->reach.speaker ? m->dvector : none,
                              &(struct mx_epilogue){.accumulate = encoder});
}

int mx_model_speaker_backward(const struct mx_model_pass *pass)
{
    const struct mx_speaker_encoder_memory *m = &pass->model->memory.speaker;
    const struct mx_ragged *rows = &pass->batch->references;
    const struct mx_linear score = score_of(pass);
    const struct mx_slice none = {0};
    struct mx_slice d = pass->model->memory.d, e = pass->model->memory.e; /* [R, W] */
    int rc = 0;
    MX_TRY(mx_attentive_pool_grad(pass->base.stream,
                                  &(struct mx_attentive_pool_grad_args){.dy = m->dvector,
                                                                        .x = m->normed[2],
                                                                        .y = m->vector,
                                                                        .w = m->share,
                                                                        .dx = d,
                                                                        .dscore = m->dscore,
                                                                        .rows = *rows,
                                                                        .n = pass->model->config.size.width}));
    MX_TRY(mx_linear_backward(&pass->base, &score, rows, m->normed[2], m->dscore, d,
                              &(struct mx_epilogue){.accumulate = true}));
    for (int i = 2; i >= 0; i--) {
        const struct mx_linear conv = conv_of(pass, i);
        const struct mx_norm norm = norm_of(pass, i);
        const struct mx_slice x = i == 0 ? pass->batch->reference_mel : m->normed[i - 1];
        MX_TRY(mx_norm_backward(&pass->base, &norm, m->act[i], m->stats[i], d, d, none));
        MX_TRY(mx_slope_run(&pass->base, MX_ACT_GELU, d, m->pre[i], rows->rows * norm.width));
        MX_TRY(mx_linear_backward(&pass->base, &conv, rows, x, d, i == 0 ? none : e, NULL));
        const struct mx_slice swap = d;
        d = e;
        e = swap;
    }
out:
    return rc;
}
