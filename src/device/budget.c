/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory isolation; see myxtts/budget.h.
 *
 * Everything is in one block of fixed size: the owner table and the history of the leak detector. Nothing is allocated
 * after mx_budget_create.
 */
#include "myxtts/budget.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/string.h"
#include "myxtts/error.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A window of steps needs one step more: the one before the first. */
#define HISTORY (MX_BUDGET_WINDOW + 1)

/* lock protects everything below it except `device`, which never changes. It is a leaf: messages are formatted
 * from copies after it is released. Owners are never removed, so an index stays valid for good. */
struct mx_budget {
    char device[32];
    pthread_mutex_t lock;
    uint64_t limit_bytes, current_bytes, peak_bytes, host_bytes, host_peak_bytes;
    uint64_t live_count, total_count, refused_count;
    int owner_count;
    struct mx_budget_owner owners[MX_BUDGET_OWNERS];
    uint64_t steps;            /* calls of mx_budget_watch */
    uint64_t growing_until;    /* a reported episode lasts until a whole window without growth has passed */
    uint64_t history[HISTORY]; /* all bytes at the end of step s, at s % HISTORY */
    uint64_t owner_history[HISTORY][MX_BUDGET_OWNERS];
};

static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
#define UNITS ((int)(sizeof units / sizeof *units))

const char *mx_bytes_text(uint64_t bytes, char out[MX_BYTES_TEXT_BYTES])
{
    double value = (double)bytes;
    int unit = 0;
    while (value >= 1024 && unit + 1 < UNITS) {
        value /= 1024;
        unit++;
    }
    if (unit == 0) {
        snprintf(out, MX_BYTES_TEXT_BYTES, "%u B", (unsigned)bytes);
    } else {
        snprintf(out, MX_BYTES_TEXT_BYTES, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, units[unit]);
    }
    return out;
}

/* `bytes` in its largest unit, with the digits of mx_bytes_text, rounded up or down. */
static void rounded_text(uint64_t bytes, bool up, char out[MX_BYTES_TEXT_BYTES])
{
    int unit = 0;
    while (unit + 1 < UNITS && bytes >> (10 * (unit + 1)) > 0) unit++;
    int shift = 10 * unit;
    uint64_t whole = bytes >> shift, rest = bytes & ((UINT64_C(1) << shift) - 1);
    const int digits = unit == 0 || whole >= 100 ? 0 : whole < 10 ? 2 : 1;
    const uint64_t scale = digits == 0 ? 1 : digits == 1 ? 10 : 100;
    if (shift > 40) { /* the product below must fit */
        const uint64_t low = rest & ((UINT64_C(1) << (shift - 40)) - 1);
        rest = (rest >> (shift - 40)) + (up && low > 0);
        shift = 40;
    }
    uint64_t part = rest * scale >> shift;
    if (up && part << shift < rest * scale) part++;
    whole += part / scale;
    part %= scale;
    if (digits == 0)
        snprintf(out, MX_BYTES_TEXT_BYTES, "%" PRIu64 " %s", whole, units[unit]);
    else
        snprintf(out, MX_BYTES_TEXT_BYTES, "%" PRIu64 ".%0*" PRIu64 " %s", whole, digits, part, units[unit]);
}

void mx_bytes_compare(uint64_t need, uint64_t have, char need_out[MX_BYTES_TEXT_BYTES],
                      char have_out[MX_BYTES_TEXT_BYTES])
{
    rounded_text(need, true, need_out);
    rounded_text(have, false, have_out);
}

uint64_t mx_bytes_mib(uint64_t bytes)
{
    return (bytes >> 20) + ((bytes & ((UINT64_C(1) << 20) - 1)) > 0);
}

int mx_budget_create(const char *device, uint64_t limit_bytes, struct mx_budget **out)
{
    *out = NULL;
    struct mx_budget *const budget = mx_alloc(1, sizeof *budget);
    if (!budget) return MX_ERR_NO_MEMORY;
    snprintf(budget->device, sizeof budget->device, "%s", device);
    budget->limit_bytes = limit_bytes;
    pthread_mutex_init(&budget->lock, NULL);
    *out = budget;
    return 0;
}

void mx_budget_destroy(struct mx_budget *budget)
{
    if (!budget) return;
    pthread_mutex_destroy(&budget->lock);
    mx_free(budget);
}

