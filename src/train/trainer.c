/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The trainer, see trainer.h. (Planning: trainer_memory.c; steps: step.c; evaluation: evaluate.c.)
 */
#include "train/trainer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "myxtts/error.h"
#include "train/trainer_internal.h"

/* ---- life ---- */

/* A part with its replicas, and the weights of a new run. */
static int part_create(struct mx_trainer *t, enum mx_part which)
{
    int rc = 0;
    float *initial = NULL;
    struct mx_replica_options options[MX_TRAINER_REPLICAS];
    struct mx_trainer_part *const p = &t->parts[t->part_count];
    const int count = mx_trainer_replica_options(&t->options, &t->shape, which, options);
    if (count <= 0) return count;
    options[0].stream = t->stream;
    t->part_count++;
    *p = (struct mx_trainer_part){.which = which,
                                  .network = options[0].network,
                                  .optimizer =
                                      which == MX_PART_VOCODER ? &t->options.vocoder.optimizer : &t->options.optimizer,
                                  .replica_count = count,
                                  .at_work = 1}; /* the other one gets everything when it begins */
    for (int32_t r = 0; r < count; r++) MX_TRY(mx_replica_create(&options[r], &p->replicas[r]));
    if (t->stream == NULL) t->stream = p->replicas[0]->stream;
    initial = mx_alloc((size_t)p->replicas[0]->floats, sizeof *initial);
    if (initial == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    mx_parameters_init(mx_network_parameters(p->replicas[0]->network), t->options.seed, initial);
    MX_TRY(mx_replica_begin(p->replicas[0], initial));
out:
    mx_free(initial);
    return rc;
}

/* The place of a vocoder that is ready. Until its weights are written it is untrained. */
static int ready_create(struct mx_trainer *t)
{
    int rc = 0;
    float *initial = NULL;
    if (!t->options.with_vocoder || !t->options.vocoder.ready) return 0;
    MX_TRY(mx_vocoder_parameters_create(&t->shape.vocoder.vocoder, &t->ready_table));
    const size_t bytes = (size_t)t->ready_table->floats * sizeof(float);
    MX_TRY(mx_buffer_create(t->options.device, MX_TRAINER_OWNER_VOCODER, bytes, &t->ready_weights));
    initial = mx_alloc(1, bytes);
    if (initial == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    mx_parameters_init(t->ready_table, t->options.seed, initial);
    MX_TRY(mx_copy_upload(t->stream, mx_slice_at(t->ready_weights, 0), initial, bytes));
    MX_TRY(mx_stream_sync(t->stream));
out:
    mx_free(initial);
    return rc;
}

int mx_trainer_create(const struct mx_trainer_options *options, struct mx_trainer **out)
{
    int rc = 0;
    struct mx_trainer *t = mx_alloc(1, sizeof *t);
    *out = NULL;
    if (t == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    t->options = *options;
    MX_TRY(mx_trainer_options_check(options));
    MX_TRY(mx_trainer_shape_open(options, &t->shape));
    const struct mx_batch_builder_options batch = mx_trainer_batch_options(options, &t->shape);
    const struct mx_feed_options feed = mx_trainer_feed_options(options, &t->shape);
    for (int part = 0; part < MX_PARTS; part++) MX_TRY(part_create(t, (enum mx_part)part));
    MX_TRY(ready_create(t));
    MX_TRY(mx_feed_create(&feed, &t->feed));
    t->held = mx_alloc((size_t)options->grad_accum, sizeof(const struct mx_device_batch *));
    t->counts = mx_alloc(mx_step_counts_size(options), sizeof *t->counts);
    if (t->held == NULL || t->counts == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    if (mx_trainer_evaluates(options, &t->shape)) {
        MX_TRY(mx_batch_builder_create(options->device, t->stream, &batch, &t->batch));
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
    for (int32_t p = 0; p < t->part_count; p++) /* after a failure something may still be under way */
        for (int32_t r = 0; r < t->parts[p].replica_count; r++)
            if (t->parts[p].replicas[r] != NULL) (void)mx_stream_sync(t->parts[p].replicas[r]->stream);
    mx_pipeline_destroy(t->pipeline);
    mx_feed_destroy(t->feed);
    mx_evaluator_destroy(t->evaluator);
    mx_free(t->held);
    mx_free(t->counts);
    mx_batch_builder_destroy(t->batch);
    mx_buffer_release(t->ready_weights);
    mx_parameters_destroy(t->ready_table);
    for (int32_t p = t->part_count - 1; p >= 0; p--) /* the first one owns the stream */
        for (int32_t r = 0; r < t->parts[p].replica_count; r++) mx_replica_destroy(t->parts[p].replicas[r]);
    mx_trainer_shape_close(&t->shape);
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
                                          .loaded_given = f->prefetch_given,
                                          .prepared_given = f->buffer_given,
                                          .start_delay = f->start_delay,
                                          .spans = f->spans};
    if (t->pipeline != NULL) MX_RAISE(MX_ERR_ARGUMENT, "make another trainer", "this trainer has been started already");
    if (state != NULL) t->state = *state;
    mx_share_control_begin(t);
    mx_feed_begin(t->feed, t->state.epoch, t->state.batch);
    mx_feed_connect(t->feed, &options);
    t->begin_ns = mx_clock_ns(); /* before the first batch is waited for */
    MX_TRY(mx_pipeline_create(&options, &t->pipeline));
    mx_flow_watch_start(&t->watch, t->pipeline, mx_trainer_data_device(&t->options), t->options.device);
out:
    return rc;
}

struct mx_pipeline *mx_trainer_pipeline(const struct mx_trainer *t)
{
    return t->pipeline;
}

const struct mx_pipeline_stats *mx_trainer_stats(const struct mx_trainer *t)
{
    return &t->watch.last;
}

void mx_trainer_begin_watch(struct mx_trainer *t, void (*call)(void *context), void *context)
{
    t->begin_call = call;
    t->begin_context = context;
}

void mx_trainer_reschedule(struct mx_trainer *t, const struct mx_schedule *acoustic, const struct mx_schedule *vocoder)
{
    t->options.optimizer.schedule = *acoustic;
    t->options.vocoder.optimizer.schedule = *vocoder;
}

void mx_trainer_watch(struct mx_trainer *t, const atomic_bool *stop)
{
    mx_feed_watch(t->feed, stop);
}

/* ---- the arrays ---- */

static int arrays_copy(const struct mx_trainer_part *p, const struct mx_trainer_arrays *arrays, bool read)
{
    int rc = 0;
    struct mx_replica_arrays parts = {.average = arrays->average};
    memcpy(parts.states, arrays->states, sizeof parts.states);
    for (int32_t r = 0; r < p->at_work; r++) {
        struct mx_replica *const own = p->replicas[r];
        const struct mx_slice weights = mx_slice_at(own->weights, 0);
        const size_t bytes = (size_t)own->floats * sizeof(float);
        if (arrays->weights != NULL && (!read || r == 0)) /* all have the same */
            MX_TRY(read ? mx_copy_download(own->stream, arrays->weights, weights, bytes)
                        : mx_copy_upload(own->stream, weights, arrays->weights, bytes));
        MX_TRY(read ? mx_replica_read(own, &parts) : mx_replica_write(own, &parts));
        MX_TRY(mx_stream_sync(own->stream));
    }
out:
    return rc;
}

static int ready_copy(const struct mx_trainer *t, float *weights, bool read)
{
    int rc = 0;
    const struct mx_slice there = mx_slice_at(t->ready_weights, 0);
    const size_t bytes = (size_t)t->ready_table->floats * sizeof(float);
    if (weights == NULL) return 0;
    MX_TRY(read ? mx_copy_download(t->stream, weights, there, bytes)
                : mx_copy_upload(t->stream, there, weights, bytes));
    MX_TRY(mx_stream_sync(t->stream));
out:
    return rc;
}

static int part_copy(struct mx_trainer *t, enum mx_part part, const struct mx_trainer_arrays *arrays, bool read)
{
    const struct mx_trainer_part *const p = mx_trainer_part(t, part);
    if (p != NULL) return arrays_copy(p, arrays, read);
    if (part == MX_PART_VOCODER && t->ready_table != NULL) return ready_copy(t, arrays->weights, read);
    return MX_FAIL(MX_ERR_ARGUMENT, "ask for its parameters first", "the trainer does not have this network");
}

int mx_trainer_read(struct mx_trainer *t, enum mx_part part, const struct mx_trainer_arrays *arrays)
{
    if (t->pipeline != NULL) mx_pipeline_rest(t->pipeline);
    return part_copy(t, part, arrays, true);
}

int mx_trainer_write(struct mx_trainer *t, enum mx_part part, const struct mx_trainer_arrays *arrays)
{
    return part_copy(t, part, arrays, false);
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

const struct mx_parameters *mx_trainer_parameters(const struct mx_trainer *t, enum mx_part part)
{
    for (int32_t p = 0; p < t->part_count; p++)
        if (t->parts[p].which == part) return mx_network_parameters(t->parts[p].replicas[0]->network);
    return part == MX_PART_VOCODER ? t->ready_table : NULL;
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
    struct mx_trainer_voice voice = {.stream = t->stream};
    for (int32_t i = 0; i < t->part_count; i++) {
        const struct mx_trainer_part *const p = &t->parts[i];
        struct mx_replica *const own = p->replicas[0];
        const struct mx_slice average = mx_slice_at(own->average, 0);
        if (p->which == MX_PART_VOCODER) {
            voice.vocoder = average;
            voice.vocoder_frozen = mx_slice_at(own->weights, 0);
            continue;
        }
        /* Queued before the next submission. If it cannot be queued, neither can that: the stream has failed. */
        if (p->at_work > 1) (void)mx_replica_take_average(own, p->replicas[1]);
        voice.model = own->network->model;
        voice.average = average;
    }
    if (t->ready_weights != NULL) voice.vocoder = mx_slice_at(t->ready_weights, 0);
    return voice;
}
