/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The decoder: repeats each token for the frames of its duration and turns them into mel frames.
 *
 *     x0[f] = tokens[the token of f] + decoder_row[the sequence of f]      [F, W]
 *     mel = norm(blocks(x0))·W + b                                         [F, B]
 */
#include "model/internal.h"
#include "myxtts/error.h"

static struct mx_stack stack_of(const struct mx_model_pass *pass)
{
    return (struct mx_stack){.at = pass->model->at.decoder_blocks,
                             .memory = &pass->model->memory.decoder,
                             .blocks = pass->model->config.size.decoder_blocks,
                             .lowest = pass->model->reach.decoder_block,
                             .rows = pass->batch->frames,
                             .site = MX_SITE_DECODER};
}

static struct mx_norm norm_of(const struct mx_model_pass *pass)
{
    const struct mx_decoder_at *at = &pass->model->at.decoder;
    return (struct mx_norm){.gain = at->norm_gain,
                            .bias = at->norm_bias,
                            .rows = pass->batch->frames.rows,
                            .width = pass->model->config.size.width,
                            .y_bf16 = pass->base.mixed};
}

static struct mx_linear mel_of(const struct mx_model_pass *pass)
{
    const struct mx_decoder_at *at = &pass->model->at.decoder;
    return (struct mx_linear){.weight = at->mel_weight,
                              .bias = at->mel_bias,
                              .in = pass->model->config.size.width,
                              .out = pass->model->config.bands,
                              .x_bf16 = pass->base.mixed};
}

/* tokens [T, W], decoder_row [S, W] → x[0] [F, W] */
static int input_forward(const struct mx_model_pass *pass)
{
    const struct mx_memory *m = &pass->model->memory;
    const struct mx_ragged *frames = &pass->batch->frames;
    const int64_t width = pass->model->config.size.width;
    int rc = 0;
    MX_TRY(mx_expand(pass->base.stream, &(struct mx_expand_args){.x = m->tokens,
                                                                 .ends = m->ends,
                                                                 .y = m->decoder.x[0],
                                                                 .segments = pass->batch->tokens.rows,
                                                                 .rows = frames->rows,
                                                                 .n = width}));
    MX_TRY(mx_expand(pass->base.stream, &(struct mx_expand_args){.x = m->speaker.decoder_row,
                                                                 .ends = frames->offsets,
                                                                 .y = m->decoder.x[0],
                                                                 .segments = frames->count,
                                                                 .rows = frames->rows,
                                                                 .n = width,
                                                                 .accumulate = true}));
out:
    return rc;
}

/* dx0 in memory.d → dstates (of tokens) [T, W], speaker.drow [S, W] and on */
static int input_backward(const struct mx_model_pass *pass)
{
    const struct mx_memory *m = &pass->model->memory;
    const struct mx_ragged *frames = &pass->batch->frames;
    const int64_t width = pass->model->config.size.width;
    int rc = 0;
    MX_TRY(mx_expand_grad(pass->base.stream, &(struct mx_expand_grad_args){.dy = m->d,
                                                                           .ends = m->ends,
                                                                           .dx = m->dstates,
                                                                           .segments = pass->batch->tokens.rows,
                                                                           .rows = frames->rows,
                                                                           .n = width}));
    MX_TRY(mx_expand_grad(pass->base.stream, &(struct mx_expand_grad_args){.dy = m->d,
                                                                           .ends = frames->offsets,
                                                                           .dx = m->speaker.drow,
                                                                           .segments = frames->count,
                                                                           .rows = frames->rows,
                                                                           .n = width}));
    MX_TRY(mx_model_speaker_row_backward(pass, false));
out:
    return rc;
}

static void decoder_place(const struct mx_placing *p, struct mx_memory *memory)
{
    const int64_t frames = p->capacity->frames;
    mx_memory_stack(p, &memory->decoder, p->config->size.decoder_blocks, frames);
    memory->normed = mx_memory_narrow(p, frames, p->config->size.width);
    memory->normed_stats = mx_memory_reserve(p, frames, 2);
}

static int decoder_forward(const struct mx_model_pass *pass)
{
    const struct mx_memory *m = &pass->model->memory;
    const struct mx_stack stack = stack_of(pass);
    const struct mx_norm norm = norm_of(pass);
    const struct mx_linear mel = mel_of(pass);
    int rc = 0;
    MX_TRY(input_forward(pass));
    MX_TRY(mx_stack_forward(pass, &stack));
    MX_TRY(mx_norm_forward(&pass->base, &norm, m->decoder.x[stack.blocks], m->normed, m->normed_stats));
    MX_TRY(mx_linear_forward(&pass->base, &mel, &stack.rows, m->normed, m->mel, NULL));
out:
    return rc;
}

static int decoder_backward(const struct mx_model_pass *pass)
{
    const struct mx_memory *m = &pass->model->memory;
    const struct mx_stack stack = stack_of(pass);
    const struct mx_norm norm = norm_of(pass);
    const struct mx_linear mel = mel_of(pass);
    const struct mx_slice none = {0};
    int rc = 0;
    MX_TRY(mx_linear_backward(&pass->base, &mel, &stack.rows, m->normed, m->dmel, m->d, NULL));
    MX_TRY(mx_norm_backward(&pass->base, &norm, m->decoder.x[stack.blocks], m->normed_stats, m->d, m->d, none));
    MX_TRY(mx_stack_backward(pass, &stack));
    if (pass->model->reach.decoder_input) MX_TRY(input_backward(pass));
out:
    return rc;
}

const struct mx_mel_module mx_decoder_module = {
    .prefix = "decoder.", .place = decoder_place, .forward = decoder_forward, .backward = decoder_backward};
