/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Makers and batches, see batch.h.
 *
 * Pitch must stay 0 where it is unvoiced, and there is no operation that chooses. But voiced pitch is at least
 * pitch_low_hz, so 1 - relu(1 - pitch/low) is 1 where voiced and 0 elsewhere, and (pitch - mean · that)/deviation is
 * what is wanted.
 */
#include "train/batch.h"

#include "base/alloc.h"
#include "myxtts/error.h"

/* Pieces of a maker's own buffer. */
struct pieces {
    struct mx_slice ones, voiced; /* [frames]; audio only */
    struct mx_slice spans;        /* int32 [sequences, span_max, 4]; features only: of audio it is the extractor's */
};

struct mx_batch_builder {
    struct mx_batch_options options;
    struct mx_device *device;
    struct mx_buffer *buffer; /* NULL: nothing is needed */
    struct pieces pieces;
    int32_t (*spans)[4];                    /* what is sent there, from mx_host_alloc; NULL: no masks */
    struct mx_extract *extract, *reference; /* audio only; the second one without pitch */
};

static const char *owner_of(const struct mx_batch_options *options)
{
    return options->owner != NULL ? options->owner : "batch";
}

static int64_t span_words(const struct mx_batch_options *options)
{
    return options->features ? 4 * (int64_t)options->capacity.model.sequences * options->span_max : 0;
}

static void pieces_place(const struct mx_batch_options *options, struct mx_layout *layout, struct pieces *p)
{
    const int64_t frames = options->features ? 0 : options->capacity.model.frames;
    *p = (struct pieces){.ones = mx_layout_take(layout, frames),
                         .voiced = mx_layout_take(layout, frames),
                         .spans = mx_layout_take(layout, span_words(options))};
}

static struct mx_extract_options extract_options(const struct mx_batch_options *options, bool reference)
{
    const struct mx_host_batch_capacity *const c = &options->capacity;
    return (struct mx_extract_options){.samples_max = reference ? c->reference_samples : c->samples,
                                       .utterances_max = c->model.sequences,
                                       .no_pitch = reference,
                                       .no_mel = true,
                                       .span_max = reference ? 0 : options->span_max,
                                       .owner = owner_of(options)};
}

/* ---- makers ---- */

uint64_t mx_batch_builder_bytes(const struct mx_batch_options *options)
{
    struct mx_layout layout = {0};
    struct pieces pieces;
    const struct mx_extract_options own = extract_options(options, false), other = extract_options(options, true);
    pieces_place(options, &layout, &pieces);
    if (options->features) return layout.offset_bytes;
    return layout.offset_bytes + mx_extract_bytes(&own) + mx_extract_bytes(&other);
}

uint64_t mx_batch_builder_host_bytes(const struct mx_batch_options *options)
{
    const struct mx_extract_options own = extract_options(options, false), other = extract_options(options, true);
    if (options->features) return (uint64_t)span_words(options) * 4;
    return mx_extract_host_bytes(&own) + mx_extract_host_bytes(&other);
}

static int extractors_take(struct mx_batch_builder *maker, struct mx_stream *stream)
{
    int rc = 0;
    const struct mx_batch_options *const o = &maker->options;
    const struct mx_extract_options own = extract_options(o, false), other = extract_options(o, true);
    MX_TRY(mx_extract_create(maker->device, &own, &maker->extract));
    MX_TRY(mx_extract_create(maker->device, &other, &maker->reference));
    MX_TRY(mx_extract_normalise(maker->extract, o->normaliser.mel_mean, o->normaliser.mel_deviation));
    MX_TRY(mx_extract_normalise(maker->reference, o->normaliser.mel_mean, o->normaliser.mel_deviation));
    MX_TRY(mx_fill(stream,
                   &(struct mx_fill_args){.x = maker->pieces.ones, .count = o->capacity.model.frames, .value = 1}));
    MX_TRY(mx_stream_sync(stream));
out:
    return rc;
}

