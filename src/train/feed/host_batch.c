/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Batches on the host, see host_batch.h.
 */
#include "train/feed/host_batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/number.h"
#include "base/rng.h"
#include "features/recipe.h"
#include "myxtts/error.h"

/* Streams of the generator: the upper half is the use, the lower half the epoch. */
#define STREAM_REFERENCE (UINT64_C(0x52454630) << 32)
#define STREAM_CROP      (UINT64_C(0x52454631) << 32)
#define ATTEMPTS         4 /* references that are tried before an utterance must be its own */

/* Utterances of one speaker: list[first … first + train) of the training data, then validation ones up to `all`. */
struct voice {
    uint32_t first, train, all;
};

struct mx_batch_source {
    struct mx_batch_source_options options;
    const struct mx_recipe *recipe;
    bool features;
    struct mx_feature_tensors tensors;
    int64_t crop_samples, crop_frames;
    struct voice *voices; /* [speakers] */
    uint32_t *list;       /* [utterances] */
    uint32_t *place;      /* [utterances]: where in list */
    uint32_t *crops;      /* [utterances + 1]: the number of the first crop of each; NULL: batches have no crops */
};

/* ---- source ---- */

static void voices_fill(struct mx_batch_source *source)
{
    const struct mx_dataset *const dataset = source->options.dataset;
    const uint32_t count = mx_dataset_count(dataset), speakers = mx_dataset_speaker_count(dataset);
    for (uint32_t i = 0; i < count; i++) source->voices[mx_dataset_utterance(dataset, i)->speaker].all++;
    for (uint32_t s = 1; s < speakers; s++)
        source->voices[s].first = source->voices[s - 1].first + source->voices[s - 1].all;
    for (uint32_t s = 0; s < speakers; s++) source->voices[s].all = 0;
    for (int validation = 0; validation < 2; validation++)
        for (uint32_t i = 0; i < count; i++) {
            const struct mx_dataset_utterance *const u = mx_dataset_utterance(dataset, i);
            struct voice *const voice = &source->voices[u->speaker];
            if (u->validation != (validation == 1)) continue;
            source->place[i] = voice->first + voice->all;
            source->list[source->place[i]] = i;
            voice->all++;
            if (validation == 0) voice->train++;
        }
}

/* Numbers the crops of all utterances. */
static int crops_number(struct mx_batch_source *source)
{
    const uint32_t count = mx_dataset_count(source->options.dataset),
                   frames = (uint32_t)source->options.segments.frames;
    uint64_t total = 0;
    if (source->features)
        return MX_FAIL(MX_ERR_DATA, "prepare the corpus without '--features', or train on its folder",
                       "the vocoder cannot learn from precomputed features: they have no sound");
    source->crops = mx_alloc((size_t)count + 1, sizeof *source->crops);
    if (source->crops == NULL) return MX_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        total += (mx_batch_source_frames(source, i) + frames - 1) / frames;
        if (total > UINT32_MAX)
            return MX_FAIL(MX_ERR_DATA, "use a part of the corpus",
                           "the corpus is too long: it has more than %u segments", UINT32_MAX);
        source->crops[i + 1] = (uint32_t)total;
    }
    return 0;
}

uint32_t mx_batch_source_crops(const struct mx_batch_source *source, uint32_t utterance, uint32_t *first)
{
    *first = source->crops[utterance];
    return source->crops[utterance + 1] - source->crops[utterance];
}

