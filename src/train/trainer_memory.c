/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Everything that the trainer's options and the corpus determine before any memory is allocated, and the size of that
 * memory; see trainer.h. (Creation: trainer.c; steps: step.c; evaluation: evaluate.c.)
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "train/trainer_internal.h"

/* ---- shape ---- */

void mx_trainer_shape_close(struct mx_trainer_shape *shape)
{
    mx_sampler_destroy(shape->sampler);
    mx_batch_source_destroy(shape->source);
    mx_free(shape->training);
}

/* The two lists of utterances. */
static int lists_make(const struct mx_trainer_options *o, struct mx_trainer_shape *shape)
{
    const uint32_t count = mx_dataset_count(o->dataset);
    uint32_t validation = 0;
    for (uint32_t i = 0; i < count; i++) validation += mx_dataset_utterance(o->dataset, i)->validation;
    if (validation == count)
        return MX_FAIL(MX_ERR_DATA, "'myxtts check' shows what is wrong with the corpus",
                       "there is no utterance to train on");
    shape->training = mx_alloc(count, sizeof *shape->training);
    if (shape->training == NULL) return MX_ERR_NO_MEMORY;
    shape->validation = shape->training + (count - validation);
    for (uint32_t i = 0; i < count; i++) {
        if (!mx_dataset_utterance(o->dataset, i)->validation)
            shape->training[shape->training_count++] = i;
        else
            shape->validation[shape->validation_count++] = i;
    }
    return 0;
}

static struct mx_share_choice sharing_of(const struct mx_trainer_options *o)
{
    const struct mx_share_setup setup = {
        .asked = o->flow.share, .two_devices = mx_trainer_data_device(o) != o->device, .ranks = o->comm != NULL};
    return mx_share_choose(&setup);
}

/* Room for the data device's part of a batch: its share and, since parts end between sequences, one more. The tokens of
 * a sequence are never more than its frames. */
static void twin_measure(const struct mx_trainer_options *o, struct mx_trainer_shape *shape)
{
    const struct mx_model_capacity *const all = &shape->capacity.model;
    const double most = o->flow.share_most > 0 ? o->flow.share_most : MX_SHARE_MOST;
    const double frames = ceil(most * all->frames) + all->longest_frames;
    shape->twin = *all;
    if (frames < all->frames) shape->twin.frames = (int32_t)frames;
    if (shape->twin.frames < all->tokens) shape->twin.tokens = shape->twin.frames;
    if (shape->twin.tokens < all->longest_tokens) shape->twin.longest_tokens = shape->twin.tokens;
}

int mx_trainer_shape_open(const struct mx_trainer_options *o, struct mx_trainer_shape *shape)
{
    int rc = 0;
    uint32_t *frames = NULL;
    const struct mx_batch_source_options how = {
        .dataset = o->dataset, .normaliser = o->normaliser, .seed = o->seed, .reference_seconds = o->reference_seconds};
    const uint32_t members = (uint32_t)mx_comm_size(o->comm);
    const struct mx_sampler_options order = {.seed = o->seed,
                                             .rank = (uint32_t)mx_comm_rank(o->comm),
                                             .world = members,
                                             .batch_size = o->batch_size,
                                             .frame_budget = o->batch_frames,
                                             .whole = true};
    shape->features = mx_dataset_kind(o->dataset) == MX_PACKED_FEATURES;
    MX_TRY(lists_make(o, shape));
    MX_TRY(mx_batch_source_create(&how, &shape->source));
    frames = mx_alloc(shape->training_count, sizeof *frames);
    if (frames == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < shape->training_count; i++)
        frames[i] = mx_batch_source_frames(shape->source, shape->training[i]);
    MX_TRY(mx_sampler_create(&order, shape->training, frames, shape->training_count, &shape->sampler));
    /* Validation utterances count, too: they lie behind the others in the same block. */
    MX_TRY(mx_batch_source_capacity(shape->source, shape->training, shape->training_count + shape->validation_count,
                                    (o->batch_size + members - 1) / members, o->batch_frames, &shape->capacity));
    MX_TRY(mx_host_batch_capacity_stretch(&shape->capacity, o->flow.augment.speed));
    if (o->flow.static_shapes) MX_TRY(mx_host_batch_capacity_round(&shape->capacity));
    shape->shared = sharing_of(o).mode != MX_SHARE_OFF;
    if (shape->shared) twin_measure(o, shape);
    shape->acoustic[0] = mx_acoustic_options(&o->model, &shape->capacity.model);
    shape->acoustic[1] = mx_acoustic_options(&o->model, &shape->twin);
out:
    mx_free(frames);
    return rc;
}