/* The account of (name, host), or NULL. Lock held. */
static struct mx_budget_owner *owner_find(struct mx_budget *budget, const char *name, bool host)
{
    for (int i = 0; i < budget->owner_count; i++) {
        struct mx_budget_owner *const owner = &budget->owners[i];
        if (owner->host == host && strcmp(owner->name, name) == 0) return owner;
    }
    return NULL;
}

/* The same, opened if there is room for one more. Lock held. */
static struct mx_budget_owner *owner_open(struct mx_budget *budget, const char *name, bool host)
{
    struct mx_budget_owner *owner = owner_find(budget, name, host);
    if (owner || budget->owner_count == MX_BUDGET_OWNERS) return owner;
    owner = &budget->owners[budget->owner_count++];
    strcpy(owner->name, name); /* the length was checked by mx_budget_charge */
    owner->host = host;
    return owner;
}

/* The device account that holds most. Lock held. */
static void largest_copy(const struct mx_budget *budget, struct mx_budget_owner *out)
{
    memset(out, 0, sizeof *out);
    for (int i = 0; i < budget->owner_count; i++) {
        const struct mx_budget_owner *const owner = &budget->owners[i];
        if (!owner->host && owner->current_bytes > out->current_bytes) *out = *owner;
    }
}

static int refuse(const char *device, const char *owner, uint64_t bytes, uint64_t used, uint64_t limit,
                  const struct mx_budget_owner *largest)
{
    char asked_text[MX_BYTES_TEXT_BYTES], used_text[MX_BYTES_TEXT_BYTES], limit_text[MX_BYTES_TEXT_BYTES];
    char fits_text[MX_BYTES_TEXT_BYTES], need_text[MX_BYTES_TEXT_BYTES], largest_text[MX_BYTES_TEXT_BYTES];
    const uint64_t fits = limit - used;
    const uint64_t need = bytes <= UINT64_MAX - used ? used + bytes : UINT64_MAX;
    MX_FAIL(MX_ERR_BUDGET, NULL, "%s: \"%s\" asked for %s (%" PRIu64 " bytes), but %s of the limit of %s are in use",
            device, owner, mx_bytes_text(bytes, asked_text), bytes, mx_bytes_text(used, used_text),
            mx_bytes_text(limit, limit_text));
    mx_bytes_compare(need, fits, need_text, fits_text);
    if (!largest->current_bytes) {
        return mx_error_hint("%s (%" PRIu64 " bytes) would fit; a limit of %s would hold this", fits_text, fits,
                             need_text);
    }
    return mx_error_hint("%s (%" PRIu64 " bytes) would fit; a limit of %s would hold this and what is in use; the "
                         "largest owner is \"%s\" with %s",
                         fits_text, fits, need_text, largest->name,
                         mx_bytes_text(largest->current_bytes, largest_text));
}

int mx_budget_charge(struct mx_budget *budget, const char *owner, uint64_t bytes, bool host)
{
    enum { CHARGED, OVER_LIMIT, ABSURD, NO_ACCOUNT } outcome = CHARGED;
    struct mx_budget_owner largest;
    if (!owner || !*owner || strlen(owner) >= MX_BUDGET_OWNER_BYTES) {
        return MX_FAIL(MX_ERR_ARGUMENT, "use a short tag such as \"parameters\"",
                       "%s: the owner of an allocation must have 1 to %d characters", budget->device,
                       MX_BUDGET_OWNER_BYTES - 1);
    }
    pthread_mutex_lock(&budget->lock);
    const uint64_t used = budget->current_bytes, limit = budget->limit_bytes;
    if (host && bytes > UINT64_MAX - budget->host_bytes) {
        outcome = ABSURD;
        budget->refused_count++;
    } else if (!host && bytes > limit - used) {
        outcome = OVER_LIMIT;
        budget->refused_count++;
        largest_copy(budget, &largest);
    } else {
        struct mx_budget_owner *const account = owner_open(budget, owner, host);
        if (!account) {
            outcome = NO_ACCOUNT;
        } else {
            uint64_t *const current = host ? &budget->host_bytes : &budget->current_bytes;
            uint64_t *const peak = host ? &budget->host_peak_bytes : &budget->peak_bytes;
            *current += bytes;
            if (*current > *peak) *peak = *current;
            account->current_bytes += bytes;
            if (account->current_bytes > account->peak_bytes) account->peak_bytes = account->current_bytes;
            account->live_count++;
            account->total_count++;
            budget->live_count++;
            budget->total_count++;
        }
    }
    pthread_mutex_unlock(&budget->lock);
    if (outcome == OVER_LIMIT) return refuse(budget->device, owner, bytes, used, limit, &largest);
    if (outcome == ABSURD) {
        return MX_FAIL(MX_ERR_NO_MEMORY, "check the sizes this came from",
                       "%s: \"%s\" asked for %" PRIu64 " bytes of host memory", budget->device, owner, bytes);
    }
    if (outcome == NO_ACCOUNT) {
        return MX_FAIL(MX_ERR_ARGUMENT, "give allocations of one kind the same owner",
                       "%s: no room for owner \"%s\": there are %d owners already", budget->device, owner,
                       MX_BUDGET_OWNERS);
    }
    return 0;
}

