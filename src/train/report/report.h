/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The reports of a step and of an evaluation, and the tables of their metrics. The tables define the writer and the
 * reader of metrics.jsonl (metrics.h), the numbers in checkpoints, the TensorBoard tags, the curves on the page of a
 * run and the monitor's display. A new metric needs a member of struct mx_step_metrics, its row and value in report.c,
 * and the code that measures it.
 *
 * Memory: plain values.
 */
#ifndef MX_TRAIN_REPORT_H
#define MX_TRAIN_REPORT_H

#include <math.h>
#include <stddef.h>

#include "model/losses.h"
#include "train/flow_watch.h"
#include "train/guard.h"
#include "vocoder/config.h"

/* What a step did to the vocoder. */
struct mx_vocoder_report {
    int64_t frames; /* of its segments; 0: there was nothing to train on, and nothing else here is set */
    struct mx_vocoder_losses losses;
    double rate, grad_norm;
    uint64_t busy_ns; /* the model device's time for it */
    struct mx_guard_report guard;
};

struct mx_trainer_report {
    int64_t step;   /* 1 for the first */
    uint32_t epoch; /* of its first batch */
    /* There is no acoustic network: its losses are NAN; total, rate, norm and guard are those of the vocoder. */
    bool vocoder_alone;
    struct mx_model_losses losses;
    double rate, grad_norm; /* the norm before clipping; may be not finite */
    struct mx_vocoder_report vocoder;
    int64_t utterances, left_out, tokens, frames; /* frames: of the utterances, or of the segments of a vocoder alone */
    bool sharing;                                 /* the data device has a replica */
    double share;                                 /* the share of the frames that it was assigned */
    int64_t shared_frames;                        /* the number of frames that it trained on */
    uint64_t step_ns, wait_ns; /* the whole step (the first one: since the start); the part spent waiting for data */
    uint64_t backward_ns;      /* of the last batch, with a comm or flow.times; 0: not measured */
    uint64_t sum_wait_ns;      /* with a comm: wait for the others, after this member's own gradients were final */
    uint64_t update_ns;        /* from summed gradients to new weights */
    struct mx_guard_report guard;
    struct mx_flow_watch_report flow; /* how busy the devices are, what is waiting, which memory is used */
};

struct mx_trainer_evaluation {
    uint32_t utterances; /* evaluated; 0: there are none for validation */
    bool vocoder_alone;  /* nothing is spoken, the acoustic losses are NAN, and their total is the vocoder's */
    struct mx_model_losses losses; /* teacher-forced: with true durations, pitch and energy */
    /* Free-running: actually spoken, and compared after the best time alignment. NAN: nothing could be measured. */
    uint32_t spoken;        /* utterances */
    uint32_t too_long;      /* would have become too long to speak; what is neither could not be read any more */
    double mel_db;          /* mean distance of mel bands, in decibels */
    double duration_error;  /* mean of |spoken - real|/real */
    double pitch_error;     /* mean distance over voiced frames, in semitones */
    int64_t vocoder_frames; /* of segments of these utterances; 0: the vocoder was not evaluated */
    struct mx_vocoder_losses vocoder; /* its losses on them */
};

/* ---- metrics ---- */

/* How a metric is written to metrics.jsonl. TensorBoard gets the value itself, bytes as MiB. */
enum mx_metric_type {
    MX_METRIC_NUMBER, /* the shortest text that reads back to the same bits */
    MX_METRIC_COUNT,  /* a whole number */
    MX_METRIC_SHARE,  /* 0 to 1, three digits */
    MX_METRIC_SPEED,  /* rounded to a whole number */
    MX_METRIC_MS,     /* milliseconds, down to whole microseconds */
    MX_METRIC_BYTES,  /* a whole number */
    MX_METRIC_FLAG,   /* true or false */
    MX_METRIC_LEAK,   /* bytes, after their owner, which has the key "leak" */
};

/* What happens to a metric that has no value (NAN). */
enum mx_metric_presence {
    MX_METRIC_ALWAYS,   /* null in metrics.jsonl; sent to TensorBoard and stored in checkpoints unchanged */
    MX_METRIC_MEASURED, /* null in metrics.jsonl, absent elsewhere */
    MX_METRIC_OPTIONAL, /* absent everywhere */
};

/* How the page of a long run combines the values of several steps into one; UNSEEN: it does not show them. */
enum mx_metric_rule { MX_METRIC_UNSEEN, MX_METRIC_MEAN, MX_METRIC_LAST, MX_METRIC_HIGHEST, MX_METRIC_SUM };

