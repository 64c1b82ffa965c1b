/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * metrics.jsonl, see metrics.h.
 */
#include "train/report/metrics.h"

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
#include "base/file.h"
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
    struct mx_string line; /* the one that is being composed */
    char *waiting;         /* lines that are not in the file yet, [WAITING_MAX] */
    size_t waiting_bytes;
    int64_t lost;  /* lines that found no room there */
    bool troubled; /* the last attempt failed, and that was logged */
};

/* ---- the file ---- */

/* Bytes of the lines up to `step`: whole ones that begin as ours do. `data` holds lines from the beginning of one on;
 * *end: a line was met at which the file ends for us. */
static size_t lines_keep(const char *data, size_t bytes, int64_t step, bool *end)
{
    static const char start[] = MX_METRICS_START;
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

/* Truncates the file after the last line up to `step`. It is read piece by piece: it may be larger than the memory. */
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
        if (got == 0) break; /* also for a line that fills the piece: it was not written here */
        held += (size_t)got;
        const size_t whole = lines_keep(piece, held, step, &end);
        held -= whole;
        keep += (off_t)whole;
        memmove(piece, piece + whole, held);
    }
    struct stat status;
    if (fstat(file, &status) != 0 || (status.st_size > keep && ftruncate(file, keep) != 0))
        MX_RAISE(MX_ERR_IO, "check the disk", "cannot truncate %s: %s", path, strerror(errno));
out:
    mx_free(piece);
    return rc;
}

static int file_open(struct mx_metrics *metrics)
{
    int rc = 0;
    struct stat status;
    if (metrics->file >= 0) return 0;
    const int file = open(metrics->path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0666);
    if (file < 0 && errno == ELOOP) MX_TRY(mx_file_refuse_link(metrics->path));
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

/* Writes the waiting lines; what does not fit keeps waiting, even from the middle of a line on. */
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

/* The same, with its messages. */
static void waiting_try(struct mx_metrics *metrics)
{
    const bool fine = waiting_write(metrics) >= 0;
    if (!fine && !metrics->troubled)
        mx_warn("%s; training continues, and the lines will be written once there is room again",
                mx_error_last()->message);
    else if (fine && metrics->troubled)
        mx_info("%s can be written again; %" PRId64 " lines are missing from it", metrics->path, metrics->lost);
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
    mx_string_append(&metrics->line, MX_METRICS_START "%" PRId64, step);
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

/* One metric as its type is written; report.h says what happens to one without a value. */
static void metric_put(struct mx_metrics *metrics, const struct mx_metric *m, double value, const char *leak)
{
    struct mx_string *const line = &metrics->line;
    char text[MX_STRING_DOUBLE_BYTES];
    const bool first = line->length > 0 && line->data[line->length - 1] == '{';
    if (m->type == MX_METRIC_LEAK) /* owners are constants of the program: nothing to escape */
        mx_string_append(line, ",\"leak\":\"%s\"", leak);
    mx_string_append(line, "%s\"%s\":", first ? "" : ",", m->key);
    if (!isfinite(value)) {
        mx_string_append(line, "null");
        return;
    }
    switch (m->type) {
    case MX_METRIC_COUNT:
    case MX_METRIC_BYTES:
    case MX_METRIC_LEAK:
        mx_string_append(line, "%" PRId64, (int64_t)value);
        return;
    case MX_METRIC_FLAG:
        mx_string_append(line, "%s", value != 0 ? "true" : "false");
        return;
    case MX_METRIC_SHARE:
        value = round(value * 1000) / 1000;
        break;
    case MX_METRIC_SPEED:
        value = round(value);
        break;
    case MX_METRIC_MS:
        value = (double)(llround(value * 1e6) / 1000) / 1000;
        break;
    case MX_METRIC_NUMBER:
        break;
    }
    mx_string_from_double(value, text);
    mx_string_append(line, "%s", text);
}

void mx_metrics_step(struct mx_metrics *metrics, const struct mx_trainer_report *r)
{
    struct mx_step_metrics m = mx_step_metrics_of(r);
    if (metrics->steps > 0) m.steps = (double)metrics->steps;
    m.time = (double)time(NULL);
    line_begin(metrics, r->step);
    for (int i = MX_STEP_METRIC_AT(step) + 1; i < MX_STEP_METRICS; i++)
        if (mx_metric_there(&mx_step_metric_table[i], m.values[i], r->vocoder_alone))
            metric_put(metrics, &mx_step_metric_table[i], m.values[i], r->flow.leak);
    line_end(metrics);
}

void mx_metrics_evaluation(struct mx_metrics *metrics, int64_t step, const struct mx_trainer_evaluation *e)
{
    const struct mx_evaluation_metrics m = mx_evaluation_metrics_of(step, e);
    line_begin(metrics, step);
    mx_string_append(&metrics->line, MX_METRICS_EVALUATION "{");
    for (int i = MX_EVALUATION_METRIC_AT(step) + 1; i < MX_EVALUATION_METRICS; i++)
        if (mx_metric_there(&mx_evaluation_metric_table[i], m.values[i], e->vocoder_alone))
            metric_put(metrics, &mx_evaluation_metric_table[i], m.values[i], "");
    mx_string_append(&metrics->line, "}");
    line_end(metrics);
}
