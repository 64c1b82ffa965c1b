/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Creation and destruction of a model, the check of a batch, and the passes of training. (Synthesis: synthesize.c.)
 */
#include <stdio.h>

#include "base/alloc.h"
#include "model/adapter.h"
#include "model/internal.h"
#include "myxtts/error.h"

/* ---- life ---- */

uint64_t mx_model_host_bytes(const struct mx_model_capacity *capacity)
{
    return 4 * (2 * (uint64_t)capacity->tokens + 2 * ((uint64_t)capacity->sequences + 1));
}

/* Host memory of synthesis, in one piece. */
static int staging_alloc(struct mx_model *model)
{
    const size_t tokens = (size_t)model->capacity.tokens, ends = (size_t)model->capacity.sequences + 1;
    const int rc =
        mx_host_alloc(model->device, "synthesis", (size_t)mx_model_host_bytes(&model->capacity), &model->staging);
    if (rc < 0) return rc;
    model->logs = model->staging;
    model->durations = (int32_t *)(void *)(model->logs + tokens);
    model->token_offsets = model->durations + tokens;
    model->frame_offsets = model->token_offsets + ends;
    return 0;
}

/* Angles of the rotary positions, once and for all. */
static int rotary_fill(const struct mx_model *model, struct mx_stream *stream)
{
    const struct mx_model_capacity *c = &model->capacity;
    int rc = 0;
    MX_TRY(mx_rotary_table(
        stream, &(struct mx_rotary_table_args){.table = model->memory.rotary,
                                               .positions = c->longest_frames > c->longest_tokens ? c->longest_frames
                                                                                                  : c->longest_tokens,
                                               .head_width = model->config.size.width / model->config.size.heads,
                                               .base = 10000}));
    MX_TRY(mx_stream_sync(stream));
out:
    return rc;
}

/* The lowest block of a stack that gradients must reach. */
static int32_t lowest_block(const struct mx_parameters *table, const char *stack, int32_t blocks, bool below)
{
    char prefix[MX_PARAMETER_NAME_BYTES];
    for (int32_t i = 0; i < blocks && !below; i++) {
        snprintf(prefix, sizeof prefix, "%s.block.%d.", stack, (int)i);
        if (mx_parameters_learn(table, prefix)) return i;
    }
    return below ? 0 : blocks;
}

static struct mx_reach reach_of(const struct mx_parameters *t, const struct mx_model_size *size)
{
    struct mx_reach r = {.aligner = mx_parameters_learn(t, "encoder.mean."),
                         .predictors = {mx_parameters_learn(t, "predictor.duration."),
                                        mx_parameters_learn(t, "predictor.pitch."),
                                        mx_parameters_learn(t, "predictor.energy.")}};
    r.speaker = mx_parameters_learn(t, "speaker.conv") || mx_parameters_learn(t, "speaker.norm") ||
                mx_parameters_learn(t, "speaker.score.");
    r.encoder_input = r.speaker || mx_parameters_learn(t, "speaker.to_encoder.") ||
                      mx_parameters_learn(t, "encoder.token.") || mx_parameters_learn(t, "encoder.language.");
    r.encoder_block = lowest_block(t, "encoder", size->encoder_blocks, r.encoder_input);
    r.encoder = r.encoder_block < size->encoder_blocks || mx_parameters_learn(t, "encoder.norm.");
    r.decoder_input = r.encoder || mx_parameters_learn(t, "speaker.to_decoder.") ||
                      mx_parameters_learn(t, "encoder.pitch.") || mx_parameters_learn(t, "encoder.energy.");
    r.decoder_block = lowest_block(t, "decoder", size->decoder_blocks, r.decoder_input);
    for (int i = 0; mx_mel_modules[i] != NULL; i++)
        r.modules[i] =
            (i > 0 ? r.modules[i - 1] : r.decoder_input) || mx_parameters_learn(t, mx_mel_modules[i]->prefix);
    /* Their gradients continue into the states, except those of the durations. */
    r.aligner = r.aligner || r.encoder;
    r.predictors[MX_PREDICT_PITCH] = r.predictors[MX_PREDICT_PITCH] || r.encoder;
    r.predictors[MX_PREDICT_ENERGY] = r.predictors[MX_PREDICT_ENERGY] || r.encoder;
    return r;
}

int mx_model_device_check(const struct mx_device *device, const struct mx_model_config *config)
{
    return config->mixed ? mx_mixed_check(device) : 0;
}

