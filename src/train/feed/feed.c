/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The feed, see feed.h.
 *
 * The pipeline determines who may touch what: a slot of the host ring is drawn, loaded and processed in that order;
 * only the stages use builders and device batches; builder n modulo MX_PIPELINE_DEPTH is free when batch n is
 * submitted, since at most MX_PIPELINE_DEPTH batches are in flight.
 */
#include "train/feed/feed.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "myxtts/error.h"

/* A slot of the host ring: the batch as the sampler gave it, and as it was loaded. */
struct place {
    uint32_t epoch, step, count;
    uint32_t *utterances; /* [sequences] */
    struct mx_host_batch *host;
};

struct worker {
    struct mx_dataset_reader *reader;
    atomic_uint at; /* the utterance that it is loading */
};

struct mx_feed {
    struct mx_feed_options options;
    uint32_t epoch, step; /* of the next draw */
    const atomic_bool *stop;
    struct worker *workers; /* [options.workers] */
    struct place *places;   /* [options.host_slots] */
    struct mx_batch_builder *builders[MX_PIPELINE_DEPTH];
    /* The rings as the pipeline takes them: places, device batches on the data device, those on the model device. */
    void **host, **data, **model;
    void **twins; /* of the last ones; NULL: no work sharing */
    /* Of work sharing. The lock protects `shares`, which the thread that takes replaces and the transfer reads; it is a
     * leaf, held for a copy only. The rest belongs to the transfer after the start. */
    pthread_mutex_t lock;
    struct mx_shares shares;
    int64_t first_step; /* of batch 0 */
    double wanted;      /* frames still owed to the twins in this step */
};

/* ---- plan ---- */

static struct mx_batch_builder_options builder_options(const struct mx_feed_options *o)
{
    return (struct mx_batch_builder_options){.capacity = o->capacity,
                                             .normaliser = o->normaliser,
                                             .features = o->features,
                                             .span_max = mx_augment_span_count(&o->augment),
                                             .seed = o->seed,
                                             .segments = o->segments,
                                             .owner = "features"};
}

static struct mx_device_batch_options device_options(const struct mx_feed_options *o, bool model)
{
    return (struct mx_device_batch_options){.recipe = o->capacity.recipe,
                                            .capacity = o->capacity.model,
                                            .vocoder = mx_segments_capacity(&o->segments),
                                            .segments_only = o->segments.count > 0 && o->segments.crops,
                                            .fixed = o->fixed,
                                            .offsets = o->shared,
                                            .owner = model ? "model slots" : "data slots"};
}

static struct mx_device_batch_options twin_options(const struct mx_feed_options *o)
{
    return (struct mx_device_batch_options){.recipe = o->capacity.recipe,
                                            .capacity = o->twin,
                                            .fixed = o->fixed,
                                            .offsets = true,
                                            .owner = "replica slots"};
}

void mx_feed_memory_plan(const struct mx_feed_options *o, struct mx_feed_memory_plan *out)
{
    const struct mx_batch_builder_options builder = builder_options(o);
    const struct mx_device_batch_options on_device = device_options(o, false), twin = twin_options(o);
    const uint64_t twins = o->shared ? (uint64_t)o->model_slots : 0;
    *out = (struct mx_feed_memory_plan){
        .host_slots = (uint64_t)o->host_slots * mx_host_batch_bytes(o->source, &o->capacity),
        .data_slots = (uint64_t)o->data_slots * mx_device_batch_bytes(&on_device),
        .features = MX_PIPELINE_DEPTH * mx_batch_builder_bytes(&builder),
        .features_host = MX_PIPELINE_DEPTH * mx_batch_builder_host_bytes(&builder),
        .model_slots = (uint64_t)o->model_slots * mx_device_batch_bytes(&on_device),
        .replica_slots = twins * mx_device_batch_bytes(&twin),
        .data_slots_host = (uint64_t)o->data_slots * mx_device_batch_host_bytes(&on_device),
        .model_slots_host = (uint64_t)o->model_slots * mx_device_batch_host_bytes(&on_device),
        .replica_slots_host = twins * mx_device_batch_host_bytes(&twin)};
}

/* ---- life ---- */

