/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which command is over when another begins: vector clocks. A stream knows that its own commands are over, in their
 * order; what a record it waited for knew; and what the host knew when it gave the command. The host is one for all its
 * threads, and knows what it has waited for: threads may tell each other, which nobody sees here.
 *
 * A command's number is its place in the stream's slot, times ORDER_SLOTS, plus the slot. A slot is used again when its
 * stream is gone, whose commands all are over then.
 */
#include "inside.h"

#define NUMBER_MAX ((1u << 27) / ORDER_SLOTS) /* ptx_memory.c keeps 27 bits */

/* Protects the next two. A slot's clock is changed by its stream's thread alone, and read by the host only while that
 * thread has nothing to do. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool taken[ORDER_SLOTS];
static struct order_clock host;
static struct order_clock clocks[ORDER_SLOTS];

static void merge(struct order_clock *into, const struct order_clock *from)
{
    for (int i = 0; i < ORDER_SLOTS; i++)
        if (from->last[i] > into->last[i]) into->last[i] = from->last[i];
}

int order_open(void)
{
    int slot = 0;
    pthread_mutex_lock(&lock);
    while (slot < ORDER_SLOTS && taken[slot]) slot++;
    if (slot < ORDER_SLOTS) {
        taken[slot] = true;
        merge(&clocks[slot], &host);
    }
    pthread_mutex_unlock(&lock);
    return slot < ORDER_SLOTS ? slot : -1;
}

void order_close(int slot)
{
    order_seen(&clocks[slot]);
    pthread_mutex_lock(&lock);
    taken[slot] = false;
    pthread_mutex_unlock(&lock);
}

uint32_t order_begin(int slot, const struct order_clock *given)
{
    struct order_clock *const clock = &clocks[slot];
    merge(clock, given);
    if (clock->last[slot] + 1 == NUMBER_MAX) fault(0, "more commands than can be numbered");
    return ++clock->last[slot] * ORDER_SLOTS + (uint32_t)slot;
}

void order_stamp(int slot, struct order_clock *out)
{
    *out = clocks[slot];
}

void order_join(int slot, const struct order_clock *clock)
{
    merge(&clocks[slot], clock);
}

void order_seen(const struct order_clock *clock)
{
    pthread_mutex_lock(&lock);
    merge(&host, clock);
    pthread_mutex_unlock(&lock);
}

void order_drained(int slot)
{
    order_seen(&clocks[slot]);
}

void order_host(struct order_clock *out)
{
    pthread_mutex_lock(&lock);
    *out = host;
    pthread_mutex_unlock(&lock);
}

bool order_over(uint32_t before, uint32_t now)
{
    return clocks[now % ORDER_SLOTS].last[before % ORDER_SLOTS] >= before / ORDER_SLOTS;
}
