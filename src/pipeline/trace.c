/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Writing traces, see trace.h.
 *
 * Memory: a text that grows by doubling belongs to the call; what mx_trace_json returns belongs to the caller.
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

enum { PID_HOST = 1, PID_DATA, PID_MODEL };
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
        if (length < 0) return MX_FAIL(MX_ERR_INTERNAL, NULL, "a trace cannot be formatted");
        if ((size_t)length < text->bytes - text->used) {
            text->used += (size_t)length;
            return 0;
        }
        char *const larger = mx_realloc(text->data, text->bytes, 2);
        if (larger == NULL) return MX_ERR_NO_MEMORY;
        text->data = larger;
        text->bytes *= 2;
    }
}

static int pid_of(const struct mx_span *span, bool one_device)
{
    if (span->stage == MX_STAGE_LOAD) return PID_HOST;
    return span->stage == MX_STAGE_TRAIN && !one_device ? PID_MODEL : PID_DATA;
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

static int span_add(struct text *text, const struct mx_span *span, uint64_t zero_ns, bool one_device)
{
    const uint64_t begin = span->begin_ns - zero_ns;
    const uint64_t length = span->end_ns > span->begin_ns ? span->end_ns - span->begin_ns : 0;
    return text_add(text,
                    ",\n{\"name\":\"%s %" PRIu64 "\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%" PRIu64
                    ".%03d,\"dur\":%" PRIu64 ".%03d,\"args\":{\"batch\":%" PRIu64 "}}",
                    mx_stage_name(span->stage), span->number, mx_stage_name(span->stage), pid_of(span, one_device),
                    tid_of(span), begin / 1000, (int)(begin % 1000), length / 1000, (int)(length % 1000), span->number);
}

int mx_trace_json(const struct mx_span *spans, uint32_t count, const struct mx_device *data,
                  const struct mx_device *model, char **out, size_t *bytes)
{
    int rc = 0;
    const bool one_device = data == model;
    bool seen[MX_STAGES][LANES] = {0};
    uint64_t zero_ns = UINT64_MAX;
    struct text text = {.data = mx_alloc(1, FIRST_BYTES), .bytes = FIRST_BYTES};
    *out = NULL;
    *bytes = 0;
    if (text.data == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(text_add(&text, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"));
    MX_TRY(group_add(&text, PID_HOST, "host", NULL));
    MX_TRY(group_add(&text, PID_DATA, one_device ? "device" : "data device", data));
    if (!one_device) MX_TRY(group_add(&text, PID_MODEL, "model device", model));
    for (uint32_t i = 0; i < count; i++) {
        bool *const row = &seen[spans[i].stage][spans[i].lane % LANES];
        if (spans[i].begin_ns < zero_ns) zero_ns = spans[i].begin_ns;
        if (!*row) MX_TRY(row_add(&text, &spans[i], one_device));
        *row = true;
    }
    text.used -= 2; /* the comma of the last name */
    for (uint32_t i = 0; i < count; i++) MX_TRY(span_add(&text, &spans[i], zero_ns, one_device));
    MX_TRY(text_add(&text, "\n]}\n"));
    *out = text.data;
    *bytes = text.used;
    text.data = NULL;
out:
    mx_free(text.data);
    return rc;
}

int mx_trace_write(const char *path, const struct mx_span *spans, uint32_t count, const struct mx_device *data,
                   const struct mx_device *model)
{
    int rc = 0;
    char *json = NULL;
    size_t bytes = 0;
    MX_TRY(mx_trace_json(spans, count, data, model, &json, &bytes));
    MX_TRY(mx_file_write_atomic(path, json, bytes));
out:
    mx_free(json);
    return rc;
}
