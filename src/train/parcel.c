/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parcels, see parcel.h.
 */
#include "train/parcel.h"

#include <string.h>

#include "base/alloc.h"
#include "features/recipe.h"
#include "myxtts/error.h"

static void arrays_place(struct mx_layout *layout, const struct mx_model_capacity *room, struct mx_model_batch *batch)
{
    mx_model_batch_place(layout, &(struct mx_model_config){.bands = mx_recipe_default.bands}, room, batch);
}

uint64_t mx_parcel_bytes(const struct mx_parcel_options *options)
{
    struct mx_layout layout = {0};
    struct mx_model_batch batch;
    arrays_place(&layout, &options->capacity, &batch);
    return layout.offset_bytes;
}

int mx_parcel_create(struct mx_device *device, const struct mx_parcel_options *options, struct mx_parcel **out)
{
    int rc = 0;
    struct mx_parcel *parcel = mx_alloc(1, sizeof *parcel);
    *out = NULL;
    if (parcel == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    parcel->options = *options;
    parcel->utterances = mx_alloc((size_t)options->capacity.sequences, sizeof *parcel->utterances);
    if (parcel->utterances == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_buffer_create(device, options->owner, (size_t)mx_parcel_bytes(options), &parcel->buffer));
    *out = parcel;
    parcel = NULL;
out:
    mx_parcel_destroy(parcel);
    return rc;
}

void mx_parcel_destroy(struct mx_parcel *parcel)
{
    if (parcel == NULL) return;
    mx_buffer_release(parcel->buffer);
    mx_free(parcel->utterances);
    mx_free(parcel);
}

/* Cuts the buffer for a batch of these counts. */
static void buffer_cut(struct mx_parcel *parcel, struct mx_packed tokens, struct mx_packed frames,
                       struct mx_packed references)
{
    struct mx_model_batch *const b = &parcel->batch;
    struct mx_layout layout = {.buffer = parcel->buffer};
    const struct mx_model_capacity own = {
        .sequences = tokens.count, .tokens = tokens.rows, .frames = frames.rows, .references = references.rows};
    arrays_place(&layout, parcel->options.fixed ? &parcel->options.capacity : &own, b);
    b->tokens = (struct mx_packed){b->tokens.offsets, tokens.count, tokens.rows, tokens.max_rows};
    b->frames = (struct mx_packed){b->frames.offsets, frames.count, frames.rows, frames.max_rows};
    b->references = (struct mx_packed){b->references.offsets, references.count, references.rows, references.max_rows};
    parcel->used_bytes = layout.offset_bytes;
}

void mx_parcel_lay(struct mx_parcel *parcel, const struct mx_slot *slot)
{
    parcel->epoch = slot->epoch;
    parcel->step = slot->step;
    parcel->count = slot->count;
    parcel->left_out = slot->left_out;
    memcpy(parcel->utterances, slot->utterances, (size_t)slot->count * sizeof *parcel->utterances);
    buffer_cut(parcel, (struct mx_packed){{0}, slot->count, slot->tokens, slot->longest_tokens},
               (struct mx_packed){{0}, slot->count, slot->frames, slot->longest_frames},
               (struct mx_packed){{0}, slot->count, slot->references, slot->longest_reference});
}

int mx_parcel_move(struct mx_stream *stream, const struct mx_parcel *from, struct mx_parcel *to)
{
    to->epoch = from->epoch;
    to->step = from->step;
    to->count = from->count;
    to->left_out = from->left_out;
    memcpy(to->utterances, from->utterances, (size_t)from->count * sizeof *to->utterances);
    buffer_cut(to, from->batch.tokens, from->batch.frames, from->batch.references);
    if (from->count == 0) return 0;
    return mx_copy_slices(stream, mx_slice_at(to->buffer, 0), mx_slice_at(from->buffer, 0), from->used_bytes);
}
