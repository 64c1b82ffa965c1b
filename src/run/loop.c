/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The loop of a training run, see job.h: step, report, evaluate, save, until the end, a signal or the time limit.
 *
 * A signal ends the run after the current step and saves it. A second one ends the program at once. An evaluation does
 * not delay the end: it is abandoned, and repeated when the run is resumed, so that the results stay complete.
 *
 * A disk that is full for a while delays what could not be written meanwhile, but never ends the run: growing files get
 * the rest once there is room again, and saving a checkpoint is tried again at the next occasion. Only at the end must
 * it succeed.
 */
#include <inttypes.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/progress.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "run/interrupt.h"
#include "run/job.h"
#include "run/length.h"
#include "run/networks.h"
#include "run/observer/observer.h"
#include "run/ranks.h"
#include "run/state.h"
#include "run/turn.h"

#define SAVE_AGAIN_NS UINT64_C(30000000000) /* after a checkpoint could not be saved */

/* Shows the progress of an evaluation in the status line. */
static void evaluation_report(void *context, double done)
{
    struct mx_job *const job = context;
    mx_progress_note(job->progress, "evaluating, %.0f %% done", 100 * done);
    mx_progress_add(job->progress, 0);
}

/* ---- the start ---- */

/* With two devices: gives the data device the start delay to bring its first batch to the model device, and continues as
 * soon as it is there. False: it is not there yet; the first step says what is missing and waits on. */
static bool warm_up(const struct mx_job *job, const atomic_bool *stop)
{
    const char *const mode = mx_mode_name(&job->devices.choice);
    const double delay = job->settings.pipeline.model_start_delay;
    const uint64_t begin = mx_clock_ns(), end = begin + (uint64_t)(delay * 1e9);
    const struct timespec moment = {.tv_nsec = 1000000};
    struct mx_pipeline_levels levels = {0};
    char place[MX_DEVICE_PAIR_PLACE_BYTES];
    if (!mx_device_pair_multi(&job->devices)) return true;
    if (!job->settings.pipeline.overlap) {
        mx_info("✅ Model training starting now");
        return true;
    }
    mx_info("🕐 %s: Waiting up to %.1fs for data pipeline to warm up...", mode, delay);
    for (;;) {
        mx_pipeline_levels(mx_trainer_pipeline(job->trainer), &levels);
        if (levels.arrived > 0 || mx_clock_ns() >= end || atomic_load(stop)) break;
        nanosleep(&moment, NULL);
    }
    if (levels.arrived == 0) return false;
    mx_info("✅ Model training starting now: the first batch is on %s after %.2fs",
            mx_device_pair_place(&job->devices, job->device, place), (double)(mx_clock_ns() - begin) * 1e-9);
    return true;
}

/* The first batch came late: training begins only now. */
static void start_log(void *context)
{
    (void)context;
    mx_info("✅ Model training has started");
}

/* ---- while it runs ---- */

/* Has it been too long since the best evaluation? Steps count, not evaluations, so that resuming changes nothing. */
static bool patience_over(const struct mx_job *job, int64_t step)
{
    const struct mx_settings_training *const t = &job->settings.training;
    if (t->early_stopping == 0 || t->eval_every == 0 || !job->best.known) return false;
    return step - (int64_t)job->best.step >= t->early_stopping * t->eval_every;
}

/* Where the loop is. */
struct loop {
    struct mx_interrupt interrupt;
    struct mx_job_times times;
    struct mx_trainer_report report; /* of the newest step */
    bool best;                       /* its evaluation is the best so far */
    struct mx_job_best before;       /* the best evaluation before it */
    bool saved;                      /* the state of now is on the disk */
    /* What ends it before its last step. */
    bool enough;  /* nothing better came for too long */
    bool late;    /* the time limit is reached */
    bool stopped; /* a signal came, here or in another rank */
};

/* ---- saving ---- */

/* Saves. A disk that is full does not end the run: loop->saved is false, and it is tried again. Then the best is still
 * the one before, which is on the disk. */
static int save_try(struct mx_job *job, struct loop *loop)
{
    mx_job_observer_flush(job->observer);
    const int rc = mx_job_save(job, loop->best);
    loop->saved = rc == 0;
    if (rc == 0 && job->saved.again_ns != 0)
        mx_info("step %" PRId64 ": checkpoints can be saved again", job->saved.step);
    job->saved.again_ns = 0;
    if (rc != MX_ERR_IO && rc != MX_ERR_NOT_FOUND) return rc;
    mx_warn("%s; training continues, and saving will be tried again", mx_error_last()->message);
    mx_error_clear();
    job->saved.again_ns = mx_clock_ns() + SAVE_AGAIN_NS;
    if (!loop->best) return 0;
    job->best = loop->before;
    return 0;
}

