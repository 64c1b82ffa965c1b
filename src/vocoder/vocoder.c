/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Creation and destruction of a vocoder's network, the check of a batch, and its passes.
 */
#include "vocoder/vocoder.h"

#include <stdio.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "vocoder/internal.h"

/* ---- life ---- */

int mx_vocoder_device_check(const struct mx_device *device, const struct mx_vocoder_config *config)
{
    return config->mixed ? mx_mixed_check(device) : 0;
}

/* Sends the tables of the recipe, once and for all; waits. */
static int tables_send(const struct mx_vocoder *v, struct mx_stream *stream, const struct mx_recipe_tables *tables)
{
    int rc = 0;
    const size_t count = 3 * (size_t)mx_vocoder_bins(&v->config);
    float *const places = mx_alloc(count, sizeof *places);
    if (!places) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_recipe_places_build(&v->config.recipe, tables, places));
    MX_TRY(mx_copy_upload(stream, v->memory.tables, tables->data, tables->count * sizeof *tables->data));
    MX_TRY(mx_copy_upload(stream, v->memory.places, places, count * sizeof *places));
    MX_TRY(mx_stream_sync(stream));
out:
    mx_free(places);
    return rc;
}

/* What lies below the last thing that learns is left out of the backward pass. */
static int32_t lowest_of(const struct mx_parameters *table, int32_t blocks)
{
    char prefix[MX_PARAMETER_NAME_BYTES];
    if (mx_parameters_learn(table, "vocoder.input.")) return -1;
    for (int32_t i = 0; i < blocks; i++) {
        snprintf(prefix, sizeof prefix, "vocoder.block.%d.", (int)i);
        if (mx_parameters_learn(table, prefix)) return i;
    }
    return blocks;
}

int mx_vocoder_create(struct mx_device *device, struct mx_stream *stream, const struct mx_vocoder_config *config,
                      const struct mx_vocoder_capacity *capacity, enum mx_model_purpose purpose,
                      struct mx_vocoder **out)
{
    int rc = 0;
    struct mx_layout layout = {0};
    struct mx_recipe_tables tables = {0};
    struct mx_vocoder *v = mx_alloc(1, sizeof *v);
    *out = NULL;
    if (!v) return MX_ERR_NO_MEMORY;
    v->config = *config;
    v->purpose = purpose;
    v->mixed = config->mixed && purpose == MX_MODEL_TRAIN;
    MX_TRY(mx_vocoder_capacity_check(capacity, &v->capacity));
    MX_TRY(mx_vocoder_table_create(config, &v->at, &v->parameters));
    v->lowest = lowest_of(v->parameters, config->size.blocks);
    if (v->mixed) MX_TRY(mx_vocoder_device_check(device, config));
    MX_TRY(mx_recipe_tables_build(&config->recipe, &tables));
    v->weights = tables.weights;
    mx_vocoder_memory_place(&v->memory, &layout, config, &v->capacity, purpose, tables.count);
    MX_TRY(mx_buffer_create(device, purpose == MX_MODEL_SPEAK ? "waveform" : "vocoder", layout.offset_bytes,
                            &v->activations));
    layout = (struct mx_layout){.buffer = v->activations};
    mx_vocoder_memory_place(&v->memory, &layout, config, &v->capacity, purpose, tables.count);
    MX_TRY(tables_send(v, stream, &tables));
    *out = v;
    v = NULL;
out:
    mx_recipe_tables_release(&tables);
    mx_vocoder_destroy(v);
    return rc;
}

void mx_vocoder_destroy(struct mx_vocoder *vocoder)
{
    if (!vocoder) return;
    mx_buffer_release(vocoder->activations);
    mx_parameters_destroy(vocoder->parameters);
    mx_free(vocoder);
}

const struct mx_vocoder_config *mx_vocoder_config(const struct mx_vocoder *vocoder)
{
    return &vocoder->config;
}

const struct mx_vocoder_capacity *mx_vocoder_capacity(const struct mx_vocoder *vocoder)
{
    return &vocoder->capacity;
}

const struct mx_parameters *mx_vocoder_parameters(const struct mx_vocoder *vocoder)
{
    return vocoder->parameters;
}

struct mx_vocoder_view mx_vocoder_view(const struct mx_vocoder *vocoder)
{
    return (struct mx_vocoder_view){
        .magnitude = vocoder->memory.magnitude, .logits = vocoder->memory.logits, .burst = vocoder->memory.burst};
}

void mx_vocoder_frozen_set(struct mx_vocoder *vocoder, struct mx_slice weights)
{
    vocoder->frozen = weights;
}

/* ---- passes ---- */

