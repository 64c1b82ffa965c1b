/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A device batch: one batch on a device, as the model takes it, in one piece.
 *
 * All arrays of the batch lie end to end in one buffer, each as long as the batch needs it, so that it moves to another
 * device as one copy of the bytes that are used. With `fixed` every array has the room of the largest batch and the
 * whole buffer moves: then no address and no size depends on the batch. What the host has to know of the batch (which
 * one it is, who is in it) moves along beside the buffer.
 *
 * With work sharing (share_policy.h) a batch on the model device has a twin on the data device, and what moves is
 * divided between the two: some sequences that follow each other stay on the data device, as the twin's, the others go
 * over, those before them and those after them.
 *
 * Memory: a device batch owns its buffer and a list of utterances, taken at the start, and if it is a part or to be
 * divided, offsets on the host. The twin is borrowed.
 */
#ifndef MX_TRAIN_DEVICE_BATCH_H
#define MX_TRAIN_DEVICE_BATCH_H

#include "model/memory_plan.h"
#include "train/host_batch.h"
#include "train/share_policy.h"

struct mx_device_batch_options {
    struct mx_model_capacity capacity;
    bool fixed;
    bool offsets;      /* are kept on the host, too: for a batch to be divided, and for the parts */
    const char *owner; /* in the budget */
};

struct mx_device_batch {
    /* which batch it is: the sampler's words */
    uint32_t epoch, step;
    /* what is in it */
    int32_t count;        /* utterances; 0 if none could be used: then nothing is on the device */
    int32_t left_out;     /* utterances of the batch that could not be used */
    uint32_t *utterances; /* [count] */
    struct mx_model_batch batch;
    size_t used_bytes; /* of the buffer */
    int32_t *offsets;  /* [3, sequences + 1], tokens, frames, references; NULL: not kept */
    struct mx_device_batch *twin;
    /* its own */
    struct mx_device_batch_options options;
    struct mx_device *device;
    struct mx_buffer *buffer;
    struct mx_slice spare; /* the size of `offsets`: where those of its parts lie on their way to another device */
};

int mx_device_batch_create(struct mx_device *device, const struct mx_device_batch_options *options,
                           struct mx_device_batch **out);
void mx_device_batch_destroy(struct mx_device_batch *on_device); /* its work must be complete; NULL is fine */
/* Bytes of device memory that it takes. */
uint64_t mx_device_batch_bytes(const struct mx_device_batch_options *options);
uint64_t mx_device_batch_host_bytes(const struct mx_device_batch_options *options); /* and of the host */

/* Makes it the batch that is in `host`: everything but the contents of the arrays. */
void mx_device_batch_lay(struct mx_device_batch *on_device, const struct mx_host_batch *host);
/* Queues the copy of the whole batch, to one of the same options; waits for nothing. */
int mx_device_batch_move(struct mx_stream *stream, const struct mx_device_batch *from, struct mx_device_batch *to);
/* The same for one with a twin: the twin gets the sequences `part`, `to` all others. */
int mx_device_batch_divide(struct mx_stream *stream, const struct mx_device_batch *from, struct mx_device_batch *to,
                           struct mx_share_part part);

#endif