void mx_budget_credit(struct mx_budget *budget, const char *owner, uint64_t bytes, bool host)
{
    pthread_mutex_lock(&budget->lock);
    struct mx_budget_owner *const account = owner_find(budget, owner, host);
    const bool known = account && account->live_count > 0 && account->current_bytes >= bytes;
    if (known) {
        *(host ? &budget->host_bytes : &budget->current_bytes) -= bytes;
        account->current_bytes -= bytes;
        account->live_count--;
        budget->live_count--;
    }
    pthread_mutex_unlock(&budget->lock);
    if (!known) {
        mx_warn("%s: \"%s\" gave back %" PRIu64 " bytes that it does not have; the account is unchanged",
                budget->device, owner, bytes);
    }
}

uint64_t mx_budget_limit(struct mx_budget *budget)
{
    pthread_mutex_lock(&budget->lock);
    const uint64_t limit = budget->limit_bytes;
    pthread_mutex_unlock(&budget->lock);
    return limit;
}

uint64_t mx_budget_available(struct mx_budget *budget)
{
    pthread_mutex_lock(&budget->lock);
    const uint64_t available = budget->limit_bytes - budget->current_bytes;
    pthread_mutex_unlock(&budget->lock);
    return available;
}

int mx_budget_set_limit(struct mx_budget *budget, uint64_t limit_bytes)
{
    char limit_text[MX_BYTES_TEXT_BYTES], used_text[MX_BYTES_TEXT_BYTES], largest_text[MX_BYTES_TEXT_BYTES];
    struct mx_budget_owner largest;
    pthread_mutex_lock(&budget->lock);
    const uint64_t used = budget->current_bytes;
    if (used <= limit_bytes) budget->limit_bytes = limit_bytes;
    largest_copy(budget, &largest);
    pthread_mutex_unlock(&budget->lock);
    if (used <= limit_bytes) return 0;
    MX_FAIL(MX_ERR_BUDGET, NULL, "%s: cannot lower the limit to %s, %s are in use", budget->device,
            mx_bytes_text(limit_bytes, limit_text), mx_bytes_text(used, used_text));
    return mx_error_hint("release memory first; the largest owner is \"%s\" with %s", largest.name,
                         mx_bytes_text(largest.current_bytes, largest_text));
}

static int owner_compare(const void *left, const void *right)
{
    const struct mx_budget_owner *const a = left, *const b = right;
    if (a->current_bytes != b->current_bytes) return a->current_bytes < b->current_bytes ? 1 : -1;
    if (a->peak_bytes != b->peak_bytes) return a->peak_bytes < b->peak_bytes ? 1 : -1;
    const int order = strcmp(a->name, b->name);
    return order ? order : (int)a->host - (int)b->host;
}

void mx_budget_stats(struct mx_budget *budget, struct mx_budget_stats *out)
{
    memset(out, 0, sizeof *out);
    memcpy(out->device, budget->device, sizeof out->device);
    pthread_mutex_lock(&budget->lock);
    out->limit_bytes = budget->limit_bytes;
    out->current_bytes = budget->current_bytes;
    out->peak_bytes = budget->peak_bytes;
    out->host_bytes = budget->host_bytes;
    out->host_peak_bytes = budget->host_peak_bytes;
    out->live_count = budget->live_count;
    out->total_count = budget->total_count;
    out->refused_count = budget->refused_count;
    out->owner_count = budget->owner_count;
    memcpy(out->owners, budget->owners, sizeof out->owners);
    pthread_mutex_unlock(&budget->lock);
    qsort(out->owners, (size_t)out->owner_count, sizeof *out->owners, owner_compare);
}

