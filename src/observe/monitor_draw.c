/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The view of a run as text, see monitor_draw.h. The curve is in monitor_curve.c.
 *
 *     my-run                                                        training, 1 s ago
 *     step 1,234 of 10,000  ███████▌                         12 %  0:41:12 left  epoch 4
 *
 *     GPU:0 data   cpu:0  busy ███████▌              38 %   memory ██         1.2 GiB of 8.0 GiB
 *     GPU:1 model  cpu:1  busy ██████████████████▊   97 %   memory ███████▏   9.1 GiB of 16 GiB
 *     batches      loaded ████ 4/8   prepared ███████▌ 48/50   arrived █████▎ 2/3
 *     speed        3,812 frames/s  step 412 ms  data wait 0.3 %  variation 2.1 %
 *     loss         1.234  mel 0.612  prior 0.402 …
 *     (curve)
 *     validation   step 1,000: loss 1.301, 3.12 dB from the recordings; best 3.05 dB at step 900
 */
#include "observe/monitor_draw.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "base/utf8.h"
#include "myxtts/budget.h"
#include "observe/monitor_curve.h"

#define LABEL      13 /* columns of the words at the left */
#define NARROW     62 /* columns: with fewer a device is one short line */
#define BAR_LEAST  5
#define BAR_MOST   40
#define SILENT_S   60.0 /* without updates for longer, the view shows it */
#define CURVE_MOST 14   /* rows */
#define CURVE_ROWS 8    /* where the rows are not limited */

enum tone { TONE_PLAIN, TONE_BOLD, TONE_DIM, TONE_GOOD, TONE_FAIR, TONE_BAD };
static const char *const tones[] = {"", "\033[1m", "\033[2m", "\033[32m", "\033[33m", "\033[31m"};

/* One line on its way to `out`, never wider than the style allows. */
struct line {
    const struct mx_draw_style *style;
    struct mx_string *out;
    int column;
};

/* ---- pieces of a line ---- */

static void put_n(struct line *line, enum tone tone, const char *text)
{
    const bool color = line->style->color && tone != TONE_PLAIN;
    if (color) mx_string_append(line->out, "%s", tones[tone]);
    for (size_t left = strlen(text); left > 0;) {
        const size_t step = mx_utf8_sequence(text, left), bytes = step > 0 ? step : 1;
        utf8proc_int32_t code = '?';
        if (step > 1) (void)utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)step, &code);
        const bool shown = step == 1 ? *text >= 0x20 && *text < 0x7f : step > 1 && line->style->utf8;
        const int width = shown && step > 1 ? utf8proc_charwidth(code) : 1;
        if (line->column + width > line->style->columns) break;
        mx_string_append(line->out, "%.*s", shown ? (int)bytes : 1, shown ? text : "?");
        line->column += width;
        text += bytes;
        left -= bytes;
    }
    if (color) mx_string_append(line->out, "\033[0m");
}

