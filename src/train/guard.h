/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The guard: what a step's loss and gradient say about the health of a run.
 *
 * A step whose loss or gradient is not finite never reaches the weights: the optimizer itself leaves it out, on the
 * device, by the flag of grad_norm. The guard counts such steps and ends the run when several follow each other, since
 * then something is wrong that will not pass. A loss or gradient norm far above what it has been is a spike: reported,
 * with its z-score, and trained on all the same (clipping bounds what it can do).
 *
 * "What it has been" are a mean and a variance that forget: exponential averages over about the last 50 steps. Spikes
 * enter them only up to the threshold, so that one does not hide the next.
 *
 * The state is a plain value and part of a checkpoint: a resumed run reports what it would have reported.
 */
#ifndef MX_TRAIN_GUARD_H
#define MX_TRAIN_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct mx_guard_options {
    int64_t skips_max; /* steps left out in a row that end the run; ≥ 1 */
    double spike;      /* z-score that is reported; > 0 */
};

#define MX_GUARD_OPTIONS_DEFAULT ((struct mx_guard_options){.skips_max = 5, .spike = 6})
#define MX_GUARD_WARMUP          20 /* good steps before z-scores are told */

struct mx_guard_average {
    double mean, variance;
};

struct mx_guard {
    int64_t seen;    /* good steps */
    int64_t skipped; /* steps left out, of the whole run */
    int64_t in_row;  /* the last so many steps were left out */
    int64_t spikes;
    struct mx_guard_average loss, norm;
};

enum mx_guard_verdict {
    MX_GUARD_FINE,
    MX_GUARD_SPIKE,   /* trained on, but worth a line */
    MX_GUARD_SKIPPED, /* left out */
    MX_GUARD_STOP,    /* left out, and too many in a row */
};

struct mx_guard_report {
    enum mx_guard_verdict verdict;
    double loss_z, norm_z; /* 0 while too little has been seen */
};

/* Call once for each step. `norm` is the norm of the gradient before clipping, `finite` what grad_norm says of it. */
struct mx_guard_report mx_guard_observe(const struct mx_guard_options *options, struct mx_guard *guard, double loss,
                                        double norm, bool finite);

#endif
