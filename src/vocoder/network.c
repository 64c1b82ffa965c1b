/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The vocoder's network, forward and backward, and its losses. It queues operations and owns no memory.
 *
 *     input, base = mel_base(mel)                                       [F, B], [F, K]
 *     x0 = norm(conv7(input) + b)                                       [F, W]
 *     x  = x + GELU(norm(depthwise7(x))·Wu + bu)·Wd + bd  (each block)  [F, W]
 *     magnitude = base + norm(x)·Wm + bm                                [F, K]
 *     logits    = norm(x)·Wp + bp                                       [F, C]
 *     burst     = norm(x)·Wb + bb + input·Wc                            [F, E]
 *
 *     magnitude  mean over frames and bins of |magnitude - ln(|X| + MX_VOCODER_LEAST)|     (nepers)
 *     pitch      mean over frames of the cross-entropy of the class of pitch or "unvoiced" (nats)
 *     burst      mean over frames and columns of |burst - ln mel of the short frames|      (nepers)
 *
 * The epilogue of a product adds residual and base and applies GELU or its slope, and the gradient of the depthwise
 * convolution adds that of the residual. Nothing is differentiated with respect to the mel.
 *
 * In mixed precision all products multiply bf16 numbers; norms, the depthwise convolutions and the residual stream stay
 * fp32. Arrays that only these products read are stored as bf16: the outputs of the norms before `up` and before the
 * heads, `hidden` and its gradient; and so is the input of GELU's derivative.
 */
#include "myxtts/error.h"
#include "vocoder/internal.h"

/* ---- the layers ---- */

static struct mx_linear input_of(const struct mx_vocoder_pass *pass)
{
    const struct mx_vocoder *v = pass->vocoder;
    return (struct mx_linear){.weight = v->at.input.weight,
                              .bias = v->at.input.bias,
                              .in = v->config.recipe.bands,
                              .out = v->config.size.width,
                              .taps = MX_VOCODER_TAPS};
}

static struct mx_norm norm_of(const struct mx_vocoder_pass *pass, int64_t gain, int64_t bias, bool y_bf16)
{
    return (struct mx_norm){.gain = gain,
                            .bias = bias,
                            .rows = pass->batch->frames.rows,
                            .width = pass->vocoder->config.size.width,
                            .y_bf16 = y_bf16};
}

static struct mx_norm input_norm_of(const struct mx_vocoder_pass *pass)
{
    const struct mx_vocoder_input_at *at = &pass->vocoder->at.input;
    return norm_of(pass, at->norm_gain, at->norm_bias, false);
}

static struct mx_norm head_norm_of(const struct mx_vocoder_pass *pass)
{
    const struct mx_vocoder_head_at *at = &pass->vocoder->at.head;
    return norm_of(pass, at->norm_gain, at->norm_bias, pass->base.mixed);
}

/* A product of the head's normalised rows. */
static struct mx_linear head_linear(const struct mx_vocoder_pass *pass, int64_t weight, int64_t bias, int64_t out)
{
    return (struct mx_linear){
        .weight = weight, .bias = bias, .in = pass->vocoder->config.size.width, .out = out, .x_bf16 = pass->base.mixed};
}

static struct mx_linear magnitude_of(const struct mx_vocoder_pass *pass)
{
    const struct mx_vocoder_head_at *at = &pass->vocoder->at.head;
    return head_linear(pass, at->magnitude_weight, at->magnitude_bias, mx_vocoder_bins(&pass->vocoder->config));
}

static struct mx_linear pitch_of(const struct mx_vocoder_pass *pass)
{
    const struct mx_vocoder_head_at *at = &pass->vocoder->at.head;
    return head_linear(pass, at->pitch_weight, at->pitch_bias, MX_VOCODER_OUTPUTS);
}

static struct mx_linear burst_of(const struct mx_vocoder_pass *pass)
{
    const struct mx_vocoder_head_at *at = &pass->vocoder->at.head;
    return head_linear(pass, at->burst_weight, at->burst_bias, MX_VOCODER_BURST);
}

static struct mx_linear burst_mel_of(const struct mx_vocoder_pass *pass)
{
    const struct mx_vocoder *v = pass->vocoder;
    return (struct mx_linear){
        .weight = v->at.head.burst_mel_weight, .bias = -1, .in = v->config.recipe.bands, .out = MX_VOCODER_BURST};
}

/* ---- blocks ---- */

struct block {
    const struct mx_vocoder_block_at *at;
    const struct mx_vocoder_block_memory *m;
    struct mx_slice x, y; /* [F, W] */
    struct mx_norm norm;
    struct mx_linear up, down;
};

static struct block block_of(const struct mx_vocoder_pass *pass, int index)
{
    const struct mx_vocoder *v = pass->vocoder;
    const struct mx_vocoder_block_at *at = &v->at.blocks[index];
    const int64_t w = v->config.size.width, h = v->config.size.hidden;
    const bool mixed = pass->base.mixed;
    return (struct block){
        .at = at,
        .m = &v->memory.blocks[index],
        .x = v->memory.x[index],
        .y = v->memory.x[index + 1],
        .norm = norm_of(pass, at->norm_gain, at->norm_bias, mixed),
        .up = {.weight = at->up_weight, .bias = at->up_bias, .in = w, .out = h, .x_bf16 = mixed, .dy_bf16 = mixed},
        .down = {.weight = at->down_weight, .bias = at->down_bias, .in = h, .out = w, .x_bf16 = mixed},
    };
}

