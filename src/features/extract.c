/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The extractor: one device buffer that is divided into parts, and one host block for the data uploaded in addition to the
 * audio.
 */
#include "features/extract.h"

#include <math.h>

#include "base/alloc.h"
#include "myxtts/error.h"

#define ALIGNMENT 64

/* The pieces of the device buffer. */
enum piece { TABLES, AUDIO, SAMPLES, FRAMES, LEVELS, STREAMS, SPANS, MEL, ENERGY, PITCH, WORK, PIECES };

struct layout {
    uint64_t at[PIECES], bytes; /* a piece that is not needed has the offset of the next */
    bool has[PIECES];
};

/* What the host writes and the device reads, in addition to the audio. */
struct host {
    int32_t *frames;     /* [utterances_max + 1] */
    float *levels;       /* [utterances_max, 2] */
    int32_t *streams;    /* [utterances_max, 2] */
    int32_t (*spans)[4]; /* [utterances_max, span_max] */
};

struct mx_extract {
    struct mx_device *device;
    struct mx_recipe recipe;
    struct mx_extract_options options;
    struct mx_recipe_tables tables;
    struct mx_buffer *buffer;
    struct layout layout;
    void *block; /* from mx_host_alloc; `host` points into it */
    struct host host;
    float mean, inverse_deviation;
    bool tables_sent;
    struct mx_ragged samples; /* of the last batch */
    struct mx_extract_features last;
};

static int options_check(const struct mx_extract_options *o)
{
    if (o->samples_max < 1 || o->samples_max > INT32_MAX || o->utterances_max < 1 || o->utterances_max > (1 << 20) ||
        o->span_max < 0 || o->span_max > 2 * MX_AUGMENT_MASKS)
        return MX_FAIL(MX_ERR_ARGUMENT, "1 to 2^31 samples, 1 to 2^20 utterances, 0 to 8 masks",
                       "features for %lld samples of %d utterances with %d masks are not possible",
                       (long long)o->samples_max, (int)o->utterances_max, o->span_max);
    return 0;
}

static const struct mx_recipe *recipe_of(const struct mx_extract_options *options)
{
    return mx_recipe_or_default(options->recipe);
}

