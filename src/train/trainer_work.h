/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of the trainer share. For src/train only.
 */
#ifndef MX_TRAIN_TRAINER_WORK_H
#define MX_TRAIN_TRAINER_WORK_H

#include "corpus/sampler.h"
#include "train/feed.h"
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
    struct mx_batch *batch; /* of evaluations; NULL: there are none */
    struct mx_feed *feed;
    struct mx_pipeline *pipeline; /* from the start on */
    struct mx_monitor monitor;
    /* Flat; moments: first and second, one after the other; behind the gradients lies the result of grad_norm. */
    struct mx_buffer *weights, *gradients, *moments, *average;
    const struct mx_parcel **held;  /* [grad_accum]: the batches of a step */
    float *losses;                  /* host: [grad_accum, MX_MODEL_LOSSES, sequences] */
    float *norm;                    /* host: [4] of grad_norm, behind the losses */
    struct mx_evaluator *evaluator; /* NULL: nothing to evaluate */
};

/* What evaluations need besides the trainer's batch: evaluate.c. */
int mx_evaluator_create(struct mx_trainer *trainer, struct mx_evaluator **out);
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
