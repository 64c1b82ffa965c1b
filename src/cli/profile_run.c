/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Steps of one mode, measured; see profile.h.
 *
 * What was prepared before the first measured step would be work that nobody pays for. On one device, where preparing
 * takes time from training, the clock therefore runs from full rings to full rings: every stage then has done exactly
 * as many batches as were trained on. On two devices the data device prepares beside the model, and the run begins with
 * empty rings, which the steps before the measured ones fill as far as the speed of both allows.
 *
 * Memory: the trainer and its pipeline exist during mx_profile_run only; spans are remembered for all batches of a run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/profile.h"
#include "myxtts/error.h"
#include "pipeline/trace.h"

#define WINDOWS 20               /* in which utilisation is measured */
#define LOOK_NS UINT64_C(200000) /* between two looks at the levels */

enum { SHARED = MX_STAGES, ROWS }; /* training on the data device counts beside the stages */

static int interrupted(const struct mx_profile_request *request)
{
    if (!atomic_load(request->stop)) return 0;
    return MX_FAIL(MX_ERR_INTERRUPTED, NULL, "interrupted; nothing was kept");
}

/* Waits until every slot of every ring is filled. */
static int rings_fill(struct mx_pipeline *pipeline, const struct mx_profile_request *request)
{
    struct mx_pipeline_levels levels;
    for (;;) {
        mx_pipeline_levels(pipeline, &levels);
        if (levels.full) return 0;
        const int rc = interrupted(request);
        if (rc < 0) return rc;
        mx_clock_sleep_ns(LOOK_NS);
    }
}

/* Waits until so many batches since the start or the last reset are accounted for: the device tells it a moment after
 * the step has ended. */
static void batches_settle(struct mx_pipeline *pipeline, int64_t batches, struct mx_pipeline_stats *stats)
{
    for (;;) {
        mx_pipeline_stats(pipeline, stats);
        if (stats->batches >= (uint64_t)batches) return;
        mx_clock_sleep_ns(LOOK_NS / 10);
    }
}

/* When windows of steps began and ended. */
struct windows {
    uint64_t edges_ns[2 * WINDOWS + 1];
    int count; /* of edges */
};

static void buckets_add(const struct mx_trainer *trainer, struct mx_profile *out)
{
    struct mx_trainer_bucket last[MX_PROFILE_BUCKETS];
    const int32_t count = mx_trainer_buckets(trainer, last, MX_PROFILE_BUCKETS);
    out->bucket_count = count <= MX_PROFILE_BUCKETS ? count : 0;
    for (int32_t i = 0; i < out->bucket_count; i++) {
        out->buckets[i].bytes = last[i].bytes;
        out->buckets[i].lead_ns += last[i].lead_ns;
    }
}

static int steps_run(struct mx_trainer *trainer, const struct mx_profile_request *request, int64_t steps,
                     struct windows *windows, struct mx_profile *out)
{
    int rc = 0;
    struct mx_pipeline *const pipeline = mx_trainer_pipeline(trainer);
    const int64_t window = steps < WINDOWS ? 1 : steps / WINDOWS;
    uint64_t last_ns = mx_clock_ns();
    windows->edges_ns[windows->count++] = last_ns;
    for (int64_t i = 1; i <= steps; i++) {
        struct mx_trainer_report report;
        struct mx_pipeline_levels levels;
        MX_TRY(interrupted(request));
        MX_TRY(mx_trainer_step(trainer, &report));
        mx_progress_add(request->progress, 1);
        if (out == NULL) continue;
        const uint64_t now_ns = mx_clock_ns();
        mx_tally_add(&out->step_ns, (double)(now_ns - last_ns));
        mx_tally_add(&out->backward_ns, (double)report.backward_ns);
        mx_tally_add(&out->update_ns, (double)report.update_ns);
        mx_tally_add(&out->utterances, (double)report.utterances);
        out->sums_waited_ns += (double)report.sum_wait_ns;
        if (i <= MX_PROFILE_TIMES) out->step_ms[i - 1] = (float)((double)(now_ns - last_ns) * 1e-6);
        buckets_add(trainer, out);
        if (report.frames > 0) mx_tally_add(&out->frame_ns, (double)(now_ns - last_ns) / (double)report.frames);
        last_ns = now_ns;
        out->frames += report.frames;
        out->shared_frames += report.shared_frames;
        mx_pipeline_levels(pipeline, &levels);
        mx_tally_add(&out->loaded, levels.loaded);
        mx_tally_add(&out->prepared, levels.prepared);
        mx_tally_add(&out->arrived, levels.arrived);
        if (i % window == 0 || i == steps) windows->edges_ns[windows->count++] = now_ns;
    }
out:
    return rc;
}

