/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tallies and sums over spans, see meter.h.
 *
 * The sums come from a sweep over the edges of all pending spans in order of time with a count of open spans per stage,
 * so that between two edges it is known which stages were at work. Time that two load workers share counts once.
 *
 * Memory: mx_meter_create takes three blocks; nothing is allocated after it.
 */
#include "pipeline/meter.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "myxtts/error.h"

struct mx_edge {
    uint64_t time_ns;
    int32_t row, change; /* +1: begins, -1: ends */
    double running;      /* of a load: the share of its span that it was on a core */
};

/* What is counted as open: the stages, training on the data device, and pauses, which are pending like spans. */
enum { SHARED = MX_STAGES, PAUSE, ROWS };
#define STAGE_PAUSE MX_STAGES

const char *mx_stage_name(enum mx_stage stage)
{
    static const char *const names[MX_STAGES] = {"load", "process", "transfer", "train"};
    return stage >= 0 && stage < MX_STAGES ? names[stage] : "unknown";
}

void mx_tally_add(struct mx_tally *tally, double value)
{
    if (tally == NULL) return;
    const double delta = value - tally->mean;
    if (tally->count == 0 || value < tally->least) tally->least = value;
    if (tally->count == 0 || value > tally->most) tally->most = value;
    tally->count++;
    tally->mean += delta / (double)tally->count;
    tally->m2 += delta * (value - tally->mean);
}

struct mx_tally mx_tally_since(const struct mx_tally *from, const struct mx_tally *to)
{
    if (to == NULL) return (struct mx_tally){0};
    struct mx_tally t = *to;
    if (from == NULL || to->count <= from->count) return t; /* nothing new, or its count began again */
    const double before = (double)from->count, all = (double)to->count;
    t.count = to->count - from->count;
    t.mean = (to->mean * all - from->mean * before) / (double)t.count;
    const double apart = t.mean - from->mean;
    t.m2 = to->m2 - from->m2 - apart * apart * before * (double)t.count / all;
    if (t.m2 < 0) t.m2 = 0;
    return t;
}

double mx_tally_deviation(const struct mx_tally *tally)
{
    return tally != NULL && tally->count > 1 ? sqrt(tally->m2 / (double)(tally->count - 1)) : 0;
}

double mx_tally_variation(const struct mx_tally *tally)
{
    return tally != NULL && tally->mean > 0 ? mx_tally_deviation(tally) / tally->mean : 0;
}

/* ---- spans ---- */

int mx_meter_create(struct mx_meter *meter, uint32_t pending_limit, uint32_t open_limit, uint32_t ring_size)
{
    int rc = 0;
    *meter = (struct mx_meter){.pending_limit = pending_limit, .open_limit = open_limit, .ring_size = ring_size};
    meter->pending = mx_alloc(pending_limit, sizeof *meter->pending);
    meter->edges = mx_alloc(((size_t)pending_limit + open_limit + 1) * 2, sizeof *meter->edges); /* and a pause */
    meter->ring = mx_alloc(ring_size, sizeof *meter->ring);
    if (meter->pending == NULL || meter->edges == NULL || meter->ring == NULL) rc = MX_ERR_NO_MEMORY;
    if (rc < 0) mx_meter_release(meter);
    mx_meter_reset(meter, mx_clock_ns());
    return rc;
}

void mx_meter_release(struct mx_meter *meter)
{
    mx_free(meter->ring);
    mx_free(meter->edges);
    mx_free(meter->pending);
    *meter = (struct mx_meter){0};
}

/* Keeps a span until the horizon has passed it. */
static void pending_add(struct mx_meter *meter, const struct mx_span *span)
{
    if (span->end_ns <= meter->swept_ns) return;
    if (meter->pending_count == meter->pending_limit) {
        uint64_t first_end_ns = UINT64_MAX;
        for (uint32_t i = 0; i < meter->pending_count; i++)
            if (meter->pending[i].end_ns < first_end_ns) first_end_ns = meter->pending[i].end_ns;
        mx_meter_sweep(meter, first_end_ns); /* makes room for one at least */
    }
    meter->pending[meter->pending_count++] = *span;
}

void mx_meter_add(struct mx_meter *meter, const struct mx_span *span)
{
    if (meter->ring_size > 0) meter->ring[meter->ring_total++ % meter->ring_size] = *span;
    pending_add(meter, span);
}

void mx_meter_pause(struct mx_meter *meter, uint64_t begin_ns, uint64_t end_ns)
{
    if (begin_ns < meter->since_ns) begin_ns = meter->since_ns;
    if (end_ns <= begin_ns) return;
    meter->paused_ns += end_ns - begin_ns;
    pending_add(meter, &(struct mx_span){.stage = STAGE_PAUSE, .begin_ns = begin_ns, .end_ns = end_ns});
}

/* Edges are nearly in order already: spans are added soon after their end. */
static void edges_sort(struct mx_edge *edges, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const struct mx_edge edge = edges[i];
        uint32_t at = i;
        for (; at > 0 && edges[at - 1].time_ns > edge.time_ns; at--) edges[at] = edges[at - 1];
        edges[at] = edge;
    }
}

