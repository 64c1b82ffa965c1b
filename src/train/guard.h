/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The guard: judges the health of a run from each step's loss and gradient.
 *
 * A step whose loss or gradient is not finite never reaches the weights: the optimizer itself skips it, on the device,
 * by the flag of grad_norm. The guard counts such steps and ends the run after several in a row, since the cause will
 * then not go away by itself. A loss far above its recent values, or a gradient norm that is also above the clipping limit, is
 * a spike: it is reported with its z-score and trained on all the same (clipping bounds its effect).
 *
 * The recent values are a mean and a variance that forget: exponential averages over about the last 50 steps. Spikes
 * enter them only up to the threshold, so that one spike does not hide the next.
 *
 * The state is a plain value and part of a checkpoint: a resumed run reports what an uninterrupted one would have.
 */
#ifndef MX_TRAIN_GUARD_H
#define MX_TRAIN_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct mx_guard_options {
    int64_t skips_max; /* skipped steps in a row that end the run; ≥ 1 */
    double spike;      /* z-score from which a step is reported; > 0 */
    double clip; /* limit of the gradient norm; a norm within it is no spike, however rare. 0: there is no limit */
};

#define MX_GUARD_OPTIONS_DEFAULT ((struct mx_guard_options){.skips_max = 5, .spike = 6})
#define MX_GUARD_WARMUP          20 /* good steps before z-scores are computed */

struct mx_guard_average {
    double mean, variance;
};

struct mx_guard {
    int64_t seen;    /* good steps */
    int64_t skipped; /* steps skipped in the whole run */
    int64_t in_row;  /* steps skipped in a row, up to now */
    int64_t spikes;
    struct mx_guard_average loss, norm;
};

enum mx_guard_verdict {
    MX_GUARD_FINE,
    MX_GUARD_SPIKE,   /* trained on, but reported */
    MX_GUARD_SKIPPED, /* skipped */
    MX_GUARD_STOP,    /* skipped, and too many in a row */
};

struct mx_guard_report {
    enum mx_guard_verdict verdict;
    double loss_z, norm_z; /* 0 until enough steps were seen */
};

/* Call once per step. `norm` is the gradient norm before clipping, `finite` the flag that grad_norm gave. */
struct mx_guard_report mx_guard_observe(const struct mx_guard_options *options, struct mx_guard *guard, double loss,
                                        double norm, bool finite);

#endif
