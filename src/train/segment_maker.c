/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Makes segments on the device, see segment_maker.h. Rows of mel and pitch are picked with the operation embedding: its
 * table are the features of the whole batch.
 */
#include "train/segment_maker.h"

#include "base/alloc.h"
#include "myxtts/error.h"

/* The same arrays on the device and, except the last, on the host. */
struct arrays {
    struct mx_slice places;  /* int32 [segments, 2] */
    struct mx_slice ids;     /* int32 [frames]: rows of the batch */
    struct mx_slice levels;  /* [segments, 3] */
    struct mx_slice streams; /* int32 [segments, 2] */
    struct mx_slice mel;     /* [frames, bands]: before it is blurred */
};

struct mx_segments_maker {
    struct mx_segments_maker_options options;
    struct mx_device *device;
    struct mx_buffer *buffer;
    struct arrays arrays;
    int32_t *block; /* from mx_host_alloc; what follows points into it */
    int32_t *offsets, (*places)[2], *ids, (*streams)[2];
    float (*levels)[3];
};

static bool blurs(const struct mx_segment_options *segments)
{
    return segments->augment > 0;
}

static void arrays_place(const struct mx_segment_options *segments, struct mx_layout *layout, struct arrays *a)
{
    const struct mx_vocoder_capacity room = mx_segments_capacity(segments);
    const int64_t blurred = blurs(segments) ? room.sequences : 0, rows = blurs(segments) ? room.frames : 0;
    *a = (struct arrays){.places = mx_layout_take(layout, 2 * (int64_t)room.sequences),
                         .ids = mx_layout_take(layout, room.frames),
                         .levels = mx_layout_take(layout, 3 * blurred),
                         .streams = mx_layout_take(layout, 2 * blurred),
                         .mel = mx_layout_take(layout, rows * mx_recipe_default.bands)};
}

uint64_t mx_segments_maker_bytes(const struct mx_segment_options *segments)
{
    struct mx_layout layout = {0};
    struct arrays arrays;
    arrays_place(segments, &layout, &arrays);
    return layout.offset_bytes;
}

uint64_t mx_segments_maker_host_bytes(const struct mx_segment_options *segments)
{
    const struct mx_vocoder_capacity room = mx_segments_capacity(segments);
    const uint64_t count = (uint64_t)room.sequences;
    return sizeof(int32_t) * (count + 1 + 2 * count + 3 * count + 2 * count + (uint64_t)room.frames);
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
    MX_TRY(mx_buffer_create(device, options->owner, (size_t)mx_segments_maker_bytes(segments), &maker->buffer));
    layout.buffer = maker->buffer;
    arrays_place(segments, &layout, &maker->arrays);
    MX_TRY(mx_host_alloc(device, options->owner, (size_t)mx_segments_maker_host_bytes(segments), &host));
    maker->block = maker->offsets = host;
    maker->places = (int32_t(*)[2])(void *)(maker->offsets + count + 1);
    maker->streams = maker->places + count;
    maker->levels = (float(*)[3])(void *)(maker->streams + count);
    maker->ids = (int32_t *)(void *)(maker->levels + count);
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

static int upload(struct mx_stream *stream, struct mx_slice to, const void *from, int64_t words)
{
    return mx_copy_upload(stream, to, from, (size_t)words * 4);
}

static int mel_make(const struct mx_segments_maker *maker, struct mx_stream *stream,
                    const struct mx_extract_features *features, const struct mx_vocoder_batch *to)
{
    int rc = 0;
    const struct arrays *const a = &maker->arrays;
    const int64_t bands = mx_recipe_default.bands, count = to->frames.count;
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
                          const struct mx_extract_features *features, const struct mx_device_batch *on_device)
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
    MX_TRY(mel_make(maker, stream, features, to));
    MX_TRY(rows_pick(maker, stream, features->pitch, features->frames.rows, 1, to->pitch, rows));
    MX_TRY(mx_extract_magnitudes(extract, stream, &pick, MX_VOCODER_LEAST, to->target));
out:
    return rc;
}
