/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checks 3 and 6 of a validation: a model of the requested size whose memory must be on the model device only, and one
 * real training step through the real pipeline, compared with the same step without a pipeline on one device. See
 * validate.h.
 *
 * The corpus of the step is made up (profile.h). The model device trains both steps from the same initial weights; they
 * differ in which device makes the batch and how it arrives. On devices with the same arithmetic (all CPU devices, two
 * devices of one kind) the weights must be equal bit for bit. Otherwise features differ by rounding; the first step of
 * the optimizer moves each weight by about the learning rate in the direction of its gradient, whose sign rounding may
 * change if it is close to 0. Then the losses may differ by LOSS_BOUND of their value, and the weights by MOVE_BOUND of
 * the length of the whole move.
 *
 * Memory: each check releases what it allocates.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/validate/validate.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "run/devices/memory_plan.h"

#define LOSS_BOUND 1e-4
#define MOVE_BOUND 0.02

#define PAGE_BATCHES 4 /* of recordings for the steps of check 9, whose batches must differ */

static const char *const fault = "this is a fault of the program: please report it";

/* ---- 3: the model ---- */

/* A corpus, and from it and the settings what a trainer would be made with. */
static int job_prepare(struct mx_validate *v)
{
    int rc = 0;
    struct mx_settings *const s = &v->job.settings;
    const int64_t batch = s->training.batch_size > 0 ? s->training.batch_size : 1;
    const int64_t rows = batch < 4 ? 4 : batch;
    rc = mx_profile_corpus_write(&v->corpus, v->page == NULL ? rows : rows * PAGE_BATCHES, false, MX_VALIDATE_SEED);
    if (rc == MX_ERR_IO) rc = mx_error_hint("name a folder that can be written to in TMPDIR");
    if (rc < 0) goto out;
    mx_free(s->data.train_data);
    s->data.train_data = mx_strdup(v->corpus.folder);
    if (s->data.train_data == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    mx_validate_pipeline_bytes(&v->job.devices, &v->job.request.data_bytes, &v->job.request.model_bytes);
    MX_TRY(mx_job_open(&v->job, true));
out:
    return rc;
}

/* Does everything that the checks do fit? This is checked on the model device before the model is created, on the data
 * device before the step. */
static int room_check(const struct mx_job *job, const struct mx_device *device)
{
    int rc = 0;
    struct mx_job_needs needs;
    MX_TRY(mx_job_memory_needs(job, &job->plan, true, &needs));
    if (mx_job_memory_short(job, &needs) == device) MX_TRY(mx_job_memory_check(job));
out:
    return rc;
}

/* Everything that training keeps on the model device except its batches. */
struct trial {
    struct mx_stream *stream;
    struct mx_buffer *flat[4];
    struct mx_model *model;
};

static uint64_t state_bytes(const struct mx_job *job)
{
    return (uint64_t)mx_trainer_optimizer(&job->options, MX_PART_ACOUSTIC)->state_count * job->plan.model.ema_bytes;
}

static int trial_open(const struct mx_job *job, struct trial *trial)
{
    int rc = 0;
    const struct mx_model_memory_plan *const p = &job->plan.model;
    const struct {
        const char *owner;
        uint64_t bytes;
    } flat[4] = {{"parameters", p->parameters_bytes},
                 {"gradients", p->gradients_bytes},
                 {"moments", state_bytes(job)},
                 {"average", p->ema_bytes}};
    MX_TRY(mx_stream_create(job->device, "validation", &trial->stream));
    for (int i = 0; i < 4; i++) {
        if (flat[i].bytes == 0) continue;
        MX_TRY(mx_buffer_create(job->device, flat[i].owner, (size_t)flat[i].bytes, &trial->flat[i]));
    }
    MX_TRY(mx_model_create(job->device, trial->stream, &job->options.model, &job->plan.capacity.model, MX_MODEL_TRAIN,
                           &trial->model));
out:
    return rc;
}

static void trial_close(struct trial *trial)
{
    mx_model_destroy(trial->model);
    for (int i = 0; i < 4; i++) mx_buffer_release(trial->flat[i]);
    mx_stream_release(trial->stream);
}

/* Checks the location of every buffer that can report it. */
static int places_check(const struct mx_job *job, const struct trial *trial)
{
    const struct mx_model_view view = mx_model_view(trial->model);
    const struct mx_buffer *const all[] = {trial->flat[0],        trial->flat[1],   trial->flat[2],
                                           trial->flat[3],        view.mel.buffer,  view.voices.buffer,
                                           view.durations.buffer, view.means.buffer};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] != NULL && mx_buffer_device(all[i]) != job->device)
            return MX_FAIL(MX_ERR_DEVICE, fault, "a part of the model lies on %s instead of %s",
                           mx_device_logical(mx_buffer_device(all[i])), mx_device_logical(job->device));
    return 0;
}

