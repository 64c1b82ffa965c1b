/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * metrics.jsonl of a run: one JSON object a line, the first key is always "step".
 *
 *     {"step":12,"epoch":0,"loss":3.1,"mel":…,"prior":…,"duration":…,"pitch":…,"energy":…,"lr":…,"grad_norm":…,
 *      "utterances":16,"left_out":0,"tokens":…,"frames":…,"skipped":false,"loss_z":…,"grad_z":…,
 *      "step_ms":…,"data_wait_ms":…,"frames_per_s":…,"data_busy":…,"model_busy":…,"data_wait":…,"transfer":…,
 *      "transfer_hidden":…,"loaded":…,"prepared":…,"arrived":…,"loaded_limit":…,"prepared_limit":…,
 *      "arrived_limit":…,"data_bytes":…,"model_bytes":…,"data_limit_bytes":…,"model_limit_bytes":…,
 *      "variation":…,"steps":…,"time":…}
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
 * Memory: the writer owns its file, one line of text, which is reused, and room for lines that wait.
 */
#ifndef MX_TRAIN_METRICS_H
#define MX_TRAIN_METRICS_H

#include "train/trainer.h"

struct mx_metrics;

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

#endif
