/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training runs for other programs, see myxtts/train.h: a job (job.h) of one process whose loop belongs to the caller.
 *
 * The log belongs to the process, and log.txt of a run is part of it, so only one run can be open.
 *
 * Memory: a run is one block that owns its job and the job's settings.
 */
#include "myxtts/train.h"

#include <math.h>

#include "base/alloc.h"
#include "base/argument.h"
#include "base/log.h"
#include "run/job.h"
#include "run/length.h"
#include "run/observer/observer.h"
#include "run/state.h"
#include "run/turn.h"

struct mx_train {
    struct mx_job job;
    bool best_unsaved;         /* the last evaluation was the best, and there is no checkpoint of it yet */
    struct mx_job_best before; /* the best evaluation before it, if best_unsaved */
    bool failed;               /* the last step or evaluation */
};

static atomic_bool is_open; /* a run of this process */

/* ---- open and close ---- */

static int options_check(const struct mx_train_options *o)
{
    if (o->settings == NULL && o->setting_count > 0)
        return MX_FAIL(MX_ERR_ARGUMENT, "set 'settings' and 'setting_count' together, or neither",
                       "NULL cannot have %zu settings", o->setting_count);
    for (size_t i = 0; i < o->setting_count; i++)
        if (o->settings[i] == NULL)
            return MX_FAIL(MX_ERR_ARGUMENT, "each is a string \"SECTION.KEY=VALUE\"", "settings[%zu] is NULL", i);
    if (o->output == NULL && o->resume == NULL)
        return MX_FAIL(MX_ERR_ARGUMENT,
                       "set 'output', the folder of a new run, or 'resume', the folder of a run to continue",
                       "the run has no folder");
    if (o->output != NULL && o->resume != NULL)
        return MX_FAIL(MX_ERR_ARGUMENT, "set one of them: a resumed run continues in its own folder",
                       "'output' and 'resume' contradict each other");
    if (o->resume != NULL && (o->init_from != NULL || o->config != NULL))
        return MX_FAIL(MX_ERR_ARGUMENT, "change single settings with 'settings'",
                       "'resume' takes the weights and settings of the run: '%s' contradicts it",
                       o->init_from != NULL ? "init_from" : "config");
    return 0;
}

/* On failure there is nothing to release. */
static int settings_read(const struct mx_train_options *o, struct mx_settings *out)
{
    int rc = o->resume != NULL ? mx_settings_resume(o->resume, o->settings, o->setting_count, out)
                               : mx_settings_read(o->config, o->settings, o->setting_count, out);
    if (rc < 0) return rc;
    if (out->data.train_data[0] == '\0')
        MX_RAISE(MX_ERR_ARGUMENT, "put \"data.train_data=DIR\" into 'settings'", "there is nothing to train on");
    MX_TRY(mx_settings_complete(out));
out:
    if (rc < 0) mx_config_release(&mx_settings_schema, out);
    return rc;
}

static int run_open(struct mx_train *run, const struct mx_train_options *o)
{
    int rc = 0;
    struct mx_job *const job = &run->job;
    job->stop = o->stop;
    MX_TRY(mx_job_open(job, false));
    MX_TRY(mx_job_start(job));
    mx_trainer_watch(job->trainer, o->stop);
    mx_trainer_evaluation_watch(job->trainer, NULL, NULL, o->stop);
    job->observer = mx_job_observer_open(job);
out:
    return rc;
}

/* Also of one that could not be opened; NULL: not even made. The current error stays. */
static void run_free(struct mx_train *run)
{
    if (run != NULL) {
        mx_job_close(&run->job);
        mx_config_release(&mx_settings_schema, &run->job.settings);
        mx_free(run);
    }
    (void)mx_log_configure(NULL); /* closes log.txt */
    atomic_store(&is_open, false);
}