static int places_create(struct mx_feed *feed)
{
    int rc = 0;
    const struct mx_feed_options *const o = &feed->options;
    feed->places = mx_alloc((size_t)o->host_slots, sizeof *feed->places);
    feed->host = mx_alloc((size_t)o->host_slots, sizeof *feed->host);
    if (feed->places == NULL || feed->host == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (int32_t i = 0; i < o->host_slots; i++) {
        struct place *const place = &feed->places[i];
        feed->host[i] = place;
        place->utterances = mx_alloc((size_t)o->capacity.model.sequences, sizeof *place->utterances);
        if (place->utterances == NULL) MX_TRY(MX_ERR_NO_MEMORY);
        MX_TRY(mx_host_batch_create(o->source, o->data, &o->capacity, &place->host));
        if (mx_augment_active(&o->augment)) MX_TRY(mx_host_batch_augment(place->host, &o->augment));
    }
out:
    return rc;
}

static int ring_create(struct mx_device *device, const struct mx_device_batch_options *options, int32_t count,
                       void ***out)
{
    int rc = 0;
    void **const ring = *out = mx_alloc((size_t)count, sizeof *ring);
    if (ring == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (int32_t i = 0; i < count; i++) {
        struct mx_device_batch *on_device;
        MX_TRY(mx_device_batch_create(device, options, &on_device));
        ring[i] = on_device;
    }
out:
    return rc;
}

static int twins_create(struct mx_feed *feed)
{
    const struct mx_device_batch_options options = twin_options(&feed->options);
    const int rc = ring_create(feed->options.data, &options, feed->options.model_slots, &feed->twins);
    for (int32_t i = 0; rc == 0 && i < feed->options.model_slots; i++) {
        struct mx_device_batch *const on_device = feed->model[i];
        on_device->twin = feed->twins[i];
    }
    return rc;
}

static int builders_create(struct mx_feed *feed)
{
    int rc = 0;
    struct mx_stream *stream = NULL;
    const struct mx_batch_builder_options options = builder_options(&feed->options);
    MX_TRY(mx_stream_create(feed->options.data, "tables", &stream));
    for (int i = 0; i < MX_PIPELINE_DEPTH; i++)
        MX_TRY(mx_batch_builder_create(feed->options.data, stream, &options, &feed->builders[i]));
out:
    mx_stream_release(stream);
    return rc;
}

static int workers_create(struct mx_feed *feed)
{
    int rc = 0;
    feed->workers = mx_alloc((size_t)feed->options.workers, sizeof *feed->workers);
    if (feed->workers == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (int32_t i = 0; i < feed->options.workers; i++)
        MX_TRY(mx_dataset_reader_create(mx_batch_source_dataset(feed->options.source), &feed->workers[i].reader));
out:
    return rc;
}

int mx_feed_create(const struct mx_feed_options *options, struct mx_feed **out)
{
    int rc = 0;
    const struct mx_device_batch_options data = device_options(options, false), model = device_options(options, true);
    struct mx_feed *feed = mx_alloc(1, sizeof *feed);
    *out = NULL;
    if (feed == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    feed->options = *options;
    pthread_mutex_init(&feed->lock, NULL);
    MX_TRY(mx_augment_check(&options->augment));
    MX_TRY(workers_create(feed));
    MX_TRY(places_create(feed));
    MX_TRY(builders_create(feed));
    MX_TRY(ring_create(options->data, &data, options->data_slots, &feed->data));
    MX_TRY(ring_create(options->model, &model, options->model_slots, &feed->model));
    if (options->shared) MX_TRY(twins_create(feed));
    *out = feed;
    feed = NULL;
out:
    mx_feed_destroy(feed);
    return rc;
}

static void ring_release(void **ring, int32_t count)
{
    for (int32_t i = 0; ring != NULL && i < count; i++) mx_device_batch_destroy(ring[i]);
    mx_free(ring);
}

void mx_feed_destroy(struct mx_feed *feed)
{
    if (feed == NULL) return;
    const struct mx_feed_options *const o = &feed->options;
    ring_release(feed->twins, o->model_slots);
    ring_release(feed->model, o->model_slots);
    ring_release(feed->data, o->data_slots);
    for (int i = 0; i < MX_PIPELINE_DEPTH; i++) mx_batch_builder_destroy(feed->builders[i]);
    for (int32_t i = 0; feed->places != NULL && i < o->host_slots; i++) {
        mx_host_batch_destroy(feed->places[i].host);
        mx_free(feed->places[i].utterances);
    }
    for (int32_t i = 0; feed->workers != NULL && i < o->workers; i++)
        mx_dataset_reader_destroy(feed->workers[i].reader);
    mx_free(feed->places);
    mx_free(feed->host);
    mx_free(feed->workers);
    pthread_mutex_destroy(&feed->lock);
    mx_free(feed);
}

/* ---- the stages ---- */

static int stage_draw(void *context, uint64_t number, void *host_slot)
{
    struct mx_feed *const feed = context;
    struct place *const place = host_slot;
    struct mx_sampler *const sampler = feed->options.sampler;
    (void)number; /* they come in order */
    if (mx_sampler_epoch(sampler) != feed->epoch) mx_sampler_select(sampler, feed->epoch);
    if (feed->step >= mx_sampler_steps(sampler)) {
        mx_sampler_select(sampler, ++feed->epoch);
        feed->step = 0;
    }
    const struct mx_sampler_batch batch = mx_sampler_get(sampler, feed->step);
    memcpy(place->utterances, batch.items, batch.count * sizeof *place->utterances);
    place->count = batch.count;
    place->epoch = feed->epoch;
    place->step = feed->step++;
    return 0;
}

static int stage_load(void *context, int worker, uint64_t number, void *host_slot, const atomic_bool *cancel)
{
    struct mx_feed *const feed = context;
    const struct place *const place = host_slot;
    struct worker *const own = &feed->workers[worker];
    (void)number;
    place->host->cancel = cancel;
    place->host->at = &own->at;
    return mx_host_batch_fill(place->host, own->reader, place->epoch, place->step, place->utterances, place->count);
}

static int stage_process(void *context, struct mx_stream *stream, uint64_t number, const void *host_slot,
                         void *data_slot)
{
    struct mx_feed *const feed = context;
    const struct place *const place = host_slot;
    return mx_batch_builder_run(feed->builders[number % MX_PIPELINE_DEPTH], stream, place->host, data_slot);
}

/* The next batches of a step compensate for one that cannot be divided well. */
static int batch_divide(struct mx_feed *feed, struct mx_stream *stream, uint64_t number,
                        const struct mx_device_batch *from, struct mx_device_batch *to)
{
    const struct mx_feed_options *const o = &feed->options;
    const uint64_t batches = (uint64_t)o->step_batches;
    const int32_t *const offsets = from->offsets + o->capacity.model.sequences + 1; /* of frames */
    pthread_mutex_lock(&feed->lock);
    const double share = mx_shares_at(&feed->shares, feed->first_step + (int64_t)(number / batches));
    pthread_mutex_unlock(&feed->lock);
    if (number % batches == 0) feed->wanted = 0;
    if (from->count == 0) return mx_device_batch_divide(stream, from, to, (struct mx_share_part){0});
    feed->wanted += share * from->batch.frames.rows;
    const struct mx_share_part part =
        mx_share_split(offsets, from->count, share > 0 ? feed->wanted : 0, o->twin.frames);
    feed->wanted -= offsets[part.first + part.count] - offsets[part.first];
    return mx_device_batch_divide(stream, from, to, part);
}

static int stage_transfer(void *context, struct mx_stream *stream, uint64_t number, const void *data_slot,
                          void *model_slot)
{
    struct mx_feed *const feed = context;
    if (feed->options.shared) return batch_divide(feed, stream, number, data_slot, model_slot);
    return mx_device_batch_move(stream, data_slot, model_slot);
}

static void stage_describe(void *context, int worker, char *out, size_t bytes)
{
    struct mx_feed *const feed = context;
    const struct mx_dataset *const dataset = mx_batch_source_dataset(feed->options.source);
    snprintf(out, bytes, "the recording '%s'",
             mx_dataset_utterance(dataset, atomic_load(&feed->workers[worker].at))->id);
}

static bool stage_interrupted(void *context)
{
    const struct mx_feed *const feed = context;
    return feed->stop != NULL && atomic_load(feed->stop);
}

void mx_feed_begin(struct mx_feed *feed, uint32_t epoch, uint32_t step)
{
    feed->epoch = epoch;
    feed->step = step;
}

void mx_feed_share(struct mx_feed *feed, int64_t step, const struct mx_shares *shares)
{
    pthread_mutex_lock(&feed->lock);
    feed->shares = *shares;
    feed->first_step = step;
    pthread_mutex_unlock(&feed->lock);
}

int64_t mx_feed_share_step(const struct mx_feed *feed, int64_t step)
{
    /* The transfer has at most all model slots: those of this step and some more. */
    const int64_t batches = feed->options.step_batches;
    return step + (feed->options.model_slots + batches - 1) / batches;
}

void mx_feed_watch(struct mx_feed *feed, const atomic_bool *stop)
{
    feed->stop = stop;
}

void mx_feed_connect(struct mx_feed *feed, struct mx_pipeline_options *pipeline)
{
    const struct mx_feed_options *const o = &feed->options;
    pipeline->data = o->data;
    pipeline->model = o->model;
    pipeline->work = (struct mx_pipeline_work){.context = feed,
                                               .draw = stage_draw,
                                               .load = stage_load,
                                               .process = stage_process,
                                               .transfer = o->data != o->model ? stage_transfer : NULL,
                                               .describe = stage_describe,
                                               .interrupted = stage_interrupted};
    pipeline->host_slots = feed->host;
    pipeline->data_slots = feed->data;
    pipeline->model_slots = feed->model;
    pipeline->host_count = o->host_slots;
    pipeline->data_count = o->data_slots;
    pipeline->model_count = o->model_slots;
    pipeline->workers = o->workers;
}
