/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The aligner: each token's state predicts a mean mel frame. Monotonic alignment search between these means and the real
 * frames gives the duration of each token, and so the targets of the predictors.
 *
 *     means = states·Wm + bm                                    [T, B]
 *     durations = align(means, mel)                             int32 [T], Σ over a sequence = its frames
 *     spread[f] = means[the token of f]                         [F, B], compared with mel by the prior loss
 *     targets: ln(1 + duration), mean pitch and mean energy over the token's frames   [T]
 *
 * The weights of the means start at 0: all tokens are then alike, and the small cost of leaving the diagonal makes the
 * first alignment the even one, from which the search corrects itself as the means come apart (a flat start, as in
 * classic acoustic models). Random means behave differently: whatever the first alignment happens to be, an encoder
 * that sees its neighbours memorises it. On the synthetic batch of tests/test_model.c, where the true durations are
 * known, random means end with 27 of 34 durations wrong, the flat start with none.
 *
 * Everything here is fp32, even in mixed precision: the search decides between sums that differ little.
 *
 * No gradient flows through the search: the durations are whole numbers. The prior loss teaches the means, with the
 * alignment held fixed.
 */
#include "model/adapter.h"
#include "model/internal.h"
#include "myxtts/error.h"

static struct mx_linear mean_of(const struct mx_model_pass *pass)
{
    const struct mx_encoder_at *at = &pass->model->at.encoder;
    return (struct mx_linear){.weight = at->mean_weight,
                              .bias = at->mean_bias,
                              .in = pass->model->config.size.width,
                              .out = pass->model->config.bands,
                              .fp32 = true};
}

/* Targets of the pitch and energy predictors: values [F] → targets [T] */
static int target_forward(const struct mx_model_pass *pass, struct mx_slice values, struct mx_slice target)
{
    return mx_segment_mean(pass->base.stream, &(struct mx_segment_mean_args){.x = values,
                                                                             .ends = pass->model->memory.ends,
                                                                             .y = target,
                                                                             .segments = pass->batch->tokens.rows,
                                                                             .rows = pass->batch->frames.rows,
                                                                             .n = 1});
}

int mx_aligner_forward(const struct mx_model_pass *pass)
{
    const struct mx_memory *m = &pass->model->memory;
    const struct mx_model_batch *batch = pass->batch;
    const struct mx_linear mean = mean_of(pass);
    int rc = 0;
    MX_TRY(mx_linear_forward(&pass->base, &mean, &batch->tokens, m->states, m->means, NULL));
    MX_TRY(mx_align(pass->base.stream, &(struct mx_align_args){.mean = m->means,
                                                               .mel = batch->mel,
                                                               .tokens = batch->tokens,
                                                               .frames = batch->frames,
                                                               .durations = m->durations,
                                                               .logs = m->targets[MX_PREDICT_DURATION],
                                                               .work = m->align_work,
                                                               .n = mean.out,
                                                               .diagonal = pass->model->config.diagonal}));
    MX_TRY(mx_durations_scan(
        pass->base.stream,
        &(struct mx_durations_scan_args){.durations = m->durations, .ends = m->ends, .count = batch->tokens.rows}));
    MX_TRY(target_forward(pass, batch->pitch, m->targets[MX_PREDICT_PITCH]));
    MX_TRY(target_forward(pass, batch->energy, m->targets[MX_PREDICT_ENERGY]));
    MX_TRY(mx_expand(pass->base.stream, &(struct mx_expand_args){.x = m->means,
                                                                 .ends = m->ends,
                                                                 .y = m->spread,
                                                                 .segments = batch->tokens.rows,
                                                                 .rows = batch->frames.rows,
                                                                 .n = mean.out}));
out:
    return rc;
}

/* dspread [F, B] → dmeans [T, B] → parameters, dstates [T, W] += */
int mx_aligner_backward(const struct mx_model_pass *pass)
{
    const struct mx_memory *m = &pass->model->memory;
    const struct mx_linear mean = mean_of(pass);
    const struct mx_slice none = {0};
    int rc = 0;
    MX_TRY(mx_expand_grad(pass->base.stream, &(struct mx_expand_grad_args){.dy = m->dspread,
                                                                           .ends = m->ends,
                                                                           .dx = m->dmeans,
                                                                           .segments = pass->batch->tokens.rows,
                                                                           .rows = pass->batch->frames.rows,
                                                                           .n = mean.out}));
    MX_TRY(mx_linear_backward(&pass->base, &mean, &pass->batch->tokens, m->states, m->dmeans,
                              pass->model->reach.encoder ? m->dstates : none,
                              &(struct mx_epilogue){.accumulate = true}));
out:
    return rc;
}

int mx_model_means(struct mx_model *model, struct mx_stream *stream, struct mx_slice parameters,
                   const struct mx_model_batch *batch, struct mx_slice means)
{
    const struct mx_model_pass pass = {
        .base = mx_model_pass_base(model, stream, parameters), .model = model, .batch = batch};
    const struct mx_linear mean = mean_of(&pass);
    int rc = 0;
    MX_TRY(mx_model_batch_check(model, batch, true));
    MX_TRY(mx_adapters_merge(&pass.base));
    MX_TRY(mx_model_speaker_forward(&pass));
    MX_TRY(mx_encoder_forward(&pass));
    MX_TRY(mx_linear_forward(&pass.base, &mean, &batch->tokens, model->memory.states, means, NULL));
out:
    return rc;
}
