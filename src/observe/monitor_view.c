/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The state of a run from its files, see monitor_view.h.
 */
#include "observe/monitor_view.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* ---- courses ---- */

static void course_clear(struct mx_view_course *course)
{
    course->count = 0;
    course->per = 1;
    course->sum = 0;
    course->summed = 0;
}

static void course_add(struct mx_view_course *course, int64_t step, double value)
{
    if (!isfinite(value)) return;
    if (course->count == 0 && course->summed == 0) course->first = step;
    course->sum += value;
    if (++course->summed < course->per) return;
    if (course->count == MX_VIEW_POINTS) {
        for (size_t i = 0; i < MX_VIEW_POINTS / 2; i++)
            course->values[i] = (course->values[2 * i] + course->values[2 * i + 1]) / 2;
        course->count = MX_VIEW_POINTS / 2;
        course->per *= 2;
        return; /* the sum is carried over to the next, larger value */
    }
    course->values[course->count++] = course->sum / (double)course->summed;
    course->sum = 0;
    course->summed = 0;
}

size_t mx_view_course_columns(const struct mx_view_course *course, double *out, size_t count)
{
    if (course->count <= count) {
        memcpy(out, course->values, course->count * sizeof *out);
        return course->count;
    }
    for (size_t i = 0; i < count; i++) {
        const size_t begin = i * course->count / count, end = (i + 1) * course->count / count;
        double sum = 0;
        for (size_t k = begin; k < end; k++) sum += course->values[k];
        out[i] = sum / (double)(end - begin);
    }
    return count;
}

/* ---- lines ---- */

static void evaluation_keep(struct mx_view *view, const struct mx_evaluation_metrics *e)
{
    view->evaluation = *e;
    view->has_evaluation = true;
    if (e->spoken < e->utterances) return; /* as training judges it */
    if (!isfinite(e->mel_db) || (isfinite(view->best_mel_db) && e->mel_db >= view->best_mel_db)) return;
    view->best_mel_db = e->mel_db;
    view->best_step = e->step;
}

static void step_keep(struct mx_view *view, const struct mx_step_metrics *step)
{
    view->step = *step;
    view->has_step = true;
    view->recent_ms[view->steps_seen % MX_VIEW_RECENT] = step->step_ms;
    view->steps_seen++;
    if (step->skipped > 0) view->skipped++;
    course_add(&view->loss, (int64_t)step->step, step->loss);
    course_add(&view->speed, (int64_t)step->step, step->frames_per_s);
}

void mx_view_line(struct mx_view *view, const char *text, size_t length)
{
    struct mx_metrics_record record;
    if (!mx_metrics_read(text, length, &record)) {
        view->damaged++;
        return;
    }
    if (record.is_evaluation) {
        evaluation_keep(view, &record.evaluation);
        return;
    }
    step_keep(view, &record.step);
    if (record.leak == NULL || record.leak_length == 0) return;
    snprintf(view->leak, sizeof view->leak, "%.*s", (int)record.leak_length, record.leak);
    mx_utf8_trim(view->leak);
    view->leak_step = record.step.step;
    view->leak_bytes = record.step.leak_bytes;
}

void mx_view_clear(struct mx_view *view)
{
    view->has_step = view->has_evaluation = false;
    view->steps_seen = view->skipped = view->damaged = 0;
    view->best_mel_db = view->best_step = NAN;
    view->leak[0] = '\0';
    course_clear(&view->loss);
    course_clear(&view->speed);
}

/* ---- run.json ---- */

static void text_copy(const cJSON *object, const char *key, char *out, size_t size)
{
    const char *const text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    out[0] = '\0';
    if (text == NULL) return;
    snprintf(out, size, "%s", text);
    mx_utf8_trim(out);
}

bool mx_view_run(struct mx_view *view, const char *text, size_t length)
{
    cJSON *const root = cJSON_ParseWithLength(text, length);
    const cJSON *const devices = cJSON_GetObjectItemCaseSensitive(root, "devices"), *device;
    if (!cJSON_IsObject(root)) {
        cJSON_Delete(root);
        return false;
    }
    view->has_run = true;
    text_copy(root, "state", view->state, sizeof view->state);
    text_copy(root, "mode", view->mode, sizeof view->mode);
    text_copy(root, "failure", view->failure, sizeof view->failure);
    view->run_steps = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(root, "steps"));
    view->run_deadline = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(root, "deadline"));
    const cJSON *const flow = cJSON_GetObjectItemCaseSensitive(root, "flow"); /* NAN for what is not there */
    view->run_data_busy = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(flow, "data_busy"));
    view->run_model_busy = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(flow, "model_busy"));
    view->run_data_wait = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(flow, "data_wait"));
    view->device_count = 0;
    cJSON_ArrayForEach(device, devices)
    {
        if (view->device_count == MX_VIEW_DEVICES) break;
        struct mx_view_device *const to = &view->devices[view->device_count++];
        text_copy(device, "name", to->name, sizeof to->name);
        text_copy(device, "logical", to->logical, sizeof to->logical);
        text_copy(device, "description", to->description, sizeof to->description);
    }
    cJSON_Delete(root);
    return true;
}

/* ---- what follows from it ---- */

const char *mx_view_logical(const struct mx_view *view, int device)
{
    static const char *const unnamed[MX_VIEW_DEVICES] = {"device 0", "device 1"};
    const bool named = device < view->device_count && view->devices[device].logical[0] != '\0';
    return named ? view->devices[device].logical : unnamed[device];
}

double mx_view_steps(const struct mx_view *view)
{
    if (view->has_step && isfinite(view->step.steps)) return view->step.steps;
    return view->has_run ? view->run_steps : NAN;
}

double mx_view_step_ms(const struct mx_view *view)
{
    const int64_t count = view->steps_seen < MX_VIEW_RECENT ? view->steps_seen : MX_VIEW_RECENT;
    /* The first one waited for the pipeline to fill. */
    const int64_t from = view->steps_seen > 1 && view->steps_seen <= MX_VIEW_RECENT ? 1 : 0;
    double sum = 0;
    for (int64_t i = from; i < count; i++) sum += view->recent_ms[i];
    return count == 0 ? NAN : sum / (double)(count - from);
}

double mx_view_seconds_left(const struct mx_view *view)
{
    const double left = view->has_step ? mx_view_steps(view) - view->step.step : NAN;
    if (!(left > 0)) return left;
    const double by_steps = left * mx_view_step_ms(view) / 1000;
    const double by_limit = view->has_run ? view->run_deadline - view->step.time : NAN;
    return by_limit < by_steps ? fmax(by_limit, 0) : by_steps;
}

/* Does run.json say so? */
static bool run_ended(const struct mx_view *view)
{
    return view->has_run && view->state[0] != '\0' && strcmp(view->state, "training") != 0;
}

struct mx_view_flow mx_view_flow(const struct mx_view *view)
{
    if (run_ended(view) && isfinite(view->run_model_busy))
        return (struct mx_view_flow){view->run_data_busy, view->run_model_busy, view->run_data_wait};
    return (struct mx_view_flow){view->step.data_busy, view->step.model_busy, view->step.data_wait};
}

bool mx_view_ended(const struct mx_view *view)
{
    if (run_ended(view)) return true;
    return view->has_step && view->step.step >= mx_view_steps(view); /* false if the steps are not known */
}