static void put(struct line *line, enum tone tone, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void put(struct line *line, enum tone tone, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    const int length = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (length < 0) return;
    mx_utf8_trim(text);
    put_n(line, tone, text);
}

/* The same, or nothing if it does not fit whole. ASCII only. */
static void put_whole(struct line *line, enum tone tone, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void put_whole(struct line *line, enum tone tone, const char *fmt, ...)
{
    char text[128];
    va_list args;
    va_start(args, fmt);
    const int length = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (length >= 0 && length <= line->style->columns - line->column) put_n(line, tone, text);
}

static void fill_to(struct line *line, int column)
{
    while (line->column < column && line->column < line->style->columns) put_n(line, TONE_PLAIN, " ");
}

static void end(struct line *line)
{
    mx_string_append(line->out, "\n");
    line->column = 0;
}

static void label(struct line *line, const char *text)
{
    put(line, TONE_BOLD, "%s", text);
    fill_to(line, LABEL);
}

static int room(const struct line *line)
{
    return line->style->columns - line->column;
}

/* A bar of `width` columns; fine steps where there is UTF-8. */
static void bar(struct line *line, enum tone tone, double share, int width)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    char text[4 * BAR_MOST + 8] = "";
    size_t used = 0;
    if (width > BAR_MOST) width = BAR_MOST;
    if (!(share > 0)) share = 0;
    if (share > 1) share = 1;
    const int full = (int)(share * width * 8 + 0.5);
    int columns = 0;
    for (; columns < full / 8; columns++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", line->style->utf8 ? "█" : "#");
    if (line->style->utf8 && full % 8 != 0) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", eighths[full % 8]);
        columns++;
    }
    put_n(line, tone, text);
    for (used = 0; columns < width; columns++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", line->style->utf8 ? "·" : ".");
    text[used] = '\0';
    put_n(line, TONE_DIM, text);
}

/* ---- numbers ---- */

#define NUMBER_BYTES 48

/* 1234567 as 1,234,567. */
static const char *count_text(double value, char out[NUMBER_BYTES])
{
    char plain[32];
    size_t used = 0;
    if (!isfinite(value) || value < 0 || value > 1e15) return "?";
    snprintf(plain, sizeof plain, "%" PRId64, (int64_t)value);
    const size_t length = strlen(plain);
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) out[used++] = ',';
        out[used++] = plain[i];
    }
    out[used] = '\0';
    return out;
}

static const char *time_text(double seconds, char out[NUMBER_BYTES])
{
    if (!(seconds >= 0) || seconds > 1e9) return "?";
    const int64_t s = (int64_t)(seconds + 0.5);
    if (s < 60)
        snprintf(out, NUMBER_BYTES, "%" PRId64 " s", s);
    else if (s < 3600)
        snprintf(out, NUMBER_BYTES, "%" PRId64 ":%02" PRId64, s / 60, s % 60);
    else if (s < 48 * 3600)
        snprintf(out, NUMBER_BYTES, "%" PRId64 ":%02" PRId64 ":%02" PRId64, s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, NUMBER_BYTES, "%" PRId64 " days %" PRId64 " h", s / 86400, s / 3600 % 24);
    return out;
}

static const char *bytes_text(double bytes, char out[MX_BYTES_TEXT_BYTES])
{
    return bytes >= 0 && bytes < 1e18 ? mx_bytes_text((uint64_t)bytes, out) : "?";
}

/* ---- rows ---- */

static void title_row(const struct mx_view *view, struct line *line)
{
    char news[NUMBER_BYTES], right[96];
    const struct mx_draw_style *const style = line->style;
    const bool ended = mx_view_ended(view), failed = strcmp(view->state, "failed") == 0;
    const bool silent = !ended && style->silent_s > SILENT_S;
    const char *const state =
        ended    ? view->state[0] != '\0' && strcmp(view->state, "training") != 0 ? view->state : "done"
        : silent ? "no news"
                 : "training";
    if (silent)
        snprintf(right, sizeof right, "no news for %s", time_text(style->silent_s, news));
    else if (isfinite(style->silent_s))
        snprintf(right, sizeof right, "%s, news %s ago", state, time_text(style->silent_s, news));
    else
        snprintf(right, sizeof right, "waiting");
    put(line, TONE_BOLD, "%s", style->name);
    if (view->mode[0] != '\0' && room(line) > (int)(strlen(view->mode) + strlen(right)) + 6)
        put(line, TONE_DIM, "  %s", view->mode);
    if (room(line) >= (int)strlen(right) + 2)
        fill_to(line, style->columns - (int)strlen(right));
    else
        put(line, TONE_PLAIN, "  ");
    put(line, failed ? TONE_BAD : silent ? TONE_FAIR : ended ? TONE_PLAIN : TONE_GOOD, "%s", right);
    end(line);
}

