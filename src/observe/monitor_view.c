/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The state of a run from its files, see monitor_view.h.
 *
 * Lines are read by a scanner of their own instead of cJSON: a run of a million steps has a gigabyte of them, and it
 * takes no memory. It knows JSON objects of numbers, words, texts and objects of the same, which is all there is;
 * anything else makes the line a damaged one.
 */
#include "observe/monitor_view.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/string.h"
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
        return; /* what was summed up goes on into the next, larger value */
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

/* ---- the scanner ---- */

struct scan {
    const char *at;
    bool bad;
};

enum kind { KIND_END, KIND_NUMBER, KIND_OTHER, KIND_TEXT, KIND_OBJECT };

struct member {
    const char *key, *text; /* text: of KIND_TEXT, between its quotes; of KIND_OTHER the word */
    size_t key_length, text_length;
    double number; /* NAN for null */
};

static void expect(struct scan *scan, char wanted)
{
    if (*scan->at == wanted)
        scan->at++;
    else
        scan->bad = true;
}

/* Between the quotes, as it is written. */
static size_t string_take(struct scan *scan, const char **text)
{
    expect(scan, '"');
    *text = scan->at;
    while (!scan->bad && *scan->at != '"') {
        if (*scan->at == '\\') scan->at++;
        if (*scan->at == '\0') scan->bad = true;
        if (!scan->bad) scan->at++;
    }
    const size_t length = (size_t)(scan->at - *text);
    expect(scan, '"');
    return scan->bad ? 0 : length;
}

static enum kind value_take(struct scan *scan, struct member *out)
{
    char word[MX_STRING_DOUBLE_BYTES];
    if (*scan->at == '"') {
        out->text_length = string_take(scan, &out->text);
        return KIND_TEXT;
    }
    if (*scan->at == '{') {
        scan->at++;
        return KIND_OBJECT;
    }
    out->text = scan->at;
    out->text_length = strcspn(scan->at, ",}");
    if (out->text_length == 0 || out->text_length >= sizeof word) {
        scan->bad = true;
        return KIND_END;
    }
    memcpy(word, out->text, out->text_length);
    word[out->text_length] = '\0';
    scan->at += out->text_length;
    if (mx_string_parse_double(word, &out->number) == MX_STRING_NUMBER) return KIND_NUMBER;
    if (strcmp(word, "true") != 0 && strcmp(word, "false") != 0 && strcmp(word, "null") != 0) scan->bad = true;
    return KIND_OTHER;
}

/* The next member of the object that the scanner is in; KIND_END after the last one. A KIND_OBJECT has to be read up to
 * its own end before the next call. */
static enum kind member_next(struct scan *scan, struct member *out)
{
    *out = (struct member){.number = NAN};
    if (*scan->at == ',') scan->at++;
    if (*scan->at == '}' || scan->bad) {
        expect(scan, '}');
        return KIND_END;
    }
    out->key_length = string_take(scan, &out->key);
    expect(scan, ':');
    return scan->bad ? KIND_END : value_take(scan, out);
}

static bool is(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(text, name, length) == 0;
}

/* ---- lines ---- */

static void evaluation_read(struct scan *scan, struct mx_view_evaluation *out)
{
    struct member m;
    for (enum kind kind; (kind = member_next(scan, &m)) != KIND_END && !scan->bad;) {
        if (kind == KIND_OBJECT) scan->bad = true;
        if (kind != KIND_NUMBER) continue;
        if (is(m.key, m.key_length, "loss")) out->loss = m.number;
        if (is(m.key, m.key_length, "utterances")) out->utterances = m.number;
        if (is(m.key, m.key_length, "spoken")) out->spoken = m.number;
        if (is(m.key, m.key_length, "mel_db")) out->mel_db = m.number;
        if (is(m.key, m.key_length, "duration_error")) out->duration_error = m.number;
        if (is(m.key, m.key_length, "pitch_semitones")) out->pitch_semitones = m.number;
    }
    if (out->spoken == 0) out->mel_db = out->duration_error = out->pitch_semitones = NAN; /* older runs wrote 0 */
}

