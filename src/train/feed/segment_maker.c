/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Makes segments on the device, see segment_maker.h. Rows of mel and pitch are picked with the operation embedding: its
 * table are the features of the whole batch. The rows of the short mel are picked likewise, from that of the crops: of
 * each segment as much sound as its short frames see, so they are what they would be in the whole utterance. A crop of a
 * segment of n frames has at most 256 n + 192 samples, less than the 513 n magnitudes that are computed last: until then
 * the crops are in their place.
 */
#include "train/feed/segment_maker.h"

#include "base/alloc.h"
#include "myxtts/error.h"

/* The same arrays on the device and, if they are int32 or small, on the host. */
struct arrays {
    struct mx_slice places;  /* int32 [segments, 2] */
    struct mx_slice ids;     /* int32 [frames]: rows of the batch */
    struct mx_slice levels;  /* [segments, 3] */
    struct mx_slice streams; /* int32 [segments, 2] */
    struct mx_slice mel;     /* [frames, bands]: before it is blurred */
    struct mx_slice tables;  /* of the recipe of short frames */
    struct mx_slice samples; /* int32 [segments + 1]: offsets of the crops */
    struct mx_slice shorts;  /* int32 [segments + 1]: offsets of their short frames */
    struct mx_slice picks;   /* int32 [frames, MX_VOCODER_BURST_PARTS]: rows of the short mel */
    struct mx_slice burst;   /* [short frames of all crops, MX_VOCODER_BURST_BANDS] */
};

struct mx_segments_maker {
    struct mx_segments_maker_options options;
    struct mx_device *device;
    struct mx_buffer *buffer;
    struct arrays arrays;
    struct mx_recipe short_recipe;
    struct mx_recipe_tables tables;
    bool tables_sent;
    int32_t *block; /* from mx_host_alloc; what follows points into it */
    int32_t *offsets, (*places)[2], *ids, (*streams)[2];
    int32_t *samples, *shorts, *picks;
    float (*levels)[3];
};

static bool blurs(const struct mx_segment_options *segments)
{
    return segments->augment > 0;
}

/* Short frames that a crop can have: those of the segment, and two more on each side whose samples they see. */
static int64_t shorts_most(const struct mx_segment_options *segments)
{
    return MX_VOCODER_BURST_PARTS * (int64_t)segments->frames + 4;
}

static void arrays_place(const struct mx_segment_options *segments, int32_t bands, size_t tables,
                         struct mx_layout *layout, struct arrays *a)
{
    const struct mx_vocoder_capacity room = mx_segments_capacity(segments);
    const int64_t shorts = room.sequences * shorts_most(segments);
    const int64_t blurred = blurs(segments) ? room.sequences : 0, rows = blurs(segments) ? room.frames : 0;
    *a = (struct arrays){.places = mx_layout_reserve(layout, 2 * (int64_t)room.sequences),
                         .ids = mx_layout_reserve(layout, room.frames),
                         .levels = mx_layout_reserve(layout, 3 * blurred),
                         .streams = mx_layout_reserve(layout, 2 * blurred),
                         .mel = mx_layout_reserve(layout, rows * bands),
                         .tables = mx_layout_reserve(layout, (int64_t)tables),
                         .samples = mx_layout_reserve(layout, room.sequences + 1),
                         .shorts = mx_layout_reserve(layout, room.sequences + 1),
                         .picks = mx_layout_reserve(layout, MX_VOCODER_BURST_PARTS * (int64_t)room.frames),
                         .burst = mx_layout_reserve(layout, shorts * MX_VOCODER_BURST_BANDS)};
}

uint64_t mx_segments_maker_bytes(const struct mx_segment_options *segments, const struct mx_recipe *recipe)
{
    const struct mx_recipe burst = mx_vocoder_burst_recipe(recipe);
    struct mx_layout layout = {0};
    struct mx_recipe_tables tables;
    struct arrays arrays;
    if (mx_recipe_tables_build(&burst, &tables) < 0) return 0;
    arrays_place(segments, recipe->bands, tables.count, &layout, &arrays);
    mx_recipe_tables_release(&tables);
    return layout.offset_bytes;
}

uint64_t mx_segments_maker_host_bytes(const struct mx_segment_options *segments)
{
    const struct mx_vocoder_capacity room = mx_segments_capacity(segments);
    const uint64_t count = (uint64_t)room.sequences, frames = (uint64_t)room.frames;
    return sizeof(int32_t) *
           (3 * (count + 1) + 2 * count + 3 * count + 2 * count + frames + MX_VOCODER_BURST_PARTS * frames);
}