static void progress_row(const struct mx_view *view, struct line *line)
{
    char step[NUMBER_BYTES], all[NUMBER_BYTES], left[NUMBER_BYTES], tail[160] = "";
    const double steps = mx_view_steps(view), share = view->step.step / steps;
    const double seconds = mx_view_seconds_left(view);
    if (!isfinite(steps) || !(steps > 0)) {
        put(line, TONE_PLAIN, "step %s  epoch %s", count_text(view->step.step, step),
            count_text(view->step.epoch + 1, all));
        end(line);
        return;
    }
    put(line, TONE_PLAIN, "step %s of %s  ", count_text(view->step.step, step), count_text(steps, all));
    size_t used = (size_t)snprintf(tail, sizeof tail, " %3.0f %%", floor(100 * fmin(share, 1)));
    if (seconds > 0 && !mx_view_ended(view))
        used += (size_t)snprintf(tail + used, sizeof tail - used, "  %s left", time_text(seconds, left));
    if (isfinite(view->step.epoch))
        snprintf(tail + used, sizeof tail - used, "  epoch %s", count_text(view->step.epoch + 1, left));
    const int width = room(line) - (int)strlen(tail);
    if (width >= BAR_LEAST) bar(line, TONE_GOOD, share, width);
    put(line, TONE_PLAIN, "%s", tail);
    end(line);
}

struct usage {
    double busy, bytes, limit_bytes;  /* of this run */
    double driver_busy, driver_bytes; /* of the device, as its driver reports */
};

/* How busy a device is and how full its memory, each with a bar where there is room. */
static void device_row(const struct mx_view *view, struct line *line, const char *duty, int device,
                       const struct usage *usage)
{
    char role[24], a[MX_BYTES_TEXT_BYTES], b[MX_BYTES_TEXT_BYTES], text[2 * MX_BYTES_TEXT_BYTES + 16], head[64];
    const double busy = usage->busy, used = usage->bytes, limit = usage->limit_bytes, full = used / limit;
    const char *const name = device < view->device_count ? view->devices[device].name : "";
    snprintf(role, sizeof role, "%s%s", mx_view_logical(view, device), duty);
    snprintf(head, sizeof head, "%s%s%s", role, name[0] != '\0' ? " " : "", name);
    if (limit > 0)
        snprintf(text, sizeof text, " %s of %s", bytes_text(used, a), bytes_text(limit, b));
    else
        snprintf(text, sizeof text, " %s", bytes_text(used, a));
    if (line->style->columns < NARROW) {
        put(line, TONE_BOLD, "%s", role);
        if (isfinite(busy)) put(line, TONE_PLAIN, " %.0f %%", 100 * busy);
        put_whole(line, TONE_PLAIN, " %s", text);
        end(line);
        return;
    }
    put(line, TONE_BOLD, "%s", head);
    fill_to(line, LABEL + 7);
    const int fixed = (int)(strlen(" busy ") + strlen(" 100 %") + strlen("  memory ") + strlen(text));
    const int driver = isfinite(usage->driver_busy) ? (int)strlen("  driver 100 %, 1023 MiB") : 0;
    int width = (room(line) - fixed - driver) / 2;
    if (width > BAR_MOST) width = BAR_MOST;
    put(line, TONE_PLAIN, " busy ");
    if (width >= BAR_LEAST) bar(line, TONE_GOOD, busy, width);
    if (isfinite(busy))
        put(line, TONE_PLAIN, " %3.0f %%", 100 * busy);
    else
        put(line, TONE_PLAIN, "    ?");
    put(line, TONE_PLAIN, "  memory ");
    if (width >= BAR_LEAST && limit > 0)
        bar(line, full > 0.95 ? TONE_BAD : full > 0.85 ? TONE_FAIR : TONE_GOOD, full, width);
    put(line, TONE_PLAIN, "%s", width >= BAR_LEAST ? text : text + 1);
    if (isfinite(usage->driver_busy))
        put_whole(line, TONE_DIM, "  driver %.0f %%, %s", 100 * usage->driver_busy, bytes_text(usage->driver_bytes, a));
    end(line);
}

