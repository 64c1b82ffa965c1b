/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The trainer: one device that trains one set of weights, step after step, and the pipeline that feeds it, on the same
 * device or on another one (feed.h).
 *
 * A step takes grad_accum batches from the pipeline, runs each forward and backward (the gradients add up to those of
 * one batch that holds them all), measures and clips the gradient, and updates weights, moments and averaged weights. A
 * loss or gradient that is not finite changes nothing: see guard.h. Everything is a function of the options and the
 * state alone, so a run that goes on from a state is the run that never stopped, bit for bit on the same device layout;
 * how the batches flow (one device or two, threads, buffers, with or without overlap) makes no difference to it.
 *
 * Memory: planned by mx_trainer_memory_plan, all of it taken by mx_trainer_create and mx_trainer_start; a step takes nothing.
 * The devices and the dataset are borrowed.
 *
 * Threads: one at a time; the pipeline's own threads are inside.
 */
#ifndef MX_TRAIN_TRAINER_H
#define MX_TRAIN_TRAINER_H

#include "corpus/dataset.h"
#include "features/augment.h"
#include "features/normaliser.h"
#include "model/model.h"
#include "myxtts/pipeline.h"
#include "train/comm.h"
#include "train/guard.h"
#include "train/host_batch.h"
#include "train/report.h"
#include "train/schedule.h"
#include "train/share_policy.h"

/* How batches flow to the model (myxtts/pipeline.h). All zero: one device, with the buffer of its default size. */
struct mx_trainer_flow {
    struct mx_device *data_device;     /* makes the batches; NULL: the device that trains */
    int32_t workers_max;               /* threads that tuning may put to work; 0: `workers` of them */
    int32_t buffer;                    /* prepared batches that wait on the data device, at most; 0: 2 */
    bool sequential;                   /* no overlap: load, process, transfer and train one after the other */
    bool auto_tune;                    /* workers and depths follow the measured stage times … */
    bool buffer_given, prefetch_given; /* … but `buffer` and `prefetch` are what is used from the first step on */
    bool static_shapes;                /* capacities are rounded up to fixed sizes: the same for all batches of a run */
    double start_delay;                /* seconds after which the first step says what it waits for */
    uint32_t spans;                    /* that are remembered for traces */
    bool times;                        /* the backward pass is measured, too */
    struct mx_augment_options augment; /* of training batches; all zero: none */
    enum mx_share_mode share;          /* the data device trains, too (share_policy.h); needs two devices */
    double share_most;                 /* part of a batch that it has room for, at most; 0: MX_SHARE_MOST */
    struct mx_shares shares;           /* to be held to; none: they are measured */
};

struct mx_trainer_options {
    struct mx_device *device;   /* that holds the model and trains */
    struct mx_dataset *dataset; /* rows for validation are not trained on */
    struct mx_model_config model;
    struct mx_normaliser normaliser;
    struct mx_schedule schedule;
    struct mx_guard_options guard;
    uint64_t seed;
    uint32_t batch_size;   /* utterances of a batch, at most; 0: no such limit */
    uint64_t batch_frames; /* mel frames of a batch, at most; 0: no such limit */
    int32_t grad_accum;    /* batches of a step; ≥ 1 */
    int32_t workers;       /* threads that load at first; ≥ 1 */
    int32_t prefetch;      /* loaded batches that wait for the data device, at most; ≥ 1 */
    struct mx_trainer_flow flow;
    double reference_seconds; /* of the crop that tells the voice */
    double grad_clip;         /* limit of the gradient's norm; 0: none */
    double beta1, beta2, epsilon, weight_decay;
    double ema_decay;          /* of the averaged weights; 0: they follow the weights at once */
    uint32_t validation_limit; /* utterances that an evaluation looks at, at most */
    struct mx_comm *comm;      /* that shares each step: limits of a batch hold for all members together. NULL: alone */
};

/* Where a run is. Plain values; with the four flat arrays below it is all there is to know. */
struct mx_trainer_state {
    int64_t step;    /* steps made, those left out included */
    int64_t updates; /* of the weights */
    uint32_t epoch;  /* of the batch that comes next … */
    uint32_t batch;  /* … and its place there */
    uint64_t passes; /* batches so far */
    struct mx_guard guard;
    struct mx_shares shares; /* of work sharing, from the first step on; those to come included */
};

/* ---- planning ---- */

/* Whose memory it is. On one device data and model share it. */
enum mx_trainer_place { MX_PLACE_DATA, MX_PLACE_MODEL, MX_PLACE_HOST };

/* What one owner takes: its name in the budget (myxtts/budget.h) and its bytes, all together. */
struct mx_trainer_memory {
    const char *owner; /* "parameters"; static */
    enum mx_trainer_place place;
    uint64_t bytes;
};

#define MX_TRAINER_OWNERS 32

