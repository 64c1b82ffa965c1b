/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The network: forward and backward pass of a training step, evaluation, and synthesis. MODEL.md describes it exactly.
 *
 * A model is built from operations (myxtts/ops.h) only, so it runs on any device. All calls queue work on the given
 * stream and return; only mx_model_create and mx_model_synthesize wait. Nothing is allocated after mx_model_create.
 *
 * Memory: the model owns its activations (planned by memory_plan.h) and a little host memory for synthesis. The flat
 * buffers of parameters and gradients (parameters.h) and the batch belong to the caller and are passed to each call, so
 * the same model can train one set of weights and speak with another (their average). Results (struct mx_model_view)
 * stay valid until the next call.
 *
 * Threads: a model may be used by one thread at a time, on one stream at a time.
 */
#ifndef MX_MODEL_MODEL_H
#define MX_MODEL_MODEL_H

#include "model/memory_plan.h"
#include "model/model_parameters.h"

struct mx_model;

/* 0, or MX_ERR_UNSUPPORTED naming what the configuration requires and the device lacks (mixed precision). */
int mx_model_device_check(const struct mx_device *device, const struct mx_model_config *config);

/* Takes the activations from `device` and prepares them on `stream` (waits). */
int mx_model_create(struct mx_device *device, struct mx_stream *stream, const struct mx_model_config *config,
                    const struct mx_model_capacity *capacity, enum mx_model_purpose purpose, struct mx_model **out);
/* Bytes of host memory used for synthesis (owner "synthesis"); for device memory see mx_model_memory_plan. */
uint64_t mx_model_host_bytes(const struct mx_model_capacity *capacity);
void mx_model_destroy(struct mx_model *model); /* its work must be complete; NULL is fine */
const struct mx_model_config *mx_model_config(const struct mx_model *model);
const struct mx_model_capacity *mx_model_capacity(const struct mx_model *model);
const struct mx_parameters *mx_model_parameters(const struct mx_model *model);

/* From now on frozen parameters are read from these weights, laid out by the table, whatever parameters a pass is given:
 * so averaged weights need no copy of them. No buffer: they are where all others are. */
void mx_model_frozen_set(struct mx_model *model, struct mx_slice weights);

/* ---- training ---- */

struct mx_model_pass_info {
    uint64_t seed; /* of the run */
    uint64_t step; /* counts passes (micro-batches too); dropout is a function of both. Less than 2^48 */
    /* (optional) Called while the backward pass is being queued: once the stream reaches this point, the gradients of
     * this batch are final in [from, mx_parameters.decayed) and, if `from` is 0, in the rest of the flat buffer too.
     * `from` decreases from call to call, by the same steps for every batch; the last call always has 0. */
    int (*ready)(void *context, int64_t from);
    void *context; /* of ready */
};

/* Forward, alignment, losses and backward on a model for MX_MODEL_TRAIN. Gradients (laid out like the
 * parameters that learn, see model/parameters.h) are
 * accumulated: clear them before the first micro-batch of a step. `losses` (host, float [MX_MODEL_LOSSES, sequences];
 * NULL: none) is filled once the stream reaches that point; see mx_model_losses_of. */
int mx_model_forward_backward(struct mx_model *model, struct mx_stream *stream, struct mx_slice parameters,
                              struct mx_slice gradients, const struct mx_model_batch *batch,
                              const struct mx_model_pass_info *step, float *losses);
/* The same without dropout and without the backward pass: the losses of a batch, using its true durations, pitch and
 * energy. */
int mx_model_evaluate(struct mx_model *model, struct mx_stream *stream, struct mx_slice parameters,
                      const struct mx_model_batch *batch, float *losses);

/* The mean mel frame of each token (the aligner's, MODEL.md) to `means` [tokens, bands], with the voices of the batch's
 * references or with the voices it gives; everything else of the batch is ignored. For a model of either purpose. */
int mx_model_means(struct mx_model *model, struct mx_stream *stream, struct mx_slice parameters,
                   const struct mx_model_batch *batch, struct mx_slice means);

/* Interprets downloaded losses: for all sequences of the batch (sequence -1) or for one of them. `tokens` and `frames`
 * are the counts of what is asked for. Host arithmetic, for reports only. */
struct mx_model_losses mx_model_losses_of(const struct mx_model_config *config, const float *losses, int32_t sequences,
                                          int32_t sequence, int64_t tokens, int64_t frames);

/* ---- synthesis ---- */

struct mx_speech_options {
    float speed;                      /* > 0: 2 speaks twice as fast */
    float pitch_scale, pitch_shift;   /* normalised pitch = predicted · scale + shift; 1 and 0: as predicted */
    float energy_scale, energy_shift; /* the same for the normalised energy */
};

#define MX_SPEECH_OPTIONS_DEFAULT ((struct mx_speech_options){.speed = 1, .pitch_scale = 1, .energy_scale = 1})

struct mx_speech {
    struct mx_ragged frames;      /* on the device */
    struct mx_slice mel;          /* [frames, bands], normalised */
    const int32_t *frame_offsets; /* [sequences + 1]: the same on the host */
    const int32_t *durations;     /* [tokens]: the frames of each token, on the host */
};

/* The speaker vectors of the batch's references (mx_model_view().voices), and nothing else: of the batch only references
 * and reference_mel count. */
int mx_model_listen(struct mx_model *model, struct mx_stream *stream, struct mx_slice parameters,
                    const struct mx_model_batch *batch);

/* Speaks the batch's tokens with the voices of its references, or with the voices it gives; frames, mel, pitch and energy
 * of the batch are ignored. `options` has one element for each sequence; NULL: the default for all. What a sequence
 * becomes does not depend on the others. Waits once in the middle, for the durations, but not at the end. MX_ERR_ARGUMENT if the speech would exceed the
 * capacity. */
int mx_model_synthesize(struct mx_model *model, struct mx_stream *stream, struct mx_slice parameters,
                        const struct mx_model_batch *batch, const struct mx_speech_options *options,
                        struct mx_speech *out);

/* ---- inspection after a pass ---- */

struct mx_model_view {
    struct mx_slice mel;                      /* [frames, bands] */
    struct mx_slice durations;                /* int32 [tokens]: found by the alignment, or spoken */
    struct mx_slice predicted[MX_PREDICTORS]; /* [tokens]: ln(1 + duration), pitch, energy */
    struct mx_slice voices;                   /* [sequences, width]: the speaker vectors */
    struct mx_slice means;                    /* [tokens, bands]; not filled by synthesis */
};

struct mx_model_view mx_model_view(const struct mx_model *model);

#endif
