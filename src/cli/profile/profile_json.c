/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The report of a profile as JSON; its schema is in profile.h.
 */
#include <inttypes.h>
#include <math.h>

#include "cli/profile/profile.h"

static void name(struct mx_string *out, const char *key)
{
    const char last = out->length > 0 ? out->data[out->length - 1] : '{';
    mx_string_append(out, "%s\"%s\": ", last == '{' || last == '[' ? "" : ", ", key);
}

static void number(struct mx_string *out, const char *key, double value)
{
    name(out, key);
    if (isfinite(value))
        mx_string_append(out, "%.6g", value);
    else
        mx_string_append(out, "null");
}

static void count(struct mx_string *out, const char *key, int64_t value)
{
    name(out, key);
    mx_string_append(out, "%" PRId64, value);
}

static void truth(struct mx_string *out, const char *key, bool value)
{
    name(out, key);
    mx_string_append(out, "%s", value ? "true" : "false");
}

static void string(struct mx_string *out, const char *key, const char *value)
{
    name(out, key);
    mx_string_append(out, "\"");
    for (const unsigned char *at = (const unsigned char *)value; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\')
            mx_string_append(out, "\\%c", *at);
        else if (*at < 0x20)
            mx_string_append(out, "\\u%04x", *at);
        else
            mx_string_append(out, "%c", *at);
    }
    mx_string_append(out, "\"");
}

static void begin(struct mx_string *out, const char *key, char bracket)
{
    name(out, key);
    mx_string_append(out, "%c", bracket);
}

/* The next element of a list. */
static void element(struct mx_string *out)
{
    const char last = out->length > 0 ? out->data[out->length - 1] : '[';
    mx_string_append(out, "%s{", last == '[' ? "" : ", ");
}

static void end(struct mx_string *out, char bracket)
{
    mx_string_append(out, "%c", bracket);
}

