/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Loads, stores and swaps of the PTX machine, and what they find: addresses that are not the launch's or not aligned,
 * values that nobody has written, and races; see ptx.h.
 *
 * A word (four bytes) remembers its last writer and its last reader: command, interval between barriers, lane, and the
 * bytes of the word. Of several lanes that read a word in one interval only that there are several is kept; an access
 * to other bytes of the word replaces the record.
 */
#include "ptx_inside.h"

#include <stdlib.h>
#include <string.h>

/* A record, from the top: 27 bits of command, 22 of interval, 11 of lane, 4 of bytes. */
#define MASK_BITS     4
#define LANE_BITS     11
#define INTERVAL_BITS 22
#define SEVERAL       2046 /* lanes */
#define SWAPS         2047 /* atomic accesses of any lanes */

static uint64_t record(uint32_t command, uint64_t interval, uint32_t lane, uint32_t mask)
{
    return (uint64_t)command << (INTERVAL_BITS + LANE_BITS + MASK_BITS) | interval << (LANE_BITS + MASK_BITS) |
           (uint64_t)lane << MASK_BITS | mask;
}

static uint32_t command_of(uint64_t record)
{
    return (uint32_t)(record >> (INTERVAL_BITS + LANE_BITS + MASK_BITS));
}

static uint64_t interval_of(uint64_t record)
{
    return record >> (LANE_BITS + MASK_BITS) & ((1u << INTERVAL_BITS) - 1);
}

static uint32_t lane_of(uint64_t record)
{
    return (uint32_t)(record >> MASK_BITS) & ((1u << LANE_BITS) - 1);
}

/* ---- races ---- */

static bool command_over(struct ptx_group *g, uint32_t command)
{
    if (command == g->ordered) return true;
    if (!g->launch->ordered(command, g->launch->command)) return false;
    g->ordered = command;
    return true;
}

/* What is wrong with an access now after that one; NULL: nothing. */
static const char *conflict(struct ptx_group *g, uint64_t before, uint64_t now)
{
    if (before == 0 || (before & now & ((1u << MASK_BITS) - 1)) == 0) return NULL;
    if (command_of(before) != command_of(now))
        return command_over(g, command_of(before)) ? NULL : "a command that may still run";
    if (lane_of(before) == SWAPS && lane_of(now) == SWAPS) return NULL;
    if (interval_of(before) < g->first_interval) return "another group";
    if (interval_of(before) == interval_of(now) && lane_of(before) != lane_of(now)) return "another lane";
    return NULL;
}

enum touch { READS, WRITES, EXCHANGES };

static void touch_word(struct ptx_group *g, const struct ptx_instruction *in, struct ptx_word *word, int lane,
                       uint32_t mask, enum touch touch)
{
    const uint64_t now = record(g->launch->command, g->interval, touch == EXCHANGES ? SWAPS : (uint32_t)lane, mask);
    const char *other = conflict(g, word->writer, now);
    if (other) {
        ptx_wrong(g, in, lane, "a race: %s what %s writes", touch == READS ? "reads" : "writes", other);
        return;
    }
    if (touch == READS) {
        const bool same = (word->reader & ~record(0, 0, SWAPS, 0)) == (now & ~record(0, 0, SWAPS, 0));
        word->reader = same && lane_of(word->reader) != (uint32_t)lane
                           ? record(g->launch->command, g->interval, SEVERAL, mask)
                           : now;
        return;
    }
    other = conflict(g, word->reader, now);
    if (other) ptx_wrong(g, in, lane, "a race: writes what %s reads", other);
    word->writer = now;
}

static bool bits_written(const uint8_t *written, size_t at, size_t bytes)
{
    for (size_t i = at; i < at + bytes; i++)
        if (!(written[i / 8] >> i % 8 & 1)) return false;
    return true;
}