static int block_forward(const struct mx_vocoder_pass *pass, const struct block *b)
{
    const struct mx_pass *base = &pass->base;
    const struct mx_ragged *rows = &pass->batch->frames;
    const struct mx_epilogue gelu = {
        .act = MX_ACT_GELU, .pre = b->m->pre, .c_bf16 = base->mixed, .pre_bf16 = base->mixed};
    int rc = 0;
    MX_TRY(mx_depthwise(base->stream, &(struct mx_depthwise_args){.x = b->x,
                                                                  .y = b->m->mixed,
                                                                  .w = mx_pass_weight(base, b->at->depthwise_weight),
                                                                  .bias = mx_pass_weight(base, b->at->depthwise_bias),
                                                                  .rows = *rows,
                                                                  .n = b->norm.width,
                                                                  .taps = MX_VOCODER_TAPS}));
    MX_TRY(mx_norm_forward(base, &b->norm, b->m->mixed, b->m->normed, b->m->stats));
    MX_TRY(mx_linear_forward(base, &b->up, rows, b->m->normed, b->m->hidden, &gelu));
    MX_TRY(mx_linear_forward(base, &b->down, rows, b->m->hidden, b->y, &(struct mx_epilogue){.residual = b->x}));
out:
    return rc;
}

/* dy in memory.d becomes dx. */
static int block_backward(const struct mx_vocoder_pass *pass, const struct block *b)
{
    const struct mx_pass *base = &pass->base;
    const struct mx_ragged *rows = &pass->batch->frames;
    const struct mx_vocoder_memory *m = &pass->vocoder->memory;
    const struct mx_slice d = m->d, e = m->e, none = {0};
    const struct mx_epilogue slope = {
        .act = MX_ACT_GELU, .act_grad = true, .pre = b->m->pre, .c_bf16 = base->mixed, .pre_bf16 = base->mixed};
    int rc = 0;
    MX_TRY(mx_linear_backward(base, &b->down, rows, b->m->hidden, d, m->dhidden, &slope));
    MX_TRY(mx_linear_backward(base, &b->up, rows, b->m->normed, m->dhidden, e, NULL));
    MX_TRY(mx_norm_backward(base, &b->norm, b->m->mixed, b->m->stats, e, e, none));
    MX_TRY(mx_depthwise_grad(base->stream, &(struct mx_depthwise_grad_args){
                                               .dy = e,
                                               .x = b->x,
                                               .w = mx_pass_weight(base, b->at->depthwise_weight),
                                               .dx = d,
                                               .dw = mx_pass_gradient_or_discard(base, b->at->depthwise_weight, 0),
                                               .dbias = mx_pass_gradient_or_discard(base, b->at->depthwise_bias, 1),
                                               .residual = d,
                                               .rows = *rows,
                                               .n = b->norm.width,
                                               .taps = MX_VOCODER_TAPS}));
    MX_TRY(mx_pass_ready(base, b->at->depthwise_weight)); /* the first of the block's that are decayed */
out:
    return rc;
}

/* ---- the whole ---- */

int mx_vocoder_network_forward(const struct mx_vocoder_pass *pass)
{
    const struct mx_vocoder *v = pass->vocoder;
    const struct mx_vocoder_memory *m = &v->memory;
    const struct mx_pass *base = &pass->base;
    const struct mx_ragged *rows = &pass->batch->frames;
    const struct mx_linear input = input_of(pass), magnitude = magnitude_of(pass), pitch = pitch_of(pass);
    const struct mx_linear burst = burst_of(pass), burst_mel = burst_mel_of(pass);
    const struct mx_norm first = input_norm_of(pass), last = head_norm_of(pass);
    int rc = 0;
    /* The base goes where the magnitudes are to be: their head adds to it. */
    MX_TRY(mx_mel_base(base->stream, &(struct mx_mel_base_args){.mel = pass->batch->mel,
                                                                .tables = m->tables,
                                                                .places = m->places,
                                                                .input = m->input,
                                                                .base = m->magnitude,
                                                                .rows = rows->rows,
                                                                .fft_size = v->config.recipe.fft_size,
                                                                .bands = v->config.recipe.bands,
                                                                .weights = v->weights,
                                                                .mean = v->config.mel_mean,
                                                                .deviation = v->config.mel_deviation}));
    MX_TRY(mx_linear_forward(base, &input, rows, m->input, m->embedded, NULL));
    MX_TRY(mx_norm_forward(base, &first, m->embedded, m->x[0], m->stats));
    for (int i = 0; i < v->config.size.blocks; i++) {
        const struct block b = block_of(pass, i);
        MX_TRY(block_forward(pass, &b));
    }
    MX_TRY(mx_norm_forward(base, &last, m->x[v->config.size.blocks], m->normed, m->normed_stats));
    MX_TRY(mx_linear_forward(base, &magnitude, rows, m->normed, m->magnitude,
                             &(struct mx_epilogue){.residual = m->magnitude}));
    MX_TRY(mx_linear_forward(base, &pitch, rows, m->normed, m->logits, NULL));
    MX_TRY(mx_linear_forward(base, &burst_mel, rows, m->input, m->burst, NULL));
    MX_TRY(mx_linear_forward(base, &burst, rows, m->normed, m->burst, &(struct mx_epilogue){.residual = m->burst}));
out:
    return rc;
}