/* The members of a tally, in units of `unit`. */
static void tally(struct mx_string *out, const struct mx_tally *t, double unit)
{
    number(out, "mean", t->mean / unit);
    number(out, "deviation", mx_tally_deviation(t) / unit);
    number(out, "least", t->least / unit);
    number(out, "most", t->most / unit);
    count(out, "count", (int64_t)t->count);
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static void work_json(const struct mx_profile_work *work, struct mx_string *out)
{
    const struct mx_job *const job = work->job;
    begin(out, "work", '{');
    string(out, "model", job->settings.model.size);
    count(out, "parameters", job->plan.model.parameters + job->plan.vocoder.parameters);
    count(out, "batch_size", job->options.batch_size);
    count(out, "grad_accum", job->options.grad_accum);
    truth(out, "augment", mx_augment_active(&job->options.flow.augment));
    truth(out, "mixed_precision", job->options.model.mixed);
    truth(out, "synthetic", work->synthetic);
    count(out, "utterances", job->plan.utterances);
    end(out, '}');
}

static void stages_json(const struct mx_profile *p, struct mx_string *out)
{
    double work = 0;
    for (int k = 0; k < MX_STAGES; k++) work += p->stats.stages[k].busy_ns.mean;
    begin(out, "stages", '{');
    for (int k = 0; k < MX_STAGES; k++) {
        const struct mx_stage_stats *const s = &p->stats.stages[k];
        begin(out, mx_stage_name((enum mx_stage)k), '{');
        tally(out, &s->busy_ns, 1e6);
        number(out, "share", work > 0 ? s->busy_ns.mean / work : 0);
        begin(out, "cpu", '{');
        tally(out, &s->cpu_ns, 1e6);
        end(out, '}');
        begin(out, "blocked", '{');
        tally(out, &s->blocked_ns, 1e6);
        end(out, '}');
        number(out, "wait_input_ms", (double)s->wait_input_ns / 1e6);
        number(out, "wait_output_ms", (double)s->wait_output_ns / 1e6);
        end(out, '}');
    }
    end(out, '}');
    begin(out, "total", '{');
    tally(out, &p->total_ns, 1e6);
    end(out, '}');
}

static void flow_json(const struct mx_profile *p, struct mx_string *out)
{
    const struct mx_pipeline_stats *const s = &p->stats;
    begin(out, "step", '{');
    tally(out, &p->step_ns, 1e6);
    number(out, "variation", mx_tally_variation(&p->step_ns));
    number(out, "frame_variation", mx_tally_variation(&p->frame_ns));
    begin(out, "times_ms", '[');
    for (int64_t i = 0; i < p->steps && i < MX_PROFILE_TIMES; i++)
        mx_string_append(out, "%s%.6g", i > 0 ? ", " : "", (double)p->step_ms[i]);
    end(out, ']');
    end(out, '}');
    number(out, "steps_per_s", (double)p->steps * 1e9 / (double)p->wall_ns);
    number(out, "frames_per_s", (double)p->frames * 1e9 / (double)p->wall_ns);
    begin(out, "idle", '{');
    number(out, "model", 1 - p->model_share);
    number(out, "model_waits_for_data", ratio(s->data_wait_ns, s->wall_ns));
    number(out, "data", 1 - p->data_share);
    end(out, '}');
    begin(out, "utilisation", '{');
    begin(out, "data", '{');
    tally(out, &p->data_busy, 1);
    number(out, "whole", p->data_share);
    end(out, '}');
    begin(out, "model", '{');
    tally(out, &p->model_busy, 1);
    number(out, "whole", p->model_share);
    end(out, '}');
    end(out, '}');
    number(out, "transfer_overlap", ratio(s->transfer_hidden_ns, s->transfer_ns));
    number(out, "stage_overlap", ratio(s->stage_overlap_ns, s->wall_ns));
}

static void plan_json(const struct mx_profile_work *work, const struct mx_profile *p, struct mx_string *out)
{
    begin(out, "plan", '{');
    count(out, "ranks", mx_comm_size(work->job->options.comm));
    count(out, "gradient_bytes", p->gradient_floats * (int64_t)sizeof(float));
    count(out, "bucket_bytes", MX_BUCKET_FLOATS * (int64_t)sizeof(float));
    number(out, "utterances", p->utterances.mean);
    number(out, "backward_ms", p->backward_ns.mean / 1e6);
    number(out, "update_ms", p->update_ns.mean / 1e6);
    truth(out, "host_cores", mx_device_info(work->job->devices.model)->kind == MX_DEVICE_CPU);
    begin(out, "buckets", '[');
    for (int32_t i = 0; i < p->bucket_count; i++) {
        element(out);
        count(out, "bytes", p->buckets[i].bytes);
        number(out, "lead_ms", (double)p->buckets[i].lead_ns / (double)p->steps / 1e6);
        end(out, '}');
    }
    end(out, ']');
    if (work->job->options.comm != NULL) {
        number(out, "sums_ms", p->sums_ns / (double)p->steps / 1e6);
        number(out, "sums_waited_ms", p->sums_waited_ns / (double)p->steps / 1e6);
        number(out, "carry_ms", p->carried_ns / (double)p->steps / 1e6);
    }
    end(out, '}');
}

static void level_json(struct mx_string *out, const char *key, const struct mx_tally *t, int32_t limit)
{
    begin(out, key, '{');
    tally(out, t, 1);
    count(out, "limit", limit);
    end(out, '}');
}

static void levels_json(const struct mx_profile *p, struct mx_string *out)
{
    begin(out, "levels", '{');
    level_json(out, "loaded", &p->loaded, p->levels.loaded_limit);
    level_json(out, "prepared", &p->prepared, p->levels.prepared_limit);
    level_json(out, "arrived", &p->arrived, p->levels.arrived_limit);
    count(out, "workers", p->levels.workers);
    count(out, "workers_active", p->levels.workers_active);
    end(out, '}');
}

static void memory_json(const struct mx_profile *p, struct mx_string *out)
{
    begin(out, "memory", '[');
    for (int32_t i = 0; i < p->memory.device_count; i++) {
        const struct mx_pipeline_memory_device *const d = &p->memory.devices[i];
        element(out);
        string(out, "device", d->name);
        string(out, "logical", d->logical);
        count(out, "limit", (int64_t)d->limit_bytes);
        count(out, "used", (int64_t)d->used_bytes);
        count(out, "peak", (int64_t)d->peak_bytes);
        count(out, "host", (int64_t)d->host_bytes);
        begin(out, "owners", '{');
        for (int32_t k = 0; k < d->owner_count; k++) count(out, d->owners[k].name, (int64_t)d->owners[k].used_bytes);
        end(out, '}');
        end(out, '}');
    }
    end(out, ']');
}

static void advice_json(const struct mx_profile *p, struct mx_string *out)
{
    begin(out, "bottlenecks", '[');
    for (int32_t i = 0; i < p->advice_count; i++) {
        const struct mx_advice *const a = &p->advice[i];
        element(out);
        string(out, "kind", mx_advice_kind_name(a->kind));
        string(out, "cause", mx_advice_cause_name(a->cause));
        truth(out, "hidden", a->hidden);
        number(out, "share", a->share);
        string(out, "finding", a->finding);
        string(out, "remedy", a->remedy);
        end(out, '}');
    }
    end(out, ']');
}

static void mode_json(const struct mx_profile_mode *mode, struct mx_string *out)
{
    element(out);
    string(out, "name", mode->name);
    count(out, "devices", mode->two_devices ? 2 : 1);
    truth(out, "overlap", mode->overlap);
    count(out, "buffer", mode->overlap ? mode->buffer : 0);
    truth(out, "sharing", mode->sharing);
    number(out, "share", mode->share);
    number(out, "step_ms", mode->median_ms);
    begin(out, "step_ms_rounds", '[');
    for (int r = 0; r < MX_PROFILE_ROUNDS; r++) mx_string_append(out, "%s%.6g", r > 0 ? ", " : "", mode->step_ms[r]);
    end(out, ']');
    number(out, "speed", mode->speed);
    number(out, "data_busy", mode->data_busy);
    number(out, "model_busy", mode->model_busy);
    number(out, "data_wait", mode->data_wait);
    number(out, "compute_ratio", mode->two_devices ? (double)NAN : mode->compute_ratio);
    end(out, '}');
}

static void compare_json(const struct mx_profile_comparison *c, struct mx_string *out)
{
    begin(out, "compare", '{');
    count(out, "rounds", MX_PROFILE_ROUNDS);
    count(out, "round_steps", c->round_steps);
    begin(out, "stages", '{');
    for (int k = 0; k < MX_STAGES; k++) number(out, mx_stage_name((enum mx_stage)k), c->stage_ms[k]);
    end(out, '}');
    string(out, "largest", mx_stage_name(c->largest));
    number(out, "pipelined_step", c->modes[MX_PROFILE_PLAIN].median_ms);
    number(out, "pipelined_ratio", c->pipelined_ratio);
    number(out, "compute_limit", c->compute_limit_ms);
    begin(out, "modes", '[');
    for (int m = 0; m < MX_PROFILE_MODES; m++) mode_json(&c->modes[m], out);
    end(out, ']');
    end(out, '}');
}

int mx_profile_json(const struct mx_profile_work *work, const struct mx_profile *p,
                    const struct mx_profile_comparison *comparison, struct mx_string *out)
{
    char shares[MX_SHARES_TEXT_BYTES];
    mx_string_append(out, "{");
    string(out, "format", "myxtts profile");
    count(out, "version", 1);
    work_json(work, out);
    string(out, "mode", mx_mode_name(&p->devices));
    string(out, "data_device", p->data_device);
    string(out, "model_device", p->model_device);
    truth(out, "overlap", p->overlap);
    mx_shares_format(&p->shares, shares);
    truth(out, "sharing", p->sharing);
    number(out, "share", (double)p->shared_frames / (double)(p->frames > 0 ? p->frames : 1));
    string(out, "shares", shares);
    count(out, "warmup_steps", p->warmup);
    count(out, "steps", p->steps);
    count(out, "batches", (int64_t)p->stats.batches);
    count(out, "frames", p->frames);
    number(out, "wall_ms", (double)p->wall_ns / 1e6);
    stages_json(p, out);
    flow_json(p, out);
    plan_json(work, p, out);
    levels_json(p, out);
    memory_json(p, out);
    advice_json(p, out);
    if (comparison != NULL) compare_json(comparison, out);
    mx_string_append(out, "}\n");
    return out->failure;
}
