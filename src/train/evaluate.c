/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Evaluation on the utterances kept for validation, see trainer.h: their losses with true durations, and how they
 * sound when they are really spoken, one by one, with the voice of another utterance of the speaker.
 *
 * The trainer's model, batch and stream are used between steps, with the averaged weights. What is needed besides is
 * taken by the first evaluation and kept.
 */
#include <math.h>

#include "base/alloc.h"
#include "base/error.h"
#include "train/dtw.h"
#include "train/trainer_work.h"

#define DECIBELS    8.685889638065035 /* of one neper: 20/ln 10 */
#define PITCH_LEAST 20.0              /* Hz: a prediction below it is no pitch */
/* References are always those of one epoch, which training never comes to, so that evaluations can be compared. */
#define REFERENCE_EPOCH UINT32_MAX

struct mx_evaluator {
    struct mx_dataset_reader *reader;
    struct mx_slot *slot;
    float *spoken, *real;             /* mel [longest_frames, bands] */
    float *spoken_pitch;              /* [longest_tokens] */
    float *real_pitch, *frames_pitch; /* [longest_frames]: real, and spoken */
    void *scratch;                    /* of the warping */
    struct mx_dtw_pair *pairs;
};

void mx_evaluator_destroy(struct mx_evaluator *e)
{
    if (e == NULL) return;
    mx_dataset_reader_destroy(e->reader);
    mx_slot_destroy(e->slot);
    mx_free(e->spoken);
    mx_free(e->real);
    mx_free(e->spoken_pitch);
    mx_free(e->real_pitch);
    mx_free(e->frames_pitch);
    mx_free(e->scratch);
    mx_free(e->pairs);
    mx_free(e);
}

static int evaluator_create(struct mx_trainer *t, struct mx_evaluator **out)
{
    int rc = 0;
    const struct mx_model_capacity *const c = mx_model_capacity(t->model);
    const size_t frames = (size_t)c->longest_frames, bands = (size_t)t->options.model.bands;
    struct mx_evaluator *e = mx_alloc(1, sizeof *e);
    if (e == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_dataset_reader_create(t->options.dataset, &e->reader));
    MX_TRY(mx_slot_create(t->shape.assembly, t->options.device, &t->shape.capacity, &e->slot));
    e->spoken = mx_alloc(frames * bands, sizeof(float));
    e->real = mx_alloc(frames * bands, sizeof(float));
    e->spoken_pitch = mx_alloc((size_t)c->longest_tokens, sizeof(float));
    e->real_pitch = mx_alloc(frames, sizeof(float));
    e->frames_pitch = mx_alloc(frames, sizeof(float));
    e->scratch = mx_alloc(1, mx_dtw_bytes(c->longest_frames, c->longest_frames));
    e->pairs = mx_alloc(2 * frames, sizeof *e->pairs);
    if (e->spoken == NULL || e->real == NULL || e->spoken_pitch == NULL || e->real_pitch == NULL ||
        e->frames_pitch == NULL || e->scratch == NULL || e->pairs == NULL)
        MX_TRY(MX_ERR_NO_MEMORY);
    *out = e;
    e = NULL;
out:
    mx_evaluator_destroy(e);
    return rc;
}

/* ---- teacher-forced ---- */

/* How many of the utterances fit into one batch; at least one. */
static uint32_t fitting(const struct mx_trainer *t, const uint32_t *utterances, uint32_t count)
{
    const struct mx_model_capacity *const c = &t->shape.capacity.model;
    int64_t frames = 0, tokens = 0;
    uint32_t n = 0;
    while (n < count && n < (uint32_t)c->sequences) {
        frames += mx_assembly_frames(t->shape.assembly, utterances[n]);
        tokens += mx_dataset_utterance(t->options.dataset, utterances[n])->tokens;
        if (n > 0 && (frames > c->frames || tokens > c->tokens)) break;
        n++;
    }
    return n;
}

/* Adds the sums of one batch to out->losses; *tokens and *frames count. */
static int batch_evaluate(struct mx_trainer *t, const uint32_t *utterances, uint32_t count,
                          struct mx_trainer_evaluation *out, int64_t *tokens, int64_t *frames)
{
    int rc = 0;
    struct mx_model_batch batch;
    struct mx_slot *const slot = t->evaluator->slot;
    MX_TRY(mx_slot_fill(slot, t->evaluator->reader, REFERENCE_EPOCH, 0, utterances, count));
    if (slot->count == 0) return 0;
    MX_TRY(mx_batch_assemble(t->batch, t->stream, slot, &batch));
    MX_TRY(mx_model_evaluate(t->model, t->stream, mx_slice_at(t->average, 0), &batch, t->losses));
    MX_TRY(mx_stream_sync(t->stream));
    const struct mx_model_losses sums = mx_model_losses_of(&t->options.model, t->losses, slot->count, -1, 1, 1);
    for (int k = 0; k < MX_MODEL_LOSSES; k++) out->losses.values[k] += sums.values[k];
    *tokens += slot->tokens;
    *frames += slot->frames;
    out->utterances += (uint32_t)slot->count;
out:
    return rc;
}

