/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One training step, see trainer.h.
 *
 * Every part of the trainer runs the same batches, one after the other. With work sharing each batch is divided between
 * the replicas (replica.h) of the first part; both run at the same time.
 *
 * The step first takes all its batches, because the gradient of each depends on the frames and tokens of the whole
 * step. They are released when nothing needs them any more, their names included. The host waits twice: for the
 * losses, which it checks before the optimizer may run (a gradient can be finite where the loss is not: that of |x|
 * is), and for the update. With two replicas the first wait is also for the norms of both halves.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "train/trainer_internal.h"

#define EMPTY_MAX 7 /* times that a step looks for other batches because none of its utterances is usable */

/* The averaged weights follow quickly at first: after n updates they remember about the last n/10. */
static double ema_decay_at(double decay, int64_t updates)
{
    return fmin(decay, ((double)updates + 1) / ((double)updates + 10));
}

/* Micro-batch `number` for a replica; with work sharing it is divided. */
static const struct mx_device_batch *batch_of(const struct mx_trainer *t, int32_t number, int32_t replica)
{
    return replica == 0 ? t->held[number] : t->held[number]->twin;
}

static void counts_add(struct mx_network_counts *sum, struct mx_network_counts more)
{
    sum->sequences += more.sequences;
    sum->tokens += more.tokens;
    sum->frames += more.frames;
}

/* Takes the batches of the step and counts what is in them; *held of them are held in any case. */
static int batches_acquire(struct mx_trainer *t, struct mx_trainer_report *report, int32_t *held)
{
    int rc = 0;
    for (int32_t i = 0; i < t->options.grad_accum; i++) {
        struct mx_pipeline_batch batch;
        MX_TRY(mx_pipeline_take(t->pipeline, t->stream, &batch)); /* never 1: training data is repeated */
        const struct mx_device_batch *const on_device = t->held[(*held)++] = batch.slot;
        if (i == 0) t->first_held = batch.number;
        t->taken++;
        if (i == 0) report->epoch = on_device->epoch;
        report->left_out += on_device->left_out;
        report->wait_ns += batch.waited_ns;
        for (int32_t r = 0; r < t->parts[0].at_work; r++) {
            report->utterances += batch_of(t, i, r)->count;
            if (r > 0) report->shared_frames += batch_of(t, i, r)->batch.frames.rows;
        }
        for (int32_t p = 0; p < t->part_count; p++)
            for (int32_t r = 0; r < t->parts[p].at_work; r++)
                counts_add(&t->parts[p].counts, t->parts[p].network->calls->count(batch_of(t, i, r)));
    }
    t->state.epoch = t->held[*held - 1]->epoch;
    t->state.batch = t->held[*held - 1]->step + 1;
out:
    return rc;
}

static int replicas_wait(const struct mx_trainer *t)
{
    int rc = 0;
    for (int32_t p = 0; p < t->part_count; p++)
        for (int32_t r = 0; r < t->parts[p].at_work; r++) MX_TRY(mx_stream_sync(t->parts[p].replicas[r]->stream));
out:
    return rc;
}

/* With two replicas: after its own runs, and when those of the other one are complete, too, each adds up its range of
 * the gradients and measures it. The ranges are apart, so neither changes what the other one reads. */
static int gradients_sum(const struct mx_trainer_part *p)
{
    int rc = 0;
    for (int32_t r = 0; p->at_work > 1 && r < p->at_work; r++) {
        struct mx_replica *const own = p->replicas[r], *const other = p->replicas[1 - r];
        if (own->range.count == 0) continue;
        MX_TRY(mx_stream_wait(own->stream, other->end));
        MX_TRY(mx_replica_add(own, other));
        MX_TRY(mx_replica_measure(own, p->optimizer->grad_clip));
    }
out:
    return rc;
}

/* Queues forward and backward of micro-batch `number` in all replicas of a part. */
static int batch_run(const struct mx_trainer *t, const struct mx_trainer_part *p, int32_t number)
{
    int rc = 0;
    const bool last = number == t->options.grad_accum - 1;
    struct mx_network_pass pass = {
        .whole = p->counts, .before = mx_step_before(t, p, number), .seed = t->options.seed, .number = t->state.passes};
    if (p->which == MX_PART_VOCODER) MX_TRY(mx_predicted_mel(t, t->held[number]));
    for (int32_t r = 0; r < p->at_work; r++) {
        pass.batch = batch_of(t, number, r);
        if (p->network->calls->count(pass.batch).sequences > 0)
            MX_TRY(mx_replica_run(p->replicas[r], number, &pass, last));
        else if (last)
            MX_TRY(mx_replica_pause(p->replicas[r]));
    }
out:
    return rc;
}

