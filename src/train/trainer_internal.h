/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the files of the trainer. For src/train only.
 */
#ifndef MX_TRAIN_TRAINER_INTERNAL_H
#define MX_TRAIN_TRAINER_INTERNAL_H

#include "corpus/sampler.h"
#include "train/feed/feed.h"
#include "train/network.h"
#include "train/replica.h"
#include "train/trainer.h"

#define MX_TRAINER_REPLICAS      2
#define MX_STEP_NAMES_BYTES      1024
#define MX_TRAINER_OWNER_VOCODER "vocoder" /* of all device memory of the vocoder */

/* Everything that options and corpus determine before any memory is allocated. */
struct mx_trainer_shape {
    struct mx_batch_source *source;
    struct mx_sampler *sampler;
    uint32_t *training, *validation; /* utterances; one block, owned by `training` */
    uint32_t training_count, validation_count;
    struct mx_host_batch_capacity capacity;
    uint64_t batch_frames; /* struct mx_trainer_memory_plan */
    bool features;
    bool shared;                        /* work is shared: the data device has a replica, too */
    struct mx_model_capacity twin;      /* capacity of that replica: parts of batches up to this size */
    struct mx_segment_options segments; /* of this member */
    struct mx_network_options acoustic[MX_TRAINER_REPLICAS];
    struct mx_network_options vocoder;
};

/* batch_order.c: the sampler and the limits of a batch; the lists and the source of the shape must be there. */
int mx_trainer_order_create(const struct mx_trainer_options *options, struct mx_trainer_shape *shape);

/* trainer_memory.c */
int mx_trainer_options_check(const struct mx_trainer_options *options);
int mx_trainer_shape_open(const struct mx_trainer_options *options, struct mx_trainer_shape *shape);
void mx_trainer_shape_close(struct mx_trainer_shape *shape);
struct mx_device *mx_trainer_data_device(const struct mx_trainer_options *options); /* even if it is the only device */
struct mx_feed_options mx_trainer_feed_options(const struct mx_trainer_options *options,
                                               const struct mx_trainer_shape *shape);
struct mx_batch_builder_options mx_trainer_batch_options(const struct mx_trainer_options *options,
                                                         const struct mx_trainer_shape *shape); /* for evaluations */
bool mx_trainer_evaluates(const struct mx_trainer_options *options, const struct mx_trainer_shape *shape);
/* The replicas of a part. They use the shape, which must stay where it is. Returns their number (0: there is no such
 * part) or a negative code. */
int mx_trainer_replica_options(const struct mx_trainer_options *options, const struct mx_trainer_shape *shape,
                               enum mx_part part, struct mx_replica_options out[MX_TRAINER_REPLICAS]);

/* The vocoder's share of the arithmetic of a mean step (work.c). */
int mx_trainer_vocoder_share(const struct mx_trainer_options *options, const struct mx_trainer_shape *shape,
                             double *share);

/* A network that the trainer trains. */
struct mx_trainer_part {
    enum mx_part which;
    const struct mx_network_options *network;
    const struct mx_optimizer_options *optimizer;
    struct mx_replica *replicas[MX_TRAINER_REPLICAS]; /* the model device's, and with work sharing the data device's */
    int32_t replica_count;
    int32_t at_work; /* replicas at work: all while work is shared, otherwise the first one */
    /* The step that is being made. */
    struct mx_network_counts counts; /* of all its batches and members; sequences 0: it has nothing for this part */
    double rate;
    double losses[MX_NETWORK_LOSSES], total;
    double grad_norm;
    struct mx_guard_report guard;
    uint64_t busy_ns;              /* time of runs and update, if it is measured */
    char bad[MX_STEP_NAMES_BYTES]; /* utterances whose losses are not finite */
};

/* Work sharing in progress (share_control.c). */
struct mx_share_control {
    int64_t first_step;            /* of this trainer: the step of the pipeline's batch 0 */
    bool settled;                  /* nothing is left to decide */
    double share;                  /* in the last step */
    struct mx_share_meter meter;   /* the steps with that share */
    double alone_ns;               /* time of a step per frame without sharing; 0: not measured */
    struct mx_pipeline_stats mark; /* when the first steps were over */
    bool told;                     /* the reason why nothing is shared was logged */
};

