/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Optimizers: how a gradient changes the weights, and which arrays an optimizer remembers between steps (its state).
 *
 * An optimizer is an entry of mx_optimizers. Whoever plans, moves, saves or restores its state goes through that entry:
 * replicas (replica.h), memory plans and checkpoints know no optimizer by name.
 *
 * A state array has as many floats as there are weights that learn, begins with zeros, and is in checkpoints under its
 * prefix. Optimizers that remember the same thing share it.
 *
 * Memory: nothing is owned here.
 */
#ifndef MX_TRAIN_OPTIMIZER_H
#define MX_TRAIN_OPTIMIZER_H

#include <stdint.h>

#include "myxtts/device.h"
#include "train/schedule.h"

/* In the order in which checkpoints have them. */
enum mx_optimizer_state {
    MX_STATE_MOMENT1, /* running mean of the gradient */
    MX_STATE_MOMENT2, /* running mean of its square */
    MX_OPTIMIZER_STATES
};

extern const char *const mx_optimizer_state_prefixes[MX_OPTIMIZER_STATES]; /* of tensors in checkpoints: "moment1." */

/* The first is the default. */
enum mx_optimizer_kind { MX_OPTIMIZER_ADAMW, MX_OPTIMIZERS };

/* How the weights of a network change. */
struct mx_optimizer_options {
    enum mx_optimizer_kind kind;
    struct mx_schedule schedule;
    double grad_clip; /* limit of the gradient norm; 0: none */
    double beta1, beta2, epsilon, weight_decay;
    double ema_decay; /* of the averaged weights; 0: they equal the weights */
};

/* One update of a range of the flat arrays; all slices begin where the range begins. */
struct mx_optimizer_update {
    const struct mx_optimizer_options *options;
    double rate, ema_decay; /* of this step */
    int64_t step;           /* 1, 2 … */
    int64_t count, decayed; /* floats of the range, and those at its start that weight decay applies to */
    struct mx_slice weights, gradients, average;
    struct mx_slice norm; /* the result of grad_norm: an update that it forbids changes nothing */
    struct mx_slice states[MX_OPTIMIZER_STATES]; /* those that the optimizer has */
};

struct mx_optimizer {
    int32_t state_count;
    enum mx_optimizer_state states[MX_OPTIMIZER_STATES]; /* the first state_count are its own, in the order of memory */
    /* Queues the operation; does not wait. */
    int (*update)(struct mx_stream *stream, const struct mx_optimizer_update *update);
};

extern const struct mx_optimizer mx_optimizers[MX_OPTIMIZERS];

#endif
