/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The maker: one device buffer cut into pieces, one host block for offsets and the sound. There are two spectra: `now`,
 * and `before`, which first becomes the new target in place and then, transformed to sound and back, the next `now`;
 * then they swap. The projections at the end need only one.
 */
#include "vocoder/sound.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "myxtts/ops.h"
#include "vocoder/sound_internal.h"

#define OWNER            "waveform"
#define ALIGNMENT        64
#define FRAMES_LIMIT     (1 << 24)
#define UTTERANCES_LIMIT (1 << 20)

/* ---- options ---- */

static const struct mx_sound_kind *kind_of(const struct mx_sound_options *o)
{
    return o->vocoder != NULL ? &mx_sound_vocoder : &mx_sound_griffin_lim;
}

/* Everything that has a default, resolved; the configuration of a vocoder goes to *config. */
static void options_resolve(struct mx_sound_options *o, struct mx_vocoder_config *config)
{
    o->recipe = mx_recipe_or_default(o->recipe);
    if (o->rounds == MX_SOUND_USUAL) o->rounds = kind_of(o)->rounds;
    if (o->projections == MX_SOUND_USUAL)
        o->projections = o->predicted ? kind_of(o)->predicted_projections : kind_of(o)->projections;
    if (o->texture == MX_SOUND_USUAL) o->texture = kind_of(o)->texture;
    if (o->contrast == MX_SOUND_USUAL) o->contrast = o->predicted ? kind_of(o)->predicted_contrast : 1;
    if (o->vocoder == NULL) return;
    *config = *o->vocoder;
    config->mel_mean = (float)o->mean;
    config->mel_deviation = (float)o->deviation;
    o->vocoder = config;
}

static int vocoder_check(const struct mx_sound_options *o)
{
    const struct mx_recipe *const own = &o->vocoder->recipe, *const wanted = o->recipe;
    const int rc = mx_vocoder_config_check(o->vocoder);
    if (rc < 0) return rc;
    if (mx_recipe_hash(own) == mx_recipe_hash(wanted)) return 0;
    char hashes[2][MX_RECIPE_HASH_BYTES];
    return MX_FAIL(MX_ERR_CONFIG,
                   "take a vocoder of that recipe, or '--vocoder " MX_SOUND_GRIFFIN_LIM "', which needs none",
                   "the vocoder was trained for the recipe '%.31s' (%s), but the mel is of '%.31s' (%s)", own->name,
                   mx_recipe_hash_text(own, hashes[0]), wanted->name, mx_recipe_hash_text(wanted, hashes[1]));
}

