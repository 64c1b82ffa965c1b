/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One batch on the device: from a slot on the host to what the model takes.
 *
 * Audio becomes mel, energy and pitch there (features/extract.h) and is normalised (normaliser.h); features that come
 * ready are sent as they are. Nothing here knows what the batch is for, so that the device that makes batches may be
 * another one than the one that trains on them.
 *
 * Memory: a batch owns its device memory, all of it taken at the start; assembling takes nothing. It holds one batch at
 * a time; slot and results must stay as they are until the stream has done the work that uses them.
 */
#ifndef MX_TRAIN_BATCH_H
#define MX_TRAIN_BATCH_H

#include "features/extract.h"
#include "model/plan.h"
#include "train/slot.h"

struct mx_batch;

struct mx_batch_options {
    struct mx_slot_capacity capacity;
    struct mx_normaliser normaliser;
    bool features; /* they come ready */
};

int mx_batch_create(struct mx_device *device, struct mx_stream *stream, const struct mx_batch_options *options,
                    struct mx_batch **out);
void mx_batch_destroy(struct mx_batch *batch); /* its work must be complete; NULL is fine */
/* Bytes of device memory that it takes. */
uint64_t mx_batch_bytes(const struct mx_batch_options *options);

/* Queues everything on `stream`; *out is what the model takes, until the next call. The work of the last call must be
 * complete. The slot must not be empty. */
int mx_batch_assemble(struct mx_batch *batch, struct mx_stream *stream, const struct mx_slot *slot,
                      struct mx_model_batch *out);

#endif
