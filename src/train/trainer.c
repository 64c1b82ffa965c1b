/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The trainer, see trainer.h. (Its steps: step.c; evaluation: evaluate.c.)
 */
#include "train/trainer.h"

#include "base/alloc.h"
#include "myxtts/error.h"
#include "train/trainer_work.h"

/* ---- shape ---- */

static void shape_close(struct mx_trainer_shape *shape)
{
    mx_sampler_destroy(shape->sampler);
    mx_assembly_destroy(shape->assembly);
    mx_free(shape->training);
}

/* The two lists of utterances. */
static int lists_make(const struct mx_trainer_options *o, struct mx_trainer_shape *shape)
{
    const uint32_t count = mx_dataset_count(o->dataset);
    uint32_t validation = 0;
    for (uint32_t i = 0; i < count; i++) validation += mx_dataset_utterance(o->dataset, i)->validation;
    if (validation == count)
        return MX_FAIL(MX_ERR_DATA, "'myxtts check' tells what is wrong with the corpus",
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

static int shape_open(const struct mx_trainer_options *o, struct mx_trainer_shape *shape)
{
    int rc = 0;
    uint32_t *frames = NULL;
    const struct mx_assembly_options how = {
        .dataset = o->dataset, .normaliser = o->normaliser, .seed = o->seed, .reference_seconds = o->reference_seconds};
    const struct mx_sampler_options order = {
        .seed = o->seed, .world = 1, .batch_size = o->batch_size, .frame_budget = o->batch_frames};
    shape->features = mx_dataset_kind(o->dataset) == MX_PACKED_FEATURES;
    MX_TRY(lists_make(o, shape));
    MX_TRY(mx_assembly_create(&how, &shape->assembly));
    frames = mx_alloc(shape->training_count, sizeof *frames);
    if (frames == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < shape->training_count; i++)
        frames[i] = mx_assembly_frames(shape->assembly, shape->training[i]);
    MX_TRY(mx_sampler_create(&order, shape->training, frames, shape->training_count, &shape->sampler));
    /* Validation utterances count, too: they lie behind the others in the same block. */
    MX_TRY(mx_assembly_capacity(shape->assembly, shape->training, shape->training_count + shape->validation_count,
                                o->batch_size, o->batch_frames, &shape->capacity));
    MX_TRY(mx_slot_capacity_stretch(&shape->capacity, o->flow.augment.speed));
    if (o->flow.static_shapes) MX_TRY(mx_slot_capacity_round(&shape->capacity));
out:
    mx_free(frames);
    return rc;
}

static int options_check(const struct mx_trainer_options *o)
{
    int rc = 0;
    const struct mx_augment_options *const a = &o->flow.augment;
    MX_TRY(mx_schedule_check(&o->schedule));
    MX_TRY(mx_model_config_check(&o->model));
    if (o->grad_accum < 1 || o->workers < 1 || o->prefetch < 1 || (o->batch_size == 0 && o->batch_frames == 0))
        MX_RAISE(MX_ERR_CONFIG, "batch size, batches of a step, loader threads and prefetched batches begin at 1",
                 "training of %u utterances a batch, %d batches a step, with %d threads cannot be",
                 (unsigned)o->batch_size, (int)o->grad_accum, (int)o->workers);
    if (o->flow.buffer < 0 || o->flow.workers_max < 0)
        MX_RAISE(MX_ERR_CONFIG, "both begin at 1; 0 is the default", "a buffer of %d batches and %d threads cannot be",
                 (int)o->flow.buffer, (int)o->flow.workers_max);
    MX_TRY(mx_augment_check(a));
    if (mx_dataset_kind(o->dataset) == MX_PACKED_FEATURES && (a->gain_db > 0 || a->noise_share > 0 || a->speed > 0))
        MX_RAISE(MX_ERR_CONFIG, "prepare the corpus without '--features', or only mask bands and times",
                 "gain, noise and speed cannot change features that come ready from the corpus");
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

static struct mx_device *data_device(const struct mx_trainer_options *o)
{
    return o->flow.data_device != NULL ? o->flow.data_device : o->device;
}

/* The rings: on one device the batches that are trained on lie in the data ring; on two, those of a step, one that
 * waits and one that arrives have a ring of their own. A host slot for each thread that loads, and those kept ready. */
static struct mx_feed_options feed_options(const struct mx_trainer_options *o, const struct mx_trainer_shape *shape)
{
    const struct mx_trainer_flow *const f = &o->flow;
    const bool two = data_device(o) != o->device;
    const int32_t workers = f->workers_max > o->workers ? f->workers_max : o->workers;
    const int32_t buffer = f->buffer > 0 ? f->buffer : MX_PIPELINE_DEPTH;
    return (struct mx_feed_options){.assembly = shape->assembly,
                                    .sampler = shape->sampler,
                                    .data = data_device(o),
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
                                    .model_slots = two ? o->grad_accum + MX_PIPELINE_BUFFERS - 1 : 0};
}

/* Of evaluations, which make their batches where the model is. */
static struct mx_batch_options batch_options(const struct mx_trainer_options *o, const struct mx_trainer_shape *shape)
{
    return (struct mx_batch_options){
        .capacity = shape->capacity, .normaliser = o->normaliser, .features = shape->features, .owner = "evaluation"};
}

static bool evaluates(const struct mx_trainer_options *o, const struct mx_trainer_shape *shape)
{
    return shape->validation_count > 0 && o->validation_limit > 0;
}

static size_t result_floats(const struct mx_trainer_options *o, const struct mx_trainer_shape *shape)
{
    return (size_t)o->grad_accum * MX_MODEL_LOSSES * (size_t)shape->capacity.model.sequences;
}

static void memory_add(struct mx_trainer_plan *plan, const char *owner, enum mx_trainer_place place, uint64_t bytes)
{
    uint64_t *const sums[] = {&plan->data_bytes, &plan->model_bytes, &plan->host_bytes};
    if (bytes == 0) return;
    plan->memory[plan->memory_count++] = (struct mx_trainer_memory){owner, place, bytes};
    *sums[place] += bytes;
}

static void memory_list(const struct mx_trainer_options *o, const struct mx_trainer_shape *shape,
                        struct mx_trainer_plan *plan)
{
    struct mx_feed_plan feed;
    const struct mx_feed_options how = feed_options(o, shape);
    const struct mx_batch_options batch = batch_options(o, shape);
    const struct mx_model_plan *const m = &plan->model;
    const bool evaluation = evaluates(o, shape);
    mx_feed_plan(&how, &feed);
    memory_add(plan, "data slots", MX_PLACE_DATA, feed.data_slots);
    memory_add(plan, "features", MX_PLACE_DATA, feed.features);
    memory_add(plan, "parameters", MX_PLACE_MODEL, m->parameters_bytes);
    memory_add(plan, "gradients", MX_PLACE_MODEL, m->gradients_bytes + MX_TRAINER_NORM_BYTES);
    memory_add(plan, "moments", MX_PLACE_MODEL, m->moments_bytes);
    memory_add(plan, "averaged weights", MX_PLACE_MODEL, m->ema_bytes);
    memory_add(plan, "activations", MX_PLACE_MODEL, m->activations_bytes);
    memory_add(plan, "model slots", MX_PLACE_MODEL, feed.model_slots);
    memory_add(plan, "evaluation", MX_PLACE_MODEL, evaluation ? mx_batch_bytes(&batch) : 0);
    memory_add(plan, "host slots", MX_PLACE_HOST,
               feed.host_slots + (evaluation ? mx_slot_bytes(shape->assembly, &shape->capacity) : 0));
    memory_add(plan, "features", MX_PLACE_HOST, feed.features_host);
    memory_add(plan, "evaluation", MX_PLACE_HOST, evaluation ? mx_maker_host_bytes(&batch) : 0);
    memory_add(plan, "results", MX_PLACE_HOST, (result_floats(o, shape) + 4) * sizeof(float));
    memory_add(plan, "synthesis", MX_PLACE_HOST, mx_model_host_bytes(&shape->capacity.model));
    plan->host_slots = how.host_slots;
    plan->data_slots = how.data_slots;
    plan->model_slots = how.model_slots;
    plan->device_bytes = plan->model_bytes + (data_device(o) == o->device ? plan->data_bytes : 0);
}

int mx_trainer_plan(const struct mx_trainer_options *o, struct mx_trainer_plan *out)
{
    int rc = 0;
    struct mx_trainer_shape shape = {0};
    *out = (struct mx_trainer_plan){0};
    MX_TRY(options_check(o));
    MX_TRY(shape_open(o, &shape));
    MX_TRY(mx_model_plan(&o->model, &shape.capacity.model, MX_MODEL_TRAIN, &out->model));
    out->capacity = shape.capacity;
    memory_list(o, &shape, out);
    out->utterances = shape.training_count;
    out->validation = shape.validation_count;
    out->epoch_batches = mx_sampler_steps(shape.sampler);
    out->epoch_steps = ((int64_t)out->epoch_batches + o->grad_accum - 1) / o->grad_accum;
out:
    shape_close(&shape);
    return rc;
}

/* ---- life ---- */

/* The flat buffers, with the weights of a new run. */
static int buffers_take(struct mx_trainer *t)
{
    int rc = 0;
    const struct mx_parameters *const table = mx_model_parameters(t->model);
    const size_t bytes = (size_t)table->floats * sizeof(float);
    struct mx_device *const device = t->options.device;
    float *const initial = mx_alloc(1, bytes);
    if (initial == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_buffer_create(device, "parameters", bytes, &t->weights));
    MX_TRY(mx_buffer_create(device, "gradients", bytes + MX_TRAINER_NORM_BYTES, &t->gradients));
    MX_TRY(mx_buffer_create(device, "moments", 2 * bytes, &t->moments));
    MX_TRY(mx_buffer_create(device, "averaged weights", bytes, &t->average));
    MX_TRY(mx_fill(t->stream, &(struct mx_fill_args){.x = mx_slice_at(t->moments, 0), .count = 2 * table->floats}));
    mx_parameters_init(table, t->options.seed, initial);
    MX_TRY(mx_copy_upload(t->stream, mx_slice_at(t->weights, 0), initial, bytes));
    MX_TRY(mx_copy_upload(t->stream, mx_slice_at(t->average, 0), initial, bytes));
    MX_TRY(mx_stream_sync(t->stream));
out:
    if (rc < 0 && t->stream != NULL) (void)mx_stream_sync(t->stream);
    mx_free(initial);
    return rc;
}

int mx_trainer_create(const struct mx_trainer_options *options, struct mx_trainer **out)
{
    int rc = 0;
    void *host = NULL;
    struct mx_trainer *t = mx_alloc(1, sizeof *t);
    *out = NULL;
    if (t == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    t->options = *options;
    MX_TRY(options_check(options));
    MX_TRY(shape_open(options, &t->shape));
    const struct mx_batch_options batch = batch_options(options, &t->shape);
    const struct mx_feed_options feed = feed_options(options, &t->shape);
    MX_TRY(mx_stream_create(options->device, "train", &t->stream));
    MX_TRY(mx_model_create(options->device, t->stream, &options->model, &t->shape.capacity.model, MX_MODEL_TRAIN,
                           &t->model));
    MX_TRY(buffers_take(t));
    MX_TRY(mx_feed_create(&feed, &t->feed));
    const size_t numbers = result_floats(options, &t->shape);
    MX_TRY(mx_host_alloc(options->device, "results", (numbers + 4) * sizeof(float), &host));
    t->losses = host;
    t->norm = t->losses + numbers;
    t->held = mx_alloc((size_t)options->grad_accum, sizeof(const struct mx_parcel *));
    if (t->held == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    if (evaluates(options, &t->shape)) {
        MX_TRY(mx_batch_create(options->device, t->stream, &batch, &t->batch));
        MX_TRY(mx_evaluator_create(t, &t->evaluator));
    }
    *out = t;
    t = NULL;
out:
    mx_trainer_destroy(t);
    return rc;
}

void mx_trainer_destroy(struct mx_trainer *t)
{
    if (t == NULL) return;
    if (t->stream != NULL) (void)mx_stream_sync(t->stream); /* after a failure something may still be under way */
    mx_pipeline_destroy(t->pipeline);
    mx_feed_destroy(t->feed);
    mx_evaluator_destroy(t->evaluator);
    mx_free(t->held);
    mx_host_release(t->options.device, t->losses);
    mx_buffer_release(t->weights);
    mx_buffer_release(t->gradients);
    mx_buffer_release(t->moments);
    mx_buffer_release(t->average);
    mx_batch_destroy(t->batch);
    mx_model_destroy(t->model);
    mx_stream_release(t->stream);
    shape_close(&t->shape);
    mx_free(t);
}

int mx_trainer_start(struct mx_trainer *t, const struct mx_trainer_state *state)
{
    int rc = 0;
    const struct mx_trainer_flow *const f = &t->options.flow;
    struct mx_pipeline_options options = {.workers_active = t->options.workers,
                                          .held = t->options.grad_accum,
                                          .sequential = f->sequential,
                                          .auto_tune = f->auto_tune,
                                          .start_delay = f->start_delay,
                                          .spans = f->spans};
    if (t->pipeline != NULL) MX_RAISE(MX_ERR_ARGUMENT, "make another trainer", "this trainer has been started already");
    if (state != NULL) t->state = *state;
    mx_feed_begin(t->feed, t->state.epoch, t->state.batch);
    mx_feed_connect(t->feed, &options);
    MX_TRY(mx_pipeline_create(&options, &t->pipeline));
    mx_monitor_start(&t->monitor, t->pipeline, data_device(&t->options), t->options.device);
out:
    return rc;
}

struct mx_pipeline *mx_trainer_pipeline(const struct mx_trainer *t)
{
    return t->pipeline;
}

void mx_trainer_watch(struct mx_trainer *t, const atomic_bool *stop)
{
    mx_feed_watch(t->feed, stop);
}

/* ---- the arrays ---- */

struct pair {
    float *host;
    struct mx_slice device;
};

static void pairs_of(struct mx_trainer *t, const struct mx_trainer_arrays *arrays, struct pair pairs[4])
{
    pairs[0] = (struct pair){arrays->weights, mx_slice_at(t->weights, 0)};
    pairs[1] = (struct pair){arrays->average, mx_slice_at(t->average, 0)};
    pairs[2] = (struct pair){arrays->moment1, mx_trainer_moment(t, 1)};
    pairs[3] = (struct pair){arrays->moment2, mx_trainer_moment(t, 2)};
}

int mx_trainer_read(struct mx_trainer *t, const struct mx_trainer_arrays *arrays)
{
    int rc = 0;
    struct pair pairs[4];
    const size_t bytes = (size_t)mx_trainer_parameters(t)->floats * sizeof(float);
    if (t->pipeline != NULL) mx_pipeline_rest(t->pipeline);
    pairs_of(t, arrays, pairs);
    for (int i = 0; i < 4; i++)
        if (pairs[i].host != NULL) MX_TRY(mx_copy_download(t->stream, pairs[i].host, pairs[i].device, bytes));
    MX_TRY(mx_stream_sync(t->stream));
out:
    return rc;
}

int mx_trainer_write(struct mx_trainer *t, const struct mx_trainer_arrays *arrays)
{
    int rc = 0;
    struct pair pairs[4];
    const size_t bytes = (size_t)mx_trainer_parameters(t)->floats * sizeof(float);
    pairs_of(t, arrays, pairs);
    for (int i = 0; i < 4; i++)
        if (pairs[i].host != NULL) MX_TRY(mx_copy_upload(t->stream, pairs[i].device, pairs[i].host, bytes));
    MX_TRY(mx_stream_sync(t->stream));
out:
    return rc;
}

/* ---- questions ---- */

const struct mx_trainer_options *mx_trainer_options(const struct mx_trainer *t)
{
    return &t->options;
}

const struct mx_trainer_state *mx_trainer_state(const struct mx_trainer *t)
{
    return &t->state;
}

const struct mx_parameters *mx_trainer_parameters(const struct mx_trainer *t)
{
    return mx_model_parameters(t->model);
}

uint32_t mx_trainer_validation_count(const struct mx_trainer *t)
{
    return t->shape.validation_count;
}

const uint32_t *mx_trainer_validation(const struct mx_trainer *t)
{
    return t->shape.validation;
}

struct mx_trainer_voice mx_trainer_voice(const struct mx_trainer *t)
{
    return (struct mx_trainer_voice){t->model, t->stream, mx_slice_at(t->average, 0)};
}
