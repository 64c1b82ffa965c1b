/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A run that ends when it has learned what it can (training.auto_stop), see length.h.
 *
 * The learning rate stays at its peak until the evaluations gain nothing any more, and then falls to its floor in a last
 * stretch, so that the run ends as one that was planned with just that length. "Nothing" is less than GAIN of the best
 * value in a third of the steps so far: what a voice gains it gains more and more slowly, so that patience has to grow
 * with the run. As long as texts of an evaluation would become too long to be spoken, its loss is the value; the first
 * evaluation that speaks all of them is a gain, and one that no longer does is none. Everything is counted in steps and kept in the checkpoints: a resumed run decides the same.
 *
 * Plain values in the job; owns no memory.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "base/progress.h"
#include "myxtts/error.h"
#include "run/job.h"
#include "run/length.h"
#include "run/state.h"

#define GAIN          0.005 /* of the value: a smaller one may be chance */
#define PATIENCE      4     /* minimum number of evaluations without gain */
#define PATIENCE_PART 3     /* and they must span at least 1/3 of the steps so far */
#define STRETCH_PART  4     /* the last stretch is this part of the steps before it: a fifth of the run */
#define STEPS_MOST    20000 /* without `--steps` */

/* The last stretch of a run that ends by itself, or by its number of steps. */
static void schedules_set(struct mx_job *job)
{
    const struct mx_auto_stop *const a = &job->auto_stop;
    const int64_t stretch = job->steps / (STRETCH_PART + 1);
    const int64_t hold = a->from > 0 ? a->from : job->steps - (stretch > 0 ? stretch : 1);
    struct mx_schedule *const schedules[] = {&job->options.optimizer.schedule,
                                             &job->options.vocoder.optimizer.schedule};
    for (int i = 0; i < 2; i++) {
        schedules[i]->steps = job->steps;
        schedules[i]->hold = hold > 0 ? hold : 1;
    }
    if (job->trainer != NULL) mx_trainer_reschedule(job->trainer, schedules[0], schedules[1]);
}

int mx_job_auto_choose(struct mx_job *job)
{
    const struct mx_settings_training *const t = &job->settings.training;
    if (!t->auto_stop) return 0;
    if (t->eval_every == 0)
        return MX_FAIL(MX_ERR_USAGE, "give '--eval-every N'", "'--auto-stop' needs evaluations, and there are none");
    if (job->plan.validation == 0)
        return MX_FAIL(MX_ERR_USAGE, "give '--val-data DIR', or set data.validation_fraction",
                       "'--auto-stop' needs recordings for validation, and there are none");
    if (t->early_stopping > 0)
        return MX_FAIL(MX_ERR_USAGE, "omit one of them",
                       "'--auto-stop' and training.early_stopping would end the run in different ways");
    const int64_t planned = job->plan.epoch_batches * t->epochs / t->grad_accum;
    job->steps = t->steps > 0 ? t->steps : planned > STEPS_MOST ? planned : STEPS_MOST;
    if (job->request.resume != NULL) mx_job_state_auto(job);
    if (job->auto_stop.from > 0) job->steps = job->auto_stop.end;
    return 0;
}

void mx_job_auto_schedule(struct mx_job *job)
{
    if (job->settings.training.auto_stop) schedules_set(job);
}

void mx_job_auto_log(const struct mx_job *job)
{
    const struct mx_settings_training *const t = &job->settings.training;
    if (!t->auto_stop) return;
    if (job->auto_stop.from > 0)
        mx_info("auto-stop: the learning rate falls since step %" PRId64 ", and step %" PRId64 " is the last one",
                job->auto_stop.from, job->steps);
    else
        mx_info("auto-stop: the learning rate stays at its peak%s until evaluations gain next to nothing, then falls, "
                "and training ends; after %" PRId64 " steps at the latest",
                t->cycles > 1 ? " instead of going through cycles" : "", job->steps);
}

