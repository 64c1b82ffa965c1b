/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The vocoder as a network that is trained, see networks.h. It trains on the segments of a batch (segment.h).
 *
 * Memory: owns its vocoder.
 */
#include <string.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "train/device_batch.h"
#include "train/trainer_internal.h"

_Static_assert((int)MX_VOCODER_LOSSES <= MX_NETWORK_LOSSES, "a report has room for all losses");

struct vocoding {
    struct mx_network base;
    struct mx_vocoder *vocoder;
};

/* The base is the first member of both. */
static const struct mx_vocoding_options *options_of(const struct mx_network_options *options)
{
    return (const struct mx_vocoding_options *)options;
}

static const struct vocoding *vocoding_of(const struct mx_network *network)
{
    return (const struct vocoding *)network;
}

struct mx_vocoder *mx_vocoding_vocoder(struct mx_network *network)
{
    return vocoding_of(network)->vocoder;
}

static int memory_plan(const struct mx_network_options *options, struct mx_network_memory *out)
{
    const struct mx_vocoding_options *const o = options_of(options);
    struct mx_model_memory_plan plan;
    const int rc = mx_vocoder_memory_plan(&o->config, &o->capacity, MX_MODEL_TRAIN, &plan);
    if (rc < 0) return rc;
    *out = (struct mx_network_memory){.parameters = plan.parameters,
                                      .floats = (int64_t)(plan.parameters_bytes / sizeof(float)),
                                      .learned = (int64_t)(plan.ema_bytes / sizeof(float)),
                                      .gradients = (int64_t)(plan.gradients_bytes / sizeof(float)),
                                      .sequences = o->capacity.sequences,
                                      .activations_bytes = plan.activations_bytes};
    return 0;
}

static void destroy(struct mx_network *network)
{
    mx_vocoder_destroy(mx_vocoding_vocoder(network));
    mx_free(network);
}

static int create(const struct mx_network_options *options, struct mx_device *device, struct mx_stream *stream,
                  struct mx_network **out)
{
    const struct mx_vocoding_options *const o = options_of(options);
    struct vocoding *const v = mx_alloc(1, sizeof *v);
    if (v == NULL) return MX_ERR_NO_MEMORY;
    v->base = (struct mx_network){options->calls};
    const int rc = mx_vocoder_create(device, stream, &o->config, &o->capacity, MX_MODEL_TRAIN, &v->vocoder);
    if (rc < 0)
        destroy(&v->base);
    else
        *out = &v->base;
    return rc;
}

static const struct mx_parameters *parameters(const struct mx_network *network)
{
    return mx_vocoder_parameters(vocoding_of(network)->vocoder);
}

static void frozen_set(struct mx_network *network, struct mx_slice weights)
{
    mx_vocoder_frozen_set(mx_vocoding_vocoder(network), weights);
}

static struct mx_network_counts count(const struct mx_device_batch *batch)
{
    return (struct mx_network_counts){.sequences = batch->segment_count, .frames = batch->vocoder.frames.rows};
}

static int run(struct mx_network *network, struct mx_stream *stream, struct mx_slice weights, struct mx_slice gradients,
               const struct mx_network_pass *pass, float *losses)
{
    struct mx_vocoder_batch batch = pass->batch->vocoder;
    const struct mx_model_pass_info info = {.ready = pass->ready, .context = pass->context};
    batch.loss_frames = pass->whole.frames;
    return mx_vocoder_forward_backward(mx_vocoding_vocoder(network), stream, weights, gradients, &batch, &info, losses);
}

static double losses_of(const struct mx_network_options *options, const float *losses, int32_t sequences,
                        int32_t sequence, struct mx_network_counts whole, double means[MX_NETWORK_LOSSES])
{
    const struct mx_vocoder_losses of =
        mx_vocoder_losses_of(&options_of(options)->config, losses, sequences, sequence, whole.frames);
    memcpy(means, of.values, sizeof of.values);
    return of.total;
}

/* With work sharing a segment may be from an utterance that the data device trains on. */
static uint32_t utterance(const struct mx_device_batch *batch, int32_t sequence)
{
    return batch->segments[sequence].utterance;
}

static const struct mx_network_calls calls = {.name = "vocoder",
                                              .owner = MX_TRAINER_OWNER_VOCODER,
                                              .losses = MX_VOCODER_LOSSES,
                                              .memory_plan = memory_plan,
                                              .create = create,
                                              .destroy = destroy,
                                              .parameters = parameters,
                                              .frozen_set = frozen_set,
                                              .count = count,
                                              .run = run,
                                              .losses_of = losses_of,
                                              .utterance = utterance};

struct mx_vocoding_options mx_vocoding_options(const struct mx_vocoder_config *config,
                                               const struct mx_vocoder_capacity *capacity)
{
    return (struct mx_vocoding_options){{&calls}, *config, *capacity};
}
