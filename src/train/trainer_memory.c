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
static int lists_build(const struct mx_trainer_options *o, struct mx_trainer_shape *shape)
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

bool mx_trainer_trains(const struct mx_trainer_options *o, enum mx_part part)
{
    const bool vocoder = o->vocoder_alone || o->with_vocoder;
    return part == MX_PART_VOCODER ? vocoder && !o->vocoder.ready : !o->vocoder_alone;
}

struct mx_vocoder_config mx_trainer_vocoder_config(const struct mx_trainer_options *o)
{
    const struct mx_normaliser *const n = &o->normaliser;
    /* Memory is planned before the normaliser is measured, on which it does not depend. */
    const bool measured = n->mel_deviation > 0;
    struct mx_vocoder_config config = mx_vocoder_config_default(&o->vocoder.size, measured ? (float)n->mel_mean : 0,
                                                                measured ? (float)n->mel_deviation : 1);
    config.recipe = *mx_recipe_or_default(o->recipe);
    config.weights = o->vocoder.weights;
    config.mixed = o->vocoder.mixed;
    config.learning = o->vocoder.learning;
    return config;
}

/* The segments of this member. */
static struct mx_segment_options segments_of(const struct mx_trainer_options *o)
{
    struct mx_segment_options all = o->vocoder.segments;
    if (!mx_trainer_trains(o, MX_PART_VOCODER)) return (struct mx_segment_options){0};
    all.crops = o->vocoder_alone;
    return mx_segments_share(&all, mx_comm_rank(o->comm), mx_comm_size(o->comm));
}

