/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From settings to devices opened under their limits, see device_pair.h.
 */
#include "run/devices/device_pair.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"

/* ---- limits ---- */

/* The memory limit of a device, and its reason. */
struct limit {
    uint64_t bytes;
    char why[160];
};

/* What a device of a pair is used for. */
struct duty {
    const struct mx_device_info *info;
    bool data, model; /* its roles */
    bool shared;      /* two CPU devices share the memory of the machine, a third and two thirds */
    uint64_t rest;    /* what a limit given for the other device leaves of the shared memory */
};

static int limit_choose(const struct mx_settings *s, const struct duty *duty, struct limit *out)
{
    int rc = 0;
    const bool data = duty->data, model = duty->model, shared = duty->shared;
    const uint64_t rest = duty->rest;
    const struct mx_device_info *const info = duty->info;
    char has[MX_BYTES_TEXT_BYTES];
    const struct mx_settings_device *const d = &s->device;
    const enum mx_device_role role = model ? MX_ROLE_MODEL : MX_ROLE_DATA;
    const int64_t given = (data ? d->data_memory_mb : 0) + (model ? d->model_memory_mb : 0);
    const uint64_t recommended = mx_budget_recommended(info->memory_bytes, role);
    const uint64_t share = shared && recommended < rest ? recommended : rest;
    mx_bytes_text(info->memory_bytes, has);
    if (given > 0) {
        out->bytes = (uint64_t)given << 20;
        snprintf(out->why, sizeof out->why, "as given");
        if (out->bytes > info->memory_bytes) {
            MX_FAIL(MX_ERR_BUDGET, NULL, "a limit of %" PRId64 " MiB is more than %s:%d has, which is %s", given,
                    info->backend, info->index, has);
            MX_TRY(mx_error_hint("give '%s' at most %" PRIu64,
                                 data && !model ? "--data-gpu-memory" : "--model-gpu-memory",
                                 info->memory_bytes >> 20));
        }
    } else if (s->pipeline.memory_isolation) {
        const uint64_t mebibytes =
            (data ? (uint64_t)MX_SETTINGS_DATA_MEMORY_MB : 0) + (model ? (uint64_t)MX_SETTINGS_MODEL_MEMORY_MB : 0);
        out->bytes = mebibytes << 20 < share ? mebibytes << 20 : share;
        if (out->bytes < mebibytes << 20)
            snprintf(out->why, sizeof out->why, "instead of %" PRIu64 " MiB: %.16s:%d has %.32s%s", mebibytes,
                     info->backend, info->index, has, shared ? ", which both share" : "");
        else
            snprintf(out->why, sizeof out->why, "%" PRIu64 " MiB, the default of memory isolation", mebibytes);
    } else if (rest < recommended) {
        out->bytes = rest;
        snprintf(out->why, sizeof out->why, "what the other limit leaves of %s", has);
    } else {
        out->bytes = recommended;
        snprintf(out->why, sizeof out->why, "the recommended share of %s", has);
    }
out:
    return rc;
}

/* Two limits on one memory, both given, must fit into it together. */
static int limits_check(const struct mx_settings_device *d, const struct mx_device_info *info, const char *names[2])
{
    char both[MX_BYTES_TEXT_BYTES], has[MX_BYTES_TEXT_BYTES];
    const uint64_t memory = info->memory_bytes, all = (uint64_t)(d->data_memory_mb + d->model_memory_mb) << 20;
    if (d->data_memory_mb == 0 || d->model_memory_mb == 0 || all <= memory) return 0;
    mx_bytes_compare(all, memory, both, has);
    MX_FAIL(MX_ERR_BUDGET, NULL,
            "limits of %" PRId64 " MiB for data and %" PRId64 " MiB for the model are %s together, and %s and %s share "
            "one memory of %s",
            d->data_memory_mb, d->model_memory_mb, both, names[0], names[1], has);
    return mx_error_hint("'--data-gpu-memory %" PRIu64 " --model-gpu-memory %" PRIu64
                         "' would fit, or any two that are at most %" PRIu64 " together",
                         mx_budget_recommended(memory, MX_ROLE_DATA) >> 20,
                         mx_budget_recommended(memory, MX_ROLE_MODEL) >> 20, memory >> 20);
}

