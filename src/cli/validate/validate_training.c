/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Check 9 of a validation with a report: some steps of training as 'myxtts profile' measures them, on the model device
 * alone and on both devices. See validate.h.
 *
 * Memory: the job of the single device borrows the settings of the other; each mode makes its trainer and releases it.
 */
#include "base/progress.h"
#include "cli/validate/validate.h"
#include "myxtts/error.h"
#include "run/devices/memory_plan.h"

#define STEPS  20
#define WARMUP 4

static void mode_json(struct mx_validate_report *r, cJSON *list, const char *name, const struct mx_profile *p)
{
    const double wall = (double)(p->stats.wall_ns > 0 ? p->stats.wall_ns : 1), seconds = (double)p->wall_ns * 1e-9;
    cJSON *const object = mx_validate_element(r, list);
    mx_validate_text(r, object, "name", name);
    mx_validate_flag(r, object, "two_devices", p->two_devices);
    mx_validate_number(r, object, "steps", (double)p->steps);
    mx_validate_number(r, object, "step_ms", p->step_ns.mean * 1e-6);
    mx_validate_number(r, object, "least_ms", p->step_ns.least * 1e-6);
    mx_validate_number(r, object, "most_ms", p->step_ns.most * 1e-6);
    mx_validate_number(r, object, "frames_per_s", seconds > 0 ? (double)p->frames / seconds : 0);
    if (p->two_devices) mx_validate_number(r, object, "data_busy", p->data_share);
    mx_validate_number(r, object, "model_busy", p->model_share);
    mx_validate_number(r, object, "model_waits", (double)p->stats.data_wait_ns / wall);
}

static int mode_run(struct mx_validate *v, struct mx_job *job, const char *name, struct mx_progress *progress,
                    cJSON *list, struct mx_profile *out)
{
    int rc = 0;
    const struct mx_profile_request request = {
        .warmup = WARMUP, .steps = STEPS, .progress = progress, .stop = v->stop, .synthetic = true};
    mx_progress_note(progress, "%s", name);
    job->options.flow.auto_tune = false;
    MX_TRY(mx_job_memory_plan(job, false));
    MX_TRY(mx_profile_run(job, &request, out));
    mode_json(&v->report, list, name, out);
    if (out->two_devices)
        mx_validate_report_add(
            &v->report, MX_FINDING_PASS, NULL,
            "%s: %d steps of %.1f ms; the data device was busy %.0f %% of the time, the model device %.0f %%", name,
            STEPS, out->step_ns.mean * 1e-6, 100 * out->data_share, 100 * out->model_share);
    else
        mx_validate_report_add(&v->report, MX_FINDING_PASS, NULL,
                               "%s: %d steps of %.1f ms; the device was busy %.0f %% of the time", name, STEPS,
                               out->step_ns.mean * 1e-6, 100 * out->model_share);
out:
    return rc;
}

int mx_validate_training(struct mx_validate *v)
{
    int rc = 0;
    static struct mx_profile one, both;
    struct mx_job single = {0};
    struct mx_progress *progress = NULL;
    const bool two = mx_validate_multi(v);
    cJSON *const list = mx_validate_array(&v->report, NULL, "modes");
    MX_TRY(mx_progress_start(&(struct mx_progress_options){.title = "Training",
                                                           .unit = "steps",
                                                           .total = (uint64_t)(two ? 2 : 1) * (WARMUP + STEPS)},
                             &progress));
    if (two) {
        MX_TRY(mx_profile_single_open(&v->job, &single));
        MX_TRY(mode_run(v, &single, "One device", progress, list, &one));
        mx_job_close(&single);
        single = (struct mx_job){0};
    }
    MX_TRY(mode_run(v, &v->job, two ? "Two devices" : "One device", progress, list, &both));
    if (two)
        mx_validate_report_add(&v->report, MX_FINDING_NOTE, NULL, "Two devices are %.2f times as fast as one",
                               one.step_ns.mean / (both.step_ns.mean > 0 ? both.step_ns.mean : 1));
out:
    mx_progress_finish(progress);
    mx_job_close(&single);
    return rc;
}
