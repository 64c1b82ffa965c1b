/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The trainer: one device that trains, step after step, and the pipeline that feeds it, on the same device or another
 * (feed.h).
 *
 * What it trains are its parts: networks (network.h), each with its own weights, optimizer, schedule and guard. All
 * parts train on the same batches.
 *
 * A step takes grad_accum batches from the pipeline, runs each forward and backward (the gradients add up to those of
 * one batch that holds them all), measures and clips the gradient, and updates weights, optimizer state and averaged
 * weights. A loss or gradient that is not finite changes nothing in its part: see guard.h. Everything is a function of
 * the options and the state only, so a run continued from a state equals the run that never stopped, bit for bit on the
 * same device layout.
 * How the batches flow (one device or two, threads, buffers, with or without overlap) makes no difference to the
 * result.
 *
 * Memory: planned by mx_trainer_memory_plan and allocated entirely by mx_trainer_create and mx_trainer_start; a step
 * allocates nothing. The devices and the dataset are borrowed.
 *
 * Threads: one at a time; the pipeline has its own threads inside.
 */
#ifndef MX_TRAIN_TRAINER_H
#define MX_TRAIN_TRAINER_H

#include "corpus/balance.h"
#include "corpus/dataset.h"
#include "features/augment.h"
#include "features/normaliser.h"
#include "model/model.h"
#include "myxtts/pipeline.h"
#include "train/comm.h"
#include "train/feed/host_batch.h"
#include "train/guard.h"
#include "train/optimizer.h"
#include "train/report/report.h"
#include "train/share_policy.h"
#include "vocoder/vocoder.h"

/* How batches flow to the model (myxtts/pipeline.h). All zero: one device, with a buffer of the default size. */
struct mx_trainer_flow {
    struct mx_device *data_device; /* makes the batches; NULL: the device that trains */
    int32_t workers_max;           /* most threads that tuning may use; 0: `workers` */
    int32_t buffer;                /* most prepared batches that wait on the data device; 0: 2 */
    bool sequential;               /* no overlap: load, process, transfer and train one after the other */
    bool auto_tune;                /* workers and depths follow the measured stage times */
    bool buffer_given,
        prefetch_given; /* auto-tuning leaves `buffer` or `prefetch` alone: it is used from the first step on */
    bool static_shapes; /* round capacities up to fixed sizes: the same for all batches of a run */
    double start_delay; /* seconds after which the first step says what it is waiting for */
    uint32_t spans;     /* number kept for traces */
    bool times;         /* measure the backward pass, too */
    struct mx_augment_options augment; /* of training batches; all zero: none */
    enum mx_share_mode share;          /* the data device trains, too (share_policy.h); needs two devices */
    double share_most;                 /* largest part of a batch that it has room for; 0: MX_SHARE_MOST */
    struct mx_shares shares;           /* fixed shares; none: they are measured */
};

/* The networks that a trainer can have, in the order in which they run. */
enum mx_part { MX_PART_ACOUSTIC, MX_PART_VOCODER, MX_PARTS };

/* The vocoder as a part: it trains on segments of the batches (segment.h), on the model device. */
struct mx_trainer_vocoder {
    struct mx_vocoder_size size;
    struct mx_vocoder_loss_weights weights;
    bool mixed;
    struct mx_learning learning;
    bool ready; /* it is ready: its weights are kept for speaking and for checkpoints, but it is not trained */
    struct mx_segment_options segments; /* those of all members of a comm; `crops` follows from the parts */
    /* From step `predicted_from` on (counted from 0), segments with a draw below `predicted_share` get the mel that the
     * acoustic network has just predicted for their frames. With work sharing, segments of utterances that the data
     * device trains on keep the real one. */
    int64_t predicted_from;
    double predicted_share;
    struct mx_optimizer_options optimizer;
};

#define MX_TRAINER_EVEN_MOST 4 /* see batch_even */