static uint64_t used_on(const struct mx_device *device)
{
    struct mx_budget_stats stats;
    mx_budget_stats(mx_device_budget(device), &stats);
    return stats.current_bytes;
}

/* "", or that the settings make the network another one than its size has. */
static const char *changes_of(const struct mx_model_size *size)
{
    const struct mx_model_size *const named = mx_model_size_find(size->name);
    if (named != NULL && named->width == size->width && named->heads == size->heads && named->hidden == size->hidden &&
        named->encoder_blocks == size->encoder_blocks && named->decoder_blocks == size->decoder_blocks)
        return "";
    return " as the settings change it";
}

int mx_validate_model(struct mx_validate *v)
{
    int rc = 0;
    struct trial trial = {.stream = NULL};
    struct mx_validate_report *const r = &v->report;
    struct mx_job *const job = &v->job;
    char text[MX_BYTES_TEXT_BYTES], slow[MX_DEVICE_PAIR_BF16_BYTES];
    MX_TRY(job_prepare(v));
    const bool two = mx_validate_multi(v);
    const char *const logical = mx_device_logical(job->device);
    const struct mx_model_memory_plan *const p = &job->plan.model;
    const uint64_t planned =
        p->parameters_bytes + p->gradients_bytes + state_bytes(job) + p->ema_bytes + p->activations_bytes;
    const uint64_t before = used_on(job->device), beside = used_on(job->devices.data);
    MX_TRY(room_check(job, job->device));
    MX_TRY(trial_open(job, &trial));
    const uint64_t taken = used_on(job->device) - before;
    const uint64_t strayed = two ? used_on(job->devices.data) - beside : 0;
    mx_validate_text(r, NULL, "size", job->options.model.size.name);
    mx_validate_number(r, NULL, "parameters", (double)p->parameters);
    mx_validate_number(r, NULL, "planned_bytes", (double)planned);
    mx_validate_number(r, NULL, "model_device_bytes", (double)taken);
    mx_validate_number(r, NULL, "data_device_bytes", (double)strayed);
    MX_TRY(places_check(job, &trial));
    if (strayed != 0)
        MX_RAISE(MX_ERR_DEVICE, fault, "%" PRIu64 " bytes of the model lie on %s, the data device", strayed,
                 mx_device_logical(job->devices.data));
    if (taken != planned)
        MX_RAISE(MX_ERR_DEVICE, fault, "the model took %" PRIu64 " bytes of %s instead of the %" PRIu64 " planned",
                 taken, logical, planned);
    mx_validate_report_add(r, MX_FINDING_PASS, NULL, "Model created successfully on %s (%s%s, %.2f M parameters)",
                           logical, job->options.model.size.name, changes_of(&job->options.model.size),
                           (double)p->parameters * 1e-6);
    mx_validate_report_add(r, MX_FINDING_PASS, NULL, "Its memory, %s as planned, is on %s%s%s%s",
                           mx_bytes_text(taken, text), logical, two ? "; " : "",
                           two ? mx_device_logical(job->devices.data) : "", two ? " holds none of it" : "");
    if (job->options.model.mixed && mx_device_pair_bf16_slow(job->device, slow, sizeof slow))
        mx_validate_report_add(r, MX_FINDING_WARNING, MX_DEVICE_PAIR_BF16_HINT, "%s", slow);
out:
    trial_close(&trial);
    return rc;
}

/* ---- 6: one step ---- */

struct result {
    struct mx_trainer_report report;
    float *weights; /* [floats] */
    int64_t floats;
};

static int step_run(const struct mx_trainer_options *options, struct result *out)
{
    int rc = 0;
    struct mx_trainer *trainer = NULL;
    MX_TRY(mx_trainer_create(options, &trainer));
    out->floats = mx_trainer_parameters(trainer, MX_PART_ACOUSTIC)->floats;
    out->weights = mx_alloc((size_t)out->floats, sizeof *out->weights);
    if (out->weights == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_trainer_start(trainer, NULL));
    MX_TRY(mx_trainer_step(trainer, &out->report));
    MX_TRY(mx_trainer_read(trainer, MX_PART_ACOUSTIC, &(struct mx_trainer_arrays){.weights = out->weights}));
out:
    mx_trainer_destroy(trainer);
    return rc;
}