int mx_batch_builder_create(struct mx_device *device, struct mx_stream *stream, const struct mx_batch_options *options,
                            struct mx_batch_builder **out)
{
    int rc = 0;
    struct mx_layout layout = {0};
    void *host = NULL;
    struct mx_batch_builder *maker = mx_alloc(1, sizeof *maker);
    *out = NULL;
    if (maker == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    maker->options = *options;
    maker->device = device;
    pieces_place(options, &layout, &maker->pieces);
    if (layout.offset_bytes > 0)
        MX_TRY(mx_buffer_create(device, owner_of(options), layout.offset_bytes, &maker->buffer));
    layout = (struct mx_layout){.buffer = maker->buffer};
    pieces_place(options, &layout, &maker->pieces);
    if (span_words(options) > 0)
        MX_TRY(mx_host_alloc(device, owner_of(options), (size_t)span_words(options) * 4, &host));
    maker->spans = host;
    if (!options->features) MX_TRY(extractors_take(maker, stream));
    *out = maker;
    maker = NULL;
out:
    mx_batch_builder_destroy(maker);
    return rc;
}

void mx_batch_builder_destroy(struct mx_batch_builder *maker)
{
    if (maker == NULL) return;
    mx_extract_destroy(maker->extract);
    mx_extract_destroy(maker->reference);
    mx_host_release(maker->device, maker->spans);
    mx_buffer_release(maker->buffer);
    mx_free(maker);
}

/* y = a + factor · b, over [frames] */
static int mix(struct mx_stream *stream, struct mx_slice a, struct mx_slice b, double factor, struct mx_slice y,
               int64_t count)
{
    return mx_residual_add(
        stream, &(struct mx_residual_add_args){.a = a, .b = b, .y = y, .count = count, .factor = (float)factor});
}

/* energy and pitch of the extractor → normalised ones */
static int values_normalise(const struct mx_batch_builder *maker, struct mx_stream *stream,
                            const struct mx_extract_features *raw, const struct mx_model_batch *to)
{
    int rc = 0;
    const struct pieces *const p = &maker->pieces;
    const struct mx_normaliser *const n = &maker->options.normaliser;
    const int64_t count = raw->frames.rows;
    MX_TRY(mix(stream, raw->energy, p->ones, -n->energy_mean, to->energy, count));
    MX_TRY(mx_scale(
        stream, &(struct mx_scale_args){.x = to->energy, .count = count, .factor = (float)(1 / n->energy_deviation)}));
    MX_TRY(mix(stream, p->ones, raw->pitch, -1 / (double)mx_recipe_default.pitch_low_hz, p->voiced, count));
    MX_TRY(mx_activation(
        stream, &(struct mx_activation_args){.x = p->voiced, .y = p->voiced, .count = count, .act = MX_ACT_RELU}));
    MX_TRY(mix(stream, p->ones, p->voiced, -1, p->voiced, count));
    MX_TRY(mix(stream, raw->pitch, p->voiced, -n->pitch_mean, to->pitch, count));
    MX_TRY(mx_scale(
        stream, &(struct mx_scale_args){.x = to->pitch, .count = count, .factor = (float)(1 / n->pitch_deviation)}));
out:
    return rc;
}

static int sound_make(struct mx_batch_builder *maker, struct mx_stream *stream, const struct mx_host_batch *slot,
                      const struct mx_model_batch *to)
{
    int rc = 0;
    struct mx_extract_features own, other;
    const struct mx_extract_batch audio = {.audio = slot->audio,
                                           .offsets = slot->sample_offsets,
                                           .count = slot->count,
                                           .draws = slot->draws,
                                           .seed = maker->options.seed,
                                           .mel = to->mel};
    const struct mx_extract_batch reference = {.audio = slot->reference_audio,
                                               .offsets = slot->reference_sample_offsets,
                                               .count = slot->count,
                                               .mel = to->reference_mel};
    MX_TRY(mx_extract_submit(maker->extract, stream, &audio, &own));
    MX_TRY(mx_extract_submit(maker->reference, stream, &reference, &other));
    MX_TRY(values_normalise(maker, stream, &own, to));
out:
    return rc;
}

static int words_upload(struct mx_stream *stream, struct mx_slice to, const void *from, int64_t words)
{
    return words > 0 ? mx_copy_upload(stream, to, from, (size_t)words * 4) : 0;
}

static int features_make(struct mx_batch_builder *maker, struct mx_stream *stream, const struct mx_host_batch *slot,
                         const struct mx_model_batch *to)
{
    int rc = 0;
    const int64_t bands = mx_recipe_default.bands;
    const int spans = maker->options.span_max;
    MX_TRY(words_upload(stream, to->mel, slot->mel, slot->frames * bands));
    MX_TRY(words_upload(stream, to->energy, slot->energy, slot->frames));
    MX_TRY(words_upload(stream, to->pitch, slot->pitch, slot->frames));
    MX_TRY(words_upload(stream, to->reference_mel, slot->reference_mel, slot->references * bands));
    if (slot->draws == NULL || spans == 0) return 0;
    for (int32_t i = 0; i < slot->count; i++)
        mx_augment_spans(&slot->draws[i], slot->frame_offsets[i + 1] - slot->frame_offsets[i], (int)bands, spans,
                         maker->spans + (ptrdiff_t)i * spans);
    MX_TRY(words_upload(stream, maker->pieces.spans, maker->spans, 4 * (int64_t)slot->count * spans));
    MX_TRY(mx_mask(stream, &(struct mx_mask_args){.x = to->mel,
                                                  .rows = to->frames,
                                                  .spans = maker->pieces.spans,
                                                  .n = bands,
                                                  .count = spans,
                                                  .value = 0})); /* the mean of all features says least */
out:
    return rc;
}

int mx_batch_builder_run(struct mx_batch_builder *maker, struct mx_stream *stream, const struct mx_host_batch *slot,
                         struct mx_device_batch *parcel)
{
    int rc = 0;
    const struct mx_model_batch *const to = &parcel->batch;
    mx_device_batch_lay(parcel, slot);
    if (slot->count == 0) return 0;
    MX_TRY(words_upload(stream, to->tokens.offsets, slot->token_offsets, slot->count + 1));
    MX_TRY(words_upload(stream, to->frames.offsets, slot->frame_offsets, slot->count + 1));
    MX_TRY(words_upload(stream, to->references.offsets, slot->reference_offsets, slot->count + 1));
    MX_TRY(words_upload(stream, to->token_ids, slot->token_ids, slot->tokens));
    MX_TRY(words_upload(stream, to->languages, slot->languages, slot->count));
    MX_TRY(maker->options.features ? features_make(maker, stream, slot, to) : sound_make(maker, stream, slot, to));
out:
    return rc;
}

/* ---- batches ---- */

struct mx_batch {
    struct mx_batch_builder *maker;
    struct mx_device_batch *parcel;
};

static struct mx_device_batch_options parcel_options(const struct mx_batch_options *options)
{
    return (struct mx_device_batch_options){.capacity = options->capacity.model, .owner = owner_of(options)};
}

uint64_t mx_batch_bytes(const struct mx_batch_options *options)
{
    const struct mx_device_batch_options parcel = parcel_options(options);
    return mx_batch_builder_bytes(options) + mx_device_batch_bytes(&parcel);
}

int mx_batch_create(struct mx_device *device, struct mx_stream *stream, const struct mx_batch_options *options,
                    struct mx_batch **out)
{
    int rc = 0;
    const struct mx_device_batch_options parcel = parcel_options(options);
    struct mx_batch *batch = mx_alloc(1, sizeof *batch);
    *out = NULL;
    if (batch == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_batch_builder_create(device, stream, options, &batch->maker));
    MX_TRY(mx_device_batch_create(device, &parcel, &batch->parcel));
    *out = batch;
    batch = NULL;
out:
    mx_batch_destroy(batch);
    return rc;
}

void mx_batch_destroy(struct mx_batch *batch)
{
    if (batch == NULL) return;
    mx_batch_builder_destroy(batch->maker);
    mx_device_batch_destroy(batch->parcel);
    mx_free(batch);
}

int mx_batch_assemble(struct mx_batch *batch, struct mx_stream *stream, const struct mx_host_batch *slot,
                      struct mx_model_batch *out)
{
    const int rc = mx_batch_builder_run(batch->maker, stream, slot, batch->parcel);
    *out = batch->parcel->batch;
    return rc;
}