/* Sums become means. */
static void losses_finish(const struct mx_trainer *t, struct mx_trainer_evaluation *out, int64_t tokens, int64_t frames)
{
    const struct mx_model_loss_weights *const w = &t->options.model.weights;
    const float weights[MX_MODEL_LOSSES] = {w->mel, w->prior, w->duration, w->pitch, w->energy};
    out->losses.total = 0;
    for (int k = 0; k < MX_MODEL_LOSSES; k++) {
        out->losses.values[k] /= (double)(k <= MX_LOSS_PRIOR ? frames : tokens);
        out->losses.total += (double)weights[k] * out->losses.values[k];
    }
}

/* ---- free-running ---- */

/* Sums over the utterances spoken so far. */
struct sums {
    double mel, duration, pitch;
    uint64_t voiced;
};

/* Compares what the evaluator holds: `spoken` and `real` frames. */
static void speech_compare(const struct mx_trainer *t, int32_t spoken, int32_t real, struct sums *sums)
{
    struct mx_evaluator *const e = t->evaluator;
    const struct mx_normaliser *const n = &t->options.normaliser;
    double cost;
    const int32_t pairs =
        mx_dtw_walk(e->spoken, spoken, e->real, real, t->options.model.bands, e->scratch, e->pairs, &cost);
    sums->mel += cost * n->mel_deviation * DECIBELS;
    sums->duration += fabs((double)(spoken - real)) / real;
    for (int32_t i = 0; i < pairs; i++) {
        const double normal = (double)e->real_pitch[e->pairs[i].b];
        if (normal == 0) continue; /* unvoiced */
        const double should = n->pitch_mean + n->pitch_deviation * normal;
        const double is = n->pitch_mean + n->pitch_deviation * (double)e->frames_pitch[e->pairs[i].a];
        sums->pitch += 12 * fabs(log2(fmax(is, PITCH_LEAST) / fmax(should, PITCH_LEAST)));
        sums->voiced++;
    }
}

/* Speaks one utterance and compares; *spoken tells whether it could be. */
static int utterance_speak(struct mx_trainer *t, uint32_t utterance, struct sums *sums, bool *spoken)
{
    int rc = 0;
    struct mx_evaluator *const e = t->evaluator;
    struct mx_model_batch batch;
    struct mx_speech speech;
    const struct mx_speech_options options = MX_SPEECH_OPTIONS_DEFAULT;
    const size_t row = (size_t)t->options.model.bands * sizeof(float);
    *spoken = false;
    MX_TRY(mx_slot_fill(e->slot, e->reader, REFERENCE_EPOCH, 0, &utterance, 1));
    if (e->slot->count == 0) return 0;
    const int32_t real = e->slot->frames, tokens = e->slot->tokens;
    MX_TRY(mx_batch_assemble(t->batch, t->stream, e->slot, &batch));
    MX_TRY(mx_copy_download(t->stream, e->real, batch.mel, (size_t)real * row));
    MX_TRY(mx_copy_download(t->stream, e->real_pitch, batch.pitch, (size_t)real * sizeof(float)));
    rc = mx_model_synthesize(t->model, t->stream, mx_slice_at(t->average, 0), &batch, &options, &speech);
    if (rc == MX_ERR_ARGUMENT) { /* predicted to last longer than there is room for: early in training */
        mx_error_clear();
        return mx_stream_sync(t->stream);
    }
    MX_TRY(rc);
    MX_TRY(mx_copy_download(t->stream, e->spoken, speech.mel, (size_t)speech.frames.rows * row));
    MX_TRY(mx_copy_download(t->stream, e->spoken_pitch, mx_model_view(t->model).predicted[MX_PREDICT_PITCH],
                            (size_t)tokens * sizeof(float)));
    MX_TRY(mx_stream_sync(t->stream));
    for (int32_t token = 0, at = 0; token < tokens; token++)
        for (int32_t k = 0; k < speech.durations[token]; k++) e->frames_pitch[at++] = e->spoken_pitch[token];
    speech_compare(t, speech.frames.rows, real, sums);
    *spoken = true;
out:
    return rc;
}

int mx_trainer_evaluate(struct mx_trainer *t, struct mx_trainer_evaluation *out)
{
    int rc = 0;
    int64_t tokens = 0, frames = 0;
    struct sums sums = {0};
    const uint32_t *const list = t->shape.validation;
    const uint32_t limit = t->options.validation_limit, all = t->shape.validation_count;
    const uint32_t count = limit < all ? limit : all;
    *out = (struct mx_trainer_evaluation){0};
    if (count == 0) return 0;
    if (t->evaluator == NULL) MX_TRY(evaluator_create(t, &t->evaluator));
    for (uint32_t at = 0; at < count;) {
        const uint32_t some = fitting(t, list + at, count - at);
        MX_TRY(batch_evaluate(t, list + at, some, out, &tokens, &frames));
        at += some;
    }
    if (out->utterances == 0) return 0;
    losses_finish(t, out, tokens, frames);
    for (uint32_t i = 0; i < count; i++) {
        bool spoken;
        MX_TRY(utterance_speak(t, list[i], &sums, &spoken));
        out->spoken += spoken;
    }
    if (out->spoken > 0) {
        out->mel_db = sums.mel / out->spoken;
        out->duration_error = sums.duration / out->spoken;
    }
    if (sums.voiced > 0) out->pitch_error = sums.pitch / (double)sums.voiced;
out:
    return rc;
}
