/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How long a run is, in steps, and the schedules that follow from it. See length.h.
 *
 * Plain values in the job; owns no memory.
 */
#include <inttypes.h>

#include "base/log.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "run/job.h"
#include "run/length.h"
#include "run/networks.h"
#include "run/state.h"

/* The steps of all epochs. */
static int64_t epochs_steps(const struct mx_job *job, int64_t epochs)
{
    return (int64_t)((double)epochs * (double)job->plan.epoch_batches / (double)job->settings.training.grad_accum);
}

/* The last step that the run to be resumed has made; 0 for a new run. */
static int64_t steps_made(const struct mx_job *job)
{
    return job->request.resume != NULL ? (int64_t)mx_checkpoint_state(job->origin)->step : 0;
}

/* The flags with which the run makes at least one more step; empty if auto-stop has decided. */
static void more_text(const struct mx_job *job, struct mx_string *out)
{
    const struct mx_settings_training *const t = &job->settings.training;
    const int64_t next = steps_made(job) + 1, batches = job->plan.epoch_batches;
    if (job->auto_stop.from > 0) return;
    if (t->auto_stop ? job->steps < next : t->steps > 0 && t->steps < next)
        mx_string_append(out, "--steps %" PRId64, next);
    if (!t->auto_stop && epochs_steps(job, t->epochs) < next)
        mx_string_append(out, "%s--epochs %" PRId64, out->length > 0 ? " " : "",
                         (next * t->grad_accum + batches - 1) / batches);
}

static int end_check(const struct mx_job *job)
{
    struct mx_string more = {0};
    const int64_t made = steps_made(job);
    if (job->steps >= made) return 0;
    more_text(job, &more);
    MX_FAIL(MX_ERR_USAGE, NULL, "the run has made %" PRId64 " steps and cannot end after %" PRId64, made, job->steps);
    if (more.length > 0) mx_error_hint("'%s' or more continues it", more.data);
    mx_string_release(&more);
    return MX_ERR_USAGE;
}

int mx_job_length_choose(struct mx_job *job)
{
    int rc = 0;
    const struct mx_settings_training *const t = &job->settings.training;
    struct mx_schedule *const s = &job->options.optimizer.schedule;
    job->steps = epochs_steps(job, t->epochs);
    if (t->steps > 0 && t->steps < job->steps) job->steps = t->steps;
    if (job->steps < 1) job->steps = 1;
    MX_TRY(mx_job_auto_choose(job));
    MX_TRY(end_check(job));
    s->steps = job->steps;
    s->warmup = t->warmup_steps < job->steps / 10 ? t->warmup_steps : job->steps / 10;
    mx_job_vocoder_steps(job);
    mx_job_auto_schedule(job);
    mx_job_limit_choose(job);
out:
    return rc;
}

bool mx_job_length_done(const struct mx_job *job)
{
    struct mx_string more = {0};
    if (job->request.resume == NULL || job->steps > steps_made(job) || mx_job_state_due(job->origin)) return false;
    more_text(job, &more);
    mx_info("step %" PRId64 " was the last one: nothing is left to do%s%s%s", job->steps, more.length > 0 ? "; '" : "",
            more.length > 0 ? more.data : "", more.length > 0 ? "' or more continues" : "");
    mx_string_release(&more);
    return true;
}