/* The same step where nothing flows: on the model device alone, one thing after the other. It is there for comparison
 * only, so the limit that holds for the model device does not count the data's part against it. *room is false, and
 * nothing was done, where even the whole device is too small for that. */
static int reference_run(struct mx_validate *v, struct result *out, bool *room)
{
    int rc = 0;
    const struct mx_job *const job = &v->job;
    struct mx_trainer_options options = job->options;
    struct mx_trainer_memory_plan plan;
    struct mx_budget *const budget = mx_device_budget(job->device);
    const uint64_t limit = mx_budget_limit(budget), all = mx_device_info(job->device)->memory_bytes;
    const uint64_t most = all > limit ? all : limit, left = most - used_on(job->device);
    options.flow.data_device = NULL;
    options.flow.sequential = true;
    options.flow.auto_tune = false;
    options.flow.share = MX_SHARE_OFF;
    options.flow.buffer = MX_JOB_BUFFER_LEAST;
    MX_TRY(mx_trainer_memory_plan(&options, &plan));
    *room = plan.device_bytes <= left;
    if (!*room) {
        char need[MX_BYTES_TEXT_BYTES], have[MX_BYTES_TEXT_BYTES];
        mx_bytes_compare(plan.device_bytes, left, need, have);
        mx_validate_report_add(&v->report, MX_FINDING_WARNING, "a smaller '--batch-size' can be compared",
                               "The step was not compared: on one device it would take %s of %s, which has %s", need,
                               mx_device_name(job->device), have);
        goto out;
    }
    if (all > limit) MX_TRY(mx_budget_set_limit(budget, all));
    rc = step_run(&options, out);
    if (all > limit) {
        const struct mx_error failure = *mx_error_last();
        const int back = mx_budget_set_limit(budget, limit);
        if (rc < 0) rc = mx_error_restore(&failure);
        if (rc == 0) rc = back;
    }
out:
    return rc;
}

static int finite_check(const struct mx_trainer_report *report, const char *where)
{
    if (isfinite(report->losses.total) && isfinite(report->grad_norm)) return 0;
    return MX_FAIL(MX_ERR_DEVICE,
                   "this device computes wrongly, or the settings make the network diverge: try '--device cpu:0', and "
                   "without '--config' and '--set'",
                   "the loss (%g) or the gradient (%g) of a training step %s is not finite", report->losses.total,
                   report->grad_norm, where);
}

/* How far the two ends of the step are apart, and how far both are from its beginning. */
struct distance {
    int64_t different; /* weights whose bits differ */
    double largest;    /* difference */
    int64_t moved;     /* weights that the step changed */
    double share;      /* length of the difference / length of the move */
};

static int distance_of(const struct mx_job *job, const struct result *a, const struct result *b, struct distance *out)
{
    int rc = 0;
    struct mx_parameters *table = NULL;
    double apart = 0, move = 0;
    float *const first = mx_alloc((size_t)b->floats, sizeof *first);
    *out = (struct distance){0};
    if (first == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_model_parameters_create(&job->options.model, NULL, &table));
    mx_parameters_init(table, job->options.seed, first);
    for (int64_t i = 0; i < b->floats; i++) {
        const double difference = fabs((double)a->weights[i] - (double)b->weights[i]);
        const double step = (double)b->weights[i] - (double)first[i];
        out->different += memcmp(&a->weights[i], &b->weights[i], sizeof(float)) != 0;
        out->moved += memcmp(&b->weights[i], &first[i], sizeof(float)) != 0;
        if (difference > out->largest || isnan(difference)) out->largest = difference;
        apart += difference * difference;
        move += step * step;
    }
    out->share = move > 0 ? sqrt(apart / move) : 0;
out:
    mx_parameters_destroy(table);
    mx_free(first);
    return rc;
}

/* Must both devices make the same numbers of the same recordings, to the last bit? Not if they share the training: then
 * sums are added up in another order. */
static bool arithmetic_equal(const struct mx_job *job)
{
    const struct mx_device_pair *const pair = &job->devices;
    const struct mx_device_info *const a = mx_device_info(pair->data), *const b = mx_device_info(pair->model);
    if (pair->data == pair->model) return true;
    if (job->options.flow.share != MX_SHARE_OFF) return false;
    return strcmp(a->backend, b->backend) == 0 && a->kind == b->kind &&
           (a->kind == MX_DEVICE_CPU || strcmp(a->name, b->name) == 0);
}

