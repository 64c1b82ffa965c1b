/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One step of training, see trainer.h.
 *
 * The batches of a step are taken first, since the gradient of each needs to know how many frames and tokens the whole
 * step has. They are given back when nothing needs them any more, their names included. The host waits twice: for the
 * losses, which it looks at before it lets the optimizer run (a gradient can be finite where the loss is not: that of
 * |x| is), and for the update.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "train/trainer_work.h"

/* The averaged weights follow quickly at first: after n updates they remember about the last n/10. */
static double ema_decay_at(double decay, int64_t updates)
{
    return fmin(decay, ((double)updates + 1) / ((double)updates + 10));
}

/* Takes the batches of the step and counts what is in them; *held of them are held in any case. */
static int batches_take(struct mx_trainer *t, struct mx_trainer_report *report, int32_t *held)
{
    int rc = 0;
    for (int32_t i = 0; i < t->options.grad_accum; i++) {
        struct mx_pipeline_batch batch;
        MX_TRY(mx_pipeline_take(t->pipeline, t->stream, &batch)); /* never 1: training data begins anew */
        const struct mx_parcel *const parcel = t->held[(*held)++] = batch.slot;
        if (i == 0) report->epoch = parcel->epoch;
        report->utterances += parcel->count;
        report->left_out += parcel->left_out;
        report->tokens += parcel->batch.tokens.rows;
        report->frames += parcel->batch.frames.rows;
        report->wait_ns += batch.waited_ns;
    }
    t->state.epoch = t->held[*held - 1]->epoch;
    t->state.batch = t->held[*held - 1]->step + 1;
out:
    return rc;
}

static float *losses_at(const struct mx_trainer *t, int32_t number)
{
    return t->losses + (ptrdiff_t)number * MX_MODEL_LOSSES * t->shape.capacity.model.sequences;
}

/* Queues forward and backward of all batches, and waits for them. */
static int batches_run(struct mx_trainer *t, const struct mx_trainer_report *report)
{
    int rc = 0;
    for (int32_t i = 0; i < t->options.grad_accum; i++) {
        struct mx_model_batch batch = t->held[i]->batch;
        const struct mx_model_step pass = {.seed = t->options.seed, .step = t->state.passes++};
        if (t->held[i]->count == 0) continue;
        batch.loss_tokens = report->tokens;
        batch.loss_frames = report->frames;
        MX_TRY(mx_model_forward_backward(t->model, t->stream, mx_slice_at(t->weights, 0), mx_slice_at(t->gradients, 0),
                                         &batch, &pass, losses_at(t, i)));
    }
    MX_TRY(mx_stream_sync(t->stream));
out:
    return rc;
}

/* Adds up the losses; those that are not finite name their utterances in `bad`. */
static void losses_sum(const struct mx_trainer *t, struct mx_trainer_report *report, char *bad, size_t bad_bytes)
{
    for (int32_t i = 0; i < t->options.grad_accum; i++) {
        const struct mx_parcel *const parcel = t->held[i];
        if (parcel->count == 0) continue;
        const struct mx_model_losses losses =
            mx_model_losses_of(&t->options.model, losses_at(t, i), parcel->count, -1, report->tokens, report->frames);
        for (int k = 0; k < MX_MODEL_LOSSES; k++) report->losses.values[k] += losses.values[k];
        report->losses.total += losses.total;
        if (isfinite(losses.total)) continue;
        for (int32_t u = 0; u < parcel->count; u++) {
            const size_t length = strlen(bad);
            if (isfinite(mx_model_losses_of(&t->options.model, losses_at(t, i), parcel->count, u, 1, 1).total))
                continue;
            snprintf(bad + length, bad_bytes - length, "%s%s", length > 0 ? ", " : "",
                     mx_dataset_utterance(t->options.dataset, parcel->utterances[u])->id);
        }
    }
}

/* Measures the gradient and, if `good`, changes the weights by it; waits. */
static int update_run(struct mx_trainer *t, bool good, double rate)
{
    int rc = 0;
    const struct mx_trainer_options *const o = &t->options;
    const struct mx_parameters *const table = mx_model_parameters(t->model);
    const struct mx_slice norm = mx_trainer_norm(t);
    MX_TRY(mx_grad_norm(t->stream, &(struct mx_grad_norm_args){.gradient = mx_slice_at(t->gradients, 0),
                                                               .result = norm,
                                                               .count = table->floats,
                                                               .limit = (float)o->grad_clip,
                                                               .factor = 1}));
    MX_TRY(mx_copy_download(t->stream, t->norm, norm, 4 * sizeof(float)));
    if (good)
        MX_TRY(mx_adamw(t->stream,
                        &(struct mx_adamw_args){.parameter = mx_slice_at(t->weights, 0),
                                                .gradient = mx_slice_at(t->gradients, 0),
                                                .moment1 = mx_trainer_moment(t, 1),
                                                .moment2 = mx_trainer_moment(t, 2),
                                                .norm = norm,
                                                .ema = mx_slice_at(t->average, 0),
                                                .count = table->floats,
                                                .decayed = table->decayed,
                                                .lr = (float)rate,
                                                .beta1 = (float)o->beta1,
                                                .beta2 = (float)o->beta2,
                                                .eps = (float)o->epsilon,
                                                .weight_decay = (float)o->weight_decay,
                                                .ema_decay = (float)ema_decay_at(o->ema_decay, t->state.updates),
                                                .step = t->state.updates + 1}));
    MX_TRY(mx_stream_sync(t->stream));
out:
    return rc;
}

