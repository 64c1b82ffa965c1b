/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Builders of batches, see batch.h.
 *
 * Pitch must stay 0 where it is unvoiced, and there is no operation that selects. But voiced pitch is at least
 * pitch_low_hz, so 1 - relu(1 - pitch/low) is 1 where voiced and 0 elsewhere, and (pitch - mean · that)/deviation is
 * the result wanted.
 */
#include "train/feed/batch.h"

#include "base/alloc.h"
#include "myxtts/error.h"
#include "train/feed/segment_maker.h"

/* Pieces of a builder's own buffer. */
struct pieces {
    struct mx_slice ones, voiced; /* [frames]; audio only, and not for crops */
    struct mx_slice spans;        /* int32 [sequences, span_max, 4]; features only: of audio it is the extractor's */
};

struct mx_batch_builder {
    struct mx_batch_builder_options options;
    struct mx_device *device;
    struct mx_buffer *buffer; /* NULL: nothing is needed */
    struct pieces pieces;
    int32_t (*spans)[4];                    /* what is sent there, from mx_host_alloc; NULL: no masks */
    struct mx_extract *extract, *reference; /* audio only; the second one without pitch, and not for crops */
    struct mx_segments_maker *segments;     /* NULL: there are none */
    struct mx_device_batch *own;            /* NULL: not wanted */
};

static const char *owner_of(const struct mx_batch_builder_options *options)
{
    return options->owner != NULL ? options->owner : "batch";
}

static const struct mx_recipe *recipe_of(const struct mx_batch_builder_options *options)
{
    return mx_recipe_or_default(options->capacity.recipe);
}

static int64_t span_words(const struct mx_batch_builder_options *options)
{
    return options->features ? 4 * (int64_t)options->capacity.model.sequences * options->span_max : 0;
}

/* Batches of crops have nothing for the acoustic network. */
static bool crops_only(const struct mx_batch_builder_options *options)
{
    return options->segments.count > 0 && options->segments.crops;
}

static void pieces_place(const struct mx_batch_builder_options *options, struct mx_layout *layout, struct pieces *p)
{
    const int64_t frames = options->features || crops_only(options) ? 0 : options->capacity.model.frames;
    *p = (struct pieces){.ones = mx_layout_reserve(layout, frames),
                         .voiced = mx_layout_reserve(layout, frames),
                         .spans = mx_layout_reserve(layout, span_words(options))};
}

static struct mx_extract_options extract_options(const struct mx_batch_builder_options *options, bool reference)
{
    const struct mx_host_batch_capacity *const c = &options->capacity;
    return (struct mx_extract_options){.recipe = c->recipe,
                                       .samples_max = reference ? c->reference_samples : c->samples,
                                       .utterances_max = c->model.sequences,
                                       .no_pitch = reference,
                                       .no_mel = !crops_only(options),
                                       .span_max = reference || crops_only(options) ? 0 : options->span_max,
                                       .owner = owner_of(options)};
}

/* ---- builders ---- */

static struct mx_device_batch_options own_options(const struct mx_batch_builder_options *options)
{
    return (struct mx_device_batch_options){.recipe = options->capacity.recipe,
                                            .capacity = options->capacity.model,
                                            .vocoder = mx_segments_capacity(&options->segments),
                                            .segments_only = crops_only(options),
                                            .owner = owner_of(options)};
}

uint64_t mx_batch_builder_bytes(const struct mx_batch_builder_options *options)
{
    struct mx_layout layout = {0};
    struct pieces pieces;
    const struct mx_extract_options own = extract_options(options, false), other = extract_options(options, true);
    const struct mx_device_batch_options own_batch = own_options(options);
    const uint64_t batch = options->own ? mx_device_batch_bytes(&own_batch) : 0;
    pieces_place(options, &layout, &pieces);
    if (options->features) return layout.offset_bytes + batch;
    const uint64_t segments =
        options->segments.count > 0 ? mx_segments_maker_bytes(&options->segments, recipe_of(options)) : 0;
    const uint64_t reference = crops_only(options) ? 0 : mx_extract_bytes(&other);
    return layout.offset_bytes + mx_extract_bytes(&own) + reference + segments + batch;
}

uint64_t mx_batch_builder_host_bytes(const struct mx_batch_builder_options *options)
{
    const struct mx_extract_options own = extract_options(options, false), other = extract_options(options, true);
    if (options->features) return (uint64_t)span_words(options) * 4;
    const uint64_t segments = options->segments.count > 0 ? mx_segments_maker_host_bytes(&options->segments) : 0;
    const uint64_t reference = crops_only(options) ? 0 : mx_extract_host_bytes(&other);
    return mx_extract_host_bytes(&own) + reference + segments;
}

