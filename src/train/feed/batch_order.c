/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which utterances form the batches of a trainer, and how large a batch can become: the sampler and the capacity of a
 * shape, see trainer_internal.h. The shape owns both; everything else here is released before it returns.
 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "train/trainer_internal.h"

static int shorter_first(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* How often each of `count` entries of the order is drawn, in *times, which is the caller's; NULL: each of them once.
 * utterances[i]: the utterance of entry i. */
static int times_compute(const struct mx_trainer_options *o, const uint32_t *utterances, uint32_t count, double **times)
{
    const uint32_t speakers = mx_dataset_speaker_count(o->dataset);
    int rc = 0;
    double *of_speaker = NULL;
    uint32_t *rows = NULL;
    *times = NULL;
    if (o->balance == MX_BALANCE_UTTERANCE) return 0;
    rows = mx_alloc(speakers, sizeof *rows);
    of_speaker = mx_alloc(speakers, sizeof *of_speaker);
    *times = mx_alloc(count, sizeof **times);
    if (rows == NULL || of_speaker == NULL || *times == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < count; i++) rows[mx_dataset_utterance(o->dataset, utterances[i])->speaker]++;
    mx_balance_times(o->balance, rows, speakers, of_speaker);
    for (uint32_t i = 0; i < count; i++)
        (*times)[i] = of_speaker[mx_dataset_utterance(o->dataset, utterances[i])->speaker];
out:
    mx_free(rows);
    mx_free(of_speaker);
    return rc;
}

/* The limits of a batch: of this member, for the order of all. */
static int capacity_of(const struct mx_trainer_options *o, const struct mx_sampler_options *order, const uint32_t *list,
                       uint32_t count, struct mx_trainer_shape *shape)
{
    int rc = 0;
    uint32_t *frames = NULL, longest = 0, most = order->batch_size;
    uint64_t limit = order->frame_budget, sum = 0;
    if (o->batch_even) {
        frames = mx_alloc(count, sizeof *frames);
        if (frames == NULL) MX_TRY(MX_ERR_NO_MEMORY);
        for (uint32_t i = 0; i < count; i++) {
            frames[i] = mx_batch_source_frames(shape->source, list[i]);
            if (frames[i] > longest) longest = frames[i];
        }
        qsort(frames, count, sizeof *frames, shorter_first);
        uint32_t shortest = 0; /* as many of them as fit */
        while (shortest < count && shortest < most && (sum += frames[shortest]) <= order->frame_budget) shortest++;
        most = shortest > 0 ? shortest : 1;
        if (longest > limit) limit = longest; /* a batch of its own */
    }
    MX_TRY(mx_batch_source_capacity(shape->source, list, count, (most + order->world - 1) / order->world, limit,
                                    &shape->capacity));
    /* The tokens of a sequence are never more than its frames. */
    struct mx_model_capacity *const c = &shape->capacity.model;
    if (o->batch_even && c->tokens > c->frames) c->tokens = c->frames;
    if (o->batch_even && c->longest_tokens > c->tokens) c->longest_tokens = c->tokens;
    MX_TRY(mx_host_batch_capacity_stretch(&shape->capacity, o->flow.augment.speed));
out:
    mx_free(frames);
    return rc;
}

/* Validation utterances count, too: they follow the others in the same block. An utterance that is drawn several
 * times may meet itself. */
static int capacity_find(const struct mx_trainer_options *o, const struct mx_sampler_options *order,
                         struct mx_trainer_shape *shape)
{
    const uint32_t both = shape->training_count + shape->validation_count;
    const double *const times = order->times;
    uint32_t count = 0, *list = NULL;
    int rc = 0;
    double copies = both;
    for (uint32_t i = 0; times != NULL && i < shape->training_count; i++) copies += ceil(times[i]);
    if (!(copies < MX_SAMPLER_COUNT_MAX))
        MX_RAISE(MX_ERR_DATA, "leave out speakers with hardly any recordings, or set data.balance=root",
                 "data.balance would have to draw a recording too many times");
    list = mx_alloc((size_t)copies, sizeof *list);
    if (list == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < both; i++) {
        const uint32_t most = times == NULL || i >= shape->training_count ? 1 : (uint32_t)ceil(times[i]);
        for (uint32_t k = 0; k < most; k++) list[count++] = shape->training[i];
    }
    MX_TRY(capacity_of(o, order, list, count, shape));
out:
    mx_free(list);
    return rc;
}

/* Steps of equal work: as many of them as batches of that many utterances would be. */
static int order_even(const struct mx_trainer_options *o, const uint32_t *frames, uint32_t count,
                      struct mx_sampler_options *order)
{
    const uint32_t steps = (uint32_t)(((uint64_t)count + o->batch_size - 1) / o->batch_size);
    const uint64_t most = (uint64_t)o->batch_size * MX_TRAINER_EVEN_MOST;
    order->even = true;
    order->batch_size = most < count ? (uint32_t)most : count;
    return order->frame_budget > 0 ? 0 : mx_sampler_budget(order, frames, count, steps, &order->frame_budget);
}

/* The order of utterances. */
static int sampler_create(const struct mx_trainer_options *o, struct mx_trainer_shape *shape,
                          struct mx_sampler_options order)
{
    int rc = 0;
    double *times = NULL;
    uint32_t *const frames = mx_alloc(shape->training_count, sizeof *frames);
    if (frames == NULL) return MX_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < shape->training_count; i++)
        frames[i] = mx_batch_source_frames(shape->source, shape->training[i]);
    MX_TRY(times_compute(o, shape->training, shape->training_count, &times));
    order.times = times;
    if (o->batch_even) MX_TRY(order_even(o, frames, shape->training_count, &order));
    shape->batch_frames = order.frame_budget;
    MX_TRY(mx_sampler_create(&order, shape->training, frames, shape->training_count, &shape->sampler));
    MX_TRY(capacity_find(o, &order, shape));
out:
    mx_free(times);
    mx_free(frames);
    return rc;
}

