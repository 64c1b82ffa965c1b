/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Writing traces, see trace.h.
 *
 * Memory: the text that grows by doubling belongs to the call; the result of mx_trace_json belongs to the caller.
 */
#include "pipeline/trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/file.h"
#include "myxtts/error.h"

#define FIRST_BYTES ((size_t)4096)
#define LANES       64

enum { PID_HOST = 1, PID_DATA, PID_MODEL, PID_RANKS };
enum { TID_LOAD = 1, TID_PROCESS = 1, TID_TRANSFER, TID_TRAIN };

struct text {
    char *data;
    size_t used, bytes;
};

__attribute__((format(printf, 2, 3))) static int text_add(struct text *text, const char *fmt, ...)
{
    for (;;) {
        va_list args;
        va_start(args, fmt);
        const int length = vsnprintf(text->data + text->used, text->bytes - text->used, fmt, args);
        va_end(args);
        if (length < 0) return MX_FAIL(MX_ERR_INTERNAL, NULL, "cannot format a trace");
        if ((size_t)length < text->bytes - text->used) {
            text->used += (size_t)length;
            return 0;
        }
        if (MX_GROW(text->data, text->bytes, text->used + (size_t)length + 1) < 0) return MX_ERR_NO_MEMORY;
    }
}

static int pid_of(const struct mx_span *span, bool one_device)
{
    if (span->stage == MX_STAGE_LOAD) return PID_HOST;
    return span->stage == MX_STAGE_TRAIN && span->lane == 0 && !one_device ? PID_MODEL : PID_DATA;
}

static int tid_of(const struct mx_span *span)
{
    static const int tids[MX_STAGES] = {TID_LOAD, TID_PROCESS, TID_TRANSFER, TID_TRAIN};
    return tids[span->stage] + (span->stage == MX_STAGE_LOAD ? span->lane : 0);
}

/* Names of devices are letters, digits and colons, so nothing needs to be escaped. */
static int group_add(struct text *text, int pid, const char *role, const struct mx_device *device)
{
    char name[96];
    if (device == NULL)
        snprintf(name, sizeof name, "%s", role);
    else
        snprintf(name, sizeof name, "%s (%s = %s)", role, mx_device_logical(device), mx_device_name(device));
    return text_add(text, "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"%s\"}},\n", pid,
                    name);
}

static int row_add(struct text *text, const struct mx_span *span, bool one_device)
{
    char name[32];
    if (span->stage == MX_STAGE_LOAD)
        snprintf(name, sizeof name, "load/%d", (int)span->lane);
    else
        snprintf(name, sizeof name, "%s", mx_stage_name(span->stage));
    return text_add(text, "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"%s\"}},\n",
                    pid_of(span, one_device), tid_of(span), name);
}

/* What a stage spent on a core and waiting; sums of ranks have no thread of their own. */
static int parts_add(struct text *text, const struct mx_span *span)
{
    return text_add(text, ",\"cpu_us\":%" PRIu64 ".%03d,\"blocked_us\":%" PRIu64 ".%03d", span->cpu_ns / 1000,
                    (int)(span->cpu_ns % 1000), span->blocked_ns / 1000, (int)(span->blocked_ns % 1000));
}

/* An "X" event. */
static int event_add(struct text *text, const struct mx_span *span, const char *stage, int pid, int tid,
                     uint64_t zero_ns)
{
    const uint64_t begin = span->begin_ns - zero_ns;
    const uint64_t length = span->end_ns > span->begin_ns ? span->end_ns - span->begin_ns : 0;
    int rc = 0;
    MX_TRY(text_add(text,
                    ",\n{\"name\":\"%s %" PRIu64 "\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%" PRIu64
                    ".%03d,\"dur\":%" PRIu64 ".%03d,\"args\":{\"batch\":%" PRIu64,
                    stage, span->number, stage, pid, tid, begin / 1000, (int)(begin % 1000), length / 1000,
                    (int)(length % 1000), span->number));
    if (pid != PID_RANKS) MX_TRY(parts_add(text, span));
    MX_TRY(text_add(text, "}}"));
out:
    return rc;
}

/* The group of the ranks with a row for each lane. */
static int sum_rows_add(struct text *text, const struct mx_span *sums, uint32_t count)
{
    int rc = 0;
    int32_t lanes = 0;
    for (uint32_t i = 0; i < count; i++)
        if (sums[i].lane >= lanes) lanes = sums[i].lane + 1;
    if (lanes > 0) MX_TRY(group_add(text, PID_RANKS, "ranks", NULL));
    for (int32_t lane = 0; lane < lanes; lane++)
        MX_TRY(text_add(
            text, "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"sum/%d\"}},\n",
            PID_RANKS, (int)lane + 1, (int)lane));
out:
    return rc;
}

int mx_trace_json(const struct mx_trace *trace, char **out, size_t *bytes)
{
    const struct mx_span *const spans = trace->spans, *const sums = trace->sums;
    const uint32_t count = trace->count, sum_count = trace->sum_count;
    int rc = 0;
    const bool one_device = trace->data == trace->model;
    bool seen[MX_STAGES][LANES] = {0};
    uint64_t zero_ns = UINT64_MAX;
    struct text text = {.data = mx_alloc(1, FIRST_BYTES), .bytes = FIRST_BYTES};
    *out = NULL;
    *bytes = 0;
    if (text.data == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(text_add(&text, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"));
    MX_TRY(group_add(&text, PID_HOST, "host", NULL));
    MX_TRY(group_add(&text, PID_DATA, one_device ? "device" : "data device", trace->data));
    if (!one_device) MX_TRY(group_add(&text, PID_MODEL, "model device", trace->model));
    for (uint32_t i = 0; i < count; i++) {
        bool *const row = &seen[spans[i].stage][spans[i].lane % LANES];
        if (spans[i].begin_ns < zero_ns) zero_ns = spans[i].begin_ns;
        if (!*row) MX_TRY(row_add(&text, &spans[i], one_device));
        *row = true;
    }
    for (uint32_t i = 0; i < sum_count; i++)
        if (sums[i].begin_ns < zero_ns) zero_ns = sums[i].begin_ns;
    MX_TRY(sum_rows_add(&text, sums, sum_count));
    text.used -= 2; /* the comma of the last name */
    for (uint32_t i = 0; i < count; i++)
        MX_TRY(event_add(&text, &spans[i], mx_stage_name(spans[i].stage), pid_of(&spans[i], one_device),
                         tid_of(&spans[i]), zero_ns));
    for (uint32_t i = 0; i < sum_count; i++)
        MX_TRY(event_add(&text, &sums[i], "sum", PID_RANKS, (int)sums[i].lane + 1, zero_ns));
    MX_TRY(text_add(&text, "\n]}\n"));
    *out = text.data;
    *bytes = text.used;
    text.data = NULL;
out:
    mx_free(text.data);
    return rc;
}

int mx_trace_write(const struct mx_trace *trace, const char *path)
{
    int rc = 0;
    char *json = NULL;
    size_t bytes = 0;
    MX_TRY(mx_trace_json(trace, &json, &bytes));
    MX_TRY(mx_file_write_atomic(path, json, bytes));
out:
    mx_free(json);
    return rc;
}