/* ---- devices ---- */

static void device_log(const struct mx_device_pair *pair, const char *role, const struct mx_device_info *info)
{
    if (pair->choice.plain)
        mx_info("   %s: %s:%d (%s)", role, info->backend, info->index, info->name);
    else
        mx_info("   %s GPU: %d (%s:%d, %s)", role, info->index, info->backend, info->index, info->name);
}

/* Which device got which logical name. */
static void names_log(const struct mx_device_pair *pair)
{
    const char *const data = mx_device_logical(pair->data), *const model = mx_device_logical(pair->model);
    if (pair->choice.plain)
        mx_info("   Set devices: %s is %s, %s is %s", mx_device_name(pair->data), data, mx_device_name(pair->model),
                model);
    else
        mx_info("   Set visible devices: GPU %d and GPU %d (%s is %s, %s is %s)", mx_device_info(pair->data)->index,
                mx_device_info(pair->model)->index, mx_device_name(pair->data), data, mx_device_name(pair->model),
                model);
}

const char *mx_device_pair_place(const struct mx_device_pair *pair, const struct mx_device *device,
                                 char out[MX_DEVICE_PAIR_PLACE_BYTES])
{
    const char *const logical = mx_device_logical(device), *const cores = strstr(mx_device_info(device)->name, "core");
    if (!pair->choice.plain)
        snprintf(out, MX_DEVICE_PAIR_PLACE_BYTES, "/%s", logical);
    else if (cores != NULL)
        snprintf(out, MX_DEVICE_PAIR_PLACE_BYTES, "%s (%.64s)", logical, cores);
    else
        snprintf(out, MX_DEVICE_PAIR_PLACE_BYTES, "%s", logical);
    return out;
}

static void limit_log(const char *what, const struct limit *limit)
{
    char text[MX_BYTES_TEXT_BYTES];
    mx_info("   %s memory limit: %s (%s)", what, mx_bytes_text(limit->bytes, text), limit->why);
}

/* A device with its part of the memory, where that is the machine's and others use it, too. */
static struct mx_device_info info_of(const struct mx_device_pair *pair, int index)
{
    struct mx_device_info info = *mx_registry_device(pair->registry, index);
    if (info.kind == MX_DEVICE_CPU && pair->sharers > 1) info.memory_bytes /= (uint64_t)pair->sharers;
    return info;
}

/* Are both limits on one memory, that of the machine? */
static bool memory_shared(const struct mx_device_pair *pair)
{
    return mx_device_pair_multi(pair) && mx_registry_device(pair->registry, 0)->kind == MX_DEVICE_CPU &&
           mx_registry_device(pair->registry, 1)->kind == MX_DEVICE_CPU;
}

uint64_t mx_device_pair_room(const struct mx_device_pair *pair, const struct mx_device *device)
{
    const bool second = mx_device_pair_multi(pair) && device == pair->model;
    const uint64_t memory = info_of(pair, second ? 1 : 0).memory_bytes;
    if (!memory_shared(pair)) return memory;
    const uint64_t other = mx_budget_limit(mx_device_budget(second ? pair->data : pair->model));
    return other < memory ? memory - other : 0;
}

/* What a limit in MiB, 0 for none, leaves of a memory that both share. */
static uint64_t rest_of(uint64_t memory, bool shared, int64_t given)
{
    const uint64_t bytes = (uint64_t)given << 20;
    return !shared ? memory : bytes < memory ? memory - bytes : 0;
}

