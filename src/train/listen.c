/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Speaking and comparing, see listen.h.
 */
#include "train/listen.h"

#include <math.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "train/dtw.h"

#define DECIBELS    8.685889638065035 /* of one neper: 20/ln 10 */
#define PITCH_LEAST 20.0              /* Hz: a prediction below it is no pitch */

struct mx_listener {
    struct mx_listener_options options;
    struct mx_normaliser normaliser;
    int32_t bands;
    float *spoken, *real;             /* mel: [longest of the model, bands], [longest of the host batch, bands] */
    float *spoken_pitch;              /* [longest tokens of the host batch] */
    float *real_pitch, *frames_pitch; /* of each frame: [longest of the host batch], [longest of the model] */
    void *scratch;                    /* of the warping */
    struct mx_dtw_pair *pairs;
};

int mx_listener_create(const struct mx_listener_options *options, struct mx_listener **out)
{
    int rc = 0;
    const struct mx_model_capacity *const speech = mx_model_capacity(options->model);
    const struct mx_model_capacity *const record = &options->host->capacity.model;
    const size_t bands = (size_t)mx_model_config(options->model)->bands;
    const size_t most = (size_t)speech->longest_frames, real = (size_t)record->longest_frames;
    struct mx_listener *l = mx_alloc(1, sizeof *l);
    *out = NULL;
    if (l == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    l->options = *options;
    l->normaliser = *mx_batch_source_normaliser(options->source);
    l->bands = (int32_t)bands;
    l->spoken = mx_alloc(most * bands, sizeof(float));
    l->real = mx_alloc(real * bands, sizeof(float));
    l->spoken_pitch = mx_alloc((size_t)record->longest_tokens, sizeof(float));
    l->real_pitch = mx_alloc(real, sizeof(float));
    l->frames_pitch = mx_alloc(most, sizeof(float));
    l->scratch = mx_alloc(1, mx_dtw_bytes(speech->longest_frames, record->longest_frames));
    l->pairs = mx_alloc(most + real, sizeof *l->pairs);
    if (l->spoken == NULL || l->real == NULL || l->spoken_pitch == NULL || l->real_pitch == NULL ||
        l->frames_pitch == NULL || l->scratch == NULL || l->pairs == NULL)
        MX_TRY(MX_ERR_NO_MEMORY);
    *out = l;
    l = NULL;
out:
    mx_listener_destroy(l);
    return rc;
}

void mx_listener_destroy(struct mx_listener *l)
{
    if (l == NULL) return;
    mx_free(l->spoken);
    mx_free(l->real);
    mx_free(l->spoken_pitch);
    mx_free(l->real_pitch);
    mx_free(l->frames_pitch);
    mx_free(l->scratch);
    mx_free(l->pairs);
    mx_free(l);
}

/* Why the host batch did not accept the utterance: it made the same query to the dataset. */
static int reason_find(const struct mx_listener *l, uint32_t index, const char **why)
{
    struct mx_dataset_item item;
    const int rc = mx_dataset_load(l->options.reader, index, &item);
    *why = "it has fewer frames than symbols";
    if (rc >= 0) return 0;
    if (item.reject == MX_REJECT_NONE) return rc;
    *why = mx_reject_text(item.reject);
    mx_error_clear();
    return 0;
}

/* Compares what the listener holds: out->spoken and out->real frames. */
static void speech_compare(const struct mx_listener *l, struct mx_spoken *out)
{
    const struct mx_normaliser *const n = &l->normaliser;
    double cost;
    const struct mx_dtw_frames frames = {
        .a = l->spoken, .b = l->real, .a_frames = out->spoken, .b_frames = out->real, .n = l->bands};
    const int32_t pairs = mx_dtw_walk(&frames, l->scratch, l->pairs, &cost);
    out->mel_db = cost * n->mel_deviation * DECIBELS;
    out->duration_error = fabs((double)(out->spoken - out->real)) / out->real;
    for (int32_t i = 0; i < pairs; i++) {
        const double normal = (double)l->real_pitch[l->pairs[i].b];
        if (normal == 0) continue; /* unvoiced */
        const double should = n->pitch_mean + n->pitch_deviation * normal;
        const double is = n->pitch_mean + n->pitch_deviation * (double)l->frames_pitch[l->pairs[i].a];
        out->pitch_sum += 12 * fabs(log2(fmax(is, PITCH_LEAST) / fmax(should, PITCH_LEAST)));
        out->voiced++;
    }
}

int mx_listener_speak(struct mx_listener *l, uint32_t index, struct mx_spoken *out)
{
    int rc = 0;
    const struct mx_listener_options *const o = &l->options;
    struct mx_model_batch batch;
    struct mx_speech speech;
    const size_t row = (size_t)l->bands * sizeof(float);
    *out = (struct mx_spoken){.outcome = MX_SPOKEN_UNUSABLE, .why = ""};
    MX_TRY(mx_host_batch_fill(o->host, o->reader, MX_LISTEN_EPOCH, 0, &index, 1));
    if (o->host->count == 0) return reason_find(l, index, &out->why);
    const int32_t tokens = o->host->tokens;
    out->real = o->host->frames;
    MX_TRY(mx_batch_builder_run(o->batch, o->stream, o->host, NULL));
    batch = mx_batch_builder_own(o->batch)->batch;
    MX_TRY(mx_copy_download(o->stream, l->real, batch.mel, (size_t)out->real * row));
    MX_TRY(mx_copy_download(o->stream, l->real_pitch, batch.pitch, (size_t)out->real * sizeof(float)));
    batch.voices = o->voice;
    rc = mx_model_synthesize(o->model, o->stream, o->weights, &batch, NULL, &speech);
    if (rc == MX_ERR_ARGUMENT) {
        mx_error_clear();
        out->outcome = MX_SPOKEN_TOO_LONG;
        return mx_stream_sync(o->stream);
    }
    MX_TRY(rc);
    out->spoken = speech.frames.rows;
    if (o->hear != NULL)
        MX_TRY(o->hear(o->context, speech.mel, out->spoken, l->spoken));
    else
        MX_TRY(mx_copy_download(o->stream, l->spoken, speech.mel, (size_t)out->spoken * row));
    MX_TRY(mx_copy_download(o->stream, l->spoken_pitch, mx_model_view(o->model).predicted[MX_PREDICT_PITCH],
                            (size_t)tokens * sizeof(float)));
    MX_TRY(mx_stream_sync(o->stream));
    for (int32_t token = 0, at = 0; token < tokens; token++)
        for (int32_t k = 0; k < speech.durations[token]; k++) l->frames_pitch[at++] = l->spoken_pitch[token];
    speech_compare(l, out);
    out->outcome = MX_SPOKEN;
out:
    return rc;
}

/* ---- several together ---- */

void mx_spoken_add(struct mx_spoken_sums *sums, const struct mx_spoken *one)
{
    sums->spoken += one->outcome == MX_SPOKEN;
    sums->unusable += one->outcome == MX_SPOKEN_UNUSABLE;
    sums->too_long += one->outcome == MX_SPOKEN_TOO_LONG;
    if (one->outcome != MX_SPOKEN) return;
    sums->real += (uint64_t)one->real;
    sums->voiced += one->voiced;
    sums->mel_db += one->mel_db;
    sums->duration_error += one->duration_error;
    sums->pitch += one->pitch_sum;
}

double mx_spoken_mel_db(const struct mx_spoken_sums *sums)
{
    return sums->spoken > 0 ? sums->mel_db / sums->spoken : (double)NAN;
}

double mx_spoken_duration_error(const struct mx_spoken_sums *sums)
{
    return sums->spoken > 0 ? sums->duration_error / sums->spoken : (double)NAN;
}

double mx_spoken_pitch_error(const struct mx_spoken_sums *sums)
{
    return sums->voiced > 0 ? sums->pitch / (double)sums->voiced : (double)NAN;
}
