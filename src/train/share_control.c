/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The share of the data device during a run: how it begins, and when and why it changes. See share_policy.h.
 *
 * A share given by the user never changes. Otherwise the times of both devices decide, at the points that
 * share_policy.h names; every change is logged in one line with its reason and becomes part of the trainer's state.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "train/trainer_internal.h"

#define MARK_STEP    2    /* the first steps are slower: caches, pages, and rings that are being filled */
#define IDLE_STEP    12   /* before it an idle time says little */
#define GUESS_OTHERS 0.25 /* the first share for a device of another kind */
#define TELL_STEP    60

static double most_of(const struct mx_trainer *t)
{
    return t->options.flow.share_most > 0 ? t->options.flow.share_most : MX_SHARE_MOST;
}

/* The data device's speed as a share of the model device's, as far as it can be estimated without trying. */
static double speed_guess(const struct mx_trainer *t)
{
    const struct mx_device_info *const data = mx_device_info(mx_trainer_data_device(&t->options));
    const struct mx_device_info *const model = mx_device_info(t->options.device);
    if (data->kind != model->kind || strcmp(data->backend, model->backend) != 0)
        return GUESS_OTHERS / (1 - GUESS_OTHERS);
    return (double)data->compute_units / (double)model->compute_units;
}

void mx_share_control_begin(struct mx_trainer *t)
{
    struct mx_shares *const shares = &t->state.shares;
    const struct mx_trainer_flow *const f = &t->options.flow;
    struct mx_share_control *const s = &t->sharing;
    s->first_step = t->state.step;
    s->settled = !t->shape.shared || f->shares.count > 0;
    if (t->shape.shared && f->shares.count > 0) {
        *shares = f->shares;
    } else if (!t->shape.shared) {
        while (shares->count > 0 && shares->points[shares->count - 1].step >= t->state.step) shares->count--;
        if (mx_shares_at(shares, t->state.step) > 0) mx_shares_add(shares, t->state.step, 0);
    } else if (f->share == MX_SHARE_ON && shares->count == 0) {
        mx_shares_add(shares, t->state.step, mx_share_guess(speed_guess(t), 1, most_of(t)));
    }
    s->share = mx_shares_at(shares, t->state.step);
    if (t->shape.shared) mx_feed_share(t->feed, s->first_step, shares);
}

/* ---- turns ---- */

/* What the data device keeps of its range is as old as the last step that was shared, so it receives the whole range. */
static int sharing_open(struct mx_trainer *t)
{
    int rc = 0;
    struct mx_trainer_part *const p = &t->parts[0];
    struct mx_replica *const own = p->replicas[0], *const other = p->replicas[1];
    const struct mx_range theirs = other->options.room;
    MX_TRY(mx_replica_send_all(own, other));
    MX_TRY(mx_replica_send_range(own, other, theirs));
    MX_TRY(mx_stream_sync(own->stream));
    own->range = (struct mx_range){0, theirs.first};
    other->range = theirs;
    p->at_work = p->replica_count;
out:
    return rc;
}

static int sharing_close(struct mx_trainer *t)
{
    int rc = 0;
    struct mx_trainer_part *const p = &t->parts[0];
    struct mx_replica *const own = p->replicas[0], *const other = p->replicas[1];
    MX_TRY(mx_replica_send_range(other, own, other->range));
    MX_TRY(mx_stream_sync(other->stream));
    own->range = own->options.room;
    p->at_work = 1;
out:
    return rc;
}

int64_t mx_share_control_step_next(const struct mx_trainer *t)
{
    return t->sharing.first_step + (int64_t)(t->taken / (uint64_t)t->options.grad_accum);
}

int mx_share_control_turn(struct mx_trainer *t)
{
    const bool wanted =
        t->parts[0].replica_count > 1 && mx_shares_at(&t->state.shares, mx_share_control_step_next(t)) > 0;
    if (wanted == (t->parts[0].at_work > 1)) return 0;
    return wanted ? sharing_open(t) : sharing_close(t);
}

/* ---- changes ---- */

/* The share from the first step on that can still be changed; that step, or -1 if there were too many changes. */
static int64_t share_change(struct mx_trainer *t, double share)
{
    const int64_t step = mx_feed_share_step(t->feed, mx_share_control_step_next(t));
    if (!mx_shares_add(&t->state.shares, step, share)) {
        t->sharing.settled = true;
        return -1;
    }
    mx_feed_share(t->feed, t->sharing.first_step, &t->state.shares);
    return step;
}

