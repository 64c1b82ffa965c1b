/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory isolation: a hard byte limit per device, with an owner for every byte.
 *
 * Each device has one budget. Buffers charge it before the backend allocates and credit it after the backend has freed.
 * A charge over the limit fails with MX_ERR_BUDGET. Its message names the owner, the bytes requested, the bytes in use
 * and the limit; its hint names the largest owner and what would fit. Statistics are exact at any time, and a detector
 * watches for growth over steps.
 *
 * Threads: every function may be called from any thread. Lock: budget->lock protects the owner table and all counters;
 * it is a leaf (nothing else is locked, allocated or called while it is held).
 */
#ifndef MYXTTS_BUDGET_H
#define MYXTTS_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MX_BUDGET_OWNERS      64 /* distinct owner tags per device */
#define MX_BUDGET_OWNER_BYTES 32 /* tag length with the final zero; longer tags are refused */

struct mx_budget;

/* One owner's account. */
struct mx_budget_owner {
    char name[MX_BUDGET_OWNER_BYTES];
    uint64_t current_bytes, peak_bytes;
    uint64_t live_count;  /* allocations in use */
    uint64_t total_count; /* allocations ever made */
    bool host;            /* host-side memory (pinned staging): not counted against the limit */
};

struct mx_budget_stats {
    char device[32];
    uint64_t limit_bytes, current_bytes, peak_bytes; /* device memory */
    uint64_t host_bytes, host_peak_bytes;            /* host memory allocated on behalf of the device */
    uint64_t live_count, total_count, refused_count;
    int owner_count;
    struct mx_budget_owner owners[MX_BUDGET_OWNERS]; /* largest first */
};

int mx_budget_create(const char *device, uint64_t limit_bytes, struct mx_budget **out);
void mx_budget_destroy(struct mx_budget *budget);

int mx_budget_charge(struct mx_budget *budget, const char *owner, uint64_t bytes, bool host);
void mx_budget_credit(struct mx_budget *budget, const char *owner, uint64_t bytes, bool host);

uint64_t mx_budget_limit(struct mx_budget *budget);
uint64_t mx_budget_available(struct mx_budget *budget);
/* Sets a new limit. MX_ERR_BUDGET if more than that is already in use. */
int mx_budget_set_limit(struct mx_budget *budget, uint64_t limit_bytes);
void mx_budget_stats(struct mx_budget *budget, struct mx_budget_stats *out);
/* The statistics as one JSON object; the caller frees it with mx_free. */
char *mx_budget_json(struct mx_budget *budget);

/* Leak detector: call it once per step. Growth means that each of the last MX_BUDGET_WINDOW steps ended with more
 * memory in use than the one before, or that the minimum of the newer half of the window is above the maximum of the
 * older half by more than `slack_bytes`. On growth it returns true, once per episode, and stores the fastest growing
 * owner in `owner` (MX_BUDGET_OWNER_BYTES) and that owner's growth over the window. Device and host memory are added
 * together. It reports nothing before the first window is complete. An episode ends after a window without growth. */
bool mx_budget_watch(struct mx_budget *budget, uint64_t slack_bytes, char *owner, uint64_t *growth_bytes);
/* Forgets the steps so far. Call it when different work starts, which may need more memory. */
void mx_budget_watch_restart(struct mx_budget *budget);

#define MX_BUDGET_WINDOW 64

/* Bytes in readable form: "512 B", "1.50 MiB", "23.4 GiB". Returns `out`. */
#define MX_BYTES_TEXT_BYTES 16
const char *mx_bytes_text(uint64_t bytes, char out[MX_BYTES_TEXT_BYTES]);
/* Bytes needed, rounded up, and bytes available, rounded down: if more is needed than available, the texts show it. */
void mx_bytes_compare(uint64_t need, uint64_t have, char need_out[MX_BYTES_TEXT_BYTES],
                      char have_out[MX_BYTES_TEXT_BYTES]);
/* `bytes` in MiB, rounded up: the unit of the flags for limits. */
uint64_t mx_bytes_mib(uint64_t bytes);

/* Recommended limits as fractions of a device's memory: data 0.33, model 0.67 (also if both share one device). */
enum mx_device_role { MX_ROLE_DATA, MX_ROLE_MODEL };
#define MX_BUDGET_DATA_FRACTION  0.33
#define MX_BUDGET_MODEL_FRACTION 0.67
uint64_t mx_budget_recommended(uint64_t total_bytes, enum mx_device_role role);

#endif
