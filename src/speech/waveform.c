/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The waveform maker: one device buffer cut into pieces, one host block for offsets and the sound. There are two
 * spectra: `now`, and `before`, which first becomes the new target in place and then, transformed to sound and back,
 * the next `now`; then they swap. The projections at the end need only one.
 */
#include "speech/waveform.h"

#include <math.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "myxtts/ops.h"

#define OWNER            "waveform"
#define ALIGNMENT        64
#define MEL_ITERATIONS   20    /* of mel_inverse: bands are then within a percent */
#define NOISE_TO_ONE     1e4f  /* the noise of the first phases is added to a constant, which then does not count */
#define NOISE_STREAM     0x57  /* one for all, so that an utterance does not depend on its place */
#define LEAST_WEIGHT     1e-4f /* of a sample: beyond the last frame's centre the windows fade out */
#define PROJECT_ROUNDS   2     /* of mel_project in a projection: the second sees what the first did to neighbours */
#define PROJECT_LIMIT    2     /* nepers of a round: a band that has next to nothing is not blown up to noise */
#define FRAMES_LIMIT     (1 << 24)
#define UTTERANCES_LIMIT (1 << 20)

enum piece { TABLES, PLACES, SAMPLES, FRAMES, LEVELS, STREAMS, AUDIO, MAGNITUDE, FIRST, SECOND, WORK, PIECES };

struct layout {
    uint64_t at[PIECES], bytes;
};

struct mx_waveform {
    struct mx_device *device;
    struct mx_recipe recipe;
    struct mx_waveform_options options;
    struct mx_recipe_tables tables;
    float *places; /* as mx_recipe_places_make makes them */
    struct mx_buffer *buffer;
    struct layout layout;
    /* pieces of `block`, from mx_host_alloc */
    void *block;
    float *audio;              /* [samples of frames_max] */
    float *levels;             /* [utterances_max, 2] */
    int32_t *streams;          /* [utterances_max, 2] */
    int32_t *samples, *frames; /* [utterances_max + 1] */
    bool constants_sent;
};

static const struct mx_recipe *recipe_of(const struct mx_waveform_options *options)
{
    return options->recipe != NULL ? options->recipe : &mx_recipe_default;
}

static int options_check(const struct mx_waveform_options *o)
{
    if (o->frames_max < 1 || o->frames_max > FRAMES_LIMIT || o->utterances_max < 1 ||
        o->utterances_max > UTTERANCES_LIMIT)
        return MX_FAIL(MX_ERR_ARGUMENT, "1 to 2^24 frames, 1 to 2^20 utterances",
                       "cannot make waveforms of %lld frames in %d utterances", (long long)o->frames_max,
                       (int)o->utterances_max);
    if (o->iterations < 1 || o->iterations > MX_WAVEFORM_ITERATIONS_MAX)
        return MX_FAIL(MX_ERR_ARGUMENT, "32 to 60 iterations are usual; 1 to 10000 are possible",
                       "cannot make waveforms in %d iterations", o->iterations);
    if (o->projections < 0 || o->projections > MX_WAVEFORM_PROJECTIONS_MAX)
        return MX_FAIL(MX_ERR_ARGUMENT, "4 are usual; 0 to 100 are possible",
                       "cannot make waveforms with %d projections", o->projections);
    if (!(o->momentum >= 0 && o->momentum <= 1.5))
        return MX_FAIL(MX_ERR_ARGUMENT, "0.99 is usual, 0 switches it off, more than 1.5 never converges",
                       "a momentum of %g is not possible", o->momentum);
    if (!isfinite(o->mean) || !isfinite(o->deviation) || !(o->deviation > 1e-6))
        return MX_FAIL(MX_ERR_ARGUMENT, "take both from the checkpoint",
                       "mean %g and deviation %g cannot have normalised a mel", o->mean, o->deviation);
    if (recipe_of(o)->hop < 2)
        return MX_FAIL(MX_ERR_ARGUMENT, "take a recipe with a hop of 2 samples or more",
                       "a hop of %d has no sound between its frames", (int)recipe_of(o)->hop);
    return mx_recipe_check(recipe_of(o));
}

int64_t mx_waveform_samples(const struct mx_recipe *recipe, int64_t frames)
{
    if (frames > 1) return (frames - 1) * recipe->hop;
    return frames == 1 ? recipe->hop / 2 : 0;
}

