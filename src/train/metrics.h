/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * metrics.jsonl of a run: one JSON object a line, the first key is always "step". The keys are those of the lists in
 * report.h, in their order:
 *
 *     {"step":12,"epoch":0,"loss":3.1,"mel":…,"prior":…,…,"lr":…,"grad_norm":…,…,"step_ms":…,…,"steps":…,"time":…}
 *     {"step":500,"evaluation":{"utterances":16,"loss":…,…,"spoken":16,"mel_db":…,"duration_error":…,
 *      "pitch_semitones":…}}
 *
 * The last three of an evaluation are null if nothing could be spoken, and the last one if nothing of it is voiced.
 *
 * With work sharing (train/share_policy.h) "share" and "shared_frames" stand before "skipped": the part of the frames that
 * the data device was to train on, and how many it did.
 *
 * Busy and wait are shares (0 to 1) of the last steps, loaded, prepared and arrived the batches that wait at each
 * stage, bytes what both devices use (train/flow_watch.h), each with its limit; arrived_limit 0 means that one device does
 * everything. "transfer" is the share of time in which batches were on their way between the devices, "transfer_hidden"
 * that in which the model trained meanwhile. "steps" is the last step of the run as planned, "time" when the step
 * ended, in seconds since 1970. A step in which memory is found to grow has "leak":"owner" and "leak_bytes", too;
 * where a device's driver tells them (NVML), "data_driver_busy", "data_driver_bytes", "model_driver_busy" and
 * "model_driver_bytes" are how busy it is and what is used of its memory by all programs together.
 *
 * Numbers are the shortest that read back to the same bits; what is not finite is null. All of a step from "step_ms" on
 * are its times; what stands before is the same in a run that was interrupted and in one that was not. Each line is
 * written whole and at once, so a killed run has lost at most the line it was writing.
 *
 * The reader takes lines of this program, older and newer ones included: keys that it does not know are passed over,
 * those that are not there have no value.
 *
 * Memory: the writer owns its file, one line of text, which is reused, and room for lines that wait.
 */
#ifndef MX_TRAIN_METRICS_H
#define MX_TRAIN_METRICS_H

#include "train/trainer.h"

#define MX_METRICS_START      "{\"step\":"       /* of every line, before the number of the step */
#define MX_METRICS_EVALUATION ",\"evaluation\":" /* after it, in the lines of evaluations */

struct mx_metrics;

/* ---- writing ---- */

/* Opens `path` to go on after step `step`: lines of later steps, and one that was cut off, are removed. If that cannot
 * be done now, it is a warning, and tried again with each line. */
int mx_metrics_open(const char *path, int64_t step, struct mx_metrics **out);
void mx_metrics_close(struct mx_metrics *metrics); /* NULL is fine */

/* The last step of the run, for those who watch it. */
void mx_metrics_plan(struct mx_metrics *metrics, int64_t steps);

/* What cannot be written (full disk) is a warning; it waits, up to 4 MiB, and follows when there is room again. What
 * finds no room there either is counted. */
void mx_metrics_step(struct mx_metrics *metrics, const struct mx_trainer_report *report);
void mx_metrics_evaluation(struct mx_metrics *metrics, int64_t step, const struct mx_trainer_evaluation *evaluation);

/* ---- reading (metrics_read.c) ---- */

struct mx_metrics_record {
    bool is_evaluation;
    struct mx_step_metrics step; /* of an evaluation: the number of its step alone */
    struct mx_evaluation_metrics evaluation;
    bool evaluation_has[MX_EVALUATION_METRICS]; /* keys that the line has, be their value null */
    const char *leak;                           /* in the line; NULL: none */
    size_t leak_length;
};

/* One line, without its newline. Allocates nothing. False: the line is damaged, and nothing in `out` can be used. */
bool mx_metrics_read(const char *line, size_t length, struct mx_metrics_record *out);

#endif
