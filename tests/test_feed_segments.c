/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The vocoder's segments: how they are drawn, what they hold compared with a plain computation from the audio, and that
 * neither threads, devices, resuming nor work sharing change a bit of them. The same for crops, without any text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "support/training_rig.h"
#include "train/feed/feed.h"

#define SEED     3
#define BATCH    4
#define SEGMENTS 6
#define FRAMES   32
#define BANDS    80
#define BINS     513
#define BATCHES  12

static const struct mx_segment_options drawn = {.count = SEGMENTS, .frames = FRAMES, .augment = 0.67};
static const struct mx_segment_options crops = {.count = BATCH, .frames = FRAMES, .augment = 0.67, .crops = true};
static const struct mx_augment_options everything = {.gain_db = 6,
                                                     .noise_share = 0.7,
                                                     .snr_min_db = 10,
                                                     .snr_max_db = 30,
                                                     .speed = 0.2,
                                                     .band_masks = 2,
                                                     .band_width_max = 30,
                                                     .time_masks = 1,
                                                     .time_share_max = 0.5};

static bool segments_equal(const struct mx_segment *a, const struct mx_segment *b, int32_t count)
{
    bool equal = true;
    for (int32_t i = 0; i < count; i++)
        equal = equal && a[i].sequence == b[i].sequence && a[i].first == b[i].first && a[i].row == b[i].row &&
                a[i].rows == b[i].rows && a[i].draw == b[i].draw && a[i].number == b[i].number;
    return equal;
}

/* ---- drawing ---- */

static void test_drawing(void **state)
{
    (void)state;
    static const int32_t offsets[] = {0, 20, 120, 420}; /* the first one is shorter than a segment */
    const struct mx_segment_options many = {.count = 600, .frames = FRAMES};
    struct mx_segment all[600], part[600];
    int32_t of[3] = {0}, begins[3] = {0};
    double draws = 0;
    assert_int_equal(mx_segments_draw(&many, SEED, 2, 5, offsets, 3, all), 600);
    for (int i = 0; i < 600; i++) {
        const int32_t s = all[i].sequence, frames = offsets[s + 1] - offsets[s];
        assert_int_equal(all[i].rows, frames < FRAMES ? frames : FRAMES);
        assert_true(all[i].first >= 0 && all[i].first + all[i].rows <= frames);
        assert_int_equal(all[i].row, offsets[s] + all[i].first);
        assert_true(all[i].draw >= 0 && all[i].draw < 1);
        of[s]++;
        begins[s] += all[i].first;
        draws += (double)all[i].draw;
    }
    /* In proportion to the frames, from everywhere. */
    assert_in_range(of[0], 10, 55);
    assert_in_range(of[1], 100, 190);
    assert_in_range(begins[2] / of[2], 110, 158); /* 134 on average */
    assert_true(fabs(draws / 600 - 0.5) < 0.05);
    /* Members draw what belongs to their numbers; nothing depends on how many a member draws. */
    int32_t at = 0;
    for (int32_t rank = 0; rank < 7; rank++) {
        const struct mx_segment_options own = mx_segments_share(&many, rank, 7);
        assert_int_equal(mx_segments_draw(&own, SEED, 2, 5, offsets, 3, part), own.count);
        assert_true(own.count == 85 || own.count == 86);
        assert_true(segments_equal(part, all + at, own.count));
        at += own.count;
    }
    assert_int_equal(at, 600);
    for (int other = 0; other < 3; other++) {
        mx_segments_draw(&many, SEED + (other == 0), 2 + (other == 1), 5 + (other == 2), offsets, 3, part);
        assert_false(segments_equal(part, all, 600));
    }
    assert_int_equal(mx_segments_draw(&many, SEED, 2, 5, offsets, 0, part), 0); /* an empty batch */
    /* How many are blurred, and how. */
    int32_t blurred = 0, columns = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        const struct mx_segment_blur blur = mx_segments_blur(&drawn, SEED, 0, i, 2);
        const bool any = blur.levels[0] > 0;
        blurred += any;
        columns += blur.levels[1] > 0;
        assert_true(any ? blur.levels[0] >= 0.2f && blur.levels[0] <= 1.5f
                        : blur.levels[1] == 0 && blur.levels[2] == 0);
        assert_true(blur.levels[1] <= 0.8f && blur.levels[2] <= 0.15f / 2);
    }
    assert_in_range(blurred, 620, 720);
    assert_in_range(columns, 280, 390);
}

