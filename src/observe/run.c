/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * run.json, see run.h.
 */
#include "observe/run.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "corpus/reject.h"
#include "observe/json.h"

static const char *const states[] = {[MX_RUN_TRAINING] = "training",   [MX_RUN_DONE] = "done",
                                     [MX_RUN_EARLY] = "stopped early", [MX_RUN_LEARNED] = "learned what it can",
                                     [MX_RUN_TIME] = "time limit",     [MX_RUN_INTERRUPTED] = "interrupted",
                                     [MX_RUN_FAILED] = "failed"};

void mx_run_quote(struct mx_string *out, const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=+,@%";
    if (text[0] != '\0' && text[strspn(text, plain)] == '\0') {
        mx_string_append(out, "%s", text);
        return;
    }
    mx_string_append(out, "'");
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '\'')
            mx_string_append(out, "'\\''");
        else
            mx_string_append(out, "%c", *at);
    }
    mx_string_append(out, "'");
}

static void resume_put(const struct mx_run *run, struct mx_string *out)
{
    struct mx_string command = {0};
    mx_string_append(&command, "myxtts train --resume ");
    mx_run_quote(&command, run->folder);
    mx_json_string(out, "resume", command.data);
    if (command.failure != 0) out->failure = command.failure;
    mx_string_release(&command);
}

static void model_put(const struct mx_run *run, struct mx_string *out)
{
    mx_json_begin(out, "model", '{');
    mx_json_string(out, "size", run->size->name);
    mx_json_count(out, "parameters", run->parameters);
    mx_json_count(out, "width", run->size->width);
    mx_json_count(out, "heads", run->size->heads);
    mx_json_count(out, "encoder_blocks", run->size->encoder_blocks);
    mx_json_count(out, "decoder_blocks", run->size->decoder_blocks);
    mx_json_truth(out, "mixed_precision", run->mixed_precision);
    mx_json_end(out, '}');
    mx_json_begin(out, "training", '{');
    mx_json_count(out, "batch_size", run->batch_size);
    mx_json_count(out, "grad_accum", run->grad_accum);
    mx_json_string(out, "optimization_level", run->level);
    mx_json_number(out, "learning_rate", run->learning_rate);
    mx_json_truth(out, "augment", run->augment);
    mx_json_count(out, "seed", run->seed);
    mx_json_end(out, '}');
}

static void corpus_put(const struct mx_run *run, struct mx_string *out)
{
    mx_json_begin(out, "corpus", '{');
    mx_json_string(out, "path", run->corpus);
    mx_json_string(out, "kind", run->features ? "features" : "audio");
    mx_json_count(out, "training", run->training);
    mx_json_count(out, "validation", run->validation);
    mx_json_number(out, "seconds", run->seconds);
    mx_json_count(out, "speakers", run->speakers);
    mx_json_count(out, "symbols", run->symbols);
    mx_json_begin(out, "left_out", '{');
    for (int reject = MX_REJECT_NONE + 1; reject < MX_REJECT_COUNT; reject++)
        if (run->left_out[reject] > 0)
            mx_json_count(out, mx_reject_name((enum mx_reject)reject), run->left_out[reject]);
    mx_json_end(out, '}');
    mx_json_end(out, '}');
}

static void devices_put(const struct mx_run *run, struct mx_string *out)
{
    mx_json_string(out, "mode", run->mode);
    mx_json_truth(out, "overlap", run->overlap);
    mx_json_string(out, "fallback", run->fallback[0] != '\0' ? run->fallback : NULL);
    mx_json_begin(out, "devices", '[');
    for (int i = 0; i < run->device_count; i++) {
        const struct mx_run_device *const d = &run->devices[i];
        mx_json_begin(out, NULL, '{');
        mx_json_string(out, "role", run->device_count == 1 ? "both" : i == 0 ? "data" : "model");
        mx_json_string(out, "name", d->name);
        mx_json_string(out, "logical", d->logical);
        mx_json_string(out, "description", d->description);
        mx_json_count(out, "limit_bytes", (int64_t)d->memory.limit_bytes);
        mx_json_count(out, "used_bytes", (int64_t)d->memory.current_bytes);
        mx_json_count(out, "peak_bytes", (int64_t)d->memory.peak_bytes);
        mx_json_count(out, "host_bytes", (int64_t)d->memory.host_bytes);
        mx_json_begin(out, "owners", '{');
        for (int k = 0; k < d->memory.owner_count; k++) {
            const struct mx_budget_owner *const owner = &d->memory.owners[k];
            if (!owner->host && owner->current_bytes > 0)
                mx_json_count(out, owner->name, (int64_t)owner->current_bytes);
        }
        mx_json_end(out, '}');
        mx_json_end(out, '}');
    }
    mx_json_end(out, ']');
}

/* ---- what was measured ---- */

static void tally_put(struct mx_string *out, const char *key, const struct mx_tally *t)
{
    mx_json_begin(out, key, '{');
    mx_json_number(out, "mean", t->mean / 1e6);
    mx_json_number(out, "deviation", mx_tally_deviation(t) / 1e6);
    mx_json_number(out, "least", t->least / 1e6);
    mx_json_number(out, "most", t->most / 1e6);
    mx_json_end(out, '}');
}

static double share(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : part < whole ? (double)part / (double)whole : 1;
}