/* Queues forward and backward of all batches, and waits for them and for the sum of the gradients. */
static int batches_run(struct mx_trainer *t)
{
    int rc = 0;
    const struct mx_trainer_part *const first = &t->parts[0];
    for (int32_t p = 0; p < t->part_count; p++)
        for (int32_t r = 0; r < t->parts[p].at_work; r++) MX_TRY(mx_replica_clear(t->parts[p].replicas[r]));
    for (int32_t i = 0; i < t->options.grad_accum; i++, t->state.passes++)
        for (int32_t p = 0; p < t->part_count; p++) MX_TRY(batch_run(t, &t->parts[p], i));
    MX_TRY(mx_step_sums_begin(t));
    for (int32_t p = 0; p < t->part_count; p++) MX_TRY(gradients_sum(&t->parts[p]));
    MX_TRY(replicas_wait(t));
    if (first->at_work > 1)
        mx_pipeline_shared(t->pipeline, t->first_held, mx_replica_begin_ns(first->replicas[1]),
                           mx_replica_end_ns(first->replicas[1]));
out:
    return rc;
}

void mx_step_names_add(char list[MX_STEP_NAMES_BYTES], const char *names)
{
    static const char comma[] = ", ", more[] = ", …";
    const size_t length = strlen(list), added = strlen(names), gap = length > 0 ? strlen(comma) : 0;
    if (length >= strlen(more) && strcmp(list + length - strlen(more), more) == 0) return;
    if (length + gap + added + sizeof more > MX_STEP_NAMES_BYTES) {
        memcpy(list + length, more + strlen(comma) - gap, sizeof more - strlen(comma) + gap);
        return;
    }
    memcpy(list + length, comma, gap);
    memcpy(list + length + gap, names, added + 1);
}

static void name_add(const struct mx_trainer *t, char list[MX_STEP_NAMES_BYTES], uint32_t utterance)
{
    mx_step_names_add(list, mx_dataset_utterance(t->options.dataset, utterance)->id);
}

/* Adds up the losses of one run; those that are not finite name their utterances. */
static void losses_add(const struct mx_trainer *t, struct mx_trainer_part *p, const struct mx_device_batch *batch,
                       const float *values)
{
    const struct mx_network_calls *const calls = p->network->calls;
    const struct mx_network_counts one = {1, 1, 1};
    const int32_t count = (int32_t)calls->count(batch).sequences;
    double means[MX_NETWORK_LOSSES];
    const double total = calls->losses_of(p->network, values, count, -1, p->counts, means);
    for (int32_t k = 0; k < calls->losses; k++) p->losses[k] += means[k];
    p->total += total;
    for (int32_t s = 0; !isfinite(total) && s < count; s++)
        if (!isfinite(calls->losses_of(p->network, values, count, s, one, means)))
            name_add(t, p->bad, calls->utterance(batch, s));
}

static void losses_sum(const struct mx_trainer *t, struct mx_trainer_part *p)
{
    for (int32_t i = 0; i < t->options.grad_accum; i++)
        for (int32_t r = 0; r < p->at_work; r++) {
            const struct mx_device_batch *const batch = batch_of(t, i, r);
            if (p->network->calls->count(batch).sequences > 0)
                losses_add(t, p, batch, mx_replica_losses(p->replicas[r], i));
        }
}

/* The norm of the whole gradient from those of the ranges, for each replica. */
static void norms_join(const struct mx_trainer_part *p)
{
    double squares = 0;
    bool finite = true;
    for (int32_t r = 0; r < p->at_work; r++) {
        const float *const norm = p->replicas[r]->norm;
        if (p->replicas[r]->range.count == 0) continue;
        squares += (double)norm[0] * (double)norm[0];
        finite = finite && norm[2] == 1;
    }
    const double length = sqrt(squares), limit = p->optimizer->grad_clip;
    finite = finite && isfinite(length);
    const double scale = limit > 0 && length > limit ? limit / length : 1;
    const float whole[4] = {(float)length, finite ? (float)scale : 0, finite, (float)squares};
    for (int32_t r = 0; r < p->at_work; r++) memcpy(p->replicas[r]->norm, whole, sizeof whole);
}

/* Measures the gradient, unless that was done when it was summed, and, if the losses are good, changes the weights by
 * it. */
