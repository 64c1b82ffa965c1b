/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Packing sequences for the network, see encoder.h.
 *
 * Memory: the arrays that are sent belong to the encoder, so that they live until the stream has taken them.
 */
#include "align/encoder.h"

#include <string.h>

#include "base/alloc.h"
#include "myxtts/error.h"

#define OWNER     "cut"
#define SEQUENCES MX_ALIGN_ENCODER_SEQUENCES

struct mx_align_encoder {
    struct mx_voice *voice;
    struct mx_stream *stream;
    struct mx_model *model;
    struct mx_model_capacity room;
    size_t width, bands;
    bool listens;
    struct mx_buffer *block; /* of a batch */
    struct mx_model_batch batch;
    struct mx_slice voices, means;
    /* what is sent, and what comes back */
    int32_t offsets[SEQUENCES + 1], frame_offsets[SEQUENCES + 1], languages[SEQUENCES];
    int32_t *tokens;
    float *vectors, *rows; /* [SEQUENCES, width]; [tokens or frames, bands] */
};

static int network_open(struct mx_align_encoder *e)
{
    const struct mx_model_config *const config = &mx_checkpoint_state(e->voice->checkpoint)->model;
    struct mx_layout layout = {0};
    int rc = 0;
    MX_TRY(mx_voice_model_create(e->voice, e->stream, &e->room, &e->model));
    for (int pass = 0; pass < 2; pass++) {
        mx_model_batch_place(&layout, config, &e->room, &e->batch);
        e->voices = mx_layout_reserve(&layout, (int64_t)SEQUENCES * config->size.width);
        e->means = mx_layout_reserve(&layout, (int64_t)e->room.tokens * config->bands);
        if (pass == 1) break;
        MX_TRY(mx_buffer_create(e->voice->runtime.device, OWNER, layout.offset_bytes, &e->block));
        layout = (struct mx_layout){.buffer = e->block};
    }
out:
    return rc;
}

