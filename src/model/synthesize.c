/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Synthesis: the same encoder, predictors and decoder as in training, with predicted durations, pitch and energy.
 *
 * The number of frames is known only once the durations are: this is the one place where the host reads something back
 * and waits. Durations are rounded so that a sequence lasts as long as the sum of its predictions: what rounding takes
 * from one token goes to the next ones.
 */
#include "model/adapter.h"
#include "model/internal.h"
#include "myxtts/error.h"

#include <math.h>

static const struct mx_speech_options usual = MX_SPEECH_OPTIONS_DEFAULT;

/* Of sequence i. */
static const struct mx_speech_options *options_of(const struct mx_speech_options *options, int32_t i)
{
    return options != NULL ? &options[i] : &usual;
}

static int options_check(const struct mx_speech_options *o)
{
    if (!(o->speed > 0) || !isfinite(o->speed))
        return MX_FAIL(MX_ERR_ARGUMENT, "1 is the speed of the recordings, 2 twice as fast", "speech: the speed is %g",
                       (double)o->speed);
    if (!isfinite(o->pitch_scale) || !isfinite(o->pitch_shift) || !isfinite(o->energy_scale) ||
        !isfinite(o->energy_shift))
        return MX_FAIL(MX_ERR_ARGUMENT, "1 and 0 leave pitch and energy as predicted",
                       "speech: scale and shift of pitch and energy must be finite numbers");
    return 0;
}

/* values [count] = values · scale + shift, in place, from token `first` on */
static int values_move(const struct mx_model_pass *pass, struct mx_slice values, int32_t first, int32_t count,
                       float scale, float shift)
{
    const struct mx_slice ones = pass->model->memory.shift;
    int rc = 0;
    values.offset_bytes += (size_t)first * 4;
    if (scale != 1)
        MX_TRY(mx_scale(pass->base.stream, &(struct mx_scale_args){.x = values, .count = count, .factor = scale}));
    if (shift != 0) {
        MX_TRY(mx_fill(pass->base.stream, &(struct mx_fill_args){.x = ones, .count = count, .value = 1}));
        MX_TRY(mx_residual_add(
            pass->base.stream,
            &(struct mx_residual_add_args){.a = values, .b = ones, .y = values, .count = count, .factor = shift}));
    }
out:
    return rc;
}

static bool moves_same(const struct mx_speech_options *a, const struct mx_speech_options *b)
{
    return a->pitch_scale == b->pitch_scale && a->pitch_shift == b->pitch_shift && a->energy_scale == b->energy_scale &&
           a->energy_shift == b->energy_shift;
}

/* Applies the options to pitch and energy: neighbours with the same change are moved together. */
static int sequences_move(const struct mx_model_pass *pass, const struct mx_speech_options *options)
{
    const struct mx_model *model = pass->model;
    const struct mx_predictor_memory *p = model->memory.predictors;
    const int32_t all = pass->batch->tokens.count;
    int rc = 0;
    for (int32_t from = 0, to; from < all; from = to) {
        const struct mx_speech_options *const o = options_of(options, from);
        for (to = from + 1; to < all && moves_same(o, options_of(options, to));) to++;
        const int32_t first = model->token_offsets[from], count = model->token_offsets[to] - first;
        MX_TRY(values_move(pass, p[MX_PREDICT_PITCH].out, first, count, o->pitch_scale, o->pitch_shift));
        MX_TRY(values_move(pass, p[MX_PREDICT_ENERGY].out, first, count, o->energy_scale, o->energy_shift));
    }
out:
    return rc;
}

/* Everything that does not need to know the number of frames; the predicted durations come to the host. Waits. */
static int speak_encode(const struct mx_model_pass *pass, const struct mx_speech_options *options)
{
    const struct mx_model *model = pass->model;
    const struct mx_ragged *tokens = &pass->batch->tokens;
    const struct mx_predictor_memory *p = model->memory.predictors;
    int rc = 0;
    MX_TRY(mx_model_speaker_forward(pass));
    MX_TRY(mx_encoder_forward(pass));
    for (int i = 0; i < MX_PREDICTORS; i++) MX_TRY(mx_predictor_forward(pass, (enum mx_predictor)i));
    MX_TRY(mx_copy_download(pass->base.stream, model->logs, p[MX_PREDICT_DURATION].out, (size_t)tokens->rows * 4));
    MX_TRY(mx_copy_download(pass->base.stream, model->token_offsets, tokens->offsets, ((size_t)tokens->count + 1) * 4));
    MX_TRY(mx_stream_sync(pass->base.stream));
    MX_TRY(sequences_move(pass, options));
    MX_TRY(mx_variance_forward(pass, p[MX_PREDICT_PITCH].out, p[MX_PREDICT_ENERGY].out));
out:
    return rc;
}

