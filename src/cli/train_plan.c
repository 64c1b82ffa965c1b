/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The memory of a training run before any of it is taken: what fits, what is refused, and the table. See train_job.h.
 */
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/train_job.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"

#define BUFFER_LEAST 2 /* prepared batches: one is trained on while the next one is made */

/* ---- what fits ---- */

static uint64_t left_on(const struct mx_device *device)
{
    return mx_budget_available(mx_device_budget(device));
}

/* What the device that trains must hold. */
static uint64_t model_need(const struct mx_train_job *job, const struct mx_trainer_plan *plan)
{
    return plan->device_bytes + mx_train_job_samples_bytes(job, plan);
}

/* The device that has too little for the plan; NULL: it fits. */
static struct mx_device *short_of(const struct mx_train_job *job, const struct mx_trainer_plan *plan)
{
    if (model_need(job, plan) > left_on(job->devices.model)) return job->devices.model;
    if (mx_device_pair_multi(&job->devices) && plan->data_bytes > left_on(job->devices.data)) return job->devices.data;
    return NULL;
}

/* May the buffer be smaller than it is? A number that was given is what runs, or what is refused. */
static bool buffer_chosen(const struct mx_train_job *job)
{
    return job->settings.pipeline.auto_tune && !job->options.flow.buffer_given;
}

/* Would it fit with these options? A plan that cannot be made does not. */
static bool fits(const struct mx_train_job *job, const struct mx_trainer_options *options)
{
    struct mx_trainer_plan plan;
    return mx_trainer_plan(options, &plan) == 0 && short_of(job, &plan) == NULL;
}

/* Batches of `size` whose gradients make a step as large as the one asked for. */
static int64_t accum_for(const struct mx_train_job *job, int64_t size)
{
    const struct mx_settings_training *const t = &job->settings.training;
    return (t->batch_size * t->grad_accum + size - 1) / size;
}

/* The largest value in [least, most] with which it fits, of the buffer or of the batch; 0: there is none. */
static int64_t largest(const struct mx_train_job *job, bool batch, int64_t least, int64_t most)
{
    int64_t good = 0;
    while (least <= most) {
        struct mx_trainer_options options = job->options;
        const int64_t middle = least + (most - least) / 2;
        if (batch) {
            options.batch_size = (uint32_t)middle;
            options.grad_accum = (int32_t)accum_for(job, middle);
        } else {
            options.flow.buffer = (int32_t)middle;
        }
        if (fits(job, &options)) {
            good = middle;
            least = middle + 1;
        } else {
            most = middle - 1;
        }
    }
    return good;
}

/* ---- work sharing ---- */

static const double rooms[] = {MX_SHARE_MOST, 0.5, 0.375, 0.25, 0.125}; /* parts of a batch */
#define ROOMS (sizeof rooms / sizeof rooms[0])

/* Would the data device hold this, with as few prepared batches as may be? */
static bool data_fits(const struct mx_train_job *job, struct mx_trainer_options options, struct mx_trainer_plan *plan)
{
    if (buffer_chosen(job) && options.flow.buffer > BUFFER_LEAST) options.flow.buffer = BUFFER_LEAST;
    return mx_trainer_plan(&options, plan) == 0 && plan->data_bytes <= left_on(job->devices.data);
}

/* What does not fit even with the smallest part of a batch is refused, or with `auto` not done. */
static int sharing_refuse(struct mx_train_job *job, uint64_t bytes, bool dry)
{
    char need[MX_BYTES_TEXT_BYTES], have[MX_BYTES_TEXT_BYTES];
    const struct mx_device *const data = job->devices.data;
    mx_bytes_text(bytes, need);
    mx_bytes_text(left_on(data), have);
    if (job->options.flow.share == MX_SHARE_AUTO) {
        mx_info("work sharing: stays off, because a replica of the model would take %s of %s, which has %s left", need,
                mx_device_logical(data), have);
        job->options.flow.share = MX_SHARE_OFF;
        return 0;
    }
    if (dry) return 0; /* the table shows it */
    MX_FAIL(MX_ERR_BUDGET, NULL, "work sharing would take %s of %s (%s), which has %s left", need, mx_device_name(data),
            mx_device_logical(data), have);
    return mx_error_hint("a higher '--data-gpu-memory', a smaller '--batch-size'%s or '--share-work off' would help; "
                         "'myxtts train --dry-run' shows what takes how much",
                         buffer_chosen(job) ? "" : " or '--buffer-size'");
}