static int extractors_create(struct mx_batch_builder *builder, struct mx_stream *stream)
{
    int rc = 0;
    const struct mx_batch_builder_options *const o = &builder->options;
    const struct mx_extract_options own = extract_options(o, false), other = extract_options(o, true);
    const struct mx_segments_maker_options segments = {.segments = o->segments,
                                                       .recipe = recipe_of(o),
                                                       .seed = o->seed,
                                                       .deviation = o->normaliser.mel_deviation,
                                                       .owner = owner_of(o)};
    MX_TRY(mx_extract_create(builder->device, &own, &builder->extract));
    MX_TRY(mx_extract_normalise(builder->extract, o->normaliser.mel_mean, o->normaliser.mel_deviation));
    if (o->segments.count > 0) MX_TRY(mx_segments_maker_create(builder->device, &segments, &builder->segments));
    if (crops_only(o)) goto out;
    MX_TRY(mx_extract_create(builder->device, &other, &builder->reference));
    MX_TRY(mx_extract_normalise(builder->reference, o->normaliser.mel_mean, o->normaliser.mel_deviation));
    MX_TRY(mx_fill(stream,
                   &(struct mx_fill_args){.x = builder->pieces.ones, .count = o->capacity.model.frames, .value = 1}));
    MX_TRY(mx_stream_sync(stream));
out:
    return rc;
}

int mx_batch_builder_create(struct mx_device *device, struct mx_stream *stream,
                            const struct mx_batch_builder_options *options, struct mx_batch_builder **out)
{
    int rc = 0;
    struct mx_layout layout = {0};
    void *host = NULL;
    const struct mx_device_batch_options own = own_options(options);
    struct mx_batch_builder *builder = mx_alloc(1, sizeof *builder);
    *out = NULL;
    if (builder == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_segments_check(&options->segments));
    if (options->features && options->segments.count > 0)
        MX_RAISE(MX_ERR_DATA, "prepare the corpus without '--features', or train on its folder",
                 "segments cannot be made of precomputed features: they have no sound");
    builder->options = *options;
    builder->device = device;
    pieces_place(options, &layout, &builder->pieces);
    if (layout.offset_bytes > 0)
        MX_TRY(mx_buffer_create(device, owner_of(options), layout.offset_bytes, &builder->buffer));
    layout = (struct mx_layout){.buffer = builder->buffer};
    pieces_place(options, &layout, &builder->pieces);
    if (span_words(options) > 0)
        MX_TRY(mx_host_alloc(device, owner_of(options), (size_t)span_words(options) * 4, &host));
    builder->spans = host;
    if (!options->features) MX_TRY(extractors_create(builder, stream));
    if (options->own) MX_TRY(mx_device_batch_create(device, &own, &builder->own));
    *out = builder;
    builder = NULL;
out:
    mx_batch_builder_destroy(builder);
    return rc;
}

void mx_batch_builder_destroy(struct mx_batch_builder *builder)
{
    if (builder == NULL) return;
    mx_device_batch_destroy(builder->own);
    mx_extract_destroy(builder->extract);
    mx_extract_destroy(builder->reference);
    mx_segments_maker_destroy(builder->segments);
    mx_host_release(builder->device, builder->spans);
    mx_buffer_release(builder->buffer);
    mx_free(builder);
}

/* y = a + factor · b, over [frames] */
static int mix(struct mx_stream *stream, struct mx_slice a, struct mx_slice b, double factor, struct mx_slice y,
               int64_t count)
{
    return mx_residual_add(
        stream, &(struct mx_residual_add_args){.a = a, .b = b, .y = y, .count = count, .factor = (float)factor});
}

/* energy and pitch of the extractor → normalised ones */
static int values_normalise(const struct mx_batch_builder *builder, struct mx_stream *stream,
                            const struct mx_extract_features *raw, const struct mx_model_batch *to)
{
    int rc = 0;
    const struct pieces *const p = &builder->pieces;
    const struct mx_normaliser *const n = &builder->options.normaliser;
    const int64_t count = raw->frames.rows;
    MX_TRY(mix(stream, raw->energy, p->ones, -n->energy_mean, to->energy, count));
    MX_TRY(mx_scale(
        stream, &(struct mx_scale_args){.x = to->energy, .count = count, .factor = (float)(1 / n->energy_deviation)}));
    MX_TRY(mix(stream, p->ones, raw->pitch, -1 / (double)recipe_of(&builder->options)->pitch_low_hz, p->voiced, count));
    MX_TRY(mx_activation(
        stream, &(struct mx_activation_args){.x = p->voiced, .y = p->voiced, .count = count, .act = MX_ACT_RELU}));
    MX_TRY(mix(stream, p->ones, p->voiced, -1, p->voiced, count));
    MX_TRY(mix(stream, raw->pitch, p->voiced, -n->pitch_mean, to->pitch, count));
    MX_TRY(mx_scale(
        stream, &(struct mx_scale_args){.x = to->pitch, .count = count, .factor = (float)(1 / n->pitch_deviation)}));
out:
    return rc;
}

