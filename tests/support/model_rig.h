/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A small model on a CPU device with everything around it that a trainer would have, and made-up utterances to train it
 * on, for all tests of the model.
 *
 * An utterance is a pure function of (seed, voice): random tokens, each with a mel frame, pitch and energy of its own
 * that lasts for a random number of frames, plus something of the voice and a little noise; the reference mel is made
 * of the voice alone. So everything there is to learn can be learned, by the right part of the model only.
 *
 * Memory: a rig owns device, model and buffers; utterances own their arrays. Failures end the test.
 */
#ifndef MX_TESTS_SUPPORT_MODEL_RIG_H
#define MX_TESTS_SUPPORT_MODEL_RIG_H

#include "model/model.h"
#include "ops/case.h"

#define RIG_SYMBOLS    10
#define RIG_LANGUAGES  2
#define RIG_BATCH      4 /* utterances of a usual batch */
#define RIG_BATCH_MAX  8
#define RIG_TOKENS_MAX 12 /* of one utterance */
#define RIG_FRAMES_MAX 64
#define RIG_REFERENCES 7 /* frames of one reference, at most */
#define RIG_KINDS_MAX  8

struct utterance {
    int32_t tokens, frames, references, language;
    int32_t ids[RIG_TOKENS_MAX], durations[RIG_TOKENS_MAX];
    float *mel, *reference; /* [frames, bands], [references, bands] */
    float pitch[RIG_FRAMES_MAX], energy[RIG_FRAMES_MAX];
};

/* noise: deviation of what is added to every band of every frame. */
void utterance_make(struct utterance *u, const struct mx_model_config *config, uint64_t seed, int voice, float noise);
void utterance_release(struct utterance *u);

/* Always the same ones, of two voices. */
struct batch {
    struct utterance utterances[RIG_BATCH];
};
void batch_make(struct batch *batch, const struct mx_model_config *config, float noise);
void batch_release(struct batch *batch);

struct rig {
    struct op_cpu cpu;
    struct mx_stream *stream;
    struct mx_model *model;
    const struct mx_parameters *table;
    struct mx_buffer *flat[4]; /* parameters, gradients, moments */
    struct mx_buffer *norm;    /* [4] */
    struct mx_buffer *room;    /* of the batch */
    struct mx_model_batch batch;
    float losses[MX_MODEL_LOSSES * RIG_BATCH_MAX];
    int64_t steps; /* of the optimizer */
    /* One pass with cleared gradients, waited for; values [kinds]: the losses of the batch. */
    void (*run)(struct rig *rig, uint64_t step, double *values);
    int kinds; /* of losses, at most RIG_KINDS_MAX */
};

/* Width 16, 2 heads, 1 + 2 blocks, 8 bands, no dropout. */
struct mx_model_config rig_config(void);
/* devices: how many logical CPU devices the cores are split into (the rig uses the first). Parameters are initialised
 * with seed 1 and, with `stirred`, moved so that no gain is 1 and no bias is 0. */
void rig_open(struct rig *rig, const struct mx_model_config *config, enum mx_model_purpose purpose, int devices,
              bool stirred);
/* The same on a device that is open already, of whatever backend; the rig closes it. */
void rig_open_on(struct rig *rig, struct op_cpu opened, const struct mx_model_config *config,
                 enum mx_model_purpose purpose, bool stirred);
/* The part of it that any network needs: flat buffers for this table, on the open device and stream. */
void rig_weights_open(struct rig *rig, const struct mx_parameters *table, bool stirred);
void rig_close(struct rig *rig);
/* Uploads the utterances as the rig's batch; waits. */
void rig_load(struct rig *rig, const struct utterance *utterances, int count);

struct mx_slice rig_parameters(const struct rig *rig);
struct mx_slice rig_gradients(const struct rig *rig);
/* Clears the gradients, runs one pass with dropout step `step`, waits; returns the losses of the batch. */
struct mx_model_losses rig_teach(struct rig *rig, uint64_t step);
struct mx_model_losses rig_evaluate(struct rig *rig);
/* The losses of the last pass, of one sequence. */
struct mx_model_losses rig_losses_of(const struct rig *rig, int sequence, const struct utterance *u);
/* One step of AdamW (no decay) with the gradients that are there. */
void rig_update(struct rig *rig, float lr);
/* Copies of device memory, `count` words; free with mx_free. */
float *rig_download(const struct rig *rig, struct mx_slice from, int64_t count);
void rig_upload(const struct rig *rig, struct mx_slice to, const void *from, int64_t count);

/* Equal bit for bit, or the test fails with what it is that differs. */
void rig_same_words(const float *a, const float *b, int64_t count, const char *what);
/* Three steps from the beginning give the same parameters a second time, with one worker, and with checkpointing. */
void rig_same_bits(struct mx_model_config config);

#endif
