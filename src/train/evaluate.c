/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Evaluation on the utterances kept for validation, see trainer.h: their losses with true durations, their sound when
 * they are actually spoken (listen.h), and the vocoder's losses on segments of them, always the same ones and never
 * augmented.
 *
 * It uses the trainer's networks, batch and stream between steps, with the averaged weights. Anything else it needs is
 * allocated when the trainer is created.
 */
#include <math.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "train/listen.h"
#include "train/trainer_internal.h"

struct mx_evaluator {
    struct mx_dataset_reader *reader;
    struct mx_host_batch *host;
    struct mx_listener *listener;       /* NULL, and no room for pictures, if the vocoder is alone */
    float *target, *prediction, *means; /* of a picture: [longest frames, bands] twice, [longest tokens, bands] */
    int32_t *durations;                 /* [longest tokens] */
    uint32_t *crops;                    /* [sequences of a batch]; NULL unless the vocoder is alone */
};

void mx_evaluator_destroy(struct mx_evaluator *e)
{
    if (e == NULL) return;
    mx_listener_destroy(e->listener);
    mx_dataset_reader_destroy(e->reader);
    mx_host_batch_destroy(e->host);
    mx_free(e->target);
    mx_free(e->prediction);
    mx_free(e->means);
    mx_free(e->durations);
    mx_free(e->crops);
    mx_free(e);
}

/* Options of speaking and of keeping a picture. */
static int speaking_prepare(struct mx_trainer *t, struct mx_evaluator *e)
{
    int rc = 0;
    const struct mx_trainer_voice voice = mx_trainer_voice(t);
    const struct mx_listener_options parts = {.source = t->shape.source,
                                              .reader = e->reader,
                                              .host = e->host,
                                              .batch = t->batch,
                                              .stream = voice.stream,
                                              .model = voice.model,
                                              .weights = voice.average};
    MX_TRY(mx_listener_create(&parts, &e->listener));
    const struct mx_model_capacity *const c = &t->shape.capacity.model;
    const size_t bands = (size_t)t->options.model.bands;
    e->target = mx_alloc((size_t)c->longest_frames * bands, sizeof(float));
    e->prediction = mx_alloc((size_t)c->longest_frames * bands, sizeof(float));
    e->means = mx_alloc((size_t)c->longest_tokens * bands, sizeof(float));
    e->durations = mx_alloc((size_t)c->longest_tokens, sizeof(int32_t));
    if (e->target == NULL || e->prediction == NULL || e->means == NULL || e->durations == NULL)
        MX_TRY(MX_ERR_NO_MEMORY);
out:
    return rc;
}