static void device_rows(const struct mx_view *view, struct line *line)
{
    const struct mx_step_metrics *const s = &view->step;
    const struct mx_view_flow flow = mx_view_flow(view);
    const struct usage data = {flow.data_busy, s->data_bytes, s->data_limit_bytes, s->data_driver_busy,
                               s->data_driver_bytes};
    const struct usage model = {flow.model_busy, s->model_bytes, s->model_limit_bytes, s->model_driver_busy,
                                s->model_driver_bytes};
    const bool one = s->arrived_limit == 0 || (view->has_run && view->device_count == 1);
    if (one) {
        device_row(view, line, "", 0, &model);
        return;
    }
    device_row(view, line, " data", 0, &data);
    device_row(view, line, " model", 1, &model);
    if (!isfinite(s->share)) return;
    label(line, "share");
    put(line, TONE_PLAIN, "%s trains %.0f %% of each batch", mx_view_logical(view, 0), 100 * s->share);
    end(line);
}

static void level(struct line *line, const char *name, double count, double limit, int width)
{
    if (!isfinite(count) || limit == 0) return;
    put(line, TONE_PLAIN, "%s%s ", line->column > LABEL ? "  " : "", name);
    if (isfinite(limit) && width >= BAR_LEAST) {
        bar(line, count == 0 ? TONE_BAD : count < 0.25 * limit ? TONE_FAIR : TONE_GOOD, count / limit, width);
        put(line, TONE_PLAIN, " ");
    }
    if (isfinite(limit))
        put(line, TONE_PLAIN, "%.0f/%.0f", count, limit);
    else
        put(line, TONE_PLAIN, "%.0f", count);
}

static void levels_row(const struct mx_view *view, struct line *line)
{
    const struct mx_step_metrics *const s = &view->step;
    label(line, "batches");
    /* Names, numbers up to 999/999 and spaces of all three take 55 columns. */
    int width = (room(line) - 55) / 3;
    if (width > 12) width = 12;
    level(line, "loaded", s->loaded, s->loaded_limit, width);
    level(line, "prepared", s->prepared, s->prepared_limit, width);
    level(line, "arrived", s->arrived, s->arrived_limit, width);
    end(line);
}

static void speed_row(const struct mx_view *view, struct line *line)
{
    char frames[NUMBER_BYTES];
    const struct mx_step_metrics *const s = &view->step;
    label(line, "speed");
    put(line, TONE_PLAIN, "%s frames/s  step %.0f ms", count_text(s->frames_per_s, frames), mx_view_step_ms(view));
    const double wait = mx_view_flow(view).data_wait;
    if (isfinite(wait)) put_whole(line, wait > 0.1 ? TONE_FAIR : TONE_PLAIN, "  data wait %.1f %%", 100 * wait);
    if (s->variation > 0) put_whole(line, TONE_PLAIN, "  variation %.1f %%", 100 * s->variation);
    if (room(line) > 10) {
        put(line, TONE_PLAIN, "  ");
        struct mx_string spark = {0};
        mx_curve_spark(&view->speed, room(line) < 40 ? room(line) : 40, line->style->utf8, &spark);
        if (spark.failure == 0 && spark.data != NULL) put_n(line, TONE_DIM, spark.data);
        mx_string_release(&spark);
    }
    end(line);
}