static struct layout layout_of(const struct mx_extract_options *o, uint64_t table_floats)
{
    const struct mx_recipe *const recipe = recipe_of(o);
    const uint64_t samples = (uint64_t)o->samples_max, utterances = (uint64_t)o->utterances_max;
    const uint64_t frames = (uint64_t)mx_recipe_frames_most(recipe, o->samples_max, o->utterances_max);
    const uint64_t words[PIECES] = {[TABLES] = table_floats,
                                    [AUDIO] = samples,
                                    [SAMPLES] = utterances + 1,
                                    [FRAMES] = utterances + 1,
                                    [LEVELS] = 2 * utterances,
                                    [STREAMS] = 2 * utterances,
                                    [SPANS] = 4 * utterances * (uint64_t)o->span_max,
                                    [MEL] = o->no_mel ? 0 : frames * (uint64_t)recipe->bands,
                                    [ENERGY] = frames,
                                    [PITCH] = o->no_pitch ? 0 : frames,
                                    [WORK] = o->no_pitch ? 0 : frames * MX_PITCH_WORK};
    struct layout layout = {.bytes = 0};
    for (int i = 0; i < PIECES; i++) {
        layout.at[i] = layout.bytes;
        layout.has[i] = words[i] > 0;
        layout.bytes += (4 * words[i] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return layout;
}

uint64_t mx_extract_bytes(const struct mx_extract_options *options)
{
    struct mx_recipe_tables tables;
    if (options_check(options) < 0 || mx_recipe_tables_build(recipe_of(options), &tables) < 0) return 0;
    const struct layout layout = layout_of(options, tables.count);
    mx_recipe_tables_release(&tables);
    return layout.bytes;
}

uint64_t mx_extract_host_bytes(const struct mx_extract_options *options)
{
    const uint64_t utterances = (uint64_t)options->utterances_max, spans = (uint64_t)options->span_max;
    return 4 * (utterances + 1 + 2 * utterances + 2 * utterances + 4 * utterances * spans);
}

static const char *owner_of(const struct mx_extract_options *options)
{
    return options->owner != NULL ? options->owner : "features";
}

static int host_open(struct mx_extract *e)
{
    const size_t utterances = (size_t)e->options.utterances_max;
    const int rc =
        mx_host_alloc(e->device, owner_of(&e->options), (size_t)mx_extract_host_bytes(&e->options), &e->block);
    if (rc < 0) return rc;
    e->host.frames = e->block;
    e->host.levels = (float *)e->block + utterances + 1;
    e->host.streams = (int32_t *)e->block + 3 * utterances + 1;
    e->host.spans = (int32_t(*)[4])(void *)((int32_t *)e->block + 5 * utterances + 1);
    return 0;
}

int mx_extract_create(struct mx_device *device, const struct mx_extract_options *options, struct mx_extract **out)
{
    int rc = 0;
    *out = NULL;
    struct mx_extract *e = mx_alloc(1, sizeof *e);
    if (e == NULL) return MX_ERR_NO_MEMORY;
    MX_TRY(options_check(options));
    e->device = device;
    e->recipe = *recipe_of(options);
    e->options = *options;
    e->options.recipe = &e->recipe;
    e->inverse_deviation = 1;
    MX_TRY(mx_recipe_tables_build(&e->recipe, &e->tables));
    e->layout = layout_of(&e->options, e->tables.count);
    MX_TRY(host_open(e));
    MX_TRY(mx_buffer_create(device, owner_of(options), (size_t)e->layout.bytes, &e->buffer));
    *out = e;
    e = NULL;
out:
    mx_extract_destroy(e);
    return rc;
}

void mx_extract_destroy(struct mx_extract *e)
{
    if (e == NULL) return;
    mx_buffer_release(e->buffer);
    if (e->block != NULL) mx_host_release(e->device, e->block);
    mx_recipe_tables_release(&e->tables);
    mx_free(e);
}

int mx_extract_normalise(struct mx_extract *e, double mean, double deviation)
{
    if (!isfinite(mean) || !isfinite(deviation) || !(deviation > 1e-6))
        return MX_FAIL(MX_ERR_ARGUMENT, "take both from mx_statistics over the corpus",
                       "mean %g and deviation %g cannot normalise features", mean, deviation);
    e->mean = (float)mean;
    e->inverse_deviation = (float)(1 / deviation);
    return 0;
}

/* ---- a batch ---- */

static struct mx_slice piece(const struct mx_extract *e, enum piece which)
{
    return e->layout.has[which] ? mx_slice_at(e->buffer, (size_t)e->layout.at[which]) : (struct mx_slice){0};
}

/* Checks the batch and fills in the frames. */
static int batch_measure(struct mx_extract *e, const struct mx_extract_batch *batch, struct mx_ragged *samples,
                         struct mx_ragged *frames)
{
    int64_t rows = 0;
    *samples = (struct mx_ragged){.offsets = piece(e, SAMPLES), .count = batch->count};
    *frames = (struct mx_ragged){.offsets = piece(e, FRAMES), .count = batch->count};
    if ((batch->mel.buffer != NULL) != e->options.no_mel)
        return MX_FAIL(MX_ERR_ARGUMENT, "a batch must give a place for its mel if, and only if, the extractor has none",
                       "it is not clear where the mel goes");
    if (batch->count < 0 || batch->count > e->options.utterances_max)
        return MX_FAIL(MX_ERR_ARGUMENT, "make the extractor larger, or the batch smaller",
                       "a batch of %d utterances does not fit: there is room for %d", (int)batch->count,
                       (int)e->options.utterances_max);
    if (batch->draws != NULL && e->options.span_max == 0 && !batch->unmasked)
        for (int32_t i = 0; i < batch->count; i++)
            if (batch->draws[i].mask_count > 0)
                return MX_FAIL(MX_ERR_ARGUMENT, "make the extractor with span_max", "there is no room for masks");
    e->host.frames[0] = 0;
    for (int32_t i = 0; i < batch->count; i++) {
        const int64_t count = (int64_t)batch->offsets[i + 1] - batch->offsets[i];
        if (batch->offsets[0] != 0 || count < 0 || batch->offsets[i + 1] > e->options.samples_max)
            return MX_FAIL(MX_ERR_ARGUMENT, "offsets begin with 0, do not decrease and end within the capacity",
                           "utterance %d of the batch lies outside the room for %lld samples", (int)i,
                           (long long)e->options.samples_max);
        const int64_t more = mx_recipe_frames(&e->recipe, count);
        rows += more;
        e->host.frames[i + 1] = (int32_t)rows;
        if (count > samples->max_rows) samples->max_rows = (int32_t)count;
        if (more > frames->max_rows) frames->max_rows = (int32_t)more;
    }
    samples->rows = batch->count > 0 ? batch->offsets[batch->count] : 0;
    frames->rows = (int32_t)rows;
    return 0;
}

static int upload(const struct mx_extract *e, struct mx_stream *stream, enum piece which, const void *from,
                  uint64_t words)
{
    return words > 0 ? mx_copy_upload(stream, piece(e, which), from, (size_t)words * 4) : 0;
}

static int noise_submit(struct mx_extract *e, struct mx_stream *stream, const struct mx_extract_batch *batch,
                        const struct mx_ragged *samples)
{
    int rc = 0;
    const uint64_t count = (uint64_t)batch->count;
    for (int32_t i = 0; i < batch->count; i++) {
        e->host.levels[2 * i] = batch->draws[i].gain;
        e->host.levels[2 * i + 1] = batch->draws[i].noise_ratio;
        e->host.streams[2 * i] = (int32_t)(uint32_t)batch->draws[i].stream;
        e->host.streams[2 * i + 1] = (int32_t)(uint32_t)(batch->draws[i].stream >> 32);
    }
    MX_TRY(upload(e, stream, LEVELS, e->host.levels, 2 * count));
    MX_TRY(upload(e, stream, STREAMS, e->host.streams, 2 * count));
    const struct mx_noise_args args = {.x = piece(e, AUDIO),
                                       .y = piece(e, AUDIO),
                                       .samples = *samples,
                                       .levels = piece(e, LEVELS),
                                       .streams = piece(e, STREAMS),
                                       .seed = batch->seed};
    MX_TRY(mx_noise(stream, &args));
out:
    return rc;
}

int mx_extract_mask(struct mx_extract *e, struct mx_stream *stream, const struct mx_extract_batch *batch)
{
    int rc = 0;
    const int spans = e->options.span_max;
    if (batch->draws == NULL || spans == 0) return 0;
    for (int32_t i = 0; i < batch->count; i++)
        mx_augment_spans(&batch->draws[i], e->host.frames[i + 1] - e->host.frames[i], e->recipe.bands, spans,
                         e->host.spans + (ptrdiff_t)i * spans);
    MX_TRY(upload(e, stream, SPANS, e->host.spans, 4 * (uint64_t)batch->count * (uint64_t)spans));
    /* The mean of all features says least. */
    const struct mx_mask_args args = {.x = e->last.mel,
                                      .rows = e->last.frames,
                                      .spans = piece(e, SPANS),
                                      .n = e->recipe.bands,
                                      .count = spans,
                                      .value = 0};
    MX_TRY(mx_mask(stream, &args));
out:
    return rc;
}

int mx_extract_magnitudes(struct mx_extract *e, struct mx_stream *stream, const struct mx_extract_pick *pick,
                          float least, struct mx_slice y)
{
    const struct mx_log_magnitude_args args = {.audio = piece(e, AUDIO),
                                               .samples = e->samples,
                                               .out = pick->out,
                                               .tables = piece(e, TABLES),
                                               .places = pick->places,
                                               .y = y,
                                               .fft_size = e->recipe.fft_size,
                                               .hop = e->recipe.hop,
                                               .least = least};
    return mx_log_magnitude(stream, &args);
}

static int pitch_submit(struct mx_extract *e, struct mx_stream *stream, const struct mx_ragged *samples,
                        const struct mx_ragged *frames)
{
    const struct mx_recipe *const r = &e->recipe;
    const struct mx_pitch_args args = {.audio = piece(e, AUDIO),
                                       .samples = *samples,
                                       .frames = *frames,
                                       .tables = piece(e, TABLES),
                                       .pitch = piece(e, PITCH),
                                       .work = piece(e, WORK),
                                       .fft_size = r->fft_size,
                                       .hop = r->hop,
                                       .rate = (float)r->rate,
                                       .low_hz = r->pitch_low_hz,
                                       .high_hz = r->pitch_high_hz,
                                       .silence = r->pitch_silence,
                                       .threshold = r->pitch_threshold,
                                       .octave = r->pitch_octave,
                                       .jump = r->pitch_jump,
                                       .change = r->pitch_change};
    return mx_pitch(stream, &args);
}

int mx_extract_submit(struct mx_extract *e, struct mx_stream *stream, const struct mx_extract_batch *batch,
                      struct mx_extract_features *features)
{
    int rc = 0;
    struct mx_ragged samples, frames;
    MX_TRY(batch_measure(e, batch, &samples, &frames));
    if (!e->tables_sent) MX_TRY(upload(e, stream, TABLES, e->tables.data, e->tables.count));
    e->tables_sent = true;
    const struct mx_slice mel = e->options.no_mel ? batch->mel : piece(e, MEL);
    MX_TRY(upload(e, stream, AUDIO, batch->audio, (uint64_t)samples.rows));
    MX_TRY(upload(e, stream, SAMPLES, batch->offsets, (uint64_t)batch->count + 1));
    MX_TRY(upload(e, stream, FRAMES, e->host.frames, (uint64_t)batch->count + 1));
    if (batch->draws != NULL) MX_TRY(noise_submit(e, stream, batch, &samples));
    const struct mx_mel_args args = {.audio = piece(e, AUDIO),
                                     .samples = samples,
                                     .frames = frames,
                                     .tables = piece(e, TABLES),
                                     .mel = mel,
                                     .energy = piece(e, ENERGY),
                                     .fft_size = e->recipe.fft_size,
                                     .hop = e->recipe.hop,
                                     .bands = e->recipe.bands,
                                     .weights = e->tables.weights,
                                     .floor = e->recipe.floor,
                                     .mean = e->mean,
                                     .inverse_deviation = e->inverse_deviation};
    MX_TRY(mx_mel(stream, &args));
    if (!e->options.no_pitch) MX_TRY(pitch_submit(e, stream, &samples, &frames));
    e->samples = samples;
    e->last = (struct mx_extract_features){
        .frames = frames, .mel = mel, .energy = piece(e, ENERGY), .pitch = piece(e, PITCH)};
    if (!batch->unmasked) MX_TRY(mx_extract_mask(e, stream, batch));
    *features = e->last;
out:
    return rc;
}

int mx_extract_read(struct mx_extract *e, struct mx_stream *stream, float *mel, float *energy, float *pitch)
{
    int rc = 0;
    const size_t rows = (size_t)e->last.frames.rows, bands = (size_t)e->recipe.bands;
    if (pitch != NULL && e->options.no_pitch)
        MX_RAISE(MX_ERR_ARGUMENT, "make the extractor without no_pitch", "this extractor makes no pitch");
    if (rows > 0 && mel != NULL) MX_TRY(mx_copy_download(stream, mel, e->last.mel, rows * bands * sizeof *mel));
    if (rows > 0 && energy != NULL) MX_TRY(mx_copy_download(stream, energy, e->last.energy, rows * sizeof *energy));
    if (rows > 0 && pitch != NULL) MX_TRY(mx_copy_download(stream, pitch, e->last.pitch, rows * sizeof *pitch));
    MX_TRY(mx_stream_sync(stream));
out:
    return rc;
}

struct mx_slice mx_extract_audio(const struct mx_extract *e)
{
    return piece(e, AUDIO);
}

const int32_t *mx_extract_frames(const struct mx_extract *e)
{
    return e->host.frames;
}
