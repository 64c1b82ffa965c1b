/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The share of the data device while a run goes on: how it begins, and when and why it changes. See share.h.
 *
 * A share that was given is never touched. Otherwise the times of both devices decide, at the points that share.h
 * names; every change is told in one line, with its reason, and becomes part of the trainer's state.
 */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "train/trainer_work.h"

#define MARK_STEP    2    /* the first steps are slower: caches, pages, and rings that are being filled */
#define IDLE_STEP    12   /* before it an idle time says little */
#define SHARE_LEAST  0.1  /* of a batch: less is not worth a second replica */
#define GAIN_LEAST   1.03 /* of speed: less may be noise */
#define STEPS_LEAST  2    /* with one share before anything follows from their times */
#define GUESS_OTHERS 0.25 /* the first share for a device of another kind */
#define TELL_STEP    60

static double most_of(const struct mx_trainer *t)
{
    return t->options.flow.share_most > 0 ? t->options.flow.share_most : MX_SHARE_MOST;
}

/* The data device's speed as a share of the model device's, as far as it can be told without trying. */
static double speed_guess(const struct mx_trainer *t)
{
    const struct mx_device_info *const data = mx_device_info(mx_trainer_data_device(&t->options));
    const struct mx_device_info *const model = mx_device_info(t->options.device);
    if (data->kind != model->kind || strcmp(data->backend, model->backend) != 0)
        return GUESS_OTHERS / (1 - GUESS_OTHERS);
    return (double)data->compute_units / (double)model->compute_units;
}

/* The share of a device that is idle for `idle` of the time. */
static double share_guess(const struct mx_trainer *t, double idle)
{
    const double speed = idle * speed_guess(t);
    return fmin(round(1000 * speed / (1 + speed)) / 1000, most_of(t));
}

void mx_sharing_begin(struct mx_trainer *t)
{
    struct mx_shares *const shares = &t->state.shares;
    const struct mx_trainer_flow *const f = &t->options.flow;
    struct mx_sharing *const s = &t->sharing;
    s->first_step = t->state.step;
    s->settled = !t->shape.shared || f->shares.count > 0;
    if (t->shape.shared && f->shares.count > 0) {
        *shares = f->shares;
    } else if (!t->shape.shared) {
        while (shares->count > 0 && shares->points[shares->count - 1].step >= t->state.step) shares->count--;
        if (mx_shares_at(shares, t->state.step) > 0) mx_shares_add(shares, t->state.step, 0);
    } else if (f->share == MX_SHARE_ON && shares->count == 0) {
        mx_shares_add(shares, t->state.step, share_guess(t, 1));
    }
    s->share = mx_shares_at(shares, t->state.step);
    if (t->shape.shared) mx_feed_share(t->feed, s->first_step, shares);
}

/* ---- changes ---- */

/* The share from the first step on that can still be changed; that step, or -1 if there were too many changes. */
static int64_t share_change(struct mx_trainer *t, double share)
{
    const int64_t step = mx_feed_share_step(t->feed, t->state.step);
    if (!mx_shares_add(&t->state.shares, step, share)) {
        t->sharing.settled = true;
        return -1;
    }
    mx_feed_share(t->feed, t->sharing.first_step, &t->state.shares);
    return step;
}

/* While nothing is shared: is the data device idle enough? */
static void idle_judge(struct mx_trainer *t)
{
    struct mx_sharing *const s = &t->sharing;
    const char *const name = mx_device_logical(mx_trainer_data_device(&t->options));
    struct mx_pipeline_stats now;
    mx_pipeline_stats(t->pipeline, &now);
    if (now.wall_ns <= s->mark.wall_ns || s->mark.wall_ns == 0) return;
    const double wall = (double)(now.wall_ns - s->mark.wall_ns);
    const double idle = fmax(0, 1 - (double)(now.data_busy_ns - s->mark.data_busy_ns) / wall);
    const double share = share_guess(t, idle);
    if (share >= SHARE_LEAST) {
        s->alone_ns = (double)s->meter.step_ns / (double)s->meter.own_frames;
        const int64_t step = share_change(t, share);
        if (step >= 0)
            mx_info("work sharing: on, because %s is idle %.0f %% of the time; it trains on %.1f %% of each batch from "
                    "step %lld on",
                    name, 100 * idle, 100 * share, (long long)step + 1);
    } else if (t->state.step >= TELL_STEP && s->alone_ns == 0) {
        mx_info("work sharing: stays off, because %s is idle only %.0f %% of the time after preparing batches", name,
                100 * idle);
        s->alone_ns = (double)s->meter.step_ns / (double)s->meter.own_frames; /* told once */
    }
}

/* Is it faster than without? Only where that was measured. */
static bool gain_judge(struct mx_trainer *t)
{
    struct mx_sharing *const s = &t->sharing;
    const int64_t frames = s->meter.own_frames + s->meter.other_frames;
    const double gain = s->alone_ns * (double)frames / (double)s->meter.step_ns;
    if (t->options.flow.share != MX_SHARE_AUTO || s->alone_ns == 0 || gain >= GAIN_LEAST) return true;
    const int64_t step = share_change(t, 0);
    s->settled = true;
    mx_info("work sharing: off again from step %lld on, because steps became only %.2fx as fast", (long long)step + 1,
            gain);
    return false;
}

static void balance_judge(struct mx_trainer *t)
{
    struct mx_sharing *const s = &t->sharing;
    const double share = mx_share_balance(&s->meter, s->share, most_of(t));
    const double steps = (double)s->meter.steps * 1e6;
    if (share == s->share) return;
    const int64_t step = share_change(t, share);
    if (step >= 0)
        mx_info("work sharing: %s was done after %.1f ms, %s after %.1f ms; %.1f %% of each batch instead of %.1f %% "
                "from step %lld on",
                mx_device_logical(mx_trainer_data_device(&t->options)), (double)s->meter.other_ns / steps,
                mx_device_logical(t->options.device), (double)s->meter.own_ns / steps, 100 * share, 100 * s->share,
                (long long)step + 1);
}

void mx_sharing_step(struct mx_trainer *t, const struct mx_trainer_report *report)
{
    struct mx_sharing *const s = &t->sharing;
    const double share = mx_shares_at(&t->state.shares, t->state.step - 1); /* of the step that is over */
    if (s->settled) return;
    if (share != s->share || t->state.step - s->first_step == MARK_STEP) {
        s->meter = (struct mx_share_meter){0};
        if (s->mark.wall_ns == 0) mx_pipeline_stats(t->pipeline, &s->mark);
    }
    s->share = share;
    const struct mx_replica *const own = t->replicas[0], *const other = t->replicas[1];
    mx_share_meter_add(&s->meter, mx_replica_end_ns(own) - mx_replica_begin_ns(own),
                       report->frames - report->shared_frames, mx_replica_end_ns(other) - mx_replica_begin_ns(other),
                       report->shared_frames, report->step_ns);
    const bool changing = mx_shares_at(&t->state.shares, INT64_MAX) != share; /* a change is on its way */
    if (!mx_share_due(t->state.step) || changing || s->meter.steps < STEPS_LEAST) return;
    if (share > 0 && gain_judge(t))
        balance_judge(t);
    else if (share == 0 && t->options.flow.share == MX_SHARE_AUTO && t->state.step - s->first_step >= IDLE_STEP)
        idle_judge(t);
}
