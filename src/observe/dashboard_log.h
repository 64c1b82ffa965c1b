/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The dashboard's events: the lines of a run, each as the server-sent event that clients get, in a block of fixed size.
 *
 *     id: INSTANCE-NUMBER\n
 *     data: {"step":…}\n
 *     \n
 *
 * When the block is full, every second step of its older half is dropped (evaluations stay as long as anything else can
 * be dropped). What remains still covers the whole run, more thinly the older it is. A client only remembers the number
 * of the last event it got, so a slow client cannot fall out of the log.
 *
 * Memory: mx_dash_log_open allocates everything. One thread.
 */
#ifndef MX_OBSERVE_DASHBOARD_LOG_H
#define MX_OBSERVE_DASHBOARD_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MX_DASH_LOG_BYTES   ((size_t)1 << 20)
#define MX_DASH_LOG_EVENTS  2048
#define MX_DASH_LINE_MAX    4096 /* longer lines are not sent */
#define MX_DASH_EVENT_BYTES (MX_DASH_LINE_MAX + 64)

struct mx_dash_event {
    uint64_t number; /* 1 … */
    int64_t step;
    size_t at, length;
    bool kept; /* an evaluation */
};

struct mx_dash_log {
    char *bytes;
    struct mx_dash_event *events;
    size_t used, count;
    uint64_t next;     /* number of the next event */
    uint64_t instance; /* distinguishes the numbers of this log from those of another one */
    uint64_t thinned;  /* how many times */
};

int mx_dash_log_open(struct mx_dash_log *log, uint64_t instance);
void mx_dash_log_close(struct mx_dash_log *log); /* all zero is fine */

/* Adds a line of metrics.jsonl, which ends with a zero byte. False: it does not begin with a step, or is too long. */
bool mx_dash_log_add(struct mx_dash_log *log, const char *line, size_t length);
void mx_dash_log_clear(struct mx_dash_log *log); /* numbering continues */

/* The first event after number `seen`; NULL: there is none. Valid until something is added. */
const struct mx_dash_event *mx_dash_log_after(const struct mx_dash_log *log, uint64_t seen);
/* The number to begin after for a client that knows all steps before `step`. */
uint64_t mx_dash_log_before_step(const struct mx_dash_log *log, int64_t step);
/* The number in an id that this log sent; 0: the id is not one. */
uint64_t mx_dash_log_number(const struct mx_dash_log *log, const char *id);

#endif