int mx_align_encoder_create(struct mx_voice *voice, struct mx_stream *stream, int32_t longest,
                            struct mx_align_encoder **out)
{
    const struct mx_model_config *const config = &mx_checkpoint_state(voice->checkpoint)->model;
    struct mx_align_encoder *e = mx_alloc(1, sizeof *e);
    int rc = 0;
    *out = NULL;
    if (e == NULL) return MX_ERR_NO_MEMORY;
    e->voice = voice;
    e->stream = stream;
    e->width = (size_t)config->size.width;
    e->bands = (size_t)config->bands;
    e->listens = mx_checkpoint_listens(voice->checkpoint);
    e->room =
        (struct mx_model_capacity){.sequences = SEQUENCES,
                                   .tokens = longest > MX_ALIGN_ENCODER_TOKENS ? longest : MX_ALIGN_ENCODER_TOKENS,
                                   .frames = 16,
                                   .references = e->listens ? MX_ALIGN_ENCODER_FRAMES : 16,
                                   .longest_tokens = longest > 2 ? longest : 2,
                                   .longest_frames = 16};
    const size_t most = (size_t)(e->room.tokens > e->room.references ? e->room.tokens : e->room.references);
    e->tokens = mx_alloc((size_t)e->room.tokens, sizeof *e->tokens);
    e->vectors = mx_alloc(SEQUENCES * e->width, sizeof *e->vectors);
    e->rows = mx_alloc(most * e->bands, sizeof *e->rows);
    if (e->tokens == NULL || e->vectors == NULL || e->rows == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(network_open(e));
    *out = e;
    e = NULL;
out:
    mx_align_encoder_destroy(e);
    return rc;
}

void mx_align_encoder_destroy(struct mx_align_encoder *e)
{
    if (e == NULL) return;
    (void)mx_stream_sync(e->stream);
    mx_model_destroy(e->model);
    mx_buffer_release(e->block);
    mx_free(e->tokens);
    mx_free(e->vectors);
    mx_free(e->rows);
    mx_free(e);
}

/* Sends tokens and languages of `count` sequences, and runs the network. */
static int pass_run(struct mx_align_encoder *e, int32_t count, int32_t longest)
{
    struct mx_model_batch *const b = &e->batch;
    const int32_t rows = e->offsets[count];
    int rc = 0;
    b->tokens = (struct mx_ragged){.offsets = b->tokens.offsets, .count = count, .rows = rows, .max_rows = longest};
    MX_TRY(mx_copy_upload(e->stream, b->tokens.offsets, e->offsets, ((size_t)count + 1) * sizeof *e->offsets));
    MX_TRY(mx_copy_upload(e->stream, b->languages, e->languages, (size_t)count * sizeof *e->languages));
    MX_TRY(mx_copy_upload(e->stream, b->token_ids, e->tokens, (size_t)rows * sizeof *e->tokens));
    MX_TRY(mx_model_means(e->model, e->stream, mx_slice_at(e->voice->weights, 0), b, e->means));
out:
    return rc;
}

/* ---- listening ---- */

/* As many of the hearings as fit, at least one. */
static int listen_some(struct mx_align_encoder *e, const struct mx_align_clip *hearings, int32_t count, int32_t *done)
{
    struct mx_model_batch *const b = &e->batch;
    const size_t bytes = e->width * sizeof *e->vectors;
    int32_t n = 0, longest = 0;
    int rc = 0;
    e->frame_offsets[0] = 0;
    for (; n < count && n < SEQUENCES && e->frame_offsets[n] + hearings[n].frames <= e->room.references; n++) {
        memcpy(e->rows + (size_t)e->frame_offsets[n] * e->bands, hearings[n].mel,
               (size_t)hearings[n].frames * e->bands * sizeof *e->rows);
        e->frame_offsets[n + 1] = e->frame_offsets[n] + hearings[n].frames;
        longest = hearings[n].frames > longest ? hearings[n].frames : longest;
    }
    const int32_t frames = e->frame_offsets[n];
    b->references =
        (struct mx_ragged){.offsets = b->references.offsets, .count = n, .rows = frames, .max_rows = longest};
    MX_TRY(
        mx_copy_upload(e->stream, b->references.offsets, e->frame_offsets, ((size_t)n + 1) * sizeof *e->frame_offsets));
    MX_TRY(mx_copy_upload(e->stream, b->reference_mel, e->rows, (size_t)frames * e->bands * sizeof *e->rows));
    MX_TRY(mx_model_listen(e->model, e->stream, mx_slice_at(e->voice->weights, 0), b));
    MX_TRY(mx_copy_download(e->stream, e->vectors, mx_model_view(e->model).voices, (size_t)n * bytes));
    MX_TRY(mx_stream_sync(e->stream));
    for (int32_t i = 0; i < n; i++) memcpy(hearings[i].vector, e->vectors + (size_t)i * e->width, bytes);
    *done = n;
out:
    return rc;
}

int mx_align_encoder_listen(struct mx_align_encoder *e, const struct mx_align_clip *hearings, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        memset(hearings[i].vector, 0, e->width * sizeof *hearings[i].vector);
        if (hearings[i].frames < 1 || hearings[i].frames > MX_VOICE_REFERENCE_FRAMES)
            return MX_FAIL(MX_ERR_ARGUMENT, NULL, "a part of %d frames cannot be listened to", (int)hearings[i].frames);
    }
    for (int32_t first = 0, done; e->listens && first < count; first += done) {
        const int rc = listen_some(e, hearings + first, count - first, &done);
        if (rc < 0) return rc;
    }
    return 0;
}

/* ---- reading ---- */

int32_t mx_align_encoder_read(struct mx_align_encoder *e, const struct mx_align_sequence *sequences, int32_t count)
{
    const size_t bytes = e->width * sizeof *e->vectors;
    int32_t n = 0, longest = 0;
    int rc = 0;
    e->offsets[0] = 0;
    for (; n < count && n < SEQUENCES && e->offsets[n] + sequences[n].count <= e->room.tokens; n++) {
        const struct mx_align_sequence *const s = &sequences[n];
        memcpy(e->tokens + e->offsets[n], s->tokens, (size_t)s->count * sizeof *e->tokens);
        memcpy(e->vectors + (size_t)n * e->width, s->vector, bytes);
        e->languages[n] = s->language;
        e->offsets[n + 1] = e->offsets[n] + s->count;
        longest = s->count > longest ? s->count : longest;
    }
    if (n == 0 || longest > e->room.longest_tokens)
        MX_RAISE(MX_ERR_ARGUMENT, NULL, "a sentence has more than %d tokens", (int)e->room.longest_tokens);
    e->batch.voices = e->voices;
    MX_TRY(mx_copy_upload(e->stream, e->voices, e->vectors, (size_t)n * bytes));
    MX_TRY(pass_run(e, n, longest));
    MX_TRY(mx_copy_download(e->stream, e->rows, e->means, (size_t)e->offsets[n] * e->bands * sizeof *e->rows));
    MX_TRY(mx_stream_sync(e->stream));
    for (int32_t i = 0; i < n; i++)
        memcpy(sequences[i].means, e->rows + (size_t)e->offsets[i] * e->bands,
               (size_t)sequences[i].count * e->bands * sizeof *e->rows);
out:
    return rc < 0 ? rc : n;
}
