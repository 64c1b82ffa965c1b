/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Turns a host batch into a device batch: what the model takes.
 *
 * On the device, audio becomes mel, energy and pitch (features/extract.h) with the augmentation that was drawn for it,
 * and is then normalised (features/normaliser.h). Precomputed features are copied unchanged, and masked if that was
 * drawn. Segments for the vocoder (segment.h) get the same sound, before anything is masked: its mel, which may be
 * blurred, its pitch in Hz, and the logarithms of its magnitudes. Nothing here knows what the batch is for, so one device can make batches for another that trains on them.
 *
 * A builder holds the working memory for this, apart from the device batch itself. It works on one batch at a time;
 * callers that want several in flight use several builders. A builder can have a device batch of its own, for callers
 * that need one batch at a time.
 *
 * Memory: builders and batches own their device memory and allocate all of it when created; making a batch allocates
 * nothing. The host batch and the results must not change until the stream has finished the work that uses them.
 */
#ifndef MX_TRAIN_BATCH_H
#define MX_TRAIN_BATCH_H

#include "features/extract.h"
#include "model/memory_plan.h"
#include "train/feed/device_batch.h"
#include "train/feed/host_batch.h"

struct mx_batch_builder_options {
    struct mx_host_batch_capacity capacity;
    struct mx_normaliser normaliser;
    bool features;                      /* precomputed: the corpus supplies them */
    int span_max;                       /* most masks of an utterance */
    uint64_t seed;                      /* for noise */
    struct mx_segment_options segments; /* those of the source; a count of 0: they are not made */
    bool own;                           /* with a device batch of its own */
    const char *owner;                  /* in the budget; NULL: "batch" */
};

struct mx_batch_builder;

/* Prepares its tables on `stream` (waits). */
int mx_batch_builder_create(struct mx_device *device, struct mx_stream *stream,
                            const struct mx_batch_builder_options *options, struct mx_batch_builder **out);
void mx_batch_builder_destroy(struct mx_batch_builder *builder); /* its work must be complete; NULL is fine */
/* Bytes of device and of host memory that a builder needs. */
uint64_t mx_batch_builder_bytes(const struct mx_batch_builder_options *options);
uint64_t mx_batch_builder_host_bytes(const struct mx_batch_builder_options *options);

/* Queues everything on `stream`, into the builder's own batch if `on_device` is NULL. The work of the previous call must
 * be complete. An empty host batch gives an empty device batch. */
int mx_batch_builder_run(struct mx_batch_builder *builder, struct mx_stream *stream, const struct mx_host_batch *host,
                         struct mx_device_batch *on_device);
/* The builder's own device batch; it changes with each run into it. */
struct mx_device_batch *mx_batch_builder_own(const struct mx_batch_builder *builder);

#endif
