/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of the trainer share. For src/train only.
 */
#ifndef MX_TRAIN_TRAINER_INTERNAL_H
#define MX_TRAIN_TRAINER_INTERNAL_H

#include "corpus/sampler.h"
#include "train/feed.h"
#include "train/replica.h"
#include "train/trainer.h"

#define MX_TRAINER_REPLICAS 2

/* What the options and the corpus decide before any memory is taken. */
struct mx_trainer_shape {
    struct mx_batch_source *source;
    struct mx_sampler *sampler;
    uint32_t *training, *validation; /* utterances; one block, owned by `training` */
    uint32_t training_count, validation_count;
    struct mx_host_batch_capacity capacity;
    bool features;
    int64_t floats;                /* of each flat array */
    bool shared;                   /* work is shared: the data device has a replica, too … */
    struct mx_model_capacity twin; /* … for parts of batches up to this size */
};

/* trainer_memory.c */
int mx_trainer_options_check(const struct mx_trainer_options *options);
int mx_trainer_shape_open(const struct mx_trainer_options *options, struct mx_trainer_shape *shape);
void mx_trainer_shape_close(struct mx_trainer_shape *shape);
struct mx_device *mx_trainer_data_device(const struct mx_trainer_options *options); /* also if it is the only one */
struct mx_feed_options mx_trainer_feed_options(const struct mx_trainer_options *options,
                                               const struct mx_trainer_shape *shape);
struct mx_batch_options mx_trainer_batch_options(const struct mx_trainer_options *options,
                                                 const struct mx_trainer_shape *shape); /* of evaluations */
bool mx_trainer_evaluates(const struct mx_trainer_options *options, const struct mx_trainer_shape *shape);
/* Returns how many there are. */
int32_t mx_trainer_replica_options(const struct mx_trainer_options *options, const struct mx_trainer_shape *shape,
                                   struct mx_replica_options out[MX_TRAINER_REPLICAS]);

/* Work sharing while it goes on (share_control.c). */
struct mx_share_control {
    int64_t first_step;            /* of this trainer: that of the pipeline's batch 0 */
    bool settled;                  /* nothing is to be decided any more */
    double share;                  /* of the last step */
    struct mx_share_meter meter;   /* of the steps with that share */
    double alone_ns;               /* of a step per frame, without sharing; 0: not measured */
    struct mx_pipeline_stats mark; /* when the first steps were over */
    bool told;                     /* why nothing is shared */
};

/* With the trainer's state as it begins; before the pipeline is made. */
void mx_share_control_begin(struct mx_trainer *trainer);
/* Before a step: has as many replicas at work as its share wants. Waits where that changes. */
int mx_share_control_turn(struct mx_trainer *trainer);
/* After a step, when all its batches have been given back: may change the share of steps to come. */
void mx_share_control_step(struct mx_trainer *trainer, const struct mx_trainer_report *report);

/* ---- a step among the members of a comm (step_comm.c); without one they do nothing ---- */

#define MX_STEP_NAMES_BYTES 1024
size_t mx_step_counts_size(const struct mx_trainer_options *options);
/* What is counted in the report becomes that of all members. */
int mx_step_counts(struct mx_trainer *trainer, struct mx_trainer_report *report);
/* Where the batch stands in micro-batch `number` of all members. */
void mx_step_place(const struct mx_trainer *trainer, int32_t number, struct mx_model_batch *batch);
int mx_step_sums_begin(struct mx_trainer *trainer); /* when all work of the step is queued */
int mx_step_sums_finish(struct mx_trainer *trainer);
/* Losses become those of all members, and if they are not finite `bad` the names of all of them. */
int mx_step_losses(struct mx_trainer *trainer, struct mx_trainer_report *report, char *bad, size_t bytes);
void mx_step_times(const struct mx_trainer *trainer, struct mx_trainer_report *report);

struct mx_trainer {
    struct mx_trainer_options options;
    struct mx_trainer_state state;
    struct mx_trainer_shape shape;
    struct mx_replica *replicas[MX_TRAINER_REPLICAS]; /* the model device's, and with work sharing the data device's */
    int32_t replica_count;
    int32_t at_work;        /* of them: all while work is shared, otherwise the first one */
    struct mx_batch *batch; /* of evaluations; NULL: there are none */
    struct mx_feed *feed;
    struct mx_pipeline *pipeline; /* from the start on */
    struct mx_flow_watch watch;
    const struct mx_device_batch **held; /* [grad_accum]: the batches of a step */
    uint64_t first_held;                 /* number of the first of them in the pipeline */
    struct mx_share_control sharing;
    struct mx_evaluator *evaluator;                      /* NULL: nothing to evaluate */
    void (*evaluation_tell)(void *context, double done); /* NULL: nobody is told */
    void *evaluation_context;
    const atomic_bool *evaluation_stop; /* NULL: none */
    void (*begin_tell)(void *context);  /* of the next step; NULL: nobody is told */
    void *begin_context;
    uint64_t begin_ns; /* of the first step: that of the pipeline. 0: it was made */
    double *counts;    /* of a comm: [mx_step_counts_size] */
};

/* What evaluations need besides the trainer's batch: evaluate.c. */
int mx_evaluator_create(struct mx_trainer *trainer, struct mx_evaluator **out);
void mx_evaluator_destroy(struct mx_evaluator *evaluator); /* NULL is fine */

#endif
