/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Contrast and colour of a predicted mel. A network that is trained to be close on average predicts less variation than
 * speech has: loud frames are too soft, and soft ones too loud. With m the mean of a band over the frames of an
 * utterance, a value x becomes m + contrast · (x - m) + colour. MODEL.md ("Sound") has the formula, SPEED.md what it does.
 */
#include <string.h>

#include "myxtts/error.h"
#include "vocoder/sound_internal.h"

int mx_sound_colour_set(struct mx_sound *s, const float *colour)
{
    s->coloured = false;
    if (colour == NULL) return 0;
    if (!s->options.predicted)
        return MX_FAIL(MX_ERR_ARGUMENT, "create it for a predicted mel", "the maker of sound has no room for a colour");
    memcpy(s->colour, colour, (size_t)s->recipe.bands * sizeof *s->colour);
    s->coloured = true;
    return 0;
}

int mx_sound_contrast_add(struct mx_sound *s, struct mx_stream *stream, int32_t count, struct mx_slice *mel)
{
    const float contrast = (float)s->options.contrast;
    const int64_t bands = s->recipe.bands, rows = s->frames[count];
    const struct mx_slice means = mx_sound_piece(s, MX_SOUND_MEANS), out = mx_sound_piece(s, MX_SOUND_MEL);
    const struct mx_slice ends = mx_sound_piece(s, MX_SOUND_FRAMES);
    int rc = 0;
    if (!(contrast > 1) && !s->coloured) return 0;
    MX_TRY(mx_copy_upload(stream, ends, s->frames, ((size_t)count + 1) * sizeof *s->frames));
    MX_TRY(
        mx_segment_mean(stream, &(struct mx_segment_mean_args){
                                    .x = *mel, .ends = ends, .y = means, .segments = count, .rows = rows, .n = bands}));
    MX_TRY(mx_scale(stream, &(struct mx_scale_args){.x = means, .count = count * bands, .factor = 1 - contrast}));
    if (s->coloured) {
        const struct mx_slice colour = mx_sound_piece(s, MX_SOUND_COLOUR);
        MX_TRY(mx_copy_upload(stream, colour, s->colour, (size_t)bands * sizeof *s->colour));
        for (int32_t i = 0; i < count; i++) {
            const struct mx_slice row = mx_sound_behind(means, i, bands);
            MX_TRY(mx_residual_add(
                stream, &(struct mx_residual_add_args){.a = row, .b = colour, .y = row, .count = bands, .factor = 1}));
        }
    }
    MX_TRY(mx_expand(stream, &(struct mx_expand_args){
                                 .x = means, .ends = ends, .y = out, .segments = count, .rows = rows, .n = bands}));
    MX_TRY(mx_residual_add(stream, &(struct mx_residual_add_args){
                                       .a = out, .b = *mel, .y = out, .count = rows * bands, .factor = contrast}));
    *mel = out;
out:;
    const int done = mx_stream_sync(stream); /* with the host's arrays */
    return rc < 0 ? rc : done;
}