/* The utterance that a crop belongs to. */
static uint32_t crop_utterance(const struct mx_batch_source *source, uint32_t crop)
{
    uint32_t low = 0, high = mx_dataset_count(source->options.dataset); /* it lies in [low, high) */
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (source->crops[middle] <= crop)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int mx_batch_source_create(const struct mx_batch_source_options *options, struct mx_batch_source **out)
{
    int rc = 0;
    const uint32_t count = mx_dataset_count(options->dataset);
    struct mx_batch_source *source = mx_alloc(1, sizeof *source);
    *out = NULL;
    if (source == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    source->options = *options;
    source->recipe = mx_recipe_or_default(options->recipe);
    MX_TRY(mx_segments_check(&options->segments));
    source->features = mx_dataset_kind(options->dataset) == MX_PACKED_FEATURES;
    MX_TRY(mx_recipe_dataset_check(source->recipe, options->dataset));
    if (source->features) MX_TRY(mx_feature_tensors_find(options->dataset, source->recipe, &source->tensors));
    source->crop_samples = (int64_t)ceil(options->reference_seconds * source->recipe->rate);
    if (source->crop_samples < 1)
        MX_RAISE(MX_ERR_CONFIG, "2 to 3 seconds are enough for a voice", "a reference of %g seconds is empty",
                 options->reference_seconds);
    source->crop_frames = mx_recipe_frames(source->recipe, source->crop_samples);
    source->voices = mx_alloc(mx_dataset_speaker_count(options->dataset), sizeof *source->voices);
    source->list = mx_alloc(count, sizeof *source->list);
    source->place = mx_alloc(count, sizeof *source->place);
    if (source->voices == NULL || source->list == NULL || source->place == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    voices_fill(source);
    if (options->segments.crops) MX_TRY(crops_number(source));
    *out = source;
    source = NULL;
out:
    mx_batch_source_destroy(source);
    return rc;
}

void mx_batch_source_destroy(struct mx_batch_source *source)
{
    if (source == NULL) return;
    mx_free(source->voices);
    mx_free(source->list);
    mx_free(source->place);
    mx_free(source->crops);
    mx_free(source);
}

struct mx_dataset *mx_batch_source_dataset(const struct mx_batch_source *source)
{
    return source->options.dataset;
}

const struct mx_recipe *mx_batch_source_recipe(const struct mx_batch_source *source)
{
    return source->recipe;
}

const struct mx_normaliser *mx_batch_source_normaliser(const struct mx_batch_source *source)
{
    return &source->options.normaliser;
}

uint32_t mx_batch_source_frames(const struct mx_batch_source *source, uint32_t utterance)
{
    const struct mx_dataset_utterance *const u = mx_dataset_utterance(source->options.dataset, utterance);
    return source->features ? u->frames : (uint32_t)mx_recipe_frames(source->recipe, u->samples);
}

uint32_t mx_batch_source_reference(const struct mx_batch_source *source, uint32_t epoch, uint32_t utterance,
                                   uint32_t attempt)
{
    const struct voice *const voice =
        &source->voices[mx_dataset_utterance(source->options.dataset, utterance)->speaker];
    const uint32_t own = source->place[utterance] - voice->first;
    uint32_t count = voice->train;
    if (count == 0 || (count == 1 && own == 0)) count = voice->all;
    const uint32_t others = count - (own < count); /* without the utterance itself */
    if (others == 0) return utterance;
    uint32_t pick = (uint32_t)mx_rng_below(source->options.seed, STREAM_REFERENCE | epoch,
                                           (uint64_t)utterance * ATTEMPTS + attempt, others);
    if (own < count && pick >= own) pick++;
    return source->list[voice->first + pick];
}

/* ---- capacity ---- */

static int larger_first(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x < y) - (x > y);
}

/* The sum of the `most` largest, and the largest. */
static int64_t largest_sum(uint32_t *values, uint32_t count, uint32_t most, uint32_t *largest)
{
    int64_t sum = 0;
    qsort(values, count, sizeof *values, larger_first);
    for (uint32_t i = 0; i < most && i < count; i++) sum += values[i];
    *largest = count > 0 ? values[0] : 0;
    return sum;
}

/* Samples of a crop; changing the speed rounds, which the last frame has room for. */
static int64_t crop_samples_most(const struct mx_batch_source *source)
{
    return (int64_t)(source->options.segments.frames + 2 * MX_SEGMENT_MARGIN + 1) * source->recipe->hop;
}

static void crops_capacity(const struct mx_batch_source *source, uint32_t most, struct mx_host_batch_capacity *out)
{
    const int64_t samples = crop_samples_most(source);
    const int32_t frames = (int32_t)mx_recipe_frames(source->recipe, samples), count = (int32_t)most;
    *out = (struct mx_host_batch_capacity){
        .recipe = source->recipe,
        .model = {.sequences = count, .frames = count * frames, .longest_frames = frames},
        .samples = count * samples};
}

int mx_batch_source_capacity(const struct mx_batch_source *source, const uint32_t *utterances, uint32_t count,
                             uint32_t batch_size, uint64_t frame_budget, struct mx_host_batch_capacity *out)
{
    int rc = 0;
    if (source->crops != NULL) {
        crops_capacity(source, batch_size > 0 && batch_size < MX_SEGMENTS_MAX ? batch_size : MX_SEGMENTS_MAX, out);
        return 0;
    }
    uint32_t longest_tokens, longest_frames, longest_samples;
    const uint32_t most = batch_size > 0 && batch_size < count ? batch_size : count;
    uint32_t *const values = mx_alloc(count, sizeof *values);
    if (values == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < count; i++)
        values[i] = mx_dataset_utterance(source->options.dataset, utterances[i])->tokens;
    const int64_t tokens = largest_sum(values, count, most, &longest_tokens);
    for (uint32_t i = 0; i < count; i++) values[i] = mx_batch_source_frames(source, utterances[i]);
    int64_t frames = largest_sum(values, count, most, &longest_frames);
    for (uint32_t i = 0; i < count; i++)
        values[i] = source->features ? 0 : mx_dataset_utterance(source->options.dataset, utterances[i])->samples;
    int64_t samples = largest_sum(values, count, most, &longest_samples);
    if (frame_budget > 0 && (uint64_t)frames > frame_budget) {
        frames = (int64_t)frame_budget;
        if (!source->features) samples = frames * source->recipe->hop; /* a frame begins at each hop */
    }
    if (count == 0 || tokens > INT32_MAX || frames > INT32_MAX || samples > INT32_MAX)
        MX_RAISE(MX_ERR_DATA, "make the batches smaller", "cannot make batches of %u out of %u utterances",
                 (unsigned)most, (unsigned)count);
    *out = (struct mx_host_batch_capacity){.recipe = source->recipe,
                                           .model = {.sequences = (int32_t)most,
                                                     .tokens = (int32_t)tokens,
                                                     .frames = (int32_t)frames,
                                                     .references = (int32_t)((int64_t)most * source->crop_frames),
                                                     .longest_tokens = (int32_t)longest_tokens,
                                                     .longest_frames = (int32_t)longest_frames},
                                           .samples = samples,
                                           .reference_samples =
                                               source->features ? 0 : (int64_t)most * source->crop_samples};
out:
    mx_free(values);
    return rc;
}

static int capacity_set(struct mx_host_batch_capacity *c, int64_t frames, int64_t longest_frames, int64_t tokens,
                        int64_t longest_tokens, int64_t references)
{
    if (frames > INT32_MAX || longest_frames > INT32_MAX || tokens > INT32_MAX || longest_tokens > INT32_MAX ||
        references > INT32_MAX || c->samples > INT32_MAX || c->reference_samples > INT32_MAX)
        return MX_FAIL(MX_ERR_DATA, "make the batches smaller", "cannot make batches of %lld frames and %lld samples",
                       (long long)frames, (long long)c->samples);
    c->model.frames = (int32_t)frames;
    c->model.longest_frames = (int32_t)longest_frames;
    c->model.tokens = (int32_t)tokens;
    c->model.longest_tokens = (int32_t)longest_tokens;
    c->model.references = (int32_t)references;
    return 0;
}

int mx_host_batch_capacity_stretch(struct mx_host_batch_capacity *c, double speed)
{
    const struct mx_model_capacity *const m = &c->model;
    const double factor = 1 + speed;
    if (!(speed > 0)) return 0;
    c->samples = (int64_t)ceil((double)c->samples * factor) + m->sequences; /* each is rounded */
    return capacity_set(c, (int64_t)ceil(m->frames * factor) + m->sequences,
                        (int64_t)ceil(m->longest_frames * factor) + 1, m->tokens, m->longest_tokens, m->references);
}

static int64_t round_up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

int mx_host_batch_capacity_round(struct mx_host_batch_capacity *c)
{
    enum { FRAMES = 64, TOKENS = 16 };
    const struct mx_model_capacity *const m = &c->model;
    const int64_t samples = (int64_t)FRAMES * mx_recipe_or_default(c->recipe)->hop;
    c->samples = round_up(c->samples, samples);
    c->reference_samples = round_up(c->reference_samples, samples);
    return capacity_set(c, round_up(m->frames, FRAMES), round_up(m->longest_frames, FRAMES),
                        round_up(m->tokens, TOKENS), round_up(m->longest_tokens, TOKENS),
                        round_up(m->references, FRAMES));
}

/* ---- host batches ---- */

/* Allocates pieces of a block, or only counts while there is none. */
struct carver {
    unsigned char *block;
    size_t at;
};

static void *carve(struct carver *carver, int64_t words)
{
    void *const piece = carver->block != NULL && words > 0 ? carver->block + carver->at : NULL;
    carver->at += ((size_t)words * 4 + 63) & ~(size_t)63;
    return piece;
}

static void arrays_place(struct mx_host_batch *batch, struct carver *carver, bool features)
{
    const struct mx_model_capacity *const c = &batch->capacity.model;
    const int64_t ends = c->sequences + 1, bands = mx_recipe_or_default(batch->capacity.recipe)->bands;
    batch->utterances = carve(carver, c->sequences);
    batch->languages = carve(carver, c->sequences);
    batch->token_offsets = carve(carver, ends);
    batch->frame_offsets = carve(carver, ends);
    batch->reference_offsets = carve(carver, ends);
    batch->sample_offsets = carve(carver, ends);
    batch->reference_sample_offsets = carve(carver, ends);
    batch->token_ids = carve(carver, c->tokens);
    batch->audio = carve(carver, batch->capacity.samples);
    batch->reference_audio = carve(carver, batch->capacity.reference_samples);
    batch->mel = carve(carver, features ? c->frames * bands : 0);
    batch->energy = carve(carver, features ? c->frames : 0);
    batch->pitch = carve(carver, features ? c->frames : 0);
    batch->reference_mel = carve(carver, features ? c->references * bands : 0);
}

uint64_t mx_host_batch_bytes(const struct mx_batch_source *source, const struct mx_host_batch_capacity *capacity)
{
    struct mx_host_batch batch = {.capacity = *capacity};
    struct carver carver = {0};
    arrays_place(&batch, &carver, source->features);
    return carver.at;
}

int mx_host_batch_create(const struct mx_batch_source *source, struct mx_device *device,
                         const struct mx_host_batch_capacity *capacity, struct mx_host_batch **out)
{
    int rc = 0;
    struct carver carver = {0};
    struct mx_host_batch *batch = mx_alloc(1, sizeof *batch);
    *out = NULL;
    if (batch == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    batch->capacity = *capacity;
    batch->device = device;
    batch->source = source;
    if (source->options.segments.count > 0) {
        batch->segments = mx_alloc((size_t)source->options.segments.count, sizeof *batch->segments);
        if (batch->segments == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    }
    MX_TRY(mx_host_alloc(device, "host slots", (size_t)mx_host_batch_bytes(source, capacity), &batch->block));
    carver.block = batch->block;
    arrays_place(batch, &carver, source->features);
    *out = batch;
    batch = NULL;
out:
    mx_host_batch_destroy(batch);
    return rc;
}

void mx_host_batch_destroy(struct mx_host_batch *batch)
{
    if (batch == NULL) return;
    mx_host_release(batch->device, batch->block);
    mx_free(batch->draws);
    mx_free(batch->segments);
    mx_free(batch);
}

int mx_host_batch_augment(struct mx_host_batch *batch, const struct mx_augment_options *how)
{
    batch->augment = how;
    if (batch->draws == NULL) batch->draws = mx_alloc((size_t)batch->capacity.model.sequences, sizeof *batch->draws);
    return batch->draws == NULL ? MX_ERR_NO_MEMORY : 0;
}

/* ---- filling ---- */

/* Draws what happens to utterance number `count`; its speed is settled here. */
static void utterance_draw(struct mx_host_batch *batch, const struct mx_dataset_item *item, uint32_t utterance)
{
    const struct mx_batch_source *const source = batch->source;
    struct mx_augment_draw *const draw = &batch->draws[batch->count];
    mx_augment_draw(batch->augment, source->options.seed, batch->epoch, utterance, source->recipe->bands, draw);
    const int64_t samples = source->features ? 0 : (int64_t)mx_augment_resampled(item->sample_count, draw->speed);
    if (mx_recipe_frames(source->recipe, samples) < item->token_count) draw->speed = 1;
}

/* Of utterance number `count`. */
static double speed_of(const struct mx_host_batch *batch)
{
    return batch->augment != NULL ? batch->draws[batch->count].speed : 1;
}

/* Samples at that speed; `to` has room for them. */
static int samples_put(const float *samples, size_t count, double speed, float *to)
{
    if (speed != 1) return mx_augment_resample_to(samples, count, speed, to);
    memcpy(to, samples, count * sizeof *to);
    return 0;
}

/* Appends the tensors or samples of `item`. 0 if there is no room or it cannot be aligned. */
static int utterance_append(struct mx_host_batch *batch, const struct mx_dataset_item *item, uint32_t utterance)
{
    const struct mx_batch_source *const source = batch->source;
    const struct mx_model_capacity *const c = &batch->capacity.model;
    const int32_t n = batch->count;
    if (n >= c->sequences) return 0;
    if (batch->augment != NULL) utterance_draw(batch, item, utterance);
    const int64_t samples = source->features ? 0 : (int64_t)mx_augment_resampled(item->sample_count, speed_of(batch));
    const int64_t frames = source->features ? item->frames : mx_recipe_frames(source->recipe, samples);
    const int64_t tokens = item->token_count;
    if (frames < tokens || tokens < 1) return 0;
    if (batch->tokens + tokens > c->tokens || batch->frames + frames > c->frames) return 0;
    if (source->features) {
        const size_t bands = (size_t)source->recipe->bands, at = (size_t)batch->frames, rows = (size_t)frames;
        memcpy(batch->mel + at * bands, item->tensors[source->tensors.mel], rows * bands * sizeof(float));
        memcpy(batch->energy + at, item->tensors[source->tensors.energy], rows * sizeof(float));
        memcpy(batch->pitch + at, item->tensors[source->tensors.pitch], rows * sizeof(float));
        mx_normaliser_mel(&source->options.normaliser, batch->mel + at * bands, rows * bands);
        mx_normaliser_energy(&source->options.normaliser, batch->energy + at, rows);
        mx_normaliser_pitch(&source->options.normaliser, batch->pitch + at, rows);
    } else {
        const int64_t at = batch->sample_offsets[n];
        if (at + samples > batch->capacity.samples) return 0;
        const int rc = samples_put(item->samples, item->sample_count, speed_of(batch), batch->audio + at);
        if (rc < 0) return rc;
        batch->sample_offsets[n + 1] = (int32_t)(at + samples);
    }
    memcpy(batch->token_ids + batch->tokens, item->tokens, (size_t)tokens * sizeof(int32_t));
    batch->languages[n] = (int32_t)item->language;
    batch->tokens += (int32_t)tokens;
    batch->frames += (int32_t)frames;
    batch->token_offsets[n + 1] = batch->tokens;
    batch->frame_offsets[n + 1] = batch->frames;
    batch->longest_tokens = mx_most(batch->longest_tokens, (int32_t)tokens);
    batch->longest_frames = mx_most(batch->longest_frames, (int32_t)frames);
    return 1;
}

/* A crop of `item` as the reference of utterance number `count`, at the same speed. */
static int reference_append(struct mx_host_batch *batch, const struct mx_dataset_item *item, uint32_t utterance)
{
    const struct mx_batch_source *const source = batch->source;
    const int32_t n = batch->count;
    const int64_t have = source->features ? item->frames : item->sample_count;
    const int64_t most =
        source->features ? source->crop_frames : (int64_t)((double)source->crop_samples * speed_of(batch));
    const int64_t take = have < most ? have : most;
    const size_t from =
        (size_t)mx_rng_below(source->options.seed, STREAM_CROP | batch->epoch, utterance, (uint64_t)(have - take) + 1);
    int64_t frames = take;
    if (source->features) {
        const size_t bands = (size_t)source->recipe->bands;
        float *const to = batch->reference_mel + (size_t)batch->references * bands;
        memcpy(to, item->tensors[source->tensors.mel] + from * bands, (size_t)take * bands * sizeof(float));
        mx_normaliser_mel(&source->options.normaliser, to, (size_t)take * bands);
    } else {
        const int64_t at = batch->reference_sample_offsets[n];
        const int64_t samples = (int64_t)mx_augment_resampled((size_t)take, speed_of(batch));
        const int rc = samples_put(item->samples + from, (size_t)take, speed_of(batch), batch->reference_audio + at);
        if (rc < 0) return rc;
        batch->reference_sample_offsets[n + 1] = (int32_t)(at + samples);
        frames = mx_recipe_frames(source->recipe, samples);
    }
    batch->references += (int32_t)frames;
    batch->reference_offsets[n + 1] = batch->references;
    batch->longest_reference = mx_most(batch->longest_reference, (int32_t)frames);
    return 0;
}

/* 1: loaded; 0: the row cannot be used; negative: not the row's fault. */
static int item_load(const struct mx_host_batch *batch, struct mx_dataset_reader *reader, uint32_t utterance,
                     struct mx_dataset_item *item)
{
    if (batch->cancel != NULL && atomic_load(batch->cancel))
        return MX_FAIL(MX_ERR_INTERRUPTED, "nothing is wrong", "loading was cancelled");
    if (batch->at != NULL) atomic_store(batch->at, utterance);
    const int rc = mx_dataset_load(reader, utterance, item);
    if (rc >= 0) return 1;
    if (item->reject == MX_REJECT_NONE) return rc;
    mx_error_clear();
    return 0;
}

static int pair_append(struct mx_host_batch *batch, struct mx_dataset_reader *reader, uint32_t utterance)
{
    struct mx_dataset_item item = {0};
    const int32_t longest_tokens = batch->longest_tokens, longest_frames = batch->longest_frames;
    const int usable = item_load(batch, reader, utterance, &item);
    int rc = usable > 0 ? utterance_append(batch, &item, utterance) : usable;
    if (rc < 0) return rc;
    if (rc == 0) {
        batch->left_out++;
        /* The dataset reports what cannot be used at all, whenever that turns out. */
        if (batch->epoch == 0 && usable > 0)
            mx_warn("%s is left out: it has fewer frames than symbols",
                    mx_dataset_utterance(batch->source->options.dataset, utterance)->id);
        return 0;
    }
    rc = 0;
    for (uint32_t attempt = 0; rc == 0 && attempt < ATTEMPTS; attempt++) {
        const uint32_t other = mx_batch_source_reference(batch->source, batch->epoch, utterance, attempt);
        rc = item_load(batch, reader, other, &item);
    }
    if (rc == 0) rc = item_load(batch, reader, utterance, &item);
    if (rc == 0) { /* its own recording has vanished since it was loaded: no reference is left, so it is taken back */
        batch->tokens = batch->token_offsets[batch->count];
        batch->frames = batch->frame_offsets[batch->count];
        batch->longest_tokens = longest_tokens;
        batch->longest_frames = longest_frames;
        batch->left_out++;
        return 0;
    }
    if (rc > 0) rc = reference_append(batch, &item, utterance);
    if (rc < 0) return rc;
    batch->utterances[batch->count++] = utterance;
    return 0;
}

/* Where a crop with a segment of `rows` frames from `first` on lies in a recording of `samples` samples. */
struct crop {
    int64_t begin, end; /* samples */
    int32_t first;      /* the segment's first frame, counted from the crop's */
};

static struct crop crop_place(int64_t hop, int64_t samples, int64_t first, int64_t rows)
{
    const int64_t begin = first > MX_SEGMENT_MARGIN ? first - MX_SEGMENT_MARGIN : 0;
    const int64_t end = (first + rows + MX_SEGMENT_MARGIN) * hop;
    return (struct crop){begin * hop, end < samples ? end : samples, (int32_t)(first - begin)};
}

/* Appends the crop's samples and its segment. 0 if there is no room for them. */
static int crop_put(struct mx_host_batch *batch, const struct mx_dataset_item *item, uint32_t number)
{
    const struct mx_batch_source *const source = batch->source;
    const int32_t n = batch->count, at = batch->sample_offsets[n];
    if (n >= batch->capacity.model.sequences || n >= source->options.segments.count) return 0;
    if (batch->augment != NULL)
        mx_augment_draw(batch->augment, source->options.seed, batch->epoch, number, source->recipe->bands,
                        &batch->draws[n]);
    const double speed = speed_of(batch);
    const int64_t have = item->sample_count, whole = (int64_t)mx_augment_resampled(item->sample_count, speed);
    const int64_t frames = mx_recipe_frames(source->recipe, whole);
    int64_t rows = frames < source->options.segments.frames ? frames : source->options.segments.frames;
    const int64_t first = mx_segments_begin(source->options.seed, batch->epoch, number, frames - rows + 1);
    const struct crop crop = crop_place(source->recipe->hop, whole, first, rows);
    const int64_t begin = llround((double)crop.begin * speed), last = llround((double)crop.end * speed);
    const int64_t end = crop.end == whole || last > have ? have : last; /* in the recording as it is */
    const int64_t samples = (int64_t)mx_augment_resampled((size_t)(end - begin), speed);
    const int64_t made = mx_recipe_frames(source->recipe, samples);
    if (rows > made - crop.first) rows = made - crop.first; /* rounding can cost the last frame */
    if (rows < 1 || at + samples > batch->capacity.samples || batch->frames + made > batch->capacity.model.frames)
        return 0;
    const int rc = samples_put(item->samples + begin, (size_t)(end - begin), speed, batch->audio + at);
    if (rc < 0) return rc;
    batch->segments[n] = (struct mx_segment){.sequence = n,
                                             .first = crop.first,
                                             .row = batch->frames + crop.first,
                                             .rows = (int32_t)rows,
                                             .draw = mx_segments_chance(source->options.seed, batch->epoch, number),
                                             .number = number};
    batch->frames += (int32_t)made;
    batch->longest_frames = mx_most(batch->longest_frames, (int32_t)made);
    batch->sample_offsets[n + 1] = at + (int32_t)samples;
    batch->frame_offsets[n + 1] = batch->frames;
    batch->token_offsets[n + 1] = batch->reference_offsets[n + 1] = batch->reference_sample_offsets[n + 1] = 0;
    batch->languages[n] = 0;
    batch->segment_count = n + 1;
    return 1;
}

static int crop_append(struct mx_host_batch *batch, struct mx_dataset_reader *reader, uint32_t number)
{
    struct mx_dataset_item item = {0};
    const uint32_t utterance = crop_utterance(batch->source, number);
    int rc = item_load(batch, reader, utterance, &item);
    if (rc > 0) rc = crop_put(batch, &item, number);
    if (rc < 0) return rc;
    if (rc == 0)
        batch->left_out++;
    else
        batch->utterances[batch->count++] = utterance;
    return 0;
}

int mx_host_batch_fill(struct mx_host_batch *batch, struct mx_dataset_reader *reader, uint32_t epoch, uint32_t step,
                       const uint32_t *utterances, uint32_t count)
{
    int rc = 0;
    batch->epoch = epoch;
    batch->step = step;
    batch->count = batch->left_out = batch->segment_count = 0;
    batch->tokens = batch->frames = batch->references = 0;
    batch->longest_tokens = batch->longest_frames = batch->longest_reference = 0;
    batch->token_offsets[0] = batch->frame_offsets[0] = batch->reference_offsets[0] = 0;
    batch->sample_offsets[0] = batch->reference_sample_offsets[0] = 0;
    if (batch->source->crops != NULL) {
        for (uint32_t i = 0; i < count; i++) MX_TRY(crop_append(batch, reader, utterances[i]));
        goto out;
    }
    for (uint32_t i = 0; i < count; i++) MX_TRY(pair_append(batch, reader, utterances[i]));
    batch->segment_count = mx_segments_draw(&batch->source->options.segments, batch->source->options.seed, epoch, step,
                                            batch->frame_offsets, batch->count, batch->segments);
out:
    return rc;
}
