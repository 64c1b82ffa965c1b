/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Groups of lanes that run an entry of a PTX module; see ptx.h. Groups run one after the other, in random order.
 *
 * Lanes that stand at the same instruction do it together. Of those that stand apart the ones that are furthest behind
 * go first, so that they meet again; but now and then any others do, since nothing may depend on it.
 *
 * Memory: a machine keeps what its largest entry needed, until ptx_close.
 */
#include "ptx_inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRAY 16 /* one in 16 choices between lanes that have diverged ignores which are furthest behind */

struct ptx_machine {
    struct ptx_group group;
    size_t register_bytes, shared_bytes, local_bytes; /* that there is room for */
    unsigned *order;                                  /* of groups */
    unsigned order_room;
    char error[PTX_ERROR_BYTES];
};

uint32_t ptx_random(struct ptx_group *g)
{
    g->random = g->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(g->random >> 33);
}

void ptx_wrong(struct ptx_group *g, const struct ptx_instruction *in, int lane, const char *fmt, ...)
{
    va_list arguments;
    if (g->error[0] != '\0') return;
    const int used = snprintf(g->error, PTX_ERROR_BYTES, "%s, line %d of the PTX, group %u, lane %d: ", g->entry->name,
                              in->line, g->number, lane);
    va_start(arguments, fmt);
    vsnprintf(g->error + used, PTX_ERROR_BYTES - (size_t)used, fmt, arguments);
    va_end(arguments);
}

/* ---- memory of the machine ---- */

struct ptx_machine *ptx_open(void)
{
    return calloc(1, sizeof(struct ptx_machine));
}

static void room_free(struct ptx_machine *m)
{
    struct ptx_group *const g = &m->group;
    free(g->registers);
    free(g->shared);
    free(g->shared_shadow.words);
    free(g->shared_shadow.written);
    free(g->local);
    free(g->local_written);
    free(g->carry);
}

void ptx_close(struct ptx_machine *m)
{
    if (!m) return;
    room_free(m);
    free(m->order);
    free(m);
}

static void room_make(struct ptx_machine *m, const struct ptx_entry *e)
{
    struct ptx_group *const g = &m->group;
    const size_t local = e->local_bytes * (size_t)e->lanes;
    if (m->register_bytes >= e->register_bytes && m->shared_bytes >= e->shared_bytes && m->local_bytes >= local &&
        g->carry)
        return;
    room_free(m);
    if (m->register_bytes < e->register_bytes) m->register_bytes = e->register_bytes;
    if (m->shared_bytes < e->shared_bytes) m->shared_bytes = e->shared_bytes;
    if (m->local_bytes < local) m->local_bytes = local;
    g->registers = aligned_alloc(64, (m->register_bytes + 64) / 64 * 64);
    g->shared = aligned_alloc(64, (m->shared_bytes + 64) / 64 * 64);
    g->shared_shadow.words = calloc(m->shared_bytes / 4 + 1, sizeof *g->shared_shadow.words);
    g->shared_shadow.written = calloc(m->shared_bytes / 8 + 1, 1);
    g->local = malloc(m->local_bytes + 1);
    g->local_written = malloc(m->local_bytes + 1);
    g->carry = calloc(PTX_LANES_MAX, sizeof *g->carry);
}

static void given_fill(struct ptx_group *g, const struct ptx_given *given, uint64_t value)
{
    char *const at = g->registers + given->at;
    for (int i = 0; i < g->lanes; i++) {
        const uint64_t own = given->source == PTX_LANE ? (uint64_t)i : value;
        memcpy(at + (size_t)i * (size_t)given->width, &own, (size_t)given->width);
    }
}

/* What is known before a group runs; constants and parameters only before the first. */
static void registers_fill(struct ptx_group *g, bool first)
{
    for (int i = 0; i < g->entry->given_count; i++) {
        const struct ptx_given *const given = &g->entry->given[i];
        if (!first && given->source != PTX_GROUP) continue;
        switch (given->source) {
        case PTX_PARAMETER:
            given_fill(g, given, g->launch->values[given->value]);
            break;
        case PTX_GROUP:
            given_fill(g, given, g->number);
            break;
        case PTX_LANES:
            given_fill(g, given, (uint64_t)g->lanes);
            break;
        case PTX_GROUPS:
            given_fill(g, given, g->launch->groups);
            break;
        default:
            given_fill(g, given, given->value);
        }
    }
}

