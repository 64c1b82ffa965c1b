/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What `myxtts monitor` knows of a run: the newest step, the newest evaluation and the course of loss and speed, from
 * the lines of metrics.jsonl (train/metrics.h) and from run.json (run.h). Both may be missing, older than this program
 * or cut off: what is not there is not known, what cannot be read is counted and passed over.
 *
 * A course keeps at most MX_VIEW_POINTS values however long the run is: when they are used up, each two become one, and
 * from then on a value is the mean of twice as many steps.
 *
 * Memory: a plain value; nothing is allocated except by cJSON while run.json is read.
 */
#ifndef MX_OBSERVE_MONITOR_VIEW_H
#define MX_OBSERVE_MONITOR_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train/metrics.h"

#define MX_VIEW_POINTS  512
#define MX_VIEW_RECENT  32 /* steps that the time left follows */
#define MX_VIEW_DEVICES 2

struct mx_view_course {
    double values[MX_VIEW_POINTS];
    size_t count;
    int64_t per; /* steps of a value */
    double sum;  /* of the next value, so far */
    int64_t summed;
    int64_t first; /* step of the first value */
};

struct mx_view_device {
    char name[32], description[96]; /* "cpu:0", "AMD EPYC …" */
};

struct mx_view {
    bool has_step, has_evaluation, has_run;
    struct mx_step_metrics step; /* the newest */
    struct mx_evaluation_metrics evaluation;
    double best_mel_db, best_step; /* of all evaluations that could speak every text; NAN: none */
    struct mx_view_course loss, speed;
    double recent_ms[MX_VIEW_RECENT];
    int64_t steps_seen, skipped, damaged;
    char leak[64]; /* owner of memory that was found to grow; "": none */
    double leak_step, leak_bytes;
    /* of run.json */
    char state[24], mode[48], failure[256];
    int device_count;
    struct mx_view_device devices[MX_VIEW_DEVICES]; /* data, model; or the one that is both */
    double run_steps;
    double run_data_busy, run_model_busy, run_data_wait; /* of all steps since its start; NAN: not known */
};

void mx_view_clear(struct mx_view *view); /* of steps and evaluations; what run.json said stays */
/* One line of metrics.jsonl. */
void mx_view_line(struct mx_view *view, const char *text, size_t length);
/* run.json as it is now. False: it could not be read, and nothing has changed. */
bool mx_view_run(struct mx_view *view, const char *text, size_t length);

double mx_view_steps(const struct mx_view *view);        /* the last step as planned; NAN: not known */
double mx_view_step_ms(const struct mx_view *view);      /* mean of the newest steps; NAN: not known */
double mx_view_seconds_left(const struct mx_view *view); /* NAN: not known */
/* How busy the devices were and how long data was missing: of the last steps, or of all steps of a run that ended. */
struct mx_view_flow {
    double data_busy, model_busy, data_wait;
};
struct mx_view_flow mx_view_flow(const struct mx_view *view);
/* Has the run ended, as far as its files tell? */
bool mx_view_ended(const struct mx_view *view);
/* One value for each of `count` columns, from the whole course, or all there are if they are fewer; returns how many.
 */
size_t mx_view_course_columns(const struct mx_view_course *course, double *out, size_t count);

#endif
