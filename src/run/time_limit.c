/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A run with a time limit (training.max_minutes), see length.h.
 *
 * Its learning rate follows the schedule for BEGIN_PART of the limit. Then the steps that fit into the rest are
 * estimated, once, from the speed so far, with evaluations and saving: if they are fewer than planned, the rate falls
 * from where it is to its floor with the last of them, so that the run ends as one that was planned with that length.
 * Both steps are kept in the checkpoints: a run that is resumed in between ends with the same step. One that is resumed
 * after it, or with another limit, follows its schedule again until its own limit is near.
 *
 * Plain values in the job; owns no memory.
 */
#include <inttypes.h>

#include "base/log.h"
#include "base/progress.h"
#include "run/job.h"
#include "run/length.h"
#include "run/state.h"

#define BEGIN_PART 0.8  /* of the limit */
#define FIT_PART   0.95 /* of the rest: the last step must not be late */

static void end_set(struct mx_job *job, int64_t from, int64_t end)
{
    struct mx_schedule *const acoustic = &job->options.optimizer.schedule;
    struct mx_schedule *const vocoder = &job->options.vocoder.optimizer.schedule;
    job->limit.from = acoustic->fall = vocoder->fall = from;
    job->limit.end = acoustic->fall_end = vocoder->fall_end = end;
    job->limit.minutes = job->settings.training.max_minutes;
    job->steps = end;
    if (job->trainer != NULL) mx_trainer_reschedule(job->trainer, acoustic, vocoder);
    if (job->metrics != NULL) mx_metrics_plan(job->metrics, end);
}

void mx_job_limit_choose(struct mx_job *job)
{
    struct mx_job_limit kept = {0};
    if (job->request.resume == NULL || !mx_job_state_limit(job, &kept)) return;
    if (kept.minutes != job->settings.training.max_minutes) return;
    end_set(job, kept.from, kept.end);
    mx_info("time limit: the learning rate falls since step %" PRId64 ", and step %" PRId64 " is the last one",
            kept.from, kept.end);
}

void mx_job_limit_estimate(struct mx_job *job, int64_t step, const struct mx_job_times *t)
{
    const double limit_ns = job->settings.training.max_minutes * 60e9, gone_ns = (double)(t->now_ns - t->begin_ns);
    const int64_t made = job->pace.steps - 1; /* the first one waited for the pipeline to fill */
    if (limit_ns == 0 || job->limit.from > 0 || job->limit.estimated || gone_ns < BEGIN_PART * limit_ns) return;
    job->limit.estimated = true;
    if (made < 1 || gone_ns >= limit_ns) return;
    const double fit = FIT_PART * (limit_ns - gone_ns) * (double)made / (double)(t->now_ns - t->first_ns);
    if (fit < 1 || fit >= (double)(job->steps - step)) return;
    end_set(job, step, step + (int64_t)fit);
    mx_progress_total(job->progress, (uint64_t)(job->pace.steps + (int64_t)fit));
    mx_info("step %" PRId64 ": there is time for %" PRId64 " more steps within the limit of %g minutes: from here on "
            "the learning rate falls to its floor, and training ends after step %" PRId64,
            step, (int64_t)fit, job->limit.minutes, job->steps);
}

void mx_job_limit_follow(struct mx_job *job, int64_t from, int64_t end)
{
    if (from > 0 && job->limit.from == 0) end_set(job, from, end);
}

bool mx_job_limit_clear(struct mx_job *job)
{
    const bool was = job->limit.from > 0;
    job->limit = (struct mx_job_limit){.estimated = true};
    return was;
}

bool mx_job_limit_reached(const struct mx_job *job)
{
    return job->limit.from > 0 && mx_trainer_state(job->trainer)->step >= job->limit.end;
}
