/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The memory of a training run before any is allocated: what fits, what is refused, and the table. See memory_plan.h.
 */
#include <string.h>

#include "base/log.h"
#include "base/number.h"
#include "base/string.h"
#include "device/host_memory.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "run/devices/memory_plan.h"
#include "run/job.h"
#include "run/observer/samples.h"
#include "run/ranks.h"

#define HOST_SHARE 8 /* the part of the machine's memory that host slots may take, as a divisor */

/* ---- what fits ---- */

static uint64_t left_on(const struct mx_device *device)
{
    return mx_budget_available(mx_device_budget(device));
}

int mx_job_memory_needs(const struct mx_job *job, const struct mx_trainer_memory_plan *plan, bool samples,
                        struct mx_job_needs *out)
{
    const bool two = mx_device_pair_multi(&job->devices);
    /* A run with a past has its normaliser from there; otherwise the first rank measures before anything is taken. */
    const bool past = job->origin != NULL && mx_checkpoint_state(job->origin) != NULL;
    const bool measures = !past && mx_job_ranks_first(job);
    const uint64_t before = measures ? mx_normaliser_bytes(job->dataset, job->recipe) : 0;
    struct mx_job_samples_memory spoken = {0};
    const int rc = samples ? mx_job_samples_memory_plan(job, plan, &spoken) : 0;
    out->data = two ? mx_most(mx_most(plan->data_bytes, before), job->request.data_bytes) : 0;
    out->model = plan->device_bytes + spoken.speak.waveform + spoken.speak.speech + spoken.pictures;
    out->model = mx_most(out->model, job->request.model_bytes);
    if (!two) out->model = mx_most(out->model, before);
    return rc;
}

/* May the buffer be smaller than it is? A number that was given is what runs, or what is refused. */
static bool buffer_chosen(const struct mx_job *job)
{
    return job->settings.pipeline.auto_tune && !job->options.flow.buffer_given;
}

struct mx_device *mx_job_memory_short(const struct mx_job *job, const struct mx_job_needs *needs)
{
    if (needs->model > left_on(job->devices.model)) return job->devices.model;
    return needs->data > left_on(job->devices.data) ? job->devices.data : NULL;
}

/* Plans job->options; *device gets the one that has too little, or NULL. */
static int plan_try(struct mx_job *job, struct mx_device **device)
{
    int rc = 0;
    struct mx_job_needs needs;
    MX_TRY(mx_trainer_memory_plan(&job->options, &job->plan));
    MX_TRY(mx_job_memory_needs(job, &job->plan, true, &needs));
    *device = mx_job_memory_short(job, &needs);
out:
    return rc;
}

/* ---- work sharing ---- */

static const double rooms[] = {MX_SHARE_MOST, 0.5, 0.375, 0.25, 0.125}; /* parts of a batch */
#define ROOMS (sizeof rooms / sizeof rooms[0])

/* Does this fit on the data device with the fewest prepared batches? */
static bool data_fits(const struct mx_job *job, struct mx_trainer_options options, struct mx_trainer_memory_plan *plan)
{
    struct mx_job_needs needs;
    if (buffer_chosen(job) && options.flow.buffer > MX_JOB_BUFFER_LEAST) options.flow.buffer = MX_JOB_BUFFER_LEAST;
    if (mx_trainer_memory_plan(&options, plan) < 0 || mx_job_memory_needs(job, plan, true, &needs) < 0) return false;
    return needs.data <= left_on(job->devices.data);
}

/* Finds the largest part of a batch that the data device has room for in addition to its other work. What does not fit
 * even with the smallest one is not done with `auto`, and otherwise refused with everything else that does not fit. */
