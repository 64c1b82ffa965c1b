/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the arguments of the operations that only the vocoder needs must look like; see ops_check.c.
 */
#include "device/ops_walk.h"

void mx_op_walk_pitch_loss(struct walk *walk, const void *args)
{
    const struct mx_pitch_loss_args *const a = args;
    const int64_t width = (int64_t)a->classes + 1;
    ragged(walk, &a->rows);
    integer(walk, "classes", a->classes, 1, MX_PITCH_CLASSES_MAX);
    positive(walk, "low_hz", a->low_hz);
    positive(walk, "high_hz", a->high_hz);
    require(walk, a->high_hz >= 1.01f * a->low_hz, "high_hz", "at least 1 % more than low_hz");
    finite_number(walk, "scale", a->scale);
    finite_number(walk, "factor", a->factor);
    tensor(walk, "logits", a->logits, times(a->rows.rows, width), READ);
    tensor(walk, "pitch", a->pitch, a->rows.rows, READ);
    tensor(walk, "values", a->values, a->rows.count, WRITTEN);
    tensor(walk, "dlogits", a->dlogits, times(a->rows.rows, width), WRITTEN_OPTIONAL);
}

void mx_op_walk_mel_base(struct walk *walk, const void *args)
{
    const struct mx_mel_base_args *const a = args;
    mel_tables(walk, a->fft_size, a->bands, a->weights);
    dimension(walk, "rows", a->rows);
    finite_number(walk, "mean", a->mean);
    finite_number(walk, "deviation", a->deviation);
    tensor(walk, "mel", a->mel, times(a->rows, a->bands), READ);
    tensor(walk, "tables", a->tables, 3 * (int64_t)a->fft_size + 2 * (int64_t)a->bands + 1 + a->weights, READ);
    tensor(walk, "places", a->places, 3 * ((int64_t)a->fft_size / 2 + 1), READ);
    tensor(walk, "input", a->input, times(a->rows, a->bands), WRITTEN_OPTIONAL);
    tensor(walk, "base", a->base, times(a->rows, (int64_t)a->fft_size / 2 + 1), WRITTEN);
}

void mx_op_walk_log_magnitude(struct walk *walk, const void *args)
{
    const struct mx_log_magnitude_args *const a = args;
    static const char *const names[] = {"out.count", "out.rows", "out.max_rows", "out.offsets"};
    packed_audio(walk, &a->samples, a->fft_size, a->hop);
    ragged_parts(walk, &a->out, names);
    real(walk, "least", a->least, 1e-37, INFINITY, true);
    tensor(walk, "audio", a->audio, a->samples.rows, READ);
    tensor(walk, "tables", a->tables, 3 * (int64_t)a->fft_size, READ);
    tensor(walk, "places", a->places, times(a->out.count, 2), READ);
    tensor(walk, "y", a->y, times(a->out.rows, (int64_t)a->fft_size / 2 + 1), WRITTEN);
}

void mx_op_walk_mel_blur(struct walk *walk, const void *args)
{
    const struct mx_mel_blur_args *const a = args;
    ragged(walk, &a->rows);
    integer(walk, "n", a->n, 0, MX_BLUR_WIDTH_MAX);
    tensor(walk, "x", a->x, times(a->rows.rows, a->n), READ);
    tensor(walk, "levels", a->levels, times(a->rows.count, 3), READ);
    tensor(walk, "streams", a->streams, times(a->rows.count, 2), READ);
    tensor(walk, "y", a->y, times(a->rows.rows, a->n), WRITTEN);
}

void mx_op_walk_harmonics(struct walk *walk, const void *args)
{
    const struct mx_harmonics_args *const a = args;
    static const char *const samples_names[] = {"samples.count", "samples.rows", "samples.max_rows", "samples.offsets"};
    static const char *const frames_names[] = {"frames.count", "frames.rows", "frames.max_rows", "frames.offsets"};
    integer(walk, "hop", a->hop, 1, 4096);
    ragged_parts(walk, &a->samples, samples_names);
    ragged_parts(walk, &a->frames, frames_names);
    require(walk, a->frames.count == a->samples.count, "frames.count", "as many utterances as samples.count says");
    positive(walk, "rate", a->rate);
    real(walk, "rate", a->rate, 0, 1e6, false);
    real(walk, "limit_hz", a->limit_hz, (double)MX_HARMONICS_LEAST_HZ, (double)a->rate / 2, false);
    positive(walk, "fade_hz", a->fade_hz);
    require(walk, a->fade_hz <= a->limit_hz, "fade_hz", "at most limit_hz");
    finite_number(walk, "level", a->level);
    tensor(walk, "f0", a->f0, a->frames.rows, READ);
    tensor(walk, "phase", a->phase, a->frames.rows, READ);
    tensor(walk, "gate", a->gate, a->frames.rows, READ);
    tensor(walk, "y", a->y, a->samples.rows, WRITTEN);
}

void mx_op_walk_texture(struct walk *walk, const void *args)
{
    const struct mx_texture_args *const a = args;
    dimension(walk, "rows", a->rows);
    dimension(walk, "n", a->n);
    integer(walk, "reach", a->reach, 0, MX_TEXTURE_REACH_MAX);
    real(walk, "colour", a->colour, 0, 1e6, false);
    real(walk, "least", a->least, 1e-6, 1, false);
    tensor(walk, "source", a->source, times(times(a->rows, a->n), 2), READ);
    tensor(walk, "noise", a->noise, times(times(a->rows, a->n), 2), READ);
    tensor(walk, "gain", a->gain, a->n, READ);
    tensor(walk, "level", a->level, times(a->rows, a->n), READ);
    tensor(walk, "y", a->y, times(a->rows, a->n), WRITTEN);
}

void mx_op_walk_excite(struct walk *walk, const void *args)
{
    const struct mx_excite_args *const a = args;
    dimension(walk, "rows", a->rows);
    dimension(walk, "n", a->n);
    tensor(walk, "source", a->source, times(times(a->rows, a->n), 2), READ);
    tensor(walk, "noise", a->noise, times(times(a->rows, a->n), 2), READ);
    tensor(walk, "gain", a->gain, a->n, READ);
    tensor(walk, "level", a->level, times(a->rows, a->n), READ);
    tensor(walk, "magnitude", a->magnitude, times(a->rows, a->n), WRITTEN);
    tensor(walk, "y", a->y, times(times(a->rows, a->n), 2), WRITTEN);
}