static void number_store(struct mx_view_step *step, const struct member *m)
{
#define X(member, name)                                                                                                \
    if (is(m->key, m->key_length, name)) {                                                                             \
        step->member = m->number;                                                                                      \
        return;                                                                                                        \
    }
    MX_VIEW_NUMBER_LIST(X)
#undef X
}

static void evaluation_keep(struct mx_view *view, const struct mx_view_evaluation *e)
{
    view->evaluation = *e;
    view->has_evaluation = true;
    if (e->spoken < e->utterances) return; /* as training judges it */
    if (!isfinite(e->mel_db) || (isfinite(view->best_mel_db) && e->mel_db >= view->best_mel_db)) return;
    view->best_mel_db = e->mel_db;
    view->best_step = e->step;
}

static void step_keep(struct mx_view *view, const struct mx_view_step *step, bool skipped)
{
    view->step = *step;
    view->has_step = true;
    view->recent_ms[view->steps_seen % MX_VIEW_RECENT] = step->step_ms;
    view->steps_seen++;
    if (skipped) view->skipped++;
    course_add(&view->loss, (int64_t)step->step, step->loss);
    course_add(&view->speed, (int64_t)step->step, step->frames_per_s);
}

void mx_view_line(struct mx_view *view, const char *text, size_t length)
{
    struct scan scan = {.at = text};
    struct member m;
    struct mx_view_step step;
    struct mx_view_evaluation evaluation = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    bool is_evaluation = false, skipped = false;
    char leak[sizeof view->leak] = "";
#define X(member, key) step.member = NAN;
    MX_VIEW_NUMBER_LIST(X)
#undef X
    expect(&scan, '{');
    for (enum kind kind; !scan.bad && (kind = member_next(&scan, &m)) != KIND_END;) {
        if (kind == KIND_NUMBER) {
            number_store(&step, &m);
        } else if (kind == KIND_OBJECT) {
            struct mx_view_evaluation other;
            const bool known = is(m.key, m.key_length, "evaluation");
            is_evaluation = is_evaluation || known;
            evaluation_read(&scan, known ? &evaluation : &other);
        } else if (kind == KIND_TEXT && is(m.key, m.key_length, "leak")) {
            snprintf(leak, sizeof leak, "%.*s", (int)m.text_length, m.text);
            mx_utf8_trim(leak);
        } else if (kind == KIND_OTHER && is(m.key, m.key_length, "skipped")) {
            skipped = is(m.text, m.text_length, "true");
        }
    }
    if (scan.bad || scan.at != text + length || !isfinite(step.step)) {
        view->damaged++;
        return;
    }
    if (is_evaluation) {
        evaluation.step = step.step;
        evaluation_keep(view, &evaluation);
        return;
    }
    step_keep(view, &step, skipped);
    if (leak[0] == '\0') return;
    memcpy(view->leak, leak, sizeof leak);
    view->leak_step = step.step;
    view->leak_bytes = step.leak_bytes;
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
        text_copy(device, "description", to->description, sizeof to->description);
    }
    cJSON_Delete(root);
    return true;
}

/* ---- what follows from it ---- */

double mx_view_steps(const struct mx_view *view)
{
    if (view->has_step && isfinite(view->step.steps)) return view->step.steps;
    return view->has_run ? view->run_steps : NAN;
}

double mx_view_step_ms(const struct mx_view *view)
{
    const int64_t count = view->steps_seen < MX_VIEW_RECENT ? view->steps_seen : MX_VIEW_RECENT;
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += view->recent_ms[i];
    return count == 0 ? NAN : sum / (double)count;
}

double mx_view_seconds_left(const struct mx_view *view)
{
    const double left = view->has_step ? mx_view_steps(view) - view->step.step : NAN;
    return left > 0 ? left * mx_view_step_ms(view) / 1000 : left;
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