/* All utterances of the step, as many as fit. */
static void utterances_name(const struct mx_trainer *t, char *out, size_t bytes)
{
    for (int32_t i = 0; i < t->options.grad_accum; i++)
        for (int32_t k = 0; k < t->held[i]->count; k++) {
            const size_t length = strlen(out);
            snprintf(out + length, bytes - length, "%s%s", length > 0 ? ", " : "",
                     mx_dataset_utterance(t->options.dataset, t->held[i]->utterances[k])->id);
        }
}

/* Tells what the guard thinks of the step. */
static int verdict_tell(const struct mx_trainer *t, const struct mx_trainer_report *report, char *bad, size_t bytes)
{
    const enum mx_guard_verdict verdict = report->guard.verdict;
    const long long step = (long long)report->step;
    if (verdict == MX_GUARD_SPIKE)
        mx_warn("step %lld: a spike: loss %.4g (z %.1f), gradient %.4g (z %.1f)", step, report->losses.total,
                report->guard.loss_z, report->grad_norm, report->guard.norm_z);
    if (verdict == MX_GUARD_FINE || verdict == MX_GUARD_SPIKE) return 0;
    const char *const what = isfinite(report->losses.total) ? "gradient" : "loss";
    if (bad[0] == '\0') utterances_name(t, bad, bytes);
    mx_warn("step %lld is left out: its %s is not finite; utterances: %s", step, what, bad);
    if (verdict == MX_GUARD_SKIPPED) return 0;
    MX_FAIL(MX_ERR_DATA, NULL, "the last %lld steps had a %s that is not finite", (long long)t->state.guard.in_row,
            what);
    return mx_error_hint("the last checkpoint is good: go on from it with a lower learning rate, and look at the "
                         "recordings that the log names");
}

int mx_trainer_step(struct mx_trainer *t, struct mx_trainer_report *report)
{
    int rc = 0;
    char bad[1024] = "";
    const uint64_t begin = mx_clock_ns();
    int32_t held = 0;
    *report = (struct mx_trainer_report){.step = t->state.step + 1,
                                         .rate = mx_schedule_rate(&t->options.schedule, t->state.step)};
    if (t->pipeline == NULL) MX_RAISE(MX_ERR_ARGUMENT, "call mx_trainer_start", "the trainer has not been started");
    MX_TRY(batches_take(t, report, &held));
    if (report->utterances == 0)
        MX_RAISE(MX_ERR_DATA, "'myxtts check' tells what is wrong with the recordings",
                 "no utterance of a whole step can be used");
    MX_TRY(mx_fill(t->stream, &(struct mx_fill_args){.x = mx_slice_at(t->gradients, 0),
                                                     .count = mx_model_parameters(t->model)->floats}));
    MX_TRY(batches_run(t, report));
    losses_sum(t, report, bad, sizeof bad);
    MX_TRY(update_run(t, isfinite(report->losses.total), report->rate));
    const bool finite = t->norm[2] == 1;
    report->grad_norm = finite ? (double)t->norm[0] : (double)NAN;
    report->guard =
        mx_guard_observe(&t->options.guard, &t->state.guard, report->losses.total, report->grad_norm, finite);
    if (report->guard.verdict <= MX_GUARD_SPIKE) t->state.updates++;
    t->state.step++;
    rc = verdict_tell(t, report, bad, sizeof bad);
    for (; held > 0; held--) {
        const int given = mx_pipeline_give(t->pipeline, t->stream);
        if (rc == 0) rc = given;
    }
    mx_pipeline_step(t->pipeline);
    report->step_ns = mx_clock_ns() - begin;
    mx_monitor_step(&t->monitor, report->step, report->step_ns, report->frames, &report->flow);
out:
    for (; held > 0; held--) (void)mx_pipeline_give(t->pipeline, t->stream); /* after a failure */
    return rc;
}
