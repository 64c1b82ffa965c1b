/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is trained: a network as replicas and trainer see it. There are two, the acoustic network of model/ and the
 * network of vocoder/.
 *
 * Each describes itself by a table of calls. It finds its own arrays in the batch that the pipeline delivers, so whoever
 * runs it needs to know neither what it reads nor what it computes.
 *
 * Everything is queued on the given stream and does not wait unless stated. Nothing is allocated after creation.
 *
 * Memory: a network owns its activations. Weights and gradients are flat arrays laid out by its table of parameters
 * (model/parameters.h) and belong to the caller.
 */
#ifndef MX_TRAIN_NETWORK_H
#define MX_TRAIN_NETWORK_H

#include "model/model.h"
#include "myxtts/device.h"
#include "vocoder/vocoder.h"

struct mx_device_batch;
struct mx_network_calls;

/* What a network is made of: the members of one of the two are set. */
struct mx_network_options {
    const struct mx_network_calls *calls;
    struct mx_model_config model;
    struct mx_model_capacity model_capacity;
    struct mx_vocoder_config vocoder;
    struct mx_vocoder_capacity vocoder_capacity; /* of the segments of a batch */
};

struct mx_network_options mx_network_acoustic(const struct mx_model_config *config,
                                              const struct mx_model_capacity *capacity);
struct mx_network_options mx_network_vocoder(const struct mx_vocoder_config *config,
                                             const struct mx_vocoder_capacity *capacity);

/* A network that was created; it owns the one of the two that it is. */
struct mx_network {
    const struct mx_network_calls *calls;
    struct mx_model *model;
    struct mx_vocoder *vocoder;
};

struct mx_network_memory {
    int64_t parameters; /* their number */
    int64_t floats;     /* of all weights */
    int64_t learned;    /* of the weights that are trained, which have moments and averages */
    int64_t gradients;  /* of the gradients */
    int32_t sequences;  /* most in a batch: each has its losses */
    uint64_t activations_bytes;
    uint64_t host_bytes;
};

/* How much of a batch, or of all batches of a step, a network trains on. */
struct mx_network_counts {
    int64_t sequences, tokens, frames; /* sequences 0: nothing, and the network is not run */
};

/* One run: a micro-batch of a step. */
struct mx_network_pass {
    const struct mx_device_batch *batch;
    struct mx_network_counts whole;  /* of the whole step: what the means of the losses are taken over */
    struct mx_network_counts before; /* of the members (comm.h) before this one, in the same micro-batch */
    uint64_t seed;                   /* of the run */
    uint64_t number;                 /* counts the micro-batches of the run */
    /* (optional) Called while the backward pass is being queued: the gradients are final in [from, decayed) once the
     * stream reaches this point and, if `from` is 0, in the rest, too. `from` decreases from call to call by the same
     * steps for every batch; the last call always has 0. */
    int (*ready)(void *context, int64_t from);
    void *context;
};

#define MX_NETWORK_LOSSES 8 /* most that a network may have */

struct mx_network_calls {
    const char *name;  /* in messages: "acoustic network" */
    const char *owner; /* of all its device memory in the budget; NULL: each kind of memory has its own */
    int32_t losses;
    /* Sizes; allocates nothing. Checks the configuration. */
    int (*memory_plan)(const struct mx_network_options *options, struct mx_network_memory *out);
    /* Makes the model or vocoder of the network. */
    int (*open)(const struct mx_network_options *options, struct mx_device *device, struct mx_stream *stream,
                struct mx_network *network);
    const struct mx_parameters *(*parameters)(const struct mx_network *network);
    /* Where frozen parameters are, whatever weights a run or an evaluation is given. */
    void (*frozen_set)(struct mx_network *network, struct mx_slice weights);
    /* What the batch has for this network. */
    struct mx_network_counts (*count)(const struct mx_device_batch *batch);
    /* Forward and backward. Gradients are accumulated. `losses` (host, [losses, sequences of the batch]) is filled once
     * the stream reaches that point. */
    int (*run)(struct mx_network *network, struct mx_stream *stream, struct mx_slice weights, struct mx_slice gradients,
               const struct mx_network_pass *pass, float *losses);
    /* Interprets the losses of a run: for all its sequences (`sequence` -1) or for one of them. Returns the weighted
     * total; `means` gets each loss. */
    double (*losses_of)(const struct mx_network_options *options, const float *losses, int32_t sequences,
                        int32_t sequence, struct mx_network_counts whole, double means[MX_NETWORK_LOSSES]);
    /* The utterance of the dataset that a sequence of the batch is from. */
    uint32_t (*utterance)(const struct mx_device_batch *batch, int32_t sequence);
};

/* Takes the activations from `device` and prepares them on `stream`. Waits. */
int mx_network_create(const struct mx_network_options *options, struct mx_device *device, struct mx_stream *stream,
                      struct mx_network **out);
void mx_network_destroy(struct mx_network *network); /* its work must be complete; NULL is fine */

static inline const struct mx_parameters *mx_network_parameters(const struct mx_network *network)
{
    return network->calls->parameters(network);
}

#endif
