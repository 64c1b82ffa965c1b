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
 * callers that want several in flight use several builders. A struct mx_batch is a builder with one device batch, for
 * callers that need one batch at a time.
 *
 * Memory: builders and batches own their device memory and allocate all of it when created; making a batch allocates
 * nothing. The host batch and the results must not change until the stream has finished the work that uses them.
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
    bool features;                      /* precomputed: the corpus supplies them */
    int span_max;                       /* most masks of an utterance */
    uint64_t seed;                      /* for noise */
    struct mx_segment_options segments; /* those of the source; a count of 0: they are not made */
    const char *owner;                  /* in the budget; NULL: "batch" */
};

/* ---- builders ---- */

struct mx_batch_builder;

/* Prepares its tables on `stream` (waits). */
int mx_batch_builder_create(struct mx_device *device, struct mx_stream *stream, const struct mx_batch_options *options,
                            struct mx_batch_builder **out);
void mx_batch_builder_destroy(struct mx_batch_builder *builder); /* its work must be complete; NULL is fine */
/* Bytes of device and of host memory that a builder needs. */
uint64_t mx_batch_builder_bytes(const struct mx_batch_options *options);
uint64_t mx_batch_builder_host_bytes(const struct mx_batch_options *options);

/* Queues everything on `stream`. The work of the previous call must be complete. An empty host batch gives an empty
 * device batch. */
int mx_batch_builder_run(struct mx_batch_builder *builder, struct mx_stream *stream, const struct mx_host_batch *host,
                         struct mx_device_batch *on_device);

/* ---- batches ---- */

struct mx_batch;

int mx_batch_create(struct mx_device *device, struct mx_stream *stream, const struct mx_batch_options *options,
                    struct mx_batch **out);
void mx_batch_destroy(struct mx_batch *batch); /* its work must be complete; NULL is fine */
/* Bytes of device memory that a batch needs. (Host memory: that of its builder.) */
uint64_t mx_batch_bytes(const struct mx_batch_options *options);

/* Queues everything on `stream`; *out is the model's input and is valid until the next call. The work of the previous
 * call must be complete. The host batch must not be empty. */
int mx_batch_assemble(struct mx_batch *batch, struct mx_stream *stream, const struct mx_host_batch *host,
                      struct mx_model_batch *out);
/* The batch that the last call made, for its segments. */
const struct mx_device_batch *mx_batch_device(const struct mx_batch *batch);

#endif
