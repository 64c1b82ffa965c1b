/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of the trainer share. For src/train only.
 */
#ifndef MX_TRAIN_TRAINER_WORK_H
#define MX_TRAIN_TRAINER_WORK_H

#include "corpus/sampler.h"
#include "train/batch.h"
#include "train/loader.h"
#include "train/trainer.h"

/* What the options and the corpus decide before any memory is taken. */
struct mx_trainer_shape {
    struct mx_assembly *assembly;
    struct mx_sampler *sampler;
    uint32_t *training, *validation; /* utterances; one block, owned by `training` */
    uint32_t training_count, validation_count;
    struct mx_slot_capacity capacity;
    bool features;
};

struct mx_trainer {
    struct mx_trainer_options options;
    struct mx_trainer_state state;
    struct mx_trainer_shape shape;
    struct mx_stream *stream;
    struct mx_model *model;
    struct mx_batch *batch;
    struct mx_loader *loader;
    /* Flat; moments: first and second, one after the other; behind the gradients lies the result of grad_norm. */
    struct mx_buffer *weights, *gradients, *moments, *average;
    struct mx_slot **held; /* [grad_accum]: the batches of a step */
    float *losses;         /* host: [MX_MODEL_LOSSES, sequences] of one batch */
    float *norm;           /* host: [4] of grad_norm, behind the losses */
    /* Of evaluations; taken by the first one. */
    struct mx_evaluator *evaluator;
};

void mx_evaluator_destroy(struct mx_evaluator *evaluator); /* NULL is fine */

#define MX_TRAINER_NORM_BYTES 64

static inline struct mx_slice mx_trainer_norm(const struct mx_trainer *trainer)
{
    return mx_slice_at(trainer->gradients, (size_t)mx_model_parameters(trainer->model)->floats * sizeof(float));
}

static inline struct mx_slice mx_trainer_moment(const struct mx_trainer *trainer, int which)
{
    const size_t bytes = (size_t)mx_model_parameters(trainer->model)->floats * sizeof(float);
    return mx_slice_at(trainer->moments, which == 2 ? bytes : 0);
}

#endif
