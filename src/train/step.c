/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One training step, see trainer.h.
 *
 * With work sharing each batch comes in two parts, one for each replica (replica.h); both run at the same time.
 *
 * The step first takes all its batches, because the gradient of each depends on the frames and tokens of the whole
 * step. They are given back when nothing needs them any more, their names included. The host waits twice: for the
 * losses, which it checks before the optimizer may run (a gradient can be finite where the loss is not: that of |x|
 * is), and for the update. With two replicas the first wait is also for the norms of both halves.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "train/trainer_internal.h"

/* The averaged weights follow quickly at first: after n updates they remember about the last n/10. */
static double ema_decay_at(double decay, int64_t updates)
{
    return fmin(decay, ((double)updates + 1) / ((double)updates + 10));
}

/* Its part of micro-batch `number` for a replica. */
static const struct mx_device_batch *part_of(const struct mx_trainer *t, int32_t number, int32_t replica)
{
    return replica == 0 ? t->held[number] : t->held[number]->twin;
}

/* Takes the batches of the step and counts what is in them; *held of them are held in any case. */
static int batches_take(struct mx_trainer *t, struct mx_trainer_report *report, int32_t *held)
{
    int rc = 0;
    for (int32_t i = 0; i < t->options.grad_accum; i++) {
        struct mx_pipeline_batch batch;
        MX_TRY(mx_pipeline_take(t->pipeline, t->replicas[0]->stream, &batch)); /* never 1: training data begins anew */
        const struct mx_device_batch *const on_device = t->held[(*held)++] = batch.slot;
        if (i == 0) t->first_held = batch.number;
        if (i == 0) report->epoch = on_device->epoch;
        report->left_out += on_device->left_out;
        report->wait_ns += batch.waited_ns;
        for (int32_t r = 0; r < t->at_work; r++) {
            const struct mx_device_batch *const part = part_of(t, i, r);
            report->utterances += part->count;
            report->tokens += part->batch.tokens.rows;
            report->frames += part->batch.frames.rows;
            if (r > 0) report->shared_frames += part->batch.frames.rows;
        }
    }
    t->state.epoch = t->held[*held - 1]->epoch;
    t->state.batch = t->held[*held - 1]->step + 1;
out:
    return rc;
}

static int replicas_wait(const struct mx_trainer *t)
{
    int rc = 0;
    for (int32_t r = 0; r < t->at_work; r++) MX_TRY(mx_stream_sync(t->replicas[r]->stream));
out:
    return rc;
}

/* With two replicas: behind its own runs, and when those of the other one are complete, too, each adds up its range of
 * the gradients and measures it. The ranges are apart, so neither changes what the other one reads. */
static int gradients_sum(struct mx_trainer *t)
{
    int rc = 0;
    for (int32_t r = 0; t->at_work > 1 && r < t->at_work; r++) {
        struct mx_replica *const own = t->replicas[r], *const other = t->replicas[1 - r];
        if (own->range.count == 0) continue;
        MX_TRY(mx_stream_wait(own->stream, other->end));
        MX_TRY(mx_replica_add(own, other));
        MX_TRY(mx_replica_measure(own, t->options.grad_clip));
    }
out:
    return rc;
}

/* Queues forward and backward of all parts of all batches, and waits for them and for the sum of the gradients. */
static int batches_run(struct mx_trainer *t, const struct mx_trainer_report *report)
{
    int rc = 0;
    for (int32_t r = 0; r < t->at_work; r++) MX_TRY(mx_replica_clear(t->replicas[r]));
    for (int32_t i = 0; i < t->options.grad_accum; i++) {
        const struct mx_model_pass_info pass = {.seed = t->options.seed, .step = t->state.passes++};
        const bool last = i == t->options.grad_accum - 1;
        for (int32_t r = 0; r < t->at_work; r++) {
            struct mx_model_batch batch = part_of(t, i, r)->batch;
            batch.loss_tokens = report->tokens;
            batch.loss_frames = report->frames;
            mx_step_place(t, i, &batch);
            if (part_of(t, i, r)->count > 0)
                MX_TRY(mx_replica_run(t->replicas[r], i, &batch, &pass, last));
            else if (last)
                MX_TRY(mx_replica_pause(t->replicas[r]));
        }
    }
    MX_TRY(mx_step_sums_begin(t));
    MX_TRY(gradients_sum(t));
    MX_TRY(replicas_wait(t));
    if (t->at_work > 1)
        mx_pipeline_shared(t->pipeline, t->first_held, mx_replica_begin_ns(t->replicas[1]),
                           mx_replica_end_ns(t->replicas[1]));
out:
    return rc;
}