/* The work of each measured batch in all stages together. */
static void totals_add(const struct mx_span *spans, uint32_t count, uint64_t first, double *sums, uint64_t batches,
                       struct mx_profile *out)
{
    for (uint32_t i = 0; i < count; i++)
        if (spans[i].number >= first && spans[i].number < first + batches)
            sums[spans[i].number - first] += (double)(spans[i].end_ns - spans[i].begin_ns);
    for (uint64_t i = 0; i < batches; i++) mx_tally_add(&out->total_ns, sums[i]);
}

/* ---- utilisation ---- */

static int compare_spans(const void *a, const void *b)
{
    const uint64_t x = ((const struct mx_span *)a)->begin_ns, y = ((const struct mx_span *)b)->begin_ns;
    return (x > y) - (x < y);
}

/* The share of a window in which any of the chosen stages was at work; spans are in the order of their begin. */
static double window_share(const struct mx_span *spans, uint32_t count, const bool stages[ROWS], uint64_t from_ns,
                           uint64_t to_ns)
{
    uint64_t busy_ns = 0, at_ns = from_ns;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t begin_ns = spans[i].begin_ns > at_ns ? spans[i].begin_ns : at_ns;
        const uint64_t end_ns = spans[i].end_ns < to_ns ? spans[i].end_ns : to_ns;
        const int row = spans[i].stage == MX_STAGE_TRAIN && spans[i].lane > 0 ? SHARED : (int)spans[i].stage;
        if (!stages[row] || end_ns <= begin_ns) continue;
        busy_ns += end_ns - begin_ns;
        at_ns = end_ns;
    }
    return to_ns > from_ns ? (double)busy_ns / (double)(to_ns - from_ns) : 0;
}

/* How busy both devices were, in each window and altogether. */
static void utilisation_add(const struct mx_train_job *job, const struct mx_span *spans, uint32_t count,
                            const struct windows *windows, struct mx_profile *out)
{
    const bool copies = !mx_device_info(job->devices.data)->caps.async_copy;
    const bool data[ROWS] = {[MX_STAGE_LOAD] = out->load_on_data,
                             [MX_STAGE_PROCESS] = true,
                             [MX_STAGE_TRANSFER] = copies,
                             [MX_STAGE_TRAIN] = !out->two_devices,
                             [SHARED] = true};
    const bool train[ROWS] = {[MX_STAGE_TRAIN] = true}, *const model = out->two_devices ? train : data;
    const uint64_t first_ns = windows->edges_ns[0], last_ns = windows->edges_ns[windows->count - 1];
    for (int i = 1; i < windows->count; i++) {
        const uint64_t from_ns = windows->edges_ns[i - 1], to_ns = windows->edges_ns[i];
        mx_tally_add(&out->data_busy, window_share(spans, count, data, from_ns, to_ns));
        mx_tally_add(&out->model_busy, window_share(spans, count, model, from_ns, to_ns));
    }
    out->data_share = window_share(spans, count, data, first_ns, last_ns);
    out->model_share = window_share(spans, count, model, first_ns, last_ns);
}

/* The sums of all ranks as spans. Adds up the time in which any was under way from `from_ns` on. */
static int sums_use(const struct mx_train_job *job, uint64_t from_ns, struct mx_span **spans, uint32_t *count,
                    struct mx_profile *out)
{
    uint64_t at_ns = UINT64_MAX; /* from here on all is added up: they come in the order of their ends */
    const uint32_t limit = MX_PROFILE_SUMS;
    struct mx_dist_span *const sums = mx_alloc(limit, sizeof *sums);
    *spans = mx_alloc(limit, sizeof **spans);
    if (sums == NULL || *spans == NULL) {
        mx_free(sums);
        return MX_ERR_NO_MEMORY;
    }
    *count = mx_dist_spans(job->dist, sums, limit);
    for (uint32_t i = *count; i-- > 0;) {
        (*spans)[i] = (struct mx_span){.stage = MX_STAGE_TRAIN,
                                       .lane = sums[i].lane,
                                       .number = sums[i].number,
                                       .begin_ns = sums[i].begin_ns,
                                       .end_ns = sums[i].end_ns};
        const uint64_t begin_ns = sums[i].begin_ns > from_ns ? sums[i].begin_ns : from_ns;
        const uint64_t end_ns = sums[i].end_ns < at_ns ? sums[i].end_ns : at_ns;
        if (end_ns <= begin_ns) continue;
        out->sums_ns += (double)(end_ns - begin_ns);
        at_ns = begin_ns;
    }
    mx_free(sums);
    return 0;
}

