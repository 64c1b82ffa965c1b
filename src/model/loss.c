/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The losses, each with its gradient, and what they say.
 *
 *     mel       mean over frames and bands of |predicted - mel|              (deviations of the normalised log mel)
 *     prior     mean over frames and bands of ½ (mean of its token - mel)²   (nats, up to a constant)
 *     duration  mean over tokens of (predicted - ln(1 + duration))²          (nepers²)
 *     pitch     mean over tokens of (predicted - measured)²                  (deviations² of the normalised pitch)
 *     energy    the same for energy
 *
 * The device keeps one number for each loss and sequence: the sum over the sequence's frames (each the mean over its
 * bands) or tokens, which does not depend on what else is in the batch. Means are taken on the host, for reports; the
 * gradient does not need them.
 */
#include "model/internal.h"
#include "myxtts/error.h"

struct term {
    struct mx_slice prediction, target, gradient;
    const struct mx_ragged *rows;
    int64_t n;
    enum mx_loss_kind kind;
    float share;       /* of one row: ½ for the prior */
    float weight;      /* in the sum that is differentiated */
    int64_t mean_over; /* rows of the mean that is differentiated */
};

static int term_forward(const struct mx_pass *pass, enum mx_model_loss which, const struct term *t, bool backward)
{
    const float scale = t->share / (float)t->n;
    const float rows = (float)(t->mean_over > 0 ? t->mean_over : 1);
    return mx_sequence_loss(pass->stream, &(struct mx_sequence_loss_args){
                                              .prediction = t->prediction,
                                              .target = t->target,
                                              .values = mx_pass_slice(pass->model->memory.losses,
                                                                      (int64_t)which * pass->batch->tokens.count),
                                              .dprediction = backward ? t->gradient : (struct mx_slice){0},
                                              .rows = *t->rows,
                                              .n = t->n,
                                              .scale = scale,
                                              .factor = t->weight * scale / rows,
                                              .kind = t->kind});
}

int mx_losses_forward(const struct mx_pass *pass, bool backward)
{
    const struct mx_memory *m = &pass->model->memory;
    const struct mx_model_batch *batch = pass->batch;
    const struct mx_model_loss_weights *weights = &pass->model->config.weights;
    const float of_predictor[MX_PREDICTORS] = {weights->duration, weights->pitch, weights->energy};
    const int64_t frames = batch->loss_frames > 0 ? batch->loss_frames : batch->frames.rows;
    const int64_t tokens = batch->loss_tokens > 0 ? batch->loss_tokens : batch->tokens.rows;
    int rc = 0;
    const struct term mel = {.prediction = m->mel,
                             .target = batch->mel,
                             .gradient = m->dmel,
                             .rows = &batch->frames,
                             .n = pass->model->config.bands,
                             .kind = MX_LOSS_L1,
                             .share = 1,
                             .weight = weights->mel,
                             .mean_over = frames};
    struct term prior = mel;
    prior.prediction = m->spread;
    prior.gradient = m->dspread;
    prior.kind = MX_LOSS_L2;
    prior.share = 0.5f;
    prior.weight = weights->prior;
    MX_TRY(term_forward(pass, MX_LOSS_MEL, &mel, backward));
    MX_TRY(term_forward(pass, MX_LOSS_PRIOR, &prior, backward));
    for (int i = 0; i < MX_PREDICTORS; i++) {
        const struct term term = {.prediction = m->predictors[i].out,
                                  .target = m->targets[i],
                                  .gradient = m->predictors[i].dout,
                                  .rows = &batch->tokens,
                                  .n = 1,
                                  .kind = MX_LOSS_L2,
                                  .share = 1,
                                  .weight = of_predictor[i],
                                  .mean_over = tokens};
        MX_TRY(term_forward(pass, MX_LOSS_DURATION + (unsigned)i, &term, backward));
    }
out:
    return rc;
}

struct mx_model_losses mx_model_losses_of(const struct mx_model_config *config, const float *losses, int32_t sequences,
                                          int32_t sequence, int64_t tokens, int64_t frames)
{
    const struct mx_model_loss_weights *w = &config->weights;
    const float weights[MX_MODEL_LOSSES] = {w->mel, w->prior, w->duration, w->pitch, w->energy};
    struct mx_model_losses out = {0};
    for (int k = 0; k < MX_MODEL_LOSSES; k++) {
        const int64_t rows = k <= MX_LOSS_PRIOR ? frames : tokens;
        for (int32_t s = 0; s < sequences; s++)
            if (sequence < 0 || sequence == s) out.values[k] += (double)losses[k * sequences + s];
        if (rows > 0) out.values[k] /= (double)rows;
        out.total += (double)weights[k] * out.values[k];
    }
    return out;
}