static void step_json(struct mx_validate_report *r, const struct result *flow, const struct result *plain,
                      const struct distance *d, bool exact)
{
    mx_validate_number(r, NULL, "utterances", (double)flow->report.utterances);
    mx_validate_number(r, NULL, "frames", (double)flow->report.frames);
    mx_validate_number(r, NULL, "loss", flow->report.losses.total);
    mx_validate_number(r, NULL, "reference_loss", plain->report.losses.total);
    mx_validate_number(r, NULL, "grad_norm", flow->report.grad_norm);
    mx_validate_number(r, NULL, "step_ms", (double)flow->report.step_ns * 1e-6);
    mx_validate_number(r, NULL, "reference_step_ms", (double)plain->report.step_ns * 1e-6);
    mx_validate_number(r, NULL, "weights", (double)flow->floats);
    mx_validate_number(r, NULL, "different", (double)d->different);
    mx_validate_number(r, NULL, "largest_difference", d->largest);
    mx_validate_number(r, NULL, "moved", (double)d->moved);
    mx_validate_number(r, NULL, "difference_share", d->share);
    mx_validate_flag(r, NULL, "exact", exact);
}

static int results_compare(struct mx_validate *v, const struct result *flow, const struct result *plain)
{
    int rc = 0;
    struct distance d;
    struct mx_validate_report *const r = &v->report;
    const bool two = mx_validate_multi(v), exact = arithmetic_equal(&v->job);
    const double loss = flow->report.losses.total, other = plain->report.losses.total;
    const char *const how = two ? "two devices and on one" : "one device, buffered and unbuffered,";
    const char *const hint = "do not train on these devices: update the driver, or choose others ('myxtts devices' "
                             "lists them)";
    MX_TRY(distance_of(&v->job, flow, plain, &d));
    step_json(r, flow, plain, &d, exact);
    if (d.moved == 0)
        MX_RAISE(MX_ERR_DEVICE, fault, "a training step changed nothing: loss %g, gradient %g", loss,
                 flow->report.grad_norm);
    mx_validate_report_add(r, MX_FINDING_PASS, NULL,
                           "Loss %.4f on %" PRId64 " utterances (%" PRId64 " frames), finite; "
                           "%" PRId64 " weights changed",
                           loss, flow->report.utterances, flow->report.frames, d.moved);
    if (exact && d.different > 0)
        MX_RAISE(MX_ERR_DEVICE, hint,
                 "the same step on %s gives different weights: %" PRId64 " of %" PRId64 " differ, by up to %g", how,
                 d.different, flow->floats, d.largest);
    if (!exact && !(fabs(loss - other) <= LOSS_BOUND * fabs(other) && d.share <= MOVE_BOUND))
        MX_RAISE(MX_ERR_DEVICE, hint,
                 "the same step on %s is too different: losses %g and %g (%g of it allowed), weights apart by %.3f of "
                 "the step (%g allowed)",
                 how, loss, other, LOSS_BOUND, d.share, MOVE_BOUND);
    if (exact)
        mx_validate_report_add(r, MX_FINDING_PASS, NULL,
                               "The same step on %s gives the same %" PRId64 " weights, bit for bit", how,
                               flow->floats);
    else
        mx_validate_report_add(
            r, MX_FINDING_PASS, NULL,
            "The same step on %s agrees: losses within %g of each other, weights within %g of the step", how,
            LOSS_BOUND, MOVE_BOUND);
out:
    return rc;
}

int mx_validate_step(struct mx_validate *v)
{
    int rc = 0;
    bool room = true;
    struct result flow = {.weights = NULL}, plain = {.weights = NULL};
    struct mx_job *const job = &v->job;
    MX_TRY(room_check(job, job->devices.data));
    MX_TRY(mx_normaliser_measure(job->dataset, job->recipe, job->devices.data, &job->options.normaliser));
    job->options.flow.start_delay = job->settings.pipeline.model_start_delay; /* nothing else waits before the step */
    MX_TRY(step_run(&job->options, &flow));
    MX_TRY(finite_check(&flow.report, "through the pipeline"));
    MX_TRY(reference_run(v, &plain, &room));
    if (room) MX_TRY(finite_check(&plain.report, "on one device"));
    if (room) MX_TRY(results_compare(v, &flow, &plain));
    mx_validate_report_add(&v->report, MX_FINDING_PASS, NULL, "Training step successful");
out:
    mx_free(flow.weights);
    mx_free(plain.weights);
    return rc;
}
