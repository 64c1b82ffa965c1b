/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * metrics.jsonl of a run: one JSON object a line, the first key is always "step". The keys are those of the lists in
 * report.h, in their order:
 *
 *     {"step":12,"epoch":0,"loss":3.1,"mel":…,"prior":…,…,"lr":…,"grad_norm":…,…,"step_ms":…,…,"steps":…,"time":…}
 *     {"step":500,"evaluation":{"utterances":16,"loss":…,…,"spoken":16,"mel_db":…,"duration_error":…,
 *      "pitch_semitones":…}}
 *
 * In an evaluation the last three are null if nothing could be spoken, and the last one also if no frame is voiced.
 *
 * With work sharing (train/share_policy.h) "share" and "shared_frames" come before "skipped": the share of the frames
 * assigned to the data device, and the number it trained on.
 *
 * Busy and wait are shares (0 to 1) of the last steps; loaded, prepared and arrived are the batches waiting at each
 * stage; bytes are what both devices use (train/flow_watch.h), each with its limit; arrived_limit 0 means that one
 * device does everything. "transfer" is the share of time during which batches were moving between the devices,
 * "transfer_hidden" the share of time during which they were and the model trained. "variation" is that of the last whole
 * window of steps, null before there is one. "steps" is the last planned step of the run, "time" the end of the step in
 * seconds since 1970. A step in which growing memory is found also has "leak":"owner" and "leak_bytes". If a device's
 * driver reports them (NVML), "data_driver_busy", "data_driver_bytes", "model_driver_busy" and "model_driver_bytes" say
 * how busy it is and how much of its memory all programs together use.
 *
 * Numbers are the shortest that read back to the same bits; numbers that are not finite are null. All keys of a step
 * from "step_ms" on are timings; everything before them is the same in an interrupted and an uninterrupted run. Each
 * line is written whole and at once, so a killed run loses at most the line it was writing.
 *
 * The reader accepts lines of this program in older and newer versions: it skips unknown keys, and missing keys have no
 * value.
 *
 * Memory: the writer owns its file, one line of text, which is reused, and room for lines that could not be written
 * yet.
 */
#ifndef MX_TRAIN_METRICS_H
#define MX_TRAIN_METRICS_H

#include "train/trainer.h"

#define MX_METRICS_START      "{\"step\":"       /* begins every line, before the number of the step */
#define MX_METRICS_EVALUATION ",\"evaluation\":" /* follows it in the lines of evaluations */

struct mx_metrics;

/* ---- writing ---- */

/* Opens `path` to continue after step `step`: removes lines of later steps and an incomplete last line. If that fails
 * now, it is a warning, and each new line tries again. */
int mx_metrics_open(const char *path, int64_t step, struct mx_metrics **out);
void mx_metrics_close(struct mx_metrics *metrics); /* NULL is fine */

/* Sets the last step of the run, for those who watch it. */
void mx_metrics_plan(struct mx_metrics *metrics, int64_t steps);

/* A line that cannot be written (full disk) is a warning; up to 4 MiB of lines are kept and written once there is room
 * again. Lines beyond that are counted. */
void mx_metrics_step(struct mx_metrics *metrics, const struct mx_trainer_report *report);
void mx_metrics_evaluation(struct mx_metrics *metrics, int64_t step, const struct mx_trainer_evaluation *evaluation);

/* ---- reading (metrics_read.c) ---- */

struct mx_metrics_record {
    bool is_evaluation;
    struct mx_step_metrics step; /* for an evaluation: only the number of its step */
    struct mx_evaluation_metrics evaluation;
    bool evaluation_has[MX_EVALUATION_METRICS]; /* keys that the line has, even with the value null */
    const char *leak;                           /* points into the line; NULL: none */
    size_t leak_length;
};

/* Reads one line, without its newline. Allocates nothing. False: the line is damaged, and `out` is unusable. */
bool mx_metrics_read(const char *line, size_t length, struct mx_metrics_record *out);

#endif