static void flow_put(const struct mx_run *run, struct mx_string *out)
{
    const struct mx_pipeline_stats *const s = &run->flow;
    if (!run->has_flow) {
        mx_json_null(out, "flow");
        return;
    }
    mx_json_begin(out, "flow", '{');
    mx_json_count(out, "batches", (int64_t)s->batches);
    mx_json_number(out, "wall_ms", (double)s->wall_ns / 1e6);
    mx_json_number(out, "data_busy", share(s->data_busy_ns, s->wall_ns));
    mx_json_number(out, "model_busy", share(s->model_busy_ns, s->wall_ns));
    mx_json_number(out, "data_wait", share(s->data_wait_ns, s->wall_ns));
    mx_json_number(out, "transfer", share(s->transfer_ns, s->wall_ns));
    mx_json_number(out, "transfer_overlap", share(s->transfer_hidden_ns, s->transfer_ns));
    tally_put(out, "step_ms", &s->step_ns);
    mx_json_begin(out, "stages", '{');
    for (int k = 0; k < MX_STAGES; k++) {
        mx_json_begin(out, mx_stage_name((enum mx_stage)k), '{');
        tally_put(out, "batch_ms", &s->stages[k].busy_ns);
        mx_json_number(out, "cpu_ms", s->stages[k].cpu_ns.mean / 1e6);
        mx_json_number(out, "blocked_ms", s->stages[k].blocked_ns.mean / 1e6);
        mx_json_number(out, "wait_input_ms", (double)s->stages[k].wait_input_ns / 1e6);
        mx_json_number(out, "wait_output_ms", (double)s->stages[k].wait_output_ns / 1e6);
        mx_json_end(out, '}');
    }
    mx_json_end(out, '}');
    mx_json_count(out, "workers", run->workers);
    mx_json_end(out, '}');
}

static void advice_put(const struct mx_run *run, struct mx_string *out)
{
    mx_json_begin(out, "advice", '[');
    for (int32_t i = 0; i < run->advice_count; i++) {
        const struct mx_advice *const a = &run->advice[i];
        mx_json_begin(out, NULL, '{');
        mx_json_string(out, "kind", mx_advice_kind_name(a->kind));
        mx_json_string(out, "cause", mx_advice_cause_name(a->cause));
        mx_json_truth(out, "hidden", a->hidden);
        mx_json_number(out, "share", a->share);
        mx_json_string(out, "finding", a->finding);
        mx_json_string(out, "remedy", a->remedy);
        mx_json_string(out, "finding_fa", a->finding_persian);
        mx_json_string(out, "remedy_fa", a->remedy_persian);
        mx_json_end(out, '}');
    }
    mx_json_end(out, ']');
}

static void spans_put(const struct mx_run *run, struct mx_string *out)
{
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < run->span_count; i++)
        if (run->spans[i].begin_ns < first) first = run->spans[i].begin_ns;
    mx_json_begin(out, "spans", '[');
    for (uint32_t i = 0; i < run->span_count; i++) {
        const struct mx_span *const s = &run->spans[i];
        mx_json_begin(out, NULL, '[');
        mx_json_count(out, NULL, s->stage);
        mx_json_count(out, NULL, s->lane);
        mx_json_count(out, NULL, (int64_t)s->number);
        mx_json_count(out, NULL, (int64_t)((s->begin_ns - first) / 1000));
        mx_json_count(out, NULL, (int64_t)((s->end_ns - first) / 1000));
        mx_json_end(out, ']');
    }
    mx_json_end(out, ']');
}

static void samples_put(const struct mx_run *run, struct mx_string *out)
{
    mx_json_begin(out, "samples", '[');
    for (int64_t i = 0; i < run->sample_count; i++) {
        mx_json_begin(out, NULL, '{');
        mx_json_count(out, "number", i);
        mx_json_string(out, "id", run->samples[i].id);
        mx_json_string(out, "text", run->samples[i].text);
        mx_json_end(out, '}');
    }
    mx_json_end(out, ']');
}

/* ---- all ---- */

int mx_run_text(const struct mx_run *run, struct mx_string *out)
{
    mx_string_append(out, "{");
    mx_json_string(out, "format", "myxtts run");
    mx_json_count(out, "version", 1);
    mx_json_string(out, "program", MX_VERSION);
    mx_json_count(out, "process", (int64_t)getpid());
    mx_json_string(out, "state", states[run->state]);
    mx_json_string(out, "failure", run->failure);
    mx_json_count(out, "started", (int64_t)run->started);
    mx_json_count(out, "written", (int64_t)time(NULL));
    if (run->deadline > 0)
        mx_json_count(out, "deadline", (int64_t)run->deadline);
    else
        mx_json_null(out, "deadline");
    mx_json_count(out, "first_step", run->first_step);
    mx_json_count(out, "step", run->step);
    mx_json_count(out, "steps", run->steps);
    resume_put(run, out);
    model_put(run, out);
    corpus_put(run, out);
    devices_put(run, out);
    flow_put(run, out);
    advice_put(run, out);
    if (run->has_best) {
        mx_json_begin(out, "best", '{');
        mx_json_count(out, "step", run->best_step);
        mx_json_number(out, "mel_db", run->best_mel_db);
        mx_json_end(out, '}');
    } else {
        mx_json_null(out, "best");
    }
    samples_put(run, out);
    spans_put(run, out);
    mx_string_append(out, "}\n");
    return out->failure;
}

int mx_run_write(const struct mx_run *run, const char *path)
{
    struct mx_string text = {0};
    int rc = mx_run_text(run, &text);
    if (rc == 0) rc = mx_file_write_atomic(path, text.data, text.length);
    mx_string_release(&text);
    return rc;
}