/* Adds up the losses of one part; those that are not finite name their utterances in `bad`. */
static void losses_add(const struct mx_trainer *t, const struct mx_device_batch *part, const float *values,
                       struct mx_trainer_report *report, char *bad, size_t bad_bytes)
{
    const struct mx_model_losses losses =
        mx_model_losses_of(&t->options.model, values, part->count, -1, report->tokens, report->frames);
    for (int k = 0; k < MX_MODEL_LOSSES; k++) report->losses.values[k] += losses.values[k];
    report->losses.total += losses.total;
    if (isfinite(losses.total)) return;
    for (int32_t u = 0; u < part->count; u++) {
        const size_t length = strlen(bad);
        if (isfinite(mx_model_losses_of(&t->options.model, values, part->count, u, 1, 1).total)) continue;
        snprintf(bad + length, bad_bytes - length, "%s%s", length > 0 ? ", " : "",
                 mx_dataset_utterance(t->options.dataset, part->utterances[u])->id);
    }
}

static void losses_sum(const struct mx_trainer *t, struct mx_trainer_report *report, char *bad, size_t bad_bytes)
{
    for (int32_t i = 0; i < t->options.grad_accum; i++)
        for (int32_t r = 0; r < t->at_work; r++) {
            const struct mx_device_batch *const part = part_of(t, i, r);
            if (part->count > 0) losses_add(t, part, mx_replica_losses(t->replicas[r], i), report, bad, bad_bytes);
        }
}

/* The norm of the whole gradient from those of the ranges, for each replica. */
static void norms_join(const struct mx_trainer *t)
{
    double squares = 0;
    bool finite = true;
    for (int32_t r = 0; r < t->at_work; r++) {
        const float *const norm = t->replicas[r]->norm;
        if (t->replicas[r]->range.count == 0) continue;
        squares += (double)norm[0] * (double)norm[0];
        finite = finite && norm[2] == 1;
    }
    const double length = sqrt(squares), limit = t->options.grad_clip;
    finite = finite && isfinite(length);
    const double scale = limit > 0 && length > limit ? limit / length : 1;
    const float whole[4] = {(float)length, finite ? (float)scale : 0, finite, (float)squares};
    for (int32_t r = 0; r < t->at_work; r++) memcpy(t->replicas[r]->norm, whole, sizeof whole);
}

/* Measures the gradient, unless that was done when it was summed, and, if `good`, changes the weights by it; waits. */
static int update_run(struct mx_trainer *t, bool good, double rate)
{
    int rc = 0;
    const struct mx_trainer_options *const o = &t->options;
    const struct mx_replica_update update = {.rate = rate,
                                             .beta1 = o->beta1,
                                             .beta2 = o->beta2,
                                             .epsilon = o->epsilon,
                                             .weight_decay = o->weight_decay,
                                             .ema_decay = ema_decay_at(o->ema_decay, t->state.updates),
                                             .step = t->state.updates + 1,
                                             .whole_norm = t->at_work > 1};
    if (t->at_work > 1)
        norms_join(t);
    else
        MX_TRY(mx_replica_measure(t->replicas[0], o->grad_clip));
    for (int32_t r = 0; good && r < t->at_work; r++) {
        MX_TRY(mx_replica_update(t->replicas[r], &update));
        if (t->at_work > 1) MX_TRY(mx_replica_give(t->replicas[r], t->replicas[1 - r]));
    }
    MX_TRY(replicas_wait(t));
out:
    return rc;
}