struct mx_trainer_memory_plan {
    struct mx_host_batch_capacity capacity; /* the largest batch */
    struct mx_model_memory_plan model;
    struct mx_trainer_memory memory[MX_TRAINER_OWNERS]; /* every byte that is taken, by place */
    int32_t memory_count;
    uint64_t data_bytes, model_bytes, host_bytes; /* sums by place */
    uint64_t device_bytes;                        /* of the device that trains: on one device, data and model */
    int32_t host_slots, data_slots, model_slots;  /* of the pipeline; model_slots 0 on one device */
    uint32_t utterances, validation;
    uint32_t epoch_batches; /* of epoch 0 */
    int64_t epoch_steps;    /* that many, rounded up */
};

/* What training would take; nothing is taken yet. */
int mx_trainer_memory_plan(const struct mx_trainer_options *options, struct mx_trainer_memory_plan *out);

/* ---- life ---- */

struct mx_trainer;

/* Weights are those of a new run: a function of the seed. */
int mx_trainer_create(const struct mx_trainer_options *options, struct mx_trainer **out);
void mx_trainer_destroy(struct mx_trainer *trainer); /* NULL is fine */

/* Flat host arrays [mx_parameters.floats]; NULL: not wanted. */
struct mx_trainer_arrays {
    float *weights, *average, *moment1, *moment2;
};
int mx_trainer_read(struct mx_trainer *trainer, const struct mx_trainer_arrays *arrays);  /* device → host */
int mx_trainer_write(struct mx_trainer *trainer, const struct mx_trainer_arrays *arrays); /* host → device */

/* Starts the pipeline; `state` NULL: a new run. Once. */
int mx_trainer_start(struct mx_trainer *trainer, const struct mx_trainer_state *state);
/* What feeds the trainer, for its levels, times and memory; NULL before the start. Not to be taken from. */
struct mx_pipeline *mx_trainer_pipeline(const struct mx_trainer *trainer);
/* What the pipeline had measured when the newest step ended: what the `flow` of its report is made of. */
const struct mx_pipeline_stats *mx_trainer_stats(const struct mx_trainer *trainer);
/* The next step tells, in its thread, when its batches are there and it begins to train. NULL: nobody. */
void mx_trainer_begin_watch(struct mx_trainer *trainer, void (*tell)(void *context), void *context);
/* A step that waits for data ends with MX_ERR_INTERRUPTED when *stop is set: as if it had not begun. NULL: never. */
void mx_trainer_watch(struct mx_trainer *trainer, const atomic_bool *stop);

const struct mx_trainer_options *mx_trainer_options(const struct mx_trainer *trainer);
const struct mx_trainer_state *mx_trainer_state(const struct mx_trainer *trainer);
const struct mx_parameters *mx_trainer_parameters(const struct mx_trainer *trainer);
uint32_t mx_trainer_validation_count(const struct mx_trainer *trainer);
const uint32_t *mx_trainer_validation(const struct mx_trainer *trainer); /* utterances of the dataset */

/* What speaks between two steps: nothing of it is in use then. */
struct mx_trainer_voice {
    struct mx_model *model;
    struct mx_stream *stream;
    struct mx_slice average;
};
struct mx_trainer_voice mx_trainer_voice(const struct mx_trainer *trainer);

/* ---- steps; struct mx_trainer_report is in report.h ---- */

/* One step. MX_ERR_DATA when too many steps in a row were left out: the weights are those of the last good one. The
 * report is filled then, too. */
int mx_trainer_step(struct mx_trainer *trainer, struct mx_trainer_report *report);

/* One bucket of the gradient (comm.h): when it was final in the last step. */
struct mx_trainer_bucket {
    int64_t bytes;
    uint64_t lead_ns; /* before the last of them was */
};
/* The first `count` of them; returns how many there are. 0: not measured, see backward_ns. Between steps. */
int32_t mx_trainer_buckets(const struct mx_trainer *trainer, struct mx_trainer_bucket *out, int32_t count);

/* ---- evaluation (evaluate.c), with the averaged weights; its struct is in report.h ---- */

int mx_trainer_evaluate(struct mx_trainer *trainer, struct mx_trainer_evaluation *out);
/* From now on, evaluations tell how much of them is done, 0 … 1, in the thread that evaluates (NULL: nobody), and end
 * with MX_ERR_INTERRUPTED, after the utterance or batch that is under way, when *stop is set (NULL: never). */
void mx_trainer_evaluation_watch(struct mx_trainer *trainer, void (*tell)(void *context, double done), void *context,
                                 const atomic_bool *stop);

/* What the network makes of one utterance, always the same one: the first for validation that can be used. With its
 * true durations, so that frames can be compared one by one. Owned by the trainer, until the next call. */
struct mx_trainer_picture {
    int32_t frames, tokens, bands;    /* frames 0: there is no such utterance */
    const float *target, *prediction; /* mel [frames, bands], natural logarithms */
    const float *means;               /* [tokens, bands]: the frame that the alignment expects of each token */
    const int32_t *durations;         /* [tokens]: the frames that it gave each of them */
};

int mx_trainer_picture(struct mx_trainer *trainer, struct mx_trainer_picture *out);

#endif