/* ---- lanes ---- */

/* The instruction whose lanes go next; -1: none can. *apart: lanes stand at different places. */
static int place_choose(struct ptx_group *g, bool *apart)
{
    int least = -1, some = -1, running = 0;
    *apart = false;
    for (int i = 0; i < g->lanes; i++) {
        if (g->state[i] != PTX_RUNS) continue;
        *apart = *apart || (least >= 0 && g->at[i] != least);
        if (least < 0 || g->at[i] < least) least = g->at[i];
        running++;
    }
    if (*apart && ptx_random(g) % STRAY == 0) {
        int skip = (int)(ptx_random(g) % (uint32_t)running);
        for (int i = 0; i < g->lanes && some < 0; i++)
            if (g->state[i] == PTX_RUNS && skip-- == 0) some = g->at[i];
        return some;
    }
    return least;
}

static void lanes_at(struct ptx_group *g, int at)
{
    g->count = 0;
    for (int i = 0; i < g->lanes; i++)
        if (g->state[i] == PTX_RUNS && g->at[i] == at) g->list[g->count++] = (uint16_t)i;
    g->full = g->count == g->lanes;
}

static bool guard_holds(const struct ptx_group *g, const struct ptx_instruction *in, int lane)
{
    return in->guard < 0 || (PTX_REGISTER(uint32_t, g, in->guard)[lane] != 0) != in->negated;
}

/* Does an instruction only in those lanes whose guard holds. */
static void guarded(struct ptx_group *g, const struct ptx_instruction *in)
{
    const bool full = g->full;
    const int count = g->count;
    uint16_t all[PTX_LANES_MAX];
    memcpy(all, g->list, (size_t)count * sizeof *all);
    g->count = 0;
    for (int k = 0; k < count; k++)
        if (guard_holds(g, in, all[k])) g->list[g->count++] = all[k];
    g->full = g->count == g->lanes;
    if (g->count > 0) in->work(in, g);
    g->full = full;
    g->count = count;
    memcpy(g->list, all, (size_t)count * sizeof *all);
}

/* All lanes of the list go to one place; or each to its own, and false. */
static bool branch(struct ptx_group *g, const struct ptx_instruction *in, int *at)
{
    const int target = in->target, after = *at + 1;
    int taken = 0;
    if (in->guard < 0) {
        *at = target;
        return true;
    }
    for (int k = 0; k < g->count; k++) taken += guard_holds(g, in, g->list[k]);
    if (taken == 0 || taken == g->count) {
        *at = taken == 0 ? after : target;
        return true;
    }
    for (int k = 0; k < g->count; k++) g->at[g->list[k]] = guard_holds(g, in, g->list[k]) ? target : after;
    return false;
}

/* The earliest instruction at which lanes other than those at `at` stand; INT32_MAX: there are none. */
static int others_least(const struct ptx_group *g, int at)
{
    int least = INT32_MAX;
    for (int i = 0; i < g->lanes; i++)
        if (g->state[i] == PTX_RUNS && g->at[i] != at && g->at[i] < least) least = g->at[i];
    return least;
}

static void list_put(struct ptx_group *g, int at, enum ptx_state state)
{
    for (int k = 0; k < g->count; k++) {
        g->at[g->list[k]] = at;
        g->state[g->list[k]] = state;
    }
}

/* Runs the lanes of the list until they part, wait, end, or reach others. */
static void list_run(struct ptx_group *g, int at, bool apart)
{
    const struct ptx_instruction *const code = g->entry->code;
    const int others = apart ? others_least(g, at) : INT32_MAX;
    const bool behind = at < others;
    for (;;) {
        const struct ptx_instruction *const in = &code[at];
        switch (in->kind) {
        case PTX_WORK:
        case PTX_MEMORY:
            if (in->guard < 0)
                in->work(in, g);
            else
                guarded(g, in);
            at++;
            break;
        case PTX_BRANCH:
            if (!branch(g, in, &at)) return;
            break;
        case PTX_BARRIER:
            if (in->guard >= 0) ptx_wrong(g, in, g->list[0], "a barrier with a guard");
            list_put(g, at, PTX_WAITS);
            return;
        default:
            if (in->guard < 0) {
                list_put(g, at, PTX_ENDED);
                return;
            }
            for (int k = 0; k < g->count; k++) {
                const int lane = g->list[k];
                g->at[lane] = at + 1;
                if (guard_holds(g, in, lane)) g->state[lane] = PTX_ENDED;
            }
            return;
        }
        if (g->error[0] != '\0') return;
        /* Strays stop at once, others where they meet or pass somebody. */
        if (apart && (!behind || at >= others)) {
            list_put(g, at, PTX_RUNS);
            return;
        }
    }
}

