/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The text encoder: tokens become states.
 *
 *     x0 = √W · token_table[id] + language_table[language] + vector·Wv      [T, W]
 *     states = norm(blocks(x0))                                             [T, W]
 *
 * Token embeddings start with deviation 1/√W and are multiplied by √W: rows of deviation 1 then enter the residual
 * stream, and a step of the optimizer, which moves every weight by about the learning rate, moves them √W times as far,
 * because few batches see each row of the table. Language and speaker are the same for all rows of a sequence; they are
 * added up once per sequence and then spread.
 */
#include "model/internal.h"
#include "myxtts/error.h"

#include <math.h>

static float token_factor(const struct mx_model_pass *pass)
{
    return sqrtf((float)pass->model->config.size.width);
}

static struct mx_stack stack_of(const struct mx_model_pass *pass)
{
    return (struct mx_stack){.at = pass->model->at.encoder_blocks,
                             .memory = &pass->model->memory.encoder,
                             .blocks = pass->model->config.size.encoder_blocks,
                             .lowest = pass->model->reach.encoder_block,
                             .rows = pass->batch->tokens,
                             .site = MX_SITE_ENCODER};
}

static struct mx_norm norm_of(const struct mx_model_pass *pass)
{
    const struct mx_encoder_at *at = &pass->model->at.encoder;
    return (struct mx_norm){.gain = at->norm_gain,
                            .bias = at->norm_bias,
                            .rows = pass->batch->tokens.rows,
                            .width = pass->model->config.size.width};
}

/* ---- x0: ids int32 [T], languages int32 [S], encoder_row [S, W] → x[0] [T, W] ---- */

static int input_forward(const struct mx_model_pass *pass)
{
    const struct mx_model *model = pass->model;
    const struct mx_encoder_at *at = &model->at.encoder;
    const struct mx_ragged *tokens = &pass->batch->tokens;
    const int64_t width = model->config.size.width;
    int rc = 0;
    MX_TRY(mx_embedding(pass->base.stream,
                        &(struct mx_embedding_args){.ids = pass->batch->languages,
                                                    .table = mx_pass_weight(&pass->base, at->language_table),
                                                    .y = model->memory.speaker.encoder_row,
                                                    .rows = tokens->count,
                                                    .n = width,
                                                    .vocabulary = model->config.languages,
                                                    .factor = 1,
                                                    .accumulate = true}));
    MX_TRY(mx_embedding(pass->base.stream,
                        &(struct mx_embedding_args){.ids = pass->batch->token_ids,
                                                    .table = mx_pass_weight(&pass->base, at->token_table),
                                                    .y = model->memory.encoder.x[0],
                                                    .rows = tokens->rows,
                                                    .n = width,
                                                    .vocabulary = model->config.vocabulary,
                                                    .factor = token_factor(pass)}));
    MX_TRY(mx_expand(pass->base.stream, &(struct mx_expand_args){.x = model->memory.speaker.encoder_row,
                                                                 .ends = tokens->offsets,
                                                                 .y = model->memory.encoder.x[0],
                                                                 .segments = tokens->count,
                                                                 .rows = tokens->rows,
                                                                 .n = width,
                                                                 .accumulate = true}));
out:
    return rc;
}

/* memory.d is dx0 */
static int input_backward(const struct mx_model_pass *pass)
{
    const struct mx_model *model = pass->model;
    const struct mx_encoder_at *at = &model->at.encoder;
    const struct mx_ragged *tokens = &pass->batch->tokens;
    const int64_t width = model->config.size.width;
    int rc = 0;
    if (mx_pass_learns(&pass->base, at->token_table))
        MX_TRY(mx_embedding_grad(pass->base.stream, &(struct mx_embedding_grad_args){
                                                        .ids = pass->batch->token_ids,
                                                        .dy = model->memory.d,
                                                        .dtable = mx_pass_gradient(&pass->base, at->token_table),
                                                        .rows = tokens->rows,
                                                        .n = width,
                                                        .vocabulary = model->config.vocabulary,
                                                        .factor = token_factor(pass)}));
    MX_TRY(mx_expand_grad(pass->base.stream, &(struct mx_expand_grad_args){.dy = model->memory.d,
                                                                           .ends = tokens->offsets,
                                                                           .dx = model->memory.speaker.drow,
                                                                           .segments = tokens->count,
                                                                           .rows = tokens->rows,
                                                                           .n = width}));
    if (mx_pass_learns(&pass->base, at->language_table))
        MX_TRY(mx_embedding_grad(pass->base.stream, &(struct mx_embedding_grad_args){
                                                        .ids = pass->batch->languages,
                                                        .dy = model->memory.speaker.drow,
                                                        .dtable = mx_pass_gradient(&pass->base, at->language_table),
                                                        .rows = tokens->count,
                                                        .n = width,
                                                        .vocabulary = model->config.languages,
                                                        .factor = 1}));
    MX_TRY(mx_model_speaker_row_backward(pass, true));
out:
    return rc;
}

/* ---- the whole ---- */

int mx_encoder_forward(const struct mx_model_pass *pass)
{
    const struct mx_memory *m = &pass->model->memory;
    const struct mx_stack stack = stack_of(pass);
    const struct mx_norm norm = norm_of(pass);
    int rc = 0;
    MX_TRY(input_forward(pass));
    MX_TRY(mx_stack_forward(pass, &stack));
    MX_TRY(mx_norm_forward(&pass->base, &norm, m->encoder.x[stack.blocks], m->states, m->states_stats));
out:
    return rc;
}

int mx_encoder_backward(const struct mx_model_pass *pass)
{
    const struct mx_memory *m = &pass->model->memory;
    const struct mx_stack stack = stack_of(pass);
    const struct mx_norm norm = norm_of(pass);
    const struct mx_slice none = {0};
    int rc = 0;
    MX_TRY(mx_norm_backward(&pass->base, &norm, m->encoder.x[stack.blocks], m->states_stats, m->dstates, m->d, none));
    MX_TRY(mx_stack_backward(pass, &stack));
    if (pass->model->reach.encoder_input) MX_TRY(input_backward(pass));
out:
    return rc;
}
