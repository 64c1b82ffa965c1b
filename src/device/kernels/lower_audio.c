/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The operations on audio and features as launches.
 */
#include "device/kernels/lower.h"

#include <math.h>

static int frames_check(struct mx_launcher *launcher, enum mx_op op, const struct mx_ragged *samples,
                        const struct mx_ragged *frames, int32_t hop)
{
    return LAUNCH(frames_check, 1, ARG_SLICE(samples->offsets), ARG_SLICE(frames->offsets), ARG_STATUS, ARG_INT(op),
                  ARG_INT(samples->count), ARG_INT(samples->rows), ARG_INT(frames->rows), ARG_INT(hop));
}

static int bands_check(struct mx_launcher *launcher, enum mx_op op, struct mx_slice tables, int32_t size, int32_t bands,
                       int32_t weights)
{
    return LAUNCH(bands_check, 1, ARG_SLICE(tables), ARG_STATUS, ARG_INT(op), ARG_INT(size), ARG_INT(bands),
                  ARG_INT(weights));
}

int mx_lower_mel(struct mx_launcher *launcher, const void *args)
{
    const struct mx_mel_args *const a = args;
    int rc = 0;
    MX_TRY(frames_check(launcher, MX_OP_mel, &a->samples, &a->frames, a->hop));
    MX_TRY(bands_check(launcher, MX_OP_mel, a->tables, a->fft_size, a->bands, a->weights));
    MX_TRY(LAUNCH(mel_bands, a->frames.rows, ARG_SLICE(a->audio), ARG_SLICE(a->samples.offsets),
                  ARG_SLICE(a->frames.offsets), ARG_SLICE(a->tables), ARG_SLICE(a->mel), ARG_SLICE(a->energy),
                  ARG_STATUS, ARG_INT(a->samples.count), ARG_INT(a->fft_size), ARG_INT(a->hop), ARG_INT(a->bands),
                  ARG_FLOAT(a->floor), ARG_FLOAT(a->mean), ARG_FLOAT(a->inverse_deviation)));
out:
    return rc;
}

int mx_lower_log_magnitude(struct mx_launcher *launcher, const void *args)
{
    const struct mx_log_magnitude_args *const a = args;
    int rc = 0;
    const struct mx_ragged *const packed[] = {&a->samples, &a->out};
    for (int i = 0; i < 2; i++)
        MX_TRY(LAUNCH(offsets_check, 1, ARG_SLICE(packed[i]->offsets), ARG_STATUS, ARG_INT(MX_OP_log_magnitude),
                      ARG_INT(packed[i]->count), ARG_INT(packed[i]->rows), ARG_INT(packed[i]->rows)));
    MX_TRY(LAUNCH(segments_check, 1, ARG_SLICE(a->places), ARG_SLICE(a->samples.offsets), ARG_SLICE(a->out.offsets),
                  ARG_STATUS, ARG_INT(MX_OP_log_magnitude), ARG_INT(a->samples.count), ARG_INT(a->out.count),
                  ARG_INT(a->hop)));
    MX_TRY(LAUNCH(log_magnitude, a->out.rows, ARG_SLICE(a->audio), ARG_SLICE(a->samples.offsets), ARG_SLICE(a->tables),
                  ARG_SLICE(a->places), ARG_SLICE(a->out.offsets), ARG_SLICE(a->y), ARG_STATUS, ARG_INT(a->out.count),
                  ARG_INT(a->fft_size), ARG_INT(a->hop), ARG_FLOAT(a->least)));
out:
    return rc;
}

int mx_lower_pitch(struct mx_launcher *launcher, const void *args)
{
    const struct mx_pitch_args *const a = args;
    int rc = 0;
    const int32_t lag_min = (int32_t)floor((double)a->rate / (double)a->high_hz);
    const int32_t lag_max = (int32_t)ceil((double)a->rate / (double)a->low_hz);
    const float quiet = a->silence * a->silence * (float)(a->fft_size - lag_max - 1);
    MX_TRY(frames_check(launcher, MX_OP_pitch, &a->samples, &a->frames, a->hop));
    MX_TRY(LAUNCH(pitch_candidates, a->frames.rows, ARG_SLICE(a->audio), ARG_SLICE(a->samples.offsets),
                  ARG_SLICE(a->frames.offsets), ARG_SLICE(a->work), ARG_STATUS, ARG_INT(a->samples.count),
                  ARG_INT(a->fft_size), ARG_INT(a->hop), ARG_INT(lag_min), ARG_INT(lag_max), ARG_FLOAT(a->rate),
                  ARG_FLOAT(a->low_hz), ARG_FLOAT(a->high_hz), ARG_FLOAT(quiet),
                  ARG_FLOAT(a->threshold + 2 * a->change), ARG_FLOAT(a->octave)));
    MX_TRY(LAUNCH(pitch_path, a->frames.count, ARG_SLICE(a->frames.offsets), ARG_SLICE(a->work), ARG_SLICE(a->pitch),
                  ARG_STATUS, ARG_FLOAT(a->threshold), ARG_FLOAT(a->jump), ARG_FLOAT(a->change)));
out:
    return rc;
}

