/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What would fit if a plan does not. See memory_plan.h.
 *
 * Every remedy is planned as the run would plan it, and offered only if everything then fits: a run with the numbers of
 * the hint works. Owns no memory.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/string.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "run/devices/memory_plan.h"
#include "run/job.h"

static uint64_t used_on(const struct mx_device *device)
{
    struct mx_budget *const budget = mx_device_budget(device);
    return mx_budget_limit(budget) - mx_budget_available(budget);
}

/* Would it fit with these options? A plan that cannot be made does not. */
static bool fits(const struct mx_job *job, const struct mx_trainer_options *options, bool samples)
{
    struct mx_trainer_memory_plan plan;
    struct mx_job_needs needs;
    const bool made =
        mx_trainer_memory_plan(options, &plan) == 0 && mx_job_memory_needs(job, &plan, samples, &needs) == 0;
    if (!made) mx_error_clear();
    return made && mx_job_memory_short(job, &needs) == NULL;
}

__attribute__((format(printf, 2, 3))) static void offer(struct mx_string *hint, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char text[256];
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    mx_string_append(hint, "%s%s", hint->length > 0 ? "; " : "", text);
}

/* ---- batches ---- */

/* A smaller batch and more of them, so that a step is of just the size that was asked for. */
static void batch_divided(const struct mx_job *job, struct mx_string *hint)
{
    const struct mx_settings_training *const t = &job->settings.training;
    const int64_t all = t->batch_size * t->grad_accum;
    for (int64_t size = t->batch_size - 1; size > 0; size--) {
        struct mx_trainer_options options = job->options;
        if (all % size != 0) continue;
        /* With a batch for each rank the options have that of all. */
        options.batch_size = options.batch_size / (uint32_t)t->batch_size * (uint32_t)size;
        options.grad_accum = (int32_t)(all / size);
        if (options.batch_even) options.batch_frames = 0; /* chosen again */
        if (!fits(job, &options, true)) continue;
        offer(hint, "'--batch-size %" PRId64 " %s%" PRId64 "' fits and %s %" PRId64, size,
              job->request.accum != NULL ? job->request.accum : "--grad-accum ", all / size,
              options.batch_even ? "also makes steps that average" : "makes the same steps of", all);
        return;
    }
}

/* The largest value of a setting below `now` with which it fits; 0: there is none. */
static int64_t largest(const struct mx_job *job, int64_t least, int64_t now,
                       void (*set)(struct mx_trainer_options *options, int64_t value))
{
    int64_t good = 0, most = now - 1;
    while (least <= most) {
        struct mx_trainer_options options = job->options;
        const int64_t middle = least + (most - least) / 2;
        set(&options, middle);
        if (fits(job, &options, true)) {
            good = middle;
            least = middle + 1;
        } else {
            most = middle - 1;
        }
    }
    return good;
}

static void frames_set(struct mx_trainer_options *options, int64_t value)
{
    options->batch_frames = (uint64_t)value;
}

static void buffer_set(struct mx_trainer_options *options, int64_t value)
{
    options->flow.buffer = (int32_t)value;
}

/* Batches that frames alone bound: smaller ones make smaller steps, and the hint says so. */
static void frames_bound(const struct mx_job *job, struct mx_string *hint)
{
    const struct mx_settings_training *const t = &job->settings.training;
    if (t->batch_size > 0 || t->batch_frames <= 0 || t->batch_per_rank) return;
    const int64_t frames = largest(job, 1, t->batch_frames, frames_set);
    if (frames > 0) offer(hint, "'--set training.batch_frames=%" PRId64 "' fits, with smaller steps", frames);
}

/* ---- limits ---- */

/* The limit, in MiB, that holds what a device needs; 0: it cannot be set so high. */
static uint64_t limit_for(const struct mx_job *job, const struct mx_device *device, uint64_t need)
{
    const uint64_t wanted = mx_bytes_mib(need + used_on(device));
    return wanted << 20 <= mx_device_pair_room(&job->devices, device) ? wanted : 0;
}