/* At the end of a run nothing is left to try. */
static int save_last(struct mx_job *job, bool best)
{
    const int rc = mx_job_save(job, best);
    if (rc != MX_ERR_IO && rc != MX_ERR_NOT_FOUND) return rc;
    if (rc == MX_ERR_NOT_FOUND)
        return mx_error_hint("the folder was removed while the run trained: start again, and leave it where it is");
    if (job->saved.step > 0)
        return mx_error_hint("free some space there; 'myxtts train --resume %s' then continues from step %" PRId64
                             ", the last one saved",
                             job->run, job->saved.step);
    return mx_error_hint("free some space there and start again: no step of this run was saved");
}

/* The run ends because of the current error, between two steps: what it has learned so far is saved. */
static int failure_save(struct mx_job *job, struct loop *loop)
{
    const struct mx_error failure = *mx_error_last();
    const int64_t step = mx_trainer_state(job->trainer)->step;
    if (loop->saved) return failure.code;
    loop->saved = mx_job_save(job, false) == 0;
    if (loop->saved)
        mx_info("everything up to step %" PRId64 " is saved: 'myxtts train --resume %s' continues from there", step,
                job->run);
    else
        mx_warn("step %" PRId64 " could not be saved: %s", step, mx_error_last()->message);
    return mx_error_restore(&failure);
}

/* ---- a turn: step, report, evaluate, save ---- */

/* Waits for the data of a step and trains. *made is false if a signal came while it waited: as if it had not begun. */
static int step_run(struct mx_job *job, struct loop *loop, bool *made)
{
    struct mx_trainer_report *const report = &loop->report;
    const struct mx_settings_training *const t = &job->settings.training;
    const int rc = mx_job_step(job, report);
    *made = rc == 0;
    if (rc == MX_ERR_INTERRUPTED) return 0;
    if (rc < 0) {
        /* Ranks wait for each other while a step is under way: then there is nothing that could be read. */
        const bool waits = job->options.comm != NULL && report->frames > 0;
        return report->step_ns > 0 || waits ? rc : failure_save(job, loop);
    }
    loop->saved = false;
    if (loop->times.first_ns == 0) loop->times.first_ns = mx_clock_ns();
    /* Also if the run ends here: then the evaluation is made when the run is resumed. */
    job->evaluations.due = report->step >= job->steps || (t->eval_every > 0 && report->step % t->eval_every == 0);
    return 0;
}

/* Evaluates, if that is due. After a signal it stays due. */
static int evaluate(struct mx_job *job, struct loop *loop)
{
    loop->best = false;
    loop->before = job->best;
    if (!job->evaluations.due) return 0;
    const int rc = mx_job_evaluate(job, &loop->best);
    if (rc < 0 && rc != MX_ERR_INTERRUPTED) return rc;
    if (loop->report.step > 0) mx_job_status(job, &loop->report);
    if (rc == MX_ERR_INTERRUPTED) {
        mx_error_clear();
        return 0;
    }
    job->evaluations.due = false;
    loop->enough = patience_over(job, mx_trainer_state(job->trainer)->step);
    mx_job_auto_check(job);
    return 0;
}

/* Saves, if that is due. Before an evaluation that a signal has held up it is not: the end of the loop saves. */
static int save(struct mx_job *job, struct loop *loop)
{
    const int64_t step = mx_trainer_state(job->trainer)->step;
    const bool again = job->saved.again_ns != 0 && mx_clock_ns() >= job->saved.again_ns;
    const bool due =
        step >= job->steps || loop->enough || loop->best || again || step % job->settings.training.save_every == 0;
    return due && !job->evaluations.due ? save_try(job, loop) : 0;
}

/* After a step, evaluates and saves. */
static int between_steps(struct mx_job *job, struct loop *loop)
{
    int rc = 0;
    mx_progress_pause(job->progress, true);
    MX_TRY(evaluate(job, loop));
    MX_TRY(save(job, loop));
out:
    mx_progress_pause(job->progress, false);
    return rc;
}

/* ---- the whole ---- */

/* 0: none. */
static uint64_t limit_ns(const struct mx_job *job)
{
    return (uint64_t)(job->settings.training.max_minutes * 60e9);
}

static int loop_begin(struct mx_job *job, struct loop *loop)
{
    int rc = 0;
    const int64_t step = mx_trainer_state(job->trainer)->step;
    *loop = (struct loop){.times.begin_ns = mx_clock_ns()};
    /* A new run that is interrupted before its first step is saved, too, so that it can be resumed. */
    loop->saved = job->request.resume != NULL && !job->evaluations.due;
    job->stop = mx_interrupt_watch(&loop->interrupt, true);
    if (job->options.comm == NULL) /* ranks end a step together or not at all */
        mx_trainer_watch(job->trainer, job->stop);
    job->observer = mx_job_observer_open(job);
    if (!warm_up(job, job->stop)) mx_trainer_begin_watch(job->trainer, start_log, NULL);
    /* How many it will be is not known before auto-stop has decided. */
    const bool open = job->settings.training.auto_stop && job->auto_stop.from == 0;
    MX_TRY(mx_progress_start(&(struct mx_progress_options){.title = "Training",
                                                           .unit = "steps",
                                                           .total = open ? 0 : (uint64_t)(job->steps - step)},
                             &job->progress));
    if (limit_ns(job) > 0) mx_progress_deadline(job->progress, loop->times.begin_ns + limit_ns(job));
    mx_trainer_evaluation_watch(job->trainer, evaluation_report, job, job->stop);
out:
    return rc;
}

