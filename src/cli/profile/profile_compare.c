/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The same work in several modes, see profile.h.
 *
 * The speed of a machine varies over time, so the modes take turns: every round measures each mode once, modes are
 * compared within a round, and the median of the rounds counts. Nothing is tuned meanwhile: a buffer of 25 stays a
 * buffer of 25. A mode whose buffer does not fit on the device gets the largest that does (run/devices/memory_plan.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/profile.h"
#include "myxtts/error.h"
#include "run/devices/memory_plan.h"

static const struct mx_profile_mode modes[MX_PROFILE_MODES] = {
    {.name = "One device, unbuffered"},
    {.name = "One device, buffer 25", .overlap = true, .buffer = 25},
    {.name = "One device, buffer 50", .overlap = true, .buffer = 50},
    {.name = "One device, buffer 100", .overlap = true, .buffer = 100},
    {.name = "Two devices, no overlap", .two_devices = true},
    [MX_PROFILE_PLAIN] = {.name = "Two devices", .two_devices = true, .overlap = true, .buffer = 50},
    {.name = "Two devices, sharing", .two_devices = true, .overlap = true, .buffer = 50, .sharing = true},
};
#define MODE_FIRST      0 /* what speeds are relative to, and the compute limit of one device */
#define MODE_SEQUENTIAL 4 /* where each stage is alone */

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double values[MX_PROFILE_ROUNDS])
{
    double sorted[MX_PROFILE_ROUNDS];
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, MX_PROFILE_ROUNDS, sizeof *sorted, compare_doubles);
    return sorted[MX_PROFILE_ROUNDS / 2];
}

/* The first round of sharing measures the share, the others use it. */
static int mode_run(struct mx_job *job, struct mx_profile_mode *mode, const struct mx_profile_request *request,
                    struct mx_shares *shares, struct mx_profile *out)
{
    int rc = 0;
    struct mx_trainer_flow *const flow = &job->options.flow;
    flow->sequential = !mode->overlap;
    flow->auto_tune = false;
    flow->buffer_given = false;  /* a mode has its own, or what fits */
    flow->buffer = mode->buffer; /* without overlap one slot after the other is used: the least there can be */
    flow->share = mode->sharing ? MX_SHARE_ON : MX_SHARE_OFF;
    flow->shares = *shares;
    MX_TRY(mx_job_memory_plan(job, false));
    mode->buffer = flow->buffer;
    MX_TRY(mx_profile_run(job, request, out));
    if (mode->sharing) {
        mode->share = (double)out->shared_frames / (double)out->frames;
        *shares = (struct mx_shares){.count = 1, .points = {{0, mx_shares_at(&out->shares, INT64_MAX)}}};
    }
out:
    return rc;
}

int mx_profile_job_open(struct mx_job *job)
{
    int rc = 0;
    MX_TRY(mx_job_open(job, true));
    MX_TRY(mx_job_memory_plan(job, false)); /* what does not fit is refused */
    /* The model waits for its first batch as train does, and that is not measured. */
    job->options.flow.start_delay = job->settings.pipeline.model_start_delay;
out:
    return rc;
}

int mx_profile_single_open(const struct mx_job *pair, struct mx_job *single)
{
    int rc = 0;
    struct mx_settings_pipeline *const p = &single->settings.pipeline;
    single->settings = pair->settings; /* texts are borrowed */
    single->request = pair->request;
    p->data_gpu = p->model_gpu = -1;
    p->data_device[0] = p->model_device[0] = '\0';
    snprintf(p->device, sizeof p->device, "%s", pair->devices.choice.names[1]);
    p->backend = MX_SETTINGS_BACKEND_AUTO;
    p->share_work = MX_SHARE_OFF;
    MX_TRY(mx_profile_job_open(single));
    single->options.normaliser = pair->options.normaliser;
out:
    return rc;
}