/* The part of the time since the first steps in which the data device had nothing to do. */
static double idle_of(const struct mx_trainer *t)
{
    const struct mx_share_control *const s = &t->sharing;
    struct mx_pipeline_stats now, since = s->mark;
    mx_pipeline_stats(t->pipeline, &now);
    /* A caller that measures a run may have restarted the statistics since then. */
    if (now.since_ns != since.since_ns) since = (struct mx_pipeline_stats){0};
    const double wall = (double)(now.wall_ns - since.wall_ns);
    return wall > 0 ? fmax(0, 1 - (double)(now.data_busy_ns - since.data_busy_ns) / wall) : 0;
}

static double alone_of(const struct mx_share_meter *meter)
{
    return (double)meter->step_ns / (double)meter->own_frames;
}

/* Logs a change, with its reason. */
static void change_log(const struct mx_trainer *t, const struct mx_share_case *c, const struct mx_share_decision *d,
                       int64_t step)
{
    const char *const data = mx_device_logical(mx_trainer_data_device(&t->options));
    const double steps = (double)c->meter->steps * 1e6;
    const long long from = (long long)step + 1;
    if (d->verdict == MX_SHARE_BEGIN)
        mx_info("work sharing: on, because %s is idle %.0f %% of the time; it trains on %.1f %% of each batch from "
                "step %lld on",
                data, 100 * c->idle, 100 * d->share, from);
    if (d->verdict == MX_SHARE_CHANGE)
        mx_info("work sharing: %s was done after %.1f ms, %s after %.1f ms; %.1f %% of each batch instead of %.1f %% "
                "from step %lld on",
                data, (double)c->meter->other_ns / steps, mx_device_logical(t->options.device),
                (double)c->meter->own_ns / steps, 100 * d->share, 100 * c->share, from);
    if (d->verdict == MX_SHARE_END)
        mx_info("work sharing: off again from step %lld on, because steps became only %.2fx as fast", from, d->gain);
}

/* At a point where changes are allowed. */
static void share_judge(struct mx_trainer *t)
{
    struct mx_share_control *const s = &t->sharing;
    const bool alone = s->share == 0;
    if (alone && t->state.step - s->first_step < IDLE_STEP) return;
    const struct mx_share_case c = {.mode = t->options.flow.share,
                                    .share = s->share,
                                    .most = most_of(t),
                                    .speed = speed_guess(t),
                                    .idle = alone ? idle_of(t) : 0,
                                    .alone_ns = s->alone_ns,
                                    .meter = &s->meter};
    const struct mx_share_decision d = mx_share_decide(&c);
    if (d.verdict != MX_SHARE_KEEP) {
        const int64_t step = share_change(t, d.share);
        if (alone) s->alone_ns = alone_of(&s->meter);
        if (d.verdict == MX_SHARE_END) s->settled = true;
        if (step >= 0) change_log(t, &c, &d, step);
    } else if (alone && t->state.step >= TELL_STEP && !s->told) {
        mx_info("work sharing: stays off, because %s is idle only %.0f %% of the time after preparing batches",
                mx_device_logical(mx_trainer_data_device(&t->options)), 100 * c.idle);
        s->told = true;
    }
}

void mx_share_control_step(struct mx_trainer *t, const struct mx_trainer_report *report)
{
    struct mx_share_control *const s = &t->sharing;
    const double share =
        mx_shares_at(&t->state.shares, mx_share_control_step_next(t) - 1); /* of the step that is over */
    if (s->settled) return;
    if (share != s->share || t->state.step - s->first_step == MARK_STEP) s->meter = (struct mx_share_meter){0};
    if (t->state.step - s->first_step == MARK_STEP) mx_pipeline_stats(t->pipeline, &s->mark);
    s->share = share;
    const struct mx_trainer_part *const p = &t->parts[0];
    const struct mx_replica *const own = p->replicas[0], *const other = p->replicas[1];
    const uint64_t other_ns = p->at_work > 1 ? mx_replica_end_ns(other) - mx_replica_begin_ns(other) : 0;
    uint64_t end_ns = mx_replica_end_ns(own); /* of the vocoder, too: the model device has to do both */
    for (int32_t i = 1; i < t->part_count; i++) {
        const uint64_t last_ns = mx_replica_end_ns(t->parts[i].replicas[0]);
        if (last_ns > end_ns) end_ns = last_ns;
    }
    mx_share_meter_add(&s->meter, end_ns - mx_replica_begin_ns(own), report->frames - report->shared_frames, other_ns,
                       report->shared_frames, report->step_ns);
    const bool changing = mx_shares_at(&t->state.shares, INT64_MAX) != share; /* a change is on its way */
    if (mx_share_due(t->state.step) && !changing) share_judge(t);
}