/* Of options that are resolved. */
static int options_check(const struct mx_sound_options *o)
{
    if (o->frames_max < 1 || o->frames_max > FRAMES_LIMIT || o->utterances_max < 1 ||
        o->utterances_max > UTTERANCES_LIMIT)
        return MX_FAIL(MX_ERR_ARGUMENT, "1 to 2^24 frames, 1 to 2^20 utterances",
                       "cannot make sound of %lld frames in %d utterances", (long long)o->frames_max,
                       (int)o->utterances_max);
    if (o->rounds < kind_of(o)->least_rounds || o->rounds > MX_SOUND_ROUNDS_MAX) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "cannot make sound in %d rounds", o->rounds);
        return mx_error_hint("%d are usual %s; %d to %d are possible", kind_of(o)->rounds,
                             o->vocoder != NULL ? "with a vocoder" : "for Griffin-Lim", kind_of(o)->least_rounds,
                             MX_SOUND_ROUNDS_MAX);
    }
    if (o->projections < 0 || o->projections > MX_SOUND_PROJECTIONS_MAX) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "cannot make sound with %d projections", o->projections);
        return mx_error_hint("%d are usual; 0 to %d are possible",
                             o->predicted ? kind_of(o)->predicted_projections : kind_of(o)->projections,
                             MX_SOUND_PROJECTIONS_MAX);
    }
    if (!(o->texture >= 0 && o->texture <= (o->vocoder != NULL ? MX_SOUND_TEXTURE_MAX : 0))) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "cannot make sound with a texture of %g", o->texture);
        return mx_error_hint("%s", o->vocoder != NULL ? "0 to 10 are possible"
                                                      : "only a vocoder has a source whose "
                                                        "texture could be taken");
    }
    if (!(o->contrast >= 1 && o->contrast <= MX_SOUND_CONTRAST_MAX))
        return MX_FAIL(MX_ERR_ARGUMENT, "1 to 4 are possible; 1 leaves the mel as it is",
                       "cannot make sound with a contrast of %g", o->contrast);
    if (!(o->momentum >= 0 && o->momentum <= 1.5))
        return MX_FAIL(MX_ERR_ARGUMENT, "0.99 is usual, 0 switches it off, more than 1.5 never converges",
                       "a momentum of %g is not possible", o->momentum);
    if (!isfinite(o->mean) || !isfinite(o->deviation) || !(o->deviation > 1e-6))
        return MX_FAIL(MX_ERR_ARGUMENT, "take both from the checkpoint",
                       "mean %g and deviation %g cannot have normalised a mel", o->mean, o->deviation);
    if (o->recipe->hop < 2)
        return MX_FAIL(MX_ERR_ARGUMENT, "take a recipe with a hop of 2 samples or more",
                       "a hop of %d has no sound between its frames", (int)o->recipe->hop);
    if (o->stream && o->vocoder == NULL)
        return MX_FAIL(MX_ERR_ARGUMENT, "make the whole sound at once", "Griffin-Lim cannot make sound piece by piece");
    const int rc = mx_recipe_check(o->recipe);
    return rc < 0 || o->vocoder == NULL ? rc : vocoder_check(o);
}

int64_t mx_sound_samples(const struct mx_recipe *recipe, int64_t frames)
{
    if (frames > 1) return (frames - 1) * recipe->hop;
    return frames == 1 ? recipe->hop / 2 : 0;
}

int mx_sound_rounds(const struct mx_sound *s)
{
    return s->options.rounds;
}

void mx_sound_gain_set(struct mx_sound *s, double gain)
{
    s->options.mean += log(gain / s->raised);
    s->raised = gain;
    if (s->vocoder != NULL) mx_vocoder_mean_set(s->vocoder, (float)s->options.mean);
}

void mx_sound_seed_set(struct mx_sound *s, uint64_t seed)
{
    s->options.seed = seed;
}

int mx_sound_projections(const struct mx_sound *s)
{
    return s->options.projections;
}

double mx_sound_texture(const struct mx_sound *s)
{
    return s->options.texture;
}

double mx_sound_contrast(const struct mx_sound *s)
{
    return s->options.contrast;
}

/* ---- memory: counted and taken by the same functions ---- */

/* An utterance is one block of noise for Griffin–Lim; for the vocoder there is one after each frame. */
static uint64_t blocks_of(const struct mx_sound_options *o)
{
    return o->vocoder != NULL ? (uint64_t)o->frames_max : (uint64_t)o->utterances_max;
}

/* Whether the mel may get contrast or a colour. */
static bool shaped_by(const struct mx_sound_options *o)
{
    return o->contrast > 1 || o->predicted;
}