int mx_vocoder_network_backward(const struct mx_vocoder_pass *pass)
{
    const struct mx_vocoder *v = pass->vocoder;
    const struct mx_vocoder_memory *m = &v->memory;
    const struct mx_pass *base = &pass->base;
    const struct mx_ragged *rows = &pass->batch->frames;
    const struct mx_linear input = input_of(pass), magnitude = magnitude_of(pass), pitch = pitch_of(pass);
    const struct mx_linear burst = burst_of(pass), burst_mel = burst_mel_of(pass);
    const struct mx_norm first = input_norm_of(pass), last = head_norm_of(pass);
    const struct mx_epilogue more = {.accumulate = true};
    const struct mx_slice none = {0};
    int rc = 0;
    MX_TRY(mx_linear_backward(base, &magnitude, rows, m->normed, m->dmagnitude, m->d, NULL));
    MX_TRY(mx_linear_backward(base, &pitch, rows, m->normed, m->dlogits, m->d, &more));
    MX_TRY(mx_linear_backward(base, &burst, rows, m->normed, m->dburst, m->d, &more));
    MX_TRY(mx_linear_backward(base, &burst_mel, rows, m->input, m->dburst, none, NULL));
    MX_TRY(mx_norm_backward(base, &last, m->x[v->config.size.blocks], m->normed_stats, m->d, m->d, none));
    MX_TRY(mx_pass_ready(base, v->at.head.magnitude_weight));
    for (int i = v->config.size.blocks - 1; i >= 0 && i >= v->lowest; i--) {
        const struct block b = block_of(pass, i);
        MX_TRY(block_backward(pass, &b));
    }
    if (v->lowest < 0) {
        MX_TRY(mx_norm_backward(base, &first, m->embedded, m->stats, m->d, m->d, none));
        MX_TRY(mx_linear_backward(base, &input, rows, m->input, m->d, none, NULL));
    }
    MX_TRY(mx_pass_complete(base));
out:
    return rc;
}

/* ---- losses ---- */

int mx_vocoder_losses_forward(const struct mx_vocoder_pass *pass, bool backward)
{
    const struct mx_vocoder *v = pass->vocoder;
    const struct mx_vocoder_memory *m = &v->memory;
    const struct mx_vocoder_batch *batch = pass->batch;
    const struct mx_slice none = {0};
    const int64_t bins = mx_vocoder_bins(&v->config);
    const int64_t frames = batch->loss_frames > 0 ? batch->loss_frames : batch->frames.rows;
    const float share = 1 / (float)(frames > 0 ? frames : 1);
    int rc = 0;
    MX_TRY(mx_sequence_loss(pass->base.stream,
                            &(struct mx_sequence_loss_args){
                                .prediction = m->magnitude,
                                .target = batch->target,
                                .values = mx_pass_slice(m->losses, MX_VOCODER_LOSS_MAGNITUDE * batch->frames.count),
                                .dprediction = backward ? m->dmagnitude : none,
                                .rows = batch->frames,
                                .n = bins,
                                .scale = 1 / (float)bins,
                                .factor = v->config.weights.magnitude / (float)bins * share,
                                .kind = MX_LOSS_L1}));
    MX_TRY(mx_pitch_loss(
        pass->base.stream,
        &(struct mx_pitch_loss_args){.logits = m->logits,
                                     .pitch = batch->pitch,
                                     .values = mx_pass_slice(m->losses, MX_VOCODER_LOSS_PITCH * batch->frames.count),
                                     .dlogits = backward ? m->dlogits : none,
                                     .rows = batch->frames,
                                     .classes = MX_VOCODER_CLASSES,
                                     .low_hz = MX_VOCODER_LOW_HZ,
                                     .high_hz = MX_VOCODER_HIGH_HZ,
                                     .scale = 1,
                                     .factor = v->config.weights.pitch * share}));
    MX_TRY(mx_sequence_loss(
        pass->base.stream,
        &(struct mx_sequence_loss_args){.prediction = m->burst,
                                        .target = batch->burst,
                                        .values = mx_pass_slice(m->losses, MX_VOCODER_LOSS_BURST * batch->frames.count),
                                        .dprediction = backward ? m->dburst : none,
                                        .rows = batch->frames,
                                        .n = MX_VOCODER_BURST,
                                        .scale = 1.0f / MX_VOCODER_BURST,
                                        .factor = v->config.weights.burst / MX_VOCODER_BURST * share,
                                        .kind = MX_LOSS_L1}));
out:
    return rc;
}