int mx_train_open(const struct mx_train_options *options, struct mx_train **out)
{
    int rc = 0;
    struct mx_train *run = NULL;
    MX_NEED(out, "a place for the run");
    *out = NULL;
    MX_NEED(options, "the options");
    const struct mx_log_options log = {.level = options->quiet ? MX_LOG_WARN : MX_LOG_INFO};
    if (atomic_exchange(&is_open, true))
        return MX_FAIL(MX_ERR_ARGUMENT, "close it first, or start another process",
                       "a training run is open in this process");
    MX_TRY(options_check(options));
    MX_TRY(mx_log_configure(&log));
    MX_TRY(mx_log_hold()); /* for log.txt */
    run = mx_alloc(1, sizeof *run);
    if (run == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    run->job.request =
        (struct mx_job_request){.output = options->output,
                                .resume = options->resume,
                                .init_from = options->init_from,
                                .size_said = mx_settings_size_said(options->settings, options->setting_count)};
    MX_TRY(settings_read(options, &run->job.settings));
    MX_TRY(run_open(run, options));
    *out = run;
out:
    if (rc < 0) run_free(run);
    return rc;
}

void mx_train_close(struct mx_train *run)
{
    if (run == NULL) return;
    const bool whole = mx_trainer_state(run->job.trainer)->step >= run->job.steps;
    const enum mx_run_state over = mx_job_auto_learned(&run->job) ? MX_RUN_LEARNED : MX_RUN_DONE;
    mx_job_observer_close(run->job.observer, run->failed ? MX_RUN_FAILED : whole ? over : MX_RUN_INTERRUPTED);
    run->job.observer = NULL;
    run_free(run);
}

/* ---- the loop ---- */

/* Remembers how a step or an evaluation ended. */
static int end_of(struct mx_train *run, int rc)
{
    run->failed = rc < 0 && rc != MX_ERR_INTERRUPTED;
    return rc;
}

int mx_train_step(struct mx_train *run, struct mx_train_report *report)
{
    MX_NEED(report, "a place for the report");
    *report = (struct mx_train_report){0};
    MX_NEED(run, "an open run");
    struct mx_job *const job = &run->job;
    struct mx_trainer_report r;
    *report = (struct mx_train_report){.steps = job->steps};
    if (mx_trainer_state(job->trainer)->step >= job->steps) return 1;
    if (job->stop != NULL && atomic_load(job->stop))
        return end_of(run, MX_FAIL(MX_ERR_INTERRUPTED, NULL, "training was interrupted"));
    int rc = mx_job_step(job, &r);
    if (rc < 0 && r.step_ns == 0) return end_of(run, rc);
    if (run->best_unsaved) { /* too late: the weights are no longer those of the best evaluation */
        job->best = run->before;
        run->best_unsaved = false;
    }
    job->evaluations.due = false; /* the caller decides that */
    *report = (struct mx_train_report){.step = r.step,
                                       .steps = job->steps,
                                       .epoch = r.epoch,
                                       .loss = r.losses.total,
                                       .learning_rate = r.rate,
                                       .grad_norm = r.grad_norm,
                                       .utterances = r.utterances,
                                       .frames = r.frames,
                                       .skipped = r.guard.verdict > MX_GUARD_SPIKE,
                                       .step_ns = r.step_ns,
                                       .wait_ns = r.wait_ns};
    if (rc >= 0) rc = mx_job_step_report(job, &r);
    return end_of(run, rc);
}

int mx_train_evaluate(struct mx_train *run, struct mx_train_evaluation *out)
{
    MX_NEED(out, "a place for the evaluation");
    *out = (struct mx_train_evaluation){.loss = NAN, .mel_db = NAN, .duration_error = NAN, .pitch_error = NAN};
    MX_NEED(run, "an open run");
    struct mx_job *const job = &run->job;
    const struct mx_job_best before = job->best;
    bool best;
    if (mx_trainer_validation_count(job->trainer) == 0) return 0;
    const int rc = end_of(run, mx_job_evaluate(job, &best));
    if (rc < 0) return rc;
    job->evaluations.due = false;
    mx_job_auto_check(job);
    const struct mx_trainer_evaluation *const e = &job->evaluations.last;
    *out = (struct mx_train_evaluation){.utterances = e->utterances,
                                        .loss = e->losses.total,
                                        .spoken = e->spoken,
                                        .mel_db = e->mel_db,
                                        .duration_error = e->duration_error,
                                        .pitch_error = e->pitch_error,
                                        .best = best};
    if (!best) return 0;
    run->best_unsaved = true;
    run->before = before;
    return 0;
}

int mx_train_save(struct mx_train *run)
{
    MX_NEED(run, "an open run");
    mx_job_observer_flush(run->job.observer);
    const int rc = mx_job_save(&run->job, run->best_unsaved);
    if (rc == 0) run->best_unsaved = false;
    return rc;
}
