/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The operations on audio and features as launches.
 */
#include "device/kernels/plan.h"

#include <math.h>

static int frames_check(struct mx_launcher *launcher, enum mx_op op, const struct mx_packed *samples,
                        const struct mx_packed *frames, int32_t hop)
{
    return LAUNCH(frames_check, 1, S(samples->offsets), S(frames->offsets), STATUS, I(op), I(samples->count),
                  I(samples->rows), I(frames->rows), I(hop));
}

static int bands_check(struct mx_launcher *launcher, enum mx_op op, struct mx_slice tables, int32_t size, int32_t bands,
                       int32_t weights)
{
    return LAUNCH(bands_check, 1, S(tables), STATUS, I(op), I(size), I(bands), I(weights));
}

/* ---- devices of CPU type: a vector of frames at a time, in a room of the scratch of packed operands ---- */

/* `floats` of room for each group. *each: frames of a group. Groups are so few that their rooms stay in the cores' own
 * caches, and some more than cores, lest all wait for one that is busy with something else. */
static int frames_share(struct mx_launcher *launcher, int64_t rows, int64_t floats, struct mx_slice *room,
                        int64_t *each)
{
    struct mx_slice scratch;
    const int64_t vector = launcher->tuning->vector, blocks = rows > 0 ? mx_plan_over(rows, vector) : 1;
    const int64_t fit = (int64_t)(MX_PACKED_BYTES / sizeof(float)) / floats;
    const int64_t few = 2 * (launcher->tuning->units > 0 ? launcher->tuning->units : 1);
    const int rc = launcher->scratch(launcher, &scratch);
    if (rc < 0) return rc;
    *room = mx_slice_at(scratch.buffer, scratch.offset_bytes + MX_SCRATCH_BYTES);
    *each = mx_plan_over(blocks, few < fit ? few : fit) * vector;
    return 0;
}

static int mel_frames(struct mx_launcher *launcher, const struct mx_mel_args *a)
{
    int rc = 0;
    struct mx_slice room;
    int64_t each;
    const int64_t vector = launcher->tuning->vector, padded = mx_plan_over(a->bands, vector) * vector;
    MX_TRY(frames_share(launcher, a->frames.rows, (3 * a->fft_size + padded) * vector, &room, &each));
    MX_TRY(LAUNCH(mel_frames, mx_plan_over(a->frames.rows, each), S(a->audio), S(a->samples.offsets),
                  S(a->frames.offsets), S(a->tables), S(a->mel), S(a->energy), STATUS, S(room), I(a->samples.count),
                  I(a->frames.rows), L(each), I(a->fft_size), I(a->hop), I(a->bands), F(a->floor), F(a->mean),
                  F(a->inverse_deviation)));
out:
    return rc;
}

DEFINE(mel)
{
    int rc = 0;
    MX_TRY(frames_check(launcher, MX_OP_mel, &a->samples, &a->frames, a->hop));
    MX_TRY(bands_check(launcher, MX_OP_mel, a->tables, a->fft_size, a->bands, a->weights));
    if (launcher->tuning->cpu) return mel_frames(launcher, a);
    MX_TRY(LAUNCH(mel_bands, a->frames.rows, S(a->audio), S(a->samples.offsets), S(a->frames.offsets), S(a->tables),
                  S(a->mel), S(a->energy), STATUS, I(a->samples.count), I(a->fft_size), I(a->hop), I(a->bands),
                  F(a->floor), F(a->mean), F(a->inverse_deviation)));
out:
    return rc;
}

