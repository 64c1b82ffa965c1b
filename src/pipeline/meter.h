/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Meters of the pipeline: how each stage spent its time, measured from real events, never assumed.
 *
 * A pause is time in which nothing is measured: it counts in no sum and not as wall time.
 *
 * A span is the work of one stage on one batch: for devices by the clock of events (from when the stream reached it
 * until it was done), for loading by the host's clock. A worker that waits for a disk keeps no core busy: of a load,
 * only the CPU time counts for the device on whose cores it runs, evenly over its span, and loads that run at the same
 * time add up, to all of the time at most. Utilisation and overlap are computed from the spans of all
 * stages; step times and their variation from the ends of steps.
 *
 * Memory: a meter has a fixed size except for its ring of spans, which is allocated at the start.
 */
#ifndef MX_PIPELINE_METER_H
#define MX_PIPELINE_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "myxtts/pipeline.h"

/* Sums over spans. Spans arrive in any order, some of them late, so they are kept until the horizon has passed them:
 * the earliest time at which a span that is not known yet may begin. Everything before it is summed up and dropped. Not
 * thread-safe: its owner locks. */
struct mx_meter {
    struct mx_pipeline_stats stats; /* without what is pending */
    bool load_on_data, copy_on_data, one_device;
    uint64_t since_ns, swept_ns; /* start or reset; everything before swept_ns is summed up */
    uint64_t paused_ns;          /* pauses since then that are over */
    struct mx_span *pending;     /* [pending_limit] */
    struct mx_edge *edges;       /* [2·(pending_limit + open_limit)]: for the summing */
    uint32_t pending_count, pending_limit, open_limit;
    struct mx_span *ring; /* [ring_size]: the newest */
    uint32_t ring_size;
    uint64_t ring_total;
};

/* `pending_limit`: spans that may lie after the horizon. If there are more, late spans are counted too low.
 * `open_limit`: see mx_meter_read. */
int mx_meter_create(struct mx_meter *meter, uint32_t pending_limit, uint32_t open_limit, uint32_t ring_size);
void mx_meter_release(struct mx_meter *meter);
void mx_meter_add(struct mx_meter *meter, const struct mx_span *span);           /* leaves the tallies to the caller */
void mx_meter_pause(struct mx_meter *meter, uint64_t begin_ns, uint64_t end_ns); /* that is over; not yet swept */
void mx_meter_sweep(struct mx_meter *meter, uint64_t horizon_ns);
/* The sums up to now, including pending spans and `open`: work in progress, as spans until now (at most open_limit),
 * and a pause that has lasted since pause_ns (0: none). The meter does not change. */
void mx_meter_read(struct mx_meter *meter, uint64_t now_ns, const struct mx_span *open, uint32_t count,
                   uint64_t pause_ns, struct mx_pipeline_stats *out);
void mx_meter_reset(struct mx_meter *meter, uint64_t now_ns);
uint32_t mx_meter_spans(const struct mx_meter *meter, struct mx_span *out, uint32_t count); /* newest, oldest first */

#endif
