/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The flow watch, see flow_watch.h.
 */
#include "train/flow_watch.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "pipeline/advice.h"

#define SLACK_BYTES 4096 /* change in a budget that does not count as growth */
#define FIRST_STEPS 2    /* of a run: the pipeline fills up, so they mean nothing */
#define REPEAT_NS                                                                                                      \
    UINT64_C(600000000000) /* short steps have calm and varying windows in turns: at most one warning in ten minutes */
#define LOADS_NS UINT64_C(1000000000)

void mx_flow_watch_start(struct mx_flow_watch *watch, struct mx_pipeline *pipeline, struct mx_device *data,
                         struct mx_device *model)
{
    *watch = (struct mx_flow_watch){
        .pipeline = pipeline, .data = data, .model = model, .told = -1, .variation = (double)NAN};
    mx_budget_watch_restart(mx_device_budget(data));
    mx_budget_watch_restart(mx_device_budget(model));
}

/* The difference of two readings; late measurements may make the later one slightly smaller. */
static uint64_t between(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : part < whole ? (double)part / (double)whole : 1;
}

/* Shares of the time since the oldest mark that is remembered. */
static void shares_measure(struct mx_flow_watch *m, struct mx_flow_watch_report *out)
{
    struct mx_pipeline_stats *const s = &m->last;
    mx_pipeline_stats(m->pipeline, s);
    struct mx_flow_watch_mark now = {.since_ns = s->since_ns,
                                     .wall_ns = s->wall_ns,
                                     .data_busy_ns = s->data_busy_ns,
                                     .model_busy_ns = s->model_busy_ns,
                                     .data_wait_ns = s->data_wait_ns,
                                     .transfer_ns = s->transfer_ns,
                                     .hidden_ns = s->transfer_hidden_ns};
    for (int k = 0; k < MX_STAGES; k++) {
        const struct mx_stage_stats *const stage = &s->stages[k];
        now.batches[k] = (double)stage->busy_ns.count;
        now.cpu_ns[k] = stage->cpu_ns.mean * now.batches[k];
        now.blocked_ns[k] = stage->blocked_ns.mean * now.batches[k];
    }
    struct mx_flow_watch_mark *const place = &m->marks[m->steps % MX_FLOW_WATCH_WINDOW], before = *place;
    const bool restarted = now.since_ns != before.since_ns; /* there is none, or the statistics restarted */
    const struct mx_flow_watch_mark from = restarted ? (struct mx_flow_watch_mark){0} : before;
    const uint64_t wall = between(from.wall_ns, now.wall_ns);
    out->data_busy = share(between(from.data_busy_ns, now.data_busy_ns), wall);
    out->model_busy = share(between(from.model_busy_ns, now.model_busy_ns), wall);
    out->data_wait = share(between(from.data_wait_ns, now.data_wait_ns), wall);
    out->transfer = share(between(from.transfer_ns, now.transfer_ns), wall);
    out->transfer_hidden = share(between(from.hidden_ns, now.hidden_ns), wall);
    for (int k = 0; k < MX_STAGES; k++) {
        const double batches = now.batches[k] - from.batches[k];
        out->cpu_ns[k] = batches > 0 ? fmax(now.cpu_ns[k] - from.cpu_ns[k], 0) / batches : (double)NAN;
        out->blocked_ns[k] = batches > 0 ? fmax(now.blocked_ns[k] - from.blocked_ns[k], 0) / batches : (double)NAN;
    }
    *place = now;
}

static void memory_measure(struct mx_device *device, uint64_t *used, uint64_t *limit)
{
    struct mx_budget *const budget = mx_device_budget(device);
    *limit = mx_budget_limit(budget);
    *used = *limit - mx_budget_available(budget);
}

/* Drivers sample a few times a second, and querying them takes time. */
static void loads_measure(struct mx_flow_watch *m, struct mx_flow_watch_report *out)
{
    const uint64_t now = mx_clock_ns();
    if (m->loads_ns == 0 || now - m->loads_ns >= LOADS_NS) {
        m->loads_ns = now;
        (void)mx_device_load(m->model, &m->model_load); /* all 0 where it is not available */
        m->data_load = m->model_load;
        if (m->data != m->model) (void)mx_device_load(m->data, &m->data_load);
    }
    out->data_load = m->data_load;
    out->model_load = m->model_load;
}

static void leak_watch(struct mx_device *device, int64_t step, struct mx_flow_watch_report *out)
{
    char owner[MX_BUDGET_OWNER_BYTES], text[MX_BYTES_TEXT_BYTES];
    uint64_t growth;
    if (!mx_budget_watch(mx_device_budget(device), SLACK_BYTES, owner, &growth)) return;
    snprintf(out->leak, sizeof out->leak, "%s", owner);
    out->leak_bytes = growth;
    mx_warn("step %" PRId64 ": memory of %s grows: '%s' has %s more than %d steps ago", step, mx_device_name(device),
            owner, mx_bytes_text(growth, text), MX_BUDGET_WINDOW);
}

