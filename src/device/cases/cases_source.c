/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random cases of the source of a voice: harmonics, texture, excite.
 */
#include <math.h>

#include "device/op_case.h"

void mx_op_make_harmonics(struct mx_op_case *c)
{
    MX_OP_ARGS(harmonics);
    a->hop = (int32_t)mx_op_draw(c, 1, c->plan.size == MX_OP_TINY ? 16 : 300);
    a->rate = 22050;
    a->limit_hz = c->plan.plain ? 9500 : (float)mx_op_draw(c, 400, 11025);
    a->fade_hz = c->plan.plain ? 300 : (float)mx_op_draw(c, 100, 400); /* less would multiply the rounding of k · f0 */
    a->level = 0.5f;
    const int64_t samples = mx_op_draw_audio(c, 4 * a->hop, a->hop), rows = c->ends[c->sequences];
    const struct mx_op_shape each = {.layout = MX_OP_ROWS, .rows = rows, .width = 1};
    mx_op_add(c, "f0", MX_OP_AT(harmonics, f0), MX_OP_IN, each, 1);
    mx_op_add(c, "phase", MX_OP_AT(harmonics, phase), MX_OP_IN, each, 1);
    mx_op_add(c, "gate", MX_OP_AT(harmonics, gate), MX_OP_IN, each, 1);
    mx_op_add(c, "y", MX_OP_AT(harmonics, y), MX_OP_OUT,
              (struct mx_op_shape){.layout = MX_OP_SAMPLES, .rows = samples, .width = 1}, 0);
    mx_op_add_audio(c, MX_OP_AT(harmonics, samples), MX_OP_AT(harmonics, frames));
    float *const f0 = mx_op_case_data(c, "f0"), *const phase = mx_op_case_data(c, "phase");
    float *const gate = mx_op_case_data(c, "gate");
    for (int64_t i = 0; i < rows; i++) {
        f0[i] = (float)mx_op_draw(c, 65, 500) + 0.37f;
        if (mx_op_draw(c, 0, 9) == 0) f0[i] = mx_op_flip(c) ? 0 : 12000; /* what counts as more, or less */
        phase[i] =
            mx_op_flip(c) ? (float)mx_op_draw(c, 0, 63) / 64 : (float)mx_op_draw(c, 0, 999999) * 1e-6f; /* pulses too */
        gate[i] = mx_op_draw(c, 0, 3) == 0 ? 0 : 1;
    }
    MX_OP_DIM(harmonics, hop, MX_OP_DIM_FIXED);
}

void mx_op_make_texture(struct mx_op_case *c)
{
    MX_OP_ARGS(texture);
    const int64_t n = mx_op_draw_width(c), rows = mx_op_draw_sequences(c, -1);
    const struct mx_op_shape numbers = {.layout = MX_OP_ROWS, .rows = rows, .width = 2 * n};
    const struct mx_op_shape levels = {.layout = MX_OP_ROWS, .rows = rows, .width = n};
    mx_op_add(c, "source", MX_OP_AT(texture, source), MX_OP_IN, numbers, 1);
    mx_op_add(c, "noise", MX_OP_AT(texture, noise), MX_OP_IN, numbers, 1);
    mx_op_add(c, "gain", MX_OP_AT(texture, gain), MX_OP_IN, (struct mx_op_shape){.rows = 1, .width = n}, 0.1);
    const int level = mx_op_add(c, "level", MX_OP_AT(texture, level), MX_OP_IN, levels, 1);
    if (!c->plan.plain && mx_op_flip(c))
        mx_op_share(c, "y", MX_OP_AT(texture, y), MX_OP_INOUT, level, 0, n);
    else
        mx_op_add(c, "y", MX_OP_AT(texture, y), MX_OP_OUT, levels, 0);
    /* Nothing at all in some bins; no power so small that a rounding is a large part of it. */
    float *const u = mx_op_case_data(c, "source"), *const v = mx_op_case_data(c, "noise");
    for (int64_t i = 0; i < rows * n; i++) {
        const bool zero = mx_op_draw(c, 0, 9) == 0;
        u[2 * i] = zero ? 0 : u[2 * i] + copysignf(2, u[2 * i]);
        if (zero) u[2 * i + 1] = v[2 * i] = v[2 * i + 1] = 0;
    }
    a->reach = c->plan.plain ? 12 : (int32_t)mx_op_draw(c, 0, MX_TEXTURE_REACH_MAX);
    a->colour = 0.6f;
    a->least = 0.1f;
    a->rows = rows;
    a->n = n;
    MX_OP_DIM(texture, rows, MX_OP_DIM_ROWS);
    MX_OP_DIM(texture, n, MX_OP_DIM_FIXED);
}

void mx_op_make_excite(struct mx_op_case *c)
{
    MX_OP_ARGS(excite);
    const int64_t n = mx_op_draw_width(c), rows = mx_op_draw_sequences(c, -1);
    const struct mx_op_shape numbers = {.layout = MX_OP_ROWS, .rows = rows, .width = 2 * n};
    const struct mx_op_shape levels = {.layout = MX_OP_ROWS, .rows = rows, .width = n};
    const int64_t place = c->plan.plain ? 0 : mx_op_draw(c, 0, 2); /* of y: its own, source, noise */
    const int source = mx_op_add(c, "source", MX_OP_AT(excite, source), MX_OP_IN, numbers, 1);
    const int noise = mx_op_add(c, "noise", MX_OP_AT(excite, noise), MX_OP_IN, numbers, 1);
    mx_op_add(c, "gain", MX_OP_AT(excite, gain), MX_OP_IN, (struct mx_op_shape){.rows = 1, .width = n}, 0.1);
    const int level = mx_op_add(c, "level", MX_OP_AT(excite, level), MX_OP_IN, levels, 1);
    if (!c->plan.plain && mx_op_flip(c))
        mx_op_share(c, "magnitude", MX_OP_AT(excite, magnitude), MX_OP_INOUT, level, 0, n);
    else
        mx_op_add(c, "magnitude", MX_OP_AT(excite, magnitude), MX_OP_OUT, levels, 0);
    if (place == 0)
        mx_op_add(c, "y", MX_OP_AT(excite, y), MX_OP_OUT, numbers, 0);
    else
        mx_op_share(c, "y", MX_OP_AT(excite, y), MX_OP_INOUT, place == 1 ? source : noise, 0, 2 * n);
    /* Some sums are 0; no other is near it, where the smallest error would turn it anywhere. */
    float *const u = mx_op_case_data(c, "source"), *const v = mx_op_case_data(c, "noise");
    for (int64_t i = 0; i < rows * n; i++) {
        const bool zero = mx_op_draw(c, 0, 9) == 0;
        u[2 * i] = zero ? 0 : u[2 * i] + copysignf(12, u[2 * i]);
        if (zero) u[2 * i + 1] = v[2 * i] = v[2 * i + 1] = 0;
    }
    a->rows = rows;
    a->n = n;
    MX_OP_DIM(excite, rows, MX_OP_DIM_ROWS);
    MX_OP_DIM(excite, n, MX_OP_DIM_FIXED);
}
