/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Measures steps in one mode, see profile.h.
 *
 * Batches prepared before the first measured step would be work that the measurement does not include. On one device,
 * where preparation takes time from training, the clock therefore runs from full rings to full rings: every stage has
 * then done exactly as many batches as were trained on. On two devices the data device prepares while the model trains,
 * and the run begins with empty rings, which the steps before the measured ones fill as far as the speed of both
 * allows.
 *
 * Memory: the trainer and its pipeline exist only during mx_profile_run; spans are kept for all batches of a run.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/profile/profile.h"
#include "myxtts/error.h"
#include "pipeline/trace.h"

#define WINDOWS 20               /* in which utilisation is measured */
#define LOOK_NS UINT64_C(200000) /* between two samples of the levels */

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

/* How busy both devices were since `last`, which becomes now. */
static void window_add(struct mx_pipeline *pipeline, struct mx_pipeline_stats *last, struct mx_profile *out)
{
    struct mx_pipeline_stats now;
    mx_pipeline_stats(pipeline, &now);
    const double wall = (double)(now.wall_ns - last->wall_ns);
    const double data = (double)now.data_busy_ns - (double)last->data_busy_ns;
    const double model = (double)now.model_busy_ns - (double)last->model_busy_ns;
    *last = now;
    if (wall <= 0) return;
    mx_tally_add(&out->data_busy, data < wall ? data / wall : 1);
    mx_tally_add(&out->model_busy, model < wall ? model / wall : 1);
}

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
                     struct mx_profile *out)
{
    int rc = 0;
    struct mx_pipeline *const pipeline = mx_trainer_pipeline(trainer);
    struct mx_pipeline_stats last = {0}; /* of the window that began */
    const int64_t window = steps < WINDOWS ? 1 : steps / WINDOWS;
    uint64_t last_ns = mx_clock_ns();
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
        if (i % window == 0 || i == steps) window_add(pipeline, &last, out);
    }
out:
    return rc;
}

/* Of a batch in a stage. */
struct work {
    double busy_ns, cpu_ns, blocked_ns;
};

/* The work of the measured batches in each stage and in all of them: of the same ones everywhere, so that the means of
 * the stages add up to that of the total. What the data device trained on its own is no part of it. */
static void work_add(const struct mx_span *spans, uint32_t count, uint64_t first, struct work (*sums)[MX_STAGES],
                     uint64_t batches, struct mx_profile *out)
{
    for (uint32_t i = 0; i < count; i++) {
        if (spans[i].number < first || spans[i].number >= first + batches ||
            (spans[i].stage == MX_STAGE_TRAIN && spans[i].lane > 0))
            continue;
        struct work *const sum = &sums[spans[i].number - first][spans[i].stage];
        sum->busy_ns += (double)(spans[i].end_ns - spans[i].begin_ns);
        sum->cpu_ns += (double)spans[i].cpu_ns;
        sum->blocked_ns += (double)spans[i].blocked_ns;
    }
    for (int k = 0; k < MX_STAGES; k++) {
        struct mx_stage_stats *const stage = &out->stats.stages[k];
        stage->busy_ns = stage->cpu_ns = stage->blocked_ns = (struct mx_tally){0};
        for (uint64_t i = 0; (k != MX_STAGE_TRANSFER || out->two_devices) && i < batches; i++) {
            mx_tally_add(&stage->busy_ns, sums[i][k].busy_ns);
            mx_tally_add(&stage->cpu_ns, sums[i][k].cpu_ns);
            mx_tally_add(&stage->blocked_ns, sums[i][k].blocked_ns);
        }
    }
    for (uint64_t i = 0; i < batches; i++) {
        double sum = 0;
        for (int k = 0; k < MX_STAGES; k++) sum += sums[i][k].busy_ns;
        mx_tally_add(&out->total_ns, sum);
    }
}