/* Only the segments of crops are needed. */
static int crops_build(struct mx_batch_builder *builder, struct mx_stream *stream, const struct mx_host_batch *host,
                       const struct mx_device_batch *on_device)
{
    int rc = 0;
    struct mx_extract_features own;
    const struct mx_extract_batch audio = {.audio = host->audio,
                                           .offsets = host->sample_offsets,
                                           .count = host->count,
                                           .draws = host->draws,
                                           .seed = builder->options.seed,
                                           .unmasked = true};
    MX_TRY(mx_extract_submit(builder->extract, stream, &audio, &own));
    MX_TRY(mx_segments_maker_run(builder->segments, stream, builder->extract, &own, host->sample_offsets, on_device));
out:
    return rc;
}

static int sound_build(struct mx_batch_builder *builder, struct mx_stream *stream, const struct mx_host_batch *host,
                       const struct mx_device_batch *on_device)
{
    int rc = 0;
    struct mx_extract_features own, other;
    const struct mx_model_batch *const to = &on_device->batch;
    const struct mx_extract_batch audio = {.audio = host->audio,
                                           .offsets = host->sample_offsets,
                                           .count = host->count,
                                           .draws = host->draws,
                                           .seed = builder->options.seed,
                                           .mel = to->mel,
                                           .unmasked = true};
    const struct mx_extract_batch reference = {.audio = host->reference_audio,
                                               .offsets = host->reference_sample_offsets,
                                               .count = host->count,
                                               .mel = to->reference_mel};
    MX_TRY(mx_extract_submit(builder->extract, stream, &audio, &own));
    if (builder->segments != NULL)
        MX_TRY(
            mx_segments_maker_run(builder->segments, stream, builder->extract, &own, host->sample_offsets, on_device));
    MX_TRY(mx_extract_mask(builder->extract, stream, &audio));
    MX_TRY(mx_extract_submit(builder->reference, stream, &reference, &other));
    MX_TRY(values_normalise(builder, stream, &own, to));
out:
    return rc;
}

static int words_upload(struct mx_stream *stream, struct mx_slice to, const void *from, int64_t words)
{
    return words > 0 ? mx_copy_upload(stream, to, from, (size_t)words * 4) : 0;
}

static int features_build(struct mx_batch_builder *builder, struct mx_stream *stream, const struct mx_host_batch *host,
                          const struct mx_model_batch *to)
{
    int rc = 0;
    const int64_t bands = recipe_of(&builder->options)->bands;
    const int spans = builder->options.span_max;
    MX_TRY(words_upload(stream, to->mel, host->mel, host->frames * bands));
    MX_TRY(words_upload(stream, to->energy, host->energy, host->frames));
    MX_TRY(words_upload(stream, to->pitch, host->pitch, host->frames));
    MX_TRY(words_upload(stream, to->reference_mel, host->reference_mel, host->references * bands));
    if (host->draws == NULL || spans == 0) return 0;
    for (int32_t i = 0; i < host->count; i++)
        mx_augment_spans(&host->draws[i], host->frame_offsets[i + 1] - host->frame_offsets[i], (int)bands, spans,
                         builder->spans + (ptrdiff_t)i * spans);
    MX_TRY(words_upload(stream, builder->pieces.spans, builder->spans, 4 * (int64_t)host->count * spans));
    MX_TRY(
        mx_mask(stream, &(struct mx_mask_args){.x = to->mel,
                                               .rows = to->frames,
                                               .spans = builder->pieces.spans,
                                               .n = bands,
                                               .count = spans,
                                               .value = 0})); /* the mean of all features is the most neutral value */
out:
    return rc;
}

int mx_batch_builder_run(struct mx_batch_builder *builder, struct mx_stream *stream, const struct mx_host_batch *host,
                         struct mx_device_batch *on_device)
{
    int rc = 0;
    if (on_device == NULL) on_device = builder->own;
    const struct mx_model_batch *const to = &on_device->batch;
    mx_device_batch_lay(on_device, host);
    if (host->count == 0) return 0;
    if (crops_only(&builder->options)) return crops_build(builder, stream, host, on_device);
    MX_TRY(words_upload(stream, to->tokens.offsets, host->token_offsets, host->count + 1));
    MX_TRY(words_upload(stream, to->frames.offsets, host->frame_offsets, host->count + 1));
    MX_TRY(words_upload(stream, to->references.offsets, host->reference_offsets, host->count + 1));
    MX_TRY(words_upload(stream, to->token_ids, host->token_ids, host->tokens));
    MX_TRY(words_upload(stream, to->languages, host->languages, host->count));
    MX_TRY(builder->options.features ? features_build(builder, stream, host, to)
                                     : sound_build(builder, stream, host, on_device));
out:
    return rc;
}

struct mx_device_batch *mx_batch_builder_own(const struct mx_batch_builder *builder)
{
    return builder->own;
}