static void test_bad_options(void **state)
{
    (void)state;
    const struct mx_segment_options bad[] = {{.count = -1},
                                             {.count = 1025, .frames = 64},
                                             {.count = 8, .frames = 15},
                                             {.count = 8, .frames = 1025},
                                             {.count = 8, .frames = 64, .augment = 1.5},
                                             {.count = 8, .frames = 64, .augment = (double)NAN}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_int_equal(mx_segments_check(&bad[i]), MX_ERR_CONFIG);
    /* Features have no sound. */
    const struct mx_batch_source_options how = {
        .dataset = training.datasets[TRAINING_FEATURES], .reference_seconds = 1, .segments = crops};
    struct mx_batch_source *source;
    assert_int_equal(mx_batch_source_create(&how, &source), MX_ERR_DATA);
    assert_non_null(strstr(mx_error_last()->message, "no sound"));
}

/* ---- contents ---- */

static struct mx_batch_source *source_make(const struct mx_segment_options *segments)
{
    const struct mx_batch_source_options how = {.dataset = training.datasets[TRAINING_SOUND],
                                                .normaliser = training.normaliser,
                                                .seed = SEED,
                                                .reference_seconds = 0.5,
                                                .segments = *segments};
    struct mx_batch_source *source;
    if (mx_batch_source_create(&how, &source) < 0) fail_msg("%s", mx_error_last()->message);
    return source;
}

/* One batch on the host and on the device, and what a plain extractor makes of the same audio. */
struct made {
    struct mx_batch_source *source;
    struct mx_host_batch *host;
    struct mx_batch_builder *batch;
    struct mx_stream *stream;
    struct mx_extract *extract, *shorts;
    float *mel, *pitch, *burst;                      /* of the whole batch, by the extractors */
    float *own_mel, *own_pitch, *target, *own_burst; /* of the segments, as they were made */
};

static void extract_plain(struct made *m, const struct mx_host_batch_capacity *capacity)
{
    struct mx_extract_features features;
    const struct mx_extract_options options = {.samples_max = capacity->samples,
                                               .utterances_max = capacity->model.sequences};
    const struct mx_extract_batch batch = {.audio = m->host->audio,
                                           .offsets = m->host->sample_offsets,
                                           .count = m->host->count,
                                           .draws = m->host->draws,
                                           .seed = SEED,
                                           .unmasked = true};
    const size_t frames = (size_t)m->host->frames;
    assert_int_equal(mx_extract_create(training.model, &options, &m->extract), 0);
    assert_int_equal(mx_extract_normalise(m->extract, training.normaliser.mel_mean, training.normaliser.mel_deviation),
                     0);
    m->mel = mx_alloc(frames * BANDS, sizeof(float));
    m->pitch = mx_alloc(frames, sizeof(float));
    assert_int_equal(mx_extract_submit(m->extract, m->stream, &batch, &features), 0);
    assert_int_equal(mx_extract_read(m->extract, m->stream, m->mel, NULL, m->pitch), 0);
    assert_memory_equal(mx_extract_frames(m->extract), m->host->frame_offsets,
                        ((size_t)m->host->count + 1) * sizeof(int32_t));
    /* The short frames of everything. */
    const struct mx_recipe recipe = mx_vocoder_burst_recipe(MX_RECIPE_DEFAULT);
    struct mx_extract_options few = options;
    few.recipe = &recipe;
    few.no_pitch = true;
    assert_int_equal(mx_extract_create(training.model, &few, &m->shorts), 0);
    assert_int_equal(mx_extract_submit(m->shorts, m->stream, &batch, &features), 0);
    m->burst = mx_alloc((size_t)features.frames.rows * MX_VOCODER_BURST_BANDS, sizeof(float));
    assert_int_equal(mx_extract_read(m->shorts, m->stream, m->burst, NULL, NULL), 0);
}

static const struct mx_vocoder_batch *segments_read(const struct mx_device_batch *from, struct mx_stream *stream,
                                                    float **mel, float **pitch, float **target, float **burst)
{
    const struct mx_vocoder_batch *const v = &from->vocoder;
    const size_t rows = (size_t)v->frames.rows;
    *mel = mx_alloc(rows * BANDS, sizeof(float));
    *pitch = mx_alloc(rows, sizeof(float));
    *target = mx_alloc(rows * BINS, sizeof(float));
    *burst = mx_alloc(rows * MX_VOCODER_BURST, sizeof(float));
    int32_t offsets[SEGMENTS + 1];
    assert_int_equal(v->frames.count, from->segment_count);
    assert_int_equal(mx_copy_download(stream, *mel, v->mel, rows * BANDS * sizeof(float)), 0);
    assert_int_equal(mx_copy_download(stream, *pitch, v->pitch, rows * sizeof(float)), 0);
    assert_int_equal(mx_copy_download(stream, *target, v->target, rows * BINS * sizeof(float)), 0);
    assert_int_equal(mx_copy_download(stream, *burst, v->burst, rows * MX_VOCODER_BURST * sizeof(float)), 0);
    assert_int_equal(
        mx_copy_download(stream, offsets, v->frames.offsets, ((size_t)v->frames.count + 1) * sizeof(int32_t)), 0);
    if (mx_stream_sync(stream) < 0) fail_msg("%s", mx_error_last()->message);
    int32_t at = 0, longest = 0;
    for (int32_t i = 0; i < from->segment_count; i++) {
        assert_int_equal(offsets[i], at);
        at += from->segments[i].rows;
        if (from->segments[i].rows > longest) longest = from->segments[i].rows;
    }
    assert_int_equal(at, v->frames.rows);
    assert_int_equal(offsets[from->segment_count], at);
    assert_int_equal(longest, v->frames.max_rows);
    return v;
}

static void made_open(struct made *m, const struct mx_segment_options *segments, const struct mx_augment_options *how,
                      const uint32_t *items, uint32_t count)
{
    struct mx_host_batch_capacity capacity;
    struct mx_dataset_reader *reader;
    uint32_t all[TRAINING_ROWS];
    for (uint32_t i = 0; i < TRAINING_ROWS; i++) all[i] = i;
    *m = (struct made){.source = source_make(segments)};
    assert_int_equal(mx_batch_source_capacity(m->source, all, TRAINING_ROWS, BATCH, 0, &capacity), 0);
    assert_int_equal(mx_host_batch_capacity_stretch(&capacity, how != NULL ? how->speed : 0), 0);
    const struct mx_batch_builder_options options = {.capacity = capacity,
                                                     .normaliser = training.normaliser,
                                                     .span_max = how != NULL ? mx_augment_span_count(how) : 0,
                                                     .seed = SEED,
                                                     .segments = *segments,
                                                     .own = true};
    assert_int_equal(mx_stream_create(training.model, "test", &m->stream), 0);
    assert_int_equal(mx_host_batch_create(m->source, training.model, &capacity, &m->host), 0);
    if (how != NULL) assert_int_equal(mx_host_batch_augment(m->host, how), 0);
    assert_int_equal(mx_dataset_reader_create(training.datasets[TRAINING_SOUND], &reader), 0);
    if (mx_batch_builder_create(training.model, m->stream, &options, &m->batch) < 0)
        fail_msg("%s", mx_error_last()->message);
    assert_int_equal(mx_host_batch_fill(m->host, reader, 1, 2, items, count), 0);
    assert_int_equal(m->host->count, count);
    assert_int_equal(m->host->segment_count, segments->crops ? (int32_t)count : segments->count);
    if (mx_batch_builder_run(m->batch, m->stream, m->host, NULL) < 0) fail_msg("%s", mx_error_last()->message);
    const struct mx_device_batch *const on_device = mx_batch_builder_own(m->batch);
    assert_true(segments_equal(on_device->segments, m->host->segments, m->host->segment_count));
    segments_read(on_device, m->stream, &m->own_mel, &m->own_pitch, &m->target, &m->own_burst);
    extract_plain(m, &capacity);
    mx_dataset_reader_destroy(reader);
}

static void made_close(struct made *m)
{
    mx_extract_destroy(m->extract);
    mx_extract_destroy(m->shorts);
    mx_batch_builder_destroy(m->batch);
    mx_host_batch_destroy(m->host);
    mx_batch_source_destroy(m->source);
    mx_stream_release(m->stream);
    mx_free(m->mel);
    mx_free(m->pitch);
    mx_free(m->own_mel);
    mx_free(m->own_pitch);
    mx_free(m->target);
    mx_free(m->burst);
    mx_free(m->own_burst);
}

/* ln(|X[k]| + 1e-3) of one frame of `count` samples, by the definition. */
static double magnitude(const float *samples, int64_t count, int64_t frame, int k)
{
    double real = 0, imaginary = 0;
    for (int i = 0; i < 1024; i++) {
        int64_t at = frame * 256 - 512 + i;
        if (at < 0) at = -at;
        if (at >= count) at = 2 * (count - 1) - at;
        const double angle = 2 * M_PI * i / 1024, x = (0.5 - 0.5 * cos(angle)) * (double)samples[at];
        real += x * cos(angle * k);
        imaginary -= x * sin(angle * k);
    }
    return log(sqrt(real * real + imaginary * imaginary) + 1e-3);
}

/* Its short frames are those of the whole utterance, bit for bit; those beyond its ends are the first and the last. */
static void burst_check(const struct made *m, const struct mx_segment *segment, int32_t row)
{
    const int32_t *const ends = mx_extract_frames(m->shorts) + segment->sequence;
    for (int32_t k = 0; k < 4 * segment->rows; k++) {
        int32_t at = ends[0] + 4 * segment->first - 2 + k;
        if (at < ends[0]) at = ends[0];
        if (at >= ends[1]) at = ends[1] - 1;
        assert_memory_equal(m->own_burst + (size_t)(4 * row + k) * MX_VOCODER_BURST_BANDS,
                            m->burst + (size_t)at * MX_VOCODER_BURST_BANDS, MX_VOCODER_BURST_BANDS * sizeof(float));
    }
}

/* All that segments hold, row by row. `plain`: the audio on the host is what the device heard. */
static void made_check(const struct made *m, const struct mx_segment_options *segments, bool plain)
{
    int32_t row = 0, changed = 0;
    for (int32_t i = 0; i < m->host->segment_count; i++) {
        const struct mx_segment *const segment = &m->host->segments[i];
        const int32_t s = segment->sequence, samples = m->host->sample_offsets[s + 1] - m->host->sample_offsets[s];
        const size_t from = (size_t)m->host->frame_offsets[s] + (size_t)segment->first, rows = (size_t)segment->rows;
        const struct mx_segment_blur blur =
            mx_segments_blur(segments, SEED, 1, segment->number, training.normaliser.mel_deviation);
        assert_int_equal(segment->row, from);
        assert_memory_equal(m->own_pitch + row, m->pitch + from, rows * sizeof(float));
        const bool same =
            memcmp(m->own_mel + (size_t)row * BANDS, m->mel + from * BANDS, rows * BANDS * sizeof(float)) == 0;
        assert_int_equal(same, blur.levels[0] == 0);
        changed += !same;
        for (size_t r = 0; plain && r < rows; r += 13)
            for (int k = 0; k < BINS; k += 37) {
                const double wanted =
                    magnitude(m->host->audio + m->host->sample_offsets[s], samples, segment->first + (int64_t)r, k);
                const double got = (double)m->target[((size_t)row + r) * BINS + (size_t)k];
                if (!(fabs(wanted - got) < 2e-3)) fail_msg("bin %d: %.6f, wanted %.6f", k, got, wanted);
            }
        burst_check(m, segment, row);
        row += segment->rows;
    }
    assert_int_equal(changed > 0, segments->augment > 0);
}

static void test_contents(void **state)
{
    (void)state;
    static const uint32_t items[BATCH] = {3, 0, 9, 5};
    struct mx_segment_options segments = drawn;
    struct made m;
    segments.augment = 0;
    made_open(&m, &segments, NULL, items, BATCH);
    made_check(&m, &segments, true);
    made_close(&m);
    made_open(&m, &drawn, NULL, items, BATCH);
    made_check(&m, &drawn, true);
    made_close(&m);
}

/* The sound that the acoustic network gets, but without its masks. */
static void test_augmented_sound(void **state)
{
    (void)state;
    static const uint32_t items[BATCH] = {3, 0, 9, 5};
    struct mx_segment_options segments = drawn;
    struct made m;
    segments.augment = 0;
    made_open(&m, &segments, &everything, items, BATCH);
    made_check(&m, &segments, false);
    /* Magnitudes and mel are of the same sound: loud bands say so. */
    struct mx_recipe_tables tables;
    assert_int_equal(mx_recipe_tables_build(MX_RECIPE_DEFAULT, &tables), 0);
    const int32_t *const first = (const int32_t *)(const void *)(tables.data + 3 * 1024), *const ends = first + BANDS;
    const float *const weights = (const float *)(const void *)(ends + BANDS + 1);
    int32_t compared = 0;
    for (int32_t r = 0; r < mx_batch_builder_own(m.batch)->vocoder.frames.rows; r++)
        for (int b = 0; b < BANDS; b++) {
            double sum = 0;
            for (int32_t k = ends[b]; k < ends[b + 1]; k++)
                sum += (double)weights[k] * (exp((double)m.target[r * BINS + first[b] + k - ends[b]]) - 1e-3);
            const double mel =
                (double)m.own_mel[r * BANDS + b] * training.normaliser.mel_deviation + training.normaliser.mel_mean;
            if (mel <= -3) continue;
            assert_true(fabs(log(sum) - mel) < 1e-3);
            compared++;
        }
    assert_true(compared > 100);
    mx_recipe_tables_release(&tables);
    /* The acoustic network's mel is masked. */
    const struct mx_device_batch *const on_device = mx_batch_builder_own(m.batch);
    float *const masked = mx_alloc((size_t)m.host->frames * BANDS, sizeof(float));
    assert_int_equal(
        mx_copy_download(m.stream, masked, on_device->batch.mel, (size_t)m.host->frames * BANDS * sizeof(float)), 0);
    assert_int_equal(mx_stream_sync(m.stream), 0);
    assert_true(memcmp(masked, m.mel, (size_t)m.host->frames * BANDS * sizeof(float)) != 0);
    mx_free(masked);
    made_close(&m);
}

/* ---- crops ---- */

static void test_crops(void **state)
{
    (void)state;
    struct mx_segment_options segments = crops;
    struct mx_dataset *const dataset = training.datasets[TRAINING_SOUND];
    struct mx_batch_source *const source = source_make(&segments);
    uint32_t total = 0;
    for (uint32_t i = 0; i < TRAINING_ROWS; i++) { /* numbered without a gap, enough to cover each recording */
        uint32_t first;
        const uint32_t count = mx_batch_source_crops(source, i, &first), frames = mx_batch_source_frames(source, i);
        assert_int_equal(first, total);
        assert_int_equal(count, (frames + FRAMES - 1) / FRAMES);
        total += count;
    }
    mx_batch_source_destroy(source);
    segments.augment = 0;
    const uint32_t items[BATCH] = {0, 1, total - 1, total / 2};
    struct made m;
    made_open(&m, &segments, NULL, items, BATCH);
    made_check(&m, &segments, true);
    assert_int_equal(m.host->tokens, 0);
    assert_int_equal(m.host->utterances[0], 0);
    assert_int_equal(m.host->utterances[2], TRAINING_ROWS - 1);
    assert_int_equal(mx_batch_builder_own(m.batch)->batch.frames.rows, 0); /* nothing for the acoustic network */
    /* The same features as in the whole recording, from where the crop was taken. */
    struct mx_dataset_reader *reader;
    struct mx_dataset_item item;
    assert_int_equal(mx_dataset_reader_create(dataset, &reader), 0);
    int32_t row = 0;
    for (int32_t i = 0; i < m.host->count; i++) {
        const struct mx_segment *const segment = &m.host->segments[i];
        assert_int_equal(mx_dataset_load(reader, m.host->utterances[i], &item), 0);
        const float *const audio = m.host->audio + m.host->sample_offsets[i];
        const int32_t samples = m.host->sample_offsets[i + 1] - m.host->sample_offsets[i];
        int64_t at = 0; /* crops begin at a frame */
        while (memcmp(item.samples + at, audio, (size_t)samples * sizeof(float)) != 0) {
            at += 256;
            assert_true(at + samples <= item.sample_count);
        }
        assert_int_equal(segment->first, at > 0 ? MX_SEGMENT_MARGIN : segment->first);
        for (int k = 1; k < BINS; k += 50)
            for (int32_t r = 0; r < segment->rows; r += segment->rows - 1)
                assert_true(fabs(magnitude(item.samples, item.sample_count, at / 256 + segment->first + r, k) -
                                 (double)m.target[(row + r) * BINS + k]) < 2e-3);
        row += segment->rows;
    }
    mx_dataset_reader_destroy(reader);
    made_close(&m);
    made_open(&m, &crops, &everything, items, BATCH); /* with other speeds, too */
    made_check(&m, &crops, false);
    made_close(&m);
}

/* ---- the feed ---- */

struct way {
    int32_t workers;
    bool two, fixed, shared;
};

struct rig {
    struct mx_batch_source *source;
    struct mx_sampler *sampler;
    struct mx_feed *feed;
    struct mx_stream *stream;
    struct mx_pipeline *pipeline;
};

static void rig_open(struct rig *rig, const struct mx_segment_options *segments, const struct way *way, uint32_t step)
{
    uint32_t items[1000], frames[1000], count = 0;
    const struct mx_sampler_options order = {.seed = SEED, .world = 1, .batch_size = BATCH, .whole = true};
    struct mx_budget_stats before[2], after[2];
    struct mx_feed_memory_plan plan;
    rig->source = source_make(segments);
    for (uint32_t i = 0; i < TRAINING_ROWS; i++) {
        uint32_t first = i;
        const uint32_t each = segments->crops ? mx_batch_source_crops(rig->source, i, &first) : 1;
        for (uint32_t k = 0; k < each; k++) {
            items[count] = first + k;
            frames[count++] = segments->crops ? FRAMES : mx_batch_source_frames(rig->source, i);
        }
    }
    assert_int_equal(mx_sampler_create(&order, items, frames, count, &rig->sampler), 0);
    struct mx_feed_options o = {.source = rig->source,
                                .sampler = rig->sampler,
                                .data = way->two ? training.data : training.model,
                                .model = training.model,
                                .normaliser = training.normaliser,
                                .seed = SEED,
                                .fixed = way->fixed,
                                .augment = everything,
                                .segments = *segments,
                                .workers = way->workers,
                                .host_slots = way->workers + 2,
                                .data_slots = 3,
                                .model_slots = way->two ? 3 : 0,
                                .shared = way->shared,
                                .step_batches = 1};
    assert_int_equal(
        mx_batch_source_capacity(rig->source, items, segments->crops ? 1 : TRAINING_ROWS, BATCH, 0, &o.capacity), 0);
    assert_int_equal(mx_host_batch_capacity_stretch(&o.capacity, everything.speed), 0);
    o.twin = o.capacity.model;
    mx_budget_stats(mx_device_budget(training.data), &before[0]);
    mx_budget_stats(mx_device_budget(training.model), &before[1]);
    if (mx_feed_create(&o, &rig->feed) < 0) fail_msg("%s", mx_error_last()->message);
    mx_budget_stats(mx_device_budget(training.data), &after[0]);
    mx_budget_stats(mx_device_budget(training.model), &after[1]);
    mx_feed_memory_plan(&o, &plan); /* to the byte */
    const uint64_t data = plan.data_slots + plan.features + plan.replica_slots;
    assert_int_equal(after[0].current_bytes - before[0].current_bytes, way->two ? data : 0);
    assert_int_equal(after[1].current_bytes - before[1].current_bytes, plan.model_slots + (way->two ? 0 : data));
    assert_int_equal(after[0].host_bytes + after[1].host_bytes - before[0].host_bytes - before[1].host_bytes,
                     plan.host_slots + plan.features_host + plan.data_slots_host + plan.model_slots_host +
                         plan.replica_slots_host);
    struct mx_pipeline_options options = {.held = 1};
    mx_feed_connect(rig->feed, &options);
    mx_feed_begin(rig->feed, 0, step);
    if (way->shared) {
        const struct mx_shares half = {.count = 1, .points = {{.step = 0, .share = 0.5}}};
        mx_feed_share(rig->feed, 0, &half);
    }
    assert_int_equal(mx_stream_create(training.model, "train", &rig->stream), 0);
    assert_int_equal(mx_pipeline_create(&options, &rig->pipeline), 0);
}

static void rig_close(struct rig *rig)
{
    mx_pipeline_destroy(rig->pipeline);
    mx_stream_release(rig->stream);
    mx_feed_destroy(rig->feed);
    mx_sampler_destroy(rig->sampler);
    mx_batch_source_destroy(rig->source);
}

struct seen {
    struct mx_segment segments[SEGMENTS];
    int32_t count;
    float *mel, *pitch, *target, *burst;
    int32_t rows;
};

static void seen_release(struct seen *all, int count)
{
    for (int i = 0; i < count; i++) {
        mx_free(all[i].mel);
        mx_free(all[i].pitch);
        mx_free(all[i].burst);
        mx_free(all[i].target);
    }
}

/* Where the utterance of a segment is in a divided batch. */
static int32_t part_check(const struct mx_device_batch *on_device, struct seen *seen)
{
    int32_t twins = 0;
    assert_int_equal(on_device->twin->segment_count, 0);
    assert_int_equal(on_device->twin->vocoder.frames.rows, 0);
    for (int32_t i = 0; i < on_device->segment_count; i++) {
        struct mx_segment *const segment = &seen->segments[i];
        assert_int_equal(segment->sequence < 0, segment->row < 0);
        twins += segment->sequence < 0;
        if (segment->sequence < 0) continue;
        assert_true(segment->sequence < on_device->count);
        const int32_t *const offsets = on_device->offsets + on_device->options.capacity.sequences + 1;
        assert_int_equal(segment->row, offsets[segment->sequence] + segment->first);
        assert_true(segment->row + segment->rows <= offsets[segment->sequence + 1]);
    }
    assert_true(on_device->twin->count > 0 || twins == 0);
    return twins;
}

static void batches_see(const struct mx_segment_options *segments, const struct way *way, uint32_t step, int count,
                        struct seen *all)
{
    struct rig rig;
    int32_t twins = 0;
    rig_open(&rig, segments, way, step);
    for (int i = 0; i < count; i++) {
        struct mx_pipeline_batch batch;
        struct seen *const seen = &all[i];
        if (mx_pipeline_take(rig.pipeline, rig.stream, &batch) < 0) fail_msg("%s", mx_error_last()->message);
        const struct mx_device_batch *const on_device = batch.slot;
        *seen = (struct seen){.count = on_device->segment_count, .rows = on_device->vocoder.frames.rows};
        memcpy(seen->segments, on_device->segments, (size_t)seen->count * sizeof *seen->segments);
        segments_read(on_device, rig.stream, &seen->mel, &seen->pitch, &seen->target, &seen->burst);
        if (way->shared) twins += part_check(on_device, seen);
        assert_int_equal(mx_pipeline_give(rig.pipeline, rig.stream), 0);
    }
    assert_int_equal(twins > 0, way->shared);
    rig_close(&rig);
}

static void seen_equal(const struct seen *a, const struct seen *b, bool divided)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->rows, b->rows);
    for (int32_t i = 0; i < a->count; i++) {
        assert_true(a->segments[i].number == b->segments[i].number && a->segments[i].draw == b->segments[i].draw);
        assert_int_equal(a->segments[i].first, b->segments[i].first);
        assert_int_equal(a->segments[i].rows, b->segments[i].rows);
    }
    if (!divided) assert_true(segments_equal(a->segments, b->segments, a->count));
    assert_memory_equal(a->mel, b->mel, (size_t)a->rows * BANDS * sizeof(float));
    assert_memory_equal(a->pitch, b->pitch, (size_t)a->rows * sizeof(float));
    assert_memory_equal(a->burst, b->burst, (size_t)a->rows * MX_VOCODER_BURST * sizeof(float));
    assert_memory_equal(a->target, b->target, (size_t)a->rows * BINS * sizeof(float));
}