/* `ns` in which the stages of `open` were at work, and loads on `running` cores. */
static void time_add(const struct mx_meter *meter, const int32_t open[ROWS], double running, uint64_t ns,
                     struct mx_pipeline_stats *s)
{
    const bool load = open[MX_STAGE_LOAD] > 0, process = open[MX_STAGE_PROCESS] > 0;
    const bool transfer = open[MX_STAGE_TRANSFER] > 0, train = open[MX_STAGE_TRAIN] > 0, shared = open[SHARED] > 0;
    const bool data = process || (transfer && meter->copy_on_data) || shared || (train && meter->one_device);
    const double loading = load && meter->load_on_data && running < 1 ? running : load && meter->load_on_data;
    const uint64_t data_ns = data ? ns : (uint64_t)llround(loading * (double)ns);
    if (open[PAUSE] > 0) return;
    s->data_busy_ns += data_ns;
    s->model_busy_ns += meter->one_device ? data_ns : train ? ns : 0;
    if (shared) s->shared_ns += ns;
    if (transfer) s->transfer_ns += ns;
    if (transfer && train) s->transfer_hidden_ns += ns;
    if (train && (load || process || transfer)) s->stage_overlap_ns += ns;
}

/* Appends the edges of a span between two times to `count` others; returns their new number. */
static uint32_t edges_add(struct mx_meter *meter, uint32_t count, const struct mx_span *span, uint64_t from_ns,
                          uint64_t to_ns)
{
    const uint64_t begin_ns = span->begin_ns > from_ns ? span->begin_ns : from_ns;
    const uint64_t end_ns = span->end_ns < to_ns ? span->end_ns : to_ns;
    const int32_t row = span->stage == STAGE_PAUSE                        ? PAUSE
                        : span->stage == MX_STAGE_TRAIN && span->lane > 0 ? SHARED
                                                                          : (int32_t)span->stage;
    if (begin_ns >= end_ns) return count;
    const double whole = (double)(span->end_ns - span->begin_ns);
    const double running = row == MX_STAGE_LOAD ? fmin((double)span->cpu_ns / whole, 1) : 0;
    meter->edges[count++] = (struct mx_edge){begin_ns, row, 1, running};
    meter->edges[count++] = (struct mx_edge){end_ns, row, -1, running};
    return count;
}

static void edges_sum(struct mx_meter *meter, uint32_t count, struct mx_pipeline_stats *stats)
{
    int32_t open[ROWS] = {0};
    double running = 0;
    edges_sort(meter->edges, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct mx_edge *const edge = &meter->edges[i];
        if (i > 0) time_add(meter, open, running, edge->time_ns - meter->edges[i - 1].time_ns, stats);
        open[edge->row] += edge->change;
        running = open[MX_STAGE_LOAD] > 0 ? running + edge->change * edge->running : 0; /* no rounding is left over */
    }
}

void mx_meter_sweep(struct mx_meter *meter, uint64_t horizon_ns)
{
    uint32_t edges = 0, kept = 0;
    if (horizon_ns <= meter->swept_ns) return;
    for (uint32_t i = 0; i < meter->pending_count; i++) {
        const struct mx_span span = meter->pending[i];
        edges = edges_add(meter, edges, &span, meter->swept_ns, horizon_ns);
        if (span.end_ns > horizon_ns) meter->pending[kept++] = span;
    }
    meter->pending_count = kept;
    meter->swept_ns = horizon_ns;
    edges_sum(meter, edges, &meter->stats);
}

void mx_meter_read(struct mx_meter *meter, uint64_t now_ns, const struct mx_span *open, uint32_t count,
                   uint64_t pause_ns, struct mx_pipeline_stats *out)
{
    const struct mx_span pause = {.stage = STAGE_PAUSE, .begin_ns = pause_ns, .end_ns = now_ns};
    const uint64_t from_ns = meter->swept_ns, begin_ns = pause_ns > meter->since_ns ? pause_ns : meter->since_ns;
    uint32_t edges = 0;
    *out = meter->stats;
    for (uint32_t i = 0; i < meter->pending_count; i++)
        edges = edges_add(meter, edges, &meter->pending[i], from_ns, now_ns);
    for (uint32_t i = 0; i < count && i < meter->open_limit; i++)
        edges = edges_add(meter, edges, &open[i], from_ns, now_ns);
    if (pause_ns > 0) edges = edges_add(meter, edges, &pause, from_ns, now_ns);
    edges_sum(meter, edges, out);
    out->since_ns = meter->since_ns;
    out->wall_ns = now_ns - meter->since_ns - meter->paused_ns;
    if (pause_ns > 0 && now_ns > begin_ns) out->wall_ns -= now_ns - begin_ns;
}

void mx_meter_reset(struct mx_meter *meter, uint64_t now_ns)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < meter->pending_count; i++)
        if (meter->pending[i].end_ns > now_ns) meter->pending[kept++] = meter->pending[i];
    meter->pending_count = kept;
    meter->stats = (struct mx_pipeline_stats){0};
    meter->since_ns = meter->swept_ns = now_ns;
    meter->paused_ns = 0;
}

uint32_t mx_meter_spans(const struct mx_meter *meter, struct mx_span *out, uint32_t count)
{
    uint64_t there = meter->ring_total < meter->ring_size ? meter->ring_total : meter->ring_size;
    if (there > count) there = count;
    for (uint64_t i = 0; i < there; i++) out[i] = meter->ring[(meter->ring_total - there + i) % meter->ring_size];
    return (uint32_t)there;
}