static int shares_check(const struct mx_trainer_options *o)
{
    const struct mx_trainer_flow *const f = &o->flow;
    const double most = f->share_most > 0 ? f->share_most : MX_SHARE_MOST;
    const struct mx_share_choice choice = sharing_of(o);
    if (choice.refused) return mx_share_refuse(choice.obstacle, mx_device_name(o->device));
    for (int32_t i = 0; choice.mode != MX_SHARE_OFF && i < f->shares.count; i++)
        if (f->shares.points[i].share > most) {
            MX_FAIL(MX_ERR_CONFIG, NULL, "a share of %g from step %lld on is too much for the data device",
                    f->shares.points[i].share, (long long)f->shares.points[i].step);
            return mx_error_hint("it has room for %g of a batch; leave the rest to the model device", most);
        }
    return 0;
}

int mx_trainer_options_check(const struct mx_trainer_options *o)
{
    int rc = 0;
    const struct mx_augment_options *const a = &o->flow.augment;
    MX_TRY(mx_schedule_check(&o->optimizer.schedule));
    MX_TRY(mx_model_config_check(&o->model));
    if (o->grad_accum < 1 || o->workers < 1 || o->prefetch < 1 || (o->batch_size == 0 && o->batch_frames == 0))
        MX_RAISE(MX_ERR_CONFIG,
                 "batch size, batches per step, loader threads and prefetched batches must be at least 1",
                 "cannot train with %u utterances per batch, %d batches per step and %d threads",
                 (unsigned)o->batch_size, (int)o->grad_accum, (int)o->workers);
    if (o->flow.buffer < 0 || o->flow.workers_max < 0)
        MX_RAISE(MX_ERR_CONFIG, "both must be at least 1; 0 selects the default",
                 "cannot use a buffer of %d batches and %d threads", (int)o->flow.buffer, (int)o->flow.workers_max);
    MX_TRY(shares_check(o));
    MX_TRY(mx_augment_check(a));
    if (mx_dataset_kind(o->dataset) == MX_PACKED_FEATURES && (a->gain_db > 0 || a->noise_share > 0 || a->speed > 0))
        MX_RAISE(MX_ERR_CONFIG, "prepare the corpus without '--features', or only mask bands and times",
                 "gain, noise and speed cannot be applied to precomputed features");
    if (o->model.bands != mx_recipe_default.bands)
        MX_RAISE(MX_ERR_CONFIG, "the two must agree", "the model has %d mel bands, the features have %d",
                 (int)o->model.bands, (int)mx_recipe_default.bands);
    if ((size_t)o->model.vocabulary < mx_vocabulary_size(mx_dataset_vocabulary(o->dataset)) ||
        (size_t)o->model.languages < mx_vocabulary_languages(mx_dataset_vocabulary(o->dataset)))
        MX_RAISE(MX_ERR_DATA, "train a new model, or use a corpus with the same symbols",
                 "the corpus has %zu tokens and %zu languages, the model knows %d and %d",
                 mx_vocabulary_size(mx_dataset_vocabulary(o->dataset)),
                 mx_vocabulary_languages(mx_dataset_vocabulary(o->dataset)), (int)o->model.vocabulary,
                 (int)o->model.languages);
out:
    return rc;
}

struct mx_device *mx_trainer_data_device(const struct mx_trainer_options *o)
{
    return o->flow.data_device != NULL ? o->flow.data_device : o->device;
}

/* The rings: on one device the batches that are trained on lie in the data ring; on two, those of a step, one that
 * waits and one that arrives have a ring of their own. A host slot for each thread that loads, and those kept ready. */
