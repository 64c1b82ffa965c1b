/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory isolation: a hard byte limit per device, with an owner for every byte.
 *
 * Each device has one budget. Buffers charge it before the backend allocates and credit it after the backend has freed.
 * Over the limit is MX_ERR_BUDGET, whose message names owner, bytes asked, bytes used and limit, and whose hint says
 * what is largest and what would fit. Statistics are exact at any time; a detector watches for growth over steps.
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
    uint64_t live_count;  /* allocations alive */
    uint64_t total_count; /* allocations ever made */
    bool host;            /* host-side memory (pinned staging): not counted against the limit */
};

struct mx_budget_stats {
    char device[32];
    uint64_t limit_bytes, current_bytes, peak_bytes; /* device memory */
    uint64_t host_bytes, host_peak_bytes;            /* host memory taken on behalf of the device */
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
/* A new limit; MX_ERR_BUDGET if more than that is in use already. */
int mx_budget_set_limit(struct mx_budget *budget, uint64_t limit_bytes);
void mx_budget_stats(struct mx_budget *budget, struct mx_budget_stats *out);
/* The statistics as one JSON object; the caller frees with mx_free. */
char *mx_budget_json(struct mx_budget *budget);

/* Leak detector: call once a step. When every one of the last MX_BUDGET_WINDOW steps ended higher than the
 * one before it, or the least use in the newest half of the window lies above the most in the oldest half by more than
 * `slack_bytes`, it returns true once per episode and names the fastest growing owner in `owner`
 * (MX_BUDGET_OWNER_BYTES) and by how much that owner grew over the window. Device and host memory count together; the
 * first window must have passed. An episode ends when a window has passed without such growth. */
bool mx_budget_watch(struct mx_budget *budget, uint64_t slack_bytes, char *owner, uint64_t *growth_bytes);
/* Forgets the steps so far: other work begins, and may need more. */
void mx_budget_watch_restart(struct mx_budget *budget);

#define MX_BUDGET_WINDOW 64

/* Bytes for people: "512 B", "1.50 MiB", "23.4 GiB". Returns `out`. */
#define MX_BYTES_TEXT_BYTES 16
const char *mx_bytes_text(uint64_t bytes, char out[MX_BYTES_TEXT_BYTES]);
/* What is needed, rounded up, and what there is, rounded down: where the one is more than the other, so are the words.
 */
void mx_bytes_compare(uint64_t need, uint64_t have, char need_out[MX_BYTES_TEXT_BYTES],
                      char have_out[MX_BYTES_TEXT_BYTES]);
/* The least whole number of MiB that holds so many bytes: what a flag for a limit takes. */
uint64_t mx_bytes_mib(uint64_t bytes);

/* Recommended limits from a device's total: data 0.33, model 0.67 (the same fractions when both share one device). */
enum mx_device_role { MX_ROLE_DATA, MX_ROLE_MODEL };
#define MX_BUDGET_DATA_FRACTION  0.33
#define MX_BUDGET_MODEL_FRACTION 0.67
uint64_t mx_budget_recommended(uint64_t total_bytes, enum mx_device_role role);

#endif
