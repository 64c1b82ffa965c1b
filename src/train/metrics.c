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
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/string.h"
#include "myxtts/error.h"

#define PIECE_BYTES ((size_t)1 << 20) /* of the file, while it is looked through */
#define WAITING_MAX ((size_t)4 << 20) /* of lines that could not be written yet */
#define STEP_MAX    (INT64_C(1) << 50)

struct mx_metrics {
    int file; /* -1: it could not be opened yet */
    char *path;
    int64_t first;         /* the step that it was opened after */
    int64_t steps;         /* 0: not known */
    struct mx_string line; /* the one that is made now … */
    char *waiting;         /* … and what is not in the file yet, [WAITING_MAX] */
    size_t waiting_bytes;
    int64_t lost;  /* lines that found no room there */
    bool troubled; /* the last attempt failed, and that was said */
};

/* ---- the file ---- */

/* Bytes of the lines up to `step`: whole ones that begin as ours do. `data` holds lines from the beginning of one on;
 * *end: a line was met at which the file ends for us. */
static size_t lines_keep(const char *data, size_t bytes, int64_t step, bool *end)
{
    static const char start[] = "{\"step\":";
    size_t at = 0;
    for (;;) {
        const char *const newline = at < bytes ? memchr(data + at, '\n', bytes - at) : NULL;
        int64_t number = 0;
        size_t digit = at + sizeof start - 1;
        if (newline == NULL) return at;
        *end = (size_t)(newline - data) < digit || memcmp(data + at, start, sizeof start - 1) != 0;
        if (*end) return at;
        for (; data[digit] >= '0' && data[digit] <= '9' && number < STEP_MAX; digit++)
            number = 10 * number + (data[digit] - '0');
        *end = number > step;
        if (*end) return at;
        at = (size_t)(newline - data) + 1;
    }
}

/* Cuts the file behind the last line up to `step`. It is read piece by piece: it may be larger than the memory. */
static int file_trim(int file, const char *path, int64_t step)
{
    int rc = 0;
    size_t held = 0; /* bytes of the piece: from the beginning of a line on */
    off_t keep = 0;  /* where that is */
    bool end = false;
    char *const piece = mx_alloc(PIECE_BYTES, 1);
    if (piece == NULL) return MX_ERR_NO_MEMORY;
    while (!end) {
        const ssize_t got = pread(file, piece + held, PIECE_BYTES - held, keep + (off_t)held);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) MX_RAISE(MX_ERR_IO, "check the disk", "cannot read %s: %s", path, strerror(errno));
        if (got == 0) break; /* also for a line that fills the piece: none of ours */
        held += (size_t)got;
        const size_t whole = lines_keep(piece, held, step, &end);
        held -= whole;
        keep += (off_t)whole;
        memmove(piece, piece + whole, held);
    }
    struct stat status;
    if (fstat(file, &status) != 0 || (status.st_size > keep && ftruncate(file, keep) != 0))
        MX_RAISE(MX_ERR_IO, "check the disk", "cannot cut %s: %s", path, strerror(errno));
out:
    mx_free(piece);
    return rc;
}