struct mx_feed_options mx_trainer_feed_options(const struct mx_trainer_options *o, const struct mx_trainer_shape *shape)
{
    const struct mx_trainer_flow *const f = &o->flow;
    const bool two = mx_trainer_data_device(o) != o->device;
    const int32_t workers = f->workers_max > o->workers ? f->workers_max : o->workers;
    const int32_t buffer = f->buffer > 0 ? f->buffer : MX_PIPELINE_DEPTH;
    return (struct mx_feed_options){.source = shape->source,
                                    .sampler = shape->sampler,
                                    .data = mx_trainer_data_device(o),
                                    .model = o->device,
                                    .capacity = shape->capacity,
                                    .normaliser = o->normaliser,
                                    .seed = o->seed,
                                    .features = shape->features,
                                    .fixed = f->static_shapes,
                                    .augment = f->augment,
                                    .workers = workers,
                                    .host_slots = workers + o->prefetch,
                                    .data_slots = buffer + (two ? 0 : o->grad_accum),
                                    .model_slots = two ? o->grad_accum + MX_PIPELINE_BUFFERS - 1 : 0,
                                    .shared = shape->shared,
                                    .twin = shape->twin,
                                    .step_batches = o->grad_accum};
}

/* Of evaluations, which make their batches where the model is. */
struct mx_batch_options mx_trainer_batch_options(const struct mx_trainer_options *o,
                                                 const struct mx_trainer_shape *shape)
{
    return (struct mx_batch_options){
        .capacity = shape->capacity, .normaliser = o->normaliser, .features = shape->features, .owner = "evaluation"};
}

bool mx_trainer_evaluates(const struct mx_trainer_options *o, const struct mx_trainer_shape *shape)
{
    return shape->validation_count > 0 && o->validation_limit > 0;
}

/* Can two devices be expected to update equally many weights in the same time? */
static bool alike(const struct mx_device *a, const struct mx_device *b)
{
    const struct mx_device_info *const x = mx_device_info(a), *const y = mx_device_info(b);
    return strcmp(x->backend, y->backend) == 0 && x->kind == y->kind && x->compute_units == y->compute_units;
}

/* Which half of the weights a device updates must not follow any measurement: moments would have to move. So it is half
 * of them where the devices are alike, and otherwise the model device updates all. */
static int acoustic_options(const struct mx_trainer_options *o, const struct mx_trainer_shape *shape,
                            struct mx_replica_options out[MX_TRAINER_REPLICAS])
{
    struct mx_device *const data = mx_trainer_data_device(o);
    struct mx_network_memory memory;
    const int rc = shape->acoustic[0].base.calls->memory_plan(&shape->acoustic[0].base, &memory);
    if (rc < 0) return rc;
    const int64_t half = memory.floats / 2 / MX_PARAMETER_ALIGNMENT * MX_PARAMETER_ALIGNMENT;
    const int64_t own = shape->shared && alike(data, o->device) ? half : memory.floats;
    out[0] = (struct mx_replica_options){.device = o->device,
                                         .network = &shape->acoustic[0].base,
                                         .passes = o->grad_accum,
                                         .room = {0, memory.floats},
                                         .shared = shape->shared,
                                         .buckets = o->comm != NULL || o->flow.times,
                                         .recorded = o->flow.static_shapes};
    out[1] = out[0];
    out[1].device = data;
    out[1].network = &shape->acoustic[1].base;
    out[1].room = (struct mx_range){own, memory.floats - own};
    out[1].buckets = false;
    return shape->shared ? 2 : 1;
}

int mx_trainer_replica_options(const struct mx_trainer_options *o, const struct mx_trainer_shape *shape,
                               enum mx_part part, struct mx_replica_options out[MX_TRAINER_REPLICAS])
{
    switch (part) {
    case MX_PART_ACOUSTIC:
        return acoustic_options(o, shape, out);
    case MX_PARTS:
        break;
    }
    return 0;
}

static void memory_add(struct mx_trainer_memory_plan *plan, const char *owner, enum mx_trainer_place place,
                       uint64_t bytes)
{
    uint64_t *const sums[] = {&plan->data_bytes, &plan->model_bytes, &plan->host_bytes};
    if (bytes == 0) return;
    plan->memory[plan->memory_count++] = (struct mx_trainer_memory){owner, place, bytes};
    *sums[place] += bytes;
}

