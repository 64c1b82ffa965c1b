/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The network: one training step's forward and backward pass, evaluation, and synthesis. MODEL.md describes it exactly.
 *
 * A model is made of operations (myxtts/ops.h) only, so it runs on any device. All calls queue work on the stream they
 * are given and return; only mx_model_create and mx_model_synthesize wait. Nothing is allocated after mx_model_create.
 *
 * Memory: the model owns its activations (planned by memory_plan.h) and a little host memory for synthesis. The flat buffers
 * of parameters and gradients (parameters.h), and the batch, are the caller's and are named in each call, so that
 * the same model may train one set of weights and speak with another (their average). Results (struct mx_model_view)
 * stay where they are until the next call.
 *
 * Threads: a model may be used by one thread at a time, on one stream at a time.
 */
#ifndef MX_MODEL_MODEL_H
#define MX_MODEL_MODEL_H

#include "model/memory_plan.h"
#include "model/parameters.h"

struct mx_model;

/* 0, or MX_ERR_UNSUPPORTED naming what the device lacks that the configuration asks for (mixed precision). */
int mx_model_device_check(const struct mx_device *device, const struct mx_model_config *config);

/* Takes the activations from `device` and prepares them on `stream` (waits). */
int mx_model_create(struct mx_device *device, struct mx_stream *stream, const struct mx_model_config *config,
                    const struct mx_model_capacity *capacity, enum mx_model_purpose purpose, struct mx_model **out);
/* Bytes of the host that it takes, for synthesis (owner "synthesis"); of the device: mx_model_memory_plan. */
uint64_t mx_model_host_bytes(const struct mx_model_capacity *capacity);
void mx_model_destroy(struct mx_model *model); /* its work must be complete; NULL is fine */
const struct mx_model_config *mx_model_config(const struct mx_model *model);
const struct mx_model_capacity *mx_model_capacity(const struct mx_model *model);
const struct mx_parameters *mx_model_parameters(const struct mx_model *model);

/* ---- training ---- */

struct mx_model_pass_info {
    uint64_t seed; /* of the run */
    uint64_t step; /* counts passes (micro-batches too); dropout is a function of both. Less than 2^48 */
    /* (optional) Told while the backward pass is being queued: when the stream has come to this point, the gradients of
     * this batch are all in [from, mx_parameters.decayed), and with `from` 0 in the rest of the flat buffer, too. From
     * call to call `from` becomes less, in the same steps for every batch; 0 comes last and always. */
    int (*ready)(void *context, int64_t from);
    void *context; /* of ready */
};

/* Forward, alignment, losses and backward on a model for MX_MODEL_TRAIN. Gradients (the layout of the parameters) are
 * added to what is there: clear them before the first micro-batch of a step. `losses` (host, float [MX_MODEL_LOSSES,
 * sequences]; NULL: none) is filled when the stream has come so far; see mx_model_losses_of. */
int mx_model_forward_backward(struct mx_model *model, struct mx_stream *stream, struct mx_slice parameters,
                              struct mx_slice gradients, const struct mx_model_batch *batch,
                              const struct mx_model_pass_info *step, float *losses);
/* The same without dropout and without the backward pass: the losses of a batch, with its true durations, pitch and
 * energy. */
int mx_model_evaluate(struct mx_model *model, struct mx_stream *stream, struct mx_slice parameters,
                      const struct mx_model_batch *batch, float *losses);

/* What the downloaded losses say about all sequences of the batch (sequence -1), or about one of them, which has so
 * many tokens and frames. Host arithmetic, for reports alone. */
struct mx_model_losses mx_model_losses_of(const struct mx_model_config *config, const float *losses, int32_t sequences,
                                          int32_t sequence, int64_t tokens, int64_t frames);

/* ---- synthesis ---- */

struct mx_speech_options {
    float speed;                      /* > 0: 2 speaks twice as fast */
    float pitch_scale, pitch_shift;   /* of the normalised pitch: predicted · scale + shift; 1 and 0: as predicted */
    float energy_scale, energy_shift; /* of the normalised energy */
};

#define MX_SPEECH_OPTIONS_DEFAULT ((struct mx_speech_options){.speed = 1, .pitch_scale = 1, .energy_scale = 1})

struct mx_speech {
    struct mx_ragged frames;      /* on the device */
    struct mx_slice mel;          /* [frames, bands], normalised */
    const int32_t *frame_offsets; /* [sequences + 1], the same on the host */
    const int32_t *durations;     /* [tokens]: frames of each token, on the host */
};

/* Speaks the batch's tokens (its frames, mel, pitch and energy are not looked at) with the voices of its references.
 * Waits once in the middle, for the durations, and not at the end. MX_ERR_ARGUMENT when the speech would be longer than
 * the capacity. */
int mx_model_synthesize(struct mx_model *model, struct mx_stream *stream, struct mx_slice parameters,
                        const struct mx_model_batch *batch, const struct mx_speech_options *options,
                        struct mx_speech *out);

/* ---- looking inside, after a pass ---- */

struct mx_model_view {
    struct mx_slice mel;                      /* [frames, bands] */
    struct mx_slice durations;                /* int32 [tokens]: found by the alignment, or spoken */
    struct mx_slice predicted[MX_PREDICTORS]; /* [tokens]: ln(1 + duration), pitch, energy */
    struct mx_slice voices;                   /* [sequences, width]: the speaker vectors */
    struct mx_slice means;                    /* [tokens, bands]; not filled by synthesis */
};

struct mx_model_view mx_model_view(const struct mx_model *model);

#endif
