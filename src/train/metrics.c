/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * metrics.jsonl, see metrics.h.
 */
#include "train/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "myxtts/error.h"

#define FILE_MAX ((size_t)4 << 30)

const char *const mx_loss_names[MX_MODEL_LOSSES] = {"mel", "prior", "duration", "pitch", "energy"};

struct mx_metrics {
    int file;
    int64_t steps; /* 0: not known */
    struct mx_text line;
};

/* Bytes of the lines up to `step`: whole ones that begin as ours do. */
static size_t lines_keep(const char *data, size_t bytes, int64_t step)
{
    static const char start[] = "{\"step\":";
    size_t at = 0;
    for (;;) {
        const char *const end = at < bytes ? memchr(data + at, '\n', bytes - at) : NULL;
        int64_t number = 0;
        size_t digit = at + sizeof start - 1;
        if (end == NULL || memcmp(data + at, start, sizeof start - 1) != 0) return at;
        for (; data[digit] >= '0' && data[digit] <= '9' && number < INT64_C(1) << 50; digit++)
            number = 10 * number + (data[digit] - '0');
        if (number > step) return at;
        at = (size_t)(end - data) + 1;
    }
}

static int file_trim(const char *path, int64_t step)
{
    char *data = NULL;
    size_t bytes = 0;
    int rc = mx_file_read(path, FILE_MAX, &data, &bytes);
    if (rc == MX_ERR_NOT_FOUND) {
        mx_error_clear();
        return 0;
    }
    if (rc < 0) return rc;
    const size_t keep = lines_keep(data, bytes, step);
    if (keep < bytes) rc = mx_file_write_atomic(path, data, keep);
    mx_free(data);
    return rc;
}

int mx_metrics_open(const char *path, int64_t step, struct mx_metrics **out)
{
    int rc = 0;
    struct mx_metrics *metrics = mx_alloc(1, sizeof *metrics);
    *out = NULL;
    if (metrics == NULL) return MX_ERR_NO_MEMORY;
    metrics->file = -1;
    MX_TRY(file_trim(path, step));
    metrics->file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (metrics->file < 0)
        MX_RAISE(MX_ERR_IO, "check the folder and its permissions", "cannot open %s: %s", path, strerror(errno));
    *out = metrics;
    metrics = NULL;
out:
    mx_metrics_close(metrics);
    return rc;
}

void mx_metrics_close(struct mx_metrics *metrics)
{
    if (metrics == NULL) return;
    if (metrics->file >= 0) close(metrics->file);
    mx_text_release(&metrics->line);
    mx_free(metrics);
}

void mx_metrics_plan(struct mx_metrics *metrics, int64_t steps)
{
    metrics->steps = steps;
}

/* ---- writing ---- */

static void line_begin(struct mx_metrics *metrics, int64_t step)
{
    metrics->line.length = 0;
    mx_text_append(&metrics->line, "{\"step\":%" PRId64, step);
}

static int line_end(struct mx_metrics *metrics)
{
    if (mx_text_append(&metrics->line, "}\n") < 0) return metrics->line.failure;
    for (size_t at = 0; at < metrics->line.length;) {
        const ssize_t done = write(metrics->file, metrics->line.data + at, metrics->line.length - at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0)
            return MX_FAIL(MX_ERR_IO, "check the free space where the run is", "cannot write the metrics: %s",
                           strerror(errno));
        at += (size_t)done;
    }
    return 0;
}

static void number_put(struct mx_metrics *metrics, const char *name, double value)
{
    char text[MX_TEXT_DOUBLE_BYTES];
    mx_text_from_double(value, text);
    mx_text_append(&metrics->line, ",\"%s\":%s", name, isfinite(value) ? text : "null");
}

static void count_put(struct mx_metrics *metrics, const char *name, int64_t value)
{
    mx_text_append(&metrics->line, ",\"%s\":%" PRId64, name, value);
}

static void losses_put(struct mx_metrics *metrics, const struct mx_model_losses *losses)
{
    number_put(metrics, "loss", losses->total);
    for (int k = 0; k < MX_MODEL_LOSSES; k++) number_put(metrics, mx_loss_names[k], losses->values[k]);
}

/* Three digits are enough for shares. */
static void share_put(struct mx_metrics *metrics, const char *name, double value)
{
    number_put(metrics, name, round(value * 1000) / 1000);
}

