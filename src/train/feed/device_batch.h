/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A device batch: one batch on a device, in the form the model takes, in one block.
 *
 * All arrays of the batch lie end to end in one buffer, each as long as the batch needs it, so moving it to another
 * device is one copy of the bytes in use. With `fixed` every array has room for the largest batch and the whole buffer
 * moves: then no address and no size depends on the batch. What the host must know about the batch (which one it is,
 * which utterances it holds) moves along beside the buffer.
 *
 * The segments for the vocoder (segment.h) follow the arrays of the acoustic network in the same buffer: their mel,
 * pitch and magnitudes. What they are is known to the host.
 *
 * With work sharing (share_policy.h) a batch on the model device has a twin on the data device, and the sequences are
 * divided between the two: one contiguous run of sequences stays on the data device, in the twin; those before and
 * after it go to the model device. All segments go to the model device, too.
 *
 * Memory: a device batch owns its buffer and lists of utterances and segments, all allocated when it is created, and,
 * if it is a part or will be divided, offsets on the host. The twin is borrowed.
 */
#ifndef MX_TRAIN_DEVICE_BATCH_H
#define MX_TRAIN_DEVICE_BATCH_H

#include "model/memory_plan.h"
#include "train/feed/host_batch.h"
#include "train/share_policy.h"
#include "vocoder/vocoder.h"

struct mx_device_batch_options {
    const struct mx_recipe *recipe; /* of the frames; NULL: the default */
    struct mx_model_capacity capacity;
    struct mx_vocoder_capacity vocoder; /* of the segments; no sequences: there are none */
    bool segments_only; /* of batches of crops: no arrays for the acoustic network, whose counts are then 0 */
    bool fixed;
    bool offsets;      /* also kept on the host: for a batch that will be divided, and for the parts */
    const char *owner; /* in the budget */
};

struct mx_device_batch {
    /* which batch it is, as the sampler counts */
    uint32_t epoch, step;
    /* contents */
    int32_t count;        /* utterances; 0 if none was usable: then nothing is on the device */
    int32_t left_out;     /* unusable utterances of the batch */
    uint32_t *utterances; /* [count] */
    struct mx_model_batch batch;
    struct mx_vocoder_batch vocoder; /* its sequences are the segments; loss_frames is 0 */
    struct mx_segment *segments;     /* [segment_count] */
    int32_t segment_count;
    size_t used_bytes; /* of the buffer */
    int32_t *offsets;  /* [3, sequences + 1], tokens, frames, references; NULL: not kept */
    struct mx_device_batch *twin;
    /* internal */
    struct mx_device_batch_options options;
    struct mx_device *device;
    struct mx_buffer *buffer;
    size_t segments_at;    /* where the arrays of the segments begin in the buffer; they end at used_bytes */
    struct mx_slice spare; /* the size of `offsets`: holds the parts' offsets on their way to another device */
};

int mx_device_batch_create(struct mx_device *device, const struct mx_device_batch_options *options,
                           struct mx_device_batch **out);
void mx_device_batch_destroy(struct mx_device_batch *on_device); /* its work must be complete; NULL is fine */
/* Bytes of device memory that a device batch needs. */
uint64_t mx_device_batch_bytes(const struct mx_device_batch_options *options);
uint64_t mx_device_batch_host_bytes(const struct mx_device_batch_options *options); /* the same for the host */

/* Lays it out for the batch in `host`: sets everything except the contents of the arrays. */
void mx_device_batch_lay(struct mx_device_batch *on_device, const struct mx_host_batch *host);
/* Queues the copy of the whole batch to one with the same options; does not wait. */
int mx_device_batch_move(struct mx_stream *stream, const struct mx_device_batch *from, struct mx_device_batch *to);
/* The same for a batch with a twin: the twin gets the sequences in `part`, `to` gets all others. */
int mx_device_batch_divide(struct mx_stream *stream, const struct mx_device_batch *from, struct mx_device_batch *to,
                           struct mx_share_part part);

#endif