int mx_lower_noise(struct mx_launcher *launcher, const void *args)
{
    const struct mx_noise_args *const a = args;
    int rc = 0;
    MX_TRY(LAUNCH(offsets_check, 1, ARG_SLICE(a->samples.offsets), ARG_STATUS, ARG_INT(MX_OP_noise),
                  ARG_INT(a->samples.count), ARG_INT(a->samples.rows), ARG_INT(a->samples.rows)));
    MX_TRY(LAUNCH(noise, a->samples.count, ARG_SLICE(a->x), ARG_SLICE(a->y), ARG_SLICE(a->samples.offsets),
                  ARG_SLICE(a->levels), ARG_SLICE(a->streams), ARG_STATUS, ARG_LONG(a->seed)));
out:
    return rc;
}

int mx_lower_mask(struct mx_launcher *launcher, const void *args)
{
    const struct mx_mask_args *const a = args;
    int rc = 0;
    MX_TRY(LAUNCH(offsets_check, 1, ARG_SLICE(a->rows.offsets), ARG_STATUS, ARG_INT(MX_OP_mask), ARG_INT(a->rows.count),
                  ARG_INT(a->rows.rows), ARG_INT(a->rows.rows)));
    MX_TRY(LAUNCH(mask, a->rows.count, ARG_SLICE(a->x), ARG_SLICE(a->rows.offsets), ARG_SLICE(a->spans), ARG_STATUS,
                  ARG_INT(a->n), ARG_INT(a->count), ARG_FLOAT(a->value)));
out:
    return rc;
}

int mx_lower_mel_blur(struct mx_launcher *launcher, const void *args)
{
    const struct mx_mel_blur_args *const a = args;
    int rc = 0;
    MX_TRY(LAUNCH(offsets_check, 1, ARG_SLICE(a->rows.offsets), ARG_STATUS, ARG_INT(MX_OP_mel_blur),
                  ARG_INT(a->rows.count), ARG_INT(a->rows.rows), ARG_INT(a->rows.rows)));
    MX_TRY(LAUNCH(mel_blur, a->rows.rows, ARG_SLICE(a->x), ARG_SLICE(a->y), ARG_SLICE(a->rows.offsets),
                  ARG_SLICE(a->levels), ARG_SLICE(a->streams), ARG_STATUS, ARG_INT(a->rows.count), ARG_INT(a->n),
                  ARG_LONG(a->seed)));
out:
    return rc;
}

int mx_lower_mel_inverse(struct mx_launcher *launcher, const void *args)
{
    const struct mx_mel_inverse_args *const a = args;
    int rc = 0;
    struct mx_slice share;
    MX_TRY(bands_check(launcher, MX_OP_mel_inverse, a->tables, a->fft_size, a->bands, a->weights));
    MX_TRY(launcher->scratch(launcher, &share));
    MX_TRY(LAUNCH(inverse_prepare, WIDE_GROUPS(a->fft_size / 2 + 1), ARG_SLICE(a->tables), ARG_SLICE(share), ARG_STATUS,
                  ARG_INT(a->fft_size), ARG_INT(a->bands)));
    MX_TRY(LAUNCH(mel_inverse, a->rows, ARG_SLICE(a->mel), ARG_SLICE(a->tables), ARG_SLICE(share),
                  ARG_SLICE(a->magnitude), ARG_STATUS, ARG_INT(a->fft_size), ARG_INT(a->bands), ARG_INT(a->iterations),
                  ARG_FLOAT(a->mean), ARG_FLOAT(a->deviation)));
out:
    return rc;
}

static int places_check(struct mx_launcher *launcher, enum mx_op op, struct mx_slice places, int32_t size,
                        int32_t bands)
{
    return LAUNCH(places_check, 1, ARG_SLICE(places), ARG_STATUS, ARG_INT(op), ARG_INT(size), ARG_INT(bands));
}