int mx_model_create(struct mx_device *device, struct mx_stream *stream, const struct mx_model_config *config,
                    const struct mx_model_capacity *capacity, enum mx_model_purpose purpose, struct mx_model **out)
{
    int rc = 0;
    struct mx_layout layout = {0};
    struct mx_model *model = mx_alloc(1, sizeof *model);
    *out = NULL;
    if (!model) return MX_ERR_NO_MEMORY;
    model->config = *config;
    model->purpose = purpose;
    model->mixed = config->mixed && purpose == MX_MODEL_TRAIN;
    model->device = device;
    MX_TRY(mx_model_capacity_check(capacity, &model->capacity));
    MX_TRY(mx_model_parameters_create(config, &model->at, &model->parameters));
    model->reach = reach_of(model->parameters, &config->size);
    if (model->mixed) MX_TRY(mx_model_device_check(device, config));
    mx_memory_place(&model->memory, &layout, config, model->parameters, &model->capacity, purpose);
    MX_TRY(mx_buffer_create(device, "activations", layout.offset_bytes, &model->activations));
    layout = (struct mx_layout){.buffer = model->activations};
    mx_memory_place(&model->memory, &layout, config, model->parameters, &model->capacity, purpose);
    MX_TRY(staging_alloc(model));
    MX_TRY(rotary_fill(model, stream));
    *out = model;
    model = NULL;
out:
    mx_model_destroy(model);
    return rc;
}

void mx_model_destroy(struct mx_model *model)
{
    if (!model) return;
    mx_host_release(model->device, model->staging);
    mx_buffer_release(model->activations);
    mx_parameters_destroy(model->parameters);
    mx_free(model);
}

const struct mx_model_config *mx_model_config(const struct mx_model *model)
{
    return &model->config;
}

const struct mx_model_capacity *mx_model_capacity(const struct mx_model *model)
{
    return &model->capacity;
}

const struct mx_parameters *mx_model_parameters(const struct mx_model *model)
{
    return model->parameters;
}

struct mx_model_view mx_model_view(const struct mx_model *model)
{
    const struct mx_memory *m = &model->memory;
    struct mx_model_view view = {
        .mel = m->mel, .durations = m->durations, .voices = m->speaker.vector, .means = m->means};
    for (int i = 0; i < MX_PREDICTORS; i++) view.predicted[i] = m->predictors[i].out;
    return view;
}

void mx_model_frozen_set(struct mx_model *model, struct mx_slice weights)
{
    model->frozen = weights;
}

struct mx_pass mx_model_pass_base(const struct mx_model *model, struct mx_stream *stream, struct mx_slice parameters)
{
    return (struct mx_pass){.stream = stream,
                            .table = model->parameters,
                            .parameters = parameters,
                            .frozen = model->frozen,
                            .merged = model->memory.merged,
                            .low = model->memory.low,
                            .dlow = model->memory.dlow,
                            .mixed = model->mixed};
}

/* ---- batches ---- */

static int rows_check(const char *name, const struct mx_ragged *rows, int32_t sequences, int32_t all, int32_t longest)
{
    if (rows->count != sequences)
        return MX_FAIL(MX_ERR_ARGUMENT, "tokens, frames and references must have the same sequences",
                       "model: the batch has %d sequences of tokens and %d of %s", sequences, rows->count, name);
    if (rows->rows <= all && rows->max_rows <= longest) return 0;
    MX_FAIL(MX_ERR_ARGUMENT, NULL, "model: the batch has %d %s, and %d in one sequence", rows->rows, name,
            rows->max_rows);
    return mx_error_hint("this model has room for %d, and for %d in one sequence: make smaller batches, or create a "
                         "model with more capacity",
                         all, longest);
}

static int sequences_check(const struct mx_model *model, int32_t sequences)
{
    if (sequences >= 1 && sequences <= model->capacity.sequences) return 0;
    MX_FAIL(MX_ERR_ARGUMENT, NULL, "model: the batch has %d sequences", sequences);
    return mx_error_hint("this model accepts 1 to %d", model->capacity.sequences);
}

int mx_model_references_check(const struct mx_model *model, const struct mx_model_batch *batch, int32_t sequences)
{
    const int32_t room = model->capacity.references;
    const int rc = sequences_check(model, sequences);
    return rc < 0 ? rc : rows_check("references", &batch->references, sequences, room, room);
}

int mx_model_batch_check(const struct mx_model *model, const struct mx_model_batch *batch, bool speaking)
{
    const struct mx_model_capacity *c = &model->capacity;
    const int32_t sequences = batch->tokens.count;
    int rc = 0;
    MX_TRY(sequences_check(model, sequences));
    MX_TRY(rows_check("tokens", &batch->tokens, sequences, c->tokens, c->longest_tokens));
    if (batch->voices.buffer == NULL) MX_TRY(mx_model_references_check(model, batch, sequences));
    if (!speaking) MX_TRY(rows_check("frames", &batch->frames, sequences, c->frames, c->longest_frames));
out:
    return rc;
}