static struct mx_share_choice sharing_of(const struct mx_trainer_options *o)
{
    const struct mx_share_setup setup = {
        .asked = o->flow.share, .two_devices = mx_trainer_data_device(o) != o->device, .ranks = o->comm != NULL};
    /* The vocoder's work is not shared: it is small. */
    return o->vocoder_alone ? (struct mx_share_choice){.mode = MX_SHARE_OFF} : mx_share_choose(&setup);
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
    shape->segments = segments_of(o);
    const struct mx_batch_source_options how = {.dataset = o->dataset,
                                                .recipe = o->recipe,
                                                .normaliser = o->normaliser,
                                                .seed = o->seed,
                                                .reference_seconds = o->reference_seconds,
                                                .segments = shape->segments};
    const struct mx_vocoder_config vocoder = mx_trainer_vocoder_config(o);
    const struct mx_vocoder_capacity segments = mx_segments_capacity(&shape->segments);
    shape->features = mx_dataset_kind(o->dataset) == MX_PACKED_FEATURES;
    MX_TRY(lists_build(o, shape));
    MX_TRY(mx_batch_source_create(&how, &shape->source));
    MX_TRY(mx_trainer_order_create(o, shape));
    if (o->flow.static_shapes) MX_TRY(mx_host_batch_capacity_round(&shape->capacity));
    shape->shared = sharing_of(o).mode != MX_SHARE_OFF;
    if (shape->shared) twin_measure(o, shape);
    shape->acoustic[0] = mx_network_acoustic(&o->model, &shape->capacity.model);
    shape->acoustic[1] = mx_network_acoustic(&o->model, &shape->twin);
    shape->vocoder = mx_network_vocoder(&vocoder, &segments);
out:
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

static int vocoder_check(const struct mx_trainer_options *o)
{
    int rc = 0;
    const int32_t segments = o->vocoder.segments.count, members = mx_comm_size(o->comm);
    const struct mx_vocoder_config config = mx_trainer_vocoder_config(o);
    MX_TRY(mx_vocoder_config_check(&config));
    if (o->vocoder.ready) {
        if (o->vocoder_alone)
            MX_RAISE(MX_ERR_CONFIG, "give it a learning rate, or train an acoustic network, too",
                     "there is nothing to train: the vocoder is ready");
        return 0;
    }
    MX_TRY(mx_schedule_check(&o->vocoder.optimizer.schedule));
    if (segments < members)
        MX_RAISE(MX_ERR_CONFIG, "each rank needs a segment in every batch", "%d segments cannot be shared by %d ranks",
                 (int)segments, (int)members);
    if (mx_dataset_kind(o->dataset) == MX_PACKED_FEATURES)
        MX_RAISE(MX_ERR_DATA, "prepare the corpus without '--features', or train on its folder",
                 "the vocoder cannot learn from precomputed features: they have no sound");
out:
    return rc;
}

/* What only an acoustic network needs. */
static int acoustic_check(const struct mx_trainer_options *o)
{
    int rc = 0;
    const struct mx_vocabulary *const words = mx_dataset_vocabulary(o->dataset);
    MX_TRY(mx_schedule_check(&o->optimizer.schedule));
    MX_TRY(mx_model_config_check(&o->model));
    const int32_t bands = mx_recipe_or_default(o->recipe)->bands;
    if (o->model.bands != bands)
        MX_RAISE(MX_ERR_CONFIG, "the two must agree", "the model has %d mel bands, the features have %d",
                 (int)o->model.bands, (int)bands);
    if ((size_t)o->model.vocabulary < mx_vocabulary_size(words) ||
        (size_t)o->model.languages < mx_vocabulary_languages(words))
        MX_RAISE(MX_ERR_DATA, "train a new model, or use a corpus with the same symbols",
                 "the corpus has %zu tokens and %zu languages, the model knows %d and %d", mx_vocabulary_size(words),
                 mx_vocabulary_languages(words), (int)o->model.vocabulary, (int)o->model.languages);
out:
    return rc;
}

int mx_trainer_options_check(const struct mx_trainer_options *o)
{
    int rc = 0;
    const struct mx_augment_options *const a = &o->flow.augment;
    if (!o->vocoder_alone) MX_TRY(acoustic_check(o));
    if (o->with_vocoder || o->vocoder_alone) MX_TRY(vocoder_check(o));
    if (o->grad_accum < 1 || o->workers < 1 || o->prefetch < 1 ||
        (o->batch_size == 0 && o->batch_frames == 0 && !o->batch_even))
        MX_RAISE(MX_ERR_CONFIG,
                 "batch size, batches per step, loader threads and prefetched batches must be at least 1",
                 "cannot train with %u utterances per batch, %d batches per step and %d threads",
                 (unsigned)o->batch_size, (int)o->grad_accum, (int)o->workers);
    if (o->batch_even && !o->vocoder_alone && o->batch_size == 0)
        MX_RAISE(MX_ERR_CONFIG, "give '--batch-size', which is then their mean, or set training.batch_frames",
                 "steps of equal work need a number of utterances per batch");
    if (o->flow.buffer < 0 || o->flow.workers_max < 0)
        MX_RAISE(MX_ERR_CONFIG, "both must be at least 1; 0 selects the default",
                 "cannot use a buffer of %d batches and %d threads", (int)o->flow.buffer, (int)o->flow.workers_max);
    MX_TRY(shares_check(o));
    MX_TRY(mx_augment_check(a));
    if (mx_dataset_kind(o->dataset) == MX_PACKED_FEATURES && (a->gain_db > 0 || a->noise_share > 0 || a->speed > 0))
        MX_RAISE(MX_ERR_CONFIG, "prepare the corpus without '--features', or only mask bands and times",
                 "gain, noise and speed cannot be applied to precomputed features");
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
                                    .segments = shape->segments,
                                    .workers = workers,
                                    .host_slots = workers + o->prefetch,
                                    .data_slots = buffer + (two ? 0 : o->grad_accum),
                                    .model_slots = two ? o->grad_accum + MX_PIPELINE_BUFFERS - 1 : 0,
                                    .shared = shape->shared,
                                    .twin = shape->twin,
                                    .step_batches = o->grad_accum};
}

