/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The loader: threads that keep a bounded number of batches ready, in the order of training.
 *
 * Batch number 0, 1, 2 … of a run is the sampler's (epoch, step), one after the other, from where it was told to begin.
 * Each thread takes the next number, fills the slot of that number (number modulo depth) and marks it ready. The taker
 * gets them by number, whichever was ready first. So the order and the contents do not depend on the number of threads.
 *
 * Memory: all slots and readers are taken at the start. The sampler, the assembly and the dataset are borrowed; the
 * sampler may not be used by anyone else meanwhile. One thread takes and gives back.
 */
#ifndef MX_TRAIN_LOADER_H
#define MX_TRAIN_LOADER_H

#include "corpus/sampler.h"
#include "train/slot.h"

struct mx_loader;

struct mx_loader_options {
    const struct mx_assembly *assembly;
    struct mx_sampler *sampler;
    struct mx_device *device; /* that the batches will be sent to */
    struct mx_slot_capacity capacity;
    int32_t workers; /* ≥ 1 */
    int32_t depth;   /* slots: those that are held at a time and those that wait; ≥ 1 */
    uint32_t epoch;  /* where to begin … */
    uint32_t step;   /* … in the epoch; may be its number of steps: then the next one begins */
};

int mx_loader_create(const struct mx_loader_options *options, struct mx_loader **out);
/* Ends the threads after what they are at; all slots are gone then. NULL is fine. */
void mx_loader_destroy(struct mx_loader *loader);

/* The next batch; waits for it. At most `depth` are held at a time. The time spent waiting is added to *waited_ns. A
 * failure of a worker is returned here, when its batch would be due. */
int mx_loader_take(struct mx_loader *loader, struct mx_slot **slot, uint64_t *waited_ns);
/* Gives the batch that was taken first back; nothing on a device may still read it. */
void mx_loader_give(struct mx_loader *loader);

#endif