static struct layout layout_of(const struct mx_waveform_options *o, uint64_t table_floats)
{
    const struct mx_recipe *const recipe = recipe_of(o);
    const uint64_t frames = (uint64_t)o->frames_max, utterances = (uint64_t)o->utterances_max;
    const uint64_t size = (uint64_t)recipe->fft_size;
    const uint64_t words[PIECES] = {[TABLES] = table_floats,
                                    [PLACES] = 3 * (size / 2 + 1),
                                    [SAMPLES] = utterances + 1,
                                    [FRAMES] = utterances + 1,
                                    [LEVELS] = 2 * utterances,
                                    [STREAMS] = 2 * utterances,
                                    [AUDIO] = frames * (uint64_t)recipe->hop,
                                    [MAGNITUDE] = frames * (size / 2 + 1),
                                    [FIRST] = frames * (size + 2),
                                    [SECOND] = frames * (size + 2),
                                    [WORK] = frames * size};
    struct layout layout = {.bytes = 0};
    for (int i = 0; i < PIECES; i++) {
        layout.at[i] = layout.bytes;
        layout.bytes += (4 * words[i] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return layout;
}

uint64_t mx_waveform_bytes(const struct mx_waveform_options *options)
{
    struct mx_recipe_tables tables;
    if (options_check(options) < 0 || mx_recipe_tables_make(recipe_of(options), &tables) < 0) return 0;
    const struct layout layout = layout_of(options, tables.count);
    mx_recipe_tables_release(&tables);
    return layout.bytes;
}

uint64_t mx_waveform_host_bytes(const struct mx_waveform_options *options)
{
    const uint64_t utterances = (uint64_t)options->utterances_max;
    return ((uint64_t)options->frames_max * (uint64_t)recipe_of(options)->hop + 6 * utterances + 2) * 4;
}

static int host_open(struct mx_waveform *w)
{
    const size_t utterances = (size_t)w->options.utterances_max;
    const size_t samples = (size_t)w->options.frames_max * (size_t)w->recipe.hop;
    const int rc = mx_host_alloc(w->device, OWNER, (size_t)mx_waveform_host_bytes(&w->options), &w->block);
    if (rc < 0) return rc;
    w->audio = w->block;
    w->levels = w->audio + samples;
    w->streams = (int32_t *)(void *)(w->levels + 2 * utterances);
    w->samples = w->streams + 2 * utterances;
    w->frames = w->samples + utterances + 1;
    for (size_t i = 0; i < utterances; i++) {
        w->levels[2 * i] = 1;
        w->levels[2 * i + 1] = NOISE_TO_ONE;
        w->streams[2 * i] = NOISE_STREAM;
        w->streams[2 * i + 1] = 0;
    }
    return 0;
}

int mx_waveform_create(struct mx_device *device, const struct mx_waveform_options *options, struct mx_waveform **out)
{
    int rc = 0;
    *out = NULL;
    struct mx_waveform *w = mx_alloc(1, sizeof *w);
    if (w == NULL) return MX_ERR_NO_MEMORY;
    MX_TRY(options_check(options));
    w->device = device;
    w->recipe = *recipe_of(options);
    w->options = *options;
    w->options.recipe = &w->recipe;
    MX_TRY(mx_recipe_tables_make(&w->recipe, &w->tables));
    w->places = mx_alloc(3 * ((size_t)w->recipe.fft_size / 2 + 1), sizeof *w->places);
    if (w->places == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_recipe_places_make(&w->recipe, &w->tables, w->places));
    w->layout = layout_of(&w->options, w->tables.count);
    MX_TRY(host_open(w));
    MX_TRY(mx_buffer_create(device, OWNER, (size_t)w->layout.bytes, &w->buffer));
    *out = w;
    w = NULL;
out:
    mx_waveform_destroy(w);
    return rc;
}

void mx_waveform_destroy(struct mx_waveform *w)
{
    if (w == NULL) return;
    mx_buffer_release(w->buffer);
    if (w->block != NULL) mx_host_release(w->device, w->block);
    mx_recipe_tables_release(&w->tables);
    mx_free(w->places);
    mx_free(w);
}

/* ---- a batch ---- */

static struct mx_slice piece(const struct mx_waveform *w, enum piece which)
{
    return mx_slice_at(w->buffer, (size_t)w->layout.at[which]);
}

/* Checks the batch and fills in the offsets. */
static int batch_measure(struct mx_waveform *w, const int32_t *frame_offsets, int32_t count, struct mx_ragged *samples,
                         struct mx_ragged *frames)
{
    *samples = (struct mx_ragged){.offsets = piece(w, SAMPLES), .count = count};
    *frames = (struct mx_ragged){.offsets = piece(w, FRAMES), .count = count};
    if (count < 0 || count > w->options.utterances_max)
        return MX_FAIL(MX_ERR_ARGUMENT, "speak fewer utterances at once",
                       "%d utterances are more than the %d that there is room for", (int)count,
                       (int)w->options.utterances_max);
    w->samples[0] = w->frames[0] = 0;
    for (int32_t i = 0; i < count; i++) {
        const int64_t rows = (int64_t)frame_offsets[i + 1] - frame_offsets[i];
        if (frame_offsets[0] != 0 || rows < 0 || frame_offsets[i + 1] > w->options.frames_max)
            return MX_FAIL(MX_ERR_ARGUMENT, "offsets begin with 0, do not decrease and end within the capacity",
                           "utterance %d lies outside the room for waveforms of %lld frames", (int)i,
                           (long long)w->options.frames_max);
        const int64_t length = mx_waveform_samples(&w->recipe, rows);
        w->frames[i + 1] = frame_offsets[i + 1];
        w->samples[i + 1] = w->samples[i] + (int32_t)length;
        if (length > samples->max_rows) samples->max_rows = (int32_t)length;
        if (rows > frames->max_rows) frames->max_rows = (int32_t)rows;
    }
    samples->rows = w->samples[count];
    frames->rows = w->frames[count];
    return 0;
}

static int constants_send(struct mx_waveform *w, struct mx_stream *stream)
{
    const size_t pairs = (size_t)w->options.utterances_max * 2;
    int rc = 0;
    if (w->constants_sent) return 0;
    MX_TRY(mx_copy_upload(stream, piece(w, TABLES), w->tables.data, w->tables.count * 4));
    MX_TRY(mx_copy_upload(stream, piece(w, PLACES), w->places, 12 * ((size_t)w->recipe.fft_size / 2 + 1)));
    MX_TRY(mx_copy_upload(stream, piece(w, LEVELS), w->levels, pairs * 4));
    MX_TRY(mx_copy_upload(stream, piece(w, STREAMS), w->streams, pairs * 4));
    w->constants_sent = true;
out:
    return rc;
}

/* The magnitudes, and the first sound: noise. */
static int start(struct mx_waveform *w, struct mx_stream *stream, struct mx_slice mel, const struct mx_ragged *samples,
                 const struct mx_ragged *frames)
{
    const struct mx_recipe *const r = &w->recipe;
    int rc = 0;
    MX_TRY(constants_send(w, stream));
    MX_TRY(mx_copy_upload(stream, piece(w, SAMPLES), w->samples, ((size_t)samples->count + 1) * 4));
    MX_TRY(mx_copy_upload(stream, piece(w, FRAMES), w->frames, ((size_t)frames->count + 1) * 4));
    MX_TRY(mx_mel_inverse(stream, &(struct mx_mel_inverse_args){.mel = mel,
                                                                .tables = piece(w, TABLES),
                                                                .magnitude = piece(w, MAGNITUDE),
                                                                .rows = frames->rows,
                                                                .fft_size = r->fft_size,
                                                                .bands = r->bands,
                                                                .weights = w->tables.weights,
                                                                .iterations = MEL_ITERATIONS,
                                                                .mean = (float)w->options.mean,
                                                                .deviation = (float)w->options.deviation}));
    MX_TRY(mx_fill(stream, &(struct mx_fill_args){.x = piece(w, AUDIO), .count = samples->rows, .value = 1}));
    MX_TRY(mx_noise(stream, &(struct mx_noise_args){.x = piece(w, AUDIO),
                                                    .y = piece(w, AUDIO),
                                                    .samples = *samples,
                                                    .levels = piece(w, LEVELS),
                                                    .streams = piece(w, STREAMS),
                                                    .seed = w->options.seed}));
out:
    return rc;
}

/* The spectrum of the sound in AUDIO. */
static int sound_measure(struct mx_waveform *w, struct mx_stream *stream, const struct mx_ragged *samples,
                         const struct mx_ragged *frames, struct mx_slice spectrum)
{
    return mx_spectrum(stream, &(struct mx_spectrum_args){.audio = piece(w, AUDIO),
                                                          .samples = *samples,
                                                          .frames = *frames,
                                                          .tables = piece(w, TABLES),
                                                          .spectrum = spectrum,
                                                          .fft_size = w->recipe.fft_size,
                                                          .hop = w->recipe.hop});
}

/* The sound of a spectrum, in AUDIO. */
static int sound_make(struct mx_waveform *w, struct mx_stream *stream, const struct mx_ragged *samples,
                      const struct mx_ragged *frames, struct mx_slice spectrum)
{
    return mx_overlap_add(stream, &(struct mx_overlap_add_args){.spectrum = spectrum,
                                                                .tables = piece(w, TABLES),
                                                                .audio = piece(w, AUDIO),
                                                                .samples = *samples,
                                                                .frames = *frames,
                                                                .work = piece(w, WORK),
                                                                .fft_size = w->recipe.fft_size,
                                                                .hop = w->recipe.hop,
                                                                .least = LEAST_WEIGHT});
}

/* Iteration i: from the sound in AUDIO to the next one. `before` is the spectrum of the sound before, and is lost; `now`
 * becomes that of the sound in AUDIO. The first spectrum is that of noise: the second iteration must not overshoot from
 * there. */
static int iterate(struct mx_waveform *w, struct mx_stream *stream, const struct mx_ragged *samples,
                   const struct mx_ragged *frames, int i)
{
    const struct mx_slice now = piece(w, i % 2 ? SECOND : FIRST), before = piece(w, i % 2 ? FIRST : SECOND);
    int rc = 0;
    MX_TRY(sound_measure(w, stream, samples, frames, now));
    MX_TRY(mx_griffin_step(stream,
                           &(struct mx_griffin_step_args){.now = now,
                                                          .before = i < 2 ? (struct mx_slice){0} : before,
                                                          .y = before,
                                                          .magnitude = piece(w, MAGNITUDE),
                                                          .count = (int64_t)frames->rows * (w->recipe.fft_size / 2 + 1),
                                                          .momentum = (float)w->options.momentum}));
    MX_TRY(sound_make(w, stream, samples, frames, before));
out:
    return rc;
}

/* One projection: the sound in AUDIO keeps its phases and comes closer to the mel. */
static int project(struct mx_waveform *w, struct mx_stream *stream, struct mx_slice mel,
                   const struct mx_ragged *samples, const struct mx_ragged *frames)
{
    const struct mx_recipe *const r = &w->recipe;
    int rc = 0;
    MX_TRY(sound_measure(w, stream, samples, frames, piece(w, FIRST)));
    MX_TRY(mx_mel_project(stream, &(struct mx_mel_project_args){.spectrum = piece(w, FIRST),
                                                                .y = piece(w, FIRST),
                                                                .mel = mel,
                                                                .tables = piece(w, TABLES),
                                                                .places = piece(w, PLACES),
                                                                .rows = frames->rows,
                                                                .fft_size = r->fft_size,
                                                                .bands = r->bands,
                                                                .weights = w->tables.weights,
                                                                .rounds = PROJECT_ROUNDS,
                                                                .limit = PROJECT_LIMIT,
                                                                .floor = r->floor,
                                                                .mean = (float)w->options.mean,
                                                                .deviation = (float)w->options.deviation}));
    MX_TRY(sound_make(w, stream, samples, frames, piece(w, FIRST)));
out:
    return rc;
}

int mx_waveform_make(struct mx_waveform *w, struct mx_stream *stream, struct mx_slice mel, const int32_t *frame_offsets,
                     int32_t count, struct mx_waveform_sound *sound)
{
    struct mx_ragged samples, frames;
    int rc = 0;
    MX_TRY(batch_measure(w, frame_offsets, count, &samples, &frames));
    *sound = (struct mx_waveform_sound){.audio = w->audio, .offsets = w->samples, .count = count};
    if (samples.rows == 0) goto out;
    MX_TRY(start(w, stream, mel, &samples, &frames));
    for (int i = 0; i < w->options.iterations; i++) MX_TRY(iterate(w, stream, &samples, &frames, i));
    for (int i = 0; i < w->options.projections; i++) MX_TRY(project(w, stream, mel, &samples, &frames));
    MX_TRY(mx_copy_download(stream, w->audio, piece(w, AUDIO), (size_t)samples.rows * sizeof *w->audio));
    MX_TRY(mx_stream_sync(stream));
    for (int32_t i = 0; i < samples.rows; i++)
        if (!isfinite(w->audio[i]))
            MX_RAISE(MX_ERR_DATA, "the mel is damaged: try an earlier checkpoint",
                     "waveform: sample %d is not a number", (int)i);
out:
    return rc;
}
