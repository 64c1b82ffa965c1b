/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A bounded, closable multi-producer multi-consumer queue; see queue.h.
 *
 * It is a ring under one mutex with two conditions. Items are whole batches or files, thousands a second at most,
 * so a lock costs nothing here and blocking with time limits comes for free.
 *
 * Memory: one block for the queue and its ring, taken by mx_queue_create. Items belong to the callers.
 */
#include "base/thread/queue.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "myxtts/error.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#define CAPACITY_MAX (UINT32_C(1) << 20)

/* Invariants under `lock`: count <= capacity; items[(head + i) % capacity] for i < count are the queued items, oldest
 * first; closed never goes back to false. `capacity` is constant. A thread that waits on not_full or not_empty is
 * woken by a change that can end its wait: a pop signals not_full, a push not_empty, a close broadcasts both. */
struct mx_queue {
    pthread_mutex_t lock;
    pthread_cond_t not_full, not_empty;
    uint32_t capacity, head, count;
    bool closed;
    void *items[];
};

int mx_queue_create(uint32_t capacity, struct mx_queue **out)
{
    int rc = 0, made = 0, error = 0;
    pthread_condattr_t attributes;
    *out = NULL;
    if (capacity < 1 || capacity > CAPACITY_MAX) {
        return MX_FAIL(MX_ERR_ARGUMENT, "choose a queue length from 1 to 1048576", "queue length %u is out of range",
                       capacity);
    }
    struct mx_queue *queue = mx_alloc(1, sizeof *queue + capacity * sizeof queue->items[0]);
    if (!queue) return MX_ERR_NO_MEMORY;
    queue->capacity = capacity;

    error = pthread_condattr_init(&attributes);
    if (error == 0) {
        /* Time limits must not jump with the wall clock. */
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        if ((error = pthread_mutex_init(&queue->lock, NULL)) == 0) made++;
        if (error == 0 && (error = pthread_cond_init(&queue->not_full, &attributes)) == 0) made++;
        if (error == 0 && (error = pthread_cond_init(&queue->not_empty, &attributes)) == 0) made++;
        pthread_condattr_destroy(&attributes);
    }
    if (error) {
        rc = MX_FAIL(MX_ERR_NO_MEMORY, "close other programs", "cannot make the lock of a queue: %s", strerror(error));
        if (made > 1) pthread_cond_destroy(&queue->not_full);
        if (made > 0) pthread_mutex_destroy(&queue->lock);
        mx_free(queue);
        return rc;
    }
    *out = queue;
    return 0;
}

void mx_queue_destroy(struct mx_queue *queue)
{
    if (!queue) return;
    pthread_cond_destroy(&queue->not_empty);
    pthread_cond_destroy(&queue->not_full);
    pthread_mutex_destroy(&queue->lock);
    mx_free(queue);
}

/* With the lock held: waits until the queue holds at least one item (`want_item`) or has at least one free place, is
 * closed, or the time is over. Whether it may proceed is for the caller to see. */
static void wait_for_change(struct mx_queue *queue, bool want_item, uint64_t timeout_ns, uint64_t *waited_ns)
{
    const uint32_t blocked_at = want_item ? 0 : queue->capacity;
    pthread_cond_t *changed = want_item ? &queue->not_empty : &queue->not_full;
    if (waited_ns) *waited_ns = 0;
    if (queue->count != blocked_at || queue->closed || timeout_ns == 0) return;

    const uint64_t start_ns = mx_clock_ns();
    if (timeout_ns >= (uint64_t)INT64_MAX - start_ns) {
        while (queue->count == blocked_at && !queue->closed) pthread_cond_wait(changed, &queue->lock);
    } else {
        const uint64_t until_ns = start_ns + timeout_ns;
        const struct timespec until = mx_clock_timespec(until_ns);
        int error = 0;
        while (queue->count == blocked_at && !queue->closed && error != ETIMEDOUT) {
            error = pthread_cond_timedwait(changed, &queue->lock, &until);
        }
    }
    if (waited_ns) *waited_ns = mx_clock_ns() - start_ns;
}

int mx_queue_push(struct mx_queue *queue, void *item, uint64_t timeout_ns, uint64_t *waited_ns)
{
    int rc = 0;
    pthread_mutex_lock(&queue->lock);
    wait_for_change(queue, false, timeout_ns, waited_ns);
    if (queue->closed) {
        rc = MX_ERR_CLOSED;
    } else if (queue->count == queue->capacity) {
        rc = MX_ERR_TIMEOUT;
    } else {
        queue->items[(queue->head + queue->count) % queue->capacity] = item;
        queue->count++;
        pthread_cond_signal(&queue->not_empty);
    }
    pthread_mutex_unlock(&queue->lock);
    return rc;
}

int mx_queue_pop(struct mx_queue *queue, void **item, uint64_t timeout_ns, uint64_t *waited_ns)
{
    int rc = 0;
    *item = NULL;
    pthread_mutex_lock(&queue->lock);
    wait_for_change(queue, true, timeout_ns, waited_ns);
    if (queue->count > 0) {
        *item = queue->items[queue->head];
        queue->head = (queue->head + 1) % queue->capacity;
        queue->count--;
        pthread_cond_signal(&queue->not_full);
    } else {
        rc = queue->closed ? MX_ERR_CLOSED : MX_ERR_TIMEOUT;
    }
    pthread_mutex_unlock(&queue->lock);
    return rc;
}

void mx_queue_close(struct mx_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->not_full);
    pthread_cond_broadcast(&queue->not_empty);
    pthread_mutex_unlock(&queue->lock);
}

uint32_t mx_queue_count(struct mx_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    const uint32_t count = queue->count;
    pthread_mutex_unlock(&queue->lock);
    return count;
}