static struct mx_sound_layout layout_of(const struct mx_sound_options *o, uint64_t table_floats, uint64_t short_floats)
{
    const uint64_t frames = (uint64_t)o->frames_max, utterances = (uint64_t)o->utterances_max, blocks = blocks_of(o);
    const uint64_t size = (uint64_t)o->recipe->fft_size, bins = size / 2 + 1, vocoder = o->vocoder != NULL;
    const uint64_t parts = MX_VOCODER_BURST_PARTS, shaped = shaped_by(o), bands = (uint64_t)o->recipe->bands;
    /* Of a frame, or with a vocoder of its short frames, which have more. */
    const uint64_t spectrum = vocoder ? parts * (size / parts + 2) : size + 2;
    const uint64_t words[MX_SOUND_PIECES] = {[MX_SOUND_TABLES] = table_floats,
                                             [MX_SOUND_PLACES] = 3 * bins,
                                             [MX_SOUND_GAIN] = vocoder * bins,
                                             [MX_SOUND_SAMPLES] = utterances + 1,
                                             [MX_SOUND_FRAMES] = utterances + 1,
                                             [MX_SOUND_ROWS] = vocoder * 2,
                                             [MX_SOUND_MEANS] = shaped * utterances * bands,
                                             [MX_SOUND_COLOUR] = shaped * bands,
                                             [MX_SOUND_MEL] = shaped * frames * bands,
                                             [MX_SOUND_NOISE_LEVELS] = 2 * blocks,
                                             [MX_SOUND_NOISE_STREAMS] = 2 * blocks,
                                             [MX_SOUND_BLOCKS] = blocks + 1,
                                             [MX_SOUND_HZ] = vocoder * frames,
                                             [MX_SOUND_GATE] = vocoder * frames,
                                             [MX_SOUND_PHASE] = vocoder * frames,
                                             [MX_SOUND_SHORT_TABLES] = short_floats,
                                             [MX_SOUND_SHORT_PLACES] = vocoder * 3 * (size / parts / 2 + 1),
                                             [MX_SOUND_SHORT_FRAMES] = vocoder * (utterances + 1),
                                             [MX_SOUND_SHORT_MEL] = vocoder * frames * MX_VOCODER_BURST,
                                             [MX_SOUND_AUDIO] = frames * (uint64_t)o->recipe->hop,
                                             [MX_SOUND_LEVEL] = o->stream ? frames * bins : 0,
                                             [MX_SOUND_MAGNITUDE] = frames * bins,
                                             [MX_SOUND_FIRST] = frames * spectrum,
                                             [MX_SOUND_SECOND] = frames * (size + 2),
                                             [MX_SOUND_WORK] = frames * size};
    struct mx_sound_layout layout = {.bytes = 0};
    for (int i = 0; i < MX_SOUND_PIECES; i++) {
        layout.at[i] = layout.bytes;
        layout.bytes += (4 * words[i] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return layout;
}

static uint64_t host_bytes(const struct mx_sound_options *o)
{
    const uint64_t utterances = (uint64_t)o->utterances_max, frames = (uint64_t)o->frames_max, blocks = blocks_of(o);
    uint64_t words =
        frames * (uint64_t)o->recipe->hop + (uint64_t)o->recipe->bands + 5 * blocks + 1 + 2 * (utterances + 1);
    if (o->vocoder != NULL)
        words += (uint64_t)o->recipe->fft_size / 2 + 1 + MX_SOUND_PIECE * (MX_VOCODER_CLASSES + 1) + 2 + 3 * frames +
                 utterances + 1;
    return 4 * words;
}

static struct mx_vocoder_capacity network_capacity(const struct mx_sound_options *o)
{
    const int64_t most = MX_SOUND_PIECE + 2 * mx_sound_reach(o->vocoder);
    const int32_t frames = (int32_t)(o->frames_max < most ? o->frames_max : most);
    return (struct mx_vocoder_capacity){.sequences = 1, .frames = frames, .longest_frames = frames};
}

int mx_sound_memory_plan(const struct mx_sound_options *options, struct mx_sound_memory_plan *out)
{
    struct mx_sound_options o = *options;
    struct mx_vocoder_config config;
    struct mx_recipe_tables tables = {0}, shorts = {0};
    struct mx_model_memory_plan network = {0};
    int rc = 0;
    *out = (struct mx_sound_memory_plan){0};
    options_resolve(&o, &config);
    MX_TRY(options_check(&o));
    MX_TRY(mx_recipe_tables_build(o.recipe, &tables));
    if (o.vocoder != NULL) {
        const struct mx_vocoder_capacity capacity = network_capacity(&o);
        const struct mx_recipe recipe = mx_vocoder_burst_recipe(o.recipe);
        MX_TRY(mx_recipe_tables_build(&recipe, &shorts));
        MX_TRY(mx_vocoder_memory_plan(o.vocoder, &capacity, MX_MODEL_SPEAK, &network));
    }
    *out = (struct mx_sound_memory_plan){.device_bytes = layout_of(&o, tables.count, shorts.count).bytes +
                                                         network.activations_bytes,
                                         .host_bytes = host_bytes(&o)};
out:
    mx_recipe_tables_release(&shorts);
    mx_recipe_tables_release(&tables);
    return rc;
}

static int host_open(struct mx_sound *s)
{
    const size_t utterances = (size_t)s->options.utterances_max, frames = (size_t)s->options.frames_max;
    const size_t blocks = (size_t)blocks_of(&s->options);
    const int rc = mx_host_alloc(s->device, OWNER, (size_t)host_bytes(&s->options), &s->block);
    if (rc < 0) return rc;
    s->audio = s->block;
    s->colour = s->audio + frames * (size_t)s->recipe.hop;
    s->noise_levels = s->colour + s->recipe.bands;
    s->noise_streams = (int32_t *)(void *)(s->noise_levels + 2 * blocks);
    s->samples = s->noise_streams + 2 * blocks;
    s->frames = s->samples + utterances + 1;
    s->blocks = s->frames + utterances + 1;
    float gain = 1; /* of the noise */
    if (s->options.vocoder != NULL) {
        s->rows = s->blocks + blocks + 1;
        s->gain = (float *)(void *)(s->rows + 2);
        s->logits = s->gain + s->recipe.fft_size / 2 + 1;
        s->track.hz = s->logits + (size_t)MX_SOUND_PIECE * (MX_VOCODER_CLASSES + 1);
        s->track.gate = s->track.hz + frames;
        s->track.phase = s->track.gate + frames;
        s->shorts = (int32_t *)(void *)(s->track.phase + frames);
        mx_sound_gain_fill(&s->recipe, s->gain);
        gain = mx_sound_noise_gain(&s->recipe);
    }
    for (size_t i = 0; i < blocks; i++) {
        s->noise_levels[2 * i] = gain;
        s->noise_levels[2 * i + 1] = MX_SOUND_NOISE_TO_ONE;
    }
    return 0;
}

static int bands_open(struct mx_sound_bands *bands, const struct mx_recipe *recipe)
{
    int rc = 0;
    MX_TRY(mx_recipe_tables_build(recipe, &bands->tables));
    bands->places = mx_alloc(3 * ((size_t)recipe->fft_size / 2 + 1), sizeof *bands->places);
    if (bands->places == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_recipe_places_build(recipe, &bands->tables, bands->places));
out:
    return rc;
}

static void bands_close(struct mx_sound_bands *bands)
{
    mx_recipe_tables_release(&bands->tables);
    mx_free(bands->places);
}

int mx_sound_create(struct mx_device *device, struct mx_stream *stream, const struct mx_sound_options *options,
                    struct mx_sound **out)
{
    int rc = 0;
    *out = NULL;
    struct mx_sound *s = mx_alloc(1, sizeof *s);
    if (s == NULL) return MX_ERR_NO_MEMORY;
    s->device = device;
    s->options = *options;
    s->raised = 1;
    options_resolve(&s->options, &s->config);
    MX_TRY(options_check(&s->options));
    s->kind = kind_of(&s->options);
    s->recipe = *s->options.recipe;
    s->options.recipe = &s->recipe;
    s->short_recipe = mx_vocoder_burst_recipe(&s->recipe);
    MX_TRY(bands_open(&s->bands, &s->recipe));
    if (s->options.vocoder != NULL) MX_TRY(bands_open(&s->short_bands, &s->short_recipe));
    s->layout = layout_of(&s->options, s->bands.tables.count, s->short_bands.tables.count);
    MX_TRY(host_open(s));
    MX_TRY(mx_buffer_create(device, OWNER, (size_t)s->layout.bytes, &s->buffer));
    if (s->options.vocoder != NULL) {
        const struct mx_vocoder_capacity capacity = network_capacity(&s->options);
        MX_TRY(mx_vocoder_create(device, stream, &s->config, &capacity, MX_MODEL_SPEAK, &s->vocoder));
        mx_vocoder_frozen_set(s->vocoder, s->options.frozen);
    }
    *out = s;
    s = NULL;
out:
    mx_sound_destroy(s);
    return rc;
}

void mx_sound_destroy(struct mx_sound *s)
{
    if (s == NULL) return;
    mx_vocoder_destroy(s->vocoder);
    mx_buffer_release(s->buffer);
    if (s->block != NULL) mx_host_release(s->device, s->block);
    bands_close(&s->bands);
    bands_close(&s->short_bands);
    mx_free(s);
}

/* ---- a batch ---- */

static int batch_check(const struct mx_sound *s, const int32_t *frame_offsets, int32_t count)
{
    if (count < 0 || count > s->options.utterances_max)
        return MX_FAIL(MX_ERR_ARGUMENT, "speak fewer utterances at once",
                       "%d utterances are more than the %d that there is room for", (int)count,
                       (int)s->options.utterances_max);
    for (int32_t i = 0; i < count; i++)
        if (frame_offsets[0] != 0 || frame_offsets[i + 1] < frame_offsets[i] ||
            frame_offsets[i + 1] > s->options.frames_max)
            return MX_FAIL(MX_ERR_ARGUMENT, "offsets begin with 0, do not decrease and end within the capacity",
                           "utterance %d lies outside the room for sound of %lld frames", (int)i,
                           (long long)s->options.frames_max);
    return 0;
}

/* The next block of noise, `length` samples long. */
static void block_add(struct mx_sound *s, struct mx_ragged *blocks, int64_t stream, int64_t length)
{
    s->noise_streams[2 * blocks->count] = (int32_t)(uint32_t)stream;
    s->noise_streams[2 * blocks->count + 1] = (int32_t)(uint32_t)(stream >> 32);
    s->blocks[blocks->count + 1] = s->blocks[blocks->count] + (int32_t)length;
    if (length > blocks->max_rows) blocks->max_rows = (int32_t)length;
    blocks->count++;
}

void mx_sound_batch_lay(struct mx_sound *s, int32_t count, struct mx_sound_batch *b)
{
    b->samples = (struct mx_ragged){.offsets = mx_sound_piece(s, MX_SOUND_SAMPLES), .count = count};
    b->frames = (struct mx_ragged){.offsets = mx_sound_piece(s, MX_SOUND_FRAMES), .count = count};
    b->blocks = (struct mx_ragged){.offsets = mx_sound_piece(s, MX_SOUND_BLOCKS)};
    b->shorts = (struct mx_ragged){.offsets = mx_sound_piece(s, MX_SOUND_SHORT_FRAMES), .count = count};
    s->samples[0] = s->blocks[0] = 0;
    if (s->options.vocoder != NULL) s->shorts[0] = 0;
    for (int32_t i = 0; i < count; i++) {
        const int32_t rows = s->frames[i + 1] - s->frames[i];
        const int64_t length = mx_sound_samples(&s->recipe, rows), hop = s->recipe.hop;
        s->samples[i + 1] = s->samples[i] + (int32_t)length;
        if (length > b->samples.max_rows) b->samples.max_rows = (int32_t)length;
        if (rows > b->frames.max_rows) b->frames.max_rows = rows;
        if (s->options.vocoder == NULL) {
            block_add(s, &b->blocks, MX_SOUND_NOISE_STREAM, length);
            continue;
        }
        const int32_t shorts = (int32_t)mx_recipe_frames(&s->short_recipe, length);
        s->shorts[i + 1] = s->shorts[i] + shorts;
        if (shorts > b->shorts.max_rows) b->shorts.max_rows = shorts;
        b->shorts.rows = s->shorts[i + 1];
        for (int64_t at = 0; at < length; at += hop)
            block_add(s, &b->blocks, mx_sound_noise_stream(b->first + at / hop), length - at < hop ? length - at : hop);
    }
    b->samples.rows = b->blocks.rows = s->samples[count];
    b->frames.rows = s->frames[count];
}

/* Tables and places. */
static int bands_send(const struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_bands *bands,
                      int32_t fft_size, const enum mx_sound_piece to[2])
{
    int rc = 0;
    MX_TRY(mx_copy_upload(stream, mx_sound_piece(s, to[0]), bands->tables.data, bands->tables.count * 4));
    MX_TRY(mx_copy_upload(stream, mx_sound_piece(s, to[1]), bands->places, 12 * ((size_t)fft_size / 2 + 1)));
out:
    return rc;
}

static int constants_send(struct mx_sound *s, struct mx_stream *stream)
{
    static const enum mx_sound_piece usual[] = {MX_SOUND_TABLES, MX_SOUND_PLACES};
    static const enum mx_sound_piece shorts[] = {MX_SOUND_SHORT_TABLES, MX_SOUND_SHORT_PLACES};
    const size_t bins = (size_t)s->recipe.fft_size / 2 + 1;
    int rc = 0;
    if (s->constants_sent) return 0;
    MX_TRY(bands_send(s, stream, &s->bands, s->recipe.fft_size, usual));
    MX_TRY(mx_copy_upload(stream, mx_sound_piece(s, MX_SOUND_NOISE_LEVELS), s->noise_levels,
                          8 * (size_t)blocks_of(&s->options)));
    if (s->options.vocoder != NULL) {
        MX_TRY(mx_copy_upload(stream, mx_sound_piece(s, MX_SOUND_GAIN), s->gain, 4 * bins));
        MX_TRY(bands_send(s, stream, &s->short_bands, s->short_recipe.fft_size, shorts));
    }
    s->constants_sent = true;
out:
    return rc;
}

static int batch_send(struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_batch *b)
{
    int rc = 0;
    MX_TRY(constants_send(s, stream));
    MX_TRY(mx_copy_upload(stream, b->samples.offsets, s->samples, ((size_t)b->samples.count + 1) * 4));
    MX_TRY(mx_copy_upload(stream, b->frames.offsets, s->frames, ((size_t)b->frames.count + 1) * 4));
    if (s->options.vocoder != NULL)
        MX_TRY(mx_copy_upload(stream, b->shorts.offsets, s->shorts, ((size_t)b->shorts.count + 1) * 4));
    MX_TRY(mx_copy_upload(stream, b->blocks.offsets, s->blocks, ((size_t)b->blocks.count + 1) * 4));
    MX_TRY(mx_copy_upload(stream, mx_sound_piece(s, MX_SOUND_NOISE_STREAMS), s->noise_streams,
                          (size_t)b->blocks.count * 8));
out:
    return rc;
}

int mx_sound_measure(struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_batch *b,
                     struct mx_slice spectrum)
{
    return mx_spectrum(stream, &(struct mx_spectrum_args){.audio = mx_sound_piece(s, MX_SOUND_AUDIO),
                                                          .samples = b->samples,
                                                          .frames = b->frames,
                                                          .tables = mx_sound_piece(s, MX_SOUND_TABLES),
                                                          .spectrum = spectrum,
                                                          .fft_size = s->recipe.fft_size,
                                                          .hop = s->recipe.hop});
}

int mx_sound_overlap(struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_batch *b,
                     struct mx_slice spectrum)
{
    return mx_overlap_add(stream, &(struct mx_overlap_add_args){.spectrum = spectrum,
                                                                .tables = mx_sound_piece(s, MX_SOUND_TABLES),
                                                                .audio = mx_sound_piece(s, MX_SOUND_AUDIO),
                                                                .samples = b->samples,
                                                                .frames = b->frames,
                                                                .work = mx_sound_piece(s, MX_SOUND_WORK),
                                                                .fft_size = s->recipe.fft_size,
                                                                .hop = s->recipe.hop,
                                                                .least = MX_SOUND_LEAST_WEIGHT});
}

/* Round i: from the sound in AUDIO to the next one. `before` is the spectrum of the sound before, and is lost; `now`
 * becomes that of the sound in AUDIO. */
static int round_run(struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_batch *b, int i)
{
    const struct mx_slice now = mx_sound_piece(s, i % 2 ? MX_SOUND_SECOND : MX_SOUND_FIRST);
    const struct mx_slice before = mx_sound_piece(s, i % 2 ? MX_SOUND_FIRST : MX_SOUND_SECOND);
    int rc = 0;
    MX_TRY(mx_sound_measure(s, stream, b, now));
    MX_TRY(mx_griffin_step(
        stream, &(struct mx_griffin_step_args){.now = now,
                                               .before = i < s->kind->steady ? (struct mx_slice){0} : before,
                                               .y = before,
                                               .magnitude = mx_sound_piece(s, MX_SOUND_MAGNITUDE),
                                               .count = (int64_t)b->frames.rows * (s->recipe.fft_size / 2 + 1),
                                               .momentum = (float)s->options.momentum}));
    MX_TRY(mx_sound_overlap(s, stream, b, before));
out:
    return rc;
}

int mx_sound_match(struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_batch *b, int32_t rounds,
                   struct mx_slice spectrum, struct mx_slice magnitude)
{
    const struct mx_recipe *const r = &s->recipe;
    return mx_mel_project(stream, &(struct mx_mel_project_args){.spectrum = spectrum,
                                                                .y = spectrum,
                                                                .mel = b->mel,
                                                                .tables = mx_sound_piece(s, MX_SOUND_TABLES),
                                                                .places = mx_sound_piece(s, MX_SOUND_PLACES),
                                                                .magnitude = magnitude,
                                                                .rows = b->frames.rows,
                                                                .fft_size = r->fft_size,
                                                                .bands = r->bands,
                                                                .weights = s->bands.tables.weights,
                                                                .rounds = rounds,
                                                                .lower = MX_SOUND_PROJECT_LIMIT,
                                                                .raise = MX_SOUND_PROJECT_LIMIT,
                                                                .floor = r->floor,
                                                                .mean = (float)s->options.mean,
                                                                .deviation = (float)s->options.deviation});
}

/* One projection: the sound in AUDIO keeps its phases and comes closer to the mel. */
static int project(struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_batch *b)
{
    const struct mx_slice spectrum = mx_sound_piece(s, MX_SOUND_FIRST);
    int rc = 0;
    MX_TRY(mx_sound_measure(s, stream, b, spectrum));
    MX_TRY(mx_sound_match(s, stream, b, MX_SOUND_PROJECT_ROUNDS, spectrum, (struct mx_slice){0}));
    MX_TRY(mx_sound_overlap(s, stream, b, spectrum));
out:
    return rc;
}

/* What the rounds have smeared over a frame, before and after a burst, is removed: the short frames of the sound
 * in AUDIO are lowered to the short mel. */
static int attenuate(struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_batch *b)
{
    const struct mx_recipe *const r = &s->short_recipe;
    const struct mx_slice spectrum = mx_sound_piece(s, MX_SOUND_FIRST), audio = mx_sound_piece(s, MX_SOUND_AUDIO);
    const struct mx_slice tables = mx_sound_piece(s, MX_SOUND_SHORT_TABLES);
    int rc = 0;
    MX_TRY(mx_spectrum(stream, &(struct mx_spectrum_args){.audio = audio,
                                                          .samples = b->samples,
                                                          .frames = b->shorts,
                                                          .tables = tables,
                                                          .spectrum = spectrum,
                                                          .fft_size = r->fft_size,
                                                          .hop = r->hop}));
    MX_TRY(mx_mel_project(stream, &(struct mx_mel_project_args){.spectrum = spectrum,
                                                                .y = spectrum,
                                                                .mel = b->short_mel,
                                                                .tables = tables,
                                                                .places = mx_sound_piece(s, MX_SOUND_SHORT_PLACES),
                                                                .rows = b->shorts.rows,
                                                                .fft_size = r->fft_size,
                                                                .bands = r->bands,
                                                                .weights = s->short_bands.tables.weights,
                                                                .rounds = 1,
                                                                .lower = MX_SOUND_ATTENUATE_LIMIT,
                                                                .floor = r->floor,
                                                                .deviation = 1}));
    MX_TRY(mx_overlap_add(stream, &(struct mx_overlap_add_args){.spectrum = spectrum,
                                                                .tables = tables,
                                                                .audio = audio,
                                                                .samples = b->samples,
                                                                .frames = b->shorts,
                                                                .work = mx_sound_piece(s, MX_SOUND_WORK),
                                                                .fft_size = r->fft_size,
                                                                .hop = r->hop,
                                                                .least = MX_SOUND_LEAST_WEIGHT}));
out:
    return rc;
}

int mx_sound_run(struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_batch *b)
{
    int rc = 0;
    MX_TRY(batch_send(s, stream, b));
    MX_TRY(s->kind->start(s, stream, b));
    for (int i = 0; i < s->options.rounds; i++) MX_TRY(round_run(s, stream, b, i));
    if (s->options.vocoder != NULL) MX_TRY(attenuate(s, stream, b));
    for (int i = 0; i < s->options.projections; i++) MX_TRY(project(s, stream, b));
    MX_TRY(mx_copy_download(stream, s->audio, mx_sound_piece(s, MX_SOUND_AUDIO),
                            (size_t)b->samples.rows * sizeof *s->audio));
    MX_TRY(mx_stream_sync(stream));
    const float lower = (float)(1 / s->raised);
    for (int32_t i = 0; i < b->samples.rows; i++) {
        s->audio[i] *= lower;
        if (!isfinite(s->audio[i]))
            MX_RAISE(MX_ERR_DATA, "the mel is damaged: try an earlier checkpoint",
                     "waveform: sample %d is not a number", (int)i);
    }
out:
    if (rc < 0) (void)mx_stream_sync(stream); /* the uploads must be done with the host's arrays */
    return rc;
}

/* Predicts all utterances, one after the other. */
static int utterances_predict(struct mx_sound *s, struct mx_stream *stream, const struct mx_sound_batch *b)
{
    const int64_t bins = s->recipe.fft_size / 2 + 1;
    const struct mx_path_track track = s->track;
    int rc = 0;
    for (int32_t i = 0; i < b->frames.count; i++) {
        const int64_t first = s->frames[i], frames = s->frames[i + 1] - first;
        mx_path_begin(&s->path, &s->recipe,
                      (struct mx_path_track){track.hz + first, track.gate + first, track.phase + first});
        const struct mx_sound_utterance utterance = {
            .mel = mx_sound_behind(b->mel, first, s->recipe.bands),
            .frames = frames,
            .level = mx_sound_behind(b->level, first, bins),
            .short_mel = mx_sound_behind(b->short_mel, s->shorts[i], MX_VOCODER_BURST_BANDS)};
        for (int64_t at = 0; at < frames; at += MX_SOUND_PIECE)
            MX_TRY(mx_sound_predict(s, stream, &utterance, at,
                                    at + MX_SOUND_PIECE < frames ? at + MX_SOUND_PIECE : frames));
        mx_path_end(&s->path);
    }
out:
    return rc;
}

int mx_sound_compute(struct mx_sound *s, struct mx_stream *stream, struct mx_slice mel, const int32_t *frame_offsets,
                     int32_t count, struct mx_sound_audio *out)
{
    struct mx_sound_batch batch = {
        .mel = mel, .level = mx_sound_piece(s, MX_SOUND_MAGNITUDE), .short_mel = mx_sound_piece(s, MX_SOUND_SHORT_MEL)};
    int rc = 0;
    s->stream.frames = 0;
    MX_TRY(batch_check(s, frame_offsets, count));
    memcpy(s->frames, frame_offsets, ((size_t)count + 1) * sizeof *s->frames);
    mx_sound_batch_lay(s, count, &batch);
    *out = (struct mx_sound_audio){.audio = s->audio, .offsets = s->samples, .count = count};
    if (batch.samples.rows == 0) goto out;
    MX_TRY(mx_sound_contrast_add(s, stream, count, &batch.mel));
    if (s->options.vocoder != NULL) MX_TRY(utterances_predict(s, stream, &batch));
    MX_TRY(mx_sound_run(s, stream, &batch));
out:
    return rc;
}
