/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Bottlenecks and remedies, see advice.h. Nothing is allocated.
 */
#include "pipeline/advice.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/advice_words.h"
#include "pipeline/pipeline_internal.h"

#define MS(ns) ((ns) / 1e6)

/* What all findings are made of: means per batch in ns, shares of wall time. */
struct figures {
    const struct mx_advice_input *in;
    double load, process, transfer, train, total, blocked; /* blocked: of the load */
    double waited, load_waited, transfer_exposed, data_busy;
};

const char *mx_advice_kind_name(enum mx_advice_kind kind)
{
    static const char *const names[MX_ADVICE_KINDS] = {"reading", "load", "transfer", "data device", "variation"};
    return kind >= 0 && kind < MX_ADVICE_KINDS ? names[kind] : "unknown";
}

const char *mx_advice_cause_name(enum mx_advice_cause cause)
{
    static const char *const names[] = {"data", "transfer", "compute", "memory"};
    return cause >= MX_CAUSE_DATA && cause <= MX_CAUSE_MEMORY ? names[cause] : "unknown";
}

/* Of some time; a device's clock may differ a little from the host's, but no share is more than all of it. */
static double share(double part, double whole)
{
    return part < whole ? part / whole : 1;
}

static struct figures figures_compute(const struct mx_advice_input *in)
{
    const struct mx_pipeline_stats *const s = &in->stats;
    const double wall = fmax((double)s->wall_ns, 1);
    struct figures f = {
        .in = in,
        .load = s->stages[MX_STAGE_LOAD].busy_ns.mean,
        .process = s->stages[MX_STAGE_PROCESS].busy_ns.mean,
        .transfer = s->stages[MX_STAGE_TRANSFER].busy_ns.mean,
        .train = s->stages[MX_STAGE_TRAIN].busy_ns.mean,
        .blocked = s->stages[MX_STAGE_LOAD].blocked_ns.mean,
        .waited = share((double)s->data_wait_ns, wall),
        .load_waited = share((double)s->stages[MX_STAGE_PROCESS].wait_input_ns, wall),
        .transfer_exposed = share((double)s->transfer_ns - (double)s->transfer_hidden_ns, wall),
        .data_busy = share((double)s->data_busy_ns, wall),
    };
    f.total = fmax(f.load + f.process + f.transfer + f.train, 1);
    return f;
}

/* Both languages, with the values that the sentence names. */
static void finding_format(struct mx_advice *to, enum mx_advice_sentence sentence, const double *values)
{
    mx_advice_format(to->finding, sizeof to->finding, sentence, false, values);
    mx_advice_format(to->finding_persian, sizeof to->finding_persian, sentence, true, values);
}

static void remedy_format(struct mx_advice *to, enum mx_advice_sentence sentence, const double *values)
{
    mx_advice_format(to->remedy, sizeof to->remedy, sentence, false, values);
    mx_advice_format(to->remedy_persian, sizeof to->remedy_persian, sentence, true, values);
}

#define FIND(to, sentence, ...)   finding_format(to, sentence, (const double[]){__VA_ARGS__})
#define REMEDY(to, sentence, ...) remedy_format(to, sentence, (const double[]){__VA_ARGS__})

/* Twice as many batches ahead as now, within the range of the setting. */
static int32_t twice(int32_t ahead, int32_t most)
{
    return 2 * ahead < most ? 2 * ahead : most;
}

/* ---- reading and loading ---- */

static bool disk_waits(const struct figures *f)
{
    return f->blocked > MX_ADVICE_BLOCKED_LIMIT * f->load;
}

static bool is_reading(const struct figures *f)
{
    return f->load / f->total > MX_ADVICE_LOAD_LIMIT && disk_waits(f);
}

/* Workers that would load as fast as the slowest other stage takes batches. */
static int32_t workers_wanted(const struct figures *f, double load)
{
    const double slowest = fmax(f->train, fmax(f->process, f->transfer));
    const double wanted = slowest > 0 ? ceil(load / slowest) : MX_PIPELINE_WORKERS;
    return wanted < MX_PIPELINE_WORKERS ? (int32_t)wanted : MX_PIPELINE_WORKERS;
}

/* A command of the owner's, after a sentence that announces it. In Persian what is for a terminal is marked. */
static void command_add(struct mx_advice *to, const char *command)
{
    const size_t english = strlen(to->remedy), persian = strlen(to->remedy_persian);
    snprintf(to->remedy + english, sizeof to->remedy - english, "%s", command);
    snprintf(to->remedy_persian + persian, sizeof to->remedy_persian - persian, "`%s`", command);
}

/* More reads at a time, and fewer of them. There is room for all of it: the command is at most MX_ADVICE_PACK_BYTES. */
static void reading_remedy(const struct figures *f, struct mx_advice *out)
{
    const struct mx_advice_input *const in = f->in;
    const int32_t now = in->levels.workers_active, wanted = workers_wanted(f, MX_TUNE_MARGIN * f->load);
    if (wanted > now)
        REMEDY(out, MX_SAY_READ_WORKERS, now, wanted);
    else
        REMEDY(out, MX_SAY_READ_DISK, now);
    if (in->uncached) REMEDY(out, MX_SAY_READ_CACHE, 0);
    if (in->pack == NULL) return;
    REMEDY(out, MX_SAY_READ_PACK, 0);
    command_add(out, in->pack);
}

