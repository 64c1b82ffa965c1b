/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The losses, each with its gradient, and their values for reports.
 *
 *     mel       mean over frames and bands of |predicted - mel|              (deviations of the normalised log mel)
 *     prior     mean over frames and bands of ½ (mean of its token - mel)²   (nats, up to a constant)
 *     duration  mean over tokens of (predicted - ln(1 + duration))²          (nepers²)
 *     pitch     mean over tokens of (predicted - measured)²                  (deviations² of the normalised pitch)
 *     energy    the same for energy
 *
 * The device keeps one number per loss and sequence: the sum over the sequence's frames (each the mean over its bands)
 * or tokens, which does not depend on the rest of the batch. The host computes means, for reports; the gradient does
 * not need them.
 */
#include "model/internal.h"
#include "myxtts/error.h"

/* ---- the list ---- */

enum over { FRAMES, TOKENS };

static const enum over overs[MX_MODEL_LOSSES] = {
#define X(NAME, key, over, weight, words) over,
    MX_LOSS_LIST(X)
#undef X
};

const char *const mx_model_loss_keys[MX_MODEL_LOSSES] = {
#define X(NAME, key, over, weight, words) #key,
    MX_LOSS_LIST(X)
#undef X
};

const struct mx_model_loss_weights mx_model_loss_weights_default = {
#define X(NAME, key, over, weight, words) .key = (weight),
    MX_LOSS_LIST(X)
#undef X
};

float mx_model_loss_weight(const struct mx_model_loss_weights *weights, enum mx_model_loss loss)
{
    const float all[MX_MODEL_LOSSES] = {
#define X(NAME, key, over, weight, words) weights->key,
        MX_LOSS_LIST(X)
#undef X
    };
    return all[loss];
}

void mx_model_losses_finish(struct mx_model_losses *losses, const struct mx_model_loss_weights *weights, int64_t tokens,
                            int64_t frames)
{
    losses->total = 0;
    for (enum mx_model_loss k = 0; k < MX_MODEL_LOSSES; k++) {
        const int64_t rows = overs[k] == FRAMES ? frames : tokens;
        if (rows > 0) losses->values[k] /= (double)rows;
        losses->total += (double)mx_model_loss_weight(weights, k) * losses->values[k];
    }
}

/* ---- their computation ---- */

struct term {
    struct mx_slice prediction, target, gradient;
    int64_t n;
    enum mx_loss_kind kind;
    float share; /* of one row: ½ for the prior */
};

/* Rows of the mean that is differentiated. */
static float rows_of(const struct mx_model_batch *batch, enum over over)
{
    const int64_t step = over == FRAMES ? batch->loss_frames : batch->loss_tokens;
    const int64_t own = over == FRAMES ? batch->frames.rows : batch->tokens.rows;
    const int64_t rows = step > 0 ? step : own;
    return (float)(rows > 0 ? rows : 1);
}

static int term_forward(const struct mx_model_pass *pass, enum mx_model_loss which, const struct term *t, bool backward)
{
    const float scale = t->share / (float)t->n;
    const float weight = mx_model_loss_weight(&pass->model->config.weights, which);
    const struct mx_ragged *const rows = overs[which] == FRAMES ? &pass->batch->frames : &pass->batch->tokens;
    return mx_sequence_loss(pass->base.stream, &(struct mx_sequence_loss_args){
                                                   .prediction = t->prediction,
                                                   .target = t->target,
                                                   .values = mx_pass_slice(pass->model->memory.losses,
                                                                           (int64_t)which * pass->batch->tokens.count),
                                                   .dprediction = backward ? t->gradient : (struct mx_slice){0},
                                                   .rows = *rows,
                                                   .n = t->n,
                                                   .scale = scale,
                                                   .factor = weight * scale / rows_of(pass->batch, overs[which]),
                                                   .kind = t->kind});
}

int mx_losses_forward(const struct mx_model_pass *pass, bool backward)
{
    const struct mx_memory *m = &pass->model->memory;
    const struct mx_model_batch *batch = pass->batch;
    int rc = 0;
    const struct term mel = {.prediction = m->mel,
                             .target = batch->mel,
                             .gradient = m->dmel,
                             .n = pass->model->config.bands,
                             .kind = MX_LOSS_L1,
                             .share = 1};
    struct term prior = mel;
    prior.prediction = m->spread;
    prior.gradient = m->dspread;
    prior.kind = MX_LOSS_L2;
    prior.share = 0.5f;
    MX_TRY(term_forward(pass, MX_LOSS_MEL, &mel, backward));
    MX_TRY(term_forward(pass, MX_LOSS_PRIOR, &prior, backward));
    for (int i = 0; i < MX_PREDICTORS; i++) {
        const struct term term = {.prediction = m->predictors[i].out,
                                  .target = m->targets[i],
                                  .gradient = m->predictors[i].dout,
                                  .n = 1,
                                  .kind = MX_LOSS_L2,
                                  .share = 1};
        MX_TRY(term_forward(pass, MX_LOSS_DURATION + (unsigned)i, &term, backward));
    }
out:
    return rc;
}

struct mx_model_losses mx_model_losses_of(const struct mx_model_config *config, const float *losses, int32_t sequences,
                                          int32_t sequence, int64_t tokens, int64_t frames)
{
    struct mx_model_losses out = {0};
    for (int k = 0; k < MX_MODEL_LOSSES; k++)
        for (int32_t s = 0; s < sequences; s++)
            if (sequence < 0 || sequence == s) out.values[k] += (double)losses[k * sequences + s];
    mx_model_losses_finish(&out, &config->weights, tokens, frames);
    return out;
}
