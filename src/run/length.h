/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How long a run is in steps, and the schedules that follow from it (length.c); where a run ends that ends when it has
 * learned what it can (auto_stop.c), or when its time is over (time_limit.c).
 *
 * Plain values in the job (run/job.h); owns no memory.
 */
#ifndef MX_RUN_LENGTH_H
#define MX_RUN_LENGTH_H

#include <stdbool.h>
#include <stdint.h>

struct mx_job;

/* ---- length.c ---- */
/* Chooses the number of steps and the schedules that follow from it. MX_ERR_USAGE if the run is past that number. */
int mx_job_length_choose(struct mx_job *job);
/* Has the run that is to be resumed made all its steps, and evaluated the last one? Then there is nothing to start. */
bool mx_job_length_done(const struct mx_job *job);

/* ---- auto_stop.c ---- */
/* Where `training.auto_stop` is (auto_stop.c). */
struct mx_auto_stop {
    bool known;   /* there was an evaluation */
    double value; /* result of the last evaluation that was clearly better than those before: distance in dB */
    bool lacks;   /* `value` is its loss, because texts would have become too long to be spoken */
    int64_t step; /* the step of that evaluation */
    int64_t from; /* the learning rate decays from this step on, because evaluations gained nothing more; 0: not yet */
    int64_t end;  /* the last step, if `from` is set */
};

/* The most steps of a run that ends by itself; a resumed one continues where it was. Needs the plan. MX_ERR_USAGE
 * if it could never end by itself. */
int mx_job_auto_choose(struct mx_job *job);
void mx_job_auto_schedule(struct mx_job *job); /* once the schedules are set as in any other run */
void mx_job_auto_log(const struct mx_job *job);
/* After an evaluation: has it learned what it can? Then the learning rate falls from here on, and job->steps is the
 * last step. */
void mx_job_auto_check(struct mx_job *job);
/* In ranks that do not evaluate: what rank 0 has decided. 0: nothing yet. */
void mx_job_auto_follow(struct mx_job *job, int64_t from, int64_t end);
/* Is it over, and because nothing was gained any more? */
bool mx_job_auto_learned(const struct mx_job *job);
void mx_job_auto_end_log(const struct mx_job *job); /* logs that, or that there were too few steps for it */

/* ---- time_limit.c ---- */
/* Where the run ends because of `training.max_minutes` (time_limit.c). */
struct mx_job_limit {
    int64_t from;   /* the learning rate decays from this step on; 0: not yet, or the planned steps fit into the time */
    int64_t end;    /* the last step, if `from` is set */
    double minutes; /* the limit that both follow from */
    bool estimated; /* in this start */
};

/* A run that is resumed while its learning rate falls because of this limit continues to decay, to the same end. Call it when
 * the schedules are set as in any other run. */
void mx_job_limit_choose(struct mx_job *job);
/* When the loop began, when its first step was made, and now. */
struct mx_job_times {
    uint64_t begin_ns, first_ns, now_ns;
};
/* After `step`: once most of the time is over, estimates the steps for which there is time. If they are fewer than
 * planned, the learning rate falls to its floor with them. */
void mx_job_limit_estimate(struct mx_job *job, int64_t step, const struct mx_job_times *times);
/* In ranks other than the first: what that has found. 0: nothing. */
void mx_job_limit_follow(struct mx_job *job, int64_t from, int64_t end);
/* The time is over before the last of these steps: a run that is resumed has a limit of its own. Was one set? */
bool mx_job_limit_clear(struct mx_job *job);
/* Has it made the last step that there was time for? */
bool mx_job_limit_reached(const struct mx_job *job);

#endif
