/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The loop of a training run, see train_job.h: step, tell, evaluate, save, until the end, a signal or the time limit.
 *
 * A signal ends the run after the step that is under way, saved. A second one ends the program at once.
 */
#include <inttypes.h>
#include <math.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/interrupt.h"
#include "cli/train_job.h"

/* Evaluates, tells, and remembers the best by the free-running distance, where every text could be spoken. */
static int evaluation_run(struct mx_train_job *job, bool *best)
{
    int rc = 0;
    const int64_t step = mx_trainer_state(job->trainer)->step;
    struct mx_trainer_evaluation *const e = &job->evaluation;
    *best = false;
    if (mx_trainer_validation_count(job->trainer) == 0) return 0;
    MX_TRY(mx_trainer_evaluate(job->trainer, e));
    job->evaluated = true;
    if (e->utterances == 0) return 0;
    MX_TRY(mx_metrics_evaluation(job->metrics, step, e));
    MX_TRY(mx_train_job_samples(job));
    mx_info("step %" PRId64 ": validation loss %.4f (mel %.4f, duration %.4f, pitch %.4f); spoken: %.2f dB from the "
            "recordings, duration off by %.0f %%, pitch by %.1f semitones",
            step, e->losses.total, e->losses.values[MX_LOSS_MEL], e->losses.values[MX_LOSS_DURATION],
            e->losses.values[MX_LOSS_PITCH], e->mel_db, 100 * e->duration_error, e->pitch_error);
    if (e->spoken < e->utterances) {
        mx_info("step %" PRId64 ": %" PRIu32 " of %" PRIu32 " would have become too long to be spoken", step,
                e->utterances - e->spoken, e->utterances);
        return 0;
    }
    if (isfinite(e->mel_db) && (!job->has_best || e->mel_db < job->best)) {
        job->has_best = *best = true;
        job->best = e->mel_db;
        job->best_step = (uint64_t)step;
    }
out:
    return rc;
}

/* Has it been too long since the best evaluation? Steps count, not evaluations, so that resuming changes nothing. */
static bool patience_over(const struct mx_train_job *job, int64_t step)
{
    const struct mx_settings_training *const t = &job->settings.training;
    if (t->early_stopping == 0 || t->eval_every == 0 || !job->has_best) return false;
    return step - (int64_t)job->best_step >= t->early_stopping * t->eval_every;
}

/* One step and what is due after it. *saved tells whether the state of now is on the disk. */
static int step_run(struct mx_train_job *job, struct mx_progress *progress, bool *saved, bool *enough)
{
    int rc = 0;
    bool best = false;
    struct mx_trainer_report report;
    const struct mx_settings_training *const t = &job->settings.training;
    rc = mx_trainer_step(job->trainer, &report);
    if (rc < 0) {
        const struct mx_error failure = *mx_error_last();
        if (report.step_ns > 0) (void)mx_metrics_step(job->metrics, &report);
        return mx_error_restore(&failure);
    }
    MX_TRY(mx_metrics_step(job->metrics, &report));
    mx_progress_note(progress, "loss %.3f  mel %.3f  lr %.1e  %.0f frames/s", report.losses.total,
                     report.losses.values[MX_LOSS_MEL], report.rate,
                     (double)report.frames * 1e9 / (double)report.step_ns);
    mx_progress_add(progress, 1);
    const bool end = report.step >= job->steps;
    if (end || (t->eval_every > 0 && report.step % t->eval_every == 0)) {
        MX_TRY(evaluation_run(job, &best));
        *enough = patience_over(job, report.step);
    }
    *saved = end || *enough || best || report.step % t->save_every == 0;
    if (*saved) MX_TRY(mx_train_job_save(job, best));
out:
    return rc;
}

int mx_train_job_run(struct mx_train_job *job)
{
    int rc = 0;
    bool saved = true, enough = false;
    struct mx_interrupt interrupt;
    struct mx_progress *progress = NULL;
    const uint64_t begin = mx_clock_ns();
    const double limit = job->settings.training.max_minutes * 60e9;
    const struct mx_trainer_state *const state = mx_trainer_state(job->trainer);
    if (state->step >= job->steps) {
        mx_info("step %" PRId64 " was the last one: nothing is left to do", state->step);
        return 0;
    }
    const atomic_bool *const stop = mx_interrupt_watch(&interrupt);
    MX_TRY(mx_progress_start(&(struct mx_progress_options){.title = "Training",
                                                           .unit = "steps",
                                                           .total = (uint64_t)(job->steps - state->step)},
                             &progress));
    while (state->step < job->steps && !enough && !atomic_load(stop)) {
        if (limit > 0 && (double)(mx_clock_ns() - begin) >= limit) {
            mx_info("the time limit of %g minutes is reached", job->settings.training.max_minutes);
            bool best = false;
            if (!saved) MX_TRY(evaluation_run(job, &best));
            if (!saved) MX_TRY(mx_train_job_save(job, best));
            saved = true;
            break;
        }
        MX_TRY(step_run(job, progress, &saved, &enough));
    }
    if (!saved) MX_TRY(mx_train_job_save(job, false));
    if (enough)
        mx_info("nothing better since step %" PRIu64 ": training ends early, after step %" PRId64, job->best_step,
                state->step);
    if (!enough && atomic_load(stop) && state->step < job->steps) {
        MX_FAIL(MX_ERR_INTERRUPTED, NULL, "interrupted after step %" PRId64 "; everything is saved", state->step);
        MX_TRY(mx_error_hint("'myxtts train --resume %s' goes on", job->run));
    }
out:
    mx_progress_finish(progress);
    mx_interrupt_leave(&interrupt);
    return rc;
}
