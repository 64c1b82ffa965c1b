/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Device batches, see device_batch.h.
 */
#include "train/feed/device_batch.h"

#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "features/recipe.h"
#include "myxtts/error.h"

static void arrays_place(struct mx_layout *layout, const struct mx_recipe *recipe, const struct mx_model_capacity *room,
                         struct mx_model_batch *batch)
{
    mx_model_batch_place(layout, &(struct mx_model_config){.bands = mx_recipe_or_default(recipe)->bands}, room, batch);
}

/* What the arrays of the acoustic network have room for. */
static struct mx_model_capacity arrays_room(const struct mx_device_batch_options *options)
{
    return options->segments_only ? (struct mx_model_capacity){.sequences = 0} : options->capacity;
}

static void segments_place(struct mx_layout *layout, const struct mx_recipe *recipe,
                           const struct mx_vocoder_capacity *room, struct mx_vocoder_batch *batch)
{
    *batch = (struct mx_vocoder_batch){0};
    if (room->sequences == 0) return;
    mx_vocoder_batch_place(layout, &(struct mx_vocoder_config){.recipe = *mx_recipe_or_default(recipe)}, room, batch);
}

/* Offsets of one kind. */
static size_t ends(const struct mx_device_batch_options *options)
{
    return (size_t)options->capacity.sequences + 1;
}

/* Everything in the buffer, at capacity; the spare offsets are last. */
static struct mx_slice buffer_place(const struct mx_device_batch_options *options, struct mx_layout *layout)
{
    struct mx_model_batch batch;
    struct mx_vocoder_batch vocoder;
    const struct mx_model_capacity room = arrays_room(options);
    arrays_place(layout, options->recipe, &room, &batch);
    segments_place(layout, options->recipe, &options->vocoder, &vocoder);
    return mx_layout_reserve(layout, options->offsets ? 3 * (int64_t)ends(options) : 0);
}

uint64_t mx_device_batch_bytes(const struct mx_device_batch_options *options)
{
    struct mx_layout layout = {0};
    buffer_place(options, &layout);
    return layout.offset_bytes;
}

uint64_t mx_device_batch_host_bytes(const struct mx_device_batch_options *options)
{
    return options->offsets ? 3 * ends(options) * sizeof(int32_t) : 0;
}

