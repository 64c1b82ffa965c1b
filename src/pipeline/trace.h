/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Traces: the spans of a pipeline as a file for chrome://tracing or ui.perfetto.dev.
 *
 * Format (JSON): {"displayTimeUnit":"ms","traceEvents":[…]}. The groups are the host (pid 1), the data device (2) and
 * the model device (3), each with an "M" event process_name; rows are load/0 … (pid 1), process and transfer (pid 2)
 * and train (pid 3; on one device, and for the part that the data device trains on, pid 2), each with an "M" event
 * thread_name. A span is an "X" event: name ("load 17"), cat (the stage), pid, tid, ts and dur in microseconds with
 * three decimals from the first span on; args.batch, and args.cpu_us and args.blocked_us, what the stage's thread spent
 * on a core and blocked (struct mx_span).
 *
 * With several ranks, the sums of their gradients are rows of one more group, the ranks (pid 4): sum/0 …, cat "sum".
 *
 * Memory: the text is built in one block and freed before the call returns; not for use in the training loop.
 */
#ifndef MX_PIPELINE_TRACE_H
#define MX_PIPELINE_TRACE_H

#include "myxtts/device.h"
#include "pipeline/meter.h"

/* What a trace shows; all of it is the caller's. */
struct mx_trace {
    const struct mx_span *spans;
    uint32_t count;
    const struct mx_span *sums; /* the sums of ranks as spans: their numbers, lanes and times count */
    uint32_t sum_count;
    const struct mx_device *data, *model; /* the same device twice: one device */
};

/* The JSON text (free with mx_free) and its length. */
int mx_trace_json(const struct mx_trace *trace, char **out, size_t *bytes);
/* Writes the same to a file, which is replaced as a whole. */
int mx_trace_write(const struct mx_trace *trace, const char *path);

#endif
