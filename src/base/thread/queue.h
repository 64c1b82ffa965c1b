/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A bounded, closable queue of pointers for any number of producers and consumers.
 *
 * Items are borrowed: the queue never frees them. Closing wakes everyone: pushes fail at once, pops
 * drain what is left and then fail. All memory is taken by mx_queue_create.
 */
#ifndef MX_BASE_QUEUE_H
#define MX_BASE_QUEUE_H

#include <stdint.h>

#define MX_QUEUE_FOREVER UINT64_MAX

struct mx_queue;

int mx_queue_create(uint32_t capacity, struct mx_queue **out); /* capacity 1 … 2^20 */
void mx_queue_destroy(struct mx_queue *queue);                 /* no thread may still be using it; NULL is fine */

/* 0, MX_ERR_CLOSED or MX_ERR_TIMEOUT (no message is formatted for these two: they are ordinary outcomes).
 * timeout_ns 0 tries once. *waited_ns (may be NULL) gets the time spent blocked. */
int mx_queue_push(struct mx_queue *queue, void *item, uint64_t timeout_ns, uint64_t *waited_ns);
int mx_queue_pop(struct mx_queue *queue, void **item, uint64_t timeout_ns, uint64_t *waited_ns);

void mx_queue_close(struct mx_queue *queue); /* may be called more than once, from any thread */
uint32_t mx_queue_count(struct mx_queue *queue);

#endif