static int pair_open(const struct mx_settings *s, struct mx_device_pair *pair)
{
    int rc = 0;
    struct limit data, model;
    const struct mx_device_info own[2] = {info_of(pair, 0), info_of(pair, 1)}, *const first = own,
                                *const second = own + 1;
    const struct mx_settings_device *const d = &s->device;
    const bool shared = memory_shared(pair);
    const char *names[2] = {pair->choice.names[0], pair->choice.names[1]};
    mx_info("🎯 Configuring %s...", mx_mode_name(&pair->choice));
    device_log(pair, "Data Processing", first);
    device_log(pair, "Model Training", second);
    const struct duty duties[2] = {
        {first, .data = true, .shared = shared, .rest = rest_of(first->memory_bytes, shared, d->model_memory_mb)},
        {second, .model = true, .shared = shared, .rest = rest_of(second->memory_bytes, shared, d->data_memory_mb)}};
    MX_TRY(limit_choose(s, &duties[0], &data));
    MX_TRY(limit_choose(s, &duties[1], &model));
    if (shared) MX_TRY(limits_check(d, first, names));
    MX_TRY(mx_registry_device_open(pair->registry, 0, data.bytes, &pair->data));
    MX_TRY(mx_registry_device_open(pair->registry, 1, model.bytes, &pair->model));
    names_log(pair);
    limit_log(pair->choice.plain ? "Data device" : "Data GPU", &data);
    limit_log(pair->choice.plain ? "Model device" : "Model GPU", &model);
    mx_info("✅ %s configuration completed successfully", pair->choice.plain ? "Two-Device" : "Multi-GPU");
out:
    return rc;
}

static int single_open(const struct mx_settings *s, struct mx_device_pair *pair)
{
    int rc = 0;
    struct limit limit;
    const struct mx_device_info own = info_of(pair, 0), *const info = &own;
    if (pair->choice.fallback[0] != '\0')
        mx_warn("%s, as '--allow-single' permits: %s",
                pair->choice.best ? "the CPU instead of a GPU that cannot be used" : "one device instead of two",
                pair->choice.fallback);
    MX_TRY(limit_choose(s, &(struct duty){info, .data = true, .model = true, .rest = info->memory_bytes}, &limit));
    MX_TRY(mx_registry_device_open(pair->registry, 0, limit.bytes, &pair->model));
    pair->data = pair->model;
    if (s->pipeline.memory_isolation) limit_log(pair->choice.names[0], &limit);
out:
    return rc;
}

int mx_device_pair_open(const struct mx_settings *settings, const char *command, struct mx_device_pair *out)
{
    return mx_device_pair_open_shared(settings, command, 0, 1, out);
}

int mx_device_pair_open_shared(const struct mx_settings *settings, const char *command, int rank, int count,
                               struct mx_device_pair *out)
{
    int rc = 0;
    const struct mx_settings_pipeline *const p = &settings->pipeline;
    const struct mx_mode_request request = {.command = command,
                                            .backend = mx_settings_backend_name(p->backend),
                                            .device = p->device,
                                            .data_device = p->data_device,
                                            .model_device = p->model_device,
                                            .data_gpu = (int)p->data_gpu,
                                            .model_gpu = (int)p->model_gpu,
                                            .cpu_devices = (int)settings->device.cpu_devices,
                                            .allow_single = p->allow_single,
                                            .passed = rank};
    *out = (struct mx_device_pair){.sharers = count};
    MX_TRY(mx_mode_open(NULL, &request, &out->choice, &out->registry));
    MX_TRY(mx_device_pair_multi(out) ? pair_open(settings, out) : single_open(settings, out));
out:
    if (rc < 0) mx_device_pair_close(out);
    return rc;
}

void mx_device_pair_close(struct mx_device_pair *pair)
{
    if (pair->data != pair->model) mx_device_close(pair->data);
    mx_device_close(pair->model);
    mx_registry_close(pair->registry);
    *pair = (struct mx_device_pair){0};
}

bool mx_device_pair_bf16_slow(const struct mx_device *device, char *out, size_t size)
{
    const struct mx_device_info *const info = mx_device_info(device);
    if (!info->caps.bf16_multiply || info->caps.bf16_fast) return false;
    snprintf(out, size, "mixed precision saves memory on %s, but no time: %s multiplies the bf16 numbers%s%s",
             mx_device_name(device), info->bf16_by, info->bf16_slow[0] != '\0' ? "; " : "", info->bf16_slow);
    return true;
}