int mx_evaluator_create(struct mx_trainer *t, struct mx_evaluator **out)
{
    int rc = 0;
    struct mx_evaluator *e = mx_alloc(1, sizeof *e);
    *out = NULL;
    if (e == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_dataset_reader_create(t->options.dataset, &e->reader));
    MX_TRY(mx_host_batch_create(t->shape.source, t->options.device, &t->shape.capacity, &e->host));
    if (!t->options.vocoder_alone) {
        MX_TRY(speaking_prepare(t, e));
    } else {
        e->crops = mx_alloc((size_t)t->shape.capacity.model.sequences, sizeof *e->crops);
        if (e->crops == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    }
    *out = e;
    e = NULL;
out:
    mx_evaluator_destroy(e);
    return rc;
}
/* ---- losses ---- */

/* How many of the utterances fit into one batch; at least one. With a vocoder it is one: the segments of a batch are
 * few, and each utterance should have some. */
static uint32_t fitting(const struct mx_trainer *t, const uint32_t *utterances, uint32_t count)
{
    const struct mx_model_capacity *const c = &t->shape.capacity.model;
    const uint32_t most = t->shape.segments.count > 0 ? 1 : (uint32_t)c->sequences;
    int64_t frames = 0, tokens = 0;
    uint32_t n = 0;
    while (n < count && n < most) {
        frames += mx_batch_source_frames(t->shape.source, utterances[n]);
        tokens += mx_dataset_utterance(t->options.dataset, utterances[n])->tokens;
        if (n > 0 && (frames > c->frames || tokens > c->tokens)) break;
        n++;
    }
    return n;
}

/* Sums of losses, and the rows that they are of. */
struct sums {
    int64_t tokens, frames;
};

/* Adds the vocoder's sums on the segments of the batch that is on the device. */
static int segments_evaluate(struct mx_trainer *t, struct mx_trainer_evaluation *out)
{
    int rc = 0;
    const struct mx_trainer_part *const p = mx_trainer_part(t, MX_PART_VOCODER);
    const struct mx_device_batch *const batch = mx_batch_builder_own(t->batch);
    if (p == NULL || batch->segment_count == 0) return 0;
    const struct mx_replica *const own = p->replicas[0];
    MX_TRY(mx_vocoder_evaluate(own->network->vocoder, t->stream, mx_slice_at(own->average, 0), &batch->vocoder,
                               own->losses));
    MX_TRY(mx_stream_sync(t->stream));
    const struct mx_vocoder_losses sums =
        mx_vocoder_losses_of(&t->shape.vocoder.vocoder, own->losses, batch->segment_count, -1, 1);
    for (int k = 0; k < MX_VOCODER_LOSSES; k++) out->vocoder.values[k] += sums.values[k];
    out->vocoder_frames += batch->vocoder.frames.rows;
out:
    return rc;
}

/* Adds the sums of one batch of utterances, or crops, to out->losses. */
static int batch_evaluate(struct mx_trainer *t, const uint32_t *items, uint32_t count,
                          struct mx_trainer_evaluation *out, struct sums *of)
{
    int rc = 0;
    const struct mx_model_batch *const batch = &mx_batch_builder_own(t->batch)->batch;
    struct mx_host_batch *const host = t->evaluator->host;
    const struct mx_trainer_part *const p = mx_trainer_part(t, MX_PART_ACOUSTIC);
    MX_TRY(mx_host_batch_fill(host, t->evaluator->reader, MX_LISTEN_EPOCH, 0, items, count));
    if (host->count == 0) return 0;
    MX_TRY(mx_batch_builder_run(t->batch, t->stream, host, NULL));
    if (p != NULL) {
        const struct mx_replica *const own = p->replicas[0];
        MX_TRY(mx_model_evaluate(own->network->model, t->stream, mx_slice_at(own->average, 0), batch, own->losses));
        MX_TRY(mx_stream_sync(t->stream));
        const struct mx_model_losses sums = mx_model_losses_of(&t->options.model, own->losses, host->count, -1, 1, 1);
        for (int k = 0; k < MX_MODEL_LOSSES; k++) out->losses.values[k] += sums.values[k];
    }
    MX_TRY(segments_evaluate(t, out));
    of->tokens += host->tokens;
    of->frames += host->frames;
    out->utterances += (uint32_t)host->count;
out:
    return rc;
}

void mx_trainer_evaluation_watch(struct mx_trainer *t, void (*call)(void *context, double done), void *context,
                                 const atomic_bool *stop)
{
    t->evaluation_report = call;
    t->evaluation_context = context;
    t->evaluation_stop = stop;
}

/* `done` of the looks at utterances, of which there are `all`. */
static int progress_report(const struct mx_trainer *t, uint32_t done, uint32_t all)
{
    if (t->evaluation_report != NULL) t->evaluation_report(t->evaluation_context, done / (double)all);
    if (t->evaluation_stop == NULL || !atomic_load(t->evaluation_stop)) return 0;
    return MX_FAIL(MX_ERR_INTERRUPTED, NULL, "the evaluation was interrupted");
}

/* Some crops of an utterance: as many as a batch has room for. */
static int crops_evaluate(struct mx_trainer *t, uint32_t utterance, struct mx_trainer_evaluation *out, struct sums *of)
{
    int rc = 0;
    uint32_t first;
    const uint32_t before = out->utterances, count = mx_batch_source_crops(t->shape.source, utterance, &first);
    const uint32_t most = (uint32_t)t->shape.capacity.model.sequences, some = count < most ? count : most;
    for (uint32_t i = 0; i < some; i++) t->evaluator->crops[i] = first + i;
    MX_TRY(batch_evaluate(t, t->evaluator->crops, some, out, of));
    if (out->utterances > before) out->utterances = before + 1;
out:
    return rc;
}

static int losses_evaluate(struct mx_trainer *t, uint32_t count, uint32_t looks, struct mx_trainer_evaluation *out)
{
    int rc = 0;
    struct sums of = {0};
    const uint32_t *const list = t->shape.validation;
    for (uint32_t at = 0; at < count;) {
        const uint32_t some = t->options.vocoder_alone ? 1 : fitting(t, list + at, count - at);
        if (t->options.vocoder_alone)
            MX_TRY(crops_evaluate(t, list[at], out, &of));
        else
            MX_TRY(batch_evaluate(t, list + at, some, out, &of));
        at += some;
        MX_TRY(progress_report(t, at, looks));
    }
    if (of.frames == 0) return 0;
    mx_model_losses_finish(&out->losses, &t->options.model.weights, of.tokens, of.frames);
    mx_vocoder_losses_finish(&out->vocoder, &t->options.vocoder.weights, out->vocoder_frames);
    for (int k = 0; t->options.vocoder_alone && k < MX_MODEL_LOSSES; k++) out->losses.values[k] = (double)NAN;
    if (t->options.vocoder_alone) out->losses.total = out->vocoder.total;
out:
    return rc;
}

int mx_trainer_evaluate(struct mx_trainer *t, struct mx_trainer_evaluation *out)
{
    int rc = 0;
    struct mx_spoken_sums sums = {0};
    const struct mx_trainer_part *const first = &t->parts[0];
    const uint32_t *const list = t->shape.validation;
    const uint32_t limit = t->options.validation_limit, all = t->shape.validation_count;
    const uint32_t count = limit < all ? limit : all;
    const uint32_t looks = t->options.vocoder_alone ? count : 2 * count; /* at each utterance */
    *out = (struct mx_trainer_evaluation){.vocoder_alone = t->options.vocoder_alone,
                                          .mel_db = (double)NAN,
                                          .duration_error = (double)NAN,
                                          .pitch_error = (double)NAN};
    if (count == 0) return 0;
    if (t->pipeline != NULL) mx_pipeline_rest(t->pipeline);
    if (first->at_work > 1) MX_TRY(mx_replica_take_average(first->replicas[0], first->replicas[1]));
    MX_TRY(losses_evaluate(t, count, looks, out));
    if (out->utterances == 0 || t->options.vocoder_alone) return 0;
    for (uint32_t i = 0; i < count; i++) {
        struct mx_spoken one;
        MX_TRY(mx_listener_speak(t->evaluator->listener, list[i], &one));
        mx_spoken_add(&sums, &one);
        MX_TRY(progress_report(t, count + i + 1, looks));
    }
    out->spoken = sums.spoken;
    out->too_long = sums.too_long;
    out->mel_db = mx_spoken_mel_db(&sums);
    out->duration_error = mx_spoken_duration_error(&sums);
    out->pitch_error = mx_spoken_pitch_error(&sums);
out:
    return rc;
}

/* ---- a picture ---- */

static void denormalise(const struct mx_normaliser *n, float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) values[i] = (float)(n->mel_mean + n->mel_deviation * (double)values[i]);
}