/* Uses the trainer's initial state; call it before the pipeline is created. */
void mx_share_control_begin(struct mx_trainer *trainer);
/* The step whose share the next batch has: batches without a usable utterance make no step, so the number of batches
 * decides, as it does where they are divided. */
int64_t mx_share_control_step_next(const struct mx_trainer *trainer);
/* Before a step: puts as many replicas to work as its share needs. Waits if that number changes. */
int mx_share_control_turn(struct mx_trainer *trainer);
/* After a step, when all its batches have been given back: may change the share of future steps. */
void mx_share_control_step(struct mx_trainer *trainer, const struct mx_trainer_report *report);

/* Before the vocoder's run of a batch: puts the mel that the acoustic network has just predicted for it in the place of
 * the real one, where that is due (predicted.c). */
int mx_predicted_mel(const struct mx_trainer *trainer, const struct mx_device_batch *batch);

/* Adds names of utterances to a list; what does not fit is replaced by one "…". */
void mx_step_names_add(char list[MX_STEP_NAMES_BYTES], const char *names);

/* ---- a step among the members of a comm (step_comm.c); these do nothing without a comm ---- */

size_t mx_step_counts_size(const struct mx_trainer_options *options);
/* Replaces the counts of each part and in the report by those of all members. */
int mx_step_counts(struct mx_trainer *trainer, struct mx_trainer_report *report);
/* The sum of the members before this one in micro-batch `number`. */
struct mx_network_counts mx_step_before(const struct mx_trainer *trainer, const struct mx_trainer_part *part,
                                        int32_t number);
int mx_step_sums_begin(struct mx_trainer *trainer); /* when all work of the step is queued */
int mx_step_sums_finish(struct mx_trainer *trainer);
/* Replaces each part's losses by those of all members and, if they are not finite, `bad` by the names from all. */
int mx_step_losses(struct mx_trainer *trainer);
void mx_step_times(const struct mx_trainer *trainer, struct mx_trainer_report *report);

struct mx_trainer {
    struct mx_trainer_options options;
    struct mx_trainer_state state;
    struct mx_trainer_shape shape;
    struct mx_trainer_part parts[MX_PARTS]; /* those it has, in the order of enum mx_part */
    int32_t part_count;
    struct mx_stream *stream;          /* of the model device: all parts work on it; owned by the first one's replica */
    struct mx_parameters *ready_table; /* of a vocoder that is ready; NULL: there is none */
    struct mx_buffer *ready_weights;
    struct mx_batch_builder *batch; /* for evaluations; NULL: there are none */
    struct mx_feed *feed;
    struct mx_pipeline *pipeline; /* NULL before the start */
    struct mx_flow_watch watch;
    const struct mx_device_batch **held; /* [grad_accum]: the batches of a step */
    uint64_t first_held;                 /* the pipeline's number of the first of them */
    uint64_t taken;                      /* batches since the start */
    struct mx_share_control sharing;
    struct mx_evaluator *evaluator;                        /* NULL: nothing to evaluate */
    void (*evaluation_report)(void *context, double done); /* NULL: no call */
    void *evaluation_context;
    const atomic_bool *evaluation_stop; /* NULL: none */
    void (*begin_call)(void *context);  /* for the next step; NULL: no call */
    void *begin_context;
    uint64_t begin_ns; /* of the first step: when the pipeline began. 0: that step is done */
    double *counts;    /* with a comm: [mx_step_counts_size] */
};

/* NULL: the trainer does not have it. */
static inline struct mx_trainer_part *mx_trainer_part(struct mx_trainer *trainer, enum mx_part which)
{
    for (int32_t p = 0; p < trainer->part_count; p++)
        if (trainer->parts[p].which == which) return &trainer->parts[p];
    return NULL;
}

/* What evaluations need in addition to the trainer's batch: evaluate.c. */
int mx_evaluator_create(struct mx_trainer *trainer, struct mx_evaluator **out);
void mx_evaluator_destroy(struct mx_evaluator *evaluator); /* NULL is fine */

#endif
