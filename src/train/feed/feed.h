/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The feed: the work of the pipeline's stages (myxtts/pipeline.h) when they make training batches, and the slots they
 * work in.
 *
 *     draw       the sampler's next batch                                → a list of utterances
 *     load       recordings or features from the corpus (host_batch.h)          → a host slot
 *     process    features, augmentation, normalisation (batch.h)          → a batch on the data device
 *     transfer   one copy (device_batch.h), or with work sharing both parts     → one on the model device, and its twin
 *
 * Batches 0, 1, 2 … of a run are the sampler's (epoch, step) pairs in order, from where the feed was set to begin. The
 * contents of a batch depend on seed, epoch and step only. The train stage gets a struct mx_device_batch.
 *
 * Memory: mx_feed_create allocates everything; mx_feed_memory_plan reports how much. Extracting features needs more
 * memory than their results do: that memory exists once for each batch that the data device works ahead
 * (MX_PIPELINE_DEPTH), not once for each slot. Sampler, source, options and devices are borrowed and must outlive the
 * feed, and the feed must outlive its pipeline. Nobody else may use the sampler meanwhile.
 */
#ifndef MX_TRAIN_FEED_H
#define MX_TRAIN_FEED_H

#include "corpus/sampler.h"
#include "myxtts/pipeline.h"
#include "train/feed/batch.h"

struct mx_feed;

struct mx_feed_options {
    const struct mx_batch_source *source;
    struct mx_sampler *sampler;
    struct mx_device *data, *model; /* may be the same device: then there are no model slots */
    struct mx_host_batch_capacity capacity;
    struct mx_normaliser normaliser;
    uint64_t seed;
    bool features; /* precomputed: the corpus supplies them */
    bool fixed;    /* sizes and addresses do not depend on the batch */
    struct mx_augment_options augment;
    struct mx_segment_options segments;          /* those of the source */
    int32_t workers;                             /* most threads that load */
    int32_t host_slots, data_slots, model_slots; /* sizes of the rings; model_slots is 0 on one device */
    /* Work sharing: each model slot has a twin on the data device. Two devices only. */
    bool shared;
    struct mx_model_capacity twin; /* of each twin */
    int32_t step_batches;          /* batches per step */
};

/* Total bytes of each kind of memory. */
struct mx_feed_memory_plan {
    uint64_t host_slots;                                            /* owner "host slots", on the host */
    uint64_t data_slots;                                            /* "data slots", on the data device */
    uint64_t features;                                              /* "features", on the data device */
    uint64_t features_host;                                         /* on the host */
    uint64_t model_slots;                                           /* "model slots", on the model device */
    uint64_t replica_slots;                                         /* "replica slots": the twins, on the data device */
    uint64_t data_slots_host, model_slots_host, replica_slots_host; /* on the host: offsets of divided batches */
};

void mx_feed_memory_plan(const struct mx_feed_options *options, struct mx_feed_memory_plan *out);
int mx_feed_create(const struct mx_feed_options *options, struct mx_feed **out);
void mx_feed_destroy(struct mx_feed *feed); /* NULL is fine */

/* Makes batch 0 this step of this epoch. `step` may equal the epoch's number of steps: then the next epoch begins. Call
 * it before the pipeline is created. */
void mx_feed_begin(struct mx_feed *feed, uint32_t epoch, uint32_t step);
/* Sets the twins' share of the batches; batch 0 belongs to step `step`. The list is copied. Points added later must be
 * for steps of which no batch has been divided yet (mx_feed_share_step). Call it from the thread that takes batches. */
void mx_feed_share(struct mx_feed *feed, int64_t step, const struct mx_shares *shares);
/* The first step whose batches cannot have been divided yet, at a moment when all batches of the steps before `step`
 * have been given back and none of that step's. */
int64_t mx_feed_share_step(const struct mx_feed *feed, int64_t step);
/* Waiting for a batch ends when *stop is set; NULL: never. The flag is read by the thread that takes batches. */
void mx_feed_watch(struct mx_feed *feed, const atomic_bool *stop);
/* Sets devices, work, slots and workers in the pipeline's options; leaves everything else in them unchanged. */
void mx_feed_connect(struct mx_feed *feed, struct mx_pipeline_options *pipeline);

#endif