/* A row of the tables below. Whatever is left out is 0 or NULL. */
struct mx_metric {
    const char *key; /* in metrics.jsonl, on the page, and the member of the structs below */
    enum mx_metric_type type;
    enum mx_metric_presence presence;
    enum mx_metric_rule rule;
    const char *tag;   /* of TensorBoard; NULL: not sent */
    const char *label; /* in the monitor: of a step, before its number; of an evaluation, after it; NULL: not shown */
    /* Of observe/page/page.js, which shows its curve; the curve's label is in observe/page/page_words.c. NULL: none, or
     * one that the page draws by itself. */
    const char *chart;
    bool percent; /* the page shows the value times 100 with a percent sign */
    bool loss;    /* one of MX_LOSS_LIST */
};

/* The metrics of a step, in the order of metrics.jsonl; NAN: no value. Only the writer knows `steps` and `time`. All
 * from `step_ms` on are timings of this start; everything before them is the same in an interrupted and an
 * uninterrupted run. In a run that trains only the vocoder, `loss`, `lr`, `grad_norm` and the guard's values are those
 * of the vocoder, and the losses of the acoustic network are absent everywhere. */
#define MX_STEP_METRICS (58 + MX_MODEL_LOSSES)
struct mx_step_metrics {
    union {
        struct {
            double step, epoch, loss;
#define X(NAME, key, over, weight, words) double key;
            MX_LOSS_LIST(X)
#undef X
            double lr, grad_norm, vocoder_loss, vocoder_magnitude, vocoder_pitch, vocoder_burst, vocoder_lr,
                vocoder_grad_norm, vocoder_frames, vocoder_skipped, utterances, left_out, tokens, frames, share,
                shared_frames, skipped, loss_z, grad_z, step_ms, data_wait_ms, vocoder_ms, frames_per_s, data_busy,
                model_busy, data_wait, transfer, transfer_hidden, load_cpu_ms, load_blocked_ms, process_cpu_ms,
                process_blocked_ms, transfer_cpu_ms, transfer_blocked_ms, train_cpu_ms, train_blocked_ms, load_workers,
                loaded, prepared, arrived, loaded_limit, prepared_limit, arrived_limit, data_bytes, model_bytes,
                data_limit_bytes, model_limit_bytes, variation, data_driver_busy, data_driver_bytes, model_driver_busy,
                model_driver_bytes, leak_bytes, steps, time;
        };
        double values[MX_STEP_METRICS];
    };
};

/* The metrics of an evaluation, in the order of metrics.jsonl. All except counts are also stored in checkpoints. */
#define MX_EVALUATION_METRICS (11 + MX_MODEL_LOSSES)
struct mx_evaluation_metrics {
    union {
        struct {
            double step, utterances, loss;
#define X(NAME, key, over, weight, words) double key;
            MX_LOSS_LIST(X)
#undef X
            double spoken, vocoder_loss, vocoder_magnitude, vocoder_pitch, vocoder_burst, mel_db, duration_error,
                pitch_semitones;
        };
        double values[MX_EVALUATION_METRICS];
    };
};

/* The numbers above are those of the members. */
#define MX_STEP_METRIC_AT(member)       ((int)(offsetof(struct mx_step_metrics, member) / sizeof(double)))
#define MX_EVALUATION_METRIC_AT(member) ((int)(offsetof(struct mx_evaluation_metrics, member) / sizeof(double)))
_Static_assert(MX_STEP_METRIC_AT(time) == (int)MX_STEP_METRICS - 1, "MX_STEP_METRICS");
_Static_assert(MX_EVALUATION_METRIC_AT(pitch_semitones) == (int)MX_EVALUATION_METRICS - 1, "MX_EVALUATION_METRICS");

extern const struct mx_metric mx_step_metric_table[MX_STEP_METRICS];
extern const struct mx_metric mx_evaluation_metric_table[MX_EVALUATION_METRICS];

/* Does the file, or TensorBoard, get the metric at all? */
static inline bool mx_metric_there(const struct mx_metric *metric, double value, bool vocoder_alone)
{
    return !(metric->presence == MX_METRIC_OPTIONAL && isnan(value)) && !(metric->loss && vocoder_alone);
}

struct mx_step_metrics mx_step_metrics_of(const struct mx_trainer_report *report);
struct mx_evaluation_metrics mx_evaluation_metrics_of(int64_t step, const struct mx_trainer_evaluation *evaluation);

#endif