static void limits_raise(const struct mx_job *job, const struct mx_job_needs *needs, struct mx_string *hint)
{
    const struct mx_device_pair *const pair = &job->devices;
    const struct mx_settings_device *const d = &job->settings.device;
    const bool data = needs->data > mx_budget_available(mx_device_budget(pair->data));
    const bool model = needs->model > mx_budget_available(mx_device_budget(pair->model));
    const uint64_t for_data = data ? limit_for(job, pair->data, needs->data) : 0;
    uint64_t for_model = model ? limit_for(job, pair->model, needs->model) : 0;
    if ((data && for_data == 0) || (model && for_model == 0)) return;
    /* On one device both limits together hold. */
    if (!mx_device_pair_multi(pair)) for_model -= (uint64_t)d->data_memory_mb;
    if (data && model)
        offer(hint, "'--data-gpu-memory %" PRIu64 " --model-gpu-memory %" PRIu64 "' is enough", for_data, for_model);
    else
        offer(hint, "'--%s-gpu-memory %" PRIu64 "' is enough", data ? "data" : "model", data ? for_data : for_model);
}

/* ---- the model ---- */

/* The largest size below the chosen one. */
static void size_lower(const struct mx_job *job, struct mx_string *hint)
{
    const struct mx_settings_model *const m = &job->settings.model;
    int at = 0;
    if (job->origin != NULL || m->width > 0 || m->heads > 0 || m->encoder_blocks > 0 || m->decoder_blocks > 0 ||
        m->hidden > 0)
        return;
    while (at < mx_model_size_count() && strcmp(mx_model_size_at(at)->name, m->size) != 0) at++;
    while (--at >= 0) {
        struct mx_trainer_options options = job->options;
        options.model.size = *mx_model_size_at(at);
        if (!fits(job, &options, true)) continue;
        offer(hint, "'--model-size %s' fits", mx_model_size_at(at)->name);
        return;
    }
}

static void model_lower(const struct mx_job *job, struct mx_string *hint)
{
    struct mx_trainer_options options = job->options;
    if (!options.model.recompute_blocks) {
        options.model.recompute_blocks = true;
        if (fits(job, &options, true)) offer(hint, "'--set model.gradient_checkpointing=true' fits, and is slower");
    }
    options = job->options;
    if (options.with_vocoder && !options.vocoder.ready && !options.vocoder_alone) {
        options.vocoder.ready = true; /* its weights stay, if there are any from before */
        if (fits(job, &options, true)) offer(hint, "'--part acoustic' fits, and trains no vocoder");
    }
    if (job->settings.training.samples > 0 && fits(job, &job->options, false))
        offer(hint, "'--set training.samples=0' fits, and speaks no samples");
    size_lower(job, hint);
}

/* ---- all of them ---- */

/* Savings on the other device are not a remedy. */
static void remedies_find(const struct mx_job *job, const struct mx_job_needs *needs, const struct mx_device *device,
                          struct mx_string *hint)
{
    const bool model = device == job->devices.model;
    struct mx_trainer_options alone = job->options;
    if (job->settings.training.batch_size > 0) batch_divided(job, hint);
    frames_bound(job, hint);
    if (job->options.flow.buffer > 1) {
        const int64_t buffer = largest(job, 1, job->options.flow.buffer, buffer_set);
        if (buffer > 0) offer(hint, "'--buffer-size %" PRId64 "' fits", buffer);
    }
    if (!model && job->options.flow.share != MX_SHARE_OFF) {
        alone.flow.share = MX_SHARE_OFF;
        if (fits(job, &alone, true)) offer(hint, "'--share-work off' fits");
    }
    limits_raise(job, needs, hint);
    if (model) model_lower(job, hint);
    if (hint->length == 0) offer(hint, "no smaller batch and no limit that the device may have would be enough");
    if (job->run != NULL) offer(hint, "the same with '--dry-run' shows what takes how much");
}

int mx_job_memory_check(const struct mx_job *job)
{
    int rc = 0;
    struct mx_job_needs needs;
    struct mx_string hint = {0};
    char need[MX_BYTES_TEXT_BYTES], have[MX_BYTES_TEXT_BYTES];
    MX_TRY(mx_job_memory_needs(job, &job->plan, true, &needs));
    const struct mx_device *const device = mx_job_memory_short(job, &needs);
    if (device == NULL) return 0;
    remedies_find(job, &needs, device, &hint);
    mx_bytes_compare(device == job->devices.model ? needs.model : needs.data,
                     mx_budget_available(mx_device_budget(device)), need, have);
    MX_FAIL(MX_ERR_BUDGET, NULL, "training would take %s of %s (%s), which has %s left", need, mx_device_name(device),
            mx_device_logical(device), have);
    rc = hint.failure < 0 ? hint.failure : mx_error_hint("%s", hint.data);
out:
    mx_string_release(&hint);
    return rc;
}
