/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * run.json of a run folder: everything about a run except its steps. It is written whole when training starts, at every
 * evaluation and when training ends, so a run that crashed has the last version. Steps are in metrics.jsonl
 * (train/report/metrics.h).
 *
 *     "format": "myxtts run", "version": 1
 *     "program": version, "process": id, "state": "training" | "done" | "stopped early" | "learned what it can" | "time limit" | "interrupted"
 *         | "failed", "failure": message of a failure, otherwise null
 *     "started", "written": seconds since 1970; "first_step": steps already done at this start
 *     "deadline": when the time limit ends this start, in seconds since 1970; null: it has none
 *     "step": steps done, "steps": the last step of the run
 *     "resume": the command that continues the run
 *     "model": {"size", "parameters", "width", "heads", "encoder_blocks", "decoder_blocks", "mixed_precision"}
 *     "training": {"batch_size", "grad_accum", "optimization_level", "learning_rate", "augment", "seed"}
 *     "corpus": {"path", "kind": "audio" | "features", "training", "validation" (utterances), "seconds", "speakers",
 *         "symbols", "left_out": {"too-short": 3, …} (rows that cannot be used, by corpus/reject.h)}
 *     "mode": "Multi-GPU Mode" | "Single-GPU Buffered Mode" | "Two-Device Mode" | "Single-Device Buffered Mode", "overlap": bool, "fallback": why one device is used where
 *         two were asked for, otherwise null
 *     "devices": [{"role": "data" | "model" | "both", "name": "cpu:0", "logical": "GPU:0" or "device 0", "description",
 *         "limit_bytes", "used_bytes", "peak_bytes", "host_bytes" (for copies),
 *         "owners": {"parameters": bytes, …} (on the device)}]
 *     "flow": of the steps since this start; null before the first one has ended: {"batches", "wall_ms",
 *         "data_busy", "model_busy", "data_wait", "transfer" (shares of the wall),
 *         "transfer_overlap" (of the transfer: while the model trained), "step_ms": tally,
 *         "stages": {"load", "process", "transfer", "train": {"batch_ms": tally, "cpu_ms", "blocked_ms" (of a batch, by
 *         the thread of the stage: struct mx_stage_stats), "wait_input_ms", "wait_output_ms"}},
 *         "workers"}; a tally is {"mean", "deviation", "least", "most"}
 *     "advice": [{"kind", "cause", "hidden", "share", "finding", "remedy", "finding_fa", "remedy_fa"}]
 *         (pipeline/advice.h); the last two in Persian, with what is for a terminal between `…`
 *     "best": {"step", "mel_db"}, null: none yet
 *     "samples": [{"number", "id", "text"}]: what samples/step-N/NUMBER.wav says
 *     "spans": [[stage, lane, batch, begin, end], …]: the newest work of the pipeline, stage 0 load … 3 train, times in
 *         microseconds from the first one on
 *
 * Memory: everything in struct mx_run is borrowed; the text is built and freed in the call.
 */
#ifndef MX_OBSERVE_RUN_H
#define MX_OBSERVE_RUN_H

#include "base/string.h"
#include "model/sizes.h"
#include "myxtts/budget.h"
#include "pipeline/advice.h"

enum mx_run_state {
    MX_RUN_TRAINING,
    MX_RUN_DONE,
    MX_RUN_EARLY,   /* there was no improvement for long enough */
    MX_RUN_LEARNED, /* auto-stop: it has learned what it can */
    MX_RUN_TIME,    /* its time limit was reached */
    MX_RUN_INTERRUPTED,
    MX_RUN_FAILED,
};

struct mx_run_sample {
    const char *id, *text;
};

struct mx_run {
    enum mx_run_state state;
    const char *failure; /* NULL: none */
    double started;      /* seconds since 1970 */
    double deadline;     /* likewise: when the time limit ends this start; 0: it has none */
    int64_t first_step, step, steps;
    const char *folder; /* of the run, absolute: for the command that continues it */

    const struct mx_model_size *size;
    int64_t parameters;
    bool mixed_precision, augment;
    int64_t batch_size, grad_accum, seed;
    const char *level;
    double learning_rate;

    const char *corpus;
    bool features;
    uint32_t training, validation, speakers, symbols;
    double seconds;
    const uint32_t *left_out; /* [MX_REJECT_COUNT] */

    const char *mode, *fallback; /* fallback "": none */
    bool overlap;
    struct mx_run_device {
        const char *name, *logical, *description;
        struct mx_budget_stats memory;
    } devices[2]; /* the data device, then the model device */
    int device_count;

    bool has_flow;
    struct mx_pipeline_stats flow;
    int32_t workers;
    const struct mx_advice *advice;
    int32_t advice_count;

    bool has_best;
    int64_t best_step;
    double best_mel_db;
    const struct mx_run_sample *samples;
    int64_t sample_count;
    const struct mx_span *spans;
    uint32_t span_count;
};

#define MX_RUN_FILE "run.json" /* in the run folder */

int mx_run_text(const struct mx_run *run, struct mx_string *out);
int mx_run_write(const struct mx_run *run, const char *path);

/* Appends `text` as one word of a shell command: unchanged if it is plain, otherwise in single quotes. */
void mx_run_quote(struct mx_string *out, const char *text);

#endif
