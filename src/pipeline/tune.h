/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tuning: decides from recent measurements of the stages how many workers and slots should be used next, and why.
 *
 * A pure function of its figures and its earlier decisions; the pipeline calls it a few times in the first steps
 * (mx_tune_steps) and then every MX_TUNE_WATCH steps until the end, and applies its decision. In between, every
 * MX_TUNE_LOOK steps, it checks for the one thing that cannot wait: a disk that has become slow. All workers and slots it
 * may use are allocated beforehand, so it never needs more memory. It does not change a number that the user gave:
 * there `least` equals the limit.
 *
 *     process waits for loading                  → as many workers as would hide a load behind the slowest other stage,
 *                                                  within the cores that the CPU time of their loads needs: one that
 *                                                  waits for a disk needs no core. If that is not faster next time, back
 *                                                  again, and no more of that until the flow was calm for a while, or
 *                                                  loads take twice as long
 *     the model waits, the data device has time  → more batches ahead: the waits come from uneven stage times
 *     the model waits, and loads are uneven      → at once as many batches ahead as would have bridged the waits: a
 *                                                  stall of the disk, or of the network, may come again
 *     the model waits otherwise                  → the limit is named, once
 *     the model has hardly waited for a while    → as few workers as hide a load by now, and then fewer batches ahead,
 *                                                  down to what it began with; if it waits then, they come back, and
 *                                                  next time it must be calm for twice as long
 */
#ifndef MX_PIPELINE_TUNE_H
#define MX_PIPELINE_TUNE_H

#include "myxtts/pipeline.h"

#define MX_TUNE_WAIT_LOW  0.01 /* share of time that the model may wait */
#define MX_TUNE_LOAD_WAIT 0.05 /* share of time that process may wait for loading */
#define MX_TUNE_BUSY      0.90 /* a device that is busier is the limit */
#define MX_TUNE_GAIN      0.02 /* share of the time per batch that more workers must save */
#define MX_TUNE_UNEVEN    1.0  /* loads are uneven if deviation/mean is above this */
#define MX_TUNE_BLOCKED   0.5  /* share of a load from which on it is the disk that is waited for */
#define MX_TUNE_ALARM     0.2  /* share of time that process waits for loading if the disk has become slow */
#define MX_TUNE_MARGIN    1.25 /* this many times the workers that would hide a load are started: disks vary */
#define MX_TUNE_SPARE     2.0  /* some are stopped once there are this many times what is needed */

/* Called after these numbers of steps; the last one settles. The first MX_TUNE_WARM steps do not count. */
#define MX_TUNE_WARM   1
#define MX_TUNE_ROUNDS 4
extern const uint64_t mx_tune_steps[MX_TUNE_ROUNDS];
#define MX_TUNE_LOOK      4   /* steps between two looks */
#define MX_TUNE_WATCH     32  /* steps between two later rounds */
#define MX_TUNE_CALM      4   /* calm rounds in a row before anything is released */
#define MX_TUNE_CALM_MOST 256 /* the same after it had to be reclaimed repeatedly */

/* Figures for the time since the last call. Shares are of wall time. */
struct mx_tune_figures {
    double period_ns, batches; /* wall time per batch, and how many batches */
    double data_wait, process_wait_input, data_busy, transfer_busy;
    double load_ns, process_ns, transfer_ns, train_ns; /* per batch */
    double load_cpu_ns, load_blocked_ns;               /* parts of load_ns; both 0: not known */
    double load_variation;                             /* of the times of loads */
};

struct mx_tune {
    struct mx_pipeline_tuning limits, least, now; /* the most there are; the fewest batches ahead; what is in use */
    int32_t cores;                                /* that load workers run on; set by the caller */
    int32_t round;
    bool settled; /* the first rounds are over, or had nothing to change */
    /* its own: */
    int32_t before_workers; /* the last change, if `raised` */
    double before_period_ns;
    double batches;      /* batches trained on since */
    bool raised, behind; /* process waited for loading in the last round, too */
    bool workers_final;
    double final_load_ns;   /* how long loads took then */
    bool gave;              /* the last change gave something back */
    int32_t calm, patience; /* rounds without waits, and the number needed to give something back */
};

/* Starts with these limits, each at least 1. `least` and `now` equal them until the caller sets other values. */
void mx_tune_begin(struct mx_tune *tune, const struct mx_pipeline_tuning *limits);
/* The step after which round `round` (0 for the first) is due. */
uint64_t mx_tune_due(int32_t round);
/* Figures between two readings of a pipeline's statistics. */
void mx_tune_measure(const struct mx_pipeline_stats *from, const struct mx_pipeline_stats *to,
                     struct mx_tune_figures *out);
/* Between two rounds: starts more workers if the disk has become too slow for those there are. As mx_tune_decide. */
bool mx_tune_check(struct mx_tune *tune, const struct mx_tune_figures *figures, char *why, size_t bytes);
/* Decides: tune->now is what to use from now on; `why` is the sentence to log (without a full stop; "" if there is
 * nothing to log). True: something changed. */
bool mx_tune_decide(struct mx_tune *tune, const struct mx_tune_figures *figures, char *why, size_t bytes);

#endif
