/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The acoustic network as a network that is trained, see networks.h. It trains on every utterance of a batch.
 *
 * Memory: owns its model.
 */
#include <string.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "train/device_batch.h"
#include "train/networks.h"

_Static_assert((int)MX_MODEL_LOSSES <= MX_NETWORK_LOSSES, "a report has room for all losses");

struct acoustic {
    struct mx_network base;
    struct mx_model *model;
};

/* The base is the first member of both. */
static const struct mx_acoustic_options *options_of(const struct mx_network_options *options)
{
    return (const struct mx_acoustic_options *)options;
}

static const struct acoustic *acoustic_of(const struct mx_network *network)
{
    return (const struct acoustic *)network;
}

struct mx_model *mx_acoustic_model(struct mx_network *network)
{
    return acoustic_of(network)->model;
}

static int memory_plan(const struct mx_network_options *options, struct mx_network_memory *out)
{
    const struct mx_acoustic_options *const o = options_of(options);
    struct mx_model_memory_plan plan;
    const int rc = mx_model_memory_plan(&o->config, &o->capacity, MX_MODEL_TRAIN, &plan);
    if (rc < 0) return rc;
    *out = (struct mx_network_memory){.parameters = plan.parameters,
                                      .floats = (int64_t)(plan.parameters_bytes / sizeof(float)),
                                      .learned = (int64_t)(plan.ema_bytes / sizeof(float)),
                                      .gradients = (int64_t)(plan.gradients_bytes / sizeof(float)),
                                      .sequences = o->capacity.sequences,
                                      .activations_bytes = plan.activations_bytes,
                                      .host_bytes = mx_model_host_bytes(&o->capacity)};
    return 0;
}

static void destroy(struct mx_network *network)
{
    mx_model_destroy(mx_acoustic_model(network));
    mx_free(network);
}

static int create(const struct mx_network_options *options, struct mx_device *device, struct mx_stream *stream,
                  struct mx_network **out)
{
    const struct mx_acoustic_options *const o = options_of(options);
    struct acoustic *const a = mx_alloc(1, sizeof *a);
    if (a == NULL) return MX_ERR_NO_MEMORY;
    a->base = (struct mx_network){options->calls};
    const int rc = mx_model_create(device, stream, &o->config, &o->capacity, MX_MODEL_TRAIN, &a->model);
    if (rc < 0)
        destroy(&a->base);
    else
        *out = &a->base;
    return rc;
}

static const struct mx_parameters *parameters(const struct mx_network *network)
{
    return mx_model_parameters(acoustic_of(network)->model);
}

static void frozen_set(struct mx_network *network, struct mx_slice weights)
{
    mx_model_frozen_set(mx_acoustic_model(network), weights);
}

static struct mx_network_counts count(const struct mx_device_batch *batch)
{
    return (struct mx_network_counts){batch->count, batch->batch.tokens.rows, batch->batch.frames.rows};
}

static int run(struct mx_network *network, struct mx_stream *stream, struct mx_slice weights, struct mx_slice gradients,
               const struct mx_network_pass *pass, float *losses)
{
    struct mx_model_batch batch = pass->batch->batch;
    const struct mx_model_pass_info info = {
        .seed = pass->seed, .step = pass->number, .ready = pass->ready, .context = pass->context};
    batch.loss_tokens = pass->whole.tokens;
    batch.loss_frames = pass->whole.frames;
    batch.first_token += pass->before.tokens;
    batch.first_frame += pass->before.frames;
    return mx_model_forward_backward(mx_acoustic_model(network), stream, weights, gradients, &batch, &info, losses);
}

static double losses_of(const struct mx_network_options *options, const float *losses, int32_t sequences,
                        int32_t sequence, struct mx_network_counts whole, double means[MX_NETWORK_LOSSES])
{
    const struct mx_model_losses of =
        mx_model_losses_of(&options_of(options)->config, losses, sequences, sequence, whole.tokens, whole.frames);
    memcpy(means, of.values, sizeof of.values);
    return of.total;
}

static uint32_t utterance(const struct mx_device_batch *batch, int32_t sequence)
{
    return batch->utterances[sequence];
}

static const struct mx_network_calls calls = {.name = "acoustic network",
                                              .losses = MX_MODEL_LOSSES,
                                              .memory_plan = memory_plan,
                                              .create = create,
                                              .destroy = destroy,
                                              .parameters = parameters,
                                              .frozen_set = frozen_set,
                                              .count = count,
                                              .run = run,
                                              .losses_of = losses_of,
                                              .utterance = utterance};

struct mx_acoustic_options mx_acoustic_options(const struct mx_model_config *config,
                                               const struct mx_model_capacity *capacity)
{
    return (struct mx_acoustic_options){{&calls}, *config, *capacity};
}