static void replica_list(const struct mx_replica_memory_plan *r, enum mx_trainer_place place,
                         struct mx_trainer_memory_plan *plan)
{
    memory_add(plan, "parameters", place, r->parameters);
    memory_add(plan, "gradients", place, r->gradients);
    memory_add(plan, "moments", place, r->moments);
    memory_add(plan, "averaged weights", place, r->average);
    memory_add(plan, "activations", place, r->activations);
    memory_add(plan, "exchange", place, r->stage);
    memory_add(plan, "work of operations", place, r->work);
}

static int memory_list(const struct mx_trainer_options *o, const struct mx_trainer_shape *shape,
                       struct mx_trainer_memory_plan *plan)
{
    int rc = 0;
    struct mx_feed_memory_plan feed;
    struct mx_replica_options replicas[MX_TRAINER_REPLICAS];
    struct mx_replica_memory_plan own, other = {0};
    const int count = mx_trainer_replica_options(o, shape, MX_PART_ACOUSTIC, replicas);
    const struct mx_feed_options how = mx_trainer_feed_options(o, shape);
    const struct mx_batch_options batch = mx_trainer_batch_options(o, shape);
    const bool evaluation = mx_trainer_evaluates(o, shape);
    MX_TRY(count);
    MX_TRY(mx_replica_memory_plan(&replicas[0], &own));
    if (count > 1) MX_TRY(mx_replica_memory_plan(&replicas[1], &other));
    mx_feed_memory_plan(&how, &feed);
    memory_add(plan, "data slots", MX_PLACE_DATA, feed.data_slots);
    memory_add(plan, "features", MX_PLACE_DATA, feed.features);
    memory_add(plan, "work of features", MX_PLACE_DATA,
               shape->features ? 0 : mx_device_info(mx_trainer_data_device(o))->sound_bytes);
    replica_list(&other, MX_PLACE_DATA, plan);
    memory_add(plan, "replica slots", MX_PLACE_DATA, feed.replica_slots);
    replica_list(&own, MX_PLACE_MODEL, plan);
    memory_add(plan, "model slots", MX_PLACE_MODEL, feed.model_slots);
    memory_add(plan, "evaluation", MX_PLACE_MODEL, evaluation ? mx_batch_bytes(&batch) : 0);
    memory_add(plan, "host slots", MX_PLACE_HOST,
               feed.host_slots + (evaluation ? mx_host_batch_bytes(shape->source, &shape->capacity) : 0));
    memory_add(plan, "features", MX_PLACE_HOST, feed.features_host);
    memory_add(plan, "evaluation", MX_PLACE_HOST, evaluation ? mx_batch_builder_host_bytes(&batch) : 0);
    memory_add(plan, "results", MX_PLACE_HOST, own.results + other.results);
    memory_add(plan, "synthesis", MX_PLACE_HOST, own.network + other.network);
    memory_add(plan, "divided batches", MX_PLACE_HOST,
               feed.data_slots_host + feed.model_slots_host + feed.replica_slots_host);
    plan->host_slots = how.host_slots;
    plan->data_slots = how.data_slots;
    plan->model_slots = how.model_slots;
    plan->device_bytes = plan->model_bytes + (mx_trainer_data_device(o) == o->device ? plan->data_bytes : 0);
out:
    return rc;
}

int mx_trainer_memory_plan(const struct mx_trainer_options *o, struct mx_trainer_memory_plan *out)
{
    int rc = 0;
    struct mx_trainer_shape shape = {0};
    *out = (struct mx_trainer_memory_plan){0};
    MX_TRY(mx_trainer_options_check(o));
    MX_TRY(mx_trainer_shape_open(o, &shape));
    MX_TRY(mx_model_memory_plan(&o->model, &shape.capacity.model, MX_MODEL_TRAIN, &out->model));
    out->capacity = shape.capacity;
    MX_TRY(memory_list(o, &shape, out));
    out->utterances = shape.training_count;
    out->validation = shape.validation_count;
    out->epoch_batches = mx_sampler_steps(shape.sampler);
    out->epoch_steps = ((int64_t)out->epoch_batches + o->grad_accum - 1) / o->grad_accum;
out:
    mx_trainer_shape_close(&shape);
    return rc;
}