/* What the driver of a device tells, if it does. */
static void load_put(struct mx_metrics *metrics, const char *device, const struct mx_device_load *load)
{
    char name[32];
    if (load->memory_bytes == 0) return;
    snprintf(name, sizeof name, "%s_driver_busy", device);
    share_put(metrics, name, load->busy);
    snprintf(name, sizeof name, "%s_driver_bytes", device);
    count_put(metrics, name, (int64_t)load->memory_used_bytes);
}

static void flow_put(struct mx_metrics *metrics, const struct mx_monitor_report *flow)
{
    share_put(metrics, "data_busy", flow->data_busy);
    share_put(metrics, "model_busy", flow->model_busy);
    share_put(metrics, "data_wait", flow->data_wait);
    share_put(metrics, "transfer", flow->transfer);
    share_put(metrics, "transfer_hidden", flow->transfer_hidden);
    count_put(metrics, "loaded", flow->levels.loaded);
    count_put(metrics, "prepared", flow->levels.prepared);
    count_put(metrics, "arrived", flow->levels.arrived);
    count_put(metrics, "loaded_limit", flow->levels.loaded_limit);
    count_put(metrics, "prepared_limit", flow->levels.prepared_limit);
    count_put(metrics, "arrived_limit", flow->levels.arrived_limit);
    count_put(metrics, "data_bytes", (int64_t)flow->data_bytes);
    count_put(metrics, "model_bytes", (int64_t)flow->model_bytes);
    count_put(metrics, "data_limit_bytes", (int64_t)flow->data_limit_bytes);
    count_put(metrics, "model_limit_bytes", (int64_t)flow->model_limit_bytes);
    share_put(metrics, "variation", flow->variation);
    load_put(metrics, "data", &flow->data_load);
    load_put(metrics, "model", &flow->model_load);
    if (flow->leak[0] == '\0') return;
    mx_text_append(&metrics->line, ",\"leak\":\"%s\"", flow->leak); /* owners are our own words: nothing to escape */
    count_put(metrics, "leak_bytes", (int64_t)flow->leak_bytes);
}

int mx_metrics_step(struct mx_metrics *metrics, const struct mx_trainer_report *r)
{
    line_begin(metrics, r->step);
    count_put(metrics, "epoch", r->epoch);
    losses_put(metrics, &r->losses);
    number_put(metrics, "lr", r->rate);
    number_put(metrics, "grad_norm", r->grad_norm);
    count_put(metrics, "utterances", r->utterances);
    count_put(metrics, "left_out", r->left_out);
    count_put(metrics, "tokens", r->tokens);
    count_put(metrics, "frames", r->frames);
    if (r->sharing) {
        number_put(metrics, "share", r->share);
        count_put(metrics, "shared_frames", r->shared_frames);
    }
    mx_text_append(&metrics->line, ",\"skipped\":%s", r->guard.verdict >= MX_GUARD_SKIPPED ? "true" : "false");
    number_put(metrics, "loss_z", r->guard.loss_z);
    number_put(metrics, "grad_z", r->guard.norm_z);
    number_put(metrics, "step_ms", (double)(r->step_ns / 1000) / 1000);
    number_put(metrics, "data_wait_ms", (double)(r->wait_ns / 1000) / 1000);
    number_put(metrics, "frames_per_s", round((double)r->frames * 1e9 / (double)(r->step_ns > 0 ? r->step_ns : 1)));
    flow_put(metrics, &r->flow);
    if (metrics->steps > 0) count_put(metrics, "steps", metrics->steps);
    count_put(metrics, "time", (int64_t)time(NULL));
    return line_end(metrics);
}

int mx_metrics_evaluation(struct mx_metrics *metrics, int64_t step, const struct mx_trainer_evaluation *e)
{
    line_begin(metrics, step);
    mx_text_append(&metrics->line, ",\"evaluation\":{\"utterances\":%" PRIu32, e->utterances);
    losses_put(metrics, &e->losses);
    count_put(metrics, "spoken", e->spoken);
    number_put(metrics, "mel_db", e->mel_db);
    number_put(metrics, "duration_error", e->duration_error);
    number_put(metrics, "pitch_semitones", e->pitch_error);
    mx_text_append(&metrics->line, "}");
    return line_end(metrics);
}
