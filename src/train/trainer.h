/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The trainer: one device, one set of weights, step after step.
 *
 * A step takes grad_accum batches from the loader, runs each forward and backward (the gradients add up to those of one
 * batch that holds them all), measures and clips the gradient, and updates weights, moments and averaged weights. A
 * loss or gradient that is not finite changes nothing: see guard.h. Everything is a function of the options and the
 * state alone, so a run that goes on from a state is the run that never stopped, bit for bit on the same device layout.
 *
 * Memory: planned by mx_trainer_plan, all of it taken by mx_trainer_create and mx_trainer_start; a step takes nothing.
 * The device and the dataset are borrowed.
 *
 * Threads: one at a time; the loader's own threads are inside.
 */
#ifndef MX_TRAIN_TRAINER_H
#define MX_TRAIN_TRAINER_H

#include "corpus/dataset.h"
#include "model/model.h"
#include "train/guard.h"
#include "train/normaliser.h"
#include "train/schedule.h"
#include "train/slot.h"

struct mx_trainer_options {
    struct mx_device *device;
    struct mx_dataset *dataset; /* rows for validation are not trained on */
    struct mx_model_config model;
    struct mx_normaliser normaliser;
    struct mx_schedule schedule;
    struct mx_guard_options guard;
    uint64_t seed;
    uint32_t batch_size;      /* utterances of a batch, at most; 0: no such limit */
    uint64_t batch_frames;    /* mel frames of a batch, at most; 0: no such limit */
    int32_t grad_accum;       /* batches of a step; ≥ 1 */
    int32_t workers;          /* threads that load; ≥ 1 */
    int32_t prefetch;         /* batches that are kept ready; ≥ 1 */
    double reference_seconds; /* of the crop that tells the voice */
    double grad_clip;         /* limit of the gradient's norm; 0: none */
    double beta1, beta2, epsilon, weight_decay;
    double ema_decay;          /* of the averaged weights; 0: they follow the weights at once */
    uint32_t validation_limit; /* utterances that an evaluation looks at, at most */
};

/* Where a run is. Plain values; with the four flat arrays below it is all there is to know. */
struct mx_trainer_state {
    int64_t step;    /* steps made, those left out included */
    int64_t updates; /* of the weights */
    uint32_t epoch;  /* of the batch that comes next … */
    uint32_t batch;  /* … and its place there */
    uint64_t passes; /* batches so far */
    struct mx_guard guard;
};

/* ---- planning ---- */

struct mx_trainer_plan {
    struct mx_slot_capacity capacity;
    struct mx_model_plan model;
    uint64_t batch_bytes;  /* on the device, with the extraction of features */
    uint64_t slots_bytes;  /* on the host */
    uint64_t device_bytes; /* all of the device together */
    uint32_t utterances, validation;
    uint32_t epoch_batches; /* of epoch 0 */
    int64_t epoch_steps;    /* that many, rounded up */
};

/* What training would take; nothing is taken yet. */
int mx_trainer_plan(const struct mx_trainer_options *options, struct mx_trainer_plan *out);

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

/* Starts loading; `state` NULL: a new run. Once. */
int mx_trainer_start(struct mx_trainer *trainer, const struct mx_trainer_state *state);

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

/* ---- steps ---- */

struct mx_trainer_report {
    int64_t step;   /* 1 for the first */
    uint32_t epoch; /* of its first batch */
    struct mx_model_losses losses;
    double rate, grad_norm; /* the norm before clipping; not finite if it was not */
    int64_t utterances, left_out, tokens, frames;
    uint64_t step_ns, wait_ns; /* all of it, and the part that waited for data */
    struct mx_guard_report guard;
};

/* One step. MX_ERR_DATA when too many steps in a row were left out: the weights are those of the last good one. The
 * report is filled then, too. */
int mx_trainer_step(struct mx_trainer *trainer, struct mx_trainer_report *report);

/* ---- evaluation (evaluate.c), with the averaged weights ---- */

struct mx_trainer_evaluation {
    uint32_t utterances;           /* looked at; 0: there are none for validation */
    struct mx_model_losses losses; /* teacher-forced: with true durations, pitch and energy */
    /* Free-running: really spoken, and compared after the best time alignment. */
    uint32_t spoken;       /* utterances; others would have become too long to be spoken */
    double mel_db;         /* mean distance of mel bands, in decibels */
    double duration_error; /* mean of |spoken - real|/real */
    double pitch_error;    /* mean distance over voiced frames, in semitones */
};

int mx_trainer_evaluate(struct mx_trainer *trainer, struct mx_trainer_evaluation *out);

#endif
