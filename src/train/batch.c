/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Batches on the device, see batch.h.
 *
 * Pitch must stay 0 where it is unvoiced, and there is no operation that chooses. But voiced pitch is at least
 * pitch_low_hz, so 1 - relu(1 - pitch/low) is 1 where voiced and 0 elsewhere, and (pitch - mean · that)/deviation is
 * what is wanted.
 */
#include "train/batch.h"

#include "base/alloc.h"
#include "base/error.h"

/* Pieces of the buffer. */
struct pieces {
    struct mx_slice token_offsets, frame_offsets, reference_offsets, token_ids, languages;
    struct mx_slice mel, reference_mel; /* features only; of audio they are the extractors' */
    struct mx_slice energy, pitch;
    struct mx_slice ones, voiced; /* [frames]; audio only */
};

struct mx_batch {
    struct mx_batch_options options;
    struct mx_buffer *buffer;
    struct pieces pieces;
    struct mx_extract *extract, *reference; /* audio only; the second one without pitch */
};

static void pieces_place(const struct mx_batch_options *options, struct mx_layout *layout, struct pieces *p)
{
    const struct mx_model_capacity *const c = &options->capacity.model;
    *p = (struct pieces){.token_offsets = mx_layout_take(layout, c->sequences + 1),
                         .frame_offsets = mx_layout_take(layout, c->sequences + 1),
                         .reference_offsets = mx_layout_take(layout, c->sequences + 1),
                         .token_ids = mx_layout_take(layout, c->tokens),
                         .languages = mx_layout_take(layout, c->sequences),
                         .energy = mx_layout_take(layout, c->frames),
                         .pitch = mx_layout_take(layout, c->frames)};
    if (options->features) {
        p->mel = mx_layout_take(layout, (int64_t)c->frames * mx_recipe_default.bands);
        p->reference_mel = mx_layout_take(layout, (int64_t)c->references * mx_recipe_default.bands);
    } else {
        p->ones = mx_layout_take(layout, c->frames);
        p->voiced = mx_layout_take(layout, c->frames);
    }
}

static struct mx_extract_options extract_options(const struct mx_batch_options *options, bool reference)
{
    const struct mx_slot_capacity *const c = &options->capacity;
    return (struct mx_extract_options){.samples_max = reference ? c->reference_samples : c->samples,
                                       .utterances_max = c->model.sequences,
                                       .no_pitch = reference};
}

uint64_t mx_batch_bytes(const struct mx_batch_options *options)
{
    struct mx_layout layout = {0};
    struct pieces pieces;
    const struct mx_extract_options own = extract_options(options, false), other = extract_options(options, true);
    pieces_place(options, &layout, &pieces);
    if (options->features) return layout.offset_bytes;
    return layout.offset_bytes + mx_extract_bytes(&own) + mx_extract_bytes(&other);
}