int mx_device_batch_create(struct mx_device *device, const struct mx_device_batch_options *options,
                           struct mx_device_batch **out)
{
    int rc = 0;
    void *host = NULL;
    struct mx_device_batch *on_device = mx_alloc(1, sizeof *on_device);
    *out = NULL;
    if (on_device == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    on_device->options = *options;
    on_device->device = device;
    on_device->utterances = mx_alloc((size_t)options->capacity.sequences, sizeof *on_device->utterances);
    on_device->segments = mx_alloc((size_t)options->vocoder.sequences, sizeof *on_device->segments);
    if (on_device->utterances == NULL || on_device->segments == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_buffer_create(device, options->owner, (size_t)mx_device_batch_bytes(options), &on_device->buffer));
    if (options->offsets)
        MX_TRY(mx_host_alloc(device, options->owner, (size_t)mx_device_batch_host_bytes(options), &host));
    on_device->offsets = host;
    on_device->spare = buffer_place(options, &(struct mx_layout){.buffer = on_device->buffer});
    *out = on_device;
    on_device = NULL;
out:
    mx_device_batch_destroy(on_device);
    return rc;
}

void mx_device_batch_destroy(struct mx_device_batch *on_device)
{
    if (on_device == NULL) return;
    mx_host_release(on_device->device, on_device->offsets);
    mx_buffer_release(on_device->buffer);
    mx_free(on_device->utterances);
    mx_free(on_device->segments);
    mx_free(on_device);
}

/* Frames of all segments together, and of the longest. */
static struct mx_ragged segments_measure(const struct mx_segment *segments, int32_t count)
{
    struct mx_ragged rows = {.count = count};
    for (int32_t i = 0; i < count; i++) {
        rows.rows += segments[i].rows;
        if (segments[i].rows > rows.max_rows) rows.max_rows = segments[i].rows;
    }
    return rows;
}

/* Cuts the buffer for a batch of these counts; its segments are known already. */
static void buffer_cut(struct mx_device_batch *on_device, struct mx_ragged tokens, struct mx_ragged frames,
                       struct mx_ragged references)
{
    struct mx_model_batch *const b = &on_device->batch;
    struct mx_vocoder_batch *const v = &on_device->vocoder;
    struct mx_layout layout = {.buffer = on_device->buffer};
    const struct mx_model_capacity own = {
        .sequences = tokens.count, .tokens = tokens.rows, .frames = frames.rows, .references = references.rows};
    const struct mx_model_capacity room = arrays_room(&on_device->options);
    arrays_place(&layout, on_device->options.recipe, on_device->options.fixed ? &room : &own, b);
    b->tokens = (struct mx_ragged){b->tokens.offsets, tokens.count, tokens.rows, tokens.max_rows};
    b->frames = (struct mx_ragged){b->frames.offsets, frames.count, frames.rows, frames.max_rows};
    b->references = (struct mx_ragged){b->references.offsets, references.count, references.rows, references.max_rows};
    const struct mx_ragged segments = segments_measure(on_device->segments, on_device->segment_count);
    const struct mx_vocoder_capacity used = {.sequences = segments.count, .frames = segments.rows};
    on_device->segments_at = layout.offset_bytes;
    segments_place(&layout, on_device->options.recipe, on_device->options.fixed ? &on_device->options.vocoder : &used,
                   v);
    v->frames = (struct mx_ragged){v->frames.offsets, segments.count, segments.rows, segments.max_rows};
    on_device->used_bytes = layout.offset_bytes;
}

void mx_device_batch_lay(struct mx_device_batch *on_device, const struct mx_host_batch *host)
{
    on_device->epoch = host->epoch;
    on_device->step = host->step;
    on_device->count = host->count;
    on_device->left_out = host->left_out;
    memcpy(on_device->utterances, host->utterances, (size_t)host->count * sizeof *on_device->utterances);
    on_device->segment_count = mx_least(host->segment_count, on_device->options.vocoder.sequences);
    for (int32_t i = 0; i < on_device->segment_count; i++) {
        on_device->segments[i] = host->segments[i];
        on_device->segments[i].utterance = host->utterances[host->segments[i].sequence];
    }
    const int32_t *const kinds[3] = {host->token_offsets, host->frame_offsets, host->reference_offsets};
    for (size_t k = 0; k < 3 && on_device->offsets != NULL; k++)
        memcpy(on_device->offsets + k * ends(&on_device->options), kinds[k],
               ((size_t)host->count + 1) * sizeof(int32_t));
    if (on_device->options.segments_only) {
        buffer_cut(on_device, (struct mx_ragged){0}, (struct mx_ragged){0}, (struct mx_ragged){0});
        return;
    }
    buffer_cut(on_device, (struct mx_ragged){{0}, host->count, host->tokens, host->longest_tokens},
               (struct mx_ragged){{0}, host->count, host->frames, host->longest_frames},
               (struct mx_ragged){{0}, host->count, host->references, host->longest_reference});
}

int mx_device_batch_move(struct mx_stream *stream, const struct mx_device_batch *from, struct mx_device_batch *to)
{
    to->epoch = from->epoch;
    to->step = from->step;
    to->count = from->count;
    to->left_out = from->left_out;
    memcpy(to->utterances, from->utterances, (size_t)from->count * sizeof *to->utterances);
    to->segment_count = from->segment_count;
    for (int32_t i = 0; i < from->segment_count; i++) to->segments[i] = from->segments[i];
    buffer_cut(to, from->batch.tokens, from->batch.frames, from->batch.references);
    if (from->count == 0) return 0;
    return mx_copy_slices(stream, mx_slice_at(to->buffer, 0), mx_slice_at(from->buffer, 0), from->used_bytes);
}

/* ---- dividing ---- */

/* Sequences first … first + count - 1 of a batch. What is left of a batch are two of them. */
struct piece {
    int32_t first, count;
};

/* Offsets of the sequences of both pieces, as those of a batch of their own. */
static struct mx_ragged part_rows(const int32_t *whole, const struct piece pieces[2], int32_t *own)
{
    struct mx_ragged rows = {0};
    own[0] = 0;
    for (int p = 0; p < 2; p++)
        for (int32_t i = pieces[p].first; i < pieces[p].first + pieces[p].count; i++) {
            const int32_t length = whole[i + 1] - whole[i];
            own[++rows.count] = rows.rows += length;
            if (length > rows.max_rows) rows.max_rows = length;
        }
    return rows;
}

/* Rows that go from row `skip` of one array on to row `at` of another. */
struct move {
    int64_t skip, at, rows;
};

/* A row has `words` words. */
static int rows_copy(struct mx_stream *stream, struct mx_slice to, struct mx_slice from, const struct move *move,
                     int64_t words)
{
    to.offset_bytes += (size_t)(move->at * words) * 4;
    from.offset_bytes += (size_t)(move->skip * words) * 4;
    return move->rows > 0 ? mx_copy_slices(stream, to, from, (size_t)(move->rows * words) * 4) : 0;
}

/* All arrays of one piece to the part's own, from its sequence `at` on. */
static int piece_copy(struct mx_stream *stream, const struct mx_device_batch *from, struct piece piece,
                      struct mx_device_batch *to, int32_t at)
{
    int rc = 0;
    const struct mx_model_batch *const a = &from->batch, *const b = &to->batch;
    const int64_t bands = mx_recipe_or_default(from->options.recipe)->bands;
    struct move moves[3]; /* of tokens, frames and frames of the reference */
    const struct move sequences = {piece.first, at, piece.count};
    for (size_t k = 0; k < 3; k++) {
        const int32_t *const whole = from->offsets + k * ends(&from->options);
        moves[k].skip = whole[piece.first];
        moves[k].rows = whole[piece.first + piece.count] - whole[piece.first];
        moves[k].at = to->offsets[k * ends(&to->options) + (size_t)at];
    }
    MX_TRY(rows_copy(stream, b->token_ids, a->token_ids, &moves[0], 1));
    MX_TRY(rows_copy(stream, b->languages, a->languages, &sequences, 1));
    MX_TRY(rows_copy(stream, b->reference_mel, a->reference_mel, &moves[2], bands));
    MX_TRY(rows_copy(stream, b->mel, a->mel, &moves[1], bands));
    MX_TRY(rows_copy(stream, b->pitch, a->pitch, &moves[1], 1));
    MX_TRY(rows_copy(stream, b->energy, a->energy, &moves[1], 1));
out:
    return rc;
}

/* Where its rows lie in the whole batch. */
static void part_place(const struct mx_device_batch *from, const struct piece pieces[2], struct mx_model_batch *batch)
{
    int64_t first[2], at[2], gap[2];
    for (size_t k = 0; k < 2; k++) {
        const int32_t *const whole = from->offsets + k * ends(&from->options);
        const int32_t end = pieces[0].first + pieces[0].count;
        first[k] = whole[pieces[0].first];
        at[k] = whole[end] - whole[pieces[0].first];
        gap[k] = pieces[1].count > 0 ? whole[pieces[1].first] - whole[end] : 0;
    }
    batch->first_token = first[0];
    batch->first_frame = first[1];
    batch->gap_token = at[0];
    batch->gap_frame = at[1];
    batch->gap_tokens = gap[0];
    batch->gap_frames = gap[1];
}

/* The offsets of one kind to the device of the part, by way of the whole's if that is another one. */
static int offsets_move(struct mx_stream *stream, const struct mx_device_batch *from, struct mx_device_batch *to,
                        size_t kind, struct mx_slice there)
{
    int rc = 0;
    const int32_t *const own = to->offsets + kind * ends(&to->options);
    const size_t bytes = ((size_t)to->count + 1) * sizeof(int32_t);
    struct mx_slice spare = from->spare;
    spare.offset_bytes += kind * ends(&from->options) * sizeof(int32_t);
    if (to->device == from->device) return mx_copy_upload(stream, there, own, bytes);
    MX_TRY(mx_copy_upload(stream, spare, own, bytes));
    MX_TRY(mx_copy_slices(stream, there, spare, bytes));
out:
    return rc;
}

/* The segments as the part sees them: an utterance that is in none of its pieces is in the twin. */
static void segments_find(const struct mx_device_batch *from, const struct piece pieces[2], struct mx_device_batch *to)
{
    const int32_t *const offsets = to->offsets + ends(&to->options); /* of frames */
    to->segment_count = to->options.vocoder.sequences > 0 ? from->segment_count : 0;
    for (int32_t i = 0; i < to->segment_count; i++) {
        struct mx_segment *const segment = &to->segments[i];
        const int32_t whole = from->segments[i].sequence;
        *segment = from->segments[i];
        segment->sequence = segment->row = -1;
        for (int p = 0, at = 0; p < 2; at += pieces[p++].count)
            if (whole >= pieces[p].first && whole < pieces[p].first + pieces[p].count)
                segment->sequence = at + whole - pieces[p].first;
        if (segment->sequence >= 0) segment->row = offsets[segment->sequence] + segment->first;
    }
}

/* Their arrays follow one another in both buffers in the same way. */
static int segments_move(struct mx_stream *stream, const struct mx_device_batch *from, struct mx_device_batch *to)
{
    const size_t bytes = to->used_bytes - to->segments_at;
    if (to->segment_count == 0) return 0;
    return mx_copy_slices(stream, mx_slice_at(to->buffer, to->segments_at),
                          mx_slice_at(from->buffer, from->segments_at), bytes);
}

/* The sequences of both pieces of `from`; the second one comes after the first. */
static int part_move(struct mx_stream *stream, const struct mx_device_batch *from, const struct piece pieces[2],
                     struct mx_device_batch *to)
{
    int rc = 0;
    const size_t many = ends(&from->options), few = ends(&to->options);
    struct mx_ragged rows[3];
    to->epoch = from->epoch;
    to->step = from->step;
    to->left_out = 0;
    to->count = 0;
    for (int p = 0; p < 2; p++) {
        memcpy(to->utterances + to->count, from->utterances + pieces[p].first,
               (size_t)pieces[p].count * sizeof *to->utterances);
        to->count += pieces[p].count;
    }
    for (size_t k = 0; k < 3; k++) rows[k] = part_rows(from->offsets + k * many, pieces, to->offsets + k * few);
    segments_find(from, pieces, to);
    buffer_cut(to, rows[0], rows[1], rows[2]);
    struct mx_model_batch *const b = &to->batch;
    part_place(from, pieces, b);
    MX_TRY(segments_move(stream, from, to));
    if (to->count == 0) return 0;
    MX_TRY(offsets_move(stream, from, to, 0, b->tokens.offsets));
    MX_TRY(offsets_move(stream, from, to, 1, b->frames.offsets));
    MX_TRY(offsets_move(stream, from, to, 2, b->references.offsets));
    for (int p = 0; p < 2; p++)
        if (pieces[p].count > 0) MX_TRY(piece_copy(stream, from, pieces[p], to, p == 0 ? 0 : pieces[0].count));
out:
    return rc;
}

int mx_device_batch_divide(struct mx_stream *stream, const struct mx_device_batch *from, struct mx_device_batch *to,
                           struct mx_share_part part)
{
    int rc = 0;
    const int32_t end = part.first + part.count, after = from->count - end;
    const struct piece taken[2] = {{part.first, part.count}};
    const struct piece around[2] = {{0, part.first}, {end, after}}, following[2] = {{end, after}};
    if (part.count == 0)
        MX_TRY(mx_device_batch_move(stream, from, to));
    else
        MX_TRY(part_move(stream, from, part.first > 0 ? around : following, to));
    MX_TRY(part_move(stream, from, taken, to->twin));
    to->left_out = from->left_out;
out:
    return rc;
}