static void test_ways(void **state)
{
    (void)state;
    static const struct way ways[] = {{1, true, false, false}, {3, false, false, false}, {2, false, true, false},
                                      {3, true, true, false},  {2, true, false, true},   {1, true, true, true}};
    for (int kind = 0; kind < 2; kind++) {
        const struct mx_segment_options *const segments = kind == 0 ? &drawn : &crops;
        struct seen expected[BATCHES], other[BATCHES];
        batches_see(segments, &(struct way){.workers = 1}, 0, BATCHES, expected);
        assert_true(expected[0].count == segments->count);
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
            if (kind == 1 && ways[i].shared) continue; /* there is nothing to share */
            batches_see(segments, &ways[i], 0, BATCHES, other);
            for (int b = 0; b < BATCHES; b++) seen_equal(&expected[b], &other[b], ways[i].shared);
            seen_release(other, BATCHES);
        }
        /* A run that goes on. */
        batches_see(segments, &ways[1], 2, BATCHES - 2, other);
        for (int b = 0; b < BATCHES - 2; b++) seen_equal(&expected[b + 2], &other[b], false);
        seen_release(other, BATCHES - 2);
        seen_release(expected, BATCHES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drawing),         cmocka_unit_test(test_bad_options), cmocka_unit_test(test_contents),
        cmocka_unit_test(test_augmented_sound), cmocka_unit_test(test_crops),       cmocka_unit_test(test_ways),
    };
    return cmocka_run_group_tests(tests, training_open, training_close);
}
