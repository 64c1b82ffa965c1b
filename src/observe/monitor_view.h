/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What `myxtts monitor` knows about a run: the newest step, the newest evaluation and the history of loss and speed,
 * from the lines of metrics.jsonl (train/report/metrics.h) and from run.json (run.h). Both may be missing, older than this
 * program or truncated: missing values are unknown, and unreadable lines are counted and skipped.
 *
 * A history keeps at most MX_VIEW_POINTS values however long the run is: when it is full, every two values become one,
 * and from then on a value is the mean of twice as many steps.
 *
 * Memory: a plain value; nothing is allocated except by cJSON while run.json is read.
 */
#ifndef MX_OBSERVE_MONITOR_VIEW_H
#define MX_OBSERVE_MONITOR_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train/report/metrics.h"

#define MX_VIEW_POINTS  512
#define MX_VIEW_RECENT  32 /* steps that the estimate of the time left uses */
#define MX_VIEW_DEVICES 2

struct mx_view_course {
    double values[MX_VIEW_POINTS];
    size_t count;
    int64_t per; /* steps per value */
    double sum;  /* of the next value, so far */
    int64_t summed;
    int64_t first; /* step of the first value */
};

struct mx_view_device {
    char name[32], logical[16], description[96]; /* "cpu:0", "GPU:0" or "device 0", "AMD EPYC …" */
};

struct mx_view {
    bool has_step, has_evaluation, has_run;
    struct mx_step_metrics step; /* the newest */
    struct mx_evaluation_metrics evaluation;
    double best_mel_db, best_step; /* among evaluations that could speak every text; NAN: none */
    struct mx_view_course loss, speed;
    double recent_ms[MX_VIEW_RECENT];
    int64_t steps_seen, skipped, damaged;
    char leak[64]; /* owner of growing memory; "": none */
    double leak_step, leak_bytes;
    /* of run.json */
    char state[24], mode[48], failure[256];
    int device_count;
    struct mx_view_device devices[MX_VIEW_DEVICES]; /* data, model; or the one that is both */
    double run_steps, run_deadline; /* the latter in seconds since 1970; NAN: the run has no time limit */
    double run_data_busy, run_model_busy, run_data_wait; /* over all steps since its start; NAN: not known */
};

void mx_view_clear(struct mx_view *view); /* clears steps and evaluations; the values of run.json stay */
/* One line of metrics.jsonl. */
void mx_view_line(struct mx_view *view, const char *text, size_t length);
/* Reads the current run.json. False: it is unreadable, and nothing has changed. */
bool mx_view_run(struct mx_view *view, const char *text, size_t length);

/* What device 0 or 1 is called. */
const char *mx_view_logical(const struct mx_view *view, int device);
double mx_view_steps(const struct mx_view *view);        /* the last planned step; NAN: not known */
double mx_view_step_ms(const struct mx_view *view);      /* mean of the newest steps; NAN: not known */
double mx_view_seconds_left(const struct mx_view *view); /* NAN: not known */
/* How busy the devices were and how long data was missing: in the last steps, or in all steps of a run that ended. */
struct mx_view_flow {
    double data_busy, model_busy, data_wait;
};
struct mx_view_flow mx_view_flow(const struct mx_view *view);
/* Has the run ended, according to its files? */
bool mx_view_ended(const struct mx_view *view);
/* One value for each of `count` columns, from the whole history, or all values if there are fewer; returns their
 * number. */
size_t mx_view_course_columns(const struct mx_view_course *course, double *out, size_t count);

#endif