int mx_lower_mel_base(struct mx_launcher *launcher, const void *args)
{
    const struct mx_mel_base_args *const a = args;
    int rc = 0;
    struct mx_slice width;
    MX_TRY(bands_check(launcher, MX_OP_mel_base, a->tables, a->fft_size, a->bands, a->weights));
    MX_TRY(places_check(launcher, MX_OP_mel_base, a->places, a->fft_size, a->bands));
    MX_TRY(launcher->scratch(launcher, &width));
    MX_TRY(LAUNCH(base_prepare, WIDE_GROUPS(a->bands), ARG_SLICE(a->tables), ARG_SLICE(width), ARG_STATUS,
                  ARG_INT(a->fft_size), ARG_INT(a->bands)));
    MX_TRY(LAUNCH(mel_base, a->rows, ARG_SLICE(a->mel), ARG_SLICE(width), ARG_SLICE(a->places), ARG_SLICE(a->input),
                  ARG_SLICE(a->base), ARG_STATUS, ARG_INT(a->fft_size), ARG_INT(a->bands), ARG_FLOAT(a->mean),
                  ARG_FLOAT(a->deviation)));
out:
    return rc;
}

int mx_lower_mel_project(struct mx_launcher *launcher, const void *args)
{
    const struct mx_mel_project_args *const a = args;
    int rc = 0;
    MX_TRY(bands_check(launcher, MX_OP_mel_project, a->tables, a->fft_size, a->bands, a->weights));
    MX_TRY(places_check(launcher, MX_OP_mel_project, a->places, a->fft_size, a->bands));
    MX_TRY(LAUNCH(mel_project, a->rows, ARG_SLICE(a->spectrum), ARG_SLICE(a->y), ARG_SLICE(a->mel),
                  ARG_SLICE(a->tables), ARG_SLICE(a->places), ARG_SLICE(a->magnitude), ARG_STATUS, ARG_INT(a->fft_size),
                  ARG_INT(a->bands), ARG_INT(a->rounds), ARG_FLOAT(a->lower), ARG_FLOAT(a->raise), ARG_FLOAT(a->floor),
                  ARG_FLOAT(a->mean), ARG_FLOAT(a->deviation)));
out:
    return rc;
}

int mx_lower_spectrum(struct mx_launcher *launcher, const void *args)
{
    const struct mx_spectrum_args *const a = args;
    int rc = 0;
    MX_TRY(frames_check(launcher, MX_OP_spectrum, &a->samples, &a->frames, a->hop));
    MX_TRY(LAUNCH(spectrum, a->frames.rows, ARG_SLICE(a->audio), ARG_SLICE(a->samples.offsets),
                  ARG_SLICE(a->frames.offsets), ARG_SLICE(a->tables), ARG_SLICE(a->spectrum), ARG_STATUS,
                  ARG_INT(a->samples.count), ARG_INT(a->fft_size), ARG_INT(a->hop)));
out:
    return rc;
}

int mx_lower_griffin_step(struct mx_launcher *launcher, const void *args)
{
    const struct mx_griffin_step_args *const a = args;
    return LAUNCH(griffin_step, WIDE_GROUPS(a->count), ARG_SLICE(a->now), ARG_SLICE(a->before), ARG_SLICE(a->y),
                  ARG_SLICE(a->magnitude), ARG_LONG(a->count), ARG_FLOAT(a->momentum));
}

int mx_lower_overlap_add(struct mx_launcher *launcher, const void *args)
{
    const struct mx_overlap_add_args *const a = args;
    int rc = 0;
    MX_TRY(frames_check(launcher, MX_OP_overlap_add, &a->samples, &a->frames, a->hop));
    MX_TRY(LAUNCH(overlap_frames, a->frames.rows, ARG_SLICE(a->spectrum), ARG_SLICE(a->tables), ARG_SLICE(a->work),
                  ARG_STATUS, ARG_INT(a->fft_size)));
    MX_TRY(LAUNCH(overlap_add, a->frames.rows, ARG_SLICE(a->work), ARG_SLICE(a->tables), ARG_SLICE(a->audio),
                  ARG_SLICE(a->samples.offsets), ARG_SLICE(a->frames.offsets), ARG_STATUS, ARG_INT(a->samples.count),
                  ARG_INT(a->fft_size), ARG_INT(a->hop), ARG_FLOAT(a->least)));
out:
    return rc;
}