int mx_profile_compare(struct mx_job *single, struct mx_job *pair, const struct mx_profile_request *request,
                       struct mx_profile_comparison *out, struct mx_profile *last)
{
    int rc = 0;
    double speed[MX_PROFILE_MODES][MX_PROFILE_ROUNDS], data_busy[MX_PROFILE_MODES][MX_PROFILE_ROUNDS];
    double model_busy[MX_PROFILE_MODES][MX_PROFILE_ROUNDS], data_wait[MX_PROFILE_MODES][MX_PROFILE_ROUNDS];
    double first[MX_STAGES][MX_PROFILE_ROUNDS], stages[MX_STAGES][MX_PROFILE_ROUNDS];
    double ratios[MX_PROFILE_ROUNDS], compute[MX_PROFILE_ROUNDS];
    bool loads = false; /* one device: its cores also load */
    struct mx_profile_request one = *request;
    struct mx_shares shares = pair->options.flow.shares;
    *out = (struct mx_profile_comparison){.round_steps = request->steps};
    memcpy(out->modes, modes, sizeof modes);
    for (int r = 0; r < MX_PROFILE_ROUNDS; r++)
        for (int m = 0; m < MX_PROFILE_MODES; m++) {
            struct mx_profile_mode *const mode = &out->modes[m];
            struct mx_profile of_sharing, *const profile = mode->sharing ? &of_sharing : last;
            mx_progress_note(request->progress, "%s", mode->name);
            one.trace = m == MX_PROFILE_PLAIN && r == MX_PROFILE_ROUNDS - 1 ? request->trace : NULL;
            MX_TRY(mode_run(mode->two_devices ? pair : single, mode, &one, &shares, profile));
            const struct mx_pipeline_stats *const s = &profile->stats;
            const double wall = (double)s->wall_ns;
            mode->step_ms[r] = (double)profile->wall_ns / 1e6 / (double)request->steps;
            speed[m][r] = out->modes[MODE_FIRST].step_ms[r] / mode->step_ms[r];
            data_busy[m][r] = profile->data_share;
            model_busy[m][r] = profile->model_share;
            data_wait[m][r] = (double)s->data_wait_ns / wall;
            if (m == MODE_FIRST)
                for (int k = 0; k < MX_STAGES; k++) first[k][r] = s->stages[k].busy_ns.mean / 1e6;
            if (!mode->two_devices && mode->overlap) loads = profile->load_on_data;
            for (int k = 0; m == MODE_SEQUENTIAL && k < MX_STAGES; k++) stages[k][r] = s->stages[k].busy_ns.mean / 1e6;
        }
    for (int k = 0; k < MX_STAGES; k++) {
        out->stage_ms[k] = median(stages[k]);
        if (out->stage_ms[k] > out->largest_ms) out->largest = (enum mx_stage)k;
        if (out->stage_ms[k] > out->largest_ms) out->largest_ms = out->stage_ms[k];
    }
    const double accum = (double)pair->options.grad_accum; /* stages count batches */
    for (int r = 0; r < MX_PROFILE_ROUNDS; r++)
        ratios[r] = out->modes[MX_PROFILE_PLAIN].step_ms[r] / (accum * stages[out->largest][r]);
    out->pipelined_ratio = median(ratios);
    for (int r = 0; r < MX_PROFILE_ROUNDS; r++)
        compute[r] =
            accum * (first[MX_STAGE_PROCESS][r] + first[MX_STAGE_TRAIN][r] + (loads ? first[MX_STAGE_LOAD][r] : 0));
    out->compute_limit_ms = median(compute);
    out->load_on_device = loads;
    for (int m = 0; m < MX_PROFILE_MODES; m++) {
        struct mx_profile_mode *const mode = &out->modes[m];
        mode->median_ms = median(mode->step_ms);
        mode->speed = median(speed[m]);
        mode->data_busy = median(data_busy[m]);
        mode->model_busy = median(model_busy[m]);
        mode->data_wait = median(data_wait[m]);
        for (int r = 0; r < MX_PROFILE_ROUNDS; r++) ratios[r] = mode->step_ms[r] / compute[r];
        mode->compute_ratio = mode->two_devices ? 0 : median(ratios);
    }
out:
    return rc;
}
