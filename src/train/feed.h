/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The feed: what the stages of the pipeline (myxtts/pipeline.h) do to make training batches, and the slots they do it
 * in.
 *
 *     draw       the sampler's next batch                                → a list of utterances
 *     load       recordings or features from the corpus (host_batch.h)          → a host slot
 *     process    features, augmentation, normalisation (batch.h)          → a batch on the data device
 *     transfer   one copy (device_batch.h), or with work sharing both parts     → one on the model device, and its twin
 *
 * Batch number 0, 1, 2 … of a run is the sampler's (epoch, step), one after the other, from where it was told to begin.
 * What is in a batch is a function of seed, epoch and step alone. The train stage gets struct mx_device_batch.
 *
 * Memory: everything is taken by mx_feed_create, and mx_feed_memory_plan tells how much. Extraction of features needs more
 * memory than its results: it exists once for each batch that the data device works ahead (MX_PIPELINE_DEPTH), not once
 * for each slot. Sampler, source, options and devices are borrowed and must outlive the feed, the feed its pipeline;
 * the sampler may not be used by anyone else meanwhile.
 */
#ifndef MX_TRAIN_FEED_H
#define MX_TRAIN_FEED_H

#include "corpus/sampler.h"
#include "myxtts/pipeline.h"
#include "train/batch.h"

struct mx_feed;

struct mx_feed_options {
    const struct mx_batch_source *source;
    struct mx_sampler *sampler;
    struct mx_device *data, *model; /* the same one: there are no model slots */
    struct mx_host_batch_capacity capacity;
    struct mx_normaliser normaliser;
    uint64_t seed;
    bool features; /* they come ready from the corpus */
    bool fixed;    /* sizes and addresses do not depend on the batch */
    struct mx_augment_options augment;
    int32_t workers;                             /* threads that load, at most */
    int32_t host_slots, data_slots, model_slots; /* of each ring; model_slots 0 on one device */
    /* Work sharing: each model slot has a twin on the data device. Two devices only. */
    bool shared;
    struct mx_model_capacity twin; /* of each */
    int32_t step_batches;          /* batches of a step */
};

/* Bytes of each kind of memory, all of the kind together. */
struct mx_feed_memory_plan {
    uint64_t host_slots;                                            /* owner "host slots", of the host */
    uint64_t data_slots;                                            /* "data slots", of the data device */
    uint64_t features;                                              /* "features", of the data device … */
    uint64_t features_host;                                         /* … and of the host */
    uint64_t model_slots;                                           /* "model slots", of the model device */
    uint64_t replica_slots;                                         /* "replica slots": the twins, of the data device */
    uint64_t data_slots_host, model_slots_host, replica_slots_host; /* of the host: offsets of divided batches */
};

void mx_feed_memory_plan(const struct mx_feed_options *options, struct mx_feed_memory_plan *out);
int mx_feed_create(const struct mx_feed_options *options, struct mx_feed **out);
void mx_feed_destroy(struct mx_feed *feed); /* NULL is fine */

/* Batch 0 will be this step of this epoch; the step may be the number of steps of the epoch: then the next one begins.
 * Before the pipeline is made. */
void mx_feed_begin(struct mx_feed *feed, uint32_t epoch, uint32_t step);
/* Which part of the batches is the twins': batch 0 belongs to step `step`. The list is copied; points that are added
 * later must be of steps that no batch has been divided for (mx_feed_share_step). From the thread that takes. */
void mx_feed_share(struct mx_feed *feed, int64_t step, const struct mx_shares *shares);
/* The first step whose batches cannot have been divided when all batches of the steps before `step` have been given
 * back, and none of that step's. */
int64_t mx_feed_share_step(const struct mx_feed *feed, int64_t step);
/* Whoever waits for a batch gives up when *stop is set; NULL: nobody does. Used by the thread that takes. */
void mx_feed_watch(struct mx_feed *feed, const atomic_bool *stop);
/* Devices, work, slots and workers of the pipeline; everything else in it stays as it is. */
void mx_feed_connect(struct mx_feed *feed, struct mx_pipeline_options *pipeline);

#endif