/* Finds the largest part of a batch that the data device has room for, besides what it does anyway. */
static int sharing_fit(struct mx_train_job *job, bool dry)
{
    struct mx_trainer_plan plan;
    struct mx_trainer_options options = job->options;
    if (options.flow.share == MX_SHARE_OFF || !mx_device_pair_multi(&job->devices)) return 0;
    options.flow.share = MX_SHARE_OFF;
    if (!data_fits(job, options, &plan)) return 0; /* whatever is wrong, it is not this */
    options.flow.share = job->options.flow.share;
    for (size_t i = 0; i < ROOMS; i++) {
        options.flow.share_most = rooms[i];
        if (!data_fits(job, options, &plan)) {
            if (plan.data_bytes == 0) return mx_error_last()->code; /* a share that was given is too much */
            continue;
        }
        if (i > 0 && job->options.flow.share_most != rooms[i])
            mx_info("work sharing: at most %.1f %% of a batch, because %s has no memory for more", 100 * rooms[i],
                    mx_device_logical(job->devices.data));
        job->options.flow.share_most = rooms[i];
        return 0;
    }
    return sharing_refuse(job, plan.data_bytes, dry);
}

static int refuse(struct mx_train_job *job, const struct mx_device *device)
{
    char need[MX_BYTES_TEXT_BYTES], have[MX_BYTES_TEXT_BYTES];
    const uint64_t bytes = device == job->devices.model ? model_need(job, &job->plan) : job->plan.data_bytes;
    MX_FAIL(MX_ERR_BUDGET, NULL, "training would take %s of %s (%s), which has %s left", mx_bytes_text(bytes, need),
            mx_device_name(device), mx_device_logical(device), mx_bytes_text(left_on(device), have));
    const struct mx_error failure = *mx_error_last(); /* the plans below may fail, too */
    const int64_t buffer = buffer_chosen(job) ? 0 : largest(job, false, 1, (int64_t)job->options.flow.buffer - 1);
    mx_error_restore(&failure);
    if (buffer > 0)
        return mx_error_hint("the largest buffer that fits is '--buffer-size %" PRId64
                             "'; 'myxtts train --dry-run' shows what takes how much",
                             buffer);
    if (job->batch_fits > 0)
        return mx_error_hint("the largest batch that fits is %" PRId64 ": '--batch-size %" PRId64
                             " --grad-accum %" PRId64
                             "' makes steps of that size; 'myxtts train --dry-run' shows what takes how much",
                             job->batch_fits, job->batch_fits, accum_for(job, job->batch_fits));
    if (job->settings.training.batch_size == 0)
        return mx_error_hint(
            "bound 'training.batch_frames' or '--batch-size'; 'myxtts train --dry-run' shows what takes how much");
    return mx_error_hint("not even '--batch-size 1' fits: a higher limit, a smaller '--model-size', '--set "
                         "model.gradient_checkpointing=true'%s or no samples ('--set training.samples=0') would help; "
                         "'myxtts train --dry-run' shows what takes how much",
                         job->options.flow.buffer > BUFFER_LEAST ? ", a smaller '--buffer-size'" : "");
}

int mx_train_plan_make(struct mx_train_job *job, bool dry)
{
    int rc = 0;
    const struct mx_device *device;
    const int32_t wanted = job->options.flow.buffer;
    MX_TRY(sharing_fit(job, dry));
    MX_TRY(mx_trainer_plan(&job->options, &job->plan));
    device = short_of(job, &job->plan);
    if (device == NULL) goto out;
    if (buffer_chosen(job) && wanted > BUFFER_LEAST) {
        const int64_t buffer = largest(job, false, BUFFER_LEAST, wanted - 1);
        job->options.flow.buffer = buffer > 0 ? (int32_t)buffer : BUFFER_LEAST;
        MX_TRY(mx_trainer_plan(&job->options, &job->plan));
        if (buffer > 0) {
            mx_info("auto-tune: a buffer of %d batches instead of %d, because %s has no memory for more", (int)buffer,
                    (int)wanted, mx_device_name(device));
            goto out;
        }
    }
    device = short_of(job, &job->plan);
    if (job->options.batch_size > 1) job->batch_fits = largest(job, true, 1, (int64_t)job->options.batch_size - 1);
    if (!dry) MX_TRY(refuse(job, device));
    mx_error_clear(); /* of the plans that could not be made */
out:
    return rc;
}

