/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The reports of a step and of an evaluation, and the one list of their metrics. The lists define the writer and the
 * reader of metrics.jsonl (metrics.h), the numbers in checkpoints, the TensorBoard tags, the curves on the page of a
 * run and the monitor's display. A new metric needs a member in a report, a row here, and the code that measures it.
 *
 * Memory: plain values.
 */
#ifndef MX_TRAIN_REPORT_H
#define MX_TRAIN_REPORT_H

#include <math.h>

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

/* ---- the lists ---- */

/* How a metric is written to metrics.jsonl. TensorBoard gets the value itself, bytes as MiB. */
enum mx_metric_type {
    MX_METRIC_COUNT,  /* a whole number */
    MX_METRIC_NUMBER, /* the shortest text that reads back to the same bits */
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

/* How the page of a long run combines the values of several steps into one. */
enum mx_metric_rule { MX_METRIC_MEAN, MX_METRIC_LAST, MX_METRIC_HIGHEST, MX_METRIC_SUM, MX_METRIC_UNSEEN };

/* The metrics of a step, in the order of metrics.jsonl.
 *
 * SHOWN(key, type, presence, rule, value, tag, label, chart, words): has a curve on the page of a run.
 * PLAIN(key, type, presence, rule, value, tag): has none, or one that observe/page/page.js draws by itself.
 * LOSS: the losses, with the columns of MX_LOSS_LIST.
 *
 *     key    in metrics.jsonl, on the page, and the member of struct mx_step_metrics
 *     type … rule   as above, without MX_METRIC_; UNSEEN: not on the page
 *     value  computed from the report `r`; NAN: none
 *     tag    in TensorBoard; NULL: not sent
 *     label  in the monitor's row of losses; NULL: not shown there
 *     chart  of observe/page/page.js that shows its curve
 *     words  label of the curve; Persian comes from po/fa.po, as "page KEY"
 *
 * Only the writer knows "steps" and "time". All metrics from "step_ms" on are timings of this start; everything before
 * them is the same in an interrupted and an uninterrupted run. */
#define MX_STEP_METRIC_LIST(SHOWN, PLAIN, LOSS)                                                                        \
    PLAIN(step, COUNT, ALWAYS, LAST, (double)r->step, NULL)                                                            \
    PLAIN(epoch, COUNT, ALWAYS, LAST, r->epoch, "training/epoch")                                                      \
    PLAIN(loss, NUMBER, ALWAYS, MEAN, r->losses.total, "loss/total")                                                   \
    MX_LOSS_LIST(LOSS)                                                                                                 \
    SHOWN(lr, NUMBER, ALWAYS, MEAN, r->rate, "training/learning_rate", "lr", "rate", "learning rate")                  \
    SHOWN(grad_norm, NUMBER, ALWAYS, HIGHEST, r->grad_norm, "training/grad_norm", "gradient", "gradient",              \
          "gradient norm")                                                                                             \
    SHOWN(vocoder_loss, NUMBER, OPTIONAL, MEAN, vocoder_value(r, r->vocoder.losses.total), "vocoder/loss", "vocoder",  \
          "loss", "vocoder")                                                                                           \
    SHOWN(vocoder_magnitude, NUMBER, OPTIONAL, MEAN,                                                                   \
          vocoder_value(r, r->vocoder.losses.values[MX_VOCODER_LOSS_MAGNITUDE]), "vocoder/magnitude", NULL, "loss",    \
          "vocoder: magnitudes")                                                                                       \
    SHOWN(vocoder_pitch, NUMBER, OPTIONAL, MEAN, vocoder_value(r, r->vocoder.losses.values[MX_VOCODER_LOSS_PITCH]),    \
          "vocoder/pitch", NULL, "loss", "vocoder: pitch")                                                             \
    SHOWN(vocoder_burst, NUMBER, OPTIONAL, MEAN, vocoder_value(r, r->vocoder.losses.values[MX_VOCODER_LOSS_BURST]),    \
          "vocoder/burst", NULL, "loss", "vocoder: bursts")                                                            \
    SHOWN(vocoder_lr, NUMBER, OPTIONAL, MEAN, vocoder_value(r, r->vocoder.rate), "vocoder/learning_rate", NULL,        \
          "rate", "learning rate of the vocoder")                                                                      \
    SHOWN(vocoder_grad_norm, NUMBER, OPTIONAL, HIGHEST, vocoder_value(r, r->vocoder.grad_norm), "vocoder/grad_norm",   \
          NULL, "gradient", "gradient norm of the vocoder")                                                            \
    PLAIN(vocoder_frames, COUNT, OPTIONAL, SUM, vocoder_value(r, (double)r->vocoder.frames), NULL)                     \
    PLAIN(vocoder_skipped, FLAG, OPTIONAL, SUM, vocoder_value(r, r->vocoder.guard.verdict >= MX_GUARD_SKIPPED), NULL)  \
    PLAIN(utterances, COUNT, ALWAYS, SUM, (double)r->utterances, NULL)                                                 \
    PLAIN(left_out, COUNT, ALWAYS, SUM, (double)r->left_out, NULL)                                                     \
    PLAIN(tokens, COUNT, ALWAYS, UNSEEN, (double)r->tokens, NULL)                                                      \
    PLAIN(frames, COUNT, ALWAYS, SUM, (double)r->frames, NULL)                                                         \
    PLAIN(share, NUMBER, OPTIONAL, UNSEEN, r->sharing ? r->share : NAN, NULL)                                          \
    PLAIN(shared_frames, COUNT, OPTIONAL, UNSEEN, r->sharing ? (double)r->shared_frames : NAN, NULL)                   \
    PLAIN(skipped, FLAG, ALWAYS, SUM, r->guard.verdict >= MX_GUARD_SKIPPED, NULL)                                      \
    PLAIN(loss_z, NUMBER, ALWAYS, UNSEEN, r->guard.loss_z, NULL)                                                       \
    PLAIN(grad_z, NUMBER, ALWAYS, UNSEEN, r->guard.norm_z, NULL)                                                       \
    SHOWN(step_ms, MS, ALWAYS, MEAN, (double)r->step_ns * 1e-6, "speed/step_ms", NULL, "time", "step, ms")             \
    SHOWN(data_wait_ms, MS, ALWAYS, MEAN, (double)r->wait_ns * 1e-6, "speed/data_wait_ms", NULL, "time",               \
          "waiting for data, ms")                                                                                      \
    SHOWN(vocoder_ms, MS, OPTIONAL, MEAN, vocoder_value(r, (double)r->vocoder.busy_ns * 1e-6), "speed/vocoder_ms",     \
          NULL, "time", "vocoder, ms")                                                                                 \
    SHOWN(frames_per_s, SPEED, ALWAYS, MEAN, (double)r->frames * 1e9 / (double)(r->step_ns > 0 ? r->step_ns : 1),      \
          "speed/frames_per_s", NULL, "speed", "mel frames a second")                                                  \
    PLAIN(data_busy, SHARE, ALWAYS, MEAN, r->flow.data_busy, "devices/data_busy")                                      \
    PLAIN(model_busy, SHARE, ALWAYS, MEAN, r->flow.model_busy, "devices/model_busy")                                   \
    PLAIN(data_wait, SHARE, ALWAYS, MEAN, r->flow.data_wait, "devices/data_wait")                                      \
    PLAIN(transfer, SHARE, ALWAYS, MEAN, r->flow.transfer, "devices/transfer")                                         \
    PLAIN(transfer_hidden, SHARE, ALWAYS, MEAN, r->flow.transfer_hidden, "devices/transfer_hidden")                    \
    SHOWN(load_cpu_ms, MS, MEASURED, MEAN, r->flow.cpu_ns[MX_STAGE_LOAD] * 1e-6, "stages/load_cpu_ms", NULL, "time",   \
          "loading: CPU, ms")                                                                                          \
    SHOWN(load_blocked_ms, MS, MEASURED, MEAN, r->flow.blocked_ns[MX_STAGE_LOAD] * 1e-6, "stages/load_blocked_ms",     \
          NULL, "time", "loading: waiting for the disk, ms")                                                           \
    PLAIN(process_cpu_ms, MS, MEASURED, UNSEEN, r->flow.cpu_ns[MX_STAGE_PROCESS] * 1e-6, "stages/process_cpu_ms")      \
    PLAIN(process_blocked_ms, MS, MEASURED, UNSEEN, r->flow.blocked_ns[MX_STAGE_PROCESS] * 1e-6,                       \
          "stages/process_blocked_ms")                                                                                 \
    PLAIN(transfer_cpu_ms, MS, OPTIONAL, UNSEEN, r->flow.cpu_ns[MX_STAGE_TRANSFER] * 1e-6, "stages/transfer_cpu_ms")   \
    PLAIN(transfer_blocked_ms, MS, OPTIONAL, UNSEEN, r->flow.blocked_ns[MX_STAGE_TRANSFER] * 1e-6,                     \
          "stages/transfer_blocked_ms")                                                                                \
    PLAIN(train_cpu_ms, MS, MEASURED, UNSEEN, r->flow.cpu_ns[MX_STAGE_TRAIN] * 1e-6, "stages/train_cpu_ms")            \
    PLAIN(train_blocked_ms, MS, MEASURED, UNSEEN, r->flow.blocked_ns[MX_STAGE_TRAIN] * 1e-6,                           \
          "stages/train_blocked_ms")                                                                                   \
    PLAIN(load_workers, COUNT, ALWAYS, LAST, r->flow.levels.workers_active, "queues/load_workers")                     \
    PLAIN(loaded, COUNT, ALWAYS, MEAN, r->flow.levels.loaded, "queues/loaded")                                         \
    PLAIN(prepared, COUNT, ALWAYS, MEAN, r->flow.levels.prepared, "queues/prepared")                                   \
    PLAIN(arrived, COUNT, ALWAYS, MEAN, r->flow.levels.arrived, "queues/arrived")                                      \
    PLAIN(loaded_limit, COUNT, ALWAYS, LAST, r->flow.levels.loaded_limit, NULL)                                        \
    PLAIN(prepared_limit, COUNT, ALWAYS, LAST, r->flow.levels.prepared_limit, NULL)                                    \
    PLAIN(arrived_limit, COUNT, ALWAYS, LAST, r->flow.levels.arrived_limit, NULL)                                      \
    PLAIN(data_bytes, BYTES, ALWAYS, HIGHEST, (double)r->flow.data_bytes, "memory/data_MiB")                           \
    PLAIN(model_bytes, BYTES, ALWAYS, HIGHEST, (double)r->flow.model_bytes, "memory/model_MiB")                        \
    PLAIN(data_limit_bytes, BYTES, ALWAYS, LAST, (double)r->flow.data_limit_bytes, "memory/data_limit_MiB")            \
    PLAIN(model_limit_bytes, BYTES, ALWAYS, LAST, (double)r->flow.model_limit_bytes, "memory/model_limit_MiB")         \
    PLAIN(variation, SHARE, ALWAYS, UNSEEN, r->flow.variation, NULL)                                                   \
    PLAIN(data_driver_busy, SHARE, OPTIONAL, UNSEEN, driver_busy(&r->flow.data_load), "devices/data_driver_busy")      \
    PLAIN(data_driver_bytes, BYTES, OPTIONAL, UNSEEN, driver_bytes(&r->flow.data_load), "memory/data_driver_MiB")      \
    PLAIN(model_driver_busy, SHARE, OPTIONAL, UNSEEN, driver_busy(&r->flow.model_load), "devices/model_driver_busy")   \
    PLAIN(model_driver_bytes, BYTES, OPTIONAL, UNSEEN, driver_bytes(&r->flow.model_load), "memory/model_driver_MiB")   \
    PLAIN(leak_bytes, LEAK, OPTIONAL, UNSEEN, r->flow.leak[0] != '\0' ? (double)r->flow.leak_bytes : NAN, NULL)        \
    PLAIN(steps, COUNT, OPTIONAL, LAST, NAN, NULL)                                                                     \
    PLAIN(time, COUNT, ALWAYS, LAST, NAN, NULL)

/* In a run that trains only the vocoder, "loss", "lr", "grad_norm" and the guard's values are those of the vocoder, and
 * the losses of the acoustic network are absent everywhere. */

/* The metrics of an evaluation, in the order of metrics.jsonl.
 *
 * SPOKEN(key, presence, value, tag, label, percent, words): a result of free-running speech, with a curve on the page.
 * PLAIN(key, type, presence, value, tag) and LOSS: as above. `value` is taken from the evaluation `e`.
 *
 *     label    what the monitor writes after the number; NULL: not shown
 *     percent  the page shows the value times 100 with a percent sign
 *
 * All of them except counts are also stored in checkpoints. */
#define MX_EVALUATION_METRIC_LIST(SPOKEN, PLAIN, LOSS)                                                                 \
    PLAIN(step, COUNT, ALWAYS, (double)step, NULL)                                                                     \
    PLAIN(utterances, COUNT, ALWAYS, e->utterances, NULL)                                                              \
    PLAIN(loss, NUMBER, ALWAYS, e->losses.total, "validation/total")                                                   \
    MX_LOSS_LIST(LOSS)                                                                                                 \
    PLAIN(spoken, COUNT, ALWAYS, e->spoken, NULL)                                                                      \
    PLAIN(vocoder_loss, NUMBER, OPTIONAL, e->vocoder_frames > 0 ? e->vocoder.total : NAN, "validation/vocoder_loss")   \
    PLAIN(vocoder_magnitude, NUMBER, OPTIONAL,                                                                         \
          e->vocoder_frames > 0 ? e->vocoder.values[MX_VOCODER_LOSS_MAGNITUDE] : NAN, "validation/vocoder_magnitude")  \
    PLAIN(vocoder_pitch, NUMBER, OPTIONAL, e->vocoder_frames > 0 ? e->vocoder.values[MX_VOCODER_LOSS_PITCH] : NAN,     \
          "validation/vocoder_pitch")                                                                                  \
    PLAIN(vocoder_burst, NUMBER, OPTIONAL, e->vocoder_frames > 0 ? e->vocoder.values[MX_VOCODER_LOSS_BURST] : NAN,     \
          "validation/vocoder_burst")                                                                                  \
    SPOKEN(mel_db, MEASURED, e->mel_db, "spoken/mel_db", "dB from the recordings", false, "mel distance, dB")          \
    SPOKEN(duration_error, MEASURED, e->duration_error, "spoken/duration_error", NULL, true, "duration off by")        \
    SPOKEN(pitch_semitones, MEASURED, e->pitch_error, "spoken/pitch_semitones", NULL, false, "pitch off by, semitones")

/* ---- the tables and structs made from the lists ---- */

struct mx_metric {
    const char *key;
    enum mx_metric_type type;
    enum mx_metric_presence presence;
    enum mx_metric_rule rule;
    const char *tag;    /* of TensorBoard; NULL: not sent */
    const char *label;  /* of the monitor; NULL: none */
    const char *chart;  /* of the page; NULL: none, or one that observe/page/page.js draws by itself */
    bool percent, loss; /* loss: one of MX_LOSS_LIST */
};

/* MX_METRIC_AT_key, and their number. */
#define SHOWN(key, ...)      MX_METRIC_AT_##key,
#define LOSS(NAME, key, ...) MX_METRIC_AT_##key,
enum mx_step_metric { MX_STEP_METRIC_LIST(SHOWN, SHOWN, LOSS) MX_STEP_METRICS };
#undef SHOWN
#undef LOSS
#define SPOKEN(key, ...)     MX_EVALUATION_AT_##key,
#define LOSS(NAME, key, ...) MX_EVALUATION_AT_##key,
enum mx_evaluation_metric { MX_EVALUATION_METRIC_LIST(SPOKEN, SPOKEN, LOSS) MX_EVALUATION_METRICS };
#undef SPOKEN
#undef LOSS

extern const struct mx_metric mx_step_metric_table[MX_STEP_METRICS];
extern const struct mx_metric mx_evaluation_metric_table[MX_EVALUATION_METRICS];

/* The numbers themselves, by name and in the order of the list. NAN: no value. */
struct mx_step_metrics {
    union {
        struct {
#define SHOWN(key, ...)      double key;
#define LOSS(NAME, key, ...) double key;
            MX_STEP_METRIC_LIST(SHOWN, SHOWN, LOSS)
        };
        double values[MX_STEP_METRICS];
    };
};

struct mx_evaluation_metrics {
    union {
        struct {
            MX_EVALUATION_METRIC_LIST(SHOWN, SHOWN, LOSS)
#undef SHOWN
#undef LOSS
        };
        double values[MX_EVALUATION_METRICS];
    };
};

/* Does the file, or TensorBoard, get the metric at all? */
static inline bool mx_metric_there(const struct mx_metric *metric, double value, bool vocoder_alone)
{
    return !(metric->presence == MX_METRIC_OPTIONAL && isnan(value)) && !(metric->loss && vocoder_alone);
}

struct mx_step_metrics mx_step_metrics_of(const struct mx_trainer_report *report);
struct mx_evaluation_metrics mx_evaluation_metrics_of(int64_t step, const struct mx_trainer_evaluation *evaluation);

#endif