static void loss_row(const struct mx_view *view, struct line *line)
{
    const struct mx_step_metrics *const s = &view->step;
    label(line, "loss");
    if (isfinite(s->loss))
        put(line, TONE_BOLD, "%.4f", s->loss);
    else
        put(line, TONE_BAD, "not finite");
    for (int i = 0; i < MX_STEP_METRICS; i++) {
        const struct mx_metric *const m = &mx_step_metric_table[i];
        if (m->loss && isfinite(s->values[i])) put_whole(line, TONE_PLAIN, "  %s %.4f", m->key, s->values[i]);
    }
    for (int i = 0; i < MX_STEP_METRICS; i++) {
        const struct mx_metric *const m = &mx_step_metric_table[i];
        if (m->label != NULL && isfinite(s->values[i])) put_whole(line, TONE_DIM, "  %s %.3g", m->label, s->values[i]);
    }
    end(line);
}

static void evaluation_row(const struct mx_view *view, struct line *line)
{
    char step[NUMBER_BYTES];
    const struct mx_evaluation_metrics *const e = &view->evaluation;
    const char *before = "spoken "; /* once, before the first of them */
    label(line, "validation");
    put(line, TONE_PLAIN, "step %s: loss %.4f", count_text(e->step, step), e->loss);
    for (int i = 0; i < MX_EVALUATION_METRICS; i++) {
        const struct mx_metric *const m = &mx_evaluation_metric_table[i];
        if (m->label == NULL || !isfinite(e->values[i])) continue;
        put_whole(line, TONE_PLAIN, ", %s%.2f %s", before, e->values[i], m->label);
        before = "";
    }
    if (e->spoken == 0) put_whole(line, TONE_PLAIN, ", spoken %s", line->style->utf8 ? "–" : "-");
    if (isfinite(view->best_mel_db) && view->best_step != e->step)
        put_whole(line, TONE_DIM, ", best %.2f dB at step %s", view->best_mel_db, count_text(view->best_step, step));
    end(line);
}

/* Notes for the user; zero or more rows. */
static int trouble_rows(const struct mx_view *view, struct line *line)
{
    char number[NUMBER_BYTES], bytes[MX_BYTES_TEXT_BYTES];
    int rows = 0;
    if (view->failure[0] != '\0') {
        label(line, "failed");
        put(line, TONE_BAD, "%s", view->failure);
        end(line);
        rows++;
    }
    if (view->leak[0] != '\0') {
        label(line, "memory");
        put(line, TONE_BAD, "of '%s' grew at step %s", view->leak, count_text(view->leak_step, number));
        if (view->leak_bytes > 0) put(line, TONE_BAD, " by %s", bytes_text(view->leak_bytes, bytes));
        end(line);
        rows++;
    }
    if (view->skipped > 0) {
        label(line, "skipped");
        put(line, TONE_FAIR, "%s steps whose loss or gradient was not finite",
            count_text((double)view->skipped, number));
        end(line);
        rows++;
    }
    return rows;
}

/* ---- the whole ---- */

static void curve_rows(const struct mx_view *view, struct line *line, int rows)
{
    struct mx_string curve = {0};
    const int width = line->style->columns;
    const struct mx_curve_style style = {width, rows, line->style->utf8};
    if (mx_curve_draw(&view->loss, &style, &curve) == 0 && curve.data != NULL)
        for (char *at = curve.data, *stop; (stop = strchr(at, '\n')) != NULL; at = stop + 1) {
            *stop = '\0';
            put_n(line, TONE_PLAIN, at);
            end(line);
        }
    mx_string_release(&curve);
}

static void waiting_rows(const struct mx_view *view, struct line *line)
{
    put(line, TONE_PLAIN, "%s",
        view->has_run ? "The run has begun; its first step is not done yet."
                      : "There is no metrics.jsonl yet: waiting for the first step.");
    end(line);
}

/* Keeps the first `rows` lines of what was appended from `begin` on. */
static void rows_cut(struct mx_string *out, size_t begin, int rows)
{
    char *at = out->data + begin;
    if (rows == 0 || out->failure != 0) return;
    for (int row = 0; row < rows; row++) {
        char *const stop = strchr(at, '\n');
        if (stop == NULL) return;
        at = stop + 1;
    }
    *at = '\0';
    out->length = (size_t)(at - out->data);
}