int mx_device_pair_topology(const struct mx_device_pair *pair, enum mx_topology_link *link,
                            char out[MX_DEVICE_PAIR_TOPOLOGY_BYTES], const char **remedy)
{
    struct mx_topology *topology = NULL;
    const int rc = mx_topology_open(&topology);
    if (rc < 0) return rc;
    *link = mx_topology_between(topology, mx_device_info(pair->data), mx_device_info(pair->model));
    mx_topology_close(topology);
    snprintf(out, MX_DEVICE_PAIR_TOPOLOGY_BYTES, "Topology between %s and %s: %s (%s)", mx_device_logical(pair->data),
             mx_device_logical(pair->model), mx_topology_word(*link), mx_topology_meaning(*link));
    *remedy = mx_topology_remedy(*link);
    return 0;
}

static void topology_log(const struct mx_device_pair *pair)
{
    enum mx_topology_link link;
    char words[MX_DEVICE_PAIR_TOPOLOGY_BYTES];
    const char *remedy = NULL;
    if (mx_device_pair_topology(pair, &link, words, &remedy) < 0) {
        mx_warn("cannot determine how close the two devices are: %s", mx_error_last()->message);
        mx_error_clear();
    } else if (remedy != NULL) {
        mx_warn("%s: a slow path; %s", words, remedy);
    } else {
        mx_info("   - %s", words);
    }
}

void mx_device_pair_log(const struct mx_device_pair *pair, const struct mx_settings *settings, int32_t buffer)
{
    const char *const mode = mx_mode_name(&pair->choice);
    const bool plain = pair->choice.plain;
    const struct mx_device_info *const model = mx_device_info(pair->model);
    const bool mixed = settings->training.mixed_precision;
    char slow[MX_DEVICE_PAIR_BF16_BYTES], place[MX_DEVICE_PAIR_PLACE_BYTES];
    mx_info("🚀 Intelligent %sPipeline: %s", plain ? "" : "GPU ", mode);
    if (mx_device_pair_multi(pair) && plain) {
        mx_info("   - Data Processing: %s", mx_device_pair_place(pair, pair->data, place));
        mx_info("   - Model Training: %s", mx_device_pair_place(pair, pair->model, place));
        topology_log(pair);
    } else if (mx_device_pair_multi(pair)) {
        mx_info("   - Data Processing GPU: %d", mx_device_info(pair->data)->index);
        mx_info("   - Model Training GPU: %d", model->index);
        topology_log(pair);
    } else {
        mx_info("   - Device: %s (%s)%s", mx_device_name(pair->model), model->name,
                pair->choice.best ? ", the best there is" : "");
        mx_info("   - Buffer Size: %d", (int)buffer);
        mx_info("   - Smart Prefetching: %s", settings->pipeline.overlap ? "Enabled" : "Disabled");
    }
    if (model->products[0] != '\0') mx_info("   - Products: %s", model->products);
    if (model->products_missing[0] != '\0') mx_info("   - Products: our own kernels (%s)", model->products_missing);
    if (mixed && model->caps.bf16_fast) mx_info("   - Mixed Precision: bf16 by %s", model->bf16_by);
    if (mixed && mx_device_pair_bf16_slow(pair->model, slow, sizeof slow))
        mx_warn("%s; " MX_DEVICE_PAIR_BF16_HINT, slow);
    if (settings->pipeline.overlap)
        mx_info("   - Prefetching to %s with buffer_size=%d", mx_device_pair_place(pair, pair->data, place),
                (int)buffer);
    else
        mx_info("   - No overlap: each batch is loaded, processed and trained on before the next");
    if (!mx_device_pair_multi(pair)) return;
    mx_info("🎯 %s: Model will be placed on %s", mode, mx_device_pair_place(pair, pair->model, place));
    if (!plain) mx_info("   (Original GPU %d is now mapped to %s)", model->index, mx_device_logical(pair->model));
}