/* ---- variation ---- */

static struct mx_tally tally_scale(struct mx_tally t, double by)
{
    return (struct mx_tally){t.count, t.mean * by, t.m2 * by * by, t.least * by, t.most * by};
}

/* The statistics of this window alone. */
static void stats_since(const struct mx_pipeline_stats *from, struct mx_pipeline_stats *s)
{
    if (s->since_ns != from->since_ns) return; /* they restarted */
    for (int i = 0; i < MX_STAGES; i++) {
        s->stages[i].busy_ns = mx_tally_since(&from->stages[i].busy_ns, &s->stages[i].busy_ns);
        s->stages[i].cpu_ns = mx_tally_since(&from->stages[i].cpu_ns, &s->stages[i].cpu_ns);
        s->stages[i].blocked_ns = mx_tally_since(&from->stages[i].blocked_ns, &s->stages[i].blocked_ns);
        s->stages[i].wait_input_ns = between(from->stages[i].wait_input_ns, s->stages[i].wait_input_ns);
        s->stages[i].wait_output_ns = between(from->stages[i].wait_output_ns, s->stages[i].wait_output_ns);
    }
    s->wall_ns = between(from->wall_ns, s->wall_ns);
    s->batches = between(from->batches, s->batches);
    s->data_wait_ns = between(from->data_wait_ns, s->data_wait_ns);
    s->data_busy_ns = between(from->data_busy_ns, s->data_busy_ns);
    s->model_busy_ns = between(from->model_busy_ns, s->model_busy_ns);
    s->transfer_ns = between(from->transfer_ns, s->transfer_ns);
    s->transfer_hidden_ns = between(from->transfer_hidden_ns, s->transfer_hidden_ns);
    s->stage_overlap_ns = between(from->stage_overlap_ns, s->stage_overlap_ns);
}

/* Warns of a window whose steps vary: once for each cause, and again after a calm window if that is long ago. */
static void variation_log(struct mx_flow_watch *m, int64_t step)
{
    struct mx_advice_input input;
    struct mx_advice found[MX_ADVICE_KINDS];
    mx_pipeline_advice_input(m->pipeline, &input);
    stats_since(&m->begin, &input.stats);
    input.stats.step_ns = tally_scale(m->frame_ns, m->frames.mean); /* as if all steps had the same frames */
    const int32_t count = mx_advice_find(&input, found);
    for (int32_t i = 0; i < count; i++) {
        if (found[i].kind != MX_ADVICE_VARIATION || m->told == (int)found[i].cause) continue;
        m->told = (int)found[i].cause;
        m->told_ns = mx_clock_ns();
        mx_warn("step %" PRId64 ": at equal work %s; cause: %s: %s", step, found[i].finding,
                mx_advice_cause_name(found[i].cause), found[i].remedy);
    }
}

static void variation_watch(struct mx_flow_watch *m, int64_t step, uint64_t step_ns, int64_t frames)
{
    if (frames <= 0 || m->steps < FIRST_STEPS) return;
    if (m->frame_ns.count == 0) mx_pipeline_stats(m->pipeline, &m->begin);
    mx_tally_add(&m->frame_ns, (double)step_ns / (double)frames);
    mx_tally_add(&m->frames, (double)frames);
    if (m->frame_ns.count < MX_FLOW_WATCH_WINDOW) return;
    m->variation = mx_tally_variation(&m->frame_ns);
    if (m->variation > MX_VARIATION_LIMIT)
        variation_log(m, step);
    else if (mx_clock_ns() - m->told_ns > REPEAT_NS)
        m->told = -1;
    m->frame_ns = m->frames = (struct mx_tally){0};
}

void mx_flow_watch_step(struct mx_flow_watch *m, int64_t step, uint64_t step_ns, int64_t frames,
                        struct mx_flow_watch_report *out)
{
    *out = (struct mx_flow_watch_report){0};
    shares_measure(m, out);
    mx_pipeline_levels(m->pipeline, &out->levels);
    memory_measure(m->data, &out->data_bytes, &out->data_limit_bytes);
    memory_measure(m->model, &out->model_bytes, &out->model_limit_bytes);
    loads_measure(m, out);
    leak_watch(m->model, step, out);
    if (m->data != m->model) leak_watch(m->data, step, out);
    variation_watch(m, step, step_ns, frames);
    out->variation = m->variation;
    m->steps++;
}