/* Of evaluations, which make their batches where the model is. */
struct mx_batch_builder_options mx_trainer_batch_options(const struct mx_trainer_options *o,
                                                         const struct mx_trainer_shape *shape)
{
    struct mx_segment_options segments = shape->segments;
    segments.augment = 0;
    return (struct mx_batch_builder_options){.capacity = shape->capacity,
                                             .normaliser = o->normaliser,
                                             .features = shape->features,
                                             .segments = segments,
                                             .own = true,
                                             .owner = "evaluation"};
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
    const int rc = shape->acoustic[0].calls->memory_plan(&shape->acoustic[0], &memory);
    if (rc < 0) return rc;
    const int64_t half = memory.learned / 2 / MX_PARAMETER_ALIGNMENT * MX_PARAMETER_ALIGNMENT;
    const int64_t own = shape->shared && alike(data, o->device) ? half : memory.learned;
    out[0] = (struct mx_replica_options){.device = o->device,
                                         .network = &shape->acoustic[0],
                                         .optimizer = o->optimizer.kind,
                                         .passes = o->grad_accum,
                                         .room = {0, memory.learned},
                                         .shared = shape->shared,
                                         .buckets = o->comm != NULL || o->flow.times,
                                         .recorded = o->flow.static_shapes};
    out[1] = out[0];
    out[1].device = data;
    out[1].network = &shape->acoustic[1];
    out[1].room = (struct mx_range){own, memory.learned - own};
    out[1].buckets = false;
    return shape->shared ? 2 : 1;
}

/* Its stream is that of the acoustic network, if there is one; the caller sets it. */
static int vocoder_options(const struct mx_trainer_options *o, const struct mx_trainer_shape *shape,
                           struct mx_replica_options out[MX_TRAINER_REPLICAS])
{
    struct mx_network_memory memory;
    const int rc = shape->vocoder.calls->memory_plan(&shape->vocoder, &memory);
    if (rc < 0) return rc;
    out[0] = (struct mx_replica_options){.device = o->device,
                                         .network = &shape->vocoder,
                                         .optimizer = o->vocoder.optimizer.kind,
                                         .passes = o->grad_accum,
                                         .room = {0, memory.learned},
                                         .buckets = o->comm != NULL || o->flow.times,
                                         .timed = true};
    return 1;
}

int mx_trainer_replica_options(const struct mx_trainer_options *o, const struct mx_trainer_shape *shape,
                               enum mx_part part, struct mx_replica_options out[MX_TRAINER_REPLICAS])
{
    if (!mx_trainer_trains(o, part)) return 0;
    return part == MX_PART_VOCODER ? vocoder_options(o, shape, out) : acoustic_options(o, shape, out);
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
    memory_add(plan, MX_OWNER_PARAMETERS, place, r->parameters);
    memory_add(plan, MX_OWNER_GRADIENTS, place, r->gradients);
    memory_add(plan, MX_OWNER_MOMENTS, place, r->moments);
    memory_add(plan, MX_OWNER_AVERAGE, place, r->average);
    memory_add(plan, "activations", place, r->activations);
    memory_add(plan, MX_OWNER_STAGE, place, r->stage);
    memory_add(plan, "work of operations", place, r->work);
}

/* What each part needs: the acoustic network on both devices, and the vocoder. All zero: there is no such part. */
struct parts_memory {
    struct mx_replica_memory_plan own, twin, vocoder;
    uint64_t ready; /* weights of a vocoder that is ready */
};

/* A vocoder that is ready has nothing but its weights. */
static int ready_measure(const struct mx_trainer_shape *shape, struct mx_model_memory_plan *out)
{
    struct mx_parameters *table;
    const int rc = mx_vocoder_parameters_create(&shape->vocoder.vocoder, &table);
    if (rc < 0) return rc;
    *out = (struct mx_model_memory_plan){.parameters = table->elements,
                                         .parameters_bytes = (uint64_t)table->floats * sizeof(float)};
    mx_parameters_destroy(table);
    return 0;
}

static int parts_measure(const struct mx_trainer_options *o, const struct mx_trainer_shape *shape,
                         struct parts_memory *out)
{
    int rc = 0;
    struct mx_replica_options replicas[MX_TRAINER_REPLICAS];
    *out = (struct parts_memory){0};
    const int acoustic = mx_trainer_replica_options(o, shape, MX_PART_ACOUSTIC, replicas);
    MX_TRY(acoustic);
    rc = 0;
    if (acoustic > 0) MX_TRY(mx_replica_memory_plan(&replicas[0], &out->own));
    if (acoustic > 1) MX_TRY(mx_replica_memory_plan(&replicas[1], &out->twin));
    const int vocoder = mx_trainer_replica_options(o, shape, MX_PART_VOCODER, replicas);
    MX_TRY(vocoder);
    rc = 0;
    if (vocoder > 0) MX_TRY(mx_replica_memory_plan(&replicas[0], &out->vocoder));
    if (acoustic > 0) out->vocoder.work = 0; /* it uses the stream of the acoustic network */
    if (o->with_vocoder && o->vocoder.ready) {
        struct mx_model_memory_plan ready;
        MX_TRY(ready_measure(shape, &ready));
        out->ready = ready.parameters_bytes;
    }
out:
    return rc;
}