static void bits_write(uint8_t *written, size_t at, size_t bytes)
{
    while (bytes > 0 && at % 8 != 0) {
        written[at / 8] |= (uint8_t)(1u << at % 8);
        at++, bytes--;
    }
    memset(written + at / 8, 0xff, bytes / 8);
    at += bytes / 8 * 8;
    if (bytes % 8 != 0) written[at / 8] |= (uint8_t)((1u << bytes % 8) - 1);
}

static void touch_shadow(struct ptx_group *g, const struct ptx_instruction *in, const struct ptx_shadow *shadow,
                         size_t at, size_t bytes, int lane, enum touch touch)
{
    if (touch != WRITES && !bits_written(shadow->written, at, bytes))
        ptx_wrong(g, in, lane, "reads what was never written");
    if (touch != READS) bits_write(shadow->written, at, bytes);
    if (bytes < 4)
        touch_word(g, in, &shadow->words[at / 4], lane, 3u << at % 4, touch);
    else
        for (size_t i = 0; i < bytes; i += 4) touch_word(g, in, &shadow->words[at / 4 + i / 4], lane, 15, touch);
}

/* ---- reaching memory ---- */

static const struct ptx_span *span_find(struct ptx_group *g, uint64_t address)
{
    const struct ptx_span *const globals = &g->entry->module->globals;
    if (address - globals->address < globals->bytes) return globals;
    for (int i = 0; i < g->launch->span_count; i++) {
        const struct ptx_span *const span = &g->launch->spans[i];
        if (address - span->address < span->bytes) return span;
    }
    return NULL;
}

static char *reach_global(struct ptx_group *g, const struct ptx_instruction *in, uint64_t address, size_t bytes,
                          int lane, enum touch touch)
{
    const struct ptx_span *span = g->span;
    if (!span || address - span->address >= span->bytes) span = g->span = span_find(g, address);
    if (!span || bytes > span->bytes - (size_t)(address - span->address)) {
        ptx_wrong(g, in, lane, "address %#llx is not in the memory of the launch", (unsigned long long)address);
        return NULL;
    }
    const size_t at = (size_t)(address - span->address);
    if (span->shadow) touch_shadow(g, in, span->shadow, at, bytes, lane, touch);
    return span->host + at;
}

/* Where the lane's value is; NULL if it must not be there. */
static char *reach(struct ptx_group *g, const struct ptx_instruction *in, int lane, enum touch touch)
{
    const uint64_t address = PTX_REGISTER(uint64_t, g, in->from[0])[lane] + (uint64_t)in->offset;
    const size_t bytes = (size_t)(in->width * in->elements);
    if (address % bytes != 0) {
        ptx_wrong(g, in, lane, "address %#llx is not aligned to %zu bytes", (unsigned long long)address, bytes);
        return NULL;
    }
    if (in->space == PTX_GLOBAL) return reach_global(g, in, address, bytes, lane, touch);
    const bool shared = in->space == PTX_SHARED;
    const size_t room = shared ? g->entry->shared_bytes : g->entry->local_bytes;
    if (address >= room || bytes > room - address) {
        ptx_wrong(g, in, lane, "address %#llx is outside of the %zu bytes of %s memory", (unsigned long long)address,
                  room, shared ? "shared" : "local");
        return NULL;
    }
    if (shared) {
        touch_shadow(g, in, &g->shared_shadow, address, bytes, lane, touch);
        return g->shared + address;
    }
    const size_t at = (size_t)lane * room + address;
    if (touch == READS && memchr(g->local_written + at, 0, bytes))
        ptx_wrong(g, in, lane, "reads what was never written");
    if (touch == WRITES) memset(g->local_written + at, 1, bytes);
    return g->local + at;
}

/* ---- instructions ---- */

/* The lanes in an order that begins anywhere and goes in either direction. */
struct order {
    int first, step, count;
};

static struct order order_choose(struct ptx_group *g)
{
    const uint32_t random = ptx_random(g);
    const int count = g->full ? g->lanes : g->count;
    return (struct order){(int)(random >> 1) % count, random & 1 ? 1 : count - 1, count};
}

