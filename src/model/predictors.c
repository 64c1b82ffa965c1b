/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The predictors of ln(1 + duration), pitch and energy of each token, and how pitch and energy enter the tokens.
 *
 *     x1 = drop(norm1(ReLU(conv3(states) + b1))), x2 = drop(norm2(ReLU(conv3(x1) + b2)))   [T, W]
 *     out = x2·w + b                                                                       [T]
 *     tokens = states + conv3(pitch; 1 → W) + conv3(energy; 1 → W)                         [T, W]
 *
 * The gradient of the duration loss stops at the states, as in the aligning models of the literature (Glow-TTS and its
 * successors): durations come from the alignment, and a predictor that could bend the states would pull the alignment
 * towards what is easy to predict. Pitch and energy are measured on the recording, so their gradients continue into the
 * encoder. `tokens` uses the measured pitch and energy in training and the predicted ones in synthesis.
 */
#include "model/internal.h"
#include "myxtts/error.h"

struct predictor {
    const struct mx_predictor_memory *m;
    struct mx_linear conv[2], out;
    struct mx_norm norm[2];
    uint64_t site; /* of the first layer; the second has the next */
    bool detached;
};

static struct predictor predictor_of(const struct mx_model_pass *pass, enum mx_predictor which)
{
    const struct mx_predictor_at *at = &pass->model->at.predictors[which];
    const int64_t w = pass->model->config.size.width, rows = pass->batch->tokens.rows;
    return (struct predictor){
        .m = &pass->model->memory.predictors[which],
        .conv = {{.weight = at->conv1_weight, .bias = at->conv1_bias, .in = w, .out = w, .taps = 3},
                 {.weight = at->conv2_weight, .bias = at->conv2_bias, .in = w, .out = w, .taps = 3}},
        .out = {.weight = at->out_weight, .bias = at->out_bias, .in = w, .out = 1},
        .norm = {{.gain = at->norm1_gain, .bias = at->norm1_bias, .rows = rows, .width = w},
                 {.gain = at->norm2_gain, .bias = at->norm2_bias, .rows = rows, .width = w}},
        .site = MX_SITE_PREDICTORS + 2 * (uint64_t)which,
        .detached = which == MX_PREDICT_DURATION,
    };
}

int mx_predictor_forward(const struct mx_model_pass *pass, enum mx_predictor which)
{
    const struct predictor p = predictor_of(pass, which);
    const struct mx_ragged *rows = &pass->batch->tokens;
    const struct mx_slice none = {0};
    struct mx_slice x = pass->model->memory.states;
    int rc = 0;
    for (int i = 0; i < 2; i++) {
        MX_TRY(mx_linear_forward(&pass->base, &p.conv[i], rows, x, p.m->act[i],
                                 &(struct mx_epilogue){.act = MX_ACT_RELU}));
        MX_TRY(mx_norm_forward(&pass->base, &p.norm[i], p.m->act[i], p.m->normed[i], p.m->stats[i]));
        x = p.m->normed[i];
        if (pass->dropout > 0) MX_TRY(mx_dropout_run(pass, p.site + (uint64_t)i, x, x, none, rows->rows));
    }
    MX_TRY(mx_linear_forward(&pass->base, &p.out, rows, x, p.m->out, NULL));
out:
    return rc;
}

/* dout [T] → parameters, dstates [T, W] += */
int mx_predictor_backward(const struct mx_model_pass *pass, enum mx_predictor which)
{
    const struct predictor p = predictor_of(pass, which);
    const struct mx_memory *m = &pass->model->memory;
    const struct mx_ragged *rows = &pass->batch->tokens;
    const struct mx_slice none = {0};
    int rc = 0;
    MX_TRY(mx_linear_backward(&pass->base, &p.out, rows, p.m->normed[1], p.m->dout, m->d, NULL));
    for (int i = 1; i >= 0; i--) {
        const struct mx_slice d = i == 1 ? m->d : m->e;
        const struct mx_slice x = i == 1 ? p.m->normed[0] : m->states;
        const struct mx_slice dx = i == 1 ? m->e : p.detached || !pass->model->reach.encoder ? none : m->dstates;
        if (pass->dropout > 0) MX_TRY(mx_dropout_run(pass, p.site + (uint64_t)i, d, d, none, rows->rows));
        MX_TRY(mx_norm_backward(&pass->base, &p.norm[i], p.m->act[i], p.m->stats[i], d, d, none));
        /* ReLU has the same derivative at its result as at what it was applied to. */
        MX_TRY(mx_slope_run(&pass->base, MX_ACT_RELU, d, p.m->act[i], rows->rows * p.norm[i].width));
        MX_TRY(
            mx_linear_backward(&pass->base, &p.conv[i], rows, x, d, dx, &(struct mx_epilogue){.accumulate = i == 0}));
    }
out:
    return rc;
}

/* ---- pitch and energy as part of the tokens ---- */

static struct mx_linear variance_of(const struct mx_model_pass *pass, bool pitch)
{
    const struct mx_encoder_at *at = &pass->model->at.encoder;
    return (struct mx_linear){.weight = pitch ? at->pitch_weight : at->energy_weight,
                              .bias = -1,
                              .in = 1,
                              .out = pass->model->config.size.width,
                              .taps = 3};
}

int mx_variance_forward(const struct mx_model_pass *pass, struct mx_slice pitch, struct mx_slice energy)
{
    const struct mx_memory *m = &pass->model->memory;
    const struct mx_ragged *rows = &pass->batch->tokens;
    const struct mx_linear of_pitch = variance_of(pass, true), of_energy = variance_of(pass, false);
    int rc = 0;
    MX_TRY(mx_linear_forward(&pass->base, &of_pitch, rows, pitch, m->tokens,
                             &(struct mx_epilogue){.residual = m->states}));
    MX_TRY(
        mx_linear_forward(&pass->base, &of_energy, rows, energy, m->tokens, &(struct mx_epilogue){.accumulate = true}));
out:
    return rc;
}

int mx_variance_backward(const struct mx_model_pass *pass, struct mx_slice pitch, struct mx_slice energy)
{
    const struct mx_memory *m = &pass->model->memory;
    const struct mx_ragged *rows = &pass->batch->tokens;
    const struct mx_linear of_pitch = variance_of(pass, true), of_energy = variance_of(pass, false);
    const struct mx_slice none = {0};
    int rc = 0;
    MX_TRY(mx_linear_backward(&pass->base, &of_pitch, rows, pitch, m->dstates, none, NULL));
    MX_TRY(mx_linear_backward(&pass->base, &of_energy, rows, energy, m->dstates, none, NULL));
out:
    return rc;
}