/* The sums of all ranks as spans. Adds up the time in which any was under way from `from_ns` on. */
static int sums_use(const struct mx_job *job, uint64_t from_ns, struct mx_span **spans, uint32_t *count,
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

static int spans_use(const struct mx_job *job, const struct mx_profile_request *request, struct mx_pipeline *pipeline,
                     uint64_t begin_ns, uint32_t limit, struct mx_profile *out)
{
    int rc = 0;
    const uint64_t accum = (uint64_t)job->options.grad_accum, batches = accum * (uint64_t)request->steps;
    struct mx_span *const spans = mx_alloc(limit, sizeof *spans), *summed = NULL;
    struct mx_trace trace = {.spans = spans, .data = job->devices.data, .model = job->devices.model};
    struct work(*const work)[MX_STAGES] = mx_alloc((size_t)batches, sizeof *work);
    if (spans == NULL || work == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(sums_use(job, begin_ns, &summed, &trace.sum_count, out));
    trace.sums = summed;
    trace.count = mx_pipeline_spans(pipeline, spans, limit);
    work_add(spans, trace.count, accum * (uint64_t)request->warmup, work, batches, out);
    if (request->trace != NULL) MX_TRY(mx_trace_write(&trace, request->trace));
out:
    mx_free(spans);
    mx_free(summed);
    mx_free(work);
    return rc;
}

/* What all figures of the report are made of: the statistics as the last step left them, with the step times of the
 * report itself. */
static void figures_collect(const struct mx_trainer *trainer, struct mx_profile *out)
{
    out->stats = *mx_trainer_stats(trainer);
    out->stats.step_ns = out->step_ns;
    const double wall = (double)(out->stats.wall_ns > 0 ? out->stats.wall_ns : 1);
    out->data_share = (double)out->stats.data_busy_ns / wall;
    out->model_share = (double)out->stats.model_busy_ns / wall;
    out->data_busy.mean = out->data_share; /* of the whole time: windows are not all equally long */
    out->model_busy.mean = out->model_share;
}

/* Spans of a run: each batch has one per stage and one of training on the data device, training one more for each batch
 * that its stream ran dry for; and what is prepared after the last step. */
static uint32_t spans_limit(const struct mx_job *job, const struct mx_profile_request *request)
{
    const struct mx_trainer_memory_plan *const p = &job->plan;
    const int64_t batches = (request->warmup + request->steps) * job->options.grad_accum;
    const int64_t ahead = p->host_slots + p->data_slots + p->model_slots;
    return (uint32_t)((batches + ahead) * (MX_STAGES + 1 + job->options.grad_accum));
}

/* Floats of the gradients of all networks that are trained. */
static int64_t gradients_of(const struct mx_trainer *trainer)
{
    int64_t sum = 0;
    for (enum mx_part part = MX_PART_ACOUSTIC; part < MX_PARTS; part++) {
        const struct mx_parameters *const table = mx_trainer_parameters(trainer, part);
        if (table != NULL && mx_trainer_trains(mx_trainer_options(trainer), part)) sum += table->learned;
    }
    return sum;
}

int mx_profile_run(const struct mx_job *job, const struct mx_profile_request *request, struct mx_profile *out)
{
    int rc = 0;
    struct mx_trainer *trainer = NULL;
    struct mx_advice_input input;
    char pack[MX_ADVICE_PACK_BYTES];
    struct mx_trainer_options options = job->options;
    const bool two = mx_device_pair_multi(&job->devices), fill = !two && !options.flow.sequential;
    const uint32_t limit = spans_limit(job, request);
    options.flow.spans = limit;
    options.flow.times = true;
    *out = (struct mx_profile){.warmup = request->warmup,
                               .steps = request->steps,
                               .two_devices = two,
                               .overlap = !options.flow.sequential,
                               .devices = job->devices.choice};
    snprintf(out->data_device, sizeof out->data_device, "%s", mx_device_name(job->devices.data));
    snprintf(out->model_device, sizeof out->model_device, "%s", mx_device_name(job->devices.model));
    MX_TRY(mx_trainer_create(&options, &trainer));
    MX_TRY(mx_trainer_start(trainer, NULL));
    mx_trainer_watch(trainer, request->stop);
    struct mx_pipeline *const pipeline = mx_trainer_pipeline(trainer);
    out->gradient_floats = gradients_of(trainer);
    MX_TRY(steps_run(trainer, request, request->warmup, NULL));
    if (fill) MX_TRY(rings_fill(pipeline, request));
    mx_pipeline_rest(pipeline); /* what was waited for here belongs to no step */
    mx_pipeline_stats_reset(pipeline);
    MX_TRY(mx_comm_barrier(options.comm)); /* all begin together */
    const uint64_t begin_ns = mx_clock_ns(), carried_ns = mx_dist_carried_ns(job->dist);
    MX_TRY(steps_run(trainer, request, request->steps, out));
    const uint64_t end_ns = mx_clock_ns();
    out->carried_ns = (double)(mx_dist_carried_ns(job->dist) - carried_ns);
    figures_collect(trainer, out);
    mx_pipeline_levels(pipeline, &out->levels);
    mx_pipeline_memory_stats(pipeline, &out->memory);
    out->sharing = two && options.flow.share != MX_SHARE_OFF;
    out->shares = mx_trainer_state(trainer)->shares;
    if (fill) MX_TRY(rings_fill(pipeline, request));
    out->wall_ns = (fill ? mx_clock_ns() : end_ns) - begin_ns;
    MX_TRY(spans_use(job, request, pipeline, begin_ns, limit, out));
    mx_pipeline_advice_input(pipeline, &input);
    input.stats = out->stats;
    input.levels = out->levels;
    if (!request->synthetic) mx_job_advice_corpus(job, pack, &input);
    out->advice_count = mx_advice_find(&input, out->advice);
    out->load_on_data = input.load_on_data;
out:
    mx_trainer_destroy(trainer);
    return rc;
}
