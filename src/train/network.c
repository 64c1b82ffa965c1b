/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The two networks that are trained, see network.h: the acoustic network, on every utterance of a batch, and the
 * vocoder, on its segments (segment.h).
 */
#include "train/network.h"

#include <string.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "train/feed/device_batch.h"
#include "train/trainer_internal.h"

_Static_assert((int)MX_MODEL_LOSSES <= MX_NETWORK_LOSSES, "a report has room for all losses");
_Static_assert((int)MX_VOCODER_LOSSES <= MX_NETWORK_LOSSES, "a report has room for all losses");

static struct mx_network_memory memory_of(const struct mx_model_memory_plan *plan, int32_t sequences)
{
    return (struct mx_network_memory){.parameters = plan->parameters,
                                      .floats = (int64_t)(plan->parameters_bytes / sizeof(float)),
                                      .learned = (int64_t)(plan->ema_bytes / sizeof(float)),
                                      .gradients = (int64_t)(plan->gradients_bytes / sizeof(float)),
                                      .sequences = sequences,
                                      .activations_bytes = plan->activations_bytes};
}

int mx_network_create(const struct mx_network_options *options, struct mx_device *device, struct mx_stream *stream,
                      struct mx_network **out)
{
    struct mx_network *const n = mx_alloc(1, sizeof *n);
    *out = NULL;
    if (n == NULL) return MX_ERR_NO_MEMORY;
    n->calls = options->calls;
    const int rc = n->calls->open(options, device, stream, n);
    if (rc < 0)
        mx_network_destroy(n);
    else
        *out = n;
    return rc;
}

void mx_network_destroy(struct mx_network *n)
{
    if (n == NULL) return;
    mx_model_destroy(n->model);
    mx_vocoder_destroy(n->vocoder);
    mx_free(n);
}

/* ---- the acoustic network ---- */

static int acoustic_memory_plan(const struct mx_network_options *options, struct mx_network_memory *out)
{
    struct mx_model_memory_plan plan;
    const int rc = mx_model_memory_plan(&options->model, &options->model_capacity, MX_MODEL_TRAIN, &plan);
    if (rc < 0) return rc;
    *out = memory_of(&plan, options->model_capacity.sequences);
    out->host_bytes = mx_model_host_bytes(&options->model_capacity);
    return 0;
}

static int acoustic_open(const struct mx_network_options *options, struct mx_device *device, struct mx_stream *stream,
                         struct mx_network *network)
{
    return mx_model_create(device, stream, &options->model, &options->model_capacity, MX_MODEL_TRAIN, &network->model);
}

static const struct mx_parameters *acoustic_parameters(const struct mx_network *network)
{
    return mx_model_parameters(network->model);
}

static void acoustic_frozen_set(struct mx_network *network, struct mx_slice weights)
{
    mx_model_frozen_set(network->model, weights);
}

static struct mx_network_counts acoustic_count(const struct mx_device_batch *batch)
{
    return (struct mx_network_counts){batch->count, batch->batch.tokens.rows, batch->batch.frames.rows};
}

static int acoustic_run(struct mx_network *network, struct mx_stream *stream, struct mx_slice weights,
                        struct mx_slice gradients, const struct mx_network_pass *pass, float *losses)
{
    struct mx_model_batch batch = pass->batch->batch;
    const struct mx_model_pass_info info = {
        .seed = pass->seed, .step = pass->number, .ready = pass->ready, .context = pass->context};
    batch.loss_tokens = pass->whole.tokens;
    batch.loss_frames = pass->whole.frames;
    batch.first_token += pass->before.tokens;
    batch.first_frame += pass->before.frames;
    return mx_model_forward_backward(network->model, stream, weights, gradients, &batch, &info, losses);
}

static double acoustic_losses_of(const struct mx_network_options *options, const float *losses, int32_t sequences,
                                 int32_t sequence, struct mx_network_counts whole, double means[MX_NETWORK_LOSSES])
{
    const struct mx_model_losses of =
        mx_model_losses_of(&options->model, losses, sequences, sequence, whole.tokens, whole.frames);
    memcpy(means, of.values, sizeof of.values);
    return of.total;
}

