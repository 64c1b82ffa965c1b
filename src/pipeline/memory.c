/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Who uses how much memory of the devices of a pipeline, from their budgets. Takes no memory of its own.
 */
#include <stdio.h>

#include "myxtts/budget.h"
#include "pipeline/pipeline_internal.h"

static void device_fill(const struct mx_device *device, struct mx_pipeline_memory_device *out)
{
    struct mx_budget_stats stats;
    mx_budget_stats(mx_device_budget(device), &stats);
    snprintf(out->name, sizeof out->name, "%s", mx_device_name(device));
    snprintf(out->logical, sizeof out->logical, "%s", mx_device_logical(device));
    out->limit_bytes = stats.limit_bytes < mx_device_info(device)->memory_bytes ? stats.limit_bytes : 0;
    out->used_bytes = stats.current_bytes;
    out->peak_bytes = stats.peak_bytes;
    out->host_bytes = stats.host_bytes;
    for (int i = 0; i < stats.owner_count && out->owner_count < MX_PIPELINE_OWNERS; i++) {
        struct mx_pipeline_owner *const owner = &out->owners[out->owner_count++];
        snprintf(owner->name, sizeof owner->name, "%s", stats.owners[i].name);
        owner->used_bytes = stats.owners[i].current_bytes;
        owner->peak_bytes = stats.owners[i].peak_bytes;
    }
}

void mx_pipeline_memory_stats(struct mx_pipeline *p, struct mx_pipeline_memory *out)
{
    *out = (struct mx_pipeline_memory){.device_count = p->two_devices ? 2 : 1};
    device_fill(p->options.data, &out->devices[0]);
    if (p->two_devices) device_fill(p->options.model, &out->devices[1]);
}
