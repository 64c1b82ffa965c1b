/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The report of a profile as text, see profile.h: timing breakdown, utilisation, memory, bottlenecks with their
 * remedies, and the table of modes.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/profile/profile.h"

static const char *stage_title(int stage, bool plain)
{
    static const char *const titles[MX_STAGES] = {"Data Load", "Preprocess", "GPU Transfer", "Training"};
    return stage == MX_STAGE_TRANSFER && plain ? "Transfer" : titles[stage];
}

static double ms(double ns)
{
    return ns / 1e6;
}

static double share(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* The title, padded to the width of its column; titles are ASCII. */
static void time_row(struct mx_string *out, const char *title, const struct mx_tally *t, double whole)
{
    mx_string_append(out, "  %-14s %9.2fms ± %.2fms", title, ms(t->mean), ms(mx_tally_deviation(t)));
    if (whole > 0) mx_string_append(out, "  (%.1f%%)", share(t->mean, whole));
    mx_string_append(out, "\n");
}

/* Of a stage; its thread's time on a core and blocked, by a disk or a device. */
static void stage_row(struct mx_string *out, const char *title, const struct mx_stage_stats *s, double whole)
{
    mx_string_append(out, "  %-14s %9.2fms ± %.2fms  (%.1f%%)  CPU %.2fms, blocked %.2fms\n", title,
                     ms(s->busy_ns.mean), ms(mx_tally_deviation(&s->busy_ns)), share(s->busy_ns.mean, whole),
                     ms(s->cpu_ns.mean), ms(s->blocked_ns.mean));
}

static double work_of(const struct mx_profile *p)
{
    double sum = 0;
    for (int k = 0; k < MX_STAGES; k++) sum += p->stats.stages[k].busy_ns.mean;
    return sum;
}

static void timing_text(const struct mx_profile *p, struct mx_string *out)
{
    const struct mx_pipeline_stats *const s = &p->stats;
    const double work = work_of(p), wall = (double)s->wall_ns, steps = (double)p->steps;
    const double idle = (1 - p->model_share) * wall;
    mx_string_append(out, "\nTIMING BREAKDOWN (of a batch; %% of its work):\n");
    for (int k = 0; k < MX_STAGES; k++) {
        if (k == MX_STAGE_TRANSFER && !p->two_devices)
            mx_string_append(out, "  %-14s none: one device\n", stage_title(k, p->devices.plain));
        else
            stage_row(out, stage_title(k, p->devices.plain), &s->stages[k], work);
    }
    time_row(out, "Total", &p->total_ns, 0);
    mx_string_append(
        out,
        "  Gaps: the model device was idle %.2fms of a step (%.1f%%), including %.2fms (%.1f%%) waiting for data\n",
        ms(idle / steps), share(idle, wall), ms((double)s->data_wait_ns / steps), share((double)s->data_wait_ns, wall));
}

static void step_text(const struct mx_profile *p, struct mx_string *out)
{
    const struct mx_pipeline_stats *const s = &p->stats;
    const double seconds = (double)p->wall_ns * 1e-9;
    mx_string_append(out, "\nSTEP TIME:\n");
    time_row(out, "Average", &p->step_ns, 0);
    mx_string_append(out, "  %-14s %9.2fms … %.2fms\n", "Range", ms(p->step_ns.least), ms(p->step_ns.most));
    mx_string_append(out, "  %-14s %9.1f%%; on equal work (time per mel frame) %.1f%%\n", "Variation",
                     100 * mx_tally_variation(&p->step_ns), 100 * mx_tally_variation(&p->frame_ns));
    mx_string_append(out, "  %-14s %9.2f steps/s, %.0f mel frames/s%s\n", "Throughput", (double)p->steps / seconds,
                     (double)p->frames / seconds,
                     p->overlap && !p->two_devices ? ", until as much is prepared again as before" : "");
    if (p->two_devices)
        mx_string_append(out, "  %-14s %9.1f%% of the transfer time is hidden behind training\n", "Overlap",
                         share((double)s->transfer_hidden_ns, (double)s->transfer_ns));
    else
        mx_string_append(out, "  %-14s %9.1f%% of the time another stage works during training\n", "Overlap",
                         share((double)s->stage_overlap_ns, (double)s->wall_ns));
}

static void devices_text(const struct mx_profile *p, struct mx_string *out)
{
    const bool plain = p->devices.plain;
    mx_string_append(out, "\n%s UTILIZATION:\n", plain ? "DEVICE" : "GPU");
    if (p->two_devices) {
        mx_string_append(out, "  %s %5.1f%% ± %.1f%%  (%s)\n",
                         plain ? "Data:     " : "Data GPU: ", 100 * p->data_busy.mean,
                         100 * mx_tally_deviation(&p->data_busy), p->data_device);
        mx_string_append(out, "  %s %5.1f%% ± %.1f%%  (%s)\n",
                         plain ? "Model:    " : "Model GPU:", 100 * p->model_busy.mean,
                         100 * mx_tally_deviation(&p->model_busy), p->model_device);
    } else {
        mx_string_append(out, "  %s %5.1f%% ± %.1f%%  (%s does everything)\n",
                         plain ? "Busy:     " : "GPU:      ", 100 * p->model_busy.mean,
                         100 * mx_tally_deviation(&p->model_busy), p->model_device);
    }
    if (p->sharing) {
        char list[MX_SHARES_TEXT_BYTES];
        mx_shares_format(&p->shares, list);
        mx_string_append(out, "  Sharing:   %5.1f%% of the frames were trained on by the data device (%s)\n",
                         share((double)p->shared_frames, (double)p->frames), list[0] != '\0' ? list : "never");
    }
    mx_string_append(out, "\nMEMORY:\n");
    for (int32_t i = 0; i < p->memory.device_count; i++) {
        const struct mx_pipeline_memory_device *const d = &p->memory.devices[i];
        char used[MX_BYTES_TEXT_BYTES], peak[MX_BYTES_TEXT_BYTES], limit[MX_BYTES_TEXT_BYTES];
        mx_string_append(out, "  %s (%s): %s now, %s at most", d->logical, d->name, mx_bytes_text(d->used_bytes, used),
                         mx_bytes_text(d->peak_bytes, peak));
        if (d->limit_bytes > 0)
            mx_string_append(out, ", of %s (%.1f%%)", mx_bytes_text(d->limit_bytes, limit),
                             share((double)d->peak_bytes, (double)d->limit_bytes));
        mx_string_append(out, "\n");
    }
}

static void queues_text(const struct mx_profile *p, struct mx_string *out)
{
    const struct mx_pipeline_levels *const l = &p->levels;
    mx_string_append(out, "\nQUEUES (batches that wait, after a step):\n");
    if (!p->overlap) {
        mx_string_append(out, "  none: without overlap nothing is prepared ahead\n");
        return;
    }
    mx_string_append(out, "  Loaded    %5.1f ± %.1f of %d, by %d of %d workers\n", p->loaded.mean,
                     mx_tally_deviation(&p->loaded), (int)l->loaded_limit, (int)l->workers_active, (int)l->workers);
    mx_string_append(out, "  Prepared  %5.1f ± %.1f of %d\n", p->prepared.mean, mx_tally_deviation(&p->prepared),
                     (int)l->prepared_limit);
    if (p->two_devices)
        mx_string_append(out, "  Arrived   %5.1f ± %.1f of %d\n", p->arrived.mean, mx_tally_deviation(&p->arrived),
                         (int)l->arrived_limit);
}

static void advice_text(const struct mx_profile *p, struct mx_string *out)
{
    int real = 0;
    for (int32_t i = 0; i < p->advice_count; i++) real += !p->advice[i].hidden;
    if (real == 0) {
        mx_string_append(out, "\n✅ NO MAJOR BOTTLENECKS DETECTED\n");
        mx_string_append(out, "   Pipeline appears well-balanced\n");
        mx_string_append(out, "   Training utilization: %.1f%%\n", 100 * p->model_busy.mean);
    } else {
        mx_string_append(out, "\n⚠️  BOTTLENECKS:\n");
        for (int32_t i = 0; i < p->advice_count; i++)
            if (!p->advice[i].hidden)
                mx_string_append(out, "  - %s: %s\n", mx_advice_kind_name(p->advice[i].kind), p->advice[i].finding);
        mx_string_append(out, "\nRECOMMENDATIONS:\n");
        for (int32_t i = 0; i < p->advice_count; i++)
            if (!p->advice[i].hidden && p->advice[i].remedy[0] != '\0')
                mx_string_append(out, "  - %s\n", p->advice[i].remedy);
    }
    for (int32_t i = 0; i < p->advice_count; i++)
        if (p->advice[i].hidden) mx_string_append(out, "   Hidden behind training: %s\n", p->advice[i].finding);
}

int mx_profile_text(const struct mx_profile_work *work, const struct mx_profile *p, struct mx_string *out)
{
    const struct mx_job *const job = work->job;
    mx_string_append(out, "%s on %s", mx_mode_name(&p->devices), p->data_device);
    if (p->two_devices) mx_string_append(out, " (data) and %s (model)", p->model_device);
    mx_string_append(out, "%s\n", p->overlap ? "" : ", without overlap");
    mx_string_append(
        out, "%" PRId64 " steps after %" PRId64 " to warm up; batches of %" PRIu32 "%s; %.1f M parameters\n", p->steps,
        p->warmup, job->options.batch_size, job->options.batch_even && !job->options.vocoder_alone ? " on average" : "",
        (double)(job->plan.model.parameters + job->plan.vocoder.parameters) * 1e-6);
    if (work->synthetic)
        mx_string_append(out,
                         "Corpus: %" PRIu32 " made-up recordings, removed again; '--train-data DIR' measures yours\n",
                         job->plan.utterances);
    timing_text(p, out);
    step_text(p, out);
    devices_text(p, out);
    queues_text(p, out);
    advice_text(p, out);
    return out->failure;
}

int mx_profile_compare_text(const struct mx_profile_comparison *c, struct mx_string *out)
{
    mx_string_append(out,
                     "\nMODES (%d rounds of %" PRId64
                     " steps each, in turns. Speed: by the first mode's step of the same round, the median of these; "
                     "all else: the median of the rounds):\n",
                     MX_PROFILE_ROUNDS, c->round_steps);
    mx_string_append(out, "  | %-23s | %7s | %10s | %8s | %9s | %9s |\n", "Mode", "Speed", "Step", "Data", "Model",
                     "Data wait");
    mx_string_append(out, "  |-------------------------|---------|------------|----------|-----------|-----------|\n");
    for (int m = 0; m < MX_PROFILE_MODES; m++) {
        const struct mx_profile_mode *const mode = &c->modes[m];
        mx_string_append(out, "  | %-23s | %6.2fx | %8.2fms | %7.1f%% | %8.1f%% | %8.1f%% |\n", mode->name, mode->speed,
                         mode->median_ms, 100 * mode->data_busy, 100 * mode->model_busy, 100 * mode->data_wait);
    }
    mx_string_append(out, "\nSTAGES ALONE (without overlap, of a batch):\n");
    for (int k = 0; k < MX_STAGES; k++)
        mx_string_append(out, "  %-14s %9.2fms\n", stage_title(k, true), c->stage_ms[k]);
    mx_string_append(out,
                     "  A step of two devices is %.3f times the largest of them of the same round (%s), the median.\n",
                     c->pipelined_ratio, stage_title((int)c->largest, true));
    mx_string_append(out, "  One device must %sprocess and train: %.2fms, its compute limit; buffered steps are",
                     c->load_on_device ? "load, " : "", c->compute_limit_ms);
    for (int m = 0; m < MX_PROFILE_MODES; m++)
        if (!c->modes[m].two_devices && c->modes[m].overlap)
            mx_string_append(out, " %.3f (%d)", c->modes[m].compute_ratio, (int)c->modes[m].buffer);
    mx_string_append(out, " times that.\n");
    return out->failure;
}