int mx_batch_create(struct mx_device *device, struct mx_stream *stream, const struct mx_batch_options *options,
                    struct mx_batch **out)
{
    int rc = 0;
    struct mx_layout layout = {0};
    const struct mx_extract_options own = extract_options(options, false), other = extract_options(options, true);
    const struct mx_normaliser *const n = &options->normaliser;
    struct mx_batch *batch = mx_alloc(1, sizeof *batch);
    *out = NULL;
    if (batch == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    batch->options = *options;
    pieces_place(options, &layout, &batch->pieces);
    MX_TRY(mx_buffer_create(device, "batch", layout.offset_bytes, &batch->buffer));
    layout = (struct mx_layout){.buffer = batch->buffer};
    pieces_place(options, &layout, &batch->pieces);
    if (!options->features) {
        MX_TRY(mx_extract_create(device, &own, &batch->extract));
        MX_TRY(mx_extract_create(device, &other, &batch->reference));
        MX_TRY(mx_extract_normalise(batch->extract, n->mel_mean, n->mel_deviation));
        MX_TRY(mx_extract_normalise(batch->reference, n->mel_mean, n->mel_deviation));
        MX_TRY(mx_fill(stream, &(struct mx_fill_args){
                                   .x = batch->pieces.ones, .count = options->capacity.model.frames, .value = 1}));
        MX_TRY(mx_stream_sync(stream));
    }
    *out = batch;
    batch = NULL;
out:
    mx_batch_destroy(batch);
    return rc;
}

void mx_batch_destroy(struct mx_batch *batch)
{
    if (batch == NULL) return;
    mx_extract_destroy(batch->extract);
    mx_extract_destroy(batch->reference);
    mx_buffer_release(batch->buffer);
    mx_free(batch);
}

/* y = a + factor · b, over [frames] */
static int mix(struct mx_stream *stream, struct mx_slice a, struct mx_slice b, double factor, struct mx_slice y,
               int64_t count)
{
    return mx_residual_add(
        stream, &(struct mx_residual_add_args){.a = a, .b = b, .y = y, .count = count, .factor = (float)factor});
}

/* energy and pitch of the extractor → normalised ones */
static int values_normalise(const struct mx_batch *batch, struct mx_stream *stream,
                            const struct mx_extract_features *raw)
{
    int rc = 0;
    const struct pieces *const p = &batch->pieces;
    const struct mx_normaliser *const n = &batch->options.normaliser;
    const int64_t count = raw->frames.rows;
    MX_TRY(mix(stream, raw->energy, p->ones, -n->energy_mean, p->energy, count));
    MX_TRY(mx_scale(
        stream, &(struct mx_scale_args){.x = p->energy, .count = count, .factor = (float)(1 / n->energy_deviation)}));
    MX_TRY(mix(stream, p->ones, raw->pitch, -1 / (double)mx_recipe_default.pitch_low_hz, p->voiced, count));
    MX_TRY(mx_activation(
        stream, &(struct mx_activation_args){.x = p->voiced, .y = p->voiced, .count = count, .act = MX_ACT_RELU}));
    MX_TRY(mix(stream, p->ones, p->voiced, -1, p->voiced, count));
    MX_TRY(mix(stream, raw->pitch, p->voiced, -n->pitch_mean, p->pitch, count));
    MX_TRY(mx_scale(stream,
                    &(struct mx_scale_args){.x = p->pitch, .count = count, .factor = (float)(1 / n->pitch_deviation)}));
out:
    return rc;
}

static int sound_assemble(struct mx_batch *batch, struct mx_stream *stream, const struct mx_slot *slot,
                          struct mx_model_batch *out)
{
    int rc = 0;
    struct mx_extract_features own, other;
    const struct mx_extract_batch audio = {.audio = slot->audio, .offsets = slot->sample_offsets, .count = slot->count};
    const struct mx_extract_batch reference = {
        .audio = slot->reference_audio, .offsets = slot->reference_sample_offsets, .count = slot->count};
    MX_TRY(mx_extract_submit(batch->extract, stream, &audio, &own));
    MX_TRY(mx_extract_submit(batch->reference, stream, &reference, &other));
    MX_TRY(values_normalise(batch, stream, &own));
    out->mel = own.mel;
    out->reference_mel = other.mel;
out:
    return rc;
}

static int words_upload(struct mx_stream *stream, struct mx_slice to, const void *from, int64_t words)
{
    return words > 0 ? mx_copy_upload(stream, to, from, (size_t)words * 4) : 0;
}

static int features_assemble(struct mx_batch *batch, struct mx_stream *stream, const struct mx_slot *slot,
                             struct mx_model_batch *out)
{
    int rc = 0;
    const int64_t bands = mx_recipe_default.bands;
    const struct pieces *const p = &batch->pieces;
    MX_TRY(words_upload(stream, p->mel, slot->mel, slot->frames * bands));
    MX_TRY(words_upload(stream, p->energy, slot->energy, slot->frames));
    MX_TRY(words_upload(stream, p->pitch, slot->pitch, slot->frames));
    MX_TRY(words_upload(stream, p->reference_mel, slot->reference_mel, slot->references * bands));
    out->mel = p->mel;
    out->reference_mel = p->reference_mel;
out:
    return rc;
}

int mx_batch_assemble(struct mx_batch *batch, struct mx_stream *stream, const struct mx_slot *slot,
                      struct mx_model_batch *out)
{
    int rc = 0;
    const struct pieces *const p = &batch->pieces;
    *out = (struct mx_model_batch){
        .tokens = {p->token_offsets, slot->count, slot->tokens, slot->longest_tokens},
        .frames = {p->frame_offsets, slot->count, slot->frames, slot->longest_frames},
        .references = {p->reference_offsets, slot->count, slot->references, slot->longest_reference},
        .token_ids = p->token_ids,
        .languages = p->languages,
        .energy = p->energy,
        .pitch = p->pitch};
    MX_TRY(words_upload(stream, p->token_offsets, slot->token_offsets, slot->count + 1));
    MX_TRY(words_upload(stream, p->frame_offsets, slot->frame_offsets, slot->count + 1));
    MX_TRY(words_upload(stream, p->reference_offsets, slot->reference_offsets, slot->count + 1));
    MX_TRY(words_upload(stream, p->token_ids, slot->token_ids, slot->tokens));
    MX_TRY(words_upload(stream, p->languages, slot->languages, slot->count));
    MX_TRY(batch->options.features ? features_assemble(batch, stream, slot, out)
                                   : sound_assemble(batch, stream, slot, out));
out:
    return rc;
}