static int memory_list(const struct mx_trainer_options *o, const struct mx_trainer_shape *shape,
                       struct mx_trainer_memory_plan *plan)
{
    int rc = 0;
    struct mx_feed_memory_plan feed;
    struct parts_memory parts;
    const struct mx_replica_memory_plan *const v = &parts.vocoder;
    const struct mx_feed_options how = mx_trainer_feed_options(o, shape);
    const struct mx_batch_builder_options batch = mx_trainer_batch_options(o, shape);
    const bool evaluation = mx_trainer_evaluates(o, shape);
    MX_TRY(parts_measure(o, shape, &parts));
    mx_feed_memory_plan(&how, &feed);
    memory_add(plan, "data slots", MX_PLACE_DATA, feed.data_slots);
    memory_add(plan, "features", MX_PLACE_DATA, feed.features);
    replica_list(&parts.twin, MX_PLACE_DATA, plan);
    memory_add(plan, "replica slots", MX_PLACE_DATA, feed.replica_slots);
    replica_list(&parts.own, MX_PLACE_MODEL, plan);
    memory_add(plan, MX_TRAINER_OWNER_VOCODER, MX_PLACE_MODEL,
               v->parameters + v->gradients + v->moments + v->average + v->activations + parts.ready);
    memory_add(plan, "work of operations", MX_PLACE_MODEL, v->work);
    memory_add(plan, "model slots", MX_PLACE_MODEL, feed.model_slots);
    memory_add(plan, "evaluation", MX_PLACE_MODEL, evaluation ? mx_batch_builder_bytes(&batch) : 0);
    memory_add(plan, "host slots", MX_PLACE_HOST,
               feed.host_slots + (evaluation ? mx_host_batch_bytes(shape->source, &shape->capacity) : 0));
    memory_add(plan, "features", MX_PLACE_HOST, feed.features_host);
    memory_add(plan, "evaluation", MX_PLACE_HOST, evaluation ? mx_batch_builder_host_bytes(&batch) : 0);
    memory_add(plan, "results", MX_PLACE_HOST, parts.own.results + parts.twin.results + v->results);
    memory_add(plan, "synthesis", MX_PLACE_HOST, parts.own.network + parts.twin.network);
    memory_add(plan, "divided batches", MX_PLACE_HOST,
               feed.data_slots_host + feed.model_slots_host + feed.replica_slots_host);
    plan->host_slots = how.host_slots;
    plan->host_slot_bytes = mx_host_batch_bytes(shape->source, &shape->capacity);
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
    const struct mx_recipe *const recipe = mx_recipe_or_default(o->recipe);
    MX_TRY(mx_trainer_shape_open(o, &shape));
    if (!o->vocoder_alone) MX_TRY(mx_model_memory_plan(&o->model, &shape.capacity.model, MX_MODEL_TRAIN, &out->model));
    if (mx_trainer_trains(o, MX_PART_VOCODER))
        MX_TRY(mx_vocoder_memory_plan(&shape.vocoder.vocoder, &shape.vocoder.vocoder_capacity, MX_MODEL_TRAIN,
                                      &out->vocoder));
    else if (o->with_vocoder)
        MX_TRY(ready_measure(&shape, &out->vocoder));
    MX_TRY(mx_trainer_vocoder_share(o, &shape, &out->vocoder_share));
    out->capacity = shape.capacity;
    MX_TRY(memory_list(o, &shape, out));
    out->utterances = shape.training_count;
    out->validation = shape.validation_count;
    out->batch_frames = shape.batch_frames;
    for (uint32_t i = 0; i < shape.training_count; i++)
        out->seconds += mx_batch_source_frames(shape.source, shape.training[i]) * (double)recipe->hop / recipe->rate;
    out->epoch_batches = mx_sampler_steps(shape.sampler);
    out->epoch_steps = ((int64_t)out->epoch_batches + o->grad_accum - 1) / o->grad_accum;
out:
    mx_trainer_shape_close(&shape);
    return rc;
}
