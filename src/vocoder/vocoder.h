/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The network of the vocoder: from the mel of a frame and its neighbours to the log magnitudes of all bins, the
 * pitch, and the coarse mel of shorter frames. MODEL.md describes it exactly. (The sound is computed in sound.h.)
 *
 * It is built like the acoustic network (model/model.h) from the same table of parameters and the same layers, on
 * operations only, so it runs on any device. All calls queue work on the given stream and return; only
 * mx_vocoder_create waits. Nothing is allocated after it. The result for a sequence does not depend on its
 * neighbours in the batch, bit for bit.
 *
 * Memory: a vocoder owns its activations and tables, in one buffer. The flat buffers of parameters and gradients
 * (model/parameters.h) and the batch belong to the caller and are passed to each call. Results (struct mx_vocoder_view)
 * stay valid until the next call.
 *
 * Threads: a vocoder may be used by one thread at a time, on one stream at a time.
 */
#ifndef MX_VOCODER_VOCODER_H
#define MX_VOCODER_VOCODER_H

#include "model/model.h"
#include "vocoder/config.h"

/* ---- memory ---- */

/* One batch: packed sequences on the vocoder's device. Owns nothing. */
struct mx_vocoder_batch {
    struct mx_ragged frames;
    struct mx_slice mel;    /* [frames, bands], normalised */
    struct mx_slice target; /* [frames, bins]: ln(|X| + MX_VOCODER_LEAST) */
    struct mx_slice pitch;  /* [frames], in Hz; 0: unvoiced */
    struct mx_slice burst;  /* [frames, MX_VOCODER_BURST]: ln mel of the short frames (config.h), not normalised */
    int64_t loss_frames; /* the frames that the gradient's means divide by; 0: the batch's own. The micro-batches of a
                               step give the frames of the whole step, so their gradients add up to the step's */
};

/* Places all slices of a batch at capacity (the counts stay 0: each batch sets its own). */
void mx_vocoder_batch_place(struct mx_layout *layout, const struct mx_vocoder_config *config,
                            const struct mx_vocoder_capacity *capacity, struct mx_vocoder_batch *batch);

/* As mx_model_memory_plan: mx_vocoder_create allocates exactly activations_bytes, the caller the rest. */
int mx_vocoder_memory_plan(const struct mx_vocoder_config *config, const struct mx_vocoder_capacity *capacity,
                           enum mx_model_purpose purpose, struct mx_model_memory_plan *out);

/* The table of parameters of a configuration, without a vocoder; mx_parameters_destroy releases it. */
int mx_vocoder_parameters_create(const struct mx_vocoder_config *config, struct mx_parameters **out);

/* ---- life ---- */

struct mx_vocoder;

/* 0, or MX_ERR_UNSUPPORTED naming what the configuration requires and the device lacks (mixed precision). */
int mx_vocoder_device_check(const struct mx_device *device, const struct mx_vocoder_config *config);

/* Takes the activations from `device` and prepares its tables on `stream` (waits). MX_MODEL_SPEAK: only for
 * mx_vocoder_predict, with less memory. */
int mx_vocoder_create(struct mx_device *device, struct mx_stream *stream, const struct mx_vocoder_config *config,
                      const struct mx_vocoder_capacity *capacity, enum mx_model_purpose purpose,
                      struct mx_vocoder **out);
void mx_vocoder_destroy(struct mx_vocoder *vocoder); /* its work must be complete; NULL is fine */
const struct mx_vocoder_config *mx_vocoder_config(const struct mx_vocoder *vocoder);
const struct mx_vocoder_capacity *mx_vocoder_capacity(const struct mx_vocoder *vocoder);
const struct mx_parameters *mx_vocoder_parameters(const struct mx_vocoder *vocoder);
/* As mx_model_frozen_set. */
void mx_vocoder_frozen_set(struct mx_vocoder *vocoder, struct mx_slice weights);

/* ---- passes ---- */

/* Forward, losses and backward on a vocoder for MX_MODEL_TRAIN. Gradients are accumulated: clear them before the first
 * micro-batch of a step. Of `info` (NULL: none) only `ready` and its context are used: there is no dropout. `losses`
 * (host, float [MX_VOCODER_LOSSES, sequences]; NULL: none) is filled once the stream reaches that point. */
int mx_vocoder_forward_backward(struct mx_vocoder *vocoder, struct mx_stream *stream, struct mx_slice parameters,
                                struct mx_slice gradients, const struct mx_vocoder_batch *batch,
                                const struct mx_model_pass_info *info, float *losses);
/* The losses alone. */
int mx_vocoder_evaluate(struct mx_vocoder *vocoder, struct mx_stream *stream, struct mx_slice parameters,
                        const struct mx_vocoder_batch *batch, float *losses);

struct mx_vocoder_view {
    struct mx_slice magnitude; /* [frames, bins]: ln magnitudes */
    struct mx_slice logits;    /* [frames, MX_VOCODER_CLASSES + 1]: of the classes of pitch, then of "unvoiced" */
    struct mx_slice burst;     /* [frames, MX_VOCODER_BURST]: ln mel of the short frames */
};

/* Magnitudes and pitch of normalised mel [frames, bands]; view (optional) receives where they are. */
int mx_vocoder_predict(struct mx_vocoder *vocoder, struct mx_stream *stream, struct mx_slice parameters,
                       const struct mx_ragged *frames, struct mx_slice mel, struct mx_vocoder_view *view);
/* From now on the mel has this mean. */
void mx_vocoder_mean_set(struct mx_vocoder *vocoder, float mel_mean);
/* What the last pass predicted, of any kind. */
struct mx_vocoder_view mx_vocoder_view(const struct mx_vocoder *vocoder);

/* Interprets downloaded losses: for all sequences of the batch (sequence -1) or for one of them. `frames` is the count
 * of what is asked for. Host arithmetic, for reports only. */
struct mx_vocoder_losses mx_vocoder_losses_of(const struct mx_vocoder_config *config, const float *losses,
                                              int32_t sequences, int32_t sequence, int64_t frames);

#endif