/* Is this clearly better than all before? Then it is remembered. */
static void gain_find(struct mx_auto_stop *a, const struct mx_trainer_evaluation *e, int64_t step)
{
    const bool lacks = !e->vocoder_alone && e->spoken < e->utterances;
    const double value = e->vocoder_alone ? e->vocoder.total : lacks ? e->losses.total : e->mel_db;
    const bool same = a->known && lacks == a->lacks;
    const bool better = !a->known || (a->lacks && !lacks) || (same && value < a->value * (1 - GAIN));
    if (isfinite(value) && better)
        *a = (struct mx_auto_stop){.known = true, .value = value, .lacks = lacks, .step = step};
}

/* The run ends at `end`. */
static void end_set(struct mx_job *job, int64_t from, int64_t end)
{
    job->auto_stop.from = from;
    job->auto_stop.end = end;
    job->steps = end;
    schedules_set(job);
    if (job->metrics != NULL) mx_metrics_plan(job->metrics, job->steps);
}

void mx_job_auto_follow(struct mx_job *job, int64_t from, int64_t end)
{
    if (from > 0 && job->auto_stop.from == 0) end_set(job, from, end);
}

void mx_job_auto_check(struct mx_job *job)
{
    struct mx_auto_stop *const a = &job->auto_stop;
    const struct mx_settings_training *const t = &job->settings.training;
    const struct mx_trainer_evaluation *const e = &job->evaluations.last;
    const int64_t step = mx_trainer_state(job->trainer)->step;
    const int64_t least = PATIENCE * t->eval_every, part = step / PATIENCE_PART;
    const int64_t stretch = step / STRETCH_PART > 0 ? step / STRETCH_PART : 1;
    if (!t->auto_stop || a->from > 0 || job->limit.from > 0) return;
    if (e->utterances == 0 || (!e->vocoder_alone && e->spoken + e->too_long < e->utterances))
        return; /* not all could be read: nothing was measured that could be compared */
    gain_find(a, e, step);
    const struct mx_schedule *const s =
        e->vocoder_alone ? &job->options.vocoder.optimizer.schedule : &job->options.optimizer.schedule;
    const int64_t idle = step - (a->step > s->warmup ? a->step : s->warmup); /* before that it learns slowly */
    if (!a->known || idle < least || idle < part || step >= s->hold) return;
    const int64_t begun = job->pace.steps;
    end_set(job, step, step + stretch < job->steps ? step + stretch : job->steps);
    mx_progress_total(job->progress, (uint64_t)(begun + job->steps - step));
    mx_info("step %" PRId64 ": next to nothing was gained since step %" PRId64
            ": from here on the learning rate falls to "
            "its floor, and training ends after step %" PRId64,
            step, a->step, job->steps);
}

bool mx_job_auto_learned(const struct mx_job *job)
{
    return job->settings.training.auto_stop && job->auto_stop.from > 0 && job->limit.from == 0 &&
           mx_trainer_state(job->trainer)->step >= job->steps && !job->evaluations.due;
}

/* The best value with its unit. */
static void best_text(const struct mx_job *job, char *out, size_t size)
{
    snprintf(out, size, job->options.vocoder_alone ? "a validation loss of %.4f" : "%.2f dB from the recordings",
             job->best.value);
}

void mx_job_auto_end_log(const struct mx_job *job)
{
    char best[64];
    const double minutes = job->plan.seconds / 60;
    const int64_t step = mx_trainer_state(job->trainer)->step;
    if (!job->settings.training.auto_stop || step < job->steps) return;
    if (!job->best.known) {
        mx_info("%s: in no evaluation could all texts be spoken", mx_job_auto_learned(job)
                                                                      ? "next to nothing is gained any more"
                                                                      : "the steps ended before auto-stop did");
        return;
    }
    best_text(job, best, sizeof best);
    if (mx_job_auto_learned(job))
        mx_info("it has learned what it can from %.1f minutes of recordings: %s at step %" PRIu64
                ", the best of %" PRId64 " steps; 'myxtts synth' and 'myxtts export' use that one",
                minutes, best, job->best.step, step);
    else
        mx_info("the %" PRId64 " steps ended before auto-stop did: %s at step %" PRIu64
                ", and more steps may gain more",
                step, best, job->best.step);
}
