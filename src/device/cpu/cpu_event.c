/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Events of the CPU backend.
 *
 * An event counts generations: each record makes a new one when it is submitted and completes it when the stream gets
 * there. Generations of one event complete in order: a record on another stream waits for the one before
 * it, so `completed` is one number and a wait for generation g can never be satisfied by a later record that overtook
 * it. This cannot deadlock, because a command waits only for commands that were submitted before it.
 *
 * Nothing polls. A stream that must wait puts its waiter into the event's list and is blocked; the thread that
 * completes the generation removes the waiter and unblocks the stream, which wakes its device's leader. Nothing else
 * unblocks a stream, so while a waiter is in a list its stream and device exist: their owner cannot have seen the work
 * complete.
 *
 * Memory: the block is counted. The creator has one reference, every queued command that names the event has one,
 * so an event may be released while it is pending.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "device/cpu/cpu.h"

/* Lock order: event->lock, then device->lock of the CPU runtime (inside mx_cpu_stream_block and _unblock). No one locks
 * an event while holding a device's lock or another event's. lock protects all members. Invariants: completed ≤
 * recorded; every waiter in the list has generation > completed, and its stream is blocked; references > 0. */
struct mx_cpu_event {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* for host threads in mx_cpu_event_sync: completed grew */
    uint64_t recorded, completed;
    uint64_t time_ns; /* when `completed` was completed */
    int references;
    struct mx_cpu_waiter *waiters;
};

/* Gives up one reference. Called with the lock held, returns with it released. */
static void event_unlock_and_drop(struct mx_cpu_event *event)
{
    const bool last = --event->references == 0;
    pthread_mutex_unlock(&event->lock);
    if (!last) return;
    pthread_cond_destroy(&event->changed);
    pthread_mutex_destroy(&event->lock);
    mx_free(event);
}

int mx_cpu_event_create(struct mx_event *event)
{
    struct mx_cpu_event *const impl = mx_alloc(1, sizeof *impl);
    if (!impl) return MX_ERR_NO_MEMORY;
    pthread_mutex_init(&impl->lock, NULL);
    pthread_cond_init(&impl->changed, NULL);
    impl->references = 1;
    event->impl = impl;
    return 0;
}

void mx_cpu_event_release(struct mx_event *event)
{
    struct mx_cpu_event *const impl = event->impl;
    pthread_mutex_lock(&impl->lock);
    event_unlock_and_drop(impl);
}

int mx_cpu_event_sync(struct mx_event *event)
{
    struct mx_cpu_event *const impl = event->impl;
    pthread_mutex_lock(&impl->lock);
    const uint64_t generation = impl->recorded;
    while (impl->completed < generation) pthread_cond_wait(&impl->changed, &impl->lock);
    pthread_mutex_unlock(&impl->lock);
    return 0;
}

bool mx_cpu_event_done(struct mx_event *event)
{
    struct mx_cpu_event *const impl = event->impl;
    pthread_mutex_lock(&impl->lock);
    const bool done = impl->completed == impl->recorded;
    pthread_mutex_unlock(&impl->lock);
    return done;
}

uint64_t mx_cpu_event_time_ns(struct mx_event *event)
{
    struct mx_cpu_event *const impl = event->impl;
    pthread_mutex_lock(&impl->lock);
    const uint64_t time_ns = impl->completed == impl->recorded ? impl->time_ns : 0;
    pthread_mutex_unlock(&impl->lock);
    return time_ns;
}

uint64_t mx_cpu_event_begin_record(struct mx_cpu_event *event)
{
    pthread_mutex_lock(&event->lock);
    event->references++;
    const uint64_t generation = ++event->recorded;
    pthread_mutex_unlock(&event->lock);
    return generation;
}

uint64_t mx_cpu_event_begin_wait(struct mx_cpu_event *event)
{
    pthread_mutex_lock(&event->lock);
    const uint64_t generation = event->completed < event->recorded ? event->recorded : 0;
    if (generation > 0) event->references++;
    pthread_mutex_unlock(&event->lock);
    return generation;
}

/* Blocks the stream until `generation` is complete. Lock held. */
static void waiter_hang(struct mx_cpu_event *event, uint64_t generation, struct mx_cpu_waiter *waiter)
{
    waiter->generation = generation;
    waiter->next = event->waiters;
    event->waiters = waiter;
    mx_cpu_stream_block(waiter->stream);
}

bool mx_cpu_event_try_wait(struct mx_cpu_event *event, uint64_t generation, struct mx_cpu_waiter *waiter)
{
    pthread_mutex_lock(&event->lock);
    if (event->completed < generation) {
        waiter_hang(event, generation, waiter);
        pthread_mutex_unlock(&event->lock);
        return false;
    }
    event_unlock_and_drop(event);
    return true;
}

bool mx_cpu_event_try_record(struct mx_cpu_event *event, uint64_t generation, struct mx_cpu_waiter *waiter)
{
    pthread_mutex_lock(&event->lock);
    if (event->completed + 1 < generation) {
        waiter_hang(event, generation - 1, waiter);
        pthread_mutex_unlock(&event->lock);
        return false;
    }
    event->completed = generation;
    event->time_ns = mx_clock_ns();
    for (struct mx_cpu_waiter **link = &event->waiters; *link;) {
        struct mx_cpu_waiter *const woken = *link;
        if (woken->generation > generation) {
            link = &woken->next;
            continue;
        }
        *link = woken->next;
        mx_cpu_stream_unblock(woken->stream); /* from here on the waiter is its stream's again */
    }
    pthread_cond_broadcast(&event->changed);
    event_unlock_and_drop(event);
    return true;
}