static int sharing_fit(struct mx_job *job)
{
    struct mx_trainer_memory_plan plan;
    struct mx_trainer_options options = job->options;
    char need[MX_BYTES_TEXT_BYTES], have[MX_BYTES_TEXT_BYTES];
    const struct mx_device *const data = job->devices.data;
    if (options.flow.share == MX_SHARE_OFF) return 0;
    options.flow.share = MX_SHARE_OFF;
    if (!data_fits(job, options, &plan)) return 0; /* the problem is another one */
    options.flow.share = job->options.flow.share;
    for (size_t i = 0; i < ROOMS; i++) {
        options.flow.share_most = rooms[i];
        if (!data_fits(job, options, &plan)) {
            if (plan.data_bytes == 0) return mx_error_last()->code; /* a share that was given is too much */
            continue;
        }
        if (i > 0 && job->options.flow.share_most != rooms[i])
            mx_info("work sharing: at most %.1f %% of a batch, because %s has no memory for more", 100 * rooms[i],
                    mx_device_logical(data));
        job->options.flow.share_most = rooms[i];
        return 0;
    }
    const struct mx_share_setup setup = {.asked = options.flow.share, .two_devices = true, .no_room = true};
    job->options.flow.share = mx_share_choose(&setup).mode;
    if (job->options.flow.share != MX_SHARE_OFF) {
        job->options.flow.share_most = rooms[ROOMS - 1];
        return 0;
    }
    mx_bytes_compare(plan.data_bytes, left_on(data), need, have);
    mx_info("work sharing: stays off, because a replica of the model would take %s of %s, which has %s left", need,
            mx_device_logical(data), have);
    return 0;
}

/* ---- the plan ---- */

/* Auto-tuning takes the largest buffer that fits, and the smallest one if none does. */
static int buffer_fit(struct mx_job *job, struct mx_device **device)
{
    int rc = 0;
    const struct mx_device *const first = *device;
    const int32_t wanted = job->options.flow.buffer;
    int32_t least = MX_JOB_BUFFER_LEAST, most = wanted - 1, good = 0;
    while (least <= most) {
        const int32_t middle = least + (most - least) / 2;
        job->options.flow.buffer = middle;
        MX_TRY(plan_try(job, device));
        if (*device == NULL) {
            good = middle;
            least = middle + 1;
        } else {
            most = middle - 1;
        }
    }
    job->options.flow.buffer = good > 0 ? good : MX_JOB_BUFFER_LEAST;
    MX_TRY(plan_try(job, device));
    if (good > 0)
        mx_info("auto-tune: a buffer of %d batches instead of %d, because %s has no memory for more", (int)good,
                (int)wanted, mx_device_name(first));
out:
    return rc;
}

/* Each load worker needs a batch on the host. Those that auto-tuning may add must not use up the machine's memory: all
 * host slots together get an eighth of it. */
static int workers_fit(struct mx_job *job, struct mx_device **device)
{
    struct mx_trainer_options *const o = &job->options;
    const uint64_t room = mx_host_memory_bytes() / HOST_SHARE / (job->plan.host_slot_bytes + 1);
    const uint64_t slots = MX_PIPELINE_WORKERS + MX_PIPELINE_LOADED;
    const int64_t fitting = (int64_t)mx_least(room, slots) - o->prefetch;
    const int32_t most = (int32_t)mx_most(fitting, o->workers), wanted = o->flow.workers_max;
    char each[MX_BYTES_TEXT_BYTES];
    if (wanted <= most) return 0;
    mx_info("auto-tune: up to %d load workers instead of %d, because a batch on the host takes %s for each", (int)most,
            (int)wanted, mx_bytes_text(job->plan.host_slot_bytes, each));
    o->flow.workers_max = most;
    return plan_try(job, device);
}

int mx_job_memory_plan(struct mx_job *job, bool dry)
{
    int rc = 0;
    struct mx_device *device = NULL;
    MX_TRY(sharing_fit(job));
    MX_TRY(plan_try(job, &device));
    MX_TRY(workers_fit(job, &device));
    if (device != NULL && buffer_chosen(job) && job->options.flow.buffer > MX_JOB_BUFFER_LEAST)
        MX_TRY(buffer_fit(job, &device));
    if (device != NULL && !dry) MX_TRY(mx_job_memory_check(job));
out:
    return rc;
}

/* ---- the table ---- */

static void row(struct mx_string *out, const char *what, uint64_t bytes)
{
    char text[MX_BYTES_TEXT_BYTES];
    mx_string_append(out, "    %-22s %12s\n", what, mx_bytes_text(bytes, text));
}