static int lane_at(const struct ptx_group *g, const struct order *order, int k)
{
    const int at = (int)(((int64_t)order->first + (int64_t)k * order->step) % order->count);
    return g->full ? at : g->list[at];
}

static void value_copy(const struct ptx_instruction *in, struct ptx_group *g, int lane, char *memory, bool load)
{
    const size_t width = (size_t)in->width;
    for (int e = 0; e < in->elements; e++) {
        char *const value = g->registers + in->to[e] + (size_t)lane * in->wide[e];
        char *const place = memory + (size_t)e * width;
        if (!load) {
            memcpy(place, value, width);
            continue;
        }
        uint64_t whole = 0;
        memcpy(&whole, place, width);
        if (in->is_signed && width < 8 && whole >> (8 * width - 1)) whole |= ~0ull << 8 * width;
        memcpy(value, &whole, in->wide[e]);
    }
}

void ptx_load(const struct ptx_instruction *in, struct ptx_group *g)
{
    const struct order order = order_choose(g);
    for (int k = 0; k < order.count; k++) {
        const int lane = lane_at(g, &order, k);
        char *const memory = reach(g, in, lane, READS);
        if (memory) value_copy(in, g, lane, memory, true);
    }
}

void ptx_store(const struct ptx_instruction *in, struct ptx_group *g)
{
    const struct order order = order_choose(g);
    for (int k = 0; k < order.count; k++) {
        const int lane = lane_at(g, &order, k);
        char *const memory = reach(g, in, lane, WRITES);
        if (memory) value_copy(in, g, lane, memory, false);
    }
}

void ptx_swap(const struct ptx_instruction *in, struct ptx_group *g)
{
    const struct order order = order_choose(g);
    for (int k = 0; k < order.count; k++) {
        const int lane = lane_at(g, &order, k);
        char *const memory = reach(g, in, lane, EXCHANGES);
        if (!memory) continue;
        uint32_t expected = PTX_REGISTER(uint32_t, g, in->from[1])[lane];
        /* Other launches may run at the same time, on threads of other streams. */
        __atomic_compare_exchange_n((uint32_t *)(void *)memory, &expected, PTX_REGISTER(uint32_t, g, in->from[2])[lane],
                                    false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        PTX_REGISTER(uint32_t, g, in->to[0])[lane] = expected;
    }
}

/* ---- commands that are no kernels ---- */

const char *ptx_touch(struct ptx_shadow *shadow, size_t at, size_t bytes, enum ptx_access access, uint32_t command,
                      ptx_ordered *ordered)
{
    const bool write = access == PTX_WRITTEN;
    const char *wrong =
        access == PTX_READ && !bits_written(shadow->written, at, bytes) ? "memory that was never written" : NULL;
    uint32_t known = command;
    for (size_t i = at / 4; i <= (at + bytes - 1) / 4; i++) {
        struct ptx_word *const word = &shadow->words[i];
        for (int k = 0; k < (write ? 2 : 1); k++) {
            const uint64_t before = k == 0 ? word->writer : word->reader;
            if (before == 0 || command_of(before) == known) continue;
            if (!ordered(command_of(before), command))
                wrong = k == 0 ? "memory that a kernel, which may still run, writes"
                               : "memory that a kernel, which may still run, reads";
            known = command_of(before);
        }
        *(write ? &word->writer : &word->reader) = record(command, 0, 0, 15);
    }
    if (write) bits_write(shadow->written, at, bytes);
    return wrong;
}

void ptx_written_copy(struct ptx_shadow *to, size_t to_at, const struct ptx_shadow *from, size_t from_at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        const bool written = from->written[(from_at + i) / 8] >> (from_at + i) % 8 & 1;
        uint8_t *const bits = &to->written[(to_at + i) / 8];
        *bits = (uint8_t)((*bits & ~(1u << (to_at + i) % 8)) | (unsigned)written << (to_at + i) % 8);
    }
}