int mx_trainer_picture(struct mx_trainer *t, struct mx_trainer_picture *out)
{
    int rc = 0;
    struct mx_evaluator *const e = t->evaluator;
    const struct mx_trainer_voice voice = mx_trainer_voice(t);
    const size_t bands = (size_t)t->options.model.bands;
    *out = (struct mx_trainer_picture){0};
    if (e == NULL || e->listener == NULL) return 0;
    if (t->pipeline != NULL) mx_pipeline_rest(t->pipeline);
    for (uint32_t i = 0; i < t->shape.validation_count; i++) {
        MX_TRY(mx_host_batch_fill(e->host, e->reader, MX_LISTEN_EPOCH, 0, &t->shape.validation[i], 1));
        if (e->host->count > 0) break;
    }
    if (e->host->count == 0) return 0;
    const size_t frames = (size_t)e->host->frames, tokens = (size_t)e->host->tokens;
    const struct mx_model_batch *const batch = &mx_batch_builder_own(t->batch)->batch;
    MX_TRY(mx_batch_builder_run(t->batch, voice.stream, e->host, NULL));
    MX_TRY(mx_model_evaluate(voice.model, voice.stream, voice.average, batch, NULL));
    const struct mx_model_view view = mx_model_view(voice.model);
    MX_TRY(mx_copy_download(voice.stream, e->target, batch->mel, frames * bands * sizeof(float)));
    MX_TRY(mx_copy_download(voice.stream, e->prediction, view.mel, frames * bands * sizeof(float)));
    MX_TRY(mx_copy_download(voice.stream, e->means, view.means, tokens * bands * sizeof(float)));
    MX_TRY(mx_copy_download(voice.stream, e->durations, view.durations, tokens * sizeof(int32_t)));
    MX_TRY(mx_stream_sync(voice.stream));
    denormalise(&t->options.normaliser, e->target, frames * bands);
    denormalise(&t->options.normaliser, e->prediction, frames * bands);
    denormalise(&t->options.normaliser, e->means, tokens * bands);
    *out = (struct mx_trainer_picture){.frames = (int32_t)frames,
                                       .tokens = (int32_t)tokens,
                                       .bands = (int32_t)bands,
                                       .target = e->target,
                                       .prediction = e->prediction,
                                       .means = e->means,
                                       .durations = e->durations};
out:
    return rc;
}