static int part_update(const struct mx_trainer *t, const struct mx_trainer_part *p)
{
    int rc = 0;
    const struct mx_optimizer_options *const o = p->optimizer;
    const int64_t updates = t->state.parts[p->which].updates;
    const struct mx_replica_update update = {.optimizer = o,
                                             .rate = p->rate,
                                             .ema_decay = ema_decay_at(o->ema_decay, updates),
                                             .step = updates + 1,
                                             .whole_norm = p->at_work > 1};
    if (p->at_work > 1)
        norms_join(p);
    else
        MX_TRY(mx_replica_measure(p->replicas[0], o->grad_clip));
    for (int32_t r = 0; isfinite(p->total) && r < p->at_work; r++) {
        MX_TRY(mx_replica_update(p->replicas[r], &update));
        if (p->at_work > 1) MX_TRY(mx_replica_send(p->replicas[r], p->replicas[1 - r]));
    }
out:
    return rc;
}

static int update_run(const struct mx_trainer *t)
{
    int rc = 0;
    for (int32_t p = 0; p < t->part_count; p++)
        if (t->parts[p].counts.sequences > 0) MX_TRY(part_update(t, &t->parts[p]));
    MX_TRY(replicas_wait(t));
out:
    return rc;
}

/* ---- the guard ---- */

/* All utterances of the step, as many as fit. */
static void utterances_name(const struct mx_trainer *t, struct mx_trainer_part *p)
{
    for (int32_t i = 0; i < t->options.grad_accum; i++)
        for (int32_t r = 0; r < p->at_work; r++) {
            const struct mx_device_batch *const batch = batch_of(t, i, r);
            const int64_t count = p->network->calls->count(batch).sequences;
            for (int32_t s = 0; s < count; s++) name_add(t, p->bad, p->network->calls->utterance(batch, s));
        }
}

/* After the update: the guard's verdict about a part. */
static void part_judge(struct mx_trainer *t, struct mx_trainer_part *p)
{
    struct mx_part_state *const state = &t->state.parts[p->which];
    const float *const norm = p->replicas[0]->norm;
    const bool finite = norm[2] == 1;
    struct mx_guard_options guard = t->options.guard;
    guard.clip = p->optimizer->grad_clip;
    p->busy_ns = mx_replica_busy_ns(p->replicas[0]);
    p->grad_norm = finite ? (double)norm[0] : (double)NAN;
    p->guard = mx_guard_observe(&guard, &state->guard, p->total, p->grad_norm, finite);
    if (p->guard.verdict <= MX_GUARD_SPIKE) state->updates++;
}

/* Logs the verdict. */
static int verdict_log(const struct mx_trainer *t, struct mx_trainer_part *p)
{
    const enum mx_guard_verdict verdict = p->guard.verdict;
    const long long step = (long long)t->state.step;
    const bool vocoder = p->which == MX_PART_VOCODER;
    if (verdict == MX_GUARD_SPIKE)
        mx_warn("step %lld: a spike%s: loss %.4g (z %.1f), gradient %.4g (z %.1f)", step,
                vocoder ? " of the vocoder" : "", p->total, p->guard.loss_z, p->grad_norm, p->guard.norm_z);
    if (verdict == MX_GUARD_FINE || verdict == MX_GUARD_SPIKE) return 0;
    const char *const what = isfinite(p->total) ? "gradient" : "loss";
    if (p->bad[0] == '\0') utterances_name(t, p);
    mx_warn("step %lld is left out%s: its %s is not finite; utterances: %s", step, vocoder ? " by the vocoder" : "",
            what, p->bad);
    if (verdict == MX_GUARD_SKIPPED) return 0;
    MX_FAIL(MX_ERR_DATA, NULL, "the last %lld steps%s had a %s that is not finite",
            (long long)t->state.parts[p->which].guard.in_row, vocoder ? " of the vocoder" : "", what);
    return mx_error_hint("lower the learning rate%s, and check the recordings that the log names; none of these steps "
                         "changed %s weights",
                         vocoder ? " of the vocoder" : "", vocoder ? "its" : "the");
}

/* ---- the step ---- */

static void parts_begin(struct mx_trainer *t)
{
    for (int32_t i = 0; i < t->part_count; i++) {
        struct mx_trainer_part *const p = &t->parts[i];
        p->counts = (struct mx_network_counts){0};
        p->rate = mx_schedule_rate(&p->optimizer->schedule, t->state.step);
        p->total = 0;
        memset(p->losses, 0, sizeof p->losses);
        p->bad[0] = '\0';
    }
}

/* Takes the batches of the step. Batches group recordings of similar length, so all of one can be unusable: silence of
 * ten seconds, for example. Such batches are released, and the step takes the next ones. All ranks do so together. */
