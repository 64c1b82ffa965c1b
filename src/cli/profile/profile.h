/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `myxtts profile`: measures real training steps through the real pipeline, either in one mode (profile_run.c) or as
 * the same work in several modes, round after round (profile_compare.c). profile_report.c prints the results,
 * profile_json.c writes them, and profile_corpus.c makes up a corpus if none is given.
 *
 * JSON of --json, one object. Times are milliseconds, shares 0 … 1, sizes bytes; a "tally" is {"mean", "deviation",
 * "least", "most", "count"}:
 *
 *     "format": "myxtts profile", "version": 1
 *     "work": {"model", "parameters", "batch_size", "grad_accum", "augment", "mixed_precision", "synthetic",
 *              "utterances"}
 *     "mode": "Multi-GPU Mode" (run/devices/mode.h has the others), "data_device": "cpu:0", "model_device": "cpu:1", "overlap": bool
 *     "sharing": bool, "share" of the frames that the data device trained on, "shares": "STEP:SHARE,…"
 *     "warmup_steps", "steps", "batches", "frames", "wall_ms"
 *     "stages": {"load", "process", "transfer", "train": {"tally" per batch, "share" of the work of a batch,
 *                "cpu" and "blocked": tallies per batch of what its thread spent on a core, and blocked by a disk or its
 *                device; "wait_input_ms", "wait_output_ms" altogether}}
 *     "total": tally of the work of a batch in all stages
 *     "step": {tally, "variation", "frame_variation" (of the time per mel frame: equal work), "times_ms": [of each,
 *              the first MX_PROFILE_TIMES of them]}
 *     "steps_per_s", "frames_per_s"
 *     "idle": {"model", "model_waits_for_data", "data"}: shares of the time
 *     "utilisation": {"data", "model"}: "mean" and "whole" of the whole time, the rest of the tally over windows
 *     "transfer_overlap": share of the time of transfers in which training went on; "stage_overlap": share of all time
 *     "plan": {"ranks", "gradient_bytes", "bucket_bytes", "utterances" (of a step), "backward_ms" (of the last batch),
 *              "update_ms", "host_cores" (the model is trained by cores that also carry bytes), "buckets": [{"bytes",
 *              "lead_ms" (from when it is final to the end of the backward pass)}], and with several ranks "sums_ms"
 *              (of a step's gradients over all ranks), "sums_waited_ms" (what of it training did not hide) and
 *              "carry_ms" (of a core, in a step, for carrying it while training went on)}: what 'myxtts plan' needs
 *     "levels": {"loaded", "prepared", "arrived": {tally after each step, "limit"}, "workers", "workers_active"}
 *     "memory": [{"device", "logical", "limit", "used", "peak", "host", "owners": {name: bytes}}]
 *     "bottlenecks": [{"kind", "cause", "hidden", "share", "finding", "remedy"}]
 *     "compare" (with --compare): {"rounds", "round_steps",
 *                "stages": {"load", "process", "transfer", "train"} (ms, each alone: medians of the sequential run on
 *                two devices), "largest", "pipelined_step", "pipelined_ratio", "compute_limit" (process + train, and
 *                load where it needs the device's cores), "modes": [{"name", "devices", "overlap", "buffer", "step_ms",
 *                "step_ms_rounds": [...], "speed" (by the first mode's step of the same round: the median of the
 *                rounds, so not quite the ratio of the medians in "step_ms"),
 *                "data_busy", "model_busy", "data_wait", "compute_ratio" (step / compute limit; one device alone)}]}
 *     A mode also has "sharing": bool, and "share".
 *     With --compare everything before "compare" is about the last round of "Two devices".
 *
 * Memory: results are plain values. A profile borrows its job, which the caller opened and closes.
 */
#ifndef MX_CLI_PROFILE_H
#define MX_CLI_PROFILE_H

#include "base/progress.h"
#include "base/string.h"
#include "pipeline/advice.h"
#include "run/job.h"

#define MX_PROFILE_SUMS    4096 /* newest sums of ranks that a trace shows */
#define MX_PROFILE_TIMES   1024 /* steps that are listed one by one */
#define MX_PROFILE_BUCKETS 1024 /* of a gradient; if there are more, none is listed */

/* ---- one mode ---- */

struct mx_profile_request {
    int64_t warmup, steps;
    struct mx_progress *progress; /* counts steps */
    const char *trace;            /* file; NULL: none */
    const atomic_bool *stop;      /* set by a signal */
    bool synthetic;               /* the corpus is made up: advice about it would be useless */
};