/* No lane runs: all wait at one barrier, which opens, or have ended. false: they have ended, or something is wrong. */
static bool barrier_open(struct ptx_group *g)
{
    int waits = 0, first = -1;
    for (int i = 0; i < g->lanes; i++) {
        if (g->state[i] != PTX_WAITS) continue;
        if (first < 0) first = i;
        waits++;
        if (g->at[i] != g->at[first])
            ptx_wrong(g, &g->entry->code[g->at[i]], i, "a barrier, while lane %d is at the one of line %d", first,
                      g->entry->code[g->at[first]].line);
    }
    if (waits == 0 || g->error[0] != '\0') return false;
    if (waits < g->lanes) {
        ptx_wrong(g, &g->entry->code[g->at[first]], first, "a barrier that %d of %d lanes do not reach",
                  g->lanes - waits, g->lanes);
        return false;
    }
    for (int i = 0; i < g->lanes; i++) {
        g->at[i]++;
        g->state[i] = PTX_RUNS;
    }
    g->interval++;
    return true;
}

static void group_run(struct ptx_group *g)
{
    const struct ptx_entry *const e = g->entry;
    memset(g->shared_shadow.words, 0, (e->shared_bytes + 3) / 4 * sizeof *g->shared_shadow.words);
    memset(g->shared_shadow.written, 0, (e->shared_bytes + 7) / 8);
    memset(g->local_written, 0, e->local_bytes * (size_t)e->lanes);
    g->first_interval = ++g->interval;
    for (int i = 0; i < g->lanes; i++) {
        g->at[i] = 0;
        g->state[i] = PTX_RUNS;
    }
    while (g->error[0] == '\0') {
        bool apart;
        const int at = place_choose(g, &apart);
        if (at < 0) {
            if (!barrier_open(g)) return;
            continue;
        }
        lanes_at(g, at);
        list_run(g, at, apart);
    }
}

/* ---- launches ---- */

static bool order_make(struct ptx_machine *m, unsigned groups)
{
    if (m->order_room < groups) {
        free(m->order);
        m->order = malloc(groups * sizeof *m->order);
        m->order_room = m->order ? groups : 0;
        if (!m->order) return false;
    }
    for (unsigned i = 0; i < groups; i++) m->order[i] = i;
    for (unsigned i = groups; i > 1; i--) {
        const unsigned k = ptx_random(&m->group) % i, keep = m->order[k];
        m->order[k] = m->order[i - 1];
        m->order[i - 1] = keep;
    }
    return true;
}

bool ptx_run(struct ptx_machine *m, const struct ptx_launch *launch, char error[PTX_ERROR_BYTES])
{
    struct ptx_group *const g = &m->group;
    room_make(m, launch->entry);
    g->launch = launch;
    g->entry = launch->entry;
    g->lanes = launch->entry->lanes;
    g->span = NULL;
    g->ordered = 0;
    g->interval = 0;
    g->random = launch->seed * 2 + 1;
    g->error = error;
    error[0] = '\0';
    if (!order_make(m, launch->groups)) {
        snprintf(error, PTX_ERROR_BYTES, "no memory for %u groups", launch->groups);
        return false;
    }
    for (unsigned i = 0; i < launch->groups && error[0] == '\0'; i++) {
        g->number = m->order[i];
        registers_fill(g, i == 0);
        group_run(g);
        if (g->interval >> 22 != 0) snprintf(error, PTX_ERROR_BYTES, "%s: too many barriers to watch", g->entry->name);
    }
    return error[0] == '\0';
}