static bool reading_find(const struct figures *f, struct mx_advice *out)
{
    out->share = f->load / f->total;
    if (!is_reading(f)) return false;
    out->cause = MX_CAUSE_DATA;
    out->hidden = f->waited <= MX_ADVICE_WAIT_LOW || f->load_waited <= MX_ADVICE_WAIT_LOW;
    FIND(out, MX_SAY_READING, MS(f->blocked), MS(f->load));
    if (out->hidden) {
        FIND(out, MX_SAY_LOAD_HIDDEN, 100 * f->load_waited);
    } else {
        FIND(out, MX_SAY_LOAD_WAITED, 100 * f->load_waited, 100 * f->waited);
        reading_remedy(f, out);
    }
    return true;
}

static void load_remedy(const struct figures *f, struct mx_advice *out)
{
    const struct mx_advice_input *const in = f->in;
    const struct mx_tally *const load = &in->stats.stages[MX_STAGE_LOAD].busy_ns;
    const int32_t now = in->levels.workers_active, wanted = workers_wanted(f, f->load), ahead = in->levels.loaded_limit;
    if (wanted > now && in->load_on_data && wanted > in->data_cores)
        REMEDY(out, MX_SAY_WORKERS_SHARED, now, wanted, in->data_cores);
    else if (wanted > now)
        REMEDY(out, MX_SAY_WORKERS, now, wanted);
    else
        REMEDY(out, MX_SAY_LOAD_AHEAD, now, MS(load->least), MS(load->most), ahead, twice(ahead, MX_PIPELINE_LOADED));
}

static bool load_find(const struct figures *f, struct mx_advice *out)
{
    out->share = f->load / f->total;
    if (out->share <= MX_ADVICE_LOAD_LIMIT || disk_waits(f)) return false;
    out->cause = MX_CAUSE_DATA;
    out->hidden = f->waited <= MX_ADVICE_WAIT_LOW || f->load_waited <= MX_ADVICE_WAIT_LOW;
    FIND(out, MX_SAY_LOAD, 100 * out->share, MS(f->load), MS(f->total));
    if (out->hidden) {
        FIND(out, MX_SAY_LOAD_HIDDEN, 100 * f->load_waited);
    } else {
        FIND(out, MX_SAY_LOAD_WAITED, 100 * f->load_waited, 100 * f->waited);
        load_remedy(f, out);
    }
    return true;
}

/* ---- transfer ---- */

static bool transfer_find(const struct figures *f, struct mx_advice *out)
{
    const struct mx_pipeline_stats *const s = &f->in->stats;
    const double hidden = s->transfer_ns > 0 ? (double)s->transfer_hidden_ns / (double)s->transfer_ns : 0;
    const int32_t ahead = f->in->levels.prepared_limit;
    out->share = f->transfer / f->total;
    if (!f->in->two_devices || out->share <= MX_ADVICE_TRANSFER_LIMIT) return false;
    out->cause = MX_CAUSE_TRANSFER;
    out->hidden = f->waited <= MX_ADVICE_WAIT_LOW || f->transfer_exposed <= MX_ADVICE_WAIT_LOW;
    FIND(out, MX_SAY_TRANSFER, 100 * out->share, MS(f->transfer), MS(f->total), 100 * hidden);
    if (out->hidden)
        FIND(out, MX_SAY_TRANSFER_HIDDEN, 0);
    else if (!f->in->peer)
        REMEDY(out, MX_SAY_NO_PATH, 0);
    else if (f->transfer > f->train)
        REMEDY(out, MX_SAY_COPY_LONG, f->transfer / fmax(f->train, 1));
    else
        REMEDY(out, MX_SAY_COPY_LATE, MS(f->transfer), MS(f->train), ahead, twice(ahead, MX_PIPELINE_PREPARED));
    return true;
}

/* ---- the data device ---- */

static bool data_find(const struct figures *f, struct mx_advice *out)
{
    /* What the data device has to do for a batch: everything that its busy time counts. */
    const double batches = fmax((double)f->in->stats.stages[MX_STAGE_PROCESS].busy_ns.count, 1);
    const double work = (double)f->in->stats.data_busy_ns / batches, ratio = work / fmax(f->train, 1);
    const int32_t cores = f->in->data_cores, ahead = f->in->levels.prepared_limit;
    out->share = f->data_busy;
    if (!f->in->two_devices || out->share <= MX_ADVICE_DATA_LIMIT) return false;
    if (f->in->stats.shared_ns > 0 && f->waited <= MX_ADVICE_WAIT_LOW) return false; /* it trains: that is no burden */
    out->cause = MX_CAUSE_DATA;
    out->hidden = f->waited <= MX_ADVICE_WAIT_LOW;
    FIND(out, out->hidden ? MX_SAY_DATA_HIDDEN : MX_SAY_DATA, 100 * out->share, MS(work), MS(f->train),
         100 * f->waited);
    if (out->hidden) return true;
    if (ratio > 1 && cores > 0)
        REMEDY(out, MX_SAY_CORES, cores, ceil(cores * ratio), ratio);
    else if (ratio > 1)
        REMEDY(out, MX_SAY_FASTER_DATA, ratio);
    else
        REMEDY(out, MX_SAY_UNEVEN, ratio, ahead, twice(ahead, MX_PIPELINE_PREPARED));
    return true;
}

