/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * harmonics, texture and excite as launches.
 */
#include "device/kernels/lower.h"

int mx_lower_harmonics(struct mx_launcher *launcher, const void *args)
{
    const struct mx_harmonics_args *const a = args;
    int rc = 0;
    MX_TRY(LAUNCH(frames_check, 1, ARG_SLICE(a->samples.offsets), ARG_SLICE(a->frames.offsets), ARG_STATUS,
                  ARG_INT(MX_OP_harmonics), ARG_INT(a->samples.count), ARG_INT(a->samples.rows),
                  ARG_INT(a->frames.rows), ARG_INT(a->hop)));
    MX_TRY(LAUNCH(harmonics, a->frames.rows, ARG_SLICE(a->f0), ARG_SLICE(a->phase), ARG_SLICE(a->gate), ARG_SLICE(a->y),
                  ARG_SLICE(a->samples.offsets), ARG_SLICE(a->frames.offsets), ARG_STATUS, ARG_INT(a->samples.count),
                  ARG_INT(a->hop), ARG_FLOAT(a->rate), ARG_FLOAT(MX_HARMONICS_LEAST_HZ), ARG_FLOAT(a->limit_hz),
                  ARG_FLOAT(a->fade_hz), ARG_FLOAT(a->level)));
out:
    return rc;
}

int mx_lower_texture(struct mx_launcher *launcher, const void *args)
{
    const struct mx_texture_args *const a = args;
    const int64_t count = a->rows * a->n;
    return LAUNCH(texture, WIDE_GROUPS(count), ARG_SLICE(a->source), ARG_SLICE(a->noise), ARG_SLICE(a->gain),
                  ARG_SLICE(a->level), ARG_SLICE(a->y), ARG_LONG(count), ARG_LONG(a->n), ARG_INT(a->reach),
                  ARG_FLOAT(a->colour), ARG_FLOAT(a->least));
}

int mx_lower_excite(struct mx_launcher *launcher, const void *args)
{
    const struct mx_excite_args *const a = args;
    const int64_t count = a->rows * a->n;
    return LAUNCH(excite, WIDE_GROUPS(count), ARG_SLICE(a->source), ARG_SLICE(a->noise), ARG_SLICE(a->gain),
                  ARG_SLICE(a->level), ARG_SLICE(a->magnitude), ARG_SLICE(a->y), ARG_LONG(count), ARG_LONG(a->n));
}