struct mx_trainer_options {
    bool vocoder_alone;             /* there is no acoustic network; `model` and `optimizer` have no effect */
    bool with_vocoder;              /* always, if it is alone */
    struct mx_device *device;       /* holds the model and trains */
    struct mx_dataset *dataset;     /* its validation rows are not trained on */
    const struct mx_recipe *recipe; /* of the features; NULL: the default; borrowed */
    struct mx_model_config model;
    struct mx_optimizer_options optimizer; /* of the acoustic network */
    struct mx_trainer_vocoder vocoder;
    struct mx_normaliser normaliser;
    struct mx_guard_options guard;
    enum mx_balance balance; /* how often the utterances of each speaker are drawn */
    uint64_t seed;
    uint32_t batch_size;   /* most utterances in a batch; 0: no limit */
    uint64_t batch_frames; /* most mel frames in a batch; 0: no limit */
    /* Steps of equal work: `batch_size` is then the mean number of utterances in a batch, no batch has more than
     * MX_TRAINER_EVEN_MOST times as many, and a batch of several utterances has at most `batch_frames`, where 0 means
     * just as many as that mean needs (struct mx_trainer_memory_plan has the number). Without effect on a vocoder
     * alone, whose batches are all alike. */
    bool batch_even;
    int32_t grad_accum; /* batches per step; ≥ 1 */
    int32_t workers;    /* threads that load at first; ≥ 1 */
    int32_t prefetch;   /* most loaded batches that wait for the data device; ≥ 1 */
    struct mx_trainer_flow flow;
    double reference_seconds;  /* length of the crop that gives the voice */
    uint32_t validation_limit; /* most utterances in an evaluation */
    struct mx_comm *comm;      /* shares each step; batch limits then apply to all members together. NULL: alone */
};

struct mx_part_state {
    int64_t updates; /* of the weights */
    struct mx_guard guard;
};

/* Do these options train the part? */
bool mx_trainer_trains(const struct mx_trainer_options *options, enum mx_part part);

static inline const struct mx_optimizer *mx_trainer_optimizer(const struct mx_trainer_options *options,
                                                              enum mx_part part)
{
    return &mx_optimizers[part == MX_PART_VOCODER ? options->vocoder.optimizer.kind : options->optimizer.kind];
}

/* Where a run is. Plain values; together with the flat arrays of each part they are the complete state. */
struct mx_trainer_state {
    int64_t step;    /* steps made, skipped ones included */
    uint32_t epoch;  /* of the next batch */
    uint32_t batch;  /* position of the next batch in the epoch */
    uint64_t passes; /* batches so far */
    struct mx_part_state parts[MX_PARTS];
    struct mx_shares shares; /* of work sharing, from the first step on; planned ones included */
};

/* ---- planning ---- */

/* Where memory lies. On one device data and model share it. */
enum mx_trainer_place { MX_PLACE_DATA, MX_PLACE_MODEL, MX_PLACE_HOST };

/* The memory of one owner: its name in the budget (myxtts/budget.h) and its bytes in total. */
struct mx_trainer_memory {
    const char *owner; /* "parameters"; static */
    enum mx_trainer_place place;
    uint64_t bytes;
};

#define MX_TRAINER_OWNERS 32

struct mx_trainer_memory_plan {
    struct mx_host_batch_capacity capacity;             /* the largest batch */
    struct mx_model_memory_plan model, vocoder;         /* of each network; all zero: there is none */
    struct mx_trainer_memory memory[MX_TRAINER_OWNERS]; /* every allocated byte, by place */
    int32_t memory_count;
    uint64_t data_bytes, model_bytes, host_bytes; /* sums by place */
    uint64_t device_bytes;                        /* on the device that trains: data and model if there is only one */
    int32_t host_slots, data_slots, model_slots;  /* of the pipeline; model_slots is 0 on one device */
    uint64_t host_slot_bytes;                     /* of one of them */
    double vocoder_share;                         /* of the arithmetic of a step; 0: no vocoder is trained */
    uint32_t utterances, validation;
    double seconds;         /* of the utterances to train on */
    uint64_t batch_frames;  /* as in the options, or chosen; 0: no limit */
    uint32_t epoch_batches; /* in epoch 0 */
    int64_t epoch_steps;    /* steps for that many batches, rounded up */
};

/* What training would need; allocates nothing. */
int mx_trainer_memory_plan(const struct mx_trainer_options *options, struct mx_trainer_memory_plan *out);

/* ---- life ---- */

struct mx_trainer;

/* The weights are those of a new run: a function of the seed. */
int mx_trainer_create(const struct mx_trainer_options *options, struct mx_trainer **out);
void mx_trainer_destroy(struct mx_trainer *trainer); /* NULL is fine */

/* Flat host arrays of a part that the trainer has; NULL: not wanted. Weights: [mx_parameters.floats]; all others, of what
 * learns: [mx_parameters.learned]. A vocoder that is ready has nothing but weights: its other arrays are ignored. */
struct mx_trainer_arrays {
    float *weights, *average;
    float *states[MX_OPTIMIZER_STATES]; /* those of the part's optimizer; the others are ignored */
};
/* device → host */
int mx_trainer_read(struct mx_trainer *trainer, enum mx_part part, const struct mx_trainer_arrays *arrays);
/* host → device */
int mx_trainer_write(struct mx_trainer *trainer, enum mx_part part, const struct mx_trainer_arrays *arrays);