/* Before a step: does anything end the run here? All ranks give the same answer. */
static int end_check(struct mx_job *job, struct loop *loop)
{
    struct mx_job_times *const t = &loop->times;
    t->now_ns = mx_clock_ns();
    mx_interrupt_renew(&loop->interrupt);
    loop->late = !loop->enough && limit_ns(job) > 0 && t->now_ns - t->begin_ns >= limit_ns(job);
    mx_job_limit_estimate(job, mx_trainer_state(job->trainer)->step, t);
    loop->stopped = !loop->enough && atomic_load(job->stop);
    bool over = loop->enough || loop->late; /* rank 0, which runs this, decides it; the others must follow */
    return mx_job_ranks_agree(job, &loop->stopped, &over);
}

/* The time is over: evaluates once more, unless that was just done or a signal comes, and saves. */
static int late_finish(struct mx_job *job, struct loop *loop)
{
    int rc = 0;
    bool best = false;
    mx_info("the time limit of %g minutes is reached", job->settings.training.max_minutes);
    if (!mx_job_limit_clear(job) && loop->saved) return 0;
    if (!loop->saved && mx_trainer_state(job->trainer)->step > 0) {
        rc = mx_job_evaluate(job, &best);
        if (rc == MX_ERR_INTERRUPTED) mx_error_clear();
        if (rc != MX_ERR_INTERRUPTED) MX_TRY(rc);
    }
    mx_progress_note(job->progress, "time limit");
    MX_TRY(save_last(job, best));
    loop->saved = true;
out:
    return rc;
}

/* Logs how the run ended. MX_ERR_INTERRUPTED if that is not how it was meant to end. */
static int end_log(const struct mx_job *job, const struct loop *loop)
{
    const struct mx_trainer_state *const state = mx_trainer_state(job->trainer);
    if (state->shares.count > 0) {
        char list[MX_SHARES_TEXT_BYTES];
        mx_shares_format(&state->shares, list);
        mx_info("work sharing: '--share-work on --shares %s' repeats this run", list);
    }
    mx_job_vocoder_share_log(job);
    if (loop->enough)
        mx_info("no improvement since step %" PRIu64 ": training ends early, after step %" PRId64, job->best.step,
                state->step);
    if (mx_job_limit_reached(job))
        mx_info("the steps for which there was time within the limit of %g minutes are made", job->limit.minutes);
    mx_job_auto_end_log(job);
    if ((!loop->stopped || state->step >= job->steps) && !job->evaluations.due) return 0;
    MX_FAIL(MX_ERR_INTERRUPTED, NULL, "interrupted after step %" PRId64 "; everything is saved", state->step);
    return mx_error_hint("'myxtts train --resume %s' continues the run", job->run);
}

static enum mx_run_state state_of(const struct mx_job *job, int rc, const struct loop *loop)
{
    if (rc == MX_ERR_INTERRUPTED) return MX_RUN_INTERRUPTED;
    if (rc >= 0 && mx_job_auto_learned(job)) return MX_RUN_LEARNED;
    const bool late = loop->late || mx_job_limit_reached(job);
    return rc < 0 ? MX_RUN_FAILED : loop->enough ? MX_RUN_EARLY : late ? MX_RUN_TIME : MX_RUN_DONE;
}

static void loop_end(struct mx_job *job, const struct loop *loop, int rc)
{
    mx_trainer_evaluation_watch(job->trainer, NULL, NULL, NULL);
    mx_progress_finish(job->progress);
    job->progress = NULL;
    mx_job_observer_close(job->observer, state_of(job, rc, loop));
    job->observer = NULL;
    mx_trainer_watch(job->trainer, NULL);
    job->stop = NULL;
    mx_interrupt_restore(&loop->interrupt);
}

int mx_job_run(struct mx_job *job)
{
    int rc = 0;
    struct loop loop;
    const struct mx_trainer_state *const state = mx_trainer_state(job->trainer);
    MX_TRY(loop_begin(job, &loop));
    if (job->evaluations.due) MX_TRY(between_steps(job, &loop)); /* the run ended before it was made */
    while (state->step < job->steps) {
        bool made;
        MX_TRY(end_check(job, &loop));
        if (loop.stopped || loop.enough || loop.late) break;
        MX_TRY(step_run(job, &loop, &made));
        if (!made) continue; /* a signal came: the next check ends the run */
        if (mx_job_step_report(job, &loop.report) < 0 || between_steps(job, &loop) < 0)
            MX_TRY(failure_save(job, &loop));
    }
    if (loop.late && !loop.stopped) MX_TRY(late_finish(job, &loop));
    if (!loop.saved) MX_TRY(save_last(job, false));
    MX_TRY(end_log(job, &loop));
out:
    loop_end(job, &loop, rc);
    return rc;
}