/* ---- passes ---- */

/* The mel first: it replaces dstates and the speaker's gradient, all others add to them. The parts stand in the flat
 * buffer in the order of model_parameters.c: speaker, encoder, its blocks, predictors, decoder, its blocks, a finish. */
static int teach_backward(const struct mx_model_pass *pass)
{
    const struct mx_memory *m = &pass->model->memory;
    const struct mx_model_at *at = &pass->model->at;
    const struct mx_reach *reach = &pass->model->reach;
    int rc = 0;
    MX_TRY(mx_mel_backward(pass));
    MX_TRY(mx_pass_ready(&pass->base, at->decoder.mel_weight));
    if (reach->decoder_input)
        MX_TRY(mx_variance_backward(pass, m->targets[MX_PREDICT_PITCH], m->targets[MX_PREDICT_ENERGY]));
    for (int i = 0; i < MX_PREDICTORS; i++)
        if (reach->predictors[i]) MX_TRY(mx_predictor_backward(pass, (enum mx_predictor)i));
    MX_TRY(mx_pass_ready(&pass->base, at->predictors[0].conv1_weight));
    if (reach->aligner) MX_TRY(mx_aligner_backward(pass));
    if (reach->encoder) MX_TRY(mx_encoder_backward(pass));
    MX_TRY(mx_pass_ready(&pass->base, at->encoder.mean_weight));
    if (reach->speaker) MX_TRY(mx_model_speaker_backward(pass));
    MX_TRY(mx_pass_complete(&pass->base));
out:
    return rc;
}

/* Forward, losses, and with gradients the backward pass; then the losses to the host. */
static int teach(const struct mx_model_pass *pass, float *losses)
{
    const struct mx_model *model = pass->model;
    const struct mx_memory *m = &model->memory;
    const bool backward = pass->base.gradients.buffer != NULL;
    int rc = 0;
    if (model->purpose != MX_MODEL_TRAIN)
        MX_RAISE(MX_ERR_ARGUMENT, "create it for MX_MODEL_TRAIN",
                 "model: it was created for speaking, not for training");
    MX_TRY(mx_model_batch_check(model, pass->batch, false));
    MX_TRY(mx_adapters_merge(&pass->base));
    MX_TRY(mx_model_speaker_forward(pass));
    MX_TRY(mx_encoder_forward(pass));
    MX_TRY(mx_aligner_forward(pass));
    for (int i = 0; i < MX_PREDICTORS; i++) MX_TRY(mx_predictor_forward(pass, (enum mx_predictor)i));
    MX_TRY(mx_variance_forward(pass, m->targets[MX_PREDICT_PITCH], m->targets[MX_PREDICT_ENERGY]));
    MX_TRY(mx_mel_forward(pass));
    MX_TRY(mx_losses_forward(pass, backward));
    if (backward) MX_TRY(teach_backward(pass));
    if (losses)
        MX_TRY(mx_copy_download(pass->base.stream, losses, m->losses,
                                (size_t)MX_MODEL_LOSSES * (size_t)pass->batch->tokens.count * sizeof *losses));
out:
    return rc;
}

int mx_model_forward_backward(struct mx_model *model, struct mx_stream *stream, struct mx_slice parameters,
                              struct mx_slice gradients, const struct mx_model_batch *batch,
                              const struct mx_model_pass_info *step, float *losses)
{
    struct mx_model_pass pass = {.base = mx_model_pass_base(model, stream, parameters),
                                 .model = model,
                                 .batch = batch,
                                 .dropout = model->config.dropout,
                                 .seed = step->seed,
                                 .step = step->step};
    pass.base.gradients = gradients;
    pass.base.ready = step->ready;
    pass.base.context = step->context;
    if (!gradients.buffer)
        return MX_FAIL(MX_ERR_ARGUMENT, "give a slice of as many floats as the memory plan says",
                       "model: no memory was given for the gradients");
    return teach(&pass, losses);
}

int mx_model_evaluate(struct mx_model *model, struct mx_stream *stream, struct mx_slice parameters,
                      const struct mx_model_batch *batch, float *losses)
{
    const struct mx_model_pass pass = {
        .base = mx_model_pass_base(model, stream, parameters), .model = model, .batch = batch};
    return teach(&pass, losses);
}
