/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Hearing, see hear.h: an extractor of features for one sound.
 */
#include "speech/hear.h"

#include "base/alloc.h"
#include "features/extract.h"
#include "myxtts/error.h"

int mx_hear(const struct mx_speak_voice *voice, const float *samples, size_t count, bool pitch, struct mx_heard *out)
{
    int rc = 0;
    const int32_t offsets[] = {0, (int32_t)count};
    const size_t bands = (size_t)mx_model_config(voice->model)->bands;
    const struct mx_extract_batch batch = {.audio = samples, .offsets = offsets, .count = 1};
    const struct mx_extract_options options = {.recipe = voice->recipe,
                                               .samples_max = (int64_t)count,
                                               .utterances_max = 1,
                                               .no_pitch = !pitch,
                                               .owner = "speech"};
    struct mx_extract_features features;
    struct mx_extract *extract = NULL;
    *out = (struct mx_heard){0};
    MX_TRY(mx_extract_create(voice->device, &options, &extract));
    MX_TRY(mx_extract_normalise(extract, voice->normaliser.mel_mean, voice->normaliser.mel_deviation));
    MX_TRY(mx_extract_submit(extract, voice->stream, &batch, &features));
    out->frames = features.frames.rows;
    out->mel = mx_alloc((size_t)out->frames * bands, sizeof *out->mel);
    if (pitch) out->pitch = mx_alloc((size_t)out->frames, sizeof *out->pitch);
    if (out->mel == NULL || (pitch && out->pitch == NULL)) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_extract_read(extract, voice->stream, out->mel, NULL, out->pitch));
out:
    if (rc < 0) (void)mx_stream_sync(voice->stream); /* the extractor must not be in use */
    mx_extract_destroy(extract);
    if (rc < 0) mx_heard_release(out);
    return rc;
}

void mx_heard_release(struct mx_heard *heard)
{
    mx_free(heard->mel);
    mx_free(heard->pitch);
    *heard = (struct mx_heard){0};
}
