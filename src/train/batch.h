/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From a host batch to a device batch: what the model takes.
 *
 * Audio becomes mel, energy and pitch there (features/extract.h), with the augmentation that was drawn for it, and is
 * normalised (features/normaliser.h); features that come ready are sent as they are, and masked if that was drawn.
 * Nothing here knows what the batch is for, so that the device that makes batches may be another one than the one that trains on
 * them.
 *
 * A builder has the memory that making needs besides the device batch. It is at work on one batch at a time; whoever
 * wants several in flight has several builders. A batch is a builder with one device batch: for whoever makes one at a
 * time.
 *
 * Memory: builders and batches own their device memory, all of it taken at the start; making takes nothing. Host batch
 * and results must stay as they are until the stream has done the work that uses them.
 */
#ifndef MX_TRAIN_BATCH_H
#define MX_TRAIN_BATCH_H

#include "features/extract.h"
#include "model/memory_plan.h"
#include "train/device_batch.h"
#include "train/host_batch.h"

struct mx_batch_options {
    struct mx_host_batch_capacity capacity;
    struct mx_normaliser normaliser;
    bool features;     /* they come ready */
    int span_max;      /* masks of an utterance, at most */
    uint64_t seed;     /* of noise */
    const char *owner; /* in the budget; NULL: "batch" */
};

/* ---- builders ---- */

struct mx_batch_builder;

/* Prepares its tables on `stream` (waits). */
int mx_batch_builder_create(struct mx_device *device, struct mx_stream *stream, const struct mx_batch_options *options,
                            struct mx_batch_builder **out);
void mx_batch_builder_destroy(struct mx_batch_builder *builder); /* its work must be complete; NULL is fine */
/* Bytes of device and host memory that it takes. */
uint64_t mx_batch_builder_bytes(const struct mx_batch_options *options);
uint64_t mx_batch_builder_host_bytes(const struct mx_batch_options *options);

/* Queues everything on `stream`. The work of the last call must be complete. An empty host batch makes an empty device
 * batch. */
int mx_batch_builder_run(struct mx_batch_builder *builder, struct mx_stream *stream, const struct mx_host_batch *host,
                         struct mx_device_batch *on_device);

/* ---- batches ---- */

struct mx_batch;

int mx_batch_create(struct mx_device *device, struct mx_stream *stream, const struct mx_batch_options *options,
                    struct mx_batch **out);
void mx_batch_destroy(struct mx_batch *batch); /* its work must be complete; NULL is fine */
/* Bytes of device memory that it takes. (Of the host: those of its builder.) */
uint64_t mx_batch_bytes(const struct mx_batch_options *options);

/* Queues everything on `stream`; *out is what the model takes, until the next call. The work of the last call must be
 * complete. The host batch must not be empty. */
int mx_batch_assemble(struct mx_batch *batch, struct mx_stream *stream, const struct mx_host_batch *host,
                      struct mx_model_batch *out);

#endif