static int batches_find(struct mx_trainer *t, struct mx_trainer_report *report, int32_t *held)
{
    int rc = 0;
    int64_t left_out = 0;
    for (int empty = 0;; empty++) {
        report->left_out = 0;
        report->share = mx_shares_at(&t->state.shares, mx_share_control_step_next(t));
        parts_begin(t);
        MX_TRY(mx_share_control_turn(t)); /* nothing is held here */
        MX_TRY(batches_acquire(t, report, held));
        if (t->begin_call != NULL) t->begin_call(t->begin_context);
        t->begin_call = NULL;
        MX_TRY(mx_step_counts(t, report));
        report->left_out = left_out += report->left_out;
        if (report->utterances > 0) break;
        if (empty == EMPTY_MAX)
            MX_RAISE(MX_ERR_DATA, "the warnings above name the recordings and what is wrong with them",
                     "step %" PRId64 " found no usable utterance in %d batches in a row", report->step,
                     (EMPTY_MAX + 1) * t->options.grad_accum);
        for (; *held > 0; (*held)--) MX_TRY(mx_pipeline_give(t->pipeline, t->stream));
    }
out:
    return rc;
}

static void report_fill(struct mx_trainer *t, struct mx_trainer_report *report)
{
    const struct mx_trainer_part *const a = mx_trainer_part(t, MX_PART_ACOUSTIC), *const v = mx_trainer_part(
                                                                                      t, MX_PART_VOCODER);
    if (a != NULL) {
        memcpy(report->losses.values, a->losses, sizeof report->losses.values);
        report->losses.total = a->total;
        report->rate = a->rate;
        report->grad_norm = a->grad_norm;
        report->guard = a->guard;
    }
    if (v != NULL && v->counts.sequences > 0) {
        struct mx_vocoder_report *const out = &report->vocoder;
        *out = (struct mx_vocoder_report){.frames = v->counts.frames,
                                          .rate = v->rate,
                                          .grad_norm = v->grad_norm,
                                          .busy_ns = v->busy_ns,
                                          .guard = v->guard};
        memcpy(out->losses.values, v->losses, sizeof out->losses.values);
        out->losses.total = v->total;
    }
    if (a == NULL) {
        for (int k = 0; k < MX_MODEL_LOSSES; k++) report->losses.values[k] = (double)NAN;
        report->losses.total = v->total;
        report->rate = v->rate;
        report->grad_norm = v->grad_norm;
        report->guard = v->guard;
    }
}

int mx_trainer_step(struct mx_trainer *t, struct mx_trainer_report *report)
{
    int rc = 0;
    const uint64_t begin = t->begin_ns > 0 ? t->begin_ns : mx_clock_ns(); /* the first one waited from the start on */
    int32_t held = 0;
    const struct mx_trainer_state before = t->state;
    *report = (struct mx_trainer_report){
        .step = t->state.step + 1, .vocoder_alone = t->options.vocoder_alone, .sharing = t->parts[0].replica_count > 1};
    if (t->pipeline == NULL) MX_RAISE(MX_ERR_ARGUMENT, "call mx_trainer_start", "the trainer has not been started");
    MX_TRY(batches_find(t, report, &held));
    report->tokens = t->parts[0].counts.tokens;
    report->frames = t->parts[0].counts.frames;
    MX_TRY(batches_run(t));
    for (int32_t p = 0; p < t->part_count; p++) losses_sum(t, &t->parts[p]);
    const uint64_t own_ns = mx_clock_ns();
    MX_TRY(mx_step_losses(t));
    MX_TRY(mx_step_sums_finish(t));
    mx_step_times(t, report);
    const uint64_t summed_ns = mx_clock_ns();
    report->sum_wait_ns = summed_ns - own_ns;
    MX_TRY(update_run(t));
    report->update_ns = mx_clock_ns() - summed_ns;
    for (int32_t p = 0; p < t->part_count; p++)
        if (t->parts[p].counts.sequences > 0) part_judge(t, &t->parts[p]);
    report_fill(t, report);
    t->state.step++;
    for (int32_t p = 0; p < t->part_count && rc == 0; p++) rc = verdict_log(t, &t->parts[p]);
    for (; held > 0; held--) {
        const int given = mx_pipeline_give(t->pipeline, t->stream);
        if (rc == 0) rc = given;
    }
    if (rc == 0) rc = mx_stream_sync(t->stream); /* the ends of the batches: the step counts in its report */
    mx_pipeline_step(t->pipeline);
    report->step_ns = mx_clock_ns() - begin;
    t->begin_ns = 0;
    mx_flow_watch_step(&t->watch, report->step, report->step_ns, report->frames, &report->flow);
    mx_share_control_step(t, report);
out:
    for (; held > 0; held--) (void)mx_pipeline_give(t->pipeline, t->stream); /* after a failure */
    if (rc < 0 && t->state.step == before.step)
        t->state = before; /* so that a run resumed from here repeats this step */
    return rc;
}
