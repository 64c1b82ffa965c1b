/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Bottlenecks and what to do about them, see advice.h. Nothing is allocated.
 */
#include "pipeline/advice.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/pipeline_work.h"

#define MS(ns) ((ns) / 1e6)

/* What all findings are made of: means per batch in ns, shares of wall time. */
struct figures {
    const struct mx_advice_input *in;
    double load, process, transfer, train, total;
    double waited, load_waited, transfer_exposed, data_busy;
};

const char *mx_advice_kind_name(enum mx_advice_kind kind)
{
    static const char *const names[MX_ADVICE_KINDS] = {"load", "transfer", "data device", "variation"};
    return kind >= 0 && kind < MX_ADVICE_KINDS ? names[kind] : "unknown";
}

const char *mx_advice_cause_name(enum mx_advice_cause cause)
{
    static const char *const names[] = {"data", "transfer", "compute", "memory"};
    return cause >= MX_CAUSE_DATA && cause <= MX_CAUSE_MEMORY ? names[cause] : "unknown";
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static struct figures figures_make(const struct mx_advice_input *in)
{
    const struct mx_pipeline_stats *const s = &in->stats;
    const double wall = larger((double)s->wall_ns, 1);
    struct figures f = {
        .in = in,
        .load = s->stages[MX_STAGE_LOAD].busy_ns.mean,
        .process = s->stages[MX_STAGE_PROCESS].busy_ns.mean,
        .transfer = s->stages[MX_STAGE_TRANSFER].busy_ns.mean,
        .train = s->stages[MX_STAGE_TRAIN].busy_ns.mean,
        .waited = (double)s->data_wait_ns / wall,
        .load_waited = (double)s->stages[MX_STAGE_PROCESS].wait_input_ns / wall,
        .transfer_exposed = ((double)s->transfer_ns - (double)s->transfer_hidden_ns) / wall,
        .data_busy = (double)s->data_busy_ns / wall,
    };
    f.total = larger(f.load + f.process + f.transfer + f.train, 1);
    return f;
}

static const char *plural(int32_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- loading ---- */

/* Workers that would load as fast as the slowest other stage takes batches. */
static int32_t workers_wanted(const struct figures *f)
{
    const double slowest = larger(f->train, larger(f->process, f->transfer));
    const double wanted = slowest > 0 ? ceil(f->load / slowest) : MX_PIPELINE_WORKERS;
    return wanted < MX_PIPELINE_WORKERS ? (int32_t)wanted : MX_PIPELINE_WORKERS;
}

static void load_remedy(const struct figures *f, char *out, size_t bytes)
{
    const struct mx_advice_input *const in = f->in;
    const int32_t now = in->levels.workers_active, wanted = workers_wanted(f);
    if (wanted > now && in->load_on_data && wanted > in->data_cores)
        snprintf(
            out, bytes,
            "%d load worker%s → %d would hide it, but they share the %d core%s of the data device: pack the corpus "
            "first (myxtts prepare), so that loading costs less, or give that device more cores",
            (int)now, plural(now), (int)wanted, (int)in->data_cores, plural(in->data_cores));
    else if (wanted > now)
        snprintf(out, bytes, "%d load worker%s → %d would hide it (--num-workers %d)", (int)now, plural(now),
                 (int)wanted, (int)wanted);
    else
        snprintf(
            out, bytes,
            "%d worker%s would be enough on average, but a load takes %.1f to %.1f ms: %d → %d batches loaded ahead "
            "would even that out (--prefetch-buffer-size %d)",
            (int)now, plural(now), MS(in->stats.stages[MX_STAGE_LOAD].busy_ns.least),
            MS(in->stats.stages[MX_STAGE_LOAD].busy_ns.most), (int)in->levels.loaded_limit,
            2 * (int)in->levels.loaded_limit, 2 * (int)in->levels.loaded_limit);
}

static bool load_find(const struct figures *f, struct mx_advice *out)
{
    out->share = f->load / f->total;
    if (out->share <= MX_ADVICE_LOAD_LIMIT) return false;
    out->cause = MX_CAUSE_DATA;
    out->hidden = f->waited <= MX_ADVICE_WAIT_LOW || f->load_waited <= MX_ADVICE_WAIT_LOW;
    const int length = snprintf(out->finding, sizeof out->finding,
                                "loading is %.0f %% of the work of a batch (%.1f of "
                                "%.1f ms)",
                                100 * out->share, MS(f->load), MS(f->total));
    char *const rest = out->finding + length;
    const size_t room = sizeof out->finding - (size_t)length;
    if (out->hidden) {
        snprintf(rest, room, ", hidden behind the other stages: process waited %.1f %% of the time for it",
                 100 * f->load_waited);
    } else {
        snprintf(rest, room, ": process waited %.0f %% of the time for it, and the model %.0f %%", 100 * f->load_waited,
                 100 * f->waited);
        load_remedy(f, out->remedy, sizeof out->remedy);
    }
    return true;
}

/* ---- transfer ---- */

static bool transfer_find(const struct figures *f, struct mx_advice *out)
{
    const struct mx_pipeline_stats *const s = &f->in->stats;
    const double hidden = s->transfer_ns > 0 ? (double)s->transfer_hidden_ns / (double)s->transfer_ns : 0;
    out->share = f->transfer / f->total;
    if (!f->in->two_devices || out->share <= MX_ADVICE_TRANSFER_LIMIT) return false;
    out->cause = MX_CAUSE_TRANSFER;
    out->hidden = f->waited <= MX_ADVICE_WAIT_LOW || f->transfer_exposed <= MX_ADVICE_WAIT_LOW;
    snprintf(out->finding, sizeof out->finding,
             "transfer is %.0f %% of the work of a batch (%.1f of %.1f ms), %.0f %% of it while the model trains%s",
             100 * out->share, MS(f->transfer), MS(f->total), 100 * hidden, out->hidden ? ": hidden" : "");
    if (out->hidden) return true;
    char *const to = out->remedy;
    if (!f->in->peer)
        snprintf(to, sizeof out->remedy,
                 "the devices have no direct path, so copies go through the host: choose two under one PCIe switch "
                 "(PIX in myxtts devices)");
    else if (f->transfer > f->train)
        snprintf(to, sizeof out->remedy,
                 "a copy takes %.1fx as long as training on it and cannot hide behind it: a larger model or a faster "
                 "path between the devices would",
                 f->transfer / larger(f->train, 1));
    else
        snprintf(to, sizeof out->remedy,
                 "a copy (%.1f ms) fits behind training (%.1f ms) but comes late: the data device should be further "
                 "ahead than %d batch%s (--buffer-size)",
                 MS(f->transfer), MS(f->train), (int)f->in->levels.prepared_limit,
                 f->in->levels.prepared_limit == 1 ? "" : "es");
    return true;
}

/* ---- the data device ---- */

static bool data_find(const struct figures *f, struct mx_advice *out)
{
    /* What the data device has to do for a batch: everything that its busy time counts. */
    const double batches = larger((double)f->in->stats.stages[MX_STAGE_PROCESS].busy_ns.count, 1);
    const double work = (double)f->in->stats.data_busy_ns / batches, ratio = work / larger(f->train, 1);
    const int32_t cores = f->in->data_cores;
    out->share = f->data_busy;
    if (!f->in->two_devices || out->share <= MX_ADVICE_DATA_LIMIT) return false;
    if (f->in->stats.shared_ns > 0 && f->waited <= MX_ADVICE_WAIT_LOW) return false; /* it trains: that is no burden */
    out->cause = MX_CAUSE_DATA;
    out->hidden = f->waited <= MX_ADVICE_WAIT_LOW;
    snprintf(out->finding, sizeof out->finding,
             "the data device is %.0f %% busy, %.1f ms a batch, and training takes %.1f ms%s: the model waited %.1f %%",
             100 * out->share, MS(work), MS(f->train), out->hidden ? ", hidden" : "", 100 * f->waited);
    if (out->hidden) return true;
    if (ratio > 1 && cores > 0)
        snprintf(out->remedy, sizeof out->remedy,
                 "%d core%s → %d for the data device would keep up (%.1fx the work), or less augmentation", (int)cores,
                 plural(cores), (int)ceil(cores * ratio), ratio);
    else if (ratio > 1)
        snprintf(out->remedy, sizeof out->remedy,
                 "a data device %.1fx as fast would keep up: exchange the two devices, or use less augmentation",
                 ratio);
    else
        snprintf(out->remedy, sizeof out->remedy,
                 "it keeps up on average (%.2fx of training), so its batches are uneven: more than %d prepared ahead "
                 "would even them out (--buffer-size)",
                 ratio, (int)f->in->levels.prepared_limit);
    return true;
}

/* ---- variation ---- */

static void variation_cause(const struct figures *f, struct mx_advice *out)
{
    const struct mx_pipeline_stats *const s = &f->in->stats;
    const struct mx_tally *const train = &s->stages[MX_STAGE_TRAIN].busy_ns;
    char *const to = out->remedy;
    const size_t bytes = sizeof out->remedy;
    const double memory = larger(f->in->memory[0], f->in->memory[1]);
    if (f->waited > MX_ADVICE_WAIT_HIGH && f->transfer_exposed > f->load_waited && f->transfer_exposed > f->data_busy) {
        out->cause = MX_CAUSE_TRANSFER;
        snprintf(to, bytes, "the model waited %.0f %% of the time, mostly for transfer: %s", 100 * f->waited,
                 f->in->peer ? "the data device should be further ahead (--buffer-size)"
                             : "choose devices with a direct path (PIX in myxtts devices)");
    } else if (f->waited > MX_ADVICE_WAIT_HIGH) {
        out->cause = MX_CAUSE_DATA;
        const int length = snprintf(to, bytes, "the model waited %.0f %% of the time for data: ", 100 * f->waited);
        if (f->load_waited > MX_ADVICE_WAIT_LOW)
            load_remedy(f, to + length, bytes - (size_t)length);
        else
            snprintf(to + length, bytes - (size_t)length,
                     "processing takes %.1f ms a batch, training %.1f ms; less augmentation or a faster data device",
                     MS(f->process), MS(f->train));
    } else if (memory > MX_ADVICE_MEMORY_LIMIT) {
        out->cause = MX_CAUSE_MEMORY;
        snprintf(to, bytes, "memory is %.0f %% of its limit: a smaller batch, or a higher --%s-gpu-memory",
                 100 * memory, f->in->memory[0] > f->in->memory[1] ? "data" : "model");
    } else if (mx_tally_variation(train) > MX_VARIATION_LIMIT / 2) {
        out->cause = MX_CAUSE_COMPUTE;
        snprintf(to, bytes,
                 "training itself varies by %.0f %% (%.1f to %.1f ms a batch): bound the batches by frames (--set "
                 "training.batch_frames=N), or see what else this machine does",
                 100 * mx_tally_variation(train), MS(train->least), MS(train->most));
    } else {
        out->cause = MX_CAUSE_COMPUTE;
        snprintf(
            to, bytes,
            "training a batch varies by %.0f %% only: the time goes between steps; see what else this machine does",
            100 * mx_tally_variation(train));
    }
}

static bool variation_find(const struct figures *f, struct mx_advice *out)
{
    const struct mx_tally *const step = &f->in->stats.step_ns;
    out->share = mx_tally_variation(step);
    if (out->share <= MX_VARIATION_LIMIT) return false;
    snprintf(out->finding, sizeof out->finding, "step times vary by %.0f %%: %.1f ± %.1f ms, from %.1f to %.1f ms",
             100 * out->share, MS(step->mean), MS(mx_tally_deviation(step)), MS(step->least), MS(step->most));
    variation_cause(f, out);
    return true;
}

/* ---- all ---- */

int32_t mx_advice_find(const struct mx_advice_input *input, struct mx_advice out[MX_ADVICE_KINDS])
{
    static bool (*const find[MX_ADVICE_KINDS])(const struct figures *, struct mx_advice *) = {
        load_find, transfer_find, data_find, variation_find};
    const struct figures f = figures_make(input);
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

int32_t mx_pipeline_advise(struct mx_pipeline *p, struct mx_advice out[MX_ADVICE_KINDS])
{
    struct mx_advice_input input;
    mx_pipeline_advice_input(p, &input);
    return mx_advice_find(&input, out);
}