int mx_segments_maker_create(struct mx_device *device, const struct mx_segments_maker_options *options,
                             struct mx_segments_maker **out)
{
    int rc = 0;
    void *host = NULL;
    const struct mx_segment_options *const segments = &options->segments;
    const size_t count = (size_t)segments->count;
    struct mx_layout layout = {0};
    struct mx_segments_maker *maker = mx_alloc(1, sizeof *maker);
    *out = NULL;
    if (maker == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    maker->options = *options;
    maker->device = device;
    maker->short_recipe = mx_vocoder_burst_recipe(options->recipe);
    MX_TRY(mx_recipe_tables_build(&maker->short_recipe, &maker->tables));
    MX_TRY(mx_buffer_create(device, options->owner, (size_t)mx_segments_maker_bytes(segments, options->recipe),
                            &maker->buffer));
    layout.buffer = maker->buffer;
    arrays_place(segments, options->recipe->bands, maker->tables.count, &layout, &maker->arrays);
    MX_TRY(mx_host_alloc(device, options->owner, (size_t)mx_segments_maker_host_bytes(segments), &host));
    maker->block = maker->offsets = host;
    maker->places = (int32_t(*)[2])(void *)(maker->offsets + count + 1);
    maker->streams = maker->places + count;
    maker->levels = (float(*)[3])(void *)(maker->streams + count);
    maker->samples = (int32_t *)(void *)(maker->levels + count);
    maker->shorts = maker->samples + count + 1;
    maker->ids = maker->shorts + count + 1;
    maker->picks = maker->ids + mx_segments_capacity(segments).frames;
    *out = maker;
    maker = NULL;
out:
    mx_segments_maker_destroy(maker);
    return rc;
}

void mx_segments_maker_destroy(struct mx_segments_maker *maker)
{
    if (maker == NULL) return;
    mx_host_release(maker->device, maker->block);
    mx_buffer_release(maker->buffer);
    mx_recipe_tables_release(&maker->tables);
    mx_free(maker);
}

/* What the host knows about the segments, for the device. */
static void segments_describe(struct mx_segments_maker *maker, const struct mx_device_batch *on_device)
{
    int32_t rows = 0;
    maker->offsets[0] = 0;
    for (int32_t i = 0; i < on_device->segment_count; i++) {
        const struct mx_segment *const segment = &on_device->segments[i];
        const struct mx_segment_blur blur = mx_segments_blur(
            &maker->options.segments, maker->options.seed, on_device->epoch, segment->number, maker->options.deviation);
        for (int k = 0; k < 3; k++) maker->levels[i][k] = blur.levels[k];
        maker->streams[i][0] = (int32_t)(uint32_t)blur.stream;
        maker->streams[i][1] = (int32_t)(uint32_t)(blur.stream >> 32);
        maker->places[i][0] = segment->sequence;
        maker->places[i][1] = segment->first;
        for (int32_t r = 0; r < segment->rows; r++) maker->ids[rows++] = segment->row + r;
        maker->offsets[i + 1] = rows;
    }
}

/* Rows of [frames, n] → [rows of the segments, n] */
static int rows_pick(const struct mx_segments_maker *maker, struct mx_stream *stream, struct mx_slice from,
                     int64_t frames, int64_t n, struct mx_slice to, int64_t rows)
{
    return mx_embedding(
        stream,
        &(struct mx_embedding_args){
            .ids = maker->arrays.ids, .table = from, .y = to, .rows = rows, .n = n, .vocabulary = frames, .factor = 1});
}

/* ---- the short mel ---- */

static int64_t clamp(int64_t value, int64_t most)
{
    return value < 0 ? 0 : value < most ? value : most;
}

/* The crop of segment i, which follows the earlier ones, and the rows of its short mel. Copies its samples. */
static int crop_copy(struct mx_segments_maker *maker, struct mx_stream *stream, struct mx_slice audio,
                     const int32_t *ends, const struct mx_segment *segment, int32_t i, struct mx_slice crops)
{
    enum { PARTS = MX_VOCODER_BURST_PARTS, BEFORE = MX_VOCODER_BURST_BEFORE };
    const int64_t hop = maker->short_recipe.hop, half = maker->short_recipe.fft_size / 2;
    const int64_t samples = ends[segment->sequence + 1] - ends[segment->sequence];
    const int64_t last = mx_recipe_frames(&maker->short_recipe, samples) - 1; /* short frame of the utterance */
    const int64_t first = PARTS * (int64_t)segment->first - BEFORE, count = PARTS * (int64_t)segment->rows;
    const int64_t low = clamp(first, last), high = clamp(first + count - 1, last);
    const int64_t begin = low * hop > half ? low * hop - half : 0;
    const int64_t end = high * hop + half < samples ? high * hop + half : samples;
    struct mx_slice from = audio, to = crops;
    int32_t *const picks = maker->picks + PARTS * (int64_t)maker->offsets[i];
    for (int64_t k = 0; k < count; k++) picks[k] = maker->shorts[i] + (int32_t)(clamp(first + k, last) - begin / hop);
    maker->samples[i + 1] = maker->samples[i] + (int32_t)(end - begin);
    maker->shorts[i + 1] = maker->shorts[i] + (int32_t)mx_recipe_frames(&maker->short_recipe, end - begin);
    from.offset_bytes += (size_t)(ends[segment->sequence] + begin) * sizeof(float);
    to.offset_bytes += (size_t)maker->samples[i] * sizeof(float);
    return mx_copy_slices(stream, to, from, (size_t)(end - begin) * sizeof(float));
}

static struct mx_ragged ragged_of(const int32_t *offsets, int32_t count, struct mx_slice on_device)
{
    struct mx_ragged rows = {.offsets = on_device, .count = count, .rows = offsets[count]};
    for (int32_t i = 0; i < count; i++)
        if (offsets[i + 1] - offsets[i] > rows.max_rows) rows.max_rows = offsets[i + 1] - offsets[i];
    return rows;
}

static int upload(struct mx_stream *stream, struct mx_slice to, const void *from, int64_t words)
{
    return mx_copy_upload(stream, to, from, (size_t)words * 4);
}

static int burst_compute(struct mx_segments_maker *maker, struct mx_stream *stream, struct mx_slice audio,
                         const int32_t *ends, const struct mx_device_batch *on_device)
{
    int rc = 0;
    const struct arrays *const a = &maker->arrays;
    const struct mx_recipe *const r = &maker->short_recipe;
    const struct mx_slice crops = on_device->vocoder.target;
    const int32_t count = on_device->segment_count;
    const int64_t rows = (int64_t)on_device->vocoder.frames.rows * MX_VOCODER_BURST_PARTS;
    if (!maker->tables_sent) MX_TRY(upload(stream, a->tables, maker->tables.data, (int64_t)maker->tables.count));
    maker->tables_sent = true;
    maker->samples[0] = maker->shorts[0] = 0;
    for (int32_t i = 0; i < count; i++)
        MX_TRY(crop_copy(maker, stream, audio, ends, &on_device->segments[i], i, crops));
    MX_TRY(upload(stream, a->samples, maker->samples, count + 1));
    MX_TRY(upload(stream, a->shorts, maker->shorts, count + 1));
    MX_TRY(upload(stream, a->picks, maker->picks, rows));
    MX_TRY(mx_mel(stream, &(struct mx_mel_args){.audio = crops,
                                                .samples = ragged_of(maker->samples, count, a->samples),
                                                .frames = ragged_of(maker->shorts, count, a->shorts),
                                                .tables = a->tables,
                                                .mel = a->burst,
                                                .fft_size = r->fft_size,
                                                .hop = r->hop,
                                                .bands = r->bands,
                                                .weights = maker->tables.weights,
                                                .floor = r->floor,
                                                .inverse_deviation = 1}));
    MX_TRY(mx_embedding(stream, &(struct mx_embedding_args){.ids = a->picks,
                                                            .table = a->burst,
                                                            .y = on_device->vocoder.burst,
                                                            .rows = rows,
                                                            .n = r->bands,
                                                            .vocabulary = maker->shorts[count],
                                                            .factor = 1}));
out:
    return rc;
}

/* ---- the rest ---- */

static int mel_compute(const struct mx_segments_maker *maker, struct mx_stream *stream,
                       const struct mx_extract_features *features, const struct mx_vocoder_batch *to)
{
    int rc = 0;
    const struct arrays *const a = &maker->arrays;
    const int64_t bands = maker->options.recipe->bands, count = to->frames.count;
    const bool blurred = blurs(&maker->options.segments);
    MX_TRY(rows_pick(maker, stream, features->mel, features->frames.rows, bands, blurred ? a->mel : to->mel,
                     to->frames.rows));
    if (!blurred) goto out;
    MX_TRY(upload(stream, a->levels, maker->levels, 3 * count));
    MX_TRY(upload(stream, a->streams, maker->streams, 2 * count));
    MX_TRY(mx_mel_blur(stream, &(struct mx_mel_blur_args){.x = a->mel,
                                                          .y = to->mel,
                                                          .rows = to->frames,
                                                          .levels = a->levels,
                                                          .streams = a->streams,
                                                          .n = bands,
                                                          .seed = maker->options.seed}));
out:
    return rc;
}

int mx_segments_maker_run(struct mx_segments_maker *maker, struct mx_stream *stream, struct mx_extract *extract,
                          const struct mx_extract_features *features, const int32_t *ends,
                          const struct mx_device_batch *on_device)
{
    int rc = 0;
    const struct arrays *const a = &maker->arrays;
    const struct mx_vocoder_batch *const to = &on_device->vocoder;
    const int64_t count = on_device->segment_count, rows = to->frames.rows;
    const struct mx_extract_pick pick = {.out = to->frames, .places = a->places};
    if (count == 0) return 0;
    segments_describe(maker, on_device);
    MX_TRY(upload(stream, to->frames.offsets, maker->offsets, count + 1));
    MX_TRY(upload(stream, a->places, maker->places, 2 * count));
    MX_TRY(upload(stream, a->ids, maker->ids, rows));
    MX_TRY(mel_compute(maker, stream, features, to));
    MX_TRY(rows_pick(maker, stream, features->pitch, features->frames.rows, 1, to->pitch, rows));
    MX_TRY(burst_compute(maker, stream, mx_extract_audio(extract), ends, on_device));
    MX_TRY(mx_extract_magnitudes(extract, stream, &pick, MX_VOCODER_LEAST, to->target));
out:
    return rc;
}