/* A JSON string. Owners are tags of the program, so bytes above 127 are UTF-8 already and pass. */
static void json_string(struct mx_string *text, const char *value)
{
    mx_string_append(text, "\"");
    for (const char *c = value; *c; c++) {
        if ((unsigned char)*c < 0x20) {
            mx_string_append(text, "\\u%04x", (unsigned)*c);
        } else {
            mx_string_append(text, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
        }
    }
    mx_string_append(text, "\"");
}

char *mx_budget_json(struct mx_budget *budget)
{
    struct mx_budget_stats stats;
    struct mx_string text = {0};
    mx_budget_stats(budget, &stats);
    mx_string_append(&text, "{\"device\":");
    json_string(&text, stats.device);
    mx_string_append(&text,
                     ",\"limit_bytes\":%" PRIu64 ",\"current_bytes\":%" PRIu64 ",\"peak_bytes\":%" PRIu64
                     ",\"host_bytes\":%" PRIu64 ",\"host_peak_bytes\":%" PRIu64 ",\"live_count\":%" PRIu64
                     ",\"total_count\":%" PRIu64 ",\"refused_count\":%" PRIu64 ",\"owners\":[",
                     stats.limit_bytes, stats.current_bytes, stats.peak_bytes, stats.host_bytes, stats.host_peak_bytes,
                     stats.live_count, stats.total_count, stats.refused_count);
    for (int i = 0; i < stats.owner_count; i++) {
        const struct mx_budget_owner *const owner = &stats.owners[i];
        mx_string_append(&text, "%s{\"name\":", i ? "," : "");
        json_string(&text, owner->name);
        mx_string_append(&text,
                         ",\"current_bytes\":%" PRIu64 ",\"peak_bytes\":%" PRIu64 ",\"live_count\":%" PRIu64
                         ",\"total_count\":%" PRIu64 ",\"host\":%s}",
                         owner->current_bytes, owner->peak_bytes, owner->live_count, owner->total_count,
                         owner->host ? "true" : "false");
    }
    mx_string_append(&text, "]}");
    if (text.failure < 0) mx_string_release(&text); /* sets data to NULL */
    return text.data;
}

/* Whether the last window grew: step by step, or by halves. Lock held; a whole window has passed. */
static bool window_grew(const struct mx_budget *budget, uint64_t slack_bytes)
{
    const uint64_t newest = budget->steps - 1, oldest = newest - MX_BUDGET_WINDOW;
    bool each = true;
    uint64_t old_most = 0, new_least = UINT64_MAX;
    for (uint64_t step = oldest + 1; step <= newest; step++) {
        const uint64_t bytes = budget->history[step % HISTORY];
        each = each && bytes > budget->history[(step - 1) % HISTORY];
        if (step <= oldest + MX_BUDGET_WINDOW / 2) {
            if (bytes > old_most) old_most = bytes;
        } else if (bytes < new_least) {
            new_least = bytes;
        }
    }
    return each || (new_least > old_most && new_least - old_most > slack_bytes);
}

bool mx_budget_watch(struct mx_budget *budget, uint64_t slack_bytes, char *owner, uint64_t *growth_bytes)
{
    bool tell = false;
    pthread_mutex_lock(&budget->lock);
    const uint64_t step = budget->steps++;
    uint64_t *const now = budget->owner_history[step % HISTORY];
    budget->history[step % HISTORY] = budget->current_bytes + budget->host_bytes;
    for (int i = 0; i < MX_BUDGET_OWNERS; i++) now[i] = budget->owners[i].current_bytes;
    if (budget->steps > MX_BUDGET_WINDOW) {
        const bool grew = window_grew(budget, slack_bytes);
        tell = grew && step > budget->growing_until;
        if (grew) budget->growing_until = step + MX_BUDGET_WINDOW;
    }
    if (tell) {
        const uint64_t *const then = budget->owner_history[(step - MX_BUDGET_WINDOW + 1) % HISTORY];
        *growth_bytes = 0;
        for (int i = 0; i < budget->owner_count; i++) {
            if (now[i] > then[i] && now[i] - then[i] > *growth_bytes) {
                *growth_bytes = now[i] - then[i];
                memcpy(owner, budget->owners[i].name, MX_BUDGET_OWNER_BYTES);
            }
        }
    }
    pthread_mutex_unlock(&budget->lock);
    return tell;
}

void mx_budget_watch_restart(struct mx_budget *budget)
{
    pthread_mutex_lock(&budget->lock);
    budget->steps = budget->growing_until = 0;
    pthread_mutex_unlock(&budget->lock);
}

uint64_t mx_budget_recommended(uint64_t total_bytes, enum mx_device_role role)
{
    const double fraction = role == MX_ROLE_DATA ? MX_BUDGET_DATA_FRACTION : MX_BUDGET_MODEL_FRACTION;
    return (uint64_t)((double)total_bytes * fraction);
}
