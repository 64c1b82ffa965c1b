/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The bounded log of events, see dashboard_log.h.
 */
#include "observe/dashboard_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "train/report/metrics.h"

int mx_dash_log_open(struct mx_dash_log *log, uint64_t instance)
{
    *log = (struct mx_dash_log){.next = 1, .instance = instance};
    log->bytes = mx_alloc(MX_DASH_LOG_BYTES, 1);
    log->events = mx_alloc(MX_DASH_LOG_EVENTS, sizeof *log->events);
    if (log->bytes != NULL && log->events != NULL) return 0;
    mx_dash_log_close(log);
    return MX_ERR_NO_MEMORY;
}

void mx_dash_log_close(struct mx_dash_log *log)
{
    mx_free(log->bytes);
    mx_free(log->events);
    *log = (struct mx_dash_log){0};
}

void mx_dash_log_clear(struct mx_dash_log *log)
{
    log->used = log->count = 0;
}

/* Drops every second event among the first `among`, those that are kept aside if `all` is false. */
static void thin(struct mx_dash_log *log, size_t among, bool all)
{
    size_t count = 0, used = 0, odd = 0;
    for (size_t i = 0; i < log->count; i++) {
        const struct mx_dash_event e = log->events[i];
        if (i < among && (all || !e.kept) && odd++ % 2 == 0) continue;
        memmove(log->bytes + used, log->bytes + e.at, e.length);
        log->events[count] = e;
        log->events[count++].at = used;
        used += e.length;
    }
    log->count = count;
    log->used = used;
    log->thinned++;
}

static bool has_room(const struct mx_dash_log *log)
{
    return log->count < MX_DASH_LOG_EVENTS && log->used + MX_DASH_EVENT_BYTES <= MX_DASH_LOG_BYTES;
}

bool mx_dash_log_add(struct mx_dash_log *log, const char *line, size_t length)
{
    static const char start[] = MX_METRICS_START, evaluation[] = MX_METRICS_EVALUATION;
    char *end;
    if (length > MX_DASH_LINE_MAX || length < sizeof start || memcmp(line, start, sizeof start - 1) != 0) return false;
    const int64_t step = strtoll(line + sizeof start - 1, &end, 10);
    if (end == line + sizeof start - 1 || step < 0) return false;
    if (!has_room(log)) thin(log, log->count / 2, false);
    while (!has_room(log)) thin(log, log->count, true);
    const int head = snprintf(log->bytes + log->used, MX_DASH_EVENT_BYTES,
                              "id: %" PRIx64 "-%" PRIu64 "\ndata: ", log->instance, log->next);
    struct mx_dash_event *const e = &log->events[log->count++];
    *e = (struct mx_dash_event){.number = log->next++, .step = step, .at = log->used};
    memcpy(log->bytes + log->used + head, line, length);
    memcpy(log->bytes + log->used + (size_t)head + length, "\n\n", 2);
    e->length = (size_t)head + length + 2;
    e->kept = strncmp(end, evaluation, sizeof evaluation - 1) == 0;
    log->used += e->length;
    return true;
}

const struct mx_dash_event *mx_dash_log_after(const struct mx_dash_log *log, uint64_t seen)
{
    size_t least = 0, most = log->count;
    while (least < most) {
        const size_t middle = least + (most - least) / 2;
        if (log->events[middle].number <= seen)
            least = middle + 1;
        else
            most = middle;
    }
    return least < log->count ? &log->events[least] : NULL;
}

uint64_t mx_dash_log_before_step(const struct mx_dash_log *log, int64_t step)
{
    uint64_t number = 0;
    for (size_t i = 0; i < log->count && log->events[i].step < step; i++) number = log->events[i].number;
    return number;
}

uint64_t mx_dash_log_number(const struct mx_dash_log *log, const char *id)
{
    char *end;
    const uint64_t instance = strtoull(id, &end, 16);
    if (end == id || *end != '-' || instance != log->instance) return 0;
    const uint64_t number = strtoull(end + 1, &end, 10);
    return *end == '\0' && number < log->next ? number : 0;
}