/* ---- variation ---- */

static void variation_cause(const struct figures *f, struct mx_advice *out)
{
    const struct mx_tally *const train = &f->in->stats.stages[MX_STAGE_TRAIN].busy_ns;
    const double memory = fmax(f->in->memory[0], f->in->memory[1]);
    const int32_t ahead = f->in->levels.prepared_limit;
    if (f->waited > MX_ADVICE_WAIT_HIGH && f->transfer_exposed > f->load_waited && f->transfer_exposed > f->data_busy) {
        out->cause = MX_CAUSE_TRANSFER;
        REMEDY(out, MX_SAY_WAITED_TRANSFER, 100 * f->waited);
        REMEDY(out, f->in->peer ? MX_SAY_FURTHER_AHEAD : MX_SAY_DIRECT_PATH, ahead, twice(ahead, MX_PIPELINE_PREPARED));
    } else if (f->waited > MX_ADVICE_WAIT_HIGH) {
        out->cause = MX_CAUSE_DATA;
        REMEDY(out, MX_SAY_WAITED_DATA, 100 * f->waited);
        if (f->load_waited > MX_ADVICE_WAIT_LOW && is_reading(f))
            REMEDY(out, MX_SAY_READ_TOO, 0);
        else if (f->load_waited > MX_ADVICE_WAIT_LOW && disk_waits(f))
            reading_remedy(f, out);
        else if (f->load_waited > MX_ADVICE_WAIT_LOW)
            load_remedy(f, out);
        else
            REMEDY(out, MX_SAY_PROCESS_SLOW, MS(f->process), MS(f->train));
    } else if (memory > MX_ADVICE_MEMORY_LIMIT) {
        out->cause = MX_CAUSE_MEMORY;
        REMEDY(out, f->in->memory[0] > f->in->memory[1] ? MX_SAY_MEMORY_DATA : MX_SAY_MEMORY_MODEL, 100 * memory);
    } else if (mx_tally_variation(train) > MX_VARIATION_LIMIT / 2) {
        out->cause = MX_CAUSE_COMPUTE;
        REMEDY(out, MX_SAY_TRAINING_VARIES, 100 * mx_tally_variation(train), MS(train->least), MS(train->most));
    } else {
        out->cause = MX_CAUSE_COMPUTE;
        REMEDY(out, MX_SAY_BETWEEN_STEPS, 100 * mx_tally_variation(train));
    }
}

static bool variation_find(const struct figures *f, struct mx_advice *out)
{
    const struct mx_tally *const step = &f->in->stats.step_ns;
    out->share = mx_tally_variation(step);
    if (out->share <= MX_VARIATION_LIMIT) return false;
    FIND(out, MX_SAY_VARIATION, 100 * out->share, MS(step->mean), MS(mx_tally_deviation(step)), MS(step->least),
         MS(step->most));
    variation_cause(f, out);
    return true;
}

/* ---- all ---- */

int32_t mx_advice_find(const struct mx_advice_input *input, struct mx_advice out[MX_ADVICE_KINDS])
{
    static bool (*const find[MX_ADVICE_KINDS])(const struct figures *, struct mx_advice *) = {
        reading_find, load_find, transfer_find, data_find, variation_find};
    const struct figures f = figures_compute(input);
    int32_t count = 0;
    for (int kind = 0; kind < MX_ADVICE_KINDS; kind++) {
        out[count] = (struct mx_advice){.kind = (enum mx_advice_kind)kind};
        if (find[kind](&f, &out[count])) count++;
    }
    return count;
}

void mx_pipeline_advice_input(struct mx_pipeline *p, struct mx_advice_input *out)
{
    const struct mx_device_info *const info = mx_device_info(p->options.data);
    struct mx_pipeline_memory memory;
    *out = (struct mx_advice_input){
        .two_devices = p->two_devices,
        .load_on_data = p->pinned,
        .data_cores = info->kind == MX_DEVICE_CPU ? info->compute_units : 0,
        .peer = mx_device_can_peer(p->options.data, p->options.model),
    };
    mx_pipeline_stats(p, &out->stats);
    mx_pipeline_levels(p, &out->levels);
    mx_pipeline_memory_stats(p, &memory);
    for (int32_t i = 0; i < memory.device_count; i++)
        if (memory.devices[i].limit_bytes > 0)
            out->memory[i] = (double)memory.devices[i].used_bytes / (double)memory.devices[i].limit_bytes;
}
