/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Meters of the pipeline: what each stage did with its time, from real events, never from assumptions.
 *
 * A pause is time in which nothing is measured: it counts for no sum, and not as wall time.
 *
 * A span is one piece of work of one stage at one batch: by the clock of events for devices (from when the stream
 * reached it to when it was done), by the host's for loading. From the spans of all stages follow utilisation and
 * overlap; from the ends of steps, the step times and how much they vary.
 *
 * Memory: a meter has a fixed size but for its ring of spans, which is taken at the start.
 */
#ifndef MX_PIPELINE_METER_H
#define MX_PIPELINE_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "myxtts/pipeline.h"

/* What spans add up to. Spans come in any order, some of them late, so they are kept until the horizon has passed them:
 * the time from which on a span may still begin that is not known yet. What lies before it is summed up and forgotten.
 * Not for several threads: its owner locks. */
struct mx_meter {
    struct mx_pipeline_stats stats; /* without what is pending */
    bool load_on_data, copy_on_data, one_device;
    uint64_t since_ns, swept_ns; /* start or reset; everything before is summed up */
    uint64_t paused_ns;          /* pauses since then that are over */
    struct mx_span *pending;     /* [pending_limit] */
    struct mx_edge *edges;       /* [2·(pending_limit + open_limit)]: for the summing */
    uint32_t pending_count, pending_limit, open_limit;
    struct mx_span *ring; /* [ring_size]: the newest */
    uint32_t ring_size;
    uint64_t ring_total;
};

/* `pending_limit`: spans that may lie after the horizon. If there are more, what is late is counted too low.
 * `open_limit`: of mx_meter_read. */
int mx_meter_create(struct mx_meter *meter, uint32_t pending_limit, uint32_t open_limit, uint32_t ring_size);
void mx_meter_release(struct mx_meter *meter);
void mx_meter_add(struct mx_meter *meter, const struct mx_span *span);           /* leaves the tallies to the caller */
void mx_meter_pause(struct mx_meter *meter, uint64_t begin_ns, uint64_t end_ns); /* that is over; not yet swept */
void mx_meter_sweep(struct mx_meter *meter, uint64_t horizon_ns);
/* The sums up to now, with what is pending and with `open`: work that goes on, as spans until now (at most open_limit),
 * and a pause that goes on since pause_ns (0: none). The meter stays as it is. */
void mx_meter_read(struct mx_meter *meter, uint64_t now_ns, const struct mx_span *open, uint32_t count,
                   uint64_t pause_ns, struct mx_pipeline_stats *out);
void mx_meter_reset(struct mx_meter *meter, uint64_t now_ns);
uint32_t mx_meter_spans(const struct mx_meter *meter, struct mx_span *out, uint32_t count); /* newest, oldest first */

#endif