#define FRAMES_MAX 1e6 /* of one token: a prediction beyond is no duration */

/* ln(1 + duration) [tokens] → whole durations, at least 1 each; returns their sum, or an error for predictions that are
 * no numbers. */
static int64_t durations_round(const float *logs, int32_t tokens, float speed, int32_t *durations)
{
    double wanted = 0;
    int64_t given = 0;
    for (int32_t t = 0; t < tokens; t++) {
        if (!isfinite(logs[t]))
            return MX_FAIL(MX_ERR_DATA, "the weights are damaged or were never trained: try an earlier checkpoint",
                           "speech: the predicted duration of token %d is not a number", t);
        wanted += fmin(fmax(expm1((double)logs[t]), 0), FRAMES_MAX) / (double)speed;
        const double rest = fmin(wanted - (double)given, FRAMES_MAX);
        durations[t] = rest < 1.5 ? 1 : (int32_t)lround(rest);
        given += durations[t];
    }
    return given;
}

/* Fills durations and frame offsets on the host and sends them; `frames` becomes what will be spoken. */
static int speak_measure(const struct mx_model_pass *pass, const struct mx_speech_options *options,
                         struct mx_ragged *frames)
{
    const struct mx_model *model = pass->model;
    const struct mx_memory *m = &model->memory;
    const struct mx_ragged *tokens = &pass->batch->tokens;
    int64_t all = 0, longest = 0;
    int rc = 0;
    model->frame_offsets[0] = 0;
    for (int32_t s = 0; s < tokens->count; s++) {
        const int32_t first = model->token_offsets[s], count = model->token_offsets[s + 1] - first;
        const int64_t own =
            durations_round(model->logs + first, count, options_of(options, s)->speed, model->durations + first);
        if (own < 0) MX_TRY((int)own);
        all += own;
        longest = own > longest ? own : longest;
        if (all > model->capacity.frames || longest > model->capacity.longest_frames) {
            MX_FAIL(MX_ERR_ARGUMENT, NULL, "speech: sequence %d makes the batch longer than the model's memory allows",
                    s);
            MX_TRY(mx_error_hint("there is room for %d frames, and for %d in one sequence: speak less at once, or "
                                 "create a model with more capacity",
                                 model->capacity.frames, model->capacity.longest_frames));
        }
        model->frame_offsets[s + 1] = (int32_t)all;
    }
    *frames = (struct mx_ragged){
        .offsets = m->frame_offsets, .count = tokens->count, .rows = (int32_t)all, .max_rows = (int32_t)longest};
    MX_TRY(mx_copy_upload(pass->base.stream, m->durations, model->durations, (size_t)tokens->rows * 4));
    MX_TRY(mx_copy_upload(pass->base.stream, m->frame_offsets, model->frame_offsets, ((size_t)tokens->count + 1) * 4));
    MX_TRY(mx_durations_scan(
        pass->base.stream,
        &(struct mx_durations_scan_args){.durations = m->durations, .ends = m->ends, .count = tokens->rows}));
out:
    return rc;
}

int mx_model_synthesize(struct mx_model *model, struct mx_stream *stream, struct mx_slice parameters,
                        const struct mx_model_batch *batch, const struct mx_speech_options *options,
                        struct mx_speech *out)
{
    struct mx_model_batch own = *batch;
    const struct mx_model_pass pass = {
        .base = mx_model_pass_base(model, stream, parameters), .model = model, .batch = &own};
    int rc = 0;
    MX_TRY(mx_model_batch_check(model, batch, true));
    for (int32_t s = 0; options != NULL && s < batch->tokens.count; s++) MX_TRY(options_check(&options[s]));
    MX_TRY(mx_adapters_merge(&pass.base));
    MX_TRY(speak_encode(&pass, options));
    MX_TRY(speak_measure(&pass, options, &own.frames));
    MX_TRY(mx_mel_forward(&pass));
    *out = (struct mx_speech){.frames = own.frames,
                              .mel = model->memory.mel,
                              .frame_offsets = model->frame_offsets,
                              .durations = model->durations};
out:
    return rc;
}