/* Starts the pipeline; `state` NULL: a new run. Call it once. */
int mx_trainer_start(struct mx_trainer *trainer, const struct mx_trainer_state *state);
/* The pipeline that feeds the trainer, for its levels, times and memory; NULL before the start. Do not take batches
 * from it. */
struct mx_pipeline *mx_trainer_pipeline(const struct mx_trainer *trainer);
/* The pipeline's statistics when the newest step ended: the source of `flow` in its report. */
const struct mx_pipeline_stats *mx_trainer_stats(const struct mx_trainer *trainer);
/* The next step calls `call`, in its thread, when its batches are there and training begins. NULL: no call. */
void mx_trainer_begin_watch(struct mx_trainer *trainer, void (*call)(void *context), void *context);
/* A step that waits for data ends with MX_ERR_INTERRUPTED when *stop is set, as if it had not begun. NULL: never. */
void mx_trainer_watch(struct mx_trainer *trainer, const atomic_bool *stop);
/* Between two steps: the learning rates follow these schedules from now on. */
void mx_trainer_reschedule(struct mx_trainer *trainer, const struct mx_schedule *acoustic,
                           const struct mx_schedule *vocoder);

const struct mx_trainer_options *mx_trainer_options(const struct mx_trainer *trainer);
const struct mx_trainer_state *mx_trainer_state(const struct mx_trainer *trainer);
/* The parameters of a part; NULL: the trainer does not have it. */
const struct mx_parameters *mx_trainer_parameters(const struct mx_trainer *trainer, enum mx_part part);
uint32_t mx_trainer_validation_count(const struct mx_trainer *trainer);
const uint32_t *mx_trainer_validation(const struct mx_trainer *trainer); /* utterances of the dataset */

/* What to speak with between two steps, when the trainer uses none of it. */
struct mx_trainer_voice {
    struct mx_model *model; /* NULL: the vocoder is alone */
    struct mx_stream *stream;
    struct mx_slice average;        /* weights of the model; no buffer: there is none */
    struct mx_slice vocoder;        /* weights of the vocoder, averaged if it is trained; no buffer: there is none */
    struct mx_slice vocoder_frozen; /* the frozen ones; without a buffer, all are in vocoder_parameters */
};
struct mx_trainer_voice mx_trainer_voice(const struct mx_trainer *trainer);
/* The vocoder of these options, with their normaliser. */
struct mx_vocoder_config mx_trainer_vocoder_config(const struct mx_trainer_options *options);

/* ---- steps; struct mx_trainer_report is in report.h ---- */

/* Makes one step. MX_ERR_DATA if too many steps in a row were skipped in a part: its weights are then those of the last
 * good step, and the report is filled all the same. */
int mx_trainer_step(struct mx_trainer *trainer, struct mx_trainer_report *report);

/* One bucket of the gradient (comm.h): when it became final in the last step. */
struct mx_trainer_bucket {
    int64_t bytes;
    uint64_t lead_ns; /* time before the last bucket became final */
};
/* Writes the first `count` buckets of all networks; returns their total number. 0: not measured, see backward_ns. Between
 * steps only. */
int32_t mx_trainer_buckets(const struct mx_trainer *trainer, struct mx_trainer_bucket *out, int32_t count);

/* ---- evaluation (evaluate.c), with the averaged weights; its struct is in report.h ---- */

int mx_trainer_evaluate(struct mx_trainer *trainer, struct mx_trainer_evaluation *out);
/* From now on evaluations report their progress, 0 … 1, through `call` in the thread that evaluates (NULL: no call),
 * and end with MX_ERR_INTERRUPTED, after the current utterance or batch, when *stop is set (NULL: never). */
void mx_trainer_evaluation_watch(struct mx_trainer *trainer, void (*call)(void *context, double done), void *context,
                                 const atomic_bool *stop);

/* The network's output for one utterance, always the same one: the first usable one for validation. Uses the true
 * durations, so that frames can be compared one by one. Owned by the trainer; valid until the next call. */
struct mx_trainer_picture {
    int32_t frames, tokens, bands;    /* frames 0: there is no such utterance */
    const float *target, *prediction; /* mel [frames, bands], natural logarithms */
    const float *means;               /* [tokens, bands]: the frame that the alignment expects for each token */
    const int32_t *durations;         /* [tokens]: the number of frames it assigned to each token */
};

int mx_trainer_picture(struct mx_trainer *trainer, struct mx_trainer_picture *out);

#endif