/* All utterances of the step, as many as fit. */
static void utterances_name(const struct mx_trainer *t, char *out, size_t bytes)
{
    for (int32_t i = 0; i < t->options.grad_accum; i++)
        for (int32_t r = 0; r < t->at_work; r++) {
            const struct mx_device_batch *const part = part_of(t, i, r);
            for (int32_t k = 0; k < part->count; k++) {
                const size_t length = strlen(out);
                snprintf(out + length, bytes - length, "%s%s", length > 0 ? ", " : "",
                         mx_dataset_utterance(t->options.dataset, part->utterances[k])->id);
            }
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
    return mx_error_hint("lower the learning rate, and check the recordings that the log names; none of these steps "
                         "changed the weights");
}

int mx_trainer_step(struct mx_trainer *t, struct mx_trainer_report *report)
{
    int rc = 0;
    char bad[MX_STEP_NAMES_BYTES] = "";
    const uint64_t begin = t->begin_ns > 0 ? t->begin_ns : mx_clock_ns(); /* the first one waited from the start on */
    int32_t held = 0;
    const struct mx_trainer_state before = t->state;
    *report = (struct mx_trainer_report){.step = t->state.step + 1,
                                         .rate = mx_schedule_rate(&t->options.schedule, t->state.step),
                                         .sharing = t->replica_count > 1,
                                         .share = mx_shares_at(&t->state.shares, t->state.step)};
    if (t->pipeline == NULL) MX_RAISE(MX_ERR_ARGUMENT, "call mx_trainer_start", "the trainer has not been started");
    MX_TRY(mx_share_control_turn(t));
    MX_TRY(batches_take(t, report, &held));
    if (t->begin_tell != NULL) t->begin_tell(t->begin_context);
    t->begin_tell = NULL;
    MX_TRY(mx_step_counts(t, report));
    if (report->utterances == 0)
        MX_RAISE(MX_ERR_DATA, "'myxtts check' shows what is wrong with the recordings",
                 "a whole step has no usable utterance");
    MX_TRY(batches_run(t, report));
    losses_sum(t, report, bad, sizeof bad);
    const uint64_t own_ns = mx_clock_ns();
    MX_TRY(mx_step_losses(t, report, bad, sizeof bad));
    MX_TRY(mx_step_sums_finish(t));
    mx_step_times(t, report);
    const uint64_t summed_ns = mx_clock_ns();
    report->sum_wait_ns = summed_ns - own_ns;
    MX_TRY(update_run(t, isfinite(report->losses.total), report->rate));
    report->update_ns = mx_clock_ns() - summed_ns;
    const float *const norm = t->replicas[0]->norm;
    const bool finite = norm[2] == 1;
    report->grad_norm = finite ? (double)norm[0] : (double)NAN;
    report->guard =
        mx_guard_observe(&t->options.guard, &t->state.guard, report->losses.total, report->grad_norm, finite);
    if (report->guard.verdict <= MX_GUARD_SPIKE) t->state.updates++;
    t->state.step++;
    rc = verdict_tell(t, report, bad, sizeof bad);
    for (; held > 0; held--) {
        const int given = mx_pipeline_give(t->pipeline, t->replicas[0]->stream);
        if (rc == 0) rc = given;
    }
    if (rc == 0)
        rc = mx_stream_sync(t->replicas[0]->stream); /* the ends of the batches: the step counts in its report */
    mx_pipeline_step(t->pipeline);
    report->step_ns = mx_clock_ns() - begin;
    t->begin_ns = 0;
    mx_flow_watch_step(&t->watch, report->step, report->step_ns, report->frames, &report->flow);
    mx_share_control_step(t, report);
out:
    for (; held > 0; held--) (void)mx_pipeline_give(t->pipeline, t->replicas[0]->stream); /* after a failure */
    if (rc < 0 && t->state.step == before.step) t->state = before; /* so that what is saved now begins this step anew */
    return rc;
}