static struct mx_pass pass_base(const struct mx_vocoder *v, struct mx_stream *stream, struct mx_slice parameters)
{
    return (struct mx_pass){
        .stream = stream, .table = v->parameters, .parameters = parameters, .frozen = v->frozen, .mixed = v->mixed};
}

static int frames_check(const struct mx_vocoder *v, const struct mx_ragged *frames)
{
    const struct mx_vocoder_capacity *c = &v->capacity;
    if (frames->count < 1 || frames->count > c->sequences) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "vocoder: the batch has %d sequences", frames->count);
        return mx_error_hint("this vocoder accepts 1 to %d", c->sequences);
    }
    if (frames->rows <= c->frames && frames->max_rows <= c->longest_frames) return 0;
    MX_FAIL(MX_ERR_ARGUMENT, NULL, "vocoder: the batch has %d frames, and %d in one sequence", frames->rows,
            frames->max_rows);
    return mx_error_hint(
        "this vocoder has room for %d, and for %d in one sequence: make smaller batches, or create one "
        "with more capacity",
        c->frames, c->longest_frames);
}

/* Forward, losses, and with gradients the backward pass; then the losses to the host. */
static int teach(const struct mx_vocoder_pass *pass, float *losses)
{
    const struct mx_vocoder *v = pass->vocoder;
    const bool backward = pass->base.gradients.buffer != NULL;
    int rc = 0;
    if (v->purpose != MX_MODEL_TRAIN)
        MX_RAISE(MX_ERR_ARGUMENT, "create it for MX_MODEL_TRAIN",
                 "vocoder: it was created for speaking, not for training");
    MX_TRY(frames_check(v, &pass->batch->frames));
    MX_TRY(mx_vocoder_network_forward(pass));
    MX_TRY(mx_vocoder_losses_forward(pass, backward));
    if (backward) MX_TRY(mx_vocoder_network_backward(pass));
    if (losses)
        MX_TRY(mx_copy_download(pass->base.stream, losses, v->memory.losses,
                                (size_t)MX_VOCODER_LOSSES * (size_t)pass->batch->frames.count * sizeof *losses));
out:
    return rc;
}

int mx_vocoder_forward_backward(struct mx_vocoder *vocoder, struct mx_stream *stream, struct mx_slice parameters,
                                struct mx_slice gradients, const struct mx_vocoder_batch *batch,
                                const struct mx_model_pass_info *info, float *losses)
{
    struct mx_vocoder_pass pass = {.base = pass_base(vocoder, stream, parameters), .vocoder = vocoder, .batch = batch};
    pass.base.gradients = gradients;
    pass.base.ready = info ? info->ready : NULL;
    pass.base.context = info ? info->context : NULL;
    if (!gradients.buffer)
        return MX_FAIL(MX_ERR_ARGUMENT, "give a slice of as many floats as the memory plan says",
                       "vocoder: no memory was given for the gradients");
    return teach(&pass, losses);
}

int mx_vocoder_evaluate(struct mx_vocoder *vocoder, struct mx_stream *stream, struct mx_slice parameters,
                        const struct mx_vocoder_batch *batch, float *losses)
{
    const struct mx_vocoder_pass pass = {
        .base = pass_base(vocoder, stream, parameters), .vocoder = vocoder, .batch = batch};
    return teach(&pass, losses);
}

int mx_vocoder_predict(struct mx_vocoder *vocoder, struct mx_stream *stream, struct mx_slice parameters,
                       const struct mx_ragged *frames, struct mx_slice mel, struct mx_vocoder_view *view)
{
    const struct mx_vocoder_batch batch = {.frames = *frames, .mel = mel};
    const struct mx_vocoder_pass pass = {
        .base = pass_base(vocoder, stream, parameters), .vocoder = vocoder, .batch = &batch};
    int rc = 0;
    MX_TRY(frames_check(vocoder, frames));
    MX_TRY(mx_vocoder_network_forward(&pass));
    if (view) *view = mx_vocoder_view(vocoder);
out:
    return rc;
}

struct mx_vocoder_losses mx_vocoder_losses_of(const struct mx_vocoder_config *config, const float *losses,
                                              int32_t sequences, int32_t sequence, int64_t frames)
{
    struct mx_vocoder_losses out = {0};
    for (int k = 0; k < MX_VOCODER_LOSSES; k++)
        for (int32_t s = 0; s < sequences; s++)
            if (sequence < 0 || sequence == s) out.values[k] += (double)losses[k * sequences + s];
    mx_vocoder_losses_finish(&out, &config->weights, frames);
    return out;
}

void mx_vocoder_mean_set(struct mx_vocoder *v, float mel_mean)
{
    v->config.mel_mean = mel_mean;
}