int mx_view_draw(const struct mx_view *view, const struct mx_draw_style *given, struct mx_string *out)
{
    struct mx_draw_style style = *given;
    if (style.columns < MX_DRAW_COLUMNS_MIN) style.columns = MX_DRAW_COLUMNS_MIN;
    if (style.columns > MX_DRAW_COLUMNS_MAX) style.columns = MX_DRAW_COLUMNS_MAX;
    struct line line = {.style = &style, .out = out};
    const size_t begin = out->length;
    const int rows = style.rows;
    const bool spacious = rows == 0 || rows >= 18;
    title_row(view, &line);
    if (!view->has_step) {
        waiting_rows(view, &line);
    } else {
        progress_row(view, &line);
        if (spacious) end(&line);
        if (isfinite(view->step.model_busy)) {
            device_rows(view, &line);
            levels_row(view, &line);
        }
        speed_row(view, &line);
        loss_row(view, &line);
        struct mx_string below = {0};
        struct line last = {.style = &style, .out = &below};
        if (view->has_evaluation) evaluation_row(view, &last);
        (void)trouble_rows(view, &last);
        int used = style.keys ? 1 : 0;
        for (const char *at = out->data != NULL ? out->data + begin : ""; (at = strchr(at, '\n')) != NULL; at++) used++;
        for (const char *at = below.data != NULL ? below.data : ""; (at = strchr(at, '\n')) != NULL; at++) used++;
        const int left = rows == 0 ? CURVE_ROWS : rows - used > CURVE_MOST ? CURVE_MOST : rows - used;
        if (left >= 3 && view->loss.count > 1) curve_rows(view, &line, left);
        if (below.data != NULL) mx_string_append(out, "%s", below.data);
        if (below.failure != 0) out->failure = below.failure;
        mx_string_release(&below);
    }
    if (style.keys && (rows == 0 || rows > 3)) {
        rows_cut(out, begin, rows - 1);
        put(&line, TONE_DIM, "q quits; the run goes on");
        end(&line);
    }
    rows_cut(out, begin, rows);
    return out->failure;
}

int mx_view_draw_line(const struct mx_view *view, struct mx_string *out)
{
    char step[NUMBER_BYTES], all[NUMBER_BYTES], left[NUMBER_BYTES];
    const struct mx_step_metrics *const s = &view->step;
    const double steps = mx_view_steps(view), seconds = mx_view_seconds_left(view);
    const struct mx_view_flow flow = mx_view_flow(view);
    mx_string_append(out, "step %s", count_text(s->step, step));
    if (isfinite(steps)) mx_string_append(out, " of %s", count_text(steps, all));
    mx_string_append(out, ", loss %.4f, %s frames/s", s->loss, count_text(s->frames_per_s, all));
    if (isfinite(flow.data_busy) && s->arrived_limit != 0)
        mx_string_append(out, ", %s %.0f %%, %s %.0f %%", mx_view_logical(view, 0), 100 * flow.data_busy,
                         mx_view_logical(view, 1), 100 * flow.model_busy);
    else if (isfinite(flow.model_busy))
        mx_string_append(out, ", %s %.0f %%", mx_view_logical(view, 0), 100 * flow.model_busy);
    if (isfinite(flow.data_wait)) mx_string_append(out, ", data wait %.1f %%", 100 * flow.data_wait);
    if (s->model_limit_bytes > 0) {
        char a[MX_BYTES_TEXT_BYTES], b[MX_BYTES_TEXT_BYTES];
        mx_string_append(out, ", %s of %s", bytes_text(s->model_bytes, a), bytes_text(s->model_limit_bytes, b));
    }
    if (seconds > 0 && !mx_view_ended(view)) mx_string_append(out, ", %s left", time_text(seconds, left));
    return out->failure;
}
