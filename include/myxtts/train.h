/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A training run for programs that have a loop of their own: the same run, the same folder and the same files as
 * `myxtts train` makes, but the program decides when to evaluate, when to save and when to stop.
 *
 *     const char *const settings[] = {"data.train_data=my-corpus", "training.batch_size=8"};
 *     const struct mx_train_options options = {.output = "my-run", .settings = settings, .setting_count = 2};
 *     MX_TRY(mx_train_open(&options, &run));
 *     while ((rc = mx_train_step(run, &report)) == 0)
 *         if (report.step % 500 == 0) MX_TRY(mx_train_evaluate(run, &evaluation));
 *     if (rc > 0) rc = mx_train_save(run);
 *
 * Settings are those of `myxtts config`. Some of them belong to the loop of `myxtts train` and have no effect here:
 * training.max_minutes, .save_every, .eval_every, .early_stopping, .dashboard, .rank_timeout and .batch_per_rank. With
 * training.auto_stop it is mx_train_evaluate that ends the run, so call it every training.eval_every steps. All
 * others hold: the number of steps and the learning rates that follow from it, devices, memory limits, augmentation,
 * how many checkpoints are kept.
 *
 * The program can resume and speak what is saved: `myxtts train --resume my-run`, `myxtts synth --checkpoint my-run …`.
 * Resumed here or there, a run continues bit for bit as if it had never stopped.
 *
 * Messages go to stderr and into log.txt of the run folder. One run is open in a process at a time. One thread uses it
 * at a time. It is a run of one process: under mpirun each process would open a run of its own.
 *
 * NULL for the options, a run or the place of a result is MX_ERR_ARGUMENT, and so are settings that are NULL beside a
 * count that is not 0, and a setting that is NULL. mx_train_close accepts NULL.
 *
 * Memory: a run owns everything it opens, on the devices and on the host, and takes it in mx_train_open; a step takes
 * nothing. mx_train_close releases it.
 */
#ifndef MYXTTS_TRAIN_H
#define MYXTTS_TRAIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "myxtts/error.h"

struct mx_train;

/* Strings are borrowed until mx_train_close. */
struct mx_train_options {
    /* One of the first two: the folder of a new run, or that of a run to continue from its newest checkpoint. */
    const char *output;
    const char *resume;
    const char *init_from;       /* a new run begins with the network and weights of this checkpoint or run; or NULL */
    const char *config;          /* file with the settings of a new run; NULL: the defaults */
    const char *const *settings; /* "SECTION.KEY=VALUE", over those of the file or of the resumed run */
    size_t setting_count;
    const atomic_bool *
        stop; /* once it is true, the cutting of long rows, steps and evaluations end with MX_ERR_INTERRUPTED; NULL: never */
    bool quiet; /* only warnings and errors go to stderr */
};

/* Opens devices, corpus and run folder, takes all memory and starts to prepare batches. A folder that holds another
 * run, a network that does not fit into the devices, a corpus with too many bad rows and a wrong setting are refused
 * as `myxtts train` refuses them; then no folder is left behind, and *out is NULL. */
int mx_train_open(const struct mx_train_options *options, struct mx_train **out);
/* Writes run.json and the report, and releases everything. Does not save. NULL is fine. The current error stays. */
void mx_train_close(struct mx_train *run);

struct mx_train_report {
    int64_t step, steps;       /* this one, 1 for the first of the run; the last one of the run */
    uint32_t epoch;            /* 0 for the first */
    double loss;               /* the weighted sum of all losses; metrics.jsonl has each */
    double learning_rate;      /* of this step */
    double grad_norm;          /* before clipping */
    int64_t utterances;        /* that were trained on */
    int64_t frames;            /* mel frames that were trained on */
    bool skipped;              /* loss or gradient was not finite: the weights are as they were */
    uint64_t step_ns, wait_ns; /* the whole step; the part in which it waited for data */
};

/* Takes the next batches (training.grad_accum of them), runs them forward and backward, and updates the weights.
 * Returns 1 without doing anything after the last step of the run. MX_ERR_DATA when too many steps in a row had to be
 * skipped; MX_ERR_INTERRUPTED: the step had not begun. */
int mx_train_step(struct mx_train *run, struct mx_train_report *report);

struct mx_train_evaluation {
    uint32_t utterances; /* for validation; 0: there are none, and nothing was evaluated */
    double loss;         /* with the true durations, pitch and energy */
    /* Spoken from the text alone and compared with the recordings. NAN: nothing could be measured. */
    uint32_t spoken;       /* utterances; the others would have become too long */
    double mel_db;         /* mean distance of the mel bands, in decibels */
    double duration_error; /* mean of |spoken - recorded|/recorded */
    double pitch_error;    /* mean distance over voiced frames, in semitones */
    bool best;             /* least mel_db of the run so far, with every utterance spoken */
};

/* Evaluates the averaged weights on the validation rows, and speaks samples into samples/ of the run folder. If it is
 * the best evaluation and mx_train_save comes before the next step, that checkpoint is also kept as best.safetensors. */
int mx_train_evaluate(struct mx_train *run, struct mx_train_evaluation *out);

/* Saves a checkpoint. When it returns 0 the file is on the disk; when it fails, earlier ones still are. Older ones are
 * deleted as training.keep_last and .keep_every say. */
int mx_train_save(struct mx_train *run);

#endif