static uint32_t acoustic_utterance(const struct mx_device_batch *batch, int32_t sequence)
{
    return batch->utterances[sequence];
}

static const struct mx_network_calls acoustic = {.name = "acoustic network",
                                                 .losses = MX_MODEL_LOSSES,
                                                 .memory_plan = acoustic_memory_plan,
                                                 .open = acoustic_open,
                                                 .parameters = acoustic_parameters,
                                                 .frozen_set = acoustic_frozen_set,
                                                 .count = acoustic_count,
                                                 .run = acoustic_run,
                                                 .losses_of = acoustic_losses_of,
                                                 .utterance = acoustic_utterance};

struct mx_network_options mx_network_acoustic(const struct mx_model_config *config,
                                              const struct mx_model_capacity *capacity)
{
    return (struct mx_network_options){.calls = &acoustic, .model = *config, .model_capacity = *capacity};
}

/* ---- the vocoder ---- */

static int vocoder_memory_plan(const struct mx_network_options *options, struct mx_network_memory *out)
{
    struct mx_model_memory_plan plan;
    const int rc = mx_vocoder_memory_plan(&options->vocoder, &options->vocoder_capacity, MX_MODEL_TRAIN, &plan);
    if (rc < 0) return rc;
    *out = memory_of(&plan, options->vocoder_capacity.sequences);
    return 0;
}

static int vocoder_open(const struct mx_network_options *options, struct mx_device *device, struct mx_stream *stream,
                        struct mx_network *network)
{
    return mx_vocoder_create(device, stream, &options->vocoder, &options->vocoder_capacity, MX_MODEL_TRAIN,
                             &network->vocoder);
}

static const struct mx_parameters *vocoder_parameters(const struct mx_network *network)
{
    return mx_vocoder_parameters(network->vocoder);
}

static void vocoder_frozen_set(struct mx_network *network, struct mx_slice weights)
{
    mx_vocoder_frozen_set(network->vocoder, weights);
}

static struct mx_network_counts vocoder_count(const struct mx_device_batch *batch)
{
    return (struct mx_network_counts){.sequences = batch->segment_count, .frames = batch->vocoder.frames.rows};
}

static int vocoder_run(struct mx_network *network, struct mx_stream *stream, struct mx_slice weights,
                       struct mx_slice gradients, const struct mx_network_pass *pass, float *losses)
{
    struct mx_vocoder_batch batch = pass->batch->vocoder;
    const struct mx_model_pass_info info = {.ready = pass->ready, .context = pass->context};
    batch.loss_frames = pass->whole.frames;
    return mx_vocoder_forward_backward(network->vocoder, stream, weights, gradients, &batch, &info, losses);
}

static double vocoder_losses_of(const struct mx_network_options *options, const float *losses, int32_t sequences,
                                int32_t sequence, struct mx_network_counts whole, double means[MX_NETWORK_LOSSES])
{
    const struct mx_vocoder_losses of =
        mx_vocoder_losses_of(&options->vocoder, losses, sequences, sequence, whole.frames);
    memcpy(means, of.values, sizeof of.values);
    return of.total;
}

/* With work sharing a segment may be from an utterance that the data device trains on. */
static uint32_t vocoder_utterance(const struct mx_device_batch *batch, int32_t sequence)
{
    return batch->segments[sequence].utterance;
}

static const struct mx_network_calls vocoder = {.name = "vocoder",
                                                .owner = MX_TRAINER_OWNER_VOCODER,
                                                .losses = MX_VOCODER_LOSSES,
                                                .memory_plan = vocoder_memory_plan,
                                                .open = vocoder_open,
                                                .parameters = vocoder_parameters,
                                                .frozen_set = vocoder_frozen_set,
                                                .count = vocoder_count,
                                                .run = vocoder_run,
                                                .losses_of = vocoder_losses_of,
                                                .utterance = vocoder_utterance};

struct mx_network_options mx_network_vocoder(const struct mx_vocoder_config *config,
                                             const struct mx_vocoder_capacity *capacity)
{
    return (struct mx_network_options){.calls = &vocoder, .vocoder = *config, .vocoder_capacity = *capacity};
}