/* The sampler of all crops of the utterances, which are all of the same size. */
static int crops_sampler_create(const struct mx_trainer_options *o, struct mx_trainer_shape *shape,
                                struct mx_sampler_options order)
{
    int rc = 0;
    uint32_t first, count = 0, *list = NULL;
    double *times = NULL;
    for (uint32_t i = 0; i < shape->training_count; i++)
        count += mx_batch_source_crops(shape->source, shape->training[i], &first);
    list = mx_alloc(3 * (size_t)count, sizeof *list);
    if (list == NULL) return MX_ERR_NO_MEMORY;
    uint32_t *const frames = list + count, *const utterances = frames + count;
    count = 0;
    for (uint32_t i = 0; i < shape->training_count; i++)
        for (uint32_t k = mx_batch_source_crops(shape->source, shape->training[i], &first); k > 0; k--) {
            frames[count] = (uint32_t)shape->segments.frames;
            utterances[count] = shape->training[i];
            list[count++] = first++;
        }
    order.batch_size = (uint32_t)o->vocoder.segments.count;
    order.frame_budget = 0;
    MX_TRY(times_compute(o, utterances, count, &times));
    order.times = times;
    MX_TRY(mx_sampler_create(&order, list, frames, count, &shape->sampler));
    MX_TRY(mx_batch_source_capacity(shape->source, shape->training, shape->training_count,
                                    (uint32_t)shape->segments.count, 0, &shape->capacity));
out:
    mx_free(times);
    mx_free(list);
    return rc;
}

int mx_trainer_order_create(const struct mx_trainer_options *o, struct mx_trainer_shape *shape)
{
    const struct mx_sampler_options order = {.seed = o->seed,
                                             .rank = (uint32_t)mx_comm_rank(o->comm),
                                             .world = (uint32_t)mx_comm_size(o->comm),
                                             .batch_size = o->batch_size,
                                             .frame_budget = o->batch_frames,
                                             .whole = true};
    return o->vocoder_alone ? crops_sampler_create(o, shape, order) : sampler_create(o, shape, order);
}