struct mx_profile {
    int64_t warmup, steps, frames, shared_frames; /* shared_frames: those that the data device trained on */
    bool two_devices, overlap, sharing;
    struct mx_mode_choice devices; /* how they were chosen, and what they are called */
    struct mx_shares shares;       /* with sharing */
    bool load_on_data;             /* load workers live on the cores of the data device */
    char data_device[32], model_device[32];
    uint64_t wall_ns; /* of the measured steps. One device: until as much is prepared again as at the beginning */
    struct mx_pipeline_stats stats; /* of the measured steps, with their batches' work and the step times below */
    struct mx_tally total_ns;       /* work of a batch in all stages */
    struct mx_tally step_ns, frame_ns;
    struct mx_tally backward_ns, update_ns, utterances; /* per step */
    int64_t gradient_floats;
    struct mx_trainer_bucket buckets[MX_PROFILE_BUCKETS]; /* lead_ns: summed over all measured steps */
    int32_t bucket_count;
    double sums_ns, sums_waited_ns; /* with several ranks: over all measured steps, and the part that was waited for */
    double carried_ns;              /* core time that sending took from training */
    float step_ms[MX_PROFILE_TIMES];
    struct mx_tally data_busy,
        model_busy; /* shares of the time, over windows of some steps; their means are data_share and model_share */
    double data_share, model_share; /* of the whole time */
    struct mx_tally loaded, prepared, arrived;
    struct mx_pipeline_levels levels;
    struct mx_pipeline_memory memory;
    struct mx_advice advice[MX_ADVICE_KINDS];
    int32_t advice_count;
};

/* Runs job->options, which are planned and have a normaliser, on new weights. MX_ERR_INTERRUPTED after a signal. */
int mx_profile_run(const struct mx_job *job, const struct mx_profile_request *request, struct mx_profile *out);

/* ---- several modes ---- */

#define MX_PROFILE_MODES  7
#define MX_PROFILE_PLAIN  5 /* the mode with two devices, overlapped, without work sharing */
#define MX_PROFILE_ROUNDS 9
#define MX_PROFILE_LEAST  4 /* steps per round: fewer say nothing about a mode */

struct mx_profile_mode {
    const char *name;
    bool two_devices, overlap, sharing;
    double share;   /* of the frames, trained on by the data device in the last round */
    int32_t buffer; /* prepared batches; 0: none */
    double step_ms[MX_PROFILE_ROUNDS], speed, data_busy, model_busy, data_wait; /* medians except step_ms */
    double median_ms, compute_ratio;
};

struct mx_profile_comparison {
    int64_t round_steps;
    struct mx_profile_mode modes[MX_PROFILE_MODES];
    double stage_ms[MX_STAGES], largest_ms, pipelined_ratio, compute_limit_ms;
    enum mx_stage largest;
    bool load_on_device; /* the single device's cores also load: part of its compute limit */
};

/* Opens a job whose settings are read, and plans its memory. */
int mx_profile_job_open(struct mx_job *job);
/* The other job of a comparison: the same, on the model device of the pair alone. It borrows the texts of the pair's
 * settings; mx_job_close. */
int mx_profile_single_open(const struct mx_job *pair, struct mx_job *single);

/* `single` is open on one of the devices of `pair`. *last gets the last round of two devices, overlapped, that do not
 * share the training. */
int mx_profile_compare(struct mx_job *single, struct mx_job *pair, const struct mx_profile_request *request,
                       struct mx_profile_comparison *out, struct mx_profile *last);

/* ---- reports ---- */

/* The work that was done, for both kinds of report. */
struct mx_profile_work {
    const struct mx_job *job;
    bool synthetic;
};

int mx_profile_text(const struct mx_profile_work *work, const struct mx_profile *profile, struct mx_string *out);
int mx_profile_compare_text(const struct mx_profile_comparison *comparison, struct mx_string *out);
/* `comparison` NULL: none was made. */
int mx_profile_json(const struct mx_profile_work *work, const struct mx_profile *profile,
                    const struct mx_profile_comparison *comparison, struct mx_string *out);

/* ---- a made-up corpus ---- */

struct mx_profile_corpus {
    char folder[256]; /* "": there is none */
};

/* Makes `rows` recordings of 1.5 to 4.4 s (or all of equal length) with matching texts, in a temporary folder. */
int mx_profile_corpus_write(struct mx_profile_corpus *corpus, int64_t rows, bool equal, uint64_t seed);
void mx_profile_corpus_remove(struct mx_profile_corpus *corpus);

#endif