static int spans_use(const struct mx_train_job *job, const struct mx_profile_request *request,
                     struct mx_pipeline *pipeline, const struct windows *windows, uint32_t limit,
                     struct mx_profile *out)
{
    int rc = 0;
    const uint64_t accum = (uint64_t)job->options.grad_accum, batches = accum * (uint64_t)request->steps;
    struct mx_span *const spans = mx_alloc(limit, sizeof *spans), *summed = NULL;
    struct mx_trace_sums sums = {NULL, 0};
    double *const totals = mx_alloc((size_t)batches, sizeof *totals);
    if (spans == NULL || totals == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(sums_use(job, windows->edges_ns[0], &summed, &sums.count, out));
    sums.spans = summed;
    const uint32_t count = mx_pipeline_spans(pipeline, spans, limit);
    totals_add(spans, count, accum * (uint64_t)request->warmup, totals, batches, out);
    if (request->trace != NULL)
        MX_TRY(mx_trace_write_sums(request->trace, spans, count, &sums, job->devices.data, job->devices.model));
    qsort(spans, count, sizeof *spans, compare_spans);
    utilisation_add(job, spans, count, windows, out);
out:
    mx_free(spans);
    mx_free(summed);
    mx_free(totals);
    return rc;
}

/* Spans of a run: each batch has one per stage and one of training on the data device, training one more for each batch
 * that its stream ran dry for; and what is prepared after the last step. */
static uint32_t spans_limit(const struct mx_train_job *job, const struct mx_profile_request *request)
{
    const struct mx_trainer_plan *const p = &job->plan;
    const int64_t batches = (request->warmup + request->steps) * job->options.grad_accum;
    const int64_t ahead = p->host_slots + p->data_slots + p->model_slots;
    return (uint32_t)((batches + ahead) * (MX_STAGES + 1 + job->options.grad_accum));
}

int mx_profile_run(const struct mx_train_job *job, const struct mx_profile_request *request, struct mx_profile *out)
{
    int rc = 0;
    struct mx_trainer *trainer = NULL;
    struct mx_advice_input input;
    struct windows before = {0}, windows = {0};
    struct mx_trainer_options options = job->options;
    const bool two = mx_device_pair_multi(&job->devices), fill = !two && !options.flow.sequential;
    const uint32_t limit = spans_limit(job, request);
    options.flow.spans = limit;
    options.flow.times = true;
    *out = (struct mx_profile){
        .warmup = request->warmup, .steps = request->steps, .two_devices = two, .overlap = !options.flow.sequential};
    snprintf(out->data_device, sizeof out->data_device, "%s", mx_device_name(job->devices.data));
    snprintf(out->model_device, sizeof out->model_device, "%s", mx_device_name(job->devices.model));
    MX_TRY(mx_trainer_create(&options, &trainer));
    MX_TRY(mx_trainer_start(trainer, NULL));
    mx_trainer_watch(trainer, request->stop);
    struct mx_pipeline *const pipeline = mx_trainer_pipeline(trainer);
    out->gradient_floats = mx_trainer_parameters(trainer)->floats;
    MX_TRY(steps_run(trainer, request, request->warmup, &before, NULL));
    if (fill) MX_TRY(rings_fill(pipeline, request));
    batches_settle(pipeline, request->warmup * options.grad_accum, &out->stats);
    mx_pipeline_rest(pipeline); /* what was waited for here belongs to no step */
    mx_pipeline_stats_reset(pipeline);
    MX_TRY(mx_group_barrier(options.group)); /* all begin together */
    const uint64_t begin_ns = mx_clock_ns(), carried_ns = mx_dist_carried_ns(job->dist);
    MX_TRY(steps_run(trainer, request, request->steps, &windows, out));
    out->carried_ns = (double)(mx_dist_carried_ns(job->dist) - carried_ns);
    batches_settle(pipeline, request->steps * options.grad_accum, &out->stats);
    mx_pipeline_levels(pipeline, &out->levels);
    mx_pipeline_memory_stats(pipeline, &out->memory);
    mx_pipeline_advice_input(pipeline, &input);
    out->advice_count = mx_advice_find(&input, out->advice);
    out->load_on_data = input.load_on_data;
    out->sharing = two && options.flow.share != MX_SHARE_OFF;
    out->shares = mx_trainer_state(trainer)->shares;
    if (fill) MX_TRY(rings_fill(pipeline, request));
    out->wall_ns = (fill ? mx_clock_ns() : windows.edges_ns[windows.count - 1]) - begin_ns;
    MX_TRY(spans_use(job, request, pipeline, &windows, limit, out));
out:
    mx_trainer_destroy(trainer);
    return rc;
}
