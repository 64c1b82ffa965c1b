/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The parts of one turn of a training run, see turn.h: a step with its reports, and an evaluation. Both the loop of
 * `myxtts train` (loop.c) and the loops of other programs (train.c) use them.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "base/progress.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "run/corpus/corpus.h"
#include "run/job.h"
#include "run/observer/observer.h"
#include "run/observer/samples.h"
#include "run/state.h"
#include "run/turn.h"

/* ---- a step ---- */

int mx_job_step(struct mx_job *job, struct mx_trainer_report *report)
{
    const int rc = mx_trainer_step(job->trainer, report);
    if (rc >= 0) {
        mx_metrics_step(job->metrics, report);
        return 0;
    }
    if (rc == MX_ERR_INTERRUPTED || report->step_ns == 0) return rc;
    const struct mx_error failure = *mx_error_last();
    mx_metrics_step(job->metrics, report);
    return mx_error_restore(&failure);
}

void mx_job_status(const struct mx_job *job, const struct mx_trainer_report *report)
{
    const struct mx_flow_watch_report *const flow = &report->flow;
    const char *const data = mx_device_logical(job->devices.data), *const model = mx_device_logical(job->device);
    char devices[96], used[MX_BYTES_TEXT_BYTES], limit[MX_BYTES_TEXT_BYTES];
    if (report->sharing)
        snprintf(devices, sizeof devices, "%s %.0f %% (%.0f %% of the batch)  %s %.0f %%", data, 100 * flow->data_busy,
                 100 * (double)report->shared_frames / (double)report->frames, model, 100 * flow->model_busy);
    else if (mx_device_pair_multi(&job->devices))
        snprintf(devices, sizeof devices, "%s %.0f %%  %s %.0f %%", data, 100 * flow->data_busy, model,
                 100 * flow->model_busy);
    else
        snprintf(devices, sizeof devices, "%s %.0f %%", model, 100 * flow->model_busy);
    mx_progress_note(job->progress, "loss %.3f  %.0f frames/s  %s  data wait %.1f %%  %s of %s", report->losses.total,
                     (double)report->frames * 1e9 / (double)report->step_ns, devices, 100 * flow->data_wait,
                     mx_bytes_text(flow->model_bytes, used), mx_bytes_text(flow->model_limit_bytes, limit));
}

int mx_job_step_report(struct mx_job *job, const struct mx_trainer_report *report)
{
    const int rc = mx_job_rejects(job);
    if (rc < 0) return rc;
    mx_job_state_contents(job);
    if (job->pace.steps++ > 0) { /* the first one waits for the pipeline to fill */
        job->pace.steps_ns += report->step_ns;
        job->pace.vocoder_ns += report->vocoder.busy_ns;
    }
    mx_job_observer_step(job->observer, report);
    mx_job_status(job, report);
    mx_progress_add(job->progress, 1);
    return 0;
}

/* ---- an evaluation ---- */

/* What free synthesis came to, as far as anything was spoken. */
static void spoken_text(const struct mx_trainer_evaluation *e, char *out, size_t size)
{
    char pitch[32] = "–";
    if (isfinite(e->pitch_error)) snprintf(pitch, sizeof pitch, "%.1f semitones", e->pitch_error);
    if (isfinite(e->mel_db))
        snprintf(out, size, "%.2f dB from the recordings, duration off by %.0f %%, pitch by %s", e->mel_db,
                 100 * e->duration_error, pitch);
    else
        snprintf(out, size, "–");
}

/* What the vocoder lost; "" if it was not evaluated. */
static void vocoder_text(const struct mx_trainer_evaluation *e, char *out, size_t size)
{
    out[0] = '\0';
    if (e->vocoder_frames > 0)
        snprintf(out, size, "%svocoder %.4f (magnitudes %.4f, pitch %.4f, bursts %.4f)", e->vocoder_alone ? "" : "; ",
                 e->vocoder.total, e->vocoder.values[MX_VOCODER_LOSS_MAGNITUDE],
                 e->vocoder.values[MX_VOCODER_LOSS_PITCH], e->vocoder.values[MX_VOCODER_LOSS_BURST]);
}

/* Is it better than all before? */
static bool best_compare(struct mx_job *job, int64_t step)
{
    const struct mx_trainer_evaluation *const e = &job->evaluations.last;
    const double value = e->vocoder_alone ? e->vocoder.total : e->mel_db;
    if (!isfinite(value) || (job->best.known && value >= job->best.value)) return false;
    job->best = (struct mx_job_best){.known = true, .value = value, .step = (uint64_t)step};
    return true;
}

int mx_job_evaluate(struct mx_job *job, bool *best)
{
    int rc = 0;
    const int64_t step = mx_trainer_state(job->trainer)->step;
    struct mx_trainer_evaluation *const e = &job->evaluations.last;
    char spoken[160], vocoder[128];
    *best = false;
    if (mx_trainer_validation_count(job->trainer) == 0) return 0;
    mx_dist_tick(job->dist);
    MX_TRY(mx_trainer_evaluate(job->trainer, e));
    mx_dist_tick(job->dist);
    job->evaluations.known = true;
    if (e->utterances == 0) {
        mx_warn("step %" PRId64 ": nothing was evaluated, since no recording for validation could be read", step);
        return 0;
    }
    MX_TRY(mx_job_samples(job));
    mx_metrics_evaluation(job->metrics, step, e);
    mx_job_observer_evaluation(job->observer);
    spoken_text(e, spoken, sizeof spoken);
    vocoder_text(e, vocoder, sizeof vocoder);
    if (e->vocoder_alone)
        mx_info("step %" PRId64 ": validation loss of the %s", step, vocoder);
    else
        mx_info("step %" PRId64 ": validation loss %.4f (mel %.4f, duration %.4f, pitch %.4f); spoken: %s%s", step,
                e->losses.total, e->losses.values[MX_LOSS_MEL], e->losses.values[MX_LOSS_DURATION],
                e->losses.values[MX_LOSS_PITCH], spoken, vocoder);
    if (e->spoken < e->utterances && !e->vocoder_alone) {
        if (e->too_long > 0)
            mx_info("step %" PRId64 ": %" PRIu32 " of %" PRIu32 " would have become too long to be spoken", step,
                    e->too_long, e->utterances);
        if (e->spoken + e->too_long < e->utterances)
            mx_warn("step %" PRId64 ": the evaluation is incomplete: %" PRIu32 " of %" PRIu32
                    " recordings could be read at first, but not when they were to be compared",
                    step, e->utterances - e->spoken - e->too_long, e->utterances);
        mx_job_samples_tidy(job);
        return 0;
    }
    *best = best_compare(job, step);
    mx_job_samples_tidy(job);
out:
    return rc;
}
