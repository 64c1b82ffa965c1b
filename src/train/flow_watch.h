/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The flow watch: examines the pipeline after every step and warns when something is wrong.
 *
 * How busy both devices are and how long training waited for data are shares of the last MX_FLOW_WATCH_WINDOW steps,
 * the newest included, or of all steps since the start while there are fewer. Evaluations and checkpoints do not count.
 * Step times are compared for equal work, as time per mel frame: if they vary by more than MX_VARIATION_LIMIT over a
 * window, a warning names the measured cause and the remedy (pipeline/advice.h). Memory that grows step after step
 * causes a warning that names its owner (mx_budget_watch).
 *
 * Memory: a plain value. The pipeline and the devices are borrowed. One thread.
 */
#ifndef MX_TRAIN_FLOW_WATCH_H
#define MX_TRAIN_FLOW_WATCH_H

#include "myxtts/budget.h"
#include "myxtts/pipeline.h"

#define MX_FLOW_WATCH_WINDOW 50 /* steps */

struct mx_flow_watch_report {
    double data_busy, model_busy, data_wait; /* 0 … 1 of the time of the window */
    double transfer, transfer_hidden;        /* the same for transfers, and for those made while the model trained */
    /* Of each stage, means per batch of the window: its thread on a core, and blocked (struct mx_stage_stats). NAN: the
     * stage did nothing, as the transfer on one device. */
    double cpu_ns[MX_STAGES], blocked_ns[MX_STAGES];
    struct mx_pipeline_levels levels;
    uint64_t data_bytes, data_limit_bytes; /* used and allowed on the device that prepares batches */
    uint64_t model_bytes,
        model_limit_bytes; /* used and allowed on the one that trains; the same values on one device */
    /* What the drivers measure for all programs together, at most a second old; memory_bytes 0: not available. */
    struct mx_device_load data_load, model_load;
    double variation;                 /* of the time per frame in the last complete window; NAN: there was none */
    char leak[MX_BUDGET_OWNER_BYTES]; /* owner of growing memory, reported once per episode; "": none */
    uint64_t leak_bytes;              /* its growth over the window of the budget */
};

struct mx_flow_watch {
    struct mx_pipeline *pipeline;
    struct mx_device *data, *model;
    struct mx_flow_watch_mark {
        uint64_t since_ns, wall_ns, data_busy_ns, model_busy_ns, data_wait_ns, transfer_ns, hidden_ns;
        double batches[MX_STAGES], cpu_ns[MX_STAGES], blocked_ns[MX_STAGES]; /* totals of each stage */
    } marks[MX_FLOW_WATCH_WINDOW]; /* after each of the newest steps, indexed by step modulo the window */
    struct mx_pipeline_stats last; /* after the newest step: the source of its report */
    uint64_t steps;
    struct mx_device_load data_load, model_load;
    uint64_t loads_ns; /* mx_clock_ns when the loads were last queried; 0: never */
    /* This window: time per frame, frames per step, and the statistics when it began. */
    struct mx_tally frame_ns, frames;
    struct mx_pipeline_stats begin;
    double variation; /* of the last window; NAN: there was none */
    int told;         /* the cause of the last warning, until it may be repeated; -1: none */
    uint64_t told_ns; /* when it was given */
};

void mx_flow_watch_start(struct mx_flow_watch *watch, struct mx_pipeline *pipeline, struct mx_device *data,
                         struct mx_device *model);
/* Call it after each step with the step's duration and frames. May log warnings. */
void mx_flow_watch_step(struct mx_flow_watch *watch, int64_t step, uint64_t step_ns, int64_t frames,
                        struct mx_flow_watch_report *out);

#endif