/* The owners of the places that `data`, `model` and `host` choose, and their sum. */
static uint64_t owners(const struct mx_trainer_memory_plan *plan, bool data, bool model, bool host,
                       struct mx_string *out)
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

static void device_table(const struct mx_job *job, const struct mx_job_samples_memory *spoken,
                         const struct mx_device *device, bool data, bool model, struct mx_string *out)
{
    char all[MX_BYTES_TEXT_BYTES], most[MX_BYTES_TEXT_BYTES];
    const uint64_t limit = mx_budget_limit(mx_device_budget(device));
    const char *const role = data && model ? "" : data ? ", the data device" : ", the model device";
    mx_string_append(out, "Memory of %s (%s)%s:\n", mx_device_logical(device), mx_device_name(device), role);
    uint64_t sum = owners(&job->plan, data, model, false, out);
    if (model && spoken->speak.waveform > 0) {
        row(out, "waveform", spoken->speak.waveform);
        row(out, "speech", spoken->speak.speech);
        row(out, "pictures", spoken->pictures);
        sum += spoken->speak.waveform + spoken->speak.speech + spoken->pictures;
    }
    struct mx_budget_stats taken; /* by the device itself, so far */
    mx_budget_stats(mx_device_budget(device), &taken);
    for (int i = 0; i < taken.owner_count; i++) {
        if (taken.owners[i].host || taken.owners[i].current_bytes == 0) continue;
        row(out, taken.owners[i].name, taken.owners[i].current_bytes);
        sum += taken.owners[i].current_bytes;
    }
    mx_bytes_compare(sum, limit, all, most);
    mx_string_append(out, "    %-22s %12s\n", "all together", all);
    mx_string_append(out, "    %-22s %12s\n", "limit", most);
    if (sum > limit)
        mx_string_append(out, "    does not fit\n");
    else
        mx_string_append(out, "    %-22s %10.1f %%\n", "of the limit", 100 * (double)sum / (double)limit);
}

int mx_job_memory_text(const struct mx_job *job, struct mx_string *out)
{
    const struct mx_device_pair *const pair = &job->devices;
    const struct mx_trainer_memory_plan *const p = &job->plan;
    struct mx_job_samples_memory spoken;
    const int rc = mx_job_samples_memory_plan(job, p, &spoken);
    if (rc < 0) return rc;
    if (mx_device_pair_multi(pair)) {
        device_table(job, &spoken, pair->data, true, false, out);
        device_table(job, &spoken, pair->model, false, true, out);
    } else {
        device_table(job, &spoken, pair->model, true, true, out);
    }
    mx_string_append(out, "Memory of the host:\n");
    uint64_t host = owners(p, false, false, true, out);
    if (spoken.speak.waveform_host > 0) {
        row(out, "waveform", spoken.speak.waveform_host);
        row(out, "speech", spoken.speak.speech_host);
        row(out, "pictures", spoken.pictures_host);
        host += spoken.speak.waveform_host + spoken.speak.speech_host + spoken.pictures_host;
    }
    row(out, "checkpoints", mx_job_host_bytes(job));
    row(out, "all together", host + mx_job_host_bytes(job));
    const int loaded = (int)job->options.prefetch, held = mx_device_pair_multi(pair) ? 0 : job->options.grad_accum;
    mx_string_append(out, "Batches: %d loaded and %d being loaded, %d prepared", loaded, (int)p->host_slots - loaded,
                     (int)p->data_slots - held);
    if (mx_device_pair_multi(pair))
        mx_string_append(out, ", %d on the model device", (int)p->model_slots);
    else
        mx_string_append(out, " and %d trained on", held);
    mx_string_append(out, "\n");
    return out->failure;
}

int mx_job_memory_log(const struct mx_job *job)
{
    struct mx_string text = {0};
    const int rc = mx_job_memory_text(job, &text);
    for (char *line = text.data, *end; rc == 0 && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        mx_info("%s", line);
    }
    mx_string_release(&text);
    return rc;
}