DEFINE(pitch)
{
    int rc = 0;
    const int32_t lag_min = (int32_t)floor((double)a->rate / (double)a->high_hz);
    const int32_t lag_max = (int32_t)ceil((double)a->rate / (double)a->low_hz);
    const float quiet = a->silence * a->silence * (float)(a->fft_size - lag_max - 1);
    MX_TRY(frames_check(launcher, MX_OP_pitch, &a->samples, &a->frames, a->hop));
    if (launcher->tuning->cpu) {
        struct mx_slice room;
        int64_t each;
        MX_TRY(
            frames_share(launcher, a->frames.rows, 5 * (int64_t)a->fft_size * launcher->tuning->vector, &room, &each));
        MX_TRY(LAUNCH(pitch_frames, mx_plan_over(a->frames.rows, each), S(a->audio), S(a->samples.offsets),
                      S(a->frames.offsets), S(a->tables), S(a->work), STATUS, S(room), I(a->samples.count),
                      I(a->frames.rows), L(each), I(a->fft_size), I(a->hop), I(lag_min), I(lag_max), F(a->rate),
                      F(a->low_hz), F(a->high_hz), F(quiet), F(a->threshold + 2 * a->change), F(a->octave)));
    } else {
        MX_TRY(LAUNCH(pitch_candidates, a->frames.rows, S(a->audio), S(a->samples.offsets), S(a->frames.offsets),
                      S(a->work), STATUS, I(a->samples.count), I(a->fft_size), I(a->hop), I(lag_min), I(lag_max),
                      F(a->rate), F(a->low_hz), F(a->high_hz), F(quiet), F(a->threshold + 2 * a->change),
                      F(a->octave)));
    }
    MX_TRY(LAUNCH(pitch_path, a->frames.count, S(a->frames.offsets), S(a->work), S(a->pitch), STATUS, F(a->threshold),
                  F(a->jump), F(a->change)));
out:
    return rc;
}

DEFINE(noise)
{
    int rc = 0;
    MX_TRY(LAUNCH(offsets_check, 1, S(a->samples.offsets), STATUS, I(MX_OP_noise), I(a->samples.count),
                  I(a->samples.rows), I(a->samples.rows)));
    MX_TRY(LAUNCH(noise, a->samples.count, S(a->x), S(a->y), S(a->samples.offsets), S(a->levels), S(a->streams), STATUS,
                  L(a->seed)));
out:
    return rc;
}

DEFINE(mask)
{
    int rc = 0;
    MX_TRY(LAUNCH(offsets_check, 1, S(a->rows.offsets), STATUS, I(MX_OP_mask), I(a->rows.count), I(a->rows.rows),
                  I(a->rows.rows)));
    MX_TRY(LAUNCH(mask, a->rows.count, S(a->x), S(a->rows.offsets), S(a->spans), STATUS, I(a->n), I(a->count),
                  F(a->value)));
out:
    return rc;
}

DEFINE(mel_inverse)
{
    int rc = 0;
    struct mx_slice share;
    MX_TRY(bands_check(launcher, MX_OP_mel_inverse, a->tables, a->fft_size, a->bands, a->weights));
    MX_TRY(launcher->scratch(launcher, &share));
    MX_TRY(LAUNCH(inverse_prepare, WIDE(a->fft_size / 2 + 1), S(a->tables), S(share), STATUS, I(a->fft_size),
                  I(a->bands)));
    MX_TRY(LAUNCH(mel_inverse, a->rows, S(a->mel), S(a->tables), S(share), S(a->magnitude), STATUS, I(a->fft_size),
                  I(a->bands), I(a->iterations), F(a->mean), F(a->deviation)));
out:
    return rc;
}

DEFINE(spectrum)
{
    int rc = 0;
    MX_TRY(frames_check(launcher, MX_OP_spectrum, &a->samples, &a->frames, a->hop));
    MX_TRY(LAUNCH(spectrum, a->frames.rows, S(a->audio), S(a->samples.offsets), S(a->frames.offsets), S(a->tables),
                  S(a->spectrum), STATUS, I(a->samples.count), I(a->fft_size), I(a->hop)));
out:
    return rc;
}

DEFINE(griffin_step)
{
    return LAUNCH(griffin_step, WIDE(a->count), S(a->now), S(a->before), S(a->y), S(a->magnitude), L(a->count),
                  F(a->momentum));
}

DEFINE(overlap_add)
{
    int rc = 0;
    MX_TRY(frames_check(launcher, MX_OP_overlap_add, &a->samples, &a->frames, a->hop));
    MX_TRY(LAUNCH(overlap_frames, a->frames.rows, S(a->spectrum), S(a->tables), S(a->work), STATUS, I(a->fft_size)));
    MX_TRY(LAUNCH(overlap_add, a->frames.rows, S(a->work), S(a->tables), S(a->audio), S(a->samples.offsets),
                  S(a->frames.offsets), STATUS, I(a->samples.count), I(a->fft_size), I(a->hop), F(a->least)));
out:
    return rc;
}