static int file_open(struct mx_metrics *metrics)
{
    int rc = 0;
    struct stat status;
    if (metrics->file >= 0) return 0;
    const int file = open(metrics->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
    if (file < 0)
        MX_RAISE(MX_ERR_IO, "check the folder and its permissions", "cannot open %s: %s", metrics->path,
                 strerror(errno));
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
        MX_RAISE(MX_ERR_IO, "remove it", "%s is not an ordinary file", metrics->path);
    MX_TRY(file_trim(file, metrics->path, metrics->first));
    metrics->file = file;
out:
    if (rc < 0 && file >= 0) close(file);
    return rc;
}

/* Writes what waits; what does not fit goes on waiting, be it from the middle of a line on. */
static int waiting_write(struct mx_metrics *metrics)
{
    int rc = 0;
    size_t at = 0;
    MX_TRY(file_open(metrics));
    while (at < metrics->waiting_bytes) {
        const ssize_t done = write(metrics->file, metrics->waiting + at, metrics->waiting_bytes - at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0)
            MX_RAISE(MX_ERR_IO, "check the free space where the run is", "cannot write %s: %s", metrics->path,
                     done < 0 ? strerror(errno) : "no room");
        at += (size_t)done;
    }
out:
    metrics->waiting_bytes -= at;
    memmove(metrics->waiting, metrics->waiting + at, metrics->waiting_bytes);
    return rc;
}

/* The same, with what is to be said about it. */
static void waiting_try(struct mx_metrics *metrics)
{
    const bool fine = waiting_write(metrics) >= 0;
    if (!fine && !metrics->troubled)
        mx_warn("%s; training goes on, and its lines are written when there is room again", mx_error_last()->message);
    else if (fine && metrics->troubled)
        mx_info("%s is written again; %" PRId64 " lines are missing in it", metrics->path, metrics->lost);
    if (!fine) mx_error_clear();
    if (fine) metrics->lost = 0;
    metrics->troubled = !fine;
}

int mx_metrics_open(const char *path, int64_t step, struct mx_metrics **out)
{
    int rc = 0;
    struct mx_metrics *metrics = mx_alloc(1, sizeof *metrics);
    *out = NULL;
    if (metrics == NULL) return MX_ERR_NO_MEMORY;
    metrics->file = -1;
    metrics->first = step;
    metrics->path = mx_strdup(path);
    metrics->waiting = mx_alloc(WAITING_MAX, 1);
    if (metrics->path == NULL || metrics->waiting == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    waiting_try(metrics);
    *out = metrics;
    metrics = NULL;
out:
    mx_metrics_close(metrics);
    return rc;
}

void mx_metrics_close(struct mx_metrics *metrics)
{
    if (metrics == NULL) return;
    if (metrics->waiting_bytes > 0) waiting_try(metrics);
    if (metrics->waiting_bytes > 0)
        mx_warn("the last %zu bytes of %s could not be written", metrics->waiting_bytes, metrics->path);
    if (metrics->file >= 0) close(metrics->file);
    mx_string_release(&metrics->line);
    mx_free(metrics->waiting);
    mx_free(metrics->path);
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
    mx_string_append(&metrics->line, "{\"step\":%" PRId64, step);
}

static void line_end(struct mx_metrics *metrics)
{
    const struct mx_string *const line = &metrics->line;
    mx_string_append(&metrics->line, "}\n");
    if (line->failure != 0 || line->length > WAITING_MAX - metrics->waiting_bytes) {
        metrics->lost++;
        if (line->failure != 0) mx_error_clear();
        metrics->line.failure = 0;
    } else {
        memcpy(metrics->waiting + metrics->waiting_bytes, line->data, line->length);
        metrics->waiting_bytes += line->length;
    }
    waiting_try(metrics);
}

static void number_put(struct mx_metrics *metrics, const char *name, double value)
{
    char text[MX_STRING_DOUBLE_BYTES];
    mx_string_from_double(value, text);
    mx_string_append(&metrics->line, ",\"%s\":%s", name, isfinite(value) ? text : "null");
}

static void count_put(struct mx_metrics *metrics, const char *name, int64_t value)
{
    mx_string_append(&metrics->line, ",\"%s\":%" PRId64, name, value);
}

static void losses_put(struct mx_metrics *metrics, const struct mx_model_losses *losses)
{
    number_put(metrics, "loss", losses->total);
    for (int k = 0; k < MX_MODEL_LOSSES; k++) number_put(metrics, mx_model_loss_keys[k], losses->values[k]);
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

static void flow_put(struct mx_metrics *metrics, const struct mx_flow_watch_report *flow)
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
    mx_string_append(&metrics->line, ",\"leak\":\"%s\"", flow->leak); /* owners are our own words: nothing to escape */
    count_put(metrics, "leak_bytes", (int64_t)flow->leak_bytes);
}

void mx_metrics_step(struct mx_metrics *metrics, const struct mx_trainer_report *r)
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
    mx_string_append(&metrics->line, ",\"skipped\":%s", r->guard.verdict >= MX_GUARD_SKIPPED ? "true" : "false");
    number_put(metrics, "loss_z", r->guard.loss_z);
    number_put(metrics, "grad_z", r->guard.norm_z);
    number_put(metrics, "step_ms", (double)(r->step_ns / 1000) / 1000);
    number_put(metrics, "data_wait_ms", (double)(r->wait_ns / 1000) / 1000);
    number_put(metrics, "frames_per_s", round((double)r->frames * 1e9 / (double)(r->step_ns > 0 ? r->step_ns : 1)));
    flow_put(metrics, &r->flow);
    if (metrics->steps > 0) count_put(metrics, "steps", metrics->steps);
    count_put(metrics, "time", (int64_t)time(NULL));
    line_end(metrics);
}

void mx_metrics_evaluation(struct mx_metrics *metrics, int64_t step, const struct mx_trainer_evaluation *e)
{
    line_begin(metrics, step);
    mx_string_append(&metrics->line, ",\"evaluation\":{\"utterances\":%" PRIu32, e->utterances);
    losses_put(metrics, &e->losses);
    count_put(metrics, "spoken", e->spoken);
    number_put(metrics, "mel_db", e->mel_db);
    number_put(metrics, "duration_error", e->duration_error);
    number_put(metrics, "pitch_semitones", e->pitch_error);
    mx_string_append(&metrics->line, "}");
    line_end(metrics);
}