/* ---- the table ---- */

static void row(struct mx_text *out, const char *what, uint64_t bytes)
{
    char text[MX_BYTES_TEXT_BYTES];
    mx_text_append(out, "    %-22s %12s\n", what, mx_bytes_text(bytes, text));
}

/* The owners of the places that `data`, `model` and `host` choose, and their sum. */
static uint64_t owners(const struct mx_trainer_plan *plan, bool data, bool model, bool host, struct mx_text *out)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i < plan->memory_count; i++) {
        const struct mx_trainer_memory *const m = &plan->memory[i];
        const bool chosen = m->place == MX_PLACE_DATA ? data : m->place == MX_PLACE_MODEL ? model : host;
        if (!chosen) continue;
        row(out, m->owner, m->bytes);
        sum += m->bytes;
    }
    return sum;
}

static void device_table(const struct mx_train_job *job, const struct mx_device *device, bool data, bool model,
                         struct mx_text *out)
{
    const uint64_t limit = mx_budget_limit(mx_device_budget(device));
    const uint64_t samples = model ? mx_train_job_samples_bytes(job, &job->plan) : 0;
    const char *const role = data && model ? "" : data ? ", the data device" : ", the model device";
    mx_text_append(out, "Memory of %s (%s)%s:\n", mx_device_logical(device), mx_device_name(device), role);
    uint64_t sum = owners(&job->plan, data, model, false, out) + samples;
    if (samples > 0) row(out, "spoken samples", samples);
    struct mx_budget_stats taken; /* by the device itself, so far */
    mx_budget_stats(mx_device_budget(device), &taken);
    for (int i = 0; i < taken.owner_count; i++) {
        if (taken.owners[i].host || taken.owners[i].current_bytes == 0) continue;
        row(out, taken.owners[i].name, taken.owners[i].current_bytes);
        sum += taken.owners[i].current_bytes;
    }
    row(out, "all together", sum);
    row(out, "limit", limit);
    if (sum > limit && job->batch_fits > 0)
        mx_text_append(out, "    does not fit; the largest batch that does is %" PRId64 "\n", job->batch_fits);
    else if (sum > limit)
        mx_text_append(out, "    does not fit\n");
    else
        mx_text_append(out, "    %-22s %10.1f %%\n", "of the limit", 100 * (double)sum / (double)limit);
}

int mx_train_plan_text(const struct mx_train_job *job, struct mx_text *out)
{
    const struct mx_device_pair *const pair = &job->devices;
    const struct mx_trainer_plan *const p = &job->plan;
    if (mx_device_pair_multi(pair)) {
        device_table(job, pair->data, true, false, out);
        device_table(job, pair->model, false, true, out);
    } else {
        device_table(job, pair->model, true, true, out);
    }
    mx_text_append(out, "Memory of the host:\n");
    row(out, "all together", owners(p, false, false, true, out));
    const int loaded = (int)job->options.prefetch, held = mx_device_pair_multi(pair) ? 0 : job->options.grad_accum;
    mx_text_append(out, "Batches: %d loaded and %d in loading, %d prepared", loaded, (int)p->host_slots - loaded,
                   (int)p->data_slots - held);
    if (mx_device_pair_multi(pair))
        mx_text_append(out, ", %d on the model device", (int)p->model_slots);
    else
        mx_text_append(out, " and %d trained on", held);
    mx_text_append(out, "\n");
    return out->failure;
}

int mx_train_plan_say(const struct mx_train_job *job)
{
    struct mx_text text = {0};
    const int rc = mx_train_plan_text(job, &text);
    for (char *line = text.data, *end; rc == 0 && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        mx_info("%s", line);
    }
    mx_text_release(&text);
    return rc;
}
